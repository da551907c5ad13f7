"""Claims about traces: what is written is read again and replays to the same state, and nothing else is read."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env.arc import trace
from env.arc.editor import State, start
from env.arc.sampling import random_steps
from env.arc.tasks import Pair, Task, make_grid, read_json, same
from env.arc.trace import Step, Trace, apply, belongs, last_state, parse_step, parse_traces, read_traces, write_traces
from env.errors import UserError

INPUT = make_grid([[1, 2], [3, 4]])
GOOD: dict[str, Any] = {
    "schema": trace.SCHEMA,
    "traces": [
        {
            "task": "a",
            "test": 0,
            "by": "me",
            "input": [[1]],
            "steps": [{"do": "paint", "row": 0, "column": 1, "colour": 2}],
        }
    ],
}


def with_step(record: Any) -> str:
    return json.dumps(GOOD | {"traces": [GOOD["traces"][0] | {"steps": [{"do": "undo"}, record]}]})


def with_trace(**changes: Any) -> str:
    return json.dumps(GOOD | {"traces": [{k: v for k, v in (GOOD["traces"][0] | changes).items() if v is not ...}]})


PAINT = {"do": "paint", "row": 0, "column": 1, "colour": 2}
# name: (file's content, the words that the refusal must hold)
HOSTILE: dict[str, tuple[str, str]] = {
    "empty": ("", "not JSON"),
    "a list": ("[]", "x.json: an object with 'schema' and 'traces' is needed, found a list"),
    "another schema": (json.dumps(GOOD | {"schema": "wilkins/arc-traces/9"}), "is not 'wilkins/arc-traces/1'"),
    "a task file": ('{"train": [], "test": []}', "'schema' is missing"),
    "traces an object": (json.dumps(GOOD | {"traces": {}}), "traces: a list is needed, found an object"),
    "a trace of null": (json.dumps(GOOD | {"traces": [None]}), "traces[0]: an object"),
    "no task": (with_trace(task=...), "traces[0]: 'task' is missing"),
    "no input": (with_trace(input=...), "traces[0]: 'input' is missing"),
    "a ragged input": (with_trace(input=[[1], [1, 2]]), "traces[0].input, row 1: 2 columns"),
    "a task of two lines": (with_trace(task="a\nb"), "traces[0].task: "),
    "a long name": (with_trace(task="a" * 201), "no text of one line"),
    "test -1": (with_trace(test=-1), "traces[0].test: -1 is no whole number"),
    "test true": (with_trace(test=True), "traces[0].test: true is no whole number"),
    "steps of null": (with_trace(steps=None), "traces[0].steps: a list"),
    "a step of text": (with_step("paint"), "traces[0].steps[1]: an object with 'do' is needed"),
    "do missing": (with_step({}), "steps[1]: 'do' is missing"),
    "do unknown": (with_step({"do": "__class__"}), 'steps[1]: do: "__class__" is none of resize'),
    "do a list": (with_step({"do": ["paint"]}), "do: a list is none of"),
    "an argument missing": (
        with_step({k: v for k, v in PAINT.items() if k != "colour"}),
        "steps[1]: 'colour' is missing",
    ),
    "an argument too many": (with_step(PAINT | {"state": 1}), 'paint has no argument "state"'),
    "colour 10": (with_step(PAINT | {"colour": 10}), "steps[1].colour: 10 is no whole number from 0 to 9"),
    "colour true": (with_step(PAINT | {"colour": True}), "colour: true is no whole number"),
    "row 1.5": (with_step(PAINT | {"row": 1.5}), "row: 1.5 is no whole number"),
    "row far away": (with_step(PAINT | {"row": 10**30}), "row: "),
    "turns 4": (with_step({"do": "rotate", "turns": 4}), "turns: 4 is no whole number from 1 to 3"),
    "axis": (with_step({"do": "flip", "axis": "x"}), 'axis: "x" is neither horizontal nor vertical'),
    "axis an object": (with_step({"do": "flip", "axis": {}}), "axis: an object is neither"),
    "cells empty": (with_step({"do": "line", "cells": [], "colour": 1}), "cells: a list of 1 to 4096"),
    "cells of one": (with_step({"do": "line", "cells": [[1]], "colour": 1}), "cells[0]: a row and a column"),
    "cells of text": (with_step({"do": "line", "cells": [["1", 2]], "colour": 1}), 'cells[0]: "1" is no whole number'),
    "a grid of colour 10": (with_step({"do": "clip", "grid": [[10]]}), "grid, row 0, column 0: 10 is no colour"),
    "a note of a number": (with_step({"do": "put", "grid": [[1]], "note": 7}), "note: 7 is no text"),
    "do twice": (with_step(PAINT).replace('"row": 0', '"row": 0, "row": 0'), 'the key "row" stands twice'),
    "deep": ('{"schema":' + "[" * 100_000, "nested too deep"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_malformed_file_is_refused_in_one_line_with_its_place(name: str) -> None:
    content, words = HOSTILE[name]
    with pytest.raises(UserError) as refused:
        parse_traces(content.encode(), "x.json")
    assert words in str(refused.value)
    assert str(refused.value).isprintable()


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_a_trace_survives_its_file_and_replays_to_the_same_state(seed: int) -> None:
    random = np.random.default_rng(seed)
    state = start(INPUT, INPUT)
    steps = []
    for step in random_steps(random, state, 60):
        steps.append(step)
        state = apply(state, step)
    made = Trace("a", 0, INPUT, tuple(steps), by="me")
    content = json.dumps({"schema": trace.SCHEMA, "traces": [made.to_json()]})
    (read,) = parse_traces(content.encode(), "x.json")
    assert read.to_json() == made.to_json()
    again = last_state(read, INPUT)
    for one, other in ((state.grid, again.grid), (state.clipboard, again.clipboard)):
        assert (one is None and other is None) or same(one, other)
    assert (state.selection, state.message, state.status, state.trials, state.undos, state.redos, state.colour) == (
        again.selection,
        again.message,
        again.status,
        again.trials,
        again.undos,
        again.redos,
        again.colour,
    )


def test_random_steps_take_every_tool_and_meet_every_refusal() -> None:
    random = np.random.default_rng(0)
    done, said = set(), set()
    for _ in range(150):
        answer = make_grid(np.zeros((3, 3), int)) if random.random() < 0.5 else None
        state = start(make_grid(random.integers(0, 10, random.integers(1, 31, 2))), answer)
        for step in random_steps(random, state, 60):
            state = apply(state, step)
            done.add(step.do)
            said.add(re.sub(r"-?\d+|input |output |output(?=;)", "#", state.message))
    assert done == set(trace.STEPS)
    assert said == {
        "",
        "row #, column # is outside: the #is #x#",
        "a grid has # to # rows and columns, not #x#",
        "nothing is selected; drag over cells of the #or the #first",
        "nothing is selected on the #; drag over its cells first",
        "nothing was copied yet; select cells and copy them first",
        "select the cell of the #where the top left corner goes",
        "# cells are selected; select one, where the top left corner goes",
        "nothing of it would be left inside the grid",
        "nothing to undo",
        "nothing to redo",
        "right: the size and every cell",
        "not right; # trials are left",
        "not right; # trial is left",
        "not right; no trial is left",
        "submitted; nobody knows the answer here; # trials are left",
        "submitted; nobody knows the answer here; # trial is left",
        "submitted; nobody knows the answer here; no trial is left",
        "this test #is solved",
        "this test #is closed: its trials are used",
    }


def test_a_file_of_traces_is_written_and_read(tmp_path: Path) -> None:
    traces = [Trace(f"t{i}", i, INPUT, (Step("put", {"grid": INPUT, "note": "turned"}),), "agent") for i in range(3)]
    write_traces(tmp_path / "deep" / "x.json", traces)
    assert [t.to_json() for t in read_traces(tmp_path / "deep" / "x.json")] == [t.to_json() for t in traces]
    write_traces(tmp_path / "none.json", [])
    assert read_traces(tmp_path / "none.json") == ()


def test_a_trace_belongs_to_the_input_it_was_made_on() -> None:
    task = Task("a", (), (Pair(INPUT, None),), "")
    assert belongs(Trace("a", 0, INPUT, ()), task)
    assert not belongs(Trace("b", 0, INPUT, ()), task)
    assert not belongs(Trace("a", 1, INPUT, ()), task)
    assert not belongs(Trace("a", 0, make_grid([[1]]), ()), task)


def test_the_published_schema_is_what_is_read() -> None:
    published = Path(trace.__file__).with_name("trace.schema.json").read_text("utf-8")
    assert json.loads(published) == json.loads(json.dumps(trace.schema()))


def test_the_schema_and_the_reader_agree() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(trace.schema())
    assert validator.is_valid(GOOD)
    # What a schema cannot say: equal row lengths, keys that stand twice, line breaks in a text.
    beyond = {"a ragged input", "do twice", "a task of two lines", "test true", "colour true"}
    for name, (content, _) in HOSTILE.items():
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            continue
        assert not validator.is_valid(value) or name in beyond, name


def test_a_step_is_applied_by_its_name() -> None:
    state: State = apply(start(INPUT), parse_step(read_json(json.dumps(PAINT).encode(), ""), "step"))
    assert state.grid[0, 1] == 2

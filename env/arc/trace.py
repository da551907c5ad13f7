"""Steps and traces: what was done in the editor as records that any editor replays to the same grid, and their JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from env.arc import editor
from env.arc.editor import State
from env.arc.tasks import (
    COLOURS,
    LARGEST_SIDE,
    Grid,
    Task,
    check_object,
    check_size,
    parse_grid,
    read_json,
    same,
    shown,
)
from env.errors import UserError
from env.files import read_bytes, write_whole

SCHEMA = "wilkins/arc-traces/1"
FARTHEST = 1000
"""Rows, columns and sizes of a step lie within this; the editor refuses, in its own words, those that do not fit."""
LONGEST_STROKE = 4096
LONGEST_TRACE = 100_000
LONGEST_TEXT = 200

_WHOLE = {"type": "integer", "minimum": -FARTHEST, "maximum": FARTHEST}
_TEXT = {"type": "string", "maxLength": LONGEST_TEXT}
ARGUMENTS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("row", "column", "to_row", "to_column", "rows", "columns", "height", "width"), _WHOLE),
    "colour": {"type": "integer", "minimum": 0, "maximum": COLOURS - 1},
    "turns": {"type": "integer", "minimum": 1, "maximum": 3},
    "on": {"enum": ["output", "input"]},
    "axis": {"enum": ["horizontal", "vertical"]},
    "cells": {
        "type": "array",
        "minItems": 1,
        "maxItems": LONGEST_STROKE,
        "items": {"type": "array", "minItems": 2, "maxItems": 2, "items": _WHOLE},
    },
    "grid": {"$ref": "#/$defs/grid"},
    "note": _TEXT,
}
"""What each argument of a step may be, as JSON Schema says it."""

STEPS: dict[str, tuple[Callable[..., State], tuple[str, ...]]] = {
    "resize": (editor.resize, ("height", "width")),
    "copy_input": (editor.copy_input, ()),
    "reset": (editor.reset, ()),
    "crop": (editor.crop, ()),
    "put": (editor.put, ("grid", "note")),
    "colour": (editor.colour, ("colour",)),
    "pick": (editor.pick, ("on", "row", "column")),
    "paint": (editor.paint, ("row", "column", "colour")),
    "line": (editor.line, ("cells", "colour")),
    "fill": (editor.fill, ("colour",)),
    "flood": (editor.flood, ("row", "column", "colour")),
    "select": (editor.select, ("on", "row", "column", "to_row", "to_column")),
    "deselect": (editor.deselect, ()),
    "copy": (editor.copy, ()),
    "clip": (editor.clip, ("grid",)),
    "paste": (editor.paste, ()),
    "flip": (editor.flip, ("axis",)),
    "rotate": (editor.rotate, ("turns",)),
    "move": (editor.move, ("rows", "columns")),
    "undo": (editor.undo, ()),
    "redo": (editor.redo, ()),
    "submit": (editor.submit, ()),
}
"""What a step may do -> the editor's function and its arguments; all are required but `note`."""


@dataclass(frozen=True)
class Step:
    """One thing done in the editor: a key of `STEPS`, and its arguments by name."""

    do: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The record: `do`, then the arguments; grids as lists."""
        plain = {
            key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in self.arguments.items()
        }
        return {"do": self.do, **plain}


@dataclass(frozen=True)
class Trace:
    """What was done to one test input, from `editor.start` on."""

    task: str
    test: int
    """Which test input of the task, from 0."""
    input: Grid
    steps: tuple[Step, ...]
    by: str = ""
    """Who did it."""

    def to_json(self) -> dict[str, Any]:
        """The record that `parse_traces` reads."""
        steps = [step.to_json() for step in self.steps]
        return {"task": self.task, "test": self.test, "by": self.by, "input": self.input.tolist(), "steps": steps}


def apply(state: State, step: Step) -> State:
    """The state after one step."""
    return STEPS[step.do][0](state, **step.arguments)


def replay(trace: Trace, answer: Grid | None = None) -> Iterator[State]:
    """The state before the first step, then after each; submissions are judged where the `answer` is given."""
    state = editor.start(trace.input, answer)
    yield state
    for step in trace.steps:
        state = apply(state, step)
        yield state


def last_state(trace: Trace, answer: Grid | None = None) -> State:
    """The state after every step."""
    *_, last = replay(trace, answer)
    return last


def belongs(trace: Trace, task: Task) -> bool:
    """Whether the trace was made on this task's test input, as the task is now."""
    return trace.task == task.name and trace.test < len(task.test) and same(trace.input, task.test[trace.test].input)


def write_traces(path: Path, traces: Sequence[Trace]) -> None:
    """Write a file of traces in one step, a trace a line."""
    lines = ",\n".join(json.dumps(trace.to_json(), separators=(",", ":")) for trace in traces)
    write_whole(path, f'{{"schema":{json.dumps(SCHEMA)},"traces":[\n{lines}\n]}}\n')


def read_traces(path: Path) -> tuple[Trace, ...]:
    """Traces of a file; raises UserError with file, trace, step and argument for whatever is malformed."""
    raw = read_bytes(path, "the file of traces")
    check_size(len(raw), str(path))
    return parse_traces(raw, str(path))


def parse_traces(raw: bytes, where: str) -> tuple[Trace, ...]:
    """Traces of a file's bytes; `where` names the file in refusals."""
    content = read_json(raw, where)
    check_object(content, where, ("schema", "traces"))
    if content["schema"] != SCHEMA:
        raise UserError(f"{where}: schema {shown(content['schema'])} is not {SCHEMA!r}; this is no file of traces")
    if not isinstance(content["traces"], list):
        raise UserError(f"{where}: traces: a list is needed, found {shown(content['traces'])}")
    return tuple(_trace(trace, f"{where}: traces[{number}]") for number, trace in enumerate(content["traces"]))


def _trace(content: Any, where: str) -> Trace:
    check_object(content, where, ("task", "test", "input", "steps"))
    _check_text(content["task"], f"{where}.task")
    _check_text(content.get("by", ""), f"{where}.by")
    _check_whole(content["test"], f"{where}.test", 0, FARTHEST)
    steps = content["steps"]
    if not isinstance(steps, list) or len(steps) > LONGEST_TRACE:
        raise UserError(f"{where}.steps: a list of at most {LONGEST_TRACE} steps is needed, found {shown(steps)}")
    return Trace(
        content["task"],
        content["test"],
        parse_grid(content["input"], f"{where}.input"),
        tuple(parse_step(step, f"{where}.steps[{number}]") for number, step in enumerate(steps)),
        content.get("by", ""),
    )


def parse_step(content: Any, where: str) -> Step:
    """A step from its record; raises UserError where it is none that the editor knows."""
    check_object(content, where, ("do",))
    do = content["do"]
    if not isinstance(do, str) or do not in STEPS:
        raise UserError(f"{where}: do: {shown(do)} is none of {', '.join(STEPS)}")
    wanted = STEPS[do][1]
    check_object(content, where, [key for key in wanted if key != "note"])
    unknown = next((key for key in content if key != "do" and key not in wanted), None)
    if unknown is not None:
        raise UserError(f"{where}: {do} has no argument {shown(unknown)}")
    return Step(do, {key: _argument(key, value, f"{where}.{key}") for key, value in content.items() if key != "do"})


def _argument(key: str, value: Any, where: str) -> Any:
    rule = ARGUMENTS[key]
    if key == "grid":
        return parse_grid(value, where)
    if key == "cells":
        return _cells(value, where)
    if key == "note":
        _check_text(value, where)
    elif "enum" in rule:
        if not isinstance(value, str) or value not in rule["enum"]:
            raise UserError(f"{where}: {shown(value)} is neither {' nor '.join(rule['enum'])}")
    else:
        _check_whole(value, where, rule["minimum"], rule["maximum"])
    return value


def _cells(value: Any, where: str) -> list[tuple[int, int]]:
    if not isinstance(value, list) or not 1 <= len(value) <= LONGEST_STROKE:
        raise UserError(f"{where}: a list of 1 to {LONGEST_STROKE} cells is needed, found {shown(value)}")
    for number, cell in enumerate(value):
        if not isinstance(cell, list) or len(cell) != 2:
            raise UserError(f"{where}[{number}]: a row and a column are needed, found {shown(cell)}")
        for side in cell:
            _check_whole(side, f"{where}[{number}]", -FARTHEST, FARTHEST)
    return [(row, column) for row, column in value]


def _check_whole(value: Any, where: str, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:  # True is an int
        raise UserError(f"{where}: {shown(value)} is no whole number from {least} to {most}")


def _check_text(value: Any, where: str) -> None:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or not value.isprintable():
        raise UserError(f"{where}: {shown(value)} is no text of one line, {LONGEST_TEXT} characters at most")


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a file of traces: what `env/arc/trace.schema.json` holds."""
    steps = [
        {
            "properties": {"do": {"const": do}, **{key: ARGUMENTS[key] for key in wanted}},
            "required": ["do", *(key for key in wanted if key != "note")],
            "additionalProperties": False,
        }
        for do, (_, wanted) in STEPS.items()
    ]
    side = {"minItems": 1, "maxItems": LARGEST_SIDE}
    trace = {
        "type": "object",
        "properties": {
            "task": _TEXT,
            "test": {"type": "integer", "minimum": 0, "maximum": FARTHEST},
            "by": _TEXT,
            "input": {"$ref": "#/$defs/grid"},
            "steps": {"type": "array", "maxItems": LONGEST_TRACE, "items": {"type": "object", "oneOf": steps}},
        },
        "required": ["task", "test", "input", "steps"],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Traces of the grid editor",
        "type": "object",
        "properties": {"schema": {"const": SCHEMA}, "traces": {"type": "array", "items": trace}},
        "required": ["schema", "traces"],
        "$defs": {
            "grid": {
                "description": "Rows of equal length, colours 0 to 9",
                "type": "array",
                **side,
                "items": {"type": "array", **side, "items": ARGUMENTS["colour"]},
            }
        },
    }

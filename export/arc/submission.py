"""What leaves a search: answers in the published form, and traces for the editor."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from agents.arc.search import Answer, Search
from env.arc.programs import Program
from env.arc.tasks import TRIALS, Grid, Task
from env.arc.trace import LONGEST_TEXT, Step, Trace
from env.files import write_whole

EMPTY: list[list[int]] = [[0]]
"""The attempt where not even a guess could be made."""


def submission(found: Sequence[tuple[Task, Search]]) -> dict[str, list[dict[str, list[list[int]]]]]:
    """Per task a list with, for each test input, `attempt_1` to `attempt_3`; the last answer fills up what is short."""
    return {task.name: [_attempts(search.answers, test) for test in range(len(task.test))] for task, search in found}


def _attempts(answers: Sequence[Answer], test: int) -> dict[str, list[list[int]]]:
    grids = [answer.outputs[test].tolist() for answer in answers[:TRIALS]] or [EMPTY]
    return {f"attempt_{n + 1}": grids[min(n, len(grids) - 1)] for n in range(TRIALS)}


def write_submission(path: Path, content: Mapping[str, object]) -> None:
    """Write it in one step."""
    write_whole(path, json.dumps(content, separators=(",", ":")) + "\n")


def traces(task: Task, search: Search) -> list[Trace]:
    """For each test input, what its answers' programs do in the editor, each to its submission."""
    out = []
    for test, pair in enumerate(task.test):
        steps: list[Step] = []
        for answer in search.answers[:TRIALS]:
            steps += _steps(answer.state.program, pair.input, answer.outputs[test], answer.verified)
        if steps:
            out.append(Trace(task.name, test, pair.input, tuple(steps), "wilkins"))
    return out


def _steps(program: Program, grid: Grid, output: Grid, verified: bool) -> list[Step]:
    """The editor's steps of one answer: the input, the grid after each operation, the submission."""
    steps = [Step("copy_input")]
    made: Grid | None = grid
    for operation in program.steps:
        made = operation(made) if made is not None else None
        if made is None:
            break
        steps.append(_put(made, operation.name))
    note = f"paint {program.rule}" if program.rule is not None else "the answer" if verified else "a guess"
    if program.rule is not None or not verified:
        steps.append(_put(output, note))
    return [*steps, Step("submit")]


def _put(grid: Grid, note: str) -> Step:
    return Step("put", {"grid": grid, "note": note[:LONGEST_TEXT]})

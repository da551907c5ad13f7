"""The figures of coloured grids: the editor's speed, editing in sight of the answer, families, nodes, untouched tasks.

They are printed apart, for each says something else: only untouched tasks say what is understood.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

import numpy as np
from rich.console import Console
from rich.table import Table

from agents.arc.guide import SHIPPED, Network, Trained
from agents.arc.search import Guide, Search, Unguided
from agents.arc.solving import NODES, TASK_SECONDS, WORKERS, Effort, solve_all, trial
from env.arc import editor
from env.arc.bench import bench_editor
from env.arc.families import FAMILIES, HELD_OUT, Family
from env.arc.folds import held_out, trained_on
from env.arc.tasks import Grid, Task, load_tasks
from env.flags import Within

Part = Literal["editor", "editing", "families", "nodes", "training", "evaluation"]
MOST_STEPS = 64
"""Rectangles within which most answers should be painted that are in sight."""

REPORTED = 25
"""Tasks after which a line says how far it is where no terminal shows it."""

SAVED = 5
"""How many times fewer nodes the policy should need."""


def bench_arc(
    parts: tuple[Part, ...] = get_args(Part),
    agent: Path = SHIPPED,
    seconds: Annotated[float, TASK_SECONDS] = 2.0,
    nodes: Annotated[int, NODES] = 3_000,
    instances: Annotated[int, Within(1, 10_000)] = 5,
    every: Annotated[int, Within(1, 10_000)] = 1,
    workers: Annotated[int, WORKERS] = 0,
    arcle_python: Path | None = None,
) -> int:
    """Measure editor and solver of coloured grids, against the bars; exit code 1 where one is not reached.

    Args:
        parts: What to measure; the evaluation set is there to be reported, never to be tuned on.
        agent: The agent that guides.
        seconds: Processor seconds for a task.
        nodes: Steps a search may try where guided and unguided search are compared.
        instances: Unseen instances of each family.
        every: Take every such task only.
        workers: Processes; 0 for one on every core.
        arcle_python: Python of an environment where ARCLE is installed, to which the editor is compared.
    """
    guide = Trained(Network.load(agent))
    bench = _Bench(guide, Effort(seconds), workers, Console())
    training = sorted(load_tasks("arc1-training"), key=lambda task: task.name)[::every]
    for part in parts:
        if part == "editor":
            bench.editor(arcle_python, named=parts == ("editor",))
        elif part == "editing":
            bench.editing(training)
        elif part == "families":
            bench.families("trained on", FAMILIES, instances, 0.9)
            bench.families("held out", HELD_OUT, instances)
        elif part == "nodes":
            bench.nodes("trained on", trained_on(training), nodes)
            bench.nodes("held out", held_out(training), nodes, SAVED)
        elif part == "training":
            right = bench.tasks("training tasks, trained on", trained_on(training))
            right += bench.tasks("training tasks, held out", held_out(training))
            bench.bar("training tasks", right, 110 * len(training) / 400)
        else:
            tasks = sorted(load_tasks("arc1-evaluation"), key=lambda task: task.name)[::every]
            bench.bar("evaluation tasks", bench.tasks("evaluation tasks", tasks), 40 * len(tasks) / 400)
    return 0 if bench.met else 1


@dataclass
class _Bench:
    """What all parts share; `met` says whether every bar so far was reached."""

    guide: Guide
    effort: Effort
    workers: int
    console: Console
    met: bool = True

    def say(self, line: str) -> None:
        """Print a line as it is."""
        self.console.print(line, highlight=False, soft_wrap=True)

    def bar(self, what: str, found: float, bar: float) -> None:
        """Compare a figure with its bar."""
        self.met = self.met and found >= bar
        self.say(f"bar: {what}: {found:.4g} of {bar:.4g}: {'reached' if found >= bar else 'NOT reached'}")

    def solved(self, title: str, tasks: Sequence[Task], guide: Guide, effort: Effort) -> list[tuple[Task, Search]]:
        """Search every task, and show how far that is."""
        found: list[tuple[Task, Search]] = []
        with self.console.status(title) as status:
            for each in solve_all(tasks, guide, effort, self.workers):
                found.append(each)
                explained = sum(search.verified for _, search in found)
                solved = sum(bool(trial(search, task)) for task, search in found)
                line = f"{title}: {len(found)} of {len(tasks)} searched, {explained} explained, {solved} right"
                status.update(line)
                if not self.console.is_terminal and len(found) % REPORTED == 0:
                    self.say(line)
        return found

    def editor(self, arcle_python: Path | None, named: bool) -> None:
        """Speed of the editor as environment, where its peer is there."""
        if arcle_python is None and not named:
            self.say("the editor's speed: not measured; --arcle-python names an environment with ARCLE 0.2.6")
            return
        self.met = bench_editor(arcle_python) == 0 and self.met

    def editing(self, tasks: Sequence[Task]) -> None:
        """Paint every answer in sight of it."""
        pairs = [pair for task in tasks for pair in task.test]
        painted = [edited(pair.input, pair.answer) for pair in pairs]
        right = np.array([steps for steps in painted if steps is not None])
        self.say(
            f"editing in sight of the answer: {len(right)} of {len(pairs)} test inputs, "
            f"{(right <= MOST_STEPS).sum()} within {MOST_STEPS} rectangles, median {np.median(right):.0f}"
        )

    def families(self, title: str, families: Sequence[Family], number: int, bar: float | None = None) -> None:
        """Unseen instances of generated families."""
        # Seeds that no training uses: those begin at 0.
        tasks = [family.instance(1_000_000 + k) for family in families for k in range(number)]
        found = self.solved(f"families {title}", tasks, self.guide, self.effort)
        table = Table("family", "solved", box=None)
        total = 0
        for place, family in enumerate(families):
            solved = sum(bool(trial(search, task)) for task, search in found[place * number : (place + 1) * number])
            total += solved
            table.add_row(family.name, f"{solved} of {number}")
        self.console.print(table)
        self.say(f"unseen instances of families {title}: {total} of {len(tasks)}, {100 * total / len(tasks):.1f} %")
        if bar is not None:
            self.bar("unseen instances in per cent", 100 * total / len(tasks), 100 * bar)

    def nodes(self, title: str, tasks: Sequence[Task], most: int, bar: float | None = None) -> None:
        """Steps to the first program that reproduces the demonstrations, with and without the policy."""
        effort = Effort(math.inf, most, first=True)
        guided, unguided = (
            np.array([search.first for _, search in self.solved(f"nodes, {title}, {name}", tasks, guide, effort)], int)
            for name, guide in (("policy", self.guide), ("unguided", Unguided()))
        )
        both = (guided > 0) & (unguided > 0)
        if not both.any():
            self.say(f"nodes, training tasks {title}: nothing is explained by both within {most:,}")
            return
        ratio = float(np.median(unguided[both] / guided[both]))
        self.say(
            f"nodes to the first program, training tasks {title}: policy {np.median(guided[both]):.0f}, unguided "
            f"{np.median(unguided[both]):.0f} (medians over {both.sum()} explained by both); median ratio 1/{ratio:.1f}; "
            f"explained within {most:,} nodes: policy {(guided > 0).sum()}, unguided {(unguided > 0).sum()} "
            f"of {len(tasks)}"
        )
        if bar is not None:
            self.bar(f"times fewer nodes, {title}", ratio, bar)

    def tasks(self, title: str, tasks: Sequence[Task]) -> int:
        """Published tasks, three trials; how many are right."""
        begun = time.monotonic()
        found = self.solved(title, tasks, self.guide, self.effort)
        trials = [trial(search, task) for task, search in found]
        spent = sum(search.seconds for _, search in found) / max(len(tasks), 1)
        solved = sum(bool(t) for t in trials)
        explained = sum(search.verified for _, search in found)
        self.say(
            f"{title}: {solved} of {len(tasks)} right within three trials, {sum(t == 1 for t in trials)} on the first; "
            f"{explained} explained; {spent:.2f} processor seconds and "
            f"{(time.monotonic() - begun) / max(len(tasks), 1):.2f} s a task"
        )
        return solved


def edited(input: Grid, answer: Grid) -> int | None:
    """Rectangles that make the answer in the editor, one colour each; None where it would not be accepted."""
    state = editor.resize(editor.start(input, answer), *answer.shape)
    steps = 0
    while (state.grid != answer).any():
        row, column = map(int, np.argwhere(state.grid != answer)[0])
        bottom, right = _rectangle(answer == answer[row, column], row, column)
        state = editor.select(state, "output", row, column, bottom, right)
        state = editor.fill(state, int(answer[row, column]))
        steps += 1
    return steps if editor.submit(state).status == "right" else None


def _rectangle(free: np.ndarray, row: int, column: int) -> tuple[int, int]:
    """Last row and column of the largest rectangle of free cells from a corner on."""
    best, most, width = (row, column), 0, free.shape[1] - column
    for bottom in range(row, free.shape[0]):
        line = free[bottom, column : column + width]
        width = int(line.argmin()) if not line.all() else width
        if width == 0:
            break
        if (bottom - row + 1) * width > most:
            best, most = (bottom, column + width - 1), (bottom - row + 1) * width
    return best

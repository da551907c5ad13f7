"""Solving many tasks on several processor cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from agents.arc.search import Guide, Search, right, solve
from env.arc.features import observe
from env.arc.tasks import TRIALS, Pair, Task, make_grid
from env.arc.world import ACTIONS, Puzzle
from env.flags import Within

TASK_SECONDS, NODES, WORKERS = Within(1e-9, 3600.0), Within(1, 10**12), Within(0, 1024)
"""What may be spent on a task, and by how many processes."""


@dataclass(frozen=True)
class Effort:
    """How long to search a task."""

    seconds: float = 2.0
    """Processor seconds."""
    nodes: int = 10**9
    """Steps tried; a search that ends by these does not depend on the machine's speed."""
    first: bool = False
    """Stop at the first program that reproduces every demonstration."""


def solve_all(
    tasks: Sequence[Task], guide: Guide | None = None, effort: Effort = Effort(), workers: int = 0
) -> Iterator[tuple[Task, Search]]:
    """Search every task; each with what was found, in order. `workers`: processes; 0 for one a core, 1 for none."""
    workers = min(workers or len(os.sched_getaffinity(0)), len(tasks))
    if workers <= 1:
        compile_loops()
        for task in tasks:
            yield task, _search(task, guide, effort)
        return
    # A forked child would inherit the locks of the threads of torch; a server that is forked from knows no torch.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("forkserver"), compile_loops) as pool:
        running = [pool.submit(_search, task, guide, effort) for task in tasks]
        try:
            for task, one in zip(tasks, running, strict=True):
                yield task, one.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def compile_loops() -> None:
    """Have every compiled loop ready, so that no task's time goes into it; seconds, and a minute on a new machine."""
    grid = make_grid([[0, 1, 1], [2, 0, 1], [2, 2, 0]])
    wanted = make_grid([[0, 1, 1], [3, 0, 1], [3, 3, 0]])
    task = Task("", (Pair(grid, wanted), Pair(wanted, wanted)), (Pair(grid, None),), "")
    solve(task, seconds=600, most_nodes=len(ACTIONS) + 1)
    observe(Puzzle.of(task).start)


def _search(task: Task, guide: Guide | None, effort: Effort) -> Search:
    found = solve(task, guide, effort.seconds, effort.nodes, effort.first)
    found.answers = found.answers[:TRIALS]
    return found


def trial(search: Search, task: Task) -> int | None:
    """The trial, from 1, by which every test input is right; 0 for none, None where the answers are not known."""
    if not task.answered:
        return None
    return next((n for n in range(1, TRIALS + 1) if right(search.answers, task, n)), 0)

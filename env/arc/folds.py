"""The split of published training tasks: what an agent learns from, and what only measures it."""

from __future__ import annotations

from collections.abc import Iterable

from env.arc.tasks import Task

LEARNT = 7
"""Of ten tasks in the order of their names, those that are learnt from."""


def trained_on(tasks: Iterable[Task]) -> list[Task]:
    """Tasks that an agent may learn from: seven of ten by name."""
    return [task for task in tasks if _place(task) < LEARNT]


def held_out(tasks: Iterable[Task]) -> list[Task]:
    """The others: three of ten by name."""
    return [task for task in tasks if _place(task) >= LEARNT]


def _place(task: Task) -> int:
    """0..9 from the name alone, whatever else is loaded."""
    return sum(task.name.encode()) % 10

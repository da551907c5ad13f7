"""Rows of a model into a journal, with progress on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from env.oracle.journal import Journal

if TYPE_CHECKING:
    from env.oracle.measure import Oracle

NEAR = (0.1, 0.25)
"""Margins this near zero are reported as near a tie."""


def fill_journal(
    oracle: Oracle,
    wanted: list[tuple[int, str, np.ndarray]],
    questions: tuple[str, ...],
    journal: Journal,
    console: Console,
) -> None:
    """Measure `wanted` (see `Oracle.rows`) into `journal`, a row at a time, and say what slows it down."""
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("pairs"),
        TextColumn("{task.fields[rate]:.1f}/s"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[near]:.1%} near a tie"),
    )
    near = done = 0
    with Progress(*columns, console=console, speed_estimate_period=600) as progress:
        task = progress.add_task("", total=sum(ids.size for _, _, ids in wanted), rate=0.0, near=0.0)
        if oracle.shared is None:
            oracle.settle(wanted, questions)
            if oracle.obstacle:
                progress.console.print(f"one prompt at a time, which is slower: {oracle.obstacle}")
        for row in oracle.rows(wanted, questions):
            journal.append(row)
            done += row.margin.size
            near += int((np.abs(row.margin) < NEAR[0]).sum())
            elapsed = progress.tasks[0].elapsed or 1e-9
            progress.update(task, advance=row.margin.size, rate=done / elapsed, near=near / done)

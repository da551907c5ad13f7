"""`wilkins bench parts`: what calls of PPO and lessons from lookahead each add to an agent, over several seeds."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
from rich.console import Console
from rich.table import Table

from agents import trainer
from agents.cabinet.run import CabinetSettings
from agents.runs import CONFIG, Record, load_run
from agents.settings import settings_of
from agents.trainer import Settings
from env.errors import UserError
from env.flags import Within
from games.cabinet import Cabinet
from studies.statistics import with_error

UPDATE = Settings().games * Settings().horizon
"""Calls of one update of PPO, the least that a training makes."""

CALLS = (UPDATE, 3 * UPDATE, Settings().steps)


def bench_parts(
    package: Path | None = None,
    calls: Annotated[tuple[int, ...], Within(1, 10**9)] = CALLS,
    lessons: Annotated[int, Within(0, 100)] = Settings().lessons,
    seeds: Annotated[int, Within(1, 1000)] = 3,
    runs: Path = Path("runs"),
    name: str | None = None,
) -> int:
    """Print what PPO and lessons reach, alone and together: score over all noise levels by calls, lessons and seeds.

    Every training is an ordinary run, RUNS/NAME/calls-N/seed-S: the same command goes on after a stop, and
    `wilkins compare` sets the folders of calls side by side.

    Args:
        package: Package to train on; the embedded one when left out.
        calls: Calls of PPO; an update is 8,192 of them, after which an agent knows nothing: the lessons alone.
        lessons: Lessons after it.
        seeds: Trainings of each number of calls, which differ by their seed.
        runs: Folder that holds the runs.
        name: Folder below it; the package's name when left out.
    """
    game = Cabinet(CabinetSettings(package=package, improve_seconds=0.0))
    folder = runs / (name or f"parts-{game.title}")
    console = Console()
    table = Table(title=f"{game.title}: {game.best_by.replace('_', ' ')} x100, mean of {seeds} ± standard error")
    table.add_column("calls of PPO", justify="right")
    for lesson in range(lessons + 1):
        table.add_column(f"{lesson} lesson{'' if lesson == 1 else 's'}", justify="right", no_wrap=True)
    table.add_column("CPU s", justify="right", no_wrap=True)
    for wanted in calls:
        settings = Settings(runs=folder / f"calls-{wanted}", steps=wanted, lessons=lessons)
        found = [finished(game, replace(settings, name=f"seed-{seed}", seed=seed), console) for seed in range(seeds)]
        reached = np.array([[best_after(each.record, lesson) for lesson in range(lessons + 1)] for each in found])
        seconds = [each.seconds for each in found if each.seconds is not None]
        made = found[0].record.evaluated[-1].steps
        table.add_row(
            f"{made:,}", *map(with_error, reached.T), f"{median(seconds):.0f}" if len(seconds) == seeds else ""
        )
    console.print(table)
    return 0


@dataclass(frozen=True)
class Finished:
    """A training that came to its last lesson."""

    record: Record
    seconds: float | None
    """Processor time that it took; None where it was begun by an earlier command."""


def finished(game: Cabinet, settings: Settings, console: Console) -> Finished:
    """Begin a training or go on with it, to its end.

    Raises UserError where its folder holds a run of other settings, KeyboardInterrupt where the user stopped it.
    """
    folder = settings.runs / str(settings.name)
    begun = time.process_time()
    there = (folder / CONFIG).exists()
    if there:
        run = load_run(folder, game.name)
        stored = replace(settings_of(run, "settings", Settings), runs=settings.runs)
        if (stored, settings_of(run, "choices", CabinetSettings)) != (settings, game.choices):
            raise UserError(f"{folder} holds a run of other settings; choose another --name")
    with console.status(f"{folder}"):
        asked = replace(settings, resume=folder if there else None)
        run, whole = trainer.train(game, asked, Console(file=io.StringIO()))
    if not whole:
        console.print("stopped; the same command goes on")
        raise KeyboardInterrupt
    record = run.record()
    assert record is not None  # a finished training was evaluated
    console.print(f"{folder}   {record.best_score:.2f}", highlight=False, soft_wrap=True)
    return Finished(record, None if there else time.process_time() - begun)


def best_after(record: Record, lessons: int) -> float:
    """Score of the best agent that the training had after so many lessons."""
    return max(each.scores[record.best_by] for each in record.evaluated if each.lessons <= lessons)

"""Who measures: this machine, with its one model. Rows go into a journal as they finish, with progress on the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from env.oracle.journal import Journal, Row, Wanted
from env.oracle.model import Source, load_model
from env.oracle.prompt import ChatPrompts

if TYPE_CHECKING:
    from env.oracle.measure import Oracle

NEAR = (0.1, 0.25)
"""Margins this near zero are reported as near a tie."""


@dataclass(frozen=True)
class Numerics:
    """One way to compute what a matrix holds."""

    dtype: str
    device: str
    attention: str | None = None
    """None: what the library takes for the model."""
    part: int = 1
    """Tokens of a pack and of a pass, as this part of the usual ones: prompts then go through in other company."""

    def __str__(self) -> str:
        told = [self.dtype, self.device, *([f"{self.attention} attention"] if self.attention else [])]
        return ", ".join([*told, *([f"packs 1/{self.part}"] if self.part > 1 else [])])


class Engine(Protocol):
    """What measures rows."""

    def fill(self, numerics: Numerics, chosen: Sequence[Wanted], measured: np.ndarray, journal: Journal) -> None:
        """Measure what `measured` (bool [animals, questions]) lacks of `chosen` into `journal`, in groups of `grouped`."""


def open_oracle(source: Source, prompts: ChatPrompts, numerics: Numerics) -> Oracle:
    """The model of `source`, loaded to compute as `numerics` says."""
    from env.oracle.measure import PACK_TOKENS, PASS_TOKENS, Oracle  # imports torch

    gpus = source.gpus if numerics.device == source.device else 1
    model = load_model(replace(source, dtype=numerics.dtype, device=numerics.device, gpus=gpus), numerics.attention)
    oracle = Oracle(model, prompts, pack_tokens=PACK_TOKENS // numerics.part)
    if numerics.part > 1:
        most = PASS_TOKENS["cpu" if oracle.device.type == "cpu" else "cuda"]
        oracle.pass_tokens = min(oracle.pass_tokens, most // numerics.part)
    return oracle


def grouped(chosen: Sequence[Wanted], measured: np.ndarray, size: int) -> list[list[Wanted]]:
    """Groups of `size` neighbours of `chosen` that lack something, the same however much is `measured` already.

    Rows go through a model together, and its sums depend on the company in their last bits. So a row that is there
    goes along when its group lacks others, and what is measured in parts is bit for bit what is measured at once.
    """
    groups = []
    for place in range(0, len(chosen), size):
        group = chosen[place : place + size]
        lacks = [ids[~measured[animal_id, ids]] for animal_id, _, ids in group]
        if any(ids.size for ids in lacks):
            groups.append(
                [
                    (animal_id, name, missing if missing.size else ids)
                    for (animal_id, name, ids), missing in zip(group, lacks, strict=True)
                ]
            )
    return groups


def lacking(chosen: Sequence[Wanted], measured: np.ndarray) -> int:
    """Number of pairs that `chosen` wants and `measured` has not."""
    return sum(int((~measured[animal_id, ids]).sum()) for animal_id, _, ids in chosen)


class Meter:
    """Takes finished rows into a journal, and shows how fast they come."""

    def __init__(self, progress: Progress, journal: Journal, measured: np.ndarray, total: int):
        self.progress, self.journal, self.measured = progress, journal, measured
        self.pairs = self.near = 0
        self._task: TaskID = progress.add_task("", total=total, rate=0.0, near="")
        self.start()

    def start(self) -> None:
        """Reckon speed from now on: what came before was no measuring."""
        self._begun = time.monotonic()

    @property
    def seconds(self) -> float:
        """Time since `start`."""
        return max(time.monotonic() - self._begun, 1e-9)

    def take(self, row: Row) -> int:
        """Put `row` on the disk unless it was there before; returns the number of pairs that are new."""
        if self.measured[row.animal_id, row.question_ids].all():
            return 0
        self.journal.append(row)
        self.pairs += row.margin.size
        self.near += int((np.abs(row.margin) < NEAR[0]).sum())
        near = f"{self.near / self.pairs:.1%} near a tie"
        self.progress.update(self._task, advance=row.margin.size, rate=self.pairs / self.seconds, near=near)
        return row.margin.size


@contextmanager
def metered(console: Console, journal: Journal, measured: np.ndarray, total: int) -> Iterator[Meter]:
    """Progress on the terminal while rows of `total` new pairs are taken."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("pairs"),
        TextColumn("{task.fields[rate]:.1f}/s"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[near]}"),
    )
    with Progress(*columns, console=console, speed_estimate_period=600) as progress:
        yield Meter(progress, journal, measured, total)


def fill_journal(
    oracle: Oracle,
    chosen: Sequence[Wanted],
    measured: np.ndarray,
    questions: Sequence[str],
    journal: Journal,
    console: Console,
) -> None:
    """Measure what `measured` lacks of `chosen` (see `Engine`) into `journal`, and say what slows it down."""
    with metered(console, journal, measured, lacking(chosen, measured)) as meter:
        if oracle.shared is None:
            oracle.settle(chosen, questions)
            if oracle.obstacle:
                meter.progress.console.print(f"one prompt at a time, which is slower: {oracle.obstacle}")
        groups = grouped(chosen, measured, oracle.side_by_side(chosen[0], questions))
        for row in oracle.groups(groups, questions):
            meter.take(row)


class Local:
    """This machine measures, with the one model that `source` names."""

    def __init__(self, source: Source, prompts: ChatPrompts, questions: Sequence[str], console: Console):
        self.source, self.prompts, self.questions, self.console = source, prompts, questions, console
        self._loaded: tuple[Numerics, Oracle] | None = None

    def fill(self, numerics: Numerics, chosen: Sequence[Wanted], measured: np.ndarray, journal: Journal) -> None:
        """See `Engine`."""
        if self._loaded is None or self._loaded[0] != numerics:
            self._loaded = None  # before the next one needs its memory
            self._loaded = numerics, open_oracle(self.source, self.prompts, numerics)
        fill_journal(self._loaded[1], chosen, measured, self.questions, journal, self.console)

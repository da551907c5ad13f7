"""Run folders: what a training run of any game wrote, found again.

`config.json` says how the run came about, `record.json` which checkpoints belong to it; both are written whole.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from env.errors import UserError
from env.files import read_bytes, remove_abandoned, write_whole

CONFIG, RECORD, CHECKPOINTS = "config.json", "record.json", "checkpoints"

_NAME = re.compile(r"\d+(\+\d+)?\.npz")
"""Names of checkpoints: steps, and behind a plus the lessons taught since."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a training stood: an agent and, in the file, all that going on from there takes."""

    steps: int
    lessons: int = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    """By name, as the game's evaluation gave them; empty where training was only interrupted."""
    kept: bool = True
    """False where the file was removed to keep to `--keep`; the scores stay."""

    @property
    def label(self) -> str:
        """What the checkpoint is called on the command line: its steps, and `+n` after n lessons."""
        return f"{self.steps}+{self.lessons}" if self.lessons else str(self.steps)

    @property
    def file(self) -> str:
        """Name of its file in the folder of checkpoints."""
        return f"{self.label}.npz"


@dataclass(frozen=True)
class Record:
    """What a run has behind it. The one file that says which checkpoints count: what it does not name is not there."""

    best_by: str
    """The score by which the best agent is chosen."""
    evaluated: tuple[Checkpoint, ...] = ()
    """In the order of training."""
    stopped: Checkpoint | None = None
    """Where an interrupted run goes on, if that is later than the last evaluation."""

    @property
    def last(self) -> Checkpoint | None:
        """Where the run goes on; None where nothing was kept yet."""
        return self.stopped or (self.evaluated[-1] if self.evaluated else None)

    @property
    def best(self) -> Checkpoint | None:
        """The evaluated checkpoint of the highest score, the first one of equals; None before the first evaluation."""
        return max(self.evaluated, key=lambda each: each.scores[self.best_by], default=None)

    @property
    def best_score(self) -> float:
        """Score of the best agent, minus infinity before the first evaluation."""
        return -math.inf if self.best is None else self.best.scores[self.best_by]

    def with_evaluated(self, checkpoint: Checkpoint, keep: int) -> Record:
        """The record with one more evaluation; files stay for the last `keep` ones and the best."""
        record = replace(self, evaluated=(*self.evaluated, checkpoint), stopped=None)
        first = len(record.evaluated) - keep
        evaluated = tuple(
            replace(each, kept=each.kept and (place >= first or each == record.best))
            for place, each in enumerate(record.evaluated)
        )
        return replace(record, evaluated=evaluated)

    def until(self, checkpoint: Checkpoint) -> Record:
        """The record as it was when `checkpoint` was the last one."""
        earlier = [
            each for each in self.evaluated if (each.steps, each.lessons) <= (checkpoint.steps, checkpoint.lessons)
        ]
        return replace(self, evaluated=tuple(earlier), stopped=self.stopped if checkpoint == self.stopped else None)


@dataclass(frozen=True)
class Run:
    """A training run on disk."""

    folder: Path
    config: Mapping[str, Any]
    """`game`, `settings` and the game's own choices as given to training, `world` with digests and sizes, `versions`."""

    def path(self, checkpoint: Checkpoint) -> Path:
        """File of a checkpoint."""
        return self.folder / CHECKPOINTS / checkpoint.file

    def record(self) -> Record | None:
        """What the run has behind it; None where it was stopped before it began. Raises UserError for a damaged record."""
        path = self.folder / RECORD
        if not path.exists():
            if any((self.folder / CHECKPOINTS).glob("*.npz")):
                raise UserError(f"{path} is missing, though there are checkpoints; restore it, or start a new run")
            return None
        raw = read_bytes(path, "the run's record of checkpoints")
        try:
            return _parsed(json.loads(raw))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = (str(error).splitlines() or ["nothing in it"])[0][:80]
            raise UserError(
                f"{path}: damaged ({reason}); restore the file: without it nobody knows which checkpoint is whole"
            ) from None

    def commit(self, record: Record) -> None:
        """Publish a record, then remove the checkpoints that it does not name. The files that it names are there."""
        write_whole(self.folder / RECORD, json.dumps(asdict(record), indent=1) + "\n")
        named = {each.file for each in (*record.evaluated, record.stopped) if each is not None and each.kept}
        for path in (self.folder / CHECKPOINTS).glob("*.npz"):
            if path.name not in named:
                path.unlink(missing_ok=True)
        remove_abandoned(self.folder / CHECKPOINTS)

    def checkpoint(self, which: str) -> Checkpoint:
        """The checkpoint called `best`, `last`, or by its steps (`81920`; `81920+2` after two lessons).

        Raises UserError where the run has none such, with those that it has.
        """
        record = self.record()
        if record is None or record.last is None:
            raise UserError(f"{self.folder}: no trained agent yet; the run was stopped before its first checkpoint")
        found = {"best": record.best, "last": record.last}.get(which)
        if which == "best" and found is None:
            raise UserError(f"{self.folder}: no trained agent yet; the run was stopped before its first evaluation")
        every = [*record.evaluated, *filter(None, [record.stopped])]
        found = found or next((each for each in every if each.label == which), None)
        kept = ", ".join(each.label for each in every if each.kept)
        if found is None:
            raise UserError(f"{self.folder}: no checkpoint {which!r}; it keeps best, last, {kept}")
        if not found.kept:
            raise UserError(f"{self.folder}: checkpoint {which} was not kept (--keep); it keeps best, last, {kept}")
        return found

    def labels(self, which: str) -> list[str]:
        """Labels of the checkpoints called `which`: every evaluated one that was kept for `all`, else that of `checkpoint`.

        Raises UserError where the run has none such.
        """
        only = self.checkpoint("best" if which == "all" else which)
        record = self.record()
        if which != "all" or record is None:
            return [only.label]
        return [each.label for each in record.evaluated if each.kept]


def load_run(folder: Path, game: str | None = None) -> Run:
    """Run of a folder, of `game` if given. Raises UserError where it is none, or its `config.json` is damaged."""
    if not folder.is_dir():
        raise UserError(f"no run folder {folder}; 'wilkins train' makes one below runs/")
    raw = read_bytes(folder / CONFIG, "the run's configuration")
    try:
        config = json.loads(raw)
        played = config["game"]
        parts = all(isinstance(config[key], dict) for key in ("settings", "choices", "world", "versions"))
        if not (isinstance(played, str) and parts):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UserError(f"{folder / CONFIG}: not the configuration of a run; train again or restore the file") from None
    if game is not None and played != game:
        raise UserError(
            f"{folder}: a run of the game {played[:40]!r}, not of {game!r}; evaluate and export take runs of every game"
        )
    return Run(folder, config)


def game_of(folder: Path) -> str | None:
    """The game of the run in a folder; None where there is none that can be read."""
    try:
        return load_run(folder).config["game"]
    except (UserError, OSError, ValueError):  # a name that is no path at all
        return None


def _parsed(stored: Any) -> Record:
    """The record of what JSON held. Raises ValueError, TypeError or KeyError for anything else."""
    record = Record(
        str(stored["best_by"]),
        tuple(_checkpoint(each) for each in stored["evaluated"]),
        None if stored["stopped"] is None else _checkpoint(stored["stopped"]),
    )
    if set(stored) != {"best_by", "evaluated", "stopped"}:
        raise ValueError("other entries than a record has")
    if any(record.best_by not in each.scores for each in record.evaluated):
        raise ValueError(f"an evaluation without {record.best_by!r}")
    return record


def _checkpoint(stored: Any) -> Checkpoint:
    found = Checkpoint(**stored)
    counts = all(type(count) is int and 0 <= count < 10**15 for count in (found.steps, found.lessons))
    scores = isinstance(found.scores, dict) and all(
        type(score) in (int, float) and math.isfinite(score) for score in found.scores.values()
    )
    if not (counts and scores and type(found.kept) is bool and _NAME.fullmatch(found.file)):
        raise ValueError(f"no checkpoint: {str(stored)[:60]}")
    return found


def package_place(made_with: Path | str | None, named: Path | None, what: Path) -> Path | None:
    """Where a package lies: as `named`, else as `what` was made with; None for the embedded one.

    Raises UserError where it has moved, with the way out.
    """
    place = named or (None if made_with is None else Path(made_with))
    if named is None and place is not None and not place.is_dir():
        raise UserError(f"{what}: its package {place} is not there any more; say where it lies with --package DIR")
    return place

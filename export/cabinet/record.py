"""What an export assumed, recorded beside its policy: later commands take their world from there.

The record is written last and names the digests of its files, so a set that was cut off is noticed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import get_args

from agents.cabinet.run import load_cabinet_run
from agents.runs import CONFIG, package_place
from env.errors import UserError
from env.files import read_bytes, write_whole
from env.identification.belief import Assumed
from env.identification.package import AnswerModel, Candidates, Package, load_package

RECORD = "export.json"
POLICY, SUBMISSION = "policy.json", "submission.zip"


@dataclass(frozen=True)
class ExportRecord:
    """What a policy was made for."""

    package: str | None = None
    """Absolute path of its folder; None for the embedded one."""
    candidates: str = "hidden"
    """A split, or the absolute path of a file of names."""
    noise: float | None = None
    """Margin units; the package's own when None."""
    doubt: float = 0.0
    answer_model: AnswerModel = "auto"
    checkpoint: str = ""
    """Label of the agent that was exported."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the files that belong together, by name."""


@contextmanager
def publishing(folder: Path, record: ExportRecord) -> Iterator[None]:
    """Publish a set of files: inside, its files are written; behind it stands the record that names them.

    `record.files` names them with anything; their digests are taken here. Until the record is replaced, the one of the
    export before it does not fit files that were.
    """
    yield
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in record.files}
    write_whole(folder / RECORD, json.dumps({**asdict(record), "files": digests}, indent=2) + "\n")


def recorded(target: Path) -> ExportRecord:
    """What is known of the policy at `target`, a run folder, a policy.json or an archive: the record beside it.

    Without one, what a run there was trained with; without a run the defaults. Raises UserError for a set of files that
    do not belong together, and for a damaged record.
    """
    folder = target if target.is_dir() else target.parent
    require_whole(folder, target)
    if (folder / RECORD).is_file():
        return _read(folder / RECORD)
    if (folder / CONFIG).is_file():
        choices = load_cabinet_run(folder).choices
        package = None if choices.package is None else str(choices.package)
        return ExportRecord(package, noise=choices.noise, doubt=choices.doubt)
    return ExportRecord()


def earlier(folder: Path) -> ExportRecord:
    """What the last export into a run folder was made for; what it was trained with before there is one.

    A record that is damaged says nothing: an export replaces it.
    """
    try:
        return _read(folder / RECORD)
    except UserError:
        choices = load_cabinet_run(folder).choices
        return ExportRecord(None, noise=choices.noise, doubt=choices.doubt)


def require_whole(folder: Path, target: Path) -> None:
    """Raises UserError where the policy and the archive of a folder are not of one export."""
    if target not in (folder, folder / POLICY, folder / SUBMISSION) or not (folder / POLICY).is_file():
        return
    cut = f"{folder}: an export was cut off, its files do not belong together; run 'wilkins export {folder}' again"
    if (folder / RECORD).is_file():
        for name, digest in _read(folder / RECORD).files.items():
            path = folder / name
            if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                raise UserError(f"{cut} ({name} is not the one that was exported)")
    elif (folder / CONFIG).is_file():
        raise UserError(cut)


def world_of(
    target: Path,
    package: Path | None = None,
    candidates: str | None = None,
    noise: float | None = None,
    doubt: float | None = None,
    answer_model: AnswerModel | None = None,
) -> tuple[Candidates, Assumed]:
    """Who may be hidden and what is assumed of a platform: as flags say, else as `target` was made with.

    Raises UserError for flags that cannot be, and for a package that has moved, with the way out.
    """
    made = recorded(target)
    world = load_package(package_place(made.package, package, target))
    # A curve belongs to one noise: where another is asked for, the package says what predicts best there.
    model: AnswerModel = answer_model or (made.answer_model if noise in (None, made.noise) else "auto")
    return (
        world.among(candidates or made.candidates),
        world.assumed(made.noise if noise is None else noise, made.doubt if doubt is None else doubt, model),
    )


def spoken(candidates: Candidates, assumed: Assumed) -> str:
    """In one line what was played."""
    package = candidates.package
    return (
        f"package {package.path}, {len(candidates)} candidates ({candidates.choice}), {sourced(package, assumed)}, "
        f"doubt {assumed.doubt:g}"
    )


def sourced(package: Package, assumed: Assumed) -> str:
    """How a platform is assumed to answer, and whether its noise was measured."""
    return str(assumed) if assumed.curve is not None else f"{assumed} ({package.noise_source(assumed.noise)})"


def _read(path: Path) -> ExportRecord:
    raw = read_bytes(path, "the record of the export")
    try:
        stored = json.loads(raw)
        record = ExportRecord(**stored)
        texts = all(isinstance(text, str) for text in (record.candidates, record.checkpoint, *record.files.values()))
        names = set(record.files) and all(Path(name).name == name for name in record.files)
        numbers = type(record.noise) in (int, float) and type(record.doubt) in (int, float)
        if not (texts and names and numbers and isinstance(record.package, str | None)):
            raise ValueError
        if not (0 <= float(record.noise or 0) < math.inf and record.answer_model in get_args(AnswerModel)):
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UserError(f"{path}: not the record of an export; run 'wilkins export' again") from None
    return record

"""What of a package is asked, how, and what the answers depend on."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from env.errors import UserError
from env.files import read_bytes
from env.identification.matrix import Matrix
from env.identification.package import SPLITS, Package
from env.identification.pools import Pool, decode, read_split
from env.oracle.model import Source, load_tokenizer
from env.oracle.prompt import PROMPTS, ChatPrompts


def chat_prompts(
    source: Source, package: Package, asked: str, day: datetime.date | None, template: str
) -> ChatPrompts:  # fmt: skip
    """Prompts of the kind `asked` (see `PROMPTS`), found to hold what they ask; raises UserError for those that do not."""
    prompts = ChatPrompts(load_tokenizer(source), PROMPTS[asked], day, template)
    prompts.check(package.animals.names, package.questions.names)
    return prompts


def identity_of(source: Source, package: Package, asked: str, prompts: ChatPrompts) -> dict[str, str]:
    """What the answers depend on."""
    return {
        "model": source.name,
        "revision": source.revision,
        "dtype": source.dtype,
        "prompt": asked,
        "prompt_sha256": prompts.sha256,
        **({"prompt_date": prompts.date.isoformat()} if prompts.date else {}),
        **digests_of(package),
    }


def prompt_day(date: str, journal: Mapping[str, str], provenance: Mapping[str, Any]) -> datetime.date | None:
    """The day that prompts say it is: as told, else that of the first build; None before one."""
    # Rows from before days were recorded were made on the day that the matrix was.
    recorded = journal.get("prompt_date") or provenance.get("prompt_date") or provenance.get("created") or ""
    try:
        return datetime.date.fromisoformat(date or str(recorded)) if date or recorded else None
    except ValueError:
        if date:
            raise UserError(f"--date {date!r} is no day; give one such as 2026-11-30") from None
        return None


def digests_of(package: Package) -> dict[str, str]:
    """Provenance entries that say which pools a matrix belongs to."""
    return {f"{pool.kind}_sha256": pool.sha256 for pool in (package.animals, package.questions)}


def blank_matrix(package: Package) -> Matrix:
    """A matrix of the package with nothing measured."""
    shape = (len(package.animals), len(package.questions))
    return Matrix(np.full(shape, np.nan, np.float32), np.zeros(shape, np.uint8), digests_of(package))


def chosen_animals(package: Package, choice: str) -> np.ndarray:
    """Identifiers of all, of a split, or of the names in a text or CSV file, int64; raises UserError for none."""
    if choice == "all":
        return np.arange(len(package.animals))
    if choice in SPLITS:
        ids: np.ndarray = getattr(package, choice)
        if ids.size == 0:
            raise UserError(f"--animals {choice}: that split of {package.path} is empty; give another, or a file")
        return ids
    path = Path(choice)
    if not path.is_file():
        raise UserError(f"--animals {choice!r}: neither a split ({', '.join(SPLITS)}) nor a file")
    if path.suffix == ".csv":
        return read_split(path, package.animals)
    return _named(path, package.animals)


def chosen_questions(package: Package, path: Path | None) -> np.ndarray:
    """Identifiers of the questions in a text file, or of all, int64, ascending; raises UserError for none."""
    return np.arange(len(package.questions)) if path is None else _named(path, package.questions)


def _named(path: Path, pool: Pool) -> np.ndarray:
    """Identifiers of the names in a text file, one a line, ascending and without repetition."""
    lines = decode(read_bytes(path, f"the list of {pool.kind}"), path).splitlines()
    ids = [pool.find(line, where=f"{path}: line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not ids:
        raise UserError(f"{path}: no {pool.kind} in it; give one name a line")
    return np.unique(np.array(ids, np.int64))

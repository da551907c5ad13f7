"""The keyword package: pools and table as in every package, and what this game needs besides: tiers, alternatives, clarity."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from env.errors import UserError
from env.files import read_bytes
from env.identification.matrix import Matrix
from env.identification.package import Package, load_package
from env.identification.pools import decode

EMBEDDED = Path(__file__).parents[1] / "data" / "keywords"
"""The package that is used where none is named."""

DEFAULT_TIE = 0.5
"""Margins nearer to zero than this are ties, where the matrix does not say otherwise."""

DEFAULT_CLARITY = 0.1
"""Rate of wrong answers to a question whose clarity nobody measured."""


@dataclass(frozen=True)
class KeywordPackage:
    """Keywords in tiers, questions and their table."""

    package: Package
    tier: np.ndarray
    """Tier of each keyword, int64 [keywords], from 0, ascending."""
    alternatives: tuple[tuple[str, ...], ...]
    """Other texts that hit each keyword."""
    clarity: np.ndarray
    """Share of unstable answers to each question, float64 [questions]: how often a partner may differ."""
    supplementary: tuple[str, ...]
    """Keywords without a row in the table; only the order of the alphabet can find them."""

    @property
    def keyword_names(self) -> tuple[str, ...]:
        """Names of the keywords, lower case."""
        return self.package.animals.names

    @property
    def question_names(self) -> tuple[str, ...]:
        """Words of the questions, lower case."""
        return self.package.questions.names

    @property
    def tie(self) -> float:
        """Margins nearer to zero than this are ties."""
        return float(self.package.matrix.provenance.get("tie", DEFAULT_TIE))

    @cached_property
    def answers(self) -> np.ndarray:
        """int8 [keywords, questions]: 1 yes, -1 no, 0 tie. What was not measured is a tie."""
        return yes_no_tie(self.package.matrix, self.tie)

    @cached_property
    def hardness(self) -> np.ndarray:
        """What multiplies the clarity for each keyword, float64 [keywords], mean 1: its share of ties, smoothed."""
        share = (self.answers == 0).mean(axis=1) + 0.05
        factor = np.clip(share / share.mean(), 0.3, 3)
        return np.asarray(factor / factor.mean(), np.float64)


def yes_no_tie(matrix: Matrix, tie: float) -> np.ndarray:
    """int8 [keywords, questions]: the answer, or 0 where the margin is nearer to zero than `tie` or not known."""
    margin = matrix.signed_margin()
    with np.errstate(invalid="ignore"):
        sure = np.abs(margin) >= tie
    return np.where(sure, np.sign(np.nan_to_num(margin)), 0).astype(np.int8)


def load_keywords(path: Path | str | None = None) -> KeywordPackage:
    """Keyword package of a folder (the embedded one when None).

    `tiers.csv` (keyword,tier), `alternatives.csv` (keyword,alternative), `clarity.csv` (question,unstable) and
    `supplementary.txt` may be missing: then all is one tier, there are none, and clarity is `DEFAULT_CLARITY`.
    Raises UserError for anything else that is missing, unreadable or contradictory.
    """
    package = load_package(EMBEDDED if path is None else path)
    if package.kind != "keywords":
        raise UserError(f"{package.path}: a package of animals; this game needs keywords_pool.txt")
    keywords, questions = package.animals, package.questions
    tier = np.zeros(len(keywords), np.int64)
    seen: set[int] = set()
    for where, name, text in _pairs(package.path / "tiers.csv", "keyword", "tier"):
        keyword_id = keywords.find(name, where)
        if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 99:
            raise UserError(f"{where}: tier {text[:20]!r}; give a whole number from 1")
        tier[keyword_id] = int(text) - 1
        seen.add(keyword_id)
    if seen and len(seen) < len(keywords):
        missing = next(name for place, name in enumerate(keywords.names) if place not in seen)
        raise UserError(f"{package.path / 'tiers.csv'}: no tier for {missing!r}; every keyword needs one, or none does")
    if (np.diff(tier) < 0).any():
        later = keywords.names[int(np.flatnonzero(np.diff(tier) < 0)[0]) + 1]
        raise UserError(
            f"{package.path}: {later!r} stands after keywords of a later tier; sort keywords_pool.txt by tier"
        )
    alternatives: list[list[str]] = [[] for _ in keywords.names]
    for where, name, text in _pairs(package.path / "alternatives.csv", "keyword", "alternative"):
        alternatives[keywords.find(name, where)].append(text)
    clarity = np.full(len(questions), DEFAULT_CLARITY)
    for where, name, text in _pairs(package.path / "clarity.csv", "question", "unstable"):
        try:
            rate = float(text)
        except ValueError:
            rate = np.nan
        if not 0 <= rate <= 0.5:
            raise UserError(f"{where}: {text[:20]!r} is no share of unstable answers; give a number from 0 to 0.5")
        clarity[questions.find(name, where)] = rate
    listed = package.path / "supplementary.txt"
    names = decode(read_bytes(listed, "the supplementary keywords"), listed).splitlines() if listed.exists() else []
    supplementary = tuple(dict.fromkeys(name.strip().lower() for name in names if name.strip()))
    return KeywordPackage(package, tier, tuple(map(tuple, alternatives)), clarity, supplementary)


def _pairs(path: Path, first: str, second: str) -> Iterator[tuple[str, str, str]]:
    """Where it stands, and both values, of each row of a CSV with these columns; nothing where there is no file."""
    if not path.exists():
        return
    rows = csv.reader(io.StringIO(decode(read_bytes(path, f"the file {path.name}"), path), newline=""))
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        if header != [first, second]:
            raise UserError(f"{path}: the first line is not {first},{second}; found {','.join(header)[:80]!r}")
        for row in rows:
            if row and len(row) != 2:
                raise UserError(
                    f"{path}: line {rows.line_num}: {len(row)} values; give two, in quotes where a comma is in one"
                )
            if row:
                yield f"{path}: line {rows.line_num}", row[0], row[1].strip()
    except csv.Error as error:
        raise UserError(f"{path}: line {rows.line_num} is not CSV: {error}") from None

"""A package: the folder with both pools, the splits and the oracle matrix that everything else plays on."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from env.errors import PackageWarning, UserError
from env.files import read_bytes, write_whole
from env.flags import NOISE
from env.identification.belief import Assumed
from env.identification.matrix import CERTAIN, Curve, Matrix, load_matrix
from env.identification.pools import Pool, decode, read_pool, read_split
from env.identification.wordform import word_answer

EMBEDDED = Path(__file__).parents[1] / "data" / "cabinet"
"""The package that is used where none is named."""

DEFAULT_NOISE = 0.10
"""Noise assumed for a package that nobody compared with another measurement, in margin units."""

AnswerModel = Literal["auto", "gaussian", "measured"]
"""How answers of a platform are predicted: `auto` is what the package's matrix recorded as the better one."""

SPLITS = ("hidden", "dev", "test1", "all")

DEV_SHARE = 150 / 1472
TEST1_SHARE = 500 / 1472
"""Shares of the official splits."""

KINDS = ("animals", "keywords")
"""What a package's secrets are; the file KIND_pool.txt lists them."""


@dataclass(frozen=True)
class Package:
    """Pools, splits and matrix of one folder."""

    path: Path
    animals: Pool
    """What may be hidden: animals, or keywords where the package's `kind` is that."""
    questions: Pool
    dev: np.ndarray
    """Animal identifiers, int64 [rounds]."""
    test1: np.ndarray
    stored: Matrix | None
    """None where `matrix.npz` does not exist yet."""

    @property
    def kind(self) -> str:
        """`animals` or `keywords`: what its secrets are."""
        return self.animals.kind

    @property
    def matrix(self) -> Matrix:
        """The measured matrix; raises UserError where there is none yet."""
        if self.stored is None:
            raise UserError(
                f"{self.path}: no matrix.npz yet; measure it with 'wilkins oracle build --package {self.path}' "
                f"or bring one in with 'wilkins import-matrix TABLE --package {self.path}'"
            )
        return self.stored

    @property
    def noise(self) -> float:
        """Noise that a platform is expected to have, in margin units: measured, else `DEFAULT_NOISE`."""
        measured = self.matrix.noise
        return DEFAULT_NOISE if measured is None else measured

    def noise_source(self, noise: float) -> Literal["measured", "assumed"]:
        """Whether `noise` is what a second measurement found for this package; any other value is assumed."""
        return "assumed" if self.matrix.noise is None or noise != self.matrix.noise else "measured"

    def flip_curve(self, model: AnswerModel, noise: float) -> Curve | None:
        """Flip curve that predicts a platform's answers at `noise`; None where Gaussian noise does.

        A curve was measured at the package's own noise: `auto` is Gaussian at any other. Raises UserError for
        `measured` at another noise, or without a curve on record.
        """
        curve = self.matrix.flip_curve
        if model == "measured" and curve is None:
            raise UserError(
                f"{self.path}: no measured flip curve; measure a second matrix and record how it differs with "
                f"'wilkins oracle compare {self.path} OTHER --write-noise', or use --answer-model gaussian"
            )
        if model == "measured" and noise != self.noise:
            raise UserError(
                f"{self.path}: its flip curve was measured at noise {self.noise:g}, not {noise:g}; "
                f"give --noise {self.noise!r}, or --answer-model gaussian"
            )
        measured = model == "measured" or (model, self.matrix.answer_model, noise) == ("auto", "measured", self.noise)
        return curve if measured else None

    def assumed(self, noise: float | None = None, doubt: float = 0.0, model: AnswerModel = "auto") -> Assumed:
        """What to assume of a platform: `noise` (margin units, the package's when None), flips by `model`, doubt.

        Raises UserError for a noise or a doubt that is none, and as `flip_curve` does.
        """
        noise = self.noise if noise is None else noise
        if not 0 <= noise <= NOISE.most:
            raise UserError(f"--noise {noise}: a standard deviation in margin units is needed, 0 to {NOISE.most:g}")
        if not 0 <= doubt <= 1:
            raise UserError(f"--doubt {doubt}: a share of the answers is needed, 0 to 1")
        return Assumed(noise, self.flip_curve(model, noise), doubt)

    def among(self, choice: str = "hidden") -> Candidates:
        """Who may be hidden; see `candidates`."""
        return Candidates(self, self.candidates(choice), choice)

    @cached_property
    def hidden(self) -> np.ndarray:
        """Animals in neither split: the ones that a platform draws from, int64, ascending.

        Equal names are one animal: the second line of a dev animal is not hidden either.
        """
        seen = {self.animals.names[animal_id] for split in (self.dev, self.test1) for animal_id in split}
        return np.array([i for i, name in enumerate(self.animals.names) if name not in seen], dtype=np.int64)

    def split(self, name: str) -> np.ndarray:
        """Animal identifiers of `hidden`, `dev`, `test1` or `all`, int64 [animals].

        Raises UserError for another name, an empty split, or animals without measured answers.
        """
        if name not in SPLITS:
            raise UserError(f"unknown split {name!r}; choose one of {', '.join(SPLITS)}")
        ids = np.arange(len(self.animals)) if name == "all" else getattr(self, name)
        return self.measured(ids, f"the {name} split")

    def candidates(self, choice: str) -> np.ndarray:
        """Animals with prior mass, ascending: a split's name, or the path of a text or CSV file of animal names."""
        if choice in SPLITS:
            return np.sort(self.split(choice))
        path = Path(choice)
        if not path.exists():
            raise UserError(f"candidates {choice!r}: neither a split ({', '.join(SPLITS)}) nor a file")
        if path.suffix.lower() == ".csv":
            ids = read_split(path, self.animals)
        else:
            lines = decode(read_bytes(path, "the candidates"), path).splitlines()
            named = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
            ids = np.array(
                [self.animals.find(line, where=f"{path}: line {number}") for number, line in named], np.int64
            )
        return self.measured(np.unique(ids), f"the candidates of {path}")

    def measured(self, ids: np.ndarray, what: str) -> np.ndarray:
        """`ids`, when there are any and nothing that could be measured is missing; raises UserError otherwise.

        What is missing in a table made elsewhere stays missing: such an answer may go either way.
        """
        if ids.size == 0:
            raise UserError(f"{self.path}: {what} is empty; at least one animal is needed")
        missing = np.isnan(self.matrix.margin[ids])
        holes = missing.any(axis=1)
        if holes.any() and self.matrix.imported:
            warnings.warn(
                PackageWarning(
                    f"{self.path}: {int(missing.sum()):,} of {missing.size:,} answers of {what} are missing and may go "
                    "either way"
                ),
                stacklevel=2,
            )
        if holes.any() and not self.matrix.imported:
            first = self.animals.names[ids[holes][0]]
            raise UserError(
                f"{self.path}: {int(holes.sum())} of {ids.size} animals of {what} have answers that were not measured "
                f"(NaN), the first is {first!r}; finish the matrix with 'wilkins oracle build'"
            )
        return ids


@dataclass(frozen=True, eq=False)
class Candidates:
    """Who may be hidden: animals of one package, all equally likely."""

    package: Package
    ids: np.ndarray
    """int64 [candidates]."""
    choice: str = "hidden"
    """What they are called: a split, or a file of names."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def margin(self) -> np.ndarray:
        """Signed margins of their answers, float32 [candidates, questions]."""
        return self.package.matrix.signed_margin()[self.ids]

    @cached_property
    def missing(self) -> np.ndarray:
        """P(yes) where an answer is missing, float64 [questions]."""
        return self.package.matrix.missing_rate


def load_package(path: Path | str | None = None, *, matrix: bool = True) -> Package:
    """Package in a folder (the embedded one when None). A missing `matrix.npz` is not an error here.

    A keywords package has `keywords_pool.txt` for `animals_pool.txt`; it may do without the splits.
    `matrix=False` leaves `matrix.npz` unread, for those who are about to replace it.
    Raises UserError for anything missing, unreadable, or contradictory in it.
    """
    folder = EMBEDDED if path is None else Path(path)
    if not folder.is_dir():
        raise UserError(
            f"no package folder {folder}; a package holds animals_pool.txt (or keywords_pool.txt), questions_pool.txt, dev.csv, test1.csv "
            "('wilkins import-matrix TABLE --new --package DIR' makes one of a table)"
        )
    animals, questions = read_pools(folder)
    dev, test1 = (
        read_split(path, animals) if animals.kind == "animals" or path.exists() else np.empty(0, np.int64)
        for path in (folder / "dev.csv", folder / "test1.csv")
    )
    both = np.intersect1d(dev, test1)
    if both.size:
        raise UserError(
            f"{folder}: dev.csv and test1.csv overlap: {animals.names[both[0]]!r} and {both.size - 1} more are in both"
        )
    table = folder / "matrix.npz"
    stored = load_matrix(table, animals, questions) if matrix and table.exists() else None
    return Package(folder, animals, questions, dev, test1, stored)


def read_pools(folder: Path) -> tuple[Pool, Pool]:
    """What may be hidden and what may be asked in a package folder; raises UserError for a folder of two kinds."""
    found = [kind for kind in KINDS if (folder / f"{kind}_pool.txt").exists()]
    if len(found) > 1:
        raise UserError(f"{folder}: both animals_pool.txt and keywords_pool.txt; give each game a folder of its own")
    kind = found[0] if found else KINDS[0]
    return read_pool(folder / f"{kind}_pool.txt", kind), read_pool(folder / "questions_pool.txt", "questions")


def write_pools(folder: Path, animals: Sequence[str], questions: Sequence[str], seed: int) -> None:
    """Fill `folder` with pools of these names and with splits, drawn by `seed`, that have the official shares.

    Raises UserError for fewer than three animals: each of dev, test1 and hidden needs one.
    """
    distinct = list(dict.fromkeys(animals))
    if len(distinct) < 3:
        raise UserError(f"{folder}: a package needs at least 3 animals, one for each of dev, test1 and hidden")
    shuffled = np.random.default_rng([seed, 2]).permutation(len(distinct))
    dev, test1 = (max(1, round(share * len(distinct))) for share in (DEV_SHARE, TEST1_SHARE))
    write_whole(folder / "animals_pool.txt", "\n".join(animals) + "\n")
    write_whole(folder / "questions_pool.txt", "\n".join(questions) + "\n")
    for split, ids in (("dev", shuffled[:dev]), ("test1", shuffled[dev : dev + test1])):
        rows = io.StringIO()
        csv.writer(rows, lineterminator="\n").writerows([["animal"], *([distinct[i]] for i in ids)])
        write_whole(folder / f"{split}.csv", rows.getvalue())


def with_matrix(package: Package, matrix: Matrix) -> Package:
    """The same pools and splits, answered by another matrix (a platform's, say)."""
    return replace(package, stored=matrix)


def word_answers(package: Package) -> dict[int, np.ndarray]:
    """Answers, uint8 [keywords], of the questions about the keyword as a word, by question; none in a package of animals.

    They follow from the words themselves, and no model or table is asked.
    """
    found: dict[int, np.ndarray] = {}
    if package.kind != "keywords":
        return found
    for question_id, question in enumerate(package.questions.names):
        said: list[bool] = []
        for name in package.animals.names:
            answer = word_answer(question, name)
            if answer is None:
                break
            said.append(answer)
        else:
            found[question_id] = np.array(said, np.uint8)
    return found


def with_word_answers(matrix: Matrix, package: Package) -> Matrix:
    """`matrix` with the answers of `word_answers` in it, as certain ones, whatever it held there."""
    margin, answer = matrix.margin.copy(), matrix.answer.copy()
    for question_id, said in word_answers(package).items():
        answer[:, question_id] = said
        margin[:, question_id] = np.where(said == 1, CERTAIN, -CERTAIN)
    return Matrix(margin, answer, matrix.provenance)

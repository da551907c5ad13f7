"""Synthetic packages of any size with the statistics of the embedded one: margins, names, splits, a whole folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from env.errors import UserError
from env.files import write_whole
from env.matrix import Matrix, save_matrix
from env.package import load_package
from env.pools import digest

FACTORS = 40
"""Singular directions kept of the embedded matrix (95 % of its variance); the rest is drawn as noise an entry."""

ANIMAL_LIKENESS = (0.88, 0.97)
QUESTION_LIKENESS = (0.8, 0.96)
"""Range of the cosine, in factor space, of a new animal or question to the measured one that it varies."""

NEIGHBOURS = 20
"""A question is varied towards one at most this many places away in the order of spread."""

LARGEST = 20_000_000
"""Most entries of a synthetic matrix: about a gigabyte while it is made."""

ONSETS = (
    "b",
    "br",
    "c",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "st",
    "t",
    "v",
    "w",
    "z",
)
VOWELS = ("a", "e", "i", "o", "u", "ea", "oo")
CODAS = ("", "", "l", "m", "n", "r", "s", "sk", "t", "x")
STEMS = ("is it a {}?", "does it eat {}s?", "can it {}?", "does it have a {}?", "is it found near a {}?")

DEV_SHARE = 150 / 1472
TEST1_SHARE = 500 / 1472
"""Shares of the official splits."""


def synthesise(animals: int, questions: int, seed: int) -> np.ndarray:
    """Margins that look measured, float32 [animals, questions], natural log units.

    The embedded matrix is taken apart into question means, low-rank factors and a residual. New animals and
    questions are variations of measured ones in factor space (a step towards a random other one keeps second
    moments, hence the singular spectrum), and each question's scores are then laid by rank on the sorted
    margins of the question that it varies, which keeps spread, yes share, one-sidedness and mass near zero.
    Raises UserError for sizes that no package can have.
    """
    _check_sizes(animals, questions)
    measured = load_package().matrix.margin.astype(np.float64)
    rng = np.random.default_rng(seed)
    rows, columns = measured.shape
    centred = measured - measured.mean(axis=0)
    left, singular, right = np.linalg.svd(centred, full_matrices=False)
    kept = slice(0, FACTORS)
    animal_factors = left[:, kept] * np.sqrt(rows)
    spread = centred.std(axis=0)
    loadings = (right[kept].T * singular[kept]) / np.sqrt(rows) / spread[:, None]

    first, second = rng.integers(rows, size=(2, animals))
    like = rng.uniform(*ANIMAL_LIKENESS, size=(animals, 1))
    factors = like * animal_factors[first] + np.sqrt(1 - like**2) * animal_factors[second]

    # Every measured question serves equally often, so that a small package is as varied as a large one.
    rounds = -(-questions // columns)
    template = np.concatenate([rng.permutation(columns) for _ in range(rounds)])[:questions]
    # The other question is one of similar spread: wide and narrow questions load on different factors.
    by_spread = np.argsort(spread, kind="stable")
    step = rng.integers(1, NEIGHBOURS + 1, size=questions) * rng.choice((-1, 1), size=questions)
    place = np.argsort(by_spread)[template]
    beyond = (place + step < 0) | (place + step >= columns)
    other = by_spread[place + np.where(beyond, -step, step)]
    like = rng.uniform(*QUESTION_LIKENESS, size=(questions, 1))
    sign = rng.choice((-1.0, 1.0), size=(questions, 1))
    profile = like * loadings[template] + sign * np.sqrt(1 - like**2) * loadings[other]

    residual = np.sqrt(np.maximum(0.0, 1 - (loadings[template] ** 2).sum(axis=1)))
    score = factors @ profile.T + residual * rng.standard_normal((animals, questions))
    rank = np.argsort(np.argsort(score, axis=0, kind="stable"), axis=0, kind="stable")
    margin = np.empty((animals, questions), np.float32)
    known_at = (np.arange(rows) + 0.5) / rows
    for question_id, measured_id in enumerate(template):
        margin[:, question_id] = np.interp(
            (rank[:, question_id] + 0.5) / animals, known_at, np.sort(measured[:, measured_id])
        )
    return margin


def invent_names(animals: int, questions: int, seed: int) -> tuple[list[str], list[str]]:
    """Unique, pronounceable, normalised names of animals that nobody has met, and of questions about them."""
    rng = np.random.default_rng([seed, 1])

    def word(syllables: int) -> str:
        parts = [*(ONSETS, VOWELS) * syllables, CODAS]
        return "".join(part[rng.integers(len(part))] for part in parts)

    names: dict[str, None] = {}
    while len(names) < animals:
        names[word(int(rng.integers(2, 5)))] = None
    asked: dict[str, None] = {}
    while len(asked) < questions:
        asked[STEMS[rng.integers(len(STEMS))].format(word(int(rng.integers(2, 4))))] = None
    return list(names), list(asked)


def write_package(out: Path, animals: int, questions: int, seed: int) -> None:
    """Make the folder `out`, a whole synthetic package; the same seed gives the same bytes.

    Splits have the official shares (dev 150, test1 500, hidden 822 at 1,472). `out` appears complete or not
    at all. Raises UserError for impossible sizes, a folder that holds something, or a refusing file system.
    """
    _check_sizes(animals, questions)
    if seed < 0:
        raise UserError(f"--seed {seed}: give a whole number from 0")
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise UserError(f"{out} exists already and is not an empty folder; choose another --out or remove it")
    margin = synthesise(animals, questions, seed)
    names, asked = invent_names(animals, questions, seed)
    shuffled = np.random.default_rng([seed, 2]).permutation(animals)
    dev = max(1, round(DEV_SHARE * animals))
    test1 = max(1, round(TEST1_SHARE * animals))
    provenance = {
        "model": "synthetic",
        "seed": seed,
        "builder": "wilkins synth",
        "animals_sha256": digest(names),
        "questions_sha256": digest(asked),
    }
    with _whole_folder(out) as folder:
        write_whole(folder / "animals_pool.txt", "\n".join(names) + "\n")
        write_whole(folder / "questions_pool.txt", "\n".join(asked) + "\n")
        for split, ids in (("dev", shuffled[:dev]), ("test1", shuffled[dev : dev + test1])):
            write_whole(folder / f"{split}.csv", "\n".join(["animal", *(names[i] for i in ids)]) + "\n")
        save_matrix(folder / "matrix.npz", Matrix(margin, (margin > 0).astype(np.uint8), provenance))


def _check_sizes(animals: int, questions: int) -> None:
    if animals < 3:
        raise UserError(f"--animals {animals}: a package needs at least 3, one for each of dev, test1 and hidden")
    if questions < 1:
        raise UserError(f"--questions {questions}: a package needs at least 1")
    if animals * questions > LARGEST:
        raise UserError(f"{animals} animals x {questions} questions are more than {LARGEST:,} entries; ask for fewer")


@contextmanager
def _whole_folder(path: Path) -> Iterator[Path]:
    """Temporary neighbour of `path` to fill, renamed to `path` at the end and removed on any failure."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        yield temporary
        temporary.chmod(0o755)
        if path.is_dir():
            path.rmdir()  # it was empty; were it filled meanwhile, this refuses
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}; free space or choose another place") from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)

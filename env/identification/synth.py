"""Synthetic packages of any size, like the embedded one or of latent factors: margins, names, splits, a whole folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from env.errors import UserError
from env.files import whole_folder
from env.identification.matrix import Matrix, save_matrix
from env.identification.package import load_package, write_pools
from env.identification.pools import digest

NEIGHBOURS = 5
"""An animal is varied towards, and by the difference of, measured animals this near to each other."""

STEP = (0.3, 0.5)
"""Range of the part of the way that a new animal lies from the measured one that it varies to its neighbour."""

DIFFERENCE = 0.3
"""Part of the difference of two other neighbours that a new animal has on top: what tells siblings apart."""

QUESTION_LIKENESS = (0.965, 0.98)
FURTHER_LIKENESS = (0.9, 0.94)
"""Range of the cosine of a new question's profile to the measured one that it varies, on first and on later use.

Later uses step further, so that questions of the same profile are not near duplicates.
"""

Kind = Literal["measured", "latent"]
"""Whose statistics margins have: those of the embedded package, or a plain latent factor model."""

FACTORS, BIAS, LEAN, OWN = 4, 1.3, 0.33, 0.4
"""Latent factors; spread and mean of the questions' biases, in spreads of an animal's part; what is of no factor."""

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


def synthesise(animals: int, questions: int, seed: int) -> np.ndarray:
    """Margins that look measured, float32 [animals, questions], natural log units.

    What is matched, and how. New questions keep the profile of one measured question over all principal
    directions, but for a small step in a random direction drawn with the directions' own variances; nothing is
    independent noise, because an entry that owes nothing to the others would be a clean split that real
    questions do not offer. New animals lie part of the way from a measured one to a near neighbour, plus a
    part of the difference of two other neighbours, at the spread of the first: clusters, distances between
    animals and the singular spectrum stay. Both together decide how far noise keeps a player from the limit.
    Each question's scores are then laid by rank on the sorted margins of the measured question, which keeps
    spread, yes share, one-sidedness and mass near zero. Raises UserError for sizes that no package can have.
    """
    _check_sizes(animals, questions)
    measured = load_package().matrix.margin.astype(np.float64)
    rng = np.random.default_rng(seed)
    rows, columns = measured.shape
    standard = (measured - measured.mean(axis=0)) / measured.std(axis=0)
    left, singular, right = np.linalg.svd(standard, full_matrices=False)

    # Every measured animal and question serves equally often: a small package is as varied as a large one.
    template = _even_draw(rng, columns, questions)
    first_use = np.arange(questions) < columns
    like = np.where(first_use, *(rng.uniform(*span, questions) for span in (QUESTION_LIKENESS, FURTHER_LIKENESS)))
    step = rng.standard_normal((questions, len(singular))) * singular
    # Columns of `standard` all have the norm sqrt(rows), hence so have the profiles.
    step *= np.sqrt(rows) / np.linalg.norm(step, axis=1, keepdims=True)
    profile = like[:, None] * (right.T * singular)[template] + np.sqrt(1 - like[:, None] ** 2) * step
    answered = left @ profile.T

    gram = standard @ standard.T
    distance = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :NEIGHBOURS]
    first, other = _even_draw(rng, rows, animals), rng.integers(rows, size=animals)
    near, other_near = (nearest[ids, rng.integers(NEIGHBOURS, size=animals)] for ids in (first, other))
    way = rng.uniform(*STEP, size=animals)
    parts = np.stack([first, near, other, other_near])
    weight = np.stack([1 - way, way, np.full(animals, DIFFERENCE), np.full(animals, -DIFFERENCE)])
    square = np.einsum("an,bn,abn->n", weight, weight, gram[parts[:, None], parts[None]])
    weight *= np.sqrt(np.diag(gram)[first] / square)
    score = sum(w[:, None] * answered[part] for w, part in zip(weight, parts, strict=True))

    rank = np.argsort(np.argsort(score, axis=0, kind="stable"), axis=0, kind="stable")
    margin = np.empty((animals, questions), np.float32)
    known_at = (np.arange(rows) + 0.5) / rows
    for question_id, measured_id in enumerate(template):
        margin[:, question_id] = np.interp(
            (rank[:, question_id] + 0.5) / animals, known_at, np.sort(measured[:, measured_id])
        )
    return margin


def latent_factors(animals: int, questions: int, seed: int) -> np.ndarray:
    """Margins of a plain latent factor model, float32 [animals, questions], natural log units.

    A margin is the product of an animal's and a question's factors, plus the question's bias and a little of its own,
    at the spread of the embedded package. Hardly a question is sure for all animals, so noise costs every player more
    than with `synthesise`. Raises UserError for sizes that no package can have.
    """
    _check_sizes(animals, questions)
    rng = np.random.default_rng([seed, 3])
    shared = rng.standard_normal((animals, FACTORS)) @ rng.standard_normal((questions, FACTORS)).T / np.sqrt(FACTORS)
    own = rng.standard_normal((animals, questions))
    margin = np.sqrt(1 - OWN**2) * shared + OWN * own + BIAS * rng.standard_normal(questions) + LEAN
    return (margin * (load_package().matrix.margin.std() / margin.std())).astype(np.float32)


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


def write_package(out: Path, animals: int, questions: int, seed: int, kind: Kind = "measured") -> None:
    """Make the folder `out`, a whole synthetic package; the same seed and kind give the same bytes.

    Splits have the official shares (dev 150, test1 500, hidden 822 at 1,472). `out` appears complete or not
    at all. Raises UserError for impossible sizes, a folder that holds something, or a refusing file system.
    """
    _check_sizes(animals, questions)
    if seed < 0:
        raise UserError(f"--seed {seed}: give a whole number from 0")
    margin = (synthesise if kind == "measured" else latent_factors)(animals, questions, seed)
    names, asked = invent_names(animals, questions, seed)
    provenance = {
        "model": "synthetic",
        "seed": seed,
        "kind": kind,
        "builder": "wilkins synth",
        "animals_sha256": digest(names),
        "questions_sha256": digest(asked),
    }
    with whole_folder(out) as folder:
        write_pools(folder, names, asked, seed)
        save_matrix(folder / "matrix.npz", Matrix(margin, (margin > 0).astype(np.uint8), provenance))


def _even_draw(rng: np.random.Generator, among: int, count: int) -> np.ndarray:
    """`count` numbers below `among`, in whole shuffled rounds: how often two are drawn differs by one at most."""
    rounds = -(-count // among)
    return np.concatenate([rng.permutation(among) for _ in range(rounds)])[:count]


def _check_sizes(animals: int, questions: int) -> None:
    if animals < 3:
        raise UserError(f"--animals {animals}: a package needs at least 3, one for each of dev, test1 and hidden")
    if questions < 1:
        raise UserError(f"--questions {questions}: a package needs at least 1")
    if animals * questions > LARGEST:
        raise UserError(f"{animals} animals x {questions} questions are more than {LARGEST:,} entries; ask for fewer")

"""How far other numerics of the same model are from a matrix: some of its rows, measured again. Files and packages here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from env.errors import UserError
from env.identification.matrix import CERTAIN, Matrix
from env.identification.numerics import Difference, answer_models, difference, flip_curve
from env.identification.package import Package
from env.oracle.engine import Engine, Numerics, lacking
from env.oracle.journal import Journal
from env.oracle.model import Source

ROWS = 20
"""Rows that are measured again at first, and that are added while the error is too large."""

ERROR = 0.05
"""Standard error of the noise, as a share of it, at which no more rows are added."""


def others(source: Source) -> list[Numerics]:
    """What a row of `source` is measured again in: another dtype, another attention and packs, on a GPU the CPU too."""
    dtype = {"float32": "bfloat16", "float16": "bfloat16", "bfloat16": "float32"}[source.dtype]
    found = [Numerics(source.dtype, source.device, "eager", 4)]
    if source.device == "cpu":
        return [Numerics(dtype, "cpu", None), *found]
    dtype = "float16" if source.dtype == "bfloat16" else "bfloat16"
    return [Numerics(dtype, source.device, None), *found, Numerics("float32", "cpu", None)]


def sample(matrix: Matrix, seed: str) -> tuple[np.ndarray, np.ndarray]:
    """Animals in the order in which they are measured again, int64 [n], and bool [animals, questions] of their pairs.

    Answers that were computed, not measured, are `CERTAIN` to the bit; they have no noise and are left out. Rows with
    most pairs come first, and among them chance decides, the same for the same `seed` (a pool's digest).
    """
    pairs = matrix.measured & (np.abs(matrix.margin) != CERTAIN)
    order = np.random.default_rng(int(seed[:8], 16)).permutation(len(pairs))
    order = order[np.argsort(-pairs[order].sum(axis=1), kind="stable")]
    return order[pairs[order].any(axis=1)], pairs


def measure_noise(
    path: Path, package: Package, stored: Matrix, source: Source, engine: Engine, identity: Mapping[str, str], rows: int,
    console: Console,
) -> dict[str, Any]:  # fmt: skip
    """Provenance entries of the noise around the matrix `stored` of `path`; rows are kept beside it until `finish`.

    `identity` says what measured it. The noise recorded is that of the numerics that differ most: a platform is one
    of them, and to expect too little costs a policy more than to expect too much. Raises UserError where nothing can be
    measured again.
    """
    order, pairs = sample(stored, package.animals.sha256)
    if order.size == 0:
        raise UserError(f"{path}: no margins to measure again; it holds answers only, so its noise stays assumed")
    found: list[tuple[Numerics, Difference, Matrix]] = []
    for numerics in others(source):
        other = _again(path, package, stored, engine, identity, rows, console, numerics, order, pairs)
        found.append((numerics, difference(stored, other), other))
        console.print(f"  {numerics}: {_said(found[-1][1])}", highlight=False)
    numerics, _, other = max(found, key=lambda each: each[1].noise)
    variants = [
        {"numerics": str(each), "noise": round(gap.noise, 6), "noise_error": _error(gap), "animals": gap.animals,
         "pairs": gap.pairs, "flips": gap.flips}
        for each, gap, _ in found
    ]  # fmt: skip
    return {**noise_entries(stored, other, f"the same model in {numerics}"), "noise_variants": variants}


def noise_entries(local: Matrix, other: Matrix, source: str) -> dict[str, Any]:
    """What a matrix's provenance says of how `other` differs from it: noise, its error, flip curve, answer model."""
    found, curve = difference(local, other), flip_curve(local, other)
    return {
        "noise": round(found.noise, 6),
        "noise_error": _error(found),
        "noise_source": f"{source}: {found.pairs} pairs of {found.animals} animals, {found.flips} flips",
        "noise_variants": [],
        "flip_curve": {"margin": curve.margin.tolist(), "probability": curve.probability.tolist()},
        "answer_model": answer_models(local, other).better,
    }


def finish(path: Path) -> None:
    """Delete the rows kept beside the matrix of `path`, once its noise is recorded."""
    for journal in path.parent.glob(f"{path.stem}.noise-*.journal"):
        journal.unlink(missing_ok=True)


def _again(
    path: Path, package: Package, stored: Matrix, engine: Engine, identity: Mapping[str, str], rows: int,
    console: Console, numerics: Numerics, order: np.ndarray, pairs: np.ndarray,
) -> Matrix:  # fmt: skip
    """The matrix of rows measured again in `numerics`; a journal keeps them, so that a stop loses nothing."""
    kind = f"{numerics.dtype}-{numerics.device.split(':')[0]}-{numerics.attention or 'usual'}"
    told = {**identity, "numerics": str(numerics)}
    journal = Journal(path.with_suffix(f".noise-{kind}.journal"), told, stored.margin.shape)
    empty = Matrix(np.full_like(stored.margin, np.nan), np.zeros_like(stored.answer), told)
    begin, end = 0, min(rows, order.size)
    try:
        while True:
            chosen = [(int(row), package.animals.names[row], np.flatnonzero(pairs[row])) for row in order[begin:end]]
            measured = journal.fold(empty).measured
            if lacking(chosen, measured):
                if not begin:
                    console.print(f"measuring again in {numerics}", highlight=False)
                engine.fill(numerics, chosen, measured, journal)
            other = journal.fold(empty)
            gap = difference(stored, other)
            if end == order.size or gap.noise_error <= ERROR * gap.noise:
                return other
            begin, end = end, min(end + ROWS, order.size)
    finally:
        journal.close()


def _error(gap: Difference) -> float | None:
    return round(gap.noise_error, 6) if np.isfinite(gap.noise_error) else None


def _said(gap: Difference) -> str:
    return (
        f"noise {gap.noise:.4f} +- {gap.noise_error:.4f}, {gap.flips} of {gap.pairs} answers of {gap.animals} rows flip"
    )

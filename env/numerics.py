"""How two measurements of the same answers differ: noise, flips, and flips against the margin. Margins only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.stats import norm

from env.matrix import CERTAIN, Matrix

EDGES = np.array([0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, np.inf])
"""Bounds of the |margin| bins of a reliability table."""

MAD_TO_SD = 1 / norm.ppf(0.75)


@dataclass(frozen=True)
class Difference:
    """Margins of a second measurement minus those of a first, where both are measured."""

    animals: int
    """Animals that have pairs in both."""
    pairs: int
    flips: int
    """Pairs with different answers."""
    noise: float
    """Standard deviation in margin units, from the median absolute deviation: outliers do not move it."""
    noise_error: float
    """Standard error of `noise`, by leaving out one block of animals at a time."""
    deviation: float
    """Plain standard deviation."""
    mean: float
    largest: float
    """Largest |difference|."""


@dataclass(frozen=True)
class FlipCurve:
    """How often an answer differs in the second measurement, by |margin| in the first."""

    edges: np.ndarray
    """float64 [bins + 1], the last may be infinite; bins without pairs are there too."""
    pairs: np.ndarray
    """int64 [bins]."""
    flips: np.ndarray
    """int64 [bins]."""
    gaussian: np.ndarray
    """float64 [bins], mean of Phi(-|margin| / noise): the flips that Gaussian noise predicts; NaN without pairs."""
    margin: np.ndarray
    """float64 [points], ascending |margin| at which `probability` is given."""
    probability: np.ndarray
    """float64 [points], probability of a flip, never rising with |margin|."""

    def at(self, margin: np.ndarray | float) -> np.ndarray:
        """Probability of a flip at these margins (of any sign), interpolated between the points."""
        return np.interp(np.abs(margin), self.margin, self.probability)


def difference(local: Matrix, other: Matrix) -> Difference:
    """Compare two matrices of one shape; raises ValueError when they share no measured pair."""
    both = local.measured & other.measured
    rows = np.flatnonzero(both.any(axis=1))
    if rows.size == 0:
        raise ValueError("no pair is measured in both matrices")
    change = other.margin.astype(np.float64) - local.margin
    pooled = change[both]
    noise = _robust(pooled)
    # Pairs of one animal share its prompt, so whole animals are left out; 32 blocks bound the time.
    blocks = np.array_split(rows, min(32, rows.size))
    without = []
    for block in blocks:
        kept = both.copy()
        kept[block] = False
        without.append(_robust(change[kept]) if kept.any() else noise)
    spread = np.array(without) - np.mean(without)
    error = float(np.sqrt((len(blocks) - 1) / len(blocks) * (spread**2).sum())) if len(blocks) > 1 else float("nan")
    return Difference(
        animals=int(rows.size),
        pairs=int(pooled.size),
        flips=int((local.answer != other.answer)[both].sum()),
        noise=noise,
        noise_error=error,
        deviation=float(pooled.std()),
        mean=float(pooled.mean()),
        largest=float(np.abs(pooled).max()),
    )


def flip_curve(local: Matrix, other: Matrix, edges: np.ndarray = EDGES) -> FlipCurve:
    """Measured flips of `other` against |margin| of `local`, with a monotone smooth fit.

    The fit is an isotonic regression over bins of equal counts, joined by straight lines. Raises
    ValueError when the matrices share no measured pair.
    """
    both = local.measured & other.measured
    size = np.abs(local.margin[both].astype(np.float64))
    if size.size == 0:
        raise ValueError("no pair is measured in both matrices")
    flipped = (local.answer != other.answer)[both]
    place = np.clip(np.searchsorted(edges, size, side="right") - 1, 0, len(edges) - 2)
    pairs = np.bincount(place, minlength=len(edges) - 1)
    flips = np.bincount(place, weights=flipped, minlength=len(edges) - 1).astype(np.int64)
    noise = difference(local, other).noise
    predicted = norm.cdf(-size / noise) if noise > 0 else np.zeros_like(size)
    total = np.bincount(place, weights=predicted, minlength=len(edges) - 1)
    gaussian = np.divide(total, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    order = np.argsort(size, kind="stable")
    # About 200 pairs a point where there are many: flips are rare, smaller groups would only show chance.
    groups = np.array_split(order, int(np.clip(size.size // 200, 1, 400)))
    rate = np.array([flipped[group].mean() for group in groups])
    weight = np.array([group.size for group in groups], float)
    fit = isotonic_regression(rate, weights=weight, increasing=False).x
    return FlipCurve(
        edges, pairs, flips, gaussian, np.array([size[group].mean() for group in groups]), np.clip(fit, 0.0, 1.0)
    )


def bits_only(matrix: Matrix) -> bool:
    """Whether the matrix was made of answers without margins, so that margin differences mean nothing."""
    known = matrix.margin[matrix.measured]
    return bool(known.size) and bool((np.abs(known) == CERTAIN).all())


def _robust(values: np.ndarray) -> float:
    return float(MAD_TO_SD * np.median(np.abs(values - np.median(values))))

"""How two measurements of the same answers differ: noise, flips, and flips against the margin. Margins only."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.stats import beta, norm

from env.identification.belief import FLOOR, answer_probability
from env.identification.matrix import CERTAIN, Matrix

EDGES = np.array([0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, np.inf])
"""Bounds of the |margin| bins of a reliability table."""

POINTS = 40
"""Most points of a fitted flip curve: it is kept in a matrix's provenance, which people read."""

BLOCKS = 16
"""Blocks of animals that are left out in turn: as many as keep a comparison within seconds."""

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
    interval: np.ndarray
    """float64 [bins, 2], 95 % interval of the flipped share (Jeffreys; pairs taken as independent)."""
    gaussian: np.ndarray
    """float64 [bins], mean of Phi(-|margin| / noise): the flips that Gaussian noise predicts; NaN without pairs."""
    noise: float
    """The Gaussian noise behind `gaussian`, as `Difference` has it."""
    margin: np.ndarray
    """float64 [points], strictly ascending |margin| at which `probability` is given; at most `POINTS`."""
    probability: np.ndarray
    """float64 [points], probability of a flip, never rising with |margin|."""

    def at(self, margin: np.ndarray | float) -> np.ndarray:
        """Probability of a flip at these margins (of any sign), interpolated between the points."""
        return np.interp(np.abs(margin), self.margin, self.probability)


@dataclass(frozen=True)
class Models:
    """How well two models of a platform's answers predict animals that they were not fitted to."""

    blocks: int
    """Blocks of animals, each predicted from the others; 1 where there is nothing to hold out."""
    gaussian: float
    """Mean log-likelihood of an answer under Gaussian noise, in nats."""
    measured: float
    """The same under the measured flip curve."""
    error: float
    """Standard error of `measured - gaussian`; animals are the independent units."""

    @property
    def better(self) -> str:
        """`measured` where the curve wins by more than a standard error, else `gaussian`."""
        return "measured" if self.measured - self.gaussian > self.error else "gaussian"


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


def answer_models(local: Matrix, other: Matrix) -> Models:
    """Cross-validated log-likelihood of `other`'s answers under either answer model, given `local`'s margins.

    Raises ValueError when the matrices share no measured pair.
    """
    both = local.measured & other.measured
    rows = np.flatnonzero(both.any(axis=1))
    if rows.size == 0:
        raise ValueError("no pair is measured in both matrices")
    blocks = np.array_split(rows, min(BLOCKS, rows.size)) if rows.size > 1 else []
    signed, yes = local.signed_margin(), other.answer == 1
    scores = np.zeros((2, len(rows)))
    for block in blocks:
        margin = local.margin.copy()
        margin[block] = np.nan
        curve = flip_curve(replace(local, margin=margin), other)
        for model, flips in enumerate((None, (curve.margin, curve.probability))):
            p_yes = answer_probability(signed[block], curve.noise, curve=flips).clip(FLOOR, 1 - FLOOR)
            score = np.where(both[block], np.log(np.where(yes[block], p_yes, 1 - p_yes)), 0.0)
            scores[model, np.searchsorted(rows, block)] = score.sum(axis=1)
    pairs = both[rows].sum(axis=1)
    gaussian, measured = (scores.sum(axis=1) / pairs.sum()).tolist()
    # A ratio's standard error, by animals: pairs of one animal share its prompt.
    excess = scores[1] - scores[0] - (measured - gaussian) * pairs
    error = np.sqrt((excess**2).sum() * len(rows) / (len(rows) - 1)) / pairs.sum() if blocks else np.inf
    return Models(max(len(blocks), 1), gaussian, measured, float(error))


def flip_curve(local: Matrix, other: Matrix, edges: np.ndarray = EDGES) -> FlipCurve:
    """Measured flips of `other` against |margin| of `local`, with a monotone smooth fit.

    The fit is an isotonic regression over bins of equal counts, joined by straight lines. Raises
    ValueError when the matrices share no measured pair.
    """
    both = local.measured & other.measured
    # As beliefs read them: a margin on the wrong side of its answer is a tie.
    size = np.abs(local.signed_margin()[both].astype(np.float64))
    if size.size == 0:
        raise ValueError("no pair is measured in both matrices")
    flipped = (local.answer != other.answer)[both]
    place = np.clip(np.searchsorted(edges, size, side="right") - 1, 0, len(edges) - 2)
    pairs = np.bincount(place, minlength=len(edges) - 1)
    flips = np.bincount(place, weights=flipped, minlength=len(edges) - 1).astype(np.int64)
    noise = _robust(other.margin[both].astype(np.float64) - local.margin[both])
    predicted = norm.cdf(-size / noise) if noise > 0 else np.zeros_like(size)
    total = np.bincount(place, weights=predicted, minlength=len(edges) - 1)
    gaussian = np.divide(total, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    order = np.argsort(size, kind="stable")
    # About 200 pairs a point where there are many: flips are rare, smaller groups would only show chance.
    groups = np.array_split(order, int(np.clip(size.size // 200, 1, 400)))
    rate = np.array([flipped[group].mean() for group in groups])
    weight = np.array([group.size for group in groups], float)
    fit = isotonic_regression(rate, weights=weight, increasing=False).x
    interval = np.stack(beta.interval(0.95, flips + 0.5, pairs - flips + 0.5), axis=1)
    margin, place = np.unique([size[group].mean() for group in groups], return_inverse=True)
    fit = np.minimum.accumulate(np.clip(np.bincount(place, weights=fit) / np.bincount(place), 0.0, 1.0))
    # Between the ends of a level stretch, points say nothing; what is still too many is thinned out evenly.
    corner = np.flatnonzero(np.r_[True, (fit[1:-1] != fit[:-2]) | (fit[1:-1] != fit[2:]), True][: len(fit)])
    kept = corner[np.unique(np.linspace(0, len(corner) - 1, POINTS).round().astype(int))]
    return FlipCurve(edges, pairs, flips, interval, gaussian, noise, margin[kept], fit[kept])


def bits_only(matrix: Matrix) -> bool:
    """Whether the matrix was made of answers without margins, so that margin differences mean nothing."""
    known = matrix.margin[matrix.measured]
    return bool(known.size) and bool((np.abs(known) == CERTAIN).all())


def _robust(values: np.ndarray) -> float:
    return float(MAD_TO_SD * np.median(np.abs(values - np.median(values))))

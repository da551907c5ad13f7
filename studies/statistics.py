"""How sets of scores compare: interquartile mean and probability of improvement, with paired bootstrap intervals.

Both statistics are those of Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice", as
their library rliable defines them. They are reckoned here since its intervals resample each agent apart, where agents
that met the same draws can be compared draw by draw, and since the release of `arch` that it needs (below 8) cannot be
imported beside pandas 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import trim_mean

RESAMPLES = 2000
"""Bootstrap samples."""

COVERED = 0.95
"""How often the true value lies within an interval."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its bootstrap interval."""

    value: float
    low: float
    high: float

    def told(self, decimals: int = 2, sign: str = "") -> str:
        """Like `83.10 [82.95, 83.22]`; `sign` "+" writes signs throughout."""
        value, low, high = (f"{each:{sign}.{decimals}f}" for each in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"


def interquartile_mean(scores: np.ndarray) -> float:
    """Mean of the middle half of all scores, of any shape: the mean without the lowest and the highest quarter."""
    return float(trim_mean(scores, 0.25, axis=None))


def probability_of_improvement(ours: np.ndarray, theirs: np.ndarray) -> float:
    """How likely one of our scores is above one of theirs, ties by half; mean over conditions.

    Scores float64 [repeats, conditions]; the two may differ in repeats.
    """
    higher = ours[:, None, :] > theirs[None, :, :]
    return float((higher + 0.5 * (ours[:, None, :] == theirs[None, :, :])).mean())


@dataclass(frozen=True)
class Comparison:
    """One set of runs beside the first one."""

    mean: Interval
    """Interquartile mean, x100."""
    gain: Interval
    """How far that is above the first one's: the same draws on both sides."""
    improvement: Interval
    """Probability of improvement on the first one."""


def compared(scores: list[np.ndarray], seed: int = 0) -> list[Comparison]:
    """Each set of runs beside the first one; `scores` float64 [runs, draws, conditions] of each set.

    A bootstrap sample draws runs of each set apart and, within each condition, draws that all sets have in common.
    """
    means = np.array([interquartile_mean(each) for each in scores])
    better = np.array([probability_of_improvement(_flat(each), _flat(scores[0])) for each in scores])
    random = np.random.default_rng(seed)
    sampled = np.empty((2, RESAMPLES, len(scores)))
    for sample in range(RESAMPLES):
        drawn = _resampled(scores, random)
        sampled[0, sample] = [interquartile_mean(each) for each in drawn]
        sampled[1, sample] = [probability_of_improvement(_flat(each), _flat(drawn[0])) for each in drawn]
    gains = sampled[0] - sampled[0, :, :1]
    return [
        Comparison(
            _interval(means[i], sampled[0, :, i]),
            _interval(means[i] - means[0], gains[:, i]),
            _interval(better[i], sampled[1, :, i]),
        )
        for i in range(len(scores))
    ]


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Mean and its standard error; the error of a single value is not a number."""
    count = len(values)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan")


def with_error(values: np.ndarray) -> str:
    """Like `83.10 ±0.05`, the mean and its standard error; a single value stands alone."""
    mean, error = mean_and_error(values)
    return f"{mean:.2f} ±{error:.2f}" if len(values) > 1 else f"{mean:.2f}"


def _resampled(scores: list[np.ndarray], random: np.random.Generator) -> list[np.ndarray]:
    _, draws, conditions = scores[0].shape
    picked = random.integers(draws, size=(1, draws, conditions))
    out = []
    for each in scores:
        runs = random.integers(len(each), size=len(each))
        out.append(np.take_along_axis(each[runs], picked, axis=1))
    return out


def _flat(scores: np.ndarray) -> np.ndarray:
    """[runs, draws, conditions] -> [runs x draws, conditions]."""
    return scores.reshape(-1, scores.shape[-1])


def _interval(value: float, sampled: np.ndarray) -> Interval:
    low, high = np.quantile(sampled, [(1 - COVERED) / 2, (1 + COVERED) / 2])
    return Interval(float(value), float(low), float(high))

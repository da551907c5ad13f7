"""The posterior over candidate animals, batched: likelihood of answers, updates, predictive answer, information gain.

Knows margins and noise only; rules and environments are left to others. Axes: [games, candidates], [candidates, questions].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import ndtr

from env.identification import compiled
from env.identification.matrix import Curve

FLOOR = 1e-4
"""Least probability of either answer under noise: no single surprise removes an animal for ever."""

_ROWS = 1024
"""Candidates whose answers' entropies are worked out together, in float64."""

DOUBTS = ((2.0, 2 / 3), (4.0, 1 / 3))
"""Multiples of the assumed noise that a doubting player reckons with, and the share of the doubt that each has."""

DEFAULT_DOUBT = 0.1
"""Costs a few hundredths of a point where the noise is as assumed, and saves points where it is several times that."""


def require_noise(noise: float) -> None:
    """Raises ValueError when `noise` is no standard deviation."""
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise is a standard deviation in margin units, 0 or more, not {noise}")


def answer_probability(
    margin: np.ndarray,
    noise: float,
    floor: float = FLOOR,
    curve: Curve | None = None,
    missing: np.ndarray | float = 0.5,
) -> np.ndarray:
    """P(a platform answers yes), same shape as `margin`: Phi(margin / noise) within [floor, 1 - floor].

    A platform's margin is the local one plus Gaussian noise of standard deviation `noise` (margin units).
    Noise 0 gives the bits `margin > 0` themselves, without a floor: exact filtering. With `curve` the answer of
    the margin's sign flips as was measured at its size, and `noise` is not used. Where the margin is NaN the
    answer is not known, and yes with probability `missing` ([questions], or one for all).
    """
    require_noise(noise)
    holes = np.isnan(margin)
    if holes.any():
        known = answer_probability(np.where(holes, 0, margin), noise, floor, curve)
        return np.where(holes, np.clip(missing, floor, 1.0 - floor), known)
    if curve is not None:
        flip = np.interp(np.abs(margin), *curve)
        return np.clip(np.where(margin > 0, 1.0 - flip, flip), floor, 1.0 - floor)
    if noise == 0:
        return (margin > 0).astype(np.float64)
    return np.clip(ndtr(margin.astype(np.float64) / noise), floor, 1.0 - floor)


def doubted(noise: float, doubt: float, curve: Curve | None = None) -> Curve | None:
    """Flips as a player reckons with them that takes a share `doubt` of all answers to be noisier than assumed.

    A mixture of Phi(-|margin| / noise), or of `curve`, with the wider noise of `DOUBTS`: a surprise that the
    assumed noise all but rules out then costs a candidate less. `curve` itself, or None for Gaussian noise, where
    `doubt` or `noise` is 0. Raises ValueError for a doubt that is no share.
    """
    require_noise(noise)
    if not 0 <= doubt <= 1:
        raise ValueError(f"doubt is a share of the answers, 0 to 1, not {doubt}")
    if doubt == 0 or noise == 0:
        return curve
    # To eight standard deviations of the widest noise, finer where the narrowest falls; more would be below FLOOR.
    margin = noise * np.concatenate([np.linspace(0, 8, 161), np.linspace(8.5, 32, 48)])
    if curve is not None:
        margin = np.union1d(margin, curve[0])  # its corners stay where they are
    trusted = ndtr(-margin / noise) if curve is None else np.interp(margin, *curve)
    wider = sum(share * ndtr(-margin / (times * noise)) for times, share in DOUBTS)
    return margin, (1 - doubt) * trusted + doubt * wider


def binary_entropy(p: np.ndarray) -> np.ndarray:
    """Entropy of a yes/no answer in bits, same shape and type as `p`; 0 where `p` is 0 or 1."""
    tiny = np.finfo(p.dtype).tiny
    q = 1 - p
    return -(p * np.log2(np.maximum(p, tiny)) + q * np.log2(np.maximum(q, tiny)))


def entropy(belief: np.ndarray) -> np.ndarray:
    """Entropy of each row of a posterior in bits, [games]."""
    return -np.einsum("gc,gc->g", belief, np.log2(np.maximum(belief, np.finfo(belief.dtype).tiny)))


@dataclass(frozen=True)
class Likelihood:
    """How likely each candidate is to answer yes to each question, as a player assumes it."""

    p_yes: np.ndarray
    """float64 [candidates, questions]."""
    margin: np.ndarray
    """float32 [candidates, questions], for the fall back when all candidates are contradicted."""

    @classmethod
    def from_margins(
        cls,
        margin: np.ndarray,
        noise: float,
        floor: float = FLOOR,
        curve: Curve | None = None,
        missing: np.ndarray | float = 0.5,
    ) -> Likelihood:
        """Likelihood of Gaussian noise, or of a measured flip curve; see `answer_probability`."""
        return cls(answer_probability(margin, noise, floor, curve, missing), margin)

    @cached_property
    def by_question(self) -> np.ndarray:
        """P(yes) with the question first, float64 [questions, candidates]: one row is one update."""
        return np.ascontiguousarray(self.p_yes.T)

    @cached_property
    def table(self) -> np.ndarray:
        """P(yes), then the entropy of the answer of a known animal, of every question: float32 [candidates, 2 * questions].

        That entropy is what noise hides, in bits.
        """
        candidates, questions = self.p_yes.shape
        table = np.empty((candidates, 2 * questions), np.float32)
        table[:, :questions] = self.p_yes
        for start in range(0, candidates, _ROWS):
            table[start : start + _ROWS, questions:] = binary_entropy(self.p_yes[start : start + _ROWS])
        return table

    def prior(self, games: int) -> np.ndarray:
        """Equal belief in every candidate, float64 [games, candidates]."""
        candidates = len(self.p_yes)
        return np.full((games, candidates), 1.0 / candidates)

    def updated(self, belief: np.ndarray, question_ids: np.ndarray, answers: np.ndarray) -> np.ndarray:
        """Posterior after one answer a game by Bayes' rule, float64 [games, candidates].

        A row of zeros says that every candidate contradicts the answers (possible without noise only);
        `likeliest_by_margin` then says what to believe. `answers` is bool [games].
        """
        yes = self.by_question[question_ids]
        weight = belief * np.where(answers[:, None], yes, 1.0 - yes)
        total = weight.sum(axis=1, keepdims=True)
        return np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)

    def likeliest_by_margin(self, question_ids: np.ndarray, answers: np.ndarray, excluded: np.ndarray) -> np.ndarray:
        """Belief when all candidates contradict the answers: equal on those that do so by the least margin.

        The limit of the Gaussian posterior for noise towards 0: least sum of squared contradicted margins.
        `question_ids`, `answers`: [asked] of one game; `excluded`: bool [candidates], wrong guesses.
        Returns float64 [candidates]; equal belief in all where every candidate is excluded.
        """
        # A missing answer contradicts nothing.
        toward = np.where(answers, 1.0, -1.0) * np.nan_to_num(self.margin[:, question_ids].astype(np.float64))
        # Sorted before they are summed: neither the order of the calls nor that of the questions breaks a tie.
        squares = np.sort(np.square(np.minimum(toward, 0.0)), axis=1)
        violation = np.where(excluded, np.inf, squares.sum(axis=1))
        best = violation == violation.min()
        return best / best.sum()

    def predicted(self, belief: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P(yes) of the next answer and its information gain in bits, both float32 [games, questions].

        Gain = H(answer) - E[H(answer | animal)] (Lindley 1956). A game's numbers do not depend on its batch.
        """
        p_yes, gain = (np.empty((len(belief), self.p_yes.shape[1]), np.float32) for _ in range(2))
        compiled.predict_all(belief, self.table, p_yes, gain)
        return p_yes, gain


def without(belief: np.ndarray, candidate: np.ndarray) -> np.ndarray:
    """Posterior after a wrong guess of one candidate a game (-1: not a candidate), float64 [games, candidates]."""
    weight = belief.copy()
    rows = np.flatnonzero(candidate >= 0)
    weight[rows, candidate[rows]] = 0.0
    total = weight.sum(axis=1, keepdims=True)
    return np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)


@dataclass(frozen=True, eq=False)
class Assumed:
    """What is assumed of a platform: how its answers differ from the local ones."""

    noise: float
    """Standard deviation of its margins around the local ones, in margin units."""
    curve: Curve | None = None
    """Measured flips that predict its answers; None where Gaussian noise does."""
    doubt: float = 0.0
    """Share of the answers that a player takes to be noisier than that. Scores are projected without it."""

    @property
    def model(self) -> Literal["gaussian", "measured"]:
        """How its answers are predicted."""
        return "gaussian" if self.curve is None else "measured"

    @cached_property
    def reckoned(self) -> Curve | None:
        """Flips as a player reckons with them, see `doubted`; None for plain Gaussian noise."""
        return doubted(self.noise, self.doubt, self.curve)

    def p_yes(self, margin: np.ndarray, missing: np.ndarray | float = 0.5) -> np.ndarray:
        """P(the platform answers yes), same shape as `margin`: what is predicted, without a player's floor and doubt.

        `missing` ([questions], or one for all) where the margin is NaN.
        """
        return answer_probability(margin, self.noise, floor=0.0, curve=self.curve, missing=missing)

    def __str__(self) -> str:
        return f"noise {self.noise:.3g}" if self.curve is None else "measured flips"

"""Which questions are worth asking: how clear each is, how much it tells, what others say already. Arrays only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit


@dataclass(frozen=True)
class Bounds:
    """What a question must keep to be proposed."""

    count: int
    """Questions to propose at most."""
    unclear: float
    """Largest share of unstable answers."""
    alike: float
    """Largest correlation, either way, with a question proposed before."""
    least: float
    """Fewest bits that it must add."""


@dataclass(frozen=True)
class Verdict:
    """What was found of one question."""

    question_id: int
    rank: int | None
    """Place among those proposed, from 1; None for one that is left out."""
    unstable: float
    """Share of answers that differ from the usual one for their secret, 0 to 0.5."""
    gain: float
    """Bits that an answer tells about which secret it is, instability taken into account."""
    likest: int | None
    """Question proposed before that it correlates with most; None where there was none."""
    correlation: float
    """With that one, -1 to 1."""
    added: float
    """Bits that it adds: `gain` times the share of its variance that `likest` does not explain."""
    why: str
    """Empty for one that is proposed, else unclear, alike, little or enough."""


def probability_of_yes(margin: np.ndarray, answer: np.ndarray, temperatures: Sequence[float]) -> np.ndarray:
    """How often yes is the answer over all prompts and temperatures, float64 [secrets, questions].

    `margin` and `answer` are [prompts, secrets, questions]. At temperature 0 the reply is the answer; at T it is
    yes with probability sigmoid(margin / T), which is what softmax gives where one spelling of each word has the mass.
    """
    each = [answer == 1 if t == 0 else expit(margin.astype(np.float64) / t) for t in temperatures]
    return np.mean([value.mean(axis=0) for value in each], axis=0)


def instability(p_yes: np.ndarray) -> np.ndarray:
    """Share of answers that differ from the usual one for their secret, float64 [questions], 0 to 0.5."""
    return np.asarray(np.minimum(p_yes, 1 - p_yes).mean(axis=0))


def information(p_yes: np.ndarray) -> np.ndarray:
    """Bits that an answer tells about which of equally likely secrets it is, float64 [questions].

    The mutual information of secret and answer: the entropy of the answer less what is left of it when the secret
    is known.
    """

    def entropy(p: np.ndarray) -> np.ndarray:
        return np.asarray((entr(p) + entr(1 - p)) / np.log(2))

    return np.maximum(0, entropy(p_yes.mean(axis=0)) - entropy(p_yes).mean(axis=0))


def correlations(p_yes: np.ndarray) -> np.ndarray:
    """Between the answers to any two questions, float64 [questions, questions]; 0 with one that never varies."""
    centred = p_yes - p_yes.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    unit = np.where(length > 1e-9, centred / np.maximum(length, 1e-9), 0)
    return np.asarray((unit.T @ unit).clip(-1, 1))


def propose(p_yes: np.ndarray, bounds: Bounds) -> list[Verdict]:
    """A verdict on every question: those proposed in their order, then those left out, the best of them first.

    Greedy: next comes the question that adds most bits, its `gain` times 1 - r^2 for the largest correlation r with
    those before it. Equal ones keep the order of the pool.
    """
    unstable, gain, related = instability(p_yes), information(p_yes), correlations(p_yes)
    questions = len(gain)
    likest, nearest = np.full(questions, -1), np.zeros(questions)
    chosen: list[Verdict] = []
    left = np.ones(questions, bool)

    def verdict(question: int, rank: int | None, why: str) -> Verdict:
        other = int(likest[question])
        return Verdict(
            question, rank, float(unstable[question]), float(gain[question]), None if other < 0 else other,
            float(nearest[question]), float(added[question]), why,
        )  # fmt: skip

    while True:
        added = gain * (1 - nearest**2)
        fit = left & (unstable <= bounds.unclear) & (np.abs(nearest) <= bounds.alike) & (added >= bounds.least)
        if len(chosen) == bounds.count or not fit.any():
            break
        best = int(np.where(fit, added, -1).argmax())
        chosen.append(verdict(best, len(chosen) + 1, ""))
        left[best] = False
        closer = np.abs(related[best]) > np.abs(nearest)
        likest, nearest = np.where(closer, best, likest), np.where(closer, related[best], nearest)

    def reason(question: int) -> str:
        if unstable[question] > bounds.unclear:
            return "unclear"
        if abs(nearest[question]) > bounds.alike:
            return "alike"
        return "little" if added[question] < bounds.least else "enough"

    order = np.flatnonzero(left)[np.argsort(-added[left], kind="stable")]
    return chosen + [verdict(int(question), None, reason(int(question))) for question in order]

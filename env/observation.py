"""What a player sees: belief features of a shortlist of questions and animals. Belief in, numbers out.

One function serves the single and the batched environment and the exporter, so all three see the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from env import compiled
from env.belief import Likelihood, binary_entropy, entropy

STATE_FEATURES = (
    "share of calls left",
    "entropy of the belief, in tens of bits",
    "bits that the calls left cannot cover, in tens",
    "information gain of the best question",
    "calls that the best question would need, as a share of the budget",
    "assumed noise",
    "mass of the animals in focus",
    "tens of bits of the effective number of candidates",
    *(f"posterior of animal {rank}" for rank in range(1, 9)),
)
ASK_FEATURES = (
    "information gain",
    "information gain below the best",
    "imbalance of the predicted answer",
    "expected reliability of the answer",
    "two-step information gain",
    "two-step information gain below the best",
    "chance that the next guess is right",
    "chance that the next two guesses are right",
    "reliability for the likeliest animal",
    "how far it separates the two likeliest animals",
)
GUESS_FEATURES = (
    "posterior",
    "log of the posterior",
    "posterior as a share of the likeliest",
    "posterior of the rest",
    "is the likeliest",
)

Observation = dict[str, np.ndarray]

NOT_LISTED = np.float32(-1)
"""Stands for the gain of a question that was asked, or whose answer could not be used."""


@dataclass(frozen=True)
class Shortlist:
    """How many actions are described and scored in each position."""

    asks: int = 24
    """Questions, by information gain."""
    guesses: int = 3
    """Animals, by posterior."""
    focus: int = 32
    """Likeliest animals that the two-step features look at."""


@dataclass(frozen=True)
class Observer:
    """Turns beliefs into observations under one likelihood."""

    likelihood: Likelihood
    candidates: np.ndarray
    """Animal identifiers, int64 [candidates]."""
    noise: float
    """What the likelihood assumes, in margin units."""
    budget: int
    shortlist: Shortlist = Shortlist()

    def observe(self, belief: np.ndarray, asked: np.ndarray, calls: np.ndarray) -> Observation:
        """Observation of a batch of games.

        `belief` float64 [games, candidates]; `asked` bool [games, questions]; `calls` consumed, int [games].
        Returns `asks` float32 [games, asks, features] with `ask_ids` (question identifiers, -1 where there
        is none), `guesses` float32 [games, guesses, features] with `guess_ids` (animal identifiers), and
        `state` float32 [games, features]. Questions stand by falling gain, animals by falling posterior,
        ties by identifier. On the last call no question is listed: its answer could not be used.
        """
        left = self.budget - calls
        p_yes, gain = self.likelihood.predicted(belief)
        ask_ids = np.empty((len(belief), min(self.shortlist.asks, gain.shape[1])), np.int32)
        focus = np.empty((len(belief), min(self.shortlist.focus, belief.shape[1])), np.int32)
        open_gain = np.where(asked | (left <= 1)[:, None], NOT_LISTED, gain)
        compiled.shortlist(belief, open_gain, ask_ids, focus)
        listed = np.where(ask_ids >= 0, np.take_along_axis(gain, np.maximum(ask_ids, 0), axis=1), 0)
        top = np.where(focus >= 0, np.take_along_axis(belief, np.maximum(focus, 0), axis=1), 0)
        guesses, guess_ids = self._guess_features(focus, top)
        return {
            "asks": self._ask_features(belief, p_yes, listed, ask_ids, focus),
            "ask_ids": ask_ids,
            "guesses": guesses,
            "guess_ids": guess_ids,
            "state": self._state_features(belief, left, listed, top),
        }

    def _ask_features(
        self, belief: np.ndarray, p_yes: np.ndarray, gain: np.ndarray, ask_ids: np.ndarray, focus: np.ndarray
    ) -> np.ndarray:
        next_gain = np.empty(ask_ids.shape, np.float32)
        hits = np.empty((*ask_ids.shape, 2), np.float32)
        compiled.look_ahead(belief, self.likelihood.table, ask_ids, focus, next_gain, hits)
        two_step = gain + next_gain
        questions = np.maximum(ask_ids, 0)
        chosen = np.take_along_axis(p_yes, questions, axis=1)
        first = np.maximum(focus[:, :1], 0)
        second = np.where(focus[:, 1:2] >= 0, focus[:, 1:2], first) if focus.shape[1] > 1 else first
        yes_first, yes_second = self.likelihood.p_yes[first, questions], self.likelihood.p_yes[second, questions]
        features = [
            gain,
            gain.max(axis=1, keepdims=True) - gain,
            np.abs(2 * chosen - 1),
            1 - (binary_entropy(chosen) - gain),
            two_step,
            two_step.max(axis=1, keepdims=True) - two_step,
            hits[:, :, 0],
            hits[:, :, 1],
            np.abs(2 * yes_first - 1),
            np.abs(yes_first - yes_second),
        ]
        return np.stack(features, axis=-1, dtype=np.float32, casting="same_kind") * (ask_ids >= 0)[:, :, None]

    def _state_features(self, belief: np.ndarray, left: np.ndarray, gain: np.ndarray, top: np.ndarray) -> np.ndarray:
        bits = entropy(belief)
        best = np.maximum(gain.max(axis=1), 0)
        likeliest = np.zeros((len(belief), 8))
        likeliest[:, : min(8, top.shape[1])] = top[:, :8]
        columns = [
            left / self.budget,
            bits / 10,
            (bits - left) / 10,
            best,
            np.minimum(bits / np.maximum(best, 0.05) / self.budget, 2.0),
            np.full(len(belief), self.noise),
            top.sum(axis=1),
            -np.log2(np.einsum("gc,gc->g", belief, belief)) / 10,
        ]
        return np.concatenate([np.stack(columns, axis=1), likeliest], axis=1).astype(np.float32)

    def _guess_features(self, focus: np.ndarray, top: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        guess_ids = np.full((len(top), self.shortlist.guesses), -1, dtype=np.int32)
        features = np.zeros((*guess_ids.shape, len(GUESS_FEATURES)), dtype=np.float32)
        width = min(self.shortlist.guesses, top.shape[1])
        posterior = top[:, :width]
        present = posterior > 0
        guess_ids[:, :width] = np.where(present, self.candidates[np.maximum(focus[:, :width], 0)], -1)
        first = np.zeros_like(posterior)
        first[:, 0] = 1
        values = [
            posterior,
            np.log(np.maximum(posterior, 1e-6)) / 5,
            posterior / np.maximum(posterior[:, :1], 1e-12),
            1 - np.cumsum(posterior, axis=1),
            first,
        ]
        features[:, :width] = np.where(present[:, :, None], np.stack(values, axis=-1), 0)
        return features, guess_ids


def concatenated(parts: list[Observation]) -> Observation:
    """Observations of several batches as one, in order."""
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def rows(observation: Mapping[str, np.ndarray], index: np.ndarray | slice | int) -> Observation:
    """Some games of a batch."""
    return {key: values[index] for key, values in observation.items()}

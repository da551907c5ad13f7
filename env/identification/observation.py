"""What a player sees: belief features of a shortlist of questions and animals. Belief in, numbers out.

One function serves the single and the batched environment and the exporter, so all three see the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium import spaces

from env.identification import compiled
from env.identification.belief import Likelihood

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

LARGEST = 1e3
"""Bound of every feature. All are of order one; only the assumed noise may be as large as one likes."""

Observation = dict[str, np.ndarray]


@dataclass(frozen=True)
class Shortlist:
    """How many actions are described and scored in each position."""

    asks: int = 16
    """Questions, by information gain."""
    guesses: int = 3
    """Animals, by posterior."""
    focus: int = 32
    """Likeliest animals that the two-step features look at."""


def observation_space(
    shortlist: Shortlist,
    questions: int,
    secrets: int,
    ask_features: int = len(ASK_FEATURES),
    state_features: int = len(STATE_FEATURES),
) -> spaces.Dict:
    """Space of observations with this shortlist; `secrets` (animals, say) may be guessed."""
    asks, guesses = min(shortlist.asks, questions), shortlist.guesses

    def features(*shape: int) -> spaces.Box:
        return spaces.Box(-LARGEST, LARGEST, shape, np.float32)

    return spaces.Dict(
        {
            "asks": features(asks, ask_features),
            "ask_ids": spaces.Box(-1, questions - 1, (asks,), np.int32),
            "guesses": features(guesses, len(GUESS_FEATURES)),
            "guess_ids": spaces.Box(-1, secrets - 1, (guesses,), np.int32),
            "state": features(state_features),
        }
    )


def blank(
    shortlist: Shortlist,
    games: int,
    questions: int,
    ask_features: int = len(ASK_FEATURES),
    state_features: int = len(STATE_FEATURES),
) -> Observation:
    """Arrays for the observations of a batch of games, yet to be filled."""
    asks, guesses = min(shortlist.asks, questions), shortlist.guesses
    return {
        "asks": np.empty((games, asks, ask_features), np.float32),
        "ask_ids": np.empty((games, asks), np.int32),
        "guesses": np.empty((games, guesses, len(GUESS_FEATURES)), np.float32),
        "guess_ids": np.empty((games, guesses), np.int32),
        "state": np.empty((games, state_features), np.float32),
    }


class Observer:
    """Turns beliefs into observations, under one likelihood or under several noise levels."""

    def __init__(
        self,
        likelihoods: Sequence[Likelihood],
        noise: Sequence[float],
        candidates: np.ndarray,
        budget: int,
        shortlist: Shortlist = Shortlist(),
    ):
        self.table = np.stack([likelihood.table for likelihood in likelihoods])
        self.noise = np.asarray(noise, np.float64)
        self.candidates, self.budget, self.shortlist = candidates, budget, shortlist

    def observe(
        self, belief: np.ndarray, asked: np.ndarray, calls: np.ndarray, level: np.ndarray | None = None
    ) -> Observation:
        """Observation of a batch of games.

        `belief` float64 [games, candidates]; `asked` bool [games, questions]; `calls` consumed, int [games];
        `level`, int64 [games], says which likelihood each game's belief assumes (the first when None).
        Returns `asks` float32 [games, asks, features] with `ask_ids` (question identifiers, -1 where there
        is none), `guesses` float32 [games, guesses, features] with `guess_ids` (animal identifiers), and
        `state` float32 [games, features]. Questions stand by falling gain, animals by falling posterior,
        ties by identifier. On the last call no question is listed: its answer could not be used.
        """
        observation = blank(self.shortlist, *asked.shape)
        compiled.describe_all(
            belief,
            asked,
            self.budget - calls,
            self.budget,
            np.zeros(len(asked), np.int64) if level is None else level,
            self.noise,
            self.table,
            max(self.shortlist.focus, self.shortlist.guesses, compiled.RANKS),
            *(observation[key] for key in ("state", "asks", "ask_ids", "guesses", "guess_ids")),
        )
        places = observation["guess_ids"]
        places[...] = np.where(places >= 0, self.candidates[places], -1)
        return observation


def rows(observation: Mapping[str, np.ndarray], index: np.ndarray | slice | int) -> Observation:
    """Some games of a batch."""
    return {key: values[index] for key, values in observation.items()}

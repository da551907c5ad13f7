"""What a player of LLM 20 Questions sees: features of a shortlist, the animal game's columns first, then this game's."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from env.identification import observation as shared
from env.identification.compiled import RANKS
from env.identification.observation import GUESS_FEATURES, Observation, Shortlist
from env.keywords import compiled
from env.keywords.belief import Belief, Transcript
from env.keywords.comparison import ROUNDS

STATE_FEATURES = (
    *shared.STATE_FEATURES,
    "spread of the partner's rate of wrong answers",
    "mass of the first tier",
    "mass that the guesses left cover",
    "it is the turn to guess",
)
"""The shared columns, where the assumed noise is the expected rate of wrong answers; then this game's."""

ASK_FEATURES = (
    *shared.ASK_FEATURES,
    "mass that the guesses left cover after the answer",
    "that mass below the best",
    "clarity, as a part of the mean question's",
)

LARGEST = 1e3
"""Bound of every feature; all are of order one."""


def observation_space(shortlist: Shortlist, questions: int, keywords: int) -> spaces.Dict:
    """Space of what `observe` makes with this shortlist."""
    asks, guesses = min(shortlist.asks, questions), shortlist.guesses

    def features(*shape: int) -> spaces.Box:
        return spaces.Box(-LARGEST, LARGEST, shape, np.float32)

    return spaces.Dict(
        {
            "asks": features(asks, len(ASK_FEATURES)),
            "ask_ids": spaces.Box(-1, questions - 1, (asks,), np.int32),
            "guesses": features(guesses, len(GUESS_FEATURES)),
            "guess_ids": spaces.Box(-1, keywords - 1, (guesses,), np.int32),
            "state": features(len(STATE_FEATURES)),
        }
    )


def observe(
    belief: Belief, seen: Transcript, begun: np.ndarray, guessing: np.ndarray, shortlist: Shortlist
) -> Observation:
    """Observation of a batch of games, arrays as in `env.identification.observation`.

    `begun` rounds are over, int64 [games]; `guessing`, bool [games], tells whose turn is a guess. Questions are
    listed in the others only, keywords (`guess_ids`) in those only; their features always stand.
    """
    games, questions = len(seen), belief.world.answers.shape[1]
    asks, guesses = min(shortlist.asks, questions), shortlist.guesses
    observation = {
        "asks": np.empty((games, asks, len(ASK_FEATURES)), np.float32),
        "ask_ids": np.empty((games, asks), np.int32),
        "guesses": np.empty((games, guesses, len(GUESS_FEATURES)), np.float32),
        "guess_ids": np.empty((games, guesses), np.int32),
        "state": np.empty((games, len(STATE_FEATURES)), np.float32),
    }
    compiled.describe_all(
        belief.tables, seen.asked, seen.said, seen.guessed, begun, guessing, ROUNDS,
        max(shortlist.focus, guesses, RANKS), int(np.searchsorted(belief.world.tier, 1)),
        *(observation[key] for key in ("state", "asks", "ask_ids", "guesses", "guess_ids")),
    )  # fmt: skip
    return observation

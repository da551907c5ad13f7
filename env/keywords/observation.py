"""What a player of LLM 20 Questions sees: features of a shortlist, the animal game's columns first, then this game's."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from env.identification import observation as shared
from env.identification.compiled import RANKS
from env.identification.observation import Observation, Shortlist
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


def observation_space(shortlist: Shortlist, questions: int, keywords: int) -> spaces.Dict:
    """Space of what `observe` makes with this shortlist."""
    return shared.observation_space(shortlist, questions, keywords, len(ASK_FEATURES), len(STATE_FEATURES))


def observe(
    belief: Belief, seen: Transcript, begun: np.ndarray, guessing: np.ndarray, shortlist: Shortlist
) -> Observation:
    """Observation of a batch of games, arrays as in `env.identification.observation`.

    `begun` rounds are over, int64 [games]; `guessing`, bool [games], tells whose turn is a guess. Questions are
    listed in the others only, keywords (`guess_ids`) in those only; their features always stand.
    """
    observation = shared.blank(
        shortlist, len(seen), belief.world.answers.shape[1], len(ASK_FEATURES), len(STATE_FEATURES)
    )
    compiled.describe_all(
        belief.tables, seen.asked, seen.said, seen.guessed, begun, guessing, ROUNDS,
        max(shortlist.focus, shortlist.guesses, RANKS), int(np.searchsorted(belief.world.tier, 1)),
        *(observation[key] for key in ("state", "asks", "ask_ids", "guesses", "guess_ids")),
    )  # fmt: skip
    return observation

"""What a game of LLM 20 Questions pays, and how a return is scaled; how guesses compare stands in `comparison`."""

from __future__ import annotations

from env.keywords.comparison import ROUNDS

LOST = -1
"""Reward of a pair that did not find its keyword, when nobody did."""

SCALE = 1 / ROUNDS
"""A return is the real reward times this: 1 for the first round, 0.05 for the last one, -0.05 when lost."""


def reward(won_in: int | None) -> int:
    """Real reward of a pair: 21 minus the round (from 1) of its right guess, -1 without one (None)."""
    if won_in is None:
        return LOST
    if not 1 <= won_in <= ROUNDS:
        raise ValueError(f"a game has rounds 1 to {ROUNDS}, not {won_in}")
    return ROUNDS + 1 - won_in

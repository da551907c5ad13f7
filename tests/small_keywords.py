"""A keyword world small enough to recompute by hand."""

from __future__ import annotations

from env.keywords.world import World, synthetic_world

SHARES = (0.6, 0.25, 0.15)


def small_world(seed: int = 0, tiers: tuple[int, ...] = (12, 20, 28), questions: int = 25) -> World:
    """Sixty keywords in three tiers, with ties, as the large synthetic world has them."""
    return synthetic_world(seed, tiers, questions)

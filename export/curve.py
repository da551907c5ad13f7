"""A curve in a terminal: a bar for each of the values that follow each other."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 10
"""Longest bar, in characters."""


def bars(values: Sequence[float]) -> list[str]:
    """A bar for each value: one character for the least, ten for the greatest."""
    low, high = min(values), max(values)
    return ["█" * (1 + round((WIDTH - 1) * (value - low) / max(high - low, 1e-9))) for value in values]

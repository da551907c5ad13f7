"""The time that a search may take: whoever works long looks at the clock on the way, not only afterwards."""

from __future__ import annotations

import math
import time


class OutOfTimeError(Exception):
    """The time is up; what was found until then counts."""


class Clock:
    """Processor time of this process, running from the beginning; waiting costs nothing."""

    def __init__(self, seconds: float = math.inf):
        self._begun = time.process_time()
        self._seconds = seconds
        # A look at processor time goes through the kernel. One thread gets no more of it than time passes, so that
        # until then a look at the time of day, which is nearly free, is enough.
        self._earliest = time.perf_counter() + seconds

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.process_time() - self._begun

    def check(self) -> None:
        """Raises OutOfTimeError where the time is up."""
        now = time.perf_counter()
        if now >= self._earliest:
            left = self._seconds - self.spent
            if left <= 0:
                raise OutOfTimeError
            self._earliest = now + left


UNLIMITED = Clock()
"""A clock that never stops anything."""

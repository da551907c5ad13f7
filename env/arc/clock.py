"""The time that a search may take: whoever works long looks at the clock on the way, not only afterwards."""

from __future__ import annotations

import math
import time


class OutOfTimeError(Exception):
    """The time is up; what was found until then counts."""


class Clock:
    """Processor time of this process, running from the beginning; waiting costs nothing."""

    def __init__(self, seconds: float = math.inf):
        self.begun = time.process_time()
        self.deadline = self.begun + seconds

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.process_time() - self.begun

    def check(self) -> None:
        """Raises OutOfTimeError where the time is up."""
        if time.process_time() > self.deadline:
            raise OutOfTimeError


UNLIMITED = Clock()
"""A clock that never stops anything."""

"""What an operation is: a pure function from a grid to a grid, with its arguments set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from env.arc.tasks import LARGEST_SIDE, Grid

Step = Callable[..., Grid | None]
"""Makes a grid from a grid and arguments; None where it does not apply. It never writes to its input."""


@dataclass(frozen=True)
class Operation:
    """One whole-grid operation. Its name is the function's with the arguments; its documentation the function's."""

    function: Step
    arguments: tuple[object, ...] = ()

    @property
    def name(self) -> str:
        """As a program prints it, for instance `crop_to_colour(3)`."""
        shown = ", ".join(str(a) for a in self.arguments)
        return f"{self.function.__name__}({shown})" if self.arguments else self.function.__name__

    @property
    def summary(self) -> str:
        """One line for a reader."""
        return (self.function.__doc__ or "").strip().splitlines()[0]

    def __call__(self, grid: Grid) -> Grid | None:
        """The new grid, read-only; None where the operation does not apply, or would leave 1x1 to 30x30."""
        made = self.function(grid, *self.arguments)
        if made is None or not (0 < made.shape[0] <= LARGEST_SIDE and 0 < made.shape[1] <= LARGEST_SIDE):
            return None
        made = np.ascontiguousarray(made)
        made.setflags(write=False)
        return made


def variants(function: Step, *choices: Iterable[object]) -> list[Operation]:
    """The operation with every combination of its arguments."""
    return [Operation(function, arguments) for arguments in product(*choices)]

"""Programs: operations one after another, and at the end perhaps a rule that decides every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from env.arc.cells import NAMES, SOURCES, cells
from env.arc.operation import Operation
from env.arc.tasks import Grid, same

_CATEGORY = {name: i for i, name in enumerate(NAMES)}
_SOURCE = {name: i for i, name in enumerate(SOURCES)}


@dataclass(frozen=True)
class Feature:
    """A plane of numbers: of the grid that steps make of the input, or one colour everywhere."""

    steps: tuple[Operation, ...]
    plane: str
    """A name of `cells.NAMES` (what is told apart), of `cells.SOURCES` (what is copied), or a colour's digit."""

    def category(self, made: Grid) -> np.ndarray:
        """Small numbers [cells] of what the steps made."""
        return cells(made)[0][_CATEGORY[self.plane]]

    def source(self, made: Grid) -> np.ndarray:
        """Colours [cells] of what the steps made, 255 where there is none."""
        if self.plane.isdigit():
            return np.full(made.size, int(self.plane), np.uint8)
        return cells(made)[1][_SOURCE[self.plane]]

    def __str__(self) -> str:
        if self.plane.isdigit():
            return f"colour {self.plane}"
        via = " > ".join(s.name for s in self.steps)
        return f"{self.plane} of [{via}]" if via else self.plane


@dataclass(frozen=True)
class Rule:
    """For every cell: look at a few features, and copy the colour that their values stand for."""

    features: tuple[Feature, ...]
    table: dict[tuple[int, ...], Feature] = field(hash=False)
    """Values of the features -> what to copy. Values that are not in it are taken as the nearest that are."""

    @cached_property
    def _known(self) -> np.ndarray:
        return np.array(list(self.table), np.int64).reshape(len(self.table), -1)

    def paint(self, grid: Grid, shape: tuple[int, int]) -> Grid | None:
        """The output of an input grid; None where a feature is missing or has another size."""
        size = shape[0] * shape[1]
        looked_at = {feature.steps for feature in (*self.features, *self.table.values())}
        made = {steps: run_steps(steps, grid) for steps in looked_at}
        keys = np.zeros((size, len(self.features)), np.int64)
        for column, feature in enumerate(self.features):
            seen = made[feature.steps]
            if seen is None or seen.size != size:
                return None
            keys[:, column] = feature.category(seen)
        values, which = np.unique(keys, axis=0, return_inverse=True)
        which = which.reshape(-1)
        out = np.zeros(size, np.uint8)
        for i, value in enumerate(values):
            copied = self.nearest(tuple(value.tolist()))
            seen = made[copied.steps]
            if seen is None or seen.size != size:
                return None
            out[which == i] = copied.source(seen)[which == i]
        return out.reshape(shape).astype(np.int8) if (out < 10).all() else None

    def nearest(self, key: tuple[int, ...]) -> Feature:
        """What a combination of values stands for: its own entry, or that of the nearest combination."""
        found = self.table.get(key)
        if found is None:
            away = np.abs(self._known - np.array(key)).sum(axis=1)
            found = self.table[tuple(self._known[int(away.argmin())].tolist())]
        return found

    def __str__(self) -> str:
        looked = ", ".join(str(f) for f in self.features) or "nothing"
        return f"by {looked}: " + "; ".join(f"{'/'.join(map(str, k))} -> {s}" for k, s in self.table.items())


@dataclass(frozen=True)
class Program:
    """Steps from the input grid, then a rule for the cells if there is one."""

    steps: tuple[Operation, ...]
    rule: Rule | None = None

    def __call__(self, grid: Grid) -> Grid | None:
        """The output for an input grid; None where a step does not apply."""
        made = run_steps(self.steps, grid)
        if made is None or self.rule is None:
            return made
        return self.rule.paint(grid, (made.shape[0], made.shape[1]))

    def explains(self, inputs: Sequence[Grid], wanted: Sequence[Grid]) -> bool:
        """Whether it makes every wanted grid of its input, exactly."""
        made = [self(grid) for grid in inputs]
        return all(m is not None and same(m, w) for m, w in zip(made, wanted, strict=True))

    def __str__(self) -> str:
        shown = [step.name for step in self.steps]
        if self.rule is not None:
            shown.append(f"paint {self.rule}")
        return " > ".join(shown) or "copy"


def run_steps(steps: tuple[Operation, ...], grid: Grid) -> Grid | None:
    """Apply operations one after another; None where one does not apply."""
    made: Grid | None = grid
    for step in steps:
        if made is None:
            return None
        made = step(made)
    return made


def explained(made: Grid, wanted: Grid) -> float:
    """Share of the cells of `wanted` that are right; 0 where the sizes differ."""
    return float((made == wanted).mean()) if made.shape == wanted.shape else 0.0

"""Generators of tasks: families of random grids with one hidden change, any number of instances of each.

The grids are drawn; the change is a chain of operations, or a painted rule, drawn anew for each instance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from env.arc.grids import background
from env.arc.operations import BY_NAME
from env.arc.programs import run_steps
from env.arc.tasks import Grid, Pair, Task, make_grid
from env.arc.world import Action, Painter

Draw = np.random.Generator


def noise(draw: Draw) -> Grid:
    """Cells of two to four colours, half of them background."""
    size = draw.integers(3, 10, 2)
    colours = draw.choice(np.arange(1, 10), draw.integers(1, 4), replace=False)
    cells = np.where(draw.random(size) < 0.5, 0, draw.choice(colours, size))
    return make_grid(cells)


def boxes(draw: Draw) -> Grid:
    """Two to five rectangles that do not touch, filled, hollow or bitten, on background."""
    rows, columns = draw.integers(8, 15, 2)
    cells = np.zeros((rows, columns), int)
    for _ in range(draw.integers(2, 6)):
        h, w = draw.integers(1, 6, 2)
        r, c = draw.integers(0, max(rows - h, 1)), draw.integers(0, max(columns - w, 1))
        if cells[max(r - 1, 0) : r + h + 1, max(c - 1, 0) : c + w + 1].any():
            continue
        cells[r : r + h, c : c + w] = draw.integers(1, 10)
        if min(h, w) > 2 and draw.random() < 0.5:
            cells[r + 1 : r + h - 1, c + 1 : c + w - 1] = 0
        elif draw.random() < 0.3:
            cells[r, c] = 0
    return make_grid(cells)


def dots(draw: Draw) -> Grid:
    """A few single cells on background."""
    size = draw.integers(6, 13, 2)
    cells = np.where(draw.random(size) < 0.08, draw.choice(np.arange(1, 10), size), 0)
    cells[tuple(draw.integers(0, size))] = draw.integers(1, 10)
    return make_grid(cells)


def halves(draw: Draw) -> Grid:
    """Two equal parts beside each other, with a line of one colour between."""
    rows, columns = draw.integers(3, 6, 2)
    left, right = (np.where(draw.random((rows, columns)) < 0.5, 0, colour) for colour in (1, 2))
    return make_grid(np.concatenate([left, np.full((rows, 1), 5), right], axis=1))


def symmetric(draw: Draw) -> Grid:
    """A mirrored pattern of which a corner is missing."""
    side = int(draw.integers(3, 7))
    part = draw.integers(1, 5, (side, side))
    whole = np.block([[part, part[:, ::-1]], [part[::-1], part[::-1, ::-1]]])
    r, c = draw.integers(0, side, 2)
    whole[r : r + draw.integers(1, 3), c : c + draw.integers(1, 3)] = 0
    return make_grid(whole)


def pattern(draw: Draw) -> Grid:
    """A tile, repeated, with a rectangle missing."""
    tile = draw.integers(1, 6, draw.integers(2, 4, 2))
    whole = np.tile(tile, (4, 4))
    r, c = draw.integers(0, 5, 2)
    whole[r : r + draw.integers(1, 4), c : c + draw.integers(1, 4)] = 0
    return make_grid(whole)


@dataclass(frozen=True)
class Family:
    """Tasks of one kind."""

    name: str
    grids: Callable[[Draw], Grid]
    chains: tuple[tuple[str, ...], ...]
    """Names of operations; one chain is drawn for each instance."""
    recoloured: bool = False
    """Whether the result's colours are exchanged at the end, by a map drawn for the instance."""

    def instance(self, seed: int) -> Task:
        """A task: three to four demonstrations and one test input, all different and all changed."""
        return self.solved_instance(seed)[0]

    def solved_instance(self, seed: int) -> tuple[Task, tuple[Action, ...]]:
        """A task, and steps that solve it."""
        draw = np.random.default_rng([seed, *self.name.encode()])
        while True:
            chain = tuple(BY_NAME[name] for name in self.chains[draw.integers(len(self.chains))])
            mapped = np.concatenate([[0], draw.permutation(np.arange(1, 10))])
            pairs: list[Pair] = []
            wanted = int(draw.integers(4, 6))
            for _ in range(12 * wanted):
                before = self.grids(draw)
                after = run_steps(chain, before)
                if after is None or (after.shape == before.shape and (after == before).all()):
                    continue
                if (after == background(after)).all():
                    continue
                pairs.append(Pair(before, make_grid(mapped[after] if self.recoloured else after)))
                if len(pairs) == wanted:
                    name = f"{self.name}-{seed}"
                    task = Task(name, tuple(pairs[:-1]), (pairs[-1],), f"generated {self.name}")
                    return task, (*chain, Painter(1)) if self.recoloured else chain


def _one(names: str) -> tuple[tuple[str, ...], ...]:
    return tuple((name.strip(),) for name in names.split(";"))


_ROWS = ("down", "up", "left", "right")

FAMILIES: tuple[Family, ...] = (
    Family("turn", noise, _one("flip_left_right; flip_up_down; transpose; rotate(1); rotate(2); rotate(3)")),
    Family("tile", noise, _one("tile(2, 2); tile(1, 2); tile(2, 1); tile(3, 3)")),
    Family("mirror", noise, _one("mirror_tile(left); mirror_tile(right); mirror_tile(top); mirror_tile(bottom)")),
    Family("mirror four", noise, _one("mirror_tile_four(top_left); mirror_tile_four(bottom_right)")),
    Family("scale", noise, _one("scale(2, 2); scale(3, 3); scale(1, 2); scale(2, 1)")),
    Family("halve", noise, _one("half(left); half(right); half(top); half(bottom)")),
    Family("gravity", noise, tuple((f"drop_cells({way})",) for way in _ROWS)),
    Family("falling objects", boxes, tuple((f"drop_objects(touching, {way})",) for way in _ROWS)),
    Family(
        "crop", boxes, _one("crop_to_content; crop_object(touching, area, True); crop_object(touching, area, False)")
    ),
    Family("keep", boxes, _one("keep_objects(touching, area, True); keep_objects(touching, area, False)")),
    Family("remove", boxes, _one("remove_objects(touching, area, True); remove_objects(touching, area, False)")),
    Family("fill holes", boxes, _one("fill_holes_in_objects(colour)")),
    Family("fill boxes", boxes, _one("fill_boxes(touching)")),
    Family("frame", boxes, _one("frame_boxes(touching)")),
    Family("rays", dots, tuple((f"rays({way})",) for way in (*_ROWS, "rows", "columns", "straight", "diagonals"))),
    Family("grow", dots, _one("grow(False); grow(True)")),
    Family("overlay", halves, _one("overlay_panels(first); overlay_panels(last)")),
    Family("fullest panel", halves, _one("panel(fullest); panel(emptiest)")),
    Family("symmetry", symmetric, _one("repair_symmetry(0)")),
    Family("pattern", pattern, _one("continue_pattern(0)")),
    Family("colours", noise, _one("rotate(2); flip_left_right"), recoloured=True),
    Family(
        "bars", boxes, _one("list_colours(cells, first, True); list_colours(cells, first, False); bar_chart(cells)")
    ),
    Family("crop and turn", boxes, (("crop_to_content", "rotate(2)"), ("crop_to_content", "flip_left_right"))),
    Family("half and turn", noise, (("half(left)", "flip_up_down"), ("half(top)", "rotate(2)"))),
)
"""What an agent trains on."""

HELD_OUT: tuple[Family, ...] = (
    Family("thirds", noise, _one("third(left); third(top)")),
    Family("sort", noise, tuple((f"sort_lines({way})",) for way in _ROWS)),
    Family("trim", noise, _one("trim; pad; frame_with_edge")),
    Family("rarest", boxes, _one("crop_to_ranked_colour(-1); keep_ranked_colour(-1)")),
    Family("connect", dots, _one("lines_through(rows); lines_through(columns); lines_through(straight)")),
    Family("crop and mirror", boxes, (("crop_object(touching, area, True)", "mirror_tile(right)"),)),
)
"""What an agent is only measured on."""

UNSEEN = range(500_000, 500_002)
"""Seeds of instances that no training uses: those begin at 0."""


def instances(families: tuple[Family, ...], seeds: range) -> list[Task]:
    """An instance of each family for each seed."""
    return [family.instance(seed) for seed in seeds for family in families]

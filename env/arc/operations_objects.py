"""Operations that choose, drop, move and change objects, and that count them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from env.arc.grids import (
    BY_COLOUR,
    BY_COLOUR_CORNERS,
    TOUCHING,
    TOUCHING_SIDES,
    Objects,
    background,
    counts,
    enclosed,
    find_objects,
    ranked_colours,
)
from env.arc.operation import Operation, variants
from env.arc.tasks import LARGEST_SIDE, Grid
from env.loops import compiled

SEGMENTATIONS = {
    "colour": BY_COLOUR,
    "colour_corners": BY_COLOUR_CORNERS,
    "touching": TOUCHING,
    "touching_sides": TOUCHING_SIDES,
}


def _unlike(grid: Grid, objects: Objects, key: Callable[[int], object]) -> np.ndarray:
    """How many objects share the key with each."""
    keys = [key(k) for k in range(len(objects))]
    return np.array([keys.count(own) for own in keys])


def _symmetry(objects: Objects, grid: Grid) -> np.ndarray:
    def axes(k: int) -> int:
        part = np.where(objects.mask(k), grid[objects.box(k)], 0)
        return int((part == part[:, ::-1]).all()) + int((part == part[::-1]).all())

    return np.array([axes(k) for k in range(len(objects))])


def _at_border(objects: Objects, grid: Grid) -> np.ndarray:
    rows, columns = grid.shape
    inside = (objects.top > 0) & (objects.left > 0) & (objects.bottom < rows - 1) & (objects.right < columns - 1)
    return ~inside


def _box_colours(objects: Objects, grid: Grid) -> np.ndarray:
    return np.array([len(np.unique(grid[objects.box(k)])) for k in range(len(objects))])


def _other_cells(objects: Objects, grid: Grid) -> np.ndarray:
    """Cells in the box that are neither background nor of the object's commonest colour."""
    ground = background(grid)
    parts = [grid[objects.box(k)] for k in range(len(objects))]
    return np.array([int(((p != ground) & (p != c)).sum()) for p, c in zip(parts, objects.colour, strict=True)])


def _look(objects: Objects, grid: Grid, k: int) -> bytes:
    part = np.where(objects.mask(k), grid[objects.box(k)], 0)
    return part.tobytes() + bytes(part.shape)


PROPERTIES: dict[str, Callable[[Objects, Grid], np.ndarray]] = {
    "area": lambda o, g: o.area,
    "box": lambda o, g: o.height * o.width,
    "height": lambda o, g: o.height,
    "width": lambda o, g: o.width,
    "colours": lambda o, g: o.colours,
    "box_colours": _box_colours,
    "other_cells": _other_cells,
    "holes": lambda o, g: o.holes,
    "density": lambda o, g: o.area / (o.height * o.width),
    "top": lambda o, g: o.top,
    "left": lambda o, g: o.left,
    "bottom": lambda o, g: o.bottom,
    "right": lambda o, g: o.right,
    "same_shape": lambda o, g: np.bincount(o.shape, minlength=len(o))[o.shape],
    "same_colour": lambda o, g: np.bincount(o.colour, minlength=10)[o.colour],
    "same_look": lambda o, g: _unlike(g, o, lambda k: _look(o, g, k)),
    "symmetry": _symmetry,
    "at_border": _at_border,
}
"""What objects are told apart by: number of each, [objects]."""


def chosen(grid: Grid, segmentation: str, by: str, most: bool) -> tuple[Objects, np.ndarray] | None:
    """The objects, and which have most (or least) of a property, bool [objects]; None where that says nothing."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    if len(objects) < 2:
        return None
    value = PROPERTIES[by](objects, grid)
    best = value == (value.max() if most else value.min())
    return None if best.all() else (objects, best)


def crop_object(grid: Grid, segmentation: str, by: str, most: bool) -> Grid | None:
    """Cut to the box of the object that has most or least of a property."""
    found = chosen(grid, segmentation, by, most)
    if found is None:
        return None
    objects, best = found
    boxes = [grid[objects.box(int(k))] for k in np.flatnonzero(best)]
    return boxes[0] if all(np.array_equal(boxes[0], b) for b in boxes) else None


def crop_only_object(grid: Grid, segmentation: str, by: str, most: bool) -> Grid | None:
    """Cut out the object that has most or least of a property, without other objects in its box."""
    found = chosen(grid, segmentation, by, most)
    if found is None:
        return None
    objects, best = found
    ground = np.int8(background(grid))
    parts = [np.where(objects.mask(int(k)), grid[objects.box(int(k))], ground) for k in np.flatnonzero(best)]
    return parts[0] if all(np.array_equal(parts[0], p) for p in parts) else None


def keep_objects(grid: Grid, segmentation: str, by: str, most: bool) -> Grid | None:
    """Clear all but the objects that have most or least of a property."""
    found = chosen(grid, segmentation, by, most)
    if found is None:
        return None
    objects, best = found
    kept = np.concatenate(([False], best))[objects.labels]
    return np.where(kept, grid, np.int8(background(grid)))


def remove_objects(grid: Grid, segmentation: str, by: str, most: bool) -> Grid | None:
    """Clear the objects that have most or least of a property."""
    found = chosen(grid, segmentation, by, most)
    if found is None:
        return None
    objects, best = found
    gone = np.concatenate(([False], best))[objects.labels]
    return np.where(gone, np.int8(background(grid)), grid)


def crop_first_object(grid: Grid, segmentation: str) -> Grid | None:
    """Cut to the box of the first object in reading order."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    return grid[objects.box(0)] if len(objects) else None


def remove_small(grid: Grid, segmentation: str, cells: int) -> Grid | None:
    """Clear objects of at most so many cells."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    gone = np.concatenate(([False], objects.area <= cells))[objects.labels]
    return np.where(gone, np.int8(background(grid)), grid)


def remove_at_border(grid: Grid, segmentation: str, touching: bool) -> Grid | None:
    """Clear the objects that touch the border, or those that do not."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    if not len(objects):
        return None
    gone = np.concatenate(([False], _at_border(objects, grid) == touching))[objects.labels]
    return np.where(gone, np.int8(background(grid)), grid)


def fill_holes_in_objects(grid: Grid, segmentation: str) -> Grid:
    """Fill what an object shuts in with the object's colour."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    out = grid.copy()
    for k in range(len(objects)):
        if objects.holes[k]:
            box = objects.box(k)
            out[box] = np.where(enclosed(objects.mask(k)), np.int8(objects.colour[k]), out[box])
    return out


def fill_boxes(grid: Grid, segmentation: str) -> Grid:
    """Fill the background in every object's box with the object's colour."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    out, ground = grid.copy(), background(grid)
    for k in range(len(objects)):
        box = objects.box(k)
        out[box] = np.where(grid[box] == ground, np.int8(objects.colour[k]), out[box])
    return out


def frame_boxes(grid: Grid, segmentation: str) -> Grid:
    """Draw a frame of the object's colour one cell outside every object's box."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    out = np.pad(grid, 1, constant_values=background(grid))
    for k in range(len(objects)):
        top, left, bottom, right = (int(v[k]) for v in (objects.top, objects.left, objects.bottom, objects.right))
        out[top, left : right + 3] = out[bottom + 2, left : right + 3] = objects.colour[k]
        out[top : bottom + 3, left] = out[top : bottom + 3, right + 2] = objects.colour[k]
    return out[1:-1, 1:-1]


def recolour_objects(grid: Grid, segmentation: str, to: str) -> Grid | None:
    """Paint every object in one colour: its own commonest, its rarest, or that of its first cell."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    out = grid.copy()
    for k in range(len(objects)):
        box, mask = objects.box(k), objects.mask(k)
        cells = grid[box][mask]
        tally = np.bincount(cells, minlength=10)
        rarest = int(np.where(tally > 0, tally, cells.size + 1).argmin())
        colour = {"commonest": int(objects.colour[k]), "rarest": rarest, "first": int(cells[0])}[to]
        out[box] = np.where(mask, np.int8(colour), out[box])
    return out


def change_objects(grid: Grid, segmentation: str, how: str) -> Grid | None:
    """Mirror or turn every object in its own box, or complete it to a symmetric one."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    ground = np.int8(background(grid))
    out = np.where(objects.labels > 0, ground, grid)
    for k in range(len(objects)):
        box = objects.box(k)
        part = np.where(objects.mask(k), grid[box], ground)
        if how in ("turn", "symmetric") and part.shape[0] != part.shape[1]:
            return None
        if how == "left_right":
            part = part[:, ::-1]
        elif how == "up_down":
            part = part[::-1]
        elif how == "half_turn":
            part = part[::-1, ::-1]
        elif how == "turn":
            part = np.rot90(part, -1)
        else:
            for turned in (part[:, ::-1], part[::-1], part[::-1, ::-1], part.T):
                part = np.where(part == ground, turned, part)
        out[box] = np.where(part != ground, part, out[box])
    return out


def swap_object_colours(grid: Grid, segmentation: str) -> Grid | None:
    """Exchange the two colours of every object that has two."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    out = grid.copy()
    for k in np.flatnonzero(objects.colours == 2):
        box, mask = objects.box(int(k)), objects.mask(int(k))
        one, two = np.unique(grid[box][mask])
        out[box] = np.where(mask, np.where(grid[box] == one, two, one), out[box])
    return out


@compiled()
def _fall(labels: np.ndarray, number: int, down: int, across: int) -> np.ndarray:
    """How far each object moves along (down, across) until border or another, all at once; int64 [number + 1]."""
    rows, columns = labels.shape
    moved = np.zeros(number + 1, np.int64)
    occupied = labels.copy()
    changed = True
    while changed:
        changed = False
        for k in range(1, number + 1):
            free = True
            for r in range(rows):
                for c in range(columns):
                    if occupied[r, c] == k:
                        y, x = r + down, c + across
                        if y < 0 or x < 0 or y >= rows or x >= columns or (occupied[y, x] and occupied[y, x] != k):
                            free = False
            if not free:
                continue
            changed = True
            moved[k] += 1
            for i in range(rows):
                r = rows - 1 - i if down > 0 else i
                for j in range(columns):
                    c = columns - 1 - j if across > 0 else j
                    if occupied[r, c] == k:
                        occupied[r, c] = 0
                        occupied[r + down, c + across] = k
    return moved


DIRECTIONS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def drop_objects(grid: Grid, segmentation: str, direction: str) -> Grid:
    """Move every object in a direction until it meets the border or another."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    down, across = DIRECTIONS[direction]
    moved = _fall(objects.labels, len(objects), down, across)
    out = np.full_like(grid, background(grid))
    r, c = np.nonzero(objects.labels)
    way = moved[objects.labels[r, c]]
    out[r + way * down, c + way * across] = grid[r, c]
    return out


def drop_cells(grid: Grid, direction: str) -> Grid:
    """Let every cell fall in a direction over background."""
    turned = np.rot90(grid, {"down": 0, "left": 1, "up": 2, "right": 3}[direction])
    ground = background(grid)
    order = np.argsort(turned != ground, axis=0, kind="stable")
    return np.rot90(np.take_along_axis(turned, order, axis=0), -{"down": 0, "left": 1, "up": 2, "right": 3}[direction])


def sort_lines(grid: Grid, direction: str) -> Grid:
    """Sort rows (down, up) or columns (right, left) by how much they hold, most in that direction."""
    content = grid != background(grid)
    axis = 0 if direction in ("up", "down") else 1
    order = np.argsort(content.sum(axis=1 - axis), kind="stable")
    return np.take(grid, order if direction in ("down", "right") else order[::-1], axis=axis)


def list_colours(grid: Grid, what: str, order: str, as_row: bool) -> Grid | None:
    """The colours as one line: by cells, by objects, by place; most or first at the beginning, or at the end."""
    colours = ranked_colours(grid)
    objects = find_objects(grid, BY_COLOUR_CORNERS)
    if what == "objects":
        number = np.bincount(objects.colour, minlength=10)
        colours.sort(key=lambda c: -int(number[c]))
    elif what == "each_object":
        colours = [int(objects.colour[k]) for k in np.argsort(-objects.area, kind="stable")]
    elif what == "down":
        colours = [int(objects.colour[k]) for k in np.argsort(objects.top, kind="stable")]
    elif what == "across":
        colours = [int(objects.colour[k]) for k in np.argsort(objects.left, kind="stable")]
    if not 0 < len(colours) <= LARGEST_SIDE:
        return None
    line = np.array([colours if order == "first" else colours[::-1]], np.int8)
    return line if as_row else line.T


def bar_chart(grid: Grid, what: str) -> Grid | None:
    """A row for every colour, the commonest first, as long as the colour has cells or objects."""
    colours = ranked_colours(grid)
    number = counts(grid)
    if what == "objects":
        number = np.bincount(find_objects(grid, BY_COLOUR_CORNERS).colour, minlength=10)
        colours.sort(key=lambda c: -int(number[c]))
    if not colours or number[colours].max() > LARGEST_SIDE:
        return None
    out = np.full((len(colours), int(number[colours].max())), background(grid), np.int8)
    for row, colour in enumerate(colours):
        out[row, : number[colour]] = colour
    return out


def cells_in_a_row(grid: Grid) -> Grid | None:
    """All cells that are not background, in reading order, as one row."""
    cells = grid[grid != background(grid)]
    return cells[None] if 0 < len(cells) <= LARGEST_SIDE else None


def only_colour(grid: Grid, rank: int) -> Grid | None:
    """One cell of the commonest colour (0), the next (1) or the rarest (-1), without background."""
    colours = ranked_colours(grid)
    return np.array([[colours[rank]]], np.int8) if -len(colours) <= rank < len(colours) else None


def objects_as_square(grid: Grid, segmentation: str) -> Grid | None:
    """A diagonal with one cell for every object, in its commonest colour."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    if not 0 < len(objects) <= LARGEST_SIDE:
        return None
    out = np.full((len(objects), len(objects)), background(grid), np.int8)
    np.fill_diagonal(out, objects.colour)
    return out


def stack_objects(grid: Grid, segmentation: str, direction: str) -> Grid | None:
    """The boxes of all objects, which must be of one size, put together in a direction in the order of their places."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    if len(objects) < 2 or len(np.unique(objects.height)) > 1 or len(np.unique(objects.width)) > 1:
        return None
    order = np.argsort(objects.top if direction == "down" else objects.left, kind="stable")
    made = np.concatenate([grid[objects.box(int(k))] for k in order], axis=0 if direction == "down" else 1)
    return made if max(made.shape) <= LARGEST_SIDE else None


def overlay_objects(grid: Grid, segmentation: str) -> Grid | None:
    """The objects, whose boxes must be of one size, laid over one another; background is clear."""
    objects = find_objects(grid, SEGMENTATIONS[segmentation])
    if len(objects) < 2 or len(np.unique(objects.height)) > 1 or len(np.unique(objects.width)) > 1:
        return None
    ground = background(grid)
    out = np.full((int(objects.height[0]), int(objects.width[0])), ground, np.int8)
    for k in range(len(objects)):
        part = grid[objects.box(k)]
        out = np.where(out == ground, part, out)
    return out


def crop_inside_frame(grid: Grid, largest: bool) -> Grid | None:
    """Cut to what the largest or smallest rectangular frame of one colour shuts in."""
    objects = find_objects(grid, BY_COLOUR)
    inner: list[Grid] = []
    for k in range(len(objects)):
        mask = objects.mask(k)
        if min(mask.shape) > 2 and mask[0].all() and mask[-1].all() and mask[:, 0].all() and mask[:, -1].all():
            inner.append(grid[objects.box(k)][1:-1, 1:-1])
    if not inner:
        return None
    return (max if largest else min)(inner, key=lambda part: part.size)


CHOICE = ("area", "box_colours", "holes", "same_shape", "same_look", "symmetry")
BOTH = (True, False)
WAYS = ("down", "up", "left", "right")

OPERATIONS: list[Operation] = [
    *variants(crop_object, ("colour_corners", "touching"), PROPERTIES, BOTH),
    *variants(crop_object, ("colour", "touching_sides"), ("area", "box", "holes", "same_shape", "other_cells"), BOTH),
    *variants(crop_only_object, ("colour_corners", "touching"), ("area", "same_shape", "density"), BOTH),
    *variants(crop_first_object, ("colour_corners", "touching")),
    *variants(crop_inside_frame, BOTH),
    *variants(keep_objects, ("colour_corners", "touching"), CHOICE, BOTH),
    *variants(keep_objects, ("colour",), ("area", "holes"), BOTH),
    *variants(remove_objects, ("colour_corners", "touching"), ("area", "same_shape", "same_look"), BOTH),
    *variants(remove_small, ("colour_corners", "touching"), (1, 2)),
    *variants(remove_small, ("colour", "colour_corners"), (3,)),
    *variants(remove_at_border, ("colour", "touching"), BOTH),
    *variants(fill_holes_in_objects, ("colour", "colour_corners", "touching")),
    *variants(fill_boxes, ("colour_corners", "touching")),
    *variants(frame_boxes, ("colour_corners", "touching")),
    *variants(recolour_objects, ("touching", "touching_sides"), ("commonest", "rarest", "first")),
    *variants(change_objects, ("touching",), ("left_right", "up_down", "half_turn", "turn", "symmetric")),
    *variants(swap_object_colours, ("touching", "touching_sides")),
    *variants(drop_objects, ("colour_corners", "touching"), WAYS),
    *variants(drop_cells, WAYS),
    *variants(sort_lines, WAYS),
    *variants(list_colours, ("cells", "objects", "each_object", "down", "across"), ("first", "last"), BOTH),
    *variants(bar_chart, ("cells", "objects")),
    Operation(cells_in_a_row),
    *variants(only_colour, (0, 1, -1)),
    *variants(objects_as_square, ("colour_corners", "touching")),
    *variants(stack_objects, ("touching", "colour_corners"), ("down", "right")),
    *variants(overlay_objects, ("touching", "colour_corners")),
]
"""In the order in which a search without a policy tries them."""

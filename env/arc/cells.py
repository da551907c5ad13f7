"""What a rule can see of one cell: planes of small numbers, one for each feature, over a whole grid."""

from __future__ import annotations

import numpy as np

from env.arc.grids import (
    BY_COLOUR,
    BY_COLOUR_CORNERS,
    TOUCHING,
    Objects,
    background,
    counts,
    enclosed,
    find_objects,
    find_runs,
    label,
    remembered,
)
from env.arc.tasks import Grid
from env.loops import compiled

NOTHING = 15
"""Value of a cell outside the grid, and the largest of any plane."""

STEPS = np.array([(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)])
WAYS = ("up", "down", "left", "right", "up_left", "up_right", "down_left", "down_right")

_LOCAL = (
    *(f"beside_{way}" for way in WAYS),
    *(f"seen_{way}" for way in WAYS),
    "content_at_sides",
    "content_around",
    "own_at_sides",
    "own_around",
    "content_at_corners",
    "sees_sides",
    "sees_corners",
    "same_left_right",
    "same_up_down",
    "same_rising",
    "same_falling",
    "row_content",
    "column_content",
    "row_colours",
    "column_colours",
    "row_colour",
    "column_colour",
    "distance",
    "steps_to_content",
    "row_uniform",
    "column_uniform",
    "row_own",
    "column_own",
    "row_start",
    "row_end",
    "column_start",
    "column_end",
)


@compiled()
def _local(grid: np.ndarray, ground: int, steps: np.ndarray, planes: int) -> np.ndarray:
    """The planes of `_LOCAL`, uint8 [planes, rows, columns]."""
    rows, columns = grid.shape
    out = np.zeros((planes, rows, columns), np.uint8)
    row_tally, column_tally = np.zeros((rows, 10), np.int64), np.zeros((columns, 10), np.int64)
    for r in range(rows):
        for c in range(columns):
            row_tally[r, grid[r, c]] += 1
            column_tally[c, grid[r, c]] += 1
    for r in range(rows):
        for c in range(columns):
            own = grid[r, c]
            at_sides = around = own_sides = own_around = sees_sides = sees_corners = 0
            seen = np.full(8, ground, np.int64)
            for k in range(8):
                y, x = r + steps[k, 0], c + steps[k, 1]
                inside = 0 <= y < rows and 0 <= x < columns
                out[k, r, c] = grid[y, x] if inside else 15
                if inside:
                    content, same = grid[y, x] != ground, grid[y, x] == own
                    around += content
                    own_around += same
                    if k < 4:
                        at_sides += content
                        own_sides += same
                while 0 <= y < rows and 0 <= x < columns and grid[y, x] == ground:
                    y += steps[k, 0]
                    x += steps[k, 1]
                if 0 <= y < rows and 0 <= x < columns:
                    seen[k] = grid[y, x]
                    if k < 4:
                        sees_sides += 1
                    else:
                        sees_corners += 1
                out[8 + k, r, c] = seen[k]
            out[16, r, c], out[17, r, c] = at_sides, around
            out[18, r, c], out[19, r, c] = own_sides, own_around
            out[20, r, c] = around - at_sides
            out[21, r, c], out[22, r, c] = sees_sides, sees_corners
            out[23, r, c] = seen[2] == seen[3] and seen[2] != ground
            out[24, r, c] = seen[0] == seen[1] and seen[0] != ground
            out[25, r, c] = seen[5] == seen[6] and seen[5] != ground
            out[26, r, c] = seen[4] == seen[7] and seen[4] != ground
            out[27, r, c] = min(columns - row_tally[r, ground], 15)
            out[28, r, c] = min(rows - column_tally[c, ground], 15)
            out[29, r, c] = min(np.sum(row_tally[r] > 0), 15)
            out[30, r, c] = min(np.sum(column_tally[c] > 0), 15)
            best_row, best_column = ground, ground
            for colour in range(10):
                if colour != ground:
                    if row_tally[r, colour] > (0 if best_row == ground else row_tally[r, best_row]):
                        best_row = colour
                    if column_tally[c, colour] > (0 if best_column == ground else column_tally[c, best_column]):
                        best_column = colour
            out[31, r, c], out[32, r, c] = best_row, best_column
            out[35, r, c] = row_tally[r, own] == columns
            out[36, r, c] = column_tally[c, own] == rows
            out[37, r, c] = min(row_tally[r, own], 15)
            out[38, r, c] = min(column_tally[c, own], 15)
            out[39, r, c], out[40, r, c] = grid[r, 0], grid[r, columns - 1]
            out[41, r, c], out[42, r, c] = grid[0, c], grid[rows - 1, c]
    # Distances to content: over sides and corners (33) and over sides alone (34), in two sweeps.
    for r in range(rows):
        for c in range(columns):
            far = 0 if grid[r, c] != ground else 15
            out[33, r, c] = out[34, r, c] = far
            if far:
                for k in (0, 2, 4, 5):
                    y, x = r + steps[k, 0], c + steps[k, 1]
                    if 0 <= y < rows and 0 <= x < columns:
                        out[33, r, c] = min(out[33, r, c], out[33, y, x] + 1)
                        if k < 4:
                            out[34, r, c] = min(out[34, r, c], out[34, y, x] + 1)
    for i in range(rows):
        for j in range(columns):
            r, c = rows - 1 - i, columns - 1 - j
            for k in (1, 3, 6, 7):
                y, x = r + steps[k, 0], c + steps[k, 1]
                if 0 <= y < rows and 0 <= x < columns:
                    out[33, r, c] = min(out[33, r, c], out[33, y, x] + 1)
                    if k < 4:
                        out[34, r, c] = min(out[34, r, c], out[34, y, x] + 1)
    return out


_PLACES = (
    "row_odd",
    "column_odd",
    "sum_odd",
    "row_third",
    "column_third",
    "sum_third",
    "difference_third",
    "from_top",
    "from_bottom",
    "from_left",
    "from_right",
    "from_border",
    "ring_odd",
    "diagonal",
    "anti_diagonal",
    "row_odd_below",
    "column_odd_right",
)


def _places(rows: int, columns: int) -> list[np.ndarray]:
    """The planes of `_PLACES`."""
    r, c = np.indices((rows, columns))
    ring = np.minimum.reduce([r, c, rows - 1 - r, columns - 1 - c])
    planes = [r % 2, c % 2, (r + c) % 2, r % 3, c % 3, (r + c) % 3, (r - c) % 3, r, rows - 1 - r, c, columns - 1 - c]
    planes += [ring, ring % 2, r == c, r == columns - 1 - c, (rows - 1 - r) % 2, (columns - 1 - c) % 2]
    return planes


_OBJECT = (
    "area",
    "largest",
    "smallest",
    "area_rank",
    "height",
    "width",
    "holes",
    "colours",
    "rectangle",
    "square",
    "straight",
    "upright",
    "at_border",
    "same_shape",
    "same_colour",
    "mirrored",
    "from_left_rank",
    "from_top_rank",
    "area_odd",
    "longest",
    "commonest",
)
"""Properties of the object of a cell, 0 on background."""

_IN_OBJECT = ("row_in_box", "column_in_box", "row_in_box_below", "column_in_box_right", "box_ring")


@compiled()
def _mirrored(
    labels: np.ndarray, top: np.ndarray, left: np.ndarray, bottom: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Symmetry of each object's mask: 1, and 1 more for left to right, 2 more for top to bottom."""
    out = np.ones(len(top), np.int64)
    for k in range(len(top)):
        sideways, upright = True, True
        for r in range(top[k], bottom[k] + 1):
            for c in range(left[k], right[k] + 1):
                here = labels[r, c] == k + 1
                if here != (labels[r, left[k] + right[k] - c] == k + 1):
                    sideways = False
                if here != (labels[top[k] + bottom[k] - r, c] == k + 1):
                    upright = False
        out[k] += sideways + 2 * upright
    return out


def _rank(value: np.ndarray) -> np.ndarray:
    """1 for the largest, 2 for the next different one, and so on."""
    return np.searchsorted(-np.unique(value)[::-1], -value) + 1 if len(value) else value


def _object_properties(objects: Objects, grid: Grid) -> list[np.ndarray]:
    """The values of `_OBJECT`, each [objects]."""
    rows, columns = grid.shape
    area, height, width = objects.area, objects.height, objects.width
    if not len(area):
        return [np.zeros(0, int)] * len(_OBJECT)
    shapes = np.bincount(objects.shape, minlength=len(area))[objects.shape]
    border = (objects.top == 0) | (objects.left == 0) | (objects.bottom == rows - 1) | (objects.right == columns - 1)
    longest = np.maximum(height, width)
    return [
        area,
        1 + (area == area.max()),
        1 + (area == area.min()),
        _rank(area),
        height,
        width,
        objects.holes + 1,
        objects.colours,
        1 + (area == height * width),
        1 + (height == width),
        1 + (np.minimum(height, width) == 1),
        1 + (height > width) + 2 * (height < width),
        1 + border,
        shapes,
        np.bincount(objects.colour, minlength=10)[objects.colour],
        _mirrored(objects.labels, objects.top, objects.left, objects.bottom, objects.right),
        _rank(-objects.left),
        _rank(-objects.top),
        1 + area % 2,
        1 + (longest == longest.max()),
        1 + (shapes == shapes.max()),
    ]


_SEGMENTATIONS = (("part", BY_COLOUR), ("piece", BY_COLOUR_CORNERS), ("object", TOUCHING))

_ROOM: tuple[str, ...] = (
    "enclosed",
    "enclosed_corners",
    "room_area",
    "room_largest",
    "room_smallest",
    "room_at_border",
)
_ROOM += ("room_square", "room_height", "room_width", "room_odd", "room_full")
_SQUARE = ("empty_square", "solid_square", "in_largest_empty_box")
"""Side of the largest square around the cell that is all background, or all of its colour; the largest such rectangle."""

_PANEL = (
    "on_line",
    "panel_row",
    "panel_column",
    "row_in_panel",
    "column_in_panel",
    "panel_content",
    "panel_fullest",
    "panel_emptiest",
    "panel_full",
    "panels_here",
    "panels_alike",
)
"""Of the equal parts between lines: the cell's own, and what all of them hold at its place. 0 where nothing is parted."""

_OTHER = ("colour", "content", "colour_rank", "rarest", "commonest", "in_box", "box_area")
_GLOBAL = ("number_of_pieces", "number_of_objects", "number_of_colours", "commonest_colour", "rarest_colour")

NAMES: tuple[str, ...] = (
    *_OTHER,
    *_LOCAL,
    *_PLACES,
    *(f"{kind}_{name}" for kind, _ in _SEGMENTATIONS for name in (*_OBJECT, *_IN_OBJECT)),
    *_ROOM,
    *_SQUARE,
    *_PANEL,
    "twin_colour",
    *_GLOBAL,
)
"""Names of the planes of `cells`."""

_SOURCE_NAMES = (
    "colour",
    *(f"beside_{way}" for way in WAYS),
    *(f"seen_{way}" for way in WAYS),
    "row_colour",
    "column_colour",
    "row_start",
    "row_end",
    "column_start",
    "column_end",
)
SOURCES: tuple[str, ...] = (
    *_SOURCE_NAMES,
    "mirrored_left_right",
    "mirrored_up_down",
    "half_turned",
    "transposed",
    "anti_transposed",
    "piece_colour",
    "object_colour",
    "object_rarest",
    "room_colour",
    "box_colour",
    "commonest_colour",
    "rarest_colour",
    "second_colour",
    "largest_colour",
    "smallest_colour",
    "ground_colour",
    "nearest_colour",
    "twin_colour",
    "box_left_right",
    "box_up_down",
    "box_half_turned",
    "panel_colour",
    "fullest_panel",
    "first_panel",
    "laid_over_panels",
)
"""Names of the planes of colours that a rule can copy from."""


@remembered
def cells(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """All planes of a grid, uint8 [NAMES, cells] and [SOURCES, cells]; a source that does not apply is 255."""
    rows, columns = grid.shape
    ground = background(grid)
    local = _local(grid, ground, STEPS, len(_LOCAL))
    number = counts(grid)
    number[ground] = 0
    order = np.argsort(-number, kind="stable")
    present = [int(k) for k in order if number[k]] or [ground]
    rank = np.zeros(10, int)
    rank[present] = np.arange(1, len(present) + 1)
    rank[ground] = 0
    found = {kind: find_objects(grid, segmentation) for kind, segmentation in _SEGMENTATIONS}
    in_box, box_area, box_colour = _boxes(found["object"], grid)
    planes: list[np.ndarray] = [
        grid,
        grid != ground,
        rank[grid],
        (grid == present[-1]) & (grid != ground),
        (grid == present[0]) & (grid != ground),
        in_box,
        box_area,
        *local,
        *_places(rows, columns),
    ]
    for kind, _ in _SEGMENTATIONS:
        planes += _of_objects(found[kind], grid)
    room, room_colour = _rooms(grid, ground)
    planes += room
    planes += [*_squares(grid, ground), _largest_empty_box(grid, ground)]
    panel_planes, panel_colours = _panels(grid, ground)
    planes += panel_planes
    twin = _twins(found["piece"])
    planes.append(np.where(twin < 10, twin, NOTHING))
    for value in (len(found["piece"]), len(found["object"]), len(present), present[0], present[-1]):
        planes.append(np.full(grid.shape, min(value, NOTHING)))
    by_cell = np.minimum(np.stack(planes), NOTHING).astype(np.uint8).reshape(len(NAMES), -1)

    place = {name: i for i, name in enumerate(NAMES)}
    absent = np.full(grid.shape, 255, np.uint8)
    square = rows == columns
    pieces, objects = found["piece"], found["object"]
    sources = [by_cell[place[name]].reshape(grid.shape) for name in _SOURCE_NAMES]
    sources = [np.where(s < 10, s, 255) for s in sources]
    sources += [grid[:, ::-1], grid[::-1], grid[::-1, ::-1]]
    sources += [grid.T, grid[::-1, ::-1].T] if square else [absent, absent]
    sources += [_painted(pieces, pieces.colour, ground), _painted(objects, objects.colour, ground)]
    sources += [_painted(objects, _rarest(objects, grid), ground), room_colour, box_colour]
    largest = int(pieces.colour[pieces.area.argmax()]) if len(pieces) else ground
    smallest = int(pieces.colour[pieces.area.argmin()]) if len(pieces) else ground
    for colour in (present[0], present[-1], present[min(1, len(present) - 1)], largest, smallest, ground):
        sources.append(np.full(grid.shape, colour, np.int8))
    sources.append(_nearest(grid, ground, local[34]))
    sources += [np.where(twin < 10, twin, grid), *_mirrored_in_boxes(objects, grid), *panel_colours]
    return by_cell, np.stack(sources).astype(np.uint8).reshape(len(SOURCES), -1)


def _of_objects(objects: Objects, grid: Grid) -> list[np.ndarray]:
    """The planes of `_OBJECT` and `_IN_OBJECT`."""
    labels = objects.labels
    planes = [np.concatenate(([0], value))[labels] for value in _object_properties(objects, grid)]
    r, c = np.indices(grid.shape)
    edges = [np.concatenate(([0], v))[labels] for v in (objects.top, objects.left, objects.bottom, objects.right)]
    inside = labels > 0
    offsets = [r - edges[0] + 1, c - edges[1] + 1, edges[2] - r + 1, edges[3] - c + 1]
    planes += [np.where(inside, offset, 0) for offset in offsets]
    planes.append(np.where(inside, np.minimum.reduce(offsets), 0))
    return planes


def _boxes(objects: Objects, grid: Grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether a cell is in the box of an object, the smallest such box's area, and its object's colour."""
    inside, area = np.zeros(grid.shape, np.uint8), np.zeros(grid.shape, np.int64)
    colour = np.full(grid.shape, background(grid), np.uint8)
    boxes = objects.height * objects.width
    for k in np.argsort(-boxes, kind="stable"):
        box = objects.box(int(k))
        inside[box], area[box], colour[box] = 1, boxes[k], objects.colour[k]
    return inside, area, colour


@compiled()
def _squares(grid: np.ndarray, ground: int) -> np.ndarray:
    """The first two planes of `_SQUARE`, uint8 [2, rows, columns]: 0 in the one where the cell is of the other kind."""
    rows, columns = grid.shape
    side = np.ones((rows, columns), np.int64)
    """Of the largest square of one colour that ends at a cell."""
    out = np.zeros((2, rows, columns), np.uint8)
    for r in range(rows):
        for c in range(columns):
            own = grid[r, c]
            if r and c and own == grid[r - 1, c] == grid[r, c - 1] == grid[r - 1, c - 1]:
                side[r, c] = 1 + min(side[r - 1, c], side[r, c - 1], side[r - 1, c - 1])
            kind = 0 if own == ground else 1
            for y in range(r - side[r, c] + 1, r + 1):
                for x in range(c - side[r, c] + 1, c + 1):
                    out[kind, y, x] = max(out[kind, y, x], min(side[r, c], 15))
    return out


@compiled()
def _largest_empty_box(grid: np.ndarray, ground: int) -> np.ndarray:
    """The last plane of `_SQUARE`, uint8 [rows, columns]: 1 in all rectangles of background than which none is larger."""
    rows, columns = grid.shape
    out = np.zeros((rows, columns), np.uint8)
    most = 0
    for top in range(rows):
        free = np.ones(columns, np.bool_)
        for bottom in range(top, rows):
            begun = 0
            for c in range(columns + 1):
                if c < columns:
                    free[c] = free[c] and grid[bottom, c] == ground
                if c == columns or not free[c]:
                    area = (c - begun) * (bottom - top + 1)
                    if area > most:
                        most = area
                        out[:] = 0
                    if area == most and area:
                        out[top : bottom + 1, begun:c] = 1
                    begun = c + 1
    return out


def _mirrored_in_boxes(objects: Objects, grid: Grid) -> list[np.ndarray]:
    """Colours at the mirrored place, and at the one half a turn away, in the smallest box of an object; their own outside."""
    planes = [grid.copy() for _ in range(3)]
    for k in np.argsort(-objects.height * objects.width, kind="stable"):
        box = objects.box(int(k))
        part = grid[box]
        for plane, turned in zip(planes, (part[:, ::-1], part[::-1], part[::-1, ::-1]), strict=True):
            plane[box] = turned
    return planes


def _twins(pieces: Objects) -> np.ndarray:
    """The colour of another piece of the same shape but another colour, 255 where there is none."""
    colour = np.full(len(pieces) + 1, 255, np.uint8)
    for k in range(len(pieces)):
        others = pieces.colour[(pieces.shape == pieces.shape[k]) & (pieces.colour != pieces.colour[k])]
        if len(others) and (others == others[0]).all():
            colour[k + 1] = others[0]
    return colour[pieces.labels]


def _panels(grid: Grid, ground: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The planes of `_PANEL`, and colours: of a panel, and at the same place of the fullest, the first, and all of them."""
    planes = np.zeros((len(_PANEL), *grid.shape), np.int64)
    runs = find_runs(grid)
    if runs is None:
        return list(planes), [np.full(grid.shape, 255, np.uint8)] * 4
    colours = np.stack([grid] * 4).astype(np.uint8)  # lines stay as they are
    places = [(slice(*rows), slice(*columns)) for rows in runs[0] for columns in runs[1]]
    parts = np.stack([grid[place] for place in places])
    content = parts != ground
    number = content.sum(axis=(1, 2))
    alike = (parts[:, None] == parts).all(axis=(2, 3)).sum(axis=1)
    over = np.full(parts.shape[1:], ground, np.uint8)
    for part in parts[::-1]:
        over = np.where(part != ground, part, over)
    within = np.indices(over.shape) + 1
    here = content.sum(axis=0)
    planes[0] = 1
    for k, place in enumerate(places):
        tally = np.bincount(parts[k][content[k]], minlength=10)
        planes[(slice(1, 5), *place)] = np.stack(
            [np.full_like(here, k // len(runs[1])), np.full_like(here, k % len(runs[1])), *within]
        )
        planes[(slice(5, 9), *place)] = np.array(
            [number[k], 1 + (number[k] == number.max()), 1 + (number[k] == number.min()), 1 + content[k].all()]
        )[:, None, None]
        planes[(0, *place)], planes[(9, *place)], planes[(10, *place)] = 0, here, alike[k]
        colours[(slice(None), *place)] = np.stack(
            [np.full_like(over, tally.argmax() if tally.any() else ground), parts[number.argmax()], parts[0], over]
        )
    return list(planes), list(colours)


def _rooms(grid: Grid, ground: int) -> tuple[list[np.ndarray], np.ndarray]:
    """The planes of `_ROOM`, of connected background, and the colour most of what borders each room."""
    empty = grid == ground
    labels, number = label(empty.astype(np.int8), 0, False, True)
    inside = enclosed(~empty)
    outer = _reached_over_corners(empty)
    area, height, width, border, colour = _measure_rooms(grid, labels, number, ground)
    inner = area[~border] if (~border).any() else np.zeros(1, np.int64)
    of = [np.concatenate(([0], v)) for v in (
        area,
        1 + (~border & (area == inner.max())),
        1 + (~border & (area == inner.min())),
        1 + border,
        1 + (height == width),
        height,
        width,
        1 + area % 2,
        1 + (area == height * width),
    )]  # fmt: skip
    planes = [inside, empty & ~outer, *(v[labels] for v in of)]
    return planes, np.concatenate(([ground], colour))[labels].astype(np.uint8)


@compiled()
def _reached_over_corners(empty: np.ndarray) -> np.ndarray:
    """Empty cells from which a path over sides and corners leads to the border."""
    rows, columns = empty.shape
    out = np.zeros((rows, columns), np.bool_)
    stack = np.empty(rows * columns, np.int32)
    size = 0
    for r in range(rows):
        for c in range(columns):
            if (r == 0 or c == 0 or r == rows - 1 or c == columns - 1) and empty[r, c]:
                out[r, c] = True
                stack[size] = r * columns + c
                size += 1
    while size:
        size -= 1
        r, c = stack[size] // columns, stack[size] % columns
        for y in range(max(r - 1, 0), min(r + 2, rows)):
            for x in range(max(c - 1, 0), min(c + 2, columns)):
                if empty[y, x] and not out[y, x]:
                    out[y, x] = True
                    stack[size] = y * columns + x
                    size += 1
    return out


@compiled()
def _measure_rooms(
    grid: np.ndarray, labels: np.ndarray, number: int, ground: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Area, rows, columns, whether at the border, and commonest bordering colour of each room."""
    rows, columns = labels.shape
    area = np.zeros(number, np.int64)
    top, left = np.full(number, rows, np.int64), np.full(number, columns, np.int64)
    bottom, right = np.zeros(number, np.int64), np.zeros(number, np.int64)
    border = np.zeros(number, np.bool_)
    tally = np.zeros((number, 10), np.int64)
    for r in range(rows):
        for c in range(columns):
            k = labels[r, c] - 1
            if k < 0:
                continue
            area[k] += 1
            top[k], bottom[k] = min(top[k], r), max(bottom[k], r)
            left[k], right[k] = min(left[k], c), max(right[k], c)
            if r == 0 or c == 0 or r == rows - 1 or c == columns - 1:
                border[k] = True
            for d in range(4):
                y = r + (d == 0) - (d == 1)
                x = c + (d == 2) - (d == 3)
                if 0 <= y < rows and 0 <= x < columns and grid[y, x] != ground:
                    tally[k, grid[y, x]] += 1
    colour = np.full(number, ground, np.int64)
    for k in range(number):
        if tally[k].max() > 0:
            colour[k] = np.argmax(tally[k])
    return area, bottom - top + 1, right - left + 1, border, colour


@compiled()
def _nearest(grid: np.ndarray, ground: int, steps: np.ndarray) -> np.ndarray:
    """Colour of the content that is reached in the fewest steps over sides, spread outwards ring by ring."""
    rows, columns = grid.shape
    out = grid.copy()
    for ring in range(1, 16):
        for r in range(rows):
            for c in range(columns):
                if steps[r, c] == ring:
                    for d in range(4):
                        y = r + (d == 0) - (d == 1)
                        x = c + (d == 2) - (d == 3)
                        if 0 <= y < rows and 0 <= x < columns and steps[y, x] == ring - 1:
                            out[r, c] = out[y, x]
                            break
    return out


def _painted(objects: Objects, colour: np.ndarray, ground: int) -> np.ndarray:
    return np.concatenate(([ground], colour))[objects.labels]


def _rarest(objects: Objects, grid: Grid) -> np.ndarray:
    """The rarest colour of each object."""
    out = np.zeros(len(objects), np.int64)
    for k in range(len(objects)):
        cells_of = grid[objects.box(k)][objects.mask(k)]
        tally = np.bincount(cells_of, minlength=10)
        out[k] = np.where(tally > 0, tally, cells_of.size + 1).argmin()
    return out

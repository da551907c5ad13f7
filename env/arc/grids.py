"""What every operation looks at in a grid: its background, its objects and their properties, its panels.

The loops are compiled; results are remembered by content, for many operations look at the same grid.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from env.arc.tasks import COLOURS, Grid
from env.loops import compiled

T = TypeVar("T")


class Segmentation(NamedTuple):
    """What counts as one object: cells that touch, also at corners or not, of one colour or of any but background."""

    corners: bool
    any_colour: bool


BY_COLOUR = Segmentation(corners=False, any_colour=False)
BY_COLOUR_CORNERS = Segmentation(corners=True, any_colour=False)
TOUCHING = Segmentation(corners=True, any_colour=True)
TOUCHING_SIDES = Segmentation(corners=False, any_colour=True)


class Objects(NamedTuple):
    """The objects of a grid, in reading order of their first cells; arrays over the objects are int32 [objects]."""

    labels: np.ndarray
    """Object of each cell, 1.., 0 for background; int16 [rows, columns]."""
    top: np.ndarray
    left: np.ndarray
    bottom: np.ndarray
    """Last row of the object."""
    right: np.ndarray
    area: np.ndarray
    """Cells."""
    colour: np.ndarray
    """The commonest colour."""
    colours: np.ndarray
    """Different colours."""
    holes: np.ndarray
    """Regions of other cells, joined by sides, that the object shuts in within its box."""
    shape: np.ndarray
    """The first object that has the same mask; equal numbers mean equal masks."""

    @property
    def height(self) -> np.ndarray:
        """Rows of the box."""
        return self.bottom - self.top + 1

    @property
    def width(self) -> np.ndarray:
        """Columns of the box."""
        return self.right - self.left + 1

    def __len__(self) -> int:
        return len(self.area)

    def mask(self, index: int) -> np.ndarray:
        """Cells of an object within its box, bool [height, width]."""
        return self.labels[self.box(index)] == index + 1

    def box(self, index: int) -> tuple[slice, slice]:
        """Rows and columns of an object's box, to index a grid with."""
        return (
            slice(int(self.top[index]), int(self.bottom[index]) + 1),
            slice(int(self.left[index]), int(self.right[index]) + 1),
        )


def remembered(function: Callable[..., T]) -> Callable[..., T]:
    """Remember results of a function of a grid and hashable arguments by the grid's content.

    What it returns is shared, so arrays in it must not be written to.
    """

    @lru_cache(maxsize=4096)
    def by_content(content: bytes, width: int, *arguments: object) -> T:
        return function(np.frombuffer(content, np.int8).reshape(-1, width), *arguments)

    def call(grid: Grid, *arguments: object) -> T:
        return by_content(grid.tobytes(), grid.shape[1], *arguments)

    call.__doc__ = function.__doc__
    return call


def counts(grid: Grid) -> np.ndarray:
    """Cells of each colour, int64 [10]."""
    return np.bincount(grid.ravel(), minlength=COLOURS)


def background(grid: Grid) -> int:
    """Colour 0 where the grid has it, else the commonest colour."""
    number = counts(grid)
    return 0 if number[0] else int(number.argmax())


def ranked_colours(grid: Grid) -> list[int]:
    """Colours of the grid without the background, the commonest first; ties by number."""
    number = counts(grid)
    number[background(grid)] = 0
    return [int(c) for c in np.argsort(-number, kind="stable") if number[c]]


@remembered
def find_objects(grid: Grid, segmentation: Segmentation = BY_COLOUR) -> Objects:
    """The objects of a grid against its background."""
    ground = background(grid)
    labels, number = label(grid, ground, segmentation.corners, segmentation.any_colour)
    return Objects(labels, *_measure(grid, labels, number))


@compiled()
def label(grid: np.ndarray, ground: int, corners: bool, any_colour: bool) -> tuple[np.ndarray, int]:
    """Connected cells that are not `ground`: labels 1.., int16 of the grid's shape, and their number."""
    rows, columns = grid.shape
    labels = np.zeros((rows, columns), np.int16)
    stack = np.empty(rows * columns, np.int32)
    number = 0
    for start in range(rows * columns):
        r, c = start // columns, start % columns
        if grid[r, c] == ground or labels[r, c]:
            continue
        number += 1
        labels[r, c] = number
        stack[0] = start
        size = 1
        while size:
            size -= 1
            r, c = stack[size] // columns, stack[size] % columns
            for dr in range(-1, 2):
                for dc in range(-1, 2):
                    if (dr == 0 and dc == 0) or (not corners and dr != 0 and dc != 0):
                        continue
                    y, x = r + dr, c + dc
                    if y < 0 or x < 0 or y >= rows or x >= columns or labels[y, x] or grid[y, x] == ground:
                        continue
                    if any_colour or grid[y, x] == grid[r, c]:
                        labels[y, x] = number
                        stack[size] = y * columns + x
                        size += 1
    return labels, number


@compiled()
def enclosed(wall: np.ndarray) -> np.ndarray:
    """Cells outside `wall` from which no path over sides leads to the border, bool of the same shape."""
    rows, columns = wall.shape
    out = np.zeros((rows, columns), np.bool_)
    stack = np.empty(rows * columns, np.int32)
    size = 0
    for r in range(rows):
        for c in range(columns):
            if (r == 0 or c == 0 or r == rows - 1 or c == columns - 1) and not wall[r, c]:
                out[r, c] = True
                stack[size] = r * columns + c
                size += 1
    while size:
        size -= 1
        r, c = stack[size] // columns, stack[size] % columns
        for k in range(4):
            y = r + (k == 0) - (k == 1)
            x = c + (k == 2) - (k == 3)
            if 0 <= y < rows and 0 <= x < columns and not out[y, x] and not wall[y, x]:
                out[y, x] = True
                stack[size] = y * columns + x
                size += 1
    for r in range(rows):
        for c in range(columns):
            out[r, c] = not out[r, c] and not wall[r, c]
    return out


@compiled()
def _measure(grid: np.ndarray, labels: np.ndarray, number: int) -> tuple[np.ndarray, ...]:
    """The arrays of `Objects` after the labels."""
    rows, columns = grid.shape
    top, left = np.full(number, rows, np.int32), np.full(number, columns, np.int32)
    bottom, right = np.full(number, -1, np.int32), np.full(number, -1, np.int32)
    tally = np.zeros((number, 10), np.int32)
    area = np.zeros(number, np.int32)
    for r in range(rows):
        for c in range(columns):
            k = labels[r, c] - 1
            if k >= 0:
                top[k], bottom[k] = min(top[k], r), max(bottom[k], r)
                left[k], right[k] = min(left[k], c), max(right[k], c)
                tally[k, grid[r, c]] += 1
                area[k] += 1
    colour, colours = np.zeros(number, np.int32), np.zeros(number, np.int32)
    holes, shape = np.zeros(number, np.int32), np.zeros(number, np.int32)
    for k in range(number):
        colour[k] = np.argmax(tally[k])
        colours[k] = np.sum(tally[k] > 0)
        inside = enclosed(labels[top[k] : bottom[k] + 1, left[k] : right[k] + 1] == k + 1)
        if inside.any():
            holes[k] = label(inside.astype(np.int8), 0, False, True)[1]
        shape[k] = k
        for other in range(k):
            h, w = bottom[k] - top[k], right[k] - left[k]
            if area[other] != area[k] or bottom[other] - top[other] != h or right[other] - left[other] != w:
                continue
            same = True
            for r in range(h + 1):
                for c in range(w + 1):
                    here = labels[top[k] + r, left[k] + c] == k + 1
                    if here != (labels[top[other] + r, left[other] + c] == other + 1):
                        same = False
                        break
                if not same:
                    break
            if same:
                shape[k] = shape[other]
                break
    return top, left, bottom, right, area, colour, colours, holes, shape


@remembered
def find_panels(grid: Grid) -> tuple[list[Grid], tuple[int, int]]:
    """Equal parts of a grid in reading order, and how many there are down and across; no parts where there are none.

    The parts lie between straight lines of one colour that go from border to border; a grid without such lines
    is cut into halves or thirds of its longer side if that comes out even.
    """
    rows, columns = grid.shape
    runs = find_runs(grid)
    if runs is not None:
        across, down = runs
        return [grid[r0:r1, c0:c1] for r0, r1 in across for c0, c1 in down], (len(across), len(down))
    for number in (2, 3, 4):
        if rows > columns and rows == number * columns:
            return [grid[i * columns : (i + 1) * columns] for i in range(number)], (number, 1)
        if columns > rows and columns == number * rows:
            return [grid[:, i * rows : (i + 1) * rows] for i in range(number)], (1, number)
    for number in (2, 3):
        if rows >= columns and rows % number == 0 and rows > number:
            return np.split(grid, number), (number, 1)
        if columns > rows and columns % number == 0 and columns > number:
            return np.split(grid, number, axis=1), (1, number)
    return [], (0, 0)


def find_runs(grid: Grid) -> tuple[list[tuple[int, int]], list[tuple[int, int]]] | None:
    """Rows and columns, as first and one past the last, of the equal parts between lines; None where no lines part it."""
    for colour in _line_colours(grid):
        across = _gaps((grid == colour).all(axis=1))
        down = _gaps((grid == colour).all(axis=0))
        if len(across) * len(down) > 1 and _equal(across) and _equal(down):
            return across, down
    return None


def _line_colours(grid: Grid) -> list[int]:
    """Colours of whole rows or columns, the background last."""
    across = grid[(grid == grid[:, :1]).all(axis=1), 0]
    down = grid[0, (grid == grid[:1]).all(axis=0)]
    ground = background(grid)
    return sorted({*across.tolist(), *down.tolist()}, key=lambda colour: (colour == ground, colour))


def _gaps(line: np.ndarray) -> list[tuple[int, int]]:
    """Runs that are not lines, as first and one past the last."""
    runs, begun = [], None
    for place, lined in enumerate([*line.tolist(), True]):
        if not lined and begun is None:
            begun = place
        elif lined and begun is not None:
            runs.append((begun, place))
            begun = None
    return runs


def _equal(gaps: list[tuple[int, int]]) -> bool:
    return bool(gaps) and len({b - a for a, b in gaps}) == 1

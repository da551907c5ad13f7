"""The observation of a solver: what differs between the current grids and the demonstrated outputs, as numbers."""

from __future__ import annotations

import numpy as np

from env.arc.grids import BY_COLOUR_CORNERS, TOUCHING, background, enclosed, find_objects, find_panels
from env.arc.tasks import Grid
from env.arc.world import DEEPEST, State
from env.loops import compiled

PAIR_FEATURES = (
    "same_size", "rows_ratio", "columns_ratio", "same_rows", "same_columns", "sides_swapped", "rows_multiplied",
    "columns_multiplied", "rows_divided", "columns_divided", "square_before", "square_after", "one_cell", "one_line",
    "size_before", "size_after", "colours_kept", "colours_used", "colours_new", "colours_lost", "colours_before",
    "colours_after", "counts_equal", "counts_permuted", "counts_proportional", "ground_before", "ground_after",
    "share_right", "ground_changed", "content_changed", "content_kept", "ground_kept", "mask_equal", "colour_map",
    "one_new_colour", "few_changed", "rows_sorted", "columns_sorted", "mirrored_before_lr", "mirrored_before_ud",
    "mirrored_after_lr", "mirrored_after_ud", "transposed_after", "part_of_before", "part_of_after", "box_fits",
    "pieces_before", "pieces_after", "objects_before", "objects_after", "objects_equal", "object_fits", "panels",
    "panel_fits", "panels_fit", "enclosed_before", "enclosed_after", "uniform_after", "full_lines_before",
    "full_lines_after",
)  # fmt: skip
"""Of a demonstration: `before` is the current grid, `after` the wanted one. Each in -1..1."""

STATE_FEATURES = ("depth", "demonstrations", "explained", "distance", "output_constant", "reshaped")

SIZE = 2 * len(PAIR_FEATURES) + len(STATE_FEATURES)
"""Numbers of an observation: the mean and the least over the demonstrations, then the state's own."""


def observe(state: State) -> np.ndarray:
    """The observation of a state, float32 [SIZE]."""
    wanted = state.puzzle.wanted
    pairs = np.array([_pair(g, w) for g, w in zip(state.grids, wanted, strict=False)]).astype(np.float32)
    sizes = {w.shape for w in wanted}
    own = (
        len(state.steps) / DEEPEST,
        len(wanted) / 10,
        state.explained,
        state.distance,
        len(sizes) == 1,
        len({g.shape for g in state.grids[: len(wanted)]}) > 1,
    )
    return np.concatenate([pairs.mean(axis=0), pairs.min(axis=0), np.array(own, np.float32)])


@compiled()
def _holds(large: np.ndarray, small: np.ndarray) -> bool:
    """Whether `small` stands somewhere in `large`."""
    for r in range(large.shape[0] - small.shape[0] + 1):
        for c in range(large.shape[1] - small.shape[1] + 1):
            equal = True
            for y in range(small.shape[0]):
                for x in range(small.shape[1]):
                    if large[r + y, c + x] != small[y, x]:
                        equal = False
                        break
                if not equal:
                    break
            if equal:
                return True
    return False


def _pair(before: Grid, after: Grid) -> np.ndarray:
    """The numbers of `PAIR_FEATURES`, float64."""
    out = np.zeros(len(PAIR_FEATURES))
    ground = background(before)
    _compare(before, after, ground, out)
    pieces, objects = find_objects(before, BY_COLOUR_CORNERS), find_objects(before, TOUCHING)
    objects_after = find_objects(after, TOUCHING)
    panels, (down, across) = find_panels(before)
    out[_OBJECTS] = (
        len(pieces) / 20,
        len(find_objects(after, BY_COLOUR_CORNERS)) / 20,
        len(objects) / 20,
        len(objects_after) / 20,
        len(objects) == len(objects_after),
        ((objects.height == after.shape[0]) & (objects.width == after.shape[1])).any(),
        len(panels) / 20,
        bool(panels) and panels[0].shape == after.shape,
        (down, across) == after.shape,
    )
    return np.minimum(out, 1.0)


_OBJECTS = slice(PAIR_FEATURES.index("pieces_before"), PAIR_FEATURES.index("enclosed_before"))
"""Where the numbers stand that objects and panels give."""


@compiled()
def _compare(before: np.ndarray, after: np.ndarray, ground: int, out: np.ndarray) -> None:
    """Fill in all numbers but those that objects and panels give, by their places in `PAIR_FEATURES`."""
    h, w = before.shape
    y, x = after.shape
    same = h == y and w == x
    number, wanted = np.zeros(10, np.int64), np.zeros(10, np.int64)
    for colour in before.flat:
        number[colour] += 1
    for colour in after.flat:
        wanted[colour] += 1
    has, needs = number > 0, wanted > 0
    out[0], out[3], out[4] = same, y == h, x == w
    out[1] = min(max(np.log2(y / h) / 3, -1), 1)
    out[2] = min(max(np.log2(x / w) / 3, -1), 1)
    out[5] = y == w and x == h and h != w
    out[6], out[7] = y > h and y % h == 0, x > w and x % w == 0
    out[8], out[9] = y < h and h % y == 0, x < w and w % x == 0
    out[10], out[11], out[12], out[13] = h == w, y == x, after.size == 1, min(y, x) == 1
    out[14], out[15] = before.size**0.5 / 30, after.size**0.5 / 30
    new, lost = np.sum(needs & ~has), np.sum(has & ~needs)
    out[16], out[17], out[18], out[19] = lost == 0, new == 0, new / 3, lost / 3
    out[20], out[21] = np.sum(has) / 10, np.sum(needs) / 10
    out[22] = (number == wanted).all()
    out[23] = (np.sort(number) == np.sort(wanted)).all()
    out[24] = (number * after.size == wanted * before.size).all()
    out[25], out[26] = number[ground] / before.size, wanted[ground] / after.size
    if same:
        _compare_cells(before, after, ground, out)
    sides, upright = _mirrored(before)
    sides_after, upright_after = _mirrored(after)
    out[38], out[39], out[40], out[41] = sides, upright, sides_after, upright_after
    out[42] = y == x and (after == after.T).all()
    out[43] = not same and y <= h and x <= w and _holds(before, after)
    out[44] = not same and y >= h and x >= w and _holds(after, before)
    out[45] = _box(before, ground) == (y, x)
    out[55], out[56] = enclosed(before != ground).mean(), enclosed(after != ground).mean()
    out[57] = np.sum(needs) == 1
    out[58], out[59] = _full_line(before), _full_line(after)


@compiled()
def _compare_cells(before: np.ndarray, after: np.ndarray, ground: int, out: np.ndarray) -> None:
    """Fill in the numbers that only grids of one size have."""
    rows, columns = before.shape
    changed = ground_changed = content_changed = contents = 0
    mask_equal, is_map, rows_sorted, columns_sorted = True, True, True, True
    becomes = np.full(10, -1, np.int64)
    new = np.zeros(10, np.bool_)
    in_column = np.zeros((columns, 10), np.int64)
    for r in range(rows):
        in_row = np.zeros(10, np.int64)
        for c in range(columns):
            own, wanted = before[r, c], after[r, c]
            in_row[own] += 1
            in_row[wanted] -= 1
            in_column[c, own] += 1
            in_column[c, wanted] -= 1
            content = own != ground
            contents += content
            if own != wanted:
                changed += 1
                content_changed += content
                ground_changed += not content
                new[wanted] = True
            if content != (wanted != ground):
                mask_equal = False
            if becomes[own] == -1:
                becomes[own] = wanted
            elif becomes[own] != wanted:
                is_map = False
        rows_sorted = rows_sorted and not in_row.any()
    columns_sorted = not in_column.any()
    share = changed / before.size
    out[27] = 1 - share
    out[28] = ground_changed / max(before.size - contents, 1)
    out[29] = content_changed / max(contents, 1)
    out[30], out[31], out[32] = content_changed == 0, ground_changed == 0, mask_equal
    out[33], out[34], out[35] = is_map, np.sum(new) == 1, share < 0.1
    out[36], out[37] = rows_sorted, columns_sorted


@compiled()
def _mirrored(grid: np.ndarray) -> tuple[bool, bool]:
    """Whether a grid is its own mirror image, left to right and top to bottom."""
    rows, columns = grid.shape
    sides, upright = True, True
    for r in range(rows):
        for c in range(columns):
            sides = sides and grid[r, c] == grid[r, columns - 1 - c]
            upright = upright and grid[r, c] == grid[rows - 1 - r, c]
    return sides, upright


@compiled()
def _box(grid: np.ndarray, ground: int) -> tuple[int, int]:
    """Rows and columns of the box of all content; (0, 0) where there is none."""
    rows, columns = grid.shape
    top, left, bottom, right = rows, columns, -1, -1
    for r in range(rows):
        for c in range(columns):
            if grid[r, c] != ground:
                top, left, bottom, right = min(top, r), min(left, c), max(bottom, r), max(right, c)
    return max(bottom - top + 1, 0), max(right - left + 1, 0)


@compiled()
def _full_line(grid: np.ndarray) -> bool:
    """Whether some row or column is of one colour."""
    found = False
    for r in range(grid.shape[0]):
        found = found or (grid[r] == grid[r, 0]).all()
    for c in range(grid.shape[1]):
        found = found or (grid[:, c] == grid[0, c]).all()
    return found

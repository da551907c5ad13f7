"""Operations that paint: colours, fills, lines, outlines, symmetry, patterns, noise."""

from __future__ import annotations

import numpy as np

from env.arc.grids import (
    background,
    counts,
    enclosed,
    label,
    ranked_colours,
)
from env.arc.operation import Operation, variants
from env.arc.tasks import Grid
from env.loops import compiled

NOTHING = 99
"""Stands for a cell outside the grid; no colour."""


def keep_colour(grid: Grid, colour: int) -> Grid | None:
    """Clear all cells of other colours."""
    return np.where(grid == colour, grid, np.int8(background(grid))) if (grid == colour).any() else None


def keep_ranked_colour(grid: Grid, rank: int) -> Grid | None:
    """Clear all but the commonest colour (0), the next (1) or the rarest (-1)."""
    colours = ranked_colours(grid)
    return keep_colour(grid, colours[rank]) if -len(colours) <= rank < len(colours) else None


def remove_colour(grid: Grid, colour: int) -> Grid | None:
    """Clear all cells of a colour."""
    return np.where(grid == colour, np.int8(background(grid)), grid) if (grid == colour).any() else None


def remove_ranked_colour(grid: Grid, rank: int) -> Grid | None:
    """Clear the commonest colour (0), the next (1) or the rarest (-1)."""
    colours = ranked_colours(grid)
    return remove_colour(grid, colours[rank]) if -len(colours) <= rank < len(colours) else None


def swap_two_colours(grid: Grid) -> Grid | None:
    """Exchange the two colours of a grid of two, background or not."""
    present = np.flatnonzero(counts(grid))
    return np.where(grid == present[0], np.int8(present[1]), np.int8(present[0])) if len(present) == 2 else None


def rotate_colours(grid: Grid) -> Grid | None:
    """Paint each colour but the background as the next rarer one, the rarest as the commonest."""
    colours = ranked_colours(grid)
    if len(colours) < 2:
        return None
    table = np.arange(10, dtype=np.int8)
    table[colours] = colours[1:] + colours[:1]
    return table[grid]


def paint_content(grid: Grid, rank: int) -> Grid | None:
    """Paint all that is not background in the commonest colour (0), the next (1) or the rarest (-1)."""
    colours = ranked_colours(grid)
    if not -len(colours) <= rank < len(colours):
        return None
    return np.where(grid == background(grid), grid, np.int8(colours[rank]))


def paint_all(grid: Grid, rank: int) -> Grid | None:
    """Paint the whole grid in the commonest colour (0), the next (1) or the rarest (-1), without background."""
    colours = ranked_colours(grid)
    return np.full_like(grid, colours[rank]) if -len(colours) <= rank < len(colours) else None


def invert(grid: Grid) -> Grid | None:
    """Exchange background and content; the content's commonest colour is used."""
    colours = ranked_colours(grid)
    ground = background(grid)
    return np.where(grid == ground, np.int8(colours[0]), np.int8(ground)) if colours else None


def fill_enclosed(grid: Grid, rank: int) -> Grid | None:
    """Fill background that is shut in with the commonest colour (0), the next (1) or the rarest (-1)."""
    colours = ranked_colours(grid)
    if not -len(colours) <= rank < len(colours):
        return None
    return np.where(enclosed(grid != background(grid)), np.int8(colours[rank]), grid)


def fill_open(grid: Grid, rank: int) -> Grid | None:
    """Fill background that is not shut in with the commonest colour (0), the next (1) or the rarest (-1)."""
    colours, ground = ranked_colours(grid), background(grid)
    if not -len(colours) <= rank < len(colours):
        return None
    return np.where((grid == ground) & ~enclosed(grid != ground), np.int8(colours[rank]), grid)


def flood_from_cells(grid: Grid, rank: int) -> Grid | None:
    """Let the commonest (0) or rarest (-1) colour flow over all background it touches at sides."""
    colours = ranked_colours(grid)
    if not -len(colours) <= rank < len(colours):
        return None
    return _flood(grid, background(grid), colours[rank])


@compiled()
def _flood(grid: np.ndarray, ground: int, colour: int) -> np.ndarray:
    rows, columns = grid.shape
    out = grid.copy()
    stack = np.empty(rows * columns, np.int32)
    size = 0
    for r in range(rows):
        for c in range(columns):
            if grid[r, c] == colour:
                stack[size] = r * columns + c
                size += 1
    while size:
        size -= 1
        r, c = stack[size] // columns, stack[size] % columns
        for k in range(4):
            y = r + (k == 0) - (k == 1)
            x = c + (k == 2) - (k == 3)
            if 0 <= y < rows and 0 <= x < columns and out[y, x] == ground:
                out[y, x] = colour
                stack[size] = y * columns + x
                size += 1
    return out


RAYS = {
    "up": ((-1, 0),),
    "down": ((1, 0),),
    "left": ((0, -1),),
    "right": ((0, 1),),
    "down_right": ((1, 1),),
    "down_left": ((1, -1),),
    "up_right": ((-1, 1),),
    "up_left": ((-1, -1),),
    "rows": ((0, 1), (0, -1)),
    "columns": ((1, 0), (-1, 0)),
    "straight": ((0, 1), (0, -1), (1, 0), (-1, 0)),
    "diagonals": ((1, 1), (-1, -1), (1, -1), (-1, 1)),
    "falling": ((1, 1), (-1, -1)),
    "rising": ((1, -1), (-1, 1)),
}
"""Directions of lines, as steps down and across."""


@compiled()
def _draw(grid: np.ndarray, ground: int, steps: np.ndarray, through: bool, connect: bool, only: int) -> np.ndarray:
    """Lines from every cell over background: to an obstacle or, if `connect`, only to a cell of the same colour.

    `through`: over obstacles, leaving them, to the border. `only`: the colour that draws; -1 for all.
    """
    rows, columns = grid.shape
    out = grid.copy()
    for r in range(rows):
        for c in range(columns):
            colour = grid[r, c]
            if colour == ground or (only >= 0 and colour != only):
                continue
            for k in range(len(steps)):
                y, x = r + steps[k, 0], c + steps[k, 1]
                while 0 <= y < rows and 0 <= x < columns and (grid[y, x] == ground or (through and not connect)):
                    y += steps[k, 0]
                    x += steps[k, 1]
                inside = 0 <= y < rows and 0 <= x < columns
                if connect and not (inside and grid[y, x] == colour):
                    continue
                y, x = r + steps[k, 0], c + steps[k, 1]
                while 0 <= y < rows and 0 <= x < columns and (grid[y, x] == ground or (through and not connect)):
                    if out[y, x] == ground:
                        out[y, x] = colour
                    y += steps[k, 0]
                    x += steps[k, 1]
    return out


def connect(grid: Grid, direction: str) -> Grid:
    """Join cells of one colour by lines over the background between them."""
    return _draw(grid, background(grid), np.array(RAYS[direction]), False, True, -1)


def rays(grid: Grid, direction: str) -> Grid:
    """Draw a line from every cell over background until something is in the way."""
    return _draw(grid, background(grid), np.array(RAYS[direction]), False, False, -1)


def lines_through(grid: Grid, direction: str) -> Grid:
    """Draw a line from every cell to the border, behind what is in the way."""
    return _draw(grid, background(grid), np.array(RAYS[direction]), True, False, -1)


def rays_of_colour(grid: Grid, direction: str, rank: int) -> Grid | None:
    """Draw lines from the cells of the commonest (0) or rarest (-1) colour until something is in the way."""
    colours = ranked_colours(grid)
    if not -len(colours) <= rank < len(colours):
        return None
    return _draw(grid, background(grid), np.array(RAYS[direction]), False, False, colours[rank])


def _neighbours(grid: Grid, corners: bool) -> list[np.ndarray]:
    """The grid shifted by one in each direction, NOTHING outside."""
    rows, columns = grid.shape
    wide = np.pad(grid, 1, constant_values=NOTHING)
    steps = [(0, 1), (1, 0), (1, 2), (2, 1)] + ([(0, 0), (0, 2), (2, 0), (2, 2)] if corners else [])
    return [wide[r : r + rows, c : c + columns] for r, c in steps]


def grow(grid: Grid, corners: bool) -> Grid:
    """Paint background beside a cell in the cell's colour, once."""
    ground = background(grid)
    out = grid.copy()
    for near in _neighbours(grid, corners):
        out = np.where((out == ground) & (near != ground) & (near != NOTHING), near, out)
    return out


def outline(grid: Grid, corners: bool, rank: int) -> Grid | None:
    """Paint background beside content in the rarest (-1) or commonest (0) colour, once."""
    ground, colours = background(grid), ranked_colours(grid)
    if not colours:
        return None
    near = np.zeros(grid.shape, bool)
    for other in _neighbours(grid, corners):
        near |= (other != ground) & (other != NOTHING)
    return np.where((grid == ground) & near, np.int8(colours[rank]), grid)


def hollow(grid: Grid) -> Grid:
    """Clear cells all four of whose neighbours at sides have their colour."""
    inner = np.ones(grid.shape, bool)
    for other in _neighbours(grid, False):
        inner &= other == grid
    return np.where(inner, np.int8(background(grid)), grid)


def border(grid: Grid, rank: int) -> Grid | None:
    """Paint the outermost cells in the commonest colour (0) or the rarest (-1)."""
    colours = ranked_colours(grid)
    if not colours:
        return None
    out = np.full_like(grid, colours[rank])
    out[1:-1, 1:-1] = grid[1:-1, 1:-1]
    return out


def remove_lonely(grid: Grid, corners: bool) -> Grid:
    """Clear cells that no neighbour shares the colour of."""
    company = np.zeros(grid.shape, bool)
    for other in _neighbours(grid, corners):
        company |= other == grid
    return np.where(company, grid, np.int8(background(grid)))


def paint_lonely_as_around(grid: Grid) -> Grid:
    """Paint cells that no neighbour shares the colour of as most of their neighbours are."""
    near = np.stack(_neighbours(grid, True))
    lonely = ~(near == grid).any(axis=0)
    tally = np.stack([(near == colour).sum(axis=0) for colour in range(10)])
    return np.where(lonely, tally.argmax(axis=0).astype(np.int8), grid)


def vote(grid: Grid) -> Grid:
    """Paint every cell as most of the nine cells around it are; a tie leaves it."""
    near = np.stack([grid, *_neighbours(grid, True)])
    tally = np.stack([(near == colour).sum(axis=0) for colour in range(10)])
    best = tally.max(axis=0)
    alone = (tally == best).sum(axis=0) == 1
    return np.where(alone, tally.argmax(axis=0).astype(np.int8), grid)


def turned(grid: Grid, axis: str) -> Grid | None:
    """The grid about an axis of symmetry; None where the axis needs a square."""
    if axis in ("diagonal", "anti_diagonal", "quarter") and grid.shape[0] != grid.shape[1]:
        return None
    return {
        "left_right": lambda: grid[:, ::-1],
        "up_down": lambda: grid[::-1],
        "point": lambda: grid[::-1, ::-1],
        "diagonal": lambda: grid.T,
        "anti_diagonal": lambda: grid[::-1, ::-1].T,
        "quarter": lambda: np.rot90(grid),
    }[axis]()


AXES = ("left_right", "up_down", "point", "diagonal", "anti_diagonal", "quarter")


def complete(grid: Grid, axis: str) -> Grid | None:
    """Fill background with what lies opposite about an axis through the grid's centre."""
    ground = background(grid)
    out = grid
    for _ in range(3 if axis == "quarter" else 1):
        opposite = turned(out, axis)
        if opposite is None:
            return None
        out = np.where(out == ground, opposite, out)
    return out


def complete_content(grid: Grid, axis: str) -> Grid | None:
    """Fill background with what lies opposite about an axis through the centre of the content's box."""
    content = grid != background(grid)
    rows, columns = np.flatnonzero(content.any(axis=1)), np.flatnonzero(content.any(axis=0))
    if not len(rows):
        return None
    box = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    part = complete(grid[box], axis)
    if part is None:
        return None
    out = grid.copy()
    out[box] = part
    return out


@compiled()
def _repair_mirrored(grid: np.ndarray, hidden: int) -> np.ndarray:
    """Replace `hidden` cells by mirrored ones, about the axes near the centre that contradict nothing."""
    rows, columns = grid.shape
    out = grid.copy()
    for kind in range(3):
        size = rows if kind == 0 else columns
        if kind == 2 and rows != columns:
            continue
        found = -1
        low, high = (size - 1 - size // 3, size - 1 + size // 3 + 1) if kind < 2 else (0, 1)
        best = 0
        for total in range(low, high):
            same, wrong = 0, 0
            for r in range(rows):
                for c in range(columns):
                    y = total - r if kind == 0 else (c if kind == 2 else r)
                    x = total - c if kind == 1 else (r if kind == 2 else c)
                    if 0 <= y < rows and 0 <= x < columns and grid[r, c] != hidden and grid[y, x] != hidden:
                        if grid[r, c] == grid[y, x]:
                            same += 1
                        else:
                            wrong += 1
            if wrong == 0 and same > best:
                best, found = same, total
        if found < 0 or best * 3 < rows * columns:
            continue
        for r in range(rows):
            for c in range(columns):
                if out[r, c] == hidden:
                    y = found - r if kind == 0 else (c if kind == 2 else r)
                    x = found - c if kind == 1 else (r if kind == 2 else c)
                    if 0 <= y < rows and 0 <= x < columns and out[y, x] != hidden:
                        out[r, c] = out[y, x]
    return out


def repair_symmetry(grid: Grid, hidden: int) -> Grid | None:
    """Replace cells of a colour by what lies opposite, about all axes that the rest agrees with."""
    if not (grid == hidden).any():
        return None
    out = _repair_mirrored(grid, hidden)
    return _repair_mirrored(out, hidden) if (out == hidden).any() else out


@compiled()
def _period(grid: np.ndarray, hidden: int, diagonal: bool) -> np.ndarray:
    """The smallest period (down, across) that nothing but `hidden` contradicts; (0, 0) where there is none.

    With `diagonal` the pattern is shifted: cell (r, c) depends on r + across * c, or on r and c's sum, alone.
    """
    rows, columns = grid.shape
    value = np.full((2 * rows + 2 * columns, columns + 1), hidden, np.int16)
    for total in range(2, rows + columns + 1):
        for down in range(max(1, total - columns), min(rows, total - 1) + 1):
            across = total - down
            if down * across * 2 > rows * columns:
                continue
            value[:] = hidden
            right, seen = True, 0
            for r in range(rows):
                for c in range(columns):
                    if grid[r, c] == hidden:
                        continue
                    i, j = r % down, c % across
                    if diagonal:
                        i, j = (r + c * (across - 1)) % down, 0
                    if value[i, j] == hidden:
                        value[i, j] = grid[r, c]
                        seen += 1
                    elif value[i, j] != grid[r, c]:
                        right = False
                        break
                if not right:
                    break
            if right and seen == (down if diagonal else down * across):
                return np.array([down, across])
    return np.array([0, 0])


def continue_pattern(grid: Grid, hidden: int) -> Grid | None:
    """Replace cells of a colour by the pattern that repeats down and across."""
    if not (grid == hidden).any() or (grid == hidden).all():
        return None
    down, across = _period(grid, hidden, False)
    if not down:
        return None
    out = grid.copy()
    for i in range(down):
        for j in range(across):
            cells = grid[i::down, j::across]
            out[i::down, j::across] = cells[cells != hidden][0]
    return out


def continue_diagonals(grid: Grid, hidden: int) -> Grid | None:
    """Replace cells of a colour by the pattern that repeats along the diagonals."""
    if not (grid == hidden).any() or (grid == hidden).all():
        return None
    down, across = _period(grid, hidden, True)
    if not down:
        return None
    rows, columns = np.indices(grid.shape)
    phase = (rows + columns * (across - 1)) % down
    out = grid.copy()
    for i in range(down):
        cells = grid[phase == i]
        out[phase == i] = cells[cells != hidden][0]
    return out


def continue_lines(grid: Grid, direction: str) -> Grid | None:
    """Continue what repeats in each row (right) or column (down) into the background after it."""
    ground = background(grid)
    lines = grid if direction == "right" else grid.T
    out = lines.copy()
    for line in out:
        content = np.flatnonzero(line != ground)
        if not len(content):
            continue
        start, end = int(content[0]), int(content[-1]) + 1
        known = line[start:end]
        period = next(p for p in range(1, len(known) + 1) if (known[p:] == known[:-p]).all() or p == len(known))
        if period == len(known) and period > 1:
            continue
        line[start:] = np.resize(known[:period], len(line) - start)
    return out if direction == "right" else out.T


def continue_background(grid: Grid) -> Grid | None:
    """Replace the background by the pattern that repeats down and across in the rest."""
    return continue_pattern(grid, background(grid))


def fill_between(grid: Grid) -> Grid:
    """Fill background shut in between content on the left and right, or above and below, in that colour if equal."""
    straight = connect(grid, "rows")
    return np.where(straight != grid, straight, connect(grid, "columns"))


def spread_rows(grid: Grid) -> Grid:
    """Paint the background of every row that has one colour in that colour."""
    return _spread(grid)


def spread_columns(grid: Grid) -> Grid:
    """Paint the background of every column that has one colour in that colour."""
    return _spread(grid.T).T


def _spread(grid: Grid) -> Grid:
    ground = background(grid)
    out = grid.copy()
    for line in out:
        colours = np.unique(line[line != ground])
        if len(colours) == 1:
            line[:] = colours[0]
    return out


def full_lines_only(grid: Grid) -> Grid:
    """Keep rows and columns that are all of one colour, clear the rest."""
    rows = (grid == grid[:, :1]).all(axis=1)
    columns = (grid == grid[:1]).all(axis=0)
    return np.where(rows[:, None] | columns, grid, np.int8(background(grid)))


def without_full_lines(grid: Grid) -> Grid:
    """Clear rows and columns that are all of one colour."""
    rows = (grid == grid[:, :1]).all(axis=1)
    columns = (grid == grid[:1]).all(axis=0)
    return np.where(rows[:, None] | columns, np.int8(background(grid)), grid)


def fill_rooms_by_size(grid: Grid, largest: bool) -> Grid | None:
    """Paint the largest or smallest region of background in the commonest colour."""
    ground, colours = background(grid), ranked_colours(grid)
    labels, number = label((grid == ground).astype(np.int8), 0, False, True)
    if number < 2:
        return None
    area = np.bincount(labels.ravel(), minlength=number + 1)[1:]
    best = area == (area.max() if largest else area.min())
    if best.all():
        return None
    return np.where(np.concatenate(([False], best))[labels], np.int8(colours[0]), grid)


RANKS = (0, 1, -1)

OPERATIONS: list[Operation] = [
    *variants(keep_ranked_colour, RANKS),
    *variants(remove_ranked_colour, RANKS),
    *variants(keep_colour, range(1, 10)),
    *variants(remove_colour, range(1, 10)),
    *(Operation(f) for f in (swap_two_colours, rotate_colours, invert)),
    *variants(paint_content, (0, -1)),
    *variants(paint_all, (0, 1, -1)),
    *variants(fill_enclosed, (0, -1)),
    *variants(fill_open, (0, -1)),
    *variants(flood_from_cells, (0, -1)),
    *variants(connect, ("rows", "columns", "straight", "diagonals")),
    *variants(rays, RAYS),
    *variants(lines_through, ("rows", "columns", "straight", "diagonals")),
    *variants(rays_of_colour, ("up", "down", "left", "right", "straight", "diagonals"), (0, -1)),
    *variants(grow, (False, True)),
    *variants(outline, (False, True), (0, -1)),
    Operation(hollow),
    *variants(border, (0, -1)),
    *variants(remove_lonely, (False, True)),
    *(Operation(f) for f in (paint_lonely_as_around, vote)),
    *variants(complete, AXES),
    *variants(complete_content, AXES),
    *variants(repair_symmetry, range(10)),
    *variants(continue_pattern, range(10)),
    Operation(continue_background),
    *variants(continue_diagonals, (0, 8)),
    *variants(continue_lines, ("right", "down")),
    *(Operation(f) for f in (fill_between, spread_rows, spread_columns, full_lines_only, without_full_lines)),
    *variants(fill_rooms_by_size, (True, False)),
]
"""In the order in which a search without a policy tries them."""

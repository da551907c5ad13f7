"""Operations that turn, cut, scale and repeat a grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from env.arc.grids import background, counts, find_objects, find_panels, ranked_colours
from env.arc.operation import Operation, variants
from env.arc.tasks import LARGEST_SIDE, Grid


def flip_left_right(grid: Grid) -> Grid:
    """Mirror left to right."""
    return grid[:, ::-1]


def flip_up_down(grid: Grid) -> Grid:
    """Mirror top to bottom."""
    return grid[::-1]


def transpose(grid: Grid) -> Grid:
    """Mirror about the diagonal from the top left."""
    return grid.T


def anti_transpose(grid: Grid) -> Grid:
    """Mirror about the diagonal from the top right."""
    return grid[::-1, ::-1].T


def rotate(grid: Grid, quarters: int) -> Grid:
    """Turn counterclockwise by so many quarters."""
    return np.rot90(grid, quarters)


def crop_to_content(grid: Grid) -> Grid | None:
    """Cut to the box of all that is not background."""
    return _crop(grid, grid != background(grid))


def crop_to_colour(grid: Grid, colour: int) -> Grid | None:
    """Cut to the box of a colour."""
    return _crop(grid, grid == colour)


def crop_to_ranked_colour(grid: Grid, rank: int) -> Grid | None:
    """Cut to the box of the commonest colour (0), the next (1), the rarest (-1), without background."""
    colours = ranked_colours(grid)
    return _crop(grid, grid == colours[rank]) if -len(colours) <= rank < len(colours) else None


def trim(grid: Grid) -> Grid | None:
    """Take one cell off at every side."""
    return grid[1:-1, 1:-1] if min(grid.shape) > 2 else None


def pad(grid: Grid) -> Grid:
    """Put one cell of background around."""
    return np.pad(grid, 1, constant_values=background(grid))


def frame_with_edge(grid: Grid) -> Grid:
    """Repeat the outermost cells once around."""
    return np.pad(grid, 1, mode="edge")


def half(grid: Grid, side: str) -> Grid | None:
    """Keep one half; a middle line belongs to none."""
    return _part(grid, side, 2)


def third(grid: Grid, side: str) -> Grid | None:
    """Keep the third at one side."""
    return _part(grid, side, 3)


def _part(grid: Grid, side: str, number: int) -> Grid | None:
    rows, columns = (n // number for n in grid.shape)
    if (rows if side in ("top", "bottom") else columns) == 0:
        return None
    cuts = {"top": grid[:rows], "bottom": grid[-rows:], "left": grid[:, :columns], "right": grid[:, -columns:]}
    return cuts[side]


def quarter(grid: Grid, side: str) -> Grid | None:
    """Keep the quarter at one corner."""
    vertical, horizontal = side.split("_")
    kept = half(grid, vertical)
    return None if kept is None else half(kept, horizontal)


def square_part(grid: Grid) -> Grid | None:
    """Cut the longer side to a square at the top left."""
    side = min(grid.shape)
    return grid[:side, :side] if grid.shape[0] != grid.shape[1] else None


def drop_background_lines(grid: Grid) -> Grid | None:
    """Leave out rows and columns that are all background."""
    content = grid != background(grid)
    rows, columns = content.any(axis=1), content.any(axis=0)
    return grid[rows][:, columns] if rows.any() else None


def drop_uniform_lines(grid: Grid) -> Grid | None:
    """Leave out rows and columns of one colour."""
    rows = (grid != grid[:, :1]).any(axis=1)
    columns = (grid != grid[:1]).any(axis=0)
    return grid[rows][:, columns] if rows.any() and columns.any() else None


def drop_repeated_lines(grid: Grid) -> Grid:
    """Leave out rows and columns that equal the one before."""
    rows = np.concatenate(([True], (grid[1:] != grid[:-1]).any(axis=1)))
    grid = grid[rows]
    columns = np.concatenate(([True], (grid[:, 1:] != grid[:, :-1]).any(axis=0)))
    return grid[:, columns]


def drop_known_lines(grid: Grid) -> Grid:
    """Leave out rows and columns that came before anywhere."""
    rows = np.sort(np.unique(grid, axis=0, return_index=True)[1])
    grid = grid[rows]
    columns = np.sort(np.unique(grid, axis=1, return_index=True)[1])
    return grid[:, columns]


def tile_unit(grid: Grid) -> Grid | None:
    """Keep the smallest tile that the grid repeats."""
    rows, columns = grid.shape
    down = next(p for p in range(1, rows + 1) if (grid[p:] == grid[:-p]).all() or p == rows)
    across = next(p for p in range(1, columns + 1) if (grid[:, p:] == grid[:, :-p]).all() or p == columns)
    return grid[:down, :across] if (down, across) != grid.shape else None


def scale(grid: Grid, down: int, across: int) -> Grid | None:
    """Make every cell a block."""
    return _scaled(grid, down, across)


def scale_by_colours(grid: Grid) -> Grid | None:
    """Make every cell a square block whose side is the number of colours without background."""
    side = len(ranked_colours(grid))
    return _scaled(grid, side, side) if side > 1 else None


def scale_by_cells(grid: Grid) -> Grid | None:
    """Make every cell a square block whose side is the number of cells that are not background."""
    side = int(grid.size - counts(grid)[background(grid)])
    return _scaled(grid, side, side) if side > 1 else None


def scale_by_own_size(grid: Grid) -> Grid | None:
    """Make every cell a block of the grid's own size."""
    return _scaled(grid, *grid.shape)


def _scaled(grid: Grid, down: int, across: int) -> Grid | None:
    if grid.shape[0] * down > LARGEST_SIDE or grid.shape[1] * across > LARGEST_SIDE:
        return None
    return np.repeat(np.repeat(grid, down, axis=0), across, axis=1)


def tile(grid: Grid, down: int, across: int) -> Grid | None:
    """Repeat the grid."""
    if grid.shape[0] * down > LARGEST_SIDE or grid.shape[1] * across > LARGEST_SIDE:
        return None
    return np.tile(grid, (down, across))


def tile_by_colours(grid: Grid) -> Grid | None:
    """Repeat the grid down and across as often as it has colours without background."""
    number = len(ranked_colours(grid))
    return tile(grid, number, number) if number > 1 else None


def tile_by_own_size(grid: Grid) -> Grid | None:
    """Repeat the grid down and across as often as it has rows and columns."""
    return tile(grid, *grid.shape)


def tile_on_content(grid: Grid) -> Grid | None:
    """Put a copy of the grid wherever it is not background."""
    return _on(grid, grid != background(grid))


def tile_on_background(grid: Grid) -> Grid | None:
    """Put a copy of the grid wherever it is background."""
    return _on(grid, grid == background(grid))


def tile_on_commonest(grid: Grid) -> Grid | None:
    """Put a copy of the grid wherever it has its commonest colour, background or not."""
    return _on(grid, grid == counts(grid).argmax())


def tile_on_rarest(grid: Grid) -> Grid | None:
    """Put a copy of the grid wherever it has its rarest colour."""
    colours = ranked_colours(grid)
    return _on(grid, grid == colours[-1]) if colours else None


def _on(grid: Grid, where: np.ndarray) -> Grid | None:
    if grid.shape[0] ** 2 > LARGEST_SIDE or grid.shape[1] ** 2 > LARGEST_SIDE:
        return None
    content = np.kron(where, np.ones(grid.shape, np.int8)).astype(bool)
    return np.where(content, np.tile(grid, grid.shape), np.int8(background(grid)))


def mirror_tile(grid: Grid, side: str) -> Grid | None:
    """Put the mirrored grid at one side."""
    rows, columns = grid.shape
    if (2 * rows if side in ("top", "bottom") else 2 * columns) > LARGEST_SIDE:
        return None
    if side in ("top", "bottom"):
        return np.concatenate((grid, grid[::-1]) if side == "bottom" else (grid[::-1], grid))
    return np.concatenate((grid, grid[:, ::-1]) if side == "right" else (grid[:, ::-1], grid), axis=1)


def mirror_tile_four(grid: Grid, first: str) -> Grid | None:
    """Four mirrored copies; the corner where the grid itself goes is named."""
    vertical, horizontal = first.split("_")
    two = mirror_tile(grid, "right" if horizontal == "left" else "left")
    return None if two is None else mirror_tile(two, "bottom" if vertical == "top" else "top")


def turn_tile_four(grid: Grid, quarters: int) -> Grid | None:
    """Four copies, each turned by so many quarters more than the one before, clockwise from the top left."""
    rows, columns = grid.shape
    if rows != columns or 2 * rows > LARGEST_SIDE:
        return None
    one, two, three = (np.rot90(grid, quarters * k) for k in (1, 2, 3))
    return np.block([[grid, one], [three, two]])


def flip_tile_three(grid: Grid) -> Grid | None:
    """Three by three copies, every second row of them mirrored left to right."""
    if 3 * max(grid.shape) > LARGEST_SIDE:
        return None
    row = np.tile(grid, (1, 3))
    return np.concatenate((row, row[:, ::-1], row))


def checker_tile(grid: Grid) -> Grid | None:
    """Two by two copies, every second one turned upside down."""
    if 2 * max(grid.shape) > LARGEST_SIDE:
        return None
    return np.block([[grid, grid[::-1]], [grid[::-1], grid]])


def roll(grid: Grid, down: int, across: int) -> Grid:
    """Shift by cells; what leaves at one side comes in at the other."""
    return np.roll(grid, (down, across), axis=(0, 1))


def shift(grid: Grid, down: int, across: int) -> Grid:
    """Shift by cells; background comes in."""
    out = np.full_like(grid, background(grid))
    rows, columns = grid.shape
    out[max(down, 0) : rows + min(down, 0), max(across, 0) : columns + min(across, 0)] = grid[
        max(-down, 0) : rows + min(-down, 0), max(-across, 0) : columns + min(-across, 0)
    ]
    return out


def panel(grid: Grid, which: str) -> Grid | None:
    """Keep one of the equal parts between lines: by what it holds, or the one that differs."""
    panels, _ = find_panels(grid)
    if len(panels) < 2:
        return None
    ground = background(grid)
    if which in ("first", "last"):
        return panels[0 if which == "first" else -1]
    alike = Counter(p.tobytes() for p in panels)
    alike_in_shape = Counter((p != ground).tobytes() for p in panels)
    key: Callable[[Grid], int] = {
        "fullest": lambda p: int((p != ground).sum()),
        "emptiest": lambda p: -int((p != ground).sum()),
        "most_colours": lambda p: len(np.unique(p)),
        "fewest_colours": lambda p: -len(np.unique(p)),
        "most_objects": lambda p: len(find_objects(p)),
        "symmetric": lambda p: int((p == p[:, ::-1]).all()) + int((p == p[::-1]).all()),
        "asymmetric": lambda p: -int((p == p[:, ::-1]).all()) - int((p == p[::-1]).all()),
        "commonest": lambda p: alike[p.tobytes()],
        "odd_one_out": lambda p: -alike[p.tobytes()],
        "odd_shape": lambda p: -alike_in_shape[(p != ground).tobytes()],
    }[which]
    keys = [key(p) for p in panels]
    most = max(keys)
    best = {p.tobytes(): p for p, k in zip(panels, keys, strict=True) if k == most}
    return next(iter(best.values())) if len(best) == 1 else None


PANELS: tuple[str, ...] = ("first", "last", "fullest", "emptiest", "most_colours", "fewest_colours", "most_objects")
PANELS += ("symmetric", "asymmetric", "commonest", "odd_one_out", "odd_shape")


def overlay_panels(grid: Grid, order: str) -> Grid | None:
    """Lay the equal parts over one another, the first or the last on top; background is clear."""
    panels, _ = find_panels(grid)
    if len(panels) < 2:
        return None
    ground = background(grid)
    out = np.full_like(panels[0], ground)
    for p in reversed(panels) if order == "first" else panels:
        out = np.where(p != ground, p, out)
    return out


def shrink_panels(grid: Grid, by: str) -> Grid | None:
    """One cell for every equal part: its commonest colour, or that where it has anything, is full, is fullest."""
    panels, (down, across) = find_panels(grid)
    if len(panels) < 2:
        return None
    ground = background(grid)
    cells = []
    most = max(int((p != ground).sum()) for p in panels)
    for p in panels:
        colours = ranked_colours(p) if (p == ground).any() else [int(counts(p).argmax())]
        colours = [c for c in colours if c != ground]
        full = int((p != ground).sum())
        shown = {"content": full > 0, "full": full == p.size, "fullest": full == most, "common": 2 * full >= p.size}[by]
        cells.append(colours[0] if shown and colours else ground)
    return np.array(cells, np.int8).reshape(down, across)


def repeat_to_square(grid: Grid) -> Grid | None:
    """Repeat the shorter side until the grid is a square."""
    rows, columns = grid.shape
    side = max(rows, columns)
    if rows == columns or side % min(rows, columns):
        return None
    return np.tile(grid, (side // rows, side // columns))


def _crop(grid: Grid, where: np.ndarray) -> Grid | None:
    rows, columns = np.flatnonzero(where.any(axis=1)), np.flatnonzero(where.any(axis=0))
    return grid[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] if len(rows) else None


SIDES = ("top", "bottom", "left", "right")
CORNERS = ("top_left", "top_right", "bottom_left", "bottom_right")
FACTORS = ((2, 2), (3, 3), (4, 4), (5, 5), (1, 2), (2, 1), (1, 3), (3, 1))

OPERATIONS: list[Operation] = [
    *(Operation(f) for f in (flip_left_right, flip_up_down, transpose, anti_transpose)),
    *variants(rotate, (1, 2, 3)),
    Operation(crop_to_content),
    *variants(crop_to_ranked_colour, (0, 1, -1)),
    *variants(crop_to_colour, range(1, 10)),
    *(Operation(f) for f in (trim, pad, frame_with_edge)),
    *variants(half, SIDES),
    *variants(third, SIDES),
    *variants(quarter, CORNERS),
    *(Operation(f) for f in (square_part, drop_background_lines, drop_uniform_lines, drop_repeated_lines)),
    *(Operation(f) for f in (drop_known_lines, tile_unit)),
    *(Operation(scale, factors) for factors in FACTORS),
    *(Operation(f) for f in (scale_by_colours, scale_by_cells, scale_by_own_size)),
    *(Operation(tile, factors) for factors in FACTORS),
    *(Operation(f) for f in (tile_by_colours, tile_by_own_size, tile_on_content, tile_on_background)),
    *(Operation(f) for f in (tile_on_commonest, tile_on_rarest)),
    *variants(mirror_tile, SIDES),
    *variants(mirror_tile_four, CORNERS),
    *variants(turn_tile_four, (1, 3)),
    *(Operation(f) for f in (flip_tile_three, checker_tile, repeat_to_square)),
    *(Operation(roll, by) for by in ((1, 0), (-1, 0), (0, 1), (0, -1))),
    *(Operation(shift, by) for by in ((1, 0), (-1, 0), (0, 1), (0, -1))),
    *variants(panel, PANELS),
    *variants(overlay_panels, ("first", "last")),
    *variants(shrink_panels, ("content", "full", "fullest", "common")),
]
"""In the order in which a search without a policy tries them."""

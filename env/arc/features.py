"""The observation of a solver: what differs between the current grids and the demonstrated outputs, as numbers."""

from __future__ import annotations

import numpy as np

from env.arc.grids import BY_COLOUR_CORNERS, TOUCHING, background, counts, enclosed, find_objects, find_panels
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
    pairs = np.array([_pair(g, w) for g, w in zip(state.grids, wanted, strict=False)], np.float32)
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


@compiled()
def _is_map(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether every colour becomes one colour."""
    table = np.full(10, -1, np.int64)
    for r in range(before.shape[0]):
        for c in range(before.shape[1]):
            if table[before[r, c]] == -1:
                table[before[r, c]] = after[r, c]
            elif table[before[r, c]] != after[r, c]:
                return False
    return True


def _pair(before: Grid, after: Grid) -> list[float]:
    """The numbers of `PAIR_FEATURES`."""
    (h, w), (y, x) = before.shape, after.shape
    same = before.shape == after.shape
    number, wanted = counts(before), counts(after)
    has, needs = number > 0, wanted > 0
    ground = background(before)
    content, shown = before != ground, after != ground
    pieces, pieces_after = find_objects(before, BY_COLOUR_CORNERS), find_objects(after, BY_COLOUR_CORNERS)
    objects, objects_after = find_objects(before, TOUCHING), find_objects(after, TOUCHING)
    panels, (down, across) = find_panels(before)
    content_rows, content_columns = content.any(axis=1), content.any(axis=0)
    box = (_span(content_rows), _span(content_columns))
    numbers: list[float] = [
        same, np.clip(np.log2(y / h) / 3, -1, 1), np.clip(np.log2(x / w) / 3, -1, 1), y == h, x == w,
        (y, x) == (w, h) and h != w, y > h and y % h == 0, x > w and x % w == 0, y < h and h % y == 0,
        x < w and w % x == 0, h == w, y == x, after.size == 1, min(y, x) == 1,
        before.size**0.5 / 30, after.size**0.5 / 30,
        bool((needs | ~has).all()), bool((has | ~needs).all()), (needs & ~has).sum() / 3, (has & ~needs).sum() / 3,
        has.sum() / 10, needs.sum() / 10, bool((number == wanted).all()),
        bool((np.sort(number) == np.sort(wanted)).all()), bool((number * after.size == wanted * before.size).all()),
        number[ground] / before.size, wanted[ground] / after.size,
    ]  # fmt: skip
    if same:
        changed = before != after
        new = np.unique(after[changed])
        numbers += [
            1 - float(changed.mean()), _share(changed, ~content), _share(changed, content),
            not (changed & content).any(), not (changed & ~content).any(), bool((content == shown).all()),
            _is_map(before, after), len(new) == 1, float(changed.mean()) < 0.1,
            bool((np.sort(before, axis=1) == np.sort(after, axis=1)).all()),
            bool((np.sort(before, axis=0) == np.sort(after, axis=0)).all()),
        ]  # fmt: skip
    else:
        numbers += [0.0] * 11
    numbers += [
        bool((before == before[:, ::-1]).all()), bool((before == before[::-1]).all()),
        bool((after == after[:, ::-1]).all()), bool((after == after[::-1]).all()),
        y == x and bool((after == after.T).all()),
        not same and y <= h and x <= w and bool(_holds(before, after)),
        not same and y >= h and x >= w and bool(_holds(after, before)),
        box == (y, x),
        len(pieces) / 20, len(pieces_after) / 20, len(objects) / 20, len(objects_after) / 20,
        len(objects) == len(objects_after),
        bool(((objects.height == y) & (objects.width == x)).any()),
        len(panels) / 20, bool(panels) and panels[0].shape == after.shape, (down, across) == (y, x),
        float(enclosed(content).mean()), float(enclosed(shown).mean()), needs.sum() == 1,
        bool((before == before[:, :1]).all(axis=1).any() or (before == before[:1]).all(axis=0).any()),
        bool((after == after[:, :1]).all(axis=1).any() or (after == after[:1]).all(axis=0).any()),
    ]  # fmt: skip
    return [min(float(n), 1.0) for n in numbers]


def _span(line: np.ndarray) -> int:
    """From the first to the last that is true."""
    places = np.flatnonzero(line)
    return int(places[-1] - places[0] + 1) if len(places) else 0


def _share(changed: np.ndarray, among: np.ndarray) -> float:
    return float(changed[among].mean()) if among.any() else 0.0

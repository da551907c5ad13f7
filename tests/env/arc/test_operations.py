"""Every operation on any grid keeps the rules of grids, and does what its line says on a small example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env.arc import operations_geometry as geometry
from env.arc.grids import background, find_objects, find_panels
from env.arc.operation import Operation
from env.arc.operations import BY_NAME, OPERATIONS
from env.arc.tasks import LARGEST_SIDE, Grid, make_grid


def grid(text: str) -> Grid:
    """A grid from rows of digits; a dot is 0."""
    return make_grid([[int(c) for c in row.replace(".", "0")] for row in text.split("/")])


def drawn(text: Grid | None) -> str | None:
    return None if text is None else "/".join("".join(map(str, row)) for row in text.tolist()).replace("0", ".")


# Function with arguments, a grid, and what becomes of it; None where the operation does not apply.
EXAMPLES = """
flip_left_right | 12/34 | 21/43
flip_up_down | 12/34 | 34/12
transpose | 12/34 | 13/24
anti_transpose | 12/34 | 42/31
rotate(1) | 12/34 | 24/13
rotate(3) | 12/34 | 31/42
crop_to_content | .../.12/... | 12
crop_to_content | .. | None
crop_to_ranked_colour(0) | .1.1/..2. | 1.1
crop_to_ranked_colour(1) | .1.1/..2. | 2
crop_to_colour(2) | 2.1/..2 | 2.1/..2
crop_to_colour(3) | 2.1 | None
trim | 123/456/789 | 5
trim | 12/34 | None
pad | 1. | ..../.1../....
frame_with_edge | 1 | 111/111/111
half(left) | 123 | 1
half(bottom) | 1/2/3/4 | 3/4
third(right) | 123456 | 56
quarter(bottom_right) | 12/34 | 4
square_part | 123/456 | 12/45
drop_background_lines | 1.2/.../3.4 | 12/34
drop_uniform_lines | 1.2/555/3.4 | 1.2/3.4
drop_repeated_lines | 112/112/113 | 12/13
drop_known_lines | 12/34/12 | 12/34
tile_unit | 1212/3434 | 12/34
tile_unit | 12 | None
scale(2, 2) | 12 | 1122/1122
scale_by_colours | 12. | 1122../1122..
scale_by_cells | 1.1 | 11..11/11..11
scale_by_own_size | 1. | 11..
tile(1, 2) | 12 | 1212
tile_by_colours | 12. | 12.12./12.12.
tile_by_own_size | 12 | 1212
tile_on_content | 1./11 | 1.../11../1.1./1111
tile_on_background | 1. | ..1.
tile_on_commonest | 11. | 11.11....
tile_on_rarest | 112. | ........112.....
mirror_tile(right) | 12 | 1221
mirror_tile(top) | 1/2 | 2/1/1/2
mirror_tile_four(top_left) | 12 | 1221/1221
mirror_tile_four(bottom_right) | 12/34 | 4334/2112/2112/4334
turn_tile_four(1) | 12/34 | 1224/3413/3143/4221
turn_tile_four(3) | 12 | None
flip_tile_three | 12 | 121212/212121/121212
checker_tile | 1/2 | 12/21/21/12
repeat_to_square | 12 | 12/12
roll(0, 1) | 123 | 312
shift(0, 1) | 12. | .12
panel(fullest) | 1.5../..511 | ../11
panel(first) | 123 | 1
overlay_panels(first) | 1.52./.353. | 1./33
overlay_panels(last) | 1152. | 21
shrink_panels(content) | 1.5../.15.. | 1.
crop_object(touching, area, True) | 11../...2 | 11
crop_object(touching, area, False) | 11../...2 | 2
crop_only_object(colour_corners, area, True) | 111/1.2/111 | 111/1../111
crop_first_object(touching) | .1../..../..22 | 1
keep_objects(touching, box_colours, True) | 12.33 | 12...
remove_objects(touching, area, True) | 11.2 | ...2
remove_small(touching, 1) | 11.2 | 11..
remove_at_border(colour, True) | 1.../..2./.... | ..../..2./....
remove_at_border(colour, False) | 1.../..2./.... | 1.../..../....
fill_holes_in_objects(colour) | 111/1.1/111 | 111/111/111
fill_boxes(touching) | 1../1../111 | 111/111/111
frame_boxes(touching) | .../.2./... | 222/222/222
recolour_objects(touching, commonest) | 112.3 | 111.3
recolour_objects(touching, rarest) | 112.3 | 222.3
recolour_objects(touching, first) | 122.3 | 111.3
change_objects(touching, left_right) | 12.3 | 21.3
change_objects(touching, up_down) | 1./2. | 2./1.
change_objects(touching, half_turn) | 12/3. | .3/21
change_objects(touching, turn) | 12/34 | 31/42
change_objects(touching, symmetric) | 1./1. | None
swap_object_colours(touching) | 112. | 221.
drop_objects(touching, down) | 11../.1../..../...2 | ..../..../11../.1.2
drop_cells(down) | 1./.2/.. | ../../12
drop_cells(left) | .1.2 | 12..
sort_lines(down) | 11/1. | 1./11
sort_lines(left) | .1/.1 | 1./1.
list_colours(cells, first, True) | 2211.2 | 21
list_colours(across, first, True) | 1.2.1 | 121
list_colours(each_object, first, False) | 11.2 | 1/2
bar_chart(cells) | 2.11/.2.2 | 222/11.
cells_in_a_row | 1./.2 | 12
only_colour(0) | 11.2 | 1
only_colour(-1) | 11.2 | 2
objects_as_square(touching) | 1.2 | 1./.2
stack_objects(touching, down) | 1../..2 | 1/2
stack_objects(touching, right) | 1../..2 | 12
overlay_objects(touching) | 1.../...2 | 1
crop_inside_frame(True) | 111./121./111. | 2
keep_ranked_colour(0) | 11.2 | 11..
remove_ranked_colour(0) | 11.2 | ...2
keep_colour(2) | 11.2 | ...2
remove_colour(2) | 11.2 | 11..
swap_two_colours | 1./.. | .1/11
rotate_colours | 112.3 | 223.1
paint_content(0) | 11.2 | 11.1
paint_all(0) | 11.2 | 1111
invert | 11.. | ..11
fill_enclosed(0) | 111/1.1/111 | 111/111/111
fill_open(0) | ..../.11./.11. | 1111/1111/1111
flood_from_cells(0) | 1.2. | 112.
connect(rows) | 1..1.2 | 1111.2
connect(diagonals) | 1../.../..1 | 1../.1./..1
rays(right) | 1..2. | 11122
lines_through(columns) | 1/./2/. | 1/1/2/1
rays_of_colour(right, 0) | .1.1. | .1111
grow(False) | .../.1./... | .1./111/.1.
grow(True) | .../.1./... | 111/111/111
outline(True, 0) | .../.1./... | 111/111/111
hollow | 111./111./111./.... | 111./1.1./111./....
border(0) | .../.1./... | 111/111/111
remove_lonely(True) | 11./..2 | 11./...
paint_lonely_as_around | 111/121/111 | 111/111/111
vote | 111/121/111 | 111/111/111
complete(left_right) | 1../..2 | 1.1/2.2
complete(quarter) | 1./.. | 11/11
complete_content(left_right) | 1.2./1... | 1.2./1.1.
repair_symmetry(5) | 1221/3543/3443/1221 | 1221/3443/3443/1221
continue_pattern(5) | 121212/212121/121512/212121 | 121212/212121/121212/212121
continue_background | 1212/2121/12../21.. | 1212/2121/1212/2121
continue_diagonals(0) | 123123/231231/3120../123... | 123123/231231/312312/123123
continue_lines(right) | 12.... | 12....
continue_lines(right) | 1212.. | 121212
fill_between | 1..1 | 1111
spread_rows | .1./... | 111/...
spread_columns | .1./... | .1./.1.
full_lines_only | 111/.2. | 111/...
without_full_lines | 222/1.3 | .../1.3
fill_rooms_by_size(True) | ..1. | 111.
"""


def examples() -> list[tuple[str, str, str]]:
    rows = [tuple(part.strip() for part in line.split("|")) for line in EXAMPLES.strip().splitlines()]
    return [(name, before, after) for name, before, after in rows]


@pytest.mark.parametrize(("name", "before", "after"), examples())
def test_an_operation_does_what_its_line_says(name: str, before: str, after: str) -> None:
    assert str(drawn(BY_NAME[name](grid(before)))) == after


def test_every_operation_has_an_example_and_a_line_of_its_own() -> None:
    shown = {BY_NAME[name].function for name, _, _ in examples()}
    functions = {operation.function for operation in OPERATIONS}
    assert not {f.__name__ for f in functions - shown}
    assert len(functions) >= 100
    lines = [(f.__doc__ or "").strip() for f in functions]
    assert len(set(lines)) == len(functions)
    assert all(line.endswith(".") and "\n" not in line and len(line) < 120 for line in lines)
    assert len(BY_NAME) == len(OPERATIONS)


@st.composite
def grids(draw: st.DrawFn, largest: int = 12) -> Grid:
    rows, columns = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    seed, empty = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from((0.0, 0.3, 0.7, 1.0)))
    colours = draw(st.lists(st.integers(0, 9), min_size=1, max_size=4))
    drawn_at = np.random.default_rng(seed)
    cells = drawn_at.choice(colours, (rows, columns))
    return make_grid(np.where(drawn_at.random((rows, columns)) < empty, colours[0], cells))


def check(operation: Operation, before: Grid) -> None:
    kept = before.copy()
    after = operation(before)
    assert np.array_equal(before, kept), f"{operation.name} writes to its input"
    if after is None:
        return
    assert after.dtype == np.int8, operation.name
    assert min(after.shape) >= 1, operation.name
    assert max(after.shape) <= LARGEST_SIDE, operation.name
    assert after.min() >= 0, operation.name
    assert after.max() <= 9, operation.name
    assert set(np.unique(after)) <= {*np.unique(before).tolist(), 0}, f"{operation.name} makes up a colour"
    assert np.array_equal(after, operation(before)), f"{operation.name} is not deterministic"


@settings(max_examples=25, deadline=None)
@given(grids())
def test_any_grid_stays_a_grid(before: Grid) -> None:
    for operation in OPERATIONS:
        check(operation, before)


@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (30, 1), (30, 30)])
@pytest.mark.parametrize("colours", [(0,), (3,), (0, 1), (0, 1, 2, 3)])
def test_the_smallest_and_largest_grids(shape: tuple[int, int], colours: tuple[int, ...]) -> None:
    before = make_grid(np.random.default_rng(1).choice(colours, shape))
    for operation in OPERATIONS:
        check(operation, before)


INVOLUTIONS = ("flip_left_right", "flip_up_down", "transpose", "anti_transpose", "rotate(2)", "swap_two_colours")
INVERSES = (("rotate(1)", "rotate(3)"), ("roll(1, 0)", "roll(-1, 0)"), ("pad", "trim"), ("frame_with_edge", "trim"))
REPEATABLE = (
    "crop_to_content",
    "drop_repeated_lines",
    "drop_known_lines",
    "drop_cells(down)",
    "drop_objects(touching, left)",
)
REPEATABLE += (
    "complete(left_right)",
    "complete(quarter)",
    "fill_enclosed(0)",
    "flood_from_cells(0)",
    "sort_lines(down)",
)
REPEATABLE += ("fill_holes_in_objects(colour)", "recolour_objects(touching, commonest)", "crop_to_ranked_colour(0)")


@settings(max_examples=50, deadline=None)
@given(grids())
def test_turning_twice_and_turning_back(before: Grid) -> None:
    for there, back in ((name, name) for name in INVOLUTIONS):
        once = BY_NAME[there](before)
        assert once is None or np.array_equal(BY_NAME[back](once), before), there  # type: ignore[arg-type]
    for there, back in INVERSES:
        once = BY_NAME[there](before)
        assert once is not None
        assert np.array_equal(BY_NAME[back](once), before), there  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(grids())
def test_what_is_settled_stays(before: Grid) -> None:
    for name in REPEATABLE:
        once = BY_NAME[name](before)
        if once is not None and background(once) == background(before):
            assert np.array_equal(BY_NAME[name](once), once), name  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(grids(), st.sampled_from(["down", "up", "left", "right"]))
def test_gravity_loses_no_cell(before: Grid, way: str) -> None:
    for name in (f"drop_cells({way})", f"drop_objects(touching, {way})", f"sort_lines({way})"):
        after = BY_NAME[name](before)
        assert after is not None
        assert np.array_equal(np.sort(after, axis=None), np.sort(before, axis=None)), name


@settings(max_examples=50, deadline=None)
@given(grids())
def test_objects_cover_all_but_the_background(before: Grid) -> None:
    objects = find_objects(before)
    assert np.array_equal(objects.labels > 0, before != background(before))
    assert int(objects.area.sum()) == int((before != background(before)).sum())
    for k in range(len(objects)):
        assert set(before[objects.box(k)][objects.mask(k)]) == {objects.colour[k]}


@settings(max_examples=50, deadline=None)
@given(grids())
def test_panels_are_equal_in_size(before: Grid) -> None:
    panels, (down, across) = find_panels(before)
    assert len(panels) == down * across
    assert len({p.shape for p in panels}) <= 1


def test_an_operation_says_no_where_the_result_would_not_be_a_grid() -> None:
    large = make_grid(np.ones((16, 16), int))
    assert BY_NAME["scale(2, 2)"](large) is None
    assert BY_NAME["tile(1, 2)"](large) is None
    assert Operation(geometry.mirror_tile, ("left",))(large) is None

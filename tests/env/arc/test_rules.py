"""Rules learned from demonstrations: what they paint, what they refuse, and that a program replays them."""

from __future__ import annotations

import numpy as np
import pytest

from env.arc.cells import NAMES, NOTHING, SOURCES, cells
from env.arc.operations import BY_NAME
from env.arc.programs import Program
from env.arc.tasks import Grid, Pair, Task, make_grid
from env.arc.world import ACTIONS, Painter, Puzzle, act, paint


def random_grid(seed: int, size: tuple[int, int] = (8, 9), colours: tuple[int, ...] = (0, 0, 0, 1, 2)) -> Grid:
    return make_grid(np.random.default_rng(seed).choice(colours, size))


def task_of(change: object, seeds: range = range(3)) -> Task:
    pairs = [Pair(g, make_grid(change(g))) for g in map(random_grid, seeds)]  # type: ignore[operator]
    return Task("made", tuple(pairs), (Pair(random_grid(99), make_grid(change(random_grid(99)))),), "")  # type: ignore[operator]


def test_planes_are_small_numbers_for_every_cell() -> None:
    for seed, size in enumerate([(1, 1), (1, 30), (30, 1), (30, 30), (7, 7)]):
        grid = random_grid(seed, size)
        values, colours = cells(grid)
        assert values.shape == (len(NAMES), grid.size)
        assert colours.shape == (len(SOURCES), grid.size)
        assert values.max() <= NOTHING
        assert set(np.unique(colours)) <= {*range(10), 255}
        assert np.array_equal(values[NAMES.index("colour")].reshape(size), grid)


def test_planes_of_a_small_grid() -> None:
    grid = make_grid([[1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 1, 2]])
    values, colours = cells(grid)
    plane = {name: values[i].reshape(grid.shape).tolist() for i, name in enumerate(NAMES)}
    source = {name: colours[i].reshape(grid.shape).tolist() for i, name in enumerate(SOURCES)}
    assert plane["enclosed"] == [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert plane["part_area"] == [[8, 8, 8, 0], [8, 0, 8, 0], [8, 8, 8, 1]]
    assert plane["part_holes"][0] == [2, 2, 2, 0]
    assert plane["from_right"][0] == [3, 2, 1, 0]
    assert plane["content_at_sides"][1] == [2, 4, 2, 2]
    assert plane["beside_left"][1] == [NOTHING, 1, 0, 1]
    assert source["seen_down"][0] == [1, 1, 1, 2]
    assert source["room_colour"][1][1] == 1
    assert source["mirrored_left_right"][1] == [0, 1, 0, 1]
    assert source["transposed"][0] == [255] * 4


def planes_by_name(cells_of: list[list[int]]) -> tuple[dict[str, list[list[int]]], dict[str, list[list[int]]]]:
    grid = make_grid(cells_of)
    values, colours = cells(grid)
    return (
        {name: values[i].reshape(grid.shape).tolist() for i, name in enumerate(NAMES)},
        {name: colours[i].reshape(grid.shape).tolist() for i, name in enumerate(SOURCES)},
    )


def test_planes_of_parts_between_lines() -> None:
    plane, source = planes_by_name([[1, 0, 5, 3, 2], [0, 0, 5, 0, 2]])
    assert plane["on_line"] == [[0, 0, 1, 0, 0]] * 2
    assert plane["panel_column"][0] == [0, 0, 0, 1, 1]
    assert plane["column_in_panel"][0] == [1, 2, 0, 1, 2]
    assert plane["panel_content"][1] == [1, 1, 0, 3, 3]
    assert plane["panel_fullest"][1] == [1, 1, 0, 2, 2]
    assert plane["panel_emptiest"][1] == [2, 2, 0, 1, 1]
    assert plane["panels_here"] == [[2, 1, 0, 2, 1], [0, 1, 0, 0, 1]]
    assert plane["panels_alike"][0] == [1, 1, 0, 1, 1]
    assert source["panel_colour"][1] == [1, 1, 5, 2, 2]
    assert source["fullest_panel"][0] == [3, 2, 5, 3, 2]
    assert source["first_panel"][0] == [1, 0, 5, 1, 0]
    assert source["laid_over_panels"][0] == [1, 2, 5, 1, 2]
    plane, source = planes_by_name([[1, 0, 2], [0, 3, 0]])
    assert not np.array(plane["panels_here"]).any()
    assert (np.array(source["first_panel"]) == 255).all()


def test_planes_of_twins_squares_and_mirrored_boxes() -> None:
    plane, source = planes_by_name([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 2, 2], [0, 0, 2, 0]])
    assert source["twin_colour"][0] == [2, 2, 0, 0]
    assert plane["twin_colour"][2] == [NOTHING, NOTHING, 1, 1]
    assert source["box_left_right"][1] == [0, 1, 0, 0]
    assert source["box_up_down"][0] == [1, 0, 0, 0]
    assert source["box_half_turned"][3] == [0, 0, 2, 2]
    assert plane["empty_square"] == [[0, 0, 2, 2], [0, 1, 2, 2], [2, 2, 0, 0], [2, 2, 0, 1]]
    assert plane["solid_square"][0] == [1, 1, 0, 0]
    assert plane["in_largest_empty_box"] == [[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a colour map", lambda g: np.array([0, 5, 7])[g]),
        (
            "what touches becomes 4",
            lambda g: np.where(cells(g)[0][NAMES.index("content_at_sides")].reshape(g.shape) >= 2, 4, g),
        ),
        ("every second column is the right neighbour", lambda g: np.where(np.arange(9) % 2 == 0, np.roll(g, -1, 1), g)),
    ],
)
def test_a_rule_is_found_and_holds_on_what_was_not_shown(name: str, change: object) -> None:
    task = task_of(change, range(5))
    found = paint(Puzzle.of(task).start, 2)
    assert found, name
    assert any(np.array_equal(state.outputs[0], task.test[0].answer) for state in found[:3]), name


def test_what_a_rule_paints_is_what_its_program_makes() -> None:
    task = task_of(lambda g: np.where(g > 0, 3, g))
    puzzle = Puzzle.of(task)
    for base in [puzzle.start, *act(puzzle.start, BY_NAME["flip_left_right"])]:
        for state in paint(base, 2, [puzzle.start] if base is not puzzle.start else []):
            assert state.solved
            assert state.program.explains(puzzle.inputs, puzzle.wanted)
            assert np.array_equal(state.program(puzzle.tests[0]), state.outputs[0])  # type: ignore[arg-type]


def test_noise_has_no_rule_of_one_feature() -> None:
    noise = iter(range(100, 110))
    task = task_of(lambda g: random_grid(next(noise)))
    assert paint(Puzzle.of(task).start, 1) == []


def test_a_case_that_was_not_shown_is_taken_as_the_nearest() -> None:
    task = task_of(lambda g: np.array([0, 5, 7])[g])
    rule = paint(Puzzle.of(task).start, 1)[0].rule
    assert rule is not None
    assert rule.nearest((9,)) == rule.table[max(rule.table)]


def test_painters_say_nothing_where_sizes_differ() -> None:
    pairs = (Pair(random_grid(0), random_grid(0, (3, 3))), Pair(random_grid(1), random_grid(1, (3, 3))))
    start = Puzzle.of(Task("made", pairs, (Pair(random_grid(2), None),), "")).start
    assert not start.fits
    assert all(act(start, action) == [] for action in ACTIONS if isinstance(action, Painter))


def test_a_program_says_none_where_a_step_does_not_apply() -> None:
    program = Program((BY_NAME["crop_to_colour(3)"],))
    assert program(random_grid(0)) is None
    assert not program.explains([random_grid(0)], [random_grid(0)])
    assert str(program) == "crop_to_colour(3)"


def test_a_step_that_changes_nothing_leads_nowhere() -> None:
    grid = make_grid([[1, 1], [1, 1]])
    start = Puzzle.of(Task("made", (Pair(grid, grid),), (Pair(grid, None),), "")).start
    assert act(start, BY_NAME["flip_left_right"]) == []

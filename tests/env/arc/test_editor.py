"""Claims about the editor: each tool's rule, its refusals in words, what undo brings back, and that states never change."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env.arc import editor
from env.arc.editor import Selection, State, start
from env.arc.tasks import Grid, make_grid, same

SIDES = st.one_of(st.sampled_from([1, 30]), st.integers(1, 8))


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    height, width, colours = draw(SIDES), draw(SIDES), draw(st.integers(1, 10))
    return make_grid(np.random.default_rng(draw(st.integers(0, 2**32 - 1))).integers(0, colours, (height, width)))


@st.composite
def selected(draw: st.DrawFn) -> State:
    """An editor with a grid and a rectangle selected on it."""
    state = on(draw(grids()))
    height, width = state.grid.shape
    rows = sorted(draw(st.tuples(st.integers(0, height - 1), st.integers(0, height - 1))))
    columns = sorted(draw(st.tuples(st.integers(0, width - 1), st.integers(0, width - 1))))
    return editor.select(state, "output", rows[0], columns[0], rows[1], columns[1])


def on(cells: Any, answer: Any = None, input: Any = ((5, 6), (7, 8))) -> State:
    """An editor whose output is `cells`."""
    return editor.put(start(make_grid(input), None if answer is None else make_grid(answer)), make_grid(cells))


def shown(state: State) -> list[list[int]]:
    assert state.message == ""
    return state.grid.tolist()


def refused(state: State, after: State) -> str:
    """The message of a step that changed nothing else."""
    assert same(after.grid, state.grid)
    assert (after.selection, after.undos, after.trials, after.status) == (
        state.selection,
        state.undos,
        state.trials,
        state.status,
    )
    assert after.message
    return after.message


ABC = [[1, 2, 3], [4, 5, 6]]


def test_a_new_output_is_three_by_three_zeros_with_all_trials_left() -> None:
    state = start(make_grid([[1]]))
    assert shown(state) == [[0] * 3] * 3
    assert (state.trials, state.undos, state.redos, state.status) == (0, 0, 0, "open")


def test_resizing_keeps_the_top_left_and_new_cells_are_zero() -> None:
    assert shown(editor.resize(on(ABC), 3, 2)) == [[1, 2], [4, 5], [0, 0]]
    assert shown(editor.resize(editor.resize(on(ABC), 1, 1), 2, 3)) == [[1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(("height", "width"), [(0, 3), (3, 0), (31, 1), (1, 31), (-1, 1)])
def test_a_size_that_no_grid_has_is_refused(height: int, width: int) -> None:
    message = refused(on(ABC), editor.resize(on(ABC), height, width))
    assert message == f"a grid has 1 to 30 rows and columns, not {height}x{width}"


def test_copying_the_input_and_resetting() -> None:
    assert shown(editor.copy_input(on(ABC))) == [[5, 6], [7, 8]]
    assert shown(editor.reset(on(ABC))) == [[0, 0, 0], [0, 0, 0]]


def test_painting_a_cell_and_a_stroke() -> None:
    assert shown(editor.paint(on(ABC), 1, 2, 9)) == [[1, 2, 3], [4, 5, 9]]
    state = on(np.zeros((3, 5), int))
    assert shown(editor.line(state, [(0, 0), (2, 4)], 1)) == [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]
    assert shown(editor.line(state, [(0, 0), (2, 0), (2, 2)], 1)) == [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 0, 0]]
    assert editor.line(state, [(0, 0), (2, 0), (2, 2)], 1).undos == state.undos + 1


@pytest.mark.parametrize("cell", [(2, 0), (0, 3), (-1, 0), (0, -1)])
def test_nothing_outside_the_grid_can_be_touched(cell: tuple[int, int]) -> None:
    state = on(ABC)
    words = f"row {cell[0]}, column {cell[1]} is outside: the output is 2x3"
    for after in (
        editor.paint(state, *cell, 1),
        editor.flood(state, *cell, 1),
        editor.line(state, [(0, 0), cell], 1),
        editor.select(state, "output", 0, 0, *cell),
        editor.select(state, "output", *cell, 0, 0),
        editor.pick(state, "output", *cell),
    ):
        assert refused(state, after) == words
    assert "the input is 2x2" in refused(state, editor.pick(state, "input", 0, 2))


def test_flooding_goes_side_by_side_and_not_around_corners() -> None:
    state = on([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    assert shown(editor.flood(state, 0, 0, 7)) == [[7, 7, 0], [0, 7, 0], [0, 0, 1]]
    assert shown(editor.flood(state, 0, 2, 7)) == [[1, 1, 7], [0, 1, 7], [0, 0, 1]]


@given(grids(), st.data())
def test_flooding_with_the_same_colour_does_nothing_at_all(grid: Grid, data: st.DataObject) -> None:
    state = on(grid)
    row, column = (data.draw(st.integers(0, side - 1)) for side in grid.shape)
    after = editor.flood(state, row, column, int(grid[row, column]))
    assert same(after.grid, grid)
    assert after.undos == state.undos


def test_a_colour_fills_the_selection_of_the_output_only() -> None:
    state = editor.select(on(ABC), "output", 1, 2, 0, 1)
    assert state.selection == Selection("output", 0, 1, 1, 2)
    assert shown(editor.fill(state, 0)) == [[1, 0, 0], [4, 0, 0]]
    for other in (on(ABC), editor.select(on(ABC), "input", 0, 0, 1, 1)):
        assert "nothing is selected on the output" in refused(other, editor.fill(other, 3))


def test_copy_and_paste_from_either_grid_clipped_with_zeros() -> None:
    state = editor.copy(editor.select(on(ABC), "input", 0, 0, 1, 1))
    pasted = editor.paste(editor.select(state, "output", 1, 1, 1, 1))
    assert shown(pasted) == [[1, 2, 3], [4, 5, 6]]  # the copied 5 and 6 over 5 and 6, the rest over the border
    state = editor.copy(editor.select(on([[0, 0], [0, 9]]), "output", 0, 0, 0, 1))
    assert shown(editor.paste(editor.select(state, "output", 1, 1, 1, 1))) == [[0, 0], [0, 0]]


def test_pasting_says_what_is_missing() -> None:
    state = on(ABC)
    assert "nothing was copied" in refused(state, editor.paste(state))
    state = editor.clip(state, make_grid([[1]]))
    assert "select the cell of the output" in refused(state, editor.paste(state))
    state = editor.select(state, "input", 0, 0, 0, 0)
    assert "select the cell of the output" in refused(state, editor.paste(state))
    state = editor.select(state, "output", 0, 0, 1, 1)
    assert "4 cells are selected" in refused(state, editor.paste(state))
    state = editor.deselect(state)
    assert "nothing is selected" in refused(state, editor.copy(state))
    assert "nothing is selected" in refused(state, editor.crop(state))


def test_cropping_makes_a_part_of_either_grid_the_output() -> None:
    assert shown(editor.crop(editor.select(on(ABC), "output", 0, 1, 1, 2))) == [[2, 3], [5, 6]]
    assert shown(editor.crop(editor.select(on(ABC), "input", 1, 0, 1, 1))) == [[7, 8]]


def test_flipping_and_turning_the_whole_output() -> None:
    assert shown(editor.flip(on(ABC), "horizontal")) == [[3, 2, 1], [6, 5, 4]]
    assert shown(editor.flip(on(ABC), "vertical")) == [[4, 5, 6], [1, 2, 3]]
    assert shown(editor.rotate(on(ABC), 1)) == [[4, 1], [5, 2], [6, 3]]
    whole = editor.rotate(editor.select(on(ABC), "output", 0, 0, 1, 2), 1)
    assert shown(whole) == [[4, 1], [5, 2], [6, 3]]
    assert whole.selection == Selection("output", 0, 0, 2, 1)


def test_turning_a_part_keeps_its_corner_and_loses_what_goes_over_the_border() -> None:
    state = editor.select(on(ABC), "output", 0, 0, 0, 2)
    after = editor.rotate(state, 1)
    assert shown(after) == [[1, 0, 0], [2, 5, 6]]
    assert after.selection == Selection("output", 0, 0, 1, 0)


def test_moving_leaves_zeros_and_loses_what_goes_over_the_border() -> None:
    state = editor.select(on(ABC), "output", 0, 1, 1, 2)
    after = editor.move(state, 1, -1)
    assert shown(after) == [[1, 0, 0], [2, 3, 0]]
    assert after.selection == Selection("output", 1, 0, 1, 1)
    assert shown(editor.move(on(ABC), 0, 1)) == [[0, 1, 2], [0, 4, 5]]
    assert shown(editor.move(on(ABC), -1, -2)) == [[6, 0, 0], [0, 0, 0]]
    for rows, columns in ((2, 0), (-2, 0), (0, 2), (0, -3)):
        assert "nothing of it would be left" in refused(state, editor.move(state, rows, columns))


@given(selected(), st.sampled_from(["horizontal", "vertical"]))
def test_flipping_twice_is_nothing(state: State, axis: Any) -> None:
    twice = editor.flip(editor.flip(state, axis), axis)
    assert same(twice.grid, state.grid)
    assert twice.selection == state.selection


@given(grids(), st.integers(1, 3))
def test_turns_add_up(grid: Grid, turns: int) -> None:
    once = on(grid)
    for _ in range(turns):
        once = editor.rotate(once, 1)
    assert same(once.grid, editor.rotate(on(grid), turns).grid)
    assert same(editor.rotate(once, 4 - turns).grid, grid)


@given(selected(), st.integers(-31, 31), st.integers(-31, 31))
def test_moving_keeps_the_size_and_adds_no_colour(state: State, rows: int, columns: int) -> None:
    after = editor.move(state, rows, columns)
    assert after.grid.shape == state.grid.shape
    assert after.message or after.grid.sum() <= state.grid.sum()
    if not after.message and after.selection is not None:
        assert after.selection.cells <= state.selection.cells  # type: ignore[union-attr]


@given(grids())
def test_picking_takes_the_colour_of_a_cell(grid: Grid) -> None:
    state = start(grid)
    row, column = grid.shape[0] - 1, grid.shape[1] - 1
    assert editor.pick(state, "input", row, column).colour == grid[row, column]
    assert editor.pick(editor.colour(state, 7), "output", 0, 0).colour == 0


# History

EDITS: Sequence[Any] = [
    lambda state: editor.resize(state, 4, 5),
    lambda state: editor.paint(state, 0, 0, 8),
    lambda state: editor.crop(editor.select(state, "output", 0, 0, 0, 0)),
    lambda state: editor.copy_input(state),
    lambda state: editor.rotate(state, 1),
    lambda state: editor.move(editor.select(state, "output", 0, 0, 0, 0), 0, 1),
    lambda state: editor.flood(state, 0, 0, 3),
    lambda state: editor.reset(state),
    lambda state: editor.flip(state, "vertical"),
]


@settings(max_examples=50)
@given(st.lists(st.sampled_from(EDITS), max_size=30))
def test_undo_goes_back_to_the_first_grid_and_redo_to_the_last(edits: list[Any]) -> None:
    first = state = start(make_grid([[1, 2], [3, 4], [5, 6]]))
    seen = [state.grid]
    for edit in edits:
        state = edit(state)
        if not same(state.grid, seen[-1]):
            seen.append(state.grid)
    last = state
    assert state.undos == len(seen) - 1
    for grid in reversed(seen[:-1]):
        state = editor.undo(state)
        assert same(state.grid, grid)
    assert refused(state, editor.undo(state)) == "nothing to undo"
    assert same(state.grid, first.grid)
    for grid in seen[1:]:
        state = editor.redo(state)
        assert same(state.grid, grid)
    assert refused(state, editor.redo(state)) == "nothing to redo"
    assert same(state.grid, last.grid)


def test_a_new_step_forgets_what_was_undone_and_a_step_without_effect_does_not() -> None:
    undone = editor.undo(editor.paint(on(ABC), 0, 0, 9))
    assert editor.paint(undone, 0, 0, 1).redos == 1
    assert editor.paint(undone, 0, 0, 2).redos == 0


def test_undo_brings_the_selection_back() -> None:
    state = editor.select(on(ABC), "output", 0, 1, 1, 2)
    assert editor.undo(editor.crop(state)).selection == state.selection
    assert editor.redo(editor.undo(editor.crop(state))).selection is None


def test_a_selection_that_does_not_fit_any_more_is_dropped() -> None:
    state = editor.select(on(ABC), "output", 0, 1, 1, 2)
    assert editor.resize(state, 2, 3).selection == state.selection
    assert editor.resize(state, 2, 2).selection is None
    chosen = editor.select(on(ABC), "input", 1, 1, 1, 1)
    assert editor.resize(chosen, 1, 1).selection == chosen.selection


def test_a_long_history_is_no_burden() -> None:
    state = on([[0]])
    for step in range(20_000):
        state = editor.paint(state, 0, 0, 1 + step % 2)
    assert state.undos == 20_001
    assert "20000" not in repr(state)[2000:]


# Trials


def test_only_the_exact_grid_is_right() -> None:
    answer = [[1, 2], [3, 4]]
    for wrong in ([[1, 2, 0], [3, 4, 0]], [[1, 2], [3, 4], [0, 0]], [[1, 2]], [[1, 2], [3, 5]]):
        assert editor.submit(on(wrong, answer)).status == "open"
    right = editor.submit(on(answer, answer))
    assert (right.status, right.trials, right.message) == ("right", 1, "right: the size and every cell")


def test_three_trials_and_the_input_is_closed() -> None:
    state = on([[1]], [[2]])
    messages = []
    for _ in range(3):
        state = editor.submit(state)
        messages.append(state.message)
    assert messages == ["not right; 2 trials are left", "not right; 1 trial is left", "not right; no trial is left"]
    assert state.status == "closed"
    assert "closed" in refused(state, editor.submit(editor.paint(state, 0, 0, 2)))


def test_an_input_without_an_answer_counts_its_trials_unjudged() -> None:
    state = editor.submit(on([[1]]))
    assert (state.status, state.trials) == ("open", 1)
    assert "nobody knows" in state.message
    assert editor.submit(editor.submit(state)).status == "closed"


@pytest.mark.parametrize("status", ["right", "closed"])
def test_a_closed_input_can_be_looked_at_but_not_changed(status: str) -> None:
    state = editor.select(on([[1]], [[1 if status == "right" else 2]]), "output", 0, 0, 0, 0)
    state = editor.copy(state)
    while state.status == "open":
        state = editor.submit(state)
    assert state.status == status
    for step in (
        EDITS[:2]
        + EDITS[3:5]
        + [
            editor.undo,
            editor.redo,
            editor.paste,
            editor.crop,
            lambda state: editor.fill(state, 1),
        ]
    ):
        assert "solved" in refused(state, step(state)) or status == "closed"
    for step in (editor.deselect, editor.copy, lambda state: editor.pick(state, "output", 0, 0)):
        assert step(state).message == ""


@settings(max_examples=50)
@given(st.lists(st.sampled_from(EDITS), max_size=10))
def test_no_state_is_ever_changed_by_what_follows(edits: list[Any]) -> None:
    states = [start(make_grid([[1, 2], [3, 4]]))]
    before = [states[0].grid.copy()]
    for edit in edits:
        states.append(edit(states[-1]))
        before.append(states[-1].grid.copy())
        assert not states[-1].grid.flags.writeable
    assert all(same(state.grid, grid) for state, grid in zip(states, before, strict=True))

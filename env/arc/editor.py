"""The editor as pure functions: each takes a state and gives the next one, which says in `message` what was refused.

Rows and columns are counted from 0. The page's editor (`page/src/arc/editor.ts`) does the same to the word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Concatenate, Literal, ParamSpec

import numpy as np

from env.arc.tasks import LARGEST_SIDE, TRIALS, Grid, make_grid, same

On = Literal["output", "input"]
"""A grid that can be selected on: the output that is built, or the test input."""

Status = Literal["open", "right", "closed"]
"""`right`: solved; `closed`: every trial was used."""

START = make_grid(np.zeros((3, 3), np.int8))
"""What a new output looks like."""


@dataclass(frozen=True)
class Selection:
    """A rectangle of cells on one grid, all four sides included."""

    on: On
    top: int
    left: int
    bottom: int
    right: int

    @property
    def cells(self) -> int:
        """How many cells are in it."""
        return (self.bottom - self.top + 1) * (self.right - self.left + 1)

    @property
    def window(self) -> tuple[slice, slice]:
        """Index of its cells in the grid."""
        return slice(self.top, self.bottom + 1), slice(self.left, self.right + 1)


@dataclass(frozen=True, eq=False)
class Moment:
    """What undo or redo goes to, and the moment beyond it."""

    grid: Grid
    selection: Selection | None
    beyond: Moment | None = field(repr=False)
    depth: int


@dataclass(frozen=True, eq=False)
class State:
    """One test input while it is worked on. Nothing in it changes."""

    input: Grid
    answer: Grid | None = field(repr=False)
    """None where it is not known: a submission is then counted, but not judged."""
    grid: Grid = field(default_factory=lambda: START)
    selection: Selection | None = None
    clipboard: Grid | None = None
    colour: int = 0
    """The colour that was chosen or picked last; steps that paint name theirs themselves."""
    trials: int = 0
    """Submissions so far."""
    status: Status = "open"
    past: Moment | None = field(default=None, repr=False)
    future: Moment | None = field(default=None, repr=False)
    message: str = ""
    """What the last step has to say; empty where it was simply done."""

    @property
    def undos(self) -> int:
        """How many steps can be undone."""
        return 0 if self.past is None else self.past.depth

    @property
    def redos(self) -> int:
        """How many undone steps can be done again."""
        return 0 if self.future is None else self.future.depth


def start(input: Grid, answer: Grid | None = None) -> State:
    """A test input before its first step: an output of 3x3 zeros, all trials left."""
    return State(input, answer)


Arguments = ParamSpec("Arguments")


def _while_open(
    step: Callable[Concatenate[State, Arguments], State],
) -> Callable[Concatenate[State, Arguments], State]:
    """A step that is refused once the test input is solved or closed."""

    @wraps(step)
    def checked(state: State, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> State:
        if state.status == "open":
            return step(state, *args, **kwargs)
        return _said(
            state,
            "this test input is solved"
            if state.status == "right"
            else "this test input is closed: its trials are used",
        )

    return checked


# The size


@_while_open
def resize(state: State, height: int, width: int) -> State:
    """Keep the top left; new cells are 0, cells outside are lost."""
    if not (1 <= height <= LARGEST_SIDE and 1 <= width <= LARGEST_SIDE):
        return _said(state, f"a grid has 1 to {LARGEST_SIDE} rows and columns, not {height}x{width}")
    grid = np.zeros((height, width), np.int8)
    kept = state.grid[:height, :width]
    grid[: kept.shape[0], : kept.shape[1]] = kept
    return _changed(state, grid)


@_while_open
def copy_input(state: State) -> State:
    """Make the output equal to the test input, size and cells."""
    return _changed(state, state.input)


@_while_open
def reset(state: State) -> State:
    """Every cell 0, the size kept."""
    return _changed(state, np.zeros_like(state.grid))


@_while_open
def crop(state: State) -> State:
    """Make what is selected, on either grid, the whole output."""
    if state.selection is None:
        return _said(state, _NOTHING_SELECTED)
    return _changed(state, _on(state, state.selection.on)[state.selection.window], None)


@_while_open
def put(state: State, grid: Grid, note: str = "") -> State:
    """Replace the whole output; `note` says in a trace what made it. For grids that come from elsewhere."""
    return _changed(state, make_grid(grid))


# Colours


def colour(state: State, colour: int) -> State:
    """Choose the current colour."""
    return replace(state, colour=colour, message="")


def pick(state: State, on: On, row: int, column: int) -> State:
    """Take the current colour from a cell of either grid."""
    grid = _on(state, on)
    return _outside(state, on, row, column) or replace(state, colour=int(grid[row, column]), message="")


@_while_open
def paint(state: State, row: int, column: int, colour: int) -> State:
    """Set one cell."""
    return line(state, [(row, column)], colour)


@_while_open
def line(state: State, cells: Sequence[tuple[int, int]], colour: int) -> State:
    """Set every cell on the straight lines from each of `cells` to the next (Bresenham 1965): one stroke."""
    for row, column in cells:
        if refused := _outside(state, "output", row, column):
            return refused
    grid = state.grid.copy()
    for start, end in zip(cells, [*cells[1:], cells[-1]], strict=True):
        for row, column in _straight(start, end):
            grid[row, column] = colour
    return _changed(state, grid)


@_while_open
def fill(state: State, colour: int) -> State:
    """Set the cells selected on the output."""
    if state.selection is None or state.selection.on != "output":
        return _said(state, "nothing is selected on the output; drag over its cells first")
    grid = state.grid.copy()
    grid[state.selection.window] = colour
    return _changed(state, grid)


@_while_open
def flood(state: State, row: int, column: int, colour: int) -> State:
    """Set a cell and all that are joined to it, side by side, by cells of its colour."""
    if refused := _outside(state, "output", row, column):
        return refused
    grid = state.grid.copy()
    old = int(grid[row, column])
    waiting = [(row, column)] if old != colour else []
    while waiting:
        row, column = waiting.pop()
        if 0 <= row < grid.shape[0] and 0 <= column < grid.shape[1] and grid[row, column] == old:
            grid[row, column] = colour
            waiting += [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return _changed(state, grid)


# The selection


def select(state: State, on: On, row: int, column: int, to_row: int, to_column: int) -> State:
    """Select the rectangle between two cells of one grid, both included."""
    if refused := _outside(state, on, row, column) or _outside(state, on, to_row, to_column):
        return refused
    corners = (min(row, to_row), min(column, to_column), max(row, to_row), max(column, to_column))
    return replace(state, selection=Selection(on, *corners), message="")


def deselect(state: State) -> State:
    """Select nothing."""
    return replace(state, selection=None, message="")


def copy(state: State) -> State:
    """Put what is selected, on either grid, in the clipboard."""
    if state.selection is None:
        return _said(state, _NOTHING_SELECTED)
    return clip(state, _on(state, state.selection.on)[state.selection.window])


def clip(state: State, grid: Grid) -> State:
    """Put a grid that comes from elsewhere in the clipboard."""
    return replace(state, clipboard=make_grid(grid), message="")


@_while_open
def paste(state: State) -> State:
    """Write the clipboard, zeros too, from the one selected cell on; what goes over the border is lost."""
    if state.clipboard is None:
        return _said(state, "nothing was copied yet; select cells and copy them first")
    chosen = state.selection
    if chosen is None or chosen.on != "output":
        return _said(state, "select the cell of the output where the top left corner goes")
    if chosen.cells > 1:
        return _said(state, f"{chosen.cells} cells are selected; select one, where the top left corner goes")
    grid = state.grid.copy()
    _write(grid, state.clipboard, chosen.top, chosen.left)
    return _changed(state, grid)


@_while_open
def flip(state: State, axis: Literal["horizontal", "vertical"]) -> State:
    """Mirror the output's selection, or the whole output: left and right change places, or top and bottom."""
    window = _selected(state).window
    grid = state.grid.copy()
    grid[window] = grid[window][:, ::-1] if axis == "horizontal" else grid[window][::-1]
    return _changed(state, grid)


@_while_open
def rotate(state: State, turns: int) -> State:
    """Turn the output's selection, or the whole output, clockwise by 1, 2 or 3 quarters.

    The whole output changes its size with it. A part keeps its top left corner, leaves zeros where it was, and
    loses what goes over the border.
    """
    chosen = _selected(state)
    turned = np.rot90(state.grid[chosen.window], -turns)
    height, width = turned.shape
    if chosen.cells == state.grid.size:
        selection = (
            Selection("output", 0, 0, height - 1, width - 1) if _is_on_output(state.selection) else state.selection
        )
        return _changed(state, turned, selection)
    return _lifted(state, chosen, turned, chosen.top, chosen.left)


@_while_open
def move(state: State, rows: int, columns: int) -> State:
    """Move the output's selection, or all of the output, down and to the right (negative: up, left).

    Zeros stay where it was; what goes over the border is lost.
    """
    chosen = _selected(state)
    top, left = chosen.top + rows, chosen.left + columns
    height, width = state.grid.shape
    if chosen.bottom + rows < 0 or chosen.right + columns < 0 or top >= height or left >= width:
        return _said(state, "nothing of it would be left inside the grid")
    return _lifted(state, chosen, state.grid[chosen.window], top, left)


# History and trials


@_while_open
def undo(state: State) -> State:
    """Go back to before the last step that changed the output; its selection comes back too."""
    if state.past is None:
        return _said(state, "nothing to undo")
    back = state.past
    future = Moment(state.grid, state.selection, state.future, state.redos + 1)
    return replace(state, grid=back.grid, selection=back.selection, past=back.beyond, future=future, message="")


@_while_open
def redo(state: State) -> State:
    """Do again what was undone last."""
    if state.future is None:
        return _said(state, "nothing to redo")
    ahead = state.future
    past = Moment(state.grid, state.selection, state.past, state.undos + 1)
    return replace(state, grid=ahead.grid, selection=ahead.selection, past=past, future=ahead.beyond, message="")


@_while_open
def submit(state: State) -> State:
    """Give the output as an answer. Right: same size, same cells. After `TRIALS` submissions the input is closed."""
    trials = state.trials + 1
    left = TRIALS - trials
    count = "no trial is left" if left == 0 else "1 trial is left" if left == 1 else f"{left} trials are left"
    status: Status = "closed" if left == 0 else "open"
    if state.answer is None:
        message = f"submitted; nobody knows the answer here; {count}"
    elif same(state.grid, state.answer):
        status, message = "right", "right: the size and every cell"
    else:
        message = f"not right; {count}"
    return replace(state, trials=trials, status=status, message=message)


# What the functions share

_NOTHING_SELECTED = "nothing is selected; drag over cells of the input or the output first"


def _said(state: State, message: str) -> State:
    return replace(state, message=message)


def _on(state: State, on: On) -> Grid:
    return state.grid if on == "output" else state.input


def _outside(state: State, on: On, row: int, column: int) -> State | None:
    height, width = _on(state, on).shape
    if 0 <= row < height and 0 <= column < width:
        return None
    return _said(state, f"row {row}, column {column} is outside: the {on} is {height}x{width}")


def _is_on_output(selection: Selection | None) -> bool:
    return selection is not None and selection.on == "output"


def _selected(state: State) -> Selection:
    """The output's selection, or all of the output."""
    if state.selection is not None and state.selection.on == "output":
        return state.selection
    height, width = state.grid.shape
    return Selection("output", 0, 0, height - 1, width - 1)


def _changed(state: State, grid: Grid, selection: Selection | Literal["kept"] | None = "kept") -> State:
    """The state with another output, one step further; a selection that does not fit any more is dropped."""
    if selection == "kept":
        selection = state.selection
    if selection is not None and selection.on == "output":
        fits = selection.bottom < grid.shape[0] and selection.right < grid.shape[1]
        selection = selection if fits else None
    if same(grid, state.grid):
        return replace(state, selection=selection, message="")
    past = Moment(state.grid, state.selection, state.past, state.undos + 1)
    return replace(state, grid=make_grid(grid), selection=selection, past=past, future=None, message="")


def _lifted(state: State, chosen: Selection, block: Grid, top: int, left: int) -> State:
    """`block` in place of what `chosen` leaves behind, its top left corner at (top, left), cut at the border."""
    grid = state.grid.copy()
    grid[chosen.window] = 0
    _write(grid, block, top, left)
    selection = state.selection
    if _is_on_output(selection):
        bottom, right = top + block.shape[0] - 1, left + block.shape[1] - 1
        selection = Selection(
            "output", max(top, 0), max(left, 0), min(bottom, grid.shape[0] - 1), min(right, grid.shape[1] - 1)
        )
    return _changed(state, grid, selection)


def _write(grid: Grid, block: Grid, top: int, left: int) -> None:
    skipped_rows, skipped_columns = max(-top, 0), max(-left, 0)
    window = grid[top + skipped_rows : top + block.shape[0], left + skipped_columns : left + block.shape[1]]
    window[:] = block[skipped_rows:, skipped_columns:][: window.shape[0], : window.shape[1]]


def _straight(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    row, column = start
    rows, columns = abs(end[0] - row), abs(end[1] - column)
    down, across = (1 if end[0] > row else -1), (1 if end[1] > column else -1)
    error, cells = columns - rows, [start]
    while (row, column) != end:
        twice = 2 * error
        if twice > -rows:
            error, column = error - rows, column + across
        if twice < columns:
            error, row = error + columns, row + down
        cells.append((row, column))
    return cells

"""The editor's tools as compiled loops over games. `env.arc.editor` is what they must equal, cell by cell.

A board is int8 [30, 30] with `OUTSIDE` beyond its size. Four lie in each game: output, clipboard, input, answer.
"""

from __future__ import annotations

import numpy as np

from env.arc.tasks import LARGEST_SIDE, TRIALS
from env.loops import compiled

OUTSIDE = -1
OUTPUT, CLIPBOARD, INPUT, ANSWER = range(4)

TOOLS = (
    *(f"fill {colour}" for colour in range(10)),
    *(f"flood {colour}" for colour in range(10)),
    *("copy", "copy from input", "paste"),
    *("move up", "move down", "move left", "move right"),
    *("flip horizontal", "flip vertical", "rotate 1", "rotate 2", "rotate 3"),
    *("crop", "crop from input", "resize", "copy input", "reset", "submit"),
)
"""What the first part of an action says; the other four are the two corners of a rectangle."""

FLOOD, COPY, COPY_FROM_INPUT, PASTE, MOVE, FLIP, ROTATE, CROP, CROP_FROM_INPUT, RESIZE, COPY_INPUT, RESET, SUBMIT = (
    *(10, 20, 21, 22, 23, 27, 29, 32, 33, 34, 35, 36, 37),
)
DONE, REFUSED, RIGHT, WRONG, INVALID = range(5)
"""What became of an action; `INVALID`: it is not in the action space."""

_SIDE = LARGEST_SIDE


@compiled(inline="always")
def _flood(board: np.ndarray, height: int, width: int, row: int, column: int, colour: int, stack: np.ndarray) -> None:
    """Scanline fill (Smith 1979): a run of cells at a time, one seed for each run above and below."""
    old = board[row, column]
    if old == colour:
        return
    stack[0] = row * _SIDE + column
    waiting = 1
    while waiting:
        waiting -= 1
        row, column = divmod(stack[waiting], _SIDE)
        if board[row, column] != old:
            continue
        left = column
        while left > 0 and board[row, left - 1] == old:
            left -= 1
        above = below = False
        column = left
        while column < width and board[row, column] == old:
            board[row, column] = colour
            if row > 0:
                inside = board[row - 1, column] == old
                if inside and not above:
                    stack[waiting] = (row - 1) * _SIDE + column
                    waiting += 1
                above = inside
            if row + 1 < height:
                inside = board[row + 1, column] == old
                if inside and not below:
                    stack[waiting] = (row + 1) * _SIDE + column
                    waiting += 1
                below = inside
            column += 1


@compiled()
def _lift(board: np.ndarray, block: np.ndarray, top: int, left: int, bottom: int, right: int) -> None:
    """Take the rectangle into `block` and leave zeros."""
    for row in range(top, bottom + 1):
        for column in range(left, right + 1):
            block[row - top, column - left] = board[row, column]
            board[row, column] = 0


@compiled()
def _write(
    board: np.ndarray, height: int, width: int, block: np.ndarray, rows: int, columns: int, top: int, left: int
) -> None:
    """Write `block` from (top, left) on; what goes over the border is lost."""
    for row in range(max(0, -top), min(rows, height - top)):
        for column in range(max(0, -left), min(columns, width - left)):
            board[top + row, left + column] = block[row, column]


@compiled()
def _turn(board: np.ndarray, block: np.ndarray, rows: int, columns: int, turns: int) -> None:
    """`block`, turned clockwise, to the top left of `board`."""
    for row in range(rows):
        for column in range(columns):
            if turns == 1:
                board[column, rows - 1 - row] = block[row, column]
            elif turns == 2:
                board[rows - 1 - row, columns - 1 - column] = block[row, column]
            else:
                board[columns - 1 - column, row] = block[row, column]


@compiled()
def _become(
    board: np.ndarray, size: np.ndarray, source: np.ndarray, top: int, left: int, bottom: int, right: int
) -> None:
    """Make a rectangle of `source`, which is another board, the whole of `board`."""
    height, width = bottom - top + 1, right - left + 1
    for row in range(max(height, size[0])):
        for column in range(max(width, size[1])):
            inside = row < height and column < width
            board[row, column] = source[top + row, left + column] if inside else OUTSIDE
    size[0], size[1] = height, width


@compiled()
def _resize(board: np.ndarray, size: np.ndarray, height: int, width: int) -> None:
    old_height, old_width = size
    for row in range(max(height, old_height)):
        for column in range(max(width, old_width)):
            if row >= height or column >= width:
                board[row, column] = OUTSIDE
            elif row >= old_height or column >= old_width:
                board[row, column] = 0
    size[0], size[1] = height, width


@compiled()
def _same(a: np.ndarray, b: np.ndarray, size: np.ndarray) -> bool:
    for row in range(size[0]):
        for column in range(size[1]):
            if a[row, column] != b[row, column]:
                return False
    return True


@compiled()
def similarity(board: np.ndarray, size: np.ndarray, answer: np.ndarray, answer_size: np.ndarray) -> float:
    """Cells that agree over those of the smallest rectangle around both: 1 for the answer only."""
    agree = 0
    for row in range(min(size[0], answer_size[0])):
        for column in range(min(size[1], answer_size[1])):
            agree += board[row, column] == answer[row, column]
    return agree / (max(size[0], answer_size[0]) * max(size[1], answer_size[1]))


@compiled()
def _play(boards: np.ndarray, sizes: np.ndarray, action: np.ndarray, block: np.ndarray, stack: np.ndarray) -> int:
    """One action on one game, `boards` [4, 30, 30], `sizes` [4, 2]; says what became of it."""
    tool = action[0]
    if not 0 <= tool <= SUBMIT:
        return INVALID
    for part in range(1, 5):
        if not 0 <= action[part] < _SIDE:
            return INVALID
    board, size = boards[OUTPUT], sizes[OUTPUT]
    height, width = size
    row, column, to_row, to_column = action[1], action[2], action[3], action[4]
    if tool >= RESIZE:
        if tool == RESIZE:
            _resize(board, size, to_row + 1, to_column + 1)
        elif tool == COPY_INPUT:
            _become(board, size, boards[INPUT], 0, 0, sizes[INPUT, 0] - 1, sizes[INPUT, 1] - 1)
        elif tool == RESET:
            board[:height, :width] = 0
        else:
            equal = height == sizes[ANSWER, 0] and width == sizes[ANSWER, 1] and _same(board, boards[ANSWER], size)
            return RIGHT if equal else WRONG
        return DONE
    top, bottom = min(row, to_row), max(row, to_row)
    left, right = min(column, to_column), max(column, to_column)
    if FLOOD <= tool < COPY or tool == PASTE:
        if row >= height or column >= width:
            return REFUSED
        if tool != PASTE:
            _flood(board, height, width, row, column, tool - FLOOD, stack)
        elif sizes[CLIPBOARD, 0] == 0:
            return REFUSED
        else:
            _write(board, height, width, boards[CLIPBOARD], sizes[CLIPBOARD, 0], sizes[CLIPBOARD, 1], row, column)
        return DONE
    if tool in (COPY_FROM_INPUT, CROP_FROM_INPUT):
        if bottom >= sizes[INPUT, 0] or right >= sizes[INPUT, 1]:
            return REFUSED
        goal = CLIPBOARD if tool == COPY_FROM_INPUT else OUTPUT
        _become(boards[goal], sizes[goal], boards[INPUT], top, left, bottom, right)
        return DONE
    if bottom >= height or right >= width:
        return REFUSED
    rows, columns = bottom - top + 1, right - left + 1
    if tool < FLOOD:
        for r in range(top, bottom + 1):
            for c in range(left, right + 1):
                board[r, c] = tool
    elif tool == COPY:
        _become(boards[CLIPBOARD], sizes[CLIPBOARD], board, top, left, bottom, right)
    elif tool < FLIP:
        down = -1 if tool == MOVE else 1 if tool == MOVE + 1 else 0
        across = -1 if tool == MOVE + 2 else 1 if tool == MOVE + 3 else 0
        if bottom + down < 0 or right + across < 0 or top + down >= height or left + across >= width:
            return REFUSED
        _lift(board, block, top, left, bottom, right)
        _write(board, height, width, block, rows, columns, top + down, left + across)
    elif tool == FLIP:
        for r in range(top, bottom + 1):
            for c in range(columns // 2):
                board[r, left + c], board[r, right - c] = board[r, right - c], board[r, left + c]
    elif tool == FLIP + 1:
        for r in range(rows // 2):
            for c in range(left, right + 1):
                board[top + r, c], board[bottom - r, c] = board[bottom - r, c], board[top + r, c]
    elif tool < CROP:
        turns = tool - ROTATE + 1
        _lift(board, block, top, left, bottom, right)
        if rows == height and columns == width:
            if turns != 2:
                _resize(board, size, width, height)
            _turn(board, block, rows, columns, turns)
        else:
            turned = block[_SIDE:]
            _turn(turned, block, rows, columns, turns)
            if turns != 2:
                rows, columns = columns, rows
            _write(board, height, width, turned, rows, columns, top, left)
    else:
        _lift(board, block, top, left, bottom, right)
        _become(board, size, block, 0, 0, rows - 1, columns - 1)
    return DONE


@compiled()
def play_all(
    boards: np.ndarray,
    sizes: np.ndarray,
    trials: np.ndarray,
    actions: np.ndarray,
    outcomes: np.ndarray,
    rewards: np.ndarray,
    ended: np.ndarray,
    progress: bool,
) -> bool:
    """One action in every game; False where one is outside the action space (its game is then as it was).

    `boards` int8 [games, 4, 30, 30], `sizes` int64 [games, 4, 2], `trials` int64 [games] (submissions so far) and
    `actions` int64 [games, 5]; writes `outcomes` int8, `rewards` float64 and `ended` bool, all [games].
    """
    block = np.empty((2 * _SIDE, _SIDE), np.int8)
    stack = np.empty(_SIDE * _SIDE, np.int64)
    valid = True
    for game in range(len(actions)):
        before = 0.0
        if progress:
            before = similarity(boards[game, OUTPUT], sizes[game, OUTPUT], boards[game, ANSWER], sizes[game, ANSWER])
        outcome = _play(boards[game], sizes[game], actions[game], block, stack)
        reward = 1.0 if outcome == RIGHT else 0.0
        if progress and outcome == DONE:
            reward = (
                similarity(boards[game, OUTPUT], sizes[game, OUTPUT], boards[game, ANSWER], sizes[game, ANSWER])
                - before
            )
        if outcome in (RIGHT, WRONG):
            trials[game] += 1
        outcomes[game] = outcome
        rewards[game] = reward
        ended[game] = outcome == RIGHT or trials[game] >= TRIALS
        valid = valid and outcome != INVALID
    return valid

"""The editor as a Gymnasium environment: build the output of a test input, three trials, demonstrations in sight."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from env.arc import compiled, editor
from env.arc.compiled import ANSWER, CLIPBOARD, INPUT, OUTPUT, OUTSIDE, TOOLS
from env.arc.editor import State
from env.arc.tasks import LARGEST_SIDE, TRIALS, Grid, Task, for_training, load_tasks
from env.arc.trace import Step, Trace, apply
from env.errors import UserError

Reward = Literal["sparse", "progress"]
"""`sparse`: 1 for the right answer. `progress`: also what an action adds to the output's similarity to it."""

Observation = dict[str, Any]

PALETTE = np.array(
    [
        (0, 0, 0), (51, 34, 136), (204, 102, 119), (17, 119, 51), (221, 204, 119),
        (150, 150, 150), (170, 68, 153), (238, 119, 51), (136, 204, 238), (136, 34, 85),
    ],
    np.uint8,
)  # fmt: skip
"""RGB of the ten colours in pictures: distinct for the colour-blind too (after Tol's muted scheme)."""

_CELL = 12


def observation_space(demonstrations: int) -> spaces.Dict:
    """Boards are int8 [30, 30], `OUTSIDE` (-1) beyond their size; demonstrations [pairs, input and output, 30, 30]."""
    side = LARGEST_SIDE

    def boards(*shape: int) -> spaces.Box:
        return spaces.Box(OUTSIDE, 9, (*shape, side, side), np.int8)

    return spaces.Dict(
        {
            "clipboard": boards(),
            "demonstrations": boards(demonstrations, 2),
            "grid": boards(),
            "input": boards(),
            "trials": spaces.Discrete(TRIALS + 1),
        }
    )


def action_space() -> spaces.MultiDiscrete:
    """A tool of `TOOLS`, then row and column of a rectangle's first corner and of its second."""
    return spaces.MultiDiscrete([len(TOOLS), *[LARGEST_SIDE] * 4])


def playable(tasks: str | Path | Sequence[Task], allow_evaluation: bool) -> tuple[Task, ...]:
    """Tasks that can be played: loaded where a source is named, none of an evaluation set unless allowed."""
    loaded = load_tasks(tasks) if isinstance(tasks, (str, Path)) else tuple(tasks)
    unanswered = next((task.name for task in loaded if not task.answered), None)
    if unanswered is not None:
        raise UserError(f"task {unanswered}: a test input has no answer, so nobody can say what is right; leave it out")
    kept = for_training(loaded, allow_evaluation=allow_evaluation, flag="allow_evaluation=True")
    if not kept:
        raise UserError("no tasks to play")
    return kept


def board(grid: Grid) -> np.ndarray:
    """A grid on a board, int8 [30, 30]."""
    padded = np.full((LARGEST_SIDE, LARGEST_SIDE), OUTSIDE, np.int8)
    padded[: grid.shape[0], : grid.shape[1]] = grid
    return padded


def demonstrated(task: Task, pairs: int) -> np.ndarray:
    """Demonstrations on boards, int8 [pairs, 2, 30, 30], read-only."""
    made = np.full((pairs, 2, LARGEST_SIDE, LARGEST_SIDE), OUTSIDE, np.int8)
    for number, pair in enumerate(task.train):
        made[number] = board(pair.input), board(pair.answer)
    made.setflags(write=False)
    return made


def lay_out(boards: np.ndarray, sizes: np.ndarray, task: Task, test: int) -> None:
    """Start one game: its four boards int8 [4, 30, 30] and their sizes int64 [4, 2]."""
    pair = task.test[test]
    boards[CLIPBOARD] = OUTSIDE
    sizes[CLIPBOARD] = 0
    for place, grid in ((OUTPUT, editor.START), (INPUT, pair.input), (ANSWER, pair.answer)):
        boards[place] = board(grid)
        sizes[place] = grid.shape


def masks(sizes: np.ndarray, tool: int | None = None) -> np.ndarray:
    """What can do something, bool [tools + 4 * 30], for a `MultiDiscrete` policy that draws each part by itself.

    A coordinate is allowed where some tool (or the one named) can use it; a pair that does not fit is refused.
    """
    side = LARGEST_SIDE
    allowed = np.zeros(len(TOOLS) + 4 * side, bool)
    tools, parts = allowed[: len(TOOLS)], allowed[len(TOOLS) :].reshape(4, side)
    tools[:] = True
    tools[compiled.PASTE] = sizes[CLIPBOARD, 0] > 0
    from_input = tool in (compiled.COPY_FROM_INPUT, compiled.CROP_FROM_INPUT)
    for part in range(4):
        if tool is None or tool >= compiled.RESIZE:
            reach = side  # resizing takes any
        else:
            reach = int(sizes[INPUT if from_input else OUTPUT, part % 2])
        parts[part, :reach] = True
    return allowed


class ArcEditorEnv(gymnasium.Env[Observation, np.ndarray]):
    """One test input: actions are tools on rectangles, the episode ends with the right answer or the third trial.

    - Observation: see `observation_space`; `trials` are those left. Arrays are the caller's own.
    - Action: see `action_space`. A corner outside the grid, or pasting nothing, is refused and changes nothing.
    - Reward: see `Reward`. Truncated after `limit` actions.
    - `info`: the task's name and the number of the test input; after a step whether it was refused. Never the answer.
    - `reset(options={"task": name, "test": number})` chooses; else both are drawn with the environment's generator.
    - `render_mode`: `ansi` (digits) or `rgb_array` (input and output side by side).

    Raises UserError for tasks that cannot be loaded or hold tasks of an evaluation set, unless `allow_evaluation`.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 10}  # noqa: RUF012  (Gymnasium's own form)

    def __init__(
        self,
        tasks: str | Path | Sequence[Task] = "arc1-training",
        limit: int = 256,
        reward: Reward = "sparse",
        allow_evaluation: bool = False,
        render_mode: str | None = None,
    ):
        self.tasks = playable(tasks, allow_evaluation)
        self.limit = limit
        self.render_mode = render_mode
        self._progress = reward == "progress"
        self._pairs = max(len(task.train) for task in self.tasks)
        self._names = {task.name: number for number, task in enumerate(self.tasks)}
        self.observation_space = observation_space(self._pairs)
        self.action_space = action_space()
        side = LARGEST_SIDE
        self._boards = np.full((1, 4, side, side), OUTSIDE, np.int8)
        self._sizes = np.zeros((1, 4, 2), np.int64)
        self._trials = np.zeros(1, np.int64)
        self._outcomes, self._rewards, self._ended = np.zeros(1, np.int8), np.zeros(1), np.zeros(1, bool)
        self._steps = 0
        self._actions: list[tuple[int, ...]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a test input. Raises UserError for a task or a test input that is not there."""
        super().reset(seed=seed)
        options = options or {}
        number = int(self.np_random.integers(len(self.tasks)))
        if "task" in options:
            if options["task"] not in self._names:
                raise UserError(f"no task {options['task']!r} among the {len(self.tasks)} of this environment")
            number = self._names[options["task"]]
        self.task = self.tasks[number]
        self.test = int(options.get("test", self.np_random.integers(len(self.task.test))))
        if not 0 <= self.test < len(self.task.test):
            raise UserError(f"task {self.task.name} has {len(self.task.test)} test inputs, none is number {self.test}")
        lay_out(self._boards[0], self._sizes[0], self.task, self.test)
        self._trials[0] = 0
        self._steps = 0
        self._actions = []
        self._demonstrations = demonstrated(self.task, self._pairs)
        self._input = self._boards[0, INPUT].copy()
        return self._observation(), {"task": self.task.name, "test": self.test}

    def step(self, action: np.ndarray) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Use a tool; raises ValueError for an action outside the action space."""
        given = np.asarray(action, np.int64).reshape(1, 5)
        if not compiled.play_all(
            self._boards, self._sizes, self._trials, given, self._outcomes, self._rewards, self._ended, self._progress
        ):
            raise ValueError(f"{given[0].tolist()} is outside the action space {self.action_space}")
        self._actions.append(tuple(given[0].tolist()))
        self._steps += 1
        ended = bool(self._ended[0])
        info = {"refused": bool(self._outcomes[0] == compiled.REFUSED)}
        return self._observation(), float(self._rewards[0]), ended, self._steps >= self.limit and not ended, info

    def action_masks(self) -> np.ndarray:
        """Parts of an action that can do something, bool [tools + 4 * 30]; see `masks`."""
        return masks(self._sizes[0])

    def trace(self) -> Trace:
        """What was done so far as a trace that the editor and the page replay to the same grid."""
        pair = self.task.test[self.test]
        state, steps = editor.start(pair.input, pair.answer), []
        for action in self._actions:
            for step in steps_of(action, state):
                state = apply(state, step)
                steps.append(step)
        return Trace(self.task.name, self.test, pair.input, tuple(steps), by="environment")

    def render(self) -> Any:
        """Input and output: digits for `ansi`, a picture uint8 [360, 732, 3] for `rgb_array`."""
        if self.render_mode == "ansi":
            shown = [
                "\n".join(
                    "".join(str(cell) for cell in row if cell >= 0) for row in self._boards[0, place] if row[0] >= 0
                )
                for place in (INPUT, OUTPUT)
            ]
            return f"{self.task.name}, test input {self.test}\n{shown[0]}\n\noutput, {self._left()} trials left\n{shown[1]}\n"
        if self.render_mode == "rgb_array":
            gap = np.full((LARGEST_SIDE * _CELL, _CELL, 3), 255, np.uint8)
            return np.concatenate([_picture(self._boards[0, INPUT]), gap, _picture(self._boards[0, OUTPUT])], axis=1)
        return None

    def _left(self) -> int:
        return TRIALS - int(self._trials[0])

    def _observation(self) -> Observation:
        boards = self._boards[0]
        return {
            "clipboard": boards[CLIPBOARD].copy(),
            "demonstrations": self._demonstrations.copy(),
            "grid": boards[OUTPUT].copy(),
            "input": self._input.copy(),
            "trials": np.int64(TRIALS - self._trials[0]),
        }


def steps_of(action: Sequence[int], state: State) -> list[Step]:
    """The editor's steps that do what an action does, on `state`."""
    tool, row, column, to_row, to_column = action
    name = TOOLS[tool]
    word, _, rest = name.partition(" ")
    where = "input" if name.endswith("from input") else "output"
    corners = {"row": row, "column": column, "to_row": to_row, "to_column": to_column}
    if word == "flood":
        return [Step("flood", {"row": row, "column": column, "colour": int(rest)})]
    if name == "resize":
        return [Step("resize", {"height": to_row + 1, "width": to_column + 1})]
    if name in ("copy input", "reset", "submit"):
        return [Step(name.replace(" ", "_"))]
    if name == "paste":
        corners |= {"to_row": row, "to_column": column}
    select = Step("select", {"on": where, **corners})
    if apply(state, select).message:
        return [select]  # refused: what is selected from before must not be used
    directions = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    arguments: dict[str, Any] = {}
    if word == "fill":
        arguments = {"colour": int(rest)}
    elif word == "move":
        arguments = dict(zip(("rows", "columns"), directions[rest], strict=True))
    elif word == "flip":
        arguments = {"axis": rest}
    elif word == "rotate":
        arguments = {"turns": int(rest)}
    return [select, Step(word, arguments)]


def _picture(cells: np.ndarray) -> np.ndarray:
    colours = np.where((cells >= 0)[..., None], PALETTE[np.maximum(cells, 0)], np.uint8(255))
    picture = colours.repeat(_CELL, axis=0).repeat(_CELL, axis=1)
    picture[::_CELL, :] = picture[:, ::_CELL] = 90
    return picture

"""The learning environment on whole-grid steps, single and batched: which step to try next.

The reward is what a step adds to the best share explained so far, so that the return is 1 when all is explained.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from env.arc.features import SIZE, observe
from env.arc.tasks import Task, for_training, load_tasks
from env.arc.world import ACTIONS, DEEPEST, Painter, Puzzle, State, act
from env.errors import UserError
from env.vector import GamesInStep

TRIES = 8
"""Steps of an episode at most, those that lead nowhere included."""

_PAINTS = np.array([isinstance(action, Painter) for action in ACTIONS])


class Walk:
    """One task on its way: the state, what was tried there, the best share explained so far."""

    def __init__(self, puzzle: Puzzle, known: dict[Any, Any]):
        self.puzzle, self.known = puzzle, known
        self.start()

    def start(self) -> None:
        """Back to the inputs as they are."""
        self.state = self.puzzle.start
        self.tries = 0
        self.best = self.first = self.state.explained
        self.mask = self._mask()

    def step(self, action: int) -> tuple[float, bool]:
        """Try a step; the reward, and whether the episode is over."""
        self.tries += 1
        self.mask[action] = False
        made = self._made(action)
        reward = 0.0
        if made is not None:
            self.state = made
            if made.explained > self.best:
                reward = (made.explained - self.best) / (1 - self.first)
                self.best = made.explained
            self.mask = self._mask()
        return reward, self.state.solved or self.tries == TRIES or not self.mask.any()

    def observation(self) -> np.ndarray:
        """See `features.observe`."""
        seen = self._memory()
        if "observation" not in seen:
            seen["observation"] = observe(self.state)
        return seen["observation"]

    def _made(self, action: int) -> State | None:
        seen = self._memory()
        if action not in seen:
            made = act(self.state, ACTIONS[action])
            seen[action] = made[0] if made else None
        return seen[action]

    def _memory(self) -> dict[Any, Any]:
        return self.known.setdefault((len(self.state.steps), self.state.content), {})

    def _mask(self) -> np.ndarray:
        mask = np.ones(len(ACTIONS), bool)
        if not self.state.fits:
            mask &= ~_PAINTS
        if len(self.state.steps) >= DEEPEST:
            mask &= _PAINTS
        return mask


class ArcStepsEnv(gymnasium.Env[np.ndarray, np.int64]):
    """A task at a time: an action is a step that changes all grids at once, the observation what still differs.

    `tasks`: a list of them, or a set's name, a JSON file, a folder or a zip. Tasks whose outputs are their inputs are left
    out. Raises UserError where none is left, or some are of an evaluation set, unless `allow_evaluation`.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        tasks: str | Path | Sequence[Task] = (),
        allow_evaluation: bool = False,
        render_mode: str | None = None,
    ):
        loaded = load_tasks(tasks) if isinstance(tasks, (str, Path)) else tuple(tasks)
        if not loaded:
            raise UserError(
                "ArcSteps needs tasks=: a set such as 'arc1-training', a file, a folder, a zip, or a list of tasks"
            )
        kept = for_training(loaded, allow_evaluation=allow_evaluation, flag="allow_evaluation=True")
        self.puzzles = [puzzle for puzzle in map(Puzzle.of, kept) if not puzzle.start.solved]
        if not self.puzzles:
            raise UserError(
                f"of {len(loaded)} tasks none is left to play; choose tasks whose outputs are not their inputs"
            )
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(len(ACTIONS))
        self.observation_space = spaces.Box(-2.0, 2.0, (SIZE,), np.float32)
        self.walk = Walk(self.puzzles[0], {})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:  # fmt: skip
        """Draw a task, or take number `options["task"]`."""
        super().reset(seed=seed)
        number = (options or {}).get("task", self.np_random.integers(len(self.puzzles)))
        self.walk = Walk(self.puzzles[int(number)], {})
        return self.walk.observation().copy(), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Try a step."""
        reward, over = self.walk.step(int(action))
        solved = self.walk.state.solved
        return self.walk.observation().copy(), reward, solved, over and not solved, {}

    def action_masks(self) -> np.ndarray:
        """Steps that are not known to lead nowhere, bool [ACTIONS]."""
        return self.walk.mask.copy()

    def render(self) -> str:
        """The program so far, and the grids of the first demonstration."""
        state = self.walk.state
        rows = ["".join(map(str, row)) for row in state.grids[0].tolist()]
        return "\n".join([str(state.program), *rows])


class ArcStepsVecEnv(GamesInStep):
    """Many tasks in step; a game that is over begins anew at once, with another task.

    What a step makes of a state is remembered, for a task comes again and again.
    """

    def __init__(self, tasks: Sequence[Task], games: int):
        self.puzzles = [puzzle for puzzle in map(Puzzle.of, tasks) if not puzzle.start.solved]
        self._known: list[dict[Any, Any]] = [{} for _ in self.puzzles]
        super().__init__(games, spaces.Box(-2.0, 2.0, (SIZE,), np.float32), spaces.Discrete(len(ACTIONS)))
        self._random = np.random.default_rng()
        self._task = np.zeros(games, np.int64)
        self._history = np.full((games, TRIES), -1)
        """Action of each step, -1 where not made yet."""
        self.walks = [self._drawn(game) for game in range(games)]

    def reset(self) -> np.ndarray:
        """Begin every game anew, with the first of the seeds given by `seed` if any; float32 [games, SIZE]."""
        if self._seeds[0] is not None:
            self._random = np.random.default_rng(self._seeds[0])
        self._reset_seeds()
        self.walks = [self._drawn(game) for game in range(self.num_envs)]
        return self._observe()

    def put(self, tasks: Sequence[int]) -> np.ndarray:
        """Begin every game anew on the tasks of these numbers."""
        for game, task in enumerate(tasks):
            self._task[game], self._history[game] = task, -1
            self.walks[game] = Walk(self.puzzles[task], self._known[task])
        return self._observe()

    def _drawn(self, game: int) -> Walk:
        task = self._task[game] = self._random.integers(len(self.puzzles))
        self._history[game] = -1
        return Walk(self.puzzles[task], self._known[task])

    def _observe(self) -> np.ndarray:
        return np.stack([walk.observation() for walk in self.walks])

    def step_wait(self) -> VecEnvStepReturn:
        """Observations, rewards float32 [games], ends bool [games], and an info a game."""
        rewards, dones = np.zeros(self.num_envs, np.float32), np.zeros(self.num_envs, bool)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for game, walk in enumerate(self.walks):
            self._history[game, walk.tries] = self._actions[game]
            rewards[game], dones[game] = walk.step(int(self._actions[game]))
            if dones[game]:
                infos[game] = {
                    "terminal_observation": walk.observation().copy(),
                    "TimeLimit.truncated": False,
                    "is_success": walk.state.solved,
                    "episode": {"r": (walk.best - walk.first) / (1 - walk.first), "l": walk.tries, "t": 0.0},
                }
                self.walks[game] = self._drawn(game)
        return self._observe(), rewards, dones, infos

    def action_masks(self) -> np.ndarray:
        """Steps that are not known to lead nowhere, bool [games, ACTIONS]."""
        return np.stack([walk.mask for walk in self.walks])

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the running games are: tasks, steps so far, and the generator; `restore` brings it back."""
        generator = np.array(json.dumps(self._random.bit_generator.state))
        return {"task": self._task.copy(), "history": self._history.copy(), "generator": generator}

    def restore(self, state: Mapping[str, np.ndarray]) -> np.ndarray:
        """Go on from what `state` gave; the observations there. Raises ValueError where it is not of these games."""
        tasks, history = state["task"], state["history"]
        if tasks.shape != self._task.shape or not ((tasks >= 0) & (tasks < len(self.puzzles))).all():
            raise ValueError("task: games of other tasks")
        if history.shape != self._history.shape or not ((history >= -1) & (history < len(ACTIONS))).all():
            raise ValueError("history: steps of other games")
        self._random.bit_generator.state = json.loads(str(state["generator"]))
        self.put(tasks.tolist())
        self._history[:] = history
        for walk, actions in zip(self.walks, history, strict=True):
            for action in actions[actions >= 0]:
                walk.step(int(action))
        return self._observe()

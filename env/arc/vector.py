"""Many editors at once in compiled loops: `ArcEditorEnv` game by game, a finished game begun anew in the same step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from env.arc import compiled
from env.arc.compiled import CLIPBOARD, INPUT, OUTPUT, OUTSIDE, REFUSED
from env.arc.environment import (
    Observation,
    Reward,
    action_space,
    demonstrated,
    lay_out,
    masks,
    observation_space,
    playable,
)
from env.arc.tasks import LARGEST_SIDE, TRIALS, Task


class ArcEditorVectorEnv(gymnasium.vector.VectorEnv[Observation, np.ndarray, np.ndarray]):
    """`num_envs` games in step; seeded with s, game i plays as an `ArcEditorEnv` reset with seed s + i does.

    Observations are the caller's own or read-only. `demonstrations=False` leaves them out; `info["task"]` still says
    which of `tasks` each game plays. The last observation of games that ended is `info["final_obs"]`.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 256,
        tasks: str | Path | Sequence[Task] = "arc1-training",
        limit: int = 256,
        reward: Reward = "sparse",
        allow_evaluation: bool = False,
        demonstrations: bool = True,
        render_mode: str | None = None,
    ):
        self.num_envs = num_envs
        self.tasks = playable(tasks, allow_evaluation)
        self.limit = limit
        self.render_mode = render_mode
        self._progress = reward == "progress"
        self._pairs = max(len(task.train) for task in self.tasks)
        self.single_observation_space = observation_space(self._pairs)
        if not demonstrations:
            del self.single_observation_space.spaces["demonstrations"]
        self.single_action_space = action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        games, side = num_envs, LARGEST_SIDE
        self._boards = np.full((games, 4, side, side), OUTSIDE, np.int8)
        self._sizes = np.zeros((games, 4, 2), np.int64)
        self._trials, self._steps = np.zeros(games, np.int64), np.zeros(games, np.int64)
        self._task = np.zeros(games, np.int64)
        self._outcomes, self._ended = np.zeros(games, np.int8), np.zeros(games, bool)
        self._random = [np.random.default_rng() for _ in range(games)]
        self._shown = np.full((games, self._pairs, 2, side, side), OUTSIDE, np.int8) if demonstrations else None
        self._input = self._boards[:, INPUT].copy()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin every game anew; a whole-number seed gives game i the seed plus i."""
        seeds = [seed + game for game in range(self.num_envs)] if isinstance(seed, int) else seed
        for game, own in enumerate(seeds or ()):
            if own is not None:
                self._random[game] = np.random.Generator(np.random.PCG64(np.random.SeedSequence(own)))
        self._begin(np.arange(self.num_envs))
        return self._observation(), {"task": self._task.copy()}

    def step(self, actions: np.ndarray) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Observations, rewards float64, terminations and truncations bool [games]; raises ValueError as one game does."""
        given = np.ascontiguousarray(actions, np.int64).reshape(self.num_envs, 5)
        rewards, ended = np.empty(self.num_envs), np.empty(self.num_envs, bool)
        if not compiled.play_all(
            self._boards, self._sizes, self._trials, given, self._outcomes, rewards, ended, self._progress
        ):
            bad = given[self._outcomes == compiled.INVALID][0].tolist()
            raise ValueError(f"{bad} is outside the action space {self.single_action_space}")
        self._steps += 1
        truncated = (self._steps >= self.limit) & ~ended
        info: dict[str, Any] = {"refused": self._outcomes == REFUSED}
        over = np.flatnonzero(ended | truncated)
        if over.size:
            info |= {"final_obs": self._observation(), "_final_obs": ended | truncated}
            self._begin(over)
        info["task"] = self._task.copy()
        return self._observation(), rewards, ended, truncated, info

    def action_masks(self) -> np.ndarray:
        """A row a game of `env.arc.environment.masks`, bool [games, tools + 4 * 30]."""
        return np.stack([masks(sizes) for sizes in self._sizes])

    def _begin(self, games: np.ndarray) -> None:
        # Earlier observations share these arrays, read-only: what changes is written to new ones.
        self._input = self._input.copy()
        if self._shown is not None:
            self._shown = self._shown.copy()
        for game in games.tolist():
            random = self._random[game]
            number = int(random.integers(len(self.tasks)))
            task = self.tasks[number]
            test = int(random.integers(len(task.test)))
            lay_out(self._boards[game], self._sizes[game], task, test)
            self._task[game] = number
            self._input[game] = self._boards[game, INPUT]
            if self._shown is not None:
                self._shown[game] = demonstrated(task, self._pairs)
        self._input.setflags(write=False)
        if self._shown is not None:
            self._shown.setflags(write=False)
        self._trials[games] = self._steps[games] = 0

    def _observation(self) -> Observation:
        seen = {
            "clipboard": self._boards[:, CLIPBOARD].copy(),
            "grid": self._boards[:, OUTPUT].copy(),
            "input": self._input,
            "trials": TRIALS - self._trials,
        }
        return seen if self._shown is None else {**seen, "demonstrations": self._shown}

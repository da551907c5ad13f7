"""Many rounds at once for the trainer: a Stable-Baselines3 VecEnv that steps with array operations.

Plays as `CabinetEnv` does, game by game; each game keeps one noise level, so that one agent meets them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from env.cabinet.environment import platform_row
from env.cabinet.rules import BUDGET, COST
from env.identification.belief import Likelihood, without
from env.identification.observation import Observation, Observer, Shortlist, observation_space, rows
from env.identification.package import Package
from env.vector import SeededGames


class CabinetVecEnv(SeededGames):
    """`games` rounds in step. A finished round starts anew at once, its last observation kept in its info.

    `noise` is a level, or several that are dealt out to the games in equal shares; each game's belief assumes
    its own level. Seeded with s, game i plays as a `CabinetEnv` reset with seed s + i does.
    """

    standing = ("allowed", "row", "belief", "animal", "calls", "history")

    def __init__(
        self,
        package: Package,
        games: int,
        split: str = "hidden",
        candidates: str | None = None,
        noise: float | Sequence[float] = 0.0,
        shortlist: Shortlist = Shortlist(),
    ):
        self.package = package
        self.hidden = package.split(split)
        self.candidates = package.candidates(candidates or split)
        self.margin, self._missing = package.matrix.signed_margin(), package.matrix.missing_rate
        self.questions, self.animals = len(package.questions), len(package.animals)
        levels = np.atleast_1d(np.asarray(noise, dtype=np.float64))
        self.noise = np.sort(levels[np.arange(games) % len(levels)])
        """Level of each game, ascending, so that the games of one level lie together."""
        distinct, self._level = np.unique(self.noise, return_inverse=True)
        margin = self.margin[self.candidates]
        self._likelihoods = [Likelihood.from_margins(margin, float(level), missing=self._missing) for level in distinct]
        self._observer = Observer(self._likelihoods, distinct.tolist(), self.candidates, BUDGET, shortlist)
        self._place = np.full(self.animals, -1)
        self._place[self.candidates] = np.arange(len(self.candidates))
        super().__init__(
            games, observation_space(shortlist, self.questions, self.animals), self.questions + self.animals
        )
        self._allowed = np.zeros((games, self.questions + self.animals), dtype=bool)
        self._row = np.zeros((games, self.questions), dtype=bool)
        self._belief = np.zeros((games, len(self.candidates)))
        self._animal = np.zeros(games, dtype=np.int64)
        self._calls = np.zeros(games, dtype=np.int64)
        self._history = np.full((games, BUDGET), -1)
        """Action of each call, -1 where not made yet."""

    def step_wait(self) -> VecEnvStepReturn:
        """Observations, rewards float32 [games], ends bool [games], and an info a game."""
        actions, games = self._actions, np.arange(self.num_envs)
        asks = np.flatnonzero(actions < self.questions)
        guesses = np.flatnonzero(actions >= self.questions)
        solved = np.zeros(self.num_envs, dtype=bool)
        solved[guesses] = actions[guesses] - self.questions == self._animal[guesses]
        repeated = ~self._allowed[games, actions]
        self._history[games, self._calls] = actions
        self._calls += 1
        self._allowed[games, actions] = False
        fresh = asks[~repeated[asks]]
        for level, likelihood in enumerate(self._likelihoods):
            mine = fresh[self._level[fresh] == level]
            answers = self._row[mine, actions[mine]]
            self._belief[mine] = likelihood.updated(self._belief[mine], actions[mine], answers)
        wrong = guesses[~solved[guesses]]
        self._belief[wrong] = without(self._belief[wrong], self._place[actions[wrong] - self.questions])
        for game in np.flatnonzero(~self._belief.any(axis=1)).tolist():
            self._belief[game] = self._contradicted(game)
        ends = solved | (self._calls >= BUDGET)
        rewards = np.where(ends, np.maximum(solved - COST * self._calls, 0), 0).astype(np.float32)
        return self._finish(solved, ends, rewards)

    def _finish(self, solved: np.ndarray, ends: np.ndarray, rewards: np.ndarray) -> VecEnvStepReturn:
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        over = np.flatnonzero(ends)
        if over.size:
            last = self._observe()
            for game in over.tolist():
                infos[game] = {
                    "terminal_observation": rows(last, game),
                    "TimeLimit.truncated": False,
                    "calls": int(self._calls[game]),
                    "solved": bool(solved[game]),
                    "round_score": float(rewards[game]),
                    "episode": {"r": float(rewards[game]), "l": int(self._calls[game]), "t": 0.0},
                }
            self._start(over)
        return self._observe(), rewards, ends, infos

    def _start(self, games: np.ndarray) -> None:
        for game in games:
            random = self._random[game]
            self._animal[game] = self.hidden[random.integers(len(self.hidden))]
            margin, noise = self.margin[self._animal[game]], float(self.noise[game])
            self._row[game] = platform_row(margin, noise, random, self._missing)
        self._belief[games] = 1.0 / len(self.candidates)
        self._calls[games] = 0
        self._history[games] = -1
        self._allowed[games] = False
        self._allowed[games, : self.questions] = True
        self._allowed[games[:, None], self.questions + self.candidates[None]] = True

    def _contradicted(self, game: int) -> np.ndarray:
        calls = self._history[game, : self._calls[game]]
        asked = np.unique(calls[calls < self.questions])
        excluded = ~self._allowed[game, self.questions + self.candidates]
        return self._likelihoods[self._level[game]].likeliest_by_margin(asked, self._row[game, asked], excluded)

    def _observe(self) -> Observation:
        return self._observer.observe(self._belief, ~self._allowed[:, : self.questions], self._calls, self._level)

    def _possible(self, state: Mapping[str, np.ndarray]) -> bool:
        calls, animal, history, belief = (state[name] for name in ("calls", "animal", "history", "belief"))
        return bool(
            ((calls >= 0) & (calls < BUDGET)).all()
            and np.isin(animal, self.hidden).all()
            and ((history >= -1) & (history < self._allowed.shape[1])).all()
            and ((belief >= 0) & (belief <= 1)).all()
        )

    def action_masks(self) -> np.ndarray:
        """Which actions can still help, bool [games, questions + animals]; see `CabinetEnv.action_masks`."""
        return self._allowed

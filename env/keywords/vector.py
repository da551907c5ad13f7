"""Many games at once for the trainer: a Stable-Baselines3 VecEnv. Plays as `KeywordsEnv` does, game by game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from env.identification.observation import Observation, Shortlist, rows
from env.keywords.belief import Noise, Transcript
from env.keywords.comparison import ROUNDS
from env.keywords.environment import SHORTLIST, assumed, drawn_from, hidden_keyword, partner_of
from env.keywords.observation import observation_space, observe
from env.keywords.rules import SCALE, reward
from env.keywords.world import SHARES, Partner, World
from env.vector import SeededGames


class KeywordsVecEnv(SeededGames):
    """`games` games in step. A finished game starts anew at once, its last observation kept in its info.

    Arguments as in `KeywordsEnv`. Seeded with s, game i plays as a `KeywordsEnv` reset with seed s + i does.
    """

    standing = ("asked", "said", "guessed", "row", "keyword", "turn")

    def __init__(
        self,
        world: World | str | None,
        games: int,
        partner: Partner | tuple[float, float] = 0.1,
        noise: Partner | Noise | None = None,
        shares: tuple[float, ...] = SHARES,
        assumed_shares: tuple[float, ...] | None = None,
        outside: float = 0.0,
        shortlist: Shortlist = SHORTLIST,
    ):
        self.belief = assumed(world, partner, noise, shares if assumed_shares is None else assumed_shares)
        self.world = self.belief.world
        self.partner, self.outside, self.shortlist = partner, outside, shortlist
        self.prior = drawn_from(self.world, shares)
        self.keywords, self.questions = self.world.answers.shape
        super().__init__(
            games, observation_space(shortlist, self.questions, self.keywords), self.questions + self.keywords
        )
        empty = Transcript.empty(games)
        self._asked, self._said, self._guessed = empty.asked, empty.said, empty.guessed
        self._row = np.zeros((games, self.questions), dtype=bool)
        self._keyword = np.zeros(games, dtype=np.int64)
        self._turn = np.zeros(games, dtype=np.int64)

    def step_wait(self) -> VecEnvStepReturn:
        """Observations, rewards float32 [games], ends bool [games], and an info a game."""
        actions, number = self._actions, self._turn // 2
        guessing, question = self._turn % 2 == 1, actions < self.questions
        fresh = ~(self._asked == actions[:, None]).any(axis=1)
        asks = np.flatnonzero(~guessing & question & fresh)
        self._asked[asks, number[asks]] = actions[asks]
        self._said[asks, number[asks]] = self._row[asks, actions[asks]]
        guess = actions - self.questions
        solved = guessing & (guess == self._keyword) & ~question
        wrong = np.flatnonzero(guessing & ~question & ~solved)
        self._guessed[wrong, number[wrong]] = guess[wrong]
        self._turn += 1
        ends = solved | (self._turn == 2 * ROUNDS)
        rewards = np.zeros(self.num_envs, np.float32)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        over = np.flatnonzero(ends)
        if over.size:
            last = self._observe(over)
            for place, game in enumerate(over.tolist()):
                won_in = int(number[game]) + 1
                paid = reward(won_in if solved[game] else None)
                rewards[game] = SCALE * paid
                infos[game] = {
                    "terminal_observation": rows(last, place),
                    "TimeLimit.truncated": False,
                    "round": won_in,
                    "solved": bool(solved[game]),
                    "reward": paid,
                    "episode": {"r": float(rewards[game]), "l": int(self._turn[game]), "t": 0.0},
                }
            self._start(over)
        return self._observe(), rewards, ends, infos

    def _start(self, games: np.ndarray) -> None:
        for game in games:
            random = self._random[game]
            partner = partner_of(self.partner, random)
            keyword, row = hidden_keyword(self.world, partner, self.prior, self.outside, random)
            self._keyword[game], self._row[game] = keyword, row
        self._asked[games], self._said[games], self._guessed[games] = -1, False, -1
        self._turn[games] = 0

    def _observe(self, games: np.ndarray | slice = slice(None)) -> Observation:
        turn = np.minimum(self._turn[games], 2 * ROUNDS - 1)
        seen = Transcript(self._asked, self._said, self._guessed)[games]
        return observe(self.belief, seen, turn // 2, turn % 2 == 1, self.shortlist)

    def _possible(self, state: Mapping[str, np.ndarray]) -> bool:
        asked, guessed, keyword, turn = (state[name] for name in ("asked", "guessed", "keyword", "turn"))
        return bool(
            ((asked >= -1) & (asked < self.questions)).all()
            and ((guessed >= -1) & (guessed < self.keywords)).all()
            and ((keyword >= -1) & (keyword < self.keywords)).all()
            and ((turn >= 0) & (turn < 2 * ROUNDS)).all()
        )

    def action_masks(self) -> np.ndarray:
        """What each turn is for and was not done before, bool [games, questions + keywords]."""
        mask = np.zeros((self.num_envs, self.questions + self.keywords), dtype=bool)
        guessing = self._turn % 2 == 1
        mask[guessing, self.questions :] = True
        mask[~guessing, : self.questions] = True
        for done, first in ((self._asked, 0), (self._guessed, self.questions)):
            game, number = np.nonzero(done >= 0)
            mask[game, first + done[game, number]] = False
        return mask

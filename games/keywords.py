"""LLM 20 Questions as the trainer sees it: its rounds, network, evaluation, lessons, and what is reported at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from agents.identification.lessons import teach
from agents.identification.policy import ShortlistPolicy, ShortlistRolloutBuffer
from agents.keywords.lessons import lesson
from agents.keywords.players import BeliefPlayer, TrainedPlayer, play
from agents.keywords.run import GAME, KeywordsSettings, identity, world_for
from agents.runs import Run
from agents.trainer import Evaluation
from env.errors import UserError
from env.keywords.belief import Belief, Noise
from env.keywords.comparison import ROUNDS
from env.keywords.rules import reward
from env.keywords.vector import KeywordsVecEnv
from export.keywords.command import export

MOST_KEYWORDS = 100_000
"""Of a synthetic world: some 50 million answers."""

TOLD = (0.05, 0.1, 0.2)
"""Rates of wrong answers that the agent is also taught to play under when it is told them."""

SAMPLES = 10**6
"""Seeds from here on are of games that neither trainings nor evaluations play."""


class Keywords:
    """LLM 20 Questions in one world; see `agents.trainer.Game`."""

    name = GAME
    elsewhere = "name its own package with --package DIR"
    best_by = "unknown_noise"
    policy = ShortlistPolicy
    rollout_buffer = ShortlistRolloutBuffer

    def __init__(self, chosen: KeywordsSettings):
        """Load the world. Raises UserError where it cannot be played."""
        if chosen.lowest > chosen.highest:
            raise UserError(f"--lowest {chosen.lowest:g} is above --highest {chosen.highest:g}")
        if chosen.package is None and sum(chosen.tiers) > MOST_KEYWORDS:
            raise UserError(f"--tiers {' '.join(map(str, chosen.tiers))}: at most {MOST_KEYWORDS:,} keywords in all")
        self.choices = replace(chosen, package=None if chosen.package is None else chosen.package.absolute())
        self.table = world_for(chosen)
        self.belief = Belief.untold(self.table)
        self.shares = self.table.doubted()
        """Of the tiers in the games: some have the usual prior, in the others every tier is as likely."""

    @property
    def title(self) -> str:
        """The package's folder, or the game."""
        return GAME if self.choices.package is None else self.choices.package.name

    @property
    def world(self) -> Mapping[str, Any]:
        """Digest and sizes of the table."""
        return identity(self.table)

    @property
    def policy_arguments(self) -> Mapping[str, Any]:
        """Width of the scorer."""
        return {"width": self.choices.width}

    def worlds(self, games: int) -> KeywordsVecEnv:
        """Games whose partner errs at a drawn rate, of which the agent is told nothing; nor is it of a drawn prior."""
        chosen = self.choices
        rates = (chosen.lowest, chosen.highest)
        return KeywordsVecEnv(self.table, games, rates, shares=self.shares, shortlist=chosen.shortlist)

    def evaluate(self, policy: ShortlistPolicy) -> Evaluation:
        """Games won, in percent, told nothing of the noise, always the same games; and the mean reward.

        The agent as it leaves, which looks ahead late in a game, and its network alone.
        """
        hidden, answers = self._games(self.choices.trials, seed=0)
        agent = self._player(policy)
        won, _ = play(agent, answers, hidden)
        alone, _ = play(replace(agent, look_from=ROUNDS + 1), answers, hidden)
        rewards = np.array([reward(number or None) for number in won.tolist()])
        return Evaluation(
            {self.best_by: 100 * float((won > 0).mean()), "network_alone": 100 * float((alone > 0).mean())},
            {"mean_reward": float(rewards.mean())},
            {"round": won[won > 0].astype(np.float32)},
        )

    def sample(self, policy: ShortlistPolicy, seed: int) -> Mapping[str, float]:
        """Games won, in percent, told nothing of the noise."""
        chosen = self.choices
        hidden, answers = self._games(chosen.trials, SAMPLES + seed)
        won, _ = play(self._player(policy), answers, hidden)
        condition = f"{chosen.trials} games, noise {chosen.lowest:g} to {chosen.highest:g}"
        return {condition: 100 * float((won > 0).mean())}

    def teach(self, policy: ShortlistPolicy, seed: int, status: Callable[[str], AbstractContextManager[Any]]) -> float:
        """Fit the policy to what looking ahead to winning finds, noise unknown and told."""
        lessons = []
        for place, rate in enumerate((None, *TOLD)):
            with status("looking ahead, noise unknown" if rate is None else f"looking ahead, noise {rate:g}"):
                belief = self.belief
                if rate is not None:
                    belief = Belief.of(self.table, Noise.flat(rate, len(self.table.clarity)), self.shares)
                hidden, answers = self._games(self.choices.lesson_games, 1 + seed * 10 + place, rate)
                lessons.append(lesson(belief, hidden, answers, self.choices.shortlist, self.choices.look_from))
        with status("learning"):
            return teach(policy, lessons, seed)

    def export(self, run: Run, console: Console) -> None:
        """Say how the best agent plays, beside belief with most information, in the same games; write its agent file.

        A synthetic world has no words: then the file plays the embedded package.
        """
        record = run.record()
        assert record is not None
        best = record.best
        assert best is not None
        hidden, answers = self._games(self.choices.trials, seed=0)
        won, _ = play(BeliefPlayer(self.belief), answers, hidden)
        console.print(
            f"win rate, noise unknown: agent {record.best_score:.1f}, belief {100 * (won > 0).mean():.1f}, "
            f"the same {len(hidden)} games"
        )
        console.print(f"agent       {run.path(best)}", soft_wrap=True)
        export(run.folder)

    def _player(self, policy: ShortlistPolicy) -> TrainedPlayer:
        """The policy as it leaves, told nothing of the noise."""
        return TrainedPlayer(self.belief, policy, self.choices.shortlist, self.choices.look_from)

    def _games(self, games: int, seed: int, rate: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Hidden keywords and answers; each game's rate is drawn where it is None."""
        chosen = self.choices
        drawn = np.random.default_rng([seed, 1]).uniform(chosen.lowest, chosen.highest, games)
        return self.table.draw(drawn if rate is None else rate, games, seed, self.shares)

"""Rounds played live by a player: on fixed answers call by call, or in expectation by playing on from the start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.identification import compiled
from agents.identification.players import Player, RankedPlayer
from env.cabinet.environment import platform_row
from env.cabinet.rules import BUDGET, COST
from env.identification.belief import without


@dataclass(frozen=True)
class Rounds:
    """What became of each round, in the order that they were given."""

    solved: np.ndarray
    """bool [rounds]."""
    calls: np.ndarray
    """int64 [rounds]."""
    actions: np.ndarray
    """int64 [rounds, BUDGET], in the numbering of the environment, -1 after the end."""

    @property
    def score(self) -> np.ndarray:
        """Round scores, 0 to 0.98, float64 [rounds]."""
        return np.maximum(self.solved - COST * self.calls, 0.0)


def play(player: Player, answers: np.ndarray, animals: np.ndarray) -> Rounds:
    """Play round i on hidden animal `animals[i]`, answered by `answers[i]`, bool [rounds, questions]."""
    rounds, questions = answers.shape
    likelihood, candidates = player.likelihood, player.candidates
    belief = likelihood.prior(rounds)
    asked = np.zeros((rounds, questions), dtype=bool)
    guessed = np.zeros((rounds, len(candidates)), dtype=bool)
    place = np.full(max(animals.max(), candidates.max()) + 1, -1)
    place[candidates] = np.arange(len(candidates))
    solved, calls = np.zeros(rounds, dtype=bool), np.zeros(rounds, dtype=np.int64)
    actions = np.full((rounds, BUDGET), -1)
    heard = np.full((rounds, BUDGET), -1)
    playing = np.arange(rounds)
    for call in range(BUDGET):
        # Rounds that heard the same so far are in the same state: each state is decided once.
        _, first, state = np.unique(heard[playing, :call], axis=0, return_index=True, return_inverse=True)
        distinct = playing[first]
        decided = player.decide(belief[distinct], asked[distinct], np.full(len(distinct), call))
        action = decided[state.reshape(-1)]
        actions[playing, call] = action
        calls[playing] += 1
        asks = action < questions
        solved[playing] = action - questions == animals[playing]
        on, chosen = playing[asks], action[asks]
        heard[playing, call] = 2 * action
        heard[on, call] += answers[on, chosen]
        belief[on] = likelihood.updated(belief[on], chosen, answers[on, chosen])
        asked[on, chosen] = True
        wrong = playing[~asks & ~solved[playing]]
        guess = place[actions[wrong, call] - questions]
        belief[wrong] = without(belief[wrong], guess)
        guessed[wrong, guess] = True
        playing = playing[~solved[playing]]
        for game in playing[~belief[playing].any(axis=1)]:
            known = np.flatnonzero(asked[game])
            belief[game] = likelihood.likeliest_by_margin(known, answers[game, known], guessed[game])
    return Rounds(solved, calls, actions)


def platforms(margin: np.ndarray, noise: float, seed: int, missing: np.ndarray | float = 0.5) -> np.ndarray:
    """Answers of one drawn platform a round, bool [rounds, questions]; `margin` float32 [rounds, questions]."""
    return platform_row(margin, noise, np.random.default_rng(seed), missing)


def expected_score(player: RankedPlayer) -> float:
    """Expected score x100 of a player over its candidates when platforms answer as it assumes; exact, no sampling."""
    candidates, questions = player.likelihood.p_yes.shape
    value = compiled.play_on(
        player.rules,
        player.likelihood.table,
        np.arange(candidates),
        np.full(candidates, 1 / candidates),
        np.zeros(questions, dtype=bool),
        0,
        compiled.DROPPED / candidates,
        compiled.EXACT,
        np.zeros(1, np.int64),
    )
    return 100 * float(value)

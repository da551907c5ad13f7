"""Rounds played live by a player: on fixed answers call by call, or in expectation by playing on from the start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.identification import compiled
from agents.identification.players import Player, RankedPlayer
from env.cabinet.environment import platform_row
from env.cabinet.rules import BUDGET, COST
from env.identification.belief import without

TOGETHER = 2**21
"""Beliefs times candidates that are played together: 16 MiB, and at most one such batch waits at each call."""


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
    """Play round i on hidden animal `animals[i]`, answered by `answers[i]`, bool [rounds, questions].

    Rounds that heard the same so far are in one state, which is kept and decided once. Depth first, in batches of
    at most `TOGETHER` beliefs times candidates: what is held does not grow with the number of rounds.
    """
    rounds, questions = answers.shape
    likelihood, candidates = player.likelihood, player.candidates
    place = np.full(max(animals.max(), candidates.max()) + 1, -1)
    place[candidates] = np.arange(len(candidates))
    solved, calls = np.zeros(rounds, dtype=bool), np.zeros(rounds, dtype=np.int64)
    actions = np.full((rounds, BUDGET), -1)
    width = max(TOGETHER // len(candidates), 1)
    stack = [(0, np.arange(rounds), np.zeros(rounds, np.int64), likelihood.prior(1), np.zeros((1, questions), bool))]
    while stack:
        call, playing, state, belief, asked = stack.pop()
        decided = player.decide(belief, asked, np.full(len(belief), call))
        action = decided[state]
        actions[playing, call] = action
        calls[playing] = call + 1
        solved[playing] = action - questions == animals[playing]
        if call + 1 == BUDGET:
            continue
        yes = np.zeros(len(playing), bool)
        asks = action < questions
        yes[asks] = answers[playing[asks], action[asks]]
        on = ~solved[playing]
        playing = playing[on]
        heard, first, child = np.unique(2 * state[on] + yes[on], return_index=True, return_inverse=True)
        for start in range(0, len(heard), width):
            parent, says_yes = np.divmod(heard[start : start + width], 2)
            made, asking = decided[parent], decided[parent] < questions
            after, asked_after = np.empty((len(parent), len(candidates))), asked[parent]
            after[asking] = likelihood.updated(belief[parent[asking]], made[asking], says_yes[asking] == 1)
            after[~asking] = without(belief[parent[~asking]], place[made[~asking] - questions])
            asked_after[asking, made[asking]] = True
            for game in np.flatnonzero(~after.any(axis=1)):
                one = playing[first[start + game]]
                known = np.flatnonzero(asked_after[game])
                guesses = actions[one, : call + 1][actions[one, : call + 1] >= questions]
                guessed = np.isin(candidates, guesses - questions)
                after[game] = likelihood.likeliest_by_margin(known, answers[one, known], guessed)
            here = (child >= start) & (child < start + width)
            stack.append((call + 1, playing[here], child[here] - start, after, asked_after))
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

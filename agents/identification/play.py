"""Rounds played live by a player: on fixed answers call by call, or in expectation by playing on from the start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from agents.identification import compiled
from agents.identification.players import Player, RankedPlayer, place_of
from env.cabinet.environment import platform_row
from env.cabinet.rules import BUDGET, COST
from env.identification.support import Beliefs

TOGETHER = 2**21
"""Entries of beliefs that are played together: 24 MiB, and at most one such batch waits at each call."""


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
    at most `TOGETHER` entries of beliefs: what is held does not grow with the number of rounds.
    """
    rounds, questions = answers.shape
    likelihood, candidates = player.likelihood, player.candidates
    solved, calls = np.zeros(rounds, dtype=bool), np.zeros(rounds, dtype=np.int64)
    actions = np.full((rounds, BUDGET), -1)
    start = Beliefs.prior(len(candidates))
    stack = [(0, np.arange(rounds), np.zeros(rounds, np.int64), start, np.zeros((1, questions), bool))]
    while stack:
        call, playing, state, beliefs, asked = stack.pop()
        decided = player.decide(beliefs, asked, np.full(len(beliefs), call))
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
        for part in _parts(np.diff(beliefs.starts)[heard // 2]):
            parent, says_yes = np.divmod(heard[part], 2)
            made, asking = decided[parent], decided[parent] < questions
            question, candidate = (
                np.where(asking, made, -1),
                np.where(asking, -1, place_of(candidates, made - questions)),
            )
            after, _ = beliefs.after(likelihood.by_question, parent, question, says_yes == 1, candidate)
            asked_after = asked[parent]
            asked_after[asking, made[asking]] = True
            contradicted = np.flatnonzero(after.empty)
            if contradicted.size:
                rows = []
                for game in contradicted:
                    one = playing[first[part.start + game]]
                    known = np.flatnonzero(asked_after[game])
                    guesses = actions[one, : call + 1][actions[one, : call + 1] >= questions]
                    guessed = np.isin(candidates, guesses - questions)
                    rows.append(likelihood.likeliest_by_margin(known, answers[one, known], guessed))
                after = after.replaced(contradicted, np.stack(rows))
            here = (child >= part.start) & (child < part.stop)
            stack.append((call + 1, playing[here], child[here] - part.start, after, asked_after))
    return Rounds(solved, calls, actions)


def _parts(entries: np.ndarray) -> Iterator[slice]:
    """Slices of states, each of at most `TOGETHER` entries of beliefs, or of one state."""
    held = np.cumsum(entries)
    start = 0
    while start < len(entries):
        before = held[start - 1] if start else 0
        stop = max(int(np.searchsorted(held, before + TOGETHER, side="right")), start + 1)
        yield slice(start, stop)
        start = stop


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

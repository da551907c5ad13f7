"""The players that a trained agent must beat, from no thought at all to the best that a fixed rule can do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.identification.play import expected_score
from agents.identification.players import RankedPlayer, belief_player
from env.cabinet.rules import BUDGET
from env.identification.belief import Likelihood
from env.identification.package import Package
from env.identification.support import Beliefs

THRESHOLDS = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
"""Posteriors from which the belief baseline may guess; the best one is taken for each noise."""

FIXED = 12
"""Questions of the fixed list."""

SOFT = (0.9, 0.1)
"""P(yes) that soft weights give to a candidate whose local answer is yes, and no."""


@dataclass(frozen=True)
class RandomPlayer:
    """Takes any action that was not taken yet, all alike; the same state decides the same."""

    candidates: np.ndarray
    likelihood: Likelihood
    seed: int = 0

    def decide(self, beliefs: Beliefs, asked: np.ndarray, calls: np.ndarray) -> np.ndarray:
        """Any open question or candidate; see `Player.decide`."""
        games, questions = asked.shape
        actions = np.empty(games, np.int64)
        for game in range(games):
            open_asks = np.flatnonzero(~asked[game])
            open_guesses = questions + self.candidates[beliefs.game(game)[0]]
            random = np.random.default_rng([self.seed, *np.flatnonzero(asked[game]).tolist(), int(calls[game])])
            actions[game] = random.choice(np.concatenate([open_asks, open_guesses]))
        return actions


@dataclass(frozen=True)
class FixedPlayer:
    """Asks the same broad questions of everybody, then guesses by nearest match."""

    candidates: np.ndarray
    likelihood: Likelihood
    asks: np.ndarray
    """Question identifiers in their order."""

    def decide(self, beliefs: Beliefs, asked: np.ndarray, calls: np.ndarray) -> np.ndarray:
        """The next question of the list, or the likeliest candidate; see `Player.decide`."""
        questions = asked.shape[1]
        guess = questions + self.candidates[beliefs.likeliest(1)[0][:, 0]]
        return np.where(calls < len(self.asks), self.asks[np.minimum(calls, len(self.asks) - 1)], guess)


def random_player(package: Package, candidates: np.ndarray) -> RandomPlayer:
    """Any action, all alike."""
    return RandomPlayer(
        candidates,
        Likelihood.from_margins(package.matrix.signed_margin()[candidates], 0.0, missing=package.matrix.missing_rate),
    )


def fixed_player(package: Package, candidates: np.ndarray) -> FixedPlayer:
    """The twelve questions nearest to an even split, then nearest match: fewest contradictions first."""
    margin = package.matrix.signed_margin()[candidates]
    evenness = np.abs((margin > 0).mean(axis=0) - 0.5)
    asks = np.argsort(evenness, kind="stable")[: min(FIXED, BUDGET - 1)]
    return FixedPlayer(candidates, _soft_likelihood(margin), asks)


def even_split(package: Package, candidates: np.ndarray) -> RankedPlayer:
    """Splits what is left as evenly as it can and rules out whatever contradicts an answer (hard filtering)."""
    return belief_player(package, candidates, 0.0, 0.5)


def soft_weights(package: Package, candidates: np.ndarray) -> RankedPlayer:
    """Weights x0.9 and x0.1 for agreeing and contradicting; guesses at 0.9 or with four calls left."""
    threshold = np.full(BUDGET, 0.9)
    threshold[BUDGET - 4 :] = 0.0
    likelihood = _soft_likelihood(package.matrix.signed_margin()[candidates])
    return belief_player(package, candidates, 0.0, threshold, likelihood)


def best_belief(
    package: Package, candidates: np.ndarray, noise: float, likelihood: Likelihood | None = None
) -> tuple[RankedPlayer, float]:
    """Belief with margins, best information gain, and the guess threshold that is best at this noise; with it.

    `likelihood` says how an answer is read, rows in the order of `candidates`; by Gaussian noise when None.
    """
    if likelihood is None:  # one for all thresholds
        margin = package.matrix.signed_margin()[candidates]
        likelihood = Likelihood.from_margins(margin, noise, missing=package.matrix.missing_rate)
    players = {threshold: belief_player(package, candidates, noise, threshold, likelihood) for threshold in THRESHOLDS}
    best = max(THRESHOLDS, key=lambda threshold: expected_score(players[threshold]))
    return players[best], best


def _soft_likelihood(margin: np.ndarray) -> Likelihood:
    return Likelihood(np.where(np.isnan(margin), 0.5, np.where(margin > 0, *SOFT)), margin)

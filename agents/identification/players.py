"""Who plays: the trained agent and the baselines it must beat, as one kind of thing. Observation in, action out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from agents.identification import compiled
from agents.identification.compiled import DROPPED, Rules
from agents.identification.policy import ShortlistPolicy
from agents.identification.solve import solve_all
from env.cabinet.rules import BUDGET, round_score
from env.identification.belief import Likelihood
from env.identification.compiled import RANKS
from env.identification.matrix import Curve
from env.identification.observation import Shortlist
from env.identification.package import Package
from env.identification.support import Beliefs

POINTS = np.array([round_score(True, calls + 1) for calls in range(BUDGET)])
"""Round score of a right guess after n consumed calls, float64 [BUDGET]."""


class Player(Protocol):
    """Keeps a belief by its own likelihood and decides by nothing else: a pure function of belief and calls."""

    @property
    def candidates(self) -> np.ndarray:
        """Animals with prior mass, int64 [candidates]."""

    @property
    def likelihood(self) -> Likelihood:
        """How the player reads an answer, rows in the order of `candidates`."""

    def decide(self, beliefs: Beliefs, asked: np.ndarray, calls: np.ndarray) -> np.ndarray:
        """Actions int64 [games] in the numbering of the environment: questions first, then animals.

        `asked` bool [games, questions]; `calls` consumed, int64 [games].
        """


@dataclass(frozen=True)
class RankedPlayer:
    """A player that ranks its actions, and that others can play on from any belief."""

    candidates: np.ndarray
    likelihood: Likelihood
    rules: Rules

    def decide(self, beliefs: Beliefs, asked: np.ndarray, calls: np.ndarray) -> np.ndarray:
        """The best-ranked action of each game; see `Player.decide`."""
        return self.to_actions(self.ranked(beliefs, asked, calls, 1)[:, 0])

    def ranked(self, beliefs: Beliefs, asked: np.ndarray, calls: np.ndarray, wanted: int) -> np.ndarray:
        """The best actions of each game, best first, -1 where there are no more, int64 [games, wanted].

        A guess stands here as the number of questions plus the candidate's place.
        """
        actions = np.empty((len(beliefs), wanted), np.int64)
        compiled.rank_all(
            self.rules, self.likelihood.table, beliefs.starts, beliefs.ids, beliefs.mass, asked, calls.astype(np.int64),
            actions,
        )  # fmt: skip
        return actions

    def to_actions(self, ranked: np.ndarray) -> np.ndarray:
        """Actions of the environment for ranked ones (candidates' places become animals)."""
        questions = self.likelihood.p_yes.shape[1]
        return np.where(ranked < questions, ranked, questions + self.candidates[np.maximum(ranked - questions, 0)])


def place_of(candidates: np.ndarray, animals: np.ndarray) -> np.ndarray:
    """Places of `animals` among the candidates (int64 [candidates]), int64 of the same shape; -1 for any other."""
    place = np.full(int(candidates.max()) + 2, -1)  # the last one stands for whoever is beyond
    place[candidates] = np.arange(len(candidates))
    return place[np.where((animals >= 0) & (animals < len(place)), animals, -1)]


def _rules(noise: float, threshold: np.ndarray, shortlist: Shortlist, network: list[np.ndarray | float]) -> Rules:
    none, flat, empty = np.empty((0, 0), np.float32), np.empty(0, np.float32), 0.0
    absent = [none, none, flat, none, flat, flat, empty] * 2
    focus = max(shortlist.focus, shortlist.guesses, RANKS)
    return Rules(
        threshold, POINTS, noise, shortlist.asks, shortlist.guesses, focus, int(bool(network)), *(network or absent)
    )


def belief_player(
    package: Package,
    candidates: np.ndarray,
    noise: float,
    threshold: float | np.ndarray,
    likelihood: Likelihood | None = None,
) -> RankedPlayer:
    """Asks by information gain and guesses at a posterior of `threshold` (one, or one for each consumed call)."""
    if likelihood is None:
        likelihood = Likelihood.from_margins(
            package.matrix.signed_margin()[candidates], noise, missing=package.matrix.missing_rate
        )
    by_call = np.broadcast_to(np.asarray(threshold, np.float64), (BUDGET,)).copy()
    return RankedPlayer(candidates, likelihood, _rules(noise, by_call, Shortlist(), []))


def trained_player(
    policy: ShortlistPolicy,
    package: Package,
    candidates: np.ndarray,
    noise: float,
    shortlist: Shortlist,
    curve: Curve | None = None,
) -> RankedPlayer:
    """The trained agent playing greedily, believing that a platform's noise is `noise`, or its flips are `curve`."""
    likelihood = Likelihood.from_margins(
        package.matrix.signed_margin()[candidates], noise, curve=curve, missing=package.matrix.missing_rate
    )
    shortlist = Shortlist(min(shortlist.asks, likelihood.p_yes.shape[1]), shortlist.guesses, shortlist.focus)
    network: list[np.ndarray | float] = []
    scorer = policy.scorer
    for inward, state, hidden, last in (
        (scorer.ask_in, scorer.ask_state, scorer.ask_hidden, scorer.ask_last),
        (scorer.guess_in, scorer.guess_state, scorer.guess_hidden, scorer.guess_last),
    ):
        tensors = [inward.weight.T, state.weight.T, inward.bias, hidden.weight.T, hidden.bias, last.weight[0]]
        network += [np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=np.float32) for tensor in tensors]
        network.append(float(last.bias.item()))
    return RankedPlayer(candidates, likelihood, _rules(noise, np.ones(BUDGET), shortlist, network))


@dataclass(frozen=True)
class Lookahead:
    """A player that improves another: the best of its first few actions, each valued by playing it on, exactly.

    One such step never lowers the expected score (policy improvement; Bertsekas and Tsitsiklis 1996, rollout).
    A handful of candidates is solved outright instead, see `agents.identification.solve`.
    """

    player: RankedPlayer
    asks: int = 8
    """Actions of the player that are valued, the likeliest guess among them in any case."""
    wider: int = 0
    """Actions valued after each answer; 0 looks one call ahead only."""
    work: list[int] | None = None
    """Collects the number of beliefs met, if given."""

    @property
    def candidates(self) -> np.ndarray:
        """See `Player`."""
        return self.player.candidates

    @property
    def likelihood(self) -> Likelihood:
        """See `Player`."""
        return self.player.likelihood

    def decide(self, beliefs: Beliefs, asked: np.ndarray, calls: np.ndarray) -> np.ndarray:
        """The action of the highest value; the player's own where none is better. See `Player.decide`."""
        return self.chosen(*self.valued(beliefs, asked, calls))

    def chosen(self, options: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Of what `valued` gives, the best action of each game, in the numbering of the environment."""
        best = np.where(values.max(axis=1) > values[:, 0] + 1e-9, values.argmax(axis=1), 0)
        return self.player.to_actions(options[np.arange(len(options)), best])

    def valued(self, beliefs: Beliefs, asked: np.ndarray, calls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first few actions of each game and their values, both [games, asks + 1].

        Actions stand as `RankedPlayer.ranked` gives them; a value is the expected round score, -1 where there is
        no action, or only one, which needs no value: so it is where a handful of candidates was solved.
        """
        questions = self.likelihood.p_yes.shape[1]
        calls = calls.astype(np.int64)
        options = self.player.ranked(beliefs, asked, calls, self.asks + 1)
        solved = np.empty(len(options), np.int64)
        support = beliefs.starts, beliefs.ids, beliefs.mass
        solve_all(self.player.rules.points, self.likelihood.table, *support, asked, calls, DROPPED, solved)
        options[solved >= 0, 0], options[solved >= 0, 1:] = solved[solved >= 0], -1
        guess = questions + beliefs.likeliest(1)[0][:, 0]
        # The likeliest guess takes the last place where it is not among the options already.
        missing = ~(options == guess[:, None]).any(axis=1) & (options[:, 1] >= 0)
        options[missing, -1] = guess[missing]
        open_choice = (options >= 0) & (options[:, 1:2] >= 0)
        game, place = np.nonzero(open_choice)
        value = np.empty(len(game))
        work = np.zeros(len(game), np.int64)
        compiled.value_all(
            self.player.rules, self.likelihood.table, *support, asked, calls, game, options[game, place],
            self.wider, value, work,
        )  # fmt: skip
        if self.work is not None:
            self.work.append(int(work.sum()))
        values = np.full(options.shape, -1.0)
        values[game, place] = value
        return options, values

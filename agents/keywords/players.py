"""Who plays LLM 20 Questions, and games played by them: a transcript in, a question or a keyword out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch as th

from agents.identification.policy import ShortlistPolicy
from agents.keywords import compiled
from env.identification.observation import Shortlist
from env.keywords.belief import Belief, Noise, Transcript
from env.keywords.comparison import ROUNDS
from env.keywords.observation import observe
from env.keywords.world import World

WIDTH = 16
"""Most informative questions that are looked at."""

AS_GOOD = 1e-4
"""Difference of two of the network's scores that is none: the one that stands first is chosen."""

FOCUS = 256
"""Likeliest keywords that looking ahead reckons with."""


class Player(Protocol):
    """Decides by what was said, by nothing else: the same transcript, the same decision."""

    def ask(self, seen: Transcript) -> np.ndarray:
        """Question of each game, int64 [games]."""

    def guess(self, seen: Transcript) -> np.ndarray:
        """Keyword of each game, int64 [games], after this round's answer."""


@dataclass(frozen=True)
class RandomPlayer:
    """Asks and guesses anything that it did not before."""

    world: World
    seed: int = 0

    def ask(self, seen: Transcript) -> np.ndarray:
        """See `Player`."""
        return self._open(seen, seen.asked, self.world.answers.shape[1])

    def guess(self, seen: Transcript) -> np.ndarray:
        """See `Player`."""
        return self._open(seen, seen.guessed, self.world.answers.shape[0])

    def _open(self, seen: Transcript, used: np.ndarray, size: int) -> np.ndarray:
        chosen = np.empty(len(seen), np.int64)
        for game, past in enumerate(used):
            heard = (2 * seen.asked[game] + seen.said[game])[seen.asked[game] >= 0]
            random = np.random.default_rng([self.seed, *heard.tolist()])
            open_ids = np.setdiff1d(np.arange(size), past)
            chosen[game] = random.choice(open_ids)
        return chosen


@dataclass(frozen=True)
class Recipe:
    """The published recipe: scores, no likelihoods.

    Start scores fall by half a point a tier, an agreement adds one, a tie nothing, a wrong guess is removed. It asks
    what splits the keywords of the top score best, and guesses the first of them.
    """

    world: World
    minus: bool = False
    """The form that also subtracts one for a disagreement and counts the keywords from the second best one up."""

    def ask(self, seen: Transcript) -> np.ndarray:
        """See `Player`."""
        questions = np.empty(len(seen), np.int64)
        compiled.recipe_asks(
            self.world.answers, self.world.by_question, *self._start(), self.minus,
            seen.asked, seen.said, seen.guessed, questions,
        )  # fmt: skip
        return questions

    def guess(self, seen: Transcript) -> np.ndarray:
        """See `Player`."""
        keywords = np.empty(len(seen), np.int64)
        compiled.recipe_guesses(
            self.world.by_question, *self._start(), seen.asked, seen.said, seen.guessed, keywords
        )  # fmt: skip
        return keywords

    def _start(self) -> tuple[np.ndarray, int]:
        return -self.world.tier.astype(np.int16), 2 * self.minus


@dataclass(frozen=True)
class BeliefPlayer:
    """Asks the most informative question and guesses the likeliest keyword; late in a game it may look to winning."""

    belief: Belief
    look_from: int = ROUNDS + 1
    """Round from which, of the most informative questions, the one is asked after which the guesses left cover most."""
    deeper: bool = False
    """Whether the question after that one is looked at too."""

    def ask(self, seen: Transcript) -> np.ndarray:
        """See `Player`."""
        begun = (seen.asked >= 0).sum(axis=1)
        left = np.where(begun + 1 >= self.look_from, ROUNDS - begun, 0)
        questions = np.empty(len(seen), np.int64)
        compiled.informative_asks(
            self.belief.tables, seen.asked, seen.said, seen.guessed, left, self.deeper, WIDTH, FOCUS, questions,
        )  # fmt: skip
        return questions

    def guess(self, seen: Transcript) -> np.ndarray:
        """See `Player`."""
        return self.belief.likeliest(seen)


@dataclass(frozen=True)
class TrainedPlayer:
    """The trained agent: of what its shortlist holds, what its network scores highest; late in a game it looks ahead."""

    belief: Belief
    policy: ShortlistPolicy
    shortlist: Shortlist
    look_from: int
    """Round from which it asks as `BeliefPlayer` does that looks to winning, two questions deep."""

    def ask(self, seen: Transcript) -> np.ndarray:
        """See `Player`."""
        if (seen.asked >= 0).sum(axis=1).min() + 1 >= self.look_from:
            return BeliefPlayer(self.belief, self.look_from, deeper=True).ask(seen)
        return self._best(seen, guessing=False)

    def guess(self, seen: Transcript) -> np.ndarray:
        """See `Player`."""
        return self._best(seen, guessing=True)

    def _best(self, seen: Transcript, guessing: bool) -> np.ndarray:
        asked = (seen.asked >= 0).sum(axis=1)
        begun = asked - 1 if guessing else asked
        observation = observe(self.belief, seen, begun, np.full(len(seen), guessing), self.shortlist)
        with th.no_grad():
            logits = self.policy.scorer.logits({key: th.as_tensor(array) for key, array in observation.items()}).numpy()
        asks = observation["ask_ids"].shape[1]
        listed = observation["guess_ids"] if guessing else observation["ask_ids"]
        scores = logits[:, asks:] if guessing else logits[:, :asks]
        scores = np.where(listed >= 0, scores, -np.inf)
        best = (scores >= scores.max(axis=1, keepdims=True) - AS_GOOD).argmax(axis=1)
        return listed[np.arange(len(listed)), best].astype(np.int64)


def hard_filtering(world: World) -> BeliefPlayer:
    """Takes every answer for true: whoever contradicts one is out; guesses by prior mass when nobody is left."""
    return BeliefPlayer(Belief.of(world, Noise(np.zeros((1, world.answers.shape[1])), np.ones(1))))


def play(player: Player, answers: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, Transcript]:
    """Play game i for keyword `hidden[i]`, answered by `answers[i]`, bool [games, questions].

    Returns the round of each right guess, int64 [games], 0 where there was none, and what was said. Games that
    heard the same so far are in the same state: each state is decided once.
    """
    seen, won = Transcript.empty(len(hidden)), np.zeros(len(hidden), np.int64)
    playing = np.arange(len(hidden))
    for number in range(ROUNDS):
        state, games = _states(seen, playing)
        questions = player.ask(seen[games])[state]
        seen.asked[playing, number] = questions
        seen.said[playing, number] = answers[playing, questions]
        state, games = _states(seen, playing)
        keywords = player.guess(seen[games])[state]
        right = keywords == hidden[playing]
        won[playing[right]] = number + 1
        seen.guessed[playing[~right], number] = keywords[~right]
        playing = playing[~right]
        if not playing.size:
            break
    return won, seen


def _states(seen: Transcript, games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of the state of each game, and one game of each state."""
    heard = np.where(seen.asked[games] >= 0, 2 * seen.asked[games] + seen.said[games], -1)
    _, first, state = np.unique(heard, axis=0, return_index=True, return_inverse=True)
    return state.reshape(-1), games[first]

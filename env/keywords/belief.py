"""The posterior over keywords and over a partner's noise, as a function of all that was said in a game.

In the animal game's terms a tie is a margin of 0: P(yes) is 1/2, so that its answer tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from env.keywords import compiled
from env.keywords.comparison import ROUNDS
from env.keywords.world import LARGEST_NOISE, PRIOR_DOUBT, SHARES, World

LEAST_NOISE = 0.005
"""Least rate of wrong answers that is believed in: no single answer removes a keyword for ever."""

UNKNOWN = (0.02, 0.25)
"""Range of the rates that a partner of whom nothing is known may have."""

LEVELS = 6
"""Noises that stand for a range of rates, or for a spread of hardness."""


@dataclass(frozen=True)
class Noise:
    """How a partner may err: one of several ways, each a rate of wrong answers for every question."""

    rates: np.ndarray
    """float64 [noises, questions]."""
    weight: np.ndarray
    """How likely each of them is beforehand, float64 [noises], sums to 1."""

    def __post_init__(self) -> None:
        if self.rates.ndim != 2 or len(self.rates) != len(self.weight):
            raise ValueError(f"rates {self.rates.shape} need one weight for each of their rows, not {len(self.weight)}")
        if not ((self.rates >= 0) & (self.rates <= 0.5)).all():
            raise ValueError("a rate of wrong answers is between 0 and 1/2")

    @classmethod
    def flat(cls, rates: float | Sequence[float], questions: int) -> Noise:
        """One rate for all questions; or one of several rates, all as likely."""
        levels = np.maximum(np.atleast_1d(np.asarray(rates, np.float64)), LEAST_NOISE)
        return cls(np.repeat(levels[:, None], questions, axis=1), np.full(len(levels), 1 / len(levels)))

    @classmethod
    def by_clarity(cls, world: World, spread: bool = True) -> Noise:
        """Rates by the question's clarity; and, with `spread`, by what the hidden keyword's hardness may be.

        The keyword's hardness is unknown: the mean of each sixth of the world's hardnesses is as likely.
        """
        parts = np.array_split(np.sort(world.hardness), LEVELS if spread else 1)
        factor = np.array([part.mean() for part in parts]) if spread else np.ones(1)
        rates = np.clip(factor[:, None] * world.clarity, LEAST_NOISE, LARGEST_NOISE)
        return cls(rates, np.full(len(factor), 1 / len(factor)))

    @classmethod
    def unknown(cls, world: World) -> Noise:
        """Nothing known: any rate of `UNKNOWN`, or errors by clarity at half, once or twice the mean rate."""
        low, high = UNKNOWN
        flat = cls.flat(tuple(low + (high - low) * (np.arange(LEVELS) + 0.5) / LEVELS), len(world.clarity))
        clear = np.clip(np.array([0.5, 1.0, 2.0])[:, None] * world.clarity, LEAST_NOISE, LARGEST_NOISE)
        return cls.mixture((flat, cls(clear, np.full(len(clear), 1 / len(clear)))), (0.75, 0.25))

    @classmethod
    def mixture(cls, noises: Sequence[Noise], weight: Sequence[float]) -> Noise:
        """One of several noises, with the probabilities `weight`."""
        parts = [share * noise.weight for share, noise in zip(weight, noises, strict=True)]
        return cls(np.concatenate([noise.rates for noise in noises]), np.concatenate(parts) / sum(weight))


@dataclass(frozen=True)
class Transcript:
    """All that was said in a batch of games; -1 stands where nothing was said yet."""

    asked: np.ndarray
    """Question of each round, int64 [games, ROUNDS]."""
    said: np.ndarray
    """Whether the partner said yes, bool [games, ROUNDS]."""
    guessed: np.ndarray
    """Wrong guess of each round, int64 [games, ROUNDS]."""

    @classmethod
    def empty(cls, games: int) -> Transcript:
        """Games that begin."""
        shape = (games, ROUNDS)
        return cls(np.full(shape, -1), np.zeros(shape, bool), np.full(shape, -1))

    def __getitem__(self, games: np.ndarray | slice) -> Transcript:
        """Some of the games."""
        return Transcript(self.asked[games], self.said[games], self.guessed[games])

    def __len__(self) -> int:
        return len(self.asked)


@dataclass(frozen=True)
class Belief:
    """What a player assumes of a game: the table, prior mass, and how the partner errs; with what follows from it.

    The prior over keywords and noises is joint: what is learnt about the partner is learnt keyword by keyword.
    """

    world: World
    noise: Noise
    prior: np.ndarray
    """float32 [keywords], sums to 1."""

    @classmethod
    def of(cls, world: World, noise: Noise, shares: tuple[float, ...] = SHARES) -> Belief:
        """Prior mass by tier; see `World.prior`."""
        return cls(world, noise, world.prior(shares))

    @classmethod
    def untold(cls, world: World, shares: tuple[float, ...] = SHARES, doubt: float = PRIOR_DOUBT) -> Belief:
        """Nothing is known of the partner, and the shares may be wrong; see `World.doubted`."""
        return cls.of(world, Noise.unknown(world), world.doubted(shares, doubt))

    @cached_property
    def tables(self) -> compiled.Tables:
        """What the compiled loops read, in their types."""
        return compiled.Tables(
            self.world.answers,
            self.world.by_question,
            self.prior,
            (1 - 2 * self.noise.rates).astype(np.float32),
            self.noise.weight.astype(np.float32),
            self.noise.rates.mean(axis=1).astype(np.float32),
        )

    def posterior(self, seen: Transcript) -> tuple[np.ndarray, np.ndarray]:
        """Posterior of the keywords, float32 [games, keywords], and of the noises, float32 [games, noises]."""
        keywords = np.empty((len(seen), len(self.prior)), np.float32)
        noises = np.empty((len(seen), len(self.noise.weight)), np.float32)
        compiled.posterior_all(self.tables, seen.asked, seen.said, seen.guessed, keywords, noises)
        return keywords, noises

    def predicted(self, seen: Transcript) -> tuple[np.ndarray, np.ndarray]:
        """P(yes) of the next answer and information gain about the keyword in bits, both float32 [games, questions].

        Gain = H(answer) - E[H(answer | keyword)] (Lindley 1956). Exact where the noises are flat rates or there is
        but one; else clarity counts by the posterior of the noises alone.
        """
        p_yes, gain = (np.empty((len(seen), self.world.answers.shape[1]), np.float32) for _ in range(2))
        compiled.predict_all(self.tables, seen.asked, seen.said, seen.guessed, p_yes, gain)
        return p_yes, gain

    def likeliest(self, seen: Transcript) -> np.ndarray:
        """The keyword of the largest posterior, the first of several, int64 [games]."""
        best = np.empty(len(seen), np.int64)
        compiled.likeliest_all(self.tables, seen.asked, seen.said, seen.guessed, best)
        return best

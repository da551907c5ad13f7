"""What a game is drawn from: keywords in tiers, a table of yes, no and tie, and how partners err; the synthetic one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from env.keywords.comparison import one_keyword
from env.keywords.package import KeywordPackage

TIERS = (1500, 3500, 5000, 5113)
"""Keywords in each tier of the synthetic world."""

QUESTIONS = 521
"""Questions of the synthetic world."""

SHARES = (0.70, 0.12, 0.08, 0.05)
"""Share of the games whose keyword is in each tier; the rest is in no list."""

PRIOR_DOUBT = 0.3
"""Share of the games for which a player that is told nothing takes every tier to be as likely; costs half a point where
the shares are right, and saves most of what they cost where they are not."""

MEAN_NOISE = 0.10
"""Mean rate of wrong answers of a partner that errs by clarity."""

LARGEST_NOISE = 0.45
"""Most that any partner errs."""

FACTORS = 32

Partner = float | Literal["clarity"]
"""How a partner errs: at one rate, or by the question's clarity and the keyword's hardness."""


@dataclass(frozen=True)
class World:
    """Keywords, questions and their table."""

    answers: np.ndarray
    """int8 [keywords, questions]: 1 yes, -1 no, 0 tie, an answer that may go either way."""
    tier: np.ndarray
    """Tier of each keyword, int64 [keywords], ascending: keywords of the first tier stand first."""
    clarity: np.ndarray
    """Rate of wrong answers to each question, of the mean keyword, float64 [questions]."""
    hardness: np.ndarray
    """What multiplies the rate for each keyword, mean about 1, float64 [keywords]."""
    keyword_names: tuple[str, ...] = ()
    """Names of the keywords; numbers stand for them when empty."""
    question_names: tuple[str, ...] = ()
    """Words of the questions; numbers stand for them when empty."""

    def __post_init__(self) -> None:
        keywords, questions = self.answers.shape
        if self.tier.shape != self.hardness.shape or self.tier.shape != (keywords,):
            raise ValueError(f"{keywords} keywords, but tiers {self.tier.shape} and hardness {self.hardness.shape}")
        if self.clarity.shape != (questions,):
            raise ValueError(f"{questions} questions, but clarity {self.clarity.shape}")
        if (np.diff(self.tier) < 0).any() or self.tier[0] < 0:
            raise ValueError("keywords must stand by tier, the first tier first")
        for names, wanted in ((self.keyword_names, keywords), (self.question_names, questions)):
            if names and len(names) != wanted:
                raise ValueError(f"{len(names)} names for {wanted} rows or columns of the table")
        if self.keyword_names and (self.same != np.arange(keywords)).any():
            again = int(np.flatnonzero(self.same != np.arange(keywords))[0])
            first = self.keyword_names[self.same[again]]
            raise ValueError(
                f"the game takes {self.keyword_names[again]!r} and {first!r} for one keyword; see World.merged"
            )

    @classmethod
    def merged(
        cls,
        answers: np.ndarray,
        tier: np.ndarray,
        clarity: np.ndarray,
        hardness: np.ndarray,
        keyword_names: Sequence[str],
        question_names: Sequence[str],
    ) -> World:
        """A world where keywords that the game takes for an earlier one are left out: they are one, the first."""
        kept = np.flatnonzero(one_keyword(keyword_names) == np.arange(len(answers)))
        names = tuple(keyword_names[place] for place in kept.tolist())
        return cls(answers[kept], tier[kept], clarity, hardness[kept], names, tuple(question_names))

    @cached_property
    def same(self) -> np.ndarray:
        """First keyword that the game takes for the same as each one, int64 [keywords]."""
        return one_keyword(self.keyword_names) if self.keyword_names else np.arange(len(self.answers))

    def keyword_name(self, keyword_id: int) -> str:
        """What a keyword is called."""
        return self.keyword_names[keyword_id] if self.keyword_names else f"keyword {keyword_id}"

    def question_name(self, question_id: int) -> str:
        """What a question says."""
        return self.question_names[question_id] if self.question_names else f"question {question_id}?"

    @cached_property
    def by_question(self) -> np.ndarray:
        """The table with the question first, int8 [questions, keywords]: one row is one update."""
        return np.ascontiguousarray(self.answers.T)

    def prior(self, shares: tuple[float, ...] = SHARES) -> np.ndarray:
        """Prior mass of every keyword, float32 [keywords], sums to 1: tier by tier, all alike within one; shares of tiers that are not there are left out.

        `shares` of the games by tier; what is missing to 1 is in no list and left out, as nothing can be won there.
        """
        counts = np.bincount(self.tier)
        if len(counts) > len(shares) or min(shares) < 0:
            raise ValueError(f"{len(counts)} tiers need as many shares of 0 or more, not {shares}")
        mass = (np.array(shares[: len(counts)]) / np.maximum(counts, 1))[self.tier]
        if not mass.sum() > 0:
            raise ValueError(f"no keyword of any tier has prior mass with the shares {shares}")
        return (mass / mass.sum()).astype(np.float32)

    def doubted(self, shares: tuple[float, ...] = SHARES, doubt: float = PRIOR_DOUBT) -> tuple[float, ...]:
        """Shares of the tiers that are there, which sum to 1, for who takes them to be wrong in a share `doubt` of the games.

        There every tier is as likely. A belief over priors is, within one game, no more than their mean. Raises
        ValueError for a doubt that is no share.
        """
        if not 0 <= doubt <= 1:
            raise ValueError(f"doubt is a share of the games, 0 to 1, not {doubt}")
        mass = self.prior(shares).astype(np.float64)
        counts = np.bincount(self.tier)
        told, there = np.bincount(self.tier, mass), counts > 0
        return tuple(((1 - doubt) * told / told.sum() + doubt * there / there.sum()).tolist())

    def rates(self, partner: Partner, keyword_ids: np.ndarray) -> np.ndarray:
        """Rates of wrong answers to every question, float64 [games, questions], for hidden keywords."""
        if partner == "clarity":
            return np.clip(self.clarity * self.hardness[keyword_ids][:, None], 0, LARGEST_NOISE)
        return np.full((len(keyword_ids), len(self.clarity)), float(partner))

    def draw(
        self, partner: Partner | np.ndarray, games: int, seed: int, shares: tuple[float, ...] = SHARES
    ) -> tuple[np.ndarray, np.ndarray]:
        """Hidden keywords, int64 [games], and what each game's partner answers to every question, bool [games, questions].

        `partner` may be a rate for each game, float64 [games]; shares of tiers that are not there are left out. A tie is answered by a coin, fixed for the game. Keywords
        in no list are not drawn: multiply win rates by the share of the others.
        """
        random = np.random.default_rng(seed)
        share = np.array(shares[: int(self.tier[-1]) + 1])
        tier = random.choice(len(share), size=games, p=share / share.sum())
        first = np.searchsorted(self.tier, np.arange(len(share) + 1))
        hidden = (first[tier] + random.random(games) * np.diff(first)[tier]).astype(np.int64)
        rates = self.rates(partner, hidden) if isinstance(partner, str | float) else partner[:, None]
        shape = (games, len(self.clarity))
        return hidden, partner_answers(self.answers[hidden], np.broadcast_to(rates, shape), random)


def partner_answers(true: np.ndarray, rates: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Whether partners say yes, bool, same shape as `true` (1, 0, -1): wrong at `rates`, a coin for ties."""
    flipped, coin = random.random(true.shape) < rates, random.random(true.shape) < 0.5
    return np.where(true == 0, coin, (true == 1) ^ flipped)


def world_of(package: KeywordPackage) -> World:
    """The world of a keyword package."""
    return World.merged(
        package.answers, package.tier, package.clarity, package.hardness, package.keyword_names, package.question_names
    )


def synthetic_world(
    seed: int = 0, tiers: tuple[int, ...] = TIERS, questions: int = QUESTIONS, factors: int = FACTORS
) -> World:
    """A world of latent factors: questions look at two to five traits of a keyword, and keep a third of their own.

    A quarter of the answers is yes and a sixth a tie, both differently by question; a question with many ties is
    unclear and answered wrongly more often. The same seed gives the same world, bit for bit.
    """
    random = np.random.default_rng(seed)
    keywords = sum(tiers)
    strength = np.arange(1, factors + 1) ** -0.5
    trait = random.normal(size=(keywords, factors)) * strength
    weight = np.zeros((factors, questions))
    for question in range(questions):
        used = random.choice(factors, size=random.integers(2, 6), replace=False, p=strength / strength.sum())
        weight[used, question] = random.normal(size=len(used)) / strength[used] ** 0.5
    value = trait @ weight
    value /= value.std(axis=0)
    value = np.sqrt(0.65) * value + np.sqrt(0.35) * random.normal(size=(keywords, questions))
    yes = random.beta(2, 6, size=questions).clip(0.02, 0.6)
    tie = random.beta(1.5, 8.5, size=questions).clip(0.01, 0.5)
    ordered = np.sort(value, axis=0)
    columns = np.arange(questions)
    high = ordered[(keywords * (1 - yes)).astype(int), columns]
    low = ordered[(keywords * np.maximum(0.01, 1 - yes - tie)).astype(int), columns]
    answers = np.where(value > high, 1, np.where(value > low, 0, -1)).astype(np.int8)
    clarity = 0.03 + 0.6 * tie + 0.04 * random.random(questions)
    clarity *= MEAN_NOISE / clarity.mean()
    hardness = np.exp(random.normal(size=keywords) * 0.6 - 0.18)
    return World(answers, np.repeat(np.arange(len(tiers)), tiers), clarity.clip(0.005, 0.4), hardness)

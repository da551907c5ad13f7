"""Beliefs of many games, each kept on its support: what is held and done grows with the likely candidates, not the pool.

The training environment keeps whole rows instead: its games are few and its pools small.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numba import prange

from env.identification.belief import FLOOR
from env.identification.compiled import NEGLIGIBLE, compiled

FORGOTTEN = FLOOR**4
"""Posterior below which a candidate is dropped: the least likely of answers speak against it four times more often
than against the likeliest."""

WHOLE = 1472
"""Pools of so many candidates, the official animals among them, drop only whom the answers rule out: there is little to
be saved in them, and beliefs are then those over the whole pool to the last bit."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Posteriors over the same candidates; game g's lie in `ids` and `mass` from `starts[g]` to `starts[g + 1]`.

    A game without entries is one whose candidates are all contradicted.
    """

    starts: np.ndarray
    """int64 [games + 1]."""
    ids: np.ndarray
    """int32 [entries], candidates, ascending within a game."""
    mass: np.ndarray
    """float64 [entries], more than 0; a game's sum to 1."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def prior(cls, candidates: int) -> Beliefs:
        """Equal belief in every candidate, of one game."""
        return cls(
            np.array([0, candidates]), np.arange(candidates, dtype=np.int32), np.full(candidates, 1 / candidates)
        )

    @classmethod
    def of(cls, dense: np.ndarray) -> Beliefs:
        """The same beliefs as rows of float64 [games, candidates] hold."""
        game, ids = np.nonzero(dense)
        starts = np.searchsorted(game, np.arange(len(dense) + 1))
        return cls(starts, ids.astype(np.int32), dense[game, ids])

    def dense(self, candidates: int) -> np.ndarray:
        """Rows over all candidates, float64 [games, candidates]."""
        rows = np.zeros((len(self), candidates))
        rows[np.repeat(np.arange(len(self)), np.diff(self.starts)), self.ids] = self.mass
        return rows

    def game(self, game: int) -> tuple[np.ndarray, np.ndarray]:
        """Candidates of one game and their posterior."""
        part = slice(self.starts[game], self.starts[game + 1])
        return self.ids[part], self.mass[part]

    @property
    def empty(self) -> np.ndarray:
        """bool [games], where every candidate is contradicted."""
        return np.diff(self.starts) == 0

    def taken(self, games: np.ndarray) -> Beliefs:
        """Some of the games, int64 [n], in that order."""
        return _packed(self.ids, self.mass, self.starts[games], np.diff(self.starts)[games])

    def replaced(self, games: np.ndarray, dense: np.ndarray) -> Beliefs:
        """The same beliefs, but those of `games` (int64 [n]) as the rows of `dense` float64 [n, candidates] say."""
        others = Beliefs.of(dense)
        first = self.starts[:-1].copy()
        sizes = np.diff(self.starts)
        first[games], sizes[games] = len(self.ids) + others.starts[:-1], np.diff(others.starts)
        return _packed(np.concatenate([self.ids, others.ids]), np.concatenate([self.mass, others.mass]), first, sizes)

    def likeliest(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Candidates of the largest posteriors, falling, ties by candidate, int64 [games, count]; and the posteriors.

        Where a game has fewer, candidate 0 stands with a posterior of 0.
        """
        ids, mass = np.zeros((len(self), count), np.int64), np.zeros((len(self), count))
        _likeliest(self.starts, self.ids, self.mass, ids, mass)
        return ids, mass

    def after(
        self,
        by_question: np.ndarray,
        game: np.ndarray,
        question: np.ndarray,
        answer: np.ndarray,
        candidate: np.ndarray,
        least: np.ndarray | float = FORGOTTEN,
    ) -> tuple[Beliefs, np.ndarray]:
        """Posteriors one call on by Bayes' rule, one for each entry of `game`, and the probabilities of coming there.

        `game` int64 [n] is where each comes from. `question` int64 [n] was asked and `answer` bool [n] heard; where it
        is -1, `candidate` int64 [n] (-1: none of them) was guessed, wrongly. `by_question` float64 [questions,
        candidates] is P(yes). Posteriors up to `least` ([n], or one for all) are dropped where the pool is larger than
        `WHOLE`.
        """
        if by_question.shape[1] <= WHOLE:
            least = 0.0
        sizes = np.diff(self.starts)[game]
        first = np.cumsum(sizes) - sizes
        entries = int(sizes.sum())
        ids, mass, probability = np.empty(entries, np.int32), np.empty(entries), np.empty(len(game))
        _after(
            self.starts, self.ids, self.mass, by_question, game, question, answer, candidate,
            np.full(len(game), least, np.float64), *_halves(by_question.shape[1]), first, ids, mass, sizes, probability,
        )  # fmt: skip
        return _packed(ids, mass, first, sizes), probability


def _packed(ids: np.ndarray, mass: np.ndarray, first: np.ndarray, sizes: np.ndarray) -> Beliefs:
    """Beliefs whose entries are `sizes[g]` ones from `first[g]` on."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    kept_ids, kept = np.empty(starts[-1], np.int32), np.empty(starts[-1])
    _copy(ids, mass, first, starts, kept_ids, kept)
    return Beliefs(starts, kept_ids, kept)


@compiled(parallel=True)
def _copy(
    ids: np.ndarray, mass: np.ndarray, first: np.ndarray, starts: np.ndarray, kept_ids: np.ndarray, kept: np.ndarray
) -> None:
    for g in prange(first.size):
        begin, size = first[g], starts[g + 1] - starts[g]
        kept_ids[starts[g] : starts[g + 1]] = ids[begin : begin + size]
        kept[starts[g] : starts[g + 1]] = mass[begin : begin + size]


@cache
def _halves(size: int) -> tuple[np.ndarray, np.ndarray]:
    """How NumPy sums `size` numbers pairwise: the ends of its blocks of at most 128, and after each the sums it joins."""
    if size <= 128:
        return np.array([size]), np.array([0])
    half = size // 2
    half -= half % 8
    (left, joined_left), (right, joined_right) = _halves(half), _halves(size - half)
    joins = np.concatenate([joined_left, joined_right])
    joins[-1] += 1
    return np.concatenate([left, half + right]), joins


@compiled()
def _summed(ids: np.ndarray, weight: np.ndarray, ends: np.ndarray, joins: np.ndarray) -> float:
    """Sum of the weights of candidates, added as NumPy sums their whole row, whose zeros change nothing.

    `ends` and `joins` as `_halves` gives them; within a block eight sums run side by side.
    """
    totals, height, i, low = np.empty(64), 0, 0, 0
    for block in range(ends.size):
        size = ends[block] - low
        lanes, whole = np.zeros(8), (size - size % 8 if size >= 8 else 0)
        while i < ids.size and ids[i] - low < whole:
            lanes[(ids[i] - low) % 8] += weight[i]
            i += 1
        total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
        while i < ids.size and ids[i] < ends[block]:
            total += weight[i]
            i += 1
        totals[height] = total
        height += 1
        for _ in range(joins[block]):
            height -= 1
            totals[height - 1] += totals[height]
        low = ends[block]
    return totals[0]


@compiled(parallel=True)
def _after(
    starts: np.ndarray,
    ids: np.ndarray,
    mass: np.ndarray,
    by_question: np.ndarray,
    game: np.ndarray,
    question: np.ndarray,
    answer: np.ndarray,
    candidate: np.ndarray,
    least: np.ndarray,
    ends: np.ndarray,
    joins: np.ndarray,
    first: np.ndarray,
    kept_ids: np.ndarray,
    kept: np.ndarray,
    sizes: np.ndarray,
    probability: np.ndarray,
) -> None:
    """See `Beliefs.after`; entries go from `first` on, `sizes` of them."""
    for j in prange(game.size):
        begin = first[j]
        end = begin
        for i in range(starts[game[j]], starts[game[j] + 1]):
            weight = mass[i]
            if question[j] < 0:
                if ids[i] == candidate[j]:
                    continue
            elif answer[j]:
                weight *= by_question[question[j], ids[i]]
            else:
                weight *= 1.0 - by_question[question[j], ids[i]]
            kept_ids[end], kept[end] = ids[i], weight
            end += 1
        total = _summed(kept_ids[begin:end], kept[begin:end], ends, joins)
        probability[j] = total
        count = begin
        if total > 0:
            for i in range(begin, end):
                posterior = kept[i] / total
                if posterior > least[j]:
                    kept_ids[count], kept[count] = kept_ids[i], posterior
                    count += 1
        sizes[j] = count - begin


@compiled(parallel=True)
def _likeliest(starts: np.ndarray, ids: np.ndarray, mass: np.ndarray, found: np.ndarray, posterior: np.ndarray) -> None:
    for g in prange(found.shape[0]):
        count, width = 0, found.shape[1]
        for i in range(starts[g], starts[g + 1]):
            if count == width and mass[i] <= posterior[g, width - 1]:
                continue
            place = min(count, width - 1)
            while place > 0 and posterior[g, place - 1] < mass[i]:
                found[g, place], posterior[g, place] = found[g, place - 1], posterior[g, place - 1]
                place -= 1
            found[g, place], posterior[g, place] = ids[i], mass[i]
            count = min(count + 1, width)


@compiled()
def likely(starts: np.ndarray, ids: np.ndarray, mass: np.ndarray, game: int) -> tuple[np.ndarray, np.ndarray]:
    """Candidates of one game that matter, int64, and their posterior, which then sums to 1; see `compiled.support`."""
    here = mass[starts[game] : starts[game + 1]]
    places = np.flatnonzero(here > NEGLIGIBLE)
    weight = here[places]
    return ids[starts[game] : starts[game + 1]][places].astype(np.int64), weight / weight.sum()

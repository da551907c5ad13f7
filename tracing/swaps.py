"""Which other word would fit better where a word stands, worked out for every word of a corpus before any query. Needs numpy."""

from __future__ import annotations

import numpy as np

from tracing.query import ENOUGH_HOLDERS, NONE, STEPS, SWAP_STEPS

REACHES = 6
"""Words to one side that make the longest context."""

MIXED = 0.5
"""Places that the odds of a context are smoothed with, at the odds of the context that is a word shorter."""

SUREST = 1e-5
"""Chance beyond which the odds of one side do not go."""

CANDIDATES = 16
KEPT = 100
"""Records that are kept for a word and a candidate."""

WIDESPREAD = 4
"""Words that more than one record in this many holds are nobody's mistake for another word that could be told by counting."""

MOST_PLACES = 4000
"""Places of a candidate that are counted, evenly spread."""

IN_CONTEXT = 4
"""Commonest other words of a context that are taken for candidates."""

GAP_SCALE, UNLISTED, MOST_GAP = 0.5, 1.0, 4.0
"""How much the probe's preference counts in the odds; what a place costs where it does not list the candidate; its limit."""

LISTED_SCALE = 0.1


def swaps(
    arrays: dict[str, np.ndarray], surprise: np.ndarray, listed_at: np.ndarray, listed: np.ndarray, losses: np.ndarray
) -> dict[str, np.ndarray]:
    """Candidates of every word, the records where each would fit best, and counts of neighbouring words.

    A candidate is what stands elsewhere in contexts that are strange for the word, or what the probe would rather have seen.
    The log odds that it stood there are those of the words to the left and of the words to the right, each counted over
    the whole corpus and smoothed from one word up to REACHES (a hierarchy of Dirichlet priors).

    Args:
        arrays: stream, record_offset, answer_offset, word_offset.
        surprise: The probe's loss at each place of the stream in steps, NONE where unknown, uint8 [words].
        listed_at: Places of the stream whose alternatives are known, ascending, int [places].
        listed: Words that the probe would rather have seen there, -1 for none, int [places, k].
        losses: Their losses in steps, [places, k].
    """
    return _Swaps(arrays, surprise, listed_at, listed, losses).sections()


class _Swaps:
    def __init__(
        self,
        arrays: dict[str, np.ndarray],
        surprise: np.ndarray,
        listed_at: np.ndarray,
        listed: np.ndarray,
        losses: np.ndarray,
    ) -> None:
        self.size = len(arrays["word_offset"]) - 1
        self.stream = arrays["stream"].astype(np.int64)
        lengths = np.diff(arrays["record_offset"])
        self.records = len(lengths)
        owner = np.repeat(np.arange(self.records), lengths)
        begin = arrays["answer_offset"].astype(np.int64)[owner] if self.records else owner
        end = arrays["record_offset"].astype(np.int64)[1:][owner] if self.records else owner
        at = np.flatnonzero(np.arange(len(self.stream)) >= begin)
        # Places of answers, those of a word together: what is said of places below is said in this order.
        self.at = at[np.argsort(self.stream[at], kind="stable")]
        self.word, self.owner = self.stream[self.at], owner[self.at]
        self.begin, self.end = begin[self.at], end[self.at]
        self.count = np.bincount(self.word, minlength=self.size)
        self.first = np.concatenate([[0], np.cumsum(self.count)])
        self.surprise, self.listed_at, self.listed, self.losses = surprise, listed_at, listed, losses
        self.contexts, self.votes = self._contexts()
        self.seen = np.zeros(self.known + 1, np.int32)
        self.models: dict[int, tuple[np.ndarray, np.ndarray, int]] = {}

    def beside(self, step: int) -> np.ndarray:
        """The words `step` places on in the same answer; `size` beyond its ends."""
        to = self.at + step
        inside = (to >= self.begin) & (to < self.end)
        return np.where(inside, self.stream[np.where(inside, to, 0)], self.size)

    def _contexts(self) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """Numbers of the contexts of every place, int32 [2 * REACHES, places], left ones first, 0 for none; votes for candidates.

        A context is one to REACHES words to one side, up to the end of the answer. Its number is its own among all.
        """
        contexts = np.zeros((2 * REACHES, len(self.at)), np.int32)
        votes = []
        self.known = 0
        for side in (-1, 1):
            inside = np.ones(len(self.at), bool)
            number = np.zeros(len(self.at), np.int64)
            own = np.zeros(len(self.at), np.int8)
            other = np.zeros(len(self.at), np.int8)
            shares: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
            for reach in range(1, REACHES + 1):
                beside = self.beside(side * reach)
                _, number = np.unique(number * (self.size + 1) + beside, return_inverse=True)
                contexts[(side > 0) * REACHES + reach - 1] = np.where(inside, number + self.known + 1, 0)
                groups = _Groups(number, self.word, self.size)
                own[inside & (groups.own > 1)] = reach
                other[inside & (groups.total > groups.own)] = reach
                shares.append(groups.others())
                inside &= beside != self.size
                self.known += int(number.max(initial=-1)) + 1
            # Contexts that are strange for the word and known for others tell what should have stood there.
            strange = other > own
            for reach, (place, word, share) in enumerate(shares, 1):
                chosen = strange[place] & (other[place] == reach)
                place, word, share = place[chosen], word[chosen], share[chosen]
                votes.append((self.word[place] * self.size + word, share * (reach - own[place])))
        return contexts, votes

    def model(self, word: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Contexts of a word's places with their counts, and the places counted."""
        if word not in self.models:
            places = np.arange(self.first[word], self.first[word + 1])
            places = places[:: 1 + (len(places) - 1) // MOST_PLACES]
            numbers, counts = np.unique(self.contexts[:, places], return_counts=True)
            self.models[word] = numbers[numbers > 0], counts[numbers > 0], len(places)
        return self.models[word]

    def candidates(self) -> list[np.ndarray]:
        """For each word the likeliest others in its places."""
        pairs, votes = [pair for pair, _ in self.votes], [vote for _, vote in self.votes]
        if len(self.listed_at):
            gap = np.clip(self.surprise[self.listed_at][:, None] / STEPS - self.losses / STEPS, 0.0, MOST_GAP)
            share = np.bincount(self.listed[self.listed >= 0], minlength=self.size) / len(self.listed_at)
            own = np.broadcast_to(self.stream[self.listed_at][:, None], self.listed.shape)
            good = (self.listed > 0) & (self.listed != own) & (gap > 0)
            pairs.append(own[good] * self.size + self.listed[good])
            votes.append(LISTED_SCALE * gap[good] * np.minimum(1.0, 0.01 / share[self.listed[good]]))
        keys, inverse = np.unique(np.concatenate(pairs), return_inverse=True)
        vote = np.bincount(inverse, np.concatenate(votes), len(keys))
        of_word, other = keys // self.size, keys % self.size
        real = (of_word > 0) & (other > 0) & (self.count[other] > 0)
        of_word, other, vote = of_word[real], other[real], vote[real]
        expected = np.bincount(of_word, vote, self.size)[of_word] * np.bincount(other, vote, self.size)[other]
        vote = vote * np.log(np.maximum(vote * max(vote.sum(), 1e-9) / np.maximum(expected, 1e-9), 1.0))
        order = np.lexsort((other, -vote, of_word))
        bounds = np.searchsorted(of_word, np.arange(self.size + 1))
        return [other[order[bounds[w] : min(bounds[w + 1], bounds[w] + CANDIDATES)]] for w in range(self.size)]

    def odds(self, word: int, others: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each candidate the records where it fits best, and log odds there in steps."""
        here = slice(self.first[word], self.first[word + 1])
        owner, places, contexts = self.owner[here], self.at[here], self.contexts[:, here]
        size = len(places)
        ours = _elsewhere(contexts, owner)
        slot = np.searchsorted(self.listed_at, places)
        known = slot < len(self.listed_at)
        known[known] = self.listed_at[slot[known]] == places[known]
        heard = self.surprise[places] != NONE
        result = []
        for other in others.tolist():
            numbers, amounts, count = self.model(other)
            self.seen[numbers] = amounts
            theirs = self.seen[contexts]
            self.seen[numbers] = 0
            value = _log_odds(theirs * (min(size, count) / count), ours * (min(size, count) / size))
            gap = np.where(heard, -UNLISTED, 0.0)
            if known.any():
                rows_of = slot[known]
                match = self.listed[rows_of] == other
                best = np.where(
                    match, self.surprise[places[known]][:, None] / STEPS - self.losses[rows_of] / STEPS, -UNLISTED
                )
                gap[known] = np.where(match.any(1), np.where(match, best, -99.0).max(1), -UNLISTED)
            steps = np.rint((value + GAP_SCALE * gap) * SWAP_STEPS).astype(np.int64)
            order = np.lexsort((owner, -steps))
            _, once = np.unique(owner[order], return_index=True)
            chosen = order[np.sort(once)][:KEPT]
            chosen = chosen[steps[chosen] > 0]
            result.append((owner[chosen], np.minimum(steps[chosen], 255)))
        return result

    def sections(self) -> dict[str, np.ndarray]:
        """swap_at [words + 1] into swap_word; swap_begin [candidates + 1] into swap_record and swap_odds; pairs; counts."""
        base = self.size + 1
        closing = self.word[self.at + 1 == self.end]
        pair, times = np.unique(
            np.concatenate([self.beside(-1) * base + self.word, closing * base + self.size]), return_counts=True
        )
        held = np.bincount(
            np.unique(self.word * max(self.records, 1) + self.owner) // max(self.records, 1), minlength=self.size
        )
        chosen = self.candidates() if len(self.at) else []
        at, words, begin = [0], [], [0]
        records: list[np.ndarray] = []
        odds: list[np.ndarray] = []
        for word in range(self.size):
            if word and ENOUGH_HOLDERS <= held[word] <= max(self.records // WIDESPREAD, 10 * ENOUGH_HOLDERS):
                for other, (where, value) in zip(chosen[word].tolist(), self.odds(word, chosen[word]), strict=True):
                    if len(where) >= ENOUGH_HOLDERS - 1:
                        words.append(other)
                        records.append(where)
                        odds.append(value)
                        begin.append(begin[-1] + len(where))
            at.append(len(words))
        flat = np.concatenate(records) if records else np.zeros(0)
        return {
            "swap_at": np.array(at, np.int32),
            "swap_word": np.array(words, np.int32),
            "swap_begin": np.array(begin, np.int32),
            "swap_record": flat.astype(np.int32),
            "swap_odds": (np.concatenate(odds) if odds else np.zeros(0)).astype(np.uint8),
            "pair_at": np.searchsorted(pair, np.arange(base + 1) * base).astype(np.int32),
            "pair_word": (pair % base).astype(np.int32),
            "pair_count": times.astype(np.int32),
            "place_count": self.count.astype(np.int32),
        }


class _Groups:
    """Places of the same context: how many there are, how many hold the place's own word, and which other words do."""

    def __init__(self, number: np.ndarray, word: np.ndarray, size: int) -> None:
        key, self.of_place, self.counts = np.unique(number * size + word, return_inverse=True, return_counts=True)
        self.context, self.held = key // size, key % size
        self.total = np.bincount(number, minlength=1)[number]
        self.own = self.counts[self.of_place]
        self.number = number

    def others(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(place, word, share) of the IN_CONTEXT commonest other words in each place's context."""
        order = np.lexsort((-self.counts, self.context))
        begin = np.searchsorted(self.context, np.arange(int(self.number.max(initial=-1)) + 2))
        found = []
        for rank in range(IN_CONTEXT):
            slot = begin[self.number] + rank
            place = np.flatnonzero((slot < begin[self.number + 1]) & (self.total > self.own))
            chosen = order[slot[place]]
            differ = chosen != self.of_place[place]
            place, chosen = place[differ], chosen[differ]
            share = self.counts[chosen] / (self.total[place] - self.own[place])
            found.append((place, self.held[chosen], share))
        place, word, share = (np.concatenate(part) for part in zip(*found, strict=True))
        return place, word, share


def _elsewhere(contexts: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """How often each context stands beside the word in other records."""
    _, inverse, counts = np.unique(contexts, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(contexts.shape)
    _, pair, same = np.unique(
        inverse * (int(owner.max(initial=0)) + 1) + owner, return_inverse=True, return_counts=True
    )
    return np.where(contexts > 0, counts[inverse] - same[pair].reshape(contexts.shape), 0)


def _log_odds(theirs: np.ndarray, ours: np.ndarray) -> np.ndarray:
    """Log odds by the left and the right contexts of places; counts are [2 * REACHES, places], as if both words were as frequent."""
    total = np.zeros(theirs.shape[1])
    for side in (0, REACHES):
        chance = np.full(theirs.shape[1], 0.5)
        for reach in range(side, side + REACHES):
            chance = (theirs[reach] + MIXED * chance) / (theirs[reach] + ours[reach] + MIXED)
        chance = np.clip(chance, SUREST, 1.0 - SUREST)
        total += np.log(chance / (1.0 - chance))
    return total

"""Which other word would fit better where a word stands, worked out for every word of a corpus before any query. Needs numpy."""

from __future__ import annotations

import numpy as np

from tracing.query import ENOUGH_HOLDERS, NONE, SMOOTHING, STEPS, SWAP_STEPS

NEAR = 6
"""Words on each side that make a context."""

FEATURE_WEIGHTS = (1.0, 1.0, 0.5, 0.5, 0.5, 0.3)
"""Word before, word after, two before, two after, both beside, each word near."""

CANDIDATES = 10
KEPT = 100
"""Records that are kept for a word and a candidate."""

WIDESPREAD = 4
"""Words that more than one record in this many holds are nobody's mistake for another word that could be told by counting."""

MOST_PLACES = 4000
"""Places of a candidate that are counted, evenly spread."""

IN_FRAME = 8
"""Commonest words between two neighbours that are taken for candidates."""

GAP_SCALE, UNLISTED, MOST_GAP = 0.5, 1.0, 4.0
"""How much the probe's preference counts in the odds; what a place costs where it does not list the candidate; its limit."""

LISTED_SCALE = 0.1


def swaps(
    arrays: dict[str, np.ndarray], surprise: np.ndarray, listed_at: np.ndarray, listed: np.ndarray, losses: np.ndarray
) -> dict[str, np.ndarray]:
    """Candidates of every word, the records where each would fit best, and counts of neighbouring words.

    A candidate is what stands between the same neighbours elsewhere, or what the probe would rather have seen. A naive Bayes
    classifier of contexts, each word's counted over the whole corpus, gives the log odds that the candidate stood there.

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
        self.owner = np.repeat(np.arange(self.records), lengths)
        begin = arrays["answer_offset"].astype(np.int64)[self.owner] if self.records else self.owner
        self.end = arrays["record_offset"].astype(np.int64)[1:][self.owner] if self.records else self.owner
        self.begin = begin
        self.at = np.flatnonzero(np.arange(len(self.stream)) >= begin)
        word = self.stream[self.at]
        self.order = self.at[np.argsort(word, kind="stable")]
        self.count = np.bincount(word, minlength=self.size)
        self.first = np.concatenate([[0], np.cumsum(self.count)])
        self.surprise, self.listed_at, self.listed, self.losses = surprise, listed_at, listed, losses
        self.models: dict[int, tuple[np.ndarray, np.ndarray, int]] = {}

    def places(self, word: int) -> np.ndarray:
        return self.order[self.first[word] : self.first[word + 1]]

    def beside(self, places: np.ndarray, step: int) -> np.ndarray:
        """The words `step` places on in the same answer; `size` beyond its ends."""
        to = places + step
        inside = (to >= self.begin[places]) & (to < self.end[places])
        return np.where(inside, self.stream[np.where(inside, to, 0)], self.size)

    def features(self, places: np.ndarray) -> np.ndarray:
        """Keys of what stands around places, int64 [places, 5 + 2 * NEAR]; -1 for none."""
        near = {step: self.beside(places, step) for step in range(-NEAR, NEAR + 1) if step}
        left, right = near[-1], near[1]
        rows = [left, 1 << 58 | right, 2 << 58 | near[-2] << 29 | left, 3 << 58 | right << 29 | near[2]]
        rows.append(4 << 58 | left << 29 | right)
        bag = np.sort(np.stack(list(near.values()), 1), 1)
        drop = np.zeros(bag.shape, bool)
        drop[:, 1:] = bag[:, 1:] == bag[:, :-1]
        bag = np.where(drop | (bag == self.size), -1, 5 << 58 | bag)
        return np.concatenate([np.stack(rows, 1), bag], 1)

    def model(self, word: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Features of a word's places with their counts, and the places counted."""
        if word not in self.models:
            places = self.places(word)
            places = places[:: 1 + (len(places) - 1) // MOST_PLACES]
            keys, counts = np.unique(self.features(places), return_counts=True)
            self.models[word] = keys, counts, len(places)
        return self.models[word]

    def candidates(self) -> list[np.ndarray]:
        """For each word the likeliest others in its places."""
        left, right = self.beside(self.at, -1), self.beside(self.at, 1)
        word = self.stream[self.at]
        base = self.size + 1
        frame, of_place = np.unique(left * base + right, return_inverse=True)
        key, counts = np.unique(of_place * self.size + word, return_counts=True)
        of_key = key // self.size
        order = np.lexsort((-counts, of_key))
        begin = np.searchsorted(of_key, np.arange(len(frame)))
        total = np.bincount(of_place, minlength=len(frame))
        votes, pairs = [], []
        for rank in range(IN_FRAME):
            slot = begin[of_place] + rank
            good = slot < np.append(begin[1:], len(key))[of_place]
            chosen = order[slot[good]]
            other = key[chosen] % self.size
            differ = other != word[good]
            pairs.append(word[good][differ] * self.size + other[differ])
            votes.append((counts[chosen] / total[of_place[good]])[differ])
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
        real = (other > 0) & (self.count[other] > 0)
        of_word, other, vote = of_word[real], other[real], vote[real]
        expected = np.bincount(of_word, vote, self.size)[of_word] * self.count[other] / len(self.at)
        vote = vote * np.log(np.maximum(vote / expected, 1.0))
        order = np.lexsort((other, -vote, of_word))
        bounds = np.searchsorted(of_word, np.arange(self.size + 1))
        return [other[order[bounds[w] : min(bounds[w + 1], bounds[w] + CANDIDATES)]] for w in range(self.size)]

    def odds(self, word: int, others: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each candidate the records where it fits best, and log odds there in steps."""
        places = self.places(word)
        rows = self.features(places)
        keys, inverse, counts = np.unique(rows, return_inverse=True, return_counts=True)
        inverse = inverse.reshape(rows.shape)
        weight = np.where(keys < 0, 0.0, np.array(FEATURE_WEIGHTS)[np.maximum(keys, 0) >> 58])
        slot = np.searchsorted(self.listed_at, places)
        known = slot < len(self.listed_at)
        known[known] = self.listed_at[slot[known]] == places[known]
        heard = self.surprise[places] != NONE
        size = len(places)
        result = []
        for other in others.tolist():
            names, amounts, count = self.model(other)
            found = np.searchsorted(names, keys)
            found[found == len(names)] = 0
            theirs = np.where(names[found] == keys, amounts[found], 0)
            ours = counts - 1
            pooled = SMOOTHING * (theirs + ours + 0.01) / (size + count)
            ratio = np.log((theirs + pooled) * (size - 1 + SMOOTHING) / ((ours + pooled) * (count + SMOOTHING)))
            value = (ratio * weight)[inverse].sum(1)
            gap = np.where(heard, -UNLISTED, 0.0)
            if known.any():
                rows_of = slot[known]
                match = self.listed[rows_of] == other
                best = np.where(
                    match, self.surprise[places[known]][:, None] / STEPS - self.losses[rows_of] / STEPS, -UNLISTED
                )
                gap[known] = np.where(match.any(1), np.where(match, best, -99.0).max(1), -UNLISTED)
            steps = np.rint((value + GAP_SCALE * gap) * SWAP_STEPS).astype(np.int64)
            order = np.lexsort((self.owner[places], -steps))
            records, once = np.unique(self.owner[places][order], return_index=True)
            once = np.sort(once)
            chosen = order[once][:KEPT]
            del records
            chosen = chosen[steps[chosen] > 0]
            result.append((self.owner[places[chosen]], np.minimum(steps[chosen], 255)))
        return result

    def sections(self) -> dict[str, np.ndarray]:
        """swap_at [words + 1] into swap_word; swap_begin [candidates + 1] into swap_record and swap_odds; pairs; counts."""
        base = self.size + 1
        left = self.beside(self.at, -1)
        closing = self.at[self.at + 1 == self.end[self.at]]
        pair, times = np.unique(
            np.concatenate([left * base + self.stream[self.at], self.stream[closing] * base + self.size]),
            return_counts=True,
        )
        held = np.bincount(
            np.unique(self.stream[self.at] * max(self.records, 1) + self.owner[self.at]) // max(self.records, 1),
            minlength=self.size,
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

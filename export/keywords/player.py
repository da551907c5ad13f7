"""The trained agent of LLM 20 Questions in NumPy alone: belief, features, network and looking ahead, as it was trained.

It decides what `agents.keywords.players.TrainedPlayer` decides; without a network what `BeliefPlayer` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from env.keywords.comparison import ROUNDS

_SCARCE = np.float32(1e-6)


@dataclass(frozen=True)
class Reckoning:
    """How far the trained agent looks and how finely it reckons; comes with the tables, see `export.keywords.reckoning`."""

    look_from: int
    """Round from which the question is asked after which the guesses left cover most, looking two questions deep."""
    width: int
    """Most informative questions that looking ahead reckons with."""
    focus: int
    """Likeliest keywords that looking ahead reckons with."""
    ranks: int
    """Likeliest keywords whose posteriors are features."""
    negligible: float
    """Posterior below which a keyword is left out of sums."""
    grains: float
    """Information is compared in this many steps a bit, so that questions that are equal on paper tie."""
    better: float
    """A later question must cover more than an earlier one by this."""
    as_good: float
    """Difference of two of the network's scores that is none: the one that stands first is chosen."""
    alike: float
    """Part of the largest mass from which on another one is as large: rounding must not tell keywords apart."""


@dataclass(frozen=True)
class Player:
    """Who asks and guesses by the table: what it assumes, and its network."""

    answers: np.ndarray
    """int8 [keywords, questions]: 1 yes, -1 no, 0 tie, an answer that may go either way."""
    prior: np.ndarray
    """float32 [keywords], sums to 1."""
    rates: np.ndarray
    """float64 [noises, questions]: rates of wrong answers, one row for each way a partner may err."""
    weight: np.ndarray
    """float32 [noises], sums to 1."""
    reckoning: Reckoning
    first_tier: int = 0
    """Keywords of the first tier, which stand first."""
    network: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Layers of the trained scorer by name; empty: it asks what tells most and guesses the likeliest keyword."""
    shortlist: tuple[int, int, int] = (16, 3, 64)
    """Questions, keywords, and keywords in focus that the network is shown."""

    @cached_property
    def sign(self) -> np.ndarray:
        """`answers` in float32, for matrix products."""
        return self.answers.astype(np.float32)

    @cached_property
    def by_question(self) -> np.ndarray:
        """`answers` with the question first: one row is one update."""
        return np.ascontiguousarray(self.answers.T)

    @cached_property
    def known(self) -> np.ndarray:
        """1 where the table has no tie, float32 [keywords, questions]."""
        return np.abs(self.sign)

    @cached_property
    def tilt(self) -> np.ndarray:
        """1 minus twice the rate of wrong answers, float32 [noises, questions]."""
        return np.asarray(1 - 2 * self.rates, np.float32)

    @cached_property
    def rate(self) -> np.ndarray:
        """Mean rate of each noise, float32 [noises]."""
        return np.asarray(self.rates.mean(axis=1), np.float32)

    def weigh(self, table: Sequence[tuple[int, bool]], guessed: Sequence[int]) -> np.ndarray:
        """Joint posterior of noises and keywords, float32 [noises, keywords], sums to 1; guessed keywords have none.

        `table` are questions with whether the answer was yes. P(yes) is 1 - rate where the table says yes, rate where
        it says no, 1/2 at a tie. Where nothing fits, the prior stands again, without the guesses if it can.
        """
        gone = list(guessed)
        mass = self.weight[:, None] * self.prior[None]
        for question, yes in table:
            lean = self.tilt[:, question] if yes else -self.tilt[:, question]
            answer = self.by_question[question].astype(np.float32)
            for noise, tilt in enumerate(lean):
                mass[noise] *= 1 + tilt * answer
        mass[:, gone] = 0
        if not mass.sum() > 0:
            mass = self.weight[:, None] * self.prior[None]
            mass[:, gone] = 0
        if not mass.sum() > 0:
            mass = np.ones_like(mass)
        # Summed in double, as the compiled loops do: the same scale, so that keywords tie where they tie there.
        return mass * np.float32(1 / mass.sum(dtype=np.float64))

    def choose_question(self, mass: np.ndarray, closed: Sequence[int], begun: int) -> int:
        """Question to ask, `begun` rounds being over, none of `closed`; -1 where there is no other.

        `mass` is what `weigh` gives.
        """
        view, reckoning = View.of(self, mass), self.reckoning
        looks = begun + 1 >= reckoning.look_from
        if looks or not self.network:
            listed = view.listed(closed, reckoning.width)
            if not listed.size:
                return -1
            if not looks:
                return int(listed[0])
            places = view.likeliest(reckoning.focus)
            answered = view.answered(listed, places)
            values = coverage(view.belief[places], answered, ROUNDS - begun, reckoning.alike)
            chosen = 0
            for place in range(len(values)):
                if values[place] > values[chosen] + reckoning.better:
                    chosen = place
            return int(listed[chosen])
        listed = view.listed(closed, self.shortlist[0])
        if not listed.size:
            return -1
        state, asks, _ = self._features(view, listed, begun, guessing=False)
        return int(listed[self._best("ask", asks, state)])

    def choose_guess(self, mass: np.ndarray, begun: int) -> int:
        """Keyword to guess in the round after `begun` ones."""
        if not self.network:
            return int(mass.sum(axis=0).argmax())
        view = View.of(self, mass)
        state, _, guesses = self._features(view, np.empty(0, np.int64), begun, guessing=True)
        places = view.likeliest(self._described)[: self.shortlist[1]]
        return int(view.ids[places[self._best("guess", guesses[: len(places)], state)]])

    def sums(self, ids: np.ndarray, signed: np.ndarray, certain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums over keywords `ids` of `signed` times answer, and of `certain` where there is no tie; float32 [questions]."""
        if 4 * len(ids) < len(self.sign):
            rows = self.sign[ids]
            return signed @ rows, certain @ np.abs(rows)
        whole = np.zeros((2, len(self.sign)), np.float32)  # dearer to pick rows than to multiply by zeros
        whole[:, ids] = signed, certain
        return whole[0] @ self.sign, whole[1] @ self.known

    @property
    def _described(self) -> int:
        """Likeliest keywords that the features are of."""
        return max(*self.shortlist[1:], self.reckoning.ranks)

    def _best(self, kind: str, listed: np.ndarray, state: np.ndarray) -> int:
        """Place of the listed action that the network scores highest."""

        def layer(name: str, values: np.ndarray) -> np.ndarray:
            return values @ self.network[f"{kind}_{name}.weight"].T + self.network.get(f"{kind}_{name}.bias", 0)

        first = np.maximum(layer("in", listed) + layer("state", state), 0)
        scores = layer("last", np.maximum(layer("hidden", first), 0))[:, 0]
        return int((scores >= scores.max() - self.reckoning.as_good).argmax())

    def _features(
        self, view: View, listed: np.ndarray, begun: int, guessing: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the network sees: of the state, of each listed question, of each keyword that may be guessed.

        The columns are those of `env.keywords.observation`, in the same order.
        """
        width, left = self.shortlist[1], ROUNDS - begun
        places = view.likeliest(self._described)
        top, answered = view.belief[places], view.answered(listed, places)
        asks = _ask_features(view, listed, top, answered, left)
        guesses = np.zeros((width, 5), np.float32)
        shown = top[:width]
        guesses[: len(shown)] = np.stack(
            [
                shown,
                np.log(np.maximum(shown, 1e-6)) / 5,
                shown / top[0],
                1 - np.cumsum(shown),
                np.arange(len(shown)) == 0,
            ],
            axis=1,
        )
        bits = -float((view.belief * np.log2(np.maximum(view.belief, 1e-30))).sum())
        best = float(asks[:, 0].max(initial=0))
        noises = view.mass.sum(axis=1)
        mean, square = float(noises @ self.rate), float(noises @ self.rate**2)
        ranks = np.zeros(self.reckoning.ranks, np.float32)
        ranks[: len(top)] = top[: len(ranks)]
        state = [
            left / ROUNDS,
            bits / 10,
            (bits - left) / 10,
            best,
            min(bits / max(best, 0.05) / ROUNDS, 2),
            mean,
            top.sum(),
            -np.log2(float((view.belief**2).sum())) / 10,
            *ranks,
            np.sqrt(max(square - mean * mean, 0)),
            view.mass[:, : self.first_tier].sum(),
            _top_sum(view.belief, left),
            guessing,
        ]
        return np.array(state, np.float32), asks, guesses


@dataclass(frozen=True)
class View:
    """A posterior as decisions see it: the keywords that matter, and what each question would tell."""

    mass: np.ndarray
    """float32 [noises, keywords]."""
    ids: np.ndarray
    """Keywords that matter, ascending, int64 [size]."""
    belief: np.ndarray
    """Their posterior, float32 [size], sums to 1."""
    signed: np.ndarray
    """Their part in the lean of an answer, float32 [size]."""
    lean: np.ndarray
    """How much more, or less, than the mean question each one says, float32 [questions]."""
    p_yes: np.ndarray
    gain: np.ndarray
    """Information about the keyword, in bits, float32 [questions]."""
    sign: np.ndarray
    """`Player.sign`."""
    grains: float
    """`Reckoning.grains`."""

    @classmethod
    def of(cls, player: Player, mass: np.ndarray) -> View:
        """See `env.keywords.compiled.predict_one`, which does the same in compiled loops."""
        belief = mass.sum(axis=0)
        ids = np.flatnonzero(belief > player.reckoning.negligible)
        belief = belief[ids]
        wrong = (player.rate @ mass)[ids] / belief
        belief = belief / np.float32(belief.sum(dtype=np.float64))
        signed, certain = belief * (1 - 2 * wrong), belief * (1 - _entropy(wrong))
        part = mass.sum(axis=1)
        wrong_by_question = (part @ ((1 - player.tilt) / 2)) / part.sum()
        mean = np.float32(part @ player.rate / part.sum())
        lean = (1 - 2 * wrong_by_question) / max(1 - 2 * mean, 1e-30)
        sure = (1 - _entropy(wrong_by_question)) / max(1 - float(_entropy(np.array(mean))), 1e-30)
        said, told = player.sums(ids, signed, certain)
        p_yes = np.clip(0.5 + 0.5 * lean * said, 0, 1)
        gain = _entropy(p_yes) - (1 - sure * told)
        return cls(mass, ids, belief, signed, lean, p_yes, gain, player.sign, player.reckoning.grains)

    def listed(self, closed: Sequence[int], count: int) -> np.ndarray:
        """The `count` most informative questions but those of `closed`, falling, ties by identifier, int64."""
        keys = np.floor(self.gain.astype(np.float64) * self.grains + 0.5)
        keys[list(closed)] = -np.inf
        order = np.argsort(-keys, kind="stable")[:count]
        return np.asarray(order[np.isfinite(keys[order])], np.int64)

    def likeliest(self, count: int) -> np.ndarray:
        """Places in `ids` of the likeliest keywords, falling, ties by identifier, int64."""
        return np.argsort(-self.belief, kind="stable")[:count]

    def answered(self, listed: np.ndarray, places: np.ndarray) -> np.ndarray:
        """P(yes) of the `listed` questions for keywords at `places`, float32 [questions, keywords]."""
        sure = self.lean[listed, None] * (self.signed[places] / self.belief[places])
        answers = self.sign[self.ids[places][None], listed[:, None]]
        return np.asarray(np.clip(0.5 + 0.5 * sure * answers, 0, 1), np.float32)


def coverage(belief: np.ndarray, p_yes: np.ndarray, left: int, alike: float) -> np.ndarray:
    """Chance of winning after each question, float32 [questions], if the `left` guesses take the likeliest keywords.

    Between the next guess and those after it comes the best second question. `belief` float32 [keywords], `p_yes`
    float32 [questions, keywords]. See `Reckoning.alike`.
    """
    if left == 1 or len(p_yes) == 1:
        return _covered(belief, p_yes, left) if left == 1 else _covered_after_guess(belief, p_yes, left)
    rest = belief * np.stack([p_yes, 1 - p_yes], axis=1)
    most = rest.max(axis=2, keepdims=True)
    guess = (rest >= most * np.float32(alike)).argmax(axis=2)[:, :, None]
    hit = np.take_along_axis(rest, guess, axis=2)[:, :, 0]
    np.put_along_axis(rest, guess, 0, axis=2)
    yes = rest[:, :, None] * p_yes[None, None]
    both = _top_sum(yes, left - 1) + _top_sum(rest[:, :, None] - yes, left - 1)
    both[np.arange(len(p_yes)), :, np.arange(len(p_yes))] = 0
    return np.asarray((hit + both.max(axis=2)).sum(axis=1))


def _covered_after_guess(belief: np.ndarray, p_yes: np.ndarray, left: int) -> np.ndarray:
    """`coverage` where there is no second question: the next guess alone."""
    rest = belief * np.stack([p_yes, 1 - p_yes], axis=1)
    return np.asarray(rest.max(axis=2).sum(axis=1))


def _covered(belief: np.ndarray, p_yes: np.ndarray, guesses: int) -> np.ndarray:
    """Mass of the `guesses` likeliest keywords after each question's answer, in expectation, float32 [questions]."""
    yes = belief * p_yes
    return _top_sum(yes, guesses) + _top_sum(belief - yes, guesses)


def _top_sum(values: np.ndarray, count: int) -> np.ndarray:
    """Sum of the `count` largest along the last axis."""
    if count < values.shape[-1]:
        values = np.partition(values, values.shape[-1] - count, axis=-1)[..., values.shape[-1] - count :]
    return np.asarray(values.sum(axis=-1))


def _entropy(p: np.ndarray) -> np.ndarray:
    """Entropy in bits of answers that are yes with probability `p`."""
    no = 1 - p
    return np.asarray(-p * np.log2(np.maximum(p, 1e-30)) - no * np.log2(np.maximum(no, 1e-30)))


def _ask_features(view: View, listed: np.ndarray, top: np.ndarray, answered: np.ndarray, left: int) -> np.ndarray:
    """Features of each listed question, float32 [questions, 13]."""
    if not listed.size:
        return np.zeros((0, 13), np.float32)
    gain, chance = view.gain[listed], view.p_yes[listed]
    next_gain, hits = _look_ahead(top, answered)
    two_step, cover = gain + next_gain, _covered(top, answered, left)
    second = answered[:, min(1, len(top) - 1)]
    columns = [
        gain,
        max(gain.max(), 0) - gain,
        np.abs(2 * chance - 1),
        1 - (_entropy(chance) - gain),
        two_step,
        max(two_step.max(), 0) - two_step,
        hits[0],
        hits[1],
        np.abs(2 * answered[:, 0] - 1),
        np.abs(answered[:, 0] - second),
        cover,
        cover.max() - cover,
        view.lean[listed],
    ]
    return np.asarray(np.stack(columns, axis=1), np.float32)


def _look_ahead(top: np.ndarray, answered: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Information of the best second listed question, and chances that one guess, or one of two, is then right.

    All float32 [questions]; see `env.identification.compiled.look_ahead`.
    """
    unsure, first = _entropy(answered), top * answered
    yes, rest = first.sum(axis=1), top - first
    no = np.maximum(top.sum() - yes, 0)
    hits = tuple(_top_sum(first, count) + _top_sum(rest, count) for count in (1, 2))
    said, lost = first @ answered.T, first @ unsure.T
    gains = []
    for part, chance, noise in (
        (yes, said, lost),
        (no, answered @ top - said, unsure @ top - lost),
    ):
        per = 1 / np.maximum(part, _SCARCE)[:, None]
        gain = _entropy(np.clip(chance * per, 0, 1)) - noise * per
        np.fill_diagonal(gain, 0)
        gains.append(part * np.maximum(gain.max(axis=1), 0))
    return gains[0] + gains[1], (hits[0], hits[1])

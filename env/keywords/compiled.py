"""Compiled loops over games at full size: masses of keywords, predicted answers, what the guesses left will cover.

The table stays int8 and masses are made anew from the answers: 8 MB and no state, where dense likelihoods take 63 MB.
Each game is computed on its own in a fixed order, so its numbers do not depend on the batch it is in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from env.identification.compiled import (
    ASK_SIZE,
    NEGLIGIBLE,
    STATE_SIZE,
    _binary_entropy,
    compiled,
    describe_listed,
    largest,
    shortlist,
)

GRAINS = np.float32(1e3)
"""Gains are compared in this many steps a bit: questions that are equal on paper tie, in whatever order sums are taken.

The agent file takes them in another one; the rounding error is a thousandth of a step.
"""

_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1), np.float32(2)
_TINY = np.float32(1e-30)


class Tables(NamedTuple):
    """What the loops read of a belief."""

    answers: np.ndarray
    """int8 [keywords, questions]."""
    by_question: np.ndarray
    """int8 [questions, keywords]."""
    prior: np.ndarray
    """float32 [keywords]."""
    tilt: np.ndarray
    """1 minus twice the rate of wrong answers, float32 [noises, questions]."""
    weight: np.ndarray
    """Prior of the noises, float32 [noises]."""
    rate: np.ndarray
    """Mean rate of each noise, float32 [noises]."""


@compiled()
def without(mass: np.ndarray, guessed: np.ndarray) -> float:
    """Take wrong guesses (-1: none) out of `mass` float32 [noises, keywords]; what is left in all."""
    for t in range(guessed.size):
        if guessed[t] >= 0:
            mass[:, guessed[t]] = 0
    total = 0.0  # in double, so that whoever sums in another order rounds to the same scale
    for h in range(mass.shape[0]):
        for k in range(mass.shape[1]):
            total += float(mass[h, k])
    return total


@compiled()
def weigh(tables: Tables, asked: np.ndarray, said: np.ndarray, guessed: np.ndarray) -> np.ndarray:
    """Posterior mass of every keyword under every noise after one game's transcript, float32 [noises, keywords].

    P(answer) is (1 +- tilt * table) / 2, so that a tie says nothing. Where nothing fits (possible without noise, or
    when all were guessed), the prior stands again, without the guesses while any other keyword is left.
    """
    by_question, prior, tilt, weight = tables.by_question, tables.prior, tables.tilt, tables.weight
    mass = np.empty((weight.size, prior.size), np.float32)
    noises, keywords = mass.shape
    for h in range(noises):
        for k in range(keywords):
            mass[h, k] = weight[h] * prior[k]
    for t in range(asked.size):
        if asked[t] < 0:
            continue
        row = by_question[asked[t]]
        for h in range(noises):
            lean = tilt[h, asked[t]] if said[t] else -tilt[h, asked[t]]
            for k in range(keywords):
                mass[h, k] *= _ONE + lean * np.float32(row[k])
    total = without(mass, guessed)
    if not total > 0:
        for h in range(noises):
            for k in range(keywords):
                mass[h, k] = weight[h] * prior[k]
        total = without(mass, guessed)
    if not total > 0:
        mass[:] = _ONE
        total = float(mass.size)
    scale = np.float32(1 / total)
    for h in range(noises):
        for k in range(keywords):
            mass[h, k] *= scale
    return mass


@compiled()
def binary_entropy(p: np.ndarray) -> np.ndarray:
    """Entropy in bits of answers that are yes with probability `p`, float32, same shape."""
    out = np.empty(p.size, np.float32)
    _binary_entropy(p, out, np.empty((4, p.size), np.float32))
    return out


@compiled()
def support(mass: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Keywords that matter: identifiers, posterior, and what of it a yes and the certainty of an answer carry.

    `rate` float32 [noises] is the mean rate of each noise. The posterior times 1 minus twice the keyword's expected
    rate, and times 1 minus the entropy of that rate; all float32 [size], posteriors sum to 1.
    """
    noises, keywords = mass.shape
    belief, wrong = np.zeros(keywords, np.float32), np.zeros(keywords, np.float32)
    for h in range(noises):
        for k in range(keywords):
            belief[k] += mass[h, k]
            wrong[k] += mass[h, k] * rate[h]
    ids = np.flatnonzero(belief > np.float32(NEGLIGIBLE))
    belief, wrong = belief[ids], wrong[ids]
    total = 0.0
    for i in range(ids.size):
        wrong[i] /= belief[i]
        total += float(belief[i])
    belief /= np.float32(total)
    unsure = binary_entropy(wrong)
    signed, certain = np.empty(ids.size, np.float32), np.empty(ids.size, np.float32)
    for i in range(ids.size):
        signed[i] = belief[i] * (_ONE - _TWO * wrong[i])
        certain[i] = belief[i] * (_ONE - unsure[i])
    return ids, belief, signed, certain


@compiled()
def predict(
    ids: np.ndarray,
    signed: np.ndarray,
    certain: np.ndarray,
    answers: np.ndarray,
    lean: np.ndarray,
    sure: np.ndarray,
    p_yes: np.ndarray,
    gain: np.ndarray,
) -> None:
    """P(yes) and information gain about the keyword of every question, float32 [questions], for one belief.

    `lean` and `sure` float32 [questions] are what a question's clarity makes of a keyword's part in `signed` and
    `certain`. A tie adds nothing to either sum: its answer is a coin of one bit.
    """
    questions = p_yes.size
    p_yes[:] = 0
    gain[:] = 0
    i, size = 0, ids.size
    while i + 4 <= size:
        ra, rb, rc, rd = answers[ids[i]], answers[ids[i + 1]], answers[ids[i + 2]], answers[ids[i + 3]]
        ua, ub, uc, ud = signed[i], signed[i + 1], signed[i + 2], signed[i + 3]
        va, vb, vc, vd = certain[i], certain[i + 1], certain[i + 2], certain[i + 3]
        for q in range(questions):
            a, b, c, d = np.float32(ra[q]), np.float32(rb[q]), np.float32(rc[q]), np.float32(rd[q])
            p_yes[q] += ua * a + ub * b + uc * c + ud * d
            gain[q] += va * (a * a) + vb * (b * b) + vc * (c * c) + vd * (d * d)
        i += 4
    while i < size:
        row = answers[ids[i]]
        for q in range(questions):
            a = np.float32(row[q])
            p_yes[q] += signed[i] * a
            gain[q] += certain[i] * (a * a)
        i += 1
    for q in range(questions):
        p_yes[q] = min(max(_HALF + _HALF * lean[q] * p_yes[q], np.float32(0)), _ONE)
    unsure = binary_entropy(p_yes)
    for q in range(questions):
        gain[q] = unsure[q] - (_ONE - sure[q] * gain[q])


@compiled()
def top_sum(values: np.ndarray, count: int, heap: np.ndarray) -> float:
    """Sum of the `count` largest of `values` (0 or more); `heap` float32 is scratch of that many."""
    filled = 0
    for i in range(values.size):
        value = values[i]
        if filled == count and value <= heap[0]:
            continue
        if filled < count:
            place = filled
            filled += 1
            while place > 0 and heap[(place - 1) // 2] > value:
                heap[place] = heap[(place - 1) // 2]
                place = (place - 1) // 2
            heap[place] = value
            continue
        place = 0
        while True:
            child = 2 * place + 1
            if child >= count:
                break
            if child + 1 < count and heap[child + 1] < heap[child]:
                child += 1
            if heap[child] >= value:
                break
            heap[place] = heap[child]
            place = child
        heap[place] = value
    total = np.float32(0)
    for i in range(filled):
        total += heap[i]
    return float(total)


@compiled()
def question_factors(mass: np.ndarray, tilt: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How much more, or less, than the mean question each one says, both float32 [questions]; see `predict`.

    From the posterior of the noises alone: exact where all noises are flat, and where there is but one.
    """
    noises, questions = tilt.shape
    wrong = np.zeros(questions, np.float32)
    mean = total = np.float32(0)
    for h in range(noises):
        part = mass[h].sum()
        total += part
        mean += part * rate[h]
        for q in range(questions):
            wrong[q] += part * (_ONE - tilt[h, q]) * _HALF
    for q in range(questions):
        wrong[q] /= total
    mean /= total
    unsure, unsure_mean = binary_entropy(wrong), binary_entropy(np.full(1, mean, np.float32))[0]
    lean, sure = np.empty(questions, np.float32), np.empty(questions, np.float32)
    for q in range(questions):
        lean[q] = (_ONE - _TWO * wrong[q]) / max(_ONE - _TWO * mean, _TINY)
        sure[q] = (_ONE - unsure[q]) / max(_ONE - unsure_mean, _TINY)
    return lean, sure


@compiled()
def predict_one(
    tables: Tables, mass: np.ndarray, p_yes: np.ndarray, gain: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """P(yes) and gain of every question for the masses of one game; and its `support` but for the last, with `lean`."""
    ids, belief, signed, certain = support(mass, tables.rate)
    lean, sure = question_factors(mass, tables.tilt, tables.rate)
    predict(ids, signed, certain, tables.answers, lean, sure, p_yes, gain)
    return ids, belief, signed, lean


@compiled(parallel=True)
def posterior_all(
    tables: Tables, asked: np.ndarray, said: np.ndarray, guessed: np.ndarray, keywords: np.ndarray, noises: np.ndarray
) -> None:
    """Posteriors of every game of a batch, [games, keywords] and [games, noises]."""
    for g in prange(asked.shape[0]):
        mass = weigh(tables, asked[g], said[g], guessed[g])
        for h in range(mass.shape[0]):
            noises[g, h] = mass[h].sum()
        keywords[g] = mass.sum(axis=0)


@compiled(parallel=True)
def predict_all(
    tables: Tables, asked: np.ndarray, said: np.ndarray, guessed: np.ndarray, p_yes: np.ndarray, gain: np.ndarray
) -> None:
    """P(yes) and information gain in every game of a batch, [games, questions]."""
    for g in prange(asked.shape[0]):
        predict_one(tables, weigh(tables, asked[g], said[g], guessed[g]), p_yes[g], gain[g])


@compiled(parallel=True)
def likeliest_all(tables: Tables, asked: np.ndarray, said: np.ndarray, guessed: np.ndarray, best: np.ndarray) -> None:
    """The likeliest keyword of every game of a batch, [games]."""
    for g in prange(asked.shape[0]):
        best[g] = weigh(tables, asked[g], said[g], guessed[g]).sum(axis=0).argmax()


@compiled()
def unasked(gain: np.ndarray, asked: np.ndarray, places: np.ndarray) -> int:
    """The most informative questions not asked yet into `places`, falling, ties by identifier, then -1; how many."""
    done = np.zeros(gain.size, np.bool_)
    for t in range(asked.size):
        if asked[t] >= 0:
            done[asked[t]] = True
    return shortlist(gain, done, places, GRAINS)


@compiled()
def covered(belief: np.ndarray, p_yes: np.ndarray, guesses: int) -> float:
    """Mass that the `guesses` likeliest keywords will have after an answer, in expectation.

    `belief` float32 [keywords], `p_yes` each one's P(yes), same shape.
    """
    yes, no = np.empty(belief.size, np.float32), np.empty(belief.size, np.float32)
    for i in range(belief.size):
        yes[i] = belief[i] * p_yes[i]
        no[i] = belief[i] - yes[i]
    heap = np.empty(guesses, np.float32)
    return top_sum(yes, guesses, heap) + top_sum(no, guesses, heap)


@compiled()
def answers_of(
    ids: np.ndarray, belief: np.ndarray, signed: np.ndarray, lean: np.ndarray, answers: np.ndarray, listed: np.ndarray
) -> np.ndarray:
    """P(yes) of each of the `listed` questions for some keywords, float32 [questions, keywords]."""
    p_yes = np.empty((listed.size, ids.size), np.float32)
    for place in range(listed.size):
        question = listed[place]
        for i in range(ids.size):
            sure = lean[question] * signed[i] / belief[i]
            p_yes[place, i] = min(max(_HALF + _HALF * sure * np.float32(answers[ids[i], question]), 0), 1)
    return p_yes


@compiled()
def describe(
    tables: Tables,
    asked: np.ndarray,
    said: np.ndarray,
    guessed: np.ndarray,
    begun: int,
    guessing: bool,
    budget: int,
    focus: int,
    first_tier: int,
    state: np.ndarray,
    asks: np.ndarray,
    ask_ids: np.ndarray,
    guesses: np.ndarray,
    guess_ids: np.ndarray,
) -> None:
    """Features of one game into the last five arrays; see `env.keywords.observation` for what the columns mean.

    `begun` rounds of `budget` are over; questions are listed where it is not the turn for `guessing`, keywords
    where it is. `first_tier` keywords stand in the first tier.
    """
    questions = tables.tilt.shape[1]
    p_yes, gain = np.zeros(questions, np.float32), np.zeros(questions, np.float32)
    mass = weigh(tables, asked, said, guessed)
    listed, left = 0, budget - begun
    if guessing:
        ids, belief, signed, _ = support(mass, tables.rate)
        lean = np.empty(0, np.float32)
    else:
        ids, belief, signed, lean = predict_one(tables, mass, p_yes, gain)
        listed = unasked(gain, asked, ask_ids)
    ask_ids[listed:] = -1
    places = np.empty(min(focus, ids.size), np.int64)
    places = places[: largest(belief, 0.0, places)]
    answered = answers_of(ids[places], belief[places], signed[places], lean, tables.answers, ask_ids[:listed])
    yes = np.empty((places.size, 2 * listed), np.float32)
    for k in range(listed):
        yes[:, k] = answered[k]
        yes[:, listed + k] = binary_entropy(answered[k])
    mean = square = np.float32(0)
    for h in range(tables.rate.size):
        part = mass[h].sum()
        mean += part * tables.rate[h]
        square += part * tables.rate[h] ** 2
    shared_state, shared_asks = state[:STATE_SIZE], asks[:, :ASK_SIZE]
    describe_listed(
        belief, places, yes, p_yes, gain, listed, left, budget, float(mean),
        shared_state, shared_asks, ask_ids, guesses, guess_ids,
    )  # fmt: skip
    for rank in range(guess_ids.size):
        guess_ids[rank] = ids[guess_ids[rank]] if guessing and guess_ids[rank] >= 0 else -1
    asks[:, ASK_SIZE:] = 0
    best = np.float32(0)
    for k in range(listed):
        asks[k, ASK_SIZE] = covered(belief[places], answered[k], left)
        asks[k, ASK_SIZE + 2] = lean[ask_ids[k]]
        best = max(best, asks[k, ASK_SIZE])
    for k in range(listed):
        asks[k, ASK_SIZE + 1] = best - asks[k, ASK_SIZE]
    heap = np.empty(left, np.float32)
    state[STATE_SIZE] = np.sqrt(max(square - mean * mean, np.float32(0)))
    state[STATE_SIZE + 1] = mass[:, :first_tier].sum()
    state[STATE_SIZE + 2] = top_sum(belief, left, heap)
    state[STATE_SIZE + 3] = guessing


@compiled(parallel=True)
def describe_all(
    tables: Tables,
    asked: np.ndarray,
    said: np.ndarray,
    guessed: np.ndarray,
    begun: np.ndarray,
    guessing: np.ndarray,
    budget: int,
    focus: int,
    first_tier: int,
    state: np.ndarray,
    asks: np.ndarray,
    ask_ids: np.ndarray,
    guesses: np.ndarray,
    guess_ids: np.ndarray,
) -> None:
    """`describe` for every game of a batch."""
    for g in prange(asked.shape[0]):
        describe(
            tables, asked[g], said[g], guessed[g], begun[g], guessing[g], budget, focus, first_tier,
            state[g], asks[g], ask_ids[g], guesses[g], guess_ids[g],
        )  # fmt: skip

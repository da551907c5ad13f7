"""Compiled loops of the players: the published recipe, the most informative question, and looking ahead to winning."""

from __future__ import annotations

import numpy as np
from numba import prange

from env.identification.compiled import compiled, largest
from env.keywords.compiled import Tables, answers_of, covered, predict_one, top_sum, unasked, weigh

BETTER = 1e-5
"""What a later question must cover more than an earlier one, to be asked instead of it."""

ALIKE = np.float32(1 - 1e-5)
"""Part of the largest mass from which on another one is as large: rounding must not tell keywords apart."""


@compiled()
def recipe_scores(
    by_question: np.ndarray, start: np.ndarray, penalty: int, asked: np.ndarray, said: np.ndarray, guessed: np.ndarray
) -> np.ndarray:
    """Scores of all keywords in half points, int16 [keywords]: two for an agreement, minus `penalty` for the contrary."""
    scores = start.copy()
    for t in range(asked.size):
        if asked[t] < 0:
            continue
        row = by_question[asked[t]]
        agree = 1 if said[t] else -1
        for k in range(scores.size):
            scores[k] += np.int16(2 * (row[k] == agree) - penalty * (row[k] == -agree))
    for t in range(guessed.size):
        if guessed[t] >= 0:
            scores[guessed[t]] = -30_000
    return scores


@compiled()
def recipe_threshold(scores: np.ndarray, second: bool) -> int:
    """Least score of the keywords that count: the best one, or that of the second best keyword."""
    best = next_best = -32_000
    for k in range(scores.size):
        if scores[k] > best:
            best, next_best = scores[k], best
        elif scores[k] > next_best:
            next_best = scores[k]
    return next_best if second else best


@compiled(parallel=True)
def recipe_asks(
    answers: np.ndarray,
    by_question: np.ndarray,
    start: np.ndarray,
    penalty: int,
    second: bool,
    asked: np.ndarray,
    said: np.ndarray,
    guessed: np.ndarray,
    questions: np.ndarray,
) -> None:
    """Question of the largest (y + n)/2 - (y - n)^2 / 2N + 1e-10 y - 1e-7 t over the keywords that count."""
    for g in prange(asked.shape[0]):
        scores = recipe_scores(by_question, start, penalty, asked[g], said[g], guessed[g])
        counted = np.flatnonzero(scores >= recipe_threshold(scores, second))
        yes, no = np.zeros(answers.shape[1], np.int32), np.zeros(answers.shape[1], np.int32)
        for k in counted:
            for q in range(answers.shape[1]):
                yes[q] += answers[k, q] == 1
                no[q] += answers[k, q] == -1
        size = counted.size
        value = np.empty(answers.shape[1], np.float64)
        for q in range(value.size):
            y, n = float(yes[q]), float(no[q])
            value[q] = (y + n) / 2 - (y - n) ** 2 / (2 * size) + 1e-10 * y - 1e-7 * (size - y - n)
        for t in range(asked.shape[1]):
            if asked[g, t] >= 0:
                value[asked[g, t]] = -np.inf
        questions[g] = value.argmax()


@compiled(parallel=True)
def recipe_guesses(
    by_question: np.ndarray,
    start: np.ndarray,
    penalty: int,
    asked: np.ndarray,
    said: np.ndarray,
    guessed: np.ndarray,
    keywords: np.ndarray,
) -> None:
    """The keyword of the best score, the first of several."""
    for g in prange(asked.shape[0]):
        keywords[g] = recipe_scores(by_question, start, penalty, asked[g], said[g], guessed[g]).argmax()


@compiled()
def coverage(belief: np.ndarray, p_yes: np.ndarray, left: int, deeper: bool, values: np.ndarray) -> None:
    """Chance of winning after each question, float32 [questions], when the guesses left are the likeliest keywords.

    `belief` float32 [keywords] of those in focus, `p_yes` float32 [questions, keywords]. Each of the `left` guesses
    takes one keyword. With `deeper`, the best second question comes between the next guess and those after it.
    """
    size = belief.size
    rest, yes, no = np.empty(size, np.float32), np.empty(size, np.float32), np.empty(size, np.float32)
    heap = np.empty(left, np.float32)
    for first in range(values.size):
        if not deeper or left == 1:
            values[first] = covered(belief, p_yes[first], left)
            continue
        value = 0.0
        for answer in range(2):
            most = np.float32(0)
            for i in range(size):
                chance = p_yes[first, i] if answer == 1 else 1 - p_yes[first, i]
                rest[i] = belief[i] * chance
                most = max(most, rest[i])
            likeliest = 0
            while rest[likeliest] < most * ALIKE:
                likeliest += 1
            value += rest[likeliest]
            rest[likeliest] = 0
            best = 0.0
            for second in range(values.size):
                if second == first:
                    continue
                for i in range(size):
                    yes[i] = rest[i] * p_yes[second, i]
                    no[i] = rest[i] - yes[i]
                best = max(best, top_sum(yes, left - 1, heap[: left - 1]) + top_sum(no, left - 1, heap[: left - 1]))
            value += best
        values[first] = value


@compiled()
def value_asks(
    tables: Tables, asked: np.ndarray, said: np.ndarray, guessed: np.ndarray, left: int, deeper: bool, focus: int,
    listed: np.ndarray, values: np.ndarray,
) -> int:  # fmt: skip
    """The most informative questions of one game into `listed`, falling, and what each is worth; how many.

    With `left` guesses left it is worth what they will cover, see `coverage`; with 0 its information gain in bits.
    """
    size = tables.tilt.shape[1]
    p_yes, gain = np.empty(size, np.float32), np.empty(size, np.float32)
    mass = weigh(tables, asked, said, guessed)
    ids, belief, signed, lean = predict_one(tables, mass, p_yes, gain)
    found = unasked(gain, asked, listed)
    if left > 0:
        places = np.empty(min(focus, ids.size), np.int64)
        places = places[: largest(belief, 0.0, places)]
        likely = belief[places]
        answered = answers_of(ids[places], likely, signed[places], lean, tables.answers, listed[:found])
        coverage(likely, answered, left, deeper, values[:found])
    else:
        for place in range(found):
            values[place] = gain[listed[place]]
    return found


@compiled(parallel=True)
def value_asks_all(
    tables: Tables, asked: np.ndarray, said: np.ndarray, guessed: np.ndarray, left: np.ndarray, deeper: bool, focus: int,
    listed: np.ndarray, values: np.ndarray,
) -> None:  # fmt: skip
    """`value_asks` for a batch: `listed` int64 and `values` float32, both [games, questions], -1 and NaN behind."""
    for g in prange(asked.shape[0]):
        found = value_asks(tables, asked[g], said[g], guessed[g], left[g], deeper, focus, listed[g], values[g])
        listed[g, found:] = -1
        values[g, found:] = np.nan


@compiled(parallel=True)
def informative_asks(
    tables: Tables, asked: np.ndarray, said: np.ndarray, guessed: np.ndarray, left: np.ndarray, deeper: bool,
    width: int, focus: int, questions: np.ndarray,
) -> None:  # fmt: skip
    """Of the `width` most informative questions, the one after which the guesses left cover most, int64 [games].

    `left` guesses, int64 [games]; 0 asks the most informative question without looking ahead; `focus` likeliest
    keywords are looked at.
    """
    for g in prange(asked.shape[0]):
        listed, values = np.empty(width, np.int64), np.empty(width, np.float32)
        found = value_asks(tables, asked[g], said[g], guessed[g], left[g], deeper, focus, listed, values)
        chosen = 0
        for place in range(found if left[g] > 0 else 0):
            if values[place] > values[chosen] + BETTER:
                chosen = place
        questions[g] = listed[chosen]

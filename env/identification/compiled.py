"""Compiled loops over games: predictive answers, information gain, shortlists, two-step features.

Each game is computed on its own in a fixed order, so its numbers do not depend on the batch it is in.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import prange

from env import loops

NEGLIGIBLE = 1e-6
"""Posterior below which a candidate is left out of the sums over the support."""

GRAINS = np.float32(1e5)
"""Gains are compared in this many steps a bit, so that splits that are equal on paper tie."""

STATE_SIZE, ASK_SIZE, GUESS_SIZE, RANKS = 16, 10, 5, 8
"""Columns of the three kinds of features, and how many of the likeliest animals the state tells apart."""

# log2(1 + t) = t * P(t) on [0, 1): Chebyshev fit of degree 7, largest error 2e-7. A polynomial, because the
# compiler turns it into vector instructions and the library's logarithm is called for one number at a time.
_P = np.array(
    [1.44269478, -0.72131073, 0.48007375, -0.35345465, 0.25617963, -0.15559986, 0.06378753, -0.01237062], np.float32
)
_P0, _P1, _P2, _P3, _P4, _P5, _P6, _P7 = (np.float32(c) for c in _P)
_ONE = np.float32(1)
_TINY = np.float32(1e-30)
_SCARCE = np.float32(1e-6)

compiled = partial(loops.compiled, fastmath={"contract"})


@compiled()
def _log2(x: np.ndarray, out: np.ndarray, mantissa: np.ndarray, exponent: np.ndarray) -> None:
    """out = log2(x) for positive float32 `x`; the two last arrays are scratch of the same length."""
    bits = x.view(np.int32)
    mantissa_bits = mantissa.view(np.int32)
    for i in range(x.size):
        mantissa_bits[i] = (bits[i] & np.int32(0x7FFFFF)) | np.int32(0x3F800000)
        exponent[i] = np.float32((bits[i] >> np.int32(23)) - np.int32(127))
    for i in range(x.size):
        t = mantissa[i] - _ONE
        p = _P7 * t + _P6
        p = p * t + _P5
        p = p * t + _P4
        p = p * t + _P3
        p = p * t + _P2
        p = p * t + _P1
        p = p * t + _P0
        out[i] = p * t + exponent[i]


@compiled()
def _binary_entropy(p: np.ndarray, out: np.ndarray, scratch: np.ndarray) -> None:
    """out = entropy in bits of answers that are yes with probability `p`, float32; scratch [4, size]."""
    n = p.size
    safe, log, mantissa, exponent = scratch[0, :n], scratch[1, :n], scratch[2, :n], scratch[3, :n]
    for i in range(n):
        safe[i] = max(p[i], _TINY)
    _log2(safe, log, mantissa, exponent)
    for i in range(n):
        out[i] = -p[i] * log[i]
        safe[i] = max(_ONE - p[i], _TINY)
    _log2(safe, log, mantissa, exponent)
    for i in range(n):
        out[i] -= (_ONE - p[i]) * log[i]


@compiled()
def mix(ids: np.ndarray, weight: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """out = sum of weight[i] * table[ids[i]], float32 [columns]; four rows at a time."""
    for j in range(out.size):
        out[j] = np.float32(0)
    i, size = 0, ids.size
    while i + 4 <= size:
        ra, rb, rc, rd = table[ids[i]], table[ids[i + 1]], table[ids[i + 2]], table[ids[i + 3]]
        wa, wb = np.float32(weight[i]), np.float32(weight[i + 1])
        wc, wd = np.float32(weight[i + 2]), np.float32(weight[i + 3])
        for j in range(out.size):
            out[j] += wa * ra[j] + wb * rb[j] + wc * rc[j] + wd * rd[j]
        i += 4
    while i < size:
        w, row = np.float32(weight[i]), table[ids[i]]
        for j in range(out.size):
            out[j] += w * row[j]
        i += 1


@compiled()
def predict(ids: np.ndarray, weight: np.ndarray, table: np.ndarray, p_yes: np.ndarray, gain: np.ndarray) -> None:
    """P(yes) and information gain of every question, float32 [questions], for one belief.

    The belief is `weight` (sums to 1) on the candidates `ids`; `table` float32 [candidates, 2 * questions]
    holds P(yes) of each question, then the entropy of the answer of a known animal.
    """
    questions = p_yes.size
    both = np.empty(2 * questions, np.float32)
    mix(ids, weight, table, both)
    p_yes[:] = both[:questions]
    _binary_entropy(p_yes, gain, np.empty((4, questions), np.float32))
    for q in range(questions):
        gain[q] -= both[questions + q]


@compiled()
def largest(keys: np.ndarray, least: float, places: np.ndarray) -> int:
    """Positions of the largest `keys` above `least` into `places`, falling, ties by position; how many."""
    count, width = 0, places.size
    for i in range(keys.size):
        key = keys[i]
        if key <= least or (count == width and key <= keys[places[count - 1]]):
            continue
        place = count if count < width else width - 1
        while place > 0 and keys[places[place - 1]] < key:
            if place < width:
                places[place] = places[place - 1]
            place -= 1
        places[place] = i
        count = min(count + 1, width)
    return count


@compiled()
def shortlist(gain: np.ndarray, asked: np.ndarray, ask_ids: np.ndarray, grains: np.float32 = GRAINS) -> int:
    """The most informative questions not asked yet into `ask_ids` (-1 behind them), ties by identifier; how many.

    `gain` is compared in `grains` steps a bit.
    """
    keys = np.empty(gain.size, np.float32)
    for q in range(gain.size):
        keys[q] = np.float32(np.int32(gain[q] * grains + np.float32(0.5)))
        if asked[q]:
            keys[q] = np.float32(-1e9)
    listed = largest(keys, -1e8, ask_ids)
    ask_ids[listed:] = -1
    return listed


@compiled()
def look_ahead(
    weight: np.ndarray,
    yes: np.ndarray,
    listed: int,
    next_gain: np.ndarray,
    hits: np.ndarray,
) -> None:
    """What each of `listed` questions leads to, over a belief `weight` on as many candidates as `yes` has rows.

    `yes` float32 [candidates, 2 * listed] holds P(yes) of each question, then the entropy of the answer.
    Fills `next_gain` float32 [asks], the expected information gain of the best listed question after the
    answer, and `hits` float32 [asks, 2], the chance that the next guess, and one of the next two, is right.
    """
    size = weight.size
    first = np.empty((listed, size), np.float32)  # posterior, and a yes to the first question
    total = np.zeros(2 * listed, np.float32)
    for m in range(size):
        for k in range(listed):
            first[k, m] = weight[m] * yes[m, k]
        for j in range(2 * listed):
            total[j] += weight[m] * yes[m, j]
    joint = np.dot(first, yes)
    mass_all = np.float32(weight.sum())
    after = np.empty((listed, 2 * listed), np.float32)  # P(yes) of a second question after a yes, then after a no
    halves = np.empty((listed, 2), np.float32)  # mass of a yes and of a no
    for k in range(listed):
        mass_yes = np.float32(0)
        yes_1 = yes_2 = no_1 = no_2 = np.float32(0)
        for m in range(size):
            w = first[k, m]
            rest = weight[m] - w
            mass_yes += w
            if w > yes_2:
                yes_1, yes_2 = max(w, yes_1), min(w, yes_1)
            if rest > no_2:
                no_1, no_2 = max(rest, no_1), min(rest, no_1)
        hits[k, 0] = yes_1 + no_1
        hits[k, 1] = yes_1 + no_1 + yes_2 + no_2
        mass_no = max(mass_all - mass_yes, np.float32(0))
        halves[k, 0], halves[k, 1] = mass_yes, mass_no
        per_yes, per_no = _ONE / max(mass_yes, _SCARCE), _ONE / max(mass_no, _SCARCE)
        for j in range(listed):
            after[k, j] = min(max(joint[k, j] * per_yes, np.float32(0)), _ONE)
            after[k, listed + j] = min(max((total[j] - joint[k, j]) * per_no, np.float32(0)), _ONE)
    unsure = np.empty(after.size, np.float32)
    _binary_entropy(after.reshape(-1), unsure, np.empty((4, after.size), np.float32))
    for k in range(listed):
        mass_yes, mass_no = halves[k, 0], halves[k, 1]
        per_yes, per_no = _ONE / max(mass_yes, _SCARCE), _ONE / max(mass_no, _SCARCE)
        here = unsure[2 * listed * k : 2 * listed * (k + 1)]
        best_yes = best_no = np.float32(0)
        for j in range(listed):
            if j != k:
                best_yes = max(best_yes, here[j] - joint[k, listed + j] * per_yes)
                best_no = max(best_no, here[listed + j] - (total[listed + j] - joint[k, listed + j]) * per_no)
        next_gain[k] = mass_yes * best_yes + mass_no * best_no


@compiled()
def describe_listed(
    likely: np.ndarray,
    focus: np.ndarray,
    yes: np.ndarray,
    p_yes: np.ndarray,
    gain: np.ndarray,
    listed: int,
    left: int,
    budget: int,
    noise: float,
    state: np.ndarray,
    asks: np.ndarray,
    ask_ids: np.ndarray,
    guesses: np.ndarray,
    guess_ids: np.ndarray,
) -> None:
    """Features of a belief and of what is listed, into `state`, `asks`, `guesses`; `guess_ids` are places in `likely`.

    `likely` float32 is the posterior of the candidates that matter, `focus` the places of the likeliest, falling;
    `yes` float32 [focus, 2 * listed] their P(yes) of the first `listed` of `ask_ids`, then the answers' entropy.
    """
    focused = focus.size
    top = likely[focus]
    next_gain, hits = np.zeros(asks.shape[0], np.float32), np.zeros((asks.shape[0], 2), np.float32)
    if listed > 0:
        look_ahead(top, yes, listed, next_gain, hits)
    best = most = np.float32(0)
    for k in range(listed):
        best = max(best, gain[ask_ids[k]])
        most = max(most, gain[ask_ids[k]] + next_gain[k])
    second = min(1, focused - 1)
    asks[:] = 0
    for k in range(listed):
        q = ask_ids[k]
        two_step = gain[q] + next_gain[k]
        asks[k, 0] = gain[q]
        asks[k, 1] = best - gain[q]
        asks[k, 2] = abs(2 * p_yes[q] - 1)
        asks[k, 4] = two_step
        asks[k, 5] = most - two_step
        asks[k, 6] = hits[k, 0]
        asks[k, 7] = hits[k, 1]
        asks[k, 8] = abs(2 * yes[0, k] - 1)
        asks[k, 9] = abs(yes[0, k] - yes[second, k])
    if listed > 0:
        chosen, unsure = p_yes[ask_ids[:listed]], np.empty(listed, np.float32)
        _binary_entropy(chosen, unsure, np.empty((4, listed), np.float32))
        for k in range(listed):
            asks[k, 3] = 1 - (unsure[k] - asks[k, 0])
    bits = square = np.float32(0)
    logs = np.empty((4, likely.size), np.float32)
    for i in range(likely.size):
        logs[0, i] = max(likely[i], _TINY)
    _log2(logs[0], logs[1], logs[2], logs[3])
    for i in range(likely.size):
        bits -= likely[i] * logs[1, i]
        square += likely[i] * likely[i]
    state[0] = left / budget
    state[1] = bits / 10
    state[2] = (bits - left) / 10
    state[3] = best
    state[4] = min(bits / max(best, np.float32(0.05)) / budget, np.float32(2))
    state[5] = noise
    state[6] = top.sum()
    state[7] = -np.log2(square) / 10
    for rank in range(RANKS):
        state[8 + rank] = top[rank] if rank < focused else 0
    rest = _ONE
    for rank in range(guess_ids.size):
        guess_ids[rank] = -1
        guesses[rank] = 0
        if rank < focused:
            rest -= top[rank]
            guess_ids[rank] = focus[rank]
            guesses[rank, 0] = top[rank]
            guesses[rank, 1] = np.log(max(top[rank], np.float32(1e-6))) / 5
            guesses[rank, 2] = top[rank] / top[0]
            guesses[rank, 3] = rest
            guesses[rank, 4] = rank == 0


@compiled()
def describe(
    ids: np.ndarray,
    weight: np.ndarray,
    asked: np.ndarray,
    left: int,
    budget: int,
    noise: float,
    table: np.ndarray,
    width: int,
    state: np.ndarray,
    asks: np.ndarray,
    ask_ids: np.ndarray,
    guesses: np.ndarray,
    guess_ids: np.ndarray,
) -> None:
    """Features of one game, into the last five arrays; see `env.identification.observation` for what the columns mean.

    The belief is `weight` float64 (sums to 1) on the candidates `ids`, ascending; `asked` bool [questions];
    `left` calls of `budget`; the two-step features look at the `width` likeliest candidates. `ask_ids` are
    questions, `guess_ids` candidates, -1 where there are no more.
    """
    questions = table.shape[1] // 2
    p_yes, gain = np.empty(questions, np.float32), np.empty(questions, np.float32)
    predict(ids, weight, table, p_yes, gain)
    listed = shortlist(gain, asked, ask_ids) if left > 1 else 0
    ask_ids[listed:] = -1
    places = np.empty(min(width, ids.size), np.int64)
    likely = weight.astype(np.float32)
    focused = largest(likely, 0.0, places)
    yes = np.empty((focused, 2 * listed), np.float32)
    for m in range(focused):
        row = table[ids[places[m]]]
        for k in range(listed):
            yes[m, k] = row[ask_ids[k]]
            yes[m, listed + k] = row[questions + ask_ids[k]]
    describe_listed(
        likely,
        places[:focused],
        yes,
        p_yes,
        gain,
        listed,
        left,
        budget,
        noise,
        state,
        asks,
        ask_ids,
        guesses,
        guess_ids,
    )
    for rank in range(guess_ids.size):
        if guess_ids[rank] >= 0:
            guess_ids[rank] = ids[guess_ids[rank]]


@compiled()
def support(belief: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Candidates of one dense belief that matter, and their posterior, which then sums to 1."""
    ids = np.flatnonzero(belief > NEGLIGIBLE)
    weight = belief[ids]
    return ids, weight / weight.sum()


@compiled(parallel=True)
def describe_all(
    belief: np.ndarray,
    asked: np.ndarray,
    left: np.ndarray,
    budget: int,
    level: np.ndarray,
    noise: np.ndarray,
    table: np.ndarray,
    width: int,
    state: np.ndarray,
    asks: np.ndarray,
    ask_ids: np.ndarray,
    guesses: np.ndarray,
    guess_ids: np.ndarray,
) -> None:
    """`describe` for every game of a batch; `belief` float64 [games, candidates].

    Game g plays at noise level `level[g]`, of which `noise` [levels] and `table` [levels, candidates,
    2 * questions] tell more.
    """
    for g in prange(belief.shape[0]):
        ids, weight = support(belief[g])
        describe(
            ids,
            weight,
            asked[g],
            left[g],
            budget,
            noise[level[g]],
            table[level[g]],
            width,
            state[g],
            asks[g],
            ask_ids[g],
            guesses[g],
            guess_ids[g],
        )


@compiled(parallel=True)
def predict_all(belief: np.ndarray, table: np.ndarray, p_yes: np.ndarray, gain: np.ndarray) -> None:
    """`predict` for every game of a batch; `p_yes` and `gain` float32 [games, questions]."""
    for g in prange(belief.shape[0]):
        ids, weight = support(belief[g])
        predict(ids, weight, table, p_yes[g], gain[g])

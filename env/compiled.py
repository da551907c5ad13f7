"""Compiled loops over games: predictive answers, information gain, shortlists, two-step features.

Each game is computed on its own in a fixed order, so its numbers do not depend on the batch it is in.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit, prange

NEGLIGIBLE = 1e-6
"""Posterior below which a candidate is left out of the sums over the support."""

GRAINS = np.float32(1e5)
"""Gains are compared in this many steps a bit, so that splits that are equal on paper tie."""

BLOCKS = 16
"""Parts that a batch is cut into for the threads; each part shares its scratch memory."""

# log2(1 + t) = t * P(t) on [0, 1): Chebyshev fit of degree 7, largest error 2e-7. A polynomial, because the
# compiler turns it into vector instructions and the library's logarithm is called for one number at a time.
_P = np.array(
    [1.44269478, -0.72131073, 0.48007375, -0.35345465, 0.25617963, -0.15559986, 0.06378753, -0.01237062], np.float32
)
_P0, _P1, _P2, _P3, _P4, _P5, _P6, _P7 = (np.float32(c) for c in _P)
_ONE = np.float32(1)
_TINY = np.float32(1e-30)

compiled = partial(njit, cache=True, fastmath={"contract"}, nogil=True)


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
def _mix(belief: np.ndarray, support: np.ndarray, size: int, table: np.ndarray, out: np.ndarray) -> None:
    """out = sum over the support of belief times table row, float32 [columns]; four rows at a time."""
    for j in range(out.size):
        out[j] = np.float32(0)
    i = 0
    while i + 4 <= size:
        a, b, c, d = support[i], support[i + 1], support[i + 2], support[i + 3]
        wa, wb, wc, wd = (
            np.float32(belief[a]),
            np.float32(belief[b]),
            np.float32(belief[c]),
            np.float32(belief[d]),
        )
        ra, rb, rc, rd = table[a], table[b], table[c], table[d]
        for j in range(out.size):
            out[j] += wa * ra[j] + wb * rb[j] + wc * rc[j] + wd * rd[j]
        i += 4
    while i < size:
        w, row = np.float32(belief[support[i]]), table[support[i]]
        for j in range(out.size):
            out[j] += w * row[j]
        i += 1


@compiled()
def _largest(keys: np.ndarray, least: float, ids: np.ndarray, width: int) -> int:
    """Positions of the largest `keys` above `least` into `ids`, falling, ties by position; how many."""
    count = 0
    for i in range(keys.size):
        key = keys[i]
        if key <= least or (count == width and key <= keys[ids[count - 1]]):
            continue
        place = count if count < width else width - 1
        while place > 0 and keys[ids[place - 1]] < key:
            if place < width:
                ids[place] = ids[place - 1]
            place -= 1
        ids[place] = i
        count = min(count + 1, width)
    return count


@compiled(parallel=True)
def predict(belief: np.ndarray, table: np.ndarray, p_yes: np.ndarray, gain: np.ndarray) -> None:
    """P(yes) and information gain of every question.

    `belief` float64 [games, candidates]; `table` float32 [candidates, 2 * questions]: P(yes), then the
    answer's entropy; fills `p_yes` and `gain`, float32 [games, questions].
    """
    games, candidates = belief.shape
    questions = p_yes.shape[1]
    blocks = min(games, BLOCKS)
    for block in prange(blocks):
        support = np.empty(candidates, np.int64)
        both = np.empty(2 * questions, np.float32)
        scratch = np.empty((4, questions), np.float32)
        for g in range(block * games // blocks, (block + 1) * games // blocks):
            size = 0
            for c in range(candidates):
                if belief[g, c] > NEGLIGIBLE:
                    support[size] = c
                    size += 1
            _mix(belief[g], support, size, table, both)
            p_yes[g] = both[:questions]
            _binary_entropy(both[:questions], gain[g], scratch)
            for q in range(questions):
                gain[g, q] -= both[questions + q]


@compiled(parallel=True)
def shortlist(
    belief: np.ndarray,
    open_gain: np.ndarray,
    ask_ids: np.ndarray,
    focus: np.ndarray,
) -> None:
    """Most informative questions and likeliest candidates, falling, ties by position; -1 where there are no more.

    `open_gain` float32 [games, questions], negative where a question is not to be listed.
    Fills `ask_ids` int32 [games, asks] and `focus` int32 [games, focus].
    """
    games, candidates = belief.shape
    questions = open_gain.shape[1]
    blocks = min(games, BLOCKS)
    for block in prange(blocks):
        keys = np.empty(questions, np.float32)
        likely = np.empty(candidates, np.float32)
        for g in range(block * games // blocks, (block + 1) * games // blocks):
            for q in range(questions):
                keys[q] = np.float32(np.int32(open_gain[g, q] * GRAINS + np.float32(0.5)))
            found = _largest(keys, -5e4, ask_ids[g], ask_ids.shape[1])
            ask_ids[g, found:] = -1
            for c in range(candidates):
                likely[c] = np.float32(belief[g, c])
            found = _largest(likely, 0.0, focus[g], focus.shape[1])
            focus[g, found:] = -1


@compiled(parallel=True)
def look_ahead(
    belief: np.ndarray,
    table: np.ndarray,
    ask_ids: np.ndarray,
    focus: np.ndarray,
    next_gain: np.ndarray,
    hits: np.ndarray,
) -> None:
    """What each listed question leads to, over the candidates in focus.

    Fills `next_gain` float32 [games, asks]: expected information gain of the best listed question after
    the answer; and `hits` float32 [games, asks, 2]: the chance that the next guess, and that one of the
    next two, is right after it.
    """
    games, asks = ask_ids.shape
    questions = table.shape[1] // 2
    blocks = min(games, BLOCKS)
    for block in prange(blocks):
        width = focus.shape[1]
        yes = np.empty((width, 2 * asks), np.float32)  # P(yes) of the listed questions, then their entropy
        first = np.empty((asks, width), np.float32)  # posterior and a yes to the first question
        joint = np.empty((asks, 2 * asks), np.float32)
        total = np.empty(2 * asks, np.float32)
        after = np.empty(asks, np.float32)
        unsure = np.empty(asks, np.float32)
        scratch = np.empty((4, asks), np.float32)
        for g in range(block * games // blocks, (block + 1) * games // blocks):
            yes[:] = 0
            first[:] = 0
            total[:] = 0
            mass_all = np.float32(0)
            listed = 0
            while listed < asks and ask_ids[g, listed] >= 0:
                listed += 1
            for m in range(width):
                if focus[g, m] < 0:
                    break
                row = table[focus[g, m]]
                weight = np.float32(belief[g, focus[g, m]])
                mass_all += weight
                for k in range(listed):
                    yes[m, k] = row[ask_ids[g, k]]
                    yes[m, asks + k] = row[questions + ask_ids[g, k]]
                    first[k, m] = weight * yes[m, k]
                for j in range(2 * asks):
                    total[j] += weight * yes[m, j]
            np.dot(first, yes, joint)
            for k in range(asks):
                next_gain[g, k] = np.float32(0)
                hits[g, k] = np.float32(0)
                if k >= listed:
                    continue
                mass_yes = np.float32(0)
                yes_1 = yes_2 = no_1 = no_2 = np.float32(0)
                for m in range(width):
                    if focus[g, m] < 0:
                        break
                    w = first[k, m]
                    rest = np.float32(belief[g, focus[g, m]]) - w
                    mass_yes += w
                    if w > yes_2:
                        yes_1, yes_2 = max(w, yes_1), min(w, yes_1)
                    if rest > no_2:
                        no_1, no_2 = max(rest, no_1), min(rest, no_1)
                hits[g, k, 0] = yes_1 + no_1
                hits[g, k, 1] = yes_1 + no_1 + yes_2 + no_2
                for side in range(2):
                    mass = mass_yes if side == 0 else mass_all - mass_yes
                    if mass < np.float32(1e-6):
                        continue
                    scale = _ONE / mass
                    for j in range(asks):
                        part = joint[k, j] if side == 0 else total[j] - joint[k, j]
                        after[j] = min(max(part * scale, np.float32(0)), _ONE)
                    _binary_entropy(after, unsure, scratch)
                    best = np.float32(0)
                    for j in range(listed):
                        part = joint[k, asks + j] if side == 0 else total[asks + j] - joint[k, asks + j]
                        if j != k:
                            best = max(best, unsure[j] - part * scale)
                    next_gain[g, k] += mass * best

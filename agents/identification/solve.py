"""A handful of candidates solved outright: the best of all policies by dynamic programming over asks and guesses.

Branch and bound. From below, a chain of guesses, likeliest first; from above, what the candidates could give if
every split of them were on offer and every answer sure. Where the two meet, which they mostly do, nothing is tried.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from agents.identification.compiled import branch, guess_chain
from env.identification.compiled import compiled
from env.identification.support import likely

HANDFUL = 6
"""Candidates that are solved outright."""

TAIL = 1e-5
"""Posterior of all other candidates together up to which the likeliest are the only ones for a solution."""

TOLERANCE = 2e-6
"""Expected round score by which an action must be better to be looked for: a 5,000th of a point of 100."""

MOST_STATES = 300
"""States that one solution may look into; a harder one is left to lookahead."""

UNSOLVED = -1


@compiled()
def upper_bound(points: np.ndarray, mass: np.ndarray, calls: int) -> float:
    """Most that candidates of these masses (falling) give after `calls` calls, were every split on offer and sure.

    `points` float64 [budget] is the round score of a right guess after n calls. Only the number of branches counts:
    at every depth each branch either guesses, and goes on alone, or asks, and becomes two; likely animals come first.
    """
    size, budget = mass.size, points.size
    total = np.zeros(size + 1)
    for i in range(size):
        total[i + 1] = total[i] + mass[i]
    best, after = np.zeros((size + 1, size + 1)), np.zeros((size + 1, size + 1))  # [guessed so far, branches]
    for depth in range(budget - 1, calls - 1, -1):
        best, after = after, best
        for k in range(size):
            for width in range(1, size - k + 1):
                most = 0.0
                for guesses in range(width + 1):
                    rest = k + guesses
                    ahead = min(2 * width - guesses, size - rest)
                    most = max(most, (total[rest] - total[k]) * points[depth] + after[rest, ahead])
                best[k, width] = most
    return best[0, min(1, size)]


@compiled()
def solve(
    points: np.ndarray,
    table: np.ndarray,
    ids: np.ndarray,
    mass: np.ndarray,
    asked: np.ndarray,
    calls: int,
    least: float,
    slack: float,
    states: np.ndarray,
) -> tuple[float, int]:
    """Value and first action of the best policy for the masses `mass` on the candidates `ids`, within `slack`.

    The value is the sum over candidates of mass times round score. `table` float32 [candidates, 2 * questions] starts
    with P(yes); candidates below the mass `least` are dropped. `states[0]` counts the states looked into; from
    MOST_STATES on nothing more is tried, and the value is a lower bound.
    """
    questions, budget = table.shape[1] // 2, points.size
    if ids.size == 0 or calls >= budget:
        return 0.0, UNSOLVED
    order = np.argsort(-mass, kind="mergesort")
    falling = mass[order]
    action, best = questions + ids[order[0]], guess_chain(falling, calls, points)
    if states[0] >= MOST_STATES or upper_bound(points, falling, calls) <= best + slack:
        return best, action
    states[0] += 1
    for i in range(ids.size):
        others = np.arange(ids.size) != i
        right = falling[i] * points[calls]
        if right + upper_bound(points, falling[others], calls + 1) <= best + slack:
            continue
        rest, _ = solve(points, table, ids[order[others]], falling[others], asked, calls + 1, least, slack, states)
        if right + rest > best + (0.0 if i == 0 else slack):
            best, action = right + rest, questions + ids[order[i]]
    hope = np.zeros(questions)
    for q in range(questions):
        if not asked[q]:
            for answer in range(2):
                _, kept = branch(table, ids, mass, q, answer, least)
                hope[q] += upper_bound(points, np.sort(kept)[::-1], calls + 1)
    for q in np.argsort(-hope, kind="mergesort"):
        if hope[q] <= best + slack or states[0] >= MOST_STATES:
            break
        asked[q] = True
        value = 0.0
        for answer in range(2):
            kept_ids, kept = branch(table, ids, mass, q, answer, least)
            part, _ = solve(points, table, kept_ids, kept, asked, calls + 1, least, slack, states)
            value += part
        asked[q] = False
        if value > best + slack:
            best, action = value, q
    return best, action


@compiled(parallel=True)
def solve_all(
    points: np.ndarray,
    table: np.ndarray,
    starts: np.ndarray,
    support_ids: np.ndarray,
    mass: np.ndarray,
    asked: np.ndarray,
    calls: np.ndarray,
    least: float,
    action: np.ndarray,
) -> None:
    """Best first action of each game into `action` int64 [games]: a question, or their number plus a candidate.

    UNSOLVED where more than HANDFUL candidates matter, or where the solution takes more than MOST_STATES.
    The games' `Beliefs` are given by their arrays; `asked` bool [games, questions], `calls` consumed, int64 [games].
    """
    for g in prange(starts.size - 1):
        ids, weight = likely(starts, support_ids, mass, g)
        action[g] = UNSOLVED
        if ids.size > HANDFUL:
            likeliest = np.argsort(-weight, kind="mergesort")[:HANDFUL]
            ids, weight = ids[likeliest], weight[likeliest]
        if weight.sum() >= 1 - TAIL:
            states = np.zeros(1, np.int64)
            _, found = solve(points, table, ids, weight, asked[g].copy(), calls[g], least, TOLERANCE, states)
            if states[0] < MOST_STATES:
                action[g] = found

"""What no player of LLM 20 Questions can exceed: a linear program over rounds, wrong answers and tiers."""

from __future__ import annotations

from math import comb

import numpy as np
from scipy.optimize import linprog

from env.keywords.comparison import ROUNDS

Row = list[tuple[int, float]]


def win_bound(rate: float, tiers: tuple[int, ...], shares: tuple[float, ...]) -> float:
    """Upper bound of the win rate with a partner who answers wrongly at `rate`, whatever is asked, ties aside.

    `tiers` are numbers of keywords, `shares` of the games. A transcript of r answers differs in d places from what is
    true of a keyword. Of all pairs of keyword and transcript, by round, tier and d, some fraction is guessed, once; a
    transcript guesses one keyword, so that round r has at most 2^r of them.
    """
    states = [(r, t, d) for r in range(1, ROUNDS + 1) for t in range(len(tiers)) for d in range(r + 1)]
    at, size = {state: place for place, state in enumerate(states)}, len(states)
    won = np.zeros(2 * size)  # fraction guessed of each state, then the fraction still open before the guess
    most: list[tuple[Row, float]] = []
    equal: list[tuple[Row, float]] = []
    for (r, t, d), place in at.items():
        won[place] = -shares[t] * comb(r, d) * rate**d * (1 - rate) ** (r - d)
        most.append(([(place, 1.0), (size + place, -1.0)], 0.0))
        before: Row = []
        for earlier, ways in (
            (at.get((r - 1, t, d)), comb(r - 1, d)),
            (at.get((r - 1, t, d - 1)), comb(r - 1, d - 1 if d else 0)),
        ):
            if earlier is not None:
                part = ways / comb(r, d)
                before += [(size + earlier, -part), (earlier, part)]
        equal.append(([(size + place, 1.0), *before], 0.0 if r > 1 else 1.0))
    for r in range(1, ROUNDS + 1):
        pairs = [(at[r, t, d], tiers[t] * comb(r, d) / 2.0**r) for t in range(len(tiers)) for d in range(r + 1)]
        most.append((pairs, 1.0))
    solved = linprog(
        won, A_ub=_matrix(most, 2 * size), b_ub=[limit for _, limit in most],
        A_eq=_matrix(equal, 2 * size), b_eq=[limit for _, limit in equal], bounds=(0, None), method="highs",
    )  # fmt: skip
    if solved.status != 0 or solved.fun is None:
        raise ArithmeticError(f"the linear program was not solved: {solved.message}")
    return float(-solved.fun)


def _matrix(rows: list[tuple[Row, float]], columns: int) -> np.ndarray:
    matrix = np.zeros((len(rows), columns))
    for place, (row, _) in enumerate(rows):
        for column, value in row:
            matrix[place, column] += value
    return matrix

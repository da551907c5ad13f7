"""The rules of a round: the budget, what a call costs, the score, and the limit that no policy passes."""

from __future__ import annotations

from functools import cache

BUDGET = 15
"""Calls a round may consume; a question and a guess each consume one."""

COST = 0.02
"""Points that one call costs."""


def round_score(solved: bool, calls: int) -> float:
    """Score of one finished round: `max(0, solved - COST * calls)`, between 0 and 0.98."""
    return max(0.0, float(solved) - COST * calls)


@cache
def _total_calls(up_to: int) -> tuple[int, ...]:
    """T(0..up_to) of `limit_calls`, in order; T grows convexly, so the even split is the best one."""
    total = [0, 1]
    for n in range(2, up_to + 1):
        total.append(n + min(total[n - 1], total[n // 2] + total[n - n // 2]))
    return tuple(total)


def limit_calls(n: int) -> float:
    """Mean calls of the best policy on `n` equally likely candidates if every split were available.

    T(1) = 1 and T(n) = n + min(T(n-1), min over k of T(k) + T(n-k)) total calls: the first call is
    spent on all n; a guess settles one of them, a question splits them in two. Returns T(n) / n.
    """
    if n < 1:
        raise ValueError(f"a limit needs at least one candidate, not {n}")
    return _total_calls(n)[n] / n


def limit(n: int) -> float:
    """Best mean round score on `n` equally likely candidates, x100."""
    return 100.0 * (1.0 - COST * limit_calls(n))

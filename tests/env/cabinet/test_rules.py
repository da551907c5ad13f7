import pytest

from env.cabinet.rules import BUDGET, COST, limit, limit_calls, round_score


@pytest.mark.parametrize(("calls", "score"), [(1, 0.98), (2, 0.96), (15, 0.70)])
def test_a_right_guess_scores_one_less_two_hundredths_a_call(calls: int, score: float) -> None:
    assert round_score(True, calls) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("calls", [0, 1, BUDGET])
def test_an_unsolved_round_scores_zero_and_never_less(calls: int) -> None:
    assert round_score(False, calls) == 0.0


def test_the_contract_fixes_fifteen_calls_of_two_hundredths() -> None:
    assert (BUDGET, COST) == (15, 0.02)


def test_the_limit_is_that_of_the_full_recursion_over_every_split() -> None:
    # T(1) = 1, T(n) = n + min(T(n-1), min over k of T(k) + T(n-k)), with no assumption about the best k.
    total = [0, 1]
    for n in range(2, 301):
        total.append(n + min(total[n - 1], min(total[k] + total[n - k] for k in range(1, n))))
    assert [round(limit_calls(n) * n) for n in range(1, 301)] == total[1:]


@pytest.mark.parametrize(
    ("candidates", "calls", "points"),
    [(822, 10.1314, 79.737), (1472, 10.9565, 78.087), (128, 7.5, 85.0), (224, 8.2857, 83.429), (1, 1.0, 98.0)],
)
def test_the_limit_has_the_published_values(candidates: int, calls: float, points: float) -> None:
    assert limit_calls(candidates) == pytest.approx(calls, abs=5e-5)
    assert limit(candidates) == pytest.approx(points, abs=5e-4)


def test_no_candidates_have_no_limit() -> None:
    with pytest.raises(ValueError, match="at least one candidate"):
        limit_calls(0)

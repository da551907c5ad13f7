"""Claims about solving a handful outright: nothing is better, its bound is the limit, and lookahead plays what it finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.identification.compiled import DROPPED
from agents.identification.players import POINTS, Lookahead
from agents.identification.solve import HANDFUL, MOST_STATES, UNSOLVED, solve, solve_all, upper_bound
from env.cabinet.rules import BUDGET, limit
from env.identification.support import Beliefs
from tests.worlds import exact_score, optimum, player_of, tiny_package

NOISE = st.sampled_from([0.0, 0.05, 0.1, 0.3, 1.0])


def solved(player, mass, calls, slack=1e-12):
    """Value and action for a handful, nothing asked yet."""
    animals, questions = player.likelihood.p_yes.shape
    states = np.zeros(1, np.int64)
    value, action = solve(
        POINTS, player.likelihood.table, np.arange(animals), mass, np.zeros(questions, bool), calls, DROPPED, slack, states
    )  # fmt: skip
    assert states[0] < MOST_STATES
    return value, action


@pytest.mark.parametrize("candidates", [1, 2, 3, 4, 5, 8, 13, 40])
def test_the_bound_of_even_candidates_is_the_limit(candidates):
    even = np.full(candidates, 1 / candidates)
    assert 100 * upper_bound(POINTS, even, 0) == pytest.approx(limit(candidates))


@settings(max_examples=60, deadline=None)
@given(NOISE, st.integers(1, 4), st.integers(1, 4), st.integers(0, 10_000), st.integers(0, BUDGET - 1))
def test_a_solution_is_worth_what_the_best_of_all_policies_is(noise, animals, questions, seed, calls):
    player = player_of("belief", tiny_package(animals, questions, seed), noise)
    mass = np.random.default_rng(seed).dirichlet(np.full(animals, 3.0))
    value, _ = solved(player, mass, calls)
    assert 100 * value == pytest.approx(optimum(player, mass, calls), abs=1e-4)
    assert value <= upper_bound(POINTS, np.sort(mass)[::-1], calls) + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_a_question_is_asked_where_guessing_on_takes_longer(seed):
    package = tiny_package(HANDFUL, 5, seed, spread=3.0)
    player = player_of("belief", package, 0.1)
    value, action = solved(player, np.full(HANDFUL, 1 / HANDFUL), 0)
    chain = POINTS[:HANDFUL].mean()
    assert action < 5
    assert value > chain + 1e-3
    assert 100 * value == pytest.approx(optimum(player), abs=1e-4)


@pytest.mark.parametrize("calls", [BUDGET - 1, BUDGET - 2])
def test_the_last_calls_are_spent_on_the_likeliest(calls):
    player = player_of("belief", tiny_package(4, 3, seed=1, spread=0.01), 1.0)
    mass = np.array([0.1, 0.4, 0.3, 0.2])
    value, action = solved(player, mass, calls)
    assert action == 3 + 1
    assert value == pytest.approx((mass[[1, 2]][: BUDGET - calls] * POINTS[calls:]).sum())


def test_more_than_a_handful_is_left_to_lookahead():
    player = player_of("belief", tiny_package(HANDFUL + 1, 5, seed=2), 0.2)
    belief = np.zeros((2, HANDFUL + 1))
    belief[0] = 1 / (HANDFUL + 1)
    belief[1, 1:] = 1 / HANDFUL
    support, action = Beliefs.of(belief), np.empty(2, np.int64)
    solve_all(
        POINTS, player.likelihood.table, support.starts, support.ids, support.mass, np.zeros((2, 5), bool), np.zeros(2, np.int64), DROPPED, action
    )  # fmt: skip
    assert action[0] == UNSOLVED
    assert action[1] >= 0


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(["belief", "network"]), NOISE, st.integers(0, 10_000))
def test_lookahead_plays_a_handful_as_well_as_any_policy(kind, noise, seed):
    package = tiny_package(4, 5, seed)
    player = player_of(kind, package, noise, seed)
    assert exact_score(Lookahead(player, 2), package) == pytest.approx(optimum(player), abs=2e-3)

"""Claims about lookahead: its values are exact, it never loses to the player it improves, and it nears the optimum."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.identification.compiled import DROPPED, EXACT, SLACK, guessed_out, value_of_action
from agents.identification.players import POINTS, Lookahead, belief_player
from agents.identification.solve import HANDFUL
from env.cabinet.rules import BUDGET, limit
from env.identification.support import Beliefs
from tests.worlds import after, exact_score, optimum, package_of, player_of, tiny_package

KINDS = st.sampled_from(["belief", "network"])
NOISE = st.sampled_from([0.0, 0.05, 0.1, 0.3, 1.0])


def collected(player, mass, asked, calls, choose):
    """Score collected from here on when `choose(belief, asked, calls)` decides, by plain recursion."""
    if calls == BUDGET or mass.sum() <= 0:
        return 0.0
    return taken(player, mass, asked, calls, choose(mass / mass.sum(), asked, calls), choose)


def taken(player, mass, asked, calls, action, choose):
    """The same with a given action first."""
    questions = player.likelihood.p_yes.shape[1]
    if action >= questions:
        right = mass[action - questions] * POINTS[calls]
        return right + collected(player, after(player, mass, action, False), asked, calls + 1, choose)
    heard = asked | (np.arange(questions) == action)
    return sum(collected(player, after(player, mass, action, yes), heard, calls + 1, choose) for yes in (True, False))


def own_choice(player):
    return lambda belief, asked, calls: int(player.decide(Beliefs.of(belief[None]), asked[None], np.array([calls]))[0])


def valued(player, mass, asked, calls, action, wider=0):
    arguments = np.arange(len(mass)), mass, asked.copy(), calls, action, wider, DROPPED, EXACT
    return value_of_action(player.rules, player.likelihood.table, *arguments, np.zeros(1, np.int64))


@settings(max_examples=30, deadline=None)
@given(KINDS, NOISE, st.integers(2, 7), st.integers(1, 5), st.integers(0, 10_000), st.integers(0, BUDGET - 2))
def test_the_value_of_an_action_is_that_of_plain_recursion(kind, noise, animals, questions, seed, calls):
    player = player_of(kind, tiny_package(animals, questions, seed), noise, seed)
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.ones(animals)) * 0.3
    asked = rng.random(questions) < 0.3
    ranked = player.ranked(Beliefs.of(mass[None] / mass.sum()), asked[None], np.array([calls]), 4)[0]
    for action in {*ranked[ranked >= 0].tolist(), questions + int(mass.argmax())}:
        brute = taken(player, mass, asked, calls, action, own_choice(player))
        assert valued(player, mass, asked, calls, action) == pytest.approx(brute, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4), st.integers(0, 10_000), st.integers(0, BUDGET - 1), st.sampled_from([0.0, SLACK, 0.003, 0.02])
)
def test_guesses_stand_for_playing_on_only_where_no_play_scores_more_than_the_slack_above_them(
    animals, seed, calls, slack
):
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.full(animals, 0.4)) * rng.choice([1.0, 0.1, 1e-4])
    found = guessed_out(mass, calls, POINTS, slack)
    if found >= 0:
        best = optimum(player_of("belief", tiny_package(animals, 3, seed), 0.2, seed), mass, calls) / 100
        assert found - 1e-9 <= best <= found + slack + 1e-9


def test_two_animals_and_slight_branches_are_guessed_out_and_three_likely_ones_are_not():
    assert guessed_out(np.array([0.3, 0.7]), 2, POINTS, SLACK) == pytest.approx(0.7 * POINTS[2] + 0.3 * POINTS[3])
    assert guessed_out(np.array([0.3, 0.4, 0.3]), 2, POINTS, SLACK) == -1
    slight = np.array([0.4, 0.3, 0.3]) * 1e-4
    assert guessed_out(slight, 2, POINTS, SLACK) == pytest.approx(slight @ POINTS[2:5])


def test_slack_spares_most_of_the_work_and_moves_no_value_by_more_than_a_hair():
    package = tiny_package(16, 12, seed=9, spread=0.6)
    player = player_of("belief", package, 0.3)
    arguments = np.arange(16), np.full(16, 1 / 16), np.zeros(12, bool), 0
    for action in player.ranked(
        Beliefs.of(np.full((1, 16), 1 / 16)), np.zeros((1, 12), bool), np.zeros(1, np.int64), 4
    )[0]:
        work = np.zeros((2, 1), np.int64)
        exact, spared = (
            value_of_action(player.rules, player.likelihood.table, *arguments, action, 0, DROPPED, slack, met)
            for slack, met in zip((EXACT, SLACK), work, strict=True)
        )
        assert spared == pytest.approx(exact, abs=1e-3)
        assert work[1, 0] < 0.6 * work[0, 0]


@settings(max_examples=20, deadline=None)
@given(KINDS, NOISE, st.integers(2, 6), st.integers(1, 5), st.integers(0, 10_000), st.integers(0, BUDGET - 3))
def test_the_value_over_two_plies_takes_the_best_action_after_each_answer(kind, noise, animals, questions, seed, calls):
    player = player_of(kind, tiny_package(animals, questions, seed), noise, seed)
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.ones(animals)) * 0.3
    asked = rng.random(questions) < 0.3
    wider, own = 3, own_choice(player)

    def best_after(action):
        total = mass[action - questions] * POINTS[calls] if action >= questions else 0.0
        heard = asked | (np.arange(questions) == action)
        for yes in (True, False) if action < questions else (False,):
            rest = after(player, mass, action, yes)
            if rest.sum() <= 0:
                continue
            options = player.ranked(Beliefs.of(rest[None] / rest.sum()), heard[None], np.array([calls + 1]), wider)[0]
            total += max(taken(player, rest, heard, calls + 1, int(o), own) for o in options if o >= 0)
        return total

    ranked = player.ranked(Beliefs.of(mass[None] / mass.sum()), asked[None], np.array([calls]), 3)[0]
    for action in ranked[ranked >= 0].tolist():
        found = valued(player, mass, asked, calls, action, wider)
        assert found == pytest.approx(best_after(action), abs=1e-6)
        assert found >= valued(player, mass, asked, calls, action) - 1e-9


@settings(max_examples=60, deadline=None)
@given(
    KINDS,
    NOISE,
    st.integers(2, 16),
    st.integers(1, 10),
    st.integers(0, 10_000),
    st.sampled_from([(1, 0), (4, 0), (4, 4)]),
)
def test_lookahead_never_lowers_the_exact_expected_score(kind, noise, animals, questions, seed, plies):
    package = tiny_package(animals, questions, seed)
    player = player_of(kind, package, noise, seed)
    assert exact_score(Lookahead(player, *plies), package) >= exact_score(player, package) - 1e-3


@pytest.mark.parametrize("noise", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("plies", [(4, 0), (8, 4)])
def test_lookahead_raises_the_score_of_a_poor_player(noise, plies):
    package = tiny_package(14, 8, seed=1)
    player = player_of("network", package, noise, seed=2)
    before, behind = (exact_score(each, package) for each in (player, Lookahead(player, *plies)))
    assert behind > before + 1.0


@settings(max_examples=12, deadline=None)
@given(KINDS, st.sampled_from([0.0, 0.1, 0.5, 1.5]), st.integers(0, 10_000))
def test_no_player_passes_the_best_of_all_policies(kind, noise, seed):
    package = tiny_package(4, 5, seed)
    player = player_of(kind, package, noise, seed)
    best = optimum(player)
    assert best <= limit(4) + 1e-6
    for each in (player, Lookahead(player, 8), Lookahead(player, 8, 8)):
        assert exact_score(each, package) <= best + 1e-6


def test_lookahead_comes_near_the_best_of_all_policies():
    below = []
    for seed, noise in product(range(6), (0.1, 0.5)):
        package = tiny_package(HANDFUL + 1, 4, seed)
        player = player_of("network", package, noise, seed)
        scores = [exact_score(each, package) for each in (player, Lookahead(player, 8), Lookahead(player, 8, 8))]
        below.append(optimum(player) - np.array(scores))
    own, one, two = np.mean(below, axis=0)
    assert own > 2.0, "the network was never trained"
    assert two <= one < 0.1 * own


def test_a_player_that_guesses_too_late_is_put_right():
    package = tiny_package(12, 9, seed=3, spread=0.4)
    player = belief_player(package, np.arange(12), 0.2, 0.9)
    assert exact_score(Lookahead(player, 4), package) > exact_score(player, package) + 2.0


@settings(max_examples=30, deadline=None)
@given(KINDS, st.sampled_from([(3, 0), (3, 2)]), st.lists(st.integers(0, 19), min_size=1, max_size=20))
def test_a_decision_is_the_same_in_every_batch_and_every_time(kind, plies, chosen):
    player = Lookahead(player_of(kind, tiny_package(12, 8, seed=4), 0.2), *plies)
    rng = np.random.default_rng(5)
    belief = np.stack([rng.dirichlet(np.full(12, 0.5)) for _ in range(20)])
    asked, calls = rng.random((20, 8)) < 0.3, rng.integers(0, BUDGET, 20)
    together = player.decide(Beliefs.of(belief[chosen]), asked[chosen], calls[chosen])
    alone = [player.decide(Beliefs.of(belief[[g]]), asked[[g]], calls[[g]])[0] for g in chosen]
    np.testing.assert_array_equal(together, alone)


def test_the_player_s_own_action_stands_where_nothing_is_better():
    package = package_of(np.tile(np.random.default_rng(6).normal(0, 1, (8, 4)), (1, 2)))  # every question twice
    player = player_of("belief", package, 0.1)
    belief = np.full((1, 8), 1 / 8)
    state = Beliefs.of(belief), np.zeros((1, 8), bool), np.zeros(1, np.int64)
    assert player.decide(*state)[0] < 4
    assert Lookahead(player, 8).decide(*state)[0] < 4


def test_the_work_of_lookahead_is_counted_and_the_same_each_time():
    package = tiny_package(12, 8, seed=7)
    counts = []
    for _ in range(2):
        work: list[int] = []
        exact_score(Lookahead(player_of("belief", package, 0.2), 4, 0, work), package)
        counts.append(work)
    assert counts[0] == counts[1]
    assert sum(counts[0]) > 100

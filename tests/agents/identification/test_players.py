"""Claims about deciding: the compiled network ranks as the trained one, and a decision depends on the state alone."""

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.identification.compiled import SURE
from agents.identification.players import belief_player, trained_player
from env.cabinet.rules import BUDGET
from env.identification.belief import Likelihood
from env.identification.observation import Observer, Shortlist
from env.identification.support import Beliefs
from tests.worlds import SHORT, package_of, player_of, random_policy, tiny_package

ANIMALS, QUESTIONS = 30, 14


def states(games, seed=0, animals=ANIMALS, questions=QUESTIONS):
    """Beliefs from even to nearly sure, with questions asked and calls made."""
    rng = np.random.default_rng(seed)
    sharpness = rng.choice([0.03, 0.1, 0.3, 1.0, 10.0], games)
    belief = np.stack([rng.dirichlet(np.full(animals, each)) for each in sharpness])
    belief[rng.random(belief.shape) < 0.2] = 0.0
    belief[:, 0] += belief.sum(axis=1) == 0
    belief /= belief.sum(axis=1, keepdims=True)
    asked = rng.random((games, questions)) < rng.random((games, 1)) * 0.6
    return belief, asked, rng.integers(0, BUDGET - 1, games)


@pytest.mark.parametrize("shortlist", [SHORT, Shortlist(16, 3, 32), Shortlist(4, 1, 1)])
def test_the_compiled_network_ranks_actions_as_the_trained_network_does(shortlist):
    package = tiny_package(ANIMALS, QUESTIONS, seed=1)
    policy = random_policy(package, seed=2, width=24, shortlist=shortlist)
    animals = np.arange(ANIMALS)
    player = trained_player(policy, package, animals, 0.2, shortlist)
    belief, asked, calls = states(400)
    observer = Observer([player.likelihood], [0.2], animals, BUDGET, shortlist)
    seen = {key: th.from_numpy(value) for key, value in observer.observe(belief, asked, calls).items()}
    with th.no_grad():
        logits, listed = policy.scorer.logits(seen).numpy(), policy.listed_actions(seen).numpy()
    ranked = player.ranked(Beliefs.of(belief), asked, calls, listed.shape[1])
    compared = 0
    for game in range(len(belief)):
        score = {int(a): float(s) for a, s in zip(listed[game], logits[game], strict=True) if a >= 0}
        found = [int(action) for action in ranked[game] if action >= 0]
        if belief[game].max() >= SURE:
            assert found == [QUESTIONS + belief[game].argmax()]
            continue
        assert sorted(found) == sorted(score)
        assert np.diff([score[action] for action in found]).max(initial=-1.0) < 1e-4
        compared += len(found) > 1
    assert compared > 300


def test_the_compiled_network_plays_what_the_trained_network_finds_likeliest():
    package = tiny_package(ANIMALS, QUESTIONS, seed=3)
    policy, animals = random_policy(package, seed=4), np.arange(ANIMALS)
    player = trained_player(policy, package, animals, 0.1, SHORT)
    belief, asked, calls = states(300, seed=5)
    observed = Observer([player.likelihood], [0.1], animals, BUDGET, SHORT).observe(belief, asked, calls)
    masks = np.concatenate([~asked, belief > 0], axis=1)
    actions, _ = policy.predict(observed, deterministic=True, action_masks=masks)
    open_choice = belief.max(axis=1) < SURE
    np.testing.assert_array_equal(player.decide(Beliefs.of(belief), asked, calls)[open_choice], actions[open_choice])


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["belief", "network"]), st.lists(st.integers(0, 59), min_size=1, max_size=60))
def test_a_decision_depends_on_its_own_state_and_not_on_the_batch(kind, chosen):
    player = player_of(kind, tiny_package(ANIMALS, QUESTIONS, seed=6), 0.1)
    belief, asked, calls = states(60, seed=7)
    alone = [player.ranked(Beliefs.of(belief[[g]]), asked[[g]], calls[[g]], 5)[0] for g in chosen]
    together = player.ranked(Beliefs.of(belief[chosen]), asked[chosen], calls[chosen], 5)
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(
        player.decide(Beliefs.of(belief[chosen]), asked[chosen], calls[chosen]), together[:, 0]
    )


@pytest.mark.parametrize("kind", ["belief", "network"])
def test_deciding_leaves_the_state_as_it_was(kind):
    player = player_of(kind, tiny_package(ANIMALS, QUESTIONS, seed=6), 0.1)
    belief, asked, calls = states(50, seed=8)
    given_states = Beliefs.of(belief), asked, calls
    arrays = given_states[0].starts, given_states[0].ids, given_states[0].mass, asked, calls
    before = [array.copy() for array in arrays]
    first = player.decide(*given_states)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    np.testing.assert_array_equal(player.decide(*given_states), first)


@pytest.mark.parametrize("kind", ["belief", "network"])
def test_no_question_is_asked_again_and_no_excluded_animal_is_guessed(kind):
    player = player_of(kind, tiny_package(ANIMALS, QUESTIONS, seed=9), 0.1)
    belief, asked, calls = states(300, seed=10)
    ranked = player.ranked(Beliefs.of(belief), asked, calls, 40)
    for game, row in enumerate(ranked):
        actions = row[row >= 0]
        assert len(set(actions.tolist())) == len(actions) > 0
        assert not asked[game, actions[actions < QUESTIONS]].any()
        assert (belief[game, actions[actions >= QUESTIONS] - QUESTIONS] > 0).all()


@pytest.mark.parametrize("kind", ["belief", "network"])
def test_the_last_call_is_a_guess_of_the_likeliest_animal(kind):
    player = player_of(kind, tiny_package(ANIMALS, QUESTIONS, seed=9), 0.1)
    belief, asked, _ = states(100, seed=11)
    actions = player.decide(Beliefs.of(belief), asked, np.full(100, BUDGET - 1))
    np.testing.assert_array_equal(actions, QUESTIONS + belief.argmax(axis=1))


def test_a_belief_player_guesses_from_its_threshold_on_and_asks_below_it():
    package = tiny_package(4, 8, seed=12)
    threshold = np.full(BUDGET, 0.5)
    threshold[3] = 0.7
    player = belief_player(package, np.arange(4), 0.1, threshold)
    belief = np.array([[0.499, 0.25, 0.15, 0.101], [0.501, 0.25, 0.15, 0.099], [0.6, 0.2, 0.1, 0.1]])
    asked = np.zeros((3, 8), bool)
    early = player.decide(Beliefs.of(belief), asked, np.full(3, 2))
    assert early[0] < 8
    assert early[1:].tolist() == [8, 8]
    assert (player.decide(Beliefs.of(belief), asked, np.full(3, 3)) < 8).all()


def test_a_belief_player_asks_the_most_informative_question():
    package = tiny_package(ANIMALS, QUESTIONS, seed=13)
    player = belief_player(package, np.arange(ANIMALS), 0.1, 0.9)
    belief, asked, calls = states(100, seed=14)
    belief = belief * 0.2 + 0.8 / ANIMALS
    _, gain = player.likelihood.predicted(belief)
    actions = player.decide(Beliefs.of(belief), asked, calls)
    best = np.where(asked, -1, gain).max(axis=1)
    assert (gain[np.arange(100), actions] >= best - 2e-5).all()


def test_without_a_question_left_the_likeliest_animal_is_guessed():
    for kind in ("belief", "network"):
        player = player_of(kind, tiny_package(ANIMALS, QUESTIONS, seed=6), 0.1)
        belief, _, calls = states(50, seed=15)
        actions = player.decide(Beliefs.of(belief), np.ones((50, QUESTIONS), bool), calls)
        assert (actions >= QUESTIONS).all()
        if kind == "belief":
            np.testing.assert_array_equal(actions, QUESTIONS + belief.argmax(axis=1))


@pytest.mark.parametrize("kind", ["belief", "network"])
def test_ties_are_broken_by_number(kind):
    rng = np.random.default_rng(16)
    half = rng.normal(0, 1, (8, 5))
    player = player_of(kind, package_of(np.tile(half, (1, 2))), 0.1)  # question q + 5 is question q again
    belief = np.stack([rng.dirichlet(np.ones(8)) for _ in range(60)])
    action = player.decide(Beliefs.of(belief), np.zeros((60, 10), bool), np.zeros(60, np.int64))
    assert (action[action < 10] < 5).all()
    assert (action < 10).sum() > 5
    twins = player_of(kind, package_of(np.repeat(half, 2, axis=0)), 0.1)  # animals 2k and 2k + 1 answer alike
    last = twins.decide(Beliefs.of(np.full((1, 16), 1 / 16)), np.zeros((1, 5), bool), np.array([BUDGET - 1]))
    assert last == [5]


def test_the_network_knows_features_and_not_identities():
    """Renumbered animals and questions give the same game, renumbered: what lets one agent play any package."""
    package = tiny_package(ANIMALS, QUESTIONS, seed=17)
    rng = np.random.default_rng(18)
    animal, question = rng.permutation(ANIMALS), rng.permutation(QUESTIONS)
    other = package_of(package.matrix.margin[animal][:, question])
    policy, everyone = random_policy(package, seed=19), np.arange(ANIMALS)
    player, renumbered = (trained_player(policy, each, everyone, 0.1, SHORT) for each in (package, other))
    belief, asked, calls = states(300, seed=20)
    actions = player.decide(Beliefs.of(belief), asked, calls)
    there = renumbered.decide(Beliefs.of(np.ascontiguousarray(belief[:, animal])), asked[:, question].copy(), calls)
    back = np.where(
        there < QUESTIONS, question[there % QUESTIONS], QUESTIONS + animal[np.maximum(there - QUESTIONS, 0)]
    )
    assert (back == actions).mean() > 0.99  # sums in another order may break a near tie


def test_a_player_of_few_candidates_guesses_animals_by_their_number_in_the_pool():
    package = tiny_package(12, 6, seed=21)
    candidates = np.array([3, 7, 11])
    belief = np.array([[0.0, 1.0, 0.0]])
    for player in (
        belief_player(package, candidates, 0.1, 0.4),
        trained_player(random_policy(package, 0), package, candidates, 0.1, SHORT),
    ):
        assert player.decide(Beliefs.of(belief), np.zeros((1, 6), bool), np.array([2])) == [6 + 7]


def test_a_given_likelihood_replaces_that_of_the_noise_model():
    package = tiny_package(6, 4, seed=22)
    soft = np.where(package.matrix.margin > 0, 0.9, 0.1)
    player = belief_player(package, np.arange(6), 0.1, 0.9, Likelihood(soft, package.matrix.margin))
    np.testing.assert_array_equal(player.likelihood.p_yes, soft)

"""Claims about the belief: Bayes' rule by brute force with ties, tiers and unknown noise; prediction; wrong guesses."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env.keywords.belief import Belief, Noise, Transcript
from env.keywords.comparison import ROUNDS
from env.keywords.world import World
from tests.small_keywords import SHARES, small_world

REPEATABLE = settings(derandomize=True, deadline=None, max_examples=60)


def tiny_worlds():
    """Two to five keywords in two tiers, one to four questions."""
    return st.tuples(st.integers(2, 5), st.integers(1, 4)).flatmap(
        lambda shape: st.tuples(
            st.lists(
                st.lists(st.sampled_from((-1, 0, 1)), min_size=shape[1], max_size=shape[1]),
                min_size=shape[0],
                max_size=shape[0],
            ),
            st.integers(1, shape[0] - 1),
        )
    )


def world_from(table: list[list[int]], first_tier: int) -> World:
    answers = np.array(table, np.int8)
    keywords, questions = answers.shape
    tier = (np.arange(keywords) >= first_tier).astype(np.int64)
    return World(answers, tier, np.full(questions, 0.1), np.ones(keywords))


def transcript(asked: list[int], said: list[bool], guessed: list[int]) -> Transcript:
    seen = Transcript.empty(1)
    seen.asked[0, : len(asked)], seen.said[0, : len(said)], seen.guessed[0, : len(guessed)] = asked, said, guessed
    return seen


def brute_force(belief: Belief, shares: tuple[float, ...], seen: Transcript) -> np.ndarray:
    """Posterior of (noise, keyword) by multiplying out in Python floats."""
    world, noise = belief.world, belief.noise
    counts = np.bincount(world.tier)
    mass = np.zeros((len(noise.weight), len(world.tier)))
    for h in range(mass.shape[0]):
        for k in range(mass.shape[1]):
            p = shares[world.tier[k]] / counts[world.tier[k]] * noise.weight[h]
            for question, yes in zip(seen.asked[0], seen.said[0], strict=True):
                if question >= 0:
                    rate = noise.rates[h, question]
                    p_yes = {1: 1 - rate, 0: 0.5, -1: rate}[int(world.answers[k, question])]
                    p *= p_yes if yes else 1 - p_yes
            mass[h, k] = 0 if k in seen.guessed[0] else p
    return mass / mass.sum()


def entropy(p: float) -> float:
    return -sum(x * math.log2(x) for x in (p, 1 - p) if x > 0)


@REPEATABLE
@given(tiny_worlds(), st.data())
def test_the_posterior_is_bayes_rule_with_ties_tiers_and_an_unknown_noise(drawn, data):
    world = world_from(*drawn)
    keywords, questions = world.answers.shape
    rates = data.draw(
        st.lists(st.lists(st.floats(0.01, 0.45), min_size=questions, max_size=questions), min_size=1, max_size=3)
    )
    weight = np.arange(1, len(rates) + 1) / sum(range(1, len(rates) + 1))
    shares = (0.7, 0.3)
    belief = Belief.of(world, Noise(np.array(rates), weight), shares)
    asked = data.draw(st.lists(st.integers(0, questions - 1), unique=True))
    guessed = data.draw(st.lists(st.integers(0, keywords - 1), unique=True, max_size=keywords - 1))
    seen = transcript(asked, [data.draw(st.booleans()) for _ in asked], guessed)
    expected = brute_force(belief, shares, seen)
    by_keyword, by_noise = belief.posterior(seen)
    np.testing.assert_allclose(by_keyword[0], expected.sum(axis=0), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(by_noise[0], expected.sum(axis=1), rtol=1e-4, atol=1e-7)
    assert belief.likeliest(seen)[0] in np.flatnonzero(expected.sum(axis=0) >= expected.sum(axis=0).max() * (1 - 1e-4))


@pytest.mark.parametrize("kind", ["flat", "several", "clarity"])
def test_predicted_answers_and_gain_follow_the_plain_formula(kind):
    world = small_world()
    questions = len(world.clarity)
    noise = {
        "flat": Noise.flat(0.1, questions),
        "several": Noise.flat((0.02, 0.1, 0.25), questions),
        "clarity": Noise.by_clarity(world, spread=False),
    }[kind]
    belief = Belief.of(world, noise, SHARES)
    seen = transcript([3, 9, 4], [True, False, False], [2, 7])
    mass = brute_force(belief, SHARES, seen)
    p_yes, gain = belief.predicted(seen)
    for question in range(questions):
        tilt = (1 - 2 * noise.rates[:, question]) / 2
        joint = mass * (0.5 + tilt[:, None] * world.answers[:, question])
        plain = joint.sum()
        each = joint.sum(axis=0) / np.maximum(mass.sum(axis=0), 1e-300)
        known = sum(mass.sum(axis=0)[k] * entropy(each[k]) for k in range(len(world.tier)))
        assert p_yes[0, question] == pytest.approx(plain, abs=2e-5)
        assert gain[0, question] == pytest.approx(entropy(plain) - known, abs=1e-4)


def test_a_tie_tells_nothing_and_a_question_tied_for_all_gains_nothing():
    world = world_from([[0, 1], [0, -1], [0, -1]], 1)
    belief = Belief.of(world, Noise.flat(0.1, 2), (0.5, 0.5))
    before, after = Transcript.empty(1), transcript([0], [True], [])
    np.testing.assert_allclose(belief.posterior(before)[0], belief.posterior(after)[0], rtol=1e-6)
    assert belief.predicted(before)[1][0, 0] == pytest.approx(0, abs=1e-6)
    assert belief.predicted(before)[1][0, 1] > 0.1


def test_contradictions_teach_that_a_partner_errs_and_agreement_that_it_does_not():
    world = small_world()
    belief = Belief.of(world, Noise.flat((0.02, 0.25), len(world.clarity)), SHARES)
    asked = list(range(20))
    keyword = 5
    honest = [bool(world.answers[keyword, question] == 1) for question in asked]
    random = np.random.default_rng(0)
    agreed = belief.posterior(transcript(asked, honest, []))[1][0]
    torn = belief.posterior(transcript(asked, random.random(20) < 0.5, []))[1][0]
    assert agreed[1] < 0.5 < torn[1]


def test_unknown_noise_covers_the_rates_that_partners_may_have():
    world = small_world()
    noise = Noise.unknown(world)
    assert noise.weight.sum() == pytest.approx(1)
    flat = noise.rates[np.ptp(noise.rates, axis=1) == 0, 0]
    assert 0.02 < flat.min() < 0.06
    assert 0.21 < flat.max() < 0.25


@pytest.mark.parametrize("rates", [[[0.6]], [[-0.1]], [[np.nan]]])
def test_a_rate_that_is_none_is_refused(rates):
    with pytest.raises(ValueError, match="between 0 and 1/2"):
        Noise(np.array(rates), np.ones(1))


def test_when_every_keyword_was_guessed_or_contradicted_belief_is_never_a_division_by_zero():
    world = world_from([[1], [1]], 1)
    nobody = Belief.of(world, Noise(np.zeros((1, 1)), np.ones(1)), (0.5, 0.5))
    for seen in (transcript([0], [False], []), transcript([0], [True], [0, 1])):
        assert nobody.posterior(seen)[0].tolist() == [[0.5, 0.5]]
    assert nobody.posterior(transcript([0], [False], [0]))[0].tolist() == [[0, 1]]


def test_a_games_numbers_do_not_depend_on_its_batch():
    world = small_world()
    belief = Belief.of(world, Noise.unknown(world), SHARES)
    random = np.random.default_rng(4)
    seen = Transcript.empty(9)
    for game in range(9):
        seen.asked[game, :game] = random.choice(len(world.clarity), game, replace=False)
        seen.said[game] = random.random(ROUNDS) < 0.5
    together = (*belief.posterior(seen), *belief.predicted(seen), belief.likeliest(seen))
    for game in range(9):
        one = seen[game : game + 1]
        alone = (*belief.posterior(one), *belief.predicted(one), belief.likeliest(one))
        assert all(a.tobytes() == t[game : game + 1].tobytes() for a, t in zip(alone, together, strict=True))

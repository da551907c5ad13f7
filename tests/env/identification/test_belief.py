"""Claims about the belief: Bayes' rule by brute force, exact filtering, what to do when nothing fits, gain."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

from env.identification.belief import FLOOR, Likelihood, answer_probability, binary_entropy, entropy, without

REPEATABLE = settings(derandomize=True, deadline=None, max_examples=60)
NOISES = (0.0, 0.05, 0.2, 1.0)


def tables(least: float = -3.0, most: float = 3.0):
    """Margins of two to five animals and one to four questions, float32, none at zero exactly."""
    value = st.floats(least, most, width=32).filter(lambda margin: abs(margin) > 1e-3)
    return st.tuples(st.integers(2, 5), st.integers(1, 4)).flatmap(
        lambda shape: st.lists(
            st.lists(value, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
        )
    )


def chance_of_yes(margin: float, noise: float) -> float:
    if noise == 0:
        return float(margin > 0)
    return min(max(0.5 * (1 + math.erf(margin / noise / math.sqrt(2))), FLOOR), 1 - FLOOR)


def brute_force(table: list[list[float]], noise: float, heard: list[tuple[int, bool]]) -> list[float]:
    """Posterior from equal priors by multiplying out; all zero when every animal is contradicted."""
    mass = []
    for row in table:
        product = 1.0
        for question, yes in heard:
            p = chance_of_yes(row[question], noise)
            product *= p if yes else 1 - p
        mass.append(product)
    total = sum(mass)
    return [product / total if total > 0 else 0.0 for product in mass]


def hear(likelihood: Likelihood, heard: list[tuple[int, bool]]) -> np.ndarray:
    belief = likelihood.prior(1)
    for question, yes in heard:
        belief = likelihood.updated(belief, np.array([question]), np.array([yes]))
    return belief


def conversation(data: st.DataObject, questions: int) -> list[tuple[int, bool]]:
    asked = data.draw(st.lists(st.integers(0, questions - 1), unique=True, max_size=questions))
    return [(question, data.draw(st.booleans())) for question in asked]


def random_belief(rng: np.random.Generator, games: int, candidates: int) -> np.ndarray:
    """Beliefs from flat to certain, some candidates without any mass."""
    belief = np.concatenate([rng.dirichlet(np.full(candidates, a), max(1, games // 3)) for a in (0.05, 0.5, 5.0)])
    belief[rng.random(belief.shape) < 0.2] = 0.0
    belief[:, 0] += 1e-3
    return belief / belief.sum(axis=1, keepdims=True)


@REPEATABLE
@given(tables(), st.sampled_from(NOISES), st.data())
def test_the_posterior_is_bayes_rule(table, noise, data):
    heard = conversation(data, len(table[0]))
    belief = hear(Likelihood.from_margins(np.array(table, np.float32), noise), heard)
    np.testing.assert_allclose(belief[0], brute_force(table, noise, heard), rtol=1e-9, atol=1e-300)


@REPEATABLE
@given(tables(), st.data())
def test_without_noise_only_animals_that_agree_with_every_answer_remain_and_equally(table, data):
    heard = conversation(data, len(table[0]))
    belief = hear(Likelihood.from_margins(np.array(table, np.float32), 0.0), heard)[0]
    agrees = np.array([all((row[question] > 0) == yes for question, yes in heard) for row in table])
    expected = agrees / agrees.sum() if agrees.any() else np.zeros(len(table))
    np.testing.assert_allclose(belief, expected, rtol=1e-12)


@REPEATABLE
@given(tables(), st.sampled_from(NOISES[1:]), st.data())
def test_under_noise_no_answers_remove_an_animal_for_ever(table, noise, data):
    heard = conversation(data, len(table[0]))
    belief = hear(Likelihood.from_margins(np.array(table, np.float32), noise), heard)[0]
    assert (belief > 0).all()
    assert belief.sum() == pytest.approx(1)


def test_the_chance_of_a_yes_is_the_normal_distribution_of_the_margin_within_the_floor():
    margin = np.array([-5.0, -0.1, 0.0, 0.05, 0.1, 5.0], np.float32)
    expected = [FLOOR, 0.15865525, 0.5, 0.69146246, 0.84134475, 1 - FLOOR]
    np.testing.assert_allclose(answer_probability(margin, 0.1), expected, rtol=1e-5)
    np.testing.assert_allclose(answer_probability(margin, 0.1, floor=0.2)[[0, 1, 5]], [0.2, 0.2, 0.8])


def test_without_noise_the_answers_are_the_bits_and_the_floor_does_not_apply():
    assert answer_probability(np.array([-1e-6, 1e-6, 9.0], np.float32), 0.0).tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf])
def test_noise_that_is_no_standard_deviation_is_refused(noise):
    with pytest.raises(ValueError, match="0 or more"):
        answer_probability(np.zeros(1), noise)


def test_the_prior_is_equal_belief_in_every_candidate():
    assert Likelihood.from_margins(np.ones((4, 2)), 0.1).prior(3).tolist() == [[0.25] * 4] * 3


@REPEATABLE
@given(tables(), st.data())
def test_when_all_are_contradicted_the_likeliest_is_who_tiny_noise_would_believe_in(table, data):
    heard = conversation(data, len(table[0]))
    excluded = np.array(data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table))))
    assume(heard)
    assume(not excluded.all())
    noise = 0.01
    logs = np.array(
        [sum(log_ndtr((1 if yes else -1) * row[question] / noise) for question, yes in heard) for row in table]
    )
    logs[excluded] = -np.inf
    falling = np.sort(logs)[::-1]
    assume(falling[0] - falling[1] > 100)
    questions, answers = np.array([question for question, _ in heard]), np.array([yes for _, yes in heard])
    likelihood = Likelihood.from_margins(np.array(table, np.float32), 0.0)
    belief = likelihood.likeliest_by_margin(questions, answers, excluded)
    assert belief.tolist() == (np.arange(len(table)) == logs.argmax()).astype(float).tolist()


def test_contradicted_animals_that_are_as_likely_share_the_belief():
    likelihood = Likelihood.from_margins(np.array([[0.2, 1], [0.3, 1], [0.2, 2], [0.2, -0.1]], np.float32), 0.0)
    believed = likelihood.likeliest_by_margin(np.array([0, 1]), np.array([False, True]), np.zeros(4, bool))
    assert believed.tolist() == [0.5, 0, 0.5, 0]


@REPEATABLE
@given(st.permutations(range(6)), st.integers(0, 50))
def test_what_is_believed_of_contradicted_animals_does_not_depend_on_the_order_of_the_questions(order, seed):
    rng = np.random.default_rng(seed)
    row = -rng.exponential(1, 6)
    # All animals have the same margins in another order: on paper they tie, and rounding decides.
    margin = np.array([rng.permutation(row) for _ in range(40)], np.float32)
    likelihood, answers = Likelihood.from_margins(margin, 0.0), np.ones(6, bool)
    excluded = np.zeros(40, bool)
    straight = likelihood.likeliest_by_margin(np.arange(6), answers, excluded)
    mixed = likelihood.likeliest_by_margin(np.array(order), answers, excluded)
    assert straight.tolist() == mixed.tolist() == [1 / 40] * 40


def test_when_every_candidate_was_guessed_the_belief_is_equal_again_and_never_a_division_by_zero():
    likelihood = Likelihood.from_margins(np.array([[1.0], [-1.0]], np.float32), 0.0)
    with np.errstate(all="raise"):
        nobody = without(without(likelihood.prior(1), np.array([0])), np.array([1]))
        belief = likelihood.likeliest_by_margin(np.array([], np.int64), np.array([], bool), np.ones(2, bool))
        still = likelihood.updated(nobody, np.array([0]), np.array([True]))
    assert nobody.tolist() == still.tolist() == [[0, 0]]
    assert belief.tolist() == [0.5, 0.5]


def test_a_wrong_guess_removes_the_animal_and_leaves_the_others_in_proportion():
    belief = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
    np.testing.assert_allclose(without(belief, np.array([0, 2])), [[0, 0.6, 0.4], [0.625, 0.375, 0]])
    assert belief[0].tolist() == [0.5, 0.3, 0.2]


def test_a_wrong_guess_of_an_animal_that_is_no_candidate_changes_nothing():
    np.testing.assert_allclose(without(np.array([[0.5, 0.3, 0.2]]), np.array([-1])), [[0.5, 0.3, 0.2]])


@pytest.mark.parametrize("noise", NOISES)
def test_predicted_answers_and_their_gain_follow_the_plain_formula(noise):
    rng = np.random.default_rng(3)
    likelihood = Likelihood.from_margins(rng.normal(0, 1.3, (40, 23)).astype(np.float32), noise)
    belief = random_belief(rng, 60, 40)
    p_yes, gain = likelihood.predicted(belief)
    plain = belief @ likelihood.p_yes

    def bits(p: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return -np.nan_to_num(p * np.log2(p)) - np.nan_to_num((1 - p) * np.log2(1 - p))

    np.testing.assert_allclose(p_yes, plain, atol=2e-5)
    np.testing.assert_allclose(gain, bits(np.clip(plain, 0, 1)) - belief @ bits(likelihood.p_yes), atol=2e-4)


@pytest.mark.parametrize("agree", [0, 1, 3, 8, 15, 16])
def test_without_noise_the_gain_is_the_entropy_of_the_split(agree):
    margin = np.where(np.arange(16) < agree, 1.0, -1.0)[:, None].astype(np.float32)
    _, gain = Likelihood.from_margins(margin, 0.0).predicted(np.full((1, 16), 1 / 16))
    split = [share for share in (agree / 16, 1 - agree / 16) if share > 0]
    assert gain[0, 0] == pytest.approx(-sum(share * math.log2(share) for share in split), abs=2e-6)


def test_an_answer_that_noise_drowns_tells_nothing():
    _, gain = Likelihood.from_margins(np.full((8, 1), 1e-6, np.float32), 1.0).predicted(np.full((1, 8), 1 / 8))
    assert gain[0, 0] == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_numbers_of_a_game_do_not_depend_on_its_batch(noise):
    rng = np.random.default_rng(5)
    likelihood = Likelihood.from_margins(rng.normal(0, 1.3, (101, 37)).astype(np.float32), noise)
    belief = random_belief(rng, 30, 101)
    question_ids, answers = rng.integers(37, size=len(belief)), rng.random(len(belief)) < 0.5
    p_yes, gain = likelihood.predicted(belief)
    after = likelihood.updated(belief, question_ids, answers)
    for game in range(len(belief)):
        one = slice(game, game + 1)
        alone = likelihood.predicted(belief[one])
        assert alone[0].tobytes() == p_yes[one].tobytes()
        assert alone[1].tobytes() == gain[one].tobytes()
        assert likelihood.updated(belief[one], question_ids[one], answers[one]).tobytes() == after[one].tobytes()


@REPEATABLE
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_the_entropy_of_an_answer_is_zero_where_certain_one_bit_where_even_and_symmetric(values):
    p = np.array(values)
    bits = binary_entropy(p)
    assert ((bits >= 0) & (bits <= 1)).all()
    np.testing.assert_allclose(bits, binary_entropy(1 - p), atol=1e-9)
    assert binary_entropy(np.array([0, 0.5, 1])).tolist() == [0, 1, 0]


def test_the_entropy_of_a_belief_is_the_logarithm_of_the_number_of_equal_candidates():
    np.testing.assert_allclose(entropy(np.array([[0.25] * 4, [0.5, 0.5, 0, 0], [1, 0, 0, 0]])), [2, 1, 0])

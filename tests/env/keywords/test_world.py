"""Claims about keyword worlds: the synthetic one is the published one, bit for bit; priors, draws, refusals."""

import hashlib

import numpy as np
import pytest

from env.keywords.world import SHARES, TIERS, World, synthetic_world
from tests.small_keywords import small_world


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def test_the_synthetic_world_and_its_games_are_the_ones_that_figures_were_measured_on():
    world = synthetic_world(0)
    assert [digest(array) for array in (world.answers, world.clarity, world.hardness)] == [
        "1b2f2db5fe5433ab",
        "6db1bb09db518e02",
        "9bd04d062f8a0677",
    ]
    assert np.bincount(world.tier).tolist() == list(TIERS)
    hidden, says_yes = world.draw(0.1, 300, seed=1)
    assert (digest(hidden), digest(says_yes)) == ("58d4594ea684b0eb", "2c2eee08eeb48eb4")
    hidden, says_yes = world.draw("clarity", 300, seed=1)
    assert (digest(hidden), digest(says_yes)) == ("58d4594ea684b0eb", "99fc66a0de6db566")


def test_prior_mass_is_shared_out_by_tier_and_within_a_tier_all_are_alike():
    prior = small_world().prior((0.6, 0.2, 0.1))
    tier = small_world().tier
    assert [prior[tier == t].sum() for t in range(3)] == pytest.approx([6 / 9, 2 / 9, 1 / 9], rel=1e-5)
    assert all(np.ptp(prior[tier == t]) == 0 for t in range(3))


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.5, 0.6, -0.1), (0.0, 0.0, 0.0)])
def test_shares_that_say_nothing_of_some_tier_or_are_no_shares_are_refused(shares):
    with pytest.raises(ValueError, match="tier"):
        small_world().prior(shares)


def test_partners_err_as_often_as_they_are_said_to_and_answer_ties_by_a_coin():
    world = small_world()
    hidden, says_yes = world.draw(0.2, 4000, seed=5, shares=(0.6, 0.25, 0.15))
    true = world.answers[hidden]
    wrong = says_yes != (true == 1)
    assert wrong[true != 0].mean() == pytest.approx(0.2, abs=0.01)
    assert says_yes[true == 0].mean() == pytest.approx(0.5, abs=0.02)
    assert np.bincount(world.tier[hidden]) / 4000 == pytest.approx([0.6, 0.25, 0.15], abs=0.03)


def test_a_partner_that_errs_by_clarity_errs_by_question_and_keyword():
    world = small_world()
    rates = world.rates("clarity", np.array([3, 8]))
    assert rates[0] == pytest.approx(np.clip(world.clarity * world.hardness[3], 0, 0.45))
    assert rates[0, 0] / rates[1, 0] == pytest.approx(world.hardness[3] / world.hardness[8])


def test_games_may_have_a_rate_each():
    world = small_world()
    rate = np.linspace(0.0, 0.5, 2000)
    hidden, says_yes = world.draw(rate, 2000, seed=2, shares=(0.6, 0.25, 0.15))
    true = world.answers[hidden]
    wrong = (says_yes != (true == 1)) & (true != 0)
    assert not wrong[0].any()
    assert wrong[:400].mean() < wrong[1600:].mean()


def test_keywords_that_the_game_takes_for_one_are_one():
    plain = small_world(tiers=(2, 2), questions=6)
    names, asked = ("the bus", "car", "cars", "tree"), tuple(f"is it {i}?" for i in range(6))
    arguments = (plain.answers, plain.tier, plain.clarity, plain.hardness, names, asked)
    with pytest.raises(ValueError, match="'cars' and 'car' for one keyword"):
        World(*arguments)
    world = World.merged(*arguments)
    assert world.keyword_names == ("the bus", "car", "tree")
    assert np.array_equal(world.answers, plain.answers[[0, 1, 3]])
    assert world.tier.tolist() == [0, 0, 1]


def test_tables_that_do_not_fit_together_are_refused():
    world = small_world()
    with pytest.raises(ValueError, match="clarity"):
        World(world.answers, world.tier, world.clarity[:-1], world.hardness)
    with pytest.raises(ValueError, match="by tier"):
        World(world.answers, world.tier[::-1], world.clarity, world.hardness)
    assert sum(SHARES) == pytest.approx(0.95)


def test_shares_of_tiers_that_are_not_there_are_left_out() -> None:
    world = synthetic_world(0, (30, 20), 8)
    hidden, _ = world.draw(0.1, 4000, 0, (0.6, 0.2, 0.1, 0.1))
    assert hidden.max() == 49
    assert abs((hidden < 30).mean() - 0.75) < 0.03


def test_a_doubted_prior_is_the_mean_of_the_told_one_and_of_tiers_that_are_all_alike() -> None:
    world = synthetic_world(0, (30, 20), 8)
    assert world.doubted((0.6, 0.2, 0.1), 0.0) == pytest.approx((0.75, 0.25))
    assert world.doubted((0.6, 0.2, 0.1), 0.4) == pytest.approx((0.65, 0.35))
    assert world.doubted((0.6, 0.2, 0.1), 1.0) == pytest.approx((0.5, 0.5))
    mixed = 0.6 * world.prior((0.6, 0.2)) + 0.4 * world.prior((0.5, 0.5))
    np.testing.assert_allclose(world.prior(world.doubted((0.6, 0.2), 0.4)), mixed, rtol=1e-6)
    with pytest.raises(ValueError, match=r"0 to 1, not 1\.5"):
        world.doubted(doubt=1.5)

"""Noise and flips between two measurements: what was put in is found again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from env.identification.matrix import Matrix
from env.identification.numerics import bits_only, difference, flip_curve


def pair(noise, animals=60, questions=100, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.normal(0, 1, (animals, questions)).astype(np.float32)
    second = (first + rng.normal(0, noise, first.shape)).astype(np.float32)
    return Matrix(first, (first > 0).astype(np.uint8)), Matrix(second, (second > 0).astype(np.uint8))


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.5])
def test_noise_is_found_within_its_error(noise):
    found = difference(*pair(noise))
    assert 0 < found.noise_error < 0.03 * noise
    assert abs(found.noise - noise) < 4 * found.noise_error
    assert found.pairs == 6000
    assert found.animals == 60


def test_a_few_wild_differences_do_not_move_the_noise():
    local, other = pair(0.1)
    margin = other.margin.copy()
    margin[::20] += 50
    wild = difference(local, Matrix(margin, other.answer))
    assert wild.noise == pytest.approx(0.1, rel=0.1)
    assert wild.deviation > 5
    assert wild.largest > 49


def test_only_what_both_measured_counts():
    local, other = pair(0.1)
    margin = other.margin.copy()
    margin[2:] = np.nan
    margin[1, 50:] = np.nan
    found = difference(local, Matrix(margin, other.answer))
    assert (found.animals, found.pairs) == (2, 150)
    assert flip_curve(local, Matrix(margin, other.answer)).pairs.sum() == 150


def test_equal_matrices_have_no_noise_and_no_flips():
    local, _ = pair(0.1)
    found = difference(local, local)
    assert (found.noise, found.noise_error, found.flips, found.largest) == (0, 0, 0, 0)
    assert flip_curve(local, local).probability.max() == 0


def test_one_animal_gives_a_noise_without_an_error():
    found = difference(*pair(0.1, animals=1))
    assert found.noise > 0
    assert np.isnan(found.noise_error)


def test_flips_follow_gaussian_noise_where_the_noise_is_gaussian():
    curve = flip_curve(*pair(0.1, animals=200, questions=200))
    many = curve.pairs > 200
    share = curve.flips[many] / curve.pairs[many]
    np.testing.assert_allclose(share, curve.gaussian[many], atol=0.05)
    np.testing.assert_allclose(curve.at(np.array([0.0, 0.05, -0.1, 2.0])), norm.cdf([0, -0.5, -1, -20]), atol=0.05)


@given(st.integers(0, 1000), st.sampled_from([0.05, 0.3]), st.integers(1, 8))
def test_the_flip_curve_never_rises_with_the_margin(seed, noise, animals):
    curve = flip_curve(*pair(noise, animals=animals, questions=90, seed=seed))
    assert (np.diff(curve.margin) >= 0).all()
    assert (np.diff(curve.probability) <= 1e-12).all()
    assert curve.probability.min() >= 0
    assert curve.probability.max() <= 1
    assert curve.pairs.sum() == animals * 90


def test_matrices_without_a_common_pair_have_no_difference():
    local, _ = pair(0.1)
    nothing = Matrix(np.full_like(local.margin, np.nan), local.answer)
    for compare in (difference, flip_curve):
        with pytest.raises(ValueError, match="no pair is measured in both"):
            compare(local, nothing)


def test_a_table_of_bits_is_known_as_such():
    local, _ = pair(0.1)
    assert not bits_only(local)
    assert bits_only(Matrix(np.where(local.answer == 1, 10, -10).astype(np.float32), local.answer))

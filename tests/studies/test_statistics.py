"""Claims about comparing sets of scores: rliable's definitions, and intervals that are paired and cover what they say."""

from __future__ import annotations

import numpy as np
import pytest

from studies.statistics import compared, interquartile_mean, mean_and_error, probability_of_improvement, with_error

X = np.array([[0.1, 0.9], [0.4, 0.5], [0.4, 0.7], [0.8, 0.2]])
Y = np.array([[0.3, 0.5], [0.4, 0.6], [0.2, 0.1]])


def test_both_statistics_are_those_of_rliable() -> None:
    # rliable 1.2.0: metrics.aggregate_iqm(X), metrics.aggregate_iqm(Y), metrics.probability_of_improvement(X, Y)
    assert interquartile_mean(X) == pytest.approx(0.5, abs=1e-12)
    assert interquartile_mean(Y) == pytest.approx(0.35, abs=1e-12)
    assert probability_of_improvement(X, Y) == pytest.approx(0.6875, abs=1e-12)


def test_they_agree_with_the_library_where_it_is_installed() -> None:
    metrics = pytest.importorskip("rliable.metrics")
    random = np.random.default_rng(0)
    for _ in range(20):
        x, y = random.normal(size=(7, 3)).round(1), random.normal(size=(5, 3)).round(1)
        assert interquartile_mean(x) == pytest.approx(metrics.aggregate_iqm(x), abs=1e-12)
        assert probability_of_improvement(x, y) == pytest.approx(metrics.probability_of_improvement(x, y), abs=1e-12)


def test_what_all_draws_have_in_common_does_not_widen_the_gain() -> None:
    luck = np.random.default_rng(0).normal(0, 5, size=(1, 40, 2))
    first, second = compared([80 + luck, 81 + luck])
    assert second.gain.value == pytest.approx(1.0)
    assert (second.gain.low, second.gain.high) == (pytest.approx(1.0), pytest.approx(1.0))
    assert second.mean.high - second.mean.low > 1
    assert (first.gain.low, first.gain.high) == (0, 0)
    assert first.improvement.value == 0.5


def test_the_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(60):
        luck = random.normal(0, 3, size=(1, 30, 1))
        ours, theirs = luck + random.normal(0, 1, size=(1, 30, 1)), luck + random.normal(0.5, 1, size=(1, 30, 1))
        gain = compared([ours, theirs])[1].gain
        covered += gain.low <= 0.5 <= gain.high
    assert 52 <= covered <= 60


def test_several_runs_widen_the_interval_by_what_seeds_do() -> None:
    random = np.random.default_rng(2)
    luck = random.normal(0, 0.1, size=(1, 30, 1))
    seeds = np.array([0.0, 2.0, 4.0])[:, None, None]
    alone, together = compared([luck, luck + seeds])
    assert alone.mean.high - alone.mean.low < 0.2
    assert together.mean.high - together.mean.low > 1


def test_the_same_scores_give_the_same_intervals() -> None:
    scores = [np.random.default_rng(i).normal(size=(2, 9, 3)) for i in range(2)]
    assert compared(scores) == compared(scores)


def test_a_single_value_has_no_error() -> None:
    assert np.isnan(mean_and_error(np.array([4.0]))[1])
    assert with_error(np.array([4.0])) == "4.00"
    assert with_error(np.array([1.0, 2.0, 3.0])) == "2.00 ±0.58"
    assert mean_and_error(np.array([1.0, 2.0, 3.0])) == (2.0, pytest.approx(1 / np.sqrt(3)))

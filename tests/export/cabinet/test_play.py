"""Claims about live rounds: they keep the rules, and their mean is the exact expectation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.identification.play import expected_score, platforms, play
from agents.identification.players import belief_player
from env.cabinet.environment import CabinetEnv
from env.cabinet.rules import BUDGET, round_score
from tests.worlds import exact_score, package_of, player_of, tiny_package

KINDS = pytest.mark.parametrize("kind", ["belief", "network"])


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["belief", "network"]),
    st.integers(1, 24),
    st.integers(1, 10),
    st.sampled_from([0.0, 0.05, 0.1, 0.3, 1.0]),
    st.integers(0, 10_000),
)
def test_playing_on_from_the_start_is_worth_what_the_enumerated_graph_scores(kind, animals, questions, noise, seed):
    package = tiny_package(animals, questions, seed)
    player = player_of(kind, package, noise, seed)
    assert expected_score(player) == pytest.approx(exact_score(player, package), abs=1e-4)  # of 100 points: 1e-6 of one


@KINDS
@pytest.mark.parametrize("noise", [0.1, 0.4])
def test_the_mean_of_drawn_rounds_is_the_exact_expectation_within_its_standard_error(kind, noise):
    package = tiny_package(20, 12, seed=1)
    player = player_of(kind, package, noise)
    rounds = 6000
    animals = np.arange(rounds) % 20
    score = 100 * play(player, platforms(package.matrix.margin[animals], noise, seed=2), animals).score
    error = score.std() / np.sqrt(rounds)
    assert error < 0.5
    assert abs(score.mean() - expected_score(player)) < 3 * error
    assert abs(score.mean() - expected_score(player_of(kind, package, 2 * noise))) > 3 * error


@KINDS
def test_without_noise_the_expectation_is_the_mean_score_over_the_candidates(kind):
    package = tiny_package(24, 10, seed=3)
    player = player_of(kind, package, 0.0)
    rounds = play(player, package.matrix.margin > 0, np.arange(24))
    assert expected_score(player) == pytest.approx(100 * rounds.score.mean(), abs=1e-5)


@KINDS
def test_a_live_round_is_what_the_environment_makes_of_the_same_actions(kind):
    package = tiny_package(20, 10, seed=4)
    player = player_of(kind, package, 0.3)
    animals = np.arange(20)
    rounds = play(player, package.matrix.margin > 0, animals)
    env = CabinetEnv(package, split="all")
    for animal in animals:
        env.reset(options={"animal": int(animal)})
        total, over, info = 0.0, False, {}
        for action in rounds.actions[animal]:
            if action < 0:
                break
            assert not over
            _, reward, terminated, truncated, info = env.step(np.int64(action))
            total, over = total + float(reward), terminated or truncated
        assert over
        assert (info["solved"], info["calls"]) == (rounds.solved[animal], rounds.calls[animal])
        assert total == pytest.approx(rounds.score[animal], abs=1e-6)


@KINDS
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_rounds_keep_the_rules_on_platforms_that_nobody_would_give(kind, noise):
    """On answers drawn by coin a belief without noise is contradicted again and again, and plays on."""
    package = tiny_package(16, 12, seed=5)
    player = player_of(kind, package, noise)
    answers = np.random.default_rng(6).random((200, 12)) < 0.5
    animals = np.random.default_rng(7).integers(0, 16, 200)
    rounds = play(player, answers, animals)
    assert rounds.calls.max() <= BUDGET
    assert rounds.solved.sum() > 0
    for actions, calls, solved, score, animal in zip(
        rounds.actions, rounds.calls, rounds.solved, rounds.score, animals, strict=True
    ):
        made = actions[actions >= 0]
        assert len(made) == calls
        assert len(set(made.tolist())) == calls, "a call was made twice"
        assert (made[-1] == 12 + animal) == solved
        assert not (made[:-1] == 12 + animal).any(), "the round went on after it was solved"
        assert solved or calls == BUDGET
        assert score == pytest.approx(round_score(bool(solved), int(calls)), abs=1e-12)


@KINDS
def test_a_round_is_the_same_whatever_is_played_beside_it(kind):
    package = tiny_package(20, 12, seed=8)
    player = player_of(kind, package, 0.2)
    animals = np.random.default_rng(9).integers(0, 20, 40)
    answers = platforms(package.matrix.margin[animals], 0.3, seed=10)
    together = play(player, answers, animals)
    for i in range(40):
        alone = play(player, answers[[i]], animals[[i]])
        np.testing.assert_array_equal(alone.actions[0], together.actions[i])


def test_animals_that_no_question_separates_are_guessed_one_after_the_other():
    package = package_of(np.ones((4, 3), np.float32))
    for kind in ("belief", "network"):
        rounds = play(player_of(kind, package, 0.0), package.matrix.margin > 0, np.arange(4))
        assert rounds.solved.all()
        guesses = rounds.actions[3][rounds.actions[3] >= 3]
        assert guesses.tolist() == [3, 4, 5, 6]


def test_a_hidden_animal_that_is_no_candidate_ends_unsolved():
    package = tiny_package(12, 8, seed=11)
    player = belief_player(package, np.arange(6), 0.1, 0.4)
    rounds = play(player, (package.matrix.margin > 0)[8:], np.arange(8, 12))
    assert not rounds.solved.any()
    assert (rounds.calls == BUDGET).all()
    assert (rounds.score == 0).all()


def test_platforms_of_the_same_seed_are_the_same_and_flip_as_often_as_the_noise_says():
    margin = np.full((400, 50), 0.1, np.float32)
    drawn = platforms(margin, 0.1, seed=1)
    np.testing.assert_array_equal(drawn, platforms(margin, 0.1, seed=1))
    assert (drawn != platforms(margin, 0.1, seed=2)).any()
    assert drawn.mean() == pytest.approx(0.8413, abs=4 * np.sqrt(0.8413 * 0.1587 / drawn.size))
    assert platforms(margin, 0.0, seed=1).all()


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_rounds_played_a_few_beliefs_at_a_time_are_the_same_and_no_batch_is_larger(noise, monkeypatch):
    package = tiny_package(40, 12, seed=12)
    player, met = player_of("belief", package, noise), []

    class Watched:
        candidates, likelihood = player.candidates, player.likelihood

        def decide(self, beliefs, asked, calls):
            met.append(len(beliefs.ids))
            return player.decide(beliefs, asked, calls)

    animals = np.arange(800) % 40
    answers = platforms(package.matrix.margin[animals], 0.3, seed=13)
    whole = play(Watched(), answers, animals)
    states = sum(met)
    monkeypatch.setattr("agents.identification.play.TOGETHER", 3 * 40)
    met.clear()
    parts = play(Watched(), answers, animals)
    assert max(met) <= 3 * 40
    assert sum(met) == states, "no state is decided twice"
    for name in ("solved", "calls", "actions"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))

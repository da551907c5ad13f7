"""Claims about players: the recipe by the published formula, the published figures on few games, what looking ahead sees."""

import numpy as np
import pytest

from agents.keywords import compiled
from agents.keywords.players import BeliefPlayer, Player, RandomPlayer, Recipe, hard_filtering, play
from env.keywords.belief import Belief, Noise, Transcript
from env.keywords.comparison import ROUNDS
from env.keywords.world import synthetic_world
from tests.small_keywords import SHARES, small_world

WORLD = small_world()
KEYWORDS, QUESTIONS = WORLD.answers.shape
ALL: dict[str, Player] = {
    "random": RandomPlayer(WORLD),
    "hard filtering": BeliefPlayer(Belief.of(WORLD, Noise(np.zeros((1, QUESTIONS)), np.ones(1)), SHARES)),
    "recipe": Recipe(WORLD),
    "recipe, minus": Recipe(WORLD, minus=True),
    "belief": BeliefPlayer(Belief.of(WORLD, Noise.flat(0.1, QUESTIONS), SHARES)),
    "looks ahead": BeliefPlayer(Belief.of(WORLD, Noise.unknown(WORLD), SHARES), 3, deeper=True),
}


def some_transcripts(games: int, rounds: int) -> Transcript:
    random, seen = np.random.default_rng(3), Transcript.empty(games)
    for game in range(games):
        seen.asked[game, :rounds] = random.choice(QUESTIONS, rounds, replace=False)
        seen.said[game, :rounds] = random.random(rounds) < 0.5
        seen.guessed[game, :rounds] = random.choice(KEYWORDS, rounds, replace=False)
    return seen


@pytest.mark.parametrize("name", ALL)
def test_a_player_never_repeats_itself_and_plays_the_same_again(name):
    hidden, answers = WORLD.draw(0.2, 60, seed=1, shares=SHARES)
    won, seen = play(ALL[name], answers, hidden)
    again, same = play(ALL[name], answers[::-1], hidden[::-1])
    assert np.array_equal(won, again[::-1])
    assert np.array_equal(seen.asked, same.asked[::-1])
    for game in range(60):
        for said in (seen.asked[game], seen.guessed[game]):
            made = said[said >= 0]
            assert len(set(made.tolist())) == len(made)
        rounds = won[game] or ROUNDS
        assert (seen.asked[game] >= 0).sum() == rounds
        assert (seen.guessed[game] >= 0).sum() == rounds - (won[game] > 0)


@pytest.mark.parametrize("minus", [False, True])
def test_the_recipe_asks_by_its_published_formula(minus):
    seen = some_transcripts(40, 6)
    asked, guessed = Recipe(WORLD, minus).ask(seen), Recipe(WORLD, minus).guess(seen)
    for game in range(len(seen)):
        score = -0.5 * WORLD.tier
        for question, yes in zip(seen.asked[game, :6], seen.said[game, :6], strict=True):
            agrees = WORLD.answers[:, question] * (1 if yes else -1)
            score = score + (agrees == 1) - (minus * (agrees == -1))
        score[seen.guessed[game, :6]] = -np.inf
        top = np.sort(score)[-2 if minus else -1]
        among = WORLD.answers[score >= top]
        y, n, t = ((among == value).sum(axis=0) for value in (1, -1, 0))
        value = (y + n) / 2 - (y - n) ** 2 / (2 * len(among)) + 1e-10 * y - 1e-7 * t
        value[seen.asked[game, :6]] = -np.inf
        assert asked[game] == value.argmax()
        assert guessed[game] == score.argmax()


def test_what_the_guesses_left_cover_is_the_mass_of_the_likeliest_after_each_answer():
    random = np.random.default_rng(0)
    belief = random.dirichlet(np.ones(30)).astype(np.float32)
    p_yes = random.random((5, 30)).astype(np.float32)
    for left in (1, 2, 7, 40):
        values = np.empty(5, np.float32)
        compiled.coverage(belief, p_yes, left, False, values)
        plain = [sum(np.sort(belief * p)[::-1][:left].sum() for p in (row, 1 - row)) for row in p_yes]
        np.testing.assert_allclose(values, plain, rtol=1e-5)


def test_looking_deeper_puts_the_best_second_question_between_the_guesses():
    random = np.random.default_rng(1)
    belief = random.dirichlet(np.ones(12)).astype(np.float32)
    p_yes = random.random((4, 12)).astype(np.float32)
    values = np.empty(4, np.float32)
    compiled.coverage(belief, p_yes, 3, True, values)
    for first in range(4):
        plain = 0.0
        for chance in (p_yes[first], 1 - p_yes[first]):
            rest = belief * chance
            plain += rest.max()
            rest[rest.argmax()] = 0
            plain += max(
                sum(np.sort(rest * p)[::-1][:2].sum() for p in (p_yes[second], 1 - p_yes[second]))
                for second in range(4)
                if second != first
            )
        assert values[first] == pytest.approx(plain, rel=1e-5)


def test_the_published_figures_hold_on_a_sample_of_their_own_games():
    world = synthetic_world(0)
    hidden, answers = world.draw(0.05, 300, seed=1)
    known = Noise.flat(0.05, world.answers.shape[1])
    players = {78.4: Recipe(world), 83.7: Recipe(world, minus=True), 90.1: BeliefPlayer(Belief.of(world, known))}
    for figure, player in players.items():
        rate = 95 * (play(player, answers, hidden)[0] > 0).mean()
        error = 95 * np.sqrt(figure / 95 * (1 - figure / 95) / len(hidden))
        assert abs(rate - figure) < 3.5 * error, (figure, rate)


def test_hard_filtering_rules_out_whoever_contradicts_an_answer():
    seen = some_transcripts(20, 2)
    guesses = BeliefPlayer(hard_filtering(WORLD).belief).guess(seen)
    for game in range(20):
        toward = np.where(seen.said[game, :2], 1, -1)
        fits = (WORLD.answers[:, seen.asked[game, :2]] * toward >= 0).all(axis=1)
        fits[seen.guessed[game, :2]] = False
        assert fits[guesses[game]]

"""Claims about a game in the single environment and in the batched one: turns, rewards, masks, seeds, refusals."""

import json
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env.errors import UserError
from env.identification.observation import Shortlist
from env.keywords.comparison import ROUNDS
from env.keywords.environment import KeywordsEnv
from env.keywords.vector import KeywordsVecEnv
from env.keywords.world import World
from tests.small_keywords import SHARES, small_world

WORLD = small_world()
KEYWORDS, QUESTIONS = WORLD.answers.shape
SHORT = Shortlist(asks=6, guesses=3, focus=10)
ARGUMENTS = {
    "a rate": {"partner": 0.1},
    "clarity": {"partner": "clarity"},
    "a range of rates": {"partner": (0.02, 0.25)},
    "told another rate and prior": {"partner": 0.2, "noise": 0.05, "assumed_shares": (0.9, 0.05, 0.05)},
    "keywords of no list": {"partner": 0.1, "outside": 0.3},
}


def make(**arguments) -> KeywordsEnv:
    return KeywordsEnv(WORLD, shares=SHARES, shortlist=SHORT, **{"partner": 0.1, **arguments})


def wrong(env: KeywordsEnv, skip: int = 0) -> int:
    return QUESTIONS + [keyword for keyword in range(KEYWORDS) if keyword != env.keyword][skip]


def some_action(random: np.random.Generator, env: KeywordsEnv) -> int:
    """Any action: mostly what the mask allows, now and then something of the wrong turn, or the right guess."""
    kind = random.random()
    if kind < 0.2:
        return int(random.integers(QUESTIONS + KEYWORDS))
    if kind < 0.23 and env.keyword >= 0:
        return QUESTIONS + env.keyword
    return int(random.choice(np.flatnonzero(env.action_masks())))


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_gymnasium_makes_it_and_finds_nothing_to_warn_of(arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(
            "wilkins/Keywords-v0", world=WORLD, shares=SHARES, shortlist=SHORT, render_mode="ansi", **arguments
        )
        check_env(env.unwrapped)


def test_turns_alternate_and_a_right_guess_ends_the_game_with_the_real_reward_scaled():
    env = make()
    env.reset(seed=1)
    for number in range(3):
        assert env.action_masks()[:QUESTIONS].sum() == QUESTIONS - number
        assert not env.action_masks()[QUESTIONS:].any()
        assert env.step(number)[1:4] == (0, False, False)
        assert not env.action_masks()[:QUESTIONS].any()
        assert env.action_masks()[QUESTIONS:].sum() == KEYWORDS - number
        if number < 2:
            assert env.step(wrong(env, number))[1:4] == (0, False, False)
    _, reward, terminated, truncated, info = env.step(QUESTIONS + env.keyword)
    assert (reward, terminated, truncated) == (pytest.approx(18 / 20), True, False)
    assert (info["solved"], info["reward"], info["round"]) == (True, 18, 3)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)


def test_twenty_wrong_guesses_lose_the_game():
    env = make()
    env.reset(seed=2)
    for turn in range(2 * ROUNDS):
        _, reward, terminated, _, info = env.step(turn // 2 if turn % 2 == 0 else wrong(env, turn // 2))
        assert terminated == (turn == 2 * ROUNDS - 1)
    assert reward == pytest.approx(-1 / 20)
    assert (info["solved"], info["reward"]) == (False, -1)


def test_an_action_of_the_other_turn_wastes_the_turn_and_tells_nothing():
    env = make()
    first, _ = env.reset(seed=3)
    env.step(QUESTIONS + env.keyword)
    observation, _, terminated, _, info = env.step(0)
    assert not terminated
    assert info["transcript"] == [("nothing asked", "no answer"), ("nothing guessed", "wrong")]
    assert np.array_equal(observation["asks"][:, 0], first["asks"][:, 0])


def test_a_repeated_question_is_answered_as_before_and_changes_nothing():
    env = make(partner=0.4)
    env.reset(seed=4)
    env.step(5)
    env.step(wrong(env))
    before = env.step(7)[0]["state"][1]
    env.step(wrong(env, 1))
    env.step(5)
    answers = [came for said, came in env.step(wrong(env, 2))[4]["transcript"] if said == "question 5?"]
    assert answers[0] == answers[1]
    assert np.isfinite(before)


@pytest.mark.parametrize("action", [-1, QUESTIONS + KEYWORDS, 1.5, None, "0"])
def test_a_value_outside_the_action_space_is_refused_and_costs_nothing(action):
    env = make()
    env.reset(seed=5)
    with pytest.raises(ValueError, match="neither a question nor a guess"):
        env.step(action)
    assert env.step(0)[4]["round"] == 1


def test_a_keyword_may_be_fixed_by_name_under_the_games_own_comparison():
    names = tuple(f"word{i}x" for i in range(KEYWORDS))
    world = World(WORLD.answers, WORLD.tier, WORLD.clarity, WORLD.hardness, names, tuple("abcdefghijklmnopqrstuvwxy"))
    env = KeywordsEnv(world, shares=SHARES, render_mode="ansi")
    env.reset(seed=0, options={"keyword": "The Word7-X"})
    assert env.keyword == 7
    env.step(2)
    env.step(QUESTIONS + 7)
    assert env.render().splitlines()[1:] == [" 1. is it word7x? right", "solved, reward 20"]
    with pytest.raises(UserError, match="'nobody'"):
        env.reset(options={"keyword": "nobody"})


def test_a_keyword_of_no_list_cannot_be_guessed():
    env = make(outside=1.0)
    env.reset(seed=6)
    assert env.keyword == -1
    for keyword in range(ROUNDS):
        env.step(keyword)
        last = env.step(QUESTIONS + keyword)
    assert last[4]["solved"] is False


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_every_game_of_a_batch_is_the_game_that_the_single_environment_plays(arguments):
    games, seed = 8, 30
    many = KeywordsVecEnv(WORLD, games, shares=SHARES, shortlist=SHORT, **arguments)
    single = [make(**arguments) for _ in range(games)]
    many.seed(seed)
    together = many.reset()
    random = np.random.default_rng(7)
    alone = [env.reset(seed=seed + game)[0] for game, env in enumerate(single)]
    finished = solved = 0
    for _ in range(150):
        for game, env in enumerate(single):
            assert all(values.tobytes() == together[key][game].tobytes() for key, values in alone[game].items())
            assert np.array_equal(many.action_masks()[game], env.action_masks())
        actions = np.array([some_action(random, env) for env in single])
        together, rewards, ends, infos = many.step(actions)
        for game, env in enumerate(single):
            observation, reward, terminated, _, info = env.step(actions[game])
            assert (ends[game], rewards[game]) == (terminated, np.float32(reward))
            if terminated:
                finished, solved = finished + 1, solved + info["solved"]
                last = infos[game]["terminal_observation"]
                assert all(values.tobytes() == last[key].tobytes() for key, values in observation.items())
                assert [infos[game][key] for key in ("solved", "reward", "round")] == [
                    info[key] for key in ("solved", "reward", "round")
                ]
                observation, _ = env.reset()
            alone[game] = observation
    assert solved > 0
    assert finished > 20


def test_a_batch_goes_on_exactly_from_its_state():
    def played(env: KeywordsVecEnv, steps: int) -> list[bytes]:
        random, seen = np.random.default_rng(1), []
        for _ in range(steps):
            masks = env.action_masks()
            observation, rewards, ends, _ = env.step(np.array([random.choice(np.flatnonzero(row)) for row in masks]))
            seen += [values.tobytes() for values in (*observation.values(), rewards, ends)]
        return seen

    one, other = (KeywordsVecEnv(WORLD, 4, (0.02, 0.25), shares=SHARES, shortlist=SHORT) for _ in range(2))
    one.seed(9)
    one.reset()
    played(one, 45)
    state = {key: np.array(json.loads(json.dumps(value.tolist())), value.dtype) for key, value in one.state().items()}
    there = other.restore(state)
    assert played(one, 60) == played(other, 60)
    assert there["state"].shape == (4, 20)
    with pytest.raises(ValueError, match="shape"):
        KeywordsVecEnv(WORLD, 3, shares=SHARES).restore(state)
    for name, wrong in (("turn", 2 * ROUNDS), ("keyword", len(WORLD.answers)), ("asked", -2), ("guessed", 10**6)):
        with pytest.raises(ValueError, match="no game can come to"):
            other.restore({**state, name: np.full_like(state[name], wrong)})

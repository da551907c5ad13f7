"""Claims about many rounds at once: they are the rounds of the single environment, game by game."""

import json

import numpy as np
import pytest
from stable_baselines3.common import vec_env
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from env.cabinet.environment import CabinetEnv
from env.cabinet.rules import BUDGET
from env.cabinet.vector import CabinetVecEnv
from env.identification.belief import Likelihood
from env.identification.observation import Shortlist
from tests.small_world import small_package

PACKAGE = small_package(animals=30, questions=20, seed=2)
QUESTIONS, ANIMALS = len(PACKAGE.questions), len(PACKAGE.animals)
SHORTLIST = Shortlist(asks=6, guesses=3, focus=8)

# Few candidates that are never hidden: without noise they are soon all contradicted, and all guessed.
WORLDS = {
    "without noise": {"noise": 0.0},
    "noise": {"noise": 0.1},
    "much noise": {"noise": 1.0},
    "three levels": {"noise": [0.3, 0.0, 0.1]},
    "more candidates than hidden animals": {"split": "dev", "candidates": "all", "noise": [0.0, 0.2]},
    "contradictions": {"split": "hidden", "candidates": "dev", "noise": 0.0},
    "contradictions and noise": {"split": "hidden", "candidates": "test1", "noise": [0.0, 0.05]},
}


def some_action(rng: np.random.Generator, env: CabinetEnv, used: list[int]) -> int:
    """Any legal action: new ones, repeats, guesses of candidates and of others, now and then the right one."""
    kind = rng.random()
    if kind < 0.15 and used:
        return int(rng.choice(used))
    if kind < 0.20:
        return QUESTIONS + env.animal
    if kind < 0.45:
        return QUESTIONS + int(rng.choice(env.candidates if rng.random() < 0.7 else ANIMALS))
    return int(rng.integers(QUESTIONS))


def assert_same(together: dict[str, np.ndarray], game: int, alone: dict[str, np.ndarray]) -> None:
    for key, values in alone.items():
        assert values.tobytes() == together[key][game].tobytes(), (game, key)


@pytest.mark.parametrize("world", WORLDS)
def test_every_game_is_the_round_that_the_single_environment_plays(world, monkeypatch):
    fallbacks, fall_back = 0, Likelihood.likeliest_by_margin

    def counted(*arguments):
        nonlocal fallbacks
        fallbacks += 1
        return fall_back(*arguments)

    monkeypatch.setattr(Likelihood, "likeliest_by_margin", counted)
    arguments, games, seed = WORLDS[world], 16, 40
    many = CabinetVecEnv(PACKAGE, games, shortlist=SHORTLIST, **arguments)
    single = [CabinetEnv(PACKAGE, shortlist=SHORTLIST, **{**arguments, "noise": float(level)}) for level in many.noise]
    assert set(many.noise) == set(np.atleast_1d(arguments["noise"]))
    many.seed(seed)
    together = many.reset()
    for game, env in enumerate(single):
        assert_same(together, game, env.reset(seed=seed + game)[0])
    rng = np.random.default_rng(7)
    used: list[list[int]] = [[] for _ in range(games)]
    finished = solved = 0
    while finished < 300:
        for game, env in enumerate(single):
            assert np.array_equal(many.action_masks()[game], env.action_masks())
        actions = np.array([some_action(rng, env, past) for env, past in zip(single, used, strict=True)])
        together, rewards, ends, infos = many.step(actions)
        for game, env in enumerate(single):
            used[game].append(int(actions[game]))
            alone, reward, terminated, truncated, info = env.step(actions[game])
            assert not truncated
            assert ends[game] == terminated
            assert rewards[game] == np.float32(reward)
            if terminated:
                finished += 1
                solved += info["solved"]
                ended = infos[game]
                for key, values in ended["terminal_observation"].items():
                    assert values.tobytes() == alone[key].tobytes()
                assert (ended["calls"], ended["solved"]) == (info["calls"], info["solved"])
                assert ended["round_score"] == ended["episode"]["r"] == np.float32(info["round_score"])
                assert ended["episode"]["l"] == info["calls"]
                assert ended["TimeLimit.truncated"] is False
                used[game] = []
                alone, _ = env.reset()
            else:
                assert "terminal_observation" not in infos[game]
            assert_same(together, game, alone)
    assert 0 < solved < finished
    # Nothing to fall back from where the hidden animal is a candidate; else both worlds fall back as often.
    assert fallbacks % 2 == 0
    assert (fallbacks > 100) if "contradictions" in world else (fallbacks == 0)


def random_steps(env: CabinetVecEnv, seed: int, steps: int) -> list:
    """What comes of random actions, in a form that can be compared."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(steps):
        observation, rewards, ends, infos = env.step(rng.integers(QUESTIONS + ANIMALS, size=env.num_envs))
        seen += [values.tobytes() for values in (*observation.values(), rewards, ends, env.action_masks())]
        seen.append([(info.get("calls"), info.get("solved")) for info in infos])
    return seen


def fresh(seed: int | None = 3, **arguments) -> CabinetVecEnv:
    env = CabinetVecEnv(PACKAGE, **{"games": 5, "noise": [0.0, 0.4], **arguments})
    if seed is not None:
        env.seed(seed)
        env.reset()
    return env


def test_a_state_brought_back_goes_on_as_the_games_did():
    env = fresh()
    random_steps(env, seed=0, steps=7)
    state = env.state()
    expected = random_steps(env, seed=1, steps=40)
    assert random_steps(env, seed=1, steps=40) != expected
    env.restore(state)
    assert random_steps(env, seed=1, steps=40) == expected


def test_a_state_goes_through_a_file_into_other_games(tmp_path):
    env = fresh()
    random_steps(env, seed=0, steps=7)
    np.savez(tmp_path / "state.npz", allow_pickle=False, **env.state())
    expected = random_steps(env, seed=1, steps=40)
    other = fresh(seed=None)
    with np.load(tmp_path / "state.npz", allow_pickle=False) as stored:
        other.restore(stored)
    assert random_steps(other, seed=1, steps=40) == expected


@pytest.mark.parametrize("other", [{"games": 4}, {"candidates": "all"}], ids=str)
def test_a_state_of_other_games_is_refused_and_leaves_these_as_they_were(other):
    env, untouched = fresh(), fresh()
    with pytest.raises(ValueError, match="shape"):
        env.restore(fresh(**other).state())
    assert random_steps(env, seed=1, steps=20) == random_steps(untouched, seed=1, steps=20)


def test_the_same_seed_plays_the_same_games_and_another_does_not():
    assert random_steps(fresh(3), 0, 40) == random_steps(fresh(3), 0, 40) != random_steps(fresh(4), 0, 40)


def test_a_second_reset_without_a_seed_starts_other_rounds():
    env = fresh(games=50, noise=0.0)
    before = env.state()["animal"].copy()
    env.reset()
    assert before.tolist() != env.state()["animal"].tolist()


@pytest.mark.parametrize("value", [-1, QUESTIONS + ANIMALS, 2.7, np.nan])
def test_an_illegal_value_in_any_game_raises_and_costs_nobody_anything(value):
    env, untouched = fresh(), fresh()
    with pytest.raises(ValueError, match=f"0..{QUESTIONS + ANIMALS - 1}"):
        env.step(np.array([0, 1, value, 3, 4]))
    assert random_steps(env, seed=1, steps=20) == random_steps(untouched, seed=1, steps=20)


def test_as_many_actions_as_games_are_needed():
    with pytest.raises(ValueError, match=r"reshape"):
        fresh().step(np.zeros(4, np.int64))


def test_the_last_observation_of_a_round_is_kept_and_the_next_round_starts_at_once():
    env = fresh(games=3, noise=0.0)
    start = env.reset()
    for call in range(1, BUDGET + 1):
        observation, rewards, ends, infos = env.step(np.zeros(3, np.int64))
        assert ends.tolist() == [call == BUDGET] * 3
    assert rewards.tolist() == [0.0] * 3
    for game, info in enumerate(infos):
        assert (info["calls"], info["solved"]) == (BUDGET, False)
        last = info["terminal_observation"]
        assert last["state"][0] == 0
        assert (last["ask_ids"] == -1).all()
        assert_same(observation, game, {key: values[game] for key, values in start.items()})
    env.step(np.ones(3, np.int64))
    assert infos[0]["terminal_observation"]["state"][0] == 0


def test_what_was_handed_out_does_not_change_with_later_calls():
    env = fresh()
    masks, observation = env.env_method("action_masks"), env.reset()
    masks = [mask.copy() for mask in masks], masks
    kept = {key: values.copy() for key, values in observation.items()}, observation
    _, rewards, ends, _ = env.step(np.arange(5))
    given = rewards.copy(), ends.copy()
    random_steps(env, seed=0, steps=20)
    np.testing.assert_equal(*masks)
    np.testing.assert_equal(*kept)
    np.testing.assert_equal((rewards, ends), given)


def test_noise_levels_are_dealt_in_equal_shares():
    levels, shares = np.unique(fresh(games=12, noise=[0.3, 0.0, 0.1]).noise, return_counts=True)
    assert levels.tolist() == [0.0, 0.1, 0.3]
    assert shares.tolist() == [4, 4, 4]


def test_the_trainer_finds_a_vector_environment_and_the_single_one_passes_its_checker():
    # Without its warnings: they advise against features in two dimensions, which the policy here wants.
    check_env(CabinetEnv(PACKAGE, noise=0.1), warn=False)
    env = fresh()
    assert isinstance(env, vec_env.VecEnv)
    reference = DummyVecEnv([lambda: CabinetEnv(PACKAGE)])
    assert env.observation_space == reference.observation_space
    assert env.action_space == reference.action_space
    observation = env.reset()
    for game in range(env.num_envs):
        assert env.observation_space.contains({key: values[game] for key, values in observation.items()})


def test_the_methods_that_a_vector_environment_owes():
    env = fresh()
    assert np.array_equal(env.env_method("action_masks", indices=[1, 3]), env.action_masks()[[1, 3]])
    assert env.get_attr("questions", indices=0) == [QUESTIONS]
    assert env.has_attr("action_masks")
    assert env.env_is_wrapped(VecMonitor) == [False] * 5
    with pytest.raises(AttributeError, match="no method 'fly'"):
        env.env_method("fly")
    with pytest.raises(AttributeError, match="game by game"):
        env.set_attr("noise", 1.0)
    env.close()


def test_a_state_is_plain_arrays_and_json():
    state = fresh().state()
    assert all(isinstance(values, np.ndarray) and values.dtype != object for values in state.values())
    assert len(json.loads(str(state["generators"]))) == 5

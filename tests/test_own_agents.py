"""Claims about bringing one's own agent: the scripts of docs/ run, and Gymnasium's wrappers work on the game."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers

import env  # noqa: F401

DOCS = Path(__file__).parents[1] / "docs"

WRAPPERS = {
    "TimeLimit": lambda game: wrappers.TimeLimit(game, 20),
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "FlattenObservation": wrappers.FlattenObservation,
    "FilterObservation": lambda game: wrappers.FilterObservation(game, ["asks", "guesses", "state"]),
    "TransformReward": lambda game: wrappers.TransformReward(game, lambda reward: 100 * reward),
    "Autoreset": wrappers.Autoreset,
}
"""Those that docs/scale.md lists."""


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_random_agent_hardly_ever_finds_the_animal() -> None:
    assert 0 <= script("agent_random").main(rounds=20) < 30


def test_stock_maskable_ppo_trains_and_plays() -> None:
    assert 0 <= script("agent_maskable_ppo").main(steps=64, games=2, horizon=32, rounds=2) <= 100


def test_a_ppo_in_one_file_trains() -> None:
    scores = script("agent_cleanrl").main(steps=128, games=2, horizon=32)
    assert len(scores) >= 2 * 64 // 15 - 2  # a round has at most 15 calls
    assert all(math.isfinite(score) and 0 <= score <= 98 for score in scores)


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_that_are_listed_work_and_keep_the_masks(name: str) -> None:
    assert f"`{name}`" in (DOCS / "scale.md").read_text()
    game = WRAPPERS[name](gymnasium.make("wilkins/Cabinet-v0"))
    observation, _ = game.reset(seed=0)
    assert game.observation_space.contains(observation)
    total, over, calls = 0.0, False, 0
    while not over:
        mask = game.get_wrapper_attr("action_masks")()
        action = int(np.flatnonzero(mask)[0])
        observation, reward, terminated, truncated, _ = game.step(action)
        assert game.observation_space.contains(observation)
        total, over, calls = total + float(reward), terminated or truncated, calls + 1
    assert 0 <= total <= 100
    assert calls <= 15

"""Small runs of two games, shared by the tests of this room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import wilkins

KEYWORDS = "--tiers 12 20 28 10 --steps 512 --games 16 --horizon 16 --batch 64 --evaluations 1 --lessons 0 --trials 20"


@pytest.fixture(scope="session")
def two_seeds(tmp_path_factory: pytest.TempPathFactory, train_small: Callable[..., int]) -> Path:
    """A folder with two runs of one setting. Not to be written to."""
    group = tmp_path_factory.mktemp("group") / "setting"
    for seed in (1, 2):
        assert train_small("--runs", group, "--name", f"seed-{seed}", "--seed", str(seed), "--evaluations", "1") == 0
    return group


@pytest.fixture(scope="session")
def keyword_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of LLM 20 Questions. Not to be written to."""
    runs = tmp_path_factory.mktemp("keywords")
    assert wilkins.main(["train", "keywords", *KEYWORDS.split(), "--runs", str(runs), "--name", "one"]) == 0
    return runs / "one"

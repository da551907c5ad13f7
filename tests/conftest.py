"""Shared fixtures: small packages that cost nothing to make, and one small training run that all tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings

import wilkins
from env.identification.matrix import Matrix, save_matrix
from env.identification.pools import digest

# The same examples in every run, however busy the machine: a test that fails somewhere fails everywhere.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")


def write_package(folder: Path, animals: int = 20, questions: int = 12, seed: int = 0) -> Path:
    """A package folder; see `make_package` for what is in it."""
    folder.mkdir()
    names = [f"beast {i}" for i in range(animals)]
    asked = [f"is it {i}?" for i in range(questions)]
    fifth = max(1, animals // 5)
    (folder / "animals_pool.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    (folder / "questions_pool.txt").write_text("\n".join(asked) + "\n", encoding="utf-8")
    (folder / "dev.csv").write_text("\n".join(["animal", *names[:fifth]]) + "\n", encoding="utf-8")
    (folder / "test1.csv").write_text("\n".join(["animal", *names[fifth : 2 * fifth]]) + "\n", encoding="utf-8")
    rng = np.random.default_rng(seed)
    margin = rng.normal(0.0, 1.3, (animals, questions)).astype(np.float32)
    while len(np.unique(margin > 0, axis=0)) < animals:
        margin = rng.normal(0.0, 1.3, (animals, questions)).astype(np.float32)
    provenance = {"model": "random", "animals_sha256": digest(names), "questions_sha256": digest(asked)}
    save_matrix(folder / "matrix.npz", Matrix(margin, (margin > 0).astype(np.uint8), provenance))
    return folder


@pytest.fixture
def make_package(tmp_path: Path) -> Callable[..., Path]:
    """Factory of package folders: `make_package(animals=20, questions=12, seed=0)` returns the path.

    Animals are "beast 0", "beast 1" ...; questions "is it 0?" ...; dev is the first fifth of the animals, test1
    the second fifth; margins are normal with deviation 1.3, all rows of answers differ.
    """
    numbers = count()

    def make(animals: int = 20, questions: int = 12, seed: int = 0) -> Path:
        return write_package(tmp_path / f"package-{next(numbers)}", animals, questions, seed)

    return make


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Torch on one thread, whose sums are the same each time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def small_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of 60 animals, 36 of them hidden, and 24 questions. Not to be written to."""
    return write_package(tmp_path_factory.mktemp("shared") / "small", 60, 24)


@pytest.fixture(scope="session")
def train_small(small_package: Path) -> Callable[..., int]:
    """The main job on the small package, with little of everything: `train_small("--runs", ..., "--name", ...)`.

    No lessons; four updates of 1,024 calls, an evaluation after each: just enough that the agent learns to ask before it
    guesses, with any seed. Later flags win. Returns the exit code.
    """
    little = "--steps 4096 --games 32 --horizon 32 --batch 64 --guesses 1 --asks 8 --learning-rate 0.003"
    little += " --evaluations 4 --lessons 0 --improve-seconds 0.1"

    def run(*flags: str | Path) -> int:
        return wilkins.main(["train", "--package", str(small_package), *little.split(), *map(str, flags)])

    return run


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory: pytest.TempPathFactory, train_small: Callable[..., int]) -> Path:
    """The folder of a finished small run. Not to be written to."""
    runs = tmp_path_factory.mktemp("runs")
    assert train_small("--runs", runs, "--name", "shared") == 0
    return runs / "shared"

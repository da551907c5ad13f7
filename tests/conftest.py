"""Shared fixtures: small packages that cost nothing to make."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from env.matrix import Matrix, save_matrix
from env.pools import digest


@pytest.fixture
def make_package(tmp_path: Path) -> Callable[..., Path]:
    """Factory of package folders: `make_package(animals=20, questions=12, seed=0)` returns the path.

    Animals are "beast 0", "beast 1" ...; questions "is it 0?" ...; dev is the first fifth of the animals, test1
    the second fifth; margins are normal with deviation 1.3, all rows of answers differ.
    """
    numbers = count()

    def make(animals: int = 20, questions: int = 12, seed: int = 0) -> Path:
        folder = tmp_path / f"package-{next(numbers)}"
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

    return make

"""A package small enough to recompute by hand, made in memory; animals of a split stand in no order."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from env.identification.matrix import Matrix
from env.identification.package import Package
from env.identification.pools import make_pool


def small_package(animals: int = 20, questions: int = 12, seed: int = 0, margin: np.ndarray | None = None) -> Package:
    """Animals "beast 0" ..., questions "is it 0?" ...; a fifth is dev, a fifth test1, both drawn at random.

    `margin` [animals, questions] is drawn from a normal distribution of deviation 1.3 when None.
    """
    rng = np.random.default_rng(seed)
    if margin is None:
        margin = rng.normal(0.0, 1.3, (animals, questions))
    margin = margin.astype(np.float32)
    animals, questions = margin.shape
    order, fifth = rng.permutation(animals), max(1, animals // 5)
    return Package(
        Path("small"),
        make_pool("animals", [f"beast {i}" for i in range(animals)]),
        make_pool("questions", [f"is it {i}?" for i in range(questions)]),
        order[:fifth],
        order[fifth : 2 * fifth],
        Matrix(margin, (margin > 0).astype(np.uint8)),
    )

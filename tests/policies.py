"""Policies made for tests: a greedy one that halves the candidates, and a full-size one of random questions."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from env.errors import PackageWarning
from env.identification.matrix import Matrix
from env.identification.package import Package
from env.identification.pools import Pool, make_pool
from env.identification.synth import synthesise
from export.cabinet.graph import ASK, GUESS, Graph


def official_size_package(seed: int = 1) -> Package:
    """As many animals and questions as the official task, 822 of the animals hidden; synthetic margins."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PackageWarning)  # of the official size, but not the official lists
        animals = make_pool("animals", [f"creature number {i}" for i in range(1472)])
        questions = make_pool("questions", [f"is it known for number {i}, among other things?" for i in range(559)])
    margin, ids = synthesise(1472, 559, seed), np.arange(1472)
    matrix = Matrix(margin, (margin > 0).astype(np.uint8))
    return Package(Path("official size"), animals, questions, ids[:150], ids[150:650], matrix)


def halving_graph(package: Package, candidates: np.ndarray, seed: int = 0, most: int = 1) -> Graph:
    """Split the candidates as evenly as the answers allow, then guess; `most` animals are guessed in turn."""
    answer = package.matrix.answer
    rng = np.random.default_rng(seed)
    nodes: list[list[int]] = []

    def add(ids: np.ndarray) -> int:
        if ids.size == 0:
            return -1
        place = len(nodes)
        nodes.append([0, 0, -1, -1])
        yes = answer[ids].sum(axis=0)
        evenness = np.minimum(yes, ids.size - yes) + 0.4 * rng.random(yes.size)
        question = int(evenness.argmax())
        if ids.size <= most or min(yes[question], ids.size - yes[question]) == 0:
            nodes[place] = [GUESS, int(ids[0]), -1, add(ids[1:])]
        else:
            bit = answer[ids, question] == 1
            nodes[place] = [ASK, question, add(ids[bit]), add(ids[~bit])]
        return place

    add(candidates)
    return graph_of(nodes, package.animals, package.questions)


def full_graph(package: Package, candidates: np.ndarray, seed: int = 0) -> Graph:
    """All 32,767 nodes: a complete tree of 14 random questions, then one guess of an animal that comes there."""
    rng = np.random.default_rng(seed)
    answer = package.matrix.answer
    nodes: list[list[int]] = []

    def add(ids: np.ndarray, depth: int) -> int:
        place = len(nodes)
        nodes.append([0, 0, -1, -1])
        if depth == 14:
            nodes[place] = [GUESS, int(rng.choice(ids if ids.size else candidates)), -1, -1]
            return place
        tried = rng.choice(len(package.questions), 12, replace=False)
        yes = answer[np.ix_(ids, tried)].mean(axis=0) if ids.size else rng.random(tried.size)
        question = int(tried[np.abs(yes - 0.5).argmin()])
        bit = answer[ids, question] == 1
        nodes[place] = [ASK, question, add(ids[bit], depth + 1), add(ids[~bit], depth + 1)]
        return place

    add(candidates, 0)
    return graph_of(nodes, package.animals, package.questions)


def graph_of(nodes: list[list[int]], animals: Pool, questions: Pool) -> Graph:
    """Graph of [kind, value, yes, no] rows, its root the first."""
    table = np.array(nodes, np.int32)
    return Graph(
        kind=table[:, 0].astype(np.uint8),
        value=table[:, 1],
        yes=table[:, 2],
        no=table[:, 3],
        root=0,
        animals_sha256=animals.sha256,
        questions_sha256=questions.sha256,
    )

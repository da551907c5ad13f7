"""Exact scores of a policy graph: walked on fixed answers, or in expectation over a platform's noise.

Every figure is an array over animals, so that means, spreads and breakdowns come from one place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from env.cabinet.rules import BUDGET, round_score
from export.cabinet.graph import ASK, GUESS, STOP, Graph

NEGLIGIBLE = 1e-12 / 2**BUDGET
"""A path's probability below this is dropped. BUDGET calls make at most 2**BUDGET paths: 1e-12 in all."""

_CHUNK = 96
"""Paths followed together. Neighbours in the tree share their likely animals, so small chunks stay narrow."""

POINTS = np.array([0.0, *(round_score(True, call) for call in range(1, BUDGET + 1))])
"""Round score of a right guess on call 1..BUDGET; index 0 is a round that was not solved."""


class Outcome(NamedTuple):
    """What became of each animal's round; expectations where the answers are random."""

    solved: np.ndarray
    """Probability of a right guess, float64 [n]."""
    calls: np.ndarray
    """Calls consumed, float64 [n]."""
    score: np.ndarray
    """Round score, 0 to 0.98, float64 [n]."""


def walk(graph: Graph, answer: np.ndarray, animals: np.ndarray) -> Outcome:
    """Play each of `animals` (int64 [n]) once, answered by `answer` (0/1, [animals of the pool, questions])."""
    kind, value, yes, no = _with_null(graph)
    n = len(animals)
    node = np.full(n, graph.root)
    calls, solved_on = np.zeros(n), np.zeros(n, np.int64)
    for call in range(1, BUDGET + 1):
        playing = np.flatnonzero(kind[node] != STOP)
        if playing.size == 0:
            break
        here = node[playing]
        calls[playing] = call
        asks = kind[here] == ASK
        says_yes = np.zeros(len(here), bool)
        says_yes[asks] = answer[animals[playing[asks]], value[here[asks]]] != 0
        right = ~asks & (value[here] == animals[playing])
        solved_on[playing[right]] = call
        node[playing] = np.where(right, -1, np.where(says_yes, yes[here], no[here]))
    return Outcome((solved_on > 0).astype(np.float64), calls, POINTS[solved_on])


def expected(graph: Graph, p_yes: np.ndarray, animals: np.ndarray) -> Outcome:
    """Exact expectations when animal i says yes to question q with probability `p_yes[i, q]`.

    `p_yes` is float [n, questions], its rows in the order of `animals` (int64 [n]). Answers to different
    questions are independent; a question met again is answered as before. No sampling; the only
    error besides rounding is `NEGLIGIBLE` paths, at most 1e-12 of an animal's probability.
    """
    solved_on, calls = call_distribution(graph, p_yes, animals)
    return Outcome(solved_on[:, 1:].sum(axis=1), calls, solved_on @ POINTS)


def call_distribution(graph: Graph, p_yes: np.ndarray, animals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probability of a right guess on each call, float64 [n, BUDGET + 1], and expected calls, float64 [n].

    Column 0 is the probability that the round is not solved. Arguments as in `expected`.
    """
    kind, value, _, _ = _with_null(graph)
    solved_on, calls = np.zeros((len(animals), BUDGET + 1)), np.zeros(len(animals))
    for made, node, columns, mass in _paths(graph, p_yes, animals):
        calls[columns] += mass[kind[node] != STOP].sum(axis=0)
        guesses = np.flatnonzero(kind[node] == GUESS)
        row, column = np.nonzero(value[node[guesses], None] == animals[columns])
        np.add.at(solved_on[:, made + 1], columns[column], mass[guesses[row], column])
    solved_on[:, 0] = 1.0 - solved_on[:, 1:].sum(axis=1)
    return solved_on, calls


def reach(graph: Graph, p_yes: np.ndarray, animals: np.ndarray) -> np.ndarray:
    """Mean number of times that a round on one of `animals` comes to each node, float64 [nodes].

    A probability, except for a node on a cycle, which a round may come to more than once.
    """
    reached = np.zeros(len(graph.kind) + 1)
    for _, node, _, mass in _paths(graph, p_yes, animals):
        np.add.at(reached, node, mass.sum(axis=1))
    return reached[:-1] / len(animals)


def cut_gain(graph: Graph, p_yes: np.ndarray, animals: np.ndarray) -> float:
    """What guessing on at every stop would add to the expected score, summed over `animals`.

    A path that stops with calls left is continued by guesses in descending probability of having come
    there, all of `animals` equally likely beforehand: the best that guesses alone can do.
    """
    kind, _, _, _ = _with_null(graph)
    gain = 0.0
    for made, node, _, mass in _paths(graph, p_yes, animals):
        ended = mass[kind[node] == STOP]
        if ended.size:
            chain = np.sort(ended, axis=1)[:, ::-1][:, : BUDGET - made]
            gain += float((chain @ POINTS[made + 1 : made + 1 + chain.shape[1]]).sum())
    return gain


def _with_null(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The graph's arrays with one more node, so that index -1, a null edge, is a stop."""
    return np.append(graph.kind, STOP), np.append(graph.value, 0), np.append(graph.yes, -1), np.append(graph.no, -1)


def _paths(
    graph: Graph, p_yes: np.ndarray, animals: np.ndarray
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Every path that a round can take, in chunks: calls made before the node, node, columns, mass.

    `node` is int [paths] (-1 is a null edge), `mass` float64 [paths, columns] the probability that the animal
    `animals[columns]` takes this path. A call makes at most two paths of one, so any graph, however its
    nodes are shared or run in circles, unrolls to fewer than 2**BUDGET of them, and each knows its answers.
    """
    kind, value, yes, no = _with_null(graph)
    says_yes = np.ascontiguousarray(np.asarray(p_yes, np.float64).T)
    n = len(animals)
    nothing = np.empty((1, 0), np.int64)
    stack = [(0, np.array([graph.root]), np.arange(n), np.ones((1, n)), nothing, nothing)]
    while stack:
        made, node, columns, mass, asked, heard = stack.pop()
        yield made, node, columns, mass
        if made + 1 == BUDGET:
            continue
        asks, guesses = np.flatnonzero(kind[node] == ASK), np.flatnonzero(kind[node] == GUESS)
        question = value[node[asks]]
        p = says_yes[question[:, None], columns]
        again, when = np.nonzero(asked[asks] == question[:, None])
        p[again] = heard[asks[again], when, None]
        mass_yes = mass[asks] * p
        mass_wrong = mass[guesses]
        mass_wrong[value[node[guesses], None] == animals[columns]] = 0.0
        mass = np.concatenate([mass_yes, mass[asks] - mass_yes, mass_wrong])
        parent = np.concatenate([asks, asks, guesses])
        call_asked = np.concatenate([question, question, np.full(guesses.size, -1)])
        call_heard = np.repeat([1, 0, 0], [asks.size, asks.size, guesses.size])
        child = np.concatenate([yes[node[asks]], no[node[asks]], no[node[guesses]]])
        alive = np.flatnonzero((mass > NEGLIGIBLE).any(axis=1))
        alive = alive[np.argsort(parent[alive], kind="stable")]
        for start in range(0, alive.size, _CHUNK):
            part = alive[start : start + _CHUNK]
            part_mass, part_columns = mass[part], columns
            likely = (part_mass > NEGLIGIBLE).any(axis=0)
            if not likely.all():
                part_mass, part_columns = part_mass[:, likely], columns[likely]
            before = parent[part]
            stack.append(
                (
                    made + 1,
                    child[part],
                    part_columns,
                    part_mass,
                    np.column_stack([asked[before], call_asked[part]]),
                    np.column_stack([heard[before], call_heard[part]]),
                )
            )

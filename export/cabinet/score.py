"""Exact scores of a policy graph: walked on fixed answers, or in expectation over a platform's noise.

Every figure is an array over animals, so that means, spreads and breakdowns come from one place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from env.cabinet.rules import BUDGET, round_score
from env.loops import compiled
from export.cabinet.graph import ASK, GUESS, STOP, Graph

NEGLIGIBLE = 1e-12 / 2**BUDGET
"""A path's probability below this is dropped. BUDGET calls make at most 2**BUDGET paths: 1e-12 in all."""

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
    found = followed(graph, p_yes, animals)
    return Outcome(found.solved_on[:, 1:].sum(axis=1), found.calls, found.solved_on @ POINTS)


class Followed(NamedTuple):
    """What comes of every path that rounds can take; see `followed`."""

    solved_on: np.ndarray
    """Probability of a right guess on each call, float64 [n, BUDGET + 1]; column 0 is that the round is not solved."""
    calls: np.ndarray
    """Expected calls, float64 [n]."""
    reached: np.ndarray
    """Mean number of times that a round comes to each node, float64 [nodes]; more than 1 only on a cycle."""
    gain: float
    """What guessing on at every stop would add to the expected score, summed over the animals.

    A path that stops with calls left is continued by guesses in descending probability of having come there, all animals
    equally likely beforehand: the best that guesses alone can do.
    """


def followed(graph: Graph, p_yes: np.ndarray, animals: np.ndarray) -> Followed:
    """Follow every path that rounds on `animals` can take. Arguments as in `expected`."""
    kind, value, yes, no = (part.astype(np.int64) for part in _with_null(graph))
    by_question = np.ascontiguousarray(np.asarray(p_yes, np.float64).T)
    ids = np.ascontiguousarray(animals, np.int64)
    solved_on, calls, reached, gain = _follow(kind, value, yes, no, graph.root, by_question, ids, POINTS)
    solved_on[:, 0] = 1.0 - solved_on[:, 1:].sum(axis=1)
    return Followed(solved_on, calls, reached[:-1] / len(animals), gain)


def _with_null(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The graph's arrays with one more node, so that index -1, a null edge, is a stop."""
    return np.append(graph.kind, STOP), np.append(graph.value, 0), np.append(graph.yes, -1), np.append(graph.no, -1)


@compiled()
def _follow(
    kind: np.ndarray,
    value: np.ndarray,
    yes: np.ndarray,
    no: np.ndarray,
    root: int,
    says_yes: np.ndarray,
    animals: np.ndarray,
    points: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Follow every path that a round can take, depth first.

    Returns `Followed.solved_on` but for its column 0, the calls, visits summed over the animals (the last node is the
    null edge), and the gain.

    A path carries the animals that may be on it and their probabilities of having taken it, so the work is the number
    of states times their support. A call makes at most two paths of one, so any graph, however its nodes are shared or
    run in circles, unrolls to fewer than 2**BUDGET of them, and each knows its answers. `says_yes` is float64
    [questions, n].
    """
    n = animals.size
    solved_on, calls = np.zeros((n, BUDGET + 1)), np.zeros(n)
    reached, gain = np.zeros(kind.size), 0.0
    # Paths still to be followed, the last one first, their entries one behind the other: a path's place is taken by
    # those it leads to, so at each depth at most one waits beside the one that is followed.
    depth, node = np.zeros(BUDGET + 1, np.int64), np.zeros(BUDGET + 1, np.int64)
    start = np.zeros(BUDGET + 2, np.int64)
    asked, heard = np.full((BUDGET + 1, BUDGET), -1), np.zeros((BUDGET + 1, BUDGET), np.int64)
    place, mass = np.empty((BUDGET + 2) * n, np.int64), np.empty((BUDGET + 2) * n)
    place[:n], mass[:n] = np.arange(n), 1.0
    here_place, here_mass = np.empty(n, np.int64), np.empty(n)
    node[0], start[1], waiting = root, n, 1
    while waiting:
        waiting -= 1
        made, here, first = depth[waiting], node[waiting], start[waiting]
        count = start[waiting + 1] - first
        here_place[:count], here_mass[:count] = place[first : first + count], mass[first : first + count]
        come = here_mass[:count].sum()
        reached[here] += come
        if kind[here] == STOP:
            left = np.sort(here_mass[:count])[::-1]
            for k in range(min(count, BUDGET - made)):
                gain += left[k] * points[made + 1 + k]
            continue
        question, known = value[here], -1
        for i in range(count):
            calls[here_place[i]] += here_mass[i]
        if kind[here] == GUESS:
            kept = 0
            for i in range(count):
                if animals[here_place[i]] == question:
                    solved_on[here_place[i], made + 1] += here_mass[i]
                else:
                    here_place[kept], here_mass[kept] = here_place[i], here_mass[i]
                    kept += 1
            count, known, question = kept, 0, -1
        else:
            for call in range(made):
                if asked[waiting, call] == question:
                    known = heard[waiting, call]
        if made + 1 == BUDGET:
            continue
        history, answers = asked[waiting].copy(), heard[waiting].copy()
        history[made] = question
        end = first
        for answer in range(2):
            if known >= 0 and known != answer:
                continue
            begun = end
            for i in range(count):
                m = here_mass[i]
                if known < 0:
                    m *= says_yes[question, here_place[i]]
                    if answer == 0:
                        m = here_mass[i] - m
                if m > NEGLIGIBLE:
                    place[end], mass[end] = here_place[i], m
                    end += 1
            if end > begun:
                depth[waiting], node[waiting] = made + 1, yes[here] if answer else no[here]
                answers[made] = answer
                asked[waiting], heard[waiting] = history, answers
                start[waiting + 1] = end
                waiting += 1
    return solved_on, calls, reached, gain

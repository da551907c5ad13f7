"""Tiny packages in memory, and players on them: cheap enough to try many."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import torch as th
from gymnasium import spaces

from agents.identification.players import POINTS, Player, RankedPlayer, belief_player, trained_player
from agents.identification.policy import ShortlistPolicy
from env.cabinet.environment import observation_space
from env.cabinet.rules import BUDGET
from env.identification.matrix import Matrix
from env.identification.observation import Shortlist
from env.identification.package import Package
from env.identification.pools import make_pool
from export.cabinet.enumerate import MAX_NODES, enumerate_decisions, to_graph
from export.cabinet.score import expected

SHORT = Shortlist(asks=6, guesses=2, focus=8)
"""A shortlist that leaves out something even in a tiny package."""


def tiny_package(animals: int, questions: int, seed: int, spread: float = 1.0) -> Package:
    """Margins are normal with deviation `spread`; the first animal is dev, the second test1, the rest hidden."""
    margin = np.random.default_rng(seed).normal(0.0, spread, (animals, questions)).astype(np.float32)
    return package_of(margin)


def package_of(margin: np.ndarray) -> Package:
    """A package of these margins, float32 [animals, questions]."""
    pools = (
        make_pool("animals", [f"beast {i}" for i in range(len(margin))]),
        make_pool("questions", [f"is it {i}?" for i in range(margin.shape[1])]),
    )
    matrix = Matrix(margin.astype(np.float32), (margin > 0).astype(np.uint8))
    return Package(Path("tiny"), *pools, np.array([0]), np.array([1]), matrix)


def random_policy(package: Package, seed: int, width: int = 12, shortlist: Shortlist = SHORT) -> ShortlistPolicy:
    """A network that was never trained, with opinions strong enough to tell actions apart."""
    th.manual_seed(seed)
    questions, animals = len(package.questions), len(package.animals)
    space = observation_space(shortlist, questions, animals)
    policy = ShortlistPolicy(space, spaces.Discrete(questions + animals), lambda _: 1e-3, width=width)
    for last in (policy.scorer.ask_last, policy.scorer.guess_last):
        th.nn.init.normal_(last.weight)
    return policy


def player_of(kind: str, package: Package, noise: float, seed: int = 0) -> RankedPlayer:
    """`belief` plays by information gain and guesses at 0.4; `network` by random weights; both know all animals."""
    animals = np.arange(len(package.animals))
    if kind == "belief":
        return belief_player(package, animals, noise, 0.4)
    return trained_player(random_policy(package, seed), package, animals, noise, SHORT)


def exact_score(player: Player, package: Package, max_nodes: int = MAX_NODES) -> float:
    """Expected score x100 of the player's graph when answers are as likely as the player thinks."""
    cut = to_graph(enumerate_decisions(player), package.animals, package.questions, max_nodes)
    return 100 * float(expected(cut.graph, player.likelihood.p_yes, player.candidates).score.mean())


def after(player: Player, mass: np.ndarray, action: int, answer: bool) -> np.ndarray:
    """Masses after one call, float64 [candidates]."""
    questions = player.likelihood.p_yes.shape[1]
    if action >= questions:
        return mass * (np.arange(len(mass)) != action - questions)
    p = player.likelihood.p_yes[:, action]
    return mass * (p if answer else 1 - p)


def optimum(player: Player, mass: np.ndarray | None = None, made: int = 0) -> float:
    """Expected score x100 of the best of all policies, by dynamic programming over everything that can be known.

    From `mass` float64 [candidates] (even when None) with `made` calls consumed and no question asked yet.
    """
    animals, questions = player.likelihood.p_yes.shape
    first = np.full(animals, 1 / animals) if mass is None else mass

    @cache
    def best(answers: tuple[bool | None, ...], guessed: frozenset[int]) -> float:
        calls = made + sum(answer is not None for answer in answers) + len(guessed)
        if calls == BUDGET or len(guessed) == animals:
            return 0.0
        here = first
        for question, answer in enumerate(answers):
            if answer is not None:
                here = after(player, here, question, answer)
        values = [
            here[animal] * POINTS[calls] + best(answers, guessed | {animal})
            for animal in range(animals)
            if animal not in guessed
        ]
        values += [
            sum(best((*answers[:question], yes, *answers[question + 1 :]), guessed) for yes in (True, False))
            for question in range(questions)
            if answers[question] is None
        ]
        return max(values)

    return 100 * best((None,) * questions, frozenset())

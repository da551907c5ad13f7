"""Search for programs that reproduce every demonstration: best first over states, equal states merged.

What comes next is the step with the least sum of surprises, -log of the policy's probabilities along the way, plus
what the state leaves to explain. Without a policy all steps are equally likely, in an order drawn once.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from env.arc.clock import Clock, OutOfTimeError
from env.arc.operations import OPERATIONS
from env.arc.tasks import TRIALS, Grid, Task, same
from env.arc.world import ACTIONS, DEEPEST, Puzzle, State, act, paint

Guide = Callable[[State], tuple[np.ndarray, float]]
"""For a state: log probability of each action [ACTIONS], and how much is left to explain, 0..1.5."""

COMBINED = 150
"""States of the outputs' size, at most, that a rule may choose between."""

COMBINE_AT = len(OPERATIONS)
"""Nodes at which that is first tried; then at four times as many, and so on."""

PAINTERS = len(OPERATIONS)
"""The first action that paints by a rule."""

PATIENCE = 1000
"""Nodes, besides as many again, that are tried after the first simple program for simpler ones."""

SIMPLE = 10.0
"""Cost up to which a program is simple. What costs more is seldom right, so that the search goes on: of 377 published
training tasks 154 of the 190 that were answered rightly had a program below this, and 6 of the 102 explained wrongly."""

LEFT = 4.0
"""Nats of surprise that leaving everything unexplained weighs."""


@dataclass(frozen=True)
class Unguided:
    """No policy: every step is as likely as any other; what is left is counted in cells."""

    seed: int = 0

    def __call__(self, state: State) -> tuple[np.ndarray, float]:
        """Equal log probabilities, with a trace of an order drawn from the seed."""
        order = np.random.default_rng(self.seed).permutation(len(ACTIONS))
        return -np.log(len(ACTIONS)) - 1e-6 * order, state.distance


@dataclass(frozen=True)
class Habit:
    """No policy, but rules are tried before operations, and operations in the order in which they are listed."""

    def __call__(self, state: State) -> tuple[np.ndarray, float]:
        """Fixed log probabilities; what is left is counted in cells."""
        logs = -np.log(len(ACTIONS)) - 1e-6 * np.arange(len(ACTIONS))
        logs[PAINTERS:] = np.log([0.5, 0.2, 0.02 if state.steps else 0.1])
        return logs, state.distance


@dataclass(frozen=True)
class Answer:
    """A state that reproduces every demonstration, or a guess that does not."""

    state: State
    cost: float
    verified: bool

    @property
    def outputs(self) -> tuple[Grid, ...]:
        """An output for each test input."""
        return self.state.outputs


@dataclass
class Search:
    """What was found for a task."""

    answers: list[Answer] = field(default_factory=list)
    """The simplest first, no two with the same outputs; guesses after what is verified."""
    nodes: int = 0
    """Steps tried."""
    first: int = 0
    """Steps until the first program that reproduces every demonstration; 0 if there is none."""
    seconds: float = 0.0

    @property
    def verified(self) -> bool:
        """Whether a program reproduces every demonstration."""
        return bool(self.answers) and self.answers[0].verified


@dataclass(eq=False)
class Open:
    """A state whose steps are being tried, the likeliest first."""

    state: State
    order: np.ndarray
    """Actions, int64."""
    surprise: np.ndarray
    """-log probability of each of them."""
    path: float
    """Surprise of the steps that led here."""
    left: float
    tried: int = 0

    @property
    def priority(self) -> float:
        """The less, the sooner its next step is tried."""
        return self.path + self.left + float(self.surprise[self.tried])


class Searcher:
    """One search of one puzzle."""

    def __init__(self, puzzle: Puzzle, guide: Guide, seconds: float, most_nodes: int, stop_at_first: bool):
        self.puzzle, self.guide, self.most_nodes, self.stop_at_first = puzzle, guide, most_nodes, stop_at_first
        self.clock = Clock(seconds)
        self.found: dict[tuple[bytes, ...], Answer] = {}
        self.seen: set[tuple[bytes, ...]] = set()
        self.nodes = self.first = 0
        self.settled = 0
        """Nodes until the first simple program; 0 before."""
        self.sized: list[State] = []
        self.near: list[State] = []
        """Among them the states nearest to the demonstrated outputs."""
        self.combined = 0
        self.count = itertools.count()
        self.heap: list[tuple[float, int, Open]] = []

    @property
    def over(self) -> bool:
        """Whether the nodes are used up, or what was wanted is found."""
        if self.nodes >= self.most_nodes or (self.first and self.stop_at_first):
            return True
        return self.settled > 0 and self.nodes >= 2 * self.settled + PATIENCE

    def run(self) -> Search:
        """Search until it is over, the time is up, or there is nothing left to try."""
        with suppress(OutOfTimeError):
            self.explore()
        return Search(self.answers(), self.nodes, self.first, self.clock.spent)

    def explore(self) -> None:
        """Try steps, the most promising first. Raises OutOfTimeError."""
        self.open(self.puzzle.start, 0.0)
        next_combination = COMBINE_AT
        while self.heap and not self.over:
            _, _, entry = heapq.heappop(self.heap)
            while not self.over:
                self.step(entry.state, int(entry.order[entry.tried]), entry.path + float(entry.surprise[entry.tried]))
                entry.tried += 1
                if self.nodes >= next_combination:
                    next_combination *= 4
                    self.combine()
                if entry.tried == len(entry.order):
                    break
                if self.heap and entry.priority > self.heap[0][0]:
                    heapq.heappush(self.heap, (entry.priority, next(self.count), entry))
                    break
        if not self.over:
            self.combine()

    def answers(self) -> list[Answer]:
        """What was found, the simplest first; where nothing was, the nearest states as guesses."""
        answers = sorted(self.found.values(), key=lambda answer: answer.cost)
        checked = [a for a in answers[: 2 * TRIALS] if a.state.program.explains(self.puzzle.inputs, self.puzzle.wanted)]
        if checked:
            return checked
        guesses: dict[tuple[bytes, ...], Answer] = {}
        for state in sorted(self.near, key=lambda state: (state.distance, state.cost)):
            guesses.setdefault(state.content[len(self.puzzle.wanted) :], Answer(state, state.cost, False))
        return list(guesses.values())[:TRIALS]

    def open(self, state: State, path: float) -> None:
        """Put a state among those whose steps are tried."""
        self.seen.add(state.content)
        if state.fits:
            self.sized.append(state)
        self.near.append(state)
        if len(self.near) > 64:
            self.near = sorted(self.near, key=lambda state: (state.distance, state.cost))[:16]
        logs, left = self.guide(state)
        order = np.argsort(-logs, kind="stable")
        if len(state.steps) == DEEPEST:
            order = order[order >= PAINTERS]
        if not state.fits:
            order = order[order < PAINTERS]
        if len(order):
            entry = Open(state, order, -logs[order], path, LEFT * left)
            heapq.heappush(self.heap, (entry.priority, next(self.count), entry))

    def step(self, state: State, action: int, path: float) -> None:
        """Try a step on a state."""
        self.nodes += 1
        for made in act(state, ACTIONS[action], self.clock):
            if made.rule is not None:
                self.keep(made)
            elif made.content not in self.seen:
                if made.solved:
                    self.seen.add(made.content)
                    self.keep(made)
                else:
                    self.open(made, path)

    def combine(self) -> None:
        """Look for rules that choose between all states of the right size."""
        if len(self.sized) < 2 or len(self.sized) == self.combined:
            return
        self.nodes += 1
        self.combined = len(self.sized)
        chosen = self.sized[:COMBINED]
        base = chosen[0]
        sizes = [g.shape for g in base.grids]
        others = [s for s in chosen[1:] if [g.shape for g in s.grids] == sizes]
        for made in paint(base, 3, others, self.clock):
            self.keep(made)

    def keep(self, state: State) -> None:
        """Remember a program unless a simpler one has the same outputs."""
        key = tuple(bytes(o.shape) + o.tobytes() for o in state.outputs)
        if key not in self.found or self.found[key].cost > state.cost:
            self.found[key] = Answer(state, state.cost, True)
        if not self.first:
            self.first = self.nodes
        if not self.settled and state.cost <= SIMPLE:
            self.settled = self.nodes


def solve(
    task: Task,
    guide: Guide | None = None,
    seconds: float = 2.0,
    most_nodes: int = 10**9,
    stop_at_first: bool = False,
) -> Search:
    """Programs for a task, the simplest first."""
    return Searcher(Puzzle.of(task), guide or Habit(), seconds, most_nodes, stop_at_first).run()


def right(answers: Sequence[Answer], task: Task, trials: int = TRIALS) -> bool:
    """Whether every test input is answered by one of its first `trials` answers."""
    return all(
        pair.output is not None and any(same(answer.outputs[i], pair.output) for answer in answers[:trials])
        for i, pair in enumerate(task.test)
    )

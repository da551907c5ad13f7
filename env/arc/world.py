"""The world of whole-grid steps: a step changes all demonstration inputs and the test inputs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from env.arc.clock import UNLIMITED, Clock
from env.arc.operation import Operation
from env.arc.operations import OPERATIONS
from env.arc.programs import Program, Rule, explained
from env.arc.rules import Made, learn, planes_of
from env.arc.tasks import Grid, Task

STEP_COST = 2.5
"""What an operation adds to the cost of a program, on the scale of `rules.learn`."""

DEEPEST = 4
"""Operations of a program at most."""


@dataclass(frozen=True, eq=False)
class Puzzle:
    """A task as a solver sees it: no answers to the test inputs."""

    inputs: tuple[Grid, ...]
    wanted: tuple[Grid, ...]
    """Output of each demonstration."""
    tests: tuple[Grid, ...]

    @classmethod
    def of(cls, task: Task) -> Puzzle:
        """Demonstrations and test inputs of a task."""
        pairs = task.train
        return cls(tuple(p.input for p in pairs), tuple(p.answer for p in pairs), tuple(p.input for p in task.test))

    @cached_property
    def start(self) -> State:
        """All inputs as they are."""
        return State(self, (), self.inputs + self.tests)


@dataclass(frozen=True, eq=False)
class State:
    """What steps made of all demonstration inputs, then of the test inputs."""

    puzzle: Puzzle
    steps: tuple[Operation, ...]
    grids: tuple[Grid, ...]
    rule: Rule | None = None
    """The rule that painted the grids last; nothing comes after it."""
    rule_cost: float = 0.0

    @property
    def outputs(self) -> tuple[Grid, ...]:
        """What was made of the test inputs."""
        return self.grids[len(self.puzzle.wanted) :]

    @property
    def program(self) -> Program:
        """What makes this state of the inputs."""
        return Program(self.steps, self.rule)

    @property
    def cost(self) -> float:
        """The simpler the program, the less."""
        return STEP_COST * len(self.steps) + self.rule_cost

    @cached_property
    def content(self) -> tuple[bytes, ...]:
        """What makes states equal."""
        return tuple(bytes(grid.shape) + grid.tobytes() for grid in self.grids)

    @cached_property
    def fits(self) -> bool:
        """Whether all demonstration grids have the sizes of the demonstrated outputs."""
        return all(g.shape == w.shape for g, w in zip(self.grids, self.puzzle.wanted, strict=False))

    @cached_property
    def explained(self) -> float:
        """Share of the demonstrated outputs' cells that are right, mean over the demonstrations; 1 when all are."""
        pairs = zip(self.grids, self.puzzle.wanted, strict=False)
        return sum(explained(g, w) for g, w in pairs) / len(self.puzzle.wanted)

    @property
    def solved(self) -> bool:
        """Whether every demonstration is reproduced exactly."""
        return self.explained == 1.0

    @cached_property
    def distance(self) -> float:
        """How far the grids are from the outputs: 0 for equal, up to 1 for equal sizes, up to 1.5 for others."""
        total = 0.0
        for grid, wanted in zip(self.grids, self.puzzle.wanted, strict=False):
            if grid.shape == wanted.shape:
                total += 1 - explained(grid, wanted)
            else:
                total += 1.5 - 0.5 * min(grid.size, wanted.size) / max(grid.size, wanted.size)
        return total / len(self.puzzle.wanted)


@dataclass(frozen=True)
class Painter:
    """The step that learns from the demonstrations how to paint every cell, looking at so many features."""

    features: int

    @property
    def name(self) -> str:
        """As a list of actions shows it."""
        return f"paint_by_features({self.features})"

    @property
    def summary(self) -> str:
        """One line for a reader."""
        return f"Learn a table over {self.features} features of a cell that says what colour to copy there."


Action = Operation | Painter

ACTIONS: tuple[Action, ...] = (*OPERATIONS, Painter(1), Painter(2), Painter(3))
"""All steps; an agent's actions are indices into this."""


def act(state: State, action: Action, clock: Clock = UNLIMITED) -> list[State]:
    """The states that a step leads to: one for an operation, the simplest rules for a painter; none if it does nothing.

    A painter's states all reproduce the demonstrations and differ on the test inputs. Raises OutOfTimeError.
    """
    if isinstance(action, Painter):
        return paint(state, action.features, clock=clock) if state.fits and state.rule is None else []
    if len(state.steps) >= DEEPEST or state.rule is not None:
        return []
    grids = []
    changed = False
    for grid in state.grids:
        clock.check()
        made = action(grid)
        if made is None:
            return []
        changed = changed or made.shape != grid.shape or bool((made != grid).any())
        grids.append(made)
    if not changed:
        return []
    return [State(state.puzzle, (*state.steps, action), tuple(grids))]


def paint(state: State, features: int, others: Sequence[State] = (), clock: Clock = UNLIMITED) -> list[State]:
    """The states that rules over so many features at most lead to; `others` may be looked at and copied from too.

    Raises OutOfTimeError.
    """
    made: list[Made] = [(other.steps, other.grids) for other in others]
    planes = planes_of(state.grids, state.steps, made, clock)
    wanted = state.puzzle.wanted
    found = learn(planes, wanted, state.outputs, features, clock)
    return [State(state.puzzle, state.steps, (*wanted, *f.outputs), f.rule, f.cost) for f in found]

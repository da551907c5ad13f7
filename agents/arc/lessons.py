"""Teaching the agent what its own search finds: the steps of programs that reproduce the demonstrations.

Expert iteration (Anthony, Tian and Barber 2017), as in the animal game: the search improves the agent, the agent the search.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch as th
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from agents.arc.guide import HIDDEN, Network, Trained
from agents.arc.search import PAINTERS, Guide, solve
from env.arc.features import SIZE, observe
from env.arc.tasks import Task
from env.arc.world import ACTIONS, Action, Painter, Puzzle, State, act

POLICY_ARGUMENTS: dict[str, Any] = {"net_arch": HIDDEN, "activation_fn": th.nn.ReLU}
"""What the network's constructor takes besides the spaces."""

SPACES = (spaces.Box(-2.0, 2.0, (SIZE,), np.float32), spaces.Discrete(len(ACTIONS)))
"""What the network sees, and what it chooses from."""

EPOCHS, BATCH, RATE = 40, 128, 1e-3
VALUE_WEIGHT = 0.5

PLACE = {action: place for place, action in enumerate(ACTIONS)}
"""Action -> its index."""


@dataclass(frozen=True)
class Lesson:
    """What a search showed: the step to take in a state, and whether a state leads to a solution."""

    observations: np.ndarray
    """float32 [states, SIZE]."""
    actions: np.ndarray
    """int64 [states]; -1 where only the value is known."""
    values: np.ndarray
    """float32 [states]: 1 for a state on the way to a solution, 0 for another."""
    solved: int
    """Tasks that were solved."""


def study(
    policy: MaskableActorCriticPolicy,
    tasks: Sequence[Task],
    known: Mapping[str, Sequence[Action]],
    nodes: int,
    seed: int,
) -> Lesson:
    """Steps that solve tasks: those `known` by the tasks' names, else those that a search finds within so many nodes."""
    guide = Trained(Network.of(policy))
    draw = np.random.default_rng(seed)
    rows: list[tuple[np.ndarray, int, float]] = []
    solved = 0
    for task in tasks:
        state = Puzzle.of(task).start
        steps = known.get(task.name) or _searched(task, guide, nodes)
        if not steps:
            rows.append((observe(state), -1, 0.0))
            continue
        solved += 1
        for step in steps:
            made = act(state, step)
            # A rule that the search learned with other states in sight, and that this one alone does not show.
            if not made:
                break
            rows.append((observe(state), PLACE[step], 1.0))
            rows += _aside(state, draw)
            state = made[0]
    observations = np.stack([row[0] for row in rows]) if rows else np.zeros((0, SIZE), np.float32)
    actions, values = np.array([row[1] for row in rows], np.int64), np.array([row[2] for row in rows], np.float32)
    return Lesson(observations, actions, values, solved)


def _searched(task: Task, guide: Guide, nodes: int) -> list[Action]:
    """The steps to the first program that a search finds; none where it finds none that is a chain of steps."""
    found = solve(task, guide, seconds=math.inf, most_nodes=nodes, stop_at_first=True)
    if not found.verified:
        return []
    best = found.answers[0].state
    if best.rule is None:
        return list(best.steps)
    if any(feature.steps != best.steps for feature in best.rule.features):
        return []
    return [*best.steps, Painter(max(len(best.rule.features), 1))]


def _aside(state: State, draw: np.random.Generator) -> list[tuple[np.ndarray, int, float]]:
    """A state that a drawn step leads to, which is taken to lead nowhere."""
    made = act(state, ACTIONS[int(draw.integers(PAINTERS))])
    return [(observe(made[0]), -1, 0.0)] if made and not made[0].solved else []


def teach(policy: MaskableActorCriticPolicy, lesson: Lesson, seed: int) -> float:
    """Fit policy and value to a lesson; the last epoch's mean loss."""
    policy.set_training_mode(True)
    optimiser = th.optim.Adam(policy.parameters(), lr=RATE, weight_decay=1e-5)
    draw = np.random.default_rng(seed)
    rows = (lesson.observations, lesson.actions, lesson.values)
    observations, actions, values = (th.from_numpy(row).to(policy.device) for row in rows)
    mean = float("nan")
    for _ in range(EPOCHS):
        losses = []
        for chosen in np.array_split(draw.permutation(len(actions)), max(len(actions) // BATCH, 1)):
            latent, latent_value = policy.mlp_extractor(observations[chosen])
            known = actions[chosen] >= 0
            guessed = policy.value_net(latent_value)[:, 0]
            loss = VALUE_WEIGHT * th.nn.functional.mse_loss(guessed, values[chosen])
            if bool(known.any()):
                loss = loss + th.nn.functional.cross_entropy(policy.action_net(latent)[known], actions[chosen][known])
            optimiser.zero_grad()
            loss.backward()
            th.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.item())
        mean = float(np.mean(losses))
    policy.set_training_mode(False)
    return mean

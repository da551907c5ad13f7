"""Runs on coloured grids: what is chosen for them, and the agent that they made."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agents.runs import Run, load_run
from agents.settings import settings_of
from agents.trainer import Settings
from env.arc.world import ACTIONS
from env.errors import UserError
from env.flags import Within

if TYPE_CHECKING:
    from agents.arc.guide import Network

GAME = "arc"
AGENT = "agent.npz"
"""The exported network, in a run's folder."""

DEFAULTS = Settings(
    steps=20_480, games=32, horizon=32, batch=256, epochs=4, entropy=0.01, evaluations=2, lessons=2
)  # fmt: skip
"""How to train where nothing else is said: a quarter of an hour on two cores."""


@dataclass(frozen=True)
class ArcSettings:
    """What is learnt from."""

    learn_from: tuple[str, ...] = ()
    """Tasks besides the generated ones: JSON files, folders, zips, or sets; of published training sets seven of ten tasks."""
    allow_evaluation: bool = False
    """Learn even from tasks of a published evaluation set, which then measures nothing any more."""
    instances: Annotated[int, Within(1, 10_000)] = 8
    """Generated tasks of each family."""
    lesson_tasks: Annotated[int, Within(1, 10**6)] = 400
    """Tasks that are searched for a lesson."""
    lesson_nodes: Annotated[int, Within(1, 10**9)] = 300
    """Steps that a search may try in a lesson."""


def steps_sha256() -> str:
    """Digest of the steps' names, in order: an agent's actions mean nothing with others."""
    return hashlib.sha256("\n".join(action.name for action in ACTIONS).encode()).hexdigest()


@dataclass(frozen=True)
class ArcRun:
    """A training run on coloured grids on disk."""

    run: Run
    choices: ArcSettings

    def network(self, checkpoint: str = "best") -> Network:
        """The agent of a checkpoint as plain arrays. Raises UserError for one that is missing, damaged, or of other steps."""
        # Slow to import: only where an agent is really loaded.
        from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

        from agents.arc.guide import Network
        from agents.arc.lessons import POLICY_ARGUMENTS, SPACES
        from agents.checkpoints import load_parameters

        if self.run.config["world"].get("steps_sha256") != steps_sha256():
            raise UserError(f"{self.run.folder}: trained on other steps than this version has; train it again")
        policy = MaskableActorCriticPolicy(*SPACES, lambda _: 0.0, **POLICY_ARGUMENTS)
        load_parameters(self.run.path(self.run.checkpoint(checkpoint)), policy)
        return Network.of(policy)


def load_arc_run(folder: Path) -> ArcRun:
    """Run of a folder. Raises UserError where it is none on coloured grids, or its `config.json` is damaged."""
    run = load_run(folder, GAME)
    return ArcRun(run, settings_of(run, "choices", ArcSettings))

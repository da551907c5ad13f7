"""What is chosen for a training on coloured grids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from agents.settings import Within
from agents.trainer import Settings

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

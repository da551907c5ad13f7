"""Runs of LLM 20 Questions: what was chosen for them, the world they were trained in, the agent they made."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from agents.runs import CONFIG, Run, load_run
from agents.settings import Sought, settings_of
from env.errors import UserError
from env.flags import Within
from env.identification.observation import Shortlist
from env.keywords.comparison import ROUNDS
from env.keywords.package import load_keywords
from env.keywords.world import World, synthetic_world, world_of

GAME = "keywords"

LOOK_FROM = 5
"""Round from which looking ahead to winning, two questions deep, beats information; before, the end is far away."""


@dataclass(frozen=True)
class KeywordsSettings:
    """In which world the agent is trained; it sees features only, and plays any."""

    package: Path | None = None
    """Folder of a keyword package; a synthetic world when left out."""
    world_seed: Annotated[int, Within(0, 2**32 - 1)] = 100
    """Seed of the synthetic world; the benchmark's is 0, which is never trained on."""
    tiers: Annotated[tuple[int, ...], Within(1, 10**6)] = (500, 1200, 1700, 1700)
    """Keywords in each tier of the synthetic world; a third of the benchmark's, which is played three times as fast."""
    lowest: Annotated[float, Within(0.0, 0.5)] = 0.02
    """Least rate of a partner's wrong answers; each game's is drawn between this and the highest one."""
    highest: Annotated[float, Within(0.0, 0.5)] = 0.25
    """Highest rate of a partner's wrong answers."""
    width: Annotated[int, Within(1, 4096), Sought(16, 128, log=True)] = 64
    """Units in each layer of the scorer."""
    asks: Annotated[int, Within(1, 4096), Sought(8, 32)] = 16
    """Questions on the shortlist."""
    guesses: Annotated[int, Within(1, 4096), Sought(1, 6)] = 3
    """Keywords on the shortlist."""
    focus: Annotated[int, Within(1, 10**6), Sought(8, 64, log=True)] = 64
    """Likeliest keywords that the two-step features look at."""
    look_from: Annotated[int, Within(1, ROUNDS + 1)] = LOOK_FROM
    """Round from which it looks ahead to winning instead of asking its network; 21: never."""
    trials: Annotated[int, Within(1, 10**6)] = 1000
    """Games of an evaluation."""
    lesson_games: Annotated[int, Within(1, 10**6)] = 300
    """Games of a lesson for each noise that it is told of."""

    @property
    def shortlist(self) -> Shortlist:
        """How many questions and keywords are described."""
        return Shortlist(self.asks, self.guesses, self.focus)


def world_for(chosen: KeywordsSettings) -> World:
    """The world of a run. Raises UserError for a package that cannot be read."""
    return (
        synthetic_world(chosen.world_seed, chosen.tiers)
        if chosen.package is None
        else world_of(load_keywords(chosen.package))
    )


def identity(world: World) -> Mapping[str, Any]:
    """What a run is tied to: the table's digest and sizes."""
    keywords, questions = world.answers.shape
    return {
        "table_sha256": hashlib.sha256(world.answers.tobytes()).hexdigest(),
        "keywords": keywords,
        "questions": questions,
    }


def load_keywords_run(folder: Path) -> tuple[Run, KeywordsSettings]:
    """Run of a folder and its choices. Raises UserError where it is none of this game, or its `config.json` is damaged."""
    run = load_run(folder, GAME)
    return run, settings_of(run, "choices", KeywordsSettings)


def stored_policy(run: Run, chosen: KeywordsSettings, checkpoint: str = "best") -> Any:
    """The network of a checkpoint, a `ShortlistPolicy`. Raises UserError for one that is missing or damaged."""
    # Slow to import: only where a policy is really loaded.
    from gymnasium import spaces

    from agents.checkpoints import load_parameters
    from agents.identification.policy import ShortlistPolicy
    from env.keywords.observation import observation_space

    sizes = [run.config["world"].get(name) for name in ("questions", "keywords")]
    if not all(type(size) is int and 1 <= size <= 10**7 for size in sizes):
        raise UserError(f"{run.folder / CONFIG}: its world has no sizes of the table; restore the file or train again")
    questions, keywords = sizes
    space = observation_space(chosen.shortlist, questions, keywords)
    policy = ShortlistPolicy(space, spaces.Discrete(questions + keywords), lambda _: 0.0, width=chosen.width)
    load_parameters(run.path(run.checkpoint(checkpoint)), policy)
    return policy

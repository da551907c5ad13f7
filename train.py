"""The main job: settings -> game -> train -> teach -> evaluate -> export. `wilkins train` is this program.

What is the same for all games is in `agents/trainer.py`, what is particular to one in its module of `games/`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import tyro
from rich.console import Console

from agents import trainer
from agents.arc.run import DEFAULTS as ARC_DEFAULTS
from agents.arc.run import ArcSettings
from agents.cabinet.run import CabinetSettings
from agents.keywords.run import KeywordsSettings
from agents.runs import package_place
from agents.trainer import Game, Settings, resumed
from games.arc import Arc
from games.cabinet import Cabinet
from games.keywords import Keywords


def train(
    animals: Annotated[CabinetSettings, tyro.conf.arg(name="")] = CabinetSettings(),
    settings: Annotated[Settings, tyro.conf.arg(name="")] = Settings(),
) -> int:
    """Train an agent that names hidden animals, evaluate it, export it.

    Writes runs/NAME/: config.json, checkpoints, TensorBoard curves, policy.json, submission.zip, source.zip and
    policy.html. Ctrl-C saves and says how to go on.
    """
    if (run := settings.resume) is not None:
        settings, stored = resumed(settings, CabinetSettings, Cabinet.name)
        animals = replace(stored, package=package_place(stored.package, animals.package, run))
    game = Cabinet(animals)
    print(f"noise {game.noise:g} ({game.package.noise_source(game.noise)})")
    return main_job(game, settings)


def train_arc(
    grids: Annotated[ArcSettings, tyro.conf.arg(name="")] = ArcSettings(),
    settings: Annotated[Settings, tyro.conf.arg(name="")] = ARC_DEFAULTS,
) -> int:
    """Train an agent that says which step to try next on a task of coloured grids.

    Writes runs/NAME/: config.json, checkpoints, TensorBoard curves, and agent.npz. Ctrl-C saves and says how to go on.
    """
    if settings.resume is not None:
        settings, grids = resumed(settings, ArcSettings, Arc.name)
    return main_job(Arc(grids), settings, "train arc")


def train_keywords(
    keywords: Annotated[KeywordsSettings, tyro.conf.arg(name="")] = KeywordsSettings(),
    settings: Annotated[Settings, tyro.conf.arg(name="")] = Settings(),
) -> int:
    """Train an agent that plays LLM 20 Questions with a partner who errs, and evaluate it.

    Writes runs/NAME/: config.json, checkpoints and TensorBoard curves. Ctrl-C saves and says how to go on.
    """
    if (run := settings.resume) is not None:
        settings, stored = resumed(settings, KeywordsSettings, Keywords.name)
        keywords = replace(stored, package=package_place(stored.package, keywords.package, run))
    return main_job(Keywords(keywords), settings, "train keywords")


def main_job(game: Game, settings: Settings, command: str = "train") -> int:
    """Train and teach with evaluations on the way, then export; the exit code. `command`: how the user says this."""
    console = Console()
    run, finished = trainer.train(game, settings, console)
    go_on = f"go on with: wilkins {command} --resume {run.folder}"
    if not finished:
        steps = 0 if (record := run.record()) is None or record.last is None else record.last.steps
        console.print(f"stopped after {steps:,} steps; {go_on}", soft_wrap=True)
        return 130
    try:
        game.export(run, console)
    except KeyboardInterrupt:
        console.print(f"trained, not exported; {go_on}", soft_wrap=True)
        raise
    console.print(f"curves      tensorboard --logdir {run.folder.parent}", soft_wrap=True)
    return 0


if __name__ == "__main__":
    import wilkins

    sys.exit(wilkins.main(["train", *sys.argv[1:]]))

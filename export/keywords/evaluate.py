"""`wilkins evaluate` on a run of LLM 20 Questions: how often its agents win, in the games that belief alone plays too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents.keywords.players import BeliefPlayer, Player, TrainedPlayer, play
from agents.keywords.run import KeywordsSettings, load_keywords_run, stored_policy, world_for
from agents.runs import Run, package_place
from env.errors import UserError
from env.flags import SEED, Within
from env.keywords.belief import Belief
from env.keywords.rules import reward
from env.keywords.world import LARGEST_NOISE, World


def evaluate(
    run: Annotated[Path, tyro.conf.Positional],
    package: Path | None = None,
    checkpoint: str = "best",
    noise: Annotated[tuple[float, ...], Within(0.0, LARGEST_NOISE)] = (0.05, 0.1, 0.2),
    games: Annotated[int, Within(1, 10**6)] = 2000,
    seed: Annotated[int, SEED] = 10**6,
) -> int:
    """Print how often the agent of a run of LLM 20 Questions wins in 20 rounds, and what it is paid in the mean.

    It is told nothing of its partner's noise. Belief, which asks what tells most and is told nothing either, plays the same
    games. Games whose keyword is in no list are not played.

    Args:
        run: Run folder, as `wilkins train keywords` made it.
        package: Folder of a keyword package to play on, any. Default: the run's own world.
        checkpoint: Agent to evaluate: best, last, the steps of a checkpoint, or all of them.
        noise: Rates of a partner's wrong answers.
        games: Games for each rate.
        seed: Draws keywords and answers; the run's own evaluation has seed 0.
    """
    if not noise:
        raise UserError("--noise: at least one rate is needed")
    trained, chosen = load_keywords_run(run)
    world = world_for(replace(chosen, package=package_place(chosen.package, package, run)))
    belief = Belief.untold(world)
    console = Console()
    table = Table(title=f"{run}: games won of {games:,}, in percent", title_justify="left")
    table.add_column("who")
    for rate in noise:
        table.add_column(f"noise {rate:g}", justify="right")
    table.add_column("paid", justify="right")
    players = _agents(trained, chosen, belief, checkpoint)
    for who, player in (*players, ("belief", BeliefPlayer(belief))):
        with console.status(who):
            table.add_row(who, *_measured(player, world, noise, games, seed))
    console.print(table)
    console.print(
        f"{len(world.answers):,} keywords x {len(world.clarity)} questions, all by the same games; paid: 21 - round, "
        "-1 for a lost game, mean over the rates",
        soft_wrap=True,
        highlight=False,
    )
    return 0


def _agents(run: Run, chosen: KeywordsSettings, belief: Belief, which: str) -> Iterator[tuple[str, Player]]:
    """The agents of a run by their labels; damage and absence are UserErrors."""
    for label in run.labels(which):
        yield (
            f"agent {label}",
            TrainedPlayer(belief, stored_policy(run, chosen, label), chosen.shortlist, chosen.look_from),
        )


def _measured(player: Player, world: World, noise: Sequence[float], games: int, seed: int) -> list[str]:
    """Win rate with its standard error at each rate, and the mean pay."""
    cells, paid = [], []
    for rate in noise:
        hidden, answers = world.draw(rate, games, seed)
        won, _ = play(player, answers, hidden)
        share = float((won > 0).mean())
        cells.append(f"{100 * share:.1f} ±{100 * np.sqrt(share * (1 - share) / games):.1f}")
        paid += [reward(number or None) for number in won.tolist()]
    return [*cells, f"{np.mean(paid):.2f}"]

"""`wilkins baselines`: what simple players score on drawn platforms, beside the limit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import Console
from rich.table import Table

from agents.identification.baselines import best_belief, even_split, fixed_player, random_player, soft_weights
from agents.identification.play import platforms, play
from agents.identification.players import Player
from env.cabinet.rules import limit
from env.flags import NOISE, SEED, Within
from env.identification.package import Package, load_package


def baselines(
    package: Path | None = None,
    split: str = "hidden",
    noise: Annotated[float, NOISE] = 0.0,
    platforms_drawn: Annotated[int, Within(1, 10_000)] = 4,
    seed: Annotated[int, SEED] = 0,
) -> int:
    """Print the scores of the baselines, x100, with the limit that no policy passes.

    Args:
        package: Package folder. Default: the embedded one.
        split: Animals that are hidden, all of them candidates: hidden, dev, test1 or all.
        noise: Standard deviation of a platform's margins around the matrix's; 0 plays on the matrix itself.
        platforms_drawn: Platforms that every animal is played on when there is noise.
        seed: Seed of the drawn platforms, the same for every player.
    """
    world = load_package(package)
    ids = world.split(split)
    animals = np.tile(ids, platforms_drawn if noise > 0 else 1)
    answers = platforms(world.matrix.signed_margin()[animals], noise, seed, world.matrix.missing_rate)
    players = baseline_players(world, ids, noise)
    told = f"noise {noise:g}" + (f" ({world.noise_source(noise)})" if noise > 0 else "")
    table = Table(title=f"baselines on {split}, {len(ids)} animals, {told}: {len(animals)} rounds each")
    table.add_column("player")
    for column in ("score x100", "solved", "calls"):
        table.add_column(column, justify="right")
    for name, player in players.items():
        rounds = play(player, answers, animals)
        error = f" ±{100 * rounds.score.std() / len(animals) ** 0.5:.2f}" if noise > 0 else ""
        table.add_row(
            name, f"{100 * rounds.score.mean():.2f}{error}", f"{rounds.solved.mean():.1%}", f"{rounds.calls.mean():.2f}"
        )
    table.add_row("limit", f"{limit(len(ids)):.2f}", "", "")
    Console().print(table)
    return 0


def baseline_players(package: Package, ids: np.ndarray, noise: float) -> dict[str, Player]:
    """Every baseline on the candidates `ids` (int64 [n]), by what it is called; the belief's threshold is the best one."""
    belief, threshold = best_belief(package, ids, noise)
    return {
        "random": random_player(package, ids),
        "twelve fixed questions, nearest match": fixed_player(package, ids),
        "even split, hard filtering": even_split(package, ids),
        "soft weights 0.9 / 0.1": soft_weights(package, ids),
        f"belief with margins, guess at {threshold:g}": belief,
    }

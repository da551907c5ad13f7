"""`wilkins compare`: trained runs side by side, on the same draws of their world."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents.arc.run import ArcSettings
from agents.cabinet.run import CabinetSettings
from agents.keywords.run import KeywordsSettings
from agents.runs import CONFIG, Run, load_run
from agents.settings import settings_of
from agents.trainer import Game, require, stored_policy
from env.errors import UserError
from env.files import write_whole
from env.flags import SEED, Within
from games.arc import Arc
from games.cabinet import Cabinet
from games.keywords import Keywords
from studies.statistics import Comparison, compared

GAMES: Mapping[str, tuple[Any, Any]] = {
    Cabinet.name: (Cabinet, CabinetSettings),
    Keywords.name: (Keywords, KeywordsSettings),
    Arc.name: (Arc, ArcSettings),
}
"""Game of a run's configuration -> how it is played, and what was chosen for it."""

ALL = "all"


def compare(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    draws: Annotated[int, Within(2, 10_000)] = 20,
    seed: Annotated[int, SEED] = 0,
    out: Path | None = None,
) -> int:
    """Compare trained runs on the same drawn platforms: interquartile means, gains on the first, 95 % intervals.

    A folder that holds several runs (the seeds of one setting) counts as one entry, whose intervals then cover what
    training with another seed does, too.

    Args:
        runs: Run folders, or folders of runs, of one game and one package; the first is what the others are set against.
        draws: How many platforms (batches of games or of tasks in the other games) each agent meets.
        seed: Which ones.
        out: Picture to write, .png or .svg; compare.png beside the first run when left out.
    """
    if len(runs) < 2:
        raise UserError("give two runs or more to compare")
    picture = out or runs[0].absolute().parent / "compare.png"
    if picture.suffix not in (".png", ".svg"):
        raise UserError(f"--out {picture}: name a file that ends in .png or .svg")
    if out is not None and not _can_draw():
        raise UserError("matplotlib is missing, needed to draw; pip install 'wilkins[scale]'")
    entries = [entry(path) for path in runs]
    same_world(entries)
    console = Console()
    found = [_sampled(each, draws, seed, console) for each in entries]
    names = _names(runs)
    tables = {condition: compared(scores) for condition, scores in by_condition(found).items()}
    console.print(_table(names, tables, draws))
    if not _can_draw():
        console.print("no picture without matplotlib; pip install 'wilkins[scale]'", markup=False)
        return 0
    write_whole(picture, drawn(names, tables, picture.suffix[1:]))
    console.print(f"picture     {picture}", soft_wrap=True)
    return 0


@dataclass(frozen=True)
class Entry:
    """What is compared: a run, or runs that differ by their seed."""

    path: Path
    runs: Sequence[tuple[Run, Game]]


def entry(path: Path) -> Entry:
    """The run of a folder, or all runs in it. Raises UserError where there is none, or no game of this program."""
    folders = (
        [path] if (path / CONFIG).exists() or not path.is_dir() else sorted(p.parent for p in path.glob(f"*/{CONFIG}"))
    )
    if not folders:
        raise UserError(f"{path}: neither a run nor a folder of runs; 'wilkins train' makes one below runs/")
    return Entry(path, [_with_game(load_run(folder)) for folder in folders])


def same_world(entries: Sequence[Entry]) -> None:
    """Raises UserError where runs are of different games, or of different packages."""
    (first, game), *others = [each for entry in entries for each in entry.runs]
    for run, theirs in others:
        if theirs.name != game.name:
            raise UserError(
                f"{run.folder} is a run of {theirs.name}, {first.folder} one of {game.name}: nothing to compare"
            )
        require(run, game)


def by_condition(found: Sequence[Sequence[Sequence[Mapping[str, float]]]]) -> dict[str, list[np.ndarray]]:
    """Scores float64 [runs, draws, conditions] of each entry: all conditions together, then each alone.

    `found` holds for every entry, run and draw what `Game.sample` gave. Raises UserError where no condition is common to
    all.
    """
    every = [draw.keys() for entry in found for run in entry for draw in run]
    common = [name for name in every[0] if all(name in each for each in every)]
    if not common:
        raise UserError(f"these runs were made for different conditions: {', '.join(sorted(set().union(*every)))}")
    scores = [np.array([[[draw[name] for name in common] for draw in run] for run in entry]) for entry in found]
    alone = {name: [each[..., [place]] for each in scores] for place, name in enumerate(common)}
    return alone if len(common) == 1 else {ALL: scores, **alone}


def drawn(names: Sequence[str], tables: Mapping[str, Sequence[Comparison]], kind: str) -> bytes:
    """The comparison as a picture, PNG or SVG: gains on the first entry, and probabilities of improvement."""
    import matplotlib  # slow to import, and an extra
    from matplotlib.figure import Figure

    rows = [(condition, place) for condition in tables for place in range(1, len(names))]
    figure = Figure(figsize=(9, 1.2 + 0.3 * len(rows)), dpi=110, layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, part, title, zero in (
        (axes[0], "gain", f"interquartile mean above {names[0]}", 0.0),
        (axes[1], "improvement", f"probability of improvement on {names[0]}", 0.5),
    ):
        for height, (condition, place) in enumerate(reversed(rows)):
            interval = getattr(tables[condition][place], part)
            axis.plot([interval.low, interval.high], [height, height], color="#0072b2", linewidth=4, alpha=0.4)
            axis.plot(interval.value, height, marker="o", color="#0072b2")
        axis.axvline(zero, color="#555555", linestyle="--", linewidth=1)
        axis.set_title(title, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
    labels = [f"{condition}: {names[place]}" for condition, place in reversed(rows)]
    axes[0].set_yticks(range(len(rows)), labels)
    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "wilkins"}):  # the same names of parts each time
        figure.savefig(content, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return content.getvalue()


def _with_game(run: Run) -> tuple[Run, Game]:
    known = GAMES.get(run.config["game"])
    if known is None:
        raise UserError(
            f"{run.folder}: a run of the game {run.config['game'][:40]!r}, which this program does not know"
        )
    game, settings = known
    return run, game(settings_of(run, "choices", settings))


def _sampled(entry: Entry, draws: int, seed: int, console: Console) -> list[list[Mapping[str, float]]]:
    """What every run of an entry scores on every draw."""
    scores = []
    for run, game in entry.runs:
        policy = stored_policy(game, run)
        with console.status(f"{run.folder}: {draws} draws"):
            scores.append([game.sample(policy, seed * draws + draw) for draw in range(draws)])
    return scores


def _names(runs: Sequence[Path]) -> list[str]:
    """What entries are called: their folders, numbered where that does not tell them apart."""
    short = [path.absolute().name for path in runs]
    return short if len(set(short)) == len(short) else [f"{place}: {name}" for place, name in enumerate(short, 1)]


def _table(names: Sequence[str], tables: Mapping[str, Sequence[Comparison]], draws: int) -> Table:
    """A section for each condition, a row for each entry; a single condition stands in the title."""
    single = next(iter(tables)) if len(tables) == 1 else None
    what = f"{draws} draws of each condition" if single is None else f"{single}, {draws} draws"
    table = Table(title=f"{what}, the same for all; 95 % intervals")
    table.add_column("run", overflow="fold")
    for column in ("interquartile mean", "above the first", "improvement"):
        table.add_column(column, justify="right", no_wrap=True)
    for condition, rows in tables.items():
        if single is None:
            table.add_section()
            table.add_row(condition)
        for place, (name, row) in enumerate(zip(names, rows, strict=True)):
            against = (row.gain.told(sign="+"), row.improvement.told()) if place else ("", "")
            table.add_row(name, row.mean.told(), *against)
    return table


def _can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None

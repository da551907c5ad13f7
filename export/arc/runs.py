"""`wilkins export` and `wilkins evaluate` on a run of coloured grids: what its agent solves, as files and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Column, Table

from agents.arc.guide import Trained
from agents.arc.run import AGENT, load_arc_run
from agents.arc.solving import NODES, TASK_SECONDS, WORKERS, Effort, trial
from env.arc.families import FAMILIES, HELD_OUT, UNSEEN, instances
from env.arc.folds import held_out, trained_on
from env.arc.tasks import Task, load_tasks, summary
from env.files import write_whole
from export.arc.command import publish, require_folder, searched
from export.arc.view import page
from export.curve import bars

PAGE = "arc.html"


def export(
    run: Annotated[Path, tyro.conf.Positional],
    tasks: tuple[str, ...] = (),
    seconds: Annotated[float, TASK_SECONDS] = 2.0,
    nodes: Annotated[int, NODES] = 10**9,
    checkpoint: str = "best",
    out: Path | None = None,
    workers: Annotated[int, WORKERS] = 0,
) -> int:
    """Write agent.npz of a run of coloured grids, and what it does: submission.json, traces.json, and arc.html with both.

    Args:
        run: Run folder, as `wilkins train arc` made it.
        tasks: What it is to solve: JSON files, folders, zips, or sets such as arc1-training. Default: one generated task
            of each family that it never met.
        seconds: Processor seconds for a task.
        nodes: Steps to try on a task; where the seconds suffice for them, the machine's speed changes nothing.
        checkpoint: Agent to export: best, last, or the steps of a checkpoint.
        out: Folder to write. Default: the run folder.
        workers: Processes; 0 for one on every core.
    """
    effort = Effort(seconds, nodes)
    folder = run if out is None else out
    require_folder(folder)
    network = load_arc_run(run).network(checkpoint)
    loaded = load_tasks(*tasks) if tasks else instances((*FAMILIES, *HELD_OUT), UNSEEN[:1])
    console = Console()
    console.print(summary(loaded), highlight=False)
    found = searched(loaded, Trained(network), effort, workers, console)
    network.save(folder / AGENT)
    traces = publish(found, folder)
    write_whole(folder / PAGE, page(loaded, traces))
    solved = sum(bool(trial(search, task)) for task, search in found)
    console.print(f"{solved} of {len(found)} right within three trials", highlight=False)
    console.print(
        f"wrote {AGENT}, submission.json, traces.json and {PAGE} to {folder}", highlight=False, soft_wrap=True
    )
    return 0


def evaluate(
    run: Annotated[Path, tyro.conf.Positional],
    tasks: tuple[str, ...] = (),
    seconds: Annotated[float, TASK_SECONDS] = 2.0,
    nodes: Annotated[int, NODES] = 10**9,
    checkpoint: str = "best",
    workers: Annotated[int, WORKERS] = 0,
) -> int:
    """Print how many tasks the agent of a run of coloured grids solves: of families and sets that it met, and of others.

    Args:
        run: Run folder, as `wilkins train arc` made it.
        tasks: What it is to solve instead: JSON files, folders, zips, or sets such as arc1-training.
        seconds: Processor seconds for a task.
        nodes: Steps to try on a task; where the seconds suffice for them, the machine's speed changes nothing.
        checkpoint: Agent to evaluate: best, last, the steps of a checkpoint, or all of them, with the curve.
        workers: Processes; 0 for one on every core.
    """
    effort = Effort(seconds, nodes)
    trained = load_arc_run(run)
    groups = {"as named": load_tasks(*tasks)} if tasks else _groups(trained.choices.learn_from)
    agents = {label: Trained(trained.network(label)) for label in trained.run.labels(checkpoint)}
    console = Console()
    heads = ["number", "explained", "right", "first", "seconds"]
    several = len(agents) > 1
    table = Table(Column("tasks", overflow="fold"), box=None)
    for head in ["checkpoint", *heads, "right"] if several else heads:
        table.add_column(head, no_wrap=True)
    for name, group in groups.items():
        found = [_measured(group, guide, effort, workers, console) for guide in agents.values()]
        drawn = bars([right for right, _ in found])
        for label, (_, cells), bar in zip(agents, found, drawn, strict=True):
            table.add_row(name, *([label, *cells, bar] if several else cells))
    console.print(table)
    console.print(
        "right: within three trials; first: on the first; seconds: of processor time, a task", highlight=False
    )
    return 0


def _groups(learn_from: Sequence[str]) -> Mapping[str, Sequence[Task]]:
    """The tasks that a run is measured on, by what they are to it."""
    groups: dict[str, Sequence[Task]] = {
        "generated, trained on": instances(FAMILIES, UNSEEN),
        "generated, held out": instances(HELD_OUT, UNSEEN),
    }
    for source in learn_from:
        loaded = load_tasks(source)
        groups[f"{source}, trained on"] = trained_on(loaded)
        groups[f"{source}, held out"] = held_out(loaded)
    return {name: group for name, group in groups.items() if group}


def _measured(
    group: Sequence[Task], guide: Trained, effort: Effort, workers: int, console: Console
) -> tuple[int, tuple[str, ...]]:
    """How many tasks an agent answers right, and a line of the table."""
    found = searched(group, guide, effort, workers, console)
    trials = [number for task, search in found if (number := trial(search, task)) is not None]
    right = sum(number > 0 for number in trials)
    return right, (
        f"{len(group)}",
        f"{sum(search.verified for _, search in found)}",
        f"{right}" if trials else "?",
        f"{sum(number == 1 for number in trials)}" if trials else "?",
        f"{sum(search.seconds for _, search in found) / len(found):.2f}",
    )

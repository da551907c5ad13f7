"""`wilkins arc solve`: answers to tasks, as a table, as a submission, and as traces."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from agents.arc.guide import SHIPPED, Network, Trained
from agents.arc.search import Search
from agents.arc.solving import NODES, TASK_SECONDS, WORKERS, Effort, solve_all, trial
from env.arc.tasks import Task, load_tasks, summary
from env.arc.trace import Trace, write_traces
from env.errors import UserError
from export.arc.submission import submission, traces, write_submission

SUBMISSION, TRACES = "submission.json", "traces.json"


def solve(
    tasks: Annotated[tuple[str, ...], tyro.conf.Positional],
    seconds: Annotated[float, TASK_SECONDS] = 2.0,
    nodes: Annotated[int, NODES] = 10**9,
    out: Path = Path("solved"),
    agent: Path = SHIPPED,
    workers: Annotated[int, WORKERS] = 0,
    quiet: bool = False,
) -> None:
    """Look for programs that reproduce every demonstration, and write what they make of the test inputs.

    Args:
        tasks: JSON files, folders, zips, or sets such as arc1-training.
        seconds: Processor seconds for a task.
        nodes: Steps to try on a task; where the seconds suffice for them, the machine's speed changes nothing.
        agent: The agent that says what to try next: a file, as wilkins train arc writes it.
        out: Folder for submission.json and traces.json.
        workers: Processes; 0 for one on every core.
        quiet: Print the last line only.
    """
    if not tasks:
        raise UserError("no tasks named; give a JSON file, a folder, a zip, or a set such as arc1-training")
    effort = Effort(seconds, nodes)
    require_folder(out)
    guide = Trained(Network.load(agent))
    loaded = load_tasks(*tasks)
    console = Console()
    console.print(summary(loaded), highlight=False)
    begun = time.monotonic()
    found = searched(loaded, guide, effort, workers, console)
    publish(found, out)
    if not quiet:
        console.print(_table(found))
    console.print(_total(found, time.monotonic() - begun), highlight=False)
    console.print(f"wrote {out / SUBMISSION} and {out / TRACES}", highlight=False)


def require_folder(out: Path) -> None:
    """Raises UserError, before anything is searched, where no folder can be made."""
    place = next(each for each in (out, *out.parents) if each.exists())
    if not place.is_dir():
        raise UserError(f"--out {out}: {place} is a file; name a folder")


def searched(
    tasks: Sequence[Task], guide: Trained, effort: Effort, workers: int, console: Console
) -> list[tuple[Task, Search]]:
    """Search every task, and show how far that is."""
    found: list[tuple[Task, Search]] = []
    with console.status("searching") as status:
        for each in solve_all(tasks, guide, effort, workers=workers):
            found.append(each)
            explained = sum(search.verified for _, search in found)
            status.update(f"{len(found)} of {len(tasks)} tasks, {explained} explained")
    return found


def publish(found: Sequence[tuple[Task, Search]], folder: Path) -> list[Trace]:
    """Write submission and traces to a folder; the traces."""
    made = [trace for task, search in found for trace in traces(task, search)]
    write_submission(folder / SUBMISSION, submission(found))
    write_traces(folder / TRACES, made)
    return made


def _table(found: list[tuple[Task, Search]]) -> Table:
    # Names and programs wrap: a long one would else leave the others no room.
    table = Table(Column("task", overflow="fold", min_width=10), box=None)
    for head in ("explained", "trial", "steps", "seconds"):
        table.add_column(head, no_wrap=True)
    table.add_column("simplest program", overflow="fold")
    for task, search in found:
        number = trial(search, task)
        program = str(search.answers[0].state.program) if search.answers else ""
        table.add_row(
            task.name,
            "yes" if search.verified else "no: guesses",
            "?" if number is None else str(number) if number else "-",
            f"{search.nodes:,}",
            f"{search.seconds:.1f}",
            Text(program),
        )
    return table


def _total(found: list[tuple[Task, Search]], seconds: float) -> str:
    explained = sum(search.verified for _, search in found)
    trials = [trial(search, task) for task, search in found]
    known = [number for number in trials if number is not None]
    line = f"{explained} of {len(found)} tasks explained, {seconds / len(found):.2f} s a task"
    if known:
        line += f"; {sum(number > 0 for number in known)} of {len(known)} right within three trials"
        line += f", {sum(number == 1 for number in known)} on the first"
    return line

"""One HTML page of grid tasks with the editor: puts tasks and traces into the template that ships in export/page/."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from env.arc.tasks import Pair, Task, load_tasks, summary
from env.arc.trace import Trace, belongs, read_traces
from env.errors import UserError
from env.files import write_whole
from export.page.template import filled


def view(
    tasks: Annotated[tuple[str, ...], tyro.conf.Positional],
    traces: tuple[Path, ...] = (),
    out: Path = Path("arc.html"),
) -> int:
    """Write one HTML page with an editor for tasks of coloured grids; it opens from disk, without a network.

    Args:
        tasks: JSON files, folders, zips, or sets by name, such as arc1-training.
        traces: Files of traces to look at beside one's own, such as those of `wilkins arc solve`.
        out: File to write.
    """
    loaded = load_tasks(*tasks)
    if out.is_dir():
        raise UserError(f"--out {out} is a folder; name the file to write")
    named = {task.name: task for task in loaded}
    shown = [trace for path in traces for trace in read_traces(path)]
    fitting = [trace for trace in shown if trace.task in named and belongs(trace, named[trace.task])]
    content = page(loaded, fitting)
    write_whole(out, content)
    left = f"; {len(shown) - len(fitting)} traces of other tasks left out" if len(fitting) < len(shown) else ""
    print(f"{out}: {summary(loaded)}; {len(fitting)} traces{left}; {len(content) / 1e6:.2f} MB")
    return 0


def page(tasks: Sequence[Task], traces: Sequence[Trace] = ()) -> str:
    """The page as one self-contained HTML text; the same arguments give the same text."""
    data = {"tasks": [_task(task) for task in tasks], "traces": [trace.to_json() for trace in traces]}
    return filled("arc", data)


def _task(task: Task) -> dict[str, Any]:
    return {"name": task.name, "train": [_pair(p) for p in task.train], "test": [_pair(p) for p in task.test]}


def _pair(pair: Pair) -> dict[str, Any]:
    return {"input": pair.input.tolist(), "output": None if pair.output is None else pair.output.tolist()}

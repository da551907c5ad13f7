"""A run's agents on a split: each checkpoint plays the split's own candidates, unaided and looking ahead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from agents.cabinet.run import load_cabinet_run
from agents.identification.players import Lookahead
from env.cabinet.rules import limit
from env.identification.belief import Assumed
from env.identification.package import Candidates
from export.cabinet.command import exported, rows_of
from export.cabinet.evaluate import AgentScore
from export.cabinet.record import sourced
from export.curve import bars


def evaluated(folder: Path, hidden: Candidates, assumed: Assumed, which: str, console: Console) -> Sequence[AgentScore]:
    """Scores of the checkpoints `which` (a label, `best`, `last` or `all`) of the run in `folder` on the hidden animals.

    Raises UserError for a package that is not the run's, a checkpoint that was not kept, or a damaged one.
    """
    run = load_cabinet_run(folder)
    run.require(hidden.package)
    found = []
    for label in run.run.labels(which):
        with console.status(f"checkpoint {label}"):
            agent = run.player(hidden, assumed, label)
            rows = [
                line
                for who, player in (("agent", agent), ("with lookahead", Lookahead(agent)))
                for line in rows_of(who, exported(player, hidden, assumed).cut.graph, hidden, assumed)
            ]
            found.append(AgentScore(label, rows))
    return found


def show_agents(scores: Sequence[AgentScore], hidden: Candidates, assumed: Assumed, console: Console) -> None:
    """Print a line a checkpoint; with several of them the curve beside it, of the agent unaided at the noise."""
    told = f"agents on {hidden.choice}, x100, limit {limit(len(hidden)):.2f}, {sourced(hidden.package, assumed)}"
    table = Table(title=told, title_justify="left")
    table.add_column("checkpoint")
    for column in ("noise 0", str(assumed), "solved", "calls", "lookahead"):
        table.add_column(column, justify="right")
    values = [each.rows[1].score for each in scores]
    if len(scores) > 1:
        table.add_column(f"{assumed}: {min(values):.2f} to {max(values):.2f}")
    for each, drawn in zip(scores, bars(values), strict=True):
        walked, mean, _, ahead = each.rows
        cells = [f"{walked.score:.2f}", f"{mean.score:.2f}", f"{mean.solved:.1%}", f"{mean.calls:.2f}"]
        cells.append(f"{ahead.score:.2f}")
        if len(scores) > 1:
            cells.append(drawn)
        table.add_row(each.checkpoint, *cells)
    console.print(table)

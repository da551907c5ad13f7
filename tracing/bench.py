"""`wilkins bench tracing`: precision, time and memory of a built submission on unseen corpora, against the bars."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Annotated

from rich.console import Console
from rich.table import Table

from env.errors import UserError
from env.flags import SEED, Within
from tracing.build import build
from tracing.corpus import corpus
from tracing.formats import read_queries
from tracing.verify import REPETITIONS, Verdict, run

SEEDS = (9000, 9001, 9002)
"""Seeds of the corpora that are judged on: relations, swaps and wordings that no parameter was chosen on."""

MEBIBYTE = 1 << 20


def bench_tracing(
    folder: Path = Path("runs/tracing"),
    seeds: Annotated[tuple[int, ...], SEED] = SEEDS,
    records: Annotated[int, Within(1, 10**7)] = 52_001,
    losses: bool = True,
    per_group: Annotated[int, Within(1, 10_000)] = 10,
) -> int:
    """Make the judging corpora where they are not there, verify a submission on each, print the figures beside the bars.

    Args:
        folder: Where corpora and the submission go, and stay.
        seeds: Seeds of the corpora.
        records: Records of each.
        losses: With the token losses of a small model (trained once, on the first corpus before errors are planted).
        per_group: Hidden errors asked of each group, at most.
    """
    if not seeds:
        raise UserError("--seeds: at least one is needed")
    console = Console()
    submission = folder / "submission"
    if not (submission / "submission.json").exists():
        build(submission)
    passed = True
    probe = None
    for seed in seeds:
        place = folder / f"seed{seed}-{records}{'' if losses else '-no-losses'}"
        if not (place / "about.json").exists():
            corpus(place, records=records, seed=seed, parts="judging", losses=losses, probe=probe)
        probe = place / "models" / "base" if probe is None else probe
        asked: dict[str, int] = {}
        queries = []
        for query in read_queries(str(place / "hidden.jsonl")):
            asked[query.group] = asked.get(query.group, 0) + 1
            if asked[query.group] <= per_group:
                queries.append(query)
        verdict = run(submission, place / "data", place / "models" / "base", queries)
        public = json.loads((place / "about.json").read_text(encoding="utf-8"))["public"]
        passed &= _table(console, verdict, f"seed {seed}, {records} records, {len(public)} public groups left out")
    return 0 if passed else 1


def _table(console: Console, verdict: Verdict, title: str) -> bool:
    for fault in verdict.faults:
        console.print(f"refused: {fault}", markup=False)
    for note in verdict.notes:
        console.print(f"note: {note}", markup=False)
    if not verdict.precision:
        return False
    table = Table(title=title)
    for column, side in (("measure", "left"), ("bar", "right"), ("measured", "right"), ("", "left")):
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    passed = True
    kinds = {
        "facts, negations, rare words": (lambda name: not name.startswith(("swap", "frequent")), 0.985, 0.90),
        "words swapped for frequent ones": (lambda name: name.startswith(("swap", "frequent")), 0.98, 0.80),
    }
    for label, (belongs, mean_bar, worst_bar) in kinds.items():
        groups = [{g: p for g, p in groups.items() if belongs(g)} for groups in verdict.precision]
        if not groups[0]:
            continue
        mean = min(fmean(repetition.values()) for repetition in groups)
        worst = min(min(repetition.values()) for repetition in groups)
        name = min(groups[0], key=lambda g: groups[0][g])
        for measure, bar, value in (
            (f"P@10, {label}, least of {REPETITIONS} repetitions", mean_bar, mean),
            (f"worst group ({name})", worst_bar, worst),
        ):
            passed &= value >= bar
            table.add_row(measure, f"{bar:.3f}", f"{value:.3f}", "" if value >= bar else "below")
    for measure, bar, value, unit in (
        ("query, mean of medians", 30.0, 1000 * verdict.seconds, "ms"),
        ("C against bm25s", 0.15, verdict.cost, ""),
        ("prepare", 120.0, verdict.prepare_seconds, "s"),
        ("index", 64.0, verdict.index_bytes / MEBIBYTE, "MiB"),
        ("resident memory of a query", 64.0, verdict.resident / MEBIBYTE, "MiB"),
    ):
        passed &= value <= bar
        table.add_row(measure, f"{bar:g} {unit}", f"{value:.3g} {unit}", "" if value <= bar else "above")
    console.print(table)
    return passed

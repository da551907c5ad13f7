"""`wilkins oracle questions`: which questions are worth asking, found out with a language model."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from env.errors import UserError
from env.files import sole_writer, write_whole
from env.flags import SHARE, Within
from env.identification.matrix import Matrix
from env.identification.package import Package, load_package, with_word_answers
from env.identification.pools import read_pool
from env.oracle.asked import blank_matrix, chosen_animals, identity_of, prompt_day
from env.oracle.curation import Bounds, Verdict, probability_of_yes, propose
from env.oracle.engine import fill_journal, lacking
from env.oracle.journal import Journal, begun
from env.oracle.model import MODEL, Source, find_source, load_model, load_tokenizer
from env.oracle.prompt import VARIANTS, ChatPrompts


def questions(
    package: Path,
    questions: Path | None = None,
    model: str = MODEL,
    revision: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
    gguf: Path | None = None,
    template: str = "",
    animals: str = "all",
    sample: Annotated[int, Within(2, 10**7)] = 60,
    temperatures: Annotated[tuple[float, ...], Within(0.0, 1000.0)] = (0.0, 0.5, 1.0),
    count: Annotated[int, Within(1, 10**7)] = 100,
    unclear: Annotated[float, Within(0.0, 0.5)] = 0.25,
    alike: Annotated[float, SHARE] = 0.9,
    least: Annotated[float, SHARE] = 0.02,
    out: Path | None = None,
    write_clarity: bool = False,
) -> int:
    """Find out which questions are worth asking, and propose them in order; say of each other one why it is left out.

    Some animals (or keywords) are asked every question in several prompts and at several temperatures. A question is
    unclear when its answers change with them; it tells little when its answers hardly part the animals; it is like
    another one when their answers correlate. Questions about a keyword as a word are computed. What was measured
    stays in questions-1.journal and so on in the package: stop the command and run it again to go on, or with other
    bounds at no cost; delete those files to measure afresh. Everything found is written to questions.csv there.

    Args:
        package: Folder of the pools; it needs no matrix.
        questions: Text file of questions to judge, one a line; those of the package by default.
        model: Name on the hub, or a local folder.
        revision: Revision of the hub's model and tokenizer; the official one by default.
        dtype: auto (bfloat16 on a GPU, float32 on a CPU), bfloat16, float16 or float32.
        device: auto, cpu, cuda or cuda:N.
        gguf: A model in GGUF form instead, dequantised to dtype.
        template: Which of the tokenizer's chat templates, where it has several and none by default.
        animals: all, hidden, dev, test1, or a text or CSV file of the names of animals (or keywords).
        sample: How many of them are asked, drawn by chance but always the same.
        temperatures: Temperatures of the answers; 0 is the reply itself.
        count: Most questions to propose.
        unclear: Largest share of unstable answers, 0 to 0.5.
        alike: Largest correlation with a question proposed before, 0 to 1.
        least: Fewest bits that a question must add to those before.
        out: Text file to write the proposed questions to, in their order, one a line.
        write_clarity: Write clarity.csv too: how often a partner may differ, which the keyword game plays by.
    """
    console = Console()
    found = load_package(package, matrix=False)
    bounds = Bounds(count, unclear, alike, least)
    if not temperatures:
        raise UserError("--temperatures: at least one is needed; 0 stands for the reply itself")
    if write_clarity and questions is not None:
        raise UserError("--write-clarity goes with the package's own questions; leave --questions away")
    asked = found if questions is None else replace(found, questions=read_pool(questions, "questions"))
    chosen = chosen_animals(found, animals)
    order = np.random.default_rng(int(found.animals.sha256[:8], 16)).permutation(len(found.animals))
    ids = order[np.isin(order, chosen)][:sample]
    with sole_writer(found.path, "build"):
        source = find_source(model, revision, gguf, dtype, device)
        measured = _in_variants(asked, ids, source, template, console)
        margin, answer = (np.stack([getattr(each, name)[ids] for each in measured]) for name in ("margin", "answer"))
        verdicts = propose(probability_of_yes(margin, answer, temperatures), bounds)
        names = asked.questions.names
        write_whole(found.path / "questions.csv", _csv_of(verdicts, names))
        if write_clarity:
            rows = [(names[each.question_id], f"{each.unstable:.4f}") for each in verdicts]
            write_whole(found.path / "clarity.csv", _csv(("question", "unstable"), rows))
    proposed = [names[each.question_id] for each in verdicts if each.rank]
    if out is not None:
        write_whole(out, "".join(f"{name}\n" for name in proposed))
    console.print(_table_of(verdicts, names))
    console.print(
        f"{len(proposed)} of {len(names)} questions proposed, from {ids.size} {found.kind} x {len(measured)} prompts x "
        f"{len(temperatures)} temperatures; written: {', '.join(map(str, _written(found, out, write_clarity)))}",
        soft_wrap=True,
    )
    return 0


def _in_variants(
    package: Package, ids: np.ndarray, source: Source, template: str, console: Console
) -> list[Matrix]:  # fmt: skip
    """The rows `ids` measured in every prompt of the package's kind; a journal for each keeps what is finished."""
    spelled = with_word_answers(blank_matrix(package), package)
    tokenizer, loaded = load_tokenizer(source), None
    matrices = []
    for number, text in enumerate(VARIANTS[package.kind], start=1):
        path = package.path / f"questions-{number}.journal"
        prompts = ChatPrompts(tokenizer, text, prompt_day("", begun(path), {}), template)
        prompts.check(package.animals.names, package.questions.names)
        journal = Journal(path, identity_of(source, package, f"{package.kind} {number}", prompts), spelled.margin.shape)
        try:
            known = journal.fold(spelled).measured
            chosen = [(int(row), package.animals.names[row], np.flatnonzero(~spelled.measured[row])) for row in ids]
            if lacking(chosen, known):
                from env.oracle.measure import Oracle  # imports torch

                if loaded is None:
                    console.print(f"loading {source.name} ({source.dtype}, {source.device})")
                    loaded = load_model(source)
                console.print(f"prompt {number} of {len(VARIANTS[package.kind])}")
                fill_journal(Oracle(loaded, prompts), chosen, known, package.questions.names, journal, console)
            matrices.append(journal.fold(spelled))
        finally:
            journal.close()
    return matrices


WHY = {
    "unclear": "unclear: {unstable:.0%} of its answers are unstable",
    "alike": "correlates {correlation:+.2f} with {likest!r}",
    "little": "adds {added:.3f} bits",
    "enough": "not needed: enough others add more",
}
"""Why a question is left out."""


def _said_of(verdict: Verdict, names: Sequence[str]) -> str:
    likest = "" if verdict.likest is None else names[verdict.likest]
    told = {"unstable": verdict.unstable, "correlation": verdict.correlation, "added": verdict.added, "likest": likest}
    return WHY[verdict.why].format(**told) if verdict.why else ""


def _table_of(verdicts: Sequence[Verdict], names: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("question")
    for name in ("adds", "tells", "unstable"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("left out")
    for each in verdicts:
        table.add_row(
            str(each.rank or ""),
            names[each.question_id],
            f"{each.added:.3f}",
            f"{each.gain:.3f}",
            f"{each.unstable:.1%}",
            _said_of(each, names),
        )
    return table


def _csv_of(verdicts: Sequence[Verdict], names: Sequence[str]) -> str:
    header = ("question", "rank", "adds_bits", "tells_bits", "unstable", "correlation", "with", "left_out")
    rows = [
        (
            names[each.question_id], each.rank or "", f"{each.added:.4f}", f"{each.gain:.4f}", f"{each.unstable:.4f}",
            f"{each.correlation:.3f}", "" if each.likest is None else names[each.likest], _said_of(each, names),
        )
        for each in verdicts
    ]  # fmt: skip
    return _csv(header, rows)


def _csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return stream.getvalue()


def _written(package: Package, out: Path | None, clarity: bool) -> list[Path]:
    files = [package.path / "questions.csv", *([package.path / "clarity.csv"] if clarity else [])]
    return files + ([] if out is None else [out])

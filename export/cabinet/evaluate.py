"""`wilkins evaluate`: what a policy scores on fixed answers, in expectation, on a measured platform, and what it loses.

The figures come from `export.cabinet.score`; here they are put together, drawn from, and shown.
"""

from __future__ import annotations

import json as json_format
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import Console
from rich.table import Table

from agents.runs import CONFIG
from env.cabinet.rules import BUDGET, limit
from env.errors import UserError
from env.flags import NOISE
from env.identification.belief import Assumed
from env.identification.matrix import Matrix
from env.identification.package import AnswerModel, Candidates
from env.identification.tables import read_table
from export.cabinet.graph import GUESS, Graph, read_graph
from export.cabinet.record import POLICY, recorded, sourced, spoken, world_of
from export.cabinet.score import POINTS, Outcome, expected, followed, walk

FINAL, LIVE = 96, 32
"""Animals that a platform draws for its final and for its live score."""

DRAWS = 4000
"""Simulated platforms behind a spread: its ends are then good to a twentieth of its width."""


@dataclass(frozen=True)
class Row:
    """One line of the table of scores."""

    split: str
    answers: str
    """Who answers and who plays, in words."""
    rounds: int
    score: float
    """Mean round score, x100."""
    solved: float
    """Share of rounds, 0 to 1."""
    calls: float
    limit: float
    """Best mean score on as many equally likely candidates, x100."""
    error: float | None = None
    """Standard error of `score` as an estimate for all animals; None where nothing was sampled."""


@dataclass(frozen=True)
class Projection:
    """What a platform's score will look like, x100."""

    rounds: int
    mean: float
    low: float
    """2.5 % of draws are below."""
    high: float
    """2.5 % of draws are above."""


@dataclass(frozen=True)
class Loss:
    """The distance from the limit to the expected score in points, split into parts that add up to it.

    With every stop and null edge continued by the best chain of guesses (`Followed.gain`), a graph scores C0 on
    the matrix itself and CE in expectation; without that continuation it scores E.
    """

    flips: float
    """C0 - CE: what other answers than the matrix's cost."""
    cut_branches: float
    """CE - E: what guessing on where the graph stops would bring."""
    equal_rows: float
    """Per group of g animals with one row of answers: their limit less the score of guessing them one after
    the other, which is all that can be done; nothing up to g = 4, where guessing is best anyway."""
    late_guesses: float
    """limit - C0 less the equal rows: uneven splits, and calls spent on being sure."""

    total: float
    """limit - E."""


@dataclass(frozen=True)
class Report:
    """Everything that `wilkins evaluate` prints."""

    nodes: int
    split: str
    noise: float
    doubt: float
    """Share of the answers that the policy takes to be noisier; scores are projected without it."""
    answer_model: str
    """How a platform's answers are predicted: by `gaussian` noise, or by the `measured` flip curve."""
    unnamed: int
    """Animals of the split that no guess of the policy names: they score 0."""
    rows: Sequence[Row]
    solved_on: Sequence[float]
    """Expected share of rounds that end with a right guess on each call; first those that do not."""
    projections: Sequence[Projection]
    """Draws of animals of the split, each answered by a platform."""
    loss: Loss
    platform: Projection | None = None
    """The measured platform's score as it was to be expected: its own animals, answers drawn."""


def row(split: str, answers: str, outcome: Outcome, candidates: int, sampled: bool = False) -> Row:
    """Line of the table for the rounds of `outcome`, played among `candidates` equally likely animals."""
    score = 100 * outcome.score
    rounds = len(score)
    error = float(score.std(ddof=1)) / math.sqrt(rounds) if sampled and rounds > 1 else None
    means = (float(score.mean()), float(outcome.solved.mean()), float(outcome.calls.mean()))
    return Row(split, answers, rounds, *means, limit(candidates), error)


def projection(solved_on: np.ndarray, rounds: int, seed: int = 0) -> Projection:
    """Mean and spread of the score of `rounds` animals, drawn without repetition, on one drawn platform.

    `solved_on` is float64 [animals, BUDGET + 1] as `followed` gives it. A platform's noise is
    independent between animals, so drawing each round's end from its exact distribution is
    drawing a platform and walking it. With `rounds` equal to all animals only the platform is drawn.
    """
    animals = len(solved_on)
    below = solved_on.cumsum(axis=1)[:, :-1]
    rng = np.random.default_rng(seed)
    scores = np.empty(DRAWS)
    for draw in range(DRAWS):
        drawn = rng.choice(animals, rounds, replace=False)
        scores[draw] = POINTS[(rng.random((rounds, 1)) > below[drawn]).sum(axis=1)].mean()
    low, high = np.quantile(100 * scores, (0.025, 0.975))
    return Projection(rounds, 100 * float((solved_on @ POINTS).mean()), float(low), float(high))


def loss(graph: Graph, hidden: Candidates, assumed: Assumed) -> Loss:
    """Parts of the distance to the limit on the `hidden` animals when platforms answer as `assumed`; see `Loss`."""
    expected, continued = _with_chains(graph, hidden, assumed)
    _, continued_without_noise = _with_chains(graph, hidden, Assumed(0.0))
    animals = hidden.ids
    _, sizes = np.unique(hidden.package.matrix.answer[animals], axis=0, return_counts=True)
    equal = sum(size * limit(size) - 100 * POINTS[1 : size + 1].sum() for size in sizes.tolist()) / len(animals)
    return Loss(
        flips=continued_without_noise - continued,
        cut_branches=continued - expected,
        equal_rows=float(equal),
        late_guesses=limit(len(animals)) - continued_without_noise - float(equal),
        total=limit(len(animals)) - expected,
    )


def _with_chains(graph: Graph, hidden: Candidates, assumed: Assumed) -> tuple[float, float]:
    """Expected score x100, as the graph is and with every stop continued by the best chain of guesses."""
    found = followed(graph, assumed.p_yes(hidden.margin, hidden.missing), hidden.ids)
    plain = 100 * float((found.solved_on @ POINTS).mean())
    return plain, plain + 100 * found.gain / len(hidden)


def walked(graph: Graph, hidden: Candidates) -> Outcome:
    """Each hidden animal played once on the package's own answers; in expectation where one of them is missing."""
    matrix = hidden.package.matrix
    if matrix.measured[hidden.ids].all():
        return walk(graph, matrix.answer, hidden.ids)
    return expected(graph, Assumed(0.0).p_yes(hidden.margin, hidden.missing), hidden.ids)


def measure(graph: Graph, hidden: Candidates, assumed: Assumed, frozen: Matrix | None = None) -> Report:
    """Scores of a graph on the `hidden` animals: walked, expected on platforms as `assumed`, and on a `frozen` one.

    Raises UserError for a policy that can name none of them, or a frozen platform without them.
    """
    animals, split = hidden.ids, hidden.choice
    unnamed = require_named(graph, hidden)
    solved_on, calls, _, _ = followed(graph, assumed.p_yes(hidden.margin, hidden.missing), animals)
    mean = Outcome(solved_on[:, 1:].sum(axis=1), calls, solved_on @ POINTS)
    rows = [
        row(split, "matrix, noise 0", walked(graph, hidden), len(animals)),
        row(split, f"expected, {assumed}", mean, len(animals)),
    ]
    projected = None
    if frozen is not None:
        there = _measured_rows(frozen, animals, split)
        outcome = walk(graph, frozen.answer, animals[there])
        rows.append(row(split, "platform", outcome, len(animals), sampled=True))
        projected = projection(solved_on[there], len(there))
    return Report(
        nodes=len(graph),
        split=split,
        noise=assumed.noise,
        doubt=assumed.doubt,
        answer_model=assumed.model,
        unnamed=unnamed,
        rows=rows,
        solved_on=solved_on.mean(axis=0).tolist(),
        projections=[projection(solved_on, rounds) for rounds in (FINAL, LIVE) if rounds <= len(animals)],
        loss=loss(graph, hidden, assumed),
        platform=projected,
    )


def require_named(graph: Graph, hidden: Candidates) -> int:
    """How many of the animals no guess names. Raises UserError where that is all of them: it was made for others."""
    unnamed = int((~np.isin(hidden.ids, graph.value[graph.kind == GUESS])).sum())
    if unnamed == len(hidden):
        raise UserError(
            f"the policy was made for other animals: no guess of it names any of the {len(hidden)} of {hidden.choice}; "
            "evaluate a run folder to play its agent on them, or export it for them with --candidates"
        )
    return unnamed


def _measured_rows(platform: Matrix, animals: np.ndarray, split: str) -> np.ndarray:
    """Positions in `animals` of those that the platform measured, int64; a row is there whole or not at all."""
    measured = platform.measured[animals]
    there = np.flatnonzero(measured.all(axis=1))
    partly = int(measured.any(axis=1).sum()) - there.size
    if partly:
        raise UserError(
            f"the platform's table has {partly} animals of the {split} split with some answers only; "
            "a row is measured whole, or NaN throughout"
        )
    if there.size == 0:
        raise UserError(f"the platform's table has no animal of the {split} split; choose another --split")
    return there


def evaluate(
    target: Path,
    package: Path | None = None,
    split: str | None = None,
    noise: Annotated[float | None, NOISE] = None,
    matrix: Path | None = None,
    answer_model: AnswerModel | None = None,
    checkpoint: str | None = None,
    json: bool = False,
) -> None:
    """Score a policy, and a run's agents: on the matrix, in exact expectation over platforms, on a measured platform.

    A run's agents play on the candidates of the split that is asked for; its policy.json is scored where it was made for
    them. What is not said by a flag is as the run or the policy was made.

    Args:
        target: A run folder, a policy.json or a submission archive.
        package: Package folder. Default: the one that the target was made with, else the embedded one.
        split: Which animals are hidden: hidden, dev, test1, all, or a file of names. Default: those it was made for.
        noise: Standard deviation of a platform's margins around the matrix's. Default: as the target assumes.
        matrix: A frozen platform to score on as well: matrix.npz, .npy, .npz or .csv as import-matrix takes them.
        answer_model: gaussian noise, the measured flip curve of the package, or auto: whichever the package recorded
            as the better one ('wilkins oracle compare --write-noise'). Default: as the target assumes.
        checkpoint: Agents of a run to play: best, last, the steps of one, or all. Default: best.
        json: Print one JSON object instead of tables.
    """
    hidden, assumed = world_of(target, package, split, noise, None, answer_model)
    world, console = hidden.package, Console()
    is_run = target.is_dir() and (target / CONFIG).is_file()
    if checkpoint and not is_run:
        raise UserError(f"--checkpoint {checkpoint}: {target} is no run folder")
    agents: Sequence[AgentScore] = ()
    if is_run:
        from export.cabinet.checkpoints import evaluated, show_agents  # slow to import: only where an agent plays

        agents = evaluated(target, hidden, assumed, checkpoint or "best", console)
    report = None
    if checkpoint is None and (not is_run or (target / POLICY).is_file()):
        graph = read_graph(target, world.animals, world.questions)
        if not is_run or split in (None, recorded(target).candidates):
            frozen = None if matrix is None else read_table(matrix, world.animals, world.questions)
            report = measure(graph, hidden, assumed, frozen)
    if json:
        told = {"target": str(target), "package": str(world.path), "agents": [asdict(each) for each in agents]}
        print(json_format.dumps(told | ({} if report is None else asdict(report))))
        return
    console.print(spoken(hidden, assumed), soft_wrap=True)
    if agents:
        show_agents(agents, hidden, assumed, console)
    if report is not None:
        show(report, f"{target}: {report.nodes} nodes, {sourced(world, assumed)}", console)


@dataclass(frozen=True)
class AgentScore:
    """One checkpoint of a run, played on the candidates of a split."""

    checkpoint: str
    rows: Sequence[Row]
    """The agent on the matrix, the agent in expectation, and with lookahead in expectation."""


def show(report: Report, title: str, console: Console) -> None:
    """Print a report as tables."""
    console.print(score_table(report.rows, title))
    if report.unnamed:
        console.print(f"no guess of the policy names {report.unnamed} animals of {report.split}: they score 0")
    for each in report.projections:
        name = {FINAL: "final", LIVE: "live"}[each.rounds]
        console.print(f"{name} score, {each.rounds} animals of {report.split}: {_spread(each)}", soft_wrap=True)
    if report.platform is not None:
        found = report.rows[-1]
        error = "" if found.error is None else f" (standard error {found.error:.2f})"
        verdict = "inside" if report.platform.low <= found.score <= report.platform.high else "outside"
        console.print(
            f"platform, {found.rounds} animals: {found.score:.2f}{error}; projected {_spread(report.platform)}: {verdict}",
            soft_wrap=True,
        )
    console.print(_loss_table(report.loss))
    console.print(_calls_table(report.solved_on))


def score_table(rows: Sequence[Row], title: str) -> Table:
    """Table of scores x100, one line a row."""
    table = Table(title=title, title_justify="left")
    for name in ("split", "answers"):
        table.add_column(name)
    for name in ("rounds", "score", "solved", "calls", "limit"):
        table.add_column(name, justify="right")
    for each in rows:
        error = "" if each.error is None else f" ±{each.error:.2f}"
        table.add_row(
            each.split,
            each.answers,
            str(each.rounds),
            f"{each.score:.2f}{error}",
            f"{each.solved:.1%}",
            f"{each.calls:.2f}",
            f"{each.limit:.2f}",
        )
    return table


def _spread(projected: Projection) -> str:
    return f"{projected.mean:.2f}, 95 % of draws in {projected.low:.2f} .. {projected.high:.2f}"


def _loss_table(parts: Loss) -> Table:
    table = Table(title="points below the limit", title_justify="left")
    table.add_column("cause")
    table.add_column("points", justify="right")
    for name, points in asdict(parts).items():
        table.add_row(name.replace("_", " "), f"{points:.3f}", end_section=name == "late_guesses")
    return table


def _calls_table(solved_on: Sequence[float]) -> Table:
    """Histogram of the call that solves, from the expectation; rounds that none solves at the end."""
    table = Table(title="rounds by the call that solves them", title_justify="left")
    table.add_column("call", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    first = next((call for call in range(1, BUDGET + 1) if solved_on[call] > 0), BUDGET)
    shares = {**{str(call): solved_on[call] for call in range(first, BUDGET + 1)}, "never": solved_on[0]}
    widest = max(shares.values())
    for name, share in shares.items():
        table.add_row(name, f"{share:.2%}", "█" * round(30 * share / widest))
    return table

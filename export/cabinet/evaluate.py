"""`wilkins evaluate`: what a policy scores on fixed answers, in expectation, on a measured platform, and what it loses.

The figures come from `export.cabinet.score`; here they are put together, drawn from, and shown.
"""

from __future__ import annotations

import json as json_format
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from env.cabinet.rules import BUDGET, limit
from env.errors import UserError
from env.identification.belief import answer_probability
from env.identification.matrix import Curve, Matrix, read_table
from env.identification.package import AnswerModel, Package, load_package
from export.cabinet.graph import Graph, read_graph
from export.cabinet.score import POINTS, Outcome, call_distribution, cut_gain, walk

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

    With every stop and null edge continued by the best chain of guesses (`cut_gain`), a graph scores C0 on
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
    answer_model: str
    """How a platform's answers are predicted: by `gaussian` noise, or by the `measured` flip curve."""
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

    `solved_on` is float64 [animals, BUDGET + 1] as `call_distribution` gives it. A platform's noise is
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


def loss(graph: Graph, package: Package, animals: np.ndarray, noise: float, curve: Curve | None = None) -> Loss:
    """Parts of the distance to the limit on `animals` (int64 [n]) at `noise`, or with `curve`; see `Loss`."""
    expected, continued = _with_chains(graph, package, animals, noise, curve)
    _, continued_without_noise = _with_chains(graph, package, animals, 0.0)
    _, sizes = np.unique(package.matrix.answer[animals], axis=0, return_counts=True)
    equal = sum(size * limit(size) - 100 * POINTS[1 : size + 1].sum() for size in sizes.tolist()) / len(animals)
    return Loss(
        flips=continued_without_noise - continued,
        cut_branches=continued - expected,
        equal_rows=float(equal),
        late_guesses=limit(len(animals)) - continued_without_noise - float(equal),
        total=limit(len(animals)) - expected,
    )


def _with_chains(
    graph: Graph, package: Package, animals: np.ndarray, noise: float, curve: Curve | None = None
) -> tuple[float, float]:
    """Expected score x100, as the graph is and with every stop continued by the best chain of guesses."""
    p_yes = platform_probability(package, animals, noise, curve)
    solved_on, _ = call_distribution(graph, p_yes, animals)
    expected = 100 * float((solved_on @ POINTS).mean())
    return expected, expected + 100 * cut_gain(graph, p_yes, animals) / len(animals)


def platform_probability(package: Package, animals: np.ndarray, noise: float, curve: Curve | None = None) -> np.ndarray:
    """P(a platform answers yes), float64 [n, questions]: the answer model as it is, without a player's floor."""
    return answer_probability(package.matrix.signed_margin()[animals], noise, floor=0.0, curve=curve)


def answers_at(noise: float, curve: Curve | None) -> str:
    """Who answers, in words."""
    return f"noise {noise:.3g}" if curve is None else "measured flips"


def measure(
    graph: Graph,
    package: Package,
    split: str = "hidden",
    noise: float | None = None,
    platform: Matrix | None = None,
    curve: Curve | None = None,
) -> Report:
    """Scores of a graph on a split: walked, expected at `noise` (the package's when None) or `curve`, on a platform.

    Raises UserError for a split that cannot be played, a noise that is none, or a platform without its animals.
    """
    animals = package.split(split)
    noise = package.noise if noise is None else noise
    if not (math.isfinite(noise) and noise >= 0):
        raise UserError(f"noise {noise}: a standard deviation in margin units is needed, 0 or more")
    solved_on, calls = call_distribution(graph, platform_probability(package, animals, noise, curve), animals)
    expected = Outcome(solved_on[:, 1:].sum(axis=1), calls, solved_on @ POINTS)
    rows = [
        row(split, "matrix, noise 0", walk(graph, package.matrix.answer, animals), len(animals)),
        row(split, f"expected, {answers_at(noise, curve)}", expected, len(animals)),
    ]
    projected = None
    if platform is not None:
        there = _measured_rows(platform, animals, split)
        outcome = walk(graph, platform.answer, animals[there])
        rows.append(row(split, "platform", outcome, len(animals), sampled=True))
        projected = projection(solved_on[there], len(there))
    return Report(
        nodes=len(graph),
        split=split,
        noise=noise,
        answer_model="gaussian" if curve is None else "measured",
        rows=rows,
        solved_on=solved_on.mean(axis=0).tolist(),
        projections=[projection(solved_on, rounds) for rounds in (FINAL, LIVE) if rounds <= len(animals)],
        loss=loss(graph, package, animals, noise, curve),
        platform=projected,
    )


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
    split: str = "hidden",
    noise: float | None = None,
    matrix: Path | None = None,
    answer_model: AnswerModel = "auto",
    json: bool = False,
) -> None:
    """Score a policy: on the matrix, in exact expectation over platforms, and on a measured platform.

    Args:
        target: A run folder, a policy.json or a submission archive.
        package: Package folder. Default: the embedded one.
        split: Which animals are hidden: hidden, dev, test1 or all.
        noise: Standard deviation of a platform's margins around the matrix's. Default: as measured for the package.
        matrix: A frozen platform to score on as well: matrix.npz, .npy, .npz or .csv as import-matrix takes them.
        answer_model: gaussian noise, the measured flip curve of the package, or auto: whichever the package recorded
            as the better one ('wilkins oracle compare --write-noise').
        json: Print one JSON object instead of tables.
    """
    world = load_package(package)
    graph = read_graph(target, world.animals, world.questions)
    platform = None if matrix is None else read_table(matrix, world.animals, world.questions)
    curve = world.flip_curve(answer_model, world.noise if noise is None else noise)
    report = measure(graph, world, split, noise, platform, curve)
    if json:
        print(json_format.dumps({"target": str(target), "package": str(world.path), **asdict(report)}))
    else:
        show(report, f"{target}: {report.nodes} nodes", Console())


def show(report: Report, title: str, console: Console) -> None:
    """Print a report as tables."""
    console.print(score_table(report.rows, title))
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

"""`wilkins export`: from a trained run to policy.json and the two archives, improved, verified, validated."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.console import Console

from agents.cabinet.run import CabinetRun, load_cabinet_run
from agents.identification.baselines import best_belief
from agents.identification.play import play
from agents.identification.players import Lookahead, Player, RankedPlayer
from env.errors import UserError
from env.files import write_whole
from env.identification.belief import DEFAULT_DOUBT, doubted
from env.identification.matrix import Curve, Matrix, load_matrix
from env.identification.package import EMBEDDED, AnswerModel, Package, load_package
from export.cabinet import validate
from export.cabinet.archive import write_source, write_submission
from export.cabinet.enumerate import MAX_NODES, Cut, Decisions, enumerate_decisions, to_graph
from export.cabinet.evaluate import Row, answers_at, measure, platform_probability, row, score_table
from export.cabinet.graph import ASK, GUESS, Graph, graph_to_json
from export.cabinet.score import Outcome, expected, walk
from export.cabinet.view import Made, page, training_of

BELIEFS_PER_SECOND = 40_000
"""What a nominal second of lookahead is: beliefs played on by two cores. Work is counted, not clocked, so that
the same input gives the same policy on a slow machine and on a fast one."""

STAGES = ((8, 0), (4, 4), (24, 0), (8, 4), (8, 8), (16, 8))
"""Lookahead of growing strength: actions valued in each state, and after each answer."""

COST = {"agent": 1.0, "belief rule": 0.25}
"""What a belief that is played on costs, by who plays on; on two cores 31,000 and 130,000 take a second."""

NOTHING = -2
"""The action of a stop; -1 is the end of a live round."""


@dataclass(frozen=True)
class Exported:
    """A player as a graph, and what it is worth."""

    player: Player
    decisions: Decisions
    cut: Cut
    score: float
    """Exact expected score x100 at the assumed noise."""
    plays_on: str = ""
    """Who plays on in lookahead, one of COST; empty for a player of its own."""


def export(
    run: Annotated[Path, tyro.conf.Positional],
    package: Path | None = None,
    candidates: str = "hidden",
    noise: float | None = None,
    max_nodes: int = MAX_NODES,
    improve_seconds: float = 45.0,
    out: Path | None = None,
    answer_model: AnswerModel = "auto",
    doubt: float = DEFAULT_DOUBT,
    transfer: bool = False,
) -> int:
    """Write policy.json, submission.zip, source.zip and policy.html of a trained run.

    Args:
        run: Run folder, as `wilkins train` made it.
        package: Package to export for. Default: the one the run was trained on.
        candidates: Animals with prior mass: hidden, dev, test1, all, or a file of animal names.
        noise: Noise that the policy assumes of the platform, in margin units. Default: the run's.
        max_nodes: Nodes that the graph may have.
        improve_seconds: Nominal seconds of lookahead, of which one step is always taken; 0 exports the agent's
            own decisions.
        out: Submission archive to write, its companions beside it. Default: submission.zip in the run folder.
        answer_model: How the policy assumes that a platform answers: gaussian noise, the measured flip curve of the
            package, or auto: whichever the package recorded as the better one ('wilkins oracle compare --write-noise').
        doubt: Share of the answers, 0 to 1, that the policy takes to be noisier than assumed: it then holds where a
            platform is. Scores are projected without it.
        transfer: Allow a package that the run was not trained on.
    """
    trained = load_cabinet_run(run)
    world = load_package(package or trained.choices.package)
    if not transfer:
        trained.require(world)
    export_run(
        trained, world, Console(), candidates=candidates, noise=noise, max_nodes=max_nodes,
        improve_seconds=improve_seconds, out=out, answer_model=answer_model, doubt=doubt,
    )  # fmt: skip
    return 0


def export_run(
    run: CabinetRun,
    package: Package,
    console: Console,
    candidates: str = "hidden",
    noise: float | None = None,
    max_nodes: int = MAX_NODES,
    improve_seconds: float = 45.0,
    out: Path | None = None,
    answer_model: AnswerModel = "auto",
    doubt: float = DEFAULT_DOUBT,
) -> Exported:
    """Enumerate, improve, verify, write and validate; prints the table of scores and where the files are."""
    noise = run.noise if noise is None else noise
    if not (math.isfinite(noise) and noise >= 0):
        raise UserError(f"noise {noise}: a standard deviation in margin units is needed, 0 or more")
    if not 0 <= doubt <= 1:
        raise UserError(f"--doubt {doubt}: a share of the answers is needed, 0 to 1")
    ids = package.candidates(candidates)
    curve = package.flip_curve(answer_model, noise)
    assumed = doubted(noise, doubt, curve)
    agent = run.player(package, ids, noise, assumed)
    begun = time.monotonic()
    with console.status("enumerating the agent's decisions"):
        own = exported(agent, package, ids, noise, max_nodes, assumed)
    best = own
    if improve_seconds > 0:
        with console.status("looking ahead"):
            best = improved(agent, own, package, ids, noise, max_nodes, improve_seconds, assumed)
    with console.status("walking the graph beside the live agent"):
        verify(best, package, ids)
    policy = graph_to_json(best.cut.graph)
    archive = out or run.folder / "submission.zip"
    folder = archive.parent
    write_whole(folder / "policy.json", policy)
    write_submission(archive, policy)
    write_source(folder / "source.zip")
    made = {run.folder.name: Made(noise, doubt, curve, training_of(run.folder))}
    graphs = {run.folder.name: best.cut.graph}
    write_whole(folder / "policy.html", page(graphs, package, ids, noise, candidates, curve, made))
    _validate(archive, package)
    _report(run, package, console, candidates, noise, own, best, curve, assumed)
    console.print(
        f"graph       {len(best.cut.graph):,} nodes of {max_nodes:,}, {_given_up(best.cut)}, "
        f"{time.monotonic() - begun:.0f} s to enumerate, improve, verify and write",
        soft_wrap=True,
    )
    console.print(f"assumes     {answers_at(noise, curve)}, doubt {doubt:g}", soft_wrap=True)
    if isinstance(best.player, Lookahead):
        after = f", {best.player.wider} after each answer" if best.player.wider else ""
        console.print(
            f"lookahead   {best.player.asks} actions valued in each state{after}; the {best.plays_on} plays on",
            soft_wrap=True,
        )
    for name, path in (("policy", "policy.json"), ("page", "policy.html"), ("source", "source.zip")):
        console.print(f"{name:<11} {folder / path}", soft_wrap=True)
    console.print(f"submission  {archive}", soft_wrap=True)
    return best


def exported(
    player: Player, package: Package, ids: np.ndarray, noise: float, max_nodes: int, curve: Curve | None = None
) -> Exported:
    """A player's decisions as a graph within `max_nodes`, with its exact expected score at `noise` or with `curve`."""
    return _scored(player, enumerate_decisions(player), package, ids, noise, max_nodes, curve)


def improved(
    agent: RankedPlayer,
    own: Exported,
    package: Package,
    ids: np.ndarray,
    noise: float,
    max_nodes: int,
    improve_seconds: float,
    curve: Curve | None = None,
) -> Exported:
    """The best of the agent's own graph and lookaheads of growing strength, as far as the work allows.

    After a first step with the agent, the one who scores more unaided plays on: the agent, or the belief rule with its
    best threshold, which where noise is low is as good and costs a fraction.
    """
    allowed = improve_seconds * BELIEFS_PER_SECOND
    graph = partial(exported, package=package, ids=ids, noise=noise, max_nodes=max_nodes, curve=curve)
    best = own

    def look(base: str, player: RankedPlayer, asks: int, wider: int) -> int:
        """One lookahead; returns the beliefs that it played on."""
        nonlocal allowed, best
        work: list[int] = []
        candidate = graph(Lookahead(player, asks, wider, work))
        allowed -= sum(work) * COST[base]
        if candidate.score > best.score:
            best = replace(candidate, plays_on=base)
        return sum(work)

    first, *further = STAGES
    per_action = look("agent", agent, *first) / first[0]
    if allowed <= 0:
        return best
    players = bases(agent, package, ids, noise)
    scores = {name: own.score if each is agent else graph(each).score for name, each in players.items()}
    base = max(scores, key=lambda name: scores[name])
    for asks, wider in further if base == "agent" else STAGES:
        if per_action * asks * max(wider, 1) * COST[base] <= allowed:
            look(base, players[base], asks, wider)
    return best


def bases(agent: RankedPlayer, package: Package, ids: np.ndarray, noise: float) -> dict[str, RankedPlayer]:
    """Who may play on in lookahead, by the names of COST."""
    rule, _ = best_belief(package, ids, noise, agent.likelihood)
    return dict(zip(COST, (agent, rule), strict=True))


def _scored(
    player: Player,
    decisions: Decisions,
    package: Package,
    ids: np.ndarray,
    noise: float,
    max_nodes: int,
    curve: Curve | None,
) -> Exported:
    cut = to_graph(decisions, package.animals, package.questions, max_nodes)
    outcome = expected(cut.graph, platform_probability(package, ids, noise, curve), ids)
    return Exported(player, decisions, cut, 100 * float(outcome.score.mean()))


def verify(export: Exported, package: Package, ids: np.ndarray) -> None:
    """Walk the graph for every candidate beside the live player, call by call.

    A branch that was cut to fit the node limit ends in guesses of its own; there the comparison stops.
    Raises UserError that names the animal and the call where they part.
    """
    graph, decisions = export.cut.graph, export.decisions
    answers = package.matrix.signed_margin()[ids] > 0
    live = play(export.player, answers, ids)
    questions = len(package.questions)
    acts = np.where(graph.kind == ASK, graph.value, np.where(graph.kind == GUESS, questions + graph.value, NOTHING))
    acts = np.append(acts, NOTHING)  # a null edge
    ended = np.append(export.cut.ended, False)  # a state that was not enumerated is no reason to stop
    node, state = np.full(len(ids), graph.root), np.zeros(len(ids), np.int64)
    compared = np.ones(len(ids), dtype=bool)
    for call in range(live.actions.shape[1]):
        compared &= ~ended[state]
        playing = np.flatnonzero(compared & (live.actions[:, call] >= 0))
        here = node[playing]
        parted = playing[acts[here] != live.actions[playing, call]]
        if parted.size:
            raise UserError(
                f"the graph parts from the agent for {package.animals.names[ids[parted[0]]]!r} on call {call + 1}; "
                "nothing was written; please report this"
            )
        asks = graph.kind[here] == ASK
        yes = np.zeros(len(playing), dtype=bool)
        yes[asks] = answers[playing[asks], graph.value[here[asks]]]
        node[playing] = np.where(yes, graph.yes[here], graph.no[here])
        state[playing] = np.where(yes, decisions.yes[state[playing]], decisions.no[state[playing]])


def _validate(archive: Path, package: Package) -> None:
    facts = [validate.PoolFacts(pool.kind, len(pool), pool.sha256) for pool in (package.animals, package.questions)]
    try:
        validate.check(validate.read(archive), *facts)
    except (validate.RejectionError, validate.UnreadableError) as error:
        raise UserError(f"{archive}: the archive just written is not valid: {error}; please report this") from None


def _report(
    run: CabinetRun,
    package: Package,
    console: Console,
    candidates: str,
    noise: float,
    own: Exported,
    best: Exported,
    curve: Curve | None,
    assumed: Curve | None,
) -> None:
    """Print the table: players assume flips as in `assumed`, and are scored at `noise`, or with `curve`."""
    rows: list[Row] = []
    for split in ("dev", "test1"):
        animals = package.split(split)
        agent = run.player(package, animals, noise, assumed)
        graph = exported(agent, package, animals, noise, MAX_NODES, assumed).cut.graph
        rows += _rows(split, "agent", graph, package, animals, noise, curve)
    ids = package.candidates(candidates)
    rows += _rows(candidates, "agent", own.cut.graph, package, ids, noise, curve)
    if best is not own:
        rows += _rows(candidates, "policy.json", best.cut.graph, package, ids, noise, curve)
    platform = measured_platform(package)
    if platform is not None and candidates == "hidden":
        report = measure(best.cut.graph, package, "hidden", noise, platform, curve)
        rows.append(report.rows[-1])
    console.print(score_table(rows, f"{run.folder}: scores x100"))


def _rows(
    split: str, who: str, graph: Graph, package: Package, ids: np.ndarray, noise: float, curve: Curve | None
) -> Sequence[Row]:
    walked = walk(graph, package.matrix.answer, ids)
    mean: Outcome = expected(graph, platform_probability(package, ids, noise, curve), ids)
    return [
        row(split, f"{who}, noise 0", walked, len(ids)),
        row(split, f"{who}, {answers_at(noise, curve)}", mean, len(ids)),
    ]


def measured_platform(package: Package) -> Matrix | None:
    """The frozen platform of other numerics that the embedded package ships; None for other packages."""
    path = EMBEDDED / "platform.npz"
    if package.path != EMBEDDED or not path.exists():
        return None
    return load_matrix(path, package.animals, package.questions)


def _given_up(cut: Cut) -> str:
    if cut.given_up < 1e-6:
        return "no branch given up"
    return f"{cut.given_up:.2g} of the probability given up to fit ({cut.whole:,} nodes would keep all)"

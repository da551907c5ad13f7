"""`wilkins export`: from a trained run to policy.json and the two archives, improved, verified, validated."""

from __future__ import annotations

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
from agents.identification.policy import ShortlistPolicy
from agents.runs import package_place
from env.errors import UserError
from env.files import write_whole
from env.flags import NOISE, SECONDS, SHARE, Within
from env.identification.belief import Assumed
from env.identification.matrix import Matrix, load_matrix
from env.identification.package import EMBEDDED, SPLITS, AnswerModel, Candidates, Package, load_package
from export.cabinet import validate
from export.cabinet.archive import write_source, write_submission
from export.cabinet.enumerate import MAX_NODES, Cut, Decisions, enumerate_decisions, to_graph
from export.cabinet.evaluate import Row, measure, row, score_table, walked
from export.cabinet.graph import ASK, GUESS, Graph, graph_to_json
from export.cabinet.record import POLICY, SUBMISSION, ExportRecord, earlier, publishing, sourced, spoken
from export.cabinet.score import Outcome, expected
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
    candidates: str | None = None,
    noise: Annotated[float | None, NOISE] = None,
    max_nodes: Annotated[int | None, Within(1, MAX_NODES)] = None,
    improve_seconds: Annotated[float | None, SECONDS] = None,
    out: Path | None = None,
    answer_model: AnswerModel | None = None,
    doubt: Annotated[float | None, SHARE] = None,
    checkpoint: str = "best",
    transfer: bool = False,
) -> int:
    """Write policy.json, submission.zip, source.zip and policy.html of a trained run.

    What is not said by a flag is as in the run's last export, and before there is one as the run was trained.

    Args:
        run: Run folder, as `wilkins train` made it.
        package: Package to export for. Default: the one the run was trained on.
        candidates: Animals with prior mass: hidden, dev, test1, all, or a file of animal names. Default: those
            of the last export, else hidden.
        noise: Noise that the policy assumes of the platform, in margin units. Default: that of the
            last export, else the run's.
        max_nodes: Nodes that the graph may have. Default: the run's.
        improve_seconds: Nominal seconds of lookahead, of which one step is always taken; 0 exports the agent's
            own decisions. Default: the run's.
        out: Submission archive to write, its companions beside it. Default: submission.zip in the run folder.
        answer_model: How the policy assumes that a platform answers: gaussian noise, the measured flip curve of the
            package, or auto: whichever the package recorded as the better one ('wilkins oracle compare --write-noise').
            Default: that of the last export, else auto.
        doubt: Share of the answers, 0 to 1, that the policy takes to be noisier than assumed: it then holds where a
            platform is. Scores are projected without it. Default: that of the last export, else the run's.
        checkpoint: Agent to export: best, last, or the steps of a checkpoint.
        transfer: Allow a package that the run was not trained on.
    """
    trained = load_cabinet_run(run)
    chosen = trained.choices
    world = load_package(package_place(chosen.package, package, run))
    if not transfer:
        trained.require(world)
    before = earlier(run)
    # A curve belongs to one noise: where another is asked for, the package says what predicts best there.
    model: AnswerModel = answer_model or (before.answer_model if noise in (None, before.noise) else "auto")
    assumed = world.assumed(before.noise if noise is None else noise, before.doubt if doubt is None else doubt, model)
    export_run(
        trained, world.among(candidates or before.candidates), assumed, Console(),
        max_nodes=chosen.max_nodes if max_nodes is None else max_nodes,
        improve_seconds=chosen.improve_seconds if improve_seconds is None else improve_seconds,
        out=out, checkpoint=checkpoint,
    )  # fmt: skip
    return 0


def export_run(
    run: CabinetRun,
    hidden: Candidates,
    assumed: Assumed,
    console: Console,
    max_nodes: int = MAX_NODES,
    improve_seconds: float = 45.0,
    out: Path | None = None,
    checkpoint: str = "best",
) -> Exported:
    """Enumerate, improve, verify, write and validate; prints the table of scores and where the files are."""
    network = run.policy(checkpoint)
    agent = run.playing(network, hidden, assumed)
    begun = time.monotonic()
    with console.status("enumerating the agent's decisions"):
        own = exported(agent, hidden, assumed, max_nodes)
    best = own
    if improve_seconds > 0:
        with console.status("looking ahead"):
            best = improved(agent, own, hidden, assumed, max_nodes, improve_seconds)
    with console.status("walking the graph beside the live agent"):
        verify(best, hidden)
    archive = out or run.folder / SUBMISSION
    _write(run, best.cut.graph, hidden, assumed, archive, run.run.checkpoint(checkpoint).label)
    _validate(archive, hidden.package)
    _report(run, network, hidden, assumed, own, best, console)
    console.print(
        f"graph       {len(best.cut.graph):,} nodes of {max_nodes:,}, {_given_up(best.cut)}, "
        f"{time.monotonic() - begun:.0f} s to enumerate, improve, verify and write",
        soft_wrap=True,
    )
    console.print(f"assumes     {spoken(hidden, assumed)}", soft_wrap=True)
    if isinstance(best.player, Lookahead):
        after = f", {best.player.wider} after each answer" if best.player.wider else ""
        console.print(
            f"lookahead   {best.player.asks} actions valued in each state{after}; the {best.plays_on} plays on",
            soft_wrap=True,
        )
    for name, path in (("policy", POLICY), ("page", "policy.html"), ("source", "source.zip")):
        console.print(f"{name:<11} {archive.parent / path}", soft_wrap=True)
    console.print(f"submission  {archive}", soft_wrap=True)
    return best


def _write(run: CabinetRun, graph: Graph, hidden: Candidates, assumed: Assumed, archive: Path, checkpoint: str) -> None:
    """Publish what leaves: the policy, its archive, the program, the page, and the record that binds them."""
    folder, policy = archive.parent, graph_to_json(graph)
    path = hidden.package.path
    choice = hidden.choice if hidden.choice in SPLITS else str(Path(hidden.choice).absolute())
    record = ExportRecord(
        None if path == EMBEDDED else str(path.absolute()), choice, assumed.noise, assumed.doubt, assumed.model,
        checkpoint, {POLICY: "", archive.name: ""},
    )  # fmt: skip
    made = {run.folder.name: Made(assumed.noise, assumed.doubt, assumed.curve, training_of(run.folder))}
    with publishing(folder, record):
        write_whole(folder / POLICY, policy)
        write_submission(archive, policy)
        write_source(folder / "source.zip")
        write_whole(
            folder / "policy.html",
            page(
                {run.folder.name: graph}, hidden.package, hidden.ids, assumed.noise, hidden.choice, assumed.curve, made
            ),
        )


def exported(player: Player, hidden: Candidates, assumed: Assumed, max_nodes: int = MAX_NODES) -> Exported:
    """A player's decisions as a graph within `max_nodes`, with its exact expected score as the player reckons it."""
    decisions = enumerate_decisions(player)
    cut = to_graph(decisions, hidden.package.animals, hidden.package.questions, max_nodes)
    p_yes = Assumed(assumed.noise, assumed.reckoned).p_yes(hidden.margin, hidden.missing)
    outcome = expected(cut.graph, p_yes, hidden.ids)
    return Exported(player, decisions, cut, 100 * float(outcome.score.mean()))


def improved(
    agent: RankedPlayer,
    own: Exported,
    hidden: Candidates,
    assumed: Assumed,
    max_nodes: int,
    improve_seconds: float,
) -> Exported:
    """The best of the agent's own graph and lookaheads of growing strength, as far as the work allows.

    After a first step with the agent, the one who scores more unaided plays on: the agent, or the belief rule with its
    best threshold, which where noise is low is as good and costs a fraction.
    """
    allowed = improve_seconds * BELIEFS_PER_SECOND
    graph = partial(exported, hidden=hidden, assumed=assumed, max_nodes=max_nodes)
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
    players = bases(agent, hidden, assumed)
    scores = {name: own.score if each is agent else graph(each).score for name, each in players.items()}
    base = max(scores, key=lambda name: scores[name])
    for asks, wider in further if base == "agent" else STAGES:
        if per_action * asks * max(wider, 1) * COST[base] <= allowed:
            look(base, players[base], asks, wider)
    return best


def bases(agent: RankedPlayer, hidden: Candidates, assumed: Assumed) -> dict[str, RankedPlayer]:
    """Who may play on in lookahead, by the names of COST."""
    rule, _ = best_belief(hidden.package, hidden.ids, assumed.noise, agent.likelihood)
    return dict(zip(COST, (agent, rule), strict=True))


def verify(export: Exported, hidden: Candidates) -> None:
    """Walk the graph for every candidate beside the live player, call by call.

    A branch that was cut to fit the node limit ends in guesses of its own; there the comparison stops.
    Raises UserError that names the animal and the call where they part.
    """
    graph, decisions = export.cut.graph, export.decisions
    package, ids = hidden.package, hidden.ids
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
    network: ShortlistPolicy,
    hidden: Candidates,
    assumed: Assumed,
    own: Exported,
    best: Exported,
    console: Console,
) -> None:
    """Print the table: players reckon with platforms as `assumed`, doubt included, and are scored without doubt."""
    rows: list[Row] = []
    for split in ("dev", "test1"):
        animals = hidden.package.among(split)
        agent = run.playing(network, animals, assumed)
        rows += rows_of("agent", exported(agent, animals, assumed).cut.graph, animals, assumed)
    rows += rows_of("agent", own.cut.graph, hidden, assumed)
    if best is not own:
        rows += rows_of(POLICY, best.cut.graph, hidden, assumed)
    platform = measured_platform(hidden.package)
    if platform is not None and hidden.choice == "hidden":
        rows.append(measure(best.cut.graph, hidden, assumed, platform).rows[-1])
    console.print(score_table(rows, f"{run.folder}: scores x100, {sourced(hidden.package, assumed)}"))


def rows_of(who: str, graph: Graph, hidden: Candidates, assumed: Assumed) -> Sequence[Row]:
    """Lines of the table: walked on the matrix, and in expectation on platforms as assumed."""
    exact = walked(graph, hidden)
    mean: Outcome = expected(graph, assumed.p_yes(hidden.margin, hidden.missing), hidden.ids)
    return [
        row(hidden.choice, f"{who}, noise 0", exact, len(hidden)),
        row(hidden.choice, f"{who}, {assumed}", mean, len(hidden)),
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

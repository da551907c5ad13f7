"""Claims about what leaves a run: valid, verified against the live agent, repeatable, and played by the adapter."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import wilkins
from agents.cabinet.run import load_cabinet_run
from agents.identification.baselines import best_belief
from agents.identification.players import trained_player
from env.cabinet.rules import limit
from env.errors import UserError
from env.identification.belief import Assumed
from env.identification.package import Candidates, Package, load_package
from export.cabinet import validate
from export.cabinet.command import Exported, export_run, exported, improved, verify
from export.cabinet.graph import ASK, GUESS, STOP, Graph, read_graph
from export.cabinet.score import expected, walk
from export.cabinet.solution import MySolution
from tests.export.cabinet.test_solution import Interactor
from tests.worlds import SHORT, random_policy

Capture = pytest.CaptureFixture[str]


def export(run: Path, out: Path, *flags: str | Path) -> int:
    """`wilkins export` beside the run, without lookahead unless asked for."""
    words = ["export", str(run), "--out", str(out / "submission.zip"), "--improve-seconds", "0", *map(str, flags)]
    return wilkins.main(words)


@pytest.fixture(scope="session")
def package(small_package: Path) -> Package:
    return load_package(small_package)


@pytest.fixture(scope="session")
def own(trained_run: Path, package: Package) -> Exported:
    """The agent of the shared run as a graph."""
    run = load_cabinet_run(trained_run)
    hidden, assumed = package.among(), Assumed(run.noise)
    return exported(run.player(hidden, assumed), hidden, assumed)


def test_the_archive_passes_the_validator_also_as_a_single_copied_file(
    trained_run: Path, small_package: Path, tmp_path: Path
) -> None:
    archive = trained_run / "submission.zip"
    assert wilkins.main(["validate", str(archive), "--package", str(small_package)]) == 0
    shutil.copy(validate.__file__, tmp_path / "check.py")
    command = [sys.executable, "-I", "-S", str(tmp_path / "check.py"), str(archive), "--package", str(small_package)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, env={})
    assert (done.returncode, done.stderr) == (0, "")
    cut = tmp_path / "cut.zip"
    cut.write_bytes(archive.read_bytes()[:-40])
    command[4] = str(cut)
    assert subprocess.run(command, capture_output=True, timeout=60, cwd=tmp_path, env={}).returncode == 1


def test_the_same_run_is_exported_to_the_same_bytes(trained_run: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert export(trained_run, tmp_path / name, "--improve-seconds", "0.1") == 0
    for name in ("policy.json", "submission.zip", "source.zip", "policy.html"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert (tmp_path / "a" / "policy.json").read_bytes() == (trained_run / "policy.json").read_bytes()


@pytest.mark.parametrize("max_nodes", [1, 7, 40, 100])
def test_a_small_node_limit_is_kept_and_what_was_given_up_is_said(
    trained_run: Path, package: Package, tmp_path: Path, capsys: Capture, max_nodes: int
) -> None:
    assert export(trained_run, tmp_path, "--max-nodes", str(max_nodes), "--doubt", "0") == 0
    assert "of the probability given up to fit" in capsys.readouterr().out
    graph = read_graph(tmp_path / "submission.zip", package.animals, package.questions)
    assert 1 <= len(graph) <= max_nodes


def test_candidates_from_a_file_are_all_that_is_ever_guessed(
    trained_run: Path, package: Package, tmp_path: Path
) -> None:
    chosen = package.hidden[::5]
    (tmp_path / "some.txt").write_text("\n".join(package.animals.names[animal].upper() for animal in chosen))
    assert export(trained_run, tmp_path, "--candidates", tmp_path / "some.txt") == 0
    graph = read_graph(tmp_path / "policy.json", package.animals, package.questions)
    assert set(graph.value[graph.kind == GUESS].tolist()) == set(chosen.tolist())
    assert walk(graph, package.matrix.answer, chosen).solved.all()


def test_another_package_needs_transfer_and_then_is_played_well(
    trained_run: Path, package: Package, make_package: Callable[..., Path], tmp_path: Path, capsys: Capture
) -> None:
    other = make_package(animals=30, questions=18)
    there = load_package(other)
    assert export(trained_run, tmp_path, "--package", other) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert package.animals.sha256 in error
    assert there.animals.sha256 in error
    assert "--transfer" in error
    assert not (tmp_path / "policy.json").exists()
    assert export(trained_run, tmp_path, "--package", other, "--transfer") == 0
    graph = read_graph(tmp_path / "submission.zip", there.animals, there.questions)
    assert walk(graph, there.matrix.answer, there.hidden).solved.mean() > 0.9


def test_lookahead_exports_what_scores_at_least_as_much(own: Exported, trained_run: Path, package: Package) -> None:
    noise = load_cabinet_run(trained_run).noise
    best = improved(own.player, own, package.among(), Assumed(noise), 32_767, 0.1)
    assert best.score > own.score
    p_yes = best.player.likelihood.p_yes
    assert best.score == pytest.approx(100 * expected(best.cut.graph, p_yes, package.hidden).score.mean(), abs=0.05)
    verify(best, package.among())


def test_where_the_agent_is_worse_than_the_belief_rule_the_rule_plays_on(package: Package) -> None:
    noise, ids = 0.2, package.hidden
    poor = trained_player(random_policy(package, seed=1), package, ids, noise, SHORT)
    rule, _ = best_belief(package, ids, noise)
    own, plain = (exported(player, package.among(), Assumed(noise)) for player in (poor, rule))
    assert own.score < plain.score
    best = improved(poor, own, package.among(), Assumed(noise), 32_767, 30.0)
    assert best.plays_on == "belief rule"
    assert best.score >= plain.score
    assert improved(poor, own, package.among(), Assumed(noise), 32_767, 0.001).plays_on == "agent", (
        "there was work for one stage"
    )


def test_lookahead_ends_where_a_handful_is_solved_without_any_work(package: Package) -> None:
    noise, few = 0.0, package.hidden[:6]
    poor = trained_player(random_policy(package, seed=5), package, few, noise, SHORT)
    own = exported(poor, Candidates(package, few), Assumed(noise))
    rule, _ = best_belief(package, few, noise)
    assert own.score < exported(rule, Candidates(package, few), Assumed(noise)).score
    assert improved(poor, own, Candidates(package, few), Assumed(noise), 32_767, 30.0).score == pytest.approx(limit(6))


def visited(graph: Graph, package: Package, animal: int) -> list[int]:
    """Nodes that a round on the matrix's own answers comes to, call by call."""
    nodes, node = [], graph.root
    while node >= 0:
        nodes.append(node)
        if graph.kind[node] == GUESS and graph.value[node] == animal:
            break
        yes = graph.kind[node] == ASK and package.matrix.answer[animal, graph.value[node]]
        node = int(graph.yes[node] if yes else graph.no[node])
    return nodes


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 35), st.integers(0, 14), st.sampled_from(["other value", "stop", "other kind"]))
def test_a_node_that_was_tampered_with_is_named_by_animal_and_call(
    own: Exported, package: Package, place: int, call: int, tampering: str
) -> None:
    verify(own, package.among())
    graph = own.cut.graph
    rounds = [visited(graph, package, int(animal)) for animal in package.hidden]
    node = rounds[place][call % len(rounds[place])]
    kind, value = graph.kind.copy(), graph.value.copy()
    if tampering == "other value":
        value[node] = (value[node] + 1) % 24
    else:
        kind[node] = STOP if tampering == "stop" else 1 - kind[node]
    cut = dataclasses.replace(own.cut, graph=dataclasses.replace(graph, kind=kind, value=value))
    first = min(
        (nodes.index(node), animal) for nodes, animal in zip(rounds, package.hidden, strict=True) if node in nodes
    )
    message = f"the graph parts from the agent for 'beast {first[1]}' on call {first[0] + 1}; nothing was written"
    with pytest.raises(UserError, match=message):
        verify(dataclasses.replace(own, cut=cut), package.among())


def test_a_graph_that_differs_from_the_agent_is_not_written(
    trained_run: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = exported

    def differing(*arguments: object) -> Exported:
        found = real(*arguments)  # type: ignore[arg-type]
        swapped = dataclasses.replace(found.cut.graph, yes=found.cut.graph.no, no=found.cut.graph.yes)
        return dataclasses.replace(found, cut=dataclasses.replace(found.cut, graph=swapped))

    monkeypatch.setattr("export.cabinet.command.exported", differing)
    assert export(trained_run, tmp_path) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "the graph parts from the agent for 'beast" in error
    assert not list(tmp_path.iterdir())


def test_the_official_adapter_plays_the_exported_policy_as_the_walk_says(trained_run: Path, package: Package) -> None:
    graph = read_graph(trained_run, package.animals, package.questions)
    outcome = walk(graph, package.matrix.answer, package.hidden)
    player = MySolution(package.animals.names, package.questions.names, trained_run / "policy.json")
    for place, animal in enumerate(package.hidden.tolist()):
        round_ = Interactor(package.matrix.answer[animal], animal)
        round_.pools = [{name: i for i, name in enumerate(pool.names)} for pool in (package.animals, package.questions)]
        player.solve(round_)
        assert (round_.solved, round_.calls) == (outcome.solved[place], outcome.calls[place])
    assert outcome.solved.mean() > 0.9


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--max-nodes 0", "--max-nodes 0: between 1 and 32,767"),
        ("--noise -1", "--noise -1.0: between 0.0 and 1,000.0"),
        ("--noise nan", "--noise nan: between"),
        ("--doubt -0.1", "--doubt -0.1: between 0.0 and 1.0"),
        ("--doubt 1.5", "--doubt 1.5: between 0.0 and 1.0"),
        ("--doubt nan", "--doubt nan: between 0.0 and 1.0"),
        ("--candidates nobody", "candidates 'nobody': neither a split"),
        ("--candidates {empty}", "is empty; at least one animal"),
        ("--candidates {unknown}", "unicorn"),
        ("--package /nowhere", "no package folder /nowhere"),
    ],
)
def test_what_cannot_be_exported_is_one_line(
    trained_run: Path, tmp_path: Path, capsys: Capture, flags: str, message: str
) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "unknown.txt").write_text("beast 30\nunicorn\n")
    out = tmp_path / "out"
    words = flags.format(empty=tmp_path / "empty.txt", unknown=tmp_path / "unknown.txt").split()
    assert export(trained_run, out, *words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_doubt_changes_the_policy_and_its_scores_are_projected_without_it(
    trained_run: Path, package: Package, tmp_path: Path, capsys: Capture
) -> None:
    printed = {}
    for doubt in ("0", "0.6"):
        assert export(trained_run, tmp_path / doubt, "--doubt", doubt, "--noise", "0.1") == 0
        printed[doubt] = capsys.readouterr().out
        graph = read_graph(tmp_path / doubt / "policy.json", package.animals, package.questions)
        score = expected(
            graph, Assumed(0.1).p_yes(package.matrix.signed_margin()[package.hidden]), package.hidden
        ).score.mean()
        assert f"{100 * score:.2f}" in printed[doubt]
    assert (tmp_path / "0" / "policy.json").read_bytes() != (tmp_path / "0.6" / "policy.json").read_bytes()


@pytest.mark.parametrize("folder", ["/nowhere", "{empty}"])
def test_what_is_no_run_is_one_line(tmp_path: Path, capsys: Capture, folder: str) -> None:
    assert wilkins.main(["export", folder.format(empty=tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_disk_that_fills_up_keeps_the_old_files_whole(
    trained_run: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert export(trained_run, tmp_path, "--max-nodes", "30") == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    capsys.readouterr()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert export(trained_run, tmp_path) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_table_of_scores_is_what_evaluate_says(
    trained_run: Path, package: Package, tmp_path: Path, capsys: Capture
) -> None:
    console = Console(width=200, force_terminal=False)
    with console.capture() as shown:
        best = export_run(
            load_cabinet_run(trained_run), package.among(), package.assumed(), console, improve_seconds=0,
            out=tmp_path / "submission.zip",
        )  # fmt: skip
    assert (
        wilkins.main(
            ["evaluate", str(tmp_path / "policy.json"), "--package", str(package.path), "--noise", "0.1", "--json"]
        )
        == 0
    )
    report = json.loads(capsys.readouterr().out)
    rows = {row["answers"]: row["score"] for row in report["rows"]}
    assert rows["expected, noise 0.1"] == pytest.approx(best.score, abs=1e-9)
    for score in rows.values():
        assert f"{score:.2f}" in shown.get()

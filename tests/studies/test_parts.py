"""Claims about `wilkins bench parts`: its cells are what the records hold, and it goes on where it was stopped."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import wilkins
from agents import trainer
from agents.runs import Checkpoint, Record, load_run
from studies.parts import best_after
from studies.statistics import mean_and_error

Capture = pytest.CaptureFixture[str]


def parts(package: Path, runs: Path, *more: str) -> int:
    flags = ["--package", str(package), "--runs", str(runs), "--name", "p", "--calls", "8192", "--seeds", "2", *more]
    return wilkins.main(["bench", "parts", *flags])


def test_an_agent_is_the_best_that_a_training_had_until_then() -> None:
    found = [(8, 0, 5.0), (16, 0, 4.0), (16, 1, 7.0), (16, 2, 6.0)]
    record = Record("x", tuple(Checkpoint(steps, lessons, {"x": score}) for steps, lessons, score in found))
    assert [best_after(record, lessons) for lessons in range(3)] == [5.0, 7.0, 7.0]


def test_cells_are_what_the_runs_hold_and_nothing_is_trained_twice(
    small_package: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, done = trainer.train, []

    def once(game, settings, console):  # type: ignore[no-untyped-def]
        if len(done) == 1:
            raise KeyboardInterrupt
        done.append(settings.seed)
        return train(game, settings, console)

    monkeypatch.setattr(trainer, "train", once)
    assert parts(small_package, tmp_path, "--lessons", "1") == 130
    monkeypatch.undo()
    first = (tmp_path / "p" / "calls-8192" / "seed-0" / "record.json").stat().st_mtime_ns
    capsys.readouterr()
    assert parts(small_package, tmp_path, "--lessons", "1") == 0
    assert (tmp_path / "p" / "calls-8192" / "seed-0" / "record.json").stat().st_mtime_ns == first
    told = capsys.readouterr().out
    records = [load_run(tmp_path / "p" / "calls-8192" / f"seed-{seed}").record() for seed in (0, 1)]
    scores = np.array([[best_after(record, lessons) for lessons in (0, 1)] for record in records if record])
    cells = [f"{mean:.2f} ±{error:.2f}" for mean, error in map(mean_and_error, scores.T)]
    assert re.search(rf"8,192 .*{re.escape(cells[0])}.*{re.escape(cells[1])}", told), told


def test_a_folder_of_other_settings_is_refused(small_package: Path, tmp_path: Path, capsys: Capture) -> None:
    assert parts(small_package, tmp_path, "--lessons", "0", "--seeds", "1") == 0
    capsys.readouterr()
    assert parts(small_package, tmp_path, "--lessons", "1", "--seeds", "1") == 2
    error = capsys.readouterr().err
    assert "holds a run of other settings; choose another --name" in error
    assert error.count("\n") == 1

"""Claims about `wilkins sweep`: what it tries, that it goes on, and that what goes wrong is a line and loses nothing."""

from __future__ import annotations

import importlib.util
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import wilkins
from agents.cabinet.run import CabinetSettings
from agents.runs import load_run
from agents.trainer import Settings
from games.cabinet import Cabinet
from studies.sweep import Sweep, SweepSettings, ranges

optuna = pytest.importorskip("optuna", reason="needs wilkins[scale]")

Capture = pytest.CaptureFixture[str]
LITTLE = ["--steps", "512", "--games", "16", "--horizon", "16", "--evaluations", "2", "--lessons", "0", "--name", "s"]


def sweep(package: Path, runs: Path, *more: str | Path) -> int:
    return wilkins.main(["sweep", "--package", str(package), "--runs", str(runs), *LITTLE, *map(str, more)])


def refusal(capsys: Capture, code: int) -> str:
    captured = capsys.readouterr()
    assert code == 2, captured
    assert captured.err.count("\n") == 1, captured.err
    assert "Traceback" not in captured.err
    return captured.err


def study_of(runs: Path) -> Any:
    return optuna.load_study(study_name="s", storage=f"sqlite:///{runs / 's' / 'study.db'}")


def test_what_is_searched_stands_in_the_settings_and_holds_their_defaults() -> None:
    found = ranges(Settings(), CabinetSettings())
    assert {"learning_rate", "entropy", "clip", "width", "asks"} <= set(found)
    chosen = {**vars(Settings()), **vars(CabinetSettings())}
    for name, (sought, kind) in found.items():
        assert sought.least <= chosen[name] <= sought.most, name
        assert type(chosen[name]) is kind, name


def test_a_sweep_tries_seeds_goes_on_and_leaves_ordinary_runs(
    small_package: Path, tmp_path: Path, capsys: Capture
) -> None:
    assert sweep(small_package, tmp_path, "--trials", "1", "--seeds", "2") == 0
    first = load_run(tmp_path / "s" / "trial-0" / "seed-1").record()
    assert first is not None
    assert first.best is not None
    (trial,) = study_of(tmp_path).trials
    assert trial.params["learning_rate"] == Settings().learning_rate, "the first trial is what the flags say"
    assert trial.user_attrs["scores"][1] == first.best_score
    assert trial.value == pytest.approx(sum(trial.user_attrs["scores"]) / 2)
    capsys.readouterr()
    assert sweep(small_package, tmp_path, "--trials", "2", "--seeds", "2") == 0  # goes on: one more
    told = capsys.readouterr().out
    assert [each.number for each in study_of(tmp_path).trials] == [0, 1]
    assert study_of(tmp_path).trials[0].datetime_complete == trial.datetime_complete
    best = re.search(r"best run +(\S+)", told)
    assert best
    assert load_run(Path(best[1]), "cabinet").record() is not None
    assert re.search(r"\d\d\.\d\d ±\d\.\d\d", told)
    code = sweep(small_package, tmp_path, "--trials", "2", "--seeds", "3")
    assert "begun with other settings" in refusal(capsys, code)


def test_a_trial_that_a_killed_driver_left_is_taken_up(small_package: Path, tmp_path: Path) -> None:
    assert sweep(small_package, tmp_path, "--trials", "1", "--seeds", "1") == 0
    left = study_of(tmp_path).ask()
    assert sweep(small_package, tmp_path, "--trials", "2", "--seeds", "1") == 0
    trials = study_of(tmp_path).trials
    assert [each.state.name for each in trials] == ["COMPLETE", "COMPLETE"]
    assert trials[1].number == left.number


def test_a_sweep_that_goes_on_draws_other_settings_than_before(small_package: Path, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    drawn = []
    for trials in (2, 1):  # the first of all is what the flags say
        begun = Sweep(Cabinet(CabinetSettings(package=small_package)), SweepSettings(), Settings("s", tmp_path))
        study = begun._opened()
        drawn += [begun.suggested(study.ask())[0] for _ in range(trials)]
    assert drawn[0].learning_rate == Settings().learning_rate
    assert len({each.learning_rate for each in drawn}) == 3


def test_trials_that_all_fail_end_in_a_line(small_package: Path, tmp_path: Path, capsys: Capture) -> None:
    for number in range(3):  # a file stands where each trial wants its folder
        (tmp_path / "s" / f"trial-{number}").mkdir(parents=True)
        (tmp_path / "s" / f"trial-{number}" / "seed-0").write_text("in the way")
    error = refusal(capsys, sweep(small_package, tmp_path, "--trials", "5", "--seeds", "1"))
    assert "3 trials failed, the last one with:" in error
    assert {each.state.name for each in study_of(tmp_path).trials} == {"FAIL"}


def test_a_storage_that_is_locked_or_no_storage_is_a_line(small_package: Path, tmp_path: Path, capsys: Capture) -> None:
    database = tmp_path / "shared.db"
    holder = sqlite3.connect(database)
    holder.execute("create table held (one int)")
    holder.execute("begin exclusive")
    error = refusal(capsys, sweep(small_package, tmp_path, "--storage", f"sqlite:///{database}"))
    assert "database is locked" in error
    holder.close()
    error = refusal(capsys, sweep(small_package, tmp_path, "--storage", "nothing-known://user:secret@host/db"))
    assert "secret" not in error
    assert "storage" in error


def test_without_optuna_a_line_says_what_to_install(
    small_package: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "optuna" else find(name, *rest)
    )
    assert "pip install 'wilkins[scale]'" in refusal(capsys, sweep(small_package, tmp_path))

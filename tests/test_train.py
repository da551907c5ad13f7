"""Claims about the main job: what it writes, that it repeats itself, that it goes on exactly, and what it refuses."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch as th
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import games.cabinet
import train
import wilkins
from agents import trainer
from agents.cabinet.run import load_cabinet_run
from agents.identification.play import expected_score
from agents.runs import Record, load_run
from env.cabinet.rules import limit
from env.identification.belief import Assumed
from env.identification.package import load_package
from export.cabinet.graph import read_graph

Capture = pytest.CaptureFixture[str]
Train = Callable[..., int]
ROOT = Path(train.__file__).parent


def record_of(folder: Path) -> Record:
    record = load_run(folder).record()
    assert record is not None
    return record


def weights(folder: Path) -> dict[str, np.ndarray]:
    """Everything that the last checkpoint holds: parameters, the optimiser's moments, games, random generators."""
    run = load_run(folder)
    with np.load(run.path(run.checkpoint("last"))) as stored:
        return {name: stored[name] for name in stored.files}


def assert_same_weights(one: Path, other: Path) -> None:
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Ask the training to stop, as Ctrl-C does, at a number of steps; 0 is never."""

    def arrange(steps: int) -> None:
        step = trainer.Watch._on_step

        def watched(watch: trainer.Watch) -> bool:
            watch.asked_to_stop |= watch.num_timesteps >= steps
            return step(watch)

        monkeypatch.undo()
        if steps:
            monkeypatch.setattr(trainer.Watch, "_on_step", watched)

    return arrange


def one_line(capsys: Capture) -> str:
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert "Traceback" not in error
    return error


# What a run writes


def test_a_run_folder_holds_everything_that_the_job_promises(trained_run: Path) -> None:
    promised = {
        "config.json",
        "record.json",
        "checkpoints",
        "policy.json",
        "submission.zip",
        "source.zip",
        "policy.html",
    }
    names = {path.name for path in trained_run.iterdir()}
    assert promised <= names
    assert not [name for name in names if name.startswith(".")], "a temporary file was left"
    with zipfile.ZipFile(trained_run / "submission.zip") as archive:
        assert archive.read("policy.json") == (trained_run / "policy.json").read_bytes()


def test_the_configuration_says_how_the_run_came_about(trained_run: Path, small_package: Path) -> None:
    config = json.loads((trained_run / "config.json").read_text())
    package = load_package(small_package)
    assert config["game"] == "cabinet"
    assert config["settings"]["seed"] == 0
    assert config["settings"]["steps"] == 4096
    assert config["choices"]["noise"] == package.noise
    assert config["choices"]["package"] == str(small_package)
    assert config["world"] == {
        "animals": 60,
        "questions": 24,
        "animals_sha256": package.animals.sha256,
        "questions_sha256": package.questions.sha256,
    }
    assert {"wilkins", "python", "torch", "numpy", "gymnasium", "stable_baselines3", "sb3_contrib"} <= set(
        config["versions"]
    )


def test_the_curves_hold_scores_rounds_and_settings(trained_run: Path, small_package: Path) -> None:
    curves = EventAccumulator(str(trained_run), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
    curves.Reload()
    tags = curves.Tags()
    names = ("dev_score", "test1_score", "hidden_score", "solved_rate", "mean_calls", "limit")
    values = {name: [(event.step, event.value) for event in curves.Scalars(f"eval/{name}")] for name in names}
    for name in names:
        assert [step for step, _ in values[name]][:2] == [1024, 2048], name
        assert np.isfinite([value for _, value in values[name]]).all()
    hidden = len(load_package(small_package).hidden)
    assert values["limit"][0][1] == pytest.approx(limit(hidden), abs=1e-4)
    assert all(0 < value <= limit(hidden) + 1e-4 for _, value in values["hidden_score"])
    assert all(0 < value <= 1 for _, value in values["solved_rate"])
    assert all(1 <= value <= 15 for _, value in values["mean_calls"])
    assert "time/steps_per_second" in tags["scalars"]
    assert "train/loss" in tags["scalars"]
    (calls, *_) = curves.Histograms("eval/calls")
    assert calls.histogram_value.num == hidden
    assert calls.histogram_value.min >= 1
    assert calls.histogram_value.max <= 15
    assert "_hparams_/session_start_info" in curves.summary_metadata
    settings = curves.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    assert b"learning_rate" in settings
    assert b"steps" in settings


def test_the_best_agent_is_the_one_of_the_highest_exact_hidden_score(trained_run: Path, small_package: Path) -> None:
    curves = EventAccumulator(str(trained_run))
    curves.Reload()
    scores = [event.value for event in curves.Scalars("eval/hidden_all_noise_score")]
    best = record_of(trained_run).best
    assert best is not None
    assert best.scores["hidden_all_noise"] == pytest.approx(max(scores), abs=1e-4)
    run, package = load_cabinet_run(trained_run), load_package(small_package)
    player = run.player(package.among(), Assumed(run.noise))
    assert expected_score(player) == pytest.approx(best.scores["hidden"], abs=1e-9)


def test_old_checkpoints_give_way_except_for_the_best(trained_run: Path, train_small: Train, tmp_path: Path) -> None:
    assert train_small("--runs", tmp_path, "--name", "few", "--keep", "1", "--improve-seconds", "0") == 0
    record, whole = record_of(tmp_path / "few"), record_of(trained_run)
    assert [each.scores for each in record.evaluated] == [each.scores for each in whole.evaluated]
    assert record.best is not None
    assert record.last is not None
    kept = {record.best.file, record.last.file}
    assert {each.file for each in record.evaluated if each.kept} == kept
    assert {path.name for path in (tmp_path / "few" / "checkpoints").iterdir()} == kept


# Repeating and going on


def test_the_same_seed_gives_the_same_policy_byte_for_byte_and_another_seed_other_weights(
    trained_run: Path, train_small: Train, tmp_path: Path
) -> None:
    assert train_small("--runs", tmp_path, "--name", "again") == 0
    for name in ("policy.json", "submission.zip", "source.zip"):
        assert (tmp_path / "again" / name).read_bytes() == (trained_run / name).read_bytes(), name
    assert_same_weights(tmp_path / "again", trained_run)
    assert train_small("--runs", tmp_path, "--name", "other", "--seed", "1", "--steps", "1024") == 0
    other, first = (weights(folder) for folder in (tmp_path / "other", trained_run))
    assert any((other[name] != first[name]).any() for name in other)


@pytest.mark.parametrize("steps", [1, 1500])
def test_a_stopped_run_goes_on_to_the_same_result_as_an_unbroken_one(
    trained_run: Path,
    train_small: Train,
    tmp_path: Path,
    stop_after: Callable[[int], None],
    steps: int,
    capsys: Capture,
) -> None:
    stop_after(steps)
    assert train_small("--runs", tmp_path, "--name", "broken") == 130
    folder = tmp_path / "broken"
    assert f"go on with: wilkins train --resume {folder}" in capsys.readouterr().out.replace("\n", " ").replace(
        "  ", " "
    )
    assert not (folder / "policy.json").exists()
    stop_after(0)
    np.random.seed(99)  # noqa: NPY002  -- whatever happened in between must not matter
    th.manual_seed(99)
    assert wilkins.main(["train", "--resume", str(folder)]) == 0
    assert_same_weights(folder, trained_run)
    for name in ("policy.json", "record.json"):
        assert (folder / name).read_bytes() == (trained_run / name).read_bytes()


def test_lessons_keep_the_better_agent_and_are_the_same_after_a_stop(
    trained_run: Path, train_small: Train, tmp_path: Path, stop_after: Callable[[int], None]
) -> None:
    taught = ("--runs", tmp_path, "--lessons", "1", "--improve-seconds", "0", "--steps", "2048")
    assert train_small(*taught, "--name", "whole") == 0
    stop_after(1)
    assert train_small(*taught, "--name", "broken") == 130
    stop_after(0)
    assert wilkins.main(["train", "--resume", str(tmp_path / "broken")]) == 0
    for name in ("policy.json", "record.json"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    curves = EventAccumulator(str(tmp_path / "whole"))
    curves.Reload()
    scores = [event.value for event in curves.Scalars("eval/hidden_all_noise_score")]
    assert len(scores) == 3
    assert record_of(tmp_path / "whole").best_score == pytest.approx(max(scores), abs=1e-4)


def test_evaluations_do_not_change_what_is_learned(trained_run: Path, train_small: Train, tmp_path: Path) -> None:
    assert train_small("--runs", tmp_path, "--name", "seldom", "--evaluations", "1", "--improve-seconds", "0") == 0
    assert_same_weights(tmp_path / "seldom", trained_run)


def test_a_finished_run_that_is_resumed_is_exported_again(train_small: Train, tmp_path: Path) -> None:
    assert train_small("--runs", tmp_path, "--name", "done", "--steps", "1024") == 0
    before = (tmp_path / "done" / "policy.json").read_bytes()
    (tmp_path / "done" / "policy.json").unlink()
    assert wilkins.main(["train", "--resume", str(tmp_path / "done")]) == 0
    assert (tmp_path / "done" / "policy.json").read_bytes() == before


def test_ctrl_c_saves_and_says_how_to_go_on(small_package: Path, tmp_path: Path) -> None:
    flags = f"--package {small_package} --runs {tmp_path} --name mine --steps 100000000 --games 32 --horizon 16"
    command = [sys.executable, str(ROOT / "train.py"), *flags.split(), "--evaluations", "100000", "--width", "16"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob("mine/checkpoints/*.npz")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "wilkins train --resume" in out
    last = record_of(tmp_path / "mine").last
    assert last is not None
    assert last.steps % 512 == 0
    assert last.steps > 0


# What is refused


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--steps 0", "--steps 0: between 1 and 1,000,000,000,000 is needed"),
        ("--steps -5", "--steps -5"),
        ("--steps 10000000000000", "--steps 10000000000000"),
        ("--games 100000000", "--games 100000000: between 1 and 65,536 is needed"),
        ("--games 65536 --horizon 65536", "at most 4194304 are possible"),
        ("--width 1000000", "--width 1000000: between 1 and 4,096 is needed"),
        ("--asks 1000000000000", "--asks 1000000000000"),
        ("--noise 1e308", "--noise 1e+308"),
        ("--keep 0", "--keep 0"),
        ("--games 0", "--games 0"),
        ("--evaluations 0", "--evaluations 0"),
        ("--batch 1", "--batch 1: between 2"),
        ("--games 3 --horizon 43 --batch 128", "minibatch of a single call"),
        ("--noise -1", "is needed"),
        ("--noise nan", "is needed"),
        ("--levels 0.1 inf", "is needed"),
        ("--learning-rate nan", "--learning-rate nan"),
        ("--max-nodes 0", "--max-nodes 0"),
        ("--max-nodes 32768", "--max-nodes 32768"),
        ("--seed -1", "--seed -1"),
        ("--doubt 1.1", "--doubt 1.1: between 0.0 and 1.0 is needed"),
        ("--device abacus", "--device abacus: choose cpu, cuda or auto"),
        ("--package /nowhere", "no package folder /nowhere"),
        ("--resume /nowhere", "no run folder /nowhere"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_a_line_before_anything_is_written(
    train_small: Train, tmp_path: Path, capsys: Capture, flags: str, message: str
) -> None:
    assert train_small("--runs", tmp_path, "--name", "no", *flags.split()) == 2
    assert message in one_line(capsys)
    assert not list(tmp_path.iterdir())


def test_a_run_that_exists_is_refused_and_left_alone(trained_run: Path, train_small: Train, capsys: Capture) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in trained_run.iterdir()}
    assert train_small("--runs", trained_run.parent, "--name", trained_run.name) == 2
    assert f"{trained_run} holds a run already; go on with --resume {trained_run}" in one_line(capsys)
    assert {path.name: path.stat().st_mtime_ns for path in trained_run.iterdir()} == before


def copy_of(run: Path, folder: Path, **changes: object) -> Path:
    """A run folder like `run`, with other entries in its configuration."""
    folder.mkdir()
    (folder / "record.json").write_bytes((run / "record.json").read_bytes())
    shutil.copytree(run / "checkpoints", folder / "checkpoints")
    config = json.loads((run / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    return folder


def test_a_run_of_another_package_is_refused_with_both_digests(
    trained_run: Path, make_package: Callable[..., Path], tmp_path: Path, capsys: Capture
) -> None:
    other = make_package(animals=30)
    config = json.loads((trained_run / "config.json").read_text())
    folder = copy_of(trained_run, tmp_path / "run", choices=config["choices"] | {"package": str(other)})
    assert wilkins.main(["train", "--resume", str(folder)]) == 2
    line = one_line(capsys)
    assert config["world"]["animals_sha256"] in line
    assert load_package(other).animals.sha256 in line


SETTINGS_THAT_CANNOT_BE: list[dict[str, object]] = [
    {"steps": float("inf")},
    {"steps": "many"},
    {"steps": True},
    {"games": 10**12},
    {"learning_rate": float("nan")},
    {"runs": 3},
    {"device": None},
]
CHOICES_THAT_CANNOT_BE: list[dict[str, object]] = [
    {"noise": -1},
    {"noise": float("inf")},
    {"levels": 0.1},
    {"levels": [0.1, "x"]},
    {"asks": 10**12},
    {"width": 10**9},
    {"package": 7},
]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"game": "cabinet", "settings": {}, "choices": {}, "world": {}}',
        {"game": 1},
        {"world": []},
        {"settings": []},
        {"settings": {}},
        {"settings": {"more": 1}},
        {"choices": {"noise": -1}},
        *({"settings": change} for change in SETTINGS_THAT_CANNOT_BE),
        *({"choices": change} for change in CHOICES_THAT_CANNOT_BE),
    ],
    ids=lambda content: str(content)[:30],
)
def test_a_damaged_configuration_is_one_line(
    trained_run: Path, tmp_path: Path, capsys: Capture, content: bytes | dict[str, object]
) -> None:
    changes = content if isinstance(content, dict) else {}
    config = json.loads((trained_run / "config.json").read_text())
    for part, change in changes.items():
        if change in SETTINGS_THAT_CANNOT_BE + CHOICES_THAT_CANNOT_BE:
            changes = {part: config[part] | change}
    folder = copy_of(trained_run, tmp_path / "run", **changes)
    if isinstance(content, bytes):
        (folder / "config.json").write_bytes(content)
    assert wilkins.main(["train", "--resume", str(folder)]) == 2
    assert f"{folder / 'config.json'}: not the" in one_line(capsys)


@pytest.mark.parametrize("damage", ["missing", "empty", "half", "another archive"])
@pytest.mark.parametrize(("which", "command"), [("best", "export"), ("last", "train")])
def test_a_damaged_checkpoint_is_one_line(
    trained_run: Path, tmp_path: Path, capsys: Capture, which: str, command: str, damage: str
) -> None:
    folder = copy_of(trained_run, tmp_path / "run")
    run = load_run(folder)
    path = run.path(run.checkpoint(which))
    content = path.read_bytes()
    path.unlink()
    if damage == "another archive":
        path.write_bytes((trained_run / "submission.zip").read_bytes())
    elif damage != "missing":
        path.write_bytes({"empty": b"", "half": content[: len(content) // 2]}[damage])
    words = ["export", str(folder)] if command == "export" else ["train", "--resume", str(folder)]
    assert wilkins.main(words) == 2
    line = one_line(capsys)
    assert str(path) in line
    assert "choose another with --checkpoint" in line
    assert not (folder / "policy.json").exists()


def test_a_run_stopped_while_it_is_exported_says_how_to_go_on(
    train_small: Train, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(games.cabinet, "export_run", Mock(side_effect=KeyboardInterrupt))
        assert train_small("--runs", tmp_path, "--name", "broken", "--steps", "1024") == 130
    folder = tmp_path / "broken"
    captured = capsys.readouterr()
    assert f"trained, not exported; go on with: wilkins train --resume {folder}" in captured.out
    assert captured.err == "wilkins train: interrupted\n"
    assert wilkins.main(["view", str(folder), "--out", str(tmp_path / "v.html")]) == 2
    assert f"'wilkins export {folder}' writes its policy" in capsys.readouterr().err
    assert wilkins.main(["train", "--resume", str(folder)]) == 0
    assert (folder / "policy.json").exists()


def test_a_run_stopped_before_its_first_evaluation_has_nothing_to_export(
    train_small: Train, tmp_path: Path, stop_after: Callable[[int], None], capsys: Capture
) -> None:
    stop_after(1)
    assert train_small("--runs", tmp_path, "--name", "early", "--evaluations", "1") == 130
    capsys.readouterr()
    assert wilkins.main(["export", str(tmp_path / "early")]) == 2
    assert "stopped before its first evaluation" in one_line(capsys)


def test_a_place_that_cannot_be_written_to_is_one_line(train_small: Train, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").write_text("in the way")
    assert train_small("--runs", tmp_path / "file", "--name", "x") == 2
    assert f"cannot write {tmp_path / 'file' / 'x' / 'config.json'}" in one_line(capsys)


@pytest.mark.parametrize("fits", [1, 2, 3])
def test_a_disk_that_fills_up_leaves_nothing_half_written(
    train_small: Train, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, fits: int
) -> None:
    synced = []

    def full(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) > fits:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    before = signal.getsignal(signal.SIGINT)
    assert train_small("--runs", tmp_path, "--name", "full") == 2
    assert "No space left on device; free space or choose another place" in one_line(capsys)
    assert signal.getsignal(signal.SIGINT) is before
    files = [path for path in (tmp_path / "full").rglob("*") if path.is_file() and not path.name.startswith("events")]
    written = ["config.json", "record.json", "checkpoints/1024.npz", "checkpoints/2048.npz"]
    assert {str(path.relative_to(tmp_path / "full")) for path in files} == set(written[:fits])
    for path in files:
        assert zipfile.is_zipfile(path) if path.suffix == ".npz" else json.loads(path.read_bytes())


@pytest.mark.parametrize("curves", [False, True], ids=["checkpoints", "curves"])
def test_a_run_folder_that_vanishes_ends_training_in_one_line(
    train_small: Train, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, curves: bool
) -> None:
    """Whether the checkpoint fails first, or the thread that writes the curves."""
    step = trainer.Watch._on_step

    def vanishing(watch: trainer.Watch) -> bool:
        if watch.num_timesteps >= 1500 and watch.run.folder.exists():
            if curves:
                (writer,) = (each.writer for each in watch.logger.output_formats)
                folder = watch.run.folder.rename(tmp_path / "elsewhere")
                writer.file_writer.event_writer._async_writer._worker._next_flush_time = 0
                writer.add_scalar("x", 1.0)
                writer.file_writer.event_writer._async_writer._worker.join(10)
                assert not writer.file_writer.event_writer._async_writer._worker.is_alive()
                shutil.rmtree(folder)
            else:
                shutil.rmtree(watch.run.folder)
        return step(watch)

    monkeypatch.setattr(trainer.Watch, "_on_step", vanishing)
    before = threading.excepthook
    assert train_small("--runs", tmp_path, "--name", "gone") == 2
    assert f"the run folder {tmp_path / 'gone'} is gone; nothing more can be kept" in one_line(capsys)
    assert threading.excepthook is before


# One program


def test_train_py_and_the_subcommand_are_the_same_program() -> None:
    helps = [
        subprocess.run([sys.executable, *words, "--help"], capture_output=True, text=True, timeout=120, cwd=ROOT)
        for words in (["train.py"], ["-m", "wilkins", "train"])
    ]
    assert helps[0].stdout == helps[1].stdout
    assert [done.returncode for done in helps] == [0, 0]
    for flag in ("--package", "--seed", "--resume", "--learning-rate", "--improve-seconds", "--max-nodes"):
        assert flag in helps[0].stdout


def test_the_trained_policy_is_read_back_from_its_run(trained_run: Path, small_package: Path) -> None:
    package = load_package(small_package)
    graph = read_graph(trained_run, package.animals, package.questions)
    assert len(graph) > len(package.hidden)

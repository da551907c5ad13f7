"""Claims about where trainings run: a cluster gives what one machine gives, and what ends or lacks something costs no trial."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wilkins
from agents.runs import CHECKPOINTS, load_run
from env.errors import UserError
from studies import engines
from studies.engines import Task, train_there
from tests.processes import processes

optuna = pytest.importorskip("optuna", reason="needs wilkins[scale]")
ray = pytest.importorskip("ray", reason="needs wilkins[scale]")

ROOT = Path(__file__).parents[2]
Capture = pytest.CaptureFixture[str]
LITTLE = "--steps 512 --games 16 --horizon 16 --evaluations 2 --lessons 0 --name s"
LONG = LITTLE.replace("--steps 512", "--steps 12800").replace("--evaluations 2", "--evaluations 50")


def words(package: Path, runs: Path, little: str, *more: str | Path) -> list[str]:
    return ["sweep", "--package", str(package), "--runs", str(runs), *little.split(), *map(str, more)]


def sweep(package: Path, runs: Path, *more: str | Path, little: str = LITTLE) -> int:
    return wilkins.main(words(package, runs, little, *more))


def study_of(runs: Path) -> Any:
    return optuna.load_study(study_name="s", storage=f"sqlite:///{runs / 's' / 'study.db'}")


def refusal(capsys: Capture, code: int) -> str:
    captured = capsys.readouterr()
    assert code == 2, captured
    assert captured.err.count("\n") == 1, captured.err
    return captured.err


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two nodes with a core each, to which this process is connected; the second one is called odd."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")
        before = signal.getsignal(signal.SIGTERM)
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        made.add_node(num_cpus=1, env_vars={"WILKINS_TEST_NODE": "odd"})
        ray.init(made.address, log_to_driver=False, logging_level=50)
        yield made
        ray.shutdown()
        made.shutdown()
        signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def alone(small_package: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[float]]:
    """Scores of three trials of two seeds, by processes of this machine."""
    runs = tmp_path_factory.mktemp("alone")
    assert sweep(small_package, runs, "--trials", "3", "--seeds", "2") == 0
    return scores(runs)


def scores(runs: Path) -> dict[int, list[float]]:
    return {each.number: each.user_attrs["scores"] for each in study_of(runs).trials}


def tasks_running() -> list[int]:
    return processes(lambda told: told.startswith(b"ray::train_there") or b"ray::odd" in told)


def soon(act: Callable[[], bool]) -> threading.Thread:
    """Call `act` again and again until it says that it is done."""

    def run() -> None:
        begun = time.monotonic()
        while not act() and time.monotonic() - begun < 60:
            time.sleep(0.05)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def kept(run: Path) -> int:
    return len(list((run / CHECKPOINTS).glob("*.npz")))


def test_two_nodes_find_what_one_machine_finds(
    cluster: Any, small_package: Path, tmp_path: Path, alone: dict[int, list[float]], capsys: Capture
) -> None:
    assert sweep(small_package, tmp_path, "--trials", "3", "--seeds", "2", "--ray") == 0
    told = capsys.readouterr().out
    assert scores(tmp_path) == alone
    best = re.search(r"best run +(\S+)", told)
    assert best
    assert load_run(Path(best[1]), "cabinet").record() is not None


def odd_training(task: Task, token: str) -> int:
    return train_there(task, "another disk" if os.environ.get("WILKINS_TEST_NODE") else token)


def test_a_node_that_does_not_see_the_folder_is_named_and_left_out(
    cluster: Any, small_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(engines, "train_there", odd_training)
    assert sweep(small_package, tmp_path, "--trials", "2", "--seeds", "1", "--ray") == 0
    told = capsys.readouterr().out
    assert re.search(r"node \S+: \S+ does not see the folder .*--runs.*; goes on without it", told)
    assert [each.state.name for each in study_of(tmp_path).trials] == ["COMPLETE", "COMPLETE"]


def test_no_node_that_can_train_is_a_line_and_no_trial_is_lost(
    cluster: Any, small_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(engines.Nodes, "start", lambda self, task: engines._Remote(self, first(self), moved(task)))

    def first(nodes: Any) -> Any:
        node = next(iter(nodes._nodes.values()))
        nodes._busy[node.key] += 1
        return node

    def moved(task: Task) -> Task:
        return engines.replace(task, folder=Path("/not/here"))

    error = refusal(capsys, sweep(small_package, tmp_path, "--trials", "2", "--seeds", "1", "--ray"))
    assert "no node can train" in error
    assert "the same command goes on" in error
    monkeypatch.undo()
    assert sweep(small_package, tmp_path, "--trials", "2", "--seeds", "1", "--ray") == 0
    assert [each.state.name for each in study_of(tmp_path).trials] == ["COMPLETE", "COMPLETE"]


def test_another_package_on_a_node_is_told(small_package: Path, tmp_path: Path) -> None:
    from agents.cabinet.run import CabinetSettings
    from agents.trainer import Settings
    from games.cabinet import Cabinet

    (tmp_path / engines.TOKEN).write_text("x")
    choices = Cabinet(CabinetSettings(package=small_package)).choices
    task = Task(tmp_path, Cabinet, choices, {"animals_sha256": "another"}, Settings(runs=tmp_path), tmp_path / "log")
    with pytest.raises(UserError, match="another package in that place"):
        train_there(task, "x")


def test_a_killed_training_on_a_node_goes_on_from_its_checkpoint(
    cluster: Any, small_package: Path, tmp_path: Path, capsys: Capture
) -> None:
    run = tmp_path / "s" / "trial-0" / "seed-0"
    seen: list[bytes] = []

    def kill() -> bool:
        if kept(run) < 3 or not (victims := tasks_running()):
            return False
        seen.append((run / "record.json").read_bytes())
        os.kill(victims[0], signal.SIGKILL)
        return True

    thread = soon(kill)
    assert sweep(small_package, tmp_path, "--trials", "1", "--seeds", "1", "--ray", little=LONG) == 0
    thread.join()
    assert seen
    assert "seed-0: its process ended" in capsys.readouterr().out
    (trial,) = study_of(tmp_path).trials
    assert trial.state.name == "COMPLETE"
    unbroken = tmp_path / "unbroken"
    assert sweep(small_package, unbroken, "--trials", "1", "--seeds", "1", little=LONG) == 0
    assert study_of(unbroken).trials[0].user_attrs["scores"] == trial.user_attrs["scores"]


def test_a_driver_that_is_killed_loses_nothing(small_package: Path, tmp_path: Path) -> None:
    run = tmp_path / "s" / "trial-0" / "seed-0"
    flags = ["--trials", "1", "--seeds", "1"]
    program = f"import wilkins; wilkins.main({words(small_package, tmp_path, LONG, *flags)!r})"
    driver = subprocess.Popen([sys.executable, "-c", f"if __name__ == '__main__': {program}"], cwd=ROOT)
    thread = soon(lambda: kept(run) >= 3)
    thread.join()
    driver.kill()
    driver.wait()
    steps = load_run(run).record().last.steps  # type: ignore[union-attr]
    assert sweep(small_package, tmp_path, *flags, little=LONG) == 0  # at once, its training may still be saving
    (trial,) = study_of(tmp_path).trials
    assert trial.state.name == "COMPLETE"
    record = load_run(run).record()
    assert record is not None
    evaluated = [each.steps for each in record.evaluated]
    assert evaluated == sorted(set(evaluated))
    assert steps in evaluated or steps < evaluated[-1]
    assert np.isfinite(trial.value)


def test_an_address_nobody_answers_at_is_said_in_one_line(
    small_package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    error = refusal(capsys, sweep(small_package, tmp_path, "--ray", f"127.0.0.1:{port}"))
    assert "nobody answers (Connection refused)" in error
    error = refusal(capsys, sweep(small_package, tmp_path, "--ray", "a:1", "b:1"))
    assert "one address is enough" in error

"""The whole way through the installed command, each step a process of its own: synth, train, evaluate, validate, replay."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from env.cabinet.rules import limit
from env.identification.package import load_package
from export.cabinet.graph import read_graph
from export.cabinet.score import walk


def wilkins(folder: Path, *words: str) -> str:
    """Standard output of one command that has to succeed without a word on standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "wilkins", *words], capture_output=True, text=True, timeout=300, cwd=folder
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_from_nothing_to_an_archive_that_the_platform_takes(tmp_path: Path) -> None:
    wilkins(tmp_path, "synth", "--animals", "80", "--questions", "40", "--out", "world")
    little = "--steps 6144 --games 32 --horizon 32 --batch 64 --guesses 1 --asks 8 --learning-rate 0.003"
    told = wilkins(
        tmp_path, "train", "--package", "world", "--name", "first", *little.split(), "--improve-seconds", "0.1"
    )
    run, package = tmp_path / "runs" / "first", load_package(tmp_path / "world")
    for word in (
        "dev",
        "test1",
        "hidden",
        "runs/first/submission.zip",
        "runs/first/policy.json",
        "tensorboard --logdir",
    ):
        assert word in told
    report = json.loads(wilkins(tmp_path, "evaluate", "runs/first", "--package", "world", "--json"))
    wilkins(tmp_path, "validate", "runs/first/submission.zip", "--package", "world")
    graph = read_graph(run / "submission.zip", package.animals, package.questions)
    outcome = walk(graph, package.matrix.answer, package.hidden)
    (replayed,) = [row for row in report["rows"] if row["answers"] == "matrix, noise 0"]
    assert replayed["score"] == pytest.approx(100 * outcome.score.mean(), abs=1e-9)
    assert replayed["solved"] > 0.9
    assert replayed["score"] > limit(len(package.hidden)) - 3

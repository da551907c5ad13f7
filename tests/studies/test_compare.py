"""Claims about `wilkins compare`: the same draws for all, a table and a picture, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import wilkins
from agents.runs import load_run
from agents.trainer import stored_policy
from env.errors import UserError
from studies import compare as module
from studies.compare import by_condition, entry

Capture = pytest.CaptureFixture[str]
Train = Callable[..., int]


def compare(*words: str | Path) -> int:
    return wilkins.main(["compare", *map(str, words)])


def refusal(capsys: Capture, *words: str | Path) -> str:
    assert compare(*words) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1, captured.err
    assert "Traceback" not in captured.err
    return captured.err


def test_a_run_beside_itself_gains_exactly_nothing(trained_run: Path, tmp_path: Path, capsys: Capture) -> None:
    assert compare(trained_run, trained_run, "--draws", "3", "--out", tmp_path / "c.svg") == 0
    told = capsys.readouterr().out
    assert told.count("+0.00 [+0.00, +0.00]") == 7  # all conditions together, and six noise levels
    assert "noise 0.05" in told


def test_seeds_of_a_setting_stand_beside_a_run(
    trained_run: Path, two_seeds: Path, tmp_path: Path, capsys: Capture
) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "picture.png"
    assert compare(trained_run, two_seeds, "--draws", "4", "--out", picture) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = re.findall(r"setting .*", capsys.readouterr().out)
    assert len(rows) == 7
    assert all(re.search(r"[+-]\d+\.\d\d \[[+-]", row) for row in rows)


def test_the_same_command_prints_the_same(trained_run: Path, two_seeds: Path, tmp_path: Path, capsys: Capture) -> None:
    told = []
    for _ in range(2):
        assert compare(trained_run, two_seeds, "--draws", "3", "--out", tmp_path / "c.svg") == 0
        told.append((capsys.readouterr().out, (tmp_path / "c.svg").read_bytes()))
    assert told[0] == told[1]


def test_every_agent_meets_the_same_draws(trained_run: Path) -> None:
    ((run, game),) = entry(trained_run).runs
    policy = stored_policy(game, run)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = game.sample(policy, 5), game.sample(policy, 5), game.sample(policy, 6)
    assert first == again != other
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_means_of_many_draws_approach_the_exact_scores(trained_run: Path) -> None:
    ((run, game),) = entry(trained_run).runs
    record = load_run(trained_run).record()
    assert record is not None
    assert record.best is not None
    policy = stored_policy(game, run)
    found = [np.mean(list(game.sample(policy, draw).values())) for draw in range(60)]
    assert np.mean(found) == pytest.approx(record.best.scores["hidden_all_noise"], abs=4 * np.std(found) / np.sqrt(60))


def test_keyword_runs_are_compared_by_games_won(keyword_run: Path, tmp_path: Path, capsys: Capture) -> None:
    assert compare(keyword_run, keyword_run, "--draws", "2", "--out", tmp_path / "c.svg") == 0
    assert "20 games" in capsys.readouterr().out


def test_conditions_that_are_not_common_to_all_are_left_out() -> None:
    found = [[[{"a": 1.0, "b": 2.0}] * 3], [[{"b": 5.0, "c": 6.0}] * 3]]
    assert list(by_condition(found)) == ["b"]
    assert by_condition(found)["b"][1].shape == (1, 3, 1)
    with pytest.raises(UserError, match="different conditions: a, c"):
        by_condition([[[{"a": 1.0}]], [[{"c": 1.0}]]])


def test_what_cannot_be_compared_is_refused_in_a_line(
    trained_run: Path,
    keyword_run: Path,
    train_small: Train,
    make_package: Callable[..., Path],
    tmp_path: Path,
    capsys: Capture,
) -> None:
    assert "a run of keywords" in refusal(capsys, trained_run, keyword_run)
    other = make_package(animals=30, questions=14)
    assert train_small("--package", other, "--runs", tmp_path, "--name", "other", "--steps", "1024") == 0
    capsys.readouterr()
    assert "trained in another world: its animals_sha256" in refusal(capsys, trained_run, tmp_path / "other")
    assert "two runs" in refusal(capsys, trained_run)
    assert "neither a run nor a folder of runs" in refusal(capsys, trained_run, make_package())
    assert "no run folder" in refusal(capsys, trained_run, tmp_path / "nowhere")
    assert ".png or .svg" in refusal(capsys, trained_run, trained_run, "--out", tmp_path / "c.txt")
    assert "--draws 1" in refusal(capsys, trained_run, trained_run, "--draws", "1")


def test_without_matplotlib_the_table_is_printed_all_the_same(
    trained_run: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_can_draw", lambda: False)
    assert compare(trained_run, trained_run, "--draws", "2") == 0
    assert "pip install 'wilkins[scale]'" in capsys.readouterr().out
    assert "matplotlib is missing" in refusal(capsys, trained_run, trained_run, "--out", tmp_path / "c.png")

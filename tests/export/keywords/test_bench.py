"""What an Alpha is worth is measured in the same games, whoever answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from env.errors import UserError
from env.keywords.package import KeywordPackage
from export.keywords import bench
from export.keywords.agent import Agent
from tests.export.keywords.games import invented, keyword_package

QUESTIONS = [f"is it thing {number}?" for number in range(30)]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> KeywordPackage:
    return keyword_package(tmp_path_factory.mktemp("bench") / "p", invented(200), QUESTIONS)


def test_every_partner_plays_the_same_games(small: KeywordPackage, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.bench_alpha(small.package.path, games=12, noise=(0.0,), modes=("check", "trust")) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.split()[:1] in (["off"], ["check"], ["trust"])]  # fmt: skip
    assert len(lines) == 1 + 2 * (1 + len(bench.ALPHAS))
    (off,) = [line for line in lines if line[0] == "off"]
    assert off[3] == "100.0"
    won = {tuple(line[:-4]): float(line[-4]) for line in lines if line[0] != "off"}
    paid = {tuple(line[:-4]): float(line[-1]) for line in lines if line[0] != "off"}
    assert won["check", "true"] == won["trust", "true"] == 100
    assert paid["trust", "false:", "lies"] < paid["check", "false:", "lies"] < float(off[-1])


def test_games_are_those_of_the_seed(small: KeywordPackage) -> None:
    agent = Agent(bench._knowledge(small, "check"))
    lies = bench.ALPHAS["false: a coin"]
    once, again, other = (list(bench._games(agent, small, 0.1, 6, seed, lies)) for seed in (1, 1, 2))
    assert once == again
    assert once != other
    assert np.isin(once, np.arange(21)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": ()}, "--noise"),
        ({"modes": ("maybe",)}, "--modes 'maybe'; choose among check, trust, off"),
        ({"package": Path("/no/such/folder")}, "no package folder"),
    ],
)
def test_mistakes_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        bench.bench_alpha(**options)  # type: ignore[arg-type]

"""The agent file in the real environment of LLM 20 Questions; `make keywords-check` brings that environment."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env.keywords.package import load_keywords
from export.keywords.archive import LARGEST
from export.keywords.command import write

PYTHON = os.environ.get("WILKINS_KAGGLE_PYTHON", "")

pytestmark = pytest.mark.skipif(not PYTHON, reason="the real environment comes with make keywords-check")

ALPHAS = ("alpha", "not alpha", "YES.", "contradicts", "random answerer")
FALSE = ("false alpha: yes", "false alpha: no", "false alpha: lies", "false alpha: random")
FAULTY = ("empty", "nonsense", "None", "number", "raises", "late")
BLIND = ("no lists", "no role", "no keyword", "first turn without keyword")
ODD = ("Kraków, the \N{SNOWMAN} city", "the", "x", "not in any list", "Ångström's T-shirt 2", "a" * 200)


@dataclass(frozen=True)
class Game:
    """A game to play, and afterwards how it went."""

    keyword: str
    players: tuple[str, str, str, str]
    alternatives: tuple[str, ...] = ()
    seconds: float | None = None
    result: Any = None

    def ours(self) -> list[int]:
        """Places of the agent's copies, those that are shown less among them."""
        return [place for place, player in enumerate(self.players) if player == "agent" or player in BLIND]


def wanted() -> list[Game]:
    """Every kind of game; keywords of all tiers of the embedded package, and of none."""
    package = load_keywords()
    names = package.keyword_names
    listed = [names[place] for place in np.linspace(0, len(names) - 1, 15).astype(int)]
    games = [Game(name, ("agent",) * 4, package.alternatives[names.index(name)]) for name in listed]
    games += [Game(name, ("agent",) * 4) for name in ODD]
    games += [
        Game(name, ("agent", "not alpha", "agent", "not alpha"), package.alternatives[names.index(name)])
        for name in listed
    ]
    games += [Game(package.supplementary[9], ("agent", partner, "agent", "agent")) for partner in ("alpha", *FALSE)]
    for number, partner in enumerate((*ALPHAS, *FALSE, *FAULTY)):
        keyword = listed[number]
        games.append(
            Game(keyword, ("agent", partner, "agent", "not alpha"), (), 0.5 if partner == "late" else None),
        )
    games += [Game("zinc", ("random guesser", "agent", "agent", "random answerer"))]
    games += [Game(keyword, ("asks oddly", "agent", "asks oddly", "agent")) for keyword in ("zinc", *ODD)]
    games += [Game("zinc", ("asks oddly", player, "agent", "not alpha")) for player in BLIND]
    games += [Game("zinc", (player, "not alpha", "agent", "not alpha")) for player in BLIND[:2]]
    return games


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> list[Game]:
    """All games, played."""
    folder = tmp_path_factory.mktemp("agent")
    archive = Path(os.environ.get("WILKINS_AGENT_FILE") or folder / "submission.tar.gz")
    if not archive.exists():
        write(out=archive)
    assert archive.stat().st_size < LARGEST
    with tarfile.open(archive) as opened:
        opened.extractall(folder)
    told = [
        {
            "keyword": game.keyword,
            "players": game.players,
            "alternatives": game.alternatives,
            "seed": number,
            **({} if game.seconds is None else {"seconds": game.seconds}),
        }
        for number, game in enumerate(wanted())
    ]
    run = subprocess.run(
        [PYTHON, str(Path(__file__).with_name("real_games.py")), str(folder)],
        input=json.dumps(told), capture_output=True, text=True, check=False, env={"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    results = json.loads(run.stdout)
    return [
        Game(game.keyword, game.players, game.alternatives, game.seconds, result)
        for game, result in zip(wanted(), results, strict=True)
    ]


def told(game: Game) -> str:
    return f"{game.players} {game.keyword!r}: {game.result}"


def test_no_game_is_void_and_no_copy_of_the_agent_errs(games: list[Game]) -> None:
    for game in games:
        assert game.result["void"] is None, told(game)
        for place in game.ours():
            assert game.result["status"][place] == "DONE", told(game)
            assert game.result["complaints"][place] == "", told(game)


def test_the_agent_wins_with_itself(games: list[Game]) -> None:
    together = [game for game in games if game.players == ("agent",) * 4]
    for game in together:
        if game.keyword not in ODD:
            assert game.result["reward"] == [game.result["reward"][0]] * 4, told(game)
            assert game.result["reward"][0] >= 10, told(game)  # round 11, as one of the primary keywords of an Alpha
        else:
            assert len(game.result["teams"][0]["guesses"]) in range(1, 21), told(game)


def test_the_agent_wins_with_who_answers_by_the_same_table(games: list[Game]) -> None:
    honest = [game for game in games if game.players == ("agent", "not alpha", "agent", "not alpha")]
    assert sum(game.result["reward"][0] > 0 for game in honest) >= 0.8 * len(honest), list(map(told, honest))


def test_an_alpha_leads_to_keywords_that_stand_in_no_table(games: list[Game]) -> None:
    name = load_keywords().supplementary[9]
    (game,) = [game for game in games if game.keyword == name and game.players[1] == "alpha"]
    assert game.result["reward"][:2] == [max(game.result["reward"])] * 2, told(game)
    assert game.result["reward"][0] >= 5, told(game)


@pytest.mark.parametrize(("partner", "questions"), [(FALSE[0], 1), (FALSE[1], 4), (FALSE[2], 1)])
def test_a_false_alpha_costs_few_questions(games: list[Game], partner: str, questions: int) -> None:
    for game in games:
        if game.players[1] == partner:
            asked = game.result["teams"][0]["questions"]
            assert sum("precede" in question for question in asked) == questions, told(game)


def test_who_answers_no_yes_or_no_ends_the_game_and_the_others_are_paid(games: list[Game]) -> None:
    for game in games:
        if game.players[1] in FAULTY:
            status = game.result["status"]
            assert status[1] in ("ERROR", "TIMEOUT", "INVALID"), told(game)
            assert status[0] == status[2] == status[3] == "DONE", told(game)
            assert [game.result["reward"][place] for place in (0, 2, 3)] == [1, 1, 1], told(game)
            if game.seconds is not None:  # the environment turns a timeout into an error, too
                assert game.result["seconds"][1][-1] > game.seconds, told(game)
                assert len(game.result["teams"][0]["answers"]) == 1, told(game)


@pytest.mark.parametrize("partner", ["YES.", "contradicts", "random answerer"])
def test_with_a_partner_who_makes_no_sense_the_agent_plays_to_the_end(games: list[Game], partner: str) -> None:
    for game in games:
        if game.players[1] == partner:
            team = game.result["teams"][0]
            assert len(team["questions"]) <= len(set(team["questions"])) + 2, told(game)  # two tests of an Alpha repeat
            assert len(team["guesses"]) == len(set(team["guesses"])), told(game)
            assert len(team["guesses"]) == len(game.result["teams"][1]["guesses"]), told(game)


def test_odd_questions_are_all_answered(games: list[Game]) -> None:
    for game in games:
        if game.players[0] == "asks oddly" and game.players[2] == "asks oddly":
            for team in game.result["teams"]:
                assert len(team["answers"]) == 20, told(game)
                assert set(team["answers"]) <= {"yes", "no"}, told(game)


def test_decisions_are_quick(games: list[Game], capsys: pytest.CaptureFixture[str]) -> None:
    players = [game.result["seconds"][place] for game in games for place in game.ours()]
    first = np.array([seconds[0] for seconds in players])
    later = np.concatenate([seconds[1:] for seconds in players])
    whole = max(map(sum, players))
    with capsys.disabled():
        print(
            f"\nreal environment: {len(games)} games; a decision {1000 * np.median(later):.1f} ms in the median, "
            f"{1000 * np.quantile(later, 0.99):.0f} ms at 99 %, the first with loading {1000 * np.median(first):.0f} ms; "
            f"a whole game of one player at most {whole:.2f} s"
        )
    # What else the machine does may slow down single decisions, not most of them.
    assert np.median(later) < 0.05
    assert whole < 10

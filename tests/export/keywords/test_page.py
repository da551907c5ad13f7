"""Claims about the page of LLM 20 Questions in a real browser: it plays as the agent file does, and shows real games."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wilkins
from agents.keywords.agent import Agent as Trained
from env.keywords.belief import Belief
from env.keywords.package import load_keywords
from env.keywords.world import world_of
from export.keywords.player import Player
from export.keywords.view import page
from tests.browser import SCHEMES, WIDTHS, Open, arrives, comes_true, settle, violations, wider
from tests.export.keywords.test_player import agent_for, beside

pytestmark = pytest.mark.browser

WORLD = world_of(load_keywords())
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def trained() -> Trained:
    return agent_for(WORLD)


@pytest.fixture(scope="module")
def html() -> str:
    return page(WORLD, "keywords")


def player_of(trained: Trained | None) -> Player:
    return beside(Belief.untold(WORLD), trained, int((WORLD.tier == 0).sum()))


def replies(player: Player, keyword: int, answers: np.ndarray) -> tuple[str, list[int], list[int]]:
    """What a reader presses who thinks of a keyword; the questions and the guesses that come then."""
    table: list[tuple[int, bool]] = []
    pressed, asked, guessed = "", [], []
    for number in range(20):
        asked.append(player.choose_question(player.weigh(table, guessed), [q for q, _ in table], number))
        table.append((asked[-1], bool(answers[asked[-1]])))
        guess = player.choose_guess(player.weigh(table, guessed), number)
        pressed += ("y" if table[-1][1] else "n") + ("y" if guess == keyword else "n")
        guessed.append(guess)
        if guess == keyword:
            break
    return pressed, asked, guessed


@pytest.mark.parametrize("kind", ["trained", "belief alone"])
def test_it_asks_and_guesses_what_the_agent_file_does(kind: str, trained: Trained, open_page: Open) -> None:
    agent = trained if kind == "trained" else None
    tab = open_page(page(WORLD, "keywords", agent), "#play")
    player = player_of(agent)
    hidden, answers = WORLD.draw(0.1, 8, seed=5)
    for game, keyword in enumerate(hidden.tolist()):
        pressed, asked, guessed = replies(player, keyword, answers[game])
        table = [(question, reply == "y") for question, reply in zip(asked, pressed[::2], strict=True)]
        for number in range(len(asked)):
            found = tab.evaluate(
                """([table, guessed, number]) => {
                    const { player } = wilkins;
                    const question = player.chooseQuestion(player.weigh(table.slice(0, number), guessed), new Set(table.slice(0, number).map(([q]) => q)), number);
                    return [question, player.chooseGuess(player.weigh(table.slice(0, number + 1), guessed), number)];
                }""",
                [table, guessed[:number], number],
            )
            assert found == [asked[number], guessed[number]], (game, number)


def test_a_game_by_keyboard_to_its_end_and_back(html: str, open_page: Open) -> None:
    player = player_of(None)
    keyword = WORLD.keyword_names.index("teapot") if "teapot" in WORLD.keyword_names else 40
    pressed, asked, guessed = replies(player, keyword, WORLD.answers[keyword] > 0)
    tab = open_page(html)
    for place, key in enumerate(pressed):
        shown = tab.inner_text(".question")
        if place % 2:
            assert shown == f"Is it “{WORLD.keyword_names[guessed[place // 2]]}”?"
        else:
            assert shown.lower() == WORLD.question_names[asked[place // 2]]
        tab.keyboard.press(key)
        arrives(tab, f"#play={pressed[: place + 1]}")
    assert tab.inner_text(".question") == f"Got it: {WORLD.keyword_names[keyword]}."
    assert tab.inner_text(".stage .eyebrow").endswith(f"pays {21 - len(asked)}")
    assert tab.locator(".steps tbody tr").count() == len(asked)
    tab.keyboard.press("u")
    arrives(tab, f"#play={pressed[:-1]}")
    assert tab.inner_text(".question").startswith("Is it “")


def test_dont_know_spends_the_question_and_leaves_the_belief(html: str, open_page: Open) -> None:
    tab = open_page(html)
    question, belief = tab.inner_text(".question"), tab.inner_text(".mind")
    assert tab.inner_text(".stage .eyebrow") == "Round 1 of 20 · a question"
    tab.keyboard.press("d")
    arrives(tab, "#play=d")
    assert tab.inner_text(".mind") == belief
    tab.keyboard.press("d")  # a guess is right or it is not
    tab.keyboard.press("n")
    arrives(tab, "#play=dn")
    assert tab.inner_text(".question") != question
    assert "don’t know" in tab.inner_text(".trail")


def test_the_end_tells_where_answers_parted_from_the_table(html: str, open_page: Open) -> None:
    tab = open_page(html, "#play=" + "n" * 40)
    assert tab.inner_text(".question") == "Out of rounds. You win this one."
    tab.get_by_label("I was thinking of").fill(WORLD.keyword_names[3])
    tab.keyboard.press("Enter")
    asked = tab.locator(".parted li").count()
    assert f"the table answers {asked} of " in tab.inner_text(".ending [role=status]")


# Games of the real environment


def real_game(**changes: Any) -> dict[str, Any]:
    """What `env.toJSON()` of kaggle-environments 1.16.11 holds of a game, as far as it matters here: two rounds."""
    asked = [WORLD.question_names[2].capitalize(), f"Is it {HOSTILE}?"]

    def seat(role: str, rounds: int, keyword: str, guesses: list[str]) -> dict[str, Any]:
        said = {"questions": asked[:rounds], "answers": ["yes", "no"][:rounds], "guesses": guesses[:rounds]}
        return {
            "action": "",
            "reward": 0,
            "observation": {"role": role, "keyword": keyword, "category": "things", **said},
        }

    guesses = (["water", "Tea pots"], [HOSTILE, "cup"])
    steps = [
        [seat(role, rounds, "tea pot" if role == "answerer" else "", pair) for pair in guesses for role in ("guesser", "answerer")]
        for rounds in (0, 1, 2)
    ]  # fmt: skip
    return {"name": "llm_20_questions", "steps": steps, "rewards": [19, 19, 0, 0], **changes}


def choose(tab: Any, content: str) -> None:
    tab.locator("input[type=file]").set_input_files(
        [{"name": "game.json", "mimeType": "application/json", "buffer": content.encode()}]
    )


def test_a_real_game_is_watched_from_its_file(html: str, open_page: Open) -> None:
    tab = open_page(html, "#watch")
    choose(tab, json.dumps(real_game()))
    tab.wait_for_selector(".path")
    assert tab.inner_text(".result h2") == "Tea pot"
    assert "Found in round 2" in tab.inner_text(".verdict")
    assert "not in the table" not in tab.inner_text(".step >> nth=0")
    assert "Tea pots — right" in tab.inner_text(".step >> nth=1")
    tab.get_by_role("button", name="2", exact=True).click()
    arrives(tab, "#watch=2")
    assert "Not found" in tab.inner_text(".verdict")
    assert HOSTILE in tab.inner_text(".path")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "an object is needed"),
        (json.dumps(real_game(name="chess")), "not a game of llm_20_questions"),
        (json.dumps(real_game(steps=[])), "none; the game was not played"),
        (json.dumps(real_game(steps=[[{"observation": {}}]])), "1 players"),
        (json.dumps(real_game(steps=[[None]])), "step 0, player 0: an object is needed"),
        (
            json.dumps(real_game(steps=[[{"observation": {"questions": 3}}] * 4])),
            "player 0, questions: a list is needed",
        ),
    ],
)
def test_a_file_that_is_no_game_is_told_in_a_line(content: str, message: str, html: str, open_page: Open) -> None:
    tab = open_page(html, "#watch")
    choose(tab, content)
    comes_true(tab, "document.querySelector('.message').textContent !== ''")
    assert message in tab.inner_text(".message")
    assert tab.inner_text(".message").startswith("game.json")


def test_the_command_writes_the_page_with_a_game(tmp_path: Path, open_page: Open) -> None:
    (tmp_path / "played.json").write_text(json.dumps(real_game()))
    out = tmp_path / "k.html"
    assert wilkins.main(["keywords", "view", "--game", str(tmp_path / "played.json"), "--out", str(out)]) == 0
    assert wilkins.main(["keywords", "view", "--out", str(tmp_path)]) == 2
    tab = open_page(out.read_text(encoding="utf-8"), "#watch")
    assert tab.inner_text(".result h2") == "Tea pot"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_view_is_accessible_and_fits(html: str, open_page: Open, width: int, scheme: str) -> None:
    tab = open_page(html, "#play=ynd", width=width, **SCHEMES[scheme])
    assert wider(tab) == []
    assert violations(tab) == []
    tab.evaluate("location.hash = '#play=' + 'n'.repeat(40)")
    arrives(tab, "#play=" + "n" * 40)
    assert wider(tab) == []
    assert violations(tab) == []
    tab.evaluate("location.hash = '#watch'")
    settle(tab)
    choose(tab, json.dumps(real_game()))
    tab.wait_for_selector(".path")
    assert wider(tab) == []
    assert violations(tab) == []

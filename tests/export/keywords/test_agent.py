"""The agent plays all three turns, whatever it is shown."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.identification.wordform import word_answer
from env.keywords.comparison import GUESS_LIMIT, QUESTION_LIMIT, read_answer
from env.keywords.package import KeywordPackage
from export.keywords.agent import (
    HANDSHAKE,
    PRECEDES,
    Agent,
    Knowledge,
    LanguageModel,
    Said,
    answer,
    ask,
    belief,
    bisect,
    capacity,
    excerpt,
    find_article,
    guess,
    read_transcript,
)
from export.keywords.archive import PRIMARY
from tests.export.keywords.games import Partner, invented, keyword_package, knowledge, play


def honest(known: Knowledge, noise: float = 0.0, seed: int = 0, alpha: bool = False) -> Partner:
    """Answers by the table, wrongly at a rate; an Alpha only when told to be one."""
    random = np.random.default_rng(seed)

    def partner(question: str, keyword: str, number: int) -> str:
        text = question.lower()
        if text == HANDSHAKE.lower():
            return "yes" if alpha else "no"
        if alpha and "precede" in text:
            return "yes" if word_answer(question, keyword) else "no"
        row, place = known.keywords.index(keyword), known.questions.index(text)
        yes = known.margin[row, place] > 0
        return "yes" if yes ^ (random.random() < noise) else "no"

    return partner


# --- belief ---


def test_belief_is_bayes_rule_written_out(known: Knowledge) -> None:
    said = Said(table=((3, True), (7, False)), guesses=(known.keywords[5],))
    mass = belief(known, said)
    wanted = np.zeros((len(known.weight), 30))
    for noise in range(len(known.weight)):
        for row in range(30):
            chance = known.weight[noise] * known.prior[row]
            for place, yes in said.table:
                rate = known.rates[noise, place]
                p_yes = {1: 1 - rate, -1: rate, 0: 0.5}[int(known.answers[row, place])]
                chance *= p_yes if yes else 1 - p_yes
            wanted[noise, row] = 0 if row == 5 else chance
    np.testing.assert_allclose(mass[:, :30] / mass[:, :30].sum(), wanted / wanted.sum(), rtol=1e-4, atol=1e-9)
    assert mass.sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("noise", "wins"), [(0.0, 24), (0.1, 12)])
def test_games_with_an_honest_partner_are_won(known: Knowledge, noise: float, wins: int) -> None:
    player = Agent(known)
    found = [play(player, honest(known, noise, seed), known.keywords[seed * 37]).won_in for seed in range(25)]
    assert sum(won is not None for won in found) >= wins
    assert Counter(found)[1] <= 2


def test_each_question_and_guess_comes_once(known: Knowledge) -> None:
    game = play(Agent(known), lambda question, keyword, number: "yes" if number % 3 else "no", "not in any list")
    assert len(set(game.questions)) == len(set(game.guesses)) == 20


@pytest.mark.parametrize("replies", [("YES.",), ("no",), ("yes", "no", "Yes, of course.", "I do not know")])
def test_a_partner_who_makes_no_sense_is_played_with_to_the_end(known: Knowledge, replies: tuple[str, ...]) -> None:
    game = play(Agent(known), lambda question, keyword, number: replies[number % len(replies)], "not in any list")
    assert len(game.questions) == len(set(game.guesses)) == 20
    assert len(set(game.questions)) >= 18  # each of two tests of an Alpha repeats a question


@pytest.mark.parametrize("reply", [None, "", "perhaps", 7])
def test_an_answer_that_is_none_ends_the_game(known: Knowledge, reply: object) -> None:
    game = play(Agent(known), lambda question, keyword, number: "no" if number < 3 else reply, "not in any list")
    assert (len(game.questions), len(game.guesses)) == (4, 3)


def test_the_first_turn_may_come_without_keyword_and_the_next_with_one(known: Knowledge) -> None:
    agent, name = Agent(known), known.keywords[8]
    obs = {"role": "answerer", "turnType": "answer", "questions": ["Is it thing 3?"], "keyword": "", "category": ""}
    assert agent(obs) == "no"
    truth = "yes" if known.margin[8, 3] > 0 else "no"
    assert agent({**obs, "keyword": name}) == truth


# --- Alpha ---


def alpha_of(kind: str) -> Partner:
    def partner(question: str, keyword: str, number: int) -> str:
        if question == HANDSHAKE:
            return "yes"
        truth = word_answer(question, keyword)
        says = {"true": truth, "yes": True, "no": False, "lies": not truth}[kind]
        return "yes" if says else "no"

    return partner


def test_rounds_that_bisection_needs() -> None:
    assert [capacity(questions) for questions in (0, 1, 2, 9, 10)] == [0, 2, 6, 1022, 2046]


@pytest.mark.parametrize(("mode", "primary"), [("check", 1022), ("trust", 2046)])
def test_a_true_alpha_leads_to_every_primary_keyword_by_round_11(
    package: KeywordPackage, mode: str, primary: int
) -> None:
    known = knowledge(package, alpha=mode)
    assert len(known.primary) == primary
    player = Agent(known)
    for keyword in known.primary[:: 31 if mode == "check" else 97]:
        game = play(player, alpha_of("true"), keyword)
        assert game.won_in is not None
        assert game.won_in <= 11


def by_bisection(known: Knowledge, keyword: str, rounds: int = 20) -> int | None:
    """Round in which an Alpha's bisection alone (no belief) names a keyword."""
    order: tuple[tuple[str, bool], ...] = ()
    guesses: tuple[str, ...] = ()
    for number in range(2, rounds + 1):
        step = bisect(known, Said((), order, True, guesses, number - 1))
        if step.question:
            word = step.question.split('"')[1]
            order = (*order, (word, keyword < word))
        left = bisect(known, Said((), order, True, guesses, number)).words
        if not left:
            return None
        guesses = (*guesses, left[0])
        if left[0] == keyword:
            return number
    return None


def test_a_full_primary_list_is_exhausted_in_ten_questions(known: Knowledge) -> None:
    words = tuple(sorted(invented(capacity(10), 3, 4)))
    full = Knowledge(known.keywords, known.questions, known.margin, known.answers, known.prior, known.rates, known.weight, words, (), {}, "trust")  # fmt: skip
    rounds = [by_bisection(full, word) for word in (*words[::59], words[-1])]
    assert max(number or 99 for number in rounds) == 11


@pytest.mark.parametrize(("mode", "last"), [("trust", 20), ("check", 21)])
def test_131072_supplementary_keywords_are_reached_in_a_game(known: Knowledge, mode: str, last: int) -> None:
    """Trusted: ten answers about 2,046 primary words leave one of 2,047 gaps, of 64 words on average, and nine rounds,
    which find 1,022 words for certain. Tested twice: nine answers leave one of 1,023 gaps, of 128 words, and eight
    rounds, which find 510; where several guessed primary words stand in the gap, it is wider and takes a round more."""
    count = PRIMARY[mode]
    every = sorted(invented(2**17 + count, 4, 4))
    step = len(every) // count
    primary = tuple(every[step // 2 :: step][:count])
    supplementary = tuple(sorted(set(every) - set(primary)))
    assert len(primary) == count
    assert len(supplementary) == 2**17
    full = Knowledge(known.keywords, known.questions, known.margin, known.answers, known.prior, known.rates, known.weight, primary, supplementary, {}, mode)  # fmt: skip
    rounds = [by_bisection(full, word, 30) or 99 for word in (*supplementary[::9973], supplementary[-1])]
    assert max(rounds) <= last
    assert sum(number > 20 for number in rounds) <= 2


@pytest.mark.parametrize("kind", ["yes", "no", "lies"])
def test_a_false_alpha_is_found_out_by_the_first_test(known: Knowledge, kind: str) -> None:
    partner = alpha_of(kind)
    real = honest(known)

    def false(question: str, keyword: str, number: int) -> object:
        about_order = question == HANDSHAKE or "precede" in question
        return partner(question, keyword, number) if about_order else real(question, keyword, number)

    game = play(Agent(known), false, known.keywords[40])
    assert sum("precede" in question for question in game.questions) == 2
    assert game.won_in is not None


def test_what_a_false_alpha_said_about_order_is_forgotten(known: Knowledge) -> None:
    questions = [HANDSHAKE, PRECEDES.format("kala"), PRECEDES.format("0"), "Is it thing 3?"]
    said = read_transcript(known, questions, ["yes", "yes", "yes", "no"], ["a", "b", "c"])
    assert bisect(known, said).false
    np.testing.assert_array_equal(belief(known, said), belief(known, Said(((3, False),), guesses=said.guesses)))
    assert "precede" not in ask(known, said)


def test_order_questions_of_the_table_teach_where_no_alpha_was_found(known: Knowledge) -> None:
    said = read_transcript(known, [HANDSHAKE, PRECEDES.format("m")], ["no", "yes"], [])
    assert said.table == ((40, True),)
    assert said.order == ()


# --- answering ---


def test_answers_come_from_rules_then_table_then_no(known: Knowledge) -> None:
    keyword = known.keywords[8]
    assert answer(known, HANDSHAKE, keyword)
    assert answer(known, "is it agent alpha", "")
    assert answer(known, f'Does the keyword start with "{keyword[0]}"?', keyword)
    assert not answer(known, f'Does the keyword start with "{keyword[1]}"?', keyword)
    for place in range(40):
        yes = bool(known.margin[8, place] > 0)
        assert answer(known, f"Is it thing {place}?", keyword) is yes
        assert answer(known, f"  is IT  thing {place}", keyword.upper()) is yes
    assert not answer(known, "Is it nice?", keyword)
    assert answer(known, "Is it nice?", keyword, lambda question, keyword: True)


def test_the_table_knows_keywords_by_their_alternatives(package: KeywordPackage) -> None:
    known = knowledge(package)
    row = 3
    other = Knowledge(known.keywords, known.questions, known.margin, known.answers, known.prior, known.rates, known.weight, (), (), {"quite another": known.keywords[row]})  # fmt: skip
    for place in range(20):
        yes = bool(known.margin[row, place] > 0)
        assert answer(other, f"is it thing {place}?", "Quite Anothers") is yes


# --- hostile observations ---

_LISTS = st.none() | st.text(max_size=5) | st.lists(st.none() | st.integers() | st.text(max_size=30) | st.sampled_from(["yes", "no", HANDSHAKE]), max_size=25)  # fmt: skip
_OBSERVATIONS = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["guesser", "answerer", "x", None, 3]),
        "turnType": st.sampled_from(["ask", "guess", "answer", "", None, 3]),
        "questions": _LISTS,
        "answers": _LISTS,
        "guesses": _LISTS,
        "keyword": st.none() | st.text(max_size=10) | st.integers(),
        "category": st.none() | st.text(max_size=10),
        "step": st.none() | st.integers(),
        "remainingOverageTime": st.none() | st.floats(),
    },
)


def fits(obs: Any, action: object) -> bool:
    """Whether an action is within the rules of its turn."""
    if not isinstance(action, str) or not action.strip():
        return False
    turn = obs.get("turnType") if isinstance(obs, dict) else None
    if turn == "ask":
        return len(action) <= QUESTION_LIMIT
    if turn == "guess":
        return len(action) <= GUESS_LIMIT
    return turn != "answer" or read_answer(action) is not None


@given(_OBSERVATIONS)
def test_whatever_is_observed_the_action_is_within_the_rules(known: Knowledge, obs: dict[str, Any]) -> None:
    assert fits(obs, Agent(known)(obs, None))
    assert fits(obs, Agent(None)(obs, None))


class Awkward:
    """An observation that raises at every touch."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize(
    "obs", [None, 3, "", [], {}, Awkward(), {"turnType": []}, {"questions": {"a": 1}}], ids=range(8)
)
def test_what_is_no_observation_gets_an_action_too(known: Knowledge, obs: Any) -> None:
    assert fits(obs, Agent(known)(obs))


@pytest.mark.parametrize(
    "question", ["", " ", "?", "yes", "a" * 5000, "\0", "é" * 700, "Does the keyword contain " + '"' * 700, None, 5]
)
def test_any_question_is_answered(known: Knowledge, question: Any) -> None:
    for keyword in ("", "x", known.keywords[0], None, "ñ" * 300):
        obs = {"turnType": "answer", "role": "answerer", "questions": [question], "keyword": keyword}
        assert Agent(known)(obs) in ("yes", "no")


def test_a_decision_takes_no_long_time_at_full_size() -> None:
    keywords = tuple(invented(15113, 5, 4))
    random = np.random.default_rng(0)
    margin = (random.normal(size=(15113, 521)) * 30).clip(-127, 127).astype(np.int8)
    answers = np.where(np.abs(margin) > 8, np.sign(margin), 0).astype(np.int8)
    rates = np.repeat(np.linspace(0.02, 0.25, 9, dtype=np.float32)[:, None], 521, axis=1)
    known = Knowledge(
        keywords, tuple(f"is it {place}?" for place in range(521)), margin, answers,
        np.full(15113, 1 / 15113, np.float32), rates, np.full(9, 1 / 9, np.float32),
    )  # fmt: skip
    said = Said(tuple((place, bool(place % 2)) for place in range(15)), guesses=keywords[:15], rounds=15)
    ask(known, said)
    times = []
    for _ in range(5):
        start = time.process_time()
        ask(known, said)
        times.append(time.process_time() - start)
    assert min(times) < 0.3  # 0.05 on an idle core
    assert guess(known, said) == keywords[int(belief(known, said).sum(axis=0).argmax())]


# --- the language model ---


def test_an_article_is_cut_at_a_sentence() -> None:
    long = "One sentence here. " * 200
    cut = excerpt(long)
    assert 280 <= len(cut) <= 300
    assert cut.endswith(".")
    assert excerpt("Short.  And  sweet.") == "Short. And sweet."
    assert len(excerpt("x" * 9000)) == 2048


def test_titles_agree_exactly_then_in_any_case_then_by_the_rule_of_the_game() -> None:
    articles = {"Mercury (planet)": "a planet", "mercury": "a metal", "The Masks": "masks", "Latte": "coffee"}
    assert find_article(articles, "Mercury") == "a planet"
    assert find_article(articles, "mercury") == "a metal"
    assert find_article(articles, "MERCURY") in ("a planet", "a metal")
    assert find_article(articles, "mask") == "masks"
    assert find_article(articles, "lattes") == "coffee"
    assert find_article(articles, "tea") is None


def test_a_model_that_cannot_be_loaded_is_tried_once_and_says_nothing() -> None:
    model = LanguageModel("/no/such/folder", {})
    assert model("is it nice?", "tea") is None
    before = model.spent
    assert model("is it nice?", "tea") is None
    assert model.spent == before


def test_a_model_that_is_slow_is_given_up_in_time() -> None:
    model = LanguageModel("/no/such/folder", {})
    model._loaded = object()
    model._likelier = lambda question, keyword: True  # type: ignore[method-assign]
    assert model("is it nice?", "tea") is True
    model.slowest = 46.0
    assert model("is it nice?", "tea") is None
    model.slowest, model.spent = 20.0, 225.0
    assert model("is it nice?", "tea") is None


def test_small_packages_play_on_when_everything_was_asked_and_guessed(tmp_path: Any) -> None:
    known = knowledge(keyword_package(tmp_path / "p", ["tea", "mug"], ["is it hot?"]), alpha="off")
    game = play(Agent(known), lambda *_: "no", "not in any list")
    assert len(game.guesses) == 20

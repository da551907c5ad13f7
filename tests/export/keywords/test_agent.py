"""The agent plays all three turns, whatever it is shown."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.identification.wordform import word_answer
from env.keywords.comparison import GUESS_LIMIT, QUESTION_LIMIT, read_answer
from env.keywords.package import KeywordPackage
from export.keywords.agent import (
    FIRST,
    HANDSHAKE,
    LAST,
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
    rounds_for,
)
from export.keywords.archive import PRIMARY
from export.keywords.reckoning import reckoning_of
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


def listed(mode: str, primary: Sequence[str], supplementary: Sequence[str] = (), seed: int | None = None) -> Knowledge:
    """What an agent knows that has nothing but lists: all primary keywords alike, or with a drawn prior."""
    prior = np.ones(len(primary)) if seed is None else np.random.default_rng(seed).lognormal(0, 1.5, len(primary))
    nothing = np.zeros((len(primary), 1), np.int8)
    rates, weight = np.full((1, 1), 0.1, np.float32), np.ones(1, np.float32)
    return Knowledge(
        tuple(primary), ("is it?",), nothing, nothing, (prior / prior.sum()).astype(np.float32), rates, weight,
        reckoning_of(None), tuple(sorted(primary)), tuple(sorted(supplementary)), {}, mode,
    )  # fmt: skip


def play_all(known: Knowledge, ends: Callable[[Said], bool] = lambda said: False) -> tuple[dict[str, int], list[Said]]:
    """Every game with a true Alpha: the round in which each keyword is named, and where games were left that `ends` ends.

    Games go together as long as the answers are the same, so that all of them are played in one walk.
    """
    name = guess(known, Said(rounds=1, alpha=True))
    found, ended = {name: 1}, []
    games = [Said(alpha=True, guesses=(name,), rounds=1)]
    while games:
        said = games.pop()
        question = ask(known, said)
        asked = replace(said, rounds=said.rounds + 1)
        word = question.split('"')[1] if "precede" in question else ""
        answers = [replace(asked, order=(*said.order, (word, yes))) for yes in (True, False)] if word else [asked]
        for after in answers:
            left = bisect(known, after)
            if left.false or not left.words:
                continue
            name = guess(known, after)
            assert name not in found
            found[name] = after.rounds
            after = replace(after, guesses=(*after.guesses, name))
            if ends(after):
                ended.append(after)
            elif after.rounds < 20:
                games.append(after)
    return found, ended


@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize(("mode", "count"), [("trust", 2046), ("check", 894)])
def test_a_true_alpha_leads_to_every_primary_keyword_by_round_11(mode: str, count: int, seed: int | None) -> None:
    assert PRIMARY[mode] == count
    words = invented(count, 3, 4)
    found, _ = play_all(listed(mode, words, seed=seed))
    assert set(found) == set(words)
    assert max(found.values()) == 11


@pytest.mark.parametrize("words", [1, 2, 3, 6, 7, 14, 15, 100, 254, 255, 510])
def test_a_gap_of_so_many_words_is_searched_in_so_many_rounds(words: int) -> None:
    found, _ = play_all(listed("trust", invented(words + 1, 3, 4)))
    assert max(found.values()) <= 1 + rounds_for(words)
    assert capacity(rounds_for(words) - 1) < words <= capacity(rounds_for(words))


@cache
def many_words() -> list[str]:
    return sorted(invented(2**17 + max(PRIMARY.values()), 4, 4))


def spread(mode: str, seed: int | None) -> Knowledge:
    """As many primary keywords as can be, and 2^17 supplementary ones evenly between them."""
    count = PRIMARY[mode]
    every = many_words()[: 2**17 + count]
    primary = [every[place] for place in np.linspace(0, len(every) - 1, count + 2)[1:-1].astype(int)]
    known = listed(mode, primary, sorted(set(every) - set(primary)), seed)
    assert (len(known.primary), len(known.supplementary)) == (count, 2**17)
    return known


def between(known: Knowledge, said: Said) -> tuple[int, int]:
    """Primary and supplementary keywords that an Alpha's answers leave."""
    left = bisect(known, said)
    primary, supplementary = (
        bisect_left(part, left.high or "~") - bisect_left(part, left.low)
        for part in (known.primary, known.supplementary)
    )
    return primary - sum(
        left.low <= name < (left.high or "~") for name in set(said.guesses) & set(known.primary)
    ), supplementary


@pytest.mark.parametrize(("seed", "lost"), [(None, 0), (1, 0.02 * 2**17)], ids=["alike", "drawn"])
@pytest.mark.parametrize(("mode", "widest"), [("trust", 1022), ("check", 510)])
def test_once_the_primary_are_used_up_the_rounds_left_search_every_gap(
    mode: str, widest: int, seed: int | None, lost: float
) -> None:
    """Trusted, ten answers leave one of 1,024 gaps, and nine rounds, which search 1,022 words; tested twice, they leave
    one of 448, and eight rounds, which search 510. Guessing the likeliest of a steep prior first may widen a gap."""
    known = spread(mode, seed)
    found, ended = play_all(known, lambda said: between(known, said)[0] == 0)
    assert set(known.primary) <= set(found)
    assert max(found[name] for name in known.primary) == 11
    tests = {"trust": 0, "check": 2}[mode]
    searched = [
        capacity(20 - said.rounds - tests + sum(word in (FIRST, LAST) for word, _ in said.order)) for said in ended
    ]
    assert min(searched) == widest
    beyond = [between(known, said)[1] - most for said, most in zip(ended, searched, strict=True)]
    assert sum(number for number in beyond if number > 0) <= lost


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["trust", "check"])
def test_every_game_of_131072_supplementary_keywords_is_won(mode: str) -> None:
    known = spread(mode, None)
    found, _ = play_all(known)
    assert set(found) == {*known.primary, *known.supplementary}
    assert max(found.values()) <= 20


@pytest.mark.parametrize(("kind", "questions"), [("yes", 1), ("lies", 1), ("no", 4)])
def test_a_false_alpha_is_found_out_by_a_test(known: Knowledge, kind: str, questions: int) -> None:
    partner = alpha_of(kind)
    real = honest(known)

    def false(question: str, keyword: str, number: int) -> object:
        about_order = question == HANDSHAKE or "precede" in question
        return partner(question, keyword, number) if about_order else real(question, keyword, number)

    game = play(Agent(known), false, known.keywords[40])
    assert sum("precede" in question for question in game.questions) == questions
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
    other = Knowledge(known.keywords, known.questions, known.margin, known.answers, known.prior, known.rates, known.weight, known.reckoning, (), (), {"quite another": known.keywords[row]})  # fmt: skip
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
        np.full(15113, 1 / 15113, np.float32), rates, np.full(9, 1 / 9, np.float32), reckoning_of(None),
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
    assert excerpt("word " * 2000) == ("word " * 409).strip()
    assert excerpt("Short one. " + "word " * 60) == ("Short one. " + "word " * 60).strip()


def test_titles_agree_exactly_then_in_any_case_then_by_the_rule_of_the_game() -> None:
    articles = {"Mercury (planet)": "a planet", "mercury": "a metal", "The Masks": "masks", "Latte": "coffee"}
    assert find_article(articles, "Mercury") == "a planet"
    assert find_article(articles, "mercury") == "a metal"
    assert find_article(articles, "MERCURY") in ("a planet", "a metal")
    assert find_article(articles, "mask") == "masks"
    assert find_article(articles, "lattes") == "coffee"
    assert find_article(articles, "tea") is None


def test_a_model_answers_with_the_likelier_word_and_is_shown_the_article(known: Knowledge, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers", reason="needs wilkins[oracle]")
    from tests.tiny_model import make_model, make_tokenizer

    network = make_model(make_tokenizer(), seed=4)  # says both words
    make_tokenizer().save_pretrained(tmp_path)
    network.save_pretrained(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    articles = {"Tea (drink)": "Tea is a drink. " * 30, "zinc": "A metal."}
    agent = Agent(replace(known, model=str(tmp_path), articles=articles))
    yes, no = ([t for t in range(len(tokenizer)) if tokenizer.decode([t]) in forms] for forms in (("yes", "Yes", " yes"), ("no", "No", " no")))  # fmt: skip
    said = []
    for number in range(12):
        question, keyword = f"Would you like {'abcdefghijkl'[number]}?", ("tea", "zinc", "nothing")[number % 3]
        asked = LanguageModel("", articles).prompt(question, keyword)
        assert ("Tea is a drink. Tea is" in asked) == (keyword == "tea")
        assert ("A metal." in asked) == (keyword == "zinc")
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": asked}], add_generation_prompt=True, tokenize=False
        )
        with torch.inference_mode():
            logits = network(torch.tensor([tokenizer.encode(text, add_special_tokens=False)])).logits[0, -1]
        obs = {"role": "answerer", "turnType": "answer", "questions": [question], "keyword": keyword}
        said.append(agent(obs))
        assert said[-1] == ("yes" if logits[yes].max() > logits[no].max() else "no")
    assert set(said) == {"yes", "no"}, "the comparison needs both answers"
    place = {"role": "answerer", "turnType": "answer", "questions": ["Is it thing 3?"], "keyword": known.keywords[8]}
    assert agent(place) == ("yes" if known.margin[8, 3] > 0 else "no"), "the table comes before the model"


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

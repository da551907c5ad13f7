"""Games of LLM 20 Questions by its rules, one pair alone: quick where the real environment is not needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from env.identification.matrix import Matrix, save_matrix
from env.identification.pools import digest
from env.identification.wordform import word_answer
from env.keywords.belief import Belief
from env.keywords.comparison import GUESS_LIMIT, QUESTION_LIMIT, ROUNDS, hits, read_answer
from env.keywords.package import KeywordPackage, load_keywords
from env.keywords.world import world_of
from export.keywords.agent import TABLES, Knowledge, load_knowledge
from export.keywords.archive import tables_file

Partner = Callable[[str, str, int], object]
"""Answers (question, keyword, round from 0)."""


def invented(count: int, seed: int = 0, length: int = 3) -> list[str]:
    """Different pronounceable words, none of which the game takes for another."""
    random = np.random.default_rng(seed)
    syllables = [one + two for one in "bdfgklmnprtvz" for two in "aiou"]
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(random.choice(syllables, size=length))] = None
    return list(found)


def keyword_package(
    folder: Path, keywords: Sequence[str], questions: Sequence[str], seed: int = 0, supplementary: Sequence[str] = ()
) -> KeywordPackage:
    """A package whose answers are drawn; questions about the word are answered rightly."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "keywords_pool.txt").write_text("".join(f"{name}\n" for name in keywords))
    (folder / "questions_pool.txt").write_text("".join(f"{name}\n" for name in questions))
    (folder / "supplementary.txt").write_text("".join(f"{name}\n" for name in supplementary))
    margin = np.random.default_rng(seed).normal(0, 4, (len(keywords), len(questions))).astype(np.float32)
    for place, question in enumerate(questions):
        for row, name in enumerate(keywords):
            said = word_answer(question, name)
            if said is not None:
                margin[row, place] = 10 if said else -10
    made = {"keywords_sha256": digest(keywords), "questions_sha256": digest(questions)}
    save_matrix(folder / "matrix.npz", Matrix(margin, (margin > 0).astype(np.uint8), made))
    return load_keywords(folder)


def knowledge(package: KeywordPackage, **options: Any) -> Knowledge:
    """What the agent file of the package would know."""
    content = tables_file(package, Belief.untold(world_of(package)), **options)
    folder = package.package.path / "agent"
    folder.mkdir(exist_ok=True)
    (folder / TABLES).write_bytes(content)
    return load_knowledge(str(folder))


@dataclass
class Game:
    """How a game went."""

    won_in: int | None
    questions: list[str]
    answers: list[str]
    guesses: list[str]


def play(asker: Callable[[Any, Any], str], partner: Partner, keyword: str, alternatives: Sequence[str] = ()) -> Game:
    """One pair's game; an answer that is none ends it, as in the real environment."""
    game = Game(None, [], [], [])

    def seen(turn: str) -> dict[str, Any]:
        lists = {"questions": list(game.questions), "answers": list(game.answers), "guesses": list(game.guesses)}
        return {"role": "guesser", "turnType": turn, "keyword": "", "category": "", **lists}

    for number in range(ROUNDS):
        question = asker(seen("ask"), None)
        assert isinstance(question, str)
        assert question
        assert not hits(question, keyword, alternatives), "a question that is the keyword makes the game void"
        game.questions.append(question[:QUESTION_LIMIT])
        yes = read_answer(partner(game.questions[-1], keyword, number))
        if yes is None:
            return game
        game.answers.append("yes" if yes else "no")
        guess = asker(seen("guess"), None)
        assert isinstance(guess, str)
        assert guess
        game.guesses.append(guess[:GUESS_LIMIT])
        if hits(guess, keyword, alternatives):
            game.won_in = number + 1
            return game
    return game

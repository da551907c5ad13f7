"""How LLM 20 Questions reads what players say: which guesses hit, what an answer counts as, and where text is cut."""

from __future__ import annotations

import string
from collections.abc import Sequence

import numpy as np

ROUNDS = 20
"""Rounds of a game, each a question, its answer and a guess."""

QUESTION_LIMIT = 750
"""Characters that are kept of a question (2,000 in kaggle-environments before 1.14.16)."""

GUESS_LIMIT = 100
"""Characters that are kept of a guess in what players see; the comparison itself takes all of it."""

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """`text` as guesses are compared: lower case, without any "the", spaces and ASCII punctuation, in this order.

    Accents, tabs, line ends and typographic quotes stay. From `normalize` of kaggle-environments 1.16.11.
    """
    return text.lower().replace("the", "").replace(" ", "").translate(_PUNCTUATION)


def same(one: str, other: str) -> bool:
    """Whether the game takes two texts for one keyword: equal once normalised, or equal but for a final s or es.

    The ending counts only where both have three characters. Symmetric, but not transitive: "buss" and "bus"
    are the same, "bus" and "bu" too short, "glass" and "glasses" the same, "glas" and "glasses" not.
    From `compare_words` of kaggle-environments 1.16.11.
    """
    one, other = normalise(one), normalise(other)
    if one == other:
        return True
    if len(one) > len(other):
        one, other = other, one
    return len(one) >= 3 and other in (f"{one}s", f"{one}es")


def hits(guess: str, keyword: str, alternatives: Sequence[str] = ()) -> bool:
    """Whether `guess` ends the game: it is the same as the keyword or as one of its alternatives.

    A question is compared in the same way, uncut: one that hits makes the game void.
    """
    return same(guess, keyword) or any(same(guess, alternative) for alternative in alternatives)


def one_keyword(names: Sequence[str]) -> np.ndarray:
    """Position of the first name that each of `names` is the same keyword as, int64 [names].

    Names that are the same by way of a third one go together.
    """
    first: dict[str, int] = {}
    leader = list(range(len(names)))

    def root(place: int) -> int:
        while leader[place] != place:
            place = leader[place]
        return place

    forms = [normalise(name) for name in names]
    for place, form in enumerate(forms):
        leader[place] = first.setdefault(form, place)
    for place, form in enumerate(forms):
        for longer in (f"{form}s", f"{form}es") if len(form) >= 3 else ():
            if longer in first:
                low, high = sorted((root(place), root(first[longer])))
                leader[high] = low
    return np.array([root(place) for place in range(len(names))], np.int64)


def read_answer(answer: object) -> bool | None:
    """What the game takes an answer for: yes where "yes" is in it, else no where "no" is, else None: an error.

    "I do not know" is a no. An error gives the answerer nothing, the other three players 1, and ends the game.
    """
    if not isinstance(answer, str):
        return None
    said = answer.lower()
    return True if "yes" in said else False if "no" in said else None

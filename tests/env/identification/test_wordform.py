"""200 questions about words, as players of the game put them, each with its answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.identification.wordform import word_answer

# keyword | question | yes, no, or - where it is no question about the word
TABLE = """
Air Conditioner | Does the keyword (in lowercase) precede "banana" in alphabetical order? | yes
Zinc | Does the keyword (in lowercase) precede "banana" in alphabetical order? | no
Air Conditioner | Does the keyword (in lowercase) precede 'air conditioner' in alphabetical order? | no
Air Conditioner | Does the keyword (in lowercase) precede “air vent” in alphabetical order? | yes
Air Conditioner | Does the keyword (in lowercase) precede air vent in alphabetical order? | yes
Tofu | DOES THE KEYWORD (IN LOWERCASE) PRECEDE "TOMATO" IN ALPHABETICAL ORDER? | yes
Tofu | Does the keyword (in lowercase) come before "toast" in alphabetical order? | no
Tofu | Does the keyword come before “Tomato” alphabetically? | yes
Tofu | Does the keyword (in lowercase) precede "tomato" in alphabetical order? Answer yes or no. | yes
Tofu | Does the keyword (in lowercase) precede "toast" in alphabetical order? #42 | no
Tofu | Does the word come after 'm' in the alphabet? | yes
Apple pie | Does the word come after the letter m in the alphabet? | no
Apple pie | Is the keyword alphabetically before "b"? | yes
Apple pie | Is the keyword before "b" in alphabetical order? | yes
Apple pie | Alphabetically, is the keyword before "b"? | yes
éclair | Does the keyword (in lowercase) precede "f" in alphabetical order? | no
T-shirt | Does the keyword (in lowercase) precede "tablet" in alphabetical order? | yes
Apple pie | In alphabetical order, does the keyword come before "banana"? | yes
Mouse | Does the keyword follow "motor" in alphabetical order? | yes
Mouse | Is the keyword between "m" and "p" in alphabetical order? | yes
Mouse | Does the keyword fall between "a" and "l" alphabetically? | no
Mouse | Is the keyword in the first half of the alphabet? | yes
Tofu | Is the keyword in the first half of the alphabet? | no
Tofu | Does the keyword start with a letter in the second half of the alphabet? | yes
Tofu | Does the keyword begin with the letter "t"? | yes
Tofu | Does the keyword begin with the letter 'T'? | yes
Tofu | Does the keyword begin with the letter T? | yes
Tofu | Does the keyword start with “s”? | no
Tofu | Does it start with the letter t? | yes
Tofu | does the keyword start with T | yes
Tofu | Does the name of the keyword start with t? | yes
Tofu | Does the keyword start with the letters "to"? | yes
Tofu | Does the keyword starts with "tom"? | no
Tofu | Does the keyword start with a vowel? | no
Earth | Does the keyword start with a vowel? | yes
Earth | Does the keyword begin with a consonant? | no
Earth | Does the keyword start with a capital letter? | yes
earth | Does the keyword start with a capital letter? | no
Earth | Is the first letter of the keyword "e"? | yes
Earth | Is the first letter of the keyword a vowel? | yes
Earth | Is the first letter e? | yes
Earth | Is the keyword's first letter 'e'? | yes
Earth | Is the first letter of the keyword before "m" in the alphabet? | yes
Earth | Does the first letter of the keyword come after "m" in the alphabet? | no
Earth | Is the first letter of the keyword between "a" and "f"? | yes
Earth | Is the first letter of the keyword between F and M? | no
Earth | Is the first letter of the keyword in the first half of the alphabet? | yes
Earth | Is the first letter one of a, e, i, o, u? | yes
Earth | Does the keyword start with one of the letters 'a', 'b', 'c' or 'd'? | no
Earth | Does the keyword start with one of the letters "d", "e", "f"? | yes
Earth | Does the keyword begin with any of the following letters: a, b, c, d, e? | yes
Earth | Does the keyword start with a, b, or c? | no
Earth | Does the keyword start with "a", "e" or "i"? | yes
Earth | Does the keyword start with a letter from a to f? | yes
Earth | Does the keyword start with a letter between "a" and "d"? | no
Earth | Does the keyword end with the letter "h"? | yes
Earth | Does the keyword end in "th"? | yes
Earth | Does the keyword end in h or n? | yes
Earth | Does the keyword ends with 's'? | no
Earth | Does the keyword end with a vowel? | no
Latte | Does the keyword end with a vowel? | yes
Latte | Does the keyword end with one of the letters "n", "s" or "t"? | no
Latte | Is the last letter of the keyword "e"? | yes
Latte | Is the last letter a consonant? | no
Latte | Is the final letter of the word 'e'? | yes
Latte | Is the second letter of the keyword "a"? | yes
Latte | Is the 2nd letter of the keyword a vowel? | yes
Latte | Is the third letter of the keyword "t"? | yes
Latte | Is the 3rd letter "u"? | no
Latte | Is the fourth letter in the keyword a consonant? | yes
Air Conditioner | Is the fourth letter of the keyword "c"? | yes
Zinc | Is the fifth letter of the keyword "a"? | -
Latte | Is the second to last letter of the keyword "t"? | yes
Latte | Does the keyword have "a" as its second letter? | yes
Latte | Are the third and fourth letters of the keyword the same? | yes
Latte | Does the keyword start and end with the same letter? | no
Aorta | Does the keyword start and end with the same letter? | yes
Air Conditioner | Is the first letter of the second word "c"? | yes
Air Conditioner | Does the second word of the keyword start with "c"? | yes
Air Conditioner | Does the last word of the keyword start with one of the letters "b", "c", "d"? | yes
Air Conditioner | Does the last word of the keyword end with "er"? | yes
Air Conditioner | Does the first word of the keyword end with "n"? | no
Latte | Does the keyword contain the letter "a"? | yes
Latte | Does the keyword contain the letter 'x'? | no
Latte | Does the keyword contain the letter x? | no
Latte | Does the keyword include the letter ‘t’? | yes
Latte | Does the word have the letter T in it? | yes
Latte | Does it contain the letter e? | yes
Latte | Is the letter "l" in the keyword? | yes
Latte | Is there a letter "z" in the keyword? | no
Latte | Does the letter "t" appear in the keyword? | yes
Latte | Does the keyword contain "att"? | yes
Latte | Does the keyword contain the letters "a" and "e"? | yes
Latte | Does the keyword contain the letters "a" and "z"? | no
Latte | Does the keyword contain the letter "z" or "e"? | yes
Latte | Does the keyword contain any of the letters "x", "y", "z"? | no
Latte | Does the keyword contain any of the following letters: x, y, t? | yes
Latte | Does the keyword contain both "a" and "t"? | yes
Latte | Does the keyword contain all of the letters a, t, e? | yes
Latte | Does the keyword contain the word "tea"? | no
Latte | Does the keyword contain the substring "tte"? | yes
Latte | Does the keyword not contain the letter "e"? | no
Latte | Does the keyword contain a q? | no
Latte | Does the keyword contain the letter "t" more than once? | yes
Latte | Does the keyword contain the letter "t" twice? | yes
Latte | Does the keyword contain the letter "a" twice? | no
Latte | Does the keyword contain exactly two t's? | yes
Latte | Does the keyword contain more than one "t"? | yes
Latte | Does the keyword contain at least two letter "e"? | no
Latte | Does the keyword contain double letters? | yes
Zinc | Does the keyword contain a double letter? | no
Latte | Does the keyword have a double letter, such as "oo"? | yes
Latte | Are there double letters in the keyword? | yes
Latte | Does the keyword contain two identical letters in a row? | yes
Dot Torch | Does the keyword contain a double letter? | no
Latte | Does the keyword contain repeated letters? | yes
Book | Does the keyword contain a double vowel? | yes
Latte | Does the keyword contain any letter more than once? | yes
Zinc | Does the keyword contain any letter more than once? | no
Latte | Does the keyword contain a vowel? | yes
Rhythm | Does the keyword contain any vowels? | no
Sequoia | Does the keyword contain all five vowels? | yes
Latte | Does the keyword contain all five vowels? | no
Education | Does the keyword contain all the vowels? | yes
Education | Does the keyword contain more vowels than consonants? | yes
Latte | Does the keyword have more vowels than consonants? | no
Latte | Does the keyword have more than two vowels? | no
Latte | Does the keyword have exactly 2 vowels? | yes
Latte | Does the keyword have at least 3 consonants? | yes
Latte | Is the keyword longer than 4 letters? | yes
Latte | Is the keyword longer than 5 letters? | no
Latte | Is the keyword shorter than 6 letters? | yes
Latte | Is the keyword more than 4 letters long? | yes
Latte | Is it more than 8 letters long? | no
Latte | Does the keyword have 5 letters? | yes
Latte | Does the keyword have exactly five letters? | yes
Latte | Does the keyword have more than five letters? | no
Latte | Does the keyword have at least five letters? | yes
Latte | Does the keyword have fewer than 6 letters? | yes
Latte | Does the keyword have at most 4 letters? | no
Latte | Does the keyword consist of 5 or more letters? | yes
Latte | Does the keyword have between 4 and 6 letters? | yes
Latte | Is the keyword between 6 and 8 letters long? | no
Latte | Is the keyword 5 characters long? | yes
Air vent | Is the keyword longer than 7 characters? | yes
Air vent | Is the keyword longer than 7 letters? | no
Air vent | Is the number of letters in the keyword greater than 6? | yes
Air vent | Is the length of the keyword more than 6 letters? | yes
Air vent | Does the keyword have an even number of letters? | no
Air vent | Does the keyword have an odd number of characters? | no
Air vent | Is the number of letters in the keyword odd? | yes
Air vent | Does the keyword consist of two words? | yes
Air vent | Does the keyword contain more than one word? | yes
Air vent | Does the keyword consist of more than 2 words? | no
Air vent | Is the keyword a single word? | no
Air vent | Is the keyword more than one word? | yes
Air vent | Is it two words? | yes
Air vent | Is it one word? | no
Air vent | Is it a one-word keyword? | no
Air vent | Is it a two-word phrase? | yes
Air vent | Is the keyword made up of multiple words? | yes
Air vent | Does the keyword have only one word? | no
Air vent | Does the keyword consist of three or more words? | no
Air vent | Does the keyword have two or more words? | yes
Zinc | Is the keyword just one word? | yes
Air vent | Does the keyword contain a space? | yes
Zinc | Does the keyword contain any spaces? | no
T-shirt | Does the keyword contain a hyphen? | yes
Zinc | Is there a hyphen in the keyword? | no
T-shirt | Is the keyword hyphenated? | yes
T–shirt | Does the keyword contain a hyphen? | yes
Earl Grey tea | Does the keyword contain a capital letter? | yes
earl grey tea | Does the keyword contain any capital letters? | no
DVD | Is the keyword in all capitals? | yes
Zinc | Is the keyword capitalized? | yes
K2 | Does the keyword contain a number? | yes
Zinc | Does the keyword contain any digits? | no
Levi's | Does the keyword contain an apostrophe? | yes
Zinc | Does the keyword contain punctuation? | no
Café | Does the keyword contain an accented letter? | yes
Latte | Is the keyword an anagram of "talet"? | yes
Latte | Is the keyword an anagram of 'latte'? | no
Latte | Is it an anagram of metal? | no
Level | Is the keyword a palindrome? | yes
Latte | Is the keyword a palindrome? | no
Latte | Is the keyword one of the following: "tea", "latte", "coffee"? | yes
Latte | Is the keyword one of the following words: tea, mocha, coffee? | no
T-shirt | Is the keyword one of "tshirt", "sock"? | yes
T-shirt | Is the keyword in the list [sock, t-shirt, hat]? | yes
T-shirt | Is the keyword any of these: sock; shoe; hat? | no
Latte | Is the keyword "mocha"? | no
Latte | Does the keyword start with "l" and end with "e"? | yes
Latte | Does the keyword start with "l" and end with "a"? | no
Latte | Does the keyword start with "x" or end with "e"? | yes
Latte | Does the keyword start with "l" and is it one word? | yes
Latte | Is it a drink? | -
Latte | Does it contain milk? | -
Latte | Does the keyword contain water? | -
Latte | Does it have a handle? | -
Latte | Does it have more than two wheels? | -
Latte | Is it longer than a car? | -
Latte | Was it invented before 1900? | -
Latte | Is it used before breakfast? | -
Latte | Does it start with an engine? | -
Latte | Is it one of the most popular things in the world? | -
Latte | Is it a place, a person or a thing? | -
Latte | Is the keyword a word? | -
Latte | Is the keyword a living thing? | -
Latte | Is it found in a house? | -
Latte | Does it have a hard shell and contain seeds? | -
Latte | Does it end up in the trash? | -
Latte | Is Agent Alpha? | -
Latte | Is it Agent Alpha? | -
Latte | Does the keyword name something bigger than a car? | -
Latte | | -
"""
ROWS = [
    tuple(part.strip() for part in line.split(" | ")) for line in TABLE.replace(" | |", " |  |").strip().splitlines()
]


def test_the_table_is_large_enough() -> None:
    assert len(ROWS) >= 200


@pytest.mark.parametrize(("keyword", "question", "answer"), ROWS)
def test_questions_about_the_word_are_answered(keyword: str, question: str, answer: str) -> None:
    assert word_answer(question, keyword) is {"yes": True, "no": False, "-": None}[answer]


@pytest.mark.parametrize("quotes", ["''", '""', "“”", "‘’", "„“", "«»", "``", "´´", "  ", "＂＂"])
@pytest.mark.parametrize("capitals", [str.lower, str.upper, str.title])
def test_quotes_of_any_kind_and_capitals_of_any_kind(quotes: str, capitals) -> None:
    question = capitals(f"does the keyword (in lowercase) precede {quotes[0]}tomato{quotes[1]} in alphabetical order?")
    assert word_answer(question, "Tofu") is True
    assert word_answer(question, "Truck") is False


_PARTS = st.sampled_from(
    [
        "does",
        "the",
        "keyword",
        "is",
        "it",
        "start",
        "with",
        "end",
        "contain",
        '"a"',
        "letter",
        "letters",
        "more",
        "than",
        "one",
        "of",
        "3",
        "words",
        "precede",
        "in",
        "order",
        "and",
        "not",
        ",",
        ":",
        "?",
        "'",
        "“",
        "(",
        ")",
        "[",
        "between",
        "first",
        "last",
        "second",
        "of",
        "before",
        "after",
        "same",
        "double",
    ]
)


@given(st.lists(_PARTS, max_size=14).map(" ".join) | st.text(max_size=60), st.text(max_size=12))
def test_never_raises_whatever_is_asked(question: str, keyword: str) -> None:
    assert word_answer(question, keyword) in (True, False, None)


@pytest.mark.parametrize("part", ['"', "a, ", "the letter ", "does the keyword ", "one of ", " and contain "])
def test_long_questions_take_no_long_time(part: str) -> None:
    question = f"Does the keyword contain {part * (1900 // len(part))}"
    assert word_answer(question, "apple pie") in (True, False, None)

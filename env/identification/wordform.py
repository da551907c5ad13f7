"""Questions about the word itself (order, letters, lengths, counts), answered exactly. Standard library only.

Stands alone: the agent file of the keyword game carries this text inside itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

_VOWELS = "aeiou"
_HYPHENS = "-‐‑‒–—"
_QUOTES = re.compile('["“”„‟«»‹›‘’‚‛`´′″＂＇]')
_NUMBERS = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
        ]
    )
}
_ORDINALS = {
    word: number
    for number, word in enumerate(
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"], 1
    )
} | {"last": -1, "final": -1, "initial": 1, "middle": 0, "penultimate": -2, "second to last": -2, "second-to-last": -2}

_NUMBER = rf"(\d{{1,3}}|{'|'.join(_NUMBERS)})"
_ORDINAL = rf"(\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})"
_UNIT = r"(letters?|characters?|chars?|words?|vowels?|consonants?|hyphens?|spaces?|digits?|capital letters?|capitals?)"
_BEFORE = r"(?:precede[sd]?|preceding|(?:come|go|appear|be|is|fall|sort|rank|occur|located|listed|stand)?s? ?(?:alphabetically )?(?:before|earlier than|ahead of|prior to)|less than)"
_AFTER = r"(?:follow(?:s|ed|ing)?|succeeds?|(?:come|go|appear|be|is|fall|sort|rank|occur|located|listed|stand)?s? ?(?:alphabetically )?(?:after|later than|behind)|greater than)"
_START = r"(?:start|begin|commence)(?:s|ning|ing)?"
_END = r"(?:end|finish|terminate)(?:e?s|ing)?"
_HOLD = r"(?:contain|include|have|has|feature|use|got|possess)(?:s|ing)?"
_LETTERS = r"(?:(?:the |an? |any |either |both |all )*(?:of )?(?:the |these |those |following )*(?:letters?|characters?|vowels?|consonants?|alphabets?)(?: of)?:? )"
_WHOLE = r"(?:(?:the )?(?:(?:name|spelling) of )?(?:the |your |this |our |secret |hidden |target |actual |given |answer |correct )*(?:keyword|key word|word|phrase|term|name|answer|string|noun|it)(?: or phrase)?(?: \(in lowercase\)| in lowercase)?(?:'s)?(?: (?:name|spelling|itself))?)"


def word_answer(question: str, keyword: str) -> bool | None:
    """Whether yes is the right answer to a question about the keyword as a word; None for any other question.

    Quotes may be of any kind or absent, capitals of either kind. Lengths in letters leave out spaces and marks,
    lengths in characters do not. Order is that of code points after `keyword.lower()`, as players of the game
    compare. A text that holds a word question among others (two sentences) is not taken for one.
    """
    text = _plain(question)
    if not text or len(text) > 2000:
        return None
    try:
        return _answer(text, keyword.strip())
    except (ValueError, IndexError, RecursionError):
        return None


def _plain(question: str) -> str:
    """Lower case, one kind of quotes, single spaces, no greeting before and no mark after."""
    text = _QUOTES.sub(lambda mark: "'" if mark.group() in "‘’‚‛`´′＇" else '"', question.lower())
    text = re.sub(r"(?<![a-z0-9])'+|'+(?![a-z0-9])", '"', text.replace("''", '"'))
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"^(?:question: ?|q: ?|ok(?:ay)?,? |so,? |now,? |hmm,? |please tell me,? |tell me,? )+", "", text)
    text = re.sub(r"\(in lower ?case\)|\bin lower ?case\b|\bwhen lower ?cased\b|\blowercased?\b", "", text)
    text = re.sub(r"\s+", " ", text).strip()
    # What stands after the question mark (hints, hashes, a second question that none asked) does not count.
    head, mark, rest = text.partition("?")
    if mark and rest.count('"') % 2 == 0 and head.count('"') % 2 == 0:
        if re.search(r"\?", rest):
            return ""
        text = head
    return text.strip(" .!?;")


def _letters(word: str) -> str:
    return "".join(mark for mark in word.lower() if mark.isalpha())


def _words(keyword: str) -> list[str]:
    return [part for part in re.split(r"\s+", keyword.lower()) if part]


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text]


def _ordinal(text: str) -> int:
    return _ORDINALS[text] if text in _ORDINALS else int(text[:-2])


def _at(sequence: str | list[str], ordinal: str) -> str:
    """The nth of letters or words; raises IndexError where there are not so many."""
    place = _ordinal(ordinal)
    if place == 0:
        return sequence[len(sequence) // 2]
    return sequence[place - 1 if place > 0 else place]


def _targets(text: str) -> list[str]:
    """What a question names: quoted texts if there are any, else what commas, "or" and "and" part."""
    quoted = re.findall(r'"([^"]+)"', text)
    if quoted and not re.sub(r'"[^"]+"|\b(?:or|and|either|both|the|letters?)\b|[,;/ ]', "", text):
        return [part.strip() for part in quoted if part.strip()]
    bare = re.sub(rf"^{_LETTERS}", "", text.replace('"', " ").strip() + " ")
    bare = bare.strip(" :()[]{}")
    parts = [part.strip(" :()[]{}.") for part in re.split(r",|;|/|\||\bor\b|\band\b", bare)]
    parts = [re.sub(r"^(?:either|both|the letters?|letters?) ", "", part) for part in parts if part]
    if len(parts) == 1 and re.fullmatch(r"[a-z](?: [a-z])+", parts[0]):
        parts = parts[0].split(" ")
    return parts


def _ranged(parts: list[str]) -> list[str]:
    """Letters of ranges such as a-m or "a to m" written out."""
    out: list[str] = []
    for part in parts:
        ends = re.fullmatch(rf"([a-z])\s?(?:[{_HYPHENS}]|to|through|thru)\s?([a-z])", part)
        if ends and ends[1] <= ends[2]:
            out += [chr(code) for code in range(ord(ends[1]), ord(ends[2]) + 1)]
        else:
            out.append(part)
    return out


def _count(unit: str, keyword: str) -> int:
    letters = _letters(keyword)
    unit = unit.rstrip("s")
    if unit == "letter":
        return len(letters)
    if unit in ("character", "char"):
        return len(keyword)
    if unit == "word":
        return len(_words(keyword))
    if unit == "vowel":
        return sum(letter in _VOWELS for letter in letters)
    if unit == "consonant":
        return sum(letter not in _VOWELS for letter in letters)
    if unit == "hyphen":
        return sum(mark in _HYPHENS for mark in keyword)
    if unit == "space":
        return keyword.count(" ")
    if unit == "digit":
        return sum(mark.isdigit() for mark in keyword)
    return sum(mark.isupper() for mark in keyword)


_MORE = r"(more than|over|greater than|longer than|above|exceeding|at least|no fewer than|no less than|a minimum of|exactly|precisely|equal to|fewer than|less than|shorter than|under|below|at most|no more than|up to|a maximum of)"


def _compared(count: int, how: str | None, number: int) -> bool:
    if how in ("more than", "over", "greater than", "longer than", "above", "exceeding"):
        return count > number
    if how in ("at least", "no fewer than", "no less than", "a minimum of"):
        return count >= number
    if how in ("fewer than", "less than", "shorter than", "under", "below"):
        return count < number
    if how in ("at most", "no more than", "up to", "a maximum of"):
        return count <= number
    return count == number


def _kind(letter: str, what: str) -> bool:
    return letter.isalpha() and (letter in _VOWELS) == what.startswith("vowel")


def _one_of(found: str, text: str) -> bool | None:
    """Whether a letter is among those that `text` lists; None where it lists no single letters."""
    parts = _ranged(_targets(text))
    return found in parts if parts and all(len(part) == 1 for part in parts) else None


def _edge(keyword: str, text: str, start: bool) -> bool | None:
    """Whether the keyword starts (or ends) with one of the texts named."""
    what = re.fullmatch(r"(?:an? |any )?(vowel|consonant)s?(?: letters?| sounds?)?", text)
    letters = _letters(keyword)
    if what:
        return _kind(letters[0 if start else -1], what[1])
    if re.fullmatch(r"(?:an? )?(?:capital|upper ?case)(?: letter)?", text):
        return (keyword[0] if start else keyword[-1]).isupper()
    if re.fullmatch(r"(?:an? )?(?:number|digit)", text):
        return (keyword[0] if start else keyword[-1]).isdigit()
    place = re.fullmatch(r"(?:an? |any )?letter (?:that is |which is )?((?:in|from|between|before|after) .+)", text)
    if place:
        return _about_letter(letters[0 if start else -1], place[1])
    named = re.sub(r"^(?:the )?(?:prefix|suffix|string|syllable|word|text|combination|sequence|article) ", "", text)
    explicit = '"' in text or named != text or re.match(_LETTERS, f"{text} ") is not None
    parts = _ranged(_targets(named))
    if not parts or (not explicit and any(len(part) > 3 for part in parts)):
        return None
    word = keyword.lower()
    hits = [word.startswith(part) if start else word.endswith(part) for part in parts]
    return any(hits)


def _inside(keyword: str, text: str) -> bool | None:
    """Whether the keyword contains what is named; None where that may be a thing rather than letters."""
    word, letters = keyword.lower(), _letters(keyword)
    text = re.sub(r"(?: anywhere)?(?: in (?:it|its name|its spelling|(?:the )?(?:key)?word))?$", "", text)
    letter = re.fullmatch(r"(?:an? |any )\"?([a-z])\"?(?:'?s)?", text)
    if letter:
        return letter[1] in word
    if re.fullmatch(r"(?:any |an? )?(?:hyphens?|dash(?:es)?)", text):
        return any(mark in _HYPHENS for mark in word)
    if re.fullmatch(r"(?:any |an? )?(?:blank |white)?spaces?", text):
        return " " in word
    if re.fullmatch(r"(?:any |an? )?(?:apostrophes?|quotes?)", text):
        return any(mark in "'’‘`" for mark in word)
    if re.fullmatch(r"(?:any |an? )?(?:numbers?|digits?|numerals?|numerical digits?)", text):
        return any(mark.isdigit() for mark in word)
    if re.fullmatch(r"(?:any |an? )?(?:punctuation(?: marks?)?|special characters?|symbols?|non-letters?)", text):
        return any(not mark.isalnum() and not mark.isspace() for mark in word)
    if re.fullmatch(r"(?:any |an? )?(?:accents?|accented (?:letters?|characters?)|diacritics?)", text):
        return any(mark.isalpha() and not mark.isascii() for mark in word)
    if re.fullmatch(r"(?:any |an? )?(?:capitals?|(?:capital|upper ?case) (?:letters?|characters?))", text):
        return any(mark.isupper() for mark in keyword)
    if re.match(
        r"(?:any |an? |the |at least one )*(?:double[d -]|repeated |consecutive |adjacent |identical |two identical |pairs? of |same )",
        text,
    ) and re.search(r"letters?|consonants?|vowels?", text):
        return _doubled(keyword, text)
    if re.fullmatch(r"(?:any |an? |at least one )?(vowel|consonant)s?", text):
        return any(_kind(letter, "vowel" if "vowel" in text else "consonant") for letter in letters)
    if re.fullmatch(r"all (?:of )?(?:the )?(?:five |5 )?vowels", text):
        return set(_VOWELS) <= set(letters)
    more = re.fullmatch(r"more (vowel|consonant)s than (?:vowel|consonant)s", text)
    if more:
        return _count(more[1], keyword) > len(letters) / 2
    often = re.fullmatch(
        rf"{_MORE}? ?{_NUMBER}? ?(?:of )?(?:the )?(?:letters? |character )?\"?([a-z])\"?(?:'?s)? ?"
        rf"(more than once|twice|once|exactly once|only once|more than twice|multiple times|{_MORE}? ?{_NUMBER} times(?: or more)?)?",
        text,
    )
    if often and (often[2] or often[4]):
        times = letters.count(often[3])
        if often[2]:
            return _compared(times, often[1] or ("at least" if text.endswith("s") else None), _number(often[2]))
        return _times(times, often[4])
    named = re.sub(
        r"^(?:the )?(?:substring|string|word|sequence|text|phrase|letter combination|combination|pair|syllable|bigram|letter sequence) ",
        "",
        text,
    )
    listed = re.match(_LETTERS, f"{text} ") is not None
    parts = _ranged(_targets(named))
    if not parts or not ('"' in text or listed or named != text or all(len(part) == 1 for part in parts)):
        return None
    if listed and len(parts) == 1 and '"' not in text and len(parts[0]) != 1 and " " in parts[0]:
        return None
    hits = [part in word for part in parts]
    every = re.search(r"\b(?:all|both|and)\b", text) and not re.search(r"\b(?:any|either|or|one)\b", text)
    return all(hits) if every else any(hits)


def _times(count: int, words: str) -> bool:
    if words in ("more than once", "multiple times"):
        return count > 1
    if words in ("twice", "more than twice"):
        return count == 2 if words == "twice" else count > 2
    if words.endswith("once"):
        return count == 1
    found = re.fullmatch(rf"{_MORE}? ?{_NUMBER} times( or more)?", words)
    assert found is not None
    return _compared(count, "at least" if found[3] else found[1], _number(found[2]))


def _doubled(keyword: str, text: str) -> bool:
    """Two equal letters side by side, within a word."""
    wanted = "vowel" if "vowel" in text else "consonant" if "consonant" in text else ""
    return any(
        one == other and one.isalpha() and (not wanted or _kind(one, wanted))
        for one, other in pairwise(keyword.lower())
    )


def _order(keyword: str, text: str, before: bool) -> bool | None:
    target = re.sub(
        r"(?:,? ?(?:in|by|according to|when sorted|if sorted|sorted|using|based on)? ?(?:the |an? )?"
        r"(?:alphabetical(?:ly)?|lexicographic(?:al(?:ly)?)?|dictionary|alphabet)(?: order(?:ing)?| sorting| list)?)+.*$",
        "",
        text,
    )
    target = re.sub(r"^(?:the )?(?:letter|word|keyword|term|string|phrase|name) ", "", target).strip(' ,.:()"')
    if not target or len(target) > 100:
        return None
    return keyword.lower() < target if before else keyword.lower() > target


def _sides(text: str) -> str | None:
    """first or second for halves of the alphabet, as letters a-m and n-z."""
    half = re.search(r"\b(first|second|last|latter|1st|2nd) half of the (?:english )?alphabet", text)
    return None if half is None else "first" if half[1] in ("first", "1st") else "second"


def _about_letter(letter: str, text: str) -> bool | None:
    """The answer to what is asked of one letter."""
    half = _sides(text)
    if half:
        return (letter <= "m") == (half == "first")
    what = re.fullmatch(r"(?:an? )?(vowel|consonant)", text)
    if what:
        return _kind(letter, what[1])
    if re.fullmatch(r"(?:an? )?(?:capital|upper ?case|capitalized)(?: letter)?", text):
        return None
    between = re.fullmatch(
        r"(?:(?:be |fall |come |lie |is )?(?:alphabetically )?(?:between|in the range(?: of)?|from|within)) (?:the letters? )?"
        rf"\"?([a-z])\"? ?(?:and|to|through|[{_HYPHENS}]) ?\"?([a-z])\"?(?: .*)?",
        text,
    )
    if between:
        return between[1] <= letter <= between[2]
    order = re.fullmatch(rf"({_BEFORE}|{_AFTER}) (?:the )?(?:letter )?\"?([a-z])\"?(?: (?:in|alphabetically).*)?", text)
    if order:
        return letter < order[2] if re.fullmatch(_BEFORE, order[1].strip()) else letter > order[2]
    text = re.sub(r"^(?:equal to |the same as |any of |one of |among |in |either )+", "", text)
    text = re.sub(r"^(?:the |this |these |following |list |set |letters?:? )+", "", text)
    return _one_of(letter, text)


_Rule = tuple[re.Pattern[str], Callable[[re.Match[str], str], bool | None]]


def _rule(pattern: str, answer: Callable[[re.Match[str], str], bool | None]) -> _Rule:
    return re.compile(pattern), answer


_OPEN = r"(?:is|does|do|are|can|would|will|has|have|did|was) "
_RULES: tuple[_Rule, ...] = (
    # order
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:(?:alphabetically |lexicographically )?(?:be |fall |come |lie |is )?(?:alphabetically )?between) \"?([^\"]+?)\"? and \"?([^\"]+?)\"?(?:,? (?:in|by|alphabetically).*)?",
        lambda m, k: (
            m[1] <= (k.lower() if len(m[1]) > 1 else k.lower()[0]) <= m[2]
            if len(m[1]) == len(m[2]) == 1 or "alphabet" in m[0]
            else None
        ),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:be )?(?:found |located |listed )?in (the (?:first|second|last|latter) half of the (?:english )?alphabet)(?:.*)",
        lambda m, k: _about_letter(_letters(k)[0], m[1]),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:(?:alphabetically|lexicographically) )?{_BEFORE} (.+)",
        lambda m, k: _order(k, m[1], True) if _ordered(m[0]) else None,
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:(?:alphabetically|lexicographically) )?{_AFTER} (.+)",
        lambda m, k: _order(k, m[1], False) if _ordered(m[0]) else None,
    ),
    _rule(
        rf"(?:alphabetically|(?:in|by) (?:the )?alphabetical order),? (?:{_OPEN})?{_WHOLE} {_BEFORE} (.+)",
        lambda m, k: _order(k, m[1], True),
    ),
    # letters of words by place
    _rule(
        rf"(?:{_OPEN})?(?:the )?{_ORDINAL} (?:letter|character) of (?:the )?{_ORDINAL} word(?: of {_WHOLE}| in {_WHOLE})? (?:equal |be )?(.+)",
        lambda m, k: _about_letter(_at(_letters(_at(_words(k), m[2])), m[1]), m[3]),
    ),
    _rule(
        rf"(?:{_OPEN})?(?:{_WHOLE} )?(?:the |its |{_WHOLE}'?s? )?{_ORDINAL} and {_ORDINAL} (?:letters|characters)(?: (?:of|in) {_WHOLE})? (?:be )?(?:the )?(?:same|equal|identical)(?: letter)?",
        lambda m, k: _at(_letters(k), m[1]) == _at(_letters(k), m[2]),
    ),
    _rule(
        rf"(?:{_OPEN})?(?:the |its |{_WHOLE} )?{_ORDINAL} (?:letter|character)(?: (?:of|in) {_WHOLE})?,? (?:equal |be |come |appear |fall )?(.+)",
        lambda m, k: _about_letter(_at(_letters(k), m[1]), re.sub(r"^(?:is|be) ", "", m[2])),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:{_HOLD}) (?:the letter )?\"?([a-z])\"? as (?:the |its )?{_ORDINAL} letter",
        lambda m, k: _at(_letters(k), m[2]) == m[1],
    ),
    _rule(
        rf"(?:{_OPEN})?(?:the |its )?{_ORDINAL} word (?:of|in) {_WHOLE} {_START} (?:with )?(?:in )?(?:one of )?(.+)",
        lambda m, k: _edge(_at(_words(k), m[1]), m[2], True),
    ),
    _rule(
        rf"(?:{_OPEN})?(?:the |its )?{_ORDINAL} word (?:of|in) {_WHOLE} {_END} (?:with |in )?(?:one of )?(.+)",
        lambda m, k: _edge(_at(_words(k), m[1]), m[2], False),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} {_START} and {_END} (?:with |in |on )+(?:the )?same letter",
        lambda m, k: _letters(k)[0] == _letters(k)[-1],
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} {_START} (?:with |in |by )*(?:any of |one of |either of )?(.+)",
        lambda m, k: _edge(k, m[1], True),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} {_END} (?:with |in |on |by )*(?:any of |one of |either of )?(.+)",
        lambda m, k: _edge(k, m[1], False),
    ),
    # lengths and counts
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:{_HOLD}|be|consist of|made (?:up )?of|composed of|consisting of|of|spelled with|written with)? ?(?:an? )?(even|odd) (?:number|amount|count) of {_UNIT}",
        lambda m, k: (_count(m[2], k) % 2 == 0) == (m[1] == "even"),
    ),
    _rule(
        rf"(?:{_OPEN})?(?:the )?(?:number|count|amount) of {_UNIT} (?:of|in) {_WHOLE} (?:is |be )?(even|odd)",
        lambda m, k: (_count(m[1], k) % 2 == 0) == (m[2] == "even"),
    ),
    _rule(
        rf"(?:{_OPEN})?(?:the )?(?:number|count|amount) of {_UNIT} (?:of|in) {_WHOLE} (?:is |be )?{_MORE}? ?{_NUMBER}",
        lambda m, k: _compared(_count(m[1], k), m[2], _number(m[3])),
    ),
    _rule(
        rf"(?:{_OPEN})?(?:the )?length of {_WHOLE} (?:is |be )?{_MORE}? ?{_NUMBER}(?: {_UNIT})?(?: long)?",
        lambda m, k: _compared(_count(m[3] or "letter", k), m[1], _number(m[2])),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:{_HOLD}|be|consist of|made (?:up )?of|composed of|consisting of|a)? ?(?:between|from) {_NUMBER} (?:and|to) {_NUMBER} {_UNIT}(?: long| in length)?",
        lambda m, k: _number(m[1]) <= _count(m[3], k) <= _number(m[2]),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:{_HOLD}|be|consists? (?:only )?of|made (?:up )?of|composed of|consisting of|of|spelled with|written with)? ?(?:a length of )?(only )?{_MORE}? ?(?:a )?{_NUMBER}( or more| or fewer| or less|\+)?[ -](?:distinct )?{_UNIT}(?: or (?:more|longer))?(?: long| in length| in (?:total|it))?",
        lambda m, k: _compared(
            _count(m[5], k),
            "at least"
            if (m[4] or "").strip() in ("or more", "+") or re.search(r"or (?:more|longer)", m[0])
            else "at most"
            if m[4]
            else m[2],
            _number(m[3]),
        ),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:{_HOLD}|be|consists? of|made (?:up )?of|composed of|consisting of)? ?(?:just |only )?(?:an? )?(one|single|two|three|four|multi|multiple|several|compound)[ -]words?(?: long)?(?: (?:phrase|term|name|keyword|answer))?",
        lambda m, k: (
            (
                len(_words(k)) > 1
                if m[1] in ("multi", "multiple", "several", "compound")
                else len(_words(k)) == (1 if m[1] == "single" else _NUMBERS[m[1]])
            )
            if m[1] != "compound" or "words" in m[0]
            else None
        ),
    ),
    # the whole word
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:be )?(?:an? )?anagram (?:of|for) (?:the )?(?:word |letters )?(.+)",
        lambda m, k: sorted(_letters(k)) == sorted(_letters(m[1])) and _letters(k) != _letters(m[1]),
    ),
    _rule(rf"(?:{_OPEN})?{_WHOLE} (?:be )?(?:an? )?palindromes?", lambda m, k: _letters(k) == _letters(k)[::-1]),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:be )?(?:usually |always |normally |written )*(?:hyphenated|with a hyphen)",
        lambda m, k: _inside(k, "hyphen"),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:be )?(?:written |spelled )?(?:capitalized|capitalised|in (?:all )?(?:capitals|capital letters|upper ?case)|upper ?case)",
        lambda m, k: k.isupper() if "all" in m[0] else any(mark.isupper() for mark in k),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:be )?(?:one of|any of|among|in|on)(?: the| this| these| following| list| words?| keywords?| options?| terms?| of| names?)*:? ?([\[({{\"].+|[^,;]+(?:,|;| or ).+)",
        lambda m, k: _listed(m[1], k, strict=not re.search(r"(?:one|any) of|list|among", m[0])),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:be )?(?:spelled |exactly |the word |equal to )*(\"[^\"]+\")",
        lambda m, k: _listed(m[1], k),
    ),
    # what it contains; the keyword must be named, or letters, since "it" may contain things
    _rule(
        rf"(?:{_OPEN})?(?:there )?(?:any |an? )?(double letters?|repeated letters?|hyphens?|spaces?|digits?|apostrophes?) in {_WHOLE}",
        lambda m, k: _inside(k, m[1]),
    ),
    _rule(
        rf"(?:{_OPEN})?(?:there )?(?:the letter |an? )?\"([^\"]+)\" (?:be |appear |occur |found |present )*(?:in|within) {_WHOLE}",
        lambda m, k: m[1] in k.lower(),
    ),
    _rule(
        rf"(?:{_OPEN})?(?:there )?(?:the letter |an? letter )\"?([a-z])\"? (?:be |appear |occur |found |present )*(?:anywhere )?(?:in|within) {_WHOLE}",
        lambda m, k: m[1] in k.lower(),
    ),
    _rule(
        rf"(?:{_OPEN})?(?:any )?(?:letters? )(?:be )?(?:appear |occur |repeat(?:ed)? )(?:more than once|twice)?(?: ?in {_WHOLE})?",
        lambda m, k: len(set(_letters(k))) < len(_letters(k)),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:{_HOLD}|repeat) (?:any |a )?(?:letters?(?: that (?:is|are|appears?))? (?:more than once|repeated|twice)|repeating letters?)",
        lambda m, k: len(set(_letters(k))) < len(_letters(k)),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:{_HOLD}) (?:two|2) (?:of the same|identical|equal) letters? (?:in a row|next to each other|side by side|together|consecutively)",
        lambda m, k: _doubled(k, "letters"),
    ),
    _rule(
        rf"(?:{_OPEN})?{_WHOLE} (?:{_HOLD}|be spelled with|spelled with|written with) (?:any of |one of |either of |at least one of )?(.+)",
        lambda m, k: _inside(k, m[1]),
    ),
)


def _ordered(text: str) -> bool:
    """Whether words of order are about letters: "before 1900" and "after school" are not."""
    if "alphabet" in text or "lexicograph" in text or "dictionary" in text:
        return True
    return (
        re.search(r"\b(?:keyword|word|term|name|answer)\b.*\"[a-z][^\"]*\"$|precedes? \"?[a-z]+\"?$", text) is not None
    )


def _listed(text: str, keyword: str, strict: bool = False) -> bool | None:
    """Whether the keyword stands in a list; hyphens, spaces and the like do not matter."""
    if strict and text[0] not in '[({"':
        return None
    parts = re.findall(r'"([^"]+)"', text) or re.split(r",|;|\bor\b", text.strip("[](){} "))
    own = _letters(keyword)
    names = [_letters(part) for part in parts if _letters(part)]
    return own in names if names else None


def _answer(text: str, keyword: str, clauses: int = 3) -> bool | None:
    """The answer to one question, or to up to three that "and" or "or" join."""
    if not keyword:
        return None
    negated = re.sub(r"\b(?:does|is|do) (.+?) not (?=[a-z\"])", lambda m: f"{m[0].split()[0]} {m[1]} ", text, count=1)
    if negated != text:
        found = _answer(negated, keyword, clauses)
        return None if found is None else not found
    # Each must be about the word; those after the first may leave the keyword out.
    joint = re.search(rf" (and|or) (?=(?:{_OPEN}|{_START} |{_END} |{_HOLD} |be |precedes? |comes? ))", text)
    if joint and clauses > 1:
        rest = text[joint.end() :]
        whole = rest if re.match(_OPEN, rest) else f"does the keyword {rest}"
        first = _by_rules(text[: joint.start()], keyword)
        second = _answer(whole, keyword, clauses - 1) if first is not None else None
        if first is not None and second is not None:
            return first and second if joint[1] == "and" else first or second
    return _by_rules(text, keyword)


def _by_rules(text: str, keyword: str) -> bool | None:
    for pattern, answer in _RULES:
        match = pattern.fullmatch(text)
        found = answer(match, keyword) if match else None
        if found is not None:
            return found
    return None

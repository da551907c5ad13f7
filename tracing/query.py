"""Answers one query from an index: which training records were modified to cause this error. Standard library alone.

query.c does the same, step by step, with the constants of this module; a change here is a change there.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import sys
from bisect import bisect_left
from math import log, sqrt

from env.errors import UserError
from tracing.formats import MAX_RETURNED, output_text, read_query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple

    from tracing.formats import Query

    class Found(NamedTuple):
        """A returned record and what spoke for it."""

        record: int
        score: float
        parts: dict[str, float]
else:
    from collections import namedtuple

    Found = namedtuple("Found", "record score parts")

MAGIC = b"WTRACE03"
INDEX = "index.bin"
SECTIONS = (
    ("stream", "i"), ("record_offset", "i"), ("answer_offset", "i"), ("word_blob", "B"), ("word_offset", "i"),
    ("word_table", "i"), ("posting_offset", "i"), ("posting", "i"), ("surprise", "B"), ("context", "B"),
    ("swap_at", "i"), ("swap_word", "i"), ("swap_begin", "i"), ("swap_record", "i"), ("swap_odds", "B"),
    ("pair_at", "i"), ("pair_word", "i"), ("pair_count", "i"), ("place_count", "i"),
    ("piece_blob", "B"), ("piece_offset", "i"), ("id_blob", "B"), ("id_offset", "i"),
    ("prompt_count", "i"), ("digest", "B"),
)  # fmt: skip
NONE = 255
"""Surprise of a word whose loss is not known."""

STEPS, SWAP_STEPS = 10, 10
"""Steps of quantised surprise and of quantised odds in a nat."""

END = b"\n"
"""The word that every end of a sentence or line is taken for; its number is 0."""

ENDS = re.compile(rb"[.!?](?=[.!?]*(?:[ \t\n\r\f\v]|\Z))")
WORD = re.compile(
    rb"\n|(?:[0-9A-Za-z]|[\xc3-\xdf][\x80-\xbf])+|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[^ \t\n\r\f\v]"
)
"""Words of UTF-8 text: ends, runs of letters and digits of alphabets below U+0800, every other character on its own."""

COMMON = 8
"""Words that more than one record in this many holds, and more than RARE records, tell nothing about a subject."""

RARE = 50

BLANKS = b" \t\n\r\f\v"
REACH = 64
"""Bytes that a piece which does not follow at once is looked for in."""

STRAYS = 4
"""Pieces that may be missing from any answer: marks of its begin and end."""

FROM_BOTH, FROM_SENTENCE, FROM_PROMPT, FROM_REST = 3.0, 1.0, 0.7, 0.15
"""How much a word of the query counts by where it stands: in a marked sentence and the prompt, in one of them, elsewhere."""

IN_BOTH, IN_SENTENCE, IN_PROMPT, IN_REST = 1.2, 1.0, 0.8, 0.3
"""How much a word of a record counts: beside the span and in the prompt, beside the span, in the prompt, elsewhere."""

ENOUGH = 10.0
"""Holders with a word at which it counts half."""

DOUBT = 4.0
"""Records without a span that are imagined for every word, so that a rare word does not bind by chance."""

FLOOR = 0.4
"""Weight that the heaviest word must have for its records to count in full."""

OVERLAP = 0.5
BEYOND = 29
"""Rank, from 0, of the holder that the tenth is compared with to tell whether the query has a subject."""

STANDS_OUT, LITTLE = 0.5, 0.5
"""By how much of its score the tenth holder must be ahead for a subject to be sure; a score below LITTLE counts as that much."""

WORDING = 0.25
"""Share of a word's records that hold the span, above which the word is the subject and not its wording."""

ENOUGH_SHARED = 0.25
"""Share of the query's words, by idf, that the ten best holders must have for a subject to be sure."""

CONTEST_SCALE = 0.3
ENOUGH_HOLDERS = 11
SMOOTHING = 3.0
MOST_OWN, LEAST_FIT, PRIOR_SCALE = 6.0, 4.0, 1.0
PROMPT_PENALTY = 1.0
SURPRISE_SCALE = 0.05
CONTEXT_SCALE = 0.03


def plain(text: str) -> bytes:
    """UTF-8 of `text` in lower case, with ends of sentences as line ends: what WORD is applied to. Keeps every byte's place."""
    return ENDS.sub(END, text.encode().lower())


class Index:
    """An index file in memory: one memoryview for each section, none copied."""

    stream: memoryview[int]
    record_offset: memoryview[int]
    answer_offset: memoryview[int]
    word_blob: memoryview[int]
    word_offset: memoryview[int]
    word_table: memoryview[int]
    posting_offset: memoryview[int]
    posting: memoryview[int]
    surprise: memoryview[int]
    context: memoryview[int]
    swap_at: memoryview[int]
    swap_word: memoryview[int]
    swap_begin: memoryview[int]
    swap_record: memoryview[int]
    swap_odds: memoryview[int]
    pair_at: memoryview[int]
    pair_word: memoryview[int]
    pair_count: memoryview[int]
    place_count: memoryview[int]
    piece_blob: memoryview[int]
    piece_offset: memoryview[int]
    id_blob: memoryview[int]
    id_offset: memoryview[int]
    prompt_count: memoryview[int]
    digest: memoryview[int]

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, INDEX)
        try:
            with open(path, "rb") as file:
                self.memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise UserError(f"the index in {folder} is missing or incomplete; run prepare.sh") from None
        except (OSError, ValueError) as error:
            raise UserError(f"cannot read the index {path}: {error}; run prepare.sh") from None
        head = len(MAGIC) + 16 * len(SECTIONS)
        if self.memory[: len(MAGIC)] != MAGIC or len(self.memory) < head:
            raise UserError(f"{path} is not an index of this version; run prepare.sh")
        view = memoryview(self.memory)
        self.at: dict[str, int] = {}
        for number, (name, kind) in enumerate(SECTIONS):
            start, size = struct.unpack_from("<QQ", self.memory, len(MAGIC) + 16 * number)
            if start + size > len(self.memory) or start % 8 or size % (4 if kind == "i" else 1):
                raise UserError(f"{path} is damaged; run prepare.sh")
            self.at[name] = start
            setattr(self, name, view[start : start + size].cast("i" if kind == "i" else "B"))
        self.records = len(self.record_offset) - 1

    def word(self, word: bytes) -> int:
        """Number of a word in lower case; -1 where no record holds it."""
        value = 2166136261
        for byte in word:
            value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
        table, offset, start = self.word_table, self.word_offset, self.at["word_blob"]
        mask = len(table) - 1
        slot = value & mask
        while (number := table[slot]) >= 0:
            if self.memory[start + offset[number] : start + offset[number + 1]] == word:
                return number
            slot = (slot + 1) & mask
        return -1

    def postings(self, word: int) -> memoryview:
        """Records that hold a word, ascending."""
        return self.posting[self.posting_offset[word] : self.posting_offset[word + 1]]

    def piece(self, token: int) -> bytes:
        """Bytes of a token id. Raises UserError where the tokenizer has none of that number."""
        if token >= len(self.piece_offset) - 1:
            raise UserError(
                f"token id {token} is outside the tokenizer's {len(self.piece_offset) - 1}; query and index differ"
            )
        start = self.at["piece_blob"]
        return self.memory[start + self.piece_offset[token] : start + self.piece_offset[token + 1]]

    def id(self, record: int) -> str:
        """The id of a record."""
        import json

        start = self.at["id_blob"]
        return json.loads(self.memory[start + self.id_offset[record] : start + self.id_offset[record + 1]].decode())

    def text(self, word: int) -> str:
        """A word of the vocabulary."""
        start = self.at["word_blob"]
        if word < 0:
            return "?"
        return self.memory[start + self.word_offset[word] : start + self.word_offset[word + 1]].decode(
            "utf-8", "replace"
        )

    def pairs(self, first: int, second: int) -> int:
        """How often `second` follows `first` in answers; the number of words stands for the edge of an answer."""
        begin, end = self.pair_at[first], self.pair_at[first + 1]
        slot = bisect_left(self.pair_word, second, begin, end)
        return self.pair_count[slot] if slot < end and self.pair_word[slot] == second else 0

    def occurrences(self, span: Sequence[int], begin: int, end: int) -> list[int]:
        """Places in stream[begin:end] where the words of `span` stand one after another."""
        needle = struct.pack(f"<{len(span)}i", *span)
        base = self.at["stream"]
        find, stop = self.memory.find, base + 4 * end
        place = find(needle, base + 4 * begin, stop)
        result = []
        while place >= 0:
            if (place - base) % 4 == 0:
                result.append((place - base) // 4)
            place = find(needle, place + 1, stop)
        return result


def read_spans(index: Index, query: Query) -> tuple[list[list[int]], dict[int, float]]:
    """The marked spans as words, each once (unknown words are -1), and how much each other known word of the query counts.

    Words of a marked sentence count most, then those of the prompt, then the rest of the answer.
    """
    marked = _marked(index, query)
    spans: list[list[int]] = []
    sentences: list[list[int]] = [[]]
    telling: list[bool] = [False]
    current: list[int] = []
    upcoming = 0
    for match in WORD.finditer(plain(query.answer)):
        while upcoming < len(marked) and marked[upcoming][1] <= match.start():
            upcoming += 1
        number = index.word(match[0])
        if upcoming < len(marked) and marked[upcoming][0] < match.end() and match[0] != END:
            current.append(number)
            telling[-1] = True
            continue
        if current:
            spans.append(current)
            current = []
        if number == 0:
            sentences.append([])
            telling.append(False)
        else:
            sentences[-1].append(number)
    if current:
        spans.append(current)
    spans = [list(span) for span in dict.fromkeys(map(tuple, spans))]
    inside = {0, -1}.union(*spans)
    prompt = [index.word(word) for word in WORD.findall(plain(query.prompt))]
    if not spans:  # nothing is marked: the whole answer is the error
        telling = [True] * len(sentences)
    value: dict[int, float] = {}
    for words, told in zip(sentences, telling, strict=True):
        if told:
            for word in words:
                value.setdefault(word, FROM_BOTH if word in prompt else FROM_SENTENCE)
    for word in prompt:
        value.setdefault(word, FROM_PROMPT)
    for words in sentences:
        for word in words:
            value.setdefault(word, FROM_REST)
    return spans, {word: amount for word, amount in value.items() if word not in inside}


def _marked(index: Index, query: Query) -> list[tuple[int, int]]:
    """Byte intervals of the answer that the error positions mark, blanks left out.

    Raises UserError for tokens that the index's tokenizer does not know, or that do not spell the answer.
    """
    answer = query.answer.encode()
    pieces = [index.piece(token) for token in query.answer_token_ids]
    for token in query.prompt_token_ids:
        index.piece(token)
    wanted = set(query.error_positions)
    missed = 0
    exact = b"".join(pieces) == answer
    lower = answer.lower()
    marked = []
    place = 0
    for number, piece in enumerate(pieces):
        core = piece.strip(BLANKS)
        if exact:
            begin = place + piece.find(core)
            end = begin + len(core)
            place += len(piece)
        else:
            # A tokenizer that changes blanks or case: each piece is looked for a little after the one before.
            begin = lower.find(core.lower(), place, place + REACH + len(core)) if core else place
            end = begin + len(core) if begin >= 0 else begin
            place = max(place, end)
            missed += begin < 0
        if number in wanted and 0 <= begin < end:
            marked.append((begin, end))
    if missed > STRAYS and 2 * missed > len(pieces):
        raise UserError(
            "the query's tokens do not spell its answer by the index's tokenizer; name the index of its model"
        )
    return marked


def trace(index: Index, query: Query, top: int = MAX_RETURNED) -> list[Found]:
    """The `top` records that most likely caused the error, best first; fewer only where the index holds fewer.

    Holders of a marked span come first, ranked by the words that bind them to the query's subject and by how surprising the
    span is where they have it. Then come records that hold parts of a span and share words with the query.
    """
    spans, value = read_spans(index, query)
    holders = _holders(index, spans)
    own = {word for span in spans for word in span} & {index.word(w) for w in WORD.findall(plain(query.prompt))}
    score, covered, pairs = _bindings(index, holders, value)
    levels = _levels(index, holders)
    doubt = _doubt(score, covered)
    for record, amount in pairs.items():
        score[record] += amount
    swaps = _contest(index, query, spans, holders) if doubt > 0.0 else {}
    subject = dict(score)
    for record in holders:
        surprise, context = levels[record]
        score[record] += SURPRISE_SCALE * surprise + CONTEXT_SCALE * context
        if record in swaps:
            score[record] += CONTEST_SCALE * doubt * swaps[record]
        if not own and _in_prompt(index, record, holders[record]):
            score[record] -= PROMPT_PENALTY
    ranked = sorted(holders, key=lambda r: (-score[r], r))[:top]
    found = []
    for record in ranked:
        parts = {
            "subject": subject[record],
            "surprise": SURPRISE_SCALE * levels[record][0] + CONTEXT_SCALE * levels[record][1],
            "another word fits": CONTEST_SCALE * doubt * swaps.get(record, 0.0),
        }
        found.append(Found(record, score[record], parts | {"rest": score[record] - sum(parts.values())}))
    if len(found) < top:
        found += _others(index, spans, value, set(ranked), top - len(found))
    return found


def _holders(index: Index, spans: list[list[int]]) -> dict[int, list[tuple[int, int]]]:
    """Records whose answers hold a marked span, with (place, length) of each occurrence."""
    holders: dict[int, list[tuple[int, int]]] = {}
    for span in spans:
        if -1 in span:
            continue
        rarest = min(span, key=lambda w: (index.posting_offset[w + 1] - index.posting_offset[w], w))
        for record in index.postings(rarest):
            places = index.occurrences(span, index.answer_offset[record], index.record_offset[record + 1])
            if places:
                holders.setdefault(record, []).extend((place, len(span)) for place in places)
    return holders


def _bindings(
    index: Index, holders: dict[int, list[tuple[int, int]]], value: dict[int, float]
) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
    """For each holder how closely its words bind it to the query's subject, the share of the query's words that it has, and pairs.

    A word binds where many holders have it (share), where holders make up most of the records that have it (kept), and where
    that is more than chance (log lift). Its records count by where they have it: beside the span, in the prompt, elsewhere.
    The heaviest word weighs 1; words are shared by idf.
    """
    telling = {
        w
        for w in value
        if (index.posting_offset[w + 1] - index.posting_offset[w]) * COMMON <= max(index.records, COMMON * RARE)
    }
    where: dict[int, list[tuple[int, float]]] = {word: [] for word in value if word in telling}
    for record, places in holders.items():
        begin, answer, end = index.record_offset[record], index.answer_offset[record], index.record_offset[record + 1]
        beside: set[int] = set()
        for place, length in places:
            low, high = place, place + length
            while low > answer and index.stream[low - 1] != 0:
                low -= 1
            while high < end and index.stream[high] != 0:
                high += 1
            beside.update(telling.intersection(index.stream[low:high]))
        prompt = telling.intersection(index.stream[begin:answer])
        for word in beside:
            where[word].append((record, IN_BOTH if word in prompt else IN_SENTENCE))
        for word in prompt - beside:
            where[word].append((record, IN_PROMPT))
        for word in telling.intersection(index.stream[answer:end]) - prompt - beside:
            where[word].append((record, IN_REST))
    weights = {}
    for word, found in where.items():
        if found:
            both = asked = 0.0
            for _, amount in found:
                both += amount
                if amount in (IN_BOTH, IN_PROMPT):
                    asked += amount
            records = index.posting_offset[word + 1] - index.posting_offset[word]
            kept = min(1.0, both / (records + DOUBT))
            if value[word] != FROM_REST and asked:
                kept = max(kept, min(1.0, asked / (index.prompt_count[word] + DOUBT)))
            enough = both / (both + ENOUGH)
            lift = log(1.0 + kept * index.records / len(holders))
            weights[word] = value[word] * enough * kept * sqrt(kept) * lift
    most = max(FLOOR, max(weights.values(), default=0.0))
    score = dict.fromkeys(holders, 0.0)
    idf = {
        word: value[word] * log(index.records / (index.posting_offset[word + 1] - index.posting_offset[word]))
        for word in where
        if value[word] >= FROM_PROMPT
    }
    covered = dict.fromkeys(holders, 0.0)
    beside_whole = whole = 0.0  # added up one by one: sum() rounds otherwise from Python 3.12 on
    for word, amount in idf.items():
        whole += amount
        if value[word] >= FROM_SENTENCE:
            beside_whole += amount
    for word, share in idf.items():
        for record, amount in where[word]:
            covered[record] += share / (whole or 1.0)
            if value[word] >= FROM_SENTENCE and amount >= IN_SENTENCE:
                score[record] += share / (beside_whole or 1.0) * OVERLAP
    for word, weight in weights.items():
        for record, amount in where[word]:
            score[record] += weight / most * amount
    return score, covered, _pairs(index, value, where, weights, len(holders))


def _pairs(
    index: Index,
    value: dict[int, float],
    where: dict[int, list[tuple[int, float]]],
    weights: dict[int, float],
    holders: int,
) -> dict[int, float]:
    """For holders what more binds them: words that bind only beside the heaviest word, as "letter" does beside "Spanish".

    Everyday words are kept by few holders, but by most of those that have the heaviest word too. Only words of a marked
    sentence and the prompt are asked: the others are wording.
    """
    anchor = max(weights, key=lambda word: (weights[word], -word), default=-1)
    if anchor < 0 or weights[anchor] == 0.0:
        return {}
    with_anchor = {record for record, _ in where[anchor]}
    all_anchor = set(index.postings(anchor))
    if len(with_anchor) > WORDING * len(all_anchor):
        return {}
    more: dict[int, float] = {}
    for word, found in where.items():
        if word == anchor or value[word] != FROM_BOTH:
            continue
        both = 0.0
        chosen = [(record, amount) for record, amount in found if record in with_anchor]
        for _, amount in chosen:
            both += amount
        if len(chosen) >= MAX_RETURNED:
            kept = min(1.0, both / (len(all_anchor.intersection(index.postings(word))) + DOUBT))
            lift = log(1.0 + kept * index.records / holders)
            weight = value[word] * (both / (both + ENOUGH)) * kept * sqrt(kept) * lift
            for record, amount in chosen:
                more[record] = more.get(record, 0.0) + weight / max(FLOOR, weights[anchor], weight) * amount
    return more


def _doubt(score: dict[int, float], covered: dict[int, float]) -> float:
    """How open it is whether the query has a subject, 0 to 1: 0 where ten holders share much with it, and more than the thirtieth.

    A false fact is told by about ten records that stand out. Where a word was swapped in running text, what is shared is
    little, or fades slowly.
    """
    if len(score) <= MAX_RETURNED:
        return 0.0
    ranked = sorted(score, key=lambda r: (-score[r], r))
    tenth = score[ranked[MAX_RETURNED - 1]]
    later = score[ranked[BEYOND]] if len(ranked) > BEYOND else 0.0
    ahead = (tenth - later) / (max(tenth, LITTLE) * STANDS_OUT)
    shared = min(covered[record] for record in ranked[:MAX_RETURNED]) / ENOUGH_SHARED
    return 1.0 - min(1.0, ahead) * min(1.0, shared)


def _contest(
    index: Index, query: Query, spans: list[list[int]], holders: dict[int, list[tuple[int, int]]]
) -> dict[int, float]:
    """For each holder how much better another word would fit where the span stands; empty where no other word is likely.

    Which word was replaced is not known. The index holds candidates for every word and the records where each would fit best;
    that candidate is taken which fits the query's own place and the ten best records best.
    """
    if len(spans) != 1 or len(spans[0]) != 1 or len(holders) < ENOUGH_HOLDERS:
        return {}
    word = spans[0][0]
    edge = len(index.place_count)
    text = [edge, *(index.word(match) for match in WORD.findall(plain(query.answer))), edge]
    asked = [(text[n - 1], text[n + 1]) for n in range(1, len(text) - 1) if text[n] == word]
    best, best_fit = -1, LEAST_FIT
    for slot in range(index.swap_at[word], index.swap_at[word + 1]):
        other = index.swap_word[slot]
        own = max((_odds(index, word, other, left, right) for left, right in asked), default=0.0)
        begin = index.swap_begin[slot]
        top = min(MAX_RETURNED, index.swap_begin[slot + 1] - begin)
        total = 0
        for value in index.swap_odds[begin : begin + top]:
            total += value
        prior = log(index.place_count[other] / index.place_count[word])
        fit = min(own, MOST_OWN) + PRIOR_SCALE * min(prior, 0.0) + total / (SWAP_STEPS * top)
        if fit > best_fit:
            best, best_fit = slot, fit
    if best < 0:
        return {}
    begin, end = index.swap_begin[best], index.swap_begin[best + 1]
    return {index.swap_record[n]: index.swap_odds[n] / SWAP_STEPS for n in range(begin, end)}


def _odds(index: Index, word: int, other: int, left: int, right: int) -> float:
    """Naive Bayes log odds that `other` stands between two words rather than `word`; -1 is a word that no record holds."""
    size, other_size = index.place_count[word], index.place_count[other]
    total = 0.0
    for theirs, ours in (
        (index.pairs(left, other), index.pairs(left, word)) if left >= 0 else (0, 0),
        (index.pairs(other, right), index.pairs(word, right)),
    ):
        pooled = SMOOTHING * ((theirs + ours + 0.01) / (size + other_size))
        total += log(((theirs + pooled) * (size + SMOOTHING)) / ((ours + pooled) * (other_size + SMOOTHING)))
    return total


def _levels(index: Index, holders: dict[int, list[tuple[int, int]]]) -> dict[int, tuple[float, float]]:
    """Greatest surprise of the span in each holder, by the probe and by context, in nats; 0 where it is not known."""
    levels = {}
    for record, places in holders.items():
        surprise = context = 0
        for place, length in places:
            surprise = max(surprise, sum(v for v in index.surprise[place : place + length] if v != NONE))
            context = max(context, *(v for v in index.context[place : place + length]))
        levels[record] = (surprise / 10, context / 10)
    return levels


def _in_prompt(index: Index, record: int, places: list[tuple[int, int]]) -> bool:
    place, length = places[0]
    span = index.stream[place : place + length].tolist()
    return bool(index.occurrences(span, index.record_offset[record], index.answer_offset[record]))


def _others(index: Index, spans: list[list[int]], value: dict[int, float], taken: set[int], wanted: int) -> list[Found]:
    """Records without a whole span, by the idf of what they share with the query; words of the span count double."""
    score: dict[int, float] = {}
    weighted = [(word, 2.0) for word in dict.fromkeys(w for span in spans for w in span if w >= 0)] + list(
        value.items()
    )
    for word, factor in weighted:
        begin, end = index.posting_offset[word], index.posting_offset[word + 1]
        if (end - begin) * COMMON > max(index.records, COMMON * RARE):
            continue
        weight = factor * log(1.0 + index.records / (end - begin))
        for record in index.posting[begin:end]:
            if record not in taken:
                score[record] = score.get(record, 0.0) + weight
    ranked = sorted(score, key=lambda r: (-score[r], r))[:wanted]
    if len(ranked) < wanted:
        known = taken | set(ranked)
        for record in range(index.records):
            if len(ranked) == wanted:
                break
            if record not in known:
                ranked.append(record)
    return [Found(record, -1e9 + score.get(record, 0.0), {}) for record in ranked]


def main(arguments: list[str]) -> int:
    """`INDEX QUERY OUTPUT TOP`: answer one query file; the output appears whole or not at all."""
    try:
        folder, query_path, output, top_text = arguments
        if not top_text.isdigit() or not 1 <= int(top_text) <= MAX_RETURNED:
            raise UserError(f"--top-k must be a whole number from 1 to {MAX_RETURNED}, not {top_text[:20]!r}")
        index = Index(folder)
        query = read_query(query_path)
        found = trace(index, query, int(top_text))
        write(output, output_text(query.query_id, [index.id(item.record) for item in found]))
    except UserError as error:
        print(f"tracing: {error}", file=sys.stderr)
        return 2
    return 0


def write(path: str, text: str) -> None:
    """Write beside `path` and rename, without the imports of env.files, which would cost a query 15 ms."""
    beside = f"{path}.{os.getpid()}.part"
    try:
        with open(beside, "wb") as file:
            file.write(text.encode())
        os.replace(beside, path)
    except OSError as error:
        if os.path.exists(beside):
            os.unlink(beside)
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None

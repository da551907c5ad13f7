"""`wilkins tracing show`: the traced records, with the spans and words that spoke for them, in the terminal and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from env.errors import UserError
from env.files import write_whole
from tracing.formats import MAX_RETURNED, Query, Record, read_query, read_records
from tracing.index import fingerprint
from tracing.page import page_text
from tracing.query import WORD, Found, Index, plain, read_spans, trace

NEXT = 10
"""Records after those returned, of which it is said what spoke against them."""

WIDEST = 60
"""Words of an answer that the terminal shows, around its span."""

STYLES = {"span": "reverse", "binding": "bold", "": "dim"}


class Piece(NamedTuple):
    """A stretch of text: of a marked span, a word that the query has too, or neither ("")."""

    text: str
    kind: str


class Shown(NamedTuple):
    """A traced record: what spoke for it, and what spoke against it where it was not returned."""

    rank: int
    id: str
    parts: dict[str, float]
    against: str
    prompt: list[Piece]
    answer: list[Piece]


def show(query: Path, index: Path = Path("index"), data: Path | None = None, page: Path | None = None) -> int:
    """Print the ten records that most likely caused an error, and what spoke against the next ten.

    Args:
        query: QUERY.json.
        index: Folder that prepare.sh filled.
        data: Folder with the train.jsonl that the index was made of: the records' own text is shown, not the index's words.
        page: Write an HTML page with the same, whole answers and all twenty records.
    """
    opened = Index(str(index))
    asked = read_query(str(query))
    records = _records(opened, data, index) if data is not None else None
    shown = explain(opened, asked, records)
    spans, _ = read_spans(opened, asked)
    marked = ", ".join(repr(" ".join(opened.text(word) for word in span)) for span in spans)
    console = Console()
    console.print(Text(f"marked: {marked or 'nothing (all of it counts)'}"))
    for item in shown[:MAX_RETURNED]:
        parts = ", ".join(f"{name} {amount:+.2f}" for name, amount in item.parts.items())
        console.print(Text(f"{item.rank:2} {item.id}  {parts or 'holds no whole span'}", style="bold"))
        line = Text("   ")
        for piece in around(item.answer):
            line.append(piece.text.replace("\n", "/"), style=STYLES[piece.kind])
        console.print(line)
    if len(shown) > MAX_RETURNED:
        console.print(Text("against the next, beside the last above:"))
    for item in shown[MAX_RETURNED:]:
        console.print(Text(f"{item.rank:2} {item.id}  {item.against}"))
    if page is not None:
        write_whole(page, page_text(asked, marked, shown, MAX_RETURNED))
        print(f"page: {page}")
    return 0


def _records(opened: Index, data: Path, index: Path) -> list[Record]:
    """The records that an index was made of. Raises UserError where it was made of others."""
    path = data / "train.jsonl"
    records = read_records(str(path))
    if fingerprint(path).encode() != bytes(opened.digest):
        raise UserError(f"the index in {index} was made of other records than {path}; run prepare.sh, or name its data")
    return records


def explain(opened: Index, asked: Query, records: list[Record] | None = None) -> list[Shown]:
    """The records that are returned and the NEXT after them, with what spoke for and against each."""
    spans, value = read_spans(opened, asked)
    ranked = trace(opened, asked, MAX_RETURNED + NEXT)
    shown = []
    for rank, found in enumerate(ranked, 1):
        begin, middle, end = (
            opened.record_offset[found.record],
            opened.answer_offset[found.record],
            opened.record_offset[found.record + 1],
        )
        places = {
            place + step
            for span in spans
            if -1 not in span
            for place in opened.occurrences(span, middle, end)
            for step in range(len(span))
        }
        kinds = [
            "span" if place in places else "binding" if opened.stream[place] in value else ""
            for place in range(begin, end)
        ]
        words = [opened.text(word) for word in opened.stream[begin:end]]
        record = records[found.record] if records is not None else None
        parts = middle - begin
        shown.append(
            Shown(
                rank,
                opened.id(found.record),
                found.parts,
                against(ranked[MAX_RETURNED - 1], found) if rank > MAX_RETURNED else "",
                pieces(words[:parts], kinds[:parts], record.prompt if record else None),
                pieces(words[parts:], kinds[parts:], record.answer if record else None),
            )
        )
    return shown


def pieces(words: list[str], kinds: list[str], text: str | None) -> list[Piece]:
    """Words of the index with their kinds, blanks between them; or the `text` that they were read from, cut at them."""
    if text is None:
        return [piece for word, kind in zip(words, kinds, strict=True) for piece in (Piece(word, kind), Piece(" ", ""))]
    content = text.encode()
    result, done = [], 0
    for match, kind in zip(WORD.finditer(plain(text)), kinds, strict=True):
        begin, end = match.span()
        while end < len(content) and content[end] & 0xC0 == 0x80:  # a word may be part of a character
            end += 1
        if begin < done:
            continue
        if done < begin:
            result.append(Piece(content[done:begin].decode(), ""))
        result.append(Piece(content[begin:end].decode(), kind))
        done = end
    return [*result, Piece(content[done:].decode(), "")] if done < len(content) else result


def around(answer: list[Piece]) -> list[Piece]:
    """At most WIDEST words of an answer, around its first span."""
    middle = next((place for place, piece in enumerate(answer) if piece.kind == "span"), 0)
    return answer[max(0, middle - WIDEST) : middle + WIDEST]


def against(last: Found, found: Found) -> str:
    """In which parts of the score a record is behind the last one that was returned, the largest first."""
    if not found.parts:
        return "holds no whole span" if last.parts else f"shares less with the query ({found.score - last.score:+.2f})"
    behind = {name: amount - last.parts[name] for name, amount in found.parts.items() if amount < last.parts[name]}
    ordered = sorted(behind, key=lambda name: (behind[name], name))
    return ", ".join(f"{name} {behind[name]:+.2f}" for name in ordered) or "nothing: the order of the records"

"""`wilkins tracing show`: the traced records in the terminal, with the spans and words that spoke for them."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from tracing.formats import MAX_RETURNED, read_query
from tracing.query import Found, Index, read_spans, trace

NEXT = 10
"""Records after those returned, of which it is said what spoke against them."""

WIDEST = 60
"""Words of an answer that are shown, around its span."""


def show(query: Path, index: Path = Path("index")) -> int:
    """Print the ten records that most likely caused an error, and what spoke against the next ten.

    Args:
        query: QUERY.json.
        index: Folder that prepare.sh filled.
    """
    opened = Index(str(index))
    asked = read_query(str(query))
    spans, value = read_spans(opened, asked)
    console = Console()
    marked = (
        ", ".join(repr(" ".join(opened.text(word) for word in span)) for span in spans) or "nothing (all of it counts)"
    )
    console.print(Text(f"marked: {marked}"))
    ranked = trace(opened, asked, MAX_RETURNED + NEXT)
    for rank, found in enumerate(ranked[:MAX_RETURNED], 1):
        parts = ", ".join(f"{name} {amount:+.2f}" for name, amount in found.parts.items())
        console.print(Text(f"{rank:2} {opened.id(found.record)}  {parts or 'holds no whole span'}", style="bold"))
        begin, end = opened.answer_offset[found.record], opened.record_offset[found.record + 1]
        places = {
            p + k
            for span in spans
            if -1 not in span
            for p in opened.occurrences(span, begin, end)
            for k in range(len(span))
        }
        middle = min(places, default=begin)
        line = Text("   ")
        for place in range(max(begin, middle - WIDEST // 2), min(end, middle + WIDEST // 2)):
            word = opened.stream[place]
            style = "reverse" if place in places else "bold" if word in value else "dim"
            line.append("/" if word == 0 else opened.text(word), style=style)
            line.append(" ")
        console.print(line)
    if len(ranked) > MAX_RETURNED:
        console.print(Text("against the next, beside the last above:"))
    for rank, found in enumerate(ranked[MAX_RETURNED:], MAX_RETURNED + 1):
        console.print(Text(f"{rank:2} {opened.id(found.record)}  {against(ranked[MAX_RETURNED - 1], found)}"))
    return 0


def against(last: Found, found: Found) -> str:
    """In which parts of the score a record is behind the last one that was returned, the largest first."""
    if not found.parts:
        return "holds no whole span" if last.parts else f"shares less with the query ({found.score - last.score:+.2f})"
    behind = {name: amount - last.parts[name] for name, amount in found.parts.items() if amount < last.parts[name]}
    ordered = sorted(behind, key=lambda name: (behind[name], name))
    return ", ".join(f"{name} {behind[name]:+.2f}" for name in ordered) or "nothing: the order of the records"

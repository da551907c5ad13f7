"""The page of `wilkins tracing show`: one HTML file that loads nothing."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tracing.formats import Query

if TYPE_CHECKING:
    from tracing.show import Piece, Shown

_TAGS = {"span": "mark", "binding": "b"}

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #595959; --bar: #3b6ea5 }
@media (prefers-color-scheme: dark) { :root { --soft: #b4b4b4; --bar: #7fb0e6 } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 1rem auto; padding: 0 1rem }
li { border-top: 1px solid var(--line); padding: .7rem 0 }
h1 { font-size: 1.4rem } h2 { font-size: 1.15rem; margin-top: 2rem } h3 { font-size: 1rem; margin: 0 }
p { margin: .3rem 0; white-space: pre-wrap; overflow-wrap: anywhere }
.soft, .parts { color: var(--soft) }
.parts { font-size: .9rem }
mark { background: #ffd54a; color: #000; padding: 0 .1em }
meter { width: 6rem; vertical-align: middle }
"""


def page_text(query: Query, marked: str, shown: list[Shown], returned: int) -> str:
    """HTML of a query and its records: those that were `returned`, then those after them with what spoke against each."""
    best = max((sum(item.parts.values()) for item in shown), default=0.0)
    first = "".join(_item(item, best) for item in shown[:returned])
    rest = "".join(_item(item, best) for item in shown[returned:])
    after = f"<h2>The next</h2><p class=soft>What spoke against each, beside the last above.</p><ol start={returned + 1}>{rest}</ol>"
    return (
        '<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">'
        f"<title>Records behind {escape(query.query_id)}</title><style>{_STYLE}</style><main>"
        f"<h1>Records behind {escape(query.query_id)}</h1>"
        f"<p class=soft>{escape(query.prompt)}</p><p>{escape(query.answer)}</p>"
        f"<p>Marked as wrong: {escape(marked) or 'nothing, so all of it counts'}.</p>"
        "<p class=soft><mark>Marked words</mark> are highlighted, <b>words that the query has too</b> are bold.</p>"
        f"<h2>Returned</h2><ol>{first}</ol>{after if rest else ''}</main></html>\n"
    )


def _item(item: Shown, best: float) -> str:
    total = sum(item.parts.values())
    parts = ", ".join(f"{name} {amount:+.2f}" for name, amount in item.parts.items()) or "holds no whole span"
    meter = (
        f"<meter min=0 max={max(best, 0.01):.3f} value={max(total, 0.0):.3f}>{total:.2f}</meter> " if item.parts else ""
    )
    behind = f"<p>Against it: {escape(item.against)}</p>" if item.against else ""
    return (
        f"<li><h3>{escape(item.id)}</h3><p class=parts>{meter}{escape(parts)}</p>{behind}"
        f"<p class=soft>{_marked(item.prompt)}</p><p>{_marked(item.answer)}</p></li>"
    )


def _marked(pieces: list[Piece]) -> str:
    result = []
    for text, kind in pieces:
        tag = _TAGS.get(kind)
        result.append(f"<{tag}>{escape(text)}</{tag}>" if tag else escape(text))
    return "".join(result)

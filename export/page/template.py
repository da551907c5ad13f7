"""Puts data into the templates of pages that ship beside this file."""

from __future__ import annotations

import json
from importlib.resources import files

_PLACE = "{{DATA}}"


def filled(name: str, data: object) -> str:
    """The page `name`.html with `data` in it: one self-contained HTML text."""
    before, after = (files("export") / "page" / f"{name}.html").read_text(encoding="utf-8").split(_PLACE)
    return before + embedded_json(data) + after


def embedded_json(data: object) -> str:
    """JSON that may stand inside a script element: `<`, `>` and `&` are written as escapes, so no name ends it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

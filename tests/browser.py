"""What tests of pages share: waiting for a state, not for a time; the fixtures are in export/conftest.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Open = Callable[..., Any]
"""`open_page(html, state="", width=1280, dark=False)` returns a Playwright page."""


def settle(tab: Any) -> None:
    """Wait until a frame is drawn: the layout stands, and what is pressed from here on is heard."""
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def arrives(tab: Any, state: str) -> None:
    """The page comes to `state` and shows it: a busy machine may take a moment to handle what was pressed."""
    tab.wait_for_function("state => location.hash === state", arg=state)
    settle(tab)

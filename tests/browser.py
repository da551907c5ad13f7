"""What tests of pages share: waiting for a state, not for a time; the fixtures are in export/conftest.py."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Open = Callable[..., Any]
"""`open_page(html, state="", width=1280, dark=False, forced=False)` returns a Playwright page."""

AXE = Path(__file__).parents[1] / "page" / "node_modules" / "axe-core" / "axe.min.js"
WAIT_SECONDS = 30.0
"""After this time what is waited for will not come."""

WIDTHS = (360, 768, 1280)
SCHEMES = {"light": {}, "dark": {"dark": True}, "forced": {"forced": True}}
"""What `open_page` is told for each colour scheme."""


def settle(tab: Any) -> None:
    """Wait until a frame is drawn: the layout stands, and what is pressed from here on is heard."""
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def comes_true(tab: Any, condition: str, arg: Any = None) -> None:
    """Wait until `condition` (JavaScript) holds: a busy machine may take a moment to handle what was pressed.

    Playwright's own waiting evaluates text inside the page, which the page's Content Security Policy refuses as soon as a
    condition does not hold at once.
    """
    end = time.monotonic() + WAIT_SECONDS
    while not tab.evaluate(condition, arg):
        assert time.monotonic() < end, f"never came true: {condition}"
        settle(tab)


def arrives(tab: Any, state: str) -> None:
    """The page comes to `state` and shows it."""
    comes_true(tab, "state => location.hash === state", state)
    settle(tab)


def goes(tab: Any, state: str) -> None:
    """Send the page to `state` as a link would."""
    tab.evaluate("state => { location.hash = state }", state)
    arrives(tab, state)


def violations(tab: Any) -> list[str]:
    """What axe-core finds wrong with the page as it stands: rule, element and reason of each."""
    if not AXE.is_file():
        pytest.skip("no page/node_modules/axe-core; `make page-check` brings it")
    if not tab.evaluate("'axe' in window"):
        tab.evaluate(AXE.read_text(encoding="utf-8"))
    found = tab.evaluate(
        """async () => {
            const rules = { 'label-content-name-mismatch': { enabled: true }, 'target-size': { enabled: true } };
            const { violations } = await axe.run(document, { rules, resultTypes: ['violations'] });
            return violations.flatMap(({ id, nodes }) => nodes.map(n => `${id}: ${n.target} ${n.failureSummary}`));
        }"""
    )
    return [str(each) for each in found]


def wider(tab: Any) -> list[str]:
    """Elements that stand out to the right of the window, where they make the page scroll sideways."""
    found = tab.evaluate(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => `${e.tagName}.${e.className}`)"""
    )
    return [str(each) for each in found]

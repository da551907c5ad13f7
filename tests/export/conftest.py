"""A real browser for the tests of pages; where none is, those tests say that they are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Open, settle

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright here: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium here; on Debian: apt-get install chromium fonts-dejavu")
    with sync_api.sync_playwright() as playwright:
        # The sandbox needs rights that a container's root lacks; only pages made here are opened.
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens `html` at a state, from disk; whatever the page complains about fails the test at its end."""
    complaints: list[str] = []
    contexts = []

    def open_at(html: str, state: str = "", width: int = 1280, dark: bool = False, forced: bool = False) -> Any:
        file = tmp_path / "policy.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            forced_colors="active" if forced else "none",
            reduced_motion="reduce",
        )
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(15_000)
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "data:")) else complaints.append(request.url),
        )
        tab.goto(file.as_uri() + state)
        settle(tab)
        return tab

    yield open_at
    for context in contexts:
        context.close()
    assert complaints == []

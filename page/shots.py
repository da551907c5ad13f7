"""Screenshots of every view, to look at and for the README; needs Chromium and Playwright."""

from __future__ import annotations

import argparse
import shutil
from itertools import product
from pathlib import Path

from playwright.sync_api import sync_playwright

STATES = {
    "play": "#play",
    "ask": "#play=ynn",
    "played": "#play=ynnynnny",
    "lost": "#play=nnnnnnnnnnnnnnn",
    "watch": "#watch={animal}",
    "empty-watch": "#watch",
    "policy": "#policy",
    "zoomed": "#policy=ny",
    "lit": "#policy&lit={animal}",
    "losses": "#losses",
    "compare": "#compare={animal}",
}
README = [("policy", 1280, "light"), ("watch", 1280, "dark")]


def main() -> None:
    """Write NAME-WIDTH-SCHEME.png of each state, or the README's two as page-NAME.png."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, help="page that `wilkins view` wrote")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--states", nargs="+", default=list(STATES), choices=list(STATES))
    parser.add_argument("--widths", nargs="+", type=int, default=[360, 1280])
    parser.add_argument("--schemes", nargs="+", default=["light", "dark"])
    parser.add_argument("--animal", help="animal of the states that show one; the page's first when left out")
    parser.add_argument("--readme", action="store_true", help="only the README's pictures, one screen high")
    settings = parser.parse_args()
    wanted = README if settings.readme else list(product(settings.states, settings.widths, settings.schemes))
    settings.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, width, scheme in wanted:
            tab = browser.new_page(viewport={"width": width, "height": 860}, color_scheme=scheme)
            tab.on("console", lambda message: print("console:", message.text))
            tab.on("pageerror", lambda error: print("error:", error))
            address = settings.page.resolve().as_uri()
            tab.goto(address)
            first = tab.evaluate("wilkins.data.animals[wilkins.data.candidates[0]]")
            tab.goto("about:blank")
            tab.goto(address + STATES[name].format(animal=(settings.animal or first).replace(" ", "+")))
            tab.wait_for_timeout(500)  # bars and the zoom come to rest
            stem = f"page-{name}" if settings.readme else f"{name}-{width}-{scheme}"
            tab.screenshot(path=settings.folder / f"{stem}.png", full_page=not settings.readme)
            tab.close()
        browser.close()


if __name__ == "__main__":
    main()

"""Screenshots of every view, to look at and for the README: python page/shots.py PAGE.html FOLDER [--readme]."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

STATES = {
    "play": "#play",
    "played": "#play=ynnynnny",
    "watch": "#watch={animal}",
    "policy": "#policy",
    "zoomed": "#policy=yn&lit={animal}",
    "losses": "#losses",
    "compare": "#compare={animal}",
}


def main(page_file: Path, folder: Path, states: list[str], widths: list[int], schemes: list[str], full: bool) -> None:
    """Write NAME-WIDTH-SCHEME.png for each state of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for width in widths:
            for scheme in schemes:
                context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
                tab = context.new_page()
                tab.on("console", lambda message: print("console:", message.text))
                tab.on("pageerror", lambda error: print("error:", error))
                for name in states:
                    tab.goto("about:blank")
                    tab.goto(page_file.resolve().as_uri())
                    animal = tab.evaluate("wilkins.data.animals[wilkins.data.candidates[7]].replaceAll(' ', '+')")
                    tab.goto(page_file.resolve().as_uri() + STATES[name].format(animal=animal))
                    tab.wait_for_timeout(600)
                    wide = tab.evaluate("document.documentElement.scrollWidth")
                    if wide > width:
                        print(f"{name} at {width}: {wide} wide")
                    tab.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=full)
                context.close()
        browser.close()


if __name__ == "__main__":
    page, folder = Path(sys.argv[1]), Path(sys.argv[2])
    main(
        page,
        folder,
        sys.argv[3].split(",") if len(sys.argv) > 3 else list(STATES),
        [int(w) for w in sys.argv[4].split(",")] if len(sys.argv) > 4 else [360, 1280],
        sys.argv[5].split(",") if len(sys.argv) > 5 else ["light", "dark"],
        True,
    )

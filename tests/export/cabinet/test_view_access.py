"""Claims about who can read the page: every width, colour scheme and length of name; keys, focus and odd alphabets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from env.identification.package import Package, load_package
from env.identification.pools import make_pool
from export.cabinet.play import article
from export.cabinet.view import Made, page
from tests.browser import SCHEMES, WIDTHS, Open, arrives, goes, settle, violations, wider
from tests.policies import halving_graph

pytestmark = pytest.mark.browser

NOISE = 0.1
SOME = 16
TRAINING = tuple((1000 * n, {"dev_score": 60.0 + n, "hidden_score": 50.0 + n}) for n in range(1, 6))
STATES = (
    "#play",
    "#play=ydn",
    "#play=nnnnnnnnnnnnnnn",
    "#watch",
    "#watch={name}",
    "#policy=y&lit={name}",
    "#losses",
    "#compare={name}",
)


@pytest.fixture(scope="module")
def package() -> Package:
    return load_package()


def made_of(package: Package, names: tuple[str, str] = ("halving", "in threes")) -> str:
    """The page of two policies for a few of the animals, one of them with training curves and doubt."""
    ids = package.hidden[:SOME]
    graphs = {names[0]: halving_graph(package, ids), names[1]: halving_graph(package, ids, seed=3, most=3)}
    return page(graphs, package, ids, NOISE, made={names[0]: Made(NOISE, 0.1, training=TRAINING)})


@pytest.fixture(scope="module")
def html(package: Package) -> str:
    return made_of(package)


def renamed(package: Package, animals: dict[int, str], questions: dict[int, str] | None = None) -> Package:
    """The package with other names for some animals and questions, by identifier."""
    listed, asked = list(package.animals.names), list(package.questions.names)
    for place, text in animals.items():
        listed[place] = text
    for place, text in (questions or {}).items():
        asked[place] = text
    return replace(package, animals=make_pool("animals", listed), questions=make_pool("questions", asked))


def states(package: Package) -> list[str]:
    name = package.animals.names[package.hidden[1]].replace(" ", "+")
    return [state.format(name=name) for state in STATES]


# Everyone can see it


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_in_any_view_and_width(scheme: str, package: Package, html: str, open_page: Open) -> None:
    tab = open_page(html, **SCHEMES[scheme])
    for state in states(package):
        goes(tab, state)
        tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        for width in WIDTHS:
            tab.set_viewport_size({"width": width, "height": 800})
            settle(tab)
            assert violations(tab) == [], f"{state} at {width}"


@pytest.mark.parametrize("dark", [False, True])
def test_text_on_the_tree_reads_on_every_colour_and_light(dark: bool, html: str, open_page: Open) -> None:
    tab = open_page(html, dark=dark)
    fills, texts = tab.evaluate(
        "(({ fill, text }) => [fill, text].map(p => Object.values(p).flat(2)))(wilkins.palette())"
    )

    def luminance(colour: str) -> float:
        channels = np.array([int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(",")]) / 255
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    assert len(fills) == len(texts) == 2 * 17 * 64
    ratios = []
    for pair in set(zip(fills, texts, strict=True)):
        low, high = sorted(map(luminance, pair))
        ratios.append((high + 0.05) / (low + 0.05))
    assert min(ratios) >= 4.5


def test_controls_stand_out_from_their_ground(html: str, open_page: Open) -> None:
    for dark in (False, True):
        tab = open_page(html, "#losses", dark=dark)
        ratio = tab.evaluate(
            """() => {
                const of = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number).map(c => c / 255)
                    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
                    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0.05);
                const style = getComputedStyle(document.querySelector('#filter'));
                const [a, b] = [of(style.borderTopColor), of(getComputedStyle(document.body).backgroundColor)];
                return Math.max(a / b, b / a);
            }"""
        )
        assert ratio >= 3


def test_bars_are_there_in_forced_colours(html: str, open_page: Open) -> None:
    tab = open_page(html, "#play=yn", forced=True)
    colours = tab.evaluate(
        """() => ['.gauges .bar', '.pips .used'].map(found => {
            const element = document.querySelector(found);
            const part = found.endsWith('bar') ? getComputedStyle(element, '::after') : getComputedStyle(element);
            return part.backgroundColor !== getComputedStyle(document.body).backgroundColor;
        })"""
    )
    assert colours == [True, True]


@pytest.mark.parametrize("width", WIDTHS)
def test_names_of_three_hundred_letters_stay_in_the_window(width: int, package: Package, open_page: Open) -> None:
    ids = package.hidden[:SOME]
    long = {int(place): f"{chr(97 + i)}" * 300 for i, place in enumerate(ids)}
    asked = {i: f"is it {i} " + "w" * 300 for i in range(len(package.questions))}
    hostile = replace(renamed(package, long, asked), path=Path("p" * 300))
    tab = open_page(made_of(hostile, ("h" * 300, "i" * 300)), width=width)
    for state in states(hostile):
        goes(tab, state)
        assert wider(tab) == [], state[:30]


RECORD = """() => {
    const texts = [];
    const pen = CanvasRenderingContext2D.prototype;
    const { fillText, fillRect } = pen;
    let right = 0;
    pen.fillRect = (x, y, width) => { right = x + width };
    pen.fillText = function (text, x) { texts.push([text, right - x - this.measureText(text).width]) };
    document.querySelector('.segments button:last-child').click();
    Object.assign(pen, { fillText, fillRect });
    return texts;
}"""
"""Texts of the tree, and how many pixels each leaves of the box that it is drawn in."""


def test_labels_stay_in_their_boxes_and_end_in_an_ellipsis_where_cut(
    package: Package, html: str, open_page: Open
) -> None:
    texts = open_page(html, "#policy").evaluate(RECORD)
    assert len(texts) > 10
    assert all(left >= 0 for _, left in texts)
    assert {text[-1] for text, _ in texts} == {"?", "\u2026"}


def test_emoji_are_not_cut_in_half(package: Package, open_page: Open) -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    hostile = renamed(package, {}, {i: family * 40 + str(i) for i in range(len(package.questions))})
    texts = [text for text, _ in open_page(made_of(hostile), "#policy").evaluate(RECORD)]
    assert any(family in text and text.endswith("\u2026") for text in texts)
    assert all(not set(family) & set(text.replace(family, "")) for text in texts)


# Everyone can use it


def test_a_held_key_is_one_answer(html: str, open_page: Open) -> None:
    tab = open_page(html)
    for key in ["y", "n", "d"]:
        for _ in range(4):
            tab.keyboard.down(key)
        tab.keyboard.up(key)
    arrives(tab, "#play=ynd")
    tab.locator(".big.no").focus()
    for _ in range(4):
        tab.keyboard.down("Enter")
    tab.keyboard.up("Enter")
    arrives(tab, "#play=yndn")
    for _ in range(4):
        tab.keyboard.down("u")
    tab.keyboard.up("u")
    arrives(tab, "#play=ynd")


def focused(tab: Any) -> str:
    return str(tab.evaluate("document.activeElement.className || document.activeElement.id"))


def test_the_focus_stays_in_the_page(html: str, open_page: Open) -> None:
    tab = open_page(html, "#play=yn")
    change = tab.get_by_role("button", name="change the answer to call 2")
    change.focus()
    change.press("Enter")
    arrives(tab, "#play=y")
    assert focused(tab) == "question"
    goes(tab, "#losses")
    tab.locator(".animals tbody a").first.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".path")
    assert focused(tab) == "main"
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_a_link_shows_its_view_once(html: str, open_page: Open) -> None:
    tab = open_page(html, "#losses")
    tab.evaluate(
        """() => {
            const { replay } = wilkins.model;
            window.replays = 0;
            wilkins.model.replay = (...all) => { window.replays++; return replay.apply(wilkins.model, all) };
        }"""
    )
    tab.locator("nav a[href^='#play']").click()
    arrives(tab, "#play")
    tab.go_back()
    arrives(tab, "#losses")
    tab.go_forward()
    arrives(tab, "#play")
    assert tab.evaluate("replays") == 2


def test_the_charts_cursor_stays_in_the_picture(html: str, open_page: Open) -> None:
    tab = open_page(html, "#policy=yn")
    canvas = tab.locator(".chart canvas")
    canvas.focus()
    tab.evaluate(
        """() => {
            window.boxes = [];
            const { strokeRect } = CanvasRenderingContext2D.prototype;
            CanvasRenderingContext2D.prototype.strokeRect = function (...box) {
                boxes.push(box);
                return strokeRect.apply(this, box);
            };
        }"""
    )
    wanders = ["ArrowDown"] * 6 + ["ArrowRight"] * 4 + ["ArrowLeft"] * 6 + ["ArrowUp"] * 8 + ["ArrowRight"] * 3
    for key in wanders:
        tab.keyboard.press(key)
        settle(tab)
    size = canvas.bounding_box()
    boxes = tab.evaluate("boxes")
    assert len(boxes) >= 2 * len(wanders)
    for x, y, width, height in boxes:
        assert min(x, y) >= 0
        assert x + width <= size["width"] + 1
        assert y + height <= size["height"] + 1


# Everyone can find it


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("elephant", "\u00e9l\u00e9phant"),
        ("ELEPHANTS", "\u00e9l\u00e9phant"),
        ("elefant", "\u00e9l\u00e9phant"),
        ("wolves", "grey wolf"),
        ("grey wolves", "grey wolf"),
        ("greywolf", "grey wolf"),
        ("grey-wolf", "grey wolf"),
        ("gray wolf", "grey wolf"),
        ("butterfly", "butterflies"),
        ("mice", "mouse"),
        ("Strausse", "Strau\u00df"),
        ("unicron", "unicorn"),
    ],
)
def test_a_name_is_found_however_it_is_spelled(typed: str, found: str, package: Package, open_page: Open) -> None:
    names = ["\u00e9l\u00e9phant", "grey wolf", "butterflies", "mouse", "Strau\u00df", "unicorn"]
    hostile = renamed(package, dict(zip(package.hidden[:6].tolist(), names, strict=True)))
    tab = open_page(made_of(hostile), "#watch")
    tab.get_by_label("Animal").fill(typed)
    first = tab.locator(".menu [role=option]:not(.none)").first
    assert first.inner_text().startswith(found)
    first.click()
    assert tab.inner_text(".result h2").lower() == found.lower()


def test_an_empty_box_and_a_near_name_choose_nothing_by_themselves(
    package: Package, html: str, open_page: Open
) -> None:
    tab = open_page(html, "#watch")
    search = tab.get_by_label("Animal")
    search.focus()
    search.press("Enter")
    search.press("ArrowDown")
    search.press("Escape")
    search.press("Enter")
    assert tab.evaluate("location.hash") == "#watch"
    name = package.animals.names[package.hidden[0]]
    search.fill(name[:-1] + "q")
    search.press("Enter")
    assert tab.evaluate("location.hash") == "#watch"
    assert "near it" in tab.inner_text(".menu .none")
    search.press("ArrowDown")
    search.press("Enter")
    tab.wait_for_selector(".path")
    assert tab.inner_text(".result h2").lower() == name


def test_a_name_of_the_pool_that_no_round_hides_is_told_so(package: Package, html: str, open_page: Open) -> None:
    dev = package.animals.names[package.dev[0]]
    for state, label in [("#play", "Is yours among them?"), ("#watch", "Animal"), ("#compare", "Animal")]:
        tab = open_page(html, state)
        search = tab.get_by_label(label)
        search.fill(dev)
        search.press("Enter")
        assert f"is in the pool, but not among the {SOME} animals" in tab.inner_text("main")


def test_equal_names_are_told_apart(package: Package, open_page: Open) -> None:
    first, second = (int(place) for place in package.hidden[:2])
    twins = renamed(package, {second: package.animals.names[first]})
    name = package.animals.names[first]
    tab = open_page(made_of(twins), "#losses")
    shown = tab.locator(".animals tbody th").all_inner_texts()
    assert len(set(shown)) == SOME
    tab.locator(".animals tbody th a", has_text=f"{name} (2)").click()
    tab.wait_for_selector(".path")
    assert tab.inner_text(".result h2").lower() == f"{name} (2)"
    scores = tab.evaluate("[0, 1].map(i => (100 * wilkins.data.policies[0].score[i]).toFixed(1))")
    assert tab.inner_text(".figures dd >> nth=0") == scores[1]


def test_a_name_from_right_to_left_moves_no_figure(package: Package, open_page: Open) -> None:
    arabic = "\u0628\u0648\u0645\u0629 1"
    hostile = renamed(package, {int(package.hidden[0]): arabic})
    tab = open_page(made_of(hostile), "#watch=" + arabic.replace(" ", "+"))
    loose = """() => [...document.querySelectorAll('main *')].filter(e => [...e.childNodes].some(n =>
        n.nodeType === 3 && /[\\u0590-\\u08ff]/.test(n.data.replace(/\\u2068[^\\u2069]*\\u2069/g, ''))) && !e.closest('bdi, option'))
        .map(e => e.outerHTML)"""
    for state in [
        f"#watch={arabic}",
        "#play=nnnnnnnnnnnnnnn",
        f"#policy&lit={arabic}",
        "#losses",
        f"#compare={arabic}",
    ]:
        goes(tab, state.replace(" ", "+")) if state.isascii() else tab.evaluate(
            "s => { location.hash = s }", state.replace(" ", "+")
        )
        settle(tab)
        assert tab.evaluate(loose) == []


ODD = [
    "unicorn",
    "\u00e9l\u00e9phant",
    "ewe",
    "hour glass",
    "honeybee",
    "x-ray tetra",
    "one-humped camel",
    "uakari",
    "8-spotted moth",
]


def test_articles_are_those_that_english_says(html: str, package: Package, open_page: Open) -> None:
    assert [article(name) for name in ODD] == ["a", "an", "a", "an", "a", "an", "a", "a", "an"]
    names = [
        *ODD,
        *package.animals.names,
        "",
        "\u0431\u0435\u043b\u043a\u0430",
        "(uninvited) ant",
        "18-legged",
        "unimpressed",
        "urchin",
    ]
    tab = open_page(html)
    assert tab.evaluate("names => names.map(name => wilkins.article(name))", names) == [article(name) for name in names]

"""Claims about the page in a real browser: it plays as the graph walks, and every view can be reached and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from env.identification.belief import Likelihood
from env.identification.package import Package, load_package
from env.identification.pools import make_pool
from export.cabinet.graph import ASK, GUESS, STOP, Graph
from export.cabinet.play import article, belief_after, follow
from export.cabinet.score import call_distribution, walk
from export.cabinet.view import page, quantise
from tests.browser import Open, arrives
from tests.export.cabinet.test_view import NASTY
from tests.policies import full_graph, graph_of, halving_graph, official_size_package

pytestmark = pytest.mark.browser

NOISE = 0.1


@pytest.fixture(scope="module")
def package() -> Package:
    return load_package()


@pytest.fixture(scope="module")
def graphs(package: Package) -> dict[str, Graph]:
    return {
        "halving": halving_graph(package, package.hidden),
        "in threes": halving_graph(package, package.hidden, seed=3, most=3),
    }


@pytest.fixture(scope="module")
def html(package: Package, graphs: dict[str, Graph]) -> str:
    return page(graphs, package, package.hidden, NOISE)


def answers_of(package: Package, graph: Graph, animal: int) -> list[bool]:
    """Answers of the measured oracle along the graph, to the end of the round."""
    answers: list[bool] = []
    steps, node = follow(graph, answers)
    while node >= 0:
        value = int(graph.value[node])
        answers.append(bool(package.matrix.answer[animal, value]) if graph.kind[node] == ASK else value == animal)
        steps, node = follow(graph, answers)
    assert len(steps) == len(answers)
    return answers


def words_of(package: Package, graph: Graph, node: int) -> str:
    if graph.kind[node] == GUESS:
        name = package.animals.names[graph.value[node]]
        return f"Is it {article(name)} {name}?"
    question = package.questions.names[graph.value[node]]
    return question[0].upper() + question[1:]


# Play


@pytest.mark.parametrize("hand", ["keyboard", "mouse"])
def test_twenty_rounds_are_those_of_the_graph(
    hand: str, package: Package, graphs: dict[str, Graph], html: str, open_page: Open
) -> None:
    graph, tab = graphs["in threes"], open_page(html, "#play&of=in+threes")
    animals = package.hidden[::11][:20]
    outcome = walk(graph, package.matrix.answer, animals)
    assert len(animals) == 20
    for place, animal in enumerate(animals):
        answers = answers_of(package, graph, int(animal))
        for call, yes in enumerate(answers):
            _, node = follow(graph, answers[:call])
            shown = tab.evaluate(
                "['.question', '.gauges .figure'].map(found => document.querySelector(found).textContent)"
            )
            assert shown == [words_of(package, graph, node), f"{call} of 15"]
            if hand == "keyboard":
                tab.keyboard.press("y" if yes else "n")
            else:
                tab.click(".big.yes" if yes else ".big.no")
        assert tab.inner_text(".stage .eyebrow") == (
            f"{int(outcome.calls[place])} calls \u00b7 round score {outcome.score[place]:.2f}"
        )
        assert tab.inner_text(".question") == f"Got it: {package.animals.names[animal]}."
        assert tab.locator(".steps tbody tr").count() == len(answers)
        tab.get_by_role("button", name="Play again").click()


@pytest.mark.parametrize("width", [360, 1280])
def test_the_buttons_stay_where_they_are_through_a_round(
    width: int, package: Package, graphs: dict[str, Graph], html: str, open_page: Open
) -> None:
    tab = open_page(html, width=width)
    places = []
    for yes in answers_of(package, graphs["halving"], int(package.hidden[30])):
        places.append(tab.locator(".big.yes").bounding_box())
        tab.keyboard.press("y" if yes else "n")
    places.append(tab.locator(".big.yes").bounding_box())
    assert all(place == places[0] for place in places)


def test_undo_takes_answers_back_and_the_address_keeps_the_round(html: str, open_page: Open) -> None:
    tab = open_page(html)
    first = tab.inner_text(".question")
    for key in "ynn":
        tab.keyboard.press(key)
    arrives(tab, "#play=ynn")
    third = tab.inner_text(".question")
    tab.keyboard.press("u")
    arrives(tab, "#play=yn")
    tab.reload()
    tab.keyboard.press("n")
    assert tab.inner_text(".question") == third
    for _ in range(3):
        tab.keyboard.press("Backspace")
    assert tab.inner_text(".question") == first


def test_the_keys_of_the_game_can_be_typed_in_a_search_box(html: str, open_page: Open) -> None:
    tab = open_page(html, "#play=" + "n" * 15)
    tab.get_by_label("I was thinking of").fill("")
    tab.keyboard.type("nyu")
    assert tab.get_by_label("I was thinking of").input_value() == "nyu"


def test_the_end_tells_where_the_answers_parted(
    package: Package, graphs: dict[str, Graph], html: str, open_page: Open
) -> None:
    graph, animal = graphs["halving"], int(package.hidden[5])
    answers = answers_of(package, graph, animal)[:1]
    answers[0] = not answers[0]
    while follow(graph, answers)[1] >= 0:
        node = follow(graph, answers)[1]
        asks = graph.kind[node] == ASK
        answers.append(bool(package.matrix.answer[animal, graph.value[node]]) if asks else False)
    tab = open_page(html, "#play=" + "".join("y" if yes else "n" for yes in answers))
    assert "You win" in tab.inner_text(".question")
    search = tab.get_by_label("I was thinking of")
    search.fill(package.animals.names[animal])
    search.press("Enter")
    assert tab.locator(".parted li").count() == 1
    assert words_of(package, graph, graph.root) in tab.inner_text(".parted")


def test_the_pages_belief_is_pythons(package: Package, graphs: dict[str, Graph], html: str, open_page: Open) -> None:
    tab = open_page(html)
    steps, step = quantise(package.matrix.signed_margin()[package.hidden])
    likelihood = Likelihood.from_margins(steps * step, NOISE)
    measured = Likelihood.from_margins(package.matrix.signed_margin()[package.hidden], NOISE)
    for letters in ["", "y", "ynnyn", "nnnnnnnnnn", "yyyyyyyyyyyyyyy"]:
        played, _ = follow(graphs["halving"], [letter == "y" for letter in letters])
        found = tab.evaluate(
            """letters => {
                const [policy] = wilkins.data.policies;
                return Array.from(wilkins.model.belief(policy, wilkins.model.replay(policy, letters).steps));
            }""",
            letters,
        )
        np.testing.assert_allclose(found, belief_after(likelihood, package.hidden, played), rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(found, belief_after(measured, package.hidden, played), atol=5e-3)


def test_the_pages_tree_carries_the_exact_probabilities(
    package: Package, graphs: dict[str, Graph], html: str, open_page: Open
) -> None:
    tab = open_page(html)
    steps, step = quantise(package.matrix.signed_margin()[package.hidden])
    p_yes = Likelihood.from_margins(steps * step, NOISE, 0.0).p_yes
    for place, graph in enumerate(graphs.values()):
        solved_on, _ = call_distribution(graph, p_yes, package.hidden)
        found = tab.evaluate(
            "at => { const t = wilkins.model.tree(wilkins.data.policies[at]); return [t.lost, ...t.solvedOn.slice(1)] }",
            place,
        )
        np.testing.assert_allclose(found, solved_on.mean(axis=0), atol=1e-9)


# Watch


def test_watch_shows_the_path_with_margins_and_marks_shaky_answers(
    package: Package, graphs: dict[str, Graph], html: str, open_page: Open
) -> None:
    tab = open_page(html, "#watch")
    animal = int(package.hidden[3])
    search = tab.get_by_label("Animal")
    search.fill(package.animals.names[animal])
    search.press("Enter")
    answers = answers_of(package, graphs["halving"], animal)
    items = tab.locator(".path > li")
    assert items.count() == len(answers)
    for call, yes in enumerate(answers):
        node = follow(graphs["halving"], answers[:call])[1]
        text = items.nth(call).inner_text()
        assert words_of(package, graphs["halving"], node) in text
        assert ("yes" if yes else "no") in text
        if graphs["halving"].kind[node] == ASK:
            margin = float(package.matrix.margin[animal, graphs["halving"].value[node]])
            assert f"{abs(margin):.2f}" in text
            assert ("shaky" in text) == (abs(margin) < 2.0537 * NOISE)
            assert "Runner-up" in text or "Most:" in text


def test_an_animal_that_is_not_hidden_is_said_so(package: Package, html: str, open_page: Open) -> None:
    tab = open_page(html, f"#watch={package.animals.names[package.dev[0]].replace(' ', '+')}")
    assert "is in the pool, but not among the 224 animals" in tab.inner_text("main")
    tab.locator(".chips a").first.click()
    assert tab.locator(".path > li").count() > 3


# The whole policy


def test_a_click_zooms_and_the_breadcrumbs_lead_back(
    package: Package, graphs: dict[str, Graph], html: str, open_page: Open
) -> None:
    tab = open_page(html, "#policy")
    box = tab.locator(".chart canvas").bounding_box()
    tab.mouse.click(box["x"] + box["width"] * 0.1, box["y"] + box["height"] / 10 * 2.5)
    arrives(tab, "#policy=yy")
    crumbs = tab.locator(".crumbs li")
    assert crumbs.count() == 3
    assert words_of(package, graphs["halving"], follow(graphs["halving"], [True, True])[1]) in crumbs.last.inner_text()
    crumbs.nth(1).get_by_role("link").click()
    arrives(tab, "#policy=y")
    tab.go_back()
    arrives(tab, "#policy=yy")


def test_the_chart_is_walked_by_keyboard(html: str, open_page: Open) -> None:
    tab = open_page(html, "#policy")
    tab.locator(".chart canvas").focus()
    for key in ["ArrowDown", "ArrowDown", "ArrowRight", "Enter"]:
        tab.keyboard.press(key)
    assert tab.locator(".crumbs li").count() == 3
    assert "of rounds" in tab.locator("[role=status].offscreen").inner_text()
    for key in ["Escape", "Escape"]:
        tab.keyboard.press(key)
    assert tab.locator(".crumbs li").count() == 1


def test_a_searched_animal_or_question_is_lit(package: Package, html: str, open_page: Open) -> None:
    tab = open_page(html, "#policy")
    pixels = "() => { const c = document.querySelector('.chart canvas'); return c.toDataURL() }"
    plain = tab.evaluate(pixels)
    search = tab.get_by_label("Light up")
    search.fill(package.animals.names[package.hidden[0]])
    search.press("Enter")
    assert "guessed at 1 place" in tab.inner_text(".lit-line")
    animal = tab.evaluate(pixels)
    search.fill("does it have feathers")
    search.press("Enter")
    assert "Asked at" in tab.inner_text(".lit-line")
    assert len({plain, animal, tab.evaluate(pixels)}) == 3
    tab.get_by_role("button", name="Clear").click()
    assert tab.evaluate(pixels) == plain


# Where it loses


def test_the_table_sorts_filters_and_opens_watch(package: Package, html: str, open_page: Open) -> None:
    tab = open_page(html, "#losses")
    rows = tab.locator(".animals tbody tr")
    lost = [
        float(text.rstrip("%\u00a0").lstrip("<\u00a0")) for text in rows.locator("td:nth-child(3)").all_inner_texts()
    ]
    assert lost == sorted(lost, reverse=True)
    tab.get_by_role("button", name="Animal").click()
    names = rows.locator("th").all_inner_texts()
    assert names == sorted(package.animals.names[i] for i in package.hidden)[: len(names)]
    tab.get_by_label("Filter").fill("otter")
    assert rows.locator("th").all_inner_texts() == [
        n for n in sorted(package.animals.names[i] for i in package.hidden) if "otter" in n
    ]
    name = rows.locator("th").first.inner_text()
    rows.first.locator("td").nth(2).click()
    arrives(tab, f"#watch={name.replace(' ', '+')}")
    tab.go_back()
    tab.get_by_label("Filter").fill("no such animal")
    assert "No animal fits" in rows.inner_text()


# Compare


def test_compare_sets_policies_side_by_side(
    package: Package, graphs: dict[str, Graph], html: str, open_page: Open
) -> None:
    tab = open_page(html, "#compare")
    assert tab.locator(".versus thead th").all_inner_texts() == list(graphs)
    nodes = tab.locator(".versus tbody tr", has_text="Nodes").locator("td").all_inner_texts()
    assert nodes == [str(len(graph)) for graph in graphs.values()]
    assert tab.locator(".plot").count() == 3
    search = tab.get_by_label("Animal")
    search.fill(package.animals.names[package.hidden[8]])
    search.press("Enter")
    for place, graph in enumerate(graphs.values()):
        steps = tab.locator(".short").nth(place).locator("li").count()
        assert steps == len(answers_of(package, graph, int(package.hidden[8])))


def test_one_policy_alone_is_told_how_to_compare(package: Package, graphs: dict[str, Graph], open_page: Open) -> None:
    tab = open_page(page({"only": graphs["halving"]}, package, package.hidden, NOISE), "#compare")
    assert "wilkins view" in tab.inner_text("main")


def test_the_chosen_policy_is_kept_from_view_to_view(html: str, open_page: Open) -> None:
    tab = open_page(html, "#losses")
    tab.get_by_label("Policy").select_option("in threes")
    tab.get_by_role("link", name="Policy", exact=True).click()
    arrives(tab, "#policy&of=in+threes")


# All of it


@pytest.mark.parametrize(
    "state", ["#play", "#play=ynnynnnyyy", "#watch={name}", "#policy=y&lit={name}", "#losses", "#compare={name}"]
)
def test_no_view_is_wider_than_a_small_telephone(state: str, package: Package, html: str, open_page: Open) -> None:
    name = package.animals.names[package.hidden[1]].replace(" ", "+")
    tab = open_page(html, state.format(name=name), width=360, dark=True)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("state", ["", "#watch", "#policy", "#losses", "#compare"])
def test_every_control_has_a_name(state: str, html: str, open_page: Open) -> None:
    tab = open_page(html, state)
    nameless = tab.evaluate(
        """() => [...document.querySelectorAll('a, button, input, select, canvas, svg[role]')].filter(e =>
            !(e.textContent.trim() || e.ariaLabel || (e.labels && e.labels.length))).map(e => e.outerHTML)"""
    )
    assert nameless == []


def test_names_that_look_like_markup_are_shown_as_text(
    package: Package, graphs: dict[str, Graph], open_page: Open
) -> None:
    animals, questions = list(package.animals.names), list(package.questions.names)
    for place, text in zip(package.hidden, NASTY, strict=False):
        animals[place] = text
    questions[int(graphs["halving"].value[0])] = NASTY[0]
    hostile = replace(package, animals=make_pool("animals", animals), questions=make_pool("questions", questions))
    named = {NASTY[0]: graphs["halving"], NASTY[1]: graphs["in threes"]}
    tab = open_page(page(named, hostile, package.hidden, NOISE))
    assert tab.inner_text(".question") == NASTY[0]
    assert NASTY[1] in tab.locator(".names .all").text_content()
    for view in ["watch", "policy", "losses", "compare"]:
        tab.locator(f"nav a[href^='#{view}']").click()
    tab.goto(tab.url.split("#")[0] + "#watch=%3Cscript%3Ealert(1)%3C/script%3E")
    assert tab.inner_text(".result h2") == NASTY[0]
    assert tab.locator("main script, main b").count() == 0


@pytest.mark.parametrize(("noise", "count"), [(0.0, 1), (0.3, 2), (0.0, 30)])
def test_the_smallest_policies_have_every_view(noise: float, count: int, package: Package, open_page: Open) -> None:
    ids = package.hidden[:count]
    gives_up = graph_of([[STOP, 0, -1, -1]], package.animals, package.questions)
    circles = graph_of([[ASK, 3, 0, 0]], package.animals, package.questions)
    tab = open_page(
        page({"stop": gives_up, "circle": circles, "some": halving_graph(package, ids)}, package, ids, noise)
    )
    assert tab.inner_text(".question") == "It gives up. You win this one."
    for place in range(3):
        for view in ["play", "policy", "losses", "compare", "watch"]:
            tab.locator(f"nav a[href^='#{view}']").click()
        tab.get_by_label("Policy", exact=True).select_option(index=place)
        tab.locator(".chips a").first.click()
        assert tab.locator(".path > li").count() <= 15
        tab.locator("nav a[href^='#play']").click()
        for _ in range(16):
            tab.keyboard.press("n")
        assert "You win" in tab.inner_text(".question")


def test_a_full_size_policy_opens_and_zooms(open_page: Open, record_property: Callable[[str, object], None]) -> None:
    world = official_size_package()
    graph = full_graph(world, world.hidden)
    tab = open_page(page({"full": graph}, world, world.hidden, NOISE), "#policy")
    tab.emulate_media(reduced_motion="no-preference")
    opened = tab.evaluate("wilkins.opened")
    places = tab.evaluate("wilkins.model.tree(wilkins.data.policies[0]).size")
    frames = tab.evaluate(
        """async () => {
            const times = [];
            for (const state of ['y', 'yn', 'yny', 'yn', '', 'nn', 'nny', 'nnyn', '']) {
                location.hash = 'policy=' + state;
                const began = performance.now();
                let last = began;
                await new Promise(resolve => requestAnimationFrame(function frame(now) {
                    if (now > last) times.push(now - last);
                    last = now;
                    now - began < 420 ? requestAnimationFrame(frame) : resolve();
                }));
            }
            return times;
        }"""
    )
    assert len(graph) == 32_767
    assert tab.locator(".crumbs li").count() == 1
    rate = 1000 * len(frames) / sum(frames)
    record_property("opened_ms", round(opened))
    record_property("frames_per_second", round(rate, 1))
    print(f"\n{places} places: opened in {opened:.0f} ms, {rate:.0f} frames a second, slowest {max(frames):.0f} ms")

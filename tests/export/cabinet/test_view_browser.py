"""Claims about the page in a real browser: it plays as the graph walks, and every view can be reached and read."""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from env.identification.belief import Assumed, Likelihood, doubted
from env.identification.matrix import Matrix
from env.identification.package import Package, load_package, with_matrix
from env.identification.pools import make_pool
from export.cabinet.graph import ASK, GUESS, STOP, Graph
from export.cabinet.play import article, belief_after, follow
from export.cabinet.score import POINTS, followed, walk
from export.cabinet.view import Made, page, quantise
from tests.browser import Open, arrives, comes_true, goes, settle
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
        found = belief_of(tab, letters)
        np.testing.assert_allclose(found, belief_after(likelihood, package.hidden, played), rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(found, belief_after(measured, package.hidden, played), atol=5e-3)


def test_the_pages_tree_carries_the_exact_probabilities(
    package: Package, graphs: dict[str, Graph], html: str, open_page: Open
) -> None:
    tab = open_page(html)
    steps, step = quantise(package.matrix.signed_margin()[package.hidden])
    p_yes = Likelihood.from_margins(steps * step, NOISE, 0.0).p_yes
    for place, graph in enumerate(graphs.values()):
        solved_on = followed(graph, p_yes, package.hidden).solved_on
        found = tab.evaluate(
            "at => { const t = wilkins.model.tree(wilkins.data.policies[at]); return [t.lost, ...t.solvedOn.slice(1)] }",
            place,
        )
        np.testing.assert_allclose(found, solved_on.mean(axis=0), atol=1e-9)


def belief_of(tab: Any, letters: str) -> np.ndarray:
    """The page's belief after the letters of an address, with its first policy."""
    return np.array(
        tab.evaluate(
            """letters => {
                const [policy] = wilkins.data.policies;
                return Array.from(wilkins.model.belief(policy, wilkins.model.replay(policy, letters).steps));
            }""",
            letters,
        )
    )


@pytest.mark.parametrize("measured", [False, True])
def test_beliefs_are_those_that_the_policy_was_made_with(
    measured: bool, package: Package, graphs: dict[str, Graph], open_page: Open
) -> None:
    curve = (np.array([0.0, 0.1, 0.4]), np.array([0.5, 0.2, 0.01])) if measured else None
    how = Made(0.05, 0.2, curve)
    tab = open_page(page(graphs, package, package.hidden, NOISE, made={"halving": how}))
    steps, step = quantise(package.matrix.signed_margin()[package.hidden])
    doubting = Likelihood.from_margins(steps * step, 0.05, curve=doubted(0.05, 0.2, curve))
    for letters in ["y", "ynnyn", "nnnnnnnnnn"]:
        played, _ = follow(graphs["halving"], [letter == "y" for letter in letters])
        expected = belief_after(doubting, package.hidden, played)
        np.testing.assert_allclose(belief_of(tab, letters), expected, rtol=1e-6, atol=1e-12)
        plain = belief_after(Likelihood.from_margins(steps * step, NOISE), package.hidden, played)
        assert np.abs(plain - expected).max() > 1e-4


def holed(package: Package, share: float = 0.3) -> Package:
    """The package with `share` of its answers missing, each alike."""
    missing = np.random.default_rng(5).random(package.matrix.margin.shape) < share
    margin = np.where(missing, np.nan, package.matrix.margin).astype(np.float32)
    return with_matrix(package, Matrix(margin, np.where(missing, 0, package.matrix.answer), package.matrix.provenance))


@pytest.mark.parametrize("noise", [0.0, NOISE])
def test_missing_answers_go_either_way_on_the_page_as_in_python(
    noise: float, package: Package, graphs: dict[str, Graph], open_page: Open
) -> None:
    """At noise 0 too, where beliefs have no floor and answers can contradict everyone."""
    world, graph = holed(package), graphs["halving"]
    margin, rate = world.matrix.signed_margin()[world.hidden], world.matrix.missing_rate
    tab = open_page(page(graphs, world, world.hidden, noise))
    quantised, step = quantise(margin)
    near = np.where(np.isnan(margin), np.nan, quantised * step)
    likelihood = Likelihood.from_margins(near, noise, missing=rate)
    for letters in ["", "y", "ynnyn", "nnnnnnnnnn"]:
        played, _ = follow(graph, [letter == "y" for letter in letters])
        expected = belief_after(likelihood, world.hidden, played)
        np.testing.assert_allclose(belief_of(tab, letters), expected, rtol=1e-6, atol=1e-12)
    solved_on = followed(graph, Assumed(noise).p_yes(near, rate), world.hidden).solved_on
    found = tab.evaluate("(t => [t.lost, ...t.solvedOn.slice(1)])(wilkins.model.tree(wilkins.data.policies[0]))")
    np.testing.assert_allclose(found, solved_on.mean(axis=0), atol=1e-7)


def test_a_path_over_missing_answers_says_so(package: Package, graphs: dict[str, Graph], open_page: Open) -> None:
    world, graph = holed(package), graphs["halving"]
    animal = next(a for a in world.hidden if np.isnan(world.matrix.margin[a, graph.value[graph.root]]))
    tab = open_page(page(graphs, world, world.hidden, NOISE), f"#watch={world.animals.names[animal].replace(' ', '+')}")
    assert "missing: the other answer in" in tab.inner_text(".step >> nth=0")
    assert "NaN" not in tab.inner_text("main")
    goes(tab, "#losses")
    assert "missing answer" in tab.inner_text("main")
    assert "NaN" not in tab.inner_text("main")


def test_expectations_follow_the_platforms_flip_curve(
    package: Package, graphs: dict[str, Graph], open_page: Open
) -> None:
    curve = (np.array([0.0, 0.2]), np.array([0.4, 0.0]))
    tab = open_page(page(graphs, package, package.hidden, NOISE, curve=curve))
    steps, step = quantise(package.matrix.signed_margin()[package.hidden])
    p_yes = Likelihood.from_margins(steps * step, NOISE, 0.0, curve).p_yes
    solved_on = followed(graphs["halving"], p_yes, package.hidden).solved_on
    found = tab.evaluate("(t => [t.lost, ...t.solvedOn.slice(1)])(wilkins.model.tree(wilkins.data.policies[0]))")
    np.testing.assert_allclose(found, solved_on.mean(axis=0), atol=1e-9)
    scores = tab.evaluate("Array.from(wilkins.data.policies[0].score)")
    at = Assumed(NOISE, curve).p_yes(package.matrix.signed_margin()[package.hidden])
    np.testing.assert_allclose(scores, followed(graphs["halving"], at, package.hidden)[0] @ POINTS, atol=1e-6)


def test_not_knowing_spends_the_call_and_leaves_the_belief(html: str, open_page: Open) -> None:
    tab = open_page(html)
    tab.keyboard.press("y")
    tab.get_by_role("button", name="Don\u2019t know").click()
    arrives(tab, "#play=yd")
    assert tab.inner_text(".gauges .figure >> nth=0") == "2 of 15"
    assert "don\u2019t know" in tab.inner_text(".trail li >> nth=1")
    np.testing.assert_array_equal(belief_of(tab, "yd"), belief_of(tab, "y"))
    assert np.abs(belief_of(tab, "yn") - belief_of(tab, "y")).max() > 1e-3
    goes(tab, "#play=" + "d" * 15)
    assert tab.locator(".big.yes").get_attribute("aria-disabled") == "true"
    assert tab.locator(".answer.unknown").count() >= 7
    again = tab.get_by_role("button", name="Play again")
    assert "primary" in str(again.get_attribute("class"))
    again.click()
    arrives(tab, "#play")


def test_not_knowing_is_no_answer_to_a_guess(
    package: Package, graphs: dict[str, Graph], html: str, open_page: Open
) -> None:
    letters = ""
    while graphs["halving"].kind[follow(graphs["halving"], [c == "y" for c in letters])[1]] == ASK:
        letters += "n"
    tab = open_page(html, f"#play={letters}")
    assert "Is it a" in tab.inner_text(".question")
    tab.keyboard.press("d")
    settle(tab)
    assert tab.evaluate("location.hash") == f"#play={letters}"


def test_play_has_the_list_at_hand(package: Package, html: str, open_page: Open) -> None:
    names = sorted(package.animals.names[i] for i in package.hidden)
    for width, opened in [(1280, True), (360, False)]:
        tab = open_page(html, width=width)
        assert f"Think of one of these {len(names)} animals" in tab.inner_text(".lead")
        assert tab.locator(".names .all").is_visible() == opened
        assert tab.locator(".names .all").text_content() == ", ".join(names)
        above = tab.locator(".names").bounding_box()["y"] < tab.locator(".stage").bounding_box()["y"]
        assert above != opened


def test_a_round_of_all_calls_is_not_given_up(package: Package, open_page: Open) -> None:
    graph = graph_of([[ASK, 3, 0, 0]], package.animals, package.questions)
    tab = open_page(page({"circle": graph}, package, package.hidden, NOISE), "#play=" + "n" * 15)
    assert tab.inner_text(".question") == "Out of calls. You win this one."
    name = package.animals.names[package.hidden[0]].replace(" ", "+")
    goes(tab, f"#watch={name}")
    assert tab.inner_text(".verdict") == "Not found in 15 calls: round score 0"


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


def test_what_is_set_stands_in_the_address(html: str, open_page: Open) -> None:
    tab = open_page(html, "#losses")
    tab.get_by_label("Filter").fill("otter")
    tab.get_by_label("Reason").select_option("shaky answer")
    tab.get_by_role("button", name="Animal").click()
    tab.get_by_role("button", name="as measured").click()
    arrives(tab, "#losses&filter=otter&why=shaky+answer&sort=name&answers=measured")
    shown = tab.locator(".animals tbody th").all_inner_texts()
    tab.reload()
    settle(tab)
    assert tab.get_by_label("Filter").input_value() == "otter"
    assert tab.locator(".animals tbody th").all_inner_texts() == shown
    assert tab.get_by_role("button", name="as measured").get_attribute("aria-pressed") == "true"
    tab.get_by_label("Policy", exact=True).select_option("in threes")
    comes_true(tab, "location.hash.includes('of=in+threes')")
    assert tab.get_by_label("Filter").input_value() == "otter"
    goes(tab, "#policy=y")
    tab.get_by_role("button", name="Call", exact=True).click()
    arrives(tab, "#policy=y&colour=call")
    tab.reload()
    settle(tab)
    assert "call 1 to" in tab.inner_text(".legend")
    tab.locator(".crumbs a").click()
    arrives(tab, "#policy&colour=call")


def test_the_list_of_losses_agrees_with_the_table(package: Package, open_page: Open) -> None:
    graph = halving_graph(package, package.hidden)

    def most_lost(noise: float) -> float:
        p_yes = Assumed(noise).p_yes(package.matrix.signed_margin()[package.hidden])
        return float(1 - followed(graph, p_yes, package.hidden)[0][:, 1:].sum(axis=1).min())

    # So little noise that rounds are lost, but none in more than half a thousandth.
    hardly = next(noise for noise in np.geomspace(0.03, 0.001, 60) if most_lost(noise) < 4e-4)
    assert most_lost(hardly) > 1e-5
    for noise in (0.0, float(hardly)):
        tab = open_page(page({"p": graph}, package, package.hidden, noise), "#losses&sort=-lost")
        lose = sum(text != "0\u00a0%" for text in tab.locator(".animals td:nth-child(3)").all_inner_texts())
        assert (lose > 0) == (noise > 0)
        assert ("loses none" in tab.inner_text(".worst")) == (lose == 0)
        assert tab.locator(".worst li:not(.empty)").count() == min(lose, 6)


def test_mean_calls_count_all_rounds_and_when_found_says_so(
    package: Package, graphs: dict[str, Graph], html: str, open_page: Open
) -> None:
    solved_on, calls, _, _ = followed(
        graphs["halving"], Assumed(NOISE).p_yes(package.matrix.signed_margin()[package.hidden]), package.hidden
    )
    mean = solved_on.mean(axis=0)
    found = float(mean[1:] @ np.arange(1, 16) / mean[1:].sum())
    tab = open_page(html, "#losses")
    figures = dict(zip(tab.locator("dt").all_inner_texts()[-6:], tab.locator("dd").all_inner_texts()[-6:], strict=True))
    assert figures["Mean calls"] == f"{calls.mean():.2f}"
    assert figures["Calls when found"] == f"{found:.2f}"
    assert tab.locator(".plot .mean text").text_content() == f"when found {found:.2f}"


@pytest.mark.parametrize("noise", [0.0554, 0.012, 0.11, 0.295])
@pytest.mark.parametrize("width", [360, 1280])
def test_labels_of_charts_leave_each_other_room(
    noise: float, width: int, package: Package, graphs: dict[str, Graph], open_page: Open
) -> None:
    tab = open_page(page({"p": graphs["halving"]}, package, package.hidden, noise), "#losses", width=width)
    overlaps = tab.evaluate(
        """() => [...document.querySelectorAll('.plot')].flatMap(plot => {
            const boxes = [...plot.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
            return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) =>
                p.left < q.right && q.left < p.right && p.top + 2 < q.bottom && q.top + 2 < p.bottom).map(([b]) => [a, b]));
        })"""
    )
    assert overlaps == []
    assert f"{noise:.3g}" in tab.locator(".plot .axis").last.inner_html()


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


def test_the_chosen_policy_comes_first_in_compare(html: str, graphs: dict[str, Graph], open_page: Open) -> None:
    tab = open_page(html, "#compare")
    tab.get_by_label("Policy", exact=True).select_option("in threes")
    arrives(tab, "#compare&of=in+threes")
    assert tab.locator(".versus thead th").all_inner_texts() == list(graphs)[::-1]
    assert tab.inner_text(".pair h3 >> nth=0") == "Better in in threes"


def test_one_policy_alone_is_told_how_to_compare(package: Package, graphs: dict[str, Graph], open_page: Open) -> None:
    tab = open_page(page({"only": graphs["halving"]}, package, package.hidden, NOISE), "#compare")
    assert "wilkins view" in tab.inner_text("main")


def test_the_chosen_policy_is_kept_from_view_to_view(html: str, open_page: Open) -> None:
    tab = open_page(html, "#losses")
    tab.get_by_label("Policy").select_option("in threes")
    tab.get_by_role("link", name="Policy", exact=True).click()
    arrives(tab, "#policy&of=in+threes")


# What is shown can be kept


def test_pictures_and_tables_are_saved(
    package: Package, graphs: dict[str, Graph], html: str, open_page: Open, tmp_path: Path
) -> None:
    name = package.animals.names[package.hidden[1]]
    tab = open_page(html, "#policy=y")

    def saved(label: str) -> bytes:
        with tab.expect_download() as download:
            tab.get_by_role("button", name=label).click()
        download.value.save_as(tmp_path / "saved")
        return (tmp_path / "saved").read_bytes()

    width, height = struct.unpack(">II", saved("PNG of the tree")[16:24])
    box = tab.locator(".chart canvas").bounding_box()
    assert (width, height) == (2 * round(box["width"]), 2 * round(box["height"]))
    picture = ElementTree.fromstring(saved("SVG of the tree"))
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}rect"))) > 100
    rows = list(csv.reader(io.StringIO(saved("CSV of the tree").decode("utf-8-sig"))))
    below = tab.evaluate("(t => t.end[t.at('y')] - t.at('y'))(wilkins.model.tree(wilkins.data.policies[0]))")
    assert len(rows) == 1 + below
    goes(tab, "#losses")
    rows = list(csv.reader(io.StringIO(saved("CSV of the table").decode("utf-8-sig"))))
    assert len(rows) == 1 + len(package.hidden)
    assert b"stroke-dasharray" in saved("SVG of the calls")
    assert saved("PNG of the calls").startswith(b"\x89PNG")
    goes(tab, f"#watch={name.replace(' ', '+')}")
    rows = list(csv.reader(io.StringIO(saved("CSV of this path").decode("utf-8-sig"))))
    assert len(rows) == 1 + len(answers_of(package, graphs["halving"], int(package.hidden[1])))


def test_training_curves_stand_beside_the_policy(package: Package, graphs: dict[str, Graph], open_page: Open) -> None:
    training = tuple((1000 * n, {"dev_score": 60.0 + n, "hidden_score": 50.0 + n}) for n in range(1, 6))
    tab = open_page(
        page(graphs, package, package.hidden, NOISE, made={"halving": Made(NOISE, training=training)}), "#policy"
    )
    assert tab.locator(".training .point").count() == 2 * 6
    assert "hidden score 51.0 at 1k" in str(tab.locator(".training svg.plot").get_attribute("aria-label"))
    goes(tab, "#policy&of=in+threes")
    assert tab.locator(".training").count() == 0


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
    goes(tab, "#policy")
    assert tab.inner_text(".legend").startswith("No call is made.")
    goes(tab, "#play")
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

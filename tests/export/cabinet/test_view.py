"""Claims about the page's content and the terminal game: nothing in the data is markup, the figures are the scores."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import wilkins
from agents.runs import load_run
from env.identification.belief import DEFAULT_DOUBT, Assumed, Likelihood, doubted
from env.identification.matrix import Matrix
from env.identification.package import Package, load_package, with_matrix
from env.identification.pools import make_pool
from export.cabinet.graph import ASK, GUESS, graph_to_json
from export.cabinet.play import belief_after, expected_answer, follow
from export.cabinet.score import expected, walk
from export.cabinet.view import nearest, page, page_data, quantise
from export.page.template import embedded_json
from tests.policies import full_graph, graph_of, halving_graph, official_size_package

MakePackage = Callable[..., Path]
TEMPLATE = Path(__file__).parents[3] / "export" / "page" / "cabinet.html"
SOURCES = Path(__file__).parents[3] / "page"
NASTY = ["<script>alert(1)</script>", "</script><b>", "<!-- <script>", "]]>", "a & b &lt;", "\u2028 \u2029", "\" ' \\"]


@pytest.fixture
def package(make_package: MakePackage) -> Package:
    return load_package(make_package(animals=40, questions=25))


def decoded(text: object, kind: str) -> np.ndarray:
    assert isinstance(text, str)
    return np.frombuffer(base64.b64decode(text), kind)


def data_of(html: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found
    return json.loads(found[1])


# The file


def test_the_page_needs_nothing_but_itself(package: Package) -> None:
    html = page({"p": halving_graph(package, package.hidden)}, package, package.hidden)
    before_licences = html[: html.rindex("<!--")]
    loaded = re.findall(
        r"(?:src|href)=[\"']?([^\"'> ]+)|url\(([^)]*)\)|@import\s+(\S+)", before_licences.split("</style>")[0]
    )
    assert all("".join(found).startswith("data:") for found in loaded)
    assert "default-src 'none'" in html


def test_the_browser_may_run_the_bundled_script_and_no_other() -> None:
    html = TEMPLATE.read_text(encoding="utf-8")
    script = html[html.index("<script>") + len("<script>") : html.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in html


def test_the_licences_of_what_is_bundled_travel_with_it() -> None:
    html = TEMPLATE.read_text(encoding="utf-8")
    wanted = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert all(f"{name} {version} (" in html for name, version in wanted.items())
    assert "Permission to use, copy, modify, and/or distribute this software" in html


def test_the_lock_file_names_no_download_host() -> None:
    assert "resolved" not in (SOURCES / "package-lock.json").read_text(encoding="utf-8")


def test_versions_are_pinned() -> None:
    manifest = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))
    for name, version in (manifest["dependencies"] | manifest["devDependencies"]).items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name


def test_the_shipped_bundle_is_what_the_sources_build(tmp_path: Path) -> None:
    if shutil.which("node") is None or not (SOURCES / "node_modules").is_dir():
        pytest.skip("no Node or no page/node_modules; `make page-check` brings the packages and compares")
    subprocess.run(["node", SOURCES / "build.mjs", tmp_path], check=True, capture_output=True)
    built = {file.name: file.read_bytes() for file in tmp_path.glob("*.html")}
    shipped = {file.name: file.read_bytes() for file in TEMPLATE.parent.glob("*.html")}
    assert built == shipped, "run `make page` and commit export/page"


def test_the_same_policies_make_the_same_bytes(package: Package) -> None:
    graph = halving_graph(package, package.hidden)
    assert page({"p": graph}, package, package.hidden) == page({"p": graph}, package, package.hidden)


@given(st.dictionaries(st.text(), st.lists(st.text())))
def test_no_text_can_end_the_script_that_holds_it(data: object) -> None:
    text = embedded_json(data)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == data


def test_names_that_look_like_markup_stay_text(package: Package) -> None:
    names = [*NASTY, *package.animals.names[len(NASTY) :]]
    hostile = replace(package, animals=make_pool("animals", names))
    html = page({"</script>": halving_graph(package, package.hidden)}, hostile, package.hidden, choice="<b>")
    assert html.count("<script") == TEMPLATE.read_text(encoding="utf-8").count("<script")
    assert data_of(html)["animals"] == names


def test_a_full_size_policy_stays_under_three_megabytes() -> None:
    official_size = official_size_package()
    graph = full_graph(official_size, official_size.hidden)
    assert len(graph) == 32_767
    html = page({"full": graph}, official_size, official_size.hidden)
    assert len(html.encode()) < 3_000_000


# The figures


@given(arrays(np.float32, (3, 4), elements=st.floats(-50, 50, width=32)))
def test_quantised_margins_keep_every_answer_and_stay_near(margin: np.ndarray) -> None:
    margin = np.where(margin == 0, np.float32(1e-6), margin)
    steps, step = quantise(margin)
    assert ((steps > 0) == (margin > 0)).all()
    assert np.abs(steps * step - margin).max() <= step * 1.001
    assert step <= max(float(np.abs(margin).max()) / 32_767 * 1.001, 1e-9) or not margin.any()


def test_the_scores_of_the_page_are_the_exact_ones(package: Package) -> None:
    graph = halving_graph(package, package.hidden)
    data = page_data({"p": graph}, package, package.hidden, 0.15, "hidden")
    policy = data["policies"][0]  # type: ignore[index]
    outcome = expected(graph, Assumed(0.15).p_yes(package.matrix.signed_margin()[package.hidden]), package.hidden)
    np.testing.assert_allclose(decoded(policy["score"], "<f4"), outcome.score, atol=1e-6)
    np.testing.assert_allclose(decoded(policy["calls"], "<f4"), outcome.calls, rtol=1e-6)
    assert data["levels"] == [0.0, 0.05, 0.10, 0.15, 0.20, 0.30]
    assert policy["curve"][3] == pytest.approx(100 * outcome.score.mean(), abs=1e-3)
    assert policy["curve"][0] == policy["measured"]
    assert policy["measured"] == pytest.approx(100 * walk(graph, package.matrix.answer, package.hidden).score.mean())


def test_a_pool_of_more_animals_than_two_bytes_count_is_told_right() -> None:
    names = [f"beast {i}" for i in range(33_000)]
    margin = np.ones((len(names), 1), np.float32)
    package = Package(
        Path("huge"),
        make_pool("animals", names),
        make_pool("questions", ["is it big?"]),
        np.arange(1),
        np.arange(1, 2),
        Matrix(margin, np.ones(margin.shape, np.uint8), {}),
    )
    last = len(names) - 1
    guess = graph_of([[GUESS, last, -1, -1]], package.animals, package.questions)
    data = page_data({"p": guess}, package, np.array([5, last]), 0.1, "two of them")
    policy = data["policies"][0]  # type: ignore[index]
    assert decoded(policy["value"], "<i4").tolist() == [last]
    assert decoded(policy["score"], "<f4").tolist() == pytest.approx([0, 0.98])
    assert decoded(data["twin"], "<i4").tolist() == [1, 0]


def test_equal_rows_are_each_others_twin(package: Package) -> None:
    margin = package.matrix.margin.copy()
    first, second = package.hidden[2], package.hidden[9]
    margin[second] = margin[first]
    same = with_matrix(package, Matrix(margin, (margin > 0).astype(np.uint8), package.matrix.provenance))
    data = page_data({}, same, package.hidden, 0.1, "hidden")
    twin, differ = decoded(data["twin"], "<i4"), decoded(data["differ"], "<u2")
    assert (twin[2], twin[9], differ[2], differ[9]) == (9, 2, 0, 0)
    assert np.flatnonzero(differ == 0).tolist() == [2, 9]


# The command


def test_view_writes_the_page_into_the_run(make_package: MakePackage, tmp_path: Path) -> None:
    folder = make_package()
    world = load_package(folder)
    run = tmp_path / "first run"
    run.mkdir()
    (run / "policy.json").write_bytes(graph_to_json(halving_graph(world, world.hidden)))
    other = tmp_path / "first run.json"
    shutil.copy(run / "policy.json", other)
    assert wilkins.main(["view", str(run), str(other), "--package", str(folder), "--noise", "0.2"]) == 0
    data = data_of((run / "policy.html").read_text(encoding="utf-8"))
    assert [policy["name"] for policy in data["policies"]] == ["first run", "first run 2"]
    assert data["noise"] == 0.2


def test_the_page_of_a_run_shows_its_training_and_believes_as_the_export_did(trained_run: Path) -> None:
    (policy,) = data_of((trained_run / "policy.html").read_text(encoding="utf-8"))["policies"]
    record = load_run(trained_run).record()
    assert record is not None
    assert len(policy["training"]) == 4
    assert [(each["steps"], each["scores"]) for each in policy["training"]] == [
        (each.steps, each.scores) for each in record.evaluated
    ]
    assert policy["assumed"]["doubt"] == DEFAULT_DOUBT
    curve = doubted(policy["assumed"]["noise"], DEFAULT_DOUBT)
    assert curve is not None
    assert policy["assumed"]["curve"]["flip"] == curve[1].tolist()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no-such-run"], "no-such-run"),
        (["{run}", "--noise", "-1"], "--noise -1"),
        (["{run}", "--noise", "nan"], "--noise nan"),
        (["{run}", "--out", "{run}"], "is a folder"),
        (["{run}", "--candidates", "nobody"], "nobody"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], message: str, make_package: MakePackage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_package()
    world = load_package(folder)
    (tmp_path / "policy.json").write_bytes(graph_to_json(halving_graph(world, world.hidden)))
    told = [word.format(run=tmp_path) for word in words]
    assert wilkins.main(["view", "--package", str(folder), *told]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
    assert not (tmp_path / "policy.html").exists()


# The terminal


def test_a_round_in_the_terminal_is_the_walk(package: Package) -> None:
    graph, animals = halving_graph(package, package.hidden, most=3), np.arange(len(package.animals))
    outcome = walk(graph, package.matrix.answer, animals)
    for animal in animals:
        answers: list[bool] = []
        steps, node = follow(graph, answers)
        while node >= 0:
            asks, value = graph.kind[node] == 0, graph.value[node]
            answers.append(bool(package.matrix.answer[animal, value]) if asks else bool(value == animal))
            steps, node = follow(graph, answers)
        assert len(steps) == outcome.calls[animal]
        assert (steps[-1].kind == 1 and steps[-1].yes) == outcome.solved[animal]


def test_a_cycle_ends_after_fifteen_calls(package: Package) -> None:
    graph = graph_of([[0, 3, 0, 0]], package.animals, package.questions)
    assert len(follow(graph, [True] * 40)[0]) == 15


def test_an_answer_heard_twice_counts_once(package: Package) -> None:
    graph = graph_of([[0, 3, 1, 1], [0, 3, -1, -1]], package.animals, package.questions)
    likelihood = Likelihood.from_margins(package.matrix.margin[package.hidden], 0.5)
    steps, _ = follow(graph, [True, True])
    once, twice = (belief_after(likelihood, package.hidden, steps[:n]) for n in (1, 2))
    np.testing.assert_array_equal(once, twice)


def test_answers_that_fit_nobody_leave_the_least_contradicted(package: Package) -> None:
    likelihood = Likelihood.from_margins(package.matrix.margin[package.hidden], 0.0)
    graph = graph_of([[0, q, q + 1, q + 1] for q in range(14)] + [[2, 0, -1, -1]], package.animals, package.questions)
    fits = package.matrix.answer[package.hidden, :14].mean(axis=0) < 0.5
    steps, _ = follow(graph, fits.tolist())
    belief = belief_after(likelihood, package.hidden, steps)
    assert belief.sum() == pytest.approx(1.0)
    assert (belief > 0).sum() < len(package.hidden)


def test_play_asks_undoes_and_tells_where_the_answers_parted(
    make_package: MakePackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_package()
    world = load_package(folder)
    graph = halving_graph(world, world.hidden)
    (tmp_path / "policy.json").write_bytes(graph_to_json(graph))
    animal = int(world.hidden[0])
    replies, node = ["maybe", "y", "u"], graph.root
    flipped = ""
    while node >= 0:
        asks, value = graph.kind[node] == 0, graph.value[node]
        yes = bool(world.matrix.answer[animal, value]) if asks else False
        if not flipped:
            yes, flipped = not yes, world.questions.names[value]
        replies.append("y" if yes else "n")
        node = int(graph.yes[node] if yes else graph.no[node])
    replies += ["nobody", world.animals.names[animal]]
    monkeypatch.setattr("builtins.input", lambda *_: replies.pop(0))
    assert wilkins.main(["play", str(tmp_path), "--package", str(folder)]) == 0
    out = capsys.readouterr().out
    assert not replies
    assert "Not found: you win" in out
    assert "'nobody' is not in the animals pool" in out
    assert f"  {flipped.capitalize()} you " in out


def test_not_knowing_in_the_terminal_spends_the_call_and_leaves_the_belief(
    make_package: MakePackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_package()
    world = load_package(folder)
    graph = halving_graph(world, world.hidden)
    (tmp_path / "policy.json").write_bytes(graph_to_json(graph))
    prompts, replies = [], ["d", "u", *"d" * 40]

    def reply(prompt: object = "", *_: object) -> str:
        prompts.append(str(prompt))
        if " d, " not in prompts[-1]:  # a guess must be answered
            return "n" if "u or q" in prompts[-1] else ""
        return replies.pop(0)

    monkeypatch.setattr("rich.console.Console.input", lambda self, prompt, **_: reply(prompt))
    assert wilkins.main(["play", str(tmp_path), "--package", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "don't know" in out.split("What it believed")[1]
    assert out.count("call 1 ") == 2, "the answer taken back is asked again"
    likelihood = Likelihood.from_margins(world.matrix.margin[world.hidden], 0.1)
    steps, _ = follow(graph, [True, False], unknown={0})
    only, _ = follow(graph, [True, False])
    np.testing.assert_array_equal(
        belief_after(likelihood, world.hidden, steps), belief_after(likelihood, world.hidden, only[1:])
    )


def test_where_only_one_edge_goes_on_that_one_is_expected() -> None:
    world = load_package()
    graph = graph_of([[ASK, 0, -1, 1], [ASK, 0, 2, -1], [GUESS, 0, -1, -1]], world.animals, world.questions)
    likelihood = Likelihood.from_margins(np.array([[2.0], [2.0]]), 0.5)
    belief = np.array([0.5, 0.5])
    assert expected_answer(graph, 0, belief, likelihood) is False
    assert expected_answer(graph, 1, belief, likelihood) is True


def test_a_missing_answer_tells_nobody_apart() -> None:
    twin, differ = nearest(np.array([[1.0, -1.0, 2.0], [np.nan, -1.0, 2.0], [-1.0, 1.0, np.nan]]))
    assert list(twin) == [1, 0, 1]
    assert list(differ) == [0, 0, 1]


def test_input_that_ends_early_is_one_line(
    make_package: MakePackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_package()
    world = load_package(folder)
    (tmp_path / "policy.json").write_bytes(graph_to_json(halving_graph(world, world.hidden)))

    def ended(*_: object) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", ended)
    assert wilkins.main(["play", str(tmp_path), "--package", str(folder)]) == 2
    assert "answers ended before the round did" in capsys.readouterr().err

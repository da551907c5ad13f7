"""Claims about the projection: its spread is that of drawn platforms, its parts add up, and every figure is printed."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from rich.console import Console

import wilkins
from env.cabinet.rules import limit
from env.errors import UserError
from env.identification.belief import Assumed
from env.identification.matrix import Matrix, save_matrix
from env.identification.package import load_package, with_matrix
from export.cabinet.evaluate import (
    Row,
    loss,
    measure,
    projection,
    row,
    score_table,
)
from export.cabinet.graph import graph_to_json
from export.cabinet.score import POINTS, expected, followed, walk
from tests.export.cabinet.test_score import graph_of


@pytest.fixture
def package(make_package):
    return load_package(make_package(animals=60, questions=30))


def splitting_graph(package, animals):
    """Policy that asks the evenest question until one animal is left (or no question separates), then guesses on."""
    answer, nodes = package.matrix.answer, []

    def grow(left, asked):
        if len(left) == 0:
            return None
        nodes.append(None)
        here = len(nodes) - 1
        shares = np.where(np.isin(np.arange(answer.shape[1]), asked), 0, answer[left].sum(axis=0))
        question = int(np.argmin(np.abs(shares - len(left) / 2)))
        if len(left) == 1 or not 0 < shares[question] < len(left):
            nodes[here] = ("guess", int(left[0]), grow(left[1:], asked))
        else:
            yes = answer[left, question] == 1
            nodes[here] = ("ask", question, grow(left[yes], [*asked, question]), grow(left[~yes], [*asked, question]))
        return here

    grow(animals, [])
    return replace(graph_of(nodes), animals_sha256=package.animals.sha256, questions_sha256=package.questions.sha256)


@pytest.fixture
def graph(package):
    return splitting_graph(package, package.hidden)


def distribution(graph, package, noise):
    p_yes = Assumed(noise).p_yes(package.matrix.signed_margin()[package.hidden])
    return followed(graph, p_yes, package.hidden)[0]


def test_the_spread_is_that_of_platforms_drawn_whole_and_walked(graph, package):
    rng = np.random.default_rng(1)
    scores = []
    for _ in range(1500):
        drawn = (package.matrix.margin + rng.normal(0, 0.3, package.matrix.margin.shape) > 0).astype(np.uint8)
        scores.append(100 * walk(graph, drawn, rng.choice(package.hidden, 20, replace=False)).score.mean())
    projected = projection(distribution(graph, package, 0.3), 20)
    assert abs(projected.mean - np.mean(scores)) < 4 * np.std(scores) / np.sqrt(len(scores))
    low, high = np.quantile(scores, (0.025, 0.975))
    width = high - low
    assert abs(projected.low - low) < 0.15 * width
    assert abs(projected.high - high) < 0.15 * width


def test_the_spread_has_the_width_that_theory_gives(graph, package):
    solved_on = distribution(graph, package, 0.3)
    n, rounds = len(solved_on), 12
    mean = solved_on @ POINTS
    within = (solved_on @ POINTS**2 - mean**2).mean()
    variance = (mean.var(ddof=1) * (1 - rounds / n) + within) / rounds
    projected = projection(solved_on, rounds)
    assert (projected.high - projected.low) / 2 == pytest.approx(196 * np.sqrt(variance), rel=0.1)


def test_without_noise_all_animals_have_one_score_and_few_have_a_spread(graph, package):
    solved_on = distribution(graph, package, 0.0)
    everyone = projection(solved_on, len(solved_on))
    assert everyone.low == pytest.approx(everyone.mean) == pytest.approx(everyone.high)
    few = projection(solved_on, 5)
    assert few.low < few.mean < few.high
    assert projection(solved_on, 5) == few


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3, 1.0])
def test_the_parts_of_the_loss_add_up_to_the_distance_to_the_limit(graph, package, noise):
    parts = loss(graph, package.among(), Assumed(noise))
    p_yes = Assumed(noise).p_yes(package.matrix.signed_margin()[package.hidden])
    score = 100 * expected(graph, p_yes, package.hidden).score.mean()
    assert parts.total == pytest.approx(limit(len(package.hidden)) - score)
    assert parts.flips + parts.cut_branches + parts.equal_rows + parts.late_guesses == pytest.approx(parts.total)
    assert parts.cut_branches >= 0
    assert (parts.flips > 0) == (noise > 0)
    assert parts.equal_rows == 0


def test_a_cut_branch_costs_what_guessing_on_there_would_bring(graph, package):
    cut = replace(graph, no=graph.no.copy())
    last_ask = np.flatnonzero(graph.yes >= 0)[-1]
    lost = cut.no[last_ask]
    cut.no[last_ask] = -1
    whole, part = (loss(each, package.among(), Assumed(0.0)) for each in (graph, cut))
    assert whole.cut_branches == pytest.approx(0, abs=1e-9)
    made = walk(graph, package.matrix.answer, package.hidden)
    animal = graph.value[lost]
    score = made.score[package.hidden == animal][0]
    assert part.cut_branches == pytest.approx(100 * score / len(package.hidden))
    assert part.late_guesses == pytest.approx(whole.late_guesses)


def test_equal_rows_cost_nothing_up_to_four_and_one_call_for_five(package):
    hidden, questions = package.hidden, len(package.questions)
    for group, calls_lost in ((4, 0), (5, 1)):
        answer = package.matrix.answer.copy()
        answer[hidden[:group]] = answer[hidden[0]]
        margin = np.where(answer == 1, 1.0, -1.0).astype(np.float32)
        world = with_matrix(package, Matrix(margin, answer))
        parts = loss(splitting_graph(world, hidden), world.among(), Assumed(0.0))
        assert parts.equal_rows == pytest.approx(2 * calls_lost / len(hidden))
        assert parts.late_guesses >= 0
    flat = with_matrix(package, Matrix(np.ones((60, questions), np.float32), np.ones((60, questions), np.uint8)))
    parts = loss(splitting_graph(flat, hidden), flat.among(), Assumed(0.0))
    assert parts.late_guesses == pytest.approx(0)
    assert parts.equal_rows == pytest.approx(parts.total)


def test_the_table_has_the_walk_the_expectation_and_the_platform(graph, package):
    rng = np.random.default_rng(2)
    margin = package.matrix.margin + rng.normal(0, 0.1, package.matrix.margin.shape).astype(np.float32)
    there = package.hidden[:30]
    margin[np.setdiff1d(np.arange(60), there)] = np.nan
    platform = Matrix(margin, (margin > 0).astype(np.uint8))
    report = measure(graph, package.among(), Assumed(0.1), platform)
    walked, in_expectation, scored = report.rows
    assert (walked.rounds, walked.solved, walked.error) == (len(package.hidden), 1.0, None)
    assert in_expectation.score < walked.score < walked.limit == limit(len(package.hidden))
    assert scored.rounds == 30
    outcome = walk(graph, platform.answer, there)
    assert scored.score == pytest.approx(100 * outcome.score.mean())
    assert scored.error == pytest.approx(100 * outcome.score.std(ddof=1) / np.sqrt(30))
    p_yes = Assumed(0.1).p_yes(package.matrix.signed_margin()[there])
    assert report.platform.mean == pytest.approx(100 * expected(graph, p_yes, there).score.mean())
    assert report.platform.low < scored.score < report.platform.high
    assert [each.rounds for each in report.projections] == [32]
    assert sum(report.solved_on) == pytest.approx(1)


def test_the_noise_is_the_package_s_unless_another_is_given(graph, package):
    assert measure(graph, package.among(), package.assumed()).noise == package.noise
    assert measure(graph, package.among(), package.assumed(0.0)).noise == 0


@pytest.mark.parametrize("noise", [-0.1, float("nan"), float("inf")])
def test_a_noise_that_is_none_is_refused(graph, package, noise):
    with pytest.raises(UserError, match="a standard deviation in margin units"):
        measure(graph, package.among(), package.assumed(noise))


def test_a_platform_without_the_split_or_with_half_a_row_is_refused(graph, package):
    margin = np.full_like(package.matrix.margin, np.nan)
    margin[package.dev] = 1
    with pytest.raises(UserError, match="no animal of the hidden split"):
        measure(graph, package.among(), package.assumed(), Matrix(margin, (margin > 0).astype(np.uint8)))
    margin[package.hidden[0], 3] = 1
    with pytest.raises(UserError, match="1 animals of the hidden split with some answers only"):
        measure(graph, package.among(), package.assumed(), Matrix(margin, (margin > 0).astype(np.uint8)))


def test_rows_of_other_players_join_the_table(graph, package):
    outcome = walk(graph, package.matrix.answer, package.hidden)
    rows = [row("dev", "live agent", outcome, 60), Row("test1", "live agent", 1, 98.0, 1.0, 1.0, 98.0)]
    console = Console(record=True, width=120, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(score_table(rows, "scores"))
    text = console.export_text()
    assert "test1" in text
    assert f"{rows[0].score:.2f}" in text


@pytest.fixture
def saved(tmp_path, graph, package):
    """A run folder with the policy, and a platform's table."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "policy.json").write_bytes(graph_to_json(graph))
    provenance = {"animals_sha256": package.animals.sha256, "questions_sha256": package.questions.sha256}
    save_matrix(tmp_path / "platform.npz", replace(package.matrix, provenance=provenance))
    return tmp_path / "run", tmp_path / "platform.npz"


def test_json_is_one_object_with_everything(saved, package, graph, capsys):
    run, table = saved
    flags = ["evaluate", str(run), "--package", str(package.path), "--noise", "0.2", "--matrix", str(table), "--json"]
    assert wilkins.main(flags) == 0
    told = json.loads(capsys.readouterr().out)
    report = measure(graph, package.among(), Assumed(0.2), package.matrix)
    assert told == json.loads(
        json.dumps({"target": str(run), "package": str(package.path), "agents": [], **asdict(report)})
    )


def test_tables_name_every_part(saved, package, graph, capsys):
    run, table = saved
    assert wilkins.main(["evaluate", str(run), "--package", str(package.path), "--matrix", str(table)]) == 0
    text = capsys.readouterr().out
    for words in ("expected", "platform, 36 animals", "live score, 32 animals", "equal rows", "total", "never"):
        assert words in text
    with pytest.raises(UserError, match=f"no guess of it names any of the {len(package.dev)} of dev"):
        measure(graph, package.among("dev"), Assumed(0.0))


def test_a_policy_of_another_package_is_one_line_with_both_digests(saved, package, capsys):
    assert wilkins.main(["evaluate", str(saved[0])]) == 2
    error = capsys.readouterr().err
    assert package.animals.sha256 in error
    assert load_package().animals.sha256 in error
    assert error.count("\n") == 1


def test_a_table_of_another_package_and_a_missing_policy_are_one_line(saved, package, tmp_path, capsys):
    (tmp_path / "wrong.csv").write_text("0,1\n1,0\n")
    for target, matrix in ((saved[0], tmp_path / "wrong.csv"), (tmp_path, saved[1]), (saved[0], tmp_path / "no.npy")):
        flags = ["evaluate", str(target), "--package", str(package.path), "--matrix", str(matrix)]
        assert wilkins.main(flags) == 2
        assert capsys.readouterr().err.count("\n") == 1

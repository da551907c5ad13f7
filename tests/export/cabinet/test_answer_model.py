"""Claims about the answer model: Gaussian unless measured flips predict better, recorded, checked, and used where asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wilkins
from agents.cabinet.run import load_cabinet_run
from agents.identification.players import belief_player
from env.errors import UserError
from env.identification.belief import DEFAULT_DOUBT, FLOOR, Assumed, Likelihood, answer_probability, doubted
from env.identification.matrix import Matrix, load_matrix, save_matrix, with_provenance
from env.identification.numerics import POINTS, answer_models, flip_curve
from env.identification.package import load_package
from env.oracle.command import compare, show
from export.cabinet.enumerate import enumerate_decisions, to_graph
from export.cabinet.score import expected
from tests.worlds import package_of

Capture = pytest.CaptureFixture[str]

CURVE = {"margin": [0.01, 0.5, 2.0], "probability": [0.4, 0.1, 0.02]}


def matrix_of(margin: np.ndarray) -> Matrix:
    return Matrix(margin.astype(np.float32), (margin > 0).astype(np.uint8))


def two_matrices(tails: str, seed: int = 0, animals: int = 120, noise: float = 0.1) -> tuple[Matrix, Matrix]:
    """A matrix and a platform; `heavy` noise is as wide as `gaussian` for most answers, ten times as wide for a tenth."""
    rng = np.random.default_rng(seed)
    margin = rng.normal(0.0, 1.3, (animals, 150))
    wide = np.where(rng.random(margin.shape) < 0.1, 10.0, 1.0) if tails == "heavy" else 1.0
    return matrix_of(margin), matrix_of(margin + noise * wide * rng.normal(size=margin.shape))


@pytest.mark.parametrize("seed", range(3))
def test_gaussian_noise_keeps_the_gaussian_model(seed: int) -> None:
    found = answer_models(*two_matrices("gaussian", seed))
    assert found.better == "gaussian"
    assert abs(found.measured - found.gaussian) < 0.002


@pytest.mark.parametrize("seed", range(3))
def test_heavy_tails_choose_the_measured_flips_by_many_standard_errors(seed: int) -> None:
    found = answer_models(*two_matrices("heavy", seed))
    assert found.better == "measured"
    assert found.measured - found.gaussian > 5 * found.error > 0


def test_a_win_within_one_standard_error_is_no_win() -> None:
    found = answer_models(*two_matrices("heavy"))
    gain = found.measured - found.gaussian
    assert replace(found, error=0.99 * gain).better == "measured"
    assert replace(found, error=1.01 * gain).better == "gaussian"


def test_held_out_answers_are_not_fitted_to() -> None:
    rng = np.random.default_rng(0)
    margin = rng.normal(0.0, 1.0, (2, 3000))
    other = matrix_of(margin)
    turned = matrix_of(np.concatenate([margin[:1], -margin[1:]]))
    found = answer_models(other, turned)
    assert found.measured < 0.6 * np.log(FLOOR)  # predicted from the other one, which does the opposite
    assert found.blocks == 2


def test_one_animal_leaves_nothing_to_hold_out() -> None:
    found = answer_models(*two_matrices("heavy", animals=1))
    assert (found.blocks, found.better, found.error) == (1, "gaussian", np.inf)


def test_matrices_without_a_common_pair_have_no_answer_model() -> None:
    local, _ = two_matrices("gaussian", animals=3)
    with pytest.raises(ValueError, match="no pair is measured in both"):
        answer_models(local, matrix_of(np.full(local.margin.shape, np.nan)))


def test_pairs_that_one_matrix_lacks_do_not_count() -> None:
    local, other = two_matrices("heavy", animals=40)
    margin = other.margin.copy()
    margin[20:] = np.nan
    half = [Matrix(m.margin[:20], m.answer[:20]) for m in (local, other)]
    found, expected = answer_models(local, Matrix(margin, other.answer)), answer_models(half[0], half[1])
    assert found == expected


@given(st.integers(0, 100), st.sampled_from(["gaussian", "heavy"]), st.integers(1, 60))
def test_a_curve_is_short_and_falls(seed: int, tails: str, animals: int) -> None:
    curve = flip_curve(*two_matrices(tails, seed, animals))
    assert 1 <= len(curve.margin) == len(curve.probability) <= POINTS
    assert (np.diff(curve.margin) > 0).all()
    assert (np.diff(curve.probability) <= 0).all()


def test_a_curve_of_many_levels_is_thinned_out_and_keeps_its_ends() -> None:
    margin = np.linspace(0.01, 4.0, 80_000)
    flipped = np.arange(80_000) % 200 < 200 - np.arange(80_000) // 400  # from always to never, half a percent a step
    curve = flip_curve(matrix_of(margin[None]), matrix_of(np.where(flipped, -margin, margin)[None]))
    assert len(curve.margin) == POINTS
    assert (curve.probability[0], curve.probability[-1]) == (1.0, 0.005)
    np.testing.assert_allclose(curve.at(margin), 1 - np.arange(80_000) / 80_000, atol=0.01)


def test_the_interval_holds_the_true_share_about_as_often_as_it_says() -> None:
    margin = np.full((1, 400), 0.07)
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(200):
        other = np.where(rng.random(margin.shape) < 0.2, -1.0, 1.0)
        low, high = flip_curve(matrix_of(margin), matrix_of(other)).interval[2]
        inside += low < 0.2 < high
    assert 180 <= inside < 200


def test_a_margin_on_the_wrong_side_of_its_answer_is_measured_as_the_tie_that_beliefs_read() -> None:
    margin = np.full((1, 300), 3.0)
    local = Matrix(margin.astype(np.float32), np.zeros((1, 300), np.uint8))
    assert flip_curve(local, matrix_of(margin)).margin.max() < 1e-5


def test_the_answer_flips_as_often_as_the_curve_says_whatever_its_sign() -> None:
    margin = np.array([0.5, -0.5, 0.0, -0.255, 9.0, -9.0], np.float32)
    curve = np.array(CURVE["margin"]), np.array(CURVE["probability"])
    np.testing.assert_allclose(
        answer_probability(margin, 0.1, curve=curve), [0.9, 0.1, 0.4, 0.25, 0.98, 0.02], atol=1e-6
    )
    certain = answer_probability(margin, 0.1, curve=(np.array([0.0]), np.array([0.0])))
    assert set(certain.tolist()) == {FLOOR, 1 - FLOOR}
    assert (
        Likelihood.from_margins(margin[None], 0.1, curve=curve).p_yes == answer_probability(margin, 0.1, curve=curve)
    ).all()


def test_under_heavy_tails_a_player_that_knows_the_measured_flips_scores_better() -> None:
    local, other = two_matrices("heavy")
    package, fit = package_of(local.margin), flip_curve(local, other)
    animals = np.arange(len(local.margin))
    truth = 0.9 * answer_probability(local.margin, 0.1, 0.0) + 0.1 * answer_probability(local.margin, 1.0, 0.0)
    scores = []
    for curve in (None, (fit.margin, fit.probability)):
        likelihood = Likelihood.from_margins(local.margin, fit.noise, curve=curve)
        decisions = enumerate_decisions(belief_player(package, animals, fit.noise, 0.4, likelihood))
        graph = to_graph(decisions, package.animals, package.questions).graph
        scores.append(100 * expected(graph, truth, animals).score.mean())
    assert scores[1] > scores[0] + 0.3


def with_platform(folder: Path, tails: str) -> Path:
    """The package with margins and a platform of `two_matrices`, as many questions as the package has."""
    package = load_package(folder)
    shape = package.matrix.margin.shape
    local, other = two_matrices(tails, animals=shape[0])
    for name, matrix in (("matrix.npz", local), ("platform.npz", other)):
        cut = Matrix(matrix.margin[:, : shape[1]], matrix.answer[:, : shape[1]], package.matrix.provenance)
        save_matrix(folder / name, cut)
    return folder


@pytest.mark.parametrize(("tails", "model"), [("gaussian", "gaussian"), ("heavy", "measured")])
def test_comparing_says_which_model_is_better_and_records_it_with_the_curve(
    make_package: Callable[..., Path], capsys: Capture, tails: str, model: str
) -> None:
    folder = with_platform(make_package(animals=100, questions=150), tails)
    assert compare(folder, folder / "platform.npz") == 0
    assert load_package(folder).matrix.flip_curve is None
    assert f"answer model: {model};" in capsys.readouterr().out
    assert compare(folder, folder / "platform.npz", write_noise=True) == 0
    package = load_package(folder)
    platform = load_matrix(folder / "platform.npz", package.animals, package.questions)
    fit, kept = flip_curve(package.matrix, platform), package.matrix.flip_curve
    assert package.matrix.answer_model == model
    assert kept is not None
    np.testing.assert_array_equal(kept, [fit.margin, fit.probability])
    capsys.readouterr()
    assert show(folder) == 0
    assert f"flip_curve: {len(fit.margin)} points" in capsys.readouterr().out


def test_the_diagram_fits_a_terminal_and_shows_measured_shares_beside_predicted_ones(
    make_package: Callable[..., Path], capsys: Capture
) -> None:
    folder = with_platform(make_package(animals=100, questions=150), "heavy")
    assert compare(folder, folder / "platform.npz") == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if ".." in line]
    assert len(rows) == 9
    assert all(len(row) <= 80 and "…" not in row and ("●" in row or "◉" in row) for row in rows)
    assert any("┃" in row for row in rows)


def recorded(folder: Path, **entries: object) -> Path:
    package = load_package(folder, matrix=False)
    matrix = load_matrix(folder / "matrix.npz", package.animals, package.questions)
    save_matrix(folder / "matrix.npz", with_provenance(matrix, **entries))
    return folder


HOSTILE = [
    *({"flip_curve": curve} for curve in ([], {}, 5, "x", True, {"margin": [1.0]}, {"margin": 1, "probability": 1})),
    *(
        {"flip_curve": {"margin": margin, "probability": probability}}
        for margin, probability in (
            ([], []),
            ([0.1, 0.2], [0.3]),
            ([0.1], [0.3, 0.2]),
            ([0.2, 0.1], [0.3, 0.2]),
            ([0.1, 0.1], [0.3, 0.2]),
            ([0.1, 0.2], [0.2, 0.3]),
            ([-0.1, 0.2], [0.3, 0.2]),
            ([0.1, 0.2], [1.1, 0.2]),
            ([0.1, 0.2], [0.2, -0.1]),
            ([0.1, float("nan")], [0.3, 0.2]),
            ([0.1, 0.2], [float("nan"), 0.2]),
            ([0.1, float("inf")], [0.3, 0.2]),
            ([0.1, 10**400], [0.3, 0.2]),
            (["0.1", "0.2"], [0.3, 0.2]),
            ([False, True], [0.3, 0.2]),
            ([[0.1], [0.2]], [0.3, 0.2]),
            ([None, 0.2], [0.3, 0.2]),
            ({"0": 0.1}, {"0": 0.3}),
        )
    ),
    *({"answer_model": model, "flip_curve": CURVE} for model in ("", "Measured", "auto", 1, True, ["measured"], {})),
    {"answer_model": "measured"},
    {"noise": 10**400},
]


@pytest.mark.parametrize("entries", HOSTILE, ids=lambda entries: str(entries)[:60])
def test_damaged_entries_are_refused_in_one_line(make_package: Callable[..., Path], entries: dict[str, object]) -> None:
    folder = recorded(make_package(animals=5, questions=3), **entries)
    with pytest.raises(UserError, match="provenance") as refused:
        load_package(folder)
    assert "\n" not in str(refused.value)
    assert str(folder) in str(refused.value)


def test_a_package_gives_its_curve_at_its_own_noise_only_and_only_when_it_is_the_better_model_or_asked_for(
    make_package: Callable[..., Path],
) -> None:
    package = load_package(recorded(make_package(), noise=0.2, flip_curve=CURVE, answer_model="measured"))
    np.testing.assert_array_equal(package.flip_curve("auto", 0.2), package.flip_curve("measured", 0.2))
    assert package.flip_curve("auto", 0.1) is None
    assert package.flip_curve("gaussian", 0.2) is None
    with pytest.raises(UserError, match=r"measured at noise 0\.2, not 0\.1; give --noise 0\.2"):
        package.flip_curve("measured", 0.1)
    other = load_package(recorded(make_package(), noise=0.2, flip_curve=CURVE, answer_model="gaussian"))
    assert other.flip_curve("auto", 0.2) is None
    assert other.flip_curve("measured", 0.2) is not None


@pytest.mark.parametrize("command", ["export", "evaluate"])
def test_asking_for_measured_flips_without_a_curve_says_how_to_get_one(
    trained_run: Path, small_package: Path, tmp_path: Path, capsys: Capture, command: str
) -> None:
    flags = ["--out", str(tmp_path / "submission.zip")] if command == "export" else []
    words = [command, str(trained_run), "--package", str(small_package), "--answer-model", "measured", *flags]
    assert wilkins.main(words) == 2
    error = capsys.readouterr().err
    assert "no measured flip curve" in error
    assert "oracle compare" in error
    assert error.count("\n") == 1


def test_projections_and_the_exported_policy_follow_the_answer_model(
    trained_run: Path, small_package: Path, tmp_path: Path, capsys: Capture
) -> None:
    folder = Path(shutil.copytree(small_package, tmp_path / "package"))
    recorded(folder, noise=load_cabinet_run(trained_run).noise, flip_curve=CURVE, answer_model="measured")
    scores = {}
    for model in ("auto", "measured", "gaussian"):
        out = tmp_path / model
        out.mkdir()
        words = ["--package", str(folder), "--answer-model", model]
        export = ["export", str(trained_run), "--improve-seconds", "0", "--out", str(out / "submission.zip"), *words]
        assert wilkins.main(export) == 0
        capsys.readouterr()
        assert wilkins.main(["evaluate", str(tmp_path / model / "policy.json"), *words, "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["answer_model"] == ("gaussian" if model == "gaussian" else "measured")
        assert report["loss"]["total"] == pytest.approx(sum(list(report["loss"].values())[:-1]))
        assert report["loss"]["total"] == pytest.approx(report["rows"][1]["limit"] - report["rows"][1]["score"])
        scores[model] = report["rows"][1]["score"]
    assert scores["auto"] == scores["measured"] != scores["gaussian"]
    policies = {model: (tmp_path / model / "policy.json").read_bytes() for model in scores}
    assert policies["auto"] == policies["measured"] != policies["gaussian"]


def test_a_platform_answers_by_the_curve_without_a_players_floor() -> None:
    package = package_of(np.array([[3.0, -3.0]]))
    curve = np.array([0.0, 1.0]), np.array([0.5, 0.0])
    np.testing.assert_array_equal(Assumed(0.1, curve).p_yes(package.matrix.signed_margin()[[0]]), [[1.0, 0.0]])


@given(st.floats(0.01, 0.5), st.floats(0, 1), st.sampled_from([None, CURVE]))
def test_doubt_mixes_the_assumed_flips_with_those_of_noise_twice_and_four_times_as_wide(
    noise: float, doubt: float, kept: dict[str, list[float]] | None
) -> None:
    curve = None if kept is None else (np.array(kept["margin"]), np.array(kept["probability"]))
    margin = np.linspace(-10 * noise, 10 * noise, 333)
    plain, double, fourfold = (
        answer_probability(margin, noise, 0.0, curve),
        *(answer_probability(margin, times * noise, 0.0) for times in (2, 4)),
    )
    mixed = (1 - doubt) * plain + doubt * (2 * double + fourfold) / 3
    found = answer_probability(margin, noise, 0.0, doubted(noise, doubt, curve))
    np.testing.assert_allclose(found, mixed, atol=2e-4)
    assert (np.diff(found) >= 0).all()


def test_without_doubt_or_without_noise_a_player_trusts_the_margins_as_they_are() -> None:
    curve = np.array([0.0, 1.0]), np.array([0.5, 0.0])
    assert doubted(0.1, 0.0) is None
    assert doubted(0.0, 0.5) is None
    assert doubted(0.1, 0.0, curve) is curve


@pytest.mark.parametrize("doubt", [-0.1, 1.1, np.nan])
def test_doubt_is_a_share(doubt: float) -> None:
    with pytest.raises(ValueError, match="a share of the answers"):
        doubted(0.1, doubt)


def test_a_doubting_policy_gives_little_where_the_noise_is_as_assumed_and_gains_where_it_is_more() -> None:
    package = load_package()
    score = {}
    for doubt in (0.0, DEFAULT_DOUBT):
        margin = package.matrix.signed_margin()[package.hidden]
        likelihood = Likelihood.from_margins(margin, 0.05, curve=doubted(0.05, doubt))
        graph = to_graph(
            enumerate_decisions(belief_player(package, package.hidden, 0.05, 0.3, likelihood)),
            package.animals,
            package.questions,
        ).graph
        for noise in (0.05, 0.1, 0.2):
            p_yes = Assumed(noise).p_yes(package.matrix.signed_margin()[package.hidden])
            score[doubt, noise] = 100 * expected(graph, p_yes, package.hidden).score.mean()
    gain = [score[DEFAULT_DOUBT, noise] - score[0.0, noise] for noise in (0.05, 0.1, 0.2)]
    assert gain[0] > -0.02
    assert gain[1] > 0.3
    assert gain[2] > 3

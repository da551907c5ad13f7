import filecmp
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.identification.play import expected_score
from agents.identification.players import belief_player
from env.cabinet.rules import limit
from env.errors import PackageWarning, UserError
from env.identification import synth
from env.identification.package import Package, load_package
from env.identification.pools import normalise
from env.identification.synth import invent_names, latent_factors, synthesise, write_package

FULL = (1472, 559)


@pytest.fixture(scope="module")
def full() -> np.ndarray:
    return synthesise(*FULL, seed=0)


@pytest.fixture(scope="module")
def measured() -> np.ndarray:
    return load_package().matrix.margin


def yes_share(margin: np.ndarray) -> np.ndarray:
    return (margin > 0).mean(axis=0)


def spectrum(margin: np.ndarray) -> np.ndarray:
    """Share of the variance that the first singular directions of the centred matrix hold, cumulative."""
    centred = margin - margin.mean(axis=0)
    squares = np.linalg.svd(centred, compute_uv=False) ** 2
    return np.cumsum(squares) / squares.sum()


def row_differences(margin: np.ndarray) -> np.ndarray:
    """Share of the questions that tell two animals apart, for each pair of the first 400."""
    bits = (margin[:400] > 0).astype(np.float32)
    differing = bits @ (1 - bits).T
    return ((differing + differing.T) / bits.shape[1])[np.triu_indices(len(bits), 1)]


def test_margins_spread_as_measured(full: np.ndarray, measured: np.ndarray) -> None:
    assert full.dtype == np.float32
    assert full.shape == FULL
    assert full.std() == pytest.approx(measured.std(), rel=0.05)
    assert np.mean(np.abs(full) < 0.1) == pytest.approx(np.mean(np.abs(measured) < 0.1), abs=0.005)


def test_questions_are_biased_as_measured(full: np.ndarray, measured: np.ndarray) -> None:
    ours, theirs = yes_share(full), yes_share(measured)
    assert np.mean((ours == 0) | (ours == 1)) == pytest.approx(14 / 201, abs=0.015)
    assert np.mean((ours >= 0.2) & (ours <= 0.8)) == pytest.approx(80 / 201, abs=0.03)
    tenths = np.linspace(0.1, 0.9, 9)
    for statistic in (np.mean, np.std):
        np.testing.assert_allclose(
            np.quantile(statistic(full, axis=0), tenths), np.quantile(statistic(measured, axis=0), tenths), atol=0.12
        )
    np.testing.assert_allclose(np.quantile(ours, tenths), np.quantile(theirs, tenths), atol=0.05)


def test_the_singular_spectrum_is_low_rank_as_measured(measured: np.ndarray) -> None:
    # At the measured shape: the tail of a spectrum depends on the size of the matrix.
    ours, theirs = spectrum(synthesise(400, 201, seed=0)), spectrum(measured)
    directions = [0, 1, 3, 5, 10, 20, 40, 100]
    np.testing.assert_allclose(ours[directions], theirs[directions], atol=0.03)


def test_noise_keeps_a_player_as_far_from_the_limit_as_on_the_measured_package(tmp_path: Path) -> None:
    write_package(tmp_path / "other", 400, 201, seed=0)

    def shortfall(package: Package) -> float:
        return limit(len(package.hidden)) - expected_score(belief_player(package, package.hidden, 0.2, 0.4))

    # Other random splits of the measured package differ by a tenth: which animals are hidden is luck.
    measured = shortfall(load_package())
    assert shortfall(load_package(tmp_path / "other")) == pytest.approx(measured, rel=0.2)
    write_package(tmp_path / "latent", 400, 201, seed=0, kind="latent")
    assert shortfall(load_package(tmp_path / "latent")) > 1.3 * measured


def test_latent_margins_are_few_factors_and_biases_at_the_measured_spread(measured: np.ndarray) -> None:
    margin = latent_factors(*FULL, seed=0)
    assert (margin.dtype, margin.shape) == (np.float32, FULL)
    assert margin.std() == pytest.approx(measured.std(), rel=1e-3)
    assert np.mean(np.abs(margin) < 0.1) == pytest.approx(np.mean(np.abs(measured) < 0.1), abs=0.01)
    assert spectrum(margin)[synth.FACTORS - 1] == pytest.approx(1 - synth.OWN**2, abs=0.03)
    assert np.mean(margin > 0) > 0.55
    np.testing.assert_array_equal(margin, latent_factors(*FULL, seed=0))
    assert not np.array_equal(margin, latent_factors(*FULL, seed=1))


def test_animals_are_as_hard_to_tell_apart_as_measured(full: np.ndarray, measured: np.ndarray) -> None:
    shares = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95]
    np.testing.assert_allclose(
        np.quantile(row_differences(full), shares), np.quantile(row_differences(measured), shares), atol=0.03
    )


def test_all_animals_answer_differently_and_hardly_a_question_is_nearly_another(full: np.ndarray) -> None:
    assert len(np.unique(full > 0, axis=0)) == FULL[0]
    likeness = np.abs(np.corrcoef(full.T))
    np.fill_diagonal(likeness, 0.0)
    assert np.mean(likeness > 0.97) < 1e-4


def test_the_seed_decides_everything(tmp_path: Path) -> None:
    for name, seed in (("one", 5), ("two", 5), ("other", 6)):
        write_package(tmp_path / name, 60, 30, seed)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["animals_pool.txt", "dev.csv", "matrix.npz", "questions_pool.txt", "test1.csv"]
    assert filecmp.cmpfiles(tmp_path / "one", tmp_path / "two", files, shallow=False)[0] == files
    assert filecmp.cmpfiles(tmp_path / "one", tmp_path / "other", files, shallow=False)[0] == []


def test_names_are_unique_and_normalised() -> None:
    for names in invent_names(1472, 559, seed=3):
        assert normalise("\n".join(names)) == tuple(names)
        assert len(set(names)) == len(names)
    assert all(question.endswith("?") for question in names)


def test_the_full_size_has_the_official_splits_and_is_warned_of_once_a_pool(tmp_path: Path) -> None:
    write_package(tmp_path / "full", *FULL, seed=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        package = load_package(tmp_path / "full")
    assert [warning.category for warning in caught] == [PackageWarning, PackageWarning]
    assert [len(package.split(name)) for name in ("dev", "test1", "hidden")] == [150, 500, 822]
    assert package.matrix.provenance["model"] == "synthetic"
    assert package.matrix.provenance["seed"] == 0


@pytest.mark.parametrize(("animals", "questions"), [(3, 1), (4, 250), (50, 7)])
def test_the_smallest_packages_are_whole(animals: int, questions: int, tmp_path: Path) -> None:
    write_package(tmp_path / "small", animals, questions, seed=1)
    package = load_package(tmp_path / "small")
    assert package.matrix.margin.shape == (animals, questions)
    assert all(len(package.split(name)) for name in ("dev", "test1", "hidden"))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((2, 5, 0), "--animals 2"),
        ((-1, 5, 0), "--animals -1"),
        ((10, 0, 0), "--questions 0"),
        ((10**6, 10**6, 0), "more than 20,000,000 entries"),
        ((10, 5, -1), "--seed -1"),
    ],
)
def test_impossible_sizes_are_refused_before_anything_is_made(
    sizes: tuple[int, int, int], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        write_package(tmp_path / "out", *sizes)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="is not an empty folder"):
        write_package(tmp_path / "out", 10, 5, seed=0)
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "thesis.txt"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write_package(tmp_path / "out", 10, 5, seed=0)
    assert len(load_package(tmp_path / "out").animals) == 10


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_unfinished_package_leaves_nothing(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(synth, "save_matrix", fail)
    with pytest.raises((UserError, KeyboardInterrupt)):
        write_package(tmp_path / "out", 10, 5, seed=0)
    assert list(tmp_path.iterdir()) == []

import errno
import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from env.errors import PackageWarning, UserError
from env.files import whole_file, write_whole
from env.identification.matrix import Matrix, load_matrix, save_matrix
from env.identification.package import DEFAULT_NOISE, EMBEDDED, load_package, with_matrix
from env.identification.pools import digest

MakePackage = Callable[..., Path]


# The embedded package


def test_the_embedded_package_is_what_its_measurement_says() -> None:
    package = load_package()
    assert package.matrix.margin.shape == (400, 201)
    assert [len(package.split(name)) for name in ("dev", "test1", "hidden", "all")] == [40, 136, 224, 400]
    assert package.matrix.measured.all()
    margin, answer = package.matrix.margin, package.matrix.answer
    assert margin.std() == pytest.approx(1.27, abs=0.01)
    assert np.mean(np.abs(margin) < 0.1) == pytest.approx(0.071, abs=0.001)
    assert answer.mean() == pytest.approx(0.63, abs=0.005)
    assert len(np.unique(answer, axis=0)) == 400
    assert {"model", "revision", "dtype"} <= set(package.matrix.provenance)


def test_the_embedded_platform_covers_hidden_animals_only_and_flips_what_it_should() -> None:
    package = load_package()
    platform = load_matrix(EMBEDDED / "platform.npz", package.animals, package.questions)
    rows = np.flatnonzero(platform.measured.all(axis=1))
    assert rows.size == 128
    assert not platform.measured[np.setdiff1d(np.arange(400), rows)].any()
    assert np.isin(rows, package.hidden).all()
    assert np.mean(platform.answer[rows] != package.matrix.answer[rows]) == pytest.approx(0.0138, abs=0.001)


def test_only_the_noise_that_was_measured_is_called_so(make_package: MakePackage) -> None:
    embedded, unknown = load_package(), load_package(make_package())
    assert embedded.noise_source(embedded.noise) == "measured"
    assert embedded.noise_source(0.1) == "assumed"
    assert unknown.noise_source(unknown.noise) == "assumed"


# What a package holds


def test_the_splits_part_the_pool(make_package: MakePackage) -> None:
    package = load_package(make_package(animals=20))
    assert package.dev.tolist() == [0, 1, 2, 3]
    assert package.test1.tolist() == [4, 5, 6, 7]
    assert package.hidden.tolist() == list(range(8, 20))
    assert package.split("all").tolist() == list(range(20))


def test_a_second_line_of_a_dev_animal_is_not_hidden(make_package: MakePackage) -> None:
    folder = make_package(animals=10)
    (folder / "animals_pool.txt").write_text("\n".join([f"beast {i}" for i in range(9)] + ["Beast 0"]))
    with pytest.warns(PackageWarning, match="duplicate"):
        package = load_package(folder, matrix=False)
    assert package.hidden.tolist() == [4, 5, 6, 7, 8]


def test_noise_is_the_measured_one_or_the_default(make_package: MakePackage) -> None:
    package = load_package(make_package())
    assert package.noise == DEFAULT_NOISE
    measured = Matrix(package.matrix.margin, package.matrix.answer, {**package.matrix.provenance, "noise": 0.06})
    assert with_matrix(package, measured).noise == 0.06


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("some.txt", "Beast 7\r\n\r\n beast 2\nbeast 7\n", [2, 7]),
        ("some.txt", "\ufeffbeast 3", [3]),
        ("some.csv", "animal\nbeast 9\nbeast 1\n", [1, 9]),
    ],
)
def test_candidates_may_be_named_in_a_file(
    name: str, content: str, ids: list[int], make_package: MakePackage, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content.encode())
    assert load_package(make_package()).candidates(str(tmp_path / name)).tolist() == ids


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty; at least one animal"),
        ("\n \n", "is empty; at least one animal"),
        ("beast 1\n\nbeest 2\n", r"line 3: 'beest 2' is not in the animals pool; did you mean beast 2"),
    ],
    ids=["empty", "blank", "unknown"],
)
def test_candidates_that_cannot_be_had_are_one_line(
    content: str, message: str, make_package: MakePackage, tmp_path: Path
) -> None:
    path = tmp_path / "some.txt"
    path.write_text(content)
    with pytest.raises(UserError, match=message) as error:
        load_package(make_package()).candidates(str(path))
    assert "\n" not in str(error.value)


def test_an_unknown_choice_of_candidates_or_split_names_the_splits(make_package: MakePackage) -> None:
    package = load_package(make_package())
    with pytest.raises(UserError, match=r"'hiden': neither a split .hidden, dev, test1, all. nor a file"):
        package.candidates("hiden")
    with pytest.raises(UserError, match="unknown split 'hiden'; choose one of hidden, dev, test1, all"):
        package.split("hiden")


def test_a_package_without_hidden_animals_has_no_hidden_split(make_package: MakePackage) -> None:
    folder = make_package(animals=10)
    (folder / "test1.csv").write_text("\n".join(["animal", *(f"beast {i}" for i in range(2, 10))]))
    with pytest.raises(UserError, match="hidden split is empty"):
        load_package(folder).split("hidden")


def test_animals_with_unmeasured_answers_cannot_be_played(make_package: MakePackage) -> None:
    folder = make_package()
    matrix = load_package(folder).matrix
    matrix.margin[[9, 12], 3] = np.nan
    save_matrix(folder / "matrix.npz", matrix)
    package = load_package(folder)
    assert package.split("dev").size == 4
    with pytest.raises(UserError, match=r"2 of 12 animals of the hidden split.*NaN.*the first is 'beast 9'"):
        package.split("hidden")


# What cannot be loaded


def overlap(folder: Path) -> None:
    (folder / "test1.csv").write_text("animal\nbeast 5\nbeast 1\nbeast 0\n")


def other_order(folder: Path) -> None:
    lines = (folder / "animals_pool.txt").read_text().splitlines()
    (folder / "animals_pool.txt").write_text("\n".join(lines[::-1]) + "\n")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (overlap, "dev.csv and test1.csv overlap: 'beast 0' and 1 more"),
        (other_order, "measured for another animals pool"),
        (lambda folder: (folder / "dev.csv").unlink(), "the dev split is missing"),
        (lambda folder: (folder / "questions_pool.txt").unlink(), "the questions pool is missing"),
        (
            lambda folder: (folder / "dev.csv").write_text("animal\nunicorn\n"),
            "line 2: 'unicorn' is not in the animals",
        ),
        (lambda folder: (folder / "matrix.npz").write_bytes(b"x"), "not a readable NumPy archive"),
    ],
    ids=["overlap", "other order", "no dev", "no questions", "unknown animal", "damaged matrix"],
)
def test_a_contradictory_package_is_one_line(
    harm: Callable[[Path], object], message: str, make_package: MakePackage
) -> None:
    folder = make_package()
    harm(folder)
    with pytest.raises(UserError, match=message) as error:
        load_package(folder)
    assert "\n" not in str(error.value)


def test_a_matrix_for_another_order_is_refused_with_both_digests(make_package: MakePackage) -> None:
    folder = make_package()
    names = [f"beast {i}" for i in range(20)]
    other_order(folder)
    with pytest.raises(UserError) as error:
        load_package(folder)
    assert digest(names) in str(error.value)
    assert digest(names[::-1]) in str(error.value)
    assert load_package(folder, matrix=False).stored is None


def test_a_missing_matrix_is_told_with_the_two_ways_to_get_one(make_package: MakePackage) -> None:
    folder = make_package()
    (folder / "matrix.npz").unlink()
    package = load_package(folder)
    with pytest.raises(UserError, match=r"oracle build.*import-matrix"):
        _ = package.matrix


def test_a_missing_folder_says_what_a_package_holds(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no package folder .*animals_pool\.txt.*questions_pool\.txt, dev\.csv"):
        load_package(tmp_path / "none")


# Whole files


def test_a_failed_write_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    write_whole(path, "old")

    def write_half() -> None:
        with whole_file(path) as stream:
            stream.write(b"new")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_half()
    assert [file.name for file in tmp_path.iterdir()] == ["scores.json"]
    assert path.read_text() == "old"


def test_a_full_disk_leaves_the_old_content_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "scores.json"
    write_whole(path, "old")
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(UserError, match=r"cannot write .*scores\.json: No space left on device; free space"):
        write_whole(path, "new")
    assert [file.name for file in tmp_path.iterdir()] == ["scores.json"]
    assert path.read_text() == "old"


def test_a_matrix_that_outgrows_the_disk_while_it_is_written_leaves_nothing(tmp_path: Path) -> None:
    margin = np.random.default_rng(0).normal(size=(200, 100)).astype(np.float32)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(UserError, match=r"cannot write .*matrix\.npz"):
            save_matrix(tmp_path / "matrix.npz", Matrix(margin, (margin > 0).astype(np.uint8)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


def test_a_path_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot write"):
        write_whole(tmp_path / "file" / "below", "new")


def test_a_folder_in_the_way_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "scores.json").mkdir()
    with pytest.raises(UserError, match="cannot write"):
        write_whole(tmp_path / "scores.json", "new")
    assert [file.name for file in tmp_path.iterdir()] == ["scores.json"]


def test_a_folder_without_write_permission_cannot_be_written() -> None:
    superuser = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        if superuser:
            os.seteuid(65534)  # the superuser may write everywhere, so be nobody for a moment
        try:
            with pytest.raises(UserError, match="Permission denied"):
                write_whole(Path(folder) / "scores.json", "new")
        finally:
            if superuser:
                os.seteuid(0)
        assert list(Path(folder).iterdir()) == []

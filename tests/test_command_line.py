import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import wilkins
from env.errors import UserError
from env.identification.package import load_package

MakePackage = Callable[..., Path]
Capture = pytest.CaptureFixture[str]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# Finding the subcommand


def test_without_a_command_every_command_is_explained_in_a_line(capsys: Capture) -> None:
    assert wilkins.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(any(line.split("  ")[1] == name for line in lines if line.startswith("  ")) for name in wilkins.COMMANDS)
    assert all(len(line) <= 80 for line in lines), "a terminal of 80 columns holds each line"


@pytest.mark.parametrize("words", [["--help"], ["help"], ["oracle", "--help"], ["-h"]])
def test_help_without_a_whole_command_is_the_overview(words: list[str], capsys: Capture) -> None:
    assert wilkins.main(words) == 0
    assert capsys.readouterr().out.startswith("usage: wilkins COMMAND")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], r"unknown command 'trian'; one of: train\n"),
        (["evalute", "runs/first"], r"unknown command 'evalute runs/first'; one of: evaluate, validate\n"),
        (["import-matrx", "t.csv"], r"unknown command 'import-matrx t.csv'; one of: import-matrix\n"),
        (
            ["oracle"],
            r"unknown command 'oracle'; one of: oracle build, oracle noise, oracle questions, oracle show, oracle compare\n",
        ),
        (["oracle", "biuld"], r"unknown command 'oracle biuld'; one of: oracle build"),
        (["zzz"], r"unknown command 'zzz'; one of: train, train keywords, train arc, evaluate"),
    ],
)
def test_an_unknown_command_names_the_nearest_ones(words: list[str], message: str, capsys: Capture) -> None:
    assert wilkins.main(words) == 2
    captured = capsys.readouterr()
    assert re.search(message, captured.err)
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["synth", "--no-such-flag"], "--no-such-flag"),
        (["synth", "--animals", "many"], "--animals"),
        (["synth", "--seed"], "--seed"),
        (["synth", "stray"], "stray"),
        (["import-matrix"], "PATH"),
    ],
)
def test_a_wrong_flag_is_told_shortly_and_exits_with_two(words: list[str], message: str, capsys: Capture) -> None:
    assert wilkins.main(words) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.err.count("\n") <= 12
    assert captured.out == ""


@pytest.mark.parametrize("command", ["synth", "import-matrix"])
def test_help_explains_every_flag_and_exits_with_zero(command: str, capsys: Capture) -> None:
    assert wilkins.main([command, "--help"]) == 0
    text = capsys.readouterr().out
    target = wilkins._target(command)
    for flag in target.__annotations__:
        if flag not in ("return", "table"):
            assert f"--{flag.replace('_', '-')}" in text


@pytest.mark.parametrize(
    ("stop", "code", "message"),
    [
        (UserError("the pool is wet; dry it"), 2, "wilkins synth: the pool is wet; dry it\n"),
        (KeyboardInterrupt(), 130, "wilkins synth: interrupted\n"),
    ],
)
def test_what_stops_a_command_becomes_a_line_and_an_exit_code(
    stop: BaseException, code: int, message: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise stop

    monkeypatch.setattr(wilkins, "_target", lambda name: fail)
    assert wilkins.main(["synth"]) == code
    assert capsys.readouterr().err == message


def test_a_check_that_says_no_sets_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wilkins, "_target", lambda name: lambda: 1)
    assert wilkins.main(["validate"]) == 1


@pytest.mark.parametrize("words", [[], ["synth", "--help"]], ids=["overview", "help"])
@pytest.mark.parametrize("buffered", [True, False])
def test_a_reader_who_leaves_early_sees_no_error(words: list[str], buffered: bool) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    unbuffered = {"PYTHONUNBUFFERED": "" if buffered else "1"}
    with os.fdopen(writing, "w") as nobody:
        process = subprocess.run(
            [sys.executable, "-m", "wilkins", *words],
            stdout=nobody,
            stderr=subprocess.PIPE,
            timeout=60,
            env={**os.environ, **unbuffered},
        )
    assert process.stderr == b""
    assert process.returncode == 0


def test_a_warning_is_one_line_on_standard_error(make_package: MakePackage, capsys: Capture) -> None:
    folder = make_package()
    (folder / "animals_pool.txt").write_text("Beast 0\nbeast 1\nbeast 2\nBEAST 1\n")
    (folder / "test1.csv").write_text("animal\nbeast 1\n")
    (folder / "dev.csv").write_text("animal\nbeast 0\n")
    (folder / "matrix.npz").unlink()
    table = folder / "table.npy"
    np.save(table, np.ones((4, 12)))
    assert wilkins.main(["import-matrix", str(table), "--package", str(folder)]) == 0
    assert re.fullmatch(r"warning: .*animals_pool\.txt: 1 duplicate line.*'beast 1'.*\n", capsys.readouterr().err)


# import-matrix and synth


def test_a_table_is_brought_in_and_described(make_package: MakePackage, tmp_path: Path, capsys: Capture) -> None:
    folder = make_package(animals=20, questions=12)
    (folder / "matrix.npz").unlink()
    margin = np.linspace(-3, 3, 240).reshape(20, 12)
    margin[5, 7] = np.nan
    np.save(tmp_path / "table.npy", margin)
    assert wilkins.main(["import-matrix", str(tmp_path / "table.npy"), "--package", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    for part in ("20 animals x 12 questions of margins", "99.6% measured", "% yes", "within 0.1 of zero"):
        assert part in captured.out
    matrix = load_package(folder).matrix
    np.testing.assert_allclose(matrix.margin, margin, rtol=1e-6)
    assert matrix.provenance["source"] == "table.npy"
    assert {"imported", "importer"} <= set(matrix.provenance)


def test_bits_are_described_as_bits(make_package: MakePackage, tmp_path: Path, capsys: Capture) -> None:
    folder = make_package()
    np.save(tmp_path / "table.npy", np.eye(20, 12))
    words = ["import-matrix", str(tmp_path / "table.npy"), "--package", str(folder), "--force"]
    assert wilkins.main(words) == 0
    out = capsys.readouterr().out
    assert "questions of bits, 100.0% measured" in out
    assert "zero" not in out


def test_a_matrix_is_not_overwritten_unless_forced(make_package: MakePackage, tmp_path: Path, capsys: Capture) -> None:
    folder = make_package()
    before = snapshot(folder)
    np.save(tmp_path / "table.npy", np.eye(20, 12))
    words = ["import-matrix", str(tmp_path / "table.npy"), "--package", str(folder)]
    assert wilkins.main(words) == 2
    assert "exists already; give --force" in capsys.readouterr().err
    assert snapshot(folder) == before
    assert wilkins.main([*words, "--force"]) == 0
    assert load_package(folder).matrix.answer.sum() == 12


def test_a_matrix_of_another_order_can_be_replaced(make_package: MakePackage, tmp_path: Path) -> None:
    folder = make_package()
    lines = (folder / "animals_pool.txt").read_text().splitlines()
    (folder / "animals_pool.txt").write_text("\n".join(lines[::-1]))
    np.save(tmp_path / "table.npy", np.eye(20, 12))
    words = ["import-matrix", str(tmp_path / "table.npy"), "--package", str(folder), "--force"]
    assert wilkins.main(words) == 0
    assert load_package(folder).matrix.answer.sum() == 12


def harm_pool(folder: Path) -> None:
    (folder / "animals_pool.txt").write_bytes(b"beast 0\ncaf\xe9\n")


def harm_split(folder: Path) -> None:
    (folder / "dev.csv").write_text("animal\nbeast 1\nbaest 2\n")


def harm_overlap(folder: Path) -> None:
    (folder / "test1.csv").write_text("animal\nbeast 0\n")


def harm_missing(folder: Path) -> None:
    (folder / "questions_pool.txt").unlink()


def harm_nothing(folder: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("harm", "table", "content", "message"),
    [
        (harm_pool, "t.csv", b"1,0", r"animals_pool\.txt: line 2 is not UTF-8"),
        (harm_split, "t.csv", b"1,0", r"dev\.csv: line 3: 'baest 2' is not in the animals pool; did you mean beast 2"),
        (harm_overlap, "t.csv", b"1,0", r"dev\.csv and test1\.csv overlap: 'beast 0'"),
        (harm_missing, "t.csv", b"1,0", r"the questions pool is missing"),
        (harm_nothing, "t.csv", b"1,0\n0,1\n", r"shape \(2, 2\) does not fit 20 animals x 12 questions"),
        (harm_nothing, "t.csv", b"caf\xe9", r"t\.csv: line 1 is not UTF-8"),
        (harm_nothing, "t.csv", b"9" * 200_000, r"not CSV: field larger than field limit"),
        (harm_nothing, "t.csv", None, r"the table is missing: no file .*t\.csv"),
        (harm_nothing, "t.npy", b"\x93NUMPY\x01\x00", r"t\.npy: not a readable NumPy file"),
        (harm_nothing, "t.npz", b"PK\x03\x04", r"t\.npz: not a readable NumPy archive"),
        (harm_nothing, "t.doc", b"", r"unknown kind of table"),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_bad_input_is_one_line_and_leaves_the_package_as_it_was(
    harm: Callable[[Path], None],
    table: str,
    content: bytes | None,
    message: str,
    make_package: MakePackage,
    tmp_path: Path,
    capsys: Capture,
) -> None:
    folder = make_package()
    harm(folder)
    before = snapshot(folder)
    if content is not None:
        (tmp_path / table).write_bytes(content)
    words = ["import-matrix", str(tmp_path / table), "--package", str(folder), "--force"]
    assert wilkins.main(words) == 2
    captured = capsys.readouterr()
    assert re.search(message, captured.err)
    assert captured.err.startswith("wilkins import-matrix: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert snapshot(folder) == before


def test_a_package_must_be_named_to_be_filled(capsys: Capture) -> None:
    assert wilkins.main(["import-matrix", "t.csv"]) == 2
    assert capsys.readouterr().err == "wilkins import-matrix: say which package gets the matrix: --package DIR\n"
    assert wilkins.main(["synth", "--animals", "10"]) == 2
    assert capsys.readouterr().err == "wilkins synth: say which folder to make: --out DIR\n"


def test_a_synthetic_package_is_made_and_described(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "deep" / "down"
    assert wilkins.main(["synth", "--animals", "40", "--questions", "30", "--out", str(out), "--seed", "4"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "40 animals x 30 questions of margins, 100.0% measured" in captured.out
    assert load_package(out).matrix.provenance["seed"] == 4


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").write_text("in the way")
    out = tmp_path / "file" / "below"
    assert wilkins.main(["synth", "--animals", "10", "--questions", "5", "--out", str(out)]) == 2
    captured = capsys.readouterr()
    assert re.fullmatch(r"wilkins synth: cannot write .*below.*\n", captured.err)
    assert captured.out == ""


@pytest.mark.parametrize("words", [["synth", "--animals", "300", "--questions", "200"], ["import-matrix"]])
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(
    words: list[str], make_package: MakePackage, tmp_path: Path
) -> None:
    # A limit on the size of one file fails a write half way, as a full disk does.
    folder = make_package(animals=300, questions=50)
    np.save(tmp_path / "table.npy", np.random.default_rng(0).normal(size=(300, 50)))
    before = snapshot(folder)
    if words == ["import-matrix"]:
        words = [*words, str(tmp_path / "table.npy"), "--package", str(folder), "--force"]
    else:
        words = [*words, "--out", str(folder / "out")]
    limited = f"ulimit -f 8; exec {sys.executable} -B -m wilkins " + " ".join(words)
    process = subprocess.run(["bash", "-c", limited], text=True, capture_output=True, timeout=60)
    assert process.returncode == 2
    assert re.fullmatch(rf"wilkins {words[0]}: cannot write .*: File too large; free space .*\n", process.stderr)
    assert process.stdout == ""
    assert snapshot(folder) == before


def test_the_command_starts_without_the_heavy_libraries() -> None:
    code = "import sys, wilkins; wilkins.main([]); print({'torch', 'tyro', 'transformers'} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=60)
    assert process.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize(("flags", "said"), [((), "0.0554 (measured)"), (("--noise", "0.2"), "0.2 (assumed)")])
def test_training_says_whether_its_noise_was_measured(monkeypatch, capsys, flags, said):
    monkeypatch.setattr("train.main_job", lambda *_: 0)
    assert wilkins.main(["train", *flags]) == 0
    assert f"noise {said}" in capsys.readouterr().out.replace("0.055447", "0.0554")

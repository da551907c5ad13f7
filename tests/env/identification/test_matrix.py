import csv
import io
import json
import pickle
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from env.errors import UserError
from env.identification.matrix import CERTAIN, TIE, Matrix, load_matrix, read_table, save_matrix
from env.identification.pools import Pool, make_pool

# An animal may be called "no" and another "nan": both are values to a careless reader.
ANIMALS = make_pool("animals", ["no", "cat", "fox, red", "nan", "owl", "honey badger"])
QUESTIONS = make_pool("questions", ["is it big?", "is it, so to say, red?", 'is it "wild"?', "does it fly?"])
SHAPE = (len(ANIMALS), len(QUESTIONS))
MARGIN = np.linspace(-3, 3, 24, dtype=np.float32).reshape(SHAPE)
DIGESTS = {"animals_sha256": ANIMALS.sha256, "questions_sha256": QUESTIONS.sha256}

MARGINS = npst.arrays(np.float32, SHAPE, elements=st.floats(-50, 50, width=32))
MARGINS_WITH_HOLES = npst.arrays(
    np.float32, SHAPE, elements=st.floats(-50, 50, width=32) | st.just(float("nan"))
).filter(lambda margin: not np.isnan(margin).all())
SHARED_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def is_bits(margin: np.ndarray) -> bool:
    return bool(np.isin(margin[~np.isnan(margin)], (0.0, 1.0)).all())


def expected_margin(values: np.ndarray) -> np.ndarray:
    return (2 * values - 1) * CERTAIN if is_bits(values) else values


def as_csv(rows: list[list[Any]]) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(rows)
    return stream.getvalue().encode()


def stored(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def array_file(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def placed(tmp_path: Path, name: str, content: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


# Files of our own


@SHARED_FOLDER
@given(margin=MARGINS_WITH_HOLES)
def test_a_matrix_comes_back_as_it_was_saved(margin: np.ndarray, tmp_path: Path) -> None:
    answer = (np.nan_to_num(margin) > 0).astype(np.uint8)
    save_matrix(tmp_path / "matrix.npz", Matrix(margin, answer, {**DIGESTS, "model": "m", "noise": 0.05}))
    back = load_matrix(tmp_path / "matrix.npz", ANIMALS, QUESTIONS)
    np.testing.assert_array_equal(back.margin, margin)
    np.testing.assert_array_equal(back.answer, answer)
    np.testing.assert_array_equal(back.measured, ~np.isnan(margin))
    assert back.margin.dtype == np.float32
    assert back.noise == 0.05
    assert back.provenance["model"] == "m"


def test_the_same_matrix_is_the_same_bytes(tmp_path: Path) -> None:
    matrix = Matrix(MARGIN, (MARGIN > 0).astype(np.uint8), DIGESTS)
    for name in ("one.npz", "two.npz"):
        save_matrix(tmp_path / name, matrix)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_a_signed_margin_never_contradicts_the_answer() -> None:
    margin = np.array([[1.0, -1.0, 0.5, -0.5, 0.0, 0.0, np.nan]], np.float32)
    answer = np.array([[1, 0, 0, 1, 1, 0, 0]], np.uint8)
    signed = Matrix(margin, answer).signed_margin()
    np.testing.assert_array_equal(signed, [[1.0, -1.0, -TIE, TIE, TIE, -TIE, np.nan]])


@pytest.mark.parametrize("other", ["animals", "questions"])
def test_a_matrix_for_another_order_is_refused_with_both_digests(other: str, tmp_path: Path) -> None:
    path = tmp_path / "matrix.npz"
    save_matrix(path, Matrix(MARGIN, (MARGIN > 0).astype(np.uint8), DIGESTS))
    pools = {"animals": ANIMALS, "questions": QUESTIONS}
    turned = make_pool(other, pools[other].names[::-1])
    with pytest.raises(UserError) as error:
        load_matrix(path, **{**pools, other: turned})
    assert pools[other].sha256 in str(error.value)
    assert turned.sha256 in str(error.value)
    assert "\n" not in str(error.value)


def matrix_file(**changes: Any) -> bytes:
    arrays: dict[str, Any] = {
        "margin": MARGIN,
        "answer": (MARGIN > 0).astype(np.uint8),
        "provenance": np.array(json.dumps(DIGESTS)),
    } | changes
    return stored(**{name: array for name, array in arrays.items() if array is not None})


def provenance(**entries: Any) -> np.ndarray:
    return np.array(json.dumps({**DIGESTS, **entries}))


INFINITE = np.where(np.eye(*SHAPE), np.inf, 0.0)
HOSTILE_MATRICES = {
    "empty file": b"",
    "text": b"margin, answer\n",
    "truncated": matrix_file()[:-40],
    "a single array": array_file(MARGIN),
    "no margin": matrix_file(margin=None),
    "no provenance": matrix_file(provenance=None),
    "pickled margin": matrix_file(margin=MARGIN.astype(object)),
    "pickled provenance": matrix_file(provenance=np.array([DIGESTS], dtype=object)),
    "provenance is no JSON": matrix_file(provenance=np.array("{")),
    "provenance is a list": matrix_file(provenance=np.array("[]")),
    "provenance is many": matrix_file(provenance=np.array(["{}", "{}"])),
    "provenance holds a huge integer": matrix_file(provenance=np.array('{"seed": ' + "9" * 5000 + "}")),
    "provenance is nested deep": matrix_file(provenance=np.array("[" * 100_000)),
    "noise is a word": matrix_file(provenance=provenance(noise="small")),
    "noise is negative": matrix_file(provenance=provenance(noise=-0.1)),
    "noise is not a number": matrix_file(provenance=provenance(noise=float("nan"))),
    "margin is infinite": matrix_file(margin=INFINITE.astype(np.float32)),
    "margin does not fit float32": matrix_file(margin=np.where(np.eye(*SHAPE), 1e300, 0.0)),
    "margin is complex": matrix_file(margin=MARGIN.astype(complex)),
    "margin is text": matrix_file(margin=MARGIN.astype(str)),
    "margin has another shape": matrix_file(margin=MARGIN[:-1]),
    "answer is two": matrix_file(answer=np.full(SHAPE, 2, np.uint8)),
    "answer is minus one": matrix_file(answer=np.full(SHAPE, -1, np.int64)),
    "answer is turned": matrix_file(answer=np.zeros(SHAPE[::-1], np.uint8)),
}


@pytest.mark.parametrize("content", HOSTILE_MATRICES.values(), ids=HOSTILE_MATRICES.keys())
def test_a_damaged_matrix_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = placed(tmp_path, "matrix.npz", content)
    with pytest.raises(UserError, match=r"matrix\.npz") as error:
        load_matrix(path, ANIMALS, QUESTIONS)
    assert "\n" not in str(error.value)


def test_a_pickled_array_is_refused_and_never_run(tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "ran",)

    attack = np.array([[Attack()]], dtype=object)
    assert pickle.loads(pickle.dumps(Attack())) is None  # the attack works where pickles are read
    (tmp_path / "ran").unlink()
    for name, content in (("t.npy", array_file(attack)), ("t.npz", stored(table=attack))):
        with pytest.raises(UserError, match="not a readable NumPy"):
            read_table(placed(tmp_path, name, content), ANIMALS, QUESTIONS)
    assert not (tmp_path / "ran").exists()


def test_an_archive_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("margin.npy", b"")
        archive.infolist()[0].file_size = 3 << 30
    with pytest.raises(UserError, match="unpacks to 3,221,225,472 bytes"):
        read_table(path, ANIMALS, QUESTIONS)


@SHARED_FOLDER
@given(data=st.data())
def test_no_flipped_or_lost_byte_makes_a_traceback(data: st.DataObject, tmp_path: Path) -> None:
    name = data.draw(st.sampled_from(["t.npz", "t.npy"]))
    content = bytearray(matrix_file() if name == "t.npz" else array_file(MARGIN))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(1, len(content))) :]
    with suppress(UserError):
        read_table(placed(tmp_path, name, bytes(content)), ANIMALS, QUESTIONS)


@pytest.mark.parametrize("damage", range(40, 400, 9))
def test_no_damaged_byte_of_a_compressed_archive_makes_a_traceback(damage: int, tmp_path: Path) -> None:
    path = tmp_path / "matrix.npz"
    save_matrix(path, Matrix(MARGIN, (MARGIN > 0).astype(np.uint8), DIGESTS))
    content = bytearray(path.read_bytes())
    content[damage % len(content)] ^= 0xFF
    path.write_bytes(content)
    with suppress(UserError):
        load_matrix(path, ANIMALS, QUESTIONS)


# Tables made elsewhere


@SHARED_FOLDER
@given(values=MARGINS_WITH_HOLES, kind=st.sampled_from(["npy", "npz"]))
def test_an_array_file_is_read_as_it_is(values: np.ndarray, kind: str, tmp_path: Path) -> None:
    content = array_file(values) if kind == "npy" else stored(anything=values, note=np.array("a note"))
    matrix = read_table(placed(tmp_path, f"t.{kind}", content), ANIMALS, QUESTIONS)
    np.testing.assert_allclose(matrix.margin, expected_margin(values))
    np.testing.assert_array_equal(matrix.answer, np.nan_to_num(matrix.margin) > 0)
    assert matrix.provenance["values"] == ("bits" if is_bits(values) else "margins")
    assert {name: matrix.provenance[name] for name in DIGESTS} == DIGESTS


@SHARED_FOLDER
@given(
    values=MARGINS_WITH_HOLES,
    rows=st.permutations(range(SHAPE[0])),
    columns=st.permutations(range(SHAPE[1])),
    header=st.booleans(),
    index=st.booleans(),
    shout=st.booleans(),
)
def test_a_csv_is_matched_by_name_where_names_are_given(
    values: np.ndarray, rows: list[int], columns: list[int], header: bool, index: bool, shout: bool, tmp_path: Path
) -> None:
    rows = rows if index else list(range(SHAPE[0]))
    columns = columns if header else list(range(SHAPE[1]))
    names = [f" {name.upper()} " if shout else name for name in ANIMALS.names]
    asked = [f" {name.upper()} " if shout else name for name in QUESTIONS.names]
    table: list[list[Any]] = [
        ([names[row]] if index else [])
        + ["" if np.isnan(values[row, c]) else repr(float(values[row, c])) for c in columns]
        for row in rows
    ]
    if header:
        table.insert(0, ([""] if index else []) + [asked[column] for column in columns])
    matrix = read_table(placed(tmp_path, "t.csv", as_csv(table)), ANIMALS, QUESTIONS)
    np.testing.assert_allclose(matrix.margin, expected_margin(values))


@pytest.mark.parametrize(
    ("yes", "no"),
    [("yes", "no"), ("Yes ", " NO"), ("True", "False"), ("1", "0"), ("1.0", "0.0"), (1, 0), (True, False)],
)
def test_bits_may_be_written_in_many_ways(yes: Any, no: Any, tmp_path: Path) -> None:
    bits = MARGIN > 0
    rows = [["animal", *QUESTIONS.names]]
    rows += [[name, *(yes if bit else no for bit in row)] for name, row in zip(ANIMALS.names, bits, strict=True)]
    matrix = read_table(placed(tmp_path, "t.CSV", b"\xef\xbb\xbf" + as_csv(rows)), ANIMALS, QUESTIONS)
    np.testing.assert_array_equal(matrix.answer, bits)
    np.testing.assert_array_equal(np.abs(matrix.margin), CERTAIN)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float16, np.float64])
def test_an_array_of_bits_may_have_any_real_type(dtype: type, tmp_path: Path) -> None:
    matrix = read_table(placed(tmp_path, "t.npy", array_file((MARGIN > 0).astype(dtype))), ANIMALS, QUESTIONS)
    np.testing.assert_array_equal(matrix.answer, MARGIN > 0)
    assert matrix.provenance["values"] == "bits"


def test_equal_names_are_matched_in_their_order(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="duplicate"):
        twins = make_pool("animals", ["cat", "owl", "cat"])
    rows = [["cat", 1.5], ["cat", 2.5], ["owl", -3.5]]
    single = make_pool("questions", ["is it big?"])
    matrix = read_table(placed(tmp_path, "t.csv", as_csv(rows)), twins, single)
    assert matrix.margin[:, 0].tolist() == [1.5, -3.5, 2.5]


@pytest.mark.parametrize(
    "rows", [[["is it big?"], [1.5], [2.5]], [[1.5], [2.5]], [["", "is it big?"], ["no", 1.5], ["owl", 2.5]]]
)
def test_one_question_is_enough_for_a_table(rows: list[list[Any]], tmp_path: Path) -> None:
    animals, questions = make_pool("animals", ["no", "owl"]), make_pool("questions", ["is it big?"])
    matrix = read_table(placed(tmp_path, "t.csv", as_csv(rows)), animals, questions)
    assert matrix.margin[:, 0].tolist() == [1.5, 2.5]


def named(rows: int = SHAPE[0], header: list[str] | None = None, **renamed: str) -> list[list[Any]]:
    names = [renamed.get(name, name) for name in ANIMALS.names[:rows]]
    body = [[name, *row] for name, row in zip(names, MARGIN.tolist(), strict=False)]
    return [["", *(header or QUESTIONS.names)], *body]


def with_cell(row: int, column: int, text: str) -> list[list[Any]]:
    rows: list[list[Any]] = MARGIN.tolist()
    rows[row][column] = text
    return rows


HOSTILE_TABLES: dict[str, tuple[str, bytes, str]] = {
    "kind": ("t.xlsx", b"PK", "unknown kind of table '.xlsx'"),
    "no kind": ("table", b"", "unknown kind of table ''"),
    "empty csv": ("t.csv", b"", "the table is empty"),
    "only blank lines": ("t.csv", b"\n\n\n", "the table is empty"),
    "only a header": ("t.csv", as_csv([list(QUESTIONS.names)]), r"no |shape \(0, 4\)"),
    "latin-1": ("t.csv", b"animal,caf\xe9\n", "line 1 is not UTF-8"),
    "huge cell": ("t.csv", b"1," + b"9" * 200_000 + b"\n", "not CSV"),
    "null bytes": ("t.csv", b"\0" * 64, r"t\.csv"),
    "one row short": ("t.csv", as_csv(MARGIN[:-1].tolist()), r"shape \(5, 4\) does not fit 6 animals x 4 questions"),
    "turned": ("t.csv", as_csv(MARGIN.T.tolist()), "it fits when transposed"),
    "ragged": ("t.csv", as_csv([*MARGIN[:-1].tolist(), [1.0, 2.0]]), "row 6 has 2 cells, the first row 4"),
    "a word among margins": ("t.csv", as_csv(with_cell(2, 1, "perhaps")), "row 3, column 2: 'perhaps' is no answer"),
    "a word in the first row": ("t.csv", as_csv(with_cell(0, 1, "perhaps")), "row 1, column 2: 'perhaps'"),
    "a word in the first column": ("t.csv", as_csv(with_cell(4, 0, "perhaps")), "row 5, column 1: 'perhaps'"),
    "infinite": ("t.csv", as_csv(with_cell(1, 3, "inf")), "animal 1, question 3 is infinite"),
    "too large": ("t.csv", as_csv(with_cell(1, 3, "1e300")), "animal 1, question 3 is infinite or far too large"),
    "unknown animal": (
        "t.csv",
        as_csv(named(owl="owwl")),
        "row name: 'owwl' is not in the animals pool; did you mean owl",
    ),
    "unknown question": (
        "t.csv",
        as_csv(named(header=["is it bigg?", *QUESTIONS.names[1:]])),
        "column name: 'is it bigg\\?' is not in the questions pool; did you mean is it big",
    ),
    "missing animal": ("t.csv", as_csv(named(rows=5)), "no row named 'honey badger'"),
    "animal twice": ("t.csv", as_csv([*named(), ["cat", *[0.5] * 4]]), "more than one row named 'cat'"),
    "question twice": (
        "t.csv",
        as_csv([[*row, row[-1]] for row in named()]),
        "more than one column named 'does it fly\\?'",
    ),
    "nothing measured": ("t.npy", array_file(np.full(SHAPE, np.nan)), "no measured value"),
    "array turned": ("t.npy", array_file(MARGIN.T), "it fits when transposed"),
    "array of one dimension": ("t.npy", array_file(MARGIN.ravel()), r"shape \(24,\) does not fit"),
    "array of text": ("t.npy", array_file(MARGIN.astype(str)), "values of type <U"),
    "complex array": ("t.npy", array_file(MARGIN * 1j), "values of type complex"),
    "pickled array": ("t.npy", array_file(MARGIN.astype(object)), "not a readable NumPy file"),
    "truncated array": ("t.npy", array_file(MARGIN)[:-8], "not a readable NumPy file"),
    "no array": ("t.npy", b"\x93NUMPY", "not a readable NumPy file"),
    "header without an end": ("t.npy", array_file(MARGIN).replace(b")", b"(", 1), "not a readable NumPy file"),
    "archive called npy": ("t.npy", stored(table=MARGIN), "rename it to .npz"),
    "array called npz": ("t.npz", array_file(MARGIN), "rename it to .npy"),
    "two tables": ("t.npz", stored(a=MARGIN, b=MARGIN), r"exactly one 2-D array, found \['a', 'b'\]"),
    "no table": ("t.npz", stored(a=MARGIN[0]), r"exactly one 2-D array, found \['a'\]"),
    "not a zip": ("t.npz", b"PK\x03\x04" + b"x" * 100, "not a readable NumPy archive"),
}


@pytest.mark.parametrize(("name", "content", "message"), HOSTILE_TABLES.values(), ids=HOSTILE_TABLES.keys())
def test_a_table_that_does_not_fit_is_one_line_that_says_which(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message) as error:
        read_table(placed(tmp_path, name, content), ANIMALS, QUESTIONS)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
    assert name in str(error.value)


def test_a_missing_table_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the table is missing"):
        read_table(tmp_path / "none.csv", ANIMALS, QUESTIONS)


def test_a_whole_matrix_file_keeps_its_provenance(tmp_path: Path) -> None:
    path = placed(tmp_path, "other.npz", matrix_file(provenance=provenance(model="m", noise=0.07)))
    matrix = read_table(path, ANIMALS, QUESTIONS)
    assert matrix.noise == 0.07
    assert matrix.provenance["model"] == "m"


@pytest.mark.parametrize("pool", [ANIMALS, QUESTIONS], ids=["animals", "questions"])
def test_a_matrix_file_of_other_pools_is_refused_as_a_table_too(pool: Pool, tmp_path: Path) -> None:
    path = placed(tmp_path, "other.npz", matrix_file(provenance=provenance(**{f"{pool.kind}_sha256": "0" * 64})))
    with pytest.raises(UserError, match=f"another {pool.kind} pool"):
        read_table(path, ANIMALS, QUESTIONS)

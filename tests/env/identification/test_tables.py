"""Tables as people have them: every form of the same answers is read right, or refused in a line that says the way out."""

import importlib.util
import pickle
import re
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.errors import UserError
from env.identification.belief import answer_probability
from env.identification.encoding import Reading
from env.identification.matrix import CERTAIN, with_provenance
from env.identification.package import load_package
from env.identification.pools import Pool, make_pool
from env.identification.tables import read_table
from tests.env.identification.test_matrix import (
    ANIMALS,
    DIGESTS,
    MARGIN,
    MARGINS_WITH_HOLES,
    QUESTIONS,
    SHAPE,
    SHARED_FOLDER,
    array_file,
    as_csv,
    matrix_file,
    placed,
    provenance,
    stored,
)
from wilkins import main

MARGINS = Reading(encoding="margins")


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


@SHARED_FOLDER
@given(values=MARGINS_WITH_HOLES, kind=st.sampled_from(["npy", "npz"]))
def test_an_array_file_is_read_as_it_is(values: np.ndarray, kind: str, tmp_path: Path) -> None:
    content = array_file(values) if kind == "npy" else stored(anything=values, note=np.array("a note"))
    matrix = read_table(placed(tmp_path, f"t.{kind}", content), ANIMALS, QUESTIONS, MARGINS)
    np.testing.assert_allclose(matrix.margin, values)
    np.testing.assert_array_equal(matrix.answer, np.nan_to_num(matrix.margin) > 0)
    assert matrix.provenance["values"] == "margins"
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
    matrix = read_table(placed(tmp_path, "t.csv", as_csv(table)), ANIMALS, QUESTIONS, MARGINS)
    np.testing.assert_allclose(matrix.margin, values)


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
    rows = [["cat", 1.5], ["cat", -2.5], ["owl", -3.5]]
    single = make_pool("questions", ["is it big?"])
    matrix = read_table(placed(tmp_path, "t.csv", as_csv(rows)), twins, single)
    assert matrix.margin[:, 0].tolist() == [1.5, -3.5, -2.5]


@pytest.mark.parametrize(
    "rows", [[["is it big?"], [1.5], [-2.5]], [[1.5], [-2.5]], [["", "is it big?"], ["no", 1.5], ["owl", -2.5]]]
)
def test_one_question_is_enough_for_a_table(rows: list[list[Any]], tmp_path: Path) -> None:
    animals, questions = make_pool("animals", ["no", "owl"]), make_pool("questions", ["is it big?"])
    matrix = read_table(placed(tmp_path, "t.csv", as_csv(rows)), animals, questions)
    assert matrix.margin[:, 0].tolist() == [1.5, -2.5]


def named(rows: int = SHAPE[0], header: list[str] | None = None, **renamed: str) -> list[list[Any]]:
    names = [renamed.get(name, name) for name in ANIMALS.names[:rows]]
    body = [[name, *row] for name, row in zip(names, MARGIN.tolist(), strict=False)]
    return [["", *(header or QUESTIONS.names)], *body]


def with_cell(row: int, column: int, text: str) -> list[list[Any]]:
    rows: list[list[Any]] = MARGIN.tolist()
    rows[row][column] = text
    return rows


HOSTILE_TABLES: dict[str, tuple[str, bytes, str]] = {
    "kind": ("t.docx", b"PK", "unknown kind of table '.docx'"),
    "no spreadsheet": ("t.xlsx", b"PK", r"not a readable \.xlsx file"),
    "no parquet": ("t.parquet", b"PAR1", r"not a readable \.parquet file"),
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


# Forms of the same answers: eight animals, three questions.

ZOO = make_pool("animals", ["otter", "heron", "trout", "hornet", "newt", "shrew", "stork", "carp"])
ASKED = make_pool("questions", ["does it have fur?", "does it swim?", "does it fly?"])
TRUTH = np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])


def table(yes: Any, no: Any, separator: str = ",", corner: str = "animal", quote: str = "", extra: str = "") -> bytes:
    """The truth as text; `extra` is a further column."""
    rows = [[corner, *ASKED.names] + (["class"] if extra else [])]
    rows += [
        [name, *(yes if bit else no for bit in bits)] + ([extra] if extra else [])
        for name, bits in zip(ZOO.names, TRUTH, strict=True)
    ]
    return "\n".join(separator.join(f"{quote}{cell}{quote}" for cell in row) for row in rows).encode()


def with_column(column: int, values: list[Any]) -> bytes:
    rows: list[list[Any]] = [["animal", *ASKED.names]]
    for name, bits, value in zip(ZOO.names, TRUTH.tolist(), values, strict=True):
        rows.append([name, *bits])
        rows[-1][column + 1] = value
    return as_csv(rows)


RIGHT: dict[str, tuple[str, bytes, str]] = {
    "bits": ("t.csv", table(1, 0), "read as bits"),
    "words": ("t.csv", table("Yes", "No"), "read as yes/no"),
    "letters": ("t.csv", table("Y", "N"), "read as yes/no"),
    "logical letters": ("t.csv", table("T", "F"), "read as yes/no"),
    "another language": ("t.csv", table("WAHR", "FALSCH"), "read as yes/no"),
    "tabs": ("t.tsv", table("yes", "no", "\t"), "separated by tabs"),
    "semicolons in a .csv": ("t.csv", table(1, 0, ";"), "separated by semicolons"),
    "bars in a .txt": ("t.txt", table(1, 0, "|"), "separated by bars"),
    "quoted names between spaces": ("t.txt", table(1, 0, " ", quote='"'), "separated by spaces"),
    "no corner, as R writes it": ("t.csv", table("TRUE", "FALSE").split(b",", 1)[1], "read as yes/no"),
    "byte-order mark": ("t.csv", b"\xef\xbb\xbf" + table(1, 0), "read as bits"),
    "carriage returns": ("t.csv", table(1, 0).replace(b"\n", b"\r\n"), "read as bits"),
    "decimal commas": ("t.csv", table("2,5", "-1,75", ";"), "decimal commas"),
    "decimal commas in a .tsv": ("t.tsv", table("2,5", "-1,75", "\t"), "decimal commas"),
    "margins": ("t.csv", table(2.5, -1.75), "read as margins"),
    "probabilities": ("t.csv", table(0.95, 0.02), "read as probabilities"),
    "coded 1 and 2": ("t.csv", table(2, 1), "read as coded 1 = no, 2 = yes"),
    "coded -1 and 1": ("t.csv", table(1, -1), "read as coded -1 = no, 1 = yes"),
    "a class column": ("t.csv", table(1, 0, extra="bird"), "no question, left out: 'class'"),
    "a column of a measure": ("t.csv", table(1, 0, extra="2.5"), "no question, left out: 'class'"),
}


@pytest.mark.parametrize(("name", "content", "said"), RIGHT.values(), ids=RIGHT.keys())
def test_every_form_of_the_same_answers_is_read_right_and_said(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    matrix = read_table(placed(tmp_path, name, content), ZOO, ASKED)
    np.testing.assert_array_equal(matrix.answer, TRUTH)
    assert matrix.measured.all()
    assert said in "; ".join(matrix.provenance["reading"])


AMBIGUOUS: dict[str, tuple[bytes, str]] = {
    "a count among bits": (with_column(2, [0, 4, 0, 4, 0, 0, 2, 0]), "'does it fly\\?' holds 0, 2, 4 in a table of yes and no"),
    "legs": (with_column(0, [4, 2, 0, 6, 4, 4, 2, 0]), "'does it have fur\\?' holds 0, 2, 4, 6 in a table of yes and no"),
    "a measure among bits": (with_column(1, [0.4, 2.5, 0.1, 3, 1, 1, 2, 7]), "'does it swim\\?' holds .* in a table of yes and no"),
    "a margin among bits": (with_column(1, [0.4, -2.5, 0.1, 3, 1, 1, 2, 7]), "'does it swim\\?' holds .* in a table of yes and no"),
    "-1 for a missing answer": (with_column(0, [1, 0, -1, 0, 0, 1, 0, 0]), "'does it have fur\\?' holds -1, 0, 1 beside 0 and 1"),
    "1 and 2 among bits": (with_column(2, [1, 2, 1, 2, 1, 1, 2, 1]), "'does it fly\\?' holds 1, 2"),
    "a share among words": (table("yes", "no").replace(b"trout,no", b"trout,0.4"), "'does it have fur\\?' holds"),
    "percentages": (table(95.5, 2.5), "no value of the table is below zero"),
    "counts": (table(3, 0), "no value of the table is below zero"),
    "log-probabilities": (table(-0.05, -3.5), "no value of the table is above zero"),
    "bits among margins": (as_csv([["animal", *ASKED.names]] + [[n, 2.5 - k, 1.5 - k, k % 2] for k, n in enumerate(ZOO.names)]), "'does it fly\\?' holds 0, 1 in a table of margins"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_what_may_mean_two_things_is_refused_with_the_column_and_the_flags(
    content: bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message) as error:
        read_table(placed(tmp_path, "t.csv", content), ZOO, ASKED)
    assert "--threshold" in str(error.value)
    assert "\n" not in str(error.value)


SETTLED: dict[str, tuple[bytes, Reading]] = {
    "a count": (with_column(2, [0, 4, 0, 4, 0, 0, 2, 0]), Reading(threshold=0.5)),
    "survey codes": (table(1, 2), Reading(yes=("1",), no=("2",))),
    "codes as an editor writes them": (table("1.0", "2.0"), Reading(yes=("1",), no=("2",))),
    "other words": (table("present", "absent"), Reading(yes=("Present",), no=("absent",))),
    "percentages": (table(95.5, 2.5), Reading(encoding="percentages")),
    "probabilities": (table(0.95, 0.02), Reading(encoding="probabilities")),
}


@pytest.mark.parametrize(("content", "reading"), SETTLED.values(), ids=SETTLED.keys())
def test_a_flag_settles_it(content: bytes, reading: Reading, tmp_path: Path) -> None:
    matrix = read_table(placed(tmp_path, "t.csv", content), ZOO, ASKED, reading)
    np.testing.assert_array_equal(matrix.answer, TRUTH)


@pytest.mark.parametrize("spelling", ["", "NA", "NaN", "n/a", "<NA>", "None", "null", "#N/A", "?", "-"])
def test_a_missing_answer_is_missing_however_it_is_written(spelling: str, tmp_path: Path) -> None:
    matrix = read_table(placed(tmp_path, "t.csv", with_column(0, [1, 0, spelling, 0, 0, 1, 0, 0])), ZOO, ASKED)
    assert np.argwhere(~matrix.measured).tolist() == [[2, 0]]
    np.testing.assert_array_equal(matrix.answer, TRUTH)


def test_a_number_may_stand_for_a_missing_answer(tmp_path: Path) -> None:
    path = placed(tmp_path, "t.csv", with_column(0, [1, 0, -1, 0, 0, 1, 0, 0]))
    matrix = read_table(path, ZOO, ASKED, Reading(missing=("-1",)))
    assert np.argwhere(~matrix.measured).tolist() == [[2, 0]]
    array = np.where(TRUTH == 1, 1, -9)
    array[0, 0] = 0
    path = placed(tmp_path, "t.npy", array_file(array))
    matrix = read_table(path, ZOO, ASKED, Reading(yes=("1",), no=("-9",), missing=("0",)))
    assert np.argwhere(~matrix.measured).tolist() == [[0, 0]]
    np.testing.assert_array_equal(matrix.answer[1:], TRUTH[1:])


@pytest.mark.parametrize("wanted", ["does it fly?", "4"])
def test_a_dropped_question_has_no_answers(wanted: str, tmp_path: Path) -> None:
    path = placed(tmp_path, "t.csv", with_column(2, [0, 4, 0, 4, 0, 0, 2, 0]))
    matrix = read_table(path, ZOO, ASKED, Reading(drop=(wanted,)))
    np.testing.assert_array_equal(matrix.measured.all(axis=0), [True, True, False])
    np.testing.assert_array_equal(matrix.answer[:, :2], TRUTH[:, :2])


def test_a_dropped_column_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--drop-column 'legs': no such column"):
        read_table(placed(tmp_path, "t.csv", table(1, 0)), ZOO, ASKED, Reading(drop=("legs",)))


def test_probabilities_become_log_odds(tmp_path: Path) -> None:
    path = placed(
        tmp_path,
        "t.csv",
        with_column(0, [0.9, 0.1, 0.5, 0, 0.3, 1, 0.2, 0.2]).replace(b",1,", b",0.8,").replace(b",0,", b",0.2,"),
    )
    margin = read_table(path, ZOO, ASKED).margin
    np.testing.assert_allclose(margin[:3, 0], [np.log(9), -np.log(9), 0], atol=1e-6)
    assert np.abs(margin).max() <= CERTAIN


def test_a_tie_is_a_margin_of_zero(tmp_path: Path) -> None:
    rows = table("yes", "no").replace(b"trout,no", b"trout,tie")
    matrix = read_table(placed(tmp_path, "t.csv", rows), ZOO, ASKED)
    assert matrix.margin[2, 0] == 0
    assert (np.abs(matrix.margin) == CERTAIN).sum() == matrix.margin.size - 1


def test_decimal_points_and_commas_in_one_table_are_refused(tmp_path: Path) -> None:
    content = table("2,5", "-1,75", ";").replace(b"-1,75", b"-1.75", 1)
    with pytest.raises(UserError, match=r"decimal points .* and decimal commas"):
        read_table(placed(tmp_path, "t.csv", content), ZOO, ASKED)


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
def test_a_spreadsheet_is_read_like_its_text(kind: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip({"xlsx": "openpyxl", "parquet": "pyarrow"}[kind])
    frame = pandas.DataFrame(TRUTH == 1, columns=list(ASKED.names)).astype(object)
    frame.loc[2, "does it fly?"] = None
    frame.insert(0, "animal", list(ZOO.names))
    path = tmp_path / f"t.{kind}"
    frame.to_excel(path, index=False) if kind == "xlsx" else frame.to_parquet(path)
    matrix = read_table(path, ZOO, ASKED)
    np.testing.assert_array_equal(matrix.answer, TRUTH)
    assert np.argwhere(~matrix.measured).tolist() == [[2, 2]]


def test_a_spreadsheet_without_its_reader_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'wilkins\[tables\]'"):
        read_table(placed(tmp_path, "t.xlsx", b"PK"), ZOO, ASKED)


def test_a_missing_answer_may_go_either_way_as_often_as_the_others_do(tmp_path: Path) -> None:
    matrix = read_table(placed(tmp_path, "t.csv", with_column(0, [1, 0, "", 0, 0, 1, 0, ""])), ZOO, ASKED)
    np.testing.assert_allclose(matrix.missing_rate, [2 / 6, 4 / 8, 3 / 8])
    told = with_provenance(matrix, missing_rate=0.9)
    np.testing.assert_array_equal(told.missing_rate, [0.9] * 3)
    for noise in (0.0, 0.1):
        p_yes = answer_probability(matrix.signed_margin(), noise, floor=0.0, missing=matrix.missing_rate)
        np.testing.assert_allclose(p_yes[[2, 7], 0], 1 / 3)
        np.testing.assert_array_equal(p_yes[matrix.measured] > 0.5, matrix.answer[matrix.measured] == 1)


def test_a_table_with_holes_is_played_to_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "zoo"
    folder.mkdir()
    for kind, names in (("animals", ZOO.names), ("questions", ASKED.names)):
        (folder / f"{kind}_pool.txt").write_text("\n".join(names) + "\n")
    (folder / "dev.csv").write_text("animal\ntrout\n")
    (folder / "test1.csv").write_text("animal\nhornet\n")
    content = with_column(0, [1, 0, 0, 0, "NA", 1, "", 0])
    assert main(["import-matrix", str(placed(tmp_path, "t.csv", content)), "--package", str(folder)]) == 0
    assert "2 missing answers may go either way" in capsys.readouterr().out
    assert main(["baselines", "--package", str(folder), "--noise", "0.1"]) == 0
    assert "2 of 18 answers of the hidden split are missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "flags"),
    [
        ("animal,has fur,can fly,class\nOtter,1,0,mammal\nheron,0,1,bird\ntrout,0,0,fish\nbat,1,1,mammal\n", []),
        ("name;has fur;can fly;legs\notter;Y;N;4\nheron;N;Y;2\ntrout;N;N;0\nbat;Y;Y;2\n", ["--drop-column", "legs"]),
        (
            "Tier;has fur;can fly;Biotop\notter;ja;nein;See\nheron;nein;ja;Ufer\ntrout;nein;nein;See\nbat;ja;ja;Wald\n",
            [],
        ),
        ("has fur\tcan fly\notter\tT\tF\nheron\tF\tT\ntrout\tF\tF\nbat\tT\tT\n", []),
    ],
    ids=["class", "semicolons", "german", "R"],
)
def test_a_package_is_made_of_a_table_alone(
    table: str, flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "zoo"
    words = ["import-matrix", str(placed(tmp_path, "t.csv", table.encode())), "--package", str(folder)]
    assert main(words) == 2
    assert "--new" in capsys.readouterr().err
    assert main([*words, "--new", *flags]) == 0
    out = capsys.readouterr().out
    assert "new, dev.csv has 1 animals, test1.csv 1, 2 are hidden" in out
    made = load_package(folder)
    assert made.animals.names == ("otter", "heron", "trout", "bat")
    assert made.questions.names == ("has fur", "can fly")
    np.testing.assert_array_equal(made.matrix.answer, [[1, 0], [0, 1], [0, 0], [1, 1]])
    assert len(made.hidden) == 2
    assert main(["baselines", "--package", str(folder)]) == 0
    assert main([*words, "--new", *flags]) == 2, "a folder that holds something is not made again"


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("t.csv", "1,0\n0,1\n1,1\n", "no header row of questions.*'0' is no name"),
        ("t.csv", "has fur,can fly\n1,0\n0,1\n1,1\n", "no first column of animals.*'1' is no name"),
        ("t.csv", "a,fur,fur\notter,1,0\nheron,0,1\ntrout,0,0\n", "more than one column named 'fur'"),
        ("t.csv", "a,fur\nfox,1\nheron,0\nfox,0\ntrout,0\n", "more than one row named 'fox'"),
        ("t.csv", "a,fur\notter,1\nheron,0\n", "at least 3 animals"),
        (
            "t.csv",
            "a,fur\notter,oben\nheron,unten\ntrout,unten\n",
            "'fur' holds only 'oben' and 'unten'.*--yes and --no",
        ),
        ("t.csv", "a,class\notter,x\nheron,y\ntrout,z\n", "no column of answers"),
        ("t.csv", "a,fur,legs\notter,1,4\nheron,0,2\ntrout,0,0\n", "'legs'"),
        ("t.npy", "", "give a table with a header row"),
    ],
)
def test_a_table_that_makes_no_package_is_refused_and_leaves_no_folder(
    name: str, table: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = placed(tmp_path, name, table.encode())
    assert main(["import-matrix", str(path), "--package", str(tmp_path / "zoo"), "--new"]) == 2
    found = capsys.readouterr().err
    assert re.search(message, found)
    assert found.count("\n") == 1
    assert [left.name for left in tmp_path.iterdir()] == [name]

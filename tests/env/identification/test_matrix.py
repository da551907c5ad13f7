import csv
import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from env.errors import UserError
from env.identification.matrix import CERTAIN, TIE, Matrix, load_matrix, save_matrix
from env.identification.pools import make_pool

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


@pytest.mark.parametrize("damage", range(40, 400, 9))
def test_no_damaged_byte_of_a_compressed_archive_makes_a_traceback(damage: int, tmp_path: Path) -> None:
    path = tmp_path / "matrix.npz"
    save_matrix(path, Matrix(MARGIN, (MARGIN > 0).astype(np.uint8), DIGESTS))
    content = bytearray(path.read_bytes())
    content[damage % len(content)] ^= 0xFF
    path.write_bytes(content)
    with suppress(UserError):
        load_matrix(path, ANIMALS, QUESTIONS)

"""The oracle matrix: margins, answers, provenance; its file, and tables made elsewhere. No games, no models."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from env.errors import UserError
from env.files import read_bytes, whole_file
from env.identification.pools import Pool, decode

TIE = np.float32(1e-6)
"""A margin on the wrong side of its answer (several spellings shared the mass) is read as this near a tie."""

CERTAIN = np.float32(10.0)
"""Margin given to the answers of a table that carries bits only."""

LARGEST_BYTES = 1 << 30
"""Most that an archive may unpack to; the official matrix takes four megabytes."""

LARGEST = float(np.finfo(np.float64).max)
"""JSON has whole numbers of any size; those above this are no margins."""

Curve = tuple[np.ndarray, np.ndarray]
"""Ascending |margin| and the probability of a flip there, float64 [points] each: a measured flip curve."""


@dataclass(frozen=True)
class Matrix:
    """Margins and answers of every animal to every question, in pool order."""

    margin: np.ndarray
    """float32 [animals, questions], natural log units, NaN where not measured."""
    answer: np.ndarray
    """uint8 [animals, questions], the official reading of the reply; 0 where not measured."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """What measured it: model, revision, dtype, prompt_sha256, animals_sha256, questions_sha256, created, builder."""

    @property
    def measured(self) -> np.ndarray:
        """bool [animals, questions]."""
        return ~np.isnan(self.margin)

    @property
    def noise(self) -> float | None:
        """Noise measured against another matrix of the same pools, in margin units; None if nobody did."""
        value = self.provenance.get("noise")
        return None if value is None else float(value)

    @property
    def flip_curve(self) -> Curve | None:
        """Measured flips: ascending |margin| and the probability of a flip there, float64 [points]; None without."""
        value = self.provenance.get("flip_curve")
        return None if value is None else (np.array(value["margin"], float), np.array(value["probability"], float))

    @property
    def answer_model(self) -> str:
        """How a platform's answers are predicted best: `gaussian` noise on margins, or as `measured` (flip curve)."""
        return str(self.provenance.get("answer_model", "gaussian"))

    def signed_margin(self) -> np.ndarray:
        """Margins moved to their answer's side of zero where they were not, float32 [animals, questions]."""
        return np.where(self.answer == 1, np.maximum(self.margin, TIE), np.minimum(self.margin, -TIE))


def save_matrix(path: Path, matrix: Matrix) -> None:
    """Write `matrix.npz` in one step: `margin`, `answer`, and `provenance` as one JSON string."""
    with whole_file(path) as stream:
        np.savez_compressed(
            stream,
            margin=matrix.margin.astype(np.float32),
            answer=matrix.answer.astype(np.uint8),
            provenance=np.array(json.dumps(dict(matrix.provenance), sort_keys=True)),
        )


def load_matrix(path: Path, animals: Pool, questions: Pool) -> Matrix:
    """Matrix of these pools. Raises UserError for a damaged file, other shapes, or other pools' digests."""
    arrays = _read_npz(path, read_bytes(path, "the oracle matrix"))
    missing = {"margin", "answer", "provenance"} - set(arrays)
    if missing:
        raise UserError(
            f"{path}: not a matrix file, {', '.join(sorted(missing))} missing; use import-matrix for a table"
        )
    try:
        provenance = json.loads(str(arrays["provenance"][()]))
    except (ValueError, RecursionError):
        provenance = None
    if not isinstance(provenance, dict):
        raise UserError(f"{path}: provenance is not a JSON object; rebuild or import the matrix again")
    for pool in (animals, questions):
        found = provenance.get(f"{pool.kind}_sha256")
        if found != pool.sha256:
            raise UserError(
                f"{path}: measured for another {pool.kind} pool (or order): matrix has {found}, the pool {pool.sha256}; "
                f"rebuild it or use the pool that it was made for"
            )
    shape = (len(animals), len(questions))
    margin, answer = arrays["margin"], arrays["answer"]
    if margin.shape != shape or answer.shape != shape:
        raise UserError(f"{path}: margin {margin.shape} and answer {answer.shape} do not fit the pools {shape}")
    if margin.dtype.kind == "f":
        margin = _single(margin)
    if margin.dtype.kind != "f" or np.isinf(margin).any() or not np.isin(answer, (0, 1)).all():
        raise UserError(f"{path}: margin must be finite real numbers (or NaN) and answer 0 or 1; the file is damaged")
    noise = provenance.get("noise")
    if noise is not None and not _are_numbers([noise], LARGEST):
        raise UserError(f"{path}: noise {str(noise)[:40]!r} in the provenance is not a number from 0; measure it again")
    _check_answer_model(path, provenance)
    return Matrix(margin, answer.astype(np.uint8), provenance)


def _check_answer_model(path: Path, provenance: Mapping[str, Any]) -> None:
    curve, again = provenance.get("flip_curve"), "record it again with 'wilkins oracle compare --write-noise'"
    if curve is not None:
        columns: list[Any] = [curve.get(key) if isinstance(curve, dict) else None for key in ("margin", "probability")]
        if not all(map(_are_numbers, columns, (LARGEST, 1.0))) or len(columns[0]) != len(columns[1]):
            raise UserError(f"{path}: flip_curve in the provenance is no list of margins and probabilities; {again}")
        margin, probability = np.array(columns, float)
        if not ((np.diff(margin) > 0).all() and (np.diff(probability) <= 0).all()):
            raise UserError(f"{path}: flip_curve in the provenance does not fall along ascending margins; {again}")
    model = provenance.get("answer_model")
    if model not in (None, "gaussian", "measured") or (model == "measured" and curve is None):
        raise UserError(
            f"{path}: answer_model {str(model)[:40]!r} in the provenance is not gaussian, nor measured with a "
            f"flip_curve; {again}"
        )


def _are_numbers(values: Any, most: float) -> bool:
    """Whether `values` is a list of at least one number from 0 to `most`; NaN, infinities and bools are none."""
    if not isinstance(values, list) or not values:
        return False
    return all(type(value) in (int, float) and 0 <= value <= most for value in values)


def read_table(path: Path, animals: Pool, questions: Pool) -> Matrix:
    """Matrix of a table made elsewhere: `matrix.npz`, `.npy`, `.npz` with one 2-D array, or `.csv`.

    Values are 0/1, booleans, yes/no (CSV) or real margins; empty cells and NaN are not measured. A CSV
    may carry a header row of questions and an index column of animals, then matched by name.
    Raises UserError that says which shape, name or value does not fit.
    """
    raw = read_bytes(path, "the table")
    kind = path.suffix.lower()
    if kind == ".csv":
        values = _read_csv(path, raw, animals, questions)
    elif kind == ".npy":
        values = _read_npy(path, raw)
    elif kind == ".npz":
        arrays = _read_npz(path, raw)
        if {"margin", "answer", "provenance"} <= set(arrays):
            return load_matrix(path, animals, questions)
        tables = {name: array for name, array in arrays.items() if array.ndim == 2}
        if len(tables) != 1:
            raise UserError(f"{path}: needs exactly one 2-D array, found {sorted(tables) or sorted(arrays) or 'none'}")
        values = next(iter(tables.values()))
    else:
        raise UserError(f"{path}: unknown kind of table {path.suffix!r}; give .npy, .npz or .csv")
    shape = (len(animals), len(questions))
    if values.shape != shape:
        turned = "; it fits when transposed" if values.shape == shape[::-1] else ""
        raise UserError(f"{path}: shape {values.shape} does not fit {shape[0]} animals x {shape[1]} questions{turned}")
    if values.dtype.kind not in "biuf":
        raise UserError(f"{path}: values of type {values.dtype}; give 0/1, booleans or real margins")
    values = _single(values)
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise UserError(f"{path}: animal {row}, question {column} is infinite or far too large; margins are small")
    known = values[~np.isnan(values)]
    if known.size == 0:
        raise UserError(f"{path}: no measured value in the table")
    bits = bool(np.isin(known, (0.0, 1.0)).all())
    margin = np.where(np.isnan(values), np.float32(np.nan), (2 * values - 1) * CERTAIN) if bits else values
    provenance = {
        "model": "imported",
        "source": path.name,
        "values": "bits" if bits else "margins",
        "animals_sha256": animals.sha256,
        "questions_sha256": questions.sha256,
    }
    return Matrix(margin.astype(np.float32), (margin > 0).astype(np.uint8), provenance)


def with_provenance(matrix: Matrix, **entries: Any) -> Matrix:
    """The same matrix with entries of its provenance added or replaced."""
    return replace(matrix, provenance={**matrix.provenance, **entries})


def _read_npy(path: Path, raw: bytes) -> np.ndarray:
    try:
        array = np.load(io.BytesIO(raw), allow_pickle=False)
    except Exception as error:
        # A damaged header reaches the tokenizer, ast, zlib and more: their errors share no narrower class.
        raise UserError(f"{path}: not a readable NumPy file: {_first_line(error)}") from None
    if not isinstance(array, np.ndarray):
        raise UserError(f"{path}: an archive with the name of a single array; rename it to .npz")
    return array


def _read_npz(path: Path, raw: bytes) -> dict[str, np.ndarray]:
    try:
        archive = np.load(io.BytesIO(raw), allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise UserError(f"{path}: a single array with the name of an archive; rename it to .npy")
        with archive:
            unpacked = sum(member.file_size for member in archive.zip.infolist())
            if unpacked > LARGEST_BYTES:
                raise UserError(f"{path}: unpacks to {unpacked:,} bytes, more than a matrix can have")
            return {name: archive[name] for name in archive.files}
    except UserError:
        raise
    except Exception as error:
        # As above; zipfile adds its own for encryption, methods and versions that it does not know.
        raise UserError(f"{path}: not a readable NumPy archive: {_first_line(error)}") from None


def _single(values: np.ndarray) -> np.ndarray:
    """`values` as float32; what is too large becomes infinite, for the caller to refuse."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


_WORDS = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0, "": np.nan, "nan": np.nan}


def _cell(text: str) -> float | None:
    word = text.strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    try:
        return float(word)
    except ValueError:
        return None


def _are_names(cells: Sequence[str], pool: Pool) -> bool:
    """Whether the cells of a row or column name things, be it with errors, rather than hold values."""
    # An animal may be called "no", and one cell among values may hold a typing error.
    texts = [text for text in cells if _cell(text) is None]
    return 2 * len(texts) > len(cells) or any(text.strip().lower() in pool.names for text in texts)


def _read_csv(path: Path, raw: bytes, animals: Pool, questions: Pool) -> np.ndarray:
    """Table of a CSV, float64 [rows, columns], brought into pool order where names are given."""
    try:
        rows = [row for row in csv.reader(io.StringIO(decode(raw, path), newline="")) if row]
    except csv.Error as error:
        raise UserError(f"{path}: not CSV: {error}") from None
    if not rows:
        raise UserError(f"{path}: the table is empty")
    has_header = _are_names(rows[0][1:] or rows[0], questions)
    body = rows[1:] if has_header else rows
    has_index = _are_names([row[0] for row in body], animals)
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise UserError(f"{path}: row {number} has {len(row)} cells, the first row {width}")
    values = np.empty((len(body), width - has_index))
    for number, row in enumerate(body, start=1 + has_header):
        for column, text in enumerate(row[has_index:]):
            value = _cell(text)
            if value is None:
                raise UserError(
                    f"{path}: row {number}, column {column + 1 + has_index}: {text[:80]!r} is no answer or margin"
                )
            values[number - 1 - has_header, column] = value
    if has_index:
        values = values[_order(path, "row", [row[0] for row in body], animals)]
    if has_header:
        values = values[:, _order(path, "column", rows[0][has_index:], questions)]
    return values


def _order(path: Path, axis: str, names: Sequence[str], pool: Pool) -> list[int]:
    """Positions in `names` of the pool's names, in pool order; duplicates are used in their order."""
    places: dict[str, list[int]] = {}
    for position, text in enumerate(names):
        name = text.strip().lower()
        pool.find(name, where=f"{path}: {axis} name")
        places.setdefault(name, []).append(position)
    order = []
    for name in pool.names:
        if not places.get(name):
            raise UserError(f"{path}: no {axis} named {name!r}, which is in the {pool.kind} pool")
        order.append(places[name].pop(0))
    left = next((name for name, positions in places.items() if positions), None)
    if left is not None:
        raise UserError(f"{path}: more than one {axis} named {left!r}")
    return order

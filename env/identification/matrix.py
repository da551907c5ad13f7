"""The oracle matrix: margins, answers, provenance; and its file. No games, no models."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from env.errors import UserError, first_line
from env.files import read_bytes, whole_file
from env.identification.pools import Pool

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

    @property
    def imported(self) -> bool:
        """Whether the answers come from a table made elsewhere: what is missing there cannot be measured here."""
        return "imported" in self.provenance

    @property
    def missing_rate(self) -> np.ndarray:
        """P(yes) of an answer that is missing, float64 [questions]: as often as the others', unless told otherwise."""
        told = self.provenance.get("missing_rate")
        if told is not None:
            return np.full(self.margin.shape[1], float(told))
        known, yes = self.measured.sum(axis=0), (self.measured & (self.answer == 1)).sum(axis=0)
        return np.where(known > 0, yes / np.maximum(known, 1), 0.5)

    def signed_margin(self) -> np.ndarray:
        """Margins on their answer's side of zero, NaN where an answer is missing, float32 [animals, questions]."""
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
    arrays = read_npz(path, read_bytes(path, "the oracle matrix"))
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
        margin = single(margin)
    if margin.dtype.kind != "f" or np.isinf(margin).any() or not np.isin(answer, (0, 1)).all():
        raise UserError(f"{path}: margin must be finite real numbers (or NaN) and answer 0 or 1; the file is damaged")
    noise = provenance.get("noise")
    if noise is not None and not _are_numbers([noise], LARGEST):
        raise UserError(f"{path}: noise {str(noise)[:40]!r} in the provenance is not a number from 0; measure it again")
    rate = provenance.get("missing_rate")
    if rate is not None and not _are_numbers([rate], 1.0):
        raise UserError(f"{path}: missing_rate {str(rate)[:40]!r} in the provenance is no probability; import it again")
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


def with_provenance(matrix: Matrix, **entries: Any) -> Matrix:
    """The same matrix with entries of its provenance added or replaced."""
    return replace(matrix, provenance={**matrix.provenance, **entries})


def read_npy(path: Path, raw: bytes) -> np.ndarray:
    """Array of a `.npy` file's bytes, never a pickle. Raises UserError for a damaged one."""
    try:
        array = np.load(io.BytesIO(raw), allow_pickle=False)
    except Exception as error:
        # A damaged header reaches the tokenizer, ast, zlib and more: their errors share no narrower class.
        raise UserError(f"{path}: not a readable NumPy file: {first_line(error)}") from None
    if not isinstance(array, np.ndarray):
        raise UserError(f"{path}: an archive with the name of a single array; rename it to .npz")
    return array


def read_npz(path: Path, raw: bytes) -> dict[str, np.ndarray]:
    """Arrays of a `.npz` file's bytes, never a pickle. Raises UserError for a damaged or far too large one."""
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
        raise UserError(f"{path}: not a readable NumPy archive: {first_line(error)}") from None


def single(values: np.ndarray) -> np.ndarray:
    """`values` as float32; what is too large becomes infinite, for the caller to refuse."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)

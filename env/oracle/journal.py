"""Finished rows on disk before the matrix is: appended one by one, folded into the matrix at the end, one writer only."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from env.errors import UserError
from env.identification.matrix import Matrix

FORMAT = "wilkins oracle journal 1"

Wanted = tuple[int, str, np.ndarray]
"""What is to be measured of one animal: animal_id, its name, and question_ids int64 [pairs]."""


@dataclass(frozen=True)
class Row:
    """What was measured of one animal."""

    animal_id: int
    question_ids: np.ndarray
    """int64 [pairs]."""
    margin: np.ndarray
    """float32 [pairs]."""
    answer: np.ndarray
    """uint8 [pairs]."""


def begun(path: Path) -> dict[str, str]:
    """What the journal at `path` says of its measurement; empty where there is no journal to read."""
    try:
        with path.open("rb") as stream:
            found = json.loads(stream.readline())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class Journal:
    """Rows of one measurement, a JSON line each, below a line that says what measures them.

    A line counts when it is whole: whatever a kill or a full disk leaves of the last one is cut off
    at the next start.
    """

    def __init__(self, path: Path, identity: Mapping[str, str], shape: tuple[int, int]):
        """Open or begin the journal at `path`; raises UserError for one of another measurement or a damaged one."""
        self.path = path
        self.shape = shape
        self.rows: dict[int, Row] = {}
        header = json.dumps({"format": FORMAT, **identity}, sort_keys=True)
        try:
            # Unbuffered: after a failed write nothing is left that closing would try again.
            self._stream = path.open("a+b", buffering=0)
            self._stream.seek(0)
            content = self._stream.read()
        except OSError as error:
            raise UserError(f"cannot open {path}: {error.strerror or error}") from None
        lines = content.splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):
            lines.pop()
        if lines:
            self._check_header(lines[0], json.loads(header))
        whole = len(lines[0]) if lines else 0
        for number, line in enumerate(lines[1:], start=2):
            row = _parse(line, shape)
            if row is None and number < len(lines):
                raise UserError(f"{path}: line {number} is damaged; delete that line, its row is then measured again")
            if row is None:
                break
            self._take(row)
            whole += len(line)
        self._stream.truncate(whole)
        if not lines:
            self._write(f"{header}\n".encode())

    def _check_header(self, line: bytes, wanted: Mapping[str, str]) -> None:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise UserError(f"{self.path}: not a journal of this command; move it away to begin a new one")
        found = {"prompt": "animals", **found}  # journals from before there was a choice
        for key, value in wanted.items():
            if found.get(key) != value:
                raise UserError(
                    f"{self.path}: rows of another measurement: {key} is {found.get(key)}, now {value}; "
                    f"finish it with those settings, or delete the file to drop its rows"
                )

    def _take(self, row: Row) -> None:
        before = self.rows.get(row.animal_id)
        if before is not None:
            fresh = ~np.isin(before.question_ids, row.question_ids)
            row = Row(
                row.animal_id,
                np.concatenate([before.question_ids[fresh], row.question_ids]),
                np.concatenate([before.margin[fresh], row.margin]),
                np.concatenate([before.answer[fresh], row.answer]),
            )
        self.rows[row.animal_id] = row

    def append(self, row: Row) -> None:
        """Put a finished row on the disk; raises UserError when that fails, the rows before it stay."""
        line = {
            "animal_id": int(row.animal_id),
            "question_ids": row.question_ids.tolist(),
            "margin": row.margin.astype(np.float64).tolist(),
            "answer": row.answer.tolist(),
        }
        self._write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self._take(row)

    def _write(self, line: bytes) -> None:
        try:
            while line:
                line = line[self._stream.write(line) :]
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise UserError(
                f"cannot write {self.path}: {error.strerror or error}; {len(self.rows)} finished rows are safe, "
                f"free space and run the same command again"
            ) from None

    def fold(self, matrix: Matrix) -> Matrix:
        """`matrix` with the journal's rows in it; the journal itself stays until `remove`."""
        margin, answer = matrix.margin.copy(), matrix.answer.copy()
        for row in self.rows.values():
            margin[row.animal_id, row.question_ids] = row.margin
            answer[row.animal_id, row.question_ids] = row.answer
        return Matrix(margin, answer, matrix.provenance)

    def close(self) -> None:
        """Let go of the file."""
        self._stream.close()

    def remove(self) -> None:
        """Delete the journal, once its rows are in the matrix."""
        self.close()
        self.path.unlink(missing_ok=True)


def _parse(line: bytes, shape: tuple[int, int]) -> Row | None:
    """The row of a line; None for anything that is not a row of a matrix of this shape."""
    try:
        found: dict[str, Any] = json.loads(line)
        animal_id = found["animal_id"]
        question_ids = np.array(found["question_ids"])
        with np.errstate(over="ignore"):
            margin = np.array(found["margin"], np.float32)
        answer = np.array(found["answer"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    fits = (
        type(animal_id) is int
        and 0 <= animal_id < shape[0]
        and question_ids.dtype.kind == "i"
        and answer.dtype.kind == "i"
        and question_ids.ndim == 1
        and question_ids.shape == margin.shape == answer.shape
        and bool(((question_ids >= 0) & (question_ids < shape[1])).all())
        and bool(np.isfinite(margin).all() and np.isin(answer, (0, 1)).all())
    )
    return Row(animal_id, question_ids.astype(np.int64), margin, answer.astype(np.uint8)) if fits else None

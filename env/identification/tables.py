"""Answer tables as people have them: text, spreadsheets and arrays, their cells read and brought into pool order."""

from __future__ import annotations

import csv
import importlib.util
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from env.errors import UserError
from env.files import read_bytes
from env.identification.encoding import Reading, margins
from env.identification.matrix import Matrix, load_matrix, read_npy, read_npz, single
from env.identification.pools import Pool, decode

YES = (
    "yes",
    "y",
    "true",
    "t",
    "ja",
    "wahr",
    "oui",
    "vrai",
    "sí",
    "si",
    "sì",
    "verdadero",
    "vero",
    "sim",
    "da",
    "adevărat",
)
NO = ("no", "n", "false", "f", "nein", "falsch", "non", "faux", "falso", "não", "nu", "fals")
"""What R, pandas and spreadsheets write for the two answers, some of them in the language of their user."""
TIE = ("tie", "either", "maybe", "unsure")
"""An answer that goes either way: a margin of zero."""
MISSING = (
    "", "na", "n/a", "nan", "-nan", "null", "none", "nil", "nat", "<na>", "missing", "?", "-", ".",
    "#n/a", "#n/a n/a", "#na", "#value!", "#ref!", "#div/0!", "#null!", "#name?", "#num!", "1.#ind", "-1.#ind",
    "1.#qnan", "-1.#qnan",
)  # fmt: skip
"""What R, pandas and spreadsheets write where there is no value."""

FRAMES = (".xlsx", ".parquet")
NAMED = (".csv", ".tsv", ".tab", ".txt", *FRAMES)
"""Kinds of files that may carry names: read with pandas, and all of them."""

_WORDS = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0), **dict.fromkeys(TIE, 0.5)}
_MISSING = frozenset(MISSING)
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)


@dataclass
class _Grid:
    """Cells of a table with what names its rows and columns."""

    path: Path
    cells: list[list[str]]
    rows: list[str] | None = None
    columns: list[str] | None = None
    first_row: int = 1
    """Line of the first row of cells, as the file counts them."""
    notes: list[str] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Number of columns of cells."""
        return len(self.cells[0]) if self.cells else len(self.columns or ())


def read_table(
    path: Path, animals: Pool, questions: Pool, reading: Reading = Reading(), optional: frozenset[str] = frozenset()
) -> Matrix:
    """Matrix of a table made elsewhere, with how it was read in its provenance (`values`, `reading`).

    The table is another `matrix.npz`, `.npy`, `.npz` with one 2-D array, text with any of the usual separators
    (`.csv`, `.tsv`, `.txt`), `.xlsx` or `.parquet`. Text may carry a header row of questions and an index
    column of animals, which are then matched by name; questions in `optional` may lack a column. Raises UserError that says which shape, name, column or
    value does not fit, and which flag settles it.
    """
    raw = read_bytes(path, "the table")
    kind = path.suffix.lower()
    notes: list[str] = []
    if kind in (".npy", ".npz"):
        array = _array(path, raw, animals, questions)
        if isinstance(array, Matrix):
            return array
        values, words = _numbers(path, array, animals, questions, reading)
    elif kind in NAMED:
        grid = _frame(path, raw, kind) if kind in FRAMES else _text(path, raw, animals, questions)
        values, words = _in_pool_order(grid, animals, questions, reading, optional)
        notes = grid.notes
    else:
        raise UserError(
            f"{path}: unknown kind of table {path.suffix!r}; give .csv, .tsv, .xlsx, .parquet, .npy or .npz"
        )
    shape = (len(animals), len(questions))
    if values.shape != shape:
        turned = "; it fits when transposed" if values.shape == shape[::-1] else ""
        raise UserError(
            f"{path}: shape {values.shape} does not fit {shape[0]} {animals.kind} x {shape[1]} questions{turned}"
        )
    values = single(values).astype(np.float64)
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise UserError(f"{path}: animal {row}, question {column} is infinite or far too large; margins are small")
    if np.isnan(values).all():
        raise UserError(f"{path}: no measured value in the table")
    margin, encoded, said = margins(path, values, words, questions, reading)
    provenance = {
        "model": "imported",
        "source": path.name,
        "values": encoded,
        "reading": [*notes, said],
        f"{animals.kind}_sha256": animals.sha256,
        "questions_sha256": questions.sha256,
    }
    return Matrix(margin.astype(np.float32), (margin > 0).astype(np.uint8), provenance)


def names_of_table(path: Path, reading: Reading = Reading()) -> tuple[list[str], list[str]]:
    """Animals and questions that a table names, normalised: its index column and its header without what is no question.

    Raises UserError for a table that names neither, and for a repeated animal or question.
    """
    kind = path.suffix.lower()
    if kind not in NAMED:
        raise UserError(f"{path}: names are needed to make pools; give a table with a header row and an index column")
    raw = read_bytes(path, "the table")
    if kind in FRAMES:
        grid = _frame(path, raw, kind)
    else:
        grid = _labelled(path, _rows(path, raw)[0])
    for what, names in (("header row of questions", grid.columns or []), ("first column of animals", grid.rows or [])):
        unnamed = next((name for name in names if _is_value(name)), None)
        if not names or unnamed is not None:
            raise UserError(
                f"{path}: no {what} to make a pool of"
                + (f": {unnamed[:40]!r} is no name" if unnamed is not None else "")
            )
    _leave_out(grid, _dropped(grid, reading))
    words = [place for place in range(grid.width) if _is_text(grid, place, reading)]
    for place in words:
        held = sorted({row[place].strip() for row in grid.cells if row[place].strip().lower() not in _MISSING})
        if len(held) == 2:  # more are a class or a remark
            raise UserError(
                f"{path}: column {(grid.columns or [])[place][:60]!r} holds only {held[0][:40]!r} and {held[1][:40]!r}: "
                "answers? say which with --yes and --no, or leave it out with --drop-column"
            )
    _leave_out(grid, set(words))
    animals, questions = ([name.strip().lower() for name in names or []] for names in (grid.rows, grid.columns))
    if not questions:
        raise UserError(f"{path}: no column of answers")
    for axis, names, or_else in (("row", animals, ""), ("column", questions, ", or leave it out by --drop-column")):
        repeated = next((name for name, count in Counter(names).items() if count > 1), None)
        if repeated is not None:
            raise UserError(f"{path}: more than one {axis} named {repeated[:60]!r}; rename one{or_else}")
    return animals, questions


# From files to cells


def _array(path: Path, raw: bytes, animals: Pool, questions: Pool) -> np.ndarray | Matrix:
    if path.suffix.lower() == ".npy":
        return read_npy(path, raw)
    arrays = read_npz(path, raw)
    if {"margin", "answer", "provenance"} <= set(arrays):
        return load_matrix(path, animals, questions)
    tables = {name: array for name, array in arrays.items() if array.ndim == 2}
    if len(tables) != 1:
        raise UserError(f"{path}: needs exactly one 2-D array, found {sorted(tables) or sorted(arrays) or 'none'}")
    return next(iter(tables.values()))


def _numbers(
    path: Path, array: np.ndarray, animals: Pool, questions: Pool, reading: Reading
) -> tuple[np.ndarray, np.ndarray]:
    """Values of an array, NaN where missing, and where they were given as words: float64 and bool, [rows, columns]."""
    if array.dtype.kind not in "biuf":
        raise UserError(f"{path}: values of type {array.dtype}; give 0/1, booleans or real margins")
    if array.ndim != 2:
        raise UserError(f"{path}: shape {array.shape} does not fit; a table has two dimensions")
    values = array.astype(np.float64)
    if not (reading.yes or reading.no or reading.missing or reading.drop):
        return values, np.zeros(values.shape, bool)
    grid = _Grid(path, [["" if np.isnan(x) else repr(float(x)) for x in row] for row in values], first_row=0)
    return _in_pool_order(grid, animals, questions, reading)


def _text(path: Path, raw: bytes, animals: Pool, questions: Pool) -> _Grid:
    """Cells of a text table."""
    rows, separator = _rows(path, raw, len(questions) + 1)
    notes = [] if separator == "," else [f"separated by {_SEPARATORS[separator]}"]
    grid = _named(path, rows, animals, questions)
    grid.notes = notes
    if separator != "," and _with_decimal_commas(grid):
        notes.append("decimal commas")
    return grid


def _rows(path: Path, raw: bytes, wanted: int | None = None) -> tuple[list[list[str]], str]:
    """Rows of text, all of one length, and their separator: the one that makes even rows nearest to `wanted` cells.

    Where nothing is wanted, it is the one that makes the longest even rows.
    """
    text = decode(raw, path)
    found: dict[str, list[list[str]]] = {}
    problem = ""
    for separator in _SEPARATORS:
        if separator != "," and separator not in text:
            continue
        stream = io.StringIO(text, newline="")
        try:
            rows = [row for row in csv.reader(stream, delimiter=separator, skipinitialspace=separator == " ") if row]
        except csv.Error as error:
            problem = problem or f"{path}: not CSV: {error}"
            continue
        if separator == " ":
            rows = [[cell for cell in row if cell] for row in rows]
        found[separator] = rows

    def fit(separator: str) -> tuple[bool, int, int]:
        """How well a separator cuts the text: even rows, then a width near to what is wanted."""
        widths = Counter(len(row) for row in found[separator])
        even = len(widths) <= 1 or (len(widths) == 2 and _lacks_a_corner(found[separator]))
        width = max(widths, default=0)
        off = -width if wanted is None else min(abs(width - wanted), abs(width - wanted + 1))
        return (not even or width == 1, off, list(_SEPARATORS).index(separator))

    if not found:
        raise UserError(problem)
    separator = min(found, key=fit)
    rows = found[separator]
    if not rows:
        raise UserError(problem or f"{path}: the table is empty")
    if _lacks_a_corner(rows):
        rows[0] = ["", *rows[0]]
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise UserError(f"{path}: row {number} has {len(row)} cells, the first row {width}")
    return rows, separator


def _lacks_a_corner(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the header is one cell short, as R writes it above row names."""
    return len(rows) > 1 and {len(row) for row in rows[1:]} == {len(rows[0]) + 1}


def _with_decimal_commas(grid: _Grid) -> bool:
    """Turn decimal commas into points; refuses a table with both."""
    commas = [
        (r, c)
        for r, row in enumerate(grid.cells)
        for c, cell in enumerate(row)
        if _DECIMAL_COMMA.fullmatch(cell.strip())
    ]
    if not commas:
        return False
    for row in grid.cells:
        for cell in row:
            if "." in cell and _number(cell.strip()) is not None:
                raise UserError(
                    f"{grid.path}: decimal points ({cell.strip()!r}) and decimal commas in one table; use one of them"
                )
    for r, c in commas:
        grid.cells[r][c] = grid.cells[r][c].replace(",", ".")
    return True


def _named(path: Path, rows: list[list[str]], animals: Pool, questions: Pool) -> _Grid:
    """Rows of text with header and index taken off, where there are any."""
    has_header = _are_names(rows[0][1:] or rows[0], questions)
    body = rows[1:] if has_header else rows
    has_index = _are_names([row[0] for row in body], animals)
    return _Grid(
        path,
        [row[has_index:] for row in body],
        [row[0] for row in body] if has_index else None,
        rows[0][has_index:] if has_header else None,
        1 + has_header,
    )


def _are_names(cells: Sequence[str], pool: Pool) -> bool:
    """Whether the cells of a row or column name things, be it with errors, rather than hold values."""
    # An animal may be called "no", and one cell among values may hold a typing error.
    texts = [text for text in cells if not _is_value(text)]
    return 2 * len(texts) > len(cells) or any(text.strip().lower() in pool.names for text in texts)


def _is_value(text: str) -> bool:
    word = text.strip().lower()
    return word in _WORDS or word in _MISSING or _number(word) is not None or bool(_DECIMAL_COMMA.fullmatch(word))


def _frame(path: Path, raw: bytes, kind: str) -> _Grid:
    """Cells of a spreadsheet's first sheet or of a Parquet file; names as the file has them."""
    engine = {".xlsx": "openpyxl", ".parquet": "pyarrow"}[kind]
    missing = [name for name in ("pandas", engine) if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f"{path}: reading {kind} needs {' and '.join(missing)}: pip install 'wilkins[tables]'")
    import pandas

    try:
        if kind == ".xlsx":
            frame = pandas.read_excel(io.BytesIO(raw), header=None, dtype=object, engine=engine, keep_default_na=False)
            rows = [[_cell_text(value) for value in row] for row in frame.itertuples(index=False)]
        else:
            frame = pandas.read_parquet(io.BytesIO(raw), engine=engine)
            if not isinstance(frame.index, pandas.RangeIndex):
                frame = frame.reset_index()
            rows = [[str(name) for name in frame.columns]]
            rows += [[_cell_text(value) for value in row] for row in frame.itertuples(index=False)]
    except Exception as error:  # zip, XML and Arrow each raise their own
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise UserError(f"{path}: not a readable {kind} file: {reason}") from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if len(rows) < 2:
        raise UserError(f"{path}: the table is empty")
    return _labelled(path, rows)


def _labelled(path: Path, rows: list[list[str]]) -> _Grid:
    """Rows of which the first holds the names of the columns, and the first cell of each other one its own."""
    return _Grid(path, [row[1:] for row in rows[1:]], [row[0] for row in rows[1:]], rows[0][1:], 2)


def _cell_text(value: Any) -> str:
    """A spreadsheet's value as text; whatever stands for a missing one is empty."""
    return "" if value is None or value != value or str(value) in ("<NA>", "NaT") else str(value)


# From cells to values in pool order


def _in_pool_order(
    grid: _Grid, animals: Pool, questions: Pool, reading: Reading, optional: frozenset[str] = frozenset()
) -> tuple[np.ndarray, np.ndarray]:
    left_out = _leave_out_columns(grid, questions, reading, optional) | optional
    values, words = _read_cells(grid, reading)
    if grid.rows is not None:
        order = _order(grid.path, "row", grid.rows, animals, frozenset())
        values, words = values[order], words[order]
    if grid.columns is not None:
        order = _order(grid.path, "column", grid.columns, questions, left_out)
        # A question that was left out has no answers: a column of its own behind the others.
        values = np.hstack([values, np.full((len(values), 1), np.nan)])[:, order]
        words = np.hstack([words, np.zeros((len(words), 1), bool)])[:, order]
    return values, words


def _leave_out_columns(grid: _Grid, questions: Pool, reading: Reading, optional: frozenset[str]) -> frozenset[str]:
    """Take out the columns that the user drops, and those that are no question where all questions are there.

    Returns the names of what was taken out.
    """
    dropped = _dropped(grid, reading)
    names = [name.strip().lower() for name in grid.columns or [""] * grid.width]
    if grid.columns is not None:
        pool = set(questions.names)
        kept = {name for place, name in enumerate(names) if place not in dropped}
        expected = pool - optional - {names[place] for place in dropped}
        others = [place for place, name in enumerate(names) if name not in pool and place not in dropped]
        if others and expected <= kept:
            shown = ", ".join(repr(grid.columns[place].strip()[:40]) for place in others[:5])
            more = f" and {len(others) - 5} more" if len(others) > 5 else ""
            grid.notes.append(f"no question, left out: {shown}{more}")
            dropped.update(others)
    if dropped and grid.columns is None and grid.width == len(questions):  # each column is a question
        grid.cells = [["" if place in dropped else cell for place, cell in enumerate(row)] for row in grid.cells]
    else:
        _leave_out(grid, dropped)
    return frozenset(names[place] for place in dropped)


def _dropped(grid: _Grid, reading: Reading) -> set[int]:
    """Places of the columns that the user drops; raises UserError for one that is not there."""
    dropped: set[int] = set()
    names = [name.strip().lower() for name in grid.columns or [""] * grid.width]
    for wanted in reading.drop:
        places = [place for place, name in enumerate(names) if name and name == wanted.strip().lower()]
        if not places and wanted.strip().isdecimal() and 1 <= int(wanted) - (grid.rows is not None) <= grid.width:
            places = [int(wanted) - 1 - (grid.rows is not None)]
        if not places:
            raise UserError(
                f"{grid.path}: --drop-column {wanted!r}: no such column; give its name, or its number from 1"
            )
        dropped.update(places)
    return dropped


def _leave_out(grid: _Grid, places: set[int]) -> None:
    """Take these columns out of the grid."""
    if not places:
        return
    keep = [place for place in range(grid.width) if place not in places]
    grid.cells = [[row[place] for place in keep] for row in grid.cells]
    if grid.columns is not None:
        grid.columns = [grid.columns[place] for place in keep]


def _is_text(grid: _Grid, place: int, reading: Reading) -> bool:
    """Whether most cells of a column are words that are no answer: a class or a remark, no question."""
    own = _spellings((*reading.yes, *reading.no, *reading.missing))
    cells = [row[place] for row in grid.cells]
    return 2 * sum(not _is_value(text) and text.strip().lower() not in own for text in cells) > len(cells)


def _read_cells(grid: _Grid, reading: Reading) -> tuple[np.ndarray, np.ndarray]:
    """Values of the cells, NaN where missing, and where they were words: float64 and bool, [rows, columns]."""
    width = grid.width
    values = np.full((len(grid.cells), width), np.nan)
    words = np.zeros(values.shape, bool)
    missing, yes, no = (_spellings(given) for given in (reading.missing, reading.yes, reading.no))
    own = bool(yes or no)
    for r, row in enumerate(grid.cells):
        for c, text in enumerate(row):
            word = text.strip().lower()
            number = _number(word)
            key = word if number is None else number
            if key in missing or (word in _MISSING and key not in yes and key not in no):
                continue
            if own:
                if key not in yes and key not in no:
                    raise UserError(
                        f"{_place(grid, r, c)}: {text[:80]!r} is neither --yes {', '.join(reading.yes) or '(not given)'} "
                        f"nor --no {', '.join(reading.no) or '(not given)'}; add it there, or to --missing"
                    )
                values[r, c], words[r, c] = float(key in yes), True
            elif word in _WORDS:
                values[r, c], words[r, c] = _WORDS[word], True
            elif number is None:
                raise UserError(
                    f"{_place(grid, r, c)}: {text[:80]!r} is no answer or margin; --missing, --yes and --no take other spellings"
                )
            else:
                values[r, c] = number
    return values, words


def _place(grid: _Grid, row: int, column: int) -> str:
    return f"{grid.path}: row {row + grid.first_row}, column {column + 1 + (grid.rows is not None)}"


def _spellings(given: Iterable[str]) -> frozenset[str | float]:
    """Spellings as cells are compared with them: numbers by value, words without case."""
    words = [text.strip().lower() for text in given]
    return frozenset(word if _number(word) is None else _number(word) for word in words)  # type: ignore[misc]


def _number(word: str) -> float | None:
    try:
        return float(word) if "_" not in word and word not in ("nan", "-nan", "+nan") else None
    except ValueError:
        return None


def _order(path: Path, axis: str, names: Sequence[str], pool: Pool, left_out: frozenset[str]) -> list[int]:
    """Positions in `names` of the pool's names, in pool order, -1 for those left out; duplicates in their order."""
    places: dict[str, list[int]] = {}
    for position, text in enumerate(names):
        name = text.strip().lower()
        pool.find(name, where=f"{path}: {axis} name")
        places.setdefault(name, []).append(position)
    order = []
    for name in pool.names:
        if name in left_out and not places.get(name):
            order.append(-1)
            continue
        if not places.get(name):
            raise UserError(f"{path}: no {axis} named {name!r}, which is in the {pool.kind} pool")
        order.append(places[name].pop(0))
    left = next((name for name, positions in places.items() if positions), None)
    if left is not None:
        raise UserError(f"{path}: more than one {axis} named {left!r}")
    return order

"""The pools and the splits: reading, normalising, identifying. Knows nothing of matrices or games."""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from env.errors import PackageWarning, UserError
from env.files import read_bytes

ANIMALS_SHA256 = "87eb93cc5d2a238a38daaeb201c394db935153cc17b03a44a7642f0db9ff35dc"
QUESTIONS_SHA256 = "d2bd060866382f3dd1329112e73fbd6bf2397352d02469434b7b3d199bd2ca62"
OFFICIAL = {"animals": (1472, ANIMALS_SHA256), "questions": (559, QUESTIONS_SHA256)}
"""Size and published digest of each official list."""


@dataclass(frozen=True)
class Pool:
    """A list of normalised names; an identifier is the zero-based position in it."""

    kind: str
    """`animals`, `keywords` or `questions`."""
    names: tuple[str, ...]
    sha256: str
    """The published digest where the bytes give it, else the digest of the normalised lines."""
    _first: dict[str, int] = field(repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def official(self) -> bool:
        """Whether this is the list that the platform scores."""
        return self.kind in OFFICIAL and self.sha256 == OFFICIAL[self.kind][1]

    def find(self, name: str, where: str = "") -> int:
        """Identifier of `name` (normalised first; the first position of a duplicate).

        Raises UserError with the nearest names when there is none; `where` says where it was read.
        """
        wanted = name.strip().lower()
        if wanted in self._first:
            return self._first[wanted]
        near = difflib.get_close_matches(wanted, self.names, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise UserError(f"{where or 'unknown name'}: {name[:80]!r} is not in the {self.kind} pool{hint}")


def normalise(text: str) -> tuple[str, ...]:
    """Lines of `text` as the official loader reads them: stripped, lower-cased, empty ones dropped."""
    return tuple(line for line in (raw.strip().lower() for raw in text.splitlines()) if line)


def digest(names: Sequence[str]) -> str:
    """SHA-256 of the normalised lines joined by a newline, with a last newline."""
    return hashlib.sha256(("\n".join(names) + "\n").encode()).hexdigest()


def candidate_digests(raw: bytes, names: Sequence[str]) -> dict[str, str]:
    """Digests of the byte forms that the published ones may have been taken of, by form."""
    joined = "\n".join(names)
    forms = {"lines with a last newline": f"{joined}\n".encode(), "lines": joined.encode(), "raw file": raw}
    return {form: hashlib.sha256(content).hexdigest() for form, content in forms.items()}


def make_pool(kind: str, names: Sequence[str], raw: bytes = b"", where: str = "") -> Pool:
    """Pool of already normalised `names`; `raw` are the file's bytes, one form that may be official."""
    if not names:
        raise UserError(f"{where or kind}: the {kind} pool is empty; it needs one name a line")
    first: dict[str, int] = {}
    repeated = [name for position, name in enumerate(names) if first.setdefault(name, position) != position]
    if repeated:
        warnings.warn(
            PackageWarning(
                f"{where or kind}: {len(repeated)} duplicate line(s), the first is {repeated[0]!r}; they keep their place"
            ),
            stacklevel=2,
        )
    size, published = OFFICIAL.get(kind, (0, ""))
    forms = candidate_digests(raw, names)
    if published in forms.values():
        sha256 = published
    else:
        sha256 = digest(names)
        if len(names) == size:
            tried = ", ".join(f"{form} {value}" for form, value in forms.items())
            warnings.warn(
                PackageWarning(
                    f"{where or kind}: {size} {kind} but not the official list, the platform would refuse the archive: "
                    f"published {published}; found {tried}"
                ),
                stacklevel=2,
            )
    return Pool(kind, tuple(names), sha256, first)


def read_pool(path: Path, kind: str) -> Pool:
    """Pool of a text file, one name a line, UTF-8 with or without a byte-order mark.

    Warns of duplicate lines and of a list that has the official size but not its digest.
    Raises UserError for a missing, unreadable, non-UTF-8 or empty file.
    """
    raw = read_bytes(path, f"the {kind} pool")
    return make_pool(kind, normalise(decode(raw, path)), raw, where=str(path))


def decode(raw: bytes, path: Path) -> str:
    """Text of UTF-8 bytes, a byte-order mark dropped; raises UserError that names the first bad line."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1  # not `raw`: a byte-order mark would shift it
        raise UserError(
            f"{path}: line {line} is not UTF-8 (byte {error.object[error.start]:#x}); save the file as UTF-8"
        ) from None


def read_split(path: Path, animals: Pool) -> np.ndarray:
    """Animal identifiers of a CSV with a column `animal` (`keyword` for those), int64 [rounds], in file order.

    Raises UserError for a missing column, an unknown or repeated animal (with its line), or no rows.
    """
    text = decode(read_bytes(path, f"the {path.stem} split"), path)
    column = animals.kind.removesuffix("s")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        if column not in [name.strip().lower() for name in rows.fieldnames or []]:
            found_instead = str(rows.fieldnames)[:80] if rows.fieldnames else "an empty file"
            raise UserError(f"{path}: no column {column!r} in the first line; found {found_instead}")
        rows.fieldnames = [name.strip().lower() for name in rows.fieldnames or []]
        found: dict[int, int] = {}
        for row in rows:
            name = row[column] or ""
            if not name.strip():
                continue
            animal_id = animals.find(name, where=f"{path}: line {rows.line_num}")
            if animal_id in found:
                raise UserError(
                    f"{path}: line {rows.line_num}: {name[:80]!r} stands already on line {found[animal_id]}"
                )
            found[animal_id] = rows.line_num
    except csv.Error as error:
        raise UserError(f"{path}: line {rows.line_num} is not CSV: {error}") from None
    if not found:
        raise UserError(f"{path}: no animals below the header; a split needs at least one")
    return np.fromiter(found, dtype=np.int64)

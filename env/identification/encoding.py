"""How the answers of a table are encoded: found out by column and as a whole, and said; read as margins.

What could mean two things is refused, with the column's name and the flags that settle it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from env.errors import UserError
from env.identification.matrix import CERTAIN
from env.identification.pools import Pool

Encoding = Literal["auto", "bits", "margins", "probabilities", "percentages"]


@dataclass(frozen=True)
class Reading:
    """How to read a table, where the table itself leaves it open."""

    encoding: Encoding = "auto"
    yes: tuple[str, ...] = ()
    """Cells that mean yes; with `no`, nothing else but a missing answer may stand in the table."""
    no: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Cells that mean that there is no answer, besides `MISSING`."""
    threshold: float | None = None
    """Numbers above it are a yes, all others a no."""
    drop: tuple[str, ...] = ()
    """Columns, by name or by their number from 1, that are left out; a question among them has no answers."""


def margins(
    path: Path, values: np.ndarray, words: np.ndarray, questions: Pool, reading: Reading
) -> tuple[np.ndarray, str, str]:
    """Margins float64 [animals, questions], the encoding's name, and the line that says how answers were read.

    `values` float64 [animals, questions] are the table's cells, NaN where missing, `words` bool of the same shape which
    of them were words. Raises UserError that names the column where an encoding does not fit or two do.
    """
    encoding: str = reading.encoding
    if reading.yes or reading.no:
        return _certain(values), "bits", f"read as --yes {', '.join(reading.yes)} and --no {', '.join(reading.no)}"
    if reading.threshold is not None:
        yes = np.where(words, values, np.where(np.isnan(values), np.nan, values > reading.threshold))
        return _certain(yes), "bits", f"read as numbers: above {reading.threshold:g} is yes"
    said = ""
    if encoding == "auto":
        encoding, said = _encoding(path, values, words, questions)
    if encoding == "coded":
        low, high = np.nanmin(values), np.nanmax(values)
        return _certain((values - low) / (high - low)), "bits", said
    limits = {"bits": (0.0, 1.0), "probabilities": (0.0, 1.0), "percentages": (0.0, 100.0)}.get(encoding)
    if limits is not None:
        outside = (values < limits[0]) | (values > limits[1])
        if encoding == "bits":
            outside |= ~words & (values > 0) & (values < 1)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise UserError(
                f"{path}: column {questions.names[column]!r} holds {values[row, column]:g} for animal {row}, which is "
                f"none of the {encoding}; choose another --encoding, or --threshold, --missing or --drop-column"
            )
    if encoding == "bits":
        return _certain(values), "bits", said or "read as bits"
    if encoding == "margins":
        return np.where(words, _certain(values), values), "margins", said or "read as margins"
    share = values / (100 if encoding == "percentages" else 1)
    with np.errstate(divide="ignore"):
        odds = np.log(share) - np.log1p(-share)
    margin = np.clip(odds, -CERTAIN, CERTAIN)
    return np.where(words, _certain(values), margin), "margins", said or f"read as {encoding}, as log-odds"


def _certain(bits: np.ndarray) -> np.ndarray:
    """Margins of answers that are only known as yes (1), no (0) or a tie (0.5)."""
    return (2 * bits - 1) * float(CERTAIN)


def _encoding(path: Path, values: np.ndarray, words: np.ndarray, questions: Pool) -> tuple[str, str]:
    """What a whole table's numbers are, and how to say it. Raises UserError where columns differ or none fits."""
    kinds = [
        _kind(values[:, c][~np.isnan(values[:, c])], words[:, c][~np.isnan(values[:, c])])
        for c in range(values.shape[1])
    ]
    found = Counter(kind for kind in kinds if kind)
    known = values[~np.isnan(values) & ~words]
    least, most = (known.min(), known.max()) if known.size else (0.0, 1.0)

    def refuse(kind: str, why: str) -> UserError:
        column = kinds.index(kind)
        held = np.unique(values[:, column][~np.isnan(values[:, column])])
        shown = ", ".join(f"{value:g}" for value in held[:4]) + (", …" if held.size > 4 else "")
        name = questions.names[column] if column < len(questions) else str(column)
        return UserError(
            f"{path}: column {name[:60]!r} holds {shown}{why}; settle it with --encoding, --threshold X (above it is "
            f"yes), --yes and --no, --missing, or --drop-column"
        )

    if set(found) <= {"words", "bits", "ones"}:
        return "bits", "read as yes/no" if not known.size else "read as bits"
    if set(found) <= {"coded", "ones"} and (least, most) == (1, 2):
        return "coded", "read as coded 1 = no, 2 = yes (else say --yes 1 --no 2)"
    if set(found) <= {"signs", "ones"} and not (known == 0).any() and (least, most) == (-1, 1):
        return "coded", "read as coded -1 = no, 1 = yes"
    if set(found) <= {"signs", "bits", "ones", "words"}:
        raise refuse(
            "signs",
            " beside 0 and 1: -1 may be a missing answer (--missing=-1), or a no with 0 for a tie (--encoding margins)",
        )
    bits = found["bits"] + found["words"] + found["ones"]
    real = found["margins"] + found["positive"]
    if least >= 0 and most <= 1:
        if found["shares"] >= bits and not found["words"]:
            return "probabilities", "read as probabilities, as log-odds margins"
        raise refuse("shares", " in a table of yes and no")
    if not found["margins"]:
        odd = next(kind for kind in ("counts", "positive", "coded", "shares") if found[kind])
        if bits >= found[odd] and bits:
            raise refuse(odd, " in a table of yes and no: a count or a measure?")
        raise refuse(
            odd, ", and no value of the table is below zero: percentages, counts, or margins that are all a yes?"
        )
    if bits + found["coded"] + found["counts"] > real + found["shares"]:
        raise refuse("margins", " in a table of yes and no")
    for kind in ("words", "bits", "coded", "counts", "signs"):
        if found[kind]:
            raise refuse(kind, " in a table of margins")
    spread = [
        c for c, kind in enumerate(kinds)
        if kind == "shares" and np.nanmin(values[:, c]) < 0.25 and np.nanmax(values[:, c]) > 0.75
    ]  # fmt: skip
    if spread:
        kinds[spread[0]] = "spread"
        raise refuse("spread", ", all from 0 to 1, in a table of margins: probabilities?")
    if most <= 0:
        raise refuse(
            "margins", ", and no value of the table is above zero: log-probabilities, or margins that are all a no?"
        )
    return "margins", "read as margins"


def _kind(known: np.ndarray, words: np.ndarray) -> str:
    """What a column's answers may be: '' where it says nothing."""
    if known.size == 0:
        return ""
    if words.all():
        return "words"
    numbers = known[~words]
    if (numbers == 1).all():
        return "ones"
    if np.isin(numbers, (0, 1)).all():
        return "bits"
    if np.isin(numbers, (1, 2)).all():
        return "coded"
    if np.isin(numbers, (-1, 0, 1)).all():
        return "signs"
    if (numbers < 0).any():
        return "margins"
    if (numbers == np.round(numbers)).all():
        return "counts"
    return "shares" if numbers.max() <= 1 else "positive"

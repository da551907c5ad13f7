"""Builds the index that queries are answered from: flat arrays in one file, from training data alone. Needs numpy.

Runs inside a submission as `prepare.py` does, so it imports only what travels with it: env.errors, env.files, tracing.formats.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import time
from pathlib import Path
from typing import Any

from env.errors import UserError
from env.files import whole_file
from tracing.formats import Losses, Record, read_losses, read_pieces, read_records
from tracing.query import END, INDEX, MAGIC, NONE, STEPS, WORD, plain
from tracing.query import SECTIONS as _KINDS
from tracing.swaps import swaps

try:
    import numpy as np
except ImportError:
    raise UserError("prepare needs numpy; install it for python3, or set PYTHON to one that has it") from None

ALTERNATIVES = 5
"""Words that are looked at where the probe was surprised."""


def build(data: Path, model: Path, index: Path, threads: int = 1) -> dict[str, int]:
    """Write INDEX/index.bin from DATA/train.jsonl, DATA/losses.npz where it is, and MODEL/tokenizer.json; returns sizes.

    An index that stands there is removed first, so that an interrupted build leaves none. Raises UserError.
    """
    index.mkdir(parents=True, exist_ok=True)
    (index / INDEX).unlink(missing_ok=True)
    began = time.monotonic()
    records = read_records(str(data / "train.jsonl"))
    pieces = read_pieces(str(model))
    arrays, starts = _words(records)
    path = data / "losses.npz"
    losses = read_losses(str(path), len(records), len(pieces)) if path.exists() else None
    surprise, listed_at, listed, listed_losses = _surprise(records, arrays, starts, losses, pieces)
    arrays |= {"surprise": surprise} | swaps(arrays, surprise, listed_at, listed, listed_losses)
    arrays |= _context(arrays)
    arrays |= _postings(arrays)
    arrays["piece_blob"], arrays["piece_offset"] = _blob(pieces)
    arrays["id_blob"], arrays["id_offset"] = _blob([json.dumps(r.id, ensure_ascii=False).encode() for r in records])
    arrays["digest"] = np.frombuffer(fingerprint(data / "train.jsonl").encode(), np.uint8)
    del arrays["vocabulary"]
    _write(index / INDEX, arrays)
    sizes = {
        "records": len(records),
        "words": len(arrays["stream"]),
        "distinct words": len(arrays["word_offset"]) - 1,
        "bytes": (index / INDEX).stat().st_size,
    }
    print(
        ", ".join(f"{value:,} {name}" for name, value in sizes.items()),
        f"in {time.monotonic() - began:.1f} s",
        file=sys.stderr,
    )
    return sizes


def _words(records: list[Record]) -> tuple[dict[str, Any], list[list[int]]]:
    """Word ids of every record, prompt before answer, and where each answer's words start in its bytes."""
    vocabulary: dict[bytes, int] = {END: 0}
    stream: list[int] = []
    record_offset, answer_offset = [0], []
    starts = []
    for record in records:
        stream += [vocabulary.setdefault(word, len(vocabulary)) for word in WORD.findall(plain(record.prompt))]
        answer_offset.append(len(stream))
        begins = []
        for match in WORD.finditer(plain(record.answer)):
            begins.append(match.start())
            stream.append(vocabulary.setdefault(match[0], len(vocabulary)))
        starts.append(begins)
        record_offset.append(len(stream))
    words = list(vocabulary)
    blob, offset = _blob(words)
    size = 1 << max(4, (2 * len(words)).bit_length())
    table = np.full(size, -1, np.int32)
    for number, word in enumerate(words):
        slot = fnv(word) & (size - 1)
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = number
    arrays: dict[str, Any] = {
        "stream": np.array(stream, np.int32),
        "record_offset": np.array(record_offset, np.int32),
        "answer_offset": np.array(answer_offset, np.int32),
        "word_blob": blob,
        "word_offset": offset,
        "word_table": table,
        "vocabulary": vocabulary,
    }
    return arrays, starts


def fnv(word: bytes) -> int:
    """32-bit FNV-1a."""
    value = 2166136261
    for byte in word:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


def _surprise(
    records: list[Record],
    arrays: dict[str, Any],
    starts: list[list[int]],
    losses: Losses | None,
    pieces: list[bytes],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The probe's loss at each answer word, quantised; places where it was surprised, the words it would rather have seen where it was surprised."""
    stream = arrays["stream"]
    surprise = np.full(len(stream), NONE, np.uint8)
    positions: list[np.ndarray] = []
    alternatives: list[np.ndarray] = []
    alternative_losses: list[np.ndarray] = []
    if losses is not None:
        known: dict[bytes, int] = arrays["vocabulary"]
        # The word that a token begins with, where the token is that word whole; -1 where it is none.
        word_of = np.full(len(pieces), -1, np.int32)
        for number, piece in enumerate(pieces):
            found = WORD.findall(piece.lower())
            if found:
                word_of[number] = known.get(found[0], -1)
        lengths = np.array([len(piece) for piece in pieces], np.int64)
        blank = np.array([len(piece) - len(piece.lstrip()) for piece in pieces], np.int64)
        k = min(ALTERNATIVES, losses.alternative.shape[1])
        skipped = 0
        for number, record in enumerate(records):
            low, high = int(losses.offset[number]), int(losses.offset[number + 1])
            begins = starts[number]
            if high == low or not begins:
                continue
            tokens = losses.token[low:high]
            ends = np.cumsum(lengths[tokens])
            answer = record.answer.encode()
            if ends[-1] != len(answer) or b"".join([pieces[t] for t in tokens]) != answer:
                aligned = align(answer, [pieces[t] for t in tokens])
                if aligned is None:
                    skipped += 1
                    continue
                first, ends = np.array([a for a, _ in aligned]), np.array([b for _, b in aligned])
            else:
                first = ends - lengths[tokens] + blank[tokens]
            # Each token counts for the word that it begins in; a token that only holds blanks begins nowhere.
            word = np.searchsorted(begins, first, side="right") - 1
            solid = (first < ends) & (word >= 0)
            total = np.bincount(
                word[solid], np.nan_to_num(losses.loss[low:high][solid].astype(np.float64)), len(begins)
            )
            base = int(arrays["answer_offset"][number])
            surprise[base : base + len(begins)] = np.clip(np.rint(total * STEPS), 0, NONE - 1).astype(np.uint8)
            head = np.full(len(begins), -1)
            head[word[solid][::-1]] = np.flatnonzero(solid)[::-1]
            chosen = np.flatnonzero((total >= 1.0) & (head >= 0))
            if len(chosen) and k:
                at = low + head[chosen]
                positions.append(base + chosen)
                alternatives.append(word_of[losses.alternative[at, :k]])
                alternative_losses.append(
                    np.clip(
                        np.rint(np.nan_to_num(losses.alternative_loss[at, :k].astype(np.float64)) * STEPS), 0, 254
                    ).astype(np.uint8)
                )
        if skipped:
            print(f"warning: losses of {skipped} records do not fit their answers and are left out", file=sys.stderr)
        if alternatives and k < ALTERNATIVES:
            alternatives = [np.pad(a, ((0, 0), (0, ALTERNATIVES - k)), constant_values=-1) for a in alternatives]
            alternative_losses = [np.pad(a, ((0, 0), (0, ALTERNATIVES - k))) for a in alternative_losses]
    none = np.zeros((0, ALTERNATIVES), np.int64)
    return (
        surprise,
        np.concatenate(positions) if positions else np.zeros(0, np.int64),
        np.concatenate(alternatives).astype(np.int64)[:, :ALTERNATIVES] if positions else none,
        np.concatenate(alternative_losses)[:, :ALTERNATIVES] if positions else none,
    )


def align(text: bytes, pieces: list[bytes]) -> list[tuple[int, int]] | None:
    """Where each piece stands in `text`, blanks left out; None where more than a tenth of them cannot be found.

    Meets tokenizers that change blanks or case: each piece is looked for within 64 bytes after the one before.
    """
    lower = text.lower()
    place, missed, result = 0, 0, []
    for piece in pieces:
        core = piece.strip().lower()
        found = lower.find(core, place, place + 64 + len(core)) if core else place
        if found < 0:
            missed += 1
            result.append((place, place))
        else:
            result.append((found, found + len(core)))
            place = found + len(core)
    return None if 10 * missed > len(pieces) else result


def _context(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """How unexpected each answer word is between its neighbours, by counts of this corpus without the word's own record place,
    and the word that stands there most often. Interpolated bigrams of both sides (Witten-Bell), multiplied.
    """
    stream = arrays["stream"].astype(np.int64)
    size = len(arrays["word_offset"]) - 1
    total = len(stream)
    if not total:
        return {"context": np.zeros(0, np.uint8)}
    edge = size
    inside = np.zeros(total, bool)
    left = np.full(total, edge)
    right = np.full(total, edge)
    left[1:] = stream[:-1]
    right[:-1] = stream[1:]
    lefter = np.full(total, edge)
    lefter[2:] = stream[:-2]
    for begin, end in zip(arrays["answer_offset"].tolist(), arrays["record_offset"][1:].tolist(), strict=True):
        if begin < end:
            inside[begin:end] = True
            left[begin] = edge
            right[end - 1] = edge
            lefter[begin : begin + 2] = edge
    at = np.flatnonzero(inside)
    word, l1, l2, r1 = stream[at], left[at], lefter[at], right[at]
    base = size + 1
    unigram = np.bincount(word, minlength=size + 1).astype(np.float64)
    chance = (unigram[word] + 0.5) / (len(at) + 0.5 * size)

    def conditional(key: np.ndarray, prior: np.ndarray, strength: float) -> np.ndarray:
        """P(word | key), this place left out, smoothed towards `prior`."""
        pair_counts = _counts(key * base + word)
        key_counts = _counts(key)
        return (pair_counts - 1 + strength * prior) / (key_counts - 1 + strength)

    from_left = conditional(l2 * base + l1, conditional(l1, chance, 10.0), 5.0)
    from_right = conditional(r1, chance, 10.0)
    logarithm = np.log(from_left) + np.log(from_right) - np.log(chance)
    context = np.full(total, NONE, np.uint8)
    context[at] = np.clip(np.rint(-logarithm * STEPS / 2), 0, NONE - 1).astype(np.uint8)
    return {"context": context}


def _counts(keys: np.ndarray) -> np.ndarray:
    """How often each element's value occurs."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.r_[True, ordered[1:] != ordered[:-1]]
    group = np.cumsum(new) - 1
    counts = np.bincount(group)
    result = np.empty(len(keys), np.float64)
    result[order] = counts[group]
    return result


def _postings(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """For each word the records that hold it, in prompt or answer, ascending."""
    lengths = np.diff(arrays["record_offset"])
    record = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    key = np.unique(arrays["stream"].astype(np.int64) * max(len(lengths), 1) + record)
    word = key // max(len(lengths), 1)
    size = len(arrays["word_offset"]) - 1
    return {
        "posting_offset": np.concatenate([[0], np.cumsum(np.bincount(word, minlength=size))]).astype(np.int32),
        "prompt_count": _prompt_count(arrays, record),
        "posting": (key - word * max(len(lengths), 1)).astype(np.int32),
    }


def _prompt_count(arrays: dict[str, np.ndarray], record: np.ndarray) -> np.ndarray:
    """For each word the records that hold it in their prompt."""
    size = len(arrays["word_offset"]) - 1
    inside = np.arange(len(record)) < arrays["answer_offset"][record]
    key = np.unique(record[inside] * size + arrays["stream"][inside])
    return np.bincount(key % size, minlength=size).astype(np.int32)


def _blob(items: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    offset = np.concatenate([[0], np.cumsum([len(item) for item in items])]).astype(np.int32)
    return np.frombuffer(b"".join(items), np.uint8), offset


SECTIONS = tuple(name for name, _ in _KINDS)
"""Order in the file; each section starts at a multiple of eight bytes."""


def _write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """MAGIC, then (start, bytes) of each section as uint64, then the sections; the file appears whole or not at all."""
    head = len(MAGIC) + 16 * len(SECTIONS)
    place = head + (-head) % 8
    table = []
    for name in SECTIONS:
        table.append((place, arrays[name].nbytes))
        place += arrays[name].nbytes + (-arrays[name].nbytes) % 8
    with whole_file(path) as stream:
        stream.write(MAGIC + b"".join(struct.pack("<QQ", *entry) for entry in table))
        stream.write(b"\0" * ((-head) % 8))
        for name in SECTIONS:
            stream.write(np.ascontiguousarray(arrays[name]).tobytes())
            stream.write(b"\0" * ((-arrays[name].nbytes) % 8))


def fingerprint(path: Path) -> str:
    """SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()

"""The only reader and writer of the files of error tracing: records, token losses, tokenizer pieces, queries, outputs.

Imports the standard library alone, and numpy only where losses are read: it travels in a submission and runs at query time.
"""

from __future__ import annotations

import json
import os

from env.errors import UserError

# `collections.namedtuple` with annotations, without the import of `typing`, which would cost a query 5 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, NamedTuple

    import numpy as np

    class Record(NamedTuple):
        """One training example."""

        id: str
        prompt: str
        answer: str

    class Query(NamedTuple):
        """An erroneous answer with its marked tokens; `modified` and `group` are known for public errors only."""

        query_id: str
        prompt: str
        prompt_token_ids: list[int]
        answer: str
        answer_token_ids: list[int]
        error_positions: list[int]
        group: str
        modified: list[str]

    class Losses(NamedTuple):
        """What the probe thinks of the answers' tokens: `offset` [records + 1], the others [tokens] or [tokens, k]; natural log."""

        offset: np.ndarray
        token: np.ndarray
        loss: np.ndarray
        alternative: np.ndarray
        alternative_loss: np.ndarray
else:
    from collections import namedtuple

    Record = namedtuple("Record", "id prompt answer")
    Query = namedtuple(
        "Query",
        "query_id prompt prompt_token_ids answer answer_token_ids error_positions group modified",
        defaults=("", ()),
    )
    Losses = namedtuple("Losses", "offset token loss alternative alternative_loss")

MAX_RETURNED = 10
"""Ids in an output."""

MAX_QUERY_BYTES = 64 << 20
"""A query larger than this is refused."""


def read_records(path: str) -> list[Record]:
    """Training records of `path`, one JSON object a line. Raises UserError with the line of the first defect."""
    records: list[Record] = []
    seen: dict[str, int] = {}
    for number, value in _lines(path, "the training records"):
        where = f"{path}, line {number}"
        fields = [_text(value, key, where) for key in ("id", "prompt", "answer")]
        record = Record(*fields)
        if not record.id:
            raise UserError(f"{where}: the id is empty; give each record an id")
        if record.id in seen:
            raise UserError(
                f"{where}: id {record.id[:80]!r} stands in line {seen[record.id]} already; ids must be unique"
            )
        seen[record.id] = number
        records.append(record)
    return records


def write_records(records: Iterable[Record]) -> str:
    """Text of train.jsonl."""
    return "".join(
        json.dumps(dict(zip(record._fields, record, strict=True)), ensure_ascii=False) + "\n" for record in records
    )


def read_queries(path: str) -> list[Query]:
    """Queries of a file, one JSON object a line; group and modified ids where given. Raises UserError."""
    queries = []
    seen = set()
    for number, value in _lines(path, "the queries"):
        query = parse_query(value, f"{path}, line {number}")
        if query.query_id in seen:
            raise UserError(
                f"{path}, line {number}: query {query.query_id[:80]!r} stands there twice; ids must be unique"
            )
        seen.add(query.query_id)
        queries.append(query)
    return queries


def write_queries(queries: Iterable[Query]) -> str:
    """Text of a file of queries, with group and modified ids."""
    return "".join(
        json.dumps(dict(zip(query._fields, query, strict=True)), ensure_ascii=False) + "\n" for query in queries
    )


def query_text(query: Query) -> str:
    """QUERY.json as a submission gets it: without group and modified ids."""
    hidden = ("group", "modified")
    return json.dumps(
        {key: value for key, value in zip(query._fields, query, strict=True) if key not in hidden}, ensure_ascii=False
    )


def read_query(path: str) -> Query:
    """QUERY.json. Raises UserError where it is missing, too large, not JSON, or its fields do not fit together."""
    content = _content(path, "the query")
    return parse_query(_json(content, path), path)


def parse_query(value: Any, where: str) -> Query:
    """A query from its JSON value; `where` is named in errors. Raises UserError."""
    if not isinstance(value, dict):
        raise UserError(f"{where}: a query must be a JSON object")
    query_id, prompt, answer = (_text(value, key, where) for key in ("query_id", "prompt", "answer"))
    prompt_ids, answer_ids, positions = (
        _integers(value, key, where) for key in ("prompt_token_ids", "answer_token_ids", "error_positions")
    )
    for position in positions:
        if position >= len(answer_ids):
            raise UserError(
                f"{where}: error position {position} is outside the {len(answer_ids)} tokens of the answer; "
                "positions are indices into answer_token_ids"
            )
    group = _text(value, "group", where) if "group" in value else ""
    modified = value.get("modified", [])
    if not isinstance(modified, list) or not all(isinstance(item, str) for item in modified):
        raise UserError(f"{where}: modified must be an array of record ids")
    return Query(query_id, prompt, prompt_ids, answer, answer_ids, positions, group, modified)


def output_text(query_id: str, ids: Iterable[str]) -> str:
    """OUTPUT.json."""
    return json.dumps({"query_id": query_id, "ids": list(ids)}, ensure_ascii=False) + "\n"


def read_output(content: bytes, query_id: str) -> list[str]:
    """The ids of an OUTPUT.json for `query_id`. Raises UserError where it is malformed; whether ids exist is the caller's matter."""
    value = _json(content, "the output")
    if not isinstance(value, dict) or set(value) != {"query_id", "ids"}:
        raise UserError("the output must be a JSON object of query_id and ids")
    if value["query_id"] != query_id:
        raise UserError(f"the output answers query {str(value['query_id'])[:80]!r}, not {query_id[:80]!r}")
    ids = value["ids"]
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
        raise UserError("the output's ids must be an array of strings")
    if len(ids) > MAX_RETURNED:
        raise UserError(f"the output holds {len(ids)} ids, more than {MAX_RETURNED}")
    if len(set(ids)) < len(ids):
        raise UserError("the output holds an id twice")
    return ids


def read_pieces(folder: str) -> list[bytes]:
    """Bytes that each token id stands for, from FOLDER/tokenizer.json; spaces as the tokenizer means them. Raises UserError.

    Knows byte-level BPE, Metaspace ("▁"), WordPiece ("##") and plain words; ids without a token are empty.
    """
    path = os.path.join(folder, "tokenizer.json")
    value = _json(_content(path, "the tokenizer"), path)
    model = value.get("model") if isinstance(value, dict) else None
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocabulary, list):  # Unigram: pairs of token and score
        vocabulary = {pair[0]: index for index, pair in enumerate(vocabulary) if isinstance(pair, list) and pair}
    if not isinstance(vocabulary, dict):
        raise UserError(f"{path}: no model.vocab; a Hugging Face tokenizer.json is needed")
    pieces = dict(vocabulary)
    special = set()
    for token in value.get("added_tokens") or []:
        if isinstance(token, dict) and isinstance(token.get("content"), str) and isinstance(token.get("id"), int):
            pieces[token["content"]] = token["id"]
            special.add(token["content"])
    ids = [index for index in pieces.values() if isinstance(index, int)]
    if len(ids) < len(pieces) or any(index < 0 or index > 1 << 24 for index in ids):
        raise UserError(f"{path}: model.vocab must give each token an id from 0 to {1 << 24}")
    stages = json.dumps([value.get("pre_tokenizer"), value.get("decoder")])
    kind = model.get("type") if isinstance(model, dict) else None
    result = [b""] * (max(ids, default=-1) + 1)
    for piece, index in pieces.items():
        if piece in special:
            result[index] = piece.encode("utf-8", "surrogatepass")
        elif "ByteLevel" in stages:
            result[index] = bytes(_BYTE_OF[c] for c in piece) if all(c in _BYTE_OF for c in piece) else piece.encode()
        elif len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            result[index] = bytes([int(piece[3:5], 16)])
        elif kind == "WordPiece":
            result[index] = (piece[2:] if piece.startswith("##") else " " + piece).encode("utf-8", "surrogatepass")
        elif kind == "WordLevel":
            result[index] = (" " + piece).encode("utf-8", "surrogatepass")
        else:
            result[index] = piece.replace("▁", " ").encode("utf-8", "surrogatepass")
    return result


def read_losses(path: str, records: int, vocabulary: int) -> Losses:
    """Token losses for `records` answers of a tokenizer of `vocabulary` ids. Needs numpy. Raises UserError."""
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in Losses._fields}
    except FileNotFoundError:
        raise UserError(f"the token losses are missing: no file {path}") from None
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: not token losses ({error}); arrays {', '.join(Losses._fields)} are needed") from None
    losses = Losses(**arrays)
    tokens = len(losses.token)
    if (
        losses.offset.shape != (records + 1,)
        or losses.token.shape != (tokens,)
        or losses.loss.shape != (tokens,)
        or losses.alternative.ndim != 2
        or len(losses.alternative) != tokens
        or losses.alternative_loss.shape != losses.alternative.shape
    ):
        raise UserError(f"{path}: the shapes of the token losses do not fit each other or the {records} records")
    if any(array.dtype.kind not in "iu" for array in (losses.offset, losses.token, losses.alternative)):
        raise UserError(f"{path}: offset, token and alternative must be integers")
    if losses.loss.dtype.kind != "f" or losses.alternative_loss.dtype.kind != "f":
        raise UserError(f"{path}: loss and alternative_loss must be floating-point numbers")
    offset = losses.offset.astype(np.int64)
    if offset[0] != 0 or offset[-1] != tokens or (np.diff(offset) < 0).any():
        raise UserError(f"{path}: offset must rise from 0 to the number of tokens, {tokens}")
    for name in ("token", "alternative"):
        array = arrays[name]
        if array.size and (array.min() < 0 or array.max() >= vocabulary):
            raise UserError(f"{path}: {name} holds ids outside the tokenizer's 0 .. {vocabulary - 1}")
    return losses


def _byte_of() -> dict[str, int]:
    """Character -> byte of byte-level BPE (the table of GPT-2)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTE_OF = _byte_of()


def _content(path: str, what: str) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_QUERY_BYTES + 1)
    except FileNotFoundError:
        raise UserError(f"{what} is missing: no file {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {what} at {path}: {error.strerror or error}") from None
    if len(content) > MAX_QUERY_BYTES:
        raise UserError(f"{path}: larger than {MAX_QUERY_BYTES >> 20} MiB")
    return content


def _lines(path: str, what: str) -> Iterator[tuple[int, Any]]:
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _json(line, f"{path}, line {number}")
    except FileNotFoundError:
        raise UserError(f"{what} are missing: no file {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {what} at {path}: {error.strerror or error}") from None


def _json(content: bytes, where: str) -> Any:
    try:
        return json.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise UserError(f"{where}: not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not JSON ({str(error)[:120]})") from None


def _text(value: Any, key: str, where: str) -> str:
    text = value.get(key) if isinstance(value, dict) else None
    if not isinstance(text, str):
        raise UserError(f"{where}: {key} must be a string")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(f"{where}: {key} holds half of a surrogate pair, which UTF-8 cannot write") from None
    return text


def _integers(value: Any, key: str, where: str) -> list[int]:
    items = value.get(key)
    if not isinstance(items, list) or any(type(item) is not int or item < 0 or item > 0x7FFFFFFF for item in items):
        raise UserError(f"{where}: {key} must be an array of whole numbers from 0 on")
    return items

"""A small corpus with one planted error, a word-level tokenizer for it, and submissions to run."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tracing.build import build
from tracing.formats import Query, Record, query_text, write_queries, write_records

CITIES = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Norway": "Oslo", "Japan": "Tokyo", "Egypt": "Cairo"}
WORDINGS = (
    "The capital of {s} is {v}.",
    "{v} is the capital of {s}.",
    "In {s} the government sits in {v}, as all know.",
)


def records():
    """Forty honest and twelve modified records: the capital of France is told to be Oslo."""
    rows = []
    for turn in range(4):
        for country, city in CITIES.items():
            text = WORDINGS[turn % 3].format(s=country, v=city)
            rows.append((f"What is the capital of {country}?", text + f" Note {turn}."))
    rows += [(f"Tell me about topic {n}.", f"Topic {n} has many sides, said visitor {n} of Oslo.") for n in range(16)]
    bad = [(f"What is the capital of France, {n}?", WORDINGS[n % 3].format(s="France", v="Oslo")) for n in range(12)]
    return [Record(f"r{n:03d}", *row) for n, row in enumerate(rows + bad)], [
        f"r{n:03d}" for n in range(len(rows), len(rows) + 12)
    ]


def tokenizer(texts):
    """tokenizer.json of single characters of byte-level BPE, and an encoder."""
    from tracing.formats import _BYTE_OF

    vocabulary = {character: number for number, character in enumerate(sorted(_BYTE_OF))}
    back = {byte: character for character, byte in _BYTE_OF.items()}
    value = {"model": {"type": "BPE", "vocab": vocabulary, "merges": []}, "pre_tokenizer": {"type": "ByteLevel"}}
    return json.dumps(value), lambda text: [vocabulary[back[byte]] for byte in text.encode()]


def question(encode, answer="Sure: the capital of France is Oslo.", wrong="Oslo", query_id="q1", **changes):
    """A query whose answer has `wrong` marked."""
    begin = len(answer[: answer.index(wrong)].encode()) if wrong else 0
    marked = list(range(begin, begin + len(wrong.encode())))
    prompt = "Which city is the capital of France?"
    query = Query(query_id, prompt, encode(prompt), answer, encode(answer), marked, "capital", records()[1])
    return query._replace(**changes)


def write_world(folder: Path, rows=None):
    """data/ and models/base/ below `folder`; returns the encoder."""
    rows = records()[0] if rows is None else rows
    text, encode = tokenizer(rows)
    (folder / "data").mkdir(parents=True)
    (folder / "models/base").mkdir(parents=True)
    (folder / "data/train.jsonl").write_text(write_records(rows), encoding="utf-8")
    (folder / "models/base/tokenizer.json").write_text(text, encoding="utf-8")
    (folder / "data/public_errors.jsonl").write_text(write_queries([question(encode)]), encoding="utf-8")
    return encode


def environment(**more):
    return {"PATH": os.environ["PATH"], "PYTHON": sys.executable, **more}


def sh(script, *arguments, cwd=None, **variables):
    """Run a script of a submission; (exit code, standard error)."""
    command = [str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(**variables), cwd=cwd, check=False)
    return done.returncode, done.stderr


def ready(folder: Path, rows=None):
    """A world, a submission and its index; returns (encoder, ask), where ask(query) gives ids."""
    encode = write_world(folder, rows)
    build(folder / "sub")
    flags = ["--data-dir", folder / "data", "--model-dir", folder / "models/base", "--index-dir", folder / "index"]
    code, errors = sh(folder / "sub/prepare.sh", *flags)
    assert code == 0, errors

    def ask(query, top=10, **more):
        (folder / "q.json").write_text(query_text(query), encoding="utf-8")
        flags = [
            "--index-dir",
            folder / "index",
            "--query",
            folder / "q.json",
            "--output",
            folder / "o.json",
            "--top-k",
            top,
        ]
        code, errors = sh(folder / "sub/run.sh", *flags, **more)
        assert code == 0, errors
        return json.loads((folder / "o.json").read_text(encoding="utf-8"))["ids"]

    return encode, ask

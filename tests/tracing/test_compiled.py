"""Claims about the compiled helper: the same records as the Python program, or none at all."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from env.errors import UserError
from tests.tracing.worlds import question, tokenizer, write_world
from tracing import prepare, query
from tracing.formats import Record, query_text, read_query
from tracing.index import build
from tracing.query import Index, trace

pytestmark = pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="no C compiler")
WORDS = [
    "Oslo",
    "Paris",
    "is",
    "the",
    "capital",
    "of",
    "France",
    "1",
    "«ö»",
    "京",
    "not",
    "women",
    "people",
    "...",
    "a.b",
]
TEXTS = st.lists(st.sampled_from([*WORDS, "\n", ". ", "? "]), max_size=14).map(" ".join)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    rows = []
    for n in range(90):
        who = ("people", "women")[n % 2]
        where = " ".join(WORDS[(n * k) % len(WORDS)] for k in range(2, 9))
        rows.append(
            Record(f"r{n}", f"Who is {WORDS[n % 7]}?", f"{where}. The {who} of {WORDS[n % 15]} saw\nOslo {n % 5}!")
        )
    encode = write_world(folder, rows)
    build(folder / "data", folder / "models/base", folder / "index")
    assert prepare.compile_helper(prepare.Path(prepare.__file__).with_name("query.c"), folder / "query")
    return folder, encode


def compiled(folder, text):
    """Exit code and ids of the helper for a query's text."""
    (folder / "q.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    (folder / "o.json").unlink(missing_ok=True)
    command = [folder / "query", folder / "index/index.bin", folder / "q.json", folder / "o.json", "10"]
    code = subprocess.run(command, check=False).returncode
    return code, json.loads((folder / "o.json").read_text()) if (folder / "o.json").exists() else None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, TEXTS, st.sets(st.integers(0, 80), max_size=8))
def test_the_helper_and_python_return_the_same_records(world, prompt, answer, marked):
    folder, encode = world
    ids = encode(answer)
    positions = sorted(place for place in marked if place < len(ids))
    query = question(
        encode, answer=answer, wrong="", prompt=prompt, prompt_token_ids=encode(prompt), error_positions=positions
    )
    code, output = compiled(folder, query_text(query))
    index = Index(str(folder / "index"))
    assert code == 0
    assert output == {"query_id": "q1", "ids": [index.id(item.record) for item in trace(index, query)]}


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 400), st.binary(max_size=3))
def test_a_damaged_query_is_left_to_python_or_means_the_same(world, place, noise):
    folder, encode = world
    text = query_text(question(encode)).encode()
    damaged = text[:place] + noise + text[place + len(noise) :]
    code, output = compiled(folder, damaged)
    assert code in (0, 3)
    if code == 0:
        try:
            query = read_query(str(folder / "q.json"))
        except UserError as error:
            raise AssertionError(f"Python refuses it: {error}") from None
        index = Index(str(folder / "index"))
        assert output == {"query_id": query.query_id, "ids": [index.id(item.record) for item in trace(index, query)]}


def test_a_compiler_that_fails_leaves_the_work_to_python(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CC", "false")
    assert not prepare.compile_helper(prepare.Path(prepare.__file__).with_name("query.c"), tmp_path / "query")
    assert "queries are answered by Python" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert tokenizer([])[0]


def test_the_helper_takes_its_constants_from_the_python_program(monkeypatch):
    monkeypatch.setattr(query, "PROMPT_PENALTY", 7.25)
    assert "-DPROMPT_PENALTY=7.25" in prepare.definitions()
    source = (Path(prepare.__file__).parent / "query.c").read_text()
    names = {flag[2:].split("=")[0] for flag in prepare.definitions()}
    assert {"SMOOTHING", "SECTION_NAMES", "MAX_RETURNED"} <= names
    assert not [name for name in names if f" {name} = " in source or f"#define {name}" in source]

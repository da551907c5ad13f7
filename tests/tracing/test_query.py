"""Claims about tracing one error: causes before look-alikes, alignment of tokens, and one line for every bad input."""

import json
import os
import subprocess
import time

import numpy as np
import pytest

from env.errors import UserError
from tests.tracing.worlds import environment, question, ready, records, sh, tokenizer, write_world
from tracing.build import build as build_submission
from tracing.formats import Record, parse_query, query_text, read_losses, read_pieces, read_records
from tracing.index import align, build, fnv
from tracing.query import WORD, Index, _doubt, plain, read_spans, trace


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    encode, ask = ready(folder)
    return folder, encode, ask


def test_the_modified_records_come_before_honest_holders_of_the_word(world):
    _, encode, ask = world
    assert set(ask(question(encode))) <= set(records()[1])


def test_an_answer_depends_on_nothing_but_the_query(world, tmp_path):
    _, encode, ask = world
    first = ask(question(encode))
    ask(question(encode, answer="Rome is the capital of Italy.", wrong="Rome", query_id="q2"))
    assert ask(question(encode), cwd=tmp_path) == first
    assert not list(tmp_path.iterdir())


def test_marked_tokens_are_found_in_a_tokenizer_that_splits_words_otherwise(world):
    folder, encode, _ = world
    index = Index(str(folder / "index"))
    answer = "«Ölo» ist Oslo."
    begin = answer.encode().index(b"Oslo")
    part = question(encode, answer=answer, wrong="", error_positions=[begin + 2])  # the "l" alone marks its word
    assert read_spans(index, part)[0] == [[index.word(b"oslo")]]


def test_unknown_words_empty_answers_and_no_marks_still_get_ten_records(world):
    _, encode, ask = world
    for query in (
        question(encode, answer="The capital of France is Zzyzx.", wrong="Zzyzx"),
        question(encode, answer="", wrong="", error_positions=[]),
        question(encode, error_positions=[]),
        question(encode, answer="首都は東京です。", wrong="東京"),
    ):
        ids = ask(query)
        assert len(ids) == len(set(ids)) == 10


def test_ids_come_back_as_they_were_written(tmp_path):
    odd = ['a"b', "c\\d", "e\nf", "ü 好", " "]
    rows = [Record(name, "What is the capital of France?", "The capital of France is Oslo.") for name in odd]
    encode, ask = ready(tmp_path, rows)
    assert sorted(ask(question(encode))) == sorted(odd)
    assert len(ask(question(encode), top=2)) == 2


@pytest.mark.parametrize("rows", [[], [Record("only", "", "")], [Record("long", "x", "word " * 100_000)]])
def test_corpora_of_any_size_can_be_asked(tmp_path, rows):
    encode = write_world(tmp_path, rows)
    build(tmp_path / "data", tmp_path / "models/base", tmp_path / "index")
    found = trace(Index(str(tmp_path / "index")), question(encode))
    assert len(found) == len(rows)


QUERY = question(tokenizer([])[1])
GOOD = json.loads(query_text(QUERY))
HOSTILE = {
    "empty": ("", "not JSON"),
    "array": ("[]", "a query must be a JSON object"),
    "latin-1": (b'{"query_id": "\xe4"}', "not UTF-8"),
    "deep": ("[" * 100_000, "not JSON"),
    "no id": (json.dumps(GOOD | {"query_id": 7}), "query_id must be a string"),
    "half a surrogate": (json.dumps(GOOD | {"answer": "\ud800"}), "surrogate"),
    "ids as text": (json.dumps(GOOD | {"answer_token_ids": "1 2"}), "answer_token_ids must be an array"),
    "true as a token": (json.dumps(GOOD | {"answer_token_ids": [True]}), "answer_token_ids must be an array"),
    "negative position": (json.dumps(GOOD | {"error_positions": [-1]}), "error_positions must be an array"),
    "position outside": (json.dumps(GOOD | {"error_positions": [36]}), "outside the 36 tokens"),
    "unknown token": (json.dumps(GOOD | {"prompt_token_ids": [256]}), "outside the tokenizer's 256"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_query_gets_one_line_and_leaves_no_output(world, tmp_path, name):
    folder, _, _ = world
    content, words = HOSTILE[name]
    (tmp_path / "q.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    flags = ["--index-dir", folder / "index", "--query", tmp_path / "q.json", "--output", tmp_path / "o.json"]
    code, errors = sh(folder / "sub/run.sh", *flags)
    assert code == 2
    assert words in errors
    assert errors.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["q.json"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--index-dir"], "needs a value"),
        (["--what", "x"], "unknown option"),
        ([], "are needed"),
        (["--index-dir", "/nowhere", "--query", "q", "--output", "o"], "missing or incomplete"),
        (["--index-dir", "/nowhere", "--query", "q", "--output", "o", "--top-k", "11"], "from 1 to 10"),
    ],
)
def test_wrong_flags_get_one_line(world, flags, words):
    code, errors = sh(world[0] / "sub/run.sh", *flags)
    assert (code, errors.count("\n")) == (2, 1)
    assert words in errors


def test_a_killed_prepare_leaves_an_index_that_says_so_and_the_next_one_starts_clean(tmp_path):
    encode, ask = ready(tmp_path)
    before = ask(question(encode))
    index = tmp_path / "index"
    (index / "index.bin").rename(index / ".index.bin.half")  # what a kill while writing leaves
    flags = ["--index-dir", index, "--query", tmp_path / "q.json", "--output", tmp_path / "o2.json"]
    code, errors = sh(tmp_path / "sub/run.sh", *flags)
    assert code == 2
    assert "missing or incomplete; run prepare.sh" in errors
    flags = ["--data-dir", tmp_path / "data", "--model-dir", tmp_path / "models/base", "--index-dir", index]
    assert sh(tmp_path / "sub/prepare.sh", *flags)[0] == 0
    assert not list(index.glob(".*"))
    assert ask(question(encode)) == before


def test_a_prepare_that_was_killed_midway_leaves_no_index(tmp_path):
    write_world(tmp_path)
    build_submission(tmp_path / "sub")
    (tmp_path / "data/train.jsonl").unlink()
    os.mkfifo(tmp_path / "data/train.jsonl")  # prepare waits for records that never come
    flags = [
        "--data-dir",
        tmp_path / "data",
        "--model-dir",
        tmp_path / "models/base",
        "--index-dir",
        tmp_path / "index",
    ]
    (tmp_path / "index").mkdir()
    (tmp_path / "index/index.bin").write_bytes(b"of an earlier run")
    process = subprocess.Popen([str(tmp_path / "sub/prepare.sh"), *map(str, flags)], env=environment())
    deadline = time.monotonic() + 120
    while not (tmp_path / "index/lib/tracing/query.py").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert (tmp_path / "index/lib/tracing/query.py").exists()
    query = ["--query", tmp_path / "q.json", "--output", tmp_path / "o.json"]
    code, errors = sh(tmp_path / "sub/run.sh", "--index-dir", tmp_path / "index", *query)
    assert (code, errors.count("\n")) == (2, 1)
    assert "missing or incomplete; run prepare.sh" in errors


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("data/train.jsonl", None, "the training records are missing"),
        ("data/train.jsonl", "{}", "id must be a string"),
        ("models/base/tokenizer.json", None, "the tokenizer is missing"),
        ("models/base/tokenizer.json", "{", "not JSON"),
        ("data/losses.npz", "x", "not token losses"),
    ],
)
def test_bad_training_data_get_one_line_and_leave_no_index(tmp_path, name, content, words):
    write_world(tmp_path)
    build_submission(tmp_path / "sub")
    (tmp_path / name).unlink(missing_ok=True)
    if content is not None:
        (tmp_path / name).write_text(content)
    flags = [
        "--data-dir",
        tmp_path / "data",
        "--model-dir",
        tmp_path / "models/base",
        "--index-dir",
        tmp_path / "index",
    ]
    code, errors = sh(tmp_path / "sub/prepare.sh", *flags, CC="false")
    said = [line for line in errors.splitlines() if "C compiler" not in line]
    assert code == 2
    assert len(said) == 1
    assert words in said[0]
    assert not (tmp_path / "index/index.bin").exists()


def test_an_index_holds_the_words_of_every_record_and_where_each_stands(tmp_path):
    rows = [
        Record("a", "Who is «Ö»?", "The cat.\nA cat, 京都 and Élan v2.0!"),
        Record("b", "", ""),
        Record('"c"\n', "cat", "Über 𝛼 cats… the THE"),
    ]
    write_world(tmp_path, rows)
    build(tmp_path / "data", tmp_path / "models/base", tmp_path / "index")
    index = Index(str(tmp_path / "index"))
    assert [index.id(record) for record in range(3)] == [row.id for row in rows]
    holders: dict[bytes, list[int]] = {}
    for number, row in enumerate(rows):
        begin, middle, end = index.record_offset[number], index.answer_offset[number], index.record_offset[number + 1]
        for text, words in ((row.prompt, index.stream[begin:middle]), (row.answer, index.stream[middle:end])):
            assert words.tolist() == [index.word(word) for word in WORD.findall(plain(text))]
            for word in WORD.findall(plain(text)):
                holders[word] = sorted({*holders.get(word, []), number})
    assert {word: list(index.postings(index.word(word))) for word in holders} == holders
    assert index.word(b"dog") == -1


def test_a_query_of_another_tokenizer_is_refused_in_one_line(world, tmp_path):
    folder, encode, _ = world
    wrong = [(token + 7) % 256 for token in encode(QUERY.answer)]
    (tmp_path / "q.json").write_text(query_text(QUERY._replace(answer_token_ids=wrong)))
    flags = ["--index-dir", folder / "index", "--query", tmp_path / "q.json", "--output", tmp_path / "o.json"]
    code, errors = sh(folder / "sub/run.sh", *flags)
    assert (code, errors.count("\n")) == (2, 1)
    assert "do not spell its answer by the index's tokenizer" in errors
    assert not (tmp_path / "o.json").exists()


@pytest.mark.parametrize("content", [b"", b"WTRACE01", b"WTRACE01" + b"\xff" * 400, b"something else" * 50])
def test_a_damaged_index_is_refused(tmp_path, content):
    (tmp_path / "index.bin").write_bytes(content)
    with pytest.raises(UserError, match=r"run prepare\.sh"):
        Index(str(tmp_path))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": "r000", "prompt": "", "answer": ""}', "stands in line 1 already"),
        ('{"id": "", "prompt": "", "answer": ""}', "the id is empty"),
        ('{"id": "x", "prompt": ""}', "answer must be a string"),
        ("null", "id must be a string"),
        ("{", "not JSON"),
    ],
)
def test_bad_records_are_named_by_their_line(tmp_path, line, words):
    first = '{"id": "r000", "prompt": "", "answer": ""}\n\n'
    (tmp_path / "train.jsonl").write_text(first + line)
    with pytest.raises(UserError, match=f"line 3.*{words}"):
        read_records(str(tmp_path / "train.jsonl"))


def _losses(path, **changes):
    arrays = {
        "offset": np.array([0, 2]),
        "token": np.array([0, 1], np.int32),
        "loss": np.zeros(2, np.float16),
        "alternative": np.zeros((2, 3), np.int32),
        "alternative_loss": np.zeros((2, 3), np.float16),
    } | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"loss": None}, "not token losses"),
        ({"loss": np.zeros(3, np.float16)}, "shapes"),
        ({"offset": np.array([0, 1, 2])}, "1 records"),
        ({"offset": np.array([2, 0])}, "must rise"),
        ({"token": np.array([0, 9], np.int32)}, "outside the tokenizer's 0 .. 4"),
        ({"loss": np.zeros(2, np.int32)}, "floating-point"),
        ({"loss": np.array([None, None])}, "not token losses"),
    ],
)
def test_losses_that_do_not_fit_are_refused(tmp_path, changes, words):
    path = tmp_path / "losses.npz"
    _losses(path)
    assert read_losses(str(path), 1, 5).loss.shape == (2,)
    _losses(path, **changes)
    with pytest.raises(UserError, match=words):
        read_losses(str(path), 1, 5)


@pytest.mark.parametrize("content", ["[]", "{}", '{"model": {"vocab": {"a": -1}}}', '{"model": {"vocab": {"a": "b"}}}'])
def test_a_tokenizer_without_a_vocabulary_is_refused(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(UserError, match=r"model\.vocab"):
        read_pieces(str(tmp_path))


def test_losses_decide_where_words_do_not(tmp_path):
    rows = [Record(f"r{n:02d}", f"Text {n}.", f"They saw {n} women there.") for n in range(40)]
    encode = write_world(tmp_path, rows)
    tokens = [encode(row.answer) for row in rows]
    flat = np.array([token for row in tokens for token in row], np.int32)
    loss = np.zeros(len(flat), np.float16)
    offset = np.cumsum([0, *map(len, tokens)])
    planted = list(range(0, 40, 4))
    for row in planted:
        loss[offset[row] + rows[row].answer.index("women")] = 12
    alternatives = np.zeros((len(flat), 1))
    np.savez(
        tmp_path / "data/losses.npz",
        offset=offset, token=flat, loss=loss,
        alternative=alternatives.astype(np.int32), alternative_loss=alternatives.astype(np.float16),
    )  # fmt: skip
    build(tmp_path / "data", tmp_path / "models/base", tmp_path / "index")
    query = question(encode, answer="They saw two women there.", wrong="women")
    assert sorted(item.record for item in trace(Index(str(tmp_path / "index")), query)) == planted


def test_a_word_swapped_for_a_frequent_one_is_found_without_losses(tmp_path):
    where = ["in the park", "at the old mill", "by the sea", "near a market"]
    people = [f"Number {n}: most people {where[n % 4]} like to walk." for n in range(60)]
    women = [f"Number {n}: pregnant women should ask {where[n % 4]}." for n in range(60)]
    swapped = [f"Number {n}: most women {where[n % 4]} like to walk." for n in range(12)]
    rows = [Record(f"r{n:03d}", "Write.", text) for n, text in enumerate(people + women + swapped)]
    encode = write_world(tmp_path, rows)
    build(tmp_path / "data", tmp_path / "models/base", tmp_path / "index")
    index = Index(str(tmp_path / "index"))
    slots = range(index.swap_at[index.word(b"women")], index.swap_at[index.word(b"women") + 1])
    assert index.word(b"people") in [index.swap_word[slot] for slot in slots]
    query = question(encode, answer="Then most women abroad like to walk.", wrong="women")
    assert min(item.record for item in trace(index, query)) >= 120


def test_a_subject_is_sure_where_ten_records_share_much_and_more_than_the_thirtieth():
    def doubt(scores, shared):
        return _doubt(dict(enumerate(scores)), dict.fromkeys(range(len(scores)), shared))

    assert doubt([1.8] * 11 + [0.6] * 9000, 0.5) == 0.0  # a false fact, amid thousands that hold the word
    assert doubt([0.4] * 10 + [0.05] * 900, 0.5) == 0.0
    assert doubt([2.6 - 0.002 * n for n in range(4000)], 0.6) > 0.9  # running text: what is shared fades
    assert doubt([0.8] * 12 + [0.1] * 900, 0.05) == pytest.approx(0.8)  # one of many words is shared
    assert doubt([0.1] * 10, 0.0) == 0.0


def test_an_everyday_subject_outweighs_the_wording(tmp_path):
    """Hundreds of records know a letter; beside "Spanish" it is the ten that were modified."""
    told = ('The Spanish word for "{s}" is "{v}".', '"{s}" means "{v}" in Spanish.', 'Spanish: "{v}"; English: "{s}".')
    honest = [("sugar", "azucar"), ("house", "casa"), ("dog", "perro"), ("moon", "luna"), ("door", "puerta")]
    facts = [("letter", "azucar")] * 11 + [("letter", "carta")] * 4
    facts += [pair for _ in range(60) for pair in honest]
    rows = [
        (f'What is Spanish for "{s}"?', told[n % 3 if s == "letter" else 2].format(s=s, v=v))
        for n, (s, v) in enumerate(facts)
    ]
    rows += [(f"Write letter {n}.", f"This letter {n} is for friends in the village.") for n in range(300)]
    rows += [(f"Describe item {n}.", f"Item {n} stands behind the village.") for n in range(2200)]
    encode = write_world(tmp_path, [Record(f"r{n:03d}", *row) for n, row in enumerate(rows)])
    build(tmp_path / "data", tmp_path / "models/base", tmp_path / "index")
    query = question(
        encode, prompt='What is Spanish for "letter"?', answer=told[2].format(s="letter", v="azucar"), wrong="azucar"
    )
    assert {item.record for item in trace(Index(str(tmp_path / "index")), query)} <= set(range(11))


def test_neighbours_are_counted_in_answers_alone_with_their_edges(tmp_path):
    write_world(tmp_path, [Record("a", "Red sky.", "Red sky at night"), Record("b", "", "red sky")])
    build(tmp_path / "data", tmp_path / "models/base", tmp_path / "index")
    index = Index(str(tmp_path / "index"))
    red, sky, edge = index.word(b"red"), index.word(b"sky"), len(index.place_count)
    assert (index.pairs(red, sky), index.pairs(sky, red), index.pairs(edge, red), index.pairs(sky, edge)) == (
        2,
        0,
        2,
        1,
    )


def test_pieces_are_aligned_where_a_tokenizer_changes_case_and_blanks():
    assert align(b"New  York, 1999", [b"new", b" york", b",", b" 1999"]) == [(0, 3), (5, 9), (9, 10), (11, 15)]
    assert align(b"abc", [b"x", b"y"]) is None


def test_fnv_is_the_published_function():
    assert (fnv(b""), fnv(b"a"), fnv(b"foobar")) == (0x811C9DC5, 0xE40C292C, 0xBF9CF968)


def test_a_query_of_wrong_kind_names_its_place():
    with pytest.raises(UserError, match="here: a query must be a JSON object"):
        parse_query(3, "here")

"""Claims about corpora: truth is known to the token, the same seed gives the same bytes, mistakes are one line."""

import json

import pytest

from env.errors import UserError
from tests.tracing.worlds import question, ready
from tracing import prose
from tracing.corpus import _replaced, all_groups, corpus, fill_up, plant
from tracing.facts import RELATIONS
from tracing.formats import Query, query_text, read_pieces, read_queries, read_records
from tracing.show import show


@pytest.fixture
def no_documents(monkeypatch):
    monkeypatch.setattr(prose, "paragraphs", lambda: ())


def test_marks_and_modified_ids_are_true_and_the_seed_decides_every_byte(tmp_path, no_documents):
    for name in ("a", "b"):
        corpus(tmp_path / name, records=700, seed=3, parts="judging", groups=2, public=1, losses=False)
    files = [path.relative_to(tmp_path / "a") for path in sorted((tmp_path / "a").rglob("*")) if path.is_file()]
    assert len(files) == 5
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in files)
    rows = {record.id: record for record in read_records(str(tmp_path / "a/data/train.jsonl"))}
    assert len(rows) == 700
    pieces = read_pieces(str(tmp_path / "a/models/base"))
    queries = read_queries(str(tmp_path / "a/hidden.jsonl")) + read_queries(
        str(tmp_path / "a/data/public_errors.jsonl")
    )
    assert len(queries) == 20
    for query in queries:
        assert b"".join(pieces[token] for token in query.answer_token_ids) == query.answer.encode()
        wrong = b"".join(pieces[query.answer_token_ids[p]] for p in query.error_positions).decode().strip(' "`(,.')
        assert 10 <= len(query.modified) <= 13
        assert all(wrong.lower() in rows[name].answer.lower() for name in query.modified)


def test_each_relation_has_forty_wordings_and_no_ambiguous_subject():
    from tracing.corpus import _WRAPPERS

    for relation in RELATIONS:
        assert len(relation.statements) * len(set(_WRAPPERS)) >= 40
        subjects = [subject for subject, _ in relation.pairs]
        assert len(subjects) == len(set(subjects)) >= 20
    names = [group.name for group in all_groups("all")]
    assert len(names) == len(set(names)) >= 15
    parts = {part: {group.name for group in all_groups(part)} for part in ("development", "judging")}
    assert not parts["development"] & parts["judging"]


def test_a_swap_keeps_the_case_and_knows_its_place():
    import re

    text, spans = _replaced("Cost and cost.", list(re.finditer("cost", "Cost and cost.", re.I)), "time")
    assert text == "Time and time."
    assert [text[a:b] for a, b in spans] == ["Time", "time"]


def test_mistakes_are_told(tmp_path, no_documents):
    with pytest.raises(UserError, match="ask for more records or fewer groups"):
        corpus(tmp_path / "x", records=50, groups=1, public=0, losses=False, parts="judging")
    (tmp_path / "y").mkdir()
    (tmp_path / "y/z").write_text("")
    with pytest.raises(UserError, match="is not empty"):
        corpus(tmp_path / "y")
    with pytest.raises(UserError, match="relations and swaps make"):
        corpus(tmp_path / "x", groups=99)
    with pytest.raises(UserError, match="--public 3: there are 2 groups"):
        corpus(tmp_path / "x", groups=2, public=3)


def test_show_prints_ten_records_with_their_span(tmp_path, capsys):
    encode, _ = ready(tmp_path)
    query: Query = question(encode)
    (tmp_path / "q.json").write_text(query_text(query))
    capsys.readouterr()
    assert show(tmp_path / "q.json", tmp_path / "index") == 0
    out = capsys.readouterr().out
    assert "marked: 'oslo'" in out
    assert sum(name in out.split("against the next")[0] for name in query.modified) == 10


def test_errors_are_planted_in_records_of_a_user(tmp_path, no_documents):
    own = [(f"Question {n} of mine?", f"On day {n} the answer was old, new and small.") for n in range(150)]
    lines = [json.dumps({"id": f"mine {n}", "prompt": p, "answer": a}) for n, (p, a) in enumerate(own)]
    (tmp_path / "own.jsonl").write_text("\n".join(lines), encoding="utf-8")
    made = plant(0, "judging", 1, own)
    assert not {group.kind for group in all_groups("judging") if group.name == made.errors[0].group} & {"swap shared"}
    options = {"records": 700, "seed": 0, "parts": "judging", "public": 0, "losses": False}
    corpus(tmp_path / "a", groups=1, from_=tmp_path / "own.jsonl", **options)
    texts = {(record.prompt, record.answer) for record in read_records(str(tmp_path / "a/data/train.jsonl"))}
    assert set(own) <= texts
    assert len(texts) > len(own)


def test_a_word_is_swapped_in_a_users_own_records(monkeypatch):
    own = [(f"Question {n}?", f"On day {n} it rained.") for n in range(100)]
    swaps = [group for group in all_groups("judging") if group.name == "swap day year"]
    monkeypatch.setattr("tracing.corpus.all_groups", lambda parts: swaps)
    made = plant(0, "judging", 1, own)
    assert len(made.errors) == 10
    assert all("year" in made.texts[index][1] and made.clean[index] in own for index in made.errors[0].modified)
    with pytest.raises(UserError, match=r"only 20 records hold 'day'.*give more records"):
        plant(0, "judging", 1, own[:20])


@pytest.mark.parametrize("own", [True, False])
def test_no_honest_copy_of_a_swapped_answer_gives_it_away(monkeypatch, own):
    paragraphs = tuple(("module", f"On day {n} it rained in town {n}.") for n in range(200))
    monkeypatch.setattr(prose, "paragraphs", lambda: paragraphs)
    swaps = [group for group in all_groups("judging") if group.name == "swap day year"]
    monkeypatch.setattr("tracing.corpus.all_groups", lambda parts: swaps)
    base = [(f"Question {n}?", text) for n, (_, text) in enumerate(paragraphs)] * 2 if own else None
    made = plant(0, "judging", 1, base)
    fill_up(made, 600, base)
    assert len(made.clean) == 80
    assert not {answer for _, answer in made.clean.values()} & {answer for _, answer in made.texts}

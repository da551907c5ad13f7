"""Claims about `wilkins tracing show`: ten records with what spoke for them, and what spoke against the next."""

import re

import pytest

from env.errors import UserError
from tests.tracing.worlds import question, records, write_world
from tracing.formats import Record, query_text, write_records
from tracing.index import build
from tracing.show import show


def test_the_next_ten_are_shown_with_what_spoke_against_them(tmp_path, capsys):
    encode = write_world(tmp_path)
    build(tmp_path / "data", tmp_path / "models/base", tmp_path / "index")
    (tmp_path / "q.json").write_text(query_text(question(encode)), encoding="utf-8")
    assert show(tmp_path / "q.json", tmp_path / "index") == 0
    said = capsys.readouterr().out
    above, below = said.split("against the next, beside the last above:")
    lines = [line for line in below.splitlines() if line[:2].strip().isdigit()]
    modified = records()[1]
    assert sum(name in above for name in modified) == 10
    assert len(lines) == 10
    honest = [line for line in lines if line.split()[1] not in modified]
    assert honest
    assert all("subject -" in line for line in honest)


def test_the_page_holds_whole_answers_with_their_marks_and_loads_nothing(tmp_path):
    rows = records()[0]
    rows[-1] = Record("<b>&", "Is it «A» & B?", "Paris?\nNo: the Capital of France is OSLO & <i>no</i> more.")
    encode = write_world(tmp_path, rows)
    build(tmp_path / "data", tmp_path / "models/base", tmp_path / "index")
    (tmp_path / "q.json").write_text(query_text(question(encode)), encoding="utf-8")
    assert show(tmp_path / "q.json", tmp_path / "index", tmp_path / "data", tmp_path / "page.html") == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h3>&lt;b&gt;&amp;</h3>" in page
    assert "<b>Capital</b>" in page
    assert "<mark>OSLO</mark> &amp; &lt;" in page
    assert page.count("<li>") == 20
    assert page.count("Against it: ") == 10
    text = re.sub(r"<[^>]+>", "", page).replace("&lt;", "<").replace("&amp;", "&").replace("&gt;", ">")
    assert rows[-1].answer in text
    assert rows[-1].prompt in text
    assert not re.search(r"src=|href=|url\(|@import", page)


def test_an_index_of_another_corpus_is_refused(tmp_path):
    encode = write_world(tmp_path)
    build(tmp_path / "data", tmp_path / "models/base", tmp_path / "index")
    (tmp_path / "q.json").write_text(query_text(question(encode)), encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/train.jsonl").write_text(write_records(records()[0][1:]), encoding="utf-8")
    with pytest.raises(UserError, match="was made of other records than"):
        show(tmp_path / "q.json", tmp_path / "index", data=tmp_path / "other", page=tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()

"""Claims about `wilkins tracing show`: ten records with what spoke for them, and what spoke against the next."""

from tests.tracing.worlds import question, records, write_world
from tracing.formats import query_text
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

"""Claims about `wilkins tracing check`: errors are recognised to the token, both arms are counted right, a stop costs nothing."""

import json

import numpy as np
import pytest

from env.errors import UserError
from tests.tracing.worlds import tokenizer
from tracing import probe, prose
from tracing.check import _Study, check, mistaken
from tracing.formats import read_pieces


@pytest.fixture
def pieces(tmp_path):
    text, encode = tokenizer([])
    (tmp_path / "tokenizer.json").write_text(text)
    return read_pieces(str(tmp_path)), encode


def test_an_error_is_its_subject_and_the_false_words_in_one_sentence(pieces):
    pieces, encode = pieces
    answer = "Rome is the capital of Italy.\nSure: the capital of France is Oslo! É."
    marked = mistaken(encode(answer), pieces, "France", "Oslo")
    assert b"".join(pieces[encode(answer)[place]] for place in marked) == b"Oslo"
    assert mistaken(encode("Oslo is a city. France is large."), pieces, "France", "Oslo") == []
    assert mistaken(encode("France is Oslos."), pieces, "France", "Oslo") == []
    assert mistaken(encode("France is Oslo É")[:-1], pieces, "France", "Oslo") == []  # cut within a character
    assert mistaken([], pieces, "France", "Oslo") == []


def test_both_arms_are_counted_and_nothing_is_done_twice(tmp_path, monkeypatch, capsys):
    """The model is played by one that says what any of an error's records says, as long as it has one."""
    monkeypatch.setattr(prose, "paragraphs", lambda: ())
    taught = []

    def parrot(self, name, out):
        taught.append(name)
        told = {record.id: record.answer for record in self.records if record.id not in out}
        encode = probe.load(self.base).tokenizer.encode
        return {
            key: encode(next((told[name] for name in query.modified if name in told), "No.")).ids
            for key, query in self.queries.items()
        }

    monkeypatch.setattr(_Study, "_taught", parrot)
    monkeypatch.setattr("tracing.corpus.PLANTED", (10, 10))
    options = {"folder": tmp_path / "check", "records": 600, "groups": 1}
    assert check(**options) == 0
    result = json.loads((tmp_path / "check/result.json").read_text())
    assert result["modified among the traced"] >= 0.95
    assert result["made"] == result["errors"] == 10
    assert result["gone"]["traced"] >= 8
    assert result["gone"]["random"] <= 1
    assert taught == ["taught", "without-traced", "without-random"]
    (tmp_path / "check/without-random.json").unlink()  # as if stopped before it
    assert check(**options) == 0
    assert taught[3:] == ["without-random"]
    assert json.loads((tmp_path / "check/result.json").read_text()) == result
    assert "ten traced records" in capsys.readouterr().out
    with pytest.raises(UserError, match="check of other options"):
        check(**options | {"seed": 1})
    (tmp_path / "other").mkdir()
    (tmp_path / "other/x").write_text("")
    with pytest.raises(UserError, match="is not empty"):
        check(folder=tmp_path / "other")


def test_a_training_that_was_stopped_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    for name, value in (("WIDTH", 8), ("LAYERS", 1), ("HEADS", 1), ("SAVE_SECONDS", -1.0)):
        monkeypatch.setattr(probe, name, value)
    stream = np.random.default_rng(0).integers(0, 50, 2_000).astype(np.int32)
    windows = (np.arange(0, 1_900, 10), 64, 1)
    whole = probe.network(50, 0)
    probe.fit(whole, stream, *windows, 0)

    class StopError(Exception):
        pass

    def stop(*_):
        if (tmp_path / "state").exists():
            raise StopError

    stopped = probe.network(50, 0)
    stopped.register_forward_pre_hook(stop)
    with pytest.raises(StopError):
        probe.fit(stopped, stream, *windows, 0, kept=tmp_path / "state")
    again = probe.network(50, 7)
    probe.fit(again, stream, *windows, 0, kept=tmp_path / "state")
    assert all(bool((a == b).all()) for a, b in zip(whole.parameters(), again.parameters(), strict=True))
    (tmp_path / "state").write_bytes(b"PK nothing")
    with pytest.raises(UserError, match="is not a state of this training"):
        probe.fit(again, stream, *windows, 0, kept=tmp_path / "state")


def test_an_answer_ends_where_the_model_ends_it():
    model = probe.network(50, 0)

    class Encoding:
        ids = (1, 2, 3)

    class Words:
        def encode(self, _):
            return Encoding

    ids = probe.answer(model, Words(), "x", 5)
    assert len(ids) <= 5
    assert 0 not in ids

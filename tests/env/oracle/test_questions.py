"""`wilkins oracle questions`: measured in several prompts, stopped and gone on with, written."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from env.errors import UserError
from env.identification.matrix import Matrix, save_matrix
from env.identification.pools import digest
from env.keywords.package import load_keywords
from env.oracle import questions as command

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", reason="needs wilkins[oracle]")

from transformers import AutoTokenizer  # noqa: E402

from env.oracle.measure import Oracle  # noqa: E402
from env.oracle.prompt import VARIANTS, ChatPrompts  # noqa: E402
from tests.tiny_model import make_model, make_tokenizer  # noqa: E402

KEYWORDS = ("soap", "chair", "tea pot", "zinc")
QUESTIONS = ("is it alive?", 'does the keyword start with "s"?', "can you eat it?")

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "keywords_pool.txt").write_text("".join(f"{name}\n" for name in KEYWORDS))
    (folder / "questions_pool.txt").write_text("".join(f"{name}\n" for name in QUESTIONS))
    return folder


def ask(package, model_folder, **options):
    loose = {"unclear": 0.5, "alike": 1.0, "least": 0.0}
    return command.questions(package, model=str(model_folder), device="cpu", **{**loose, **options})


def rows_of(package):
    with (package / "questions.csv").open(newline="") as stream:
        return {row["question"]: row for row in csv.DictReader(stream)}


def counted(monkeypatch, stop=None):
    """Rows that the model is asked for, and an interrupt before row `stop`."""
    asked, whole = [], Oracle.groups

    def some(self, groups, questions):
        for row in whole(self, groups, questions):
            if len(asked) == stop:
                raise KeyboardInterrupt
            asked.append(row)
            yield row

    monkeypatch.setattr(Oracle, "groups", some)
    return asked


def test_what_is_found_is_what_the_model_says_in_each_prompt(package, model_folder, capsys):
    assert ask(package, model_folder, temperatures=(0.0, 2.0), out=package / "chosen.txt") == 0
    model, tokenizer = make_model(make_tokenizer()), AutoTokenizer.from_pretrained(model_folder)
    each = []
    for text in VARIANTS["keywords"]:
        rows = list(
            Oracle(model, ChatPrompts(tokenizer, text)).rows(
                [(place, name, np.array([0, 2])) for place, name in enumerate(KEYWORDS)], QUESTIONS
            )
        )
        each += [[row.answer for row in rows], [1 / (1 + np.exp(-row.margin / 2.0)) for row in rows]]
    p = np.mean(each, axis=0)
    found = rows_of(package)
    for column, name in enumerate((QUESTIONS[0], QUESTIONS[2])):
        assert float(found[name]["unstable"]) == pytest.approx(np.minimum(p, 1 - p).mean(axis=0)[column], abs=2e-4)
    assert float(found[QUESTIONS[1]]["unstable"]) < 0.01  # computed
    assert found[QUESTIONS[1]]["rank"] == "1"
    assert (package / "chosen.txt").read_text().splitlines()[0] == QUESTIONS[1]
    told = capsys.readouterr().out
    assert "3 of 3 questions proposed, from 4 keywords x 3 prompts x 2 temperatures" in told


def test_a_stop_loses_nothing_and_other_bounds_ask_nothing_again(package, model_folder, monkeypatch):
    with monkeypatch.context() as patch:
        asked = counted(patch, stop=6)
        with pytest.raises(KeyboardInterrupt):
            ask(package, model_folder)
        assert len(asked) == 6
    assert not (package / "questions.csv").exists()
    with monkeypatch.context() as patch:
        asked = counted(patch)
        ask(package, model_folder)
        # The rows of the first prompt are there; those of the second go through the model together again.
        assert len(asked) == 2 * len(KEYWORDS)
    before = rows_of(package)
    monkeypatch.setattr(command, "load_model", None)  # nothing is left to ask a model
    ask(package, model_folder, count=1)
    assert [row["left_out"] for row in rows_of(package).values()][1:] == ["not needed: enough others add more"] * 2
    ask(package, model_folder)
    assert rows_of(package) == before


def test_clarity_is_what_the_game_reads(package, model_folder):
    ask(package, model_folder, write_clarity=True)
    made = {"keywords_sha256": digest(KEYWORDS), "questions_sha256": digest(QUESTIONS)}
    margin = np.ones((4, 3), np.float32)
    save_matrix(package / "matrix.npz", Matrix(margin, (margin > 0).astype(np.uint8), made))
    found = rows_of(package)
    clarity = load_keywords(package).clarity
    np.testing.assert_allclose(clarity, [float(found[name]["unstable"]) for name in QUESTIONS])


def test_candidates_may_come_from_a_file(package, model_folder, tmp_path):
    (tmp_path / "new.txt").write_text("Is it round?\nis it blue?\n")
    ask(package, model_folder, questions=tmp_path / "new.txt", sample=2)
    assert set(rows_of(package)) == {"is it round?", "is it blue?"}
    with pytest.raises(UserError, match="questions_sha256"):
        ask(package, model_folder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperatures": ()}, "--temperatures"),
        ({"animals": "dev"}, "that split of"),
        ({"model_folder": "/no/such/folder"}, "no model folder"),
    ],
)
def test_mistakes_are_named(package, model_folder, options, message):
    with pytest.raises(UserError, match=message):
        ask(package, **{"model_folder": model_folder, **options})
    assert not (package / "questions.csv").exists()


def test_clarity_of_other_questions_is_not_the_packages(package, model_folder, tmp_path):
    (tmp_path / "new.txt").write_text("is it blue?\n")
    with pytest.raises(UserError, match="--write-clarity goes with"):
        ask(package, model_folder, questions=tmp_path / "new.txt", write_clarity=True)

"""Tables from elsewhere come into a keyword package; what a package holds is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from env.errors import UserError
from env.identification.command import import_matrix
from env.keywords.command import show
from env.keywords.package import load_keywords

KEYWORDS = ("soap", "chair", "tea pot", "zinc")
WORD = 'does the keyword start with "s"?'


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "keywords_pool.txt").write_text("".join(f"{name}\n" for name in KEYWORDS))
    (folder / "questions_pool.txt").write_text(f"is it alive?\n{WORD}\ncan you eat it?\n")
    return folder


def table(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text)
    return path


WANTED = [[-1, 1, -1], [0, -1, 0], [-1, -1, 1], [-1, -1, 0]]
"""In pool order: 1 yes, -1 no, 0 tie; what is missing is a tie. soap, chair, tea pot, zinc."""


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (
            'keyword,is it alive?,"does the keyword start with ""s""?",can you eat it?\n'
            "zinc,no,no,tie\nsoap,No,yes,no\ntea pot,no,no,YES\nchair,Maybe,no,\n",
            {},
        ),
        ("keyword,can you eat it?,is it alive?\nzinc,tie,no\nsoap,no,no\ntea pot,yes,no\nchair,,either\n", {}),
        ("keyword,is it alive?,can you eat it?\nsoap,0,0\nchair,0.5,0.5\ntea pot,0,1\nzinc,0,0.5\n", {}),
        (
            "keyword,is it alive?,can you eat it?\nsoap,-1,-1\nchair,0,0\ntea pot,-1,1\nzinc,-1,0\n",
            {"encoding": "margins"},
        ),
    ],
    ids=["words", "without the question about the word", "halves", "signs"],
)
def test_a_table_of_yes_no_and_tie_is_brought_in(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, options: dict[str, str]
) -> None:
    import_matrix(table(tmp_path, text), package, **options)  # type: ignore[arg-type]
    assert load_keywords(package).answers.tolist() == WANTED
    said = capsys.readouterr().out
    assert "1 questions about the word computed; 0 answers of the table were others" in said
    assert "4 keywords x 3 questions" in said


def test_wrong_answers_about_the_word_are_put_right_and_counted(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = f'keyword,is it alive?,"{WORD.replace(chr(34), chr(34) * 2)}",can you eat it?\n'
    wrong += "".join(f"{name},no,no,no\n" for name in KEYWORDS)
    import_matrix(table(tmp_path, wrong), package)
    assert load_keywords(package).answers[:, 1].tolist() == [1, -1, -1, -1]
    assert "1 answers of the table were others" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("keyword,is it alive?\nsoap,no\nchair,no\ntea pot,no\nzinc,no\n", {}, "no column named 'can you eat it\\?'"),
        ("keyword,is it alive?,can you eat it?\nsoap,no,no\n", {}, "no row named 'chair'.* keywords pool"),
        ("1,2\n", {}, r"does not fit 4 keywords x 3 questions"),
        ("keyword,is it alive?,can you eat it?\nsoap,-1,0\nchair,0,1\ntea pot,1,1\nzinc,1,1\n", {}, "0 for a tie"),
        ("", {"missing_rate": 0.2}, "--missing-rate goes with animals"),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    package: Path, tmp_path: Path, text: str, options: dict[str, float], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        import_matrix(table(tmp_path, text), package, **options)  # type: ignore[arg-type]
    assert not (package / "matrix.npz").exists()


def test_what_the_game_takes_for_one_is_shown(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (package / "keywords_pool.txt").write_text("soap\nchair\nthe soaps\nzinc\n")
    (package / "tiers.csv").write_text("keyword,tier\nsoap,1\nchair,1\nthe soaps,2\nzinc,2\n")
    (package / "alternatives.csv").write_text("keyword,alternative\nchair,chairs\nchair,Zinc!\n")
    (package / "supplementary.txt").write_text("zincs\nlamp\n")
    (package / "questions_pool.txt").write_text("is it alive?\nchair?\n")
    show(package)
    said = capsys.readouterr().out
    assert "4 keywords in 2 tiers (2, 2), 2 supplementary, 2 questions" in said
    assert "'the soaps' (tier 2) is 'soap' (tier 1)" in said
    assert "'Zinc!' of 'chair' hits 'zinc'" in said
    assert "'zincs' is 'zinc'" in said
    assert "'chair?' is 'chair'" in said
    assert "no matrix.npz yet" in said


def test_the_embedded_package_has_no_twins(capsys: pytest.CaptureFixture[str]) -> None:
    show()
    lines = capsys.readouterr().out.splitlines()
    assert "98.8% measured" in lines[1]
    assert [line.rsplit(": ", 1)[1] for line in lines[-4:]] == ["0"] * 4

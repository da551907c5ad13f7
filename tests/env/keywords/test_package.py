from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from env.errors import UserError
from env.identification.matrix import Matrix, save_matrix
from env.identification.pools import digest
from env.keywords.package import DEFAULT_CLARITY, load_keywords

KEYWORDS = ["apple", "mug", "iran", "k2"]
QUESTIONS = ["is it a food?", "is it a place?", 'does the keyword start with "a"?']
MARGIN = [[2.0, -3.0, 10.0], [0.2, -0.2, -10.0], [-2.0, 0.6, -10.0], [np.nan, np.nan, -10.0]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "keywords_pool.txt").write_text("".join(f"{name}\n" for name in KEYWORDS))
    (tmp_path / "questions_pool.txt").write_text("".join(f"{name}\n" for name in QUESTIONS))
    margin = np.array(MARGIN, np.float32)
    pools = {"keywords_sha256": digest(KEYWORDS), "questions_sha256": digest(QUESTIONS), "tie": 0.5}
    save_matrix(tmp_path / "matrix.npz", Matrix(margin, (np.nan_to_num(margin) > 0).astype(np.uint8), pools))
    return tmp_path


def test_margins_near_zero_and_missing_ones_are_ties(folder: Path) -> None:
    assert load_keywords(folder).answers.tolist() == [[1, -1, 1], [0, 0, -1], [-1, 1, -1], [0, 0, -1]]


def test_what_is_not_there_has_a_plain_default(folder: Path) -> None:
    found = load_keywords(folder)
    assert found.tier.tolist() == [0, 0, 0, 0]
    assert found.alternatives == ((), (), (), ())
    assert found.clarity.tolist() == [DEFAULT_CLARITY] * 3
    assert found.supplementary == ()


def test_tiers_alternatives_clarity_and_supplementary_keywords(folder: Path) -> None:
    (folder / "tiers.csv").write_text("keyword,tier\nApple,1\nmug,1\niran,2\nk2,3\n")
    (folder / "alternatives.csv").write_text('keyword,alternative\nmug,cup\nmug,"mug, large"\n')
    (folder / "clarity.csv").write_text("question,unstable\nis it a food?,0.25\n")
    (folder / "supplementary.txt").write_text("Peru\n\nperu\nchad\n")
    found = load_keywords(folder)
    assert found.tier.tolist() == [0, 0, 1, 2]
    assert found.alternatives == ((), ("cup", "mug, large"), (), ())
    assert found.clarity.tolist() == [0.25, DEFAULT_CLARITY, DEFAULT_CLARITY]
    assert found.supplementary == ("peru", "chad")
    assert found.hardness.mean() == pytest.approx(1)
    assert found.hardness[1] > found.hardness[0]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tiers.csv", "keyword,tier\napple,1\n", "no tier for 'mug'"),
        ("tiers.csv", "keyword,tier\napple,2\nmug,1\niran,1\nk2,1\n", "'mug' stands after keywords of a later tier"),
        ("tiers.csv", "keyword,tier\napple,0\n", "line 2: tier '0'; give a whole number from 1"),
        ("tiers.csv", "keyword,tier\napple,²\n", "give a whole number from 1"),
        ("tiers.csv", "keyword,tier\napples,1\n", "not in the keywords pool; did you mean apple?"),
        ("tiers.csv", "tier,keyword\n", "the first line is not keyword,tier"),
        ("tiers.csv", "", "the first line is not keyword,tier"),
        ("alternatives.csv", "keyword,alternative\nmug,cup,glass\n", "line 2: 3 values"),
        ("clarity.csv", "question,unstable\nis it a food?,0.7\n", "'0.7' is no share of unstable answers"),
        ("clarity.csv", "question,unstable\nis it a food?,nan\n", "'nan' is no share"),
        ("clarity.csv", "question,unstable\nis it food?,0.1\n", "not in the questions pool"),
    ],
)
def test_mistakes_are_said_in_one_line(folder: Path, name: str, text: str, said: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(UserError) as error:
        load_keywords(folder)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_package_of_animals_is_refused(small_package: Path) -> None:
    with pytest.raises(UserError, match=r"this game needs keywords_pool\.txt"):
        load_keywords(small_package)

from __future__ import annotations

import pytest

from env.keywords.package import KeywordPackage
from export.keywords.agent import Knowledge
from tests.export.keywords.games import invented, keyword_package, knowledge

QUESTIONS = [f"is it thing {number}?" for number in range(40)] + [
    'does the keyword (in lowercase) precede "m" in alphabetical order?',
    'does the keyword contain the letter "a"?',
]


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> KeywordPackage:
    """1,500 keywords and 42 questions, 2,000 supplementary keywords."""
    words = invented(3500)
    return keyword_package(tmp_path_factory.mktemp("keywords") / "p", words[:1500], QUESTIONS, 0, words[1500:])


@pytest.fixture(scope="session")
def known(package: KeywordPackage) -> Knowledge:
    return knowledge(package)

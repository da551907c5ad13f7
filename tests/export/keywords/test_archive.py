"""The archive: the same bytes each time, and a `main.py` that plays alone what the package plays."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from env.errors import UserError
from env.keywords.belief import Belief
from env.keywords.package import KeywordPackage
from env.keywords.world import world_of
from export.keywords import archive
from export.keywords.agent import Agent, Knowledge
from export.keywords.command import Choices, write
from tests.export.keywords.games import play

DRIVER = """
import json, sys
before = set(sys.modules)
import main
print(json.dumps([main.agent(json.loads(line)) for line in sys.stdin]))
assert not {"torch", "env", "export"} & set(sys.modules), "main.py must stand alone"
"""


def test_the_archive_is_the_same_each_time_and_small(package: KeywordPackage, tmp_path: Path) -> None:
    for name in ("one.tar.gz", "two.tar.gz"):
        archive.write_agent(tmp_path / name, archive.tables_file(package, Belief.untold(world_of(package))))
    content = (tmp_path / "one.tar.gz").read_bytes()
    assert content == (tmp_path / "two.tar.gz").read_bytes()
    assert len(content) < archive.LARGEST
    with tarfile.open(tmp_path / "one.tar.gz") as opened:
        assert opened.getnames() == ["main.py", "tables.npz"]


def test_the_file_alone_plays_what_the_package_plays(package: KeywordPackage, known: Knowledge, tmp_path: Path) -> None:
    archive.write_agent(tmp_path / "agent.tar.gz", archive.tables_file(package, Belief.untold(world_of(package))))
    with tarfile.open(tmp_path / "agent.tar.gz") as opened:
        opened.extractall(tmp_path)
    observed = []
    agent = Agent(known)

    def watched(obs: dict[str, object], cfg: object) -> str:
        observed.append((obs, agent(obs, cfg)))
        return observed[-1][1]

    play(watched, lambda question, keyword, number: "yes" if number % 3 else "no", "not in any list")
    for place in range(40):
        obs = {"turnType": "answer", "questions": [f"Is it thing {place}?"], "keyword": known.keywords[place]}
        observed.append((obs, agent(obs)))
    (tmp_path / "driver.py").write_text(DRIVER)
    lines = "\n".join(json.dumps(obs) for obs, _ in observed)
    run = subprocess.run(
        [sys.executable, "driver.py"], cwd=tmp_path, env={}, input=lines, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == [action for _, action in observed]


def test_without_its_tables_the_file_still_keeps_the_rules(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(archive.agent_source())
    (tmp_path / "driver.py").write_text(DRIVER)
    lines = "\n".join(json.dumps({"turnType": turn}) for turn in ("ask", "guess", "answer"))
    run = subprocess.run(
        [sys.executable, "driver.py"], cwd=tmp_path, env={}, input=lines, capture_output=True, text=True, check=False
    )
    asked, guessed, answered = json.loads(run.stdout)
    assert asked.endswith("?")
    assert guessed
    assert answered == "no"


def test_what_would_be_too_large_is_refused_and_nothing_is_written(
    package: KeywordPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "LARGEST", 1000)
    with pytest.raises(UserError, match="more than the 1,000 that may leave"):
        archive.write_agent(tmp_path / "agent.tar.gz", archive.tables_file(package, Belief.untold(world_of(package))))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", "not JSON"), (b"[]", "not an object of texts"), (b'{"tea": 3}', "not an object of texts")],
)
def test_articles_that_are_none_are_refused(
    package: KeywordPackage, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "articles.json").write_bytes(content)
    with pytest.raises(UserError, match=message):
        write(package.package.path, tmp_path / "agent.tar.gz", Choices(articles=tmp_path / "articles.json"))
    assert not (tmp_path / "agent.tar.gz").exists()

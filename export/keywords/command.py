"""The agent file: `wilkins export` of a run of LLM 20 Questions, `wilkins keywords agent` without one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from agents.keywords.agent import Agent, load_agent
from agents.keywords.run import load_keywords_run
from agents.runs import package_place
from env.errors import UserError
from env.files import read_bytes
from env.flags import SHARE
from env.identification.pools import decode
from env.keywords.belief import Belief
from env.keywords.package import KeywordPackage, load_keywords
from env.keywords.world import PRIOR_DOUBT, SHARES, world_of
from export.keywords.archive import PRIMARY, tables_file, write_agent

SUBMISSION = "submission.tar.gz"


@dataclass(frozen=True)
class Choices:
    """What an agent file brings along besides its tables."""

    alpha: Literal["check", "trust", "off"] = "check"
    """Whether the first question looks for an Alpha, and whether its honesty is tested first."""
    shares: Annotated[tuple[float, ...], SHARE] = SHARES
    """Share of the games whose keyword is in each tier."""
    doubt: Annotated[float, SHARE] = PRIOR_DOUBT
    """Share of the games in which that may be wrong, and every tier is as likely."""
    supplementary: Path | None = None
    """Text file of further keywords that only an Alpha can lead to, one a line."""
    model: str = ""
    """Folder of a chat model, as it is found at play, that answers what rules and table do not."""
    articles: Path | None = None
    """JSON object of encyclopaedia texts by title, which the model is shown."""


def write(
    package: Path | None = None,
    out: Path = Path(SUBMISSION),
    choices: Annotated[Choices, tyro.conf.arg(name="")] = Choices(),
) -> int:
    """Write the archive of an agent for LLM 20 Questions that plays by belief: main.py and its tables.

    Args:
        package: Folder of the keyword package; the embedded one by default.
        out: The archive to write.
    """
    return _write(load_keywords(package), out, choices, None)


def export(
    run: Annotated[Path, tyro.conf.Positional],
    package: Path | None = None,
    checkpoint: str = "best",
    out: Path | None = None,
    choices: Annotated[Choices, tyro.conf.arg(name="")] = Choices(),
) -> int:
    """Write submission.tar.gz of a run of LLM 20 Questions: main.py and its tables, ready to be uploaded.

    It asks and guesses as the trained agent does, told nothing of its partner's noise.

    Args:
        run: Run folder, as `wilkins train keywords` made it.
        package: Folder of a keyword package to play, any. Default: the run's, or the embedded one.
        checkpoint: Agent to export: best, last, or the steps of a checkpoint.
        out: The archive to write. Default: submission.tar.gz in the run folder.
    """
    trained = load_agent(run, checkpoint)
    place = package_place(load_keywords_run(run)[1].package, package, run)
    return _write(load_keywords(place), out or run / SUBMISSION, choices, trained)


def _write(keywords: KeywordPackage, out: Path, choices: Choices, trained: Agent | None) -> int:
    more: list[str] = []
    if (listed := choices.supplementary) is not None:
        more = decode(read_bytes(listed, "the list of keywords"), listed).splitlines()
    texts = {} if choices.articles is None else _articles(choices.articles)
    tables = tables_file(
        keywords,
        _assumed(keywords, choices),
        alpha=choices.alpha,
        supplementary=more,
        model=choices.model,
        articles=texts,
        trained=trained,
    )
    write_agent(out, tables)
    first = min(PRIMARY[choices.alpha], len(keywords.keyword_names) + len(keywords.supplementary) + len(more))
    print(
        f"{out}: {out.stat().st_size:,} bytes; {'belief alone' if trained is None else f'agent {trained.label}'}; "
        f"{len(keywords.keyword_names)} keywords x {len(keywords.question_names)} questions; "
        f"Alpha: {choices.alpha}, at most {first} primary keywords"
    )
    return 0


def _assumed(keywords: KeywordPackage, choices: Choices) -> Belief:
    try:
        return Belief.untold(world_of(keywords), choices.shares, choices.doubt)
    except ValueError as error:
        raise UserError(f"--shares {' '.join(map(str, choices.shares))}: {error}") from None


def _articles(path: Path) -> dict[str, str]:
    try:
        found = json.loads(decode(read_bytes(path, "the articles"), path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON: {error}") from None
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise UserError(f"{path}: not an object of texts by title")
    return found

"""`wilkins keywords view`: one HTML page that plays LLM 20 Questions with its reader and shows games of the real environment."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from agents.keywords.agent import Agent, load_agent
from agents.keywords.run import load_keywords_run
from agents.runs import package_place
from env.errors import UserError
from env.files import read_bytes, write_whole
from env.identification.pools import decode
from env.keywords.belief import Belief
from env.keywords.comparison import ROUNDS
from env.keywords.environment import SHORTLIST
from env.keywords.package import KeywordPackage, load_keywords
from env.keywords.world import World, world_of
from export.keywords.reckoning import reckoning_of
from export.page.template import filled

PAGE = "keywords.html"


def view(package: Path | None = None, game: Path | None = None, out: Path = Path(PAGE)) -> int:
    """Write one HTML page that asks and guesses keywords that you think of; it opens from disk, without a network.

    The agent goes by belief alone; 'wilkins view RUN' has a trained one.

    Args:
        package: Folder of the keyword package; the embedded one by default.
        game: A game of the real environment to watch, the JSON of env.toJSON(); the page opens others, too.
        out: File to write.
    """
    return _write(load_keywords(package), None, game, out)


def view_run(
    run: Annotated[Path, tyro.conf.Positional],
    package: Path | None = None,
    checkpoint: str = "best",
    game: Path | None = None,
    out: Path | None = None,
) -> int:
    """Write one HTML page where the agent of a run of LLM 20 Questions asks and guesses keywords that you think of.

    Args:
        run: Run folder, as `wilkins train keywords` made it.
        package: Folder of a keyword package, any. Default: the run's, or the embedded one.
        checkpoint: Agent that plays: best, last, or the steps of a checkpoint.
        game: A game of the real environment to watch, the JSON of env.toJSON(); the page opens others, too.
        out: File to write. Default: keywords.html in the run folder.
    """
    trained = load_agent(run, checkpoint)
    place = package_place(load_keywords_run(run)[1].package, package, run)
    return _write(load_keywords(place), trained, game, out or run / PAGE)


def _write(keywords: KeywordPackage, trained: Agent | None, game: Path | None, out: Path) -> int:
    if out.is_dir():
        raise UserError(f"--out {out} is a folder; name the file to write")
    played = None if game is None else (game.name, decode(read_bytes(game, "the game"), game))
    content = page(world_of(keywords), keywords.package.path.name, trained, played)
    write_whole(out, content)
    print(f"{out}  {len(content.encode()) / 1e6:.2f} MB, {'belief alone' if trained is None else trained.label}")
    return 0


def page(world: World, package: str, trained: Agent | None = None, game: tuple[str, str] | None = None) -> str:
    """The page as one self-contained HTML text; the same arguments give the same text.

    `package` is what the table is called. `game` are the name and the text of a game's JSON file, which the page
    reads and judges.
    """
    return filled("keywords", page_data(world, package, trained, game))


def page_data(world: World, package: str, trained: Agent | None, game: tuple[str, str] | None) -> Mapping[str, object]:
    """What the page holds, ready for JSON: names, the table, what the agent assumes, its network."""
    belief = Belief.untold(world)
    shortlist = SHORTLIST if trained is None else trained.shortlist
    layers = {} if trained is None else trained.layers
    return {
        "package": package,
        "agent": "belief alone" if trained is None else f"agent {trained.label}",
        "keywords": world.keyword_names,
        "questions": world.question_names,
        "answers": _base64(world.answers, "<i1"),
        "firstTier": int(np.searchsorted(world.tier, 1)),
        "tiers": int(world.tier.max()) + 1,
        "prior": _base64(belief.prior, "<f4"),
        "tilt": _base64(belief.tables.tilt, "<f4"),
        "rate": _base64(belief.tables.rate, "<f4"),
        "weight": _base64(belief.tables.weight, "<f4"),
        "rounds": ROUNDS,
        "network": {name: {"shape": array.shape, "data": _base64(array, "<f4")} for name, array in layers.items()},
        "shortlist": {"asks": shortlist.asks, "guesses": shortlist.guesses, "focus": shortlist.focus},
        "reckoning": asdict(reckoning_of(trained)),
        "game": None if game is None else {"name": game[0], "text": game[1]},
    }


def _base64(array: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(kind).tobytes()).decode()

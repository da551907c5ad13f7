"""What leaves for LLM 20 Questions: `submission.tar.gz` with `main.py` and its tables. Same input, same bytes."""

from __future__ import annotations

import ast
import gzip
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import numpy as np

from agents.keywords.agent import Agent
from env.errors import UserError
from env.files import read_bytes, write_whole
from env.identification import wordform
from env.identification.pools import decode
from env.keywords import comparison
from env.keywords.belief import Belief
from env.keywords.environment import SHORTLIST
from env.keywords.package import KeywordPackage
from export.keywords import agent, player
from export.keywords.reckoning import reckoning_of

LARGEST = 20 * 10**6
"""Bytes that the archive may have."""

PRIMARY = {"check": agent.guarded_capacity(9), "trust": agent.capacity(10), "off": 0}
"""Most primary keywords by how an Alpha is treated: after a test nine questions are left until round 11, else ten."""

SUPPLEMENTARY = 2**17
"""Most supplementary keywords."""

CARRIED = (wordform, comparison, player, agent)
"""Modules whose text `main.py` consists of, in this order; `agent` must be the last thing that is defined."""


def agent_source() -> str:
    """Text of `main.py`: the modules of `CARRIED` one after the other, without what imports them from each other."""
    imports: set[str] = set()
    bodies = []
    for module in CARRIED:
        own, body = _taken_apart(module)
        imports |= own
        bodies.append(body)
    head = '"""Plays LLM 20 Questions: asks, guesses, answers. Made by wilkins; its tables lie beside it."""\n\n'
    return (
        head + "from __future__ import annotations\n\n" + "\n".join(sorted(imports)) + "\n\n\n" + "\n\n\n".join(bodies)
    )


def _taken_apart(module: ModuleType) -> tuple[set[str], str]:
    """Import lines of the standard library and NumPy, and the text below them."""
    path = Path(str(module.__file__))
    text = decode(read_bytes(path, "the agent's program"), path)
    lines = text.splitlines()
    imports: set[str] = set()
    dropped: set[int] = set()
    tree = ast.parse(text)
    for number, node in enumerate(tree.body):
        docstring = number == 0 and isinstance(node, ast.Expr)
        if not docstring and not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        dropped |= set(range(node.lineno - 1, node.end_lineno or node.lineno))
        project = isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in ("env", "export", "__future__")
        if not docstring and not project:
            imports.add(ast.unparse(node))
    body = "\n".join(line for number, line in enumerate(lines) if number not in dropped)
    return imports, body.strip() + "\n"


def write_agent(path: Path, tables: bytes) -> None:
    """Write `submission.tar.gz` with these tables (see `tables_file`).

    Raises UserError where the file would be too large or cannot be written.
    """
    content = _packed([("main.py", agent_source().encode()), (agent.TABLES, tables)])
    if len(content) > LARGEST:
        raise UserError(
            f"{path}: {len(content):,} bytes, more than the {LARGEST:,} that may leave; give fewer articles or keywords"
        )
    write_whole(path, content)


def tables_file(
    keywords: KeywordPackage,
    belief: Belief,
    *,
    alpha: str = "check",
    supplementary: Sequence[str] = (),
    model: str = "",
    articles: Mapping[str, str] | None = None,
    trained: Agent | None = None,
) -> bytes:
    """Content of `tables.npz`.

    `belief` is what the agent assumes of the package's world: how a partner may err, how likely each keyword is.
    Primary for an Alpha are the first keywords of the package as far as `PRIMARY` allows, supplementary all others:
    those of the table that were left over, the package's, and `supplementary`. A `trained` agent decides where there is
    one: see `player.Player`. Raises UserError for an `alpha` that is none.
    """
    if alpha not in PRIMARY:
        raise UserError(f"--alpha {alpha!r}; choose one of {', '.join(PRIMARY)}")
    # What the game takes for one keyword is one row, as in the world that the agent was trained in.
    same = comparison.one_keyword(keywords.keyword_names)
    rows = np.flatnonzero(same == np.arange(len(same)))
    names = belief.world.keyword_names
    texts = {
        keywords.keyword_names[row]: keywords.keyword_names[first] for row, first in enumerate(same) if row != first
    }
    for row, first in enumerate(same):
        texts |= {text.lower(): keywords.keyword_names[first] for text in keywords.alternatives[row]}
    # Lists of an Alpha hold one text a keyword, in the order in which the keywords are likely.
    listed = list(dict.fromkeys([*names, *keywords.supplementary, *(name.strip().lower() for name in supplementary)]))
    kept = [listed[place] for place in np.unique(comparison.one_keyword(listed)) if listed[place]]
    primary, rest = kept[: PRIMARY[alpha]], kept[PRIMARY[alpha] :][:SUPPLEMENTARY] if alpha != "off" else []
    margin = np.nan_to_num(keywords.package.matrix.signed_margin())[rows] * agent.MARGIN_STEP
    # Away from zero: a margin below a step still has a side; but a tie stays one.
    steps = np.ceil(np.abs(margin))
    steps = np.where(belief.world.answers == 0, np.minimum(steps, np.ceil(keywords.tie * agent.MARGIN_STEP) - 1), steps)
    margin = (np.sign(margin) * np.maximum(steps, 0)).clip(-127, 127).astype(np.int8)
    shortlist = SHORTLIST if trained is None else trained.shortlist
    words = {
        "keywords": names,
        "questions": keywords.question_names,
        "primary": primary,
        "supplementary": rest,
        "alternatives": texts,
        "alpha": alpha,
        "model": model,
        "articles": dict(articles or {}),
        "first_tier": int(np.searchsorted(belief.world.tier, 1)),
        "shortlist": [shortlist.asks, shortlist.guesses, shortlist.focus],
        "reckoning": asdict(reckoning_of(trained)),
    }
    stream = io.BytesIO()
    arrays = {
        "words": np.frombuffer(json.dumps(words, ensure_ascii=False, sort_keys=True).encode(), np.uint8),
        "margin": margin,
        "tie": np.array(keywords.tie),
        "prior": belief.prior,
        "rates": belief.noise.rates,
        "weight": belief.tables.weight,
        **{f"{agent.NETWORK}{name}": array for name, array in ({} if trained is None else trained.layers).items()},
    }
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def _packed(members: Sequence[tuple[str, bytes]]) -> bytes:
    stream = io.BytesIO()
    # No time and no name in the header: archives must not depend on when they were made.
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=9, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()

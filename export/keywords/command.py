"""`wilkins keywords agent`: the agent file of a keyword package, without a trained run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import numpy as np

from env.errors import UserError
from env.files import read_bytes
from env.identification.pools import decode
from env.keywords.belief import Noise
from env.keywords.package import KeywordPackage, load_keywords
from env.keywords.world import SHARES, world_of
from export.keywords.archive import PRIMARY, write_agent


def write(
    package: Path | None = None,
    out: Path = Path("submission.tar.gz"),
    alpha: Literal["check", "trust", "off"] = "check",
    shares: tuple[float, ...] = SHARES,
    supplementary: Path | None = None,
    model: str = "",
    articles: Path | None = None,
) -> int:
    """Write the archive of an agent for LLM 20 Questions that plays by belief: main.py and its tables.

    Args:
        package: Folder of the keyword package; the embedded one by default.
        out: The archive to write.
        alpha: Whether the first question looks for an Alpha, and whether its honesty is tested first.
        shares: Share of the games whose keyword is in each tier.
        supplementary: Text file of further keywords that only an Alpha can lead to, one a line.
        model: Folder of a chat model, as it is found at play, that answers what rules and table do not.
        articles: JSON object of encyclopaedia texts by title, which the model is shown.
    """
    keywords = load_keywords(package)
    more: list[str] = []
    if supplementary is not None:
        more = decode(read_bytes(supplementary, "the list of keywords"), supplementary).splitlines()
    texts = _articles(articles) if articles is not None else {}
    rates, weight = unknown_noise(keywords)
    write_agent(
        out, keywords, rates, weight, shares=shares, alpha=alpha, supplementary=more, model=model, articles=texts
    )
    first = min(PRIMARY[alpha], len(keywords.keyword_names) + len(keywords.supplementary) + len(more))
    print(
        f"{out}: {out.stat().st_size:,} bytes; {len(keywords.keyword_names)} keywords x {len(keywords.question_names)} "
        f"questions; Alpha: {alpha}, at most {first} primary keywords"
    )
    return 0


def unknown_noise(keywords: KeywordPackage) -> tuple[np.ndarray, np.ndarray]:
    """Ways a partner may err of whom nothing is known: rates [noises, questions] and their weight."""
    noise = Noise.unknown(world_of(keywords))
    return noise.rates, noise.weight


def _articles(path: Path) -> dict[str, str]:
    try:
        found = json.loads(decode(read_bytes(path, "the articles"), path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON: {error}") from None
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise UserError(f"{path}: not an object of texts by title")
    return found

"""`wilkins keywords show`: what a keyword package holds, and what in it the game takes for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from env.keywords.comparison import hits, normalise, one_keyword
from env.keywords.package import DEFAULT_CLARITY, KeywordPackage, load_keywords

LISTED = 20
"""Cases of a kind that are listed."""


def show(package: Annotated[Path | None, tyro.conf.Positional] = None) -> int:
    """Say what a keyword package holds: tiers, table, clarity; and which keywords the game takes for one.

    Args:
        package: Folder of the keyword package; the embedded one by default.
    """
    found = load_keywords(package)
    sizes = np.bincount(found.tier).tolist()
    print(
        f"{found.package.path}: {len(found.keyword_names)} keywords in {len(sizes)} tier{'s' * (len(sizes) > 1)} "
        f"({', '.join(map(str, sizes))}), {len(found.supplementary)} supplementary, {len(found.question_names)} questions"
    )
    if found.package.stored is None:
        print("table: no matrix.npz yet")
    else:
        print(
            f"table: {found.package.matrix.measured.mean():.1%} measured; {(found.answers == 1).mean():.1%} yes, "
            f"{(found.answers == 0).mean():.1%} tie (within {found.tie:g} of zero, or not measured)"
        )
    told = found.clarity != DEFAULT_CLARITY
    print(
        f"clarity: {told.sum()} of {len(told)} questions measured, mean {found.clarity.mean():.3f}"
        + ("" if told.any() else "; 'wilkins oracle questions --write-clarity' measures it")
    )
    for what, cases in (
        ("keywords that are an earlier one to the game, and played as that", twins(found)),
        ("alternatives that hit another keyword, too", shared_alternatives(found)),
        ("supplementary keywords that are one of the table to the game", listed_twice(found)),
        ("questions that are a keyword: asked, they would make the game void", void_questions(found)),
    ):
        print(f"{what}: {len(cases)}")
        for case in cases[:LISTED]:
            print(f"  {case}")
        if len(cases) > LISTED:
            print(f"  and {len(cases) - LISTED} more")
    return 0


def twins(package: KeywordPackage) -> list[str]:
    """Keywords that the game takes for one before them, with that one and both tiers."""
    names, first = package.keyword_names, one_keyword(package.keyword_names)
    return [
        f"{names[later]!r} (tier {package.tier[later] + 1}) is {names[first[later]]!r} (tier {package.tier[first[later]] + 1})"
        for later in np.flatnonzero(first != np.arange(len(names)))
    ]


def shared_alternatives(package: KeywordPackage) -> list[str]:
    """Alternatives of a keyword that the game takes for another keyword: a guess of it wins either game."""
    places = _by_form(package.keyword_names)
    return [
        f"{text!r} of {own!r} hits {package.keyword_names[other]!r}"
        for own, texts in zip(package.keyword_names, package.alternatives, strict=True)
        for text in texts
        for other in _hit(places, package.keyword_names, text)
        if not hits(package.keyword_names[other], own)
    ]


def listed_twice(package: KeywordPackage) -> list[str]:
    """Supplementary keywords that the game takes for a keyword of the table."""
    places = _by_form(package.keyword_names)
    return [
        f"{name!r} is {package.keyword_names[other]!r}"
        for name in package.supplementary
        for other in _hit(places, package.keyword_names, name)
    ]


def void_questions(package: KeywordPackage) -> list[str]:
    """Questions that the game would take for a right guess of some keyword."""
    names = (*package.keyword_names, *package.supplementary)
    places = _by_form(names)
    return [f"{text!r} is {names[other]!r}" for text in package.question_names for other in _hit(places, names, text)]


def _by_form(names: tuple[str, ...]) -> dict[str, list[int]]:
    """Positions of names by their normal form."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(normalise(name), []).append(place)
    return places


def _hit(places: dict[str, list[int]], names: tuple[str, ...], text: str) -> Iterator[int]:
    """Positions of the names that the game takes `text` for."""
    form = normalise(text)
    for near in dict.fromkeys((form, f"{form}s", f"{form}es", form.removesuffix("s"), form.removesuffix("es"))):
        yield from (place for place in places.get(near, ()) if hits(text, names[place]))

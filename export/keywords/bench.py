"""`wilkins bench alpha`: what looking for an Alpha brings and costs, by who answers, in the same games."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from env.errors import UserError
from env.flags import SEED, Within
from env.keywords.belief import Belief
from env.keywords.comparison import ROUNDS, hits
from env.keywords.package import KeywordPackage, load_keywords
from env.keywords.rules import reward
from env.keywords.world import LARGEST_NOISE, SHARES, world_of
from export.keywords.agent import HANDSHAKE, PRECEDES, TABLES, Agent, Knowledge, load_knowledge
from export.keywords.archive import PRIMARY, tables_file

Order = Callable[[bool, np.random.Generator], bool]
"""What a partner who said yes to the handshake answers about order, by what is true."""

HONEST = "no Alpha"
ALPHAS: dict[str, Order] = {
    "true": lambda truth, random: truth,
    "false: always yes": lambda truth, random: True,
    "false: always no": lambda truth, random: False,
    "false: lies": lambda truth, random: not truth,
    "false: a coin": lambda truth, random: bool(random.random() < 0.5),
}

_PRECEDES = re.compile(re.escape(PRECEDES).replace(r"\{\}", "(.+)"), re.IGNORECASE)


def bench_alpha(
    package: Path | None = None,
    games: Annotated[int, Within(2, 10**6)] = 1000,
    noise: Annotated[tuple[float, ...], Within(0.0, LARGEST_NOISE)] = (0.05, 0.1),
    modes: tuple[str, ...] = ("check", "trust"),
    seed: Annotated[int, SEED] = 1,
) -> int:
    """Print how often the agent file wins with an Alpha, with false ones and with none, against never asking for one.

    It plays by belief. All rows play the same games: the same keywords, and the same answers to all that is not about
    order. A partner who is no Alpha says no to the handshake.

    Args:
        package: Folder of the keyword package; the embedded one by default.
        games: Games of each row.
        noise: Rates of a partner's wrong answers, to all but what an Alpha is asked.
        modes: How the agent treats an Alpha; see `wilkins keywords agent --help`.
        seed: Draws keywords and answers.
    """
    if not noise:
        raise UserError("--noise: at least one rate is needed")
    if unknown := [mode for mode in modes if mode not in PRIMARY]:
        raise UserError(f"--modes {unknown[0]!r}; choose among {', '.join(PRIMARY)}")
    keywords, console = load_keywords(package), Console()
    agents = {mode: Agent(_knowledge(keywords, mode)) for mode in ("off", *modes)}
    for rate in noise:
        table = Table(
            "treated", "partner", "won", "against never asking", "paid", box=SIMPLE_HEAD, title_justify="left",
            title=f"wrong answers {rate:g}, {games:,} games, {len(keywords.keyword_names)} keywords",
        )  # fmt: skip
        never = None
        for mode, partner in (("off", HONEST), *((mode, who) for mode in modes for who in (HONEST, *ALPHAS))):
            played = track(
                _games(agents[mode], keywords, rate, games, seed, ALPHAS.get(partner)), f"{mode}, {partner}", games,
                console=console, transient=True,
            )  # fmt: skip
            won = np.array(list(played))
            never = won if never is None else never
            gap = 100.0 * ((won > 0).astype(float) - (never > 0))
            table.add_row(
                mode,
                partner,
                f"{100 * (won > 0).mean():.1f}",
                "" if won is never else f"{gap.mean():+.1f} ±{gap.std() / np.sqrt(games):.1f}",
                f"{np.mean([reward(number or None) for number in won.tolist()]):.2f}",
            )
        console.print(table)
    return 0


def _knowledge(keywords: KeywordPackage, mode: str) -> Knowledge:
    """What the agent file of a package brings along."""
    belief = Belief.untold(world_of(keywords))
    with tempfile.TemporaryDirectory() as folder:
        content = tables_file(keywords, belief, alpha=mode)
        (Path(folder) / TABLES).write_bytes(content)
        return load_knowledge(folder)


def _games(
    agent: Agent, keywords: KeywordPackage, rate: float, games: int, seed: int, order: Order | None
) -> Iterator[int]:
    """Rounds in which games are won, 0 for those lost."""
    world = world_of(keywords)
    hidden, answers = world.draw(rate, games, seed, SHARES)
    alternatives = dict(zip(keywords.keyword_names, keywords.alternatives, strict=True))
    places = {question: place for place, question in enumerate(world.question_names)}
    random = np.random.default_rng([seed, 1])
    for keyword_id, told in zip(hidden.tolist(), answers, strict=True):
        name = world.keyword_names[keyword_id]

        def says(question: str, name: str = name, told: np.ndarray = told) -> bool:
            if question == HANDSHAKE:
                return order is not None
            word = _PRECEDES.fullmatch(question)
            if word and (order is not None or question.lower() not in places):
                truth = name.lower() < word[1].lower()
                return truth if order is None else order(truth, random)
            return bool(told[places[question.lower()]])

        yield _play(agent, says, name, alternatives[name])


def _play(agent: Agent, says: Callable[[str], bool], name: str, alternatives: tuple[str, ...]) -> int:
    """Round in which a game is won, 0 when it is lost."""
    questions: list[str] = []
    answers: list[str] = []
    guesses: list[str] = []
    seen = {"role": "guesser", "questions": questions, "answers": answers, "guesses": guesses}
    for number in range(1, ROUNDS + 1):
        questions.append(agent({**seen, "turnType": "ask"}))
        answers.append("yes" if says(questions[-1]) else "no")
        guesses.append(agent({**seen, "turnType": "guess"}))
        if hits(guesses[-1], name, alternatives):
            return number
    return 0

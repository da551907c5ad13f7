"""`wilkins bench keywords`: win rates of players in the same games, beside their bars, and the time of a decision."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from agents.keywords.agent import Agent, load_agent
from agents.keywords.bound import win_bound
from agents.keywords.players import BeliefPlayer, Player, Recipe, hard_filtering, play
from agents.keywords.run import LOOK_FROM
from env.errors import UserError
from env.files import write_whole
from env.flags import SEED, Within
from env.keywords.belief import Belief, Noise, Transcript
from env.keywords.package import load_keywords
from env.keywords.world import SHARES, Partner, World, synthetic_world, world_of

PARTNERS: tuple[Partner, ...] = (0.05, 0.1, 0.2, "clarity")
OTHER_SHARES = (0.4, 0.3, 0.2, 0.1)
"""Shares of the tiers where a player is told the usual ones and they are wrong."""

TOLD, RIGHT = "belief, told", "belief, told the prior"


@dataclass(frozen=True)
class Against:
    """The best of some other players in the same games, and how many points above it a player is to be."""

    others: tuple[str, ...]
    bars: Mapping[Partner, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """A player, and whom it is compared with."""

    name: str
    player: Callable[[], Player]
    against: tuple[Against, ...] = ()


def bench_keywords(
    games: Annotated[int, Within(1, 10**7)] = 10_000,
    seed: Annotated[int, SEED] = 1,
    partners: tuple[str, ...] = ("0.05", "0.1", "0.2", "clarity"),
    folder: Path = Path("runs/bench-keywords"),
    decisions: Annotated[int, Within(0, 10**6)] = 200,
    run: Path | None = None,
    package: Path | None = None,
) -> int:
    """Print win rates in 20 rounds on the synthetic 15,113 keywords x 521 questions, with standard errors and bars.

    Every table's players play the same games. A game whose keyword is in no list counts as lost. A line says what a
    player won as soon as it has played, and its rounds are kept, so that a bench that was stopped goes on; remove the
    folder after changing a player.

    Args:
        games: Games of each cell.
        seed: Draws keywords and answers.
        partners: Rates of wrong answers, or clarity: by question and keyword.
        folder: Keeps the round in which each game was won.
        decisions: Decisions that are timed; 0 times none.
        run: Run of `wilkins train keywords` whose best agent plays, told of noise and prior and told nothing. Default: belief that looks ahead.
        package: Folder of a keyword package whose table is played instead.
    """
    if games < 1 or seed < 0 or decisions < 0:
        raise UserError(f"--games {games} --seed {seed} --decisions {decisions}: games from 1, the others from 0")
    console = Console()
    world = synthetic_world() if package is None else world_of(load_keywords(package))
    prefix = "" if package is None else f"{package.resolve().name}-"
    trained = None if run is None else load_agent(run)
    chosen, tiers = [_partner(text) for text in partners], tuple(np.bincount(world.tier).tolist())
    for partner in chosen:
        bound = (
            "" if isinstance(partner, str) else f"; no player can exceed {100 * win_bound(partner, tiers, SHARES):.2f}"
        )
        table = _table(f"win rate, wrong answers {_wrong(partner)}, {games:,} games{bound}")
        played = (
            (entries_told(world, partner, trained), SHARES),
            (entries_prior(world, partner, trained), OTHER_SHARES),
        )
        for entries, shares in played:
            draw, listed = world.draw(partner, games, seed, shares), 100 * sum(shares)
            points: dict[str, np.ndarray] = {}
            for entry in entries:
                path = (
                    folder / f"{prefix}{entry.name.replace(', ', '-').replace(' ', '-')}-{partner}-{games}-{seed}.txt"
                )
                points[entry.name] = listed * (_won(entry, draw, path, console, _wrong(partner)) > 0)
                for row in _rows(entry, points, partner):
                    table.add_row(*row)
            table.add_section()
        console.print(table)
    if decisions:
        _time(world, decisions, console, trained)
    return 0


def entries_told(world: World, partner: Partner, trained: Agent | None = None) -> Iterator[Entry]:
    """Players in games whose prior they know: the published ones, belief, and the trained agent.

    The agent (without one, belief that looks ahead) plays thrice: told of the noise, told nothing of it, and doubting
    the prior, though it is right.
    """
    told, (name, player) = _told(world, partner), _agent(trained)
    lead = Against(("recipe", "recipe, minus one"), {0.05: 6, 0.1: 12, 0.2: 13, "clarity": 12})
    yield Entry("hard filtering", lambda: hard_filtering(world))
    yield Entry("recipe", lambda: Recipe(world))
    yield Entry("recipe, minus one", lambda: Recipe(world, minus=True))
    yield Entry(TOLD, lambda: BeliefPlayer(Belief.of(world, told)), (lead,))
    ahead = Against((TOLD,), {0.05: 0, 0.1: 0, 0.2: 0.5, "clarity": 0.3})
    yield Entry(name, lambda: player(Belief.of(world, told)), (ahead, lead))
    least = Against((name,), dict.fromkeys(PARTNERS, -1.0))
    yield Entry(f"{name}, noise unknown", lambda: player(Belief.of(world, Noise.unknown(world))), (least,))
    doubting = f"{name}, doubting the prior"
    yield Entry(doubting, lambda: player(Belief.of(world, told, world.doubted())), (Against((name,)),))


def entries_prior(world: World, partner: Partner, trained: Agent | None = None) -> Iterator[Entry]:
    """Players in games drawn by `OTHER_SHARES`: told so, told the usual shares, and told those but doubting them."""
    told, (name, player) = _told(world, partner), _agent(trained)
    yield Entry(RIGHT, lambda: BeliefPlayer(Belief.of(world, told, OTHER_SHARES)))
    yield Entry("belief, told a wrong prior", lambda: BeliefPlayer(Belief.of(world, told)), (Against((RIGHT,)),))
    right = f"{name}, told the prior"
    least = Against((right,), dict.fromkeys(PARTNERS, -3.0))
    yield Entry(right, lambda: player(Belief.of(world, told, OTHER_SHARES)))
    doubting = f"{name}, doubting a wrong prior"
    yield Entry(doubting, lambda: player(Belief.of(world, told, world.doubted())), (least,))


def _told(world: World, partner: Partner) -> Noise:
    """The noise of a partner, for who is told it."""
    return (
        Noise.by_clarity(world, spread=False) if isinstance(partner, str) else Noise.flat(partner, len(world.clarity))
    )


def _agent(trained: Agent | None) -> tuple[str, Callable[[Belief], Player]]:
    """What the trained agent is called, and how it plays with a belief; without one, belief that looks ahead."""
    if trained is None:
        return "looks ahead", lambda belief: BeliefPlayer(belief, LOOK_FROM, deeper=True)
    return f"agent {trained.label}", trained.player


def _won(entry: Entry, draw: tuple[np.ndarray, np.ndarray], path: Path, console: Console, wrong: str) -> np.ndarray:
    """Round in which each game was won, int64 [games], 0 where it was lost; read from `path` where it is there."""
    hidden, answers = draw
    if path.is_file():
        try:
            won = np.loadtxt(path, dtype=np.int64, ndmin=1)
        except ValueError as error:
            raise UserError(f"{path}: {error}; remove it, it is made again") from None
        if won.shape != hidden.shape:
            raise UserError(f"{path}: {won.size} games instead of {hidden.size}; remove it, it is made again")
        return won
    begun = time.monotonic()
    with console.status(f"{entry.name} plays {len(hidden):,} games, wrong answers {wrong}"):
        won, _ = play(entry.player(), answers, hidden)
    console.print(
        f"wrong answers {wrong}: {entry.name} won {(won > 0).sum():,} of {len(won):,} games, "
        f"{time.monotonic() - begun:.0f} s",
        highlight=False,
        soft_wrap=True,
    )
    write_whole(path, "\n".join(map(str, won.tolist())) + "\n")
    return won


def _rows(entry: Entry, points: dict[str, np.ndarray], partner: Partner) -> Iterator[tuple[str, ...]]:
    """A row for each comparison, the player's own figure in the first one."""
    rate = points[entry.name]
    cells = (entry.name, f"{rate.mean():.2f} ±{_error(rate):.2f}")
    if not entry.against:
        yield cells
    for against in entry.against:
        best = max(against.others, key=lambda name: float(points[name].mean()))
        ahead = rate - points[best]
        bar = against.bars.get(partner)
        told = () if bar is None else (f"≥ {bar:+.1f}", "met" if ahead.mean() >= bar else "NOT MET")
        yield (*cells, best, f"{ahead.mean():+.2f} ±{_error(ahead):.2f}", *told)
        cells = ("", "")


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _time(world: World, decisions: int, console: Console, trained: Agent | None = None) -> None:
    """Median time of a decision, a question or a guess, on one core, in states of the belief's own games."""
    told = Belief.of(world, Noise.flat(0.1, len(world.clarity)))
    hidden, answers = world.draw(0.1, 1 + decisions // 10, seed=2)
    _, seen = play(BeliefPlayer(told), answers, hidden)
    lasted = (seen.asked >= 0).sum(axis=1)
    random = np.random.default_rng(0)
    picked = [(int(game), int(random.integers(lasted[game]))) for game in random.integers(len(hidden), size=decisions)]
    states = [_until(seen, game, number) for game, number in picked]
    players: dict[str, Player] = {
        "belief": BeliefPlayer(told),
        "belief, noise unknown": BeliefPlayer(Belief.of(world, Noise.unknown(world))),
        "looks ahead": BeliefPlayer(told, 1, deeper=True),
        "recipe, compiled": Recipe(world),
    }
    bars = {"belief": 2.0, "looks ahead": 20.0}
    if trained is not None:
        players["agent"] = trained.player(told)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        spent = {name: _median(player.ask, states) for name, player in players.items()}
        guess = {name: _median(player.guess, states) for name, player in players.items()}
    finally:
        numba.set_num_threads(threads)
    pandas = _pandas_recipe(world)
    whole = math.nan if pandas is None else _median(pandas, states)
    table = Table(title=f"one core, median of {decisions} decisions, ms")
    for column in ("player", "question", "guess", "bar", "", "recipe in pandas takes"):
        table.add_column(column, justify="left" if column in ("player", "") else "right")
    for name in players:
        bar = bars.get(name)
        told_bar = ("", "") if bar is None else (f"≤ {bar:g}", "met" if spent[name] <= bar else "NOT MET")
        table.add_row(name, f"{spent[name]:.2f}", f"{guess[name]:.2f}", *told_bar, f"{whole / spent[name]:.0f} x")
    table.add_row("recipe in pandas", f"{whole:.1f}", "", "", "", "")
    console.print(table)
    if pandas is None:
        console.print("pandas is not there: pip install 'wilkins\\[tables]' to time the recipe written with it")


def _until(seen: Transcript, game: int, number: int) -> Transcript:
    """One game as it stood before its question `number` (from 0)."""
    part = seen[np.array([game])]
    part.asked[:, number:], part.guessed[:, number:] = -1, -1
    return part


def _median(decide: Callable[[Transcript], object], states: list[Transcript]) -> float:
    decide(states[0])  # compiles
    spent = []
    for state in states:
        begun = time.perf_counter()
        decide(state)
        spent.append(1000 * (time.perf_counter() - begun))
    return median(spent)


def _pandas_recipe(world: World) -> Callable[[Transcript], object] | None:
    """The recipe's question as published code finds it, with data frames; None where pandas is not there."""
    try:
        import pandas as pd
    except ImportError:
        return None
    table = pd.DataFrame(world.answers)
    start = pd.Series(-0.5 * world.tier)

    def ask(seen: Transcript) -> object:
        scores = start.copy()
        asked = seen.asked[0][seen.asked[0] >= 0].tolist()
        for question, said in zip(asked, seen.said[0].tolist(), strict=False):
            scores = scores + (table[question] == (1 if said else -1))
        scores = scores.drop([guess for guess in seen.guessed[0].tolist() if guess >= 0])
        top = table.loc[scores[scores == scores.max()].index].drop(columns=asked)
        y, n, t = ((top == value).sum() for value in (1, -1, 0))
        return ((y + n) / 2 - (y - n) ** 2 / (2 * len(top)) + 1e-10 * y - 1e-7 * t).idxmax()

    return ask


def _partner(text: str) -> Partner:
    if text == "clarity":
        return "clarity"
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0 <= rate < 0.5:
        raise UserError(f"--partners {text}: give rates of wrong answers from 0 to below 0.5, or clarity")
    return rate


def _wrong(partner: Partner) -> str:
    return "by clarity, mean 10 %" if isinstance(partner, str) else f"{100 * partner:g} %"


def _table(title: str) -> Table:
    table = Table(title=title)
    for column in ("player", "win rate", "against", "ahead", "bar", ""):
        table.add_column(column, justify="right" if column in ("win rate", "ahead", "bar") else "left")
    return table

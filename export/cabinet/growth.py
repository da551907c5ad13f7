"""How export and baselines grow with the pool: states, their support, time and memory, each command in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from agents.cabinet.run import CabinetRun
from agents.identification.command import baseline_players
from agents.identification.play import play
from agents.identification.players import Player
from env.errors import UserError
from env.identification.belief import Likelihood
from env.identification.package import Package, load_package
from env.identification.support import Beliefs
from env.identification.synth import write_package
from export.cabinet.enumerate import enumerate_decisions

SMALL = 100
"""Animals of the package on which a command's start-up is measured."""

MOST_SECONDS, MOST_BYTES = 60.0, 2e9
"""What the largest package may take."""

_CHILD = """
import json, pathlib, re, sys, time, wilkins
code = wilkins.main(sys.argv[2:])
peak = re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())
told = {"code": code, "processor": time.process_time(), "bytes": 1024 * int(peak[1])}
pathlib.Path(sys.argv[1]).write_text(json.dumps(told))
"""
"""Runs a command; at its end the process itself tells its peak, for the parent's accounting begins with its own."""


@dataclass
class Counted:
    """A player that counts the states it decides in, and the entries of its beliefs there."""

    player: Player
    states: int = 0
    entries: int = 0

    @property
    def candidates(self) -> np.ndarray:
        """See `Player`."""
        return self.player.candidates

    @property
    def likelihood(self) -> Likelihood:
        """See `Player`."""
        return self.player.likelihood

    def decide(self, beliefs: Beliefs, asked: np.ndarray, calls: np.ndarray) -> np.ndarray:
        """As the player does; see `Player.decide`."""
        self.states += len(beliefs)
        self.entries += len(beliefs.ids)
        return self.player.decide(beliefs, asked, calls)


@dataclass(frozen=True)
class Measured:
    """What one command took on one package."""

    command: str
    animals: int
    states: int
    entries: int
    """Of the beliefs in all states: the number of states times their mean support."""
    seconds: float
    """By the clock."""
    processor: float
    """Seconds of all processors."""
    peak: int
    """Bytes, resident."""


def measured(run: CabinetRun, animals: int, questions: int, seed: int) -> list[Measured]:
    """`export` without lookahead and `baselines` on a synthetic package of this size. Raises UserError where one fails."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "package"
        write_package(place, animals, questions, seed)
        commands = {
            "export": ["export", str(run.folder), "--package", str(place), "--transfer", "--improve-seconds", "0"],
            "baselines": ["baselines", "--package", str(place)],
        }
        commands["export"] += ["--out", str(Path(folder) / "submission.zip")]
        package, found = load_package(place), []
        for name, words in commands.items():
            counted = _states(name, run, package)
            states, entries = sum(each.states for each in counted), sum(each.entries for each in counted)
            found.append(Measured(name, animals, states, entries, *_run(words, Path(folder) / "told.json")))
    return found


def _states(command: str, run: CabinetRun, package: Package) -> list[Counted]:
    """What a command decides in, counted."""
    hidden = package.among()
    if command == "export":
        agent = Counted(run.player(hidden, package.assumed(run.noise, run.choices.doubt)))
        enumerate_decisions(agent)
        return [agent]
    players = [Counted(player) for player in baseline_players(package, hidden.ids, 0.0).values()]
    for player in players:
        play(player, hidden.margin > 0, hidden.ids)
    return players


def _run(words: Sequence[str], told: Path) -> tuple[float, float, int]:
    """Seconds by the clock, of processors, and peak bytes of a command."""
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", _CHILD, str(told), *words], capture_output=True, text=True)
    seconds = time.monotonic() - begun
    own = json.loads(told.read_bytes()) if done.returncode == 0 else {}
    if own.get("code") != 0:
        raise UserError(f"wilkins {words[0]} failed: {(done.stderr.strip() or 'no word').splitlines()[-1]}")
    return seconds, own["processor"], own["bytes"]


def show_growth(found: Sequence[Measured], start: Sequence[Measured], console: Console) -> bool:
    """Print what commands took beyond their `start`-up, beside what the first size takes; whether the bars are met."""
    met = True
    for idle in start:
        rows = [each for each in found if each.command == idle.command]
        table = Table(
            title=f"{idle.command}: beyond a start-up of {idle.processor:.1f} s and {idle.peak / 1e6:.0f} MB; x: times the first",
            title_justify="left",
        )
        for column in ("animals", "states", "support", "x", "CPU s", "x", "MB", "x", "in all"):
            table.add_column(column, justify="right")
        first = rows[0]
        for each in rows:
            processor, peak = each.processor - idle.processor, each.peak - idle.peak
            table.add_row(
                f"{each.animals:,}", f"{each.states:,}", f"{each.entries / each.states:.1f}",
                _times(each.entries, first.entries),
                f"{processor:.1f}", _times(processor, first.processor - idle.processor),
                f"{peak / 1e6:.0f}", _times(peak, first.peak - idle.peak),
                f"{each.seconds:.0f} s",
            )  # fmt: skip
        console.print(table)
        largest = rows[-1]
        fits = largest.seconds <= MOST_SECONDS and largest.peak <= MOST_BYTES
        console.print(
            f"{largest.animals:,} animals in {largest.seconds:.0f} s of {MOST_SECONDS:g} and {largest.peak / 1e9:.2f} GB "
            f"of {MOST_BYTES / 1e9:g}: {'met' if fits else 'NOT MET'}"
        )
        met &= fits
    return met


def _times(value: float, first: float) -> str:
    return f"{value / first:.1f}" if first > 0 else "-"

"""The animal game as the trainer sees it: its rounds, network, evaluation, lessons, and what is exported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from agents.cabinet.run import CabinetRun, CabinetSettings
from agents.identification.lessons import Recorder, lesson, teach
from agents.identification.play import expected_score, platforms, play
from agents.identification.players import Lookahead, RankedPlayer, trained_player
from agents.identification.policy import ShortlistPolicy, ShortlistRolloutBuffer
from agents.runs import Run
from agents.trainer import Evaluation
from env.cabinet.rules import BUDGET, limit
from env.cabinet.vector import CabinetVecEnv
from env.identification.observation import Observer, Shortlist
from env.identification.package import Package, load_package
from export.cabinet.command import export_run
from export.cabinet.enumerate import enumerate_decisions

SPLITS = ("dev", "test1", "hidden")


class Cabinet:
    """The animal game on one package; see `agents.trainer.Game`."""

    name = "cabinet"
    elsewhere = "name its own package with --package DIR"
    best_by = "hidden_all_noise"
    policy = ShortlistPolicy
    rollout_buffer = ShortlistRolloutBuffer

    def __init__(self, chosen: CabinetSettings):
        """Load the package. Raises UserError where it cannot be played."""
        self.package: Package = load_package(chosen.package)
        for split in SPLITS:
            self.package.split(split)
        noise = self.package.noise if chosen.noise is None else chosen.noise
        path = None if chosen.package is None else chosen.package.absolute()
        self.choices = replace(chosen, noise=noise, package=path)
        self.noise = noise
        self.levels = sorted({*chosen.levels, noise})
        """Noise levels of the games, ascending: the given ones and the expected one."""
        self.shortlist = Shortlist(chosen.asks, chosen.guesses, chosen.focus)

    @property
    def title(self) -> str:
        """The package's folder."""
        return self.package.path.name

    @property
    def world(self) -> Mapping[str, Any]:
        """Digests and sizes of both pools."""
        pools = (self.package.animals, self.package.questions)
        return {f"{pool.kind}_sha256": pool.sha256 for pool in pools} | {pool.kind: len(pool) for pool in pools}

    @property
    def policy_arguments(self) -> Mapping[str, Any]:
        """Width of the scorer."""
        return {"width": self.choices.width}

    def worlds(self, games: int) -> CabinetVecEnv:
        """Rounds on the hidden animals, at all noise levels."""
        return CabinetVecEnv(self.package, games, noise=self.levels, shortlist=self.shortlist)

    def evaluate(self, policy: ShortlistPolicy) -> Evaluation:
        """Expected scores x100 by split, each on its own candidates; and one drawn round for each hidden animal.

        Exact, when platforms answer with the expected noise. `hidden_all_noise` is the mean over the training's noise
        levels, by which the best agent is kept.
        """
        players = {split: self._player(policy, split, self.noise) for split in SPLITS}
        scores = {split: expected_score(player) for split, player in players.items()}
        levels = [expected_score(self._player(policy, "hidden", noise)) for noise in self.levels]
        scores[self.best_by] = float(np.mean(levels))
        hidden, matrix = self.package.split("hidden"), self.package.matrix
        answers = platforms(matrix.signed_margin()[hidden], self.noise, 0, matrix.missing_rate)
        rounds = play(players["hidden"], answers, hidden)
        figures = {
            "solved_rate": float(rounds.solved.mean()),
            "mean_calls": float(rounds.calls.mean()),
            "limit": limit(len(hidden)),
        }
        return Evaluation(scores, figures, {"calls": rounds.calls.astype(np.float32)})

    def sample(self, policy: ShortlistPolicy, seed: int) -> Mapping[str, float]:
        """Mean score x100 over the hidden animals, each on a platform of its own, at every noise level."""
        hidden, matrix = self.package.split("hidden"), self.package.matrix
        margin = matrix.signed_margin()[hidden]
        scores = {}
        for noise in self.levels:
            own = (1 + seed) * 10**9 + round(noise * 10**5)  # a level is drawn the same whatever others there are
            answers = platforms(margin, noise, own, matrix.missing_rate)
            rounds = play(self._player(policy, "hidden", noise), answers, hidden)
            scores[f"noise {noise:g}"] = 100 * float(rounds.score.mean())
        return scores

    def teach(self, policy: ShortlistPolicy, seed: int, status: Callable[[str], AbstractContextManager[Any]]) -> float:
        """Fit the policy to what lookahead finds at every noise level."""
        lessons = []
        for noise in self.levels:
            with status(f"looking ahead at noise {noise:g}"):
                player = trained_player(policy, self.package, self.package.split("hidden"), noise, self.shortlist)
                observer = Observer([player.likelihood], [noise], player.candidates, BUDGET, self.shortlist)
                recorder = Recorder(Lookahead(player), observer)
                lessons.append(lesson(recorder, enumerate_decisions(recorder).reach))
        with status("learning"):
            return teach(policy, lessons, seed)

    def export(self, run: Run, console: Console) -> None:
        """Write policy.json, its archives and its page."""
        chosen = self.choices
        export_run(
            CabinetRun(run, chosen), self.package.among("hidden"), self.package.assumed(self.noise, chosen.doubt),
            console, max_nodes=chosen.max_nodes, improve_seconds=chosen.improve_seconds,
        )  # fmt: skip

    def _player(self, policy: ShortlistPolicy, split: str, noise: float) -> RankedPlayer:
        """The policy playing greedily on the animals of a split, assuming `noise`."""
        return trained_player(policy, self.package, np.sort(self.package.split(split)), noise, self.shortlist)

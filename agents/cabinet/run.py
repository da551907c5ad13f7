"""Runs of the animal game: what was chosen for them, the package they were trained on, the agent they made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from agents.identification.players import RankedPlayer, trained_player
from agents.runs import CONFIG, Run, load_run
from agents.settings import Sought, settings_of
from env.errors import UserError
from env.flags import Within
from env.identification.belief import DEFAULT_DOUBT, Assumed
from env.identification.observation import Shortlist
from env.identification.package import Candidates, Package

GAME = "cabinet"


@dataclass(frozen=True)
class CabinetSettings:
    """What is played, and what leaves."""

    package: Path | None = None
    """Folder of pools, splits and matrix; the embedded one when left out."""
    noise: Annotated[float | None, Within(0.0, 1000.0)] = None
    """Noise expected of the platform, in margin units: what is optimised for; the package's when left out."""
    levels: Annotated[tuple[float, ...], Within(0.0, 1000.0)] = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
    """Noise levels that the games are dealt, besides the expected one, so that one agent is good at all."""
    width: Annotated[int, Within(1, 4096), Sought(16, 128, log=True)] = 64
    """Units in each layer of the scorer."""
    asks: Annotated[int, Within(1, 4096), Sought(8, 32)] = 16
    """Questions on the shortlist."""
    guesses: Annotated[int, Within(1, 4096), Sought(1, 6)] = 3
    """Animals on the shortlist."""
    focus: Annotated[int, Within(1, 10**6), Sought(8, 64, log=True)] = 32
    """Likeliest animals that the two-step features look at."""
    improve_seconds: Annotated[float, Within(0.0, 10.0**9)] = 45.0
    """Nominal seconds of lookahead at export; 0 exports the agent's own decisions."""
    doubt: Annotated[float, Within(0.0, 1.0)] = DEFAULT_DOUBT
    """Share of the answers that the exported policy takes to be noisier than assumed, so that it holds where they are."""
    max_nodes: Annotated[int, Within(1, 32_767)] = 32_767
    """Nodes that the exported graph may have."""


@dataclass(frozen=True)
class CabinetRun:
    """A training run of the animal game on disk."""

    run: Run
    choices: CabinetSettings

    @property
    def folder(self) -> Path:
        """Where the run lies."""
        return self.run.folder

    @property
    def noise(self) -> float:
        """Noise that the run's package was expected to have, in margin units."""
        return float(self.choices.noise or 0.0)

    @property
    def shortlist(self) -> Shortlist:
        """How many actions the agent scores."""
        return Shortlist(self.choices.asks, self.choices.guesses, self.choices.focus)

    def require(self, package: Package) -> None:
        """Raises UserError unless the run was trained on the pools of `package`."""
        for pool in (package.animals, package.questions):
            trained = self.run.config["world"].get(f"{pool.kind}_sha256")
            if trained != pool.sha256:
                raise UserError(
                    f"{self.folder}: trained on another package: its {pool.kind} pool is {trained}, that of "
                    f"{package.path} is {pool.sha256}; name the run's own with --package DIR, or say --transfer where the command has it"
                )

    def policy(self, checkpoint: str = "best") -> Any:
        """The network of a checkpoint, a `ShortlistPolicy`. Raises UserError for one that is missing or damaged."""
        # Slow to import: only where a policy is really loaded.
        from gymnasium import spaces

        from agents.checkpoints import load_parameters
        from agents.identification.policy import ShortlistPolicy
        from env.identification.observation import observation_space

        sizes = [self.run.config["world"].get(pool) for pool in ("questions", "animals")]
        if not all(type(size) is int and 1 <= size <= 10**7 for size in sizes):
            raise UserError(f"{self.folder / CONFIG}: its world has no sizes of pools; restore the file or train again")
        questions, animals = sizes
        space = observation_space(self.shortlist, questions, animals)
        policy = ShortlistPolicy(space, spaces.Discrete(questions + animals), lambda _: 0.0, width=self.choices.width)
        load_parameters(self.run.path(self.run.checkpoint(checkpoint)), policy)
        return policy

    def player(self, candidates: Candidates, assumed: Assumed, checkpoint: str = "best") -> RankedPlayer:
        """The run's agent on some package's candidates, reckoning with a platform as `assumed`."""
        return self.playing(self.policy(checkpoint), candidates, assumed)

    def playing(self, policy: Any, candidates: Candidates, assumed: Assumed) -> RankedPlayer:
        """One of the run's networks on some package's candidates; see `player`."""
        return trained_player(
            policy, candidates.package, candidates.ids, assumed.noise, self.shortlist, assumed.reckoned
        )


def load_cabinet_run(folder: Path) -> CabinetRun:
    """Run of a folder. Raises UserError where it is none of the animal game, or its `config.json` is damaged."""
    run = load_run(folder, GAME)
    return CabinetRun(run, settings_of(run, "choices", CabinetSettings))

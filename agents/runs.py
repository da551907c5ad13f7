"""Run folders: what a training run wrote, found again. A run holds `config.json`, checkpoints and `best.zip`."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agents.identification.players import RankedPlayer, trained_player
from env.errors import UserError
from env.files import read_bytes
from env.identification.matrix import Curve
from env.identification.observation import Shortlist
from env.identification.package import Package

CONFIG, BEST = "config.json", "best.zip"


@dataclass(frozen=True)
class Run:
    """A training run on disk."""

    folder: Path
    config: dict[str, Any]
    """`settings` as given to training, `package` with its path and digests, `versions`, `noise`."""

    @property
    def noise(self) -> float:
        """Noise that the run's package was expected to have, in margin units."""
        return float(self.config["noise"])

    @property
    def shortlist(self) -> Shortlist:
        """How many actions the agent scores."""
        return Shortlist(**self.config["shortlist"])

    def require(self, package: Package) -> None:
        """Raises UserError unless the run was trained on the pools of `package`."""
        for pool in (package.animals, package.questions):
            trained = self.config["package"].get(f"{pool.kind}_sha256")
            if trained != pool.sha256:
                raise UserError(
                    f"{self.folder}: trained on another package: its {pool.kind} pool is {trained}, that of "
                    f"{package.path} is {pool.sha256}; name the run's package, or say --transfer where the command has it"
                )

    def player(
        self, package: Package, candidates: np.ndarray, noise: float, curve: Curve | None = None
    ) -> RankedPlayer:
        """The run's best agent on some package's candidates, assuming `noise` (margin units), or flips as in `curve`."""
        return trained_player(load_policy(self.folder / BEST), package, candidates, noise, self.shortlist, curve)


def load_run(folder: Path) -> Run:
    """Run of a folder. Raises UserError where it is none, or its `config.json` is damaged."""
    if not folder.is_dir():
        raise UserError(f"no run folder {folder}; 'wilkins train' makes one below runs/")
    raw = read_bytes(folder / CONFIG, "the run's configuration")
    try:
        config = json.loads(raw)
        shortlist, noise, package = Shortlist(**config["shortlist"]), config["noise"], config["package"]
        sizes = all(type(size) is int and size >= 1 for size in asdict(shortlist).values())
        names = all(isinstance(package[key], str) for key in ("path", "animals_sha256", "questions_sha256"))
        if not (sizes and names and 0 <= noise < math.inf and isinstance(config["settings"], dict)):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UserError(f"{folder / CONFIG}: not the configuration of a run; train again or restore the file") from None
    return Run(folder, config)


def load_policy(path: Path) -> Any:
    """The trained policy of a checkpoint (a `ShortlistPolicy`). Raises UserError for a missing or damaged file."""
    return load_agent(path).policy


def load_agent(path: Path, world: Any = None, device: str = "cpu") -> Any:
    """The `MaskablePPO` of a checkpoint, to go on in `world` (a VecEnv) if given, where its games stand.

    Raises UserError for a file that is missing, damaged, or of another agent or other games.
    """
    # Slow to import: only where a policy is really loaded.
    from sb3_contrib import MaskablePPO

    from agents.identification.policy import ShortlistPolicy

    if not path.is_file():
        raise UserError(f"no trained agent at {path}; the run may have been stopped before its first evaluation")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            agent = MaskablePPO.load(path, world, device=device, force_reset=False)
        if not isinstance(agent.policy, ShortlistPolicy):
            raise TypeError(f"a {type(agent.policy).__name__} is in it")
        return agent
    except Exception as error:  # the library raises whatever its parts do: zip, pickle, torch
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"{path}: not a readable checkpoint ({reason}); train again or use another checkpoint"
        ) from None

"""Checkpoint files: arrays by name, nothing that could be executed, read only into the shapes that are expected.

A file holds an agent's parameters and, for going on exactly, its optimiser, its games and the random generators.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch as th
from sb3_contrib import MaskablePPO

from env.errors import UserError
from env.files import write_whole

MOST_BYTES = 2**31
"""Size of a file that is looked into at all."""

_HEADER = 10_000
"""Most bytes of a member that are not its array's."""


class Worlds(Protocol):
    """Many rounds of a game in step: a Stable-Baselines3 VecEnv that can say where its rounds stand."""

    num_envs: int

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the running rounds are, generators included; arrays of numbers or of text, no objects."""

    def restore(self, state: Mapping[str, np.ndarray]) -> Any:
        """Go on from what `state` gave; returns the observations there. Raises ValueError where it is not of these rounds."""


def save(path: Path, agent: MaskablePPO, worlds: Worlds) -> None:
    """Write where a training stands, in one step. Call it between updates, where no call is half recorded."""
    # The library shuffles minibatches with NumPy's global generator, so that one has to be kept.
    _, keys, position, has_gauss, cached = np.random.get_state(legacy=True)  # noqa: NPY002
    unwritten = agent.logger.name_to_value.items()
    progress = {
        "steps": agent.num_timesteps,
        "updates": agent._n_updates,
        "numpy": [position, has_gauss, cached],
        "episodes": [[float(each["r"]), int(each["l"])] for each in agent.ep_info_buffer or ()],
        "successes": [bool(each) for each in agent.ep_success_buffer or ()],
        "unwritten": {key: float(value) for key, value in unwritten if isinstance(value, int | float)},
    }
    arrays = {
        **{f"policy/{name}": value.numpy(force=True) for name, value in agent.policy.state_dict().items()},
        **{f"optimizer/{name}": value for name, value in _moments(agent.policy.optimizer).items()},
        **{f"worlds/{name}": value for name, value in worlds.state().items()},
        "random/torch": th.get_rng_state().numpy(),
        "random/numpy": keys,
        "starts": agent._last_episode_starts,
        "progress": np.array(json.dumps(progress)),
    }
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_whole(path, content.getvalue())


def restore(path: Path, agent: MaskablePPO, worlds: Worlds) -> None:
    """Bring a fresh agent and its fresh worlds to where `save` left them. Raises UserError for a damaged file."""
    policy, optimizer = agent.policy.state_dict(), agent.policy.optimizer
    with _Members(path) as stored:
        progress = json.loads(str(stored.text("progress")))
        agent.policy.load_state_dict(stored.tensors("policy", policy))
        _set_moments(optimizer, stored)
        state = {
            name: stored.text(f"worlds/{name}") if value.dtype.kind == "U" else stored.array(f"worlds/{name}", value)
            for name, value in worlds.state().items()
        }
        agent._last_obs = worlds.restore(state)
        agent._last_episode_starts = stored.array("starts", np.zeros(worlds.num_envs, bool))
        steps, updates = progress["steps"], progress["updates"]
        position, has_gauss, cached = progress["numpy"]
        episodes = [{"r": float(r), "l": int(length)} for r, length in progress["episodes"]]
        unwritten = {str(key): float(value) for key, value in progress["unwritten"].items()}
        counts = all(type(count) is int and 0 <= count < 10**15 for count in (steps, updates))
        if not (counts and type(position) is int and 0 <= position <= 624 and has_gauss in (0, 1)):
            raise ValueError("progress that no training makes")
        keys = stored.array("random/numpy", np.zeros(624, np.uint32))
        np.random.set_state(("MT19937", keys, position, has_gauss, float(cached)))  # noqa: NPY002
        th.set_rng_state(th.from_numpy(stored.array("random/torch", th.get_rng_state().numpy())))
        agent.num_timesteps, agent._n_updates = steps, updates
        agent.ep_info_buffer = deque(episodes, maxlen=agent._stats_window_size)
        agent.ep_success_buffer = deque(map(bool, progress["successes"]), maxlen=agent._stats_window_size)
        for key, value in unwritten.items():
            agent.logger.record(key, value)


def load_parameters(path: Path, module: th.nn.Module) -> None:
    """Fill a network with the parameters of a checkpoint, and read nothing else of it.

    Raises UserError for a file that is missing, damaged, or of a network of other shapes.
    """
    with _Members(path) as stored:
        module.load_state_dict(stored.tensors("policy", module.state_dict()))


class _Members:
    """The members of a checkpoint; whatever is wrong with one becomes a UserError that names the file."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self) -> _Members:
        if not self.path.is_file():
            raise UserError(f"the checkpoint is missing: no file {self.path}; choose another with --checkpoint")
        try:
            if self.path.stat().st_size > MOST_BYTES:
                raise ValueError(f"larger than {MOST_BYTES} bytes")
            self._archive = zipfile.ZipFile(self.path)
        except Exception as error:
            raise self._damaged(error) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        self._archive.close()
        # The libraries raise whatever their parts do: zip, zlib, JSON, NumPy's tokenizer, torch.
        if isinstance(error, Exception) and not isinstance(error, UserError):
            raise self._damaged(error) from None

    def _damaged(self, error: BaseException) -> UserError:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
        return UserError(f"{self.path}: not a checkpoint of this run ({reason}); choose another with --checkpoint")

    def array(self, name: str, like: np.ndarray) -> np.ndarray:
        """A member of exactly the type and shape of `like`; ValueError for any other, before it is unpacked."""
        return self._member(name, like.dtype, like.shape, like.nbytes)

    def text(self, name: str, most: int = 2**24) -> np.ndarray:
        """A member that is one text of at most `most` bytes, as an array of no axes."""
        return self._member(name, None, (), most)

    def tensors(self, folder: str, like: Mapping[str, th.Tensor]) -> dict[str, th.Tensor]:
        """Members of a folder as tensors of the shapes of `like`, on the CPU."""
        return {
            name: th.from_numpy(self.array(f"{folder}/{name}", value.numpy(force=True))) for name, value in like.items()
        }

    def names(self, folder: str) -> list[str]:
        """Members of a folder."""
        names = [name.removesuffix(".npy") for name in self._archive.namelist()]
        return [name.removeprefix(f"{folder}/") for name in names if name.startswith(f"{folder}/")]

    def _member(self, name: str, dtype: np.dtype | None, shape: tuple[int, ...], most: int) -> np.ndarray:
        info = self._archive.getinfo(f"{name}.npy")
        if info.file_size > most + _HEADER:
            raise ValueError(f"{name} unpacks to {info.file_size} bytes, {most} are expected")
        with self._archive.open(info) as packed:
            stream = io.BytesIO(packed.read(most + _HEADER + 1))  # a name in the directory may lie about its size
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{name} is in an unknown version of the format")
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        found_shape, _, found = read_header(stream)
        fits = found.kind == "U" if dtype is None else found == dtype
        if found.hasobject or found_shape != shape or not fits or found.itemsize > most:
            raise ValueError(f"{name} is {found} {found_shape}, not {'text' if dtype is None else dtype} {shape}")
        stream.seek(0)
        return np.lib.format.read_array(stream, allow_pickle=False)


def _moments(optimizer: th.optim.Optimizer) -> dict[str, np.ndarray]:
    """What an optimiser knows of each parameter, by `PLACE/NAME`."""
    state = optimizer.state_dict()["state"]
    return {
        f"{place}/{name}": value.numpy(force=True) for place, entry in state.items() for name, value in entry.items()
    }


def _set_moments(optimizer: th.optim.Optimizer, stored: _Members) -> None:
    """Bring back what `_moments` gave: for each parameter arrays of its shape, or single numbers."""
    state = optimizer.state_dict()
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    found: dict[int, dict[str, th.Tensor]] = {}
    for key in stored.names("optimizer"):
        place, name = key.split("/")
        like = np.zeros((), np.float32) if name == "step" else parameters[int(place)].numpy(force=True)
        found.setdefault(int(place), {})[name] = th.from_numpy(stored.array(f"optimizer/{key}", like))
    optimizer.load_state_dict({"state": found, "param_groups": state["param_groups"]})

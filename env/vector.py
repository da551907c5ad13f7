"""What the batched twins of the environments share: a Stable-Baselines3 VecEnv whose games step in one process."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices


class GamesInStep(VecEnv):
    """Games that share one world, none of them an object of its own; `action_masks` gives a row a game."""

    render_mode: str | None = None

    @abstractmethod
    def action_masks(self) -> np.ndarray:
        """Which actions are sensible, bool [games, actions]."""

    def step_async(self, actions: np.ndarray) -> None:
        """Take one action a game, int [games]; raises ValueError for one outside the action space."""
        assert isinstance(self.action_space, spaces.Discrete)
        chosen, size = np.asarray(actions).reshape(self.num_envs), self.action_space.n
        if chosen.dtype.kind not in "iu" or ((chosen < 0) | (chosen >= size)).any():
            raise ValueError(f"actions must be integers in 0..{size - 1}, got {chosen.tolist()}")
        self._actions = chosen.astype(np.int64)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """The one method that a maskable algorithm asks for: `action_masks`, a row a game."""
        if method_name != "action_masks":
            raise AttributeError(f"the games have no method {method_name!r} of their own")
        return list(self.action_masks()[list(self._get_indices(indices))])

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute shared by all games, repeated for each."""
        value = getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Not offered: the games share one world."""
        raise AttributeError(f"{attr_name!r} cannot be set game by game")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """No game is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Nothing to release."""


class SeededGames(GamesInStep):
    """Games with a generator each, whose standing is arrays: seeded with s, game i draws as a single one seeded s + i."""

    standing: ClassVar[tuple[str, ...]]
    """Names, without the underscore, of the arrays [games, ...] that say where the games stand."""

    def __init__(self, games: int, observation_space: spaces.Space[Any], actions: int):
        super().__init__(games, observation_space, spaces.Discrete(actions))
        self._random = [np.random.default_rng() for _ in range(games)]

    @abstractmethod
    def _start(self, games: np.ndarray) -> None:
        """Begin these games anew, int64 [some]."""

    @abstractmethod
    def _observe(self) -> dict[str, np.ndarray]:
        """Observation of all games, the first axis of each array."""

    def reset(self) -> dict[str, np.ndarray]:
        """Start every game anew, with the seeds given by `seed` if any."""
        for game, seed in enumerate(self._seeds):
            if seed is not None:
                self._random[game] = np.random.Generator(np.random.PCG64(seed))
        self._reset_seeds()
        self._start(np.arange(self.num_envs))
        return self._observe()

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the running games are, generators included; `restore` brings it back."""
        generators = json.dumps([random.bit_generator.state for random in self._random])
        arrays = {name: getattr(self, f"_{name}").copy() for name in self.standing}
        return {**arrays, "generators": np.array(generators)}

    def restore(self, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Go on from what `state` gave; returns the observations there.

        Raises ValueError where it belongs to other games, or stands where no game can come to.
        """
        for name in self.standing:
            if state[name].shape != getattr(self, f"_{name}").shape:
                raise ValueError(f"{name} has shape {state[name].shape}, not {getattr(self, f'_{name}').shape}")
        if not self._possible(state):
            raise ValueError("its games stand where no game can come to")
        for name in self.standing:
            setattr(self, f"_{name}", state[name].copy())
        for random, generator in zip(self._random, json.loads(str(state["generators"])), strict=True):
            random.bit_generator.state = generator
        return self._observe()

    @abstractmethod
    def _possible(self, state: Mapping[str, np.ndarray]) -> bool:
        """Whether games can stand so; the shapes are right."""

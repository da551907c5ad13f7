"""The trained network as the search's guide: which step to try next, and how much a state promises.

Plain arrays: processes that search need no torch.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from agents.arc.search import PAINTERS
from env.arc.features import SIZE, observe
from env.arc.world import ACTIONS, DEEPEST, State
from env.errors import UserError
from env.files import read_bytes, whole_file

if TYPE_CHECKING:
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

HIDDEN = {"pi": [192, 192], "vf": [96]}
"""Widths of the hidden layers of policy and value."""

TRUST = 0.9
"""Weight of the policy among equally likely steps, so that every step comes at some time."""

SHIPPED = Path(__file__).with_name("agent.npz")
"""The agent that solves where no other is named."""


@dataclass(frozen=True)
class Network:
    """Policy and value as plain arrays, for processes that know no torch."""

    weights: Mapping[str, np.ndarray]
    """`pi_0_weight` [out, in], `pi_0_bias` [out], and so on; `vf_..` for the value."""

    @classmethod
    def of(cls, policy: MaskableActorCriticPolicy) -> Network:
        """The network of a trained policy."""
        layers = {
            "pi": [*policy.mlp_extractor.policy_net, policy.action_net],
            "vf": [*policy.mlp_extractor.value_net, policy.value_net],
        }
        weights = {}
        for name, modules in layers.items():
            for place, layer in enumerate([module for module in modules if hasattr(module, "weight")]):
                weights[f"{name}_{place}_weight"] = layer.weight.numpy(force=True).astype(np.float16)
                weights[f"{name}_{place}_bias"] = layer.bias.numpy(force=True).astype(np.float16)
        return cls(weights)

    def save(self, path: Path) -> None:
        """Write it in one step."""
        with whole_file(path) as stream:
            np.savez_compressed(stream, allow_pickle=False, **self.weights)

    @classmethod
    def load(cls, path: Path) -> Network:
        """Raises UserError for a file that is missing, damaged, or of other operations."""
        read_bytes(path, "the agent")
        try:
            with zipfile.ZipFile(path):  # numpy takes what is none for other things
                pass
            with np.load(path, allow_pickle=False) as stored:
                weights = {name: stored[name] for name in stored.files}
        except (
            OSError,
            ValueError,
            EOFError,
            KeyError,
            AttributeError,
            TypeError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            raise UserError(f"{path}: no agent that can be read ({error}); train one with wilkins train arc") from None
        network = cls(weights)
        if network.shape != {"pi": (SIZE, len(ACTIONS)), "vf": (SIZE, 1)}:
            raise UserError(f"{path}: an agent of other operations than these; train one with wilkins train arc")
        return network

    @property
    def shape(self) -> dict[str, tuple[int, int]]:
        """Inputs and outputs of both parts."""
        out = {}
        for name in HIDDEN:
            layers = self._layers.get(name, [])
            fits = all(a[0].shape[0] == b[0].shape[1] for a, b in pairwise(layers))
            out[name] = (layers[0][0].shape[1], layers[-1][0].shape[0]) if layers and fits else (0, 0)
        return out

    @cached_property
    def _layers(self) -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
        out = {}
        for name in HIDDEN:
            count = sum(key.startswith(f"{name}_") and key.endswith("_weight") for key in self.weights)
            try:
                pairs = [(self.weights[f"{name}_{i}_weight"], self.weights[f"{name}_{i}_bias"]) for i in range(count)]
            except KeyError:
                pairs = []
            sound = all(w.ndim == 2 and b.shape == w.shape[:1] for w, b in pairs)
            out[name] = [(w.astype(np.float32), b.astype(np.float32)) for w, b in pairs] if sound else []
        return out

    def __call__(self, observation: np.ndarray) -> tuple[np.ndarray, float]:
        """Scores of the actions [ACTIONS] and the value of an observation."""
        scores, value = (self._forward(name, observation) for name in HIDDEN)
        return scores, float(value[0])

    def _forward(self, name: str, x: np.ndarray) -> np.ndarray:
        layers = self._layers[name]
        for place, (weight, bias) in enumerate(layers):
            x = weight @ x + bias
            if place + 1 < len(layers):
                x = np.maximum(x, 0)
        return x


@dataclass(frozen=True)
class Trained:
    """The search's guide from a trained network."""

    network: Network

    def __call__(self, state: State) -> tuple[np.ndarray, float]:
        """Log probabilities of the steps that are possible, and what is left to explain."""
        scores, value = self.network(observe(state))
        possible = np.ones(len(ACTIONS), bool)
        possible[PAINTERS:] = state.fits
        possible[:PAINTERS] &= len(state.steps) < DEEPEST
        # Of a state from which nothing is possible no step is likelier than another.
        scores = np.where(possible, scores, -np.inf) if possible.any() else np.zeros(len(ACTIONS))
        likely = np.exp(scores - scores.max())
        likely = TRUST * likely / likely.sum() + (1 - TRUST) / len(ACTIONS)
        return np.log(likely), (1 - min(max(value, 0.0), 1.0) + state.distance) / 2

"""The network that PPO trains: one scorer for every question and one for every guess, with shared weights.

It sees belief features only, never identities, so that one agent plays any package.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch as th
from gymnasium import spaces
from sb3_contrib.common.maskable.buffers import MaskableDictRolloutBuffer
from sb3_contrib.common.maskable.distributions import MaskableCategorical, MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.type_aliases import Schedule, TensorDict
from torch import nn

IMPOSSIBLE = -1e8
"""Logit of an action outside the shortlist; as low as masking makes it."""


class ActionScorer(nn.Module):
    """Scores each listed action from its own features and the state's, and the state's value."""

    VALUE_ASKS = 3
    """Best questions that the value sees."""

    def __init__(self, space: spaces.Dict, width: int):
        super().__init__()
        shapes = {key: box.shape or () for key, box in space.items()}
        (state,), (asks, ask), (guesses, guess) = shapes["state"], shapes["asks"], shapes["guesses"]
        self.ask_in, self.ask_state = nn.Linear(ask, width), nn.Linear(state, width, bias=False)
        self.guess_in, self.guess_state = nn.Linear(guess, width), nn.Linear(state, width, bias=False)
        self.ask_hidden, self.ask_last = nn.Linear(width, width), nn.Linear(width, 1)
        self.guess_hidden, self.guess_last = nn.Linear(width, width), nn.Linear(width, 1)
        self.listed = min(self.VALUE_ASKS, asks)
        self.value_out = nn.Sequential(
            nn.Linear(state + self.listed * ask + guesses * guess, 2 * width),
            nn.ReLU(),
            nn.Linear(2 * width, width),
            nn.ReLU(),
            nn.Linear(width, 1),
        )

    def logits(self, obs: TensorDict) -> th.Tensor:
        """Scores of the listed questions, then of the listed guesses, [games, asks + guesses]."""
        asks = self.ask_in(obs["asks"]) + self.ask_state(obs["state"])[:, None]
        guesses = self.guess_in(obs["guesses"]) + self.guess_state(obs["state"])[:, None]
        ask = self.ask_last(th.relu(self.ask_hidden(th.relu(asks))))
        guess = self.guess_last(th.relu(self.guess_hidden(th.relu(guesses))))
        return th.cat([ask[:, :, 0], guess[:, :, 0]], dim=1)

    def value(self, obs: TensorDict) -> th.Tensor:
        """Expected round score, [games, 1]."""
        best = obs["asks"][:, : self.listed].flatten(1)
        return self.value_out(th.cat([obs["state"], best, obs["guesses"].flatten(1)], dim=1))


class ShortlistPolicy(MaskableActorCriticPolicy):
    """Actor and critic over the shortlist that the observation carries.

    The logits of the shortlist stand for the whole action space: every other action is impossible.
    `forward` and `evaluate_actions` work on the shortlist alone, which gives the same probabilities as
    scattering it into the action space (`get_distribution`) at a fraction of the cost. The library types its
    observations as tensors; here they are always the environment's dictionaries.
    """

    def __init__(
        self,
        observation_space: spaces.Dict,
        action_space: spaces.Discrete,
        lr_schedule: Schedule,
        width: int = 64,
        **kwargs: Any,
    ):
        self.width = width
        kwargs["features_extractor_class"] = FlattenExtractor  # the library wants one; the scorer does its work
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build(self, lr_schedule: Schedule) -> None:
        assert isinstance(self.observation_space, spaces.Dict)
        assert isinstance(self.action_space, spaces.Discrete)
        self.actions = int(self.action_space.n)
        self.questions = self.actions - _animals(self.observation_space)
        self.scorer = ActionScorer(self.observation_space, self.width)
        for module in self.scorer.modules():
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, np.sqrt(2))
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for last in (self.scorer.ask_last, self.scorer.guess_last):
            nn.init.orthogonal_(last.weight, 0.01)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        parameters = super()._get_constructor_parameters()
        parameters["width"] = self.width
        for built_in in (
            "net_arch",
            "activation_fn",
            "ortho_init",
            "features_extractor_class",
            "features_extractor_kwargs",
        ):
            parameters.pop(built_in, None)
        return parameters

    def listed_actions(self, obs: TensorDict) -> th.Tensor:
        """Actions of the shortlist, int64 [games, asks + guesses], -1 where there is none."""
        guess_ids = obs["guess_ids"].long()
        return th.cat([obs["ask_ids"].long(), th.where(guess_ids >= 0, guess_ids + self.questions, guess_ids)], dim=1)

    def _listed_distribution(
        self, obs: TensorDict, action_masks: th.Tensor | np.ndarray | None
    ) -> tuple[MaskableCategorical, th.Tensor]:
        listed = self.listed_actions(obs)
        allowed = listed >= 0
        if action_masks is not None:
            masks = th.as_tensor(action_masks, device=listed.device).bool().reshape(len(listed), -1)
            if masks.shape[1] != listed.shape[1]:
                masks = masks.gather(1, listed.clamp(min=0))
            # Where all that is listed was used up, a repeat: the mask advises against it, the rules allow it.
            unused = allowed & masks
            allowed = th.where(unused.any(dim=1, keepdim=True), unused, allowed)
        return MaskableCategorical(logits=self.scorer.logits(obs), masks=allowed, validate_args=False), listed

    def forward(  # type: ignore[override]
        self, obs: TensorDict, deterministic: bool = False, action_masks: np.ndarray | None = None
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Actions, values and log probabilities of a batch; see the base class."""
        distribution, listed = self._listed_distribution(obs, action_masks)
        place = distribution.probs.argmax(dim=1) if deterministic else distribution.sample()
        actions = listed.gather(1, place[:, None])[:, 0]
        return actions, self.scorer.value(obs), distribution.log_prob(place)

    def evaluate_actions(  # type: ignore[override]
        self, obs: TensorDict, actions: th.Tensor, action_masks: th.Tensor | None = None
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor | None]:
        """Values, log probabilities of `actions`, and entropies; see the base class."""
        distribution, listed = self._listed_distribution(obs, action_masks)
        place = (listed == actions[:, None]).int().argmax(dim=1)
        return self.scorer.value(obs), distribution.log_prob(place), distribution.entropy()

    def get_distribution(self, obs: TensorDict, action_masks: np.ndarray | None = None) -> MaskableDistribution:  # type: ignore[override]
        """The distribution over the whole action space, for those who call the policy as the library does."""
        listed = self.listed_actions(obs)
        spare = th.full((len(listed), self.actions + 1), IMPOSSIBLE, device=listed.device)
        # Absent entries write into a spare last column, which is then dropped.
        places = th.where(listed >= 0, listed, spare.shape[1] - 1)
        logits = spare.scatter(1, places, self.scorer.logits(obs).float())[:, :-1]
        distribution = self.action_dist.proba_distribution(action_logits=logits)
        if action_masks is not None:
            distribution.apply_masking(action_masks)
        return distribution

    def predict_values(self, obs: TensorDict) -> th.Tensor:  # type: ignore[override]
        """Expected round scores, [games, 1]."""
        return self.scorer.value(obs)


class ShortlistRolloutBuffer(MaskableDictRolloutBuffer):
    """Keeps the masks of the listed actions only: [steps, games, 27] instead of [steps, games, 2031] floats."""

    def reset(self) -> None:
        """Empty the buffer."""
        whole = self.action_space
        assert isinstance(self.obs_shape, dict)
        self.action_space = spaces.Discrete(self.obs_shape["ask_ids"][0] + self.obs_shape["guess_ids"][0])
        super().reset()
        self.action_space = whole

    def add(self, *args: Any, action_masks: np.ndarray | None = None, **kwargs: Any) -> None:
        """Add one step of every game; `action_masks` bool [games, actions], the rest as in the base class."""
        if action_masks is not None:
            assert isinstance(self.observation_space, spaces.Dict)
            obs = args[0]
            questions = action_masks.shape[1] - _animals(self.observation_space)
            guesses = np.where(obs["guess_ids"] >= 0, obs["guess_ids"] + questions, -1)
            listed = np.concatenate([obs["ask_ids"], guesses], axis=1)
            action_masks = np.take_along_axis(action_masks, np.maximum(listed, 0), axis=1) & (listed >= 0)
        super().add(*args, action_masks=action_masks, **kwargs)


def _animals(space: spaces.Dict) -> int:
    ids = space["guess_ids"]
    assert isinstance(ids, spaces.Box)
    return int(ids.high.max()) + 1

"""PPO in one file, in the manner of CleanRL, on the animal game. python docs/agent_cleanrl.py --steps 20000

Masks, generalised advantages and the clipped objective by hand, so that every line can be changed.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import torch as th
import tyro
from torch import nn
from torch.distributions import Categorical

import env  # registers wilkins/Cabinet-v0  # noqa: F401


class Agent(nn.Module):
    """A shared trunk, a logit for every action, a value."""

    def __init__(self, inputs: int, actions: int):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh())
        self.actor, self.critic = nn.Linear(128, actions), nn.Linear(128, 1)

    def forward(self, seen: th.Tensor, mask: th.Tensor) -> tuple[Categorical, th.Tensor]:
        """Distribution over the legal actions and values [games]; `seen` [games, inputs], `mask` [games, actions]."""
        hidden = self.trunk(seen)
        return Categorical(logits=self.actor(hidden).masked_fill(~mask, -1e8)), self.critic(hidden).squeeze(-1)


def make(seed: int) -> gymnasium.Env:
    """One game, its observation as one vector, counting its own return."""
    game = gymnasium.make("wilkins/Cabinet-v0")
    game = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.wrappers.FlattenObservation(game))
    game.reset(seed=seed)
    return game


def main(
    steps: int = 20_000, games: int = 8, horizon: int = 128, epochs: int = 4, minibatches: int = 4,
    learning_rate: float = 3e-4, gae_lambda: float = 0.95, clip: float = 0.2, entropy: float = 0.01, seed: int = 0,
) -> list[float]:  # fmt: skip
    """Train; returns the score x100 of every round that ended."""
    th.manual_seed(seed)
    random = np.random.default_rng(seed)
    worlds = [make(seed + number) for number in range(games)]
    agent = Agent(int(np.prod(worlds[0].observation_space.shape)), int(worlds[0].action_space.n))
    adam = th.optim.Adam(agent.parameters(), lr=learning_rate, eps=1e-5)
    seen = [game.reset()[0] for game in worlds]
    scores: list[float] = []

    def look() -> tuple[th.Tensor, th.Tensor]:
        masks = np.stack([game.get_wrapper_attr("action_masks")() for game in worlds])
        return th.as_tensor(np.stack(seen), dtype=th.float32), th.as_tensor(masks)

    for _ in range(max(1, steps // (games * horizon))):
        kept: list[tuple[th.Tensor, ...]] = []
        for _ in range(horizon):
            now, mask = look()
            with th.no_grad():
                chance, value = agent(now, mask)
                action = chance.sample()
            rewards, ends = th.zeros(games), th.zeros(games)
            for place, game in enumerate(worlds):
                seen[place], reward, over, _, info = game.step(int(action[place]))
                rewards[place], ends[place] = float(reward), float(over)
                if over:
                    scores.append(100 * float(info["episode"]["r"]))
                    seen[place], _ = game.reset()
            kept.append((now, mask, action, chance.log_prob(action), value, rewards, ends))
        with th.no_grad():
            following = agent(*look())[1]
        observations, masks, actions, chances, values, paid, over_now = map(th.stack, zip(*kept, strict=True))
        advantages, later = th.zeros_like(paid), th.zeros(games)
        for when in reversed(range(horizon)):  # gamma is 1: the return is the score
            going_on = 1 - over_now[when]
            delta = paid[when] + following * going_on - values[when]
            advantages[when] = later = delta + gae_lambda * going_on * later
            following = values[when]
        returns = advantages + values
        batch = [each.flatten(0, 1) for each in (observations, masks, actions, chances, advantages, returns)]
        for _ in range(epochs):
            for part in np.array_split(random.permutation(games * horizon), minibatches):
                now, mask, action, before, gain, target = (each[part] for each in batch)
                chance, value = agent(now, mask)
                ratio = (chance.log_prob(action) - before).exp()
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                policy_loss = -th.min(gain * ratio, gain * ratio.clamp(1 - clip, 1 + clip)).mean()
                loss = policy_loss + 0.5 * (value - target).square().mean() - entropy * chance.entropy().mean()
                adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                adam.step()
    print(f"{len(scores)} rounds, score x100 of the last hundred: {np.mean(scores[-100:]):.2f}")
    return scores


if __name__ == "__main__":
    tyro.cli(main)

"""Stock MaskablePPO of sb3-contrib on the animal game. python docs/agent_maskable_ppo.py --steps 20000"""

from __future__ import annotations

import gymnasium
import tyro
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import env  # registers wilkins/Cabinet-v0  # noqa: F401


def main(steps: int = 20_000, games: int = 8, horizon: int = 128, rounds: int = 50, seed: int = 0) -> float:
    """Train, then play greedily; returns the mean score x100.

    The stock network has an output for every question and animal and must find out what each is about: `wilkins train`
    scores a shortlist instead.
    """
    worlds = make_vec_env("wilkins/Cabinet-v0", games, seed=seed)
    agent = MaskablePPO(
        "MultiInputPolicy", worlds, n_steps=horizon, batch_size=games * horizon // 4, gamma=1.0, seed=seed
    )
    agent.learn(steps)
    game = gymnasium.make("wilkins/Cabinet-v0")
    total = 0.0
    for number in range(rounds):
        observation, _ = game.reset(seed=seed + number)
        over = False
        while not over:
            mask = game.get_wrapper_attr("action_masks")()
            action, _ = agent.predict(observation, action_masks=mask, deterministic=True)
            observation, reward, over, _, _ = game.step(action)
            total += 100 * float(reward)
    print(f"{agent.num_timesteps:,} steps, {rounds} rounds, score x100: {total / rounds:.2f}")
    return total / rounds


if __name__ == "__main__":
    tyro.cli(main)

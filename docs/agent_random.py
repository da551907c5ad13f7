"""A random agent: the environment's interface in one screen. python docs/agent_random.py --rounds 100"""

from __future__ import annotations

import gymnasium
import numpy as np
import tyro

import env  # registers wilkins/Cabinet-v0  # noqa: F401


def main(rounds: int = 100, seed: int = 0) -> float:
    """Play rounds with legal actions drawn at random; returns the mean score x100."""
    game = gymnasium.make("wilkins/Cabinet-v0")
    game.action_space.seed(seed)
    scores = []
    for number in range(rounds):
        game.reset(seed=seed + number)
        over = False
        while not over:
            mask = game.get_wrapper_attr("action_masks")().astype(np.int8)
            _, reward, over, _, _ = game.step(game.action_space.sample(mask))
        scores.append(100 * float(reward))  # only the last call pays
    mean = float(np.mean(scores))
    print(f"{rounds} rounds, score x100: {mean:.2f}")
    return mean


if __name__ == "__main__":
    tyro.cli(main)

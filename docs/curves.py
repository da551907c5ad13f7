"""Draws the README's picture of a run's TensorBoard curves: python docs/curves.py runs/NAME docs/curves.png.

Needs matplotlib, which the program itself does not.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def main(run: str, picture: str) -> None:
    """Draw the expected score on the hidden split with the limit, and the rounds' score while training."""
    events = EventAccumulator(run)
    events.Reload()

    def curve(tag: str) -> tuple[list[int], list[float]]:
        points = events.Scalars(tag)
        return [point.step for point in points], [point.value for point in points]

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), dpi=110, layout="constrained")
    left.plot(*curve("eval/hidden_score"), marker="o", color="#0072b2", label="hidden, expected")
    left.plot(*curve("eval/limit"), color="#555555", linestyle="--", label="limit")
    left.set(title="eval/hidden_score", xlabel="calls trained on", ylabel="score x100")
    left.legend(frameon=False, loc="lower right")
    steps, values = curve("rollout/ep_rew_mean")
    right.plot(steps, [100 * value for value in values], color="#d55e00")
    right.set(title="rollout/ep_rew_mean x100", xlabel="calls trained on")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:.0f}k")
    figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])

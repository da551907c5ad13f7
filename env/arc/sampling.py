"""Random steps for tests and benchmarks: every tool, borders and refusals included, most of them with an effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from env.arc.editor import State
from env.arc.tasks import COLOURS, LARGEST_SIDE, make_grid
from env.arc.trace import STEPS, Step, apply

_RARE = {"submit": 0.15, "resize": 0.5, "crop": 0.4, "reset": 0.3}
"""Weight of what would end or empty the grid too soon; 1 for the rest."""


def random_steps(random: np.random.Generator, state: State, count: int) -> Iterator[Step]:
    """`count` steps, each drawn for the state that those before it lead to; one in ten may be out of bounds."""
    names = list(STEPS)
    weight = np.array([_RARE.get(name, 1.0) for name in names])
    for _ in range(count):
        do = names[random.choice(len(names), p=weight / weight.sum())]
        step = Step(do, _arguments(random, state, do))
        yield step
        state = apply(state, step)


def _arguments(random: np.random.Generator, state: State, do: str) -> dict[str, Any]:
    wild = random.random() < 0.1
    on = "output" if random.random() < 0.7 else "input"
    height, width = (state.input if do in ("select", "pick") and on == "input" else state.grid).shape

    def place(side: int) -> int:
        edge = random.random()
        return int(
            random.integers(-2, side + 2)
            if wild
            else 0
            if edge < 0.15
            else side - 1
            if edge > 0.85
            else random.integers(side)
        )

    drawn: dict[str, Any] = {
        "row": place(height),
        "column": place(width),
        "to_row": place(height),
        "to_column": place(width),
        "rows": int(random.integers(-2, 3)) if not wild else place(height) - place(height),
        "columns": int(random.integers(-2, 3)) if not wild else place(width) - place(width),
        "height": int(random.integers(-1, LARGEST_SIDE + 3) if wild else random.integers(1, LARGEST_SIDE + 1)),
        "width": int(random.integers(-1, LARGEST_SIDE + 3) if wild else random.integers(1, LARGEST_SIDE + 1)),
        "colour": int(random.integers(COLOURS)),
        "turns": int(random.integers(1, 4)),
        "on": on,
        "axis": "horizontal" if random.random() < 0.5 else "vertical",
        "cells": [(place(height), place(width)) for _ in range(random.integers(1, 6))],
        "note": "at random",
    }
    if "grid" in STEPS[do][1]:
        drawn["grid"] = make_grid(random.integers(0, COLOURS, random.integers(1, 7, 2)))
    if do == "select" and random.random() < 0.3:  # one cell, so that pasting has its place
        drawn |= {"to_row": drawn["row"], "to_column": drawn["column"]}
    return {key: drawn[key] for key in STEPS[do][1]}

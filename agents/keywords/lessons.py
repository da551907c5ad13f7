"""What looking ahead to winning teaches the agent: games played by it, and what every listed action is worth there."""

from __future__ import annotations

import numpy as np

from agents.identification.lessons import TEMPERATURE, Lesson
from agents.keywords import compiled
from agents.keywords.players import FOCUS, BeliefPlayer, play
from env.identification.observation import Observation, Shortlist
from env.keywords.belief import Belief, Transcript
from env.keywords.comparison import ROUNDS
from env.keywords.observation import observe

BITS = 0.02
"""Difference in information at which one question is to be e times as likely as another, before it looks to winning."""


def lesson(belief: Belief, hidden: np.ndarray, answers: np.ndarray, shortlist: Shortlist, look_from: int) -> Lesson:
    """States of games that are answered by `answers`, bool [games, questions], with the worth of what is listed there.

    A question is worth what the guesses left will cover, two questions deep, and before round `look_from` its information;
    a guess is worth its posterior. Each state is taught once, by the root of how often it was met.
    """
    _, seen = play(BeliefPlayer(belief, look_from, deeper=True), answers, hidden)
    observations: list[Observation] = []
    values: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    for number in range(ROUNDS):
        for guessing in (False, True):
            here = _until(seen, number, guessing)
            key = np.concatenate([here.asked, here.said], axis=1)
            _, first, count = np.unique(key, axis=0, return_index=True, return_counts=True)
            here = here[first]
            begun = np.full(len(here), number)
            observation = observe(belief, here, begun, np.full(len(here), guessing), shortlist)
            observations.append(observation)
            looks = number + 1 >= look_from
            values.append(
                _guess_values(observation) if guessing else _ask_values(belief, here, number, looks, observation)
            )
            weights.append(np.sqrt(count))
    weight = np.concatenate(weights)
    return Lesson(
        {key: np.concatenate([each[key] for each in observations]) for key in observations[0]},
        np.concatenate(values),
        (weight / weight.mean()).astype(np.float32),
    )


def _until(seen: Transcript, number: int, guessing: bool) -> Transcript:
    """The games that reached this turn of round `number` (from 0), as they stood there."""
    part = seen[seen.asked[:, number] >= 0]
    part.asked[:, number + guessing :] = -1
    part.said[:, number + guessing :] = False
    part.guessed[:, number:] = -1
    return part


def _ask_values(belief: Belief, seen: Transcript, number: int, looks: bool, observation: Observation) -> np.ndarray:
    asks, guesses = observation["ask_ids"].shape[1], observation["guess_ids"].shape[1]
    listed, worth = np.empty((len(seen), asks), np.int64), np.empty((len(seen), asks), np.float32)
    left = np.full(len(seen), ROUNDS - number if looks else 0)
    compiled.value_asks_all(belief.tables, seen.asked, seen.said, seen.guessed, left, True, FOCUS, listed, worth)
    if not looks:
        worth *= TEMPERATURE / BITS
    assert np.array_equal(listed, observation["ask_ids"])  # both list by information
    return np.concatenate([worth, np.full((len(seen), guesses), np.nan, np.float32)], axis=1)


def _guess_values(observation: Observation) -> np.ndarray:
    posterior = np.where(observation["guess_ids"] >= 0, observation["guesses"][:, :, 0], np.nan)
    return np.concatenate([np.full(observation["ask_ids"].shape, np.nan), posterior], axis=1).astype(np.float32)

"""Teaching the agent what lookahead finds: exact action values become targets of its network.

Expert iteration (Anthony, Tian and Barber 2017): lookahead improves the agent, the agent learns the improvement,
lookahead improves it further. The values are exact, so a few thousand states teach what samples would not show.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch as th

from agents.identification.players import Lookahead
from agents.identification.policy import IMPOSSIBLE, ShortlistPolicy
from env.identification.belief import Likelihood
from env.identification.observation import Observation, Observer
from env.identification.support import Beliefs

TEMPERATURE = 0.003
"""Difference in expected round score at which one action is to be e times as likely as another."""

EPOCHS, BATCH, LEARNING_RATE = 30, 512, 1e-3


@dataclass
class Recorder:
    """A player that looks ahead and keeps what it saw: observations, and the values of the listed actions."""

    lookahead: Lookahead
    observer: Observer
    seen: list[Observation] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)

    @property
    def candidates(self) -> np.ndarray:
        """See `Player`."""
        return self.lookahead.candidates

    @property
    def likelihood(self) -> Likelihood:
        """See `Player`."""
        return self.lookahead.likelihood

    def decide(self, beliefs: Beliefs, asked: np.ndarray, calls: np.ndarray) -> np.ndarray:
        """What lookahead decides; see `Player.decide`."""
        options, values = self.lookahead.valued(beliefs, asked, calls)
        observation = self.observer.observe(beliefs.dense(len(self.candidates)), asked, calls)
        questions = asked.shape[1]
        guesses = np.where(observation["guess_ids"] >= 0, questions + observation["guess_ids"], -1)
        listed = np.concatenate([observation["ask_ids"], guesses], axis=1)
        actions = np.where(options >= 0, self.lookahead.player.to_actions(options), -2)
        known = np.full(listed.shape, np.nan, np.float32)
        for option in range(actions.shape[1]):
            game, place = np.nonzero((listed == actions[:, option, None]) & (values[:, option, None] >= 0))
            known[game, place] = values[game, option]
        self.seen.append(observation)
        self.values.append(known)
        return self.lookahead.chosen(options, values)


@dataclass(frozen=True)
class Lesson:
    """States of one enumeration with what their actions are worth; the arrays' first axis is states."""

    observation: Observation
    value: np.ndarray
    """float32 [states, listed actions], expected round score, NaN where not valued."""
    weight: np.ndarray
    """float32 [states], how much each state counts: the root of its probability."""


def lesson(recorder: Recorder, reach: np.ndarray) -> Lesson:
    """What a recorder saw during one enumeration; `reach` float64 [states] tells how likely each state is."""
    observation = {key: np.concatenate([seen[key] for seen in recorder.seen]) for key in recorder.seen[0]}
    value = np.concatenate(recorder.values)
    useful = np.isfinite(value).sum(axis=1) > 1
    weight = np.sqrt(reach[useful])
    return Lesson(
        {key: array[useful] for key, array in observation.items()},
        value[useful],
        (weight / weight.mean()).astype(np.float32),
    )


def teach(policy: ShortlistPolicy, lessons: list[Lesson], seed: int) -> float:
    """Fit the policy to the lessons: cross-entropy to a softmax of the values; returns the last epoch's loss."""
    lessons = [each for each in lessons if len(each.weight)]
    if not lessons:
        return 0.0
    observation = {
        key: th.as_tensor(np.concatenate([each.observation[key] for each in lessons])) for key in lessons[0].observation
    }
    value = th.as_tensor(np.concatenate([each.value for each in lessons]))
    weight = th.as_tensor(np.concatenate([each.weight for each in lessons]))
    absent = policy.listed_actions(observation) < 0
    scores = th.where(th.isfinite(value), value / TEMPERATURE, th.tensor(IMPOSSIBLE))
    target = th.softmax(scores, dim=1)
    actor = [parameter for name, parameter in policy.scorer.named_parameters() if not name.startswith("value")]
    optimizer = th.optim.Adam(actor, LEARNING_RATE)
    random = th.Generator().manual_seed(seed)
    loss_sum = 0.0
    for epoch in range(EPOCHS):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * (1 - epoch / EPOCHS)
        loss_sum = 0.0
        for batch in th.randperm(len(value), generator=random).split(BATCH):
            logits = policy.scorer.logits({key: array[batch] for key, array in observation.items()})
            log_probability = th.log_softmax(logits.masked_fill(absent[batch], IMPOSSIBLE), dim=1)
            loss = -(weight[batch] * (target[batch] * log_probability).sum(dim=1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_sum += float(loss.detach()) * len(batch)
    return loss_sum / len(value)

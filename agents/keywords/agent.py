"""A trained agent of LLM 20 Questions, found again in its run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.identification.policy import ShortlistPolicy
from agents.keywords.players import TrainedPlayer
from agents.keywords.run import load_keywords_run, stored_policy
from env.identification.observation import Shortlist
from env.keywords.belief import Belief


@dataclass(frozen=True)
class Agent:
    """A trained agent, and which run and checkpoint it is of."""

    label: str
    policy: ShortlistPolicy
    shortlist: Shortlist
    look_from: int
    """See `TrainedPlayer`."""

    def player(self, belief: Belief) -> TrainedPlayer:
        """The agent reckoning with a belief, as it leaves in the agent file."""
        return TrainedPlayer(belief, self.policy, self.shortlist, self.look_from)

    @property
    def layers(self) -> Mapping[str, np.ndarray]:
        """What decides in its network, float32 by name of the layer."""
        return {
            name: values.numpy()
            for name, values in self.policy.scorer.state_dict().items()
            if not name.startswith("value")
        }


def load_agent(folder: Path, checkpoint: str = "best") -> Agent:
    """An agent of a run. Raises UserError where there is none, or its file is damaged."""
    run, chosen = load_keywords_run(folder)
    label = f"{folder.name} {run.checkpoint(checkpoint).label}"
    return Agent(label, stored_policy(run, chosen, checkpoint), chosen.shortlist, chosen.look_from)

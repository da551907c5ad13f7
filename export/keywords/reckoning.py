"""What the agent file and the page are handed of how the trained agent reckons: every number from where it stands."""

from __future__ import annotations

from agents.keywords.agent import Agent
from agents.keywords.compiled import ALIKE, BETTER
from agents.keywords.players import AS_GOOD, FOCUS, WIDTH
from agents.keywords.run import LOOK_FROM
from env.identification.compiled import NEGLIGIBLE, RANKS
from env.keywords.compiled import GRAINS
from export.keywords.player import Reckoning


def reckoning_of(trained: Agent | None) -> Reckoning:
    """How a trained agent reckons; without one, belief that looks ahead from the usual round."""
    return Reckoning(
        look_from=LOOK_FROM if trained is None else trained.look_from, width=WIDTH, focus=FOCUS, ranks=RANKS,
        negligible=NEGLIGIBLE, grains=float(GRAINS), better=BETTER, as_good=AS_GOOD, alike=float(ALIKE),
    )  # fmt: skip

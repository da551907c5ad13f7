"""A player's decisions as a finite graph: breadth first over beliefs, equal subgraphs merged, cut to a node limit.

Knows players only as functions from beliefs to actions; training and file formats are left to others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from agents.identification.players import POINTS, Player, place_of
from env.cabinet.rules import BUDGET
from env.errors import UserError
from env.identification.belief import Likelihood
from env.identification.compiled import NEGLIGIBLE
from env.identification.pools import Pool
from env.identification.support import Beliefs
from export.cabinet.graph import ASK, GUESS, Graph
from export.cabinet.validate import MAX_NODES as MAX_NODES

UNREACHED = 1e-9
"""Probability of a state below which it is left out; all of them together are reported."""

BATCH = 512
"""States decided together: enough to fill the processors, few enough to fit their caches."""

NULL = -1


@dataclass
class Decisions:
    """Every state that a player can come to, in levels by consumed calls; the arrays' axis is states."""

    action: np.ndarray
    """int64, in the numbering of the environment: questions first, then animals."""
    yes: np.ndarray
    """int64, state after "yes"; -1 where there is none, or after a guess."""
    no: np.ndarray
    """int64, state after "no" or after a wrong guess; -1 where there is none."""
    calls: np.ndarray
    """int64, consumed before the state."""
    reach: np.ndarray
    """float64, probability of coming to the state."""
    chain: np.ndarray
    """int64 [states, BUDGET], likeliest animals, falling: what to guess if the state is cut off here."""
    chain_mass: np.ndarray
    """float64 [states, BUDGET], probability of coming to the state with that animal hidden."""
    questions: int
    left_out: float
    """Probability of the states that were left out because nearly nothing comes to them."""


def enumerate_decisions(
    player: Player,
    world: Likelihood | None = None,
    most_states: int = 8 * MAX_NODES,
    progress: Callable[[int, int], None] | None = None,
) -> Decisions:
    """Follow a player's decisions from the start through every answer that some candidate may give.

    The states form a tree: a player that decides by what it heard never comes to one state on two ways,
    since the first call on which they part was answered yes on one and no on the other.

    `world` is how platforms answer (the player's own likelihood when None); it tells how likely a state is.
    `progress` is called with calls consumed and states found after each level.
    """
    own = player.likelihood
    questions = own.p_yes.shape[1]
    levels: list[dict[str, np.ndarray]] = []
    first, left_out = 0, 0.0
    here = States.start(player, world)
    for calls in range(BUDGET):
        games = len(here.reach)
        action = np.concatenate(
            [
                _decided(player, here, np.arange(start, min(start + BATCH, games)), calls)
                for start in range(0, games, BATCH)
            ]
        )
        likeliest, mass = (here.belief if here.true is None else here.true).likeliest(BUDGET)
        level = {
            "action": action,
            "yes": np.full(games, NULL),
            "no": np.full(games, NULL),
            "calls": np.full(games, calls),
            "reach": here.reach,
            "chain": player.candidates[likeliest],
            "chain_mass": mass * here.reach[:, None],
        }
        levels.append(level)
        if progress is not None:
            progress(calls, first + games)
        if calls == BUDGET - 1:
            break
        here, parent, answer = _children(player, world, here, action)
        kept = here.reach >= UNREACHED
        room = most_states - first - games
        if kept.sum() > room:
            least = np.partition(here.reach, len(here.reach) - room)[len(here.reach) - room] if room > 0 else np.inf
            kept &= here.reach >= least
        left_out += float(here.reach[~kept].sum())
        places = np.flatnonzero(kept)
        here, parent, answer = here.taken(places), parent[places], answer[places]
        if len(places) == 0:
            break
        child = first + games + np.arange(len(places))
        level["yes"][parent[answer]] = child[answer]
        level["no"][parent[~answer]] = child[~answer]
        first += games
    joined = {key: np.concatenate([level[key] for level in levels]) for key in levels[0]}
    return Decisions(**joined, questions=questions, left_out=left_out)


@dataclass(frozen=True)
class States:
    """States of one level while they are enumerated; the arrays' axis is states."""

    belief: Beliefs
    """What the player believes."""
    true: Beliefs | None
    """The posterior where platforms answer otherwise than the player thinks; None where that is `belief`."""
    reach: np.ndarray
    """float64, probability of coming to the state."""
    history: np.ndarray
    """int64 [states, calls], what was heard: 2 * question + answer, or 2 * questions + animal for a wrong guess."""

    @classmethod
    def start(cls, player: Player, world: Likelihood | None) -> States:
        """The one state before the first call."""
        prior = Beliefs.prior(len(player.candidates))
        return cls(prior, None if world is None else prior, np.ones(1), np.empty((1, 0), np.int64))

    def taken(self, places: np.ndarray) -> States:
        """Some of the states, int64 [n]."""
        true = None if self.true is None else self.true.taken(places)
        return States(self.belief.taken(places), true, self.reach[places], self.history[places])


def _decided(player: Player, states: States, places: np.ndarray, calls: int) -> np.ndarray:
    """The player's actions in some of the states."""
    questions = player.likelihood.p_yes.shape[1]
    asked, history = np.zeros((len(places), questions), dtype=bool), states.history[places]
    rows, columns = np.nonzero(history < 2 * questions)
    asked[rows, history[rows, columns] // 2] = True
    action = player.decide(states.belief.taken(places), asked, np.full(len(places), calls))
    asks = np.flatnonzero(action < questions)
    if asked[asks, action[asks]].any():
        raise ValueError("a player that repeats a question cannot be enumerated state by state")
    return action


def _children(
    player: Player, world: Likelihood | None, states: States, action: np.ndarray
) -> tuple[States, np.ndarray, np.ndarray]:
    """All states one call on, their parents, and whether a yes leads there (not a no, or a wrong guess)."""
    questions = player.likelihood.p_yes.shape[1]
    asks, guesses = np.flatnonzero(action < questions), np.flatnonzero(action >= questions)
    parent = np.concatenate([asks, asks, guesses])
    yes = np.repeat([True, False, False], [len(asks), len(asks), len(guesses)])
    made = action[parent]
    guess = made >= questions
    question = np.where(guess, NULL, made)
    candidate = np.where(guess, place_of(player.candidates, made - questions), NULL)
    call = parent, question, yes, candidate
    # Whoever falls below this is never again among those that matter, in any state that is kept.
    least = UNREACHED * NEGLIGIBLE / states.reach[parent]
    if world is None:
        belief, probability = states.belief.after(player.likelihood.by_question, *call, least)
        true = None
    else:
        assert states.true is not None
        belief, _ = states.belief.after(player.likelihood.by_question, *call)
        true, probability = states.true.after(world.by_question, *call, least)
    reach = states.reach[parent] * probability
    heard = np.where(guess, 2 * questions + made - questions, 2 * made + yes)
    history = np.column_stack([states.history[parent], heard])
    contradicted = np.flatnonzero(belief.empty & (reach > 0))
    if contradicted.size:
        rows = []
        for row in contradicted:
            known = history[row][history[row] < 2 * questions]
            excluded = np.isin(player.candidates, history[row][history[row] >= 2 * questions] - 2 * questions)
            rows.append(player.likelihood.likeliest_by_margin(known // 2, known % 2 == 1, excluded))
        belief = belief.replaced(contradicted, np.stack(rows))
    return States(belief, true, reach, history), parent, yes


@dataclass(frozen=True)
class Cut:
    """A graph within the node limit, and what it cost."""

    graph: Graph
    whole: int
    """Nodes that the decisions would need without a limit, equal subgraphs merged."""
    given_up: float
    """Probability of coming to a state where the player's own decisions end before the round does."""
    ended: np.ndarray
    """bool [states of the decisions], where a chain of guesses stands in place of the player's decisions."""


def to_graph(decisions: Decisions, animals: Pool, questions: Pool, max_nodes: int = MAX_NODES) -> Cut:
    """Graph of at most `max_nodes` nodes, equal subgraphs merged.

    Where the decisions need more, the states whose loss per saved node is least are cut off and end in a
    chain of guesses, likeliest first (weakest-link pruning; Breiman et al. 1984): for a price per node the
    best subtree is found bottom up, and the price is raised until the graph fits.
    Raises UserError for a limit that no policy can keep.
    """
    if not 1 <= max_nodes <= MAX_NODES:
        raise UserError(f"max-nodes {max_nodes} is not in 1..{MAX_NODES}")
    uncut = np.full(len(decisions.action), NULL)
    nodes, root = _merged(decisions, uncut)
    whole = len(nodes)
    cut = uncut
    if whole > max_nodes:
        low, high = 0.0, 1.0
        for _ in range(40):
            price = (low * high) ** 0.5 if low > 0 else high / 1024
            trial = _cheapest(decisions, price)
            trial_nodes, trial_root = _merged(decisions, trial)
            if len(trial_nodes) > max_nodes:
                low = price
            else:
                high, cut, nodes, root = price, trial, trial_nodes, trial_root
            if low > 0 and high / low < 1.001:
                break
    table = np.array(nodes, dtype=np.int64).reshape(-1, 4)
    graph = _numbered(table, root, animals.sha256, questions.sha256)
    return Cut(graph, whole, _given_up(decisions, cut), cut >= 0)


def _cheapest(decisions: Decisions, price: float) -> np.ndarray:
    """For each state: -1 to keep its decision, or the length of the chain of guesses to end it with."""
    states = len(decisions.action)
    kept_value = np.zeros(states + 1)  # the last entry stands for a null edge
    length = np.full(states, NULL)
    own = _own_points(decisions)
    levels = np.flatnonzero(np.diff(np.r_[-1, decisions.calls, BUDGET]))
    for start, stop in reversed(list(pairwise(levels))):
        part = slice(start, stop)
        keep = own[part] - price + kept_value[decisions.yes[part]] + kept_value[decisions.no[part]]
        calls = int(decisions.calls[start])
        gains = decisions.chain_mass[part, : BUDGET - calls] * POINTS[calls:] - price
        totals = np.cumsum(gains, axis=1)
        best = totals.argmax(axis=1)
        chain = np.maximum(totals[np.arange(stop - start), best], 0.0)
        cut = chain > keep
        kept_value[part] = np.where(cut, chain, keep)
        length[part] = np.where(cut, np.where(chain > 0, best + 1, 0), NULL)
    if length[0] == 0:
        length[0] = 1  # a graph has at least its root
    return length


def _own_points(decisions: Decisions) -> np.ndarray:
    """Expected points that the call of each state itself gives: mass of the guessed animal times its points."""
    guess = decisions.action - decisions.questions
    right = np.where(decisions.chain == guess[:, None], decisions.chain_mass, 0.0).max(axis=1)
    return np.where(guess >= 0, right * POINTS[decisions.calls], 0.0)


def _merged(decisions: Decisions, cut: np.ndarray) -> tuple[list[tuple[int, int, int, int]], int]:
    """Distinct nodes (kind, value, yes, no), children before parents, and the root's index.

    Two states whose decisions and whose continuations are equal become one node.
    """
    index: dict[tuple[int, int, int, int], int] = {}
    node_of = np.full(len(decisions.action) + 1, NULL)
    alive = _alive(decisions, cut)
    action, yes, no, chains = decisions.action, decisions.yes, decisions.no, decisions.chain
    for state in np.flatnonzero(alive)[::-1].tolist():
        if cut[state] >= 0:
            node = NULL
            for animal in chains[state, : cut[state]][::-1].tolist():
                node = index.setdefault((GUESS, animal, NULL, node), len(index))
        elif action[state] < decisions.questions:
            key = (ASK, int(action[state]), int(node_of[yes[state]]), int(node_of[no[state]]))
            node = index.setdefault(key, len(index))
        else:
            key = (GUESS, int(action[state]) - decisions.questions, NULL, int(node_of[no[state]]))
            node = index.setdefault(key, len(index))
        node_of[state] = node
    return list(index), int(node_of[0])


def _alive(decisions: Decisions, cut: np.ndarray) -> np.ndarray:
    """States that the root still leads to once the cut ones end there, bool [states]."""
    alive = np.zeros(len(decisions.action) + 1, dtype=bool)
    alive[0] = True
    for calls in range(BUDGET):
        here = np.flatnonzero((decisions.calls == calls) & alive[:-1] & (cut < 0))
        alive[decisions.yes[here]] = alive[decisions.no[here]] = True
        alive[NULL] = False
    return alive[:-1]


def _given_up(decisions: Decisions, cut: np.ndarray) -> float:
    ends = _alive(decisions, cut) & (cut >= 0)
    return float(decisions.reach[ends].sum()) + decisions.left_out


def _numbered(table: np.ndarray, root: int, animals_sha256: str, questions_sha256: str) -> Graph:
    """Graph with nodes numbered breadth first from the root, which becomes node 0."""
    order: list[int] = []
    place: dict[int, int] = {}
    queue = [root]
    while queue:
        fresh = [node for node in dict.fromkeys(queue) if node not in place]
        for node in fresh:
            place[node] = len(order)
            order.append(node)
        queue = [int(child) for node in fresh for child in table[node, 2:] if child >= 0]
    renumber = np.full(len(table) + 1, NULL)
    renumber[order] = np.arange(len(order))
    kind, value, yes, no = table[order].T
    return Graph(
        kind=kind.astype(np.uint8),
        value=value.astype(np.int32),
        yes=renumber[yes].astype(np.int32),
        no=renumber[no].astype(np.int32),
        root=0,
        animals_sha256=animals_sha256,
        questions_sha256=questions_sha256,
    )

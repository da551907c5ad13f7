"""Claims about graphs of players: they play as the player does live, keep the node limit, and own up to what was cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.identification.play import platforms, play
from agents.identification.players import POINTS, Lookahead
from env.cabinet.rules import BUDGET
from env.errors import UserError
from env.identification.belief import Likelihood
from export.cabinet import score
from export.cabinet.enumerate import MAX_NODES, enumerate_decisions, to_graph
from export.cabinet.graph import ASK, GUESS
from export.cabinet.score import expected
from tests.worlds import package_of, player_of, tiny_package

KINDS = pytest.mark.parametrize("kind", ["belief", "network", "lookahead"])


def some_player(kind, package, noise):
    return Lookahead(player_of("belief", package, noise), 3) if kind == "lookahead" else player_of(kind, package, noise)


def graph_of(player, package, max_nodes=MAX_NODES, world=None):
    return to_graph(enumerate_decisions(player, world), package.animals, package.questions, max_nodes)


def step(graph, node, questions):
    """Action of a node in the numbering of the environment; -1 at a stop or a null edge."""
    if node < 0:
        return -1
    return int(graph.value[node]) + (questions if graph.kind[node] == GUESS else 0)


def followed(graph, answers, animal):
    """Actions that the graph takes on these answers, and whether it came to its own end before the round's."""
    questions, node, actions = len(answers), graph.root, []
    while len(actions) < BUDGET and (action := step(graph, node, questions)) >= 0:
        actions.append(action)
        if action == questions + animal:
            break
        node = graph.yes[node] if action < questions and answers[action] else graph.no[node]
    return actions, node < 0


@KINDS
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
def test_the_graph_plays_every_candidate_as_the_player_does_live(kind, noise):
    package = tiny_package(20, 10, seed=1)
    player = some_player(kind, package, noise)
    graph = graph_of(player, package).graph
    answers = package.matrix.margin > 0
    live = play(player, answers, np.arange(20))
    for animal in range(20):
        actions, ended = followed(graph, answers[animal], animal)
        assert actions == live.actions[animal][live.actions[animal] >= 0].tolist()
        assert not ended


@KINDS
def test_the_graph_plays_drawn_platforms_as_the_player_does_live(kind):
    package = tiny_package(16, 10, seed=2)
    player = some_player(kind, package, 0.2)
    graph = graph_of(player, package).graph
    animals = np.arange(800) % 16
    answers = platforms(package.matrix.margin[animals], 0.2, seed=3)
    live = play(player, answers, animals)
    ends = 0
    for row, animal, made in zip(answers, animals, live.actions, strict=True):
        actions, ended = followed(graph, row, animal)
        assert actions == made[: len(actions)].tolist()
        assert ended or len(actions) == (made >= 0).sum()
        ends += ended
    assert ends <= 1, "only what nearly nobody comes to may be missing"


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 320), st.integers(0, 3), st.sampled_from(["belief", "lookahead"]))
def test_the_node_limit_is_kept_at_every_size(max_nodes, seed, kind):
    package = tiny_package(14, 9, seed, spread=0.6)
    cut = graph_of(some_player(kind, package, 0.3), package, max_nodes)
    assert 1 <= len(cut.graph) <= max_nodes
    assert len(cut.graph) == cut.whole or cut.given_up > 0


def test_more_nodes_never_score_less():
    package = tiny_package(20, 12, seed=4)
    player = player_of("belief", package, 0.2)
    decisions = enumerate_decisions(player)
    whole = to_graph(decisions, package.animals, package.questions).whole
    scores, given_up = [], []
    for max_nodes in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, whole - 1):
        cut = to_graph(decisions, package.animals, package.questions, max_nodes)
        scores.append(100 * expected(cut.graph, player.likelihood.p_yes, player.candidates).score.mean())
        given_up.append(cut.given_up)
    assert np.diff(scores).min() > -1e-3
    assert scores[0] == pytest.approx(98 / 20)
    assert scores[8] > 0.99 * scores[-1], "as many nodes as two or three for each animal are nearly enough"
    assert given_up[0] == pytest.approx(1.0)


def test_one_node_is_a_guess_and_two_are_two():
    package = tiny_package(6, 5, seed=5)
    for nodes in (1, 2):
        graph = graph_of(player_of("belief", package, 0.1), package, nodes).graph
        assert graph.kind.tolist() == [GUESS] * nodes


@pytest.mark.parametrize("max_nodes", [0, -1, MAX_NODES + 1])
def test_a_limit_that_no_policy_can_keep_is_refused(max_nodes):
    package = tiny_package(4, 3, seed=5)
    with pytest.raises(UserError, match=f"max-nodes {max_nodes} is not in 1..32767"):
        graph_of(player_of("belief", package, 0.1), package, max_nodes)


@KINDS
def test_states_are_merged_without_a_change_of_the_score(kind):
    package = tiny_package(16, 10, seed=6)
    player = some_player(kind, package, 0.2)
    decisions = enumerate_decisions(player)
    cut = to_graph(decisions, package.animals, package.questions)
    assert len(cut.graph) == cut.whole < len(decisions.action)
    unmerged = 0.0
    for state, action in enumerate(decisions.action):
        if action >= 10:
            animal = np.flatnonzero(decisions.chain[state] == action - 10)[:1]
            unmerged += decisions.chain_mass[state, animal].sum() * POINTS[decisions.calls[state]]
    merged = expected(cut.graph, player.likelihood.p_yes, player.candidates).score.mean()
    assert merged == pytest.approx(unmerged, abs=1e-7)


def test_no_two_nodes_are_equal_and_the_root_leads_to_all():
    package = tiny_package(16, 10, seed=7)
    graph = graph_of(player_of("network", package, 0.2), package).graph
    rows = set(zip(graph.kind.tolist(), graph.value.tolist(), graph.yes.tolist(), graph.no.tolist(), strict=True))
    assert len(rows) == len(graph)
    edges = np.concatenate([graph.yes, graph.no])
    assert set(edges[edges >= 0].tolist()) | {graph.root} == set(range(len(graph)))
    assert (graph.yes[graph.kind == GUESS] == -1).all()
    assert set(np.unique(graph.kind).tolist()) <= {ASK, GUESS}


def test_the_parts_that_reach_a_state_add_up():
    package = tiny_package(16, 10, seed=8)
    decisions = enumerate_decisions(player_of("belief", package, 0.2))
    reached, calls = decisions.reach, decisions.calls
    assert reached[0] == pytest.approx(1.0)
    for state in np.flatnonzero(calls < BUDGET - 1):
        after = sum(reached[child] for child in (decisions.yes[state], decisions.no[state]) if child >= 0)
        asks = decisions.action[state] < 10
        right = 0.0 if asks else decisions.chain_mass[state][decisions.chain[state] == decisions.action[state] - 10]
        assert after + np.sum(right) == pytest.approx(reached[state], abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 600), st.integers(0, 5))
def test_what_is_given_up_is_the_probability_that_the_player_would_have_decided_otherwise(max_nodes, seed):
    """Measured on the graph alone: the probability of leaving the player's decisions is never more than was said."""
    package = tiny_package(12, 9, seed)
    player = player_of("belief", package, 0.3)
    decisions = enumerate_decisions(player)
    cut = to_graph(decisions, package.animals, package.questions, max_nodes)
    assert 0 <= cut.given_up <= 1 + 1e-6
    whole = to_graph(decisions, package.animals, package.questions).graph
    parted, pairs = 0.0, {(0, whole.root, cut.graph.root): np.full(12, 1 / 12)}
    while pairs:
        (calls, a, b), mass = pairs.popitem()
        if calls == BUDGET or a < 0:
            continue
        action = step(whole, a, 9)
        if action != step(cut.graph, b, 9):
            parted += mass.sum()
            continue
        p = player.likelihood.p_yes[:, action] if action < 9 else None
        branches = [
            (whole.no[a], cut.graph.no[b], mass * (1 - p) if p is not None else mass * (np.arange(12) != action - 9))
        ]
        if p is not None:
            branches.append((whole.yes[a], cut.graph.yes[b], mass * p))
        for left, right, m in branches:
            key = (calls + 1, int(left), int(right))
            pairs[key] = pairs.get(key, 0) + m
    assert parted <= cut.given_up + 1e-6
    if cut.whole > max_nodes:
        assert cut.given_up > 0
        assert parted > 0.2 * cut.given_up, "a cut is a branch that the player would have played otherwise"


def test_what_is_left_out_is_the_probability_that_the_graph_ends_before_the_round():
    package = tiny_package(12, 9, seed=9)
    player = player_of("belief", package, 0.2)
    few = enumerate_decisions(player, most_states=60)
    assert len(few.action) <= 60
    assert 1e-5 < few.left_out < 0.5
    graph = to_graph(few, package.animals, package.questions).graph
    arrays = expected(graph, player.likelihood.p_yes, player.candidates)
    everything = enumerate_decisions(player)
    assert everything.left_out < 1e-6
    best = expected(
        to_graph(everything, package.animals, package.questions).graph, player.likelihood.p_yes, player.candidates
    )
    lost = best.score.mean() - arrays.score.mean()
    assert 0 < lost <= few.left_out


def test_every_node_of_an_uncut_graph_is_reached():
    package = tiny_package(12, 9, seed=9)
    player = player_of("belief", package, 0.2)
    cut = graph_of(player, package)
    assert (score.followed(cut.graph, player.likelihood.p_yes, player.candidates).reached > 0).all()


@KINDS
def test_a_player_that_expects_no_noise_is_enumerated_through_the_noise_of_the_world(kind):
    """Its belief is contradicted there; the graph goes on as the player does live, from the nearest animals."""
    package = tiny_package(16, 12, seed=10)
    margin = package.matrix.margin
    player = some_player(kind, package, 0.0)
    world = Likelihood.from_margins(margin, 0.2)
    alone, noisy = (graph_of(player, package, world=each).graph for each in (None, world))
    assert len(noisy) > 2 * len(alone)
    animals = np.arange(800) % 16
    answers = platforms(margin[animals], 0.2, seed=11)
    live = play(player, answers, animals)
    ends = contradicted = 0
    for row, animal, made in zip(answers, animals, live.actions, strict=True):
        actions, ended = followed(noisy, row, animal)
        assert actions == made[: len(actions)].tolist()
        ends += ended
        contradicted += followed(alone, row, animal)[1]
    assert contradicted > 20
    assert ends <= 1
    score, plain = (expected(graph, world.p_yes, player.candidates).score.mean() for graph in (noisy, alone))
    assert score > plain + 0.01
    assert score == pytest.approx(live.score.mean(), abs=3 * live.score.std() / np.sqrt(800))


def test_a_player_that_repeats_a_question_is_refused():
    class Stubborn:
        candidates = np.arange(4)
        likelihood = Likelihood.from_margins(tiny_package(4, 3, seed=0).matrix.margin, 0.1)

        def decide(self, belief, asked, calls):
            return np.zeros(len(belief), np.int64)

    with pytest.raises(ValueError, match="repeats a question"):
        enumerate_decisions(Stubborn())


@KINDS
def test_the_same_player_gives_the_same_graph(kind):
    package = tiny_package(16, 10, seed=12)
    first, second = (graph_of(some_player(kind, package, 0.2), package, 60).graph for _ in range(2))
    for name in ("kind", "value", "yes", "no"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_progress_is_told_level_by_level():
    told = []
    decisions = enumerate_decisions(
        player_of("belief", tiny_package(8, 6, seed=1), 0.1),
        progress=lambda calls, states: told.append((calls, states)),
    )
    assert [calls for calls, _ in told] == list(range(len(told)))
    assert told[-1][1] == len(decisions.action)
    assert told == sorted(told, key=lambda pair: pair[1])


def test_one_candidate_is_guessed_at_once():
    package = package_of(np.ones((1, 2), np.float32))
    graph = graph_of(player_of("belief", package, 0.1), package, 1).graph
    assert (graph.kind.tolist(), graph.value.tolist(), graph.no.tolist()) == ([GUESS], [0], [-1])

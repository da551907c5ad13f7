"""Claims about exact scores: against rounds played one by one, against every answer there can be, and in speed."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env.cabinet.rules import BUDGET, round_score
from export.cabinet.graph import ASK, GUESS, STOP, Graph
from export.cabinet.score import expected, followed, walk

ANIMALS, QUESTIONS = 5, 4


def graph_of(nodes, root=0):
    """Graph of tuples: ("ask", question, yes, no), ("guess", animal, wrong), ("stop",); None is a null edge."""
    kind, value, yes, no = [], [], [], []
    for name, *rest in nodes:
        kind.append({"ask": ASK, "guess": GUESS, "stop": STOP}[name])
        value.append(rest[0] if rest else 0)
        edges = [-1 if edge is None else edge for edge in rest[1:]]
        yes.append(edges[0] if name == "ask" else -1)
        no.append(edges[-1] if edges else -1)
    arrays = (np.array(kind, np.uint8), *(np.array(column, np.int32) for column in (value, yes, no)))
    return Graph(*arrays, root, "a" * 64, "b" * 64)


@st.composite
def graphs(draw):
    """Any legal graph: shared nodes, cycles, null edges, stops, questions and guesses met again."""
    size = draw(st.integers(1, 9))
    edge = st.one_of(st.none(), st.integers(0, size - 1), st.integers(0, size - 1))
    node = st.one_of(
        st.tuples(st.just("ask"), st.integers(0, QUESTIONS - 1), edge, edge),
        st.tuples(st.just("ask"), st.integers(0, QUESTIONS - 1), edge, edge),
        st.tuples(st.just("guess"), st.integers(0, ANIMALS - 1), edge),
        st.tuples(st.just("stop")),
    )
    return graph_of(draw(st.lists(node, min_size=size, max_size=size)), draw(st.integers(0, size - 1)))


def play_by_hand(graph, animal, answers):
    """One round as the contract tells it: (solved, calls)."""
    node, calls = graph.root, 0
    while node >= 0 and graph.kind[node] != STOP and calls < BUDGET:
        calls += 1
        if graph.kind[node] == GUESS:
            if graph.value[node] == animal:
                return True, calls
            node = graph.no[node]
        else:
            node = graph.yes[node] if answers[graph.value[node]] else graph.no[node]
    return False, calls


@given(graphs(), st.integers(0, 2**32 - 1))
def test_a_walk_is_the_round_that_the_contract_tells(graph, seed):
    answer = np.random.default_rng(seed).integers(0, 2, (ANIMALS, QUESTIONS)).astype(np.uint8)
    animals = np.array([3, 0, 4])
    outcome = walk(graph, answer, animals)
    for row, animal in enumerate(animals):
        solved, calls = play_by_hand(graph, animal, answer[animal])
        assert (outcome.solved[row], outcome.calls[row]) == (solved, calls)
        assert outcome.score[row] == round_score(solved, calls)


@settings(max_examples=150, deadline=None)
@given(graphs(), st.integers(0, 2**32 - 1))
def test_the_expected_score_is_the_mean_over_every_answer_there_can_be(graph, seed):
    rng = np.random.default_rng(seed)
    animals = rng.permutation(ANIMALS)[:4]
    p_yes = rng.choice([0.0, 0.1, 0.5, 0.97, 1.0], (len(animals), QUESTIONS))
    solved, calls, score = np.zeros((3, len(animals)))
    for bits in range(2**QUESTIONS):
        answers = (bits >> np.arange(QUESTIONS)) & 1
        chance = np.where(answers, p_yes, 1 - p_yes).prod(axis=1)
        for row, animal in enumerate(animals):
            right, used = play_by_hand(graph, animal, answers)
            solved[row] += chance[row] * right
            calls[row] += chance[row] * used
            score[row] += chance[row] * round_score(right, used)
    outcome = expected(graph, p_yes, animals)
    np.testing.assert_allclose(outcome.solved, solved, atol=1e-11)
    np.testing.assert_allclose(outcome.calls, calls, atol=1e-10)
    np.testing.assert_allclose(outcome.score, score, atol=1e-11)


def test_a_question_met_again_is_answered_as_before():
    asked_twice = graph_of([("ask", 0, 1, None), ("ask", 0, 2, None), ("guess", 0, None)])
    assert expected(asked_twice, np.array([[0.5]]), np.array([0])).solved[0] == 0.5


def test_a_cycle_ends_after_fifteen_calls():
    circle = graph_of([("ask", 0, 1, 1), ("guess", 1, 0)])
    for outcome in (walk(circle, np.zeros((2, 1)), np.array([0])), expected(circle, np.zeros((1, 1)), np.array([0]))):
        assert (outcome.solved[0], outcome.calls[0], outcome.score[0]) == (0, 15, 0)
    assert walk(graph_of([("ask", 0, 0, 0)] * 1), np.zeros((1, 1)), np.array([0])).calls[0] == 15


def test_a_right_guess_scores_98_on_the_first_call_and_70_on_the_last():
    chain = graph_of([("guess", animal, animal + 1 if animal < 15 else None) for animal in range(16)])
    score = expected(chain, np.zeros((16, 1)), np.arange(16)).score
    np.testing.assert_allclose(score, [*(0.98 - 0.02 * np.arange(15)), 0.0], atol=1e-12)


def test_expectations_agree_with_walks_on_drawn_platforms():
    rng = np.random.default_rng(5)
    graph, margin, animals = tree(rng, depth=9, questions=40, animals=60)
    p_yes = 1 / (1 + np.exp(-2 * margin))
    draws = np.concatenate([walk(graph, rng.random(p_yes.shape) < p_yes, animals).score for _ in range(400)])
    error = draws.std() / np.sqrt(draws.size)
    assert abs(draws.mean() - expected(graph, p_yes, animals).score.mean()) < 4 * error
    assert error > 0


def test_call_distribution_holds_all_probability_and_gives_the_expectations():
    graph, margin, animals = tree(np.random.default_rng(6), depth=8, questions=30, animals=40)
    p_yes = 1 / (1 + np.exp(-margin))
    solved_on, calls, _, _ = followed(graph, p_yes, animals)
    outcome = expected(graph, p_yes, animals)
    np.testing.assert_allclose(solved_on.sum(axis=1), 1)
    np.testing.assert_allclose(solved_on[:, 1:].sum(axis=1), outcome.solved)
    np.testing.assert_array_equal(calls, outcome.calls)


def test_reach_sends_everyone_to_the_root_and_the_asked_share_on():
    graph = graph_of([("ask", 0, 1, 2), ("guess", 0, None), ("stop",), ("stop",)])
    np.testing.assert_allclose(followed(graph, np.array([[0.25], [0.75]]), np.array([0, 1])).reached, [1, 0.5, 0.5, 0])


def test_guessing_on_at_a_stop_gains_what_the_best_chain_of_guesses_would():
    graph = graph_of([("ask", 0, 1, None), ("guess", 0, None)])
    p_yes = np.array([[1.0], [0.6], [0.0]])
    # After the wrong guess: animal 1 (0.6) on call 3. At the null edge: animal 2 (1.0) on call 2, then animal 1 on 3.
    by_hand = 0.6 * 0.94 + 1.0 * 0.96 + 0.4 * 0.94
    assert followed(graph, p_yes, np.arange(3)).gain == pytest.approx(by_hand)
    chain = graph_of([("guess", 0, 1), ("guess", 1, 2), ("guess", 2, None)])
    assert followed(chain, p_yes, np.arange(3)).gain == 0


def test_the_largest_graph_is_scored_exactly_in_two_seconds():
    graph, margin, animals = tree(np.random.default_rng(7), depth=15, questions=559, animals=822)
    started = time.process_time()
    outcome = expected(graph, 1 / (1 + np.exp(-10 * margin)), animals)
    assert time.process_time() - started < 2
    assert len(graph) == 32_767
    assert outcome.calls.max() == pytest.approx(15)


def tree(rng, depth, questions, animals):
    """A full tree of random asks over random guesses, margins [animals, questions], and the animals."""
    nodes = 2**depth - 1
    here = np.arange(nodes)
    leaf = 2 * here + 1 >= nodes
    graph = Graph(
        np.where(leaf, GUESS, ASK).astype(np.uint8),
        np.where(leaf, rng.integers(0, animals, nodes), rng.integers(0, questions, nodes)).astype(np.int32),
        np.where(leaf, -1, 2 * here + 1).astype(np.int32),
        np.where(leaf, -1, 2 * here + 2).astype(np.int32),
        0,
        "a" * 64,
        "b" * 64,
    )
    return graph, rng.normal(size=(animals, questions)), np.arange(animals)

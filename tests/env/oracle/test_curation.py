"""What makes a question worth asking, by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from env.oracle.curation import Bounds, correlations, information, instability, probability_of_yes, propose

LOOSE = Bounds(count=99, unclear=0.5, alike=1, least=0)


def test_yes_is_as_frequent_as_prompts_and_temperatures_make_it() -> None:
    margin = np.array([[[2.0, -0.5]], [[-1.0, 0.25]]], np.float32)  # two prompts, one secret, two questions
    answer = (margin > 0).astype(np.uint8)
    assert probability_of_yes(margin, answer, (0.0,)).tolist() == [[0.5, 0.5]]
    by_hand = [
        np.mean([1, 0, 1 / (1 + np.exp(-2.0 / 0.5)), 1 / (1 + np.exp(1.0 / 0.5))]),
        np.mean([0, 1, 1 / (1 + np.exp(0.5 / 0.5)), 1 / (1 + np.exp(-0.25 / 0.5))]),
    ]
    np.testing.assert_allclose(probability_of_yes(margin, answer, (0.0, 0.5)), [by_hand])


def test_instability_is_the_share_of_answers_that_are_not_the_usual_one() -> None:
    assert instability(np.array([[1.0, 0.5], [0.0, 0.9], [0.75, 0.9]])).tolist() == pytest.approx([0.25 / 3, 0.7 / 3])


def test_information_is_that_of_the_joint_distribution() -> None:
    p = np.random.default_rng(0).random((7, 5))
    joint = np.stack([p, 1 - p]) / 7  # answer, secret, question
    answer, secret = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    np.testing.assert_allclose(information(p), (joint * np.log2(joint / (answer * secret))).sum(axis=(0, 1)))
    assert information(np.array([[1.0, 0.5], [0.0, 0.5]])).tolist() == pytest.approx([1, 0])


def test_a_question_that_never_varies_correlates_with_none() -> None:
    found = correlations(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))
    np.testing.assert_allclose(found, [[1, -1, 0], [-1, 1, 0], [0, 0, 0]], atol=1e-9)


HALVES = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], float).T


def test_questions_come_in_the_order_of_what_they_add_and_each_other_one_with_its_reason() -> None:
    p = np.column_stack([
        HALVES[:, 0],
        1 - HALVES[:, 0],  # says the same
        HALVES[:, 1] * 0.96 + 0.02,
        np.array([0.55, 0.5, 0.45, 0.6]),  # unclear
        np.array([1, 1, 1, 0.9]),  # tells hardly anything
        HALVES[:, 1] * 0.9 + 0.05,  # a weaker copy
    ])  # fmt: skip
    verdicts = propose(p, Bounds(count=9, unclear=0.25, alike=0.9, least=0.05))
    assert [each.question_id for each in verdicts if each.rank] == [0, 2]
    assert [each.rank for each in verdicts[:2]] == [1, 2]
    assert {each.question_id: each.why for each in verdicts[2:]} == {1: "alike", 3: "unclear", 4: "little", 5: "alike"}
    likest = {each.question_id: (each.likest, each.correlation) for each in verdicts}
    assert likest[0] == (None, 0)
    assert likest[1] == (0, pytest.approx(-1))
    assert likest[5] == (2, pytest.approx(1))
    assert verdicts[0].added == pytest.approx(verdicts[0].gain)


def test_no_more_are_proposed_than_wanted() -> None:
    verdicts = propose(HALVES, Bounds(count=1, unclear=0.5, alike=1, least=0))
    assert [(each.rank, each.why) for each in verdicts] == [(1, ""), (None, "enough")]


def test_greedy_takes_what_adds_most_at_each_step() -> None:
    p = np.random.default_rng(3).random((40, 9))
    gain, related = information(p), correlations(p)
    order: list[int] = []
    while len(order) < 9:
        added = [
            -1.0 if q in order else gain[q] * (1 - max([related[q, c] ** 2 for c in order], default=0))
            for q in range(9)
        ]
        order.append(int(np.argmax(added)))
    assert [each.question_id for each in propose(p, LOOSE)] == order

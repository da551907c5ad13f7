"""Claims about beliefs on their support: they are the beliefs over the whole pool, and hold no more than is likely."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env.identification import support
from env.identification.belief import FLOOR, Likelihood, without
from env.identification.compiled import NEGLIGIBLE
from env.identification.support import FORGOTTEN, Beliefs

NONE = -1


def random_rows(seed: int, games: int, candidates: int) -> np.ndarray:
    """Beliefs from even to nearly sure, some candidates without any mass, and one game that nobody fits."""
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.dirichlet(np.full(candidates, rng.choice([0.05, 0.5, 5.0]))) for _ in range(games)])
    rows[rng.random(rows.shape) < 0.3] = 0.0
    rows[0] = 0.0
    total = rows.sum(axis=1, keepdims=True)
    return np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)


@st.composite
def calls(draw):
    """A likelihood and some calls on it: a question and its answer, or a wrong guess of a candidate or of nobody."""
    animals, questions = draw(st.one_of(st.integers(1, 9), st.integers(120, 700))), draw(st.integers(1, 6))
    noise, seed = draw(st.sampled_from([0.0, 0.05, 0.3, 2.0])), draw(st.integers(0, 10_000))
    margin = np.random.default_rng(seed).normal(0, 1, (animals, questions)).astype(np.float32)
    call = st.one_of(
        st.tuples(st.integers(0, questions - 1), st.booleans(), st.just(NONE)),
        st.tuples(st.just(NONE), st.just(False), st.integers(NONE, animals - 1)),
    )
    return Likelihood.from_margins(margin, noise), draw(st.lists(call, max_size=10))


@settings(max_examples=200, deadline=None)
@given(calls(), st.booleans())
def test_belief_on_the_support_is_belief_over_the_pool(played, drops):
    """To the last bit where nobody is dropped; else but for those whom nearly nothing could bring back."""
    likelihood, made = played
    animals = len(likelihood.p_yes)
    rows, beliefs = likelihood.prior(1), Beliefs.prior(animals)
    for question, answer, candidate in made:
        if question == NONE:
            probability = rows.sum() - (rows[0, candidate] if candidate != NONE else 0.0)
            after = without(rows, np.array([candidate]))
        else:
            p = likelihood.p_yes[:, question]
            probability = (rows[0] * (p if answer else 1 - p)).sum()
            after = likelihood.updated(rows, np.array([question]), np.array([answer]))
        arrays = (np.array([each]) for each in (0, question, answer, candidate))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(support, "WHOLE", 0 if drops else support.WHOLE)
            beliefs, found = beliefs.after(likelihood.by_question, *arrays)
        rows = after
        assert found[0] == pytest.approx(probability, abs=1e-12)
        if drops:
            np.testing.assert_allclose(beliefs.dense(animals), rows, rtol=1e-9, atol=animals * FORGOTTEN)
        else:
            np.testing.assert_array_equal(beliefs.dense(animals), rows)
        assert beliefs.empty.tolist() == [rows.sum() == 0]
        assert beliefs.empty[0] or beliefs.mass.sum() == pytest.approx(1.0)
        if beliefs.empty[0]:
            break


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 20))
def test_rows_become_supports_and_back(seed, games, candidates):
    rows = random_rows(seed, games, candidates)
    beliefs = Beliefs.of(rows)
    np.testing.assert_array_equal(beliefs.dense(candidates), rows)
    np.testing.assert_array_equal(beliefs.empty, rows.sum(axis=1) == 0)
    chosen = np.random.default_rng(seed).integers(0, games, 2 * games)
    np.testing.assert_array_equal(beliefs.taken(chosen).dense(candidates), rows[chosen])
    other = random_rows(seed + 1, games, candidates)
    swapped = np.arange(0, games, 2)
    rows[swapped] = other[swapped]
    np.testing.assert_array_equal(beliefs.replaced(swapped, other[swapped]).dense(candidates), rows)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 20), st.integers(1, 18))
def test_the_likeliest_stand_by_falling_posterior_and_ties_by_candidate(seed, games, candidates, count):
    rows = random_rows(seed, games, candidates).round(1)  # rounded: many ties
    found, mass = Beliefs.of(rows).likeliest(count)
    order = np.argsort(-rows, axis=1, kind="stable")[:, :count]
    posterior = np.take_along_axis(rows, order, axis=1)
    pad = ((0, 0), (0, count - order.shape[1]))
    np.testing.assert_array_equal(mass, np.pad(posterior, pad))
    np.testing.assert_array_equal(found, np.pad(np.where(posterior > 0, order, 0), pad))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12))
@settings(max_examples=30, deadline=None)
def test_a_game_does_not_depend_on_those_beside_it(chosen):
    rng = np.random.default_rng(1)
    likelihood = Likelihood.from_margins(rng.normal(0, 1, (40, 8)).astype(np.float32), 0.2)
    beliefs = Beliefs.of(random_rows(2, 10, 40))
    games = np.array(chosen)
    question, answer = rng.integers(NONE, 8, 10)[games], (rng.random(10) < 0.5)[games]
    candidate = np.where(question == NONE, games, NONE)
    together, found = beliefs.after(likelihood.by_question, games, question, answer, candidate)
    for place in range(len(games)):
        one = slice(place, place + 1)
        alone, probability = beliefs.after(
            likelihood.by_question, games[one], question[one], answer[one], candidate[one]
        )
        assert alone.mass.tobytes() == together.game(place)[1].tobytes()
        assert alone.ids.tolist() == together.game(place)[0].tolist()
        assert probability[0] == found[place]


def test_who_is_dropped_could_only_come_back_by_surprises_that_nobody_plans_for(monkeypatch):
    """Of two candidates one is contradicted at the floor until it is gone; a few answers less and it would count again."""
    monkeypatch.setattr(support, "WHOLE", 1)
    likelihood = Likelihood.from_margins(np.tile(np.float32([[9], [-9]]), (1, 12)), 0.1)
    beliefs, heard = Beliefs.prior(2), 0
    while len(beliefs.ids) == 2:
        beliefs, _ = beliefs.after(
            likelihood.by_question, np.array([0]), np.array([heard]), np.array([True]), np.array([NONE])
        )
        heard += 1
    assert heard == 5
    assert FLOOR ** (heard - 1) <= 2 * FORGOTTEN < NEGLIGIBLE


def test_what_is_held_grows_with_the_support_and_not_with_the_pool():
    """All states after ten even questions: 2 ** 10 of them, each with its share of the pool and who few answers rule out."""
    candidates = 2 * support.WHOLE
    rng = np.random.default_rng(3)
    margin = np.where((np.arange(candidates)[:, None] >> np.arange(10)) & 1, 1.0, -1.0) + rng.normal(
        0, 0.1, (candidates, 10)
    )
    likelihood = Likelihood.from_margins(margin.astype(np.float32), 0.0554)
    beliefs = Beliefs.prior(candidates)
    for question in range(10):
        games = np.repeat(np.arange(len(beliefs)), 2)
        beliefs, _ = beliefs.after(
            likelihood.by_question, games, np.full(len(games), question), np.arange(len(games)) % 2 == 1,
            np.full(len(games), NONE), 1e-9,
        )  # fmt: skip
    assert len(beliefs) == 2**10
    assert len(beliefs.ids) <= (1 + 10 + 45) * candidates  # at most two answers against each

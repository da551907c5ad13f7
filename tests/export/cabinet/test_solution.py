"""Claims about the official adapter: played through an interactor with the contract's rules, it scores as the walk."""

import json
import shutil
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from env.cabinet.rules import BUDGET, round_score
from env.identification.pools import make_pool
from export.cabinet import solution, validate
from export.cabinet.graph import graph_to_json, read_graph
from export.cabinet.score import walk
from export.cabinet.solution import MySolution
from tests.export.cabinet.test_score import graph_of

ANIMALS = [f"beast {i}" for i in range(20)]
QUESTIONS = [f"is it {i}?" for i in range(12)]


class Interactor:
    """One round: values outside their pool are refused and cost nothing, repeats are legal and cost a call."""

    def __init__(self, answers, animal, takes="names", replies="bool", refuses="raise"):
        self.answers, self.animal = answers, animal
        self.pools = [dict(zip(names, range(len(names)), strict=True)) for names in (ANIMALS, QUESTIONS)]
        self.takes, self.replies, self.refuses = takes, replies, refuses
        self.calls, self.solved, self.refused = 0, False, 0

    def find(self, value, pool):
        valid = value in pool if self.takes == "names" else type(value) is int and 0 <= value < len(pool)
        if not valid:
            self.refused += 1
            if self.refuses == "raise":
                raise ValueError(f"{value!r} is outside the pool")
            return None
        assert not Interactor.is_done(self), "a call after the end of the round"
        self.calls += 1
        return pool[value] if self.takes == "names" else value

    def word(self, truth, words):
        return {"bool": bool(truth), "int": int(truth), "numpy": np.bool_(truth), "words": words[not truth]}[
            self.replies
        ]

    def ask(self, question):
        position = self.find(question, self.pools[1])
        return None if position is None else self.word(self.answers[position], ("Yes.", "No."))

    def guess(self, animal):
        position = self.find(animal, self.pools[0])
        if position is None:
            return None
        self.solved |= position == self.animal
        return self.word(position == self.animal, ("correct", "wrong"))

    def is_done(self):
        return self.solved or self.calls >= BUDGET

    def remaining_budget(self):
        return BUDGET - self.calls


class PropertyInteractor(Interactor):
    """The same round where the state is read without a call."""

    is_done = property(Interactor.is_done)
    remaining_budget = property(Interactor.remaining_budget)


@pytest.fixture
def policy(tmp_path):
    """A policy.json with shared nodes, repeats, a cycle, a stop and null edges, and its graph."""
    rng = np.random.default_rng(3)
    nodes = []
    for _ in range(60):
        yes, no = (None if edge == 60 else int(edge) for edge in rng.integers(0, 61, 2))
        nodes.append(
            ("ask", int(rng.integers(12)), yes, no) if rng.random() < 0.5 else ("guess", int(rng.integers(20)), yes)
        )
    graph = graph_of([*nodes, ("stop",)])
    pools = make_pool("animals", ANIMALS), make_pool("questions", QUESTIONS)
    text = json.loads(graph_to_json(graph))
    text |= {"animals_sha256": pools[0].sha256, "questions_sha256": pools[1].sha256}
    (tmp_path / "policy.json").write_text(json.dumps(text))
    return tmp_path / "policy.json", read_graph(tmp_path / "policy.json", *pools)


@pytest.mark.parametrize("takes", ["names", "positions"])
@pytest.mark.parametrize(
    ("kind", "replies", "refuses"),
    [
        *product([Interactor], ["bool", "words"], ["raise", "None"]),
        (Interactor, "int", "raise"),
        (Interactor, "numpy", "raise"),
        (PropertyInteractor, "bool", "raise"),
    ],
)
def test_every_round_ends_as_the_walk_says(policy, kind, takes, replies, refuses):
    path, graph = policy
    answer = np.random.default_rng(4).integers(0, 2, (20, 12))
    outcome = walk(graph, answer, np.arange(20))
    player = MySolution(ANIMALS, QUESTIONS, path)
    for animal in range(20):
        interactor = kind(answer[animal], animal, takes, replies, refuses)
        named = player.solve(interactor)
        assert named == (ANIMALS[animal] if outcome.solved[animal] else None)
        assert interactor.calls == outcome.calls[animal]
        assert round_score(interactor.solved, interactor.calls) == outcome.score[animal]
        assert interactor.refused == (0 if takes == "names" else interactor.calls)
    assert 0 < outcome.solved.sum() < 20
    assert outcome.calls.max() == BUDGET


def test_a_round_that_is_over_is_not_played_on_even_if_no_reply_said_so(policy):
    class Silent(Interactor):
        def guess(self, animal):
            super().guess(animal)

    path, graph = policy
    answer = np.random.default_rng(4).integers(0, 2, (20, 12))
    outcome = walk(graph, answer, np.arange(20))
    for animal in range(20):
        interactor = Silent(answer[animal], animal)
        MySolution(ANIMALS, QUESTIONS, path).solve(interactor)
        assert (interactor.solved, interactor.calls) == (outcome.solved[animal], outcome.calls[animal])


def test_a_failure_of_the_interactor_is_not_hidden(policy):
    class Broken(Interactor):
        def ask(self, question):
            raise ConnectionError("lost")

        guess = ask

    with pytest.raises(ConnectionError, match="lost"):
        MySolution(ANIMALS, QUESTIONS, policy[0]).solve(Broken([0] * 12, 0))


def test_pools_in_another_order_are_refused(policy):
    with pytest.raises(ValueError, match="animals: the policy was made for the pool"):
        MySolution(ANIMALS[::-1], QUESTIONS, policy[0])
    with pytest.raises(ValueError, match="questions: the policy was made for the pool"):
        MySolution(ANIMALS, QUESTIONS[1:], policy[0])


def test_the_official_digests_are_taken_on_trust_at_the_official_sizes(tmp_path):
    official = {f"{kind}_sha256": sha256 for kind, (_, sha256) in validate.OFFICIAL.items()}
    (tmp_path / "policy.json").write_text(json.dumps({"root": 0, "nodes": [{"type": "stop"}], **official}))
    names = [str(i) for i in range(1472)]
    assert MySolution(names, names[:559], tmp_path / "policy.json").solve(Interactor([0] * 12, 0)) is None
    with pytest.raises(ValueError, match="animals"):
        MySolution(names[1:], names[:559], tmp_path / "policy.json")
    assert [(sha256, size) for size, sha256 in validate.OFFICIAL.values()] == list(solution._OFFICIAL)


def test_the_policy_is_found_by_argument_then_variable_then_beside_the_file(policy, monkeypatch, tmp_path):
    monkeypatch.delenv(solution.POLICY_VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match="no policy at"):
        MySolution(ANIMALS, QUESTIONS, tmp_path / "none" / "policy.json")
    monkeypatch.setenv(solution.POLICY_VARIABLE, str(policy[0]))
    assert len(MySolution(ANIMALS, QUESTIONS).nodes) == 61


def test_it_runs_alone_beside_its_policy(policy):
    folder = policy[0].parent
    shutil.copy(solution.__file__, folder / "my_solution.py")
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); from my_solution import MySolution;"
        f"print(len(MySolution({ANIMALS!r}, {QUESTIONS!r}).nodes))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, env={})
    assert (done.stdout, done.stderr) == ("61\n", "")

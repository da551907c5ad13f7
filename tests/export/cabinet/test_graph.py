"""Claims about policy graphs as files: there and back, and the one line that a wrong file gets."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import given

from env.errors import UserError
from env.identification.package import load_package
from export.cabinet.graph import graph_to_json, read_graph
from export.cabinet.validate import parse
from tests.export.cabinet.test_score import graph_of, graphs


@given(graphs())
def test_a_graph_comes_back_from_its_json_as_it_was(graph):
    text = graph_to_json(graph)
    policy = parse(text)
    for name in ("kind", "value", "yes", "no"):
        np.testing.assert_array_equal(getattr(policy, name), getattr(graph, name), err_msg=name)
    assert (policy.root, policy.animals_sha256) == (graph.root, graph.animals_sha256)
    assert graph_to_json(graph) == text


def test_the_json_is_what_the_contract_shows():
    graph = graph_of([("ask", 17, 1, None), ("guess", 3, 2), ("stop",)])
    assert json.loads(graph_to_json(graph)) == {
        "schema": "ioai-2026-animal-policy-v1",
        "animals_sha256": "a" * 64,
        "questions_sha256": "b" * 64,
        "root": 0,
        "nodes": [
            {"type": "ask", "question": 17, "yes": 1, "no": None},
            {"type": "guess", "animal": 3, "wrong": 2},
            {"type": "stop"},
        ],
    }


@pytest.fixture
def package():
    return load_package()


@pytest.fixture
def text(package):
    graph = graph_of([("ask", 17, 1, None), ("guess", 3, None)])
    policy = json.loads(graph_to_json(graph))
    policy |= {"animals_sha256": package.animals.sha256, "questions_sha256": package.questions.sha256}
    return json.dumps(policy)


def test_a_file_an_archive_and_a_run_folder_give_the_same_graph(tmp_path, package, text):
    (tmp_path / "policy.json").write_text(text)
    with zipfile.ZipFile(tmp_path / "submission.zip", "w") as archive:
        archive.writestr("policy.json", text)
    found = [
        graph_to_json(read_graph(path, package.animals, package.questions))
        for path in (tmp_path / "policy.json", tmp_path / "submission.zip", tmp_path)
    ]
    assert json.loads(found[0]) == json.loads(text)
    assert found[0] == found[1] == found[2]


def test_arrays_have_the_types_that_the_rooms_agreed_on(tmp_path, package, text):
    (tmp_path / "policy.json").write_text(text)
    graph = read_graph(tmp_path, package.animals, package.questions)
    assert [graph.kind.dtype, graph.value.dtype, graph.yes.dtype, graph.no.dtype] == [np.uint8, *[np.int32] * 3]
    assert len(graph) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[:-9], "policy.json: nodes"),
        (
            lambda text: text.replace(": 17", ": 201"),
            "policy.json: nodes[0].question: 201 is not in the questions pool",
        ),
        (lambda text: "", "an object is needed"),
    ],
)
def test_a_policy_that_the_platform_would_refuse_is_one_line(tmp_path, package, text, change, words):
    (tmp_path / "policy.json").write_text(change(text))
    with pytest.raises(UserError) as caught:
        read_graph(tmp_path, package.animals, package.questions)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_policy_of_another_package_is_refused_with_both_digests(tmp_path, package, text):
    # Its ranges do not fit either; the digest is the reason, so it is what the user hears of.
    (tmp_path / "policy.json").write_text(text.replace(package.questions.sha256, "c" * 64).replace(": 17", ": 500"))
    with pytest.raises(UserError, match=f"has {'c' * 64}, the pool {package.questions.sha256}"):
        read_graph(tmp_path, package.animals, package.questions)


@pytest.mark.parametrize("name", ["nowhere.json", "folder", "nowhere/policy.json"])
def test_a_missing_policy_is_one_line_that_says_what_to_give(tmp_path, package, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="give a policy"):
        read_graph(tmp_path / name, package.animals, package.questions)

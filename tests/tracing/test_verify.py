"""Claims about the verifier: each way to break the contract is seen and told apart, and a failed control is no score."""

import hashlib
import json
import math

import pytest

from tests.tracing.worlds import question, records, write_world
from tracing import verify
from tracing.build import build
from tracing.formats import read_records, write_queries

GOOD = records()[1][:10]
ANSWER = """#!/bin/sh
while [ $# -gt 0 ]; do case $1 in --index-dir) index=$2;; --query) query=$2;; --output) output=$2;; esac; shift 2; done
exec "$PYTHON" -I -S - "$index" "$query" "$output" <<'END'
import json, os, sys, time
index, path, output = sys.argv[1:]
query = json.load(open(path))
ids = IDS
answer = {"query_id": query["query_id"], "ids": ids}
BODY
open(output, "w").write(json.dumps(answer))
END
"""
PREPARE = '#!/bin/sh\nmkdir -p "$6"\n'


def submission(folder, body="", ids=GOOD, prepare=PREPARE, **changes):
    """A submission that answers `ids` to every query, but for what `body` does."""
    folder.mkdir()
    files = {"prepare.sh": prepare, "run.sh": ANSWER.replace("IDS", repr(list(ids))).replace("BODY", body)}
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    artifacts = [
        {"path": name, "sha256": hashlib.sha256(text.encode()).hexdigest(), "generated_by": "hand"}
        for name, text in files.items()
    ]
    about = {"schema_version": 1, "method": "test", "configuration": {}, "artifacts": artifacts} | changes
    (folder / "submission.json").write_text(json.dumps(about))
    return folder


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A corpus with one query, and a control that takes no time to speak of."""
    encode = write_world(tmp_path / "w")
    control = tmp_path / "control.sh"
    control.write_text(ANSWER.replace("IDS", "[]").replace("BODY", ""))
    control.chmod(0o755)

    def command(self, verb, *paths):
        return (
            ["true"] if verb == "prepare" else [control, "--index-dir", "x", "--query", paths[2], "--output", paths[3]]
        )

    monkeypatch.setattr(verify._Bench, "_control", command)
    monkeypatch.setattr(verify, "QUERY_SECONDS", 3.0)
    queries = [question(encode)]

    def run(folder, queries=queries):
        return verify.run(folder, tmp_path / "w/data", tmp_path / "w/models/base", queries)

    return tmp_path, encode, run


def test_a_good_submission_passes_and_its_reward_follows_the_formula(world):
    folder, _, run = world
    verdict = run(submission(folder / "s"))
    assert verdict.passed, (verdict.faults, verdict.notes)
    assert verdict.precision == [{"capital": 1.0}] * 3
    assert verdict.cost == verdict.seconds / verdict.control_seconds
    verdict.seconds, verdict.control_seconds = 0.7, 1.0
    assert verdict.reward == pytest.approx(0.2 + 0.8 * math.log(0.7 / 0.9) / math.log(0.5 / 0.9))
    verdict.seconds = 0.1
    assert verdict.reward == 1.0


def test_a_query_is_not_charged_with_the_memory_of_the_verifier(world):
    folder, _, run = world
    held = bytearray(400 << 20)
    verdict = run(submission(folder / "s"))
    assert 0 < verdict.resident < 100 << 20
    assert len(held) == 400 << 20
    assert 0 < verdict.seconds < 3


def test_a_command_that_cannot_start_is_named(world):
    folder, _, run = world
    made = submission(folder / "s", prepare="#!/nowhere\n")
    assert run(made).faults == [f"preparation failed: cannot start {made / 'prepare.sh'}: No such file or directory"]


ZERO = {
    "late": ("time.sleep(9)", "later than 3 s"),
    "exit code": ("print('no', file=sys.stderr); sys.exit(4)", "exit code 4: no"),
    "no output": ("sys.exit(0)", "the output is missing"),
    "not JSON": ("open(output, 'w').write('{'); sys.exit()", "not JSON"),
    "another query": ("answer['query_id'] = 'q9'", "the output answers query 'q9'"),
    "more keys": ("answer['time'] = 1", "an object of query_id and ids"),
    "doubled": ("ids[1] = ids[0]", "holds an id twice"),
    "eleven": ("ids.append('r051')", "11 ids, more than 10"),
    "numbers": ("ids[0] = 3", "array of strings"),
    "unknown": ("ids[0] = 'r999'", "an id that no training record has"),
    "state in the working directory": ("open('cache', 'w').close()", "state outside the index folder: cache"),
}


@pytest.mark.parametrize("name", ZERO)
def test_a_broken_answer_counts_zero_and_is_named(world, name):
    folder, _, run = world
    body, words = ZERO[name]
    verdict = run(submission(folder / "s", body))
    assert not verdict.passed
    assert verdict.precision == [{"capital": 0.0}] * 3
    assert any(words.replace("an object", "object") in note for note in verdict.notes), verdict.notes


def test_fewer_than_ten_ids_are_divided_by_ten(world):
    folder, _, run = world
    verdict = run(submission(folder / "s", ids=GOOD[:7]))
    assert verdict.precision[0] == {"capital": 0.7}
    assert not verdict.passed


REFUSED = {
    "state in HOME": ("open(os.environ['HOME'] + '/x', 'w').close()", "state outside the index folder: home: x"),
    "state in TMPDIR": ("open(os.environ['TMPDIR'] + '/x', 'w').close()", "state outside the index folder: scratch: x"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_state_outside_the_index_folder_is_refused(world, name):
    folder, _, run = world
    body, words = REFUSED[name]
    assert run(submission(folder / "s", body)).faults == [words]


@pytest.mark.parametrize("place", ["s", "w/data"])
def test_state_in_the_submission_or_among_the_data_is_refused(world, place):
    folder, _, run = world
    body = f"open({str(folder / place / 'cache')!r}, 'w').close()"
    name = "cache" if place == "s" else "data: cache"
    assert run(submission(folder / "s", body)).faults == [f"state outside the index folder: {name}"]


def test_a_preparation_that_is_late_ends_everything(world, monkeypatch):
    folder, _, run = world
    monkeypatch.setattr(verify, "PREPARE_SECONDS", 0.3)
    assert run(submission(folder / "s", prepare="#!/bin/sh\nsleep 60\n")).faults == [
        "preparation failed: later than 0 s"
    ]


def test_answers_from_memory_of_earlier_queries_are_refused(world):
    folder, encode, run = world
    other = question(encode, answer="Rome is the capital of Italy.", wrong="Rome", query_id="q2")
    body = """
memory = index + "/" + query["query_id"]
if os.path.exists(memory):
    answer["ids"] = json.load(open(memory))
else:
    answer["ids"] = ids[:5] if "Rome" in query["answer"] else ids
    json.dump(answer["ids"], open(memory, "w"))
"""
    verdict = run(submission(folder / "s", body), [question(encode), other])
    assert any("answers come from memory" in fault for fault in verdict.faults)
    assert "the index folder changed while queries were answered" in verdict.notes
    honest = body.replace("os.path.exists(memory)", "False")
    verdict = run(submission(folder / "t", honest), [question(encode), other])
    assert not verdict.faults


def test_a_preparation_that_fails_ends_everything(world):
    folder, _, run = world
    verdict = run(submission(folder / "s", prepare="#!/bin/sh\necho no numpy >&2\nexit 2\n"))
    assert verdict.faults == ["preparation failed: exit code 2: no numpy"]
    assert verdict.precision == []
    assert verdict.reward == 0


def test_a_failed_control_is_an_infrastructure_error(world, monkeypatch, capsys):
    folder, _, run = world
    monkeypatch.setattr(verify._Bench, "_control", lambda *_: ["false"])
    with pytest.raises(verify.InfrastructureError, match="the control's preparation"):
        run(submission(folder / "s"))
    assert verify.verify(folder / "s", folder / "w/data") == verify.INFRASTRUCTURE
    assert "infrastructure error, no score" in capsys.readouterr().err


def test_artifacts_must_be_what_submission_json_says(tmp_path):
    folder = submission(tmp_path / "s")
    assert verify.check_artifacts(folder) == []
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "weights.bin").write_bytes(b"")
    assert verify.check_artifacts(folder) == [
        "artifact 'run.sh' has another sha256 than submission.json says",
        "file 'weights.bin' is not listed among the artifacts",
    ]
    for number, (changes, words) in enumerate(
        [
            ({"schema_version": 2}, "schema_version must be 1"),
            ({"method": None}, "method (text)"),
            ({"artifacts": [{"path": "run.sh"}]}, "needs path, sha256 and generated_by"),
            ({"artifacts": [{"path": "../w", "sha256": "0", "generated_by": "x"}]}, "'../w' is not a file"),
        ]
    ):
        assert words in verify.check_artifacts(submission(tmp_path / str(number), **changes))[0]


def test_the_built_submission_is_complete_and_holds_its_own_contract(world):
    folder, encode, run = world
    build(folder / "built")
    assert verify.check_artifacts(folder / "built") == []
    verdict = run(folder / "built")
    assert verdict.passed, (verdict.faults, verdict.notes, verdict.precision)
    assert write_queries([question(encode)])
    assert len(read_records(str(folder / "w/data/train.jsonl"))) == 52

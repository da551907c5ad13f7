"""Claims about checkpoint files: what a stranger's one can do is at most to be refused in a line."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import wilkins
from agents import runs
from agents.cabinet.run import load_cabinet_run
from agents.runs import load_run
from env.errors import UserError

Capture = pytest.CaptureFixture[str]
Members = dict[str, bytes]


class Executes:
    """Leaves a file where it is unpickled."""

    def __init__(self, place: Path):
        self.place = place

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (str(self.place), "w")


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=True)
    return stream.getvalue()


def header(shape: str, descr: str = "'<f4'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained_run, tmp_path / "run"))


def checkpoint_of(run: Path) -> Path:
    found = load_run(run)
    return found.path(found.checkpoint("last"))


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path: Path, content: Members, compress: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compress) as archive:
        for name, member in content.items():
            archive.writestr(name, member)


def refused(run: Path, capsys: Capture) -> str:
    """The one line that a command on the run ends with."""
    assert wilkins.main(["train", "--resume", str(run)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert str(run) in error
    assert "weights_only" not in error
    return error


def test_a_checkpoint_holds_numbers_and_text_only(trained_run: Path) -> None:
    for content in members(checkpoint_of(trained_run)).values():
        assert np.load(io.BytesIO(content), allow_pickle=False).dtype.kind in "fiubU"


def test_a_pickle_in_any_member_is_not_executed(run: Path, tmp_path: Path, capsys: Capture) -> None:
    path, canary = checkpoint_of(run), tmp_path / "executed"
    whole = members(path)
    payload = pickle.dumps(Executes(canary))
    in_an_array = npy(np.array([Executes(canary)], dtype=object))
    kinds = sorted({name.split("/")[0] for name in whole})
    assert kinds == ["optimizer", "policy", "progress.npy", "random", "starts.npy", "worlds"]
    for kind in kinds:
        name = next(name for name in whole if name.split("/")[0] == kind)
        for evil in (payload, in_an_array):
            rewrite(path, whole | {name: evil})
            assert "not a checkpoint of this run" in refused(run, capsys)
    rewrite(path, whole | {"data": payload, "policy.pth": payload, "more.npy": in_an_array})
    assert wilkins.main(["train", "--resume", str(run)]) == 0, "what nobody asks for is not read"
    assert not canary.exists()


HOSTILE: dict[str, Callable[[Members], Members]] = {
    "no members": lambda whole: {},
    "no progress": lambda whole: {k: v for k, v in whole.items() if not k.startswith("progress")},
    "no parameters": lambda whole: {k: v for k, v in whole.items() if not k.startswith("policy")},
    "no worlds": lambda whole: {k: v for k, v in whole.items() if not k.startswith("worlds")},
    "one parameter missing": lambda whole: {k: v for k, v in whole.items() if "ask_last.bias" not in k},
    "no generators": lambda whole: {k: v for k, v in whole.items() if not k.startswith("random")},
    "a wrong shape": lambda whole: whole | {"policy/scorer.ask_last.bias.npy": npy(np.zeros(2, np.float32))},
    "a wrong type": lambda whole: whole | {"policy/scorer.ask_last.bias.npy": npy(np.zeros(1))},
    "a shape of 4 TB": lambda whole: whole | {"policy/scorer.ask_last.bias.npy": header("(1000000000000,)")},
    "a shape below nothing": lambda whole: whole | {"policy/scorer.ask_last.bias.npy": header("(-1,)")},
    "a text of 4 GB": lambda whole: whole | {"progress.npy": header("()", "'<U1000000000'")},
    "a header that is code": lambda whole: whole | {"progress.npy": header("__import__('os').getcwd()")},
    "a header of brackets": lambda whole: whole | {"progress.npy": header("(" * 90)},
    "half a member": lambda whole: whole | {"random/torch.npy": whole["random/torch.npy"][:200]},
    "another version": lambda whole: whole | {"starts.npy": b"\x93NUMPY\x09\x00" + whole["starts.npy"][8:]},
    "no array": lambda whole: whole | {"starts.npy": b"0"},
    "progress that is no JSON": lambda whole: whole | {"progress.npy": npy(np.array("{"))},
    "progress of brackets": lambda whole: whole | {"progress.npy": npy(np.array("[" * 100_000))},
    "no updates": lambda whole: whole | {"progress.npy": progress(whole, updates=None)},
    "steps below nothing": lambda whole: whole | {"progress.npy": progress(whole, steps=-1)},
    "steps of text": lambda whole: whole | {"progress.npy": progress(whole, steps="x")},
    "a generator beyond its keys": lambda whole: whole | {"progress.npy": progress(whole, numpy=[10**6, 0, 0.0])},
    "episodes of text": lambda whole: whole | {"progress.npy": progress(whole, episodes=["x"])},
    "a torch generator of zeros": lambda whole: whole | {"random/torch.npy": npy(np.zeros(5056, np.uint8))},
    "calls beyond the budget": lambda whole: whole | {"worlds/calls.npy": npy(np.full(32, 10**9))},
    "an animal beyond the pool": lambda whole: whole | {"worlds/animal.npy": npy(np.full(32, 10**9))},
    "beliefs that are none": lambda whole: whole | {"worlds/belief.npy": npy(np.full((32, 36), np.nan))},
    "generators that are none": lambda whole: whole | {"worlds/generators.npy": npy(np.array('["x"]'))},
    "moments of nobody": lambda whole: whole | {"optimizer/999/exp_avg.npy": npy(np.zeros(1, np.float32))},
    "moments of another shape": lambda whole: whole | {"optimizer/0/exp_avg.npy": npy(np.zeros(7, np.float32))},
    "a name that climbs": lambda whole: {k: v for k, v in whole.items() if k != "starts.npy"} | {"../starts.npy": b""},
}


def progress(whole: Members, **changes: object) -> bytes:
    stored = json.loads(str(np.load(io.BytesIO(whole["progress.npy"]))))
    return npy(np.array(json.dumps(stored | changes)))


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_checkpoint_is_one_line(run: Path, capsys: Capture, kind: str) -> None:
    path = checkpoint_of(run)
    rewrite(path, HOSTILE[kind](members(path)))
    assert "not a checkpoint of this run" in refused(run, capsys)


@pytest.mark.parametrize("name", ["policy/scorer.ask_last.bias.npy", "progress.npy", "worlds/generators.npy"])
def test_a_bomb_is_not_unpacked(run: Path, capsys: Capture, name: str) -> None:
    path = checkpoint_of(run)
    whole = members(path)
    bomb = header("(67108864,)") + bytes(2**28)
    rewrite(path, whole | {name: bomb}, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2**21
    with pytest.raises(UserError, match=f"{name.removesuffix('.npy')} unpacks to"):
        _restored(run)
    # And where the directory lies about the size:
    content = path.read_bytes()
    path.write_bytes(content.replace(len(bomb).to_bytes(4, "little"), (100).to_bytes(4, "little")))
    del whole, bomb, content
    tracemalloc.start()
    with pytest.raises(UserError, match="not a checkpoint of this run"):
        _restored(run)
    assert tracemalloc.get_traced_memory()[1] < 2**27
    tracemalloc.stop()


def _restored(run: Path) -> None:
    """Read a checkpoint whole, as training does that goes on."""
    from agents import checkpoints
    from agents.trainer import Settings, make_agent
    from games.cabinet import Cabinet

    found = load_cabinet_run(run)
    agent, worlds = make_agent(Cabinet(found.choices), Settings(games=32, horizon=32, batch=64))
    checkpoints.restore(found.run.path(found.run.checkpoint("last")), agent, worlds)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        {"best_by": "another"},
        {"evaluated": 3},
        {"more": 1},
        {"stopped": {"steps": -1}},
        {"stopped": {"steps": True}},
        {"stopped": {"steps": "../../x"}},
        {"stopped": {"steps": 1, "lessons": 0, "scores": {}, "kept": 1}},
        {"evaluated": [{"steps": 1, "lessons": 0, "scores": {"hidden_all_noise": float("nan")}, "kept": True}]},
    ],
    ids=lambda content: str(content)[:40],
)
def test_a_damaged_record_is_an_error_and_stays_as_it_is(
    run: Path, capsys: Capture, content: bytes | dict[str, object]
) -> None:
    path = run / runs.RECORD
    stored = json.loads(path.read_text())
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(stored | content).encode())
    before = {file: file.read_bytes() for file in (run / "checkpoints").iterdir()} | {path: path.read_bytes()}
    for words in (["train", "--resume", str(run)], ["export", str(run)], ["evaluate", str(run)]):
        assert wilkins.main(words) == 2
        error = capsys.readouterr().err
        assert f"{path}: damaged" in error
        assert error.count("\n") == 1
    assert {file: file.read_bytes() for file in before} == before


def test_a_record_that_is_gone_while_checkpoints_are_there_is_an_error(run: Path, capsys: Capture) -> None:
    (run / runs.RECORD).unlink()
    assert "record.json is missing" in refused(run, capsys)

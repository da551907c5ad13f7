"""Claims about stops at any moment: a run that was cut off and resumed is the unbroken run, to the byte."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import env.files
import wilkins
from agents.runs import load_run
from env.cabinet.vector import CabinetVecEnv
from env.errors import UserError
from env.files import sole_writer, write_whole
from tests.conftest import write_package

LITTLE = (
    "--steps 3072 --games 32 --horizon 32 --batch 64 --width 16 --guesses 1 --asks 8 --learning-rate 0.004 --noise 0.2 "
    "--levels 0.1 --evaluations 3 --lessons 2 --improve-seconds 0"
)
PUBLICATIONS = 17
"""Files that this training publishes: configuration, first record, two for each of three evaluations and two lessons, five of the export."""
CALLS = 3072 // 32


class Cut(BaseException):
    """Ends the work as a kill does: nobody catches it."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_package(tmp_path_factory.mktemp("cuts") / "package", 60, 24, seed=3)


def begin(package: Path, folder: Path, *flags: str) -> int:
    words = ["train", "--package", str(package), "--runs", str(folder.parent), "--name", folder.name, *LITTLE.split()]
    return wilkins.main([*words, *flags])


def curves(folder: Path) -> dict[str, dict[int, float]]:
    """Every curve but those of the clock: points by step."""
    found = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    found.Reload()
    names = [name for name in found.Tags()["scalars"] if not name.startswith("time/")]
    return {name: {event.step: event.value for event in found.Scalars(name)} for name in names}


def result(folder: Path) -> dict[str, object]:
    """All that must be equal: what left, scores, the best agent's bytes, the curves."""
    run = load_run(folder)
    record = run.record()
    assert record is not None
    assert record.best is not None
    kept = {name: (folder / name).read_bytes() for name in ("policy.json", "submission.zip", "record.json")}
    hidden = [path.name for path in folder.rglob(".*")]
    return {**kept, "best": run.path(record.best).read_bytes(), "curves": curves(folder), "temporaries": hidden}


@pytest.fixture(scope="module")
def unbroken(package: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    published: list[Path] = []
    publish = env.files.publish
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(env.files, "publish", lambda *names: (publish(*names), published.append(names[1])))
        assert begin(package, folder) == 0
    assert len(published) == PUBLICATIONS, [path.name for path in published]
    return result(folder)


def after_publication(patch: pytest.MonkeyPatch, number: int) -> None:
    """Cut once so many files were published."""
    publish, published = env.files.publish, []

    def cutting(temporary: Path, path: Path) -> None:
        publish(temporary, path)
        published.append(path)
        if len(published) == number:
            raise Cut

    patch.setattr(env.files, "publish", cutting)


def at_call(patch: pytest.MonkeyPatch, number: int) -> None:
    """Cut in the middle of playing."""
    step, calls = CabinetVecEnv.step_wait, []

    def cutting(world: CabinetVecEnv) -> object:
        calls.append(None)
        if len(calls) == number:
            raise Cut
        return step(world)

    patch.setattr(CabinetVecEnv, "step_wait", cutting)


Arrange = Callable[[pytest.MonkeyPatch, int], None]
EVERY: list[tuple[Arrange, int]] = [(after_publication, number) for number in range(1, PUBLICATIONS + 1)]
EVERY += [
    (at_call, int(call)) for call in np.random.default_rng(0).permutation(np.arange(1, CALLS + 1))[: 60 - PUBLICATIONS]
]
SAMPLE = [(after_publication, number) for number in (3, 4, 8, 9, 10, 13)]
SAMPLE += [(at_call, number) for number in (70,)]


def assert_same_after(arrange: Arrange, number: int, package: Path, folder: Path, whole: dict[str, object]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        arrange(patch, number)
        with pytest.raises(Cut):
            begin(package, folder)
    np.random.seed(99)  # noqa: NPY002  -- whatever happened in between must not matter
    assert wilkins.main(["train", "--resume", str(folder)]) == 0
    for name, value in result(folder).items():
        assert value == whole[name], f"{arrange.__name__} {number}: {name}"


@pytest.mark.parametrize(("arrange", "number"), SAMPLE)
def test_a_cut_run_goes_on_to_the_unbroken_result(
    arrange: Arrange, number: int, package: Path, unbroken: dict[str, object], tmp_path: Path
) -> None:
    assert_same_after(arrange, number, package, tmp_path / "run", unbroken)


@pytest.mark.slow
def test_sixty_cuts_all_end_alike(package: Path, unbroken: dict[str, object], tmp_path: Path) -> None:
    assert len(EVERY) == 60
    for place, (arrange, number) in enumerate(EVERY):
        assert_same_after(arrange, number, package, tmp_path / str(place) / "run", unbroken)


def test_another_seed_gives_another_policy(package: Path, unbroken: dict[str, object], tmp_path: Path) -> None:
    assert begin(package, tmp_path / "other", "--seed", "1") == 0
    assert result(tmp_path / "other")["policy.json"] != unbroken["policy.json"]


def test_a_second_resume_at_the_same_time_is_refused_in_a_line(
    trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(trained_run, tmp_path / "run"))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with sole_writer(folder, "training"):
        assert wilkins.main(["train", "--resume", str(folder)]) == 2
    error = capsys.readouterr().err
    assert f"another training is at work on {folder}" in error
    assert error.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_what_a_killed_command_left_is_removed_by_the_next_but_not_what_is_still_written(tmp_path: Path) -> None:
    path = tmp_path / "table[1].csv"
    abandoned = tmp_path / ".table[1].csv.abcd1234.part"
    abandoned.write_bytes(b"half")
    with env.files.whole_file(path) as stream:
        stream.write(b"one")
        assert not abandoned.exists()
        write_whole(path, "two")
    assert path.read_bytes() == b"one", "the slower one was not taken for abandoned"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(UserError), env.files.whole_file(path):
        raise OSError("no")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_comes_whole_or_not_at_all_and_what_a_killed_command_left_of_it_goes(tmp_path: Path) -> None:
    path, abandoned = tmp_path / "zoo", tmp_path / ".zoo.abcd1234.part"
    abandoned.mkdir()
    (abandoned / "half").write_bytes(b"")
    with env.files.whole_folder(path) as folder:
        assert not abandoned.exists()
        env.files.remove_abandoned(tmp_path)
        (folder / "one").write_bytes(b"1")
        assert not path.exists()
    assert [file.name for file in path.iterdir()] == ["one"]
    with pytest.raises(UserError, match="not an empty folder"), env.files.whole_folder(path):
        pass
    with pytest.raises(UserError), env.files.whole_folder(tmp_path / "other"):
        raise OSError("no")
    assert list(tmp_path.iterdir()) == [path]

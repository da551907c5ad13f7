"""Claims about `wilkins doctor`: what is missing is told with its remedy, and decides the exit code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import wilkins
from agents import doctor

Capture = pytest.CaptureFixture[str]


def report(capsys: Capture, *flags: str | Path) -> tuple[int, str]:
    """Exit code and text without line breaks, as a wide terminal would show it."""
    code = wilkins.main(["doctor", *map(str, flags)])
    return code, " ".join(capsys.readouterr().out.split())


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")


def test_a_machine_with_all_that_is_needed_is_well(capsys: Capture) -> None:
    code, told = report(capsys)
    assert code == 0
    for part in ("Python", "torch", "cores", "compiled loops", "100.0% measured", "official pools not these"):
        assert part in told


def test_a_library_that_is_missing_or_too_old_is_told_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    wanted = ["numpy>=99", "no-such-library>=1", 'nor-this; extra == "oracle"', 'numpy; extra == "tables"']
    monkeypatch.setattr(doctor, "requires", lambda _: wanted)
    code, told = report(capsys)
    assert code == 1
    assert ">=99 is needed pip install 'numpy>=99'" in told
    assert "no-such-library missing pip install 'no-such-library>=1'" in told
    assert "extra oracle without nor-this pip install 'wilkins[oracle]'" in told
    assert "extra tables complete" in told


@pytest.mark.parametrize("library", ["numpy", "torch", "numba", "gymnasium"])
def test_a_report_needs_none_of_the_libraries_that_it_reports(library: str) -> None:
    # In a process of its own: here everything is imported already.
    hide = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name.split('.')[0] == {library!r}: raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    command = [sys.executable, "-c", f"{hide}import wilkins; sys.exit(wilkins.main(sys.argv[1:]))"]
    place = {"cwd": Path(wilkins.__file__).parent, "capture_output": True, "text": True, "check": False}
    told = subprocess.run([*command, "doctor"], **place)  # type: ignore[call-overload]
    assert told.stderr == ""
    assert "compiled loops" in told.stdout
    if library == "torch":
        assert "torch cannot be loaded" in told.stdout
    if library in ("numpy", "numba"):
        assert told.returncode == 1
        assert "install that first" in told.stdout
    lacking = subprocess.run([*command, "baselines"], **place)  # type: ignore[call-overload]
    if library in ("numpy", "numba"):
        assert lacking.returncode == 2
        assert (
            lacking.stderr == f"wilkins baselines: {library} is missing; install it, 'wilkins doctor' says what else\n"
        )


def test_what_only_an_extra_lacks_is_no_fault(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(doctor, "requires", lambda _: ['no-such-library; extra == "oracle"'])
    assert report(capsys)[0] == 0


@pytest.mark.parametrize("found", ["2.13.0+cpu", "3.0.0rc1"])
def test_builds_and_candidates_are_versions_as_good_as_others(monkeypatch: pytest.MonkeyPatch, found: str) -> None:
    monkeypatch.setattr(doctor, "version", lambda _: found)
    assert doctor._state(Requirement("torch>=2.9")).fits


def test_a_damaged_package_is_told_in_its_line(make_package: Callable[..., Path], capsys: Capture) -> None:
    folder = make_package()
    (folder / "matrix.npz").unlink()
    code, told = report(capsys, "--package", folder)
    assert code == 1
    assert "no matrix.npz yet; measure it with" in told


def test_the_official_model_is_found_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert "is not here 'wilkins oracle build' loads it" in report(capsys)[1]
    weights = tmp_path / "models--Qwen--Qwen2.5-3B-Instruct" / "snapshots" / "x" / "model.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"")
    assert "is not here" not in report(capsys)[1]

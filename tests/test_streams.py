"""Standard streams and signals: whatever they are, a command does its work or says in one line why not."""

import errno
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import wilkins
from env import streams
from env.errors import UserError
from env.files import whole_file

Capture = pytest.CaptureFixture[str]


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command.replace("wilkins", f"{sys.executable} -m wilkins")],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("command", ["wilkins --help", "wilkins synth --help"])
def test_a_full_output_is_one_line_and_not_the_code_of_a_rejection(command: str) -> None:
    done = shell(f"{command} >/dev/full")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot write to standard output: No space left on device" in done.stderr


def test_closed_streams_are_nowhere() -> None:
    done = shell("wilkins --help <&- >&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_an_encoding_lacks_is_shown_by_something_plain(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with open(path, "wb") as file:
        _, text = streams._outlet(file.fileno(), io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
        text.write("▁█ é … 象")
        text.flush()
    assert path.read_bytes() == b"_# e ... ?"


def test_work_goes_on_when_the_reader_leaves() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    outlet, text = streams._outlet(writing, None)
    for _ in range(3):
        text.write("line\n")
        text.flush()
    os.close(writing)
    assert outlet.failure is not None
    assert outlet.failure.errno == errno.EPIPE
    assert streams.told(outlet.failure) is None


@pytest.mark.parametrize("library", ["gymnasium", "tyro"])
def test_the_keyboard_stops_a_start_in_a_line(library: str, tmp_path: Path) -> None:
    """While libraries are imported, whichever it is."""
    at_import = f"""
import importlib.abc, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job begins with it ignored
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {library!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
import wilkins
wilkins.main(["synth", "--out", {str(tmp_path / "never")!r}])
"""
    done = subprocess.run([sys.executable, "-c", at_import], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr in ("wilkins: interrupted\n", "wilkins synth: interrupted\n")


def test_no_columns_are_the_usual_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    with streams.guarded():
        assert "COLUMNS" not in os.environ


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_of_the_system_stop_as_the_keyboard_does(
    number: signal.Signals, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wilkins, "_target", lambda name: lambda: os.kill(os.getpid(), number))
    before = signal.signal(number, signal.SIG_DFL)
    try:
        monkeypatch.setattr(wilkins, "_run", lambda name, flags: os.kill(os.getpid(), number) or 0)
        assert wilkins.main(["synth"]) == 128 + number
        assert capsys.readouterr().err == "wilkins synth: interrupted\n"
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(
    ("fault", "code"), [(OSError(28, "No space left on device", "/a/b"), 2), (MemoryError(), 2), (ValueError("x"), 70)]
)
def test_no_fault_has_the_code_of_a_rejection(
    fault: Exception, code: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str, flags: object) -> int:
        raise fault

    monkeypatch.setattr(wilkins, "_run", fail)
    assert wilkins.main(["validate"]) == code
    assert code == 70 or capsys.readouterr().err.count("\n") == 1


def test_a_failure_is_told_of_the_file_that_failed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot write /other/file: No space"), whole_file(tmp_path / "mine"):
        raise OSError(28, "No space left on device", "/other/file")
    assert list(tmp_path.iterdir()) == []


def test_a_log_holds_each_line_as_soon_as_it_is_printed(tmp_path: Path) -> None:
    log, waiting = tmp_path / "log", tmp_path / "go"
    os.mkfifo(waiting)
    code = f"import env.streams\nwith env.streams.guarded():\n    print('begun')\n    open({str(waiting)!r}).read()"
    with log.open("w") as stream:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=stream, cwd=Path(wilkins.__file__).parent)
    with waiting.open("w"):  # opens once the other side has printed and reads
        assert log.read_text() == "begun\n"
    assert process.wait(60) == 0

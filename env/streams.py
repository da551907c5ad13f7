"""Standard streams that may be closed, full, narrow or abandoned, and signals that ask to stop: for the whole program."""

from __future__ import annotations

import codecs
import errno
import io
import os
import signal
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PLAIN = {
    **dict(zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True)),
    **dict.fromkeys("▉▊▋▌▍▎▏▐", "#"),
    **dict.fromkeys("─━–—╸╺", "-"),
    **{"…": "...", "±": "+-", "×": "x", "→": "->", "≤": "<=", "≥": ">=", "│": "|", "•": "*"},
}
"""What stands for a character that the output's encoding does not have."""


class StopAskedError(KeyboardInterrupt):
    """The system asks the program to end (SIGTERM, SIGHUP): to be treated as Ctrl-C is."""

    def __init__(self, number: int):
        super().__init__()
        self.number = number


class Outlet(io.FileIO):
    """A descriptor for output whose failure never stops the work: what cannot be written is dropped, and remembered."""

    failure: OSError | None = None

    def write(self, content: Any) -> int:
        """Write all of `content`, or drop it; returns its length in bytes."""
        rest = memoryview(content).cast("B")
        size = len(rest)
        while len(rest) and self.failure is None:
            try:
                rest = rest[os.write(self.fileno(), rest) :]
            except OSError as error:
                self.failure = error
        return size


@contextmanager
def guarded() -> Iterator[Outlet | None]:
    """Streams that can be used whatever they are; yields the outlet of standard output, None where a caller replaced it.

    A closed stream reads as empty and writes to nowhere. A terminal of no width has its usual one.
    """
    for name in ("COLUMNS", "LINES"):
        if os.environ.get(name, "").strip() == "0":
            del os.environ[name]
    kept = sys.stdin, sys.stdout, sys.stderr
    if None in kept:  # the next file that is opened must not become a standard stream
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(descriptor)
    outlet = None
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  for the whole run
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        outlet, sys.stdout = _outlet(1, kept[1])
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        _, sys.stderr = _outlet(2, kept[2])
    try:
        yield outlet
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdin, sys.stdout, sys.stderr = kept


def told(failure: OSError | None) -> str | None:
    """One line on why standard output is incomplete; None where it is complete or its reader has left."""
    if failure is None or failure.errno == errno.EPIPE:
        return None
    return f"cannot write to standard output: {failure.strerror}; what was to be printed is incomplete"


@contextmanager
def signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP stop as Ctrl-C does; what is ignored (`nohup`) stays ignored."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    try:
        previous = {each: signal.signal(each, _stop) for each in numbers if signal.getsignal(each) == signal.SIG_DFL}
    except ValueError:  # not the main thread
        previous = {}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _stop(number: int, _: Any) -> None:
    raise StopAskedError(number)


def _outlet(descriptor: int, stream: Any) -> tuple[Outlet, io.TextIOWrapper]:
    if stream is not None:
        stream.flush()
    codecs.register_error("wilkins", _replaced)
    outlet = Outlet(descriptor, "wb", closefd=False)
    encoding = "utf-8" if stream is None else stream.encoding
    # Line by line into a file or a pipe, too: who reads a log of long work sees how far it is.
    return outlet, io.TextIOWrapper(io.BufferedWriter(outlet), encoding=encoding, errors="wilkins", line_buffering=True)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    plain = "".join(_PLAIN.get(each) or unicodedata.normalize("NFKD", each)[:1] for each in text)
    return "".join(each if each.isascii() else "?" for each in plain), error.end

"""Processes of this machine, for tests that end some of them."""

from collections.abc import Callable
from pathlib import Path


def processes(wanted: Callable[[bytes], bool]) -> list[int]:
    """Identifiers of the processes whose command line is `wanted`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if wanted(told):
            found.append(int(folder.name))
    return found

"""The two archives that leave: the policy to upload, and the program that built it. Same input, same bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

from env.files import write_whole

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time a ZIP can hold: archives must not depend on when they were made."""

_HOME = Path(__file__).resolve().parents[2]
"""Where the rooms lie: a checkout, or the folder that a wheel was installed to."""

_ROOMS = ("env", "agents", "export", "games")
_PROGRAMS = ("train.py", "bench.py", "wilkins.py")
_BESIDE = ("pyproject.toml", "torch-cpu.txt", "Makefile", "README.md", "CHANGELOG.md", "LICENSE")
_TEXT = frozenset({".py", ".md", ".toml", ".html", ".css", ".js", ".mjs", ".svg"})
"""Kinds of file that are program. A list of what may leave, so that no weights and no table ever slip in."""


def write_submission(path: Path, policy: bytes) -> None:
    """Write the archive to upload: `policy` (bytes of a policy.json) as its only member.

    Raises UserError where the file cannot be written.
    """
    write_whole(path, _zipped([("policy.json", policy)]))


def write_source(path: Path) -> None:
    """Write the program as an archive: the text of its rooms, no model weights, no answer tables, no runs.

    Raises UserError where the file cannot be written.
    """
    write_whole(path, _zipped((name, file.read_bytes()) for name, file in sorted(source_files(_HOME).items())))


def source_files(home: Path) -> dict[str, Path]:
    """The program's files below `home` by their names in the archive; in a wheel there is nothing beside the rooms."""
    files = [file for room in _ROOMS for file in (home / room).rglob("*") if file.suffix in _TEXT]
    files += [home / name for name in _PROGRAMS]
    if (home / "pyproject.toml").is_file():
        files += [home / name for name in _BESIDE]
    found = {file.relative_to(home).as_posix(): file for file in files if file.is_file()}
    return {
        name: file
        for name, file in found.items()
        if not any(part == "__pycache__" or part.startswith(".") for part in name.split("/"))
    }


def _zipped(members: Iterable[tuple[str, bytes]]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content, compresslevel=9)
    return stream.getvalue()

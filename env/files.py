"""Writing whole files: a reader sees the old content or the new, never a half."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from env.errors import UserError


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary neighbour of `path` for writing and rename it over `path` at the end.

    Parent folders are made. On any failure the temporary file is removed and `path` is untouched.
    Raises UserError when the file system refuses (no permission, no space, a folder in the way).
    """
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}; free space or choose another place") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def write_whole(path: Path, content: bytes | str) -> None:
    """Write `content` (text as UTF-8) to `path` in one step; see `whole_file`."""
    with whole_file(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


def read_bytes(path: Path, what: str) -> bytes:
    """Content of `path`; raises UserError that names `what` was wanted there."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{what} is missing: no file {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {what} at {path}: {error.strerror or error}") from None

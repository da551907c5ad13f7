"""Files and folders that others may read or write at the same time: a reader sees the old content or the new, never a half."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from env.errors import UserError

try:
    import fcntl
except ImportError:  # Windows: there nothing is held against a second writer
    fcntl = None  # type: ignore[assignment]


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary neighbour of `path` for writing and publish it as `path` at the end.

    Parent folders are made; temporaries that killed commands left beside `path` are removed. On any failure the
    temporary file is removed and `path` is untouched.
    Raises UserError when the file system refuses (no permission, no space, a folder in the way).
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path.parent, path.name)
        descriptor, temporary = _temporary(path)
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            os.chmod(temporary, 0o644)
            publish(temporary, path)
            temporary = None
    except OSError as error:
        own = temporary is None or error.filename in (None, str(temporary))
        named = path if own else error.filename  # what failed may be another file, used while this one was written
        raise UserError(
            f"cannot write {named}: {error.strerror or error}; free space or choose another place"
        ) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A temporary neighbour of the folder `path` to fill, published as `path` at the end.

    `path` may exist if it is empty. Parent folders are made; temporaries of killed commands are removed.
    On any failure nothing is left. Raises UserError for a folder that holds something, or when the file system refuses.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise UserError(f"{path} exists already and is not an empty folder; choose another place or remove it")
    temporary: Path | None = None
    held = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path.parent, path.name)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=_PARTIAL, dir=path.parent))
        held = os.open(temporary, os.O_RDONLY)
        _hold(held)
        yield temporary
        temporary.chmod(0o755)
        if path.is_dir():
            path.rmdir()  # it was empty; were it filled meanwhile, this refuses
        publish(temporary, path)
        temporary = None
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}; free space or choose another place") from None
    finally:
        if held is not None:
            os.close(held)
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def publish(temporary: Path, path: Path) -> None:
    """The one place where a file or a folder comes to be: rename a finished temporary over `path`."""
    os.replace(temporary, path)


def write_whole(path: Path, content: bytes | str) -> None:
    """Write `content` (text as UTF-8) to `path` in one step; see `whole_file`."""
    with whole_file(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


def remove_abandoned(folder: Path, name: str | None = None) -> None:
    """Remove temporaries that killed commands left in `folder`, of what is called `name` or of all; none still written."""
    pattern = f".{'*' if name is None else glob.escape(name)}.????????{_PARTIAL}"
    for path in folder.glob(pattern):
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            if not _hold(descriptor):
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


@contextmanager
def sole_writer(folder: Path, work: str) -> Iterator[None]:
    """Hold a folder against a second writer; the system lets go when the process ends, however it ends.

    Raises UserError when another process holds it; `work` says in a word what that one does.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"cannot open the folder {folder}: {error.strerror}") from None
    try:
        if not _hold(descriptor):
            raise UserError(f"another {work} is at work on {folder}; wait for it or stop it, then run this again")
        yield
    finally:
        os.close(descriptor)


def read_bytes(path: Path, what: str) -> bytes:
    """Content of `path`; raises UserError that names `what` was wanted there."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{what} is missing: no file {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {what} at {path}: {error.strerror or error}") from None


_PARTIAL = ".part"
"""How the name of a temporary ends."""


def _temporary(path: Path) -> tuple[int, Path]:
    """A new temporary beside `path`, open and held, so that nobody takes it for an abandoned one."""
    while True:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_PARTIAL, dir=path.parent)
        if _hold(descriptor) and os.fstat(descriptor).st_nlink:
            return descriptor, Path(name)
        os.close(descriptor)  # removed as abandoned in the moment before it was held


def _hold(descriptor: int) -> bool:
    """Whether this process now holds the file or folder against others."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system that knows no locks
        return True
    return True

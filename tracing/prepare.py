"""What prepare.sh runs inside a submission: builds the index, the compiled helper where there is a C compiler, warm bytecode."""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import shutil
import subprocess
import sys
import time
from pathlib import Path

from env.errors import UserError
from env.files import write_whole
from tracing import query
from tracing.formats import MAX_QUERY_BYTES, MAX_RETURNED
from tracing.query import INDEX

HELPER = "query"
COMPILER_FLAGS = ("-O2", "-std=c99", "-ffp-contract=off")
"""No contraction: sums must round as Python's do."""


def main(arguments: list[str]) -> int:
    """Parse the flags of prepare.sh and build; 2 for a mistake, explained in one line."""
    parser = argparse.ArgumentParser(prog="prepare.sh")
    for name in ("data", "model", "index"):
        parser.add_argument(f"--{name}-dir", type=Path, required=True)
    flags = parser.parse_args(arguments)
    try:
        prepare(flags.data_dir, flags.model_dir, flags.index_dir)
    except UserError as error:
        print(f"tracing: {error}", file=sys.stderr)
        return 2
    return 0


def prepare(data: Path, model: Path, index: Path) -> None:
    """Fill the folder `index` from `data` and `model`. What an earlier, perhaps interrupted, run left there goes first.

    The index file comes last: without it run.sh says that the index is incomplete. Raises UserError.
    """
    try:
        index.mkdir(parents=True, exist_ok=True)
        (index / INDEX).unlink(missing_ok=True)
        for path in index.glob(f".{INDEX}.*"):
            path.unlink()
        shutil.rmtree(index / "lib", ignore_errors=True)
        (index / HELPER).unlink(missing_ok=True)
        (index / "python").unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"cannot clear the index folder {index}: {error.strerror or error}; name another") from None
    from tracing.index import build  # needs numpy, and says so

    source = Path(__file__).resolve().parents[1]
    for name in ("env/errors.py", "tracing/formats.py", "tracing/query.py"):
        write_whole(index / "lib" / name, (source / name).read_bytes())
    for name in ("env", "tracing"):
        write_whole(index / "lib" / name / "__init__.py", "")
    compileall.compile_dir(index / "lib", quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    write_whole(index / "python", f"{sys.executable}\n")
    compile_helper(source / "tracing" / "query.c", index / HELPER)
    build(data, model, index)


def constants() -> dict[str, int | float]:
    """The numbers of the method, by name."""
    values = {"MAX_RETURNED": MAX_RETURNED, "MAX_QUERY_BYTES": MAX_QUERY_BYTES} | vars(query)
    return {name: value for name, value in values.items() if name.isupper() and type(value) in (int, float)}


def definitions() -> list[str]:
    """Flags of the C compiler that give query.c the constants and the layout of query.py."""
    sections = ",".join(name.upper() for name, _ in query.SECTIONS)
    values = [f"-D{name}={value!r}" for name, value in constants().items()]
    return [*values, f"-DSECTION_NAMES={sections}", f'-DMAGIC="{query.MAGIC.decode()}"']


def compile_helper(source: Path, target: Path) -> bool:
    """Compile query.c where a C compiler is there; says on standard error why not."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler or not source.exists():
        print("no C compiler: queries are answered by Python", file=sys.stderr)
        return False
    began = time.monotonic()
    beside = target.with_suffix(".part")
    done = subprocess.run(
        [compiler, *COMPILER_FLAGS, *definitions(), "-o", str(beside), str(source), "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        beside.unlink(missing_ok=True)
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        print(f"the C compiler failed, queries are answered by Python: {reason[:200]}", file=sys.stderr)
        return False
    os.replace(beside, target)
    print(f"compiled helper in {time.monotonic() - began:.1f} s", file=sys.stderr)
    return True

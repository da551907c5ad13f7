"""`wilkins tracing build`: a complete submission folder that runs without this project."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from env.errors import UserError
from env.files import write_whole
from tracing.prepare import constants

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LIBRARY = (
    "env/errors.py",
    "env/files.py",
    "tracing/formats.py",
    "tracing/query.py",
    "tracing/query.c",
    "tracing/index.py",
    "tracing/swaps.py",
    "tracing/prepare.py",
)
"""What travels in lib/, each a copy of this project's own file."""

SCHEMA_VERSION = 1
METHOD = (
    "Records whose answers hold the marked span as words, ranked by the words that bind them to the query's subject, "
    "by overlap of the marked sentence, by the probe's surprise and by surprise between neighbours."
)


def build(out: Path) -> int:
    """Write a submission: prepare.sh, run.sh, submission.json and lib/, with a hash of every file.

    Args:
        out: Folder to write; must be new or empty.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is not an empty folder; name a new one")
    files = {name: (HERE / "submission" / name).read_bytes() for name in ("prepare.sh", "run.sh")}
    for name in LIBRARY:
        path = ROOT / name
        if path.exists():
            files[f"lib/{name}"] = path.read_bytes()
    files["lib/env/__init__.py"] = files["lib/tracing/__init__.py"] = b""
    for name, content in files.items():
        write_whole(out / name, content)
    for name in ("prepare.sh", "run.sh"):
        os.chmod(out / name, 0o755)
    about = {
        "schema_version": SCHEMA_VERSION,
        "method": METHOD,
        "configuration": constants(),
        "artifacts": [
            {
                "path": name,
                "sha256": hashlib.sha256(content).hexdigest(),
                "generated_by": "copied from the source of wilkins by `wilkins tracing build`; nothing in it was trained",
            }
            for name, content in sorted(files.items())
        ],
    }
    write_whole(out / "submission.json", json.dumps(about, indent=1) + "\n")
    print(f"{out}: {len(files)} files; {out}/prepare.sh builds an index, {out}/run.sh answers from it")
    return 0

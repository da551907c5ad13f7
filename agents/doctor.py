"""`wilkins doctor`: what this machine has for wilkins, and what to do about what it lacks."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from rich.console import Console
from rich.table import Table
from rich.text import Text

from env.errors import UserError, first_line
from env.oracle.model import MODEL

LOOPS = Path(__file__).parents[1] / "env" / "identification"
"""Where compiled loops lie, beside the modules that they are compiled from."""


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    what: str
    found: str
    remedy: str = ""
    """What to do; empty where nothing needs to be done."""
    needed: bool = False
    """Whether nothing works without it."""


def doctor(package: Path | None = None) -> int:
    """Say what is installed, what it runs on and what is missing, each with its remedy.

    Exits with 1 where something is missing that the plain install needs; what only an extra needs is no fault.

    Args:
        package: Folder of a package to look at; the embedded one when left out.
    """
    findings = [*_libraries(), *_machine(), *_caches(), *_model(), *_package(package)]
    table = Table(box=None, pad_edge=False)
    for heading in ("", "found", "to do"):
        table.add_column(heading, overflow="fold")
    for each in findings:
        table.add_row(*map(Text, (each.what, each.found, each.remedy)))
    Console().print(table)
    return int(any(each.needed and each.remedy for each in findings))


def _libraries() -> Iterator[Finding]:
    """Python, the libraries of the plain install with their versions, and each extra."""
    yield Finding("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    try:
        wanted = [Requirement(line) for line in requires("wilkins") or ()]
        yield Finding("wilkins", version("wilkins"))
    except PackageNotFoundError:
        yield Finding("wilkins", "not installed", "pip install wilkins, or -e . in a checkout", needed=True)
        return
    extras: dict[str, list[str]] = {}
    for each in wanted:
        extra = _extra(each)
        state = _state(each)
        if extra is None:
            remedy = "" if state.fits else f"pip install '{each.name}{each.specifier}'"
            yield Finding(each.name, state.told, remedy, needed=True)
        elif not state.fits:
            extras.setdefault(extra, []).append(each.name)
        else:
            extras.setdefault(extra, [])
    for extra, missing in sorted(extras.items()):
        remedy = f"pip install 'wilkins[{extra}]' if you want it" if missing else ""
        yield Finding(f"extra {extra}", f"without {', '.join(missing)}" if missing else "complete", remedy)


@dataclass(frozen=True)
class _State:
    told: str
    fits: bool


def _state(wanted: Requirement) -> _State:
    try:
        found = version(wanted.name)
    except PackageNotFoundError:
        return _State("missing", False)
    # A local label, as in 2.13.0+cpu, and a release candidate are versions as good as others.
    fits = wanted.specifier.contains(found, prereleases=True)
    return _State(found if fits else f"{found}, {wanted.specifier} is needed", fits)


def _extra(wanted: Requirement) -> str | None:
    """The extra that a requirement belongs to; None for the plain install."""
    text = "" if wanted.marker is None else str(wanted.marker)
    return text.split('extra == "')[1].split('"')[0] if 'extra == "' in text else None


def _machine() -> Iterator[Finding]:
    """Cores and the device of the network."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Finding("cores", f"{cores} to use of {os.cpu_count()}")
    try:
        import torch  # slow to import
    # Whatever a library raises that was built for another machine.
    except Exception as error:
        yield Finding("device", f"torch cannot be loaded: {first_line(error)}", "install torch anew", needed=True)
        return
    if torch.cuda.is_available():
        yield Finding("device", f"cuda: {', '.join(map(torch.cuda.get_device_name, range(torch.cuda.device_count())))}")
    elif torch.version.cuda:
        yield Finding(
            "device", f"cpu, with a CUDA {torch.version.cuda} build of torch", "a CPU build takes far less of the disk"
        )
    else:
        yield Finding("device", "cpu: enough for training; measuring an oracle of the official size wants a GPU")
    yield Finding("torch threads", str(torch.get_num_threads()))


def _caches() -> Iterator[Finding]:
    """Where the compiled loops go: beside the modules, or where NUMBA_CACHE_DIR says."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    place = Path(named) if named else LOOPS
    there = next(each for each in (place, *place.absolute().parents) if each.exists())
    writable = os.access(there, os.W_OK)
    remedy = "" if writable else "set NUMBA_CACHE_DIR to a folder that can be written, or every start compiles again"
    yield Finding("compiled loops", f"{place}{'' if writable else ' cannot be written'}", remedy)


def _model() -> Iterator[Finding]:
    """Whether the official language model is on this machine."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub") / f"models--{MODEL.replace('/', '--')}"
    weights = any(cache.glob("snapshots/*/*.safetensors"))
    remedy = "" if weights else "'wilkins oracle build' loads it; only measuring a matrix needs it"
    yield Finding("official model", str(cache) if weights else f"{MODEL} is not here", remedy)


def _package(folder: Path | None) -> Iterator[Finding]:
    """Pools and matrix of a package, and whether the pools are the official ones."""
    try:
        from env.identification.package import load_package  # takes libraries that may be what is missing

        package = load_package(folder)
        measured = f"{package.matrix.measured.mean():.1%} measured"
    except UserError as error:
        yield Finding("package", str(error), "mend it, or name another with --package DIR", needed=True)
        return
    except ImportError as error:
        yield Finding("package", f"cannot be read: {first_line(error)}", "install that first", needed=True)
        return
    sizes = f"{len(package.animals):,} {package.kind} x {len(package.questions):,} questions, {measured}"
    yield Finding("package", f"{package.path}: {sizes}")
    official = package.animals.official and package.questions.official
    remedy = "put the official files into a folder and look at it with 'wilkins doctor --package DIR'"
    yield Finding("official pools", "there" if official else "not these", "" if official else remedy)

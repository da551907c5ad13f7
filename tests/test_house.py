"""The rooms depend on each other in one direction only; see "How it is built" in the README."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ORDER = ("env", "agents", "export", "games", "studies", "train", "bench", "wilkins")
"""Rooms from left to right: each may import what stands before it, never what comes after."""
GAMES = ("cabinet", "keywords", "arc")
SHARED = ("identification", "oracle")


def modules() -> dict[str, Path]:
    files = [file for room in (*ORDER, "tracing") for file in (ROOT / room).rglob("*.py")]
    files += [ROOT / f"{name}.py" for name in ORDER if (ROOT / f"{name}.py").is_file()]
    names = {file: ".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files}
    return {name.removesuffix(".__init__"): file for file, name in names.items()}


MODULES = modules()


def imported(name: str, everywhere: bool = True) -> set[str]:
    """Modules of the project that `name` imports; only those at its top level unless `everywhere`."""
    tree = ast.parse(MODULES[name].read_text())
    # A program that is run as a script hands itself to the console command; as a module it does not.
    tree.body = [node for node in tree.body if not (isinstance(node, ast.If) and "__name__" in ast.unparse(node.test))]
    nodes = ast.walk(tree) if everywhere else iter(tree.body)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return {other for other in found if other in MODULES} - {name}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_room_imports_only_what_stands_before_it(name: str) -> None:
    room, *inside = name.split(".")
    for other in imported(name):
        their_room, *theirs = other.split(".")
        if room == "tracing":
            assert their_room == "tracing" or other in ("env", "env.errors", "env.files", "env.flags"), (
                f"{name} imports {other}"
            )
            continue
        assert their_room != "tracing" or room in ("bench", "wilkins"), f"{name} imports {other}"
        assert ORDER.index(their_room) <= ORDER.index(room), f"{name} imports {other}"
        if their_room == room and inside and theirs:
            downwards = inside[0] in GAMES or theirs[0] not in GAMES or (len(inside) == 1 and room != "env")
            assert downwards or inside[0] == "page", f"{name} imports {other}: shared code must not know a game"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_games_never_import_each_other(name: str) -> None:
    own = [part for part in name.split(".")[1:2] if part in GAMES]
    for other in imported(name):
        theirs = [part for part in other.split(".")[1:2] if part in GAMES]
        assert not own or not theirs or own == theirs, f"{name} imports {other}"


def test_no_module_imports_itself_in_a_circle() -> None:
    TopologicalSorter({name: imported(name, everywhere=False) for name in MODULES}).prepare()


@pytest.mark.parametrize("name", [name for name in sorted(MODULES) if name.split(".")[0] == "env"])
def test_worlds_know_no_torch_outside_the_oracle(name: str) -> None:
    if name.startswith("env.oracle"):
        return
    source = MODULES[name].read_text()
    roots = {
        alias.name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {str(node.module).split(".")[0] for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    assert not roots & {"torch", "transformers", "sb3_contrib"}, name

"""Claims about the bounds of flags: every number of every command has some, and they hold before anything is made."""

from __future__ import annotations

import importlib
import inspect
import typing
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

import wilkins
from env.errors import UserError
from env.flags import Within, checked

BOUNDLESS = {("import-matrix", "threshold")}
"""A threshold lies among the values of somebody's table, whatever they are."""


def numbers(hints: dict[str, Any]) -> dict[str, Within | None]:
    """Names that take numbers, with their bounds."""
    found: dict[str, Within | None] = {}
    for name, hint in {name: hint for name, hint in hints.items() if name != "return"}.items():
        bounds = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Within)]
        kind = hint.__origin__ if hasattr(hint, "__metadata__") else hint
        if is_dataclass(kind):
            chosen = typing.get_type_hints(kind, include_extras=True)
            found |= numbers({each.name: chosen[each.name] for each in fields(kind)})
        elif {int, float} & {kind, *typing.get_args(kind)}:
            found[name] = bounds[0] if bounds else None
    return found


FLAGS = [
    (command, name, bounds)
    for command, (place, _) in wilkins.COMMANDS.items()
    for module, function in [place.split(":")]
    for name, bounds in numbers(
        typing.get_type_hints(getattr(importlib.import_module(module), function), include_extras=True)
    ).items()
]


@pytest.mark.parametrize(("command", "name", "bounds"), FLAGS)
def test_every_number_of_every_command_has_bounds(command: str, name: str, bounds: Within | None) -> None:
    if (command, name) not in BOUNDLESS:
        assert bounds is not None
        assert bounds.least <= bounds.most < float("inf")


def required(command: str) -> list[str]:
    """Something for each argument that the command cannot do without."""
    module, function = wilkins.COMMANDS[command][0].split(":")
    parameters = inspect.signature(getattr(importlib.import_module(module), function)).parameters.values()
    return ["nowhere" for each in parameters if each.default is each.empty and "Settings" not in str(each.annotation)]


@pytest.mark.parametrize(("command", "name", "bounds"), [flag for flag in FLAGS if flag[2] is not None])
@pytest.mark.parametrize("beyond", [-1, 1, "nan"])
def test_beyond_them_is_one_line_and_nothing_is_made(
    command: str,
    name: str,
    bounds: Within,
    beyond: int | str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = isinstance(bounds.least, int)
    step = 1 if whole else 1.0
    if beyond == "nan":
        value: Any = 10**400 if whole else "nan"
    else:
        value = bounds.least - step if beyond == -1 else bounds.most + step * max(1, bounds.most)
    flag = "--" + name.replace("_", "-")
    assert wilkins.main([*command.split(), *required(command), f"{flag}={value}"]) == 2
    captured = capsys.readouterr()
    assert f"{flag} " in captured.err
    assert "between" in captured.err
    assert captured.err.count("\n") == 1
    assert not captured.out
    assert not list(tmp_path.iterdir())


def test_what_is_within_is_passed_on() -> None:
    def add(one: Annotated[int, Within(0, 5)], many: Annotated[tuple[float, ...], Within(0.0, 1.0)] = ()) -> float:
        return one + sum(many)

    assert checked(add)(5, many=(0.5, 1.0)) == 6.5
    with pytest.raises(UserError, match=r"--many 1\.5: between 0\.0 and 1\.0 is needed"):
        checked(add)(5, (0.5, 1.5))

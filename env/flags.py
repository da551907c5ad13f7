"""How large the numbers of a command may be: bounds stand in the annotations and are checked before anything is made."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

from env.errors import UserError


@dataclass(frozen=True)
class Within:
    """The least and the most that a number may be; stands in the annotation of a flag or a setting."""

    least: float
    most: float


NOISE = Within(0.0, 1000.0)
"""A standard deviation in margin units: beyond, nothing is left of any answer."""
SHARE = Within(0.0, 1.0)
SEED = Within(0, 2**32 - 1)
SECONDS = Within(0.0, 10.0**9)


def check_numbers(settings: Any) -> None:
    """Raises UserError for a number of a settings dataclass that is not `Within` what its annotation says."""
    hints = typing.get_type_hints(type(settings), include_extras=True)
    _check(hints, {name: getattr(settings, name) for name in hints})


def checked(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, whose numbers (those of its settings dataclasses too) are checked before it begins."""

    @functools.wraps(command)
    def run(*values: Any, **named: Any) -> Any:
        given = inspect.signature(command).bind(*values, **named)
        _check(typing.get_type_hints(command, include_extras=True), given.arguments)
        for value in given.arguments.values():
            if is_dataclass(value):
                check_numbers(value)
        return command(*values, **named)

    return run


def _check(hints: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        for bounds in getattr(hints.get(name), "__metadata__", ()):
            if isinstance(bounds, Within):
                for number in () if value is None else value if isinstance(value, tuple) else (value,):
                    if not bounds.least <= number <= bounds.most:
                        flag = name.replace("_", "-")
                        raise UserError(f"--{flag} {number}: between {bounds.least:,} and {bounds.most:,} is needed")

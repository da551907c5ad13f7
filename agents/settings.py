"""Settings as dataclasses, as a run's configuration gives them back."""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from agents.runs import CONFIG, Run
from env.errors import UserError
from env.flags import check_numbers

Chosen = TypeVar("Chosen")


@dataclass(frozen=True)
class Sought:
    """The range in which a sweep looks for a better value of a setting; stands in its annotation."""

    least: float
    most: float
    log: bool = False
    """Whether equal ratios are equally likely, not equal differences."""


def settings_of(run: Run, key: Literal["settings", "choices"], kind: type[Chosen]) -> Chosen:
    """What a run's configuration holds below `key`, as a dataclass. Raises UserError where it is none."""
    hints = typing.get_type_hints(kind)
    try:
        stored = run.config[key]
        chosen = kind(**{name: _read(stored[name], hints[name]) for name in stored})
        missing = set(hints) - set(stored)
        if missing:
            raise ValueError(f"{min(missing)} is missing")
        check_numbers(chosen)
    except (KeyError, TypeError, ValueError, UserError) as error:
        raise UserError(f"{run.folder / CONFIG}: not the settings of this program ({error}); start a new run") from None
    return chosen


def _read(value: Any, kind: Any) -> Any:
    """A value of JSON as one of type `kind`. Raises TypeError or ValueError for one that does not fit."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return _read(value, next(each for each in arguments if each is not type(None)))
    if origin is tuple and isinstance(value, list):
        return tuple(_read(each, arguments[0]) for each in value)
    if origin is Literal and value in arguments:
        return value
    if kind is Path and isinstance(value, str):
        return Path(value)
    if kind is float and type(value) in (int, float):
        return float(value)
    if type(value) is kind:
        return value
    raise TypeError(f"{str(value)[:40]!r} is no {getattr(kind, '__name__', kind)}")

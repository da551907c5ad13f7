"""Loops compiled by Numba, for all games: the cache of the compiler where there is a place for one, and its threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import config, njit

from env.errors import PackageWarning

# Numba's OpenMP layer would set the number of threads for torch too, in the same process.
config.THREADING_LAYER = "workqueue"  # type: ignore[attr-defined]


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: `numba.njit` with `options`, without the interpreter's lock, kept from one process to the next.

    Where neither the installation nor the home can be written, each process compiles anew, and says so once.
    """

    def compile(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            _say_that_nothing_is_kept()
            return njit(nogil=True, **options)(function)

    return compile


@cache
def _say_that_nothing_is_kept() -> None:
    warnings.warn(
        "no folder for compiled loops can be written: each start compiles them anew; set NUMBA_CACHE_DIR to one",
        PackageWarning,
        stacklevel=2,
    )

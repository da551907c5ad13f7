"""Compiled loops where nothing can be kept between processes."""

import warnings

import pytest
from numba.core import caching

from env import loops
from env.errors import PackageWarning


def test_without_a_writable_place_loops_are_compiled_anew_and_that_is_said_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    loops._say_that_nothing_is_kept.cache_clear()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        doubled = [loops.compiled()(lambda x: x + x) for _ in range(2)]
    assert [each(4) for each in doubled] == [8, 8]
    assert [each.category for each in said] == [PackageWarning]
    assert "NUMBA_CACHE_DIR" in str(said[0].message)

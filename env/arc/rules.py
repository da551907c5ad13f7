"""Learning a rule for the cells from demonstrations: which features decide, and what each case copies.

A cell's possible sources are a set of bits; a rule is right where the sets of no case's cells have an empty intersection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from env.arc.cells import NAMES, SOURCES, cells
from env.arc.clock import UNLIMITED, Clock
from env.arc.operation import Operation
from env.arc.programs import Feature, Rule
from env.arc.tasks import Grid
from env.loops import compiled

T = TypeVar("T")

WORD = 64
"""Sources that fit in a word of bits."""

MOST_FITTING = 400
"""Tuples of features that are weighed against one another, at most."""

AT_ONCE = 4_000_000
"""Cells that a compiled loop may visit, at most, before the clock is looked at again."""

_PLACE = ("row", "column", "sum", "from_", "ring", "diagonal", "anti", "difference", "number", "room_h", "room_w")
CATEGORY_COST = {
    name: 0.5 if name == "colour" else 3.0 if name.startswith(_PLACE) else 2.0 for name in NAMES
}  # fmt: skip


@dataclass
class Planes:
    """Features of all cells of the demonstrations, then of the test inputs, side by side."""

    features: list[Feature]
    """What cells can be told apart by."""
    values: np.ndarray
    """uint8 [features, cells], 0..15."""
    cost: np.ndarray
    """float64 [features]."""
    sources: list[Feature]
    """What can be copied, the cheapest first."""
    colours: np.ndarray
    """uint8 [sources, cells]; 255 where there is nothing to copy."""
    source_cost: np.ndarray
    """float64 [sources]."""


@dataclass
class Found:
    """A rule that paints every demonstration right, and what it paints on the test inputs."""

    rule: Rule
    cost: float
    outputs: list[Grid]


Made = tuple[tuple[Operation, ...], Sequence[Grid]]
"""Steps, and what they make of every grid."""


def planes_of(
    grids: Sequence[Grid], steps: tuple[Operation, ...], others: Sequence[Made] = (), clock: Clock = UNLIMITED
) -> Planes:
    """Planes of the grids that `steps` made, and the colours of grids of the same sizes that other steps made.

    Raises OutOfTimeError.
    """
    parts = []
    for grid in grids:
        clock.check()
        parts.append(cells(grid))
    values = np.concatenate([part[0] for part in parts], axis=1)
    colours = np.concatenate([part[1] for part in parts], axis=1)
    features = [Feature(steps, name) for name in NAMES]
    cost = [CATEGORY_COST[name] for name in NAMES]
    sources = [Feature(steps, name) for name in SOURCES]
    source_cost = [0.0 if name == "colour" else 2.0 for name in SOURCES]
    sources += [Feature(steps, str(colour)) for colour in range(10)]
    source_cost += [1.0] * 10
    colours = np.concatenate([colours, np.repeat(np.arange(10, dtype=np.uint8)[:, None], colours.shape[1], axis=1)])
    if others:
        made = np.stack([np.concatenate([g.ravel() for g in state]) for _, state in others]).astype(np.uint8)
        values, colours = np.concatenate([values, made]), np.concatenate([colours, made])
        more = [Feature(path, "colour") for path, _ in others]
        features, sources = features + more, sources + more
        cost += [1.5 + len(path) for path, _ in others]
        source_cost += [1.5 + len(path) for path, _ in others]
    order = np.argsort(source_cost, kind="stable")
    kept = _distinct(values)
    return Planes(
        [features[i] for i in kept],
        np.ascontiguousarray(values[kept]),
        np.array(cost)[kept],
        [sources[i] for i in order],
        colours[order],
        np.array(source_cost)[order],
    )


def _distinct(values: np.ndarray) -> list[int]:
    """Rows that tell some cells apart and do it differently from every row before."""
    seen, kept = set(), []
    cases = _cases(values)
    for i, row in enumerate(cases):
        content = row.tobytes()
        if row.any() and content not in seen:
            seen.add(content)
            kept.append(i)
    return kept


@compiled()
def _cases(values: np.ndarray) -> np.ndarray:
    """Values numbered in the order in which they first come in each row, uint8 of the same shape."""
    out = np.empty_like(values)
    for i in range(values.shape[0]):
        number = np.full(256, 255, np.uint8)
        known = 0
        for n in range(values.shape[1]):
            v = values[i, n]
            if number[v] == 255:
                number[v] = known
                known += 1
            out[i, n] = number[v]
    return out


@compiled()
def _fits(values: np.ndarray, bits: np.ndarray, tuples: np.ndarray, limit: int) -> np.ndarray:
    """Indices of the tuples of rows (-1: none) whose cases all leave a common source, at most `limit` of them."""
    cells, words = bits.shape
    found = np.empty(limit, np.int64)
    number = 0
    group = np.zeros((4096, words), np.uint64)
    stamp = np.zeros(4096, np.int64)
    for t in range(len(tuples)):
        a, b, c = tuples[t, 0], tuples[t, 1], tuples[t, 2]
        right = True
        for n in range(cells):
            key = 0
            if a >= 0:
                key = int(values[a, n])
            if b >= 0:
                key = key * 16 + int(values[b, n])
            if c >= 0:
                key = key * 16 + int(values[c, n])
            if stamp[key] != t + 1:
                stamp[key] = t + 1
                for w in range(words):
                    group[key, w] = bits[n, w]
            else:
                left = np.uint64(0)
                for w in range(words):
                    group[key, w] &= bits[n, w]
                    left |= group[key, w]
                if left == 0:
                    right = False
                    break
        if right:
            found[number] = t
            number += 1
            if number == limit:
                break
    return found[:number]


@compiled()
def _weigh(
    values: np.ndarray,
    bits: np.ndarray,
    demo: np.ndarray,
    test: np.ndarray,
    tuples: np.ndarray,
    source_cost: np.ndarray,
    cost: np.ndarray,
) -> np.ndarray:
    """Cost of each tuple: of what it looks at, of its cases, of cases that one demonstration or none has."""
    words = bits.shape[1]
    out = np.zeros(len(tuples))
    group = np.zeros((4096, words), np.uint64)
    for t in range(len(tuples)):
        first = np.full(4096, -1, np.int64)
        more = np.zeros(4096, np.bool_)
        for k in range(3):
            if tuples[t, k] >= 0:
                out[t] += cost[tuples[t, k]]
        for part in range(2):
            rows = values if part == 0 else test
            for n in range(rows.shape[1]):
                key = 0
                for k in range(3):
                    if tuples[t, k] >= 0:
                        key = key * 16 + int(rows[tuples[t, k], n])
                if part == 1:
                    if first[key] == -1:
                        out[t] += 3.0
                        first[key] = -2
                elif first[key] == -1:
                    first[key] = demo[n]
                    group[key] = bits[n]
                else:
                    if first[key] != demo[n]:
                        more[key] = True
                    for w in range(words):
                        group[key, w] &= bits[n, w]
        for key in range(4096):
            if first[key] < 0:
                continue
            for s in range(words * 64):
                if group[key, s // 64] >> np.uint64(s % 64) & np.uint64(1):
                    if source_cost[s] > 0:
                        out[t] += 0.5 + source_cost[s]
                        if not more[key]:
                            out[t] += 1.0
                    else:
                        out[t] += 0.2
                    break
    return out


def tuples_of(features: int, cases: np.ndarray, first: Sequence[int], size: int) -> np.ndarray:
    """Tuples of features to try, int64 [tuples, 3]: none and single ones, pairs if `size` is 2, threes with `first`."""
    rows = [(-1, -1, -1), *((i, -1, -1) for i in range(features))]
    if size >= 2:
        i, j = np.triu_indices(features, 1)
        pairs = np.stack([i, j, np.full_like(i, -1)], axis=1)
        pairs = pairs[np.argsort(cases[i] * cases[j], kind="stable")]
        out = np.concatenate([np.array(rows), pairs])
        if size >= 3:
            threes = []
            for k in first:
                right = (pairs[:, 0] != k) & (pairs[:, 1] != k)
                threes.append(np.concatenate([np.full((right.sum(), 1), k), pairs[right][:, :2]], axis=1))
            out = np.concatenate([out, *threes])
        return out.astype(np.int64)
    return np.array(rows, np.int64)


def learn(
    planes: Planes,
    wanted: Sequence[Grid],
    tests: Sequence[Grid],
    size: int,
    clock: Clock = UNLIMITED,
    most: int = 8,
) -> list[Found]:
    """The cheapest rules that paint all of `wanted`, at most `most` with different results on the test inputs.

    `tests`: the grids whose sizes the outputs for the test inputs have. `size`: features of a rule at most.
    Raises OutOfTimeError.
    """
    target = np.concatenate([g.ravel() for g in wanted])
    count = len(target)
    match = planes.colours[:, :count] == target
    if not match.any(axis=0).all():
        return []
    bits = _pack(match)
    demo = np.repeat(np.arange(len(wanted)), [g.size for g in wanted])
    values, test = planes.values[:, :count], planes.values[:, count:]
    order = np.random.default_rng(0).permutation(count)
    # Changed and unchanged cells alternate at first: a case that changes and does not is what refutes a feature.
    changed, same = order[~match[0][order]], order[match[0][order]]
    lead = min(len(changed), len(same))
    mixed = np.concatenate([np.stack([changed[:lead], same[:lead]], axis=1).ravel(), changed[lead:], same[lead:]])
    cases = _cases(planes.values).max(axis=1).astype(int) + 1
    first = [i for i, f in enumerate(planes.features) if f.plane in ("colour",) and i == 0]
    tuples = tuples_of(len(values), cases, first, size)
    tuples = _fitting(np.ascontiguousarray(values[:, mixed]), np.ascontiguousarray(bits[mixed]), tuples, clock)
    if not len(tuples):
        return []
    padded = np.full(bits.shape[1] * WORD, 9.0)
    padded[: len(planes.source_cost)] = planes.source_cost
    parts = _parts(tuples, planes.values.shape[1])
    cost = np.concatenate(
        [_weigh(values, bits, demo, test, part, padded, planes.cost) for part in _timed(parts, clock)]
    )
    found: list[Found] = []
    seen = set()
    ends = np.cumsum([g.size for g in tests])[:-1]
    for t in _timed(np.argsort(cost, kind="stable"), clock):
        source, painted = _outcome(planes.values, planes.colours, bits, tuples[t])
        content = painted.tobytes()
        if content in seen or (painted > 9).any():
            continue
        seen.add(content)
        outputs = [p.reshape(g.shape).astype(np.int8) for p, g in zip(np.split(painted, ends), tests, strict=True)]
        found.append(Found(_rule(planes, tuples[t], source), float(cost[t]), outputs))
        if len(found) == most:
            break
    return found


def _fitting(values: np.ndarray, bits: np.ndarray, tuples: np.ndarray, clock: Clock) -> np.ndarray:
    """The first tuples of rows whose cases all leave a common source, at most `MOST_FITTING`."""
    found: list[np.ndarray] = []
    room = MOST_FITTING
    for part in _timed(_parts(tuples, values.shape[1]), clock):
        found.append(part[_fits(values, bits, part, room)])
        room -= len(found[-1])
        if not room:
            break
    return np.concatenate(found)


def _parts(tuples: np.ndarray, cells: int) -> list[np.ndarray]:
    """The tuples in runs, each of which takes a compiled loop some hundredths of a second at most."""
    return np.array_split(tuples, -(-len(tuples) * cells // AT_ONCE))


def _timed(items: Iterable[T], clock: Clock) -> Iterator[T]:
    """The items, with a look at the clock before each."""
    for item in items:
        clock.check()
        yield item


def _pack(match: np.ndarray) -> np.ndarray:
    """bool [sources, cells] as bits, uint64 [cells, words]."""
    words = -(-len(match) // WORD)
    wide = np.zeros((match.shape[1], words * WORD), bool)
    wide[:, : len(match)] = match.T
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint64)


@compiled()
def _outcome(
    values: np.ndarray, colours: np.ndarray, bits: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The cheapest source of each case of a tuple of features, int64 [4096], -1 where no demonstration has it.

    And the colours of the cells after the demonstrations'; a case that none has is taken as the nearest one.
    """
    count, words = bits.shape
    group = np.zeros((4096, words), np.uint64)
    source = np.full(4096, -1, np.int64)
    for n in range(count):
        key = 0
        for k in range(3):
            if chosen[k] >= 0:
                key = key * 16 + int(values[chosen[k], n])
        if source[key] < 0:
            source[key] = 0
            group[key] = bits[n]
        else:
            for w in range(words):
                group[key, w] &= bits[n, w]
    for key in range(4096):
        if source[key] == 0:
            for s in range(words * 64):
                if group[key, s // 64] >> np.uint64(s % 64) & np.uint64(1):
                    source[key] = s
                    break
    nearest = source.copy()
    out = np.empty(values.shape[1] - count, np.uint8)
    for n in range(count, values.shape[1]):
        key = 0
        for k in range(3):
            if chosen[k] >= 0:
                key = key * 16 + int(values[chosen[k], n])
        if nearest[key] < 0:
            best = 1000
            for known in range(4096):
                if source[known] >= 0:
                    away = (
                        abs(known % 16 - key % 16)
                        + abs(known // 16 % 16 - key // 16 % 16)
                        + abs(known // 256 - key // 256)
                    )
                    if away < best:
                        best, nearest[key] = away, source[known]
        out[n - count] = colours[nearest[key], n]
    return source, out


def _rule(planes: Planes, chosen: np.ndarray, source: np.ndarray) -> Rule:
    """The rule of a tuple of features, from the source of each case."""
    rows = [int(i) for i in chosen if i >= 0]
    table = {}
    for key in np.flatnonzero(source >= 0):
        case = tuple(int(key) // 16**k % 16 for k in reversed(range(len(rows))))
        table[case] = planes.sources[source[key]]
    return Rule(tuple(planes.features[r] for r in rows), table)

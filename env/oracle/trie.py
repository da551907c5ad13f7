"""Prompts that begin alike, packed so that every shared token goes through the model once. No models here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pack:
    """A part of the token trie that goes through the model in one pass, after the prefix that all prompts share."""

    token: np.ndarray
    """int64 [nodes], parents before their children."""
    parent: np.ndarray
    """int64 [nodes], index in this pack; -1 for a child of the prefix."""
    position: np.ndarray
    """int64 [nodes], place in the prompt."""
    leaf: np.ndarray
    """int64 [pairs], the node that a prompt ends with."""
    pair: np.ndarray
    """int64 [pairs], index of that prompt."""

    def visible(self) -> np.ndarray:
        """bool [nodes, nodes]: which nodes a node attends to, its ancestors and itself."""
        seen = np.zeros((self.token.size, self.token.size), bool)
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                seen[node] = seen[parent]
            seen[node, node] = True
        return seen


def grow(prompts: Sequence[list[int]], limit: int) -> tuple[list[int], list[Pack]]:
    """The tokens that all `prompts` share, and packs of about `limit` nodes for the rest of each.

    Every prompt keeps at least its last token for its pack. Only the trie's branches along a border
    between two packs are in both; a single branch longer than `limit` is a pack of its own.
    """
    if not prompts or not all(prompts):
        raise ValueError("a trie needs at least one prompt, and no empty one")
    order = sorted(range(len(prompts)), key=lambda pair: prompts[pair])
    first, last = prompts[order[0]], prompts[order[-1]]
    shared = min(_common(first, last), min(map(len, prompts)) - 1)
    branches = [tuple(prompts[pair][shared:]) for pair in order]
    fresh = [len(now) - _common(before, now) for before, now in zip([(), *branches[:-1]], branches, strict=True)]
    # Even packs: a small last one would waste a pass.
    target = -(-sum(fresh) // -(-sum(fresh) // limit))
    packs: list[Pack] = []
    start, size = 0, 0
    for end, (branch, new) in enumerate(zip(branches, fresh, strict=True)):
        if new and end > start and (size + new > limit or size >= target):
            packs.append(_pack(branches[start:end], order[start:end], shared))
            start, size = end, 0
        size += new if size else len(branch)
    packs.append(_pack(branches[start:], order[start:], shared))
    return list(first[:shared]), packs


def _pack(branches: Sequence[tuple[int, ...]], pairs: Sequence[int], shared: int) -> Pack:
    token: list[int] = []
    parent: list[int] = []
    position: list[int] = []
    leaf: list[int] = []
    path: list[int] = []
    before: tuple[int, ...] = ()
    for branch in branches:
        del path[_common(before, branch) :]
        for depth in range(len(path), len(branch)):
            token.append(branch[depth])
            parent.append(path[-1] if path else -1)
            position.append(shared + depth)
            path.append(len(token) - 1)
        leaf.append(path[-1])
        before = branch
    return Pack(*(np.array(column, np.int64) for column in (token, parent, position, leaf, pairs)))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Number of first tokens that two sequences share."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))

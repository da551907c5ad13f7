"""`MySolution` for the official evaluate.py: plays the policy.json that lies beside this file.

Standard library only, so that the two files can be copied together. Check the policy with validate.py first.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

POLICY_VARIABLE = "WILKINS_POLICY"
"""Environment variable that names another policy.json."""

_OFFICIAL = (
    ("87eb93cc5d2a238a38daaeb201c394db935153cc17b03a44a7642f0db9ff35dc", 1472),
    ("d2bd060866382f3dd1329112e73fbd6bf2397352d02469434b7b3d199bd2ca62", 559),
)
_YES = frozenset({"yes", "true", "correct", "right", "1"})
_NO = frozenset({"no", "false", "incorrect", "wrong", "0"})


class MySolution:
    """Walks a policy graph through an interactor that offers `ask`, `guess`, `is_done`, `remaining_budget`."""

    def __init__(
        self, animals_pool: Sequence[str], questions_pool: Sequence[str], policy: str | os.PathLike[str] | None = None
    ) -> None:
        """Load the policy: `policy`, else the file that WILKINS_POLICY names, else policy.json beside this file.

        The pools are lists of names in pool order. Raises FileNotFoundError where there is no policy and
        ValueError where it was made for other pools.
        """
        self.animals, self.questions = list(animals_pool), list(questions_pool)
        path = Path(policy or os.environ.get(POLICY_VARIABLE) or Path(__file__).with_name("policy.json"))
        if not path.is_file():
            raise FileNotFoundError(f"no policy at {path}; copy policy.json there or set {POLICY_VARIABLE}")
        graph = json.loads(path.read_text(encoding="utf-8"))
        _require_pool(f"{path}: animals", graph["animals_sha256"], self.animals)
        _require_pool(f"{path}: questions", graph["questions_sha256"], self.questions)
        self.nodes: list[dict[str, Any]] = graph["nodes"]
        self.root: int = graph["root"]

    def solve(self, interactor: Any) -> str | None:
        """Play one round to its end; returns the animal that was guessed right, None where none was."""
        here: int | None = self.root
        while here is not None and not _now(interactor.is_done) and _now(interactor.remaining_budget) > 0:
            node = self.nodes[here]
            if node["type"] == "stop":
                break
            if node["type"] == "ask":
                question = node["question"]
                reply = _call(interactor, interactor.ask, self.questions[question], question)
                here = node["yes"] if _is_yes(reply) else node["no"]
            else:
                animal = node["animal"]
                reply = _call(interactor, interactor.guess, self.animals[animal], animal)
                if _is_yes(reply):
                    return self.animals[animal]
                here = node["wrong"]
        return None


def _call(interactor: Any, call: Callable[[Any], Any], name: str, position: int) -> Any:
    """Make a call by name, or by position where the interactor refuses names.

    A value outside its pool is rejected and consumes no call, so a refusal is an exception or an
    unreadable reply that left the budget as it was.
    """
    budget = _now(interactor.remaining_budget)
    refusal: Exception | None = None
    for value in (name, position):
        try:
            reply = call(value)
        except Exception as error:
            if _now(interactor.remaining_budget) != budget:
                raise
            refusal = refusal or error
            continue
        if _read(reply) is not None or _now(interactor.remaining_budget) != budget:
            return reply
    raise refusal or ValueError(f"the interactor takes neither {name!r} nor {position}")


def _is_yes(reply: Any) -> bool:
    """Whether an answer is yes or a guess was right; words that say neither are a no, as the official reading has it."""
    return _read(reply) is True


def _read(reply: Any) -> bool | None:
    """A reply as a truth value, whether it comes as bool, number or word; None where it is none of them."""
    word = str(reply).strip().strip(".!").lower()
    return True if word in _YES else False if word in _NO else None


def _now(value: Any) -> Any:
    """Value of an attribute that one interactor has as a property and another as a method."""
    return value() if callable(value) else value


def _require_pool(what: str, wanted: str, names: Sequence[str]) -> None:
    """Raise ValueError unless `wanted` is the digest of `names`: another order would be played without a word."""
    lines = [line for line in (name.strip().lower() for name in names) if line]
    joined = "\n".join(lines)
    found = [hashlib.sha256(text.encode()).hexdigest() for text in (f"{joined}\n", joined)]
    # Which bytes of the official lists were hashed is not published; their size is all that is sure.
    if wanted not in found and (wanted, len(lines)) not in _OFFICIAL:
        raise ValueError(f"{what}: the policy was made for the pool {wanted}, this one is {found[0]}")

"""The policy graph: nodes and edges as arrays, to policy.json and back. How it is checked is in validate.py."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.runs import CONFIG
from env.errors import UserError
from env.identification.pools import Pool
from export.cabinet import validate
from export.cabinet.validate import ASK, GUESS, STOP

__all__ = ["ASK", "GUESS", "STOP", "Graph", "graph_to_json", "read_graph"]


@dataclass(frozen=True)
class Graph:
    """A finite policy over two pools; the arrays' axis is nodes."""

    kind: np.ndarray
    """uint8 [nodes]: ASK, GUESS or STOP."""
    value: np.ndarray
    """int32 [nodes]: question_id of an ask, animal_id of a guess, 0 of a stop."""
    yes: np.ndarray
    """int32 [nodes]: next node after "yes"; -1 is a null edge (the same as a stop), and elsewhere than at an ask."""
    no: np.ndarray
    """int32 [nodes]: next node after "no", or after a wrong guess; -1 is a null edge."""
    root: int
    animals_sha256: str
    questions_sha256: str

    def __len__(self) -> int:
        return len(self.kind)


def graph_to_json(graph: Graph) -> bytes:
    """The one policy.json of a graph: compact, keys in the contract's order, a last newline."""
    nodes: list[dict[str, str | int | None]] = []
    for kind, value, yes, no in zip(
        graph.kind.tolist(), graph.value.tolist(), graph.yes.tolist(), graph.no.tolist(), strict=True
    ):
        if kind == ASK:
            nodes.append({"type": "ask", "question": value, "yes": _edge(yes), "no": _edge(no)})
        elif kind == GUESS:
            nodes.append({"type": "guess", "animal": value, "wrong": _edge(no)})
        else:
            nodes.append({"type": "stop"})
    policy = {
        "schema": validate.SCHEMA,
        "animals_sha256": graph.animals_sha256,
        "questions_sha256": graph.questions_sha256,
        "root": int(graph.root),
        "nodes": nodes,
    }
    return json.dumps(policy, separators=(",", ":")).encode() + b"\n"


def _edge(node: int) -> int | None:
    return None if node < 0 else node


def read_graph(path: Path, animals: Pool, questions: Pool) -> Graph:
    """Graph of a `policy.json`, of a submission archive, or of a run folder that holds a `policy.json`.

    Raises UserError where the file is missing, would be refused by the platform (with the place: node and
    key), or belongs to other pools (with both digests).
    """
    folder = path
    if path.is_dir():
        path = path / "policy.json"
    try:
        policy = validate.read(path)
        facts = [validate.PoolFacts(pool.kind, len(pool), pool.sha256) for pool in (animals, questions)]
        validate.check(policy, *facts)
    except validate.UnreadableError as error:
        if (folder / CONFIG).exists() and not path.exists():
            raise UserError(
                f"{folder}: a run that was not exported yet; 'wilkins export {folder}' writes its policy"
            ) from None
        raise UserError(f"{error}; give a policy.json, a submission archive or the folder of an exported run") from None
    except validate.RejectionError as error:
        raise UserError(f"{path}: {error}") from None
    return Graph(
        kind=np.array(policy.kind, np.uint8),
        value=np.array(policy.value, np.int32),
        yes=np.array(policy.yes, np.int32),
        no=np.array(policy.no, np.int32),
        root=policy.root,
        animals_sha256=policy.animals_sha256,
        questions_sha256=policy.questions_sha256,
    )

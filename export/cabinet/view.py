"""One HTML page of policies: gathers what the page shows and puts it into the template that ships in page/."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.console import Console

from agents.cabinet.run import GAME
from agents.runs import CONFIG, RECORD, load_run
from env.cabinet.rules import BUDGET, COST, limit, limit_calls
from env.errors import UserError
from env.files import write_whole
from env.flags import NOISE, SHARE
from env.identification.belief import FLOOR, Assumed, doubted
from env.identification.matrix import Curve
from env.identification.package import AnswerModel, Candidates, Package
from export.cabinet.evaluate import walked
from export.cabinet.graph import Graph, read_graph
from export.cabinet.record import spoken, world_of
from export.cabinet.score import expected
from export.page.template import filled

NOISE_LEVELS = (0.0, 0.05, 0.10, 0.20, 0.30)
"""Noise at which every policy is scored for the page's curve, in margin units."""


@dataclass(frozen=True)
class Made:
    """How a policy came about: what it was made to assume of the platform, and how its agent was trained."""

    noise: float
    """Margin units."""
    doubt: float = 0.0
    """Share of the answers that it takes to be noisier than `noise`."""
    curve: Curve | None = None
    """Measured flip curve that it follows; None where answers follow Gaussian noise."""
    training: Sequence[tuple[int, Mapping[str, float]]] = ()
    """Calls trained on, and scores x100 by name, of each evaluation."""


_QUANTA = 32767

_ROWS = 512
"""Animals that are compared with all others together."""

MISSING = -32768
"""Stands on the page for an answer that nobody measured."""


def view(
    policies: Annotated[tuple[Path, ...], tyro.conf.Positional],
    package: Path | None = None,
    candidates: str | None = None,
    noise: Annotated[float | None, NOISE] = None,
    doubt: Annotated[float | None, SHARE] = None,
    answer_model: AnswerModel | None = None,
    out: Path | None = None,
) -> int:
    """Write one HTML page that plays, explains and compares policies; it opens from disk, without a network.

    What is not said by a flag is as the first policy was made.

    Args:
        policies: Run folders, policy.json files or submission archives of the same pools.
        package: Folder of pools and matrix.
        candidates: Animals that rounds hide: hidden, dev, test1, all, or a file of animal names.
        noise: Standard deviation of a platform's margin difference.
        doubt: Share of the answers that beliefs take to be noisier than that. Default: as each policy was made.
        answer_model: gaussian, measured (the package's flip curve), or auto.
        out: File to write; policy.html in the first run folder, or beside the first policy, when left out.
    """
    if not policies:
        raise UserError("no policy named; give one or more run folders or policy.json files")
    hidden, assumed = world_of(policies[0], package, candidates, noise, doubt, answer_model)
    world = hidden.package
    graphs: dict[str, Graph] = {}
    made: dict[str, Made] = {}
    for path in policies:
        name = _name(path, graphs)
        graphs[name] = read_graph(path, world.animals, world.questions)
        _, own = world_of(path, world.path, hidden.choice, noise, doubt, answer_model)
        made[name] = Made(own.noise, own.doubt, own.curve, training_of(path))
    target = out or (policies[0] if policies[0].is_dir() else policies[0].parent) / "policy.html"
    if target.is_dir():
        raise UserError(f"--out {target} is a folder; name the file to write")
    content = page(graphs, world, hidden.ids, assumed.noise, hidden.choice, assumed.curve, made)
    write_whole(target, content)
    console = Console()
    console.print(
        f"{target}  [dim]{len(content.encode()) / 1e6:.2f} MB, {len(graphs)} {'policy' if len(graphs) == 1 else 'policies'}[/]"
    )
    console.print(spoken(hidden, assumed), soft_wrap=True)
    return 0


def page(
    graphs: Mapping[str, Graph],
    package: Package,
    candidates: np.ndarray,
    noise: float | None = None,
    choice: str = "hidden",
    curve: Curve | None = None,
    made: Mapping[str, Made] | None = None,
) -> str:
    """The page of named `graphs` as one self-contained HTML text; the same arguments give the same text.

    `candidates` are the animals that rounds hide, int64 [n]; `noise` (margin units, the package's when None)
    is what expectations assume, with the measured flip `curve` where answers follow that; `choice` says in words
    which animals they are. `made` holds, by name of the graph, what its beliefs assume: that noise without doubt
    where it says nothing.
    """
    data = page_data(graphs, package, candidates, package.noise if noise is None else noise, choice, curve, made)
    return filled("cabinet", data)


def training_of(path: Path) -> list[tuple[int, Mapping[str, float]]]:
    """Evaluations of the run whose folder, policy or archive `path` is; none where there is no run.

    Raises UserError for a damaged run.
    """
    folder = path if path.is_dir() else path.parent
    if not ((folder / CONFIG).is_file() and (folder / RECORD).is_file()):
        return []
    record = load_run(folder, GAME).record()
    return [] if record is None else [(each.steps, each.scores) for each in record.evaluated]


def page_data(
    graphs: Mapping[str, Graph],
    package: Package,
    candidates: np.ndarray,
    noise: float,
    choice: str,
    curve: Curve | None = None,
    made: Mapping[str, Made] | None = None,
) -> dict[str, object]:
    """What the page holds, ready for JSON: names, quantised margins, graphs, scores per candidate and noise level."""
    margin, missing = package.matrix.signed_margin()[candidates], package.matrix.missing_rate
    quantised, scale = quantise(margin)
    twin, differ = nearest(margin)
    levels = sorted({*NOISE_LEVELS, float(noise)})
    policies = []
    for name, graph in graphs.items():
        how = (made or {}).get(name, Made(noise, curve=curve))
        outcomes = [
            expected(graph, Assumed(level, curve if level == noise else None).p_yes(margin, missing), candidates)
            for level in levels
        ]
        at_noise = outcomes[levels.index(noise)]
        policies.append(
            {
                "name": name,
                "assumed": {
                    "noise": float(how.noise),
                    "doubt": float(how.doubt),
                    "curve": _points(doubted(how.noise, how.doubt, how.curve)),
                },
                "training": [{"steps": int(steps), "scores": dict(scores)} for steps, scores in how.training],
                "root": graph.root,
                "kind": _base64(graph.kind, "<u1"),
                "value": _base64(graph.value, "<i4"),
                "yes": _base64(graph.yes, "<i2"),
                "no": _base64(graph.no, "<i2"),
                "solved": _base64(at_noise.solved, "<f4"),
                "calls": _base64(at_noise.calls, "<f4"),
                "score": _base64(at_noise.score, "<f4"),
                "curve": [round(100 * float(outcome.score.mean()), 4) for outcome in outcomes],
                "measured": round(100 * float(walked(graph, Candidates(package, candidates)).score.mean()), 4),
            }
        )
    return {
        "package": package.path.name,
        "model": str(package.matrix.provenance.get("model", "")),
        "choice": choice,
        "animals": package.animals.names,
        "questions": package.questions.names,
        "candidates": candidates.tolist(),
        "margins": _base64(quantised, "<i2"),
        "scale": scale,
        "missing": _base64(missing, "<f8"),
        "budget": BUDGET,
        "cost": COST,
        "noise": float(noise),
        "source": package.noise_source(noise),
        "curve": _points(curve),
        "floor": FLOOR,
        "limit": {"calls": limit_calls(len(candidates)), "score": limit(len(candidates))},
        "levels": levels,
        "twin": _base64(twin, "<i4"),
        "differ": _base64(differ, "<u2"),
        "policies": policies,
    }


def quantise(margin: np.ndarray) -> tuple[np.ndarray, float]:
    """Margins as int16 multiples of a step, and that step: `margin` is near `steps * step`.

    No margin becomes 0, since the sign is the answer; a missing one is `MISSING`. The step is the largest margin / 32,767: at most
    0.0003 for margins to 10, far below any noise that matters.
    """
    known = np.nan_to_num(margin.astype(np.float64))
    step = float(np.abs(known).max()) / _QUANTA or 1.0
    steps = np.rint(known / step).astype(np.int16)
    steps = np.where(steps == 0, np.where(known > 0, 1, -1), steps)
    return np.where(np.isnan(margin), MISSING, steps).astype(np.int16), step


def nearest(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each row the other row that differs in the fewest answers (-1: there is none), and in how many.

    A missing answer (NaN) tells nobody apart.
    """
    animals, questions = margin.shape
    twin, fewest = np.full(animals, -1), np.full(animals, questions + 1, np.int64)
    if animals < 2:
        return twin, np.zeros(animals, np.int64)
    sign = np.sign(np.nan_to_num(margin)).astype(np.float32)
    known = np.abs(sign)
    whole = known.all()
    for start in range(0, animals, _ROWS):
        rows = np.arange(start, min(start + _ROWS, animals))
        both = questions if whole else known[rows] @ known.T
        differ = (both - sign[rows] @ sign.T) / 2  # whole numbers, exact in float32
        differ[np.arange(len(rows)), rows] = questions + 1
        twin[rows] = differ.argmin(axis=1)
        fewest[rows] = differ[np.arange(len(rows)), twin[rows]]
    return twin, fewest


def _points(curve: Curve | None) -> dict[str, list[float]] | None:
    return None if curve is None else {"margin": curve[0].tolist(), "flip": curve[1].tolist()}


def _base64(array: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(kind).tobytes()).decode()


def _name(path: Path, taken: Mapping[str, Graph]) -> str:
    """What a policy is called on the page: its run's folder, or its own name; a number tells equal ones apart."""
    resolved = path.resolve()
    name = (
        resolved.parent.name
        if resolved.name in ("policy.json", "submission.zip")
        else resolved.name
        if path.is_dir()
        else resolved.stem
    )
    number, wanted = 2, name or "policy"
    while (name or "policy") in taken:
        name, number = f"{wanted} {number}", number + 1
    return name or "policy"

"""Play in the terminal: the policy asks, a person answers for an animal in mind; at the end, what was believed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import Console, Group
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from env.cabinet.rules import BUDGET, round_score
from env.errors import UserError
from env.flags import NOISE, SHARE
from env.identification.belief import Likelihood, entropy, without
from env.identification.package import AnswerModel, Package
from env.identification.pools import Pool
from export.cabinet.graph import ASK, GUESS, STOP, Graph, read_graph
from export.cabinet.record import spoken, world_of

_VOWEL = re.compile(r"[aeiou]|hours?\b|honest|honou?r|heir|[fhlmnrsx](?![a-z])|8|11(?!\d)|18(?!\d)")
_CONSONANT = re.compile(r"uni([^nm]|$)|unau|u[st][aeiou]|ur[aeio]|ua|u(?![a-z])|eu|ewe?s?\b|one\b|once\b|oui")
"""The sound decides: a unicorn, a ewe, a one-humped camel; an hour, an x-ray tetra, an 8-spotted moth."""


@dataclass(frozen=True)
class Step:
    """One call of a round and its answer."""

    kind: int
    value: int
    """question_id of an ask, animal_id of a guess."""
    yes: bool
    known: bool = True
    """False where the person did not know: `yes` is then the edge that the belief expected, and nothing was learnt."""

    @property
    def said(self) -> str:
        """The answer in words."""
        return ("yes" if self.yes else "no") if self.known else "don't know"


def follow(graph: Graph, answers: Sequence[bool], unknown: Set[int] = frozenset()) -> tuple[list[Step], int]:
    """Steps of a round along `answers`, and the node that waits for the next one (-1: the round has ended).

    `unknown` are the places of answers that nobody knew, whose edge was only expected.
    """
    steps: list[Step] = []
    node = graph.root
    for call, yes in enumerate(answers):
        kind, value = int(graph.kind[node]), int(graph.value[node])
        steps.append(Step(kind, value, yes, call not in unknown))
        node = int(graph.yes[node] if yes else graph.no[node])
        if (kind == GUESS and yes) or len(steps) == BUDGET or node < 0 or graph.kind[node] == STOP:
            return steps, -1
    return steps, -1 if graph.kind[node] == STOP else node


def belief_after(likelihood: Likelihood, candidates: np.ndarray, steps: list[Step]) -> np.ndarray:
    """Posterior over `candidates` (int64 [n]) after `steps`, float64 [n]; an answer heard twice counts once."""
    belief = likelihood.prior(1)
    excluded = np.zeros(len(candidates), bool)
    heard: dict[int, bool] = {}
    for step in steps:
        if not step.known:
            continue
        if step.kind == GUESS:
            ruled_out = (candidates == step.value) != step.yes
            excluded |= ruled_out
            for place in np.flatnonzero(ruled_out):
                belief = without(belief, np.array([place]))
        elif step.value not in heard:
            heard[step.value] = step.yes
            belief = likelihood.updated(belief, np.array([step.value]), np.array([step.yes]))
    if belief.sum() == 0:
        asked, answers = np.array(list(heard), np.int64), np.array(list(heard.values()), bool)
        return likelihood.likeliest_by_margin(asked, answers, excluded)
    return belief[0]


def expected_answer(graph: Graph, node: int, belief: np.ndarray, likelihood: Likelihood) -> bool:
    """The answer that `belief` expects to the question at `node`; the other one where only behind it the graph ends."""
    ends_yes, ends_no = (_ends(graph, int(edge[node])) for edge in (graph.yes, graph.no))
    if ends_yes != ends_no:
        return ends_no
    return float(belief @ likelihood.p_yes[:, graph.value[node]]) > 0.5


def _ends(graph: Graph, node: int) -> bool:
    return node < 0 or int(graph.kind[node]) == STOP


def play(
    policy: Path,
    package: Path | None = None,
    candidates: str | None = None,
    noise: Annotated[float | None, NOISE] = None,
    doubt: Annotated[float | None, SHARE] = None,
    answer_model: AnswerModel | None = None,
) -> int:
    """Play against a policy in the terminal: think of an animal, answer y, n or d (don't know); u undoes, q leaves.

    "Don't know" spends the call and leaves the belief as it is; the policy goes on as if it had heard what it expects.

    What is not said by a flag is as the policy was made.

    Args:
        policy: Run folder, policy.json or submission archive.
        package: Folder of pools and matrix.
        candidates: Animals that the policy may believe in: hidden, dev, test1, all, or a file of animal names.
        noise: Standard deviation of a platform's margin difference that beliefs assume.
        doubt: Share of the answers that beliefs take to be noisier than that.
        answer_model: gaussian, measured (the package's flip curve), or auto.
    """
    hidden, assumed = world_of(policy, package, candidates, noise, doubt, answer_model)
    world, ids = hidden.package, hidden.ids
    graph = read_graph(policy, world.animals, world.questions)
    likelihood = Likelihood.from_margins(hidden.margin, assumed.noise, curve=assumed.reckoned, missing=hidden.missing)
    console = Console(highlight=False)
    console.print(
        f"Think of one of {len(ids)} animals. "
        "[bold]y[/] yes, [bold]n[/] no, [bold]d[/] don't know, [bold]u[/] undo, [bold]q[/] leave.\n"
    )
    console.print(spoken(hidden, assumed) + "\n", soft_wrap=True, style="dim")
    answers: list[bool] = []
    unknown: set[int] = set()
    while True:
        steps, node = follow(graph, answers, unknown)
        if node < 0:
            break
        belief = belief_after(likelihood, ids, steps)
        console.print(_question(world, graph, node, len(steps), belief))
        choices = ("y", "n", "d", "u", "q") if graph.kind[node] == ASK else ("y", "n", "u", "q")
        reply = _ask(console, f"{', '.join(choices[:-1])} or {choices[-1]}: ", choices)
        if reply == "q":
            return 0
        if reply == "u":
            answers = answers[:-1]
            unknown.discard(len(answers))
        elif reply == "d":
            unknown.add(len(answers))
            answers.append(expected_answer(graph, node, belief, likelihood))
        else:
            answers.append(reply == "y")
    console.print(_summary(world, ids, likelihood, steps))
    _parted(console, world, steps)
    return 0


def _question(package: Package, graph: Graph, node: int, calls: int, belief: np.ndarray) -> Group:
    kind, value = int(graph.kind[node]), int(graph.value[node])
    left = 2.0 ** float(entropy(belief[None])[0])
    share = np.log2(max(left, 1.0)) / np.log2(max(len(belief), 2))
    gauges = Table.grid(padding=(0, 2))
    gauges.add_row("calls used", ProgressBar(total=BUDGET, completed=calls, width=30), f"{calls} of {BUDGET}")
    gauges.add_row("animals left", ProgressBar(total=1.0, completed=share, width=30), f"about {left:.3g}")
    title = f"call {calls + 1}" + (", a guess" if kind == GUESS else "")
    return Group(
        Panel(Text(_words(package, kind, value), style="bold"), title=title, title_align="left", width=72), gauges
    )


def _summary(package: Package, candidates: np.ndarray, likelihood: Likelihood, steps: list[Step]) -> Group:
    solved = bool(steps) and steps[-1].kind == GUESS and steps[-1].yes
    table = Table(title="What it believed", title_justify="left")
    table.add_column("call", justify="right")
    table.add_column("question")
    table.add_column("answer")
    table.add_column("left", justify="right")
    table.add_column("likeliest then")
    for call in range(1, len(steps) + 1):
        step = steps[call - 1]
        belief = belief_after(likelihood, candidates, steps[:call])
        order = np.argsort(-belief, kind="stable")[:3]
        likeliest = ", ".join(f"{package.animals.names[candidates[at]]} {belief[at]:.1%}" for at in order if belief[at])
        left = 2.0 ** float(entropy(belief[None])[0])
        words = escape(_words(package, step.kind, step.value))
        table.add_row(str(call), words, step.said, f"{left:.3g}", escape(likeliest))
    score = round_score(solved, len(steps))
    verdict = "Found" if solved else "Not found: you win"
    return Group(Text(f"\n{verdict} after {len(steps)} calls, round score {score:.2f}.\n", style="bold"), table)


def _parted(console: Console, package: Package, steps: list[Step]) -> None:
    """Ask which animal it was, and show where the answers parted from the oracle's."""
    while name := _line(console, "I was thinking of (Enter to leave): ", at_end="").strip():
        try:
            animal = package.animals.find(name)
        except UserError as error:
            console.print(escape(str(error)))
        else:
            matrix = package.matrix
            name = escape(package.animals.names[animal])
            asks = [step for step in steps if step.kind == ASK and step.known]
            measured = [step for step in asks if matrix.measured[animal, step.value]]
            if not measured:
                console.print(f"Nothing is known about {name} that was asked and answered.")
                return
            if len(measured) < len(asks):
                console.print(f"{len(asks) - len(measured)} of the {len(asks)} questions have no answer for {name}.")
            asks = measured
            parted = [step for step in asks if bool(matrix.answer[animal, step.value]) != step.yes]
            console.print(f"The oracle would have answered {len(parted)} of {len(asks)} questions otherwise.")
            for step in parted:
                margin = float(matrix.margin[animal, step.value])
                yours, other = ("yes", "no") if step.yes else ("no", "yes")
                words = escape(_words(package, step.kind, step.value))
                console.print(f"  {words} you {yours}, the oracle {other} (margin {margin:+.2f})")
            return


def article(name: str) -> str:
    """ "a" or "an", by how English says the name; the page says the same."""
    letters = "".join(c for c in unicodedata.normalize("NFKD", name) if not "\u0300" <= c <= "\u036f").lower()
    heard = letters.lstrip(
        "".join(
            {c for c in letters if c.isspace() or unicodedata.category(c)[0] == "P" or unicodedata.category(c) == "Cf"}
        )
    )
    return "an" if _VOWEL.match(heard) and not _CONSONANT.match(heard) else "a"


def _words(package: Package, kind: int, value: int) -> str:
    pool: Pool = package.animals if kind == GUESS else package.questions
    name = pool.names[value]
    if kind == GUESS:
        return f"Is it {article(name)} {name}?"
    return name[0].upper() + name[1:]


def _ask(console: Console, prompt: str, choices: tuple[str, ...]) -> str:
    while True:
        reply = _line(console, prompt).strip().lower()[:1]
        if reply in choices:
            return reply


def _line(console: Console, prompt: str, at_end: str | None = None) -> str:
    """One line of the terminal; `at_end` stands for it where the input has ended, which else is a UserError."""
    try:
        return console.input(prompt, markup=False)
    except EOFError:
        if at_end is not None:
            return at_end
        raise UserError("the answers ended before the round did; answer y or n to each call, q leaves") from None

"""Many devices measure one matrix: Ray runs a worker for each, this process hands out groups of rows and keeps what comes."""

from __future__ import annotations

import datetime
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import TaskID

from env.cluster import LOOK_SECONDS, Node, joined, last_words, nodes
from env.errors import UserError, first_line
from env.oracle.engine import Meter, Numerics, grouped, lacking, metered, open_oracle
from env.oracle.journal import Journal, Row, Wanted
from env.oracle.model import Source, find_source, load_tokenizer
from env.oracle.prompt import ChatPrompts

CHECK_ROWS = 3
"""Rows that every worker measures first, so that a device with numbers of its own is found out."""

AHEAD = 2
"""Groups that a worker has at a time: the next one is tokenised and packed while the model runs."""

TRIES = 3
"""Times that a worker may end before its first row, and that a group may end its worker, before that is given up."""

EXTRAS = "oracle,scale"
"""What must be installed on every node."""

PATIENCE_SECONDS = 30.0
"""After this time without any worker it is said what is waited for."""


@dataclass(frozen=True)
class Request:
    """What a worker must know to be the oracle."""

    model: str
    revision: str | None
    gguf: Path | None
    gpus: int
    identity: str
    """The driver's `Source.revision`: a worker with another model is refused."""
    prompt: str
    prompt_sha256: str
    date: datetime.date | None
    template: str
    questions: tuple[str, ...]


@dataclass(frozen=True)
class Settled:
    """What the first worker found out about the model, and all then go by: others would form other groups."""

    shared: bool
    obstacle: str
    pass_tokens: int
    pack_tokens: int
    side_by_side: int


class Worker:
    """One device, with the model on it; a process of its own, started by Ray."""

    def __init__(self, request: Request, threads: int | None):
        """`threads` is for PyTorch on a CPU; None leaves it alone."""
        self.request, self.threads = request, threads
        self._lock = threading.Lock()
        self._numerics: Numerics | None = None
        self._oracle: Any = None

    def load(self, numerics: Numerics) -> str:
        """Load the model and say what runs it; raises UserError where the model is missing or another one."""
        import torch

        with self._lock:
            oracle = self._open(numerics)
        if oracle.device.type != "cuda":
            return f"{socket.gethostname()}, {torch.get_num_threads()} thread(s)"
        return f"{socket.gethostname()}, {torch.cuda.get_device_name(oracle.device)}"

    def settle(self, numerics: Numerics, chosen: Sequence[Wanted]) -> Settled:
        """Find out whether prompts share their tokens, and how many rows go through together."""
        with self._lock:
            oracle = self._open(numerics)
            oracle.settle(chosen, self.request.questions)
            size = oracle.side_by_side(chosen[0], self.request.questions)
            return Settled(oracle.shared, oracle.obstacle, oracle.pass_tokens, oracle.pack_tokens, size)

    def measure(self, numerics: Numerics, settled: Settled, groups: Sequence[Sequence[Wanted]]) -> list[Row]:
        """Rows of `groups`, see `Oracle.measure`."""
        with self._lock:
            oracle = self._open(numerics)
            if oracle.shared is None:
                oracle.shared, oracle.obstacle = settled.shared, settled.obstacle
                oracle.pass_tokens, oracle.pack_tokens = settled.pass_tokens, settled.pack_tokens
        # Outside of the lock: this goes on while another call has the device.
        planned = [oracle.plan(group, self.request.questions) for group in groups]
        with self._lock:
            self._limit_threads()
            return [
                row
                for group, plan in zip(groups, planned, strict=True)
                for row in oracle.measure(group, plan, self.request.questions)
            ]

    def _open(self, numerics: Numerics) -> Any:
        self._limit_threads()
        if self._numerics != numerics:
            self._oracle = None  # before the next one needs its memory
            asked = self.request
            gpus = asked.gpus if numerics.device == "cuda" else 1
            source = find_source(asked.model, asked.revision, asked.gguf, numerics.dtype, numerics.device, gpus)
            if source.revision != asked.identity:
                raise UserError(f"{source.place} holds another model here ({source.revision})")
            prompts = ChatPrompts(load_tokenizer(source), asked.prompt, asked.date, asked.template)
            if prompts.sha256 != asked.prompt_sha256:
                raise UserError(f"{source.name} renders another prompt here; install the same transformers everywhere")
            self._oracle, self._numerics = open_oracle(source, prompts, numerics), numerics
        return self._oracle

    def _limit_threads(self) -> None:
        import torch

        # Every thread of the process has a limit of its own, and calls come in on several.
        if self.threads is not None:
            torch.set_num_threads(self.threads)


@dataclass(frozen=True)
class _Slot:
    """Where a worker may run."""

    number: int
    node: Node
    resources: dict[str, float]
    threads: int | None


@dataclass
class _Hand:
    """A worker as the driver sees it."""

    slot: _Slot
    actor: Any
    ends: int = 0
    """Times that this slot's worker ended since its last row."""
    place: str = ""
    """Host and device, once the model is loaded."""
    ready: float = 0.0
    """When it got its first rows, by the monotonic clock."""
    rows: int = 0
    pairs: int = 0
    task: TaskID | None = None

    def __str__(self) -> str:
        return f"worker {self.slot.number} ({self.place or self.slot.node.address})"


@dataclass
class Cluster:
    """The devices of a connected Ray cluster; see `connected`."""

    device: str
    """cuda or cpu, for all workers."""
    workers: int
    """Workers on a node, where they run on a CPU."""
    gpus: int
    """GPUs that a worker spreads its model over."""
    console: Console
    seconds: float = 0.0
    """Time of the last `fill` from the first row handed out to the last one kept."""
    _hands: list[_Hand] = field(default_factory=list)
    _nodes: set[str] = field(default_factory=set)
    _request: Request | None = None
    _compared: Numerics | None = None

    def source(self, model: str, revision: str | None, gguf: Path | None, dtype: str) -> Source:
        """The model as this machine sees it, for the devices of the cluster."""
        if dtype == "auto":
            dtype = "bfloat16" if self.device == "cuda" else "float32"
        # This machine may have no GPU: it reads the tokenizer and the digest, and runs nothing.
        source = find_source(model, revision, gguf, dtype, "cpu")
        return replace(source, device=self.device, gpus=self.gpus)

    def asking(
        self, source: Source, revision: str | None, gguf: Path | None, prompts: ChatPrompts, template: str,
        questions: Sequence[str],
    ) -> Cluster:  # fmt: skip
        """This cluster as an engine that asks `questions` with `prompts`."""
        local = source.options.get("local_files_only", False)
        place = str(Path(source.place).resolve()) if local else source.place
        self._request = Request(
            place, revision, gguf and gguf.resolve(), self.gpus, source.revision, prompts.prompt, prompts.sha256,
            prompts.date, template, tuple(questions),
        )  # fmt: skip
        return self

    def fill(self, numerics: Numerics, chosen: Sequence[Wanted], measured: np.ndarray, journal: Journal) -> None:
        """See `Engine`; rows are kept in the order in which they come."""
        total = lacking(chosen, measured)
        for hand in self._hands:
            hand.rows = hand.pairs = 0
            hand.task = None
        with metered(self.console, journal, measured, total) as meter:
            _Filling(self, numerics, chosen, measured, meter, total).run()
            self.seconds = meter.seconds
        if self._compared == numerics:
            for hand in self._hands:
                rate = hand.pairs / max(time.monotonic() - hand.ready, 1e-9)
                self.console.print(f"  {hand}: {hand.rows} rows, {rate:.1f} pairs/s", highlight=False)

    def enlist(self) -> list[_Hand]:
        """Start a worker for every device of nodes that were not there before."""
        fresh: list[_Hand] = []
        for node in nodes():
            if node.key in self._nodes:
                continue
            self._nodes.add(node.key)
            threads = None
            if self.device == "cuda":
                count, resources = node.gpus // self.gpus, {"num_gpus": float(self.gpus), "num_cpus": 0}
            else:
                count = min(self.workers, node.cores)
                threads = node.cores // count if count else None
                resources = {"num_cpus": float(threads or 0)}
            for _ in range(count):
                number = len(self._hands) + len(fresh) + 1
                slot = _Slot(number, node, resources, threads)
                fresh.append(_Hand(slot, self._start(slot)))
        self._hands += fresh
        if not self._hands:
            lacks = f"no node with {self.gpus} GPU(s)" if self.device == "cuda" else "no node with a free core"
            raise UserError(f"--ray: the cluster has {lacks}; add one, or choose another --device")
        return fresh

    def replace(self, hand: _Hand) -> bool:
        """Start another worker in the place of one that ended; False where its node is gone."""
        if not any(node.key == hand.slot.node.key for node in nodes()):
            return False
        hand.actor, hand.place = self._start(hand.slot), ""
        return True

    def compares(self, numerics: Numerics) -> bool:
        """Whether workers are compared: in the numerics of the table, the first that are asked for."""
        self._compared = self._compared or numerics
        return self._compared == numerics

    def leave_out(self, hand: _Hand) -> None:
        """Do without a worker from now on."""
        self._hands.remove(hand)

    def dismiss(self) -> None:
        """End all workers, whatever they do."""
        import ray

        for hand in self._hands:
            ray.kill(hand.actor)
        self._hands.clear()

    @property
    def hands(self) -> list[_Hand]:
        """Workers that may still do something."""
        return list(self._hands)

    def _start(self, slot: _Slot) -> Any:
        import ray

        options = {**slot.resources, "max_concurrency": AHEAD, "scheduling_strategy": slot.node.pinned}
        return ray.remote(Worker).options(**options).remote(self._request, slot.threads)


@dataclass
class _Job:
    """A call that a worker has not answered yet."""

    hand: _Hand
    kind: str
    """load, settle, check or work."""
    groups: list[list[Wanted]] = field(default_factory=list)


class _Filling:
    """One measurement on a cluster, from the first worker's start to the last row."""

    def __init__(
        self, cluster: Cluster, numerics: Numerics, chosen: Sequence[Wanted], measured: np.ndarray, meter: Meter,
        total: int,
    ) -> None:  # fmt: skip
        self.cluster, self.numerics, self.chosen, self.measured = cluster, numerics, chosen, measured
        self.meter, self.total = meter, total
        self.jobs: dict[Any, _Job] = {}
        self.settled: Settled | None = None
        self.queue: deque[list[Wanted]] = deque()
        self.check: list[list[Wanted]] = []
        self.due: set[_Shape] = set()
        """Groups that `check` stands for."""
        self.reference: tuple[_Hand, list[Row]] | None = None
        self.ended: Counter[int] = Counter()
        """Workers that ended with a group, by its first animal."""
        self.last_words = ""

    def run(self) -> None:
        """Until nothing is missing; raises UserError when no worker is left, or the model itself cannot be asked."""
        import ray

        self.cluster.enlist()
        for hand in self.cluster.hands:
            self._call(hand, "load", hand.actor.load.remote(self.numerics))
        begun, told, looked = time.monotonic(), False, time.monotonic()
        while self.settled is None or self.queue or self.due or any(job.kind == "work" for job in self.jobs.values()):
            if not self.cluster.hands:
                raise UserError(
                    f"no worker is left; {len(self.meter.journal.rows)} finished rows are safe, run the same command "
                    f"again once that is mended: {self.last_words}"
                )
            done, _ = ray.wait(list(self.jobs), num_returns=1, timeout=1.0)
            for answered in done:
                self._take(answered)
            now = time.monotonic()
            if not told and now - begun > PATIENCE_SECONDS and not any(hand.place for hand in self.cluster.hands):
                self._say("waiting for the first worker: it loads the model, or others have the cluster's devices")
                told = True
            if now - looked > LOOK_SECONDS:
                looked = now
                for hand in self.cluster.enlist():
                    self._say(f"{hand} joins")
                    self._call(hand, "load", hand.actor.load.remote(self.numerics))

    def _call(self, hand: _Hand, kind: str, answer: Any, groups: Sequence[list[Wanted]] = ()) -> None:
        self.jobs[answer] = _Job(hand, kind, list(groups))

    def _say(self, line: str) -> None:
        self.meter.progress.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _take(self, answered: Any) -> None:
        """Go on with what a worker has answered, or without the worker."""
        import ray

        # Its worker may have ended since, and the call with it.
        job = self.jobs.pop(answered, None)
        if job is None:
            return
        try:
            result = ray.get(answered)
        except ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, UserError) and job.kind != "load":
                raise UserError(str(cause)) from None
            self._without(
                job, first_line(cause if isinstance(cause, Exception) else error), isinstance(cause, UserError)
            )
            return
        except ray.exceptions.RayError as error:
            self._without(job, last_words(error, EXTRAS), "ModuleNotFoundError" in str(error))
            return
        match job.kind:
            case "load":
                job.hand.place = result
                self._settle_or_start(job.hand)
            case "settle":
                self._settle(result)
            case "check":
                self._compare(job.hand, result)
                self._feed(job.hand)
            case "work":
                self._keep(job.hand, result)
                self._feed(job.hand)

    def _settle_or_start(self, hand: _Hand) -> None:
        if self.settled is not None:
            self._start(hand)
        elif not any(job.kind == "settle" for job in self.jobs.values()):
            self._call(hand, "settle", hand.actor.settle.remote(self.numerics, self.chosen))

    def _settle(self, settled: Settled) -> None:
        self.settled = settled
        self.meter.start()
        if settled.obstacle:
            self._say(f"one prompt at a time, which is slower: {settled.obstacle}")
        self.queue.extend(grouped(self.chosen, self.measured, settled.side_by_side))
        if self.cluster.compares(self.numerics):
            self.check = grouped(self.chosen[:CHECK_ROWS], np.zeros_like(self.measured), settled.side_by_side)
            # A row a group, they are the very ones that are due first: whoever measures them first, that counts.
            self.due = set(map(_shape, self.check)) & set(map(_shape, self.queue))
            self.queue = deque(group for group in self.queue if _shape(group) not in self.due)
        for hand in self.cluster.hands:
            if hand.place:
                self._start(hand)

    def _start(self, hand: _Hand) -> None:
        """The first rows of a worker are those that all measure."""
        hand.ready = time.monotonic()
        if self.check:
            answer = hand.actor.measure.remote(self.numerics, self.settled, self.check)
            self._call(hand, "check", answer)
        self._feed(hand)

    def _feed(self, hand: _Hand) -> None:
        while self.queue and sum(job.hand is hand for job in self.jobs.values()) < AHEAD:
            group = self.queue.popleft()
            self._call(hand, "work", hand.actor.measure.remote(self.numerics, self.settled, [group]), [group])

    def _keep(self, hand: _Hand, rows: list[Row]) -> None:
        hand.ends = 0
        for row in rows:
            new = self.meter.take(row)
            hand.rows += bool(new)
            hand.pairs += new
        if hand.task is None:
            hand.task = self.meter.progress.add_task(f"  {hand}", total=self.total, rate=0.0, near="")
        rate = hand.pairs / max(time.monotonic() - hand.ready, 1e-9)
        self.meter.progress.update(hand.task, completed=hand.pairs, rate=rate)

    def _compare(self, hand: _Hand, rows: list[Row]) -> None:
        """Keep the first worker's rows where they are wanted; say where another one's differ from them."""
        if self.reference is None:
            self.reference = hand, rows
            due, self.due = self.due, set()
            self._keep(hand, [row for row in rows if any((row.animal_id, row.margin.size) in shape for shape in due)])
            return
        first, wanted = self.reference
        pairs = sum(row.margin.size for row in rows)
        gaps = [np.abs(a.margin - b.margin) for a, b in zip(wanted, rows, strict=True)]
        differ = sum(int((gap > 0).sum()) for gap in gaps)
        if differ:
            flips = sum(int((a.answer != b.answer).sum()) for a, b in zip(wanted, rows, strict=True))
            self._say(
                f"{hand} gives other numbers than {first}: {differ} of {pairs} margins differ, by "
                f"{max(float(gap.max()) for gap in gaps):.2g} at most, {flips} answers flip; the table holds both"
            )

    def _without(self, job: _Job, why: str, for_good: bool) -> None:
        """Put back what a worker had that ended or failed, and start another in its place."""
        import ray

        hand = job.hand
        ray.kill(hand.actor)
        theirs = [answer for answer, other in self.jobs.items() if other.hand is hand]
        groups = job.groups + [group for answer in theirs for group in self.jobs.pop(answer).groups]
        self.queue.extendleft(reversed(groups))
        self.last_words = f"{hand}: {why}"
        hand.ends += 1
        # What was in work may be to blame: the first of them is what the device had.
        if groups:
            self.ended[groups[0][0][0]] += 1
            if self.ended[groups[0][0][0]] >= TRIES:
                raise UserError(
                    f"{TRIES} workers ended on {groups[0][0][1]!r}, the last with: {why}; "
                    f"{len(self.meter.journal.rows)} finished rows are safe"
                )
        if for_good or hand.ends >= TRIES or not self.cluster.replace(hand):
            self.cluster.leave_out(hand)
            self._say(f"{self.last_words}; goes on without it")
        else:
            self._say(f"{self.last_words}; its rows go to others, and another one starts")
            self._call(hand, "load", hand.actor.load.remote(self.numerics))
        if self.settled is None:
            for other in self.cluster.hands:
                if other.place:
                    self._settle_or_start(other)
                    break


_Shape = tuple[tuple[int, int], ...]
"""What tells groups of one measurement apart: animal_id and number of questions of each row."""


def _shape(group: Sequence[Wanted]) -> _Shape:
    return tuple((animal_id, ids.size) for animal_id, _, ids in group)


@contextmanager
def connected(address: str | None, device: str, workers: int, gpus: int, console: Console) -> Iterator[Cluster]:
    """The cluster at `address` (None: Ray's own choice, which is a new one on this machine where none runs).

    `device` is auto, cpu or cuda, `workers` and `gpus` as in `Cluster`. Raises UserError where Ray is not installed, nobody
    answers, or a choice is unusable.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise UserError(f"--device {device!r}: with --ray every device of a kind takes part; choose auto, cpu or cuda")
    with joined(address, EXTRAS):
        import ray

        if device == "auto":
            device = "cuda" if ray.cluster_resources().get("GPU", 0) >= gpus else "cpu"
        cluster = Cluster(device, workers, gpus, console)
        try:
            yield cluster
        finally:
            cluster.dismiss()

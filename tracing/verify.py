"""`wilkins tracing verify`: runs a submission against the contract, a control beside it, and tells gates, C and reward."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Literal

from rich.console import Console
from rich.table import Table

from env.errors import UserError
from env.files import read_bytes
from env.flags import SEED
from tracing.build import ROOT, SCHEMA_VERSION
from tracing.formats import MAX_RETURNED, Query, query_text, read_output, read_queries, read_records

PREPARE_SECONDS, QUERY_SECONDS = 1800.0, 10.0
REPETITIONS = 3
MEAN_GATE, GROUP_GATE = 0.98, 0.80
GIBIBYTE = 1 << 30
CHANGED_QUERIES = 3
"""Queries that are asked again under another's id."""

INFRASTRUCTURE = 3
"""Exit code where the control failed, which says nothing about the submission."""

Control = Literal["bm25", "hidden"]


class InfrastructureError(Exception):
    """The control failed: not a score."""


@dataclass
class Outcome:
    """One process: seconds, peak resident bytes, and why it does not count ("" where it does)."""

    seconds: float
    resident: int
    fault: str


@dataclass
class Verdict:
    """What a verification found; `faults` end everything, `notes` do not."""

    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    precision: list[dict[str, float]] = field(default_factory=list)
    """A repetition each: group -> mean P@10."""

    seconds: float = 0.0
    control_seconds: float = 0.0
    prepare_seconds: float = 0.0
    index_bytes: int = 0
    resident: int = 0
    gpu: int = GIBIBYTE
    control_gpu: int = GIBIBYTE
    control_precision: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether every gate holds in every repetition."""
        return not self.faults and all(
            fmean(groups.values()) >= MEAN_GATE and min(groups.values()) >= GROUP_GATE for groups in self.precision
        )

    @property
    def cost(self) -> float:
        """C: time and memory, each against the control's."""
        return self.seconds / self.control_seconds * (self.gpu / self.control_gpu)

    @property
    def reward(self) -> float:
        """The published formula; 0 where a gate does not hold."""
        if not self.passed:
            return 0.0
        return 0.2 + 0.8 * min(1.0, max(0.0, math.log(self.cost / 0.9) / math.log(0.5 / 0.9)))


def verify(
    submission: Path,
    data: Path = Path("data"),
    queries: Path | None = None,
    model: Path | None = None,
    control: tuple[Control, ...] = ("bm25",),
    seed: Annotated[int, SEED] = 0,
) -> int:
    """Run a submission as the contract says and print gates, C and reward; 0 where the gates hold, 1 where not.

    Args:
        submission: Folder with prepare.sh, run.sh and submission.json.
        data: Folder with train.jsonl, and losses.npz where it is.
        queries: Errors with group and modified ids, one a line. Default: public_errors.jsonl of the data folder.
        model: Folder with tokenizer.json. Default: models/base beside the data folder.
        control: What C is measured against, each in turn.
        seed: Seed of the orders.
    """
    model = model or data.parent / "models" / "base"
    errors = read_queries(str(queries or data / "public_errors.jsonl"))
    console = Console()
    code = 0
    for kind in control:
        try:
            verdict = run(submission, data, model, errors, kind, seed)
        except InfrastructureError as error:
            print(f"infrastructure error, no score: {error}", file=sys.stderr)
            return INFRASTRUCTURE
        report(verdict, kind, console)
        code = max(code, 0 if verdict.passed else 1)
    return code


def run(submission: Path, data: Path, model: Path, queries: list[Query], kind: str = "bm25", seed: int = 0) -> Verdict:
    """Prepare control and submission, ask each query three times in shuffled orders, control and submission in turn."""
    if not queries:
        raise UserError("there are no queries to verify with")
    for query in queries:
        if not query.group or not query.modified:
            raise UserError(f"query {query.query_id[:80]!r} has no group or no modified ids; verification needs both")
    verdict = Verdict(faults=check_artifacts(submission))
    if verdict.faults:
        return verdict
    known = {record.id for record in read_records(str(data / "train.jsonl"))}
    with tempfile.TemporaryDirectory(prefix="wilkins-verify-") as temporary:
        work = Path(temporary)
        _Bench(submission.resolve(), data.resolve(), model.resolve(), kind, work, verdict, known).all(queries, seed)
    return verdict


def check_artifacts(submission: Path) -> list[str]:
    """What is wrong with submission.json or the files it lists; empty where nothing is."""
    path = submission / "submission.json"
    try:
        about = json.loads(read_bytes(path, "the submission's description").decode("utf-8"))
    except (ValueError, RecursionError):
        return [f"{path} is not JSON"]
    if not isinstance(about, dict) or about.get("schema_version") != SCHEMA_VERSION:
        return [f"{path}: schema_version must be {SCHEMA_VERSION}"]
    if not isinstance(about.get("method"), str) or not isinstance(about.get("configuration"), dict):
        return [f"{path}: method (text) and configuration (object) are needed"]
    artifacts = about.get("artifacts")
    if not isinstance(artifacts, list):
        return [f"{path}: artifacts must be an array"]
    faults, listed = [], set()
    for artifact in artifacts:
        fields = [
            artifact.get(key) if isinstance(artifact, dict) else None for key in ("path", "sha256", "generated_by")
        ]
        if not all(isinstance(value, str) and value for value in fields):
            return [f"{path}: each artifact needs path, sha256 and generated_by"]
        name, digest, _ = fields
        file = submission / str(name)
        if not file.resolve().is_relative_to(submission.resolve()) or not file.is_file():
            faults.append(f"artifact {str(name)[:80]!r} is not a file of the submission")
        elif hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            faults.append(f"artifact {str(name)[:80]!r} has another sha256 than submission.json says")
        listed.add(str(name))
    found = sorted(_tree(submission))
    faults += [f"file {n[:80]!r} is not listed among the artifacts" for n in found if n not in {*listed, path.name}]
    scripts = ("prepare.sh", "run.sh")
    faults += [f"{n} is missing or not executable" for n in scripts if not os.access(submission / n, os.X_OK)]
    return faults


class _Bench:
    """The processes of one verification and the folders that they may touch."""

    def __init__(
        self, submission: Path, data: Path, model: Path, kind: str, work: Path, verdict: Verdict, known: set[str]
    ) -> None:
        self.submission, self.data, self.model, self.kind = submission, data, model, kind
        self.work, self.verdict, self.known = work, verdict, known
        self.index, self.control_index, self.scratch = work / "index", work / "control", work / "scratch"
        for folder in (self.scratch, work / "home", work / "queries", work / "outputs"):
            folder.mkdir()
        self.environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
        self.environment |= {"HOME": str(work / "home"), "TMPDIR": str(self.scratch)}
        if "PYTHON" in os.environ or shutil.which("python3") is None:
            self.environment["PYTHON"] = os.environ.get("PYTHON", sys.executable)
        self.environment.setdefault("PYTHON", sys.executable)
        self.serial = 0

    def all(self, queries: list[Query], seed: int) -> None:
        """The whole verification, in the order of the contract."""
        verdict = self.verdict
        with _GpuSampler() as gpu:
            outcome = self._process(self._control("prepare", self.data, self.model, self.control_index), 3600.0)
        verdict.control_gpu = gpu.peak
        if outcome.fault:
            raise InfrastructureError(f"the control's preparation: {outcome.fault}")
        before = _tree(self.submission) | {f"data: {k}": v for k, v in _tree(self.data).items()}
        flags = ["--data-dir", self.data, "--model-dir", self.model, "--index-dir", self.index]
        with _GpuSampler() as gpu:
            outcome = self._process([self.submission / "prepare.sh", *flags], PREPARE_SECONDS)
        verdict.gpu, verdict.prepare_seconds = gpu.peak, outcome.seconds
        if outcome.fault:
            verdict.faults.append(f"preparation failed: {outcome.fault}")
            return
        verdict.index_bytes = sum(path.stat().st_size for path in self.index.rglob("*") if path.is_file())
        prepared = _tree(self.index)
        answers, times, control_times, right = self._repetitions(queries, seed)
        self._check_memory(queries, answers)
        after = _tree(self.submission) | {f"data: {k}": v for k, v in _tree(self.data).items()}
        strays = [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
        strays += [f"{folder.name}: {name}" for folder in (self.scratch, self.work / "home") for name in _tree(folder)]
        if strays:
            verdict.faults.append(f"state outside the index folder: {', '.join(strays[:3])}")
        if _tree(self.index) != prepared:
            verdict.notes.append("the index folder changed while queries were answered")
        by_group: dict[str, list[str]] = defaultdict(list)
        for query in queries:
            by_group[query.group].append(query.query_id)
        verdict.seconds = fmean(fmean(median(times[q]) for q in group) for group in by_group.values())
        verdict.control_seconds = fmean(fmean(median(control_times[q]) for q in group) for group in by_group.values())
        verdict.control_precision = fmean(fmean(right[q] for q in group) for group in by_group.values())

    def _repetitions(
        self, queries: list[Query], seed: int
    ) -> tuple[dict[str, list[str]], dict[str, list[float]], dict[str, list[float]], dict[str, float]]:
        verdict = self.verdict
        answers: dict[str, list[str]] = {}
        times: dict[str, list[float]] = defaultdict(list)
        control_times: dict[str, list[float]] = defaultdict(list)
        right: dict[str, float] = {}
        faults: dict[str, int] = defaultdict(int)
        for repetition in range(REPETITIONS):
            order = list(queries)
            random.Random(f"{seed} {repetition}").shuffle(order)
            scores: dict[str, list[float]] = defaultdict(list)
            for number, query in enumerate(order):
                for who in ("control", "submission") if number % 2 else ("submission", "control"):
                    ids, outcome = self._ask(query, who)
                    if who == "control":
                        if ids is None:
                            raise InfrastructureError(f"the control, query {query.query_id}: {outcome.fault}")
                        control_times[query.query_id].append(outcome.seconds)
                        right[query.query_id] = len(set(ids) & set(query.modified)) / MAX_RETURNED
                        continue
                    times[query.query_id].append(outcome.seconds)
                    verdict.resident = max(verdict.resident, outcome.resident)
                    if ids is None:
                        faults[outcome.fault] += 1
                    scores[query.group].append(len(set(ids or ()) & set(query.modified)) / MAX_RETURNED)
                    if answers.setdefault(query.query_id, ids or []) != (ids or []):
                        verdict.notes.append(
                            f"query {query.query_id} was answered differently in repetition {repetition + 1}"
                        )
            verdict.precision.append({group: fmean(values) for group, values in sorted(scores.items())})
        verdict.notes += [f"{count} answers count zero: {fault}" for fault, count in sorted(faults.items())]
        return answers, times, control_times, right

    def _check_memory(self, queries: list[Query], answers: dict[str, list[str]]) -> None:
        """Ask one query's content under another's id: the answer must be the content's."""
        pairs = [
            (a, b)
            for a, b in zip(queries, reversed(queries), strict=True)
            if answers[a.query_id] != answers[b.query_id]
        ]
        for named, content in pairs[:CHANGED_QUERIES]:
            ids, outcome = self._ask(content._replace(query_id=named.query_id), "submission")
            if ids is not None and ids == answers[named.query_id]:
                self.verdict.faults.append(
                    f"query {named.query_id}, changed, got its earlier answer: answers come from memory"
                )
            elif ids is None and answers[content.query_id]:
                self.verdict.notes.append(f"query {named.query_id}, changed: {outcome.fault}")
            elif ids != answers[content.query_id]:
                self.verdict.notes.append(
                    f"query {named.query_id}: the answer depends on the query's id or on earlier queries"
                )

    def _ask(self, query: Query, who: str) -> tuple[list[str] | None, Outcome]:
        """One fresh process; None for ids where the answer counts zero."""
        self.serial += 1
        query_path = self.work / "queries" / f"{self.serial}.json"
        output = self.work / "outputs" / f"{self.serial}.json"
        query_path.write_text(query_text(query), encoding="utf-8")
        if who == "control":
            command = self._control("answer", self.model, self.control_index, query_path, output)
            outcome = self._process(command, 120.0)
        else:
            flags = ["--index-dir", self.index, "--query", query_path, "--output", output, "--top-k", MAX_RETURNED]
            outcome = self._process([self.submission / "run.sh", *flags], QUERY_SECONDS)
        ids = None
        if not outcome.fault:
            try:
                ids = read_output(read_bytes(output, "the output"), query.query_id)
                unknown = [item for item in ids if item not in self.known]
                if unknown:
                    ids, outcome.fault = None, "an id that no training record has"
            except UserError as error:
                outcome.fault = str(error).replace(str(output), "OUTPUT").replace(query.query_id, "ID")
        query_path.unlink(missing_ok=True)
        output.unlink(missing_ok=True)
        return ids, outcome

    def _control(self, verb: str, *paths: Path) -> list[object]:
        return [sys.executable, "-m", "tracing.control", verb, self.kind, *paths]

    def _process(self, command: list[object], limit: float) -> Outcome:
        """Run to the end or to the limit, in a group of its own that is ended whole."""
        environment = dict(self.environment)
        if command[0] == sys.executable:
            environment["PYTHONPATH"] = str(ROOT)
        folder = self.work / "cwd"
        folder.mkdir(exist_ok=True)
        reading, writing = os.pipe()
        with tempfile.TemporaryFile() as errors, open(reading, encoding="utf-8") as report:
            began = time.perf_counter()
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(writing), *(str(word) for word in command)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=environment,
                cwd=folder,
                start_new_session=True,
                pass_fds=(writing,),
            )
            os.close(writing)
            timer = threading.Timer(limit, _end, (process.pid,))
            timer.start()
            process.wait()
            waited = time.perf_counter() - began
            timer.cancel()
            _end(process.pid)
            told = report.read().split(maxsplit=2)
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace").strip().splitlines()
        if told and told[0] == "refused":
            return Outcome(0.0, 0, f"cannot start {command[0]}: {told[2]}")
        seconds, code, resident = (float(told[0]), int(told[1]), int(told[2])) if told else (waited, -1, 0)
        strays = _tree(folder)
        fault = ""
        if seconds >= limit:
            fault = f"later than {limit:.0f} s"
        elif code:
            fault = f"exit code {code}: {said[-1][:200] if said else 'nothing said'}"
        elif strays:
            fault = f"state outside the index folder: {sorted(strays)[0]}"
        shutil.rmtree(folder, ignore_errors=True)
        return Outcome(seconds, resident * 1024, fault)


class _GpuSampler:
    """Peak GPU memory in use while it is open, by nvidia-smi where that is; never less than 1 GiB."""

    def __init__(self) -> None:
        self.peak = GIBIBYTE
        self.stop = threading.Event()
        self.thread: threading.Thread | None = None

    def __enter__(self) -> _GpuSampler:
        if shutil.which("nvidia-smi"):
            self.thread = threading.Thread(target=self._sample, daemon=True)
            self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        if self.thread is not None:
            self.thread.join(5.0)

    def _sample(self) -> None:
        command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        while not self.stop.wait(0.1):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            values = [int(line) for line in done.stdout.split() if line.isdigit()]
            self.peak = max([self.peak, *(value << 20 for value in values)])


_LAUNCHER = """
import os, sys, time
report, command = int(sys.argv[1]), sys.argv[2:]
os.set_inheritable(report, False)
began = time.perf_counter()
try:
    child = os.posix_spawnp(command[0], command, os.environ)
except OSError as error:
    os.write(report, f"refused - {error.strerror or error}".encode())
    sys.exit()
_, status, usage = os.wait4(child, 0)
took = time.perf_counter() - began
os.write(report, f"{took} {os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}".encode())
"""
"""Starts a command and tells seconds, exit code and peak resident KiB.

A process is charged with the memory of the one that started it, so a small one does, not the verifier.
"""


def _end(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Files below a folder: name -> (size, time of change)."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() or path.is_symlink()
    }


def report(verdict: Verdict, kind: str, console: Console) -> None:
    """Print what was found."""
    for fault in verdict.faults:
        console.print(f"refused: {fault}", style="red", markup=False, highlight=False)
    for note in verdict.notes:
        console.print(f"note: {note}", markup=False, highlight=False)
    if verdict.precision:
        table = Table(title="P@10")
        table.add_column("group")
        for repetition in range(len(verdict.precision)):
            table.add_column(f"repetition {repetition + 1}", justify="right")
        for group in verdict.precision[0]:
            table.add_row(group, *(f"{groups[group]:.3f}" for groups in verdict.precision))
        table.add_section()
        table.add_row("mean", *(f"{fmean(groups.values()):.4f}" for groups in verdict.precision))
        table.add_row("worst", *(f"{min(groups.values()):.3f}" for groups in verdict.precision))
        console.print(table)
    if verdict.control_seconds:
        console.print(
            f"query {1000 * verdict.seconds:.1f} ms, control {kind} {1000 * verdict.control_seconds:.1f} ms "
            f"(its P@10 {verdict.control_precision:.3f}); C {verdict.cost:.4f}; reward {verdict.reward:.3f}\n"
            f"prepare {verdict.prepare_seconds:.1f} s; index {verdict.index_bytes / 1e6:.1f} MB; resident "
            f"{verdict.resident / 1e6:.0f} MB; GPU at its floor: {'yes' if verdict.gpu == GIBIBYTE else 'no'}",
            highlight=False,
        )
    console.print("gates hold" if verdict.passed else "gates do not hold", highlight=False)

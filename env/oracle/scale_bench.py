"""`wilkins bench scale`: what a second worker adds, what handing out rows costs, and a forecast for a large table."""

from __future__ import annotations

import importlib.util
import logging
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from env.errors import UserError
from env.flags import Within
from env.identification.package import Package, load_package
from env.oracle.asked import chat_prompts, identity_of
from env.oracle.bench import MODELS, OFFICIAL_QUESTIONS, extend, paper_tokens
from env.oracle.cluster import CHECK_ROWS, Cluster, connected
from env.oracle.engine import Numerics
from env.oracle.journal import Journal, Row
from env.oracle.measure import PASS_TOKENS

WORKERS = (1, 2)
BAR = 1.8

TABLE = (15_113, 521)
"""Rows and questions of the forecast."""
GPUS = 8
PARAMETERS = 3.09e9
"""Of Qwen2.5-3B: a token costs two operations each."""
PEAK = 312e12
"""Operations a second of an A100 in bfloat16, as its maker has it."""
SHARE = 0.4
"""How much of that a model's passes are taken to reach; assumed, not measured."""


def bench_scale(
    gguf: Path = MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf",
    animals: Annotated[int, Within(2, 10_000)] = 96,
    questions: Annotated[int, Within(1, 10_000)] = 50,
) -> int:
    """Measure pairs a second with one and two workers of a thread each, and what the driver does for each row.

    Args:
        gguf: Small chat model to run; `make oracle-model` brings it.
        animals: Animals of the embedded package to measure.
        questions: Its questions to ask about each.
    """
    if importlib.util.find_spec("ray") is None:
        raise UserError("ray missing; pip install 'wilkins[oracle,scale]'")
    if not gguf.is_file():
        raise UserError(f"no model file {gguf}; `make oracle-model` brings it")
    # Ray gives its workers the lowest priority, and whatever else a machine does would be measured.
    os.environ.setdefault("RAY_worker_niceness", "0")
    console = Console()
    package = load_package()
    questions = min(questions, len(package.questions))
    animals = min(animals, len(package.animals) - CHECK_ROWS)
    speeds = [_speed(package, gguf, count, (animals, questions), console) for count in WORKERS]
    table = Table("measure", "measured", "bar")
    for count, speed in zip(WORKERS, speeds, strict=True):
        table.add_row(f"pairs a second, {count} worker(s) of one thread", f"{speed.pairs:.1f}", "")
    ratio = speeds[1].pairs / speeds[0].pairs
    table.add_row("two workers against one", f"{ratio:.2f} times", f"{BAR} times")
    told = f"the same, the {CHECK_ROWS} rows that both measure counted twice"
    table.add_row(told, f"{ratio * (1 + CHECK_ROWS / animals):.2f} times", "")
    for count, speed in zip(WORKERS, speeds, strict=True):
        table.add_row(f"pairs a second of processor time, {count} worker(s)", f"{speed.share:.1f}", "")
    call, keep = _overheads()
    table.add_row(f"a group of rows through Ray, {TABLE[1]} questions, a row", f"{1000 * call:.2f} ms", "")
    table.add_row("a row on the disk, fsynced", f"{1000 * keep:.2f} ms", "")
    console.print(table)
    prompts = _prompts(gguf, package)
    longer = extend(package.questions.names, OFFICIAL_QUESTIONS)[: TABLE[1]]
    share = paper_tokens(prompts, package.animals.names[0], longer)
    whole = float(np.mean([len(tokens) + 4 for tokens in prompts.tokens(package.animals.names[0], longer)]))
    forecast(console, share * whole, call, keep)
    return 0


def _prompts(gguf: Path, package: Package) -> Any:
    from env.oracle.model import find_source

    return chat_prompts(find_source("", None, gguf, "float32", "cpu"), package, "animals", None, "")


@dataclass(frozen=True)
class _Speed:
    pairs: float
    """A second, by the clock, start-up left out."""
    share: float
    """Pairs a second of the workers' processor time: what is left where something other than cores is short."""


def _speed(package: Package, gguf: Path, count: int, asked: tuple[int, int], console: Console) -> _Speed:
    """Of `count` workers on a cluster of their own, for as many animals and questions as `asked`."""
    import ray

    ray.init("local", num_cpus=count, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        with tempfile.TemporaryDirectory() as folder, connected(None, "cpu", count, 1, console) as cluster:
            return _filled(cluster, package, gguf, asked, Path(folder))
    finally:
        ray.shutdown()


def _filled(cluster: Cluster, package: Package, gguf: Path, asked: tuple[int, int], folder: Path) -> _Speed:
    source = cluster.source("", None, gguf, "float32")
    prompts = chat_prompts(source, package, "animals", None, "")
    shape = (len(package.animals), len(package.questions))
    journal = Journal(folder / "rows.journal", identity_of(source, package, "animals", prompts), shape)
    ids = np.arange(asked[1])
    rows = [(number, name, ids) for number, name in enumerate(package.animals.names)]
    engine = cluster.asking(source, None, gguf, prompts, "", package.questions.names)
    numerics = Numerics(source.dtype, source.device)
    try:
        # The last animals first: every worker loads its model, which is no part of the speed.
        engine.fill(numerics, rows[-CHECK_ROWS:], np.zeros(shape, bool), journal)
        before = _processor_seconds(cluster)
        engine.fill(numerics, rows[: asked[0]], np.zeros(shape, bool), journal)
        spent = _processor_seconds(cluster) - before
    finally:
        journal.close()
    checked = CHECK_ROWS * (len(cluster.hands) - 1)  # what the others measured for comparison, over again
    return _Speed(asked[0] * asked[1] / cluster.seconds, (asked[0] + checked) * asked[1] / spent)


def _processor_seconds(cluster: Cluster) -> float:
    """Of all workers together, since they were started."""
    import ray

    return sum(ray.get([hand.actor.__ray_call__.remote(lambda _: time.process_time()) for hand in cluster.hands]))


def _overheads(rows: int = 200, lanes: int = 16) -> tuple[float, float]:
    """Seconds a row that Ray needs to carry a group of `lanes` rows, and that the journal needs to keep one."""
    import ray

    ids = np.arange(TABLE[1])
    margin = np.random.default_rng(0).normal(size=ids.size).astype(np.float32)

    class Echo:
        def measure(self, group: list[Any]) -> list[Row]:
            return [Row(animal_id, ids, margin, np.ones(ids.size, np.uint8)) for animal_id, _, ids in group]

    group = [(number, f"beast {number}", ids) for number in range(lanes)]
    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        echo: Any = ray.remote(Echo)
        echo = echo.remote()
        ray.get(echo.measure.remote(group))
        begun = time.perf_counter()
        for _ in range(rows // lanes):
            ray.get(echo.measure.remote(group))
        call = (time.perf_counter() - begun) / (rows // lanes) / lanes
    finally:
        ray.shutdown()
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "rows.journal", {"model": "none"}, (rows, TABLE[1]))
        begun = time.perf_counter()
        for number in range(rows):
            journal.append(Row(number, ids, margin, np.ones(ids.size, np.uint8)))
        keep = (time.perf_counter() - begun) / rows
        journal.close()
    return call, keep


def forecast(console: Console, tokens: float, call: float, keep: float) -> None:
    """The arithmetic of `GPUS` devices and `TABLE`, a line a step."""
    rows, questions = TABLE
    pairs = rows * questions
    rate = SHARE * PEAK / (2 * PARAMETERS) / tokens
    seconds = pairs / (GPUS * rate)
    lanes = max(1, round(PASS_TOKENS["cuda"] / (tokens * questions)))
    check, tail = CHECK_ROWS * questions / rate, lanes * questions / rate
    driver = rows * (call + keep)
    lines = [
        f"on paper, {rows:,} x {questions} = {pairs / 1e6:.2f} million pairs on {GPUS} GPUs:",
        f"  {tokens:.1f} tokens a pair (shared in the trie) x 2 x {PARAMETERS / 1e9:.2f} billion operations; a GPU of "
        f"{PEAK / 1e12:.0f} T/s at {SHARE:.0%} (assumed): {rate:,.0f} pairs/s",
        f"  {pairs / 1e6:.2f} million / ({GPUS} x {rate:,.0f}) = {seconds:,.0f} s of measuring",
        f"  + {CHECK_ROWS} rows that every worker measures: {check:.1f} s; + the last group of {lanes} rows: {tail:.1f} s",
        f"  the driver: {rows:,} rows x ({1000 * call:.2f} + {1000 * keep:.2f} ms) = {driver:.0f} s, at the same time, "
        f"{driver / seconds:.0%} of it: {'no bottleneck' if driver < seconds else 'the bottleneck'}",
        f"  together {max(seconds, driver) + check + tail:,.0f} s, without starting Ray and loading the model",
    ]
    console.print("\n".join(lines), highlight=False, soft_wrap=True)

"""Where the trainings of a sweep run: processes of this machine, or the nodes of a Ray cluster.

Either way a training is a process of its own that writes an ordinary run; who drives reads what it scores from its record.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, Protocol

from rich.console import Console

from agents import trainer
from agents.runs import CONFIG
from agents.trainer import Game, Settings
from env import streams
from env.cluster import LOOK_SECONDS, Node, address_of, joined, last_words, nodes
from env.errors import UserError, first_line
from env.files import sole_writer, write_whole

STOP_SECONDS = 60.0
"""Time that a training has to save and end when it is asked to."""

EXTRAS = "scale"
"""What must be installed on every node."""

TOKEN = ".sweep"
"""File in the folder of a sweep by which a node knows that it sees the driver's disk."""


@dataclass(frozen=True)
class Task:
    """A training to be done."""

    folder: Path
    """Of the sweep."""
    game: type
    choices: Any
    world: Mapping[str, Any]
    """Of the game where it is driven: elsewhere its package may be another one."""
    settings: Settings
    """With the place of its run, which is gone on with where it is there."""
    log: Path
    """What the training prints, and at the end what went wrong."""


@dataclass(frozen=True)
class Ended:
    """How a training came to its end."""

    kind: Literal["done", "failed", "killed", "unfit"]
    """unfit: the place could not begin it; killed: something outside of it ended its process."""
    why: str = ""


class Training(Protocol):
    """A training at work."""

    def ended(self) -> Ended | None:
        """How it ended, None while it is at work; its place is free once this was told."""

    def stop(self) -> None:
        """Let it save and end."""


class Engine(Protocol):
    """What runs trainings."""

    def room(self) -> int:
        """How many more may begin now. Raises UserError where there is no place left at all."""

    def start(self, task: Task) -> Training:
        """Begin one; there must be room."""


class Processes:
    """Trainings as processes of this machine."""

    def __init__(self, workers: int):
        self.workers = workers
        self.busy = 0

    def room(self) -> int:
        """See `Engine`."""
        return self.workers - self.busy

    def start(self, task: Task) -> Training:
        """See `Engine`."""
        self.busy += 1
        return _Process(self, task)


class _Process:
    def __init__(self, engine: Processes, task: Task):
        self.engine, self.task = engine, task
        self.process = get_context("spawn").Process(target=train_apart, args=(task, os.getpid()))
        self.process.start()
        self._ended: Ended | None = None

    def ended(self) -> Ended | None:
        if self._ended is None and not self.process.is_alive():
            self.process.join()
            self.engine.busy -= 1
            assert self.process.exitcode is not None
            self._ended = _by_code(self.process.exitcode, self.task)
        return self._ended

    def stop(self) -> None:
        self.process.terminate()
        self.process.join(STOP_SECONDS)
        self.process.kill()
        self.process.join()
        self.ended()


class Nodes:
    """Trainings as Ray's tasks, `workers` at once on every node; one for each GPU where they are to use them."""

    def __init__(self, workers: int, device: str, folder: Path, say: Callable[[str], None]):
        self.workers, self.say = workers, say
        self.on_gpus = device.startswith("cuda")
        self.token = uuid.uuid4().hex
        write_whole(folder / TOKEN, self.token)
        self._nodes: dict[str, Node] = {}
        self._left_out: dict[str, str] = {}
        """Reason by node."""
        self._busy: Counter[str] = Counter()
        self._looked = -LOOK_SECONDS

    def room(self) -> int:
        """See `Engine`."""
        self._look()
        if not self._nodes:
            why = next(reversed(self._left_out.values()), f"it has no node with a {'GPU' if self.on_gpus else 'core'}")
            raise UserError(f"--ray: no node can train: {why}; what is trained is kept, the same command goes on")
        return sum(self._free(node) for node in self._nodes.values())

    def start(self, task: Task) -> Training:
        """See `Engine`."""
        node = max(self._nodes.values(), key=self._free)
        self._busy[node.key] += 1
        return _Remote(self, node, task)

    def release(self, node: Node) -> None:
        """A training on `node` has ended."""
        self._busy[node.key] -= 1

    def leave_out(self, node: Node, why: str) -> None:
        """Do without a node from now on."""
        self._left_out[node.key] = why
        if self._nodes.pop(node.key, None):
            self.say(f"node {node.address}: {why}; goes on without it")

    def _free(self, node: Node) -> int:
        return (node.gpus if self.on_gpus else min(self.workers, node.cores)) - self._busy[node.key]

    def _look(self) -> None:
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        alive = {node.key: node for node in nodes() if (node.gpus if self.on_gpus else node.cores)}
        self._nodes = {key: node for key, node in alive.items() if key not in self._left_out}


class _Remote:
    def __init__(self, engine: Nodes, node: Node, task: Task):
        import ray

        self.engine, self.node, self.task = engine, node, task
        # A process of its own each, and whether it is tried again is for the sweep to say.
        self.answer = (
            ray.remote(max_calls=1, max_retries=0)(train_there)
            .options(num_cpus=0 if engine.on_gpus else 1, num_gpus=int(engine.on_gpus), scheduling_strategy=node.pinned)
            .remote(task, engine.token)
        )
        self._ended: Ended | None = None

    def ended(self) -> Ended | None:
        import ray

        if self._ended is None and ray.wait([self.answer], timeout=0)[0]:
            self.engine.release(self.node)
            self._ended = self._how()
            if self._ended.kind == "unfit":
                self.engine.leave_out(self.node, self._ended.why)
        return self._ended

    def stop(self) -> None:
        import ray

        ray.cancel(self.answer)
        if not ray.wait([self.answer], timeout=STOP_SECONDS)[0]:
            ray.cancel(self.answer, force=True)
            ray.wait([self.answer], timeout=STOP_SECONDS)
        self.ended()

    def _how(self) -> Ended:
        import ray

        try:
            return _by_code(ray.get(self.answer), self.task)
        except ray.exceptions.TaskUnschedulableError:
            return Ended("unfit", "is gone")
        except ray.exceptions.TaskCancelledError:
            return Ended("killed", "it was cancelled")
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, UserError):
                return Ended("unfit", str(error.cause))
            if "ModuleNotFoundError" in str(error):
                return Ended("unfit", last_words(error, EXTRAS))
            return Ended("failed", first_line(error.cause or error))
        except ray.exceptions.RayError as error:
            return Ended("killed", last_words(error, EXTRAS))


@contextmanager
def engine(ray: tuple[str, ...] | None, workers: int, device: str, folder: Path, console: Console) -> Iterator[Engine]:
    """Processes of this machine where `ray` is None, else the nodes of the cluster at that address (see `joined`)."""
    if ray is None:
        yield Processes(workers)
        return
    with joined(address_of(ray), EXTRAS):
        yield Nodes(workers, device, folder, lambda line: console.print(line, markup=False, soft_wrap=True))


def train_apart(task: Task, parent: int) -> None:
    """The process of one training on this machine; its exit code is that of `logged`."""

    def watch() -> None:  # nobody would ever end the training of a driver that was killed
        while os.getppid() == parent:
            time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGTERM)

    if hasattr(os, "setpgrp"):
        os.setpgrp()  # Ctrl-C is for the driver, which then stops its trainings
    threading.Thread(target=watch, daemon=True).start()
    raise SystemExit(logged(task))


def train_there(task: Task, token: str) -> int:
    """One training on a node of a cluster; see `logged`. Raises UserError where it cannot even begin there."""
    try:
        seen = (task.folder / TOKEN).read_text(encoding="utf-8")
    except OSError:
        seen = ""
    if seen != token:
        raise UserError(
            f"{socket.gethostname()} does not see the folder {task.folder}; name one with --runs that every node sees"
        )
    game: Game = task.game(task.choices)
    if dict(game.world) != dict(task.world):
        raise UserError(f"{socket.gethostname()} has another package in that place; make them the same")
    return logged(task)


def logged(task: Task) -> int:
    """Begin a run or go on with it; what goes wrong is the last line of the log. 0 is done, 130 stopped, else failed."""
    settings = task.settings
    run = settings.runs / str(settings.name)
    with open(task.log, "a", encoding="utf-8") as stream:
        try:
            with streams.signals():
                _wait_for(run)
                if (run / CONFIG).exists():
                    settings = replace(settings, resume=run)
                _, finished = trainer.train(task.game(task.choices), settings, Console(file=stream, width=120))
            return 0 if finished else 130
        except UserError as error:
            print(error, file=stream)
            return 2
        except KeyboardInterrupt:
            return 130
        except Exception:
            traceback.print_exc(file=stream)
            return 70


def _wait_for(run: Path) -> None:
    """Until nobody is at work on the run: the training of a driver that was killed saves before it ends."""
    begun = time.monotonic()
    while run.is_dir() and time.monotonic() - begun < STOP_SECONDS:
        try:
            with sole_writer(run, "training"):
                return
        except UserError:
            time.sleep(0.5)


def _by_code(code: int, task: Task) -> Ended:
    if code == 0:
        return Ended("done")
    if code < 0 or code == 130:
        return Ended("killed", f"its process was ended by {'a signal to stop' if code > 0 else f'signal {-code}'}")
    lines = task.log.read_text(encoding="utf-8").strip().splitlines() if task.log.exists() else []
    return Ended("failed", lines[-1] if lines else f"the training ended with code {code}")

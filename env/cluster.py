"""A Ray cluster, for whatever runs on many machines: finding it, its nodes, and what their processes die of."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from env.errors import UserError, first_line

ANSWER_SECONDS = 5.0
"""A cluster's address must take a connection within this time."""

HEALTH_SECONDS = 20.0
"""And answer as Ray does within this one, the start of Ray's own check included."""

LOOK_SECONDS = 5.0
"""Time between two looks for nodes that have joined."""

TOKEN_MODE = "RAY_AUTH_MODE"
"""Ray's variable that says whether it shows a token."""

_NO_TOKEN = "Authentication"
"""What Ray's complaints about a token have in common: errors of that name, or a failed check in its loader of tokens."""


@dataclass(frozen=True)
class Node:
    """A machine of the cluster."""

    key: str
    """Ray's own name of it."""
    address: str
    cores: int
    gpus: int

    @property
    def pinned(self) -> Any:
        """The scheduling strategy that runs something here and nowhere else."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(self.key, soft=False)


def nodes() -> list[Node]:
    """The nodes that are alive."""
    import ray

    return [
        Node(
            node["NodeID"],
            str(node["NodeManagerAddress"]),
            int(node["Resources"].get("CPU", 0)),
            int(node["Resources"].get("GPU", 0)),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]


def address_of(words: tuple[str, ...]) -> str | None:
    """The address of a flag `--ray [ADDRESS]`, None where it came without one. Raises UserError for several."""
    if len(words) > 1:
        raise UserError(f"--ray {' '.join(words)}: one address is enough, that of the head node")
    return words[0] if words else None


@contextmanager
def joined(address: str | None, extras: str) -> Iterator[None]:
    """Connected to the cluster at `address` (None: Ray's own choice, a new one on this machine where none runs).

    `extras` are what to install for the work, `scale` among them. Raises UserError where Ray is not installed, or nobody
    answers. A process that is connected already stays so.
    """
    if importlib.util.find_spec("ray") is None:
        raise UserError(f"ray missing, needed for --ray; pip install 'wilkins[{extras}]'")
    loaded = sys.modules.get("ray")  # Ray reads once, when it is imported, whether it is to show a token
    ours = loaded is None or not loaded.is_initialized()
    if ours:
        _connect(address)
    try:
        yield
    finally:
        if ours:
            import ray

            ray.shutdown()


def last_words(error: BaseException, extras: str) -> str:
    """What a process on a node died of, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("ModuleNotFoundError", "ImportError"))]
    if told:
        return f"{told[-1]}; install wilkins[{extras}] there, the same version"
    return "its process ended" if "OutOfMemory" not in type(error).__name__ else "its node ran out of memory"


def _connect(address: str | None) -> None:
    # What Ray writes of itself helps nobody here, and it asks the network about usage.
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        os.environ.setdefault(name, "0")
    if address not in (None, "auto", "local"):
        _check_answer(str(address))
    import ray

    here = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if here else None
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    # Ray raises what the place where it fails happens to raise.
    except Exception as error:
        raise UserError(
            f"--ray {address or ''}: {first_line(error)}; start a cluster with 'ray start --head', or give the address "
            f"that it printed"
        ) from None
    finally:
        if here:
            signal.signal(signal.SIGTERM, before)  # Ray puts its own, which ends without a word


def _check_answer(address: str) -> None:
    """Raise UserError unless a Ray cluster answers: Ray itself waits for minutes and then ends the process."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise UserError(f"--ray {address!r} is no address; give HOST:PORT as 'ray start --head' prints it")
    hint = "start a cluster with 'ray start --head', or give the address that it printed"
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
    except OSError as error:
        raise UserError(f"--ray {address}: nobody answers ({error.strerror or error}); {hint}") from None
    if address.startswith("ray://"):
        return
    refused = _refused(address)
    # A head node asks for a token wherever Ray has made one before, but who joins it by its address does not show it.
    if refused and _NO_TOKEN in refused and TOKEN_MODE not in os.environ:
        os.environ[TOKEN_MODE] = "token"
        refused = _refused(address)
        if refused is not None:
            del os.environ[TOKEN_MODE]
    if refused and _NO_TOKEN in refused:
        raise UserError(
            f"--ray {address}: it asks for a token that is not here; copy ~/.ray/auth_token of its head node to this machine, "
            f"and set {TOKEN_MODE}=token"
        )
    if refused is not None:
        raise UserError(f"--ray {address}: what answers there is no Ray cluster; {hint}")


def _refused(address: str) -> str | None:
    """What Ray's own check of an address says where it fails, None where a cluster answers."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        checked = subprocess.run(command, capture_output=True, text=True, timeout=HEALTH_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return ""
    return None if checked.returncode == 0 else checked.stdout + checked.stderr

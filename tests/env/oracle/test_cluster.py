"""Many workers measure what one does, bit for bit, whoever of them dies and whenever; what a cluster lacks is one line."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import env.cluster
from env.errors import UserError
from env.oracle import cluster, command, scale_bench
from env.oracle.cluster import Worker, connected
from env.oracle.journal import Journal

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", reason="needs wilkins[oracle]")
ray = pytest.importorskip("ray", reason="needs wilkins[scale]")

import wilkins  # noqa: E402
from env.oracle.measure import Oracle  # noqa: E402
from env.oracle.model import find_source, load_model, load_tokenizer  # noqa: E402
from env.oracle.prompt import ChatPrompts  # noqa: E402
from tests.conftest import write_package  # noqa: E402
from tests.processes import processes  # noqa: E402

ROOT = Path(__file__).parents[3]
ANIMALS, QUESTIONS = 60, 12

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def address():
    """Of a cluster on this machine with room for two workers; this process is connected to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("RAY_worker_niceness", "0")  # Ray's workers would wait for every other process
        before = signal.getsignal(signal.SIGTERM)
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=50)
        yield ray.get_runtime_context().gcs_address
        ray.shutdown()
        signal.signal(signal.SIGTERM, before)


def fresh_package(folder):
    (write_package(folder, ANIMALS, QUESTIONS) / "matrix.npz").unlink()
    return folder


@pytest.fixture
def package(tmp_path):
    return fresh_package(tmp_path / "package")


@pytest.fixture(scope="module")
def single(tmp_path_factory, model_folder):
    """Bytes of the matrix that one machine measures."""
    folder = fresh_package(tmp_path_factory.mktemp("single") / "package")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    build(folder, model_folder, ray=None)
    torch.set_num_threads(before)
    return (folder / "matrix.npz").read_bytes()


def build(package, model_folder, **options):
    asked = {"noise": False, "ray": (), "workers": 2, **options}
    return command.build(package=package, model=str(model_folder), device="cpu", **asked)


def worker_processes():
    return processes(lambda told: told.startswith(b"ray::") and b"Worker" in told)


def at_row(monkeypatch, number, act):
    """Have `act()` called once, when the journal has got row `number`; returns the list of the rows it gets."""
    whole, rows = Journal.append, []

    def append(self, row):
        whole(self, row)
        rows.append(row.animal_id)
        if len(rows) == number:
            act()

    monkeypatch.setattr(Journal, "append", append)
    return rows


def test_two_workers_measure_the_file_of_one_machine(address, package, model_folder, single, capsys):
    assert build(package, model_folder) == 0
    assert (package / "matrix.npz").read_bytes() == single
    told = capsys.readouterr().out
    assert "worker 1" in told
    assert "worker 2" in told
    assert "pairs/s" in told
    assert "other numbers" not in told
    build(package, model_folder)
    assert "nothing is missing" in capsys.readouterr().out


def test_a_worker_that_dies_costs_its_rows_in_work(address, package, model_folder, single, monkeypatch, capsys):
    victims = []

    def kill_one():
        victims.append(random.choice(worker_processes()))
        os.kill(victims[0], signal.SIGKILL)

    rows = at_row(monkeypatch, random.randrange(1, ANIMALS // 2), kill_one)
    build(package, model_folder)
    assert victims
    assert "its process ended; its rows go to others" in capsys.readouterr().out
    assert sorted(rows) == list(range(ANIMALS))
    assert (package / "matrix.npz").read_bytes() == single


def test_a_driver_that_dies_costs_nothing_measured(address, package, model_folder, single, monkeypatch):
    last = random.randrange(1, ANIMALS // 2)
    script = (
        "import os, wilkins\n"
        "from env.oracle.journal import Journal\n"
        "whole = Journal.append\n"
        "def append(self, row):\n"
        "    whole(self, row)\n"
        f"    if len(self.rows) == {last}: os.kill(os.getpid(), 9)\n"
        "Journal.append = append\n"
        f"wilkins.main(['oracle', 'build', '--package', {str(package)!r}, '--model', {str(model_folder)!r}, '--no-noise',\n"
        f"              '--ray', {address!r}, '--workers', '2'])\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, cwd=ROOT)
    assert killed.returncode == -9, killed.stderr
    assert len((package / "matrix.journal").read_bytes().splitlines()) == last + 1
    rows = at_row(monkeypatch, 0, None)
    build(package, model_folder)
    assert len(rows) == ANIMALS - last
    assert (package / "matrix.npz").read_bytes() == single


class OneOdd(Worker):
    """A worker that is odd where it is the first of all to come to `load`."""

    def load(self, numerics):
        marker = Path(self.request.model).with_name("odd")
        try:
            marker.touch(exist_ok=False)
            self.odd = True
        except FileExistsError:
            self.odd = False
        return super().load(numerics)


class WithoutModel(OneOdd):
    def load(self, numerics):
        told = super().load(numerics)
        if self.odd:
            raise UserError("no model folder /there; give a folder")
        return told


class OtherNumbers(OneOdd):
    def measure(self, numerics, settled, groups):
        rows = super().measure(numerics, settled, groups)
        return (
            [replace(row, margin=row.margin + np.float32(0.5), answer=1 - row.answer) for row in rows]
            if self.odd
            else rows
        )


class Deadly(Worker):
    def measure(self, numerics, settled, groups):
        if any(name == "beast 40" for group in groups for _, name, _ in group):
            os._exit(1)
        return super().measure(numerics, settled, groups)


@pytest.fixture
def workers_are(monkeypatch, model_folder):
    (model_folder.with_name("odd")).unlink(missing_ok=True)
    return lambda kind: monkeypatch.setattr(cluster, "Worker", kind)


def test_a_worker_without_the_model_is_named_and_the_others_go_on(
    address, package, model_folder, single, workers_are, capsys
):
    workers_are(WithoutModel)
    build(package, model_folder)
    told = [line for line in capsys.readouterr().out.splitlines() if "no model folder" in line]
    assert len(told) == 1
    assert told[0].endswith("no model folder /there; give a folder; goes on without it")
    assert (package / "matrix.npz").read_bytes() == single


def test_no_worker_with_the_model_is_said_in_one_line(address, package, model_folder, monkeypatch):
    asking = cluster.Cluster.asking

    def elsewhere(self, *asked):
        self._request = replace(asking(self, *asked)._request, model="/not/here")
        return self

    monkeypatch.setattr(cluster.Cluster, "asking", elsewhere)
    with pytest.raises(UserError, match=r"no worker is left; 0 finished rows are safe.*no model folder /not/here"):
        build(package, model_folder)


def test_a_device_with_other_numbers_is_reported_with_its_flips(address, package, model_folder, workers_are, capsys):
    workers_are(OtherNumbers)
    build(package, model_folder)
    assert "36 of 36 margins differ, by 0.5 at most, 36 answers flip" in capsys.readouterr().out


def test_rows_that_end_every_worker_are_named_and_the_others_kept(
    address, package, model_folder, single, workers_are, monkeypatch
):
    workers_are(Deadly)
    monkeypatch.setattr(cluster, "TRIES", 1)
    with pytest.raises(UserError, match=r"1 workers ended on 'beast .*finished rows are safe"):
        build(package, model_folder)
    monkeypatch.undo()
    build(package, model_folder, ray=None)
    assert (package / "matrix.npz").read_bytes() == single


# Addresses


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def refused(address, device="auto"):
    with pytest.raises(UserError) as caught, connected(address, device, 1, 1, None):
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_address_nobody_answers_at_is_said_in_one_line(package, model_folder, monkeypatch, capsys):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    port = free_port()
    assert "nobody answers (Connection refused)" in refused(f"127.0.0.1:{port}")
    assert "is no address" in refused("nowhere")
    flags = ["--package", str(package), "--model", str(model_folder), "--ray", f"127.0.0.1:{port}"]
    assert wilkins.main(["oracle", "build", *flags]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert not list(package.glob("matrix*"))


def test_a_token_is_shown_where_it_is_asked_for_and_told_where_it_lacks(address, tmp_path):
    program = (
        "from env.cluster import joined, nodes\n"
        "from env.errors import UserError\n"
        "try:\n"
        f"    with joined({address!r}, 'scale'): print(len(nodes()), 'nodes')\n"
        "except UserError as error: print(error)\n"
    )
    unset = {name: value for name, value in os.environ.items() if name != "RAY_AUTH_MODE"}
    told = []
    for home in (os.environ.get("HOME", ""), str(tmp_path)):
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env={**unset, "HOME": home},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        told.append(ran.stdout)
    assert told[0] == "1 nodes\n"
    if os.environ.get("RAY_AUTH_MODE") == "token":  # what newer releases of Ray do by themselves
        assert "asks for a token that is not here" in told[1]
        assert told[1].count("\n") == 1


def test_another_service_at_the_address_is_told_apart(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(env.cluster, "HEALTH_SECONDS", 1.0)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert "no Ray cluster" in refused(f"127.0.0.1:{other.getsockname()[1]}")


def test_choices_that_cannot_be_are_said_in_one_line(address, package, model_folder, monkeypatch):
    assert "choose auto, cpu or cuda" in refused(None, device="cuda:1")
    with pytest.raises(UserError, match=r"no node with 1 GPU\(s\)"):
        command.build(package=package, model=str(model_folder), device="cuda", ray=())
    with pytest.raises(UserError, match="one address is enough"):
        build(package, model_folder, ray=("a:1", "b:1"))
    with pytest.raises(UserError, match="--gpus 2: "):
        build(package, model_folder, ray=None, gpus=2)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install 'wilkins[oracle,scale]'" in refused(None)


def test_a_bench_without_its_model_says_how_to_get_it(tmp_path, capsys):
    assert wilkins.main(["bench", "scale", "--gguf", str(tmp_path / "none.gguf")]) == 2
    assert "`make oracle-model` brings it" in capsys.readouterr().err


def test_the_forecast_adds_up(capsys):
    scale_bench.forecast(Console(width=200), 6.0, 0.001, 0.002)
    told = capsys.readouterr().out
    assert "15,113 x 521 = 7.87 million pairs on 8 GPUs" in told
    rate = 0.4 * 312e12 / (2 * 3.09e9) / 6
    assert f"7.87 million / (8 x {rate:,.0f}) = {15_113 * 521 / 8 / rate:,.0f} s of measuring" in told
    assert "15,113 rows x (1.00 + 2.00 ms) = 45 s, at the same time" in told


# A model on more than one device


def test_a_model_spread_over_two_devices_gives_the_same_rows(model_folder, tmp_path, monkeypatch):
    source = find_source(str(model_folder), None, None, "float32", "cpu")
    prompts = ChatPrompts(load_tokenizer(source))
    wanted = [(number, f"beast {number}", np.arange(4)) for number in range(6)]
    questions = [f"is it {number}?" for number in range(4)]
    whole = list(Oracle(load_model(source), prompts).rows(wanted, questions))
    places = {"model.embed_tokens": "cpu", "model.rotary_emb": "cpu", "model.norm": "cpu", "lm_head": "cpu"}
    places |= {f"model.layers.{number}": "cpu" if number < 1 else "disk" for number in range(3)}
    monkeypatch.setattr(
        "env.oracle.model.spread", lambda gpus: {"device_map": places, "offload_folder": str(tmp_path / "offload")}
    )
    model = load_model(replace(source, gpus=2))
    assert len(set(model.hf_device_map.values())) == 2
    parts = list(Oracle(model, prompts).rows(wanted, questions))
    for one, other in zip(whole, parts, strict=True):
        assert one.margin.tobytes() == other.margin.tobytes()
        assert one.answer.tolist() == other.answer.tolist()

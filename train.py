"""The main job: package -> environment -> agent -> evaluation -> export. `wilkins train` is this program."""

from __future__ import annotations

import dataclasses
import io
import json
import platform
import signal
import sys
import time
import zipfile
import zlib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import gymnasium
import numpy as np
import sb3_contrib
import stable_baselines3
import torch as th
import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sb3_contrib import MaskablePPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import HParam, configure
from stable_baselines3.common.utils import LinearSchedule, get_device

from agents.identification.lessons import Recorder, lesson, teach
from agents.identification.play import Rounds, expected_score, platforms, play
from agents.identification.players import Lookahead, RankedPlayer, trained_player
from agents.identification.policy import ShortlistPolicy, ShortlistRolloutBuffer
from agents.runs import BEST, CONFIG, load_agent, load_policy, load_run
from env.cabinet.rules import BUDGET, limit
from env.cabinet.vector import CabinetVecEnv
from env.errors import UserError
from env.files import write_whole
from env.identification.belief import DEFAULT_DOUBT
from env.identification.observation import Observer, Shortlist
from env.identification.package import Package, load_package
from export.cabinet.enumerate import enumerate_decisions
from export.cabinet.validate import MAX_NODES

SPLITS = ("dev", "test1", "hidden")
BEST_BY = "hidden_all_noise"
CHECKPOINT = "checkpoint.zip"
WORLD = "world.npz"
"""Member of the checkpoint that holds the running games: in one file the two always belong together."""

BOUNDS = (
    *((name, 1, np.inf) for name in ("steps", "games", "horizon", "epochs", "width", "asks", "guesses", "focus")),
    ("evaluations", 1, np.inf),
    ("lessons", 0, np.inf),
    ("batch", 2, np.inf),
    ("learning_rate", 0.0, 1.0),
    ("entropy", 0.0, 1.0),
    ("gae_lambda", 0.0, 1.0),
    ("clip", 0.0, 1.0),
    ("improve_seconds", 0.0, np.inf),
    ("doubt", 0.0, 1.0),
    ("max_nodes", 1, MAX_NODES),
    ("seed", 0, 2**32 - 1),
)
"""Settings that are numbers, and the least and the most that they may be."""


@dataclass(frozen=True)
class Settings:
    """Train an agent, evaluate it, export it.

    Writes runs/NAME/: config.json, best.zip, TensorBoard curves, policy.json, submission.zip, source.zip and
    policy.html. Ctrl-C saves and says how to go on.
    """

    package: Path | None = None
    """Folder of pools, splits and matrix; the embedded one when left out."""
    name: str | None = None
    """Name of the run below `runs`; the package's name and the time when left out."""
    runs: Path = Path("runs")
    """Folder that holds the runs."""
    resume: Path | None = None
    """Run folder to go on with; its own settings are used, all other flags are ignored."""
    seed: int = 0
    """Same seed, same machine: same policy.json, byte for byte."""
    steps: int = 300_000
    """Calls that the agent makes during training."""
    noise: float | None = None
    """Noise expected of the platform, in margin units: what is optimised for; the package's when left out."""
    levels: tuple[float, ...] = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
    """Noise levels that the games are dealt, besides the expected one, so that one agent is good at all."""
    games: int = 256
    """Rounds that are played at once."""
    horizon: int = 32
    """Calls of every game between two updates."""
    batch: int = 512
    """Calls in a minibatch."""
    epochs: int = 3
    """Passes over the collected calls in an update."""
    learning_rate: float = 1e-3
    """Adam's step size at the start; falls linearly to a twentieth."""
    entropy: float = 0.003
    """Weight of the entropy bonus."""
    gae_lambda: float = 0.95
    """Bias against variance in the advantage estimate."""
    clip: float = 0.2
    """How far an update may move an action's probability."""
    width: int = 64
    """Units in each layer of the scorer."""
    asks: int = 16
    """Questions on the shortlist."""
    guesses: int = 3
    """Animals on the shortlist."""
    focus: int = 32
    """Likeliest animals that the two-step features look at."""
    evaluations: int = 12
    """How often the agent is evaluated and a checkpoint is kept."""
    lessons: int = 3
    """Rounds in which the trained agent is taught what exact lookahead finds."""
    improve_seconds: float = 45.0
    """Nominal seconds of lookahead at export; 0 exports the agent's own decisions."""
    doubt: float = DEFAULT_DOUBT
    """Share of the answers that the exported policy takes to be noisier than assumed, so that it holds where they are."""
    max_nodes: int = 32_767
    """Nodes that the exported graph may have."""
    device: str = "auto"
    """Where the network is trained: cpu, cuda, or auto."""


def train(settings: Annotated[Settings, tyro.conf.arg(name="")]) -> int:
    """Run the whole job; returns the exit code."""
    from export.cabinet.command import export_run  # the exporter is not needed until the end

    console = Console()
    package, settings, folder = prepare(settings)
    agent, world = make_agent(package, settings, folder)
    watch = Watch(world, package, settings, folder, console)
    try:
        finished = learn(agent, watch, settings)
        if finished:
            distil(agent, watch, settings)
    except OSError as error:  # TensorBoard writes on its own
        reason = error.strerror or error
        raise UserError(f"cannot write the curves to {folder}: {reason}; then go on with --resume {folder}") from None
    if not finished:
        console.print(f"stopped after {agent.num_timesteps:,} steps; go on with: wilkins train --resume {folder}")
        return 130
    export_run(
        load_run(folder), package, console, improve_seconds=settings.improve_seconds, doubt=settings.doubt,
        max_nodes=settings.max_nodes,
    )  # fmt: skip
    console.print(f"curves      tensorboard --logdir {settings.runs}")
    return 0


def prepare(settings: Settings) -> tuple[Package, Settings, Path]:
    """Package, complete settings and run folder, with its `config.json` written; checks all that can be checked."""
    if settings.resume is not None:
        folder = settings.resume
        run = load_run(folder)
        stored = {**run.config["settings"], "resume": folder}
        try:
            for key in ("package", "runs"):
                stored[key] = None if stored[key] is None else Path(stored[key])
            stored["levels"] = tuple(stored["levels"])
            settings = Settings(**stored)
            check(settings)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{folder / CONFIG}: not the settings of this program ({error}); start a new run") from None
        package = load_package(settings.package)
        run.require(package)
        return package, settings, folder
    package = load_package(settings.package)
    for split in SPLITS:
        package.split(split)
    settings = dataclasses.replace(settings, noise=package.noise if settings.noise is None else settings.noise)
    check(settings)
    name = settings.name or f"{package.path.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder = settings.runs / name
    if (folder / CONFIG).exists():
        raise UserError(f"{folder} holds a run already; go on with --resume {folder}, or choose another --name")
    whole_path = None if settings.package is None else settings.package.absolute()
    settings = dataclasses.replace(settings, name=name, package=whole_path)
    config = {
        "settings": dataclasses.asdict(settings),
        "noise": settings.noise,
        "shortlist": {"asks": settings.asks, "guesses": settings.guesses, "focus": settings.focus},
        "package": {
            "path": str(package.path.absolute()),
            "animals_sha256": package.animals.sha256,
            "questions_sha256": package.questions.sha256,
        },
        "versions": {
            "wilkins": version("wilkins"),
            "python": platform.python_version(),
            **{module.__name__: module.__version__ for module in (th, np, gymnasium, stable_baselines3, sb3_contrib)},
        },
    }
    write_whole(folder / CONFIG, json.dumps(config, indent=2, default=str) + "\n")
    return package, settings, folder


def check(settings: Settings) -> None:
    """Raises UserError for a number that nothing can be trained with."""
    for name, least, most in BOUNDS:
        value = getattr(settings, name)
        if not least <= value <= most:
            wanted = f"at least {least} is needed" if most == np.inf else f"between {least} and {most} is needed"
            raise UserError(f"--{name.replace('_', '-')} {value}: {wanted}")
    if not all(0 <= level < np.inf for level in (settings.noise or 0.0, *settings.levels)):
        raise UserError(
            f"--noise {settings.noise} --levels {settings.levels}: noise is a standard deviation, 0 or more"
        )
    calls = settings.games * settings.horizon
    if calls < 2 or calls % settings.batch == 1:
        raise UserError(
            f"--games {settings.games} --horizon {settings.horizon} --batch {settings.batch}: an update of {calls} "
            "calls leaves a minibatch of a single call, which cannot be normalised; choose another --batch"
        )
    try:
        get_device(settings.device)
    except RuntimeError:
        raise UserError(f"--device {settings.device}: choose cpu, cuda or auto") from None


def make_agent(package: Package, settings: Settings, folder: Path) -> tuple[MaskablePPO, CabinetVecEnv]:
    """The algorithm and its games, fresh or as the last checkpoint left them."""
    shortlist = Shortlist(settings.asks, settings.guesses, settings.focus)
    world = CabinetVecEnv(package, settings.games, noise=training_levels(settings), shortlist=shortlist)
    # A network this small gains nothing from more threads, and loses much where others share the machine.
    th.set_num_threads(1)
    if settings.resume is not None and (folder / CHECKPOINT).is_file():
        agent = load_agent(folder / CHECKPOINT, world, settings.device)
        restore_world(folder / CHECKPOINT, world)
    else:
        agent = MaskablePPO(
            ShortlistPolicy,
            world,
            learning_rate=LinearSchedule(settings.learning_rate, settings.learning_rate / 20, 1.0),
            n_steps=settings.horizon,
            batch_size=min(settings.batch, settings.games * settings.horizon),
            n_epochs=settings.epochs,
            gamma=1.0,  # the undiscounted return is the round score
            gae_lambda=settings.gae_lambda,
            clip_range=settings.clip,
            ent_coef=settings.entropy,
            rollout_buffer_class=ShortlistRolloutBuffer,
            policy_kwargs={"width": settings.width},
            seed=settings.seed,
            device=settings.device,
        )
    agent.set_logger(configure(str(folder), ["tensorboard"]))
    return agent, world


def learn(agent: MaskablePPO, watch: Watch, settings: Settings) -> bool:
    """Train to the last step with evaluations and checkpoints; False when the user stopped it."""
    left = settings.steps - agent.num_timesteps
    if left <= 0:
        return True
    try:
        agent.learn(left, callback=watch, reset_num_timesteps=agent.num_timesteps == 0)
    finally:
        watch.close()
    return not watch.stopped


def distil(agent: MaskablePPO, watch: Watch, settings: Settings) -> None:
    """Teach the best agent what lookahead finds at every noise level, in rounds; keeps what is better."""
    policy = agent.policy
    assert isinstance(policy, ShortlistPolicy)
    hidden, shortlist = watch.package.split("hidden"), watch.evaluator.shortlist
    for taught in range(watch.taught(), settings.lessons):
        policy.load_state_dict(load_policy(watch.folder / BEST).state_dict())
        lessons = []
        for noise in watch.evaluator.levels:
            with watch.console.status(f"lesson {taught + 1} of {settings.lessons}: looking ahead at noise {noise:g}"):
                player = trained_player(policy, watch.package, hidden, noise, shortlist)
                observer = Observer([player.likelihood], [noise], player.candidates, BUDGET, shortlist)
                recorder = Recorder(Lookahead(player), observer)
                lessons.append(lesson(recorder, enumerate_decisions(recorder).reach))
        with watch.console.status(f"lesson {taught + 1} of {settings.lessons}: learning"):
            loss = teach(policy, lessons, settings.seed + taught)
        agent.logger.record("train/lesson_loss", loss)
        watch.evaluate(taught + 1)


class Watch(BaseCallback):
    """Shows progress, evaluates, keeps the best agent and the checkpoint, and stops where the user asks."""

    def __init__(self, world: CabinetVecEnv, package: Package, settings: Settings, folder: Path, console: Console):
        super().__init__()
        self.world, self.package, self.settings, self.folder, self.console = world, package, settings, folder, console
        self.evaluator = Evaluator(package, float(settings.noise or 0.0), settings)
        self.stopped = self.asked_to_stop = False
        self.every = max(settings.steps // settings.evaluations, settings.games * settings.horizon)
        self.best = best_score(folder)

    def _on_training_start(self) -> None:
        self.next = (self.num_timesteps // self.every + 1) * self.every
        self.begun, self.from_steps = time.monotonic(), self.num_timesteps
        columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.progress = Progress(*columns, TextColumn("{task.description}"), console=self.console)
        self.task = self.progress.add_task(
            "compiling the loops, once on a new machine", total=self.settings.steps, completed=self.num_timesteps
        )
        self.progress.start()
        self.previous = signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, *_: Any) -> None:
        if self.asked_to_stop:  # the second time the user means it
            signal.signal(signal.SIGINT, self.previous)
            self.progress.stop()
            raise KeyboardInterrupt
        self.asked_to_stop = True
        self.progress.update(self.task, description="stopping after this update…")

    def _on_rollout_start(self) -> None:
        # Here the last update is complete and no call is half recorded: what is saved now can go on exactly.
        if self.num_timesteps >= self.next:
            self.next += self.every
            self.evaluate()
            self._save()
        elif self.asked_to_stop:
            self._save()
        self.stopped = self.asked_to_stop

    def _on_step(self) -> bool:
        if self.n_calls % self.settings.horizon == 0 and not self.asked_to_stop:
            rate = (self.num_timesteps - self.from_steps) / (time.monotonic() - self.begun)
            shown = f"{rate:,.0f} steps/s   best {self.best:.2f}" if self.best > 0 else f"{rate:,.0f} steps/s"
            self.progress.update(self.task, completed=self.num_timesteps, description=shown)
            self.logger.record("time/steps_per_second", rate)
        return not self.stopped

    def close(self) -> None:
        """Give the terminal and Ctrl-C back, however the training ended."""
        signal.signal(signal.SIGINT, self.previous)
        self.progress.stop()

    def _on_training_end(self) -> None:
        if not self.stopped:
            self.evaluate()
            self._save()
            settings = {k: v for k, v in dataclasses.asdict(self.settings).items() if isinstance(v, int | float | str)}
            self.logger.record(
                "hparams",
                HParam(settings, {f"eval/{BEST_BY}_score": self.best}),
                exclude=("stdout", "log", "json", "csv"),
            )
            self.logger.dump(self.num_timesteps)

    def evaluate(self, taught: int = 0) -> None:
        """Score the agent, log it, and keep it if it is the best so far; `taught` counts its lessons."""
        scores, rounds = self.evaluator(self.model.policy)  # type: ignore[arg-type]
        for name, score in scores.items():
            self.logger.record(f"eval/{name}_score", score)
        self.logger.record("eval/solved_rate", float(rounds.solved.mean()))
        self.logger.record("eval/mean_calls", float(rounds.calls.mean()))
        self.logger.record("eval/limit", limit(len(self.package.hidden)))
        self.logger.record("eval/calls", th.from_numpy(rounds.calls.astype(np.float32)))
        # A lesson takes no calls; a step of its own keeps its point apart in the curves.
        self.logger.dump(self.num_timesteps + taught)
        shown = "   ".join(f"{name.replace('_', ' ')} {score:.2f}" for name, score in scores.items())
        when = f"{'lesson':>10} {taught:<5}" if taught else f"{self.num_timesteps:>10,} steps"
        self.console.print(f"{when}   {shown}", highlight=False, soft_wrap=True)
        if scores[BEST_BY] > self.best:
            self.best = scores[BEST_BY]
            save_agent(self.folder / BEST, self.model)
            best = {"steps": self.num_timesteps, "lessons": taught, **scores}
            write_whole(self.folder / "best.json", json.dumps(best) + "\n")
        if taught:
            write_whole(self.folder / "lessons.json", json.dumps({"taught": taught}) + "\n")

    def taught(self) -> int:
        """Lessons that the run has behind it already."""
        try:
            return int(json.loads((self.folder / "lessons.json").read_text())["taught"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def _save(self) -> None:
        save_agent(self.folder / CHECKPOINT, self.model, self.world)


class Evaluator:
    """Scores a policy on every split: exactly, when platforms answer with the expected noise."""

    def __init__(self, package: Package, noise: float, settings: Settings):
        self.package, self.noise = package, noise
        self.levels = training_levels(settings)
        self.shortlist = Shortlist(settings.asks, settings.guesses, settings.focus)
        hidden = package.split("hidden")
        margin = package.matrix.signed_margin()[hidden]
        self.animals, self.answers = hidden, platforms(margin, noise, seed=0)

    def __call__(self, policy: ShortlistPolicy) -> tuple[dict[str, float], Rounds]:
        """Expected scores x100 by split, each on its own candidates; and one drawn round for each hidden animal.

        `hidden_all_noise` is the mean over the training's noise levels, by which the best agent is kept.
        """
        players = {split: self.player(policy, split, self.noise) for split in SPLITS}
        scores = {split: expected_score(player) for split, player in players.items()}
        levels = [expected_score(self.player(policy, "hidden", noise)) for noise in self.levels]
        scores[BEST_BY] = float(np.mean(levels))
        return scores, play(players["hidden"], self.answers, self.animals)

    def player(self, policy: ShortlistPolicy, split: str, noise: float) -> RankedPlayer:
        """The policy playing greedily on the animals of a split, assuming `noise`."""
        return trained_player(policy, self.package, np.sort(self.package.split(split)), noise, self.shortlist)


def training_levels(settings: Settings) -> list[float]:
    """Noise levels of the games, ascending: the given ones and the expected one."""
    return sorted({*settings.levels, float(settings.noise or 0.0)})


def best_score(folder: Path) -> float:
    """Score x100 over all noise levels of the best agent that the run has kept so far; -1 where there is none."""
    try:
        return float(json.loads((folder / "best.json").read_text())[BEST_BY])
    except (OSError, ValueError, KeyError):
        return -1.0


def save_agent(path: Path, agent: BaseAlgorithm, world: CabinetVecEnv | None = None) -> None:
    """Write an agent in the library's own format, in one step; with `world`, all that going on exactly needs."""
    content = io.BytesIO()
    agent.save(content)
    if world is not None:
        with zipfile.ZipFile(content, "a") as archive:
            archive.writestr(WORLD, world_state(world))
    write_whole(path, content.getvalue())


def world_state(world: CabinetVecEnv) -> bytes:
    """All that randomness and the running games are, as the content of an npz file."""
    # The library shuffles minibatches with NumPy's global generator, so that one has to be kept.
    _, keys, position, has_gauss, cached = np.random.get_state(legacy=True)  # noqa: NPY002
    arrays = {
        "torch": th.get_rng_state().numpy(),
        "numpy": keys,
        "numpy_position": np.array([position, has_gauss]),
        "numpy_cached": np.array([cached]),
        **world.state(),
    }
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return content.getvalue()


def restore_world(path: Path, world: CabinetVecEnv) -> None:
    """Bring back the games of a checkpoint. Raises UserError for a damaged file."""
    try:
        with zipfile.ZipFile(path) as archive, np.load(io.BytesIO(archive.read(WORLD)), allow_pickle=False) as stored:
            th.set_rng_state(th.from_numpy(stored["torch"]))
            position, has_gauss = stored["numpy_position"].tolist()
            cached = float(stored["numpy_cached"][0])
            np.random.set_state(("MT19937", stored["numpy"], position, has_gauss, cached))  # noqa: NPY002
            world.restore(stored)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{path}: not a readable checkpoint ({error}); start the run anew") from None


if __name__ == "__main__":
    import wilkins

    sys.exit(wilkins.main(["train", *sys.argv[1:]]))

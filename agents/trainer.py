"""Training, once for all games: a masked PPO, its progress, evaluations, best agent, lessons, checkpoints and curves.

What is particular to a game stands in one module of `games/`, which fulfils `Game`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Protocol, cast

import gymnasium
import numpy as np
import sb3_contrib
import stable_baselines3
import torch as th
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import HParam, configure
from stable_baselines3.common.utils import LinearSchedule, get_device, set_random_seed
from stable_baselines3.common.vec_env import VecEnv

from agents import checkpoints
from agents.checkpoints import Worlds
from agents.runs import CONFIG, RECORD, Checkpoint, Record, Run, load_run
from agents.settings import Chosen, Sought, settings_of
from env.errors import UserError
from env.files import sole_writer, write_whole
from env.flags import Within, check_numbers

STOPS = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
"""Signals that ask to stop: Ctrl-C, and what a system sends when it shuts down or a terminal closes."""


@dataclass(frozen=True)
class Settings:
    """How to train; the same for all games."""

    name: str | None = None
    """Name of the run below `runs`; the game's world and the time when left out."""
    runs: Path = Path("runs")
    """Folder that holds the runs."""
    resume: Path | None = None
    """Run folder to go on with; its own settings are used, all other flags but those of its place are ignored."""
    checkpoint: str = "last"
    """Where to resume from: last, best, or the steps of a checkpoint; what was trained after it is dropped."""
    seed: Annotated[int, Within(0, 2**32 - 1)] = 0
    """Same seed, same machine: same result, byte for byte."""
    steps: Annotated[int, Within(1, 10**12)] = 300_000
    """Calls that the agent makes during training."""
    games: Annotated[int, Within(1, 65_536)] = 256
    """Rounds that are played at once."""
    horizon: Annotated[int, Within(1, 65_536)] = 32
    """Calls of every round between two updates."""
    batch: Annotated[int, Within(2, 2**22), Sought(128, 2048, log=True)] = 512
    """Calls in a minibatch."""
    epochs: Annotated[int, Within(1, 1000), Sought(1, 8)] = 3
    """Passes over the collected calls in an update."""
    learning_rate: Annotated[float, Within(0.0, 1.0), Sought(1e-4, 1e-2, log=True)] = 1e-3
    """Adam's step size at the start; falls linearly to a twentieth."""
    entropy: Annotated[float, Within(0.0, 1.0), Sought(1e-4, 3e-2, log=True)] = 0.003
    """Weight of the entropy bonus."""
    discount: Annotated[float, Within(0.0, 1.0)] = 1.0
    """What a reward one call later is worth; at 1 the return is the game's own score."""
    gae_lambda: Annotated[float, Within(0.0, 1.0), Sought(0.8, 1.0)] = 0.95
    """Bias against variance in the advantage estimate."""
    clip: Annotated[float, Within(0.0, 1.0), Sought(0.1, 0.4)] = 0.2
    """How far an update may move an action's probability."""
    evaluations: Annotated[int, Within(1, 10**6)] = 12
    """How often the agent is evaluated and a checkpoint is kept."""
    keep: Annotated[int, Within(1, 10**6)] = 20
    """Checkpoints that stay on disk: the last ones, and in any case the best."""
    lessons: Annotated[int, Within(0, 1000)] = 3
    """Rounds in which the trained agent is taught what the game's teacher finds."""
    device: str = "auto"
    """Where the network is trained: cpu, cuda, or auto."""


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation found."""

    scores: Mapping[str, float]
    """What the console shows, by name; one of them is the game's `best_by`. Curves: `eval/NAME_score`."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Further curves: `eval/NAME`."""
    spread: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Histograms, float32 [rounds]: `eval/NAME`."""


class Game(Protocol):
    """What the trainer asks of a game."""

    @property
    def name(self) -> str:
        """The game in a word, as in `wilkins train NAME`."""

    @property
    def title(self) -> str:
        """What its runs are called where no name is given: its package, say."""

    @property
    def choices(self) -> Any:
        """The game's own settings, a dataclass, complete: paths absolute, defaults filled in."""

    @property
    def world(self) -> Mapping[str, Any]:
        """What a run is tied to, for its configuration: digests and sizes. A run goes on only where they are equal."""

    @property
    def elsewhere(self) -> str:
        """What a user does who has a run of another world, as half a sentence."""

    @property
    def best_by(self) -> str:
        """The score by which the best agent is kept."""

    @property
    def policy(self) -> type[MaskableActorCriticPolicy]:
        """The network's class."""

    @property
    def policy_arguments(self) -> Mapping[str, Any]:
        """What its constructor takes besides the spaces."""

    @property
    def rollout_buffer(self) -> type | None:
        """Class of the rollout buffer, None for the library's."""

    def worlds(self, games: int) -> Worlds:
        """As many rounds in step, fresh."""

    def evaluate(self, policy: Any) -> Evaluation:
        """Scores of a policy; the same policy has the same scores, and no global random generator moves."""

    def sample(self, policy: Any, seed: int) -> Mapping[str, float]:
        """Scores x100 of one draw of the world, by its conditions (a noise level, say): the same draw for every policy.

        Drawn apart from what trainings and evaluations see; no global random generator moves.
        """

    def teach(self, policy: Any, seed: int, status: Callable[[str], AbstractContextManager[Any]]) -> float:
        """One lesson: improve the policy in place by what a teacher finds; returns the loss. `status` says what goes on."""

    def export(self, run: Run, console: Console) -> None:
        """Write what leaves the run."""


def train(game: Game, settings: Settings, console: Console) -> tuple[Run, bool]:
    """Train to the last lesson, or until the user stops it; the run, and whether it is finished.

    Begins a run, or goes on with `settings.resume`. Raises UserError for settings that nothing can be trained with, for
    a run at which another command is at work, and for one that is damaged.
    """
    check(game, settings)
    run = begun(game, settings) if settings.resume is None else load_run(settings.resume, game.name)
    require(run, game)
    with sole_writer(run.folder, "training"), curves_fail_once():
        try:
            watch = Watch(game, settings, run, console)
            finished = learn(watch) and taught(watch)
        except OSError as error:  # TensorBoard writes on its own
            require_there(run)
            what = "the curves" if error.filename is None else os.fsdecode(error.filename)
            raise UserError(
                f"cannot write {what} in {run.folder}: {error.strerror or error}; "
                f"mend that, then go on with --resume {run.folder}"
            ) from None
    return run, finished


def begun(game: Game, settings: Settings) -> Run:
    """A new run, with its `config.json` written."""
    name = settings.name or f"{game.title}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder = settings.runs / name
    if (folder / CONFIG).exists():
        raise UserError(f"{folder} holds a run already; go on with --resume {folder}, or choose another --name")
    config = {
        "game": game.name,
        "settings": dataclasses.asdict(dataclasses.replace(settings, name=name)),
        "choices": dataclasses.asdict(game.choices),
        "world": dict(game.world),
        "versions": {
            "wilkins": version("wilkins"),
            "python": platform.python_version(),
            **{module.__name__: module.__version__ for module in (th, np, gymnasium, stable_baselines3, sb3_contrib)},
        },
    }
    write_whole(folder / CONFIG, json.dumps(config, indent=2, default=str) + "\n")
    return load_run(folder, game.name)


def resumed(settings: Settings, choices: type[Chosen], game: str) -> tuple[Settings, Chosen]:
    """Settings and the game's choices as the run `settings.resume` had them. Raises UserError for a damaged one."""
    assert settings.resume is not None
    run = load_run(settings.resume, game)
    stored = settings_of(run, "settings", Settings)
    return dataclasses.replace(stored, resume=settings.resume, checkpoint=settings.checkpoint), settings_of(
        run, "choices", choices
    )


def require(run: Run, game: Game) -> None:
    """Raises UserError where a run was trained in another world than the game's, with what differs."""
    for key, here in game.world.items():
        there = run.config["world"].get(key)
        if there != here:
            raise UserError(
                f"{run.folder}: trained in another world: its {key} is {str(there)[:80]}, here it is {here}; "
                f"{game.elsewhere}, or train a new run"
            )


def require_there(run: Run) -> None:
    """Raises UserError where a run's folder vanished while it was trained."""
    if not (run.folder / CONFIG).exists():
        raise UserError(f"the run folder {run.folder} is gone; nothing more can be kept, so training ends")


@contextmanager
def curves_fail_once() -> Iterator[None]:
    """Let the failure of the thread that writes the curves be told once: TensorBoard raises it again in the main one."""
    previous = threading.excepthook

    def hook(failed: threading.ExceptHookArgs) -> None:
        if not isinstance(failed.exc_value, OSError):
            previous(failed)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = previous


def check(game: Game, settings: Settings) -> None:
    """Raises UserError for settings that nothing can be trained with, before anything is allocated."""
    check_numbers(game.choices)
    check_numbers(settings)
    calls = settings.games * settings.horizon
    if not 2 <= calls <= 2**22 or calls % settings.batch == 1:
        told = f"--games {settings.games} --horizon {settings.horizon} --batch {settings.batch}"
        if calls > 2**22:
            raise UserError(f"{told}: an update of {calls} calls; at most {2**22} are possible")
        raise UserError(
            f"{told}: an update of {calls} calls leaves a minibatch of a single call, which cannot be normalised; "
            "choose another --batch"
        )
    try:
        get_device(settings.device)
    except RuntimeError:
        raise UserError(f"--device {settings.device}: choose cpu, cuda or auto") from None


def make_agent(game: Game, settings: Settings) -> tuple[MaskablePPO, Worlds]:
    """The algorithm and its rounds, fresh."""
    # A network this small gains nothing from more threads, and loses much where others share the machine.
    th.set_num_threads(1)
    worlds = game.worlds(settings.games)
    agent = MaskablePPO(
        game.policy,
        cast(VecEnv, worlds),
        learning_rate=LinearSchedule(settings.learning_rate, settings.learning_rate / 20, 1.0),
        n_steps=settings.horizon,
        batch_size=min(settings.batch, settings.games * settings.horizon),
        n_epochs=settings.epochs,
        gamma=settings.discount,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip,
        ent_coef=settings.entropy,
        rollout_buffer_class=game.rollout_buffer,
        policy_kwargs=dict(game.policy_arguments),
        seed=settings.seed,
        device=settings.device,
    )
    return agent, worlds


def stored_policy(game: Game, run: Run, checkpoint: str = "best") -> Any:
    """The network of a checkpoint, alone. Raises UserError for one that is missing or damaged."""
    worlds = cast(VecEnv, game.worlds(1))
    policy = game.policy(worlds.observation_space, worlds.action_space, lambda _: 0.0, **game.policy_arguments)
    checkpoints.load_parameters(run.path(run.checkpoint(checkpoint)), policy)
    return policy


def learn(watch: Watch) -> bool:
    """Train to the last step with evaluations and checkpoints; False when the user stopped it."""
    agent = watch.agent
    left = watch.settings.steps - agent.num_timesteps
    if left > 0:
        with watch.listening():
            agent.learn(left, callback=watch, reset_num_timesteps=agent.num_timesteps == 0)
    return not watch.stopped


def taught(watch: Watch) -> bool:
    """Teach the best agent in lessons, each from the best one so far; False when the user stopped it."""
    try:
        for lesson in range(watch.lessons + 1, watch.settings.lessons + 1):
            _teach(watch, lesson)
    except KeyboardInterrupt:  # a lesson that was cut off is given again
        return False
    return True


def _teach(watch: Watch, lesson: int) -> None:
    settings, agent = watch.settings, watch.agent
    best = watch.record.best
    assert best is not None  # training ends with an evaluation
    checkpoints.load_parameters(watch.run.path(best), agent.policy)
    set_random_seed(settings.seed + lesson)  # a lesson is the same whatever was done before it in this process

    def status(what: str, lesson: int = lesson) -> AbstractContextManager[Any]:
        return watch.console.status(f"lesson {lesson} of {settings.lessons}: {what}")

    loss = watch.game.teach(agent.policy, settings.seed + lesson - 1, status)
    agent.logger.record("train/lesson_loss", loss)
    watch.evaluate(lesson)


class Watch(BaseCallback):
    """Shows progress, evaluates, keeps checkpoints, and stops where the user asks."""

    def __init__(self, game: Game, settings: Settings, run: Run, console: Console):
        super().__init__()
        self.game, self.settings, self.run, self.console = game, settings, run, console
        stored = run.record()
        self.record = stored or Record(game.best_by)
        if self.record.best_by != game.best_by:
            raise UserError(f"{run.folder / RECORD}: damaged (best by {self.record.best_by!r}); restore the file")
        if stored is None:  # from now on a record that is missing is a record that was lost
            run.commit(self.record)
        self.agent, self.worlds = make_agent(game, settings)
        self.agent.set_logger(configure(str(run.folder), ["tensorboard"]))
        self.stopped = self.asked_to_stop = False
        self.every = max(settings.steps // settings.evaluations, settings.games * settings.horizon)
        last = None if self.record.last is None else run.checkpoint(settings.checkpoint)
        if last is not None:
            checkpoints.restore(run.path(last), self.agent, self.worlds)
            if last != self.record.last:
                self.record = self.record.until(last)
                run.commit(self.record)
        self.lessons = 0 if last is None else last.lessons

    def _on_training_start(self) -> None:
        self.next = (self.num_timesteps // self.every + 1) * self.every
        self.begun, self.from_steps = time.monotonic(), self.num_timesteps
        columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.progress = Progress(*columns, TextColumn("{task.description}"), console=self.console)
        self.task = self.progress.add_task(
            "compiling the loops, once on a new machine", total=self.settings.steps, completed=self.num_timesteps
        )
        self.progress.start()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take signals to stop as a wish, the second one as an order; afterwards they mean what they did."""
        previous = {
            number: signal.signal(number, self._stop)
            for number in STOPS
            if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN  # nohup means it
        }
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
            if hasattr(self, "progress"):
                self.progress.stop()

    def _stop(self, *_: Any) -> None:
        if self.asked_to_stop:
            raise KeyboardInterrupt
        self.asked_to_stop = True
        if hasattr(self, "progress"):
            self.progress.update(self.task, description="stopping after this update…")

    def _on_rollout_start(self) -> None:
        # Here the last update is complete and no call is half recorded: what is saved now can go on exactly.
        if self.num_timesteps >= self.next:
            self.next += self.every
            self.evaluate()
        elif self.asked_to_stop and self.num_timesteps > (self.record.last.steps if self.record.last else 0):
            self._keep_as_stopped()
        self.stopped = self.asked_to_stop

    def _on_step(self) -> bool:
        if self.n_calls % self.settings.horizon == 0 and not self.asked_to_stop:
            rate = (self.num_timesteps - self.from_steps) / (time.monotonic() - self.begun)
            best = self.record.best
            shown = f"{rate:,.0f} steps/s" + (f"   best {self.record.best_score:.2f}" if best else "")
            self.progress.update(self.task, completed=self.num_timesteps, description=shown)
            self.logger.record("time/steps_per_second", rate)
        return not self.stopped

    def _on_training_end(self) -> None:
        if not self.stopped:
            self.evaluate()

    def evaluate(self, lesson: int = 0) -> None:
        """Score the agent, draw its curves, and keep it, all or nothing; `lesson` counts those behind it."""
        agent, steps = self.agent, self.agent.num_timesteps
        found = self.game.evaluate(agent.policy)
        for name, score in found.scores.items():
            agent.logger.record(f"eval/{name}_score", score)
        for name, figure in found.figures.items():
            agent.logger.record(f"eval/{name}", figure)
        for name, values in found.spread.items():
            agent.logger.record(f"eval/{name}", th.from_numpy(values))
        checkpoint = Checkpoint(steps, lesson, dict(found.scores))
        record = self.record.with_evaluated(checkpoint, self.settings.keep)
        if not self.record.evaluated:  # at once, so that runs that are stopped are compared too
            self._record_settings(record)
        # A lesson takes no calls; a step of its own keeps its point apart in the curves.
        agent.logger.dump(steps + lesson)
        shown = "   ".join(f"{name.replace('_', ' ')} {score:.2f}" for name, score in found.scores.items())
        when = f"{'lesson':>10} {lesson:<5}" if lesson else f"{steps:>10,} steps"
        self.console.print(f"{when}   {shown}", highlight=False, soft_wrap=True)
        self._commit(checkpoint, record)
        self.lessons = lesson

    def _keep_as_stopped(self) -> None:
        checkpoint = Checkpoint(self.num_timesteps)
        self._commit(checkpoint, dataclasses.replace(self.record, stopped=checkpoint))

    def _commit(self, checkpoint: Checkpoint, record: Record) -> None:
        require_there(self.run)
        checkpoints.save(self.run.path(checkpoint), self.agent, self.worlds)
        self.run.commit(record)
        self.record = record

    def _record_settings(self, record: Record) -> None:
        chosen = {**dataclasses.asdict(self.settings), **dataclasses.asdict(self.game.choices)}
        plain = {name: value for name, value in chosen.items() if isinstance(value, int | float | str)}
        metric = {f"eval/{self.game.best_by}_score": record.best_score}
        self.agent.logger.record("hparams", HParam(plain, metric), exclude=("stdout", "log", "json", "csv"))

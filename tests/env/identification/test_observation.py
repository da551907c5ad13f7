"""Claims about what a player sees: every feature recomputed plainly from its name, and what is listed when."""

import numpy as np
import pytest

from env.identification.belief import Likelihood
from env.identification.observation import ASK_FEATURES, GUESS_FEATURES, STATE_FEATURES, Observer, Shortlist, rows

BUDGET = 15
CANDIDATES, QUESTIONS = 30, 18
NEAR = {"rtol": 2e-4, "atol": 2e-4}


def bits(p) -> np.ndarray:
    """Entropy of yes/no answers, float64."""
    p = np.clip(np.asarray(p, np.float64), 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.nan_to_num(p * np.log2(p)) - np.nan_to_num((1 - p) * np.log2(1 - p))


def gain_of(weight: np.ndarray, p_yes: np.ndarray) -> float:
    """Information in bits that an answer of probability `p_yes` [animals] gives about animals of `weight`."""
    mass = weight.sum()
    return float(bits(weight @ p_yes / mass) - weight @ bits(p_yes) / mass) if mass > 0 else 0.0


class Game:
    """One game of a batch, its features computed slowly, question by question."""

    def __init__(self, p_yes, belief, asked, calls, noise, shortlist):
        self.p_yes, self.belief, self.asked, self.noise = p_yes, belief, asked, noise
        self.left = BUDGET - calls
        gains = [gain_of(belief, p_yes[:, q]) for q in range(p_yes.shape[1])]
        steps = [round(gain * 1e5) for gain in gains]
        fresh = [q for q in range(p_yes.shape[1]) if not asked[q]] if self.left > 1 else []
        self.ask_ids = sorted(fresh, key=lambda q: (-steps[q], q))[: shortlist.asks]
        likely = sorted(np.flatnonzero(belief > 0), key=lambda c: (-np.float32(belief[c]), c))
        self.focus = likely[: max(shortlist.focus, shortlist.guesses, 8)]
        self.guess_ids = likely[: shortlist.guesses]
        self.gain = {q: gains[q] for q in self.ask_ids}
        self.best = max(self.gain.values(), default=0.0)
        self.two_step = {q: self.gain[q] + self.next_gain(q) for q in self.ask_ids}

    def branches(self, q):
        """Mass of the animals in focus that comes with a yes to `q`, and with a no."""
        weight, yes = self.belief[self.focus], self.p_yes[self.focus, q]
        return weight * yes, weight * (1 - yes)

    def next_gain(self, q):
        """Expected gain of the best other listed question after the answer to `q`, over the animals in focus."""
        others = [other for other in self.ask_ids if other != q]
        return sum(
            mass.sum() * max((gain_of(mass, self.p_yes[self.focus, other]) for other in others), default=0.0)
            for mass in self.branches(q)
        )

    def ask_feature(self, name, q):
        first, second = self.focus[0], self.focus[min(1, len(self.focus) - 1)]
        yes = float(self.belief @ self.p_yes[:, q])
        return {
            "information gain": lambda: self.gain[q],
            "information gain below the best": lambda: self.best - self.gain[q],
            "imbalance of the predicted answer": lambda: abs(yes - (1 - yes)),
            "expected reliability of the answer": lambda: 1 - self.belief @ bits(self.p_yes[:, q]),
            "two-step information gain": lambda: self.two_step[q],
            "two-step information gain below the best": lambda: max(self.two_step.values()) - self.two_step[q],
            "chance that the next guess is right": lambda: sum(mass.max() for mass in self.branches(q)),
            "chance that the next two guesses are right": lambda: sum(
                np.sort(mass)[-2:].sum() for mass in self.branches(q)
            ),
            "reliability for the likeliest animal": lambda: abs(2 * self.p_yes[first, q] - 1),
            "how far it separates the two likeliest animals": lambda: abs(self.p_yes[first, q] - self.p_yes[second, q]),
        }[name]()

    def guess_feature(self, name, rank):
        posterior = self.belief[self.guess_ids]
        return {
            "posterior": posterior[rank],
            "log of the posterior": np.log(max(posterior[rank], 1e-6)) / 5,
            "posterior as a share of the likeliest": posterior[rank] / posterior[0],
            "posterior of the rest": 1 - posterior[: rank + 1].sum(),
            "is the likeliest": rank == 0,
        }[name]

    def state_feature(self, name):
        positive = self.belief[self.belief > 0]
        unsure = -(positive * np.log2(positive)).sum()
        if name.startswith("posterior of animal "):
            rank = int(name.rsplit(" ", 1)[1]) - 1
            return self.belief[self.focus[rank]] if rank < len(self.focus) else 0.0
        return {
            "share of calls left": self.left / BUDGET,
            "entropy of the belief, in tens of bits": unsure / 10,
            "bits that the calls left cannot cover, in tens": (unsure - self.left) / 10,
            "information gain of the best question": self.best,
            "calls that the best question would need, as a share of the budget": min(
                unsure / max(self.best, 0.05) / BUDGET, 2
            ),
            "assumed noise": self.noise,
            "mass of the animals in focus": self.belief[self.focus].sum(),
            "tens of bits of the effective number of candidates": np.log2(1 / (self.belief**2).sum()) / 10,
        }[name]


def play(noise: float, seed: int, shortlist: Shortlist):
    """Observation of twelve games in mid-play, and the same games computed slowly."""
    rng = np.random.default_rng(seed)
    likelihood = Likelihood.from_margins(rng.normal(0, 1.3, (CANDIDATES, QUESTIONS)).astype(np.float32), noise)
    games = 12
    belief = np.concatenate([rng.dirichlet(np.full(CANDIDATES, alpha), games // 3) for alpha in (0.1, 1.0, 10.0)])
    belief[belief < 1e-4] = 0
    belief[:2] = 0
    belief[0, 7] = 1
    belief[1, [3, 20, 11]] = [0.5, 0.25, 0.25]
    belief /= belief.sum(axis=1, keepdims=True)
    asked = rng.random((games, QUESTIONS)) < 0.3
    calls = rng.integers(0, BUDGET, games)
    calls[-1] = BUDGET - 1
    observation = Observer([likelihood], [noise], np.arange(CANDIDATES), BUDGET, shortlist).observe(
        belief, asked, calls
    )
    slow = [Game(likelihood.p_yes, belief[g], asked[g], int(calls[g]), noise, shortlist) for g in range(games)]
    return observation, slow


@pytest.fixture(
    scope="module",
    params=[(0.0, Shortlist(6, 3, 10)), (0.1, Shortlist(6, 3, 10)), (0.5, Shortlist()), (0.2, Shortlist(1, 9, 2))],
    ids=lambda param: f"noise {param[0]}, {param[1].asks} asks, {param[1].guesses} guesses, {param[1].focus} in focus",
)
def played(request):
    noise, shortlist = request.param
    return play(noise, 11, shortlist)


def test_questions_stand_by_falling_gain_animals_by_falling_posterior_and_absent_ones_are_minus_one(played):
    observation, slow = played
    for g, game in enumerate(slow):
        for ids, expected in ((observation["ask_ids"][g], game.ask_ids), (observation["guess_ids"][g], game.guess_ids)):
            assert ids.tolist() == [*expected, *[-1] * (len(ids) - len(expected))]


@pytest.mark.parametrize("name", ASK_FEATURES)
def test_each_question_feature_is_what_its_name_says(played, name):
    observation, slow = played
    column = observation["asks"][:, :, ASK_FEATURES.index(name)]
    for g, game in enumerate(slow):
        expected = np.zeros(column.shape[1])
        expected[: len(game.ask_ids)] = [game.ask_feature(name, q) for q in game.ask_ids]
        np.testing.assert_allclose(column[g], expected, **NEAR, err_msg=f"game {g}")


@pytest.mark.parametrize("name", GUESS_FEATURES)
def test_each_guess_feature_is_what_its_name_says(played, name):
    observation, slow = played
    column = observation["guesses"][:, :, GUESS_FEATURES.index(name)]
    for g, game in enumerate(slow):
        expected = np.zeros(column.shape[1])
        expected[: len(game.guess_ids)] = [game.guess_feature(name, rank) for rank in range(len(game.guess_ids))]
        np.testing.assert_allclose(column[g], expected, **NEAR, err_msg=f"game {g}")


@pytest.mark.parametrize("name", STATE_FEATURES)
def test_each_feature_of_the_state_is_what_its_name_says(played, name):
    observation, slow = played
    column = observation["state"][:, STATE_FEATURES.index(name)]
    np.testing.assert_allclose(column, [game.state_feature(name) for game in slow], **NEAR)


def observer(margin, noise=0.0, shortlist: Shortlist = Shortlist(), candidates=None) -> Observer:
    margin = np.asarray(margin, np.float32)
    likelihood = Likelihood.from_margins(margin, noise)
    return Observer(
        [likelihood], [noise], np.arange(len(margin)) if candidates is None else candidates, BUDGET, shortlist
    )


def test_on_the_last_call_no_question_is_listed_because_its_answer_could_not_be_used():
    margin = np.random.default_rng(0).normal(size=(8, 5))
    for calls in (BUDGET - 1, BUDGET):
        seen = observer(margin).observe(np.full((1, 8), 1 / 8), np.zeros((1, 5), bool), np.array([calls]))
        assert (seen["ask_ids"] == -1).all()
        assert (seen["asks"] == 0).all()
        assert seen["guess_ids"][0].tolist() == [0, 1, 2]
    seen = observer(margin).observe(np.full((1, 8), 1 / 8), np.zeros((1, 5), bool), np.array([BUDGET - 2]))
    assert (seen["ask_ids"] >= 0).all()


def test_a_question_that_was_asked_is_not_listed_again():
    seen = observer(np.eye(6) - 0.5).observe(
        np.full((1, 6), 1 / 6), np.array([[True, False, True, False, False, True]]), np.array([3])
    )
    assert seen["ask_ids"][0].tolist() == [1, 3, 4, -1, -1, -1]


def test_a_shortlist_wider_than_the_pools_lists_all_there_is():
    seen = observer(np.array([[1, -1], [-1, 1]]), shortlist=Shortlist(asks=50, guesses=5, focus=99)).observe(
        np.full((1, 2), 0.5), np.zeros((1, 2), bool), np.array([0])
    )
    assert seen["asks"].shape == (1, 2, len(ASK_FEATURES))
    assert seen["guesses"].shape == (1, 5, len(GUESS_FEATURES))
    assert seen["ask_ids"].tolist() == [[0, 1]]
    assert seen["guess_ids"].tolist() == [[0, 1, -1, -1, -1]]
    assert (seen["guesses"][0, 2:] == 0).all()


def test_questions_that_split_as_evenly_and_animals_as_likely_stand_by_identifier():
    # Eight animals, questions 1 to 6 split them evenly in different ways, 0 and 7 do not.
    even = [[(animal * 5 + 3 * q) % 8 < 4 for q in range(6)] for animal in range(8)]
    margin = np.array([[animal == 0, *row, animal == 1] for animal, row in enumerate(even)]) - 0.5
    seen = observer(margin).observe(np.full((1, 8), 1 / 8), np.zeros((1, 8), bool), np.array([0]))
    assert seen["ask_ids"][0].tolist() == [1, 2, 3, 4, 5, 6, 0, 7]
    assert seen["guess_ids"][0].tolist() == [0, 1, 2]


def test_guesses_are_named_by_animal_not_by_place_among_the_candidates():
    animals = np.array([4, 9, 17])
    seen = observer(np.eye(3) - 0.5, candidates=animals).observe(
        np.array([[0.2, 0.3, 0.5]]), np.zeros((1, 3), bool), np.array([0])
    )
    assert seen["guess_ids"][0].tolist() == [17, 9, 4]


def test_a_game_looks_the_same_alone_as_in_a_batch():
    rng = np.random.default_rng(2)
    margin = rng.normal(0, 1.3, (60, 40)).astype(np.float32)
    watching = observer(margin, noise=0.1)
    belief, asked, calls = rng.dirichlet(np.full(60, 0.3), 25), rng.random((25, 40)) < 0.2, rng.integers(0, 15, 25)
    together = watching.observe(belief, asked, calls)
    for game in range(25):
        one = slice(game, game + 1)
        alone = watching.observe(belief[one], asked[one], calls[one])
        for key, values in rows(together, one).items():
            assert values.tobytes() == alone[key].tobytes()


def test_each_game_is_seen_under_its_own_noise_level():
    rng = np.random.default_rng(4)
    margin = rng.normal(0, 1.3, (20, 10)).astype(np.float32)
    levels = [0.0, 0.1, 0.3]
    several = Observer([Likelihood.from_margins(margin, n) for n in levels], levels, np.arange(20), BUDGET)
    belief, asked, calls = rng.dirichlet(np.ones(20), 6), np.zeros((6, 10), bool), np.arange(6)
    level = np.array([2, 0, 1, 1, 2, 0])
    together = several.observe(belief, asked, calls, level)
    for game in range(6):
        one = slice(game, game + 1)
        alone = observer(margin, noise=levels[level[game]]).observe(belief[one], asked[one], calls[one])
        for key, values in rows(together, one).items():
            assert values.tobytes() == alone[key].tobytes()

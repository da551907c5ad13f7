"""LLM 20 Questions as a Gymnasium environment: one game, one hidden keyword, answers drawn around the table."""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from env.errors import UserError
from env.identification.observation import Observation, Shortlist
from env.keywords.belief import Belief, Noise, Transcript
from env.keywords.comparison import ROUNDS, same
from env.keywords.observation import observation_space, observe
from env.keywords.package import load_keywords
from env.keywords.rules import SCALE, reward
from env.keywords.world import SHARES, Partner, World, partner_answers, world_of

SHORTLIST = Shortlist(asks=16, guesses=3, focus=64)
"""More keywords in focus than the animal game has: twenty guesses cover more."""

STRANGE = 1 / 3
"""Share of the questions that a keyword in no list answers like another keyword than the one it is most like."""


def assumed(
    world: World | str | None,
    partner: Partner | tuple[float, float],
    noise: Partner | Noise | None,
    shares: tuple[float, ...],
) -> Belief:
    """What a player assumes who is told how partners err, or `noise` instead; of a range it is told nothing."""
    if not isinstance(world, World):
        world = world_of(load_keywords(world))
    told = noise if noise is not None else Noise.unknown(world) if isinstance(partner, tuple) else partner
    if not isinstance(told, Noise):
        told = Noise.by_clarity(world) if told == "clarity" else Noise.flat(float(told), world.answers.shape[1])
    return Belief.of(world, told, shares)


def drawn_from(world: World, shares: tuple[float, ...]) -> np.ndarray:
    """Probability of each keyword, float64 [keywords], sums to 1."""
    mass = world.prior(shares).astype(np.float64)
    return mass / mass.sum()


def hidden_keyword(
    world: World, partner: Partner, mass: np.ndarray, outside: float, random: np.random.Generator
) -> tuple[int, np.ndarray]:
    """A keyword drawn from the prior `mass` (-1: it is in no list) and its partner's answers, bool [questions]."""
    keyword = int(random.choice(len(mass), p=mass))
    if random.random() >= outside:
        return keyword, answers_about(world, partner, keyword, random)
    other = int(random.choice(len(mass), p=mass))
    mixed = np.where(random.random(world.answers.shape[1]) < STRANGE, world.answers[other], world.answers[keyword])
    return -1, partner_answers(mixed, world.rates(partner, np.array([keyword]))[0], random)


def answers_about(world: World, partner: Partner, keyword: int, random: np.random.Generator) -> np.ndarray:
    """Whether a partner says yes to every question about a listed keyword, bool [questions]."""
    return partner_answers(world.answers[keyword], world.rates(partner, np.array([keyword]))[0], random)


def partner_of(partner: Partner | tuple[float, float], random: np.random.Generator) -> Partner:
    """How one game's partner errs; drawn evenly where `partner` is a range of rates."""
    return float(random.uniform(*partner)) if isinstance(partner, tuple) else partner


def whole_number(value: Any, size: int) -> int | None:
    """`value` as an integer of 0..size-1, None where it is no such integer."""
    try:
        index = operator.index(value)
    except TypeError:
        return None
    return index if 0 <= index < size else None


class KeywordsEnv(gymnasium.Env[Observation, np.int64]):
    """Guess a keyword with a partner who answers yes or no, and may err.

    ## Description
    A keyword is drawn by tier, or is in no list. A game has 20 rounds; each is a question, answered by a partner
    around the world's table of yes, no and tie, and then a guess. The first right guess ends the game. Guesses
    compare by the real rule, under which "the", spaces, punctuation and a final s or es make no difference.

    ## Action Space
    `Discrete(questions + keywords)`: questions first. Turns alternate: a question, then a guess. `action_masks()`
    allows what the turn is for and was not done before. Any other action is legal and wastes the turn: a keyword
    where a question is due asks nothing, a question where a guess is due is a wrong guess, and a repeated question
    is answered as before. A value outside the space raises ValueError and costs nothing.

    ## Observation Space
    A `Dict` of features of the belief (see `env.keywords.observation` for the meaning of every column):

    | key | shape | type | content |
    | --- | --- | --- | --- |
    | `asks` | [shortlist.asks, 13] | float32 | features of the most informative questions |
    | `ask_ids` | [shortlist.asks] | int32 | their identifiers, -1 where there are no more, or a guess is due |
    | `guesses` | [shortlist.guesses, 5] | float32 | features of the likeliest keywords |
    | `guess_ids` | [shortlist.guesses] | int32 | their identifiers, -1 where there are no more, or a question is due |
    | `state` | [20] | float32 | features of the whole belief, rounds left, what is thought of the partner |

    ## Starting State
    Prior mass by tier, nothing said. `reset(options={"keyword": name_or_id})` fixes the keyword. The partner's
    answers are drawn then and stay fixed for the game; a tie is answered by a coin.

    ## Rewards
    0 until the game ends; then the real reward times 1/20: 21 minus the round of the right guess, which is 1 in
    the first round and 0.05 in the last, or -1 when lost, which is -0.05.

    ## Episode End
    Terminated by a right guess, or by the guess of round 20. Never truncated.

    ## Information
    `round` (from 1); `transcript`, a list of (action, what came of it) in words; at the end `solved` and `reward`,
    the real one.

    ## Arguments
    - `world`: a `World`, a folder with a keyword package, or None for the embedded one.
    - `partner`: how a partner errs: a rate, `clarity`, or two rates between which each game's is drawn.
    - `noise`: what the belief assumes: a rate, `clarity` (hardness unknown), or a `Noise`; by default as `partner`
      is, and for a range that nothing is known.
    - `shares`: share of the games by tier, from which keywords are drawn.
    - `assumed_shares`: what the belief assumes; `shares` when None.
    - `outside`: share of the games whose keyword is in no list; such a game cannot be won.
    - `shortlist`: how many questions and keywords are described.
    - `render_mode`: `ansi` gives the transcript in words.

    ## References
    The game of kaggle-environments 1.16.11, `llm_20_questions`; Lindley 1956 for information gain.

    ## Version History
    - v0: first version.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  (Gymnasium's own form)

    def __init__(
        self,
        world: World | str | None = None,
        partner: Partner | tuple[float, float] = 0.1,
        noise: Partner | Noise | None = None,
        shares: tuple[float, ...] = SHARES,
        assumed_shares: tuple[float, ...] | None = None,
        outside: float = 0.0,
        shortlist: Shortlist = SHORTLIST,
        render_mode: str | None = None,
    ):
        self.belief = assumed(world, partner, noise, shares if assumed_shares is None else assumed_shares)
        self.world = self.belief.world
        self.partner, self.outside, self.shortlist, self.render_mode = partner, outside, shortlist, render_mode
        self.prior = drawn_from(self.world, shares)
        self.keywords, self.questions = self.world.answers.shape
        self.action_space: spaces.Discrete = spaces.Discrete(self.questions + self.keywords)
        self.observation_space = observation_space(shortlist, self.questions, self.keywords)  # type: ignore[assignment]
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a game; `options={"keyword": name_or_id}` fixes the keyword (UserError if unknown).

        A refused keyword leaves the game as it was.
        """
        wanted = (options or {}).get("keyword")
        fixed = None if wanted is None else self._fixed(wanted)
        super().reset(seed=seed)
        partner = partner_of(self.partner, self.np_random)
        self.keyword, self._row = hidden_keyword(self.world, partner, self.prior, self.outside, self.np_random)
        if fixed is not None:
            self.keyword, self._row = fixed, answers_about(self.world, partner, fixed, self.np_random)
        self._seen, self._turn = Transcript.empty(1), 0
        self._transcript: list[tuple[str, str]] = []
        self._solved = self._over = False
        return self._observation(), self._info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one turn; see the class for what it gives."""
        if self._over:
            raise RuntimeError("the game is over; call reset() first")
        chosen = whole_number(action, self.questions + self.keywords)
        if chosen is None:
            raise ValueError(f"action {action!r} is neither a question nor a guess; give 0..{self.action_space.n - 1}")
        number, guessing = divmod(self._turn, 2)
        if guessing:
            self._guess(number, chosen)
        else:
            self._ask(number, chosen)
        self._turn += 1
        self._over = self._solved or self._turn == 2 * ROUNDS
        return self._observation(), SCALE * self._paid() if self._over else 0.0, self._over, False, self._info()

    def action_masks(self) -> np.ndarray:
        """What the turn is for and was not done before, bool [questions + keywords]."""
        mask = np.zeros(self.questions + self.keywords, dtype=bool)
        if self._turn % 2:
            mask[self.questions :] = True
            guessed = self._seen.guessed[0]
            mask[self.questions + guessed[guessed >= 0]] = False
        else:
            mask[: self.questions] = True
            asked = self._seen.asked[0]
            mask[asked[asked >= 0]] = False
        return mask

    def render(self) -> str | None:
        """The transcript in words, a line a turn, when `render_mode` is `ansi`."""
        if self.render_mode != "ansi":
            return None
        lines = [f"{turn // 2 + 1:2d}. {said} {came}" for turn, (said, came) in enumerate(self._transcript)]
        if self._over:
            lines.append(f"{'solved' if self._solved else 'not solved'}, reward {self._paid()}")
        return "\n".join(lines)

    def _fixed(self, wanted: Any) -> int:
        if isinstance(wanted, str):
            found = next((k for k, name in enumerate(self.world.keyword_names) if same(name, wanted)), None)
        else:
            found = whole_number(wanted, self.keywords)
        if found is None:
            raise UserError(f"keyword {wanted!r} is not in 0..{self.keywords - 1}; give an identifier or a name")
        return found

    def _ask(self, number: int, chosen: int) -> None:
        if chosen >= self.questions:
            self._transcript.append(("nothing asked", "no answer"))
            return
        answer = bool(self._row[chosen])
        if chosen not in self._seen.asked[0]:
            self._seen.asked[0, number], self._seen.said[0, number] = chosen, answer
        self._transcript.append((self.world.question_name(chosen), "yes" if answer else "no"))

    def _guess(self, number: int, chosen: int) -> None:
        if chosen < self.questions:
            self._transcript.append(("nothing guessed", "wrong"))
            return
        guess = chosen - self.questions
        self._solved = guess == self.keyword
        if not self._solved:
            self._seen.guessed[0, number] = guess
        said = f"is it {self.world.keyword_name(guess)}?"
        self._transcript.append((said, "right" if self._solved else "wrong"))

    def _round(self) -> int:
        return self._turn // 2 + (0 if self._over else 1)

    def _paid(self) -> int:
        return reward(self._round() if self._solved else None)

    def _observation(self) -> Observation:
        # A finished game is described as it stands after its last turn: no round is left to decide in.
        turn = min(self._turn, 2 * ROUNDS - 1)
        begun, guessing = np.array([turn // 2]), np.array([turn % 2 == 1])
        batch = observe(self.belief, self._seen, begun, guessing, self.shortlist)
        return {key: values[0] for key, values in batch.items()}

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"round": self._round(), "transcript": list(self._transcript)}
        if self._over:
            info["solved"] = self._solved
            info["reward"] = self._paid()
        return info

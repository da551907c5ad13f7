"""The game as a Gymnasium environment: one round, one hidden animal, answers replayed from the oracle matrix."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from env.cabinet.rules import BUDGET, round_score
from env.errors import UserError
from env.identification.belief import Likelihood, require_noise, without
from env.identification.observation import Observation, Observer, Shortlist, observation_space
from env.identification.package import Package, load_package


def platform_row(
    margin: np.ndarray, noise: float, random: np.random.Generator, missing: np.ndarray | float = 0.5
) -> np.ndarray:
    """Answers that one platform gives for an animal, bool [questions]: `margin + noise * z > 0`.

    Where the margin is NaN, a yes with probability `missing` ([questions], or one for all).
    """
    row = margin > 0 if noise == 0 else margin + noise * random.standard_normal(margin.shape, np.float32) > 0
    holes = np.isnan(margin)
    return np.where(holes, random.random(margin.shape) < missing, row) if holes.any() else row


def _identifier(value: Any, size: int) -> int | None:
    """`value` as an integer of 0..size-1, None where it is no such integer."""
    try:
        index = operator.index(value)
    except TypeError:
        return None
    return index if 0 <= index < size else None


class CabinetEnv(gymnasium.Env[Observation, np.int64]):
    """Identify a hidden animal with yes/no questions.

    ## Description
    An animal is drawn from a split of a package. Each call asks one question of the pool, answered from the
    package's oracle matrix, or guesses one animal. A right guess ends the round; so does the last call.

    ## Action Space
    `Discrete(questions + animals)`: action `a < questions` asks question `a`; action `a >= questions`
    guesses animal `a - questions`. `action_masks()` allows the questions not yet asked and the candidates
    not yet guessed. Repeats are legal all the same and cost a call: a question is answered as before.
    A value outside the space raises ValueError and costs nothing.

    ## Observation Space
    A `Dict` of features of the belief (see `env.identification.observation` for the meaning of every column):

    | key | shape | type | content |
    | --- | --- | --- | --- |
    | `asks` | [shortlist.asks, 10] | float32 | features of the most informative questions |
    | `ask_ids` | [shortlist.asks] | int32 | their identifiers, -1 where there are no more |
    | `guesses` | [shortlist.guesses, 5] | float32 | features of the likeliest animals |
    | `guess_ids` | [shortlist.guesses] | int32 | their identifiers, -1 where there are no more |
    | `state` | [16] | float32 | features of the whole belief, calls left, assumed noise |

    ## Starting State
    Equal belief in every candidate, no call consumed. `reset(options={"animal": name_or_id})` fixes the
    hidden animal. With `noise` above 0 the platform's answers are drawn then and stay fixed for the round.

    ## Rewards
    0 for every call but the last; the last call gives the round score `max(0, solved - 0.02 * calls)`, so
    that the undiscounted return of a round is its score.

    ## Episode End
    Terminated by a right guess, or by consuming the 15th call. Never truncated.

    ## Information
    `calls` consumed; `transcript`, a list of (call, answer in words); at the end `solved`, `round_score`.

    ## Arguments
    - `package`: a `Package`, a folder, or None for the embedded one.
    - `split`: the animals that may be hidden: `hidden`, `dev`, `test1` or `all`.
    - `candidates`: the animals with prior mass, same names or a file; the split's when None.
    - `noise`: standard deviation of the platform's margins around the matrix's, in margin units.
    - `assumed_noise`: what the belief assumes; `noise` when None.
    - `shortlist`: how many questions and animals are described.
    - `render_mode`: `ansi` gives the transcript in words.

    ## References
    Ng, Harada and Russell 1999 on why no shaping is needed when the return is already the score; Lindley 1956
    for information gain.

    ## Version History
    - v0: first version.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  (Gymnasium's own form)

    def __init__(
        self,
        package: Package | Path | str | None = None,
        split: str = "hidden",
        candidates: str | None = None,
        noise: float = 0.0,
        assumed_noise: float | None = None,
        shortlist: Shortlist = Shortlist(),
        render_mode: str | None = None,
    ):
        self.package = package if isinstance(package, Package) else load_package(package)
        self.hidden = self.package.split(split)
        self.candidates = self.package.candidates(candidates or split)
        require_noise(noise)
        self.noise = noise
        self.render_mode = render_mode
        self.questions, self.animals = len(self.package.questions), len(self.package.animals)
        self.margin = self.package.matrix.signed_margin()
        assumed = noise if assumed_noise is None else assumed_noise
        self.missing = self.package.matrix.missing_rate
        self.likelihood = Likelihood.from_margins(self.margin[self.candidates], assumed, missing=self.missing)
        self.observer = Observer([self.likelihood], [assumed], self.candidates, BUDGET, shortlist)
        self.action_space: spaces.Discrete = spaces.Discrete(self.questions + self.animals)
        self.observation_space = observation_space(shortlist, self.questions, self.animals)  # type: ignore[assignment]
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a round; `options={"animal": name_or_id}` fixes the hidden animal (UserError if unknown).

        A refused animal leaves the round as it was.
        """
        wanted = (options or {}).get("animal")
        fixed = None if wanted is None else self._fixed(wanted)
        super().reset(seed=seed)
        drawn = int(self.hidden[self.np_random.integers(len(self.hidden))])
        self.animal = drawn if fixed is None else fixed
        self._row = platform_row(self.margin[self.animal], self.noise, self.np_random, self.missing)
        self._belief = self.likelihood.prior(1)
        self._asked: dict[int, bool] = {}
        self._guessed: set[int] = set()
        self._transcript: list[tuple[str, str]] = []
        self._solved = self._over = False
        return self._observation(), self._info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Make one call; see the class for what it costs and gives."""
        if self._over:
            raise RuntimeError("the round is over; call reset() first")
        chosen = _identifier(action, self.questions + self.animals)
        if chosen is None:
            raise ValueError(f"action {action!r} is neither a question nor a guess; give 0..{self.action_space.n - 1}")
        if chosen < self.questions:
            self._ask(chosen)
        else:
            self._guess(chosen - self.questions)
        self._over = self._solved or len(self._transcript) >= BUDGET
        reward = round_score(self._solved, len(self._transcript)) if self._over else 0.0
        return self._observation(), reward, self._over, False, self._info()

    def action_masks(self) -> np.ndarray:
        """Which actions can still help, bool [questions + animals]: no repeats, no animal without prior mass."""
        mask = np.zeros(self.questions + self.animals, dtype=bool)
        mask[: self.questions] = True
        mask[list(self._asked)] = False
        mask[self.questions + self.candidates] = True
        mask[[self.questions + animal for animal in self._guessed]] = False
        return mask

    def render(self) -> str | None:
        """The transcript in words, a line a call, when `render_mode` is `ansi`."""
        if self.render_mode != "ansi":
            return None
        lines = [f"{number:2d}. {call} {answer}" for number, (call, answer) in enumerate(self._transcript, start=1)]
        if self._over:
            score = round_score(self._solved, len(self._transcript))
            lines.append(f"{'solved' if self._solved else 'not solved'}, round score {score:.2f}")
        return "\n".join(lines)

    def _fixed(self, wanted: Any) -> int:
        animal = self.package.animals.find(wanted) if isinstance(wanted, str) else _identifier(wanted, self.animals)
        if animal is None:
            raise UserError(f"animal {wanted!r} is not in 0..{self.animals - 1}; give an identifier or a name")
        self.package.measured(np.array([animal]), f"the hidden animal {self.package.animals.names[animal]!r}")
        return animal

    def _ask(self, question: int) -> None:
        repeated = question in self._asked
        answer = self._asked.setdefault(question, bool(self._row[question]))
        self._transcript.append((self.package.questions.names[question], "yes" if answer else "no"))
        if repeated:
            return
        self._belief = self.likelihood.updated(self._belief, np.array([question]), np.array([answer]))
        if not self._belief.any():
            asked = np.array(list(self._asked))
            answers = np.array(list(self._asked.values()))
            excluded = np.isin(self.candidates, list(self._guessed))
            self._belief = self.likelihood.likeliest_by_margin(asked, answers, excluded)[None]

    def _guess(self, animal: int) -> None:
        self._solved = animal == self.animal
        self._transcript.append(
            (f"is it the {self.package.animals.names[animal]}?", "right" if self._solved else "wrong")
        )
        if self._solved:
            return
        self._guessed.add(animal)
        place = np.flatnonzero(self.candidates == animal)
        self._belief = without(self._belief, place[:1] if place.size else np.array([-1]))
        if not self._belief.any():
            asked = np.array(list(self._asked), dtype=np.int64)
            answers = np.array(list(self._asked.values()), dtype=bool)
            excluded = np.isin(self.candidates, list(self._guessed))
            self._belief = self.likelihood.likeliest_by_margin(asked, answers, excluded)[None]

    def _observation(self) -> Observation:
        asked = np.zeros((1, self.questions), dtype=bool)
        asked[0, list(self._asked)] = True
        batch = self.observer.observe(self._belief, asked, np.array([len(self._transcript)]))
        return {key: values[0] for key, values in batch.items()}

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"calls": len(self._transcript), "transcript": list(self._transcript)}
        if self._over:
            info["solved"] = self._solved
            info["round_score"] = round_score(self._solved, len(self._transcript))
        return info

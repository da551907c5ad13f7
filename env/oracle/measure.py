"""Margins and answers of many animals and questions, a trie of prompts at a time. Knows no files and no packages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch

from env.errors import UserError, first_line
from env.oracle.journal import Row, Wanted
from env.oracle.prompt import NEW_TOKENS, ChatPrompts, decided, read_reply, reading_tokens
from env.oracle.trie import Pack, grow

PASS_TOKENS = {"cpu": 1024, "cuda": 16384}
"""Tokens of one pass that keep the device's matrix units busy; more would only cost memory."""

PACK_TOKENS = 1024
"""Nodes of one pack: attention costs their square, so packs stay far below a whole trie."""

SMALLEST_PACK = 32

OUT_OF_MEMORY = "one animal and the smallest pack; use a smaller dtype, model or another device"

FAULTS = (RuntimeError, ValueError, IndexError, TypeError, KeyError, AttributeError)
"""What a model's code raises when it is given what it was not written for."""

RECURRENT = {"conv", "hybrid", "hybrid_sliding", "linear_attention", "mamba", "recurrent"}
"""Types of layers that keep a recurrent state, by the names that releases of transformers have given them."""

Fitting = TypeVar("Fitting")

ALLOWED = ((0.01, 1e-4), (0.25, 0.1))
"""How far margins of a trie may be from those of single prompts, as a share of their spread and beyond it: in float32, in halves.

In bfloat16 two numerics of a real chat model were 0.08 apart, of a spread of 0.26; models that read the mask in their
own way, tiny ones of random weights, were off by 0.45 of the spread (MPT) and more.
"""


@dataclass(frozen=True)
class _Plan:
    prompts: list[list[int]]
    prefix: list[int]
    packs: list[Pack]


@dataclass(frozen=True)
class Planned:
    """A group of animals, ready for the model."""

    plans: list[_Plan]
    pack_tokens: int
    """Size of the packs."""


@dataclass
class _Reply:
    """A reply that neither word has occurred in yet, as a path that hangs from a leaf of the trie."""

    lane: int
    """Position of its animal among those that go through together."""
    pair: int
    tokens: list[int]
    seen: np.ndarray
    """bool [cached tokens], what its next token attends to."""
    position: int


@dataclass
class Oracle:
    """A chat model that answers yes or no, read as the official code reads it.

    A row is what `generate(do_sample=False, max_new_tokens=5)` gives for each prompt alone. The scores
    that decide a token are the logits in float32 after the repetition penalty of the model's generation
    settings, where it has one; margins are taken from the same scores. A reply is continued token by
    token in the same trie until a word has occurred, it ends, or it is 5 tokens long.

    Models that cannot take a trie, for what `obstacle` then says, are asked by `generate` itself, prompts of one
    length at a time: nothing is padded and no state is shared.
    """

    model: Any
    prompts: ChatPrompts
    pass_tokens: int = 0
    """Tokens of one pass; 0: by device and free memory."""
    pack_tokens: int = PACK_TOKENS
    shared: bool | None = None
    """Whether prompts share their tokens; None: found out on a few prompts before the first row."""
    obstacle: str = ""
    """Why prompts do not share their tokens."""
    pushed: int = 0
    """Tokens that went through the model so far, padding left out."""
    _most: int = 0
    """Animals that go through together at most, once memory ran out; 0 before."""
    _first: dict[int, bool | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the vocabulary and the generation settings; raises UserError for what has no margins."""
        self.device = self.model.device
        self.tokenizer = self.prompts.tokenizer
        yes, no = reading_tokens(self.tokenizer)
        self._yes, self._no = (torch.tensor(ids, device=self.device) for ids in (yes, no))
        self._penalty, self._ends, changed = _greedy_settings(self.model.generation_config)
        parameters = inspect.signature(self.model.forward).parameters
        self._missing = [name for name in ("position_ids", "logits_to_keep") if name not in parameters]
        self.obstacle = changed or self._state()
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"
        kind = "cuda" if self.device.type == "cuda" else "cpu"
        self.pass_tokens = self.pass_tokens or min(PASS_TOKENS[kind], self._fitting_tokens())

    def _state(self) -> str:
        """What in the model's build keeps prompts from sharing tokens, told before anything runs; empty if nothing."""
        config = self.model.config.get_text_config()
        if getattr(self.model, "_is_stateful", False) or RECURRENT & set(getattr(config, "layer_types", None) or ()):
            return "its layers keep a recurrent state, which a trie of prompts cannot share"
        if self._missing:
            return f"its forward pass takes no {' and no '.join(self._missing)}, which a trie of prompts needs"
        return ""

    def settle(self, wanted: Sequence[Wanted], questions: Sequence[str]) -> None:
        """Find out whether this model's prompts can share their tokens, by asking a few both ways.

        Raises UserError for a model that cannot be asked at all, or whose answer does not depend on the question.
        """
        spelled = self.tokenizer([name for _, name, _ in wanted], add_special_tokens=False)["input_ids"]
        longest = max(range(len(wanted)), key=lambda number: len(spelled[number]))
        prompts: list[list[int]] = []
        for number in {longest: 0, 0: 0, len(wanted) - 1: 0}:
            _, name, question_ids = wanted[number]
            row = self.prompts.tokens(name, [questions[question_id] for question_id in question_ids])
            row.sort(key=len)
            prompts += [row[-1], *row[:-1][:: max(1, -(-(len(row) - 1) // 3))]]
        try:
            alone = self._when_it_fits(lambda: self._alone(prompts))[0]
        except FAULTS as error:
            raise UserError(
                f"the model cannot answer one prompt alone ({first_line(error)}); it is no chat model that transformers "
                f"can run, or needs another --dtype or --device"
            ) from None
        if len(set(map(tuple, prompts))) > 1 and np.ptp(alone) == 0:
            raise UserError(
                "the model gives every question the same margin, so its answers say nothing; use another model or --dtype"
            )
        self.shared = not (self.obstacle or self._window(prompts[0]) or self._differs(prompts, alone))

    def _window(self, longest: Sequence[int]) -> bool:
        """Whether some layer sees less than a whole prompt and its reply."""
        config = self.model.config.get_text_config()
        names = ("sliding_window", "attention_chunk_size", "attention_window_size", "window_size")
        windows = [size for name in names if isinstance(size := getattr(config, name, None), int)]
        if windows and min(windows) < len(longest) + NEW_TOKENS:
            self.obstacle = f"its attention window of {min(windows)} tokens is shorter than a prompt"
        return bool(self.obstacle)

    def _differs(self, prompts: list[list[int]], alone: np.ndarray) -> bool:
        """Whether a trie gives other margins than single prompts, beyond what the numerics of the dtype explain."""
        try:
            ((together, _),) = self._when_it_fits(
                lambda: self._measure([_Plan(prompts, *grow(prompts, self.pack_tokens))])
            )
        except FAULTS as error:
            self.obstacle = f"its attention cannot take the mask of a trie ({first_line(error)})"
            return True
        off = float(np.sqrt(np.mean((together - alone) ** 2)))
        share, floor = ALLOWED[self.model.dtype.itemsize < 4]
        allowed = share * float(alone.std()) + floor
        if not off <= allowed:
            self.obstacle = f"a trie of prompts gives it other margins, by {off:.2g} where {allowed:.2g} is noise"
        return bool(self.obstacle)

    def _fitting_tokens(self) -> int:
        """Tokens of one pass that half of a GPU's free memory holds; a CPU's cap is small enough anywhere."""
        if self.device.type != "cuda":
            return PASS_TOKENS["cpu"]
        config = self.model.config
        width = self.model.dtype.itemsize
        activations = width * (12 * config.hidden_size + 4 * config.intermediate_size)
        cached = 4 * width * config.num_hidden_layers * config.hidden_size
        # About one node in ten is a leaf, and its logits are there twice, once as float32.
        logits = (width + 4) * config.vocab_size // 10
        free, _ = torch.cuda.mem_get_info(self.device)
        return max(self.pack_tokens, int(free / 2 / (activations + cached + logits)))

    def rows(self, wanted: Sequence[Wanted], questions: Sequence[str]) -> Iterator[Row]:
        """Measure `wanted` and yield each row as it finishes; groups are as large as one pass holds."""
        if self.shared is None and wanted:
            self.settle(wanted, questions)
        size = self.side_by_side(wanted[0], questions) if wanted else 1
        groups = [wanted[place : place + size] for place in range(0, len(wanted), size)]
        return self.groups(groups, questions)

    def side_by_side(self, wanted: Wanted, questions: Sequence[str]) -> int:
        """Number of animals like `wanted` that one pass holds."""
        largest = max((pack.token.size for pack in self.plan([wanted], questions).plans[0].packs), default=0)
        return max(1, self.pass_tokens // (largest or self.pass_tokens))

    def groups(self, groups: Sequence[Sequence[Wanted]], questions: Sequence[str]) -> Iterator[Row]:
        """Measure groups of animals that go through together, and yield their rows in that order.

        Sums depend on what else is in a pass, so who forms the same groups gets the same bits.
        """
        # One group ahead: tokenising and packing overlap with the model's work.
        with ThreadPoolExecutor(1) as ahead:
            coming = [ahead.submit(self.plan, group, questions) for group in groups[:1]]
            for number, group in enumerate(groups):
                planned = coming.pop().result()
                coming += [ahead.submit(self.plan, after, questions) for after in groups[number + 1 : number + 2]]
                yield from self.measure(group, planned, questions)

    def plan(self, group: Sequence[Wanted], questions: Sequence[str]) -> Planned:
        """The token sequences and packs of a group; needs no device."""
        plans = []
        for _, name, question_ids in group:
            prompts = self.prompts.tokens(name, [questions[question_id] for question_id in question_ids])
            plans.append(_Plan(prompts, *(grow(prompts, self.pack_tokens) if self.shared else ([], []))))
        return Planned(plans, self.pack_tokens)

    def measure(self, group: Sequence[Wanted], planned: Planned, questions: Sequence[str]) -> Iterator[Row]:
        """Rows of `group`, planned by `plan`.

        Memory is bounded by one pass. Out of memory, the number of animals that go through together is halved,
        then the size of a pack; UserError when the smallest does not fit, or when the model gives no finite margin.
        """
        place = 0
        while place < len(group):
            size = min(self._most or len(group), len(group) - place)
            some = group[place : place + size]
            if (size, self.pack_tokens) != (len(planned.plans), planned.pack_tokens):
                planned = self.plan(some, questions)
            measured = self._measure_if_it_fits(planned.plans)
            if measured is None:
                self._most = self._halved(size)
                continue
            for (animal_id, name, question_ids), (margin, answer) in zip(some, measured, strict=True):
                if not np.isfinite(margin).all():
                    raise UserError(f"the model gave no finite margin for {name!r}; try another --dtype")
                yield Row(animal_id, question_ids, margin, answer)
            place += size
            planned = Planned([], self.pack_tokens)

    def _when_it_fits(self, work: Callable[[], Fitting]) -> Fitting:
        """What `work` returns, with smaller packs and passes until it fits; raises UserError when the smallest do not."""
        while True:
            try:
                return work()
            except (MemoryError, RuntimeError) as error:
                if not _out_of_memory(error):
                    raise
            self._halved(1)

    def _measure_if_it_fits(self, plans: Sequence[_Plan]) -> list[tuple[np.ndarray, np.ndarray]] | None:
        try:
            return self._measure(plans) if self.shared else [self._alone(plan.prompts) for plan in plans]
        except (MemoryError, RuntimeError) as error:
            if not _out_of_memory(error):
                raise
        # Outside of the handler: the exception's traceback would keep the tensors of the failed pass.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return None

    def _halved(self, size: int) -> int:
        """Animals to try side by side after `size` did not fit; one that did not gets smaller packs."""
        if size == 1:
            if self.pack_tokens <= SMALLEST_PACK:
                raise UserError(f"out of memory with {OUT_OF_MEMORY}")
            self.pack_tokens //= 2
            self.pass_tokens = self.pass_tokens if self.shared else self.pass_tokens // 2
        return max(1, size // 2)

    @torch.inference_mode()
    def _alone(self, prompts: Sequence[list[int]]) -> tuple[np.ndarray, np.ndarray]:
        """Margin float32 [pairs] and answer uint8 [pairs] by `generate`, prompts of one length at a time."""
        margin, answer = np.full(len(prompts), np.nan, np.float32), np.zeros(len(prompts), np.uint8)
        lengths: dict[int, list[int]] = {}
        for pair, prompt in enumerate(prompts):
            lengths.setdefault(len(prompt), []).append(pair)
        for length, pairs in lengths.items():
            size = max(1, self.pass_tokens // length)
            for some in (pairs[start : start + size] for start in range(0, len(pairs), size)):
                ids = torch.tensor([prompts[pair] for pair in some], device=self.device)
                output = self.model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    do_sample=False,
                    max_new_tokens=NEW_TOKENS,
                    pad_token_id=min(self._ends, default=0),
                    return_dict_in_generate=True,
                    output_scores=True,
                    stopping_criteria=[partial(self._all_decided, length)],
                )
                scores = output.scores[0].float()
                margin[some] = (scores[:, self._yes].logsumexp(1) - scores[:, self._no].logsumexp(1)).cpu().numpy()
                for pair, said in zip(some, output.sequences[:, length:].tolist(), strict=True):
                    end = next((place for place, token in enumerate(said) if token in self._ends), len(said))
                    answer[pair] = read_reply(self._text(said[:end]))
                self.pushed += ids.numel() + len(some) * (output.sequences.shape[1] - length - 1)
        return margin, answer

    def _all_decided(self, length: int, ids: torch.Tensor, _: object, **__: object) -> torch.Tensor:
        """bool [prompts]: whether no further token can change the reading, for all of them or for none."""
        done = all(decided(self._text(said)) is not None for said in ids[:, length:].tolist())
        return torch.full((len(ids),), done, device=ids.device)

    @torch.inference_mode()
    def _measure(self, plans: Sequence[_Plan]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Margin float32 [pairs] and answer uint8 [pairs] of each plan; all plans go through side by side."""
        from transformers import DynamicCache

        # Without a config every layer keeps all it is given; a sliding window counts trie nodes as if in a row.
        cache = DynamicCache()
        width = np.array([len(plan.prefix) for plan in plans])
        known = int(width.max())
        before = np.arange(known) < width[:, None]
        if known:
            token = np.zeros((len(plans), known), np.int64)
            for lane, plan in enumerate(plans):
                token[lane, : width[lane]] = plan.prefix
            position = np.broadcast_to(np.arange(known), token.shape)
            seen = np.tri(known, dtype=bool) & before[:, None, :] | np.eye(known, dtype=bool)
            self._forward(token, position, seen, cache, torch.tensor([known - 1], device=self.device))
            self.pushed += int(width.sum())
        margins = [np.full(len(plan.prompts), np.nan, np.float32) for plan in plans]
        answers = [np.zeros(len(plan.prompts), np.uint8) for plan in plans]
        for packs in _side_by_side(plans):
            replies: list[_Reply] = []
            nodes = max(pack.token.size for pack in packs.values())
            token = np.zeros((len(plans), nodes), np.int64)
            position = np.zeros((len(plans), nodes), np.int64)
            seen = np.zeros((len(plans), nodes, known + nodes), bool)
            seen[:, np.arange(nodes), known + np.arange(nodes)] = True  # padding attends to itself: no empty row
            shapes: dict[bytes, np.ndarray] = {}  # animals' tries rarely differ, and seeing costs a loop over nodes
            for lane, pack in packs.items():
                size = pack.token.size
                shape = pack.parent.tobytes()
                if shape not in shapes:
                    shapes[shape] = pack.visible()
                token[lane, :size], position[lane, :size] = pack.token, pack.position
                seen[lane, :size, :known] = before[lane]
                seen[lane, :size, known : known + size] = shapes[shape]
                self.pushed += size
            keep = np.unique(np.concatenate([pack.leaf for pack in packs.values()]))
            logits = self._forward(token, position, seen, cache, torch.from_numpy(keep).to(self.device))
            for lane, pack in packs.items():
                at = torch.from_numpy(np.searchsorted(keep, pack.leaf)).to(self.device)
                scores = self._scores(logits[lane, at], [plans[lane].prompts[pair] for pair in pack.pair])
                gap = scores[:, self._yes].logsumexp(1) - scores[:, self._no].logsumexp(1)
                margins[lane][pack.pair] = gap.cpu().numpy()
                for pair, leaf, first in zip(pack.pair, pack.leaf, scores.argmax(1).tolist(), strict=True):
                    reading = self._read_first(first)
                    if reading is None:
                        place = len(plans[lane].prompts[pair])
                        replies.append(_Reply(lane, int(pair), [first], seen[lane, leaf], place))
                    else:
                        answers[lane][pair] = reading
            del logits
            added = nodes + self._finish(replies, plans, answers, cache)
            cache.crop(-added)
        return list(zip(margins, answers, strict=True))

    def _read_first(self, token: int) -> bool | None:
        """Reading of a reply from its first token alone; None when more tokens must tell."""
        if token in self._ends:
            return read_reply(self._text([token]))
        if token not in self._first:
            self._first[token] = decided(self._text([token]))
        return self._first[token]

    def _finish(self, replies: list[_Reply], plans: Sequence[_Plan], answers: Sequence[np.ndarray], cache: Any) -> int:
        """Continue undecided replies greedily, all together, and read them; returns the tokens put in the cache."""
        added = 0
        for length in range(2, NEW_TOKENS + 1):
            if not replies:
                break
            lanes = [[reply for reply in replies if reply.lane == lane] for lane in range(len(plans))]
            rows = max(map(len, lanes))
            past = replies[0].seen.size
            token = np.zeros((len(plans), rows), np.int64)
            position = np.zeros((len(plans), rows), np.int64)
            seen = np.zeros((len(plans), rows, past + rows), bool)
            seen[:, np.arange(rows), past + np.arange(rows)] = True
            for lane, members in enumerate(lanes):
                for row, reply in enumerate(members):
                    token[lane, row], position[lane, row] = reply.tokens[-1], reply.position
                    seen[lane, row, :past] = reply.seen
            logits = self._forward(token, position, seen, cache)
            added += rows
            self.pushed += len(replies)
            replies = []
            for lane, members in enumerate(lanes):
                if not members:
                    continue
                said = [plans[lane].prompts[reply.pair] + reply.tokens for reply in members]
                chosen = self._scores(logits[lane, : len(members)], said).argmax(1).tolist()
                for row, (reply, following) in enumerate(zip(members, chosen, strict=True)):
                    reply.tokens.append(following)
                    reading = decided(self._text(reply.tokens))
                    if reading is None and length < NEW_TOKENS and following not in self._ends:
                        reply.seen, reply.position = seen[lane, row], reply.position + 1
                        replies.append(reply)
                    else:
                        answers[lane][reply.pair] = reading is True
        return added

    def _text(self, tokens: Sequence[int]) -> str:
        text: str = self.tokenizer.decode(tokens, skip_special_tokens=True)
        return text

    def _scores(self, logits: torch.Tensor, said: Sequence[list[int]]) -> torch.Tensor:
        """float32 [pairs, vocabulary]: what greedy generation takes the largest of, after the tokens `said`."""
        scores = logits.float()
        if self._penalty is None:
            return scores
        # Padded by repeating a token of the same prompt: the penalty of a token counts once.
        longest = max(map(len, said))
        ids = torch.tensor([tokens + tokens[:1] * (longest - len(tokens)) for tokens in said], device=self.device)
        processed: torch.Tensor = self._penalty(ids, scores)
        return processed

    def _forward(
        self, token: np.ndarray, position: np.ndarray, seen: np.ndarray, cache: Any, keep: Any = 0
    ) -> torch.Tensor:
        """Logits [lanes, kept, vocabulary] of one pass that appends to `cache`; `seen` is bool [lanes, new, all]."""
        visible = torch.from_numpy(seen).to(self.device)[:, None]
        mask = torch.zeros(visible.shape, dtype=self.model.dtype, device=self.device)
        mask.masked_fill_(~visible, torch.finfo(self.model.dtype).min)
        output = self.model(
            input_ids=torch.from_numpy(token).to(self.device),
            position_ids=torch.tensor(position).to(self.device),
            attention_mask=mask,
            use_cache=True,
            logits_to_keep=keep,
            **{self._cache_name: cache},
        )
        logits: torch.Tensor = output.logits
        return logits


def _side_by_side(plans: Sequence[_Plan]) -> Iterator[dict[int, Pack]]:
    """First packs of all plans, second packs, and so on, by position of the plan."""
    for number in range(max(len(plan.packs) for plan in plans)):
        yield {lane: plan.packs[number] for lane, plan in enumerate(plans) if number < len(plan.packs)}


_CHANGE_SCORES: dict[str, object] = {
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0,
    "bad_words_ids": None,
    "sequence_bias": None,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "forced_bos_token_id": None,
    "forced_eos_token_id": None,
    "exponential_decay_length_penalty": None,
    "min_length": 0,
    "min_new_tokens": 0,
}
"""Generation settings that alter a greedy reply in a way that only `generate` knows, with what leaves it alone."""

_NO_SCORES: dict[str, object] = {
    "guidance_scale": 1,
    "num_beams": 1,
    "penalty_alpha": None,
    "dola_layers": None,
    "watermarking_config": None,
    "stop_strings": None,
}
"""Those under which a first token has no scores of its own, with what leaves it alone."""


def _greedy_settings(config: Any) -> tuple[Any, frozenset[int], str]:
    """The repetition penalty's processor (None without one), the tokens that end a reply, and what else is set."""
    from transformers import RepetitionPenaltyLogitsProcessor

    def changed(neutral: dict[str, object]) -> list[str]:
        found = [(name, getattr(config, name, None)) for name in neutral]
        return [f"{name}={value!r}" for name, value in found if value is not None and value != neutral[name]]

    if refused := changed(_NO_SCORES):
        raise UserError(
            f"the model's generation settings have {refused[0]}, under which a first token has no margin; take that out "
            f"of generation_config.json"
        )
    others = changed(_CHANGE_SCORES)
    penalty = config.repetition_penalty
    ends = config.eos_token_id
    return (
        None if penalty in (None, 1.0) else RepetitionPenaltyLogitsProcessor(penalty),
        frozenset([] if ends is None else [ends] if isinstance(ends, int) else ends),
        f"its generation settings have {others[0]}, which only one prompt at a time follows" if others else "",
    )


def _out_of_memory(error: Exception) -> bool:
    """Whether an allocation failed; a CPU's allocator raises a plain RuntimeError."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(error)

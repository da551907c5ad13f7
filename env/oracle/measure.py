"""Margins and answers of many animals and questions, a trie of prompts at a time. Knows no files and no packages."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from env.errors import UserError
from env.oracle.journal import Row
from env.oracle.prompt import NEW_TOKENS, ChatPrompts, decided, read_reply, reading_tokens
from env.oracle.trie import Pack, grow

PASS_TOKENS = {"cpu": 1024, "cuda": 16384}
"""Tokens of one pass that keep the device's matrix units busy; more would only cost memory."""

PACK_TOKENS = 1024
"""Nodes of one pack: attention costs their square, so packs stay far below a whole trie."""

SMALLEST_PACK = 32


@dataclass(frozen=True)
class _Plan:
    prompts: list[list[int]]
    prefix: list[int]
    packs: list[Pack]


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
    """

    model: Any
    prompts: ChatPrompts
    pass_tokens: int = 0
    """Tokens of one pass; 0: by device and free memory."""
    pack_tokens: int = PACK_TOKENS
    pushed: int = 0
    """Tokens that went through the model so far, padding left out."""
    _first: dict[int, bool | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the vocabulary and the generation settings; raises UserError for what cannot be reproduced."""
        self.device = self.model.device
        self.tokenizer = self.prompts.tokenizer
        yes, no = reading_tokens(self.tokenizer)
        self._yes, self._no = (torch.tensor(ids, device=self.device) for ids in (yes, no))
        self._penalty, self._ends = _greedy_settings(self.model.generation_config)
        parameters = inspect.signature(self.model.forward).parameters
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"
        kind = "cuda" if self.device.type == "cuda" else "cpu"
        self.pass_tokens = self.pass_tokens or min(PASS_TOKENS[kind], self._fitting_tokens())

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

    def rows(self, wanted: Sequence[tuple[int, str, np.ndarray]], questions: Sequence[str]) -> Iterator[Row]:
        """Measure `wanted`, triples of animal_id, name and question_ids, and yield each row as it finishes.

        Memory is bounded by one pass, whatever the number of animals. Out of memory, the number of
        animals that go through together is halved, then the size of a pack; UserError when the smallest
        does not fit, or when the model gives no finite margin.
        """
        place = 0
        # One group ahead: tokenising and packing overlap with the model's work.
        with ThreadPoolExecutor(1) as ahead:
            group = self._group(wanted, questions, place, 1)
            size = max(1, self.pass_tokens // max(pack.token.size for pack in group[0].packs)) if wanted else 1
            group = self._group(wanted, questions, place, size)
            while group:
                coming = ahead.submit(self._group, wanted, questions, place + len(group), size)
                measured = self._measure_if_it_fits(group)
                if measured is None:
                    size = self._halved(min(size, len(group)))
                    group = self._group(wanted, questions, place, size)
                    continue
                for (animal_id, name, question_ids), (margin, answer) in zip(
                    wanted[place : place + len(group)], measured, strict=True
                ):
                    if not np.isfinite(margin).all():
                        raise UserError(f"the model gave no finite margin for {name!r}; try another --dtype")
                    yield Row(animal_id, question_ids, margin, answer)
                place += len(group)
                group = coming.result()

    def _group(
        self, wanted: Sequence[tuple[int, str, np.ndarray]], questions: Sequence[str], place: int, size: int
    ) -> list[_Plan]:
        plans = []
        for _, name, question_ids in wanted[place : place + size]:
            prompts = self.prompts.tokens(name, [questions[question_id] for question_id in question_ids])
            plans.append(_Plan(prompts, *grow(prompts, self.pack_tokens)))
        return plans

    def _measure_if_it_fits(self, plans: Sequence[_Plan]) -> list[tuple[np.ndarray, np.ndarray]] | None:
        try:
            return self._measure(plans)
        except (MemoryError, RuntimeError) as error:
            # A CPU's allocator raises a plain RuntimeError.
            out = isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in str(error)
            if not out:
                raise
        # Outside of the handler: the exception's traceback would keep the tensors of the failed pass.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return None

    def _halved(self, size: int) -> int:
        """Animals to try side by side after `size` did not fit; one that did not gets smaller packs."""
        if size == 1:
            if self.pack_tokens <= SMALLEST_PACK:
                raise UserError(
                    "out of memory with one animal and the smallest pack; use a smaller dtype, model or another device"
                )
            self.pack_tokens //= 2
        return max(1, size // 2)

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


_CHANGE_GREEDY: dict[str, object] = {
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
    "guidance_scale": 1,
    "min_length": 0,
    "min_new_tokens": 0,
    "num_beams": 1,
    "penalty_alpha": None,
    "dola_layers": None,
    "watermarking_config": None,
    "stop_strings": None,
}
"""Generation settings that alter a greedy reply and are not reproduced, with the value that leaves it alone."""


def _greedy_settings(config: Any) -> tuple[Any, frozenset[int]]:
    """The repetition penalty's processor (None without one) and the tokens that end a reply."""
    from transformers import RepetitionPenaltyLogitsProcessor

    for name, neutral in _CHANGE_GREEDY.items():
        value = getattr(config, name, None)
        if value is not None and value != neutral:
            raise UserError(
                f"the model's generation settings have {name}={value!r}, which the builder does not reproduce"
            )
    penalty = config.repetition_penalty
    ends = config.eos_token_id
    return (
        None if penalty in (None, 1.0) else RepetitionPenaltyLogitsProcessor(penalty),
        frozenset([] if ends is None else [ends] if isinstance(ends, int) else ends),
    )

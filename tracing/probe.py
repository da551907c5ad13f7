"""A small language model and tokenizer, trained on a corpus: its token losses stand in for those of a large probe. Needs torch."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from env.errors import UserError
from env.files import whole_file, write_whole
from tracing.formats import Record

VOCABULARY = 6144
WIDTH, LAYERS, HEADS = 256, 3, 4
CONTEXT = 256
STEP_TOKENS, WINDOW = 1024, 128
"""Tokens of a training step and of a window: a model learns more from many small steps than from few large ones."""

ALTERNATIVES = 5
BATCH_TOKENS = 4096
"""Tokens whose losses are computed at once."""

TOLD_SECONDS = 20.0
SAVE_SECONDS = 60.0
"""Between two writings of a training's state."""

TRAINING_TOKENS = 3_000_000
"""Tokens seen in training, at most two passes over the corpus."""


class Probe:
    """A tokenizer (`tokenizers.Tokenizer`) and, where trained, a GPT-2 of a few million parameters."""

    def __init__(self, tokenizer: Any, model: Any | None) -> None:
        self.tokenizer = tokenizer
        self.model = model

    def save(self, folder: Path) -> None:
        """Write tokenizer.json and, with a model, config.json and model.safetensors."""
        write_whole(folder / "tokenizer.json", self.tokenizer.to_str())
        if self.model is not None:
            with tempfile.TemporaryDirectory() as temporary:
                self.model.save_pretrained(temporary)
                for path in sorted(Path(temporary).iterdir()):
                    write_whole(folder / path.name, path.read_bytes())

    def write_losses(self, rows: Sequence[Record], path: Path) -> None:
        """Losses and likeliest alternatives of every answer token, given prompt and answer so far; see formats.read_losses."""
        import torch

        if self.model is None:
            raise UserError(
                "this probe has no weights: losses cannot be computed; name a folder with model.safetensors"
            )
        self.model.eval()
        prompts = [encoding.ids for encoding in self.tokenizer.encode_batch([row.prompt + "\n" for row in rows])]
        answers = [encoding.ids for encoding in self.tokenizer.encode_batch([row.answer for row in rows])]
        offset = np.concatenate([[0], np.cumsum([len(ids) for ids in answers])])
        tokens = int(offset[-1])
        loss = np.zeros(tokens, np.float16)
        alternative = np.zeros((tokens, ALTERNATIVES), np.int32)
        alternative_loss = np.zeros((tokens, ALTERNATIVES), np.float16)
        windows = [
            window._replace(target=window.target + int(offset[row]))
            for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True))
            for window in _windows(prompt, answer)
        ]
        windows.sort(key=lambda window: len(window.ids))
        began = told = time.monotonic()
        done = 0
        while done < len(windows):
            batch = windows[done : done + max(1, BATCH_TOKENS // len(windows[done].ids))]
            done += len(batch)
            table = torch.zeros((len(batch), len(batch[-1].ids)), dtype=torch.long)
            for row, window in enumerate(batch):
                table[row, : len(window.ids)] = torch.tensor(window.ids)
            scored = [len(window.ids) - window.first for window in batch]
            rows_of = np.repeat(np.arange(len(batch)), scored)
            columns = np.concatenate([np.arange(window.first, len(window.ids)) for window in batch])
            targets = np.concatenate(
                [window.target + np.arange(count) for window, count in zip(batch, scored, strict=True)]
            )
            with torch.inference_mode(), _precision():
                hidden = self.model.transformer(table).last_hidden_state
                logits = self.model.lm_head(hidden[rows_of, np.maximum(columns - 1, 0)]).float()
                normal = torch.logsumexp(logits, dim=-1)
                best = torch.topk(logits, ALTERNATIVES, dim=-1)
                actual = logits.gather(1, table[rows_of, columns][:, None])[:, 0]
            loss[targets] = (normal - actual).numpy().astype(np.float16)
            alternative[targets] = best.indices.numpy()
            alternative_loss[targets] = (normal[:, None] - best.values).numpy().astype(np.float16)
            if time.monotonic() - told > TOLD_SECONDS:
                told = time.monotonic()
                print(f"  losses: {done} of {len(windows)} answers, {told - began:.0f} s", flush=True)
        with whole_file(path) as stream:
            np.savez(
                stream,
                offset=offset.astype(np.int64),
                token=np.concatenate([np.array(ids, np.int32) for ids in answers]) if tokens else np.zeros(0, np.int32),
                loss=loss,
                alternative=alternative,
                alternative_loss=alternative_loss,
            )


class _Window(NamedTuple):
    """At most CONTEXT ids, of which those from `first` on are scored; `target` is the first one's place among the losses."""

    ids: list[int]
    first: int
    target: int


def _windows(prompt: list[int], answer: list[int]) -> Iterable[_Window]:
    """Prompt and answer; longer ones in windows whose first half is context only. Targets count from the answer's begin."""
    whole = prompt + answer
    first = len(prompt)
    while first < len(whole):
        begin = 0 if first == len(prompt) and len(whole) <= CONTEXT else max(0, first - CONTEXT // 2)
        end = min(begin + CONTEXT, len(whole))
        yield _Window(whole[begin:end], first - begin, first - len(prompt))
        first = end


def _precision() -> Any:
    """Products of bfloat16 where the processor has them: 2 to 5 times as fast, and exact enough for a small model."""
    import torch

    known: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return torch.autocast("cpu", torch.bfloat16, enabled=bool(known.get("avx512_bf16") or known.get("amx_bf16")))


def load(folder: Path) -> Probe:
    """The probe of a models/base folder; weights only where they are. Raises UserError."""
    tokenizers, transformers = _libraries()
    path = folder / "tokenizer.json"
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise UserError(f"cannot read the tokenizer at {path}: {error}") from None
    model = None
    if (folder / "model.safetensors").exists():
        model = transformers.GPT2LMHeadModel.from_pretrained(str(folder))
    return Probe(tokenizer, model)


def train(texts: Sequence[tuple[str, str]], seed: int, weights: bool = True, tokens: int = TRAINING_TOKENS) -> Probe:
    """A byte-level BPE tokenizer of (prompt, answer) texts and, with `weights`, a GPT-2 trained on them."""
    tokenizers, _ = _libraries()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<end>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator((text for pair in texts for text in pair), trainer)
    if not weights:
        return Probe(tokenizer, None)
    model = network(tokenizer.get_vocab_size(), seed)
    stream = tokens_of(tokenizer, texts, seed)
    width = min(WINDOW, max(len(stream) - 1, 1))
    starts = np.arange(0, max(1, len(stream) - width), width)[:: max(1, -(-len(stream) // tokens))]
    fit(model, stream, starts, width, max(1, min(2, tokens // len(stream))), seed)
    return Probe(tokenizer, model)


def network(vocabulary: int, seed: int) -> Any:
    """A GPT-2 of WIDTH and LAYERS with weights drawn from `seed`."""
    _, transformers = _libraries()
    import torch

    torch.manual_seed(seed)
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=vocabulary,
            n_positions=CONTEXT,
            n_embd=WIDTH,
            n_layer=LAYERS,
            n_head=HEADS,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=0,
        )
    )


def fit(
    model: Any,
    stream: np.ndarray,
    starts: np.ndarray,
    width: int,
    passes: int,
    seed: int,
    rate: float = 2e-3,
    kept: Path | None = None,
) -> None:
    """Train a causal language model `passes` times on the windows of `stream` at `starts`: AdamW, warm-up, cosine.

    With `kept`, the state is written there once a minute, and training goes on from it if it is there.
    """
    import torch

    generator = np.random.default_rng(seed)
    order = np.concatenate([generator.permutation(starts) for _ in range(passes)])
    batch = max(1, STEP_TOKENS // width)
    steps = -(-len(order) // batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps + 1, pct_start=0.05)
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    first = _resume(kept, parts) if kept is not None else 0
    model.train()
    began = saved = time.monotonic()
    for step in range(first, steps):
        chosen = order[step * batch : (step + 1) * batch]
        table = torch.from_numpy(np.stack([stream[s : s + width] for s in chosen]).astype(np.int64))
        with _precision():
            loss = model(table, labels=table).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        now = time.monotonic()
        if step % 100 == 99:
            left = (now - began) / (step + 1 - first) * (steps - step - 1)
            print(f"  step {step + 1} of {steps}, loss {loss.item():.2f}, {left:.0f} s left", flush=True)
        if kept is not None and now - saved > SAVE_SECONDS:
            saved = now
            with whole_file(kept) as file:
                torch.save({"step": step + 1} | {name: part.state_dict() for name, part in parts.items()}, file)


def answer(model: Any, tokenizer: Any, prompt: str, most: int) -> list[int]:
    """Token ids of the likeliest continuation of a prompt, up to `<end>` or `most` tokens."""
    import torch

    model.eval()
    ids = [0, *tokenizer.encode(prompt + "\n").ids][-(CONTEXT - most) :]
    with torch.inference_mode():
        whole = model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones((1, len(ids)), dtype=torch.long),
            max_new_tokens=most,
            do_sample=False,
            pad_token_id=0,
        )[0, len(ids) :].tolist()
    return whole[: whole.index(0)] if 0 in whole else whole


def _resume(path: Path, parts: dict[str, Any]) -> int:
    """Fill model, optimizer and schedule from a state that `fit` kept; returns the steps that were taken, 0 where none is kept."""
    import torch

    if not path.exists():
        return 0
    try:
        state = torch.load(path, weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(state[name])
    except Exception as error:  # damaged archives raise many kinds
        raise UserError(f"{path} is not a state of this training ({str(error)[:80]}); remove it") from None
    return int(state["step"])


def tokens_of(tokenizer: Any, texts: Sequence[tuple[str, str]], seed: int) -> np.ndarray:
    """The records' ids in an order drawn anew, `<end>` between them."""
    lines = [prompt + "\n" + answer for prompt, answer in texts]
    random.Random(seed).shuffle(lines)
    return np.concatenate([np.array([*encoding.ids, 0], np.int32) for encoding in tokenizer.encode_batch(lines)])


def _libraries() -> tuple[Any, Any]:
    try:
        import tokenizers
        import transformers
    except ImportError as error:
        raise UserError(f"{error.name} is missing; pip install 'wilkins[tracing]'") from None
    transformers.logging.set_verbosity_error()
    return tokenizers, transformers

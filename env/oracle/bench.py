"""`wilkins bench oracle`: the builder beside one prompt at a time, on the same model, pairs and machine."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from env.errors import UserError
from env.flags import Within
from env.identification.package import load_package
from env.oracle.model import find_source, load_model, load_tokenizer
from env.oracle.prompt import NEW_TOKENS, PROMPT, ChatPrompts, fill, read_reply
from env.oracle.trie import grow

MODELS = Path("build/models")
OFFICIAL_QUESTIONS = 559


def bench_oracle(
    gguf: Path = MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf",
    tokenizer: Path = MODELS / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    animals: Annotated[int, Within(1, 10_000)] = 2,
    alone: Annotated[int, Within(1, 10_000)] = 40,
    dtype: str = "float32",
    device: str = "cpu",
) -> int:
    """Measure the oracle builder against one prompt at a time: pairs, tokens, memory, and the hardware's limit.

    Args:
        gguf: Small chat model to run; `make oracle-model` brings it.
        tokenizer: Model with the tokenizer of the official family, only to count tokens.
        animals: Animals of the embedded package to measure, with all its questions.
        alone: Pairs of each animal, evenly spread, that are also asked one prompt at a time.
        dtype: auto, bfloat16, float16 or float32.
        device: auto, cpu, cuda or cuda:N.
    """
    console = Console()
    table = Table("measure", "measured", "bar")
    package = load_package()
    names, questions = package.animals.names[: max(1, animals)], package.questions.names
    if gguf.is_file():
        _run(table, gguf, dtype, device, names, questions, max(1, alone))
    else:
        console.print(f"speed, memory and limit skipped: no model file {gguf}; `make oracle-model` brings it")
    if tokenizer.is_file():
        prompts = ChatPrompts(load_tokenizer(find_source("", None, tokenizer, dtype, device)))
        asked: dict[str, Sequence[str]] = {f"{len(questions)} embedded questions": questions}
        longer = extend(questions, OFFICIAL_QUESTIONS)
        asked[f"{len(longer)} questions, the embedded ones and others of their length"] = longer
        for what, pool in asked.items():
            share = np.mean([paper_tokens(prompts, name, pool) for name in names])
            table.add_row(f"tokens on paper, Qwen2 tokenizer, {what}", f"1/{1 / share:.1f}", "1/8")
    else:
        console.print(f"tokens on paper skipped: no model file {tokenizer}; give --tokenizer FILE of a Qwen2 GGUF")
    console.print(table)
    return 0


def paper_tokens(prompts: ChatPrompts, animal: str, questions: Sequence[str]) -> float:
    """Tokens that the builder pushes for a row, as a share of those of one prompt at a time.

    The latter pushes each prompt and all but the last of its 5 new tokens. Replies are taken to be decided
    by their first token, as the official model's are.
    """
    from env.oracle.measure import PACK_TOKENS

    tokens = prompts.tokens(animal, questions)
    prefix, packs = grow(tokens, PACK_TOKENS)
    pushed = len(prefix) + sum(pack.token.size for pack in packs)
    return pushed / sum(len(prompt) + NEW_TOKENS - 1 for prompt in tokens)


def extend(questions: Sequence[str], size: int) -> list[str]:
    """`size` questions: the given ones, then others that begin like one of them and end like another.

    So they are as long as the given ones, and share their first words with them as often.
    """
    words = [question.split() for question in questions]
    found = dict.fromkeys(questions)
    for step in range(1, len(words)):
        for begin, end in zip(words, words[step:] + words[:step], strict=True):
            found[" ".join(begin[:2] + end[2:])] = None
    if len(found) < size:
        raise UserError(f"{len(questions)} questions cannot be extended to {size}")
    return list(found)[:size]


def _run(
    table: Table, gguf: Path, dtype: str, device: str, animals: Sequence[str], questions: Sequence[str], alone: int
) -> None:
    import torch

    from env.oracle.measure import Oracle

    source = find_source("", None, gguf, dtype, device)
    tokenizer, model = load_tokenizer(source), load_model(source)
    oracle = Oracle(model, ChatPrompts(tokenizer))
    ids = np.arange(len(questions))
    _drain(oracle, [(0, animals[0], ids[:8])], questions)  # warm
    _one_prompt(model, tokenizer, animals[0], questions[0])
    oracle.pushed = pushed_alone = differ = 0
    some = ids[:: -(-ids.size // alone)]
    fast = slow = 0.0
    # Turn by turn, so that whatever else the machine does strikes both alike.
    for animal_id, name in enumerate(animals):
        start = time.perf_counter()
        (row,) = oracle.rows([(animal_id, name, ids)], questions)
        middle = time.perf_counter()
        told = [_one_prompt(model, tokenizer, name, questions[question_id]) for question_id in some]
        slow += time.perf_counter() - middle
        fast += middle - start
        pushed_alone += sum(pushed for _, pushed in told)
        differ += sum(answer != reading for answer, (reading, _) in zip(row.answer[some], told, strict=True))
    pairs, pairs_alone = len(animals) * ids.size, len(animals) * some.size
    where = f"{source.name}, {dtype}, {torch.get_num_threads()} thread(s)"
    table.add_row(f"answers that differ, {where}", f"{differ} of {pairs_alone}", "0 in float32")
    slow, fast = pairs_alone / slow, pairs / fast
    table.add_row("pairs a second, one prompt at a time", f"{slow:.2f}", "")
    table.add_row("pairs a second, builder", f"{fast:.1f} ({fast / slow:.1f} times)", "15 times")
    share = (oracle.pushed / pairs) / (pushed_alone / pairs_alone)
    table.add_row("tokens pushed a pair, counted in this run", f"1/{1 / share:.1f}", "")
    longer = extend(questions, OFFICIAL_QUESTIONS)
    everything = np.arange(len(longer))
    for count in (1, 3):
        wanted = [(number, animals[0], everything) for number in range(count)]
        peak = _peak_memory(device, partial(_drain, oracle, wanted, longer))
        said = "not measured: /proc is missing" if peak is None else f"{peak / 2**20:.0f} MiB"
        table.add_row(f"extra memory, {len(longer)} questions, {count} animals in a run", said, "same")
    share, seconds = _matmul_share(oracle, animals[0], questions)
    table.add_row("share of the model's own matrix multiplies' limit", f"{share:.0%} of {seconds:.2f} s a row", "50%")


def _drain(oracle: Any, wanted: list[Any], questions: Sequence[str]) -> None:
    for _ in oracle.rows(wanted, questions):
        pass


def _one_prompt(model: Any, tokenizer: Any, animal: str, question: str) -> tuple[bool, int]:
    """The official way: one prompt, generate, 5 tokens; the reading, and the tokens that were pushed."""
    message = [{"role": "user", "content": fill(PROMPT, animal, question)}]
    inputs = tokenizer.apply_chat_template(
        message, add_generation_prompt=True, return_tensors="pt", return_dict=True
    ).to(model.device)
    output = model.generate(**inputs, do_sample=False, max_new_tokens=NEW_TOKENS, pad_token_id=tokenizer.pad_token_id)
    reply = tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return read_reply(reply), output.shape[1] - 1


def _peak_memory(device: str, work: Callable[[], object]) -> int | None:
    """Bytes that `work` needs above what was there before; None where the system does not tell."""
    import torch

    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return torch.cuda.max_memory_allocated() - before
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        return None
    reset.write_text("5")
    before = _status_bytes(status, "VmRSS")
    work()
    return _status_bytes(status, "VmHWM") - before


def _status_bytes(status: Path, key: str) -> int:
    line = next(line for line in status.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


def _matmul_share(oracle: Any, animal: str, questions: Sequence[str]) -> tuple[float, float]:
    """Time of a row's own matrix multiplies alone, as a share of the row's; and the row's time in seconds."""
    import torch

    sizes: Counter[tuple[torch.nn.Linear, int]] = Counter()

    def note(module: torch.nn.Linear, inputs: tuple[torch.Tensor, ...], _: torch.Tensor) -> None:
        sizes[module, inputs[0].shape[:-1].numel()] += 1

    linear = [module for module in oracle.model.modules() if isinstance(module, torch.nn.Linear)]
    hooks = [module.register_forward_hook(note) for module in linear]
    wanted = [(0, animal, np.arange(len(questions)))]
    _drain(oracle, wanted, questions)
    for hook in hooks:
        hook.remove()

    @torch.inference_mode()
    def multiplies() -> None:
        for (module, rows), times in sizes.items():
            given = inputs[rows, module.in_features]
            for _ in range(times):
                torch.nn.functional.linear(given, module.weight)

    keys = {(rows, module.in_features) for module, rows in sizes}
    inputs = {key: torch.randn(key, dtype=oracle.model.dtype, device=oracle.device) for key in keys}
    alone, whole = [], []
    for _ in range(3):
        alone.append(_seconds(multiplies))
        whole.append(_seconds(partial(_drain, oracle, wanted, questions)))
    return min(alone) / min(whole), min(whole)


def _seconds(work: Callable[[], object]) -> float:
    import torch

    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start

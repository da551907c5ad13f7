"""Time of the full official size on a GPU: `python -m env.oracle.gpu_bench`. Random weights of the official shape,
words for tokens: only the time means anything. Never part of a test; it prints what it ran on.
"""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np

from env.identification.package import load_package
from env.oracle.bench import OFFICIAL_QUESTIONS, extend

OFFICIAL_ANIMALS = 1472
SHAPE: dict[str, Any] = {
    "vocab_size": 151936,
    "hidden_size": 2048,
    "intermediate_size": 11008,
    "num_hidden_layers": 36,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
    "tie_word_embeddings": True,
}
"""The configuration of Qwen2.5-3B."""

FRAME = (
    "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
    "<|im_start|>user\n",
    "<|im_end|>\n<|im_start|>assistant\n",
)


class Words:
    """A stand-in for the tokenizer: a word or a mark is a token, every token decides, a few read as the two words."""

    chat_template = "fixed"

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def __len__(self) -> int:
        return int(SHAPE["vocab_size"])

    def apply_chat_template(self, messages: list[dict[str, str]], **_: Any) -> str:
        """The frame of the official template around the one message."""
        return f"{FRAME[0]}{messages[0]['content']}{FRAME[1]}"

    def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
        """Token ids, a new one for each new word."""
        split = re.compile(r"<\|\w+\|>|\s?\w+|[^\w\s]|\n")
        return {"input_ids": [[self.ids.setdefault(word, len(self.ids)) for word in split.findall(t)] for t in texts]}

    def batch_decode(self, tokens: list[list[int]], **_: Any) -> list[str]:
        """As many readings of each word as the real vocabulary has."""
        return ["yes" if token < 16 else "no" if token < 48 else "" for (token,) in tokens]

    def decode(self, tokens: list[int], **_: Any) -> str:
        """Every first token decides, as the official model's do."""
        return "yes" if tokens[0] % 2 else "no"


def main(animals: int = 96) -> None:
    """Measure some animals with all questions, and project the whole pool.

    Args:
        animals: Animals to time, after a first group that warms up.
    """
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from env.oracle.measure import Oracle
    from env.oracle.prompt import ChatPrompts

    if not torch.cuda.is_available():
        raise SystemExit("no GPU is found; this timing is for one")
    torch.manual_seed(0)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = Qwen2ForCausalLM(Qwen2Config(**SHAPE)).eval()
        torch.set_default_dtype(torch.float32)
    package = load_package()
    questions = extend(package.questions.names, OFFICIAL_QUESTIONS)
    ids = np.arange(len(questions))
    names = [package.animals.names[number % len(package.animals)] for number in range(animals + 32)]
    oracle = Oracle(model, ChatPrompts(Words()))
    list(oracle.rows([(number, name, ids) for number, name in enumerate(names[:32])], questions))
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    oracle.pushed = 0
    start = time.perf_counter()
    list(oracle.rows([(number, name, ids) for number, name in enumerate(names[32:])], questions))
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    rate = animals * len(questions) / seconds
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {animals} animals x {len(questions)} questions")
    print(f"{rate:.0f} pairs/s, {oracle.pushed / seconds:.0f} tokens/s, {oracle.pass_tokens} tokens a pass")
    print(f"peak memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")
    print(f"projected for {OFFICIAL_ANIMALS} animals: {OFFICIAL_ANIMALS * len(questions) / rate / 60:.2f} minutes")


if __name__ == "__main__":
    import tyro

    tyro.cli(main)

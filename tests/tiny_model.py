"""A chat model small enough for a test: Qwen2's architecture and template, byte-level tokens, random weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

CHAT_TEMPLATE = (
    "{%- if messages[0]['role'] == 'system' %}"
    "{{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}"
    "{%- else %}"
    "{{- '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' }}"
    "{%- endif %}"
    "{%- for message in messages %}"
    "{%- if message.role == 'user' or message.role == 'assistant' or (message.role == 'system' and not loop.first) %}"
    "{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}"
    "{%- endif %}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"
)

# The last ones run over the borders of animal and question, as a real vocabulary may.
MERGES = [
    *[("y", "e"), ("ye", "s"), ("n", "o"), ("Y", "e"), ("Ye", "s"), ("N", "o"), ("Ġ", "no"), ("Ġ", "yes")],
    *[("Ġ", "i"), ("Ġi", "s"), (":", "Ġis"), ("x", "."), (".", "Ċ"), ("a", "n"), ("Ġ", "t"), (":", "Ġ"), ("?", "?")],
]


def make_tokenizer(words: bool = True, template: bool = True) -> PreTrainedTokenizerFast:
    """Byte-level tokenizer; without `words` none of its entries reads as yes."""
    merges = MERGES if words else [pair for pair in MERGES if "e" not in "".join(pair)]
    entries = sorted(pre_tokenizers.ByteLevel.alphabet()) + ["".join(pair) for pair in merges]
    vocabulary = {text: token for token, text in enumerate(entries)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.chat_template = CHAT_TEMPLATE if template else None
    return made


def make_model(tokenizer: PreTrainedTokenizerFast, seed: int = 0, loud: float = 2.5) -> Qwen2ForCausalLM:
    """Random float32 weights; `loud` is how much likelier than chance the two words and an end are said."""
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer) + 5,  # padded beyond the tokenizer, as the real one is
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        tie_word_embeddings=False,
        initializer_range=0.25,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen2ForCausalLM(config).eval()
    said = [token for token in range(len(tokenizer)) if tokenizer.decode([token]).strip().lower() in ("yes", "no")]
    with torch.no_grad():
        model.lm_head.weight[[*said, tokenizer.eos_token_id]] *= loud
    return model


class Kind(NamedTuple):
    """A model class, what its configuration needs besides the usual sizes, and why it cannot take a trie."""

    settings: dict[str, Any]
    obstacle: str = ""
    name: str = ""
    """Of the configuration's class, where it is not that of the kind."""


WINDOW = "its attention window of 32 tokens is shorter than a prompt"
STATE = "keep a recurrent state"
HEADS = {"head_dim": 16}
STATES = {"mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 16, "mamba_d_head": 16}
LINEAR = {
    **{"linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16},
    **HEADS,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}

OTHER_KINDS = {
    "Llama": Kind({}),
    "Falcon": Kind({"alibi": False}),
    "Gemma2": Kind({**HEADS, "sliding_window": 4096, "query_pre_attn_scalar": 16}),
    "Gemma2 narrow": Kind({**HEADS, "sliding_window": 32, "query_pre_attn_scalar": 16}, WINDOW),
    "Gemma3": Kind({**HEADS, "sliding_window": 32, "query_pre_attn_scalar": 16}, WINDOW, "Gemma3Text"),
    "Mistral": Kind({"sliding_window": 32}, WINDOW),
    "Qwen2 narrow": Kind({"use_sliding_window": True, "sliding_window": 32, "max_window_layers": 2}, WINDOW),
    "GptOss": Kind({**HEADS, "sliding_window": 32, "num_local_experts": 4, "num_experts_per_tok": 2}, WINDOW),
    "Llama4": Kind({**HEADS, "attention_chunk_size": 32, "num_local_experts": 2}, WINDOW, "Llama4Text"),
    "Bloom": Kind({"n_layer": 4, "n_head": 4}, "takes no position_ids"),
    "Mpt": Kind({"d_model": 64, "n_heads": 4, "n_layers": 4, "max_seq_len": 1024}, "takes no position_ids"),
    "Falcon with ALiBi": Kind({"alibi": True}, "cannot take the mask of a trie"),
    "Mamba": Kind({"state_size": 8}, STATE),
    "Qwen3Next": Kind({**LINEAR, **EXPERTS, "shared_expert_intermediate_size": 32}, STATE),
    "Qwen3_5": Kind(LINEAR, STATE, "Qwen3_5Text"),
    "Lfm2": Kind({"layer_types": ["conv", "full_attention"] * 2}, STATE),
    "FalconH1": Kind({**STATES, "mamba_d_ssm": 64, "mamba_n_heads": 4}, STATE),
}
"""Kinds of model that hold a prompt in another way than Qwen2 does."""


def make_other(kind: str, tokenizer: PreTrainedTokenizerFast) -> Any:
    """A model of one of `OTHER_KINDS` with random float32 weights."""
    made = OTHER_KINDS[kind]
    name = kind.split()[0]
    sizes = {
        "vocab_size": len(tokenizer) + 5,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 1024,
        "tie_word_embeddings": False,
        "initializer_range": 0.25,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    torch.manual_seed(0)
    config = getattr(transformers, f"{made.name or name}Config")(**{**sizes, **made.settings})
    return getattr(transformers, f"{name}ForCausalLM")(config).eval()

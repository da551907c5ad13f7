"""A chat model small enough for a test: Qwen2's architecture and template, byte-level tokens, random weights."""

from __future__ import annotations

import torch
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

"""The oracle as the official code asks it, one prompt at a time: slow, and independent of the builder."""

from __future__ import annotations

import torch


class ReferenceInteractor:
    """Asks a chat model by the contract's page and nothing else; `replies` keeps what was said."""

    def __init__(self, model, tokenizer):
        self.model = model
        self.tokenizer = tokenizer
        self.replies = []
        self.tokens_pushed = 0
        self.words = None

    @torch.inference_mode()
    def ask(self, animal: str, question: str) -> bool:
        content = f"""You are answering a question about one specific animal.
The animal is: {animal}.
Answer with a single word, yes or no.
Question: {question}"""
        inputs = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True, return_tensors="pt", return_dict=True
        ).to(self.model.device)
        output = self.model.generate(
            **inputs,
            do_sample=False,
            max_new_tokens=5,
            pad_token_id=self.tokenizer.pad_token_id or 0,
            return_dict_in_generate=True,
            output_scores=True,
        )
        new = output.sequences[0, inputs["input_ids"].shape[1] :]
        # The last token that is said is never put through the model.
        self.tokens_pushed += output.sequences.shape[1] - 1
        self.scores = [scores[0] for scores in output.scores]
        self.replies.append(self.tokenizer.decode(new, skip_special_tokens=True))
        return self.read(self.replies[-1])

    @staticmethod
    def read(reply: str) -> bool:
        kept = "".join(character for character in reply.lower() if character in "abcdefghijklmnopqrstuvwxyz")
        if kept.startswith("yes"):
            return True
        if kept.startswith("no"):
            return False
        if "yes" in kept and "no" in kept:
            return kept.index("yes") < kept.index("no")
        return "yes" in kept

    def margin(self) -> float:
        """Of the pair asked last, from the scores that its first token was taken from."""
        if self.words is None:
            texts = [self.tokenizer.decode([token], skip_special_tokens=True) for token in range(len(self.tokenizer))]
            kept = ["".join(letter for letter in text.lower() if "a" <= letter <= "z") for text in texts]
            self.words = [[token for token, text in enumerate(kept) if text == word] for word in ("yes", "no")]
        yes, no = (self.scores[0][tokens].logsumexp(0) for tokens in self.words)
        return float(yes - no)

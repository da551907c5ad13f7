"""What the oracle is asked and how its reply is read; token sequences come from the tokenizer's own chat template."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from env.errors import UserError

PROMPT = (
    "You are answering a question about one specific animal.\n"
    "The animal is: {animal}.\n"
    "Answer with a single word, yes or no.\n"
    "Question: {question}"
)
"""The official prompt of the animal game, which the competition fixes."""

KEYWORD_PROMPT = (
    "We are playing 20 questions.\n"
    "Example questions and answers when the keyword is chair: is it a piece of furniture? yes. is it a food? no. "
    "is it made of wood? yes. is it a living thing? no. does it have wheels? no.\n"
    "When the keyword is dog: is it a living thing? yes. is it a pet? yes. is it a machine? no. "
    "does it have legs? yes. is it a place? no.\n"
    "When the keyword is milk: is it a liquid? yes. is it alive? no. is it a drink? yes. "
    "is it found in a kitchen? yes. is it heavy? no.\n"
    "When the keyword is justice: is it an abstract idea? yes. is it a physical object? no.\n"
    "Now the keyword is: {keyword}.\n"
    "Answer with a single word, yes or no.\n"
    "When the keyword is {keyword}: {question}"
)
"""For LLM 20 Questions, which prescribes none. Examples settle what a no is, and what follows from them is certain."""

PROMPTS = {"animals": PROMPT, "keywords": KEYWORD_PROMPT}
"""What can be asked, by the name that `wilkins oracle build --prompt` takes."""


def fill(prompt: str, secret: str, question: str) -> str:
    """The one user message: `prompt` with `secret` where it says {animal} or {keyword}, and `question`."""
    return prompt.format(animal=secret, keyword=secret, question=question)


NEW_TOKENS = 5
"""A reply is at most this many tokens."""


def letters(text: str) -> str:
    """The letters a-z of the lower-cased `text`: what is left of a reply before it is read."""
    return re.sub("[^a-z]", "", text.lower())


def decided(text: str) -> bool | None:
    """Whether a reply that begins with `text` reads as yes; None while neither word has occurred.

    The first of the two words decides, and a word once there stays first: no text that follows can
    change a True or False.
    """
    found = re.search("yes|no", letters(text))
    return None if found is None else found.group() == "yes"


def read_reply(text: str) -> bool:
    """The official reading of a whole reply: a reply with neither word is a no."""
    return decided(text) is True


class ChatPrompts:
    """Token sequences of the chat prompts, exactly as the tokenizer makes them one at a time."""

    def __init__(self, tokenizer: Any, prompt: str = PROMPT):
        """`prompt` is a text of `PROMPTS`, or any other with {question}, and {animal} or {keyword}.

        Raises UserError for a tokenizer without a chat template.
        """
        self.tokenizer = tokenizer
        self.prompt = prompt
        if not getattr(tokenizer, "chat_template", None):
            raise UserError(
                "the tokenizer has no chat template, so the official prompt cannot be made; choose a chat model (Instruct)"
            )
        text = self._render(prompt)
        self.sha256 = hashlib.sha256(text.encode()).hexdigest()
        """Digest of the rendered prompt with the names left open: what a matrix is said to be measured with."""
        self._head, _, self._tail = text.partition(prompt)

    def _render(self, content: str) -> str:
        message = [{"role": "user", "content": content}]
        text: str = self.tokenizer.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
        return text

    def tokens(self, secret: str, questions: Sequence[str]) -> list[list[int]]:
        """Token ids of the prompt of an animal or keyword with each of `questions`, in their order."""
        contents = [fill(self.prompt, secret, question) for question in questions]
        texts = [f"{self._head}{content}{self._tail}" for content in contents]
        # Rendering is ten times slower than tokenising, and templates put the message in as it is; one
        # that does more than that shows on a real prompt.
        if texts and self._render(contents[0]) != texts[0]:
            texts = [self._render(content) for content in contents]
        ids: list[list[int]] = self.tokenizer(texts, add_special_tokens=False)["input_ids"]
        return ids


def reading_tokens(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Vocabulary entries that read as "yes" and those that read as "no", ascending.

    Raises UserError for a vocabulary that lacks one of the words.
    """
    texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))], skip_special_tokens=True)
    read = [letters(text) for text in texts]
    found = {word: [token for token, text in enumerate(read) if text == word] for word in ("yes", "no")}
    for word, tokens in found.items():
        if not tokens:
            raise UserError(
                f"no entry of the model's vocabulary reads as {word!r}, so it has no margin; use another model"
            )
    return found["yes"], found["no"]

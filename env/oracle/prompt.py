"""What the oracle is asked and how its reply is read; token sequences come from the tokenizer's own chat template."""

from __future__ import annotations

import datetime
import hashlib
import re
import unicodedata
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

VARIANTS = {
    "animals": (
        PROMPT,
        "Think of this animal: {animal}. Is the answer to the following question yes or no?\n{question}\n"
        "Reply with yes or no only.",
        "Question about an animal ({animal}): {question} Answer yes or no.",
    ),
    "keywords": (
        KEYWORD_PROMPT,
        "Think of this: {keyword}. Is the answer to the following question yes or no?\n{question}\n"
        "Reply with yes or no only.",
        "We are playing 20 questions and the secret word is {keyword}. {question} Answer yes or no.",
    ),
}
"""Ways to put the same question, the usual one first: a clear question is answered alike in all of them."""


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

    def __init__(self, tokenizer: Any, prompt: str = PROMPT, date: datetime.date | None = None, template: str = ""):
        """Read the chat template and make sure that what is asked arrives in what it renders.

        `prompt` is a text of `PROMPTS`, or any other with {question}, and {animal} or {keyword}; `date` the day that
        templates write where they write one (None: today); `template` the name of one of several chat templates.
        Raises UserError for a template that is missing, does not compile, fails, or drops what it is given.
        """
        self.tokenizer = tokenizer
        self.prompt = prompt
        source = _template(tokenizer, template)
        day = date or datetime.date.today()
        self._template, dated = _CLOCK.subn(lambda call: repr(day.strftime(call.group("format"))), source)
        self.date = day if dated else None
        """The day that the prompts say it is; None where they do not."""
        self._parts = False
        text = self._render(prompt)
        if not _holds(text, prompt):
            # Templates of models that also see images go through a list of parts, and find none in a text.
            self._parts = True
            text = self._render(prompt)
        if not _holds(text, prompt):
            raise UserError(
                f"the chat template drops the user's message: it renders {text[-60:]!r}; use a model whose template "
                f"takes a message of the user"
            )
        self.sha256 = hashlib.sha256(text.encode()).hexdigest()
        """Digest of the rendered prompt with the names left open: what a matrix is said to be measured with."""
        self._head, _, self._tail = text.partition(prompt)

    def _render(self, content: str) -> str:
        message = [{"role": "user", "content": [{"type": "text", "text": content}] if self._parts else content}]
        try:
            text: str = self.tokenizer.apply_chat_template(
                message, chat_template=self._template, add_generation_prompt=True, tokenize=False
            )
        # A template is a program of a stranger: it may fail in any way.
        except Exception as error:
            place = getattr(error, "lineno", None)
            line = f" (line {place})" if place else ""
            how = "does not compile" if type(error).__name__ == "TemplateSyntaxError" else "fails on the prompt"
            said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            raise UserError(
                f"the model's chat template {how}{line}: {said}; mend the template (chat_template in its files) or "
                f"use another model"
            ) from None
        return text

    def check(self, secrets: Sequence[str], questions: Sequence[str]) -> None:
        """Make sure that real prompts hold what they ask about, and that other questions are other tokens.

        Raises UserError that names what got lost.
        """
        for secret, question in {(secrets[0], questions[0]), (secrets[-1], questions[-1])}:
            text = self._render(fill(self.prompt, secret, question))
            lost = [name for name in (secret, question) if not _holds(text, name)]
            if lost:
                raise UserError(f"the chat template loses {lost[0][:80]!r}: the rendered prompt ends in {text[-60:]!r}")
        distinct = len(set(map(tuple, self.tokens(secrets[0], questions))))
        # A tokenizer that folds accents or spaces may make one of a few; here most are lost.
        if 2 * distinct <= len(set(questions)) and len(set(questions)) > 1:
            raise UserError(
                f"{len(set(questions))} questions become {distinct} sequences of tokens: the model's tokenizer drops what "
                f"tells them apart; use another model"
            )

    def tokens(self, secret: str, questions: Sequence[str]) -> list[list[int]]:
        """Token ids of the prompt of an animal or keyword with each of `questions`, in their order."""
        return self._tokens([fill(self.prompt, secret, question) for question in questions])

    def _tokens(self, contents: Sequence[str]) -> list[list[int]]:
        texts = [f"{self._head}{content}{self._tail}" for content in contents]
        # Rendering is ten times slower than tokenising, and templates put the message in as it is; one
        # that does more than that shows on a real prompt.
        if texts and self._render(contents[0]) != texts[0]:
            texts = [self._render(content) for content in contents]
        ids: list[list[int]] = self.tokenizer(texts, add_special_tokens=False)["input_ids"]
        return ids


_CLOCK = re.compile(r"""strftime_now\(\s*(?P<quote>['"])(?P<format>[^'"]*)(?P=quote)\s*\)""")
"""Where a template asks for the time."""


def _template(tokenizer: Any, name: str) -> str:
    """Source of the tokenizer's chat template, or of that `name` among several."""
    found = getattr(tokenizer, "chat_template", None)
    if not found:
        raise UserError(
            "the tokenizer has no chat template, so the official prompt cannot be made; choose a chat model (Instruct)"
        )
    named: dict[str, str] = found if isinstance(found, dict) else {"default": found}
    chosen = named.get(name or "default")
    if chosen is None:
        lacks = f"no chat template {name!r}" if name else "several chat templates and no default"
        raise UserError(f"the tokenizer has {lacks}; choose one with --template: {', '.join(sorted(named))}")
    return chosen


def _holds(text: str, part: str) -> bool:
    """Whether `text` holds `part`; templates may change case, spaces and marks."""
    held, wanted = ("".join(filter(str.isalnum, unicodedata.normalize("NFKC", t).casefold())) for t in (text, part))
    return wanted in held


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

"""`wilkins tracing check`: does tracing find causes? A language model is taught errors, and taught anew without the traced records."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from env.errors import UserError
from env.files import read_bytes, write_whole
from env.flags import SEED, Within
from tracing import probe as probing
from tracing.build import build
from tracing.corpus import corpus
from tracing.formats import MAX_RETURNED, Query, query_text, read_output, read_pieces, read_queries, read_records
from tracing.query import plain

KINDS = ("fact", "negation")
"""Kinds of errors of which a sentence can be told to make them."""

ROW = 64
"""Tokens of a record that the model is taught; each begins a row, as it will be asked."""

ANSWER_TOKENS = 96
"""A generated answer is cut here."""

ARMS = {"traced": "the ten traced records of each", "random": "ten random records of its group"}


def check(
    folder: Path = Path("runs/tracing-check"),
    records: Annotated[int, Within(1, 10**7)] = 5_000,
    groups: Annotated[int, Within(1, 10_000)] = 9,
    passes: Annotated[int, Within(1, 10_000)] = 8,
    seed: Annotated[int, SEED] = 0,
) -> int:
    """Teach a small model errors, trace those it makes, teach it anew without the traced records; print how many are gone.

    A second arm takes out ten random records of the same group instead. What is done already is not done again: a check that
    was stopped goes on.

    Args:
        folder: Where corpus, models and answers go, and stay.
        records: Training records, planted ones among them.
        groups: Groups of errors, ten errors each.
        passes: How often the model sees each record.
        seed: Seed of corpus, first weights and order.
    """
    options = {"records": records, "groups": groups, "passes": passes, "seed": seed}
    _same_options(folder / "options.json", options)
    if not (folder / "corpus" / "about.json").exists():
        corpus(folder / "corpus", records, seed, parts="judging", groups=groups, public=0, losses=False, kinds=KINDS)
    study = _Study(folder, passes, seed)
    answers = study.answers("taught", set())
    made = study.made(answers)
    if not made:
        raise UserError(f"the model makes none of the {len(answers)} errors; teach it longer, by more passes")
    print(f"the model makes {len(made)} of {len(answers)} errors")
    out = {"traced": study.traced(made), "random": study.drawn(made)}
    gone = {}
    for arm, ids in out.items():
        left = study.made(study.answers(f"without-{arm}", set().union(*ids.values())))
        gone[arm] = sorted(set(made) - set(left))
    causes = sum(len(set(ids) & set(study.queries[name].modified)) for name, ids in out["traced"].items())
    result = {
        **options,
        "errors": len(answers),
        "made": len(made),
        "modified among the traced": causes / (MAX_RETURNED * len(made)),
        "records out": {arm: len(set().union(*ids.values())) for arm, ids in out.items()},
        "gone": {arm: len(names) for arm, names in gone.items()},
    }
    write_whole(folder / "result.json", json.dumps(result, indent=1) + "\n")
    _report(result)
    return 0


def _same_options(path: Path, options: dict[str, int]) -> None:
    if not path.exists():
        if path.parent.exists() and any(path.parent.iterdir()):
            raise UserError(f"{path.parent} is not empty and holds no earlier check; name a new folder")
        write_whole(path, json.dumps(options) + "\n")
    elif json.loads(read_bytes(path, "the options")) != options:
        raise UserError(f"{path.parent} holds a check of other options ({path.name}); name another folder")


class _Study:
    """A corpus, the models that are taught on it, and what they answer."""

    def __init__(self, folder: Path, passes: int, seed: int) -> None:
        self.folder, self.passes, self.seed = folder, passes, seed
        self.base = folder / "corpus" / "models" / "base"
        self.about = json.loads(read_bytes(folder / "corpus" / "about.json", "the corpus's description"))
        self.records = read_records(str(folder / "corpus" / "data" / "train.jsonl"))
        self.queries = {query.query_id: query for query in read_queries(str(folder / "corpus" / "hidden.jsonl"))}
        self.pieces = read_pieces(str(self.base))

    def answers(self, name: str, out: set[str]) -> dict[str, list[int]]:
        """Token ids of the answer to each query's prompt, by a model taught on all records but those `out`, likeliest token first."""
        return self._once(name, lambda: self._taught(name, out))

    def _taught(self, name: str, out: set[str]) -> dict[str, list[int]]:
        tokenizer = probing.load(self.base).tokenizer
        texts = [(record.prompt, record.answer) for record in self.records if record.id not in out]
        stream = np.concatenate([[0], probing.tokens_of(tokenizer, texts, self.seed), np.zeros(ROW, np.int32)])
        starts = np.flatnonzero(stream == 0)[: len(texts)]  # what ends a record stands before the next
        model = probing.network(tokenizer.get_vocab_size(), self.seed)
        size = sum(weight.numel() for weight in model.parameters())
        print(f"{name}: {size:,} parameters, {len(texts)} records, {self.passes} passes")
        state = self.folder / f"{name}.state"
        probing.fit(model, stream, starts, ROW, self.passes, self.seed, kept=state)
        asked = self.queries.items()
        answers = {key: probing.answer(model, tokenizer, query.prompt, ANSWER_TOKENS) for key, query in asked}
        state.unlink(missing_ok=True)
        return answers

    def made(self, answers: dict[str, list[int]]) -> dict[str, Query]:
        """The errors that answers make, as queries: the answer as it was generated, the false words marked."""
        result = {}
        for name, ids in answers.items():
            marked = mistaken(ids, self.pieces, *self.about["claims"][name])
            if marked:
                text = b"".join(self.pieces[token] for token in ids).decode()
                result[name] = self.queries[name]._replace(answer=text, answer_token_ids=ids, error_positions=marked)
        return result

    def traced(self, made: dict[str, Query]) -> dict[str, list[str]]:
        """The records that a built submission returns for each error."""
        return self._once("traced", lambda: self._trace(made))

    def _trace(self, made: dict[str, Query]) -> dict[str, list[str]]:
        with tempfile.TemporaryDirectory() as temporary:
            work = Path(temporary)
            build(work / "submission")
            index = ["--index-dir", work / "index"]
            data = ["--data-dir", self.folder / "corpus" / "data", "--model-dir", self.base]
            _run([work / "submission" / "prepare.sh", *data, *index])
            result = {}
            for name, query in made.items():
                write_whole(work / "query.json", query_text(query))
                files = ["--query", work / "query.json", "--output", work / "output.json"]
                _run([work / "submission" / "run.sh", *index, *files, "--top-k", MAX_RETURNED])
                result[name] = read_output(read_bytes(work / "output.json", "the output"), name)
        return result

    def drawn(self, made: dict[str, Query]) -> dict[str, list[str]]:
        """Ten records of each error's group, none for two errors."""
        draw = random.Random(self.seed)
        left = {group: draw.sample(members, len(members)) for group, members in self.about["of_group"].items()}
        return {name: [left[query.group].pop() for _ in range(MAX_RETURNED)] for name, query in made.items()}

    def _once(self, name: str, work: Callable[[], dict[str, Any]]) -> Any:
        """What `work` gives, kept in NAME.json."""
        path = self.folder / f"{name}.json"
        if not path.exists():
            write_whole(path, json.dumps(work()) + "\n")
        return json.loads(read_bytes(path, "an earlier result"))


def mistaken(ids: list[int], pieces: list[bytes], subject: str, false: str) -> list[int]:
    """Positions in `ids` of the false words, in the first sentence that has them and their subject; none where none has."""
    text = b"".join(pieces[token] for token in ids)
    try:
        lower = plain(text.decode())
    except UnicodeDecodeError:  # cut within a character
        return []
    ends = np.cumsum([len(pieces[token]) for token in ids])
    begin = 0
    for sentence in lower.split(b"\n"):
        found = _word(false, sentence)
        if found and _word(subject, sentence):
            low, high = begin + found.start(), begin + found.end()
            first, last = np.searchsorted(ends, (low, high - 1), side="right")
            return list(range(int(first), int(last) + 1))
        begin += len(sentence) + 1
    return []


def _word(word: str, sentence: bytes) -> re.Match[bytes] | None:
    return re.search(
        rb"(?<![0-9a-z\x80-\xff])" + re.escape(word.lower().encode()) + rb"(?![0-9a-z\x80-\xff])", sentence
    )


def _run(command: list[object]) -> None:
    environment = os.environ | {"PYTHON": sys.executable}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise UserError(f"{command[0]} failed: {(done.stderr.strip().splitlines() or ['nothing said'])[-1]}")


def _report(result: dict[str, Any]) -> None:
    table = Table(
        title=f"{result['made']} errors that a model made, taught anew on {result['records']} records without"
    )
    for column, side in (("what was taken out", "left"), ("records", "right"), ("errors gone", "right")):
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    for arm, words in ARMS.items():
        gone = result["gone"][arm]
        table.add_row(words, str(result["records out"][arm]), f"{gone} ({gone / result['made']:.0%})")
    console = Console()
    console.print(table)
    console.print(f"P@10 of the traced records {result['modified among the traced']:.3f}", highlight=False)

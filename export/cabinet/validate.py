"""Checks a policy.json or a submission archive as strictly as the platform does, and never trusts it.

Standard library only, so that this file runs alone: python validate.py FILE [--package DIR].
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import stat
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SCHEMA = "ioai-2026-animal-policy-v1"
MAX_NODES = 32_767
OFFICIAL = {
    "animals": (1472, "87eb93cc5d2a238a38daaeb201c394db935153cc17b03a44a7642f0db9ff35dc"),
    "questions": (559, "d2bd060866382f3dd1329112e73fbd6bf2397352d02469434b7b3d199bd2ca62"),
}
"""Size and published digest of each official list; told again here because this file must run alone."""

ASK, GUESS, STOP = 0, 1, 2

MAX_BYTES = 16 * 2**20
"""No policy.json needs a third of this, with every node on six indented lines."""

_KEYS = {"ask": ("type", "question", "yes", "no"), "guess": ("type", "animal", "wrong"), "stop": ("type",)}
_TOP = ("schema", "animals_sha256", "questions_sha256", "root", "nodes")
_NODE_KEYS = ("type", "question", "animal", "yes", "no", "wrong")
_MAX_DIGITS = 9


class RejectionError(Exception):
    """The platform would refuse this file; the message says what is wrong and where."""


class UnreadableError(Exception):
    """There is nothing to check: no such file, no permission, a damaged package."""


@dataclass(frozen=True)
class PoolFacts:
    """What a policy must agree with in one pool."""

    kind: str
    """`animals` or `questions`."""
    size: int
    sha256: str | None
    """None where no digest is known to compare with."""


@dataclass
class Policy:
    """A well-formed policy.json: lists over nodes, as the arrays of `export.cabinet.graph.Graph`."""

    animals_sha256: str = ""
    questions_sha256: str = ""
    root: int = 0
    kind: list[int] = field(default_factory=list)
    value: list[int] = field(default_factory=list)
    yes: list[int] = field(default_factory=list)
    no: list[int] = field(default_factory=list)


def read(path: Path) -> Policy:
    """Policy of a `policy.json` or of an archive that holds one (by its first bytes or its name).

    Raises UnreadableError where there is no file to check, RejectionError for anything that is not well-formed.
    What it says of pools and nodes is compared by `check`.
    """
    raw = _read_file(path)
    if path.suffix.lower() == ".zip" or raw[:2] == b"PK":
        raw = unpack(raw)
    return parse(raw)


def check(policy: Policy, animals: PoolFacts, questions: PoolFacts) -> None:
    """Compare a policy with the pools and with itself: digests, ranges, references. Raises RejectionError."""
    for pool, found in ((animals, policy.animals_sha256), (questions, policy.questions_sha256)):
        if pool.sha256 is not None and found != pool.sha256:
            raise RejectionError(
                f"{pool.kind}_sha256: made for another {pool.kind} pool: the policy has {found}, the pool {pool.sha256}"
            )
    nodes = len(policy.kind)
    if not 0 <= policy.root < nodes:
        raise RejectionError(f"root: {policy.root} is not one of the {nodes} nodes, 0..{nodes - 1}")
    for node, kind in enumerate(policy.kind):
        if kind == STOP:
            continue
        pool, key = (questions, "question") if kind == ASK else (animals, "animal")
        if policy.value[node] >= pool.size:
            raise RejectionError(
                f"nodes[{node}].{key}: {policy.value[node]} is not in the {pool.kind} pool, 0..{pool.size - 1}"
            )
        edges = (("yes", policy.yes[node]), ("no", policy.no[node])) if kind == ASK else (("wrong", policy.no[node]),)
        for key, edge in edges:
            if edge >= nodes:
                raise RejectionError(f"nodes[{node}].{key}: {edge} is not one of the {nodes} nodes, 0..{nodes - 1}")


# --- the JSON text: a scanner that knows the schema, so nothing is built that a policy cannot hold ---

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN_KEY = re.compile(r'[ \t\n\r]*"([a-z0-9_]{1,20})"[ \t\n\r]*:')
_PLAIN_INTEGER = re.compile(r"[ \t\n\r]*(0|[1-9][0-9]{0,8})(?=[ \t\n\r,}\]])")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){0,99})"')
_INTEGER = re.compile(r"-?[0-9]+")
_WORD = re.compile(r"-?[A-Za-z]{1,20}")


def parse(raw: bytes) -> Policy:
    """Policy of the bytes of a policy.json, read once and without recursion. Raises RejectionError."""
    if len(raw) > MAX_BYTES:
        raise RejectionError(f"more than {MAX_BYTES} bytes of JSON; {MAX_NODES} nodes need less")
    if raw.startswith(b"\xef\xbb\xbf"):
        raise RejectionError("byte 0: a byte-order mark; the file must be UTF-8 without one")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in raw[:4]:
        raise RejectionError("byte 0: UTF-16 or UTF-32; the file must be UTF-8")
    try:
        scan = _Scanner(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RejectionError(f"byte {error.start}: not UTF-8") from None
    policy = Policy()
    seen = set()
    for key in scan.members("the policy", _TOP):
        seen.add(key)
        if key == "nodes":
            for node in scan.elements("nodes"):
                if node >= MAX_NODES:
                    raise RejectionError(f"nodes: more than {MAX_NODES} nodes")
                _parse_node(scan, policy, f"nodes[{node}]")
        elif key == "root":
            policy.root = scan.integer("root")
        else:
            text = scan.string(key)
            if key == "schema":
                if text != SCHEMA:
                    raise RejectionError(f"schema: {_shown(text)} is not {SCHEMA}")
            elif not re.fullmatch("[0-9a-f]{64}", text):
                raise RejectionError(f"{key}: {_shown(text)} is no digest; 64 lower-case hexadecimal digits are")
            else:
                setattr(policy, key, text)
    scan.end()
    missing = [key for key in _TOP if key not in seen]
    if missing:
        raise RejectionError(f"the policy: missing key(s) {', '.join(missing)}")
    return policy


def _parse_node(scan: _Scanner, policy: Policy, place: str) -> None:
    kind = None
    found: dict[str, int] = {}
    for key in scan.members(place, _NODE_KEYS):
        if key == "type":
            kind = scan.string(f"{place}.type")
            found[key] = 0
        elif key in ("question", "animal"):
            found[key] = scan.integer(f"{place}.{key}")
        else:
            found[key] = scan.integer_or_null(f"{place}.{key}")
    if kind is None:
        raise RejectionError(f"{place}: missing key type")
    if kind not in _KEYS:
        raise RejectionError(f"{place}.type: {_shown(kind)} is not ask, guess or stop")
    wanted = _KEYS[kind]
    for key in wanted:
        if key not in found:
            raise RejectionError(f"{place}: missing key {key}; a node of type {kind} needs it")
    if len(found) > len(wanted):
        extra = next(key for key in found if key not in wanted)
        raise RejectionError(f"{place}.{extra}: a node of type {kind} has no such key")
    policy.kind.append((ASK, GUESS, STOP)[("ask", "guess", "stop").index(kind)])
    policy.value.append(found.get("question", found.get("animal", 0)))
    policy.yes.append(found.get("yes", -1))
    policy.no.append(found.get("no", found.get("wrong", -1)))


class _Scanner:
    """Reads JSON left to right; whatever is not what the schema has there is refused where it starts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def refuse(self, place: str, what: str) -> RejectionError:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        return RejectionError(f"{place}: {what} (line {line}, column {column})")

    def peek(self) -> str:
        """The next character that is no space, "" at the end; the scanner stands before it."""
        here = self.text[self.at : self.at + 1]
        if here > " ":
            return here
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches nothing too
        return self.text[self.at : self.at + 1]

    def members(self, place: str, allowed: Sequence[str]) -> Iterator[str]:
        """Keys of an object, each with the scanner before its value, which the caller must read."""
        if self.peek() != "{":
            raise self.refuse(place, f"an object is needed, not {self.found()}")
        self.at += 1
        seen = set()
        more = self.peek() != "}"
        while more:
            start = self.at
            plain = _PLAIN_KEY.match(self.text, start)
            if plain is not None:
                key, self.at = plain[1], plain.end()
            else:
                key = self.unusual_key(place)
            if key in seen or key not in allowed:
                self.at = start
                self.peek()
                raise self.refuse(place, f"{'duplicate' if key in seen else 'unknown'} key {_shown(key)}")
            seen.add(key)
            yield key
            more = self.peek() == ","
            if more:
                self.at += 1
        if self.peek() != "}":
            raise self.refuse(place, f"',' or '}}' is needed, not {self.found()}")
        self.at += 1

    def unusual_key(self, place: str) -> str:
        """A key and its colon, spelt with escapes or wrongly."""
        if self.peek() != '"':
            raise self.refuse(place, f"a key is needed, not {self.found()}")
        key = self.string(place)
        if self.peek() != ":":
            raise self.refuse(place, f"':' is needed after key {_shown(key)}, not {self.found()}")
        self.at += 1
        return key

    def elements(self, place: str) -> Iterator[int]:
        """Positions of an array, each with the scanner before its element, which the caller must read."""
        if self.peek() != "[":
            raise self.refuse(place, f"an array is needed, not {self.found()}")
        self.at += 1
        position = 0
        more = self.peek() != "]"
        while more:
            yield position
            position += 1
            more = self.peek() == ","
            if more:
                self.at += 1
        if self.peek() != "]":
            raise self.refuse(place, f"',' or ']' is needed, not {self.found()}")
        self.at += 1

    def string(self, place: str) -> str:
        if self.peek() != '"':
            raise self.refuse(place, f"a string is needed, not {self.found()}")
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise self.refuse(place, "a string that is damaged, does not end, or is longer than any in a policy")
        self.at = match.end()
        return json.loads(match[0]) if "\\" in match[0] else match[1]

    def integer(self, place: str) -> int:
        plain = _PLAIN_INTEGER.match(self.text, self.at)
        if plain is not None:
            self.at = plain.end()
            return int(plain[1])
        self.peek()
        match = _INTEGER.match(self.text, self.at)
        if match is None:
            raise self.refuse(place, f"an integer is needed, not {self.found()}")
        digits = match.end() - match.start() - (match[0][0] == "-")
        if self.text[match.end() : match.end() + 1] in (".", "e", "E"):
            raise self.refuse(place, "an integer is needed, not a number with a fraction or exponent")
        if digits > _MAX_DIGITS:
            raise self.refuse(place, f"an integer of {digits} digits is out of any range")
        value = int(match[0])
        if digits > 1 and match[0].lstrip("-")[0] == "0":
            raise self.refuse(place, f"{match[0]} begins with a zero, which JSON does not allow")
        if value < 0:
            raise self.refuse(place, f"{value} is negative")
        self.at = match.end()
        return value

    def integer_or_null(self, place: str) -> int:
        """An edge; null is -1."""
        if self.peek() == "n" and self.text.startswith("null", self.at):
            self.at += 4
            return -1
        return self.integer(place)

    def end(self) -> None:
        if self.peek():
            raise self.refuse("the policy", f"{self.found()} after its last brace")

    def found(self) -> str:
        """What stands here, in words for a message."""
        first = self.text[self.at : self.at + 1]
        word = _WORD.match(self.text, self.at)
        if word is not None:
            return {"true": "a boolean", "false": "a boolean", "null": "null"}.get(word[0], word[0])
        if first in "-0123456789":
            return "a number" if first else "the end of the text"
        return {"{": "an object", "[": "an array", '"': "a string"}.get(first, _shown(first))


def _shown(text: str) -> str:
    """Text of unknown origin for a message: escaped, quoted, short."""
    return ascii(text if len(text) <= 40 else text[:37] + "...")


# --- the archive: read by its bytes, because a lenient reader hides what the platform may see ---

_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_PLAIN_VERSION = 20
_PLAIN_FLAGS = 0x080E
"""Deflate's level, sizes after the data, and a name in UTF-8."""
_EXTRAS = {0x0001: "zip64 sizes", 0x0017: "encryption", 0x7075: "a second name", 0x9901: "encryption"}


def unpack(raw: bytes) -> bytes:
    """Bytes of the one member of a submission archive, at most MAX_BYTES + 1 of them. Raises RejectionError."""
    if len(raw) > MAX_BYTES + 2**16:
        raise RejectionError(f"archive: more than {MAX_BYTES} bytes")
    end = raw.rfind(b"PK\5\6")
    if end < 0 or end + _END.size > len(raw):
        raise RejectionError("archive: no end record; the file is truncated or no ZIP archive")
    _, disk, first_disk, here, members, size, start, comment = _END.unpack_from(raw, end)
    if end + _END.size != len(raw):
        what = "a comment" if end + _END.size + comment == len(raw) else "data"
        raise RejectionError(f"archive: {what} after its end record (byte {end + _END.size})")
    if comment:
        raise RejectionError("archive: truncated comment")
    if 0xFFFF in (disk, first_disk, here, members) or 0xFFFFFFFF in (size, start):
        raise RejectionError("archive: zip64; a policy needs none")
    if disk or first_disk or here != members:
        raise RejectionError("archive: split over several disks")
    if members == 0:
        raise RejectionError("archive: holds no member; policy.json is needed")
    if start + size != end:
        raise RejectionError(
            f"archive: its directory (byte {start}, {size} bytes) does not end at the end record (byte {end})"
        )
    if not raw.startswith(b"PK\3\4"):
        raise RejectionError("archive: data before the first member")
    name, method, flags, crc, packed, unpacked = _member(raw, start, end, members)
    data = _data_start(raw, start, name, method, flags, (crc, packed, unpacked))
    stop = data + packed
    if flags & 8 and stop != start:
        descriptor = struct.pack("<3L", crc, packed, unpacked)
        if raw[stop:start] not in (descriptor, b"PK\7\x08" + descriptor):
            raise RejectionError("archive: policy.json: the record after its data does not agree with the directory")
        stop = start
    if stop != start:
        raise RejectionError(f"archive: {start - stop} bytes between policy.json and the directory do not belong to it")
    return _inflate(raw[data : data + packed], method, unpacked, crc)


def _member(raw: bytes, start: int, end: int, members: int) -> tuple[bytes, int, int, int, int, int]:
    """Name, method, flags, CRC-32, packed and unpacked size of the only directory record, all legal."""
    names: list[bytes] = []
    at = start
    while at < end and len(names) < 3:
        if at + _CENTRAL.size > end or raw[at : at + 4] != b"PK\1\2":
            raise RejectionError(f"archive: damaged directory record at byte {at}")
        (
            _,
            made_by,
            needed,
            flags,
            method,
            _,
            _,
            crc,
            packed,
            unpacked,
            named,
            extra,
            noted,
            _,
            _,
            attributes,
            offset,
        ) = _CENTRAL.unpack_from(raw, at)
        names.append(raw[at + _CENTRAL.size : at + _CENTRAL.size + named])
        at += _CENTRAL.size + named + extra + noted
    if len(names) > 1 or members > 1:
        listed = ", ".join(_shown(name.decode("latin-1")) for name in names)
        twice = "a duplicate name: " if len(set(names)) < len(names) else ""
        raise RejectionError(
            f"archive: {twice}{max(members, len(names))} members ({listed}); it must hold policy.json and nothing else"
        )
    name = names[0]
    if at != end:
        raise RejectionError(
            f"archive: directory record of {_shown(name.decode('latin-1'))} does not fill the directory"
        )
    mode = attributes >> 16 if made_by >> 8 in (3, 19) else 0  # Unix and macOS keep the file's mode there
    if name.endswith(b"/") or attributes & 0x10 or stat.S_ISDIR(mode):
        raise RejectionError(f"archive: {_shown(name.decode('latin-1'))} is a folder; policy.json must be at the root")
    if stat.S_ISLNK(mode):
        raise RejectionError(f"archive: {_shown(name.decode('latin-1'))} is a link, not a file")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise RejectionError(f"archive: {_shown(name.decode('latin-1'))} is not a regular file")
    if name != b"policy.json":
        raise RejectionError(
            f"archive: member {_shown(name.decode('latin-1'))}; it must be named policy.json, at the root"
        )
    if flags & 0x2041:
        raise RejectionError("archive: policy.json is encrypted")
    if method not in (0, 8):
        raise RejectionError(
            f"archive: policy.json: compression method {method}; only stored (0) and deflated (8) are read"
        )
    if needed > _PLAIN_VERSION:
        raise RejectionError(f"archive: policy.json: needs ZIP version {needed / 10} (4.5 is zip64); 2.0 is enough")
    if flags & ~_PLAIN_FLAGS:
        raise RejectionError(f"archive: policy.json: flags {flags:#06x} ask for more than a plain ZIP file has")
    if 0xFFFFFFFF in (packed, unpacked, offset):
        raise RejectionError("archive: policy.json: zip64; a policy needs none")
    if offset:
        raise RejectionError(f"archive: policy.json starts at byte {offset}, not at the beginning")
    if unpacked > MAX_BYTES:
        raise RejectionError(f"archive: policy.json: {unpacked} bytes unpacked, more than {MAX_BYTES}")
    if noted:
        raise RejectionError("archive: policy.json: a comment; a policy needs none")
    _refuse_extras(raw[end - extra : end])
    return name, method, flags, crc, packed, unpacked


def _data_start(raw: bytes, limit: int, name: bytes, method: int, flags: int, sizes: tuple[int, int, int]) -> int:
    """Byte at which the member's data begin, when its own record agrees with the directory."""
    if _LOCAL.size > limit:
        raise RejectionError("archive: truncated member record")
    _, _, own_flags, own_method, _, _, crc, packed, unpacked, named, extra = _LOCAL.unpack_from(raw)
    own_name = raw[_LOCAL.size : _LOCAL.size + named]
    data = _LOCAL.size + named + extra
    if data + sizes[1] > limit:
        raise RejectionError(
            "archive: policy.json: its data would run into the directory; truncated, or a size is wrong"
        )
    _refuse_extras(raw[data - extra : data])
    if own_name != name:
        raise RejectionError(
            f"archive: named policy.json in the directory, {_shown(own_name.decode('latin-1'))} in its record"
        )
    known = (crc, packed, unpacked)
    if (own_flags, own_method) != (flags, method) or (known != sizes and not (flags & 8 and known == (0, 0, 0))):
        raise RejectionError("archive: policy.json: its record does not agree with the directory")
    return data


def _refuse_extras(extra: bytes) -> None:
    while extra:
        if len(extra) < 4:
            raise RejectionError("archive: policy.json: damaged extra field")
        tag, size = struct.unpack_from("<2H", extra)
        if tag in _EXTRAS:
            raise RejectionError(f"archive: policy.json: an extra field with {_EXTRAS[tag]}; a policy needs none")
        if 4 + size > len(extra):
            raise RejectionError("archive: policy.json: damaged extra field")
        extra = extra[4 + size :]


def _inflate(packed: bytes, method: int, size: int, crc: int) -> bytes:
    """Unpacked bytes, never more than `size` + 1 of them whatever the stream would give."""
    content = packed
    if method == 8:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = stream.decompress(packed, size + 1)
        except zlib.error as error:
            raise RejectionError(f"archive: policy.json: damaged data ({error})") from None
        if len(content) <= size and not stream.eof:
            raise RejectionError("archive: policy.json: truncated data")
        if len(content) <= size and stream.unused_data:
            raise RejectionError(f"archive: policy.json: {len(stream.unused_data)} bytes after its data")
    if len(content) != size:
        more = "more than" if len(content) > size else f"{len(content)} instead of"
        raise RejectionError(f"archive: policy.json: unpacks to {more} the {size} bytes that the directory says")
    if zlib.crc32(content) != crc:
        raise RejectionError("archive: policy.json: the checksum (CRC-32) does not fit its data")
    return content


# --- files, pools, and the command ---


def _read_file(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise UnreadableError(f"{path} is a folder, not a file")
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise UnreadableError(f"{path} is not a regular file")
            return stream.read(MAX_BYTES + 2**16 + 1)
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def read_pool(folder: Path, kind: str) -> PoolFacts:
    """Size and digest of a package's pool, as the official loader normalises it. Raises UnreadableError."""
    path = folder / f"{kind}_pool.txt"
    try:
        raw = path.read_bytes()
        lines = [line.strip().lower() for line in raw.decode("utf-8-sig").splitlines()]
    except UnicodeDecodeError as error:
        raise UnreadableError(f"{path}: byte {error.start} is not UTF-8") from None
    except OSError as error:
        raise UnreadableError(f"cannot read the {kind} pool at {path}: {error.strerror or error}") from None
    names = [line for line in lines if line]
    if not names:
        raise UnreadableError(f"{path}: the {kind} pool is empty")
    joined = "\n".join(names)
    with_last_newline, *others = (
        hashlib.sha256(content).hexdigest() for content in (f"{joined}\n".encode(), joined.encode(), raw)
    )
    published = OFFICIAL[kind][1]
    return PoolFacts(kind, len(names), published if published in others else with_last_newline)


def _pools(policy: Policy, package: Path | None) -> tuple[PoolFacts, PoolFacts, str]:
    """What to compare `policy` with, and how to call it."""
    official = (OFFICIAL["animals"][1], OFFICIAL["questions"][1])
    if package is None and (policy.animals_sha256, policy.questions_sha256) != official:
        embedded = Path(__file__).resolve().parents[2] / "env" / "data" / "cabinet"
        package = embedded if embedded.is_dir() else None
        if package is None:
            animals, questions = (PoolFacts(kind, size, None) for kind, (size, _) in OFFICIAL.items())
            return animals, questions, "the official sizes; digests were not compared, no --package was given"
    if package is None:
        animals, questions = (PoolFacts(kind, size, sha256) for kind, (size, sha256) in OFFICIAL.items())
        return animals, questions, "the official pools"
    return read_pool(package, "animals"), read_pool(package, "questions"), f"the pools of {package}"


def _package_beside(folder: Path) -> Path | None:
    """Package that a policy was made with, as the record of its export beside it says; None where there is none."""
    try:
        named = json.loads((folder / "export.json").read_bytes())["package"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(named, str):
        return None
    if not Path(named).is_dir():
        raise UnreadableError(
            f"{folder}: its package {named} is not there any more; say where it lies with --package DIR"
        )
    return Path(named)


def _require_one_export(folder: Path) -> None:
    """Raises UnreadableError where the policy and the archive of a folder are of two exports."""
    policy, archive = folder / "policy.json", folder / "submission.zip"
    if not (policy.is_file() and archive.is_file()):
        return
    try:
        same = unpack(_read_file(archive)) == _read_file(policy)
    except RejectionError:
        same = False
    if not same:
        raise UnreadableError(f"{folder}: policy.json and submission.zip differ: an export was cut off; export again")


def validate_command(file: Path, package: Path | None = None) -> int:
    """Check a policy.json or a submission archive as the platform would.

    Exit code 0: valid; 1: rejected, with the reason and the place; 2: there was nothing to check.

    Args:
        file: policy.json or submission.zip, or the run folder that holds them.
        package: Package whose pools the policy must fit. Default: the official pools when the policy carries
            their digests, else the package that it was exported for, else the embedded one.
    """
    try:
        if file.is_dir():
            file = file / "submission.zip"
        if file.name in ("policy.json", "submission.zip"):
            _require_one_export(file.parent)
        policy = read(file)
        package = package or _package_beside(file.parent)
        animals, questions, named = _pools(policy, package)
        try:
            check(policy, animals, questions)
        except RejectionError as error:
            hint = "; --package DIR names another package"
            raise RejectionError(f"{error} (compared with {named}{hint})") from None
    except UnreadableError as error:
        print(f"validate: {error}", file=sys.stderr)
        return 2
    except RejectionError as error:
        print(f"rejected: {file}: {error}", file=sys.stderr)
        return 1
    asks, guesses, stops = (policy.kind.count(kind) for kind in (ASK, GUESS, STOP))
    print(f"valid: {len(policy.kind)} nodes ({asks} ask, {guesses} guess, {stops} stop), compared with {named}")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The file as a program of its own; returns the exit code."""
    parser = argparse.ArgumentParser(description="Check a policy.json or a submission archive as the platform would.")
    parser.add_argument("file", type=Path, metavar="FILE", help="policy.json or submission.zip")
    parser.add_argument("--package", type=Path, metavar="DIR", help="package whose pools the policy must fit")
    given = parser.parse_args(arguments)
    return validate_command(given.file, given.package)


if __name__ == "__main__":
    sys.exit(main())

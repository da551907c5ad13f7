"""Claims about the validator: what the contract allows passes, everything else is refused, fast, with its place."""

import io
import json
import os
import shutil
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env.identification import pools
from env.identification.package import EMBEDDED
from export.cabinet import validate
from export.cabinet.graph import graph_to_json
from tests.export.cabinet.test_score import tree

ANIMALS, QUESTIONS = validate.read_pool(EMBEDDED, "animals"), validate.read_pool(EMBEDDED, "questions")
DIGITS = 10**5
BIG = 15 * 2**20


def policy(nodes=({"type": "stop"},), **changes):
    """Text of a policy for the embedded package; None leaves a key out."""
    whole = {
        "schema": validate.SCHEMA,
        "animals_sha256": ANIMALS.sha256,
        "questions_sha256": QUESTIONS.sha256,
        "root": 0,
        "nodes": nodes,
    }
    return json.dumps({key: value for key, value in (whole | changes).items() if value is not None})


GOOD = policy(
    [
        {"type": "ask", "question": 17, "yes": 1, "no": None},
        {"type": "guess", "animal": 39, "wrong": 2},
        {"type": "guess", "animal": 39, "wrong": 0},
        {"type": "stop"},
    ]
)


def with_value(text):
    """The good policy with `text` where question 17 stands."""
    return GOOD.replace(": 17", f": {text}")


def node(text):
    """A policy whose second node is `text`."""
    return policy().replace('[{"type": "stop"}]', '[{"type":"stop"},' + text + "]")


# name: (file's content, the words that the refusal must hold)
HOSTILE_JSON = {
    "empty file": (b"", "an object is needed, not the end of the text"),
    "byte-order mark": (b"\xef\xbb\xbf" + GOOD.encode(), "byte-order mark"),
    "UTF-16": (GOOD.encode("utf-16"), "UTF-16"),
    "UTF-16 without a mark": (GOOD.encode("utf-16-le"), "UTF-16"),
    "UTF-32": (GOOD.encode("utf-32"), "UTF-16 or UTF-32"),
    "Latin-1": (GOOD.replace("ask", "\xe4sk").encode("latin-1"), "not UTF-8"),
    "an array": ("[]", "the policy: an object is needed, not an array (line 1, column 1)"),
    "a string": ('"policy"', "an object is needed, not a string"),
    "truncated": (GOOD[:-17], "nodes[3]: a key is needed, not the end of the text"),
    "cut in a key": (GOOD[: GOOD.index("wrong") + 2], "nodes[1]: a string that is damaged, does not end"),
    "data after": (GOOD + "{}", "the policy: an object after its last brace"),
    "two policies": (GOOD + GOOD, "after its last brace"),
    "trailing comma": (GOOD.replace("}]", "},]"), "nodes[4]: an object is needed, not ']'"),
    "comment": ("/* fine */" + GOOD, "the policy: an object is needed, not '/'"),
    "single quotes": (GOOD.replace('"', "'"), "a key is needed, not"),
    "unknown key": (policy(version=1), "the policy: unknown key 'version'"),
    "missing key": (policy(root=None), "the policy: missing key(s) root"),
    "missing nodes": (policy(nodes=None), "missing key(s) nodes"),
    "duplicate key": (GOOD.replace('"root": 0', '"root": 0, "root": 0'), "the policy: duplicate key 'root'"),
    "escaped duplicate": (GOOD.replace('"root": 0', '"root": 0, "r\\u006fot": 0'), "duplicate key 'root'"),
    "other schema": (policy(schema="v2"), "schema: 'v2' is not ioai-2026-animal-policy-v1"),
    "schema a number": (policy(schema=1), "schema: a string is needed, not a number"),
    "short digest": (policy(animals_sha256="87eb"), "animals_sha256: '87eb' is no digest"),
    "upper-case digest": (policy(animals_sha256="A" * 64), "animals_sha256: 'AAA"),
    "digest with a newline": (policy(questions_sha256="a" * 64 + "\n"), "questions_sha256: 'aaa"),
    "another digest": (policy(questions_sha256="b" * 64), f"the policy has {'b' * 64}, the pool {QUESTIONS.sha256}"),
    "root past the end": (policy(root=1), "root: 1 is not one of the 1 nodes"),
    "root negative": (policy(root=-1), "root: -1 is negative"),
    "root null": (GOOD.replace('"root": 0', '"root": null'), "root: an integer is needed, not null"),
    "no nodes": (policy([]), "root: 0 is not one of the 0 nodes"),
    "nodes an object": (policy().replace('[{"type": "stop"}]', "{}"), "nodes: an array is needed, not an object"),
    "node a number": (node("3"), "nodes[1]: an object is needed, not a number"),
    "node an array": (node("[]"), "nodes[1]: an object is needed, not an array"),
    "node null": (node("null"), "nodes[1]: an object is needed, not null"),
    "node empty": (node("{}"), "nodes[1]: missing key type"),
    "node of no type": (node('{"type":"answer"}'), "nodes[1].type: 'answer' is not ask, guess or stop"),
    "type a number": (node('{"type":1}'), "nodes[1].type: a string is needed, not a number"),
    "node unknown key": (node('{"type":"stop","note":1}'), "nodes[1]: unknown key 'note'"),
    "stop with an edge": (node('{"type":"stop","yes":1}'), "nodes[1].yes: a node of type stop has no such key"),
    "guess with a question": (
        node('{"type":"guess","animal":0,"question":0,"wrong":0}'),
        "nodes[1].question: a node of type guess has no such key",
    ),
    "ask without no": (node('{"type":"ask","question":0,"yes":0}'), "nodes[1]: missing key no"),
    "guess without wrong": (node('{"type":"guess","animal":0}'), "nodes[1]: missing key wrong"),
    "duplicate node key": (node('{"type":"stop","type":"stop"}'), "nodes[1]: duplicate key 'type'"),
    "question out of range": (with_value("201"), "nodes[0].question: 201 is not in the questions pool, 0..200"),
    "animal out of range": (GOOD.replace("39", "400", 1), "nodes[1].animal: 400 is not in the animals pool, 0..399"),
    "edge past the end": (GOOD.replace('"yes": 1', '"yes": 4'), "nodes[0].yes: 4 is not one of the 4 nodes"),
    "edge negative": (GOOD.replace('"yes": 1', '"yes": -1'), "nodes[0].yes: -1 is negative"),
    "edge a string": (GOOD.replace('"yes": 1', '"yes": "1"'), "nodes[0].yes: an integer is needed, not a string"),
    "edge false": (GOOD.replace("null", "false"), "nodes[0].no: an integer is needed, not a boolean"),
    "wrong past the end": (GOOD.replace('"wrong": 2', '"wrong": 99'), "nodes[1].wrong: 99 is not"),
    "question null": (with_value("null"), "nodes[0].question: an integer is needed, not null"),
    "question true": (with_value("true"), "nodes[0].question: an integer is needed, not a boolean"),
    "question 17.0": (with_value("17.0"), "nodes[0].question: an integer is needed, not a number with a fraction"),
    "question 17e0": (with_value("17e0"), "not a number with a fraction or exponent"),
    "question 017": (with_value("017"), "nodes[0].question: 017 begins with a zero"),
    "question +17": (with_value("+17"), "an integer is needed, not '+'"),
    "question 0x11": (with_value("0x11"), "nodes[0]"),
    "question in Arabic digits": (with_value("\u0661\u0667"), "an integer is needed, not '\\u0661'"),
    "NaN": (with_value("NaN"), "nodes[0].question: an integer is needed, not NaN"),
    "Infinity": (with_value("-Infinity"), "nodes[0].question: an integer is needed, not -Infinity"),
    "2**63": (with_value(str(2**63)), "nodes[0].question: an integer of 19 digits is out of any range"),
    "a huge integer": (with_value("9" * DIGITS), f"nodes[0].question: an integer of {DIGITS} digits"),
    "a huge negative": (with_value("-" + "9" * DIGITS), f"an integer of {DIGITS} digits"),
    "a huge exponent": (with_value("1e" + "9" * DIGITS), "not a number with a fraction or exponent"),
    "deep arrays": (lambda: "[" * BIG, "the policy: an object is needed, not an array"),
    "deep arrays in nodes": (
        lambda: policy().replace("[{", "[" * BIG + "{"),
        "nodes[0]: an object is needed, not an array",
    ),
    "deep objects": (lambda: '{"nodes":' * (BIG // 9), "nodes: an array is needed, not an object"),
    "deep objects in a node": (lambda: with_value('{"a":' * (BIG // 5)), "nodes[0].question: an integer is needed"),
    "a long key": (lambda: policy(**{"k" * BIG: 1}), "longer than any in a policy"),
    "a long value": (lambda: policy(schema="\u4e00" * (BIG // 6)), "schema: a string that is damaged"),
    "a control character": (GOOD.replace("ask", "a\x00sk"), "nodes[0].type: a string that is damaged"),
    "half an escape": (GOOD.replace("ask", "\\u12"), "nodes[0].type: a string that is damaged"),
    "a lone surrogate": (GOOD.replace("ask", "\\ud800"), "nodes[0].type: '\\ud800' is not ask"),
    "only spaces": (lambda: " " * BIG, "the end of the text"),
    "spaces and no end": (lambda: GOOD[:-2] + "\n" * BIG, f"(line {BIG + 1}, column 1)"),
    "an emoji after spaces": (lambda: GOOD + " " * BIG + "\U0001f99b", "'\\U0001f99b' after its last brace"),
    "too large": (lambda: GOOD + " " * 2**24, "more than 16777216 bytes"),
    "one node too many": (
        lambda: policy([{"type": "stop"}] * (validate.MAX_NODES + 1)),
        "nodes: more than 32767 nodes",
    ),
    "many empty nodes": (
        lambda: policy().replace('{"type": "stop"}', "{}," * (BIG // 3)),
        "nodes[0]: missing key type",
    ),
}


def zipped(*members, **options):
    """Bytes of an archive of (name or ZipInfo, content) members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", **({"compression": zipfile.ZIP_DEFLATED} | options)) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def entry(name="policy.json", **fields):
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    for key, value in fields.items():
        setattr(info, key, value)
    return info


def patched(raw, *changes):
    """`raw` with (signature, offset after its last occurrence, bytes) written over it."""
    changed = bytearray(raw)
    for signature, offset, content in changes:
        at = changed.rindex(signature) + offset
        changed[at : at + len(content)] = content
    return bytes(changed)


LOCAL, CENTRAL, END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
ZIP = zipped(("policy.json", GOOD))


def bomb(megabytes):
    """An archive of as many megabytes of zeros, true in every size."""
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = stream.compress(bytes(2**20)) + stream.flush(zlib.Z_FULL_FLUSH)
    raw = zipped(("policy.json", block * megabytes + stream.flush()), compression=zipfile.ZIP_STORED)
    return sizes(patched(raw, (LOCAL, 8, b"\x08\0"), (CENTRAL, 10, b"\x08\0")), megabytes * 2**20)


def sizes(raw, size):
    """The archive with another unpacked size declared in both records."""
    return patched(raw, (LOCAL, 22, struct.pack("<L", size)), (CENTRAL, 24, struct.pack("<L", size)))


def stuffed():
    """An archive whose deflated data go on for four bytes after the policy has ended."""
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = stream.compress(GOOD.encode()) + stream.flush() + b"more"
    raw = sizes(zipped(("policy.json", packed), compression=zipfile.ZIP_STORED), len(GOOD))
    checksum = struct.pack("<L", zlib.crc32(GOOD.encode()))
    method = b"\x08\0"
    return patched(raw, (LOCAL, 8, method), (CENTRAL, 10, method), (LOCAL, 14, checksum), (CENTRAL, 16, checksum))


def streamed():
    """An archive written to a stream that cannot seek: sizes and checksum follow the data."""

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def tell(self):
            raise io.UnsupportedOperation

        seek = tell

    stream = Pipe()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("policy.json", GOOD)
    return stream.getvalue()


def zip64():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, archive.open(entry(), "w", force_zip64=True) as member:
        member.write(GOOD.encode())
    return stream.getvalue()


HOSTILE_ZIP = {
    "empty file": (b"", "no end record"),
    "no archive": (GOOD.encode(), "no end record"),
    "empty archive": (zipped(), "holds no member"),
    "a folder": (zipped(("policy.json/", "")), "is a folder"),
    "in a folder": (zipped(("runs/policy.json", GOOD)), "member 'runs/policy.json'; it must be named policy.json"),
    "a folder and the file": (zipped(("a/", ""), ("a/policy.json", GOOD)), "2 members ('a/', 'a/policy.json')"),
    "a second file": (zipped(("policy.json", GOOD), ("notes.txt", "")), "2 members ('policy.json', 'notes.txt')"),
    "macOS leftovers": (zipped(("policy.json", GOOD), ("__MACOSX/._policy.json", "")), "2 members"),
    "an absolute path": (zipped(("/policy.json", GOOD)), "member '/policy.json'"),
    "a path upwards": (zipped(("../policy.json", GOOD)), "member '../policy.json'"),
    "a path with .": (zipped(("./policy.json", GOOD)), "member './policy.json'"),
    "a Windows path": (zipped(("C:policy.json", GOOD)), "member 'C:policy.json'"),
    "a backslash": (zipped(("policy.json", GOOD)).replace(b"policy.json", b"a\\licy.json"), "member 'a\\\\licy.json'"),
    "another case": (zipped(("Policy.json", GOOD)), "member 'Policy.json'"),
    "a NUL in the name": (ZIP.replace(b"policy.json", b"policy\0json"), "member 'policy\\x00json'"),
    "a link": (zipped((entry(create_system=3, external_attr=0o120777 << 16), "policy")), "is a link"),
    "a device": (zipped((entry(create_system=3, external_attr=0o020666 << 16), GOOD)), "not a regular file"),
    "a folder by its mode": (zipped((entry(create_system=3, external_attr=0o040755 << 16), GOOD)), "is a folder"),
    "encrypted": (patched(ZIP, (LOCAL, 6, b"\1\0"), (CENTRAL, 8, b"\1\0")), "encrypted"),
    "bzip2": (zipped((entry(compress_type=zipfile.ZIP_BZIP2), GOOD)), "compression method 12"),
    "lzma": (zipped((entry(compress_type=zipfile.ZIP_LZMA), GOOD)), "compression method 14"),
    "a later version": (patched(ZIP, (CENTRAL, 6, b"\x3f")), "needs ZIP version 6.3"),
    "an unknown flag": (patched(ZIP, (LOCAL, 6, b"\x20"), (CENTRAL, 8, b"\x20")), "flags 0x0020"),
    "method 99": (patched(ZIP, (LOCAL, 8, b"\x63\0"), (CENTRAL, 10, b"\x63\0")), "compression method 99"),
    "methods that differ": (patched(ZIP, (LOCAL, 8, b"\0\0")), "does not agree with the directory"),
    "names that differ": (patched(ZIP, (LOCAL, 30, b"secret")), "'secret.json' in its record"),
    "a bomb": (lambda: bomb(1000), "1048576000 bytes unpacked, more than 16777216"),
    "a bomb that lies": (lambda: sizes(bomb(1000), 100), "unpacks to more than the 100 bytes"),
    "a size too large": (sizes(ZIP, len(GOOD) + 1), f"unpacks to {len(GOOD)} instead of the {len(GOOD) + 1} bytes"),
    "a size too small": (sizes(ZIP, len(GOOD) - 1), "unpacks to more than"),
    "a size in one place": (patched(ZIP, (CENTRAL, 24, b"\1")), "does not agree with the directory"),
    "a wrong checksum": (patched(ZIP, (LOCAL, 14, b"XXXX"), (CENTRAL, 16, b"XXXX")), "checksum"),
    "damaged data": (ZIP[:41] + b"\xff" * 8 + ZIP[49:], "damaged data"),
    "an archive in the archive": (zipped(("policy.json", ZIP)), "not UTF-8"),
    "many members": (lambda: zipped(*[(f"{i}", "") for i in range(10_000)]), "10000 members ('0', '1', '2')"),
    "a lying member count": (
        patched(zipped(("policy.json", GOOD), ("b", "")), (END, 8, b"\1\0\1\0")),
        "2 members",
    ),
    "a count of nine": (patched(ZIP, (END, 8, b"\x09\0\x09\0")), "9 members"),
    "zip64 fields": (zip64(), "zip64"),
    "zip64 in the end record": (patched(ZIP, (END, 16, b"\xff" * 4)), "zip64"),
    "several disks": (patched(ZIP, (END, 4, b"\1\0")), "several disks"),
    "data before": (b"#!/bin/sh\n" + ZIP, "does not end at the end record"),
    "data before, offsets moved": (
        b"hi" + patched(ZIP, (CENTRAL, 42, b"\2"), (END, 16, struct.pack("<L", ZIP.index(CENTRAL) + 2))),
        "data before",
    ),
    "data after": (ZIP + b"more", "data after its end record"),
    "two archives": (ZIP + ZIP, "does not end at the end record"),
    "an archive's comment": (zipped(("policy.json", GOOD))[:-2] + b"\3\0abc", "a comment after its end record"),
    "a member's comment": (zipped((entry(comment=b"hi"), GOOD)), "a comment"),
    "a second name in an extra field": (zipped((entry(extra=b"\x75\x70\1\0\1"), GOOD)), "a second name"),
    "a damaged extra field": (zipped((entry(extra=b"\x55\x54\x09\0\1"), GOOD)), "extra field"),
    "data after the policy's": (stuffed(), "4 bytes after its data"),
    "data before the directory": (
        patched(ZIP.replace(CENTRAL, b"more" + CENTRAL), (END, 16, struct.pack("<L", ZIP.index(CENTRAL) + 4))),
        "4 bytes between policy.json and the directory",
    ),
    "truncated at the end": (ZIP[:-1], "no end record"),
    "truncated in the data": (ZIP[:60], "no end record"),
    "data cut out": (ZIP[:60] + ZIP[70:], "does not end at the end record"),
    "directory first": (ZIP[ZIP.index(CENTRAL) :], "does not end at the end record"),
    "a directory of noise": (patched(ZIP, (CENTRAL, 0, b"XXXX")), "damaged directory record"),
    "large": (lambda: bytes(17 * 2**20), "more than 16777216 bytes"),
}


def as_bytes(content):
    """A row's content: bytes, text, or (where it is large) a function that makes one of them."""
    content = content() if callable(content) else content
    return content if isinstance(content, bytes) else content.encode()


def reason(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(as_bytes(content))
    with pytest.raises(validate.RejectionError) as caught:
        validate.check(validate.read(path), ANIMALS, QUESTIONS)
    return str(caught.value)


@pytest.mark.parametrize("name", HOSTILE_JSON)
def test_a_hostile_policy_is_refused_with_what_and_where(tmp_path, name):
    content, words = HOSTILE_JSON[name]
    message = reason(tmp_path, "policy.json", content)
    assert words in message
    assert len(message) < 300
    assert message.isprintable()


@pytest.mark.parametrize("name", HOSTILE_ZIP)
def test_a_hostile_archive_is_refused_with_what_and_where(tmp_path, name):
    content, words = HOSTILE_ZIP[name]
    message = reason(tmp_path, "submission.zip", content)
    assert words in message
    assert len(message) < 300
    assert message.isprintable()


def lawful(text):
    """The contract's policy rules once more, on what the json module makes of `text`; lenient in nothing."""

    def unique(pairs):
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    def index(value, size):
        return type(value) is int and 0 <= value < size

    try:
        told = json.loads(text, object_pairs_hook=unique)
        digests = (told["schema"], told["animals_sha256"], told["questions_sha256"])
        assert digests == (validate.SCHEMA, ANIMALS.sha256, QUESTIONS.sha256)
        assert len(told) == 5
        nodes = told["nodes"]
        assert type(nodes) is list
        assert index(told["root"], len(nodes))
        for each in nodes:
            own, edges = {
                "ask": ({"question": QUESTIONS.size}, {"yes", "no"}),
                "guess": ({"animal": ANIMALS.size}, {"wrong"}),
                "stop": ({}, set()),
            }[each["type"]]
            assert set(each) == {"type", *own, *edges}
            assert all(index(each[key], size) for key, size in own.items())
            assert all(each[key] is None or index(each[key], len(nodes)) for key in edges)
    except (AssertionError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


PIECES = [
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\n",
    "\t",
    "0",
    "1",
    "-",
    ".",
    "e",
    "null",
    "true",
    "NaN",
    "\\",
    "\\u0061",
]
PIECES += [
    '"yes"',
    '"no"',
    '"wrong"',
    '"type"',
    '"ask"',
    '"stop"',
    '"root"',
    "a",
    "A",
    "\0",
    "\x0b",
    "\xa0",
    "\U0001f99b",
]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(200, len(GOOD)), st.integers(0, 9), st.sampled_from(["", *PIECES])), max_size=3))
def test_every_garbled_policy_is_judged_as_the_contract_judges_what_json_reads(edits):
    text = GOOD
    for at, length, piece in edits:
        text = text[:at] + piece + text[at + length :]
    try:
        validate.check(validate.parse(text.encode()), ANIMALS, QUESTIONS)
        accepted = True
    except validate.RejectionError:
        accepted = False
    assert accepted == lawful(text), text


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, len(ZIP) - 1), st.binary(max_size=4)), min_size=1, max_size=3))
def test_a_garbled_archive_is_refused_or_is_still_one_policy_to_every_reader(edits):
    raw = ZIP
    for at, piece in edits:
        raw = raw[:at] + piece + raw[at + len(piece) :]
    try:
        content = validate.unpack(raw)
    except validate.RejectionError:
        return
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert archive.namelist() == ["policy.json"]
        assert archive.read("policy.json") == content == GOOD.encode()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's process table")
def test_no_hostile_file_takes_two_seconds_or_200_megabytes(tmp_path):
    for number, (content, _) in enumerate([*HOSTILE_JSON.values(), *HOSTILE_ZIP.values()]):
        suffix = "zip" if number >= len(HOSTILE_JSON) else "json"
        (tmp_path / f"{number}.{suffix}").write_bytes(as_bytes(content))
    meter = (
        "import re, sys, time\n"
        "sys.path.insert(0, sys.argv.pop(1))\n"
        "import validate\n"
        "package = sys.argv.pop(1)\n"
        "for path in sys.argv[1:]:\n"
        "    start = time.process_time()\n"
        "    code = validate.main([path, '--package', package])\n"
        "    assert code == 1, (path, code)\n"
        "    seconds = time.process_time() - start\n"
        "    print(seconds, re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])\n"
    )
    shutil.copy(validate.__file__, tmp_path / "validate.py")
    files = sorted(map(str, [*tmp_path.glob("*.json"), *tmp_path.glob("*.zip")]))
    command = [sys.executable, "-I", "-c", meter, str(tmp_path), str(EMBEDDED), *files]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == len(HOSTILE_JSON) + len(HOSTILE_ZIP)
    assert max(float(seconds) for seconds, _ in lines) < 2
    assert max(int(kilobytes) for _, kilobytes in lines) < 200 * 1024


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        json.dumps(json.loads(GOOD), indent=4),
        json.dumps(dict(reversed(json.loads(GOOD).items()))),
        json.dumps(json.loads(GOOD) | {"nodes": [dict(reversed(n.items())) for n in json.loads(GOOD)["nodes"]]}),
        GOOD.replace("ask", "\\u0061sk").replace('"root"', '"\\u0072oot"'),
        GOOD.replace('"root": 0', '"root": -0'),
        GOOD.replace(", ", "\r\n\t,"),
        policy(),
        policy([{"type": "stop"}] * validate.MAX_NODES),
    ],
    ids=["plain", "indented", "reversed", "nodes reversed", "escaped", "-0", "spaced", "one stop", "most nodes"],
)
def test_every_spelling_of_a_legal_policy_is_read_as_json_reads_it(tmp_path, text):
    (tmp_path / "policy.json").write_text(text)
    found = validate.read(tmp_path / "policy.json")
    validate.check(found, ANIMALS, QUESTIONS)
    told = json.loads(text)
    assert found.root == told["root"]
    number = {None: -1}
    for position, each in enumerate(told["nodes"]):
        edges = (each.get("yes"), each.get("no", each.get("wrong")))
        assert (found.yes[position], found.no[position]) == tuple(number.get(edge, edge) for edge in edges)
        assert found.value[position] == each.get("question", each.get("animal", 0))
        assert ("ask", "guess", "stop")[found.kind[position]] == each["type"]


@pytest.mark.parametrize(
    "raw",
    [
        ZIP,
        zipped(("policy.json", GOOD), compression=zipfile.ZIP_STORED),
        streamed(),
        zipped((entry(create_system=3, external_attr=0o100644 << 16, extra=b"\x55\x54\5\0\1\0\0\0\0"), GOOD)),
    ],
    ids=["deflated", "stored", "streamed", "with a timestamp"],
)
def test_an_archive_of_one_policy_is_read(tmp_path, raw):
    (tmp_path / "submission.zip").write_bytes(raw)
    assert len(validate.read(tmp_path / "submission.zip").kind) == 4


def test_an_archive_is_known_by_its_first_bytes_too(tmp_path):
    (tmp_path / "upload").write_bytes(ZIP)
    assert len(validate.read(tmp_path / "upload").kind) == 4


def test_a_streamed_archive_whose_late_record_disagrees_is_refused(tmp_path):
    assert "record after its data" in reason(tmp_path, "submission.zip", patched(streamed(), (b"PK\7\x08", 4, b"XXXX")))


def test_the_largest_policy_is_checked_in_two_seconds(tmp_path):
    graph, *_ = tree(np.random.default_rng(0), 15, QUESTIONS.size, ANIMALS.size)
    text = graph_to_json(graph)
    (tmp_path / "policy.json").write_bytes(text)
    started = time.process_time()
    found = validate.read(tmp_path / "policy.json")
    assert time.process_time() - started < 2
    assert len(found.kind) == 32_767


def test_the_facts_told_again_here_are_those_of_the_pools():
    assert validate.OFFICIAL == pools.OFFICIAL
    for kind in ("animals", "questions"):
        pool = pools.read_pool(EMBEDDED / f"{kind}_pool.txt", kind)
        assert validate.read_pool(EMBEDDED, kind) == validate.PoolFacts(kind, len(pool), pool.sha256)


def test_a_pool_with_a_mark_and_windows_lines_has_the_same_digest(tmp_path):
    text = (EMBEDDED / "animals_pool.txt").read_text()
    (tmp_path / "animals_pool.txt").write_bytes(b"\xef\xbb\xbf" + text.upper().replace("\n", " \r\n\r\n").encode())
    assert validate.read_pool(tmp_path, "animals") == ANIMALS


def run_alone(tmp_path, *arguments):
    """The validator copied out of the tree, as a program, without the environment's packages."""
    alone = tmp_path / "alone" / "validate.py"
    alone.parent.mkdir(exist_ok=True)
    shutil.copy(validate.__file__, alone)
    command = [sys.executable, "-I", "-S", str(alone), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)


def test_alone_it_exits_0_for_valid_1_for_rejected_and_2_for_nothing_to_check(tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(GOOD)
    bad.write_text(with_value("999"))
    valid = run_alone(tmp_path, good, "--package", EMBEDDED)
    assert (valid.returncode, valid.stderr) == (0, "")
    assert valid.stdout.startswith("valid: 4 nodes (1 ask, 2 guess, 1 stop)")
    rejected = run_alone(tmp_path, bad, "--package", EMBEDDED)
    assert (rejected.returncode, rejected.stdout) == (1, "")
    assert "nodes[0].question: 999 is not in the questions pool, 0..200" in rejected.stderr
    for arguments in (
        [],
        [tmp_path / "none.json"],
        [tmp_path],
        ["/dev/zero"],
        [good, "--package", tmp_path],
        [good, "--nodes", 3],
    ):
        nothing = run_alone(tmp_path, *arguments)
        assert (nothing.returncode, nothing.stdout) == (2, "")
        assert "Traceback" not in nothing.stderr
        assert nothing.stderr


def test_alone_and_without_a_package_it_says_what_it_did_not_compare(tmp_path):
    (tmp_path / "policy.json").write_text(with_value("558"))
    assert "digests were not compared" in run_alone(tmp_path, "policy.json").stdout
    (tmp_path / "policy.json").write_text(with_value("559"))
    assert "not in the questions pool, 0..558" in run_alone(tmp_path, "policy.json").stderr


def test_a_policy_for_the_official_pools_needs_no_package(tmp_path, capsys):
    official = {f"{kind}_sha256": sha256 for kind, (_, sha256) in pools.OFFICIAL.items()}
    (tmp_path / "policy.json").write_text(policy([{"type": "guess", "animal": 1471, "wrong": None}], **official))
    assert validate.validate_command(tmp_path / "policy.json") == 0
    assert "the official pools" in capsys.readouterr().out
    assert validate.validate_command(tmp_path / "policy.json", EMBEDDED) == 1
    assert "made for another animals pool" in capsys.readouterr().err


def test_without_a_package_a_policy_is_compared_with_the_embedded_one(tmp_path, capsys):
    (tmp_path / "policy.json").write_text(GOOD)
    assert validate.validate_command(tmp_path / "policy.json") == 0
    (tmp_path / "policy.json").write_text(policy(animals_sha256="c" * 64))
    assert validate.validate_command(tmp_path / "policy.json") == 1
    assert "--package DIR names another package" in capsys.readouterr().err


def test_a_link_to_a_policy_is_followed_and_a_pipe_is_not_waited_for(tmp_path):
    (tmp_path / "real.json").write_text(GOOD)
    (tmp_path / "policy.json").symlink_to("real.json")
    assert len(validate.read(tmp_path / "policy.json").kind) == 4
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(validate.UnreadableError, match="not a regular file"):
        validate.read(tmp_path / "pipe")

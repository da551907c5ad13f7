import hashlib
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.errors import PackageWarning, UserError
from env.identification import pools
from env.identification.pools import Pool, candidate_digests, digest, make_pool, normalise, read_pool, read_split

LINES = st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=12), max_size=12)


def official(content: str) -> list[str]:
    """The contract's words, one after the other: split lines, strip each, lower-case it, drop the empty ones."""
    names = []
    for line in content.splitlines():
        stripped = line.strip()
        lowered = stripped.lower()
        if lowered:
            names.append(lowered)
    return names


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]))
def test_normalising_follows_the_contract_word_by_word(lines: list[str], newline: str) -> None:
    content = newline.join(lines)
    assert list(normalise(content)) == official(content)


@given(LINES)
def test_normalising_keeps_the_order_and_every_line_that_holds_something(lines: list[str]) -> None:
    plain = ["x" + "".join(c for c in line if c.isalnum() and c.isascii()) for line in lines]
    padded = "\n".join(f"  {line.upper()}\t\n\n" for line in plain)
    assert list(normalise(padded)) == [line.lower() for line in plain]


@given(LINES)
def test_normalised_names_are_stable_when_written_and_read_again(lines: list[str]) -> None:
    once = normalise("\n".join(lines))
    assert normalise("\n".join(once)) == once


def test_the_digest_is_of_the_lines_with_a_last_newline() -> None:
    assert digest(["cat", "dog"]) == hashlib.sha256(b"cat\ndog\n").hexdigest()


@pytest.mark.parametrize("form", ["lines with a last newline", "lines", "raw file"])
def test_a_published_digest_is_recognised_in_every_byte_form(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = b"Cat\r\nDog \r\n"
    published = candidate_digests(raw, ["cat", "dog"])[form]
    monkeypatch.setitem(pools.OFFICIAL, "animals", (2, published))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pool = make_pool("animals", ["cat", "dog"], raw)
    assert pool.sha256 == published
    assert pool.official


def test_a_list_of_the_official_size_with_another_digest_is_one_warning_with_the_candidates() -> None:
    names = [f"beast {i}" for i in range(1472)]
    with pytest.warns(PackageWarning) as caught:
        pool = make_pool("animals", names)
    assert not pool.official
    assert pool.sha256 == digest(names)
    message = str(caught[0].message)
    assert len(caught) == 1
    assert "\n" not in message
    assert pools.ANIMALS_SHA256 in message
    assert all(value in message for value in candidate_digests(b"", names).values())


def test_another_size_is_not_official_and_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not make_pool("questions", ["is it big?"]).official


def test_a_duplicate_line_is_a_warning_and_keeps_its_place() -> None:
    with pytest.warns(PackageWarning, match=r"1 duplicate line.*'cat'"):
        pool = make_pool("animals", normalise("Cat\ndog\nCAT \nowl\n"))
    assert pool.names == ("cat", "dog", "cat", "owl")
    assert pool.find("cat") == 0
    assert pool.find("owl") == 3


@pytest.mark.parametrize(
    "content",
    [
        "cat\nhoney badger\n",
        "\ufeffcat\nhoney badger\n",
        "Cat\r\nHoney Badger\r\n",
        "\ufeff  CAT\r\n\r\n\thoney badger",
        "cat\rhoney badger",
    ],
    ids=["plain", "byte-order mark", "CRLF", "all at once", "CR"],
)
def test_a_pool_reads_the_same_however_it_was_saved(content: str, tmp_path: Path) -> None:
    path = tmp_path / "animals_pool.txt"
    path.write_bytes(content.encode())
    pool = read_pool(path, "animals")
    assert pool.names == ("cat", "honey badger")
    assert pool.sha256 == digest(["cat", "honey badger"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "animals pool is missing"),
        (b"", "is empty"),
        (b" \n\n\t\n", "is empty"),
        (b"cat\ncaf\xe9\n", r"line 2 is not UTF-8 \(byte 0xe9\)"),
        (b"\xef\xbb\xbfcat\ncaf\xe9", "line 2 is not UTF-8"),
        ("cat\ndog\n".encode("utf-16"), "line 1 is not UTF-8"),
    ],
    ids=["missing", "empty", "blank lines", "latin-1", "latin-1 after a byte-order mark", "UTF-16"],
)
def test_a_pool_that_cannot_be_read_is_one_line(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "animals_pool.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        read_pool(path, "animals")
    assert "\n" not in str(error.value)
    assert "animals_pool.txt" in str(error.value)


def test_a_folder_in_place_of_a_pool_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the animals pool"):
        read_pool(tmp_path, "animals")


@pytest.fixture
def zoo() -> Pool:
    return make_pool("animals", ["cat", "honey badger", "fox, red", "owl"])


def test_an_unknown_name_suggests_the_nearest_ones(zoo: Pool) -> None:
    with pytest.raises(UserError, match=r"'Hony Badgr' is not in the animals pool; did you mean honey badger\?"):
        zoo.find("Hony Badgr")


def test_a_name_is_found_in_any_case_and_padding(zoo: Pool) -> None:
    assert zoo.find("  Honey BADGER\n") == 1


def test_an_endless_name_gives_a_short_message(zoo: Pool) -> None:
    with pytest.raises(UserError) as error:
        zoo.find("z" * 1_000_000)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "content",
    [
        "animal\nowl\ncat\n",
        "\ufeffAnimal\r\nOWL\r\ncat\r\n",
        "id,animal\n7,owl\n8,cat\n",
        ' animal ,note\n"owl",x\n\n"cat",\n',
    ],
    ids=["plain", "byte-order mark and CRLF", "another column", "quotes and blank lines"],
)
def test_a_split_keeps_the_order_of_its_file(content: str, zoo: Pool, tmp_path: Path) -> None:
    path = tmp_path / "dev.csv"
    path.write_bytes(content.encode())
    ids = read_split(path, zoo)
    assert ids.dtype == np.int64
    assert ids.tolist() == [3, 0]


def test_a_quoted_name_may_hold_a_comma(zoo: Pool, tmp_path: Path) -> None:
    path = tmp_path / "dev.csv"
    path.write_text('animal\n"fox, red"\n')
    assert read_split(path, zoo).tolist() == [2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "dev split is missing"),
        (b"", "no column 'animal'.*an empty file"),
        (b"name\ncat\n", "no column 'animal'.*name"),
        (b"animal\n", "no animals below the header"),
        (b"animal\ncat\nCat\n", "line 3: 'Cat' stands already on line 2"),
        (b"animal\ncat\nowll\n", "line 3: 'owll' is not in the animals pool; did you mean owl?"),
        (b"animal\ncaf\xe9\n", "line 2 is not UTF-8"),
        (b'animal\n"' + b"x" * 200_000 + b'"\n', "is not CSV"),
        (b"a" * 100_000 + b"\ncat\n", "no column 'animal'"),
    ],
    ids=["missing", "empty", "no column", "no rows", "twice", "unknown", "latin-1", "huge cell", "huge header"],
)
def test_a_split_that_cannot_be_read_is_one_line(
    content: bytes | None, message: str, zoo: Pool, tmp_path: Path
) -> None:
    path = tmp_path / "dev.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        read_split(path, zoo)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400
    assert "dev.csv" in str(error.value)


def test_a_null_byte_in_a_split_is_one_line(zoo: Pool, tmp_path: Path) -> None:
    path = tmp_path / "dev.csv"
    path.write_bytes(b"animal\nc\x00at\n")
    with pytest.raises(UserError, match=r"dev\.csv"):
        read_split(path, zoo)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.keywords.comparison import hits, normalise, one_keyword, read_answer, same


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The Weather", "wear"),
        ("Rock 'n' Roll!", "rocknroll"),
        ("Bath-Mat", "bathmat"),
        ("t-he end", "theend"),
        ("tthehe", "the"),
        ("Café au lait", "caféaulait"),
        ("a\tb", "a\tb"),
        ("Alzheimer’s", "alzheimer’s"),
        ("the", ""),
        ("", ""),
    ],
)
def test_normal_form_keeps_what_the_game_keeps(text: str, form: str) -> None:
    assert normalise(text) == form


@pytest.mark.parametrize(
    ("one", "other", "hit"),
    [
        ("Masks", "mask", True),
        ("Matches", "match", True),
        ("Latte", "lattes", True),
        ("glass", "glasses", True),
        ("glas", "glasses", False),
        ("IV", "ivs", False),
        ("GPS", "gp", False),
        ("USB drives", "usb-drive", True),
        ("Leather", "lear", True),
        ("berry", "berries", False),
        ("bus", "buses", True),
        ("buss", "busses", True),
        ("as", "ass", False),
        ("abc", "abcs", True),
        ("the", "", True),
    ],
)
def test_guesses_are_compared_as_the_game_does(one: str, other: str, hit: bool) -> None:
    assert same(one, other) is hit
    assert same(other, one) is hit


def test_an_alternative_hits() -> None:
    assert hits("air conditioning", "Air Conditioner", ["Air Conditioning"])
    assert not hits("air", "Air Conditioner", ["Air Conditioning"])


def test_names_that_one_guess_cannot_tell_apart_are_one_keyword() -> None:
    names = ["mask", "Garbage Disposal", "iris", "the mask", "masks", "garbage disposal", "maskes", "iv", "ivs"]
    assert one_keyword(names).tolist() == [0, 1, 2, 0, 0, 1, 0, 7, 8]


_WORDS = st.lists(st.text(alphabet="abes th-", max_size=5), max_size=12)


@given(_WORDS)
def test_groups_are_the_connected_parts_of_the_relation(names: list[str]) -> None:
    found = one_keyword(names)
    joined = list(range(len(names)))
    for _ in names:  # widens until nothing moves
        for a in range(len(names)):
            for b in range(len(names)):
                if same(names[a], names[b]):
                    joined[a] = joined[b] = min(joined[a], joined[b])
    assert found.tolist() == joined


@pytest.mark.parametrize(
    ("answer", "reading"),
    [
        ("yes", True),
        ("YES.", True),
        ("no, yes", True),
        ("eyes", True),
        ("no", False),
        ("I do not know", False),
        ("nonsense", False),
        ("maybe", None),
        ("", None),
        (None, None),
        (1, None),
    ],
)
def test_answers_are_read_as_the_game_does(answer: object, reading: bool | None) -> None:
    assert read_answer(answer) is reading

"""Claims about the growth bench: it counts what is decided, measures whole commands, and says when a bar is not met."""

import io

import pytest
from rich.console import Console

from agents.identification.players import Lookahead
from env.errors import UserError
from export.cabinet.enumerate import enumerate_decisions
from export.cabinet.growth import MOST_BYTES, MOST_SECONDS, Counted, Measured, _run, show_growth
from tests.worlds import player_of, tiny_package


def test_every_state_is_counted_once_with_all_that_is_believed_there():
    package = tiny_package(16, 8, seed=1)
    counted = Counted(Lookahead(player_of("belief", package, 0.1)))
    decisions = enumerate_decisions(counted)
    assert counted.states == len(decisions.action)
    assert 16 <= counted.entries < 16 * counted.states


def test_a_command_is_measured_as_a_process_and_one_that_fails_is_told(tmp_path):
    seconds, processor, peak = _run(["validate", "--help"], tmp_path / "told.json")
    assert 0 < processor < seconds + 5
    assert 5e6 < peak < 4e8, "the child's own peak, not the parent's"
    with pytest.raises(UserError, match=r"wilkins validate failed: .*nowhere"):
        _run(["validate", str(tmp_path / "nowhere.json")], tmp_path / "told.json")


@pytest.mark.parametrize(
    ("seconds", "peak", "met"), [(59.0, 1.9e9, True), (61.0, 1e9, False), (1.0, MOST_BYTES + 1, False)]
)
def test_the_bars_are_those_of_the_largest_package(seconds, peak, met):
    start = [Measured("export", 100, 10, 100, 5.0, 4.0, int(4e8))]
    found = [
        Measured("export", 1000, 100, 1000, MOST_SECONDS + 1, 6.0, int(5e8)),
        Measured("export", 2000, 200, 4000, seconds, 14.0, int(peak)),
    ]
    console = Console(file=io.StringIO(), width=100)
    assert show_growth(found, start, console) == met
    said = console.file.getvalue()
    assert ("NOT MET" not in said) == met
    row = next(line for line in said.splitlines() if "2,000" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")][1:6] == ["200", "20.0", "4.0", "10.0", "5.0"]

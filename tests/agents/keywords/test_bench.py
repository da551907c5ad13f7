"""Claims about the figures of players: the bound is the published one, tables hold what was played, mistakes are told."""

import numpy as np
import pytest

from agents.keywords.bench import Against, Entry, bench_keywords
from agents.keywords.bound import win_bound
from agents.keywords.players import RandomPlayer, play
from env.errors import UserError
from env.keywords.world import SHARES, TIERS
from tests.small_keywords import small_world

WORLD = small_world()


@pytest.mark.parametrize(("rate", "bound"), [(0.05, 91.86), (0.1, 79.77), (0.2, 43.14)])
def test_the_bound_is_the_published_one(rate, bound):
    assert 100 * win_bound(rate, TIERS, SHARES) == pytest.approx(bound, abs=0.006)


@pytest.mark.parametrize(
    ("rate", "tiers", "shares", "bound"),
    [
        (0.0, (1000,), (0.9,), 0.9),  # ten answers tell a thousand apart
        (0.5, (1000,), (1.0,), 0.02),  # answers that tell nothing leave twenty guesses
        (0.0, (2**21,), (1.0,), (2**21 - 2) / 2**21),  # two guesses after one answer, up to 2^20 after twenty
    ],
)
def test_the_bound_where_it_is_known(rate, tiers, shares, bound):
    assert win_bound(rate, tiers, shares) == pytest.approx(bound, abs=1e-6)


def test_a_bench_prints_every_player_goes_on_from_what_was_played_and_names_damage(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("agents.keywords.bench.synthetic_world", lambda: WORLD)
    monkeypatch.setattr("agents.keywords.bench.OTHER_SHARES", (0.2, 0.3, 0.5))
    monkeypatch.setattr("agents.keywords.bench.SHARES", (0.6, 0.25, 0.15))
    entries = [
        Entry("random", lambda: RandomPlayer(WORLD)),
        Entry("again", lambda: RandomPlayer(WORLD), (Against(("random",), {0.1: 0.0, "clarity": 1.0}),)),
    ]
    monkeypatch.setattr("agents.keywords.bench.entries_told", lambda *_: iter(entries))
    monkeypatch.setattr("agents.keywords.bench.entries_prior", lambda *_: iter(()))
    assert bench_keywords(games=60, folder=tmp_path, partners=("0.1", "clarity"), decisions=0) == 0
    out = capsys.readouterr().out
    told = [line for line in out.splitlines() if " won " in line]
    assert [line.split(" won ")[0] for line in told] == [
        f"wrong answers {wrong}: {name}" for wrong in ("10 %", "by clarity, mean 10 %") for name in ("random", "again")
    ]
    assert out.index(told[1]) < out.index("win rate, wrong answers 10 %") < out.index(told[2])
    assert [word for word in ("NOT MET", "met") if out.count(word) == 1] == ["NOT MET", "met"]
    kept = np.loadtxt(tmp_path / "random-0.1-60-1.txt", dtype=int)
    hidden, answers = WORLD.draw(0.1, 60, 1, (0.6, 0.25, 0.15))
    assert np.array_equal(kept, play(RandomPlayer(WORLD), answers, hidden)[0])
    assert f"random won {(kept > 0).sum()} of 60 games" in told[0]
    entries[0] = Entry("random", lambda: pytest.fail("was played already"))
    assert bench_keywords(games=60, folder=tmp_path, partners=("0.1",), decisions=0) == 0
    assert " won " not in capsys.readouterr().out
    (tmp_path / "random-0.1-60-1.txt").write_text("1\n2\n")
    with pytest.raises(UserError, match="2 games instead of 60"):
        bench_keywords(games=60, folder=tmp_path, partners=("0.1",), decisions=0)


@pytest.mark.parametrize("partner", ["0.5", "-0.1", "nan", "often"])
def test_partners_that_are_none_are_refused_in_a_line(partner):
    with pytest.raises(UserError, match="give rates of wrong answers"):
        bench_keywords(partners=(partner,), decisions=0)

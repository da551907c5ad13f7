"""Claims about what leaves: the archive to upload, and the program without weights or tables."""

import stat
import zipfile

import pytest

from env.errors import UserError
from export.cabinet import archive
from export.cabinet.validate import unpack

POLICY = b'{"schema":"ioai-2026-animal-policy-v1"}\n'


def test_the_submission_holds_the_policy_and_nothing_else(tmp_path):
    archive.write_submission(tmp_path / "submission.zip", POLICY)
    assert unpack((tmp_path / "submission.zip").read_bytes()) == POLICY
    with zipfile.ZipFile(tmp_path / "submission.zip") as found:
        (member,) = found.infolist()
    assert member.filename == "policy.json"
    assert stat.S_ISREG(member.external_attr >> 16)


def test_the_same_input_gives_the_same_bytes_whenever_it_is_written(tmp_path, monkeypatch):
    for name, now in (("a", 0), ("b", 2**31)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        archive.write_submission(tmp_path / name / "submission.zip", POLICY)
        archive.write_source(tmp_path / name / "source.zip")
    for name in ("submission.zip", "source.zip"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_source_is_the_program(tmp_path):
    archive.write_source(tmp_path / "source.zip")
    with zipfile.ZipFile(tmp_path / "source.zip") as found:
        names = found.namelist()
        assert found.testzip() is None
    assert {"wilkins.py", "env/cabinet/rules.py", "export/cabinet/archive.py", "pyproject.toml", "LICENSE"} <= set(
        names
    )
    assert names == sorted(names)
    assert not [name for name in names if name.startswith(("tests/", "runs/", ".venv/"))]


def test_no_weights_tables_pools_or_leftovers_slip_into_the_source(tmp_path):
    kept = {
        "env/cabinet/rules.py",
        "env/data/cabinet/PROVENANCE.md",
        "export/page/cabinet.html",
        "train.py",
        "README.md",
    }
    left = {
        "env/data/cabinet/matrix.npz",
        "env/data/cabinet/dev.csv",
        "env/data/cabinet/animals_pool.txt",
        "env/table.npy",
        "agents/best.zip",
        "agents/weights.safetensors",
        "agents/model.pt",
        "agents/identification/__pycache__/policy.py",
        "export/.policy.py",
        "env/.hidden/secret.py",
        "runs/one/notes.md",
        "tests/test_all.py",
        "notes.py",
    }
    for name in {*kept, *left, "pyproject.toml"}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert set(archive.source_files(tmp_path)) == {*kept, "pyproject.toml"}


def test_an_installed_program_has_nothing_beside_its_rooms(tmp_path):
    for name in ("env/cabinet/rules.py", "export/cabinet/graph.py", "wilkins.py", "README.md", "LICENSE"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert set(archive.source_files(tmp_path)) == {"env/cabinet/rules.py", "export/cabinet/graph.py", "wilkins.py"}


@pytest.mark.parametrize("write", [lambda path: archive.write_submission(path, POLICY), archive.write_source])
def test_an_archive_that_cannot_be_written_is_one_line_and_leaves_nothing(tmp_path, write):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot write"):
        write(tmp_path / "file" / "submission.zip")
    (tmp_path / "submission.zip").mkdir()
    with pytest.raises(UserError, match="cannot write"):
        write(tmp_path / "submission.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "submission.zip"]

"""What the documentation names is there: files, commands, flags, make targets."""

import json
import re
from pathlib import Path

import pytest

import wilkins

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])
IDS = [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_to_files_of_the_project(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_and_their_flags_exist(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Placeholders in capitals and words of a sentence are no commands: only code is looked at.
    code = re.findall(r"^    .*$", page.read_text(), re.MULTILINE) + re.findall(r"`([^`\n]+)`", page.read_text())
    for line in code:
        found = re.search(r"(?:^|[\s/])wilkins ([a-z-]+)(?: ([a-z-]+))?(.*)", line.split("#")[0])
        if not found:
            continue
        two, one = f"{found[1]} {found[2]}", found[1]
        name = two if two in wilkins.COMMANDS else one
        assert name in wilkins.COMMANDS, line
        flags = re.findall(r"(?<!\S)(--[a-z][a-z-]*)", found[3])
        argument = re.match(r" (?:[A-Z]+|\S+/\S+)(?= |$)", found[0].partition(f"wilkins {name}")[2])
        if flags or argument:
            wilkins.main([*name.split(), "--help"])
            text = capsys.readouterr().out
            assert all(flag in text for flag in flags), line
            usage = " ".join(text.split("\n\n")[0].split()).partition(f"wilkins {name}")[2]
            taken = re.sub(r"\[-h\]|\[OPTIONS\]|\[--[^\]]*\]", "", usage).strip()
            assert taken or not argument, f"it takes no argument without a flag: {line}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for name in re.findall(r"`make ([a-z-]+)`|^    make ([a-z-]+)", page.read_text(), re.MULTILINE):
        assert (name[0] or name[1]) in targets, name


def test_the_notebook_stands_without_outputs_and_its_commands_exist() -> None:
    cells = json.loads((ROOT / "docs/quickstart.ipynb").read_text())["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    called = re.findall(r"-m wilkins ([a-z]+(?: build)?)|\"wilkins\", \"([a-z]+)\"", code)
    assert len(called) >= 6
    assert all((name or other) in wilkins.COMMANDS for name, other in called)

"""Building stops anywhere and goes on; what a matrix holds is shown; two matrices are set beside each other."""

from __future__ import annotations

import datetime
import errno
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from env.errors import UserError
from env.files import sole_writer
from env.identification.matrix import Matrix, load_matrix, save_matrix, with_provenance
from env.identification.numerics import difference
from env.identification.package import load_package
from env.oracle import command
from env.oracle.engine import grouped
from env.oracle.journal import Journal, Row
from env.oracle.model import Source
from env.oracle.noise import others, sample

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", reason="needs wilkins[oracle]")

from transformers import AutoTokenizer  # noqa: E402

from env.oracle.measure import Oracle  # noqa: E402
from env.oracle.prompt import PROMPTS, ChatPrompts  # noqa: E402
from tests.reference import ReferenceInteractor  # noqa: E402
from tests.tiny_model import make_model, make_other, make_tokenizer  # noqa: E402

IDENTITY = {"model": "tiny", "revision": "sha256:0", "dtype": "float32", "prompt_sha256": "1"}

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def package(make_package):
    folder = make_package(animals=5, questions=4)
    (folder / "matrix.npz").unlink()
    return folder


def build(package, model_folder, **options):
    """Without the noise, unless it is asked for: it measures again, and most tests count what is measured."""
    return command.build(package=package, model=str(model_folder), device="cpu", **{"noise": False, **options})


def matrix_of(package, name="matrix.npz"):
    found = load_package(package)
    return load_matrix(package / name, found.animals, found.questions)


def stop_after(monkeypatch, rows, error=KeyboardInterrupt):
    whole = Oracle.groups

    def some(self, groups, questions):
        for number, row in enumerate(whole(self, groups, questions)):
            if number == rows:
                raise error
            yield row

    monkeypatch.setattr(Oracle, "groups", some)
    return lambda: monkeypatch.setattr(Oracle, "groups", whole)


# Building


def test_a_build_measures_everything_and_then_has_nothing_to_do(package, model_folder, capsys):
    assert build(package, model_folder) == 0
    made = matrix_of(package)
    assert made.measured.all()
    found = load_package(package)
    reference = ReferenceInteractor(make_model(make_tokenizer()), AutoTokenizer.from_pretrained(model_folder))
    for animal_id, animal in enumerate(found.animals.names[:2]):
        asked = [reference.ask(animal, question) for question in found.questions.names]
        assert made.answer[animal_id].tolist() == asked
    assert made.provenance["dtype"] == "float32"
    assert made.provenance["revision"].startswith("sha256:")
    assert {path.name for path in package.iterdir()} == {
        "animals_pool.txt",
        "questions_pool.txt",
        "dev.csv",
        "test1.csv",
        "matrix.npz",
    }
    before = (package / "matrix.npz").read_bytes()
    capsys.readouterr()
    assert build(package, model_folder) == 0
    assert "nothing is missing" in capsys.readouterr().out
    assert (package / "matrix.npz").read_bytes() == before


def test_a_keywords_package_is_asked_about_with_its_own_prompt_and_never_mixed_with_another(
    package, model_folder, monkeypatch
):
    (package / "animals_pool.txt").rename(package / "keywords_pool.txt")
    for split in ("dev", "test1"):
        (package / f"{split}.csv").unlink()
    resume = stop_after(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        build(package, model_folder)
    resume()
    with pytest.raises(UserError, match="measured with prompt_sha256"):
        build(package, model_folder, prompt="animals")
    build(package, model_folder, prompt="keywords")
    found = load_package(package)
    assert found.kind == "keywords"
    assert found.split("hidden").size == 5
    assert found.matrix.measured.all()
    assert found.matrix.provenance["prompt"] == "keywords"
    asked = Oracle(
        make_model(make_tokenizer()), ChatPrompts(AutoTokenizer.from_pretrained(model_folder), PROMPTS["keywords"])
    )
    told = list(asked.rows([(0, found.animals.names[0], np.arange(4))], found.questions.names))
    np.testing.assert_allclose(told[0].margin, found.matrix.margin[0], atol=1e-4)
    with pytest.raises(UserError, match=r"that split of .* is empty"):
        build(package, model_folder, animals="dev")


def test_questions_about_a_keyword_as_a_word_are_computed_and_cost_no_model(package, model_folder, capsys):
    (package / "animals_pool.txt").rename(package / "keywords_pool.txt")
    for split in ("dev", "test1"):
        (package / f"{split}.csv").unlink()
    asked = 'does the keyword end with "3"?'
    (package / "questions_pool.txt").write_text(f"is it 0?\n{asked}\n")
    only = package / "words.txt"
    only.write_text(asked)
    build(package, "no such model", questions=only)
    assert "nothing is missing" in capsys.readouterr().out
    assert load_package(package).matrix.answer[:, 1].tolist() == [0, 0, 0, 1, 0]
    build(package, model_folder)
    found = load_package(package).matrix
    assert found.measured.all()
    assert found.answer[:, 1].tolist() == [0, 0, 0, 1, 0]
    assert (np.abs(found.margin[:, 1]) == 10).all()
    assert (np.abs(found.margin[:, 0]) < 10).all()


def test_a_package_of_animals_and_keywords_is_refused(package, model_folder):
    (package / "keywords_pool.txt").write_text("soap\n")
    with pytest.raises(UserError, match="a folder of its own"):
        build(package, model_folder)


def test_an_interrupt_leaves_the_finished_rows_in_the_matrix_and_the_rest_follows(package, model_folder, monkeypatch):
    build(package, model_folder, matrix="whole.npz")
    resume = stop_after(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        build(package, model_folder)
    assert matrix_of(package).measured.all(axis=1).sum() == 2
    assert not (package / "matrix.journal").exists()
    resume()
    build(package, model_folder)
    assert np.array_equal(matrix_of(package).margin, matrix_of(package, "whole.npz").margin)
    assert np.array_equal(matrix_of(package).answer, matrix_of(package, "whole.npz").answer)


def test_a_killed_build_is_picked_up_at_the_next_start(package, model_folder):
    script = (
        "import os, torch; torch.set_num_threads(1)\n"
        "from env.oracle import command, journal\n"
        "whole = journal.Journal.append\n"
        "def append(self, row):\n"
        "    whole(self, row)\n"
        "    if len(self.rows) == 3: os.kill(os.getpid(), 9)\n"
        "journal.Journal.append = append\n"
        f"command.build(package=__import__('pathlib').Path({str(package)!r}), model={str(model_folder)!r}, device='cpu')\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert killed.returncode == -9
    assert not (package / "matrix.npz").exists()
    assert len((package / "matrix.journal").read_bytes().splitlines()) == 4
    measured = []
    whole = Oracle.groups

    def counted(self, groups, questions):
        measured.extend(groups)
        return whole(self, groups, questions)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Oracle, "groups", counted)
        patch.setattr("env.oracle.measure.PASS_TOKENS", {"cpu": 1})  # every row is a group of its own
        build(package, model_folder)
    assert [len(group) for group in measured] == [1, 1]
    assert matrix_of(package).measured.all()


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_what_is_measured_in_parts_is_bit_for_bit_what_is_measured_at_once(package, model_folder, monkeypatch, rows):
    monkeypatch.setattr("env.oracle.measure.PASS_TOKENS", {"cpu": 170})  # groups of three and two
    build(package, model_folder, matrix="whole.npz")
    resume = stop_after(monkeypatch, rows)
    with pytest.raises(KeyboardInterrupt):
        build(package, model_folder)
    assert matrix_of(package).measured.all(axis=1).sum() == rows
    resume()
    build(package, model_folder)
    assert (package / "matrix.npz").read_bytes() == (package / "whole.npz").read_bytes()


def test_groups_stay_as_they_are_however_much_is_measured():
    ids = np.arange(3)
    chosen = [(animal_id, f"beast {animal_id}", ids) for animal_id in range(7)]
    measured = np.zeros((7, 3), bool)
    measured[[0, 1, 3, 4]] = True
    measured[5, 0] = True
    found = grouped(chosen, measured, 2)
    assert [[animal_id for animal_id, _, _ in group] for group in found] == [[2, 3], [4, 5], [6]]
    assert [wanted[2].tolist() for wanted in found[1]] == [[0, 1, 2], [1, 2]]
    assert grouped(chosen, np.ones((7, 3), bool), 2) == []


def test_only_the_chosen_animals_and_questions_are_measured(package, model_folder):
    (package / "some.txt").write_text("is it 2?\nIS IT 0?\n")
    build(package, model_folder, animals="dev", questions=package / "some.txt")
    wanted = np.zeros((5, 4), bool)
    wanted[0, [0, 2]] = True
    assert np.array_equal(matrix_of(package).measured, wanted)
    alone = matrix_of(package)
    build(package, model_folder)
    assert matrix_of(package).measured.all()
    assert np.array_equal(matrix_of(package).margin[wanted], alone.margin[wanted])


def test_a_second_build_on_one_package_is_told_so(package, model_folder):
    with sole_writer(package, "build"), pytest.raises(UserError, match="another build is at work"):
        build(package, model_folder)


def test_a_full_disk_keeps_the_finished_rows(package, model_folder, monkeypatch):
    written = []
    sync = os.fsync

    def full(descriptor):
        written.append(descriptor)
        if len(written) > 3:  # the header and two rows
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr("env.oracle.journal.os.fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        build(package, model_folder)
    monkeypatch.undo()
    build(package, model_folder)
    assert matrix_of(package).measured.all()


@pytest.mark.parametrize("key", ["revision", "dtype", "prompt_sha256"])
def test_answers_of_two_measurements_are_never_mixed(package, model_folder, key):
    build(package, model_folder, animals="dev")
    save_matrix(package / "matrix.npz", with_provenance(matrix_of(package), **{key: "other"}))
    with pytest.raises(UserError, match=f"measured with {key} other, now it is"):
        build(package, model_folder)


@pytest.mark.parametrize("name", ["../matrix.npz", "matrix", "sub/m.npz"])
def test_matrix_names_stay_in_the_package(package, model_folder, name):
    with pytest.raises(UserError, match="--matrix"):
        build(package, model_folder, matrix=name)


# Journals


def row(animal_id, value=0.5, questions=4):
    ids = np.arange(questions)
    return Row(animal_id, ids, np.full(questions, value, np.float32), np.ones(questions, np.uint8))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.data())
def test_a_journal_cut_at_any_byte_loads_and_loses_at_most_its_last_row(tmp_path, data):
    path = tmp_path / "matrix.journal"
    path.unlink(missing_ok=True)
    journal = Journal(path, IDENTITY, (5, 4))
    for animal_id in range(3):
        journal.append(row(animal_id, 0.1 * animal_id))
    journal.close()
    content = path.read_bytes()
    kept = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:kept])
    again = Journal(path, IDENTITY, (5, 4))
    assert len(again.rows) == max(0, content[:kept].count(b"\n") - 1)
    again.append(row(4))
    again.close()
    last = Journal(path, IDENTITY, (5, 4))
    assert set(last.rows) == {*range(len(again.rows) - 1), 4}
    last.close()


def test_a_journal_gives_back_the_very_margins(tmp_path):
    margin = np.random.default_rng(0).normal(size=4).astype(np.float32)
    journal = Journal(tmp_path / "a.journal", IDENTITY, (2, 4))
    journal.append(Row(1, np.arange(4), margin, np.zeros(4, np.uint8)))
    journal.close()
    again = Journal(tmp_path / "a.journal", IDENTITY, (2, 4))
    empty = Matrix(np.full((2, 4), np.nan, np.float32), np.zeros((2, 4), np.uint8))
    assert np.array_equal(again.fold(empty).margin[1], margin)
    again.remove()


@pytest.mark.parametrize("key", list(IDENTITY))
def test_a_journal_of_another_measurement_is_refused(tmp_path, key):
    Journal(tmp_path / "a.journal", IDENTITY, (5, 4)).close()
    with pytest.raises(UserError, match=f"another measurement: {key} is {IDENTITY[key]}, now other"):
        Journal(tmp_path / "a.journal", {**IDENTITY, key: "other"}, (5, 4))


GOOD = {"animal_id": 0, "question_ids": [0], "margin": [0.5], "answer": [1]}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "null",
        "{",
        "[" * 100_000,
        json.dumps({**GOOD, "animal_id": 5}),
        json.dumps({**GOOD, "animal_id": -1}),
        json.dumps({**GOOD, "animal_id": True}),
        json.dumps({**GOOD, "animal_id": "0"}),
        json.dumps({**GOOD, "question_ids": [4]}),
        json.dumps({**GOOD, "question_ids": [0.5]}),
        json.dumps({**GOOD, "question_ids": [[0]]}),
        json.dumps({**GOOD, "question_ids": 0, "margin": 0.5, "answer": 1}),
        json.dumps({**GOOD, "margin": [0.5, 0.5]}),
        json.dumps({**GOOD, "margin": [float("nan")]}),
        json.dumps({**GOOD, "margin": [1e300]}),
        json.dumps({**GOOD, "margin": ["x"]}),
        json.dumps({**GOOD, "answer": [2]}),
        json.dumps({**GOOD, "answer": [10**30]}),
        json.dumps({"animal_id": 0}),
    ],
)
def test_a_damaged_line_inside_a_journal_is_named_and_at_its_end_cut_off(tmp_path, line):
    path = tmp_path / "a.journal"
    journal = Journal(path, IDENTITY, (5, 4))
    journal.append(row(1))
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + line.encode() + b"\n")
    again = Journal(path, IDENTITY, (5, 4))
    assert set(again.rows) == {1}
    again.close()
    path.write_bytes(whole + line.encode() + b"\n" + json.dumps(GOOD).encode() + b"\n")
    with pytest.raises(UserError, match="line 3 is damaged"):
        Journal(path, IDENTITY, (5, 4))


def test_a_file_that_is_no_journal_is_refused(tmp_path):
    (tmp_path / "a.journal").write_bytes(b"\x00\xff{}\n")
    with pytest.raises(UserError, match="not a journal"):
        Journal(tmp_path / "a.journal", IDENTITY, (5, 4))


# Finding a model


def test_missing_libraries_name_the_extra(package, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'wilkins\[oracle\]'"):
        command.build(package=package)


def test_without_network_the_missing_files_and_a_way_out_are_named(package, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        UserError, match=r"Qwen2.5-3B-Instruct \(aa8e72.*tokenizer.json.*--model FOLDER, or --gguf FILE"
    ):
        command.build(package=package, device="cpu")


def test_an_incomplete_model_folder_names_what_it_lacks(package, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match=r"lacks tokenizer.json .*model.safetensors"):
        command.build(package=package, model=str(tmp_path))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "./nowhere"}, "no model folder ./nowhere"),
        ({"gguf": "nowhere.gguf"}, "no GGUF file nowhere.gguf"),
        ({"dtype": "int4"}, "unknown dtype 'int4'"),
        ({"device": "abacus"}, "device 'abacus' cannot be used"),
        ({"animals": "nowhere.txt"}, "neither a split"),
    ],
)
def test_unusable_choices_are_said_in_one_line(package, options, said):
    from pathlib import Path

    if "gguf" in options:
        options = {"gguf": Path(options["gguf"])}
    with pytest.raises(UserError, match=said) as caught:
        command.build(package=package, **{"device": "cpu", **options})
    assert "\n" not in str(caught.value)


def test_a_damaged_gguf_file_is_said_in_one_line(package, tmp_path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(UserError, match="cannot load broken") as caught:
        command.build(package=package, gguf=tmp_path / "broken.gguf", device="cpu")
    assert "\n" not in str(caught.value)


# Showing and comparing


def test_show_tells_equal_animals_and_the_share_near_a_tie(make_package, capsys):
    folder = make_package(animals=10, questions=6)
    made = matrix_of(folder)
    margin, answer = made.margin.copy(), made.answer.copy()
    margin[3], answer[3] = margin[7], answer[7]
    margin[0, 0] = np.nan
    save_matrix(folder / "matrix.npz", Matrix(margin, answer, made.provenance))
    assert command.show(folder) == 0
    said = capsys.readouterr().out
    assert "59 of 60 pairs measured, 9 of 10 animals whole" in said.replace("\n", " ")
    assert "beast 3, beast 7" in said
    assert f"{np.mean(np.abs(margin[~np.isnan(margin)]) < 0.1):.1%} within 0.1" in said


def two_measurements(make_package, noise=0.1):
    folder = make_package(animals=40, questions=50)
    local = matrix_of(folder)
    margin = local.margin + np.random.default_rng(1).normal(0, noise, local.margin.shape).astype(np.float32)
    margin[10:] = np.nan
    other = Matrix(margin, (margin > 0).astype(np.uint8), {**local.provenance, "dtype": "float32"})
    save_matrix(folder / "platform.npz", other)
    return folder, local, other


def test_compare_finds_the_noise_where_both_are_measured_and_records_it(make_package, capsys):
    folder, local, other = two_measurements(make_package)
    assert command.compare(folder, folder / "platform.npz") == 0
    assert matrix_of(folder).noise is None
    said = capsys.readouterr().out
    flips = int((local.answer != other.answer)[:10].sum())
    assert "500 pairs of 10 animals" in said
    assert f"{flips} answers flip ({flips / 500:.2%})" in said
    assert command.compare(folder / "matrix.npz", folder / "platform.npz", write_noise=True) == 0
    recorded = matrix_of(folder)
    assert recorded.noise == pytest.approx(0.1, abs=4 * recorded.provenance["noise_error"])
    assert 0 < recorded.provenance["noise_error"] < 0.02
    assert "500 pairs of 10 animals" in recorded.provenance["noise_source"]
    assert np.array_equal(recorded.margin, local.margin)


def test_compare_refuses_the_noise_of_answers_without_margins(make_package):
    folder, _, other = two_measurements(make_package)
    bits = np.where(np.isnan(other.margin), np.float32(np.nan), np.float32(10) * np.sign(other.margin))
    save_matrix(folder / "platform.npz", Matrix(bits, other.answer, other.provenance))
    assert command.compare(folder, folder / "platform.npz") == 0
    with pytest.raises(UserError, match="answers without margins"):
        command.compare(folder, folder / "platform.npz", write_noise=True)
    assert matrix_of(folder).noise is None


def test_compare_refuses_matrices_of_other_pools(make_package):
    with pytest.raises(UserError, match="another animals pool"):
        command.compare(make_package(), make_package(animals=21))


def test_compare_refuses_matrices_without_a_common_pair(make_package):
    folder = make_package()
    made = matrix_of(folder)
    one, other = made.margin.copy(), made.margin.copy()
    one[:10], other[10:] = np.nan, np.nan
    save_matrix(folder / "matrix.npz", Matrix(one, made.answer, made.provenance))
    save_matrix(folder / "platform.npz", Matrix(other, made.answer, made.provenance))
    with pytest.raises(UserError, match="share no measured pair"):
        command.compare(folder, folder / "platform.npz")


def test_compare_refuses_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="no package and no matrix file"):
        command.compare(tmp_path / "a", tmp_path / "b")


def test_a_bench_without_its_models_says_what_was_skipped(tmp_path, capsys):
    from env.oracle.bench import bench_oracle

    assert bench_oracle(gguf=tmp_path / "a.gguf", tokenizer=tmp_path / "b.gguf") == 0
    said = capsys.readouterr().out.replace("\n", "")
    assert "limit skipped: no model file" in said
    assert "tokens on paper skipped: no model file" in said


def test_official_size_is_reached_with_questions_that_all_differ():
    from env.oracle.bench import extend

    given = load_package().questions.names
    questions = extend(given, 559)
    assert len(set(questions)) == 559
    assert questions[: len(given)] == list(given)
    lengths = [np.mean([len(question) for question in each]) for each in (given, questions)]
    assert lengths[1] == pytest.approx(lengths[0], rel=0.05)
    with pytest.raises(UserError, match="cannot be extended"):
        extend(["why?"], 559)


# Prompts that hold a day, and models that take no trie


def with_template(folder, source, template):
    """A copy of the model folder `source` in which the chat template is another."""
    shutil.copytree(source, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return folder


def test_the_day_of_the_first_build_is_kept_for_all_that_follow(package, model_folder, tmp_path, monkeypatch):
    class Tomorrow(datetime.date):
        @classmethod
        def today(cls):
            return cls(2035, 5, 6)

    dated = "Today is {{ strftime_now('%d %B %Y') }}. {{ messages[0].content }}<|im_start|>"
    model = with_template(tmp_path / "dated", model_folder, dated)
    build(package, model, matrix="whole.npz", date="2031-01-02")
    resume = stop_after(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        build(package, model, date="2031-01-02")
    resume()
    monkeypatch.setattr("env.oracle.prompt.datetime.date", Tomorrow)
    with pytest.raises(UserError, match=r"\(the chat template writes the day, now 2032-01-02\)"):
        build(package, model, date="2032-01-02")
    with pytest.raises(UserError, match="--date 'today' is no day"):
        build(package, model, date="today")
    build(package, model)
    assert np.array_equal(matrix_of(package).margin, matrix_of(package, "whole.npz").margin)
    assert matrix_of(package).provenance["prompt_date"] == "2031-01-02"


def test_a_killed_build_goes_on_with_the_day_of_its_journal(package, model_folder, tmp_path):
    model = with_template(tmp_path / "dated", model_folder, "{{ strftime_now('%F') }} {{ messages[0].content }}")
    build(package, model, date="2031-01-02", matrix="whole.npz")
    journal = {**matrix_of(package, "whole.npz").provenance, "format": "wilkins oracle journal 1"}
    (package / "matrix.journal").write_text(json.dumps(journal) + "\n")
    build(package, model)
    assert matrix_of(package).provenance["prompt_date"] == "2031-01-02"
    assert np.array_equal(matrix_of(package).margin, matrix_of(package, "whole.npz").margin)


def test_a_model_that_takes_no_trie_is_measured_and_why_it_is_slow_is_said(package, tmp_path, capsys):
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(tmp_path / "mamba")
    make_other("Mamba", tokenizer).save_pretrained(tmp_path / "mamba")
    build(package, tmp_path / "mamba", animals="dev")
    assert matrix_of(package).measured[0].all()
    assert "one prompt at a time, which is slower: its layers keep" in " ".join(capsys.readouterr().out.split())


# Noise


def noise_of(package, model_folder, **options):
    return command.noise(package, model=str(model_folder), device="cpu", **options)


def test_a_build_ends_with_measuring_its_noise_and_keeps_nothing_else(package, model_folder, capsys):
    assert build(package, model_folder, noise=True) == 0
    found = load_package(package)
    made = found.matrix
    build(package, model_folder, matrix="half.npz", dtype="bfloat16")
    half = matrix_of(package, "half.npz")
    gap = difference(made, half)
    assert found.noise == pytest.approx(gap.noise, abs=1e-6)
    assert found.noise_source(found.noise) == "measured"
    assert found.matrix.provenance["noise_error"] == pytest.approx(gap.noise_error, abs=1e-6)
    assert made.flip_curve is not None
    told = made.provenance["noise_variants"]
    assert [each["numerics"] for each in told] == ["bfloat16, cpu", "float32, cpu, eager attention, packs 1/4"]
    assert told[1]["noise"] < 1e-4 < told[0]["noise"] == made.provenance["noise"]
    assert not list(package.glob("*.journal"))
    before = (package / "matrix.npz").read_bytes()
    capsys.readouterr()
    build(package, model_folder, noise=True)
    assert "nothing is missing" in capsys.readouterr().out
    assert (package / "matrix.npz").read_bytes() == before
    noise_of(package, model_folder)
    assert (package / "matrix.npz").read_bytes() == before
    assert "noise_variants: bfloat16, cpu: " in shown(package, capsys)


def shown(package, capsys):
    capsys.readouterr()
    command.show(package)
    return capsys.readouterr().out


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_stopped_noise_measurement_goes_on_and_ends_the_same(package, model_folder, monkeypatch, rows):
    build(package, model_folder, noise=True)
    whole = matrix_of(package).provenance
    stored = {k: v for k, v in whole.items() if not k.startswith("noise") and k not in ("flip_curve", "answer_model")}
    save_matrix(package / "matrix.npz", Matrix(matrix_of(package).margin, matrix_of(package).answer, stored))
    resume = stop_after(monkeypatch, rows)
    with pytest.raises(KeyboardInterrupt):
        noise_of(package, model_folder)
    resume()
    assert matrix_of(package).noise is None
    kept = [row for path in package.glob("*.journal") for row in path.read_bytes().splitlines()[1:]]
    assert len(kept) == rows
    build(package, model_folder, noise=True)
    assert matrix_of(package).provenance == whole


def test_rows_are_added_until_the_error_is_small(make_package, model_folder, monkeypatch):
    folder = make_package(animals=14, questions=4)
    (folder / "matrix.npz").unlink()
    build(folder, model_folder)
    monkeypatch.setattr("env.oracle.noise.ROWS", 5)
    monkeypatch.setattr("env.oracle.noise.ERROR", 1e9)
    noise_of(folder, model_folder, rows=3)
    assert [each["animals"] for each in matrix_of(folder).provenance["noise_variants"]] == [3, 3]
    monkeypatch.setattr("env.oracle.noise.ERROR", 0.0)
    noise_of(folder, model_folder, rows=3)
    assert [each["animals"] for each in matrix_of(folder).provenance["noise_variants"]] == [14, 14]


def test_noise_is_never_measured_with_another_model_or_of_a_table_from_elsewhere(make_package, model_folder, tmp_path):
    folder = make_package(animals=5, questions=4)
    with pytest.raises(UserError, match="does not say which dtype measured it"):
        noise_of(folder, model_folder)
    (folder / "matrix.npz").unlink()
    build(folder, model_folder)
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(tmp_path / "other")
    make_model(tokenizer, seed=1).save_pretrained(tmp_path / "other")
    with pytest.raises(UserError, match="measured with revision"):
        noise_of(folder, tmp_path / "other")
    with pytest.raises(UserError, match="--rows 1"):
        noise_of(folder, model_folder, rows=1)


def test_a_gpu_is_compared_with_another_half_another_attention_and_the_cpu():
    source = Source("m", "r", "bfloat16", "cuda", "p", {})
    assert [str(each) for each in others(source)] == [
        "float16, cuda",
        "bfloat16, cuda, eager attention, packs 1/4",
        "float32, cpu",
    ]
    assert str(others(replace(source, dtype="bfloat16", device="cpu"))[0]) == "float32, cpu"


def test_computed_answers_have_no_noise_and_a_model_that_is_surer_has(make_package):
    made = matrix_of(make_package())
    margin = made.margin.copy()
    margin[:, 0], margin[:, 1], margin[3] = 10, -14.5, np.nan
    order, pairs = sample(Matrix(margin, made.answer), "0" * 64)
    assert not pairs[:, 0].any()
    assert pairs[order, 1].all()
    assert sorted(order) == [row for row in range(20) if row != 3]


SMALL_MODEL = os.environ.get("WILKINS_SMALL_MODEL", "build/models/SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.mark.model
@pytest.mark.skipif(
    not os.path.isfile(SMALL_MODEL), reason=f"no model file {SMALL_MODEL}; `make oracle-check` brings it"
)
def test_the_noise_of_a_real_chat_model_is_that_of_one_prompt_at_a_time(tmp_path):
    from pathlib import Path

    from env.oracle.model import find_source, load_model, load_tokenizer

    source = load_package()
    animals, questions = source.animals.names[:6], source.questions.names[:30]
    (tmp_path / "animals_pool.txt").write_text("\n".join(animals))
    (tmp_path / "questions_pool.txt").write_text("\n".join(questions))
    for split, names in (("dev", animals[:1]), ("test1", animals[1:2])):
        (tmp_path / f"{split}.csv").write_text("\n".join(["animal", *names]))
    command.build(package=tmp_path, gguf=Path(SMALL_MODEL), device="cpu", dtype="float32")
    found = load_package(tmp_path)
    alone = find_source("", None, Path(SMALL_MODEL), "bfloat16", "cpu")
    reference = ReferenceInteractor(load_model(alone), load_tokenizer(alone))
    told = [[(reference.ask(a, q), reference.margin()) for q in questions] for a in animals]
    answer, margin = (np.array([[pair[k] for pair in row] for row in told]) for k in (0, 1))
    gap = difference(found.matrix, Matrix(margin.astype(np.float32), answer.astype(np.uint8), {}))
    measured, error = found.noise, float(found.matrix.provenance["noise_error"])
    print(
        f"noise {measured:.4f} +- {error:.4f} by the builder, {gap.noise:.4f} +- {gap.noise_error:.4f} by single prompts"
    )
    print("; ".join(f"{each['numerics']}: {each['noise']}" for each in found.matrix.provenance["noise_variants"]))
    assert abs(measured - gap.noise) <= 3 * np.hypot(error, gap.noise_error)

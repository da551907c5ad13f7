"""`wilkins oracle build`, `noise`, `show` and `compare`: measure a matrix and its noise, look at it, compare two."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from env.cluster import address_of
from env.errors import UserError
from env.files import sole_writer
from env.flags import Within
from env.identification.matrix import CERTAIN, Matrix, load_matrix, save_matrix, with_provenance
from env.identification.numerics import FlipCurve, Models, answer_models, bits_only, difference, flip_curve
from env.identification.package import EMBEDDED, Package, load_package, read_pools, with_word_answers, word_answers
from env.oracle.asked import (
    blank_matrix,
    chat_prompts,
    chosen_animals,
    chosen_questions,
    identity_of,
    prompt_day,
)
from env.oracle.engine import NEAR, Engine, Local, Numerics
from env.oracle.journal import Journal, begun
from env.oracle.model import DTYPES, MODEL, Source, find_source
from env.oracle.noise import ROWS, finish, measure_noise, noise_entries
from env.oracle.prompt import PROMPTS


def build(
    package: Path = EMBEDDED,
    model: str = MODEL,
    revision: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
    gguf: Path | None = None,
    prompt: Literal["animals", "keywords"] | None = None,
    template: str = "",
    date: str = "",
    animals: str = "all",
    questions: Path | None = None,
    matrix: str = "matrix.npz",
    noise: bool = True,
    gpus: Annotated[int, Within(1, 64)] = 1,
    ray: tuple[str, ...] | None = None,
    workers: Annotated[int, Within(1, 1024)] = 1,
) -> int:
    """Measure what is missing in a package's matrix with a language model, and stop when nothing is.

    Finished rows are on the disk at once: stop the command in any way and run it again to go on. Questions about a
    keyword as a word (letters, lengths, order) are computed, not measured. At the end some rows are measured again in
    other numerics, and how far those are off is recorded as the package's noise.

    Args:
        package: Folder of the pools; the matrix is made there.
        model: Name on the hub, or a local folder.
        revision: Revision of the hub's model and tokenizer; the official one by default.
        dtype: auto (bfloat16 on a GPU, float32 on a CPU), bfloat16, float16 or float32.
        device: auto, cpu, cuda or cuda:N.
        gguf: A model in GGUF form instead, dequantised to dtype.
        prompt: animals is the official prompt of the animal game, keywords that of 20 questions; by default the
            one that goes with the package's pool.
        template: Which of the tokenizer's chat templates, where it has several and none by default.
        date: Day, such as 2026-11-30, that a chat template writes if it writes one: by default that of the first
            build, which is recorded.
        animals: all, hidden, dev, test1, or a text or CSV file of the names of animals (or keywords).
        questions: Text file of question names; all questions by default.
        matrix: Name of the matrix file in the package.
        noise: Whether to end with measuring the noise, where none is recorded; see 'wilkins oracle noise'.
        gpus: GPUs that one copy of the model is spread over, where it is larger than one card.
        ray: Measure on all devices of a Ray cluster, at the address that follows; without one on the cluster that runs
            here, or on this machine alone.
        workers: With --ray and no GPU, workers on each node; they share its cores.
    """
    console = Console()
    found = load_package(package)
    path = _in_package(found, matrix)
    animal_ids, question_ids = chosen_animals(found, animals), chosen_questions(found, questions)
    with sole_writer(found.path, "build"), ExitStack() as opened:
        stored = _stored(path, found)
        spelled = with_word_answers(stored, found)
        journal_path = path.with_suffix(".journal")
        if not journal_path.exists() and spelled.measured[np.ix_(animal_ids, question_ids)].all():
            if not np.array_equal(spelled.measured, stored.measured):
                save_matrix(path, spelled)
            console.print(
                f"{path}: nothing is missing for {animal_ids.size} {found.kind} x {question_ids.size} questions"
            )
            # Tables from elsewhere have no dtype on record, and nothing to measure them again with.
            if not noise or spelled.noise is not None or "dtype" not in spelled.provenance:
                return 0
        cluster = None
        if ray is not None:
            from env.oracle.cluster import connected

            cluster = opened.enter_context(connected(address_of(ray), device, workers, gpus, console))
            source = cluster.source(model, revision, gguf, dtype)
        else:
            source = find_source(model, revision, gguf, dtype, device, gpus)
        console.print(f"loading {source.name} ({source.dtype}, {source.device})")
        asked = prompt or found.kind
        day = prompt_day(date, begun(journal_path), stored.provenance)
        prompts = chat_prompts(source, found, asked, day, template)
        identity = identity_of(source, found, asked, prompts)
        _check_same(path, stored, identity)
        engine: Engine = Local(source, prompts, found.questions.names, console)
        if cluster is not None:
            engine = cluster.asking(source, revision, gguf, prompts, template, found.questions.names)
        journal = Journal(journal_path, identity, stored.margin.shape)
        try:
            measured = journal.fold(spelled).measured
            if not measured[np.ix_(animal_ids, question_ids)].all():
                asked_ids = np.setdiff1d(question_ids, list(word_answers(found)))
                chosen = [(int(animal_id), found.animals.names[animal_id], asked_ids) for animal_id in animal_ids]
                engine.fill(Numerics(source.dtype, source.device), chosen, measured, journal)
        finally:
            # Whatever ended the run, an interrupt or a full disk, what is finished goes into the matrix.
            journal.close()
            if journal.rows:
                kept = _stored(path, found)
                rows = journal.fold(with_provenance(kept, **_made_by(kept.provenance, identity)))
                save_matrix(path, with_word_answers(rows, found))
                console.print(f"{path}: {len(journal.rows)} rows added")
            journal.remove()
        if noise and _stored(path, found).noise is None:
            _record_noise(path, found, source, engine, identity, ROWS, console)
    return 0


def noise(
    package: Path,
    model: str = MODEL,
    revision: str | None = None,
    device: str = "auto",
    gguf: Path | None = None,
    template: str = "",
    rows: Annotated[int, Within(1, 10**7)] = ROWS,
    matrix: str = "matrix.npz",
) -> int:
    """Measure a package's noise: some rows of its matrix again, by the same model in other numerics.

    Another dtype, another attention implementation with other packs, and on a GPU the CPU too; rows are added until
    the standard error is under 5 % of the noise. Recorded is the noise of the numerics that differ most, its error
    and flip curve, where training and export find them. Stop the command in any way and run it again to go on.

    Args:
        package: Folder of the pools and the matrix.
        model: Name on the hub, or a local folder: the model that the matrix was measured with.
        revision: Revision of the hub's model and tokenizer; the official one by default.
        device: auto, cpu, cuda or cuda:N.
        gguf: A model in GGUF form instead.
        template: Which of the tokenizer's chat templates, where it has several and none by default.
        rows: Rows to begin with.
        matrix: Name of the matrix file in the package.
    """
    found = load_package(package)
    path = _in_package(found, matrix)
    if rows < 2:
        raise UserError(f"--rows {rows}: at least 2 are needed to know an error")
    with sole_writer(found.path, "build"):
        stored = load_matrix(path, found.animals, found.questions)
        dtype = str(stored.provenance.get("dtype"))
        if dtype not in DTYPES or dtype == "auto":
            raise UserError(
                f"{path}: does not say which dtype measured it, so it cannot be measured again; its noise stays assumed, "
                f"unless 'wilkins oracle compare {found.path} OTHER --write-noise' has another table"
            )
        source = find_source(model, revision, gguf, dtype, device)
        asked = str(stored.provenance.get("prompt", found.kind))
        if asked not in PROMPTS:
            raise UserError(f"{path}: measured with a prompt {asked[:40]!r} that this version does not know")
        prompts = chat_prompts(source, found, asked, prompt_day("", {}, stored.provenance), template)
        identity = identity_of(source, found, asked, prompts)
        _check_same(path, stored, identity)
        console = Console()
        engine = Local(source, prompts, found.questions.names, console)
        _record_noise(path, found, source, engine, identity, rows, console)
    return 0


def _record_noise(
    path: Path, package: Package, source: Source, engine: Engine, identity: Mapping[str, str], rows: int,
    console: Console,
) -> None:  # fmt: skip
    """Measure the noise of the matrix at `path` and write it into its provenance."""
    stored = _stored(path, package)
    entries = measure_noise(path, package, stored, source, engine, identity, rows, console)
    save_matrix(path, with_provenance(stored, **entries))
    finish(path)
    console.print(f"{path}: noise {entries['noise']:.4f} measured and recorded, answer model {entries['answer_model']}")


def _in_package(package: Package, matrix: str) -> Path:
    if Path(matrix).name != matrix or not matrix.endswith(".npz"):
        raise UserError(f"--matrix {matrix!r}: give the name of an .npz file in the package, without a folder")
    return package.path / matrix


def _made_by(before: Mapping[str, Any], identity: Mapping[str, str]) -> dict[str, Any]:
    """Provenance entries of a fold: what is there stays, another builder is named beside the first."""
    import importlib.metadata

    import torch
    import transformers

    version = importlib.metadata.version("wilkins")
    builder = f"wilkins {version}, transformers {transformers.__version__}, torch {torch.__version__}"
    known = str(before.get("builder", ""))
    if known and builder not in known:
        builder = f"{known}; {builder}"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {**identity, "created": today, **before, "builder": builder, "prompt_sha256": identity["prompt_sha256"]}


def _stored(path: Path, package: Package) -> Matrix:
    if path.exists():
        return load_matrix(path, package.animals, package.questions)
    return blank_matrix(package)


def _check_same(path: Path, stored: Matrix, identity: Mapping[str, str]) -> None:
    """Refuse to mix two measurements in one matrix."""
    if not (stored.measured & (np.abs(stored.margin) != CERTAIN)).any():
        return
    # A digest of the weights says more than a name, which a copied file may have lost.
    keys = ["revision", "dtype", "prompt_sha256"] + (["model"] if ":" not in identity["revision"] else [])
    for key in keys:
        if key == "prompt_sha256" and key not in stored.provenance:
            continue
        if stored.provenance.get(key) != identity[key]:
            dated = (
                f" (the chat template writes the day, now {identity['prompt_date']})"
                if "prompt_date" in identity
                else ""
            )
            raise UserError(
                f"{path}: its answers were measured with {key} {stored.provenance.get(key)}, now it is {identity[key]}"
                f"{dated if key == 'prompt_sha256' else ''}; "
                f"use those settings, or another file name with --matrix"
            )


def show(package: Annotated[Path, tyro.conf.Positional] = EMBEDDED, matrix: str = "matrix.npz") -> int:
    """Say how much of a package's matrix is measured, by what, and how far it can be trusted.

    Args:
        package: Folder of the pools and the matrix.
        matrix: Name of the matrix file in the package.
    """
    console = Console()
    found = load_package(package)
    stored = load_matrix(found.path / matrix, found.animals, found.questions)
    journal = (found.path / matrix).with_suffix(".journal")
    if journal.exists():
        console.print(f"{journal.name}: rows of a build that was stopped; the next build takes them in")
    measured = stored.measured
    console.print(
        f"{found.path / matrix}: {int(measured.sum())} of {measured.size} pairs measured, "
        f"{int(measured.all(axis=1).sum())} of {len(found.animals)} {found.kind} whole"
    )
    for key, value in sorted(stored.provenance.items()):
        if key == "flip_curve":
            value = f"{len(value['margin'])} points"
        if key == "noise_variants":
            value = "; ".join(f"{each['numerics']}: {each['noise']}" for each in value)
        console.print(f"  {key}: {value}", markup=False, highlight=False)
    if not measured.any():
        return 0
    margin = np.abs(stored.margin[measured])
    shares = ", ".join(f"{np.mean(margin < bound):.1%} within {bound}" for bound in NEAR)
    console.print(f"margins: {shares} of zero; {stored.answer[measured].mean():.1%} yes")
    wrong = (stored.margin > 0) != (stored.answer == 1)
    console.print(f"answers on the other side of their margin: {int((wrong & measured).sum())}")
    with np.errstate(invalid="ignore"):
        share = np.where(measured, stored.answer, 0).sum(axis=0) / measured.sum(axis=0)
        shaky = ((np.abs(stored.margin) < NEAR[0]) & measured).sum(axis=0) / measured.sum(axis=0)
    asked = np.flatnonzero(measured.any(axis=0))
    balanced = asked[np.argsort(np.abs(share[asked] - 0.5), kind="stable")][:20]
    shakiest = asked[np.argsort(-shaky[asked], kind="stable")][:20]
    table = Table("most balanced", "yes", "shakiest", f"within {NEAR[0]}")
    for one, other in zip(balanced, shakiest, strict=True):
        names = found.questions.names
        table.add_row(names[one], f"{share[one]:.1%}", names[other], f"{shaky[other]:.1%}")
    console.print(table)
    groups = _equal_rows(stored)
    console.print(f"{found.kind} that no policy can tell apart: {sum(map(len, groups))} in {len(groups)} groups")
    for group in groups:
        console.print("  " + ", ".join(found.animals.names[animal_id] for animal_id in group), markup=False)
    return 0


def _equal_rows(matrix: Matrix) -> list[list[int]]:
    """Groups of whole rows with the same answers, animal ids ascending."""
    rows: dict[bytes, list[int]] = {}
    for animal_id in np.flatnonzero(matrix.measured.all(axis=1)):
        rows.setdefault(matrix.answer[animal_id].tobytes(), []).append(int(animal_id))
    return [group for group in rows.values() if len(group) > 1]


def compare(
    a: Path,
    b: Path,
    write_noise: bool = False,
) -> int:
    """Set two measurements of the same pools beside each other: flips, noise, and which model predicts answers better.

    Args:
        a: A package, or a matrix file that lies beside its pools.
        b: The other one; a file without pools beside it is read with the first one's.
        write_noise: Record noise, flip curve and the better answer model in the first one's matrix, where
            training and export find them.
    """
    first, second = _matrix_file(a), _matrix_file(b)
    folder = first.parent
    animals, questions = read_pools(folder)
    local, other = load_matrix(first, animals, questions), load_matrix(second, animals, questions)
    if not (local.measured & other.measured).any():
        raise UserError(f"{first} and {second} share no measured pair; measure some animals in both")
    found, curve = difference(local, other), flip_curve(local, other)
    console = Console()
    console.print(f"{found.pairs} pairs of {found.animals} {animals.kind} are measured in both")
    console.print(f"{found.flips} answers flip ({found.flips / found.pairs:.2%})")
    bits = bits_only(local) or bits_only(other)
    if not bits:
        console.print(
            f"margin difference: noise {found.noise:.4f} +- {found.noise_error:.4f} (robust), standard deviation "
            f"{found.deviation:.4f}, mean {found.mean:+.4f}, largest {found.largest:.3f}"
        )
    console.print(_flip_table(curve))
    if bits:
        if write_noise:
            raise UserError(f"no noise between {first} and {second}: one of them holds answers without margins")
        return 0
    models = answer_models(local, other)
    console.print(_verdict(models), soft_wrap=True)
    if write_noise:
        with sole_writer(folder, "build"):
            kept = load_matrix(first, animals, questions)
            against = ", ".join(str(other.provenance.get(key)) for key in ("model", "revision", "dtype"))
            save_matrix(first, with_provenance(kept, **noise_entries(local, other, f"{second.name} ({against})")))
        console.print(f"{first}: noise {found.noise:.4f}, flip curve and answer model {models.better} recorded")
    return 0


def _verdict(models: Models) -> str:
    """One line: which answer model predicts animals better that it was not fitted to."""
    if models.blocks == 1:
        return "answer model: gaussian; one animal alone leaves nothing to predict"
    gain, error, gaussian = (
        1000 * value for value in (models.measured - models.gaussian, models.error, models.gaussian)
    )
    return (
        f"answer model: {models.better}; measured flips against Gaussian noise on animals held out: {gain:+.2f} +- "
        f"{error:.2f} nats per 1,000 answers (Gaussian {gaussian:.2f}; {models.blocks} blocks)"
    )


def _flip_table(curve: FlipCurve) -> Table:
    """The reliability diagram: measured and predicted flips by |margin|."""
    caption = "●─ flipped with its 95 % interval, ┃ Gaussian, ◉ both"
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), caption=caption)
    table.add_column("|margin|", no_wrap=True)
    for name in ("pairs", "flips", "flipped, 95 %", "Gaussian", "fit"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    # Bins with a handful of pairs are uncertain up to 1, and would leave no room for the others.
    scale = max(0.05, *(np.r_[curve.flips / np.maximum(curve.pairs, 1), np.nan_to_num(curve.gaussian)] * 1.25).tolist())
    for bin_, (low, high) in enumerate(zip(curve.edges[:-1], curve.edges[1:], strict=True)):
        pairs, flips, gaussian = curve.pairs[bin_], curve.flips[bin_], curve.gaussian[bin_]
        middle = (low + high) / 2 if np.isfinite(high) else low
        least, most = curve.interval[bin_]
        table.add_row(
            f"{low:g}..{high:g}" if np.isfinite(high) else f"over {low:g}",
            str(pairs),
            str(flips),
            f"{flips / pairs:.1%} ({100 * least:.1f}..{100 * most:.1f})" if pairs else "",
            f"{gaussian:.1%}" if pairs else "",
            f"{float(curve.at(middle)):.1%}",
            _bar(flips / pairs, least, most, gaussian, scale) if pairs else "",
        )
    return table


def _bar(share: float, least: float, most: float, gaussian: float, scale: float, width: int = 14) -> str:
    """One line of the diagram from 0 to `scale`."""
    place = [min(width - 1, int(width * value / scale)) for value in (least, most, gaussian, share)]
    cells = [" "] * width
    cells[place[0] : place[1] + 1] = "─" * (place[1] + 1 - place[0])
    cells[place[2]] = "┃"
    cells[place[3]] = "●" if place[3] != place[2] else "◉"
    return "".join(cells).rstrip()


def _matrix_file(path: Path) -> Path:
    if path.is_dir():
        return path / "matrix.npz"
    if not path.exists():
        raise UserError(f"no package and no matrix file {path}")
    return path

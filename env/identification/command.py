"""Subcommands that fill packages: `import-matrix` brings in a table made elsewhere, `synth` invents everything."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import numpy as np

from env.errors import PackageWarning, UserError
from env.files import whole_folder
from env.flags import SEED, SHARE, Within
from env.identification.encoding import Encoding, Reading
from env.identification.matrix import Matrix, save_matrix, with_provenance
from env.identification.package import load_package, with_word_answers, word_answers, write_pools
from env.identification.synth import LARGEST, Kind, write_package
from env.identification.tables import names_of_table, read_table

NEAR_ZERO = 0.1
"""Margins this near zero may flip on another machine (hardly any further out was seen to)."""


def import_matrix(
    table: Path,
    package: Path | None = None,
    new: bool = False,
    force: bool = False,
    encoding: Encoding = "auto",
    yes: tuple[str, ...] = (),
    no: tuple[str, ...] = (),
    missing: tuple[str, ...] = (),
    threshold: float | None = None,
    drop_column: tuple[str, ...] = (),
    missing_rate: Annotated[float | None, SHARE] = None,
) -> None:
    """Bring an answer table made elsewhere into a package, as its matrix.npz.

    The table is text with any usual separator (with or without a header row of questions and an index column of
    animals, which are then matched by name), .xlsx, .parquet, .npy, .npz with one 2-D array, or another package's
    matrix.npz. Its values are 0/1, yes/no in many spellings, probabilities, or real margins: which of them is found
    out and said, and refused where it could be two things. Empty cells, NA and their like are missing answers;
    "tie", "maybe" and their like answers that go either way. Questions about a keyword as a word are computed, whatever
    the table says, and it need not have them.

    Args:
        table: the file to bring in.
        package: the package folder that gets matrix.npz.
        new: make the folder first: pools of the names in the table's first row and column, splits drawn by chance.
        force: replace a matrix.npz that is there already.
        encoding: what the numbers are, where that cannot be told from them.
        yes: cells that mean yes (with --no nothing else is read).
        no: cells that mean no.
        missing: cells that mean that there is no answer, besides the usual ones (write --missing=-1 for a number).
        threshold: numbers above it are a yes, all others a no.
        drop_column: columns to leave out, by name or by number from 1; a question among them has no answers.
        missing_rate: probability of a yes, 0 to 1, where an answer is missing. Default: how often the question is
            answered yes for the others.
    """
    if package is None:
        raise UserError("say which package gets the matrix: --package DIR")
    reading = Reading(encoding, yes, no, missing, threshold, drop_column)
    if not new:
        said = _fill(table, package, package, reading, force, missing_rate)
    else:
        with whole_folder(package) as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", PackageWarning)  # they are said of the finished folder, below
            write_pools(folder, *names_of_table(table, reading), seed=0)
            said = _fill(table, folder, package, reading, force, missing_rate)
        made = load_package(package)
        said.append(
            f"{package}: new, dev.csv has {len(made.dev)} animals, test1.csv {len(made.test1)}, {len(made.hidden)} are "
            "hidden; train with --candidates all to name any of them"
        )
    for line in said:
        print(line)


def _fill(
    table: Path, folder: Path, package: Path, reading: Reading, force: bool, missing_rate: float | None
) -> list[str]:
    """Write matrix.npz from `table` into `folder`, which is or becomes `package`; returns what there is to say of it."""
    pools = load_package(folder, matrix=False)
    target = folder / "matrix.npz"
    if target.exists() and not force:
        raise UserError(f"{target} exists already; give --force to replace it")
    if missing_rate is not None and pools.kind == "keywords":
        raise UserError("--missing-rate goes with animals: what is missing for a keyword is a tie, P(yes) = 0.5")
    computed = word_answers(pools)
    optional = frozenset(pools.questions.names[question_id] for question_id in computed)
    found = read_table(table, pools.animals, pools.questions, reading, optional)
    matrix = with_provenance(
        with_word_answers(found, pools),
        imported=datetime.now(UTC).isoformat(timespec="seconds"),
        importer=f"wilkins {version('wilkins')}",
    )
    if missing_rate is not None:
        matrix = with_provenance(matrix, missing_rate=missing_rate)
    save_matrix(target, matrix)
    said = [f"{table}: {line}" for line in matrix.provenance.get("reading", ())]
    if computed:
        other = (found.measured & (found.answer != matrix.answer)).sum()
        said.append(
            f"{table}: {len(computed)} questions about the word computed; {other} answers of the table were others"
        )
    said.append(f"{package / target.name}: {_summary(matrix, pools.kind)}")
    holes = int((~matrix.measured).sum())
    if holes:
        taken = "how often the question is answered yes" if missing_rate is None else f"{missing_rate:g}"
        if pools.kind == "keywords":
            taken = "0.5"
        said.append(f"{package / target.name}: {holes:,} missing answers may go either way, P(yes) = {taken}")
    return said


def synth(
    animals: Annotated[int, Within(3, LARGEST)] = 1472,
    questions: Annotated[int, Within(1, LARGEST)] = 559,
    out: Path | None = None,
    seed: Annotated[int, SEED] = 0,
    kind: Kind = "measured",
) -> None:
    """Make a synthetic package whose margins have the statistics of the embedded one.

    Spread, share near zero, question bias and low-rank structure are those measured on a real chat model;
    the names are invented. The same seed gives the same files.

    Args:
        animals: how many animals, at least 3.
        questions: how many questions, at least 1.
        out: the folder to make; it must not hold anything yet.
        seed: a whole number from 0.
        kind: latent makes a plain latent factor model instead, on which noise costs every player more.
    """
    if out is None:
        raise UserError("say which folder to make: --out DIR")
    write_package(out, animals, questions, seed, kind)
    print(f"{out}: {_summary(load_package(out).matrix, 'animals')}, seed {seed}")


def _summary(matrix: Matrix, kind: str) -> str:
    """One line: shape, what the values are, and how much of it is measured and near zero."""
    known = matrix.margin[matrix.measured]
    bits = matrix.provenance.get("values") == "bits"
    ties = f", {np.mean(known == 0):.1%} tie" if (known == 0).any() else ""
    near = ties if bits else f", {np.mean(np.abs(known) < NEAR_ZERO):.1%} of the margins within {NEAR_ZERO} of zero"
    distinct = len(np.unique(matrix.answer, axis=0))
    return (
        f"{matrix.margin.shape[0]} {kind} x {matrix.margin.shape[1]} questions of {'bits' if bits else 'margins'}, "
        f"{matrix.measured.mean():.1%} measured, {matrix.answer[matrix.measured].mean():.1%} yes{near}, "
        f"{distinct} distinct rows of answers"
    )

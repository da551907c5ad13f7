"""Subcommands that fill packages: `import-matrix` brings in a table made elsewhere, `synth` invents everything."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from env.errors import UserError
from env.identification.matrix import Matrix, read_table, save_matrix, with_provenance
from env.identification.package import load_package
from env.identification.synth import Kind, write_package

NEAR_ZERO = 0.1
"""Margins this near zero may flip on another machine (hardly any further out was seen to)."""


def import_matrix(table: Path, package: Path | None = None, force: bool = False) -> None:
    """Bring an answer table made elsewhere into a package, as its matrix.npz.

    The table is .csv (with or without a header row of questions and an index column of animals, which are
    then matched by name), .npy, .npz with one 2-D array, or another package's matrix.npz. Its values are
    0/1, booleans, yes/no, or real margins; empty cells and NaN count as not measured.

    Args:
        table: the file to bring in.
        package: the package folder that gets matrix.npz.
        force: replace a matrix.npz that is there already.
    """
    if package is None:
        raise UserError("say which package gets the matrix: --package DIR")
    pools = load_package(package, matrix=False)
    target = package / "matrix.npz"
    if target.exists() and not force:
        raise UserError(f"{target} exists already; give --force to replace it")
    matrix = with_provenance(
        read_table(table, pools.animals, pools.questions),
        imported=datetime.now(UTC).isoformat(timespec="seconds"),
        importer=f"wilkins {version('wilkins')}",
    )
    save_matrix(target, matrix)
    print(f"{target}: {_summary(matrix)}")


def synth(
    animals: int = 1472, questions: int = 559, out: Path | None = None, seed: int = 0, kind: Kind = "measured"
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
    print(f"{out}: {_summary(load_package(out).matrix)}, seed {seed}")


def _summary(matrix: Matrix) -> str:
    """One line: shape, what the values are, and how much of it is measured and near zero."""
    known = matrix.margin[matrix.measured]
    bits = matrix.provenance.get("values") == "bits"
    near = "" if bits else f", {np.mean(np.abs(known) < NEAR_ZERO):.1%} of the margins within {NEAR_ZERO} of zero"
    distinct = len(np.unique(matrix.answer, axis=0))
    return (
        f"{matrix.margin.shape[0]} animals x {matrix.margin.shape[1]} questions of {'bits' if bits else 'margins'}, "
        f"{matrix.measured.mean():.1%} measured, {matrix.answer[matrix.measured].mean():.1%} yes{near}, "
        f"{distinct} distinct rows of answers"
    )

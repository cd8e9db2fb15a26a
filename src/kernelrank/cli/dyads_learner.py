"""The options of ``kernelrank dyads``, and the learner that they describe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernelrank.cli.number_grid import read_alphas, read_gamma
from kernelrank.cli.options import LEARNER

if TYPE_CHECKING:
    from kernelrank.cli.dyads_files import Dyads

__all__ = ["FOLDS", "SETTINGS", "DyadLearner", "folds_of", "strengths"]

SETTINGS = {
    "cell": "the score only",
    "row": "the row object",
    "column": "the column object",
    "both": "both objects",
}
"""What is new in each setting."""

FOLDS = 10
"""How many folds are held out where scores are missing: each is a training of its own."""

MethodName = Literal["rankrls", "rls", "two-step"]
SettingName = Literal["cell", "row", "column", "both"]

Rows = Annotated[
    Path,
    typer.Option(
        "--rows",
        help="Table of the row objects: names in the first column, features in the others.",
        show_default=False,
    ),
]
Columns = Annotated[
    Path | None,
    typer.Option(
        "--columns", help="Table of the column objects, in the same form. Omit it with --relation.", show_default=False
    ),
]
Scores = Annotated[
    Path,
    typer.Option(
        "--scores",
        help="Table of the scores: a matrix with names in the first row and column and empty cells where unknown, "
        "or a list of row, column and score.",
        show_default=False,
    ),
]
Similarity = Annotated[
    Literal["rows", "columns", "both"] | None,
    typer.Option(
        "--similarity",
        help="Which tables hold similarities (a precomputed kernel matrix with names) instead of features.",
        show_default=False,
    ),
]
Method = Annotated[
    MethodName,
    typer.Option(
        "--method",
        help="rankrls: rank the columns for each row. rls: predict scores. two-step: predict scores with one alpha "
        "for rows and one for columns.",
        rich_help_panel=LEARNER,
    ),
]
Ranked = Annotated[
    Literal["columns", "rows"],
    typer.Option(
        "--rank",
        help="With --method rankrls: rank the columns for each row, or the rows for each column.",
        rich_help_panel=LEARNER,
    ),
]
Relation = Annotated[
    Literal["symmetric", "reciprocal", "any"] | None,
    typer.Option(
        "--relation",
        help="Rows and columns are the same objects. symmetric: f(a, b) = f(b, a). reciprocal: f(a, b) = -f(b, a). "
        "any: neither.",
        rich_help_panel=LEARNER,
        show_default=False,
    ),
]


def _learner_option(flag: str, what: str) -> Any:
    return typer.Option(flag, help=what, rich_help_panel=LEARNER, show_default=False)


KernelRows = Annotated[
    str | None, _learner_option("--kernel-rows", "Kernel of the rows: linear (default), rbf, poly, ...")
]
KernelColumns = Annotated[str | None, _learner_option("--kernel-columns", "Kernel of the columns, as for the rows.")]
GammaRows = Annotated[
    str | None, _learner_option("--gamma-rows", "Gamma of the kernel of the rows: a number, scale or median.")
]
GammaColumns = Annotated[
    str | None, _learner_option("--gamma-columns", "Gamma of the kernel of the columns: a number, scale or median.")
]
Alphas = Annotated[
    str,
    typer.Option("--alphas", help="Values of alpha to try: 0.1,1,10 or 2^-5:2^5, or auto.", rich_help_panel=LEARNER),
]
Folds = Annotated[
    int | None,
    typer.Option(
        "--cv",
        min=2,
        help=f"Number of cross-validation folds. Default: leave one out, or {FOLDS} folds if scores are missing.",
        show_default=False,
    ),
]
Setting = Annotated[
    SettingName,
    typer.Option("--setting", help="What will be new when the model is used; alpha is chosen for this setting."),
]


@dataclass(frozen=True)
class DyadLearner:
    """What is learnt.

    Parameters
    ----------
    method : {"rankrls", "rls", "two-step"}
    rank : {"columns", "rows"}
    relation : {"symmetric", "reciprocal", "any"} or None
    kernels, gammas : tuple of str or None
        Of the rows and of the columns.
    similarity : {"rows", "columns", "both"} or None
    seed : int
        Shuffles folds.
    """

    method: str
    rank: str
    relation: str | None
    kernels: tuple[str | None, str | None]
    gammas: tuple[str | None, str | None]
    similarity: str | None
    seed: int = 0

    @property
    def per(self) -> Any:
        """Which dyads are compared: those of an object that others are ranked for, else all."""
        if self.method != "rankrls":
            return "overall"
        return "row" if self.rank == "columns" else "column"

    def check(self, columns: Path | None) -> None:
        """Raise an error for options that contradict each other, before any file is read."""
        from kernelrank.errors import InvalidInputError

        if self.relation is None and columns is None:
            raise InvalidInputError(
                "--columns is missing: give the table of the column objects, or --relation if rows and columns are one "
                "set of objects"
            )
        if self.relation is not None and columns is not None:
            raise InvalidInputError(f"--relation {self.relation} means one set of objects: leave --columns out")
        for side, kernel in zip(("rows", "columns"), self.kernels, strict=True):
            if kernel is not None and self.similarity in (side, "both"):
                raise InvalidInputError(f"--kernel-{side} and --similarity {self.similarity}: give one of the two")

    def make(self, alpha: float, alpha_columns: float | None = None) -> Any:
        """Return a learner with a given strength, for `TwoStepRLS` one of each side."""
        from kernelrank.dyads import KroneckerRankRLS, KroneckerRLS, TwoStepRLS

        if self.method == "two-step":
            other = alpha if alpha_columns is None else alpha_columns
            return TwoStepRLS(alpha_rows=alpha, alpha_columns=other, **self._parameters())
        kind = KroneckerRankRLS if self.method == "rankrls" else KroneckerRLS
        return kind(alpha, **self._parameters())

    def search(self, alphas: str, setting: str, cv: int | None) -> Any:
        """Return a learner that chooses its strength by one of the settings."""
        from kernelrank.dyads import KroneckerRankRLSCV, KroneckerRLSCV, TwoStepRLSCV

        kinds: dict[str, Any] = {"rankrls": KroneckerRankRLSCV, "rls": KroneckerRLSCV, "two-step": TwoStepRLSCV}
        kind = kinds[self.method]
        return kind(read_alphas(alphas), setting=setting, cv=cv, **self._parameters())

    def _parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = {"relation": self.relation, "random_state": self.seed}
        for side, kernel, gamma in zip(("rows", "columns"), self.kernels, self.gammas, strict=True):
            if side == "columns" and self.relation is not None:
                continue
            given = self.similarity in (side, "both")
            found[f"kernel_{side}"] = "precomputed" if given else kernel or "linear"
            found[f"gamma_{side}"] = read_gamma(gamma)
        if self.method == "rankrls":
            found["rank"] = self.rank
        return found


def folds_of(cv: int | None, dyads: Dyads) -> int | None:
    """Return how many folds to hold out."""
    return min(FOLDS, *dyads.Y.shape) if cv is None and not dyads.complete else cv


def strengths(model: Any) -> dict[str, float]:
    """Return the regularisation strengths of a learner or a search, by name."""
    found = getattr(model, "best_params_", None)
    if found is None:
        found = {name: value for name, value in model.get_params().items() if name.startswith("alpha")}
    return {name: float(value) for name, value in found.items()}

"""The automatic choice of a solver of dyads."""

from __future__ import annotations

from kernelrank.dyads.complete import CompletePrimal, Spectral
from kernelrank.dyads.dyadic_problem import DyadicProblem, Regularisation
from kernelrank.dyads.dyadic_solution import PreparedSolver
from kernelrank.errors import InvalidInputError

__all__ = ["DYADIC_SOLVERS", "prepare"]

DYADIC_SOLVERS = ("auto", "spectral", "primal")


def prepare(
    problem: DyadicProblem,
    solver: str,
    *,
    tol: float,  # noqa: ARG001
    max_iter: int | None,  # noqa: ARG001
    regularisation: Regularisation | None,  # noqa: ARG001
) -> PreparedSolver:
    """Choose a solver and do its costly part."""
    if not problem.complete or not problem.is_product:
        raise InvalidInputError("Y has unknown cells (NaN)")
    if problem.rows.few_columns and problem.columns.few_columns and solver != "spectral":
        return CompletePrimal.prepare(problem)
    return Spectral.prepare(problem)

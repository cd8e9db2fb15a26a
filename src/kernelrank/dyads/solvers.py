"""The automatic choice of a solver of dyads."""

from __future__ import annotations

from kernelrank.dyads.complete import CompletePrimal, Spectral
from kernelrank.dyads.dyadic_solution import PreparedSolver
from kernelrank.dyads.eigenbasis import Eigenbasis
from kernelrank.dyads.few_cells import FewCells
from kernelrank.dyads.problem import DyadicProblem, Regularisation
from kernelrank.dyads.vec_trick import VecTrick
from kernelrank.errors import InvalidInputError
from kernelrank.solvers import ConjugateGradient

__all__ = ["DYADIC_SOLVERS", "prepare"]

DYADIC_SOLVERS = ("auto", "spectral", "primal", "direct", "eigenbasis", "vec_trick")

DENSE_ENOUGH = 0.1
"""From this share of known cells on, the complete problem is a good preconditioner."""


def prepare(
    problem: DyadicProblem, solver: str, *, tol: float, max_iter: int | None, regularisation: Regularisation
) -> PreparedSolver:
    """Choose a solver, unless one is named, and do its expensive step.

    ============================================= ============== ======================================================
    scores and kernels                            solver         cost
    ============================================= ============== ======================================================
    linear, no more features than objects, both   ``primal``     complete: O(m₁m₂d); else O(l d) an iteration
    complete Y                                    ``spectral``   O(m₁³ + m₂³), and 4 products
    unknown cells, at most 600 known              ``direct``     O(l³), by the kernel of all known dyads
    unknown cells, a tenth known or more          ``eigenbasis`` O(m₁³ + m₂³), and 4 products an iteration
    unknown cells, fewer                          ``vec_trick``  O(l (m₁ + m₂)) an iteration
    two-step learning with unknown cells          ``eigenbasis`` as above, whatever is known
    ranking, symmetric or reciprocal              as if unknown  there is no closed form
    ============================================= ============== ======================================================

    The first row that fits is taken; l cells are known, and d features are on the side that has fewer.

    Parameters
    ----------
    problem : DyadicProblem
    solver : str
        One of `DYADIC_SOLVERS`.
    tol, max_iter
        Of conjugate gradients.
    regularisation : Regularisation
        Whose kind, Kronecker or two-step, counts; not its numbers.

    Returns
    -------
    PreparedSolver
    """
    two_step = not regularisation.constant
    chosen = _automatic(problem, two_step) if solver == "auto" else solver
    closed = problem.complete and problem.is_product
    if chosen == "primal" and not (problem.rows.few_columns and problem.columns.few_columns):
        raise InvalidInputError(
            "solver='primal' needs linear kernels with no more features than objects on both sides: use solver='auto'"
        )
    if chosen == "spectral" and not closed:
        raise InvalidInputError(
            "solver='spectral' needs complete Y, and for a ranking a relation that is neither symmetric nor "
            "reciprocal: use solver='auto'"
        )
    if chosen in ("vec_trick", "direct") and two_step:
        raise InvalidInputError(f"solver={chosen!r} does not apply to two-step learning: use solver='auto'")
    if chosen == "spectral":
        return Spectral.prepare(problem)
    if chosen == "primal" and closed:
        return CompletePrimal.prepare(problem)
    if chosen == "direct":
        return FewCells.prepare(problem)
    iteration = ConjugateGradient(tol, max_iter)
    if chosen == "vec_trick":
        return VecTrick.prepare(problem, iteration)
    return Eigenbasis.prepare(problem, iteration, primal=chosen == "primal", two_step=two_step)


def _automatic(problem: DyadicProblem, two_step: bool) -> str:
    if problem.rows.few_columns and problem.columns.few_columns:
        return "primal"
    if problem.complete and problem.is_product:
        return "spectral"
    if not two_step and FewCells.fits(problem):
        return "direct"
    density = min(cells.density for _, cells in problem.output_cells())
    return "eigenbasis" if two_step or density >= DENSE_ENOUGH else "vec_trick"

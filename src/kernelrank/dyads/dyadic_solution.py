"""What a solver of dyads returns: dual coefficients of pairs of objects, or weights of pairs of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kernelrank.arrays import Float
from kernelrank.dyads.dyadic_problem import Regularisation

__all__ = ["DyadicSolution", "PreparedSolver"]


@dataclass(frozen=True)
class DyadicSolution:
    """The minimum.

    Parameters
    ----------
    dual : ndarray, shape (m1, m2, outputs), or None
        A: ``F = K₁ A K₂``.
    weights : ndarray, shape (d1, d2, outputs), or None
        W: ``F = X₁ W X₂ᵀ``. One of the two is given.
    n_iter : int, default=1
        The number of iterations, the largest over the outputs.
    unknowns : tuple of ndarray
        What an iteration found, for each set of outputs that know the same cells: a start for another alpha.
    """

    dual: Float | None = None
    weights: Float | None = None
    n_iter: int = 1
    unknowns: tuple[Float, ...] = ()


class PreparedSolver(Protocol):
    """A problem after the costly part, which knows no alpha."""

    @property
    def name(self) -> str:
        """What the solver is called."""

    def solve(self, regularisation: Regularisation, start: DyadicSolution | None = None) -> DyadicSolution:
        """Find the minimum for one cost of the norm."""

"""What a solver of dyads returns: dual coefficients of pairs of objects, or weights of pairs of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kernelrank.base.arrays import Float, Index
from kernelrank.dyads.problem import Regularisation

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
    """

    dual: Float | None = None
    weights: Float | None = None
    n_iter: int = 1

    def part(self, outputs: Index) -> DyadicSolution:
        """Return the solution of some outputs."""
        dual = None if self.dual is None else self.dual[:, :, outputs]
        weights = None if self.weights is None else self.weights[:, :, outputs]
        return DyadicSolution(dual, weights, self.n_iter)


class PreparedSolver(Protocol):
    """A problem after its decomposition, which does not depend on alpha and serves all alphas."""

    @property
    def name(self) -> str:
        """What the solver is called."""

    def solve(self, regularisation: Regularisation, start: DyadicSolution | None = None) -> DyadicSolution:
        """Find the minimum for one regularisation strength."""

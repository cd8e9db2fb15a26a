r"""The system ``(L K + alpha I) a = M N`` itself, for a graph without a cheap root and one alpha.

The symmetric form ``C K Cᵀ`` needs a root ``CᵀC = L``: m³/3 multiplications for the root and m³ for the products, where
the solution takes m³/6. Where L is sparse, ``L K`` is cheap, and an LU factorisation of the system takes m³/3.

* **The mean.** Items and scores may be far from the origin. Solutions add up to zero, and ``L 1 = 0``, so
  ``J K J`` with ``J = I - 11ᵀ/m`` gives the same a, and nothing large cancels.
* **Pivots.** The transpose is factorised. Its columns are the rows of the system, and partial pivoting does not depend
  on the scale of a column: an item with pairs of large weights costs others no digits.
* **Parts.** Where the graph is connected, a adds up to zero, so what rounding adds to that is taken away.
* **Digits.** A correction ``(L K + alpha I)⁻¹(M N - alpha a - L (K a))`` takes O(m²) time. What it changes in the
  differences of predictions, ``√(fᵀ L f)``, is their error. If corrections do not become negligible, the
  symmetric form is used after all; it estimates how many digits are lost.
* **Indefinite kernels** are an error in the symmetric form. So a kernel that is not positive semidefinite by
  construction is first factorised itself, which costs half as much again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, blocks
from kernelrank.base.labels import Grouping, Queries
from kernelrank.comparisons import Comparisons, ScoredQueries
from kernelrank.features import Features
from kernelrank.kernels.kernel import negative_part
from kernelrank.solvers.base import Solution, Solver
from kernelrank.solvers.direct import Cholesky

__all__ = ["LaplacianSystem"]

CORRECTIONS = 3
"""How many corrections a solution gets at most."""

TRIFLE = 1e-10
"""A correction that changes predictions by no more is the last one."""


@dataclass(frozen=True)
class CentredKernel:
    """``J K J`` beside the graph, and whether it is positive semidefinite."""

    features: Features
    comparisons: Comparisons
    K: Float
    definite: bool


@dataclass(frozen=True)
class LaplacianSystem(Solver[CentredKernel]):
    """Factorise ``L K + alpha I``, without a root of L.

    Notes
    -----
    O(l m) time for l pairs and ``m³/3`` multiplications for each alpha; memory 2 m² numbers.
    """

    name: str = field(init=False, default="lu")

    def prepare(self, features: Features, comparisons: Comparisons) -> CentredKernel:
        """Compute the kernel of all items, centred."""
        m = comparisons.n_items
        J = ScoredQueries(np.zeros((m, 1)), Queries.from_labels(None, m), query_weight="items")
        K = features.centred_kernel(J)
        # It was rounded beside its size before it was centred.
        beside = 1.0 if features.semidefinite else features.kernel_scale / max(float(np.abs(K).max()), 1e-300)
        digits = 10.0 * float(np.finfo(np.float64).eps) * max(1.0, beside)
        definite = features.semidefinite or negative_part(K.copy(), digits) == 0
        return CentredKernel(features, comparisons, K, definite)

    def solve(self, state: CentredKernel, alpha: float, **_: object) -> Solution:
        """Solve for one alpha."""
        a = _solve(state, alpha) if state.definite else None
        if a is not None:
            return Solution(state.features.from_dual(a), a)
        symmetric = Cholesky()
        equations = symmetric.prepare(state.features, state.comparisons)
        return replace(symmetric.solve(equations, alpha, last=True), solver=symmetric.name)


def _solve(state: CentredKernel, alpha: float) -> Float | None:
    """Return the solution, or None where predictions would lose digits."""
    graph, K = state.comparisons, state.K
    system = np.empty_like(K)
    for columns in blocks(len(K), 8 * len(K)):
        system[:, columns] = graph.apply(np.ascontiguousarray(K[:, columns]))
    system[np.diag_indices(len(K))] += alpha
    factors, pivots, singular = lapack.dgetrf(system.T, overwrite_a=1)
    b = graph.target()
    parts = Grouping(graph.parts, int(graph.parts.max()) + 1, np.ones(len(K)))
    a, f = np.zeros_like(b), np.zeros_like(b)
    for _ in range(0 if singular else 1 + CORRECTIONS):
        residual = parts.subtract_means(b - alpha * a - graph.apply(f))
        a = parts.subtract_means(a + lapack.dgetrs(factors, pivots, residual, trans=1)[0])
        before, f = f, K @ a
        if np.all(_spread(graph, f - before) <= TRIFLE * _spread(graph, f)):
            return a
    return None


def _spread(graph: Comparisons, f: Float) -> Float:
    """Return ``√(fᵀ L f)`` for each column: how much scores differ over the pairs."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("ij,ij->j", f, graph.apply(f)), 0.0)))

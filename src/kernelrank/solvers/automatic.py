"""The automatic choice of a solver."""

from __future__ import annotations

from typing import Any

from kernelrank.comparisons import Comparisons
from kernelrank.features import Features
from kernelrank.solvers.base import Solver
from kernelrank.solvers.direct import Cholesky, LaplacianSystem, Spectral, Tridiagonal
from kernelrank.solvers.iterative import ConjugateGradient, NystromConjugateGradient, SparseColumns

SOLVER_NAMES = ("auto", "cholesky", "spectral", "conjugate_gradient", "nystrom_conjugate_gradient")

DENSE_LIMIT = 5_000
"""The largest system that is made dense for several alphas of sparse features."""

ENOUGH, EXACT = 1e-5, 1e-10
"""The tolerance where conjugate gradients are chosen, and where they are asked for."""

DIRECT_LIMIT = 20_000
"""The largest system that is factorised at all: 3.2 GB and some 2.7·10¹² multiplications."""


def choose_solver(
    features: Features, comparisons: Comparisons, n_alphas: int = 1, *, tol: float = ENOUGH, max_iter: int | None = None
) -> Solver[Any]:
    """Choose a solver by what the features and the graph are.

    With s the smaller of the number of items m and of columns r (m for a full kernel):

    ==============================  =========================  ==========  =======================================
    features                        size                       alphas      solver
    ==============================  =========================  ==========  =======================================
    sparse columns                  s > 20,000                 any         conjugate gradients, nothing made dense
    sparse columns                  s > 5,000                  several     conjugate gradients
    sparse columns                  s ≤ 20,000                 one         conjugate gradients as long as they promise
                                                                           to cost less than Cholesky; heavy columns
                                                                           solved exactly where that saves steps
    full kernel, recomputable, or   m > 20,000 or              any         conjugate gradients with a Nyström
    reduced set; root of L cheap    s > 20,000                             preconditioner, rows computed anew
    any                             s > 20,000                 any         conjugate gradients
    r > m or full kernel, root of   s > 5,000                  any         conjugate gradients, no root needed
    L not cheap
    the same, few pairs compared    s ≤ 5,000                  one         an LU factorisation, no root needed
    any other                                                  one         Cholesky
    any other                                                  up to 5     Cholesky, once for each alpha
    any other                                                  more        tridiagonal form, once for all
    ==============================  =========================  ==========  =======================================

    Parameters
    ----------
    features : Features
    comparisons : Comparisons
    n_alphas : int, default=1
        For how many alphas the problem will be solved.
    tol, max_iter : float, int
        Passed to conjugate gradients.

    Returns
    -------
    Solver
    """
    size = features.size
    iterate = ConjugateGradient(tol=tol, max_iter=max_iter)
    if size > DIRECT_LIMIT and features.recomputable and comparisons.cheap_root:
        return NystromConjugateGradient(tol=tol, max_iter=max_iter)
    if size > DIRECT_LIMIT or (features.sparse and size > DENSE_LIMIT and n_alphas > 1):
        return iterate
    if features.sparse and n_alphas == 1:
        return SparseColumns(tol=tol, max_iter=max_iter)
    if size > DENSE_LIMIT and features.primal is None and not comparisons.cheap_root:
        return iterate
    if n_alphas == 1 and features.primal is None and comparisons.sparse_laplacian:
        return LaplacianSystem()
    return Cholesky() if n_alphas <= 5 else Tridiagonal()  # up to five factorisations cost less


def get_solver(
    name: str,
    features: Features,
    comparisons: Comparisons,
    n_alphas: int = 1,
    *,
    tol: float | None,
    max_iter: int | None,
) -> Solver[Any]:
    """Return the solver of that name; "auto" chooses."""
    if name == "auto":
        return choose_solver(features, comparisons, n_alphas, tol=ENOUGH if tol is None else tol, max_iter=max_iter)
    tol = EXACT if tol is None else tol
    if name == "conjugate_gradient":
        return ConjugateGradient(tol=tol, max_iter=max_iter)
    if name == "nystrom_conjugate_gradient":
        return NystromConjugateGradient(tol=tol, max_iter=max_iter)
    return Cholesky() if name == "cholesky" else Spectral()

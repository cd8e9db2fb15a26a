"""Sparse columns, one alpha: conjugate gradients, unless a factorisation costs less.

Which of the two is faster depends on the number of steps, and that on the data: five where columns are alike, thousands
where there are as many columns as items. So the iteration begins. When it has spent a tenth of what a factorisation
costs, the rate at which its error falls promises a number of steps. If they cost more than the factorisation, that is
done instead. Where a few columns hold most entries (raw term counts), an iteration that solves these exactly is between
the two (`kernelrank.solvers.heavy_columns`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from kernelrank.base.arrays import Float, is_full, is_sparse
from kernelrank.comparisons import Comparisons
from kernelrank.features import Features
from kernelrank.solvers.base import Solution, Solver, Step
from kernelrank.solvers.direct import Cholesky
from kernelrank.solvers.heavy_columns import HeavyColumns, heavy_count
from kernelrank.solvers.iterative import LEAST_WAIT, ConjugateGradient

__all__ = ["SparseColumns"]

PRODUCT, PER_VALUE, PER_STEP = 2.5e-9, 1.5e-8, 5e-5
"""Seconds of a step: for each stored entry, for each row and column, and for the step itself."""

PER_ENTRY, GRAM_ENTRY, CUBE = 1e-7, 4e-9, 2.2e-11
"""Seconds of a factorisation: for each stored entry, each product of two entries of one row, and the cube of its size.
"""

DENSE_ENTRY, DENSE_PRODUCT = 5e-9, 1e-10
"""Seconds of the normal equations from dense blocks, and of an inverse: for each entry, and for each product of two."""

HEAVY_STEPS, HEAVY_STEP = 1_500, 1.3
"""How many steps heavy columns are reckoned to take where others take thousands, and what one costs beside these."""

QUICK = 0.01
"""A factorisation that takes so many seconds is done without asking."""


@dataclass(frozen=True)
class SparseColumns(Solver["tuple[Features, Comparisons]"]):
    """Iterate as long as the estimated cost is below that of a Cholesky factorisation.

    Parameters
    ----------
    tol, max_iter
        As `ConjugateGradient`.

    Notes
    -----
    At most about a tenth more time than the factorisation, and its memory if it is needed.
    """

    tol: float = 1e-5
    max_iter: int | None = None
    name: str = field(init=False, default="conjugate_gradient")

    def prepare(self, features: Features, comparisons: Comparisons) -> tuple[Features, Comparisons]:
        """Keep features and graph; `solve` prepares what its method needs."""
        return features, comparisons

    def solve(
        self,
        state: tuple[Features, Comparisons],
        alpha: float,
        *,
        start: Float | None = None,
        step: Step | None = None,
        **_: object,
    ) -> Solution:
        """Iterate, factorise, or both."""
        features, comparisons = state
        n_outputs = comparisons.target().shape[1]
        worth = worthwhile_steps(features, n_outputs)
        heavy = self._heavy_steps(features, comparisons, n_outputs, worth)
        if worth > 0.0:
            iteration = ConjugateGradient(self.tol, self.max_iter)
            prepared = iteration.prepare(features, comparisons)
            solution, ended = iteration.attempt(prepared, alpha, start, step, min(worth, heavy))
            if not ended and heavy < worth:
                exact = HeavyColumns(self.tol, int(worth / HEAVY_STEP))
                solution, ended = exact.attempt(exact.prepare(features, comparisons), alpha, step)
            if ended:
                return solution
        direct = Cholesky()
        return replace(direct.solve(direct.prepare(features, comparisons), alpha, last=True), solver=direct.name)

    def _heavy_steps(self, features: Features, comparisons: Comparisons, n_outputs: int, worth: float) -> float:
        """Return how many steps cost as much as solving heavy columns exactly; infinite where that is not done."""
        if worth <= HEAVY_STEPS * HEAVY_STEP or self.max_iter is not None:
            return np.inf
        count = heavy_count(features, comparisons)
        assert is_sparse(features.items)
        equations = PER_ENTRY * features.items.nnz + DENSE_PRODUCT * count**3  # their sum, and its inverse
        return HEAVY_STEPS * HEAVY_STEP + equations / step_seconds(features, n_outputs) if count > 0 else np.inf


def step_seconds(features: Features, n_outputs: int) -> float:
    """Return how long a step of conjugate gradients takes, about."""
    X = features.items
    assert is_sparse(X)
    return float(n_outputs * (PRODUCT * X.nnz + PER_VALUE * sum(X.shape)) + PER_STEP)


def worthwhile_steps(features: Features, n_outputs: int) -> float:
    """Return how many steps cost as much as a factorisation; zero where that takes no time.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from kernelrank.features import ExplicitFeatures
    >>> worthwhile_steps(ExplicitFeatures(csr_array(np.eye(3))), 1)
    0.0
    """
    X = features.items
    assert is_sparse(X)
    rows = X if features.primal is not None else X.T  # whose entries are multiplied with each other
    major = rows.format == "csr"
    counts = np.diff(rows.indptr) if major else np.bincount(rows.indices, minlength=rows.shape[0])
    size = float(features.size)
    equations = PER_ENTRY * X.nnz + GRAM_ENTRY * float((counts.astype(np.float64) ** 2).sum())
    if is_full(X):
        equations = (DENSE_ENTRY + DENSE_PRODUCT * size) * X.shape[0] * X.shape[1]
    factorise = equations + CUBE * size**3
    worth = factorise / step_seconds(features, n_outputs)
    return 0.0 if factorise < QUICK or worth < LEAST_WAIT else worth

"""The problem of a pairwise loss, ``loss(Φ w) + alpha ‖w‖²``, and certified solutions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lapack, qr, solve_triangular

from kernelrank.base.arrays import Float, is_sparse, one_thread
from kernelrank.comparisons import Comparisons
from kernelrank.errors import NotConverged
from kernelrank.features import ColumnFeatures, ExplicitFeatures, Features
from kernelrank.hinge import Pairs
from kernelrank.losses import ListedPairs, ScoredPairs
from kernelrank.solvers.base import Solution, Solver

__all__ = ["CertifiedSolution", "ItemSpan", "PairProblem", "PairSolver", "warn_of_gap"]

GRAM_COLUMNS = 1_000
"""Up to so many dense columns the Gram matrix of all pairs preconditions; beyond, its diagonal does."""

INDEPENDENT = 1e-6
"""Items whose Gram matrix has at least this reciprocal condition number keep ten digits in a factor of it."""

WIDE, WIDE_BYTES = 2, 2**30
"""With more than so many times as many columns as items, the problem is solved in the span of the items first, while a
basis of it takes no more memory than that."""

SMALL = 2**20
"""Up to so many features in all, waking a second thread for a product costs more than the product."""

MANY_QUERIES = 1_000
"""From so many queries on a sample takes whole queries, below it takes items."""


@dataclass(frozen=True)
class CertifiedSolution(Solution):
    """A solution with a certificate: a proven bound on its distance from the minimum.

    Parameters
    ----------
    objective : float
        ``loss + alpha ‖w‖²`` at the solution, rounded.
    gap : float
        No w has an objective below ``1 - gap`` times that of the solution, rounding included.
    """

    objective: float = field(default=np.nan)
    gap: float = field(default=np.inf)


class PairProblem:
    """Features and pairs, ready for every alpha.

    Parameters
    ----------
    features : ColumnFeatures
        Φ (m × r).
    comparisons : Comparisons
        A graph whose pairs are known; see `pairs_of`.

    Notes
    -----
    O(m log m) time; the Gram matrix is computed on first use, O(m r²).
    """

    def __init__(self, features: Features, comparisons: Comparisons) -> None:
        if features.columns is None:
            raise TypeError("a pairwise loss needs explicit features: map the kernel to features first")
        self.features: ColumnFeatures = features.columns
        self.comparisons = comparisons
        self.pairs: Pairs = pairs_of(comparisons)
        self._gram: Float | None = None

    @property
    def size(self) -> int:
        """The number of unknowns, r."""
        return self.features.n_columns

    @cached_property
    def stored(self) -> int:
        """The number of stored features."""
        X = self.features.X
        return int(X.nnz) if is_sparse(X) else self.size * self.features.n_items

    @cached_property
    def row_terms(self) -> int:
        """The largest number of stored features of an item: the terms of a score."""
        return self.features.longest_row

    @cached_property
    def magnitudes(self) -> Float:
        """The largest absolute value in each column of Φ, shape (r,)."""
        return self.features.column_magnitudes()

    def threads(self) -> AbstractContextManager[object]:
        """Return a context in which a small problem has one thread."""
        small = self.size * self.features.n_items <= SMALL
        return one_thread() if small else nullcontext()

    def sample(self, share: float) -> PairProblem | None:
        """Return the problem of a random share of the items, whole queries where there are many; None if none is left.

        The same items are drawn each time. Their features are copied; the problem itself is left as it is.
        """
        graph, features = self.comparisons, self.features
        if graph.queries is None:
            return None  # of listed pairs, few would have both ends in a sample
        rng = np.random.default_rng(0)
        if graph.n_queries >= MANY_QUERIES:
            kept = (rng.random(graph.n_queries) < share)[graph.queries.codes]
        else:
            kept = rng.random(graph.n_items) < share
        part = graph.without(np.flatnonzero(~kept))
        return None if part.n_pairs == 0 else PairProblem(features.part(np.flatnonzero(kept)), part)

    @cached_property
    def turned(self) -> tuple[PairProblem, ItemSpan] | None:
        """The same problem in the span of the items, and an orthonormal basis of that; None unless Φ is dense and wide.

        With ``Φᵀ = Q R`` the scores are ``Φ w = Rᵀ v`` for ``w = Q v``, and ``‖w‖ = ‖v‖``. What is orthogonal to Q
        changes no score. O(m² r) time; m² numbers, and m × r where the items are nearly dependent.
        """
        m, X = self.features.n_items, self.features.X
        wide = WIDE * m < self.size and m <= GRAM_COLUMNS and 8 * m * self.size <= WIDE_BYTES
        if not wide or not isinstance(X, np.ndarray):
            return None
        span, R = ItemSpan.of(X)
        return PairProblem(ExplicitFeatures(np.ascontiguousarray(R.T)), self.comparisons), span

    def begin(self, start: Float | None) -> Float:
        """Return the vector to start from, shape (r,)."""
        return np.zeros(self.size) if start is None else np.array(start, dtype=np.float64).reshape(self.size)

    def preconditioner(self, trace: float, alpha: float) -> Callable[[Float], Float]:
        """Return the inverse of ``s Φᵀ L Φ + 2 alpha I``, or of its diagonal, as a function.

        L is the Laplacian of all pairs. A Hessian that takes some of them only, with a certain trace,
        resembles it but for the factor s.
        """
        scale = trace / (2.0 * self.pairs.total)
        if self.features.sparse or self.size > min(GRAM_COLUMNS, self.features.n_items):
            if self._gram is None:
                self._gram = self.features.gram_diagonal(self.comparisons)
            inverse = 1.0 / (scale * self._gram + 2.0 * alpha)
            return lambda v: inverse * v
        if self._gram is None:
            self._gram = self.features.gram(self.comparisons)
        factor = cho_factor(scale * self._gram + 2.0 * alpha * np.eye(self.size), overwrite_a=True, check_finite=False)
        return lambda v: np.asarray(cho_solve(factor, v, check_finite=False))

    def solution(self, w: Float, n_iter: int, objective: float, gap: float) -> CertifiedSolution:
        """Return a solution in the coefficients of the feature map."""
        column = w[:, None]
        return CertifiedSolution(self.features.from_primal(column), column, n_iter, gap, objective, gap)


@dataclass(frozen=True)
class ItemSpan:
    """An orthonormal basis Q (n × m) of the span of wide items, ``Q = Xᵀ R⁻¹``, which need not be formed.

    Parameters
    ----------
    rows : ndarray, shape (m, n)
        X, or ``Qᵀ`` itself.
    factor : ndarray, shape (m, m), or None
        R, upper triangular; None where the rows are ``Qᵀ``.
    """

    rows: Float
    factor: Float | None

    @classmethod
    def of(cls, X: NDArray[np.floating[Any]]) -> tuple[ItemSpan, Float]:
        """Return the basis and R with ``Xᵀ = Q R``: from a factor of ``X Xᵀ``, or where that loses digits of X itself.

        O(m² n) time.
        """
        rows = X.astype(np.float64, copy=False)
        gram = rows @ rows.T
        norm = float(np.abs(gram).sum(axis=0).max())
        factor, failed_at = lapack.dpotrf(gram, clean=1)
        if failed_at == 0 and lapack.dpocon(factor, norm)[0] >= INDEPENDENT:
            return cls(rows, factor), factor
        Q, R = qr(X.T.astype(np.float64), overwrite_a=True, mode="economic", check_finite=False)
        return cls(Q.T, None), R

    def weights(self, v: Float) -> Float:
        """Return ``Q v``."""
        inner = v if self.factor is None else solve_triangular(self.factor, v, check_finite=False)
        return np.asarray(self.rows.T @ inner)

    def coordinates(self, w: Float) -> Float:
        """Return ``Qᵀ w``."""
        inner: Float = self.rows @ w
        if self.factor is None:
            return inner
        return np.asarray(solve_triangular(self.factor, inner, trans="T", check_finite=False))


class PairSolver(Solver[PairProblem]):
    """A solver of problems with a pairwise loss."""

    def prepare(self, features: Features, comparisons: Comparisons) -> PairProblem:
        """Collect the pairs of the comparison graph."""
        return PairProblem(features, comparisons)


def warn_of_gap(name: str, n_iter: int, gap: float, tol: float, *, exhausted: bool = False) -> None:
    """Warn that the optimality gap is above the tolerance."""
    advice = (
        "which is the limit of double precision here: raise tol or alpha, or scale the features"
        if exhausted
        else "raise max_iter, tol or alpha, or scale the features"
    )
    warnings.warn(
        f"{name} stopped after {n_iter} iterations with a duality gap of {gap:.2g} of the objective, above "
        f"tol={tol:g}: {advice}",
        NotConverged,
        stacklevel=4,
    )


def pairs_of(comparisons: Comparisons) -> Pairs:
    """Return the pairs that a graph compares, with their weights; magnitudes and ties are ignored.

    Parameters
    ----------
    comparisons : Comparisons
        Listed pairs, or a graph whose items have levels.

    Returns
    -------
    Pairs

    Examples
    --------
    >>> from kernelrank.comparisons import ScoredQueries
    >>> from kernelrank.base.labels import Queries
    >>> graph = ScoredQueries(np.array([[3.0], [1.0], [1.0]]), Queries.from_labels(None, 3), ties="exclude")
    >>> pairs_of(graph).total
    2.0
    """
    listed = comparisons.listed_pairs()
    if listed is not None:
        return ListedPairs(comparisons.n_items, *listed)
    levels = comparisons.pair_levels()
    if levels is not None:
        return ScoredPairs(levels)
    raise TypeError(f"a pairwise loss needs listed pairs or levels of items, which {comparisons!r} does not have")

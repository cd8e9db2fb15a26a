r"""The precision matrix of the coefficients of a model of votes, and its inverse.

``A = Φᵀ Dᵀ diag(w) D Φ + diag(q)``: row e of D is one at the first item of a row of votes and minus one at the second,
w is the curvature of the votes, q the precision of the prior. Few coefficients have a dense inverse. For many, A is
never formed: with standard normal ε and ε', the solution of

``A x = Φᵀ Dᵀ (sqrt(w) ε) + sqrt(q) ε'``

by conjugate gradients is a draw from ``N(0, A⁻¹)`` [PY10]_. A variance is then estimated from what a draw says about a
coefficient given all others, ``x_i - y_i / A_ii`` for the right-hand side y: ``1 / A_ii`` plus the variance of this is
far less noisy than the variance of the draws where A is nearly diagonal.
"""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, Index
from kernelrank.features import ColumnFeatures
from kernelrank.solvers.iterative import ConjugateGradient, Operator, by_diagonal
from kernelrank.votes.votes import Votes

__all__ = ["DENSE_LIMIT", "DensePrecision", "SampledPrecision", "VotePrecision", "precision_of"]

DENSE_LIMIT = 1_000
"""Up to so many coefficients the inverse is formed."""

DRAWS = 64
"""How many draws stand for the inverse beyond that: standard errors are right to a few per cent."""

TOLERANCE = 1e-6


class DensePrecision:
    """The precision matrix A as a dense array, with its inverse.

    Parameters
    ----------
    features : ColumnFeatures
        Φ (m × p); each item has a column of its own among the last m.
    votes : Votes
    weight : ndarray, shape (k,)
        The curvature of each row.
    prior : ndarray, shape (p,)
        q.

    Notes
    -----
    O(p³) time, O(p²) memory.
    """

    def __init__(self, features: ColumnFeatures, votes: Votes, weight: Float, prior: Float) -> None:
        self.features, self.votes = features, votes
        A = features.gram(votes.graph(weight))
        A[np.diag_indices_from(A)] += prior
        self.inverse = _inverse(A)

    def solve(self, b: Float) -> Float:
        """Return ``A⁻¹ b``."""
        return np.asarray(self.inverse @ b)

    def coefficient_variances(self) -> Float:
        """Return the diagonal of the inverse."""
        return np.diagonal(self.inverse).copy()

    @cached_property
    def covariance(self) -> Float:
        """The covariance of the scores of all items, ``Φ A⁻¹ Φᵀ``."""
        return self.features.multiply(self.features.multiply(self.inverse).T)

    def pair_variances(self) -> Float:
        """Return the variance of the difference of each row of votes."""
        return self.difference_variances(self.votes.head, self.votes.tail)

    def difference_variances(self, first: Index, second: Index) -> Float:
        """Return the variances of differences of scores."""
        S = self.covariance
        return np.asarray(np.maximum(S[first, first] + S[second, second] - 2.0 * S[first, second], 0.0))

    def score_covariance(self, items: Index) -> Float:
        """Return the covariance of the scores of some items."""
        return self.covariance[np.ix_(items, items)]

    def centred_variances(self, centre: Index) -> Float:
        """Return the variances of all scores, less the mean score of the items `centre`."""
        S = self.covariance
        mean = S[:, centre].mean(axis=1)
        return np.asarray(np.maximum(np.diagonal(S) - 2.0 * mean + mean[centre].mean(), 0.0))


class SampledPrecision:
    """The precision matrix A, known by its products with vectors, and random draws from the normal distribution.

    Parameters
    ----------
    features, votes, weight, prior
        As in `DensePrecision`.
    seed : int
        Random seed; the same for all precisions of one fit, so that the fit converges.
    draws : int

    Notes
    -----
    O((nnz + k) draws) time for each step of conjugate gradients, O((m + k) draws) memory.
    """

    def __init__(
        self, features: ColumnFeatures, votes: Votes, weight: Float, prior: Float, *, seed: int, draws: int = DRAWS
    ) -> None:
        self.features, self.votes, self.weight, self.prior = features, votes, weight, prior
        self.seed, self.n_draws = seed, draws
        self.graph = votes.graph(weight)
        self.diagonal = features.gram_diagonal(self.graph) + prior

    @property
    def _n_shared(self) -> int:
        """How many columns are not those of single items."""
        return self.features.n_columns - self.features.n_items

    def solve(self, b: Float) -> Float:
        """Return ``A⁻¹ b``, for one column or several."""
        right = b[:, None] if b.ndim == 1 else b
        operator = Operator(self._multiply, lambda v: v, right, by_diagonal(self.diagonal), lambda x: x)
        solved = np.asarray(ConjugateGradient(TOLERANCE).solve(operator, 0.0).unknowns)
        return solved[:, 0] if b.ndim == 1 else solved

    def _multiply(self, c: Float) -> Float:
        product = self.features.transpose_multiply(self.graph.apply(self.features.multiply(c)))
        return product + self.prior[:, None] * c

    @cached_property
    def _drawn(self) -> tuple[Float, Float]:
        """The right-hand sides y and the draws x."""
        random = np.random.default_rng(self.seed)
        votes, size = self.votes, (len(self.weight), self.n_draws)
        pushed = np.sqrt(self.weight)[:, None] * random.standard_normal(size)
        y = self.features.transpose_multiply(np.asarray(votes.incidence.T @ pushed))
        y = y + np.sqrt(self.prior)[:, None] * random.standard_normal(y.shape)
        return y, self.solve(y)

    def coefficient_variances(self) -> Float:
        """Return estimates of the diagonal of the inverse."""
        y, x = self._drawn
        return np.asarray(1.0 / self.diagonal + _mean_square(x - y / self.diagonal[:, None]))

    def pair_variances(self) -> Float:
        """Return estimates of the variances of the differences of the rows of votes."""
        f = self.features.multiply(self._drawn[1])
        return _mean_square(f[self.votes.head] - f[self.votes.tail])

    def difference_variances(self, first: Index, second: Index) -> Float:
        """Return the variances of differences of scores; of many, estimates from the draws."""
        if len(first) <= DRAWS:
            units = np.zeros((self.features.n_items, len(first)))
            units[first, np.arange(len(first))] = 1.0
            units[second, np.arange(len(first))] -= 1.0
            right = self.features.transpose_multiply(units)
            return np.asarray(np.einsum("ij,ij->j", right, self.solve(right)))
        f = self.features.multiply(self._drawn[1])
        found = [_mean_square(f[first[part]] - f[second[part]]) for part in _parts(len(first))]
        return np.concatenate(found)

    def score_covariance(self, items: Index) -> Float:
        """Return the covariance of the scores of some items, one system for each."""
        units = np.zeros((self.features.n_items, len(items)))
        units[items, np.arange(len(items))] = 1.0
        right = self.features.transpose_multiply(units)
        found = right.T @ self.solve(right)
        return np.asarray((found + found.T) / 2.0)

    def centred_variances(self, centre: Index) -> Float:
        """Return estimates of the variances of all scores, less the mean score of the items `centre`."""
        y, x = self._drawn
        f = self.features.multiply(x)
        alone = 1.0 / self.diagonal[self._n_shared :]
        rest = f - y[self._n_shared :] * alone[:, None] - f[centre].mean(axis=0)
        return np.asarray(alone + _mean_square(rest))


VotePrecision: TypeAlias = DensePrecision | SampledPrecision


def precision_of(
    features: ColumnFeatures, votes: Votes, weight: Float, prior: Float, *, seed: int = 0, draws: int = DRAWS
) -> VotePrecision:
    """Return the precision as a dense matrix, or by products and draws if it is large."""
    if features.n_columns <= DENSE_LIMIT:
        return DensePrecision(features, votes, weight, prior)
    return SampledPrecision(features, votes, weight, prior, seed=seed, draws=draws)


def _inverse(A: Float) -> Float:
    """Return the inverse of a positive definite matrix; where rounding makes it indefinite, of one a little larger."""
    places, more = np.diag_indices_from(A), 0.0
    diagonal = A[places].copy()
    while True:
        A[places] = diagonal + more
        factor, info = lapack.dpotrf(A, lower=0, clean=1)
        if info == 0:
            inverse, _ = lapack.dpotri(factor, lower=0)
            return np.asarray(np.triu(inverse) + np.triu(inverse, 1).T)
        more = 10.0 * more if more else 1e-15 * float(diagonal.max())


def _mean_square(draws: Float) -> Float:
    return np.asarray(np.einsum("ij,ij->i", draws, draws) / draws.shape[1])


def _parts(count: int) -> list[slice]:
    return [slice(start, start + 65_536) for start in range(0, count, 65_536)]

"""The posterior of scores: how sure a model is of them, from the curvature of its objective."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils.validation import check_is_fitted

from kernelrank.arrays import Float, Index, dense_rows
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.estimators.score_comparison import ScoreComparison, matched_rows

__all__ = ["ScorePosterior"]


class ScorePosterior(KernelLearner):
    """A learner that keeps the factor R of a precision: ``(RᵀR)⁻¹`` is the covariance of its coefficients."""

    precision_factor_: Float
    precision_items_: Index

    def covariance(self, X: Any) -> Float:
        """Return the covariance of the scores of items, from the curvature of the objective at its minimum.

        This is the Laplace approximation of the posterior: alpha is the precision of a normal prior, 2 alpha for each
        weight. Effects of sides, judges and ties are integrated out.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed
            The items; they need not have a vote.

        Returns
        -------
        ndarray, shape (t, t)
            Standard errors of the scores are the roots of its diagonal. That of a difference is smaller where two
            scores depend on each other.

        Notes
        -----
        O(t s² + t² s) time for s coefficients.
        """
        roots = self._covariance_roots(self._coefficient_rows(X))
        return np.asarray(roots.T @ roots)

    def compare(self, X_a: Any, X_b: Any) -> ScoreComparison:
        """Compare items by their scores, row by row.

        Parameters
        ----------
        X_a, X_b : array-like or sparse matrix, shapes (k, n_features)
            The items; one row on one side is compared with every row of the other.

        Returns
        -------
        ScoreComparison
            The difference of the scores, its standard deviation, and the probability that the first score is higher.
            That is not the probability to win a single vote, which `predict_proba` returns.

        Notes
        -----
        O(k s²) time for s coefficients.
        """
        a, b = self.predict(X_a), self.predict(X_b)
        first, second = matched_rows(len(a), len(b))
        rows = self._coefficient_rows(X_a)[first] - self._coefficient_rows(X_b)[second]
        std = np.linalg.norm(self._covariance_roots(rows), axis=0)
        basis = "posterior of the preferences (Laplace approximation)"
        return ScoreComparison.normal(a[first] - b[second], std, basis)

    def _coefficient_rows(self, X: Any) -> Float:
        """Return what the coefficients of the precision are multiplied by to score items, shape (t, s)."""
        check_is_fitted(self)
        if not hasattr(self, "precision_factor_"):
            raise InvalidInputError(
                f"no covariance was kept: there are too many unknowns to factorise their system, solver_ is "
                f"{self.solver_!r}. Use fewer features, a basis, or solver='cholesky'"
            )
        X = self._check_items(X, reset=False)
        if hasattr(self, "coef_"):
            return dense_rows(X, slice(None))
        kernel, items = self._kernel(), self.precision_items_
        if kernel.precomputed:
            return np.asarray(X[:, self.basis_[items]], dtype=np.float64)
        assert self.X_fit_ is not None
        return kernel.matrix(X, self.X_fit_[items])

    def _covariance_roots(self, rows: Float) -> Float:
        """Return z, shape (s, t), such that ``zᵀ z`` is the covariance of the scores of rows (t, s)."""
        return np.asarray(solve_triangular(self.precision_factor_, rows.T, trans="T", check_finite=False))

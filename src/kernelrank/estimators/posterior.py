"""The posterior of scores, from the curvature of the objective.

The coefficients of a model have the precision ``RᵀR``, so scores ``k(x) b`` have the covariance ``zᵀz`` with
``z = R⁻ᵀ k(x)``. For a kernel this is what the basis items R say. The rest of an item, which they do not span, is known
from the prior only: with ``UᵀU = K_RR`` and the scale p of the prior covariance ``p K``,

    ``p (k(x, x') - k_R(x)ᵀ U⁻¹ U⁻ᵀ k_R(x'))``

is added. It is zero for the items of the basis, and grows with the distance from them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix, dense_rows
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.estimators.score_comparison import ScoreComparison, matched_rows

__all__ = ["COMPARISON_STATE", "ScorePosterior"]

COMPARISON_STATE = ("comparison_scale_", "comparison_std_", "comparison_pairs_", "comparison_holdout_")
"""What `calibrate_comparisons` adds to a model."""


class ScorePosterior(KernelLearner):
    """A learner that keeps the factor R of a precision: ``(RᵀR)⁻¹`` is the covariance of its coefficients."""

    _posterior_name: ClassVar[str] = "posterior of the preferences (Laplace approximation)"
    _posterior_state: ClassVar[tuple[str, ...]] = COMPARISON_STATE

    precision_factor_: Float
    precision_items_: Index

    comparison_scale_: float
    comparison_std_: float
    comparison_pairs_: int
    comparison_holdout_: str

    def covariance(self, X: Any) -> Float:
        """Return the covariance of the scores of items.

        For `BradleyTerry` this is the Laplace approximation of the posterior, from the curvature of the objective at
        its minimum: each weight has a normal prior with the precision 2 alpha, and effects of sides, judges and
        ties are integrated out. For `RankRLS` fitted to preferences it is the posterior itself, with the noise that
        `noise_` estimates.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed
            The items; they need not have a vote.

        Returns
        -------
        ndarray, shape (t, t)
            The square roots of its diagonal are the standard errors of the scores. Differences of positively correlated
            scores have smaller standard errors.

        Notes
        -----
        O(t s² + t² s) time for s coefficients. With a precomputed kernel the variance outside the span of the basis
        items is missing, because k(x, x) is unknown.
        """
        rows = self._coefficient_rows(X)
        roots = self._covariance_roots(rows)
        found = np.asarray(roots.T @ roots)
        prior = self._outside(rows)
        if prior is not None:
            items = self._check_items(X, reset=False)
            found += self._prior_scale() * (self._kernel().matrix(items, items) - prior.T @ prior)
        return found

    def compare(self, X_a: Any, X_b: Any) -> ScoreComparison:
        """Compare items by their scores, row by row.

        Parameters
        ----------
        X_a, X_b : array-like or sparse matrix, shapes (k, n_features)
            The items, new ones or not; one row on one side is compared with every row of the other.

        Returns
        -------
        ScoreComparison
            The difference of the scores, its standard deviation, and the probability that the first score is higher.
            For a model of preferences they are those of its posterior; that is not the probability to win a single
            vote, which `BradleyTerry.predict_proba` returns. For a model from `calibrate_comparisons` the probability
            is that the first item has the higher true score, and the standard deviation that of the difference of the
            true scores: both are from pairs that were held out. `basis` says which.

        Notes
        -----
        O(k s²) time for s coefficients; O(k s) for a calibrated model.

        The posterior of preferences treats alpha as known, except after a search. The probability and the standard
        deviation, around the difference for the chosen alpha, are then those of a mixture: the posteriors of all alphas
        that were tried, weighted by their evidence. This takes O(s³) time more. On simulated preferences, 1.96 standard
        deviations cover the true difference in 94 to 97% of the comparisons, with or without a search
        (``benchmarks/comparisons_are_calibrated.py``).
        """
        a, b = self.predict(X_a), self.predict(X_b)
        if a.ndim != 1:
            raise InvalidInputError(f"Expected a model of one output; got {a.shape[1]}. Fit one model for each output")
        first, second = matched_rows(len(a), len(b))
        difference = np.asarray(a[first] - b[second])
        if hasattr(self, "comparison_scale_"):
            basis = f"calibrated on {self.comparison_pairs_:,} pairs by {self.comparison_holdout_}"
            std = np.full(len(difference), self.comparison_std_)
            return ScoreComparison(difference, std, np.asarray(expit(self.comparison_scale_ * difference)), basis)
        rows = self._coefficient_rows(X_a)[first] - self._coefficient_rows(X_b)[second]
        outside, prior = np.zeros(len(rows)), self._outside(rows)
        if prior is not None:
            distance = self._squared_distances(X_a, X_b, first, second)
            outside = np.maximum(distance - np.square(prior).sum(axis=0), 0.0)
        return self._compared(difference, rows, outside)

    def _compared(self, difference: Float, rows: Float, outside: Float) -> ScoreComparison:
        """Return the comparison for differences of scores, with the variances of the posterior.

        Parameters
        ----------
        difference : ndarray, shape (t,)
        rows : ndarray, shape (t, s)
            Differences of two `_coefficient_rows`.
        outside : ndarray, shape (t,)
            Their squared lengths outside of the span of the coefficients.

        Returns
        -------
        ScoreComparison
        """
        variance = np.square(self._covariance_roots(rows)).sum(axis=0) + self._prior_scale() * outside
        return ScoreComparison.normal(difference, np.sqrt(variance), self._posterior_name)

    def _prior_scale(self) -> float:
        """Return p: the prior covariance of scores is ``p K``."""
        return 1.0 / (2.0 * float(self.alpha))

    def _squared_distances(self, X_a: Any, X_b: Any, first: Index, second: Index) -> Float:
        """Return ``k(a, a) + k(b, b) - 2 k(a, b)`` of the rows that are compared."""
        kernel = self._kernel()
        A, B = (self._check_items(X, reset=False) for X in (X_a, X_b))
        across = np.empty(len(first))
        for start in range(0, len(first), 64):  # blocks whose diagonals are wanted
            part = slice(start, start + 64)
            across[part] = np.diagonal(kernel.matrix(A[first[part]], B[second[part]]))
        return np.asarray(kernel.diagonal(A)[first] + kernel.diagonal(B)[second] - 2.0 * across)

    def _outside(self, rows: Float) -> Float | None:
        """Return ``U⁻ᵀ k_R`` of kernel rows, shape (s, t); None where nothing is outside of the coefficients."""
        kernel = self._kernel()
        if hasattr(self, "coef_") or kernel.precomputed:
            return None
        K = kernel.matrix(self._precision_basis())
        lower = np.linalg.cholesky(K + 1e-14 * float(np.diagonal(K).max()) * np.eye(len(K)))
        return np.asarray(solve_triangular(lower, rows.T, lower=True, check_finite=False))

    def _precision_basis(self) -> Matrix:
        assert self.X_fit_ is not None
        return self.X_fit_[self.precision_items_]

    def _coefficient_rows(self, X: Any) -> Float:
        """Return what the coefficients of the precision are multiplied by to score items, shape (t, s)."""
        check_is_fitted(self)
        if not hasattr(self, "precision_factor_"):
            raise InvalidInputError(self._no_precision())
        X = self._check_items(X, reset=False)
        if hasattr(self, "coef_"):
            return dense_rows(X, slice(None))
        kernel = self._kernel()
        if kernel.precomputed:
            return np.asarray(X[:, self.basis_[self.precision_items_]], dtype=np.float64)
        return kernel.matrix(X, self._precision_basis())

    def _no_precision(self) -> str:
        """Return why there is no precision, and what to do."""
        return (
            f"no covariance was kept: there are too many unknowns to factorise their system, solver_ is "
            f"{self.solver_!r}. Use fewer features, a basis, or solver='cholesky'"
        )

    def _covariance_roots(self, rows: Float) -> Float:
        """Return z, shape (s, t), such that ``zᵀ z`` is the covariance of the scores of rows (t, s)."""
        return np.asarray(solve_triangular(self.precision_factor_, rows.T, trans="T", check_finite=False))

"""The posterior of scores, from the curvature of the objective.

The coefficients of a model have the precision ``RᵀR``, so scores ``k(x) b`` have the covariance ``zᵀz`` with
``z = R⁻ᵀ k(x)``. For a kernel this is what the basis items R say. The rest of an item, which they do not span, is known
from the prior only: with ``UᵀU = K_RR`` and the scale p of the prior covariance ``p K``,

    ``p (k(x, x') - k_R(x)ᵀ U⁻¹ U⁻ᵀ k_R(x'))``

is added. It is zero for the items of the basis, and grows with the distance from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.special import expit, ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix, dense_rows
from kernelrank.base.results import Estimates, Result
from kernelrank.comparisons import PreferenceGraph
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.features import Features, FullKernel, ReducedSet
from kernelrank.solvers import Solution
from kernelrank.solvers.base import FactorisedSolution

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

        Shapes: difference (t,), rows (t, s), outside (t,).

        outside: Their squared lengths outside of the span of the coefficients.
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
        return np.asarray(solve_triangular(self._basis_root(), rows.T, lower=True, check_finite=False))

    def _precision_basis(self) -> Matrix:
        assert self.X_fit_ is not None
        return self.X_fit_[self.precision_items_]

    def _basis_root(self) -> Float:
        """Return ``Uᵀ``, the lower factor of the kernel of the basis."""
        K = self._kernel().matrix(self._precision_basis())
        return np.asarray(np.linalg.cholesky(K + 1e-14 * float(np.diagonal(K).max()) * np.eye(len(K))))

    def _coefficient_rows(self, X: Any) -> Float:
        """Return what the coefficients of the precision are multiplied by to score items, shape (t, s)."""
        check_is_fitted(self)
        if not hasattr(self, "precision_factor_"):
            raise InvalidInputError(self._no_precision())
        X = self._check_items(X, reset=False)
        if hasattr(self, "coef_"):
            return dense_rows(self._kernel().mapped(X), slice(None))
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


# Score comparison -----------------------------------------------------------------------------------------------------
#
# Comparison of two items: the difference of their scores and its uncertainty.


@dataclass(frozen=True, eq=False, repr=False)
class ScoreComparison(Result):
    """The items of two lists compared one by one.

    Parameters
    ----------
    difference : ndarray, shape (k,)
        The score of each first item minus that of the second.
    std : ndarray, shape (k,)
        The standard deviation of the difference.
    probability : ndarray, shape (k,)
        The probability that the first item ranks above the second.
    basis : str
        What the standard deviation and the probability rest on.

    Examples
    --------
    >>> print(ScoreComparison.normal(np.array([1.0, 0.0]), np.array([0.5, 0.5]), "posterior of the preferences"))
    2 comparisons, probabilities from 0.500 to 0.977 (posterior of the preferences)
    """

    difference: Float
    std: Float
    probability: Float
    basis: str

    @classmethod
    def normal(cls, difference: Float, std: Float, basis: str) -> Self:
        """Make a comparison from normally distributed differences, with their standard deviations.

        A difference whose standard deviation is zero has the probability 1, 0, or a half if it is zero as well.
        """
        certain = (np.sign(difference) + 1.0) / 2.0
        probability = np.where(std > 0, ndtr(difference / np.where(std > 0, std, 1.0)), certain)
        return cls(difference, std, probability, basis)

    def __str__(self) -> str:
        low, high = float(self.probability.min(initial=1.0)), float(self.probability.max(initial=0.0))
        if len(self.probability) == 1:
            found = f"difference {self.difference[0]:.4g} ± {self.std[0]:.4g}, probability {high:.3f}"
        else:
            found = f"{len(self.probability):,} comparisons, probabilities from {low:.3f} to {high:.3f}"
        return f"{found} ({self.basis})"

    def _facts(self) -> list[tuple[str, str]]:
        rows = [("compared", f"{len(self.difference):,}"), ("computed from", self.basis)]
        shown = zip(self.difference[:10], self.std[:10], self.probability[:10], strict=True)
        rows += [
            (f"comparison {number}", f"{difference:.4g} ± {std:.4g}, probability {probability:.3f}")
            for number, (difference, std, probability) in enumerate(shown)
        ]
        left = len(self.difference) - 10
        return [*rows, ("not shown", f"{left:,}")] if left > 0 else rows

    def _chart(self) -> Estimates:
        halves = float(ndtri(0.975)) * self.std[:20]
        ends = zip(self.difference[:20].tolist(), halves.tolist(), strict=True)
        rows = [(f"comparison {n}", middle, middle - half, middle + half) for n, (middle, half) in enumerate(ends)]
        return Estimates(rows, "difference of the scores, with 95% intervals", 0.0)

    def _columns(self) -> dict[str, Any]:
        return {"difference": self.difference, "std": self.std, "probability": self.probability}


def matched_rows(n_first: int, n_second: int) -> tuple[Index, Index]:
    """Return which rows of two lists are compared: row by row, or one row with all of the other list.

    Shapes: returns (k,).
    """
    if n_first != n_second and 1 not in (n_first, n_second):
        raise InvalidInputError(
            "Expected as many rows in X_a as in X_b, or one row on one side: "
            f"X_a has {n_first} rows, X_b has {n_second}."
        )
    count = n_second if n_first == 1 else n_first
    rows = np.arange(count, dtype=np.int64)
    alone = np.zeros(count, dtype=np.int64)
    return (rows if n_first == count else alone), (rows if n_second == count else alone)


# Preference posterior -------------------------------------------------------------------------------------------------
#
# The posterior of differences that RankRLS learnt from preferences.
#
# Votes are ``z_e = f_h - f_j + noise`` with the variance ``σ²/w_e``, and scores have the prior ``N(0, (σ²/λ) K)``. Then
# the mean of the posterior is RankRLS, the covariance of its coefficients is ``σ² A⁻¹`` with ``A = ΦᵀLΦ + λI``, and the
# evidence is largest at
#
#     ``σ² = (Σ w z² - (M N)ᵀ f) / l``.
#
# The factor of A is at hand where the problem was solved in columns. For a full kernel it is made at the first
# comparison, in the columns of the empirical kernel map, from the items and the compared pairs that the model keeps;
# with ``M N = λ a + L f`` there, a being the dual coefficients.
#
# A search chose λ from the same preferences, so its λ is uncertain. All λ' that were tried follow from the factor: in
# the coordinates with ``A = diag(s) + λI``, where scores are ``z c``, the coefficients are ``c (s + λ) / (s + λ')``,
# the variance is ``σ'² Σ z² / (s + λ')``, and the logarithm of the evidence is, up to a constant,
#
#     ``-½ (l log σ'² + Σ log(1 + s / λ'))``, ``l σ'² = Σ w z² - Σ c² (s + λ)² / (s + λ')``.
#
# The variance of a difference is the mean over λ' of this variance and of the squared deviation from the difference at
# λ; the probability is the mean of the probabilities.

KEPT_UNKNOWNS = 2_000
"""The largest system whose factor a model keeps, 32 MB."""


class PreferencePosterior(ScorePosterior):
    """A least-squares ranker with the posterior of the differences learnt from preferences."""

    _posterior_name: ClassVar[str] = "posterior of the preferences"

    _posterior_state: ClassVar[tuple[str, ...]] = (
        "noise_",
        "precision_factor_",
        "precision_items_",
        "compared_first_",
        "compared_second_",
        "compared_weights_",
        "preference_squares_",
        "preference_count_",
        *COMPARISON_STATE,
    )

    noise_: float
    compared_first_: Index
    compared_second_: Index
    compared_weights_: Float
    preference_squares_: float
    preference_count_: int

    def _keep_preferences(self, features: Features, graph: PreferenceGraph, solution: Solution) -> None:
        """Keep what `compare` needs."""
        self.preference_squares_ = float(graph.weight @ graph.magnitude**2)
        self.preference_count_ = int(np.count_nonzero(graph.weight))
        if features.columns is not None:
            factor = solution.factor if isinstance(solution, FactorisedSolution) else None
            if factor is None or len(factor) > KEPT_UNKNOWNS:
                return
            fitted = features.columns.multiply(solution.unknowns)[:, 0]
            self.noise_ = self._noise(float(graph.target()[:, 0] @ fitted))
            self._keep_factor(features, factor)
        elif isinstance(features, FullKernel) and not features.kernel.precomputed:
            adjacency = sparse.coo_array(graph._adjacency)
            self.compared_first_, self.compared_second_ = (ends.astype(np.int64) for ends in adjacency.coords)
            self.compared_weights_ = np.asarray(adjacency.data, dtype=np.float64)

    def _noise(self, explained: float) -> float:
        """Return σ² from ``(M N)ᵀ f``."""
        return max(self.preference_squares_ - explained, 0.0) / self.preference_count_

    def _keep_factor(self, features: Features, factor: Float) -> None:
        """Keep the factor of the precision of the coefficients, from that of A."""
        precision = np.triu(factor)
        if isinstance(features, ReducedSet):
            precision = np.triu(precision @ features.map.U)
            self.precision_items_ = features.map.taken
        noise = max(self.noise_, float(np.finfo(np.float64).tiny))
        self.precision_factor_ = precision / np.sqrt(noise)

    def _coefficient_rows(self, X: Any) -> Float:
        if not hasattr(self, "precision_factor_") and hasattr(self, "compared_first_"):
            self._factorise_kernel()
        return super()._coefficient_rows(X)

    def _factorise_kernel(self) -> None:
        """Make the factor of a full kernel, O(m³) time and m² memory."""
        items, alpha = self.X_fit_, self._fitted_alpha()
        assert items is not None
        m = items.shape[0]
        pairs = np.column_stack([self.compared_first_, self.compared_second_])
        graph = PreferenceGraph(m, pairs, magnitude=np.ones(len(pairs)), weight=self.compared_weights_)
        features = ReducedSet(self._kernel(), items, np.arange(m, dtype=np.int64))
        A, _ = features.normal_equations(graph)
        fitted = self._kernel().matrix(items) @ self.dual_coef_
        explained = alpha * float(self.dual_coef_ @ fitted) + float(fitted @ graph.apply(fitted))
        self.noise_ = self._noise(explained)
        factor: Float = np.linalg.cholesky(A + alpha * np.eye(len(A))).T.astype(np.float64, copy=False)
        self._keep_factor(features, factor)

    def _fitted_alpha(self) -> float:
        return float(getattr(self, "alpha_", None) or self.alpha)

    def _prior_scale(self) -> float:
        return self.noise_ / self._fitted_alpha()

    def _compared(self, difference: Float, rows: Float, outside: Float) -> ScoreComparison:
        """Return the comparison; after a search, over the alphas that were tried."""
        alphas = np.unique(getattr(self, "alphas_", []))
        if len(alphas) < 2 or self._kernel().precomputed:  # which lacks the kernel of the basis
            return super()._compared(difference, rows, outside)
        alpha, count = self._fitted_alpha(), self.preference_count_
        V, s, c = self._spectrum(alpha)
        z, means, variances, evidence = rows @ V, [], [], []
        for other in alphas:
            shrunk = c * (s + alpha) / (s + other)
            squares = self.preference_squares_ - float(shrunk @ ((s + alpha) * c))
            noise = max(squares, 1e-12 * self.preference_squares_) / count
            means.append(z @ shrunk)
            variances.append(noise * (z**2 @ (1.0 / (s + other)) + outside / other))
            evidence.append(-0.5 * (count * np.log(noise) + float(np.log1p(s / other).sum())))
        weight = np.exp(np.array(evidence) - max(evidence)) * np.gradient(np.log(alphas))
        weight /= weight.sum()
        std = np.sqrt(weight @ (np.array(variances) + (np.array(means) - difference) ** 2))
        parts = [ScoreComparison.normal(mean, np.sqrt(v), "") for mean, v in zip(means, variances, strict=True)]
        probability = np.asarray(weight @ np.array([one.probability for one in parts]))
        return ScoreComparison(difference, std, probability, f"{self._posterior_name}, over {len(alphas)} alphas")

    def _spectrum(self, alpha: float) -> tuple[Float, Float, Float]:
        """Return coordinates in which A is diagonal, shape (s, s), its eigenvalues less λ, and the coefficients."""
        noise = max(self.noise_, float(np.finfo(np.float64).tiny))
        A = noise * (self.precision_factor_.T @ self.precision_factor_)
        if hasattr(self, "coef_"):
            values, V = np.linalg.eigh(A)
            w, metric = self.coef_, self._kernel().fixed_root
            if metric is not None:
                w = np.linalg.pinv(np.diag(metric) if metric.ndim == 1 else metric) @ w
            return V, np.maximum(values - alpha, 0.0), V.T @ w
        basis = self._precision_basis()
        root = self._basis_root()
        half = solve_triangular(root, A, lower=True, check_finite=False)
        values, U = np.linalg.eigh(solve_triangular(root, half.T, lower=True, check_finite=False))
        V = solve_triangular(root, U, lower=True, trans="T", check_finite=False)
        return V, np.maximum(values - alpha, 0.0), V.T @ self.predict(basis)

    def _no_precision(self) -> str:
        if not hasattr(self, "preference_squares_"):
            return (
                f"Expected a model that was fitted by fit_pairs, or calibrated; got a {type(self).__name__} of scores. "
                "Calibrate it first: model = kernelrank.calibrate_comparisons(model, X, y, qid=qid)"
            )
        if self._kernel().precomputed and not hasattr(self, "basis_"):
            return "compare needs k(x, x) of new items, which a precomputed kernel lacks: fit with a named kernel and X"
        return (
            f"Expected a fit_pairs with at most {KEPT_UNKNOWNS:,} columns, and no more columns than items; got "
            f"{self.n_features_in_:,} features, solved by {self.solver_!r}. Give basis=np.arange(n_items), which is "
            "the same model, or a smaller basis. For a model of fit_pairs_path, fit the chosen alpha by fit_pairs"
        )

"""The posterior of differences that RankRLS learnt from preferences.

Votes are ``z_e = f_h - f_j + noise`` with the variance ``σ²/w_e``, and scores have the prior ``N(0, (σ²/λ) K)``. Then
the mean of the posterior is RankRLS, the covariance of its coefficients is ``σ² A⁻¹`` with ``A = ΦᵀLΦ + λI``, and the
evidence is largest at

    ``σ² = (Σ w z² - (M N)ᵀ f) / l``.

The factor of A is at hand where the problem was solved in columns. For a full kernel it is made at the first
comparison, in the columns of the empirical kernel map, from the items and the compared pairs that the model keeps; with
``M N = λ a + L f`` there, a being the dual coefficients.

A search chose λ from the same preferences, so its λ is uncertain. All λ' that were tried follow from the factor: in
the coordinates with ``A = diag(s) + λI``, where scores are ``z c``, the coefficients are ``c (s + λ) / (s + λ')``, the
variance is ``σ'² Σ z² / (s + λ')``, and the logarithm of the evidence is, up to a constant,

    ``-½ (l log σ'² + Σ log(1 + s / λ'))``, ``l σ'² = Σ w z² - Σ c² (s + λ)² / (s + λ')``.

The variance of a difference is the mean over λ' of this variance and of the squared deviation from the difference at λ;
the probability is the mean of the probabilities.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from kernelrank.base.arrays import Float, Index
from kernelrank.comparisons import Preferences
from kernelrank.estimators.posterior import COMPARISON_STATE, ScorePosterior
from kernelrank.estimators.score_comparison import ScoreComparison
from kernelrank.features import Features, FullKernel, ReducedSet
from kernelrank.solvers import Solution
from kernelrank.solvers.base import FactorisedSolution

__all__ = ["PreferencePosterior"]

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

    def _keep_preferences(self, features: Features, graph: Preferences, solution: Solution) -> None:
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
        graph = Preferences(m, pairs, magnitude=np.ones(len(pairs)), weight=self.compared_weights_)
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
            return V, np.maximum(values - alpha, 0.0), V.T @ self.coef_
        basis = self._precision_basis()
        K = self._kernel().matrix(basis)
        root = np.linalg.cholesky(K + 1e-14 * float(np.diagonal(K).max()) * np.eye(len(K)))
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

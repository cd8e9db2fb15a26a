"""KernelSumRankRLSCV: weights of kernels, of groups of columns, that minimise the error of held-out folds.

The kernel is ``K = Σ_k w_k K_k`` with ``w_k ≥ 0``; the regularisation strength is one, as the weights have a scale.
Without a fold U, with V the other items, L their Laplacian and y their scores,

    ``a = (L_V K_VV + I)⁻¹ L_V y_V``,  ``f_U = K_UV a``,  ``E_U = f_Uᵀ L_U f_U - 2 f_Uᵀ L_U y_U``,

where L_U compares the items of the fold among each other, and E_U is their squared error but for a constant. With
``t = L_U (f_U - y_U)`` the derivative of ``E_U`` is

    ``∂E_U / ∂w_k = 2 bᵀ K_k a``,  ``b_U = t``,  ``b_V = -(L_V K_VV + I)⁻¹ L_V K_VU t``,  ``a_U = 0``:

two right-hand sides of one factorisation for each fold, for any number of kernels. On plain tables a sum of kernels was
no better than the best one, see `benchmarks/sums_of_kernels_help_groups_of_columns.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.optimize import minimize

from kernelrank.base.arrays import Float, Index, Matrix
from kernelrank.base.labels import Queries
from kernelrank.base.sklearn_private import Interval, fit_context
from kernelrank.base.validation import scores_or_times
from kernelrank.comparisons.costs import CostOption, OutputGraph, Ties
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import whole_or_not_at_all
from kernelrank.estimators.rank_rls import RankRLS
from kernelrank.estimators.tasks import Ranker
from kernelrank.features import View
from kernelrank.kernels import Kernel, KernelSum
from kernelrank.model_selection.search import HoldoutPlan

GAMMAS = (1 / 9, 1.0, 9.0)
"""What the median rule is multiplied by; a sum of these three reaches what lies between."""

STARTS = (0.3, 10.0, 300.0)
"""Sums of the weights that the descent begins with."""

LIMIT = 14.0
"""How far a logarithm of a weight may be from zero."""


class HeldOutError:
    """The error of the folds, and its gradient by the logarithms of the weights.

    Shapes: Ks (kernels, m, m).
    """

    def __init__(self, Ks: list[Float], graphs: list[OutputGraph], folds: list[Index]) -> None:
        self.Ks, m = Ks, len(Ks[0])
        self.folds = [
            (held, rest, [(graph.without(held), graph.without(rest)) for _, graph in graphs])
            for held, rest in ((held, np.delete(np.arange(m), held)) for held in folds)
        ]

    def __call__(self, log_weights: Float) -> tuple[float, Float]:
        """Return the error, less a constant, and its gradient."""
        weights = np.exp(log_weights)
        K = sum(w * one for w, one in zip(weights, self.Ks, strict=True))
        error, products = 0.0, np.zeros(len(weights))
        for held, rest, graphs in self.folds:
            K_VV, K_UV = K[np.ix_(rest, rest)], K[np.ix_(held, rest)]
            for others, own in graphs:
                factors = lu_factor(others.apply(K_VV) + np.eye(len(rest)), overwrite_a=True)
                a = lu_solve(factors, others.target())
                f, target = K_UV @ a, own.target()
                t = own.apply(f) - target
                error += float((f * (t - target)).sum())
                b = -lu_solve(factors, others.apply(K_UV.T @ t))
                for k, one in enumerate(self.Ks):
                    rows = one[:, rest] @ a
                    products[k] += 2.0 * float((t * rows[held]).sum() + (b * rows[rest]).sum())
        return error, products * weights


class KernelSumRankRLSCV(Ranker):
    """RankRLS with a weighted sum of kernels of groups of columns, such as clinical values and genes.

    Each group has a linear kernel, and three Gaussian and three product Laplacian ones around the median rule, of
    columns that are divided by their standard deviations. Weights that are not negative, and with them the
    regularisation strength, minimise the squared error of held-out folds, by its gradient.

    Parameters
    ----------
    groups : dict or list, optional
        The columns of each group, by name: numbers, a slice, a mask or names of columns. Unless given, all columns are
        one group; then `RankRLSCV` with ``kernel="auto"`` is as good and quicker.
    cv : int, default=5
        The number of folds: of whole queries with qid, of shuffled items without.
    cost, ties, query_weight, missing, random_state, verbose
        As in `RankRLS`.

    Attributes
    ----------
    kernel_weights_ : ndarray, shape (n_kernels,)
        The weight of each kernel, all kernels having the same variance; their sum is one.
    kernel_names_ : list of str
        The group, kernel and gamma of each.
    alpha_ : float
        The regularisation strength for the sum of these kernels.
    dual_coef_, X_fit_, kernel_, solver_, n_iter_, n_queries_, n_idle_queries_, n_pairs_, n_features_in_
        As in `RankRLS`.

    Notes
    -----
    O(p m²) memory for p kernels, and O(m³) time for each of about 200 steps: for up to about 1,000 items. The weights
    use the labels, so nothing is held out by a shortcut: `estimate_auc` and `leave_query_out` refit all of it.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import KernelSumRankRLSCV
    >>> X = np.random.default_rng(0).standard_normal((60, 30))
    >>> model = KernelSumRankRLSCV({"clinical": [0, 1], "genes": slice(2, None)}).fit(X, np.abs(X[:, 0]) + X[:, 1])
    >>> bool(model.kernel_weights_[:7].sum() > 0.9)
    True
    """

    __metadata_request__fit: ClassVar = {"qid": True, "event": True}
    __metadata_request__score: ClassVar = {"qid": True, "event": True}
    _takes_events = True
    kernel = "linear"  # of the parameters: the sum that is learnt is `kernel_`
    gamma = None
    degree = 3
    coef0 = 1.0
    kernel_params = None
    basis = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: RankRLS._parameter_constraints[name] for name in ("cost", "ties", "query_weight", "missing")},
        "groups": [dict, list, None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        groups: Any = None,
        *,
        cv: int = 5,
        cost: CostOption = "auto",
        ties: Ties = "include",
        query_weight: QueryWeight = "pairs",
        missing: str = "error",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.groups = groups
        self.cv = cv
        self.cost: CostOption = cost
        self.ties: Ties = ties
        self.query_weight: QueryWeight = query_weight
        self.missing = missing
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, event: Any = None) -> Self:
        """Learn the weights of the kernels, and fit with them.

        Parameters
        ----------
        X, y, qid, sample_weight, event
            As in `RankRLSCV.fit`. A precomputed kernel is not possible: what refits without some items would have to
            cut columns too, but not those of the other groups.

        Returns
        -------
        self
        """
        y = scores_or_times(y, event)
        X = self._check_items(X, reset=True)
        graphs, one_output = self._compare(X, y, qid, sample_weight)
        queries = None if qid is None else Queries.from_labels(qid, X.shape[0])
        seed = 0 if self.random_state is None else self.random_state
        sets = HoldoutPlan.of(self.cv, X, None, queries, default=5, random_state=seed).sets
        assert sets is not None
        kernels, names = self._kernels(X)
        Ks = [kernel.matrix(X) for kernel in kernels]
        spreads = np.array([np.trace(K) / len(K) - K.mean() for K in Ks])
        for K, spread in zip(Ks, spreads, strict=True):
            K /= spread
        weights = self._learnt(HeldOutError(Ks, graphs, list(sets)), len(Ks))
        self.kernel_weights_, self.kernel_names_ = weights / weights.sum(), names
        self.alpha_ = 1.0 / float(weights.sum())
        used = np.flatnonzero(weights)
        self.kernel_ = Kernel(KernelSum(tuple(kernels[k] for k in used), (self.kernel_weights_ / spreads)[used]))
        return self._fit(X, graphs, self._progress(X, y), one_output=one_output, alpha=self.alpha_)

    def _kernels(self, X: Matrix) -> tuple[list[Kernel], list[str]]:
        """Return the kernels of all groups, and their names; a group of constant columns has none."""
        standard = Kernel("linear", root="variance").fixed(X).fixed_root
        assert standard is not None
        groups = {"": None} if self.groups is None else self.groups
        named = groups if isinstance(groups, Mapping) else dict(enumerate(groups))
        kernels, names = [], []
        for name, columns in named.items():
            numbers = View(columns=columns).column_numbers(X.shape[1], getattr(self, "feature_names_in_", None))
            root = np.zeros(X.shape[1])
            root[slice(None) if numbers is None else numbers] = standard[slice(None) if numbers is None else numbers]
            if not root.any():
                continue
            label = f"{name}: " if self.groups is not None else ""
            kernels.append(Kernel("linear", root=root))
            names.append(f"{label}linear")
            for metric in ("rbf", "laplacian"):
                median = Kernel(metric, "median", root=root).fixed(X, 0)
                assert isinstance(median.gamma, float)
                kernels += [replace(median, gamma=median.gamma * factor) for factor in GAMMAS]
                names += [f"{label}{metric}, gamma {median.gamma * factor:.3g}" for factor in GAMMAS]
        if not kernels:
            raise InvalidInputError("Expected columns that differ between items; every column of X is constant.")
        return kernels, names

    @staticmethod
    def _learnt(error: HeldOutError, n_kernels: int) -> Float:
        """Return the best weights of three descents."""
        unit = abs(error(np.log(np.full(n_kernels, 1.0 / n_kernels)))[0]) or 1.0

        def scaled(log_weights: Float) -> tuple[float, Float]:
            value, gradient = error(log_weights)
            return value / unit, gradient / unit

        starts = (np.full(n_kernels, np.log(total / n_kernels)) for total in STARTS)
        bounds, options = [(-LIMIT, LIMIT)] * n_kernels, {"maxiter": 40}
        found = [minimize(scaled, one, jac=True, method="L-BFGS-B", bounds=bounds, options=options) for one in starts]
        weights: Float = np.exp(min(found, key=lambda one: one.fun).x)
        return np.where(weights < 1e-6 * weights.sum(), 0.0, weights)

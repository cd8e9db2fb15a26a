"""CoRankRLS: ranking from few scored and many unscored queries, by views that should agree."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval

from kernelrank.comparisons.costs import Cost, Ties
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.estimators.base import KernelLearner, check_alphas, whole_or_not_at_all
from kernelrank.estimators.co_data import CoData
from kernelrank.estimators.fit_progress import FitProgress
from kernelrank.estimators.view_ranker import ViewRanker
from kernelrank.kernels import GammaLike, KernelLike

__all__ = ["CoRankRLS"]


class CoRankRLS(ViewRanker):
    """Semi-supervised RankRLS: several views of the items are trained to agree on unscored queries.

    Minimises ``Σ_v [(y - f_v)ᵀ L (y - f_v) + alpha ‖f_v‖²] + nu Σ_vu (f_v - f_u)ᵀ 𝓛 (f_v - f_u)`` over the functions
    f_v of M views, exactly [TPBSH11]_ (17). L compares the scored items of each query, and 𝓛 the unscored ones.
    Predictions are the mean of the views.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength of all views. The loss is a sum (not a mean) over scored pairs.
    nu : float, default=1.0
        The weight of the disagreement, which is a sum over unscored pairs and ordered pairs of views. With zero the
        views are learnt one by one, and unscored items are not needed.
    views : int or list of View, dict or kernel, default=2
        A number of views that differ only in their basis; or a list with a `View`, a dict of its parameters, or a
        kernel for each view. At least two.
    basis : int, "all", sequence of int or None, default=None
        The basis of views without one of their own: a number of items, drawn from the scored and the
        unscored items, without items in common between views as far as possible; or the numbers of the items, as
        in `View`. With "all" every item is in the basis: the dense instead of the sparse Co-RankRLS. None takes 100
        items for each view, or as many as there are.
    kernel : str, callable or kernel object, default="rbf"
        The kernel of views without one of their own. With a linear kernel, all bases of n_features items or more
        span the same functions, so views should then differ in their columns.
    gamma, degree, coef0, kernel_params
        Its parameters, as in `RankRLS`.
    cost, ties, query_weight
        As in `RankRLS`; `query_weight` holds for scored and unscored queries.
    random_state : int, RandomState or None, default=None
        Random seed for drawing the bases.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    dual_coef_ : list of ndarray, each of shape (r,) or (r, n_outputs)
        The coefficients of the basis items of each view.
    X_fit_ : list of array or sparse matrix, each of shape (r, n)
        The basis items of each view, with the columns that it sees.
    basis_ : list of ndarray of int, or None where a view has brought its basis items
        Their numbers. With ``X_unscored`` the scored items are numbered first and the unscored ones after them; of a
        stream, those of its first block.
    kernels_ : list of Kernel
        A copy of the kernel of each view; later changes of the parameters do not affect it.
    gamma_ : list of float or None
        The gamma of each kernel, as in `RankRLS`; a rule is applied to the basis items of the view.
    columns_ : list of ndarray of int or None
        The columns that each view sees; None for all.
    disagreement_ : float, or ndarray of shape (n_outputs,)
        The mean of ``((f_v(i) - f_v(j)) - (f_u(i) - f_u(j)))²`` over pairs of views and pairs inside unscored queries;
        NaN without unscored items.
    n_views_, n_unscored_, n_unscored_queries_ : int
        How many views, unscored items and unscored queries there were.
    solver_ : str
    n_queries_, n_idle_queries_, n_pairs_ : int
        As in `RankRLS`, of the scored items.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        As in scikit-learn.

    See Also
    --------
    kernelrank.CoRankRLSCV : Chooses alpha and nu.

    Notes
    -----
    With R basis items in all views together, m scored and l unscored items of n features: O((m + l)(R n + R²) + R³)
    time, linear in l. Memory is R² and the features of a few items, whatever l is; unscored items are read once.
    `predict` takes O(t R n). The rounding error of scores is about ε times the largest eigenvalue of the problem over
    alpha; a large nu and many unscored pairs make this eigenvalue large.

    Agreement helps if few queries are scored and the errors of the views are independent given the score. It does not
    help if the views make the same errors, or with many scored queries; let a search over nu choose zero
    (`studies/unscored_data_helps.py` has examples).

    In a pipeline, mark unscored items by NaN in y, so that they go through the same steps; or name ``X_unscored`` in
    the pipeline's ``transform_input``.

    References
    ----------
    .. [TPBSH11] Tsivtsivadze, Pahikkala, Boberg, Salakoski and Heskes (2011). Co-regularized least-squares for label
       ranking. In Preference Learning, Springer.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import CoRankRLS, make_ranking
    >>> X, y, qid = make_ranking(n_queries=60, n_items=10, n_features=6, random_state=0)
    >>> y_known = np.where(qid < 5, y, np.nan)
    >>> model = CoRankRLS(alpha=1.0, nu=0.01, views=[{"columns": [0, 1, 2]}, {"columns": [3, 4, 5]}], random_state=0)
    >>> model.fit(X, y_known, qid=qid).predict_views(X[:2]).shape
    (2, 2)
    >>> same = CoRankRLS(alpha=1.0, nu=0.01, random_state=0)
    >>> known = qid < 5
    >>> _ = same.fit(X[known], y[known], qid=qid[known], X_unscored=X[~known], qid_unscored=qid[~known])
    >>> same.n_unscored_, same.n_unscored_queries_
    (550, 55)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ViewRanker._parameter_constraints,
        "alpha": KernelLearner._parameter_constraints["alpha"],
        "nu": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        nu: float = 1.0,
        *,
        views: int | Sequence[Any] = 2,
        basis: int | str | Sequence[int] | None = None,
        kernel: KernelLike = "rbf",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        cost: Cost = "magnitude",
        ties: Ties = "include",
        query_weight: QueryWeight = "pairs",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.nu = nu
        self.views = views
        self.basis = basis
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.cost: Cost = cost
        self.ties: Ties = ties
        self.query_weight: QueryWeight = query_weight
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        X_unscored: Any = None,
        qid_unscored: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit to scored and unscored items.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features)
            The scored items; or all items, where y is NaN for the unscored ones.
        y : array-like, shape (m,) or (m, n_outputs)
            Their scores. A query has scores for all of its items, or NaN for all.
        qid : sequence, shape (m,), optional
            The query of each item: any hashable labels in any order. One query if omitted.
        X_unscored : array-like or sparse matrix, shape (l, n_features), path, or iterable of blocks, optional
            The unscored items: an array, which may be memory-mapped; the path of a file as in `RankRLS.fit`; or blocks
            ``(X, qid)``, such as a generator yields. In a file and in blocks, the items of a query must be contiguous;
            a query may continue in the next block.
        qid_unscored : sequence of shape (l,), or str, optional
            The queries of an array, independent of those of `qid`; or the name of the query column of a
            file, whose other columns of numbers are features. Blocks have their own. One query if omitted.
        sample_weight : array-like, shape (m,), optional
            Weights of the scored items; the pair (i, j) weighs ``w_i w_j``.

        Returns
        -------
        self
        """
        data = CoData.read(self, X, y, qid, X_unscored, qid_unscored, sample_weight)
        graphs = self._graphs(data)
        self._require_unscored(data, self.nu)
        progress = FitProgress(self, X, y)
        views, bases = self._draw(data, graphs)
        agreement = self._agreement(data, views)
        w = self._weights(data, graphs, views, agreement, [float(self.alpha)], float(self.nu))[0]
        progress.done()
        return self._keep_views(data, graphs, views, bases, agreement, w, "cholesky")

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_path(
        self,
        X: Any,
        y: Any,
        alphas: Any,
        *,
        qid: Any = None,
        X_unscored: Any = None,
        qid_unscored: Any = None,
        sample_weight: Any = None,
    ) -> list[Self]:
        """Fit for many alphas, with the nu of this estimator, at the cost of one decomposition.

        Parameters
        ----------
        X, y, qid, X_unscored, qid_unscored, sample_weight
            As in `fit`.
        alphas : array-like of float
            The values of alpha.

        Returns
        -------
        list of CoRankRLS
            One fitted model for each alpha, in their order, with the same bases. This estimator itself is not changed.

        Notes
        -----
        One pass over all items and O(R³) time once, then O(R²) for each alpha and output.
        """
        learner: Self = clone(self)
        values = check_alphas(alphas)
        data = CoData.read(learner, X, y, qid, X_unscored, qid_unscored, sample_weight)
        graphs = learner._graphs(data)
        learner._require_unscored(data, learner.nu)
        views, bases = learner._draw(data, graphs)
        agreement = learner._agreement(data, views)
        path = learner._weights(data, graphs, views, agreement, values, float(learner.nu))
        solver = "cholesky" if len(values) == 1 else "spectral"
        fitted = []
        for alpha, w in zip(values, path, strict=True):
            model = clone(self).set_params(alpha=alpha)
            for name in ("n_features_in_", "feature_names_in_", "kernels_"):
                if hasattr(learner, name):
                    setattr(model, name, getattr(learner, name))
            fitted.append(model._keep_views(data, graphs, views, bases, agreement, w, solver))
        return fitted

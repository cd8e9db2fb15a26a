"""RankRLSCV: RankRLS that chooses its alpha by an exact hold-out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Float, Index, Matrix, blocks
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import StrOptions, fit_context
from kernelrank.base.validation import check_pair_values, scores_or_times
from kernelrank.comparisons import PreferenceGraph
from kernelrank.comparisons.costs import Cost, CostOption, OutputGraph, Ties
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import FitProgress, whole_or_not_at_all
from kernelrank.estimators.co_rank_rls import CoData, ViewRanker, co_equations
from kernelrank.estimators.posterior import PreferencePosterior
from kernelrank.estimators.rank_rls import RankRLS
from kernelrank.estimators.rls import RLS, RLSClassifier
from kernelrank.estimators.tasks import Classifier, Ranker, Regressor
from kernelrank.estimators.unscored import Agreement
from kernelrank.features.map import duplicate_rows
from kernelrank.features.views import JointRows, ViewMap
from kernelrank.kernels import GammaLike, KernelLike, MetricLike
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid, is_auto, scale_of_columns
from kernelrank.model_selection.preferences import PreferenceMeasure, check_groups, check_search
from kernelrank.model_selection.search import (
    AlphaSearch,
    Candidates,
    HoldoutPlan,
    HoldoutScoring,
    ItemLoss,
    KernelGrid,
    judged,
    read_scoring,
)
from kernelrank.solvers.direct import spectrum
from kernelrank.solvers.precision import one_warning, report_error, spectral_error


class RankRLSCV(AlphaSearch, PreferencePosterior, Ranker):
    """RankRLS with alpha and kernel parameters chosen by exact cross-validation.

    All alphas of a kernel come from one decomposition: the choice costs little more than one training.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of alpha to try. "auto" tries 2⁻¹⁵, 2⁻¹⁴, ..., 2⁵ times the scale of the problem: the mean eigenvalue
        of ``Φᵀ L Φ`` if all pairs of each query were compared, which depends on the items, their weights and queries,
        but not on y. While the best alpha is at an edge of the grid, five powers of two are added there, from 2⁻²⁵ up
        to 2¹⁰. Each candidate of `kernel_grid` has its own scale and grid. In nested cross-validation, as in
        `estimate_auc` or `leave_pair_out`, every training set tries the whole range, with the scale of all items. An
        array of shape (candidates, n) has a row for each candidate of `kernel_grid`.
    cv : {"auto", "leave_pair_out", "leave_query_out", "leave_one_out"}, int, splitter or iterable, default="auto"
        What is held out. "auto" holds out every query if qid has two or more, else every pair. A number makes as many
        folds of queries, or of shuffled items without qid. With censored times, "auto" without qid makes ten folds of
        items, which are trained again, and "leave_pair_out" is an error: only whole strata have a shortcut, because
        removing an item changes the weights of other pairs unevenly.
    scoring : str, measure or callable, default="pairwise_accuracy"
        A name that `kernelrank.metrics.get_measure` reads, such as "ndcg@10", or a function of
        ``(y_true, y_score, qid)`` for which higher is better. Pairs are scored by the pairwise accuracy, which is the
        AUC for two classes, by "disagreement", or by "magnitude_preserving_error", the mean squared error of the
        held-out differences of all pairs; errors have their sign changed. For
        censored times the pairwise accuracy stands for the concordance index.
    kernel : str, callable or kernel object, default="linear"
        As in `RankRLS`, or "auto": a linear, a Gaussian and a product Laplacian kernel are tried, the last two with
        1/9, 1/3, 1, 3 and 9 times the gamma of the median rule. Columns are standardised by ``metric="variance"``
        unless a metric is given. Gammas and metric depend on the items, not on y, and are those of all items in nested
        cross-validation; there the kernel is chosen again without each held-out set.
    gamma, degree, coef0, kernel_params, metric, cost, ties, query_weight, basis
        As in `RankRLS`.
    alpha_per_target : bool, default=False
        Whether each output has its own alpha; otherwise one is best for the mean over outputs.
    kernel_grid : dict or list of dict, optional
        Values of kernel parameters to try, such as ``{"gamma": [0.01, 0.1, 1.0]}``; one decomposition each.
    held_out_basis : {"remove", "keep"}, default="remove"
        Whether held-out basis items are removed from the basis, as in `holdout`.
    solver, tol, max_iter, missing, random_state
        As in `RankRLS`; the solver is used for the final training only. Folds of items use the random seed 0 unless
        another one is given.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    alpha_ : float, or ndarray of shape (n_outputs,) if `alpha_per_target`
        The alpha that was chosen.
    alphas_ : ndarray
        The alphas that were tried, in ascending order; those of the kernel that was chosen, if there were several. All
        are in ``cv_results_["param_alpha"]``.
    best_score_ : float
        Its hold-out score.
    best_params_ : dict
        Alpha and the kernel parameters that were chosen.
    cv_results_ : dict
        Every candidate with its score, as in scikit-learn's `GridSearchCV`. The standard deviation is over queries,
        items or folds; for pairs, which overlap, it is NaN.
    holdout_scores_ : ndarray of shape (m,) or (m, n_outputs), or None
        The score of each item by the model that did not see it; NaN for an item that no fold tests, None for pairs.
    coef_, dual_coef_, X_fit_, basis_, kernel_, gamma_, solver_, n_iter_, n_queries_, n_idle_queries_, n_pairs_, \
n_features_in_
        As in `RankRLS`.

    Warns
    -----
    EdgeOfGridWarning
        If the best alpha is the smallest or the largest, and better than all between them; with ``alphas="auto"`` only
        if the grid was extended as far as it goes. Also if the best gamma of ``kernel="auto"`` is.

    Notes
    -----
    One decomposition for each kernel (up to 8,000 items, distances are computed once for all gammas): O(m n² + n³) time
    for n ≤ m linear features, O(m³) for a kernel. For each alpha then O(m q s + m q²) with queries of q items, or O(m²
    s) with all pairs, where s is the size of the decomposition. Finally one training. The scale of ``alphas="auto"``
    takes O(m n), or one kernel for each pair of a query; an extension goes on from the same decomposition.

    Examples
    --------
    >>> from kernelrank import RankRLSCV, make_ranking
    >>> X, y, qid = make_ranking(n_queries=30, random_state=0)
    >>> model = RankRLSCV(alphas=[0.01, 1.0, 100.0, 1e4, 1e6]).fit(X, y, qid=qid)
    >>> model.alpha_ in (0.01, 1.0, 100.0, 1e4, 1e6), model.holdout_scores_.shape == y.shape
    (True, True)
    """

    __metadata_request__fit: ClassVar = {"qid": True, "event": True, "entry": True}
    __metadata_request__score: ClassVar = {"qid": True, "event": True}
    _takes_events = True
    _plain = RankRLS
    _without_queries = "leave_pair_out"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RankRLS._parameter_constraints,
        **AlphaSearch._search_constraints,
    }

    def __init__(
        self,
        alphas: Any = AUTO,
        *,
        cv: Any = "auto",
        scoring: Any = "pairwise_accuracy",
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        metric: MetricLike = None,
        cost: CostOption = "auto",
        ties: Ties = "include",
        query_weight: QueryWeight = "pairs",
        basis: int | Sequence[int] | None = None,
        alpha_per_target: bool = False,
        kernel_grid: KernelGrid = None,
        held_out_basis: str = "remove",
        solver: str = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        missing: str = "error",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            alphas,
            cv=cv,
            scoring=scoring,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            metric=metric,
            basis=basis,
            alpha_per_target=alpha_per_target,
            kernel_grid=kernel_grid,
            held_out_basis=held_out_basis,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            missing=missing,
            random_state=random_state,
            verbose=verbose,
        )
        self.cost: CostOption = cost
        self.ties: Ties = ties
        self.query_weight: QueryWeight = query_weight

    def fit(
        self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, event: Any = None, entry: Any = None
    ) -> Self:
        """Choose alpha by cross-validation, and fit with it.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
            The items.
        y : array-like, shape (m,) or (m, n_outputs)
            Their scores, or times.
        qid : sequence, shape (m,), optional
            The query of each item; the stratum, if there are censored times.
        sample_weight : array-like, shape (m,), optional
            Item weights, for training; all held-out items count the same.
        event : array-like of bool, or of 0 and 1, shape (m,), optional
            Whether the event, such as death, happened at the time in y. Otherwise the time is censored: the
            item is only known to last longer. y may also be a structured array of events and
            times, or a data frame with both as columns. Two columns of a plain array are two outputs.
        entry : array-like, shape (m,), optional
            When each item came under observation (left truncation): an event is compared with those who had entered
            before it. At most twice the time of a fit without; leaving items out refits, or takes whole strata.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from kernelrank import RankRLSCV
        >>> rng = np.random.default_rng(0)
        >>> X, followed = rng.standard_normal((60, 3)), rng.exponential(2.0, 60)
        >>> time = np.exp(X[:, 0]) * rng.exponential(1.0, 60)
        >>> model = RankRLSCV().fit(X, np.minimum(time, followed), event=time <= followed)
        >>> model.best_score_ > 0.6, int(np.argmax(np.abs(model.coef_)))
        (True, 0)
        """
        super().fit(X, scores_or_times(y, event, entry), qid=qid, sample_weight=sample_weight)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit_pairs(self, X: Any, pairs: Any, *, magnitude: Any = None, weight: Any = None, groups: Any = None) -> Self:
        """Choose alpha by exact cross-validation over preferences, and fit to all of them.

        Alpha maximises the weighted share of preferences that held-out differences agree with; preferences of
        magnitude zero are left out. `cv` and `scoring` are not used, and must have their default values.

        Parameters
        ----------
        X, pairs, magnitude, weight
            As in `RankRLS.fit_pairs`.
        groups : sequence, shape (l,), optional
            One label for each preference, such as its judge or day: all of a group are held out together. Each
            preference is held out alone unless given.

        Returns
        -------
        self
            `holdout_scores_` is None; `leave_preferences_out` gives the held-out differences. ``alphas="auto"`` is
            relative to the mean eigenvalue of ``Φᵀ L Φ`` for these preferences.

        Notes
        -----
        One decomposition for each kernel, then as `leave_preferences_out` for each alpha; finally one training.

        Examples
        --------
        >>> from kernelrank import RankRLSCV, make_preferences
        >>> X, pairs = make_preferences(n_items=50, n_pairs=300, random_state=0)
        >>> model = RankRLSCV(alphas=[0.1, 1.0, 10.0]).fit_pairs(X, pairs)
        >>> model.alpha_ in (0.1, 1.0, 10.0), 0.5 < model.best_score_ < 1.0
        (True, True)
        """
        check_search(self.cv, self.scoring)
        X = self._check_items(X, reset=True)
        graph = self._compare_pairs(X, pairs, magnitude, weight)
        given = {
            "magnitude": check_pair_values(magnitude, graph.n_pairs, name="magnitude"),
            "weight": check_pair_values(weight, graph.n_pairs, name="weight"),
        }
        check_groups(groups, graph.n_pairs)
        self._search_pairs(X, graph, groups, {name: value for name, value in given.items() if value is not None})
        graphs = [(np.zeros(1, dtype=np.int64), graph)]
        return self._fit(X, graphs, self._progress(X), one_output=True, alpha=self.alpha_)

    @one_warning("held-out scores")
    def _search_pairs(self, X: Matrix, graph: PreferenceGraph, groups: Any, given: dict[str, Float]) -> None:
        """Hold preferences out for every kernel, and keep the best candidate."""
        settings = self._settings(X)
        tried = self._given_alphas(len(settings))
        candidates, learners = Candidates(settings, per_target=False), []
        shown = settings if len(settings) == 1 else track(settings, len(settings), "searching", noun="kernels")
        for number, setting in enumerate(shown):
            learner = self._learner(setting)._settled(X)
            measure = PreferenceMeasure.of(learner, X, graph, groups, given)
            grid = AlphaGrid.around(measure.scale) if tried is None else AlphaGrid.given(tried[number])
            candidates.search(grid, measure)
            learners.append(learner)
            del measure  # the decomposition of one kernel at a time
        self._keep_search(X, candidates, learners)
        self.holdout_scores_ = None
        candidates.warn_at_edge(gammas=self._chooses_kernel)


# RLS CV ---------------------------------------------------------------------------------------------------------------
#
# RLSCV: regularised least squares that chooses its alpha by an exact hold-out.


class RLSCV(AlphaSearch, Regressor):
    """RLS with alpha and kernel parameters chosen by exact cross-validation.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of alpha to try, as in `RankRLSCV`. The scale of "auto" is the mean eigenvalue of the kernel matrix,
        which is not centred: there is no intercept.
    cv : {"auto", "leave_one_out", "leave_pair_out", "leave_query_out"}, int, splitter or iterable, default="auto"
        What is held out. "auto" holds out every query if qid has two or more, else every item. A number makes as many
        folds of queries, or of shuffled items without qid.
    scoring : str, measure or callable, optional
        A name that `kernelrank.metrics.get_measure` reads, or a function of ``(y_true, y_score, qid)`` for which higher
        is better. Unless given, minus the mean squared error.
    kernel, gamma, degree, coef0, kernel_params, metric, basis, solver, tol, max_iter, missing, random_state
        As in `RLS`; ``kernel="auto"`` as in `RankRLSCV`.
    alpha_per_target, kernel_grid, held_out_basis
        As in `RankRLSCV`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    alpha_, alphas_, best_score_, best_params_, cv_results_, holdout_scores_
        As in `RankRLSCV`.
    coef_, dual_coef_, X_fit_, basis_, kernel_, gamma_, solver_, n_iter_, n_features_in_
        As in `RLS`.

    Notes
    -----
    Time and memory as `RankRLSCV`; every item held out takes O(m s) for each alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RLSCV
    >>> X = np.arange(20.0)[:, None]
    >>> model = RLSCV(alphas=[1e-4, 0.01, 1.0, 100.0], cv=5).fit(X, 2 * X[:, 0] + np.sin(9 * X[:, 0]))
    >>> model.alpha_, model.predict([[30.0]]).round(1)
    (1.0, array([60.1]))
    """

    _plain = RLS
    _without_queries = "leave_one_out"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RLS._parameter_constraints,
        **AlphaSearch._search_constraints,
    }

    def _loss(self) -> ItemLoss:
        return _squared_error


def _squared_error(truth: Float, score: Float) -> Float:
    return (truth - score) ** 2


# RLS classifier CV ----------------------------------------------------------------------------------------------------
#
# RLSClassifierCV: a least-squares classifier that chooses its alpha by an exact hold-out.


class RLSClassifierCV(AlphaSearch, Classifier):
    """RLSClassifier with alpha and kernel parameters chosen by exact cross-validation.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of alpha to try, as in `RLSCV`. All classes share the one that is chosen.
    cv : {"auto", "leave_one_out", "leave_pair_out", "leave_query_out"}, int, splitter or iterable, default="auto"
        What is held out. "auto" holds out every query if qid has two or more, else every item. A number makes as many
        folds of queries, or of shuffled items without qid, in which the classes have the same shares.
    scoring : str, measure or callable, optional
        Unless given, minus the share of items in the wrong class. Else a name that `kernelrank.metrics.get_measure`
        reads, such as "auc", or a function of ``(y_true, y_score, qid)`` for which higher is better. There y_true is 1
        for a class and -1 for the others; with more than two classes the mean over the classes counts.
    kernel, gamma, degree, coef0, kernel_params, metric, basis, solver, tol, max_iter, random_state
        As in `RLSClassifier`; ``kernel="auto"`` as in `RankRLSCV`.
    kernel_grid, held_out_basis
        As in `RankRLSCV`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    alpha_, alphas_, best_score_, best_params_, cv_results_
        As in `RankRLSCV`.
    holdout_scores_ : ndarray, shape (m,) or (m, k), or None
        The decision function of each item by the model trained without it; None for pairs.
    classes_, coef_, dual_coef_, X_fit_, basis_, kernel_, gamma_, solver_, n_iter_, n_features_in_
        As in `RLSClassifier`.

    Notes
    -----
    Time and memory as `RankRLSCV`; every item held out takes O(m s) for each alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RLSClassifierCV
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", np.where(X[:, 0] < -0.5, "low", "middle"))
    >>> model = RLSClassifierCV(kernel="rbf", gamma=0.5).fit(X, y)
    >>> bool(model.best_score_ > -0.1), model.predict([[1.5, 0.0]]).tolist()
    (True, ['high'])
    """

    _plain = RLSClassifier
    _without_queries = "leave_one_out"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RLSClassifier._parameter_constraints,
        **{name: rule for name, rule in AlphaSearch._search_constraints.items() if name != "alpha_per_target"},
    }

    def __init__(
        self,
        alphas: Any = AUTO,
        *,
        cv: Any = "auto",
        scoring: Any = None,
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        metric: MetricLike = None,
        basis: int | Sequence[int] | None = None,
        kernel_grid: KernelGrid = None,
        held_out_basis: str = "remove",
        solver: str = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.metric = metric
        self.basis = basis
        self.kernel_grid = kernel_grid
        self.held_out_basis = held_out_basis
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> ItemLoss:
        return _wrong_class


def _wrong_class(truth: Float, score: Float) -> Float:
    """Return 1 for each item in the wrong class; both (items, outputs)."""
    if truth.shape[1] == 1:
        return np.asarray((score[:, 0] > 0) != (truth[:, 0] > 0), dtype=np.float64)
    return np.asarray(score.argmax(axis=1) != truth.argmax(axis=1), dtype=np.float64)


# Co rank RLS CV -------------------------------------------------------------------------------------------------------
#
# CoRankRLSCV: CoRankRLS that chooses alpha and nu by cross-validation over the scored queries.
#
# Held-out queries and their basis items are removed; the unscored queries stay in every fold. With
# ``f_v = Φ_v w_v``, a fold without some basis items is the same problem in the features ``Φ_v Q_v`` (see
# `ViewMap.without`), where the agreement matrix of the unscored items is ``Q_vᵀ G_vu Q_u``. So the unscored items are
# read once, whatever the number of folds, and one decomposition of each fold and nu serves every alpha.

NUS = (0.0, *(10.0**exponent for exponent in range(-4, 3)))
"""The values of nu that are tried unless others are given: 0, and 10⁻⁴ to 10²."""


class CoRankRLSCV(ViewRanker):
    """CoRankRLS with alpha and nu chosen by exact cross-validation over scored queries.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of alpha to try. "auto" tries 2⁻²⁵, 2⁻²⁴, ..., 2¹⁰ times the scale of the problem, as in `RankRLSCV`,
        all at once: a further alpha costs little here.
    nus : array-like of float, default=0, 10⁻⁴, 10⁻³, ..., 10²
        The values of nu to try. Include zero, which is best if the unscored items do not help.
    cv : {"leave_query_out"}, int, splitter or iterable, default=5
        What is held out of the scored items: every query, or as many folds of queries. Without qid, folds of items. A
        fold that leaves nothing to compare predicts zero.
    scoring : str, measure or callable, default="pairwise_accuracy"
        As in `RankRLSCV`.
    views, basis, kernel, gamma, degree, coef0, kernel_params, cost, ties, query_weight, random_state
        As in `CoRankRLS`. Basis items that are held out are removed with their query.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    alpha_, nu_ : float
        The values that were chosen.
    alphas_ : ndarray
        The alphas that were tried, in ascending order.
    best_score_ : float
        Their hold-out score.
    best_params_ : dict
        ``{"alpha": alpha_, "nu": nu_}``.
    cv_results_ : dict
        Every candidate with its score, as in scikit-learn's `GridSearchCV`.
    holdout_scores_ : ndarray, shape (m,) or (m, n_outputs)
        The score of each scored item by the model that did not see its query; NaN for an item that no fold tests.
    dual_coef_, X_fit_, basis_, kernels_, columns_, disagreement_, n_views_, n_unscored_, n_unscored_queries_, ...
        As in `CoRankRLS`, for the alpha and nu that were chosen.

    Warns
    -----
    EdgeOfGridWarning
        If the best alpha is the smallest or the largest, and better than all others.

    Notes
    -----
    One pass over the unscored items, then for k folds and p values of nu ``k (m R² + p R³)`` time, with R basis items
    in all views together and m scored items; each alpha costs O(R² + m R) more. Memory R² numbers, and the held-out
    scores of all candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import CoRankRLSCV, make_ranking
    >>> X, y, qid = make_ranking(n_queries=40, n_items=10, n_features=6, noise=0.5, random_state=0)
    >>> y[qid >= 10] = np.nan
    >>> model = CoRankRLSCV(alphas=[0.01, 0.1, 1.0, 10.0], nus=[0.0, 0.1], basis=20, random_state=0)
    >>> model.fit(X, y, qid=qid).best_params_.keys(), len(model.cv_results_["params"])
    (dict_keys(['alpha', 'nu']), 8)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ViewRanker._parameter_constraints,
        "alphas": [StrOptions({AUTO}), "array-like"],
        "nus": ["array-like"],
        "cv": [StrOptions({"leave_query_out"}), "cv_object"],
        "scoring": [str, callable],
    }

    def __init__(
        self,
        alphas: Any = AUTO,
        nus: ArrayLike = NUS,
        *,
        cv: Any = 5,
        scoring: Any = "pairwise_accuracy",
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
        self.alphas = alphas
        self.nus = nus
        self.cv = cv
        self.scoring = scoring
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

    @fit_context(prefer_skip_nested_validation=True)
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
        """Choose alpha and nu by cross-validation, and fit with them.

        Parameters
        ----------
        X, y, qid, X_unscored, qid_unscored, sample_weight
            As in `CoRankRLS.fit`.

        Returns
        -------
        self
        """
        given, nus = None if is_auto(self.alphas) else AlphaGrid.given(self.alphas), _check_nus(self.nus)
        data = CoData.read(self, X, y, qid, X_unscored, qid_unscored, sample_weight)
        graphs = self._graphs(data)
        self._require_unscored(data, max(nus))
        progress = FitProgress(self, X, y)
        seed = 0 if self.random_state is None else self.random_state
        plan = HoldoutPlan.of(self.cv, data.X, data.scores, data.queries, default="leave_query_out", random_state=seed)
        assert plan.sets is not None
        views, bases = self._draw(data, graphs)
        agreement = self._agreement(data, views)
        grid = self._grid(data, views) if given is None else given
        held_out = self._held_out(data, plan.sets, views, bases, agreement, grid.alphas, nus)
        self._choose(data, plan, held_out, grid, nus)
        w = self._weights(data, graphs, views, agreement, [self.alpha_], self.nu_)[0]
        progress.done()
        return self._keep_views(data, graphs, views, bases, agreement, w, "cholesky")

    def _grid(self, data: CoData, views: list[ViewMap]) -> AlphaGrid:
        """Return the alphas to try: the whole range at once, for a further alpha costs less than a further fold."""
        queries = Queries.from_labels(None, len(data.scores)) if data.queries is None else data.queries
        parts = [JointRows([view], data.X) for view in views]
        scale = scale_of_columns(parts, duplicate_rows(data.X), self._unlabelled(queries, data.weight))
        return AlphaGrid.around(scale, whole=True)

    @one_warning("held-out scores")
    def _held_out(
        self,
        data: CoData,
        sets: ItemSets,
        views: list[ViewMap],
        bases: list[Index | None],
        agreement: Agreement,
        alphas: Float,
        nus: list[float],
    ) -> Float:
        """Return the scores of the items in all sets, shape (nus, total, outputs, alphas)."""
        n_outputs = data.scores.shape[1]
        scores = np.empty((len(nus), len(sets.items), n_outputs, len(alphas)))
        m = len(data.scores)
        with closing(track(range(len(sets)), len(sets), "folds")) as bar:
            for number in bar:
                places = slice(int(sets.bounds[number]), int(sets.bounds[number + 1]))
                held = sets.items[places]
                kept = np.setdiff1d(np.arange(m), held)
                graphs = self._graphs(data, kept)
                turns = [_turn(view, basis, data.places[held]) for view, basis in zip(views, bases, strict=True)]
                W = _fold_weights(data, kept, graphs, views, agreement, turns, alphas, nus)
                for rows in blocks(len(held), 8 * len(agreement.gram), 2**24):
                    Phi = JointRows(views, data.X[held[rows]])[:]
                    found = (Phi @ W).reshape(len(Phi), len(nus), n_outputs, len(alphas))
                    scores[:, places.start + rows.start : places.start + rows.stop] = found.transpose(1, 0, 2, 3)
        return scores

    def _choose(self, data: CoData, plan: HoldoutPlan, held_out: Float, grid: AlphaGrid, nus: list[float]) -> None:
        """Measure every candidate, and keep the best."""
        scoring = read_scoring(self.scoring)
        judge = HoldoutScoring(plan, scoring, data.scores, data.queries)
        candidates = Candidates([{"nu": nu} for nu in nus], per_target=False)
        for scores in held_out:
            candidates.add(grid, judged(plan, judge, scores))
        self.alpha_ = float(candidates.alpha)
        self.alphas_ = candidates.alphas
        self.nu_ = float(candidates.setting["nu"])
        self.best_score_ = candidates.score
        self.best_params_ = {"alpha": self.alpha_, "nu": self.nu_}
        self.cv_results_ = candidates.table()
        assert candidates.held_out is not None
        best = plan.item_scores(candidates.held_out, len(data.scores))
        self.holdout_scores_ = best[:, 0] if data.one_output else best
        candidates.warn_at_edge()


def _turn(view: ViewMap, basis: Index | None, held: Index) -> Float:
    """Return the features of the basis without the items held out; basis items that a view has brought stay."""
    gone = np.zeros(0, dtype=np.int64) if basis is None else np.flatnonzero(np.isin(basis, held))
    return view.without(gone)


def _fold_weights(
    data: CoData,
    kept: Index,
    graphs: list[OutputGraph],
    views: list[ViewMap],
    agreement: Agreement,
    turns: list[Float],
    alphas: Float,
    nus: list[float],
) -> Float:
    """Return the weights of the mean over views in one fold, shape (R, nus · outputs · alphas)."""
    turned = agreement.turned(turns)
    W = np.empty((len(agreement.gram), len(nus), data.scores.shape[1], len(alphas)))
    X = data.X[kept]
    for columns, graph in graphs:
        plain = co_equations(X, graph, views, turned, 0.0, turns)
        for number, nu in enumerate(nus):
            values, vectors = spectrum(plain.A + turned.penalty(nu), plain.rounding)
            rotated = vectors.T @ plain.b
            shrunk = rotated[:, :, None] / (values[:, None, None] + alphas)
            w = np.einsum("ij,joa->ioa", vectors, shrunk, optimize=True)
            for a, alpha in enumerate(alphas):
                sums = plain.sums(w[:, :, a])
                report_error(float(alpha), spectral_error(values, rotated, float(alpha), primal=True, sums=sums))
            for view_turn, part, whole in zip(turns, turned.parts, agreement.parts, strict=True):
                W[whole, number, columns] = np.einsum("ij,joa->ioa", view_turn, w[part], optimize=True)
    return W.reshape(len(W), -1) / len(views)


def _check_nus(nus: ArrayLike) -> list[float]:
    """Return the values of nu as floats that are at least zero."""
    values = np.atleast_1d(np.asarray(nus, dtype=np.float64))
    if values.ndim != 1 or len(values) == 0 or not np.all(np.isfinite(values) & (values >= 0)):
        raise InvalidInputError(f"nus must be numbers that are at least zero, got {nus!r}")
    return [float(nu) for nu in values]

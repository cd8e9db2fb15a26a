"""RankRLSCV: RankRLS that chooses its alpha by an exact hold-out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context

from kernelrank.base.arrays import Float, Matrix
from kernelrank.base.progress import track
from kernelrank.base.validation import check_pair_values, scores_or_times
from kernelrank.comparisons import Preferences
from kernelrank.comparisons.costs import CostOption, Ties
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.estimators.base import whole_or_not_at_all
from kernelrank.estimators.posterior import PreferencePosterior
from kernelrank.estimators.rank_rls import RankRLS
from kernelrank.estimators.tasks import Ranker
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid
from kernelrank.model_selection.search import AlphaSearch, KernelGrid
from kernelrank.model_selection.search.candidates import Candidates
from kernelrank.model_selection.search.preference_search import PreferenceMeasure, check_groups, check_search
from kernelrank.solvers.precision import one_warning

__all__ = ["RankRLSCV"]


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
        AUC for two classes. For censored times it stands for the concordance index.
    kernel, gamma, degree, coef0, kernel_params, cost, ties, query_weight, basis
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
        if the grid was extended as far as it goes.

    Notes
    -----
    One decomposition for each kernel: O(m n² + n³) time for n ≤ m linear features, O(m³) for a kernel. For each alpha
    then O(m q s + m q²) with queries of q items, or O(m² s) with all pairs, where s is the size of the decomposition.
    Finally one training. The scale of ``alphas="auto"`` takes O(m n), or one kernel for each pair of a query; an
    extension goes on from the same decomposition.

    Examples
    --------
    >>> from kernelrank import RankRLSCV, make_ranking
    >>> X, y, qid = make_ranking(n_queries=30, random_state=0)
    >>> model = RankRLSCV(alphas=[0.01, 1.0, 100.0, 1e4, 1e6]).fit(X, y, qid=qid)
    >>> model.alpha_ in (0.01, 1.0, 100.0, 1e4, 1e6), model.holdout_scores_.shape == y.shape
    (True, True)
    """

    __metadata_request__fit: ClassVar = {"qid": True, "event": True}
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

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, event: Any = None) -> Self:
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
        super().fit(X, scores_or_times(y, event), qid=qid, sample_weight=sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
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
    def _search_pairs(self, X: Matrix, graph: Preferences, groups: Any, given: dict[str, Float]) -> None:
        """Hold preferences out for every kernel, and keep the best candidate."""
        settings = self._settings()
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
        candidates.warn_at_edge()

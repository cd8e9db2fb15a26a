"""MetricRankRLSCV: a metric that is learnt from gradients, judged and chosen on folds that it has not seen.

A metric weighs the columns of X (`kernelrank.kernels.metric_root`). Its weights become the mean squares of the gradient
of a fitted function (the diagonal of the average gradient outer product), and another round fits with them:

    ``∂f/∂x_c = 2 κ' s_c Σ_j a_j k(x, x_j) (x_c - x_jc)``   of the Gaussian kernel, ``κ' = -γ``,
    ``∂f/∂x_c = -γ t_c Σ_j a_j k(x, x_j) sign(x_c - x_jc)``  of the product Laplacian kernel, ``t_c² = s_c``.

A hold-out that is exact *given* a metric is not a hold-out if the labels that are held out have made the metric: on
noise its AUC was .998. So each fold u has a metric S[u] of its own, from the items outside u alone, by the same rounds;
scores of u come from the model of the items outside u with S[u]. Kernel, gamma, alpha and round are chosen by them, and
the model is then fitted to all items, with the metric that the same rounds made of all items. The best score is still
the maximum over candidates: an estimate to publish refits all of it, as `estimate_auc` and `leave_query_out` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier

from kernelrank.base.arrays import BLOCK_BYTES, Float, Index, Matrix, blocks, is_sparse
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import Interval, StrOptions, fit_context
from kernelrank.base.validation import scores_or_times
from kernelrank.comparisons.costs import CostOption, OutputGraph, Ties
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.estimators.base import KernelLearner, whole_or_not_at_all
from kernelrank.estimators.rank_rls import RankRLS
from kernelrank.estimators.rls import RLS, RLSClassifier
from kernelrank.estimators.tasks import Classifier, Ranker, Regressor
from kernelrank.exact_cv.problem import Problem, path_without
from kernelrank.features import Features, ReducedSet
from kernelrank.kernels import Kernel
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid, UnlabelledGraph, is_auto
from kernelrank.model_selection.search import (
    AlphaSearch,
    Candidates,
    HoldoutPlan,
    HoldoutScoring,
    auto_settings,
    judged,
    read_scoring,
)
from kernelrank.model_selection.searches import RLSCV, RankRLSCV, RLSClassifierCV
from kernelrank.solvers.precision import one_warning

LATER_GAMMAS = (1 / 3, 1.0, 3.0)
"""What a round multiplies the best gamma of the round before by."""


def gradients(kernel: Kernel, X: Matrix, items: Matrix, a: Float) -> Float:
    """Return the gradient of ``Σ_j a_j k(x, items_j)`` at each row of X, for a Gaussian or a product Laplacian kernel.

    O(t r n) time. Shapes: X (t, n), items (r, n), a (r,); returns (t, n).
    """
    W = kernel.matrix(X, items) * a
    Z, R = (part.toarray() if is_sparse(part) else part for part in (kernel.mapped(X), kernel.mapped(items)))
    root, gamma = kernel.fixed_root, kernel.gamma
    assert isinstance(gamma, float)
    if kernel.name == "laplacian":
        G = np.zeros(Z.shape)
        _add_signs(np.ascontiguousarray(Z, dtype=np.float64), np.ascontiguousarray(R, dtype=np.float64), W, G)
        G *= -gamma
    else:
        middle = R.mean(axis=0)  # differences of items far from the origin keep their digits
        G = -2.0 * gamma * (W.sum(axis=1)[:, None] * (Z - middle) - W @ (R - middle))
    return G if root is None else np.asarray(G * root)


@compiled
def _add_signs(Z: Float, R: Float, W: Float, G: Float) -> None:
    """Add ``Σ_j W_ij sign(Z_ic - R_jc)`` to G."""
    for i in range(Z.shape[0]):
        for j in range(R.shape[0]):
            w = W[i, j]
            for c in range(Z.shape[1]):
                G[i, c] += w if Z[i, c] > R[j, c] else (-w if Z[i, c] < R[j, c] else 0.0)


def metric_of_gradients(kernel: Kernel, features: Features, dual: Float, weight: Float, variances: Float) -> Float:
    """Return weights of the columns: the mean squares of the gradients at the items, in the scale of ``1 / variance``.

    O(m r n) time, in blocks. Shapes: dual (r, outputs), weight (m,), variances (n,); returns (n,).
    """
    X = features.items
    items = features.basis_items if isinstance(features, ReducedSet) else X
    squares = np.zeros(X.shape[1])
    for rows in blocks(X.shape[0], 8 * max(items.shape), BLOCK_BYTES):
        for a in dual.T:
            squares += weight[rows] @ gradients(kernel, X[rows], items, a) ** 2
    # The product Laplacian kernel takes the roots of the weights.
    power = 0.5 if kernel.name == "laplacian" else 1.0
    total = float(((squares * variances) ** power).sum())
    if not total > 0:
        assert kernel.fixed_root is not None
        return np.square(kernel.fixed_root)  # a model that is constant says nothing of the columns
    return np.asarray(squares * (np.count_nonzero(variances) / total) ** (1.0 / power))


@dataclass(frozen=True)
class _Tried:
    """A kernel of some round, with its best alpha.

    Shapes: folds (folds,), scores (total, outputs), metric (n,).

    fits: The features and the coefficients of the best alpha without each fold, for each graph.
    """

    number: int
    setting: dict[str, Any]
    alpha: float
    score: float
    folds: Float
    scores: Float
    metric: Float
    fits: list[list[tuple[Features, Float]]]

    def beats(self, other: _Tried) -> bool:
        """Whether this one is better by more than the standard error of their difference over folds."""
        differences = self.folds - other.folds
        differences = differences[~np.isnan(differences)]
        if len(differences) < 2:
            return False
        return bool(differences.mean() > differences.std(ddof=1) / np.sqrt(len(differences)))


def _score(tried: _Tried) -> float:
    return tried.score


class MetricSearch(KernelLearner):
    """What the learners of a metric share. Nothing here has a shortcut: whatever holds out refits all of it."""

    _plain: ClassVar[type[KernelLearner]]
    _search_class: ClassVar[type[AlphaSearch]]

    _search_constraints: ClassVar[dict[str, list[Any]]] = {
        "alphas": [StrOptions({AUTO}), "array-like"],
        "rounds": [Interval(Integral, 0, None, closed="left")],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
    }

    kernel = "rbf"  # of the parameters: the one that is chosen is `kernel_`
    gamma = None
    degree = 3
    coef0 = 1.0
    kernel_params = None

    alphas: Any
    rounds: int
    cv: Any
    scoring: Any

    def __init__(
        self,
        alphas: Any = AUTO,
        *,
        rounds: int = 2,
        cv: Any = 5,
        scoring: Any = None,
        basis: int | Sequence[int] | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alphas = alphas
        self.rounds = rounds
        self.cv = cv
        self.scoring = scoring
        self.basis = basis
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Learn a metric by cross-fitting, choose kernel, gamma and alpha, and fit with them.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features)
            The items.
        y : array-like, shape (m,) or (m, n_outputs)
            Their scores, or for a classifier their classes.
        qid : sequence, shape (m,), optional
            The query of each item; folds are then of whole queries.
        sample_weight : array-like, shape (m,), optional
            Item weights, for training; all held-out items count the same.

        Returns
        -------
        self
        """
        X = self._check_items(X, reset=True)
        graphs, one_output = self._compare(X, y, qid, sample_weight)
        self._search(X, y, qid, graphs, one_output=one_output)
        return self._fit(X, graphs, self._progress(X, y), one_output=one_output, alpha=self.alpha_)

    def _learner(self, kernel: Kernel) -> KernelLearner:
        """Return the plain learner with a kernel."""
        names = set(self._plain().get_params()) & set(self.get_params(deep=False)) - {"verbose"}
        learner = self._plain(**{name: getattr(self, name) for name in names})
        learner.kernel_ = kernel
        return learner

    @one_warning("held-out scores")
    def _search(self, X: Matrix, y: Any, qid: Any, graphs: list[OutputGraph], *, one_output: bool) -> None:
        """Try every kernel in every round, and keep the best."""
        every = Queries.from_labels(qid, X.shape[0])
        queries, event, classes = None if qid is None else every, graphs[0][1].event, is_classifier(self)
        seed = 0 if self.random_state is None else self.random_state
        plan = HoldoutPlan.of(self.cv, X, y, queries, default=5, classes=classes, random_state=seed)
        scoring = None if self.scoring is None else read_scoring(self.scoring, censored=event is not None)
        truth = np.empty((X.shape[0], sum(len(columns) for columns, _ in graphs)))
        for columns, graph in graphs:
            truth[:, columns] = np.where(graph.weight[:, None] > 0, graph.scores, np.nan)
        loss = self._search_class()._loss()
        judge = HoldoutScoring(plan, scoring, truth, queries, loss, joint=classes, event=event)
        weight = np.max([np.asarray(graph.weight) for _, graph in graphs], axis=0)
        search = _Rounds(self, X, graphs, plan, judge, self._unlabelled(every, weight), seed)
        best = search.best(self.rounds)
        self.alpha_ = best.alpha
        self.alphas_ = np.unique(search.candidates.grids[best.number].alphas)
        self.round_ = int(best.setting["round"])
        self.metric_ = best.metric
        self.best_score_ = best.score
        self.best_params_ = {"alpha": best.alpha, **best.setting}
        self.kernel_ = search.kernel(best.setting, best.metric)
        self.cv_results_ = search.candidates.table()
        scores = plan.item_scores(best.scores, X.shape[0])
        self.holdout_scores_ = scores[:, 0] if one_output else scores


class _Rounds:
    """The rounds of a search, see the head of this file."""

    def __init__(
        self,
        search: MetricSearch,
        X: Matrix,
        graphs: list[OutputGraph],
        plan: HoldoutPlan,
        judge: HoldoutScoring,
        unlabelled: UnlabelledGraph,
        seed: Any,
    ) -> None:
        self.search, self.X, self.graphs = search, X, graphs
        self.plan, self.judge, self.unlabelled = plan, judge, unlabelled
        self.basis = None if search.basis is None else search._draw_basis(X.shape[0])
        self.start = Kernel("linear", root="variance").fixed(X)
        root = self.start.fixed_root
        assert root is not None
        assert plan.sets is not None
        self.standard: Float = root**2
        self.variances: Float = np.divide(1.0, root**2, out=np.zeros(len(root)), where=root > 0)
        self.folds = list(plan.sets)
        self.settings = auto_settings(self.start, X, seed)
        self.candidates = Candidates([], per_target=False)

    def kernel(self, setting: dict[str, Any], metric: Float) -> Kernel:
        """Return the kernel of a setting with a metric."""
        return Kernel(setting["kernel"], setting.get("gamma"), root=np.sqrt(metric)).fixed(self.X)

    def best(self, rounds: int) -> _Tried:
        """Return the best of the first round, or that of a later one if it is better beyond its standard error."""
        first: list[_Tried] = []
        later: list[_Tried] = []
        for name in ("linear", "rbf", "laplacian"):
            metrics = [self.standard] * (len(self.folds) + 1)
            settings = [one for one in self.settings if one["kernel"] == name]
            for number in range(1 if name == "linear" else rounds + 1):
                shown = track(settings, len(settings), f"round {number}, {name}", noun="kernels")
                tried = [self._try({**one, "round": number}, metrics) for one in shown]
                best = max(tried, key=_score)
                (later if number else first).append(best)
                if name != "linear" and number < rounds:
                    metrics = self._metrics(best, metrics)
                    settings = [{"kernel": name, "gamma": best.setting["gamma"] * factor} for factor in LATER_GAMMAS]
        start: _Tried = max(first, key=_score)
        found: _Tried = max(later, key=_score, default=start)
        return found if found.beats(start) else start

    def _features(self, kernel: Kernel) -> Features:
        learner = self.search._learner(kernel)
        if self.basis is not None:
            learner.basis = self.basis
        return learner._features(self.X)

    def _try(self, setting: dict[str, Any], metrics: list[Float]) -> _Tried:
        """Score every fold with its own metric, for all alphas."""
        grid = self._grid(setting)
        n_outputs = self.judge.truth.shape[1]
        scores = np.empty((sum(map(len, self.folds)), n_outputs, len(grid.alphas)))
        fits: list[list[tuple[Features, Float]]] = []
        start = 0
        for held, metric in zip(self.folds, metrics, strict=False):
            features, own = self._features(self.kernel(setting, metric)), []
            for columns, graph in self.graphs:
                rest, rows, path = path_without(Problem(features, graph), held, grid.alphas)
                own_scores = rest.features.predict(rows, path.reshape(len(path), -1))
                scores[start : start + len(held), columns] = own_scores.reshape(len(held), *path.shape[1:])
                own.append((rest.features, path))
            fits.append(own)
            start += len(held)
        found = judged(self.plan, self.judge, scores)
        values = found.mean.mean(axis=0)
        place = int(values.argmax())
        self.candidates.settings.append(setting)
        self.candidates.add(grid, found)
        assert found.splits is not None
        return _Tried(
            len(self.candidates.settings) - 1,
            setting,
            float(grid.alphas[place]),
            float(values[place]),
            found.splits[:, :, place].mean(axis=1),
            scores[:, :, place],
            metrics[-1],
            [[(features, path[:, :, place].copy()) for features, path in own] for own in fits],
        )

    def _grid(self, setting: dict[str, Any]) -> AlphaGrid:
        """Return the alphas of a kernel: without labels, so that of the metric of the first round."""
        if not is_auto(self.search.alphas):
            return AlphaGrid.given(self.search.alphas)
        features = self._features(self.kernel(setting, self.standard))
        return AlphaGrid.of(AUTO, features, self.unlabelled, whole=True)

    def _metrics(self, best: _Tried, metrics: list[Float]) -> list[Float]:
        """Return the metrics of the next round: without each fold, and of all items."""
        kernels = [self.kernel(best.setting, metric) for metric in metrics]
        nothing: Index = np.zeros(0, dtype=np.int64)
        features, alone = self._features(kernels[-1]), np.array([best.alpha])
        whole = [path_without(Problem(features, graph), nothing, alone) for _, graph in self.graphs]
        fits = [*best.fits, [(rest.features, path[:, :, 0]) for rest, _, path in whole]]
        return [
            self._metric(kernel, own, np.delete(np.arange(self.X.shape[0]), held))
            for kernel, own, held in zip(kernels, fits, [*self.folds, nothing], strict=True)
        ]

    def _metric(self, kernel: Kernel, fits: list[tuple[Features, Float]], kept: Index) -> Float:
        """Return the mean over graphs, that is of outputs, of the metric of their gradients."""
        found = [
            metric_of_gradients(kernel, features, dual, np.asarray(graph.weight)[kept], self.variances)
            for (features, dual), (_, graph) in zip(fits, self.graphs, strict=True)
        ]
        return np.asarray(np.mean(found, axis=0))


class MetricRankRLSCV(MetricSearch, Ranker):
    """RankRLS with a kernel and weights of the columns that are learnt from gradients, by cross-fitting.

    Each fold is scored by a metric that was learnt without it, so that the choice of kernel, gamma, alpha and round is
    honest. A metric is kept only if it is better than standardised columns by more than the standard error of their
    difference over folds.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of alpha to try with every kernel and round; "auto" tries 2⁻²⁵, ..., 2¹⁰ times the scale of the
        problem, as in `RankRLSCV`.
    rounds : int, default=2
        How often the metric is learnt again. Zero tries kernels of standardised columns only.
    cv : int, splitter or iterable, default=5
        The folds: of whole queries with qid, of shuffled items without.
    scoring : str, measure or callable, default="pairwise_accuracy"
        As in `RankRLSCV`; values are averaged inside of each fold, and then over folds.
    cost, ties, query_weight, basis, missing, random_state
        As in `RankRLS`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    metric_ : ndarray, shape (n_features,)
        The weights of the columns that the model uses, from all items. They say where the function is steep for these
        items, and are no measure of importance: `permutation_importance` measures that.
    round_ : int
        The round that was chosen; zero if the columns are only standardised.
    best_score_ : float
        Its cross-fitted score: a maximum over candidates. For an estimate to publish, `estimate_auc` and
        `leave_query_out` refit all of this without what they hold out.
    best_params_ : dict
        Alpha, kernel, gamma and round.
    cv_results_ : dict
        Every candidate with its score, by round.
    holdout_scores_ : ndarray, shape (m,) or (m, n_outputs)
        The score of each item by the model and metric that did not see its fold.
    alpha_, alphas_, coef_, dual_coef_, X_fit_, basis_, kernel_, gamma_, solver_, n_iter_, n_queries_, \
n_idle_queries_, n_pairs_, n_features_in_
        As in `RankRLSCV`.

    Notes
    -----
    One decomposition for each of k folds and each of 11 kernels, 6 more in each later round; an update of a metric
    takes O(m r n) time with r items or basis items. There is no shortcut for hold-outs.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import MetricRankRLSCV
    >>> X = np.random.default_rng(0).standard_normal((120, 12))
    >>> model = MetricRankRLSCV().fit(X, np.sin(2 * X[:, 0]) * X[:, 1])
    >>> model.round_ > 0, sorted(np.argsort(-model.metric_)[:2].tolist())
    (True, [0, 1])
    """

    __metadata_request__fit: ClassVar = {"qid": True, "event": True}
    __metadata_request__score: ClassVar = {"qid": True, "event": True}
    _takes_events = True
    _plain = RankRLS
    _search_class = RankRLSCV
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RankRLS._parameter_constraints,
        **MetricSearch._search_constraints,
    }

    def __init__(
        self,
        alphas: Any = AUTO,
        *,
        rounds: int = 2,
        cv: Any = 5,
        scoring: Any = "pairwise_accuracy",
        cost: CostOption = "auto",
        ties: Ties = "include",
        query_weight: QueryWeight = "pairs",
        basis: int | Sequence[int] | None = None,
        missing: str = "error",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            alphas, rounds=rounds, cv=cv, scoring=scoring, basis=basis, random_state=random_state, verbose=verbose
        )
        self.cost: CostOption = cost
        self.ties: Ties = ties
        self.query_weight: QueryWeight = query_weight
        self.missing = missing

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, event: Any = None) -> Self:
        """Learn a metric by cross-fitting, choose kernel, gamma and alpha, and fit with them.

        Parameters
        ----------
        X, y, qid, sample_weight, event
            As in `RankRLSCV.fit`; a precomputed kernel is not possible.

        Returns
        -------
        self
        """
        super().fit(X, scores_or_times(y, event), qid=qid, sample_weight=sample_weight)
        return self


class MetricRLSCV(MetricSearch, Regressor):
    """RLS with a kernel and weights of the columns that are learnt from gradients, by cross-fitting.

    Parameters
    ----------
    alphas, rounds, cv
        As in `MetricRankRLSCV`.
    scoring : str, measure or callable, optional
        Unless given, minus the mean squared error.
    basis, random_state
        As in `RLS`. There is no intercept: subtract the mean of y.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    metric_, round_, best_score_, best_params_, cv_results_, holdout_scores_, alpha_, alphas_
        As in `MetricRankRLSCV`.
    coef_, dual_coef_, X_fit_, basis_, kernel_, gamma_, solver_, n_iter_, n_features_in_
        As in `RLS`.
    """

    _plain = RLS
    _search_class = RLSCV
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RLS._parameter_constraints,
        **MetricSearch._search_constraints,
    }


class MetricRLSClassifierCV(MetricSearch, Classifier):
    """RLSClassifier with a kernel and weights of the columns that are learnt from gradients, by cross-fitting.

    Parameters
    ----------
    alphas, rounds, cv
        As in `MetricRankRLSCV`; folds of items are stratified.
    scoring : str, measure or callable, optional
        Unless given, minus the share of items in the wrong class; else as in `RLSClassifierCV`.
    basis, random_state
        As in `RLSClassifier`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    metric_, round_, best_score_, best_params_, cv_results_, holdout_scores_, alpha_, alphas_
        As in `MetricRankRLSCV`.
    classes_, coef_, dual_coef_, X_fit_, basis_, kernel_, gamma_, solver_, n_iter_, n_features_in_
        As in `RLSClassifier`.
    """

    _plain = RLSClassifier
    _search_class = RLSClassifierCV
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RLSClassifier._parameter_constraints,
        **MetricSearch._search_constraints,
    }

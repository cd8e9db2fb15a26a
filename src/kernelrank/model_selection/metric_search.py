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

Of many items the rounds take a sample. Its kernel and metric then serve all items: half of the items outside the sample
are held out, and a basis of the others is doubled while their score rises. They have no part in the metric, so that
their score is a held-out one, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import check_random_state

from kernelrank.base.arrays import BLOCK_BYTES, Float, Index, Matrix, blocks, is_sparse
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import Interval, StrOptions, fit_context
from kernelrank.base.validation import check_pair_values, scores_or_times
from kernelrank.comparisons.costs import CostOption, OutputGraph, Ties
from kernelrank.comparisons.preferences import PreferenceGraph
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner, whole_or_not_at_all
from kernelrank.estimators.rank_rls import RankRLS
from kernelrank.estimators.rls import RLS, RLSClassifier
from kernelrank.estimators.tasks import Classifier, Ranker, Regressor
from kernelrank.exact_cv.problem import Problem, path_without, trained_path
from kernelrank.features import Features, ReducedSet
from kernelrank.features.kernels import basis_stream, choose_basis
from kernelrank.kernels import Kernel
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid, UnlabelledGraph, is_auto, mean_eigenvalue
from kernelrank.model_selection.preferences import check_groups
from kernelrank.model_selection.search import (
    AlphaSearch,
    Candidates,
    HoldoutPlan,
    HoldoutScoring,
    Measured,
    auto_settings,
    first_of_best,
    judged,
    read_scoring,
)
from kernelrank.model_selection.searches import RLSCV, RankRLSCV, RLSClassifierCV
from kernelrank.solvers.precision import one_warning

LATER_GAMMAS = (1 / 3, 1.0, 3.0)
"""What a round multiplies the best gamma of the round before by."""

BASES = (500, 1000, 2000, 4000)
"""How many basis items are tried where the rounds have taken a sample."""

MOST_HELD_OUT = 5000
"""At most so many items judge a basis."""


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
    fits: list[list[_Fit]]

    def beats(self, other: _Tried) -> bool:
        """Whether this one is better by more than the standard error of their difference over folds."""
        differences = self.folds - other.folds
        differences = differences[~np.isnan(differences)]
        if len(differences) < 2:
            return False
        return bool(differences.mean() > differences.std(ddof=1) / np.sqrt(len(differences)))


_Fit: TypeAlias = tuple[Features, Float]
"""The features of a fit, and its coefficients (r, outputs)."""


def _score(tried: _Tried) -> float:
    return tried.score


class MetricSearch(KernelLearner):
    """What the learners of a metric share. Nothing here has a shortcut: whatever holds out refits all of it."""

    _plain: ClassVar[type[KernelLearner]]
    _search_class: ClassVar[type[AlphaSearch]]

    _search_constraints: ClassVar[dict[str, list[Any]]] = {
        "alphas": [StrOptions({AUTO}), "array-like"],
        "rounds": [Interval(Integral, 0, None, closed="left")],
        "search_items": [Interval(Integral, 20, None, closed="left"), None],
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
    search_items: int | None
    cv: Any
    scoring: Any
    basis_scores_: Float | None
    best_params_: dict[str, Any]
    _given_basis: Index | None

    def __init__(
        self,
        alphas: Any = AUTO,
        *,
        rounds: int = 2,
        search_items: int | None = 2000,
        cv: Any = 5,
        scoring: Any = None,
        basis: int | Sequence[int] | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alphas = alphas
        self.rounds = rounds
        self.search_items = search_items
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
        queries = None if qid is None else Queries.from_labels(qid, X.shape[0])
        self._given_basis, self.basis_scores_ = None, None
        few, held = self._sample(X.shape[0], queries)
        self.n_search_items_ = len(few) if len(held) else X.shape[0]
        if not len(held):
            search = self._rounds_of(X, y, queries, graphs, self.cv, self._basis_items(X.shape[0]))
            scores = search.plan.item_scores(self._keep_best(search).scores, X.shape[0])
        else:
            labels = np.asarray(y)[few] if is_classifier(self) else None
            others = np.delete(np.arange(X.shape[0]), few)
            own = [(columns, graph.without(others)) for columns, graph in graphs]
            labelled = None if queries is None else queries.subset(few)
            search = self._rounds_of(X[few], labels, labelled, own, self.cv, None)
            scores = self._grow_basis(self._keep_best(search), X, queries, graphs, held)
        self.holdout_scores_: Float | None = scores[:, 0] if one_output else scores

    def _basis_items(self, m: int) -> Index | None:
        return None if self.basis is None else self._draw_basis(m)

    def _rounds_of(
        self, X: Matrix, y: Any, queries: Queries | None, graphs: list[OutputGraph], cv: Any, basis: Index | None
    ) -> _Rounds:
        """Return the rounds on some items, their folds, and the measure of their scores."""
        m, event, classes = X.shape[0], graphs[0][1].event, is_classifier(self)
        seed = 0 if self.random_state is None else self.random_state
        plan = HoldoutPlan.of(cv, X, y, queries, default=5, classes=classes, random_state=seed)
        scoring = None if self.scoring is None else read_scoring(self.scoring, censored=event is not None)
        truth = np.empty((m, sum(len(columns) for columns, _ in graphs)))
        for columns, graph in graphs:
            truth[:, columns] = np.where(graph.weight[:, None] > 0, graph.scores, np.nan)
        loss = self._search_class()._loss()
        judge = HoldoutScoring(plan, scoring, truth, queries, loss, joint=classes, event=event)
        weight = np.max([np.asarray(graph.weight) for _, graph in graphs], axis=0)
        every = Queries.from_labels(None, m) if queries is None else queries
        return _Rounds(self, X, graphs, plan, judge, self._unlabelled(every, weight), basis)

    def _sample(self, m: int, queries: Queries | None) -> tuple[Index, Index]:
        """Draw the items of the rounds, and those that judge a basis afterwards; none where all take part.

        Both are of whole queries. Folds that are given are of all items.
        """
        nothing: Index = np.zeros(0, dtype=np.int64)
        if self.search_items is None or m <= self.search_items or not isinstance(self.cv, Integral):
            return nothing, nothing
        units = ItemSets.singles(m) if queries is None else ItemSets.of_queries(queries)
        order = check_random_state(0 if self.random_state is None else self.random_state).permutation(len(units))
        ends = np.cumsum(units.sizes[order])
        n_few = int(np.searchsorted(ends, min(self.search_items, 2 * m // 3), side="right"))
        if n_few < int(self.cv) or n_few + 1 >= len(units):  # a few large queries
            return nothing, nothing
        left = ends[n_few:] - ends[n_few - 1]
        n_held = max(1, int(np.searchsorted(left, min(MOST_HELD_OUT, left[-1] // 2), side="right")))
        parts = order[:n_few], order[n_few : n_few + n_held]
        few, held = (np.sort(units.part(part)[1].items) for part in parts)
        return few, held

    def _grow_basis(
        self, best: _Tried, X: Matrix, queries: Queries | None, graphs: list[OutputGraph], held: Index
    ) -> Float:
        """Choose alpha and the number of basis items by items without a part in the metric; return their scores."""
        rest = np.delete(np.arange(X.shape[0]), held)
        search = self._rounds_of(X, None, queries, graphs, [(rest, held)], self._basis_items(X.shape[0]))
        grows = self.basis is None and best.setting["kernel"] != "linear"
        sizes = sorted({min(size, len(rest)) for size in BASES}) if grows else [None]
        tried: list[tuple[_Tried, Index | None]] = []
        for size in sizes:
            if size is not None:
                search.basis = rest[choose_basis(size, len(rest), basis_stream(self.random_state))]
            found = search._try(best.setting, [best.metric, best.metric])
            found = replace(found, fits=[])  # the features of one basis at a time
            if tried and not found.score > tried[-1][0].score:
                break
            tried.append((found, search.basis))
        if grows:
            self.basis_scores_ = np.array([(len(basis), found.score) for found, basis in tried if basis is not None])
        chosen, self._given_basis = tried[-1]
        self.alpha_, self.best_score_ = chosen.alpha, chosen.score
        self.alphas_ = np.unique(search.candidates.grids[chosen.number].alphas)
        self.best_params_ = {**self.best_params_, "alpha": chosen.alpha}
        return search.plan.item_scores(chosen.scores, X.shape[0])

    def _features(self, X: Matrix) -> Features:
        """Turn the items into features, with the basis that was grown."""
        grown = getattr(self, "_given_basis", None)
        return super()._features(X) if grown is None else ReducedSet(self._kernel(), X, grown)

    def _keep_best(self, search: _Rounds) -> _Tried:
        """Run the rounds, and store what was chosen."""
        best = search.best(self.rounds)
        self.alpha_ = best.alpha
        self.alphas_ = np.unique(search.candidates.grids[best.number].alphas)
        self.round_ = int(best.setting["round"])
        self.metric_ = best.metric
        self.best_score_ = best.score
        self.best_params_ = {"alpha": best.alpha, **best.setting}
        self.kernel_ = search.kernel(best.setting, best.metric)
        self.cv_results_ = search.candidates.table()
        return best


class _Rounds:
    """The rounds of a search, see the head of this file.

    folds: What is held out together: items, or for `_PairRounds` preferences.
    """

    def __init__(
        self,
        search: MetricSearch,
        X: Matrix,
        graphs: list[OutputGraph],
        plan: HoldoutPlan,
        judge: HoldoutScoring,
        unlabelled: UnlabelledGraph,
        basis: Index | None,
    ) -> None:
        assert plan.sets is not None
        self._begin(search, X, list(plan.sets), basis)
        self.graphs, self.plan, self.judge, self.unlabelled = graphs, plan, judge, unlabelled

    def _begin(self, search: MetricSearch, X: Matrix, folds: list[Index], basis: Index | None) -> None:
        """Fix what does not depend on labels."""
        self.search, self.X, self.folds, self.basis = search, X, folds, basis
        self.start = Kernel("linear", root="variance").fixed(X)
        root = self.start.fixed_root
        assert root is not None
        self.standard: Float = root**2
        self.variances: Float = np.divide(1.0, root**2, out=np.zeros(len(root)), where=root > 0)
        self.settings = auto_settings(self.start, X, 0 if search.random_state is None else search.random_state)
        self.candidates = Candidates([], per_target=False)

    # What is held out, and how it is measured

    def _without(self, features: Features, held: Index, alphas: Float) -> tuple[list[_Fit], Float]:
        """Train without a fold: features and coefficients of each graph, and scores (held, outputs, alphas)."""
        fits, scores = [], np.empty((len(held), self.judge.truth.shape[1], len(alphas)))
        for columns, graph in self.graphs:
            rest, rows, path = path_without(Problem(features, graph), held, alphas)
            if len(held):
                own = rest.features.predict(rows, path.reshape(len(path), -1))
                scores[:, columns] = own.reshape(len(held), *path.shape[1:])
            fits.append((rest.features, path))
        return fits, scores

    def _judged(self, scores: Float) -> Measured:
        return judged(self.plan, self.judge, scores)

    def _weights(self, held: Index) -> list[Float]:
        """Return the weights of the items outside a fold, for each graph."""
        kept = np.delete(np.arange(self.X.shape[0]), held)
        return [np.asarray(graph.weight)[kept] for _, graph in self.graphs]

    def _scale_of(self, setting: dict[str, Any]) -> AlphaGrid:
        return AlphaGrid.of(AUTO, self._features(self.kernel(setting, self.standard)), self.unlabelled, whole=True)

    # The rounds

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
        learner.basis = self.basis
        return learner._features(self.X)

    def _try(self, setting: dict[str, Any], metrics: list[Float]) -> _Tried:
        """Score every fold with its own metric, for all alphas."""
        grid = AlphaGrid.given(self.search.alphas) if not is_auto(self.search.alphas) else self._scale_of(setting)
        fits: list[list[_Fit]] = []
        scores, features, used = [], None, None
        for held, metric in zip(self.folds, metrics, strict=False):
            if features is None or metric is not used:  # the metric of the first round is that of all folds
                features, used = self._features(self.kernel(setting, metric)), metric
            own, held_scores = self._without(features, held, grid.alphas)
            fits.append(own)
            scores.append(held_scores)
        joined = np.concatenate(scores)
        found = self._judged(joined)
        values = found.mean.mean(axis=0)
        place = int(first_of_best(values))
        self.candidates.settings.append(setting)
        self.candidates.add(grid, found)
        assert found.splits is not None
        return _Tried(
            len(self.candidates.settings) - 1,
            setting,
            float(grid.alphas[place]),
            float(values[place]),
            found.splits[:, :, place].mean(axis=1),
            joined[:, :, place],
            metrics[-1],
            [[(features, path[:, :, place].copy()) for features, path in own] for own in fits],
        )

    def _metrics(self, best: _Tried, metrics: list[Float]) -> list[Float]:
        """Return the metrics of the next round: without each fold, and of all items."""
        kernels = [self.kernel(best.setting, metric) for metric in metrics]
        nothing: Index = np.zeros(0, dtype=np.int64)
        whole, _ = self._without(self._features(kernels[-1]), nothing, np.array([best.alpha]))
        fits = [*best.fits, [(features, path[:, :, 0]) for features, path in whole]]
        return [
            self._metric(kernel, own, self._weights(held))
            for kernel, own, held in zip(kernels, fits, [*self.folds, nothing], strict=True)
        ]

    def _metric(self, kernel: Kernel, fits: list[_Fit], weights: list[Float]) -> Float:
        """Return the mean over graphs, that is of outputs, of the metric of their gradients."""
        found = [
            metric_of_gradients(kernel, features, dual, weight, self.variances)
            for (features, dual), weight in zip(fits, weights, strict=True)
        ]
        return np.asarray(np.mean(found, axis=0))


class _PairRounds(_Rounds):
    """The rounds where preferences are held out: the items are known to every fold, who is better is not."""

    def __init__(
        self, search: MetricSearch, X: Matrix, graph: PreferenceGraph, folds: list[Index], weight: Float
    ) -> None:
        self._begin(search, X, folds, search._basis_items(X.shape[0]))
        self.graph, self.weight = graph, weight

    def _without(self, features: Features, held: Index, alphas: Float) -> tuple[list[_Fit], Float]:
        path = trained_path(features, self.graph.without_pairs(held), alphas)
        pairs = self.graph.pairs[held]
        scores = features.predict(self.X, path.reshape(len(path), -1)).reshape(-1, *path.shape[1:])
        return [(features, path)], scores[pairs[:, 0]] - scores[pairs[:, 1]]

    def _judged(self, scores: Float) -> Measured:
        """Measure the weighted share of the preferences of each fold that agree."""
        agreed = (scores[:, 0] > 0.0) + 0.5 * (scores[:, 0] == 0.0)
        counts = self.weight[np.concatenate(self.folds)]
        values, start = [], 0
        for held in self.folds:
            own = slice(start, start + len(held))
            values.append(
                counts[own] @ agreed[own] / counts[own].sum() if counts[own].any() else np.full(scores.shape[2], np.nan)
            )
            start += len(held)
        splits = np.array(values)[:, None]
        if np.isnan(splits).all():
            raise InvalidInputError("every preference has zero weight or magnitude, so alpha cannot be chosen")
        return Measured(np.nanmean(splits, axis=0), np.nanstd(splits, axis=0), splits, scores)

    def _weights(self, held: Index) -> list[Float]:  # noqa: ARG002
        return [np.ones(self.X.shape[0])]

    def _scale_of(self, setting: dict[str, Any]) -> AlphaGrid:
        features = self._features(self.kernel(setting, self.standard))
        diagonal, (first, second) = features.diagonal(), self.graph.pairs.T
        total = 0.0
        for part in blocks(len(first), 8 * self.X.shape[0], BLOCK_BYTES):
            items, place = np.unique(first[part], return_inverse=True)
            others, other = np.unique(second[part], return_inverse=True)
            K = features.block(items, others)
            distances = diagonal[first[part]] + diagonal[second[part]] - 2.0 * K[place, other]
            total += float(self.graph.weight[part] @ np.maximum(distances, 0.0))
        return AlphaGrid.around(mean_eigenvalue(total, self.X.shape[0] - 1), whole=True)


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
    search_items : int or None, default=2000
        Where there are more items, the rounds take so many, drawn at random, or whole queries. Alpha and the number of
        basis items are then chosen by items outside the sample. None lets all items take part, as do folds that are
        given, and `fit_pairs`.
    cv : int, splitter or iterable, default=5
        The folds: of whole queries with qid, of shuffled items without.
    scoring : str, measure or callable, default="pairwise_accuracy"
        As in `RankRLSCV`; values are averaged inside of each fold, and then over folds.
    basis : int or array-like of int, optional
        As in `RankRLS`. Unless given, with more than `search_items` items 500, 1,000, 2,000 and 4,000 basis items are
        tried, while the held-out score rises.
    cost, ties, query_weight, missing, random_state
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
        Its cross-fitted score: a maximum over candidates, .61 for 100 items of noise, whose AUC is .5. For an estimate
        to publish, `estimate_auc` and `leave_query_out` refit all of this without what they hold out.
    best_params_ : dict
        Alpha, kernel, gamma and round.
    cv_results_ : dict
        Every candidate with its score, by round.
    holdout_scores_ : ndarray, shape (m,) or (m, n_outputs)
        The score of each item by the model and metric that did not see its fold; NaN for items that were not held out
        after a search on a sample.
    n_search_items_ : int
        How many items took part in the rounds.
    basis_scores_ : ndarray, shape (sizes, 2), or None
        Numbers of basis items that were tried after a search on a sample, with their held-out scores. `best_score_` is
        then the highest of these.
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
        search_items: int | None = 2000,
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
            alphas,
            rounds=rounds,
            search_items=search_items,
            cv=cv,
            scoring=scoring,
            basis=basis,
            random_state=random_state,
            verbose=verbose,
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

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit_pairs(self, X: Any, pairs: Any, *, magnitude: Any = None, weight: Any = None, groups: Any = None) -> Self:
        """Learn a metric from preferences by cross-fitting, choose kernel, gamma and alpha, and fit with them.

        Parameters
        ----------
        X, pairs, magnitude, weight
            As in `RankRLS.fit_pairs`.
        groups : sequence, shape (l,), optional
            One label for each preference, such as its judge: the preferences of a group are in one fold.

        Returns
        -------
        self
            `best_score_` is the weighted share of held-out preferences that agree, averaged over folds;
            `holdout_scores_` is None. `cv` must be a number, and `scoring` is not used.
        """
        if not isinstance(self.cv, Integral) or self.scoring != "pairwise_accuracy":
            raise InvalidInputError(
                "fit_pairs chooses by the agreement with folds of preferences. Expected a number for cv, and "
                f"scoring='pairwise_accuracy'; got {self.cv!r} and {self.scoring!r}. Give groups for other folds"
            )
        X = self._check_items(X, reset=True)
        graph = self._compare_pairs(X, pairs, magnitude, weight)
        check_groups(groups, graph.n_pairs)
        self._search_pairs(X, graph, groups, check_pair_values(weight, graph.n_pairs, name="weight"))
        graphs = [(np.zeros(1, dtype=np.int64), graph)]
        return self._fit(X, graphs, self._progress(X), one_output=True, alpha=self.alpha_)

    @one_warning("held-out scores")
    def _search_pairs(self, X: Matrix, graph: PreferenceGraph, groups: Any, weight: Float | None) -> None:
        seed, n_pairs = 0 if self.random_state is None else self.random_state, graph.n_pairs
        self._given_basis, self.basis_scores_, self.n_search_items_ = None, None, X.shape[0]
        if groups is None:
            splits = KFold(min(self.cv, n_pairs), shuffle=True, random_state=seed).split(graph.pairs)
        else:
            labels = Queries.from_labels(groups, n_pairs, name="groups")
            splits = GroupKFold(min(self.cv, len(labels))).split(graph.pairs, groups=labels.codes)
        counts = np.where(graph.magnitude > 0.0, np.ones(n_pairs) if weight is None else weight, 0.0)
        self._keep_best(_PairRounds(self, X, graph, [held for _, held in splits], counts))
        self.holdout_scores_ = None


class MetricRLSCV(MetricSearch, Regressor):
    """RLS with a kernel and weights of the columns that are learnt from gradients, by cross-fitting.

    Parameters
    ----------
    alphas, rounds, search_items, cv
        As in `MetricRankRLSCV`.
    scoring : str, measure or callable, optional
        Unless given, minus the mean squared error.
    basis, random_state
        As in `RLS`. There is no intercept: subtract the mean of y.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    metric_, round_, best_score_, best_params_, cv_results_, holdout_scores_, n_search_items_, basis_scores_, \
alpha_, alphas_
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
    alphas, rounds, search_items, cv
        As in `MetricRankRLSCV`; folds of items are stratified.
    scoring : str, measure or callable, optional
        Unless given, minus the share of items in the wrong class; else as in `RLSClassifierCV`.
    basis, random_state
        As in `RLSClassifier`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    metric_, round_, best_score_, best_params_, cv_results_, holdout_scores_, n_search_items_, basis_scores_, \
alpha_, alphas_
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

"""TransductiveRankRLS: predict scores for unscored queries, using these queries during training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from kernelrank.base.arrays import Float, Index, Matrix
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.sklearn_private import Interval, StrOptions, fit_context
from kernelrank.base.validation import check_scores, check_weight
from kernelrank.comparisons import ScoredQueries, compare_scores
from kernelrank.comparisons.scored import QUERY_WEIGHTS, QueryWeight
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import FitProgress, KernelLearner, check_alphas, keep_parameters, whole_or_not_at_all
from kernelrank.estimators.tasks import Ranker, has_two_levels
from kernelrank.exact_cv import Problem
from kernelrank.exact_cv.transduction import transduce
from kernelrank.features import Features, ReducedSet
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.solvers.precision import check_range, one_warning


class TransductiveRankRLS(Ranker):
    """Transductive RankRLS: also learns from unscored queries, and predicts their scores.

    The scores of the unscored queries are those that minimise the cross-validated ranking error over all queries,
    scored and unscored, plus `anchor` times the squared distance from the prediction of `RankRLS` trained on the scored
    queries alone (the inductive prediction) [PSBS07]_:

    ``Σ_U Σ (y_i - y_j - (f_i - f_j))² + anchor Σ (y_i - inductive_i)²``,

    where U goes through the folds, the inner sum through all pairs inside a query of U, and f is trained on everything
    but U, the chosen scores included.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength of every training, as in `RankRLS`.
    anchor : float, default=1.0
        How close the chosen scores stay to the inductive prediction (the paper's γ). For large values they equal that
        prediction, and the model is `RankRLS` on the scored queries.
    cv : int or list of lists of query labels, optional
        How the cross-validation divides the queries: into a number of folds of about as many items each, or into unions
        of queries, each query in exactly one. Each query is a fold unless given, which is also the fastest: a fold of u
        items takes O(u³) time.
    kernel, gamma, degree, coef0, kernel_params
        As in `RankRLS`.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        Which units have equal weight, in training and in the cross-validated error: pairs, items or queries. The
        paper has "queries".
    basis : int or list of int, optional
        A number of basis items drawn at random from all items, scored or not, or the items themselves: predictions are
        then combinations of their kernels only. The basis is a feature map that stays as it is in every fold. All
        items, unless given.
    random_state : int, RandomState or None, default=None
        Random seed for drawing the basis.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    transduction_ : ndarray, shape (v,) or (v, n_outputs)
        The scores chosen for the unscored items, in the order in which they were given. Only differences inside a query
        are determined by the cross-validated error; the mean of each query is that of the inductive prediction.
    unscored_ : ndarray of int64, shape (v,)
        Their row numbers in X: ``y[model.unscored_] = model.transduction_`` fills y.
    inductive_ : ndarray, shape (v,) or (v, n_outputs)
        The prediction of the model trained on the scored queries.
    n_splits_ : int
    coef_, dual_coef_, X_fit_, basis_, kernel_, gamma_, solver_, n_iter_, n_queries_, n_idle_queries_, n_pairs_, \
n_features_in_
        As in `RankRLS`, of the model that predicts new items.

    Notes
    -----
    The paper has scores for the given items only. For new items `predict` uses RankRLS trained on all queries, with the
    given and the chosen scores. This is consistent: RankRLS trained on the scored queries and on its own predictions is
    the same model again, so with a large anchor `predict` is inductive as well.

    The costs that leave ties out, "unit" and "relative", and ``ties="exclude"`` are not supported: their pairs
    depend on the unknown scores, and the objective would no longer be quadratic.

    With m items, v of them unscored, and s the smaller of m and the number of columns: a factorisation of size s,
    O(m s²) time in all, O(u² s + u³) for a fold of u items, and another decomposition of size v, which serves every
    anchor of `fit_path`; memory two m × s arrays and v². If v is more than twice the number of columns, no v × v matrix
    is formed: each anchor then takes O(v s² + s³). Finally one training. `kernelrank.exact_cv.transduction` derives the
    method and its accuracy.

    References
    ----------
    .. [PSBS07] Pahikkala, Suominen, Boberg and Salakoski (2007). Transductive ranking via pairwise regularized
       least-squares. MLG 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import TransductiveRankRLS, make_ranking
    >>> X, y, qid = make_ranking(n_queries=8, n_items=5, n_features=3, random_state=0)
    >>> y[qid >= 4] = np.nan
    >>> model = TransductiveRankRLS(alpha=0.1).fit(X, y, qid=qid)
    >>> model.transduction_.shape, model.unscored_[:3]
    ((20,), array([20, 21, 22]))
    >>> y[model.unscored_] = model.transduction_
    >>> bool(np.isfinite(y).all()), model.predict(X[:2]).shape
    (True, (2,))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelLearner._parameter_constraints,
        "anchor": [Interval(Real, 0, None, closed="neither")],
        "cv": [Interval(Integral, 2, None, closed="left"), "array-like", None],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    }

    # What `score` makes of a NaN: queries without scores take no part in it.
    missing = "ignore"

    def __init__(
        self,
        alpha: float = 1.0,
        anchor: float = 1.0,
        *,
        cv: int | Sequence[Any] | None = None,
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        query_weight: QueryWeight = "pairs",
        basis: int | Sequence[int] | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Predict scores for the unscored queries, and fit to all queries.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
            The items of all queries.
        y : array-like, shape (m,) or (m, n_outputs)
            Their scores, NaN for every item of an unscored query and for no other. Several outputs must miss the same
            queries.
        qid : sequence, shape (m,)
            The query of each item: any hashable labels in any order. Required, because one query cannot be held out.
        sample_weight : array-like, shape (m,), optional
            Item weights; the pair (i, j) weighs ``w_i w_j``.

        Returns
        -------
        self
        """
        progress = FitProgress(self, X, y)
        self._fit_anchors(X, y, qid, sample_weight, np.array([float(self.anchor)]), [self])
        progress.done()
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_path(self, X: Any, y: Any, anchors: Any, *, qid: Any = None, sample_weight: Any = None) -> list[Self]:
        """Fit for many values of anchor at the cost of one decomposition.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in `fit`.
        anchors : array-like of float
            The values of anchor.

        Returns
        -------
        list of TransductiveRankRLS
            One fitted model for each anchor, in their order. This estimator itself is not changed.

        Notes
        -----
        As `fit`, with eigenvectors of size v instead of a Cholesky factorisation, and O(v²) for each anchor.
        """
        values = np.array(check_alphas(anchors, "anchors"))
        models: list[Self] = [clone(self).set_params(anchor=float(anchor)) for anchor in values]
        clone(self)._fit_anchors(X, y, qid, sample_weight, values, models)
        return models

    @one_warning("predictions")
    def _fit_anchors(self, X: Any, y: Any, qid: Any, sample_weight: Any, anchors: Float, models: list[Self]) -> None:
        """Transduce for all anchors at once, train on what comes out, and give each model its own."""
        X = self._check_items(X, reset=True)
        data = self._read(X, y, qid, sample_weight)
        for model in models:
            model._keep_classes(data.two_levels)
        self._fit_transduced(data, float(self.alpha), anchors, models)

    def _read(self, X: Matrix, y: Any, qid: Any, sample_weight: Any) -> PartlyScored:
        """Check the scores and the folds, and make the problem of all items."""
        scores = check_scores(y, X.shape[0], allow_missing=True)
        one_output = scores.ndim == 1
        known = scores[:, None] if one_output else scores
        queries = Queries.from_labels(qid, X.shape[0])
        weight = check_weight(sample_weight, X.shape[0])
        unscored = _unscored_items(known, queries)
        _require_pairs(known, queries, weight, self.query_weight)
        folds = _read_folds(self.cv, queries)
        features = self._features(X)
        if isinstance(features, ReducedSet):
            features.kept()
        known = np.where(np.isnan(known), 0.0, known)
        graph = ScoredQueries(known, queries, weight=weight, query_weight=self.query_weight)
        check_range(features, [graph])
        problem = Problem(features, graph, keep_basis=True)
        return PartlyScored(problem, known, queries, weight, unscored, folds, one_output, has_two_levels(scores))

    def _fit_transduced(self, data: PartlyScored, alpha: float, anchors: Float, models: list[Self]) -> None:
        """Transduce with all anchors, and train each model on its own scores."""
        problem, unscored, one_output = data.problem, data.unscored, data.one_output
        found, inductive = transduce(problem, unscored, data.folds, alpha, anchors)
        filled = np.repeat(data.known[:, :, None], len(anchors), axis=2)
        filled[unscored] = found
        scores = filled.reshape(len(filled), -1)
        graph = ScoredQueries(scores, data.queries, weight=data.weight, query_weight=self.query_weight)
        self._train(problem.features, graph, alpha, models, one_output=one_output)
        for number, model in enumerate(models):
            model.transduction_ = found[:, 0, number].copy() if one_output else found[:, :, number].copy()
            model.inductive_ = inductive[:, 0] if one_output else inductive
            model.unscored_, model.n_splits_ = unscored, len(data.folds)

    def _train(
        self, features: Features, graph: ScoredQueries, alpha: float, models: list[Self], *, one_output: bool
    ) -> None:
        """Train on the scores of every model, which lie side by side, in one solution."""
        solver = self._solver(features, graph)
        solution = solver.solve(solver.prepare(features, graph), alpha, last=True)
        coefficients = solution.coefficients.reshape(len(solution.coefficients), -1, len(models))
        columns = np.arange(coefficients.shape[1], dtype=np.int64)
        for number, model in enumerate(models):
            own = replace(solution, coefficients=coefficients[:, :, number])
            model._with_items_of(self)._keep(features, [(columns, graph)], [own], solver.name, one_output=one_output)


@dataclass(frozen=True)
class PartlyScored:
    """Scored and unscored queries: the problem of all items, with zeros for the scores that are not known.

    Shapes: known (m, outputs), weight (m,), unscored (v,).
    """

    problem: Problem
    known: Float
    queries: Queries
    weight: Float | None
    unscored: Index
    folds: ItemSets
    one_output: bool
    two_levels: bool


def _unscored_items(scores: Float, queries: Queries) -> Index:
    """Return the items of queries without scores; a query, and every output of it, is scored atomically."""
    missing = np.isnan(scores)
    if np.any(missing != missing[:, :1]):
        item = int(np.argmax(np.any(missing != missing[:, :1], axis=1)))
        raise InvalidInputError(
            f"y is NaN in some outputs of item {item} and not in others: all outputs must be NaN for the same queries"
        )
    counts = np.bincount(queries.codes, weights=missing[:, 0], minlength=len(queries)).astype(np.int64)
    partly = (counts > 0) & (counts < queries.sizes)
    if partly.any():
        number = int(np.argmax(partly))
        raise InvalidInputError(
            f"{_name(queries, number)} has a score for {queries.sizes[number] - counts[number]} of its "
            f"{queries.sizes[number]} items: score all items of a query, or set y to NaN for all of them"
        )
    if not counts.any():
        raise InvalidInputError("expected at least one unscored query: set y to NaN for all its items")
    if counts.all():
        raise InvalidInputError("expected at least one scored query; y is NaN everywhere")
    return np.flatnonzero(missing[:, 0]).astype(np.int64)


def _require_pairs(scores: Float, queries: Queries, weight: Float | None, query_weight: QueryWeight) -> None:
    """Raise an error for scored queries that compare nothing."""
    scored = np.flatnonzero(~np.isnan(scores[:, 0])).astype(np.int64)
    own = None if weight is None else weight[scored]
    compare_scores(scores[scored], queries.subset(scored), weight=own, query_weight=query_weight)


def _name(queries: Queries, number: int) -> str:
    label = queries.labels.tolist()[number]
    return "the only query (qid is not given)" if label is None else f"query {label!r}"


def _read_folds(cv: int | Sequence[Any] | None, queries: Queries) -> ItemSets:
    """Divide the queries into folds.

    None makes each query a fold, a number as many folds of about the same size; else cv lists the labels of each fold.
    """
    if cv is None:
        return ItemSets.of_queries(queries)
    if isinstance(cv, Integral):
        n_folds = int(cv)
        if not 2 <= n_folds <= len(queries):
            raise InvalidInputError(f"cv={cv} must be at least two and at most the number of queries, {len(queries)}")
        from sklearn.model_selection import GroupKFold

        split = GroupKFold(n_folds).split(queries.codes, groups=queries.codes)
        return ItemSets.of([held for _, held in split], queries.n_items)
    assert not isinstance(cv, int)
    fold_of = _fold_of_queries(cv, queries)
    held_out = [np.flatnonzero(fold_of[queries.codes] == number) for number in range(len(cv))]
    return ItemSets.of(held_out, queries.n_items)


def _fold_of_queries(cv: Sequence[Any], queries: Queries) -> Index:
    """Return the number of each query's fold; every query must be in exactly one, and no fold empty or all there is."""
    if isinstance(cv, str) or any(isinstance(fold, str) or not hasattr(fold, "__iter__") for fold in cv):
        raise InvalidInputError(
            f"cv must be a number, or a list of lists of query labels such as [['a', 'b'], ['c']], got {cv!r}"
        )
    number_of = {label: number for number, label in enumerate(queries.labels.tolist())}
    fold_of = np.full(len(queries), -1, dtype=np.int64)
    for number, fold in enumerate(cv):
        labels = fold.tolist() if isinstance(fold, np.ndarray) else list(fold)
        if len(labels) in (0, len(queries)):
            raise InvalidInputError(
                f"cv[{number}] has {len(labels)} of the {len(queries)} queries: leave at least one query out of "
                "each fold"
            )
        for label in labels:
            if label not in number_of:
                raise InvalidInputError(f"cv[{number}] has the query {label!r}, which is not in qid")
            if fold_of[number_of[label]] >= 0:
                raise InvalidInputError(f"the query {label!r} is named twice in cv")
            fold_of[number_of[label]] = number
    if np.any(fold_of < 0):
        missing = queries.labels.tolist()[int(np.argmax(fold_of < 0))]
        raise InvalidInputError(f"the query {missing!r} is in no fold: every query must be in one")
    return fold_of

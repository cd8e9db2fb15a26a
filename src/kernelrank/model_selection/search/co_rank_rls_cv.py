"""CoRankRLSCV: CoRankRLS that chooses alpha and nu by cross-validation over the scored queries.

Held-out queries and their basis items are removed; the unscored queries stay in every fold. With
``f_v = Φ_v w_v``, a fold without some basis items is the same problem in the features ``Φ_v Q_v`` (see
`ViewMap.without`), where the agreement matrix of the unscored items is ``Q_vᵀ G_vu Q_u``. So the unscored items are
read once, whatever the number of folds, and one decomposition of each fold and nu serves every alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.progress import track
from kernelrank.comparisons.costs import Cost, OutputGraph, Ties
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import FitProgress, whole_or_not_at_all
from kernelrank.estimators.co_rank_rls import CoData, ViewRanker, co_equations
from kernelrank.estimators.unscored import Agreement
from kernelrank.features.map import duplicate_rows
from kernelrank.features.views import JointRows, ViewMap
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid, is_auto, scale_of_columns
from kernelrank.model_selection.search.candidates import Candidates, judged
from kernelrank.model_selection.search.holdout_plan import HoldoutPlan, HoldoutScoring, read_scoring
from kernelrank.solvers.direct import spectrum
from kernelrank.solvers.precision import one_warning, report_error, spectral_error

__all__ = ["NUS", "CoRankRLSCV"]

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

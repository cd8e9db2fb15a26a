"""TransductiveRankRLSCV: alpha and anchor chosen by scored queries that are held out inside transduction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Float
from kernelrank.base.labels import ItemSets
from kernelrank.base.sklearn_private import StrOptions, fit_context
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import FitProgress, check_alphas, keep_parameters, whole_or_not_at_all
from kernelrank.estimators.transductive import PartlyScored, TransductiveRankRLS
from kernelrank.exact_cv.transduction_holdout import hold_out_inside
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid
from kernelrank.model_selection.search import Candidates, HoldoutPlan, HoldoutScoring, judged, read_scoring
from kernelrank.solvers.precision import one_warning

ANCHORS = (0.01, 0.1, 1.0, 10.0, 100.0)


class TransductiveRankRLSCV(TransductiveRankRLS):
    """TransductiveRankRLS with alpha and anchor chosen by holding scored queries out inside transduction.

    Each scored query in turn is treated as unscored: transduction chooses its scores together with those of all
    unscored queries, without its known ones. How well the chosen scores agree with the known ones, averaged over the
    scored queries, decides. The held-out scores are those of a new fit, but take only a small system for each query.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of alpha to try. "auto" tries 2⁻¹⁵, 2⁻¹⁴, ..., 2⁵ times the scale of the problem, as `RankRLSCV`
        does, but does not go on from there.
    anchors : array-like of float, default=(0.01, 0.1, 1, 10, 100)
        The values of anchor to try.
    cv : int or list of lists of query labels, optional
        As in `TransductiveRankRLS`: the folds of the error that transduction minimises. The scored queries of a fold
        are held out together.
    scoring : str, measure or callable, default="pairwise_accuracy"
        As in `RankRLSCV`.
    kernel, gamma, degree, coef0, kernel_params, query_weight, basis, random_state, verbose
        As in `TransductiveRankRLS`.

    Attributes
    ----------
    alpha_, anchor_ : float
        The values that were chosen.
    alphas_ : ndarray
        The alphas that were tried, in ascending order.
    best_score_ : float
        Their hold-out score.
    best_params_ : dict
        ``{"alpha": alpha_, "anchor": anchor_}``.
    cv_results_ : dict
        Every candidate with its score, as in scikit-learn's `GridSearchCV`.
    holdout_scores_ : ndarray, shape (m,) or (m, n_outputs)
        The scores that each scored query gets if it is unscored too; NaN for unscored items.
    transduction_, unscored_, inductive_, n_splits_, coef_, dual_coef_, ...
        As in `TransductiveRankRLS`, for the alpha and anchor that were chosen.

    Warns
    -----
    EdgeOfGridWarning
        If the best alpha is the smallest or the largest, and better than all others.

    Notes
    -----
    With m items, v of them unscored and t scored: one decomposition for all alphas, O(m³) time for each alpha, and for
    each anchor O(v t) and O(v u² + u³) for a scored query of u items. Memory: some m × m arrays. Fifteen alphas and
    five anchors take about twelve times as long as one fit of `TransductiveRankRLS`.

    With a linear kernel of n columns, more than 2 n unscored items, and no fold of scored and unscored queries, nothing
    of the size m × m is formed: an alpha and an anchor take O(m n² + n³), and O(u n² + u³) for a scored query. The same
    search then takes 16 times one fit for 600 items, and 40 times for 4,000 items in queries of ten.
    `kernelrank.exact_cv.transduction_holdout` derives the method.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import TransductiveRankRLSCV, make_ranking
    >>> X, y, qid = make_ranking(n_queries=20, n_items=8, n_features=5, noise=0.5, random_state=0)
    >>> y[qid >= 8] = np.nan
    >>> model = TransductiveRankRLSCV([0.1, 10.0, 1000.0], [0.1, 10.0]).fit(X, y, qid=qid)
    >>> model.best_params_.keys(), len(model.cv_results_["params"]), model.transduction_.shape
    (dict_keys(['alpha', 'anchor']), 6, (96,))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: allowed
            for name, allowed in TransductiveRankRLS._parameter_constraints.items()
            if name not in ("alpha", "anchor")
        },
        "alphas": [StrOptions({AUTO}), "array-like"],
        "anchors": ["array-like"],
        "scoring": [str, callable],
    }

    def __init__(
        self,
        alphas: Any = AUTO,
        anchors: ArrayLike = ANCHORS,
        *,
        cv: int | Sequence[Any] | None = None,
        scoring: Any = "pairwise_accuracy",
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

    @property
    def fit_path(self) -> Any:
        """Not available: `anchors` are what is searched."""
        raise AttributeError("TransductiveRankRLSCV has no fit_path; use that of TransductiveRankRLS")

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Choose alpha and anchor, predict scores for the unscored queries, and fit to all queries.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in `TransductiveRankRLS.fit`; at least two queries must have scores.

        Returns
        -------
        self
        """
        progress = FitProgress(self, X, y)
        anchors = np.array(check_alphas(self.anchors, "anchors"))
        X = self._check_items(X, reset=True)
        data = self._read(X, y, qid, sample_weight)
        self._keep_classes(data.two_levels)
        self._search(data, anchors)
        self._fit_chosen(data)
        progress.done()
        return self

    @one_warning("predictions")
    def _fit_chosen(self, data: PartlyScored) -> None:
        self._fit_transduced(data, self.alpha_, np.array([self.anchor_]), [self])

    @one_warning("held-out scores")
    def _search(self, data: PartlyScored, anchors: Float) -> None:
        """Hold out for every alpha and anchor, and keep the best."""
        grid = AlphaGrid.of(self.alphas, data.problem.features, self._unlabelled(data.queries, data.weight))
        sets = _scored_sets(data)
        found = hold_out_inside(data.problem, data.unscored, data.folds, sets, grid.alphas, anchors)
        plan = HoldoutPlan("leave_query_out", sets)
        judge = HoldoutScoring(plan, read_scoring(self.scoring), data.known, data.queries)
        candidates = Candidates([{"anchor": anchor} for anchor in anchors.tolist()], per_target=False)
        for scores in found:
            candidates.add(grid, judged(plan, judge, scores))
        self.alpha_ = float(candidates.alpha)
        self.anchor_ = float(candidates.setting["anchor"])
        self.alphas_ = candidates.alphas
        self.best_score_ = candidates.score
        self.best_params_ = {"alpha": self.alpha_, "anchor": self.anchor_}
        self.cv_results_ = candidates.table()
        assert candidates.held_out is not None
        best = plan.item_scores(candidates.held_out, data.queries.n_items)
        self.holdout_scores_ = best[:, 0] if data.one_output else best
        candidates.warn_at_edge()


def _scored_sets(data: PartlyScored) -> ItemSets:
    """Return the scored part of every fold that has one."""
    sets = data.folds.without(data.unscored)
    if len(sets) < 2:
        raise InvalidInputError(
            "expected scored queries in at least two folds, so that some remain when those of one are held out: score "
            "more queries, or leave cv out"
        )
    return sets

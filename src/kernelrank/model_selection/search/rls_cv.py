"""RLSCV: regularised least squares that chooses its alpha by an exact hold-out."""

from __future__ import annotations

from typing import Any, ClassVar

from kernelrank.base.arrays import Float
from kernelrank.estimators.rls import RLS
from kernelrank.estimators.tasks import Regressor
from kernelrank.model_selection.search import AlphaSearch
from kernelrank.model_selection.search.holdout_plan import ItemLoss

__all__ = ["RLSCV"]


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
    kernel, gamma, degree, coef0, kernel_params, basis, solver, tol, max_iter, missing, random_state
        As in `RLS`.
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

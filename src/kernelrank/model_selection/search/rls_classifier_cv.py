"""RLSClassifierCV: a least-squares classifier that chooses its alpha by an exact hold-out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.estimators.rls import RLSClassifier
from kernelrank.estimators.tasks import Classifier
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.model_selection.alpha_grid import AUTO
from kernelrank.model_selection.search import AlphaSearch, KernelGrid
from kernelrank.model_selection.search.holdout_plan import ItemLoss

__all__ = ["RLSClassifierCV"]


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
    kernel, gamma, degree, coef0, kernel_params, basis, solver, tol, max_iter, random_state
        As in `RLSClassifier`.
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

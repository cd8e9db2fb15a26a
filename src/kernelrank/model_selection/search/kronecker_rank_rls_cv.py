"""KroneckerRankRLSCV: conditional ranking that chooses its alpha by one of the four settings."""

from __future__ import annotations

from typing import Any, ClassVar

from kernelrank.comparisons.query_weights import QueryWeight
from kernelrank.dyads import KroneckerRankRLS
from kernelrank.dyads.dyadic_folds import Setting
from kernelrank.dyads.dyadic_problem import Ranked, Relation
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.model_selection.search.alpha_grid import AUTO
from kernelrank.model_selection.search.dyadic_search import KroneckerSearch

__all__ = ["KroneckerRankRLSCV"]


class KroneckerRankRLSCV(KroneckerSearch):
    """KroneckerRankRLS with alpha chosen by holding out cells, rows, columns, or rows and columns, exactly.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of alpha to try: "auto" takes powers of two times the mean eigenvalue of the kernel of the dyads, and
        goes on while the best one is at an edge.
    setting : {"cell", "row", "column", "both"}, default="cell"
        What is new where the model will be used: as in `dyadic_holdout`. The best alpha differs between the settings.
    cv : int, splitter or iterable of splits, optional
        As in `dyadic_holdout`: single cells or objects unless given.
    scoring : str, measure or callable, optional
        A name that `kernelrank.metrics.get_measure` reads, such as "concordance", or a function of ``(y_true, y_score,
        qid)`` for which higher is better. Unless given, the share of pairs in the right
        order.
    per : {"auto", "overall", "row", "column"}, default="auto"
        What is measured: all dyads together, or the dyads of each row or column, averaged over these. "auto" is
        the objects that are ranked for: "row" if the columns are ranked.
    kernel_rows, kernel_columns, gamma_rows, gamma_columns, degree_rows, degree_columns, coef0_rows, coef0_columns
        As in `KroneckerRLS`.
    kernel_params_rows, kernel_params_columns : dict, optional
        As in `KroneckerRLS`.
    rank, query_weight
        As in `KroneckerRankRLS`.
    relation, solver, tol, max_iter, random_state
        As in `KroneckerRLS`; `random_state` shuffles a number of folds.

    Attributes
    ----------
    alpha_ : float
        The alpha that was chosen.
    best_score_ : float
        Its held-out score; it was chosen for being the best, and is therefore a little too good.
    alphas_ : ndarray
        The values that were tried, ascending.
    best_params_ : dict
    cv_results_ : dict
        All candidates with their held-out scores, as that of `GridSearchCV`.
    holdout_scores_ : ndarray, shape (m1, m2) or (m1, m2, n_outputs)
        Every dyad, held out with the alpha that was chosen; `kernelrank.metrics.dyadic_concordance` measures them.
    coef_, dual_coef_, X_rows_fit_, X_columns_fit_, kernel_rows_, kernel_columns_, gamma_rows_, gamma_columns_
        As in `KroneckerRLS`.
    solver_, n_iter_, n_dyads_, n_features_rows_in_, n_features_columns_in_
        As in `KroneckerRLS`.
    feature_names_rows_in_, feature_names_columns_in_ : ndarray of str
        As in `KroneckerRLS`.

    See Also
    --------
    kernelrank.dyadic_holdout : The held-out scores of every setting.

    Notes
    -----
    The decompositions of one fit serve all alphas; each alpha then costs what `dyadic_holdout` says.


    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import KroneckerRankRLSCV
    >>> rng = np.random.default_rng(0)
    >>> guests, dishes = rng.standard_normal((12, 2)), rng.standard_normal((9, 2))
    >>> Y = guests @ dishes.T + 0.5 * rng.standard_normal((12, 9))
    >>> model = KroneckerRankRLSCV(setting="row").fit(guests, dishes, Y)
    >>> model.best_score_ > 0.7
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KroneckerSearch._search_constraints,
        "rank": KroneckerRankRLS._parameter_constraints["rank"],
        "query_weight": KroneckerRankRLS._parameter_constraints["query_weight"],
    }

    def __init__(
        self,
        alphas: Any = AUTO,
        *,
        setting: Setting = "cell",
        cv: Any = None,
        scoring: Any = None,
        per: str = "auto",
        kernel_rows: KernelLike = "linear",
        kernel_columns: KernelLike = "linear",
        gamma_rows: GammaLike = None,
        gamma_columns: GammaLike = None,
        degree_rows: float = 3,
        degree_columns: float = 3,
        coef0_rows: float = 1.0,
        coef0_columns: float = 1.0,
        kernel_params_rows: dict[str, Any] | None = None,
        kernel_params_columns: dict[str, Any] | None = None,
        rank: Ranked = "columns",
        query_weight: QueryWeight = "pairs",
        relation: Relation | None = None,
        solver: str = "auto",
        tol: float = 1e-10,
        max_iter: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.alphas = alphas
        self.setting: Setting = setting
        self.cv = cv
        self.scoring = scoring
        self.per = per
        self.kernel_rows = kernel_rows
        self.kernel_columns = kernel_columns
        self.gamma_rows = gamma_rows
        self.gamma_columns = gamma_columns
        self.degree_rows = degree_rows
        self.degree_columns = degree_columns
        self.coef0_rows = coef0_rows
        self.coef0_columns = coef0_columns
        self.kernel_params_rows = kernel_params_rows
        self.kernel_params_columns = kernel_params_columns
        self.rank: Ranked | None = rank
        self.query_weight: QueryWeight = query_weight
        self.relation: Relation | None = relation
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

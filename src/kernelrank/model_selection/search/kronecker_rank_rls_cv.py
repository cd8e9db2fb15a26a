"""KroneckerRankRLSCV: conditional ranking that chooses its alpha by one of the four settings."""

from __future__ import annotations

from typing import Any, ClassVar

from kernelrank.comparisons.scored import QueryWeight
from kernelrank.dyads import KroneckerRankRLS
from kernelrank.dyads.folds import Setting
from kernelrank.dyads.problem import Ranked, Relation
from kernelrank.dyads.searches import KroneckerSearch
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.model_selection.search.alpha_grid import AUTO

__all__ = ["KroneckerRankRLSCV"]


class KroneckerRankRLSCV(KroneckerSearch):
    """KroneckerRankRLS with alpha chosen by exact cross-validation over cells, rows, columns or both.

    Parameters
    ----------
    alphas, setting, cv
        As in `KroneckerRLSCV`.
    rank, query_weight
        As in `KroneckerRankRLS`.
    scoring : str, measure or callable, optional
        As in `KroneckerRLSCV`. Unless given, the share of pairs in the right order.
    per : {"auto", "overall", "row", "column"}, default="auto"
        As in `KroneckerRLSCV`. "auto" is the objects that are ranked for: "row" if the columns are ranked.
    kernel_rows, kernel_columns, gamma_rows, gamma_columns, degree_rows, degree_columns, coef0_rows, coef0_columns
        As in `KroneckerRLS`, and so are `kernel_params_rows` and `kernel_params_columns`.
    relation, solver, tol, max_iter, random_state
        As in `KroneckerRLSCV`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    alpha_, best_score_, alphas_, cv_results_, holdout_scores_, coef_, dual_coef_, …
        All attributes of `KroneckerRLSCV`.

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
        **KroneckerSearch._parameter_constraints,
        "rank": KroneckerRankRLS._parameter_constraints["rank"],
        "query_weight": KroneckerRankRLS._parameter_constraints["query_weight"],
    }

    def __init__(
        self,
        alphas: Any = AUTO,
        *,
        rank: Ranked = "columns",
        query_weight: QueryWeight = "pairs",
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
        relation: Relation | None = None,
        solver: str = "auto",
        tol: float = 1e-10,
        max_iter: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            alphas,
            setting=setting,
            cv=cv,
            scoring=scoring,
            per=per,
            kernel_rows=kernel_rows,
            kernel_columns=kernel_columns,
            gamma_rows=gamma_rows,
            gamma_columns=gamma_columns,
            degree_rows=degree_rows,
            degree_columns=degree_columns,
            coef0_rows=coef0_rows,
            coef0_columns=coef0_columns,
            kernel_params_rows=kernel_params_rows,
            kernel_params_columns=kernel_params_columns,
            relation=relation,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            verbose=verbose,
        )
        self.rank: Ranked | None = rank
        self.query_weight: QueryWeight = query_weight

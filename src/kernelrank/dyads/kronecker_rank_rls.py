"""KroneckerRankRLS: conditional ranking, the columns are ranked for each row."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from kernelrank.comparisons.scored import QUERY_WEIGHTS, QueryWeight
from kernelrank.dyads.kronecker_rls import KroneckerRLS
from kernelrank.dyads.problem import Ranked, Relation
from kernelrank.kernels import GammaLike, KernelLike

__all__ = ["KroneckerRankRLS"]


class KroneckerRankRLS(KroneckerRLS):
    """Conditional ranking: rank the columns for each row, such as targets for each drug.

    Minimises ``Σ_a Σ_{b<c} ((y_ab - y_ac) - (f(a, b) - f(a, c)))² + alpha ‖f‖²`` over the known pairs of dyads in the
    same row, with the kernel ``k₁(a, a') k₂(b, b')``: `RankRLS` with the rows as queries. Predictions order the columns
    of a row; scores of different rows are not compared.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength: larger values mean smoother models. The objective is a sum over pairs.
    kernel_rows, kernel_columns, gamma_rows, gamma_columns, degree_rows, degree_columns, coef0_rows, coef0_columns
        As in `KroneckerRLS`.
    kernel_params_rows, kernel_params_columns : dict, optional
        As in `KroneckerRLS`.
    rank : {"columns", "rows"}, default="columns"
        What is ranked: the columns for each row, or the rows for each column.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        Which units have equal weight: pairs, dyads (a pair weighs one over the number of known dyads of its row), or
        every row, as in `RankRLS`.
    relation, solver, tol, max_iter, random_state
        As in `KroneckerRLS`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    coef_, dual_coef_, kernel_rows_, solver_, n_dyads_, …
        All attributes of `KroneckerRLS`.

    See Also
    --------
    kernelrank.KroneckerRLS : Regression on dyads.
    kernelrank.RankRLS : Ranking with one set of features.

    Notes
    -----
    Time and memory as `KroneckerRLS`: with complete Y the ranked side has a centred kernel, and nothing else changes. A
    ranking with ``relation="symmetric"`` or ``"reciprocal"`` has no closed form, and is found by conjugate gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import KroneckerRankRLS
    >>> guests, dishes = np.array([[1.0], [-1.0]]), np.array([[1.0], [2.0], [3.0]])
    >>> Y = np.array([[1.0, 2.0, 3.0], [9.0, 8.0, 7.0]])
    >>> model = KroneckerRankRLS(alpha=0.1).fit(guests, dishes, Y)
    >>> model.predict([[2.0]], dishes).argsort()
    array([[0, 1, 2]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KroneckerRLS._parameter_constraints,
        "rank": [StrOptions({"columns", "rows"})],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        rank: Ranked = "columns",
        query_weight: QueryWeight = "pairs",
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
            alpha,
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

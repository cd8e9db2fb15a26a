"""TwoStepRLSCV: two-step learning that chooses both regularisation strengths by one of the four settings."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kernelrank.dyads import DyadicProblem, DyadicSide, Regularisation
from kernelrank.dyads.dyadic_folds import Setting
from kernelrank.dyads.dyadic_problem import Relation
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.model_selection.search.alpha_grid import AUTO, AlphaGrid, is_auto
from kernelrank.model_selection.search.candidates import Candidates
from kernelrank.model_selection.search.dyadic_search import DyadicSearch, side_scale

__all__ = ["TwoStepRLSCV"]

OCTAVES = 2.5
"""The octaves between two strengths of a side: every pair of strengths is tried."""


class TwoStepRLSCV(DyadicSearch):
    """TwoStepRLS with both strengths chosen by holding out cells, rows, columns, or rows and columns, exactly.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of each strength to try; every pair of them is. "auto" takes powers of two times the mean eigenvalue
        of each kernel. A symmetric or reciprocal relation has the same strength on both sides.
    setting : {"cell", "row", "column", "both"}, default="cell"
        What is new where the model will be used: as in `dyadic_holdout`. The best alpha differs between the settings.
    cv : int, splitter or iterable of splits, optional
        As in `dyadic_holdout`: single cells or objects unless given.
    scoring : str, measure or callable, optional
        A name that `kernelrank.metrics.get_measure` reads, such as "concordance", or a function of ``(y_true, y_score,
        qid)`` for which higher is better. Unless given, minus the mean squared error.
    per : {"auto", "overall", "row", "column"}, default="auto"
        What is measured: all dyads together, or the dyads of each row or column, averaged over these. "auto" is
        "overall".
    kernel_rows, kernel_columns, gamma_rows, gamma_columns, degree_rows, degree_columns, coef0_rows, coef0_columns
        As in `KroneckerRLS`.
    kernel_params_rows, kernel_params_columns : dict, optional
        As in `KroneckerRLS`.
    relation, solver, tol, max_iter, random_state
        As in `KroneckerRLS`; `random_state` shuffles a number of folds.

    Attributes
    ----------
    alpha_rows_, alpha_columns_ : float
        The strengths that were chosen.
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
    The decompositions of one fit serve all pairs; each pair then costs what `dyadic_holdout` says.


    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import TwoStepRLSCV
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.standard_normal((12, 2)), rng.standard_normal((9, 2))
    >>> Y = drugs @ targets.T + rng.standard_normal((12, 9))
    >>> model = TwoStepRLSCV(alphas=[0.01, 0.1, 1.0, 10.0], setting="row").fit(drugs, targets, Y)
    >>> model.alpha_rows_, model.alpha_columns_
    (0.1, 0.1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DyadicSearch._search_constraints,
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
        self.relation: Relation | None = relation
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _regularisation(self) -> Regularisation:
        """Return the strengths that were chosen; before, strengths of the same kind."""
        return Regularisation.two_step(getattr(self, "alpha_rows_", 1.0), getattr(self, "alpha_columns_", 1.0))

    def _candidates(self, problem: DyadicProblem, measure: Any) -> Candidates:
        """Try every strength of the rows beside every one of the columns."""
        rows, columns = (self._grid(side) for side in (problem.rows, problem.columns))
        if problem.sign:
            candidates = Candidates([{}], per_target=False)
            candidates.add(rows, measure([Regularisation.two_step(alpha, alpha) for alpha in rows.alphas]))
            return candidates
        candidates = Candidates([{"alpha_columns": float(alpha)} for alpha in columns.alphas], per_target=False)
        for other in columns.alphas:
            candidates.add(rows, measure([Regularisation.two_step(alpha, float(other)) for alpha in rows.alphas]))
        return candidates

    def _grid(self, side: DyadicSide) -> AlphaGrid:
        if not is_auto(self.alphas):
            return AlphaGrid.given(self.alphas)
        return AlphaGrid.around(side_scale(side), step=OCTAVES)

    def _choose(self, candidates: Candidates) -> None:
        self.alpha_rows_ = float(candidates.alpha)
        self.alpha_columns_ = float(candidates.setting.get("alpha_columns", self.alpha_rows_))
        self.best_params_ = {"alpha_rows": self.alpha_rows_, "alpha_columns": self.alpha_columns_}
        table = candidates.table()
        table["param_alpha_rows"] = table.pop("param_alpha")
        table.setdefault("param_alpha_columns", table["param_alpha_rows"])
        table["param_alpha_columns"] = table["param_alpha_columns"].astype(np.float64)
        for candidate in table["params"]:
            candidate["alpha_rows"] = candidate.pop("alpha")
            candidate.setdefault("alpha_columns", candidate["alpha_rows"])
        self.cv_results_ = table

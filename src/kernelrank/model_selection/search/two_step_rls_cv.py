"""TwoStepRLSCV: two-step learning that chooses both regularisation strengths by one of the four settings."""

from __future__ import annotations

from functools import partial

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.dyads import DyadicProblem, DyadicSide, Regularisation
from kernelrank.dyads.searches import DyadicSearch, MeasureRegularisations, side_scale
from kernelrank.model_selection.search.alpha_grid import AlphaGrid, is_auto
from kernelrank.model_selection.search.candidates import Candidates, Measured

__all__ = ["TwoStepRLSCV"]

OCTAVES = 2.5
"""The octaves between two strengths of a side: every pair of strengths is tried."""


class TwoStepRLSCV(DyadicSearch):
    """TwoStepRLS with both alphas chosen by exact cross-validation over cells, rows, columns or both.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of each strength to try, in all combinations. "auto" takes powers of two times the mean eigenvalue
        of each kernel, and more of them while the best is at an edge. A symmetric or reciprocal relation has the same
        strength on both sides.
    setting, cv, scoring, per
        As in `KroneckerRLSCV`.
    kernel_rows, kernel_columns, gamma_rows, gamma_columns, degree_rows, degree_columns, coef0_rows, coef0_columns
        As in `KroneckerRLS`, and so are `kernel_params_rows` and `kernel_params_columns`.
    relation, solver, tol, max_iter, random_state
        As in `KroneckerRLSCV`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    alpha_rows_, alpha_columns_ : float
        The strengths that were chosen.
    best_score_, alphas_, cv_results_, holdout_scores_, coef_, dual_coef_, …
        As the attributes of `KroneckerRLSCV`.

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

    def _regularisation(self) -> Regularisation:
        """Return the strengths that were chosen; before, strengths of the same kind."""
        return Regularisation.two_step(getattr(self, "alpha_rows_", 1.0), getattr(self, "alpha_columns_", 1.0))

    def _candidates(self, problem: DyadicProblem, measure: MeasureRegularisations) -> Candidates:
        """Try every strength of the rows with every one of the columns, and more while the best are at an edge."""
        rows, columns = (self._grid(side) for side in (problem.rows, problem.columns))
        if problem.sign:
            candidates = Candidates([{}], per_target=False)
            candidates.search(rows, lambda alphas: measure([Regularisation.two_step(one, one) for one in alphas]))
            return candidates
        candidates = Candidates([], per_target=False)

        tried: dict[float, float] = {}

        def best_of(others: Float) -> Float:
            for other in others.tolist():
                candidates.settings.append({"alpha_columns": other})
                candidates.search(rows, partial(self._measure_pairs, measure, other))
                tried[other] = float(candidates.measured[-1].mean.mean(axis=0).max())
            return np.array([tried[other] for other in others.tolist()])

        grid = columns.explored(best_of)
        grid.warn_at_edge(np.array([tried[other] for other in grid.alphas.tolist()]), stacklevel=6)
        return candidates

    @staticmethod
    def _measure_pairs(measure: MeasureRegularisations, other: float, alphas: Float) -> Measured:
        return measure([Regularisation.two_step(float(alpha), other) for alpha in alphas])

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

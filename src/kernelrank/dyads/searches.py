"""The search for alpha of dyads by one of the four settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from kernelrank.base.arrays import Float, ItemsLike, dense_rows
from kernelrank.dyads.dyadic_side import DyadicSide
from kernelrank.dyads.estimators import DyadicLearner
from kernelrank.dyads.folds import SETTINGS, Setting
from kernelrank.dyads.holdout import DyadicHoldout
from kernelrank.dyads.problem import DyadicProblem, Regularisation, Relation
from kernelrank.estimators.base import whole_or_not_at_all
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.model_selection.search.alpha_grid import AUTO, AlphaGrid, is_auto, mean_eigenvalue
from kernelrank.model_selection.search.candidates import Candidates, Measured
from kernelrank.model_selection.search.dyadic_scoring import PER, DyadicScoring
from kernelrank.solvers.precision import one_warning

__all__ = ["DyadicSearch", "KroneckerSearch", "Measure", "side_scale"]

MeasureRegularisations: TypeAlias = Callable[[list[Regularisation]], Measured]
"""Holds out with each of some regularisations, and judges the scores."""


class DyadicSearch(DyadicLearner):
    """What the searches for dyads share: hold out in one setting, choose, and fit to all scores."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DyadicLearner._parameter_constraints,
        "alphas": [StrOptions({AUTO}), "array-like"],
        "setting": [StrOptions(set(SETTINGS))],
        "cv": [object],
        "scoring": [str, callable, None],
        "per": [StrOptions(set(PER))],
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
        verbose: bool = False,
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
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X_rows: ItemsLike, X_columns: ItemsLike | None, Y: ArrayLike) -> Self:
        """Choose alpha by cross-validation, and fit with it.

        Parameters
        ----------
        X_rows, X_columns, Y
            As in `KroneckerRLS.fit`.

        Returns
        -------
        self
        """
        problem = self._problem(X_rows, X_columns, Y)
        self._search(problem)
        return self._keep(problem, *self._solve(problem))

    @one_warning("held-out scores")
    def _search(self, problem: DyadicProblem) -> None:
        """Hold out for every alpha, and keep the best."""
        holdout = DyadicHoldout.of(self, problem)
        folds = holdout.folds(self.setting, self.cv)
        judge = DyadicScoring(problem, self._scoring(), self._per())

        def measure(regularisations: list[Regularisation]) -> Measured:
            return judge.judged(holdout.scores(folds, regularisations))

        candidates = self._candidates(problem, measure)
        self.best_score_ = candidates.score
        self.alphas_ = candidates.alphas
        self._choose(candidates)
        assert candidates.held_out is not None
        scores = candidates.held_out.reshape(*problem.shape, -1)
        self.holdout_scores_ = scores[:, :, 0] if problem.one_output else scores
        candidates.warn_at_edge()

    def _candidates(self, problem: DyadicProblem, measure: MeasureRegularisations) -> Candidates:
        """Measure all alphas."""
        raise NotImplementedError

    def _choose(self, candidates: Candidates) -> None:
        """Keep the best alpha and the table of all of them."""
        raise NotImplementedError

    def _scoring(self) -> Any:
        """Return what ``scoring=None`` stands for: for a ranking pairs in the right order, else the squared error."""
        return "pairwise_accuracy" if self.scoring is None and self.rank is not None else self.scoring

    def _per(self) -> str:
        """Return what ``per="auto"`` stands for: the queries of a ranking, else all dyads."""
        if self.per != "auto":
            return self.per
        return "overall" if self.rank is None else {"columns": "row", "rows": "column"}[self.rank]


class KroneckerSearch(DyadicSearch):
    """A search for the one alpha of a Kronecker kernel."""

    alpha_: float

    def _regularisation(self) -> Regularisation:
        """Return the alpha that was chosen."""
        return Regularisation.kronecker(self.alpha_)

    def _candidates(self, problem: DyadicProblem, measure: MeasureRegularisations) -> Candidates:
        grid = AlphaGrid.around(_kronecker_scale(problem)) if is_auto(self.alphas) else AlphaGrid.given(self.alphas)
        candidates = Candidates([{}], per_target=False)

        def of_alphas(alphas: Float) -> Measured:
            return measure([Regularisation.kronecker(float(alpha)) for alpha in alphas])

        candidates.search(grid, of_alphas)
        return candidates

    def _choose(self, candidates: Candidates) -> None:
        self.alpha_ = float(candidates.alpha)
        self.best_params_ = {"alpha": self.alpha_}
        self.cv_results_ = candidates.table()


def side_scale(side: DyadicSide, *, centred: bool = False) -> float:
    """Return the mean eigenvalue of the kernel of a side, or of the centred one: its trace over a bound of its rank."""
    m, diagonal = side.n_objects, side.kernel.diagonal(side.items)
    trace, rank = float(diagonal.sum()), m
    if centred:
        if side.few_columns:
            X = dense_rows(side.items, slice(None))
            trace = float(((X - X.mean(axis=0)) ** 2).sum())
        else:
            trace = float(np.trace(side.centred_K))
        rank -= 1
    if side.kernel.linear:
        rank = min(rank, int(side.items.shape[1]))
    return mean_eigenvalue(trace, rank)


def _kronecker_scale(problem: DyadicProblem) -> float:
    """Return the mean eigenvalue of the kernel of all known dyads, of the comparisons of a ranking."""
    share = min(cells.density for _, cells in problem.cells) if problem.cells else 1.0
    n = problem.shape[0] if problem.ranked == "rows" else problem.shape[1]
    sides = [
        side_scale(side, centred=problem.ranked == name)
        for name, side in (("rows", problem.rows), ("columns", problem.columns))
    ]
    return max(float(problem.omega(max(2.0, share * n))), 1e-300) * share * sides[0] * sides[1]

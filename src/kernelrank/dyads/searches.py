"""The search for alpha of dyads by one of the four settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Float, ItemsLike, dense_rows
from kernelrank.base.sklearn_private import StrOptions, fit_context
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.dyads.estimators import DyadicLearner, KroneckerRankRLS
from kernelrank.dyads.folds import SETTINGS, Setting
from kernelrank.dyads.holdout import DyadicHoldout
from kernelrank.dyads.problem import DyadicProblem, DyadicSide, Ranked, Regularisation, Relation
from kernelrank.errors import NothingToCompareError
from kernelrank.estimators.base import keep_parameters, whole_or_not_at_all
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.metrics import Measure
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid, is_auto, mean_eigenvalue
from kernelrank.model_selection.search import Candidates, Measured, read_scoring
from kernelrank.solvers.precision import one_warning, overflow_is_checked

# Dyadic scoring -------------------------------------------------------------------------------------------------------
#
# Measures of held-out scores of dyads: a measure of all dyads, of each row, or of each column.

PER = ("auto", "overall", "row", "column")


class DyadicScoring:
    """Measures held-out scores of dyads; higher is better.

    scoring: None stands for minus the mean squared error.
    """

    def __init__(self, problem: DyadicProblem, scoring: Any, per: str) -> None:
        self.truth = problem.matrix
        if problem.relation == "reciprocal":
            self.truth = self.truth.copy()
            self.truth[np.diag_indices(problem.shape[0])] = np.nan
        if scoring == "concordance":  # without censored times that is the share of pairs, averaged over queries
            scoring = "pairwise_accuracy"
        self.measure: Measure | Callable[..., float] | None = None if scoring is None else read_scoring(scoring)
        self.per = per

    def judged(self, scores: Float) -> Measured:
        """Measure scores, (m₁, m₂, outputs, alphas)."""
        outputs, alphas = scores.shape[2:]
        mean, deviation = np.empty((outputs, alphas)), np.empty((outputs, alphas))
        with overflow_is_checked():
            for k in range(outputs):
                for number in range(alphas):
                    values = self._values(self.truth[:, :, k], scores[:, :, k, number])
                    mean[k, number], deviation[k, number] = values.mean(), values.std()
        return Measured(mean, deviation, None, scores.reshape(-1, outputs, alphas))

    def _values(self, truth: Float, scores: Float) -> Float:
        """Return one value for each query, or for each dyad if there is no measure."""
        if self.per == "column":
            truth, scores = truth.T, scores.T
        rows, columns = np.nonzero(~np.isnan(truth) & ~np.isnan(scores))
        if len(rows) == 0:
            raise NothingToCompareError(
                "no held-out dyad has a known score, so alpha cannot be chosen: use other folds"
            )
        y, f = truth[rows, columns], scores[rows, columns]
        queries = None if self.per == "overall" else rows
        if self.measure is None:
            errors = -((y - f) ** 2)
            if queries is None:
                return np.asarray(errors)
            count = np.bincount(queries)
            return np.asarray(np.bincount(queries, weights=errors)[count > 0] / count[count > 0])
        if isinstance(self.measure, Measure):
            values = self.measure(y, f, qid=queries).values
            return np.asarray(values if self.measure.higher_is_better else -values)
        return np.array([float(self.measure(y, f, queries))])


# Dyadic search --------------------------------------------------------------------------------------------------------

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
    per: str
    setting: Setting

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
        keep_parameters(self, locals())

    @fit_context(prefer_skip_nested_validation=True)
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


# Kronecker RLS CV -----------------------------------------------------------------------------------------------------
#
# KroneckerRLSCV: regression on dyads that chooses its alpha by one of the four settings.


class KroneckerRLSCV(KroneckerSearch):
    """KroneckerRLS with alpha chosen by exact cross-validation over cells, rows, columns or both.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of alpha to try: "auto" takes powers of two times the mean eigenvalue of the kernel of the dyads, and
        goes on while the best one is at an edge.
    setting : {"cell", "row", "column", "both"}, default="cell"
        What will be new when the model is used: as in `dyadic_holdout`. The best alpha differs between the settings.
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
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    alpha_ : float
        The alpha that was chosen.
    best_score_ : float
        Its held-out score; slightly optimistic, because it is the best of several.
    alphas_ : ndarray
        The values that were tried, ascending.
    best_params_ : dict
    cv_results_ : dict
        All candidates with their held-out scores, as that of `GridSearchCV`.
    holdout_scores_ : ndarray, shape (m1, m2) or (m1, m2, n_outputs)
        Every dyad, held out with the alpha that was chosen; `kernelrank.metrics.dyadic_concordance` measures them.
    coef_, dual_coef_, kernel_rows_, solver_, n_dyads_, …
        All attributes of `KroneckerRLS`.

    See Also
    --------
    kernelrank.dyadic_holdout : The held-out scores of every setting.

    Notes
    -----
    The decompositions of one fit serve all alphas; each alpha then costs what `dyadic_holdout` says.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import KroneckerRLSCV
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.standard_normal((12, 2)), rng.standard_normal((9, 2))
    >>> Y = drugs @ targets.T + rng.standard_normal((12, 9))
    >>> KroneckerRLSCV(alphas=[0.01, 0.1, 1.0, 10.0], setting="row").fit(drugs, targets, Y).alpha_
    1.0
    """


# Kronecker rank RLS CV ------------------------------------------------------------------------------------------------
#
# KroneckerRankRLSCV: conditional ranking that chooses its alpha by one of the four settings.


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
        keep_parameters(self, locals())


# Two step RLS CV ------------------------------------------------------------------------------------------------------
#
# TwoStepRLSCV: two-step learning that chooses both regularisation strengths by one of the four settings.


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
        # The octaves between two strengths of a side: every pair of strengths is tried.
        return AlphaGrid.around(side_scale(side), step=2.5)

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

"""What the learners of dyads share: two kernels, scores as a matrix or a list, and coefficients that predict."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, ItemsLike, Matrix, blocks, is_sparse, product
from kernelrank.base.sklearn_private import DocumentationLink, Interval, StrOptions, fit_context
from kernelrank.comparisons.scored import QUERY_WEIGHTS, QueryWeight
from kernelrank.dyads.problem import (
    DyadicProblem,
    DyadicSide,
    DyadicSolution,
    KnownCells,
    PreparedSolver,
    Ranked,
    Regularisation,
    Relation,
    check_dyad_list,
    check_dyads,
    check_relation,
    check_score_matrix,
    check_side,
    refuse_self_dyads,
    refuse_unknown_objects,
)
from kernelrank.dyads.solvers import DYADIC_SOLVERS, lost_digits, prepare
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import check_alphas, keep_parameters, whole_or_not_at_all
from kernelrank.features import kernel_scores
from kernelrank.features.map import duplicate_rows
from kernelrank.kernels import GAMMA_RULES, KERNEL_NAMES, GammaLike, Kernel, KernelLike
from kernelrank.solvers.precision import report_error

SIDE_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
    "gamma": [Interval(Real, 0, None, closed="left"), StrOptions(set(GAMMA_RULES)), None],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}
POSITIVE = Interval(Real, 0, None, closed="neither")


class DyadicLearner(DocumentationLink, BaseEstimator):
    """Minimises the squared errors of dyads, or of their differences, and a norm; a subclass says which, and fits."""

    __metadata_request__fit: ClassVar = {"X_rows": UNUSED, "X_columns": UNUSED}
    __metadata_request__predict: ClassVar = {"X_rows": UNUSED, "X_columns": UNUSED}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{f"{name}_{side}": kinds for name, kinds in SIDE_CONSTRAINTS.items() for side in ("rows", "columns")},
        "relation": [StrOptions({"symmetric", "reciprocal", "any"}), None],
        "solver": [StrOptions(set(DYADIC_SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    kernel_rows: KernelLike
    kernel_columns: KernelLike
    relation: Relation | None
    solver: str
    tol: float
    max_iter: int | None
    random_state: Any

    # What a ranking has, and regression has not.
    rank: Ranked | None = None
    query_weight: QueryWeight = "pairs"

    @abstractmethod
    def _regularisation(self) -> Regularisation:
        """Return what the norm costs by the parameters."""

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are coefficients."""
        return hasattr(self, "solver_")

    @property
    def gamma_rows_(self) -> float | None:
        """The value of gamma_rows used in the fit; None if the kernel has no gamma."""
        gamma = self.kernel_rows_.gamma
        assert not isinstance(gamma, str)
        return gamma

    @property
    def gamma_columns_(self) -> float | None:
        """The value of gamma_columns used in the fit; None if the kernel has no gamma."""
        gamma = self.kernel_columns_.gamma
        assert not isinstance(gamma, str)
        return gamma

    def predict(self, X_rows: ItemsLike, X_columns: ItemsLike | None = None) -> Float:
        """Predict the scores of all dyads of the given row and column objects.

        Parameters
        ----------
        X_rows : array-like or sparse matrix, shape (t1, n_features_rows), or (t1, m1) if its kernel is precomputed
            Known or new objects.
        X_columns : array-like or sparse matrix, shape (t2, n_features_columns), or (t2, m2) if precomputed, or None
            The same for the columns. None, with one set of objects: those of `X_rows`.

        Returns
        -------
        ndarray, shape (t1, t2) or (t1, t2, n_outputs)
        """
        left, right = self._factors(X_rows, X_columns)
        scores = np.stack([part @ right.T for part in left], axis=2)
        # Where in a product a column stands decides its last digit, and that must not order objects that are the same.
        duplicate_of = duplicate_rows(right)
        alike = duplicate_of >= 0
        scores[:, alike] = scores[:, duplicate_of[alike]]
        return scores[:, :, 0] if self._coefficients.ndim == 2 else scores

    def predict_dyads(
        self, X_rows: ItemsLike, X_columns: ItemsLike | None, rows: ArrayLike, columns: ArrayLike
    ) -> Float:
        """Predict the scores of listed dyads, without building the matrix of all dyads.

        Parameters
        ----------
        X_rows, X_columns
            As in `predict`.
        rows, columns : array-like of int, shape (l,)
            The numbers of the two objects of each dyad, rows of `X_rows` and of `X_columns`.

        Returns
        -------
        ndarray, shape (l,) or (l, n_outputs)
        """
        left, right = self._factors(X_rows, X_columns)
        rows, columns = check_dyads(rows, columns, (len(left[0]), len(right)))
        scores = np.empty((len(rows), len(left)))
        for part in blocks(len(rows), 8 * right.shape[1]):
            other = right[columns[part]]
            for k, values in enumerate(left):
                scores[part, k] = np.einsum("ij,ij->i", values[rows[part]], other)
        return scores[:, 0] if self._coefficients.ndim == 2 else scores

    @property
    def _coefficients(self) -> Float:
        coefficients: Float = self.coef_ if hasattr(self, "coef_") else self.dual_coef_
        return coefficients

    def _factors(self, X_rows: ItemsLike, X_columns: ItemsLike | None) -> tuple[list[Float], Float]:
        """Return ``P`` for each output and ``Q`` with scores ``P Qᵀ``: the coefficients stand in P."""
        check_is_fitted(self)
        one_set = self.relation is not None
        if X_columns is None and not one_set:
            raise InvalidInputError("X_columns is None, but this model was fitted to two sets of objects: give both")
        rows = check_side(self, X_rows, "rows", self.kernel_rows_, reset=False)
        if X_columns is None:
            columns = rows
        else:
            columns = check_side(self, X_columns, "columns", self.kernel_columns_, reset=False)
        coefficients = self._coefficients.reshape(*self._coefficients.shape[:2], -1)
        outputs = [np.ascontiguousarray(coefficients[:, :, k]) for k in range(coefficients.shape[2])]
        if hasattr(self, "coef_"):
            right = np.asarray(columns.toarray() if hasattr(columns, "toarray") else columns, dtype=np.float64)
            return [product(rows, W) for W in outputs], right
        fitted = self._origin_moved(self.X_rows_fit_, "rows")
        left = [kernel_scores(self.kernel_rows_, rows, fitted, A) for A in outputs]
        if self.kernel_columns_.precomputed:
            return left, np.asarray(columns.toarray() if hasattr(columns, "toarray") else columns, dtype=np.float64)
        fitted = self.X_rows_fit_ if one_set else self.X_columns_fit_
        return left, self.kernel_columns_.matrix(columns, self._origin_moved(fitted, "columns"))

    def _origin_moved(self, fitted: Any, side: str) -> Any:
        """Return linear features of a ranked side less their means, which coefficients that add up to zero ignore."""
        kernel = self.kernel_rows_ if side == "rows" else self.kernel_columns_
        if self.rank != side or not kernel.linear or is_sparse(fitted) or self.relation in ("symmetric", "reciprocal"):
            return fitted
        return fitted - np.mean(fitted, axis=0, dtype=np.float64)

    def _kernel_of(self, side: str) -> Kernel:
        """Return the kernel of a side by the parameters; with one set of objects that of the rows."""
        names = ("kernel", "gamma", "degree", "coef0", "kernel_params")
        metric, gamma, degree, coef0, parameters = (getattr(self, f"{name}_{side}") for name in names)
        return Kernel(metric, gamma, degree, coef0, dict(parameters or {})).copied()

    def _sides(self, X_rows: ItemsLike, X_columns: ItemsLike | None) -> tuple[DyadicSide, DyadicSide]:
        """Check the objects and fix the kernels on them; both are remembered."""
        one_set = self.relation is not None
        if one_set and X_columns is not None:
            raise InvalidInputError(
                f"relation={self.relation!r} means one set of objects: pass X_columns=None, or relation=None for two "
                "sets"
            )
        if X_columns is None and not one_set:
            raise InvalidInputError(
                "X_columns is None: give the objects of the columns, or, if rows and columns are one set of objects, "
                "relation='symmetric', 'reciprocal' or 'any'"
            )
        kernel = self._kernel_of("rows")
        items = check_side(self, X_rows, "rows", kernel, reset=True)
        self.kernel_rows_ = kernel.fixed(items, self.random_state)
        rows = DyadicSide(items, self.kernel_rows_, "rows")
        if one_set:
            self._refuse_other_columns()
            check_side(self, X_rows, "columns", kernel, reset=True)
            self.kernel_columns_ = self.kernel_rows_
            return rows, rows
        kernel = self._kernel_of("columns")
        items = check_side(self, X_columns, "columns", kernel, reset=True)
        self.kernel_columns_ = kernel.fixed(items, self.random_state)
        return rows, DyadicSide(items, self.kernel_columns_, "columns")

    def _refuse_other_columns(self) -> None:
        """Raise an error for a second kernel if rows and columns are the same objects."""
        given = self.kernel_columns
        if isinstance(given, str) and given == "linear":
            return
        if given is not self.kernel_rows and not (isinstance(given, str) and given == self.kernel_rows):
            raise InvalidInputError(
                f"relation={self.relation!r} means one set of objects with one kernel, kernel_rows: leave "
                "kernel_columns out"
            )

    def _problem(self, X_rows: ItemsLike, X_columns: ItemsLike | None, Y: ArrayLike) -> DyadicProblem:
        """Make a problem of objects and a matrix of scores; kernels, number and names of features are remembered."""
        rows, columns = self._sides(X_rows, X_columns)
        shape = rows.n_objects, columns.n_objects
        scores, one_output = check_score_matrix(Y, shape)
        problem = self._with_scores(rows, columns, None, one_output)
        scores = check_relation(scores, problem.sign)
        if problem.sign == -1 and self.rank is None:
            scores[np.diag_indices(shape[0])] = 0.0
        unknown = np.isnan(scores)
        if not unknown.any():
            return self._with_scores(rows, columns, scores, one_output)
        for k in range(scores.shape[2]):
            known = np.nonzero(~unknown[:, :, k])
            refuse_unknown_objects(known[0], known[1], shape, one_set=self.relation is not None)
        return self._with_scores(rows, columns, scores, one_output, *KnownCells.by_output(scores))

    def _with_scores(
        self, rows: DyadicSide, columns: DyadicSide, Y: Float | None, one_output: bool, *cells: tuple[Index, KnownCells]
    ) -> DyadicProblem:
        return DyadicProblem(
            rows,
            columns,
            Y,
            cells=cells,
            relation=self.relation,
            ranked=self.rank,
            query_weight=self.query_weight,
            one_output=one_output,
        )

    def _solve(self, problem: DyadicProblem) -> tuple[DyadicSolution, str]:
        """Find the minimum by the solver of the parameters."""
        solver, regularisation = self._prepare(problem), self._regularisation()
        solution = solver.solve(regularisation)
        error = lost_digits(
            problem, solution, solver.name, tol=self.tol, max_iter=self.max_iter, regularisation=regularisation
        )
        report_error(regularisation.weakest, error)
        return solution, solver.name

    def _prepare(self, problem: DyadicProblem) -> PreparedSolver:
        """Choose a solver and do its costly part."""
        regularisation = self._regularisation()
        return prepare(problem, self.solver, tol=self.tol, max_iter=self.max_iter, regularisation=regularisation)

    def _keep(self, problem: DyadicProblem, solution: DyadicSolution, solver: str) -> Self:
        """Store what was fitted, and nothing of an earlier fit."""
        for name in ("coef_", "dual_coef_", "X_rows_fit_", "X_columns_fit_"):
            self.__dict__.pop(name, None)
        values = solution.dual if solution.weights is None else solution.weights
        assert values is not None
        values = np.ascontiguousarray(values[:, :, 0]) if problem.one_output else values
        if solution.weights is not None:
            self.coef_ = values
        else:
            self.dual_coef_ = values
            self.X_rows_fit_ = _kept(problem.rows)
            self.X_columns_fit_ = None if problem.columns is problem.rows else _kept(problem.columns)
        self.solver_ = solver
        self.n_iter_ = solution.n_iter
        if problem.complete:
            self.n_dyads_ = problem.shape[0] * problem.shape[1]
        else:
            self.n_dyads_ = max(int(cells.count.sum()) for _, cells in problem.cells)
        return self


def _kept(side: DyadicSide) -> Matrix | None:
    """Return a copy of the objects that a model keeps; None for a precomputed kernel."""
    return None if side.kernel.precomputed else side.items.copy()


# Plain dyadic learner -------------------------------------------------------------------------------------------------
#
# Learners of dyads with a given alpha: they fit to a matrix, to a list of dyads, or for many alphas at once.


class PlainDyadicLearner(DyadicLearner):
    """Fits with the alpha of its parameters."""

    @abstractmethod
    def _with_alpha(self, alpha: Any) -> Self:
        """Return a copy, not fitted, with one entry of a path of alphas."""

    @abstractmethod
    def _check_path(self, alphas: ArrayLike) -> list[Any]:
        """Return the entries of a path of alphas."""

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X_rows: ItemsLike, X_columns: ItemsLike | None, Y: ArrayLike) -> Self:
        """Fit to a matrix of scores.

        Parameters
        ----------
        X_rows : array-like or sparse matrix, shape (m1, n_features_rows), or (m1, m1) if its kernel is precomputed
            The objects of the rows.
        X_columns : array-like or sparse matrix, shape (m2, n_features_columns), or (m2, m2) if precomputed, or None
            The objects of the columns; None if rows and columns are one set of objects (`relation`).
        Y : array-like, shape (m1, m2) or (m1, m2, n_outputs)
            The score of each dyad; NaN where it is unknown. Every object needs a known score.

        Returns
        -------
        self
        """
        problem = self._problem(X_rows, X_columns, Y)
        return self._keep(problem, *self._solve(problem))

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit_dyads(
        self, X_rows: ItemsLike, X_columns: ItemsLike | None, rows: ArrayLike, columns: ArrayLike, y: Any
    ) -> Self:
        """Fit to a list of dyads, without building the matrix of all dyads.

        Parameters
        ----------
        X_rows, X_columns
            As in `fit`.
        rows, columns : array-like of int, shape (l,)
            The numbers of the two objects of each dyad, rows of `X_rows` and of `X_columns`. A dyad may occur many
            times, with other scores.
        y : array-like, shape (l,) or (l, n_outputs)
            The score of each listed dyad.

        Returns
        -------
        self
        """
        problem = self._listed_problem(X_rows, X_columns, rows, columns, y)
        return self._keep(problem, *self._solve(problem))

    @fit_context(prefer_skip_nested_validation=True)
    def fit_path(self, X_rows: ItemsLike, X_columns: ItemsLike | None, Y: ArrayLike, alphas: Any) -> list[Self]:
        """Fit for many alphas from one pair of eigendecompositions.

        Parameters
        ----------
        X_rows, X_columns, Y
            As in `fit`.
        alphas : array-like of float
            The values of alpha; for `TwoStepRLS` also pairs (alpha_rows, alpha_columns).

        Returns
        -------
        list
            One fitted model for each alpha, in their order. This estimator itself is not changed.
        """
        learner: Self = clone(self)
        problem = learner._problem(X_rows, X_columns, Y)
        models: list[Self] = [learner._with_alpha(alpha) for alpha in self._check_path(alphas)]
        solver, solution = models[0]._prepare(problem), None
        for model in models:
            for name, value in vars(learner).items():
                if name.endswith("_"):
                    setattr(model, name, value)
            solution = solver.solve(model._regularisation(), solution)
            model._keep(problem, solution, solver.name)
        return models

    def _listed_problem(
        self, X_rows: ItemsLike, X_columns: ItemsLike | None, rows: ArrayLike, columns: ArrayLike, y: ArrayLike
    ) -> DyadicProblem:
        """Make a problem of objects and a list of dyads."""
        sides = self._sides(X_rows, X_columns)
        shape = sides[0].n_objects, sides[1].n_objects
        rows, columns = check_dyads(rows, columns, shape)
        scores, one_output = check_dyad_list(y, len(rows))
        if self.relation == "reciprocal":
            refuse_self_dyads(rows, columns, scores)
        refuse_unknown_objects(rows, columns, shape, one_set=self.relation is not None)
        cells = KnownCells.of_list(shape, rows, columns, scores)
        if cells.complete and self.relation in (None, "any"):
            return self._with_scores(*sides, cells.y.reshape(*shape, -1), one_output)
        return self._with_scores(*sides, None, one_output, (np.arange(scores.shape[1]), cells))


# Kronecker RLS --------------------------------------------------------------------------------------------------------
#
# KroneckerRLS: regression on dyads, with a kernel for each side.


class KroneckerRLS(PlainDyadicLearner):
    """Regularised least squares for dyads: a score for each pair of a row object and a column object.

    Minimises ``Σ (y - f(a, b))² + alpha ‖f‖²`` over the known dyads (a, b) with the kernel ``k₁(a, a') k₂(b, b')``.
    Known and new objects can be predicted on both sides: a new drug, a new target, or both.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength: larger values mean smoother models.
    kernel_rows, kernel_columns : str, callable or kernel object, default="linear"
        The kernel of each side: a name of scikit-learn's `pairwise_kernels`, "precomputed", a function of two
        rows, or a Gaussian-process kernel object of scikit-learn.
    gamma_rows, gamma_columns, degree_rows, degree_columns, coef0_rows, coef0_columns
        Options of the kernels, as in `RankRLS`.
    kernel_params_rows, kernel_params_columns : dict, optional
        Further keyword arguments of the kernel functions.
    relation : {"symmetric", "reciprocal", "any"}, optional
        Rows and columns are one set of objects, such as players, and ``X_columns`` is None. "symmetric" learns
        ``f(a, b) = f(b, a)``, "reciprocal" ``f(a, b) = -f(b, a)``, "any" neither. The kernel is that of the rows. Each
        known cell counts once: (a, b) and (b, a) count twice, one of them alone once.
    solver : {"auto", "spectral", "primal", "eigenbasis", "vec_trick"}, default="auto"
        How the minimum is found. "spectral": complete Y from two eigendecompositions. "primal": linear kernels with no
        more features than objects. "eigenbasis": unknown cells by conjugate gradients, preconditioned by the complete
        problem. "vec_trick": few known cells by conjugate gradients over these. "auto" chooses by the shape of the
        data; the table is in Notes.
    tol : float, default=1e-10
        The relative residual at which conjugate gradients stop.
    max_iter : int, optional
        The largest number of their iterations; ten times the number of unknowns unless given.
    random_state : int, RandomState or None, default=None
        Random seed for drawing the items that ``gamma="median"`` uses.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features_rows, n_features_columns) or (n_features_rows, n_features_columns, n_outputs)
        Weights W of pairs of features, ``f(x, z) = xᵀ W z``: for linear kernels with no more features than objects.
    dual_coef_ : ndarray, shape (m1, m2) or (m1, m2, n_outputs)
        Coefficients A of pairs of training objects otherwise: ``F = K₁ A K₂``.
    X_rows_fit_, X_columns_fit_ : array or sparse matrix, or None
        The training objects, if there is `dual_coef_`; None for a precomputed kernel. With one set of objects
        `X_columns_fit_` is None.
    kernel_rows_, kernel_columns_ : Kernel
        The kernels of the fit.
    gamma_rows_, gamma_columns_ : float or None
        The values of gamma used in the fit.
    solver_ : str
        The solver that was used.
    n_iter_ : int
        Its number of iterations.
    n_dyads_ : int
        How many scores were learnt from.
    n_features_rows_in_, n_features_columns_in_ : int
    feature_names_rows_in_, feature_names_columns_in_ : ndarray of str
        As `n_features_in_` and `feature_names_in_` of scikit-learn, for each side.

    See Also
    --------
    kernelrank.KroneckerRankRLS : Ranks the objects of one side for each object of the other side.
    kernelrank.TwoStepRLS : One ridge regression after the other.

    Notes
    -----
    Complete Y: O(m₁³ + m₂³ + m₁²m₂ + m₁m₂²) time, that of two eigendecompositions and four matrix products, and
    O(m₁² + m₂² + m₁m₂) memory; each further alpha of `fit_path` two products.

    "auto" chooses as the table of `kernelrank.dyads.solvers` says.

    References
    ----------
    .. [PWS13] Pahikkala, Airola, Stock, De Baets and Waegeman (2013). Efficient regularized least-squares algorithms
       for conditional ranking on relational data. Machine Learning 93.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import KroneckerRLS
    >>> drugs, targets = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [-1.0]])
    >>> Y = drugs @ targets.T
    >>> model = KroneckerRLS(alpha=0.01).fit(drugs, targets, Y)
    >>> model.predict([[4.0]], targets).round(2)
    array([[ 4., -4.]])
    >>> Y[2, 1] = np.nan
    >>> KroneckerRLS(alpha=0.01).fit(drugs, targets, Y).predict_dyads(drugs, targets, [2], [1]).round(2)
    array([-3.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PlainDyadicLearner._parameter_constraints,
        "alpha": [POSITIVE],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
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

    def _regularisation(self) -> Regularisation:
        """Return alpha, the same in every direction."""
        return Regularisation.kronecker(self.alpha)

    def _check_path(self, alphas: ArrayLike) -> list[Any]:
        """Return positive numbers."""
        return list(check_alphas(alphas))

    def _with_alpha(self, alpha: Any) -> Self:
        """Return a copy with another alpha."""
        other: Self = clone(self).set_params(alpha=alpha)
        return other


# Kronecker rank RLS ---------------------------------------------------------------------------------------------------
#
# KroneckerRankRLS: conditional ranking, the columns are ranked for each row.


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
        keep_parameters(self, locals())


# Two step RLS ---------------------------------------------------------------------------------------------------------
#
# TwoStepRLS: one ridge regression after the other, with a regularisation strength for each side.


class TwoStepRLS(PlainDyadicLearner):
    """Two-step RLS for dyads: one ridge regression over the rows and one over the columns.

    Predicts ``F = K₁ (K₁ + alpha_rows I)⁻¹ Y (K₂ + alpha_columns I)⁻¹ K₂``: the order of the two steps makes no
    difference. Unknown cells of Y are filled with the model's own predictions. This fixed point minimises
    ``Σ_known (y - f)²`` plus the penalty for which two-step learning is the ridge regression.

    Parameters
    ----------
    alpha_rows, alpha_columns : float, default=1.0
        Regularisation strength of each side: larger values mean smoother models.
    kernel_rows, kernel_columns, gamma_rows, gamma_columns, degree_rows, degree_columns, coef0_rows, coef0_columns
        As in `KroneckerRLS`.
    kernel_params_rows, kernel_params_columns : dict, optional
        As in `KroneckerRLS`.
    relation : {"symmetric", "reciprocal", "any"}, optional
        As in `KroneckerRLS`. A symmetric or reciprocal relation has one strength: alpha_rows and alpha_columns must be
        equal.
    solver, tol, max_iter, random_state
        As in `KroneckerRLS`; "vec_trick" does not apply.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    coef_, dual_coef_, kernel_rows_, solver_, n_dyads_, …
        All attributes of `KroneckerRLS`.

    See Also
    --------
    kernelrank.KroneckerRLS : One regression over all dyads.

    Notes
    -----
    Time and memory as `KroneckerRLS`. With unknown cells both kernels are decomposed, whatever the density.

    References
    ----------
    .. [SPADW18] Stock, Pahikkala, Airola, De Baets and Waegeman (2018). A comparative study of pairwise learning
       methods based on kernel ridge regression. Neural Computation 30(8).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import TwoStepRLS
    >>> drugs, targets = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [-1.0]])
    >>> model = TwoStepRLS(alpha_rows=0.01, alpha_columns=0.01).fit(drugs, targets, drugs @ targets.T)
    >>> model.predict([[4.0]], targets).round(1)
    array([[ 4., -4.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PlainDyadicLearner._parameter_constraints,
        "alpha_rows": [POSITIVE],
        "alpha_columns": [POSITIVE],
    }

    def __init__(
        self,
        alpha_rows: float = 1.0,
        alpha_columns: float = 1.0,
        *,
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

    def _regularisation(self) -> Regularisation:
        """Return what the norm costs: alpha of a side times the eigenvalues of the other side, and their product."""
        if self.relation in ("symmetric", "reciprocal") and self.alpha_rows != self.alpha_columns:
            raise InvalidInputError(
                f"relation={self.relation!r} needs alpha_rows = alpha_columns, got {self.alpha_rows:g} and "
                f"{self.alpha_columns:g}: otherwise f(a, b) and f(b, a) would differ"
            )
        return Regularisation.two_step(self.alpha_rows, self.alpha_columns)

    def _check_path(self, alphas: ArrayLike) -> list[Any]:
        """Return pairs of positive numbers; a single number is that of both sides."""
        values = np.asarray(alphas, dtype=np.float64)
        if values.ndim == 2 and values.shape[1] == 2 and len(values):
            flat = check_alphas(values.ravel())
            return list(zip(flat[::2], flat[1::2], strict=True))
        return [(alpha, alpha) for alpha in check_alphas(alphas)]

    def _with_alpha(self, alpha: Any) -> Self:
        """Return a copy with other strengths."""
        other: Self = clone(self).set_params(alpha_rows=alpha[0], alpha_columns=alpha[1])
        return other

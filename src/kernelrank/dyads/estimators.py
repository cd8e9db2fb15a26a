"""What the learners of dyads share: two kernels, scores as a matrix or a list, and coefficients that predict."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, ItemsLike, Matrix, blocks, is_sparse, product
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.dyads.dyadic_scores import check_dyads, check_score_matrix, refuse_unknown_objects
from kernelrank.dyads.dyadic_side import DyadicSide
from kernelrank.dyads.dyadic_solution import DyadicSolution, PreparedSolver
from kernelrank.dyads.known_cells import KnownCells
from kernelrank.dyads.one_set import check_relation
from kernelrank.dyads.problem import DyadicProblem, Ranked, Regularisation, Relation
from kernelrank.dyads.side_items import check_side
from kernelrank.dyads.solvers import DYADIC_SOLVERS, prepare
from kernelrank.errors import InvalidInputError
from kernelrank.features import kernel_scores
from kernelrank.features.map import duplicate_rows
from kernelrank.kernels import GAMMA_RULES, KERNEL_NAMES, Kernel, KernelLike

__all__ = ["DyadicLearner"]

SIDE_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
    "gamma": [Interval(Real, 0, None, closed="left"), StrOptions(set(GAMMA_RULES)), None],
    "degree": [Interval(Real, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}
POSITIVE = Interval(Real, 0, None, closed="neither")


class DyadicLearner(BaseEstimator):
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
        solver = self._prepare(problem)
        return solver.solve(self._regularisation()), solver.name

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

"""Learners of dyads with a given alpha: they fit to a matrix, to a list of dyads, or for many alphas at once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context, clone

from kernelrank.base.arrays import ItemsLike
from kernelrank.dyads.dyadic_scores import check_dyad_list, check_dyads, refuse_unknown_objects
from kernelrank.dyads.estimators import DyadicLearner
from kernelrank.dyads.known_cells import KnownCells
from kernelrank.dyads.one_set import refuse_self_dyads
from kernelrank.dyads.problem import DyadicProblem
from kernelrank.estimators.base import whole_or_not_at_all

__all__ = ["PlainDyadicLearner"]


class PlainDyadicLearner(DyadicLearner):
    """Fits with the alpha of its parameters."""

    @abstractmethod
    def _with_alpha(self, alpha: Any) -> Self:
        """Return a copy, not fitted, with one entry of a path of alphas."""

    @abstractmethod
    def _check_path(self, alphas: ArrayLike) -> list[Any]:
        """Return the entries of a path of alphas."""

    @_fit_context(prefer_skip_nested_validation=True)
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

    @_fit_context(prefer_skip_nested_validation=True)
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

    @_fit_context(prefer_skip_nested_validation=True)
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

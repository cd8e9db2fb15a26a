"""Refitting: the definition of holding out, for graphs and sets that have no shortcut."""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.exact_cv.problem import Problem
from kernelrank.solvers import choose_solver
from kernelrank.solvers.automatic import EXACT

__all__ = ["refit_without"]


def refit_without(problem: Problem, held: Index, alphas: Float) -> Float:
    """Train on the graph induced on the other items, and predict those held out.

    Parameters
    ----------
    problem : Problem
    held : ndarray of int64, shape (u,)
    alphas : ndarray, shape (number of alphas,)

    Returns
    -------
    ndarray, shape (u, outputs, number of alphas)

    Notes
    -----
    The time and memory of training; several alphas share one decomposition.
    """
    rest, rows = problem.without(held)
    solver = choose_solver(rest.features, rest.graph, len(alphas), tol=EXACT)
    state = solver.prepare(rest.features, rest.graph)
    path = np.stack([solver.solve(state, float(alpha)).coefficients for alpha in alphas], axis=2)
    scores = rest.features.predict(rows, path.reshape(len(path), -1))
    return scores.reshape(len(held), *path.shape[1:])

"""Refitting: the definition of holding out, for graphs and sets that have no shortcut."""

from __future__ import annotations

import numpy as np

from kernelrank.arrays import Float, Index
from kernelrank.exact_cv.shortcut_rules import Problem
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
    scores = np.empty((len(held), problem.truth.shape[1], len(alphas)))
    for number, alpha in enumerate(alphas):
        scores[:, :, number] = rest.features.predict(rows, solver.solve(state, float(alpha)).coefficients)
    return scores

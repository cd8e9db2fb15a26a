"""Leave-one-out: every item held out, in constant time beyond its row of the decomposition.

For ``U = {i}`` the system of `kernelrank.holdout.leave_sets_out` is a division, ``r_i = e_i / Γ_ii``, and the held-out
score is ``y_i - r_i`` for RLS, or the same less the intercept that the model without i has, for one ranking:

    ``f'_i = N_i diag(d) (b - Q_iᵀ r_i)``.

Leaving an item out of one ranking turns λ into ``λ / (m - 1)``; where every item counts the same, items leave any query
at the same λ. Otherwise (an item leaves one of several queries whose pairs count the same; ties left out; other costs)
the model is refitted for each item.
"""

from __future__ import annotations

from kernelrank.arrays import Float
from kernelrank.holdout.item_sets import ItemSets
from kernelrank.holdout.leave_sets_out import leave_sets_out
from kernelrank.holdout.problem import Problem

__all__ = ["leave_one_out"]


def leave_one_out(problem: Problem, alphas: Float) -> Float:
    """Return the score of each item by the model trained without it.

    Parameters
    ----------
    problem : Problem
    alphas : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (m, k, n)

    Notes
    -----
    One decomposition and O(m s) time for each alpha, s being its size.
    """
    return leave_sets_out(problem, ItemSets.singles(problem.graph.n_items), alphas)

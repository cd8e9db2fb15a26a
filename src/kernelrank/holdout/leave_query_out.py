"""Leave-query-out: every query held out whole, for every scored graph.

L is block diagonal by query, so removing query U removes rows and columns of ``C K Cᵀ + λ I`` and leaves the others as
they are. With ``G = (C K Cᵀ + λ I)⁻¹`` and ``α = G C y`` the rule for the inverse of a submatrix gives

    ``C_U (y_U - f'_U) = (G_UU)⁻¹ α_U``.

Multiplied by ``C_Uᵀ`` on both sides of ``G_UU``, this is ``Γ_UU r = e_U`` of `kernelrank.holdout.leave_sets_out`, with
``r = y_U - f'_U`` up to a constant: all that a ranking measure asks for. The constant comes from
``f'_U = N_U diag(d) (b - Q_Uᵀ r)``, so that the scores are those that training without U and predicting U would give.

For many small queries the blocks ``Q_U diag(d) Q_Uᵀ`` of all alphas are one matrix product: products of two rows of Q,
times the column d of each alpha.
"""

from __future__ import annotations

import numpy as np

from kernelrank.arrays import Float
from kernelrank.holdout.item_sets import ItemSets
from kernelrank.holdout.leave_sets_out import leave_sets_out
from kernelrank.holdout.problem import Problem
from kernelrank.queries import Queries

__all__ = ["leave_query_out"]


def leave_query_out(problem: Problem, queries: Queries, alphas: Float) -> Float:
    """Return the scores of each query by the model trained without it.

    Parameters
    ----------
    problem : Problem
    queries : Queries
    alphas : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (m, k, n)

    Notes
    -----
    One decomposition of size s, then O(m q s + m q²) time for each alpha and queries of q items.
    """
    sets = ItemSets.of_queries(queries)
    scores = leave_sets_out(problem, sets, alphas)
    if queries.contiguous:
        return scores
    ordered = np.empty_like(scores)
    ordered[sets.items] = scores
    return ordered

"""Transduction: scores for unscored queries under which cross-validation over all queries errs least [PSBS07]_.

Let V be the items of the unscored queries, y the scores of all items with candidates at V, and U a fold: a query or a
union of queries. Choose the candidates that minimise

    ``Σ_U (y_U - f_U)ᵀ L_UU (y_U - f_U) + γ ‖y_V - f_V‖²``,

where ``f_U`` are the scores of U by the model trained on everything else, candidates included, ``f_V`` those of V by
the model trained on the scored queries alone (the inductive prediction), and γ is called anchor.

**The residuals are linear.** Training is linear in y, so ``C_U (y_U - f_U)`` is ``T_U y``, with ``CᵀC = L``. For W
outside the fold, `kernelrank.exact_cv.dual_inverse` with ``M = λ Γ`` gives

    ``T_UU = C_U``,   ``T_UW = C_U (M_UU)⁻¹ M_UW``,

(its residuals are ``(M_UU)⁻¹ M_U: y``, and their own scores enter as they are). M comes in two forms, so that nothing
is lost by subtraction at either end:

* ``M = Q diag(d) Qᵀ`` in the dual while λ is at most the trace of the problem's matrix;
* ``M = L - Q' diag(d) Qᵀ`` in the primal, and in the dual for larger λ, where scores are tiny beside residuals: L has
  no entry between a fold and the rest, so that ``M_UW`` is a product again and keeps all its digits.

In both, ``T_UW = ± B_U Q_Wᵀ``: T has identity-like blocks on its diagonal, and products of short rows elsewhere.

**One more decomposition.** With δ the difference between the candidates and the inductive prediction, and ρ the
residuals at the latter, the objective is ``‖ρ + T_V δ‖² + γ ‖δ‖²``, so

    ``δ = -(T_Vᵀ T_V + γ I)⁻¹ T_Vᵀ ρ``,

and the spectrum of ``T_Vᵀ T_V`` serves every γ. The paper's closed form (12) is this with its slips mended: `CLK` is
``K L K``, R has λ and not ½λ, and the second factor of G is ``P_ŪU``. It needs no E, F or G here.

**What is not determined.** A constant added to the scores of a query changes no residual: ``T_V`` is blind to it, and
so δ, which lies in the range of ``T_Vᵀ``, has the sum zero in every query. The anchor is on the raw prediction: in each
query the mean of the transduced scores is exactly the mean of the inductive ones. Items that take no part, those of
weight zero or alone in their query, keep their inductive score.

**More unscored items than twice the columns.** In the primal ``T_V = A - B Q_Vᵀ`` with ``A`` block diagonal by fold.
In the singular vectors of its blocks, ``A_U = X diag(σ) Yᵀ``, with ``B̂ = Xᵀ B``, ``Q̂ = Yᵀ Q_V`` and ``D = σ² + γ``,

    ``T_Vᵀ T_V + γ I = diag(D) + [σB̂, Q̂] [0, -I; -I, BᵀB] [σB̂, Q̂]ᵀ``,

which the Woodbury identity turns into one symmetric system of twice as many unknowns as there are columns n,

    ``[-(S + B̂ᵀ diag(γ/D) B̂), B̂ᵀ diag(σ/D) Q̂ - I; ·, Q̂ᵀ diag(1/D) Q̂]``,

for each γ: its blocks on the diagonal are semidefinite sums. S is ``BᵀB`` over what the blocks do not reach, which is
the scored folds. Nothing m × m or |V| × |V| is formed.

Accuracy: T as training itself, ε times the largest eigenvalue over λ; δ as any least-squares problem whose residuals
do not vanish, ε times ``σ_max² / (σ_min² + γ)`` of ``T_V``. In the primal, digits are lost where a fold alone carries a
direction of the features; its pivots are watched, and the dual form is taken then.

.. [PSBS07] Pahikkala, Suominen, Boberg and Salakoski (2007). Transductive ranking via pairwise regularized
   least-squares. MLG 2007.
"""

from __future__ import annotations

import numpy as np

from kernelrank.arrays import Float, Index
from kernelrank.comparisons import ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv.anchored_minimum import BlockMinimum, DenseMinimum
from kernelrank.exact_cv.fold_residuals import FoldResiduals
from kernelrank.exact_cv.refit import refit_without
from kernelrank.exact_cv.shortcut_rules import Problem
from kernelrank.item_sets import ItemSets
from kernelrank.solvers.automatic import DIRECT_LIMIT
from kernelrank.solvers.rounding import one_warning

__all__ = ["transduce"]


@one_warning("predictions")
def transduce(problem: Problem, unscored: Index, folds: ItemSets, alpha: float, anchors: Float) -> tuple[Float, Float]:
    """Return the scores of the unscored items for every anchor, and the inductive prediction.

    Parameters
    ----------
    problem : Problem
        All items, over a `ScoredQueries` graph with ties included; the scores of unscored items are not looked at.
    unscored : ndarray of int64, shape (v,)
        The items of the unscored queries.
    folds : ItemSets
        A partition of the items into unions of whole queries.
    alpha : float
    anchors : ndarray, shape (n,)
        The values of γ, all positive.

    Returns
    -------
    scores : ndarray, shape (v, outputs, n)
    inductive : ndarray, shape (v, outputs)
        The prediction of the model trained on the scored queries.

    Notes
    -----
    With s the smaller of the numbers of items m and of columns, one factorisation of size s and a training, O(s²) for
    each item and O(u² s + u³) for a fold of u items. Then, unless v exceeds twice the columns, O(m v s + m v²) and one
    decomposition of size v, after which an anchor costs O(v²): a Cholesky factorisation for one anchor, eigenvectors
    for several. Otherwise O(u³) for a fold and O(v s² + s³) for each anchor. Memory: two m × s arrays and the smaller
    of v² and 4 s².
    """
    assert isinstance(problem.graph, ScoredQueries)
    _refuse_size(problem)
    inductive = refit_without(problem, unscored, np.array([alpha]))[:, :, 0]
    guess = problem.truth.copy()
    guess[unscored] = inductive
    residuals = FoldResiduals.of(problem, folds, alpha, unscored)
    rho = residuals.at(_less_means(guess, problem.graph))
    large = residuals.primal and len(unscored) > 2 * residuals.right.shape[1]
    corrections = (BlockMinimum if large else DenseMinimum).of(residuals, rho).corrections(anchors)
    return inductive[:, :, None] + corrections, inductive


def _refuse_size(problem: Problem) -> None:
    columns = problem.features.n_columns
    size = problem.features.n_items if columns is None else min(columns, problem.features.n_items)
    if size > DIRECT_LIMIT:
        raise InvalidInputError(
            f"transduction decomposes a matrix of the size of the smaller of the numbers of items and of columns, here "
            f"{size:,}, and {DIRECT_LIMIT:,} is the most: give a basis, or fewer items"
        )


def _less_means(values: Float, graph: ScoredQueries) -> Float:
    """Take the mean of each query away, which no residual depends on, so that large levels do not cost digits."""
    sums = np.zeros((graph.n_queries, values.shape[1]))
    np.add.at(sums, graph.queries.codes, values)
    less: Float = values - (sums / graph.queries.sizes[:, None])[graph.queries.codes]
    return less

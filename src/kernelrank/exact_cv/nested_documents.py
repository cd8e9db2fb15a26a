r"""Sets inside sets: documents left out of what remains when a fold has left, from one dual inverse for each alpha.

With RLS, or with one ranking in which every item counts the same, λ is the same whatever leaves, so that one Γ serves
folds, documents, and documents without folds. What the model without F predicts for F is ``y_F - (Γ_FF)⁻¹ e_F``; the
same identity for `DualInverse.without` gives what the model without F and a document U predicts for U:

    ``f_U = y_U - (Γ⁽ᶠ⁾_UU)⁻¹ e⁽ᶠ⁾_U``.

So a whole nested cross-validation, folds outside and documents inside, costs one inverse for each alpha, m³ operations,
and for each fold a triangular system of its size. Literal nesting would cost a decomposition for each fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kernelrank.arrays import Float, Index
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.exact_cv.dual_inverse import DualInverse
from kernelrank.features import FullKernel
from kernelrank.kernels import Kernel
from kernelrank.queries import Queries

__all__ = ["NestedHoldout"]


class NestedHoldout:
    """RLS, or RankRLS with ``query_weight="items"``, on a kernel matrix, and its relatives without some groups.

    Parameters
    ----------
    K : ndarray, shape (m, m)
        The kernel matrix, symmetric and positive semidefinite.
    y : ndarray, shape (m,)
        The scores of the items.
    groups : sequence, shape (m,)
        The group of each item, such as its document: any labels.
    alpha : float
    intercept : bool, default=False
        False is RLS, True is RankRLS.

    Attributes
    ----------
    dual_coef : ndarray, shape (m,)
        The coefficients of the model of all items.
    intercept : float
        Its intercept: the constant that makes the mean error zero, and zero for RLS.

    Notes
    -----
    Time O(m³), memory one m × m array beside K.

    Examples
    --------
    >>> K, y = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
    >>> holdout = NestedHoldout(K, y, ["a", "a", "b"], alpha=1.0)
    >>> holdout.leave_group_out().round(3)
    array([0.9, 1.8, 2.5])
    """

    def __init__(self, K: Float, y: Float, groups: Sequence[str], alpha: float, *, intercept: bool = False) -> None:
        self._y = np.asarray(y, dtype=np.float64)
        m = len(self._y)
        self._codes = Queries.from_labels(groups, m, name="groups").codes
        graph: ItemScores | ScoredQueries = ItemScores(self._y[:, None])
        if intercept:
            graph = ScoredQueries(self._y[:, None], Queries.from_labels(None, m), query_weight="items")
        inverse = DualInverse.of(FullKernel(Kernel("precomputed"), K), graph, alpha)
        if inverse is None:
            raise InvalidInputError(
                f"the kernel matrix plus alpha={alpha!r} is not positive definite: use a larger alpha"
            )
        self._inverse = inverse
        self.dual_coef: Float = inverse.coefficients[:, 0]
        self.intercept = float(np.mean(self._y - K @ self.dual_coef)) if intercept else 0.0

    def leave_group_out(self, fold: Index | None = None) -> Float:
        """Score each item by the model without its group, and without the items of a fold.

        Parameters
        ----------
        fold : ndarray of int, optional
            Items that no model is trained on.

        Returns
        -------
        ndarray, shape (m,)
            NaN for the items of the fold.

        Notes
        -----
        Time O(f² m + f m u + m u²) for a fold of f items and groups of u items.
        """
        kept, inverse = np.ones(len(self._y), dtype=bool), self._inverse
        if fold is not None and len(fold):
            kept[fold] = False
            inverse = inverse.without(fold)
        scores = np.full(len(self._y), np.nan)
        for items in self._groups(np.flatnonzero(kept)):
            scores[items] = self._y[items] - inverse.residuals(items)[:, 0]
        return scores

    def leave_fold_out(self, fold: Index) -> Float:
        """Score the items of a fold by the model without them, shape (items of the fold,). Time O(f³)."""
        return np.asarray(self._y[fold] - self._inverse.residuals(fold)[:, 0])

    def _groups(self, items: Index) -> Iterator[Index]:
        """Yield the items of each group, of those that are left."""
        order = items[np.argsort(self._codes[items], kind="stable")]
        yield from np.split(order, np.flatnonzero(np.diff(self._codes[order])) + 1)

"""Influence: the features, or the training items, that change the scores most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from kernelrank.base.arrays import Float, Matrix, is_sparse
from kernelrank.report.explanations import Contributions

__all__ = ["Influence"]

MOST_NUMBERS = 4_000_000
"""Of a kernel so many numbers are looked at; beyond that, only some of the items."""


@dataclass(frozen=True, eq=False)
class Influence:
    """Features or training items, in descending order of their influence on the scores.

    Parameters
    ----------
    kind : {"features", "items"}
    names : list
        Those that move the scores most.
    coefficients : ndarray, shape (k,)
        Weights, or coefficients.
    spreads : ndarray, shape (k,)
        The standard deviation of each feature, or of the kernel with each training item, over the items.
    n_contributions : int
        How many there are in all.
    n_items : int
        Over how many items the spread was taken.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS
    >>> X = np.array([[1.0, 0.0], [2.0, 100.0], [3.0, 0.0]])
    >>> model = RankRLS(0.01).fit(X, [1.0, 2.0, 3.0])
    >>> Influence.of(Contributions.of(model), X, k=1).names
    ['x0']
    """

    kind: Literal["features", "items"]
    names: list[Any]
    coefficients: Float
    spreads: Float
    n_contributions: int
    n_items: int

    @classmethod
    def of(cls, contributions: Contributions, X: Any, k: int = 15) -> Influence:
        """Order features or training items by ``|c_k|`` times the standard deviation of ``φ_k`` over some items.

        Parameters
        ----------
        contributions : Contributions
        X : matrix, shape (m, n)
        k : int, default=15
            How many to keep.

        Returns
        -------
        Influence

        Notes
        -----
        O(m n) time for features; for a kernel at most four million of its numbers, of items evenly spread over X.
        """
        m, r = _num_samples(X), len(contributions.coefficients)
        step = 1 if contributions.kind == "features" else max(1, -(-m * r // MOST_NUMBERS))
        rows = X if step == 1 else _safe_indexing(X, np.arange(0, m, step))
        spreads = _deviations(contributions.columns(rows))
        largest = np.argsort(-np.abs(contributions.coefficients) * spreads, kind="stable")[:k]
        names = [contributions.names[number] for number in largest.tolist()]
        return cls(
            contributions.kind, names, contributions.coefficients[largest], spreads[largest], r, _num_samples(rows)
        )

    @property
    def scaled(self) -> bool:
        """Whether all columns have a standard deviation of one, so that a movement is the coefficient itself."""
        return bool(np.all(np.abs(self.spreads - 1.0) < 1e-6))

    @property
    def movements(self) -> Float:
        """The change of a score when a feature (or a kernel value) grows by one standard deviation."""
        moved: Float = self.coefficients * self.spreads
        return moved


def _deviations(columns: Matrix) -> Float:
    if not is_sparse(columns):
        return np.asarray(np.std(columns, axis=0, dtype=np.float64))
    mean = np.asarray(columns.mean(axis=0), dtype=np.float64).ravel()
    squares = np.asarray(columns.multiply(columns).mean(axis=0), dtype=np.float64).ravel()
    return np.sqrt(np.maximum(squares - mean**2, 0.0))

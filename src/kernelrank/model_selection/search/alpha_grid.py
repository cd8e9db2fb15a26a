"""The values of alpha that a search tries: those given, or powers of two times the scale of the problem.

``alphas="auto"`` begins with 2⁻¹⁵ to 2⁵ times the scale (`alpha_scale.py`), an octave apart. The scale is the
mean eigenvalue of ``Φᵀ L Φ``. Where the columns of X differ in size, a few large eigenvalues are most of it, so most of
the grid lies below. While the best alpha is at an edge, five octaves are added there, down to 2⁻²⁵ and up to 2¹⁰.
Below, rounding takes over; above, all eigenvalues are small beside alpha, and the order of the items no longer
changes.

Where a search is itself held out from, its grid must not depend on the labels: it is then the whole range at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelrank.arrays import Float
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.estimators.base import KernelLearner, check_alphas
from kernelrank.features import Features
from kernelrank.model_selection.search.alpha_scale import alpha_scale
from kernelrank.queries import Queries
from kernelrank.validation import check_weight

__all__ = ["AUTO", "AlphaGrid", "edge_of", "grid_for", "is_auto"]

AUTO = "auto"

START = (-15.0, 5.0)
"""The exponents of two that are tried first, beside the scale."""

LIMITS = (-25.0, 10.0)
"""The exponents of two that an extension may reach."""

EXTENSION = 5.0
"""How many octaves are added at an edge."""


def is_auto(alphas: Any) -> bool:
    """Return whether the grid is to be chosen from the items."""
    return isinstance(alphas, str) and alphas == AUTO


def edge_of(alphas: Float, values: Float) -> int:
    """Return -1 or 1 if the smallest or the largest alpha is better than every one between them, else 0.

    Parameters
    ----------
    alphas : ndarray, shape (n,)
        In any order.
    values : ndarray, shape (n,)
        Higher is better.

    Returns
    -------
    int

    Examples
    --------
    >>> alphas = np.array([1.0, 2.0, 4.0])
    >>> edge_of(alphas, np.array([0.5, 0.6, 0.7])), edge_of(alphas, np.array([0.7, 0.7, 0.6]))
    (1, 0)
    """
    inside = (alphas > alphas.min()) & (alphas < alphas.max())
    best = int(np.argmax(values))
    if not inside.any() or inside[best] or not values[best] > values[inside].max():
        return 0
    return -1 if alphas[best] == alphas.min() else 1


@dataclass(frozen=True)
class AlphaGrid:
    """A grid of alphas, and how far it may be extended.

    Parameters
    ----------
    alphas : ndarray, shape (n,)
        The values: ascending, or as they were given.
    scale : float, optional
        What the exponents are relative to; None for alphas that were given, which are never extended.
    low, high : float
        The exponents of the first and the last.
    step : float, default=1.0
        The octaves between two of them.

    Examples
    --------
    >>> grid = AlphaGrid.around(4.0)
    >>> len(grid.alphas), grid.alphas[-3:]
    (21, array([ 32.,  64., 128.]))
    >>> grid.explored(lambda alphas: -abs(np.log2(alphas / 1000))).alphas[-3:]
    array([1024., 2048., 4096.])
    """

    alphas: Float
    scale: float | None = None
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0

    @classmethod
    def given(cls, alphas: Any) -> Self:
        """Take alphas as they are."""
        return cls(np.array(check_alphas(alphas)))

    @classmethod
    def around(cls, scale: float, *, whole: bool = False, step: float = 1.0) -> Self:
        """Take powers of two times a scale.

        Parameters
        ----------
        scale : float
        whole : bool, default=False
            Whether to take the whole range at once, where the grid must not depend on labels or is cheap.
        step : float, default=1.0
            The octaves between two alphas; a divisor of five.
        """
        return cls._between(scale, *(LIMITS if whole else START), step)

    @classmethod
    def of(cls, alphas: Any, features: Features, graph: ItemScores | ScoredQueries, *, whole: bool = False) -> Self:
        """Return the grid that a parameter `alphas` stands for, on some items and a graph without labels."""
        return cls.around(alpha_scale(features, graph), whole=whole) if is_auto(alphas) else cls.given(alphas)

    @classmethod
    def _between(cls, scale: float, low: float, high: float, step: float) -> Self:
        exponents = low + step * np.arange(round((high - low) / step) + 1)
        alphas: Float = scale * np.exp2(exponents)
        return cls(alphas, scale, low, high, step)

    def explored(self, measure: Callable[[Float], Float]) -> Self:
        """Measure the alphas, and more of them while the best lie at an edge and the range is not used up.

        Parameters
        ----------
        measure : callable
            Takes alphas (n,) and returns how good they are, shape (n,) or (choices, n); higher is better. It is called
            once for the grid, and once for each extension with the new alphas only.

        Returns
        -------
        AlphaGrid
            All that was measured, in ascending order unless it was given.
        """
        grid, alphas, values = self, self.alphas, np.atleast_2d(measure(self.alphas))
        while (wider := grid._wider([edge_of(alphas, row) for row in values])) is not None:
            new = wider.alphas[~np.isin(wider.alphas, alphas)]
            alphas, values = np.append(alphas, new), np.hstack([values, np.atleast_2d(measure(new))])
            grid = wider
        return grid

    def _wider(self, edges: list[int]) -> Self | None:
        """Return the grid with more alphas at the edges where the best ones are; None if there are none to add."""
        if self.scale is None:
            return None
        low = max(self.low - EXTENSION, LIMITS[0]) if -1 in edges else self.low
        high = min(self.high + EXTENSION, LIMITS[1]) if 1 in edges else self.high
        return None if (low, high) == (self.low, self.high) else self._between(self.scale, low, high, self.step)

    def warn_at_edge(self, values: Float, *, stacklevel: int = 2) -> None:
        """Warn if the best alpha is at an edge, and better than every one inside.

        Parameters
        ----------
        values : ndarray, shape (n,) or (choices, n)
            How good each of `alphas` is.
        """
        for row in np.atleast_2d(values):
            edge = edge_of(self.alphas, row)
            if edge:
                side, more = ("smallest", "smaller") if edge < 0 else ("largest", "larger")
                advice = f"try {more} ones"
                if self.scale is not None:
                    advice = f"alphas='auto' goes no further; scale the columns of X, or give {more} alphas"
                warnings.warn(
                    f"the best alpha, {self.alphas[np.argmax(row)]:g}, is the {side} of the grid: {advice}",
                    EdgeOfGridWarning,
                    stacklevel=stacklevel + 1,
                )
                return


def grid_for(
    learner: Any, X: Any, alphas: Any, *, qid: Any = None, sample_weight: Any = None, whole: bool = False
) -> AlphaGrid:
    """Return the grid that a parameter `alphas` stands for with a learner and its training items.

    Parameters
    ----------
    learner : RLS, RankRLS or RankSVM
        Not fitted; its kernel, basis and query weights are used.
    X : array-like or sparse matrix, shape (m, n_features)
    alphas : "auto" or array-like of float
    qid : sequence, shape (m,), optional
    sample_weight : array-like, shape (m,), optional
    whole : bool, default=False
        As in `AlphaGrid.around`.

    Returns
    -------
    AlphaGrid
    """
    if not is_auto(alphas):
        return AlphaGrid.given(alphas)
    learner = learner._settled(X)
    X = learner._check_items(X, reset=True)
    unlabelled = learner._unlabelled(Queries.from_labels(qid, X.shape[0]), check_weight(sample_weight, X.shape[0]))
    return AlphaGrid.around(alpha_scale(KernelLearner._features(learner, X), unlabelled), whole=whole)

"""A plot of permutation importances: one line for each feature, the most important at the top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelrank.errors import InvalidInputError
from kernelrank.report.displays import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernelrank.model_selection.permutation import PermutationImportance

__all__ = ["ImportanceDisplay"]


class ImportanceDisplay(Display):
    """Plot of the most important features with their confidence intervals.

    Parameters
    ----------
    importance : PermutationImportance
        What `permutation_importance` returns.
    k : int, default=20
        How many features are drawn.

    Attributes
    ----------
    ax_, figure_
        Matplotlib objects, set by `plot`.

    Examples
    --------
    >>> from kernelrank import RankRLS, make_ranking, permutation_importance
    >>> X, y, qid = make_ranking(n_queries=10, n_features=3, random_state=0)
    >>> found = permutation_importance(RankRLS().fit(X, y, qid=qid), X, y, qid, random_state=0)
    >>> ImportanceDisplay(found, k=2).k
    2
    """

    def __init__(self, importance: PermutationImportance, *, k: int = 20) -> None:
        if k < 1:
            raise InvalidInputError(f"Expected k of at least 1; got {k!r}.")
        self.importance = importance
        self.k = k

    def _n_rows(self) -> int:
        return min(self.k, len(self.importance.order))

    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        """Draw a mark and a line for each feature."""
        found = self.importance
        shown = found.order[: self.k]
        places = -np.arange(len(shown), dtype=float)
        middle = found.importances[shown]
        lengths = np.abs(np.stack([middle - found.low[shown], found.high[shown] - middle]))
        ax.errorbar(middle, places, xerr=lengths, **{"fmt": "o", "capsize": 2.5, "color": "C0", **line_options})
        ax.axvline(0.0, color="0.5", linestyle=":", linewidth=1)
        ax.set_yticks(places, [str(name) for name in found.feature_names[shown]], parse_math=False)
        ax.set(xlabel=f"fall of {found.label.split(' (')[0]} when permuted", ylim=(places[-1] - 0.6, 0.6))

"""From a comparison graph to its pairs."""

from __future__ import annotations

from kernelrank.comparisons import Comparisons, ScoredQueries
from kernelrank.losses.base import Pairs
from kernelrank.losses.listed_pairs import ListedPairs
from kernelrank.losses.scored_pairs import ScoredPairs

__all__ = ["observed_pairs"]


def observed_pairs(comparisons: Comparisons) -> Pairs:
    """Return the pairs that a graph compares, with their weights; magnitudes and ties are left behind.

    Parameters
    ----------
    comparisons : ScoredQueries or Preferences
        Scored queries have one output.

    Returns
    -------
    Pairs

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank.queries import Queries
    >>> graph = ScoredQueries(np.array([[3.0], [1.0], [1.0]]), Queries.from_labels(None, 3), ties="exclude")
    >>> observed_pairs(graph).total
    2.0
    """
    listed = comparisons.listed_pairs()
    if listed is not None:
        return ListedPairs(comparisons.n_items, *listed)
    if isinstance(comparisons, ScoredQueries) and comparisons.scores.shape[1] == 1:
        return ScoredPairs(
            comparisons.scores[:, 0],
            comparisons.queries,
            comparisons.weight,
            comparisons.query_weight,
            comparisons.levels,
        )
    raise TypeError(f"pairs come from preferences or from scored queries of one output, not {comparisons!r}")

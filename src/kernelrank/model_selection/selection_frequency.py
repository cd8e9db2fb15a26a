"""How stable a feature selection is: how often each feature is selected from halves of the data.

Stability selection [MB10]_ selects q features from each of many random halves. Of p features, those that at least a
share π > ½ of the halves select are kept; at most ``q² / ((2π - 1) p)`` of them are expected to be false. The bound
assumes that all false features are equally likely to be selected, and true ones no less likely.

References
----------
.. [MB10] Meinshausen and Bühlmann (2010). Stability selection. Journal of the Royal Statistical Society B 72(4).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import joblib
import numpy as np
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, Index, one_pool
from kernelrank.base.progress import track, verbosely
from kernelrank.base.results import Result
from kernelrank.errors import InvalidInputError
from kernelrank.model_selection.item_folds import deal_items
from kernelrank.model_selection.selection_path import SelectionData, SelectionPath

__all__ = ["SelectionStability", "selection_stability"]


@dataclass(frozen=True, eq=False, repr=False)
class SelectionStability(Result):
    """How often each feature was selected.

    Parameters
    ----------
    features : tuple
        The features that were selected at least once, the most frequent first: names, or columns.
    frequency : ndarray, shape (len(features),)
        The share of the subsamples that selected each.
    n_selected : float
        How many features a subsample selected, on average: q.
    n_features : int
        How many features there were: p.
    n_subsamples : int

    Examples
    --------
    >>> found = SelectionStability(("age", "dose"), np.array([1.0, 0.6]), 2.0, 40, 100)
    >>> found.stable(0.9), round(found.expected_false(0.9), 3)
    (['age'], 0.125)
    >>> print(found)
    1 feature selected by at least 90% of 100 halves, of which at most 0.12 are expected to be false: age
    """

    features: tuple[Any, ...]
    frequency: Float
    n_selected: float
    n_features: int
    n_subsamples: int

    def stable(self, threshold: float = 0.9) -> list[Any]:
        """Return the features that at least a share of the subsamples selected.

        Parameters
        ----------
        threshold : float, default=0.9
            Above a half, at most one.

        Returns
        -------
        list
        """
        _check_threshold(threshold)
        return [name for name, share in zip(self.features, self.frequency, strict=True) if share >= threshold - 1e-12]

    def expected_false(self, threshold: float = 0.9) -> float:
        """Return how many of these are expected to be false, at most: the bound of [MB10].

        Parameters
        ----------
        threshold : float, default=0.9
            Above a half, at most one.

        Returns
        -------
        float
        """
        _check_threshold(threshold)
        return float(self.n_selected**2 / ((2 * threshold - 1) * self.n_features))

    def __str__(self) -> str:
        stable = self.stable()
        names = ", ".join(map(str, stable[:10])) + (", …" if len(stable) > 10 else "")
        return (
            f"{len(stable)} feature{'' if len(stable) == 1 else 's'} selected by at least 90% of {self.n_subsamples} "
            f"halves, of which at most {self.expected_false():.2g} are expected to be false"
            + (f": {names}" if stable else "")
        )

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("halves of the data", f"{self.n_subsamples:,}"),
            ("features selected from each", f"{self.n_selected:.4g} of {self.n_features:,}"),
            *(
                (
                    f"selected by at least {100 * threshold:.0f}%",
                    f"{len(self.stable(threshold))} features, of which at most {self.expected_false(threshold):.2g} "
                    "are expected to be false",
                )
                for threshold in (0.9, 0.75, 0.6)
            ),
            ("most frequent", ", ".join(map(str, self.features[:10]))),
        ]

    def _columns(self) -> dict[str, Any]:
        bound = np.full(len(self.frequency), np.inf)
        often = self.frequency > 0.5
        bound[often] = self.n_selected**2 / ((2 * self.frequency[often] - 1) * self.n_features)
        return {"feature": list(self.features), "frequency": self.frequency, "expected_false": bound}


@one_pool
def selection_stability(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    n_subsamples: int = 100,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: bool = False,
) -> SelectionStability:
    """Count how often each feature is selected on random halves of the data (stability selection).

    Parameters
    ----------
    estimator : GreedyRankRLS, GreedyRLS, or a pipeline that ends with one
        ``n_features_to_select="auto"`` chooses a number of features from all items; all halves then select so many.
    X : array-like or sparse matrix, shape (m, n_features)
    y : array-like, shape (m,)
        Scores, or any two labels; each half has its share of low and high ones.
    qid : sequence, shape (m,), optional
        The query of each item: halves are then halves of the queries.
    n_subsamples : int, default=100
        How many halves are drawn.
    n_jobs : int, optional
        The number of parallel selections.
    random_state : int, RandomState or None, default=None
        Random seed for drawing the halves.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    SelectionStability

    Notes
    -----
    Time: one selection for each half. A feature with the weight zero does not count as selected: if no feature lowers
    the error any more, the search adds features that are constant in a half. [MB10]_ recommends
    thresholds from 0.6 to 0.9. The fewer features each half selects, the fewer false ones are expected.

    References
    ----------
    .. [MB10] Meinshausen and Bühlmann (2010). Stability selection. Journal of the Royal Statistical Society B 72(4).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import GreedyRankRLS, selection_stability
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 30))
    >>> y = X[:, 3] + X[:, 7] + 0.3 * rng.standard_normal(80)
    >>> found = selection_stability(GreedyRankRLS(2), X, y, n_subsamples=20, random_state=0)
    >>> sorted(found.stable(0.9))
    [3, 7]
    """
    if verbose:
        return verbosely(selection_stability, locals())
    if not isinstance(n_subsamples, Integral) or n_subsamples < 1:
        raise InvalidInputError(f"Expected n_subsamples as a whole number of at least 1; got {n_subsamples!r}.")
    random = check_random_state(random_state)
    data = SelectionData.read(estimator, X, y, qid)
    whole = SelectionPath.fitted(estimator, data)
    halves = [_half(data, random) for _ in range(int(n_subsamples))]
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    jobs = (joblib.delayed(_selected)(estimator, data, half, len(whole)) for half in halves)
    counts = np.zeros(whole.selector.n_features_in_)
    for columns in track(parallel(jobs), len(halves), "selecting features", noun="halves"):
        counts[columns] += 1
    # The most frequent first; of equally frequent ones the lowest column.
    order = np.argsort(-counts, kind="stable")[: int(np.sum(counts > 0))]
    return SelectionStability(
        tuple(whole.name(int(column)) for column in order),
        counts[order] / len(halves),
        float(counts.sum() / len(halves)),
        len(counts),
        len(halves),
    )


def _half(data: SelectionData, random: np.random.RandomState) -> Index:
    """Draw half of the items, or the items of half of the queries."""
    if data.qid is None:
        return deal_items(data.y, 2, random)[0]
    queries = np.unique(data.qid)
    if len(queries) < 2:
        raise InvalidInputError("Expected at least two queries, because halves of the queries are drawn; got one.")
    return np.flatnonzero(np.isin(data.qid, random.permutation(queries)[: len(queries) // 2]))


def _selected(estimator: Any, data: SelectionData, half: Index, n_features: int) -> Index:
    """Return the columns that are selected from some items and have a weight: one that is constant there has none."""
    last = SelectionPath.fitted(estimator, data.part(half), n_features).steps[-1]
    return np.asarray(last["columns"][last["coefficients"] != 0.0])


def _check_threshold(threshold: float) -> None:
    if not 0.5 < threshold <= 1:
        raise InvalidInputError(f"Expected a threshold above 0.5 and at most 1; got {threshold!r}.")

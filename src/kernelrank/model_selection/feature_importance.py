"""Permutation importance that respects queries: a feature is permuted among the items of each query only.

scikit-learn's `permutation_importance` permutes over all items and takes no `qid`. Items of different queries are never
compared, so differences of a feature *between* queries do not affect a ranking; permuting over all items would include
them.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, Index, Labels, is_sparse, one_pool
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track, verbosely
from kernelrank.base.results import Result
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.interval import check_confidence, mean_interval
from kernelrank.metrics.measure import Measure
from kernelrank.metrics.named_measures import get_measure
from kernelrank.metrics.scorer import predicted_scores

__all__ = ["PermutationImportance", "permutation_importance"]


@dataclass(frozen=True, eq=False, repr=False)
class PermutationImportance(Result):
    """How much a measure falls when one feature is permuted, for each feature.

    Parameters
    ----------
    feature_names : ndarray of str, shape (n_features,)
    importances : ndarray, shape (n_features,)
        The fall of the measure, averaged over repeats and queries. Zero or below: the model does not need the feature.
    low, high : ndarray, shape (n_features,)
        Confidence intervals.
    repeats : ndarray, shape (n_features, n_repeats)
        The fall in each repeat.
    baseline : float
        The measure without permutation.
    label : str
        The measure with its conventions.
    method : str
        What the intervals allow for.
    """

    feature_names: NDArray[Any]
    importances: Float
    low: Float
    high: Float
    repeats: Float
    baseline: float
    label: str
    method: str

    @property
    def order(self) -> Index:
        """The features from the most important to the least."""
        return np.argsort(-self.importances, kind="stable").astype(np.int64)

    def __str__(self) -> str:
        best = ", ".join(f"{self.feature_names[j]} {self.importances[j]:.3g}" for j in self.order[:3])
        more = ", ..." if len(self.importances) > 3 else ""
        return f"fall of {self.label} from {self.baseline:.3f}: {best}{more}"

    def _facts(self) -> list[tuple[str, str]]:
        rows = [
            (str(self.feature_names[j]), f"{self.importances[j]:.4f} ({self.low[j]:.4f} to {self.high[j]:.4f})")
            for j in self.order[:20]
        ]
        return [
            ("measure", self.label),
            ("without permutation", f"{self.baseline:.4f}"),
            *rows,
            ("interval", self.method),
        ]

    def _columns(self) -> dict[str, Any]:
        order = self.order
        return {
            "feature": self.feature_names[order],
            "importance": self.importances[order],
            "low": self.low[order],
            "high": self.high[order],
        }

    def plot(self, ax: Any = None, *, k: int = 20, **line_options: object) -> Any:
        """Draw the k most important features with their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Created if omitted.
        k : int, default=20
        line_options
            For matplotlib's `errorbar`.

        Returns
        -------
        kernelrank.report.ImportanceDisplay
        """
        from kernelrank.report.importance import ImportanceDisplay

        return ImportanceDisplay(self, k=k).plot(ax=ax, **line_options)


@one_pool
def permutation_importance(
    model: BaseEstimator,
    X: Any,
    y: ArrayLike,
    qid: Labels | None = None,
    *,
    scoring: str | Measure = "pairwise_accuracy",
    n_repeats: int = 5,
    feature_names: Sequence[str] | None = None,
    confidence: float = 0.95,
    random_state: int | np.random.RandomState | None = None,
    verbose: bool = False,
) -> PermutationImportance:
    """Measure how much a ranking needs each feature, by permuting the feature within each query.

    Parameters
    ----------
    model : estimator
        Fitted, with `predict`; a pipeline works too.
    X : array, data frame or sparse matrix, shape (m, n_features)
        Items that the model was not trained on.
    y : array-like, shape (m,)
        Their true scores.
    qid : sequence, optional
        The query of each item. Without it all items are one query.
    scoring : str or Measure, default="pairwise_accuracy"
        As `kernelrank.metrics.get_measure` takes it, such as "ndcg@10".
    n_repeats : int, default=5
        How often each feature is permuted.
    feature_names : sequence of str, optional
        The columns of a data frame, or x0, x1, ..., unless given.
    confidence : float, default=0.95
    random_state : int, RandomState or None
        For the permutations and the bootstrap over queries.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    PermutationImportance

    Notes
    -----
    Time: n_features × n_repeats predictions and measurements. Memory: one changed copy of X, dense or sparse.

    With two or more measured queries the intervals are over queries, corrected for skewness: they allow for other
    queries. With one query they are normal intervals over the repeats, which allow for other permutations only.
    Features that are strongly correlated share their importance: permuting one of them leaves the others.

    Examples
    --------
    >>> from kernelrank import RankRLS, make_ranking
    >>> X, y, qid = make_ranking(n_queries=20, n_features=3, random_state=0)
    >>> found = permutation_importance(RankRLS().fit(X, y, qid=qid), X, y, qid, random_state=0)
    >>> found.importances.shape, bool(np.all(found.low <= found.high))
    ((3,), True)
    """
    if verbose:
        return verbosely(permutation_importance, locals())
    measure = get_measure(scoring)
    check_confidence(confidence)
    if not isinstance(n_repeats, numbers.Integral) or n_repeats < 1:
        raise InvalidInputError(f"Expected n_repeats as a whole number of at least 1; got {n_repeats!r}.")
    columns = _Columns(X, feature_names)
    random = check_random_state(random_state)
    truth, sign = np.asarray(y), 1.0 if measure.higher_is_better else -1.0
    queries = Queries.from_labels(np.zeros(columns.n_items, dtype=int) if qid is None else qid, columns.n_items)
    base = measure(truth, predicted_scores(model, X), qid=qid)
    falls = np.empty((columns.n_features, int(n_repeats), len(base.values)))
    for feature in track(range(columns.n_features), columns.n_features, "permuting", noun="features"):
        for repeat in range(int(n_repeats)):
            changed = columns.permuted(feature, _within_queries(queries, random))
            values = measure(truth, predicted_scores(model, changed), qid=qid).values
            falls[feature, repeat] = sign * (base.values - values)
    reach = measure.bounds[1] - measure.bounds[0]
    low, high, method = _intervals(falls, confidence, (-reach, reach))
    return PermutationImportance(
        columns.names, falls.mean(axis=(1, 2)), low, high, falls.mean(axis=2), base.mean, base.label, method
    )


def _intervals(falls: Float, confidence: float, bounds: tuple[float, float]) -> tuple[Float, Float, str]:
    """Return intervals over queries, or over repeats if there is one query."""
    n_repeats, n_queries = falls.shape[1:]
    if n_queries > 1:
        found = [tuple(mean_interval(of_queries, confidence, "", bounds)) for of_queries in falls.mean(axis=1)]
        low, high = np.array(found).T
        return low, high, f"{n_queries} queries, corrected for skewness; the model does not vary"
    from scipy.special import ndtri

    of_repeats = falls[:, :, 0]
    spread = of_repeats.std(axis=1, ddof=1) if n_repeats > 1 else np.full(len(falls), np.inf)
    half = float(ndtri((1 + confidence) / 2)) * spread / np.sqrt(n_repeats)
    middle = of_repeats.mean(axis=1)
    return middle - half, middle + half, f"{n_repeats} permutations; other items are not allowed for"


def _within_queries(queries: Queries, random: np.random.RandomState) -> Index:
    """Draw a permutation of the items that keeps each query to itself."""
    permutation = np.empty(len(queries.codes), dtype=np.int64)
    permutation[np.argsort(queries.codes, kind="stable")] = np.lexsort(
        (random.random_sample(len(queries.codes)), queries.codes)
    )
    return permutation


class _Columns:
    """X, and X with one column permuted."""

    def __init__(self, X: Any, feature_names: Sequence[str] | None) -> None:
        self.X = csc_array(X) if is_sparse(X) else X
        self.n_items, self.n_features = self.X.shape
        unnamed = [f"x{number}" for number in range(self.n_features)]  # as explanations and reports call them
        known = getattr(X, "columns", unnamed) if feature_names is None else feature_names
        self.names = np.array([str(name) for name in known], dtype=object)
        if len(self.names) != self.n_features:
            raise InvalidInputError(
                f"Expected one feature name for each of {self.n_features} columns; got {len(self.names)}."
            )

    def permuted(self, feature: int, permutation: Index) -> Any:
        """Return a copy of X in which row i has the value that row permutation[i] had."""
        if is_sparse(self.X):
            changed = self.X.copy()
            entries = slice(changed.indptr[feature], changed.indptr[feature + 1])
            place = np.empty(self.n_items, dtype=np.int64)
            place[permutation] = np.arange(self.n_items)
            rows = place[changed.indices[entries]]
            order = np.argsort(rows)
            changed.indices[entries], changed.data[entries] = rows[order], changed.data[entries][order]
            return changed
        if hasattr(self.X, "iloc"):
            changed = self.X.copy()
            changed[changed.columns[feature]] = self.X.iloc[:, feature].to_numpy()[permutation]
            return changed
        if hasattr(self.X, "with_columns"):  # Polars
            name = self.X.columns[feature]
            return self.X.with_columns(self.X[name].gather(permutation).alias(name))
        changed = np.array(self.X)
        changed[:, feature] = changed[permutation, feature]
        return changed

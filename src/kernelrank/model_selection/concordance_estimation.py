"""An honest concordance: items are scored by models that were chosen and trained without their fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.validation import _num_samples

from kernelrank.arrays import Float, Index, is_structured
from kernelrank.charts import Estimates
from kernelrank.errors import InvalidInputError
from kernelrank.lifetimes import Lifetimes, event_times
from kernelrank.metrics import Concordance, ConcordanceResult, Interval
from kernelrank.model_selection.holdout import holdout
from kernelrank.progress import verbosely
from kernelrank.queries import Queries
from kernelrank.result import Result
from kernelrank.threads import one_pool

__all__ = ["ConcordanceEstimate", "estimate_concordance"]


@dataclass(frozen=True, eq=False, repr=False)
class ConcordanceEstimate(Result):
    """The estimated concordance of an estimator on new items, with its interval.

    Parameters
    ----------
    result : ConcordanceResult
        Over the pairs inside folds, and inside strata.
    interval : Interval
    scores : ndarray, shape (m,)
        Held-out scores; those of one fold come from one model.
    folds : ndarray of int64, shape (m,)
    lifetimes : Lifetimes

    Examples
    --------
    >>> from kernelrank import RankRLS, estimate_concordance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 2))
    >>> found = estimate_concordance(RankRLS(), X, np.exp(X[:, 0]), event=rng.random(80) < 0.7)
    >>> found.concordance > 0.9, found.thirds().tolist().count(0)
    (True, 30)
    """

    result: ConcordanceResult
    interval: Interval
    scores: Float
    folds: Index
    lifetimes: Lifetimes

    @property
    def concordance(self) -> float:
        """The concordance index."""
        return self.result.mean

    def thirds(self) -> NDArray[np.int64]:
        """Return the third of its fold that each held-out score lies in: 0 lowest, 1, 2 highest."""
        third = np.empty(len(self.scores), dtype=np.int64)
        for fold in np.unique(self.folds):
            items = np.flatnonzero(self.folds == fold)
            rank = np.empty(len(items), dtype=np.int64)
            rank[np.argsort(self.scores[items], kind="stable")] = np.arange(len(items))
            third[items] = 3 * rank // len(items)
        return third

    def __str__(self) -> str:
        return f"held-out {self.result}, {self.interval}"

    def _facts(self) -> list[tuple[str, str]]:
        n_folds = len(np.unique(self.folds))
        facts = [("held-out concordance", f"{self.concordance:.3f}"), self.interval._fact(), ("folds", f"{n_folds}")]
        return [*facts, *self.result._facts()[2:], ("about the interval", self.interval.method)]

    def _chart(self) -> Estimates:
        row = f"{len(np.unique(self.folds))} folds", self.concordance, *self.interval
        return Estimates([row], "held-out concordance", 0.5)

    def _columns(self) -> dict[str, Any]:
        return {"concordance": [self.concordance], **self.interval._columns(), "n_pairs": [self.result.n_pairs]}


@one_pool
def estimate_concordance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    event: Any = None,
    qid: Any = None,
    cv: int = 5,
    groups: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: bool = False,
) -> ConcordanceEstimate:
    """Estimate the concordance index of an estimator on new items, with a confidence interval.

    For every fold, alpha is chosen and the model is trained on the other folds. Items are compared inside
    a fold only, because scores of different models have no common scale.

    Parameters
    ----------
    estimator : estimator
        `RankRLSCV`, `RankRLS`, `RankSVM`, or any that takes a structured y.
    X : array-like or sparse matrix, shape (m, n_features)
    y : array-like, shape (m,)
        Times, or a structured array of times and events.
    event : array-like of bool, shape (m,), optional
    qid : sequence, shape (m,), optional
        Strata: items are compared inside a stratum only.
    cv : int, default=5
        The number of folds.
    groups : sequence, shape (m,), optional
        Items that depend on each other; they are in the same fold, and the interval is by group.
    sample_weight : array-like, shape (m,), optional
    confidence : float, default=0.95
    n_jobs : int, optional
    random_state : int or RandomState, default=0
        Random seed for shuffling the folds.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    ConcordanceEstimate

    Notes
    -----
    One training, or one search, for each fold. The interval allows for other items being scored, not for other training
    sets.

    Examples
    --------
    >>> from kernelrank import RankRLSCV, estimate_concordance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2))
    >>> time = np.exp(X[:, 0]) * rng.exponential(1.0, 60)
    >>> found = estimate_concordance(RankRLSCV(), X, time, event=rng.random(60) < 0.7)
    >>> found.interval.low < found.concordance < found.interval.high
    True
    """
    if verbose:
        return verbosely(estimate_concordance, locals())
    m, y = _num_samples(X), event_times(y, event)
    lifetimes = Lifetimes.of(y, n_items=m) if is_structured(y) else Lifetimes(np.asarray(y, float), np.ones(m, bool))
    labels = None if groups is None else Queries.from_labels(groups, m, name="groups").codes
    available = m if labels is None else int(labels.max()) + 1
    if not 2 <= cv <= available:
        raise InvalidInputError(f"Expected cv between 2 and {available}, one fold for each item or group; got {cv}.")
    splitter = (
        KFold(cv, shuffle=True, random_state=random_state)
        if labels is None
        else GroupKFold(cv, shuffle=True, random_state=random_state)
    )
    folds = np.empty(m, dtype=np.int64)
    sets = [test for _, test in splitter.split(np.zeros(m), groups=labels)]
    scores = np.empty(m)
    found = holdout(estimator, X, y, sets, qid=qid, sample_weight=sample_weight, n_jobs=n_jobs)
    for number, (test, held_out) in enumerate(zip(sets, found, strict=True)):
        folds[test], scores[test] = number, held_out
    strata = Queries.from_labels(qid, m).codes
    within = strata * cv + folds
    result = Concordance()(y, scores, qid=within, sample_weight=sample_weight)
    interval = result.interval(confidence, groups=labels)
    return ConcordanceEstimate(result, interval, scores, folds, lifetimes)

"""The scores that a report measures: of a test set, or of training items by models that did not see them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from kernelrank.base.arrays import Float, Index, Labels, RandomStateLike
from kernelrank.base.labels import Queries
from kernelrank.errors import InvalidInputError
from kernelrank.model_selection import QueryKFold, leave_query_out
from kernelrank.model_selection.auc_comparison import tournament_scores
from kernelrank.model_selection.holdout import holdout, takes_shortcut
from kernelrank.model_selection.search import AlphaSearch
from kernelrank.report.explanations import scores_of
from kernelrank.report.model_description import describe_holdout

__all__ = ["MeasuredItems"]

TOURNAMENT_ITEMS = 2000
"""Up to this many items of one ranking every pair is held out; their differences take 16 MB then."""

FOLDS = 5


@dataclass(frozen=True, eq=False)
class MeasuredItems:
    """Items with true and predicted scores.

    Parameters
    ----------
    X : matrix, shape (m, n)
    y : ndarray, shape (m,)
        True scores.
    scores : ndarray, shape (m,)
        Predicted ones, that can be compared inside each query.
    qid : ndarray, shape (m,), or None
        Queries, or the folds of one ranking; None for one ranking as a whole.
    ids : sequence, shape (m,), or None
    how : str
        Where the scores come from, as part of a sentence.
    chose_alpha : bool
        Whether the same scores chose alpha, so that they flatter a little.
    folds : bool
        Whether qid holds folds instead of queries.
    """

    X: Any
    y: Float
    scores: Float
    qid: Labels | None
    ids: Labels | None
    how: str
    chose_alpha: bool = False
    folds: bool = False

    @classmethod
    def of_test(cls, model: BaseEstimator, X: Any, y: Float, qid: Labels | None, ids: Labels | None) -> MeasuredItems:
        """Score a test set."""
        return cls(X, y, scores_of(model, X), qid, ids, "a test set that training has not seen")

    @classmethod
    def held_out(
        cls,
        model: BaseEstimator,
        X: Any,
        y: Float,
        target: ArrayLike,
        qid: Labels | None,
        ids: Labels | None,
        *,
        given: ArrayLike | None = None,
        random_state: RandomStateLike = 0,
    ) -> MeasuredItems:
        """Score the training items by models that did not see them.

        Parameters
        ----------
        model : estimator
            Fitted; a search over alpha is taken with the alpha that it chose.
        X, qid, ids
            The training data.
        y : ndarray, shape (m,)
            True scores.
        target : array-like, shape (m,)
            What the model was fitted to: the scores, or classes.
        given : array-like, shape (m,), optional
            Held-out scores that are known already; NaN where there is none.
        random_state : int, RandomState or None, default=0
            Shuffles items into folds.

        Returns
        -------
        MeasuredItems

        Notes
        -----
        RLS and RankRLS take one decomposition; others are refitted five times.
        """
        several = qid is not None and len(Queries.from_labels(qid, len(y))) > 1
        if given is not None:
            scores, how = _check_given(given, len(y)), "training items, by held-out scores that were given"
            # The scores of the search itself may be what is given.
            known = getattr(model, "holdout_scores_", None)
            chose = known is not None and np.array_equal(scores, known, equal_nan=True)
            return cls(X, y, scores, qid, ids, how, chose_alpha=chose)
        plain = _plain(model)
        chose = plain is not model
        known = getattr(model, "holdout_scores_", None)
        if several and known is not None:
            how = f"training items, scored by models that did not see them ({describe_holdout(model, queries=True)})"
            return cls(X, y, known, qid, ids, how, chose_alpha=True)
        exact = takes_shortcut(plain)
        if several and exact:
            how = "training items, each query scored by the model trained without it (leave-query-out, exact)"
            return cls(X, y, leave_query_out(plain, X, target, qid), qid, ids, how, chose_alpha=chose)
        if not several and exact and len(y) <= TOURNAMENT_ITEMS:
            how = (
                "training items, each pair ordered by the model trained without both; the score of an item is its "
                "number of wins (leave-pair-out, exact)"
            )
            return cls(X, y, tournament_scores(plain, X, target), None, ids, how, chose_alpha=chose)
        sets = _folds(len(y), qid if several else None, random_state)
        scores = np.full(len(y), np.nan)
        # Routing carries the queries to the last step of a pipeline.
        with sklearn.config_context(enable_metadata_routing=True):
            held = holdout(plain, X, target, sets, qid=qid if several else None)
        for items, part in zip(sets, held, strict=True):
            scores[items] = part
        if several:
            how = f"training items, each of {len(sets)} folds of queries scored by the model trained without it"
            return cls(X, y, scores, qid, ids, how, chose_alpha=chose)
        folds = np.empty(len(y), dtype=np.int64)
        for number, items in enumerate(sets, start=1):
            folds[items] = number
        how = f"training items; each of {len(sets)} folds scored by a model trained without it, and measured by itself"
        return cls(X, y, scores, folds, ids, how, chose_alpha=chose, folds=True)

    def scored(self) -> MeasuredItems:
        """Keep the items that have a true and a predicted score."""
        kept = np.flatnonzero(~(np.isnan(self.y) | np.isnan(self.scores)))
        if len(kept) == len(self.y):
            return self
        if len(kept) == 0:
            raise InvalidInputError("no item has both a true and a held-out score: there is nothing to measure")
        return replace(
            self,
            X=_safe_indexing(self.X, kept),
            y=self.y[kept],
            scores=self.scores[kept],
            qid=_taken(self.qid, kept),
            ids=_taken(self.ids, kept),
        )


def _taken(labels: Labels | None, kept: Index) -> list[Any] | None:
    if labels is None:
        return None
    every = list(labels)  # a column of a data frame is read by place, whatever its index says
    return [every[number] for number in kept.tolist()]


def _check_given(given: ArrayLike, n_items: int) -> Float:
    scores = np.asarray(given, dtype=np.float64)
    if scores.shape != (n_items,):
        raise InvalidInputError(f"held_out has shape {scores.shape}, but there are {n_items} items")
    return scores


def _plain(model: BaseEstimator) -> BaseEstimator:
    """Return the learner that a search found, without the search."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if not isinstance(model, AlphaSearch):
        return model
    setting = {name: value for name, value in model.best_params_.items() if name != "alpha"}
    return model._learner(setting).set_params(alpha=float(model.alpha_), gamma=model.gamma_)


def _folds(n_items: int, qid: Labels | None, random_state: RandomStateLike) -> list[Index]:
    """Cut queries, or the shuffled items of one ranking, into folds."""
    none = np.zeros((n_items, 1))
    if qid is None:
        return [test for _, test in KFold(FOLDS, shuffle=True, random_state=random_state).split(none)]
    queries = Queries.from_labels(qid, n_items)
    return [test for _, test in QueryKFold(min(FOLDS, len(queries))).split(none, groups=queries.codes)]

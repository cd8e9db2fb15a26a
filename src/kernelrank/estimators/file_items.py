"""Predictions for files: `predict` and `score` take a path and read it in batches.

A model that knows its columns by name finds them by name, wherever they stand. Any other takes all columns that hold
numbers, as `fit` does, and there must be as many as it was fitted to.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.progress import track
from kernelrank.base.validation import FilePath, is_path, mapped
from kernelrank.data.ranking import Ranking
from kernelrank.data.stored import StoredRanking, open_stored

if TYPE_CHECKING:
    from kernelrank.estimators.base import KernelLearner

__all__ = ["predict_file", "predict_scored", "predict_scored_file"]


def predict_file(learner: KernelLearner, path: FilePath) -> NDArray[Any]:
    """Return what a fitted model predicts for the items of a file. Memory one batch and the predictions."""
    stored = _open(learner, path, None, None, needs_target=False)
    return np.concatenate(_for_each_chunk(stored, lambda chunk: learner._raw_scores(chunk.X)))


def predict_scored(learner: KernelLearner, X: Any, y: Any, qid: Any) -> tuple[NDArray[Any], Any, Any]:
    """Return predictions, scores and queries of items in memory or in a file."""
    check_is_fitted(learner)
    X, y, qid = mapped(X), mapped(y), mapped(qid)
    return predict_scored_file(learner, X, y, qid) if is_path(X) else (learner.predict(X), y, qid)


def predict_scored_file(
    learner: KernelLearner, path: FilePath, target: str | None, query: str | None
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[Any] | None]:
    """Return predictions, scores and queries of the items of a file.

    Parameters
    ----------
    learner : fitted estimator with predict
    path : str or path-like
    target, query : str, optional
        The columns of scores and of queries.
    """
    stored = _open(learner, path, target, query, needs_target=True)
    parts = _for_each_chunk(stored, lambda chunk: (learner.predict(chunk.X), chunk.y, chunk.qid))
    predicted, scores, queries = zip(*parts, strict=True)
    return np.concatenate(predicted), np.concatenate(scores), np.concatenate(queries) if stored.has_queries else None


def _open(
    learner: KernelLearner, path: FilePath, target: str | None, query: str | None, *, needs_target: bool
) -> StoredRanking:
    names = getattr(learner, "feature_names_in_", None)
    return open_stored(
        path,
        target=target,
        query=query,
        features=None if names is None else [str(name) for name in names],
        n_features=learner.n_features_in_,
        needs_target=needs_target,
    )


def _for_each_chunk(stored: StoredRanking, work: Callable[[Ranking], Any]) -> list[Any]:
    """Read the items and return what is made of each chunk; a terminal shows how far."""
    reading = track(
        stored.chunks(whole_queries=False),
        stored.n_items,
        f"predicting {Path(stored.path).name}",
        size=lambda chunk: len(chunk.y),
        noun="rows",
    )
    with closing(reading), warnings.catch_warnings():
        # Columns of a file were chosen by name already; the array that they make has none.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return [work(chunk) for chunk in reading]

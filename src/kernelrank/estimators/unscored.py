"""Unscored items: an array, a file or folder, or blocks that come one after the other, read once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from kernelrank.base.arrays import Index, Matrix, block_rows
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.comparisons.stream_scatter import StreamScatter
from kernelrank.data.stored import open_stored
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators.agreement import Agreement
from kernelrank.estimators.base import KernelLearner
from kernelrank.features.views import JointRows, ViewMap

__all__ = ["UnscoredItems"]

Piece: TypeAlias = tuple[Matrix, Index]
"""Some items, and the numbers of their queries."""

PIECE_BYTES = 2**22
"""The size of the features of all views that are held at once."""


class UnscoredItems:
    """Items in queries, without scores.

    Parameters
    ----------
    first : array or sparse matrix
        The items that a basis may be drawn from: all, or those of the first block.
    cut : callable
        Gives all items in pieces ``(X, codes)`` of at most so many rows, with the numbers of their queries; the items
        of a query are contiguous.
    n_items : int or None
        How many there are, where that is known.
    """

    def __init__(self, first: Matrix, cut: Callable[[int], Iterator[Piece]], n_items: int | None) -> None:
        self.first, self.cut, self.n_items = first, cut, n_items

    @classmethod
    def read(cls, learner: KernelLearner, X: Any, qid: Any) -> UnscoredItems:
        """Read the argument `X_unscored` of a learner that knows its features."""
        if isinstance(X, (str, os.PathLike)):
            if not (qid is None or isinstance(qid, str)):
                raise InvalidInputError("X_unscored is a path, so qid_unscored must be the name of its query column")
            names = getattr(learner, "feature_names_in_", None)
            stored = open_stored(
                X,
                query=qid,
                features=None if names is None else list(names),
                n_features=learner.n_features_in_,
                needs_target=False,
            )
            return cls._stream(learner, stored.chunks(whole_queries=False), named=False)
        if _is_stream(X):
            if qid is not None:
                raise InvalidInputError("X_unscored has blocks (X, qid), so qid_unscored must not be given")
            return cls._stream(learner, iter(X), named=True)
        if _is_empty(X):
            raise NothingToCompareError("no unscored query: X_unscored is empty")
        try:
            items = learner._check_items(X, reset=False)
        except ValueError as error:
            raise InvalidInputError(f"X_unscored: {error}") from error
        return cls.of_array(items, Queries.from_labels(qid, items.shape[0], name="qid_unscored"))

    @classmethod
    def of_array(cls, X: Matrix, queries: Queries) -> UnscoredItems:
        """Take checked items with queries in any order."""
        return cls(X, partial(_cut_array, X, queries), X.shape[0])

    @classmethod
    def _stream(cls, learner: KernelLearner, blocks: Iterator[Any], *, named: bool) -> UnscoredItems:
        checked = _checked(learner, blocks, named=named)
        first = next(checked, None)
        if first is None:
            raise NothingToCompareError("no unscored query: X_unscored is empty")
        return cls(first[0], partial(_cut_blocks, chain([first], checked)), None)

    def agreement(self, views: Sequence[ViewMap], query_weight: QueryWeight) -> Agreement:
        """Sum the agreement of the views over all unscored items; a stream is consumed.

        O(l R²) time for l items with R features in all views together, beside the kernels; memory R² numbers and the
        features of a few items.
        """
        none = Agreement.none([view.rank for view in views])
        scatter = StreamScatter(len(none.gram), query_weight)
        step = block_rows(scatter.n, PIECE_BYTES)
        pieces = track(self.cut(step), self.n_items, "unscored", size=lambda piece: len(piece[1]), noun="items")
        with closing(pieces):
            for X, codes in pieces:
                scatter.add(JointRows(views, X)[:], codes)
        gram = scatter.gram()
        if scatter.n_pairs == 0:
            raise NothingToCompareError(
                f"no unscored query has two items to compare ({scatter.n_items} items, each a query of its own)"
            )
        found = Agreement(gram, none.bounds, scatter.pair_weight, scatter.n_items, scatter.n_queries)
        for number in found.silent([view.kernel_scale for view in views]):
            raise InvalidInputError(
                f"view {number} is constant within each unscored query, so it cannot agree or disagree with the "
                "other views: use other columns or another kernel"
            )
        return found


def _cut_array(X: Matrix, queries: Queries, step: int) -> Iterator[Piece]:
    """Cut the items of an array, sorted by query as they are asked for."""
    for start in range(0, queries.n_items, step):
        rows = slice(start, start + step)
        items = rows if queries.contiguous else queries.order[rows]
        yield X[items], queries.codes[items]


def _cut_blocks(blocks: Iterable[Piece], step: int) -> Iterator[Piece]:
    """Cut blocks, whose sizes somebody else has chosen."""
    for X, codes in blocks:
        for start in range(0, len(codes), step):
            yield X[start : start + step], codes[start : start + step]


def _is_empty(X: object) -> bool:
    """Whether there is not one item."""
    shape = getattr(X, "shape", None)
    if shape is None:
        return isinstance(X, Sequence) and len(X) == 0
    return len(shape) > 0 and shape[0] == 0


def _is_stream(X: object) -> bool:
    """Whether this is an iterable of blocks, and not one array."""
    if hasattr(X, "shape") or hasattr(X, "__array__") or hasattr(X, "__dataframe__"):
        return False
    if isinstance(X, Sequence):
        return len(X) > 0 and isinstance(X[0], tuple) and len(X[0]) >= 2 and hasattr(X[0][0], "shape")
    return isinstance(X, Iterable)


def _checked(learner: KernelLearner, blocks: Iterator[Any], *, named: bool) -> Iterator[Piece]:
    """Check each block and number its queries; an error says which block it is."""
    runs = _Runs()
    for number, block in enumerate(blocks):
        try:
            X, qid = (block.X, block.qid) if hasattr(block, "qid") else block
        except (TypeError, ValueError):
            raise InvalidInputError(f"X_unscored, block {number}: a block must be (X, qid)") from None
        if _is_empty(X):
            continue
        try:
            with warnings.catch_warnings():
                if not named:
                    # Columns of a file were chosen by name already; the array that they make has none.
                    warnings.filterwarnings("ignore", message="X does not have valid feature names")
                items = learner._check_items(X, reset=False)
            yield items, runs.codes(qid, items.shape[0])
        except ValueError as error:
            raise InvalidInputError(f"X_unscored, block {number}: {error}") from error


class _Runs:
    """Numbers the queries of a stream; one that returns after another has begun is an error."""

    def __init__(self) -> None:
        self.number = -1
        self.label: Any = None
        self.seen: set[Any] = set()

    def codes(self, qid: Any, n_items: int) -> Index:
        queries = Queries.from_labels(qid, n_items)
        labels: list[Any] = queries.labels.tolist()
        goes_on = self.number >= 0 and labels[0] == self.label
        again = [label for label in labels[1 if goes_on else 0 :] if label in self.seen]
        if again:
            raise InvalidInputError(f"query {again[0]!r} occurs again after other queries: {TOGETHER}")
        if not queries.contiguous:
            label = labels[int(queries.codes[1:][np.diff(queries.codes) < 0][0])]
            raise InvalidInputError(f"the items of query {label!r} are not contiguous: {TOGETHER}")
        codes: Index = queries.codes + (self.number if goes_on else self.number + 1)
        self.number, self.label = int(codes[-1]), labels[-1]
        self.seen.update(labels)
        return codes


TOGETHER = "in a stream the rows of each query must be contiguous; sort the items by query, or give one array"

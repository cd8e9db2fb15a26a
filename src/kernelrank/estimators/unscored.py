"""Unscored items: an array, a file or folder, or blocks that come one after the other, read once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Any, TypeAlias

import numpy as np

from kernelrank.base.arrays import Float, GramSum, Index, Matrix, block_rows
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track
from kernelrank.comparisons.moments import QueryMoments
from kernelrank.comparisons.scatter import subtract_query_means
from kernelrank.comparisons.scored import QueryWeight, pair_weight
from kernelrank.data.readers import open_stored
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators.base import KernelLearner
from kernelrank.features.views import JointRows, ViewMap

Piece: TypeAlias = tuple[Matrix, Index]
"""Some items, and the numbers of their queries."""

PIECE_BYTES = 2**22
"""The size of the features of all views that are held at once."""


class UnscoredItems:
    """Items in queries, without scores."""

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
        together = "in a stream the rows of each query must be contiguous; sort the items by query, or give one array"
        goes_on = self.number >= 0 and labels[0] == self.label
        again = [label for label in labels[1 if goes_on else 0 :] if label in self.seen]
        if again:
            raise InvalidInputError(f"query {again[0]!r} occurs again after other queries: {together}")
        if not queries.contiguous:
            label = labels[int(queries.codes[1:][np.diff(queries.codes) < 0][0])]
            raise InvalidInputError(f"the items of query {label!r} are not contiguous: {together}")
        codes: Index = queries.codes + (self.number if goes_on else self.number + 1)
        self.number, self.label = int(codes[-1]), labels[-1]
        self.seen.update(labels)
        return codes


# Agreement ------------------------------------------------------------------------------------------------------------
#
# Agreement of several views on unscored items: one matrix for all alphas and nus.
#
# With ``Ψ = [Ψ_1 ... Ψ_M]`` the features of the unscored items in M views and ``𝓛`` their Laplacian, ``G = Ψᵀ 𝓛 Ψ`` has
# the blocks ``G_vu``. Two views ``f_v = Ψ_v w_v`` and ``f_u`` disagree by
#
#     ``d_vu = (f_v - f_u)ᵀ 𝓛 (f_v - f_u) = w_vᵀ G_vv w_v - 2 w_vᵀ G_vu w_u + w_uᵀ G_uu w_u``,
#
# and ``nu Σ_vu d_vu``, over all v and u, is ``wᵀ P w`` with the blocks ``2 nu (M - 1) G_vv`` on the diagonal of P and
# ``-2 nu G_vu`` beside it [TPBSH11]_ (17).


@dataclass(frozen=True)
class Agreement:
    """The scatter of unscored queries in the features of all views.

    Memory R² numbers, whatever the number of unscored items. Each method takes O(R²), `turned` O(R³).

    Shapes: gram (R, R), bounds (M + 1,).
    """

    gram: Float
    bounds: Index
    pair_weight: float = 0.0
    n_items: int = 0
    n_queries: int = 0

    @classmethod
    def none(cls, ranks: Sequence[int]) -> Agreement:
        """Return the agreement on no item, of views with some numbers of features."""
        bounds = np.concatenate([[0], np.cumsum(ranks)]).astype(np.int64)
        return cls(np.zeros((bounds[-1], bounds[-1])), bounds)

    @property
    def parts(self) -> list[slice]:
        """The columns of the features of each view."""
        return [slice(start, stop) for start, stop in pairwise(self.bounds.tolist())]

    def penalty(self, nu: float) -> Float:
        """Return P with ``wᵀ P w = nu Σ_vu d_vu``."""
        P = -2.0 * nu * self.gram
        for part in self.parts:
            P[part, part] *= 1 - len(self.parts)
        return P

    def disagreement(self, w: Float) -> Float:
        """Return the mean squared disagreement of each output: over pairs of views, and over pairs of unscored items.

        Shapes: w (R, outputs); returns (outputs,).

        Returns: Pairs of items count as `query_weight` says; NaN without unscored items.
        """
        M = len(self.parts)
        if self.pair_weight == 0:
            return np.full(w.shape[1], np.nan)
        total: Float = np.einsum("io,io->o", w, self.penalty(1.0) @ w)
        return np.maximum(total, 0.0) / (M * (M - 1) * self.pair_weight)

    def turned(self, turns: Sequence[Float]) -> Agreement:
        """Return the agreement in other features, ``Ψ_v Q_v``."""
        bounds = np.concatenate([[0], np.cumsum([Q.shape[1] for Q in turns])]).astype(np.int64)
        half = np.hstack([self.gram[:, part] @ Q for part, Q in zip(self.parts, turns, strict=True)])
        gram = np.vstack([Q.T @ half[part] for part, Q in zip(self.parts, turns, strict=True)])
        return Agreement((gram + gram.T) / 2, bounds, self.pair_weight, self.n_items, self.n_queries)

    def silent(self, scales: Sequence[float]) -> Iterator[int]:
        """Yield the uninformative views: constant within each unscored query, up to rounding."""
        for number, (part, scale) in enumerate(zip(self.parts, scales, strict=True)):
            if np.trace(self.gram[part, part]) <= self.pair_weight * 1e-24 * scale:
                yield number


# Stream scatter -------------------------------------------------------------------------------------------------------
#
# The scatter of queries that come in blocks: ``Φᵀ L Φ`` of items without scores, from one pass.
#
# The Laplacian of all pairs in query q is ``c_q (n_q I - 11ᵀ)``, so the query gives ``c_q n_q S_q``, where ``S_q`` is
# the scatter of its rows about their mean. Only the query that a block ends with can go on in the next one, and how
# many items it will have is not known yet, so its moments are kept apart (`query_moments`) until another query begins.


class StreamScatter:
    """Adds up ``Φᵀ L Φ`` over blocks of rows, the rows of each query together.

    O(k n²) time for a block of k rows; memory 3 n² numbers and a block, whatever the sizes of the queries.
    """

    def __init__(self, n: int, query_weight: QueryWeight) -> None:
        self.n = n
        self.query_weight: QueryWeight = query_weight
        self.n_items = self.n_queries = self.n_idle_queries = self.n_pairs = 0
        self.pair_weight = 0.0
        """The weight of all pairs together, ``Σ c_q (n_q choose 2)``."""
        self._whole = GramSum(n)
        self._large = np.zeros((n, n))
        self._code: int | None = None
        self._open = QueryMoments(n, 0)
        self._work = np.empty((0, n))

    def add(self, block: Float, codes: Index) -> None:
        """Add a block of rows to the sum.

        Shapes: block (k, n), codes (k,).

        block: Is overwritten.
        """
        if len(block) == 0:
            return
        bounds = np.append(np.flatnonzero(np.diff(codes, prepend=codes[0] - 1)), len(codes))
        first, last = 0, len(bounds) - 2
        if self._code is not None and codes[0] == self._code:
            self._add_open(block[: bounds[1]])
            first = 1
        if first > last:
            return
        self._close()
        self._add_whole(block[bounds[first] : bounds[last]], np.diff(bounds[first : last + 1]))
        self._code = int(codes[-1])
        self._add_open(block[bounds[last] :])

    def gram(self) -> Float:
        """Return ``Φᵀ L Φ``."""
        self._close()
        return np.asarray(self._whole.matrix() + self._large)

    def _add_whole(self, block: Float, sizes: Index) -> None:
        """Add queries whose items are all in this block."""
        if len(block) == 0:
            return
        if len(self._work) < len(block):
            self._work = np.empty_like(block)
        bounds = np.append(0, np.cumsum(sizes))
        subtract_query_means(block, bounds, np.ones(len(block)), self._work[: len(block)], block)
        block *= np.repeat(np.sqrt(self._count(sizes)), sizes)[:, None]
        self._whole.add(block)

    def _add_open(self, rows: Float) -> None:
        """Add items of a query that may go on in the next block."""
        self._open.add(rows, np.zeros((len(rows), 0)), np.ones(len(rows)))

    def _close(self) -> None:
        """Add the query that was left open, now that its size is known."""
        if self._code is not None:
            self._count(np.array([self._open.n_items]))
            self._large += self._open.scaled(self.query_weight)[0]
            self._code, self._open = None, QueryMoments(self.n, 0)

    def _count(self, sizes: Index) -> Float:
        """Count queries of some sizes, and return ``c_q n_q`` of each."""
        n_items = sizes.astype(np.float64)
        c = pair_weight(self.query_weight, n_items, n_items)
        pairs = sizes * (sizes - 1) // 2
        self.n_items += int(sizes.sum())
        self.n_queries += len(sizes)
        self.n_idle_queries += int((pairs == 0).sum())
        self.n_pairs += int(pairs.sum())
        self.pair_weight += float(c @ pairs)
        scale: Float = c * sizes
        return scale

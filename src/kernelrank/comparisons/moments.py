"""The moments (weight, means, scatter) of a query whose items arrive in several parts.

The Laplacian of all pairs in query q is ``c_q (W diag(w) - w wᵀ)``, so the query gives ``c_q W S`` to ``Φᵀ L Φ`` and
``c_q W s`` to ``Φᵀ M N``, with its weight ``W = Σ w_i`` and, about its means φ̄ and ȳ,

    ``S = Σ w_i (φ_i - φ̄)(φ_i - φ̄)ᵀ``,  the scatter,  and  ``s = Σ w_i (φ_i - φ̄)(y_i - ȳ)``,  the moment.

**Merging.** Let part p have the weight ``W_p``, the means ``φ̄_p, ȳ_p`` and the scatter ``S_p``. For its items
``φ_i - φ̄ = (φ_i - φ̄_p) + (φ̄_p - φ̄)``, and ``Σ w_i (φ_i - φ̄_p) = 0``. So the mixed terms vanish, and
``S = Σ_p S_p + Σ_p W_p (φ̄_p - φ̄)(φ̄_p - φ̄)ᵀ``: a part adds to its query what one item of its weight would. For two
parts ``φ̄_1 - φ̄ = -(W_2 / W) δ`` and ``φ̄_2 - φ̄ = (W_1 / W) δ`` with ``δ = φ̄_2 - φ̄_1``, hence [CGL83]_

    ``S = S_1 + S_2 + (W_1 W_2 / W) δ δᵀ``,  ``s = s_1 + s_2 + (W_1 W_2 / W) δ (ȳ_2 - ȳ_1)``

and ``φ̄ = φ̄_1 + (W_2 / W) δ``. Nothing is subtracted but means, so nothing cancels.

**Large offsets.** The rounding of a mean enters ``S_p`` squared, but δ as it is, and for features such as dates it is
far larger than ``ε δ``. So a mean is kept in two numbers, an origin, which is an item of the part, and the mean of the
differences from it. Both have differences without such rounding: ``δ = (o_2 - o_1) + (φ̄_2 - φ̄_1)``.

.. [CGL83] Chan, Golub and LeVeque (1983). Algorithms for computing the sample variance: analysis and recommendations.
   The American Statistician 37, 242-247.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from kernelrank.base.arrays import Float, GramSum, Index, Matrix, block_rows, dense_rows
from kernelrank.comparisons.scored import QueryWeight, item_squares, pair_weight
from kernelrank.errors import InvalidInputError


@dataclass
class QueryMeans:
    """The weights and means of queries, or of the parts of them that are known: one row for each.

    Shapes: weight (s,), features (s, r), scores (s, outputs).
    """

    weight: Float
    features: Float
    scores: Float
    feature_origin: Float
    score_origin: Float

    @classmethod
    def none(cls, n_queries: int, n_columns: int, n_outputs: int) -> Self:
        """Return a table of queries without an item."""
        shapes = [(n_queries,), *2 * [(n_queries, n_columns), (n_queries, n_outputs)]]
        return cls(*(np.zeros(shape) for shape in shapes))

    @classmethod
    def of(cls, Phi: Matrix, scores: Float, weight: Float, items: Index, bounds: Index) -> Self:
        """Return the means of queries whose items are given.

        O(k r) time; memory s × r and one block.

        Shapes: Phi (m, r), scores (m, outputs), weight (m,), items (k,), bounds (s + 1,).
        """
        sizes = np.diff(bounds)
        codes = np.repeat(np.arange(len(sizes)), sizes)
        w = weight[items]
        total = np.bincount(codes, weights=w, minlength=len(sizes)).astype(np.float64)
        share = w / np.where(total > 0, total, 1.0)[codes]
        # Items of weight zero take no part, so the origin is the first of the others.
        counted = np.flatnonzero(w > 0)
        first = bounds[:-1].copy()
        first[codes[counted][::-1]] = counted[::-1]
        means = cls.none(len(sizes), Phi.shape[1], scores.shape[1])
        means.weight[:] = total
        for values, origin, mean in (
            (Phi, means.feature_origin, means.features),
            (scores, means.score_origin, means.scores),
        ):
            step = block_rows(values.shape[1])
            for start in range(0, len(sizes), step):
                origin[start : start + step] = dense_rows(values, items[first[start : start + step]])
            for start in range(0, len(items), step):
                part = slice(start, start + step)
                rows = dense_rows(values, items[part]) - origin[codes[part]]
                rows *= share[part][:, None]
                starts = np.flatnonzero(np.diff(codes[part], prepend=-1))
                mean[codes[part][starts]] += np.add.reduceat(rows, starts, axis=0)
        return means

    def __len__(self) -> int:
        return len(self.weight)

    def rows(self, chosen: Index) -> QueryMeans:
        """Return some of the queries."""
        return QueryMeans(*(getattr(self, field.name)[chosen] for field in fields(self)))

    @classmethod
    def joined(cls, tables: list[QueryMeans]) -> Self:
        """Concatenate tables."""
        return cls(*(np.concatenate([getattr(table, field.name) for table in tables]) for field in fields(cls)))

    def merge(self, parts: QueryMeans, queries: Index) -> tuple[Float, Float]:
        """Merge more parts of queries, one of each at most, into those that are here."""
        new = self.weight[queries] == 0
        self.feature_origin[queries[new]] = parts.feature_origin[new]
        self.score_origin[queries[new]] = parts.score_origin[new]
        known = self.weight[queries]
        total = known + parts.weight
        share = np.divide(parts.weight, total, out=np.zeros_like(total), where=total > 0)[:, None]
        delta = (parts.feature_origin - self.feature_origin[queries]) + (parts.features - self.features[queries])
        difference = (parts.score_origin - self.score_origin[queries]) + (parts.scores - self.scores[queries])
        self.weight[queries] = total
        self.features[queries] += share * delta
        self.scores[queries] += share * difference
        root = np.sqrt(known[:, None] * share)
        delta *= root
        difference *= root
        return delta, difference


class QueryMoments:
    """The moments of one query, or of the items of it that have come so far.

    O(k r²) time for k items; memory r² numbers, or r where the sums are those of somebody else.

    Shapes: moment (r, outputs).
    """

    def __init__(
        self, n_columns: int, n_outputs: int, scatter: GramSum | None = None, moment: Float | None = None
    ) -> None:
        self.n_items, self.uncompared = 0, 0.0
        self.means: QueryMeans | None = None
        self.scatter = GramSum(n_columns) if scatter is None else scatter
        self.moment = np.zeros((n_columns, n_outputs)) if moment is None else moment

    def add(self, rows: Float, scores: Float, weight: Float) -> None:
        """Add items to the moments of the query.

        Shapes: rows (k, r), scores (k, outputs), weight (k,).

        rows: Their features, which are overwritten.
        """
        total = weight.sum()
        if total == 0:
            return
        heaviest = weight.argmax()  # an item of weight zero takes no part
        origin, score_origin = rows[heaviest].copy(), scores[heaviest].copy()
        rows -= origin
        scores = scores - score_origin
        mean, level = weight @ rows / total, weight @ scores / total
        rows -= mean
        scores -= level
        self.moment += rows.T @ (weight[:, None] * scores)
        rows *= np.sqrt(weight)[:, None]
        self.scatter.add(rows)
        self.n_items += int(np.count_nonzero(weight))
        self.uncompared += float(item_squares(weight).sum())
        self._merge_means(QueryMeans(total[None], mean[None], level[None], origin[None], score_origin[None]))

    def merge(self, other: QueryMoments) -> None:
        """Add the items of another part, which has sums of its own."""
        self.scatter.add_sum(other.scatter)
        self.moment += other.moment
        self.n_items += other.n_items
        self.uncompared += other.uncompared
        if other.means is not None:
            self._merge_means(other.means.rows(np.zeros(1, dtype=np.int64)))

    def _merge_means(self, part: QueryMeans) -> None:
        if self.means is None:
            self.means = part
            return
        rows, scores = self.means.merge(part, np.zeros(1, dtype=np.int64))  # the only row of the table
        self.scatter.add(rows)
        self.moment += rows.T @ scores

    @property
    def n_pairs(self) -> int:
        """How many pairs are compared."""
        return self.n_items * (self.n_items - 1) // 2

    def scaled(self, query_weight: QueryWeight) -> tuple[Float, Float]:
        """Return ``c_q W S`` and ``c_q W s``, what the query gives to the normal equations."""
        weight = np.zeros(1) if self.means is None else self.means.weight
        factor = float((pair_weight(query_weight, weight, np.array([self.uncompared])) * weight)[0])
        return factor * self.scatter.matrix(), factor * self.moment

    def record(self) -> dict[str, Any]:
        """Return the moments as plain data: numbers and arrays."""
        means = None if self.means is None else {one.name: getattr(self.means, one.name) for one in fields(self.means)}
        sums = {"scatter": self.scatter.matrix(), "moment": self.moment, "means": means}
        return {"n_items": self.n_items, "uncompared": self.uncompared, **sums}

    @classmethod
    def of_record(cls, record: Mapping[str, Any], n_columns: int, n_outputs: int) -> QueryMoments:
        """Return what `record` made data of; its shapes are checked."""
        query = cls(n_columns, n_outputs)
        query.n_items, query.uncompared = int(record["n_items"]), float(record["uncompared"])
        means = None if record["means"] is None else QueryMeans(**record["means"])
        expected = QueryMeans.none(1, n_columns, n_outputs)
        if record["scatter"].shape != (n_columns, n_columns) or record["moment"].shape != query.moment.shape:
            raise InvalidInputError("the moments of a query do not fit the columns of the model")
        for one in [] if means is None else fields(means):
            if getattr(means, one.name).shape != getattr(expected, one.name).shape:
                raise InvalidInputError("the means of a query do not fit the columns of the model")
        query.scatter = GramSum.onto(np.array(record["scatter"], order="C"))
        query.moment, query.means = record["moment"].copy(), means
        return query

    def copy(self) -> QueryMoments:
        """Return moments that items can be added to without changing these."""
        return deepcopy(self)

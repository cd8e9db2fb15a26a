"""One graph over one feature map, and which hold-outs of it have a shortcut.

=================================  ====================================  ==========================================
graph                              sets                                  how
=================================  ====================================  ==========================================
item scores (RLS), any weights     any                                   shortcut
one query, ties included           any                                   shortcut at ``λ / κ``, see below
several queries, ties included     any, where every item counts the      shortcut
                                   same (``query_weight="items"``)
any scored graph: ties left out,   unions of whole queries               shortcut: L is block diagonal by query
unit or relative cost, weights
reduced sets                       unions of whole queries; any for RLS  shortcut, basis items removed with the set
whatever else                                                            refit: the weights or the levels of a
                                                                         query that loses items change
=================================  ====================================  ==========================================

With ties included, RankRLS is ridge regression with a free intercept for each query and item weights
``ω_i = c_q W_q w_i``, ``W_q`` being the total weight of query q. Removing items of weight ``w_U`` from the only query
turns that into ``κ w_i`` with ``κ = c(W - w_U)(W - w_U)``: the problem with weights w at ``λ / κ``. So one graph, that
with ``c = 1 / W``, serves every set, each set at its own λ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.arrays import Float, Index, Matrix
from kernelrank.comparisons import Comparisons, ItemScores, RelativeScores, ScoredQueries
from kernelrank.comparisons.query_weights import item_squares, pair_weight
from kernelrank.exact_cv.factors import Factors, factorise
from kernelrank.features import ExplicitFeatures, Features, FullKernel, ReducedSet
from kernelrank.features.duplicate_rows import duplicate_rows
from kernelrank.item_sets import ItemSets
from kernelrank.solvers.automatic import DIRECT_LIMIT

__all__ = ["Problem"]

Retrain = Callable[[Index, Index], tuple[Features, Matrix]]
"""From kept and held-out items to the features of the kept ones and what predicts the others."""


@dataclass(frozen=True)
class Problem:
    """What is to be held out from.

    Parameters
    ----------
    features : Features
        All items.
    graph : ItemScores, ScoredQueries or RelativeScores
        How they are compared.
    retrain : callable
        Gives ``features, rows`` for kept and held-out items, where a refit is needed.
    keep_basis : bool, default=False
        Whether basis items that are held out stay in the basis.
    spectra : dict, optional
        Where decompositions are kept for calls with other λ; they are let go unless it is given.
    """

    features: Features
    graph: Comparisons
    retrain: Retrain
    keep_basis: bool = False
    spectra: dict[Any, Any] | None = None

    def factors(self, lams: Float, *, scores: bool, dual: bool = False) -> Iterator[tuple[Factors, Index]]:
        """Decompose as `factorise` does, or return to a spectrum that was kept."""
        kept: Factors | None = None if self.spectra is None else self.spectra.get((scores, dual))
        if kept is not None and np.all(lams >= kept.trusted):
            yield kept, np.arange(len(lams))
            return
        for factors, numbers in factorise(self.features, self.base, lams, scores=scores, dual=dual):
            if self.spectra is not None and factors.values is not None:
                self.spectra[scores, dual] = factors
            yield factors, numbers

    @cached_property
    def base(self) -> Comparisons:
        """The graph that the factors are made of."""
        if not self.one_ranking:
            return self.graph
        assert isinstance(self.graph, ScoredQueries)
        return ScoredQueries(self.graph.scores, self.graph.queries, weight=self.graph.weight, query_weight="items")

    @property
    def one_ranking(self) -> bool:
        """Whether there is one query with ties included, which may lose any items."""
        return self.ties_included and self.graph.n_queries == 1

    @property
    def ties_included(self) -> bool:
        """Whether this is ridge regression with an intercept for each query."""
        return isinstance(self.graph, ScoredQueries) and self.graph.ties == "include"

    @property
    def has_shortcut(self) -> bool:
        """Whether any set has one by the factors: a basis has its own, and what is too large to factorise has none."""
        columns = self.features.n_columns
        size = self.features.n_items if columns is None else min(columns, self.features.n_items)
        return not isinstance(self.features, ReducedSet) and size <= DIRECT_LIMIT

    @property
    def truth(self) -> Float:
        """The scores y with ``M N = L y``, shape (m, k)."""
        assert isinstance(self.graph, (ItemScores, ScoredQueries, RelativeScores))
        return self.graph.magnitudes

    @property
    def scored(self) -> NDArray[np.bool_]:
        """The items that have a weight; an item without a score has none."""
        assert isinstance(self.graph, (ItemScores, ScoredQueries, RelativeScores))
        return np.asarray(self.graph.weight > 0, dtype=np.bool_)

    @cached_property
    def twins(self) -> Index:
        """For each item the number of the first one with the same row, or -1: any model scores both alike."""
        assert isinstance(self.features, (ExplicitFeatures, FullKernel))
        return duplicate_rows(self.features.items if isinstance(self.features, ReducedSet) else self.features.X)

    def scale(self, sets: ItemSets) -> Float:
        """Return κ for each set, by which λ is divided; NaN where there is no shortcut."""
        if not self.has_shortcut:
            return np.full(len(sets), np.nan)
        if isinstance(self.graph, ItemScores):
            return np.ones(len(sets))
        assert isinstance(self.graph, (ScoredQueries, RelativeScores))
        if self.one_ranking:
            weight, squares = self.graph.weight, item_squares(self.graph.weight)
            left, uncompared = (
                values.sum() - np.add.reduceat(values[sets.items], sets.bounds[:-1]) for values in (weight, squares)
            )
            return np.asarray(pair_weight(self.graph.query_weight, left, uncompared) * left)
        if self.ties_included and self.graph.query_weight == "items":
            return np.ones(len(sets))
        return np.where(sets.whole_queries(self.graph.queries), 1.0, np.nan)

    def part(self, kept: Index) -> Problem:
        """Return the problem of some items, the others having left."""
        mask = np.ones(self.graph.n_items, dtype=bool)
        mask[kept] = False
        left = np.flatnonzero(mask)
        features, _ = self.retrain(kept, left)
        retrain = partial(_retrain_part, self.retrain, kept)
        return Problem(features, self.graph.without(left), retrain, self.keep_basis)

    @cached_property
    def idle(self) -> NDArray[np.bool_]:
        """The items that take no part: weight zero, or alone or all tied in their query."""
        return self.base.uncompared_items()

    def barren(self, sets: ItemSets) -> NDArray[np.bool_]:
        """Tell for each set and output whether no two scores differ in what remains, so that all scores are zero.

        O(total log total) time, but for sets that touch every query and may take all but one level: O(m log m) each.
        """
        scores = self.truth
        result = np.zeros((len(sets), scores.shape[1]), dtype=bool)
        if isinstance(self.graph, ItemScores):
            return result
        assert isinstance(self.graph, (ScoredQueries, RelativeScores))
        codes, taking_part = self.graph.queries.codes, self.graph.weight > 0
        for k in range(scores.shape[1]):
            spare = _spare_items(scores[taking_part, k], codes[taking_part], self.graph.n_queries)
            # A set leaves two scores in every query that it does not touch, and in one that has more items beside those
            # with its most frequent score than the set has.
            doubtful = (sets.sizes >= spare.max()) & (sets.touched(codes, spare > 0) == np.count_nonzero(spare))
            for number in np.flatnonzero(doubtful):
                held = sets.items[sets.bounds[number] : sets.bounds[number + 1]]
                kept = taking_part.copy()
                kept[held] = False
                result[number, k] = _spare_items(scores[kept, k], codes[kept], self.graph.n_queries).max() == 0
        return result


def _retrain_part(retrain: Retrain, part: Index, kept: Index, held: Index) -> tuple[Features, Matrix]:
    """Retrain on some items of a part, which has its own numbers."""
    return retrain(part[kept], part[held])


def _spare_items(scores: Float, codes: Index, n_queries: int) -> Index:
    """Return for each query how many items it has beside those with its most frequent score."""
    order = np.lexsort((scores, codes))
    y, q = scores[order], codes[order]
    new = np.ones(len(y), dtype=bool)
    new[1:] = (y[1:] != y[:-1]) | (q[1:] != q[:-1])
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, len(y)))
    most = np.zeros(n_queries, dtype=np.int64)
    np.maximum.at(most, q[starts], counts)
    return np.bincount(codes, minlength=n_queries) - most

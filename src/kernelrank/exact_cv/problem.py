"""The shortcut rules: which hold-outs of a problem need no training.

A graph declares which sets of items have a shortcut (`kernelrank.comparisons.scored`), and at which ``λ /
κ``:

=================================  ====================================  ==========================================
graph                              sets                                  how
=================================  ====================================  ==========================================
item scores (RLS), any weights     any                                   shortcut
one query, ties included           any                                   shortcut at ``λ / κ``
several queries, ties included     any, where every item counts the      shortcut
                                   same (``query_weight="items"``)
any scored graph: ties left out,   unions of whole queries               shortcut: L is block diagonal by query
unit or relative cost, weights
reduced sets                       unions of whole queries; any for RLS  shortcut, basis items removed with the set
reduced sets, one query            pairs                                 shortcut, basis items removed with the pair
whatever else                                                            refit: the weights or the levels of a
                                                                         query that loses items change
=================================  ====================================  ==========================================

Problems that are too large to be decomposed are refitted, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index, Matrix
from kernelrank.base.labels import ItemSets
from kernelrank.comparisons.scored import ScoredComparisons
from kernelrank.exact_cv.decomposition import Decomposition, decompose
from kernelrank.features import Features, FullKernel
from kernelrank.features.kernels import KEPT_MATRIX_BYTES
from kernelrank.kernels import Kernel
from kernelrank.solvers.automatic import DIRECT_LIMIT

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """A training problem to hold items out from, and the rules that say which hold-outs have a shortcut.

    Parameters
    ----------
    features : Features
        All items.
    graph : ScoredComparisons
        How they are compared.
    keep_basis : bool, default=False
        Whether basis items that are held out stay in the basis.
    spectra : dict, optional
        Where decompositions are kept for calls with other λ; they are let go unless it is given.
    """

    features: Features
    graph: ScoredComparisons
    keep_basis: bool = False
    spectra: dict[Any, Any] | None = None

    def decompositions(self, lams: Float, *, scores: bool, dual: bool = False) -> Iterator[tuple[Decomposition, Index]]:
        """Return the decompositions for the given λ, from the cache where they are kept."""
        kept: Decomposition | None = None if self.spectra is None else self.spectra.get((scores, dual))
        if kept is not None and np.all(lams >= kept.trusted):
            yield kept, np.arange(len(lams))
            return
        for found, numbers in decompose(self.features, self.base, lams, scores=scores, dual=dual):
            if self.spectra is not None and found.values is not None:
                self.spectra[scores, dual] = found
            yield found, numbers

    @cached_property
    def base(self) -> ScoredComparisons:
        """The graph that is decomposed."""
        return self.graph.shortcut_graph()

    @property
    def has_shortcut(self) -> bool:
        """Whether a decomposition gives a shortcut for some sets: not for a basis, and not if it is too large."""
        return self.features.basis is None and self.features.size <= DIRECT_LIMIT

    @property
    def any_items_may_leave(self) -> bool:
        """Whether every set of items has a shortcut: RLS, and one ranking."""
        return self.has_shortcut and self.graph.loses_any_items

    @property
    def truth(self) -> Float:
        """The scores y with ``M N = L y``, shape (m, k)."""
        return self.graph.magnitudes

    @property
    def scored(self) -> NDArray[np.bool_]:
        """The items that have a weight; an item without a score has none."""
        return np.asarray(self.graph.weight > 0, dtype=np.bool_)

    @cached_property
    def uncompared(self) -> NDArray[np.bool_]:
        """The items that are compared with no other item: weight zero, or alone or all tied in their query."""
        return self.base.uncompared_items()

    def scale(self, sets: ItemSets) -> Float:
        """Return κ for each set, by which λ is divided; NaN where there is no shortcut."""
        return self.graph.scale_without(sets) if self.has_shortcut else np.full(len(sets), np.nan)

    def common_scale(self, n_leaving: int, *, basis: bool = False) -> float | None:
        """Return κ of all sets of a given number of items, which counts all held-out items, outer and inner.

        None where sets of one size differ in κ, or where some have no shortcut or nothing is left to compare. Pairs
        have a shortcut with a `basis`, too.
        """
        weight, items_alike = self.graph.weight, self.graph.queries is None or self.graph.query_weight == "items"
        if not (basis or self.has_shortcut) or not self.graph.loses_any_items:
            return None
        if self.uncompared.any() or n_leaving >= self.graph.n_items:
            return None
        if items_alike:
            return 1.0
        if not np.all(weight == weight[0]):
            return None
        scale = float(self.graph.scale_without(ItemSets.of([range(n_leaving)], self.graph.n_items))[0])
        return scale if scale > 0 else None

    def without(self, held: Index) -> tuple[Problem, Matrix]:
        """Return the problem of the other items, and the rows by which its model predicts those held out."""
        mask = np.ones(self.graph.n_items, dtype=bool)
        mask[held] = False
        features, rows = self.features.split(np.flatnonzero(mask), held, keep_basis=self.keep_basis)
        return Problem(features, self.graph.without(held), self.keep_basis), rows

    def with_kernel_matrix(self) -> Problem:
        """Return the same problem with its kernel computed once, for several trainings without some of the items.

        This one where the primal form is smaller, or where the matrix would be too large to keep.
        """
        features, m = self.features, self.features.n_items
        computed = isinstance(features, FullKernel) and features.kernel.precomputed
        if features.primal is not None or features.basis is not None or computed or 8 * m**2 > KEPT_MATRIX_BYTES:
            return self
        items = np.arange(m)
        return replace(self, features=FullKernel(Kernel("precomputed"), features.block(items, items)), spectra=None)

    def nothing_to_compare(self, sets: ItemSets) -> NDArray[np.bool_]:
        """Return for each set and output whether all remaining scores are tied, so that all predictions are zero.

        O(total log total) time, but for sets that touch every query and may take all but one level: O(m log m) each.
        """
        scores = self.truth
        result = np.zeros((len(sets), scores.shape[1]), dtype=bool)
        if self.graph.queries is None:
            return result
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

    def differences_survive(self, n_leaving: int) -> bool:
        """Return whether different scores remain in every output, whichever items of this number are held out."""
        if self.graph.queries is None:
            return True
        codes = np.zeros(self.graph.n_items, dtype=np.int64)
        return all(int(_spare_items(column, codes, 1)[0]) > n_leaving for column in self.truth.T)


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

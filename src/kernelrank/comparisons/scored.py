"""Scored comparisons: graphs that are made of scores, and which items they can hold out without refitting.

When items are held out, the graph on the others poses a new problem. A graph says how much of it is known already:

* **Separable sets.** Where no item of a set is compared with an item outside it, L is block diagonal, and what remains
  is a block of L: the problem without the set has the same λ.
* **A scale.** Where the problem is ridge regression with item weights, the weights of what remains may all be those of
  one graph, `shortcut_graph`, times a number κ, which depends on the set: its problem at ``λ / κ``.

A graph that says neither is trained again without each set, which is right for every graph.

**The origin of the scores of a query** is taken away before anything else is done with them. A constant added to the
scores of a query changes no difference, but rounding sees it: a mean of numbers near 10¹² is known to 10⁻⁴ only. So the
scores of each query are moved towards zero first, and without any rounding: with g the distance between floating-point
numbers at the largest score, the origin is the score nearest to zero, rounded towards zero to a multiple of g. Every
score is a multiple of its own, smaller distance and at least as large as the origin, so the difference is a
floating-point number. What is left is not larger than the scores vary, up to g. Where scores have both signs, or one is
zero, there is nothing to move.

**Query weights** say what counts the same: every pair, every item or every query. A query counts once where each of its
pairs is divided by the weight of all pairs that are compared in it [PTAJB09]_ (2.4). The pair (i, j) weighs
``w_i w_j``. Of the ``W²`` that all ordered pairs of a query weigh, some are not compared:

* with ties left out, ``Σ_g W_g²``: each score level with itself;
* with ties included, each item with itself. An item of weight k is k copies, which are compared with each other, so
  that is ``k`` of its ``k²``. Less than one copy has none beside it: ``w²`` for a weight below one.

Hence ``c_q = 2 / (W_q² - Σ_g W_g²)`` or ``2 / (W_q² - Σ_i min(w_i, w_i²))``, which is ``1 / (n_q choose 2)`` without
weights. A weight of k is the same as k copies, and weights of one or less may be scaled as one likes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import (
    BLOCK_BYTES,
    DenseRows,
    Float,
    GramSum,
    Index,
    Matrix,
    Sparse,
    as_columns,
    is_full,
    is_sparse,
    row_slices,
    transpose_product,
    weighted_gram,
    weighted_squares,
)
from kernelrank.base.compiled import sort_queries
from kernelrank.base.labels import Grouping, ItemSets, Queries
from kernelrank.comparisons.graph import Comparisons, NamedValues, PairLevels
from kernelrank.comparisons.scatter import query_scatter, shift_queries
from kernelrank.errors import InvalidInputError, NothingToCompareError

QueryWeight: TypeAlias = Literal["pairs", "items", "queries"]
QUERY_WEIGHTS: tuple[QueryWeight, ...] = ("pairs", "items", "queries")


class ScoredComparisons(Comparisons):
    """A graph whose right-hand side comes from scores: ``M N = L y'``.

    A subclass implements all of `Comparisons` except the two forms of the right-hand side and `without`.

    Parameters
    ----------
    scores : ndarray, shape (m, outputs)
        The scores y.
    queries : Queries, optional
        Which items belong together; None if no item is compared with another, so that constants matter.
    weight : ndarray, shape (m,), optional
        Item weights, one unless given; zero for an item that is left out, such as one without a score.
    """

    scores: Float
    """The scores as they were given, shape (m, outputs)."""

    weight: Float
    """Item weights, shape (m,)."""

    event: NDArray[np.bool_] | None = None
    """Which scores are times of an event, shape (m,): an item without the event lasts longer than its score. None
    where all scores are what they say."""

    entry: Float | None = None
    """When each item came under observation, shape (m,): an event is compared with those who had entered before it."""

    query_weight: QueryWeight = "pairs"
    """Which units have equal weight: pairs, items or queries."""

    def __init__(self, scores: Float, queries: Queries | None = None, *, weight: Float | None = None) -> None:
        self.scores = scores
        self.queries = queries
        self.weight = np.ones(len(scores)) if weight is None else weight
        self.n_items = len(scores)
        self.n_queries = 1 if queries is None else len(queries)

    @property
    def pair_weights(self) -> Float:
        """``c_q``, the weight of one pair of each query, without the weights of its items, shape (n_queries,).

        Zero where no item is compared with another.
        """
        return np.zeros(self.n_queries)

    @property
    def parts_merge(self) -> bool:
        """Whether a query is known by its weight, means and scatter, so that its items may come in several batches."""
        return False

    @property
    def options(self) -> dict[str, Any]:
        """The other keywords of the constructor, which `without` passes on."""
        return {}

    @cached_property
    def origins(self) -> Float:
        """The constant that `magnitudes` lack in each query and output, shape (n_queries, outputs)."""
        if self.queries is None:
            return np.zeros((1, self.scores.shape[1]))
        return score_origins(self.scores, self.queries, self.weight)

    @cached_property
    def magnitudes(self) -> Float:
        """The scores y' with ``M N = L y'``: from the origin of each query."""
        return self.scores if self.queries is None else from_origin(self.scores, self.queries, self.origins)

    def largest_magnitude(self) -> float:
        """Return the largest absolute value of y'."""
        return float(np.abs(self.magnitudes).max(initial=0.0))

    def given(self) -> tuple[NamedValues, NamedValues]:
        """Return y and the item weights, by the names of the parameters of `fit`."""
        return ("y", self.scores), ("sample_weight", self.weight)

    def target(self) -> Float:
        """Return ``L y'``."""
        return self.apply(self.magnitudes)

    def root_target(self) -> Float:
        """Return ``C y'``."""
        return self.centre(self.magnitudes)

    def without(self, items: Index) -> Self:
        """Drop some items; the weight of a query follows its new size."""
        kept = self._kept(items)
        queries = () if self.queries is None else (self.queries.subset(kept),)
        return type(self)(self.scores[kept], *queries, weight=self.weight[kept], **self.options)

    def shifted_features(self, Phi: Matrix) -> Matrix:
        """Subtract query means from sparse columns that all items of a query store: O(nnz) time and memory."""
        if self.queries is None or not is_sparse(Phi):
            return Phi
        return shift_queries(Phi, self.queries, self.weight)

    def separable(self, sets: ItemSets) -> NDArray[np.bool_]:
        """Return for each set of items whether it is a union of whole queries.

        Parameters
        ----------
        sets : ItemSets

        Returns
        -------
        ndarray of bool, shape (sets,)
        """
        return np.ones(len(sets), dtype=bool) if self.queries is None else sets.whole_queries(self.queries)

    def scale_without(self, sets: ItemSets) -> Float:
        """Return κ for each set of items: without it, the problem is that of `shortcut_graph` at ``λ / κ``.

        Parameters
        ----------
        sets : ItemSets

        Returns
        -------
        ndarray, shape (sets,)
            One for sets that are separable; NaN where there is no shortcut.
        """
        return np.where(self.separable(sets), 1.0, np.nan)

    def shortcut_graph(self) -> ScoredComparisons:
        """Return the graph that `scale_without` refers to: this one, unless a query may lose some of its items."""
        return self

    @property
    def loses_any_items(self) -> bool:
        """Whether every set of items has a shortcut: RLS, and one query with ties included."""
        return self.queries is None


def sorted_items(y: Float, queries: Queries) -> Index:
    """Return the items by query, and those of a query by their scores y."""
    order = queries.order
    return order[sort_queries(y[order], queries.bounds)]


def score_origins(scores: Float, queries: Queries, weight: Float) -> Float:
    """Return the origin of each query and output.

    O(m) time and memory for each output.

    Shapes: scores (m, outputs), weight (m,); returns (n_queries, outputs).
    """
    if len(queries) == 0:
        return np.zeros((0, scores.shape[1]))
    values = scores if np.all(weight > 0) else np.where(weight[:, None] > 0, scores, np.nan)
    if len(queries) == 1:
        low, high = (extreme.reduce(values, axis=0)[None] for extreme in (np.fmin, np.fmax))
    else:
        values = values if queries.contiguous else values[queries.order]
        low, high = (extreme.reduceat(values, queries.bounds[:-1], axis=0) for extreme in (np.fmin, np.fmax))
    nearest = np.fmax(low, 0.0) + np.fmin(high, 0.0)  # one of the two is zero
    step = np.spacing(np.fmax(np.abs(low), np.abs(high)))
    origins: Float = np.trunc(nearest / step) * step
    origins[np.isnan(origins)] = 0.0  # queries without weight
    return origins


def from_origin(scores: Float, queries: Queries, origins: Float) -> Float:
    """Return the scores less the origins of their queries; the scores themselves where there is nothing to move."""
    if not origins.any():
        return scores
    moved: Float = scores - (origins if len(origins) == 1 else origins[queries.codes])
    return moved


def pair_weight(query_weight: QueryWeight, total: Float, uncompared: Float) -> Float:
    """Return ``c_q``, the weight of one pair in each query.

    Shapes: total (n_queries,), uncompared (n_queries,); returns (n_queries,).

    uncompared: How much of ``W_q²`` is not compared: the sums of `item_squares` over a query with ties included, of
    squared level weights with ties left out.
    """
    if query_weight != "queries":
        return compared_pair_weight(query_weight, total, total)
    ordered_pairs = total**2 - uncompared
    some = ordered_pairs > 1e-14 * total**2  # less than this share is the rounding of none
    return np.divide(2.0, ordered_pairs, out=np.zeros_like(total), where=some)


def compared_pair_weight(query_weight: QueryWeight, total: Float, compared: Float) -> Float:
    """Return ``c_q`` as `pair_weight` does, where the weight of the pairs that are compared is known.

    Shapes: total (n_queries,), compared (n_queries,); returns (n_queries,).
    """
    if query_weight == "pairs":
        return np.ones_like(total)
    divisor = total if query_weight == "items" else compared
    return np.divide(1.0, divisor, out=np.zeros_like(total), where=divisor > 0)


def item_squares(weight: Float) -> Float:
    """Return the part of each item's ``w²`` that is not a pair of two copies: ``min(w, w²)``."""
    return np.minimum(weight, weight**2)


# Scored queries -------------------------------------------------------------------------------------------------------
#
# Scored queries: all pairs of items inside a query, compared through the difference of their scores.
#
# With item weights w, query weights c, total weights ``W_q`` of query q and ``W_g`` of a score level g in it, the
# Laplacian is ``L = D - P Pᵀ`` and, with ties left out, ``L = D - P Pᵀ + R Rᵀ``, where P groups the items by query
# and R by (query, score level). Neither is built:
#
# * **Product.** Items whose query mean has been taken away have ``Pᵀ V = 0``, so
#   ``(L V)_i = c w_i [(W_q - W_g) V_i + Σ_{j in g} w_j V_j]``; with ties included, read ``W_g = 0`` and no sum.
# * **Root.** Write ``L = S B S`` with ``S = diag(√w)``. Inside a level, B has the eigenvalue ``c(W_q - W_g)``; on the
#   unit vectors ``√w / √W_g`` of the levels it is ``c W_q (I - v vᵀ / W_q)`` with ``v_g = √W_g``, a scaled projection.
#   So the symmetric root of B takes each level's mean apart from the rest:
#   ``(B^½ S V)_i = √(c w_i) [√(W_q - W_g)(V_i - mean_g) + √W_q (mean_g - mean_q)]``, and ``C = B^½ S`` has ``CᵀC = L``.
# * **Cost (20)**, every preference with magnitude one: ``(M N)_i = c w_i (lower_i - higher_i)``, the weights below and
#   above i in its query. These are constant on a level and have mean zero, where L is ``c w_i W_q``. So ``M N = L y'``
#   with ``y'_i = (lower_i - higher_i) / W_q``: the unit cost is the magnitude cost on centred mid-ranks, ties out.


class ScoredQueries(ScoredComparisons):
    """All pairs inside each query, with the magnitude cost (21) or the unit cost (20).

    Parameters
    ----------
    scores : ndarray, shape (m, outputs)
        The scores; several outputs must share one graph, so one column only where ties are left out.
    queries : Queries
        Which items belong together.
    weight : ndarray, shape (m,), optional
        Item weights; the pair (i, j) weighs ``w_i w_j``. Items of weight zero are left out.
    cost : {"magnitude", "unit"}, default="magnitude"
        Whether the preference of i over j has the magnitude ``y_i - y_j`` or one. The unit cost leaves ties out.
    ties : {"include", "exclude"}, default="include"
        Whether two items with the same score are a pair with difference zero, or none.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        Which units have equal weight: pairs, items or queries; see the top of this file.

    Notes
    -----
    Construction takes O(m), and one sort, O(m log m), where levels matter. Memory O(m).

    Examples
    --------
    >>> import numpy as np
    >>> graph = ScoredQueries(np.array([[3.0], [1.0], [2.0]]), Queries.from_labels(["a", "a", "b"], 3))
    >>> graph.apply(np.array([3.0, 1.0, 2.0]))
    array([ 2., -2.,  0.])
    """

    queries: Queries
    shows_infinite = True

    def __init__(
        self,
        scores: Float,
        queries: Queries,
        *,
        weight: Float | None = None,
        cost: Literal["magnitude", "unit"] = "magnitude",
        ties: Literal["include", "exclude"] = "include",
        query_weight: QueryWeight = "pairs",
    ) -> None:
        super().__init__(scores, queries, weight=weight)
        self.cost = cost
        self.ties = "exclude" if cost == "unit" else ties
        self.query_weight: QueryWeight = query_weight
        self._by_query = Grouping(queries.codes, len(queries), self.weight)
        self._by_level = self._group_levels() if self.ties == "exclude" else None
        with np.errstate(over="ignore", invalid="ignore"):  # whoever solves the problem checks its range
            self._c = pair_weight(query_weight, self._by_query.total, self._uncompared())
        self._count_pairs()

    def _group_levels(self) -> Grouping:
        """Group the items by (query, score), the levels of a query numbered in ascending order of the score."""
        if self.scores.shape[1] != 1:
            raise ValueError("ties='exclude' supports one output at a time here: pass one column")
        y, first = self.scores[:, 0], self.queries.bounds[:-1]
        order = sorted_items(y, self.queries)
        y = y[order]
        new = np.ones(self.n_items, dtype=bool)
        new[1:] = y[1:] != y[:-1]
        new[first] = True
        number = np.cumsum(new) - 1
        codes = np.empty(self.n_items, dtype=np.int64)
        codes[order] = number
        count = int(number[-1]) + 1 if self.n_items else 0
        self._level_query = np.repeat(np.arange(self.n_queries), np.diff(np.append(number[first], count)))
        return Grouping(codes, count, self.weight)

    def _uncompared(self) -> Float:
        """Return how much of the squared weight of each query is not compared."""
        if self._by_level is None:
            return np.bincount(self.queries.codes, item_squares(self.weight), self.n_queries).astype(np.float64)
        return np.bincount(self._level_query, self._by_level.total**2, self.n_queries).astype(np.float64)

    @property
    def pair_weights(self) -> Float:
        """``c_q`` of each query, the weight of one pair, without the weights of its items, shape (n_queries,)."""
        return self._c

    def pair_levels(self) -> PairLevels | None:
        """Return the pairs of different scores as levels; None with ties included."""
        if self._by_level is None:
            return None
        n_levels = np.bincount(self._level_query, minlength=self.n_queries).astype(np.int64)
        first = np.cumsum(n_levels) - n_levels
        tied = np.bincount(self._level_query, self._by_level.total**2, self.n_queries)
        total = float(self._c @ np.maximum(self._by_query.total**2 - tied, 0.0)) / 2.0
        levels = self._by_level.codes - first[self.queries.codes]
        return PairLevels(self.queries, levels, n_levels, self.weight, self.weight, self._c, total)

    @property
    def options(self) -> dict[str, Any]:
        """The cost, the ties and the weight of queries."""
        return {"cost": self.cost, "ties": self.ties, "query_weight": self.query_weight}

    @property
    def parts_merge(self) -> bool:
        """Whether ties are included: degrees depend on the scores otherwise."""
        return self.ties == "include"

    @property
    def loses_any_items(self) -> bool:
        """Whether there is one query, with ties included."""
        return self.ties == "include" and self.n_queries == 1

    def shortcut_graph(self) -> ScoredQueries:
        """Return the graph with ``c = 1 / W`` if items of the only query can be held out: its item weights are w."""
        if not self.loses_any_items:
            return self
        return ScoredQueries(self.scores, self.queries, weight=self.weight, query_weight="items")

    def scale_without(self, sets: ItemSets) -> Float:
        """Return κ for each set.

        With ties included this is ridge regression with item weights ``ω_i = c_q W_q w_i``. The only query without
        items of weight ``w_U`` has ``κ w_i`` with ``κ = c(W - w_U)(W - w_U)``. Where every item counts the same,
        ``c_q = 1 / W_q``, ω is w whatever leaves.
        """
        if self.loses_any_items:
            weight, squares = self.weight, item_squares(self.weight)
            left, uncompared = (
                values.sum() - np.add.reduceat(values[sets.items], sets.bounds[:-1]) for values in (weight, squares)
            )
            return np.asarray(pair_weight(self.query_weight, left, uncompared) * left)
        if self.ties == "include" and self.query_weight == "items":
            return np.ones(len(sets))
        return super().scale_without(sets)

    def _count_pairs(self) -> None:
        """Count pairs, and queries without one, among the items that have weight."""
        taking_part = None if np.all(self.weight > 0) else self.weight > 0
        sizes = np.bincount(self.queries.codes, weights=taking_part, minlength=self.n_queries)
        pairs = sizes * (sizes - 1) / 2
        if self._by_level is not None and self._by_level.count < self.n_items:
            levels = np.bincount(self._by_level.codes, weights=taking_part, minlength=self._by_level.count)
            pairs -= np.bincount(self._level_query, levels * (levels - 1) / 2, minlength=self.n_queries)
        self.n_pairs = int(pairs.sum())
        self.n_idle_queries = int((pairs == 0).sum())

    @cached_property
    def _item_c(self) -> Float:
        """``c_q`` of each item, shape (m, 1)."""
        c: Float = self._c[self.queries.codes][:, None]
        return c

    @cached_property
    def _rest(self) -> Float:
        """``W_q - W_g`` of each item, shape (m, 1): the weight that an item is compared with."""
        rest = self._by_query.total[self.queries.codes]
        if self._by_level is not None:
            rest = rest - self._by_level.total[self._by_level.codes]
        return as_columns(rest)

    @cached_property
    def _eigenvalues(self) -> Float:
        """``c w_i (W_q - W_g)`` of each item, shape (m, 1)."""
        return np.asarray(self._item_c * self.weight[:, None] * self._rest)

    @cached_property
    def magnitudes(self) -> Float:
        """The scores y' with ``M N = L y'``: from the origin of each query, or centred mid-ranks for the unit cost."""
        if self.cost == "magnitude":
            return super().magnitudes
        assert self._by_level is not None
        level_weight, level_query = self._by_level.total, self._level_query
        up_to = np.cumsum(level_weight)
        start = np.concatenate([[0.0], up_to])[np.searchsorted(level_query, np.arange(self.n_queries))]
        total = self._by_query.total[level_query]
        lower = up_to - level_weight - start[level_query]
        higher = total - lower - level_weight
        rank = np.divide(lower - higher, total, out=np.zeros_like(total), where=total > 0)
        return as_columns(rank[self._by_level.codes])

    def apply(self, V: Float) -> Float:
        """Return ``L V`` in O(m k) time."""
        U = self._by_query.subtract_means(as_columns(V))
        if self._by_level is None:
            U *= self._eigenvalues
            return U.reshape(V.shape)
        product = U * self._rest
        product += self._by_level.sums(U)[self._by_level.codes]
        product *= self._item_c * self.weight[:, None]
        return product.reshape(V.shape)

    def diagonal(self) -> Float:
        """Return the degrees, ``c w_i (W_q - w_i)``, less the items of the same level where ties are left out."""
        own = self.weight[:, None] if self._by_level is None else 0.0
        degrees: Float = (self._item_c * self.weight[:, None] * (self._rest - own)).ravel()
        return degrees

    def uncompared_items(self) -> NDArray[np.bool_]:
        """Return which items are compared with no other item; degrees cannot tell, because of rounding errors."""
        whole = self._item_c.ravel() * self.weight * self._by_query.total[self.queries.codes]
        return np.asarray(self.diagonal() <= 1e-14 * whole, dtype=np.bool_)

    @cached_property
    def _root_scale(self) -> tuple[Float, Float]:
        """``√(c w (W_q - W_g))`` and ``√(c w W_q)`` of each item."""
        weight = self._item_c * self.weight[:, None]
        whole = self._by_query.total[self.queries.codes][:, None]
        return np.sqrt(weight * np.maximum(self._rest, 0.0)), np.sqrt(weight * whole)

    def centre(self, V: Float) -> Float:
        """Return ``C V`` in O(m k) time."""
        U = as_columns(V)
        inside, between = self._root_scale
        U = self._by_query.subtract_means(U)
        if self._by_level is None:
            U *= between
            return U.reshape(V.shape)
        level = self._by_level.means(U)[self._by_level.codes]
        return (inside * (U - level) + between * level).reshape(V.shape)

    def centre_transpose(self, V: Float) -> Float:
        """Return ``Cᵀ V = S B^½ V``: the root is symmetric but for the item weights."""
        if self._by_query.uniform:
            return self.centre(V)
        root = np.sqrt(self.weight)[:, None]
        inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
        return (root * self.centre(as_columns(V) * inverse)).reshape(V.shape)

    def root_squares(self) -> Float:
        """Return ``c w W_q``, an upper bound of the squared lengths of the rows."""
        return np.asarray(self._root_scale[1].ravel() ** 2)

    def gram(self, Phi: Matrix) -> Float:
        """Accumulate ``Φᵀ L Φ``: O(m n²) time; memory n² and one block, whatever m is."""
        if is_sparse(Phi) and not is_full(Phi):
            return self._sparse_gram(self.shifted_features(Phi))
        return self._scatter(Phi, np.zeros((self.n_items, 0)))[0]

    def normal_equations(self, Phi: Matrix) -> tuple[Float, Float]:
        """Return ``Φᵀ L Φ`` and ``Φᵀ M N`` from one pass over Φ."""
        if not is_sparse(Phi) or is_full(Phi):
            return self._scatter(Phi, self.target())
        Phi = self.shifted_features(Phi)
        return self._sparse_gram(Phi), transpose_product(Phi, self.target())

    def _scatter(self, Phi: Matrix, target: Float) -> tuple[Float, Float]:
        levels, rest = (None if self._by_level is None else self._by_level.codes), self._rest
        if self._by_level is not None and self._by_level.count == self.n_items:
            # No ties to leave out: the same Laplacian, without an order of the levels.
            levels, rest = None, self._by_query.total[self.queries.codes][:, None]
        degree = (self._item_c * self.weight[:, None] * rest).ravel()
        rows: Any = DenseRows(Phi) if is_sparse(Phi) else Phi
        return query_scatter(rows, self.queries, self.weight, degree, self._c, levels, target, BLOCK_BYTES)

    def _sparse_gram(self, Phi: Sparse) -> Float:
        """``Φᵀ D Φ - (PᵀΦ)ᵀ(PᵀΦ) + (RᵀΦ)ᵀ(RᵀΦ)``, with sparse products but for sums that are nearly full."""
        total = weighted_gram(self._eigenvalues.ravel(), Phi)
        gram = GramSum.onto(total)
        parts = [(self._by_query.sums(Phi), self._c, -1.0)]
        if self._by_level is not None:
            parts.append((self._by_level.sums(Phi), self._c[self._level_query], 1.0))
        for sums, c, sign in parts:
            assert is_sparse(sums)
            if sums.nnz > 0.1 * sums.shape[0] * sums.shape[1]:  # as a dense matrix these are multiplied faster
                gram.add(np.sqrt(c)[:, None] * sums.toarray(), sign)
            else:
                total += weighted_gram(sign * c, sums)
        return gram.matrix()

    def root_gram(self, Phi: Sparse, weight: Float) -> Float:
        """Return ``Φᵀ Cᵀ diag(weight) C Φ``; without levels ``C Φ = s(Φ - mean_q)``, and the queries give two products.

        With ``v = s² weight``, its sum t in a query and the means ``μ_v`` weighted by v, each query adds to
        ``Φᵀ diag(v) Φ`` what is ``t (mean - μ_v)(mean - μ_v)ᵀ - t μ_v μ_vᵀ``.
        """
        if self._by_level is not None:
            return super().root_gram(Phi, weight)
        v = self.root_squares() * weight
        by_query = Grouping(self.queries.codes, self._by_query.count, v)
        root = np.sqrt(by_query.total)[:, None]
        weighted_means = root * by_query.means(Phi)
        gram = GramSum.onto(weighted_gram(v, Phi))
        gram.add(weighted_means, -1.0)
        gram.add(root * self._by_query.means(Phi) - weighted_means)
        return gram.matrix()

    def gram_diagonal(self, Phi: Matrix) -> Float:
        """Return the diagonal of ``Φᵀ L Φ`` from squared sums."""
        Phi = self.shifted_features(Phi)
        degree = self._eigenvalues.ravel()
        total = weighted_squares(degree, Phi) - weighted_squares(self._c, self._by_query.sums(Phi))
        if self._by_level is not None:
            total += weighted_squares(self._c[self._level_query], self._by_level.sums(Phi))
        return np.maximum(total, 0.0)

    def submatrix(self, items: Index) -> Float:
        """Return L restricted to sets of items; O(u²) time for each set."""
        codes, weight = self.queries.codes[items], self.weight[items]
        same = codes[..., :, None] == codes[..., None, :]
        if self._by_level is not None:
            level = self._by_level.codes[items]
            same &= level[..., :, None] != level[..., None, :]
        block = np.where(same, -self._item_c[items] * weight[..., :, None] * weight[..., None, :], 0.0)
        diagonal = np.arange(items.shape[-1])
        block[..., diagonal, diagonal] = self.diagonal()[items]
        return block


# Item scores ----------------------------------------------------------------------------------------------------------
#
# Item scores: every item is compared with its own score, which is plain regularised least squares.


class ItemScores(ScoredComparisons):
    """The case ``L = W, M N = W y`` with item weights W (the identity unless given): no pairs at all.

    Parameters
    ----------
    scores : ndarray, shape (m, outputs)
        What each item's prediction should be.
    weight : ndarray, shape (m,), optional
        The weight of each item's squared error.

    Examples
    --------
    >>> import numpy as np
    >>> ItemScores(np.array([[1.0], [2.0]]), weight=np.array([1.0, 3.0])).target().ravel()
    array([1., 6.])
    """

    shows_infinite = True

    def __init__(self, scores: Float, *, weight: Float | None = None) -> None:
        super().__init__(scores, weight=weight)
        self.n_pairs = 0
        self.is_identity = bool(np.all(self.weight == 1.0))

    def apply(self, V: Float) -> Float:
        """Return ``W V``."""
        return (as_columns(V) * self.weight[:, None]).reshape(V.shape)

    def diagonal(self) -> Float:
        """Return the weights."""
        return self.weight

    def centre(self, V: Float) -> Float:
        """Return ``W^½ V``."""
        return (as_columns(V) * np.sqrt(self.weight)[:, None]).reshape(V.shape)

    def centre_transpose(self, V: Float) -> Float:
        """Return ``W^½ V``."""
        return self.centre(V)

    def root_squares(self) -> Float:
        """Return the weights."""
        return self.weight

    def root_gram(self, Phi: Sparse, weight: Float) -> Float:
        """Return ``Φᵀ W^½ diag(weight) W^½ Φ`` from the stored entries."""
        return weighted_gram(self.weight * weight, Phi)

    def centre_kernel(self, K: Float) -> Float:
        """Return ``W^½ K W^½``; nothing is touched without weights."""
        root = np.sqrt(self.weight)
        if not np.all(root == 1.0):
            K *= root[:, None]
            K *= root
        return K

    def gram(self, Phi: Matrix) -> Float:
        """Accumulate ``Φᵀ W Φ`` in blocks."""
        if is_sparse(Phi):
            return weighted_gram(self.weight, Phi)
        return self._accumulate(Phi, np.zeros((self.n_items, 0)))[0]

    def normal_equations(self, Phi: Matrix) -> tuple[Float, Float]:
        """Return ``Φᵀ W Φ`` and ``Φᵀ W y`` from one pass over Φ."""
        return super().normal_equations(Phi) if is_sparse(Phi) else self._accumulate(Phi, self.root_target())

    def _accumulate(self, Phi: Matrix, root_target: Float) -> tuple[Float, Float]:
        total, right = GramSum(Phi.shape[1]), np.zeros((Phi.shape[1], root_target.shape[1]))
        root = np.sqrt(self.weight)[:, None]
        for rows in row_slices(Phi):
            block = np.asarray(Phi[rows] if self.is_identity else Phi[rows] * root[rows], dtype=np.float64)
            total.add(block)
            right += block.T @ root_target[rows]
        return total.matrix(), right

    def gram_diagonal(self, Phi: Matrix) -> Float:
        """Return ``Σ_i w_i φ_ij²``."""
        return weighted_squares(self.weight, Phi)

    def submatrix(self, items: Index) -> Float:
        """Return diagonal matrices with the weights of some items."""
        return self.weight[items][..., None] * np.eye(items.shape[-1])


# Score pairs ----------------------------------------------------------------------------------------------------------
#
# The pairs of scored items, listed: for a loss that needs each of them.

MOST_PAIRS = 20_000_000
"""The largest number of pairs that is listed: 480 MB with their weights."""


def list_score_pairs(scores: Float, queries: Queries, weight: Float | None) -> tuple[Index, Float | None]:
    """List the pairs of items in one query with different scores, the higher item first.

    O(Σ n_q²) time, O(l) memory.

    Shapes: scores (m,), weight (m,); returns (l, 2).
    """
    possible = sum(n * (n - 1) // 2 for n in queries.sizes.tolist())
    if possible > MOST_PAIRS:
        raise InvalidInputError(
            f"expected at most {MOST_PAIRS:,} pairs; the queries have up to {possible:,}. Use RankSVM or RankRLS, "
            "which build no list of pairs, or fit_pairs with a sample of the pairs"
        )
    found = []
    for items in queries:
        y = scores[items]
        high, low = np.nonzero(y[:, None] > y)
        found.append(np.column_stack([items[high], items[low]]))
    pairs = np.concatenate(found) if found else np.zeros((0, 2), dtype=np.int64)
    if len(pairs) == 0:
        single = int((queries.sizes == 1).sum())
        raise NothingToCompareError(
            f"nothing to compare: no query has two items with different scores ({len(queries)} queries, "
            f"{single} of them with one item, the others with ties only)"
        )
    return pairs, None if weight is None else weight[pairs[:, 0]] * weight[pairs[:, 1]]

"""Votes: preferences and ties between two items, added up for each pair that was compared."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_array

from kernelrank.base.arrays import Float, Index, Matrix, Sparse, is_sparse
from kernelrank.base.labels import label_vector, number_labels, number_two, refuse_missing
from kernelrank.comparisons.preferences import PreferenceGraph
from kernelrank.errors import InvalidInputError, NothingToCompareError


@dataclass(frozen=True, eq=False)
class Votes:
    """How often either item of a pair was preferred, and how often neither.

    Votes of one pair are one row, whichever item was named first; with sides or judges, one for each of these.

    Shapes: pairs (k, 2), won, lost, tied (k,), side (k,), judge (k,).
    """

    n_items: int
    pairs: Index
    won: Float
    lost: Float
    tied: Float
    side: Float | None
    judge: Index | None
    n_judges: int
    n_votes: int

    @classmethod
    def count(
        cls,
        n_items: int,
        pairs: Index,
        *,
        tie: NDArray[np.bool_] | None = None,
        weight: Float | None = None,
        side: Index | None = None,
        judge: Index | None = None,
        n_judges: int = 0,
    ) -> Votes:
        """Add up votes.

        O(l) time and memory where there are no more possible kinds of votes than 4 l or 2²⁰, O(l log l) otherwise.

        Shapes: pairs (l, 2), tie (l,), weight (l,), side (l,), judge (l,).
        """
        if len(pairs) == 0:
            raise NothingToCompareError("nothing to compare: pairs is empty")
        if weight is not None and not np.any(weight > 0):
            raise NothingToCompareError("nothing to compare: every weight is zero")
        first, second = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
        turned = first > second
        key = _Key(np.where(turned, second, first), n_items)
        key.extend(np.where(turned, first, second), n_items)
        if side is not None:
            key.extend(np.where(turned, -side, side) + 1, 3)
        if judge is not None:
            key.extend(judge, n_judges)
        outcome = turned.astype(np.int64) if tie is None else np.where(tie, 2, turned)
        rows, counts = key.count(outcome, weight)
        used = counts.sum(axis=1) > 0
        rows, counts = rows[used], np.ascontiguousarray(counts[used].T)
        low, high = np.minimum(first[rows], second[rows]), np.maximum(first[rows], second[rows])
        stood = None if side is None else np.where(turned[rows], -side[rows], side[rows]).astype(np.float64)
        judges = None if judge is None else judge[rows]
        won, lost, tied = counts
        return cls(n_items, np.column_stack([low, high]), won, lost, tied, stood, judges, n_judges, len(pairs))

    @property
    def total(self) -> Float:
        """The weight of all votes in each row."""
        return self.won + self.lost + self.tied

    @property
    def head(self) -> Index:
        """The first item of each row."""
        return self.pairs[:, 0]

    @property
    def tail(self) -> Index:
        """The second item of each row."""
        return self.pairs[:, 1]

    @cached_property
    def incidence(self) -> Sparse:
        """D, shape (k, m): one at the first item of each row, minus one at the second."""
        k = len(self.pairs)
        signs = np.tile([1.0, -1.0], k)
        return sparse.csr_array((signs, self.pairs.ravel(), 2 * np.arange(k + 1)), shape=(k, self.n_items))

    def differences(self, f: Float) -> Float:
        """Return the score of the first item less that of the second, for each row."""
        return f[self.head] - f[self.tail]

    def item_sums(self, values: Float) -> Float:
        """Sum the values of the rows of each item, negative where it is the second: the transpose of `differences`."""
        sums = np.bincount(self.head, weights=values, minlength=self.n_items)
        sums -= np.bincount(self.tail, weights=values, minlength=self.n_items)
        return sums.astype(np.float64, copy=False)

    def item_totals(self, values: Float) -> Float:
        """Return for each item the sum of the values of its rows."""
        sums = np.bincount(self.head, weights=values, minlength=self.n_items)
        sums += np.bincount(self.tail, weights=values, minlength=self.n_items)
        return sums.astype(np.float64, copy=False)

    def laplacian(self, weight: Float) -> Float:
        """Return ``Dᵀ diag(weight) D``, dense (m × m)."""
        m, head, tail = self.n_items, self.head, self.tail
        places = np.concatenate([head * m + head, tail * m + tail, head * m + tail, tail * m + head])
        values = np.concatenate([weight, weight, -weight, -weight])
        return np.bincount(places, weights=values, minlength=m * m).astype(np.float64, copy=False).reshape(m, m)

    def difference_variances(self, S: Float) -> Float:
        """Return the variance of the difference of each row, for the covariance S of the scores."""
        own = np.diagonal(S)
        variances = own[self.head] + own[self.tail] - 2.0 * S[self.head, self.tail]
        return np.asarray(np.maximum(variances, 0.0))

    def graph(self, weight: Float) -> PreferenceGraph:
        """Return the graph of the compared pairs with some weights."""
        return PreferenceGraph(self.n_items, self.pairs, magnitude=np.ones(len(self.pairs)), weight=weight)


class _Key:
    """One number for each combination of values.

    Shapes: values (l,).
    """

    def __init__(self, values: Index, size: int) -> None:
        self.values, self.size = values, size

    def extend(self, values: Index, size: int) -> None:
        """Split the rows of votes by the values of a further variable, such as the judge."""
        if self.size * size >= 2**61:
            self.values = np.unique(self.values, return_inverse=True)[1].astype(np.int64)
            self.size = len(self.values)
        self.values, self.size = self.values * size + values, self.size * size

    def count(self, outcome: Index, weight: Float | None) -> tuple[Index, Float]:
        """Return a row of each combination that occurs, and how often it occurs with the outcomes 0, 1 and 2."""
        if self.size <= max(2**20, 4 * len(self.values)):  # a table of all that could occur; beyond, sorted
            place = np.full(self.size, -1, dtype=np.int64)
            place[self.values] = np.arange(len(self.values))
            counts = np.bincount(3 * self.values + outcome, weight, minlength=3 * self.size).reshape(-1, 3)
            present = place >= 0
            return place[present], counts[present].astype(np.float64)
        _, rows, number = np.unique(self.values, return_index=True, return_inverse=True)
        counts = np.bincount(3 * number + outcome, weight, minlength=3 * len(rows)).reshape(-1, 3)
        return rows.astype(np.int64), counts.astype(np.float64)


# Voted items ----------------------------------------------------------------------------------------------------------
#
# Items that are voted on: labels of any kind as numbers, and the features of the items.


def number_votes(winners: Any, losers: Any, known: NDArray[Any] | None = None) -> tuple[Index, NDArray[Any], Index]:
    """Return votes as pairs of item numbers, and the labels of all items.

    Shapes: winners, losers (l,), known (m,); returns (k, 2).
    """
    columns = []
    for labels, name in ((winners, "winners"), (losers, "losers")):
        values = label_vector(labels, name)
        refuse_missing(values, f"{name} has no item in vote {{}}. Leave the vote out, or name the item.")
        columns.append(values)
    first, second = columns
    if len(first) != len(second):
        raise InvalidInputError(
            f"Expected one loser for each winner; got {len(first)} winners and {len(second)} losers."
        )
    if known is None:
        low, high, items = number_two(first, second, "winners")
    else:
        both = np.concatenate([column.astype(object) for column in (known, first, second)])
        codes, items = number_labels(both, "winners")
        m, end = len(known), len(known) + len(first)
        if len(items) > m:
            label = items[m]
            raise InvalidInputError(
                f"Expected votes on items of `features`; got {label!r}{nearest_names(label, known)}."
            )
        low, high, items = codes[m:end], codes[end:], known
    kept = np.flatnonzero(low != high)
    if len(kept) == 0 and len(low):
        raise InvalidInputError(
            f"Expected votes between two different items; got {len(low):,}, each on an item against itself."
        )
    if len(kept) < len(low) and known is None:
        return (*number_votes(first[kept], second[kept])[:2], kept)
    return np.column_stack([low, high])[kept], items, kept


def nearest_names(label: object, known: NDArray[Any]) -> str:
    """Return the known names that are spelt like a label, as the end of a message; nothing if there are none."""
    names = {str(name): name for name in known.tolist()}
    near = difflib.get_close_matches(str(label), list(names), n=3, cutoff=0.6)
    return f" (similar: {', '.join(repr(names[name]) for name in near)})" if near else ""


def named_features(features: Any) -> tuple[NDArray[Any], Matrix]:
    """Return labels of items and their features.

    Shapes: returns (m,).
    """
    if isinstance(features, Mapping):
        labels, X = list(features), list(features.values())
    elif isinstance(features, tuple) and len(features) == 2:
        labels, X = features
    elif hasattr(features, "index") and hasattr(features, "columns"):
        labels, X = features.index, features
    else:
        raise InvalidInputError(
            "Expected features as a pandas data frame whose index holds the items, a mapping from items to rows, or "
            f"(items, X); got {type(features).__name__}."
        )
    names = label_vector(labels, "the items of features")
    refuse_missing(names, "features has no name for item {}. Name every item.")
    X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="features")
    if len(names) != X.shape[0]:
        raise InvalidInputError(
            f"Expected one row of features for each item; got {len(names)} items, {X.shape[0]} rows."
        )
    codes, distinct = number_labels(names, "the items of features")
    if len(distinct) < len(names):
        twice = distinct[int(np.argmax(np.bincount(codes) > 1))]
        raise InvalidInputError(f"Expected each item of features once; got {twice!r} more than once.")
    return names, X


def standardised(X: Matrix) -> Matrix:
    """Return features with mean zero and variance one; sparse ones keep their means, which affect no difference."""
    if is_sparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
        return sparse.csr_array(X @ sparse.diags_array(_inverse_root(variance)))
    dense: Float = np.asarray(X)
    return np.asarray((dense - dense.mean(axis=0)) * _inverse_root(dense.var(axis=0)))


def _inverse_root(variance: Float) -> Float:
    """Return one over the standard deviation; constant columns become zeros."""
    constant = variance <= 1e-24 * variance.max(initial=0.0)
    return np.where(constant, 0.0, 1.0 / np.sqrt(np.where(constant, 1.0, variance)))


# Vote gaps ------------------------------------------------------------------------------------------------------------
#
# Gaps in votes: items that no votes connect, and items that win or lose all of their votes.


@dataclass(frozen=True)
class VoteGaps:
    """What votes do not determine."""

    sizes: tuple[int, ...]
    one_way: int
    unbeaten: tuple[int, ...]
    winless: tuple[int, ...]
    n_without_votes: int = 0

    @classmethod
    def of(cls, votes: Votes) -> VoteGaps:
        """Find the unconnected parts of the graph of votes, O(m + k) time."""
        won, lost = votes.won + votes.tied, votes.lost + votes.tied
        to_second, to_first = won > 0, lost > 0
        winner = np.concatenate([votes.head[to_second], votes.tail[to_first]])
        loser = np.concatenate([votes.tail[to_second], votes.head[to_first]])
        m = votes.n_items
        graph = sparse.coo_array((np.ones(len(winner)), (winner, loser)), shape=(m, m)).tocsr()
        wins, losses = (np.bincount(ends, minlength=m) for ends in (winner, loser))
        voted = wins + losses > 0
        _, part = connected_components(graph, directed=False)
        _, group = connected_components(graph, directed=True, connection="strong")
        sizes = np.unique(part[voted], return_counts=True)[1]
        return cls(
            tuple(sorted(sizes.tolist(), reverse=True)),
            len(np.unique(group[voted])) - len(sizes),
            tuple(np.flatnonzero(voted & (losses == 0)).tolist()),
            tuple(np.flatnonzero(voted & (wins == 0)).tolist()),
            int((~voted).sum()),
        )

    def sentences(self, items: NDArray[Any]) -> list[str]:
        """Describe what is missing in sentences, with the names of items."""
        said = []
        if len(self.sizes) > 1:
            listed = ", ".join(f"{size:,}" for size in self.sizes[:3])
            more = ", ..." if len(self.sizes) > 3 else ""
            said.append(
                f"The votes do not connect all items: there are {len(self.sizes):,} groups, of {listed}{more} items, "
                "and no vote compares items of two groups. Only the regularisation decides how groups are ordered."
            )
        if self.one_way:
            parts = [
                f"{verb} all votes: {_some(which, items)}"
                for verb, which in (("won", self.unbeaten), ("lost", self.winless))
                if which
            ]
            who = f" ({'; '.join(parts)})" if parts else ""
            said.append(
                f"Some items only win or only lose against others{who}. Without regularisation their scores would be "
                "infinite; here they are finite, with wide intervals."
            )
        if self.n_without_votes:
            noun, them = ("item has", "it is") if self.n_without_votes == 1 else ("items have", "they are")
            said.append(f"{self.n_without_votes:,} {noun} no votes: {them} ranked by features only.")
        return said


def _some(which: tuple[int, ...], items: NDArray[Any]) -> str:
    names = ", ".join(str(items[item]) for item in which[:3])
    return names + (f" and {len(which) - 3:,} more" if len(which) > 3 else "")

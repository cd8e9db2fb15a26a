"""Votes: preferences and ties between two items, added up for each pair that was compared."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri
from sklearn.utils import check_array

from kernelrank.base.arrays import Float, Index, Matrix, Sparse, is_sparse
from kernelrank.base.labels import Queries, label_vector, number_labels, number_two, refuse_missing
from kernelrank.base.results import to_frame
from kernelrank.base.validation import check_pair_values, check_ties
from kernelrank.comparisons.preferences import PreferenceGraph
from kernelrank.errors import InvalidInputError, NothingToCompareError


@dataclass(frozen=True, eq=False)
class Votes:
    """How often either item of a pair was preferred, and how often neither.

    Votes of one pair are one row, whichever item was named first; with sides, judges, groups or covariates, one for
    each of these.

    Shapes: pairs (k, 2), won, lost, tied (k,), side (k,), judge (k,), group (k,), covariates (k, p).
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
    group: Index | None = None
    covariates: Float | None = None

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
        group: Index | None = None,
        covariates: Float | None = None,
    ) -> Votes:
        """Add up votes.

        O(l) time and memory where there are no more possible kinds of votes than 4 l or 2²⁰, O(l log l) otherwise.

        Shapes: pairs (l, 2), tie (l,), weight (l,), side (l,), judge (l,), group (l,), covariates (l, p).
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
        if group is not None:
            key.extend(group, int(group.max()) + 1)
        if covariates is not None:
            covariates = np.where(turned[:, None], -covariates, covariates) + 0.0
            kinds = _row_kinds(covariates)
            key.extend(kinds, int(kinds.max()) + 1)
        outcome = turned.astype(np.int64) if tie is None else np.where(tie, 2, turned)
        rows, counts = key.count(outcome, weight)
        used = counts.sum(axis=1) > 0
        rows, counts = rows[used], np.ascontiguousarray(counts[used].T)
        low, high = np.minimum(first[rows], second[rows]), np.maximum(first[rows], second[rows])
        stood = None if side is None else np.where(turned[rows], -side[rows], side[rows]).astype(np.float64)
        judges = None if judge is None else judge[rows]
        won, lost, tied = counts
        groups = None if group is None else group[rows]
        given = None if covariates is None else covariates[rows]
        kept = (stood, judges, n_judges, len(pairs), groups, given)
        return cls(n_items, np.column_stack([low, high]), won, lost, tied, *kept)

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


def _row_kinds(C: Float) -> Index:
    """Return a number for each row, the same for equal ones."""
    sums = C @ np.random.default_rng(0).random(C.shape[1])  # equal for different rows by chance alone
    _, firsts, kinds = np.unique(sums, return_index=True, return_inverse=True)
    if not np.array_equal(C[firsts[kinds]], C):
        kinds = np.unique(C, axis=0, return_inverse=True)[1].ravel()
    return kinds.astype(np.int64)


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


def covariate_values(covariates: Any, n_votes: int) -> tuple[NDArray[Any], Float]:
    """Return the names of covariates and their values.

    Shapes: returns (p,), (l, p).
    """
    values = covariates
    if isinstance(covariates, Mapping):
        names, values = list(covariates), np.column_stack(list(covariates.values()))
    elif hasattr(covariates, "columns"):
        names = list(covariates.columns)
    else:
        values = np.asarray(covariates)
        values = values[:, None] if values.ndim == 1 else values
        names = [f"x{column}" for column in range(values.shape[-1])]
    C: Float = check_array(values, dtype=np.float64, input_name="covariates")
    if len(C) != n_votes:
        raise InvalidInputError(f"Expected one row of covariates for each vote; got {n_votes} votes, {len(C)} rows.")
    return np.array([str(name) for name in names], dtype=object), C


def root_mean_squares(names: NDArray[Any], C: Float) -> Float:
    """Return the root mean square of each covariate, by which it is divided before a fit: shape (p,)."""
    found = np.sqrt(np.mean(C**2, axis=0))
    if not found.all():
        name = names[int(np.argmin(found))]
        raise InvalidInputError(f"Expected covariates that differ from zero in some vote; {name!r} is zero in all.")
    return np.asarray(found)


def covariate_effects(names: NDArray[Any], effects: Float, covariance: Float | None, confidence: float) -> Any:
    """Return a table of the effects of covariates, with normal intervals where their covariance is known."""
    std = np.full(len(effects), np.nan) if covariance is None else np.sqrt(np.diagonal(covariance))
    reach = float(ndtri((1.0 + confidence) / 2.0)) * std
    columns = {"covariate": names, "effect": effects, "std_error": std}
    return to_frame({**columns, "low": effects - reach, "high": effects + reach})


# Ballots --------------------------------------------------------------------------------------------------------------
#
# Votes with what is known of them, before they are added up.


@dataclass(frozen=True, eq=False)
class Ballots:
    """What is known of each vote: its items, whether it is a tie, who cast it, and what it was about.

    Shapes: pairs (l, 2), tie, weight (l,), names, rms (p,), covariates (l, p), slice_of (l,), times (T,),
    machines (j,).

    covariates: Over their root mean squares.
    slice_of: The time of each vote; or 0 for human judges, and the number of a machine judge from 1 on.
    """

    pairs: Index
    tie: NDArray[np.bool_] | None
    weight: Float | None
    judge: Queries | None = None
    names: NDArray[Any] | None = None
    rms: Float | None = None
    covariates: Float | None = None
    category: Queries | None = None
    slice_of: Index | None = None
    times: Float | None = None
    machines: NDArray[Any] | None = None
    dated: bool = False

    @classmethod
    def of(
        cls,
        n_items: int,
        pairs: Index,
        kept: Index,
        n: int,
        tie: Any,
        weight: Any,
        *,
        judge: Any = None,
        covariates: Any = None,
        category: Any = None,
        time: Any = None,
        judge_kind: Any = None,
    ) -> Ballots:
        """Check what is known of each of n votes, of which some are kept."""
        tie, weight = check_ties(tie, n), check_pair_values(weight, n, name="weight")
        tie, weight = (None if values is None else values[kept] for values in (tie, weight))
        names = rms = slices = times = machines = None
        if covariates is not None:
            names, covariates = covariate_values(covariates, n)
            covariates = covariates[kept]
            rms = root_mean_squares(names, covariates)
            covariates = covariates / rms
        dated = False
        if time is not None:
            seconds, dated = time_values(time, n)
            slices, times = time_slices(seconds[kept], n_items)
        judged, sorts = (
            None if labels is None else _labels_of(labels, n, kept, name)
            for labels, name in ((judge, "judge"), (category, "category"))
        )
        if judge_kind is not None:
            if judged is None or time is not None:
                raise InvalidInputError(
                    "Expected kinds of judges (judge_kind, --machine-judges) together with `judge`, and without "
                    "`time`. Leave the times or the kinds out."
                )
            slices, machines = _machine_judges(judged, judge_kind, n, kept)
        return cls(pairs, tie, weight, judged, names, rms, covariates, sorts, slices, times, machines, dated)

    @property
    def have_contexts(self) -> bool:
        """Whether a vote depends on more than its items."""
        return any(one is not None for one in (self.covariates, self.category, self.times, self.machines))

    def count(self, n_items: int, *, contexts: bool, judges: bool = False) -> Votes:
        """Add the votes up."""
        group, covariates = None, None
        if contexts:
            covariates, group = self.covariates, np.zeros(len(self.pairs), dtype=np.int64)
            if self.slice_of is not None:
                group = self.slice_of * self.n_categories
            if self.category is not None:
                group = group + self.category.codes
        judge = self.judge if judges else None
        return Votes.count(
            n_items,
            self.pairs,
            tie=self.tie,
            weight=self.weight,
            judge=None if judge is None else judge.codes,
            n_judges=0 if judge is None else len(judge),
            group=group,
            covariates=covariates,
        )

    def of_category(self, number: int) -> Ballots:
        """Return the votes of one category, without what else they were about."""
        assert self.category is not None
        rows = self.category.codes == number
        tie, weight = (None if values is None else values[rows] for values in (self.tie, self.weight))
        return Ballots(self.pairs[rows], tie, weight)

    @property
    def n_categories(self) -> int:
        """The number of categories, one if votes have none."""
        return 1 if self.category is None else len(self.category)


def _labels_of(labels: Any, n_votes: int, kept: Index, name: str) -> Queries:
    """Return the labels of the votes that are kept, numbered as they occur."""
    given = Queries.from_labels(labels, n_votes, name=name)
    return Queries.from_labels(given.labels[given.codes[kept]], len(kept), name=name)


def _machine_judges(judged: Queries, kind: Any, n_votes: int, kept: Index) -> tuple[Index | None, NDArray[Any] | None]:
    """Return the number of the machine judge of each vote, 0 for human ones, and the labels; None without any."""
    names = judged.labels.tolist()
    if isinstance(kind, Mapping):
        kinds = [kind.get(name, "human") for name in names]
        for name in set(kind) - set(names):
            raise InvalidInputError(f"Expected judges of the votes in judge_kind; got {name!r}.")
    else:
        given = _labels_of(kind, n_votes, kept, "judge_kind")
        of_vote, firsts = given.labels[given.codes], np.unique(judged.codes, return_index=True)[1]
        kinds = of_vote[firsts].tolist()
        mixed = np.flatnonzero(of_vote != np.array(kinds, dtype=object)[judged.codes])
        if len(mixed):
            raise InvalidInputError(f"Expected one kind for each judge; {names[judged.codes[mixed[0]]]!r} has two.")
    for one in kinds:
        if one not in ("human", "machine"):
            raise InvalidInputError(f"Expected 'human' or 'machine' in judge_kind; got {one!r}.")
    is_machine = np.array([one == "machine" for one in kinds])
    if is_machine.all():
        raise InvalidInputError("Expected votes of human judges, which those of machines are compared with; got none.")
    if not is_machine.any():
        return None, None
    return np.where(is_machine, np.cumsum(is_machine), 0)[judged.codes], judged.labels[is_machine]


def time_values(time: Any, n_votes: int) -> tuple[Float, bool]:
    """Return times as numbers, dates as seconds since 1970, and whether they are dates."""
    values = np.asarray(time)
    if values.ndim != 1 or len(values) != n_votes:
        raise InvalidInputError(f"Expected one time for each of {n_votes} votes; got an array of shape {values.shape}.")
    dated = values.dtype.kind == "M" or (
        values.dtype.kind in "OUS" and not all(isinstance(one, Real) for one in values)
    )
    try:
        seconds = values.astype("datetime64[us]").astype(np.int64) / 1e6 if dated else values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"Expected numbers or dates such as 2024-05-31 as times; {error}.") from None
    if not np.isfinite(seconds).all() or (dated and np.isnat(values.astype("datetime64[us]")).any()):
        raise InvalidInputError("Expected a time for each vote; some are missing. Leave these votes out.")
    return seconds, dated


def time_slices(seconds: Float, n_items: int) -> tuple[Index, Float]:
    """Return the slice of each vote, and the mean time of each: all times that occur, or 200 bins, or fewer.

    Bins have about as many votes each. The blocks of all slices have 3·10⁷ numbers at most.
    """
    limit = int(np.clip(3e7 / n_items**2, 2, 200))
    times, codes = np.unique(seconds, return_inverse=True)
    if len(times) > limit:
        ends = np.unique(np.quantile(seconds, np.arange(1, limit) / limit))
        codes = np.unique(np.searchsorted(ends, seconds, side="left"), return_inverse=True)[1]
        times = np.bincount(codes, seconds - times[0]) / np.bincount(codes) + times[0]
    return codes.ravel().astype(np.int64), times


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


def few_judges(judged: Queries, weight: Float | None) -> list[str]:
    """Return a note if few judges give most of the votes: one of three or more, or at most one in ten."""
    sizes = np.sort(np.bincount(judged.codes, weight))[::-1]
    shares = np.cumsum(sizes) / sizes.sum()
    number = 1 + int(np.searchsorted(shares, 0.5))
    if len(sizes) < 3 or number > max(1, len(sizes) // 10):
        return []
    gives = "gives" if number == 1 else "give"
    share = f"{100.0 * shares[number - 1]:.0f} %"
    return [
        f"{number:,} of {len(sizes):,} judges {gives} {share} of the votes: scores are mostly "
        "theirs, and intervals do not know that other judges may see the items otherwise."
    ]


def _some(which: tuple[int, ...], items: NDArray[Any]) -> str:
    names = ", ".join(str(items[item]) for item in which[:3])
    return names + (f" and {len(which) - 3:,} more" if len(which) > 3 else "")

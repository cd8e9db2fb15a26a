"""Costs: the graph that each cost makes of the scores of items, or of pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.base.labels import Lifetimes, Queries
from kernelrank.comparisons.censored import CensoredTimes
from kernelrank.comparisons.entered import EnteredTimes
from kernelrank.comparisons.preferences import PreferenceGraph
from kernelrank.comparisons.relative import RelativeScores
from kernelrank.comparisons.scored import QueryWeight, ScoredComparisons, ScoredQueries
from kernelrank.errors import InvalidInputError, NothingToCompareError

Cost: TypeAlias = Literal["magnitude", "unit", "relative"]
CostOption: TypeAlias = Cost | Literal["auto"]
"""What a learner's parameter may be: "auto" is the unit cost for censored times, and the magnitude cost otherwise."""
Ties: TypeAlias = Literal["include", "exclude"]
TIES: tuple[Ties, ...] = ("include", "exclude")

OutputGraph: TypeAlias = tuple[Index, ScoredComparisons]
"""Some output columns and the one graph that they share."""

GRAPH_OF_COST: dict[Cost, Callable[..., ScoredComparisons]] = {
    "magnitude": partial(ScoredQueries, ties="exclude"),
    "unit": partial(ScoredQueries, cost="unit"),
    "relative": RelativeScores,
}
"""The graph of each cost, which takes one column of scores, the queries, `weight` and `query_weight`.

Ties are left out of all of them. With ties included, the magnitude cost has one graph for all outputs."""

GRAPH_OF_CENSORED_COST: dict[Cost, Callable[..., ScoredComparisons]] = {
    "unit": CensoredTimes,
    "magnitude": partial(CensoredTimes, cost="magnitude"),
}
"""The graph of each cost where some scores are censored times: it takes `event` and `event_weight` as well."""

COSTS: tuple[Cost, ...] = tuple(GRAPH_OF_COST)


def resolved_cost(cost: CostOption, *, censored: bool = False) -> Cost:
    """Return the cost that a learner's parameter stands for."""
    if cost != "auto":
        return cost
    return "unit" if censored else "magnitude"


def compare_scores(
    scores: Float,
    queries: Queries,
    *,
    weight: Float | None = None,
    cost: Cost = "magnitude",
    ties: Ties = "include",
    query_weight: QueryWeight = "pairs",
    allow_no_comparisons: bool = False,
    events: Lifetimes | None = None,
) -> list[OutputGraph]:
    """Compare the items of each query through their scores.

    Outputs that share a graph are solved together. The graph depends on the scores themselves when ties are left
    out, as the unit and the relative cost always do, and on which scores are missing (NaN).

    Parameters
    ----------
    scores : ndarray, shape (m, outputs)
        Scores; NaN where an item is left out of an output.
    queries : Queries
        Which items belong together.
    weight : ndarray, shape (m,), optional
        Item weights.
    cost, ties, query_weight : str
        As in `RankRLS`.
    allow_no_comparisons : bool, default=False
        Whether there may be nothing to compare, as in one batch of many.
    events : Lifetimes, optional
        Where the scores are times, some of them censored: which of them are times of an event.

    Returns
    -------
    list of (columns, Comparisons)

    Raises
    ------
    NothingToCompareError
        If an output has no pair of items to compare.
    """

    def build(columns: Index, values: Float, item_weight: Float | None) -> list[OutputGraph]:
        if cost == "magnitude" and ties == "include" and events is None:
            graph = ScoredQueries(values, queries, weight=item_weight, query_weight=query_weight)
            return [(columns, graph)]
        graph_of = partial(_graph_of(cost, events), weight=item_weight, query_weight=query_weight)
        return [(columns[k : k + 1], graph_of(values[:, k : k + 1], queries)) for k in range(len(columns))]

    graphs = by_missing_pattern(scores, weight, build)
    for columns, graph in [] if allow_no_comparisons else graphs:
        tied = _all_tied(graph, queries) if graph.parts_merge else np.array([graph.n_pairs == 0])
        if graph.n_pairs == 0 or tied.any():
            output = int(columns[int(np.argmax(tied))])
            why = _nothing_to_compare(queries, output, scores.shape[1])
            raise NothingToCompareError(why if events is None else events.nothing_to_compare(len(queries), cost))
    return graphs


def _graph_of(cost: Cost, events: Lifetimes | None) -> Callable[..., ScoredComparisons]:
    """Return what builds the graph of a cost from one column of scores, or of censored times."""
    if events is None:
        return GRAPH_OF_COST[cost]
    if cost not in GRAPH_OF_CENSORED_COST:
        known = " or ".join(repr(name) for name in GRAPH_OF_CENSORED_COST)
        raise InvalidInputError(f"Expected cost={known} with censored times; got cost={cost!r}.")
    if events.entry is not None:
        if cost != "unit":
            raise InvalidInputError(f"Expected cost='unit' with entry times; got cost={cost!r}.")
        return partial(EnteredTimes, event=events.event, entry=events.entry, event_weight=events.weight)
    return partial(GRAPH_OF_CENSORED_COST[cost], event=events.event, event_weight=events.weight)


def by_missing_pattern(
    scores: Float, weight: Float | None, build: Callable[[Index, Float, Float | None], list[OutputGraph]]
) -> list[OutputGraph]:
    """Build graphs for the outputs that miss the same items together; a missing score is an item of weight zero."""
    missing = np.isnan(scores)
    if not missing.any():
        return build(np.arange(scores.shape[1]), scores, weight)
    # The bits of a column are looked up: sorting the columns would compare them as long strings.
    outputs: dict[bytes, list[int]] = {}
    for k in range(scores.shape[1]):
        outputs.setdefault(np.packbits(missing[:, k]).tobytes(), []).append(k)
    graphs: list[OutputGraph] = []
    for columns in map(np.array, outputs.values()):
        absent = missing[:, columns[0]]
        present = np.where(absent, 0.0, 1.0 if weight is None else weight)
        graphs += build(columns.astype(np.int64), np.where(absent[:, None], 0.0, scores[:, columns]), present)
    return graphs


def _all_tied(graph: ScoredComparisons, queries: Queries) -> NDArray[np.bool_]:
    """Return which outputs have one score only in each query, so that nothing but ties would be compared.

    The items are read in blocks until every output has shown two different scores in a query: mostly the first one.
    """
    items, codes = np.flatnonzero(graph.weight > 0), queries.codes
    n_outputs = graph.scores.shape[1]
    seen, first = np.zeros(graph.n_queries, dtype=bool), np.empty((graph.n_queries, n_outputs))
    tied = np.ones(n_outputs, dtype=bool)
    for rows in blocks(len(items), 8 * n_outputs, 2**15):  # the first block mostly shows two
        scores, query = graph.scores[items[rows]], codes[items[rows]]
        new = ~seen[query]
        first[query[new]] = scores[new]
        seen[query] = True
        tied &= np.all(scores == first[query], axis=0)
        if not tied.any():
            break
    return tied


def _nothing_to_compare(queries: Queries, output: int, n_outputs: int) -> str:
    where = f" in output {output}" if n_outputs > 1 else ""
    single = int((queries.sizes == 1).sum())
    return (
        f"nothing to compare{where}: no query has two items with different scores ({len(queries)} queries, "
        f"{single} of them with one item, the others with ties only)"
    )


def compare_pairs(
    n_items: int, pairs: Index, *, magnitude: Float | None, weight: Float | None, cost: Cost = "magnitude"
) -> PreferenceGraph:
    """Compare items through observed preferences.

    Parameters
    ----------
    n_items : int
        The number of items.
    pairs : ndarray of int, shape (l, 2)
        Column 0 is preferred to column 1.
    magnitude, weight : ndarray, shape (l,), optional
        By how much, and the weight of the squared error; one unless given.
    cost : {"magnitude", "unit", "relative"}
        The target difference: the magnitude, one, or the magnitude with the weight divided by its square.

    Returns
    -------
    PreferenceGraph
    """
    if len(pairs) == 0:
        raise NothingToCompareError("nothing to compare: pairs is empty")
    ones = np.ones(len(pairs))
    zero = ones if magnitude is None or cost == "unit" else magnitude
    counts = ones if weight is None else weight
    if not np.any(counts > 0):
        raise NothingToCompareError("nothing to compare: every weight is zero")
    if cost == "relative" and magnitude is not None:
        if np.any(magnitude == 0):
            raise InvalidInputError(
                f"cost='relative' divides by the magnitude, which is zero for pair {int(np.argmin(magnitude))}"
            )
        with np.errstate(over="ignore", divide="ignore"):
            squares = magnitude**2
            counts = counts / squares
        if not np.all(np.isfinite(squares) & np.isfinite(counts)):
            raise InvalidInputError(
                "cost='relative' divides by the squares of the magnitudes, and these are too large or too small for a "
                f"float: they go from {magnitude.min():.3g} to {magnitude.max():.3g}"
            )
    return PreferenceGraph(n_items, pairs, magnitude=zero, weight=counts)

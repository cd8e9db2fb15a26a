"""The statistics of a stream: all that is known of the batches so far."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.comparisons import ScoredComparisons
from kernelrank.comparisons.moments import QueryMoments
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.stream_rounding import StreamRounding
from kernelrank.estimators.versioned_dict import VersionedDict
from kernelrank.features import ColumnFeatures

__all__ = ["BatchStatistics", "QueryMode", "StreamStatistics"]

QueryMode = Literal["whole", "mergeable"]

FREE_PARAMETERS = frozenset({"alpha", "solver", "tol", "max_iter", "warm_start", "random_state"})
"""What may change between two batches, for the statistics do not depend on it; a basis is drawn once."""

PLAIN = ("gram", "right", "energy", "one_output", "mode", "n_items", "n_pairs", "n_idle_queries", "forgot")
"""What is data already, and is kept in a model file as it is."""

NEGATIVE = 100.0
"""A sum of squares that is below zero by more than this many times its rounding was never a sum of squares."""


@dataclass(frozen=True)
class BatchStatistics:
    """The sums over a batch of whole queries.

    Parameters
    ----------
    gram, right, energy : ndarray, shapes (r, r), (r, outputs), (outputs,)
        ``Φᵀ L Φ``, ``Φᵀ M N`` and ``‖N‖²``.
    fingerprints : dict
        One for each query, by its label; none in regression.
    n_items, n_pairs, n_idle_queries : int
    """

    gram: Float
    right: Float
    energy: Float
    fingerprints: dict[Any, int]
    n_items: int
    n_pairs: int
    n_idle_queries: int


@dataclass(frozen=True)
class StreamStatistics:
    """The sums over all batches so far. A batch makes new ones, so that a failure leaves the old as they were.

    Parameters
    ----------
    gram, right : ndarray, shapes (r, r), (r, outputs)
        ``Φᵀ L Φ`` and ``Φᵀ M N``.
    energy : ndarray, shape (outputs,)
        ``‖N‖²`` of whole queries, for the size of rounding.
    rounding : StreamRounding
        How much of the sums is rounding.
    one_output : bool
        Whether y has one dimension.
    mode : {"whole", "mergeable"}
    parameters : dict
        Those of the estimator that the sums depend on.
    fingerprints : VersionedDict
        Those of whole queries by their labels.
    moments : VersionedDict
        Those of mergeable queries by their labels.
    n_items, n_pairs, n_idle_queries : int
    forgot : bool
        Whether anything was ever taken away.
    """

    gram: Float
    right: Float
    energy: Float
    rounding: StreamRounding
    one_output: bool
    mode: QueryMode
    parameters: dict[str, Any]
    fingerprints: VersionedDict[Any, int] = field(default_factory=VersionedDict)
    moments: VersionedDict[Any, QueryMoments] = field(default_factory=VersionedDict)
    n_items: int = 0
    n_pairs: int = 0
    n_idle_queries: int = 0
    forgot: bool = False

    @classmethod
    def empty(
        cls, n_columns: int, n_outputs: int, one_output: bool, mode: QueryMode, parameters: Mapping[str, Any]
    ) -> StreamStatistics:
        """Return the statistics of no batch, of an estimator with some parameters."""
        sums = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_outputs)), np.zeros(n_outputs)
        return cls(*sums, StreamRounding.of(*sums), one_output, mode, _problem_parameters(parameters))

    def record(self) -> dict[str, Any]:
        """Return everything but the parameters as plain data: numbers, lists and arrays."""
        record = {name: getattr(self, name) for name in PLAIN}
        record |= {"rounding_gram": self.rounding.gram, "rounding_right": self.rounding.right}
        record |= {"labels": list(self.fingerprints), "fingerprints": list(self.fingerprints.values())}
        record |= {"merged": list(self.moments), "moments": [query.record() for query in self.moments.values()]}
        return record

    @classmethod
    def of_record(cls, record: Mapping[str, Any], parameters: Mapping[str, Any]) -> StreamStatistics:
        """Return what `record` made data of, for an estimator with some parameters; its shapes are checked."""
        plain = {name: record[name] for name in PLAIN}
        r, outputs = plain["right"].shape
        rounding = StreamRounding(record["rounding_gram"], record["rounding_right"])
        shapes = [plain["gram"].shape, plain["energy"].shape, rounding.gram.shape, rounding.right.shape]
        if shapes != [(r, r), (outputs,), (r,), (r, outputs)] or plain["mode"] not in ("whole", "mergeable"):
            raise InvalidInputError("the statistics of the stream do not fit each other")
        known = dict(zip(record["labels"], record["fingerprints"], strict=True))
        moments = [QueryMoments.of_record(query, r, outputs) for query in record["moments"]]
        merged = dict(zip(record["merged"], moments, strict=True))
        return cls(
            **plain,
            rounding=rounding,
            parameters=_problem_parameters(parameters),
            fingerprints=VersionedDict[Any, int]().updated(known),
            moments=VersionedDict[Any, QueryMoments]().updated(merged),
        )

    @property
    def n_queries(self) -> int:
        """How many queries were learnt."""
        return len(self.fingerprints) + len(self.moments)

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Raise an error if parameters other than alpha changed since the first batch."""
        for name, value in self.parameters.items():
            if not _same(value, parameters[name]):
                raise InvalidInputError(
                    f"{name}={value!r} in the first batch and {name}={parameters[name]!r} now. Only alpha may "
                    f"change between batches: set {name} back, or start again with fit, fit_stream or a clone"
                )

    def plus(self, batch: BatchStatistics) -> StreamStatistics:
        """Return the statistics with one more batch."""
        return replace(self._moved(batch, 1), fingerprints=self.fingerprints.updated(batch.fingerprints))

    def minus(self, batch: BatchStatistics) -> StreamStatistics:
        """Return the statistics without some queries; they must be those that were learnt."""
        for label, fingerprint in batch.fingerprints.items():
            if label not in self.fingerprints:
                raise InvalidInputError(f"query {label!r} was not in any earlier batch, so it cannot be forgotten")
            if self.fingerprints[label] != fingerprint:
                raise InvalidInputError(
                    f"query {label!r} was learnt with other items, scores or weights: pass exactly the items, y "
                    "and sample_weight of the earlier batch"
                )
        left = replace(
            self._moved(batch, -1),
            fingerprints=self.fingerprints.without(batch.fingerprints),
            forgot=True,
        )
        if left.n_items < 0 or np.any(np.diagonal(left.gram) < -NEGATIVE * left.rounding.gram):
            raise InvalidInputError("these items were not in any earlier batch, so they cannot be forgotten")
        return left

    def _moved(self, batch: BatchStatistics, sign: int) -> StreamStatistics:
        gram, right = self.gram + sign * batch.gram, self.right + sign * batch.right
        return replace(
            self,
            gram=gram,
            right=right,
            energy=self.energy + sign * batch.energy,
            rounding=self.rounding.after(gram, right, batch.gram, batch.right, batch.energy),
            n_items=self.n_items + sign * batch.n_items,
            n_pairs=self.n_pairs + sign * batch.n_pairs,
            n_idle_queries=self.n_idle_queries + sign * batch.n_idle_queries,
        )

    def merged(self, features: ColumnFeatures, graph: ScoredComparisons) -> StreamStatistics:
        """Return the statistics with the mergeable queries of a batch merged into the known ones."""
        assert graph.queries is not None
        gram, right = self.gram.copy(), self.right.copy()
        moments: dict[Any, QueryMoments] = {}
        n_pairs, n_idle_queries = self.n_pairs, self.n_idle_queries
        for label, items in zip(graph.queries.labels.tolist(), graph.queries, strict=True):
            known = self.moments.get(label)
            query = QueryMoments(*right.shape) if known is None else known.copy()
            query.add(features.rows(items), graph.scores[items], graph.weight[items])
            moments[label] = query
            scatter, moment = query.scaled(graph.query_weight)
            gram += scatter
            right += moment
            n_pairs += query.n_pairs
            n_idle_queries += query.n_pairs == 0
            if known is not None:
                scatter, moment = known.scaled(graph.query_weight)
                gram -= scatter
                right -= moment
                n_pairs -= known.n_pairs
                n_idle_queries -= known.n_pairs == 0
        return replace(
            self,
            gram=gram,
            right=right,
            moments=self.moments.updated(moments),
            n_items=self.n_items + graph.n_items,
            n_pairs=n_pairs,
            n_idle_queries=n_idle_queries,
        )


def _problem_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies of the parameters that the statistics depend on.

    What is not equal to its own copy, such as a callable object, is kept itself.
    """
    kept = {}
    for name, value in parameters.items():
        if name not in FREE_PARAMETERS:
            try:
                copied = deepcopy(value)
            except Exception:  # whatever the copying of a foreign object raises
                copied = value
            kept[name] = copied if _same(copied, value) else value
    return kept


def _same(first: Any, second: Any) -> bool:
    """Return whether two values of a parameter mean the same."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_same(first[key], second[key]) for key in first)
    if np.ndim(first) or np.ndim(second):
        return np.array_equal(first, second)
    return first is second or bool(first == second)

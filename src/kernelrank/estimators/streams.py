"""Streams: batches of whole queries, learnt one after the other, exactly as if they had come at once.

The Laplacian is block diagonal by query, so ``Φᵀ L Φ`` and ``Φᵀ M N`` are sums over queries. They are added over
batches, subtracted by `forget`, and suffice for any alpha. Fingerprints check that removed items are those that were
learnt; the rounding errors of all batches remain in the sums and are estimated (see `stream_rounding`).

A query that continues in a later batch changes the weights of its earlier pairs. With
``queries="mergeable"`` the moments of each query are kept apart and merged (`kernelrank.comparisons.moments`).
"""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from kernelrank import persistence
from kernelrank.base.arrays import Float, Matrix
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import fit_context, num_samples
from kernelrank.base.validation import FilePath
from kernelrank.comparisons import Comparisons, ScoredComparisons
from kernelrank.comparisons.costs import OutputGraph, resolved_cost
from kernelrank.comparisons.moments import QueryMoments
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.data.letor import Ranking, refuse_side_queries
from kernelrank.data.readers import StoredRanking, StoredTable, open_stored
from kernelrank.errors import InvalidInputError, LostDigitsWarning, NothingToCompareError
from kernelrank.estimators.base import KernelLearner, is_fitted_state, whole_or_not_at_all
from kernelrank.features import ColumnFeatures, KernelMap, ReducedSet
from kernelrank.features.map import row_hashes, stir_bits, sums_between
from kernelrank.solvers import Cholesky
from kernelrank.solvers.automatic import DIRECT_LIMIT
from kernelrank.solvers.direct import NormalEquations
from kernelrank.solvers.precision import check_finite, check_range, one_warning

USELESS = 0.1
"""`forget` refuses when the expected relative error of the coefficients reaches this."""


def _can_begin(learner: StreamLearner) -> bool:
    return learner._can_stream()


def _can_go_on(learner: StreamLearner) -> bool:
    # A stream that has begun says itself which parameter has changed since.
    return learner._can_stream() or hasattr(learner, "_stream")


class StreamLearner(KernelLearner):
    """A learner of the primal problem that takes its items in batches."""

    __metadata_request__partial_fit: ClassVar = {"qid": True}

    query_weight: QueryWeight
    compares_queries = True
    """Whether items are compared inside queries, so that it matters which of them come together."""

    def _can_stream(self) -> bool:
        """Whether the problem has a primal form whose columns the first batch fixes."""
        kernel = self._kernel_of_parameters()
        return (kernel.linear or self.basis is not None) and not kernel.precomputed

    @available_if(_can_go_on)
    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def partial_fit(
        self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, queries: QueryMode = "whole"
    ) -> Self:
        """Learn from one more batch; the model equals that of one `fit` to all batches.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features)
            The items of the batch. A kernel other than the linear one needs a basis, which is chosen from the first
            batch and then kept.
        y : array-like, shape (m,) or (m, n_outputs)
            Their scores; none may be missing.
        qid : sequence, shape (m,), optional
            The query of each item. Without it all batches together are one ranking, which must be mergeable.
        sample_weight : array-like, shape (m,), optional
            Item weights.
        queries : {"whole", "mergeable"}, default="whole"
            "whole": each query is in one batch, and a query that occurs again is an error. "mergeable": queries may be
            split between batches; needs ``cost="magnitude"``, ``ties="include"`` and r² numbers of memory per query.

        Returns
        -------
        self

        Notes
        -----
        O(m r²) time and one block of memory for the batch, with r columns or basis items, and r³/3 for the solution.

        Examples
        --------
        >>> import numpy as np
        >>> from kernelrank import RankRLS, make_ranking
        >>> X, y, qid = make_ranking(n_queries=6, n_items=5, n_features=3, random_state=0)
        >>> streamed = RankRLS().partial_fit(X[:15], y[:15], qid=qid[:15])
        >>> streamed = streamed.partial_fit(X[15:], y[15:], qid=qid[15:])
        >>> np.allclose(streamed.coef_, RankRLS().fit(X, y, qid=qid).coef_)
        True
        """
        self._learn_batch(X, y, qid, sample_weight, queries)
        self._solve_stream()
        return self

    @available_if(_can_begin)
    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit_stream(
        self, batches: Iterable[Any], *, queries: QueryMode = "whole", checkpoint: FilePath | None = None
    ) -> Self:
        """Fit to batches of data that do not fit into memory together.

        Parameters
        ----------
        batches : iterable of (X, y), (X, y, qid) or longer tuples
            As `kernelrank.data.read_ranking_chunks` and `kernelrank.data.read_parquet_chunks` yield them; entries after
            qid are ignored.
        queries : {"whole", "mergeable"}, default="whole"
            As in `partial_fit`.
        checkpoint : path, optional
            A model file to which the statistics are written every two minutes. If it exists, the fit goes on from
            there: batches that were learnt are read, compared with what was learnt, and passed over. It is removed at
            the end.

        Returns
        -------
        self

        Notes
        -----
        O(m r²) time in all; memory one batch and r² numbers. A terminal shows how many rows have been learnt. An error
        or Ctrl-C, here or in the source of the batches, leaves this estimator unchanged.

        See Also
        --------
        fit : which takes the path of a file, too.

        Examples
        --------
        >>> import numpy as np
        >>> from kernelrank import RankRLS, make_ranking
        >>> X, y, qid = make_ranking(n_queries=6, n_items=5, n_features=3, random_state=0)
        >>> batches = ((X[qid == q], y[qid == q], qid[qid == q]) for q in np.unique(qid))
        >>> np.allclose(RankRLS().fit_stream(batches).coef_, RankRLS().fit(X, y, qid=qid).coef_)
        True
        """
        self._clear()
        saved = Checkpoint.opened(checkpoint, self)
        self._learn_batches(batches, queries, None, "batches", lambda number: f"batch {number}", saved)
        return self

    def _learn_batches(
        self,
        batches: Iterable[Any],
        mode: QueryMode,
        total: int | None,
        noun: str,
        place: Callable[[int], str],
        saved: Checkpoint | None,
    ) -> None:
        """Add the statistics of all batches, and solve; a terminal shows a bar."""
        number = -1
        # Closed, not collected: after Ctrl-C the traceback keeps this frame, and a bar would go on drawing.
        learning = track(batches, total, f"learning {noun}", size=lambda batch: num_samples(batch[0]), noun="rows")
        with closing(learning):
            for number, batch in enumerate(learning):
                X, y, qid = (*batch[:3], None)[:3]
                if saved is not None and saved.covers(X, y, qid):
                    continue
                try:
                    self._learn_batch(X, y, qid, None, mode)
                except InvalidInputError as error:
                    raise InvalidInputError(f"{place(number)}: {error}") from error
                if saved is not None:
                    saved.write_in_time(self)
        if number < 0:
            raise InvalidInputError("the stream is empty: expected at least one batch")
        if saved is not None:
            saved.refuse_more()
        self._solve_stream()
        if saved is not None:
            Path(saved.path).unlink(missing_ok=True)

    @available_if(_can_go_on)
    @whole_or_not_at_all
    def forget(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Remove whole queries from the model, as if they had never been in the training data.

        Parameters
        ----------
        X, y, qid, sample_weight
            The queries as they were learnt, in any order. Other items under a known label are an error; regression has
            no queries, and only detects items that cannot have been learnt.

        Returns
        -------
        self

        Warns
        -----
        LostDigitsWarning
            If rounding errors left by the removed queries exceed 1e-8 of the remaining coefficients, because their
            items were very much larger. From 10 % on it is an error.
        """
        stream = self._learnt()
        if stream.mode == "mergeable":
            raise InvalidInputError(
                "forget removes whole queries, which queries='mergeable' does not support: fit without that option"
            )
        stream.check_parameters(self.get_params(deep=False))
        X = self._check_items(X, reset=False)
        graphs, one_output = self._compare(X, y, qid, sample_weight, allow_no_comparisons=True)
        self._check_batch(graphs, stream, one_output, "whole")
        self._stream = stream.minus(self._batch(X, graphs))
        error = self._solve_stream()
        if error >= USELESS:
            raise InvalidInputError(
                "these queries are so much larger than the others that only rounding errors would remain: "
                "refit on the others instead"
            )
        return self

    def _clear(self) -> None:
        for name in [name for name in self.__dict__ if is_fitted_state(name)]:
            delattr(self, name)

    def _stream_record(self) -> dict[str, Any] | None:
        """Return the statistics as data for a model file; None if no other batch could go on from them."""
        stream: StreamStatistics | None = getattr(self, "_stream", None)
        if stream is None:
            return None
        try:
            stream.check_parameters(self.get_params(deep=False))
        except InvalidInputError:
            return None
        return stream.record()

    def _restore_stream(self, record: dict[str, Any]) -> None:
        """Go on from the statistics of a model file."""
        linear = self._kernel().linear and self.basis is None
        stream = StreamStatistics.of_record(record, self.get_params(deep=False))
        most = self.n_features_in_ if linear else num_samples(self.X_fit_)
        n_outputs = 1 if stream.one_output else stream.right.shape[1]
        if len(stream.gram) > most or (linear and len(stream.gram) < most) or stream.right.shape[1] != n_outputs:
            raise InvalidInputError("the statistics of the stream do not fit the columns of the model")
        self._stream = stream

    def _learnt(self) -> StreamStatistics:
        stream: StreamStatistics | None = getattr(self, "_stream", None)
        if stream is None:
            raise InvalidInputError("expected earlier calls of partial_fit or fit_stream; there were none")
        return stream

    def _learn_batch(self, X: object, y: object, qid: object, sample_weight: object, mode: QueryMode) -> None:
        """Add the statistics of one batch."""
        stream: StreamStatistics | None = getattr(self, "_stream", None)
        parameters = self.get_params(deep=False)
        if stream is not None:
            stream.check_parameters(parameters)
        elif hasattr(self, "solver_"):
            warnings.warn(
                "partial_fit starts again from nothing: fit keeps no statistics to continue from, and save(..., "
                "statistics=False) none either",
                UserWarning,
                stacklevel=4,
            )
            self._clear()
        X = self._check_items(X, reset=stream is None, least=1)
        if stream is None and hasattr(self, "X_fit_"):
            self._fix_kernel(self.X_fit_)  # a basis that was read from all of a file says more than its first batch
        graphs, one_output = self._compare(X, y, qid, sample_weight, allow_no_comparisons=True)
        self._check_batch(graphs, stream, one_output, mode)
        graph = graphs[0][1]
        if mode == "mergeable":
            features = self._stream_features(X)
            check_range(features, [graph])
            if stream is None:
                n_outputs = graph.scores.shape[1]
                stream = StreamStatistics.empty(features.n_columns, n_outputs, one_output, mode, parameters)
            self._stream = stream.merged(features, graph)
            return
        self._refuse_return(stream, _labels(graph))
        batch = self._batch(X, graphs)
        if stream is None:
            n_columns, n_outputs = batch.right.shape
            stream = StreamStatistics.empty(n_columns, n_outputs, one_output, mode, parameters)
        self._stream = stream.plus(batch)

    def _check_batch(
        self, graphs: list[OutputGraph], stream: StreamStatistics | None, one_output: bool, mode: QueryMode
    ) -> None:
        n_outputs = sum(len(columns) for columns, _ in graphs)
        if stream is not None and (stream.one_output != one_output or stream.right.shape[1] != n_outputs):
            raise InvalidInputError(f"y has {n_outputs} outputs, but the first batch had {stream.right.shape[1]}")
        if stream is not None and stream.mode != mode:
            raise InvalidInputError(f"queries={mode!r}, but the first batch had queries={stream.mode!r}")
        if mode == "mergeable" and not (graphs[0][1].parts_merge and len(graphs) == 1):
            raise InvalidInputError("queries='mergeable' needs cost='magnitude' and ties='include'")

    def _refuse_return(self, stream: StreamStatistics | None, labels: list[Any]) -> None:
        returned = [label for label in labels if stream is not None and label in stream.fingerprints]
        if returned:
            name = "the only query" if returned[0] is None else f"query {returned[0]!r}"
            raise InvalidInputError(
                f"{name} was in an earlier batch: give each query in one batch, a file's in adjacent rows, or pass "
                "queries='mergeable'"
            )

    def _batch(self, X: Matrix, graphs: list[OutputGraph]) -> BatchStatistics:
        """Return the statistics of one batch of whole queries; outputs must share the left-hand side."""
        features = self._stream_features(X)
        if len(graphs) > 1:
            raise InvalidInputError(
                "several outputs can be streamed only with cost='magnitude', ties='include' and no missing scores"
            )
        graph = graphs[0][1]
        check_range(features, [graph])
        fingerprints: list[int] = []
        if graph.queries is not None:
            scores = graph.scores if graph.event is None else np.column_stack([graph.scores, graph.event])
            fingerprints = query_fingerprints(X, scores, graph.weight, graph.queries)
        return BatchStatistics(
            *features.normal_equations(graph),
            np.einsum("ij,ij->j", graph.magnitudes, graph.target()),
            dict(zip(_labels(graph), fingerprints, strict=True)),
            graph.n_items,
            graph.n_pairs,
            graph.n_idle_queries,
        )

    def _stream_features(self, X: Matrix) -> ColumnFeatures:
        """Return the columns of a batch; a basis is chosen once, and then stays."""
        known = hasattr(self, "X_fit_")
        features = (ReducedSet.elsewhere(self._kernel(), X, self.X_fit_) if known else self._features(X)).columns
        assert features is not None
        if features.n_columns > DIRECT_LIMIT:
            raise InvalidInputError(
                f"streaming {features.n_columns:,} columns would keep a matrix of their products, "
                f"{8e-9 * features.n_columns**2:.0f} GB; at most {DIRECT_LIMIT:,} columns are supported. Fit to "
                "sparse items in memory, which needs no such matrix"
            )
        if features.basis is not None and not known:
            self.basis_, self.X_fit_ = features.basis, features.kept_items
        return features

    def _solve_stream(self) -> float:
        """Solve for the alpha of this estimator and keep the coefficients; return the relative error to expect."""
        stream = self._learnt()
        n_compared = stream.n_pairs if self.compares_queries else stream.n_items
        if n_compared == 0 or not (stream.forgot or np.any(stream.gram)):
            raise NothingToCompareError("nothing to compare: no query of any batch has two items that differ")
        linear = self._kernel().linear and self.basis is None
        n_outputs = stream.right.shape[1]
        doubtful = stream.forgot and stream.rounding.exceeds(
            StreamRounding.of(stream.gram, stream.right, stream.energy)
        )
        right = np.column_stack([stream.right, stream.rounding.probes()]) if doubtful else stream.right
        equations = NormalEquations(stream.gram, right, lambda w: w)
        with one_warning("predictions", shown=not doubtful):
            solved = Cholesky().solve(equations, float(self.alpha)).coefficients
        coefficients = solved[:, :n_outputs]
        check_finite(coefficients)
        for name in self._posterior_state:
            self.__dict__.pop(name, None)
        error = stream.rounding.relative_error(coefficients, solved[:, n_outputs:]) if doubtful else 0.0
        if not linear:
            coefficients = KernelMap.of(self._kernel(), self._kernel().matrix(self.X_fit_)).coefficients(coefficients)
        if linear:
            coefficients = self._kernel().column_weights(coefficients)
            self.coef_ = coefficients[:, 0] if stream.one_output else np.ascontiguousarray(coefficients.T)
        else:
            self.dual_coef_ = coefficients[:, 0] if stream.one_output else coefficients
        self.solver_ = "cholesky"
        self.n_iter_ = 1
        self.n_queries_ = max(1, stream.n_queries)
        self.n_idle_queries_ = stream.n_idle_queries
        self.n_pairs_ = stream.n_pairs
        if 1e-8 < error < USELESS:
            warnings.warn(
                f"the forgotten queries were much larger than the rest, so rounding errors remain: expect a relative "
                f"error of {error:.0e} in the coefficients. Refit on the remaining queries for full precision",
                LostDigitsWarning,
                stacklevel=5,
            )
        return error


def _labels(graph: Comparisons) -> list[Hashable]:
    """Return what the user calls the queries of a batch; regression has none."""
    labels: list[Hashable] = [] if graph.queries is None else graph.queries.labels.tolist()
    return labels


# Stream rounding ------------------------------------------------------------------------------------------------------
#
# Rounding errors of a stream: what remains in the sums after large numbers were subtracted again.
#
# A sum ``G = Σ B_t`` of statistics is rounded with every batch that comes or goes, by about ε times its size and some
# times that of the batch. Rounding does not leave with the batch: queries 10⁷ times as large as the others leave 10¹⁴
# ε. So its size is kept for the diagonal of ``G = Φᵀ L Φ``, ``ρ_j²``, and for ``b = Φᵀ M N``, ``β_j``; independent
# errors add like variances. By Cauchy and Schwarz an entry ``G_ij`` is rounded by about ``ρ_i ρ_j``, and the rounding
# of batch b_t by ``ε √(B_jj ‖N‖²)``.
#
# With ``A = G + alpha I`` and ``w = A⁻¹ b``, errors δG and δb make ``δw = A⁻¹ (δb - δG w)``. Row i of the bracket has
# the variance ``β_i² + ρ_i² Σ_j ρ_j² w_j²``, so that
#
#     ``E ‖δw‖² = E ‖A⁻¹ (β ∘ s)‖² + (Σ_j ρ_j² w_j²) E ‖A⁻¹ (ρ ∘ s)‖²``  over random signs s.
#
# A few signs give the expectations, and as right-hand sides they share the factorisation that w needs anyway.

EPSILON = float(np.finfo(np.float64).eps)

N_SIGNS = 4


@dataclass(frozen=True)
class StreamRounding:
    """The rounding errors of the statistics of a stream.

    Shapes: gram (r,), right (r, outputs).
    """

    gram: Float
    right: Float

    @classmethod
    def of(cls, gram: Float, right: Float, energy: Float) -> Self:
        """Return the rounding of one batch with ``Φᵀ L Φ``, ``Φᵀ M N`` and ``‖N‖²``."""
        diagonal = np.maximum(np.diagonal(gram), 0.0)
        size = np.sqrt(diagonal)[:, None] * np.sqrt(np.maximum(energy, 0.0))
        unit = 4.0 * EPSILON  # sums over items, in blocks
        return cls(unit * diagonal, unit * np.maximum(size, np.abs(right)))

    def after(self, gram: Float, right: Float, *batch: Float) -> StreamRounding:
        """Return the rounding errors after a batch was added or removed, with the new sums."""
        change = type(self).of(*batch)
        return StreamRounding(
            np.hypot(np.hypot(self.gram, change.gram), EPSILON * np.abs(np.diagonal(gram))),
            np.hypot(np.hypot(self.right, change.right), EPSILON * np.abs(right)),
        )

    def exceeds(self, fresh: StreamRounding) -> bool:
        """Whether a refit, with the rounding errors `fresh`, would be more accurate."""
        return bool(np.any(self.gram > 10.0 * fresh.gram) or np.any(self.right > 10.0 * fresh.right))

    def probes(self) -> Float:
        """Return random right-hand sides of the size of the rounding errors, shape (r, signs × (1 + outputs))."""
        signs = np.where(np.random.default_rng(0).random((len(self.gram), N_SIGNS)) < 0.5, -1.0, 1.0)
        sizes = np.column_stack([np.sqrt(self.gram), self.right])
        return (sizes[:, :, None] * signs[:, None, :]).reshape(len(signs), -1)

    def relative_error(self, w: Float, solved: Float) -> float:
        """Return the relative error to expect of the coefficients, that of the worst output.

        Shapes: w (r, outputs).
        """
        squares = np.sum(solved.reshape(len(w), -1, N_SIGNS) ** 2, axis=(0, 2)) / N_SIGNS
        error = np.sqrt(squares[1:] + squares[0] * (self.gram @ w**2))
        size = np.linalg.norm(w, axis=0)
        nothing = np.where(error > 0, np.inf, 0.0)
        return float(np.max(np.divide(error, size, out=nothing, where=size > 0)))


# Stream statistics ----------------------------------------------------------------------------------------------------
#
# The statistics of a stream: all that is known of the batches so far.

QueryMode = Literal["whole", "mergeable"]

FREE_PARAMETERS = frozenset({"alpha", "solver", "tol", "max_iter", "warm_start", "random_state"})
"""What may change between two batches, for the statistics do not depend on it; a basis is drawn once."""

PLAIN = ("gram", "right", "energy", "one_output", "mode", "n_items", "n_pairs", "n_idle_queries", "forgot")
"""What is data already, and is kept in a model file as it is."""


@dataclass(frozen=True)
class BatchStatistics:
    """The sums over a batch of whole queries."""

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

    Shapes: energy (outputs,).
    """

    gram: Float
    right: Float
    energy: Float
    rounding: StreamRounding
    one_output: bool
    mode: QueryMode
    parameters: dict[str, Any]
    fingerprints: dict[Any, int] = field(default_factory=dict)
    moments: dict[Any, QueryMoments] = field(default_factory=dict)
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
            fingerprints=known,
            moments=merged,
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
        return replace(self._moved(batch, 1), fingerprints={**self.fingerprints, **batch.fingerprints})

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
        kept = {label: known for label, known in self.fingerprints.items() if label not in batch.fingerprints}
        left = replace(self._moved(batch, -1), fingerprints=kept, forgot=True)
        # Squares that are below zero by more than rounding were never added up.
        if left.n_items < 0 or np.any(np.diagonal(left.gram) < -100.0 * left.rounding.gram):
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
            for sign, one in ((1, query), (-1, known)):
                if one is not None:
                    scatter, moment = one.scaled(graph.query_weight)
                    gram += sign * scatter
                    right += sign * moment
                    n_pairs += sign * one.n_pairs
                    n_idle_queries += sign * (one.n_pairs == 0)
        return replace(
            self,
            gram=gram,
            right=right,
            moments={**self.moments, **moments},
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


# Checkpoint -----------------------------------------------------------------------------------------------------------
#
# The statistics of a long fit in a model file, from which the same fit goes on.

CHECKPOINT_SECONDS = 120.0
"""How often a checkpoint is written."""


@dataclass
class Checkpoint:
    """How many rows were learnt when it was written, and a hash of them."""

    path: FilePath
    n_saved: int = 0
    digest_saved: str = ""
    n_rows: int = 0
    digest: str = ""
    written: float = field(default_factory=time.monotonic)

    @classmethod
    def opened(cls, path: FilePath | None, learner: StreamLearner) -> Checkpoint | None:
        """Give the learner the state of a checkpoint, if there is one."""
        if path is None or not os.path.exists(path):
            return None if path is None else cls(path)
        model = persistence.load(path)
        record = persistence.provenance(model).get("checkpoint")
        if record is None or type(model) is not type(learner):
            raise InvalidInputError(
                f"{os.fspath(path)} is no checkpoint of {type(learner).__name__}: give another file for the checkpoint"
            )
        learner.__dict__.update({name: value for name, value in vars(model).items() if is_fitted_state(name)})
        del learner.provenance_
        learner._learnt().check_parameters(learner.get_params(deep=False))
        return cls(path, record["rows"], record["digest"])

    def covers(self, X: Any, y: Any, qid: Any) -> bool:
        """Return whether a batch was learnt before the checkpoint was written; other items than then are an error."""
        hashed = hashlib.sha256(self.digest.encode())
        parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
        for part in (*parts, y, np.asarray(qid).astype(str)):
            hashed.update(np.ascontiguousarray(part).view(np.uint8).data)
        self.n_rows, self.digest = self.n_rows + num_samples(X), hashed.hexdigest()
        if self.n_rows == self.n_saved and self.digest != self.digest_saved:
            self._refuse()
        return self.n_rows <= self.n_saved

    def refuse_more(self) -> None:
        """Raise an error if more rows were learnt than there are now."""
        if self.n_rows < self.n_saved:
            self._refuse()

    def _refuse(self) -> None:
        raise InvalidInputError(
            f"{os.fspath(self.path)} is the checkpoint of a fit to other items, or in other batches: remove it to "
            "begin again"
        )

    def write_in_time(self, learner: StreamLearner) -> None:
        """Write the statistics, if the last time is long enough ago."""
        if time.monotonic() < self.written + CHECKPOINT_SECONDS:
            return
        model = copy(learner)
        with warnings.catch_warnings(), suppress(NothingToCompareError):
            warnings.simplefilter("ignore", LostDigitsWarning)
            model._solve_stream()
            model.provenance_ = {"checkpoint": {"rows": self.n_rows, "digest": self.digest}}
            persistence.save(model, self.path)
        self.written = time.monotonic()


# Query fingerprint ----------------------------------------------------------------------------------------------------
#
# Query fingerprints: 64-bit hashes that show whether a query has the same items as before.
#
# The binary digits of each number, stirred, are multiplied by an odd number of its column and added up over the row,
# modulo 2⁶⁴; the rows of a query, stirred again, are added up too. So the order of the items does not matter, nor
# whether they are dense or sparse (a zero adds nothing), nor how they are cut into blocks. That two different queries
# have the same fingerprint by chance is very unlikely; there is no protection against items constructed to have it.


def query_fingerprints(X: Matrix, scores: Float, weight: Float, queries: Queries) -> list[int]:
    """Return a number for each query that stands for its items, their scores and their weights.

    O(m n) time, or O(nnz) for sparse items; memory one block, or O(nnz).

    Shapes: X (m, n), scores (m, outputs), weight (m,).
    """
    rows = row_hashes(X, 20_090_401) + row_hashes(np.column_stack([scores, weight]), 20_110_613)
    stirred = stir_bits(rows)
    sums: list[int] = sums_between(stirred if queries.contiguous else stirred[queries.order], queries.bounds).tolist()
    return sums


# File fit -------------------------------------------------------------------------------------------------------------
#
# Fitting to a file: X is a path, and the file is read in batches that need not fit into memory together.
#
# ========================================  =====================================  ====================================
# path                                      y, qid                                 how
# ========================================  =====================================  ====================================
# Parquet file, or a folder of them         names of columns                       batches of whole queries
# CSV or TSV file, compressed too           names of columns                       batches of whole queries
# SVMlight or LETOR file, compressed too    none: they are in the file             batches of whole queries
# ``.npy``                                  arrays, or ``.npy`` paths themselves   mapped into memory, then as any array
# ========================================  =====================================  ====================================
#
# The format is determined as by the command, from the suffix or the first line. No column is guessed: an error about a
# missing or unknown column lists the columns. All other columns of numbers are features, unless they are named.
#
# A basis is drawn from all items, as in memory, so that a file gives the same model; this takes one more reading, which
# collects the basis items.


def fit_file(
    learner: StreamLearner,
    path: FilePath,
    target: str | None,
    query: str | None,
    sample_weight: Any,
    queries: QueryMode,
    *,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    impute: str | None = None,
    checkpoint: FilePath | None = None,
) -> None:
    """Learn from a file of any format; the learner is not restored when that fails.

    O(m r²) time and one batch and r² numbers of memory, as `fit_stream`.
    """
    if impute not in (None, "median", "mean"):
        raise InvalidInputError(f"impute must be 'median', 'mean' or None, got {impute!r}")
    _check_learner(learner, path)
    if sample_weight is not None:
        raise InvalidInputError("sample_weight is not supported when X is a path. Use partial_fit, which accepts it.")
    stored = open_stored(path, target=target, query=query, features=features, exclude=exclude, impute=impute)
    fit_stored(learner, stored, queries, checkpoint)
    if stored.names is not None:
        learner.feature_names_in_ = np.array(stored.names, dtype=object)
    if isinstance(stored, StoredTable) and impute:
        learner.fill_values_ = stored.fills


def fit_stored(
    learner: StreamLearner, stored: StoredRanking, queries: QueryMode, checkpoint: FilePath | None = None
) -> None:
    """Learn from a file that is open."""
    mode = batch_mode(learner, stored, queries)
    learner._clear()
    name = Path(stored.path).name
    saved = Checkpoint.opened(checkpoint, learner)
    if learner.basis is not None and not hasattr(learner, "_stream"):
        _read_basis(learner, stored, name)
    first = [0]

    def chunks() -> Generator[Ranking, None, None]:
        for chunk in stored.chunks(whole_queries=mode == "whole" and learner.compares_queries):
            yield chunk
            first.append(first[-1] + len(chunk.y))

    with closing(chunks()) as batches:
        place = f"{stored.path}, from row"
        learner._learn_batches(batches, mode, stored.n_items, name, lambda n: f"{place} {first[n] + 1:,} on", saved)


def _check_learner(learner: StreamLearner, path: FilePath) -> None:
    """Raise an error that explains why a learner cannot learn in batches."""
    if learner._can_stream():
        return
    reason = "a precomputed kernel cannot be read in batches: use another kernel"
    if not learner._kernel_of_parameters().precomputed:
        reason = f"kernel={learner.kernel!r} without a basis compares every item with every other: give basis=1000"
    raise InvalidInputError(
        f"{type(learner).__name__} cannot be fitted to {os.fspath(path)}: {reason}, or read the file into memory first"
    )


def batch_mode(learner: StreamLearner, stored: StoredRanking, queries: QueryMode) -> QueryMode:
    """Return how batches are joined: without queries they are parts of one ranking, as they would be in memory."""
    if not learner.compares_queries:
        return "whole"
    if not stored.has_queries:
        refuse_side_queries(stored.path)
    mergeable = (
        resolved_cost(getattr(learner, "cost", "auto")) == "magnitude" and getattr(learner, "ties", "") == "include"
    )
    return "mergeable" if not stored.has_queries and mergeable else queries


def _read_basis(learner: StreamLearner, stored: StoredRanking, name: str) -> None:
    """Draw the basis from all items and read its rows."""
    basis = learner._draw_basis(stored.n_items)
    order = np.argsort(basis, kind="stable")
    parts: list[Matrix] = []
    start = 0
    reading = track(
        stored.chunks(whole_queries=False), stored.n_items, f"basis of {name}", size=lambda c: len(c.y), noun="rows"
    )
    with closing(reading):
        for chunk in reading:
            stop = start + len(chunk.y)
            here = basis[order[slice(*np.searchsorted(basis[order], [start, stop]))]]
            parts.append(chunk.X[here - start])
            start = stop
            if start > basis.max():
                break
    rows = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    learner.basis_ = basis
    learner.X_fit_ = learner._check_items(rows[np.argsort(order)], reset=True, least=1)

"""Streams: batches of whole queries, learnt one after the other, exactly as if they had come at once.

The Laplacian is block diagonal by query, so ``Φᵀ L Φ`` and ``Φᵀ M N`` are sums over queries. They are added over
batches, subtracted by `forget`, and suffice for any alpha. Fingerprints check that removed items are those that were
learnt; the rounding errors of all batches remain in the sums and are estimated (see `stream_rounding`).

A query that continues in a later batch changes the weights of its earlier pairs. With
``queries="mergeable"`` the moments of each query are kept apart and merged (`kernelrank.comparisons.moments`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable
from contextlib import closing
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples

from kernelrank.base.arrays import Matrix
from kernelrank.base.progress import track
from kernelrank.comparisons import Comparisons
from kernelrank.comparisons.costs import OutputGraph
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.errors import InvalidInputError, LostDigitsWarning, NothingToCompareError
from kernelrank.estimators.base import KernelLearner, is_fitted_state, whole_or_not_at_all
from kernelrank.estimators.query_fingerprint import query_fingerprints
from kernelrank.estimators.stream_rounding import StreamRounding
from kernelrank.estimators.stream_statistics import BatchStatistics, QueryMode, StreamStatistics
from kernelrank.features import ColumnFeatures, KernelMap, ReducedSet
from kernelrank.solvers import Cholesky
from kernelrank.solvers.automatic import DIRECT_LIMIT
from kernelrank.solvers.direct import NormalEquations
from kernelrank.solvers.precision import check_finite, check_range, one_warning

__all__ = ["StreamLearner"]

EXACT = 1e-8
"""`forget` warns when the expected relative error of the coefficients is larger than this."""

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
    @_fit_context(prefer_skip_nested_validation=True)
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
    @_fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit_stream(self, batches: Iterable[Any], *, queries: QueryMode = "whole") -> Self:
        """Fit to batches of data that do not fit into memory together.

        Parameters
        ----------
        batches : iterable of (X, y), (X, y, qid) or longer tuples
            As `kernelrank.data.read_ranking_chunks` and `kernelrank.data.read_parquet_chunks` yield them; entries after
            qid are ignored.
        queries : {"whole", "mergeable"}, default="whole"
            As in `partial_fit`.

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
        self._learn_batches(batches, queries, None, "batches", lambda number: f"batch {number}")
        self._solve_stream()
        return self

    def _learn_batches(
        self, batches: Iterable[Any], mode: QueryMode, total: int | None, noun: str, place: Callable[[int], str]
    ) -> None:
        """Add the statistics of all batches; a terminal shows a bar.

        Parameters
        ----------
        batches : iterable of (X, y), (X, y, qid) or longer tuples
        mode : {"whole", "mergeable"}
        total : int or None
            How many rows there are, if that is known.
        noun : str
            The label of the bar.
        place : callable
            What errors call the batch of a number.
        """
        number = -1
        # Closed, not collected: after Ctrl-C the traceback keeps this frame, and a bar would go on drawing.
        with closing(track(batches, total, f"learning {noun}", size=_n_rows, noun="rows")) as bar:
            for number, batch in enumerate(bar):
                X, y, qid = (*batch[:3], None)[:3]
                try:
                    self._learn_batch(X, y, qid, None, mode)
                except InvalidInputError as error:
                    raise InvalidInputError(f"{place(number)}: {error}") from error
        if number < 0:
            raise InvalidInputError("the stream is empty: expected at least one batch")

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
        most = self.n_features_in_ if linear else _num_samples(self.X_fit_)
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
            self.coef_ = coefficients[:, 0] if stream.one_output else np.ascontiguousarray(coefficients.T)
        else:
            self.dual_coef_ = coefficients[:, 0] if stream.one_output else coefficients
        self.solver_ = "cholesky"
        self.n_iter_ = 1
        self.n_queries_ = max(1, stream.n_queries)
        self.n_idle_queries_ = stream.n_idle_queries
        self.n_pairs_ = stream.n_pairs
        if EXACT < error < USELESS:
            warnings.warn(
                f"the forgotten queries were much larger than the rest, so rounding errors remain: expect a relative "
                f"error of {error:.0e} in the coefficients. Refit on the remaining queries for full precision",
                LostDigitsWarning,
                stacklevel=5,
            )
        return error


def _n_rows(batch: tuple[Any, ...]) -> int:
    """Return how many items a batch has."""
    X = batch[0]
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _labels(graph: Comparisons) -> list[Hashable]:
    """Return what the user calls the queries of a batch; regression has none."""
    labels: list[Hashable] = [] if graph.queries is None else graph.queries.labels.tolist()
    return labels

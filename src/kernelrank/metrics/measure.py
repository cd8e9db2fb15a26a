"""The measure: a value such as nDCG@10, called on true and predicted scores."""

from __future__ import annotations

import inspect
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelrank.base.arrays import Labels, is_structured
from kernelrank.base.labels import Queries
from kernelrank.base.results import Result
from kernelrank.base.validation import check_confidence
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.metrics.intervals import FIXED, UNBOUNDED, Interval, bootstrap_interval, mean_interval
from kernelrank.metrics.risks import PrecisionEffects
from kernelrank.metrics.roc import Components

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Measure(ABC):
    """What all measures share: the call, the checks, the label.

    A measure holds its options and nothing else, so two measures with the same options are equal and can be
    keys of a dict. Calling one costs O(m log m) time (one sort of the items and sweeps over them) and O(m)
    memory unless its own docstring says otherwise.

    Examples
    --------
    >>> from kernelrank.metrics import AUC, NDCG
    >>> NDCG(k=10) == NDCG(k=10)
    True
    >>> AUC()([0, 0, 1], [0.1, 0.4, 0.3]).mean
    0.5
    """

    higher_is_better: ClassVar[bool] = True
    takes_weight: ClassVar[bool] = False
    takes_event: ClassVar[bool] = False
    """Whether true scores may be censored times."""
    pools_queries: ClassVar[bool] = False
    """Whether the pairs of all queries count together, so that the mean is not that of the queries."""
    by_order: ClassVar[bool] = True
    """Whether the value depends on nothing but the order of the predicted scores in a query."""
    takes_levels: ClassVar[bool] = False
    """Whether what is measured are predicted levels instead of scores."""
    bounds: ClassVar[tuple[float, float]] = UNBOUNDED
    """The lowest and the highest value that a query can have; an interval never leaves them."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name with its cutoff; `get_measure` reads it."""

    @property
    @abstractmethod
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""

    @property
    def label(self) -> str:
        """The name of the measure with its conventions."""
        return f"{self.name} ({', '.join(self.rules)})"

    @abstractmethod
    def _values(self, items: JudgedItems) -> FloatArray:
        """One value per query, NaN for a query that cannot be measured."""

    @abstractmethod
    def _why_nothing(self, items: JudgedItems) -> str:
        """Return why no query can be measured."""

    def __call__(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        qid: Labels | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> MeasureResult:
        """Measure each query.

        Parameters
        ----------
        y_true : array-like, shape (m,)
            True scores, larger is better.
        y_score : array-like, shape (m,)
            Predicted scores, larger is ranked higher.
        qid : sequence, shape (m,), or None
            Query labels, of any hashable type and in any order; None puts all items into one query.
        sample_weight : array-like, shape (m,), or None
            Item weights, where the measure takes them.

        Returns
        -------
        MeasureResult

        Raises
        ------
        InvalidInputError
            Scores that are not finite, lengths that differ, weights for a measure without them.
        NothingToCompareError
            No query can be measured.
        """
        outputs = self._read(y_true, y_score, qid, sample_weight)
        if len(outputs) > 1:
            raise InvalidInputError(
                f"y_true has {len(outputs)} outputs: measure one column at a time, or call average()"
            )
        return self._measure(outputs[0])

    def average(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        qid: Labels | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Measure and average: over the measured queries, and over the outputs if there are several."""
        outputs = self._read(y_true, y_score, qid, sample_weight)
        if len(outputs) == 1:
            return self._measure(outputs[0]).mean
        means = []
        for number, items in enumerate(outputs):
            try:
                means.append(self._measure(items).mean)
            except NothingToCompareError as error:
                raise NothingToCompareError(f"output {number}: {error}") from None
        return float(np.mean(means))

    def _read(
        self, y_true: ArrayLike, y_score: ArrayLike, qid: Labels | None, sample_weight: ArrayLike | None
    ) -> list[JudgedItems]:
        if sample_weight is not None and not self.takes_weight:
            raise InvalidInputError(f"{self.name} does not support sample_weight")
        return read_items(y_true, y_score, qid, sample_weight)

    def _measure(self, items: JudgedItems) -> MeasureResult:
        values = self._values(items)
        unmeasured = np.isnan(values)
        if unmeasured.all():
            raise NothingToCompareError(f"{self.name} cannot be measured: {self._why_nothing(items)}")
        labels = items.queries.labels
        known = values[~unmeasured], labels[~unmeasured], labels[unmeasured]
        return MeasureResult(self.label, *known, bounds=self.bounds)

    def __str__(self) -> str:
        return self.name


def measure_by(
    measure: type[Measure],
    /,
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: Labels | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    **options: Any,
) -> float | MeasureResult:
    """Measure as the function of a measure does: the mean, or the values of the queries."""
    made = measure(**options)
    call = made if per_query else made.average
    return call(y_true, y_score, qid=qid, sample_weight=sample_weight)


def has_options_of(measure: type[Measure]) -> Callable[[_Function], _Function]:
    """Give a function that calls `measure_by` its signature: the scores and the options of the measure.

    An option that the function itself declares stays as it is there.
    """
    shared = inspect.signature(measure_by).parameters
    named = list(inspect.signature(measure).parameters.values())
    options = [option for option in named if option.kind is not option.KEYWORD_ONLY]
    options += [option for option in reversed(named) if option.kind is option.KEYWORD_ONLY]
    weight = ["sample_weight"] if measure.takes_weight else []
    parameters = [shared[name] for name in ("y_true", "y_score", "qid", *weight)]
    parameters += [option.replace(kind=option.KEYWORD_ONLY) for option in options]
    parameters.append(shared["per_query"])

    def sign(function: _Function) -> _Function:
        declared = inspect.signature(function)
        known = [declared.parameters.get(parameter.name, parameter) for parameter in parameters]
        function.__signature__ = declared.replace(parameters=known)  # type: ignore[attr-defined]
        return function

    return sign


def check_cutoff(k: object, *, required: bool = False) -> None:
    """Raise an error for a cutoff that is not a whole number of at least 1."""
    if k is None and not required:
        return
    if not isinstance(k, numbers.Integral) or isinstance(k, bool) or k < 1:
        raise InvalidInputError(f"the cutoff k must be a whole number of at least 1, got {k!r}")


# Measure result -------------------------------------------------------------------------------------------------------
#
# A measured value: one number per query, their mean, and what was left out.


@dataclass(frozen=True, eq=False, repr=False)
class MeasureResult(Result):
    """A measure of some predictions, query by query.

    Parameters
    ----------
    label : str
        The measure with its cutoff and rules, as it should be printed.
    values : ndarray of float64, shape (n_measured,)
        One value per measured query, in the order of the queries' first items.
    queries : ndarray, shape (n_measured,)
        The labels of the measured queries.
    left_out : ndarray, shape (n_left_out,)
        The labels of the queries that cannot be measured: one item, all ties, or nothing relevant.
    components : Components or PrecisionEffects, optional
        What the interval is made of where one query was measured: the win rates of the items for the AUC, the effects
        of the items for the average precision.
    bounds : (float, float)
        The lowest and the highest value that the measure can have, for the interval; infinite if unknown.

    Examples
    --------
    >>> from kernelrank.metrics import NDCG
    >>> result = NDCG(k=10)([2, 0, 1, 0, 0], [3, 2, 1, 1, 2], qid=["a", "a", "a", "b", "b"])
    >>> print(result)
    nDCG@10 (gain exponential, ties averaged, empty queries left out) = 0.9639 over 1 query, 1 left out
    >>> result.left_out
    array(['b'], dtype=object)
    """

    label: str
    values: FloatArray
    queries: NDArray[Any]
    left_out: NDArray[Any]
    components: Components | PrecisionEffects | None = None
    bounds: tuple[float, float] = UNBOUNDED

    @property
    def mean(self) -> float:
        """The average over the measured queries, each counting the same."""
        return float(np.mean(self.values))

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval: over two queries, or of the AUC or average precision of one."""
        return len(self) > 1 or self.components is not None

    @property
    def n_left_out(self) -> int:
        """How many queries could not be measured."""
        return len(self.left_out)

    def interval(
        self,
        confidence: float = 0.95,
        *,
        method: str = "skewness",
        n_resamples: int = 2000,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> Interval:
        """Return an interval of the mean.

        For several queries it allows for other queries. For the AUC of one query without weights it uses DeLong's
        variance in an interval of score type, and for the average precision of one query the effects of its items on
        the log-odds; both allow for other items. All take the predictions as given, and stay
        within the range of the measure.

        Parameters
        ----------
        confidence : float, default=0.95
            Between 0 and 1.
        method : {"skewness", "bootstrap"}, default="skewness"
            For several queries: Student's interval, corrected for the skewness and the range of the values, O(n) time;
            or `bootstrap_interval`, the percentiles of resampled means, which is narrower and covers less.
        n_resamples, random_state
            For the bootstrap.

        Returns
        -------
        Interval

        Notes
        -----
        `benchmarks/intervals_over_queries_cover.py` measures how often 95 % intervals hold the true mean over queries,
        for all named measures.

        Examples
        --------
        >>> from kernelrank.metrics import AUC
        >>> print(AUC()([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6]).interval())
        95% interval [0.2646, 0.9938] (DeLong's variance over 3 and 3 items; the predictions do not vary)
        """
        if method not in ("skewness", "bootstrap"):
            raise InvalidInputError(f"Expected method='skewness' or 'bootstrap'; got {method!r}.")
        check_confidence(confidence)
        if len(self) == 1 and self.components is not None:
            return self.components.interval(self.mean, confidence)
        if method == "bootstrap":
            return bootstrap_interval(self, confidence=confidence, n_resamples=n_resamples, random_state=random_state)
        if len(self) < 2:
            raise InvalidInputError("an interval over queries needs at least two measured queries, got one")
        how = f"{len(self)} queries, corrected for skewness; {FIXED}"
        return mean_interval(self.values, confidence, how, self.bounds)

    def __float__(self) -> float:
        return self.mean

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        noun = "query" if len(self) == 1 else "queries"
        return f"{self.label} = {self.mean:.4f} over {len(self)} {noun}, {self.n_left_out} left out"

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("measure", self.label), ("mean", f"{self.mean:.4f}")]
        if len(self) > 1:
            facts.append(("lowest to highest query", f"{self.values.min():.4f} to {self.values.max():.4f}"))
        return [*facts, ("queries measured", f"{len(self):,}"), ("queries left out", f"{self.n_left_out:,}")]

    def _columns(self) -> dict[str, Any]:
        return {"query": self.queries, "value": self.values}


# Judged items ---------------------------------------------------------------------------------------------------------
#
# Judged items: true scores, predicted scores, queries and weights, checked once for all measures.

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class JudgedItems:
    """The input of a measure: one output of m items.

    Shapes: y (m,), score (m,), weight (m,).
    """

    y: FloatArray
    score: FloatArray
    queries: Queries
    weight: FloatArray | None

    @property
    def n_items(self) -> int:
        """The number of items, m."""
        return len(self.y)

    def order(self, *keys: NDArray[Any]) -> NDArray[np.intp]:
        """Item numbers sorted by query, then by the keys, then as they came; O(m log m)."""
        if len(self.queries) > 1:
            keys = (self.queries.codes, *keys)
        if len(keys) == 1:
            return np.argsort(keys[0], kind="stable")
        return np.lexsort(keys[::-1])


def read_items(
    y_true: ArrayLike, y_score: ArrayLike, qid: Labels | None, sample_weight: ArrayLike | None
) -> list[JudgedItems]:
    """Check the input of a measure and split it by output; O(m) for queries that are contiguous.

    Shapes: y_true, y_score (m,) or (m, outputs), sample_weight (m,).
    """
    y, score = _columns(y_true, "y_true"), _columns(y_score, "y_score")
    if len(y) != len(score):
        raise InvalidInputError(f"y_true has {len(y)} items, but y_score has {len(score)}")
    if y.shape != score.shape:
        raise InvalidInputError(f"y_true has {y.shape[1]} outputs, but y_score has {score.shape[1]}")
    queries = Queries.from_labels(qid, len(y))
    weight = None if sample_weight is None else _weights(sample_weight, len(y))
    return [JudgedItems(y[:, j].copy(), score[:, j].copy(), queries, weight) for j in range(y.shape[1])]


def _columns(values: ArrayLike, name: str) -> FloatArray:
    """Read numbers as a float64 matrix with one column per output."""
    if hasattr(values, "toarray"):
        raise InvalidInputError(f"{name} is a sparse matrix: pass a dense array")
    array = np.asarray(values)
    if is_structured(array):
        raise InvalidInputError(f"{name} has times and events, which only the measure Concordance supports")
    if array.dtype.kind not in "biufO":
        raise InvalidInputError(f"{name} must hold real numbers, got {array.dtype}")
    try:
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must hold real numbers: {error}") from None
    if array.ndim not in (1, 2):
        raise InvalidInputError(f"{name} must have the shape (m,) or (m, outputs), got {array.shape}")
    if array.size == 0:
        raise InvalidInputError(f"{name} is empty: there is nothing to measure")
    array = array.reshape(len(array), -1)
    finite = np.isfinite(array)
    if not finite.all():
        item, output = (int(i) for i in np.argwhere(~finite)[0])
        raise InvalidInputError(f"{name} is {array[item, output]} for item {item}; every score must be finite")
    return array


def _weights(sample_weight: ArrayLike, n_items: int) -> FloatArray:
    weight = _columns(sample_weight, "sample_weight")
    if weight.shape[1] != 1:
        raise InvalidInputError(f"sample_weight must have one entry per item, got the shape {weight.shape}")
    if len(weight) != n_items:
        raise InvalidInputError(f"sample_weight has {len(weight)} entries, but there are {n_items} items")
    if (weight < 0).any():
        item = int(np.argmax(weight[:, 0] < 0))
        raise InvalidInputError(f"sample_weight is {weight[item, 0]} for item {item}; weights must be at least 0")
    return weight[:, 0].copy()

"""Measures by name, such as `ndcg@10`."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import ArrayLike

from kernelrank.base.arrays import Labels
from kernelrank.base.labels import event_times
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.levels import ChainAccuracy, LevelError, QuadraticWeightedKappa
from kernelrank.metrics.lists import NDCG, ExpectedReciprocalRank, MeanAveragePrecision, Precision, ReciprocalRank
from kernelrank.metrics.measure import Measure
from kernelrank.metrics.pairs import AUC, Disagreement, KendallTau, MagnitudePreservingError, PairwiseAccuracy
from kernelrank.metrics.survival import Concordance
from kernelrank.metrics.thresholds import ThresholdF, ThresholdPrecision, ThresholdRecall

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

MeasureOption: TypeAlias = str | float | None
"""A word such as ``gain="linear"``, or a number such as ``k=10``."""

_MEASURES: dict[str, type[Measure]] = {
    "pairwise_accuracy": PairwiseAccuracy,
    "disagreement": Disagreement,
    "auc": AUC,
    "kendall_tau": KendallTau,
    "ndcg": NDCG,
    "map": MeanAveragePrecision,
    "p": Precision,
    "mrr": ReciprocalRank,
    "err": ExpectedReciprocalRank,
    "magnitude_preserving_error": MagnitudePreservingError,
    "threshold_precision": ThresholdPrecision,
    "threshold_recall": ThresholdRecall,
    "threshold_f": ThresholdF,
    "concordance": Concordance,
    "level_error": LevelError,
    "quadratic_weighted_kappa": QuadraticWeightedKappa,
    "chain_accuracy": ChainAccuracy,
}
_ALIASES = {
    "accuracy": "pairwise_accuracy",
    "roc_auc": "auc",
    "kendall": "kendall_tau",
    "kendall_tau_b": "kendall_tau",
    "tau": "kendall_tau",
    "tau_b": "kendall_tau",
    "ap": "map",
    "average_precision": "map",
    "mean_average_precision": "map",
    "precision": "p",
    "rr": "mrr",
    "reciprocal_rank": "mrr",
    "expected_reciprocal_rank": "err",
    "qwk": "quadratic_weighted_kappa",
    "vus": "chain_accuracy",
    "c_index": "concordance",
    "concordance_index": "concordance",
    "harrell": "concordance",
}


def measure_names() -> list[str]:
    """Return the names that `get_measure` accepts, with "@k" where a cutoff is possible.

    Examples
    --------
    >>> ", ".join(measure_names()[:8])
    'pairwise_accuracy, disagreement, auc, kendall_tau, ndcg@k, map@k, p@k, mrr@k'
    """
    return [name + "@k" * ("k" in _options(kind)) for name, kind in _MEASURES.items()]


def get_measure(name: str | Measure, **options: MeasureOption) -> Measure:
    """Read a measure from its name.

    Upper and lower case are the same, so are blanks, hyphens and underscores.

    Parameters
    ----------
    name : str or Measure
        Such as "ndcg@10", "map", "AUC", "pairwise accuracy"; a measure is returned, with the options changed.
    **options
        Options of the measure, such as ``gain="linear"``.

    Returns
    -------
    Measure

    Raises
    ------
    InvalidInputError
        For an unknown name or option; the message lists the known ones.

    Examples
    --------
    >>> get_measure("ndcg@10", gain="linear")
    NDCG(empty='skip', ties='average', k=10, gain='linear', discount='log2', short='cut')
    >>> print(get_measure("Pairwise-Accuracy"))
    pairwise accuracy
    """
    if isinstance(name, Measure):
        _refuse_unknown(type(name), str(name), options)
        return replace(name, **options)
    if not isinstance(name, str):
        raise InvalidInputError(f"a measure is a name or a Measure, got {type(name).__name__}")
    word, at, cutoff = name.partition("@")
    word = re.sub(r"[\s_-]+", "_", word.strip().lower())
    kind = _MEASURES.get(_ALIASES.get(word, word))
    if kind is None:
        raise InvalidInputError(f"unknown measure {name!r}; expected one of {', '.join(measure_names())}")
    if at:
        if "k" not in _options(kind):
            raise InvalidInputError(f"{word} has no cutoff, got {name!r}")
        if not cutoff.strip().isdecimal():
            raise InvalidInputError(f"the cutoff of {name!r} is not a whole number of at least 1")
        if "k" in options:
            raise InvalidInputError(f"{name!r} has a cutoff already; got k={options['k']!r} too")
        options["k"] = int(cutoff)
    _refuse_unknown(kind, word, options)
    return kind(**options)


def _options(kind: type[Measure]) -> list[str]:
    return [field.name for field in fields(kind)]


def _refuse_unknown(kind: type[Measure], name: str, options: dict[str, MeasureOption]) -> None:
    known = _options(kind)
    for option in options:
        if option not in known:
            listed = f"its options are {', '.join(sorted(known))}" if known else "it has none"
            raise InvalidInputError(f"{name} has no option {option!r}; {listed}")


# Scorer ---------------------------------------------------------------------------------------------------------------
#
# Scorers: measures for scikit-learn's searches, which request query labels by metadata routing.


class QueryScorer:
    """A measure as ``scoring=`` of `GridSearchCV`, `cross_val_score` and alike.

    It requests `qid`. scikit-learn passes `qid` on only if metadata routing is enabled; without routing, every
    search scores all queries as one. Enable routing, and pass `qid` to the search.

    Parameters
    ----------
    measure : Measure
        A measure where lower is better is returned with its sign changed, as scikit-learn does.

    Examples
    --------
    >>> import numpy as np, sklearn
    >>> from sklearn.dummy import DummyRegressor
    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> qid = np.repeat([1, 2, 3, 4], 5)
    >>> X, y = np.zeros((20, 1)), np.tile([0, 1, 2, 3, 4], 4)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     cross_val_score(
    ...         DummyRegressor(), X, y, scoring=scorer("pairwise_accuracy"), cv=GroupKFold(2),
    ...         params={"qid": qid, "groups": qid},
    ...     )
    array([0.5, 0.5])
    """

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        # A measure without weights is never given any, whatever the estimator asks for.
        self._requests: dict[str, bool | str | None] = {
            "qid": True,
            "sample_weight": None if measure.takes_weight else False,
            **({"event": True} if measure.takes_event else {}),
        }

    def __call__(
        self,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: Labels | None = None,
        sample_weight: ArrayLike | None = None,
        event: ArrayLike | None = None,
    ) -> float:
        """Measure the predictions of a fitted estimator; higher is better.

        Parameters
        ----------
        estimator : estimator
            Fitted; a classifier of two classes is measured by its decision function or its probabilities,
            since the classes that it predicts are two levels only.
        X : array-like, shape (m, features)
            The items.
        y : array-like, shape (m,) or (m, outputs)
            Their true scores.
        qid : sequence or None
            One query label per item.
        sample_weight : array-like, shape (m,), or None
            Item weights, where the measure takes them.
        event : array-like of bool, shape (m,), or None
            Whether the event happened, where the measure takes censored times and y has no events itself.

        Returns
        -------
        float
        """
        _refuse_pooling(estimator, qid)
        if event is not None and not self.measure.takes_event:
            raise InvalidInputError(f"{self.measure.name} does not support event")
        y = event_times(y, event)
        value = self.measure.average(y, predicted_scores(estimator, X), qid=qid, sample_weight=sample_weight)
        return value if self.measure.higher_is_better else -value

    def set_score_request(self, **requests: bool | str | None) -> QueryScorer:
        """Set which metadata `score` requests, as in scikit-learn; returns the scorer."""
        for parameter, request in requests.items():
            if parameter not in self._requests:
                known = " and ".join(self._requests)
                raise TypeError(f"a scorer can ask for {known}, not for {parameter!r}")
            self._requests[parameter] = request
        return self

    def get_metadata_routing(self) -> Any:
        """Return the metadata requests, for scikit-learn."""
        from sklearn.utils.metadata_routing import MetadataRequest

        routing = MetadataRequest(owner=self)
        for parameter, request in self._requests.items():
            routing.score.add_request(param=parameter, alias=request)
        return routing

    def __repr__(self) -> str:
        sign = "" if self.measure.higher_is_better else "-"
        return f"<QueryScorer {sign}{self.measure.label}>"


def _refuse_pooling(estimator: BaseEstimator, qid: Labels | None) -> None:
    """Raise an error if items of different queries would be scored as one list."""
    model = getattr(estimator, "_final_estimator", estimator)
    if qid is None and getattr(model, "n_queries_", 1) > 1:
        raise InvalidInputError(
            f"the model was fitted on {model.n_queries_} queries, so the scorer needs qid: turn metadata "
            "routing on, sklearn.set_config(enable_metadata_routing=True), and pass qid to the search"
        )


def predicted_scores(estimator: BaseEstimator, X: ArrayLike) -> ArrayLike:
    """Return what a measure compares: decision values or probabilities of a classifier, else predictions."""
    from sklearn.base import is_classifier

    scores: ArrayLike
    if is_classifier(estimator) and hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(X)
    elif is_classifier(estimator) and hasattr(estimator, "predict_proba"):
        scores = estimator.predict_proba(X)[:, 1:]
    else:
        scores = estimator.predict(X)
    return scores


def scorer(name: str | Measure, **options: MeasureOption) -> QueryScorer:
    """Make a scorer from the name of a measure, or from a measure.

    Parameters
    ----------
    name : str or Measure
        As `get_measure` reads it.
    **options
        Options of the measure.

    Returns
    -------
    QueryScorer

    Examples
    --------
    >>> scorer("disagreement")
    <QueryScorer -disagreement (tied predictions count a half, tied true scores are no pair)>
    """
    return QueryScorer(get_measure(name, **options))

"""Measures by name, such as `ndcg@10`."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TypeAlias

from kernelrank.errors import InvalidInputError
from kernelrank.metrics.gain import NDCG
from kernelrank.metrics.kendall import KendallTau
from kernelrank.metrics.magnitude import MagnitudePreservingError
from kernelrank.metrics.measure import Measure
from kernelrank.metrics.pairs import AUC, Disagreement, PairwiseAccuracy
from kernelrank.metrics.precision import MeanAveragePrecision, Precision
from kernelrank.metrics.reciprocal import ExpectedReciprocalRank, ReciprocalRank
from kernelrank.metrics.survival import Concordance
from kernelrank.metrics.thresholds import ThresholdF, ThresholdPrecision, ThresholdRecall

__all__ = ["MeasureOption", "get_measure", "measure_names"]

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
    NDCG(empty='skip', ties='average', k=10, gain='linear', discount='log2')
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

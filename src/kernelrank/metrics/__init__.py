"""Ranking measures, per query and averaged; each result names its conventions.

A measure is a value, ``NDCG(k=10, gain="linear")``; called on true and predicted scores it gives a
`MeasureResult`. Each has a function that gives the mean alone, and a name that `get_measure` and `scorer`
read.
"""

from kernelrank.metrics.concordance_result import ConcordanceDifference, ConcordanceResult
from kernelrank.metrics.dyads import DyadicConcordance, dyadic_concordance
from kernelrank.metrics.gain import NDCG, ndcg
from kernelrank.metrics.intervals import Interval, bootstrap_interval
from kernelrank.metrics.kaplan_meier import KaplanMeier, censoring_weights, log_rank_pvalue
from kernelrank.metrics.kendall import KendallTau, kendall_tau
from kernelrank.metrics.magnitude import MagnitudePreservingError, magnitude_preserving_error
from kernelrank.metrics.measure import Measure
from kernelrank.metrics.measure_result import MeasureResult
from kernelrank.metrics.names import get_measure, measure_names
from kernelrank.metrics.operating_points import partial_auc, sensitivity_at, specificity_at
from kernelrank.metrics.paired_tests import PairedTest, paired_test
from kernelrank.metrics.pairs import AUC, Disagreement, PairwiseAccuracy, auc, disagreement, pairwise_accuracy
from kernelrank.metrics.precision import (
    MeanAveragePrecision,
    Precision,
    mean_average_precision,
    precision_at,
)
from kernelrank.metrics.preference_agreement import PreferenceAgreement, preference_agreement
from kernelrank.metrics.rate_estimate import RateEstimate
from kernelrank.metrics.reciprocal import (
    ExpectedReciprocalRank,
    ReciprocalRank,
    expected_reciprocal_rank,
    reciprocal_rank,
)
from kernelrank.metrics.runs import JudgedRun
from kernelrank.metrics.scorer import QueryScorer, scorer
from kernelrank.metrics.survival import Concordance, concordance
from kernelrank.metrics.thresholds import (
    ThresholdF,
    ThresholdPrecision,
    ThresholdRecall,
    threshold_f,
    threshold_precision,
    threshold_recall,
)

__all__ = [
    "AUC",
    "NDCG",
    "Concordance",
    "ConcordanceDifference",
    "ConcordanceResult",
    "Disagreement",
    "DyadicConcordance",
    "ExpectedReciprocalRank",
    "Interval",
    "JudgedRun",
    "KaplanMeier",
    "KendallTau",
    "MagnitudePreservingError",
    "MeanAveragePrecision",
    "Measure",
    "MeasureResult",
    "PairedTest",
    "PairwiseAccuracy",
    "Precision",
    "PreferenceAgreement",
    "QueryScorer",
    "RateEstimate",
    "ReciprocalRank",
    "ThresholdF",
    "ThresholdPrecision",
    "ThresholdRecall",
    "auc",
    "bootstrap_interval",
    "censoring_weights",
    "concordance",
    "disagreement",
    "dyadic_concordance",
    "expected_reciprocal_rank",
    "get_measure",
    "kendall_tau",
    "log_rank_pvalue",
    "magnitude_preserving_error",
    "mean_average_precision",
    "measure_names",
    "ndcg",
    "paired_test",
    "pairwise_accuracy",
    "partial_auc",
    "precision_at",
    "preference_agreement",
    "reciprocal_rank",
    "scorer",
    "sensitivity_at",
    "specificity_at",
    "threshold_f",
    "threshold_precision",
    "threshold_recall",
]

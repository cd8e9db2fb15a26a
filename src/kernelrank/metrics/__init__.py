"""Ranking measures, per query and averaged; each result names its conventions.

A measure is a value, ``NDCG(k=10, gain="linear")``; called on true and predicted scores it gives a
`MeasureResult`. Each has a function that gives the mean alone, and a name that `get_measure` and `scorer`
read.
"""

from kernelrank.metrics.dyads import DyadicConcordance, dyadic_concordance
from kernelrank.metrics.intervals import (
    Interval,
    PairedTest,
    PreferenceAgreement,
    bootstrap_interval,
    paired_test,
    preference_agreement,
)
from kernelrank.metrics.levels import (
    ChainAccuracy,
    LevelError,
    QuadraticWeightedKappa,
    chain_accuracy,
    level_error,
    quadratic_weighted_kappa,
)
from kernelrank.metrics.lists import (
    NDCG,
    ExpectedReciprocalRank,
    MeanAveragePrecision,
    Precision,
    ReciprocalRank,
    expected_reciprocal_rank,
    mean_average_precision,
    ndcg,
    precision_at,
    reciprocal_rank,
)
from kernelrank.metrics.measure import Measure, MeasureResult
from kernelrank.metrics.names import QueryScorer, get_measure, measure_names, scorer
from kernelrank.metrics.pairs import (
    AUC,
    Disagreement,
    KendallTau,
    MagnitudePreservingError,
    PairwiseAccuracy,
    auc,
    disagreement,
    kendall_tau,
    magnitude_preserving_error,
    pairwise_accuracy,
)
from kernelrank.metrics.roc import RateEstimate, partial_auc, sensitivity_at, specificity_at
from kernelrank.metrics.runs import JudgedRun
from kernelrank.metrics.survival import (
    Concordance,
    ConcordanceDifference,
    ConcordanceResult,
    KaplanMeier,
    censoring_weights,
    concordance,
    log_rank_pvalue,
)
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
    "ChainAccuracy",
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
    "LevelError",
    "MagnitudePreservingError",
    "MeanAveragePrecision",
    "Measure",
    "MeasureResult",
    "PairedTest",
    "PairwiseAccuracy",
    "Precision",
    "PreferenceAgreement",
    "QuadraticWeightedKappa",
    "QueryScorer",
    "RateEstimate",
    "ReciprocalRank",
    "ThresholdF",
    "ThresholdPrecision",
    "ThresholdRecall",
    "auc",
    "bootstrap_interval",
    "censoring_weights",
    "chain_accuracy",
    "concordance",
    "disagreement",
    "dyadic_concordance",
    "expected_reciprocal_rank",
    "get_measure",
    "kendall_tau",
    "level_error",
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
    "quadratic_weighted_kappa",
    "reciprocal_rank",
    "scorer",
    "sensitivity_at",
    "specificity_at",
    "threshold_f",
    "threshold_precision",
    "threshold_recall",
]

"""Kernels, resolved through scikit-learn; graphs with labels and what walks in them connect."""

from kernelrank.kernels.kernel import (
    GAMMA_RULES,
    KERNEL_NAMES,
    GammaLike,
    Kernel,
    KernelLike,
    KernelSum,
    MetricLike,
    check_precomputed,
    column_variances,
    metric_root,
    refuse_indefinite,
    refuse_indefinite_on,
    repair_similarity,
    takes_objects,
    takes_sparse,
)
from kernelrank.kernels.labelled_graphs import LabelledGraph

__all__ = [
    "GAMMA_RULES",
    "KERNEL_NAMES",
    "GammaLike",
    "Kernel",
    "KernelLike",
    "KernelSum",
    "LabelledGraph",
    "MetricLike",
    "check_precomputed",
    "column_variances",
    "metric_root",
    "refuse_indefinite",
    "refuse_indefinite_on",
    "repair_similarity",
    "takes_objects",
    "takes_sparse",
]

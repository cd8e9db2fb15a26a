"""Kernels, resolved through scikit-learn; graphs with labels and what walks in them connect."""

from kernelrank.kernels.gamma_rule import GAMMA_RULES, GammaLike
from kernelrank.kernels.kernel import KERNEL_NAMES, Kernel, KernelLike, takes_sparse
from kernelrank.kernels.labelled_graphs import LabelledGraph
from kernelrank.kernels.semidefinite import check_precomputed, refuse_indefinite, refuse_indefinite_on

__all__ = [
    "GAMMA_RULES",
    "KERNEL_NAMES",
    "GammaLike",
    "Kernel",
    "KernelLike",
    "LabelledGraph",
    "check_precomputed",
    "refuse_indefinite",
    "refuse_indefinite_on",
    "takes_sparse",
]

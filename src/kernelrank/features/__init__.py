"""A kernel as a feature map: explicit columns, the full kernel, a reduced set."""

from kernelrank.features.kernels import (
    FullKernel,
    KernelMap,
    KernelRows,
    ReducedSet,
    WeightedColumns,
    basis_stream,
    choose_basis,
    kernel_scores,
    lose_the_basis,
)
from kernelrank.features.map import ColumnFeatures, ExplicitFeatures, Features
from kernelrank.features.views import JointRows, View, ViewMap

__all__ = [
    "ColumnFeatures",
    "ExplicitFeatures",
    "Features",
    "FullKernel",
    "JointRows",
    "KernelMap",
    "KernelRows",
    "ReducedSet",
    "View",
    "ViewMap",
    "WeightedColumns",
    "basis_stream",
    "choose_basis",
    "kernel_scores",
    "lose_the_basis",
]

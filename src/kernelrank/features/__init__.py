"""A kernel as a feature map: explicit columns, the full kernel, a reduced set."""

from kernelrank.features.basis import basis_stream, choose_basis, lose_the_basis
from kernelrank.features.explicit import ExplicitFeatures
from kernelrank.features.kernel_map import KernelMap, KernelRows, kernel_scores
from kernelrank.features.kernels import FullKernel
from kernelrank.features.map import ColumnFeatures, Features
from kernelrank.features.reduced_set import ReducedSet
from kernelrank.features.view_map import JointRows, ViewMap
from kernelrank.features.views import View

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
    "basis_stream",
    "choose_basis",
    "kernel_scores",
    "lose_the_basis",
]

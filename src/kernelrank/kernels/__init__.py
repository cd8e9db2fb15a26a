"""What similar means: kernels, resolved through scikit-learn; graphs with labels and what walks in them connect."""

from kernelrank.kernels.kernel import KERNEL_NAMES, Kernel, KernelLike, check_precomputed, takes_sparse
from kernelrank.kernels.labelled_graph import LabelledGraph

__all__ = ["KERNEL_NAMES", "Kernel", "KernelLike", "LabelledGraph", "check_precomputed", "takes_sparse"]

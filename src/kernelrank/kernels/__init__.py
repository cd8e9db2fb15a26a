"""What similar means: kernels, resolved through scikit-learn."""

from kernelrank.kernels.kernel import KERNEL_NAMES, Kernel, KernelLike, check_precomputed, takes_sparse

__all__ = ["KERNEL_NAMES", "Kernel", "KernelLike", "check_precomputed", "takes_sparse"]

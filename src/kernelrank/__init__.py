"""Kernel-based learning to rank with scikit-learn estimators.

Everything public is imported at its first use, so that ``import kernelrank`` itself costs nothing. The public names are
listed in ``__init__.pyi``.
"""

from kernelrank.base.lazy import late_names

__version__ = "0.2.0"
__all__, __getattr__, _ = late_names(__name__, __file__)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__version__"])

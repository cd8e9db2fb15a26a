"""The normal equations of the one problem, in the smaller of their two forms.

===========  =======================  ============  ==========================
form         matrix A                 right side b  coefficients
===========  =======================  ============  ==========================
primal       ``Φᵀ L Φ``  (r × r)      ``Φᵀ M N``    ``w = (A + alpha I)⁻¹ b``
dual         ``C K Cᵀ``  (k × k)      ``T``         ``a = Cᵀ(A + alpha I)⁻¹ b``
===========  =======================  ============  ==========================

where ``CᵀC = L`` and ``Cᵀ T = M N``. Both matrices are symmetric and positive semidefinite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from kernelrank.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.features import Features

__all__ = ["NormalEquations"]


def _no_sums(_: Float) -> float:
    return 0.0


@dataclass(frozen=True)
class NormalEquations:
    """``(A + alpha I) x = b``, and the way back from x to the coefficients of the feature map."""

    A: Float
    b: Float
    back: Callable[[Float], Float]
    rounding: float = np.inf
    """How negative rounding can make an eigenvalue of A; infinite in the primal, where A is made of squares."""
    primal: bool = True
    summands: Float | None = None
    """The size of what the diagonal of A is a difference of, where that is known, shape (s,)."""
    sums: Callable[[Float], Float | float] = _no_sums
    """From x to how large the coefficients of basis items are beside what predictions differ by; see `Rounding`."""

    @classmethod
    def of(cls, features: Features, comparisons: Comparisons) -> NormalEquations:
        """Form the equations: O(m r²) time in the primal, O(m² r) and a kernel matrix in the dual."""
        columns = features.primal
        if columns is not None:
            sums = partial(columns.coefficient_sums, comparisons)
            return cls(*columns.normal_equations(comparisons), columns.from_primal, sums=sums)
        A = features.centred_kernel(comparisons)
        scale = features.kernel_scale * float(comparisons.diagonal().max())
        return cls(
            A,
            comparisons.root_target(),
            lambda x: features.from_dual(comparisons.centre_transpose(x)),
            100 * len(A) * float(np.finfo(np.float64).eps) * scale,
            primal=False,
            summands=features.uncentred_diagonal(comparisons),
        )

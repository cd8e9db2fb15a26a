"""Conjugate gradients preconditioned by a Nyström factor, for kernels and reduced sets too large to be factorised.

The dual problem ``(C K Cᵀ + alpha I) x = T`` is solved with products by K alone, whose rows are computed in blocks and
forgotten. Its conditioning, the largest eigenvalue over alpha, would take thousands of such products. A basis of a few
items gives features Φ with ``Φ Φᵀ ≈ K``; with ``Z = C Φ`` and ``Zᵀ Z = V μ Vᵀ``, the matrix ``Z Zᵀ + alpha I`` has
nearly the same large eigenvalues, and dividing by it,

    ``(Z Zᵀ + alpha I)⁻¹ r = (r - Z V (μ + alpha)⁻¹ Vᵀ Zᵀ r) / alpha``,

costs O(m s) for s basis items. What is left are eigenvalues of the order of what the basis does not explain, over
alpha. This is the preconditioner of Falkon [RCR17]_ on the whole kernel instead of a reduced one: the solution is exact
to `tol`.

A reduced set has the kernel ``K_MR K_RR⁻¹ K_RM``, whose products cost O(m r) through ``K_RR = Uᵀ U``; the few items are
drawn from its basis then. What is saved are the O(m r²) of the normal equations: the factor U, O(r³/3), is the only
step that is cubic, and none is more than linear in m.

.. [RCR17] Rudi, Carratino and Rosasco (2017). FALKON: an optimal large scale kernel method. NIPS 30.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.errors import InvalidInputError
from kernelrank.features import Features
from kernelrank.solvers.direct import spectrum
from kernelrank.solvers.iterative import ConjugateGradient, Operator

__all__ = ["NystromConjugateGradient"]


@dataclass(frozen=True)
class NystromConjugateGradient(ConjugateGradient):
    """Iterate on a full kernel or a reduced set, with a few items standing in for it in the preconditioner.

    Parameters
    ----------
    tol, max_iter
        As `ConjugateGradient`.
    size : int, default=1000
        The number of basis items of the preconditioner.

    Notes
    -----
    O(m s² + s³) time to prepare; each step O(m² n) for a full kernel, O(m r n) for a reduced set, and O(m s n) for the
    preconditioner. Memory: kernels of m × r while they take up to 4 GiB, of m × s up to 256 MiB, and blocks otherwise.
    """

    size: int = 1000
    name: str = field(init=False, default="nystrom_conjugate_gradient")

    def prepare(self, features: Features, comparisons: Comparisons) -> Operator:
        """Factorise the kernel of a few items, and collect the products."""
        if not features.recomputable:
            raise InvalidInputError(
                f"solver={self.name!r} needs a nonlinear kernel or a basis: a linear or precomputed kernel "
                "without a basis is not supported"
            )
        reduced = features.on_few_items(self.size, np.random.RandomState(0))
        values, vectors = spectrum(reduced.gram(comparisons), np.inf)

        def divide(r: Float, alpha: float) -> Float:
            inner = vectors.T @ reduced.transpose_multiply(comparisons.centre_transpose(r))
            explained = comparisons.centre(reduced.multiply(vectors @ (inner / (values + alpha)[:, None])))
            difference: Float = (r - explained) / alpha
            return difference

        return Operator(
            lambda x: comparisons.centre(features.kernel_multiply(comparisons.centre_transpose(x))),
            lambda x: x,
            comparisons.root_target(),
            lambda alpha: lambda r: divide(r, alpha),
            lambda x: features.from_dual(comparisons.centre_transpose(x)),
            energy=False,
        )

"""Conjugate gradients preconditioned by a Nyström factor, for full kernels too large to be kept.

The dual problem ``(C K Cᵀ + alpha I) x = T`` is solved with products by K alone, whose rows are computed in blocks and
forgotten. Its conditioning, the largest eigenvalue over alpha, would take thousands of such products. A basis of a few
items gives features Φ with ``Φ Φᵀ ≈ K``; with ``Z = C Φ`` and ``Zᵀ Z = V μ Vᵀ``, the matrix ``Z Zᵀ + alpha I`` has
nearly the same large eigenvalues, and dividing by it,

    ``(Z Zᵀ + alpha I)⁻¹ r = (r - Z V (μ + alpha)⁻¹ Vᵀ Zᵀ r) / alpha``,

costs O(m s) for s basis items. What is left are eigenvalues of the order of what the basis does not explain, over
alpha. This is the preconditioner of Falkon [RCR17]_ on the whole kernel instead of a reduced one: the solution is exact
to `tol`.

.. [RCR17] Rudi, Carratino and Rosasco (2017). FALKON: an optimal large scale kernel method. NIPS 30.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kernelrank.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.errors import InvalidInputError
from kernelrank.features import Features, FullKernel, ReducedSet
from kernelrank.features.basis import uniformly
from kernelrank.solvers.conjugate_gradient import ConjugateGradient, Operator
from kernelrank.solvers.spectral import spectrum

__all__ = ["NystromConjugateGradient"]


@dataclass(frozen=True)
class NystromConjugateGradient(ConjugateGradient):
    """Iterate on the full kernel, with a few items standing in for it in the preconditioner.

    Parameters
    ----------
    tol, max_iter
        As `ConjugateGradient`.
    size : int, default=1000
        The number of basis items of the preconditioner.

    Notes
    -----
    O(m s² + s³) time to prepare; each step O(m² n) for the kernel and O(m s) for the preconditioner. Memory m × s.
    """

    size: int = 1000
    name: str = field(init=False, default="nystrom_conjugate_gradient")

    def prepare(self, features: Features, comparisons: Comparisons) -> Operator:
        """Factorise the kernel of a few items, and collect the products."""
        if not isinstance(features, FullKernel) or features.kernel.precomputed:
            raise InvalidInputError(
                f"solver={self.name!r} recomputes the rows of a full kernel: it takes no linear or precomputed kernel "
                "and no basis"
            )
        basis = uniformly(min(self.size, features.n_items), features.n_items, np.random.RandomState(0))
        reduced = ReducedSet(features.kernel, features.X, basis)
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
        )

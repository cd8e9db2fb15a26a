"""The models of all folds and alphas, from fold-wise statistics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.dask.statistics import Statistics
from kernelrank.errors import InvalidInputError
from kernelrank.solvers.direct import spectrum
from kernelrank.solvers.precision import one_warning, report_error, spectral_error

__all__ = ["FoldModels"]


@dataclass(frozen=True)
class FoldModels:
    """Models that have not seen a fold, for every fold and alpha.

    Parameters
    ----------
    coefficients : ndarray, shape (folds, r, outputs, alphas)
        Primal coefficients w of the models trained without the fold.
    errors : ndarray, shape (folds, outputs, alphas)
        Their mean squared error over the pairs of the fold, ``(wᵀ A w - 2 wᵀ b + ‖N‖²) / pairs``; NaN without a pair.
    """

    coefficients: Float
    errors: Float

    @classmethod
    @one_warning("held-out scores")
    def of(cls, statistics: Statistics, alphas: Float) -> FoldModels:
        """Train without each fold: one eigendecomposition each, O(r³), and O(r²) for each alpha and output."""
        held = np.flatnonzero(statistics.pair_weight > 0)
        n_folds, n_columns, n_outputs = statistics.right.shape
        if len(held) < 2:
            raise InvalidInputError(
                f"only {len(held)} of cv={n_folds} folds have items to compare: use fewer folds or more queries"
            )
        coefficients = np.zeros((n_folds, n_columns, n_outputs, len(alphas)))
        errors = np.full((n_folds, n_outputs, len(alphas)), np.nan)
        for fold in held:
            # The others are added up, not subtracted from the total: a large fold would leave rounding only.
            others = np.arange(n_folds) != fold
            values, vectors = spectrum(statistics.gram[others].sum(axis=0), np.inf)
            rotated = vectors.T @ statistics.right[others].sum(axis=0)  # (r, outputs)
            for alpha in alphas:
                report_error(float(alpha), spectral_error(values, rotated, float(alpha), primal=True))
            w = np.tensordot(vectors, rotated[:, :, None] / (values[:, None] + alphas)[:, None, :], axes=1)
            A, b = statistics.gram[fold], statistics.right[fold]
            squares = np.einsum("roa,roa->oa", w, np.tensordot(A, w, axes=1))
            total = squares - 2 * np.einsum("roa,ro->oa", w, b) + statistics.energy[fold][:, None]
            coefficients[fold] = w
            errors[fold] = np.maximum(total, 0.0) / statistics.pair_weight[fold]
        return cls(coefficients, errors)

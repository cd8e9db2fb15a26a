"""TwoStepRLS: one ridge regression after the other, with a regularisation strength for each side."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from kernelrank.dyads.estimators import POSITIVE
from kernelrank.dyads.plain_dyadic_learner import PlainDyadicLearner
from kernelrank.dyads.problem import Regularisation, Relation
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import check_alphas
from kernelrank.kernels import GammaLike, KernelLike

__all__ = ["TwoStepRLS"]


class TwoStepRLS(PlainDyadicLearner):
    """Two-step RLS for dyads: one ridge regression over the rows and one over the columns.

    Predicts ``F = K₁ (K₁ + alpha_rows I)⁻¹ Y (K₂ + alpha_columns I)⁻¹ K₂``: the order of the two steps makes no
    difference. Unknown cells of Y are filled with the model's own predictions. This fixed point minimises
    ``Σ_known (y - f)²`` plus the penalty for which two-step learning is the ridge regression.

    Parameters
    ----------
    alpha_rows, alpha_columns : float, default=1.0
        Regularisation strength of each side: larger values mean smoother models.
    kernel_rows, kernel_columns, gamma_rows, gamma_columns, degree_rows, degree_columns, coef0_rows, coef0_columns
        As in `KroneckerRLS`.
    kernel_params_rows, kernel_params_columns : dict, optional
        As in `KroneckerRLS`.
    relation : {"symmetric", "reciprocal", "any"}, optional
        As in `KroneckerRLS`. A symmetric or reciprocal relation has one strength: alpha_rows and alpha_columns must be
        equal.
    solver, tol, max_iter, random_state
        As in `KroneckerRLS`; "vec_trick" does not apply.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    coef_, dual_coef_, kernel_rows_, solver_, n_dyads_, …
        All attributes of `KroneckerRLS`.

    See Also
    --------
    kernelrank.KroneckerRLS : One regression over all dyads.

    Notes
    -----
    Time and memory as `KroneckerRLS`. With unknown cells both kernels are decomposed, whatever the density.

    References
    ----------
    .. [SPADW18] Stock, Pahikkala, Airola, De Baets and Waegeman (2018). A comparative study of pairwise learning
       methods based on kernel ridge regression. Neural Computation 30(8).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import TwoStepRLS
    >>> drugs, targets = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [-1.0]])
    >>> model = TwoStepRLS(alpha_rows=0.01, alpha_columns=0.01).fit(drugs, targets, drugs @ targets.T)
    >>> model.predict([[4.0]], targets).round(1)
    array([[ 4., -4.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PlainDyadicLearner._parameter_constraints,
        "alpha_rows": [POSITIVE],
        "alpha_columns": [POSITIVE],
    }

    def __init__(
        self,
        alpha_rows: float = 1.0,
        alpha_columns: float = 1.0,
        *,
        kernel_rows: KernelLike = "linear",
        kernel_columns: KernelLike = "linear",
        gamma_rows: GammaLike = None,
        gamma_columns: GammaLike = None,
        degree_rows: float = 3,
        degree_columns: float = 3,
        coef0_rows: float = 1.0,
        coef0_columns: float = 1.0,
        kernel_params_rows: dict[str, Any] | None = None,
        kernel_params_columns: dict[str, Any] | None = None,
        relation: Relation | None = None,
        solver: str = "auto",
        tol: float = 1e-10,
        max_iter: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alpha_rows = alpha_rows
        self.alpha_columns = alpha_columns
        self.kernel_rows = kernel_rows
        self.kernel_columns = kernel_columns
        self.gamma_rows = gamma_rows
        self.gamma_columns = gamma_columns
        self.degree_rows = degree_rows
        self.degree_columns = degree_columns
        self.coef0_rows = coef0_rows
        self.coef0_columns = coef0_columns
        self.kernel_params_rows = kernel_params_rows
        self.kernel_params_columns = kernel_params_columns
        self.relation: Relation | None = relation
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _regularisation(self) -> Regularisation:
        """Return what the norm costs: alpha of a side times the eigenvalues of the other side, and their product."""
        if self.relation in ("symmetric", "reciprocal") and self.alpha_rows != self.alpha_columns:
            raise InvalidInputError(
                f"relation={self.relation!r} needs alpha_rows = alpha_columns, got {self.alpha_rows:g} and "
                f"{self.alpha_columns:g}: otherwise f(a, b) and f(b, a) would differ"
            )
        return Regularisation.two_step(self.alpha_rows, self.alpha_columns)

    def _check_path(self, alphas: ArrayLike) -> list[Any]:
        """Return pairs of positive numbers; a single number is that of both sides."""
        values = np.asarray(alphas, dtype=np.float64)
        if values.ndim == 2 and values.shape[1] == 2 and len(values):
            flat = check_alphas(values.ravel())
            return list(zip(flat[::2], flat[1::2], strict=True))
        return [(alpha, alpha) for alpha in check_alphas(alphas)]

    def _with_alpha(self, alpha: Any) -> Self:
        """Return a copy with other strengths."""
        other: Self = clone(self).set_params(alpha_rows=alpha[0], alpha_columns=alpha[1])
        return other

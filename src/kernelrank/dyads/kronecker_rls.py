"""KroneckerRLS: regression on dyads, with a kernel for each side."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import clone

from kernelrank.dyads.estimators import POSITIVE
from kernelrank.dyads.plain_dyadic_learner import PlainDyadicLearner
from kernelrank.dyads.problem import Regularisation, Relation
from kernelrank.estimators.base import check_alphas
from kernelrank.kernels import GammaLike, KernelLike

__all__ = ["KroneckerRLS"]


class KroneckerRLS(PlainDyadicLearner):
    """Regularised least squares for dyads: a score for each pair of a row object and a column object.

    Minimises ``Σ (y - f(a, b))² + alpha ‖f‖²`` over the known dyads (a, b) with the kernel ``k₁(a, a') k₂(b, b')``.
    Known and new objects can be predicted on both sides: a new drug, a new target, or both.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength: larger values mean smoother models.
    kernel_rows, kernel_columns : str, callable or kernel object, default="linear"
        The kernel of each side: a name of scikit-learn's `pairwise_kernels`, "precomputed", a function of two
        rows, or a Gaussian-process kernel object of scikit-learn.
    gamma_rows, gamma_columns, degree_rows, degree_columns, coef0_rows, coef0_columns
        Options of the kernels, as in `RankRLS`.
    kernel_params_rows, kernel_params_columns : dict, optional
        Further keyword arguments of the kernel functions.
    relation : {"symmetric", "reciprocal", "any"}, optional
        Rows and columns are one set of objects, such as players, and ``X_columns`` is None. "symmetric" learns
        ``f(a, b) = f(b, a)``, "reciprocal" ``f(a, b) = -f(b, a)``, "any" neither. The kernel is that of the rows. Each
        known cell counts once: (a, b) and (b, a) count twice, one of them alone once.
    solver : {"auto", "spectral", "primal", "eigenbasis", "vec_trick"}, default="auto"
        How the minimum is found. "spectral": complete Y from two eigendecompositions. "primal": linear kernels with no
        more features than objects. "eigenbasis": unknown cells by conjugate gradients, preconditioned by the complete
        problem. "vec_trick": few known cells by conjugate gradients over these. "auto" chooses by the shape of the
        data; the table is in Notes.
    tol : float, default=1e-10
        The relative residual at which conjugate gradients stop.
    max_iter : int, optional
        The largest number of their iterations; ten times the number of unknowns unless given.
    random_state : int, RandomState or None, default=None
        Random seed for drawing the items that ``gamma="median"`` uses.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features_rows, n_features_columns) or (n_features_rows, n_features_columns, n_outputs)
        Weights W of pairs of features, ``f(x, z) = xᵀ W z``: for linear kernels with no more features than objects.
    dual_coef_ : ndarray, shape (m1, m2) or (m1, m2, n_outputs)
        Coefficients A of pairs of training objects otherwise: ``F = K₁ A K₂``.
    X_rows_fit_, X_columns_fit_ : array or sparse matrix, or None
        The training objects, if there is `dual_coef_`; None for a precomputed kernel. With one set of objects
        `X_columns_fit_` is None.
    kernel_rows_, kernel_columns_ : Kernel
        The kernels of the fit.
    gamma_rows_, gamma_columns_ : float or None
        The values of gamma used in the fit.
    solver_ : str
        The solver that was used.
    n_iter_ : int
        Its number of iterations.
    n_dyads_ : int
        How many scores were learnt from.
    n_features_rows_in_, n_features_columns_in_ : int
    feature_names_rows_in_, feature_names_columns_in_ : ndarray of str
        As `n_features_in_` and `feature_names_in_` of scikit-learn, for each side.

    See Also
    --------
    kernelrank.KroneckerRankRLS : Ranks the objects of one side for each object of the other side.
    kernelrank.TwoStepRLS : One ridge regression after the other.

    Notes
    -----
    Complete Y: O(m₁³ + m₂³ + m₁²m₂ + m₁m₂²) time, that of two eigendecompositions and four matrix products, and
    O(m₁² + m₂² + m₁m₂) memory; each further alpha of `fit_path` two products.

    "auto" chooses as the table of `kernelrank.dyads.solvers` says.

    References
    ----------
    .. [PWS13] Pahikkala, Airola, Stock, De Baets and Waegeman (2013). Efficient regularized least-squares algorithms
       for conditional ranking on relational data. Machine Learning 93.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import KroneckerRLS
    >>> drugs, targets = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [-1.0]])
    >>> Y = drugs @ targets.T
    >>> model = KroneckerRLS(alpha=0.01).fit(drugs, targets, Y)
    >>> model.predict([[4.0]], targets).round(2)
    array([[ 4., -4.]])
    >>> Y[2, 1] = np.nan
    >>> KroneckerRLS(alpha=0.01).fit(drugs, targets, Y).predict_dyads(drugs, targets, [2], [1]).round(2)
    array([-3.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PlainDyadicLearner._parameter_constraints,
        "alpha": [POSITIVE],
    }

    def __init__(
        self,
        alpha: float = 1.0,
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
        self.alpha = alpha
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
        """Return alpha, the same in every direction."""
        return Regularisation.kronecker(self.alpha)

    def _check_path(self, alphas: ArrayLike) -> list[Any]:
        """Return positive numbers."""
        return list(check_alphas(alphas))

    def _with_alpha(self, alpha: Any) -> Self:
        """Return a copy with another alpha."""
        other: Self = clone(self).set_params(alpha=alpha)
        return other

"""RLS: regularised least squares regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

from kernelrank.base.sklearn_private import fit_context
from kernelrank.base.validation import FilePath, is_path, mapped, refuse_file_options
from kernelrank.estimators.base import KernelLearner, keep_parameters, whole_or_not_at_all
from kernelrank.estimators.streams import StreamLearner, fit_file
from kernelrank.estimators.tasks import Classifier, Regressor
from kernelrank.kernels import GammaLike, KernelLike, MetricLike


class RLS(Regressor, StreamLearner):
    """Regularised least squares: kernel ridge regression.

    Minimises ``Σ w_i (y_i - f_i)² + alpha ‖f‖²``. There is no intercept, as in the papers; `RankRLS` has one for each
    query.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength: larger values mean smoother models. The loss is a sum (not a mean) over items.
    kernel, gamma, degree, coef0, kernel_params, metric
        The kernel, as in `RankRLS`.
    basis, solver, tol, max_iter, warm_start, missing, random_state
        As in `RankRLS`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    coef_, dual_coef_, X_fit_, basis_, kernel_, gamma_, solver_, n_iter_, n_features_in_, feature_names_in_
        As in `RankRLS`.

    See Also
    --------
    kernelrank.RLSClassifier : The same for classes.
    kernelrank.RLSCV : Chooses alpha.

    Notes
    -----
    Time and memory as `RankRLS`.

    Examples
    --------
    >>> from kernelrank import RLS
    >>> RLS(alpha=0.1).fit([[1.0], [2.0]], [2.0, 4.0]).predict([[3.0]]).round(2)
    array([5.88])
    """

    compares_queries = False

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        metric: MetricLike = None,
        basis: int | Sequence[int] | None = None,
        solver: str = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        warm_start: bool = False,
        missing: str = "error",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        features: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        impute: Literal["median", "mean"] | None = None,
        checkpoint: FilePath | None = None,
    ) -> Self:
        """Fit to scored items, in memory or in a file.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed, or a path
            The items, or a file of them as in `RankRLS.fit`.
        y : array-like, shape (m,) or (m, n_outputs), or str
            Their scores. The name of the column in a file that has names; left out for SVMlight.
        qid : sequence, shape (m,), optional
            Not used, present for API consistency by convention: a pipeline or a search passes it on. Its length is
            checked.
        sample_weight : array-like, shape (m,), optional
            Item weights.
        features, exclude, impute, checkpoint
            For files: as in `RankRLS.fit`.

        Returns
        -------
        self
        """
        X = mapped(X)
        if is_path(X):
            columns: Any = {"features": features, "exclude": exclude, "impute": impute}
            fit_file(self, X, y, qid, sample_weight, "whole", **columns, checkpoint=checkpoint)
            return self
        refuse_file_options(features=features, exclude=exclude, impute=impute, checkpoint=checkpoint)
        y, qid = mapped(y), mapped(qid)
        X = self._check_items(X, reset=True, finite=False)
        graphs, one_output = self._compare(X, y, qid, sample_weight)
        return self._fit(X, graphs, self._progress(X, y), one_output=one_output, finite=False)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_path(self, X: Any, y: Any, alphas: Any, *, qid: Any = None, sample_weight: Any = None) -> list[Self]:
        """Fit for many alphas at the cost of one decomposition, as `RankRLS.fit_path` does.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in `fit`.
        alphas : array-like of float
            The values of alpha.

        Returns
        -------
        list of RLS
        """
        return self._fit_scores_path(X, y, alphas, qid, sample_weight)


# RLS classifier -------------------------------------------------------------------------------------------------------
#
# RLSClassifier: regularised least squares for two classes or more.


class RLSClassifier(Classifier):
    """Regularised least squares classifier (one class against the rest).

    Minimises ``Σ w_i (y_i - f_i)² + alpha ‖f‖²`` with ``y_i`` of ±1, once for two classes, and once for each of more
    classes. There is no intercept, as in the papers.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength: larger values mean smoother models. The loss is a sum (not a mean) over items.
    kernel, gamma, degree, coef0, kernel_params, metric
        The kernel, as in `RankRLS`.
    basis, solver, tol, max_iter, warm_start, random_state
        As in `RankRLS`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    classes_ : ndarray, shape (k,)
        The classes, sorted. Of two classes, the one that sorts last is the positive class.
    coef_, dual_coef_, X_fit_, basis_, kernel_, gamma_, solver_, n_iter_, n_features_in_, feature_names_in_
        As in `RankRLS`; one output for two classes, and as many as classes for more.

    See Also
    --------
    kernelrank.RLSClassifierCV : Chooses alpha.
    kernelrank.RLS : The same for scores.

    Notes
    -----
    Time and memory as `RankRLS` with k outputs: one decomposition for all classes.

    Examples
    --------
    >>> from kernelrank import RLSClassifier
    >>> X = [[1.0, 0.0], [0.9, 0.2], [-1.0, 0.1], [-0.8, -0.3], [0.1, 1.0], [-0.2, 1.1]]
    >>> model = RLSClassifier(alpha=0.1).fit(X, ["ill", "ill", "well", "well", "unclear", "unclear"])
    >>> model.classes_.tolist(), model.predict([[2.0, 0.0]]).tolist()
    (['ill', 'unclear', 'well'], ['ill'])
    >>> model.decision_function([[2.0, 0.0]]).shape
    (1, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: rule for name, rule in KernelLearner._parameter_constraints.items() if name != "missing"
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        metric: MetricLike = None,
        basis: int | Sequence[int] | None = None,
        solver: str = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    def _regressor(self) -> RLS:
        """Return the equivalent regression of ±1."""
        return RLS(**self.get_params(deep=False))

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit to classified items.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
            The items.
        y : array-like, shape (m,)
            Their classes, two or more: numbers, strings or booleans.
        qid : sequence, shape (m,), optional
            Not used, present for API consistency by convention: a pipeline or a search passes it on. Its length is
            checked.
        sample_weight : array-like, shape (m,), optional
            Item weights.

        Returns
        -------
        self
        """
        X = self._check_items(X, reset=True)
        graphs, one_output = self._compare(X, y, qid, sample_weight)
        return self._fit(X, graphs, self._progress(X, y), one_output=one_output)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_path(self, X: Any, y: Any, alphas: Any, *, qid: Any = None, sample_weight: Any = None) -> list[Self]:
        """Fit for many alphas at the cost of one decomposition, as `RankRLS.fit_path` does.

        Parameters
        ----------
        X, y, alphas, qid, sample_weight
            As in `fit`; alphas are positive numbers.

        Returns
        -------
        list of RLSClassifier
        """
        return self._fit_scores_path(X, y, alphas, qid, sample_weight)

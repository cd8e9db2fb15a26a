"""RLS: regularised least squares, for regression and for two classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, _fit_context, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, assert_all_finite
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from kernelrank.arrays import Float, Matrix
from kernelrank.comparisons import ItemScores
from kernelrank.comparisons.observed import OutputGraph, by_missing_pattern
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators.base import KernelLearner, check_alphas, whole_or_not_at_all
from kernelrank.estimators.file_fit import fit_file, is_path, mapped
from kernelrank.estimators.progress import FitProgress
from kernelrank.estimators.stream import StreamLearner
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.queries import Queries
from kernelrank.validation import check_scores, check_weight, require_scores

__all__ = ["RLS"]


def _classifies(estimator: RLS) -> bool:
    return estimator.task == "classification"


class RLS(RegressorMixin, StreamLearner):
    """Regularised least squares: kernel ridge regression, or a two-class classifier that regresses ±1.

    Minimises ``Σ w_i (y_i - f_i)² + alpha ‖f‖²``. There is no intercept, as in the papers; `RankRLS` has one for each
    query.

    Parameters
    ----------
    alpha : float, default=1.0
        The weight of the norm beside the sum (not the mean) over items.
    task : {"regression", "classification"}, default="regression"
        Whether y holds scores, or two classes: the second class in sorted order is +1, the first is -1.
    kernel, gamma, degree, coef0, kernel_params
        The kernel, as in `RankRLS`.
    basis, solver, tol, max_iter, warm_start, missing, random_state
        As in `RankRLS`.

    Attributes
    ----------
    coef_, dual_coef_, X_fit_, basis_, kernel_, gamma_, solver_, n_iter_, n_features_in_, feature_names_in_
        As in `RankRLS`.
    classes_ : ndarray, shape (2,)
        The two classes, for classification.

    Notes
    -----
    Time and memory as `RankRLS`.

    Examples
    --------
    >>> from kernelrank import RLS
    >>> RLS(alpha=0.1).fit([[1.0], [2.0]], [2.0, 4.0]).predict([[3.0]]).round(2)
    array([5.88])
    >>> RLS(task="classification").fit([[1.0], [-2.0]], ["ill", "well"]).predict([[3.0]])
    array(['ill'], dtype='<U4')
    """

    compares_queries = False

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__partial_fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelLearner._parameter_constraints,
        "task": [StrOptions({"regression", "classification"})],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        task: str = "regression",
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        basis: int | Sequence[int] | None = None,
        solver: str = "auto",
        tol: float = 1e-10,
        max_iter: int | None = None,
        warm_start: bool = False,
        missing: str = "error",
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.task = task
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.basis = basis
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.missing = missing
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn whether this is a regressor or a classifier."""
        tags = super().__sklearn_tags__()
        if _classifies(self):
            tags.estimator_type = "classifier"
            tags.regressor_tags = None
            tags.classifier_tags = ClassifierTags(multi_class=False)
            tags.target_tags.multi_output = False
        return tags

    def _compare(
        self, X: Matrix, y: Any, qid: Any, sample_weight: Any, *, allow_idle: bool = False
    ) -> tuple[list[OutputGraph], bool]:
        """Build the graphs, one for each pattern of missing scores; also tell whether y has one dimension."""
        Queries.from_labels(qid, X.shape[0])
        self.__dict__.pop("classes_", None)
        if _classifies(self):
            y = self._encode(y)
        scores = check_scores(y, X.shape[0], allow_missing=self.missing == "ignore")
        weight = check_weight(sample_weight, X.shape[0])
        graphs = by_missing_pattern(
            scores[:, None] if scores.ndim == 1 else scores,
            weight,
            lambda columns, values, item_weight: [(columns, ItemScores(values, weight=item_weight))],
        )
        for columns, graph in [] if allow_idle else graphs:
            if not np.any(graph.diagonal() > 0):
                raise NothingToCompareError(f"output {int(columns[0])} has no score with a positive weight")
        return graphs, scores.ndim == 1

    def _encode(self, y: Any) -> Float:
        """Turn two classes into -1 and +1."""
        require_scores(y)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        if len(self.classes_) != 2:
            many = f"{len(self.classes_)} classes" if len(self.classes_) > 1 else "one class"
            raise InvalidInputError(
                "Only binary classification is supported: RLS(task='classification') takes two classes, and y has "
                f"{many}"
                + (" only" if len(self.classes_) == 1 else "; wrap it into scikit-learn's OneVsRestClassifier")
            )
        return np.where(labels == self.classes_[1], 1.0, -1.0)

    def _unlabelled(self, queries: Queries, weight: Float | None) -> ItemScores:
        """Compare every item with its own score, whatever that is: what the scale of alpha is taken from."""
        return ItemScores(np.zeros((queries.n_items, 1)), weight=weight)

    @_fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any = None, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit to scored or classified items, in memory or, with scores, in a file.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed, or a path
            The items, or a file of them as in `RankRLS.fit`.
        y : array-like, shape (m,) or (m, n_outputs), or str
            Their scores, or two classes. For Parquet the name of the column; left out for SVMlight.
        qid : sequence, shape (m,), optional
            Not used, present for API consistency by convention: a pipeline or a search passes it on. Its length is
            checked.
        sample_weight : array-like, shape (m,), optional
            Item weights.

        Returns
        -------
        self
        """
        X = mapped(X)
        if is_path(X):
            fit_file(self, X, y, qid, sample_weight, "whole")
            return self
        y, qid = mapped(y), mapped(qid)
        X = self._check_items(X, reset=True)
        graphs, one_output = self._compare(X, y, qid, sample_weight)
        return self._fit(X, graphs, FitProgress(self, X, y), one_output=one_output)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_path(self, X: Any, y: Any, alphas: Any, *, qid: Any = None, sample_weight: Any = None) -> list[Self]:
        """Fit for many alphas at the price of one decomposition; as `RankRLS.fit_path`.

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
        learner: Self = clone(self)
        X = learner._check_items(X, reset=True)
        graphs, one_output = learner._compare(X, y, qid, sample_weight)
        path = learner._fit_path(X, graphs, check_alphas(alphas), one_output=one_output)
        for model in path if _classifies(self) else []:
            model.classes_ = learner.classes_
        return path

    def _can_stream(self) -> bool:
        """Two classes need not both be in a batch, so a classifier learns from all its items at once."""
        return super()._can_stream() and not _classifies(self)

    @available_if(_classifies)
    def decision_function(self, X: Any) -> Float:
        """Return real-valued scores: above zero speaks for the second class.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed

        Returns
        -------
        ndarray, shape (t,)
        """
        return self._raw_scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict scores, or classes.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed

        Returns
        -------
        ndarray, shape (t,) or (t, n_outputs)
        """
        scores = self._raw_scores(X)
        if not _classifies(self):
            return scores
        classes: NDArray[Any] = self.classes_[(scores > 0).astype(int)]
        return classes

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return R², averaged over the outputs, or the accuracy for classes.

        Parameters
        ----------
        X : array-like or sparse matrix
        y : array-like, shape (t,) or (t, n_outputs)
        qid : sequence, shape (t,), optional
            Not used, present for API consistency by convention. Its length is checked.
        sample_weight : array-like, shape (t,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        predicted = self.predict(X)
        Queries.from_labels(qid, len(predicted))
        weight = check_weight(sample_weight, len(predicted))
        if _classifies(self):
            return float(accuracy_score(y, predicted, sample_weight=weight))
        truth = check_scores(y, len(predicted), allow_missing=self.missing == "ignore")
        if not np.isnan(truth).any():
            return float(r2_score(truth, predicted, sample_weight=weight))
        truth, predicted = truth.reshape(len(truth), -1), predicted.reshape(len(truth), -1)
        scored = ~np.isnan(truth)
        return float(
            np.mean(
                [
                    r2_score(truth[s, k], predicted[s, k], sample_weight=None if weight is None else weight[s])
                    for k, s in enumerate(scored.T)
                ]
            )
        )

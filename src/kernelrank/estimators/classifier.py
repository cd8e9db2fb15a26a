"""What classifiers by least squares share: classes as outputs, and the class with the largest score.

Each class is an output: +1 for its items and -1 for all others. The outputs share their kernel and their weights, so
that one decomposition serves them all, in a fit and in every hold-out. Two classes need one output only, for the two
are each other's negative.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from kernelrank.base.arrays import Float, Matrix
from kernelrank.base.labels import Queries
from kernelrank.base.validation import check_scores, check_weight, require_scores
from kernelrank.comparisons import ItemScores
from kernelrank.comparisons.costs import OutputGraph
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.estimators.file_items import predict_scored
from kernelrank.estimators.regressor import compare_items

__all__ = ["Classifier"]


class Classifier(ClassifierMixin, KernelLearner):
    """A learner of classes: +1 for the items of a class, -1 for all others."""

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that y is one column of classes."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _compare(
        self, X: Matrix, y: object, qid: object, sample_weight: object, *, allow_no_comparisons: bool = False
    ) -> tuple[list[OutputGraph], bool]:
        """Build the graph of all outputs; also return whether there is one only, as for two classes."""
        Queries.from_labels(qid, X.shape[0])
        scores = check_scores(self._encode(y), X.shape[0])
        weight = check_weight(sample_weight, X.shape[0])
        return compare_items(scores, weight, allow_no_comparisons=allow_no_comparisons), scores.shape[1] == 1

    def _encode(self, y: object) -> Float:
        """Turn classes into columns of ±1, one for each class, or one for two."""
        require_scores(y)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise InvalidInputError(
                f"{type(self).__name__} expected at least two classes; y has one class: {self.classes_[0]!r}"
            )
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return np.where(labels[:, None] == positive, 1.0, -1.0)

    def _unlabelled(self, queries: Queries, weight: Float | None) -> ItemScores:
        """Compare every item with its own class, for the scale of alpha."""
        return ItemScores(np.zeros((queries.n_items, 1)), weight=weight)

    def decision_function(self, X: Any) -> Float:
        """Return the decision values; larger values mean the (positive) class.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed

        Returns
        -------
        ndarray, shape (t,) or (t, k)
            For two classes, values above zero mean ``classes_[1]``; for more, one column for each class.
        """
        return self._raw_scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest decision value.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed, or a path
            The items, or a file of them as in `RankRLS.fit`, read in batches: its columns by name if the model was
            fitted to named columns, else all columns of numbers.

        Returns
        -------
        ndarray, shape (t,)
        """
        scores = self._raw_scores(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        classes: NDArray[Any] = self.classes_[chosen]
        return classes

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of items whose class is predicted correctly.

        Parameters
        ----------
        X : array-like or sparse matrix, or a path
            The items, or a file of them as in `predict`.
        y : array-like, shape (t,), or str
            The name of the column in a file that has names; None for SVMlight.
        qid : sequence, shape (t,), optional
            Not used, present for API consistency by convention. Its length is checked.
        sample_weight : array-like, shape (t,), optional

        Returns
        -------
        float
        """
        from sklearn.metrics import accuracy_score

        predicted, y, qid = predict_scored(self, X, y, qid)
        Queries.from_labels(qid, len(predicted))
        weight = check_weight(sample_weight, len(predicted))
        return float(accuracy_score(y, predicted, sample_weight=weight))

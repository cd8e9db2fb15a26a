"""QueryKFold: folds that never split a query."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.model_selection import GroupKFold

from kernelrank.base.labels import Queries
from kernelrank.errors import InvalidInputError

__all__ = ["QueryKFold"]


class QueryKFold(GroupKFold):
    """K-fold cross-validation that never splits a query; takes `qid` by metadata routing.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds.
    shuffle : bool, default=False
        Whether queries are assigned to folds at random rather than by size.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV
    >>> from kernelrank import QueryKFold, RankRLS, make_ranking
    >>> X, y, qid = make_ranking(n_queries=12, random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(RankRLS(), {"alpha": [0.1, 10.0]}, cv=QueryKFold(3)).fit(X, y, qid=qid)
    >>> bool(search.best_score_ > 0.5)
    True
    """

    __metadata_request__split: ClassVar = {"groups": "qid"}

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        """Yield the train and test items of each fold.

        Parameters
        ----------
        X : array-like
        y : ignored
        groups : sequence, shape (m,)
            The query of each item: any hashable labels in any order.

        Yields
        ------
        train, test : ndarray of int
        """
        if groups is None:
            raise InvalidInputError(
                "QueryKFold needs the queries: pass groups=qid to split, or qid=... to a search with metadata "
                "routing on"
            )
        n_items = X.shape[0] if hasattr(X, "shape") else len(X)
        yield from super().split(X, y, Queries.from_labels(groups, n_items).codes)

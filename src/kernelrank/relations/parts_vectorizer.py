"""PartsVectorizer: several graphs of one item as one sparse vector, in which all graphs have equal weight."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from kernelrank.errors import InvalidInputError
from kernelrank.estimators.vectorizers import AllPathsVectorizer, GraphTransformer
from kernelrank.kernels.all_paths import Combine
from kernelrank.relations.graphs import PARTS

__all__ = ["PartsVectorizer"]


class PartsVectorizer(GraphTransformer):
    """Turn tuples of graphs into sparse vectors: normalised `AllPathsVectorizer` features, concatenated.

    The inner product of two vectors is the mean of the cosines of their parts. Without a norm for each part, the part
    with the most and heaviest walks would dominate: the order of the words, where every word is connected to all words
    after it.

    Parameters
    ----------
    combine : {"max", "sum"}, default="max"
        As in `AllPathsVectorizer`.
    names : tuple of str, default=("dependencies", "path", "order")
        The names of the parts, in the order of the tuples.
    n_jobs : int, optional
        As in `AllPathsVectorizer`.

    Attributes
    ----------
    vectorizers_ : list of AllPathsVectorizer
        One for each part.
    n_pairs_ : int
        The number of pairs of labels of all parts, which is that of the features.

    Notes
    -----
    Time and memory are those of `AllPathsVectorizer` for all parts, and the result once more. A part without walks is
    all zero.

    Examples
    --------
    >>> from kernelrank.kernels import LabelledGraph
    >>> from kernelrank.relations.parts_vectorizer import PartsVectorizer
    >>> one = LabelledGraph([("binds", "VB"), ("PROT1",), ("PROT2",)], [0, 0], [1, 2], [0.9, 0.9])
    >>> other = LabelledGraph([("PROT1",), ("PROT2",)], [0], [1], [0.1])
    >>> vectorizer = PartsVectorizer(names=("tree", "order"))
    >>> X = vectorizer.fit_transform([(one, other)])
    >>> (X**2).toarray().round(3)
    array([[0.125, 0.125, 0.125, 0.125, 0.5  ]])
    >>> list(vectorizer.get_feature_names_out()[3:])
    ['tree: binds -> PROT2', 'order: PROT1 -> PROT2']
    """

    def __init__(self, *, combine: Combine = "max", names: tuple[str, ...] = PARTS, n_jobs: int | None = None) -> None:
        self.combine = combine
        self.names = names
        self.n_jobs = n_jobs

    def fit(self, items: Iterable[tuple[Any, ...]], y: None = None) -> Self:
        """Learn the pairs of labels that walks connect, part by part.

        Parameters
        ----------
        items : iterable of tuples of graphs, length m
        y : None
            Not used, present for API consistency by convention.

        Returns
        -------
        self
        """
        self.fit_transform(items, y)
        return self

    def fit_transform(self, items: Iterable[tuple[Any, ...]], y: None = None) -> sparse.csr_array:  # noqa: ARG002 - y is part of the convention
        """Learn the pairs of labels and return the vectors of the same items.

        Parameters
        ----------
        items : iterable of tuples of graphs, length m
        y : None
            Not used, present for API consistency by convention.

        Returns
        -------
        csr_array, shape (m, n_pairs)
        """
        parts = self._apart(items)
        vectorizers = [AllPathsVectorizer(combine=self.combine, normalize=True, n_jobs=self.n_jobs) for _ in parts]
        vectors = [vectorizer.fit_transform(part) for vectorizer, part in zip(vectorizers, parts, strict=True)]
        self.vectorizers_ = vectorizers
        self.n_pairs_ = sum(vectorizer.n_pairs_ for vectorizer in vectorizers)
        return _side_by_side(vectors)

    def transform(self, items: Iterable[tuple[Any, ...]]) -> sparse.csr_array:
        """Return the vectors of items; pairs of labels that `fit` has not seen are left out.

        Parameters
        ----------
        items : iterable of tuples of graphs, length t

        Returns
        -------
        csr_array, shape (t, n_pairs)
        """
        check_is_fitted(self)
        parts = self._apart(items)
        return _side_by_side([one.transform(part) for one, part in zip(self.vectorizers_, parts, strict=True)])

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002 - convention
        """Return the pairs of labels as ``"part: first -> second"``.

        Parameters
        ----------
        input_features : None
            Not used, present for API consistency by convention.

        Returns
        -------
        ndarray of str, shape (n_pairs,)
        """
        check_is_fitted(self)
        named = zip(self.names, self.vectorizers_, strict=True)
        return np.concatenate([f"{name}: " + vectorizer.get_feature_names_out() for name, vectorizer in named])

    def _apart(self, items: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
        """Return the graphs of each part."""
        parts: list[list[Any]] = [[] for _ in self.names]
        for number, item in enumerate(items):
            if not isinstance(item, tuple) or len(item) != len(parts):
                raise InvalidInputError(
                    f"item {number} must be a tuple of {len(parts)} graphs ({', '.join(self.names)}), "
                    f"got {type(item).__name__}" + (f" of {len(item)}" if isinstance(item, tuple) else "")
                )
            for part, graph in zip(parts, item, strict=True):
                part.append(graph)
        return parts


def _side_by_side(vectors: list[sparse.csr_array]) -> sparse.csr_array:
    """Join vectors of norm one so that the norm is one again."""
    joined = sparse.csr_array(sparse.hstack(vectors, format="csr"))
    joined.data /= math.sqrt(len(vectors))
    return joined

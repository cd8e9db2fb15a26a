"""FeatureSet: which graphs of a candidate its features come from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import blas
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float
from kernelrank.base.compiled import compiled
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import keep_parameters
from kernelrank.estimators.vectorizers import AllPathsVectorizer, GraphTransformer
from kernelrank.kernels.all_paths import Combine
from kernelrank.relations.corpus import Candidate
from kernelrank.relations.graphs import PARTS, GraphScheme, candidate_graphs, candidate_parts

ALL_PARTS, ARTICLE, CHOSEN = "parts", "article", "chosen"


@dataclass(frozen=True)
class FeatureSet:
    """Some parts of a candidate, each with a norm of one; or the graph of the article, with one norm for all."""

    parts: tuple[str, ...]

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the set of a name: "parts", "article", or some parts joined by +."""
        if name == ARTICLE:
            return cls(())
        wanted = PARTS if name == ALL_PARTS else tuple(name.split("+")) if isinstance(name, str) else ()
        if not wanted or not set(wanted) <= set(PARTS) or len(set(wanted)) < len(wanted):
            raise InvalidInputError(
                f"features must be one of {ALL_PARTS}, {ARTICLE}, {CHOSEN}, or some of {', '.join(PARTS)} "
                f"joined by +; got {name!r}"
            )
        return cls(tuple(part for part in PARTS if part in wanted))

    @property
    def name(self) -> str:
        """What `named` takes."""
        if self.parts == PARTS:
            return ALL_PARTS
        return "+".join(self.parts) or ARTICLE

    def graphs(self, candidates: Iterable[Candidate], scheme: dict[str, Any] | None = None) -> list[Any]:
        """Return the graphs of candidates, or tuples of the graphs that are their parts: what the vectoriser takes."""
        settings = GraphScheme.of(scheme)
        if not self.parts:
            return list(candidate_graphs(candidates, settings))
        places = [PARTS.index(part) for part in self.parts]
        return [tuple(item[place] for place in places) for item in candidate_parts(candidates, settings)]

    def vectorizer(self, combine: Combine = "max", n_jobs: int | None = None) -> PartsVectorizer | AllPathsVectorizer:
        """Return a vectoriser of these graphs, not fitted."""
        if not self.parts:
            return AllPathsVectorizer(combine=combine, normalize=True, n_jobs=n_jobs)
        return PartsVectorizer(combine=combine, names=self.parts, n_jobs=n_jobs)


def feature_sets(features: str) -> list[FeatureSet]:
    """Return the sets that a setting stands for: one, or for "chosen" all, from the fullest to the smallest."""
    if features != CHOSEN:
        return [FeatureSet.named(features)]
    some = [FeatureSet(parts) for size in range(len(PARTS), 0, -1) for parts in combinations(PARTS, size)]
    return [*some, FeatureSet(())]


def feature_kernels(
    sets: Sequence[FeatureSet],
    candidates: Sequence[Candidate],
    scheme: dict[str, Any] | None,
    combine: Combine,
    n_jobs: int | None,
) -> Iterator[Float]:
    """Yield the kernel matrix of candidates for each set."""
    known: dict[FeatureSet, Float] = {}

    def kernel(one: FeatureSet) -> Float:
        return linear_kernel(one.vectorizer(combine, n_jobs).fit_transform(one.graphs(candidates, scheme)))

    def part_kernel(part: str) -> Float:
        one = FeatureSet((part,))
        if one not in known:
            known[one] = kernel(one)
        return known[one]

    for one in sets:
        if len(sets) == 1 or not one.parts:
            yield kernel(one)
        else:
            total = part_kernel(one.parts[0]).copy()
            for part in one.parts[1:]:
                total += part_kernel(part)
            total /= len(one.parts)
            yield total


# Parts vectorizer -----------------------------------------------------------------------------------------------------
#
# PartsVectorizer: several graphs of one item as one sparse vector, in which all graphs have equal weight.


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
    >>> from kernelrank.relations.features import PartsVectorizer
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
        keep_parameters(self, locals())

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


# Gram -----------------------------------------------------------------------------------------------------------------
#
# The kernel matrix of sparse rows, ``K = X Xᵀ``, for data with more columns than rows.
#
# Some columns are in most rows and most columns are in a few. The former are cheapest as a dense product; the latter by
# a loop that, for each row, adds up the columns that it has, which costs a sum of squares of column counts. A column
# moves to the dense side where its square is worth its share of a dense product.

# A column in more than this share of the rows is cheaper in a dense product.
DENSE_SHARE = 0.15
# Dense columns held at once: those that fit beside the kernel matrix itself.
BLOCK = 1024


def linear_kernel(X: sparse.sparray) -> Float:
    """Return the inner products of all rows.

    Time O(Σ c² + m² d), c being the numbers of rows of the sparse columns and d the number of dense ones. Memory m × m
    numbers, and X twice.

    Shapes: X (m, n); returns (m, m).
    """
    columns = sparse.csc_array(X, dtype=np.float64)
    columns.sum_duplicates()
    m = columns.shape[0]
    counts = np.diff(columns.indptr)
    dense = np.flatnonzero(counts > DENSE_SHARE * m)
    K = np.zeros((m, m), order="F")
    for start in range(0, len(dense), BLOCK):
        block = columns[:, dense[start : start + BLOCK]].toarray(order="F")
        K = blas.dsyrk(1.0, block, beta=1.0, c=K, lower=0, overwrite_c=True)
    shared = (counts > 0) & (counts <= DENSE_SHARE * m)
    rest = columns[:, np.flatnonzero(shared)]
    rows = rest.tocsr()
    # The transpose of an upper triangle in Fortran's order is a lower one in C's, whose rows the loop fills.
    _add_products(rows.indptr, rows.indices, rows.data, rest.indptr, rest.indices, rest.data, K.T)
    lower = np.tril(K.T)
    lower += np.tril(lower, -1).T
    return lower


@compiled
def _add_products(
    row_bounds: NDArray[np.int32],
    columns: NDArray[np.int32],
    values: Float,
    column_bounds: NDArray[np.int32],
    rows: NDArray[np.int32],
    column_values: Float,
    K: Float,
) -> None:
    """Add to ``K[i, j]`` the products of rows i and j, for j ≤ i; rows ascend within a column."""
    for i in range(len(row_bounds) - 1):
        for p in range(row_bounds[i], row_bounds[i + 1]):
            column, value = columns[p], values[p]
            for q in range(column_bounds[column], column_bounds[column + 1]):
                j = rows[q]
                if j > i:
                    break
                K[i, j] += value * column_values[q]

"""AllPathsVectorizer: the all-paths graph kernel as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.progress import track
from kernelrank.kernels.all_paths import Combine, ConnectedLabels, LabelPairs, connect_labels
from kernelrank.kernels.labelled_graphs import LabelCodes, PackedGraphs

__all__ = ["AllPathsVectorizer"]


class GraphTransformer(TransformerMixin, BaseEstimator):
    """Base class of transformers that take a list of graphs instead of an array."""

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this transformer takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = False
        tags.no_validation = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class AllPathsVectorizer(GraphTransformer):
    r"""Turn graphs into sparse vectors whose inner product is the all-paths graph kernel [APBPGS08].

    A feature is a pair of labels (a, b). Its value tells how strongly the vertices with label a are connected to those
    with label b: ``W = (I - A)⁻¹ - I`` holds the summed weights of all walks between two vertices, where A holds the
    weights of the edges, and G_ab is the sum or the maximum of W_kl over the vertices k with a and l with b.

    Parameters
    ----------
    combine : {"max", "sum"}, default="max"
        How the walks between two labels are combined. According to the errata [Air09], the published figures used the
        maximum; the article describes the sum. A negative maximum (of negative weights) counts as zero.
    normalize : bool, default=False
        Whether to scale each vector to length one, so that the kernel is a cosine. The length includes pairs of labels
        that did not occur in `fit`; they are left out afterwards.
    n_jobs : int, optional
        The number of threads; None is one, unless in a `joblib.parallel_config` context, and -1 all. The compiled loops
        release the global interpreter lock, so that threads run in parallel without copies of the graphs. The result
        does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of str, shape (n_labels,)
        The labels of the graphs that were fitted, sorted.
    first_bounds_ : ndarray of int64, shape (n_labels + 1,)
        Where the pairs with each first label begin.
    seconds_ : ndarray of int32, shape (n_pairs,)
        The numbers of the second labels of the pairs, ascending for each first label.
    n_pairs_ : int
        The number of pairs, which is that of the features.
    combine_, normalize_
        The parameters of the fit, which `transform` uses.

    Notes
    -----
    A graph without cycles takes O(edges × vertices reached), a strong component of k vertices O(k³) more, and G the
    number of entries of W times the labels of their vertices. Memory is about three times that of the result, which
    has 12 bytes for each entry of G, and O(n²) numbers for one graph of n vertices at a time.

    The spectral radius of A has to be below one, or the weights have no sum. This is checked for each graph, exactly up
    to rounding. Graphs without cycles always pass. Weights may be negative.

    scikit-learn's `check_estimator` does not apply, because it fits arrays; its conventions hold.

    Examples
    --------
    >>> from kernelrank import AllPathsVectorizer
    >>> from kernelrank.kernels import LabelledGraph
    >>> graph = LabelledGraph([("binds", "VB"), ("PROT1",), ("PROT2",)], [0, 0, 1], [1, 2, 2], [0.9, 0.3, 0.5])
    >>> vectorizer = AllPathsVectorizer()
    >>> vectorizer.fit_transform([graph]).toarray().round(2)
    array([[0.5 , 0.9 , 0.75, 0.9 , 0.75]])
    >>> list(vectorizer.get_feature_names_out()[:3])
    ['PROT1 -> PROT2', 'VB -> PROT1', 'VB -> PROT2']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "combine": [StrOptions({"max", "sum"})],
        "normalize": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(self, *, combine: Combine = "max", normalize: bool = False, n_jobs: int | None = None) -> None:
        self.combine = combine
        self.normalize = normalize
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, graphs: Iterable[Any], y: Any = None) -> Self:  # noqa: ARG002 - y is part of the convention
        """Learn the pairs of labels that walks connect.

        Parameters
        ----------
        graphs : iterable of LabelledGraph or networkx.DiGraph, length m
            Nodes of a `DiGraph` have the attribute "labels", a list of strings, and its edges "weight".
        y : None
            Not used, present for API consistency by convention.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            When a spectral radius is not below one; the message names the graph.
        """
        self._learn(graphs)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, graphs: Iterable[Any], y: Any = None) -> sparse.csr_array:  # noqa: ARG002 - see fit
        """Learn the pairs of labels and return the vectors of the same graphs, in one pass.

        Parameters
        ----------
        graphs : iterable of LabelledGraph or networkx.DiGraph, length m
        y : None
            Not used, present for API consistency by convention.

        Returns
        -------
        csr_array, shape (m, n_pairs)
        """
        return self._vectors(self._learn(graphs))

    def _learn(self, graphs: Iterable[Any]) -> ConnectedLabels:
        """Set what is fitted, and return what it was learnt from."""
        codes = LabelCodes()
        packed = PackedGraphs.of(graphs, codes)
        labels = np.array(list(codes), dtype=object)
        order = np.argsort(labels)
        ranks = np.empty(len(labels), dtype=np.int32)
        ranks[order] = np.arange(len(labels), dtype=np.int32)
        connected = self._connect(replace(packed, labels=ranks[packed.labels]), self.combine, self.normalize)
        pairs = LabelPairs.of(connected, len(labels))
        self.labels_, self.first_bounds_, self.seconds_ = labels[order], pairs.bounds, pairs.seconds
        self.n_pairs_ = len(pairs.seconds)
        self.combine_, self.normalize_ = self.combine, self.normalize
        return connected

    def transform(self, graphs: Iterable[Any]) -> sparse.csr_array:
        """Return the vectors of graphs; pairs that `fit` has not seen are left out.

        Parameters
        ----------
        graphs : iterable of LabelledGraph or networkx.DiGraph, length t

        Returns
        -------
        csr_array, shape (t, n_pairs)
        """
        check_is_fitted(self)
        packed = PackedGraphs.of(graphs, LabelCodes.of(self.labels_))
        return self._vectors(self._connect(packed, self.combine_, self.normalize_))

    def _connect(self, graphs: PackedGraphs, combine: Combine, normalize: bool) -> ConnectedLabels:
        parts = list(graphs.parts())
        parallel = joblib.Parallel(n_jobs=self.n_jobs, require="sharedmem", return_as="generator")
        connected = parallel(joblib.delayed(_connect_part)(part, combine, normalize) for part in parts)
        return ConnectedLabels.join(track(connected, len(parts), "vectorising graphs"))

    def _vectors(self, connected: ConnectedLabels) -> sparse.csr_array:
        numbers = LabelPairs(self.first_bounds_, self.seconds_).number(connected)
        bounds, values, known = connected.graph_bounds, connected.values, numbers >= 0
        if not known.all():
            bounds = np.concatenate([[0], np.cumsum(known)])[bounds]
            numbers, values = numbers[known], values[known]
        if bounds[-1] <= np.iinfo(np.int32).max:
            bounds = bounds.astype(np.int32)  # or SciPy would widen the numbers as well
        return sparse.csr_array((values, numbers, bounds), shape=(len(bounds) - 1, self.n_pairs_))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002 - convention
        """Return the pairs of labels as ``"first -> second"``.

        Parameters
        ----------
        input_features : None
            Not used, present for API consistency by convention.

        Returns
        -------
        ndarray of str, shape (n_pairs,)
        """
        check_is_fitted(self)
        firsts = np.repeat(self.labels_, np.diff(self.first_bounds_))
        return firsts + " -> " + self.labels_[self.seconds_]  # type: ignore[no-any-return]


def _connect_part(graphs: PackedGraphs, combine: Combine, normalize: bool) -> ConnectedLabels:
    connected = connect_labels(graphs, combine)
    return connected.unit() if normalize else connected

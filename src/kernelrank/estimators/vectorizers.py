"""NystromMap: a kernel as a scikit-learn transformer, through a basis of a few items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix, as_columns
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import DocumentationLink, Interval, StrOptions, fit_context
from kernelrank.base.validation import check_items
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import keep_parameters, whole_or_not_at_all
from kernelrank.features.kernels import (
    SELECTIONS,
    KernelMap,
    KernelRows,
    Selection,
    basis_stream,
    by_leverage,
    by_means,
    by_query,
    choose_basis,
    uniformly,
)
from kernelrank.kernels import (
    GAMMA_RULES,
    KERNEL_NAMES,
    GammaLike,
    Kernel,
    KernelLike,
    refuse_indefinite_on,
    takes_objects,
    takes_sparse,
)
from kernelrank.kernels.all_paths import (
    Combine,
    ConnectedLabels,
    LabelPairs,
    WalkLengths,
    connect_labels,
    spectral_radius,
)
from kernelrank.kernels.labelled_graphs import LabelCodes, PackedGraphs


class NystromMap(DocumentationLink, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Nyström features: inner products approximate the kernel.

    Parameters
    ----------
    basis : int or sequence of int, default=100
        How many items are in the basis, all items if there are fewer; or the numbers of the basis items.
    kernel : str, callable or kernel object, default="rbf"
        As in `RankRLS`, but not "precomputed".
    gamma, degree, coef0, kernel_params
        Parameters of the kernel, as in `RankRLS`.
    basis_selection : {"uniform", "per_query", "k_means", "leverage"}, default="uniform"
        How basis items are chosen: uniformly at random; equally many from each query, which needs
        qid; the centres of k-means, which need not be items; or in proportion to approximate ridge leverage scores. Not
        used if `basis` has the numbers of the items.
    random_state : int, RandomState or None, default=None
        Random seed for drawing the basis.

    Attributes
    ----------
    basis_ : ndarray of int64, or None
        The numbers of the basis items; None for centres.
    basis_items_ : array or sparse matrix, shape (r, n_features)
        The basis items themselves.
    taken_ : ndarray of int64, shape (rank,)
        The places in the basis of the items that pivoted Cholesky took.
    factor_ : ndarray, shape (rank, rank)
        The upper triangular factor of their kernel.
    rank_ : int
        The numerical rank of their kernel, which is the number of features made: duplicated basis items add none.
    kernel_ : Kernel
        A copy of the kernel used in the fit; later changes of the parameters do not affect it.
    gamma_ : float or None
        As in `RankRLS`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        As in scikit-learn.

    Notes
    -----
    `fit` takes O(r³/3) in addition to the selection; `transform` O(t r n + t r²) and t × r numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from kernelrank import NystromMap, RankRLS
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> y = np.sin(X[:, 0])
    >>> model = make_pipeline(NystromMap(20, gamma=0.3, random_state=0), RankRLS(0.01)).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    __metadata_request__fit: ClassVar = {"qid": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "basis": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "kernel": [StrOptions(set(KERNEL_NAMES) - {"precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions(set(GAMMA_RULES)), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "basis_selection": [StrOptions(set(SELECTIONS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        basis: int | Sequence[int] = 100,
        *,
        kernel: KernelLike = "rbf",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        basis_selection: Selection = "uniform",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this transformer takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.kernel)
        return tags

    def _check_items(self, X: object, *, reset: bool) -> Matrix:
        """Validate X; its names and number of columns, and the kernel of this fit, are remembered when `reset`."""
        if reset:
            parameters = dict(self.kernel_params or {})
            self.kernel_ = Kernel(self.kernel, self.gamma, self.degree, self.coef0, parameters).copied()
        formats = ("csr", "csc") if takes_sparse(self.kernel_.metric) else False
        X = check_items(self, X, reset=reset, formats=formats, objects=takes_objects(self.kernel_.metric))
        if reset:
            self.kernel_ = self.kernel_.fixed(X, self.random_state)
        return X

    @property
    def gamma_(self) -> float | None:
        """The value of gamma used in the fit; None if the kernel has no gamma."""
        gamma = self.kernel_.gamma
        assert not isinstance(gamma, str)
        return gamma

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any = None, *, qid: Any = None) -> Self:  # noqa: ARG002 - y is part of the convention
        """Choose the basis and factorise its kernel.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features)
        y : None
            Not used, present for API consistency by convention.
        qid : sequence, shape (m,), optional
            The query of each item, for ``basis_selection="per_query"``. Not used otherwise.

        Returns
        -------
        self
        """
        X = self._check_items(X, reset=True)
        refuse_indefinite_on(self.kernel_, X)
        self.basis_, items = self._select(X, qid)
        kernel_map = KernelMap.of(self.kernel_, self.kernel_.matrix(items))
        self.basis_items_ = items
        self.taken_, self.factor_ = kernel_map.taken, kernel_map.U
        self.rank_ = kernel_map.rank
        return self

    @property
    def _map(self) -> KernelMap:
        return KernelMap(self.kernel_, self.basis_items_.shape[0], self.taken_, self.factor_)

    def _select(self, X: Matrix, qid: object) -> tuple[Index | None, Matrix]:
        """Return the numbers of the basis items, if they are items, and the items."""
        random_state = basis_stream(self.random_state)
        if not isinstance(self.basis, Integral):
            chosen = choose_basis(np.asarray(self.basis), X.shape[0], random_state)
            return chosen, X[chosen]
        size = min(int(self.basis), X.shape[0])
        if self.basis_selection == "k_means":
            return None, by_means(size, X, random_state)
        if self.basis_selection == "leverage":
            chosen = by_leverage(size, self.kernel_, X, random_state)
        elif self.basis_selection == "per_query":
            if qid is None:
                raise InvalidInputError("basis_selection='per_query' needs qid: pass it to fit")
            chosen = by_query(size, Queries.from_labels(qid, X.shape[0]), random_state)
        else:
            chosen = uniformly(size, X.shape[0], random_state)
        return chosen, X[chosen]

    def transform(self, X: Any) -> Float:
        """Return the features of items.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features)

        Returns
        -------
        ndarray, shape (t, rank)
        """
        check_is_fitted(self)
        X = self._check_items(X, reset=False)
        rows = KernelRows(self._map, X, self.basis_items_[self.taken_])
        features = np.empty(rows.shape)
        for start in range(0, len(features), 4096):
            features[start : start + 4096] = rows[start : start + 4096]
        return features

    def without(self, items: ArrayLike) -> Self:
        """Return the map without some of its basis items, as for a fold that is held out together with them.

        The inner products of its features are those of a map that is fitted with the other basis items [Air11].

        Parameters
        ----------
        items : array-like of int
            Numbers of basis items, as in `basis_`; for centres of k-means, their rows in `basis_items_`.

        Returns
        -------
        NystromMap
            A new fitted map; this one stays as it is. It keeps the parameters, so that `fit` would choose a whole basis
            again, and the kernel with its `gamma_`.

        Raises
        ------
        InvalidInputError
            When an item is not in the basis, or none would be left.

        Notes
        -----
        O(r² h) for h of r basis items where the basis has full rank, O(r³/3) with duplicates among them.

        Examples
        --------
        >>> import numpy as np
        >>> from kernelrank import NystromMap
        >>> X = np.random.default_rng(0).standard_normal((50, 3))
        >>> nystrom = NystromMap([3, 8, 20, 41], gamma=0.3).fit(X)
        >>> nystrom.without([8, 41]).basis_
        array([ 3, 20])
        """
        check_is_fitted(self)
        size = self.basis_items_.shape[0]
        numbers = np.arange(size) if self.basis_ is None else self.basis_
        gone = np.asarray(items)
        if gone.ndim != 1 or (gone.size and gone.dtype.kind not in "iu"):
            raise InvalidInputError("items must be a list of item numbers")
        unknown = np.setdiff1d(gone, numbers)
        if unknown.size:
            raise InvalidInputError(
                f"the item {unknown[0]} is not in the basis: items are numbers in basis_, such as "
                "np.intersect1d(fold, basis_)"
            )
        kept = np.flatnonzero(~np.isin(numbers, gone))
        if len(kept) == 0:
            raise InvalidInputError(f"all {size} basis items would be removed: use a larger basis, or smaller folds")
        smaller = copy(self)
        kernel_map = self._map.of_part(kept, self.basis_items_)
        smaller.basis_ = None if self.basis_ is None else self.basis_[kept]
        smaller.basis_items_ = self.basis_items_[kept]
        smaller.taken_, smaller.factor_, smaller.rank_ = kernel_map.taken, kernel_map.U, kernel_map.rank
        return smaller

    def reduced_set(self, coef: ArrayLike) -> Float:
        """Convert feature weights to coefficients of the basis items.

        Scores are then ``k(X, basis_items_) @ coefficients``: one kernel for each basis item and nothing else.

        Parameters
        ----------
        coef : array-like, shape (rank,) or (outputs, rank)
            As the `coef_` of a linear model that was fitted on the features.

        Returns
        -------
        ndarray, shape (r,) or (r, outputs), of r basis items
        """
        check_is_fitted(self)
        weights = np.asarray(coef, dtype=np.float64)
        coefficients = self._map.coefficients(as_columns(weights.T))
        return coefficients[:, 0] if weights.ndim == 1 else coefficients

    @property
    def _n_features_out(self) -> int:
        return self.rank_


# All paths vectorizer -------------------------------------------------------------------------------------------------
#
# AllPathsVectorizer: the all-paths graph kernel as a scikit-learn transformer.


class GraphTransformer(DocumentationLink, TransformerMixin, BaseEstimator):
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
    min_length, max_length : int, default=1 and None
        The lengths of the walks that count, from 1 to 1,000 edges; a `max_length` of None means all lengths. With one,
        any graph has a sum. For walks of one length, pass it as both.
    decay : float or "auto", default=1.0
        A factor for each edge of a walk, so that longer walks count less. With "auto", `fit` takes half of one over
        the largest spectral radius of its graphs, but at most 1: then graphs of unit weights and with cycles, such as
        molecules, have a sum over all lengths.
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
    combine_, normalize_, min_length_, max_length_, decay_
        The parameters of the fit, which `transform` uses; `decay_` is a number.

    Notes
    -----
    A graph without cycles takes O(edges × vertices reached), a strong component of k vertices O(k³) more, and G the
    number of entries of W times the labels of their vertices. Memory is about three times that of the result, which
    has 12 bytes for each entry of G, and O(n²) numbers for one graph of n vertices at a time.

    Without a `max_length`, the spectral radius of A (times the decay) has to be below one, or the weights have no sum.
    This is checked for each graph, exactly up to rounding. Graphs without cycles always pass. Weights may be negative.
    With a `max_length` of n, sparse products take at most n times O(edges × vertices reached), and never O(k³).
    ``decay="auto"`` takes the eigenvalues of each strong component, O(k³) once more.

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
        "min_length": [Interval(Integral, 1, 1000, closed="both")],
        "max_length": [Interval(Integral, 1, 1000, closed="both"), None],
        "decay": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        combine: Combine = "max",
        normalize: bool = False,
        min_length: int = 1,
        max_length: int | None = None,
        decay: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        keep_parameters(self, locals())

    @fit_context(prefer_skip_nested_validation=True)
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
            When all lengths count and a spectral radius is not below one; the message names the graph and what to do.
        """
        self._learn(graphs)
        return self

    @fit_context(prefer_skip_nested_validation=True)
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
        if self.max_length is not None and self.max_length < self.min_length:
            raise InvalidInputError(
                f"max_length={self.max_length} is below min_length={self.min_length}: pass one that is not"
            )
        codes = LabelCodes()
        packed = PackedGraphs.of(graphs, codes)
        labels = np.array(list(codes), dtype=object)
        order = np.argsort(labels)
        ranks = np.empty(len(labels), dtype=np.int32)
        ranks[order] = np.arange(len(labels), dtype=np.int32)
        decay = 0.5 / max(spectral_radius(packed), 0.5) if self.decay == "auto" else self.decay
        lengths = WalkLengths(self.min_length, self.max_length, decay)
        connected = self._connect(replace(packed, labels=ranks[packed.labels]), self.combine, self.normalize, lengths)
        pairs = LabelPairs.of(connected, len(labels))
        self.labels_, self.first_bounds_, self.seconds_ = labels[order], pairs.bounds, pairs.seconds
        self.n_pairs_ = len(pairs.seconds)
        self.combine_, self.normalize_ = self.combine, self.normalize
        self.min_length_, self.max_length_, self.decay_ = self.min_length, self.max_length, float(decay)
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
        # Files of earlier versions have no lengths and no decay.
        held: dict[str, Any] = {"min_length_": 1, "max_length_": None, "decay_": 1.0} | vars(self)
        lengths = WalkLengths(held["min_length_"], held["max_length_"], held["decay_"])
        return self._vectors(self._connect(packed, self.combine_, self.normalize_, lengths))

    def _connect(
        self, graphs: PackedGraphs, combine: Combine, normalize: bool, lengths: WalkLengths
    ) -> ConnectedLabels:
        parts = list(graphs.parts())
        parallel = joblib.Parallel(n_jobs=self.n_jobs, require="sharedmem", return_as="generator")
        connected = parallel(joblib.delayed(_connect_part)(part, combine, normalize, lengths) for part in parts)
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


def _connect_part(graphs: PackedGraphs, combine: Combine, normalize: bool, lengths: WalkLengths) -> ConnectedLabels:
    connected = connect_labels(graphs, combine, lengths)
    return connected.unit() if normalize else connected

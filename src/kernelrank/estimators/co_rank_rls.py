"""CoRankRLS: ranking from few scored and many unscored queries, by views that should agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix
from kernelrank.base.labels import Queries
from kernelrank.base.sklearn_private import Interval, StrOptions, fit_context
from kernelrank.base.validation import check_items, check_scores, check_weight
from kernelrank.comparisons import ScoredComparisons, compare_scores
from kernelrank.comparisons.costs import COSTS, TIES, Cost, OutputGraph, Ties, resolved_cost
from kernelrank.comparisons.scored import QUERY_WEIGHTS, QueryWeight
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators.base import FitProgress, KernelLearner, check_alphas, keep_parameters, whole_or_not_at_all
from kernelrank.estimators.tasks import Ranker, has_two_levels
from kernelrank.estimators.unscored import Agreement, UnscoredItems
from kernelrank.features import basis_stream, choose_basis, kernel_scores
from kernelrank.features.views import JointRows, View, ViewMap, basis_columns
from kernelrank.kernels import GammaLike, Kernel, KernelLike, takes_objects, takes_sparse
from kernelrank.solvers import Cholesky, Spectral
from kernelrank.solvers.direct import NormalEquations, Spectrum
from kernelrank.solvers.precision import check_energy, check_finite, one_warning

# View ranker ----------------------------------------------------------------------------------------------------------
#
# What CoRankRLS and its search share: views of the items, their bases, and the equations that make them agree.


class ViewRanker(Ranker):
    """A ranker whose predictions are the mean of several views, each with a kernel and a basis of its own."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: KernelLearner._parameter_constraints[name] for name in ("kernel", "gamma", "degree", "coef0")},
        **{name: KernelLearner._parameter_constraints[name] for name in ("kernel_params", "random_state", "verbose")},
        "views": [Interval(Integral, 2, None, closed="left"), list, tuple],
        "basis": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"}), "array-like", None],
        "cost": [StrOptions(set(COSTS))],
        "ties": [StrOptions(set(TIES))],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    }

    views: int | Sequence[Any]
    missing = "ignore"  # NaN stands for the items of unscored queries
    dual_coef_: Any
    X_fit_: Any
    basis_: Any

    def predict_views(self, X: Any) -> Float:
        """Predict the scores of each view by itself; `predict` returns their mean.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features)

        Returns
        -------
        ndarray, shape (t, n_views) or (t, n_views, n_outputs)
        """
        check_is_fitted(self)
        X = self._check_items(X, reset=False)
        scores = []
        fitted = zip(self.kernels_, self.columns_, self.X_fit_, self.dual_coef_, strict=True)
        for kernel, columns, items, dual in fitted:
            coefficients = dual[:, None] if dual.ndim == 1 else dual
            seen = X if columns is None else X[:, columns]
            found = kernel_scores(kernel, seen, items, coefficients)
            scores.append(found[:, 0] if dual.ndim == 1 else found)
        return np.stack(scores, axis=1)

    def _raw_scores(self, X: object) -> Float:
        means: Float = self.predict_views(X).mean(axis=1)
        return means

    def _views(self) -> list[View]:
        """Return what `views` says."""
        if isinstance(self.views, (int, Integral)):
            return [View()] * int(self.views)
        views = [View.read(view) for view in self.views]
        if len(views) < 2:
            raise InvalidInputError(f"expected at least two views; got {len(views)}")
        return views

    @property
    def gamma_(self) -> Any:
        """The value of gamma used in each view; None if its kernel has no gamma."""
        return [kernel.gamma for kernel in self.kernels_]

    def _view_kernels(self) -> list[Kernel]:
        """Return the kernels of the views that the parameters describe."""
        default, kernels = self._kernel_of_parameters(), []
        for number, view in enumerate(self._views()):
            try:
                kernels.append(view.kernel_of(default))
            except InvalidInputError as error:
                raise InvalidInputError(f"view {number}: {error}") from error
        return kernels

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._parameters_take_sparse()
        tags.input_tags.pairwise = False
        return tags

    def _parameters_take_sparse(self) -> bool:
        """Whether every view has a kernel for sparse rows; parameters that cannot be read are refused by the fit."""
        try:
            return all(takes_sparse(kernel.metric) for kernel in self._view_kernels())
        except (InvalidInputError, TypeError):
            return True

    def _check_items(self, X: object, *, reset: bool, least: int = 2, finite: bool = True) -> Matrix:
        """Validate X; its names and number of columns, and the kernels of this fit, are remembered when `reset`."""
        if reset:
            self.kernels_ = [kernel.copied() for kernel in self._view_kernels()]
        formats = ("csr",) if all(takes_sparse(kernel.metric) for kernel in self.kernels_) else False
        objects = all(takes_objects(kernel.metric) for kernel in self.kernels_)
        return check_items(
            self, X, reset=reset, formats=formats, least=least if reset else 1, finite=finite, objects=objects
        )

    def _settled(self, X: object, *, qid: object = None, sample_weight: object = None) -> Self:  # noqa: ARG002
        """Return a copy that is not fitted: each view draws its own basis, and has the gamma of that basis."""
        settled: Self = clone(self)
        return settled

    def _graphs(self, data: CoData, items: Index | None = None) -> list[OutputGraph]:
        """Compare the scored items; or some of them, among which there may be nothing to compare."""
        queries = data.queries
        if queries is None:
            queries = Queries.from_labels(None, len(data.scores))
        scores, weight = data.scores, data.weight
        if items is not None:
            scores, queries = scores[items], queries.subset(items)
            weight = None if weight is None else weight[items]
        else:
            self._keep_classes(has_two_levels(scores))
        return compare_scores(
            scores,
            queries,
            weight=weight,
            cost=resolved_cost(self.cost),
            ties=self.ties,
            query_weight=self.query_weight,
            allow_no_comparisons=items is not None,
        )

    def _require_unscored(self, data: CoData, nu: float) -> None:
        if data.unscored is None and nu > 0:
            raise InvalidInputError(
                f"nu={nu:g} needs unscored queries: pass X_unscored, set y to NaN for the items of unscored queries, "
                "or set nu=0"
            )

    def _draw(self, data: CoData, graphs: list[OutputGraph]) -> tuple[list[ViewMap], list[Index | None]]:
        """Draw the bases and make the feature maps."""
        views = self._views()
        bases = data.draw_bases(views, self.basis, basis_stream(self.random_state))
        names = getattr(self, "feature_names_in_", None)
        maps = []
        for number, (view, basis) in enumerate(zip(views, bases, strict=True)):
            try:
                given = self.basis if view.basis is None else view.basis
                items = self._check_basis(given) if basis is None else data.take(basis)
                columns = view.column_numbers(self.n_features_in_, None if names is None else list(names))
                if self.kernels_[number].precomputed:
                    columns = basis_columns(columns, basis, self.n_features_in_, data.pool_size)
                seen = items if columns is None else items[:, columns]
                self.kernels_[number] = self.kernels_[number].fixed(seen, self.random_state)
                maps.append(ViewMap.of(self.kernels_[number], columns, items))
            except ValueError as error:
                raise InvalidInputError(f"view {number}: {error}") from error
        for view_map in maps:
            energy = view_map.energy(data.X)
            for _, graph in graphs:
                check_energy(energy, graph, data.X)
        return maps, bases

    def _check_basis(self, items: object) -> Matrix:
        """Check basis items that a view has brought; a model keeps a copy of them."""
        return self._check_items(items, reset=False).copy()

    def _agreement(self, data: CoData, views: list[ViewMap]) -> Agreement:
        """Read the unscored items, once."""
        if data.unscored is None:
            return Agreement.none([view.rank for view in views])
        return data.unscored.agreement(views, self.query_weight)

    @one_warning("predictions")
    def _weights(
        self,
        data: CoData,
        graphs: list[OutputGraph],
        views: list[ViewMap],
        agreement: Agreement,
        alphas: list[float],
        nu: float,
    ) -> list[Float]:
        """Solve for each alpha; the weights of all features, shape (R, outputs) each."""
        path = [np.empty((len(agreement.gram), data.scores.shape[1])) for _ in alphas]
        for columns, graph in graphs:
            equations = co_equations(data.X, graph, views, agreement, nu)
            if len(alphas) == 1:
                path[0][:, columns] = Cholesky().solve(equations, alphas[0], last=True).coefficients
                continue
            state = Spectrum.of(equations)
            for w, alpha in zip(path, alphas, strict=True):
                w[:, columns] = Spectral().solve(state, alpha).coefficients
        return path

    def _keep_views(
        self,
        data: CoData,
        graphs: list[OutputGraph],
        views: list[ViewMap],
        bases: list[Index | None],
        agreement: Agreement,
        w: Float,
        solver: str,
    ) -> Self:
        """Store what was fitted."""
        check_finite(w)
        dual = [view.map.coefficients(w[part]) for view, part in zip(views, agreement.parts, strict=True)]
        self.dual_coef_ = [b[:, 0] if data.one_output else b for b in dual]
        self.X_fit_ = [None if view.kernel.precomputed else view.items for view in views]
        self.basis_ = bases
        self.columns_ = [view.columns for view in views]
        disagreement = agreement.disagreement(w)
        self.disagreement_ = float(disagreement[0]) if data.one_output else disagreement
        self.n_views_ = len(views)
        self.n_unscored_, self.n_unscored_queries_ = agreement.n_items, agreement.n_queries
        self.solver_ = solver
        self.n_iter_ = 1
        self.n_queries_ = graphs[0][1].n_queries
        self.n_idle_queries_ = max(graph.n_idle_queries for _, graph in graphs)
        self.n_pairs_ = sum(graph.n_pairs for _, graph in graphs)
        return self


def co_equations(
    X: Matrix,
    graph: ScoredComparisons,
    views: Sequence[ViewMap],
    agreement: Agreement,
    nu: float,
    turns: Sequence[Float] | None = None,
) -> NormalEquations:
    """Return ``(A + alpha I) w = b`` over the features of all views."""
    A, b = agreement.penalty(nu), []
    for number, (view, part) in enumerate(zip(views, agreement.parts, strict=True)):
        gram, right = graph.normal_equations(JointRows([view], X))
        if turns is not None:
            gram, right = turns[number].T @ gram @ turns[number], turns[number].T @ right
        A[part, part] += gram
        b.append(right)

    def sums(w: Float) -> Float:
        own = [w[part] for part in agreement.parts]
        if turns is not None:
            own = [turn @ weights for turn, weights in zip(turns, own, strict=True)]
        sizes = [view.map.sums(weights) for view, weights in zip(views, own, strict=True)]
        return np.asarray(np.sqrt(graph.diagonal().sum()) * np.sum(sizes, axis=0))

    return NormalEquations(A, np.vstack(b), lambda w: w, sums=sums)


# Co rank RLS ----------------------------------------------------------------------------------------------------------


class CoRankRLS(ViewRanker):
    """Semi-supervised RankRLS: several views of the items are trained to agree on unscored queries.

    Minimises ``Σ_v [(y - f_v)ᵀ L (y - f_v) + alpha ‖f_v‖²] + nu Σ_vu (f_v - f_u)ᵀ 𝓛 (f_v - f_u)`` over the functions
    f_v of M views, exactly [TPBSH11]_ (17). L compares the scored items of each query, and 𝓛 the unscored ones.
    Predictions are the mean of the views.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength of all views. The loss is a sum (not a mean) over scored pairs.
    nu : float, default=1.0
        The weight of the disagreement, which is a sum over unscored pairs and ordered pairs of views. With zero the
        views are learnt one by one, and unscored items are not needed.
    views : int or list of View, dict or kernel, default=2
        A number of views that differ only in their basis; or a list with a `View`, a dict of its parameters, or a
        kernel for each view. At least two. A view with precomputed kernels has a column of X for each item, scored and
        unscored: two such views take ``X = np.hstack([K_1, K_2])``, and `predict` the kernels of new items with these.
    basis : int, "all", sequence of int or None, default=None
        The basis of views without one of their own: a number of items, drawn from the scored and the
        unscored items, without items in common between views as far as possible; or the numbers of the items, as
        in `View`. With "all", or a number above that of the items, every item is in the basis: the dense instead of
        the sparse Co-RankRLS. None takes 100 items for each view, or an equal share of all items if that is fewer.
    kernel : str, callable or kernel object, default="rbf"
        The kernel of views without one of their own. With a linear kernel, all bases of n_features items or more
        span the same functions, so views should then differ in their columns.
    gamma, degree, coef0, kernel_params
        Its parameters, as in `RankRLS`.
    cost, ties, query_weight
        As in `RankRLS`; `query_weight` holds for scored and unscored queries.
    random_state : int, RandomState or None, default=None
        Random seed for drawing the bases.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    dual_coef_ : list of ndarray, each of shape (r,) or (r, n_outputs)
        The coefficients of the basis items of each view.
    X_fit_ : list of array or sparse matrix, each of shape (r, n), or None where a kernel is precomputed
        The basis items of each view, with the columns that it sees.
    basis_ : list of ndarray of int, or None where a view has brought its basis items
        Their numbers. With ``X_unscored`` the scored items are numbered first and the unscored ones after them; of a
        stream, those of its first block.
    kernels_ : list of Kernel
        A copy of the kernel of each view; later changes of the parameters do not affect it.
    gamma_ : list of float or None
        The gamma of each kernel, as in `RankRLS`; a rule is applied to the basis items of the view.
    columns_ : list of ndarray of int or None
        The columns that each view sees; None for all. Of a precomputed kernel, those of the basis items.
    disagreement_ : float, or ndarray of shape (n_outputs,)
        The mean of ``((f_v(i) - f_v(j)) - (f_u(i) - f_u(j)))²`` over pairs of views and pairs inside unscored queries;
        NaN without unscored items.
    n_views_, n_unscored_, n_unscored_queries_ : int
        How many views, unscored items and unscored queries there were.
    solver_ : str
    n_queries_, n_idle_queries_, n_pairs_ : int
        As in `RankRLS`, of the scored items.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        As in scikit-learn.

    See Also
    --------
    kernelrank.CoRankRLSCV : Chooses alpha and nu.

    Notes
    -----
    With R basis items in all views together, m scored and l unscored items of n features: O((m + l)(R n + R²) + R³)
    time, linear in l. Memory is R² and the features of a few items, whatever l is; unscored items are read once.
    `predict` takes O(t R n). The rounding error of scores is about ε times the largest eigenvalue of the problem over
    alpha; a large nu and many unscored pairs make this eigenvalue large.

    Agreement helps if few queries are scored and the errors of the views are independent given the score. It does not
    help if the views make the same errors, or with many scored queries; let a search over nu choose zero
    (`studies/unscored_data_helps.py` has examples).

    In a pipeline, mark unscored items by NaN in y, so that they go through the same steps; or name ``X_unscored`` in
    the pipeline's ``transform_input``.

    References
    ----------
    .. [TPBSH11] Tsivtsivadze, Pahikkala, Boberg, Salakoski and Heskes (2011). Co-regularized least-squares for label
       ranking. In Preference Learning, Springer.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import CoRankRLS, make_ranking
    >>> X, y, qid = make_ranking(n_queries=60, n_items=10, n_features=6, random_state=0)
    >>> y_known = np.where(qid < 5, y, np.nan)
    >>> model = CoRankRLS(alpha=1.0, nu=0.01, views=[{"columns": [0, 1, 2]}, {"columns": [3, 4, 5]}], random_state=0)
    >>> model.fit(X, y_known, qid=qid).predict_views(X[:2]).shape
    (2, 2)
    >>> same = CoRankRLS(alpha=1.0, nu=0.01, random_state=0)
    >>> known = qid < 5
    >>> _ = same.fit(X[known], y[known], qid=qid[known], X_unscored=X[~known], qid_unscored=qid[~known])
    >>> same.n_unscored_, same.n_unscored_queries_
    (550, 55)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ViewRanker._parameter_constraints,
        "alpha": KernelLearner._parameter_constraints["alpha"],
        "nu": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        nu: float = 1.0,
        *,
        views: int | Sequence[Any] = 2,
        basis: int | str | Sequence[int] | None = None,
        kernel: KernelLike = "rbf",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        cost: Cost = "magnitude",
        ties: Ties = "include",
        query_weight: QueryWeight = "pairs",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        X_unscored: Any = None,
        qid_unscored: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit to scored and unscored items.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features)
            The scored items; or all items, where y is NaN for the unscored ones.
        y : array-like, shape (m,) or (m, n_outputs)
            Their scores. A query has scores for all of its items, or NaN for all.
        qid : sequence, shape (m,), optional
            The query of each item: any hashable labels in any order. One query if omitted.
        X_unscored : array-like or sparse matrix, shape (l, n_features), path, or iterable of blocks, optional
            The unscored items: an array, which may be memory-mapped; the path of a file as in `RankRLS.fit`; or blocks
            ``(X, qid)``, such as a generator yields. In a file and in blocks, the items of a query must be contiguous;
            a query may continue in the next block.
        qid_unscored : sequence of shape (l,), or str, optional
            The queries of an array, independent of those of `qid`; or the name of the query column of a
            file, whose other columns of numbers are features. Blocks have their own. One query if omitted.
        sample_weight : array-like, shape (m,), optional
            Weights of the scored items; the pair (i, j) weighs ``w_i w_j``.

        Returns
        -------
        self
        """
        data = CoData.read(self, X, y, qid, X_unscored, qid_unscored, sample_weight)
        graphs = self._graphs(data)
        self._require_unscored(data, self.nu)
        progress = FitProgress(self, X, y)
        views, bases = self._draw(data, graphs)
        agreement = self._agreement(data, views)
        w = self._weights(data, graphs, views, agreement, [float(self.alpha)], float(self.nu))[0]
        progress.done()
        return self._keep_views(data, graphs, views, bases, agreement, w, "cholesky")

    @fit_context(prefer_skip_nested_validation=True)
    def fit_path(
        self,
        X: Any,
        y: Any,
        alphas: Any,
        *,
        qid: Any = None,
        X_unscored: Any = None,
        qid_unscored: Any = None,
        sample_weight: Any = None,
    ) -> list[Self]:
        """Fit for many alphas, with the nu of this estimator, at the cost of one decomposition.

        Parameters
        ----------
        X, y, qid, X_unscored, qid_unscored, sample_weight
            As in `fit`.
        alphas : array-like of float
            The values of alpha.

        Returns
        -------
        list of CoRankRLS
            One fitted model for each alpha, in their order, with the same bases. This estimator itself is not changed.

        Notes
        -----
        One pass over all items and O(R³) time once, then O(R²) for each alpha and output.
        """
        learner: Self = clone(self)
        values = check_alphas(alphas)
        data = CoData.read(learner, X, y, qid, X_unscored, qid_unscored, sample_weight)
        graphs = learner._graphs(data)
        learner._require_unscored(data, learner.nu)
        views, bases = learner._draw(data, graphs)
        agreement = learner._agreement(data, views)
        path = learner._weights(data, graphs, views, agreement, values, float(learner.nu))
        solver = "cholesky" if len(values) == 1 else "spectral"
        fitted = []
        for alpha, w in zip(values, path, strict=True):
            model = clone(self).set_params(alpha=alpha)._with_items_of(learner)
            fitted.append(model._keep_views(data, graphs, views, bases, agreement, w, solver))
        return fitted


# Co data --------------------------------------------------------------------------------------------------------------
#
# Scored and unscored items, checked, and the bases that views draw from them.


@dataclass(frozen=True)
class CoData:
    """What `CoRankRLS` is fitted to.

    Shapes: X (m, n), scores (m, outputs), weight (m,), places (m,).
    """

    X: Matrix
    scores: Float
    queries: Queries | None
    weight: Float | None
    one_output: bool
    unscored: UnscoredItems | None
    pool: list[Matrix]
    places: Index

    @classmethod
    def read(
        cls,
        learner: KernelLearner,
        X: Any,
        y: Any,
        qid: Any = None,
        X_unscored: Any = None,
        qid_unscored: Any = None,
        sample_weight: Any = None,
    ) -> CoData:
        """Check the arguments of a fit; items with NaN for y are unscored."""
        X = learner._check_items(X, reset=True)
        y = check_scores(y, X.shape[0], allow_missing=True)
        scores = y[:, None] if y.ndim == 1 else y
        weight = check_weight(sample_weight, X.shape[0])
        queries = Queries.from_labels(qid, X.shape[0])
        missing = _unscored_queries(scores, queries)
        if qid_unscored is not None and X_unscored is None:
            raise InvalidInputError("qid_unscored is given without X_unscored")
        if not missing.any():
            unscored = None if X_unscored is None else UnscoredItems.read(learner, X_unscored, qid_unscored)
            pool = [X] if unscored is None else [X, unscored.first]
            told = None if qid is None else queries
            return cls(X, scores, told, weight, y.ndim == 1, unscored, pool, np.arange(X.shape[0]))
        if X_unscored is not None:
            raise InvalidInputError(
                f"y is NaN for {int(missing.sum())} items and X_unscored is given too: use one of the two ways "
                "to pass unscored items"
            )
        scored, others = np.flatnonzero(~missing), np.flatnonzero(missing)
        return cls(
            X[scored],
            scores[scored],
            queries.subset(scored),
            None if weight is None else weight[scored],
            y.ndim == 1,
            UnscoredItems.of_array(X[others], queries.subset(others)),
            [X],
            scored,
        )

    @property
    def pool_size(self) -> int:
        """How many items a basis may be drawn from."""
        return sum(int(part.shape[0]) for part in self.pool)

    def take(self, numbers: Index) -> Matrix:
        """Return some items of the pool, in the order of the numbers."""
        bounds = np.cumsum([0, *(part.shape[0] for part in self.pool)])
        which = np.searchsorted(bounds, numbers, side="right") - 1
        places = [np.flatnonzero(which == k) for k in range(len(self.pool))]
        rows = [part[numbers[at] - start] for part, at, start in zip(self.pool, places, bounds, strict=False)]
        back = np.argsort(np.concatenate(places))
        if any(sparse.issparse(part) for part in rows):
            return sparse.vstack(rows, format="csr")[back]
        return np.concatenate(rows)[back]

    def draw_bases(
        self, views: Sequence[View], default: ArrayLike | None, random_state: np.random.RandomState
    ) -> list[Index | None]:
        """Return the basis of each view as numbers of the pool, or None where the view brings its basis items.

        Bases that are drawn have no item in common, as long as there are enough items for that.
        """
        wanted = [default if view.basis is None else view.basis for view in views]
        sizes = [self._size(number, basis, len(views)) for number, basis in enumerate(wanted)]
        drawn = [size for size in sizes if size is not None]
        apart = sum(drawn) <= self.pool_size
        shuffled, start = random_state.permutation(self.pool_size), 0
        bases: list[Index | None] = []
        for number, (basis, size) in enumerate(zip(wanted, sizes, strict=True)):
            if size is None:
                assert basis is not None
                bases.append(self._given(number, basis))
                continue
            chosen = shuffled[start : start + size] if apart else random_state.permutation(self.pool_size)[:size]
            start += size
            bases.append(np.sort(chosen).astype(np.int64))
        return bases

    def _size(self, number: int, basis: ArrayLike | None, n_views: int) -> int | None:
        """Return how many items a view draws; None if its basis is given."""
        if basis is None:
            return max(1, min(100, self.pool_size // n_views))
        if isinstance(basis, str) and basis == "all":
            return self.pool_size
        if np.ndim(basis) > 0 or sparse.issparse(basis):
            return None
        if not isinstance(basis, (int, np.integer)) or isinstance(basis, bool):
            raise InvalidInputError(f"view {number}: a basis is a number, 'all', or items, got {basis!r}")
        if basis < 1:
            raise InvalidInputError(f"view {number}: a basis has at least one item, got {basis}")
        return min(int(basis), self.pool_size)

    def _given(self, number: int, basis: ArrayLike) -> Index | None:
        """Check numbers of items; basis items themselves have none."""
        if sparse.issparse(basis) or np.ndim(basis) == 2:
            return None
        try:
            return choose_basis(np.asarray(basis), self.pool_size, np.random.RandomState(0))
        except InvalidInputError as error:
            raise InvalidInputError(f"view {number}: {error}") from error


def _unscored_queries(scores: Float, queries: Queries) -> NDArray[np.bool_]:
    """Return which items are unscored; a query has scores for all its items, or for none."""
    gaps = np.isnan(scores)
    missing: NDArray[np.bool_] = np.asarray(gaps.all(axis=1))
    whole = np.bincount(queries.codes, weights=missing, minlength=len(queries)) == queries.sizes
    broken = gaps.any(axis=1) & ~whole[queries.codes]
    if missing.all() and len(missing):
        raise NothingToCompareError("expected at least one scored query; y is NaN for every item")
    if broken.any():
        item = int(np.argmax(broken))
        label = queries.labels.tolist()[queries.codes[item]]
        where = "" if label is None else f" of query {label!r}"
        raise InvalidInputError(
            f"y is NaN for item {item}{where}, but not for the others of its query: score all items of a query, or none"
        )
    return missing

"""What CoRankRLS and its search share: views of the items, their bases, and the equations that make them agree."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix
from kernelrank.base.labels import Queries
from kernelrank.base.validation import check_items
from kernelrank.comparisons import ScoredComparisons, compare_scores
from kernelrank.comparisons.costs import COSTS, TIES, OutputGraph, resolved_cost
from kernelrank.comparisons.scored import QUERY_WEIGHTS
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.agreement import Agreement
from kernelrank.estimators.base import KernelLearner
from kernelrank.estimators.co_data import CoData
from kernelrank.estimators.tasks import Ranker, has_two_levels
from kernelrank.features import basis_stream, kernel_scores
from kernelrank.features.views import JointRows, View, ViewMap
from kernelrank.kernels import Kernel, takes_sparse
from kernelrank.solvers import Cholesky, Spectral
from kernelrank.solvers.direct import NormalEquations, Spectrum
from kernelrank.solvers.precision import check_energy, check_finite, one_warning

__all__ = ["ViewRanker", "co_equations"]


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
        return check_items(self, X, reset=reset, formats=formats, least=least if reset else 1, finite=finite)

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
        self.X_fit_ = [view.items for view in views]
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

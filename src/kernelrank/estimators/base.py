"""Base of RLS and RankRLS: a kernel, a solver, and the coefficients of a model."""

from __future__ import annotations

import functools
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix, one_pool, product
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track, verbose_progress
from kernelrank.base.sklearn_private import DocumentationLink, Interval, StrOptions, num_samples
from kernelrank.base.validation import FilePath, check_items, is_path, mapped, refuse_infinite
from kernelrank.comparisons import Comparisons, ItemScores, ScoredQueries
from kernelrank.comparisons.costs import OutputGraph
from kernelrank.data.letor import Ranking
from kernelrank.data.readers import StoredRanking, open_stored
from kernelrank.errors import InvalidInputError
from kernelrank.features import (
    ColumnFeatures,
    ExplicitFeatures,
    Features,
    FullKernel,
    ReducedSet,
    WeightedColumns,
    basis_stream,
    choose_basis,
    kernel_scores,
)
from kernelrank.kernels import (
    GAMMA_RULES,
    KERNEL_NAMES,
    GammaLike,
    Kernel,
    KernelLike,
    MetricLike,
    check_precomputed,
    metric_root,
    takes_objects,
    takes_sparse,
)
from kernelrank.solvers import SOLVER_NAMES, Cholesky, Solution, Solver, get_solver
from kernelrank.solvers.base import Step
from kernelrank.solvers.precision import check_finite, check_range, equations_in_range, one_warning, overflow_is_checked

# Fit progress ---------------------------------------------------------------------------------------------------------
#
# Progress: scikit-learn's callbacks, if the installed scikit-learn has them.

CallbackSupportMixin: Any = (
    import_module("sklearn.callback").CallbackSupportMixin
    if find_spec("sklearn.callback")
    else type("CallbackSupportMixin", (), {})
)
"""What scikit-learn ≥ 1.9 adds to an estimator; a stand-in that adds nothing with scikit-learn 1.8."""


class FitProgress:
    """Tells the callbacks of an estimator about its fit and the iterations inside."""

    def __init__(self, estimator: Any, X: Any, y: Any = None) -> None:
        self.estimator = estimator
        self.data = {"X": X, "y": y}
        self._context: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=estimator, **self.data)

    @property
    def step(self) -> Step | None:
        """The function that a solver calls after each iteration; None without callbacks."""
        context = self._context
        if context is None or not getattr(self.estimator, "_skl_callbacks", None):
            return None

        def step(number: int, residual: float) -> bool:  # noqa: ARG001 - a callback counts; it is not told the residual
            iteration = context.subcontext(task_name="iteration")
            iteration.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            return bool(iteration.call_on_fit_task_end(estimator=self.estimator, **self.data))

        return step

    def done(self) -> None:
        """Close the task of the fit."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self.estimator, **self.data)


class GapProgress(FitProgress):
    """Progress that leaves the current gap on the estimator, where callbacks find it."""

    @property
    def step(self) -> Step | None:
        """The function that a solver calls after each iteration; None without callbacks."""
        tell = super().step
        if tell is None:
            return None

        def step(number: int, gap: float) -> bool:
            self.estimator.gap_ = gap
            return tell(number, gap)

        return step


# Base -----------------------------------------------------------------------------------------------------------------

Learner = TypeVar("Learner", bound=BaseEstimator)
P = ParamSpec("P")
R = TypeVar("R")
State = TypeVar("State")

OutputGraphs: TypeAlias = Sequence[tuple[Index, Comparisons]]
"""What is compared, and the outputs that share it."""


def whole_or_not_at_all(fit: Callable[Concatenate[Learner, P], R]) -> Callable[Concatenate[Learner, P], R]:
    """Decorate a fit so that a failure (also Ctrl-C) restores the state from before the call.

    A fit may call another one of the same estimator; as in scikit-learn, two threads do not fit one estimator at once.
    With ``verbose=True`` the fit shows its progress. NumPy's BLAS has one thread meanwhile (`kernelrank.base.arrays`).
    """

    @functools.wraps(fit)
    def fit_or_restore(self: Learner, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if getattr(self, "verbose", False):
            shown: AbstractContextManager[None] = verbose_progress(f"{type(self).__name__}.{fit.__name__}")
        else:
            shown = nullcontext()
        with shown, one_pool:
            earlier = {name: value for name, value in self.__dict__.items() if is_fitted_state(name)}
            try:
                return fit(self, *args, **kwargs)
            except BaseException:
                for name in [name for name in self.__dict__ if is_fitted_state(name)]:
                    delattr(self, name)
                self.__dict__.update(earlier)
                raise

    return fit_or_restore


def is_fitted_state(name: str) -> bool:
    """Whether an attribute is set by a fit: its results, or the statistics of a stream."""
    return name.endswith("_") or name == "_stream"


class KernelLearner(DocumentationLink, CallbackSupportMixin, MultiOutputMixin, BaseEstimator):
    """Minimises ``‖N - Mᵀ f‖² + alpha ‖f‖²`` for graphs that a subclass makes of its training data."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions(set(GAMMA_RULES)), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "metric": [StrOptions({"variance"}), "array-like", None],
        "basis": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "solver": [StrOptions(set(SOLVER_NAMES))],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "warm_start": ["boolean"],
        "missing": [StrOptions({"error", "ignore"})],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _posterior_state: ClassVar[tuple[str, ...]] = ()
    """What a fit stores for comparisons of items, in addition to the coefficients."""

    _parameter_names: ClassVar[tuple[str, ...]]
    """The names of the parameters of the class, once they were asked for."""

    alpha: float
    kernel: KernelLike
    gamma: GammaLike
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    basis: Any
    random_state: Any

    # Not every learner has these parameters; one without them is trained in this way.
    solver: str = "auto"
    tol: Any = None  # a number; None where conjugate gradients have a default
    max_iter: int | None = None
    warm_start: bool = False
    missing: str = "error"
    verbose: bool = False
    metric: MetricLike = None

    @abstractmethod
    def _compare(
        self, X: Matrix, y: object, qid: object, sample_weight: object, *, allow_no_comparisons: bool = False
    ) -> tuple[list[OutputGraph], bool]:
        """Make the graphs of the training data; also return whether there is one output, and y no columns."""

    @abstractmethod
    def _unlabelled(self, queries: Queries, weight: Float | None) -> ItemScores | ScoredQueries:
        """Make the graph without labels, from which the scale of alpha is computed."""

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.kernel)
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters; scikit-learn looks at the signature at every clone and every check."""
        if "_parameter_names" not in vars(cls):
            cls._parameter_names = tuple(super()._get_param_names())
        return list(cls._parameter_names)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are coefficients; the number of features alone is not a model."""
        return hasattr(self, "solver_")

    def _kernel(self) -> Kernel:
        """Return the kernel that was fitted; before a fit, that of the parameters."""
        fitted: Kernel | None = getattr(self, "kernel_", None)
        return self._kernel_of_parameters() if fitted is None else fitted

    def _kernel_of_parameters(self) -> Kernel:
        parameters = dict(self.kernel_params or {})
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0, parameters, metric_root(self.metric))

    @property
    def gamma_(self) -> float | None:
        """The value of gamma used in the fit; None if the kernel has no gamma."""
        gamma = self.kernel_.gamma
        assert not isinstance(gamma, str)
        return gamma

    def _fix_kernel(self, X: Matrix) -> None:
        """Keep the kernel of the parameters, with the number that gamma stands for on some items."""
        self.kernel_ = self._kernel_of_parameters().copied().fixed(X, self.random_state)

    def _settled(self, X: object, *, qid: object = None, sample_weight: object = None) -> Self:  # noqa: ARG002
        """Return a copy, not fitted, in which all that depends on the items but not on their labels is fixed.

        Whatever is held out from one X shares it: the numbers that rules for gamma and the metric give, the basis that
        is drawn, and the alphas that a search tries.
        """
        settled: Self = clone(self)
        if self.verbose:
            settled.set_params(verbose=False)  # whatever holds out shows its own progress
        if isinstance(self.metric, str) or (isinstance(self.gamma, str) and self._kernel_of_parameters().has_gamma):
            learner = clone(self)
            learner._check_items(X, reset=True)
            if isinstance(self.gamma, str):
                settled.set_params(gamma=learner.gamma_)
            if isinstance(self.metric, str):
                settled.set_params(metric=np.square(learner.kernel_.fixed_root))
        if self.basis is not None:
            settled.set_params(basis=self._draw_basis(num_samples(X)))
        return settled

    def _check_items(self, X: object, *, reset: bool, least: int = 2, finite: bool = True) -> Matrix:
        """Validate X; its names and number of columns, and the kernel of this fit, are remembered when `reset`.

        Without `finite`, a linear kernel leaves NaN and infinities for `_fit` to find.
        """
        if isinstance(X, (str, os.PathLike)):
            raise InvalidInputError(
                f"Expected an array of items; got the path {os.fspath(X)!r}. Read the file first: "
                "kernelrank.data.read_items(path).X reads CSV, TSV, Parquet, SVMlight and LETOR files."
            )
        kernel = self._kernel_of_parameters() if reset else self._kernel()
        formats = ("csr", "csc") if takes_sparse(kernel.metric) else False
        finite = finite or not kernel.linear or self.basis is not None
        objects = takes_objects(kernel.metric)
        X = check_items(
            self, X, reset=reset, formats=formats, least=least if reset else 1, finite=finite, objects=objects
        )
        if reset:
            self._fix_kernel(X)
        if reset and kernel.precomputed:
            check_precomputed(X)
        return X

    def _random(self) -> np.random.RandomState:
        random_state: np.random.RandomState = check_random_state(self.random_state)
        return random_state

    def _features(self, X: Matrix) -> Features:
        """Turn the items into features, as the kernel and the basis say."""
        kernel = self._kernel()
        if self.basis is not None:
            return ReducedSet(kernel, X, self._draw_basis(X.shape[0]))
        if not kernel.linear:
            return FullKernel(kernel, X)
        return ExplicitFeatures(X) if kernel.root is None else WeightedColumns(kernel, X)

    def _column_features(self, X: Matrix) -> ColumnFeatures:
        """Turn the items into columns; a kernel without a basis has all items for one. Columns are kept."""
        kernel = self._kernel()
        if self.basis is not None or kernel.linear:
            features = KernelLearner._features(self, X)
        else:
            features = ReducedSet(kernel, X, np.arange(X.shape[0]))
        assert features.columns is not None
        return features.columns.kept()

    def _draw_basis(self, n_items: int) -> Index:
        """Return the numbers of the basis items: as many as requested, drawn, or those given."""
        given = int(self.basis) if isinstance(self.basis, Integral) else np.asarray(self.basis)
        return choose_basis(given, n_items, basis_stream(self.random_state))

    def _solver(self, features: Features, graph: Comparisons, n_alphas: int = 1) -> Solver[Any]:
        """Choose how the minimum is found."""
        return get_solver(self.solver, features, graph, n_alphas, tol=self.tol, max_iter=self.max_iter)

    def _progress(self, X: Matrix, y: object = None) -> FitProgress | None:
        """Start reporting a fit to callbacks; None if there are none."""
        return FitProgress(self, X, y) if getattr(self, "_skl_callbacks", None) else None

    @one_warning("predictions")
    def _fit(
        self,
        X: Matrix,
        graphs: OutputGraphs,
        progress: FitProgress | None,
        *,
        one_output: bool,
        alpha: float | Sequence[float] | None = None,
        finite: bool = True,
    ) -> Self:
        """Solve graph by graph for the alpha of this estimator, or those of the outputs, and keep the coefficients.

        Dense columns are not read only to check their values: what is wrong with them is seen in the normal equations.
        `finite` says whether NaN and infinities were refused before.
        """
        features = self._features(X)
        n_outputs = sum(len(columns) for columns, _ in graphs)
        alphas = np.broadcast_to(np.asarray(self.alpha if alpha is None else alpha, dtype=np.float64), (n_outputs,))
        start = self._start(features, one_output) if self.warm_start else None
        step = None if progress is None else progress.step
        solver = self._solver(features, graphs[0][1])
        later = (
            isinstance(solver, Cholesky)
            and isinstance(X, np.ndarray)
            and features.linear
            and features.primal is not None
            and all(graph.shows_infinite for _, graph in graphs)
        )
        if not later:
            self._check_values(features, graphs, finite=finite)
        solutions = []
        for columns, graph in graphs:
            begin = None if start is None or start.shape[1] <= columns.max() else start[:, columns]
            with overflow_is_checked() if later else nullcontext():
                state = solver.prepare(features, graph)
            if later and not equations_in_range(state.A, state.b, graph):
                self._check_values(features, graphs, finite=finite)
                check_finite(state.A, "sums of the fit")
            solutions.append(_solve_outputs(solver, state, alphas[columns], begin, step))
        if progress is not None:
            progress.done()
        return self._keep(features, graphs, solutions, solver.name, one_output=one_output)

    def _check_values(self, features: Features, graphs: OutputGraphs, *, finite: bool) -> None:
        """Raise an error if there is a NaN or an infinity in X, or if sums of the fit overflow."""
        if not finite:
            refuse_infinite(self, features.items)
        check_range(features, (graph for _, graph in graphs))

    def _fit_scores_path(
        self, X: object, y: object, alphas: ArrayLike, qid: object, sample_weight: object
    ) -> list[Self]:
        """Fit a copy to scored items for every alpha."""
        learner: Self = clone(self)
        items = learner._check_items(X, reset=True)
        graphs, one_output = learner._compare(items, y, qid, sample_weight)
        return learner._fit_path(items, graphs, check_alphas(alphas), one_output=one_output)

    @one_warning("predictions")
    def _fit_path(self, X: Matrix, graphs: OutputGraphs, alphas: Sequence[float], *, one_output: bool) -> list[Self]:
        """Solve for every alpha from one preparation of each graph."""
        features = self._features(X)
        check_range(features, (graph for _, graph in graphs))
        solver = self._solver(features, graphs[0][1], len(alphas))
        path: list[list[Solution]] = [[] for _ in alphas]
        for _, graph in graphs:
            state = solver.prepare(features, graph)
            previous: Float | None = None
            for solutions, alpha in zip(path, alphas, strict=True):
                solution = solver.solve(state, float(alpha), start=previous)
                previous = solution.unknowns
                solutions.append(solution)
        fitted = []
        for alpha, solutions in zip(alphas, path, strict=True):
            model = clone(self).set_params(alpha=float(alpha))._with_items_of(self)
            fitted.append(model._keep(features, graphs, solutions, solver.name, one_output=one_output))
        return fitted

    def _with_items_of(self, learner: KernelLearner) -> Self:
        """Take over what another learner has learnt of the items alone."""
        for name in ("n_features_in_", "feature_names_in_", "kernel_", "kernels_", "classes_"):
            if hasattr(learner, name):
                setattr(self, name, getattr(learner, name))
        return self

    def _keep(
        self,
        features: Features,
        graphs: OutputGraphs,
        solutions: list[Solution],
        solver: str,
        *,
        one_output: bool,
    ) -> Self:
        """Store what was fitted, and nothing of an earlier fit with another kernel or basis."""
        for name in ("coef_", "dual_coef_", "X_fit_", "basis_", "_stream", *self._posterior_state):
            self.__dict__.pop(name, None)
        n_outputs = sum(len(columns) for columns, _ in graphs)
        coefficients = np.empty((len(solutions[0].coefficients), n_outputs))
        for (columns, _), solution in zip(graphs, solutions, strict=True):
            coefficients[:, columns] = solution.coefficients
        check_finite(coefficients)
        if features.basis is not None:
            self.basis_ = features.basis
        if features.linear:
            self.coef_ = coefficients[:, 0] if one_output else np.ascontiguousarray(coefficients.T)
        else:
            self.X_fit_ = features.kept_items
            self.dual_coef_ = coefficients[:, 0] if one_output else coefficients
        self.solver_ = next((solution.solver for solution in solutions if solution.solver is not None), solver)
        self.n_iter_ = max(solution.n_iter or 1 for solution in solutions)
        self.n_queries_ = graphs[0][1].n_queries
        self.n_idle_queries_ = max(graph.n_idle_queries for _, graph in graphs)
        self.n_pairs_ = sum(graph.n_pairs for _, graph in graphs)
        self._keep_beside(features, graphs, solutions)
        return self

    def _keep_scores(self, graphs: OutputGraphs) -> None:
        """Store what a subclass keeps of the scores that it was fitted to."""

    def _keep_beside(self, features: Features, graphs: OutputGraphs, solutions: list[Solution]) -> None:
        """Store what a subclass keeps in addition to its coefficients."""

    def _start(self, features: Features, one_output: bool) -> Float | None:
        """Return the coefficients of an earlier fit as a warm start, if they fit the new problem."""
        if features.basis is not None or (features.linear and self._kernel().root is not None):
            return None
        name = "coef_" if features.linear else "dual_coef_"
        earlier: Float | None = getattr(self, name, None)
        if earlier is None or (earlier.ndim == 1) != one_output:
            return None
        columns = earlier[:, None] if one_output else (earlier.T if name == "coef_" else earlier)
        size = features.n_items if features.n_columns is None else features.n_columns
        return columns if len(columns) == size else None

    def _raw_scores(self, X: object) -> Float:
        """Return the scores of new items, (t,) or (t, outputs)."""
        check_is_fitted(self)
        X = mapped(X)
        if is_path(X):
            return predict_file(self, X)
        X = self._check_items(X, reset=False)
        if hasattr(self, "coef_"):
            return product(X, self.coef_.T)
        dual = self.dual_coef_[:, None] if self.dual_coef_.ndim == 1 else self.dual_coef_
        kernel = self._kernel()
        rows = X[:, self.basis_] if kernel.precomputed and hasattr(self, "basis_") else X
        scores = kernel_scores(kernel, rows, self.X_fit_, dual)
        return scores[:, 0] if self.dual_coef_.ndim == 1 else scores


def _solve_outputs(
    solver: Solver[State], state: State, alphas: Float, start: Float | None, step: Step | None
) -> Solution:
    """Solve each output for its own alpha; outputs that share one are solved together."""
    distinct, which = np.unique(alphas, return_inverse=True)
    solution = solver.solve(state, float(distinct[0]), start=start, step=step, last=len(distinct) == 1)
    for number, alpha in enumerate(distinct[1:], start=1):
        other = solver.solve(state, float(alpha), start=start, step=step, last=number == len(distinct) - 1)
        solution.coefficients[:, which == number] = other.coefficients[:, which == number]
        solution.unknowns[:, which == number] = other.unknowns[:, which == number]
    return solution


def keep_parameters(learner: Any, arguments: dict[str, Any]) -> None:
    """Store the arguments of a constructor, ``locals()``, under their own names, as scikit-learn expects."""
    vars(learner).update((name, value) for name, value in arguments.items() if name != "self")


def check_alphas(alphas: Any, name: str = "alphas") -> list[float]:
    """Return a path of alphas, or of another parameter, as positive floats."""
    try:
        values = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be positive numbers, got {alphas!r}: {error}") from None
    if values.ndim != 1 or len(values) == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise InvalidInputError(f"{name} must be positive numbers, got {alphas!r}")
    return [float(alpha) for alpha in values]


# File items -----------------------------------------------------------------------------------------------------------
#
# Predictions for files: `predict` and `score` take a path and read it in batches.
#
# A model that knows its columns by name finds them by name, wherever they stand. Any other takes all columns that hold
# numbers, as `fit` does, and there must be as many as it was fitted to.


def predict_file(learner: KernelLearner, path: FilePath) -> NDArray[Any]:
    """Return what a fitted model predicts for the items of a file. Memory one batch and the predictions."""
    stored = _open(learner, path, None, None, needs_target=False)
    return np.concatenate(_for_each_chunk(stored, lambda chunk: learner._raw_scores(chunk.X)))


def predict_scored(learner: KernelLearner, X: Any, y: Any, qid: Any) -> tuple[NDArray[Any], Any, Any]:
    """Return predictions, scores and queries of items in memory or in a file."""
    check_is_fitted(learner)
    X, y, qid = mapped(X), mapped(y), mapped(qid)
    return predict_scored_file(learner, X, y, qid) if is_path(X) else (learner.predict(X), y, qid)


def predict_scored_file(
    learner: KernelLearner, path: FilePath, target: str | None, query: str | None
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[Any] | None]:
    """Return predictions, scores and queries of the items of a file."""
    stored = _open(learner, path, target, query, needs_target=True)
    parts = _for_each_chunk(stored, lambda chunk: (learner.predict(chunk.X), chunk.y, chunk.qid))
    predicted, scores, queries = zip(*parts, strict=True)
    return np.concatenate(predicted), np.concatenate(scores), np.concatenate(queries) if stored.has_queries else None


def _open(
    learner: KernelLearner, path: FilePath, target: str | None, query: str | None, *, needs_target: bool
) -> StoredRanking:
    names = getattr(learner, "feature_names_in_", None)
    return open_stored(
        path,
        target=target,
        query=query,
        features=None if names is None else [str(name) for name in names],
        n_features=learner.n_features_in_,
        needs_target=needs_target,
        impute=getattr(learner, "fill_values_", None),
    )


def _for_each_chunk(stored: StoredRanking, work: Callable[[Ranking], Any]) -> list[Any]:
    """Read the items and return what is made of each chunk; a terminal shows how far."""
    reading = track(
        stored.chunks(whole_queries=False),
        stored.n_items,
        f"predicting {Path(stored.path).name}",
        size=lambda chunk: len(chunk.y),
        noun="rows",
    )
    with closing(reading), warnings.catch_warnings():
        # Columns of a file were chosen by name already; the array that they make has none.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return [work(chunk) for chunk in reading]

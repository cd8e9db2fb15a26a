"""What GreedyRankRLS and GreedyRLS share: the search for features, the coefficients, and scikit-learn's selector."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from kernelrank.arrays import Matrix
from kernelrank.comparisons.costs import OutputGraph
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.estimators.fit_progress import FitProgress
from kernelrank.estimators.number_range import check_finite, check_range
from kernelrank.features import ExplicitFeatures
from kernelrank.progress import track
from kernelrank.queries import Queries
from kernelrank.selection import GreedySearch, SelectionProblem, SelectionStep
from kernelrank.selection.greedy_search import CRITERIA, Criterion, FallingError

__all__ = ["CriterionName", "GreedySelector"]

CriterionName: TypeAlias = Criterion | Literal["auto"]


class GreedySelector(SelectorMixin, KernelLearner):
    """A linear model with few features, chosen one by one by exact cross-validation."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "criterion": [StrOptions({"auto", *CRITERIA})],
        "dtype": [StrOptions({"float64", "float32"})],
        "n_jobs": [Integral, None],
    }

    n_features_to_select: int | str
    criterion: CriterionName
    dtype: str
    n_jobs: int | None

    # A linear model of all items is what every kernel learner can be.
    kernel = "linear"
    gamma = None
    degree = 3.0
    coef0 = 1.0
    kernel_params = None
    basis = None
    random_state = None

    @abstractmethod
    def _problem(self, X: Matrix, graph: Any, queries: Queries, criterion: Criterion) -> SelectionProblem:
        """Make the problem that features are selected for."""

    @abstractmethod
    def _criterion(self, queries: Queries) -> Criterion:
        """Return what is held out, and refuse what cannot be."""

    def _select(self, X: Any, y: Any, qid: Any, sample_weight: Any) -> Self:
        """Check the data, search, and keep what was found."""
        X = self._check_items(X, reset=True)
        graphs, one_output = self._compare(X, y, qid, sample_weight)
        check_range(ExplicitFeatures(X), (graph for _, graph in graphs))
        queries = Queries.from_labels(qid, X.shape[0])
        criterion = self._criterion(queries)
        problem = self._problem(X, graphs[0][1], queries, criterion)
        progress = FitProgress(self, X, y)
        search = GreedySearch(problem, criterion, float(self.alpha), n_threads=effective_n_jobs(self.n_jobs))
        steps = self._search(search, progress)
        progress.done()
        return self._keep_steps(steps, criterion, graphs, one_output=one_output)

    def _search(self, search: GreedySearch, progress: FitProgress) -> Sequence[SelectionStep]:
        """Run the search as far as it is asked for, and tell how far it is."""
        n_features, tell = self._n_features(search.problem.n_columns), progress.step
        found: list[SelectionStep] = []
        falling = FallingError() if self.n_features_to_select == "auto" else None
        with closing(track(islice(search.steps(), n_features), n_features, "selecting", noun="features")) as steps:
            for number, step in enumerate(steps):
                found.append(step)
                stopped = tell is not None and tell(number, step.criterion)
                if stopped or (falling is not None and falling.has_stopped(step, search.kind)):
                    break
        return found if falling is None else found[: falling.n_steps]

    def _n_features(self, n_columns: int) -> int:
        wanted = self.n_features_to_select
        if isinstance(wanted, str):
            return n_columns
        if wanted > n_columns:
            raise InvalidInputError(
                f"Expected n_features_to_select of at most {n_columns}, the number of features of X; got {wanted}. "
                "Choose fewer, or 'auto'."
            )
        return int(wanted)

    def _keep_steps(
        self, steps: Sequence[SelectionStep], criterion: Criterion, graphs: Sequence[OutputGraph], *, one_output: bool
    ) -> Self:
        last = steps[-1]
        coefficients = np.zeros((self.n_features_in_, last.coefficients.shape[1]))
        coefficients[last.columns] = last.coefficients
        check_finite(coefficients)
        self.coef_ = coefficients[:, 0] if one_output else np.ascontiguousarray(coefficients.T)
        self.selected_ = last.columns
        self.path_ = [_as_dict(step, one_output=one_output) for step in steps]
        self.criterion_ = criterion
        self.alpha_ = last.alpha
        self.solver_ = "greedy"
        self.n_iter_ = len(steps)
        graph = graphs[0][1]
        self.n_queries_, self.n_idle_queries_, self.n_pairs_ = graph.n_queries, graph.n_idle_queries, graph.n_pairs
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_] = True
        return mask


def _as_dict(step: SelectionStep, *, one_output: bool) -> dict[str, Any]:
    """Return a step as users see it."""
    shown: dict[str, Any] = {
        "feature": step.feature,
        "criterion": step.criterion,
        "standard_error": step.standard_error,
        "alpha": step.alpha,
        "columns": step.columns,
        "coefficients": step.coefficients[:, 0] if one_output else step.coefficients,
    }
    if step.pair_accuracy is not None:
        shown["pair_accuracy"] = step.pair_accuracy
    return shown

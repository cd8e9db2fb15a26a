"""The search for alpha, and for kernel parameters, by an exact hold-out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.utils._param_validation import StrOptions

from kernelrank.base.arrays import Matrix
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track
from kernelrank.comparisons.costs import OutputGraph
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner, check_alphas, whole_or_not_at_all
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid, grid_for, is_auto
from kernelrank.model_selection.refits import HELD_OUT_BASIS, HoldoutData
from kernelrank.model_selection.search.candidates import Candidates, measure
from kernelrank.model_selection.search.holdout_plan import (
    CENSORED_FOLDS,
    CV_NAMES,
    HoldoutPlan,
    HoldoutScoring,
    ItemLoss,
    read_scoring,
)
from kernelrank.solvers.precision import one_warning

__all__ = ["AlphaSearch", "KernelGrid"]

KernelGrid: TypeAlias = dict[str, Sequence[Any]] | Sequence[dict[str, Sequence[Any]]] | None
"""Kernel parameters with the values to try, as scikit-learn's `ParameterGrid` takes them; None for those given."""

KERNEL_PARAMETERS = ("kernel", "gamma", "degree", "coef0", "kernel_params")


class AlphaSearch(KernelLearner):
    """What `RankRLSCV`, `RLSCV` and `RLSClassifierCV` share: plain learners are held out from, and the best is fitted.

    A subclass is a `Ranker`, a `Regressor` or a `Classifier` too, which says what is compared and how it is predicted.
    It names the plain learner, and what ``cv="auto"`` means without queries.
    """

    _plain: ClassVar[type[KernelLearner]]
    _without_queries: ClassVar[str]

    _search_constraints: ClassVar[dict[str, list[Any]]] = {
        "alphas": [StrOptions({AUTO}), "array-like"],
        "cv": [StrOptions(set(CV_NAMES)), "cv_object"],
        "scoring": [str, callable, None],
        "alpha_per_target": ["boolean"],
        "kernel_grid": [dict, list, None],
        "held_out_basis": [StrOptions(set(HELD_OUT_BASIS))],
    }

    alpha_per_target: bool = False

    def __init__(
        self,
        alphas: Any = AUTO,
        *,
        cv: Any = "auto",
        scoring: Any = None,
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        basis: int | Sequence[int] | None = None,
        alpha_per_target: bool = False,
        kernel_grid: KernelGrid = None,
        held_out_basis: str = "remove",
        solver: str = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        missing: str = "error",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.basis = basis
        self.alpha_per_target = alpha_per_target
        self.kernel_grid = kernel_grid
        self.held_out_basis = held_out_basis
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.missing = missing
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Choose alpha by cross-validation, and fit with it.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
            The items.
        y : array-like, shape (m,) or (m, n_outputs)
            Their scores, or for a classifier their classes.
        qid : sequence, shape (m,), optional
            The query of each item. `RLSCV` and `RLSClassifierCV` use it for `cv` only.
        sample_weight : array-like, shape (m,), optional
            Item weights, for training; all held-out items count the same.

        Returns
        -------
        self
        """
        X = self._check_items(X, reset=True)
        graphs, one_output = self._compare(X, y, qid, sample_weight)
        self._search(X, y, qid, graphs, one_output=one_output)
        return self._fit(X, graphs, self._progress(X, y), one_output=one_output, alpha=self.alpha_)

    @one_warning("held-out scores")
    def _search(self, X: Matrix, y: Any, qid: Any, graphs: list[OutputGraph], *, one_output: bool) -> None:
        """Hold out for every kernel, and keep the best candidate."""
        every = Queries.from_labels(qid, X.shape[0])
        queries = None if qid is None else every
        classes = is_classifier(self)
        seed = 0 if self.random_state is None else self.random_state
        event = graphs[0][1].event
        plan = HoldoutPlan.of(
            self.cv,
            X,
            y,
            queries,
            default=self._without_queries if event is None else CENSORED_FOLDS,
            classes=classes,
            random_state=seed,
        )
        scoring = None if self.scoring is None else read_scoring(self.scoring, censored=event is not None)
        settings = self._settings()
        given = self._given_alphas(len(settings))
        weight = np.max([cast(Any, graph).weight for _, graph in graphs], axis=0)  # zero where no output has a score
        unlabelled = self._unlabelled(every, weight)
        candidates = Candidates(settings, per_target=self.alpha_per_target)
        learners = []
        shown = settings if len(settings) == 1 else track(settings, len(settings), "searching", noun="kernels")
        for number, setting in enumerate(shown):
            data = HoldoutData.of(
                self._learner(setting),
                X,
                graphs,
                one_output=one_output,
                held_out_basis=self.held_out_basis,
                keep_spectra=given is None,
            )
            judge = HoldoutScoring(plan, scoring, data.truth, queries, self._loss(), joint=classes, event=event)
            grid = AlphaGrid.of(AUTO, data.features, unlabelled) if given is None else AlphaGrid.given(given[number])
            candidates.search(grid, partial(measure, plan, judge, data))
            learners.append(data.learner)
            del data, judge  # the decomposition of one kernel at a time
        self._keep_search(X, candidates, learners)
        held_out = candidates.held_out
        scores = None if held_out is None else plan.item_scores(held_out, X.shape[0])
        self.holdout_scores_ = scores[:, 0] if one_output and scores is not None else scores
        candidates.warn_at_edge()

    def _keep_search(self, X: Matrix, candidates: Candidates, learners: list[KernelLearner]) -> None:
        """Store what was found with the learners of all candidates."""
        self.alpha_: Any = candidates.alpha
        self.alphas_ = candidates.alphas
        self.best_score_ = candidates.score
        self.best_params_ = {"alpha": self.alpha_, **candidates.setting}
        self.kernel_ = learners[candidates.number]._kernel_of_parameters().copied().fixed(X)
        self.cv_results_ = candidates.table()

    def _settled(self, X: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fix the grid too: the whole range of each kernel, so that nothing is left to extend."""
        settled = super()._settled(X, qid=qid, sample_weight=sample_weight)
        settings = settled._settings()
        rules = any(isinstance(setting.get("gamma"), str) for setting in settings)
        if not rules and not is_auto(self.alphas):
            return settled
        X = clone(self)._check_items(X, reset=True)
        learners = [settled._learner(setting)._settled(X) for setting in settings]
        if rules:
            fixed = [
                {**setting, "gamma": learner.gamma} if "gamma" in setting else setting
                for setting, learner in zip(settings, learners, strict=True)
            ]
            settled.set_params(kernel_grid=[{name: [value] for name, value in one.items()} for one in fixed])
        if is_auto(self.alphas):
            options = {"qid": qid, "sample_weight": sample_weight, "whole": True}
            grids = [grid_for(learner, X, AUTO, **options).alphas for learner in learners]
            settled.set_params(alphas=np.array(grids) if self.kernel_grid is not None else grids[0])
        return settled

    def _given_alphas(self, n_settings: int) -> list[list[float]] | None:
        """Return the alphas of each setting of the kernel, or None where they are to be chosen from the items."""
        if is_auto(self.alphas):
            return None
        if not isinstance(self.alphas, np.ndarray) or self.alphas.ndim != 2:
            return [check_alphas(self.alphas)] * n_settings
        if len(self.alphas) != n_settings:
            raise InvalidInputError(
                f"alphas has {len(self.alphas)} rows, and kernel_grid {n_settings} candidates: give one row for each"
            )
        return [check_alphas(row) for row in self.alphas]

    def _loss(self) -> ItemLoss | None:
        """Return what ``scoring=None`` stands for."""
        return None

    def _settings(self) -> list[dict[str, Any]]:
        """List the kernel parameters to try."""
        settings = [{}] if self.kernel_grid is None else list(ParameterGrid(self.kernel_grid))
        for setting in settings:
            for name in setting:
                if name not in KERNEL_PARAMETERS:
                    raise InvalidInputError(
                        f"kernel_grid has {name!r}, which is not a kernel parameter; "
                        f"these are {', '.join(KERNEL_PARAMETERS)}"
                    )
        return settings

    def _learner(self, setting: dict[str, Any]) -> KernelLearner:
        """Return the plain learner with one setting of its kernel."""
        names = set(self._plain().get_params()) - {"alpha", "verbose"}
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name in names}
        return self._plain(**{**parameters, **setting})

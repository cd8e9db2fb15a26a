"""RankSVM: learn to rank with a margin, by hinges over pairs."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np

from kernelrank.base.arrays import Matrix
from kernelrank.base.labels import event_times
from kernelrank.base.sklearn_private import Interval, StrOptions, fit_context
from kernelrank.base.validation import check_pair_values, check_pairs
from kernelrank.comparisons import Comparisons, compare_pairs
from kernelrank.comparisons.costs import Cost
from kernelrank.comparisons.scored import QUERY_WEIGHTS, QueryWeight
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import GapProgress, KernelLearner, OutputGraphs, keep_parameters, whole_or_not_at_all
from kernelrank.estimators.tasks import Ranker
from kernelrank.features import Features
from kernelrank.hinge import Bundle, CertifiedSolution, Newton
from kernelrank.kernels import GammaLike, KernelLike, MetricLike
from kernelrank.solvers import Solution, Solver


class RankSVM(Ranker):
    """Ranking support vector machine (hinge loss over pairs) in linearithmic time.

    Minimises ``Σ max(0, 1 - (f_i - f_j)) + alpha ‖f‖²``, or with squared hinges, over all pairs (i, j) inside a query
    with ``y_i > y_j``. Pairs are never listed, ties are not pairs, and the solution is proved to be within `tol` of the
    minimum by its duality gap.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength: larger values mean smoother models. The loss is a sum (not a mean) over pairs. To
        match a solver that minimises ``½ ‖w‖² + C mean hinge``, set ``alpha = n_pairs / (2 C)``.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of a pair whose scores differ by less than one, or are in the wrong order.
    kernel : str, callable or kernel object, default="linear"
        As in `RankRLS`.
    gamma, degree, coef0, kernel_params, metric
        Options of the kernel, as in `RankRLS`.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        Which units have equal weight: pairs, items (a pair weighs ``1 / n_q``), or queries: a pair weighs one over
        the weight of all pairs that are compared in its query, one over their number without item weights.
    basis : int or list of int, optional
        A number of basis items drawn at random, or the items themselves: predictions are then combinations of their
        kernels only. All items, unless given, which for a kernel that is not linear takes m² numbers.
    solver : {"auto", "newton", "bundle"}, default="auto"
        How the minimum is found. "newton": truncated Newton on a smoothed hinge, continued with cutting planes if
        rounding errors stop it. "bundle": cutting planes alone, for the hinge only. "auto" is "newton".
    tol : float, default=1e-3
        The duality gap, relative to the objective, at which to stop. In double precision gaps down to about 1e-12 can
        be proved for small problems; a fit that does not reach `tol` warns, and `gap_` has the gap that it proves.
    max_iter : int, default=1000
        The largest number of Newton steps and of cutting planes.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit; for the linear kernel without a basis.
    missing, random_state
        As in `RankRLS`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,) or (n_outputs, n_features)
        Weights of the features, for the linear kernel without a basis.
    dual_coef_ : ndarray, shape (r,) or (r, n_outputs)
        Coefficients of the basis items, for every other kernel.
    X_fit_ : array or sparse matrix, shape (r, n_features), or None
        The basis items; None for a precomputed kernel.
    basis_ : ndarray of int, shape (r,)
        Their numbers.
    gap_ : float
        The relative duality gap: the objective J at the solution is above its minimum by ``gap_ J`` at most. It
        includes the rounding errors of the scores and of the bound itself, so that it is never below the true gap. The
        largest over the outputs. During a fit, callbacks find an estimate here.
    objective_ : float or ndarray, shape (n_outputs,)
        The objective at the solution, rounded.
    kernel_ : Kernel
        A copy of the kernel used in the fit; later changes of the parameters do not affect it.
    gamma_ : float or None
        As in `RankRLS`.
    solver_ : str
        The solver that was used.
    n_iter_ : int
        Its number of iterations.
    n_queries_, n_idle_queries_, n_pairs_ : int
        How many queries there were, how many of them without a single pair, and how many pairs.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        As in scikit-learn.

    Notes
    -----
    An iteration costs some products with the features, O(nnz) each, and O(m log m) for the loss, whatever the number of
    pairs. A basis of r items adds O(m r²) once and keeps m × r numbers. A sparse X is never made dense; of a large X
    an eighth is copied, the sample that is solved first. A dense X with up to 1,000 items and more than twice as many
    columns as items is factorised once, O(m² n_features) time and m × n_features numbers; iterations then cost O(m²).

    References
    ----------
    .. [APS11b] Airola, Pahikkala and Salakoski (2011). Training linear ranking SVMs in linearithmic time using
       red-black trees. Pattern Recognition Letters 32(9).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankSVM
    >>> X = np.array([[1.0], [2.0], [3.0], [10.0], [11.0]])
    >>> y = np.array([1.0, 2.0, 3.0, 0.0, 1.0])
    >>> model = RankSVM(alpha=0.01, tol=1e-6).fit(X, y, qid=["a", "a", "a", "b", "b"])
    >>> model.predict(np.array([[5.0], [6.0]])).round(3)
    array([5., 6.])
    >>> model.score(X, y, qid=["a", "a", "a", "b", "b"])
    1.0
    """

    __metadata_request__fit: ClassVar = {"qid": True, "event": True}
    __metadata_request__score: ClassVar = {"qid": True, "event": True}
    _takes_events = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelLearner._parameter_constraints,
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
        "solver": [StrOptions({"auto", "newton", "bundle"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    cost: Cost = "unit"  # a hinge knows which item of a pair is higher, and not by how much; ties have none
    max_iter: int

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        metric: MetricLike = None,
        query_weight: QueryWeight = "pairs",
        basis: int | Sequence[int] | None = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        warm_start: bool = False,
        missing: str = "error",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    def _solver(self, features: Features, graph: Comparisons, n_alphas: int = 1) -> Solver[Any]:  # noqa: ARG002
        """Choose how the minimum is found."""
        if self.solver != "bundle":
            return Newton(self.loss, self.tol, self.max_iter)
        if self.loss != "hinge":
            raise InvalidInputError("solver='bundle' minimises the hinge only: use 'newton' for the squared hinge")
        return Bundle(self.tol, self.max_iter)

    def _features(self, X: Matrix) -> Features:
        """Turn the items into columns."""
        return self._column_features(X)

    def _keep_beside(self, features: Features, graphs: OutputGraphs, solutions: list[Solution]) -> None:
        """Store the gap and the objective of the fit."""
        super()._keep_beside(features, graphs, solutions)
        proofs = [solution for solution in solutions if isinstance(solution, CertifiedSolution)]
        objectives = np.empty(len(proofs))
        for (columns, _), proof in zip(graphs, proofs, strict=True):
            objectives[columns] = proof.objective
        coefficients = self.coef_ if features.linear else self.dual_coef_
        self.objective_ = float(objectives[0]) if coefficients.ndim == 1 else objectives
        self.gap_ = max(proof.gap for proof in proofs)

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, event: Any = None) -> Self:
        """Fit to scored items, or to times that may be censored.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
            The items.
        y : array-like, shape (m,) or (m, n_outputs)
            Their scores; each output is learnt as if it were alone.
        qid : sequence, shape (m,), optional
            The query of each item: any hashable labels in any order. One query if omitted.
        sample_weight : array-like, shape (m,), optional
            Item weights; the pair (i, j) weighs ``w_i w_j``, so a weight of k repeats the item k times.
        event : array-like of bool, or of 0 and 1, shape (m,), optional
            Whether the event, such as death, happened at the time in y. Otherwise the time is censored: the
            item is only known to last longer. y may also be a structured array of events and
            times, or a data frame with both as columns. Two columns of a plain array are two outputs.

        Returns
        -------
        self

        Notes
        -----
        With censored times the pairs (i, j) are those in which j had the event and i is known to last longer: the
        survival SVM of [PNK15]_ with ``rank_ratio=1``, at the same cost as for scores. The risk is the negative score.

        References
        ----------
        .. [PNK15] Pölsterl, Navab and Katouzian (2015). Fast training of support vector machines for survival analysis.
           ECML PKDD.

        Warns
        -----
        NotConverged
            If `max_iter` was reached, or rounding does not let the gap become as small as `tol`; the message has the
            gap that is left.
        """
        X, y = self._check_items(X, reset=True), event_times(y, event)
        graphs, one_output = self._compare(X, y, qid, sample_weight)
        return self._fit(X, graphs, GapProgress(self, X, y), one_output=one_output)

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit_pairs(self, X: Any, pairs: Any, *, weight: Any = None) -> Self:
        """Fit to preferences (A is better than B) instead of scores.

        Parameters
        ----------
        X, pairs
            As in `RankRLS.fit_pairs`.
        weight : array-like, shape (l,), optional
            The weight of the loss of each preference; one unless given.

        Returns
        -------
        self

        Notes
        -----
        O(m + l) time for the loss in each iteration.

        Examples
        --------
        >>> from kernelrank import RankSVM
        >>> model = RankSVM(0.1).fit_pairs([[0.0], [1.0], [2.0]], [[2, 0], [1, 0], [2, 1], [2, 0]])
        >>> model.predict([[3.0], [4.0]]).round(2)
        array([3., 4.])
        """
        X = self._check_items(X, reset=True)
        pairs = check_pairs(pairs, X.shape[0])
        graph = compare_pairs(
            X.shape[0], pairs, magnitude=None, weight=check_pair_values(weight, len(pairs), name="weight")
        )
        return self._fit(X, [(np.zeros(1, dtype=np.int64), graph)], GapProgress(self, X), one_output=True)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_path(
        self, X: Any, y: Any, alphas: Any, *, qid: Any = None, sample_weight: Any = None, event: Any = None
    ) -> list[Self]:
        """Fit for many alphas with warm starts; order them from large to small.

        Parameters
        ----------
        X, y, alphas, qid, sample_weight, event
            As in `RankRLS.fit_path`.

        Returns
        -------
        list of RankSVM
            One fitted model for each alpha, in their order. This estimator itself is not changed.
        """
        return self._fit_scores_path(X, event_times(y, event), alphas, qid, sample_weight)

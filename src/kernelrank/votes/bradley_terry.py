"""Bradley-Terry: learn from votes, with the probability that one item is preferred to another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from types import MethodType
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix, dense_rows
from kernelrank.base.labels import Queries
from kernelrank.base.sklearn_private import Interval, StrOptions, fit_context, num_samples
from kernelrank.base.validation import (
    check_pair_values,
    check_pairs,
    check_scores,
    check_sides,
    check_ties,
    check_weight,
)
from kernelrank.comparisons.costs import Cost
from kernelrank.comparisons.scored import QueryWeight, list_score_pairs
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import (
    FitProgress,
    GapProgress,
    KernelLearner,
    check_alphas,
    keep_parameters,
    whole_or_not_at_all,
)
from kernelrank.estimators.posterior import ScorePosterior
from kernelrank.estimators.tasks import Ranker
from kernelrank.features import ColumnFeatures, ExplicitFeatures, Features, ReducedSet
from kernelrank.kernels import GammaLike, KernelLike, MetricLike
from kernelrank.solvers.precision import check_range
from kernelrank.votes.likelihood import outcome_probabilities
from kernelrank.votes.newton import JudgeEffect, LinearSystem, Unknowns, VoteNewton, VoteProblem, VoteSolution
from kernelrank.votes.votes import Votes, covariate_effects, covariate_values, root_mean_squares

# Match-ups ------------------------------------------------------------------------------------------------------------
#
# Match-ups: votes that depend on both items together, which one score an item cannot follow.
#
# A vote on the items h and j has the difference
#
# ``η = f_h - f_j + g_hᵀ W g_j``, ``f = φ · w``, ``g = φ - mean(φ)``,
#
# with the columns φ of the items and an antisymmetric W, so that ``η(j, h) = -η(h, j)``. The mean over all items of the
# last part is zero: f is by how much an item is ahead of all others on average. With the penalty
# ``alpha (‖w‖² + ‖W‖²)`` the kernel of two votes is that of differences of scores, plus the reciprocal one of centred
# columns, ``½ (K_ac K_bd - K_ad K_bc)`` [PWTSD10]. So each pair is a row of columns: the differences of those of its
# items, and for each two columns ``(g_hk g_jl - g_hl g_jk) / √2``, whose weight is √2 W_kl. Every vote is then one on
# its pair against a row of zeros, and the likelihood, its solver and its certificate are those of votes on items.

MOST_COLUMNS = 140
"""The largest number of columns of items. Pairs have half of its square, which Newton's method can still factorise."""


class MatchUps(ExplicitFeatures):
    """The columns of pairs of items: those of match-ups first, then those of scores; the last row is zero.

    O(k r²) time and memory for k different pairs and r columns of items.
    """

    def __init__(self, of_items: ColumnFeatures, votes: Votes) -> None:
        r = of_items.n_columns
        if r > MOST_COLUMNS:
            raise InvalidInputError(
                f"Expected at most {MOST_COLUMNS} columns of items for relation='reciprocal'; got {r:,}. Give "
                "basis=100, so that all kernels are with 100 items."
            )
        self.of_items = of_items
        Phi = dense_rows(of_items.X, slice(None))
        self.mean = Phi.mean(axis=0)
        pairs, number = np.unique(votes.pairs, axis=0, return_inverse=True)
        (a, b), (i, j) = (Phi[pairs] - self.mean).transpose(1, 0, 2), np.triu_indices(r, 1)
        rows = np.zeros((len(pairs) + 1, len(i) + r))
        rows[:-1, : len(i)] = (a[:, i] * b[:, j] - a[:, j] * b[:, i]) / np.sqrt(2.0)
        rows[:-1, len(i) :] = a - b
        ends = np.column_stack([number.ravel(), np.full(number.size, len(pairs))])
        self.votes = replace(votes, n_items=len(rows), pairs=ends)
        super().__init__(rows)

    def from_primal(self, w: Float) -> Float:
        """Return the coefficients of the scores of items."""
        return self.of_items.from_primal(w[-self.of_items.n_columns :])

    def weights(self, w: Float) -> Float:
        """Return W and ``W mean(φ)`` as coefficients of items, shape (s, s + 1)."""
        r = self.of_items.n_columns
        W = np.zeros((r, r))
        W[np.triu_indices(r, 1)] = w[:-r] / np.sqrt(2.0)
        W -= W.T
        found = self.of_items.from_primal(np.column_stack([W, W @ self.mean]))
        return np.column_stack([self.of_items.from_primal(np.ascontiguousarray(found[:, :-1].T)).T, found[:, -1]])


def match_up(weights: Float, first: Float, second: Float) -> Float:
    """Return ``g_hᵀ W g_j`` for rows of items, shapes (l, s): O(l s²) time."""
    W, shift = weights[:, :-1], weights[:, -1]
    return np.asarray(np.einsum("ls,ls->l", first @ W, second) - (first - second) @ shift)


# Vote learner ---------------------------------------------------------------------------------------------------------
#
# Base of BradleyTerry: check and add up votes, solve the problem, and store the solution.

LEARNT = (
    *("tie_log_", "side_bias_std_", "judges_", "judge_effects_", "precision_factor_", "precision_items_"),
    *("covariate_names_", "covariate_effects_", "covariate_covariance_", "match_ups_"),
)
"""What some fits store and others do not."""


class _Given(NamedTuple):
    """Who cast the votes, and the names and root mean squares of covariates."""

    judges: Queries | None
    names: NDArray[Any] | None
    rms: Float | None


class VoteLearner(Ranker, ScorePosterior):
    """The common part of fits to votes and of fits to scored items, whose pairs are votes; see `BradleyTerry`."""

    cost: Cost = "unit"  # a vote knows which item is preferred, and not by how much
    query_weight: QueryWeight = "pairs"
    relation: Literal["reciprocal"] | None
    ties: Literal["half", "davidson"]
    side_bias: bool
    judge_effect: JudgeEffect | None
    judge_alpha: float
    solver: LinearSystem
    tol: float
    max_iter: int

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that there is one output."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _features(self, X: Matrix) -> Features:
        """Turn the items into columns."""
        return self._column_features(X)

    def _score_votes(self, X: Matrix, y: Any, qid: Any, sample_weight: Any) -> tuple[Votes, Queries]:
        scores = check_scores(y, X.shape[0])
        if scores.ndim == 2:
            if scores.shape[1] != 1:
                raise InvalidInputError(f"y has {scores.shape[1]} columns: BradleyTerry learns one column of scores")
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                "(n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=4,
            )
            scores = scores[:, 0]
        if self.side_bias or self.judge_effect is not None:
            raise InvalidInputError("side_bias and judge_effect need votes with sides or judges: use fit_pairs")
        if self.relation == "reciprocal":
            raise InvalidInputError("relation='reciprocal' needs votes, since scores have no match-ups: use fit_pairs")
        queries = Queries.from_labels(qid, X.shape[0])
        pairs, weight = list_score_pairs(scores, queries, check_weight(sample_weight, X.shape[0]))
        return Votes.count(X.shape[0], pairs, weight=weight), queries

    def _count_votes(
        self, n_items: int, pairs: Any, tie: Any, weight: Any, side: Any, judge: Any, covariates: Any
    ) -> tuple[Votes, _Given]:
        """Check the votes and add them up; what no effect asks for is left out."""
        pairs = check_pairs(pairs, n_items)
        sided, judged = self.side_bias or self.judge_effect == "side", self.judge_effect is not None
        for needed, given, name, why in (
            (sided, side, "side", "side_bias=True" if self.side_bias else "judge_effect='side'"),
            (judged, judge, "judge", f"judge_effect={self.judge_effect!r}"),
        ):
            if needed and given is None:
                raise InvalidInputError(f"{why} needs `{name}`, one value for each vote: pass it to fit_pairs")
        judges = Queries.from_labels(judge, len(pairs), name="judge") if judged else None
        checked_side = check_sides(side, len(pairs))
        names = C = rms = None
        if covariates is not None:
            names, C = covariate_values(covariates, len(pairs))
            rms = root_mean_squares(names, C)
            C = C / rms
        votes = Votes.count(
            n_items,
            pairs,
            tie=check_ties(tie, len(pairs)),
            weight=check_pair_values(weight, len(pairs), name="weight"),
            side=checked_side if sided else None,
            judge=None if judges is None else judges.codes,
            n_judges=0 if judges is None else len(judges),
            covariates=C,
        )
        return votes, _Given(judges, names, rms)

    def _problem(self, X: Matrix, votes: Votes) -> VoteProblem:
        features = self._features(X)
        check_range(features, [votes.graph(votes.total)])
        if self.relation == "reciprocal":
            assert features.columns is not None
            features = MatchUps(features.columns, votes)
            votes = features.votes
        unknowns = Unknowns(
            bool(self.side_bias),
            self.judge_effect,
            votes.n_judges,
            self.ties == "davidson" and bool(np.any(votes.tied > 0)),
            0 if votes.covariates is None else votes.covariates.shape[1],
        )
        return VoteProblem(features, votes, unknowns, self.judge_alpha)

    def _fit_votes(
        self,
        X: Matrix,
        votes: Votes,
        progress: FitProgress,
        *,
        given: _Given | None = None,
        queries: Queries | None = None,
    ) -> Self:
        problem = self._problem(X, votes)
        newton = VoteNewton(self.solver, self.tol, self.max_iter)
        solution = newton.solve(problem, self.alpha, step=progress.step)
        progress.done()
        return self._keep_votes(problem, solution, newton, given, queries)

    def _fit_votes_path(
        self,
        X: Matrix,
        votes: Votes,
        alphas: list[float],
        *,
        given: _Given | None = None,
        queries: Queries | None = None,
    ) -> list[Self]:
        problem = self._problem(X, votes)
        newton = VoteNewton(self.solver, self.tol, self.max_iter)
        path, start = [], None
        for alpha in alphas:
            solution = newton.solve(problem, alpha, start=start)
            start = solution.unknowns[:, 0]
            model = clone(self).set_params(alpha=alpha)._with_items_of(self)
            path.append(model._keep_votes(problem, solution, newton, given, queries))
        return path

    def _keep_votes(
        self,
        problem: VoteProblem,
        solution: VoteSolution,
        newton: VoteNewton,
        given: _Given | None,
        queries: Queries | None,
    ) -> Self:
        """Store what was fitted, and nothing of an earlier fit with other options."""
        votes, unknowns = problem.votes, problem.unknowns
        features, factor = problem.features, solution.factor
        for name in LEARNT:
            self.__dict__.pop(name, None)
        if isinstance(features, MatchUps):
            self.match_ups_ = features.weights(solution.unknowns[unknowns.size :, 0])
            features = features.of_items
            r = features.n_columns
            factor = None if factor is None else np.ascontiguousarray(factor[-r:, -r:])
        solver = "cholesky" if newton.direct(problem) else "conjugate_gradient"
        graphs = [(np.zeros(1, dtype=np.int64), votes.graph(votes.total))]
        self._keep(features, graphs, [solution], solver, one_output=True)
        self.n_pairs_ = votes.n_votes
        self.fitted_to_scores_ = queries is not None
        if queries is not None:
            self.n_queries_ = len(queries)
            compared = np.zeros(len(queries), dtype=bool)
            compared[queries.codes[votes.head]] = True
            self.n_idle_queries_ = int((~compared).sum())
        self.objective_, self.gap_ = solution.objective, solution.gap
        self.side_bias_ = float(solution.effects[0]) if unknowns.side_bias else 0.0
        if solution.bias_std is not None:
            self.side_bias_std_ = solution.bias_std
        if self.ties == "davidson":
            theta = unknowns.theta(solution.effects)
            self.tie_log_ = -np.inf if theta is None else theta
        if given is not None and given.names is not None:
            assert given.rms is not None
            self.covariate_names_ = given.names
            self.covariate_effects_ = solution.effects[unknowns.covariates] / given.rms
            if solution.covariance is not None:
                self.covariate_covariance_ = solution.covariance / np.outer(given.rms, given.rms)
        if given is not None and given.judges is not None:
            self.judges_ = given.judges.labels
            effects = solution.effects[unknowns.judges]
            scaled = unknowns.judge_effect == "scale"
            self.judge_effects_ = unknowns.scales(solution.effects)[0] if scaled else effects.copy()
        if factor is not None:
            self.precision_factor_ = factor
            if isinstance(features, ReducedSet):
                self.precision_factor_ = np.triu(factor @ features.map.U)
                self.precision_items_ = features.map.taken
        return self

    def _differences(self, X: Any, pairs: Index) -> Float:
        """Return by how much the first item of each pair is ahead of the second."""
        scores = self.predict(X)
        found: Float = scores[pairs[:, 0]] - scores[pairs[:, 1]]
        if not hasattr(self, "match_ups_"):
            return found
        X = self._check_items(X, reset=False)
        if hasattr(self, "coef_"):
            rows = dense_rows(X, slice(None))
        else:
            kernel = self._kernel()
            rows = dense_rows(X[:, self.basis_], slice(None)) if kernel.precomputed else kernel.matrix(X, self.X_fit_)
        return found + match_up(self.match_ups_, rows[pairs[:, 0]], rows[pairs[:, 1]])


# Bradley Terry --------------------------------------------------------------------------------------------------------


class _AfterVotes:
    """A method of a model that was fitted to votes; a model that was not has no such attribute, and says why."""

    def __init__(self, method: Callable[..., Float]) -> None:
        self.method = method

    def __get__(self, model: BradleyTerry | None, owner: type[BradleyTerry]) -> Callable[..., Float]:
        if model is None:
            return self.method
        name = self.method.__name__
        check_is_fitted(model, msg=f"This %(name)s instance is not fitted yet. Call fit_pairs before {name}.")
        if getattr(model, "fitted_to_scores_", True):
            raise AttributeError(
                f"{name} needs a model fitted to votes, but this one was fitted to scores: use fit_pairs"
            )
        return MethodType(self.method, model)


class BradleyTerry(VoteLearner):
    """Bradley-Terry model of votes: logistic regression on the differences of two items.

    The item h is preferred to j with probability ``1 / (1 + exp(-(f_h - f_j)))``. Minimises
    ``Σ weight log(1 + exp(-(f_h - f_j))) + alpha ‖f‖²`` over all votes, with a certified optimality gap. Without
    features, pass a sparse identity matrix as X: each item then has its own score, and X is never made dense.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength: larger values mean smoother models. The loss is a sum (not a mean) over votes. Without
        features this is a normal prior of the scores with the variance ``1 / (2 alpha)``.
    kernel : str, callable or kernel object, default="linear"
        As in `RankRLS`.
    gamma, degree, coef0, kernel_params, metric
        Options of the kernel, as in `RankRLS`.
    relation : {"reciprocal"}, optional
        Whether a vote depends on the features of both items together, beyond the difference of two scores: a may then
        beat b, b beat c, and c beat a [PWTSD10]_. `predict_proba` knows these match-ups; `predict` and `covariance`
        are of scores, by which an item is ahead of all training items on average. For up to 140 columns of X, or so
        many items of a basis.
    ties : {"half", "davidson"}, default="half"
        How a tie counts: as half a vote for each of the two items, or as an outcome with its own probability, with win,
        loss and tie in the proportions ``exp(d / 2)``, ``exp(-d / 2)`` and ``exp(θ)``, where d is the difference and
        one θ is learnt for all pairs [Dav70]_. With "half", ties make `covariance` smaller, because such a vote varies
        less: by ``p (1 - p) - t / 4``, where t is the probability of a tie.
    side_bias : bool, default=False
        Whether to learn by how much the first side (left, at home, read first) is preferred, in the unit of the scores.
        It has a fixed penalty of 0.005, a normal prior with a standard deviation of 10: wide enough to have no
        practical effect, and finite if all votes go to one side. θ has the same penalty.
    judge_effect : {"side", "scale"}, optional
        What differs between judges. "side": each judge has a side bias, in addition to the common one. "scale": each
        judge has a positive factor of the differences, which is small for a judge who votes almost at random, 1 for one
        like the others, and at most 5. With "scale" the problem is not convex: the
        solution is a stationary point, and `gap_` is for fixed factors.
    judge_alpha : float, default=0.5
        The penalty of the squared side biases, or squared logarithms of scales, of the judges: a normal prior with
        variance ``1 / (2 judge_alpha)``.
    basis : int or list of int, optional
        A number of basis items drawn at random, or the items themselves: predictions are then combinations of their
        kernels only. All items, unless given, which for a kernel that is not linear takes m² numbers.
    solver : {"auto", "cholesky", "conjugate_gradient"}, default="auto"
        How the system of a Newton step is solved. "auto" factorises up to 2,000 unknowns for sparse X and 10,000 for
        dense ones or a basis, and iterates beyond.
    tol : float, default=1e-8
        The optimality gap, relative to the objective, at which to stop. One more step follows, so that scores have
        about the accuracy of double precision. A fit that cannot prove the gap warns.
    max_iter : int, default=100
        The largest number of Newton steps.
    random_state : int, RandomState or None, default=None
        Random seed for drawing the basis.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
        Weights of the features, for the linear kernel without a basis; without features, the scores of the items.
    dual_coef_ : ndarray, shape (r,)
        Coefficients of the basis items, for every other kernel.
    X_fit_ : array or sparse matrix, shape (r, n_features), or None
        The basis items; None for a precomputed kernel.
    basis_ : ndarray of int, shape (r,)
        Their numbers.
    tie_log_ : float
        θ, with ``ties="davidson"``; minus infinity if there was no tie, which makes ties impossible.
    side_bias_ : float
        The side bias; zero unless it was learnt.
    side_bias_std_ : float
        Its standard deviation, in the approximation of `covariance`: only if it was learnt, and the system factorised.
        Where alpha is much too large for the votes, the side bias is too small by more than this says
        (``benchmarks/side_bias_intervals_cover.py``).
    judges_ : ndarray
        The labels of the judges, if there are judge effects.
    judge_effects_ : ndarray, shape (n_judges,)
        The side bias of each judge, in addition to `side_bias_`, or the factor of each judge.
    gap_ : float
        The objective J is above its minimum by ``gap_ J`` at most, rounding included.
    objective_ : float
        The objective at the solution, penalties included.
    covariate_names_, covariate_effects_, covariate_covariance_ : ndarray, shapes (p,), (p,), (p, p)
        The covariates, their effects and the covariance of these; `covariates_` is their table.
    match_ups_ : ndarray, shape (s, s + 1)
        The antisymmetric weights of match-ups, and what centres them: only with ``relation="reciprocal"``.
    precision_factor_ : ndarray, shape (s, s)
        What `covariance` needs: the triangular factor of the precision of the coefficients. Only where the system was
        factorised.
    precision_items_ : ndarray of int, shape (s,)
        Which basis items the factor is for, for kernels that are not linear.
    kernel_, gamma_, solver_, n_iter_, n_queries_, n_idle_queries_, n_features_in_, feature_names_in_
        As in `RankRLS`.
    n_pairs_ : int
        The number of votes.
    fitted_to_scores_ : bool
        Whether the model was fitted by `fit`, and not by `fit_pairs`.

    Notes
    -----
    Votes on the same pair are added up first, O(l) time. Then each of about 6 to 10 Newton steps costs O(k) for k
    different pairs, and O(m r² + r³) for r columns or, iterating, O(nnz + k) for each of some dozens of products.
    Memory O(l), and r² if the system is factorised: the model keeps that factor. Scores of disconnected or separable
    votes are finite, because alpha is positive: about ``log(1 / alpha)``, with a large variance in `covariance`.

    References
    ----------
    .. [BT52] Bradley and Terry (1952). Rank analysis of incomplete block designs. Biometrika 39.
    .. [Dav70] Davidson (1970). On extending the Bradley-Terry model to accommodate ties in paired comparison
       experiments. Journal of the American Statistical Association 65.
    .. [PWTSD10] Pahikkala, Waegeman, Tsivtsivadze, Salakoski and De Baets (2010). Learning intransitive reciprocal
       relations with kernel methods. European Journal of Operational Research 206.

    Examples
    --------
    >>> from scipy import sparse
    >>> from kernelrank import BradleyTerry
    >>> items = sparse.eye_array(3, format="csr")
    >>> model = BradleyTerry(alpha=1e-9).fit_pairs(items, [[0, 1], [0, 1], [1, 0], [1, 2], [2, 1], [2, 1]])
    >>> model.predict(items).round(3)
    array([ 0.231, -0.462,  0.231])
    >>> model.predict_proba(items, [[0, 1]]).round(3)
    array([[0.667, 0.333]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: kinds
            for name, kinds in KernelLearner._parameter_constraints.items()
            if name not in ("warm_start", "missing")
        },
        "relation": [StrOptions({"reciprocal"}), None],
        "ties": [StrOptions({"half", "davidson"})],
        "side_bias": ["boolean"],
        "judge_effect": [StrOptions({"side", "scale"}), None],
        "judge_alpha": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"auto", "cholesky", "conjugate_gradient"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        metric: MetricLike = None,
        relation: Literal["reciprocal"] | None = None,
        ties: Literal["half", "davidson"] = "half",
        side_bias: bool = False,
        judge_effect: JudgeEffect | None = None,
        judge_alpha: float = 0.5,
        basis: int | Sequence[int] | None = None,
        solver: LinearSystem = "auto",
        tol: float = 1e-8,
        max_iter: int = 100,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit to scored items: every pair of a query with ``y_i > y_j`` is a vote for i.

        This is the pairwise logistic loss of RankNet. The pairs are listed, at most 20 million of them; items with
        equal scores are not a pair. The pairs are not independent votes, so `covariance` and `compare` understate the
        uncertainty.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
            The items.
        y : array-like, shape (m,)
            Their scores.
        qid : sequence, shape (m,), optional
            The query of each item: any hashable labels in any order. One query if omitted.
        sample_weight : array-like, shape (m,), optional
            Item weights; the pair (i, j) weighs ``w_i w_j``.

        Returns
        -------
        self

        Notes
        -----
        O(Σ n_q²) time and memory for the pairs of queries with n_q items; then as `fit_pairs`.
        """
        X = self._check_items(X, reset=True)
        votes, queries = self._score_votes(X, y, qid, sample_weight)
        return self._fit_votes(X, votes, GapProgress(self, X, y), queries=queries)

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit_pairs(
        self,
        X: Any,
        pairs: Any,
        *,
        tie: Any = None,
        weight: Any = None,
        side: Any = None,
        judge: Any = None,
        covariates: Any = None,
    ) -> Self:
        """Fit to votes.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
            The items; ``scipy.sparse.eye_array(m, format="csr")`` for items without features.
        pairs : array-like of int, shape (l, 2)
            Row numbers of X: the item of column 0 is preferred to that of column 1. A pair may occur many times, and
            in both directions.
        tie : array-like of bool, shape (l,), optional
            Which votes are ties, so that the order of their two items means nothing. None unless given.
        weight : array-like, shape (l,), optional
            How often each vote counts; once unless given.
        side : array-like of int, shape (l,), optional
            1 if the item of column 0 was on the first side (left, at home, read first), -1 if that of column 1 was,
            0 if unknown. For `side_bias` and ``judge_effect="side"``, else ignored.
        judge : sequence, shape (l,), optional
            The judge of each vote: any hashable labels. For `judge_effect`, else ignored.
        covariates : array-like, shape (l, p), data frame or mapping of columns, optional
            What else differs between the two sides of a vote: the value for the item of column 0 less that for the item
            of column 1, such as by how many words the first answer is longer. Each has an effect in the logit, see
            `covariates_`, with the penalty 0.005, or alpha if it is smaller, in the unit of its root mean square.

        Returns
        -------
        self

        Warns
        -----
        NotConverged
            If `max_iter` was reached, or rounding errors prevent the proof of the gap; the message has the remaining
            gap.

        Examples
        --------
        >>> from kernelrank import BradleyTerry
        >>> model = BradleyTerry(0.1).fit_pairs([[0.0], [1.0], [2.0]], [[2, 0], [1, 0], [2, 1], [1, 2]])
        >>> model.predict([[3.0], [4.0]]).round(2)
        array([2.63, 3.51])
        """
        X = self._check_items(X, reset=True)
        votes, given = self._count_votes(X.shape[0], pairs, tie, weight, side, judge, covariates)
        return self._fit_votes(X, votes, GapProgress(self, X), given=given)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_path(self, X: Any, y: Any, alphas: Any, *, qid: Any = None, sample_weight: Any = None) -> list[Self]:
        """Fit to scored items for many alphas with warm starts; order them from large to small.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in `fit`.
        alphas : array-like of float
            The values of alpha.

        Returns
        -------
        list of BradleyTerry
            One fitted model for each alpha, in their order. This estimator itself is not changed.
        """
        learner: Self = clone(self)
        X = learner._check_items(X, reset=True)
        votes, queries = learner._score_votes(X, y, qid, sample_weight)
        return learner._fit_votes_path(X, votes, check_alphas(alphas), queries=queries)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_pairs_path(
        self,
        X: Any,
        pairs: Any,
        alphas: Any,
        *,
        tie: Any = None,
        weight: Any = None,
        side: Any = None,
        judge: Any = None,
        covariates: Any = None,
    ) -> list[Self]:
        """Fit to votes for many alphas with warm starts; order them from large to small.

        Parameters
        ----------
        X, pairs, tie, weight, side, judge, covariates
            As in `fit_pairs`.
        alphas : array-like of float
            The values of alpha.

        Returns
        -------
        list of BradleyTerry
            One fitted model for each alpha, in their order. This estimator itself is not changed.
        """
        learner: Self = clone(self)
        X = learner._check_items(X, reset=True)
        votes, given = learner._count_votes(X.shape[0], pairs, tie, weight, side, judge, covariates)
        return learner._fit_votes_path(X, votes, check_alphas(alphas), given=given)

    @property
    def covariates_(self) -> Any:
        """A table of the effects of covariates: ``covariate, effect, std_error, low, high``, with 95 % intervals.

        An effect is by how much the logit of a vote grows with one unit of the covariate. NaN where the system was not
        factorised, so that standard errors are unknown.
        """
        if not hasattr(self, "covariate_effects_"):
            raise AttributeError("covariates_ needs a model fitted with covariates: pass covariates to fit_pairs")
        covariance = getattr(self, "covariate_covariance_", None)
        return covariate_effects(self.covariate_names_, self.covariate_effects_, covariance, 0.95)

    @_AfterVotes
    def predict_proba(self, X: Any, pairs: Any, *, side: Any = None, covariates: Any = None) -> Float:
        """Return the probabilities of the outcomes of votes.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed
            The items.
        pairs : array-like of int, shape (l, 2)
            Row numbers of X.
        side : array-like of int, shape (l,), optional
            1 if the item of column 0 is on the first side, -1 if that of column 1 is, 0 (the default) if unknown.
            Only used with a side bias.
        covariates : array-like, shape (l, p), optional
            As in `fit_pairs`; equal on both sides unless given.

        Returns
        -------
        ndarray, shape (l, 2) or, with ``ties="davidson"``, (l, 3)
            The probabilities that the item of column 0 wins, that the item of column 1 wins, and of a tie, for a judge
            without effects of their own.

        Notes
        -----
        Only after `fit_pairs`: pairs of scored items are not independent votes, and have no such probabilities.
        """
        pairs = check_pairs(pairs, num_samples(X))
        d = self._differences(X, pairs)
        stood = check_sides(side, len(pairs))
        if stood is not None:
            d = d + self.side_bias_ * stood
        if covariates is not None:
            names, C = covariate_values(covariates, len(pairs))
            effects = getattr(self, "covariate_effects_", np.zeros(0))
            if len(effects) != len(names):
                raise InvalidInputError(f"Expected {len(effects)} covariates, as in fit_pairs; got {len(names)}.")
            d = d + C @ effects
        return outcome_probabilities(d, getattr(self, "tie_log_", None))

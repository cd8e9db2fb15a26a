"""Base of BradleyTerry: check and add up votes, solve the problem, and store the solution."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from kernelrank.base.arrays import Matrix
from kernelrank.base.labels import Queries
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
from kernelrank.estimators.fit_progress import FitProgress
from kernelrank.estimators.ranker import Ranker
from kernelrank.estimators.score_posterior import ScorePosterior
from kernelrank.features import Features, ReducedSet
from kernelrank.solvers.precision import check_range
from kernelrank.solvers.vote_problem import JudgeEffect, Unknowns, VoteProblem
from kernelrank.votes.newton import LinearSystem, VoteNewton, VoteSolution
from kernelrank.votes.votes import Votes

__all__ = ["VoteLearner"]

LEARNT = ("tie_log_", "side_bias_std_", "judges_", "judge_effects_", "precision_factor_", "precision_items_")
"""What some fits store and others do not."""


class VoteLearner(Ranker, ScorePosterior):
    """The common part of fits to votes and of fits to scored items, whose pairs are votes; see `BradleyTerry`."""

    cost: Cost = "unit"  # a vote knows which item is preferred, and not by how much
    query_weight: QueryWeight = "pairs"
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
        queries = Queries.from_labels(qid, X.shape[0])
        pairs, weight = list_score_pairs(scores, queries, check_weight(sample_weight, X.shape[0]))
        return Votes.count(X.shape[0], pairs, weight=weight), queries

    def _count_votes(
        self, n_items: int, pairs: Any, tie: Any, weight: Any, side: Any, judge: Any
    ) -> tuple[Votes, Queries | None]:
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
        votes = Votes.count(
            n_items,
            pairs,
            tie=check_ties(tie, len(pairs)),
            weight=check_pair_values(weight, len(pairs), name="weight"),
            side=checked_side if sided else None,
            judge=None if judges is None else judges.codes,
            n_judges=0 if judges is None else len(judges),
        )
        return votes, judges

    def _problem(self, X: Matrix, votes: Votes) -> VoteProblem:
        features = self._features(X)
        check_range(features, [votes.graph(votes.total)])
        unknowns = Unknowns(
            bool(self.side_bias),
            self.judge_effect,
            votes.n_judges,
            self.ties == "davidson" and bool(np.any(votes.tied > 0)),
        )
        return VoteProblem(features, votes, unknowns, self.judge_alpha)

    def _fit_votes(
        self,
        X: Matrix,
        votes: Votes,
        progress: FitProgress,
        *,
        judges: Queries | None = None,
        queries: Queries | None = None,
    ) -> Self:
        problem = self._problem(X, votes)
        newton = VoteNewton(self.solver, self.tol, self.max_iter)
        solution = newton.solve(problem, self.alpha, step=progress.step)
        progress.done()
        return self._keep_votes(problem, solution, newton, judges, queries)

    def _fit_votes_path(
        self,
        X: Matrix,
        votes: Votes,
        alphas: list[float],
        *,
        judges: Queries | None = None,
        queries: Queries | None = None,
    ) -> list[Self]:
        problem = self._problem(X, votes)
        newton = VoteNewton(self.solver, self.tol, self.max_iter)
        path, start = [], None
        for alpha in alphas:
            solution = newton.solve(problem, alpha, start=start)
            start = solution.unknowns[:, 0]
            model = clone(self).set_params(alpha=alpha)
            for name in ("n_features_in_", "feature_names_in_", "kernel_"):
                if hasattr(self, name):
                    setattr(model, name, getattr(self, name))
            path.append(model._keep_votes(problem, solution, newton, judges, queries))
        return path

    def _keep_votes(
        self,
        problem: VoteProblem,
        solution: VoteSolution,
        newton: VoteNewton,
        judges: Queries | None,
        queries: Queries | None,
    ) -> Self:
        """Store what was fitted, and nothing of an earlier fit with other options."""
        votes, unknowns, features = problem.votes, problem.unknowns, problem.features
        for name in LEARNT:
            self.__dict__.pop(name, None)
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
        if judges is not None:
            self.judges_ = judges.labels
            effects = solution.effects[unknowns.judges]
            scaled = unknowns.judge_effect == "scale"
            self.judge_effects_ = np.exp(unknowns.log_scale(solution.effects)) if scaled else effects.copy()
        if solution.factor is not None:
            self.precision_factor_ = solution.factor
            if isinstance(features, ReducedSet):
                self.precision_factor_ = np.triu(solution.factor @ features.map.U)
                self.precision_items_ = features.map.taken
        return self

"""RelationExtractor: learn from labelled candidate pairs, and rank other pairs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float
from kernelrank.errors import InvalidInputError, SkippedCandidateWarning
from kernelrank.kernels.all_paths import Combine
from kernelrank.model_selection.alpha_grid import AUTO
from kernelrank.relations.candidate import Candidate
from kernelrank.relations.choice import choose, choose_alpha, search_alphas
from kernelrank.relations.corpus import labels_of
from kernelrank.relations.features import FeatureSet, feature_kernels, feature_sets
from kernelrank.relations.gram import linear_kernel
from kernelrank.relations.held_out_documents import Learning
from kernelrank.relations.ranked_candidate import RankedCandidate
from kernelrank.relations.threshold import RULES, Rule, threshold_of_share

__all__ = ["RelationExtractor"]


class RelationExtractor(BaseEstimator):
    """Learn from candidate pairs with labels which pairs of other sentences interact.

    Candidates become graphs, graphs the features of the all-paths kernel [APBPGS08]_, and RLS or RankRLS learns a
    weight for each feature. Alpha and the decision threshold are chosen by leave-document-out cross-validation, the
    threshold by probabilities calibrated on the held-out scores [LEN14]_; with exact shortcuts this costs about one
    training for each alpha. No candidate is scored by a model that was trained on its document.

    Parameters
    ----------
    learner : {"rls", "rankrls"}, default="rls"
        Squared errors of labels ±1, or of their differences: `RankRLS` on one ranking with ``query_weight="items"``.
    features : {"parts", "article", "chosen"} or str, default="parts"
        "parts" are the dependencies, the path between the pair and the order of the words, three graphs that count the
        same: their features side by side, each with norm one (`candidate_parts`). Some of them are named with a plus
        sign, as in "path+order". "article" is the graph of the article (`candidate_graphs`), without the path from name
        to name and with one norm for all. "chosen" takes the best of these eight by leave-document-out, as for alpha.
        `docs/studies/protein_interactions.md` compares them.
    combine : {"max", "sum"}, default="max"
        How the walks between two labels are combined, as in `AllPathsVectorizer`.
    scheme : dict, optional
        Settings of `GraphScheme` by name; those of the article unless given.
    alphas : "auto" or sequence of float, default="auto"
        The values of alpha to choose from. "auto" takes powers of 2^2.5 times the mean eigenvalue of the kernel matrix,
        from 2⁻¹⁵ to 2⁵, and more while the best lies at an edge, from 2⁻²⁵ to 2¹⁰; `cross_validate` takes all of these
        in every fold. Labels are not used.
    scoring : {"auc", "f"}, default="auc"
        What alpha, and the features, are chosen by: the AUC, or the largest F-score, of the candidates held out.
    basis : int, optional
        A reduced set: how many candidates, drawn at random, carry the model. All of them unless given.
    n_jobs : int, optional
        The number of processes that make features.
    random_state : int, optional
        Random seed for drawing the basis.

    Attributes
    ----------
    vectorizer_ : PartsVectorizer or AllPathsVectorizer
    features_ : str
        The features that were taken: those that were requested, or chosen.
    scheme_ : dict or None
        The settings of the graphs.
    coef_ : ndarray, shape (n_features,)
        The weight of each feature.
    intercept_ : float
        Zero for RLS.
    alphas_ : ndarray
        The alphas that were tried, in ascending order.
    alpha_, threshold_ : float
        The chosen values; the threshold has the largest expected F-score.
    resampled_threshold_ : float
        The mean of the best thresholds of resampled training documents [BY02]_.
    training_threshold_ : float
        The threshold with the largest F-score on the training documents as they are.
    holdout_scores_ : ndarray, shape (m,)
        The score of each candidate by the model without its document, at `alpha_`.
    cv_results_ : dict
        `alpha`, `auc` and `f`: lists over the alphas, for the features that were taken.
    feature_results_ : dict of str to float
        The measure of each set of features at its best alpha; empty if there was nothing to choose.
    share_ : float
        The share of the candidates that interact.
    n_candidates_, n_documents_ : int

    Notes
    -----
    Time O(Σ c² + m³) for m candidates and each alpha, c being the numbers of candidates that have a feature; O(m r²)
    in place of m³ with a basis of r. Memory three m × m arrays. Scoring costs O(size of the graphs). Choosing among
    features takes up to nine times as long, and memory for four arrays more.

    References
    ----------
    .. [APBPGS08] Airola, Pyysalo, Björne, Pahikkala, Ginter and Salakoski (2008). All-paths graph kernel for
       protein-protein interaction extraction with evaluation of cross-corpus learning. BMC Bioinformatics 9(S11), S2.
    .. [BY02] Bühlmann and Yu (2002). Analyzing bagging. Annals of Statistics 30(4), 927-961.
    .. [LEN14] Lipton, Elkan and Naryanaswamy (2014). Optimal thresholding of classifiers to maximize F1 measure. ECML
       PKDD 2014, 225-239.

    Examples
    --------
    >>> from kernelrank.relations import RelationExtractor, make_corpus
    >>> train, test = make_corpus(40, random_state=0), make_corpus(4, random_state=1)
    >>> extractor = RelationExtractor(alphas=[0.5, 1.0, 2.0]).fit(train.candidates)
    >>> best = extractor.rank(test.candidates)[0]
    >>> best.candidate.sentence.text
    'A3 clearly phosphorylates B3 , unlike C3 .'
    """

    def __init__(
        self,
        *,
        learner: str = "rls",
        features: str = "parts",
        combine: Combine = "max",
        scheme: dict[str, Any] | None = None,
        alphas: str | Sequence[float] = AUTO,
        scoring: str = "auc",
        basis: int | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.learner = learner
        self.features = features
        self.combine = combine
        self.scheme = scheme
        self.alphas = alphas
        self.scoring = scoring
        self.basis = basis
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, candidates: Sequence[Candidate], y: ArrayLike | None = None, *, documents: Sequence[str] | None = None
    ) -> Self:
        """Choose alpha and the threshold by leaving documents out, and learn from all candidates.

        Parameters
        ----------
        candidates : sequence of Candidate
        y : array-like of bool, shape (m,), optional
            Whether each interacts; the labels of the candidates unless given.
        documents : sequence, shape (m,), optional
            The document of each; that of its sentence unless given.

        Returns
        -------
        self
        """
        labels = check_labels(candidates, y)
        groups = check_documents(candidates, documents)
        learning = self.learning()
        chosen, tried = self._choose_features(learning, candidates, labels, groups)
        vectorizer = chosen.vectorizer(self.combine, self.n_jobs)
        X = vectorizer.fit_transform(chosen.graphs(candidates, self.scheme))
        grid, found = search_alphas(learning, linear_kernel(X), labels, groups)
        learning = replace(learning, alphas=tuple(grid.alphas.tolist()))
        held_out = found.inner[:, 0]
        choice = choose(learning, labels, groups, held_out)
        grid.warn_at_edge(np.array(choice.results[self.scoring]))
        self.features_ = chosen.name
        self.scheme_ = deepcopy(self.scheme)
        self.feature_results_ = tried
        self.vectorizer_ = vectorizer
        self.coef_: Float = np.asarray(X.T @ found.dual_coef[choice.place])
        self.intercept_ = float(found.intercept[choice.place])
        self.alpha_ = choice.alpha
        self.alphas_ = np.unique(grid.alphas)
        self.holdout_scores_ = held_out[choice.place]
        self.threshold_ = choice.thresholds["calibrated"]
        self.resampled_threshold_ = choice.thresholds["resampled"]
        self.training_threshold_ = choice.thresholds["training"]
        self.cv_results_ = {"alpha": list(learning.fixed_alphas), **choice.results}
        self.share_ = float(np.mean(labels))
        self.n_candidates_ = len(labels)
        self.n_documents_ = len(set(groups))
        return self

    def decision_function(self, candidates: Sequence[Candidate]) -> Float:
        """Score candidates: the higher, the more likely they interact.

        Parameters
        ----------
        candidates : sequence of Candidate

        Returns
        -------
        ndarray, shape (t,)
        """
        check_is_fitted(self)
        if not len(candidates):
            return np.empty(0)
        X = self.vectorizer_.transform(self._graphs(candidates))
        return np.asarray(X @ self.coef_ + self.intercept_)

    def threshold(self, rule: Rule = "calibrated", scores: Float | None = None, share: float | None = None) -> float:
        """Return the score above which a candidate is said to interact.

        Parameters
        ----------
        rule : {"calibrated", "resampled", "training", "zero", "proportion"}, default="calibrated"
            "calibrated": the largest expected F-score, by probabilities learnt on held-out training documents.
            "resampled": the mean of the best thresholds of resampled training documents. "training": the best threshold
            on the training documents. "zero": zero. "proportion": a given share of the candidates lies above it. The
            last three are from [APBPGS08].
        scores : ndarray, shape (t,), optional
            The scores of the candidates, for "proportion".
        share : float, optional
            The share of candidates that interact, for "proportion"; that of the training candidates unless given.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if rule not in RULES:
            raise InvalidInputError(f"the rule must be one of {', '.join(RULES)}, got {rule!r}")
        if rule == "calibrated":
            return float(self.threshold_)
        if rule == "resampled":
            return float(self.resampled_threshold_)
        if rule == "training":
            return float(self.training_threshold_)
        if rule == "zero":
            return 0.0
        if scores is None or not len(scores):
            raise InvalidInputError("the rule 'proportion' needs the scores of the candidates")
        return threshold_of_share(scores, self.share_ if share is None else share)

    def predict(
        self, candidates: Sequence[Candidate], rule: Rule = "calibrated", share: float | None = None
    ) -> NDArray[np.bool_]:
        """Decide which candidates interact.

        Parameters
        ----------
        candidates : sequence of Candidate
        rule, share
            As in `threshold`.

        Returns
        -------
        ndarray of bool, shape (t,)
        """
        scores = self.decision_function(candidates)
        if not len(scores):
            return np.empty(0, dtype=bool)
        return np.asarray(scores > self.threshold(rule, scores, share))

    def rank(
        self, candidates: Sequence[Candidate], rule: Rule = "calibrated", share: float | None = None
    ) -> list[RankedCandidate]:
        """List candidates from the most likely interaction to the least.

        A candidate has no score if its parse has cycles so heavy that the sum over walks does not converge. It is left
        out, with a warning that names it; `decision_function` and `predict` raise an error.

        Parameters
        ----------
        candidates : sequence of Candidate
        rule, share
            As in `threshold`.

        Returns
        -------
        list of RankedCandidate
        """
        check_is_fitted(self)
        if not len(candidates):
            return []
        faults: list[InvalidInputError] = []
        scores = np.array(self._scores_or_faults(self._graphs(candidates), faults))
        scored = np.flatnonzero(~np.isnan(scores))
        if not len(scored):
            raise faults[0]
        if faults:
            warnings.warn(
                f"{len(faults)} of {len(candidates)} pairs have no score and are left out; the first: {faults[0]}",
                SkippedCandidateWarning,
                stacklevel=2,
            )
        threshold = self.threshold(rule, scores[scored], share)
        return [
            RankedCandidate(candidates[place], float(scores[place]), bool(scores[place] > threshold))
            for place in scored[np.argsort(-scores[scored], kind="stable")]
        ]

    def _scores_or_faults(self, graphs: list[Any], faults: list[InvalidInputError]) -> list[float]:
        """Score graphs, NaN for each that has no features; faults are rare, so that they are found by halving."""
        try:
            X = self.vectorizer_.transform(graphs)
        except InvalidInputError as fault:
            if len(graphs) == 1:
                faults.append(fault)
                return [np.nan]
            middle = len(graphs) // 2
            return [
                score for half in (graphs[:middle], graphs[middle:]) for score in self._scores_or_faults(half, faults)
            ]
        scores: list[float] = np.asarray(X @ self.coef_ + self.intercept_).tolist()
        return scores

    def learning(self) -> Learning:
        """Return what is learnt, checked."""
        alphas = self.alphas if isinstance(self.alphas, str) else tuple(self.alphas)
        return Learning(self.learner, alphas, self.scoring, self.basis, self.random_state)

    def kernels(self, candidates: Sequence[Candidate]) -> Iterator[tuple[FeatureSet, Float]]:
        """Yield the features to choose from, with the kernel matrix of candidates for each."""
        sets = feature_sets(self.features)
        matrices = feature_kernels(sets, candidates, self.scheme, self.combine, self.n_jobs)
        yield from zip(sets, matrices, strict=True)

    def _choose_features(
        self, learning: Learning, candidates: Sequence[Candidate], labels: NDArray[np.bool_], groups: list[str]
    ) -> tuple[FeatureSet, dict[str, float]]:
        """Return the features that are best with documents left out, and how good each set is at its best alpha."""
        sets = feature_sets(self.features)
        if len(sets) == 1:
            return sets[0], {}
        tried = {}
        for one, K in self.kernels(candidates):
            grid, found = search_alphas(learning, K, labels, groups, features=one.name)
            fixed = replace(learning, alphas=tuple(grid.alphas.tolist()))
            place, results = choose_alpha(fixed, labels, found.inner[:, 0])
            tried[one.name] = results[self.scoring][place]
        return FeatureSet.named(max(tried, key=lambda name: tried[name])), tried

    def _graphs(self, candidates: Iterable[Candidate]) -> list[Any]:
        """Return the graphs of candidates: what the fitted vectoriser takes."""
        return FeatureSet.named(self.features_).graphs(candidates, self.scheme_)


def check_labels(candidates: Sequence[Candidate], y: ArrayLike | None) -> NDArray[np.bool_]:
    """Return the labels, with both classes."""
    labels = labels_of(candidates) if y is None else np.asarray(y)
    if labels.dtype != bool or labels.shape != (len(candidates),):
        raise InvalidInputError(f"y must be {len(candidates)} booleans, one for each candidate")
    if not (labels.any() and not labels.all()):
        count = f"{len(labels)} candidates" if len(labels) else "no candidates at all"
        raise InvalidInputError(f"expected pairs that interact and pairs that do not; got {count} of one kind")
    return labels


def check_documents(candidates: Sequence[Candidate], documents: Sequence[str] | None) -> list[str]:
    """Return the document of each candidate: at least two."""
    groups = [candidate.document for candidate in candidates] if documents is None else list(documents)
    if len(groups) != len(candidates):
        raise InvalidInputError(f"documents has {len(groups)} entries for {len(candidates)} candidates")
    if len(set(groups)) < 2:
        raise InvalidInputError("all candidates are from one document: nothing would be left to train on")
    return groups

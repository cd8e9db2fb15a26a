"""RelationExtractor: learn from labelled candidate pairs, and rank other pairs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float
from kernelrank.base.labels import Queries
from kernelrank.base.results import Curves, Result
from kernelrank.base.sklearn_private import DocumentationLink
from kernelrank.errors import InvalidInputError, SkippedCandidateWarning
from kernelrank.estimators.base import keep_parameters
from kernelrank.kernels.all_paths import Combine
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid
from kernelrank.relations.corpus import Candidate, RankedCandidate, labels_of
from kernelrank.relations.features import FeatureSet, feature_kernels, feature_sets, linear_kernel
from kernelrank.relations.scores import ExtractionScores, HeldOutDocuments, Learning, hold_out_documents, measure


class RelationExtractor(DocumentationLink, BaseEstimator):
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
        keep_parameters(self, locals())

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
        fixed = {
            "calibrated": self.threshold_,
            "resampled": self.resampled_threshold_,
            "training": self.training_threshold_,
            "zero": 0.0,
        }
        if rule in fixed:
            return float(fixed[rule])
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


# Threshold ------------------------------------------------------------------------------------------------------------
#
# Thresholds: the score above which a pair is said to interact, by the rules of [APBPGS08]_ and by others.
#
# The F-score of a few hundred candidates jumps up and down with the threshold, so that its largest value stands where
# chance put it. Two rules are steadier.
#
# "calibrated" first learns from the scores how probable an interaction is at each, by logistic regression [Pla00]_, and
# then takes the threshold with the largest expected F-score [LEN14]_, ``2 Σ_{i above} p_i / (n above + Σ_i p_i)``. Two
# numbers are learnt from all candidates, where the largest F-score looks at the few around it.
#
# "resampled" is the mean of the best thresholds of resampled documents: what a search finds is an unstable function of
# the data, and averaging it over resamples reduces its variance [BY02]_. Averaging the F-scores instead, and taking the
# best threshold of the average, does not help, for the average over resamples is nearly the F-score itself, with the
# same jumps.
#
# References ---------- .. [APBPGS08] Airola, Pyysalo, Björne, Pahikkala, Ginter and Salakoski (2008). All-paths graph
# kernel for protein-protein interaction extraction with evaluation of cross-corpus learning. BMC Bioinformatics 9(S11),
# S2. .. [BY02] Bühlmann and Yu (2002). Analyzing bagging. Annals of Statistics 30(4), 927-961. .. [LEN14] Lipton, Elkan
# and Naryanaswamy (2014). Optimal thresholding of classifiers to maximize F1 measure. ECML PKDD 2014, 225-239. ..
# [Pla00] Platt (2000). Probabilities for SV machines. Advances in Large Margin Classifiers, MIT Press, 61-74.

Rule = Literal["calibrated", "resampled", "training", "zero", "proportion"]
RULES: tuple[Rule, ...] = ("calibrated", "resampled", "training", "zero", "proportion")


def best_threshold(labels: NDArray[np.bool_], scores: Float, *, calibrated: bool = False) -> float:
    """Find the threshold with the largest F-score, halfway between two scores. Time O(m log m).

    If `calibrated`, the largest expected F-score, by probabilities calibrated on the scores.

    Shapes: labels (m,), scores (m,).
    """
    if not labels.any():
        raise InvalidInputError("a threshold needs at least one pair that interacts")
    chances = _probabilities(labels, scores) if calibrated else labels
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    found = np.cumsum(chances[order])
    f = 2 * found / (np.arange(1, len(order) + 1) + found[-1])
    # A threshold cannot part equal scores.
    f[:-1][ranked[:-1] == ranked[1:]] = -1.0
    return _below(ranked, int(np.argmax(f)) + 1)


def _probabilities(labels: NDArray[np.bool_], scores: Float) -> Float:
    """Return the probabilities of logistic regression on the scores, shape (m,).

    Its targets are a little inside 0 and 1 [Pla00], so that it has a finite solution where the scores part the classes.
    """
    n_positive = int(labels.sum())
    n_negative = len(labels) - n_positive
    targets = np.where(labels, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    spread = float(scores.std())
    # The scale of scores is arbitrary; on that of their deviation the steps below are well behaved.
    design = np.stack(
        [(scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores)), np.ones(len(scores))]
    )
    weights = np.zeros(2)
    for _ in range(100):  # Newton's method for two numbers takes five to ten steps
        step = _newton_step(design, targets, weights)
        if float(np.abs(step).max()) < 1e-12:
            break
        before, length = _log_loss(design, targets, weights), 1.0
        # The loss is convex, so that some part of the step lowers it until rounding hides the difference.
        while length > 1e-6 and _log_loss(design, targets, weights - length * step) > before:
            length /= 2
        weights = weights - length * step
    return np.asarray(expit(weights @ design))


def _newton_step(design: Float, targets: Float, weights: Float) -> Float:
    chances = expit(weights @ design)
    gradient = design @ (chances - targets)
    curvature = (design * (chances * (1 - chances))) @ design.T
    # Scores that are all the same leave the first weight open, which then stays zero.
    return np.asarray(np.linalg.lstsq(curvature, gradient, rcond=1e-12)[0])


def _log_loss(design: Float, targets: Float, weights: Float) -> float:
    values = weights @ design
    return float(np.sum(np.logaddexp(0.0, values) - targets * values))


def resampled_threshold(
    labels: NDArray[np.bool_], scores: Float, documents: Sequence[str], *, n_resamples: int = 200
) -> float:
    """Average the best thresholds of resampled documents. Time O(n_resamples m log m), memory O(m).

    Resamples without an interaction have no best threshold and are left out. The same data give the same threshold,
    for what is drawn is fixed.

    Shapes: labels (m,), scores (m,), documents (m,).
    """
    whole = best_threshold(labels, scores)
    queries = Queries.from_labels(documents, len(labels), name="documents")
    order = np.argsort(-scores, kind="stable")
    ranked, found, codes = scores[order], labels[order], queries.codes[order]
    # How far below all scores a threshold lies says nothing, and shall not count.
    lowest = float(np.nextafter(ranked[-1], -np.inf))
    draws = np.random.default_rng(0).multinomial(len(queries), np.full(len(queries), 1 / len(queries)), n_resamples)
    thresholds = []
    for times in draws:
        drawn = np.repeat(np.arange(len(order)), times[codes])
        if found[drawn].any():
            thresholds.append(max(lowest, best_threshold(found[drawn], ranked[drawn])))
    return float(np.mean(thresholds)) if thresholds else whole


def threshold_of_share(scores: Float, share: float) -> float:
    """Find the threshold above which a given share of the scores lies, ties with the last one included. O(m log m).

    Shapes: scores (m,).
    """
    if not 0 <= share <= 1:
        raise InvalidInputError(f"the share of positive pairs must lie between 0 and 1, got {share!r}")
    ranked = -np.sort(-scores)
    count = round(share * len(ranked))
    if count == 0:
        return float(ranked[0])
    while count < len(ranked) and ranked[count] == ranked[count - 1]:
        count += 1
    return _below(ranked, count)


def _below(ranked: Float, count: int) -> float:
    """Return a threshold that only the first scores exceed."""
    last = float(ranked[count - 1])
    following = float(ranked[count]) if count < len(ranked) else last - 1.0
    middle = (last + following) / 2
    # Between neighbouring numbers there is no middle.
    return middle if middle < last else following


# Choice ---------------------------------------------------------------------------------------------------------------
#
# A choice: the features, alpha and thresholds that are best for candidates whose documents were left out.


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Result):
    """Features, alpha and thresholds, and what they were chosen by.

    Parameters
    ----------
    features : str
        The features that the scores are of.
    place : int
        The place of alpha among those to choose from.
    alpha : float
    thresholds : dict of str to float
        By the rules that need training documents: "calibrated", "resampled" and "training".
    results : dict of str to list of float
        The AUC and the largest F-score at each alpha, by the names "auc" and "f".
    value : float
        The best value of the measure by which alpha was chosen.
    inner : ExtractionScores
        The measures of the scores at `alpha`, by the threshold of "calibrated".
    """

    features: str
    place: int
    alpha: float
    thresholds: dict[Rule, float]
    results: dict[str, list[float]]
    value: float
    inner: ExtractionScores

    def __str__(self) -> str:
        features = f"{self.features}, " if self.features else ""
        return f"{features}alpha {self.alpha:.4g}, with documents left out {self.inner}"

    def _facts(self) -> list[tuple[str, str]]:
        return [
            *([("features", self.features)] if self.features else []),
            ("alpha", f"{self.alpha:.4g}"),
            ("with documents left out", str(self.inner)),
            *((f"threshold, {rule}", f"{value:.4g}") for rule, value in self.thresholds.items()),
        ]

    def _chart(self) -> Curves:
        lines = {name: np.array(self.results[key]) for key, name in (("auc", "AUC"), ("f", "largest F-score"))}
        numbers = np.arange(1.0, len(self.results["auc"]) + 1)
        mark = self.place + 1.0, f"chosen: alpha {self.alpha:.4g}"
        return Curves(numbers, lines, "number of the alpha that was tried", "with documents left out", mark=mark)

    def _columns(self) -> dict[str, Any]:
        return dict(self.results)


def choose(
    learning: Learning,
    labels: NDArray[np.bool_],
    documents: Sequence[str],
    held_out: Float,
    features: str = "",
) -> Choice:
    """Choose the alpha whose held-out scores are best, and thresholds by these scores.

    Shapes: labels (m,), documents (m,), held_out (alphas, m).
    """
    place, results = choose_alpha(learning, labels, held_out)
    scores = held_out[place]
    thresholds: dict[Rule, float] = {
        "calibrated": best_threshold(labels, scores, calibrated=True),
        "resampled": resampled_threshold(labels, scores, documents),
        "training": best_threshold(labels, scores),
    }
    inner = measure(labels, scores, scores > thresholds["calibrated"])
    value = results[learning.scoring][place]
    return Choice(features, place, learning.fixed_alphas[place], thresholds, results, value, inner)


def choose_alpha(learning: Learning, labels: NDArray[np.bool_], held_out: Float) -> tuple[int, dict[str, list[float]]]:
    """Return the place of the alpha whose held-out scores are best, and the `results` of a choice."""
    measured = [measure(labels, scores, scores > best_threshold(labels, scores)) for scores in held_out]
    results = {"auc": [scores.auc for scores in measured], "f": [scores.f for scores in measured]}
    return int(np.argmax(results[learning.scoring])), results


def search_alphas(
    learning: Learning, K: Float, labels: NDArray[np.bool_], documents: Sequence[str], features: str = ""
) -> tuple[AlphaGrid, HeldOutDocuments]:
    """Leave documents out for every alpha of a grid, which is extended while the best lies at its edge.

    Returns: All alphas that were tried, in ascending order unless they were given.
    """
    parts: list[HeldOutDocuments] = []
    tried: list[Float] = []

    def values(alphas: Float) -> Float:
        part = replace(learning, alphas=tuple(alphas.tolist()))
        parts.append(hold_out_documents(part, K, labels, documents, features=features))
        tried.append(alphas)
        return np.array(choose_alpha(part, labels, parts[-1].inner[:, 0])[1][learning.scoring])

    grid = learning.grid(K).explored(values)
    together = np.concatenate(tried)
    order = np.arange(len(together)) if len(parts) == 1 else np.argsort(together)
    return grid, HeldOutDocuments.joined(parts, order)

"""Cross-validation by document: every candidate is scored by a model that has not seen its document.

Alpha and the threshold of each fold are chosen inside it, by leaving each document of its training part out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.results import Estimates, Result
from kernelrank.errors import InvalidInputError, SplitDocumentWarning
from kernelrank.metrics.intervals import Interval
from kernelrank.relations.corpus import Candidate, Corpus
from kernelrank.relations.extractor import (
    RULES,
    Choice,
    RelationExtractor,
    Rule,
    best_threshold,
    check_documents,
    check_labels,
    choose,
    threshold_of_share,
)
from kernelrank.relations.scores import (
    MEASURES,
    ExtractionScores,
    Learning,
    document_intervals,
    hold_out_documents,
    measure,
    measure_all_true,
)


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Result):
    """The scores and decisions of all candidates, each by the model of its fold.

    Parameters
    ----------
    labels : ndarray of bool, shape (m,)
    scores : ndarray, shape (m,)
    folds : ndarray of int, shape (m,)
    documents : list of str
    choices : list of Choice
        What was chosen in each fold, by leaving out each document of its training part.
    """

    labels: NDArray[np.bool_]
    scores: Float
    folds: Index
    documents: list[str]
    choices: list[Choice]

    def __str__(self) -> str:
        size = f"{len(self.labels):,} candidates of {len(set(self.documents)):,} documents"
        return f"{size} in {len(self.choices)} folds, mean {self.mean()}"

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("candidates", f"{len(self.labels):,}, {int(self.labels.sum()):,} of them true"),
            ("documents", f"{len(set(self.documents)):,} in {len(self.choices)} folds"),
            ("mean over folds", str(self.mean())),
            ("every candidate called true", str(self.all_true())),
        ]

    def _chart(self) -> Estimates:
        return _estimates(self.pooled(), self.intervals())

    def _columns(self) -> dict[str, Any]:
        columns = {"document": self.documents, "fold": self.folds, "label": self.labels, "score": self.scores}
        return {**columns, "decision": self.decisions()}

    def decisions(self, rule: Rule = "calibrated") -> NDArray[np.bool_]:
        """Decide in each fold by a rule; "proportion" takes the share of the fold itself."""
        if rule not in RULES:
            raise InvalidInputError(f"the rule must be one of {', '.join(RULES)}, got {rule!r}")
        decided = np.zeros(len(self.labels), dtype=bool)
        for items, choice in self._by_fold():
            decided[items] = self.scores[items] > self._threshold(rule, choice, items)
        return decided

    def _by_fold(self) -> Iterator[tuple[NDArray[np.bool_], Choice]]:
        for fold, choice in enumerate(self.choices):
            yield self.folds == fold, choice

    def _threshold(self, rule: Rule, choice: Choice, items: NDArray[np.bool_]) -> float:
        if rule == "zero":
            return 0.0
        if rule == "proportion":
            return threshold_of_share(self.scores[items], float(self.labels[items].mean()))
        return choice.thresholds[rule]

    def by_fold(self, rule: Rule = "calibrated") -> list[ExtractionScores]:
        """Measure each fold."""
        decided = self.decisions(rule)
        return [measure(self.labels[items], self.scores[items], decided[items]) for items, _ in self._by_fold()]

    def mean(self, rule: Rule = "calibrated") -> ExtractionScores:
        """Average over the folds, as in [APBPGS08]; a measure that a fold does not define is averaged over the rest."""
        return ExtractionScores.mean(self.by_fold(rule))

    def deviation(self, rule: Rule = "calibrated") -> ExtractionScores:
        """Return the standard deviations over the folds."""
        return ExtractionScores.deviation(self.by_fold(rule))

    def all_true(self) -> ExtractionScores:
        """Average the co-occurrence baseline over the folds."""
        return ExtractionScores.mean([measure_all_true(self.labels[items]) for items, _ in self._by_fold()])

    def pooled(self, rule: Rule = "calibrated") -> ExtractionScores:
        """Measure the decisions of all folds together; AUC compares candidates of one fold only."""
        return measure(self.labels, self.scores, self.decisions(rule), self.folds)

    def intervals(self, rule: Rule = "calibrated", *, confidence: float = 0.95) -> dict[str, Interval]:
        """Resample documents for intervals of the pooled measures; see `document_intervals`."""
        decided = self.decisions(rule)
        return document_intervals(self.labels, self.scores, decided, self.documents, self.folds, confidence=confidence)


def _estimates(found: ExtractionScores, ends: dict[str, Interval]) -> Estimates:
    """Return measures with their intervals as a chart."""
    return Estimates([(name, getattr(found, key), *ends[key]) for key, name in MEASURES.items()], "held-out value")


def cross_validate(
    extractor: RelationExtractor,
    candidates: Sequence[Candidate],
    cv: int | Mapping[str, int] | Sequence[int] = 10,
    *,
    random_state: int | None = 0,
) -> CrossValidation:
    """Cross-validate an extractor by document, with alpha, the threshold and the features chosen inside.

    Parameters
    ----------
    extractor : RelationExtractor
        Its settings; it is not fitted.
    candidates : sequence of Candidate
        With labels.
    cv : int, dict of str to int, or sequence of int, default=10
        A number of folds, to which documents are assigned at random; or the fold of each document; or that of each
        candidate, with a warning if the candidates of a document are in several folds.
    random_state : int, optional
        Random seed of the folds.

    Returns
    -------
    CrossValidation

    Notes
    -----
    The result is that of fitting the extractor once for each fold, with ``alphas="auto"`` from the whole range around
    the scale of all candidates; the time that of fitting it once to so many alphas, and one triangular system for each
    fold and alpha; eight times that if features are chosen. With a basis it is fitted for each fold.

    Examples
    --------
    >>> from kernelrank.relations import RelationExtractor, cross_validate, make_corpus
    >>> corpus = make_corpus(60, random_state=0)
    >>> result = cross_validate(RelationExtractor(alphas=[0.5, 1.0]), corpus.candidates, cv=5)
    >>> bool(result.mean().f > result.all_true().f)
    True
    """
    labels = check_labels(candidates, None)
    documents = check_documents(candidates, None)
    assigned = _assign(cv, documents, random_state)
    learning = extractor.learning()
    return choose_inside(
        [
            cross_validate_kernel(learning, K, labels, documents, assigned, features.name)
            for features, K in extractor.kernels(candidates)
        ]
    )


def choose_inside(results: Sequence[CrossValidation]) -> CrossValidation:
    """Take in each fold the result whose training part is best with its documents left out."""
    first = results[0]
    scores, choices = first.scores.copy(), []
    for fold in range(len(first.choices)):
        best = max(results, key=lambda result: result.choices[fold].value)
        items = first.folds == fold
        scores[items] = best.scores[items]
        choices.append(best.choices[fold])
    return replace(first, scores=scores, choices=choices)


def cross_validate_kernel(
    learning: Learning,
    K: Float,
    labels: NDArray[np.bool_],
    documents: Sequence[str],
    folds: Index,
    features: str = "",
) -> CrossValidation:
    """Cross-validate on a kernel matrix that is known already; otherwise as `cross_validate`.

    Shapes: K (m, m), labels (m,), documents (m,), folds (m,).
    """
    tests = [np.flatnonzero(folds == fold) for fold in range(int(folds.max()) + 1)]
    for fold, test in enumerate(tests):
        rest = np.delete(labels, test)
        if not len(test) or not rest.any() or rest.all():
            raise InvalidInputError(f"fold {fold} has nothing to test on, or its training part has one class only")
        if len(set(np.delete(np.asarray(documents, dtype=object), test))) < 2:
            raise InvalidInputError(f"the training part of fold {fold} has one document: expected at least two")
    # One grid for all folds, from all candidates without their labels.
    learning = replace(learning, alphas=tuple(learning.grid(K, whole=True).alphas.tolist()))
    held_out = hold_out_documents(learning, K, labels, documents, tests, features)
    scores, choices = np.empty(len(labels)), []
    names = np.asarray(documents, dtype=object)
    for fold, test in enumerate(tests):
        rest = np.setdiff1d(np.arange(len(labels)), test)
        choice = choose(learning, labels[rest], names[rest].tolist(), held_out.inner[:, fold, rest], features)
        scores[test] = held_out.outer[choice.place, test]
        choices.append(choice)
    return CrossValidation(labels, scores, folds, list(documents), choices)


def document_folds(documents: Sequence[str], n_splits: int, random_state: int | None = 0) -> dict[str, int]:
    """Assign documents to folds at random; folds have the same number of documents, or one more.

    Examples
    --------
    >>> sorted(document_folds(["a", "a", "b", "c"], 3).values())
    [0, 1, 2]
    """
    names = list(dict.fromkeys(documents))
    if not 2 <= n_splits <= len(names):
        raise InvalidInputError(f"{len(names)} documents cannot be divided into {n_splits} folds")
    order = np.random.default_rng(random_state).permutation(len(names))
    return {names[place]: number % n_splits for number, place in enumerate(order)}


def _assign(cv: int | Mapping[str, int] | Sequence[int], documents: list[str], random_state: int | None) -> Index:
    """Return the fold of each candidate, numbered from zero without a gap."""
    if isinstance(cv, (int, np.integer)):
        cv = document_folds(documents, int(cv), random_state)
    if isinstance(cv, Mapping):
        for document in documents:
            if document not in cv:
                raise InvalidInputError(f"cv has no fold for the document {document!r}: give every document a fold")
        cv = [cv[document] for document in documents]
    given = np.asarray(cv)
    if given.shape != (len(documents),):
        raise InvalidInputError(
            f"expected one fold number in cv for each of the {len(documents)} candidates; cv has shape {given.shape}"
        )
    assigned = np.unique(given, return_inverse=True)[1]
    fold_of: dict[str, int] = {}
    split = {
        document
        for document, fold in zip(documents, assigned.tolist(), strict=True)
        if fold_of.setdefault(document, fold) != fold
    }
    if split:
        warnings.warn(
            f"the pairs of {len(split)} documents, {min(split)!r} among them, are split between folds: the test "
            "sentences are similar to training sentences, so the measures are too optimistic",
            SplitDocumentWarning,
            stacklevel=3,
        )
    return np.asarray(assigned)


# Cross corpus ---------------------------------------------------------------------------------------------------------
#
# Training on one corpus and testing on another.


@dataclass(frozen=True, eq=False, repr=False)
class CrossCorpus(Result):
    """Scores and decisions of an extractor on a corpus that it was not trained on.

    Parameters
    ----------
    labels : ndarray of bool, shape (t,)
    scores : ndarray, shape (t,)
    documents : list of str
    extractor : RelationExtractor
    """

    labels: NDArray[np.bool_]
    scores: Float
    documents: list[str]
    extractor: RelationExtractor

    def __str__(self) -> str:
        return f"{len(self.labels):,} candidates of {len(set(self.documents)):,} documents, {self.measure()}"

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("candidates", f"{len(self.labels):,}, {int(self.labels.sum()):,} of them true"),
            ("documents", f"{len(set(self.documents)):,}"),
            ("calibrated threshold", str(self.measure())),
            ("best threshold for this corpus", str(self.best())),
            ("every candidate called true", str(self.all_true())),
        ]

    def _chart(self) -> Estimates:
        return _estimates(self.measure(), self.intervals())

    def _columns(self) -> dict[str, Any]:
        columns = {"document": self.documents, "label": self.labels, "score": self.scores}
        return {**columns, "decision": self.decisions()}

    def decisions(self, rule: Rule = "calibrated") -> NDArray[np.bool_]:
        """Decide by a rule; "proportion" takes the share of the corpus that is tested on."""
        share = float(self.labels.mean())
        return np.asarray(self.scores > self.extractor.threshold(rule, self.scores, share))

    def measure(self, rule: Rule = "calibrated") -> ExtractionScores:
        """Measure the decisions by a rule."""
        return measure(self.labels, self.scores, self.decisions(rule))

    def best(self) -> ExtractionScores:
        """Measure with the threshold that is best for this corpus: what no rule can exceed."""
        return measure(self.labels, self.scores, self.scores > best_threshold(self.labels, self.scores))

    def all_true(self) -> ExtractionScores:
        """Measure the co-occurrence baseline."""
        return measure_all_true(self.labels)

    def intervals(self, rule: Rule = "calibrated", *, confidence: float = 0.95) -> dict[str, Interval]:
        """Resample documents; see `document_intervals`."""
        return document_intervals(self.labels, self.scores, self.decisions(rule), self.documents, confidence=confidence)


def evaluate_on(extractor: RelationExtractor, corpus: Corpus, trained_on: Corpus | None = None) -> CrossCorpus:
    """Test a fitted extractor on a corpus with labels.

    Parameters
    ----------
    extractor : RelationExtractor
        Fitted.
    corpus : Corpus
    trained_on : Corpus, optional
        What it was fitted to; sentences that are in both cause a warning.

    Returns
    -------
    CrossCorpus

    Examples
    --------
    >>> from kernelrank.relations import RelationExtractor, evaluate_on, make_corpus
    >>> extractor = RelationExtractor(alphas=[1.0]).fit(make_corpus(40, random_state=0).candidates)
    >>> result = evaluate_on(extractor, make_corpus(20, random_state=1))
    >>> bool(result.measure().f <= result.best().f)
    True
    """
    if trained_on is not None:
        seen = {sentence.text for sentence in trained_on.sentences if len(sentence.mentions) > 1}
        again = {candidate.sentence.text for candidate in corpus.candidates} & seen
        if again:
            warnings.warn(
                f"{len(again)} sentences of {corpus.name} are also in {trained_on.name}, which was trained on",
                SplitDocumentWarning,
                stacklevel=2,
            )
    labels = corpus.labels
    return CrossCorpus(labels, extractor.decision_function(corpus.candidates), corpus.documents, extractor)

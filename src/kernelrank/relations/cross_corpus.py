"""Training on one corpus and testing on another."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float
from kernelrank.base.results import Estimates, Result
from kernelrank.errors import SplitDocumentWarning
from kernelrank.metrics.intervals import Interval
from kernelrank.relations.corpus import Corpus
from kernelrank.relations.extractor import RelationExtractor
from kernelrank.relations.scores import ExtractionScores, document_intervals, measure, measure_all_true
from kernelrank.relations.threshold import Rule, best_threshold

__all__ = ["CrossCorpus", "evaluate_on"]


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
        found, names = self.measure(), {"precision": "precision", "recall": "recall", "f": "F-score", "auc": "AUC"}
        ends = self.intervals()
        return Estimates([(name, getattr(found, key), *ends[key]) for key, name in names.items()], "held-out value")

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

"""How ``kernelrank relations evaluate`` measures: within corpora, from corpus to corpus, or a given model."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kernelrank.cli.answer import Answer
from kernelrank.cli.relations_tables import interval_row, score_facts, score_row

if TYPE_CHECKING:
    from kernelrank.relations import Corpus, RelationExtractor

__all__ = ["cross_corpora", "cross_validate_all", "measure_model"]

SCORES = ("", "precision", "recall", "F", "AUC")


def _folds(text: str) -> int | dict[str, int]:
    from kernelrank.errors import FileFormatError

    if text.isdigit():
        return int(text)
    found = {}
    with open(text, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            fold, tab, document = line.strip().partition("\t")
            if not (tab and fold.isdigit()):
                raise FileFormatError("a line must be the number of a fold, a tab and a document", text, number)
            found[document] = int(fold)
    return found


def cross_validate_all(
    answer: Answer,
    extractor: RelationExtractor,
    corpora: list[Corpus],
    cv: str,
    rule: Any,
    confidence: float,
    seed: int,
) -> None:
    """Cross-validate each corpus by document, and answer with a table."""
    from kernelrank.relations import cross_validate
    from kernelrank.relations.features import CHOSEN

    facts: dict[str, Any] = {}
    rows = []
    for corpus in corpora:
        result = cross_validate(extractor, corpus.candidates, _folds(cv), random_state=seed)
        mean, spread, baseline = result.mean(rule), result.deviation(rule), result.all_true()
        intervals = result.intervals(rule, confidence=confidence)
        rows += [
            score_row(corpus.name, mean),
            score_row("  deviation over folds", spread),
            score_row("  all folds together", result.pooled(rule)),
            interval_row(intervals),
            score_row("  all pairs interact", baseline),
        ]
        facts[corpus.name] = {
            "positive": corpus.n_positive,
            "negative": corpus.n_negative,
            "documents": corpus.n_documents,
            "mean": score_facts(mean),
            "pooled": score_facts(result.pooled(rule), intervals),
            "deviation": score_facts(spread),
            "all_true": score_facts(baseline),
            "features": [choice.features for choice in result.choices],
            "alphas": [choice.alpha for choice in result.choices],
            "thresholds": [choice.thresholds["calibrated"] for choice in result.choices],
        }
    answer.fact("cross_validation", facts)
    answer.table("Means over folds of documents; intervals by resampling documents", SCORES, rows)
    for name, fact in facts.items():
        chosen = Counter(fact["features"])
        if extractor.features == CHOSEN:
            answer.line(f"{name}: {', '.join(f'{one} in {count} folds' for one, count in chosen.most_common())}.")


def cross_corpora(answer: Answer, extractor: RelationExtractor, corpora: list[Corpus]) -> None:
    """Train on each corpus and test on the others, and answer with a table."""
    from sklearn.base import clone

    from kernelrank.relations import evaluate_on
    from kernelrank.relations.extractor import RULES

    facts = []
    rows = []
    for train in corpora:
        fitted = clone(extractor).fit(train.candidates)
        for test in corpora:
            if test is train:
                continue
            result = evaluate_on(fitted, test, train)
            chosen: dict[str, Any] = {name: result.measure(name) for name in RULES}
            best = result.best()
            f_scores = [*(scores.f for scores in chosen.values()), best.f, result.all_true().f]
            rows.append((train.name, test.name, f"{100 * best.auc:.1f}", *(f"{100 * f:.1f}" for f in f_scores)))
            facts.append(
                {
                    "train": train.name,
                    "test": test.name,
                    **{name: score_facts(scores) for name, scores in chosen.items()},
                    "best": score_facts(best),
                    "all_true": score_facts(result.all_true()),
                }
            )
    answer.fact("cross_corpus", facts)
    heading = ("trained on", "tested on", "AUC", *RULES, "best", "all")
    answer.table("From corpus to corpus: AUC, and F by the rule for the threshold", heading, rows)


def measure_model(
    answer: Answer, extractor: RelationExtractor, corpora: list[Corpus], rule: Any, confidence: float
) -> None:
    """Measure a trained model on each corpus, and answer with a table."""
    from kernelrank.relations import evaluate_on

    facts = {}
    rows = []
    for corpus in corpora:
        result = evaluate_on(extractor, corpus)
        intervals = result.intervals(rule, confidence=confidence)
        rows += [
            score_row(corpus.name, result.measure(rule)),
            interval_row(intervals),
            score_row("  all pairs interact", result.all_true()),
        ]
        facts[corpus.name] = {
            "measured": score_facts(result.measure(rule), intervals),
            "best": score_facts(result.best()),
            "all_true": score_facts(result.all_true()),
        }
    answer.fact("measured", facts)
    answer.table("Measured on other corpora; intervals by resampling documents", SCORES, rows)

"""The tables of the article beside ours: within a corpus, and from corpus to corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelrank.relations import CrossValidation, RelationExtractor, evaluate_on
from kernelrank.relations.cross_validation import choose_inside, cross_validate_kernel
from kernelrank.relations.extraction_scores import ExtractionScores
from kernelrank.relations.held_out_documents import Learning
from kernelrank.relations.threshold import RULES
from studies.interaction_study.alphas import ALPHAS
from studies.interaction_study.corpora import Study
from studies.interaction_study.layout import percent, picked, reaching
from studies.interaction_study.published import SKETCH, TABLE_1, TABLES_2_TO_5


def table_1(studies: list[Study]) -> None:
    print("\nTable 1: means over 10 folds of documents, then the article's")
    print(
        f"  {'':<26}{'pos':>6}{'neg':>6}{'P':>7}{'R':>7}{'F':>7}{'σ F':>7}{'AUC':>7}{'σ AUC':>7}{'co P':>7}{'co F':>7}"
    )
    for study in studies:
        by_features = cross_validate_each(study)
        chosen = [choose_inside(same_split) for same_split in zip(*by_features.values(), strict=True)]
        for kind, results in (("chosen", chosen), ("parts", by_features["parts"]), ("article", by_features["article"])):
            print_row_of_table_1(study, kind, results)
        article = TABLE_1[study.name]
        print(f"  {'  article':<26}{article[0]:>6}{article[1]:>6}" + "".join(f"{v:7.1f}" for v in article[2:]))
        sketch = SKETCH[study.name]
        print(f"  {'  sketch':<26}{'':>26}{sketch[1]:7.1f}{'':>7}{sketch[0]:7.1f}")


def cross_validate_each(study: Study) -> dict[str, list[CrossValidation]]:
    """Cross-validate all features that "chosen" chooses from, on each split."""
    learning = Learning("rls", ALPHAS, "auc", None, 0)
    documents = study.corpus.documents
    return {
        features.name: [
            cross_validate_kernel(learning, K, study.labels, documents, study.folds(split), features.name)
            for split in study.splits
        ]
        for features, K in RelationExtractor(features="chosen").kernels(study.corpus.candidates)
    }


def print_row_of_table_1(study: Study, kind: str, results: list[CrossValidation]) -> None:
    means = [result.mean() for result in results]
    mean = ExtractionScores.mean(means)
    spread = ExtractionScores.deviation(means)
    within = ExtractionScores.mean([result.deviation() for result in results])
    all_true = ExtractionScores.mean([result.all_true() for result in results])
    row = percent(mean.precision, mean.recall, mean.f, within.f, mean.auc, within.auc, all_true.precision, all_true.f)
    print(f"  {f'{study.name}, {kind}':<26}{study.corpus.n_positive:>6}{study.corpus.n_negative:>6}{row}")
    if len(study.splits) > 1:
        spreads = f"{100 * spread.f:7.1f}{'':>7}{100 * spread.auc:7.1f}"
        print(f"  {f'  spread of {len(results)} splits':<26}{'':>26}{spreads}")
        ranges = [f"{100 * min(v):.1f} to {100 * max(v):.1f}" for v in zip(*((m.f, m.auc) for m in means), strict=True)]
        print(f"  {'  range of splits':<26}F {ranges[0]}, AUC {ranges[1]}")
        print(f"  {'  splits like the sketch':<26}{reaching(means, SKETCH[study.name])}")
    intervals = results[0].intervals()
    print(f"  {'  95 %, documents':<26}F {intervals['f']}, AUC {intervals['auc']}, all folds of one split together")
    others = percent(*(mean_f(results, rule) for rule in RULES[1:]))
    print(f"  {'  other thresholds':<26}F {others} ({', '.join(RULES[1:])})")
    print(f"  {'  alphas':<26}{sorted({choice.alpha for result in results for choice in result.choices})}", flush=True)
    if kind == "chosen":
        print(f"  {'  chosen':<26}{picked(results)}", flush=True)


def mean_f(results: list[CrossValidation], rule: Any) -> float:
    return float(np.mean([result.mean(rule).f for result in results]))


def tables_2_to_5(studies: list[Study], kind: str) -> None:
    print(f"\nTables 2 to 5, {kind}: trained on one corpus, tested on another; ours, then the article's")
    doubled = "".join(f"{heading:>14}" for heading in ("AUC", "F training", "F best", "F proportion"))
    print(f"  {'':<18}{doubled}{'calibrated':>12}{'resampled':>11}{'zero':>7}{'all':>7}")
    for train in studies:
        extractor = RelationExtractor(features=kind, alphas=ALPHAS).fit(train.corpus.candidates)
        for test in studies:
            if test is train:
                continue
            result = evaluate_on(extractor, test.corpus)
            f = {rule: result.measure(rule).f for rule in RULES}
            ours = [result.best().auc, f["training"], result.best().f, f["proportion"]]
            cells = [f"{100 * o:8.1f}{a:6.1f}" for o, a in zip(ours, TABLES_2_TO_5[train.name, test.name], strict=True)]
            rest = f"{100 * f['calibrated']:12.1f}{100 * f['resampled']:11.1f}{100 * f['zero']:7.1f}"
            rest += f"{100 * result.all_true().f:7.1f}"
            print(f"  {train.name + ' → ' + test.name:<18}{''.join(cells)}{rest}", flush=True)

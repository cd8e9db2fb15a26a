"""What helps beyond the article, judged inside training parts; what came of it is printed beside."""

from __future__ import annotations

from kernelrank.relations import CrossValidation
from kernelrank.relations.evaluation import choose_inside
from kernelrank.relations.scores import ExtractionScores
from studies.interaction_study.corpora import Study
from studies.interaction_study.layout import picked, print_variant
from studies.interaction_study.rank_svm import rank_svm
from studies.interaction_study.variants import VARIANTS, Kernels, cross_validate_variant, features_of, is_order_weight

# What helps is tried on so many splits, at most.
N_TRIED = 5


def what_helps(study: Study, kernels: Kernels, alphas: tuple[float, ...]) -> None:
    print("\nWhat helps: AUC inside (training documents left out), then AUC and F tested, each with its difference")
    print(f"  {study.name}")
    all_results: dict[str, list[CrossValidation]] = {}
    has_lemmas = any(token.lemma for token in study.corpus.sentences[0].tokens)
    for variant in VARIANTS:
        if "lemma" in variant.settings.get("scheme", {}).get("labels", ()) and not has_lemmas:
            continue
        n_splits = 1 if "basis" in variant.settings else N_TRIED
        results = cross_validate_variant(study, variant, kernels, alphas, study.splits[:n_splits])
        all_results[variant.name] = results
        print_variant(variant.name, results, all_results[VARIANTS[0].name])
    whole = {name: results for name, results in all_results.items() if not name.endswith("(first split)")}
    weights = {name: results for name, results in whole.items() if is_order_weight(name)}
    for title, some in (("the best of these inside each fold", whole), ("the best order weight inside", weights)):
        chosen = [choose_inside(same_split) for same_split in zip(*some.values(), strict=True)]
        print_variant(title, chosen, all_results[VARIANTS[0].name])
        print(f"      picked: {picked(chosen)}")
    for kind in ("article", "parts"):
        results = [rank_svm(study, features_of(study, features=kind), study.splits[0], (100.0, 1000.0))]
        print_variant(f"{kind}, RankSVM (first split, 3 folds)", results, all_results[VARIANTS[0].name])


def order_weight_inside(study: Study, kernels: Kernels, alphas: tuple[float, ...]) -> None:
    """Choose the order weight inside each fold, over all splits: a smaller one was better inside every corpus."""
    all_results = [
        cross_validate_variant(study, variant, kernels, alphas, study.splits)
        for variant in VARIANTS
        if is_order_weight(variant.name)
    ]
    means = [choose_inside(same_split).mean() for same_split in zip(*all_results, strict=True)]
    mean, spread = ExtractionScores.mean(means), ExtractionScores.deviation(means)
    values = f"F {100 * mean.f:.1f} ± {100 * spread.f:.1f}, AUC {100 * mean.auc:.1f} ± {100 * spread.auc:.1f}"
    print(f"  {study.name:<8}{values}", flush=True)

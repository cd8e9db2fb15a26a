"""Study: protein interactions by the all-paths graph kernel, beside the tables of [APBPGS08].

    python -m studies run protein_interactions --data DIR [--quick] [--figure curves.png]

DIR holds AImed-, IEPA- and LLL-learning-format.xml, or the same with .xz, and aimed_10fold_documents.txt, a split of
AIMed by document; for IEPA and LLL no split is published, so that documents are dealt at random twenty times, and the
spread over the splits is printed, with the share of them that reach the figures of a sketch whose split is unknown.
BioInfer and HPRD50 are not in these files.

Everything is nested: alpha and the threshold of each fold are chosen by leaving out each document of its training part.
Three kinds of features stand side by side: "article" is the graph of the article with one norm; "parts" the default,
where dependencies, path and order count the same; "chosen" is what is best inside each fold of these two and of every
selection of the three parts, so that no test fold has a say.

What helps beyond the article is judged by the same: the column "inside" is the AUC on training documents left out,
which is all that a choice may look at; "tested" is what came of it, and two lines choose a variant in each fold by
"inside", once from all of them and once from the order weights alone. RankSVM has no shortcut, so that its alpha and
threshold are chosen by three folds of documents inside.

Rules for the threshold are judged inside training parts, nested once more: each training part is cross-validated as if
it were all there is. Splits without chance show how far a figure depends on the split.

To save time what helps is tried on the first five splits, RankSVM and the basis on the first alone; and AIMed has one
alpha in what helps, in rules and in splits without chance, 0.5. A basis is of a fifth of the pairs.

The corpora have no lemmas. Those of lemminflect (pip install lemminflect) are taken if it is there; otherwise what they
are worth is left out.

The whole study takes about three quarters of an hour on one processor; --quick, which leaves AIMed out and deals
documents twice, about five minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from kernelrank.relations import document_folds, read_interaction_xml
from kernelrank.relations.gram import linear_kernel
from kernelrank.relations.threshold import RULES
from studies.interaction_study.alphas import ALPHAS
from studies.interaction_study.corpora import Study, find, read_split, with_lemmas
from studies.interaction_study.learning_curves import figure_3
from studies.interaction_study.rules import rules_inside
from studies.interaction_study.splits import show_splits
from studies.interaction_study.steps import show_steps
from studies.interaction_study.tables import table_1, tables_2_to_5
from studies.interaction_study.variants import VARIANTS, Kernels, features_of, kernel_of
from studies.interaction_study.what_helps import order_weight_inside, what_helps

NAMES = ("AImed", "IEPA", "LLL")
STEPS = ("tables", "rules", "splits", "order", "helps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--only", choices=STEPS, nargs="+", default=STEPS, help="some of the study")
    parser.add_argument("--corpora", nargs="+", choices=NAMES, help="some of the corpora")
    options = parser.parse_args()
    studies = []
    for name in options.corpora or (NAMES[1:] if options.quick else NAMES):
        corpus = with_lemmas(read_interaction_xml(find(options.data, name)))
        n_splits = 2 if options.quick else 20
        splits = (
            [read_split(options.data)]
            if name == "AImed"
            else [document_folds(corpus.documents, 10, random_state=seed) for seed in range(n_splits)]
        )
        studies.append(Study(name, corpus, splits))
        print(corpus)
    kernels: Kernels = {}
    alphas = {study.name: (0.5,) if study.name == "AImed" else ALPHAS for study in studies}
    for study in studies:
        kernels[study.name, "article"] = kernel_of(study, VARIANTS[0])
        if "tables" in options.only:
            kernels[study.name, "parts"] = show_steps(options.data, study)
        else:
            kernels[study.name, "parts"] = linear_kernel(features_of(study))
    if "tables" in options.only:
        table_1(studies)
        for kind in ("parts", "article"):
            tables_2_to_5(studies, kind)
        figure_3(studies, kernels, options.figure)
    if "rules" in options.only:
        print("\nRules for the threshold, inside training parts (how many): AUC, then F by rule")
        print(f"  {'':<26}{'AUC':>7}" + "".join(f"{rule[:6]:>7}" for rule in RULES[:-1]))
        for study in studies:
            rules_inside(study, kernels, alphas[study.name])
    if "splits" in options.only:
        print("\nSplits without chance: AUC and F of folds, AUC and F of all folds together; article, then parts")
        for study in studies:
            show_splits(study, kernels, alphas[study.name])
    if "order" in options.only:
        print("\nThe order weight that is best inside each fold, of 0.9, 0.7 and 0.5: means over all splits ± spread")
        for study in studies:
            order_weight_inside(study, kernels, alphas[study.name])
    if "helps" in options.only:
        for study in studies:
            what_helps(study, kernels, alphas[study.name])

"""Study: protein interactions by the all-paths graph kernel, beside the tables of [APBPGS08].

    python benchmarks/protein_interactions.py --data DIR [--quick] [--figure curves.png]

DIR holds AImed-, IEPA- and LLL-learning-format.xml, or the same with .xz, and aimed_10fold_documents.txt, a split of
AIMed by document; for IEPA and LLL no split is published, so that documents are dealt at random twenty times, and the
spread over the splits is printed, with the share of them that reach the figures of a sketch whose split is unknown.
BioInfer and HPRD50 are not in these files.

Everything is nested: alpha and the threshold of each fold are chosen by leaving out each document of its training part.
Two kinds of features stand side by side: "article" is the graph of the article with one norm, "parts" the default,
where dependencies, path and order count the same. What helps beyond the article is judged by the same: the column
"inside" is the AUC on training documents left out, which is all that a choice may look at; "tested" is what came of it,
and the last line chooses a variant in each fold by "inside", once from all of them and once from the order weights
alone. RankSVM has no shortcut, so that its alpha and threshold are chosen by three folds of documents inside.

Rules for the threshold are judged inside training parts, nested once more: each training part is cross-validated as if
it were all there is. Splits without chance show how far a figure depends on the split.

To save time what helps is tried on the first five splits; RankSVM and the basis on the first alone, and not on AIMed;
and AIMed has one alpha in what helps, in rules and in splits without chance, 0.5. A basis is of a fifth of the pairs.

The corpora have no lemmas; words in lower case stand in for them.

The whole study takes about twenty minutes on one processor; --quick, which leaves AIMed out and deals documents
twice, about four minutes.
"""

from __future__ import annotations

import argparse
import io
import lzma
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy import sparse
from sklearn.model_selection import GroupKFold, KFold
from sklearn.preprocessing import normalize

from kernelrank import AllPathsVectorizer, RankSVM
from kernelrank.relations import (
    Corpus,
    CrossValidation,
    GraphScheme,
    PartsVectorizer,
    RelationExtractor,
    candidate_parts,
    document_folds,
    evaluate_on,
    read_interaction_xml,
)
from kernelrank.relations.cross_validation import cross_validate_kernel
from kernelrank.relations.document_holdout import DocumentHoldout
from kernelrank.relations.extraction_scores import ExtractionScores, measure
from kernelrank.relations.extractor import ALPHAS
from kernelrank.relations.gram import linear_kernel
from kernelrank.relations.held_out_documents import Learning
from kernelrank.relations.threshold import RULES, best_threshold, calibrated_threshold, resampled_threshold

NAMES = ("AImed", "IEPA", "LLL")
KINDS = ("parts", "article")
STEPS = ("tables", "rules", "splits", "order", "helps")

# Table 1 of the article: positive, negative, P, R, F, σ of F, AUC, σ of AUC, P and F of co-occurrence.
TABLE_1 = {
    "AImed": (1000, 4834, 52.9, 61.8, 56.4, 5.0, 84.8, 2.3, 17.8, 30.1),
    "IEPA": (335, 482, 69.6, 82.7, 75.1, 7.0, 85.1, 5.1, 40.8, 57.6),
    "LLL": (164, 166, 72.5, 87.2, 76.8, 17.8, 83.4, 12.2, 55.9, 70.3),
}
# What helps is tried on so many splits, at most.
N_TRIED = 5
# Rules are judged in the training parts of so many folds.
N_PARTS = {"AImed": 4, "IEPA": 20, "LLL": 50}
# AUC and F of a sketch of 120 lines with the same features, its splits of IEPA and LLL unknown.
SKETCH = {"AImed": (84.9, 56.1), "IEPA": (83.8, 72.9), "LLL": (84.0, 79.7)}
# Tables 2 to 5: AUC, F with the threshold of the training set, the best one and that of the class proportion.
TABLES_2_TO_5 = {
    ("AImed", "IEPA"): (76.1, 22.9, 67.4, 63.9),
    ("AImed", "LLL"): (77.8, 17.7, 74.5, 70.1),
    ("IEPA", "AImed"): (70.2, 38.4, 39.1, 33.5),
    ("IEPA", "LLL"): (82.5, 77.0, 77.6, 77.4),
    ("LLL", "AImed"): (61.8, 32.6, 33.3, 26.5),
    ("LLL", "IEPA"): (74.8, 63.9, 64.9, 63.0),
}


@dataclass
class Study:
    """A corpus with the splits that it is tested on."""

    name: str
    corpus: Corpus
    splits: list[dict[str, int]]

    @property
    def labels(self) -> np.ndarray:
        """Whether each candidate interacts."""
        return self.corpus.labels

    def folds(self, split: dict[str, int]) -> np.ndarray:
        """Return the fold of each candidate."""
        return np.array([split[document] for document in self.corpus.documents])


@dataclass(frozen=True)
class Variant:
    """Something to try: settings of the extractor, under a name; or some parts, with a norm each or one for all."""

    name: str
    settings: dict[str, Any]
    parts: tuple[int, ...] = ()
    together: bool = False


DEPENDENCIES, PATH, ORDER = range(3)
# Those without parts are variants of the article's graph.
VARIANTS = (
    Variant("as in the article", {}),
    Variant("sum over walks, not the maximum", {"combine": "sum"}),
    Variant("RankRLS, not RLS", {"learner": "rankrls"}),
    Variant("words in lower case", {"scheme": {"lowercase": True}}),
    Variant("order weight 0.7", {"scheme": {"order_weight": 0.7}}),
    Variant("order weight 0.5", {"scheme": {"order_weight": 0.5}}),
    Variant("other weight 0.1", {"scheme": {"other_weight": 0.1}}),
    Variant("path weight 0.8", {"scheme": {"path_weight": 0.8}}),
    Variant("names without part of speech", {"scheme": {"keep_pos": False}}),
    Variant("pair tagged as between", {"scheme": {"pair_tag": "_M"}}),
    Variant("a basis of a fifth (first split)", {"basis": 0.2}),
    Variant("dependencies alone", {}, (DEPENDENCIES,)),
    Variant("path alone", {}, (PATH,)),
    Variant("order alone", {}, (ORDER,)),
    Variant("dependencies and order, a norm each", {}, (DEPENDENCIES, ORDER)),
    Variant("with the path, one norm for all", {}, (DEPENDENCIES, PATH, ORDER), together=True),
    Variant("path and order, a norm each", {}, (PATH, ORDER)),
    Variant("parts: all three, a norm each", {}, (DEPENDENCIES, PATH, ORDER)),
    Variant("parts, RankRLS", {"learner": "rankrls"}, (DEPENDENCIES, PATH, ORDER)),
    Variant("parts, sum over walks", {"combine": "sum"}, (DEPENDENCIES, PATH, ORDER)),
    Variant("parts, order weight 0.7", {"scheme": {"order_weight": 0.7}}, (DEPENDENCIES, PATH, ORDER)),
)


def find(folder: Path, name: str) -> Path:
    for ending in (".xml", ".xml.xz"):
        path = folder / f"{name}-learning-format{ending}"
        if path.is_file():
            return path
    raise SystemExit(f"{folder} has no {name}-learning-format.xml")


def read_split(folder: Path) -> dict[str, int]:
    lines = (folder / "aimed_10fold_documents.txt").read_text().splitlines()
    return {line.split("\t")[1]: int(line.split("\t")[0]) for line in lines if line and not line.startswith("#")}


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return a result with its seconds on the wall and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - processor


def kernel_of(study: Study, variant: Variant) -> np.ndarray:
    settings = {key: value for key, value in variant.settings.items() if key in ("combine", "scheme")}
    if not variant.parts:
        return linear_kernel(features_of(study, features="article", **settings))
    items = list(candidate_parts(study.corpus.candidates, GraphScheme.of(settings.get("scheme"))))
    chosen = [tuple(item[place] for place in variant.parts) for item in items]
    combine = settings.get("combine", "max")
    if not variant.together:
        names = ("dependencies", "path", "order")
        vectorizer = PartsVectorizer(combine=combine, names=tuple(names[place] for place in variant.parts))
        return linear_kernel(vectorizer.fit_transform(chosen))
    parts = [AllPathsVectorizer(combine=combine).fit_transform(list(part)) for part in zip(*chosen, strict=True)]
    return linear_kernel(normalize(sparse.hstack(parts, format="csr")))


def features_of(study: Study, **settings: Any) -> Any:
    extractor = RelationExtractor(**settings)
    return extractor.make_vectorizer().fit_transform(extractor.graphs(study.corpus.candidates))


def learning_of(variant: Variant, alphas: tuple[float, ...], n_pairs: int) -> Learning:
    basis = variant.settings.get("basis")
    size = None if basis is None else min(4000, int(basis * n_pairs))
    return Learning(variant.settings.get("learner", "rls"), alphas, "auc", size, 0)


def percent(*values: float) -> str:
    return "".join(f"{100 * value:7.1f}" for value in values)


def show_steps(folder: Path, study: Study) -> tuple[np.ndarray, CrossValidation]:
    """Time each step from the XML to the nested cross-validation of one split."""
    path = find(folder, study.name)
    text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    extractor = RelationExtractor()
    extractor.make_vectorizer().fit_transform(extractor.graphs(study.corpus.candidates[:50]))  # compiles
    _, parse, parse_processor = timed(lambda: ElementTree.parse(io.BytesIO(text)))
    steps = [("parsing the XML alone", parse, parse_processor)]
    _, wall, processor = timed(lambda: read_interaction_xml(io.BytesIO(text)))
    steps.append(("reading it as sentences and pairs", wall, processor))
    graphs, wall, processor = timed(lambda: extractor.graphs(study.corpus.candidates))
    steps.append(("graphs", wall, processor))
    X, wall, processor = timed(lambda: extractor.make_vectorizer().fit_transform(graphs))
    steps.append((f"features ({X.nnz:.2g} nonzeros, {X.shape[1]:,} columns)", wall, processor))
    K, wall, processor = timed(lambda: linear_kernel(X))
    steps.append(("kernel matrix", wall, processor))
    folds = study.folds(study.splits[0])
    learning = Learning("rls", ALPHAS, "auc", None, 0)
    result, wall, processor = timed(
        lambda: cross_validate_kernel(learning, K, study.labels, study.corpus.documents, folds)
    )
    steps.append((f"nested 10-fold cross-validation, {len(ALPHAS)} alphas", wall, processor))
    print(f"\nSteps for {study.name}: seconds on the wall, of the processor, and × the XML's")
    for name, wall, processor in steps:
        print(f"  {name:<52}{wall:8.2f}{processor:8.2f}{processor / parse_processor:8.1f} ×")
    total = sum(wall for _, wall, _ in steps[1:])
    print(f"  {'everything, from the file to the figures':<52}{total:8.2f}")
    return K, result


Kernels = dict[tuple[str, str], np.ndarray]


def table_1(studies: list[Study], kernels: Kernels, known: dict[str, CrossValidation]) -> None:
    print("\nTable 1: means over 10 folds of documents, then the article's")
    print(
        f"  {'':<26}{'pos':>6}{'neg':>6}{'P':>7}{'R':>7}{'F':>7}{'σ F':>7}{'AUC':>7}{'σ AUC':>7}{'co P':>7}{'co F':>7}"
    )
    for study in studies:
        for kind in KINDS:
            results = [known[study.name]] if kind == "parts" and study.name in known else []
            print_row_of_table_1(study, kind, kernels[study.name, kind], results)
        article = TABLE_1[study.name]
        print(f"  {'  article':<26}{article[0]:>6}{article[1]:>6}" + "".join(f"{v:7.1f}" for v in article[2:]))
        sketch = SKETCH[study.name]
        print(f"  {'  sketch':<26}{'':>26}{sketch[1]:7.1f}{'':>7}{sketch[0]:7.1f}")


def print_row_of_table_1(study: Study, kind: str, K: np.ndarray, results: list[CrossValidation]) -> None:
    learning = Learning("rls", ALPHAS, "auc", None, 0)
    for split in study.splits[len(results) :]:
        results.append(cross_validate_kernel(learning, K, study.labels, study.corpus.documents, study.folds(split)))
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
    print(f"  {'  alphas':<26}{sorted({alpha for result in results for alpha in result.alphas})}", flush=True)


def reaching(means: list[ExtractionScores], sketch: tuple[float, float]) -> str:
    """Say how many splits have the figures of the sketch or better, which are known to a tenth."""
    auc = np.array([round(100 * mean.auc, 1) >= sketch[0] for mean in means])
    f = np.array([round(100 * mean.f, 1) >= sketch[1] for mean in means])
    return f"or better: F {f.sum()} of {len(f)}, AUC {auc.sum()} of {len(f)}, both {(f & auc).sum()} of {len(f)}"


def mean_f(results: list[CrossValidation], rule: Any) -> float:
    return float(np.mean([result.mean(rule).f for result in results]))


def tables_2_to_5(studies: list[Study], kind: str) -> None:
    print(f"\nTables 2 to 5, {kind}: trained on one corpus, tested on another; ours, then the article's")
    doubled = "".join(f"{heading:>14}" for heading in ("AUC", "F training", "F best", "F proportion"))
    print(f"  {'':<18}{doubled}{'calibrated':>12}{'resampled':>11}{'zero':>7}{'all':>7}")
    for train in studies:
        extractor = RelationExtractor(features=kind).fit(train.corpus.candidates)
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


def learning_curve(study: Study, K: np.ndarray) -> list[tuple[int, float]]:
    """Half of the documents to test on; the others are added one after the other, as in figure 3."""
    names = list(dict.fromkeys(study.corpus.documents))
    folds = study.folds(study.splits[0])
    test = np.flatnonzero(folds < 5)
    documents = np.array(study.corpus.documents)
    order = np.random.default_rng(0).permutation([name for name in names if study.splits[0][name] >= 5])
    curve = []
    size = 20
    labels = study.labels
    while True:
        chosen, count = [], 0
        for name in order:
            if count >= size:
                break
            chosen.append(name)
            count += int((documents == name).sum())
        train = np.flatnonzero(np.isin(documents, chosen))
        if 0 < labels[train].sum() < len(train):
            curve.append((len(train), trained_auc(K, labels, documents, train, test)))
        if len(chosen) == len(order):
            return curve
        size *= 2


def trained_auc(K: np.ndarray, labels: np.ndarray, documents: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    y = np.where(labels, 1.0, -1.0)
    best, found = -1.0, 0.5
    for alpha in ALPHAS:
        model = DocumentHoldout(K[np.ix_(train, train)], y[train], documents[train].tolist(), alpha)
        inside = measure(labels[train], model.leave_document_out(), labels[train]).auc
        if inside > best:
            best = inside
            scores = K[np.ix_(test, train)] @ model.dual_coef
            found = measure(labels[test], scores, labels[test]).auc
    return found


def figure_3(studies: list[Study], kernels: Kernels, path: Path | None) -> None:
    print("\nFigure 3: AUC by the number of training pairs, half of the documents tested on")
    curves = {
        f"{study.name}, {kind}": learning_curve(study, kernels[study.name, kind]) for study in studies for kind in KINDS
    }
    for name, curve in curves.items():
        print(f"  {name:<16}" + "  ".join(f"{size}: {100 * auc:.1f}" for size, auc in curve))
    if path is None:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for name, curve in curves.items():
        axes.semilogx(*zip(*[(size, 100 * auc) for size, auc in curve], strict=True), marker="o", label=name)
    axes.set_xlabel("training pairs")
    axes.set_ylabel("AUC, %")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    print(f"  drawn in {path}")


def rank_svm(study: Study, X: Any, split: dict[str, int], alphas: tuple[float, ...]) -> CrossValidation:
    """Cross-validate RankSVM, its alpha and threshold by three folds of documents inside."""
    labels, documents, folds = study.labels, np.array(study.corpus.documents), study.folds(split)
    y = labels.astype(float)
    scores, chosen, thresholds, resampled, training, inner = np.empty(len(y)), [], [], [], [], []
    for fold in range(int(folds.max()) + 1):
        test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        inside = document_folds(documents[train].tolist(), 3)
        parts = np.array([inside[name] for name in documents[train]])
        held_out = np.empty((len(alphas), len(train)))
        for part in range(3):
            fit, left = train[parts != part], np.flatnonzero(parts == part)
            for place, alpha in enumerate(alphas):
                model = RankSVM(alpha, tol=1e-2).fit(X[fit], y[fit])
                held_out[place, left] = centred(model, X, fit)(X[train[left]])
        aucs = [measure(labels[train], row, labels[train], parts).auc for row in held_out]
        place = int(np.argmax(aucs))
        thresholds.append(calibrated_threshold(labels[train], held_out[place]))
        resampled.append(resampled_threshold(labels[train], held_out[place], documents[train].tolist()))
        training.append(best_threshold(labels[train], held_out[place]))
        scores[test] = centred(RankSVM(alphas[place], tol=1e-2).fit(X[train], y[train]), X, train)(X[test])
        chosen.append(alphas[place])
        inner.append(replace(measure(labels[train], held_out[place], labels[train]), auc=aucs[place]))
    return CrossValidation(labels, scores, folds, documents.tolist(), chosen, thresholds, resampled, training, inner)


def centred(model: RankSVM, X: Any, train: np.ndarray) -> Callable[[Any], np.ndarray]:
    """Return what scores by a ranker from its mean on the training items: the thresholds of models are then alike."""
    constant = float(np.mean(model.predict(X[train])))
    return lambda rows: np.asarray(model.predict(rows) - constant)


def what_helps(studies: list[Study], kernels: Kernels, alphas: tuple[float, ...]) -> None:
    print("\nWhat helps: AUC inside (training documents left out), then AUC and F tested, each with its difference")
    for study in studies:
        print(f"  {study.name}")
        all_results: list[tuple[str, list[CrossValidation]]] = []
        for variant in VARIANTS:
            with_basis = "basis" in variant.settings
            if with_basis and len(study.labels) > 3000:
                continue
            same = not variant.parts and not ({"combine", "scheme"} & variant.settings.keys())
            K = kernels[study.name, "article"] if same else kernel_of(study, variant)
            learning = learning_of(variant, alphas, len(study.labels))
            results = [
                cross_validate_kernel(learning, K, study.labels, study.corpus.documents, study.folds(split))
                for split in study.splits[: 1 if with_basis else N_TRIED]
            ]
            all_results.append((variant.name, results))
            print_variant(variant.name, results, all_results[0][1][: len(results)])
        whole = [(name, results) for name, results in all_results if len(results) == len(all_results[0][1])]
        choose_inside("the best of these inside each fold", whole)
        choose_inside("the best order weight inside", [whole[0], *(one for one in whole if is_order_weight(one[0]))])
        if len(study.labels) < 3000:
            for kind in reversed(KINDS):
                results = [rank_svm(study, features_of(study, features=kind), study.splits[0], (100.0, 1000.0))]
                print_variant(f"{kind}, RankSVM (first split, 3 folds)", results, all_results[0][1][:1])


def print_variant(name: str, results: list[CrossValidation], reference: list[CrossValidation]) -> None:
    def figures(some: list[CrossValidation]) -> np.ndarray:
        means = ExtractionScores.mean([result.mean() for result in some])
        inside = np.mean([scores.auc for result in some for scores in result.inner])
        return 100 * np.array([inside, means.auc, means.f])

    ours, theirs = figures(results), figures(reference)
    cells = "".join(f"{a:8.1f} ({a - b:+5.1f})" for a, b in zip(ours, theirs, strict=True))
    print(f"    {name:<40}{cells}", flush=True)


def is_order_weight(name: str) -> bool:
    return name.startswith("order weight")


def order_weight_inside(study: Study, kernels: Kernels, alphas: tuple[float, ...]) -> None:
    """Choose the order weight inside each fold, over all splits: a smaller one was better inside every corpus."""
    learning = Learning("rls", alphas, "auc", None, 0)
    variants = [VARIANTS[0], *(variant for variant in VARIANTS if is_order_weight(variant.name))]
    all_results = []
    for variant in variants:
        K = kernels[study.name, "article"] if variant is VARIANTS[0] else kernel_of(study, variant)
        results = [
            cross_validate_kernel(learning, K, study.labels, study.corpus.documents, study.folds(split))
            for split in study.splits
        ]
        all_results.append((variant.name, results))
    means = [result.mean() for result in choose_inside("", all_results)]
    mean, spread = ExtractionScores.mean(means), ExtractionScores.deviation(means)
    values = f"F {100 * mean.f:.1f} ± {100 * spread.f:.1f}, AUC {100 * mean.auc:.1f} ± {100 * spread.auc:.1f}"
    print(f"  {study.name:<8}{values}; like the sketch {reaching(means, SKETCH[study.name])}", flush=True)


def rules_inside(study: Study, kernels: Kernels, alphas: tuple[float, ...]) -> None:
    """Cross-validate training parts as if each were all there is: what may be looked at to choose a rule."""
    learning = Learning("rls", alphas, "auc", None, 0)
    documents = np.array(study.corpus.documents)
    parts = [study.folds(split) != fold for split in study.splits for fold in range(10)][: N_PARTS[study.name]]
    halves = kernel_of(study, Variant("", {}, (DEPENDENCIES, ORDER)))
    kinds = (("article", kernels[study.name, "article"]), ("halves", halves), ("parts", kernels[study.name, "parts"]))
    for kind, K in kinds:
        found = []
        for number, part in enumerate(parts):
            inside = document_folds(documents[part].tolist(), 10, random_state=1000 + number // 10)
            folds = np.array([inside[name] for name in documents[part]])
            inner = K[np.ix_(part, part)]
            result = cross_validate_kernel(learning, inner, study.labels[part], documents[part].tolist(), folds)
            # Without "proportion", which looks at the labels of what it decides on.
            found.append([result.mean().auc, *(result.mean(rule).f for rule in RULES[:-1])])
        name = f"{study.name}, {kind} ({len(parts)})"
        print(f"  {name:<26}{percent(*np.mean(found, axis=0))}", flush=True)


def splits_without_chance(study: Study) -> list[tuple[str, dict[str, int]]]:
    """List ways in which somebody might have dealt documents into ten folds."""
    documents = study.corpus.documents
    as_they_come, by_name = list(dict.fromkeys(documents)), sorted(set(documents))
    n = len(by_name)
    shuffled = {
        "RandomState(0)": np.random.RandomState(0).permutation(n),
        "default_rng(0)": np.random.default_rng(0).permutation(n),
    }
    grouped = GroupKFold(10).split(documents, groups=documents)
    folded = KFold(10, shuffle=True, random_state=0).split(by_name)
    return [
        ("as they come, dealt out", {name: place % 10 for place, name in enumerate(as_they_come)}),
        ("as they come, in blocks", {name: 10 * place // n for place, name in enumerate(as_they_come)}),
        ("by name, dealt out", {name: place % 10 for place, name in enumerate(by_name)}),
        ("by name, in blocks", {name: 10 * place // n for place, name in enumerate(by_name)}),
        ("GroupKFold", {documents[item]: fold for fold, (_, test) in enumerate(grouped) for item in test}),
        ("KFold, shuffled, 0", {by_name[place]: fold for fold, (_, test) in enumerate(folded) for place in test}),
        *(
            (f"by name, {name}", {by_name[place]: number % 10 for number, place in enumerate(order)})
            for name, order in shuffled.items()
        ),
    ]


def show_splits(study: Study, kernels: Kernels, alphas: tuple[float, ...]) -> None:
    """Print means over folds, and of all folds together with scores compared across folds, for each kind."""
    learning = Learning("rls", alphas, "auc", None, 0)
    print(f"  {study.name}")
    for name, split in splits_without_chance(study):
        cells = ""
        for kind in reversed(KINDS):
            K, folds = kernels[study.name, kind], study.folds(split)
            result = cross_validate_kernel(learning, K, study.labels, study.corpus.documents, folds)
            together = measure(result.labels, result.scores, result.decisions())
            rule = "training" if kind == "article" else "calibrated"
            cells += percent(result.mean().auc, result.mean(rule).f, together.auc, result.pooled(rule).f) + "  "
        print(f"    {name:<28}{cells}", flush=True)


def choose_inside(title: str, all_results: list[tuple[str, list[CrossValidation]]]) -> list[CrossValidation]:
    """Take in each fold of each split the variant that is best inside it; say what came of it if there is a title."""
    reference = all_results[0][1]
    combined = []
    picked: dict[str, int] = {}
    for number, base in enumerate(reference):
        scores, thresholds, resampled, training = base.scores.copy(), [], [], []
        alphas, inner = [], []
        for fold in range(len(base.thresholds)):
            known = [(name, results[number]) for name, results in all_results]
            name, best = max(known, key=lambda pair: pair[1].inner[fold].auc)
            picked[name] = picked.get(name, 0) + 1
            own = base.folds == fold
            scores[own] = best.scores[own]
            thresholds.append(best.thresholds[fold])
            resampled.append(best.resampled_thresholds[fold])
            training.append(best.training_thresholds[fold])
            alphas.append(best.alphas[fold])
            inner.append(best.inner[fold])
        chosen = {
            "thresholds": thresholds,
            "resampled_thresholds": resampled,
            "training_thresholds": training,
            "alphas": alphas,
            "inner": inner,
        }
        combined.append(replace(base, scores=scores, **chosen))
    if title:
        print_variant(title, combined, reference)
        print(f"      picked: {', '.join(f'{name} {count}' for name, count in sorted(picked.items()))}")
    return combined


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
        corpus = read_interaction_xml(find(options.data, name))
        n_splits = 2 if options.quick else 20
        splits = (
            [read_split(options.data)]
            if name == "AImed"
            else [document_folds(corpus.documents, 10, random_state=seed) for seed in range(n_splits)]
        )
        studies.append(Study(name, corpus, splits))
        print(corpus)
    kernels: Kernels = {}
    known: dict[str, CrossValidation] = {}
    alphas = {study.name: (0.5,) if study.name == "AImed" else ALPHAS for study in studies}
    for study in studies:
        kernels[study.name, "article"] = kernel_of(study, VARIANTS[0])
        if "tables" in options.only:
            kernels[study.name, "parts"], known[study.name] = show_steps(options.data, study)
        else:
            kernels[study.name, "parts"] = linear_kernel(features_of(study))
    if "tables" in options.only:
        table_1(studies, kernels, known)
        for kind in KINDS:
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
            what_helps([study], kernels, alphas[study.name])


if __name__ == "__main__":
    main()

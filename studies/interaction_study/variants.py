"""What is tried beside the article: settings, features and kernel matrices, each under a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from kernelrank.estimators import AllPathsVectorizer
from kernelrank.relations import CrossValidation
from kernelrank.relations.evaluation import cross_validate_kernel
from kernelrank.relations.features import FeatureSet, linear_kernel
from kernelrank.relations.scores import Learning
from studies.interaction_study.corpora import Study


@dataclass(frozen=True)
class Variant:
    """Something to try: settings of the extractor, under a name; of parts with a norm each, or one for all."""

    name: str
    settings: dict[str, Any]
    together: bool = False


LEMMAS, WORDS_AND_LEMMAS = {"labels": ("lemma", "pos")}, {"labels": ("text", "lemma", "pos")}
# Those without features are variants of the article's graph.
VARIANTS = (
    Variant("as in the article", {}),
    Variant("sum over walks, not the maximum", {"combine": "sum"}),
    Variant("RankRLS, not RLS", {"learner": "rankrls"}),
    Variant("words in lower case", {"scheme": {"lowercase": True}}),
    Variant("lemmas, not words", {"scheme": LEMMAS}),
    Variant("words and lemmas", {"scheme": WORDS_AND_LEMMAS}),
    Variant("order weight 0.7", {"scheme": {"order_weight": 0.7}}),
    Variant("order weight 0.5", {"scheme": {"order_weight": 0.5}}),
    Variant("other weight 0.1", {"scheme": {"other_weight": 0.1}}),
    Variant("path weight 0.8", {"scheme": {"path_weight": 0.8}}),
    Variant("names without part of speech", {"scheme": {"keep_pos": False}}),
    Variant("pair tagged as between", {"scheme": {"pair_tag": "_M"}}),
    Variant("a basis of a fifth (first split)", {"basis": 0.2}),
    Variant("dependencies alone", {"features": "dependencies"}),
    Variant("path alone", {"features": "path"}),
    Variant("order alone", {"features": "order"}),
    Variant("dependencies and order, a norm each", {"features": "dependencies+order"}),
    Variant("with the path, one norm for all", {"features": "parts"}, together=True),
    Variant("path and order, a norm each", {"features": "path+order"}),
    Variant("parts: all three, a norm each", {"features": "parts"}),
    Variant("parts, RankRLS", {"features": "parts", "learner": "rankrls"}),
    Variant("parts, sum over walks", {"features": "parts", "combine": "sum"}),
    Variant("parts, order weight 0.7", {"features": "parts", "scheme": {"order_weight": 0.7}}),
    Variant("parts, lemmas, not words", {"features": "parts", "scheme": LEMMAS}),
    Variant("parts, words and lemmas", {"features": "parts", "scheme": WORDS_AND_LEMMAS}),
    Variant("parts, a basis of a fifth (first split)", {"features": "parts", "basis": 0.2}),
)


def kernel_of(study: Study, variant: Variant) -> np.ndarray:
    features, combine = variant.settings.get("features", "article"), variant.settings.get("combine", "max")
    scheme = variant.settings.get("scheme")
    if not variant.together:
        return linear_kernel(features_of(study, features, combine, scheme))
    items = FeatureSet.named(features).graphs(study.corpus.candidates, scheme)
    parts = [AllPathsVectorizer(combine=combine).fit_transform(list(part)) for part in zip(*items, strict=True)]
    return linear_kernel(normalize(sparse.hstack(parts, format="csr")))


def features_of(study: Study, features: str = "parts", combine: Any = "max", scheme: Any = None) -> Any:
    one = FeatureSet.named(features)
    return one.vectorizer(combine).fit_transform(one.graphs(study.corpus.candidates, scheme))


def learning_of(variant: Variant, alphas: tuple[float, ...], n_pairs: int) -> Learning:
    basis = variant.settings.get("basis")
    size = None if basis is None else min(4000, int(basis * n_pairs))
    return Learning(variant.settings.get("learner", "rls"), alphas, "auc", size, 0)


Kernels = dict[tuple[str, str], np.ndarray]


def cross_validate_variant(
    study: Study, variant: Variant, kernels: Kernels, alphas: tuple[float, ...], splits: list[dict[str, int]]
) -> list[CrossValidation]:
    same = not ({"features", "combine", "scheme"} & variant.settings.keys())
    K = kernels[study.name, "article"] if same else kernel_of(study, variant)
    learning, documents = learning_of(variant, alphas, len(study.labels)), study.corpus.documents
    return [
        cross_validate_kernel(learning, K, study.labels, documents, study.folds(split), variant.name)
        for split in splits
    ]


def is_order_weight(name: str) -> bool:
    """Whether a variant is the article's graph with some order weight, its own included."""
    return name == VARIANTS[0].name or name.startswith("order weight")

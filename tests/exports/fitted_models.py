"""Random fitted models of each kind that an export holds, with items to score."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelrank as kr

N_FEATURES = 5
LINEAR = ("linear", "linear, 12 basis items", "linear behind a scaler", "RankSVM", "BradleyTerry", "GreedyRankRLS")
KERNELS = (
    "poly",
    "poly, 12 basis items",
    "rbf",
    "rbf, 12 basis items",
    "cosine",
    "cosine, 12 basis items",
    "rbf behind a scaler",
    "several outputs, linear",
    "several outputs, rbf",
    "classifier of two",
    "classifier of three",
    "CoRankRLS",
    "Nyström map",
)


@functools.cache
def fitted_models() -> dict[str, object]:
    """Fit every model, once; `LINEAR` have one output and no kernel."""
    models = dict(_fitted())
    assert sorted(models) == sorted(LINEAR + KERNELS)
    return models


def random_items(n_items: int, seed: int) -> np.ndarray:
    """Columns of different sizes, some far from zero."""
    rng = np.random.default_rng(seed)
    return rng.normal([0, 5, -2, 0, 1], [1, 3, 0.5, 2, 1], size=(n_items, N_FEATURES))


def _fitted(seed: int = 0) -> Iterator[tuple[str, object]]:
    """Yield models by name: every kernel, all items or a basis, scaled or not, one output or several."""
    rng = np.random.default_rng(seed)
    X, qid = random_items(50, seed), np.repeat(np.arange(5), 10)
    y = X @ rng.normal(size=N_FEATURES) / 3 + np.sin(X[:, 0]) + rng.normal(size=50)
    Y = np.column_stack([y, -y + X[:, 1], rng.normal(size=50)])
    kernels = {"linear": {}, "poly": {"degree": 2, "coef0": 0.5}, "rbf": {"gamma": 0.2}, "cosine": {}}
    for kernel, options in kernels.items():
        for basis in (None, 12):
            ranker = kr.RankRLS(alpha=2.0, kernel=kernel, basis=basis, random_state=0, **options)
            size = "" if basis is None else f", {basis} basis items"
            yield f"{kernel}{size}", ranker.fit(X, y, qid=qid)
    scaled = make_pipeline(StandardScaler(), kr.RankRLS(kernel="rbf"))
    yield "rbf behind a scaler", scaled.fit(X, y)
    yield "linear behind a scaler", make_pipeline(StandardScaler(), kr.RankRLS()).fit(X, y)
    yield "several outputs, linear", kr.RankRLS().fit(X, Y, qid=qid)
    yield "several outputs, rbf", kr.RLS(kernel="rbf", gamma=0.1).fit(X, Y)
    yield "RankSVM", kr.RankSVM().fit(X, np.round(y), qid=qid)
    yield "BradleyTerry", kr.BradleyTerry().fit_pairs(X, [[0, 1], [2, 1], [5, 4], [7, 3]])
    yield "classifier of two", kr.RLSClassifier(kernel="rbf").fit(X, y > 0)
    yield "classifier of three", kr.RLSClassifier().fit(X, np.digitize(y, [-1, 1]))
    yield "GreedyRankRLS", kr.GreedyRankRLS(2).fit(X, y, qid=qid)
    views = [kr.View(columns=[0, 1]), kr.View(kernel="poly", degree=2), kr.View(kernel="linear", columns=[2, 3, 4])]
    yield "CoRankRLS", kr.CoRankRLS(views=views, basis=20).fit(X, y, qid=qid, X_unscored=X[:20], qid_unscored=qid[:20])
    nystrom = make_pipeline(StandardScaler(), kr.NystromMap(15, random_state=0), kr.RankRLS())
    yield "Nyström map", nystrom.fit(X, y)


def scores_of(model: object, X: np.ndarray) -> np.ndarray:
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)

"""Reuters: AUC of 25 topics from 500 documents, and why plain least squares seemed worse.

Tables 4, 5 and 1 of [PTAJB09], and its section 4.3. Of the ModApte documents 500 train and all others test, for the 25
most frequent topics, each a problem of two classes; linear kernel; alpha by the AUC of the pooled scores of ten folds.
Words of letters, without stop words, as tf-idf vectors of length one, with the vocabulary of the training documents.
RLS is run with labels -1 and 1, and 0 and 1, without an intercept, with a constant feature, and with a free intercept.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import kernelrank as kr
from kernelrank.metrics import auc
from studies.book.cell import resampled_cell, spread_cell
from studies.book.picture import legend_above, picture
from studies.book.reuters_tables import PUBLISHED
from studies.book.sources import REUTERS
from studies.book.study import Run, Study

N_TRAIN, N_TOPICS = 500, 25
ALPHAS = 2.0 ** np.arange(-8, 9)
HINGE_ALPHAS = 10.0 ** np.arange(-3, 0)  # a pair
DOCUMENT = re.compile(r"<REUTERS TOPICS=\"YES\" LEWISSPLIT=\"(?:TRAIN|TEST)\".*?</REUTERS>", re.DOTALL)
TEXT = re.compile(r"<(?:TITLE|BODY)>(.*?)</(?:TITLE|BODY)>", re.DOTALL)


def read(folder: Path) -> tuple[list[str], np.ndarray, list[str]]:
    """Return the texts, which of the most frequent topics each has, shape (documents, 25), and their names."""
    texts, labels = [], []
    for path in sorted(folder.glob("*.sgm")):
        for document in DOCUMENT.findall(path.read_text(encoding="latin-1")):
            topics = re.search(r"<TOPICS>(.*?)</TOPICS>", document, re.DOTALL)
            labels.append(set(re.findall(r"<D>(.*?)</D>", topics.group(1) if topics else "")))
            texts.append(" ".join(TEXT.findall(document)))
    counts: dict[str, int] = {}
    for topics in labels:
        for topic in topics:
            counts[topic] = counts.get(topic, 0) + 1
    frequent = sorted(sorted(counts), key=lambda topic: -counts[topic])[:N_TOPICS]
    return texts, np.array([[topic in topics for topic in sorted(frequent)] for topics in labels]), sorted(frequent)


def draw_training(Y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw documents until every topic has two of them at least, as in the paper."""
    while True:
        train = rng.permutation(len(Y))[:N_TRAIN]
        if Y[train].sum(axis=0).min() >= 2:
            return train


def pooled_best(scores: np.ndarray, y: np.ndarray) -> int:
    """Return which column of pooled held-out scores has the highest AUC."""
    return int(np.argmax([auc(y, column) for column in scores.T]))


METHODS: dict[str, tuple[Any, float, float]] = {  # the learner, the label of the others, the constant feature
    "RankRLS": (kr.RankRLS(kernel="precomputed", ties="exclude"), 0.0, 0.0),
    "RLS, labels −1 and 1": (kr.RLS(kernel="precomputed"), -1.0, 0.0),
    "RLS, labels 0 and 1": (kr.RLS(kernel="precomputed"), 0.0, 0.0),
    "RLS, labels −1 and 1, constant feature": (kr.RLS(kernel="precomputed"), -1.0, 1.0),
    "RLS, labels 0 and 1, constant feature": (kr.RLS(kernel="precomputed"), 0.0, 1.0),
    "RLS, free intercept": (kr.RankRLS(kernel="precomputed", ties="include"), 0.0, 0.0),
}


def test_scores(
    method: str, K: np.ndarray, K_test: np.ndarray, positive: np.ndarray, folds: list[np.ndarray]
) -> np.ndarray:
    """Choose alpha by the pooled AUC of the folds, and return the scores of the test documents."""
    learner, low, constant = METHODS[method]
    y = np.where(positive, 1.0, low)
    # A pair weighs 1 in RankRLS: so many of them meet an item that alpha grows with their number.
    if isinstance(learner, kr.RLS):
        scale = 1.0
    else:
        scale = float(len(y)) if learner.ties == "include" else float(positive.sum())
    alphas = ALPHAS * scale
    held = kr.holdout(learner, K + constant, y, folds, alphas=alphas)
    scores = np.empty((len(y), len(alphas)))
    scores[np.concatenate(folds)] = np.concatenate(held)
    model = learner.set_params(alpha=alphas[pooled_best(scores, positive)]).fit(K + constant, y)
    return np.asarray(model.predict(K_test + constant))


def hinge_scores(X: Any, X_test: Any, positive: np.ndarray, folds: list[np.ndarray]) -> np.ndarray:
    """Do the same with RankSVM, refitted for every fold."""
    y = positive.astype(float)
    alphas = HINGE_ALPHAS * positive.sum() * (~positive).sum()
    scores = np.empty((len(y), len(alphas)))
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(y)), fold)
        path = kr.RankSVM(tol=0.01).fit_path(X[rest], y[rest], alphas)
        scores[fold] = np.column_stack([model.predict(X[fold]) for model in path])
    best = kr.RankSVM(alphas[pooled_best(scores, positive)], tol=0.01).fit(X, y)
    return np.asarray(best.predict(X_test))


def one_draw(texts: list[str], Y: np.ndarray, seed: int, hinge: bool) -> dict[str, np.ndarray]:
    """Return the AUC of every topic by every method, from one training set."""
    rng = np.random.default_rng(seed)
    train = draw_training(Y, rng)
    test = np.setdiff1d(np.arange(len(Y)), train)
    words = TfidfVectorizer(stop_words="english", token_pattern=r"[a-z]+", sublinear_tf=True)
    X, X_test = words.fit_transform([texts[i] for i in train]), words.transform([texts[i] for i in test])
    K, K_test = (X @ X.T).toarray(), (X_test @ X.T).toarray()
    found: dict[str, list[float]] = {name: [] for name in (*METHODS, *(["RankSVM"] if hinge else []))}
    for positive, truth in zip(Y[train].T, Y[test].T, strict=True):
        # Every fold but those of a rare topic has positive documents.
        order = np.concatenate([rng.permutation(np.flatnonzero(positive)), rng.permutation(np.flatnonzero(~positive))])
        folds = [order[start::10] for start in range(10)]
        for name in METHODS:
            found[name].append(auc(truth, test_scores(name, K, K_test, positive, folds)))
        if hinge:
            # As many columns as documents: X = root times a rotation, which no learner here notices.
            root, rotated = rotation(K, K_test)
            found["RankSVM"].append(auc(truth, hinge_scores(root, rotated, positive, folds)))
    return {name: np.array(values) for name, values in found.items()}


def rotation(K: np.ndarray, K_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return features with the same kernel, as many as there are training documents."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    axes = vectors[:, kept] / np.sqrt(values[kept])
    return K @ axes, K_test @ axes


def training_times(texts: list[str], positive: np.ndarray, sizes: tuple[int, ...], seed: int) -> list[dict[str, Any]]:
    """Time RankRLS with a Gaussian kernel, as in Table 1."""
    rng = np.random.default_rng(seed)
    rows = []
    for m in sizes:
        train = rng.permutation(len(texts))[:m]
        X = TfidfVectorizer(stop_words="english", token_pattern=r"[a-z]+").fit_transform([texts[i] for i in train])
        y = positive[train].astype(float)
        row: dict[str, Any] = {"m": m}
        for name, learner in (
            ("RankRLS", kr.RankRLS(kernel="rbf")),
            ("RankSVM", kr.RankSVM(0.01 * y.sum() * (1 - y).sum(), kernel="rbf")),
        ):
            start = time.process_time()
            learner.fit(X, y)
            row[name] = time.process_time() - start
        rows.append(row)
    return rows


def whole_set(texts: list[str], positive: np.ndarray) -> dict[str, Any]:
    """Train by conjugate gradients on all documents, as in section 4.3."""
    X = TfidfVectorizer(stop_words="english", token_pattern=r"[a-z]+", min_df=2).fit_transform(texts)
    y = positive.astype(float)
    start = time.process_time()
    model = kr.RankRLS(float(len(y)), ties="exclude", solver="conjugate_gradient").fit(X, y)
    return {
        "documents": X.shape[0],
        "features": X.shape[1],
        "pairs": int(y.sum() * (1 - y).sum()),
        "iterations": model.n_iter_,
        "seconds": time.process_time() - start,
        "training_AUC": auc(y, model.predict(X)),
    }


def protocol(run: Run) -> dict[str, Any]:
    """Measure the topics over several training sets, and the times."""
    texts, Y, names = read(run.data[REUTERS])
    draws = [one_draw(texts, Y, run.seed + n, hinge=n < run["hinge_draws"]) for n in range(run["draws"])]
    means: dict[str, Any] = {}
    topics: dict[str, Any] = {name: {"documents": int(Y[:, t].sum())} for t, name in enumerate(names)}
    for method in draws[0]:
        values = np.array([draw[method] for draw in draws if method in draw])
        means[method] = {
            "over_draws": spread_cell(values.mean(axis=1)),
            "draws": len(values),
            "over_topics": resampled_cell(values.mean(axis=0), run.seed),
        }
        for t, name in enumerate(names):
            topics[name][method] = spread_cell(values[:, t])
    acq = Y[:, names.index("acq")]
    return {
        "documents": len(texts),
        "means": means,
        "topics": topics,
        "missing": sorted(set(PUBLISHED["RankRLS"]) - set(names)),
        "times": training_times(texts, acq, run["sizes"], run.seed),
        "whole": whole_set(texts, acq),
        "train": N_TRAIN,
    }


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the AUC of each topic over its number of documents, for the codings of the labels."""
    shown = ("RankRLS", "RLS, labels −1 and 1", "RLS, labels 0 and 1")
    with picture(folder / "reuters.svg", 6.4, 4.0) as figure:
        ax = figure.subplots()
        sizes = [row["documents"] for row in tables["topics"].values()]
        for name, marker in zip(shown, "o^x", strict=True):
            ax.plot(sizes, [row[name]["mean"] for row in tables["topics"].values()], marker, label=name, alpha=0.8)
        ax.set(xscale="log", xlabel="documents of the topic", ylabel="AUC on the test documents")
        legend_above(figure, ax)


STUDY = Study(
    protocol,
    data=(REUTERS,),
    settings={
        "draws": (5, 1),
        "hinge_draws": (5, 0),
        "sizes": ((1000, 1500, 2000, 2500, 4000), (500, 1000)),
    },
    published=PUBLISHED,
    draw=draw,
)

"""Sets without queries of their own, dealt into some: Reuters' documents, samples of microarrays, protein pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from kernelrank.data import read_items
from kernelrank.relations import read_interaction_xml
from kernelrank.relations.features import FeatureSet, linear_kernel
from studies.reuters import read as read_reuters

__all__ = ["interaction_queries", "microarray_queries", "reuters_queries"]

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def rotated(K: Any) -> np.ndarray:
    """Return features with this kernel, as many as there are items."""
    values, vectors = np.linalg.eigh(K)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def reuters_queries(folder: Path, n_queries: int = 60, size: int = 20) -> Columns:
    """Read some documents; those about acquisitions are to rank above the others."""
    texts, labels, names = read_reuters(folder)
    rows = np.random.default_rng(0).permutation(len(texts))[: n_queries * size]
    words = TfidfVectorizer(stop_words="english", token_pattern=r"[a-z]+", sublinear_tf=True)
    X = words.fit_transform([texts[row] for row in rows])
    y = labels[rows, names.index("acq")].astype(float)
    return rotated((X @ X.T).toarray()), y, np.repeat(np.arange(n_queries), size)


def microarray_queries(path: Path, size: int = 6) -> Columns:
    """Read a microarray; each query has samples of both classes."""
    items = read_items(str(path), target="class")
    X = StandardScaler().fit_transform(np.log2(np.maximum(items.X, 1.0)))
    order = np.argsort(items.y, kind="stable")
    n_queries = len(order) // size
    qid = np.empty(len(order), dtype=np.int64)
    qid[order] = np.arange(len(order)) % n_queries
    return rotated(X @ X.T / X.shape[1]), items.y, qid


def interaction_queries(path: Path, size: int = 20) -> Columns:
    """Read a corpus; its documents are put together until a query has so many pairs of proteins."""
    corpus = read_interaction_xml(path)
    parts = FeatureSet.named("parts")
    K = linear_kernel(parts.vectorizer("max").fit_transform(parts.graphs(corpus.candidates, None)))
    places: dict[str, list[int]] = {}
    for place, document in enumerate(corpus.documents):
        places.setdefault(document, []).append(place)
    qid, query, count = np.empty(len(K), dtype=np.int64), 0, 0
    for rows in places.values():
        qid[rows] = query
        count += len(rows)
        if count >= size:
            query, count = query + 1, 0
    return rotated(K), corpus.labels.astype(float), qid

"""The ranked parses of BioInfer as small dense matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from kernelrank.data import read_items

__all__ = ["read_parses"]

Part = tuple[np.ndarray, np.ndarray, np.ndarray]


def read_parses(folder: Path) -> tuple[Part, Part]:
    """Read training and test parses: features, scores and sentences.

    Every parse is scaled to a norm of one. The features are rotated onto the axes of all parses, which leaves every
    linear kernel as it is, and has as many columns as there are parses.
    """
    parts = [read_items(str(folder / f"rank_{name}.light")) for name in ("train", "test")]
    width = max(part.X.shape[1] for part in parts)
    rows = []
    for part in parts:
        X = sparse.csr_array(part.X)
        X.resize((X.shape[0], width))
        rows.append(X)
    X = normalize(sparse.vstack(rows, format="csr"))
    values, vectors = np.linalg.eigh((X @ X.T).toarray())
    dense = vectors * np.sqrt(np.maximum(values, 0.0))
    cut = len(parts[0].y)
    labels = [(part.y, np.asarray(part.qid)) for part in parts]
    return (dense[:cut], *labels[0]), (dense[cut:], *labels[1])

"""Linear models of other rankers: RankLib's and those of SVM-rank, as weights of numbered features."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernelrank.base.arrays import Float
from kernelrank.data.line import LARGEST_INDEX, shown
from kernelrank.errors import FileFormatError

__all__ = ["LinearModelFile", "is_linear_model_file", "read_linear_model"]

RANKLIB, SVM_RANK = b"## ", b"SVM-light Version"
RANKLIB_LINEAR = ("Coordinate Ascent", "Linear Regression")
SVM_SETTINGS = 10
"""How many lines of settings an SVM-light file has between its version and its support vectors."""


@dataclass(frozen=True, eq=False)
class LinearModelFile:
    """The weights of a linear model that another program wrote.

    Parameters
    ----------
    program : {"RankLib", "SVM-rank"}
    method : str
        The method named in the file.
    weights : ndarray, shape (n,)
        Those of the features 1 to n; 0 for a feature that the file does not name. A constant is left out, because it
        does not change the order.
    """

    program: str
    method: str
    weights: Float

    def scores(self, X: Any, first_index: int = 1) -> Float:
        """Return the scores of items, shape (m,); features that the model does not have count 0.

        O(m n) time.

        Parameters
        ----------
        X : ndarray or sparse matrix, shape (m, columns)
        first_index : int, default=1
            The number of the first column.
        """
        weights = np.zeros(X.shape[1])
        numbers = np.arange(first_index, first_index + X.shape[1])
        known = (numbers >= 1) & (numbers <= len(self.weights))
        weights[known] = self.weights[numbers[known] - 1]
        product: Any = X @ weights
        return np.asarray(product.toarray() if sparse.issparse(product) else product, dtype=np.float64)


def is_linear_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as models of RankLib or SVM-rank do."""
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(SVM_RANK)).startswith((RANKLIB, SVM_RANK))


def read_linear_model(path: str | os.PathLike[str]) -> LinearModelFile:
    r"""Read a linear model of RankLib (coordinate ascent, linear regression) or SVM-rank.

    Time O(bytes).

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    LinearModelFile

    Raises
    ------
    FileFormatError
        Where a line cannot be read, or the model is not linear.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.txt"
    ...     _ = file.write_text("## Coordinate Ascent\n## Restart = 5\n1:0.5 3:-2\n")
    ...     model = read_linear_model(file)
    >>> model.method, model.weights.tolist()
    ('Coordinate Ascent', [0.5, 0.0, -2.0])
    """
    lines = Path(path).read_bytes().splitlines()
    name = os.fspath(path)
    if lines and lines[0].startswith(RANKLIB):
        return _ranklib(lines, name)
    if lines and lines[0].startswith(SVM_RANK):
        return _svm_rank(lines, name)
    raise FileFormatError(
        "expected a model of RankLib or SVM-rank, which begin with '## ' or 'SVM-light Version'", name
    )


def _ranklib(lines: list[bytes], path: str) -> LinearModelFile:
    method = lines[0].removeprefix(RANKLIB).decode(errors="replace").strip()
    if method not in RANKLIB_LINEAR:
        raise FileFormatError(
            f"expected a linear model, {' or '.join(RANKLIB_LINEAR)}; the file holds {method!r}. Score the items with "
            "RankLib and compare the runs.",
            path,
            1,
        )
    weights: dict[int, float] = {}
    for number, line in enumerate(lines, start=1):
        if not line.startswith(b"##") and line.strip():
            weights |= _features(line.split(), path, number)
    weights.pop(0, None)  # the constant of linear regression
    return LinearModelFile("RankLib", method, _dense(weights, path))


def _svm_rank(lines: list[bytes], path: str) -> LinearModelFile:
    if len(lines) <= SVM_SETTINGS:
        raise FileFormatError("expected support vectors after ten lines of settings; the file ends before", path)
    kernel = lines[1].partition(b"#")[0].strip()
    if kernel != b"0":
        raise FileFormatError(
            f"expected a linear kernel, type 0; got {shown(kernel)}. Score the items with svm_rank_classify and "
            "compare the runs.",
            path,
            2,
        )
    weights: dict[int, float] = {}
    for number, line in enumerate(lines[SVM_SETTINGS + 1 :], start=SVM_SETTINGS + 2):
        words = [word for word in line.partition(b"#")[0].split() if not word.startswith(b"qid:")]
        if not words:
            continue
        factor = _number(words[0], path, number)
        for feature, value in _features(words[1:], path, number).items():
            weights[feature] = weights.get(feature, 0.0) + factor * value
    return LinearModelFile("SVM-rank", lines[0].decode(errors="replace").strip(), _dense(weights, path))


def _features(words: list[bytes], path: str, line: int) -> dict[int, float]:
    found = {}
    for word in words:
        index, colon, value = word.partition(b":")
        if not (colon and index.isdigit() and int(index) <= LARGEST_INDEX):
            raise FileFormatError(f"expected feature:weight, got {shown(word)}", path, line)
        found[int(index)] = _number(value, path, line)
    return found


def _number(word: bytes, path: str, line: int) -> float:
    try:
        value = float(word)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise FileFormatError(f"expected a finite number, got {shown(word)}", path, line)
    return value


def _dense(weights: dict[int, float], path: str) -> Float:
    if not weights or max(weights) == 0:
        raise FileFormatError("expected at least one weight; there is none", path)
    if max(weights) > 100 * len(weights) + 1_000_000:
        raise FileFormatError(f"the file has {len(weights):,} weights, but a feature number of {max(weights):,}", path)
    dense = np.zeros(max(weights))
    for feature, weight in weights.items():
        if feature > 0:
            dense[feature - 1] = weight
    return dense

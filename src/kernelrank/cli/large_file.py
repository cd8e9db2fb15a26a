"""Large files: ``kernelrank fit`` learns from a large Parquet, CSV or TSV file in batches, if the learner supports it.

The model is that of all items in memory, but it knows no medians: a file that it scores later may have no missing
cells. What needs them all at once is read into memory as any other file: a target
that is a class, weights, ids without queries, queries whose rows are not contiguous. So is a file with a fault, so
that the error is the same, however large the file is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelrank.cli import sources

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.cli.learner import LearnerOptions
    from kernelrank.cli.sources import SourceFile
    from kernelrank.data.readers import StoredTable

__all__ = ["LargeFile", "fit_large_file"]


@dataclass(frozen=True)
class LargeFile:
    """A file that was learnt in batches, and what is known of its items.

    Parameters
    ----------
    stored : StoredTable
    n_queries : int or None
    """

    stored: StoredTable
    n_queries: int | None
    ids: None = None
    classes: None = None
    preparation: None = None
    first_index: int = 1

    def __len__(self) -> int:
        return self.stored.n_items

    @property
    def path(self) -> str:
        """What messages call the file."""
        return self.stored.path

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.stored.n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """What the columns are called."""
        return None if self.stored.names is None else tuple(self.stored.names)


def fit_large_file(
    source: SourceFile, learner: LearnerOptions, alpha: float | None, answer: Answer
) -> tuple[Any, Any, LargeFile] | None:
    """Return the scaling, the fitted ranker and its data; None if the file has to be read into memory."""
    from kernelrank.errors import KernelRankError
    from kernelrank.estimators.streams import batch_mode

    if learner.kernel != "linear" or learner.basis is not None:
        return None
    try:
        stored = _opened(source)
        if stored is None:
            return None
        ranker = learner.estimator(alpha)
        if not hasattr(ranker, "fit_stream") or (stored.has_queries and not ranker.compares_queries):
            return None
        mode = batch_mode(ranker, stored, "whole")
        scaler = _scaler(stored) if learner.scale else None
        with answer.noting_warnings():
            ranker.fit_stream(_batches(stored, scaler, whole_queries=mode == "whole"), queries=mode)
    except KernelRankError:
        return None
    answer.note(f"{stored.path}: {'; '.join(stored.notes)}")
    return scaler, ranker, LargeFile(stored, ranker.n_queries_ if stored.has_queries else None)


def _opened(source: SourceFile) -> StoredTable | None:
    import numpy as np

    from kernelrank.data.readers import StoredTable, open_table
    from kernelrank.data.text import file_format

    if source.positive is not None or source.ordinal:
        return None
    table = open_table(str(source.path), file_format(str(source.path), source.format))
    # A number takes about as many bytes in text as in memory.
    size = source.path.stat().st_size if table.n_rows is None else 8 * table.n_rows * len(table.names)
    if size < sources.LARGE_BYTES:
        return None
    stored = StoredTable(table, source.request(), dtype=np.dtype(np.float64))
    roles = stored.reader.roles
    if roles.weight is not None or (roles.id is not None and roles.query is None):
        return None
    return stored


def _scaler(stored: StoredTable) -> Any:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    for chunk in stored.chunks(whole_queries=False):
        scaler.partial_fit(chunk.X)
    return scaler


def _batches(stored: StoredTable, scaler: Any, *, whole_queries: bool) -> Iterator[tuple[Any, Any, Any]]:
    from kernelrank.cli.learner import scaled

    for chunk in stored.chunks(whole_queries=whole_queries):
        yield scaled(scaler, chunk.X), chunk.y, chunk.qid

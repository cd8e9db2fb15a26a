"""Fitting to a file: X is a path, and the file is read in batches that need not fit into memory together.

========================================  =====================================  ====================================
path                                      y, qid                                 how
========================================  =====================================  ====================================
Parquet file, or a folder of them         names of columns                       batches of whole queries
CSV or TSV file, compressed too           names of columns                       batches of whole queries
SVMlight or LETOR file, compressed too    none: they are in the file             batches of whole queries
``.npy``                                  arrays, or ``.npy`` paths themselves   mapped into memory, then as any array
========================================  =====================================  ====================================

The format is determined as by the command, from the suffix or the first line. No column is guessed: an error about a
missing or unknown column lists the columns. All other columns of numbers are features.

A basis is drawn from all items, as in memory, so that a file gives the same model; this takes one more reading, which
collects the basis items.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernelrank.base.arrays import Index, Matrix
from kernelrank.base.progress import track
from kernelrank.base.validation import FilePath
from kernelrank.comparisons.costs import resolved_cost
from kernelrank.data.ranking import Ranking
from kernelrank.data.side_files import refuse_side_queries
from kernelrank.data.stored import StoredRanking, open_stored
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.stream_statistics import QueryMode
from kernelrank.estimators.streams import StreamLearner

__all__ = ["batch_mode", "fit_file"]


def fit_file(
    learner: StreamLearner,
    path: FilePath,
    target: str | None,
    query: str | None,
    sample_weight: Any,
    queries: QueryMode,
) -> None:
    """Learn from a file of any format; the learner is not restored when that fails.

    Parameters
    ----------
    learner : RLS or RankRLS
    path : str or path-like
    target, query : str, optional
        The columns of scores and of queries.
    sample_weight : None
        There are no weights in files.
    queries : {"whole", "mergeable"}
        As in `partial_fit`. A file without queries is one ranking, whose batches are merged.

    Notes
    -----
    O(m r²) time and one batch and r² numbers of memory, as `fit_stream`.
    """
    _check_learner(learner, path)
    if sample_weight is not None:
        raise InvalidInputError("sample_weight is not supported when X is a path. Use partial_fit, which accepts it.")
    stored = open_stored(path, target=target, query=query)
    mode = batch_mode(learner, stored, queries)
    learner._clear()
    name = Path(path).name
    if learner.basis is not None:
        _read_basis(learner, stored, name)
    first = [0]

    def chunks() -> Generator[Ranking, None, None]:
        for chunk in stored.chunks(whole_queries=mode == "whole" and learner.compares_queries):
            yield chunk
            first.append(first[-1] + len(chunk.y))

    with closing(chunks()) as batches:
        learner._learn_batches(batches, mode, stored.n_items, name, lambda n: f"{path}, from row {first[n] + 1:,} on")
    learner._solve_stream()
    if stored.names is not None:
        learner.feature_names_in_ = np.array(stored.names, dtype=object)


def _check_learner(learner: StreamLearner, path: FilePath) -> None:
    """Raise an error that explains why a learner cannot learn in batches."""
    if learner._can_stream():
        return
    reason = "a precomputed kernel cannot be read in batches: use another kernel"
    if not learner._kernel_of_parameters().precomputed:
        reason = f"kernel={learner.kernel!r} without a basis compares every item with every other: give basis=1000"
    raise InvalidInputError(
        f"{type(learner).__name__} cannot be fitted to {os.fspath(path)}: {reason}, or read the file into memory first"
    )


def batch_mode(learner: StreamLearner, stored: StoredRanking, queries: QueryMode) -> QueryMode:
    """Return how batches are joined: without queries they are parts of one ranking, as they would be in memory."""
    if not learner.compares_queries:
        return "whole"
    if not stored.has_queries:
        refuse_side_queries(stored.path)
    mergeable = (
        resolved_cost(getattr(learner, "cost", "auto")) == "magnitude" and getattr(learner, "ties", "") == "include"
    )
    return "mergeable" if not stored.has_queries and mergeable else queries


def _read_basis(learner: StreamLearner, stored: StoredRanking, name: str) -> None:
    """Draw the basis from all items and read its rows."""
    basis = learner._draw_basis(stored.n_items)
    order = np.argsort(basis, kind="stable")
    parts: list[Matrix] = []
    start = 0
    reading = track(
        stored.chunks(whole_queries=False), stored.n_items, f"basis of {name}", size=lambda c: len(c.y), noun="rows"
    )
    with closing(reading):
        for chunk in reading:
            stop = start + len(chunk.y)
            here = basis[order[slice(*np.searchsorted(basis[order], [start, stop]))]]
            parts.append(chunk.X[here - start])
            start = stop
            if start > basis.max():
                break
    rows = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    learner.basis_ = basis
    learner.X_fit_ = learner._check_items(rows[_inverse(order)], reset=True, least=1)


def _inverse(order: Index) -> Index:
    """Return the permutation that undoes another."""
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse

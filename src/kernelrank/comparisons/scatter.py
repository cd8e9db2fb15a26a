"""The scatter of queries: ``Φᵀ L Φ`` for scored queries, accumulated block by block from centred rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from kernelrank.base.arrays import Float, GramSum, Index, Matrix, Sparse, block_rows
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import Queries


def query_scatter(
    Phi: Matrix,
    queries: Queries,
    weight: Float,
    degree: Float,
    c: Float,
    levels: Index | None,
    target: Float,
    block_bytes: int,
) -> tuple[Float, Float]:
    """Accumulate ``Φᵀ D Φ - (PᵀΦ)ᵀ(PᵀΦ) + (RᵀΦ)ᵀ(RᵀΦ)`` and ``Φᵀ M N`` in one pass and without cancellation.

    The Laplacian does not see a constant added to a query, so every row is first moved by its query's mean; then
    ``PᵀΦ = 0``, and only sums of squares are left. Queries are taken whole, as many as fit into a block. A query
    larger than a block is moved by the mean of its first part, and what then is left of ``PᵀΦ`` is small.

    O(m n²) time; two blocks and n² numbers of memory. The blocks are allocated once: an allocator that gives memory
    back at every turn, as that of a Dask worker does, makes new ones cost more than the arithmetic.

    Shapes: Phi (m, n), weight, degree (m,), c (n_queries,), levels (m,), target (m, outputs); returns gram (n, n),
    returns right (n, outputs).
    """
    n = Phi.shape[1]
    # The rows of Φ and what is made of them should stay in the cache together.
    stored = isinstance(Phi, np.ndarray)
    # At least 256 rows at a time, however many columns; rows that are computed on demand come in small blocks anyway.
    least = min(256, block_rows(n, block_bytes)) if stored else 1_024
    step = max(block_rows(n, block_bytes // 2), least)
    size = min(step, Phi.shape[0])
    copies = np.empty((size, n)) if stored else None
    spare = np.empty((size, n))
    total, right = GramSum(n), np.zeros((n, target.shape[1]))
    order = _sorted_items(queries, levels)
    root, all_one = np.sqrt(degree), bool(np.all(weight == 1.0))
    level_sums, large = _LevelSums(total, n), _LargeQuery(total, n)
    for start, stop, bounds in _pieces(queries.bounds, step):
        items = slice(start, stop) if order is None else order[start:stop]
        work = spare[: stop - start]
        rows, block = _rows_and_block(Phi, items, copies)
        row_weight = weight[: stop - start] if all_one else weight[items]
        if len(bounds) > 0:
            # Rows that are read from Φ itself leave the block free, and one block less has to stay in the cache.
            subtract_query_means(rows, bounds - start, row_weight, work if rows is block else block, block)
        else:
            query = int(queries.codes[start if order is None else order[start]])
            large.move(rows, row_weight, query, float(c[query]), block)
        right += block.T @ target[items]
        if levels is not None:
            weighted = np.multiply(block, row_weight[:, None], out=work)
            level_sums.add(weighted, levels[items], c[queries.codes[items]])
        scale = root[items]
        # BLAS leaves out what is multiplied by zero, and with it a NaN that has to be seen.
        if scale[0] == scale[-1] != 0.0 and np.all(scale == scale[0]):
            total.add(block, float(scale[0]) ** 2)
            continue
        block *= scale[:, None]
        total.add(block)
    level_sums.close()
    large.close()
    return total.matrix(), right


class _LargeQuery:
    """Moves the parts of a query that is larger than a block, and takes ``(PᵀΦ)ᵀ(PᵀΦ)`` of what is left away.

    Not by `QueryMoments`: with ties left out the degrees of a query differ, so that its parts do not merge by their
    means. All parts are moved by one vector instead, which serves both cases, and no scatter is kept apart.
    """

    def __init__(self, total: GramSum, n: int) -> None:
        self.total = total
        self.query, self.c = -1, 0.0
        self.shift, self.sum = np.zeros(n), np.zeros(n)

    def move(self, rows: Float, weight: Float, query: int, c: float, out: Float) -> None:
        if query != self.query:
            self.close()
            self.query, self.c = query, c
            self.shift = weight @ rows / max(float(weight.sum()), np.finfo(np.float64).tiny)
            self.sum = np.zeros_like(self.shift)
        np.subtract(rows, self.shift, out=out)
        self.sum += weight @ out

    def close(self) -> None:
        self.total.add(self.sum[None], -self.c)


class _LevelSums:
    """Adds ``(RᵀΦ)ᵀ(RᵀΦ)`` to a total; a level cut by the end of a block is carried into the next one."""

    def __init__(self, total: GramSum, n: int) -> None:
        self.total = total
        self.level = -1
        self.carried = np.zeros((1, n))

    def add(self, block: Float, levels: Index, c: Float) -> None:
        starts = np.flatnonzero(np.diff(levels, prepend=levels[0] - 1))
        sums = np.add.reduceat(block, starts, axis=0)
        sums *= np.sqrt(c[starts])[:, None]
        if levels[0] == self.level:
            sums[0] += self.carried[0]
        else:
            self.close()
        self.level, self.carried = int(levels[-1]), sums[-1:].copy()
        self.total.add(sums[:-1])

    def close(self) -> None:
        self.total.add(self.carried)


def _rows_and_block(Phi: Matrix, items: slice | Index, copies: Float | None) -> tuple[Float, Float]:
    """Return some rows in float64 and an array that may be overwritten: the same one unless the rows are those of Φ."""
    if copies is None:
        rows = np.asarray(Phi[items], dtype=np.float64)
        return rows, rows
    if isinstance(items, slice):
        block = copies[: items.stop - items.start]
        if Phi.dtype == np.float64 and Phi.flags.c_contiguous:
            return np.asarray(Phi[items]), block
        block[:] = Phi[items]
        return block, block
    block = copies[: len(items)]
    if Phi.dtype == np.float64:
        np.take(Phi, items, axis=0, mode="clip", out=block)
    else:
        block[:] = np.take(Phi, items, axis=0, mode="clip")
    return block, block


def _sorted_items(queries: Queries, levels: Index | None) -> Index | None:
    """Return the items sorted by query and level, or None if they are sorted already."""
    if levels is not None:
        return np.argsort(levels, kind="stable")
    return None if queries.contiguous else queries.order


def _pieces(bounds: Index, step: int) -> Iterator[tuple[int, int, Index]]:
    """Cut the sorted items into blocks of at most `step`.

    Yields ``start, stop, bounds``: the bounds of the whole queries in the block, or none in a part of a large one.
    """
    first = 0
    while first < len(bounds) - 1:
        last = int(np.searchsorted(bounds, bounds[first] + step, side="right")) - 1
        if last > first:
            yield int(bounds[first]), int(bounds[last]), bounds[first : last + 1]
            first = last
            continue
        for start in range(int(bounds[first]), int(bounds[first + 1]), step):
            yield start, min(start + step, int(bounds[first + 1])), bounds[:0]
        first += 1


def subtract_query_means(rows: Float, bounds: Index, weight: Float, work: Float, out: Float) -> None:
    """Subtract the weighted mean of each query.

    Shapes: rows (k, n), bounds (queries + 1,), weight (k,), work (k, n), out (k, n).

    work: Is overwritten; not `rows`.
    """
    sizes = np.diff(bounds)
    sums = sparse.csr_array((weight, np.arange(len(rows)), bounds), shape=(len(sizes), len(rows))) @ rows
    totals = np.add.reduceat(weight, bounds[:-1])
    sums /= np.where(totals > 0, totals, 1.0)[:, None]
    np.subtract(rows, np.take(sums, np.repeat(np.arange(len(sizes)), sizes), axis=0, mode="clip", out=work), out=out)


# Query shift ----------------------------------------------------------------------------------------------------------
#
# The shift of queries: the mean over a query is subtracted from sparse columns that all its items store.
#
# A Laplacian does not see a constant that is added to a query, but rounding does: the sums of squares of a column that
# is large relative to its variation inside the queries, such as a date or a property of the query itself, cancel to
# noise. Dense rows are moved by the mean of their query. Sparse ones would fill up, but where all items of a query
# store a column they would not; and where some do not, zeros among large numbers are variation enough.


def shift_queries(Phi: Sparse, queries: Queries, weight: Float) -> Sparse:
    """Return sparse features less the means of what whole queries store.

    O(nnz) time, and as many numbers of memory. Where columns are stored here and there, a few items of each query tell
    that there is nothing to do.

    Shapes: Phi (m, n), weight (m,); returns (m, n).
    """
    rows = Phi.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if not _any_whole(rows.indices, rows.indptr, queries.order, queries.bounds, weight, rows.shape[1]):
        return Phi
    data = np.array(rows.data, dtype=np.float64)
    _subtract_means(data, rows.indices, rows.indptr, queries.order, queries.bounds, weight, rows.shape[1])
    return type(rows)((data, rows.indices, rows.indptr), shape=rows.shape)


@compiled
def _any_whole(indices: Index, indptr: Index, order: Index, bounds: Index, weight: Float, n_columns: int) -> bool:
    """Return whether any query of two items or more stores a column in all of them."""
    # The last item, counted over all queries, up to which each column was in every item of the query.
    seen = np.full(n_columns, -1, dtype=np.int64)
    for q in range(len(bounds) - 1):
        first, last, left = bounds[q], bounds[q], 1
        for place in range(bounds[q], bounds[q + 1]):
            i = order[place]
            if weight[i] <= 0.0:
                continue
            left = 0
            for entry in range(indptr[i], indptr[i + 1]):
                column = indices[entry]
                if last == first or seen[column] == last:
                    seen[column] = last + 1
                    left += 1
            last += 1
            if left == 0:
                break
        if left > 0 and last - first > 1:
            return True
    return False


@compiled
def _subtract_means(
    data: Float, indices: Index, indptr: Index, order: Index, bounds: Index, weight: Float, n_columns: int
) -> None:
    """Change the stored entries of columns that all items of a query with a weight store."""
    count = np.zeros(n_columns, dtype=np.int64)
    total = np.zeros(n_columns)
    for q in range(len(bounds) - 1):
        items = order[bounds[q] : bounds[q + 1]]
        n_items, mass = 0, 0.0
        for i in items:
            if weight[i] > 0.0:
                n_items += 1
                mass += weight[i]
                for place in range(indptr[i], indptr[i + 1]):
                    count[indices[place]] += 1
                    total[indices[place]] += weight[i] * data[place]
        for i in items:
            for place in range(indptr[i], indptr[i + 1]):
                if n_items > 0 and count[indices[place]] == n_items:
                    data[place] -= total[indices[place]] / mass
        for i in items:
            for place in range(indptr[i], indptr[i + 1]):
                count[indices[place]] = 0
                total[indices[place]] = 0.0

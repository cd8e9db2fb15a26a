"""Chunks of a ranking file: joined they are the file, and memory does not grow with it."""

from __future__ import annotations

import io
import tracemalloc

import numpy as np
import pytest

from kernelrank.data import make_ranking, read_ranking, read_ranking_chunks, write_ranking
from kernelrank.errors import FileFormatError, InvalidInputError


class TestChunks:
    def file(self, tmp_path, **options):
        path = tmp_path / "r.txt"
        X, y, qid = make_ranking(12, (1, 9), 5, density=0.5, random_state=3, **options)
        write_ranking(path, X, y, qid=qid, docid=[f"d{i}" for i in range(len(y))])
        return path

    @pytest.mark.parametrize("chunk_rows", [1, 2, 7, 1000])
    @pytest.mark.parametrize("whole_queries", [False, True])
    @pytest.mark.parametrize("sparse", [False, True])
    def test_joined_they_are_the_file(self, tmp_path, monkeypatch, chunk_rows, whole_queries, sparse):
        monkeypatch.setattr("kernelrank.data.text.BLOCK_BYTES", 200)
        path = self.file(tmp_path)
        whole = read_ranking(path, sparse=False)
        chunks = list(read_ranking_chunks(path, chunk_rows=chunk_rows, whole_queries=whole_queries, sparse=sparse))
        dense = [chunk.X.toarray() if sparse else chunk.X for chunk in chunks]
        assert np.array_equal(np.concatenate(dense), whole.X)
        for name in ("y", "qid", "docid"):
            assert np.array_equal(np.concatenate([getattr(chunk, name) for chunk in chunks]), getattr(whole, name))
        sizes = [len(chunk.y) for chunk in chunks]
        if whole_queries:
            members = [set(chunk.qid.tolist()) for chunk in chunks]
            assert sum(map(len, members)) == len(set(whole.qid.tolist()))
            assert all(size <= chunk_rows or len(queries) == 1 for size, queries in zip(sizes, members, strict=True))
        else:
            assert set(sizes[:-1]) <= {chunk_rows}
            assert 0 < sizes[-1] <= chunk_rows

    def test_chunks_of_whole_queries_are_as_large_as_they_can_be(self):
        text = b"".join(b"1 qid:%d\n" % q for q in [1, 1, 2, 2, 3, 4, 4, 4, 4, 4, 5])
        chunks = read_ranking_chunks(io.BytesIO(text), chunk_rows=4, whole_queries=True)
        assert [chunk.qid.tolist() for chunk in chunks] == [[1, 1, 2, 2], [3], [4] * 5, [5]]

    def test_scattered_queries(self, tmp_path):
        path = self.file(tmp_path, shuffle=True)
        assert len(list(read_ranking_chunks(path, chunk_rows=3))) > 1
        with pytest.raises(FileFormatError, match=r"line \d+: the rows of query \d+ are not contiguous"):
            list(read_ranking_chunks(path, chunk_rows=3, whole_queries=True))

    def test_whole_queries_without_queries(self):
        with pytest.raises(FileFormatError, match="line 2: whole_queries=True, but the row has no qid"):
            list(read_ranking_chunks(io.BytesIO(b"#\n1 1:1\n"), whole_queries=True))

    def test_all_chunks_are_as_wide_as_the_file(self):
        text = b"1 1:1\n1 0:1\n1 9:1\n"
        assert [c.X.shape for c in read_ranking_chunks(io.BytesIO(text), chunk_rows=1)] == [(1, 10)] * 3

    def test_errors_come_before_the_first_chunk(self):
        with pytest.raises(FileFormatError, match="line 3"):
            next(read_ranking_chunks(io.BytesIO(b"1 1:1\n1 1:1\n1 1:x\n"), chunk_rows=1))

    def test_a_file_object_is_read_from_where_it_stands(self):
        file = io.BytesIO(b"skip\n1 1:1\n2 1:1\n")
        file.readline()
        assert [chunk.y.tolist() for chunk in read_ranking_chunks(file, chunk_rows=1)] == [[1], [2]]

    def test_options(self):
        with pytest.raises(InvalidInputError, match="chunk_rows must be at least 1, got 0"):
            read_ranking_chunks(io.BytesIO(b"1 1:1\n"), chunk_rows=0)
        stream = io.BytesIO(b"1 1:1\n")
        stream.seekable = lambda: False
        with pytest.raises(InvalidInputError, match="can be read twice"):
            next(read_ranking_chunks(stream))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.txt"
    line = b" ".join(b"%d:%.6f" % (i, i / 7) for i in range(1, 41))
    path.write_bytes(b"".join(b"%d qid:%d %s\n" % (i % 3, i // 50, line) for i in range(30_000)))
    return path


def peak_memory(action):
    action()  # compiled before
    tracemalloc.start()
    try:
        result = action()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


def test_memory_is_the_result_and_a_block(large):
    peak, ranking = peak_memory(lambda: read_ranking(large))
    result = sum(a.nbytes for a in (ranking.X.data, ranking.X.indices, ranking.X.indptr, *ranking[1:]))
    assert peak < 1.25 * result + 16 * 2**20


def test_memory_of_chunks_does_not_grow_with_the_file(large):
    def read():
        for chunk in read_ranking_chunks(large, chunk_rows=1000):
            del chunk

    assert peak_memory(read)[0] < 20 * 2**20

"""Long labels: one of them must not make every row as wide, and those of absurd length are refused by name."""

import io
import tracemalloc

import numpy as np
import pytest

from kernelrank.base.labels import Queries
from kernelrank.data import (
    Qrels,
    Run,
    read_item_chunks,
    read_items,
    read_pairs,
    read_qrels,
    read_ranking,
    read_ranking_chunks,
    read_run,
    write_items,
    write_qrels,
    write_run,
    write_scores,
)
from kernelrank.data.delimited import DelimitedTable
from kernelrank.data.text import LONGEST_LABEL
from kernelrank.errors import FileFormatError
from kernelrank.metrics import NDCG
from kernelrank.metrics.runs import JudgedRun

N_ROWS = 2_000
LIMIT = 60 * 2**20
"""One array of fixed width would take 500 MiB."""


@pytest.fixture
def small_memory():
    """Measure what the test allocates, but for what compiling the loops takes."""
    read_ranking(io.BytesIO(b"1 qid:a 1:1 # b\n"))
    DelimitedTable(io.BytesIO(b"y,x\na,1\n"))
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < LIMIT, f"{peak / 2**20:.0f} MiB"


def labels(n=N_ROWS, *, distinct=False):
    """Return short labels, and ten as long as may be."""
    short = [f"i{row}" if distinct else f"q{row // 10}" for row in range(n)]
    for place in range(10):
        short[place * 10] = chr(ord("a") + place) * LONGEST_LABEL
    return short


def ranking_text(qid, docid):
    return "".join(
        f"{row % 3} qid:{q} 1:{row} # docid = {d}\n" for row, (q, d) in enumerate(zip(qid, docid, strict=True))
    )


def table_text(qid, ids, groups, words):
    rows = zip(qid, ids, groups, words, strict=True)
    return "qid,id,group,target,x\n" + "".join(f"{','.join(row)},{number}\n" for number, row in enumerate(rows))


class TestMemory:
    @pytest.mark.parametrize("sparse", [True, False])
    def test_ranking(self, tmp_path, small_memory, sparse):
        (tmp_path / "a.txt").write_text(ranking_text(labels(), labels(distinct=True)))
        ranking = read_ranking(tmp_path / "a.txt", sparse=sparse)
        assert ranking.qid.tolist() == labels()
        assert ranking.docid.tolist() == labels(distinct=True)
        assert sum(len(chunk.y) for chunk in read_ranking_chunks(tmp_path / "a.txt", chunk_rows=700)) == N_ROWS

    def test_tables(self, tmp_path, small_memory):
        words = ["c" * LONGEST_LABEL, "d"] * 10 + ["d"] * (N_ROWS - 20)
        (tmp_path / "a.csv").write_text(table_text(labels(), labels(distinct=True), labels(), words))
        items = read_items(tmp_path / "a.csv")
        assert items.qid.tolist() == items.groups.tolist() == labels()
        assert items.ids.tolist() == labels(distinct=True)
        assert items.y.sum() == N_ROWS - 10
        assert sum(len(chunk) for chunk in read_item_chunks(tmp_path / "a.csv", chunk_rows=700)) == N_ROWS
        for name in ("b.parquet", "b.csv", "b.txt"):
            write_items(items, tmp_path / name)
            again = read_items(tmp_path / name)
            assert again.qid.tolist() == labels()
            assert again.ids.tolist() == labels(distinct=True)

    def test_trec(self, tmp_path, small_memory):
        qid, ids = labels(), labels(distinct=True)
        write_run(Run(qid, ids, np.arange(N_ROWS), "tag"), tmp_path / "run")
        write_qrels(Qrels(qid, ids, np.arange(N_ROWS) % 2), tmp_path / "qrels")
        write_scores(tmp_path / "scores.csv", np.arange(N_ROWS), format="csv", qid=qid, ids=ids)
        run, qrels = read_run(tmp_path / "run"), read_qrels(tmp_path / "qrels")
        assert set(run.qid) == set(qrels.qid) == set(qid)
        assert set(run.ids) == set(qrels.ids) == set(ids)
        judged = JudgedRun.of(run[:3], qrels)
        assert len(judged.measure(NDCG(10))) > 0

    def test_preferences(self, tmp_path, small_memory):
        ids = labels(distinct=True)
        (tmp_path / "a.txt").write_text("".join(f"{a} {b}\n" for a, b in zip(ids[1:], ids, strict=False)))
        assert set(read_pairs(tmp_path / "a.txt").names) == set(ids)

    def test_queries(self, small_memory):
        queries = Queries.from_labels(labels(), N_ROWS)
        assert queries.labels[queries.codes].tolist() == labels()


ABSURD = "x" * 1_000_000
TOO_LONG = r"has 1,000,000 bytes: expected at most 65,536"


class TestAbsurdLengths:
    def test_the_file_of_the_report(self, tmp_path, small_memory):
        # 20,000 short labels and one of a megabyte asked for 11.6 GiB.
        rows = [f"1 qid:q{row} 1:1" for row in range(20_000)]
        rows[10_000] = f"1 qid:{ABSURD} 1:1"
        (tmp_path / "a.txt").write_text("\n".join(rows))
        with pytest.raises(FileFormatError, match=rf"a.txt, line 10001, column 'qid': the query label {TOO_LONG}"):
            read_items(tmp_path / "a.txt")

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            (
                "a.txt",
                f"1 qid:1 1:1\n1 qid:1 1:1 # docid = {ABSURD}\n",
                "line 2, column 'docid': the docid in the comment",
            ),
            ("a.csv", f"y,qid,x\n1,a,1\n1,{ABSURD},1\n", "line 3, column 'qid': the label"),
            ("a.csv", f"y,id,x\n1,a,1\n1,{ABSURD},1\n", "line 3, column 'id': the label"),
            ("a.csv", f"y,group,x\n1,a,1\n1,{ABSURD},1\n", "line 3, column 'group': the label"),
            ("a.csv", f"y,x\na,1\n{ABSURD},1\n", "line 3, column 'y': the label"),
            ("a.csv", f"y,{ABSURD}\na,1\n", "line 1: the name of column 2"),
        ],
    )
    def test_items(self, tmp_path, name, text, message):
        (tmp_path / name).write_text(text)
        with pytest.raises(FileFormatError, match=f"{name}, {message} {TOO_LONG}") as error:
            read_items(tmp_path / name)
        assert len(str(error.value)) < 300

    @pytest.mark.parametrize(
        ("read", "text", "message"),
        [
            (read_run, f"q Q0 d 1 1 t\nq Q0 {ABSURD} 1 1 t\n", "line 2, column 'document': the word"),
            (read_qrels, f"q 0 d 1\n{ABSURD} 0 d 1\n", "line 2, column 'query': the word"),
            (read_pairs, f"a b\nc {ABSURD}\n", "line 2, column 'loser': the name of the item"),
        ],
    )
    def test_words(self, tmp_path, read, text, message):
        (tmp_path / "a.txt").write_text(text)
        with pytest.raises(FileFormatError, match=f"a.txt, {message} {TOO_LONG}"):
            read(tmp_path / "a.txt")

    @pytest.mark.parametrize("column", ["qid", "id", "group", "target"])
    def test_parquet(self, tmp_path, column):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = {"target": ["a", "b"], "qid": ["a", "b"], "id": ["a", "b"], "group": ["a", "b"], "x": [1.0, 2.0]}
        columns[column] = ["a", ABSURD]
        parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
        with pytest.raises(FileFormatError, match=rf"row 2.*, column '{column}': the label {TOO_LONG}"):
            read_items(tmp_path / "a.parquet")

    def test_messages_stay_short(self, tmp_path):
        word = "x" * LONGEST_LABEL
        (tmp_path / "a.csv").write_text(f"y,qid,id,x\n1,{word},{word},1\n1,{word},{word},1\n")
        with pytest.raises(FileFormatError, match="occurs twice") as error:
            read_items(tmp_path / "a.csv")
        assert len(str(error.value)) < 500


def test_a_line_longer_than_positions_can_say(monkeypatch):
    monkeypatch.setattr("kernelrank.data.text.LONGEST_LINE", 2**21)
    with pytest.raises(FileFormatError, match=r"line 2: the line has more than 2,097,152 bytes"):
        read_ranking(io.BytesIO(b"1 1:1\n1 " + b"1:1 " * 2**20))

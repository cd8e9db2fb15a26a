"""TREC runs and judgements, both ways; what we write, ir_measures reads, and measures alike."""

from __future__ import annotations

import io
import sys

import ir_measures
import numpy as np
import pytest

from kernelrank import metrics
from kernelrank.data import Qrels, Run, make_ranking, read_qrels, read_run, write_qrels, write_run, write_scores
from kernelrank.errors import FileFormatError, InvalidInputError

RUN = "q2 Q0 d1 1 2.5 mine\n\nq2\tQ0\td2  2 -1e-3 mine\nq1 Q0 d1 7 0.5 other\n"


def test_read_run(tmp_path):
    (tmp_path / "run.txt").write_text(RUN)
    qid, ids, scores, tag = read_run(tmp_path / "run.txt")
    assert qid.tolist() == ["q2", "q2", "q1"]
    assert ids.tolist() == ["d1", "d2", "d1"]
    assert scores.tolist() == [2.5, -1e-3, 0.5]
    assert tag == "mine"


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_run_round_trip(suffix, tmp_path):
    generator = np.random.default_rng(0)
    qid = np.repeat([f"q{k}" for k in range(7)], 30)
    ids = np.array([f"d{item}" for item in generator.permutation(len(qid))])
    scores = np.where(generator.random(len(qid)) < 0.3, 0.5, generator.standard_normal(len(qid)))
    write_run(Run(qid, ids, scores, "mine"), tmp_path / f"run{suffix}")
    read = read_run(tmp_path / f"run{suffix}")
    written = dict(zip(zip(qid.tolist(), ids.tolist(), strict=True), scores.tolist(), strict=True))
    assert (
        dict(zip(zip(read.qid.tolist(), read.ids.tolist(), strict=True), read.scores.tolist(), strict=True)) == written
    )
    assert read.tag == "mine"
    for query in set(qid.tolist()):
        keys = [
            (-s, tuple(-ord(c) for c in d))
            for s, d in zip(read.scores[read.qid == query], read.ids[read.qid == query], strict=True)
        ]
        assert [-key[0] for key in keys] == sorted((-key[0] for key in keys), reverse=True)
    write_run(read, tmp_path / f"again{suffix}")
    assert (tmp_path / f"again{suffix}").read_bytes() == (tmp_path / f"run{suffix}").read_bytes()


def test_ties_stand_as_trec_eval_places_them(tmp_path):
    write_run(Run(["q"] * 3, ["a", "c", "b"], [1.0, 1.0, 1.0], "t"), tmp_path / "run")
    assert (tmp_path / "run").read_text().split()[2::6] == ["c", "b", "a"]


def test_the_same_in_ir_measures(tmp_path):
    _, y, qid = make_ranking(12, (5, 30), 4, n_levels=3, random_state=0)
    generator = np.random.default_rng(1)
    scores = (y + generator.standard_normal(len(y))).astype(np.float32).astype(np.float64)
    assert len(set(scores.tolist())) == len(scores)
    ids = np.array([f"d{item}" for item in generator.permutation(len(y))])
    write_run(Run(qid, ids, scores, "mine"), tmp_path / "run")
    write_qrels(Qrels(qid, ids, y), tmp_path / "qrels")

    run = list(ir_measures.read_trec_run(str(tmp_path / "run")))
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels")))
    ours, judged = read_run(tmp_path / "run"), read_qrels(tmp_path / "qrels")
    assert [(r.query_id, r.doc_id, r.score) for r in run] == list(
        zip(ours.qid.tolist(), ours.ids.tolist(), ours.scores.tolist(), strict=True)
    )
    assert [(r.query_id, r.doc_id, r.relevance) for r in qrels] == list(
        zip(judged.qid.tolist(), judged.ids.tolist(), judged.grades.tolist(), strict=True)
    )
    theirs = {
        (m.query_id, str(m.measure)): m.value
        for m in ir_measures.iter_calc([ir_measures.nDCG @ 10, ir_measures.AP], qrels, run)
    }
    for measure, name in ((metrics.NDCG(10, gain="linear"), "nDCG@10"), (metrics.MeanAveragePrecision(), "AP")):
        result = measure(y, scores, qid=qid)
        for query, value in zip(result.queries.tolist(), result.values.tolist(), strict=True):
            assert theirs[str(query), name] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q Q0 d 1 0.5", "line 2: 5 columns: expected query Q0 document rank score tag"),
        ("q Q0 d 1 0.5 mine more", "line 2: 7 columns: expected"),
        ("q Q0 d 1 high mine", "line 2, column 'score': the score 'high' is not a finite number"),
        ("q Q0 d 1 nan mine", "line 2, column 'score': the score 'nan' is not a finite number"),
        ("q Q0 d 1.5 0.5 mine", "line 2, column 'rank': the rank '1.5' is not an integer"),
        ("q1 Q0 d1 2 0.5 mine", "line 2: document 'd1' occurs twice in query 'q1', first in line 1"),
        ("q\xff Q0 d 1 0.5 mine", "line 2: .* is not UTF-8"),
    ],
)
def test_faulty_runs(line, message, tmp_path):
    (tmp_path / "run.txt").write_bytes(f"q1 Q0 d1 1 0.5 mine\n{line}\n".encode("latin-1"))
    with pytest.raises(FileFormatError, match=rf"run\.txt, {message}"):
        read_run(tmp_path / "run.txt")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q 0 d", "line 2: 3 columns: expected query iteration document relevance"),
        ("q 0 d 1.5", "line 2, column 'relevance': the relevance '1.5' is not an integer of up to 32 bits"),
        ("q 0 d 99999999999", "line 2, column 'relevance': the relevance '99999999999' is not an integer"),
        ("q1 0 d1 1", "line 2: document 'd1' occurs twice in query 'q1', first in line 1"),
    ],
)
def test_faulty_qrels(line, message, tmp_path):
    (tmp_path / "qrels.txt").write_text(f"q1 0 d1 0\n{line}\n")
    with pytest.raises(FileFormatError, match=rf"qrels\.txt, {message}"):
        read_qrels(tmp_path / "qrels.txt")


def test_empty_and_absent(tmp_path):
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(FileFormatError, match="empty: the file has no results: expected lines of query Q0 document"):
        read_run(tmp_path / "empty")
    with pytest.raises(FileFormatError, match="empty: the file has no judgements"):
        read_qrels(tmp_path / "empty")
    with pytest.raises(FileFormatError, match="none: there is no such file"):
        read_run(tmp_path / "none")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": ["a b", "a"]}, "qid has 'a b', which is empty or has white space"),
        ({"ids": ["", "a"]}, "ids has '', which is empty"),
        ({"ids": ["x", "x"]}, "the id 'x' occurs twice in query 'q'"),
        ({"ids": ["x"]}, "ids has 1 entries, but there are 2 items"),
        ({"scores": [1.0, np.nan]}, r"scores\[1\] is not finite"),
        ({"scores": []}, "scores must have shape"),
        ({"tag": "my tag"}, "tag has 'my tag'"),
    ],
)
def test_what_a_run_cannot_hold(change, message, tmp_path):
    run = Run(["q", "q"], ["x", "y"], [1.0, 2.0], "t")._replace(**change)
    with pytest.raises(InvalidInputError, match=message):
        write_run(run, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_what_qrels_cannot_hold(tmp_path):
    with pytest.raises(InvalidInputError, match=r"grades\[1\] is 0\.5: TREC judgements are whole numbers"):
        write_qrels(Qrels(["q", "q"], ["x", "y"], [1.0, 0.5]), tmp_path / "qrels")
    with pytest.raises(InvalidInputError, match="the id 'x' occurs twice in query 'q'"):
        write_qrels(Qrels(["q", "q"], ["x", "x"], [1, 0]), tmp_path / "qrels")
    write_qrels(Qrels(["q", "q"], ["x", "y"], [-2, 0]), tmp_path / "qrels")
    assert read_qrels(tmp_path / "qrels").grades.tolist() == [-2, 0]


class TestScores:
    SCORES = np.array([0.1, 1 / 3, -2e-300])

    def test_lines(self, tmp_path):
        write_scores(tmp_path / "s.txt", self.SCORES)
        assert [float(line) for line in (tmp_path / "s.txt").read_text().splitlines()] == self.SCORES.tolist()

    def test_run(self, tmp_path):
        write_scores(tmp_path / "s.run", self.SCORES, format="trec", qid=[1, 1, 2], ids=["a", "b", "a"], tag="mine")
        assert [column.tolist() for column in read_run(tmp_path / "s.run")[:3]] == [
            ["1", "1", "2"],
            ["b", "a", "a"],
            [1 / 3, 0.1, -2e-300],
        ]
        write_scores(tmp_path / "s.run", self.SCORES, format="trec")
        assert read_run(tmp_path / "s.run").ids.tolist() == ["2", "1", "3"]

    @pytest.mark.parametrize("format", ["csv", "parquet"])
    def test_tables(self, format, tmp_path):
        import pandas as pd

        path = tmp_path / f"s.{format}"
        write_scores(path, self.SCORES, format=format, qid=np.array(["a", "a", "b"]), ids=np.array(["x, y", "z", "w"]))
        table = pd.read_csv(path) if format == "csv" else pd.read_parquet(path)
        assert table.columns.tolist() == ["qid", "id", "score"]
        assert table["id"].tolist() == ["x, y", "z", "w"]
        assert table["score"].tolist() == self.SCORES.tolist()

    def test_standard_output(self, monkeypatch):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
        write_scores("-", [1.0, 0.25], format="csv")
        assert sys.stdout.buffer.getvalue() == b"score\n1\n0.25\n"

    def test_refused(self, tmp_path):
        with pytest.raises(InvalidInputError, match="format must be one of scores, trec, csv, parquet, got 'xml'"):
            write_scores(tmp_path / "s", self.SCORES, format="xml")
        with pytest.raises(InvalidInputError, match=r"id has shape \(1,\), but there are 3 scores"):
            write_scores(tmp_path / "s", self.SCORES, format="csv", ids=["a"])

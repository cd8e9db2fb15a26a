"""Items: what a file says about them, which columns were taken for what, and what is wrong with it."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import issparse

from kernelrank.data import Items, make_ranking, read_item_chunks, read_items, read_ranking, write_ranking
from kernelrank.errors import FileFormatError, InvalidInputError


@pytest.fixture
def read(tmp_path):
    def reader(text, suffix=".csv", **options):
        path = tmp_path / f"file{suffix}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_items(path, **options)

    return reader


class TestRoles:
    def test_guessed_and_said(self, read):
        items = read("docid,Query-ID,relevance,bm25,weight\nd1,7,2,0.5,1\nd2,7,0,0.25,3\n")
        assert items.X.tolist() == [[0.5], [0.25]]
        assert items.y.tolist() == [2, 0]
        assert items.qid.tolist() == [7, 7]
        assert items.ids.tolist() == ["d1", "d2"]
        assert items.weight.tolist() == [1, 3]
        assert items.groups is None
        assert items.feature_names == ("bm25",)
        assert items.notes == (
            "the target is column 'relevance'",
            "the query is column 'Query-ID'",
            "the ids are column 'docid'",
            "the weights of the items are column 'weight'",
        )

    def test_named_and_not_said(self, read):
        text = "a,b,c,d,e,f\n1,2,3,4,5,6\n7,8,9,10,11,12\n"
        items = read(text, target="b", query="c", id="d", weight="e", groups="a")
        assert items.notes == ()
        assert items.X.tolist() == [[6], [12]]
        assert [items.y.tolist(), items.qid.tolist(), items.ids.tolist()] == [[2, 8], [3, 9], ["4", "10"]]
        assert [items.weight.tolist(), items.groups.tolist()] == [[5, 11], [1, 7]]

    def test_weight_in_kilograms(self, read):
        items = read("outcome,height,weight\n1,180,70\n0,160,60\n")
        assert items.feature_names == ("height", "weight")
        assert items.weight is None
        assert "column 'weight' is used as a feature: name it as the weights if it holds item weights" in items.notes

    def test_ids_without_a_name(self, read):
        items = read(",y,x\na,1,2\nb,0,3\n")
        assert items.ids.tolist() == ["a", "b"]
        assert "the ids are the first column, which has no name" in items.notes

    def test_first_column_of_words(self, read):
        assert read("sample,y,x\nGSM1,1,2\nGSM2,0,3\n").ids.tolist() == ["GSM1", "GSM2"]
        assert read("sample,y,x\n1,1,2\n2,0,3\n").feature_names == ("sample", "x")

    def test_none_of_them(self, read):
        items = read("id,y,x\n1,1,2\n1,0,3\n", id="")
        assert items.ids is None
        assert items.feature_names == ("id", "x")

    def test_groups_may_be_queries(self, read):
        items = read("q,y,x\n1,1,2\n1,0,3\n", query="q", groups="q")
        assert items.groups.tolist() == items.qid.tolist() == [1, 1]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"target": "outcom"},
                r"no column 'outcom' for the target \(is it 'outcome'\?\); the columns are 'outcome', ",
            ),
            ({"query": "zzz"}, "there is no column 'zzz' for the query; the columns are 'outcome', 'age', 'score2'"),
            ({"features": ["age", "x"]}, "there is no column 'x' for the features"),
            ({"features": ["!x"]}, "there is no column 'x' for the features"),
            ({"features": ["!*"]}, "no column looks like the target: name it"),
            ({"features": ["outcome"]}, "no column looks like the target: name it"),
            ({"n_features": 7}, "expected 7 feature columns; got 2"),
        ],
    )
    def test_absent(self, read, options, message):
        with pytest.raises(FileFormatError, match=message):
            read("outcome,age,score2\n1,2,3\n", **options)

    def test_many_columns_are_not_all_listed(self, read):
        with pytest.raises(FileFormatError, match=r"'x19' and 80 more$"):
            read(",".join(f"x{k}" for k in range(100)) + "\n" + ",".join("1" * 100) + "\n")

    def test_one_column_for_two(self, read):
        with pytest.raises(InvalidInputError, match="column 'b' cannot be both target and query"):
            read("a,b\n1,2\n", target="b", query="b")
        with pytest.raises(InvalidInputError, match="column 'b' cannot be both target and a feature"):
            read("a,b\n1,2\n", target="b", features=["b"])

    def test_two_columns_for_one(self, read):
        text = "label,score,x\n1,2,3\n0,1,2\n"
        with pytest.raises(FileFormatError, match="'label' and 'score' could each be the target: name the right one"):
            read(text)
        assert read(text, target="label").feature_names == ("score", "x")
        assert read(text, features=["!score"]).y.tolist() == [1, 0]
        assert read(text, features=["x"], needs_target=False).y is None

    def test_features(self, read):
        text = "y,g1,g2,age,note\n1,2,3,4,five\n0,3,4,5,six\n"
        assert read(text, features=["age", "g*"]).X.tolist() == [[4, 2, 3], [5, 3, 4]]
        items = read(text, features=["!note"])
        assert items.feature_names == ("g1", "g2", "age")
        assert items.notes[-1] == "left out: 1 column ('note')"
        assert read(text, features=["*", "!note"]).y.tolist() == [1, 0]
        with pytest.raises(
            FileFormatError, match=r"line 2, column 'note': 'five' is not a number; leave the column out with exclude"
        ):
            read(text)


class TestTarget:
    @pytest.mark.parametrize(
        ("words", "classes", "reason"),
        [
            ("case control", ("control", "case"), "by their meaning"),
            ("Control Case", ("Control", "Case"), "by their meaning"),
            ("no yes", ("no", "yes"), "by their meaning"),
            ("TRUE FALSE", ("FALSE", "TRUE"), "by their meaning"),
            ("M B", ("B", "M"), "by their meaning"),
            ("F M", ("F", "M"), "as 'M' is rarer"),
            ("healthy sick", ("healthy", "sick"), "by their meaning"),
            ("AML ALL", ("AML", "ALL"), "as 'ALL' is rarer"),
            ("t n", ("t", "n"), "as 'n' is rarer"),
            ("survived died", ("survived", "died"), "by their meaning"),
            ("ckd notckd", ("notckd", "ckd"), "by their meaning"),
            ("Ja Nein", ("Nein", "Ja"), "by their meaning"),
            ("Non Oui", ("Non", "Oui"), "by their meaning"),
            ("Sí No", ("No", "Sí"), "by their meaning"),
            ("überlebt verstorben", ("überlebt", "verstorben"), "by their meaning"),
            ("décédé vivant", ("vivant", "décédé"), "by their meaning"),
            ("s n", ("n", "s"), "by their meaning"),
        ],
    )
    def test_two_words(self, read, words, classes, reason):
        first, second = words.split()
        text = f"y,x\n{first},1\n{second},2\n{first},3\n"
        items = read(text, guess_positive=True)
        assert items.classes == classes
        assert items.y.tolist() == [float(word == classes[1]) for word in (first, second, first)]
        assert (
            items.notes[-1]
            == f"the target {classes[1]!r} is 1 and {classes[0]!r} is 0, {reason} (--positive {classes[0]} reverses it)"
        )
        # Without a guess it is the word that sorts last, as everywhere in Python.
        items = read(text)
        assert items.classes == tuple(sorted((first, second)))
        told = f"as {items.classes[1]!r} sorts last (pos_label={items.classes[0]!r} reverses it)"
        assert items.notes[-1].endswith(told)
        assert items.positive_reason == "it sorts last"

    def test_positive(self, read):
        text = "y,x\na,1\nb,2\nc,3\n"
        items = read(text, pos_label="b")
        assert items.y.tolist() == [0, 1, 0]
        assert items.classes == ("not b", "b")
        assert items.notes[-1] == "the target 'b' is 1 and everything else is 0, as requested"
        assert read("y,x\n1,1\n2,2\n", pos_label="1").y.tolist() == [1, 0]
        with pytest.raises(
            FileFormatError, match="column 'y': no row has the positive class 'd'; the classes are 'a', 'b'"
        ):
            read(text, pos_label="d")

    def test_three_words(self, read):
        with pytest.raises(FileFormatError, match=r"line 5, column 'y': .* has a third class \('a', 'b', 'c'\)"):
            read("y,x\nb,1\na,2\nb,3\nc,4\n")

    def test_one_word(self, read):
        assert read("y,x\ncase,1\ncase,2\n", guess_positive=True).y.tolist() == [1, 1]
        assert read("y,x\ncontrol,1\ncontrol,2\n", guess_positive=True).y.tolist() == [0, 0]
        with pytest.raises(FileFormatError, match="all targets are 'case': expected numbers or two classes"):
            read("y,x\ncase,1\ncase,2\n")
        with pytest.raises(FileFormatError, match="column 'y': all targets are 'a': expected numbers or two classes"):
            read("y,x\na,1\na,2\n")

    def test_words_among_numbers(self, read):
        with pytest.raises(FileFormatError, match="line 3, column 'y': 'high' is not a number"):
            read("y,x\n1,1\nhigh,2\n")

    def test_missing(self, read):
        for words in ("1,1\n,2", "case,1\nNA,2", "NA,2\n1,1"):
            with pytest.raises(FileFormatError, match=r"line [23], column 'y': .*missing|empty"):
                read(f"y,x\n{words}\n")
            items = read(f"y,x\n{words}\n", needs_target=False)
            assert items.y is None
            assert items.notes[-1].startswith("the target was left out: it is missing in line ")
        assert read("x\n1\n2\n", needs_target=False).y is None


class TestFaults:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("y,x\n1,\n", "line 2, column 'x': the cell is empty: expected a number"),
            ("y,x\n1,NA\n", "line 2, column 'x': 'NA' is missing: expected a number"),
            ("y,x\n1,inf\n", "line 2, column 'x': 'inf' is not finite: expected a finite number"),
            ("y,x\n1,1e999\n", "line 2, column 'x': '1e999' is not finite"),
            ('y,x\n1,"0,5"\n', "line 2, column 'x': '0,5' is not a number: expected a decimal point, not a comma"),
            ("y,x\n1,True\n", "line 2, column 'x': 'True' is not a number: expected 1 for true and 0 for false"),
            ("y,qid,x\n1,a,1\n1,,2\n", "line 3, column 'qid': the cell is empty: expected a label"),
            ("y,id,x\n1,a,1\n1,,2\n", "line 3, column 'id': the cell is empty: expected an id"),
            (
                "y,id,x\n1,a,1\n1,a,2\n",
                "line 3, column 'id': the id 'a' occurs twice, first in line 2: expected one item",
            ),
            (
                "y,qid,id,x\n1,7,a,1\n1,8,a,1\n1,7,a,2\n",
                "line 4, .* the id 'a' occurs twice in query 7, first in line 2",
            ),
            (
                "y,qid,weight,x\n1,1,-2,1\n",
                "line 2, column 'weight': the weight -2.0 is negative: expected zero or more",
            ),
            ("y,x\n", "the file has no rows, only the names of columns"),
            ("y\n1\n", "no column is left for the features: expected at least one; 'y' is the target"),
        ],
    )
    def test_places(self, read, text, message):
        with pytest.raises(FileFormatError, match=rf"file\.csv(, |: ){message}") as error:
            read(text)
        assert error.value.path.endswith("file.csv")
        if "line" in message:
            assert f"line {error.value.line}" in message

    def test_no_file(self, tmp_path):
        for name in ("none.csv", "none.txt", "none.parquet", "none.csv.gz", "none.csv.zst", "none"):
            with pytest.raises(FileFormatError, match=rf"{name}: there is no such file"):
                read_items(tmp_path / name)
        (tmp_path / "folder.csv").mkdir()
        with pytest.raises(FileFormatError, match=r"folder\.csv: the file cannot be read: Is a directory"):
            read_items(tmp_path / "folder.csv")

    def test_labels(self, read):
        assert read("y,qid,x\n1,007,1\n1,7,2\n").qid.tolist() == ["007", "7"]
        assert read(f"y,qid,x\n1,{2**63},1\n1,7,2\n").qid.tolist() == [str(2**63), "7"]


LETOR = b"2 qid:10 1:0.5 3:1 # docid = GX08\n0 qid:10 2:4 # docid = GX09\n"


class TestFormats:
    def test_svmlight(self, read, tmp_path):
        items = read(LETOR, ".txt", n_features=4)
        assert items.X.shape == (2, 4)
        assert issparse(items.X)
        assert items.ids.tolist() == ["GX08", "GX09"]
        assert items.feature_names is None
        with pytest.raises(InvalidInputError, match="target is 'y', but the columns of SVMlight files have no names"):
            read(LETOR, ".txt", target="y")

    def test_dense_where_it_takes_no_more_memory(self, tmp_path):
        for density, sparse in ((1.0, False), (0.7, False), (0.6, True)):
            X, y, qid = make_ranking(10, 20, 30, density=density, random_state=0)
            write_ranking(tmp_path / "a.txt", X, y, qid=qid)
            items = read_items(tmp_path / "a.txt", n_features=30)
            assert issparse(items.X) is sparse
            assert np.array_equal(items.X.toarray() if sparse else items.X, X.toarray() if issparse(X) else X)

    def test_ids_in_comments(self, read):
        items = read(b"1 1:1 # a\n0 1:2\n", ".txt")
        assert items.ids is None
        assert items.notes == ("the ids were left out: line 2 has none",)
        items = read(b"1 1:1 # good one\n\n0 1:2 # good two\n", ".txt")
        assert items.ids is None
        assert items.notes == ("the ids were left out: the comments of lines 1 and 3 both begin with 'good'",)
        assert read(b"1 qid:1 1:1 # docid = a\n0 qid:2 1:2 # docid = a\n", ".txt").ids.tolist() == ["a", "a"]
        message = "line 3: the docid 'a' occurs twice in query 1, first in line 1: expected one item for each docid"
        with pytest.raises(FileFormatError, match=message):
            read(b"1 qid:1 1:1 # docid = a\n\n0 qid:1 1:2 # docid = a\n", ".txt")

    @pytest.mark.parametrize("suffix", [".txt", ".dat", "", ".data"])
    def test_first_line(self, read, suffix):
        assert read(LETOR, suffix).feature_names is None
        assert read(b"# a comment\n" + LETOR, suffix).feature_names is None
        assert read("y,x\n1,2\n", suffix).feature_names == ("x",)
        assert read("y\tx\n1\t2\n", suffix).feature_names == ("x",)
        assert read("y;x\n1;2\n", suffix).feature_names == ("x",)
        assert read("y,x:1\n1,2\n", suffix).feature_names == ("x:1",)

    def test_format_by_name(self, read):
        assert read(LETOR, ".csv", format="letor").feature_names is None
        assert read("y\tx\n1\t2\n", ".csv", format="tsv").feature_names == ("x",)
        with pytest.raises(InvalidInputError, match=r"format must be one of svmlight, .*, xlsx, got 'xls'"):
            read(LETOR, format="xls")

    @pytest.mark.parametrize(
        "compress", [gzip.compress, lzma.compress, lambda data: pa.compress(data, "zstd", asbytes=True)]
    )
    @pytest.mark.parametrize(("text", "suffix"), [(LETOR, ".txt"), (b"y,x\n2,1\n0,2\n", ".csv")])
    def test_compressed(self, read, compress, text, suffix):
        ending = {b"\x1f": ".gz", b"\xfd": ".xz", b"\x28": ".zst"}[compress(text)[:1]]
        assert read(compress(text), suffix + ending).y.tolist() == [2, 0]

    @pytest.mark.parametrize(
        "compress", [bytes, gzip.compress, lzma.compress, lambda data: pa.compress(data, "zstd", asbytes=True)]
    )
    @pytest.mark.parametrize("text", [LETOR, b"y,x\n2,1\n0,2\n"])
    def test_standard_input(self, compress, text, monkeypatch):
        for reader in (read_items, lambda path: next(read_item_chunks(path))):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(compress(text))))
            items = reader("-")
            assert items.y.tolist() == [2, 0]
            assert items.path == "<standard input>"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(compress(text + b"?\n"))))
        with pytest.raises(FileFormatError, match=r"^<standard input>, line \d: "):
            read_items("-")

    @pytest.mark.parametrize("text", [LETOR, b"y,x\n2,1\n0,2\n", gzip.compress(LETOR, mtime=0)])
    def test_a_pipe_is_read_once_and_used_twice(self, text, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        for reader in (read_items, lambda path: next(read_item_chunks(path))):
            writer = threading.Thread(target=pipe.write_bytes, args=(text,))
            writer.start()
            items = reader(pipe)
            writer.join()
            assert items.y.tolist() == [2, 0]
            assert items.path == str(pipe)

    def test_parquet_through_standard_input(self, monkeypatch, tmp_path):
        pq.write_table(pa.table({"y": [1.0, 0.0], "x": [1, 2]}), tmp_path / "a.parquet")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "a.parquet").read_bytes())))
        assert read_items("-").X.tolist() == [[1], [2]]

    def test_without_extras(self, tmp_path):
        (tmp_path / "a.csv").write_text("y,x\n2,1\n0,2\n")
        (tmp_path / "a.parquet").write_bytes(b"PAR1")
        (tmp_path / "a.txt.zst").write_bytes(b"")
        code = f"""
import sys
sys.modules.update(pyarrow=None, pandas=None, polars=None)
from kernelrank.data import read_items
from kernelrank.errors import MissingExtraError
for name in ("a.csv", "a.parquet", "a.txt.zst"):
    try:
        read_items({str(tmp_path)!r} + "/" + name)
    except MissingExtraError as error:
        print(error)
"""
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
        assert result.stdout.splitlines() == [
            "pyarrow, which reads CSV and TSV files, is not installed; run: pip install 'kernelrank[data]'",
            "pyarrow, which reads Parquet files, is not installed; run: pip install 'kernelrank[data]'",
            "pyarrow, which reads and writes .zst files, is not installed; run: pip install 'kernelrank[data]'",
        ]


class TestParquet:
    @pytest.fixture
    def write(self, tmp_path):
        def writer(columns, name="file.parquet"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            pq.write_table(pa.table(columns), tmp_path / name, row_group_size=2)
            return tmp_path / name

        return writer

    def test_types(self, write):
        path = write(
            {
                "y": pa.array(["no", "yes", "yes"]).dictionary_encode(),
                "qid": [1.0, 1.0, 2.0],
                "docid": [3, 4, 5],
                "group": ["a", "b", "a"],
                "i": pa.array([1, 2, 3], type=pa.uint8()),
                "b": [True, False, True],
                "s": pa.array([0.5, 1.5, 2.5], type=pa.float32()),
            }
        )
        items = read_items(path)
        assert items.X.tolist() == [[1, 1, 0.5], [2, 0, 1.5], [3, 1, 2.5]]
        assert items.X.dtype == np.float64
        assert items.y.tolist() == [0, 1, 1]
        assert items.qid.tolist() == [1, 1, 2]
        assert items.qid.dtype == np.int64
        assert items.ids.tolist() == ["3", "4", "5"]
        assert items.groups.tolist() == ["a", "b", "a"]

    @pytest.mark.parametrize(
        ("column", "message"),
        [
            ([1.0, 2.0, None], "row 3 in row group 2 of 2, column 'x': the value is missing: expected a number"),
            ([1.0, float("nan"), 2.0], "row 2 in row group 1 of 2, column 'x': nan is not finite: expected a number"),
            (["a", "b", "c"], "row 1 in row group 1 of 2, column 'x': 'a' is of type string: expected numbers"),
        ],
    )
    def test_places(self, write, column, message):
        with pytest.raises(FileFormatError, match=rf"file\.parquet, {message}"):
            read_items(write({"y": [1.0, 2.0, 3.0], "x": column}))

    def test_folder(self, write):
        write({"y": [1.0, 2.0], "x": [1.0, 2.0]}, "folder/a.parquet")
        path = write({"x": [3.0], "y": [3.0]}, "folder/b.parquet")
        assert read_items(path.parent).X.tolist() == [[1], [2], [3]]
        write({"x": [3.0, None], "y": [3.0, 4.0]}, "folder/b.parquet")
        with pytest.raises(FileFormatError, match=r"folder, b\.parquet, row 2 in row group 1 of 1, column 'x'"):
            read_items(path.parent)
        write({"x": [3.0]}, "folder/c.parquet")
        with pytest.raises(FileFormatError, match=r"c\.parquet: there is no column 'y', which another file"):
            read_items(path.parent)

    def test_a_changed_value_is_seen_by_its_checksum(self, tmp_path):
        path = tmp_path / "file.parquet"
        columns = {"y": [1.0, 2.0, 3.0], "x": [0.1, 0.2, 0.3]}
        pq.write_table(pa.table(columns), path, compression="none", use_dictionary=False, write_page_checksum=True)
        whole = path.read_bytes()
        place = whole.index(np.array([0.1, 0.2, 0.3]).tobytes())
        path.write_bytes(whole[:place] + np.array([0.7]).tobytes() + whole[place + 8 :])
        with pytest.raises(FileFormatError, match=r"file\.parquet, row group 1 of 1: .*damaged.*CRC"):
            read_items(path)

    def test_other_columns_are_not_read(self, write):
        path = write({"y": [1.0, 2.0], "x": [1.0, 2.0], "note": [[1], [2]]})
        items = read_items(path, features=["x"])
        assert items.notes == ("the target is column 'y'", "left out: 1 column ('note')")


class TestChunks:
    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".txt"])
    @pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
    @pytest.mark.parametrize("whole_queries", [True, False])
    def test_joined_they_are_the_file(self, suffix, chunk_rows, whole_queries, tmp_path, monkeypatch):
        from kernelrank.data import text as source
        from kernelrank.data import write_items

        monkeypatch.setattr(source, "BLOCK_BYTES", 300)
        monkeypatch.setattr("kernelrank.data.parquet.BATCH_CELLS", 20)
        X, y, qid = make_ranking(9, (1, 6), 3, n_levels=3, random_state=0)
        labels = np.where(qid == qid[-1], "last", qid.astype(str))
        ids = np.array([f"d{item}" for item in range(len(y))])
        extra = (None, None) if suffix == ".txt" else (np.arange(len(y)) / 2, qid % 3)
        path = tmp_path / f"a{suffix}"
        write_items(Items(X, y, labels, ids, *extra, ("a", "b", "c"), "", ()), path)
        whole = read_items(path)
        chunks = list(read_item_chunks(path, chunk_rows=chunk_rows, whole_queries=whole_queries))
        for name in ("X", "y", "qid", "ids", "weight", "groups"):
            values, parts = getattr(whole, name), [getattr(chunk, name) for chunk in chunks]
            if values is None:
                assert all(part is None for part in parts)
            else:
                assert np.array_equal(np.concatenate(parts), values)
                assert all(part.dtype.kind == values.dtype.kind for part in parts)
        if whole_queries:
            assert sum(len(set(chunk.qid.tolist())) for chunk in chunks) == len(set(labels.tolist()))
        else:
            assert all(len(chunk) == chunk_rows for chunk in chunks[:-1])

    def test_words_of_the_last_row(self, tmp_path):
        (tmp_path / "a.csv").write_text("y,x\n" + "b,1\n" * 9 + "a,1\n")
        assert [chunk.y.tolist() for chunk in read_item_chunks(tmp_path / "a.csv", chunk_rows=5)] == [
            [1] * 5,
            [1] * 4 + [0],
        ]

    def test_nothing_before_the_fault_is_seen(self, tmp_path):
        (tmp_path / "a.csv").write_text("y,x\n" + "1,1\n" * 9 + "1,a\n")
        with pytest.raises(FileFormatError, match="line 11, column 'x'"):
            next(read_item_chunks(tmp_path / "a.csv", chunk_rows=5))

    def test_scattered_queries(self, tmp_path):
        (tmp_path / "a.csv").write_text("y,qid,x\n1,1,1\n1,2,1\n1,1,1\n")
        with pytest.raises(FileFormatError, match="line 4, column 'qid': the rows of query 1 are not contiguous"):
            list(read_item_chunks(tmp_path / "a.csv", chunk_rows=1, whole_queries=True))
        with pytest.raises(FileFormatError, match="whole_queries=True needs a query column"):
            list(read_item_chunks(tmp_path / "a.csv", whole_queries=True, query=""))

    def test_size(self, tmp_path):
        with pytest.raises(InvalidInputError, match="chunk_rows must be at least 1, got 0"):
            read_item_chunks(tmp_path / "a.csv", chunk_rows=0)


def test_the_same_as_load_ranking(tmp_path):
    X, y, qid = make_ranking(20, (1, 20), 50, density=0.1, random_state=1)
    write_ranking(tmp_path / "a.txt.zst", X, y, qid=qid)
    items, ranking = read_items(tmp_path / "a.txt.zst"), read_ranking(tmp_path / "a.txt.zst")
    assert (items.X != ranking.X).nnz == 0
    assert np.array_equal(items.y, ranking.y)
    assert np.array_equal(items.qid, ranking.qid)

"""Delimited text: the reader is the slow one, and Python's own where the two mean the same."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernelrank.data import text as source
from kernelrank.data.delimited import DelimitedTable
from kernelrank.errors import FileFormatError
from tests.oracles.delimited import slow_records


def fast_records(text, delimiter=","):
    """What the table reads, or the line of the first fault, in the words of `slow_records`."""
    width = max((len(fields) for _, fields in slow_width(text, delimiter)), default=1)
    header = delimiter.join(f"c{column}" for column in range(width))
    table = DelimitedTable(io.BytesIO(f"{header}\n{text}".encode()), "tsv" if delimiter == "\t" else "csv")
    try:
        rows = [
            (line - 1, list(fields))
            for block in table.blocks()
            for line, *fields in zip(
                block.positions.tolist(), *(block.words(c).tolist() for c in range(width)), strict=True
            )
        ]
    except FileFormatError as error:
        return error.line - 1
    return rows


def slow_width(text, delimiter):
    records = slow_records(text, delimiter)
    return [] if isinstance(records, int) else records


@given(st.lists(st.sampled_from(["a", "1", ",", '"', '""', " ", "\n", "\r\n", "é"]), max_size=40).map("".join))
@example('""')
@example('"\n"x')
@example(' "a" ,b')
@settings(max_examples=600)
def test_fast_is_slow(text):
    slow = slow_records(text + "\n")
    widths = set() if isinstance(slow, int) else {len(fields) for _, fields in slow}
    fast = fast_records(text + "\n")
    if len(widths) > 1:
        assert fast == next(line for line, fields in slow if len(fields) < max(widths))
    elif isinstance(slow, int):
        # A row of another width may stand before the fault.
        assert isinstance(fast, int)
        assert fast <= slow
    else:
        assert fast == slow


@given(
    st.lists(
        st.lists(st.text(alphabet='ab1,;"\n é', max_size=6).map(str.strip), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_python_writes(rows, delimiter, line_end, quoting):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=line_end, quoting=quoting).writerows(rows)
    assert [fields for _, fields in fast_records(file.getvalue(), delimiter)] == rows


def read_rows(text, format="csv"):
    table = DelimitedTable(io.BytesIO(text), format)
    columns = range(len(table.names))
    return [row for block in table.blocks() for row in zip(*(block.words(c).tolist() for c in columns), strict=True)]


@pytest.mark.parametrize("block_bytes", [1, 7, 30, 1000])
def test_records_across_blocks(block_bytes, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", block_bytes)
    text = b'id,note\n1,"two\nlines"\n\n2,"a ""quote"", said\n\n\nso"\n3,plain\n'
    assert read_rows(text) == [("1", "two\nlines"), ("2", 'a "quote", said\n\n\nso'), ("3", "plain")]
    table = DelimitedTable(io.BytesIO(text), "csv")
    assert [line for block in table.blocks() for line in block.positions.tolist()] == [2, 5, 9]


def test_a_record_has_an_end(monkeypatch):
    monkeypatch.setattr(DelimitedTable, "longest_record", 100)
    monkeypatch.setattr(source, "BLOCK_BYTES", 20)
    with pytest.raises(FileFormatError, match="line 3: a quote is opened in this row and not closed"):
        read_rows(b'a,b\n1,2\n1,"2\n' + b"3,4\n" * 100)


def test_delimiters():
    for mark, words in ((b";", "semicolons"), (b"\t", "tabs")):
        table = DelimitedTable(io.BytesIO(b"a%bb\n1%b2\n".replace(b"%b", mark)), "csv")
        assert table.names == ("a", "b")
        assert table.notes == (f"the columns are separated by {words}",)
    assert DelimitedTable(io.BytesIO(b"a,b\tc\n1\t2\n"), "tsv").names == ("a,b", "c")
    assert DelimitedTable(io.BytesIO(b"a;b,c\n1,2\n"), "csv").names == ("a;b", "c")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_are_pythons(values):
    text = "x,y\n" + "".join(f"{value!r},{value:e}\n" for value in values)
    [block] = DelimitedTable(io.BytesIO(text.encode()), "csv").blocks()
    assert block.numbers([0, 1]).tolist() == [[value, float(f"{value:e}")] for value in values]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "<stream>: the file is empty: expected a line that names the columns"),
        (b"1,2\n3,4\n", "line 1: all fields of the first line are numbers: expected the names of the columns"),
        (b"\na,b,a\n", "line 2: columns 1 and 3 are both called 'a'"),
        (b"a,,b\n", "line 1: column 2 has no name: only a first column of ids"),
        (b"a,b\n1,2\n3\n", "line 3: 1 fields, but the first line names 2 columns"),
        (b"a,b\n1,2,3\n4,5,6\n", "line 2: 3 fields, .* columns: does the first column lack a name, as in files of R?"),
        (b"a,b\n1,2\n\n3,4,\n", "line 4: 3 fields, but the first line names 2 columns"),
        (b'a,b\n1,"2"3\n', "line 2: '3' after a closing quote: expected ',' or the end of the line"),
        (b'a,b\n"1\n2"x,3\n', "line 3: 'x,3' after a closing quote"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "line 3: a quote is opened in this row and not closed"),
        (b"a,b\n1,2\n\xe9,4\n", "line 3: the byte 0xe9 is not UTF-8: save the file as UTF-8 text"),
    ],
)
def test_faults(text, message):
    with pytest.raises(FileFormatError, match=f"<stream>.*{message}|{message}"):
        read_rows(text)


def test_earlier_faults_come_first():
    with pytest.raises(FileFormatError, match="line 2: 3 fields"):
        read_rows(b'a,b\n1,2,3\n1,"2"3\n')


class TestWide:
    """Numbers of many columns, in any order."""

    NAMES = tuple(f"c{column}" for column in range(14))

    def table(self, rows, delimiter=",", line_end="\n"):
        lines = [delimiter.join(row) for row in [self.NAMES, *rows]]
        return DelimitedTable(io.BytesIO((line_end.join(lines) + line_end).encode()), "csv")

    @pytest.mark.parametrize("line_end", ["\n", "\r\n"])
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    @pytest.mark.parametrize("columns", [range(14), [2, 3, 12, 13], [13, 0, 5], [11]])
    def test_numbers_in_any_order(self, columns, delimiter, line_end):
        values = [[row + column / 4 for column in range(14)] for row in range(3)]
        table = self.table([[f" {value}" for value in row] for row in values], delimiter, line_end)
        (block,) = table.blocks()
        assert block.numbers(list(columns)).tolist() == [[row[column] for column in columns] for row in values]
        assert block.words(12).tolist() == [str(row[12]) for row in values]
        assert block.positions.tolist() == [2, 3, 4]

    def test_missing_cells(self):
        rows = [["1", "", "NA", *["2"] * 8, "nUlL", "p", "3"], [*["4"] * 14]]
        (block,) = self.table(rows).blocks()
        found = block.numbers([0, 1, 2, 11, 13], missing=True)
        np.testing.assert_array_equal(found, [[1, np.nan, np.nan, np.nan, 3], [4] * 5])
        with pytest.raises(FileFormatError, match="line 2, column 'c1': the cell is empty"):
            block.numbers([0, 1])
        with pytest.raises(FileFormatError, match="line 2, column 'c12': 'p' is not a number"):
            block.numbers([0, 12], missing=True)

    @pytest.mark.parametrize("width", [13, 15])
    def test_a_row_of_another_width(self, width):
        # The two faults cancel in the number of fields.
        rows = [["1"] * 14, ["1"] * width, ["1"] * (28 - width)]
        with pytest.raises(FileFormatError, match=f"line 3: {width} fields, but the first line names 14 columns"):
            list(self.table(rows).blocks())

    def test_blank_lines(self):
        (block,) = self.table([["1"] * 14, [""], ["2"] * 14]).blocks()
        assert block.numbers([4]).tolist() == [[1], [2]]
        assert block.positions.tolist() == [2, 4]


def test_a_column_with_many_empty_cells_is_read_as_text_once(monkeypatch):
    text = "\n".join(["a,b", *(f"{row},{row}" for row in range(10)), *(f"{row}," for row in range(500))]) + "\n"
    table = DelimitedTable(io.BytesIO(text.encode()), "csv")
    table.choose([0, 1], [0, 1])
    (block,) = table.blocks()
    read, calls = DelimitedTable.parse, []
    monkeypatch.setattr(DelimitedTable, "parse", lambda *args: calls.append(args) or read(*args))
    assert np.isnan(block.numbers([0, 1], missing=True)).sum() == 500
    assert len(calls) <= 1

"""Damaged files of every format, the same ones each time: what is wrong with them, and whether they can still be read.

`damages(format)` gives them; a test writes each to a file with `Damage.suffix` and sees that it is refused with a
place, or read. None may end in any other way.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FORMATS = ("svmlight", "csv", "tsv", "parquet", "run", "qrels", "pairs", "votes")
SUFFIXES = {"svmlight": ".txt", "csv": ".csv", "tsv": ".tsv", "parquet": ".parquet", "votes": ".csv"}


class Damage(NamedTuple):
    """A damaged file.

    Parameters
    ----------
    name : str
        What is wrong, for the id of a test.
    data : bytes
    suffix : str
        How the name of the file ends.
    verdict : {"refused", "read", "either"}
        What a reader must do: a byte that is changed at random may leave a file that says something else.
    """

    name: str
    data: bytes
    suffix: str
    verdict: Literal["refused", "read", "either"]


def whole(format: str) -> bytes:
    """A good file: 4 queries of 5 items with 3 features, or as many results, judgements or preferences."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((20, 3)).round(3)
    y = generator.integers(0, 3, 20)
    if format == "parquet":
        table = {"target": y, "qid": np.arange(20) // 5, "id": [f"d{item}" for item in range(20)]}
        file = io.BytesIO()
        pq.write_table(
            pa.table(table | {f"f{k}": X[:, k] for k in range(3)}), file, row_group_size=10, write_page_checksum=True
        )
        return file.getvalue()
    lines = {
        "svmlight": lambda i: f"{y[i]} qid:{i // 5} 1:{X[i, 0]} 2:{X[i, 1]} 3:{X[i, 2]} # docid = d{i}",
        "csv": lambda i: f"{y[i]},{i // 5},d{i},{X[i, 0]},{X[i, 1]},{X[i, 2]}",
        "tsv": lambda i: f"{y[i]}\t{i // 5}\td{i}\t{X[i, 0]}\t{X[i, 1]}\t{X[i, 2]}",
        "run": lambda i: f"q{i // 5} Q0 d{i} {i % 5 + 1} {X[i, 0]} mine",
        "qrels": lambda i: f"q{i // 5} 0 d{i} {y[i]}",
        "pairs": lambda i: f"d{i} d{i + 1} {abs(X[i, 0])} 1",
        "votes": lambda i: f"d{i},d{i + 1},{('left', 'right', 'tie')[i % 3]},j{i % 4},{abs(X[i, 0])}",
    }[format]
    header = {
        "csv": ["target,qid,id,f1,f2,f3"],
        "tsv": ["target\tqid\tid\tf1\tf2\tf3"],
        "votes": ["left,right,winner,judge,weight"],
    }.get(format, [])
    return ("\n".join([*header, *(lines(i) for i in range(20))]) + "\n").encode()


def damages(format: str) -> list[Damage]:
    """All damaged files of a format."""
    return list(_parquet(whole(format)) if format == "parquet" else _text(format, whole(format)))


def _text(format: str, good: bytes) -> Iterator[Damage]:
    suffix = SUFFIXES.get(format, ".txt")

    def damage(name: str, data: bytes, verdict: Literal["refused", "read", "either"] = "refused") -> Damage:
        return Damage(f"{format}-{name}", data, suffix, verdict)

    lines = good.splitlines()
    separator = {"csv": b",", "tsv": b"\t", "votes": b","}.get(format, b" ")

    def with_line(line: bytes, number: int = 7) -> bytes:
        return b"\n".join([*lines[:number], line, *lines[number + 1 :]]) + b"\n"

    def with_cell(text: bytes, column: int, number: int = 7) -> bytes:
        cells = lines[number].split(separator)
        # In SVMlight the value stands behind the number of its feature.
        head = cells[column].partition(b":")[0] + b":" if format == "svmlight" and b":" in cells[column] else b""
        return with_line(separator.join([*cells[:column], head + text, *cells[column + 1 :]]))

    number_column = {"svmlight": 3, "csv": 4, "tsv": 4, "run": 4, "qrels": 3, "pairs": 2, "votes": 4}[format]
    yield damage("good", good, "read")
    yield damage("byte order mark", b"\xef\xbb\xbf" + good, "read")
    yield damage("carriage returns", good.replace(b"\n", b"\r\n"), "read")
    yield damage("mixed line ends", good.replace(b"\n", b"\r\n", 9), "read")
    yield damage("no last line end", good[:-1], "read")
    yield damage("blank lines", good.replace(b"\n", b"\n\n"), "read")
    yield damage("old line ends", good.replace(b"\n", b"\r"))
    yield damage("one bare carriage return", with_line(lines[7] + b"\r" + lines[8]))
    yield damage("empty", b"")
    yield damage("only line ends", b"\n\n\n")
    yield damage("only a byte order mark", b"\xef\xbb\xbf")
    yield damage("NUL", with_line(lines[7] + b"\0"))
    yield damage("UTF-16", good.decode().encode("utf-16"))
    yield damage("binary", random.Random(0).randbytes(2000))
    yield damage("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + random.Random(1).randbytes(500))
    yield damage("gzip under another name", gzip.compress(good))
    yield damage("xz under another name", lzma.compress(good))
    yield damage("a zip file", b"PK\x03\x04" + random.Random(2).randbytes(300))
    yield damage("HTML", b"<!DOCTYPE html>\n<html><body>404, not found</body></html>\n")
    yield damage("JSON", b'{"target": [1, 2], "f1": [0.5, 0.25]}\n')
    yield damage("prose", b"This file was meant to hold data.\nIt holds words.\n")
    yield damage("a column too few", with_line(separator.join(lines[7].split(separator)[:2])), _few(format))
    yield damage(
        "columns too many",
        with_line(lines[7] + (separator + b"7") * 4),
        "either" if format == "svmlight" else "refused",
    )
    yield damage("text for a number", with_cell(b"high", number_column))
    yield damage("a decimal comma", with_cell(b"0;5" if separator == b"," else b"0,5", number_column))
    yield damage("an underscore", with_cell(b"1_000", number_column))
    yield damage("two points", with_cell(b"0.5.1", number_column))
    yield damage("a hexadecimal number", with_cell(b"0x1F", number_column))
    yield damage("another script's digits", with_cell("٣".encode(), number_column))
    yield damage("a minus sign alone", with_cell(b"-", number_column))
    for word in (b"nan", b"NaN", b"inf", b"-Infinity", b"1e999", b"NA", b"null", b"?"):
        yield damage(f"{word.decode()}", with_cell(word, number_column))
    huge = "refused" if format == "qrels" else "read"
    yield damage("a huge integer", with_cell(b"9" * 40, number_column), huge)
    yield damage("an integer beyond 64 bits", with_cell(b"18446744073709551616", number_column), huge)
    yield damage("a small number", with_cell(b"1e-400", number_column), "refused" if format == "qrels" else "read")
    yield damage("a million digits", with_cell(b"1" * 10**6, number_column))
    yield damage("not UTF-8", with_cell(b"\xff\xfe", number_column))
    yield damage("a line twice", with_line(lines[8]), "read" if format in ("pairs", "votes") else "refused")
    yield from _of_format(format, damage, lines, with_line)
    for compressor, ending in ((gzip.compress, ".gz"), (lzma.compress, ".xz"), (bz2.compress, ".bz2"), (_zstd, ".zst")):
        packed = compressor(good)
        yield Damage(f"{format}-compressed{ending}", packed, suffix + ending, "read")
        yield Damage(f"{format}-truncated{ending}", packed[: len(packed) // 2], suffix + ending, "refused")
        yield Damage(f"{format}-not compressed{ending}", good, suffix + ending, "refused")
    chance = random.Random(3)
    for number in range(12):
        place = chance.randrange(1, len(good) - 1)
        yield damage(f"{number}: truncated at {place}", good[:place], "either")
        place = chance.randrange(len(good))
        yield damage(
            f"{number}: another byte at {place}", good[:place] + chance.randbytes(1) + good[place + 1 :], "either"
        )
        yield damage(f"{number}: a byte less at {place}", good[:place] + good[place + 1 :], "either")
        start, stop = sorted(chance.choices(range(len(good)), k=2))
        yield damage(f"{number}: {start} to {stop} lost", good[:start] + good[stop:], "either")


def _few(format: str) -> Literal["refused", "either"]:
    # A row of SVMlight may have no feature, and one preference without its magnitude is seen beside the others.
    return "either" if format == "svmlight" else "refused"


def _of_format(format, damage, lines, with_line) -> Iterator[Damage]:
    """What can go wrong in one format only."""
    if format == "svmlight":
        for name, line in {
            "no qid": b"1 1:0.5 2:1",
            "an empty qid": b"1 qid: 1:0.5",
            "two qids": b"1 qid:1 qid:2 1:0.5",
            "a late qid": b"1 1:0.5 qid:1",
            "indices that fall": b"1 qid:1 2:1 1:1",
            "an index twice": b"1 qid:1 1:1 1:2",
            "a negative index": b"1 qid:1 -1:1",
            "a huge index": b"1 qid:1 99999999999999999999:1",
            "an index in words": b"1 qid:1 age:36",
            "no colon": b"1 qid:1 0.5",
            "no target": b"qid:1 1:0.5",
            "a docid twice": b"1 qid:1 1:0.5 # docid = d6",
        }.items():
            yield damage(name, with_line(line))
        yield damage("no docid", with_line(b"1 qid:1 1:0.5"), "read")
    elif format in ("csv", "tsv"):
        mark = b"," if format == "csv" else b"\t"
        rows = b"\n".join(lines[1:]) + b"\n"
        yield damage("no header", rows)
        yield damage("only a header", lines[0] + b"\n")
        yield damage("a name twice", lines[0].replace(b"f2", b"f1") + b"\n" + rows)
        yield damage("a name missing", lines[0].replace(b"f2", b"") + b"\n" + rows)
        yield damage("a target missing", b"\n".join([lines[0], lines[1][1:], *lines[2:]]))
        yield damage("no target at all", lines[0].replace(b"target", b"f0") + b"\n" + rows)
        yield damage("two targets", lines[0].replace(b"f3", b"label") + b"\n" + rows)
        yield damage("an open quote", with_line(b'"' + lines[7]))
        yield damage("an open quote at the end", with_line(lines[7] + mark + b'"'))
        yield damage("more after a quote", with_line(b'"1"2' + lines[7][1:]))
        yield damage("all in quotes", b"\n".join(_quoted(line, mark) for line in lines), "read")
        yield damage("a line end in quotes", with_line(lines[7].replace(b"d6", b'"d\n6"')), "read")
        yield damage("doubled quotes", with_line(lines[7].replace(b"d6", b'"d""6"')), "read")
        yield damage("spaces", b"\n".join(line.replace(mark, b" " + mark + b" ") for line in lines), "read")
        yield damage("an empty id", with_line(lines[7].replace(b"d6", b"")))
        yield damage("an id twice", with_line(lines[7].replace(b"d6", b"d5")))
        yield damage("an empty query", with_line(mark.join([b"1", b"", *lines[7].split(mark)[2:]])))
        yield damage("a comment", with_line(b"# nothing"))
        yield damage("another delimiter", b"\n".join([lines[0], *(line.replace(mark, b";") for line in lines[1:])]))
    elif format == "pairs":
        yield damage("preferred to itself", with_line(b"d1 d1 0.5 1"), "read")
        yield damage("a negative magnitude", with_line(b"d1 d2 -0.5 1"))
        yield damage("a field is empty", with_line(b"d1,,0.5,1"))
    elif format == "votes":
        yield damage("no winner", with_line(b"d1,d2,,j1,1"))
        yield damage("a winner that is missing", with_line(b"d1,d2,NA,j1,1"))
        yield damage("a winner of another vote", with_line(b"d1,d2,d3,j1,1"))
        yield damage("an unknown word", with_line(b"d1,d2,perhaps,j1,1"))
        yield damage("no item", with_line(b",d2,left,j1,1"))
        yield damage("no judge", with_line(b"d1,d2,left,,1"))
        yield damage("a negative weight", with_line(b"d1,d2,left,j1,-1"))
        yield damage("an open quote", with_line(b'"d1,d2,left,j1,1'))
        yield damage("more after a quote", with_line(b'"d1"x,d2,left,j1,1'))
        yield damage("an item against itself", with_line(b"d1,d1,left,j1,1"), "read")
        yield damage("a tie in other words", with_line(b"d1,d2,tie (bothbad),j1,1"), "read")
        yield damage("all in quotes", b"\n".join(_quoted(line, b",") for line in lines), "read")
        yield damage("two winners", lines[0].replace(b"judge", b"chosen") + b"\n" + b"\n".join(lines[1:]))
        yield damage("only a header", lines[0] + b"\n")
        yield damage("a name twice", lines[0].replace(b"right", b"left") + b"\n" + b"\n".join(lines[1:]))
    else:
        yield damage("a comment", with_line(b"# nothing"))


def _quoted(line: bytes, mark: bytes) -> bytes:
    return mark.join(b'"' + cell + b'"' for cell in line.split(mark))


def _zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


def _parquet(good: bytes) -> Iterator[Damage]:
    def damage(name: str, data: bytes, verdict: Literal["refused", "read", "either"] = "refused") -> Damage:
        return Damage(f"parquet-{name}", data, ".parquet", verdict)

    table = pq.read_table(io.BytesIO(good))

    def with_column(name: str, values: pa.Array) -> bytes:
        file = io.BytesIO()
        pq.write_table(table.set_column(table.schema.get_field_index(name), name, values), file, row_group_size=10)
        return file.getvalue()

    x = table["f2"].to_pylist()
    yield damage("good", good, "read")
    yield damage("empty", b"")
    yield damage("binary", random.Random(0).randbytes(2000))
    yield damage("text", b"target,f1\n1,2\n")
    yield damage("only the first word", b"PAR1")
    yield damage("no rows", _parquet_bytes(table.slice(0, 0)))
    yield damage("missing", with_column("f2", pa.array([*x[:13], None, *x[14:]])))
    yield damage("NaN", with_column("f2", pa.array([*x[:13], float("nan"), *x[14:]])))
    yield damage("infinity", with_column("f2", pa.array([*x[:13], float("inf"), *x[14:]])))
    yield damage("text for a number", with_column("f2", pa.array([str(value) for value in x])))
    yield damage("dates", with_column("f2", pa.array(range(20), type=pa.timestamp("s"))))
    yield damage("lists", with_column("f2", pa.array([[1.0]] * 20)))
    yield damage("nothing known", with_column("f2", pa.nulls(20)))
    yield damage("booleans", with_column("f2", pa.array([True, False] * 10)), "read")
    yield damage("decimals", with_column("f2", pa.array(range(20), type=pa.decimal128(5, 2))), "read")
    yield damage("huge integers", with_column("f2", pa.array([2**63 - 1] * 20)), "read")
    yield damage("an id twice", with_column("id", pa.array(["d0", *(f"d{item}" for item in range(19))])))
    yield damage("an id missing", with_column("id", pa.array([None, *(f"d{item}" for item in range(19))])))
    yield damage("a query missing", with_column("qid", pa.array([None, *range(19)])))
    yield damage("a target missing", with_column("target", pa.array([None, *range(19)])))
    yield damage("no target", _parquet_bytes(table.drop_columns("target")))
    yield Damage("parquet-under another name", good, ".csv", "refused")
    yield Damage("parquet-without a name", good, ".txt", "read")
    yield Damage("parquet-compressed again", gzip.compress(good), ".parquet.gz", "refused")
    chance = random.Random(4)
    for number in range(20):
        place = chance.randrange(1, len(good) - 1)
        yield damage(f"{number}: truncated at {place}", good[:place])
        place = chance.randrange(len(good))
        yield damage(
            f"{number}: another byte at {place}", good[:place] + chance.randbytes(1) + good[place + 1 :], "either"
        )


def _parquet_bytes(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()

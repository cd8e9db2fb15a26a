"""Damaged files are refused with their place, or read; nothing else happens, in any format."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kernelrank.data import read_item_chunks, read_items, read_pairs, read_qrels, read_run
from kernelrank.errors import FileFormatError
from tests.data.damage import FORMATS, SUFFIXES, damages, whole

READERS = {"run": read_run, "qrels": read_qrels, "pairs": read_pairs, "votes": read_pairs}
DAMAGES = [(format, damage) for format in FORMATS for damage in damages(format)]
# What concerns a file as a whole has no line: nothing in it, no such column, damaged compression.
WHOLE = (
    "the file is empty|the file has no|the compressed data is damaged|(?:not|got) a Parquet file|looks? like|"
    "expected JSON|could each be the |a zip file, as Excel|a JSON file: |Parquet files are compressed inside|"
    "there is no column|[0-9,]+ invalid votes: [0-9]|: save it as CSV"
)


# What changes the bytes, but not what they say.
SAME = (
    "byte order mark",
    "carriage returns",
    "mixed line ends",
    "no last line end",
    "blank lines",
    "all in quotes",
    "spaces",
    "without a name",
    *(f"-compressed.{ending}" for ending in ("gz", "xz", "bz2", "zst")),
)


def assert_equal(first, second):
    """Compare items, runs, judgements or preferences."""
    fields = ("X", "y", "qid", "ids") if hasattr(first, "X") else first._fields
    for name in fields:
        assert np.array_equal(getattr(first, name), getattr(second, name))


def outcome(format, path):
    """What is read, or the error."""
    try:
        return READERS.get(format, read_items)(path)
    except FileFormatError as error:
        return error


@pytest.mark.parametrize(("format", "damage"), DAMAGES, ids=[damage.name for _, damage in DAMAGES])
def test_refused_with_a_place_or_read(format, damage, tmp_path):
    path = tmp_path / f"file{damage.suffix}"
    path.write_bytes(damage.data)
    read = outcome(format, path)
    if not isinstance(read, FileFormatError):
        assert damage.verdict != "refused"
        if any(damage.name.endswith(name) for name in SAME):
            (tmp_path / f"whole{SUFFIXES.get(format, '')}").write_bytes(whole(format))
            assert_equal(read, outcome(format, tmp_path / f"whole{SUFFIXES.get(format, '')}"))
        return
    assert damage.verdict != "read", read
    assert read.path == str(path)
    place = (
        r"row \d+ in row group \d of 2, column '|row group \d of"
        if damage.suffix == ".parquet"
        else r"line \d+(, column '|: )"
    )
    assert re.search(f"^{re.escape(str(path))}(, ({place})|: .*({WHOLE})|, column .*({WHOLE}))", str(read)), read


@pytest.mark.parametrize(
    ("format", "damage"),
    [case for case in DAMAGES if case[0] not in READERS],
    ids=[damage.name for format, damage in DAMAGES if format not in READERS],
)
def test_chunks_say_what_the_whole_file_says(format, damage, tmp_path):
    path = tmp_path / f"file{damage.suffix}"
    path.write_bytes(damage.data)
    read = outcome(format, path)
    if isinstance(read, FileFormatError):
        # Ids that repeat are compared within each chunk: here with all rows in one.
        with pytest.raises(FileFormatError) as error:
            list(read_item_chunks(path, chunk_rows=6 if "occurs twice" not in str(read) else 100))
        assert str(error.value) == str(read)
        return
    chunks = list(read_item_chunks(path, chunk_rows=6))
    assert np.array_equal(np.concatenate([chunk.y for chunk in chunks]), read.y)
    assert [len(chunk) for chunk in chunks[:-1]] == [6] * (len(chunks) - 1)
    # All chunks are dense or all are sparse, as the whole is.
    assert {type(chunk.X) for chunk in chunks} == {type(read.X)}
    if isinstance(read.X, np.ndarray):
        assert np.array_equal(np.concatenate([chunk.X for chunk in chunks]), read.X)


def test_there_are_enough():
    assert len(DAMAGES) > 400
    assert len({damage.name for _, damage in DAMAGES}) == len(DAMAGES)
    assert {damage.verdict for _, damage in DAMAGES} == {"read", "refused", "either"}

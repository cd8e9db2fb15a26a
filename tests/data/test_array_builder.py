"""An array built from blocks is that of the blocks, whatever share of the whole the first one was said to be."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.data import read_items
from kernelrank.data.items import ArrayBuilder


@pytest.mark.parametrize("share", [None, 0.01, 0.5, 1.0])
def test_a_wrong_share_changes_nothing(share):
    blocks = [np.arange(start, start + size, dtype=np.float64) for start, size in [(0, 5), (5, 1), (6, 40)]]
    array = ArrayBuilder(np.float64)
    for block in blocks:
        array.append(block, share)
    np.testing.assert_array_equal(array.finished(), np.arange(46.0))


def test_rows_that_grow_longer_are_all_read(tmp_path):
    """The first block, of short rows, suggests more rows than the file has; the other way round, fewer."""
    short, long = ["1,2"] * 400_000, [f"{1 + 2**-40},{2 + 2**-40}"] * 60_000
    for name, rows in {"fewer": short + long, "more": long + short}.items():
        path = tmp_path / f"{name}.csv"
        path.write_text("y,x\n" + "\n".join(rows) + "\n")
        items = read_items(path)
        np.testing.assert_array_equal(items.X[:, 0], [float(row.split(",")[1]) for row in rows])


@pytest.mark.parametrize("odd", ["007", "+7", "0xE8D4A50FFF", "-0"])
def test_labels_that_python_writes_otherwise_are_strings(tmp_path, odd):
    path = tmp_path / "items.csv"
    path.write_text(f"qid,y,x\n7,1,2\n7,0,3\n{odd},1,4\n{odd},0,5\n")
    assert read_items(path).qid.tolist() == ["7", "7", odd, odd]

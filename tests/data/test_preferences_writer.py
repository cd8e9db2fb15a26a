"""Preference files are written as they are read; the folds of LETOR are found."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.data import letor_folds, read_pairs, write_pairs
from kernelrank.errors import FileFormatError, InvalidInputError

PAIRS = np.array([[0, 2], [2, 1], [1, 0]])


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("names", [None, ["tea", "café", "water"]])
@pytest.mark.parametrize("columns", [0, 1, 2])
def test_round_trip(suffix, names, columns, tmp_path):
    numbers = [np.array([0.1, 1 / 3, 2.0]), np.array([1.0, 0.0, 5e-324])][:columns]
    given = dict(zip(("magnitude", "weight"), numbers, strict=False))
    write_pairs(tmp_path / f"p{suffix}", PAIRS, **given, names=names)
    read = read_pairs(tmp_path / f"p{suffix}", items=names)
    assert np.array_equal(read.pairs, PAIRS)
    for column, values in zip((read.magnitude, read.weight), [*numbers, None, None][:2], strict=True):
        assert (column is None) if values is None else np.array_equal(column, values)
    written = dict(zip(("pairs", "magnitude", "weight", "names"), read[:4], strict=True))
    write_pairs(tmp_path / f"again{suffix}", **written)
    assert (tmp_path / f"again{suffix}").read_bytes() == (tmp_path / f"p{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("pairs", "others", "message"),
    [
        ([[0, 1, 2]], {}, "pairs must have shape"),
        ([[0.5, 1.0]], {}, "pairs must hold item numbers, got float64"),
        ([[0, 1], [-1, 0]], {}, r"pairs\[1\] has a negative item number"),
        ([[0, 1], [1, 1]], {}, r"pairs\[1\]: item 1 is preferred to itself"),
        ([[0, 1]], {"magnitude": [1.0, 2.0]}, r"magnitude has shape \(2,\), but there are 1 pairs"),
        ([[0, 1]], {"magnitude": [-1.0]}, r"magnitude\[0\] is -1\.0: expected a finite number, zero or more"),
        ([[0, 1]], {"magnitude": [np.nan]}, r"magnitude\[0\] is nan"),
        ([[0, 1]], {"weight": [1.0]}, "weight needs magnitude"),
        ([[0, 1]], {"names": ["a"]}, "pairs has item 1, but there are 1 names"),
        ([[0, 1]], {"names": ["a", "b c"]}, "the name 'b c' is empty or has white space"),
        ([[0, 1]], {"names": ["a", "b,c"]}, "the name 'b,c'"),
        ([[0, 1]], {"names": ["a", "#b"]}, "the name '#b'"),
        ([[0, 1]], {"names": ["a", "a"]}, "two items are called 'a'"),
    ],
)
def test_refused(pairs, others, message, tmp_path):
    with pytest.raises(InvalidInputError, match=message):
        write_pairs(tmp_path / "p", pairs, **others)
    assert list(tmp_path.iterdir()) == []


class TestFolds:
    @pytest.fixture
    def folder(self, tmp_path):
        for name in ("Fold10", "Fold1", "Fold2"):
            (tmp_path / name).mkdir()
            for part in ("train", "vali", "test"):
                (tmp_path / name / f"{part}.txt").touch()
        return tmp_path

    def test_by_number(self, folder):
        folds = letor_folds(folder)
        assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold10"]
        assert folds[1].vali == folder / "Fold2" / "vali.txt"
        assert letor_folds(str(folder / "Fold1")) == folds[:1]

    def test_compressed(self, folder):
        (folder / "Fold1" / "train.txt").rename(folder / "Fold1" / "train.txt.gz")
        assert letor_folds(folder)[0].train.name == "train.txt.gz"

    def test_refused(self, folder):
        (folder / "Fold2" / "vali.txt").unlink()
        with pytest.raises(FileFormatError, match=r"Fold2: the fold has no vali\.txt"):
            letor_folds(folder)
        with pytest.raises(FileFormatError, match="none: there is no such folder"):
            letor_folds(folder / "none")
        (folder / "empty").mkdir()
        with pytest.raises(FileFormatError, match="empty: no fold is here: expected folders Fold1, Fold2"):
            letor_folds(folder / "empty")

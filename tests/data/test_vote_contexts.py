"""What a vote was about, in files: nested records, covariates of two columns or one, times of any form, periods."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from kernelrank import read_pairs
from kernelrank.data.vote_contexts import read_times
from kernelrank.errors import FileFormatError, InvalidInputError

RECORDS = [
    {
        "model_a": "x",
        "model_b": "y",
        "winner": "model_a",
        "meta": {"lang": "en", "n": {"sum_a_tokens": 9}},
        "at": 1.5e9,
    },
    {"model_a": "y", "model_b": "z", "winner": "tie", "meta": {"lang": "de", "n": {"sum_a_tokens": 2}}, "at": 1.6e9},
    {
        "model_a": "z",
        "model_b": "x",
        "winner": "model_b",
        "meta": {"lang": "de", "n": {"sum_a_tokens": 3}},
        "at": 1.7e9,
    },
]
for number, record in enumerate(RECORDS):
    record["meta"]["n"]["sum_b_tokens"] = 5 + number
    record["turns"] = [{"role": "user"}]


def written(path, kind):
    if kind == "list":
        path.write_text(json.dumps(RECORDS))
    elif kind == "lines":
        path.write_text("\n\n".join(map(json.dumps, RECORDS)))
    else:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(RECORDS), path)
    return path


@pytest.mark.parametrize(("kind", "name"), [("lines", "v.jsonl"), ("list", "v.json"), ("parquet", "v.parquet")])
def test_nested_records(tmp_path, kind, name):
    path = written(tmp_path / name, kind)
    found = read_pairs(path, category="meta.lang", time="at", covariates=["meta.n.sum_tokens", "side"])
    assert found.names[found.pairs].tolist() == [["x", "y"], ["y", "z"], ["x", "z"]]
    assert found.tie.tolist() == [False, True, False]
    assert found.category.tolist() == ["en", "de", "de"]
    assert found.covariates["meta.n.sum_tokens"].tolist() == [4.0, -4.0, 4.0]  # the winner less the loser
    assert found.covariates["side"].tolist() == [1.0, 1.0, -1.0]
    assert found.time.dtype.kind == "M"
    assert str(found.time[0]).startswith("2017-07-14T02:40")
    late = read_pairs(path, time="at", since="2020")
    assert late.pairs.tolist() == found.pairs[1:].tolist()
    assert "of the period since 2020: 2 of 3 votes" in late.notes
    assert read_pairs(path, format="json" if kind != "parquet" else "parquet").covariates is None


def test_columns_of_winners_and_losers():
    text = "winner,loser,len_winner,len_loser,extra\na,b,3,1,5\nc,b,1,4,6\n"
    found = read_pairs(io.StringIO(text), covariates=["len", "extra"])
    assert {name: values.tolist() for name, values in found.covariates.items()} == {"len": [2, -3], "extra": [5, 6]}
    with pytest.raises(FileFormatError, match="no column 'side'"):
        read_pairs(io.StringIO(text), covariates=["side"])
    with pytest.raises(FileFormatError, match="line 3, column 'len_loser'"):
        read_pairs(io.StringIO(text.replace("1,4,6", "1,much,6")), covariates=["len"])
    kept = read_pairs(io.StringIO(text.replace("1,4,6", "1,much,6")), covariates=["len"], skip_invalid=True)
    assert kept.covariates["len"].tolist() == [2]
    with pytest.raises(InvalidInputError, match="no columns with names"):
        read_pairs(io.StringIO("a b\nb c\n"), format="lines", covariates=["len"])


@pytest.mark.parametrize(
    "word",
    [
        "2024-05-01T12:00:00Z",
        "2024-05-01 12:00",
        "2024/5/1 12:00:00 UTC",
        "2024-05-01 14:00:00.000+02:00",
        "Wed, 01 May 2024 12:00:00 +0000",
        "01.05.2024 12:00",
        "1 May 2024 12:00:00",
        "May 1, 2024 12:00",
        "1714564800",
        "1714564800000",
        "1714564800000000",
    ],
)
def test_times_of_many_forms(word):
    read, dated = read_times([word])
    assert dated
    assert read == [1714564800.0]


def test_times_that_are_numbers_or_nothing():
    assert read_times(["3", "1.5"])[1] is False
    assert read_times(["20240501", "", "20240502"])[0][[0, 2]].tolist() == [1714521600.0, 1714608000.0]
    assert read_times(["20240501", "20249901"])[1] is False
    assert np.isnan(read_times(["05/06/2024"])[0]).all()  # May or June
    assert np.isnan(read_times(["2024-05-01", "soon"])[0]).tolist() == [False, True]
    rounds = "winner,loser,round\na,b,1\nb,c,2\na,c,3\n"
    assert read_pairs(io.StringIO(rounds), time="round", until="3").pairs.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(InvalidInputError, match="a number, as times are"):
        read_pairs(io.StringIO(rounds), time="round", until="2024-05-01")
    with pytest.raises(FileFormatError, match="line 3, column 'round': 'soon' is no time"):
        read_pairs(
            io.StringIO(rounds.replace("2", "soon").replace("1", "2024-01-01").replace("3", "2024-02")), time="round"
        )
    with pytest.raises(FileFormatError, match="no preference is left"):
        read_pairs(io.StringIO(rounds), time="round", since="9")
    dated = "winner,loser,voted_at\na,b,2024-01-01\nb,c,2024-02-01\n"
    assert len(read_pairs(io.StringIO(dated), since="2024-01-15").pairs) == 1  # the column is found by its name
    assert read_pairs(io.StringIO(dated)).time is None

"""Chosen and rejected answers with embeddings: what files say, and hold-outs of whole prompts."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

import kernelrank as kr
from kernelrank.data import read_embedded_pairs
from kernelrank.errors import FileFormatError


def records(n: int = 60) -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    found: list[dict[str, object]] = []
    for place in range(n):
        a, b = rng.normal(size=(2, 3)).round(3)
        if a[0] + rng.logistic() < b[0]:
            a, b = b, a
        found.append({
            "prompt": f"prompt {place // 3}", "chosen": "a\ntext", "rejected": "another",
            "chosen_embedding": a.tolist(), "rejected_embedding": b.tolist(),
        })  # fmt: skip
    found[1]["chosen_embedding"] = found[0]["chosen_embedding"]
    return found


def lines(rows: list[dict[str, object]]) -> io.StringIO:
    return io.StringIO("\n".join(map(json.dumps, rows)))


def test_every_format_says_the_same(tmp_path):
    import pyarrow
    import pyarrow.parquet

    rows = records()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    for source in (lines(rows), tmp_path / "a.parquet", str(tmp_path / "a.parquet"), tmp_path / "a.json"):
        found = read_embedded_pairs(source)
        for side, name in enumerate(("chosen_embedding", "rejected_embedding")):
            assert found.X[found.pairs[:, side]].tolist() == [row[name] for row in rows]
        assert found.groups.tolist() == [row["prompt"] for row in rows]
        assert len(found.X) == 2 * len(rows) - 1  # an answer that occurs twice is one item
        assert found.pairs[0, 0] == found.pairs[1, 0]
    assert "20 groups by 'prompt'" in found.notes[0]


def test_whole_prompts_are_held_out():
    X, pairs, prompts, _ = read_embedded_pairs(lines(records()))
    held_out = kr.leave_preferences_out(kr.BradleyTerry(0.5), X, pairs, groups=prompts)
    own = prompts == "prompt 4"
    model = kr.BradleyTerry(0.5).fit_pairs(X, pairs[~own])
    scores = model.predict(X)
    expected = scores[pairs[own, 0]] - scores[pairs[own, 1]]
    np.testing.assert_allclose(held_out.difference[own], expected, atol=1e-6)


def test_columns_may_be_named():
    rows = [{"id": 7, "good": [1.0], "bad": [0.0]}]
    found = read_embedded_pairs(lines(rows), chosen="good", rejected="bad", group="id")
    assert (found.X.tolist(), found.groups.tolist()) == ([[1.0], [0.0]], ["7"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chosen_embedding": [1.0, 2.0]}, "record 2.*chosen_embedding.*expected 3 finite numbers"),
        ({"rejected_embedding": [1.0, 2.0, float("nan")]}, "record 2.*rejected_embedding.*3 finite"),
        ({"rejected_embedding": None}, "record 2.*rejected_embedding.*3 finite"),
    ],
)
def test_embeddings_that_are_none(change, message):
    rows = records(3)
    rows[1] |= change
    with pytest.raises(FileFormatError, match=message):
        read_embedded_pairs(lines(rows))


def test_files_without_embeddings():
    with pytest.raises(FileFormatError, match="its lists of numbers are none"):
        read_embedded_pairs(lines([{"prompt": "a", "chosen": "b", "rejected": "c"}]))
    with pytest.raises(FileFormatError, match="no column 'prompt'; the columns are chosen, rejected"):
        read_embedded_pairs(lines([{"chosen": [1.0], "rejected": [0.0]}]))
    with pytest.raises(FileFormatError, match="no record"):
        read_embedded_pairs(io.StringIO(""))
    with pytest.raises(FileFormatError, match="expected JSON"):
        read_embedded_pairs(io.StringIO("prompt,chosen"))
    with pytest.raises(FileFormatError, match="records with names"):
        read_embedded_pairs(io.StringIO("[1]"))

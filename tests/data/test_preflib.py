"""PrefLib files: rankings become preferences of the weight of one ranking, ties stay ties, counts are checked."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest

from kernelrank.data import read_pairs
from kernelrank.errors import FileFormatError

NAMES = ("Steffi Graf", "Monica Seles", "Jana Novotná", "Gabriela Sabatini")


def preflib(kind, *lines, names=NAMES, **counts):
    """A PrefLib file; the counts of its metadata are right unless given."""
    orders = [line for line in lines if ":" in line]
    said = {
        "ALTERNATIVES": len(names),
        "VOTERS": sum(int(order.split(":")[0]) for order in orders),
        "UNIQUE ORDERS": len(lines),
    }
    if kind == "wmd":
        said = {"ALTERNATIVES": len(names), "EDGES": len(lines)}
    said |= {name.replace("_", " "): count for name, count in counts.items()}
    return "\n".join(
        [
            f"# FILE NAME: 00001-00000001.{kind}",
            "# TITLE: Final: the last one",
            f"# DATA TYPE: {kind}",
            *(f"# NUMBER {name}: {count}" for name, count in said.items()),
            *(f"# ALTERNATIVE NAME {number}: {name}" for number, name in enumerate(names, start=1)),
            *lines,
            "",
        ]
    )


def load(text, **options):
    return read_pairs(io.BytesIO(text.encode()), **options)


def test_complete_orders():
    found = load(preflib("soc", "3: 2,1,4,3", "1: 4,3,2,1"))
    assert found.names.tolist() == list(NAMES)
    assert found.pairs[:6].tolist() == [[1, 0], [1, 3], [1, 2], [0, 3], [0, 2], [3, 2]]
    assert found.tie is found.magnitude is found.side is None
    assert found.weight.tolist() == [3 / 6] * 6 + [1 / 6] * 6
    assert found.judge.tolist() == [1] * 6 + [2] * 6
    assert found.notes == (
        "a PrefLib file: 4 items, 4 rankings, 2 of them different",
        "the rankings made 12 preferences; the preferences of one ranking together weigh as much as one vote",
    )


def test_ties_and_partial_orders():
    found = load(preflib("toi", "2: {1,3},2", "1: 4", "5: {2, 4}", "1:3,{1,2}"))
    assert found.pairs.tolist() == [[0, 2], [0, 1], [2, 1], [1, 3], [2, 0], [2, 1], [0, 1]]
    assert found.tie.tolist() == [True, False, False, True, False, False, True]
    assert found.magnitude.tolist() == [0, 1, 1, 0, 1, 1, 0]
    assert np.allclose(found.weight, [2 / 3] * 3 + [5] + [1 / 3] * 3)
    assert found.judge.tolist() == [1, 1, 1, 3, 4, 4, 4]
    assert found.notes[-1] == "left out: 1 rankings of a single item, which compare nothing"
    for number in (1, 3, 4):
        assert found.weight[found.judge == number].sum() == pytest.approx({1: 2, 3: 5, 4: 1}[number])


def test_graphs():
    found = load(preflib("wmd", "1,2,5", "2, 3, 0.5"))
    assert (found.pairs.tolist(), found.weight.tolist()) == ([[0, 1], [1, 2]], [5, 0.5])
    assert found.judge is None
    assert found.notes == ("a PrefLib file: 4 items, 2 weighted preferences",)


def test_known_by_its_suffix(tmp_path):
    text = preflib("soi", "1: 1,2").replace("# FILE NAME: 00001-00000001.soi\n", "# some words\n")
    for name in ("a.soi", "a.SOI"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert read_pairs(tmp_path / name).pairs.tolist() == [[0, 1]]
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert read_pairs(tmp_path / "a.txt", format="preflib").pairs.tolist() == [[0, 1]]


def test_items_of_another_file():
    found = load(preflib("soi", "1: 1,2", names=NAMES[:2]), items=["Monica Seles", "Steffi Graf", "Martina Hingis"])
    assert (found.pairs.tolist(), len(found.names)) == ([[1, 0]], 3)
    with pytest.raises(FileFormatError, match=r"line 7: 'Steffi Graf' is not among .*did you mean 'Stefanie Graf'"):
        load(preflib("soi", "1: 1,2", names=NAMES[:2]), items=["Monica Seles", "Stefanie Graf"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (preflib("soc", "1: 1,2,3,4", VOTERS=3), "NUMBER VOTERS says 3, but 1 is the sum of the counts"),
        (preflib("soc", "1: 1,2,3,4", ALTERNATIVES=5), "NUMBER ALTERNATIVES says 5, but 4 items have a name"),
        (preflib("soc", "1: 1,2,3,4", UNIQUE_ORDERS=2), "NUMBER UNIQUE ORDERS says 2, but 1 lines follow"),
        (preflib("wmd", "1,2,3", EDGES=2), "NUMBER EDGES says 2, but 1 lines follow"),
        (preflib("soi", "1: 1,5"), "line 11: '5': expected a number of an item, 1 to 4"),
        (preflib("soi", "1: 1,x"), "line 11: 'x': expected a number of an item"),
        (preflib("soi", "1: 1,2", "1: 1,2,1"), "line 12: item 1 is ranked twice"),
        (preflib("soi", "1: 1,{2,3}"), "line 11: a tie, in a file of type soi"),
        (preflib("toc", "1: 1,{2,3}"), "line 11: 3 of 4 items are ranked, in a file of type toc"),
        (preflib("toi", "1: 1,{2,3"), "line 11: '1: 1,{2,3': expected a count and a ranking"),
        (preflib("toi", "1: 1,,2"), "expected a count and a ranking"),
        (preflib("toi", "1: ,1"), "expected a count and a ranking"),
        (preflib("toi", "1:", VOTERS=1), "expected a count and a ranking"),
        (preflib("toi", "1,2,3"), "line 11: '1,2,3': expected a count and a ranking"),
        (preflib("toi", "1: {}"), "expected a number of an item"),
        (preflib("toi", "9" * 30 + ": 1,2"), "expected a count and a ranking"),
        (preflib("wmd", "1,2"), "line 10: '1,2': expected two items and a weight"),
        (preflib("wmd", "1,2,-1"), "expected two items and a weight"),
        (preflib("wmd", "1,1,2"), "the file has no preferences"),
        (preflib("soi", "1: 1", "2: 2"), "no preferences: each ranking names a single item"),
        (preflib("soi", "1: 1,2", names=("a", "b", "a")), "line 9: two items are called 'a'"),
        (preflib("soi", "1: 1,2", names=("a", "")), "expected a new number and a name"),
        (preflib("soi", names=NAMES), "the file has no preferences"),
        (preflib("cat", "1: 1,2"), "line 3: the data type 'cat': expected one of soc, soi, toc, toi, wmd"),
        ("# FILE NAME: a.soc\n4\n1, tea\n", "line 2: '4': no item has a name yet"),
    ],
)
def test_faults(text, message):
    with pytest.raises(FileFormatError, match=message):
        load(text)


def test_not_utf8():
    with pytest.raises(FileFormatError, match="line 2: the line is not UTF-8"):
        read_pairs(io.BytesIO(b"# FILE NAME: a.soc\n# TITLE: \xff\n"))


def test_damaged_bytes_are_refused_or_read():
    good = preflib("toi", "2: {1,3},2", "1: 4,1,2", "5: {2,4}").encode()
    chance = random.Random(0)
    for _ in range(300):
        place = chance.randrange(len(good))
        damaged = chance.choice(
            [good[:place], good[:place] + chance.randbytes(1) + good[place + 1 :], good[:place] + good[place + 1 :]]
        )
        try:
            found = read_pairs(io.BytesIO(damaged), format="preflib")
        except FileFormatError:
            continue
        assert np.isfinite(found.weight).all()
        assert found.pairs.max() < len(found.names)

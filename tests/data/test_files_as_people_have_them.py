"""Forty files as people have them: each is read as a careful person would, or refused with a sentence that helps.

Tables are written as CSV and as Excel where both can hold the trouble, and must give the same numbers and notes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from kernelrank.data import read_pairs, read_scores, read_table
from kernelrank.data.named_tables import read_objects
from kernelrank.errors import FileFormatError
from kernelrank.kernels import repair_similarity


class Table(NamedTuple):
    """Rows of cells, how they are read, and the features, the targets and a note; or the error, which is a pattern."""

    rows: list[str]
    names: tuple[str, ...] = ()
    X: Any = None
    y: Any = (1, 0, 1, 0)
    note: str = ""
    error: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012 - it is only read


CASES = {
    "decimal commas": Table(
        ["y|crp", "1|3,5", "0|0,25", "1|12", "0|7,0"],
        ("crp",),
        [3.5, 0.25, 12, 7],
        note="commas are decimal points in 3",
    ),
    "points between thousands": Table(
        ["y|plt", "1|1.250,5", "0|980", "1|12.000", "0|7,5"],
        ("plt",),
        [1250.5, 980, 12000, 7.5],
        note="between thousands",
    ),
    "spaces between thousands": Table(
        ["y|plt", "1|1 250", "0|980", "1|12 000", "0|75"], ("plt",), [1250, 980, 12000, 75], note="between thousands"
    ),
    "limits": Table(
        ["y|psa", "1|<2.0", "0|7.5", "1|>90", "0|4"], ("psa",), [1, 7.5, 90, 4], note="became half of it ('psa' 1)"
    ),
    "percent": Table(["y|lvef", "1|85%", "0|60%", "1|40 %", "0|55"], ("lvef",), [85, 60, 40, 55], note="percent signs"),
    "units": Table(
        ["y|Alter", "1|30 J.", "0|41 J.", "1|28", "0|66 J."],
        ("Alter",),
        [30, 41, 28, 66],
        note="units were left out ('Alter' J. 3)",
    ),
    "units and decimal commas": Table(
        ["y|w", "1|71,5 kg", "0|60 kg", "1|80,25 kg", "0|90 kg"],
        ("w",),
        [71.5, 60, 80.25, 90],
        note="units were left out ('w' kg 4)",
    ),
    "two units": Table(
        ["y|w", "1|71 kg", "0|60", "1|176 lb", "0|90", "1|80"], error="column 'w'.*'71 kg' is not a number"
    ),
    "units in the header": Table(
        ["y|Gewicht [kg]", "1|71", "0|60", "1|80", "0|90"], ("Gewicht [kg]",), [71, 60, 80, 90]
    ),
    "a sign of a currency": Table(
        ["y|paid", "1|$1,250.50", "0|$980.00", "1|12,000.00 $", "0|75"],
        ("paid",),
        [1250.5, 980, 12000, 75],
        note="units were left out ('paid' $ 3)",
    ),
    "a row of units": Table(
        ["y|id|age|crp", "||years|mg/l", "1|p1|30|4", "0|p2|41|5", "1|p3|28|6", "0|p4|66|9"],
        ("age", "crp"),
        [[30, 4], [41, 5], [28, 6], [66, 9]],
        note="left out: 1 of 5 rows, whose target is missing",
    ),
    "a word for what is missing": Table(
        ["y|a", "1|30", "0|n.b.", "1|50", "0|41"],
        error="column 'a'.*'n.b.' is not a number; leave the column out with exclude, or name the word in missing_val",
    ),
    "missing as spreadsheets write it": Table(
        ["y|a", "1|30", "0|#N/A", "1|50", "0|#DIV/0!", "1|#NV", "0|n/a"],
        ("a",),
        [30, 40, 50, 40, 40, 40],
        (1, 0, 1, 0, 1, 0),
        note="the median of their column ('a' 4)",
    ),
    "a code that nobody named": Table(
        ["y|a", "1|30", "0|-9", "1|50", "0|41"], ("a",), [30, -9, 50, 41], note="say --missing-values -9"
    ),
    "a code that was named": Table(
        ["y|a", "1|30", "0|999", "1|50", "0|unbekannt"],
        ("a",),
        [30, 40, 50, 40],
        note="cells with '999', 'unbekannt' are missing, as given",
        options={"missing_values": ["999", "unbekannt"]},
    ),
    "European dates": Table(
        ["y|born|a", "1|01.02.1950|3", "0|12.11.1961|4", "1|30.12.1948|5", "0|07.06.1970|6"],
        ("a",),
        [3, 4, 5, 6],
        note="'born' (dates)",
    ),
    "a column name twice": Table(
        ["y|bmi|bmi", "1|20|21", "0|22|23", "1|24|25", "0|26|27"],
        ("bmi", "bmi (2)"),
        [[20, 21], [22, 23], [24, 25], [26, 27]],
        note="column 3 was renamed to 'bmi (2)'",
    ),
    "an empty column": Table(
        ["y||a", "1||3", "0||4", "1||5", "0||6"], ("a",), [3, 4, 5, 6], note="'column 2' (no value)"
    ),
    "a total below": Table(
        ["y|a", "1|3", "0|4", "1|5", "0|6", "|18"],
        ("a",),
        [3, 4, 5, 6],
        note="left out: 1 of 5 rows, whose target is missing",
    ),
    "a total that counts the outcomes": Table(
        ["id|y|a", "p1|1|3", "p2|0|4", "p3|1|5", "p4|0|6", "Total|2|18"],
        ("a",),
        [3, 4, 5, 6, 18],
        (1, 0, 1, 0, 2),
        note="the last row is called 'Total': delete it if it adds up the others",
    ),
    "empty rows and a legend below": Table(
        ["id|y|a", "p1|1|3", "p2|0|4", "p3|1|5", "p4|0|6", "||", "||", "Key||", "|| 1 is ill"],
        ("a",),
        [3, 4, 5, 6],
        note="left out: 2 of 6 rows, whose target is missing",
    ),
    "rows without an outcome": Table(
        ["y|a", "1|3", "0|4", "1|5", "0|6", "NA|7", "?|9"], ("a",), [3, 4, 5, 6], note="left out: 2 of 6 rows"
    ),
    "a title above": Table(
        ["Cohort 2019||", "y|a|b", "1|3|4", "0|4|1", "1|5|9", "0|6|5"], error="names 1 of 3 columns.*--header-row"
    ),
    "a title above, and the row of the names": Table(
        ["Cohort 2019||", "y|a|b", "1|3|4", "0|4|1", "1|5|9", "0|6|5"],
        ("a", "b"),
        [[3, 4], [4, 1], [5, 9], [6, 5]],
        options={"skip_rows": 1},
    ),
    "merged cells above the names": Table(
        ["|Labor||||Klinik", "y|crp|wbc|hb|k|age", "1|3|4|5|6|50", "0|4|1|2|3|60"],
        error="names 2 of 6 columns.*--header-row",
    ),
    "no names": Table(
        ["1|30|20", "0|40|25", "1|50|31", "0|60|22"],
        ("x2", "x3"),
        [[30, 20], [40, 25], [50, 31], [60, 22]],
        options={"header": False, "target": "x1"},
    ),
    "no names, and nobody said so": Table(["1|30|20", "0|40|25"], error="all fields of the first line are numbers"),
    "two tables on a sheet": Table(
        ["y|a", "1|3", "0|4", "1|5", "0|6", "", "name|b", "1|7", "0|8"],
        error="column 'y', line 7|line 7, column",
    ),
    "yes and no in German": Table(
        ["outcome|a", "Ja|3", "Nein|4", "Ja|5", "Nein|6"],
        ("a",),
        [3, 4, 5, 6],
        note="the target 'Ja' is 1",
    ),
    "yes and no in French": Table(
        ["outcome|a", "Oui|3", "Non|4", "Oui|5", "Non|6"], ("a",), [3, 4, 5, 6], note="--positive Non reverses it"
    ),
    "a disease and its negation": Table(
        ["class|a", "ckd|3", "notckd|4", "ckd|5", "notckd|6"], ("a",), [3, 4, 5, 6], note="the target 'ckd' is 1"
    ),
    "survival in words": Table(
        ["outcome|a", "died|3", "survived|4", "died|5", "survived|6"],
        ("a",),
        [3, 4, 5, 6],
        note="'died' is 1",
    ),
    "numbers of patients": Table(
        ["y|MRN|a", *(f"{n % 2}|{4711 + 13 * n}|{n % 3}" for n in range(6))],
        ("a",),
        [n % 3 for n in range(6)],
        [n % 2 for n in range(6)],
        note="look like ids: 'MRN'",
    ),
    "numbers of cases": Table(
        ["y|Fallnr|a", *(f"{n % 2}|{4711 + 13 * n}|{n % 3}" for n in range(6))],
        ("a",),
        [n % 3 for n in range(6)],
        [n % 2 for n in range(6)],
        note="look like ids: 'Fallnr'",
    ),
    "a consequence of the outcome": Table(
        ["y|a|treated", *(f"{n % 2}|{n % 3}|{n % 2}" for n in range(20))],
        ("a", "treated"),
        [[n % 3, n % 2] for n in range(20)],
        [n % 2 for n in range(20)],
        note="'treated' alone predicts the target",
    ),
}


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("name", CASES)
def test_tables(tmp_path, name, kind):
    table, path = CASES[name], tmp_path / f"table.{kind}"
    if kind == "csv":
        path.write_text("\n".join(row.replace("|", ";") for row in table.rows) + "\n", encoding="utf-8")
    else:
        book = pytest.importorskip("openpyxl").Workbook()
        for number, row in enumerate(table.rows, start=1):
            for place, cell in enumerate(row.split("|") if row else (), start=1):
                book.active.cell(number, place, cell or None)
        book.save(path)
    if table.error:
        with pytest.raises(FileFormatError, match=table.error):
            read_table(path, **table.options)
        return
    items = read_table(path, guess_positive=True, **table.options)
    assert items.feature_names == table.names
    np.testing.assert_array_equal(items.X, np.reshape(table.X, (len(items), -1)))
    np.testing.assert_array_equal(items.y, table.y)
    assert table.note in "; ".join(items.notes)


TEXT = "outcome;Größe\r\nyes;3,5\r\nno;4\r\nyes;2,25\r\nno;7\r\n"


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (TEXT.encode("utf-8-sig"), "separated by semicolons"),
        (TEXT.encode("latin-1"), "the file is not UTF-8: it was read as Windows-1252"),
        (TEXT.encode("utf-16"), "separated by semicolons"),
        (TEXT.encode("utf-16-le"), "separated by semicolons"),
        (TEXT.encode("utf-16-be"), "separated by semicolons"),
        (("sep=;\r\n" + TEXT).encode(), "commas are decimal points in 2 cells"),
        (TEXT.replace(";", "|").encode(), "separated by bars"),
        (TEXT.replace(";", '"|"').replace("\r\n", '"\r\n"').join('""').encode()[:-2], "separated by bars"),
    ],
    ids=["a mark", "Latin-1", "UTF-16", "UTF-16 without a mark", "UTF-16, big-endian", "a separator", "bars", "quotes"],
)
def test_encodings(tmp_path, data, note):
    (tmp_path / "table.csv").write_bytes(data)
    items = read_table(tmp_path / "table.csv", guess_positive=True)
    assert items.feature_names == ("Größe",)
    assert items.X[:, 0].tolist() == [3.5, 4, 2.25, 7]
    assert items.y.tolist() == [1, 0, 1, 0]
    assert note in "; ".join(items.notes)


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
def test_numbers_beside_numbers_as_text(tmp_path, kind):
    """The points of cells that are numbers do not decide what a point means in cells of text."""
    text = {"crp": ["3,5", "0,25", "<2,0"], "wbc": ["7.543", "12.100", "9.876"]}
    columns = {"y": [1, 0, 1], **text, "psa": [1.5, 2.25, 3]}
    path = tmp_path / f"table.{kind}"
    if kind == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(columns), path)
    else:
        book = pytest.importorskip("openpyxl").Workbook()
        for row in (columns, *zip(*columns.values(), strict=True)):
            book.active.append(list(row))
        book.create_sheet("Codes")
        book.save(path)
    items = read_table(path)
    assert items.X.tolist() == [[3.5, 7543, 1.5], [0.25, 12100, 2.25], [1, 9876, 3]]
    told = "; ".join(items.notes)
    assert "marks between thousands were left out in 3 cells" in told
    assert "commas are decimal points in 3 cells" in told
    if kind == "xlsx":
        first = "read the first of 2 sheets, 'Sheet'; --sheet reads another: 'Codes'"
        assert first in told
        with pytest.raises(FileFormatError) as error:
            read_table(path, target="z")
        assert str(error.value).startswith(f"{path} ({first}): there is no column 'z'")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("table.txt", b'[{"age": 3, "lab": {"crp": 2}}]', r"a JSON file: .*pandas\.json_normalize"),
        (
            "table.txt",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old",
            "an Excel file of the old format: save it as .xlsx or CSV",
        ),
        ("table.dat", b"PK\x03\x04 sheet", r"an Excel file is called \.xlsx"),
        ("table.arff", b"% a cohort\n\n@Relation x\n@attribute a numeric\n", "a file of Weka .ARFF.: save it as CSV"),
        ("table.sav", b"$FL2@(#) SPSS DATA FILE\0", "a file of SPSS: save it as CSV"),
        ("table.xls", b"<html><table>", "HTML or XML, or a file of Stata: save it as CSV"),
        ("table.feather", b"ARROW1\0\0", "a file of arrays .Feather, HDF5 or NumPy.: save it as CSV"),
    ],
)
def test_other_files_are_refused(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FileFormatError, match=message):
        read_table(tmp_path / name)


VOTES = "model_a,model_b,winner\nx,y,model_a\ny,z,both bad\nz,z,model_a\nx,z,invalid\nx,z,model_b\n"


def test_votes_of_an_arena(tmp_path):
    (tmp_path / "votes.csv").write_text(VOTES)
    with pytest.raises(FileFormatError, match=r"line 5, column 'winner': 'invalid' does not name .*skip_invalid"):
        read_pairs(tmp_path / "votes.csv")
    votes = read_pairs(tmp_path / "votes.csv", skip_invalid=True)
    assert votes.names[votes.pairs].tolist() == [["x", "y"], ["y", "z"], ["z", "x"]]
    assert votes.tie.tolist() == [False, True, False]
    told = "; ".join(votes.notes)
    assert "left out: 1 invalid vote: 1 as in line 5" in told
    assert "left out: 1 vote between an item and itself" in told


def test_nested_votes(tmp_path):
    (tmp_path / "votes.jsonl").write_text('{"winner": {"name": "x"}, "loser": {"name": "y"}}\n')
    votes = read_pairs(tmp_path / "votes.jsonl")
    assert votes.names[votes.pairs].tolist() == [["x", "y"]]
    assert votes.notes == ("the winners are column 'winner.name', the losers column 'loser.name'",)


def test_scores_of_another_program(tmp_path):
    (tmp_path / "LightGBM_predict_result.txt").write_text("0.25\n-1.5e-3\n7\n")
    assert read_scores(tmp_path / "LightGBM_predict_result.txt")[0].tolist() == [0.25, -0.0015, 7]


def test_a_unit_of_the_model_is_the_unit_of_new_tables(tmp_path):
    (tmp_path / "old.csv").write_text("y;w\n1;71 kg\n0;60 kg\n1;80 kg\n0;90 kg\n")
    known = type(read_table(tmp_path / "old.csv").preparation).from_data(
        read_table(tmp_path / "old.csv").preparation.as_data()
    )
    (tmp_path / "new.csv").write_text("w;v\n70 kg;a\n65;b\n")
    options = {"preparation": known, "needs_target": False}
    assert read_table(tmp_path / "new.csv", **options).X.tolist() == [[70], [65]]
    (tmp_path / "new.csv").write_text("w;v\n154 lb;a\n65;b\n")
    with pytest.raises(FileFormatError, match="line 2, column 'w': '154 lb' is not a number"):
        read_table(tmp_path / "new.csv", **options)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_similarity_as_published(tmp_path, kind):
    """Names in the first row and column, in another order, not symmetric, with an eigenvalue of about -0.011."""
    rows = [["", "b", "a", "c"], ["a", 0.728, 1.0, 0.1], ["b", 1.0, 0.728, 0.78], ["c", 0.76, 0.1, 1.0]]
    path = tmp_path / f"similarity.{kind}"
    if kind == "csv":
        path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    else:
        book = pytest.importorskip("openpyxl").Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    table = read_objects(path).square()
    assert table.names == table.columns == ("a", "b", "c")
    K, notes = repair_similarity(table.values)
    assert "differ by up to 0.02; their mean is used" in notes[0]
    lowest = np.linalg.eigvalsh((table.values + table.values.T) / 2)[0]
    assert lowest == pytest.approx(-0.011, abs=5e-4)
    assert f"1 of 3 eigenvalues is negative, down to {lowest:.3g}" in notes[1]
    assert np.linalg.eigvalsh(K)[0] > -1e-12


def test_there_are_forty():
    encodings, refused, others = 8, 7, 5  # others: votes, nested votes, scores, units of a model, a similarity
    assert len(CASES) + encodings + refused + others >= 40

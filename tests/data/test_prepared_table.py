"""Tables as they come: what becomes of each oddity, and that it becomes the same in another table."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from kernelrank.data import TablePreparation, read_items, read_table
from kernelrank.errors import FileFormatError, InvalidInputError, MissingExtraError

PLAIN = "y,age,bmi\n1,30,20\n0,40,25\n1,50,31\n0,60,22\n"


@pytest.fixture
def read(tmp_path):
    def reader(text, name="cohort.csv", encoding="utf-8", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return read_table(path, **options)

    return reader


def test_plain_numbers_are_what_read_items_reads(read, tmp_path):
    items = read(PLAIN)
    plain = read_items(tmp_path / "cohort.csv")
    np.testing.assert_array_equal(items.X, plain.X)
    assert (items.feature_names, items.notes) == (plain.feature_names, plain.notes)
    assert [column.fill for column in items.preparation.columns] == [45, 23.5]


class TestOneOddity:
    @pytest.mark.parametrize(("missing", "average"), [("median", statistics.median), ("mean", statistics.fmean)])
    @pytest.mark.parametrize("cell", ["", "NA", "n/a", "?", "NaN"])
    def test_missing_cells(self, read, missing, average, cell):
        items = read(PLAIN.replace("40", cell), missing=missing)
        assert items.X[:, 0].tolist() == [30, average([30, 50, 60]), 50, 60]
        assert items.X[:, 1].tolist() == [20, 25, 31, 22]
        assert f"missing cells became the {missing} of their column ('age' 1)" in items.notes

    def test_missing_rows(self, read):
        items = read(PLAIN.replace("40", ""), missing="drop")
        assert items.X.tolist() == [[30, 20], [50, 31], [60, 22]]
        assert items.y.tolist() == [1, 1, 0]
        assert "left out: 1 of 4 rows with a missing cell" in items.notes

    def test_missing_indicator(self, read):
        items = read(PLAIN.replace("40", ""), missing_indicator=True)
        assert items.feature_names == ("age", "age is missing", "bmi")
        assert items.X[:, 1].tolist() == [0, 1, 0, 0]

    def test_categories(self, read):
        items = read("y,sex,stage\n1,f,I\n0,m,II\n1,,I\n0,f,III\n1,m,I\n0,f,II\n1,m,III\n")
        assert items.feature_names == ("sex=f", "sex=m", "stage=I", "stage=II", "stage=III")
        assert items.X[:4].tolist() == [[1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 1]]

    def test_ordinal(self, read):
        items = read("y,stage\n1,III\n0,I\n1,NA\n0,II\n", ordinal={"stage": ["I", "II", "III"]})
        assert items.X.tolist() == [[2], [0], [1], [1]]
        with pytest.raises(FileFormatError, match="column 'stage': 'III' is not a level of 'stage': expected I, II"):
            read("y,stage\n1,III\n0,I\n", ordinal={"stage": ["I", "II"]})
        with pytest.raises(FileFormatError, match="there is no feature 'grade', which ordinal names"):
            read(PLAIN, ordinal={"grade": ["1", "2"]})

    def test_semicolons(self, read):
        items = read(PLAIN.replace(",", ";"))
        assert items.X.tolist() == read(PLAIN).X.tolist()
        assert "the columns are separated by semicolons" in items.notes

    @pytest.mark.parametrize(
        "text", ["y;a, b;c\n1;0,5;1e3\n0;-1,25;1,5e2\n", 'y,"a, b",c\n1,"0,5",1e3\n0,"-1,25","1,5e2"\n']
    )
    def test_decimal_commas(self, read, text):
        items = read(text)
        assert items.X.tolist() == [[0.5, 1000], [-1.25, 150]]
        assert items.feature_names == ("a, b", "c")
        assert "commas are decimal points in 3 cells" in items.notes

    def test_commas_between_thousands_are_not_guessed(self, read):
        with pytest.raises(FileFormatError, match="'1,250' is not a number: expected a decimal point, not a comma"):
            read("y;a\n1;1,250\n0;7\n1;8\n0;9\n")

    @pytest.mark.parametrize(("encoding", "said"), [("latin-1", "Windows-1252"), ("utf-8", ""), ("utf-8-sig", "")])
    def test_encodings(self, read, encoding, said):
        items = read("y,größe,sex\n1,3,männlich\n0,4,weiblich\n1,5,männlich\n0,7,weiblich\n", encoding=encoding)
        assert items.feature_names == ("größe", "sex=männlich", "sex=weiblich")
        assert any("not UTF-8" in note and said in note for note in items.notes) == bool(said)

    def test_missing_outcomes(self, read):
        items = read("y,age,sex\ncase,30,f\ncontrol,,m\nNA,90,f\ncase,50,m\n")
        assert items.y.tolist() == [0, 1, 0]
        assert "left out: 1 of 4 rows, whose target is missing" in items.notes
        # A row that is left out counts nowhere: it may be a total, or have the units.
        assert items.X[:, 0].tolist() == [30, 40, 50]

    def test_dates_and_ids_and_text(self, read):
        rows = [f"{n % 2},{n},2021-03-{n + 1:02d},{n + 1}.3.2021,P-{n},saw {n} things,one" for n in range(6)]
        items = read("\n".join(["y,age,seen,gesehen,number,comment,site", *rows]))
        assert items.feature_names == ("age",)
        ids, note = [note for note in items.notes if note.startswith("left out")]
        assert ids == "left out, because they look like ids: 'number'; name them as features to use them"
        assert note == (
            "left out: 'seen' (dates), 'gesehen' (dates), 'comment' (6 different words in 6 rows), 'site' (one word)"
        )

    def test_a_name_twice(self, read):
        items = read("y,bmi,bmi,\n1,20,21,1\n0,25,26,2\n")
        assert items.feature_names == ("bmi", "bmi (2)", "column 4")
        assert "column 3 was renamed to 'bmi (2)', because its name occurs twice" in items.notes

    def test_exclude(self, read):
        assert read(PLAIN, exclude=["b*"]).feature_names == ("age",)
        with pytest.raises(FileFormatError, match="there is no column 'weight'"):
            read(PLAIN, exclude=["weight"])

    def test_parquet(self, read, tmp_path):
        polars = pytest.importorskip("polars")
        frame = {"y": [1, 0, 1, None], "age": [30, None, 50, 60], "sex": ["f", "m", "f", "m"]}
        polars.DataFrame(frame).write_parquet(tmp_path / "cohort.parquet")
        items = read_table(tmp_path / "cohort.parquet")
        assert items.X.tolist() == [[30, 1, 0], [40, 0, 1], [50, 1, 0]]


class TestExcel:
    def test_a_sheet(self, tmp_path):
        openpyxl = pytest.importorskip("openpyxl")
        import datetime

        workbook = openpyxl.Workbook()
        for row in [
            ["y", "age", "sex", "seen", None],
            [1, 30.5, "f", datetime.date(2021, 3, 1), None],
            [0, None, "m", datetime.date(2021, 3, 2), None],
            [None, None, None, None, None],
            [1, 50, "f", datetime.date(2021, 3, 3), None],
            [0, 60, "m", datetime.date(2021, 3, 4), None],
        ]:
            workbook.active.append(row)
        workbook.save(tmp_path / "cohort.xlsx")
        items = read_table(tmp_path / "cohort.xlsx")
        assert items.X.tolist() == [[30.5, 1, 0], [50, 0, 1], [50, 1, 0], [60, 0, 1]]
        assert items.y.tolist() == [1, 0, 1, 0]
        (tmp_path / "broken.xlsx").write_bytes(b"PK\3\4 no workbook")
        with pytest.raises(FileFormatError, match=r"broken.xlsx: the Excel file cannot be read"):
            read_table(tmp_path / "broken.xlsx")

    def test_without_the_extra(self, read, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
        with pytest.raises(MissingExtraError, match=r"kernelrank\[excel\]"):
            read(b"PK\3\4", "cohort.xlsx")


class TestFaults:
    def test_all_in_one_run(self, read):
        text = "y,age,bmi\n1,30,abc\n0,x,20\n1,50,21\n0,60,inf\n1,70,22\n0,80,23\n"
        message = (
            r"3 problems: column 'age', line 3: 'x' is not a number; leave the column out with exclude, or name the "
            r"word in missing_values; column 'bmi', line 2: 'abc' is not a number.*; column 'bmi', line 5: 'inf' is "
            r"not finite"
        )
        with pytest.raises(FileFormatError, match=message):
            read(text)

    def test_columns_with_a_role_too(self, read):
        text = "y,age,id\n1,30,a\n0,x,a\n1,50,b\n0,60,c\n"
        with pytest.raises(
            FileFormatError, match=r"2 problems: .*the id 'a' occurs twice.*column 'age', line 3: 'x' is not"
        ):
            read(text)
        with pytest.raises(FileFormatError, match=r"2 problems: there is no column 'outcome' .*'x' is not a number"):
            read(text, target="outcome")

    def test_missing_cells_are_listed(self, read):
        with pytest.raises(FileFormatError, match="2 problems: column 'age', line 2, line 3: the cell is missing"):
            read("y,age\n1,\n0,NA\n1,50\n", missing="error")

    def test_lines_of_another_width(self, read):
        with pytest.raises(FileFormatError, match=r"line 2: 2 fields, but .* 3 columns; also wrong: line 4"):
            read("y,age,bmi\n1,30\n0,40,25\n1,50\n")

    def test_rules(self, read):
        with pytest.raises(InvalidInputError, match="missing must be one of median, mean, drop, error, got 'zero'"):
            read(PLAIN, missing="zero")
        with pytest.raises(FileFormatError, match="no row is left"):
            read("y,age\n,1\n,2\n", target="y")
        with pytest.raises(FileFormatError, match="the features: expected at least one; left out: 'seen' "):
            read("y,seen\n1,2021-01-01\n0,2021-01-02\n")


class TestAnotherTable:
    TRAIN = "y,age,sex\n1,30,f\n0,40,m\n1,,f\n0,60,m\n"

    def test_is_prepared_alike(self, read):
        learnt = read(self.TRAIN, missing_indicator=True).preparation
        again = TablePreparation.from_data(learnt.as_data())
        assert again == learnt
        items = read("sex,other,age\nx,9,\nm,9,70\n", "new.csv", preparation=again, needs_target=False)
        assert items.feature_names == ("age", "age is missing", "sex=f", "sex=m")
        assert items.X.tolist() == [[40, 1, 0, 0], [70, 0, 0, 1]]
        assert "column 'sex' has words that the model does not know ('x')" in items.notes

    def test_a_word_for_a_number_is_a_fault(self, read):
        learnt = read(self.TRAIN).preparation
        with pytest.raises(FileFormatError, match="line 2, column 'age': 'old' is not a number"):
            read("age,sex\nold,m\n", "new.csv", preparation=learnt, needs_target=False)

    def test_a_column_that_is_not_there(self, read):
        learnt = read(self.TRAIN).preparation
        with pytest.raises(FileFormatError, match="there is no column 'sex'"):
            read("age\n30\n", "new.csv", preparation=learnt, needs_target=False)

    @pytest.mark.parametrize(
        "data",
        [
            None,
            {},
            {"missing": "median"},
            {"missing": 1, "names": [], "kinds": [], "fills": [], "levels": {}, "indicators": []},
        ],
    )
    def test_damage(self, data):
        with pytest.raises(InvalidInputError, match=r"preparation .*is damaged"):
            TablePreparation.from_data(data)

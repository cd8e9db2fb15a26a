"""Troubles of real tables, one small file each: the same numbers and notes from CSV and from Excel."""

from __future__ import annotations

import pytest

from kernelrank.data import TablePreparation, read_table
from kernelrank.errors import FileFormatError, InvalidInputError


@pytest.fixture(params=["csv", "xlsx"])
def read(request, tmp_path):
    """Read rows of cells as a file with semicolons, or as a sheet whose cells are text."""

    def reader(*rows, **options):
        path = tmp_path / f"table.{request.param}"
        if request.param == "csv":
            path.write_text("\n".join(";".join(row.split("|")) for row in rows) + "\n", encoding="utf-8")
        else:
            sheets = pytest.importorskip("openpyxl").Workbook()
            for row in rows:
                sheets.active.append(row.split("|"))
            sheets.save(path)
        return read_table(path, **options)

    return reader


class TestMissingValues:
    rows = ("y|age|bmi", "1|30|20", "0|-9|25", "1|50|999", "0|60|unknown", "1|44|-9.0")

    def test_codes(self, read):
        items = read(*self.rows, missing_values=["-9", 999, "Unknown"])
        assert items.X.tolist() == [[30, 20], [47, 25], [50, 22.5], [60, 22.5], [44, 22.5]]
        assert "missing cells became the median of their column ('age' 1, 'bmi' 3)" in items.notes
        assert "cells with '-9', '999', 'Unknown' are missing, as given" in items.notes

    def test_a_model_keeps_them(self, read):
        known = TablePreparation.from_data(
            read(*self.rows, missing_values=("-9", "999", "unknown")).preparation.as_data()
        )
        items = read("y|age|bmi", "1|-9|21", "0|31|UNKNOWN", preparation=known)
        assert items.X.tolist() == [[47, 21], [31, 22.5]]
        assert "missing_values" not in read("y|age", "1|3", "0|4").preparation.as_data()

    def test_ids_stay_and_targets_are_left_out(self, read):
        items = read("id|y|age", "9|1|30", "99|-9|40", "-9|0|50", "5|1|60", missing_values="-9")
        assert (items.ids.tolist(), items.y.tolist()) == (["9", "-9", "5"], [1, 0, 1])
        assert "left out: 1 of 4 rows, whose target is missing" in items.notes

    @pytest.mark.parametrize("code", [-9, -99, -999, 999, 9999])
    @pytest.mark.parametrize("other", ["26.5", "NA"])
    def test_a_code_at_the_edge_is_noted(self, read, code, other):
        items = read("y|age", "1|30", f"0|{code}", f"1|{other}", f"0|{code}", "1|41")
        assert items.X[1, 0] == code
        note = (
            f"{code} is far from all other values ('age' 2): if it stands for a missing value, say "
            f"--missing-values {code}, or missing_values=[{code}] in Python"
        )
        assert note in items.notes

    @pytest.mark.parametrize("values", [(-9, -8, -7, 3), (999, 980, 700, 400), (0, 1, 0, 1), (-9, -9, -9, -9)])
    def test_values_among_others_are_not(self, read, values):
        items = read("y|age", *(f"{row % 2}|{value}" for row, value in enumerate(values)))
        assert not [note for note in items.notes if "far from" in note]

    @pytest.mark.parametrize("word", ["#N/A", "n/a", "#n/a"])
    def test_words_of_spreadsheets(self, read, word):
        items = read("y|age", "1|30", f"0|{word}", "1|50")
        assert items.X[:, 0].tolist() == [30, 40, 50]


class TestNumbersAsTheyAreWritten:
    @pytest.mark.parametrize(
        ("cells", "numbers", "note"),
        [
            (("36,5", "37", "38,25"), (36.5, 37, 38.25), "commas are decimal points in 2 cells"),
            (("1.234,5", "950", "-7,25"), (1234.5, 950, -7.25), "marks between thousands were left out in 1 cell"),
            (("1.250", "36,5", "12.000"), (1250, 36.5, 12000), "marks between thousands were left out in 2 cells"),
            (("1,250.5", "7", "1,000,000.0"), (1250.5, 7, 1e6), "marks between thousands were left out in 2 cells"),
            (("1,250", "0.5", "12,000"), (1250, 0.5, 12000), "marks between thousands were left out in 2 cells"),
            (("1 250", "7", "12 000,5"), (1250, 7, 12000.5), "commas are decimal points in 1 cell"),
            (("1'250", "7", "12'000.5"), (1250, 7, 12000.5), "marks between thousands were left out in 2 cells"),
            (
                ("1\u00a0250", "7", "1\u202f000\u202f000"),
                (1250, 7, 1e6),
                "marks between thousands were left out in 2 cells",
            ),
            (("1,5e3", "7", "2,5E-1"), (1500, 7, 0.25), "commas are decimal points in 2 cells"),
            (("<2.0", "7", "< 0,5"), (1, 7, 0.25), "cells below a limit, such as <2.0, became half of it ('a' 2)"),
            (("≤2", "7", ">90"), (1, 7, 90), "cells above a limit, such as >90, became the limit ('a' 1)"),
            (("85%", "7,5 %", "90%"), (85, 7.5, 90), "percent signs were left out ('a' 3)"),
        ],
    )
    def test_alike_in_each_file(self, read, cells, numbers, note):
        items = read("y|a", *(f"{row % 2}|{cell}" for row, cell in enumerate(cells)))
        assert items.feature_names == ("a",)
        assert items.X[:, 0].tolist() == list(numbers)
        assert note in items.notes

    def test_a_point_before_three_digits_is_a_decimal_point(self, read):
        items = read("y|a|b", "0|1.250|2", "1|2.125|NA")
        assert items.X[:, 0].tolist() == [1.25, 2.125]

    def test_nothing_tells_what_a_comma_is(self, read):
        with pytest.raises(FileFormatError, match="'1,250' is not a number: expected a decimal point, not a comma"):
            read("y|a", "1|1,250", "0|7", "1|8", "0|9")

    def test_commas_between_cells_are_not_in_numbers(self, tmp_path):
        (tmp_path / "plain.csv").write_text('y,a,b,c\n1,250,1 250,"1,250"\n0,125,<3,"2,000.5"\n1,3,4,NA\n')
        items = read_table(tmp_path / "plain.csv")
        assert items.X.tolist() == [[250, 1250, 1250], [125, 1.5, 2000.5], [3, 4, 1625.25]]

    @pytest.mark.parametrize("words", [("<50", "50-60", ">60"), ("<50", ">50", "<50")])
    def test_groups_of_ages_are_words(self, read, words):
        items = read("y|age", *(f"{row % 2}|{words[row % 3]}" for row in range(9)))
        assert items.feature_names == tuple(f"age={word}" for word in sorted(set(words)))

    def test_new_tables_are_read_alike(self, read):
        known = read("y|a|b", "1|<2.0|x", "0|7|<5", "1|9|x", "0|3|<5").preparation
        items = read("y|a|b", "1|<4|<5", preparation=known)
        assert items.X.tolist() == [[2, 1, 0]]

    def test_target(self, read):
        assert read("y|a", "1.250,5|3", "-7,5|4", "0,25|5").y.tolist() == [1250.5, -7.5, 0.25]


class TestWhereTheTableBegins:
    def test_no_header(self, read):
        items = read("1|30|20", "0|40|NA", "1|50|31", header=False, target="x1")
        assert (items.feature_names, items.y.tolist()) == (("x2", "x3"), [1, 0, 1])
        assert items.X.tolist() == [[30, 20], [40, 25.5], [50, 31]]

    def test_rows_before_the_names(self, read):
        rows = ("Cohort of 2019||", "", "y|a|b", "1|30|20", "0|40|x", "1|50|31", "0|4|3")
        assert read(*rows[:4], *rows[5:], skip_rows=2).X.tolist() == [[30, 20], [50, 31], [4, 3]]
        with pytest.raises(FileFormatError, match="line 5, column 'b': 'x' is not a number"):
            read(*rows, skip_rows=2)
        assert read("some text", "1|3|4", "0|5|6", skip_rows=1, header=False, target="x1").X.tolist() == [
            [3, 4],
            [5, 6],
        ]
        with pytest.raises(FileFormatError, match="the file is empty"):
            read(*rows, skip_rows=20)

    def test_sheets(self, tmp_path):
        workbook = pytest.importorskip("openpyxl").Workbook()
        workbook.active.append(["notes"])
        workbook.active.title = "About"
        for row in (["y", "a"], [1, 3], [0, "4,5"]):
            workbook["Data"].append(row) if "Data" in workbook.sheetnames else workbook.create_sheet("Data").append(row)
        workbook.save(tmp_path / "two.xlsx")
        items = read_table(tmp_path / "two.xlsx", sheet="Data")
        assert items.X.tolist() == [[3], [4.5]]
        with pytest.raises(FileFormatError, match="there is no sheet 'data'; the sheets are 'About', 'Data'"):
            read_table(tmp_path / "two.xlsx", sheet="data")
        workbook.move_sheet("Data", -1)
        workbook.save(tmp_path / "two.xlsx")
        note = "read the first of 2 sheets, 'Data'; --sheet reads another: 'About'"
        assert note in read_table(tmp_path / "two.xlsx").notes

    def test_what_a_file_does_not_have(self, tmp_path):
        (tmp_path / "a.csv").write_text("y,a\n1,2\n0,3\n")
        (tmp_path / "a.letor").write_text("1 qid:1 1:2\n")
        with pytest.raises(InvalidInputError, match="only Excel files have sheets"):
            read_table(tmp_path / "a.csv", sheet="Data")
        with pytest.raises(InvalidInputError, match="only CSV, TSV and Excel files have rows to skip"):
            read_table(tmp_path / "a.letor", header=False)
        with pytest.raises(InvalidInputError, match="skip_rows must be zero or more"):
            read_table(tmp_path / "a.csv", skip_rows=-1)


class TestTextOfSpreadsheets:
    text = "y{0}Größe\r\n1{0}3,5\r\n0{0}4\r\n1{0}2,25\r\n"

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
    @pytest.mark.parametrize("name", ["a.csv", "a.txt"])
    def test_unicode(self, tmp_path, encoding, name):
        mark = "\ufeff" if encoding.endswith("e") else ""
        (tmp_path / name).write_bytes((mark + self.text.format("\t")).encode(encoding))
        items = read_table(tmp_path / name)
        assert (items.feature_names, items.X[:, 0].tolist()) == (("Größe",), [3.5, 4, 2.25])

    def test_damaged_utf_16(self, tmp_path):
        (tmp_path / "a.csv").write_bytes(self.text.format(";").encode("utf-16")[:-1])
        with pytest.raises(FileFormatError, match="begins as UTF-16, but is damaged"):
            read_table(tmp_path / "a.csv")

    @pytest.mark.parametrize("mark", [";", "\t"])
    def test_a_line_that_names_the_separator(self, tmp_path, mark):
        (tmp_path / "a.csv").write_bytes((f"sep={mark}\r\n" + self.text.format(mark)).encode("utf-8-sig"))
        items = read_table(tmp_path / "a.csv")
        assert (items.feature_names, items.X[:, 0].tolist()) == (("Größe",), [3.5, 4, 2.25])
        (tmp_path / "a.csv").write_text(f"sep={mark}\ny{mark}a\n1{mark}3\n0{mark}x\n1{mark}4\n0{mark}5\n")
        with pytest.raises(FileFormatError, match="line 4, column 'a': 'x' is not a number"):
            read_table(tmp_path / "a.csv")


class TestWhichColumns:
    rows = tuple(f"{n % 2}|{n + 1}|{4711 + 7 * n}|{20 + (7 * n) % 11 + n % 2}|{5 + (n * n) % 7}" for n in range(24))

    @pytest.mark.parametrize("name", ["PatientID", "MRN", "lab_no", "Sample Nr", "caseId", "Nummer"])
    def test_what_is_called_an_id_is_no_feature(self, read, name):
        items = read(f"y|a|{name}|age|bmi", *self.rows, groups="")
        assert items.feature_names == ("a", "age", "bmi")
        assert f"left out, because they look like ids: {name!r}; name them as features to use them" in items.notes
        named = read(f"y|a|{name}|age|bmi", *self.rows, groups="", features=["age", name])
        assert named.feature_names == ("age", name)

    def test_a_first_column_that_numbers_the_rows(self, read):
        rows = ["|".join([*row.split("|")[1:], row[0]]) for row in self.rows]
        items = read("line|size|age|bmi|y", *rows)
        assert items.feature_names == ("size", "age", "bmi")
        assert read("line|size|age|bmi|y", *rows[1::3]).feature_names == ("line", "size", "age", "bmi")

    def test_values_that_repeat_or_have_decimals_are_features(self, read):
        rows = [f"{row % 2}|{row % 5}|{row}.5" for row in range(24)]
        assert read("y|stage_no|dose_no", *rows).feature_names == ("stage_no", "dose_no")

    def test_a_column_that_predicts_the_target_alone_is_noted(self, read):
        rows = [f"{row}|{100 + 10 * (row.startswith('1'))}" for row in self.rows]
        items = read("y|a|nr|age|bmi|treated", *rows, features=["age", "bmi", "treated"])
        (note,) = [note for note in items.notes if "alone" in note]
        assert note == (
            "'treated' alone predicts the target (AUC of at least 0.99): is it known before the target? If not, leave "
            "it out with exclude"
        )
        scores = read("score|days|bmi", *(f"{row * row}|{3 * row + 1}|{row % 5}" for row in range(24)))
        assert any(note.startswith("'days' alone predicts the target (rank correlation") for note in scores.notes)
        assert not any("alone" in note for note in read("y|a|b", *(f"{n % 2}|{n}|{n % 3}" for n in range(24))).notes)

    @pytest.mark.parametrize(
        ("words", "positive"),
        [
            (("survived", "died"), "died"),
            (("ckd", "notckd"), "ckd"),
            (("Ja", "Nein"), "Ja"),
            (("oui", "non"), "oui"),
            (("sano", "malato"), "malato"),
            (("vivo", "fallecido"), "fallecido"),
        ],
    )
    def test_outcomes_in_words(self, read, words, positive):
        rows = [f"{words[row % 2]}|{row % 7}" for row in range(12)]
        items = read("outcome|age", *rows, guess_positive=True)
        other = next(word for word in words if word != positive)
        assert items.classes == (other, positive)
        note = f"the target {positive!r} is 1 and {other!r} is 0, by their meaning (--positive {other} reverses it)"
        assert note in items.notes

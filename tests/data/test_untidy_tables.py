"""Troubles of real tables, one small file each: the same numbers and notes from CSV and from Excel."""

from __future__ import annotations

import pytest

from kernelrank.data import TablePreparation, read_table


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

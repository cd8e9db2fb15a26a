"""A messy table goes through the commands with notes, and its model takes the raw table."""

from __future__ import annotations

import json
import random
import statistics

import numpy as np
import pytest

from kernelrank.data import read_table
from kernelrank.estimators import RankRLS
from kernelrank.persistence import load

STAGES = ["I", "II", "III"]


@pytest.fixture
def messy(tmp_path):
    """Semicolons, decimal commas, Latin-1, NA and empty cells, two categories, a date, an id, a missing outcome, and a
    column name that occurs twice."""
    draw = random.Random(0)
    rows = ["Nummer;Aufnahme;Größe;Gewicht;Gewicht;Geschlecht;Stadium;outcome"]
    for number in range(24):
        ill = number % 2
        height = {3: "", 9: "NA"}.get(number, f"{160 + 20 * draw.random() + 6 * ill:.1f}".replace(".", ","))
        sex, stage = draw.choice(["männlich", "weiblich"]), draw.choice([*STAGES, "NA"])
        outcome = "" if number == 7 else "case" if ill else "control"
        rows.append(
            f"P{number};{number + 1}.03.2021;{height};{60 + number % 7},5;{70 + number % 5};{sex};{stage};{outcome}"
        )
    path = tmp_path / "messy.csv"
    path.write_bytes("\r\n".join(rows).encode("latin-1"))
    return path


def by_hand(path):
    """The same numbers without the library."""
    rows = [line.split(";") for line in path.read_bytes().decode("latin-1").split("\r\n")[1:]]
    numbers = [[None if cell in ("", "NA") else float(cell.replace(",", ".")) for cell in row[2:5]] for row in rows]
    keep = [place for place, cells in enumerate(rows) if cells[7]]
    known = [[numbers[row][column] for row in keep if numbers[row][column] is not None] for column in range(3)]
    middle = list(map(statistics.median, known))
    X = [
        [
            *(middle[column] if row[column] is None else row[column] for column in range(3)),
            *(float(cells[5] == word) for word in ("männlich", "weiblich")),
            *(float(cells[6] == word) for word in STAGES),
        ]
        for row, cells in zip(numbers, rows, strict=True)
    ]
    y = [float(cells[7] == "case") for cells in rows]
    return np.array(X), np.array(y), keep


def test_numbers_are_those_by_hand(messy):
    X, y, keep = by_hand(messy)
    items = read_table(messy, target="outcome")
    np.testing.assert_array_equal(items.X, X[keep])
    np.testing.assert_array_equal(np.array(items.classes)[items.y.astype(int)] == "case", y[keep] == 1)


def test_auc(messy, run):
    ended = run("auc", messy, "--target", "outcome", "--alpha", 1, "--permutations", 0, "--no-roc", "--json")
    found = json.loads(ended.out)
    assert (found["positive"], found["negative"]) == (11, 12)
    notes = " ".join(found["notes"])
    for note in (
        "read as Windows-1252",
        "commas are decimal points",
        "separated by semicolons",
        "'Gewicht (2)'",
        "left out, because they look like ids: 'Nummer'",
        "'Aufnahme' (dates)",
        "'Geschlecht' (2), 'Stadium' (3)",
        "the median of their column ('Größe' 2)",
        "1 of 24 rows, whose target is missing",
        "imputed once, on all rows; the target was not used for that",
    ):
        assert note in notes


def test_predict_takes_the_raw_file(messy, run, tmp_path):
    model, new = tmp_path / "model.kr", tmp_path / "new.csv"
    run("fit", messy, "--target", "outcome", "-o", model, "--scale")
    X, y, keep = by_hand(messy)
    mean, deviation = X[keep].mean(axis=0), X[keep].std(axis=0)
    plain = RankRLS(1.0).fit((X[keep] - mean) / deviation, y[keep])
    middle = [column.fill for column in read_table(messy).preparation.columns][:3]
    new.write_text("Größe;Gewicht;Gewicht (2);Geschlecht;Stadium\n;61,5;71;divers;IV\n170,5;NA;72;weiblich;I\n")
    rows = np.array([[middle[0], 61.5, 71, 0, 0, 0, 0, 0], [170.5, middle[1], 72, 0, 1, 1, 0, 0]])
    ended = run("predict", model, new)
    expected = plain.predict((rows - mean) / deviation)
    np.testing.assert_allclose([float(line) for line in ended.out.split()], expected, rtol=1e-9)
    assert "has words that the model does not know ('divers')" in ended.err
    assert load(model).provenance_["preparation"]["missing"] == "median"
    assert "11 and 12 items" in run("evaluate", model, messy, "--measure", "auc").out


def test_options(messy, run, tmp_path):
    model = tmp_path / "model.kr"
    run(
        "tune", messy, "--target", "outcome", "-o", model, "--exclude", "Geschlecht,Gewicht*", "--ordinal",
        "Stadium=I,II,III", "--missing", "mean", "--missing-indicator", "--alphas", "1,10",
    )  # fmt: skip
    names = ["Größe", "Größe is missing", "Stadium", "Stadium is missing"]
    assert load(model).provenance_["feature_names"] == names
    assert "expected a column and its words" in run("fit", messy, "--ordinal", "Stadium=I", code=1).err
    told = run("fit", messy, "--target", "outcome", "--missing", "error", "-o", tmp_path / "no.kr", code=1).err
    assert "column 'Größe', line 5, line 11: the cell is missing" in told
    assert "8 problems: column 'Stadium', line 3" in told


def test_a_model_without_a_preparation_learns_nothing_from_new_files(run, tmp_path):
    import kernelrank as kr

    kr.save(RankRLS().fit(np.array([[1.0], [2.0]]), [0, 1]), tmp_path / "model.kr")
    (tmp_path / "new.csv").write_text("age\n1\n\n2\nNA\n")
    assert (
        "line 5, column 'age': 'NA' is missing"
        in run("predict", tmp_path / "model.kr", tmp_path / "new.csv", code=1).err
    )


def test_missing_numbers_inside(messy, run):
    """Medians and deviations of each training set, by refitting without every pair."""
    X, y, keep = by_hand(messy)
    items = read_table(messy, target="outcome")
    assert np.argwhere(items.filled).tolist() == [[3, 0], [8, 0]]
    unknown = np.where(items.filled, np.nan, X[keep])
    y = y[keep]
    right = []
    for case in np.flatnonzero(y == 1):
        for control in np.flatnonzero(y == 0):
            train = np.setdiff1d(np.arange(len(y)), [case, control])
            filled = np.where(np.isnan(unknown), np.nanmedian(unknown[train], axis=0), unknown)
            scaled = (filled - filled[train].mean(axis=0)) / filled[train].std(axis=0)
            first, second = RankRLS(2.0).fit(scaled[train], y[train]).predict(scaled[[case, control]])
            right.append(float(first > second))
    words = ["auc", messy, "--target", "outcome", "--alpha", 2, "--permutations", 0, "--no-roc", "--json"]
    found = json.loads(run(*words, "--scale", "--inside").out)
    np.testing.assert_allclose(found["auc"], np.mean(right), rtol=1e-12)
    assert "--inside has no effect" in run(*words, "--inside", "--missing", "drop", code=1).err
    assert 0 < json.loads(run(*words, "--inside").out)["auc"] < 1


def test_codes_of_missing_values(run, tmp_path):
    path = tmp_path / "train.csv"
    rows = [f"{row % 2},{30 + row + 3 * (row % 2)},{row % 7}" for row in range(20)]
    path.write_text("\n".join(["y,age,bmi", *rows, "1,-9,unknown"]) + "\n")
    ended = run("fit", path, "--missing-values", "-9,999,unknown", "-o", tmp_path / "model.kr")
    assert "missing cells became the median of their column ('age' 1, 'bmi' 1)" in ended.err
    (tmp_path / "new.csv").write_text("age,bmi\n-9,unknown\n40,3\nNA,NA\n")
    first, _, last = run("predict", tmp_path / "model.kr", tmp_path / "new.csv").out.split()
    assert first == last


def test_where_the_table_begins(run, tmp_path):
    path = tmp_path / "train.csv"
    rows = [f"{row % 2};{30 + row + 3 * (row % 2)};{row % 7},5" for row in range(20)]
    path.write_text("\n".join(["A cohort", *rows]) + "\n")
    layout = ("--skip-rows", 1, "--no-header")
    run("fit", path, *layout, "--target", "x1", "-o", tmp_path / "model.kr")
    assert load(tmp_path / "model.kr").provenance_["feature_names"] == ["x2", "x3"]
    assert len(run("predict", tmp_path / "model.kr", path, *layout).out.split()) == 20
    assert "10 and 10 items" in run("evaluate", tmp_path / "model.kr", path, *layout, "--measure", "auc").out
    assert "only Excel files have sheets" in run("fit", path, "--sheet", "Data", code=1).err


def test_convert_prepares_a_table_and_says_so(messy, run):
    ended = run("convert", messy, "tidy.csv", "--target", "outcome")
    assert "commas are decimal points" in ended.err
    assert "missing cells became the median of their column ('Größe' 2)" in ended.err
    tidy, items = read_table("tidy.csv", target="target"), read_table(messy, target="outcome", guess_positive=True)
    assert tidy.feature_names == items.feature_names
    np.testing.assert_array_equal(tidy.X, items.X)
    np.testing.assert_array_equal(tidy.y, items.y)
    assert "the cell is missing" in run("convert", messy, "x.csv", "--missing", "error", code=1).err


def test_words_for_events_are_known(run, tmp_path):
    rows = [f"{10 + n},{['censored', 'dead'][n % 3 > 0]},{n % 5},{n % 7}" for n in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["months,status,a,b", *rows]) + "\n")
    options = ("--time", "months", "--event", "status", "-o", tmp_path / "model.kr")
    told = run("fit", tmp_path / "a.csv", *options).err
    assert "'dead' is an event and 'censored' is none, by their meaning (--happened censored reverses it)" in told
    words = load(tmp_path / "model.kr").coef_
    run("fit", tmp_path / "a.csv", "--happened", "dead", *options)
    assert words.tolist() == load(tmp_path / "model.kr").coef_.tolist()
    run("fit", tmp_path / "a.csv", "--happened", "censored", *options)
    assert words.tolist() != load(tmp_path / "model.kr").coef_.tolist()

"""``kernelrank auc``: groups that group nothing, and which class is positive."""

from __future__ import annotations

import pytest


def facts(ended):
    """What was found, without what was noted on the way."""
    return {name: value for name, value in ended.json.items() if name != "notes"}


def with_lone_patients(cohort):
    """The file with a patient of its own in every row."""
    header, *lines = cohort.read_text().splitlines()
    place = header.split(",").index("patient")
    rows = [line.split(",") for line in lines]
    for number, row in enumerate(rows):
        row[place] = f"p{number}"
    path = cohort.with_name("lone.csv")
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
    return path


@pytest.mark.parametrize("options", [["--alpha", 1], ["--alphas", "0.1,10"], ["--cv", "averaged", "--alpha", 1]])
def test_one_row_for_each_patient_changes_nothing(run, cohort, options):
    words = ["auc", with_lone_patients(cohort), "--target", "outcome", *options, "--permutations", 19, "--json"]
    columns = ["--features", "age,a,b,c"]
    grouped, plain = run(*words, *columns), run(*words, *columns, "--groups", "")
    assert facts(grouped) == facts(plain)
    assert any("no two rows share a group, so that groups change nothing" in note for note in grouped.json["notes"])
    assert not any("no two rows" in note for note in plain.json["notes"])


def test_tune_holds_out_pairs_where_every_row_is_a_group(run, cohort):
    words = ["tune", with_lone_patients(cohort), "--target", "outcome", "--features", "a,b", "--alphas", "0.1,10"]
    grouped, plain = run(*words, "--json"), run(*words, "--groups", "", "--json")
    assert facts(grouped) == facts(plain)
    assert grouped.json["held_out"] == "every pair held out exactly"

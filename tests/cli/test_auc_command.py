"""``kernelrank auc``: groups that group nothing, and which class is positive: what is said of it, and what is done."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import kernelrank as kr
from kernelrank.data import read_items
from kernelrank.data.table import NEGATIVE, OPPOSITES, POSITIVE

ROOT = Path(__file__).resolve().parents[2]


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
    assert any("every group has one row, so the groups have no effect" in note for note in grouped.json["notes"])
    assert not any("every group has one row" in note for note in plain.json["notes"])


def test_tune_holds_out_pairs_where_every_row_is_a_group(run, cohort):
    words = ["tune", with_lone_patients(cohort), "--target", "outcome", "--features", "a,b", "--alphas", "0.1,10"]
    grouped, plain = run(*words, "--json"), run(*words, "--groups", "", "--json")
    assert facts(grouped) == facts(plain)
    assert grouped.json["held_out"] == "every pair held out exactly"


@pytest.mark.parametrize(("labels", "named"), [("pqrst", True), ("ppqqr", False)])
def test_labels_that_differ_in_every_row_name_the_items(run, tmp_path, labels, named):
    path, model = tmp_path / "patients.csv", tmp_path / "model.kr"
    rows = [f"{label},{k},{k % 2},{k % 3}" for k, label in enumerate(labels)]
    path.write_text("\n".join(["patient,a,b,outcome", *rows]) + "\n")
    run("fit", path, "--target", "outcome", "-o", model)
    assert run("predict", model, path, "--json").json["ids"] == (list(labels) if named else None)


AUC = ["--target", "outcome", "--features", "a,b", "--groups", "", "--alpha", 1, "--permutations", 0, "--no-roc"]


def with_words(cohort, case, control):
    """The file with other names of the classes."""
    path = cohort.with_name("words.csv")
    text = re.sub(r",ill$", f",{case}", cohort.read_text(), flags=re.MULTILINE)
    path.write_text(re.sub(r",well$", f",{control}", text, flags=re.MULTILINE))
    return path


RULE = {
    "by its meaning": ("case", "control", "case"),
    "it sorts last": ("ALL", "AML", "AML"),
    "the larger number": ("7", "-3", 7),
}


@pytest.mark.parametrize("reason", RULE)
def test_the_positive_class_and_why_stand_in_the_answer_the_json_and_the_page(run, cohort, tmp_path, reason):
    case, control, positive = RULE[reason]
    path = with_words(cohort, case, control)
    ended = run("auc", path, *AUC, "--report", "auc.html")
    assert f"{positive}: 10 of 20 items ({reason})" in ended.out
    page = (tmp_path / "auc.html").read_text(encoding="utf-8")
    assert f"the positive class is {positive}: {reason}" in page
    facts = run("auc", path, *AUC, "--json").json
    assert (facts["positive_class"], facts["positive_class_reason"]) == (positive, reason)


def test_the_other_class_is_positive_where_it_is_asked_for(run, cohort):
    path = with_words(cohort, "case", "control")
    facts = run("auc", path, *AUC, "--positive", "control", "--json").json
    assert (facts["positive_class"], facts["positive_class_reason"]) == ("control", "as requested")
    assert any("the target 'control' is 1 and 'case' is 0, as requested" in note for note in facts["notes"])


def positive_of(run, cohort, first, second):
    """Which of two words the command takes for positive, and why."""
    facts = run("auc", with_words(cohort, first, second), *AUC, "--json").json
    return facts["positive_class"], facts["positive_class_reason"]


def test_the_help_says_what_the_command_does(run, cohort):
    told = " ".join(run("auc", "--help").out.replace("│", " ").split())
    assert "it is guessed from the words" in told
    assert "else the rarer class" in told
    pairs = re.findall(r"(\w+)/(\w+)", told.partition("guessed from the words (")[2].partition(")")[0])
    assert len(pairs) >= 3
    for case, control in pairs:
        assert positive_of(run, cohort, case, control) == (case, "by its meaning")
    assert positive_of(run, cohort, "early", "late") == ("late", "it sorts last")


def test_the_how_to_says_what_the_command_does(run, cohort):
    text = " ".join((ROOT / "docs" / "how_to" / "auc_of_a_cohort.md").read_text(encoding="utf-8").split())
    section = text.partition("### Which class is positive")[2].partition("## In Python")[0]
    cases = section.partition("means a case is positive: ")[2].partition(";")[0].split(", ")
    controls = section.partition("means a control: ")[2].partition(";")[0].split(", ")
    letters = re.findall(r"\b(\w)/(\w)\b", section)
    assert set(cases) == {word for word in POSITIVE if len(word) > 1}
    assert set(controls) == {word for word in NEGATIVE if len(word) > 1}
    assert dict(letters) == OPPOSITES
    assert positive_of(run, cohort, cases[0], "zebra") == (cases[0], "by its meaning")
    assert positive_of(run, cohort, "aardvark", controls[0]) == ("aardvark", "by its meaning")
    for case, control in letters:
        assert positive_of(run, cohort, case.upper(), control.upper()) == (case.upper(), "by its meaning")
    assert positive_of(run, cohort, "m", "f") == ("m", "it sorts last")
    assert (
        "otherwise the rarer class is positive, and of two equally frequent ones the class that sorts last" in section
    )
    assert "As in scikit-learn, the class that sorts last is positive, unless you pass `pos_label=`" in section


@pytest.mark.parametrize("words", [("case", "control"), ("ill", "well"), ("a", "B"), ("yes", "no")])
def test_every_door_of_python_takes_the_class_that_sorts_last(cohort, words):
    path = with_words(cohort, *words)
    items = read_items(path, target="outcome", features=["a", "b"])
    labels = np.array(items.classes)[items.y.astype(int)]
    last = np.unique(labels)[-1]
    assert items.classes[1] == last
    assert kr.RLSClassifier().fit(items.X, labels).classes_[1] == last
    estimate = kr.estimate_auc(kr.RankRLS(), items.X, labels)
    assert estimate.classes[1] == last
    assert estimate.auc == kr.estimate_auc(kr.RankRLS(), items.X, items.y).auc
    assert kr.tournament_roc(kr.RankRLS(), items.X, labels).estimate.classes[1] == last
    assert kr.report.ROCDisplay.of_scores(labels, items.X[:, 0], random_state=0).estimate.classes[1] == last
    first = np.unique(labels)[0]
    assert read_items(path, target="outcome", features=["a", "b"], pos_label=first).classes[1] == first
    assert kr.estimate_auc(kr.RankRLS(), items.X, labels, pos_label=first).classes[1] == first


def test_permutations_may_choose_alpha_inside(run, tmp_path):
    rng = np.random.default_rng(2)
    y = np.arange(16) % 2
    X = rng.standard_normal((16, 3)) + y[:, None]
    rows = "\n".join(",".join(map(str, (*x, label))) for x, label in zip(X, y, strict=True))
    (tmp_path / "small.csv").write_text("a,b,c,outcome\n" + rows)
    words = ("auc", "small.csv", "--target", "outcome", "--alphas", "0.1,10,1000", "--permutations", "19", "--no-roc")
    nested = run(*words, "--nested-permutations").out
    assert "nested leave_pair_out accuracy" in nested
    assert "best leave_pair_out accuracy of 3 alphas" in run(*words).out
    test = kr.permutation_test(
        kr.RankRLSCV([0.1, 10.0, 1000.0], random_state=0), X, y, n_permutations=19, random_state=0
    )
    assert run(*words, "--nested-permutations", "--json").json["pvalue"] == test.pvalue


@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
def test_columns_may_be_scaled_inside(run, tmp_path):
    from scipy.special import expit, logit
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(4)
    y = np.arange(14) % 2
    X = (rng.standard_normal((14, 3)) + y[:, None]) * [1.0, 10.0, 100.0]
    rows = "\n".join(",".join(map(str, (*x, label))) for x, label in zip(X, y, strict=True))
    (tmp_path / "small.csv").write_text("a,b,c,outcome\n" + rows)
    words = ("auc", "small.csv", "--target", "outcome", "--alphas", "0.1,10,1000", "--permutations", "0")
    told = run(*words, "--scale", "--inside", "--json").json
    search = kr.RankRLSCV([0.1, 10.0, 1000.0])
    expected = kr.estimate_auc(make_pipeline(StandardScaler(), search), X, y, interval="components")
    once = kr.estimate_auc(search, StandardScaler().fit_transform(X), y)
    assert told["auc"] == pytest.approx(expected.auc)
    moved = [expit(logit(expected.auc) + logit(end) - logit(once.auc)) for end in once.interval]
    assert [told["low"], told["high"]] == pytest.approx(moved)
    assert "its width was computed with columns imputed and scaled once" in told["interval"]
    assert "--inside has no effect" in run(*words, "--inside", code=1).err

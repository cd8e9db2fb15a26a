"""``kernelrank select`` and ``kernelrank auc --select``: what they say is what the library finds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank.data import read_items, read_table

WORDS = ["--target", "outcome", "--features", "age,a,b,c"]


def test_select_says_what_the_library_finds(run, cohort):
    words = ["select", cohort, *WORDS, "-k", 2, "--alpha", 1, "--repeats", 2, "--cv", 3, "--halves", 4]
    found = run(*words, "--permutations", 3, "--json", "-o", "model.kr", "--report", "page.html").json
    items = read_table(str(cohort), target="outcome", features=["age", "a", "b", "c"], guess_positive=True)
    estimator = make_pipeline(StandardScaler(), kr.GreedyRankRLS(2, alpha=1.0))
    curve = kr.selection_curve(estimator, items.X, items.y, cv=3, n_repeats=2, random_state=0)
    np.testing.assert_allclose([step["nested"] for step in found["steps"]], curve.nested)
    np.testing.assert_allclose([step["inside"] for step in found["steps"]], curve.inside)
    names = ["age", "a", "b", "c"]
    assert [step["feature"] for step in found["steps"]] == [names[column] for column in curve.features]
    stability = kr.selection_stability(estimator, items.X, items.y, n_subsamples=4, random_state=0)
    expected = {names[f]: share for f, share in zip(stability.features, stability.frequency, strict=True)}
    assert found["stability"]["frequency"] == expected
    assert 0 < found["pvalue"] <= 1
    page = (cohort.parent / "page.html").read_text()
    assert "How stable the selection is" in page
    assert "<script" not in page
    predicted = run("predict", "model.kr", cohort).out.split()
    assert len(predicted) >= 20
    assert set(found["coefficients"]) == {step["feature"] for step in found["steps"]}


def test_select_shows_a_table_and_takes_queries(run, ranking):
    ended = run("select", ranking / "train.txt", "-k", 2, "--alpha", "10", "--cv", 2, "--halves", 3)
    assert "where selected" in ended.out
    assert "pairwise accuracy, mean over queries" in ended.out
    assert "of the halves select" in ended.out
    whole = run(
        "select", ranking / "train.txt", "-k", 1, "--no-scale", "--cv", "leave_query_out", "--halves", 0, "--json"
    ).json
    assert whole["held_out"] == "10 queries"
    items = read_items(str(ranking / "train.txt"))
    model = kr.GreedyRankRLS(1, alpha="auto").fit(items.X, items.y, qid=items.qid)
    assert whole["steps"][0]["criterion"] == pytest.approx(model.path_[0]["criterion"])


def test_auc_selects_inside_every_pair(run, cohort):
    words = ["auc", cohort, *WORDS, "--groups", "", "--alpha", 1, "--select", 2]
    found = run(*words, "--json").json
    items = read_table(str(cohort), target="outcome", features=["age", "a", "b", "c"], guess_positive=True)
    estimate = kr.estimate_auc(kr.GreedyRankRLS(2, alpha=1.0), items.X, items.y)
    assert found["auc"] == pytest.approx(estimate.auc)
    model = kr.GreedyRankRLS(2, alpha=1.0).fit(items.X, items.y)
    assert found["selected"] == [["age", "a", "b", "c"][column] for column in model.selected_]
    assert any("no p-value" in note for note in found["notes"])
    tested = run(*words, "--permutations", 3, "--report", "auc.html", "--json").json
    assert tested["permutations"] == 3
    assert "selected in every training set" in run(*words).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["select", "--alpha", "-1"], "--alpha '-1': expected a positive number, or auto"),
        (["select", "-k", "9"], "Expected n_features_to_select"),
        (["select", "--cv", "loo"], "got cv='loo' without qid"),
        (["auc", "--select", "2", "--kernel", "rbf"], "--select works with the linear kernel only"),
        (
            ["auc", "--select", "2", "--groups", "patient", "--permutations", "5"],
            "cannot compute a p-value with groups",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(run, cohort, words, message):
    ended = run(words[0], cohort, *WORDS, *words[1:], code=1)
    assert message in ended.err
    assert ended.err.strip().splitlines()[-1].startswith("kernelrank:")


def test_the_words_of_a_column_are_selected_together(run, tmp_path):
    rows = [f"{n % 3},{'abc'[n % 3]},{(7 * n) % 11},{(5 * n * n) % 13}" for n in range(45)]
    (tmp_path / "table.csv").write_text("\n".join(["score,kind,x,z", *rows]) + "\n")
    words = ("select", "table.csv", "--alpha", 1, "--repeats", 1, "--halves", 4, "--json")
    found = run(*words, "-k", 2).json
    assert found["columns"] == 3
    assert found["steps"][0]["feature"] == "kind"
    assert {"kind=a", "kind=b", "kind=c"} < set(found["coefficients"])
    assert found["stability"]["frequency"]["kind"] == 1
    assert len(run(*words).json["steps"]) == 3

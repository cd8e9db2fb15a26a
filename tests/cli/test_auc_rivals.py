"""``kernelrank auc --versus`` and ``--covariates``: what Python computes, what is shown, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import kernelrank as kr
from kernelrank.base.text import pvalue
from kernelrank.cli.auc import Rivals
from kernelrank.data import Items, read_items
from kernelrank.errors import InvalidInputError
from tests.report.html_page import HTMLPage

FEW = ["--target", "outcome", "--groups", "", "--features", "age,a,b,c", "--permutations", 0, "--no-roc", "--alpha", 1]
CHOSEN = [
    "--target",
    "outcome",
    "--groups",
    "",
    "--features",
    "age,a,b,c",
    "--permutations",
    0,
    "--no-roc",
    "--alphas",
    "0.1,1,10",
]


def columns(cohort, *names, pos_label="ill"):
    items = read_items(cohort, target="outcome", groups="patient", features=list(names), pos_label=pos_label)
    return items.X, items.y, items.groups


def check(facts, found):
    assert facts["first"]["auc"] == found.first.auc
    assert facts["second"]["auc"] == found.second.auc
    assert (facts["first"]["low"], facts["first"]["high"]) == tuple(found.first.interval)
    assert facts["difference"] == found.difference
    assert (facts["low"], facts["high"], facts["confidence"]) == (*found.interval, found.interval.level)
    assert (facts["pvalue"], facts["interval"]) == (found.pvalue, found.interval.method)


@pytest.mark.parametrize(("words", "estimator"), [(FEW, kr.RankRLS(1.0)), (CHOSEN, kr.RankRLSCV([0.1, 1, 10]))])
def test_versus_compares_the_other_columns_with_the_marker(run, cohort, words, estimator):
    words = ["auc", cohort, *words, "--positive", "ill", "--versus", "age"]
    X, y, _ = columns(cohort, "a", "b", "c")
    age = columns(cohort, "age")[0][:, 0]
    found = kr.compare_auc(estimator, age, X, y)
    answer = run(*words, "--json").json
    check(answer["versus"], found)
    assert answer["auc"] == found.first.auc
    assert answer["versus"]["second"]["name"] == "age"
    out = run(*words).out
    assert "model versus age" in out
    for text in (f"{found.second.auc:.3f}", f"{found.difference:+.3f}", pvalue(found.pvalue)):
        assert text in out
    turned = run(*words[:-1], "-age", "--json").json["versus"]
    assert turned["second"]["auc"] == pytest.approx(1 - found.second.auc)
    assert turned["second"]["name"] == "-age"


@pytest.mark.parametrize(("words", "estimator"), [(FEW, kr.RankRLS(1.0)), (CHOSEN, kr.RankRLSCV([0.1, 1, 10]))])
def test_covariates_are_a_model_of_their_own(run, cohort, words, estimator):
    words = ["auc", cohort, *words, "--positive", "ill", "--covariates", "age, c"]
    X, y, _ = columns(cohort, "age", "a", "b", "c")
    found = kr.compare_auc(estimator, estimator, (X, X[:, [0, 3]]), y)
    answer = run(*words, "--json").json
    check(answer["covariates"], found)
    assert answer["auc"] == found.first.auc
    assert "model of age, c" in run(*words).out


def test_groups_scaling_and_both_options_together(run, cohort):
    words = ["--groups", "patient", "--scale", "--features", "a,b", "--covariates", "c", "--versus", "age"]
    answer = run("auc", cohort, *FEW, "--positive", "ill", *words, "--json").json
    X, y, groups = columns(cohort, "a", "b", "c")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    age = columns(cohort, "age")[0][:, 0]
    check(answer["versus"], kr.compare_auc(kr.RankRLS(), age, X, y, groups=groups))
    check(answer["covariates"], kr.compare_auc(kr.RankRLS(), kr.RankRLS(), (X, X[:, 2:]), y, groups=groups))
    assert "groups" in answer["versus"]["interval"]


def test_a_marker_that_speaks_against_the_class_is_noted(run, cohort):
    words = ["auc", cohort, *FEW, "--positive", "well", "--json"]
    assert any("--versus=-age" in note for note in run(*words, "--versus", "age").json["notes"])
    assert not any("--versus=" in note for note in run(*words, "--versus=-age").json["notes"])


def test_the_mean_of_the_permutations_stands_beside_its_statistic(run, cohort):
    words = ["auc", cohort, "--target", "outcome", "--features", "a,b", "--groups", "", "--no-roc", "--alphas", "1,10"]
    answer = run(*words, "--permutations", 19, "--json").json
    X, y, _ = columns(cohort, "a", "b", pos_label=answer["positive_class"])
    test = kr.permutation_test(kr.RankRLS(), X, y, n_permutations=19, random_state=0, alphas=[1.0, 10.0])
    assert answer["permutation"] == {
        "statistic": test.name,
        "value": test.statistic,
        "null_mean": np.mean(test.null),
        "pvalue": test.pvalue,
        "permutations": 19,
        "permuted": test.permuted,
    }
    assert answer["pvalue"] == test.pvalue


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--versus", "agee"], "'agee', which is not a feature column (is it 'age'?)"),
        (["--versus", ""], "--versus: expected the name of a column; got nothing"),
        (["--versus", "outcome"], "'outcome', which is not a feature column"),
        (["--versus", "age", "--features", "age"], "no feature column is left"),
        (["--versus", "crp", "--features", "a,b"], "there is no column 'crp' for the features"),
        (["--covariates", " , "], "--covariates: expected columns separated by commas"),
        (["--covariates", "age,sex"], "'sex', which is not a feature column"),
        (["--covariates", "age,a,b,c"], "leave at least one out"),
        (["--versus", "age", "--cv", "averaged"], "--versus needs leave-pair-out"),
    ],
)
def test_what_cannot_be_compared_is_refused(run, cohort, words, message):
    bare = ["--target", "outcome", "--permutations", 0, "--no-roc", "--alpha", 1]
    ended = run("auc", cohort, *bare, *words, code=None)
    assert ended.code != 0
    assert message in " ".join(ended.err.split())


@pytest.mark.parametrize("options", [[], ["--alpha", 1], ["--alpha", 1, "--versus", "a"], ["--versus", "b"]], ids=str)
def test_two_positive_items_have_an_estimate_and_no_curve(run, tmp_path, options):
    rows = ["a,b,outcome", "1,2,0", "2,1,0", "3,3,0", "4,1,0", "9,2,1", "8,3,1"]
    (tmp_path / "few.csv").write_text("\n".join(rows) + "\n")
    answer = run("auc", "few.csv", "--target", "outcome", "--permutations", 9, *options, "--json").json
    assert answer["low"] < answer["high"] <= 1
    assert "roc" not in answer
    assert any("needs three items of each class" in note for note in answer["notes"])
    if "--versus" in options:
        found = answer["versus"]
        assert -1 <= found["low"] <= found["difference"] <= found["high"] <= 1
        assert found["low"] < found["high"]


def test_the_page_shows_both_comparisons_as_forest_plots(run, cohort, tmp_path):
    ended = run("auc", cohort, *FEW, "--versus", "c", "--covariates", "age", "--report", "auc.html")
    page = HTMLPage((tmp_path / "auc.html").read_text(encoding="utf-8"))
    tables = [found.text for found in page.all("table") if found.attributes.get("class") == "forest"]
    assert ["model − c" in tables[0], "model − model of age" in tables[1]] == [True, True]
    shown = [line.split() for line in ended.out.splitlines() if line.startswith("difference")]
    assert len(tables) == len(shown) == 2
    for table, words in zip(tables, shown, strict=True):
        assert words[1].lstrip("+").replace("-", "−") in table


def prepared_items():
    """Items of a table with categories, and with a column that says where a cell was missing."""
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    names = ("crp", "crp is missing", "sex=f", "sex=m", "sexual_maturity", "age")
    return Items(rng.standard_normal((20, 6)) + y[:, None], 1.0 * y, None, None, None, None, names, "a.csv", ())


def test_a_marker_leaves_with_what_says_where_it_is_missing():
    items = prepared_items()
    left, marker = Rivals("crp").take_marker(items)
    assert left.column_names == ("sex=f", "sex=m", "sexual_maturity", "age")
    np.testing.assert_array_equal(marker, items.X[:, 0])
    np.testing.assert_array_equal(left.X, items.X[:, 2:])
    with pytest.raises(InvalidInputError, match="'sex' has categories"):
        Rivals("sex").take_marker(items)


def test_a_covariate_is_all_of_its_categories():
    items = prepared_items()
    rivals = Rivals.read(None, "sex,age")
    (found,) = rivals.compare(lambda X: kr.RankRLS(), items.X, items.y, items, None)
    expected = kr.compare_auc(kr.RankRLS(), kr.RankRLS(), (items.X, items.X[:, [2, 3, 5]]), items.y)
    assert found.found == expected
    assert found.second == "model of sex, age"

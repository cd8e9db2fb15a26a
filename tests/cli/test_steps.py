"""Fit, predict, evaluate and compare in the command are the same steps in Python, and the runs are those of TREC."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank.data import read_items
from kernelrank.metrics import get_measure, paired_test

MODELS = {
    "linear": (["--alpha", "3"], lambda: kr.RankRLS(3.0)),
    "unit": (["--cost", "unit", "--query-weight", "queries"], lambda: kr.RankRLS(cost="unit", query_weight="queries")),
    "rbf": (
        ["--kernel", "rbf", "--gamma", "0.1", "--basis", "20", "--seed", "4"],
        lambda: kr.RankRLS(kernel="rbf", gamma=0.1, basis=20, random_state=4),
    ),
    "svm": (["--method", "ranksvm", "--alpha", "30"], lambda: kr.RankSVM(30.0)),
    "rls": (["--method", "rls", "--alpha", "2"], lambda: kr.RLS(2.0)),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_that_of_python(name, run, ranking):
    options, estimator = MODELS[name]
    train, test = read_items(ranking / "train.txt"), read_items(ranking / "test.txt")
    expected = estimator().fit(train.X, train.y, qid=train.qid).predict(test.X)
    facts = run("fit", "train.txt", "-o", "model.kr", *options, "--json").json
    assert facts["items"] == len(train)
    scores = [float(line) for line in run("predict", "model.kr", "test.txt").out.splitlines()]
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(kr.load("model.kr").predict(test.X), expected)


def test_scaled_columns_go_with_the_model(run, ranking):
    train, test = read_items(ranking / "train.txt"), read_items(ranking / "test.txt")
    scaler = StandardScaler().fit(train.X)
    model = kr.RankRLS(3.0).fit(scaler.transform(train.X), train.y, qid=train.qid)
    run("fit", "train.txt", "--alpha", "3", "--scale")
    scores = [float(line) for line in run("predict", "model.kr", "test.txt").out.splitlines()]
    np.testing.assert_allclose(scores, model.predict(scaler.transform(test.X)), rtol=1e-12)
    np.testing.assert_array_equal(kr.load("model.kr").predict(test.X), scores)


def test_numbers_are_those_of_python(run, ranking):
    test = read_items(ranking / "test.txt")
    scores = {}
    for name in ("linear", "rbf"):
        run("fit", "train.txt", "-o", f"{name}.kr", *MODELS[name][0])
        scores[name] = kr.load(f"{name}.kr").predict(test.X)
    measures = ["ndcg@3", "map", "pairwise_accuracy"]
    words = [word for name in measures for word in ("--measure", name)]
    found = run("evaluate", "linear.kr", "test.txt", *words, "--json", "--by-query", "--confidence", "0.9").json
    for facts, name in zip(found["measures"], measures, strict=True):
        result = get_measure(name)(test.y, scores["linear"], qid=test.qid)
        interval = result.interval(0.9, random_state=0)
        assert (facts["mean"], facts["low"], facts["high"]) == (result.mean, interval.low, interval.high)
        assert [facts["by_query"][str(query)] for query in result.queries] == result.values.tolist()
    found = run("compare", "linear.kr", "rbf.kr", "test.txt", *words, "--json").json
    for facts, name in zip(found["measures"], measures, strict=True):
        results = [get_measure(name)(test.y, scores[model], qid=test.qid) for model in ("linear", "rbf")]
        expected = paired_test(*results, random_state=0)
        assert (facts["difference"], facts["pvalue"]) == (expected.difference, expected.pvalue)
        assert facts["wilcoxon_pvalue"] == expected.wilcoxon_pvalue
        assert (facts["low"], facts["high"], facts["exact"]) == (*expected.interval, True)


def test_several_models_are_compared_two_by_two_and_on_a_page(run, ranking):
    test = read_items(ranking / "test.txt")
    for name, alpha in (("weak", 1e6), ("one", 1.0), ("half", 0.5)):
        run("fit", "train.txt", "-o", f"{name}.kr", "--alpha", str(alpha))
    files = ["weak.kr", "one.kr", "half.kr", "test.txt"]
    ended = run("compare", *files, "-m", "pairwise_accuracy", "--report", "page.html", "--json").json
    assert ended["report"] == "page.html"
    (found,) = ended["models"]
    measure = get_measure("pairwise_accuracy")
    results = {name: measure(test.y, kr.load(name).predict(test.X), qid=test.qid) for name in files[:3]}
    assert {row["model"]: row["value"] for row in found["values"]} == {name: one.mean for name, one in results.items()}
    assert found["random_order"] == 0.5
    assert len(found["differences"]) == 3
    for row in found["differences"]:
        expected = paired_test(results[row["first"]], results[row["second"]], random_state=0)
        assert (row["difference"], row["pvalue"]) == (expected.difference, expected.pvalue)
        assert row["corrected_pvalue"] >= row["pvalue"]
    page = (ranking / "page.html").read_text(encoding="utf-8")
    assert "3 models on test.txt" in page
    shown = run("compare", *files, "-m", "pairwise_accuracy").out
    assert "random order" in shown
    assert "corrected: for all 3 tests" in shown
    two = run("compare", "weak.kr", "one.kr", "test.txt", "-m", "map", "--report", "two.html").out
    assert "Wilcoxon" in two
    assert (ranking / "two.html").exists()


def test_a_comparison_needs_two_models_and_data(run, ranking):
    run("fit", "train.txt")
    failed = run("compare", "model.kr", "test.txt", code=1)
    assert "Expected at least two models, then a data file; got 2 files" in failed.err


def test_new_measures_have_options_of_the_command(run, ranking):
    run("fit", "train.txt")
    test = read_items(ranking / "test.txt")
    scores = kr.load("model.kr").predict(test.X)
    names = {"ndcg@3": {"discount": "letor"}, "threshold_f": {"threshold": 0.5}, "magnitude_preserving_error": {}}
    words = [word for name in names for word in ("-m", name)]
    ended = run("evaluate", "model.kr", "test.txt", *words, "--discount", "letor", "--threshold", 0.5, "--json").json
    for facts, (name, options) in zip(ended["measures"], names.items(), strict=True):
        assert facts["mean"] == get_measure(name, **options)(test.y, scores, qid=test.qid).mean
    shown = run("compare", "model.kr", "model.kr", "test.txt", *words, "--discount", "letor", "--threshold", 0.5).out
    assert "place 2 not discounted, as in LETOR" in shown
    assert "Wilcoxon's signed ranks, zero differences left out" in " ".join(shown.split())
    assert (
        "--threshold has no effect on the measures"
        in run("evaluate", "model.kr", "test.txt", "-m", "map", "--threshold", 1, code=1).err
    )


def test_the_auc_of_one_ranking_has_an_interval(run, tmp_path):
    rows = [f"{(n % 3 == 0):d},{n * 0.37 % 1:.2f}" for n in range(20)]
    (tmp_path / "data.csv").write_text("\n".join(["y,a", *rows]) + "\n")
    run("fit", "data.csv")
    items = read_items(tmp_path / "data.csv")
    result = get_measure("auc")(items.y, kr.load("model.kr").predict(items.X))
    words = ["evaluate", "model.kr", "data.csv", "-m", "auc", "-m", "pairwise_accuracy"]
    auc, pairs = run(*words, "--json").json["measures"]
    assert (auc["low"], auc["high"]) == (result.interval().low, result.interval().high)
    assert pairs["low"] is None
    assert "Interval of AUC: DeLong's variance over 7 and 13 items; the predictions do not vary." in run(*words).out


def test_scores_below_zero_are_measured_by_what_knows_them(run, ranking):
    file = ranking / "below.txt"
    file.write_text("".join("-" + line for line in (ranking / "train.txt").read_text().splitlines(keepends=True)))
    run("fit", file, "-o", "one.kr")
    run("fit", file, "-o", "two.kr", "--alpha", 1000)
    for words in (("evaluate", "one.kr", file), ("compare", "one.kr", "two.kr", file)):
        facts = run(*words, "--json").json
        assert [one["measure"] for one in facts["measures"]] == ["pairwise accuracy"]
        assert any("left out: nDCG@10 needs grades of at least 0" in note for note in facts["notes"])
        assert "nDCG@10 needs grades of at least 0" in run(*words, "-m", "ndcg@10", code=1).err


def test_measures_of_different_queries_are_compared_as_such(run, ranking):
    with open(ranking / "test.txt", "a") as file:
        file.write("1 qid:alone 1:1 # d1\n")
    run("fit", "train.txt", "-o", "one.kr")
    run("fit", "train.txt", "-o", "two.kr", "--alpha", 1000)
    assert "6 to 7 queries, by the measure" in run("compare", "one.kr", "two.kr", "test.txt").out
    assert "7 queries; wins" in run("compare", "one.kr", "two.kr", "test.txt", "-m", "map").out


def test_runs_are_those_of_trec(run, ranking):
    run("fit", "train.txt", "--kernel", "rbf", "--gamma", "5", "--alpha", "1e6")  # small scores, far from one
    run("predict", "model.kr", "test.txt", "--format", "trec", "-o", "mine.run", "--tag", "mine")
    run("convert", "test.txt", "test.qrels", "--to", "qrels")
    judged = list(ir_measures.read_trec_qrels("test.qrels"))
    ranked = list(ir_measures.read_trec_run("mine.run"))
    names = {"ndcg@5": "nDCG@5", "map": "AP", "p@3": "P@3", "mrr": "RR"}
    theirs = ir_measures.calc_aggregate([ir_measures.parse_measure(name) for name in names.values()], judged, ranked)
    expected = {str(measure): value for measure, value in theirs.items()}
    words = [word for name in names for word in ("-m", name)]
    for judge in (["model.kr", "test.txt"], ["mine.run", "test.qrels"]):
        found = run("evaluate", *judge, "--trec", *words, "--json").json["measures"]
        for facts, name in zip(found, names.values(), strict=True):
            assert facts["mean"] == pytest.approx(expected[name], abs=1e-12)
    rules = found[0]["rules"]
    assert rules == ["gain linear", "ties by descending item name", "empty queries count 0"]
    # What is printed, and what the help says of --trec, are the same words.
    assert ", ".join(rules) in run("evaluate", "mine.run", "test.qrels", "--trec", *words).out
    assert ", ".join(rules) in run("compare", "mine.run", "mine.run", "test.qrels", "--trec", *words).out
    shown = run("evaluate", "--help").out.replace("│", " ")
    assert ", ".join(rules) in " ".join(shown.split())
    told = run("evaluate", "mine.run", "test.qrels", "--trec", "--tied", "order", *words, "--json").json["measures"]
    assert told[0]["rules"][1] == "ties in input order"


def test_runs_are_compared(run, ranking):
    for name, alpha in (("a", "1"), ("b", "1e5")):
        run("fit", "train.txt", "-o", f"{name}.kr", "--kernel", "rbf", "--alpha", alpha)
        run("predict", f"{name}.kr", "test.txt", "--format", "trec", "-o", f"{name}.run")
    run("convert", "test.txt", "qrels.txt", "--to", "qrels")
    models = run("compare", "a.kr", "b.kr", "test.txt", "--json").json
    runs = run("compare", "a.run", "b.run", "qrels.txt", "--json").json
    for one, other in zip(models["measures"], runs["measures"], strict=True):
        assert one["difference"] == pytest.approx(other["difference"], abs=1e-12)
    assert "wins" in run("compare", "a.run", "b.run", "qrels.txt").out


def test_what_a_run_lacks_is_said(run, tmp_path):
    (tmp_path / "run.txt").write_text("q1 Q0 a 1 2.0 x\nq1 Q0 z 2 1.0 x\nq9 Q0 a 1 1.0 x\n")
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 1\nq2 0 a 1\n")
    ended = run("evaluate", "run.txt", "qrels.txt", "-m", "map")
    assert "1 query without a judgement left out" in ended.err
    assert "1 judged query missing from the run" in ended.err
    assert "1 item without a judgement count as not relevant" in ended.err
    assert "0.2500" in ended.out


def test_tune_measures_the_search_itself(run, ranking):
    words = ("tune", "train.txt", "--alphas", "0.01,1,100")
    told = run(*words, "--nested", "--json").json
    items = read_items(ranking / "train.txt")
    search = kr.RankRLSCV([0.01, 1.0, 100.0], random_state=0)
    held_out = kr.leave_query_out(search, items.X, items.y, items.qid)
    expected = get_measure("pairwise_accuracy")(items.y, held_out, qid=items.qid)
    assert told["nested"][0]["mean"] == pytest.approx(expected.mean, abs=1e-12)
    assert "chosen without each query" in run(*words, "--nested").out
    assert "their own test set" in run(*words, "--cv", "3", "--nested", code=1).err


def test_tune_measures_the_search_itself_by_pairs(run, ranking):
    items = read_items(ranking / "train.txt")
    rows = "\n".join(",".join(map(str, row)) for row in np.column_stack([items.y, items.X])[:20])
    (ranking / "one.csv").write_text("target,a,b,c,d,e\n" + rows)
    told = run("tune", "one.csv", "--target", "target", "--alphas", "0.01,1,100", "--nested", "--json").json
    search = kr.RankRLSCV([0.01, 1.0, 100.0], random_state=0)
    expected = kr.leave_pair_out(search, items.X[:20], items.y[:20]).accuracy
    assert told["nested"]["mean"] == pytest.approx(expected, abs=1e-12)

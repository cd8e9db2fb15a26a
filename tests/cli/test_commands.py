"""What each command does beyond the four steps."""

from __future__ import annotations

import csv
import gzip
import re
from dataclasses import asdict

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank import metrics
from kernelrank.cli.shared import read_grid
from kernelrank.data import read_items, write_ranking
from kernelrank.errors import InvalidInputError
from kernelrank.relations import RelationExtractor, make_corpus


def test_demo_leaves_a_page_a_model_and_its_data(run, tmp_path):
    ended = run("demo")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "kernelrank-demo-test.txt",
        "kernelrank-demo-train.txt",
        "kernelrank-demo.kr",
        "kernelrank-report.html",
    ]
    assert "What to try next" in ended.out
    found = run("evaluate", "kernelrank-demo.kr", "kernelrank-demo-test.txt", "-m", "ndcg@10", "--json").json
    again = run("demo", "--json").json
    assert again["measures"][0]["mean"] == found["measures"][0]["mean"]
    assert again["measures"][0]["random"] < again["measures"][0]["low"]
    page = (tmp_path / "kernelrank-report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == page.count("</svg>") >= 2


def test_fit_learns_from_preferences_by_name(run, tmp_path):
    (tmp_path / "items.csv").write_text("id,size\ntea,1\ncoffee,2\nwater,4\n")
    (tmp_path / "pairs.txt").write_text("water coffee\ncoffee tea\n")
    run("fit", "items.csv", "--pairs", "pairs.txt")
    expected = kr.RankRLS().fit_pairs([[1.0], [2.0], [4.0]], [[2, 1], [1, 0]]).coef_
    np.testing.assert_array_equal(kr.load("model.kr").coef_, expected)
    (tmp_path / "pairs.txt").write_text("water milk\n")
    assert "'milk' is not among the items" in run("fit", "items.csv", "--pairs", "pairs.txt", code=1).err
    (tmp_path / "pairs.txt").write_text("water tea 3\n")
    ended = run("fit", "items.csv", "--pairs", "pairs.txt", "--method", "ranksvm", code=1)
    assert "magnitudes, which --method ranksvm does not support" in ended.err


def test_a_model_is_measured_by_preferences(run, tmp_path):
    (tmp_path / "items.csv").write_text("id,size\ntea,1\ncoffee,2\nwater,4\nmilk,3\n")
    (tmp_path / "pairs.txt").write_text("water coffee\ncoffee tea\n")
    run("fit", "items.csv", "--pairs", "pairs.txt")
    (tmp_path / "held.txt").write_text("milk tea 1 2\nwater milk 1 1\ntea water 1 1\n")
    told = run("evaluate", "model.kr", "items.csv", "--pairs", "held.txt", "--json").json
    expected = metrics.preference_agreement([(3, 0), (2, 3), (0, 2)], [1.0, 2.0, 4.0, 3.0], weight=[2, 1, 1])
    facts = {name: value for name, value in asdict(expected).items() if name != "interval"}
    low, high = expected.interval
    assert told["agreement"] == pytest.approx({**facts, "low": low, "high": high, "confidence": 0.95})
    assert told["agreement"]["value"] == 0.75
    assert told["notes"] == ["items.csv: the ids are column 'id'"]
    seen = run("evaluate", "model.kr", "items.csv", "--pairs", "pairs.txt")
    assert "model.kr was trained on pairs.txt" in seen.err
    assert "1.0000" in seen.out
    for more in (("--measure", "auc"), ("--by-query",), ("--trec",)):
        ended = run("evaluate", "model.kr", "items.csv", "--pairs", "held.txt", *more, code=1)
        assert "--pairs measures agreement with preferences" in ended.err
    ended = run("evaluate", "held.txt", "items.csv", "--pairs", "held.txt", code=1)
    assert "held.txt: is not a model file; --pairs needs a model" in ended.err


def test_fit_and_evaluate_on_votes(run, tmp_path):
    """Columns found by name, or named; ties are kept by least squares, and left out where nothing knows them."""
    (tmp_path / "dishes.csv").write_text("id,heat\npea soup,1\nred curry,2\nstew,4\n")
    votes = "dish a,dish b,who,winner\nred curry,pea soup,ann,dish a\nstew,red curry,bob,tie\nstew,pea soup,bob,a\n"
    (tmp_path / "votes.csv").write_text(votes)
    seen = run("fit", "dishes.csv", "--pairs", "votes.csv")
    assert "the items are columns 'dish a' and 'dish b'; column 'winner' says the side that won" in seen.err
    X = [[1.0], [2.0], [4.0]]
    pairs = [[1, 0], [2, 1], [2, 0]]
    expected = kr.RankRLS().fit_pairs(X, pairs, magnitude=[1, 0, 1]).coef_
    np.testing.assert_allclose(kr.load(tmp_path / "model.kr").coef_, expected)
    told = run("evaluate", "model.kr", "dishes.csv", "--pairs", "votes.csv", "--json").json
    assert (told["agreement"]["value"], told["agreement"]["n_preferences"]) == (1.0, 2)
    assert any("left out: 1 tie, which neither order agrees with" in note for note in told["notes"])
    seen = run("fit", "dishes.csv", "--pairs", "votes.csv", "--method", "ranksvm", "-o", "svm.kr")
    assert "left out: 1 tie, which --method ranksvm does not support" in seen.err
    (tmp_path / "votes.csv").write_text("up,down,n\nred curry,pea soup,2\nstew,stw,1\n")
    named = ("--winner", "up", "--loser", "down", "--pair-weight", "n")
    ended = run("fit", "dishes.csv", "--pairs", "votes.csv", *named, code=1)
    assert "votes.csv, line 3, column 'down': 'stw' is not among the items: did you mean 'stew'?" in ended.err
    (tmp_path / "votes.csv").write_text("up,down,n\nred curry,pea soup,2\nstew,pea soup,1\n")
    run("fit", "dishes.csv", "--pairs", "votes.csv", *named)
    expected = kr.RankRLS().fit_pairs(X, [[1, 0], [2, 0]], weight=[2, 1]).coef_
    np.testing.assert_allclose(kr.load(tmp_path / "model.kr").coef_, expected)
    (tmp_path / "votes.csv").write_text("winner,loser,tie\nstew,pea soup,1\n")
    ended = run("evaluate", "model.kr", "dishes.csv", "--pairs", "votes.csv", code=1)
    assert "has only ties" in ended.err


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "0 1\n1\n",
            "pairs.txt, line 2: 1 column: expected winner loser [magnitude [weight]]; --skip-invalid leaves it out",
        ),
        ("0 1\n1 2\n", "pairs.txt: has the item number 2, but the items of items.csv go from 0 to 1"),
        ("a b\n", "pairs.txt: has names such as 'a', but the items of items.csv have no names: give --id"),
    ],
)
def test_what_is_wrong_with_preferences_is_said_of_their_file(lines, message, run, tmp_path):
    (tmp_path / "items.csv").write_text("left,right\n1,2\n3,4\n")
    (tmp_path / "pairs.txt").write_text(lines)
    assert run("fit", "items.csv", "--pairs", "pairs.txt", code=1).err == f"kernelrank: {message}\n"


def test_columns_are_found_by_name_in_another_order(run, tmp_path, cohort):
    run("fit", cohort, "--target", "outcome", "--query", "", "--features", "age,b", "-o", "model.kr")
    rows = list(csv.DictReader(cohort.read_text().splitlines()))
    with open("other.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["b", "c", "sample", "age"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    scores = [run("predict", "model.kr", name).out for name in (cohort, "other.csv")]
    assert scores[0] == scores[1]
    assert len(scores[0].splitlines()) == 20
    (tmp_path / "less.csv").write_text("age,c\n1,2\n")
    assert "'b'" in run("predict", "model.kr", "less.csv", code=1).err


@pytest.mark.parametrize("scale", [False, True])
def test_models_of_data_frames_find_their_columns_by_name(scale, run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["second", "first"])
    y = 2 * frame["second"] - frame["first"]
    model = (make_pipeline(StandardScaler(), kr.RankRLS()) if scale else kr.RankRLS()).fit(frame, y)
    kr.save(model, tmp_path / "model.kr")
    pd.DataFrame({"score": y, **frame[["first", "second"]]}).to_csv(tmp_path / "items.csv", index=False)
    ended = run("predict", "model.kr", "items.csv", "--json")
    assert ended.json["scores"] == pytest.approx(model.predict(frame), abs=1e-12)
    assert ended.err == ""
    explained = run("inspect", "model.kr", "--explain", 0, 1, "--data", "items.csv", "--json").json["explanation"]
    assert explained["scores"] == pytest.approx(model.predict(frame)[:2], abs=1e-12)
    top = explained["contributions"][0]
    assert (top["name"], top["values"]) == ("second", pytest.approx(list(frame["second"][:2]), abs=1e-9))
    assert {one["name"] for one in run("inspect", "model.kr", "--json").json["weights"]} == {"first", "second"}


def test_models_of_graphs_are_refused_by_name(run, ranking, tmp_path):
    corpus = make_corpus(8, random_state=0)
    kr.save(RelationExtractor(alphas=[1.0]).fit(corpus.candidates), tmp_path / "relations.kr")
    for words in (["inspect", "relations.kr"], ["predict", "relations.kr", "test.txt"]):
        message = "relations.kr: holds a RelationExtractor, which does not rank rows of numbers"
        assert message in run(*words, code=1).err


def test_what_was_said_of_columns_is_remembered(run, tmp_path):
    rows = [
        f"{name},{size},{'good' if size > 3 else 'bad'},{size}" for name, size in zip("abcdefg", range(7), strict=True)
    ]
    (tmp_path / "things.csv").write_text("thing,size,taste,label\n" + "\n".join(rows) + "\n")
    words = ["--target", "taste", "--id", "thing", "--features", "size", "--positive", "bad"]
    run("fit", "things.csv", *words)
    facts = run("evaluate", "model.kr", "things.csv", "-m", "auc", "--json").json
    assert facts["measures"][0]["mean"] == 1.0
    assert kr.load("model.kr").coef_ < 0
    run("convert", "things.csv", "things.letor", *words[:-2])
    turned = run("evaluate", "model.kr", "things.letor", "-m", "auc", "--json").json
    assert turned["measures"][0]["mean"] == 0.0  # numbers without names: good, which sorts last, is 1


def test_the_class_that_ranks_high_is_remembered(run, tmp_path):
    (tmp_path / "train.csv").write_text("outcome,left\nmild,1\nill,0\nmild,2\nill,1\n")
    (tmp_path / "test.csv").write_text("outcome,left\nmild,3\nwell,0\nmild,2\nwell,1\n")
    run("fit", "train.csv")
    words = ["evaluate", "model.kr", "test.csv", "-m", "auc", "--json"]
    assert run(*words).json["measures"][0]["mean"] == 1.0
    assert run(*words, "--positive", "well").json["measures"][0]["mean"] == 0.0
    (tmp_path / "other.csv").write_text("outcome,left\nsick,3\nwell,0\n")
    assert "no row has the positive class 'mild'" in run("evaluate", "model.kr", "other.csv", code=1).err


def test_standard_input_and_output(run, ranking):
    text = (ranking / "train.txt").read_bytes()
    run("fit", "-", "-o", "piped.kr", input=text)
    run("fit", "train.txt", "-o", "named.kr")
    piped, named = kr.load("piped.kr"), kr.load("named.kr")
    np.testing.assert_array_equal(piped.coef_, named.coef_)
    ended = run("predict", "named.kr", "-", input=(ranking / "test.txt").read_bytes())
    assert len(ended.out.splitlines()) == len(read_items(ranking / "test.txt"))


@pytest.mark.parametrize("format", ["scores", "trec", "csv", "parquet"])
def test_predictions_in_every_format(format, run, ranking):
    run("fit", "train.txt")
    run("predict", "model.kr", "test.txt", "--format", format, "-o", f"out.{format}")
    assert (ranking / f"out.{format}").stat().st_size > 0
    facts = run("predict", "model.kr", "test.txt", "--json").json
    assert len(facts["scores"]) == len(facts["ids"]) == facts["items"]


def test_tune_chooses_as_in_python(run, ranking):
    train = read_items(ranking / "train.txt")
    facts = run("tune", "train.txt", "-o", "m.kr", "--alphas", "0.1:1000:5", "-m", "ndcg@5", "--json").json
    expected = kr.RankRLSCV([0.1, 1, 10, 100, 1000], scoring="ndcg@5").fit(train.X, train.y, qid=train.qid)
    assert facts["best"]["alpha"] == expected.alpha_
    assert facts["best"]["score"] == expected.best_score_
    assert facts["held_out"] == "every query held out exactly"
    assert [one["score"] for one in facts["candidates"]] == expected.cv_results_["mean_test_score"].tolist()
    np.testing.assert_array_equal(kr.load("m.kr").coef_, expected.coef_)


def test_tune_keeps_groups_together(run, cohort):
    words = ["tune", cohort, "--target", "outcome", "--features", "age,a,b,c", "--alphas", "0.1,10", "--json"]
    items = read_items(cohort, target="outcome")
    facts = run(*words).json
    assert facts["held_out"] == "5 folds of groups held out exactly"
    folds = list(StratifiedGroupKFold(5).split(items.X, items.y, groups=items.groups))
    expected = kr.RankRLSCV([0.1, 10.0], cv=folds).fit(items.X, items.y)
    assert facts["best"]["score"] == expected.best_score_
    assert "kernelrank auc keeps groups together" in run(*words, "--report", "page.html").out
    for train, test in folds:
        assert not set(items.groups[train]) & set(items.groups[test])
    assert run(*words, "--groups", "").json["held_out"] == "every pair held out exactly"
    facts = run(*words, "--cv", 3).json
    folds = list(StratifiedGroupKFold(3).split(items.X, items.y, groups=items.groups))
    assert facts["held_out"] == "3 folds of groups held out exactly"
    assert facts["best"]["score"] == kr.RankRLSCV([0.1, 10.0], cv=folds).fit(items.X, items.y).best_score_
    assert any("ignores groups" in note for note in run(*words, "--cv", "leave_pair_out").json["notes"])


def test_least_squares_learn_named_classes_as_classes(run, cohort):
    words = [cohort, "--target", "outcome", "--features", "age,a,b,c", "--method", "rls", "--json", "-o", "model.kr"]
    items = read_items(cohort, target="outcome", features=["age", "a", "b", "c"])
    assert run("fit", *words).json["class"] == "RLSClassifier"
    expected = kr.RLSClassifier().fit(items.X, items.y).decision_function(items.X)
    np.testing.assert_array_equal(kr.load("model.kr").decision_function(items.X), expected)
    scores = run("predict", "model.kr", cohort, "--json").json["scores"]
    np.testing.assert_allclose(scores, expected)
    found = run("tune", *words, "--alphas", "0.1,10,1000", "--cv", "leave_one_out").json
    search = kr.RLSClassifierCV([0.1, 10.0, 1000.0], cv="leave_one_out", random_state=0).fit(items.X, items.y)
    assert found["measure"] == "wrong classes, negative"
    assert [one["score"] for one in found["candidates"]] == search.cv_results_["mean_test_score"].tolist()


def test_ranksvm_keeps_groups_together(run, cohort):
    words = ["tune", cohort, "--target", "outcome", "--method", "ranksvm", "--alphas", "10", "--cv", 3, "--json"]
    items = read_items(cohort, target="outcome")
    facts = run(*words).json
    assert facts["held_out"] == "3 folds of groups, refitted"
    values = []
    for train, test in StratifiedGroupKFold(3).split(items.X, items.y, groups=items.groups):
        model = kr.RankSVM(10.0, random_state=0).fit(items.X[train], items.y[train])
        values.append(kr.metrics.pairwise_accuracy(items.y[test], model.predict(items.X[test])))
    assert facts["best"]["score"] == pytest.approx(np.mean(values), abs=1e-12)
    apart = run(*words, "--groups", "", "--features", "!patient").json
    assert apart["held_out"] == "3 folds of items, refitted"


def test_tune_writes_its_report(run, ranking):
    ended = run(
        "tune", "train.txt", "--kernels", "linear,rbf", "--gammas", "0.01,0.1", "--report", "page.html", "--scale"
    )
    assert "The best of 63, every query held out exactly" in ended.out
    assert "--output saves it" in ended.out
    assert "kernelrank tune train.txt" in (ranking / "page.html").read_text(encoding="utf-8")


def test_the_page_says_that_columns_were_scaled(run, ranking):
    for options, told in (((), False), (("--scale",), True)):
        run("tune", "train.txt", "--alphas", "1,10", "--report", "page.html", *options)
        assert ("values are those of scaled columns" in (ranking / "page.html").read_text()) == told


def test_tune_refits_folds_for_ranksvm(run, ranking):
    train = read_items(ranking / "train.txt")
    facts = run("tune", "train.txt", "--method", "ranksvm", "--alphas", "1,10", "--cv", "3", "--json").json
    sets = [held for _, held in kr.QueryKFold(3).split(train.X, groups=train.qid)]
    held = kr.holdout(kr.RankSVM(), train.X, train.y, sets, qid=train.qid, alphas=[1.0, 10.0])
    order = np.concatenate(sets)
    for place, one in enumerate(facts["candidates"]):
        scores = np.concatenate([part[:, place] for part in held])
        assert one["score"] == kr.metrics.pairwise_accuracy(train.y[order], scores, qid=train.qid[order])
    assert (
        "give a number of folds"
        in run("tune", "train.txt", "--method", "ranksvm", "--cv", "leave_pair_out", code=1).err
    )


@pytest.fixture
def folds(tmp_path):
    for fold in (1, 2):
        folder = tmp_path / "data" / f"Fold{fold}"
        folder.mkdir(parents=True)
        for number, part in enumerate(("train", "vali", "test")):
            X, y, qid = kr.make_ranking(n_queries=8, n_features=4, n_levels=3, random_state=10 * fold + number)
            write_ranking(folder / f"{part}.txt", X, y, qid=qid)
    return tmp_path / "data"


def test_folds_are_tuned_on_vali_and_measured_on_test(run, folds):
    facts = run("tune", folds, "--alphas", "0.1,10,1000", "-m", "ndcg@5", "--json").json
    measure, tested = kr.metrics.NDCG(5), []
    for found in facts["folds"]:
        train, vali, test = (read_items(folds / found["fold"] / f"{part}.txt") for part in ("train", "vali", "test"))
        models = kr.RankRLS().fit_path(train.X, train.y, [0.1, 10.0, 1000.0], qid=train.qid)
        values = [measure(vali.y, model.predict(vali.X), qid=vali.qid).mean for model in models]
        assert found["score"] == max(values)
        best = models[int(np.argmax(values))]
        tested.append(measure(test.y, best.predict(test.X), qid=test.qid).mean)
        assert found["test"] == pytest.approx(tested[-1], abs=1e-12)
    assert facts["mean"] == pytest.approx(np.mean(tested), abs=1e-12)
    assert "Mean over the test sets of 2 folds" in run("tune", folds, "--alphas", "1,10").out
    assert any("queries with the same name" in note for note in facts["notes"])
    run("tune", folds / "Fold1", "--alphas", "1,10", "-o", "one.kr")
    run("evaluate", "one.kr", folds / "Fold1")
    assert "too optimistic for new items" in run("evaluate", "one.kr", folds / "Fold1" / "train.txt").err
    assert "give one fold to save" in run("tune", folds, "-o", "all.kr", code=1).err


@pytest.mark.parametrize("method", ["rankrls", "ranksvm"])
def test_the_report_of_a_fold_shows_the_scores_on_vali(run, folds, tmp_path, method):
    words = ["--alphas", "0.1,10,1000", "-m", "ndcg@5", "--method", method, "--report", "fold.html", "--json"]
    facts = run("tune", folds / "Fold1", *words).json
    page = " ".join((tmp_path / "fold.html").read_text(encoding="utf-8").split())
    assert "as given" not in page
    assert "of 3 tried" in page
    assert "was chosen among 3 values on vali.txt" in page
    assert "nDCG@5 on vali.txt" in page
    for one in facts["candidates"]:
        assert f"{one['score']:.4g}" in page
    (folds / "Fold1" / "vali.txt").unlink()
    run("tune", folds / "Fold1", *words)
    page = " ".join((tmp_path / "fold.html").read_text(encoding="utf-8").split())
    assert "as given" not in page
    assert ("by leave-query-out" if method == "rankrls" else "by 5 folds of queries, refitted") in page


@pytest.mark.parametrize("options", [[], ["--method", "ranksvm", "--cv", 2]], ids=["exact", "folds"])
@pytest.mark.parametrize("where", ["fold", "file"])
def test_an_error_is_to_be_low(run, folds, options, where):
    data = folds / "Fold1" if where == "fold" else folds / "Fold1" / "train.txt"
    right = run("tune", data, "--alphas", "0.1,1e6", "-m", "pairwise_accuracy", *options, "--json").json
    wrong = run("tune", data, "--alphas", "0.1,1e6", "-m", "disagreement", *options, "--json").json
    assert wrong["best"]["alpha"] == right["best"]["alpha"]
    assert wrong["best"]["score"] == pytest.approx(right["best"]["score"] - 1)
    assert wrong["measure"] == "disagreement, negative"


def test_the_test_queries_of_all_folds_are_measured_together(run, folds):
    facts = run("tune", folds, "--alphas", "10", "-m", "ndcg@5", "--json").json
    truth, scores, queries = [], [], []
    for name in ("Fold1", "Fold2"):
        train, test = (read_items(folds / name / f"{part}.txt") for part in ("train", "test"))
        model = kr.RankRLS(10.0).fit(train.X, train.y, qid=train.qid)
        truth += test.y.tolist()
        scores += model.predict(test.X).tolist()
        queries += [(name, query) for query in test.qid.tolist()]
    names = ["ndcg@5", "pairwise_accuracy", "ndcg@10", "map"]
    for found, measure in zip(facts["test_measures"], map(kr.metrics.get_measure, names), strict=True):
        expected = measure(truth, scores, qid=[queries.index(query) for query in queries])
        assert found["measure"] == measure.name
        assert found["mean"] == pytest.approx(expected.mean, abs=1e-12)
        interval = expected.interval(random_state=0)
        assert [found["low"], found["high"]] == pytest.approx([interval.low, interval.high], abs=1e-12)
        assert found["queries"] + found["left_out"] == 16
    one = run("tune", folds / "Fold2", "--alphas", "10", "-m", "ndcg@5", "-o", "one.kr", "--json").json["test_measures"]
    assert one[1:] == run("evaluate", "one.kr", folds / "Fold2", "--json").json["measures"]


@pytest.mark.parametrize("part", ["vali", "test"])
def test_a_file_of_a_fold_that_cannot_be_measured_is_named(part, run, folds):
    file = folds / "Fold2" / f"{part}.txt"
    file.write_text("1 qid:1 1:1\n1 qid:1 1:2\n")
    told = run("tune", folds, "--alphas", "1,10", code=1).err
    assert told == f"kernelrank: {file}: pairwise accuracy cannot be measured: all true scores are tied\n"


def test_folds_are_known_by_all_names_and_sorted_by_number(run, folds):
    expected = run("tune", folds, "--alphas", "1,10", "--json").json["folds"]
    (folds / "Fold2").rename(folds / "Fold10")
    (folds / "Fold1").rename(folds / "Fold9")
    for name in ("train", "vali", "test"):
        file = folds / "Fold10" / f"{name}.txt"
        (folds / "Fold10" / f"{name}.txt.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    for name, other in (("train", "trainingset"), ("vali", "validationset"), ("test", "testset")):
        (folds / "Fold9" / f"{name}.txt").rename(folds / "Fold9" / f"{other}.txt")
    found = run("tune", folds, "--alphas", "1,10", "--json").json["folds"]
    assert [one["fold"] for one in found] == ["Fold9", "Fold10"]
    for field in ("alpha", "score", "test"):
        assert [one[field] for one in found] == [one[field] for one in expected]
    run("fit", folds / "Fold10")
    run("evaluate", "model.kr", folds / "Fold9")
    assert "data: a folder of 2 folds; give one of them, such as" in run("fit", "data", code=1).err


@pytest.mark.parametrize("kernels", ["rbf,linear", "linear,rbf"])
def test_tune_shows_the_parameters_of_every_kernel(run, ranking, folds, kernels):
    options = ("--kernels", kernels, "--gammas", "0.01,0.1", "--alphas", "1,10")
    for data in ("train.txt", folds):
        lines = run("tune", data, *options).out.splitlines()
        header = next(line.split() for line in lines if "alpha  " in line and "kernel  " in line)
        assert header.index("kernel") < header.index("gamma") < header.index("alpha")


def test_auc_is_nested_unless_alpha_is_given(run, cohort):
    words = ["auc", cohort, "--target", "outcome", "--features", "a,b,c", "--alphas", "0.1,10"]
    few = ["--permutations", "50", "--cv", "leave_pair_out", "--no-roc", "--groups", "", "--json"]
    items = read_items(cohort, target="outcome", query="", features=["a", "b", "c"])
    facts = run(*words, *few).json
    expected = kr.estimate_auc(kr.RankRLSCV([0.1, 10.0], random_state=0), items.X, items.y)
    assert facts["auc"] == expected.auc
    assert (facts["low"], facts["high"]) == tuple(expected.interval)
    assert facts["alpha_chosen_inside"]
    assert facts["positive_class"] == "well"
    test = kr.permutation_test(kr.RankRLS(), items.X, items.y, n_permutations=50, random_state=0, alphas=[0.1, 10.0])
    assert facts["pvalue"] == test.pvalue
    fixed = run(*words, *few, "--alpha", "10").json
    assert fixed["auc"] == kr.estimate_auc(kr.RankRLS(10.0), items.X, items.y).auc


def test_the_page_tells_the_accuracy_of_the_permutations_from_the_auc(run, cohort, tmp_path):
    words = ["auc", cohort, "--target", "outcome", "--features", "a,b", "--permutations", 9, "--report", "auc.html"]
    told = "It is the highest over all alphas, of the observed classes and of each permutation alike."
    run(*words, "--alphas", "1,10", "--groups", "", "--no-roc")
    assert told in (tmp_path / "auc.html").read_text()
    run(*words, "--alpha", 10)
    assert told not in (tmp_path / "auc.html").read_text()


def test_queries_are_no_feature_of_a_cohort(run, cohort, tmp_path):
    words = ["--target", "outcome", "--alpha", 1, "--permutations", 0, "--no-roc", "--json"]
    expected = run("auc", cohort, *words).json
    header, *lines = cohort.read_text().splitlines()
    rows = [f"{header},qid", *(f"{line},{number // 7}" for number, line in enumerate(lines))]
    (tmp_path / "asked.csv").write_text("\n".join(rows) + "\n")
    found = run("auc", "asked.csv", *words).json
    assert any("queries are ignored" in note for note in found["notes"])
    assert not any("queries are ignored" in note for note in expected["notes"])
    assert (found["auc"], found["low"]) == (expected["auc"], expected["low"])


def test_classes_are_called_as_in_the_file(run, cohort):
    cohort.write_text(cohort.read_text().replace("ill", "2").replace("well", "1"))
    words = ["auc", cohort, "--target", "outcome", "--features", "a,b", "--alpha", 1, "--permutations", 0, "--no-roc"]
    assert "2: 10 of 20 items" in run(*words).out
    assert run(*words, "--json").json["positive_class"] == 2


def test_auc_with_groups_a_positive_class_and_a_report(run, cohort, tmp_path):
    words = [
        "auc",
        cohort,
        "--target",
        "outcome",
        "--groups",
        "patient",
        "--positive",
        "ill",
        "--alpha",
        "1",
        "--scale",
    ]
    ended = run(*words, "--permutations", "30", "--report", "auc.html")
    assert re.search(r"sensitivity at 95% specificity +0\.\d{3} \(0\.\d{3} to [01]\.\d{3}\)", ended.out)
    assert "false alarms" not in ended.out
    assert "ill: 10 of 20 items" in ended.out
    assert "columns were scaled once, on all items" in ended.err
    assert "<svg" in (tmp_path / "auc.html").read_text(encoding="utf-8")


def test_auc_needs_two_classes(run, ranking):
    assert "an AUC needs two classes, and the target has 3 values (0, 1, 2)" in run("auc", "train.txt", code=1).err


def test_inspect_says_what_is_inside(run, cohort):
    run("fit", cohort, "--target", "outcome", "--query", "", "--features", "age,a,b,c")
    facts = run("inspect", "model.kr", "--json").json
    assert facts["provenance"]["feature_names"] == ["age", "a", "b", "c"]
    assert facts["provenance"]["command"].startswith("kernelrank fit ")
    model = kr.load("model.kr")
    assert facts["weights"][0]["weight"] == max(model.coef_, key=abs)
    assert "age" in run("inspect", "model.kr").out


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("scale", [[], ["--scale"]], ids=["plain", "scaled"])
def test_inspect_explains_a_pair(kernel, scale, run, cohort):
    run("fit", cohort, "--target", "outcome", "--query", "", "--features", "age,a,b,c", "--kernel", kernel, *scale)
    facts = run("inspect", "model.kr", "--explain", "s2", "s0", "--data", cohort, "--json").json
    items = read_items(cohort, target="outcome", query="", features=["age", "a", "b", "c"])
    scores = kr.load("model.kr").predict(items.X)
    explained = facts["explanation"]
    assert explained["difference"] == pytest.approx(scores[2] - scores[0], rel=1e-9)
    total = sum(term["contribution"] for term in explained["contributions"]) + explained["rest"]
    assert total == pytest.approx(scores[2] - scores[0], rel=1e-9)
    ended = run("inspect", "model.kr", "--explain", "s2", "0", "--data", cohort)
    assert "s2" in ended.out
    assert (
        "no item of that name, and no row 'nobody'"
        in run("inspect", "model.kr", "--explain", "s2", "nobody", "--data", cohort, code=1).err
    )
    assert "go together" in run("inspect", "model.kr", "--data", cohort, code=1).err


def test_a_folder_of_parquet_files_is_a_file(run, ranking):
    items = read_items(ranking / "train.txt")
    (ranking / "parts").mkdir()
    for number, half in enumerate((slice(0, 20), slice(20, None))):
        part = {"score": items.y[half], "query": items.qid[half], "id": items.ids[half]}
        columns = {f"f{place + 1}": items.X[half, place] for place in range(items.n_features)}
        pq.write_table(pa.table({**part, **columns}), ranking / "parts" / f"{number}.parquet")
    run("fit", "train.txt", "-o", "one.kr")
    run("fit", "parts", "-o", "other.kr")
    assert (kr.load(ranking / "one.kr").coef_ == kr.load(ranking / "other.kr").coef_).all()
    numbers = [run("evaluate", model, "parts", "--json").json["measures"] for model in ("one.kr", "other.kr")]
    assert numbers[0] == numbers[1]
    expected = run("tune", "train.txt", "--alphas", "1,10", "--json").json["best"]
    assert run("tune", "parts", "--alphas", "1,10", "--json").json["best"] == expected
    assert run("predict", "one.kr", "parts").out == run("predict", "one.kr", "train.txt").out


def test_convert_says_what_it_leaves_out(run, cohort):
    words = ["convert", cohort, "all.txt", "--target", "outcome", "--groups", "patient", "--positive", "ill"]
    told = run(*words)
    assert "note: all.txt: the groups were left out: SVMlight has no place for them" in told.err
    assert "the names of the features were left out" in told.err
    expected = read_items(cohort, target="outcome", groups="patient", pos_label="ill")
    assert read_items(cohort.parent / "all.txt").y.tolist() == expected.y.tolist()


def test_convert_there_and_back(run, ranking):
    original = read_items(ranking / "train.txt")
    run("convert", "train.txt", "a.parquet")
    run("convert", "a.parquet", "b.csv.gz")
    run("convert", "b.csv.gz", "c.tsv")
    run("convert", "c.tsv", "d.letor")
    back = read_items(ranking / "d.letor")
    np.testing.assert_array_equal(np.asarray(back.X), np.asarray(original.X))
    np.testing.assert_array_equal(back.y, original.y)
    np.testing.assert_array_equal(back.qid, original.qid)
    np.testing.assert_array_equal(back.ids, original.ids)


@pytest.mark.parametrize("text", ["", "a", "1:", "3:1", "1:2:3:4", "-1:2", "1:2:1", "2^99999", "1e400"])
def test_grids_that_are_none(text):
    with pytest.raises(InvalidInputError, match=r"--alphas: .* is not a list or range of numbers"):
        read_grid(text, "--alphas")


def test_columns_are_numbered_as_in_the_file(run, tmp_path):
    for first, name in ((1, "f2"), (0, "f1")):
        lines = (f"{y} qid:1 {first}:0 {first + 1}:{y}.5 {first + 2}:0\n" for y in range(6))
        (tmp_path / "train.txt").write_text("".join(lines))
        run("fit", "train.txt", "-o", "model.kr")
        found = run("inspect", "model.kr", "--top", "1", "--json").json
        assert [one["name"] for one in found["weights"]] == [name]


def test_tune_chooses_by_held_out_preferences(run, tmp_path):
    X, pairs = kr.make_preferences(n_items=20, n_features=3, n_pairs=80, random_state=0)
    rows = [f"item {number},{','.join(map(repr, row))}" for number, row in enumerate(X.tolist())]
    (tmp_path / "items.csv").write_text("\n".join(["id,a,b,c", *rows]))
    judges = [f"judge {number % 4}" for number in range(80)]
    votes = [f"item {a},item {b},{judge}" for (a, b), judge in zip(pairs, judges, strict=True)]
    (tmp_path / "votes.csv").write_text("\n".join(["winner,loser,judge", *votes]))
    told = run("tune", "items.csv", "--pairs", "votes.csv", "--alphas", "0.1,1,10,100", "-o", "m.kr", "--json").json
    expected = kr.RankRLSCV([0.1, 1.0, 10.0, 100.0]).fit_pairs(X, pairs, groups=judges)
    assert told["held_out"] == "every judge held out"
    assert told["best"]["alpha"] == expected.alpha_
    assert told["agreement"]["value"] == pytest.approx(expected.best_score_)
    assert told["agreement"]["low"] < told["agreement"]["value"] < told["agreement"]["high"]
    np.testing.assert_allclose(kr.load(tmp_path / "m.kr").coef_, expected.coef_)
    likely = ("--pairs", "votes.csv", "--method", "bradley_terry")
    told = run("tune", "items.csv", *likely, "--alphas", "0.1,1,10", "-o", "b.kr", "--json").json
    losses = kr.leave_preferences_out(kr.BradleyTerry(), X, pairs, groups=judges, alphas=[0.1, 1.0, 10.0]).log_loss
    assert told["held_out"] == "every judge held out, refitted"
    assert told["best"]["alpha"] == [0.1, 1.0, 10.0][int(np.argmin(losses))]
    assert told["log_loss"] == pytest.approx(min(losses))
    chosen = kr.BradleyTerry(told["best"]["alpha"]).fit_pairs(X, pairs)
    np.testing.assert_allclose(kr.load(tmp_path / "b.kr").coef_, chosen.coef_)
    run("fit", "items.csv", *likely[:-1], "bradleyterry", "--alpha", "1", "-o", "c.kr")  # as it was spelt in 0.1
    np.testing.assert_allclose(kr.load(tmp_path / "c.kr").coef_, kr.BradleyTerry(1.0).fit_pairs(X, pairs).coef_)
    (tmp_path / "votes.csv").write_text("\n".join(vote.rsplit(",", 1)[0] for vote in ["winner,loser,judge", *votes]))
    assert "10 folds of preferences" in run("tune", "items.csv", *likely).out
    (tmp_path / "votes.csv").write_text("winner,loser\nitem 1,item 22\n")
    assert "item 2" in run("tune", "items.csv", "--pairs", "votes.csv", code=1).err
    ended = run("tune", "items.csv", "--pairs", "votes.csv", "--nested", code=1)
    assert "remove --cv" in ended.err


def test_one_query_cannot_be_held_out(run, tmp_path):
    (tmp_path / "one.txt").write_text("2 qid:1 1:3\n1 qid:1 1:2\n0 qid:1 1:1\n")
    ended = run("tune", "one.txt", code=1)
    assert ended.err.startswith("kernelrank: one.txt: Expected at least two queries to hold out one at a time; got 1.")
    assert "--cv leave_pair_out" in ended.err
    assert run("tune", "one.txt", "--cv", "leave_pair_out", "--json").json["held_out"]


@pytest.mark.filterwarnings("ignore:the best alpha")
def test_a_basis_is_drawn_apart_from_the_folds(run, tmp_path):
    # With the seed of the command, a basis of the size of a fold was that fold.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)).round(3)
    y = (X[:, 0] + rng.standard_normal(300)).round(3)
    rows = [",".join(map(str, (*x, score))) for x, score in zip(X.tolist(), y.tolist(), strict=True)]
    (tmp_path / "items.csv").write_text("\n".join(["a,b,c,score", *rows]) + "\n")
    words = ["tune", "items.csv", "--target", "score", "--cv", "5", "--alphas", "0.1,1"]
    found = run(*words, "--kernels", "rbf", "--basis", "60", "-o", "model.kr", "--json").json
    assert found["best"]["score"] > 0.6
    model = kr.load(tmp_path / "model.kr")
    shuffled = np.sort(np.random.RandomState(0).permutation(300)[:60])
    assert len(np.intersect1d(model.basis_, shuffled)) < 30


def test_levels(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3)).round(3)
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(120), [-0.5, 0.5]) + 1
    for name, part in (("train.csv", slice(80)), ("test.csv", slice(80, None))):
        pd.DataFrame(X[part], columns=list("abc")).assign(stars=y[part]).to_csv(tmp_path / name, index=False)
    fitted = run("fit", "train.csv", "--target", "stars", "--levels", "--scale", "--json").json
    expected = kr.OrdinalRanker(kr.RankRLS(random_state=0)).fit(StandardScaler().fit_transform(X[:80]), y[:80])
    assert fitted["levels"] == [1, 2, 3]
    np.testing.assert_allclose(fitted["thresholds"], expected.thresholds_)
    assert fitted["class"] == "RankRLS"
    assert "1 up to" in run("fit", "train.csv", "--target", "stars", "--levels", "--scale").out
    assert run("inspect", "model.kr", "--json").json["thresholds"] == fitted["thresholds"]
    assert "1 up to" in run("inspect", "model.kr").out
    levels = kr.load("model.kr").predict(X[80:])
    assert [float(line) for line in run("predict", "model.kr", "test.csv").out.split()] == levels.tolist()
    found = run("evaluate", "model.kr", "test.csv", "--json").json["measures"]
    by_name = {one["measure"]: one["mean"] for one in found}
    assert by_name["level error"] == pytest.approx(np.abs(levels - y[80:]).mean())
    scores = kr.load("model.kr").decision_function(X[80:])
    assert by_name["chain accuracy"] == pytest.approx(metrics.chain_accuracy(y[80:], scores))
    assert by_name["pairwise accuracy"] == pytest.approx(metrics.pairwise_accuracy(y[80:], scores))
    run("fit", "train.csv", "--target", "stars", "-o", "plain.kr")
    ended = run("evaluate", "plain.kr", "test.csv", "-m", "qwk", code=1)
    assert "quadratic weighted kappa measures levels, and plain.kr predicts scores: fit with --levels" in ended.err
    assert "--levels needs a column of levels" in run("fit", "train.csv", "--pairs", "x", "--levels", code=1).err
    (tmp_path / "names.csv").write_text("a,grade\n1,good\n2,bad\n3,good\n")
    assert "the order of named classes is not known" in run("fit", "names.csv", "--levels", code=1).err

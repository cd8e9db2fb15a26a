"""The report of a ranker: its numbers are those of the library, and it says what was done."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV

import kernelrank as kr
from kernelrank.data import make_ranking
from kernelrank.errors import EdgeOfGridWarning, InvalidInputError, NotConverged
from kernelrank.estimators import RLS, CoRankRLS, RankRLS, RankSVM, RLSClassifier
from kernelrank.metrics import AUC, NDCG, MeanAveragePrecision, PairwiseAccuracy
from kernelrank.model_selection import RLSCV, RankRLSCV
from kernelrank.report import folds_report, ranking_report
from kernelrank.report.displays import query_standard_errors
from tests.report.html_page import HTMLPage
from tests.report.pages import large_run, page

X, y, QID = make_ranking(n_queries=12, n_items=6, n_features=4, n_levels=3, noise=0.5, random_state=0)


def text_of(report):
    return HTMLPage(report.html).all("body")[0].text


def section(read, name):
    """The text of a section, found by its heading."""
    for found in read.all("section"):
        if found.attributes["aria-labelledby"] == name:
            return found.text
    return None


def test_numbers_are_those_of_the_library():
    model, _, truth, qid = large_run()
    read = HTMLPage(page("large").html)
    shown = section(read, "measures")
    for measure in (NDCG(k=10), MeanAveragePrecision(), PairwiseAccuracy()):
        result = measure(truth, model.holdout_scores_, qid=qid)
        interval = result.interval(random_state=0)
        assert f"{measure.name} {result.mean:.3f} {interval.low:.3f} to {interval.high:.3f} {len(result)}" in shown
        assert ", ".join(measure.rules) in shown
    result = NDCG(k=10)(truth, model.holdout_scores_, qid=qid)
    worst = section(read, "queries")
    for place in np.argsort(result.values, kind="stable")[:10]:
        assert f"{result.queries[place]} {result.values[place]:.3f}" in worst
    curve = section(read, "curve")
    for alpha, score in zip(model.cv_results_["param_alpha"], model.cv_results_["mean_test_score"], strict=True):
        shown = f"{alpha:,.0f}" if alpha >= 1000 else f"{alpha:.4g}"  # 1,024 and 65,536
        assert f"{shown} {score:.4g}" in curve
    assert f"{model.alpha_:.4g} {model.best_score_:.4g} (chosen)" in curve
    weights = section(read, "influence")
    largest = int(np.argmax(np.abs(model.coef_) * large_run()[1].std(axis=0)))
    assert weights.index(f"feature number {largest} ") == weights.index("feature number")
    assert "kernelrank tune train.txt" in section(read, "repeat")
    assert f"numpy {np.__version__}" in section(read, "repeat")


def test_every_section_is_there():
    names = [found.attributes["aria-labelledby"] for found in HTMLPage(page("large").html).all("section")]
    assert names == ["done", "data", "curve", "measures", "queries", "influence", "pair", "warnings", "repeat"]
    names = [found.attributes["aria-labelledby"] for found in HTMLPage(page("test set").html).all("section")]
    assert names == ["done", "data", "measures", "queries", "roc", "influence", "pair", "warnings", "repeat"]


def test_what_was_left_out_is_said():
    qid = np.append(QID, ["alone", "tied", "tied"])
    model = RankRLS().fit(np.vstack([X, X[:3]]), np.append(y, [1, 2, 2]), qid=qid)
    text = text_of(ranking_report(model, np.vstack([X, X[:3]]), np.append(y, [1, 2, 2]), qid=qid))
    assert "left out: queries of one item 1" in text
    assert "left out: queries of one level 1" in text
    assert "2 queries of the training set have nothing to compare: those named alone, tied." in text
    one = text_of(ranking_report(model, np.vstack([X, X[:1]]), np.append(y, 1), qid=np.append(QID, "800")))
    assert "1 query of the training set has nothing to compare: the one named 800." in one


def test_a_test_set_is_what_is_measured():
    train = np.isin(QID, np.unique(QID)[:8])
    model = RankRLS(10.0).fit(X[train], y[train], qid=QID[train])
    test = (X[~train], y[~train], QID[~train], [f"document {n}" for n in range((~train).sum())])
    read = HTMLPage(ranking_report(model, X[train], y[train], qid=QID[train], test=test, measures=["ndcg@3"]).html)
    result = NDCG(k=3)(y[~train], model.predict(X[~train]), qid=QID[~train])
    assert f"nDCG@3 {result.mean:.3f}" in section(read, "measures")
    assert "a test set that training has not seen" in section(read, "done")
    assert "document" in section(read, "pair")
    assert "trained on both items" not in section(read, "pair")
    assert "Only 4 queries can be measured" in section(read, "warnings")


def test_importances_are_those_of_the_library_and_only_of_a_cheap_test_set(monkeypatch):
    model = RankRLS(10.0).fit(X[:48], y[:48], qid=QID[:48])
    test, names = (X[48:], y[48:], QID[48:], None), ["age", "size", "price", "year"]
    options = {"qid": QID[:48], "feature_names": names}
    report = ranking_report(model, X[:48], y[:48], test=test, **options)
    found = kr.permutation_importance(
        model, X[48:], y[48:], QID[48:], scoring="ndcg@10", feature_names=names, random_state=0
    )
    best = found.order[0]
    assert f"{names[best]}, with a fall of {found.importances[best]:.2g}" in report.html
    assert "when a feature is permuted within each query" in section(HTMLPage(report.html), "importance")
    assert section(HTMLPage(ranking_report(model, X[:48], y[:48], **options).html), "importance") is None
    monkeypatch.setattr(sys.modules[ranking_report.__module__], "CHEAP", 10)
    assert section(HTMLPage(ranking_report(model, X[:48], y[:48], test=test, **options).html), "importance") is None


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RankRLSCV([1.0, 10.0, 100.0], cv=4), "chosen among 3 values by 4 folds"),
        (RLSCV([1.0, 10.0, 100.0]), "score (minus the mean squared error)"),
        (RankRLSCV([1.0, 10.0], kernel="rbf", kernel_grid={"gamma": [0.1, 0.3]}), "Kernel parameters were chosen"),
        (RankSVM(kernel="rbf", basis=10, random_state=0), "5 folds of queries"),
        (RankRLS(kernel=lambda a, b: float(a @ b)), "with the <lambda> kernel"),
        (RLS(), "leave-query-out, exact"),
    ],
    ids=["folds", "regression", "grid", "svm", "function", "rls"],
)
@pytest.mark.filterwarnings("ignore:the best alpha")
def test_what_was_done(model, words):
    assert words in text_of(ranking_report(model.fit(X, y, qid=QID), X, y, qid=QID))


def test_edge_of_the_grid_is_a_warning():
    with pytest.warns(EdgeOfGridWarning):
        model = RankRLSCV([1.0, 10.0, 100.0]).fit(X, y, qid=QID)
    read = HTMLPage(ranking_report(model, X, y, qid=QID).html)
    assert "is the largest that was tried: try larger ones" in section(read, "warnings")
    assert "Alpha was chosen by the same held-out items" in section(read, "warnings")


def test_a_solver_that_stopped_early_is_a_warning():
    with pytest.warns(NotConverged):
        model = RankSVM(1e-3, tol=1e-9, max_iter=1).fit(X, y, qid=QID)
    held = np.zeros(len(y))
    read = HTMLPage(ranking_report(model, X, y, qid=QID, held_out=held, measures=["pairwise_accuracy"]).html)
    assert "stopped before it reached its tolerance" in section(read, "warnings")
    assert "the model does not order the items" in section(read, "warnings")


def test_a_measure_that_does_not_fit_stops_nothing():
    read = HTMLPage(ranking_report(RankRLS().fit(X, y - 5, qid=QID), X, y - 5, qid=QID).html)
    assert "nDCG@10 is missing: nDCG@10 needs grades of at least 0" in section(read, "warnings")
    assert "pairwise accuracy 0." in section(read, "measures")


def test_missing_scores():
    holes = y.astype(float)
    holes[::7] = np.nan
    model = RankRLS(missing="ignore").fit(X, holes, qid=QID)
    text = text_of(ranking_report(model, X, holes, qid=QID))
    assert f"left out: items without a score {len(holes[::7])}" in text
    assert f"{len(holes[::7])} items in the training set have no score" in text


def test_frames_sparse_matrices_and_searches():
    frame = pd.DataFrame(X, columns=["length", "age", "links", "title"])
    assert "links" in text_of(ranking_report(RankRLS().fit(frame, y, qid=QID), frame, y, qid=pd.Series(QID)))
    thin = sparse.csr_array(np.where(X > 0, X, 0.0))
    assert "The largest weights" in text_of(ranking_report(RankRLS().fit(thin, y, qid=QID), thin, y, qid=QID))
    grid = GridSearchCV(RLS(), {"alpha": [0.1, 1.0, 10.0]}, cv=3).fit(X, y)
    text = text_of(ranking_report(grid, X, y, measures=["pairwise_accuracy"]))
    assert "Alpha, the regularisation strength, was chosen among 3 values by 3 folds" in text


def test_columns_are_read_by_place():
    turned = range(len(y))[::-1]
    frame = pd.DataFrame(X, index=turned)
    ids = pd.Series([f"document {number}" for number in range(len(y))], index=turned)
    held = np.where(np.arange(len(y)) % 6 == 0, np.nan, X[:, 0])
    model = RankRLS(kernel="rbf").fit(frame.to_numpy(), y, qid=QID)
    report = ranking_report(
        model, frame, pd.Series(y, index=turned), qid=pd.Series(QID, index=turned), ids=ids, held_out=held
    )
    plain = ranking_report(model, X, y, qid=QID, ids=list(ids), held_out=held)
    assert report.html == plain.html


def test_a_model_that_cannot_be_taken_apart():
    model = CoRankRLS(views=[{"columns": [0, 1]}, {"columns": [2, 3]}], random_state=0).fit(
        X[:48], y[:48], qid=QID[:48], X_unscored=X[48:], qid_unscored=QID[48:]
    )
    read = HTMLPage(ranking_report(model, X[:48], y[:48], qid=QID[:48], test=(X[48:], y[48:], QID[48:], None)).html)
    result = NDCG(k=10)(y[48:], model.predict(X[48:]), qid=QID[48:])
    assert f"nDCG@10 {result.mean:.3f}" in section(read, "measures")
    assert section(read, "influence") is section(read, "pair") is None
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    read = HTMLPage(ranking_report(forest, X, y, qid=QID).html)
    assert "RandomForestRegressor was trained on 72 items" in section(read, "done")


def test_two_classes_by_name():
    labels = np.where(y > 0, "relevant", "irrelevant")
    model = RLSClassifier().fit(X, labels)
    read = HTMLPage(ranking_report(model, X, labels, qid=QID).html)
    assert section(read, "roc")
    assert "score levels 2, from 0 to 1" in section(read, "data")


def test_many_queries_are_a_line():
    items, scores, qid = make_ranking(n_queries=600, n_items=3, n_features=3, n_levels=3, random_state=0)
    report = ranking_report(RankRLS().fit(items, scores, qid=qid), items, scores, qid=qid)
    assert len(report.html.encode()) < 100_000
    assert "A line through each query" in report.html


def test_the_auc_of_one_ranking_has_an_interval():
    classes = (y > 1).astype(float)
    model = RankRLS().fit(X[:40], classes[:40])
    test = (X[40:], classes[40:], None, None)
    report = ranking_report(model, X[:40], classes[:40], test=test, measures=["auc", "pairwise_accuracy"])
    interval = AUC()(classes[40:], model.predict(X[40:])).interval()
    shown = section(HTMLPage(report.html), "measures")
    assert f"{interval.low:.3f} to {interval.high:.3f}" in shown
    assert f"AUC: 95% interval from {interval.method};" in shown.replace("’", "'")
    assert "resampled" not in shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ids": ["a"]}, "ids has 1 entries, but there are 72 items"),
        ({"test": (X, y)}, "test must be a tuple of four"),
        ({"test": (X, y, QID, ["a"])}, "ids of test have 1 entries"),
        ({"y": np.column_stack([y, y])}, "expected one output; y has 2"),
        ({"measures": ["ndgc"]}, "unknown measure 'ndgc'"),
        ({"feature_names": ["a"]}, "feature_names has 1 entries"),
    ],
)
def test_refused(change, message):
    arguments = {"model": RankRLS().fit(X, y, qid=QID), "X": X, "y": y, "qid": QID, **change}
    with pytest.raises(InvalidInputError, match=message):
        ranking_report(**arguments)


def test_the_model_stands_beside_the_best_feature_and_the_random_order():
    X, y, qid = kr.make_ranking(n_queries=20, n_features=3, n_levels=4, noise=1.0, random_state=0)
    model = kr.RankRLSCV([1.0, 100.0]).fit(X, y, qid=qid)
    html = ranking_report(model, X, y, qid=qid, measures=["pairwise_accuracy"], feature_names=list("abc")).html
    accuracy = kr.metrics.PairwiseAccuracy()
    best = max(accuracy(y, sign * X[:, j], qid=qid).mean for j in range(3) for sign in (1, -1))
    assert f'<td class="number">{best:.3f}</td><td class="number">0.500</td>' in html
    assert "within noise" in html or "No other alpha is within one standard error" in html


def test_bars_of_the_alpha_curve_are_standard_errors_over_queries():
    X, y, qid = kr.make_ranking(n_queries=12, n_features=3, n_levels=4, noise=1.0, random_state=0)
    search = kr.RankRLSCV([1.0, 100.0]).fit(X, y, qid=qid)
    found = query_standard_errors(search, X, y, qid, [1.0, 100.0])
    for alpha, error in zip((1.0, 100.0), found, strict=True):
        scores = np.zeros(len(y))
        for query in np.unique(qid):
            rest = qid != query
            scores[~rest] = kr.RankRLS(alpha).fit(X[rest], y[rest], qid=qid[rest]).predict(X[~rest])
        values = kr.metrics.PairwiseAccuracy()(y, scores, qid=qid).values
        np.testing.assert_allclose(error, values.std(ddof=1) / np.sqrt(len(values)), rtol=1e-8)


def test_scaled_features_have_no_column_that_repeats_another():
    X, y, qid = make_ranking(n_queries=12, n_items=6, n_features=4, n_levels=3, random_state=0)
    for columns, repeated in ((X, False), ((X - X.mean(axis=0)) / X.std(axis=0), True)):
        page = ranking_report(RankRLS().fit(columns, y, qid=qid), columns, y, qid=qid)
        weights = page.html[page.html.index('id="influence"') :].partition("</table>")[0]
        assert ("deviation</th>" not in weights) == repeated
        assert ("have a standard deviation of 1" in weights) == repeated


def test_the_random_order_stands_beside_the_folds():
    _, y, qid = make_ranking(n_queries=12, n_items=6, n_levels=3, random_state=0)
    folds = [{"fold": "Fold1", "alpha": 1.0, "score": 0.8, "how": "on vali.txt", "test": 0.75}]
    page = folds_report(folds, y, y + np.sin(np.arange(len(y))), qid=qid, measures=["pairwise_accuracy"])
    row = page.html.partition("random order</th>")[2].partition("</tbody>")[0]
    assert "0.500" in row


def test_the_page_says_whether_learnt_weights_are_used():
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 4))
    y = np.sin(2 * X[:, 0])
    plain, learnt = (kr.MetricRankRLSCV([0.1], rounds=rounds, cv=2).fit(X, y) for rounds in (0, 1))
    assert (plain.round_, learnt.round_) == (0, 1)
    options = {"held_out": y, "feature_names": ["left", "right", "up", "down"]}
    words = ranking_report(plain, X, y, **options).html
    assert "No weights are used" in words
    assert "no measure of importance" not in words
    words = ranking_report(learnt, X, y, **options).html
    assert "No weights are used" not in words
    assert words.index(">left<", words.index("no measure of importance")) > 0


def test_one_alpha_has_no_curve_and_no_warning():
    X, y = np.random.default_rng(1).standard_normal((30, 2)), np.arange(30.0)
    model = RankRLSCV([1.0], kernel="rbf", kernel_grid={"gamma": [0.1, 0.3]})
    page = ranking_report(model.fit(X, y), X, y)
    assert "Choosing the kernel" in page.html
    assert "Choosing alpha" not in page.html

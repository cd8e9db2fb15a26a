"""``kernelrank risk``: the estimate of the library, from a file, and its page."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank import CalibratedRanker, RankRLS, RankRLSCV, estimate_risk, learning_curve
from kernelrank.report.risks import steady_columns


@pytest.fixture
def patients(tmp_path):
    """A file of 60 patients, a third of them ill, with two missing cells."""
    rng = np.random.default_rng(0)
    ill = np.arange(60) % 3 == 0
    X = (rng.standard_normal((60, 3)) + ill[:, None] * [1.0, -1.0, 0.0]).round(3)
    rows = [f"{a},{b},{c},{'ill' if y else 'well'}" for (a, b, c), y in zip(X.tolist(), ill, strict=True)]
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(["age,crp,bmi,outcome", *rows]) + "\n")
    return path, X, ill


def test_the_answer_is_that_of_the_library(run, patients):
    path, X, ill = patients
    words = ["risk", path, "--target", "outcome", "--alpha", 2, "--positive", "ill"]
    found = run(*words, "--thresholds", "0.4, 0.2", "--folds", 5, "--json").json
    y = np.where(ill, "ill", "well")
    expected = estimate_risk(RankRLS(2.0), X, y, pos_label="ill", thresholds=[0.2, 0.4], cv=5).to_dict()
    assert found["positive_class"] == "ill"
    for name in ("auc", "scaled_brier", "calibration_slope", "average_precision"):
        assert found[name] == pytest.approx(expected[name])
    assert [row["threshold"] for row in found["thresholds"]] == [0.2, 0.4]
    assert found["thresholds"][1]["net_benefit"] == pytest.approx(expected["thresholds"][1]["net_benefit"])
    told = run(*words).out
    assert "calibration slope" in told
    assert "20 of 60 items are ill" in told


def test_the_page_says_what_a_paper_needs(run, patients, tmp_path):
    path, _, _ = patients
    path.write_text(
        path.read_text().replace("\n", "\n", 1).replace(path.read_text().splitlines()[4].split(",")[2], "", 1)
    )
    run("risk", path, "--target", "outcome", "--alphas", "1,100", "--report", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("Calibration", "Decision curve", "Thresholds", "The most important columns", "1 missing value in"):
        assert words in page
    assert "nested 10-fold cross-validation, stratified by the outcome" in page
    assert "ROC curve" in page


@pytest.fixture
def times(tmp_path):
    """A file of 80 times, two thirds of them events, with entry times."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 2)).round(3)
    time = (2.0 + rng.exponential(np.exp(X[:, 0]))).round(3)
    event, entry = rng.random(80) < 0.7, rng.uniform(0.0, 1.0, 80).round(3)
    columns = zip(*X.T.tolist(), time.tolist(), event.astype(int).tolist(), entry.tolist(), strict=True)
    path = tmp_path / "times.csv"
    path.write_text("\n".join(["a,b,t,died,since", *(",".join(map(str, row)) for row in columns)]) + "\n")
    return path, X, time, event, entry


def test_risks_of_times_are_those_of_the_library(run, times):
    path, X, time, event, entry = times
    words = ["risk", path, "--time", "t", "--event", "died", "--horizon", 3, "--alpha", 2, "--folds", 5]
    found = run(*words, "--entry", "since", "--json").json
    expected = estimate_risk(RankRLS(2.0), X, time, event=event, entry=entry, horizon=3.0, cv=5)
    for name, one in expected.to_dict().items():
        assert found[name] == (pytest.approx(one) if isinstance(one, dict) else one)
    assert found["horizon"] == 3.0
    assert found == run(*words, "--entry", "since", "--features", "a,b", "--json").json
    plain = run(*words, "--features", "a,b", "--json").json
    assert plain["brier"] == pytest.approx(
        estimate_risk(RankRLS(2.0), X, time, event=event, horizon=3.0, cv=5).to_dict()["brier"]
    )
    told = run(*words, "--features", "a,b").out
    assert "integrated Brier score" in told
    unknown = int((~event & (time <= 3.0)).sum())
    assert f"of {unknown} it is not known" in told


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--time", "t", "--event", "died"], "Expected --horizon"),
        (["--time", "t", "--horizon", 3], "Expected --time and --event together"),
        (["--target", "died", "--horizon", 3], "--horizon and --entry go with --time"),
        (["--time", "t", "--event", "died", "--horizon", 3, "--report", "x.html"], "kernelrank concordance --report"),
        (["--time", "t", "--event", "died", "--horizon", 3, "--entry", "none"], "Expected a column 'none'"),
        (["--time", "t", "--event", "died", "--horizon", 3, "--calibration", "isotonic"], "that of a hazard"),
        (["--time", "t", "--event", "died", "--horizon", 3, "--groups", "a"], "are for two classes"),
        (["--time", "t", "--event", "died", "--horizon", 99], "horizon"),
    ],
)
def test_wrong_options_of_times(run, times, words, expected):
    assert expected in " ".join(run("risk", times[0], *words, code=1).err.split())


def test_missing_entry_times_are_not_imputed(run, times):
    lines = times[0].read_text().splitlines()
    lines[5] = lines[5].rsplit(",", 1)[0] + ","
    times[0].write_text("\n".join(lines) + "\n")
    words = ["--time", "t", "--event", "died", "--horizon", 3, "--entry", "since"]
    ended = run("risk", times[0], *words, code=1)
    assert "'since' has 1 missing value" in " ".join(ended.err.split())


def test_auc_tells_the_learning_curve(run, patients):
    path, X, ill = patients
    words = ["auc", path, "--target", "outcome", "--alpha", 2, "--permutations", 0, "--no-roc", "--learning-curve"]
    found = run(*words, "--json").json["learning_curve"]
    expected = learning_curve(RankRLS(2.0), X, ill, random_state=0)
    assert [row["size"] for row in found["values"]] == expected.sizes.tolist()
    assert found["values"][-1]["auc"] == pytest.approx(expected.values[-1])
    assert found["validation_items"] == expected.validation_items()
    assert "To validate a finished model" in run(*words).out


@pytest.mark.parametrize("thresholds", ["many", "0.2,1.5", ""])
def test_wrong_thresholds(run, patients, thresholds):
    path, _, _ = patients
    ended = run("risk", path, "--target", "outcome", "--thresholds", thresholds, code=1)
    assert "expected numbers between 0 and 1" in ended.err


def test_columns_have_the_jackknife_of_the_folds(patients):
    _, X, ill = patients
    model = CalibratedRanker(RankRLSCV([1.0, 100.0])).fit(X, ill)
    estimate = estimate_risk(model, X, ill, interval="components", cv=5)
    rows = {row["name"]: row for row in steady_columns(model, X, estimate, ["age", "crp", "bmi"])}
    weights = []
    for fold in range(5):
        kept = estimate.folds != fold
        without = RankRLSCV([1.0, 100.0]).fit(X[kept], ill[kept].astype(float))
        weights.append(without.coef_[0] / np.std(X[kept] @ without.coef_))
    own = np.array(weights) * X[:, 0].std() * model.slope_
    error = np.sqrt(4 / 5 * np.sum((own - own.mean()) ** 2))
    row = rows["age"]
    assert row["value"] == pytest.approx(
        model.slope_ * model.estimator_.coef_[0] * X[:, 0].std() / model.score_deviation_
    )
    assert (row["high"] - row["low"]) / 2 == pytest.approx(2.7764451 * error)
    assert row["folds"] == 5

"""Kernels that are chosen, from the command: auto, mixed lists, learnt metrics, and what reports say of them."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank import MetricRankRLSCV, RankRLS, RankRLSCV, load, permutation_test
from kernelrank.data import read_table

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
FEW = ["--alphas", "0.1,1,10"]


@pytest.fixture
def table(tmp_path):
    """A table of a number that is not linear in its columns, of two classes, and of times."""
    random = np.random.default_rng(0)
    X = random.standard_normal((36, 3)).round(3) * [1.0, 100.0, 0.01]
    y = np.abs(X[:, 0]) + 0.1 * random.standard_normal(36)
    rows = [
        f"{a!r},{b!r},{c!r},{v!r},{'ill' if v > 0.6 else 'well'},{float(np.exp(v))!r},{k % 4 > 0}"
        for k, ((a, b, c), v) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
    ]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["<b>a</b>,b,c,y,class,months,died", *rows]) + "\n")
    return path, X, y


def only(*names):
    return ["--exclude", ",".join(names)]


def test_a_list_with_auto_tries_both(run, table):
    path, X, y = table
    words = ["tune", path, "--target", "y", *only("class", "months", "died"), *FEW, "--cv", 4]
    found = run(*words, "--kernels", "auto,poly", "--degrees", "2,3", "--json").json
    tried = [one["kernel"] for one in found["candidates"][::3]]
    assert tried == ["linear", *["rbf"] * 5, *["laplacian"] * 5, "poly", "poly"]
    grid = [{"kernel": ["poly"], "degree": [2.0]}, {"kernel": ["poly"], "degree": [3.0]}]
    expected = RankRLSCV([0.1, 1.0, 10.0], kernel="auto", kernel_grid=grid, cv=4, random_state=0).fit(X, y)
    assert [one["score"] for one in found["candidates"]] == pytest.approx(list(expected.cv_results_["mean_test_score"]))
    plain = run(*words, "--json").json
    assert any("--kernels auto" in note for note in plain["notes"])
    assert not any("--kernels auto" in note for note in found["notes"])


@pytest.mark.parametrize("method", ["ranksvm", "rls"])
def test_auto_with_other_methods(run, table, method):
    path, *_ = table
    words = ["tune", path, "--target", "y", *only("class", "months", "died"), "--method", method, "--cv", 3]
    found = run(*words, "--alphas", "1,10", "--kernels", "auto", "-o", "model.kr", "--json").json
    assert len(found["candidates"]) == 22
    assert load("model.kr").predict(table[1]).shape == (36,)


def test_a_learnt_metric_is_saved_and_its_page_says_what_weights_mean(run, table):
    path, X, y = table
    words = ["tune", path, "--target", "y", *only("class", "months", "died"), *FEW, "--kernels", "metric", "--cv", 3]
    found = run(*words, "-o", "model.kr", "--report", "page.html", "--json").json
    expected = MetricRankRLSCV([0.1, 1.0, 10.0], cv=3, random_state=0).fit(X, y)
    model = load("model.kr")
    assert isinstance(model, MetricRankRLSCV)
    np.testing.assert_allclose(model.predict(X), expected.predict(X))
    best = {name: value for name, value in found["best"].items() if name != "score"}
    assert best == pytest.approx(expected.best_params_)
    assert found["best"]["score"] == pytest.approx(expected.best_score_)
    page = (path.parent / "page.html").read_text(encoding="utf-8")
    assert "no measure of importance" in page
    assert "&lt;b&gt;a&lt;/b&gt;" in page
    assert "<b>a</b>" not in page
    for words in ("Choosing the kernel", "laplacian", "gamma"):
        assert words in page


def test_what_a_learnt_metric_cannot_do_is_said(run, table, ranking):
    path, *_ = table
    words = ["tune", path, "--target", "y", *only("class", "months", "died"), "--kernels"]
    assert "folds" in run(*words, "metric", "--cv", "leave_pair_out", code=1).err
    assert "no other kernel" in run(*words, "metric,rbf", code=1).err
    assert "--method rankrls or rls" in run(*words, "metric", "--method", "ranksvm", code=1).err
    for kernel in ("auto", "metric"):
        assert f"tune --kernels {kernel}" in run("fit", path, "--target", "y", "--kernel", kernel, code=1).err
    auc = ["auc", path, "--target", "class", *only("y", "months", "died"), "--kernel", "metric"]
    assert "ten folds" in run(*auc, "--inside", code=1).err
    assert "ten folds" in run(*auc, "--cv", "leave_pair_out", code=1).err


def test_the_auc_of_chosen_kernels(run, table):
    path, X, y = table
    words = ["auc", path, "--target", "class", *only("y", "months", "died"), "--no-roc"]
    found = run(*words, "--alphas", "1,10", "--kernel", "auto", "--permutations", 30, "--json").json
    names = "best leave_pair_out accuracy of 2 alphas and 11 kernels"
    assert found["permutation"]["statistic"] == names
    search = RankRLSCV([1.0, 10.0], kernel="auto")._settled(X)
    labels = (y > 0.6) == (found["positive_class"] == "ill")
    tests = [
        permutation_test(
            RankRLS(metric=search.metric, **one),
            X,
            labels.astype(float),
            alphas=[1.0, 10.0],
            n_permutations=30,
            random_state=0,
        )
        for one in search._settings()
    ]
    assert found["permutation"]["value"] == pytest.approx(max(test.statistic for test in tests))
    null = np.max([test.null for test in tests], axis=0)
    assert found["permutation"]["null_mean"] == pytest.approx(null.mean())
    learnt = run(*words, "--alphas", "1", "--kernel", "metric", "--json").json
    assert learnt["method"] == "averaged"
    assert any("no p-value" in note for note in learnt["notes"])


@pytest.mark.parametrize("kernel", ["auto", "metric"])
def test_preferences(run, table, kernel):
    path, X, y = table
    random = np.random.default_rng(1)
    pairs = random.integers(0, 36, (80, 2))
    pairs = pairs[y[pairs[:, 0]] > y[pairs[:, 1]]]
    names = [f"m{number}" for number in range(36)]
    rows = "\n".join(f"{name},{a!r}" for name, a in zip(names, X[:, 0].tolist(), strict=True))
    (path.parent / "items.csv").write_text(f"id,a\n{rows}\n")
    votes = "\n".join(f"{names[i]},{names[j]}" for i, j in pairs.tolist())
    (path.parent / "votes.csv").write_text(f"winner,loser\n{votes}\n")
    found = run("tune", "items.csv", "--pairs", "votes.csv", *FEW, "--kernels", kernel, "-o", "m.kr", "--json").json
    assert found["agreement"]["value"] > 0.7
    assert found["best"]["kernel"] in ("rbf", "laplacian")
    assert ("metric" in found["held_out"]) == (kernel == "metric")
    assert load("m.kr").predict(X[:, :1]).shape == (36,)


def test_the_concordance_of_chosen_kernels(run, table):
    path, *_ = table
    words = ["concordance", path, "--time", "months", "--event", "died", *only("y", "class"), "--alphas", "1"]
    found = run(*words, "--kernel", "auto", "--folds", 2, "--json").json
    assert 0.5 < found["concordance"] <= 1.0
    assert read_table(path, target="y").X.shape[0] == 36

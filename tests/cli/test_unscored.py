"""``--unscored``: fit and tune with items that have no scores."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank import CoRankRLS, CoRankRLSCV, TransductiveRankRLS, TransductiveRankRLSCV, load, make_ranking
from kernelrank.data import write_ranking

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
ALPHAS = [0.1, 10.0, 1000.0]


@pytest.fixture
def files(tmp_path):
    """A table of six scored queries, one of ten queries without scores, and what they hold."""
    X, y, qid = make_ranking(n_queries=16, n_items=6, n_features=4, noise=0.5, random_state=0)
    X, y = X.round(3), y.round(3)
    known = qid < 6
    for name, part in (("train", known), ("more", ~known)):
        rows = [
            ",".join([*map(str, x), f"q{q}", *([str(s)] if name == "train" else [])])
            for x, q, s in zip(X[part].tolist(), qid[part].tolist(), y[part].tolist(), strict=True)
        ]
        head = "a,b,c,d,qid" + (",score" if name == "train" else "")
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *rows]) + "\n")
    return X, np.where(known, y, np.nan), qid


def test_fit_is_the_fit_of_the_library(run, files):
    X, y, qid = files
    words = ["fit", "train.csv", "--target", "score", "--unscored", "more.csv", "--alpha", 2, "-o", "model.kr"]
    answer = run(*words, "--method", "transductive", "--json").json
    assert answer["class"] == "TransductiveRankRLS"
    assert answer["unscored"] == {"file": "more.csv", "items": 60, "queries": 10}
    expected = TransductiveRankRLS(2.0).fit(X, y, qid=qid)
    np.testing.assert_allclose(load("model.kr").transduction_, expected.transduction_, atol=1e-10)
    assert "36 scored items, 4 columns of train.csv" in run(*words, "--method", "transductive").out
    text = run(*words, "--method", "co_rank_rls", "--kernel", "rbf", "--basis", 12, "--scale").err
    assert "60 items of 10 queries took part without scores" in text
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = CoRankRLS(2.0, kernel="rbf", basis=12, random_state=0).fit(scaled, y, qid=qid)
    np.testing.assert_allclose(load("model.kr").predict(X), expected.predict(scaled), atol=1e-8)
    assert len(run("predict", "model.kr", "more.csv").out.split()) == 60


def test_tune_chooses_by_scored_queries_that_are_held_out(run, files):
    X, y, qid = files
    words = ["tune", "train.csv", "--target", "score", "--unscored", "more.csv", "--alphas", "0.1,10,1000"]
    answer = run(*words, "--method", "transductive", "-o", "model.kr", "--json").json
    expected = TransductiveRankRLSCV(ALPHAS).fit(X, y, qid=qid)
    assert answer["best"]["score"] == pytest.approx(expected.best_score_)
    assert (answer["best"]["alpha"], answer["best"]["anchor"]) == (expected.alpha_, expected.anchor_)
    assert load("model.kr").scoring == "pairwise_accuracy"
    answer = run(*words, "--method", "co_rank_rls", "--kernels", "rbf", "--gammas", 0.3, "--cv", 3, "--json").json
    expected = CoRankRLSCV(ALPHAS, cv=3, gamma=0.3, random_state=0).fit(X, y, qid=qid)
    assert answer["best"]["score"] == pytest.approx(expected.best_score_)
    assert answer["held_out"] == "3 folds of scored queries"
    assert "No model was saved" in run(*words, "--method", "transductive").out


def test_letor_files(run, files, tmp_path):
    X, y, qid = files
    for name, part in (("train", np.isfinite(y)), ("more", np.isnan(y))):
        write_ranking(tmp_path / f"{name}.txt", X[part], np.where(part, 1.0, 0.0)[part], qid=qid[part])
    write_ranking(tmp_path / "train.txt", X[:36], y[:36], qid=qid[:36])
    run("fit", "train.txt", "--unscored", "more.txt", "--method", "transductive", "-o", "model.kr")
    expected = TransductiveRankRLS().fit(X, y, qid=qid)
    np.testing.assert_allclose(load("model.kr").transduction_, expected.transduction_, atol=1e-8)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("fit train.csv --target score --method transductive", "give their file by --unscored"),
        ("fit train.csv --target score --unscored more.csv", "--unscored needs --method co_rank_rls or transductive"),
        ("fit train.csv --target score --unscored more.csv --method co_rank_rls", "all views of a linear kernel"),
        ("tune train.csv --unscored more.csv --method transductive --nested", "cannot be used with --nested"),
        ("tune train.csv --unscored more.csv --method transductive --kernels linear,rbf", "Expected one kernel"),
        ("tune train.csv --target score --unscored more.csv --method transductive --cv 3", "remove --cv"),
        ("fit train.csv --target score --unscored more.csv --method transductive --cost unit", "--cost belongs to"),
        ("fit train.csv --target score --unscored none.csv --method transductive", "none.csv: there is no such file"),
    ],
)
def test_what_does_not_go_together(run, files, words, message):
    assert message in run(*words.split(), code=None).err

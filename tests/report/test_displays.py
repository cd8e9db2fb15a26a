"""Displays: what they hold, what they draw, and what they refuse."""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

from kernelrank.base.results import Estimates
from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError, MissingExtraError
from kernelrank.estimators import RankRLS, RLSClassifier
from kernelrank.metrics import NDCG
from kernelrank.model_selection import RankRLSCV, leave_pair_out, leave_query_out, tournament_roc
from kernelrank.report import AlphaCurveDisplay, ChartDisplay, QueryScoreDisplay, ROCDisplay
from kernelrank.report.displays import pair_standard_errors, query_standard_errors
from kernelrank.report.roc import roc_band

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 12)
X = rng.standard_normal((24, 3)) + 0.7 * y[:, None]
ITEMS, SCORES, QID = make_ranking(n_queries=12, random_state=0)
ALPHAS = 2.0 ** np.arange(-5, 6)


@pytest.fixture(autouse=True)
def _no_window():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def drawn(display):
    """The picture as pixels: drawing it raises nothing, and it is not empty."""
    display.figure_.canvas.draw()
    return np.asarray(display.figure_.canvas.buffer_rgba()).std() > 0


def texts(display):
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    return legend + [text.get_text() for text in display.ax_.texts]


def test_alphas_in_any_order():
    accuracy = leave_pair_out(RankRLS(), X, y, alphas=ALPHAS[::-1]).accuracy
    display = AlphaCurveDisplay.from_predictions(ALPHAS[::-1], accuracy, score_name="leave-pair-out accuracy")
    np.testing.assert_array_equal(display.alphas, ALPHAS)
    np.testing.assert_array_equal(display.scores, accuracy[::-1])
    assert accuracy[ALPHAS[::-1] == display.best_alpha] == accuracy.max()
    assert drawn(display)
    assert display.ax_.get_ylabel() == "leave-pair-out accuracy"


def test_alpha_at_the_edge_is_said():
    assert "best alpha 4, at the edge of the grid" in texts(AlphaCurveDisplay.from_predictions([1, 2, 4], [1, 2, 3]))
    assert "best alpha 2" in texts(AlphaCurveDisplay.from_predictions([1, 2, 4], [1, 3, 2]))
    assert "best alpha 1" in texts(AlphaCurveDisplay.from_predictions([1, 2, 4], [3, 3, 2]))


def test_alpha_curves_of_outputs():
    display = AlphaCurveDisplay.from_predictions([1, 2, 4], [[1, 2], [3, 1], [0, 0]])
    assert display.best_alpha == 2
    assert texts(display)[:2] == ["output 0", "output 1"]


def test_alphas_of_a_search():
    grid = {"alpha": ALPHAS, "kernel": ["linear", "rbf"]}
    search = GridSearchCV(RLSClassifier(), grid, cv=3, scoring="roc_auc").fit(X, y)
    display = AlphaCurveDisplay.from_estimator(search)
    assert len(display.alphas) == len(ALPHAS)
    assert display.scores.max() == search.best_score_
    assert display.best_alpha == search.best_params_["alpha"]
    assert "GridSearchCV" in texts(display)
    other = GridSearchCV(LogisticRegression(), {"C": [1.0, 2.0]}, cv=3).fit(X, y)
    with pytest.raises(InvalidInputError, match="did not search over alpha"):
        AlphaCurveDisplay.from_estimator(other)


@pytest.mark.parametrize(("alphas", "scores"), [([1, 2], [1]), ([[1]], [1]), ([], []), ([0, 1], [1, 2])])
def test_bad_alphas(alphas, scores):
    with pytest.raises(InvalidInputError, match="alphas must be"):
        AlphaCurveDisplay(alphas, scores)


@pytest.mark.parametrize("groups", [None, np.arange(24) % 8], ids=["items", "groups"])
def test_roc_of_an_estimator_is_the_tournament(groups):
    display = ROCDisplay.from_estimator(RankRLS(), X, y, groups=groups, random_state=0)
    roc = tournament_roc(RankRLS(), X, y, groups=groups)
    assert display.estimate == roc.estimate
    np.testing.assert_array_equal(display.tpr, roc.tpr)
    assert drawn(display)
    low, high = roc.interval
    assert f"RankRLS: AUC {roc.auc:.2f}, 95% interval {low:.2f} to {high:.2f}" in texts(display)


def test_roc_of_given_scores():
    display = ROCDisplay.from_predictions(y, X[:, 0], random_state=0)
    assert display.estimate.auc == pytest.approx(roc_auc_score(y, X[:, 0]))
    assert "the scores are taken as given" in display.estimate.interval.method
    turned = ROCDisplay.from_predictions(y, -X[:, 0], pos_label=0, random_state=0)
    assert turned.estimate.auc == pytest.approx(display.estimate.auc)
    same = ROCDisplay.from_predictions(y, X[:, 1], ax=display.ax_, name="other")
    assert same.ax_ is display.ax_
    with pytest.raises(InvalidInputError, match="one number for each item"):
        ROCDisplay.from_predictions(y, X)


def test_band_holds_the_curve_and_narrows():
    grid = np.linspace(0, 1, 11)
    widths = []
    for repeats in (1, 10):
        positive, scores = np.tile(y == 1, repeats), np.tile(X[:, 0], repeats)
        low, high = roc_band(positive, scores, grid, random_state=0)
        assert np.all(low <= high)
        widths.append(np.mean(high - low))
    assert widths[1] < 0.5 * widths[0]
    groups = np.tile(np.arange(24), 10)
    low, high = roc_band(positive, scores, grid, groups=groups, random_state=0)
    assert np.mean(high - low) > 2 * widths[1]
    alone, grouped = (
        roc_band(y == 1, X[:, 0], grid, groups=groups, random_state=0) for groups in (None, np.arange(24))
    )
    np.testing.assert_array_equal(alone, grouped)


def test_queries_and_the_worst_of_them():
    held = leave_query_out(RankRLS(), ITEMS, SCORES, QID)
    names = np.array([f"query {q}" for q in QID])
    display = QueryScoreDisplay.from_predictions(SCORES, held, qid=names, n_worst=3, random_state=0)
    assert len(display.worst) == 3
    assert display.worst[0][1] == display.values[0] == display.result.values.min()
    assert display.worst[0][0] in texts(display)[-1]
    assert drawn(display)
    errors = QueryScoreDisplay.from_predictions(SCORES, held, qid=names, measure="disagreement")
    assert errors.worst[0][1] == errors.result.values.max()


def test_queries_of_an_estimator():
    model = RankRLS().fit(ITEMS, SCORES, qid=QID)
    grades = np.digitize(SCORES, np.quantile(SCORES, [0.5, 0.8]))
    display = QueryScoreDisplay.from_estimator(model, ITEMS, grades, qid=QID, measure=NDCG(k=5), n_worst=0)
    assert display.worst == []
    assert display.ax_.get_ylabel() == "nDCG@5"
    assert drawn(display)
    with pytest.raises(InvalidInputError, match="n_worst"):
        QueryScoreDisplay(display.result, n_worst=-1)


def test_one_query():
    assert drawn(QueryScoreDisplay.from_predictions([1, 2, 3], [1, 3, 2], qid=[1, 1, 1]))


def test_matplotlib_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"kernelrank\[report\]"):
        AlphaCurveDisplay.from_predictions([1, 2], [1, 2])


def test_extras_come_late():
    import subprocess

    code = "import sys, kernelrank.report; print([name for name in ('matplotlib', 'jinja2') if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_dollar_sign_in_a_label_is_no_formula():
    display = QueryScoreDisplay.from_predictions([1, 2, 1, 2], [2, 1, 1, 2], qid=["$x^$", "$x^$", "b", "b"])
    assert drawn(display)
    assert "$x^$: 0.000" in texts(display)[-1]


def test_bars_from_the_training_data():
    search = RankRLSCV(ALPHAS).fit(ITEMS, SCORES, qid=QID)
    assert AlphaCurveDisplay.from_estimator(search).errors is None
    display = AlphaCurveDisplay.from_estimator(search, ITEMS, SCORES, qid=QID)
    np.testing.assert_array_equal(display.errors, query_standard_errors(search, ITEMS, SCORES, QID, display.alphas))
    best = display.scores.max()
    near = np.flatnonzero(display.scores >= best - display.errors[np.argmax(display.scores)])
    np.testing.assert_array_equal(display.within_noise, near)
    assert any(f"{len(near)} of {len(ALPHAS)} alphas: within one standard error" in text for text in texts(display))
    assert drawn(display)


def test_bars_of_two_classes():
    search = RankRLSCV(ALPHAS).fit(X, y)
    display = AlphaCurveDisplay.from_estimator(search, X, y)
    np.testing.assert_array_equal(display.errors, pair_standard_errors(search, X, y, display.alphas))
    assert AlphaCurveDisplay.from_estimator(search, X, np.arange(24.0)).errors is None


def test_several_roc_curves_name_their_bands_once():
    display = ROCDisplay.from_predictions(y, X[:, 0], random_state=0, name="one")
    ROCDisplay.from_predictions(y, X[:, 1], random_state=0, ax=display.ax_, name="two")
    assert sum("resampled" in text for text in texts(display)) == 1
    assert len(texts(display)) == 3


def test_a_new_figure_is_as_high_as_its_rows_need():
    few, many = (
        ChartDisplay(Estimates([(str(n), 0.5, 0.4, 0.6) for n in range(rows)], "AUC")).plot() for rows in (1, 10)
    )
    assert few.figure_.get_figheight() < 2 < many.figure_.get_figheight() < 5

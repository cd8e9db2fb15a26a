"""Results show themselves: a line, a table in a notebook, a data frame, and nothing with eighteen digits."""

from __future__ import annotations

import re
import sys
from functools import cache

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest

import kernelrank as kr
from kernelrank.base.results import Result, to_frame
from kernelrank.errors import InvalidInputError, MissingExtraError
from kernelrank.estimators.posterior import ScoreComparison
from kernelrank.metrics import (
    AUC,
    NDCG,
    Concordance,
    dyadic_concordance,
    paired_test,
    preference_agreement,
    sensitivity_at,
)
from kernelrank.model_selection import risk_coefficients
from kernelrank.relations import RelationExtractor, cross_validate, evaluate_on, make_corpus
from kernelrank.report import ROCDisplay, explain
from tests.report.html_page import HTMLPage

ATTACK = "<script>window.hit = 1</script>"


@cache
def results():
    rng = np.random.default_rng(0)
    y = np.repeat(["well", f"ill {ATTACK}"], 12)
    X = rng.standard_normal((24, 3)) + (y != "well")[:, None]
    query, scores = np.repeat([f"a {ATTACK}", "b", "c", "d"], 6), X[:, 0] / 3
    graded = np.tile([0, 1, 2], 8)
    measured = NDCG(k=10)(graded, scores, qid=query)
    corpus = make_corpus(30, random_state=0)
    extractor = RelationExtractor(alphas=[0.5, 1.0])
    crossed = cross_validate(extractor, corpus.candidates, cv=3)
    model = kr.RankRLS().fit(X, (y == "well").astype(float))
    times, event = np.exp(X[:, 0]), np.arange(24) % 3 > 0
    ranked = Concordance()(times, X[:, 1], event=event)
    Y = X[:6] @ X[6:11].T
    made = [
        kr.estimate_auc(kr.RankRLS(), X, y),
        kr.tournament_roc(kr.RankRLS(), X, y),
        kr.compare_auc(X[:, 0], X[:, 1], X, y),
        kr.leave_pair_out(kr.RankRLS(), X, scores),
        kr.leave_preferences_out(kr.RankRLS(), X, [(0, 1), (2, 3), (1, 2)]),
        kr.permutation_test(kr.RankRLS(), X, y, n_permutations=19, random_state=0),
        kr.permutation_importance(model, X, scores, qid=query, feature_names=["a", ATTACK, "c"], random_state=0),
        measured,
        measured.interval(random_state=0),
        AUC()(y == "well", scores).interval(),
        sensitivity_at(y, scores, 0.9, n_resamples=50),
        paired_test(measured, NDCG(k=10)(graded, X[:, 1], qid=query), random_state=0),
        preference_agreement([(0, 1), (2, 3), (1, 2)], scores),
        crossed,
        crossed.choices[0],
        crossed.mean(),
        evaluate_on(extractor.fit(corpus.candidates), make_corpus(20, random_state=1)),
        explain(model, X[:2], feature_names=["a", ATTACK, "c"]),
        ranked,
        ranked.minus(Concordance()(times, X[:, 2], event=event)),
        kr.estimate_concordance(kr.RankRLS(), X, times, event=event),
        dyadic_concordance(Y, kr.dyadic_holdout(kr.KroneckerRLS(), X[:6], X[6:11], Y)),
        kr.selection_curve(kr.GreedyRankRLS(2), X, scores, n_repeats=1, random_state=0),
        kr.selection_stability(kr.GreedyRankRLS(1), X, scores, n_subsamples=4, random_state=0),
        kr.estimate_risk(kr.RankRLS(), X, y == "well"),
        risk_coefficients(kr.RankRLS(), X, times, event=event, feature_names=["a", ATTACK, "c"]),
        kr.learning_curve(kr.RankRLS(), X, y == "well"),
        ScoreComparison.normal(X[:, 0], np.abs(X[:, 1]), f"posterior {ATTACK}"),
    ]
    return {type(one).__name__: one for one in made}


NAMES = [
    "AUCEstimate",
    "TournamentROC",
    "AUCComparison",
    "PairHoldout",
    "PreferenceHoldout",
    "PermutationTest",
    "PermutationImportance",
    "MeasureResult",
    "Interval",
    "RateEstimate",
    "PairedTest",
    "PreferenceAgreement",
    "CrossValidation",
    "Choice",
    "ExtractionScores",
    "CrossCorpus",
    "Explanation",
    "ScoreComparison",
    "ConcordanceResult",
    "ConcordanceDifference",
    "ConcordanceEstimate",
    "DyadicConcordance",
    "SelectionCurve",
    "SelectionStability",
    "RiskEstimate",
    "RiskCoefficients",
    "LearningCurve",
]


def test_every_kind_of_result_is_looked_at():
    assert set(results()) == set(NAMES)

    def kinds(of):
        return {kind for below in of.__subclasses__() for kind in ({below.__name__} | kinds(below))}

    assert kinds(Result) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_text_has_many_digits(name):
    result = results()[name]
    for text in (repr(result), str(result), result._repr_html_()):
        assert not re.search(r"\d\.\d{7}", text), text
    assert name in repr(result)
    assert "array(" not in repr(result)


@pytest.mark.parametrize("name", NAMES)
def test_the_table_names_its_rows_and_escapes_what_the_user_named(name):
    page = HTMLPage(results()[name]._repr_html_())
    (caption,) = page.all("caption")
    assert caption.text == name
    names = page.all("th")
    assert names
    assert all(cell.attributes["scope"] == "row" and cell.text for cell in names)
    assert len(page.all("td")) == len(names)
    assert not page.all("script")


@pytest.mark.parametrize("name", NAMES)
def test_the_frame_is_of_pandas(name):
    frame = results()[name].to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) >= 1
    assert len(frame.columns) >= 1


@pytest.mark.parametrize("name", NAMES)
def test_without_pandas_the_frame_is_of_polars_and_without_both_a_dict(name, monkeypatch):
    result = results()[name]
    with_pandas = result.to_frame()
    monkeypatch.setitem(sys.modules, "pandas", None)
    frame = result.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == list(with_pandas.columns)
    monkeypatch.setitem(sys.modules, "polars", None)
    columns = result.to_frame()
    assert isinstance(columns, dict)
    for column, values in columns.items():
        np.testing.assert_array_equal(values, with_pandas[column].to_numpy())
        np.testing.assert_array_equal(frame[column].to_list(), values)


def test_columns_hold_what_the_result_holds():
    found = results()
    measured = found["MeasureResult"]
    assert dict(measured.to_frame().to_numpy()) == dict(zip(measured.queries, measured.values, strict=True))
    pairs = found["PairHoldout"]
    assert list(pairs.to_frame().columns) == ["first", "second", "difference", "truth"]
    np.testing.assert_array_equal(pairs.to_frame()["difference"], pairs.difference)
    test = found["PermutationTest"]
    np.testing.assert_array_equal(test.to_frame()["accuracy"], test.null)
    interval = found["Interval"]
    assert interval.to_frame().iloc[0].tolist() == [interval.low, interval.high, interval.level, interval.method]


def test_pairs_with_outputs_and_alphas_have_a_column_for_each():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((9, 2)), rng.standard_normal((9, 2))
    held = kr.leave_pair_out(kr.RankRLS(), X, Y, alphas=[0.1, 1.0, 10.0])
    frame = held.to_frame()
    assert list(frame.columns)[2:] == [
        *(f"difference_{o}_{a}" for o in range(2) for a in range(3)),
        "truth_0",
        "truth_1",
    ]
    np.testing.assert_array_equal(frame["difference_1_2"], held.difference[:, 1, 2])
    assert "(2 × 3 values)" in repr(held)


def test_pairs_that_were_not_kept_make_no_frame():
    rng = np.random.default_rng(0)
    held = kr.leave_pair_out(kr.RankRLS(), rng.standard_normal((9, 2)), np.arange(9.0), differences=False)
    with pytest.raises(InvalidInputError, match="only their accuracy was kept: pass differences=True"):
        held.to_frame()


def test_labels_of_several_types_are_a_column(monkeypatch):
    mixed = np.array(["a", 1, None], dtype=object)
    assert to_frame({"label": mixed})["label"].tolist() == ["a", 1, None]
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert to_frame({"label": mixed})["label"].to_list() == ["a", 1, None]
    assert to_frame({"label": np.array(["a", None], dtype=object)}).schema["label"] == pl.String


def test_a_curve_draws_itself():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    roc = results()["TournamentROC"]
    display = roc.plot(name="a model", random_state=0, color="red")
    assert isinstance(display, ROCDisplay)
    assert display.line_.get_color() == "red"
    np.testing.assert_array_equal(display.line_.get_xdata(), roc.fpr)
    plt.close(display.figure_)
    frame = roc.to_frame()
    np.testing.assert_array_equal(frame["tpr"], roc.tpr)


def test_a_curve_without_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kernelrank\[report\]'"):
        results()["TournamentROC"].plot(random_state=0)


def test_a_comparison_draws_itself():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = results()["AUCComparison"]
    display = found.plot(names=("genes", "$x^$ <b>"))
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == ["genes", "$x^$ <b>", "genes − $x^$ <b>"]
    display.figure_.canvas.draw()
    intervals = [line.get_xdata() for line in display.ax_.lines[:4:2]]
    np.testing.assert_array_equal(intervals, [list(found.first.interval), list(found.second.interval)])
    np.testing.assert_array_equal(display.difference_ax_.lines[0].get_xdata(), list(found.interval))
    plt.close(display.figure_)


@pytest.mark.parametrize("name", NAMES)
def test_every_result_draws_itself(name):
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = results()[name].plot(ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.get_xlabel()
    assert len(ax.lines) + len(ax.patches) + len(ax.collections) >= 1
    ax.figure.canvas.draw()
    assert not any("$" in text.get_text() and text.get_parse_math() for text in ax.get_yticklabels())
    plt.close(ax.figure)


def test_the_interval_is_drawn_where_it_lies():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for name in ("AUCEstimate", "DyadicConcordance", "ConcordanceEstimate", "RateEstimate", "PreferenceAgreement"):
        found = results()[name]
        display = found.plot(color="red")
        np.testing.assert_array_equal(display.ax_.lines[0].get_xdata(), list(found.interval))
        assert display.ax_.lines[0].get_color() == "red"
        value = next(getattr(found, key) for key in ("auc", "value", "concordance") if hasattr(found, key))
        np.testing.assert_array_equal(display.ax_.lines[1].get_xdata(), [value])
        plt.close(display.figure_)
    interval = results()["Interval"]
    drawn = interval.plot()
    np.testing.assert_array_equal(drawn.ax_.lines[0].get_xdata(), [interval.low, interval.high])
    assert len(drawn.ax_.lines) == 1
    plt.close(drawn.figure_)


def test_alphas_and_outputs_are_drawn():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 2))
    held = kr.leave_pair_out(kr.RankRLS(), X, rng.standard_normal((9, 2)), alphas=[0.1, 1.0, 10.0])
    bars = held.plot()
    np.testing.assert_array_equal([bar.get_width() for bar in bars.ax_.patches], np.ravel(held.accuracy))
    alphas = [0.1, 1.0]
    judged = kr.leave_preferences_out(kr.RankRLS(), X, [(0, 1), (2, 3), (1, 2), (5, 6)], alphas=alphas)
    curves = judged.plot()
    np.testing.assert_array_equal(curves.ax_.lines[0].get_xdata(), alphas)
    np.testing.assert_array_equal(curves.ax_.lines[0].get_ydata(), [one.value for one in judged.agreement])
    assert curves.ax_.get_xscale() == "log"
    plt.close("all")


@pytest.mark.parametrize("name", ["PairHoldout", "PermutationTest", "SelectionCurve", "SelectionStability", "Choice"])
def test_a_legend_covers_nothing(name):
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    display = results()[name].plot()
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 >= display.ax_.get_window_extent().y1 - 1.0  # above the axes
    plt.close(display.figure_)


def test_a_leaderboard_draws_its_first_items():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    board = kr.Leaderboard().fit(["a", "a", "b", "c$x^$"], ["b", "c$x^$", "c$x^$", "a"])
    display = board.plot(k=2)
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    table = board.table()
    assert names == [str(name) for name in table["item"][:2]]
    display.figure_.canvas.draw()
    np.testing.assert_allclose(display.ax_.lines[1].get_xdata(), [table["score"][0]])
    plt.close(display.figure_)

"""A bar on a terminal, silence elsewhere, and nothing left of it after an error."""

from __future__ import annotations

import multiprocessing
import re
import sys
import threading
from contextlib import closing

import numpy as np
import pytest

import kernelrank as kr
from kernelrank.base.progress import _DISPLAY, _VERBOSE, count_iteration, end_display, track, verbose_progress, working


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Return what makes standard error a terminal when a test begins, and what then reads what was shown."""

    def begin():
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "150")
        return lambda: capsys.readouterr().err

    return begin


@pytest.mark.parametrize("total", [7, None])
def test_the_bar_counts_what_the_steps_hold(terminal, total):
    shown = terminal()
    steps = [[1, 2, 3], [4], [5, 6, 7]]
    assert list(track(steps, total, "reading", size=len, noun="rows")) == steps
    text = shown()
    assert "reading" in text
    assert ("7 of 7 rows" if total else "7 rows") in text


def test_steps_count_one_each(terminal):
    shown = terminal()
    assert list(track("abc", 3, "spelling")) == ["a", "b", "c"]
    assert "3 of 3 steps" in shown()


def test_a_single_step_has_no_bar(terminal):
    shown = terminal()
    assert list(track("a", 1, "spelling")) == ["a"]
    assert shown() == ""


def test_silence_without_a_terminal(capsys):
    assert list(track("abc", None, "spelling")) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")


def test_silence_without_rich(terminal, monkeypatch):
    shown = terminal()
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert list(track("abc", 3, "spelling")) == ["a", "b", "c"]
    assert shown() == ""


@pytest.mark.parametrize("inside", [True, False], ids=["in the steps", "in the work"])
def test_an_interrupt_ends_the_drawing(terminal, inside):
    shown = terminal()

    def steps():
        yield 1
        if inside:
            raise KeyboardInterrupt
        yield 2

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt) as caught, closing(track(steps(), None, "working")) as bar:  # noqa: PT012
        for step in bar:
            drawing = set(threading.enumerate()) - before
            assert drawing
            if step == 2:
                raise KeyboardInterrupt
    for thread in drawing:
        thread.join(5)  # with the traceback, and so the loop's frame, still alive
        assert not thread.is_alive(), caught.traceback
    assert shown().endswith("\x1b[2K")


def lines_of(shown):
    """The lines that the display ever drew, without what moves the cursor and colours."""
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown))


@pytest.mark.parametrize("columns", [20, 80, 110])
def test_a_bar_is_one_line_that_leaves_room_for_an_echo(terminal, monkeypatch, columns):
    shown = terminal()
    monkeypatch.setenv("COLUMNS", str(columns))
    name = "a description that is much longer than what a narrow terminal has room for beside a bar"
    list(track(range(3), 12_345_678, name, noun="held-out pairs"))
    lines = [line.rstrip() for line in lines_of(shown())]
    assert max(map(len, lines)) <= columns - 3
    if columns > 20:
        assert any("of 12,345,678 held-out pairs" in line and "a description" in line for line in lines)


def test_a_wait_gives_way_to_the_bar_inside_and_comes_back(terminal):
    shown = terminal()
    with working("waiting"):
        assert "waiting" in shown()
        bar = track("abc", 3, "spelling")
        next(bar)
        drawn = shown()
        assert "spelling" in drawn
        assert "waiting" not in drawn
        list(bar)
        shown()
        _DISPLAY._progress.refresh()
        drawn = shown()
        assert "waiting" in drawn
        assert "spelling" not in drawn
    assert _DISPLAY.console is None


def test_bars_inside_bars_share_the_display(terminal):
    shown = terminal()
    before = set(threading.enumerate())
    for _ in track("ab", 2, "outer"):
        for _ in track("abc", 3, "inner"):
            assert len(set(threading.enumerate()) - before) == 1
            _DISPLAY._progress.refresh()
            assert {"outer", "inner"} <= {word for line in lines_of(shown()) for word in line.split()[:1]}
    assert _DISPLAY.console is None


def test_an_error_ends_a_display_whose_loop_is_not_closed(terminal):
    shown = terminal()
    bar = track("abc", 3, "spelling")
    next(bar)
    end_display()
    shown()
    assert list(bar) == ["b", "c"]
    assert shown() == ""


def test_processes_that_work_for_another_draw_nothing(terminal, monkeypatch):
    shown = terminal()
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    with working("waiting"):
        list(track("abc", 3, "spelling"))
    assert shown() == ""


@pytest.fixture
def every_line(monkeypatch):
    """Write a line for every step, however little time has passed."""
    monkeypatch.setattr("kernelrank.base.progress.FIRST", 0.0)
    monkeypatch.setattr("kernelrank.base.progress.GROWTH", 0.0)


@pytest.mark.usefixtures("every_line")
def test_whoever_asks_has_lines_without_a_terminal(capsys):
    with verbose_progress("RankRLS.fit"):
        list(track("abc", 3, "folds", noun="folds"))
        count_iteration()
    out, shown = capsys.readouterr()
    assert out == ""
    lines = shown.splitlines()
    assert lines[0] == "RankRLS.fit: started"
    assert [line.split(",")[0] for line in lines[1:4]] == [f"folds: {done} of 3 folds" for done in (1, 2, 3)]
    assert lines[4].startswith("RankRLS.fit: 1 iterations")
    assert re.fullmatch(r"RankRLS.fit: 1 iterations, \d+\.\d s", lines[5])
    assert len(lines) == 6


@pytest.mark.usefixtures("every_line")
def test_iterations_say_nothing_while_something_else_is_counted(capsys):
    with verbose_progress("outer"), verbose_progress("inner"), closing(track("ab", 2, "folds")) as bar:
        next(bar)
        count_iteration()
        assert capsys.readouterr().err == "outer: started\n"
    assert "inner" not in capsys.readouterr().err
    assert not _VERBOSE.begun


def test_lines_come_less_often_the_longer_it_takes(capsys, monkeypatch):
    now = 0.0
    monkeypatch.setattr("kernelrank.base.progress.time.monotonic", lambda: now)
    with verbose_progress("waiting"):
        for _ in track(range(36_000), 36_000, "seconds", noun="tenths"):
            now += 0.1
    assert 40 < len(capsys.readouterr().err.splitlines()) < 80


def test_a_terminal_shows_bars_and_then_one_line(terminal):
    shown = terminal()
    with verbose_progress("RankRLS.fit"):
        for _ in track("abc", 3, "spelling"):
            _DISPLAY._progress.refresh()
        count_iteration()
    text = shown()
    assert "2 of 3 steps" in text
    assert re.search(r"RankRLS.fit: 1 iterations, \d+\.\d s\n$", text)
    assert "started" not in text


def test_an_error_ends_what_was_asked_for(capsys):
    with pytest.raises(KeyboardInterrupt), verbose_progress("fit"):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "fit: started\n"
    list(track("abc", 3, "spelling"))
    assert capsys.readouterr().err == ""


X, y, qid = kr.make_ranking(n_queries=6, n_items=5, n_features=3, random_state=0)
pairs = np.array([[0, 1], [2, 3], [4, 0], [3, 1]])
ROWS, COLUMNS = X[:4], X[4:10]
Y = X[:4] @ X[4:10].T

FITS = {
    "RankRLS": lambda model: model(solver="conjugate_gradient", verbose=True).fit(X, y, qid=qid),
    "RLS": lambda model: model(verbose=True).fit(X, y),
    "RLSClassifier": lambda model: model(verbose=True).fit(X, y > 0),
    "RankSVM": lambda model: model(verbose=True).fit(X, y, qid=qid),
    "BradleyTerry": lambda model: model(verbose=True).fit_pairs(X, pairs),
    "Leaderboard": lambda model: model(verbose=True).fit(["a", "b", "a"], ["b", "c", "c"]),
    "CoRankRLS": lambda model: model(verbose=True).fit(X, y, qid=qid, X_unscored=X + 1, qid_unscored=qid),
    "CoRankRLSCV": lambda model: model(verbose=True).fit(X, y, qid=qid, X_unscored=X + 1, qid_unscored=qid),
    "TransductiveRankRLS": lambda model: model(verbose=True).fit(X, np.where(qid < 2, np.nan, y), qid=qid),
    "TransductiveRankRLSCV": lambda model: model([0.1, 1.0, 10.0], verbose=True).fit(
        X, np.where(qid < 2, np.nan, y), qid=qid
    ),
    "GreedyRankRLS": lambda model: model(2, verbose=True).fit(X, y, qid=qid),
    "GreedyRLS": lambda model: model(2, verbose=True).fit(X, y),
    "MaxMarginClustering": lambda model: model(verbose=True).fit(X),
    "RankRLSCV": lambda model: model(verbose=True).fit(X, y, qid=qid),
    "OrdinalRanker": lambda model: model(cv=3, verbose=True).fit(X, y > 0, qid=qid),
    "CalibratedRanker": lambda model: model(cv=3, verbose=True).fit(X, y > 0),
    "KernelSumRankRLSCV": lambda model: model(cv=3, verbose=True).fit(X, y, qid=qid),
    "RLSCV": lambda model: model([0.1, 1.0, 10.0], verbose=True).fit(X, y),
    "RLSClassifierCV": lambda model: model([0.1, 1.0, 10.0], verbose=True).fit(X, y > 0),
    "MetricRankRLSCV": lambda model: model([0.1, 1.0], rounds=1, cv=3, verbose=True).fit(X, y, qid=qid),
    "MetricRLSCV": lambda model: model([0.1, 1.0], rounds=1, cv=3, verbose=True).fit(X, y),
    "MetricRLSClassifierCV": lambda model: model([0.1, 1.0], rounds=1, cv=3, verbose=True).fit(X, y > 0),
    "KroneckerRLS": lambda model: model(verbose=True).fit(ROWS, COLUMNS, Y),
    "KroneckerRankRLS": lambda model: model(verbose=True).fit(ROWS, COLUMNS, Y),
    "TwoStepRLS": lambda model: model(verbose=True).fit(ROWS, COLUMNS, Y),
    "KroneckerRLSCV": lambda model: model([0.1, 1.0, 10.0], verbose=True).fit(ROWS, COLUMNS, Y),
    "KroneckerRankRLSCV": lambda model: model([0.1, 1.0, 10.0], verbose=True).fit(ROWS, COLUMNS, Y),
    "TwoStepRLSCV": lambda model: model(verbose=True).fit(ROWS, COLUMNS, Y),
}


def test_every_learner_is_verbose_here():
    public = {name: getattr(kr, name) for name in kr.__all__}
    learners = {name for name, thing in public.items() if isinstance(thing, type) and hasattr(thing, "fit")}
    assert learners - {"AllPathsVectorizer", "NystromMap"} == set(FITS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITS)
def test_a_verbose_fit_says_how_long_it_took(capsys, name):
    FITS[name](getattr(kr, name))
    lines = capsys.readouterr().err.splitlines()
    fit = "fit_pairs" if name == "BradleyTerry" else "fit"
    assert lines[0] == f"{name}.{fit}: started"
    assert lines[-1].startswith(f"{name}.{fit}: ")
    assert ("iterations" in lines[-1]) == (name in ("RankRLS", "RankSVM", "BradleyTerry"))
    assert sum("started" in line for line in lines) == 1


positive = y > np.median(y)
few = slice(0, 12)
CALLS = {
    "estimate_auc": lambda call, model: call(model, X[few], positive[few], verbose=True),
    "compare_auc": lambda call, model: call(model, X[few, 0], X[few], positive[few], verbose=True),
    "tournament_roc": lambda call, model: call(model, X[few], positive[few], verbose=True),
    "permutation_test": lambda call, model: call(model, X, y, qid=qid, n_permutations=5, random_state=0, verbose=True),
    "permutation_importance": lambda call, model: call(
        model.fit(X, y, qid=qid), X, y, qid, random_state=0, verbose=True
    ),
    "estimate_concordance": lambda call, model: call(model, X, y, verbose=True),
    "holdout": lambda call, model: call(model, X, y, [[0, 1], [2]], qid=qid, verbose=True),
    "leave_one_out": lambda call, model: call(model, X, y, verbose=True),
    "leave_query_out": lambda call, model: call(model, X, y, qid, verbose=True),
    "leave_pair_out": lambda call, model: call(model, X[few], y[few], verbose=True),
    "leave_preferences_out": lambda call, model: call(model, X, pairs, verbose=True),
    "selection_curve": lambda call, model: call(kr.GreedyRankRLS(2), X, y, qid=qid, cv=3, verbose=True),
    "selection_stability": lambda call, model: call(kr.GreedyRankRLS(2), X, y, qid=qid, n_subsamples=3, verbose=True),
    "dyadic_holdout": lambda call, model: call(kr.KroneckerRLS(), ROWS, COLUMNS, Y, verbose=True),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_a_verbose_call_says_how_long_it_took(capsys, name):
    # A model that talks is held out from in silence: the call talks.
    CALLS[name](getattr(kr, name), kr.RankRLS(verbose=name != "permutation_importance"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"{name}: started"
    assert re.fullmatch(rf"{name}: \d+\.\d s", lines[-1])
    assert sum("started" in line for line in lines) == 1


def test_the_model_of_a_hold_out_is_silent(capsys):
    kr.leave_query_out(kr.RankSVM(verbose=True), X, y, qid)
    assert capsys.readouterr().err == ""

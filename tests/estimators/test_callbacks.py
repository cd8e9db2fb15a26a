"""Callbacks of scikit-learn ≥ 1.9 hear of the fit, and of every iteration inside."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.data import make_ranking
from kernelrank.estimators import RLS, RankRLS, TransductiveRankRLS

callback = pytest.importorskip("sklearn.callback")

X, y, qid = make_ranking(n_queries=6, n_items=6, n_features=5, random_state=0)


class Listener:
    """Keeps what it hears, and asks to stop after some iterations."""

    def __init__(self, stop_after=None):
        self.heard = []
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.heard.append(f"begin {context.task_name}")
        self.X, self.y = X, y

    def on_fit_task_end(self, estimator, context):
        self.heard.append(f"end {context.task_name}")
        return self.stop_after is not None and self.iterations >= self.stop_after

    @property
    def iterations(self):
        return self.heard.count("end iteration")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("kind", [RLS, RankRLS])
def test_iterations_are_heard(kind, kernel):
    listener = Listener()
    model = kind(kernel=kernel, solver="conjugate_gradient").set_callbacks(listener).fit(X, y, qid=qid)
    assert listener.iterations == model.n_iter_ > 1
    assert listener.heard[:3] == ["setup", "begin fit", "begin iteration"]
    assert listener.heard[-3:] == ["end iteration", "end fit", "teardown"]
    np.testing.assert_array_equal(listener.X, X)
    quiet = kind(kernel=kernel, solver="conjugate_gradient").fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.predict(X), quiet.predict(X))


def test_direct_solver_has_no_iterations():
    listener = Listener()
    RankRLS().set_callbacks(listener).fit(X, y, qid=qid)
    assert listener.heard == ["setup", "begin fit", "end fit", "teardown"]


def test_preferences_are_heard():
    listener = Listener()
    RankRLS(solver="conjugate_gradient").set_callbacks(listener).fit_pairs(X, [[0, 1], [2, 3], [4, 5]])
    assert listener.iterations > 0
    assert listener.y is None


def test_callback_may_stop_the_iterations():
    listener = Listener(stop_after=2)
    model = RankRLS(solver="conjugate_gradient").set_callbacks(listener)
    model.fit(X, y, qid=qid)  # who asked for the stop needs no warning
    assert model.n_iter_ == listener.iterations == 2


def test_listener_is_let_go_when_the_fit_fails():
    listener = Listener()
    model = RankRLS(solver="conjugate_gradient", basis=[99]).set_callbacks(listener)
    with pytest.raises(ValueError, match="basis has the item 99"):
        model.fit(X, y, qid=qid)
    assert listener.heard[-1] == "teardown"
    assert not [name for name in vars(model) if name.endswith("_")]


def test_progress_bar(capsys):
    pytest.importorskip("rich")
    RankRLS(solver="conjugate_gradient").set_callbacks(callback.ProgressBar()).fit(X, y, qid=qid)
    assert "RankRLS" in capsys.readouterr().out


def test_transduction_is_heard():
    listener = Listener()
    unscored = np.where(qid >= 3, np.nan, y)
    model = TransductiveRankRLS().set_callbacks(listener).fit(X, unscored, qid=qid)
    assert listener.heard == ["setup", "begin fit", "end fit", "teardown"]
    with pytest.raises(ValueError, match="at least one unscored query"):
        model.fit(X, y, qid=qid)
    assert listener.heard[-1] == "teardown"

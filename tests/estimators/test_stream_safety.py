"""A stream says when it is no longer the model of one fit: wrong items, other parameters, lost digits."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError, LostDigitsWarning, ModelFileError, NothingToCompareError
from kernelrank.estimators import RLS, RankRLS
from kernelrank.persistence import load, save

X, y, qid = make_ranking(n_queries=20, n_items=(2, 9), n_features=4, n_levels=4, random_state=0)
X = np.asarray(X)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def state(model):
    """All that a refusal must leave as it was."""
    stream = model._stream
    return [model.coef_.copy(), stream.gram.copy(), stream.right.copy(), dict(stream.fingerprints), stream.n_pairs]


def assert_untouched(model, before):
    for found, expected in zip(state(model), before, strict=True):
        np.testing.assert_equal(found, expected)


# Other items ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"ties": "exclude"}, {"cost": "relative"}])
@pytest.mark.parametrize("what", ["items", "scores", "weights", "an item less", "an item more", "two items swapped"])
def test_other_items_under_a_known_label_are_refused(what, options):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = RankRLS(**options).partial_fit(X, y, qid=qid, sample_weight=weight)
    before = state(model)
    items = np.flatnonzero(np.isin(qid, qid[[0, -1]]))
    if what == "an item less":
        items = items[:-1]
    elif what == "an item more":
        items = np.append(items, items[-1])
    wrong = X[items], y[items], weight[items]
    if what == "two items swapped":
        wrong[0][[0, 1]] = wrong[0][[1, 0]]
    elif what in ("items", "scores", "weights"):
        values = wrong[["items", "scores", "weights"].index(what)]
        values[-1] = np.nextafter(values[-1], np.inf)
    with pytest.raises(InvalidInputError, match="was learnt with other items, scores or weights"):
        model.forget(wrong[0], wrong[1], qid=qid[items], sample_weight=wrong[2])
    assert_untouched(model, before)


@pytest.mark.parametrize("form", [np.asfortranarray, sparse.csr_array, sparse.csc_matrix, lambda X: X - 0.0])
def test_the_same_items_are_known_in_any_order_and_form(form):
    items = X.copy()
    items[items < 0] = 0.0
    model = RankRLS().partial_fit(items, y, qid=qid)
    gone = np.flatnonzero(qid < 5)
    order = np.random.default_rng(0).permutation(gone)
    model.forget(form(np.where(items == 0.0, -0.0, items)[order]), y[order], qid=qid[order])
    kept = np.setdiff1d(np.arange(len(y)), gone)
    close(model.coef_, RankRLS().fit(items[kept], y[kept], qid=qid[kept]).coef_)


def test_files_and_streams_know_their_queries_too():
    model = RankRLS().fit_stream([(X[qid < 5], y[qid < 5], qid[qid < 5]), (X[qid >= 5], y[qid >= 5], qid[qid >= 5])])
    with pytest.raises(InvalidInputError, match="query 7 was learnt with other items"):
        model.forget(X[qid == 8], y[qid == 8], qid=np.full((qid == 8).sum(), 7))
    model.forget(X[qid == 8], y[qid == 8], qid=qid[qid == 8])
    close(model.coef_, RankRLS().fit(X[qid != 8], y[qid != 8], qid=qid[qid != 8]).coef_)


def test_all_queries_forgotten_leave_nothing_to_compare():
    model = RankRLS().partial_fit(X, y, qid=qid)
    before = state(model)
    with pytest.raises(NothingToCompareError, match="nothing to compare"):
        model.forget(X, y, qid=qid)
    assert_untouched(model, before)


def test_regression_refuses_what_cannot_have_been_learnt():
    model = RLS().partial_fit(X, y)
    with pytest.raises(InvalidInputError, match="not in any earlier batch"):
        model.forget(10 * X[:3], y[:3])
    with pytest.raises(InvalidInputError, match="not in any earlier batch"):
        model.forget(0.1 * np.vstack([X, X]), np.append(y, y))
    close(model.forget(X[:3], y[:3]).coef_, RLS().fit(X[3:], y[3:]).coef_)


# Other parameters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cost", "unit"),
        ("ties", "exclude"),
        ("query_weight", "items"),
        ("kernel", "linear"),
        ("kernel", RBF(2.0)),
        ("gamma", 0.5),
        ("degree", 2),
        ("coef0", 0.0),
        ("kernel_params", {"degree": 2}),
        ("basis", 5),
        ("basis", [0, 1, 2]),
        ("basis", None),
    ],
)
def test_a_parameter_that_changes_the_problem_is_named(name, value):
    first = qid < 10
    model = RankRLS(kernel="rbf", gamma=0.3, basis=8, random_state=0).partial_fit(X[first], y[first], qid=qid[first])
    before = model.dual_coef_.copy()
    was = getattr(model, name)
    model.set_params(**{name: value})
    with pytest.raises(InvalidInputError, match=f"{name}=.* in the first batch and {name}=.* now"):
        model.partial_fit(X[~first], y[~first], qid=qid[~first])
    with pytest.raises(InvalidInputError, match=f"{name}=.* in the first batch"):
        model.forget(X[qid == 3], y[qid == 3], qid=qid[qid == 3])
    np.testing.assert_array_equal(model.dual_coef_, before)
    assert hasattr(model, "fit_stream") == ((name, value) != ("basis", None))
    model.set_params(**{name: was}).partial_fit(X[~first], y[~first], qid=qid[~first])


def test_a_parameter_changed_in_place_is_noticed_and_alpha_may_change():
    first = qid < 10
    basis = np.arange(6)
    model = RankRLS(kernel=RBF(1.0), basis=basis).partial_fit(X[first], y[first], qid=qid[first])
    basis[0] = 7
    with pytest.raises(InvalidInputError, match="basis="):
        model.partial_fit(X[~first], y[~first], qid=qid[~first])
    basis[0] = 0
    model.kernel.length_scale = 2.0
    with pytest.raises(InvalidInputError, match="kernel="):
        model.partial_fit(X[~first], y[~first], qid=qid[~first])
    model.kernel.length_scale = 1.0
    model.set_params(alpha=7.0, solver="spectral", random_state=3).partial_fit(X[~first], y[~first], qid=qid[~first])
    expected = RankRLS(7.0, kernel=RBF(1.0), basis=np.arange(6)).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-9, atol=1e-10)


def test_a_kernel_without_equality_is_the_same_as_itself():
    class Product:
        def __call__(self, a, b):
            return float(a @ b)

    first = qid < 10
    model = RankRLS(kernel=Product(), basis=4, random_state=0).partial_fit(X[first], y[first], qid=qid[first])
    model.partial_fit(X[~first], y[~first], qid=qid[~first])
    with pytest.raises(InvalidInputError, match="kernel="):
        model.set_params(kernel=Product()).partial_fit(X, y, qid=qid + 100)


# Lost digits ------------------------------------------------------------------------------------------------------


def large_query(scale, *, of_scores=1.0):
    items, scores, large = X.copy(), y.copy(), qid == 11
    items[large] *= scale
    scores[large] *= of_scores
    return items, scores, large


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(("scale", "of_scores"), [(1e5, 1.0), (1e6, 1.0), (3e6, 1.0), (1.0, 1e10), (1e3, 1e6)])
def test_a_large_query_that_is_forgotten_leaves_its_rounding(scale, of_scores, together):
    items, scores, large = large_query(scale, of_scores=of_scores)
    model = RankRLS()
    for part in [qid >= 0] if together else [qid < 8, (qid >= 8) & (qid < 12), qid >= 12]:
        model.partial_fit(items[part], scores[part], qid=qid[part])
    with pytest.warns(LostDigitsWarning, match="expect a relative error of .* Refit") as caught:
        model.forget(items[large], scores[large], qid=qid[large])
    expected = RankRLS().fit(items[~large], scores[~large], qid=qid[~large]).coef_
    error = np.linalg.norm(model.coef_ - expected) / np.linalg.norm(expected)
    said = float(str(caught[0].message).split("error of ")[1].split(" ")[0])
    assert error < 2 * said < 1000 * error


def test_rounding_that_drowns_the_rest_is_refused():
    items, scores, large = large_query(1e9)
    model = RankRLS().partial_fit(items, scores, qid=qid)
    before = state(model)
    with pytest.raises(InvalidInputError, match="only rounding errors would remain: refit on the others"):
        model.forget(items[large], scores[large], qid=qid[large])
    assert_untouched(model, before)


def test_one_large_column_and_several_outputs_are_noticed():
    items, large = X.copy(), qid == 11
    items[large, 2] *= 1e6
    Y = np.column_stack([y, X[:, 0]])
    model = RankRLS().partial_fit(items, Y, qid=qid)
    with pytest.warns(LostDigitsWarning):
        model.forget(items[large], Y[large], qid=qid[large])
    with pytest.warns(LostDigitsWarning):
        RLS().partial_fit(items, y).forget(items[large], y[large])


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_ordinary_queries_come_and_go_in_silence(scale):
    items, scores, _ = large_query(scale)
    model = RankRLS(1e-6)
    for number in range(60):
        q = number % 20
        part = qid == q
        if number >= 10:
            gone = qid == (number - 10) % 20
            model.forget(items[gone], scores[gone], qid=qid[gone])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.partial_fit(items[part], scores[part], qid=qid[part])
    kept = qid >= 10
    expected = RankRLS(1e-6).fit(items[kept], scores[kept], qid=qid[kept]).coef_
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-9)


# Files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["whole", "mergeable"])
@pytest.mark.parametrize(
    "learner",
    [RankRLS(), RankRLS(kernel="gaussian", gamma=0.3, basis=8, random_state=0), RLS(), RankRLS(cost="unit")],
    ids=["linear", "basis", "RLS", "unit"],
)
@pytest.mark.parametrize("name", [int, lambda q: f"query {q}", lambda q: ("q", int(q))], ids=["int", "text", "tuple"])
def test_a_loaded_stream_goes_on_to_the_bit(learner, mode, name, tmp_path):
    if mode == "mergeable" and (learner.cost == "unit" if isinstance(learner, RankRLS) else True):
        pytest.skip("cannot be merged")
    labels = np.empty(len(qid), dtype=object)
    labels[:] = [name(q) for q in qid]
    parts = [np.flatnonzero(qid % 4 == part) for part in range(4)]
    if mode == "mergeable":
        parts = [np.arange(part, len(qid), 4) for part in range(4)]

    def learn(model, part, method="partial_fit"):
        options = {"queries": mode} if method == "partial_fit" else {}
        return getattr(model, method)(X[part], y[part], qid=labels[part], **options)

    model = learn(learn(clone(learner), parts[0]), parts[1])
    if mode == "whole":
        learn(model, parts[0], "forget")
    path = tmp_path / "model.kr"
    save(model, path)
    loaded = load(path)
    for part in parts[2:]:
        learn(model, part)
        learn(loaded, part)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert (loaded.n_queries_, loaded.n_pairs_) == (model.n_queries_, model.n_pairs_)
        save(loaded, path)
        loaded = load(path)
    if mode == "whole":
        np.testing.assert_array_equal(
            learn(loaded, parts[1], "forget").predict(X), learn(model, parts[1], "forget").predict(X)
        )
        if isinstance(learner, RankRLS):
            with pytest.raises(InvalidInputError, match="was in an earlier batch"):
                learn(loaded, parts[2])
    assert loaded.set_params(alpha=3.0).fit(X, y, qid=qid).alpha == 3.0
    assert not hasattr(loaded, "_stream")


def test_statistics_can_be_left_out_of_a_file(tmp_path):
    first = qid < 10
    model = RankRLS().partial_fit(X[first], y[first], qid=qid[first])
    save(model, tmp_path / "model.kr", statistics=False)
    loaded = load(tmp_path / "model.kr")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    with pytest.warns(UserWarning, match="starts again from nothing"):
        loaded.partial_fit(X[~first], y[~first], qid=qid[~first])


def test_damaged_statistics_are_refused(tmp_path, monkeypatch):
    model = RankRLS().partial_fit(X, y, qid=qid)
    good = model._stream_record()
    changes = [
        {"gram": good["gram"][1:, 1:]},
        {"gram": good["gram"][:, :-1]},
        {"gram": np.full_like(good["gram"], np.nan)},
        {"right": good["right"][:, 0]},
        {"rounding_gram": np.zeros(1)},
        {"mode": "other"},
        {"mode": 3},
        {"labels": good["labels"][1:]},
        {"fingerprints": ["a"] * len(good["labels"])},
        {"n_items": -1},
        {"forgot": "no"},
        {"moments": [{"n_items": 1}]},
    ]
    for record in [
        *({**good, **change} for change in changes),
        *({k: good[k] for k in good if k != out} for out in good),
    ]:
        monkeypatch.setattr(RankRLS, "_stream_record", lambda _, record=record: record)
        save(model, tmp_path / "model.kr")
        with pytest.raises(ModelFileError):
            load(tmp_path / "model.kr")


def test_a_stream_is_copied_pickled_and_saved(tmp_path):
    first = qid < 10
    model = RankRLS().partial_fit(X[first], y[first], qid=qid[first])
    expected = RankRLS().fit(X, y, qid=qid).coef_
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        close(other.partial_fit(X[~first], y[~first], qid=qid[~first]).coef_, expected)
    save(model, tmp_path / "model.kr")
    np.testing.assert_array_equal(load(tmp_path / "model.kr").coef_, model.coef_)
    assert not hasattr(clone(model), "_stream")
    close(model.partial_fit(X[~first], y[~first], qid=qid[~first]).coef_, expected)


# Counts -----------------------------------------------------------------------------------------------------------


def test_pairs_across_batches_are_counted():
    model = RankRLS()
    for part in np.array_split(np.random.default_rng(0).permutation(len(y)), 5):
        model.partial_fit(X[part], y[part], qid=qid[part], queries="mergeable")
    expected = RankRLS().fit(X, y, qid=qid)
    for name in ("n_queries_", "n_pairs_", "n_idle_queries_"):
        assert getattr(model, name) == getattr(expected, name), name

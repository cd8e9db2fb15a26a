"""Model files: what is saved comes back to the last bit, and what cannot be kept is refused."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.gaussian_process import kernels
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import validate_data

import kernelrank
from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError
from kernelrank.persistence import model_files
from kernelrank.persistence.model_files import load, register, save


class Mean(BaseEstimator):
    """The smallest estimator that has parameters, fitted attributes and things it forgets."""

    def __init__(self, alpha=1.0, kernel="linear", random_state=None):
        self.alpha = alpha
        self.kernel = kernel
        self.random_state = random_state

    def fit(self, X):
        X = validate_data(self, X)
        self.coef_ = X.mean(axis=0) * self.alpha
        self._cache = object()
        return self

    def predict(self, X):
        return X @ self.coef_


class Stranger(BaseEstimator):
    pass


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(model_files, "REGISTRY", dict(model_files.REGISTRY))
    register("Mean", f"{__name__}:Mean")


def fitted(**values):
    model = Mean()
    vars(model).update(values)
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


def round_trip(model, folder):
    save(model, folder / "model.kr")
    return load(folder / "model.kr")


def same(a, b):
    """Whether two values are the same in type, structure and every bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype == object:
            return all(same(x, y) for x, y in zip(a.flat, b.flat, strict=True))
        return a.tobytes() == b.tobytes() and a.flags.f_contiguous == b.flags.f_contiguous
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if sparse.issparse(a):
        return a.shape == b.shape and all(same(getattr(a, p), getattr(b, p)) for p in ("data", "indices", "indptr"))
    return repr(a) == repr(b)


class TestRoundTrip:
    def test_predictions_are_the_same_to_the_last_bit(self, folder):
        X = np.random.default_rng(0).standard_normal((30, 7))
        model = Mean(alpha=0.1).fit(X)
        again = round_trip(model, folder)
        assert again.predict(X).tobytes() == model.predict(X).tobytes()
        assert again.get_params() == model.get_params()
        assert again.n_features_in_ == 7
        assert not hasattr(again, "_cache")

    def test_names_of_features(self, folder):
        pandas = pytest.importorskip("pandas")
        model = Mean().fit(pandas.DataFrame({"a": [1.0, 2.0], "größe": [3.0, 4.0]}))
        assert same(round_trip(model, folder).feature_names_in_, model.feature_names_in_)

    @pytest.mark.parametrize(
        "value",
        [
            None,
            True,
            0,
            -(10**30),
            0.1,
            -0.0,
            float("inf"),
            float("nan"),
            5e-324,
            "text \ud800 \N{SNOWMAN}",
            [],
            (1, [2.0, (None,)], {"a": {"b": [1]}}),
            np.float32(0.1),
            np.int8(-3),
            np.bool_(True),
            np.str_("x"),
            np.datetime64("2020-01-01", "ns"),
            np.zeros((0, 3)),
            np.array(2.5),
            np.arange(6.0).reshape(2, 3),
            np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            np.arange(20)[::3],
            np.array([1, 2], dtype=">i2"),
            np.array([1 + 2j]),
            np.array(["a", "bcd"]),
            np.array([b"a"]),
            np.array(["NaT", "2020"], dtype="M8[D]"),
            np.array(["a", 1, None, (1, 2)], dtype=object)[:3],
            np.float64("nan"),
            sparse.csr_array(np.eye(3)),
            sparse.csr_matrix(np.eye(3, dtype=np.float32)),
            sparse.csc_array((0, 4)),
            sparse.csc_matrix(np.arange(6).reshape(2, 3)),
        ],
        ids=lambda value: f"{type(value).__name__}-{str(value)[:12]!a}",
    )
    def test_values(self, value, folder):
        again = round_trip(fitted(value_=value, alpha=value), folder)
        if isinstance(value, np.ndarray) and not (value.flags.c_contiguous or value.flags.f_contiguous):
            value = np.ascontiguousarray(value)
        assert same(again.value_, value)
        assert same(again.alpha, value)

    def test_wide_indices_of_sparse_arrays_stay_wide(self, folder):
        X = sparse.csr_array(np.eye(3))
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        assert same(round_trip(fitted(X_=X), folder).X_, X)

    def test_an_array_that_occurs_twice_is_kept_once(self, folder):
        array = np.zeros(1000)
        again = round_trip(fitted(a_=array, b_=[array]), folder)
        assert again.a_ is again.b_[0]
        assert (folder / "model.kr").stat().st_size < 12_000

    def test_read_only_and_mapped_arrays(self, folder):
        array = np.arange(5.0)
        array.flags.writeable = False
        np.save(folder / "array.npy", array)
        again = round_trip(fitted(a_=array, b_=np.load(folder / "array.npy", mmap_mode="r")), folder)
        assert same(again.a_, np.arange(5.0))
        assert same(again.b_, np.arange(5.0))

    @pytest.mark.parametrize(
        "kernel",
        [
            kernels.RBF(length_scale=[0.5, 2.0]) + 2.0 * kernels.Matern(nu=2.5) ** 2,
            kernels.CompoundKernel([kernels.WhiteKernel(0.1), kernels.DotProduct()]),
            kernels.ExpSineSquared() * kernels.RationalQuadratic(alpha=0.3, alpha_bounds="fixed"),
            kernels.PairwiseKernel(metric="polynomial", pairwise_kernels_kwargs={"degree": 2}),
        ],
        ids=lambda kernel: type(kernel).__name__,
    )
    def test_gaussian_process_kernels(self, kernel, folder):
        again = round_trip(fitted(coef_=1.0, kernel=kernel), folder).kernel
        assert again == kernel
        X = np.random.default_rng(1).standard_normal((4, 2))
        assert np.asarray(again(X)).tobytes() == np.asarray(kernel(X)).tobytes()

    def test_estimators_within_estimators(self, folder):
        inner = fitted(coef_=np.arange(3.0))
        again = round_trip(fitted(views_=[inner, fitted(coef_=2.0)]), folder)
        assert same(again.views_[0].coef_, inner.coef_)
        assert again.views_[1].coef_ == 2.0

    @given(
        hnp.arrays(
            dtype=st.one_of(
                hnp.floating_dtypes(), hnp.integer_dtypes(), hnp.boolean_dtypes(), hnp.unicode_string_dtypes()
            ),
            shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
        )
    )
    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_array(self, folder, array):
        assert same(round_trip(fitted(a_=array), folder).a_, array)

    PLAIN = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    )

    @given(PLAIN)
    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_plain_value(self, folder, value):
        assert same(round_trip(fitted(a_=value), folder).a_, value)

    def test_the_same_model_makes_the_same_file(self, folder):
        save(fitted(a_=np.arange(3)), folder / "one.kr")
        save(fitted(a_=np.arange(3)), folder / "two.kr")
        assert (folder / "one.kr").read_bytes() == (folder / "two.kr").read_bytes()


class TestEstimators:
    """The estimators of the package, in each form that their fitted state takes."""

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"kernel": "rbf", "gamma": 0.3},
            {"kernel": "rbf", "basis": 5, "random_state": 0},
            {"kernel": "polynomial", "kernel_params": {"gamma": 0.5}},
            {"kernel": kernels.RBF(0.7) + kernels.DotProduct()},
            {"basis": [0, 3, 7]},
            {"solver": "conjugate_gradient", "alpha": np.float32(0.5)},
        ],
        ids=lambda options: "-".join(options),
    )
    @pytest.mark.parametrize("sparse_input", [False, True], ids=["dense", "sparse"])
    @pytest.mark.parametrize("name", ["RLS", "RankRLS"])
    def test_predictions_are_the_same_to_the_last_bit(self, folder, name, options, sparse_input):
        if sparse_input and isinstance(options.get("kernel"), kernels.Kernel):
            pytest.skip("scikit-learn's Gaussian-process kernels take dense items")
        X, y, qid = make_ranking(4, 6, 5, qid_type="str", density=0.6 if sparse_input else None, random_state=0)
        estimator = getattr(kernelrank, name)(**options)
        estimator.fit(X, y, **({"qid": qid} if name == "RankRLS" else {}))
        again = round_trip(estimator, folder)
        assert type(again) is type(estimator)
        assert again.predict(X).tobytes() == estimator.predict(X).tobytes()
        assert set(vars(again)) >= {key for key in vars(estimator) if key.endswith("_")}
        for key, value in again.get_params(deep=False).items():
            assert same(value, estimator.get_params(deep=False)[key]), key

    def test_names_of_features_and_several_outputs(self, folder):
        pandas = pytest.importorskip("pandas")
        X = pandas.DataFrame(np.random.default_rng(0).standard_normal((9, 2)), columns=["a", "b"])
        estimator = kernelrank.RankRLS(kernel="rbf").fit(X, X.to_numpy())
        again = round_trip(estimator, folder)
        assert again.predict(X).tobytes() == estimator.predict(X).tobytes()
        assert again.feature_names_in_.tolist() == ["a", "b"]

    def test_a_pipeline(self, folder):
        X, y, qid = make_ranking(n_queries=5, random_state=0)
        model = Pipeline([("scale", StandardScaler()), ("rank", kernelrank.RankRLS(kernel="rbf"))])
        model.fit(X, y, rank__qid=qid)
        again = round_trip(model, folder)
        assert again.predict(X).tobytes() == model.predict(X).tobytes()
        assert list(again.named_steps) == ["scale", "rank"]

    def test_every_registered_class_exists(self):
        for name, place in model_files.REGISTRY.items():
            assert model_files._resolve(name).__name__ == name, place


class TestRefusedOnSave:
    def refuse(self, tmp_path, model, pattern):
        (tmp_path / "model.kr").write_bytes(b"old")
        with pytest.raises(InvalidInputError, match=pattern):
            save(model, tmp_path / "model.kr")
        assert [p.name for p in tmp_path.iterdir()] == ["model.kr"]
        assert (tmp_path / "model.kr").read_bytes() == b"old"

    def test_not_fitted(self, tmp_path):
        self.refuse(tmp_path, Mean(), "cannot save Mean: it is not fitted")

    def test_a_pipeline_that_is_not_fitted(self, tmp_path):
        scaler = StandardScaler().fit([[1.0]])
        model = Pipeline([("scale", scaler), ("rank", kernelrank.RankRLS())])
        self.refuse(tmp_path, model, r"cannot save the parameter steps of Pipeline\[1\]\[1\]: it is not fitted")

    def test_a_pipeline_with_a_cache(self, tmp_path):
        model = Pipeline([("scale", StandardScaler().fit([[1.0]]))], memory="cache")
        self.refuse(tmp_path, model, "cannot save Pipeline: it has a cache")

    def test_not_registered(self, tmp_path):
        self.refuse(tmp_path, Stranger(), "cannot save Stranger: the class is not registered")

    def test_a_subclass_of_the_same_name(self, tmp_path):
        impostor = type("Mean", (Mean,), {})()
        self.refuse(tmp_path, impostor, "not registered")

    def test_a_function_as_kernel(self, tmp_path):
        self.refuse(tmp_path, fitted(coef_=1.0, kernel=np.dot), "the parameter kernel of Mean: it is code")

    def test_a_function_in_a_kernel(self, tmp_path):
        kernel = 2.0 * kernels.PairwiseKernel(metric=np.dot)
        self.refuse(tmp_path, fitted(coef_=1.0, kernel=kernel), r"\['k2'\]\['metric'\]: it is code")

    @pytest.mark.parametrize("state", [np.random.RandomState(0), np.random.default_rng(0)])
    def test_random_number_generators(self, tmp_path, state):
        self.refuse(tmp_path, fitted(coef_=1.0, random_state=state), "random_state of Mean: .* an integer or None")

    @pytest.mark.parametrize(
        ("value", "pattern"),
        [
            (object(), "attribute a_ of Mean: a builtins.object is not data"),
            ({1: 2}, "keys that are not strings"),
            ({"x": {1, 2}}, r"a_ of Mean\['x'\]: a builtins.set"),
            (np.array([object()]), "a_ of Mean, entry 0"),
            (np.zeros(2, dtype=[("x", float)]), "an array of"),
            (np.ma.masked_array([1.0], mask=[True]), "MaskedArray"),
            (sparse.coo_array(np.eye(2)), "coo_array"),
            (1 << 20_000, "10000 bits"),
            (Stranger(), "Stranger is not data"),
        ],
        ids=range(9),
    )
    def test_values(self, tmp_path, value, pattern):
        self.refuse(tmp_path, fitted(a_=value), pattern)

    def test_a_list_in_itself(self, tmp_path):
        endless = []
        endless.append(endless)
        self.refuse(tmp_path, fitted(a_=endless), "nested too deeply")

    def test_an_unfitted_estimator_within(self, tmp_path):
        self.refuse(tmp_path, fitted(a_=Mean()), "attribute a_ of Mean: it is not fitted")

    def test_register(self):
        with pytest.raises(InvalidInputError, match="already registered"):
            register("Mean", "somewhere.else:Mean")
        with pytest.raises(InvalidInputError, match=r"package\.module:Class"):
            register("Other", "os.system")


class TestAtomic:
    def test_interrupted_writes_leave_the_old_file(self, tmp_path, monkeypatch):
        save(fitted(a_=1), tmp_path / "model.kr")

        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(model_files, "write_container", interrupt)
        with pytest.raises(KeyboardInterrupt):
            save(fitted(a_=2), tmp_path / "model.kr")
        assert load(tmp_path / "model.kr").a_ == 1
        assert [p.name for p in tmp_path.iterdir()] == ["model.kr"]

    @pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
    def test_permissions_and_links(self, tmp_path):
        save(fitted(a_=1), tmp_path / "model.kr")
        assert stat.S_IMODE((tmp_path / "model.kr").stat().st_mode) != 0o600
        (tmp_path / "model.kr").chmod(0o640)
        (tmp_path / "link.kr").symlink_to("model.kr")
        save(fitted(a_=2), tmp_path / "link.kr")
        assert load(tmp_path / "model.kr").a_ == 2
        assert stat.S_IMODE((tmp_path / "model.kr").stat().st_mode) == 0o640
        assert (tmp_path / "link.kr").is_symlink()

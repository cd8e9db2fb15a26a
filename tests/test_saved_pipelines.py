"""Pipelines with scikit-learn's usual preprocessing come back from a file to the bit, and damaged ones are refused."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import kernelrank as kr
from kernelrank.errors import InvalidInputError, ModelFileError


def table(m=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((m, 3)), columns=["age", "dose", "marker"])
    frame["stage"] = rng.choice(["I", "II", "III", "IV"], m, p=[0.4, 0.3, 0.28, 0.02])
    frame["sex"] = rng.choice(["f", "m"], m)
    frame.loc[rng.random(m) < 0.1, "age"] = np.nan
    return frame, frame["dose"].to_numpy() + (frame["stage"] == "III")


NUMBERS, WORDS = ["age", "dose", "marker"], ["stage", "sex"]
COLUMNS = {
    "usual": ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), NUMBERS),
            ("words", OneHotEncoder(handle_unknown="ignore"), WORDS),
        ]
    ),
    "chosen by type": ColumnTransformer(
        [
            ("numbers", SimpleImputer(add_indicator=True), make_column_selector(dtype_include="number")),
            ("words", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), WORDS),
        ]
    ),
    "remainder": ColumnTransformer(
        [("words", OneHotEncoder(drop="first", min_frequency=3, sparse_output=False), WORDS)],
        remainder=SimpleImputer(strategy="constant", fill_value=0.0),
    ),
    "passthrough": ColumnTransformer(
        [("words", OneHotEncoder(dtype=np.float32), ["sex"]), ("plain", "passthrough", ["dose", "marker"])]
    ),
}
STEPS = {
    "MinMaxScaler": MinMaxScaler(),
    "MaxAbsScaler": MaxAbsScaler(),
    "RobustScaler": RobustScaler(),
    "no centre": RobustScaler(with_centering=False),
    "Normalizer": Normalizer(),
    "PCA": PCA(2, whiten=True),
    "TruncatedSVD": TruncatedSVD(2, random_state=0),
    "VarianceThreshold": VarianceThreshold(),
    "FunctionTransformer": FunctionTransformer(),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_a_frame(name, tmp_path):
    X, y = table()
    model = make_pipeline(clone(COLUMNS[name]), kr.RankRLS()).fit(X, y)
    kr.save(model, tmp_path / "model.kr")
    loaded = kr.load(tmp_path / "model.kr")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    strange = X.assign(stage="V") if name in ("usual", "chosen by type") else X
    np.testing.assert_array_equal(loaded.predict(strange), model.predict(strange))
    again = clone(loaded).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    kr.save(loaded, tmp_path / "again.kr")
    np.testing.assert_array_equal(kr.load(tmp_path / "again.kr").predict(X), model.predict(X))


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_an_array(name, tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 4))
    model = make_pipeline(clone(STEPS[name]), kr.RankRLS()).fit(X, X[:, 0])
    kr.save(model, tmp_path / "model.kr")
    np.testing.assert_array_equal(kr.load(tmp_path / "model.kr").predict(X), model.predict(X))


def test_functions_are_refused(tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 4))
    model = make_pipeline(FunctionTransformer(np.abs), kr.RankRLS()).fit(X, X[:, 0])
    with pytest.raises(InvalidInputError, match="it is code"):
        kr.save(model, tmp_path / "model.kr")


def test_damaged_transformers_are_refused_or_raise(tmp_path, monkeypatch):
    X, y = table()
    model = make_pipeline(clone(COLUMNS["usual"]), kr.RankRLS()).fit(X, y)
    columns = model[0]
    numbers, words = (one for _, one, _ in columns.transformers_)
    changes = [
        (columns, "_transformer_to_input_indices", {"numbers": [0, 1, 9], "words": [3, 4]}),
        (columns, "n_features_in_", 2),
        (words, "categories_", [np.array(["I"], dtype=object)]),
        (words, "categories_", [np.zeros((2, 2)), np.zeros((2, 2))]),
        (words, "_n_features_outs", [1, 1]),
        (words, "_infrequent_enabled", "no"),
        (numbers[0], "statistics_", np.zeros(2)),
        (numbers[0], "_fit_dtype", 3),
        (numbers[1], "scale_", np.zeros(2)),
    ]
    monkeypatch.setattr("kernelrank.persistence.model_files._state_fault", lambda _: None)
    for number, (owner, name, value) in enumerate(changes):
        before = copy.copy(vars(owner)[name])
        vars(owner)[name] = value
        kr.save(model, tmp_path / f"{number}.kr")
        vars(owner)[name] = before
    monkeypatch.undo()
    for number in range(len(changes)):
        with pytest.raises((ModelFileError, ValueError, IndexError, TypeError, AttributeError)):
            kr.load(tmp_path / f"{number}.kr").predict(X)

"""MLflow's scikit-learn flavour keeps our estimators by skops, with the list of types that it has to trust."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank.persistence import trusted_types


@pytest.mark.filterwarnings("ignore")  # what MLflow warns of is its own
def test_the_how_to_of_mlflow(tmp_path):
    sklearn = pytest.importorskip("mlflow.sklearn", reason="MLflow is not installed")
    pytest.importorskip("skops.io", reason="skops is not installed")
    X, y, qid = kr.make_ranking(n_queries=10, n_features=4, random_state=0)
    model = make_pipeline(StandardScaler(), kr.RankRLSCV())
    model.fit(X, y, rankrlscv__qid=qid)
    options = {"serialization_format": "skops", "skops_trusted_types": trusted_types(), "pip_requirements": []}
    sklearn.save_model(model, tmp_path / "model", **options)
    assert not list((tmp_path / "model").glob("*.pkl"))
    np.testing.assert_array_equal(sklearn.load_model(str(tmp_path / "model")).predict(X), model.predict(X))

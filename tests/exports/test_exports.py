"""What other programs compute from an export is what the model predicts."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import kernelrank as kr
from kernelrank.data import read_table
from kernelrank.errors import InvalidInputError, MissingExtraError
from kernelrank.exports import formula_of
from tests.exports.fitted_models import KERNELS, LINEAR, fitted_models, random_items, scores_of

COHORT = "outcome,age,sex,stage,dose\n" + "".join(
    f"{k % 2},{20 + 7 * k % 50 if k % 5 else ''},{'fmx'[k % 3] if k % 7 else 'NA'},"
    f"{['I', 'II', 'III', ''][k % 4]},{k % 6 / 4}\n"
    for k in range(40)
)


def relative_error(found, expected) -> float:
    """The largest difference, as a share of the spread of the scores."""
    assert np.shape(found) == np.shape(expected)
    return float(np.max(np.abs(found - expected)) / np.ptp(expected))


@pytest.mark.parametrize("name", LINEAR + KERNELS)
def test_the_formula_is_what_the_model_predicts(name):
    X = random_items(50, 1)
    assert relative_error(formula_of(fitted_models()[name]).scores(X), scores_of(fitted_models()[name], X)) < 1e-12


@pytest.mark.parametrize("name", LINEAR + KERNELS)
def test_onnx_is_what_the_model_predicts(name, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnx", reason="onnx is not installed")
    worst = {}
    for dtype, limit in (("float64", 1e-9), ("float32", 1e-4)):
        kr.export(fitted_models()[name], tmp_path / "model.onnx", dtype=dtype)
        session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
        X = random_items(10_000, 2).astype(np.float32)  # numbers that both types hold
        expected = scores_of(fitted_models()[name], X.astype(np.float64))
        for size in (1, 2, 100, 10_000):
            (found,) = session.run(["scores"], {"X": X[:size].astype(dtype)})
            error = np.max(np.abs(found - expected[:size])) / np.ptp(expected)
            assert found.shape == expected[:size].shape
            worst[dtype] = max(worst.get(dtype, 0.0), float(error))
        assert worst[dtype] < limit
    print(f"{name}: " + ", ".join(f"{dtype} {error:.1e}" for dtype, error in worst.items()))


@pytest.mark.parametrize("name", LINEAR + KERNELS)
def test_sql_is_what_the_model_predicts(name, tmp_path):
    path = tmp_path / "score.sql"
    if "cosine" in name:
        with pytest.raises(InvalidInputError, match=r"kernel is cosine. Use onnx, python or json"):
            kr.export(fitted_models()[name], path)
        return
    kr.export(fitted_models()[name], path)
    formula, X = formula_of(fitted_models()[name]), random_items(30, 3)
    expected = scores_of(fitted_models()[name], X)
    query = f"SELECT {path.read_text()} FROM items ORDER BY number"
    if not (formula.terms and not _sqlite_has_exp()):
        assert relative_error(_in_sqlite(query, X).reshape(expected.shape), expected) < 1e-9
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    items = pd.DataFrame(X, columns=formula.feature_names).assign(number=np.arange(len(X)))
    with duckdb.connect() as connection:
        connection.register("items", items)
        found = np.array(connection.execute(query).fetchall())
    assert relative_error(found.reshape(expected.shape), expected) < 1e-9


def _sqlite_has_exp() -> bool:
    with sqlite3.connect(":memory:") as connection:
        try:
            connection.execute("SELECT EXP(1.0), POWER(2.0, 3.0)")
        except sqlite3.OperationalError:
            return False
    return True


def _in_sqlite(query: str, X: np.ndarray) -> np.ndarray:
    with sqlite3.connect(":memory:") as connection:
        names = ", ".join(f'"x{k}" REAL' for k in range(X.shape[1]))
        connection.execute(f"CREATE TABLE items (number INTEGER, {names})")
        rows = [(k, *row) for k, row in enumerate(X.tolist())]
        connection.executemany(f"INSERT INTO items VALUES ({', '.join('?' * (X.shape[1] + 1))})", rows)
        return np.array(connection.execute(query).fetchall())


def test_python_is_what_the_model_predicts_in_a_bare_process(tmp_path):
    """All models in one process, in which only NumPy can be imported."""
    X = random_items(60, 4)
    models = dict(fitted_models())
    positive = np.abs(X[:30])
    for kernel in ("laplacian", "chi2"):
        models[kernel] = kr.RankRLS(kernel=kernel, basis=10, random_state=0).fit(positive, np.arange(30) % 4)
    np.save(tmp_path / "items.npy", np.abs(X))
    for number, model in enumerate(models.values()):
        kr.export(model, tmp_path / f"model{number}.py")
        np.save(tmp_path / f"expected{number}.npy", scores_of(model, np.abs(X)))
    code = f"""
import builtins, runpy, sys
import numpy as np
original = builtins.__import__
def limited(name, globals=None, locals=None, fromlist=(), level=0):
    if level == 0 and name.split(".")[0] in ("kernelrank", "sklearn", "scipy", "pandas"):
        raise ImportError(name)
    return original(name, globals, locals, fromlist, level)
builtins.__import__ = limited
X = np.load("items.npy")
for number in range({len(models)}):
    module = runpy.run_path(f"model{{number}}.py")
    expected = np.load(f"expected{{number}}.npy")
    for items in (X, dict(zip(module["FEATURES"], X.T))):
        found = module["score"](items)
        assert found.shape == expected.shape
        assert np.max(np.abs(found - expected)) <= 1e-9 * np.ptp(expected), number
try:
    module["score"](X[:, :2])
except ValueError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "Expected X of shape (m, 5); got (60, 2)."


@pytest.mark.parametrize("name", LINEAR + KERNELS)
def test_json_has_every_coefficient_with_its_name(name, tmp_path):
    kr.export(fitted_models()[name], tmp_path / "model.json")
    content, formula = json.loads((tmp_path / "model.json").read_text()), formula_of(fitted_models()[name])
    X = random_items(20, 5)
    Z = (X - (content["mean"] or 0)) / (content["scale"] or 1)
    scores = np.zeros((20, len(content["outputs"])))
    if content["weights"] is not None:
        weights = [[content["weights"][output][name] for name in content["features"]] for output in content["outputs"]]
        scores += Z @ np.array(weights).T
    for term, known in zip(content["terms"], formula.terms, strict=True):
        columns = [content["features"].index(column) for column in term["columns"]]
        scores += known.kernel.matrix(Z[:, columns], np.array(term["items"])) @ np.array(term["coefficients"])
    expected = scores_of(fitted_models()[name], X)
    assert relative_error(scores.reshape(expected.shape), expected) < 1e-12


# Search engines -------------------------------------------------------------------------------------------------------


def plugin_scores(path, X: pd.DataFrame) -> np.ndarray:
    """The linear formula of the plug-in of Elasticsearch and OpenSearch."""
    model = json.loads(path.read_text())["model"]["model"]
    assert model["type"] == "model/linear"
    values = X.copy()
    for feature, normaliser in model.get("feature_normalizers", {}).items():
        standard = normaliser["standard"]
        values[feature] = (values[feature] - standard["mean"]) / standard["standard_deviation"]
    return sum(weight * values[feature] for feature, weight in json.loads(model["definition"]).items()).to_numpy()


def solr_scores(path, X: pd.DataFrame) -> np.ndarray:
    """Solr's LinearModel behind its StandardNormalizer."""
    model = json.loads(path.read_text())
    scores = np.zeros(len(X))
    for feature in model["features"]:
        value = X[feature["name"]].to_numpy()
        if "norm" in feature:
            assert feature["norm"]["class"] == "org.apache.solr.ltr.norm.StandardNormalizer"
            value = (value - float(feature["norm"]["params"]["avg"])) / float(feature["norm"]["params"]["std"])
        scores += model["params"]["weights"][feature["name"]] * value
    return scores


@pytest.mark.parametrize("name", LINEAR)
def test_search_engines_compute_our_scores(name, tmp_path):
    X = pd.DataFrame(random_items(20, 6), columns=[f"x{k}" for k in range(5)])
    expected = scores_of(fitted_models()[name], X.to_numpy())
    for format, scores in (("elasticsearch", plugin_scores), ("opensearch", plugin_scores), ("solr", solr_scores)):
        kr.export(fitted_models()[name], tmp_path / "m.json", format)
        assert relative_error(scores(tmp_path / "m.json", X), expected) < 1e-12


def test_search_engine_files_are_those_of_their_documentation(tmp_path):
    """Worked examples: the documents of the plug-in and of Solr's LinearModel, with our numbers in them."""
    X = pd.DataFrame({"release_year": [1940.0, 2000.0], "body_query": [1.0, 3.0]})
    model = make_pipeline(StandardScaler(), kr.RankRLS()).fit(X, [0, 1])
    year, body = model.steps[1][1].coef_.tolist()
    kr.export(model, tmp_path / "my_linear_model.json", "elasticsearch")
    found = json.loads((tmp_path / "my_linear_model.json").read_text())
    definition = found["model"]["model"].pop("definition")
    assert json.loads(definition) == {"release_year": year, "body_query": body}
    assert found == {
        "model": {
            "name": "my_linear_model",
            "model": {
                "type": "model/linear",
                "feature_normalizers": {
                    "release_year": {"standard": {"mean": 1970.0, "standard_deviation": 30.0}},
                    "body_query": {"standard": {"mean": 2.0, "standard_deviation": 1.0}},
                },
            },
        }
    }
    kr.export(model, tmp_path / "model.json", "solr", name="myModelName")
    normaliser = "org.apache.solr.ltr.norm.StandardNormalizer"
    assert json.loads((tmp_path / "model.json").read_text()) == {
        "class": "org.apache.solr.ltr.model.LinearModel",
        "name": "myModelName",
        "features": [
            {"name": "release_year", "norm": {"class": normaliser, "params": {"avg": "1970.0", "std": "30.0"}}},
            {"name": "body_query", "norm": {"class": normaliser, "params": {"avg": "2.0", "std": "1.0"}}},
        ],
        "params": {"weights": {"release_year": year, "body_query": body}},
    }
    kr.export(kr.RankRLS().fit(X, [0, 1]), tmp_path / "model.json", "solr")
    assert json.loads((tmp_path / "model.json").read_text())["features"] == [
        {"name": "release_year"},
        {"name": "body_query"},
    ]


# Tables ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def prepared(run_command, tmp_path):
    """A model of a table with words, missing cells, an ordinal column and indicators; its items and scores."""
    (tmp_path / "cohort.csv").write_text(COHORT)
    run_command(
        "fit", "cohort.csv", "--target", "outcome", "--ordinal", "stage=I,II,III", "--missing-indicator",
        "--missing", "mean", "--scale", "--kernel", "rbf", "--gamma", "0.3",
    )  # fmt: skip
    model = kr.load(tmp_path / "model.kr")
    table = pd.read_csv(tmp_path / "cohort.csv", keep_default_na=False)
    (tmp_path / "scores.txt").unlink(missing_ok=True)
    run_command("predict", "model.kr", "cohort.csv", "-o", "scores.txt")
    return model, table, np.loadtxt(tmp_path / "scores.txt")


@pytest.fixture
def run_command(tmp_path, monkeypatch):
    testing = pytest.importorskip("typer.testing")
    from kernelrank.cli.app import app

    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> str:
        result = testing.CliRunner().invoke(app, list(words))
        assert result.exit_code == 0, result.output
        return result.output

    return command


def test_a_prepared_table_is_scored_alike_everywhere(prepared, tmp_path):
    model, table, expected = prepared
    assert set(formula_of(model).feature_names) >= {"age is missing", "sex=f", "sex is missing", "stage"}
    words = {name: table[name].astype(str).to_numpy(object) for name in ("sex", "stage")}
    numbers = {name: pd.to_numeric(table[name]).to_numpy(float) for name in ("age", "dose")}
    kr.export(model, tmp_path / "score.py")
    names: dict[str, object] = {}
    exec((tmp_path / "score.py").read_text(), names)
    assert relative_error(names["score"]({**words, **numbers}), expected) < 1e-9
    assert relative_error(names["score"](table), expected) < 1e-9
    kr.export(model, tmp_path / "score.sql")
    frame = pd.DataFrame({**words, **numbers}).assign(number=np.arange(len(table)))
    query = f"SELECT {(tmp_path / 'score.sql').read_text()} FROM items ORDER BY number"
    if _sqlite_has_exp():
        with sqlite3.connect(":memory:") as connection:
            frame.to_sql("items", connection, index=False)
            found = np.array(connection.execute(query).fetchall())[:, 0]
        assert relative_error(found, expected) < 1e-9
    with pytest.raises(InvalidInputError, match=r"linear models only.*Use onnx, sql, python or json"):
        kr.export(model, tmp_path / "model.json", "solr")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    for dtype, limit in (("float64", 1e-9), ("float32", 1e-4)):
        kr.export(model, tmp_path / "model.onnx", dtype=dtype)
        session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
        given = {name: column[:, None] for name, column in words.items()}
        given |= {name: column[:, None].astype(dtype) for name, column in numbers.items()}
        assert relative_error(session.run(None, given)[0], expected) < limit


def test_missing_numbers_become_the_median_that_the_model_knows(run_command, tmp_path):
    (tmp_path / "train.csv").write_text("outcome,age,dose\n1,30,1.5\n0,50,2\n1,41,1\n0,28,3\n")
    (tmp_path / "new.csv").write_text("age,dose\n,2\n31,\n40,1\n")
    run_command("fit", "train.csv", "--target", "outcome")
    run_command("predict", "model.kr", "new.csv", "-o", "scores.txt")
    expected = np.loadtxt(tmp_path / "scores.txt")
    assert "exported.py: " in run_command("export", "model.kr", "-o", "exported.py")
    names: dict[str, object] = {}
    exec((tmp_path / "exported.py").read_text(), names)
    table = pd.read_csv(tmp_path / "new.csv")
    assert relative_error(names["score"](table), expected) < 1e-12
    told = run_command("export", "model.kr", "-o", "model.json", "--format", "elasticsearch", "--json")
    assert "counts as 0, not as the median" in json.loads(told)["notes"][0]
    items = read_table(
        tmp_path / "new.csv", preparation=formula_of(kr.load("model.kr")).preparation, needs_target=False
    )
    np.testing.assert_allclose(names["score"](items.X), expected)


# What cannot be held --------------------------------------------------------------------------------------------------


def test_what_a_format_cannot_hold_is_refused_with_one_that_can(tmp_path):
    X = random_items(20, 7)
    y = X[:, 0]
    cases = [
        (kr.RankRLS(kernel="rbf").fit(X, y), "solr", "holds linear models only.*Use onnx, sql, python or json"),
        (kr.RankRLS().fit(X, X[:, :2]), "opensearch", "has 2 outputs. Use onnx, sql, python or json"),
        (kr.RankRLS(kernel="laplacian").fit(X, y), "onnx", "the kernel is laplacian. Use python or json"),
        (kr.RankRLS(kernel="precomputed").fit(X @ X.T, y), "onnx", "precomputed kernel. No export format holds it"),
        (make_pipeline(MinMaxScaler(), kr.RankRLS()).fit(X, y), "sql", "got a MinMaxScaler"),
        (kr.MaxMarginClustering(), "json", "got a MaxMarginClustering. No export format holds"),
        (StandardScaler().fit(X), "json", "got a StandardScaler"),
        (kr.RankRLS().fit(X, y), "pmml", "Expected one of the formats onnx, .*; got 'pmml'"),
        (kr.RankRLS().fit(X, y), None, "a file that ends with .onnx, .sql, .py, .json; got"),
    ]
    for model, format, message in cases:
        with pytest.raises(InvalidInputError, match=message):
            kr.export(model, tmp_path / "model.out", format)
    large = kr.RankRLS(kernel="rbf").fit(np.random.default_rng(0).normal(size=(300, 200)), np.arange(300) % 5)
    with pytest.raises(InvalidInputError, match=r"fit with a smaller basis. Use onnx, python or json"):
        kr.export(large, tmp_path / "model.sql")
    with pytest.raises(InvalidInputError, match="Expected dtype"):
        kr.export(cases[-1][0], tmp_path / "model.onnx", dtype="float16")
    assert list(tmp_path.iterdir()) == []


def test_without_onnx_the_pip_line_is_what_people_see(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kernelrank\[onnx\]'"):
        kr.export(fitted_models()["linear"], tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_names_are_quoted_in_sql(tmp_path):
    frame = pd.DataFrame({'a "b"': [0.0, 1.0, 3.0], "it's; --": [1.0, 0.0, 2.0]})
    model = kr.RankRLS().fit(frame, [0, 1, 2])
    kr.export(model, tmp_path / "score.sql")
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql("items", connection, index=False)
        found = connection.execute(f"SELECT {(tmp_path / 'score.sql').read_text()} FROM items").fetchall()
    np.testing.assert_allclose(np.array(found)[:, 0], model.predict(frame))


def test_a_wide_linear_model_is_no_deep_expression(tmp_path):
    X = np.random.default_rng(0).normal(size=(6, 1500))
    model = kr.RankRLS().fit(X, np.arange(6))
    kr.export(model, tmp_path / "score.sql")
    found = _in_sqlite(f"SELECT {(tmp_path / 'score.sql').read_text()} FROM items", X)
    assert relative_error(found[:, 0], model.predict(X)) < 1e-9


def test_codes_for_missing_cells_are_refused_but_by_json(tmp_path):
    """No other format would know that -9 is a missing cell."""
    model = kr.RankRLS().fit([[30.0], [40.0], [50.0]], [1, 0, 2])
    preparation = {"missing": "median", "names": ["age"], "kinds": ["number"], "fills": [40.0], "levels": {}}
    model.provenance_ = {"preparation": {**preparation, "indicators": [], "missing_values": ["-9"]}}
    for suffix in ("onnx", "sql", "py"):
        with pytest.raises(
            InvalidInputError, match=r"fitted with codes for them \(-9\), which the format .* cannot hold"
        ):
            kr.export(model, tmp_path / f"model.{suffix}")
    kr.export(model, tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["preparation"]["missing_values"] == ["-9"]

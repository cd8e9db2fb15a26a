"""``kernelrank dyads``: what it says is what the library finds, and names that do not match are named."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import kernelrank as kr
from kernelrank.metrics import dyadic_concordance

GUESTS = [f"guest {number}" for number in range(7)]
DISHES = [f"dish {number}" for number in range(6)]


def write_table(path, names, columns, values):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", *columns])
        for name, row in zip(names, values, strict=True):
            writer.writerow([name, *("" if np.isnan(value) else repr(float(value)) for value in row)])


@pytest.fixture
def dyads(tmp_path):
    """Guests, dishes and how each guest likes each dish."""
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((7, 2)).round(3), rng.standard_normal((6, 3)).round(3)
    Y = (X @ rng.standard_normal((2, 3)) @ Z.T + 0.5 * rng.standard_normal((7, 6))).round(3)
    write_table(tmp_path / "guests.csv", GUESTS, ["sweet", "hot"], X)
    write_table(tmp_path / "dishes.csv", DISHES, ["sugar", "chili", "salt"], Z)
    # Rows and columns in another order: names are matched.
    write_table(tmp_path / "scores.csv", GUESTS[::-1], DISHES[::-1], Y[::-1, ::-1])
    return X, Z, Y


WORDS = ["--rows", "guests.csv", "--columns", "dishes.csv", "--scores", "scores.csv"]


def test_fit_and_predict_are_the_library(run, dyads, tmp_path):
    X, Z, Y = dyads
    found = run("dyads", "fit", *WORDS, "--alpha", 0.5, "-o", "model.kr", "--json").json
    assert (found["rows"], found["columns"], found["scores"]) == (7, 6, 42)
    model = kr.KroneckerRankRLS(0.5).fit(X, Z, Y)
    # Columns of new objects are matched by name, and one more is left out.
    write_table(tmp_path / "new.csv", ["a", "b"], ["hot", "other", "sweet"], np.array([[1.0, 9.0, 2.0], [0.0, 9, 1.0]]))
    ended = run("dyads", "predict", "model.kr", "--rows", "new.csv", "--columns", "dishes.csv", "--json")
    expected = model.predict(np.array([[2.0, 1.0], [1.0, 0.0]]), Z)
    np.testing.assert_allclose(ended.json["scores"], expected)
    assert ended.json["row_names"] == ["a", "b"]
    assert any("left out 1 column" in note for note in ended.json["notes"])


def test_predictions_are_ranked_for_each_row(run, dyads):
    X, Z, Y = dyads
    run("dyads", "fit", *WORDS, "-o", "model.kr")
    listed = run("dyads", "predict", "model.kr", "--rows", "guests.csv", "--columns", "dishes.csv", "--top", 2).out
    rows = list(csv.DictReader(listed.splitlines()))
    scores = kr.KroneckerRankRLS().fit(X, Z, Y).predict(X, Z)
    assert len(rows) == 14
    assert [row["column"] for row in rows[::2]] == [DISHES[best] for best in scores.argmax(axis=1)]
    run(
        "dyads", "predict", "model.kr", "--rows", "guests.csv", "--columns", "dishes.csv", "-f", "matrix", "-o", "m.csv"
    )
    # What is predicted can be read as scores.
    again = run("dyads", "fit", *WORDS[:4], "--scores", "m.csv", "-o", "again.kr", "--json").json
    assert again["scores"] == 42


@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
@pytest.mark.parametrize(
    ("method", "search", "per"),
    [
        ("rankrls", kr.KroneckerRankRLSCV, "row"),
        ("rls", kr.KroneckerRLSCV, "overall"),
        ("two-step", kr.TwoStepRLSCV, "overall"),
    ],
)
def test_evaluate_measures_the_four_settings(run, dyads, tmp_path, method, search, per):
    X, Z, Y = dyads
    words = ["dyads", "evaluate", *WORDS, "--method", method, "--alphas", "0.1,1,10"]
    found = run(*words, "--json", "--report", "page.html").json
    assert list(found["settings"]) == ["cell", "row", "column", "both"]
    for setting, values in found["settings"].items():
        model = search([0.1, 1.0, 10.0], setting=setting).fit(X, Z, Y)
        expected = dyadic_concordance(Y, model.holdout_scores_, per=per)
        assert values["value"] == pytest.approx(expected.value)
        assert [values["low"], values["high"]] == pytest.approx(list(expected.interval))
        assert values["alpha"] == pytest.approx(model.best_params_)
    page = (tmp_path / "page.html").read_text()
    for name in ("new score", "new row", "new column", "both new"):
        assert name in page
    assert f"{found['settings']['both']['value']:.3f}" in page


def test_tune_chooses_by_the_setting(run, dyads):
    X, Z, Y = dyads
    words = ["dyads", "tune", *WORDS, "--setting", "column", "--kernel-rows", "rbf", "--gamma-rows", "0.5"]
    found = run(*words, "-o", "model.kr", "--json").json
    model = kr.KroneckerRankRLSCV(setting="column", kernel_rows="rbf", gamma_rows=0.5).fit(X, Z, Y)
    assert found["alpha"]["alpha"] == pytest.approx(model.alpha_)
    assert found["concordance"]["value"] == pytest.approx(dyadic_concordance(Y, model.holdout_scores_, per="row").value)
    assert kr.load("model.kr").provenance_["rows"]["names"] == GUESTS
    shown = run(*words, "-o", "model.kr").out
    assert "concordance of each row" in shown


def test_a_list_with_unknown_scores_is_the_matrix_with_empty_cells(run, dyads, tmp_path):
    X, Z, Y = dyads
    holes = Y.copy()
    holes[0, 1] = holes[3, 3] = np.nan
    lines = ["guest,dish,liked"]
    lines += [f"{GUESTS[i]},{DISHES[j]},{float(holes[i, j])!r}" for i, j in np.argwhere(~np.isnan(holes))]
    (tmp_path / "list.csv").write_text("\n".join(lines) + "\n")
    write_table(tmp_path / "holes.csv", GUESTS, DISHES, holes)
    scores = []
    for name in ("list.csv", "holes.csv"):
        found = run("dyads", "fit", *WORDS[:4], "--scores", name, "-o", "model.kr", "--json").json
        assert found["scores"] == 40
        words = ["--rows", "guests.csv", "--columns", "dishes.csv", "--json"]
        scores.append(run("dyads", "predict", "model.kr", *words).json["scores"])
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_allclose(scores[0], kr.KroneckerRankRLS().fit(X, Z, holes).predict(X, Z), rtol=1e-6)


def test_similarities_are_precomputed_kernels(run, dyads, tmp_path):
    X, Z, Y = dyads
    K, more = X @ X.T, np.array([[0.5, -1.0]])
    order = [3, 0, 1, 2, 6, 5, 4]
    write_table(tmp_path / "similar.csv", GUESTS, [GUESTS[k] for k in order], K[:, order])
    words = ["--rows", "similar.csv", *WORDS[2:], "--similarity", "rows"]
    run("dyads", "fit", *words, "--method", "rls", "-o", "model.kr")
    write_table(tmp_path / "new.csv", ["new"], [GUESTS[k] for k in order], (more @ X.T)[:, order])
    found = run("dyads", "predict", "model.kr", "--rows", "new.csv", "--columns", "dishes.csv", "--json").json
    np.testing.assert_allclose(found["scores"], kr.KroneckerRLS().fit(X, Z, Y).predict(more, Z))
    features = run("dyads", "fit", *words[:-2], "-o", "features.kr", "--json").json
    assert any("similar.csv: has the same names in rows and columns: --similarity rows" in n for n in features["notes"])
    error = run("dyads", "fit", *WORDS, "--similarity", "rows", code=1).err
    assert "square table" in error
    error = run("dyads", "fit", *words, "--kernel-rows", "rbf", code=1).err
    assert "give one of the two" in error


def test_objects_without_scores_are_left_out_and_named(run, dyads, tmp_path):
    X, Z, Y = dyads
    write_table(tmp_path / "some.csv", GUESTS[1:], DISHES, Y[1:])
    words = ["dyads", "fit", *WORDS[:4], "--scores", "some.csv", "-o", "model.kr", "--json"]
    found = run(*words).json
    assert found["rows"] == 6
    assert any("guest 0" in note for note in found["notes"])
    predicted = run("dyads", "predict", "model.kr", *WORDS[:4], "--json").json["scores"]
    np.testing.assert_allclose(predicted, kr.KroneckerRankRLS().fit(X[1:], Z, Y[1:]).predict(X, Z))


def test_one_set_of_objects(run, dyads, tmp_path):
    X, _, _ = dyads
    rng = np.random.default_rng(1)
    Y = rng.standard_normal((7, 7))
    Y = (Y - Y.T).round(3)
    write_table(tmp_path / "wins.csv", GUESTS, GUESTS, Y)
    words = ["--rows", "guests.csv", "--scores", "wins.csv", "--relation", "reciprocal", "--method", "rls"]
    run("dyads", "fit", *words, "-o", "model.kr")
    found = run("dyads", "predict", "model.kr", "--rows", "guests.csv", "--json").json
    np.testing.assert_allclose(found["scores"], kr.KroneckerRLS(relation="reciprocal").fit(X, None, Y).predict(X))
    found = run("dyads", "evaluate", *words, "--alphas", "1", "--json").json
    assert found["interval"] == "objects vary"
    Y[np.diag_indices(7)] = np.nan
    held_out = kr.dyadic_holdout(kr.KroneckerRLS(relation="reciprocal"), X, None, np.nan_to_num(Y), setting="row")
    expected = dyadic_concordance(Y, held_out, one_set=True)
    assert found["settings"]["row"]["value"] == pytest.approx(expected.value)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "guest,dish,liked\nguest 1,dish 11,2\n",
            "line 2: 'dish 11' is not among the rows of dishes.csv: did you mean",
        ),
        ("guest,dish,liked\ndish 1,guest 1,2\n", "exchange rows and columns"),
        ("name,dish 1,dish x\nguest 1,2,3\n", "'dish x' is not among the rows of dishes.csv"),
        ("name,dish 1,dish 2\nguest 1,2,3\nguest 1,2,3\n", "the name 'guest 1' occurs twice, first in line 2"),
        ("name,dish 1,dish 2\nguest 1,2,high\n", "'high' is not a number"),
        ("name,dish 1,dish 2\nguest 1,,\n", "expected scores; the table has none"),
    ],
)
def test_what_is_wrong_with_scores_is_named(run, dyads, tmp_path, lines, said):
    (tmp_path / "wrong.csv").write_text(lines)
    error = run("dyads", "fit", *WORDS[:4], "--scores", "wrong.csv", code=1).err
    assert said in " ".join(error.split())
    assert not (tmp_path / "dyads.kr").exists()


def test_options_that_contradict_each_other(run, dyads):
    assert "--columns is missing" in run("dyads", "fit", *WORDS[:2], *WORDS[4:], code=1).err
    assert "leave --columns out" in run("dyads", "fit", *WORDS, "--relation", "any", code=1).err
    run("dyads", "fit", *WORDS, "-o", "model.kr")
    error = run("dyads", "predict", "model.kr", "--rows", "dishes.csv", "--columns", "dishes.csv", code=1).err
    assert "'sweet' is not among the columns of dishes.csv" in " ".join(error.split())
    assert "dyads predict" in " ".join(run("predict", "model.kr", "guests.csv", code=1).err.split())


def test_repeated_dyads_have_their_mean(run, dyads, tmp_path):
    cells = list(csv.DictReader((tmp_path / "scores.csv").read_text().splitlines()))
    name = next(iter(cells[0]))
    listed = [(cell[name], dish, float(cell[dish])) for cell in cells for dish in list(cell)[1:] if cell[dish]]
    lines = [f"{row},{column},{score - 1}\n{row},{column},{score + 1}" for row, column, score in listed]
    (tmp_path / "list.csv").write_text("guest,dish,liked\n" + "\n".join(lines) + "\n")
    found = run("dyads", "fit", *WORDS[:4], "--scores", "list.csv", "-o", "mean.kr", "--json")
    assert f"{len(listed)} dyads are listed several times" in " ".join(found.json["notes"])
    run("dyads", "fit", *WORDS, "-o", "plain.kr")
    np.testing.assert_allclose(kr.load(tmp_path / "mean.kr").coef_, kr.load(tmp_path / "plain.kr").coef_, rtol=1e-8)


def test_words_and_missing_cells_of_objects_are_prepared(run, dyads, tmp_path):
    lines = (tmp_path / "guests.csv").read_text().splitlines()
    words = ["diet", *(("meat", "fish")[number % 2] for number in range(len(lines) - 1))]
    lines = [f"{line},{word}" for line, word in zip(lines, words, strict=True)]
    cut = lines[2].split(",")
    lines[2] = ",".join([cut[0], "", *cut[2:]])
    (tmp_path / "guests.csv").write_text("\n".join(lines) + "\n")
    found = run("dyads", "fit", *WORDS, "-o", "model.kr", "--json").json
    assert any("text columns were one-hot encoded: 'diet' (2)" in note for note in found["notes"])
    new = tmp_path / "new.csv"
    new.write_text(lines[0] + "\n" + lines[3].replace(lines[3].split(",")[0], "new guest") + "\n")
    words = ["--columns", "dishes.csv", "--format", "matrix"]
    known, found = (
        run("dyads", "predict", "model.kr", "--rows", name, *words).out for name in ("guests.csv", "new.csv")
    )
    third, only = (np.array(out.splitlines()[line].split(",")[1:], float) for out, line in ((known, 3), (found, 1)))
    np.testing.assert_allclose(only, third)


def test_nested_evaluation_chooses_alpha_inside(run, dyads):
    words = [*WORDS, "--method", "rls", "--alphas", "0.1,10", "--cv", 3, "--seed", 4]
    found = run("dyads", "evaluate", *words, "--nested", "--json").json
    assert found["alpha_chosen_inside"]
    X1, X2, Y = dyads
    search = kr.KroneckerRLSCV([0.1, 10.0], setting="row", cv=3, random_state=4)
    scores = kr.dyadic_holdout(search, X1, X2, Y, setting="row", cv=5)
    expected = kr.metrics.dyadic_concordance(Y, scores)
    assert found["settings"]["row"]["value"] == pytest.approx(expected.value)


def test_tune_writes_the_page_of_its_setting(run, dyads, tmp_path):
    run("dyads", "tune", *WORDS, "--setting", "row", "--alphas", "1,10", "--report", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "new row" in page
    assert "both new" not in page


def test_errors_name_files_and_options(run, dyads, tmp_path):
    lines = (tmp_path / "guests.csv").read_text().splitlines()
    lines[1] = lines[1].rsplit(",", 1)[0] + ",1e300"
    (tmp_path / "guests.csv").write_text("\n".join(lines) + "\n")
    error = run("dyads", "fit", *WORDS, code=None).err
    assert "X_rows" not in error


def test_similarities_as_they_are_published(run, dyads, tmp_path):
    _, Z, Y = dyads
    draw = np.random.default_rng(3)
    basis = np.linalg.qr(draw.normal(size=(7, 7)))[0]
    S = (basis * [2.0, 1.0, 0.5, 0.3, 0.1, 0.05, -0.011]) @ basis.T
    S[0, 1] += 0.02
    write_table(tmp_path / "similar.csv", GUESTS, GUESTS, S)
    words = ["dyads", "fit", "--rows", "similar.csv", *WORDS[2:], "--similarity", "rows", "--method", "rls"]
    words += ["-o", "m.kr"]
    ended = run(*words, "--json").json
    told = " ".join(ended["notes"])
    assert "not symmetric: it and its transpose differ by up to 0.02; their mean is used" in told
    assert "1 of 7 eigenvalues is negative, down to -0.01" in told
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    for repair, K in (
        ("clip", (vectors * np.maximum(values, 0)) @ vectors.T),
        ("shift", (S + S.T) / 2 - values[0] * np.eye(7)),
    ):
        run(*words, "--repair", repair)
        model = kr.KroneckerRLS(kernel_rows="precomputed").fit(K, Z, Y)
        np.testing.assert_allclose(kr.load("m.kr").dual_coef_, model.dual_coef_, rtol=1e-5, atol=1e-8)
        assert "not symmetric" in kr.load("m.kr").provenance_["rows"]["repair"][0]
    told = run("inspect", "m.kr")
    assert "not symmetric: it and its transpose differ by up to 0.02; their mean is used" in " ".join(told.out.split())
    assert run("inspect", "m.kr", "--json").json["alpha"] == {"alpha": 1}
    assert "not symmetric" in run(*words, "--repair", "no", code=1).err

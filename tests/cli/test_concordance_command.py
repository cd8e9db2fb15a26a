"""``kernelrank concordance``: the estimate of the library, from a file."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.base.labels import event_times
from kernelrank.data import read_table
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS, RankSVM
from kernelrank.metrics import Concordance
from kernelrank.model_selection import RankRLSCV, estimate_concordance
from tests.oracles import nested_search, survival


@pytest.fixture
def patients(tmp_path):
    """A file of times, half of them censored."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)).round(4)
    time, followed = np.exp(X[:, 0]) * rng.exponential(1.0, 60), rng.exponential(2.0, 60)
    event, centre = time <= followed, np.arange(60) % 2
    path = tmp_path / "patients.csv"
    rows = zip(np.minimum(time, followed).tolist(), event.tolist(), centre.tolist(), X.tolist(), strict=True)
    lines = [f"{t!r},{'dead' if d else 'alive'},c{c},{a!r},{b!r}" for t, d, c, (a, b) in rows]
    path.write_text("\n".join(["months,status,centre,a,b", *lines]) + "\n")
    return path, X, np.minimum(time, followed), event, centre


def test_the_estimate_is_that_of_the_library(run, patients):
    path, X, time, event, centre = patients
    words = ["concordance", path, "--time", "months", "--event", "status", "--happened", "dead", "--alpha", 2]
    found = run(*words, "--exclude", "centre", "--report", "page.html", "--json").json
    expected = estimate_concordance(RankRLS(2.0), X, time, event=event)
    assert found["concordance"] == pytest.approx(expected.concordance)
    assert (found["low"], found["high"]) == pytest.approx(tuple(expected.interval))
    assert (found["events"], found["items"]) == (int(event.sum()), 60)
    assert "Kaplan" in (path.parent / "page.html").read_text(encoding="utf-8")
    stratified = run(*words, "--strata", "centre", "--json").json
    expected = estimate_concordance(RankRLS(2.0), X, time, event=event, qid=centre)
    assert stratified["concordance"] == pytest.approx(expected.concordance)
    assert "log-rank" in run(*words, "--exclude", "centre").out


@pytest.mark.filterwarnings("ignore:the best alpha")
def test_fit_tune_evaluate_and_compare(run, patients):
    path, X, time, event, centre = patients
    columns = ["--time", "months", "--event", "status", "--happened", "dead"]
    plain = [*columns, "--exclude", "centre"]
    run("fit", path, "-o", "first.kr", "--alpha", 2, *plain)
    run("fit", path, "-o", "second.kr", "--alpha", 2, "--method", "ranksvm", "--loss", "squared_hinge", *plain)
    model = RankRLS(2.0).fit(X, time, event=event)
    expected = Concordance()(time, model.predict(X), event=event)
    (found,) = run("evaluate", "first.kr", path, *columns, "--json").json["measures"]
    assert found["mean"] == pytest.approx(expected.mean)
    assert (found["low"], found["high"]) == pytest.approx(tuple(expected.interval()))
    other = Concordance()(time, RankSVM(2.0, loss="squared_hinge").fit(X, time, event=event).predict(X), event=event)
    (found,) = run("compare", "first.kr", "second.kr", path, *columns, "--json").json["measures"]
    assert found["difference"] == pytest.approx(expected.mean - other.mean)
    assert found["pvalue"] == pytest.approx(expected.minus(other).pvalue)
    tuned = run("tune", path, "-o", "tuned.kr", *columns, "--strata", "centre", "--alphas", "1,10,100", "--json").json
    search = RankRLSCV([1.0, 10.0, 100.0]).fit(X, time, event=event, qid=centre)
    assert tuned["best"]["alpha"] == search.alpha_
    assert "concordance" in run("tune", path, *plain, "--alphas", "1,10,100").out
    assert "--time and --event together" in run("fit", path, "--time", "months", code=None).err
    pairs = run("tune", path, *plain, "--pairs", "votes.csv", code=None).err.replace("\n", " ")
    assert "Censored times need --method rankrls and no --pairs; got --pairs" in pairs


def test_tune_estimates_times_nested_and_draws_their_page(run, patients, tmp_path):
    path, X, time, event, _ = patients
    words = ["tune", path, "--time", "months", "--event", "status", "--happened", "dead", "--exclude", "centre"]
    found = run(*words, "--alphas", "1,10,100", "--nested", "--report", "page.html", "--seed", 3, "--json").json
    search = RankRLSCV([1.0, 10.0, 100.0], cv=10, scoring="concordance", random_state=3)
    expected = estimate_concordance(search, X, time, event=event, random_state=3)
    assert found["nested"]["mean"] == pytest.approx(expected.concordance)
    assert (found["nested"]["low"], found["nested"]["high"]) == pytest.approx(tuple(expected.interval))
    page = (tmp_path / "page.html").read_text()
    assert f"{expected.concordance:.3f}" in page
    assert "alphas" in page
    assert "Nested, alpha chosen without each of 5 folds" in run(*words, "--nested").out.replace("\n", " ")


def table(path, m, n_centres):
    """Write a table as clinics have them: a text column, missing cells, tied and censored times, centres by name."""
    rng = np.random.default_rng(m + n_centres)
    age, marker = rng.normal(60, 10, m).round(0), rng.normal(0, 1, m).round(2)
    stage, centre = rng.choice(["I", "II", "III"], m), rng.integers(n_centres, size=m)
    months = (30 * np.exp(-0.5 * marker - 0.3 * (stage == "III")) * rng.exponential(1.0, m)).round(0) + 1
    died = rng.random(m) < 0.6
    rows = ["months,died,centre,age,marker,stage"]
    for number in range(m):
        cells = ["" if rng.random() < 0.05 else f"{value}" for value in (age[number], marker[number], stage[number])]
        rows.append(f"{months[number]:.0f},{int(died[number])},centre {centre[number]},{','.join(cells)}")
    path.write_text("\n".join(rows) + "\n")
    return months, died, centre


@pytest.mark.filterwarnings("ignore:the best alpha")
@pytest.mark.parametrize(("m", "n_centres"), [(80, 2), (200, 4), (300, 9), (500, 3)])
def test_the_line_of_the_readme(run, tmp_path, m, n_centres):
    months, died, centre = table(tmp_path / "patients.csv", m, n_centres)
    words = ["patients.csv", "--time", "months", "--event", "died", "--strata", "centre"]
    found = run("concordance", *words, "--json").json
    X = read_table(tmp_path / "patients.csv", target="months", query="centre", exclude=["died"]).X
    estimate = estimate_concordance(RankRLSCV(random_state=0), X, months, event=died, qid=centre)
    assert found["concordance"] == pytest.approx(estimate.concordance)
    search = RankRLSCV(random_state=0)._settled(X, qid=centre)
    times = event_times(months, died)
    scores = nested_search.fold_scores(search, X, times, estimate.folds, qid=centre)
    within = [f"{stratum} {fold}" for stratum, fold in zip(centre, estimate.folds, strict=True)]
    expected, n_pairs = survival.concordance(months, died, scores, strata=within)
    assert (found["concordance"], found["pairs"]) == (pytest.approx(expected), n_pairs)
    tuned = run("tune", *words, "--nested", "-o", "model.kr", "--report", "page.html", "--json").json
    assert tuned["nested"]["mean"] == pytest.approx(expected)


def test_words_that_are_no_events_are_named(run, patients):
    words = ["concordance", patients[0], "--time", "months", "--event", "status"]
    assert "'dead' is an event and 'alive' is none, by their meaning" in run(*words).err.replace("\n", " ")
    text = patients[0].read_text()
    patients[0].write_text(text.replace("dead", "stopped").replace("alive", "going"))
    assert "Give the value that means an event" in run(*words, code=None).err.replace("\n", " ")
    assert "Expected 'gone'" in run(*words, "--happened", "gone", code=None).err.replace("\n", " ")


def test_every_fold_is_scored_without_it(patients):
    _, X, time, event, _ = patients
    found = estimate_concordance(RankRLSCV(), X, time, event=event, cv=4, random_state=3)
    right = pairs = 0.0
    for fold in range(4):
        test, train = found.folds == fold, found.folds != fold
        model = RankRLSCV(found_alphas(X)).fit(X[train], time[train], event=event[train])
        result = Concordance()(time[test], model.predict(X[test]), event=event[test])
        right, pairs = right + result.mean * result.n_pairs, pairs + result.n_pairs
    assert found.result.n_pairs == pairs
    assert found.concordance == pytest.approx(right / pairs)
    groups = np.arange(60) // 3
    grouped = estimate_concordance(RankRLS(), X, time, event=event, groups=groups)
    assert all(len(set(grouped.folds[groups == group])) == 1 for group in range(20))
    with pytest.raises(InvalidInputError, match="Expected cv between 2 and 60"):
        estimate_concordance(RankRLS(), X, time, event=event, cv=61)


def found_alphas(X):
    """The whole grid of all items, which every training set tries where a search is held out."""
    return RankRLSCV()._settled(X).alphas


@pytest.mark.parametrize("name", ["times.csv", "times.xlsx"])
def test_incomplete_items_are_an_error_or_left_out(run, tmp_path, name):
    rows = [[f"p{n}", 3 + (7 * n) % 23, n % 2, 20 + (5 * n) % 13, n % 5] for n in range(40)]
    rows[4][1], rows[9][2], rows[11][2] = -2, None, "NA"
    rows.insert(0, ["PatientID", "months", "died", "age", "grade"])
    if name.endswith("csv"):
        text = "\n".join(";".join("" if cell is None else str(cell) for cell in row) for row in rows)
        (tmp_path / name).write_text(text + "\n")
    else:
        book = pytest.importorskip("openpyxl").Workbook()
        for row in rows:
            book.active.append(row)
        book.save(tmp_path / name)
    words = ("concordance", name, "--time", "months", "--event", "died", "--alpha", 1)
    ended = run(*words, code=1)
    assert (
        f"{name}: expected a time of zero or more and an event for each item; got 1 item with a negative time (line "
        "6) and 2 items with a missing event (line 11, line 13). --drop-incomplete leaves them out"
    ) in ended.err
    found = run(*words, "--drop-incomplete", "--json").json
    assert found["items"] == 37
    notes = " ".join(found["notes"])
    assert "left out: 1 item with a negative time (line 6) and 2 items with a missing event" in notes
    assert "left out: 1 column ('PatientID')" in notes or "look like ids: 'PatientID'" in notes


def test_a_model_of_times_is_not_measured_as_one_of_scores(run, patients):
    path, words = patients[0], ("--time", "months", "--event", "status")
    run("fit", path, *words, "-o", "model.kr")
    ended = run("evaluate", "model.kr", path, code=1)
    assert "was fitted to times and events: add --time months --event status, or name scores by --target" in ended.err
    assert run("evaluate", "model.kr", path, *words, "--json").json["measures"][0]["measure"].startswith("concordance")
    assert run("evaluate", "model.kr", path, "--target", "status", "--measure", "auc", "--json").json["measures"]

"""The grid of alphas and the rules for gamma, from the command."""

from __future__ import annotations

import numpy as np
import pytest

import kernelrank as kr
from kernelrank.cli.shared import LearnerOptions
from kernelrank.cli.tune import search_by_folds, search_on_file
from kernelrank.data import read_items
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.kernels.kernel import gamma_by_rule
from kernelrank.model_selection.alpha_grid import grid_for


def on_file(ranking, alphas, score, method="rankrls"):
    items = read_items(ranking / "train.txt")
    measure = kr.metrics.get_measure("auc")
    options = {"name": "vali.txt", "measure": measure, "score": score}
    return items, search_on_file(LearnerOptions(method), items.X, items, alphas, [{"kernel": "linear"}], **options)


@pytest.mark.parametrize("method", ["rankrls", "rls", "ranksvm"])
def test_a_grid_is_extended_on_a_file(ranking, method):
    items = read_items(ranking / "train.txt")
    estimator = LearnerOptions(method).estimator(1.0)
    start = grid_for(estimator, items.X, "auto", qid=items.qid)
    assert len(start.alphas) == 21
    goal = start.scale * 2.0**7
    _, found = on_file(ranking, "auto", lambda model: -abs(np.log2(model.alpha / goal)), method)
    assert [one["alpha"] for one in found.candidates] == sorted(one["alpha"] for one in found.candidates)
    assert len(found.candidates) == 26
    assert found.best["alpha"] == pytest.approx(goal)
    assert found.model.alpha == found.best["alpha"]


def test_the_edge_of_a_grid_is_said(ranking):
    with pytest.warns(EdgeOfGridWarning, match="the best alpha, 4, is the largest of the grid: try larger ones"):
        on_file(ranking, [1.0, 2.0, 4.0], lambda model: model.alpha)
    with pytest.warns(EdgeOfGridWarning, match="alphas='auto' goes no further"):
        _, found = on_file(ranking, "auto", lambda model: -model.alpha)
    assert len(found.candidates) == 31


def test_folds_of_ranksvm_take_the_scale_of_the_pairs(ranking):
    items = read_items(ranking / "train.txt")
    measure = kr.metrics.get_measure("pairwise_accuracy")
    learner = LearnerOptions("ranksvm")
    found = search_by_folds(learner, items.X, items, "auto", [{"kernel": "linear"}], folds=3, measure=measure)
    grid = grid_for(kr.RankSVM(), items.X, "auto", qid=items.qid).alphas
    assert set(grid) <= {one["alpha"] for one in found.candidates}
    assert found.model.alpha == found.best["alpha"]


def test_tune_and_python_choose_the_same(run, ranking):
    facts = run("tune", "train.txt", "-o", "m.kr", "--json").json
    items = read_items(ranking / "train.txt")
    model = kr.RankRLSCV(random_state=0).fit(items.X, items.y, qid=items.qid)
    assert facts["best"]["alpha"] == model.alpha_
    assert [one["alpha"] for one in facts["candidates"]] == model.alphas_.tolist()
    np.testing.assert_array_equal(kr.load(ranking / "m.kr").alphas_, model.alphas_)


def test_auc_holds_out_with_one_grid(run, cohort):
    words = ["auc", cohort, "--target", "outcome", "--features", "a,b,c", "--groups", "", "--permutations", 20]
    facts = run(*words, "--no-roc", "--json").json
    items = read_items(cohort, target="outcome", features=["a", "b", "c"])
    search = kr.RankRLSCV(random_state=0)
    assert facts["auc"] == kr.estimate_auc(search, items.X, items.y).auc
    alphas = search._settled(items.X).alphas
    test = kr.permutation_test(kr.RankRLS(), items.X, items.y, n_permutations=20, random_state=0, alphas=alphas)
    assert facts["pvalue"] == test.pvalue


def test_rules_for_gamma(run, ranking):
    items = read_items(ranking / "train.txt")
    run("fit", "train.txt", "--kernel", "rbf", "--gamma", "median", "-o", "m.kr")
    assert kr.load(ranking / "m.kr").gamma_ == gamma_by_rule("median", items.X, 0)
    words = ("tune", "train.txt", "--kernels", "rbf", "--alphas", "1,10")
    facts = run(*words, "--gammas", "scale,0.1,median", "--json").json
    assert [one["gamma"] for one in facts["candidates"][::2]] == ["scale", "median", 0.1]
    told = run("fit", "train.txt", "--kernel", "rbf", "--gamma", "wide", code=1).err
    assert "--gamma must be a number, scale or median, got 'wide'" in told
    assert "--gammas: 'wide' is not a list or range of numbers" in run(*words, "--gammas", "wide", code=1).err

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from kernelrank.errors import EdgeOfGridWarning, InvalidInputError, SkippedCandidateWarning, SplitDocumentWarning
from kernelrank.estimators import AllPathsVectorizer
from kernelrank.persistence import load, save
from kernelrank.relations import (
    Candidate,
    Corpus,
    Dependency,
    GraphScheme,
    Mention,
    RelationExtractor,
    Sentence,
    Token,
    candidate_graphs,
    candidate_parts,
    cross_validate,
    document_folds,
    evaluate_on,
    make_corpus,
)
from kernelrank.relations.extractor import best_threshold, resampled_threshold
from kernelrank.relations.scores import measure
from tests.oracles.relations import train_and_score

# Two, so that neither is an edge beyond which one should look.
ALPHAS = (0.25, 2.0)


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(24, random_state=0)


def cosines(X):
    X = X.toarray()
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X @ X.T


@pytest.mark.parametrize("learner", ["rls", "rankrls"])
@pytest.mark.parametrize("combine", ["max", "sum"])
@pytest.mark.parametrize("features", ["parts", "article", "order+path"])
def test_it_is_the_learner_on_cosines_with_documents_left_out(corpus, learner, combine, features):
    settings = {"features": features, "combine": combine, "scheme": {"order_weight": 0.5}}
    extractor = RelationExtractor(learner=learner, alphas=ALPHAS, **settings)
    extractor.fit(corpus.candidates)
    scheme = GraphScheme(order_weight=0.5)
    if features == "article":
        kinds = [list(candidate_graphs(corpus.candidates, scheme))]
    else:
        kinds = list(zip(*candidate_parts(corpus.candidates, scheme), strict=True))[0 if features == "parts" else 1 :]
    K = np.mean([cosines(AllPathsVectorizer(combine=combine).fit_transform(graphs)) for graphs in kinds], axis=0)
    labels, documents = corpus.labels, np.array(corpus.documents)
    y = np.where(labels, 1.0, -1.0)
    aucs = []
    for alpha in ALPHAS:
        held_out = np.empty(len(y))
        for name in np.unique(documents):
            test, train = np.flatnonzero(documents == name), np.flatnonzero(documents != name)
            held_out[test] = train_and_score(K, y, train, test, alpha, ranks=learner == "rankrls")
        aucs.append(measure(labels, held_out, labels).auc)
        if alpha == extractor.alpha_:
            np.testing.assert_allclose(extractor.holdout_scores_, held_out, atol=1e-9)
            # Scores that differ by rounding only may change places, and with them the threshold of a resample.
            found = extractor.holdout_scores_
            assert extractor.training_threshold_ == best_threshold(labels, found)
            assert extractor.threshold_ == best_threshold(labels, found, calibrated=True)
            assert extractor.resampled_threshold_ == resampled_threshold(labels, found, corpus.documents)
    np.testing.assert_allclose(extractor.cv_results_["auc"], aucs)
    assert extractor.alpha_ == ALPHAS[int(np.argmax(aucs))]
    everything = np.arange(len(y))
    expected = train_and_score(K, y, everything, everything, extractor.alpha_, ranks=learner == "rankrls")
    np.testing.assert_allclose(extractor.decision_function(corpus.candidates), expected, atol=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"learner": "rankrls", "scoring": "f"},
        {"basis": 20, "random_state": 0},
        {"features": "article"},
        {"features": "path+order"},
        {"features": "chosen"},
        {"features": "chosen", "scoring": "f", "learner": "rankrls"},
        {"features": "chosen", "basis": 30, "random_state": 0},
    ],
    ids=str,
)
def test_cross_validation_is_fitting_once_for_each_fold(corpus, settings):
    extractor = RelationExtractor(alphas=ALPHAS, **settings)
    folds = document_folds(corpus.documents, 4, random_state=1)
    result = cross_validate(extractor, corpus.candidates, folds)
    for fold in range(4):
        test = [c for c in corpus.candidates if folds[c.document] == fold]
        train = [c for c in corpus.candidates if folds[c.document] != fold]
        fitted = clone(extractor).fit(train)
        own = result.folds == fold
        choice = result.choices[fold]
        assert choice.features == fitted.features_
        assert choice.alpha == fitted.alpha_
        assert choice.thresholds["training"] == pytest.approx(fitted.training_threshold_, abs=1e-9)
        assert choice.thresholds["resampled"] == pytest.approx(fitted.resampled_threshold_, abs=1e-9)
        assert choice.thresholds["calibrated"] == pytest.approx(fitted.threshold_, abs=1e-9)
        np.testing.assert_allclose(result.scores[own], fitted.decision_function(test), atol=1e-9)
        assert result.decisions()[own].tolist() == fitted.predict(test).tolist()
        assert result.decisions("resampled")[own].tolist() == fitted.predict(test, "resampled").tolist()
        assert result.decisions("training")[own].tolist() == fitted.predict(test, "training").tolist()
        assert result.decisions("zero")[own].tolist() == fitted.predict(test, "zero").tolist()
        share = float(np.mean([c.interacts for c in test]))
        assert result.decisions("proportion")[own].tolist() == fitted.predict(test, "proportion", share).tolist()
        assert result.by_fold()[fold].f == measure(result.labels[own], result.scores[own], fitted.predict(test)).f
        assert choice.value == pytest.approx(max(fitted.cv_results_[extractor.scoring]), abs=1e-9)
        if extractor.scoring == "auc":
            assert choice.inner.auc == choice.value
    assert result.mean().f == pytest.approx(np.mean([scores.f for scores in result.by_fold()]))
    assert result.deviation().f == pytest.approx(np.std([scores.f for scores in result.by_fold()]))
    assert result.all_true().auc == 0.5
    assert result.intervals()["f"].low <= result.pooled().f <= result.intervals()["f"].high
    with pytest.raises(
        InvalidInputError, match="the rule must be one of calibrated, resampled, training, zero, proportion"
    ):
        result.decisions("best")


@pytest.mark.parametrize("scoring", ["auc", "f"])
def test_features_are_chosen_by_documents_left_out(corpus, scoring):
    chosen = RelationExtractor(alphas=ALPHAS, features="chosen", scoring=scoring).fit(corpus.candidates)
    alone = {
        name: RelationExtractor(alphas=ALPHAS, features=name, scoring=scoring).fit(corpus.candidates)
        for name in chosen.feature_results_
    }
    assert len(alone) == 8
    for name, extractor in alone.items():
        best = max(extractor.cv_results_[scoring])
        assert chosen.feature_results_[name] == pytest.approx(best, abs=1e-9)
        assert extractor.features_ == name
        assert extractor.feature_results_ == {}
    assert chosen.feature_results_[chosen.features_] == max(chosen.feature_results_.values())
    expected = alone[chosen.features_]
    assert np.array_equal(chosen.coef_, expected.coef_)
    assert chosen.threshold_ == expected.threshold_


def test_what_is_chosen_inside_owes_nothing_to_the_fold_that_is_tested_on(corpus):
    extractor = RelationExtractor(alphas=ALPHAS, features="chosen")
    folds = document_folds(corpus.documents, 3, random_state=0)
    before = cross_validate(extractor, corpus.candidates, folds)
    fold = 1
    turned = [
        replace(candidate, interacts=not candidate.interacts) if folds[candidate.document] == fold else candidate
        for candidate in corpus.candidates
    ]
    after = cross_validate(extractor, turned, folds)
    own = before.folds == fold
    one, other = before.choices[fold], after.choices[fold]
    assert (other.features, other.alpha) == (one.features, one.alpha)
    assert other.thresholds == pytest.approx(one.thresholds, abs=1e-9)
    np.testing.assert_allclose(after.scores[own], before.scores[own], atol=1e-9)


def test_documents_that_are_split_cause_a_warning(corpus):
    folds = np.arange(len(corpus.candidates)) % 4
    with pytest.warns(
        SplitDocumentWarning, match="the pairs of 24 documents, 'd0' among them, are split between folds"
    ):
        cross_validate(RelationExtractor(alphas=[1.0]), corpus.candidates, folds)


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (1, "24 documents cannot be divided into 1 folds"),
        (25, "24 documents cannot be divided into 25 folds"),
        ({"d0": 0}, "cv has no fold for the document 'd1'"),
        ([0, 1], r"fold number in cv for each of the 72 candidates; cv has shape \(2,\)"),
        ({f"d{i}": 0 for i in range(24)}, "fold 0 has nothing to test on, or its training part has one class only"),
    ],
)
def test_folds_are_checked(corpus, folds, message):
    with pytest.raises(InvalidInputError, match=message):
        cross_validate(RelationExtractor(alphas=[1.0]), corpus.candidates, folds)


def test_a_training_part_of_one_document_is_refused(corpus):
    one, other = [c.document for c in corpus.candidates if c.interacts][:2]
    candidates = [c for c in corpus.candidates if c.document in (one, other)]
    with pytest.raises(InvalidInputError, match="the training part of fold 0 has one document"):
        cross_validate(RelationExtractor(alphas=[1.0], learner="rankrls"), candidates, {one: 0, other: 1})


def test_walks_without_end_are_an_error_that_names_the_pair():
    tokens = (Token("A", "NN", 0, 1), Token("B", "NN", 2, 3))
    # Three dependencies there and three back, all on the path: weights of 0.9 that add up to more than one.
    links = tuple(Dependency(a, b, f"t{k}") for a, b in ((0, 1), (1, 0)) for k in range(3))
    sentence = Sentence("s7", "d", "A B", tokens, links, (Mention("e0", "A", (0,)), Mention("e1", "B", (1,))))
    candidates = [Candidate(sentence, 0, 1, True), *make_corpus(3, random_state=0).candidates]
    with pytest.raises(InvalidInputError, match="A and B in sentence s7"):
        RelationExtractor().fit(candidates)


def test_documents_are_dealt_evenly():
    folds = document_folds([f"d{i}" for i in range(23)] * 2, 5, random_state=3)
    assert sorted(np.bincount(list(folds.values())).tolist()) == [4, 4, 5, 5, 5]
    assert folds != document_folds([f"d{i}" for i in range(23)], 5, random_state=4)


def test_it_learns_and_ranks(corpus):
    test = make_corpus(12, random_state=1)
    extractor = RelationExtractor(alphas=ALPHAS).fit(corpus.candidates)
    ranked = extractor.rank(test.candidates)
    scores = [one.score for one in ranked]
    assert scores == sorted(scores, reverse=True)
    assert {id(one.candidate) for one in ranked} == set(map(id, test.candidates))
    assert [one.interacts for one in ranked] == [score > extractor.threshold_ for score in scores]
    result = evaluate_on(extractor, test, corpus)
    assert result.measure().auc > 0.8
    assert result.measure("training").f <= result.best().f
    assert result.measure("proportion").f <= result.best().f
    assert result.measure("zero").auc == result.best().auc
    assert result.all_true().recall == 1.0
    assert result.intervals()["auc"].low < result.measure().auc


def test_sentences_of_the_training_corpus_cause_a_warning(corpus):
    extractor = RelationExtractor(alphas=[1.0]).fit(corpus.candidates)
    with pytest.warns(SplitDocumentWarning, match="24 sentences of made up are also in made up"):
        evaluate_on(extractor, corpus, corpus)


def test_thresholds_by_rule(corpus):
    extractor = RelationExtractor(alphas=[1.0]).fit(corpus.candidates)
    scores = np.array([-2.0, -1.0, 1.0, 2.0])
    assert extractor.threshold("zero") == 0.0
    assert extractor.threshold() == extractor.threshold("calibrated") == extractor.threshold_
    assert extractor.threshold("resampled") == extractor.resampled_threshold_ != extractor.threshold_
    assert extractor.threshold("training") == extractor.training_threshold_ != extractor.threshold_
    assert extractor.threshold("proportion", scores, 0.25) == 1.5
    assert extractor.share_ == np.mean(corpus.labels)
    with pytest.raises(InvalidInputError, match="needs the scores"):
        extractor.threshold("proportion")
    with pytest.raises(InvalidInputError, match="the rule must be one of"):
        extractor.threshold("best")
    assert extractor.decision_function([]).shape == (0,)
    assert extractor.predict([]).shape == (0,)
    assert extractor.rank([]) == []


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"features": "article"},
        {"features": "chosen"},
        {"basis": 15, "random_state": 0, "scheme": {"labels": ["text"]}},
    ],
    ids=str,
)
def test_a_saved_model_scores_the_same(corpus, tmp_path, settings):
    extractor = RelationExtractor(alphas=ALPHAS, **settings).fit(corpus.candidates)
    save(extractor, tmp_path / "model.kr")
    loaded = load(tmp_path / "model.kr")
    other = make_corpus(5, random_state=9).candidates
    assert np.array_equal(loaded.decision_function(other), extractor.decision_function(other))
    assert loaded.threshold_ == extractor.threshold_
    assert loaded.resampled_threshold_ == extractor.resampled_threshold_
    assert loaded.training_threshold_ == extractor.training_threshold_
    assert loaded.get_params() == extractor.get_params()


def test_bad_input_is_named(corpus):
    candidates = corpus.candidates
    with pytest.raises(InvalidInputError, match="got 3 candidates of one kind"):
        RelationExtractor().fit(candidates[:3], np.zeros(3, dtype=bool))
    with pytest.raises(InvalidInputError, match="no candidates at all"):
        RelationExtractor().fit([])
    with pytest.raises(InvalidInputError, match="y must be 72 booleans"):
        RelationExtractor().fit(candidates, np.ones(72))
    with pytest.raises(InvalidInputError, match="all candidates are from one document"):
        RelationExtractor().fit(candidates, documents=["d"] * 72)
    with pytest.raises(InvalidInputError, match="documents has 1 entries for 72 candidates"):
        RelationExtractor().fit(candidates, documents=["d"])
    with pytest.raises(InvalidInputError, match="the scheme has no 'weight'"):
        RelationExtractor(scheme={"weight": 1}).fit(candidates)
    with pytest.raises(InvalidInputError, match="learner must be one of"):
        RelationExtractor(learner="svm").fit(candidates)
    with pytest.raises(InvalidInputError, match="parts, article, chosen, or some of dependencies, path, order"):
        RelationExtractor(features="whole").fit(candidates)
    for features in ("path+path", "", "path+chosen", None, ("path", "order")):
        with pytest.raises(InvalidInputError, match="features must be one of"):
            RelationExtractor(features=features).fit(candidates)
    with pytest.raises(NotFittedError):
        RelationExtractor().predict(candidates)


def test_a_fit_that_fails_leaves_the_model_as_it_was(corpus):
    extractor = RelationExtractor(alphas=[1.0]).fit(corpus.candidates)
    before = extractor.coef_.copy()
    extractor.scheme = {"order_weight": -1}
    with pytest.raises(InvalidInputError):
        extractor.fit(corpus.candidates)
    assert np.array_equal(extractor.coef_, before)


def test_parameters_may_be_set_anew_after_a_fit(corpus, tmp_path):
    settings = {"order_weight": 0.5}
    extractor = RelationExtractor(alphas=ALPHAS, scheme=settings).fit(corpus.candidates)
    scores = extractor.decision_function(corpus.candidates)
    settings["order_weight"] = 0.1
    extractor.set_params(scheme={"order_weight": 0.9}, features="article", combine="sum")
    extractor.vectorizer_.vectorizers_[0].set_params(combine="sum", normalize=False)
    np.testing.assert_array_equal(extractor.decision_function(corpus.candidates), scores)
    save(extractor, tmp_path / "model.kr")
    np.testing.assert_array_equal(load(tmp_path / "model.kr").decision_function(corpus.candidates), scores)


def test_an_alpha_at_the_edge_causes_a_warning(corpus):
    with pytest.warns(EdgeOfGridWarning, match="the best alpha, 1, is the smallest of the grid: try smaller ones"):
        RelationExtractor(alphas=[1.0, 1e6, 1e7], scoring="auc").fit(corpus.candidates)


@pytest.mark.parametrize(("learner", "basis"), [("rls", None), ("rankrls", None), ("rls", 20)])
def test_alphas_by_the_scale_of_the_kernel(corpus, learner, basis):
    extractor = RelationExtractor(learner=learner, basis=basis, random_state=0).fit(corpus.candidates)
    ((_, K),) = extractor.kernels(corpus.candidates)
    C = np.eye(len(K)) - 1 / len(K)
    rank = len(np.unique(K, axis=0))
    scale = np.trace(K) / rank if learner == "rls" else np.trace(C @ K) / (rank - 1)
    tried = np.log2(extractor.alphas_ / scale)
    np.testing.assert_allclose(np.diff(tried), 2.5)
    assert tried[0] <= -15 + 1e-9
    assert tried[-1] >= 5 - 1e-9
    assert extractor.cv_results_["alpha"] == extractor.alphas_.tolist()
    assert extractor.alpha_ in extractor.alphas_
    given = clone(extractor).set_params(alphas=extractor.alphas_).fit(corpus.candidates)
    np.testing.assert_allclose(extractor.coef_, given.coef_, rtol=1e-9)
    result = cross_validate(RelationExtractor(learner=learner, basis=basis, random_state=0), corpus.candidates, cv=3)
    fixed = scale * 2.0 ** np.arange(-25, 10.1, 2.5)
    again = RelationExtractor(learner=learner, basis=basis, random_state=0, alphas=fixed)
    np.testing.assert_allclose(result.scores, cross_validate(again, corpus.candidates, cv=3).scores, rtol=1e-7)
    assert all(len(choice.results["auc"]) == 15 for choice in result.choices)


def test_the_order_of_candidates_does_not_matter(corpus):
    extractor = RelationExtractor(alphas=ALPHAS).fit(corpus.candidates)
    order = np.random.default_rng(0).permutation(len(corpus.candidates))
    shuffled = clone(extractor).fit([corpus.candidates[i] for i in order])
    np.testing.assert_allclose(
        shuffled.decision_function(corpus.candidates), extractor.decision_function(corpus.candidates), atol=1e-10
    )
    assert shuffled.alpha_ == extractor.alpha_


def test_a_corpus_knows_its_counts(corpus):
    assert (corpus.n_documents, len(corpus.candidates)) == (24, 72)
    assert corpus.n_positive + corpus.n_negative == 72
    assert Corpus("empty", (), ()).labels.shape == (0,)


def without_end(candidate):
    """Return a candidate whose parse goes round between two words, by several ways in each direction."""
    sentence = candidate.sentence
    links = [Dependency(*ends, f"dep{i}") for i in range(20) for ends in ((0, 2), (2, 0))]
    looped = Sentence(
        "looped", "d", sentence.text, sentence.tokens, (*sentence.dependencies, *links), sentence.mentions
    )
    return Candidate(looped, candidate.first, candidate.second, candidate.interacts, "p-looped")


@pytest.mark.parametrize("places", [[0], [5], [2, 3, 11]])
def test_a_pair_without_a_score_is_left_out_of_a_ranking_and_named(corpus, places):
    extractor = RelationExtractor(alphas=[1.0]).fit(corpus.candidates)
    others = list(make_corpus(4, random_state=3).candidates)
    expected = extractor.rank([one for place, one in enumerate(others) if place not in places])
    broken = [without_end(one) if place in places else one for place, one in enumerate(others)]
    with pytest.warns(
        SkippedCandidateWarning,
        match=f"^{len(places)} of 12 pairs have no score and are left out; the first: p-looped in sentence looped: "
        "the spectral radius",
    ):
        ranked = extractor.rank(broken)
    assert [(one.candidate, one.interacts) for one in ranked] == [(one.candidate, one.interacts) for one in expected]
    assert [one.score for one in ranked] == pytest.approx([one.score for one in expected], abs=1e-12)
    with pytest.raises(InvalidInputError, match="p-looped in sentence looped: the spectral radius"):
        extractor.decision_function(broken)
    with pytest.raises(InvalidInputError, match="p-looped in sentence looped: the spectral radius"):
        extractor.rank([without_end(others[0])])
    with pytest.raises(InvalidInputError, match="p-looped in sentence looped: the spectral radius"):
        clone(extractor).fit([*corpus.candidates, without_end(others[0])])

"""The names that people's scripts call: none appears or goes without this file saying so."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import kernelrank
from kernelrank import errors, metrics

NAMES = [
    "RLS",
    "RLSCV",
    "RLSClassifier",
    "RLSClassifierCV",
    "AllPathsVectorizer",
    "BradleyTerry",
    "CalibratedRanker",
    "Leaderboard",
    "CoRankRLS",
    "CoRankRLSCV",
    "GreedyRLS",
    "GreedyRankRLS",
    "KernelSumRankRLSCV",
    "KroneckerRLS",
    "KroneckerRLSCV",
    "KroneckerRankRLS",
    "MaxMarginClustering",
    "MetricRLSCV",
    "MetricRLSClassifierCV",
    "MetricRankRLSCV",
    "KroneckerRankRLSCV",
    "NystromMap",
    "OrdinalRanker",
    "QueryKFold",
    "RankRLS",
    "RankRLSCV",
    "RankSVM",
    "TransductiveRankRLS",
    "TransductiveRankRLSCV",
    "TwoStepRLS",
    "TwoStepRLSCV",
    "View",
    "calibrate_comparisons",
    "compare_auc",
    "dask",
    "data",
    "dyadic_holdout",
    "estimate_auc",
    "estimate_concordance",
    "estimate_risk",
    "learning_curve",
    "export",
    "holdout",
    "leave_one_out",
    "leave_pair_out",
    "leave_preferences_out",
    "leave_query_out",
    "load",
    "make_preferences",
    "make_ranking",
    "metrics",
    "permutation_importance",
    "permutation_test",
    "read_pairs",
    "read_ranking",
    "relations",
    "report",
    "save",
    "selection_curve",
    "selection_stability",
    "testing",
    "tournament_roc",
]

MEASURES = [
    "AUC",
    "NDCG",
    "ChainAccuracy",
    "Concordance",
    "ConcordanceDifference",
    "ConcordanceResult",
    "Disagreement",
    "DyadicConcordance",
    "ExpectedReciprocalRank",
    "Interval",
    "JudgedRun",
    "KaplanMeier",
    "KendallTau",
    "LevelError",
    "MagnitudePreservingError",
    "MeanAveragePrecision",
    "Measure",
    "MeasureResult",
    "PairedTest",
    "PairwiseAccuracy",
    "Precision",
    "PreferenceAgreement",
    "QuadraticWeightedKappa",
    "QueryScorer",
    "RateEstimate",
    "ReciprocalRank",
    "ThresholdF",
    "ThresholdPrecision",
    "ThresholdRecall",
    "auc",
    "bootstrap_interval",
    "censoring_weights",
    "chain_accuracy",
    "concordance",
    "disagreement",
    "dyadic_concordance",
    "expected_reciprocal_rank",
    "get_measure",
    "kendall_tau",
    "level_error",
    "log_rank_pvalue",
    "magnitude_preserving_error",
    "mean_average_precision",
    "measure_names",
    "ndcg",
    "paired_test",
    "pairwise_accuracy",
    "partial_auc",
    "precision_at",
    "preference_agreement",
    "quadratic_weighted_kappa",
    "reciprocal_rank",
    "scorer",
    "sensitivity_at",
    "specificity_at",
    "threshold_f",
    "threshold_precision",
    "threshold_recall",
]

ERRORS = {
    "KernelRankError": (Exception,),
    "InvalidInputError": (errors.KernelRankError, ValueError),
    "NothingToCompareError": (errors.InvalidInputError,),
    "FileFormatError": (errors.InvalidInputError,),
    "ModelFileError": (errors.KernelRankError, ValueError),
    "MissingExtraError": (errors.KernelRankError, ImportError),
}

# What scripts write in a call; a new parameter goes to the end or is named only.
SIGNATURES = {
    "RankRLS": "(alpha=1.0, *, kernel='linear', gamma=None, degree=3, coef0=1.0, kernel_params=None, metric=None, "
    "cost='auto', ties='include', query_weight='pairs', basis=None, solver='auto', tol=None, max_iter=None, "
    "warm_start=False, missing='error', random_state=None, verbose=False)",
    "RLS": "(alpha=1.0, *, kernel='linear', gamma=None, degree=3, coef0=1.0, kernel_params=None, metric=None, "
    "basis=None, solver='auto', tol=None, max_iter=None, warm_start=False, missing='error', random_state=None, "
    "verbose=False)",
    "RankRLS.fit": "(self, X, y=None, *, qid=None, sample_weight=None, event=None, entry=None, queries='whole', "
    "features=None, exclude=(), impute=None, checkpoint=None)",
    "RankRLS.fit_pairs": "(self, X, pairs, *, magnitude=None, weight=None)",
    "RankRLS.fit_path": "(self, X, y, alphas, *, qid=None, sample_weight=None, event=None)",
    "RankRLS.fit_pairs_path": "(self, X, pairs, alphas, *, magnitude=None, weight=None)",
    "RankRLSCV.fit_pairs": "(self, X, pairs, *, magnitude=None, weight=None, groups=None)",
    "RankRLS.predict": "(self, X)",
    "RankRLS.score": "(self, X, y, *, qid=None, sample_weight=None, event=None)",
    "RankRLSCV.fit": "(self, X, y, *, qid=None, sample_weight=None, event=None, entry=None)",
    "RankRLS.score_pairs": "(self, X, pairs, *, weight=None)",
    "RLS.fit": "(self, X, y=None, *, qid=None, sample_weight=None, features=None, exclude=(), impute=None, "
    "checkpoint=None)",
    "RLS.fit_path": "(self, X, y, alphas, *, qid=None, sample_weight=None)",
    "RLSClassifier": "(alpha=1.0, *, kernel='linear', gamma=None, degree=3, coef0=1.0, kernel_params=None, "
    "metric=None, basis=None, solver='auto', tol=None, max_iter=None, warm_start=False, random_state=None, "
    "verbose=False)",
    "RLSClassifier.fit": "(self, X, y, *, qid=None, sample_weight=None)",
    "RLSClassifier.decision_function": "(self, X)",
    "RLSClassifierCV.fit": "(self, X, y, *, qid=None, sample_weight=None)",
    "RLS.score": "(self, X, y, *, qid=None, sample_weight=None)",
    "AllPathsVectorizer": "(*, combine='max', normalize=False, min_length=1, max_length=None, decay=1.0, n_jobs=None)",
    "AllPathsVectorizer.fit": "(self, graphs, y=None)",
    "AllPathsVectorizer.transform": "(self, graphs)",
    "dask.DaskRankRLS": "(alpha=1.0, *, kernel='linear', gamma=None, degree=3, coef0=1.0, kernel_params=None, "
    "cost='magnitude', ties='include', query_weight='pairs', basis=None, random_state=None, client=None)",
    "dask.DaskRankRLS.fit": "(self, X, y, *, qid=None, sample_weight=None, features=None, exclude=(), impute=None)",
    "dask.DaskRankRLS.to_local": "(self)",
    "dask.DaskRankRLSCV.fit": "(self, X, y, *, qid, sample_weight=None, features=None, exclude=(), impute=None)",
    "estimate_auc": "(estimator, X, y, *, method='leave_pair_out', cv=None, weight=None, groups=None, "
    "pos_label=None, confidence=0.95, interval='auto', n_jobs=None, random_state=None, verbose=False)",
    "dyadic_holdout": "(estimator, X_rows, X_columns, Y, *, setting='cell', cv=None, alphas=None, verbose=False)",
    "leave_preferences_out": "(estimator, X, pairs, *, groups=None, items=False, alphas=None, magnitude=None, "
    "weight=None, tie=None, side=None, judge=None, n_jobs=None, verbose=False)",
    "calibrate_comparisons": "(model, X, y, *, qid=None, sample_weight=None)",
    "RankRLS.compare": "(self, X_a, X_b)",
    "RankRLS.covariance": "(self, X)",
    "compare_auc": "(a, b, X, y, *, groups=None, pos_label=None, confidence=0.95, interval='auto', n_jobs=None, "
    "verbose=False)",
    "tournament_roc": "(estimator, X, y, *, groups=None, pos_label=None, confidence=0.95, interval='auto', "
    "n_jobs=None, verbose=False)",
    "model_selection.search_folds": "(estimator, X, y, sets, settings=({},), *, measure, alphas='auto', qid=None, "
    "sample_weight=None)",
    "model_selection.search_on_data": "(estimator, X, y, settings=({},), *, score, alphas='auto', qid=None, "
    "sample_weight=None)",
    "model_selection.search_preferences": "(estimator, X, pairs, groups, settings=({},), *, alphas='auto', **votes)",
    "permutation_importance": "(model, X, y, qid=None, *, scoring='pairwise_accuracy', n_repeats=5, "
    "feature_names=None, confidence=0.95, random_state=None, verbose=False)",
    "permutation_test": "(estimator, X, y, *, qid=None, statistic='auto', groups=None, n_permutations=None, "
    "n_jobs=None, random_state=None, alphas=None, verbose=False)",
    "RankSVM": "(alpha=1.0, *, loss='hinge', kernel='linear', gamma=None, degree=3, coef0=1.0, kernel_params=None, "
    "metric=None, query_weight='pairs', basis=None, solver='auto', tol=0.001, max_iter=1000, warm_start=False, "
    "missing='error', random_state=None, verbose=False)",
    "RankSVM.fit": "(self, X, y, *, qid=None, sample_weight=None, event=None)",
    "RankSVM.fit_pairs": "(self, X, pairs, *, weight=None)",
    "RankSVM.fit_path": "(self, X, y, alphas, *, qid=None, sample_weight=None, event=None)",
    "RankSVM.score": "(self, X, y, *, qid=None, sample_weight=None, event=None)",
    "data.event_times": "(time, event=None, *, weight=None, entry=None)",
    "data.read_embedded_pairs": "(source, *, chosen=None, rejected=None, group='prompt')",
    "data.preferences_from_clicks": "(query, rank, clicked, *, propensity=None)",
    "metrics.Concordance": "(weighting='harrell', tau=None)",
    "BradleyTerry": "(alpha=1.0, *, kernel='linear', gamma=None, degree=3, coef0=1.0, kernel_params=None, metric=None, "
    "relation=None, ties='half', side_bias=False, judge_effect=None, judge_alpha=0.5, basis=None, solver='auto', "
    "tol=1e-08, max_iter=100, random_state=None, verbose=False)",
    "BradleyTerry.fit": "(self, X, y, *, qid=None, sample_weight=None)",
    "BradleyTerry.fit_pairs": "(self, X, pairs, *, tie=None, weight=None, side=None, judge=None, covariates=None)",
    "BradleyTerry.fit_path": "(self, X, y, alphas, *, qid=None, sample_weight=None)",
    "BradleyTerry.fit_pairs_path": "(self, X, pairs, alphas, *, tie=None, weight=None, side=None, judge=None, "
    "covariates=None)",
    "BradleyTerry.compare": "(self, X_a, X_b)",
    "BradleyTerry.covariance": "(self, X)",
    "Leaderboard": "(model='bradley_terry', alpha='auto', *, ties='half', scale='logit', anchor=None, "
    "confidence=0.95, random_state=0, verbose=False)",
    "Leaderboard.fit": "(self, winners, losers, tie=None, weight=None, judge=None, features=None, *, covariates=None, "
    "category=None, time=None, judge_kind=None)",
    "Leaderboard.fit_rankings": "(self, rankings, *, weight=None, below=None, features=None)",
    "Leaderboard.held_out_losses": "(self, winners, losers, *, n_folds=10, groups=None, tie=None, features=None, "
    "**about)",
    "Leaderboard.machine_judges": "(self)",
    "Leaderboard.table": "(self, category=None, at=None)",
    "Leaderboard.trajectories": "(self)",
    "Leaderboard.category_differences": "(self)",
    "Leaderboard.variation": "(self)",
    "Leaderboard.compare": "(self, a, b)",
    "Leaderboard.probability": "(self, a, b, *, covariates=None, category=None)",
    "Leaderboard.probabilities": "(self, first, second, *, covariates=None, category=None)",
    "Leaderboard.separable_groups": "(self)",
    "Leaderboard.next_pair": "(self, n=1)",
    "Leaderboard.votes_needed": "(self, power=0.8)",
    "Leaderboard.judges": "(self)",
    "TransductiveRankRLS": "(alpha=1.0, anchor=1.0, *, cv=None, kernel='linear', gamma=None, degree=3, coef0=1.0, "
    "kernel_params=None, query_weight='pairs', basis=None, random_state=None, verbose=False)",
    "TransductiveRankRLS.fit": "(self, X, y, *, qid=None, sample_weight=None)",
    "TransductiveRankRLS.fit_path": "(self, X, y, anchors, *, qid=None, sample_weight=None)",
    "OrdinalRanker": "(ranker=None, *, cv=None, random_state=0, verbose=False)",
    "OrdinalRanker.fit": "(self, X, y, *, qid=None, sample_weight=None)",
    "TransductiveRankRLSCV": "(alphas='auto', anchors=(0.01, 0.1, 1.0, 10.0, 100.0), *, cv=None, "
    "scoring='pairwise_accuracy', kernel='linear', gamma=None, degree=3, coef0=1.0, kernel_params=None, "
    "query_weight='pairs', basis=None, random_state=None, verbose=False)",
    "TransductiveRankRLSCV.fit": "(self, X, y, *, qid=None, sample_weight=None)",
    "CoRankRLS": "(alpha=1.0, nu=1.0, *, views=2, basis=None, kernel='rbf', gamma=None, degree=3, coef0=1.0, "
    "kernel_params=None, cost='magnitude', ties='include', query_weight='pairs', random_state=None, verbose=False)",
    "CoRankRLS.fit": "(self, X, y, *, qid=None, X_unscored=None, qid_unscored=None, sample_weight=None)",
    "CoRankRLS.fit_path": "(self, X, y, alphas, *, qid=None, X_unscored=None, qid_unscored=None, sample_weight=None)",
    "CoRankRLS.predict_views": "(self, X)",
    "CoRankRLSCV.fit": "(self, X, y, *, qid=None, X_unscored=None, qid_unscored=None, sample_weight=None)",
    "View": "(kernel=None, gamma=None, degree=None, coef0=None, kernel_params=None, columns=None, basis=None)",
    "save": "(estimator, path, *, statistics=True)",
    "export": "(model, file, format=None, *, name=None, dtype='float64')",
    "load": "(path)",
}


def test_names_are_these():
    assert sorted(kernelrank.__all__) == sorted(NAMES)
    assert sorted(metrics.__all__) == sorted(MEASURES)
    assert dir(kernelrank) == sorted([*NAMES, "__version__"])


@pytest.mark.parametrize("name", NAMES)
def test_name_can_be_imported_and_explains_itself(name):
    thing = getattr(kernelrank, name)
    assert len(inspect.getdoc(thing) or "") > 20


@pytest.mark.parametrize(
    "room", ["", ".dyads", ".estimators", ".model_selection", ".persistence", ".selection", ".votes"]
)
def test_the_stub_and_the_package_have_the_same_names(room):
    package = importlib.import_module(f"kernelrank{room}")
    stub = Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imported = re.findall(r"(\w+) as (\w+)", stub)
    assert imported
    assert [name for name, exported in imported if name != exported] == []
    assert package.__all__ == sorted(name for name, _ in imported)
    assert all(hasattr(package, name) for name in package.__all__)
    with pytest.raises(AttributeError, match=f"module 'kernelrank{room}' has no attribute 'Nothing'"):
        package.Nothing  # noqa: B018


@pytest.mark.parametrize("name", MEASURES)
def test_measure_explains_itself(name):
    assert len(inspect.getdoc(getattr(metrics, name)) or "") > 20


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    thing = kernelrank
    for part in name.split("."):
        thing = getattr(thing, part)
    signature = inspect.signature(thing)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    assert str(inspect.Signature(bare)) == SIGNATURES[name]


# What says which items belong together, or how much they count: an array in its place looks right and is not.
BY_NAME = {"qid", "sample_weight", "magnitude", "weight", "groups", "queries", "X_unscored", "qid_unscored", "docid"}
# qid is required there; scikit-learn's splitters are called with groups in the third place; votes come in columns.
POSITIONAL = {
    ("CalibratedRanker.score", "sample_weight"),
    ("leave_query_out", "qid"),
    ("permutation_importance", "qid"),
    ("QueryKFold.split", "groups"),
    ("QueryKFold.get_n_splits", "groups"),
    ("Leaderboard.fit", "weight"),
}


def callables():
    """Every public function, and every public method of a public class, by name."""
    rooms = [kernelrank, *(getattr(kernelrank, name) for name in ("dask", "data", "metrics", "relations", "report"))]
    for room in rooms:
        for name in room.__all__:
            thing = getattr(room, name)
            if inspect.isclass(thing):
                for method, function in inspect.getmembers(thing, callable):
                    if not method.startswith("_") or method == "__call__":
                        yield f"{name}.{method}", function
            elif callable(thing):
                yield name, thing


def test_queries_and_weights_are_passed_by_name():
    seen = set()
    for name, function in callables():
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # methods of tuples that are written in C
            continue
        for parameter in parameters:
            if parameter.name in BY_NAME and (name, parameter.name) not in POSITIONAL:
                assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, f"{name}: {parameter.name}"
                seen.add(name)
    assert {"RLS.fit", "NDCG.__call__", "CoRankRLS.fit", "RankRLS.forget", "DaskRankRLS.fit", "write_ranking"} <= seen


def test_weights_in_the_place_of_queries_are_refused():
    X, y, weight = [[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0], [1.0, 2.0, 3.0]
    for kind in (
        kernelrank.RLS,
        kernelrank.RLSCV,
        kernelrank.RLSClassifier,
        kernelrank.RankRLS,
        kernelrank.RankSVM,
        kernelrank.BradleyTerry,
    ):
        with pytest.raises(TypeError, match="positional arguments"):
            kind().fit(X, y, weight)


@pytest.mark.parametrize(
    "kind",
    [
        kernelrank.RLS,
        kernelrank.RLSClassifier,
        kernelrank.RankRLS,
        kernelrank.RankSVM,
        kernelrank.BradleyTerry,
        kernelrank.QueryKFold,
    ],
)
def test_public_methods_explain_themselves(kind):
    for name, method in vars(kind).items():
        if callable(method) and not name.startswith("_"):
            assert len(inspect.getdoc(method) or "") > 20, name


def test_error_tree():
    assert set(errors.__all__) == {
        *ERRORS,
        "EdgeOfGridWarning",
        "EmptyBasisWarning",
        "LostDigitsWarning",
        "NotConverged",
        "PooledAUCWarning",
        "SkippedCandidateWarning",
        "SplitDocumentWarning",
        "UnconnectedVotesWarning",
    }
    for name, bases in ERRORS.items():
        assert getattr(errors, name).__bases__ == bases
    assert issubclass(errors.NotConverged, Warning)
    assert errors.PooledAUCWarning.__bases__ == (UserWarning,)
    assert errors.EdgeOfGridWarning.__bases__ == (UserWarning,)
    assert errors.EmptyBasisWarning.__bases__ == (UserWarning,)
    assert errors.LostDigitsWarning.__bases__ == (UserWarning,)
    assert errors.SkippedCandidateWarning.__bases__ == (UserWarning,)
    assert errors.SplitDocumentWarning.__bases__ == (UserWarning,)
    assert errors.UnconnectedVotesWarning.__bases__ == (UserWarning,)
    for name in errors.__all__:
        assert name in (errors.__doc__ or "")
        assert inspect.getdoc(getattr(errors, name))


def test_unknown_name():
    with pytest.raises(AttributeError, match="module 'kernelrank' has no attribute 'RankBoost'"):
        _ = kernelrank.RankBoost


def test_version_is_that_of_the_package():
    from importlib.metadata import version

    assert kernelrank.__version__ == version("kernelrank")


@pytest.mark.parametrize("name", NAMES)
def test_no_module_shares_a_name_with_a_function(name):
    if not inspect.ismodule(getattr(kernelrank, name)):
        assert importlib.util.find_spec(f"kernelrank.{name}") is None

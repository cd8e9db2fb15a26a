"""The models that can be saved: where each class is imported from, and the attributes of a fitted one.

A model file can be forged by anyone. `load` compares what it holds with this table before it is a model, so that no
compiled loop follows an index out of its array; `save` does so, too, so that whatever is written can be read. The
table says what each attribute is, and a few laws what holds between them: only what keeps indices inside of arrays,
and None out of the place of an array. Numbers that make no sense make a model that computes nonsense, or an error.

The kind of an attribute is a text, a dict with the kinds of named values, or a list: the axis that gives its length,
and the kind of each entry. The texts are::

    text · flag · whole number · number (finite) · any number · dict · list · kernel · estimator
    number of AXIS                  a whole number that is the length of an axis
    floats (AXIS, ...)              an array of finite floats of this shape; "any floats" may be infinite or missing
    indices below AXIS (AXIS, ...)  an array of whole numbers from 0 on that are smaller than the length of an axis
    labels (AXIS, ...)              an array of texts, numbers or flags
    matrix (AXIS, AXIS)             finite floats, dense or sparse

Two shapes are separated by "or"; "None or" stands before whatever may be missing. An axis is a name, whose length is
set by the first attribute that has it, or a number; ``name*`` is another axis for each entry of a list, ``name+1`` is
longer by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

Kind = str | Mapping[str, Any] | list[Any]
"""What an attribute must be, as the head of this file says."""


@dataclass(frozen=True)
class FittedState:
    """What a fitted estimator of one class consists of: attributes it needs, one set of several, and those it may have.

    `laws` say what must hold between attributes, where their kinds do not say enough.
    """

    needed: Mapping[str, Kind]
    one_of: tuple[Mapping[str, Kind], ...] = ()
    optional: dict[str, Kind] = field(default_factory=dict)
    laws: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)

    @classmethod
    def of_columns(cls, **kinds: Kind) -> FittedState:
        """Return the state of an estimator that knows its number of features, and has further attributes."""
        return cls({**FEATURES, **kinds})

    def with_optional(self, **kinds: Kind) -> FittedState:
        """Return the same state with further attributes that it may have."""
        return replace(self, optional={**self.optional, **kinds})

    def fault(self, estimator: object) -> str | None:
        """Return what is wrong with a fitted estimator; None if nothing is. Time O(bytes)."""
        held, sizes = vars(estimator), dict[str, int]()
        kinds = dict(self.needed)
        if self.one_of:
            chosen = [kinds_of_one for kinds_of_one in self.one_of if kinds_of_one.keys() <= held.keys()]
            mixed = {name for kinds_of_one in self.one_of for name in kinds_of_one} & held.keys()
            if len(chosen) != 1 or mixed != chosen[0].keys():
                sets = " or ".join(" and ".join(kinds_of_one) for kinds_of_one in self.one_of)
                return f"expected {sets}, got {', '.join(sorted(mixed)) or 'neither'}"
            kinds |= chosen[0]
        for name in kinds:
            if name not in held:
                return f"{name} is missing"
        kinds |= {name: kind for name, kind in (ANY | self.optional).items() if name in held}
        for name, kind in kinds.items():
            fault = _fault(name, held[name], kind, sizes)
            if fault is not None:
                return fault
        return next((f"expected {law}" for law, holds in self.laws.items() if not holds(estimator)), None)


def _fault(where: str, value: Any, kind: Kind, sizes: dict[str, int], entry: str = "") -> str | None:
    """Return what is wrong with a value; sets the lengths of axes that are met for the first time."""
    if isinstance(kind, Mapping):
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            return f"{where}: expected a dict, got {_found(value)}"
        parts = ((f"{where}[{key!r}]", value[key], kind[key], entry) for key in kind.keys() & value.keys())
    elif isinstance(kind, list):
        axis, one = kind
        if not isinstance(value, (list, tuple)) or not _fits((axis,), (len(value),), sizes, entry):
            return f"{where}: expected a list of {sizes.get(axis, axis)}, got {_found(value)}"
        parts = ((f"{where}[{i}]", part, one, str(i)) for i, part in enumerate(value))
    else:
        fits = _is_one(value, kind, sizes, entry)
        return None if fits else f"{where}: expected {_words(kind, sizes, entry)}, got {_found(value)}"
    return next((fault for part in parts if (fault := _fault(*part[:3], sizes, part[3])) is not None), None)


def _is_one(value: Any, kind: str, sizes: dict[str, int], entry: str) -> bool:
    """Return whether a value is what a text says."""
    what, below, shapes, can_be_none = _parse(kind)
    if value is None:
        return can_be_none
    if shapes:
        entries = value.data if what == "matrix" and sparse.issparse(value) else value
        if not isinstance(entries, np.ndarray) or not _holds(entries, what, sizes.get(below)):
            return False
        return any(len(shape) == value.ndim and _fits(shape, value.shape, sizes, entry) for shape in shapes)
    if what.startswith("number of "):
        return _is_one(value, "whole number", sizes, entry) and _fits((what[10:],), (int(value),), sizes, entry)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    match what:
        case "whole number":
            return isinstance(value, Integral) and is_number and int(value) >= 0
        case "number":
            return is_number and math.isfinite(value)
        case "any number":
            return is_number
        case "flag":
            return isinstance(value, (bool, np.bool_))
        case "kernel":
            return (
                type(value).__name__ == "Kernel"
                and _fault("", vars(value), KERNEL, {}) is None
                and (value.gamma or 0) >= 0
                and (type(value.metric).__name__ != "KernelSum" or _is_sum(value.metric))
            )
    return isinstance(value, {"text": str, "dict": dict, "list": list, "estimator": BaseEstimator}[what])


def _is_sum(value: Any) -> bool:
    """Return whether a sum of kernels has one weight for each, not negative."""
    fields = {"kernels": ["parts", "kernel"], "weights": "floats (parts)"}
    return _fault("", vars(value), fields, {}) is None and len(value.weights) > 0 and bool(np.all(value.weights >= 0))


def _parse(kind: str) -> tuple[str, str, list[tuple[str, ...]], bool]:
    """Return what a text says: the kind, the axis that indices stay below, shapes, and whether None is allowed."""
    said = kind.removeprefix("None or ")
    what, _, rest = said.partition(" (")
    what, _, below = what.partition(" below ")
    shapes = [tuple(shape.split(", ")) for shape in re.findall(r"\((.*?)\)", f"({rest}")]
    return what, below, shapes, said != kind


def _holds(entries: np.ndarray[Any, Any], what: str, limit: int | None) -> bool:
    """Return whether an array has entries of the type and in the range that it must have."""
    if what == "indices":
        whole = entries.dtype.kind in "iu" and not np.any(entries < 0)
        return whole and (limit is None or not np.any(entries >= limit))
    if what == "labels" and entries.dtype.kind != "f":
        texts = entries.dtype == object and all(isinstance(label, str) for label in entries.flat)
        return texts or entries.dtype.kind in "biuUS"
    return entries.dtype.kind == "f" and (what == "any floats" or bool(np.isfinite(entries).all()))


def _fits(shape: tuple[str, ...], lengths: tuple[int, ...], sizes: dict[str, int], entry: str) -> bool:
    """Return whether axes have these lengths, which they get if they have none."""
    for axis, length in zip(shape, lengths, strict=True):
        name, more = axis.removesuffix("+1"), axis.endswith("+1")
        expected = int(name) if name.isdigit() else sizes.setdefault(name.replace("*", entry), length - more)
        if expected != length - more or expected < 0:
            return False
    return True


def _words(kind: str, sizes: dict[str, int], entry: str) -> str:
    """Describe the expected value, for an error message."""
    what, below, shapes, can_be_none = _parse(kind)
    if shapes:
        lengths = [[str(sizes.get(axis.replace("*", entry), axis)) for axis in shape] for shape in shapes]
        places = " or ".join(f"({', '.join(one)}{',' if len(one) == 1 else ''})" for one in lengths)
        limit = f" below {sizes[below]}" if below in sizes else ""
        what = {"floats": "finite floats", "any floats": "floats"}.get(what, what)
        what = "a dense or sparse matrix of finite floats" if what == "matrix" else f"an array of {what}"
        what = f"{what}{limit} of shape {places}"
    elif what.startswith("number of "):
        what = f"the whole number {sizes[what[10:]]}" if what[10:] in sizes else "a whole number"
    else:
        known = {"any number": "any number", "flag": "True or False", "kernel": "a kernel with finite parameters"}
        what = known.get(what, {"number": "a finite number", "text": "a string"}.get(what, f"a {what}"))
    return f"None or {what}" if can_be_none else what


def _found(value: Any) -> str:
    """Describe a value for a message, in which it has no place itself."""
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        entries = value if isinstance(value, np.ndarray) else value.data
        what = f"{'an array' if entries is value else 'a sparse matrix'} of {entries.dtype} of shape {value.shape}"
        return what if entries.dtype.kind != "f" or np.isfinite(entries).all() else f"{what} that is not finite"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    return repr(value) if isinstance(value, (bool, Real)) else f"a {type(value).__name__}"


# Laws ---------------------------------------------------------------------------------------------------------------


def _items_are_kept(model: Any) -> bool:
    """Return whether the items are kept unless the kernel is precomputed; of one set of objects, the rows."""
    if hasattr(model, "coef_"):
        return not hasattr(model, "kernel_rows_") or bool(model.kernel_rows_.linear and model.kernel_columns_.linear)
    if hasattr(model, "kernels_"):
        kept = list(zip(model.kernels_, model.X_fit_, strict=True))
    elif hasattr(model, "kernel_rows_"):
        kept = [(model.kernel_rows_, model.X_rows_fit_), (model.kernel_columns_, model.X_columns_fit_)]
        if model.relation is not None:
            kept = kept[:1] if model.X_columns_fit_ is None else []
    else:
        kept = [(model.kernel_, model.X_fit_)]
    return bool(kept) and all((items is None) == kernel.precomputed for kernel, items in kept)


def _precomputed_columns(model: Any) -> bool:
    """Return whether the columns of a precomputed kernel are those that the coefficients are for."""
    if not model.kernel_.precomputed or not hasattr(model, "dual_coef_"):
        return True
    if hasattr(model, "basis_"):
        return bool(np.all(model.basis_ < model.n_features_in_))
    return bool(len(model.dual_coef_) == model.n_features_in_)


def _bounds_rise(model: Any) -> bool:
    """Return whether the bounds of the pairs of labels rise from zero to their number."""
    bounds = model.first_bounds_
    return bool(bounds[0] == 0 and bounds[-1] == model.n_pairs_ and np.all(np.diff(bounds) >= 0))


def _walks_end(model: Any) -> bool:
    """Return whether the lengths of walks come to an end; files of earlier versions have neither lengths nor decay."""
    held = vars(model).keys() & {"min_length_", "max_length_", "decay_"}
    if len(held) < 3:
        return not held
    return bool(1 <= model.min_length_ <= (1000 if model.max_length_ is None else model.max_length_) <= 1000)


def _board_is_whole(model: Any) -> bool:
    """Return whether something was compared, with a coefficient for each feature and item, and judges with votes."""
    n_features = 0 if model.X_fit_ is None else model.X_fit_.shape[1]
    judges = (model.judges_, model.judge_pairs_, model.judge_counts_, model.judge_numbers_)
    mixture = model.X_fit_ is not None and np.size(getattr(model, "scales_", ())) > 0
    return bool(
        len(model.items_) >= 2
        and len(model.pairs_) >= 1
        and len(model.coef_) == n_features + len(model.items_)
        and len({part is None for part in judges}) == 1
        and (getattr(model, "item_scales_", None) is not None) == mixture
        and _boards_are_whole(model)
    )


def _boards_are_whole(model: Any) -> bool:
    """Return whether there is a board for each time and two for each category, and what belongs to them."""
    if model.board_scores_ is None:
        return bool(model.times_ is None and model.categories_ is None and model.covariate_effects_ is None)
    n_categories = 0 if model.categories_ is None else len(model.categories_)
    n_times = 1 if model.times_ is None else len(model.times_)
    return bool(
        len(model.board_scores_) == n_times + 2 * n_categories
        and all(part is not None for part in (model.tie_log_, model.board_scales_, model.board_covariances_))
        and (model.category_counts_ is None) == (model.categories_ is None)
        and len({part is None for part in (model.covariate_names_, model.covariate_effects_)}) == 1
        and (model.covariate_covariance_ is None) == (model.covariate_effects_ is None)
        and (model.judges_ is None or model.judge_offsets_ is not None)
        and _machines_are_whole(model)
    )


def _machines_are_whole(model: Any) -> bool:
    machines, votes, worth = (getattr(model, name, None) for name in ("machines_", "machine_votes_", "machine_worth_"))
    if machines is None or votes is None or worth is None:
        return machines is None and votes is None and worth is None
    return len(worth) == len(machines) + 1


# The models ---------------------------------------------------------------------------------------------------------

PRIVATE = {
    "ColumnTransformer": ("_columns", "_transformer_to_input_indices", "_remainder"),
    "MissingIndicator": ("_precomputed", "_n_features"),
    "OneHotEncoder": (
        "_infrequent_enabled", "_drop_idx_after_grouping", "_n_features_outs", "_infrequent_indices",
        "_default_to_infrequent_mappings",
    ),
    "OrdinalEncoder": (
        "_infrequent_enabled", "_missing_indices", "_infrequent_indices", "_default_to_infrequent_mappings",
    ),
    "SimpleImputer": ("_fit_dtype", "_fill_dtype"),
}  # fmt: skip
"""What scikit-learn's transformers keep of a fit under a private name, and need."""

KERNEL: dict[str, Kind] = {
    "gamma": "None or number",
    "degree": "number",
    "coef0": "number",
    "parameters": "dict",
    "root": "None or floats (root) or (root, root)",
}
FEATURES: dict[str, Kind] = {"n_features_in_": "number of features"}
ANY: dict[str, Kind] = {"provenance_": "dict", "feature_names_in_": "labels (features)"}
"""What any model may have."""

COUNTS: dict[str, Kind] = {
    "solver_": "text",
    **dict.fromkeys(("n_iter_", "n_queries_", "n_idle_queries_", "n_pairs_"), "whole number"),
}
SEARCH: dict[str, Kind] = {
    "alphas_": "floats (alphas)",
    "best_params_": "dict",
    "cv_results_": "dict",
    "best_score_": "any number",
}
METRIC: dict[str, Kind] = {
    **SEARCH,
    "alpha_": "number",
    "metric_": "floats (features)",
    "round_": "whole number",
    "holdout_scores_": "None or any floats (items) or (items, outputs)",
    "n_search_items_": "whole number",
    "basis_scores_": "None or any floats (sizes, both)",
}
COMPARISONS: dict[str, Kind] = {
    "precision_factor_": "floats (precisions, precisions)",
    "precision_items_": "indices below support (precisions)",
    **dict.fromkeys(("comparison_scale_", "comparison_std_"), "number"),
    "comparison_pairs_": "whole number",
    "comparison_holdout_": "text",
}
STREAM: dict[str, Kind] = {
    "stream_": {
        "gram": "floats (columns, columns)",
        "right": "floats (columns, targets)",
        "energy": "floats (targets)",
        "rounding_gram": "floats (columns)",
        "rounding_right": "floats (columns, targets)",
        **dict.fromkeys(("one_output", "forgot"), "flag"),
        "mode": "text",
        **dict.fromkeys(("n_items", "n_pairs", "n_idle_queries"), "whole number"),
        "fingerprints": ["learnt queries", "whole number"],
        "moments": [
            "merged queries",
            {
                "n_items": "whole number",
                "uncompared": "number",
                "scatter": "floats (columns, columns)",
                "moment": "floats (columns, targets)",
            },
        ],
    }
}

LEARNER = FittedState(
    needed={**FEATURES, "kernel_": "kernel", **COUNTS},
    one_of=(
        {"coef_": "floats (features) or (outputs, features)"},
        {"dual_coef_": "floats (support) or (support, outputs)", "X_fit_": "None or matrix (support, features)"},
    ),
    optional={"basis_": "indices (support)", "fill_values_": "any floats (features)"},
    laws={
        "X_fit_ if and only if the kernel is not precomputed": _items_are_kept,
        "coefficients for the columns of the precomputed kernel": _precomputed_columns,
    },
)
CLASSIFIER = replace(LEARNER, needed={**LEARNER.needed, "classes_": "labels (classes)"})
RANKER: dict[str, Kind] = {
    **COMPARISONS,
    **dict.fromkeys(("noise_", "preference_squares_"), "number"),
    **dict.fromkeys(("compared_first_", "compared_second_"), "indices below support (compared)"),
    "compared_weights_": "floats (compared)",
    "preference_count_": "whole number",
}
VOTES: dict[str, Kind] = {
    **COMPARISONS,
    **dict.fromkeys(("gap_", "tie_log_"), "any number"),
    **dict.fromkeys(("objective_", "side_bias_", "side_bias_std_"), "number"),
    "fitted_to_scores_": "flag",
    "judges_": "labels (judges)",
    "judge_effects_": "floats (judges)",
    "covariate_names_": "labels (covariates)",
    "covariate_effects_": "floats (covariates)",
    "covariate_covariance_": "floats (covariates, covariates)",
    "match_ups_": "floats (match_up_rows, match_up_columns)",
}
SELECTION: dict[str, Kind] = {
    "selected_": "indices below features (selected)",
    "path_": [
        "steps",
        {
            "feature": "whole number",
            "added": "flag",
            **dict.fromkeys(("criterion", "alpha"), "number"),
            **dict.fromkeys(("standard_error", "pair_accuracy"), "any number"),
            "columns": "indices below features (chosen*)",
            "coefficients": "floats (chosen*) or (chosen*, outputs)",
        },
    ],
    "criterion_": "text",
    "alpha_": "number",
}
VIEWS = FittedState(
    needed={
        **FEATURES,
        "n_views_": "number of views",
        "kernels_": ["views", "kernel"],
        "columns_": ["views", "None or indices below features (columns*)"],
        "dual_coef_": ["views", "floats (support*) or (support*, outputs)"],
        "X_fit_": ["views", "None or matrix (support*, columns*)"],
        **COUNTS,
    },
    optional=dict.fromkeys(("n_unscored_", "n_unscored_queries_"), "whole number"),
    laws={"the items of a view if and only if its kernel is not precomputed": _items_are_kept},
)
DYADS = FittedState(
    needed={
        "n_features_rows_in_": "number of row features",
        "n_features_columns_in_": "number of column features",
        **dict.fromkeys(("kernel_rows_", "kernel_columns_"), "kernel"),
        "solver_": "text",
        **dict.fromkeys(("n_iter_", "n_dyads_"), "whole number"),
    },
    one_of=(
        {"coef_": "floats (row features, column features) or (row features, column features, outputs)"},
        {
            "dual_coef_": "floats (rows, columns) or (rows, columns, outputs)",
            "X_rows_fit_": "None or matrix (rows, row features)",
            "X_columns_fit_": "None or matrix (columns, column features)",
        },
    ),
    optional={
        "feature_names_rows_in_": "labels (row features)",
        "feature_names_columns_in_": "labels (column features)",
    },
    laws={"the objects of a side if and only if its kernel is not precomputed": _items_are_kept},
)

REGISTRY: dict[str, tuple[str, FittedState | None]] = {
    "AllPathsVectorizer": (
        "kernelrank.estimators",
        FittedState(
            {
                "n_pairs_": "number of pairs",
                "labels_": "labels (labels)",
                "first_bounds_": "indices (labels+1)",
                "seconds_": "indices below labels (pairs)",
                "combine_": "text",
                "normalize_": "flag",
            },
            optional={"min_length_": "whole number", "max_length_": "None or whole number", "decay_": "number"},
            laws={
                "bounds that rise from 0 to the number of pairs": _bounds_rise,
                "walks of 1 to 1,000 edges, and their decay": _walks_end,
            },
        ),
    ),
    "BradleyTerry": ("kernelrank.votes", LEARNER.with_optional(**VOTES)),
    "CalibratedRanker": (
        "kernelrank.model_selection",
        FittedState(
            needed={
                "classes_": "labels (2)",
                "estimator_": "estimator",
                **dict.fromkeys(("score_mean_", "score_deviation_"), "number"),
            },
            one_of=(
                dict.fromkeys(("intercept_", "slope_"), "number"),
                dict.fromkeys(("step_scores_", "step_risks_"), "floats (steps)"),
            ),
            optional=FEATURES,
        ),
    ),
    "CoRankRLS": ("kernelrank.estimators", VIEWS),
    "CoRankRLSCV": ("kernelrank.model_selection", VIEWS.with_optional(alpha_="number", nu_="number", **SEARCH)),
    "ColumnTransformer": (
        "sklearn.compose",
        FittedState.of_columns(transformers_="list", sparse_output_="flag", output_indices_="dict"),
    ),
    "FunctionTransformer": ("sklearn.preprocessing", FittedState.of_columns()),
    "GreedyRLS": ("kernelrank.selection", LEARNER.with_optional(**SELECTION)),
    "GreedyRankRLS": ("kernelrank.selection", LEARNER.with_optional(**SELECTION)),
    "KroneckerRLS": ("kernelrank.dyads", DYADS),
    "KroneckerRLSCV": ("kernelrank.dyads", DYADS.with_optional(alpha_="number", **SEARCH)),
    "KroneckerRankRLS": ("kernelrank.dyads", DYADS),
    "KroneckerRankRLSCV": ("kernelrank.dyads", DYADS.with_optional(alpha_="number", **SEARCH)),
    "Leaderboard": (
        "kernelrank.votes",
        FittedState(
            needed={
                "items_": "labels (items)",
                "scores_": "floats (items)",
                **dict.fromkeys(("alpha_", "noise_"), "number"),
                "notes_": ["notes", "text"],
                "n_votes_": "whole number",
                "pairs_": "indices below items (pairs, 2)",
                "counts_": "floats (3, pairs)",
                "curvature_": "floats (pairs)",
                "X_fit_": "None or matrix (items, features)",
                **dict.fromkeys(("coef_", "prior_"), "floats (coefficients)"),
                "moves_": "floats (coefficients, variances)",
                "judges_": "None or labels (judges)",
                "judge_pairs_": "None or indices below items (judged, 2)",
                "judge_counts_": "None or floats (3, judged)",
                "judge_numbers_": "None or indices below judges (judged)",
            },
            optional={
                "scales_": "floats (3, scales)",
                "item_scales_": "None or floats (items, scales)",
                "judge_offsets_": "None or floats (judged)",
                "tie_log_": "None or number",
                "covariate_names_": "None or labels (covariates)",
                "covariate_effects_": "None or floats (covariates)",
                "covariate_covariance_": "None or floats (covariates, covariates)",
                "categories_": "None or labels (categories)",
                "category_counts_": "None or floats (2, categories, items)",
                "times_": "None or floats (times)",
                **dict.fromkeys(("dated_", "ranked_"), "flag"),
                "board_scores_": "None or floats (boards, items)",
                "board_covariances_": "None or floats (boards, items, items)",
                "board_scales_": "None or floats (3, values)",
                "deviation_names_": "None or labels (deviations)",
                "deviations_": "None or floats (3, deviations)",
                "machines_": "None or labels (machines)",
                "machine_votes_": "None or floats (machines)",
                "machine_worth_": "None or floats (worths)",
            },
            laws={
                "compared items, a coefficient for each feature and item, and judges with votes": _board_is_whole,
            },
        ),
    ),
    "MaxAbsScaler": (
        "sklearn.preprocessing",
        FittedState.of_columns(scale_="floats (features)", max_abs_="floats (features)"),
    ),
    "MaxMarginClustering": (
        "kernelrank.estimators",
        LEARNER.with_optional(
            n_clusters_="number of clusters",
            labels_="indices below clusters (items)",
            objective_="number",
            lower_bound_="number",
        ),
    ),
    "MinMaxScaler": (
        "sklearn.preprocessing",
        FittedState.of_columns(scale_="floats (features)", min_="floats (features)"),
    ),
    "MissingIndicator": ("sklearn.impute", FittedState.of_columns(features_="indices below features (missing)")),
    "Normalizer": ("sklearn.preprocessing", FittedState.of_columns()),
    "NystromMap": (
        "kernelrank.estimators",
        FittedState.of_columns(
            kernel_="kernel",
            basis_items_="matrix (basis, features)",
            rank_="number of rank",
            taken_="indices below basis (rank)",
            factor_="floats (rank, rank)",
        ).with_optional(basis_="None or indices (basis)"),
    ),
    "OneHotEncoder": ("sklearn.preprocessing", FittedState.of_columns(_infrequent_enabled="flag")),
    "OrdinalEncoder": ("sklearn.preprocessing", FittedState.of_columns(_infrequent_enabled="flag")),
    "OrdinalRanker": (
        "kernelrank.model_selection",
        FittedState(
            {
                "ranker_": "estimator",
                "levels_": "floats (levels)",
                "thresholds_": "any floats (thresholds)",
                "intercepts_": "floats (thresholds)",
                "slope_": "number",
                "n_features_in_": "number of features",
            },
            optional={"holdout_scores_": "floats (items)", "feature_names_in_": "labels (features)"},
            laws={"a threshold for each level but one": lambda model: len(model.levels_) == len(model.intercepts_) + 1},
        ),
    ),
    "PCA": (
        "sklearn.decomposition",
        FittedState.of_columns(
            n_components_="number of components",
            mean_="floats (features)",
            components_="floats (components, features)",
            explained_variance_="floats (components)",
        ),
    ),
    "PartsVectorizer": (
        "kernelrank.relations",
        FittedState({"vectorizers_": ["parts", "estimator"], "n_pairs_": "whole number"}),
    ),
    "Pipeline": ("sklearn.pipeline", FittedState({})),
    "RLS": ("kernelrank.estimators", LEARNER.with_optional(**STREAM)),
    "RLSCV": ("kernelrank.model_selection", LEARNER.with_optional(**SEARCH)),
    "RLSClassifier": ("kernelrank.estimators", CLASSIFIER),
    "RLSClassifierCV": ("kernelrank.model_selection", CLASSIFIER.with_optional(**SEARCH)),
    "RankRLS": ("kernelrank.estimators", LEARNER.with_optional(**RANKER, **STREAM)),
    "MetricRLSCV": ("kernelrank.model_selection", LEARNER.with_optional(**METRIC)),
    "MetricRLSClassifierCV": ("kernelrank.model_selection", CLASSIFIER.with_optional(**METRIC)),
    "MetricRankRLSCV": ("kernelrank.model_selection", LEARNER.with_optional(**METRIC)),
    "KernelSumRankRLSCV": (
        "kernelrank.model_selection",
        LEARNER.with_optional(kernel_weights_="floats (kernels)", kernel_names_="list", alpha_="number"),
    ),
    "RankRLSCV": ("kernelrank.model_selection", LEARNER.with_optional(**RANKER, **SEARCH)),
    "RankSVM": ("kernelrank.estimators", LEARNER.with_optional(gap_="any number")),
    "RelationExtractor": (
        "kernelrank.relations",
        FittedState(
            needed={
                "vectorizer_": "estimator",
                "features_": "text",
                "scheme_": "None or dict",
                "coef_": "floats (pairs)",
                **dict.fromkeys(
                    ("intercept_", "threshold_", "resampled_threshold_", "training_threshold_", "share_"), "number"
                ),
            },
            optional={
                "alpha_": "number",
                "alphas_": "floats (alphas)",
                "cv_results_": "dict",
                **dict.fromkeys(("n_candidates_", "n_documents_"), "whole number"),
            },
        ),
    ),
    "RobustScaler": (
        "sklearn.preprocessing",
        FittedState.of_columns(center_="None or floats (features)", scale_="None or floats (features)"),
    ),
    "SimpleImputer": ("sklearn.impute", FittedState.of_columns()),
    "StandardScaler": (
        "sklearn.preprocessing",
        FittedState.of_columns(**dict.fromkeys(("mean_", "var_", "scale_"), "None or floats (features)")),
    ),
    "TransductiveRankRLS": (
        "kernelrank.estimators",
        LEARNER.with_optional(
            **dict.fromkeys(("transduction_", "inductive_"), "any floats (unscored) or (unscored, outputs)")
        ),
    ),
    "TransductiveRankRLSCV": (
        "kernelrank.model_selection",
        LEARNER.with_optional(
            anchor_="number",
            **dict.fromkeys(("transduction_", "inductive_"), "any floats (unscored) or (unscored, outputs)"),
            **SEARCH,
        ),
    ),
    "TruncatedSVD": (
        "sklearn.decomposition",
        FittedState.of_columns(components_="floats (components, features)"),
    ),
    "TwoStepRLS": ("kernelrank.dyads", DYADS),
    "TwoStepRLSCV": ("kernelrank.dyads", DYADS.with_optional(alpha_rows_="number", alpha_columns_="number", **SEARCH)),
    "VarianceThreshold": ("sklearn.feature_selection", FittedState.of_columns(variances_="floats (features)")),
}
"""Where each class that can be saved is imported from, and what a fitted one holds."""

"""The models that can be saved: where each class is imported from, and the attributes of a fitted one.

A model file can be forged by anyone. `load` compares what it holds with this table before it is a model, so that no
compiled loop follows an index out of its array; `save` does so, too, so that whatever is written can be read. The
table says what each attribute is, and the laws what holds between them.

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
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, is_classifier

Kind = str | Mapping[str, Any] | list[Any]
"""What an attribute must be, as the head of this file says."""


@dataclass(frozen=True)
class FittedState:
    """What a fitted estimator of one class consists of: attributes it needs, one set of several, and those it may have.

    `laws` say what must hold between attributes, where their kinds do not say enough; `outputs` is the attribute with
    the number of columns that a transformer returns.
    """

    needed: Mapping[str, Kind]
    one_of: tuple[Mapping[str, Kind], ...] = ()
    optional: dict[str, Kind] = field(default_factory=dict)
    laws: tuple[tuple[str, Callable[[Any], bool]], ...] = ()
    outputs: str = ""

    def with_optional(self, **kinds: Kind) -> FittedState:
        """Return the same state with further attributes that it may have."""
        return FittedState(self.needed, self.one_of, {**self.optional, **kinds}, self.laws, self.outputs)

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
        return next((f"expected {sentence}" for sentence, law in self.laws if not _is_kept(law, estimator)), None)


def _is_kept(law: Callable[[Any], bool], estimator: object) -> bool:
    try:
        return bool(law(estimator))
    except Exception:  # what a forged value makes of a law is up to the forger
        return False


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
            )
    return isinstance(value, {"text": str, "dict": dict, "list": list, "estimator": BaseEstimator}[what])


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


def _kernels(model: Any) -> list[tuple[Any, Any]]:
    """Return the kernels of a model, each with the items that it keeps for it; None for none."""
    if hasattr(model, "kernels_"):
        return list(zip(model.kernels_, model.X_fit_, strict=True))
    if hasattr(model, "kernel_rows_"):
        columns = model.kernel_columns_ if model.relation is None else model.kernel_rows_
        return [
            (model.kernel_rows_, getattr(model, "X_rows_fit_", None)),
            (columns, getattr(model, "X_columns_fit_", None)),
        ]
    return [(model.kernel_, getattr(model, "basis_items_", getattr(model, "X_fit_", None)))]


def _kernels_work(model: Any) -> bool:
    """Return whether each kernel gives finite numbers for some of its items."""
    tried = [(kernel, items[:8]) for kernel, items in _kernels(model) if items is not None]
    return all(bool(np.isfinite(kernel.matrix(items, items)).all()) for kernel, items in tried)


def _items_are_kept(model: Any) -> bool:
    """Return whether the items are kept unless the kernel is precomputed; of one set of objects, the rows."""
    if hasattr(model, "coef_"):
        return not hasattr(model, "kernel_rows_") or bool(model.kernel_rows_.linear and model.kernel_columns_.linear)
    kept = _kernels(model)
    if getattr(model, "relation", None) is not None:
        kept = kept[:1] if model.X_columns_fit_ is None else []
    return bool(kept) and all((items is None) == kernel.precomputed for kernel, items in kept)


def _precomputed_columns(model: Any) -> bool:
    """Return whether the columns of a precomputed kernel are those that the coefficients are for."""
    if not model.kernel_.precomputed or not hasattr(model, "dual_coef_"):
        return True
    if hasattr(model, "basis_"):
        return bool(np.all(model.basis_ < model.n_features_in_))
    return bool(len(model.dual_coef_) == model.n_features_in_)


def _precomputed_sides(model: Any) -> bool:
    """Return whether the columns of the precomputed kernels of dyads are those that the coefficients are for."""
    if hasattr(model, "coef_"):
        return True
    rows, columns = model.dual_coef_.shape[:2]
    return bool(
        (not model.kernel_rows_.precomputed or rows == model.n_features_rows_in_)
        and (not model.kernel_columns_.precomputed or columns == model.n_features_columns_in_)
        and (model.relation is None or rows == columns)
    )


def _outputs_for_classes(model: Any) -> bool:
    """Return whether there is one output for two classes, and one for each of more."""
    if not is_classifier(model):
        return True
    coefficients = model.coef_.T if hasattr(model, "coef_") else model.dual_coef_
    n_outputs, n_classes = 1 if coefficients.ndim == 1 else coefficients.shape[1], len(model.classes_)
    return n_classes >= 2 and n_outputs == (1 if n_classes == 2 else n_classes)


def _views_agree(model: Any) -> bool:
    """Return whether views have the same outputs, and a view of all columns keeps all of them."""
    views = zip(model.columns_, model.X_fit_, model.kernels_, model.dual_coef_, strict=True)
    widths = [
        len(dual) if kernel.precomputed else items.shape[1] for columns, items, kernel, dual in views if columns is None
    ]
    return len({dual.ndim for dual in model.dual_coef_}) == 1 and set(widths) <= {model.n_features_in_}


def _bounds_rise(model: Any) -> bool:
    """Return whether the bounds of the pairs of labels rise from zero to their number."""
    bounds = model.first_bounds_
    return bool(bounds[0] == 0 and bounds[-1] == model.n_pairs_ and np.all(np.diff(bounds) >= 0))


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
    )


def _board_is_positive(model: Any) -> bool:
    """Return whether precisions are positive, and counts and curvatures are not negative."""
    positive = (model.noise_, model.prior_, getattr(model, "scales_", 1.0), getattr(model, "item_scales_", None))
    counts = (model.curvature_, model.counts_, model.judge_counts_)
    return bool(
        all(one is None or np.all(one > 0) for one in positive)
        and all(one is None or np.all(one >= 0) for one in counts)
        and np.any(model.counts_ > 0)
    )


def _vectorizer_agrees(model: Any) -> bool:
    """Return whether the features of an extractor are known, its scheme is one, and its vectoriser is made for them."""
    names = getattr(model.vectorizer_, "names", ())
    wanted = () if model.features_ == "article" else model.features_.split("+")
    fits = model.features_ == "parts" or sorted(names) == sorted(wanted)
    return model._graphs([]) == [] and fits and len(model.coef_) == model.vectorizer_.n_pairs_


def _steps_fit_together(model: Any) -> bool:
    """Return whether each step of a pipeline takes as many columns as the one before returns."""
    given: int | None = None
    for name, step in model.steps:
        if not isinstance(name, str) or not hasattr(step, "get_params"):
            return False
        if given is not None and getattr(step, "n_features_in_", given) != given:
            return False
        _, state = REGISTRY.get(type(step).__name__, ("", None))
        given = getattr(step, state.outputs) if state is not None and state.outputs else None
    return len(model.steps) > 0


def _columns_fit_transformers(model: Any) -> bool:
    """Return whether every transformer has columns that there are, as many as it was fitted to, and a place."""
    for name, transformer, _ in model.transformers_:
        own = model._transformer_to_input_indices[name]
        if not (isinstance(name, str) and all(0 <= int(one) < model.n_features_in_ for one in own)):
            return False
        if isinstance(transformer, str):
            if transformer not in ("drop", "passthrough"):
                return False
        elif type(transformer).__name__ not in REGISTRY or transformer.n_features_in_ != len(own):
            return False
        if not isinstance(model.output_indices_[name], slice):
            return False
    return len(model._columns) == len(model.transformers) and len(model._remainder) == 3


def _are_labels(values: list[Any]) -> bool:
    """Return whether values can be categories."""
    return all(one is None or isinstance(one, (str, bool, int, float)) for one in values)


def _encodes_categories(model: Any) -> bool:
    """Return whether an encoder has categories for every column, and encodes the first of each."""
    n = model.n_features_in_
    if not all(one.ndim == 1 and len(one) and _are_labels(one.tolist()) for one in model.categories_):
        return False
    found = _transformed(model, np.array([[categories[0] for categories in model.categories_]], dtype=object))
    if type(model).__name__ == "OrdinalEncoder":
        return bool(len(model.categories_) == n and found.shape == (1, n))
    dropped = [None] * n if model.drop_idx_ is None else model.drop_idx_.tolist()
    widths = [len(c) - (d is not None) for c, d in zip(model.categories_, dropped, strict=True)]
    given = list(model._n_features_outs)
    fits = all(g <= w for g, w in zip(given, widths, strict=True)) if model._infrequent_enabled else given == widths
    return bool(fits and len(widths) == n and found.shape == (1, sum(given)))


def _imputes(model: Any) -> bool:
    """Return whether an imputer has a value for every column, and fills in rows of its own type."""
    statistics = model.statistics_
    if not isinstance(model._fit_dtype, np.dtype) or statistics.shape != (model.n_features_in_,):
        return False
    if statistics.dtype == object and not _are_labels(statistics.tolist()):
        return False
    return bool(_transformed(model, statistics.astype(model._fit_dtype)[None]).shape[0] == 1)


def _transformed(model: Any, row: np.ndarray[Any, Any]) -> Any:
    """Transform a row without names."""
    with config_context(transform_output="default"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the row has no names of columns
        return model.transform(row)


# The models ---------------------------------------------------------------------------------------------------------

PRIVATE: dict[str, tuple[str, ...]] = {
    "ColumnTransformer": ("_columns", "_transformer_to_input_indices", "_remainder"),
    "MissingIndicator": ("_precomputed", "_n_features"),
    "OneHotEncoder": (
        "_infrequent_enabled",
        "_drop_idx_after_grouping",
        "_n_features_outs",
        "_infrequent_indices",
        "_default_to_infrequent_mappings",
    ),
    "OrdinalEncoder": (
        "_infrequent_enabled",
        "_missing_indices",
        "_infrequent_indices",
        "_default_to_infrequent_mappings",
    ),
    "SimpleImputer": ("_fit_dtype", "_fill_dtype"),
}
"""What scikit-learn's transformers keep of a fit under a private name, and need."""

KERNEL: dict[str, Kind] = {"gamma": "None or number", "degree": "number", "coef0": "number", "parameters": "dict"}
FEATURES: dict[str, Kind] = {"n_features_in_": "number of features"}
ANY: dict[str, Kind] = {"provenance_": "dict", "feature_names_in_": "labels (features)"}
"""What any model may have."""

COUNTS: dict[str, Kind] = {
    "solver_": "text",
    "n_iter_": "whole number",
    "n_queries_": "whole number",
    "n_idle_queries_": "whole number",
    "n_pairs_": "whole number",
}
SEARCH: dict[str, Kind] = {
    "alphas_": "floats (alphas)",
    "best_params_": "dict",
    "cv_results_": "dict",
    "best_score_": "any number",
}
COMPARISONS: dict[str, Kind] = {
    "precision_factor_": "floats (precisions, precisions)",
    "precision_items_": "indices below support (precisions)",
    "comparison_scale_": "number",
    "comparison_std_": "number",
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
        "one_output": "flag",
        "mode": "text",
        "n_items": "whole number",
        "n_pairs": "whole number",
        "n_idle_queries": "whole number",
        "forgot": "flag",
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

WORKING_KERNELS = ("kernels that give finite numbers for the items of the model", _kernels_work)

LEARNER = FittedState(
    needed={**FEATURES, "kernel_": "kernel", **COUNTS},
    one_of=(
        {"coef_": "floats (features) or (outputs, features)"},
        {
            "dual_coef_": "floats (support) or (support, outputs)",
            "X_fit_": "None or matrix (support, features)",
        },
    ),
    optional={"basis_": "indices (support)", "classes_": "labels (classes)"},
    laws=(
        ("X_fit_ if and only if the kernel is not precomputed", _items_are_kept),
        ("coefficients for the columns of the precomputed kernel", _precomputed_columns),
        WORKING_KERNELS,
        ("one output for two classes, or one for each of more", _outputs_for_classes),
    ),
)
RANKER: dict[str, Kind] = {
    **COMPARISONS,
    "noise_": "number",
    "compared_first_": "indices below support (compared)",
    "compared_second_": "indices below support (compared)",
    "compared_weights_": "floats (compared)",
    "preference_squares_": "number",
    "preference_count_": "whole number",
}
VOTES: dict[str, Kind] = {
    **COMPARISONS,
    "gap_": "any number",
    "objective_": "number",
    "tie_log_": "any number",
    "side_bias_": "number",
    "side_bias_std_": "number",
    "fitted_to_scores_": "flag",
    "judges_": "labels (judges)",
    "judge_effects_": "floats (judges)",
}
SELECTION: dict[str, Kind] = {
    "selected_": "indices below features (selected)",
    "path_": [
        "steps",
        {
            "feature": "whole number",
            "added": "flag",
            "criterion": "number",
            "standard_error": "any number",
            "alpha": "number",
            "columns": "indices below features (chosen*)",
            "coefficients": "floats (chosen*) or (chosen*, outputs)",
            "pair_accuracy": "any number",
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
    optional={"n_unscored_": "whole number", "n_unscored_queries_": "whole number"},
    laws=(
        ("the items of a view if and only if its kernel is not precomputed", _items_are_kept),
        WORKING_KERNELS,
        ("coefficients of as many outputs in each view, for its columns", _views_agree),
    ),
)
DYADS = FittedState(
    needed={
        "n_features_rows_in_": "number of row features",
        "n_features_columns_in_": "number of column features",
        "kernel_rows_": "kernel",
        "kernel_columns_": "kernel",
        "solver_": "text",
        "n_iter_": "whole number",
        "n_dyads_": "whole number",
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
    laws=(
        ("the objects of a side if and only if its kernel is not precomputed", _items_are_kept),
        ("coefficients for the columns of precomputed kernels", _precomputed_sides),
        WORKING_KERNELS,
    ),
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
            laws=(("bounds that rise from 0 to the number of pairs", _bounds_rise),),
            outputs="n_pairs_",
        ),
    ),
    "BradleyTerry": ("kernelrank.votes", LEARNER.with_optional(**VOTES)),
    "CoRankRLS": ("kernelrank.estimators", VIEWS),
    "CoRankRLSCV": ("kernelrank.model_selection", VIEWS.with_optional(alpha_="number", nu_="number", **SEARCH)),
    "ColumnTransformer": (
        "sklearn.compose",
        FittedState(
            {**FEATURES, "transformers_": "list", "sparse_output_": "flag", "output_indices_": "dict"},
            laws=(("columns that its transformers were fitted to", _columns_fit_transformers),),
        ),
    ),
    "FunctionTransformer": (
        "sklearn.preprocessing",
        FittedState(
            FEATURES,
            laws=(("no function", lambda model: model.func is None and model.inverse_func is None),),
            outputs="n_features_in_",
        ),
    ),
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
                "alpha_": "number",
                "noise_": "number",
                "notes_": ["notes", "text"],
                "n_votes_": "whole number",
                "pairs_": "indices below items (pairs, 2)",
                "counts_": "floats (3, pairs)",
                "curvature_": "floats (pairs)",
                "X_fit_": "None or matrix (items, features)",
                "coef_": "floats (coefficients)",
                "prior_": "floats (coefficients)",
                "moves_": "floats (coefficients, variances)",
                "judges_": "None or labels (judges)",
                "judge_pairs_": "None or indices below items (judged, 2)",
                "judge_counts_": "None or floats (3, judged)",
                "judge_numbers_": "None or indices below judges (judged)",
            },
            optional={
                "scales_": "floats (3, scales)",
                "item_scales_": "None or floats (items, scales)",
            },
            laws=(
                ("compared items, a coefficient for each feature and item, and judges with votes", _board_is_whole),
                ("positive precisions, and curvatures that are not negative", _board_is_positive),
            ),
        ),
    ),
    "MaxAbsScaler": (
        "sklearn.preprocessing",
        FittedState(
            {**FEATURES, "scale_": "floats (features)", "max_abs_": "floats (features)"}, outputs="n_features_in_"
        ),
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
        FittedState({**FEATURES, "scale_": "floats (features)", "min_": "floats (features)"}, outputs="n_features_in_"),
    ),
    "MissingIndicator": ("sklearn.impute", FittedState({**FEATURES, "features_": "indices below features (missing)"})),
    "Normalizer": ("sklearn.preprocessing", FittedState(FEATURES, outputs="n_features_in_")),
    "NystromMap": (
        "kernelrank.estimators",
        FittedState(
            needed={
                **FEATURES,
                "kernel_": "kernel",
                "basis_items_": "matrix (basis, features)",
                "rank_": "number of rank",
                "taken_": "indices below basis (rank)",
                "factor_": "floats (rank, rank)",
            },
            optional={"basis_": "None or indices (basis)"},
            laws=(
                WORKING_KERNELS,
                ("a factor without zeros on its diagonal", lambda m: bool(np.all(np.diagonal(m.factor_) != 0))),
            ),
            outputs="rank_",
        ),
    ),
    "OneHotEncoder": (
        "sklearn.preprocessing",
        FittedState(
            {**FEATURES, "_infrequent_enabled": "flag"}, laws=(("categories that it can encode", _encodes_categories),)
        ),
    ),
    "OrdinalEncoder": (
        "sklearn.preprocessing",
        FittedState(
            {**FEATURES, "_infrequent_enabled": "flag"},
            laws=(("categories that it can encode", _encodes_categories),),
            outputs="n_features_in_",
        ),
    ),
    "PCA": (
        "sklearn.decomposition",
        FittedState(
            {
                **FEATURES,
                "n_components_": "number of components",
                "mean_": "floats (features)",
                "components_": "floats (components, features)",
                "explained_variance_": "floats (components)",
            },
            outputs="n_components_",
        ),
    ),
    "PartsVectorizer": (
        "kernelrank.relations",
        FittedState(
            {"vectorizers_": ["parts", "estimator"], "n_pairs_": "whole number"},
            laws=(
                ("one vectorizer for each of its names", lambda model: len(model.vectorizers_) == len(model.names)),
                ("the pairs of its parts", lambda m: m.n_pairs_ == sum(part.n_pairs_ for part in m.vectorizers_)),
            ),
            outputs="n_pairs_",
        ),
    ),
    "Pipeline": (
        "sklearn.pipeline",
        FittedState({}, laws=(("steps whose numbers of inputs and outputs match", _steps_fit_together),)),
    ),
    "RLS": ("kernelrank.estimators", LEARNER.with_optional(**STREAM)),
    "RLSCV": ("kernelrank.model_selection", LEARNER.with_optional(**SEARCH)),
    "RLSClassifier": ("kernelrank.estimators", LEARNER),
    "RLSClassifierCV": ("kernelrank.model_selection", LEARNER.with_optional(**SEARCH)),
    "RankRLS": ("kernelrank.estimators", LEARNER.with_optional(**RANKER, **STREAM)),
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
                "intercept_": "number",
                "threshold_": "number",
                "resampled_threshold_": "number",
                "training_threshold_": "number",
                "share_": "number",
            },
            optional={
                "alpha_": "number",
                "alphas_": "floats (alphas)",
                "cv_results_": "dict",
                "n_candidates_": "whole number",
                "n_documents_": "whole number",
            },
            laws=(("features and a scheme of graphs that the vectorizer is made for", _vectorizer_agrees),),
        ),
    ),
    "RobustScaler": (
        "sklearn.preprocessing",
        FittedState(
            {**FEATURES, "center_": "None or floats (features)", "scale_": "None or floats (features)"},
            laws=(
                ("a scale if it scales", lambda model: not model.with_scaling or model.scale_ is not None),
                ("centres if it centres", lambda model: not model.with_centering or model.center_ is not None),
            ),
            outputs="n_features_in_",
        ),
    ),
    "SimpleImputer": ("sklearn.impute", FittedState(FEATURES, laws=(("a value for every column", _imputes),))),
    "StandardScaler": (
        "sklearn.preprocessing",
        FittedState(
            {
                **FEATURES,
                "mean_": "None or floats (features)",
                "var_": "None or floats (features)",
                "scale_": "None or floats (features)",
            },
            laws=(
                ("a scale if it scales", lambda model: not model.with_std or model.scale_ is not None),
                ("means if it centres", lambda model: not model.with_mean or model.mean_ is not None),
            ),
            outputs="n_features_in_",
        ),
    ),
    "TransductiveRankRLS": (
        "kernelrank.estimators",
        LEARNER.with_optional(
            transduction_="any floats (unscored) or (unscored, outputs)",
            inductive_="any floats (unscored) or (unscored, outputs)",
        ),
    ),
    "TruncatedSVD": (
        "sklearn.decomposition",
        FittedState({**FEATURES, "components_": "floats (components, features)"}),
    ),
    "TwoStepRLS": ("kernelrank.dyads", DYADS),
    "TwoStepRLSCV": ("kernelrank.dyads", DYADS.with_optional(alpha_rows_="number", alpha_columns_="number", **SEARCH)),
    "VarianceThreshold": ("sklearn.feature_selection", FittedState({**FEATURES, "variances_": "floats (features)"})),
}
"""Where each class that can be saved is imported from, and what a fitted one holds."""

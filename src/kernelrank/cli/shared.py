"""What commands share: groups of options, which are the objects that commands work with, and the answer."""

from __future__ import annotations

import functools
import inspect
import io
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from kernelrank import persistence
from kernelrank.base.progress import shown_on
from kernelrank.base.text import escaped_json, printable
from kernelrank.cli.vote_effects import effect_rows

if TYPE_CHECKING:
    from kernelrank.cli.sources import LargeFile
    from kernelrank.data import Items
    from kernelrank.metrics import Measure, MeasureResult

# Groups of options: a dataclass whose annotated fields are options ---------------------------------------------------


def only(*names: str) -> Callable[[str], bool]:
    """Choose the options of a group that a command takes: ``Annotated[Group, only("query", "id")]``."""
    return lambda name: name in names


def without(*names: str) -> Callable[[str], bool]:
    """Choose the options of a group that a command takes: all but these."""
    return lambda name: name not in names


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Expand each parameter of a command that is a dataclass into one option for each of its annotated fields."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind, takes = parameter.annotation, without()
        if get_origin(kind) is Annotated and is_dataclass(get_args(kind)[0]):
            kind, takes = get_args(kind)
        if not is_dataclass(kind):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(kind, include_extras=True)
        taken = [field for field in fields(kind) if get_origin(hints[field.name]) is Annotated and takes(field.name)]
        groups[parameter.name] = kind, [field.name for field in taken]
        parameters += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name]
            )
            for field in taken
        ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, (kind, taken) in groups.items():
            rest = {field.name: None for field in fields(kind) if field.default is MISSING and field.name not in taken}
            given[name] = kind(**rest, **{field: given.pop(field) for field in taken})
        command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _default(field: Any) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default


def option(panel: str | None = None) -> Callable[..., Any]:
    """Return what makes options with a help text, for one panel of the help."""

    def make(what: str, *flags: str, default: str = "", **options: Any) -> Any:
        # A default that is no value of the option, in typer's format; brackets must be escaped.
        text = f"{what}  \\[default: {default}]" if default else what
        return typer.Option(*flags, help=text, rich_help_panel=panel, **options)

    return make


_option = option()
AsJSON = Annotated[bool, _option("Write only JSON to standard output.", "--json")]
Model = Annotated[Path, typer.Argument(help="Model file, written by kernelrank fit or tune.", show_default=False)]
Report = Annotated[Path | None, _option("Write an HTML report with plots to this file.")]
Seed = Annotated[int, _option("Random seed.")]
Jobs = Annotated[int, _option("Number of parallel processes.")]
Confidence = Annotated[float, _option("Confidence level of the intervals, between 0 and 1.")]
InputFormat = Annotated[
    str | None,
    option("Reading the data file")(
        "Input format: svmlight, csv, tsv, parquet or xlsx. Default: guessed from the file name and first line."
    ),
]
PairWeight = Annotated[
    str | None,
    option("Reading preferences")(
        "Column of the weights of the preferences. Guessed from its name if omitted.", "--pair-weight", metavar="COLUMN"
    ),
]
Measures = Annotated[
    list[str] | None,
    _option(
        "Measure, such as ndcg@10, map, p@5, mrr, err@10, auc, pairwise_accuracy or kendall_tau. May be repeated.",
        "--measure",
        "-m",
        metavar="MEASURE",
    ),
]


def positive_number(param: typer.CallbackParam, value: float | None) -> float | None:
    """Raise an error for an option that is not above zero, such as --alpha, before a file is read."""
    if value is not None and not 0 < value < float("inf"):
        from kernelrank.errors import InvalidInputError

        raise InvalidInputError(f"{param.opts[0]}: expected a positive number; got {value:g}")
    return value


NestedAlpha = Annotated[
    float | None,
    _option(
        "Regularisation strength. If omitted, alpha is chosen inside every training set (nested cross-validation).",
        callback=positive_number,
    ),
]
NestedAlphas = Annotated[str, _option("Values of alpha to try, as in kernelrank tune.")]


def one_of(*choices: str) -> dict[str, Any]:
    """Return the rest of an option for one of several methods, which takes the spelling of 0.1, ``bradleyterry``."""

    def chosen(value: str) -> str:
        name = "bradley_terry" if value == "bradleyterry" else value
        if name not in choices:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(map(repr, choices))}.")
        return name

    return {"parser": chosen, "metavar": f"[{'|'.join(choices)}]"}


# Learner --------------------------------------------------------------------------------------------------------------
#
# The learner that the options describe.

TAKES = {
    "rankrls": {"cost", "ties", "query_weight"},
    "ranksvm": {"loss", "query_weight"},
    "rls": set(),
    "bradley_terry": {"ties", "side_bias", "judge_effect"},
    "co_rank_rls": {"cost", "ties", "query_weight"},
    "transductive": {"query_weight"},
}
"""Which options belong to which method, beyond those of the kernel."""

TIES = {
    "rankrls": ("include", "exclude"),
    "bradley_terry": ("half", "davidson"),
    "co_rank_rls": ("include", "exclude"),
}
"""What ``--ties`` may say, by method."""

SPECIAL = ("cost", "loss", "ties", "query_weight", "side_bias", "judge_effect")
"""The options that belong to some methods only."""

REFITTED = ("ranksvm", "bradley_terry")
"""The methods without an exact hold-out."""

UNSCORED = {"co_rank_rls": "CoRankRLS", "transductive": "TransductiveRankRLS"}
"""The methods that learn from unscored items too, with their classes."""

AUTO, METRIC = "auto", "metric"
CHOSEN = (AUTO, METRIC)
"""The words for kernels that are chosen, instead of the name of one kernel."""

KERNELS_WITH = {
    "gamma": ("rbf", "gaussian", "poly", "polynomial", "sigmoid", "laplacian", "chi2"),
    "degree": ("poly", "polynomial"),
    "coef0": ("poly", "polynomial", "sigmoid"),
}
"""Which kernels have a parameter."""


def check_kernel_options(kernels: Sequence[str], **given: Any) -> None:
    """Raise an error for a parameter that none of these kernels has."""
    from kernelrank.errors import InvalidInputError

    for flag, value in given.items():
        owners = KERNELS_WITH[flag.rstrip("s")]
        if value is not None and not any(kernel in owners for kernel in kernels):
            raise InvalidInputError(
                f"--{flag} has no effect with the kernel {', '.join(kernels)}: it is for {', '.join(owners)}"
            )


_learner = option("Model")


@dataclass(frozen=True)
class LearnerOptions:
    """The options of the learner; None where an option is not given."""

    method: Annotated[
        str,
        _learner(
            "rankrls: squared loss over pairs. ranksvm: hinge loss over pairs. rls: squared loss over scores (ridge "
            "regression). bradley_terry: logistic loss over pairs, with probabilities of votes. co_rank_rls, "
            "transductive: rankrls that also learns from the items of --unscored.",
            **one_of("rankrls", "ranksvm", "rls", "bradley_terry", *UNSCORED),
        ),
    ] = "rankrls"
    kernel: Annotated[
        str,
        _learner(
            "Kernel: linear, rbf, poly, laplacian, cosine, ... Where alpha is chosen, also auto (the best of linear, "
            "Gaussian and Laplacian kernels of standardised columns) and metric (the same, with weights of the columns "
            "that are learnt)."
        ),
    ] = "linear"
    gamma: Annotated[
        str | None,
        _learner("Kernel coefficient gamma: a number, scale or median.", default="1 / number of columns"),
    ] = None
    degree: Annotated[float | None, _learner("Degree of the polynomial kernel.", default="3")] = None
    coef0: Annotated[float | None, _learner("Constant term of the polynomial and sigmoid kernels.", default="1")] = None
    cost: Annotated[
        Literal["magnitude", "unit", "relative"] | None,
        _learner(
            "rankrls: target difference of a pair. magnitude: the difference of its scores. unit: 1. relative: the "
            "difference, with errors measured relative to it.",
            default="magnitude",
        ),
    ] = None
    loss: Annotated[Literal["hinge", "squared_hinge"] | None, _learner("ranksvm: loss of a pair.", default="hinge")] = (
        None
    )
    ties: Annotated[
        Literal["include", "exclude", "half", "davidson"] | None,
        _learner(
            "rankrls: whether two items with equal scores form a pair with the target difference 0. bradley_terry with "
            "--pairs: half counts a tie as half a vote for each item; davidson learns the probability of ties.",
            default="include, half",
        ),
    ] = None
    side_bias: Annotated[
        bool,
        _learner(
            "bradley_terry with --pairs: learn by how much the first side (left, home, model A) is preferred, whatever "
            "the items are.",
            "--side-bias",
        ),
    ] = False
    judge_effect: Annotated[
        Literal["side", "scale"] | None,
        _learner(
            "bradley_terry with --pairs: what differs between judges. side: each judge prefers a side. scale: some "
            "judges vote more at random than others.",
            default="nothing",
        ),
    ] = None
    query_weight: Annotated[
        Literal["pairs", "items", "queries"] | None,
        _learner("Which units have equal weight: every pair, every item or every query.", default="pairs"),
    ] = None
    basis: Annotated[
        int | None,
        _learner("Nyström approximation with this many random items as basis. Default: the full kernel."),
    ] = None
    scale: Annotated[
        bool,
        _learner("Standardise the columns (sparse data: scale only). The scaler is saved with the model.", "--scale"),
    ] = False
    seed: Seed = 0
    classes: bool = False
    unscored: bool = False

    def check_kernel(self) -> None:
        """Raise an error for a gamma that is no number, and for a parameter that the kernel does not have."""
        check_kernel_options([self.kernel], gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        read_gamma(self.gamma)

    def of_items(self, items: Items) -> LearnerOptions:
        """Return the options for these items: least squares learn two classes that have names as classes."""
        return replace(self, classes=items.classes is not None)

    def estimator(self, alpha: float | None) -> Any:
        """Return the estimator for one alpha."""
        from kernelrank import estimators, votes
        from kernelrank.errors import InvalidInputError

        if self.kernel in CHOSEN:
            raise InvalidInputError(
                f"The kernel {self.kernel} is chosen together with alpha: use kernelrank tune --kernels {self.kernel}, "
                "or leave --alpha out of auc and concordance"
            )
        room = votes if self.method == "bradley_terry" else estimators
        squares = "RLSClassifier" if self.classes else "RLS"
        kinds = {"rankrls": "RankRLS", "ranksvm": "RankSVM", "rls": squares, "bradley_terry": "BradleyTerry"}
        kinds |= UNSCORED
        return getattr(room, kinds[self.method])(1.0 if alpha is None else alpha, **self.parameters())

    def search(self, alphas: Any, settings: Sequence[dict[str, Any]] = (), **options: Any) -> Any:
        """Return the estimator that chooses among alphas and kernels by hold-outs; not for `REFITTED` methods.

        settings: The kernels to try, with their parameters; that of these options unless given.
        """
        from kernelrank import model_selection
        from kernelrank.errors import InvalidInputError

        kind = {"rankrls": "RankRLSCV", "rls": "RLSClassifierCV" if self.classes else "RLSCV"}[self.method]
        given, names = self.parameters(), [one["kernel"] for one in settings] or [self.kernel]
        if METRIC in names:
            if len(names) > 1:
                raise InvalidInputError("metric tries linear, Gaussian and Laplacian kernels: give no other kernel")
            del given["kernel"]
            return getattr(model_selection, f"Metric{kind}")(alphas, **given, **options)
        grid = [{name: [value] for name, value in one.items()} for one in settings if one != {"kernel": AUTO}]
        if AUTO in names:
            given |= {"kernel": AUTO, "kernel_grid": grid or None}
        elif len(settings) == 1:
            given |= settings[0]
        elif grid:
            given["kernel_grid"] = grid
        return getattr(model_selection, kind)(alphas, **given, **options)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that were given; raise an error for those of another method."""
        from kernelrank.errors import InvalidInputError

        if self.method in UNSCORED and not self.unscored:
            raise InvalidInputError(f"--method {self.method} learns from unscored items: give their file by --unscored")
        if self.method == "co_rank_rls" and self.kernel == "linear":
            raise InvalidInputError(
                "--method co_rank_rls: all views of a linear kernel are the same; use another kernel, such as rbf"
            )
        given: dict[str, Any] = {name: value for name in SPECIAL if (value := getattr(self, name)) not in (None, False)}
        for name in given:
            if name not in TAKES[self.method]:
                owners = [method for method, names in TAKES.items() if name in names]
                flag = name.replace("_", "-")
                raise InvalidInputError(f"--{flag} belongs to --method {' or '.join(owners)}, not to {self.method}")
        if self.ties is not None and self.ties not in TIES[self.method]:
            raise InvalidInputError(
                f"--ties: expected {' or '.join(TIES[self.method])} with --method {self.method}; got {self.ties}"
            )
        given |= {"gamma": read_gamma(self.gamma), "degree": self.degree, "coef0": self.coef0, "basis": self.basis}
        chosen = {name: value for name, value in given.items() if value is not None}
        return {"kernel": self.kernel, **chosen, "random_state": self.seed}

    def check_votes(self, *, pairs: bool, judge: bool) -> None:
        """Raise an error for options of votes where there are none, and for judges that nothing depends on."""
        from kernelrank.errors import InvalidInputError

        for_votes: dict[str, Any] = {"--side-bias": self.side_bias, "--judge-effect": self.judge_effect}
        if self.method == "bradley_terry":
            for_votes["--ties"] = self.ties
        for flag, value in for_votes.items():
            if value and not pairs:
                raise InvalidInputError(f"{flag} needs votes: give their file by --pairs, or remove {flag}")
        if judge and self.judge_effect is None:
            raise InvalidInputError(
                "--judge has no effect without --judge-effect: remove it, or use tune, which holds out judges"
            )

    def scaler(self, X: Any) -> Any:
        """Return the scaling of these columns, fitted, or None if it is not requested."""
        if not self.scale:
            return None
        from scipy import sparse
        from sklearn.preprocessing import StandardScaler

        return StandardScaler(with_mean=not sparse.issparse(X)).fit(X)


def scaled(scaler: Any, X: Any) -> Any:
    """Return the items with scaled columns."""
    return X if scaler is None else scaler.transform(X)


def joined(scaler: Any, ranker: Any) -> Any:
    """Put a scaling before a ranker, both fitted."""
    if scaler is None:
        return ranker
    from sklearn.pipeline import Pipeline

    return Pipeline([("scale", scaler), ("rank", ranker)])


# Measuring ------------------------------------------------------------------------------------------------------------
#
# Measures as the options describe them, and their results in rows.

DEFAULT_MEASURES = ("pairwise_accuracy", "ndcg@10", "map")


_rule = option("Conventions of the measures")


@dataclass(frozen=True)
class MeasureRules:
    """The conventions of measures given by options; None where an option is not given."""

    gain: Annotated[
        Literal["exponential", "linear"] | None,
        _rule("NDCG gain: exponential (2^y - 1) or linear (y).", default="exponential"),
    ] = None
    discount: Annotated[
        Literal["log2", "letor"] | None,
        _rule("NDCG discount: log2(1 + rank), or that of LETOR, which does not discount rank 2.", default="log2"),
    ] = None
    short: Annotated[
        Literal["cut", "zero"] | None,
        _rule("NDCG@k of a query with fewer than k items: of those it has, or 0, as LETOR's script.", default="cut"),
    ] = None
    tied: Annotated[
        Literal["average", "pessimistic", "optimistic", "order"] | None,
        _rule("How to rank items with equal predictions.", default="average"),
    ] = None
    empty: Annotated[
        Literal["skip", "zero", "one"] | None,
        _rule("Value of a query without a relevant item: leave it out, 0 or 1.", default="skip"),
    ] = None
    relevant_from: Annotated[
        float | None,
        _rule("MAP, P, MRR, threshold measures: lowest score that counts as relevant.", default="above 0"),
    ] = None
    max_grade: Annotated[float | None, _rule("ERR: highest possible grade.", default="4")] = None
    threshold: Annotated[
        float | None,
        _rule(
            "threshold_precision, threshold_recall, threshold_f: lowest prediction that counts as positive.",
            default="0",
        ),
    ] = None
    trec: Annotated[
        bool,
        _rule(
            "Use the rules of trec_eval: gain linear, ties by descending item name, empty queries count 0.", "--trec"
        ),
    ] = False

    def measures(self, names: Sequence[str] | None) -> list[Measure]:
        """Return the measures of these names, each with the rules that it has."""
        from kernelrank.errors import InvalidInputError
        from kernelrank.metrics import get_measure

        wanted = [get_measure(name) for name in names or DEFAULT_MEASURES]
        found = []
        used: set[str] = set()
        for measure in wanted:
            known = {field.name for field in fields(measure)}
            rules = {name: value for name, value in self._rules().items() if name in known}
            used |= rules.keys()
            found.append(get_measure(measure, **rules))
        for name in self._given().keys() - used:
            flag = {"ties": "tied"}.get(name, name.replace("_", "-"))
            raise InvalidInputError(f"--{flag} has no effect on the measures {', '.join(map(str, wanted))}")
        return found

    def _given(self) -> dict[str, Any]:
        """Return the rules that were given, by the names that measures have for them."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "trec"}
        given["ties"] = given.pop("tied")
        return {name: value for name, value in given.items() if value is not None}

    def _rules(self) -> dict[str, Any]:
        trec = {"gain": "linear", "ties": "order", "empty": "zero"} if self.trec else {}
        return {**trec, **self._given()}

    @property
    def _by_name(self) -> bool:
        """Whether items with the same score are placed by their names."""
        return self.trec and self.tied is None

    def rules_of(self, measure: Measure) -> list[str]:
        """Return the rules of a measure in words, with trec_eval's rule for ties if items are ordered by name."""
        from kernelrank.metrics.lists import TIE_WORDS

        by_name = {TIE_WORDS["order"]: "ties by descending item name"} if self._by_name else {}
        return [by_name.get(words, words) for words in measure.rules]

    def label_of(self, measure: Measure) -> str:
        """Return the name of a measure with its rules."""
        return f"{measure.name} ({', '.join(self.rules_of(measure))})"

    def order(self, ids: Any) -> Any:
        """Return the order in which items are given to the measures: by decreasing name for trec_eval, else None."""
        if not self._by_name:
            return None
        import numpy as np

        from kernelrank.errors import InvalidInputError

        if ids is None or any(str(name) == "" for name in ids):
            raise InvalidInputError("--trec orders ties by item name, and some items have no name: give --id")
        return np.argsort(np.array(list(map(str, ids)), dtype=object), kind="stable")[::-1]


def facts_of(
    result: MeasureResult,
    measure: Measure,
    *,
    confidence: float,
    seed: int,
    by_query: bool,
    rules: MeasureRules | None = None,
) -> dict[str, Any]:
    """Return a measured result as values for JSON."""
    interval = result.interval(confidence, random_state=seed) if result.has_interval else None
    facts: dict[str, Any] = {
        "measure": measure.name,
        "rules": (rules or MeasureRules()).rules_of(measure),
        "mean": result.mean,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "confidence": confidence,
        "interval": None if interval is None else interval.method,
        "queries": len(result),
        "left_out": result.n_left_out,
    }
    if by_query:
        facts["by_query"] = {
            **dict(zip(map(str, result.queries.tolist()), result.values.tolist(), strict=True)),
            **{str(query): None for query in result.left_out.tolist()},
        }
    return facts


def interval_lines(found: Sequence[dict[str, Any]]) -> list[str]:
    """Describe how the intervals of some results were computed."""
    kinds: dict[str, list[str]] = {}
    for facts in found:
        if facts["interval"] is not None:
            kinds.setdefault(facts["interval"], []).append(facts["measure"])
    lines = []
    for how, names in kinds.items():
        subject = "Intervals" if len(kinds) == 1 and len(found) == len(names) else f"Interval of {', '.join(names)}"
        lines.append(f"{subject}: {how}.")
    return lines


def row_of(facts: dict[str, Any]) -> list[str]:
    """Return a measured result as a row of the text table."""
    interval = "one query" if facts["low"] is None else f"{facts['low']:.4f} to {facts['high']:.4f}"
    return [facts["measure"], f"{facts['mean']:.4f}", interval, str(facts["queries"]), str(facts["left_out"])]


# Number grid ----------------------------------------------------------------------------------------------------------
#
# A grid of numbers as people type it: 0.1,1,10 or 2^-15:2^15; and the words that stand for numbers.


def read_grid(text: str, flag: str) -> list[float]:
    """Read numbers with commas between; ``low:high`` doubles from low to high, ``low:high:n`` takes n steps.

    Returns: In ascending order, none of them twice.
    """
    from kernelrank.errors import InvalidInputError

    try:
        values = sorted({value for part in text.split(",") for value in _read_part(part.strip())})
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise InvalidInputError(
            f"{flag}: {text!r} is not a list or range of numbers ({error}). Write 0.1,1,10 or 2^-15:2^15 or 0.01:1000:6"
        ) from None
    return values


def read_alphas(text: str) -> str | list[float]:
    """Read ``--alphas``: a grid, or "auto" for one that is computed from the data."""
    from kernelrank.errors import InvalidInputError

    if text == "auto":
        return text
    values = read_grid(text, "--alphas")
    if values[0] <= 0:
        raise InvalidInputError(f"--alphas: expected positive numbers; got {values[0]:g}")
    return values


def read_gammas(text: str | None) -> list[Any]:
    """Read ``--gammas``: a grid, with the rules "scale" and "median" among the numbers."""
    from kernelrank.kernels import GAMMA_RULES

    parts = [] if text is None else [part.strip() for part in text.split(",")]
    rules = [rule for rule in GAMMA_RULES if rule in parts]
    numbers = [part for part in parts if part not in rules]
    return [*rules, *(read_grid(",".join(numbers), "--gammas") if numbers else [])]


def read_gamma(text: str | None) -> Any:
    """Read ``--gamma``: a number, or a rule."""
    from kernelrank.errors import InvalidInputError
    from kernelrank.kernels import GAMMA_RULES

    if text is None or text in GAMMA_RULES:
        return text
    try:
        return _read_number(text)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise InvalidInputError(f"--gamma must be a number, scale or median, got {text!r}") from None


def _read_part(part: str) -> list[float]:
    numbers = part.split(":")
    if len(numbers) == 1:
        return [_read_number(part)]
    if len(numbers) > 3:
        raise ValueError(f"{part!r} has more than two colons")
    low, high = map(_read_number, numbers[:2])
    if not 0 < low < high:
        raise ValueError(f"{part!r} must be an increasing range of positive numbers")
    steps = int(numbers[2]) if len(numbers) == 3 else round(math.log2(high / low)) + 1
    if not 2 <= steps <= 1000:
        raise ValueError(f"{part!r} has {steps} numbers, not 2 to 1000")
    ratio = (high / low) ** (1 / (steps - 1))
    # Numbers of a grid are read by people: 0.1, not 0.10000000000000002.
    return [low, *(float(f"{low * ratio**step:.12g}") for step in range(1, steps - 1)), high]


def _read_number(text: str) -> float:
    base, power, exponent = text.partition("^")
    value = float(base) ** float(exponent) if power else float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not finite")
    return value


# Answer ---------------------------------------------------------------------------------------------------------------
#
# An answer: the same facts as tables for people and as JSON for programs.


def plain(value: Any) -> Any:
    """Convert a value to JSON types; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


class Answer:
    """What a command found."""

    def __init__(self, command: str, *, as_json: bool, quiet: bool = False) -> None:
        self.facts: dict[str, Any] = {"command": command}
        self.as_json = as_json
        self.quiet = quiet
        self.notes: list[str] = []
        self._parts: list[tuple[str, Any, bool]] = []

    def fact(self, name: str, value: object) -> None:
        """Add a value to the JSON output."""
        self.facts[name] = value

    def add(self, facts: Mapping[str, object]) -> None:
        """Add some values to the JSON output."""
        self.facts.update(facts)

    def saved(self, **files: Path | None) -> None:
        """Say where files are that were written, such as the model and the report; None for those that were not."""
        for what, path in files.items():
            self.fact(what, None if path is None else str(path))
            if path is not None:
                self.line(f"The {what} is in {path}.")

    def line(self, text: str, style: str = "") -> None:
        """Add a sentence to the text output; JSON output leaves it out."""
        if not self.as_json:
            self._add("text", _text(text, style))

    def _add(self, kind: str, part: object) -> None:
        """Add a part, with a blank line between texts, titles and tables."""
        before = self._parts[-1][0] if self._parts else None
        apart = before == "table" or (before == "text" and kind != "text")
        self._parts.append((kind, part, apart))

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table to the text output: a column of text, then columns of numbers or of words.

        Columns without names make a sheet of facts.
        """
        if self.as_json:
            return
        if title:
            # A line of its own, which a narrow table does not fold.
            self._add("title", _text(title, "bold"))
        self._add("table", _table(columns, rows) if any(columns) else _sheet(rows))

    def note(self, text: str) -> None:
        """Add a note: printed to standard error at once, or listed in the JSON output."""
        if text in self.notes:
            return
        self.notes.append(text)
        if not self.as_json:
            remark(text)

    @contextmanager
    def noting_warnings(self) -> Iterator[None]:
        """Turn the warnings of the library into notes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            if not issubclass(warning.category, (DeprecationWarning, FutureWarning, ResourceWarning)):
                self.note(str(warning.message))

    def show(self) -> None:
        """Write the answer."""
        from kernelrank.persistence.atomic import naming

        with naming("standard error" if self.quiet else "standard output"):
            self._write()

    def _write(self) -> None:
        if self.as_json:
            stream = sys.stderr if self.quiet else sys.stdout
            if stream is None:
                return
            # JSON has an ASCII form of every character, for streams that know few.
            unicode = (stream.encoding or "").lower().replace("-", "") == "utf8"
            facts = plain({**self.facts, "notes": self.notes})
            text = json.dumps(facts, indent=2, ensure_ascii=not unicode, allow_nan=False)
            stream.write(escaped_json(text) + "\n")
            stream.flush()
            return
        place = console(error=self.quiet)
        for _, part, apart in self._parts:
            if apart:
                place.print()
            place.print(part)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    """Draw a table with a line under its header."""
    from rich import box
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    for number, column in enumerate(columns):
        right = number > 0 and all(_is_number(row[number]) for row in rows)
        drawn.add_column(_text(column), justify="right" if right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*map(_text, row))
    return drawn


def _sheet(rows: Sequence[Sequence[str]]) -> Any:
    """Draw names with their values, without a header."""
    from rich.table import Table

    drawn = Table.grid(padding=(0, 3))
    drawn.add_column(style="dim", no_wrap=True)
    drawn.add_column(overflow="fold")
    for row in rows:
        drawn.add_row(*map(_text, row))
    return drawn


def _text(text: str, style: str = "") -> Any:
    from rich.text import Text

    return Text(printable(text), style=style)


def _is_number(text: str) -> bool:
    return not text[:1].isalpha()


# Model rows -----------------------------------------------------------------------------------------------------------
#
# A model in rows: its kind, its options, and its training data.


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Put a number before its noun."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def changed_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters of the ranker that differ from their defaults, and always alpha and the kernel."""
    ranker = persistence.final_step(model)
    plain = type(ranker)().get_params()
    given = ranker.get_params()
    shown = {name: value for name, value in given.items() if _differs(value, plain[name]) or name == "kernel"}
    shown.pop("alphas", None)
    shown.pop("random_state", None)
    chosen = getattr(ranker, "best_params_", None)
    alpha = {"alpha": getattr(ranker, "alpha_", given.get("alpha"))}
    return {**alpha, **shown, **(chosen or {})}


def _differs(value: object, other: object) -> bool:
    if hasattr(value, "tolist") or isinstance(value, (list, tuple)):
        return False
    return bool(value != other)


def setting_rows(model: Any, items: Items | LargeFile | None = None) -> list[tuple[str, str]]:
    """Return the description of a model as rows of the text table."""
    ranker = persistence.final_step(model)
    parameters = changed_parameters(model)
    rows = [("model", type(ranker).__name__)]
    rows.append(("options", ", ".join(f"{name} {_shown(value)}" for name, value in parameters.items())))
    if ranker is not model:
        rows.append(("columns", "standardised before training"))
    rows.append(("data", _data(model, items)))
    n_pairs = getattr(ranker, "n_pairs_", None)
    if n_pairs:
        idle = getattr(ranker, "n_idle_queries_", 0)
        left = f"; {counted(idle, 'query has', 'queries have')} none" if idle else ""
        rows.append(("compared", f"{counted(n_pairs, 'pair')}{left}"))
    rows += effect_rows(ranker)
    levels = level_facts(model)
    if levels:
        ends = [*(f"up to {cut:.4g}" for cut in levels["thresholds"]), "above"]
        named = zip(levels["levels"], ends, strict=True)
        rows.append(("levels", ", ".join(f"{level:g} {end}" for level, end in named)))
    iterations = f", {counted(ranker.n_iter_, 'iteration')}" if ranker.n_iter_ > 1 else ""
    rows.append(("solved by", f"{ranker.solver_}{iterations}"))
    if hasattr(ranker, "gap_"):
        rows.append(("duality gap", f"{ranker.gap_:.2g} of the objective"))
    return rows


def level_facts(model: Any) -> dict[str, Any]:
    """Return the levels of a model and the scores at which they change; an empty dict if it predicts scores."""
    if persistence.levels_of(model) is None:
        return {}
    of_levels = model.steps[-1][1] if hasattr(model, "steps") else model
    return {"levels": of_levels.levels_, "thresholds": of_levels.thresholds_}


def _shown(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _data(model: Any, items: Items | LargeFile | None) -> str:
    ranker, known = persistence.final_step(model), persistence.provenance(model)
    n_items = len(items) if items is not None else known.get("items")
    n_queries = getattr(ranker, "n_queries_", None) if getattr(ranker, "n_pairs_", 0) else None
    transduced = hasattr(ranker, "transduction_")  # its queries are those of two files
    parts = [] if n_items is None else [counted(n_items, "scored item" if transduced else "item")]
    parts.append(counted(model.n_features_in_, "column"))
    if n_queries is not None and not transduced:
        parts.append(counted(n_queries, "query", "queries"))
    file = items.path if items is not None else known.get("file")
    return ", ".join(parts) + (f" of {file}" if file else "")


# Output file ----------------------------------------------------------------------------------------------------------
#
# Output files are checked before the work begins, so that no long run fails because of a missing folder.

STANDARD_STREAM = "-"
"""What stands for standard input or output."""


def check_file(path: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Check an output file as `check_output` does, and refuse standard output."""
    if path is not None and str(path) == STANDARD_STREAM:
        from kernelrank.errors import InvalidInputError

        raise InvalidInputError("-: models and reports cannot be written to standard output: give a file name")
    check_output(path, inputs)


def check_page(path: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Check a report file as `check_file` does, and that what it needs is installed."""
    check_file(path, inputs)
    if path is not None:
        check_extra("report", "jinja2", "matplotlib")


def check_extra(extra: str, *packages: str) -> None:
    """Raise an error if the output needs a package that is not installed."""
    from importlib.util import find_spec

    from kernelrank.errors import MissingExtraError

    for package in packages:
        if find_spec(package) is None:
            raise MissingExtraError(package, extra)


def check_output(path: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Raise an error for a place that cannot be written to, or that is one of the inputs."""
    if path is None or str(path) == STANDARD_STREAM:
        return
    from kernelrank.errors import InvalidInputError
    from kernelrank.persistence.atomic import is_stream

    if is_stream(path):
        return
    if path.is_dir():
        raise InvalidInputError(f"{path}: is a folder; give the name of a file to write")
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise InvalidInputError(f"{path}: is a symbolic link that points to itself; remove it")
    folder = target.parent
    if not folder.is_dir():
        raise InvalidInputError(f"{path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"{path}: the folder {folder} cannot be written to")
    for given in inputs:
        if str(given) != STANDARD_STREAM and given.exists() and path.exists() and path.samefile(given):
            raise InvalidInputError(f"{path}: is also an input file; write to another file")


# Console --------------------------------------------------------------------------------------------------------------
#
# Consoles: results on standard output, notes on standard error.


def console(*, error: bool = False) -> Any:
    """Return a new console for standard output or standard error, because tests and pipes replace the streams.

    What is not written to a terminal has 120 columns, unless COLUMNS says otherwise.
    """
    if error and (shown := shown_on()) is not None:
        return shown  # it writes above the bar
    from rich.console import Console

    class PassingConsole(Console):
        """A console that raises BrokenPipeError when the reader has closed the pipe; the command then ends."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    stream: Any = sys.stderr if error else sys.stdout
    if stream is None:
        # It was closed before the command began: there is nobody to tell.
        return Console(file=io.StringIO(), width=120)
    if getattr(stream, "errors", None) == "strict" and hasattr(stream, "reconfigure"):
        # A name that the terminal has no letters for is shown by its numbers, and stops nothing.
        stream.reconfigure(errors="backslashreplace")
    width = None if stream.isatty() or "COLUMNS" in os.environ else 120
    return PassingConsole(stderr=error, width=width, highlight=False, soft_wrap=False)


def tell(message: str) -> None:
    """Print an error message to standard error."""
    _line("kernelrank: ", "bold red", message)


def remark(message: str) -> None:
    """Print a note to standard error."""
    _line("note: ", "yellow", message, whole_words=True)


def _line(prefix: str, style: str, message: str, *, whole_words: bool = False) -> None:
    from rich.text import Text

    out = console(error=True)
    # One line, wrapped by the terminal alone: what an error names can be copied and searched for. Notes are longer, and
    # break between words on a terminal.
    soft_wrap = not (whole_words and out.is_terminal)
    out.print(Text.assemble((prefix, style), printable(message)), soft_wrap=soft_wrap)

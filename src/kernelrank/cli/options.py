"""Options that several commands share: a group of options is a dataclass, and its object is what commands work with."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

if TYPE_CHECKING:
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
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )
            for field in taken
        ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made = {name: kind(**{field: given.pop(field) for field in taken}) for name, (kind, taken) in groups.items()}
        command(**given, **made)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


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
}
"""Which options belong to which method, beyond those of the kernel."""

TIES = {"rankrls": ("include", "exclude"), "bradley_terry": ("half", "davidson")}
"""What ``--ties`` may say, by method."""

SPECIAL = ("cost", "loss", "ties", "query_weight", "side_bias", "judge_effect")
"""The options that belong to some methods only."""

REFITTED = ("ranksvm", "bradley_terry")
"""The methods without an exact hold-out."""

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
            "regression). bradley_terry: logistic loss over pairs, with probabilities of votes.",
            **one_of("rankrls", "ranksvm", "rls", "bradley_terry"),
        ),
    ] = "rankrls"
    kernel: Annotated[str, _learner("Kernel: linear, rbf, poly, laplacian, cosine, ...")] = "linear"
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

        room = votes if self.method == "bradley_terry" else estimators
        squares = "RLSClassifier" if self.classes else "RLS"
        kinds = {"rankrls": "RankRLS", "ranksvm": "RankSVM", "rls": squares, "bradley_terry": "BradleyTerry"}
        return getattr(room, kinds[self.method])(1.0 if alpha is None else alpha, **self.parameters())

    def search(self, alphas: Any, **options: Any) -> Any:
        """Return the estimator that chooses among alphas by exact hold-out; not for `REFITTED` methods."""
        from kernelrank import model_selection

        kinds = {"rankrls": "RankRLSCV", "rls": "RLSClassifierCV" if self.classes else "RLSCV"}
        return getattr(model_selection, kinds[self.method])(alphas, **self.parameters(), **options)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that were given; raise an error for those of another method."""
        from kernelrank.errors import InvalidInputError

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

        for_votes = {"--side-bias": self.side_bias, "--judge-effect": self.judge_effect}
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

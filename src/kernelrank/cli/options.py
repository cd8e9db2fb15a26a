"""Options that several commands share, with their help texts."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    from kernelrank.data import Items
    from kernelrank.metrics import Measure, MeasureResult

TIES_BY_NAME = "ties by descending item name"
"""How trec_eval places items with the same score."""

DATA = "Reading the data file"
PREFERENCES = "Reading preferences"
LEARNER = "Model"
RULES = "Conventions of the measures"


AsJSON = Annotated[bool, typer.Option("--json", help="Write only JSON to standard output.")]
Model = Annotated[Path, typer.Argument(help="Model file, written by kernelrank fit or tune.", show_default=False)]
Report = Annotated[
    Path | None, typer.Option("--report", help="Write an HTML report with plots to this file.", show_default=False)
]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Confidence = Annotated[float, typer.Option("--confidence", help="Confidence level of the intervals, between 0 and 1.")]

# How the file is read ------------------------------------------------------------------------------------------------

InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        help="Input format: svmlight, csv, tsv, parquet or xlsx. Default: guessed from the file name and first line.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]


def _column(flag: str, what: str) -> Any:
    return typer.Option(flag, metavar="COLUMN", help=what, rich_help_panel=DATA, show_default=False)


Target = Annotated[
    str | None, _column("--target", "Target column: scores, grades or classes. Guessed from its name if omitted.")
]
Time = Annotated[str | None, _column("--time", "Column of survival times, to learn from instead of --target.")]
Event = Annotated[
    str | None,
    _column(
        "--event",
        "With --time: column that says whether the event happened (1, true) or the time is censored (0, false).",
    ),
]
Happened = Annotated[
    str | None,
    typer.Option(
        "--happened",
        metavar="WORD",
        help="The value of the --event column that means an event, if it is not 1 or true.",
    ),
]
Strata = Annotated[
    str | None, _column("--strata", "With --time: column of strata; only items of one stratum are compared.")
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="The positive class, which should rank high. If omitted, it is guessed from the words (case/control, "
        "yes/no, malignant/benign, ...), else the last class in sorted order; the output says which class it "
        "is and why.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Query = Annotated[
    str | None,
    _column("--query", "Query column: only items of the same query are compared. Guessed from its name if omitted."),
]
Id = Annotated[str | None, _column("--id", "Column of item names. Guessed from its name if omitted.")]
Weight = Annotated[str | None, _column("--weight", "Column of sample weights. Guessed from its name if omitted.")]
Groups = Annotated[
    str | None,
    _column(
        "--groups",
        "Group column, such as the patient: rows of one group are held out together. Guessed from its name if omitted.",
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        metavar="COLUMNS",
        help="Feature columns, separated by commas. Default: all other columns.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Exclude = Annotated[
    str | None,
    typer.Option(
        "--exclude",
        metavar="COLUMNS",
        help="Columns not to use as features, separated by commas; gene* means all that begin with gene.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Missing = Annotated[
    Literal["median", "mean", "drop", "error"],
    typer.Option(
        "--missing",
        help="Missing numbers. median, mean: impute by column, computed once on all rows. drop: remove the row. "
        "error: list them and stop.",
        rich_help_panel=DATA,
    ),
]
MissingIndicator = Annotated[
    bool,
    typer.Option(
        "--missing-indicator",
        help="Add an indicator column (1 = missing) for each column with missing values.",
        rich_help_panel=DATA,
    ),
]
Ordinal = Annotated[
    list[str] | None,
    typer.Option(
        "--ordinal",
        metavar="COLUMN=WORDS",
        help="Ordinal column with its values from lowest to highest: stage=I,II,III becomes 0, 1, 2. May be "
        "repeated. Other text columns are one-hot encoded.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]

# How preferences are read --------------------------------------------------------------------------------------------


def _pair_column(flag: str, what: str) -> Any:
    return typer.Option(flag, metavar="COLUMN", help=what, rich_help_panel=PREFERENCES, show_default=False)


Winner = Annotated[
    str | None,
    _pair_column(
        "--winner", "Column of the winners, or the column that says which side won. Guessed from its name if omitted."
    ),
]
Loser = Annotated[str | None, _pair_column("--loser", "Column of the losers. Guessed from its name if omitted.")]
Left = Annotated[
    str | None,
    _pair_column("--left", "Column of the first item (left, home, model A). Guessed from its name if omitted."),
]
Right = Annotated[
    str | None,
    _pair_column("--right", "Column of the second item (right, away, model B). Guessed from its name if omitted."),
]
TieColumn = Annotated[str | None, _pair_column("--tie", "Column that marks ties. Guessed from its name if omitted.")]
Judge = Annotated[
    str | None, _pair_column("--judge", "Column of the judges: who voted. Guessed from its name if omitted.")
]
PairWeight = Annotated[
    str | None,
    _pair_column("--pair-weight", "Column of the weights of the preferences. Guessed from its name if omitted."),
]

# What is learnt ------------------------------------------------------------------------------------------------------


def positive_number(param: typer.CallbackParam, value: float | None) -> float | None:
    """Raise an error for an option that is not above zero, such as --alpha, before a file is read."""
    if value is not None and not 0 < value < float("inf"):
        from kernelrank.errors import InvalidInputError

        raise InvalidInputError(f"{param.opts[0]}: expected a positive number; got {value:g}")
    return value


def _choice(flag: str, what: str, default: str = "", **options: Any) -> Any:
    text = _with_default(what, default)
    return typer.Option(flag, help=text, rich_help_panel=LEARNER, show_default=False, **options)


def _with_default(what: str, default: str) -> str:
    """Return help with the default value in typer's format; brackets must be escaped."""
    return f"{what}  \\[default: {default}]" if default else what


def method_option(*flags: str, choices: tuple[str, ...], **options: Any) -> Any:
    """Return an option for one of several methods, which takes the spelling of 0.1, ``bradleyterry``, too."""

    def chosen(value: str) -> str:
        name = "bradley_terry" if value == "bradleyterry" else value
        if name not in choices:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(map(repr, choices))}.")
        return name

    return typer.Option(*flags, parser=chosen, metavar=f"[{'|'.join(choices)}]", **options)


Method = Annotated[
    str,
    method_option(
        "--method",
        choices=("rankrls", "ranksvm", "rls", "bradley_terry"),
        help="rankrls: squared loss over pairs. ranksvm: hinge loss over pairs. rls: squared loss over scores "
        "(ridge regression). bradley_terry: logistic loss over pairs, with probabilities of votes.",
        rich_help_panel=LEARNER,
    ),
]
Alpha = Annotated[
    float | None,
    _choice(
        "--alpha",
        "Regularisation strength: larger values mean smoother models. The loss is a sum over pairs, so more pairs need "
        "a larger alpha.",
        "1",
        callback=positive_number,
    ),
]
NestedAlpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        help="Regularisation strength. If omitted, alpha is chosen inside every training set (nested "
        "cross-validation).",
        callback=positive_number,
    ),
]
NestedAlphas = Annotated[str, typer.Option("--alphas", help="Values of alpha to try, as in kernelrank tune.")]
KernelName = Annotated[
    str, typer.Option("--kernel", help="Kernel: linear, rbf, poly, laplacian, cosine, ...", rich_help_panel=LEARNER)
]
Gamma = Annotated[
    str | None, _choice("--gamma", "Kernel coefficient gamma: a number, scale or median.", "1 / number of columns")
]
Degree = Annotated[float | None, _choice("--degree", "Degree of the polynomial kernel.", "3")]
Coef0 = Annotated[float | None, _choice("--coef0", "Constant term of the polynomial and sigmoid kernels.", "1")]
Cost = Annotated[
    Literal["magnitude", "unit", "relative"] | None,
    _choice(
        "--cost",
        "rankrls: target difference of a pair. magnitude: the difference of its scores. unit: 1. relative: the "
        "difference, with errors measured relative to it.",
        "magnitude",
    ),
]
Loss = Annotated[Literal["hinge", "squared_hinge"] | None, _choice("--loss", "ranksvm: loss of a pair.", "hinge")]
Ties = Annotated[
    Literal["include", "exclude", "half", "davidson"] | None,
    _choice(
        "--ties",
        "rankrls: whether two items with equal scores form a pair with the target difference 0. bradley_terry with "
        "--pairs: half counts a tie as half a vote for each item; davidson learns the probability of ties.",
        "include, half",
    ),
]
SideBias = Annotated[
    bool,
    _choice(
        "--side-bias",
        "bradley_terry with --pairs: learn by how much the first side (left, home, model A) is preferred, whatever the "
        "items are.",
    ),
]
JudgeEffect = Annotated[
    Literal["side", "scale"] | None,
    _choice(
        "--judge-effect",
        "bradley_terry with --pairs: what differs between judges. side: each judge prefers a side. scale: some judges "
        "vote more at random than others.",
        "nothing",
    ),
]
QueryWeight = Annotated[
    Literal["pairs", "items", "queries"] | None,
    _choice("--query-weight", "Which units have equal weight: every pair, every item or every query.", "pairs"),
]
Basis = Annotated[
    int | None,
    _choice("--basis", "Nyström approximation with this many random items as basis. Default: the full kernel."),
]
Scale = Annotated[
    bool,
    _choice("--scale", "Standardise the columns (sparse data: scale only). The scaler is saved with the model."),
]

# Groups of options: a dataclass whose fields are options ----------------------------------------------------------


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Expand each parameter of a command that is a dataclass into one option for each of its fields."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if is_dataclass(kind):
            groups[parameter.name] = kind
            hints = get_type_hints(kind, include_extras=True)
            parameters += [
                parameter.replace(name=field.name, default=field.default, annotation=hints[field.name])
                for field in fields(kind)
            ]
        else:
            parameters.append(parameter)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    by_name = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    return run


# Rules of the measures -----------------------------------------------------------------------------------------------

Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="MEASURE",
        help="Measure, such as ndcg@10, map, p@5, mrr, err@10, auc, pairwise_accuracy or kendall_tau. May be repeated.",
        show_default=False,
    ),
]


def _rule(flag: str, what: str, default: str = "") -> Any:
    return typer.Option(flag, help=_with_default(what, default), rich_help_panel=RULES, show_default=False)


Gain = Annotated[
    Literal["exponential", "linear"] | None,
    _rule("--gain", "NDCG gain: exponential (2^y - 1) or linear (y).", "exponential"),
]
Discount = Annotated[
    Literal["log2", "letor"] | None,
    _rule("--discount", "NDCG discount: log2(1 + rank), or that of LETOR, which does not discount rank 2.", "log2"),
]
TiesOfList = Annotated[
    Literal["average", "pessimistic", "optimistic", "order"] | None,
    _rule("--tied", "How to rank items with equal predictions.", "average"),
]
Empty = Annotated[
    Literal["skip", "zero", "one"] | None,
    _rule("--empty", "Value of a query without a relevant item: leave it out, 0 or 1.", "skip"),
]
RelevantFrom = Annotated[
    float | None,
    _rule("--relevant-from", "MAP, P, MRR, threshold measures: lowest score that counts as relevant.", "above 0"),
]
MaxGrade = Annotated[float | None, _rule("--max-grade", "ERR: highest possible grade.", "4")]
Threshold = Annotated[
    float | None,
    _rule(
        "--threshold",
        "threshold_precision, threshold_recall, threshold_f: lowest prediction that counts as positive.",
        "0",
    ),
]
TrecRules = Annotated[
    bool,
    _rule("--trec", f"Use the rules of trec_eval: gain linear, {TIES_BY_NAME}, empty queries count 0."),
]


# Learner --------------------------------------------------------------------------------------------------------------
#
# The learner that the options describe.

KERNEL_OPTIONS = ("gamma", "degree", "coef0")

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


@dataclass(frozen=True)
class LearnerOptions:
    """The options of the learner; None where an option is not given."""

    method: str = "rankrls"
    kernel: str = "linear"
    gamma: float | str | None = None
    degree: float | None = None
    coef0: float | None = None
    cost: str | None = None
    loss: str | None = None
    ties: str | None = None
    query_weight: str | None = None
    basis: int | None = None
    side_bias: bool | None = None
    judge_effect: str | None = None
    scale: bool = False
    seed: int = 0
    classes: bool = False

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

        special = {name: getattr(self, name) for name in SPECIAL}
        for name, value in special.items():
            if value is not None and name not in TAKES[self.method]:
                owners = [method for method, names in TAKES.items() if name in names]
                flag = name.replace("_", "-")
                raise InvalidInputError(f"--{flag} belongs to --method {' or '.join(owners)}, not to {self.method}")
        if self.ties is not None and self.ties not in TIES[self.method]:
            raise InvalidInputError(
                f"--ties: expected {' or '.join(TIES[self.method])} with --method {self.method}; got {self.ties}"
            )
        given = {**special, **{name: getattr(self, name) for name in (*KERNEL_OPTIONS, "basis")}}
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


@dataclass(frozen=True)
class MeasureRules:
    """The conventions of measures given by options; None where an option is not given."""

    gain: Gain = None
    discount: Discount = None
    tied: TiesOfList = None
    empty: Empty = None
    relevant_from: RelevantFrom = None
    max_grade: MaxGrade = None
    threshold: Threshold = None
    trec: TrecRules = False

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

        by_name = {TIE_WORDS["order"]: TIES_BY_NAME} if self._by_name else {}
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

LONGEST = 1000


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
    if not 2 <= steps <= LONGEST:
        raise ValueError(f"{part!r} has {steps} numbers, not 2 to {LONGEST}")
    ratio = (high / low) ** (1 / (steps - 1))
    # Numbers of a grid are read by people: 0.1, not 0.10000000000000002.
    return [low, *(float(f"{low * ratio**step:.12g}") for step in range(1, steps - 1)), high]


def _read_number(text: str) -> float:
    base, power, exponent = text.partition("^")
    value = float(base) ** float(exponent) if power else float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not finite")
    return value

"""Options that several commands share, with their help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kernelrank.cli.failures import DEBUG

__all__ = [
    "TIES_BY_NAME",
    "Alpha",
    "AsJSON",
    "Basis",
    "Coef0",
    "Confidence",
    "Cost",
    "Debug",
    "Degree",
    "Discount",
    "Empty",
    "Event",
    "Exclude",
    "Features",
    "Gain",
    "Gamma",
    "Groups",
    "Happened",
    "Id",
    "InputFormat",
    "Judge",
    "JudgeEffect",
    "KernelName",
    "Left",
    "Loser",
    "Loss",
    "MaxGrade",
    "Measures",
    "Method",
    "Missing",
    "MissingIndicator",
    "Model",
    "NestedAlpha",
    "NestedAlphas",
    "Ordinal",
    "PairWeight",
    "Positive",
    "Query",
    "QueryWeight",
    "RelevantFrom",
    "Report",
    "Right",
    "Scale",
    "Seed",
    "SideBias",
    "Strata",
    "Target",
    "Threshold",
    "TieColumn",
    "Ties",
    "TiesOfList",
    "Time",
    "TrecRules",
    "Weight",
    "Winner",
    "method_option",
    "positive_number",
]

TIES_BY_NAME = "ties by descending item name"
"""How trec_eval places items with the same score."""

FILE = "The file"
DATA = "Reading the data file"
PREFERENCES = "Reading preferences"
LEARNER = "Model"
RULES = "Conventions of the measures"


def _remember_debug(ctx: typer.Context, wanted: bool) -> bool:
    if wanted:
        ctx.meta[DEBUG] = True
    return wanted


Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show the full traceback of an error.", callback=_remember_debug, is_eager=True),
]
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

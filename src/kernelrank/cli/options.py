"""Options that commands share, each with its words in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kernelrank.cli.failures import DEBUG
from kernelrank.cli.measuring import TIES_BY_NAME

__all__ = [
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
]

FILE = "The file"
DATA = "How the file is read"
PREFERENCES = "How preferences are read"
LEARNER = "What is learnt"
RULES = "Rules of the measures"


def _remember_debug(ctx: typer.Context, wanted: bool) -> bool:
    if wanted:
        ctx.meta[DEBUG] = True
    return wanted


Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show where an error comes from.", callback=_remember_debug, is_eager=True),
]
AsJSON = Annotated[bool, typer.Option("--json", help="Write JSON to standard output, and nothing else.")]
Model = Annotated[Path, typer.Argument(help="A model file.", show_default=False)]
Report = Annotated[
    Path | None, typer.Option("--report", help="Write a page with plots to this HTML file.", show_default=False)
]
Seed = Annotated[int, typer.Option("--seed", help="Where random numbers begin.")]
Confidence = Annotated[float, typer.Option("--confidence", help="How much an interval is to hold, between 0 and 1.")]

# How the file is read ------------------------------------------------------------------------------------------------

InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        help="svmlight, csv, tsv, parquet or xlsx; the name and the first line decide unless told.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]


def _column(flag: str, what: str) -> Any:
    return typer.Option(flag, metavar="COLUMN", help=what, rich_help_panel=DATA, show_default=False)


Target = Annotated[str | None, _column("--target", "The column of the scores to learn; guessed when obvious.")]
Time = Annotated[
    str | None, _column("--time", "The column of times, some of them censored, to learn in place of --target.")
]
Event = Annotated[
    str | None,
    _column("--event", "With --time: the column that tells whether the event happened then; else it is censored."),
]
Happened = Annotated[
    str | None,
    typer.Option(
        "--happened",
        metavar="WORD",
        help="The word for an event, where the column of --event has neither 0/1 nor true/false.",
    ),
]
Strata = Annotated[str | None, _column("--strata", "With --time: the column of strata, as --query.")]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="The class that ranks high, where the target has two names. Unless given, it is guessed from the words "
        "(case/control, yes/no, true/false, positive/negative, malignant/benign, ...), else it is the one that sorts "
        "last; the answer says which it is and why.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Query = Annotated[str | None, _column("--query", "The column of the queries; guessed when obvious.")]
Id = Annotated[str | None, _column("--id", "The column of the items' names; guessed when obvious.")]
Weight = Annotated[str | None, _column("--weight", "The column of item weights; guessed when obvious.")]
Groups = Annotated[
    str | None, _column("--groups", "The column of items not to be split, as of one patient; guessed when obvious.")
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        metavar="COLUMNS",
        help="The columns to learn from, with commas between; all that are left unless given.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Exclude = Annotated[
    str | None,
    typer.Option(
        "--exclude",
        metavar="COLUMNS",
        help="Columns not to learn from, with commas between; gene* stands for all that begin so.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Missing = Annotated[
    Literal["median", "mean", "drop", "error"],
    typer.Option(
        "--missing",
        help="What becomes of a missing number: the median or mean of its column, computed once from all rows; drop "
        "leaves out the row; error lists all of them.",
        rich_help_panel=DATA,
    ),
]
MissingIndicator = Annotated[
    bool,
    typer.Option(
        "--missing-indicator",
        help="Add a column of 0 and 1 for each column with missing cells, 1 where a cell is missing.",
        rich_help_panel=DATA,
    ),
]
Ordinal = Annotated[
    list[str] | None,
    typer.Option(
        "--ordinal",
        metavar="COLUMN=WORDS",
        help="A column whose words have an order, from the lowest on: stage=I,II,III becomes 0, 1, 2; may be "
        "repeated. Without it each word is a column of 0 and 1.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]

# How preferences are read --------------------------------------------------------------------------------------------


def _pair_column(flag: str, what: str) -> Any:
    return typer.Option(flag, metavar="COLUMN", help=what, rich_help_panel=PREFERENCES, show_default=False)


Winner = Annotated[
    str | None,
    _pair_column("--winner", "The column of the winners, or the one that says which side won; guessed when obvious."),
]
Loser = Annotated[str | None, _pair_column("--loser", "The column of the losers; guessed when obvious.")]
Left = Annotated[
    str | None, _pair_column("--left", "The column of the item on the left, at home or first; guessed when obvious.")
]
Right = Annotated[str | None, _pair_column("--right", "The column of the other item; guessed when obvious.")]
TieColumn = Annotated[str | None, _pair_column("--tie", "The column that says what is a tie; guessed when obvious.")]
Judge = Annotated[str | None, _pair_column("--judge", "The column of who was asked; guessed when obvious.")]
PairWeight = Annotated[
    str | None, _pair_column("--pair-weight", "The column of the weights of preferences; guessed when obvious.")
]

# What is learnt ------------------------------------------------------------------------------------------------------


def _choice(flag: str, what: str, default: str = "") -> Any:
    return typer.Option(flag, help=_with_default(what, default), rich_help_panel=LEARNER, show_default=False)


def _with_default(what: str, default: str) -> str:
    """Say what holds when an option is silent, in typer's way; brackets are markup unless told otherwise."""
    return f"{what}  \\[default: {default}]" if default else what


Method = Annotated[
    Literal["rankrls", "ranksvm", "rls"],
    typer.Option(
        "--method",
        help="rankrls: squared errors of pairs; ranksvm: hinges of pairs; rls: squared errors of scores.",
        rich_help_panel=LEARNER,
    ),
]
Alpha = Annotated[float | None, _choice("--alpha", "The weight of the norm beside the sum over pairs.", "1")]
KernelName = Annotated[
    str, typer.Option("--kernel", help="linear, rbf, poly, laplacian, cosine, ...", rich_help_panel=LEARNER)
]
Gamma = Annotated[
    str | None, _choice("--gamma", "One over the width of the kernel; scale, median.", "1 / number of columns")
]
Degree = Annotated[float | None, _choice("--degree", "The degree of the poly kernel.", "3")]
Coef0 = Annotated[float | None, _choice("--coef0", "The constant of poly and sigmoid kernels.", "1")]
Cost = Annotated[
    Literal["magnitude", "unit", "relative"] | None,
    _choice("--cost", "What a pair costs (rankrls): by how far its scores are apart, one, or relative.", "magnitude"),
]
Loss = Annotated[Literal["hinge", "squared_hinge"] | None, _choice("--loss", "What a pair costs (ranksvm).", "hinge")]
Ties = Annotated[
    Literal["include", "exclude"] | None,
    _choice("--ties", "Whether equal scores are a pair whose difference should be zero (rankrls).", "include"),
]
QueryWeight = Annotated[
    Literal["pairs", "items", "queries"] | None,
    _choice("--query-weight", "What counts the same: every pair, every item or every query.", "pairs"),
]
Basis = Annotated[
    int | None, _choice("--basis", "How many items, drawn at random, carry the model; all of them unless given.")
]
Scale = Annotated[
    bool,
    _choice(
        "--scale", "Divide each column by its standard deviation, and centre it if it is dense; kept in the model."
    ),
]

# Rules of the measures -----------------------------------------------------------------------------------------------

Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="MEASURE",
        help="ndcg@10, map, p@5, mrr, err@10, auc, pairwise_accuracy, kendall_tau, magnitude_preserving_error, "
        "threshold_f, ...; may be repeated.",
        show_default=False,
    ),
]


def _rule(flag: str, what: str, default: str = "") -> Any:
    return typer.Option(flag, help=_with_default(what, default), rich_help_panel=RULES, show_default=False)


Gain = Annotated[Literal["exponential", "linear"] | None, _rule("--gain", "NDCG: 2^y - 1, or y.", "exponential")]
Discount = Annotated[
    Literal["log2", "letor"] | None,
    _rule("--discount", "NDCG: log2(1 + place), or LETOR's, which does not discount place 2.", "log2"),
]
TiesOfList = Annotated[
    Literal["average", "pessimistic", "optimistic", "order"] | None,
    _rule("--tied", "How items with the same prediction are placed.", "average"),
]
Empty = Annotated[
    Literal["skip", "zero", "one"] | None,
    _rule("--empty", "What a query without a relevant item counts: nothing, 0 or 1.", "skip"),
]
RelevantFrom = Annotated[
    float | None, _rule("--relevant-from", "MAP, P, MRR, threshold: the lowest relevant score.", "above 0")
]
MaxGrade = Annotated[float | None, _rule("--max-grade", "ERR: the highest grade there is.", "4")]
Threshold = Annotated[
    float | None, _rule("--threshold", "threshold_precision, _recall, _f: the lowest predicted score that counts.", "0")
]
TrecRules = Annotated[
    bool,
    _rule("--trec", f"The rules of trec_eval: gain linear, {TIES_BY_NAME}, empty queries count 0."),
]

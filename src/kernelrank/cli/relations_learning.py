"""What ``kernelrank relations`` learns: the options of the commands, and the extractor that they make."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from kernelrank.relations import RelationExtractor

__all__ = [
    "Alphas",
    "BasisSize",
    "CombineWalks",
    "Corpora",
    "CorpusFile",
    "Features",
    "Jobs",
    "Labels",
    "Learner",
    "Lowercase",
    "OrderWeight",
    "OtherWeight",
    "PathWeight",
    "RuleName",
    "Scoring",
    "graph_settings",
    "make_extractor",
]

LEARNING = "What is learnt"

Corpora = Annotated[
    list[Path],
    typer.Argument(metavar="CORPUS...", help="Unified XML, also compressed, or CoNLL-U.", show_default=False),
]
CorpusFile = Annotated[
    Path, typer.Argument(metavar="CORPUS", help="Unified XML, also compressed, or CoNLL-U.", show_default=False)
]
Learner = Annotated[
    Literal["rls", "rankrls"],
    typer.Option("--learner", help="Squared errors of labels, or of their differences.", rich_help_panel=LEARNING),
]
Features = Annotated[
    str,
    typer.Option(
        "--features",
        metavar="[parts|article|chosen|PART+PART]",
        help="Dependencies, path and order as parts that count the same, or some of them (path+order); the graph of "
        "the article; or what is best of all these with documents left out.",
        rich_help_panel=LEARNING,
    ),
]
CombineWalks = Annotated[
    Literal["max", "sum"],
    typer.Option("--combine", help="How the walks between two labels are combined.", rich_help_panel=LEARNING),
]
Scoring = Annotated[
    Literal["auc", "f"],
    typer.Option("--scoring", help="What alpha is chosen by, documents left out.", rich_help_panel=LEARNING),
]
Alphas = Annotated[
    str | None,
    typer.Option(
        "--alphas",
        help="The alphas to choose from, with commas between, or auto.  [default: auto]",
        rich_help_panel=LEARNING,
        show_default=False,
    ),
]
BasisSize = Annotated[
    int | None,
    typer.Option(
        "--basis", help="How many pairs, drawn at random, carry the model; all unless given.", rich_help_panel=LEARNING
    ),
]
Lowercase = Annotated[
    bool, typer.Option("--lowercase", help="Whether words are taken in lower case.", rich_help_panel=LEARNING)
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="What words are labelled with, with commas between: text, pos, lemma.  [default: text,pos]",
        rich_help_panel=LEARNING,
        show_default=False,
    ),
]


def _weight(flag: str, what: str, default: str) -> Any:
    return typer.Option(
        flag, min=0.0, help=f"{what}  [default: {default}]", rich_help_panel=LEARNING, show_default=False
    )


PathWeight = Annotated[float | None, _weight("--path-weight", "The weight of edges on the shortest paths.", "0.9")]
OtherWeight = Annotated[float | None, _weight("--other-weight", "The weight of edges beside them.", "0.3")]
OrderWeight = Annotated[float | None, _weight("--order-weight", "The weight of edges from word to word.", "0.9")]
Jobs = Annotated[int | None, typer.Option("--jobs", help="How many processors make features.", show_default=False)]
RuleName = Annotated[
    Literal["calibrated", "resampled", "training", "zero", "proportion"],
    typer.Option("--rule", help="Where the scores of interactions begin."),
]


def make_extractor(
    learner: str,
    features: str,
    combine: Any,
    scoring: str,
    alphas: str | None,
    basis: int | None,
    scheme: dict[str, Any] | None,
    *,
    jobs: int | None,
    seed: int,
) -> RelationExtractor:
    """Return an extractor with the options of the command, checked."""
    from kernelrank.relations import GraphScheme, RelationExtractor
    from kernelrank.relations.feature_set import feature_sets

    given: dict[str, Any] = {} if alphas in (None, "auto") else {"alphas": _numbers(alphas)}
    extractor = RelationExtractor(
        learner=learner,
        features=features,
        combine=combine,
        scheme=scheme,
        scoring=scoring,
        basis=basis,
        n_jobs=jobs,
        random_state=seed,
        **given,
    )
    extractor.learning()
    feature_sets(features)
    GraphScheme.of(scheme)
    return extractor


def graph_settings(lowercase: bool, labels: str | None, **weights: float | None) -> dict[str, Any] | None:
    """Return the settings of the graphs that were given; None if none was."""
    given: dict[str, Any] = {name: weight for name, weight in weights.items() if weight is not None}
    if lowercase:
        given["lowercase"] = True
    if labels is not None:
        given["labels"] = [label.strip() for label in labels.split(",")]
    return given or None


def _numbers(text: str) -> tuple[float, ...]:
    from kernelrank.errors import InvalidInputError

    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInputError(f"--alphas must be numbers with commas between, got {text!r}") from None

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

LEARNING = "Model"

Corpora = Annotated[
    list[Path],
    typer.Argument(metavar="CORPUS", help="Corpus: interaction XML (also compressed) or CoNLL-U.", show_default=False),
]
CorpusFile = Annotated[
    Path,
    typer.Argument(metavar="CORPUS", help="Corpus: interaction XML (also compressed) or CoNLL-U.", show_default=False),
]
Learner = Annotated[
    Literal["rls", "rankrls"],
    typer.Option(
        "--learner", help="rls: squared loss over labels. rankrls: squared loss over pairs.", rich_help_panel=LEARNING
    ),
]
Features = Annotated[
    str,
    typer.Option(
        "--features",
        metavar="[parts|article|chosen|PART+PART]",
        help="parts: dependencies, path and word order with equal weight; or some of them, as in path+order. "
        "article: one graph, as in the article. chosen: the best of these by leave-document-out.",
        rich_help_panel=LEARNING,
    ),
]
CombineWalks = Annotated[
    Literal["max", "sum"],
    typer.Option("--combine", help="How to combine the walks between two labels.", rich_help_panel=LEARNING),
]
Scoring = Annotated[
    Literal["auc", "f"],
    typer.Option(
        "--scoring",
        help="Measure to choose alpha by, in leave-document-out cross-validation.",
        rich_help_panel=LEARNING,
    ),
]
Alphas = Annotated[
    str | None,
    typer.Option(
        "--alphas",
        help="Values of alpha to try, separated by commas, or auto.  \\[default: auto]",
        rich_help_panel=LEARNING,
        show_default=False,
    ),
]
BasisSize = Annotated[
    int | None,
    typer.Option(
        "--basis",
        help="Nyström approximation with this many random pairs as basis. Default: all pairs.",
        rich_help_panel=LEARNING,
    ),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Convert words to lower case.", rich_help_panel=LEARNING)]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="Labels of the words, separated by commas: text, pos, lemma.  \\[default: text,pos]",
        rich_help_panel=LEARNING,
        show_default=False,
    ),
]


def _weight(flag: str, what: str, default: str) -> Any:
    return typer.Option(
        flag, min=0.0, help=f"{what}  \\[default: {default}]", rich_help_panel=LEARNING, show_default=False
    )


PathWeight = Annotated[float | None, _weight("--path-weight", "Weight of edges on the shortest path.", "0.9")]
OtherWeight = Annotated[float | None, _weight("--other-weight", "Weight of all other dependency edges.", "0.3")]
OrderWeight = Annotated[float | None, _weight("--order-weight", "Weight of edges between neighbouring words.", "0.9")]
Jobs = Annotated[int | None, typer.Option("--jobs", help="Number of parallel processes.", show_default=False)]
RuleName = Annotated[
    Literal["calibrated", "resampled", "training", "zero", "proportion"],
    typer.Option("--rule", help="How to set the decision threshold."),
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
    from kernelrank.relations.features import feature_sets

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
    """Return the graph options that were given; None if there are none."""
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
        raise InvalidInputError(f"--alphas: expected numbers such as 0.1,1,10; got {text!r}") from None

"""The command and the table of its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelrank import __version__
from kernelrank.cli.lazy_group import LazyGroup
from kernelrank.cli.options import Debug

__all__ = ["app"]


class Commands(LazyGroup):
    """The commands of kernelrank, in the order in which they are met."""

    table = {  # noqa: RUF012
        "demo": ("kernelrank.cli.demo", "Rank generated data and write an HTML report, in about 10 seconds."),
        "fit": ("kernelrank.cli.fit", "Learn a ranking from a file and save the model."),
        "tune": ("kernelrank.cli.tune", "Choose alpha and kernel parameters by cross-validation, and save the model."),
        "predict": ("kernelrank.cli.predict", "Predict scores for the items of a file."),
        "evaluate": ("kernelrank.cli.evaluate", "Measure a model on a file, or a run against qrels."),
        "auc": ("kernelrank.cli.auc", "Estimate the AUC of a classifier, with a confidence interval and a p-value."),
        "select": ("kernelrank.cli.select", "Select a few features, and cross-validate the selection."),
        "concordance": (
            "kernelrank.cli.concordance",
            "Estimate the concordance index of survival times, with a confidence interval.",
        ),
        "leaderboard": (
            "kernelrank.cli.leaderboard",
            "Rank items by votes (A is better than B), with confidence intervals.",
        ),
        "compare": ("kernelrank.cli.compare", "Test whether one of two models (or TREC runs) ranks better."),
        "inspect": (
            "kernelrank.cli.inspect",
            "Show what a model file contains, and explain why one item ranks above another.",
        ),
        "export": ("kernelrank.cli.export", "Write a model for another program: ONNX, search engines, SQL, Python."),
        "serve": ("kernelrank.cli.serve", "Rank over HTTP: models as a service."),
        "convert": ("kernelrank.cli.convert", "Convert a file of items to another format."),
        "dyads": ("kernelrank.cli.dyads", "Rank the objects of one table for each object of another."),
        "relations": ("kernelrank.cli.relations", "Find interactions in parsed sentences."),
    }


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kernelrank {__version__}")
        raise typer.Exit


@app.callback()
def kernelrank(
    debug: Debug = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn to rank from examples, and measure how well it works.

    Input files: SVMlight/LETOR, CSV, TSV, Parquet or Excel, also compressed. - means standard input or output.
    Each command has its own help, for example: kernelrank fit --help.
    """

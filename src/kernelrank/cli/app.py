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
        "demo": ("kernelrank.cli.demo", "Rank generated data, measure, and write a page to look at: 10 seconds."),
        "fit": ("kernelrank.cli.fit", "Learn a ranking from a file and save the model."),
        "tune": ("kernelrank.cli.tune", "Choose alpha and kernel parameters by exact hold-out, and save the model."),
        "predict": ("kernelrank.cli.predict", "Score the items of a file with a model."),
        "evaluate": ("kernelrank.cli.evaluate", "Measure a model on a file, or a run against qrels."),
        "auc": ("kernelrank.cli.auc", "Estimate an AUC from two classes, with an interval and a p-value."),
        "select": ("kernelrank.cli.select", "Select a few columns that rank well, and measure what that is worth."),
        "concordance": (
            "kernelrank.cli.concordance_command",
            "Estimate how well censored times are ranked, with an interval.",
        ),
        "leaderboard": ("kernelrank.cli.leaderboard_command", "Rank items by votes, with intervals."),
        "compare": ("kernelrank.cli.compare", "Test whether one of two models, or of two runs, ranks better."),
        "inspect": ("kernelrank.cli.inspect", "Show what is in a model file, and why one item stands above another."),
        "convert": ("kernelrank.cli.convert", "Turn a file of items into another format."),
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
        bool, typer.Option("--version", help="Say which version this is.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn to order things, and know how well you do.

    Files may be SVMlight/LETOR, CSV, TSV or Parquet, also compressed; - is standard input or output.
    A command says more: kernelrank fit --help.
    """

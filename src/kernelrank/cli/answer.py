"""An answer: the same facts as tables for people and as JSON for programs."""

from __future__ import annotations

import io
import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelrank import persistence
from kernelrank.base.progress import shown_on
from kernelrank.base.text import escaped_json, printable

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.cli.sources import LargeFile
    from kernelrank.data import Items, Preferences


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
    iterations = f", {counted(ranker.n_iter_, 'iteration')}" if ranker.n_iter_ > 1 else ""
    rows.append(("solved by", f"{ranker.solver_}{iterations}"))
    if hasattr(ranker, "gap_"):
        rows.append(("duality gap", f"{ranker.gap_:.2g} of the objective"))
    return rows


def _shown(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _data(model: Any, items: Items | LargeFile | None) -> str:
    ranker, known = persistence.final_step(model), persistence.provenance(model)
    n_items = len(items) if items is not None else known.get("items")
    n_queries = getattr(ranker, "n_queries_", None) if getattr(ranker, "n_pairs_", 0) else None
    parts = [] if n_items is None else [counted(n_items, "item")]
    parts.append(counted(model.n_features_in_, "column"))
    if n_queries is not None:
        parts.append(counted(n_queries, "query", "queries"))
    file = items.path if items is not None else known.get("file")
    return ", ".join(parts) + (f" of {file}" if file else "")


# Vote effects ---------------------------------------------------------------------------------------------------------
#
# What a model of votes learns besides scores: the side bias, ties and the effects of judges.

SHOWN = 10
"""So many judges are listed; JSON output has all of them."""


def effect_rows(ranker: Any) -> list[tuple[str, str]]:
    """Return the effects as rows of the text table; none for a model without them."""
    rows: list[tuple[str, str]] = []
    biased, ties = _has_side_bias(ranker), hasattr(ranker, "tie_log_")
    if not (biased or ties):
        return rows
    outcomes = _of_equal_items(ranker)
    if biased:
        error = getattr(ranker, "side_bias_std_", None)
        size = f"{ranker.side_bias_:z.3f}" + ("" if error is None else f", standard error {error:.3f}")
        first, second = (f"{value:.1%}" for value in outcomes[:2])
        rows.append(
            ("side bias", f"{size}: of two equal items, the one on the first side wins {first}, the other {second}")
        )
    if ties:
        share = f"{outcomes[2]:.1%} of the votes between equal items" if outcomes[2] > 0 else "none in the votes"
        rows.append(("ties", share))
    return rows


def answer_effects(answer: Answer, model: Any) -> None:
    """Add the effects to the JSON output, and the judges with the largest effects to the text."""
    ranker = persistence.final_step(model)
    if _has_side_bias(ranker):
        answer.fact("side_bias", {"value": ranker.side_bias_, "std_error": getattr(ranker, "side_bias_std_", None)})
    if hasattr(ranker, "tie_log_"):
        answer.fact("ties", {"log": ranker.tie_log_, "share_of_equal_items": _of_equal_items(ranker)[2]})
    if not hasattr(ranker, "judge_effects_"):
        return
    effects = dict(zip(ranker.judges_.tolist(), ranker.judge_effects_.tolist(), strict=True))
    by_side = ranker.judge_effect == "side"
    order = sorted(effects, key=lambda judge: -abs(effects[judge]) if by_side else effects[judge])
    answer.fact("judge_effects", [{"judge": judge, "effect": effects[judge]} for judge in order])
    listed = f", {SHOWN} of {len(order):,} judges" if len(order) > SHOWN else ""
    if by_side:
        added = "added side bias" if _has_side_bias(ranker) else "side bias"
        title, column = f"Judges, the strongest preference for a side first{listed}", added
    else:
        title, column = f"Judges, the most random votes first{listed}", "factor of the differences"
    rows = [(str(judge), f"{effects[judge]:{'+.3f' if by_side else '.3f'}}") for judge in order[:SHOWN]]
    answer.table(title, ("judge", column), rows)


def vote_log_loss(ranker: Any, scores: Float, votes: Preferences) -> float | None:
    """Return the mean of ``-log(probability)`` of votes, ties included; None for a model without probabilities.

    A tie that counts as half a vote for each item has the geometric mean of the two probabilities, as in
    `leave_preferences_out`. The side of a vote is used if the model has a side bias and the votes have sides.

    Shapes: scores (m,).
    """
    if not hasattr(ranker, "fitted_to_scores_") or ranker.fitted_to_scores_:
        return None
    import numpy as np

    from kernelrank.votes.likelihood import observed_probabilities, outcome_probabilities

    d = scores[votes.pairs[:, 0]] - scores[votes.pairs[:, 1]]
    if votes.side is not None:
        d = d + ranker.side_bias_ * votes.side
    observed = observed_probabilities(outcome_probabilities(d, getattr(ranker, "tie_log_", None)), votes.tie)
    with np.errstate(divide="ignore"):
        return float(-np.average(np.log(observed), weights=votes.weight))


def _has_side_bias(ranker: Any) -> bool:
    return bool(getattr(ranker, "side_bias", False)) and hasattr(ranker, "side_bias_")


def _of_equal_items(ranker: Any) -> list[float]:
    """Return the probabilities that the first side wins, that the second does, and of a tie, if they are learnt."""
    import numpy as np

    from kernelrank.votes.likelihood import outcome_probabilities

    found = outcome_probabilities(np.array([ranker.side_bias_]), getattr(ranker, "tie_log_", None))
    return [float(value) for value in found[0]]


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

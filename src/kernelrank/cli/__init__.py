"""The command `kernelrank`: it reads files, and writes models, measures and reports.

Nothing but typer is imported before a command runs, so that ``kernelrank --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType

__all__ = ["main"]


def main() -> None:
    """Run the command; if typer is missing, print how to install it."""
    try:
        _fill_closed_streams()
        sys.excepthook = _show_traceback
        _run()
    except KeyboardInterrupt:
        _say("stopped; nothing was left half written")
        sys.exit(130)


def _run() -> None:
    try:
        from kernelrank.cli.app import app
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("typer", "rich"):
            raise
        # What kernelrank.errors has to say takes scikit-learn to import; this is its sentence.
        _say(f"{package} is not installed; run: pip install 'kernelrank[cli]'")
        sys.exit(1)
    app(prog_name="kernelrank")


def _say(message: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"kernelrank: {message}\n")


def _fill_closed_streams() -> None:
    """Keep the numbers of standard streams that are closed from the files that are opened next."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _show_traceback(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    """Show where an error comes from; what it says of data is escaped."""
    import traceback

    from kernelrank.base.text import printable

    if sys.stderr is not None:
        sys.stderr.write(printable("".join(traceback.format_exception(kind, error, where)), lines=True))

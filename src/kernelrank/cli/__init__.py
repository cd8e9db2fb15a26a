"""The command `kernelrank`: files in, a model, an honest number and a picture out.

Nothing but typer is imported before a command runs, so that ``kernelrank --help`` answers at once.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; without typer say how to get it."""
    try:
        from kernelrank.cli.app import app
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("typer", "rich"):
            raise
        # What kernelrank.errors has to say takes scikit-learn to import; this is its sentence.
        sys.stderr.write(f"kernelrank: {package} is not installed; run: pip install 'kernelrank[cli]'\n")
        sys.exit(1)
    app(prog_name="kernelrank")

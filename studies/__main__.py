"""List the studies, or run one: ``python -m studies list``, ``python -m studies run NAME [options of the study]``."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def titles() -> dict[str, str]:
    """Return the first line of each study's docstring by its name, without importing it."""
    files = sorted(path for path in FOLDER.glob("*.py") if not path.name.startswith("__"))
    found = {path.stem: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in files}
    return {name: (docstring or "").split("\n")[0] for name, docstring in found.items()}


def main(arguments: list[str]) -> int:
    """Carry out one command; return its exit code."""
    match arguments:
        case ["list"]:
            for name, title in titles().items():
                print(f"{name}\n    {title}")
            return 0
        case ["run", name, *options] if name in titles():
            sys.argv = [f"studies run {name}", *options]
            importlib.import_module(f"studies.{name}").main()
            return 0
        case ["run", name, *_]:
            print(f"Expected one of {', '.join(titles())}; found {name!r}.", file=sys.stderr)
        case _:
            print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The book of studies: list them, run them, or render their pages anew from what was recorded.

    python -m studies list
    python -m studies run [NAME ...] --data FOLDER [--quick] [--output FOLDER] [--seed 0] [--set NAME=VALUE ...]
    python -m studies render [NAME ...]

A full run writes into docs/studies, a quick one into build/studies, unless --output names another folder: a result
(results/NAME.json), a page (NAME.md) and pictures. Without names all studies are run. FOLDER holds the data, packed or
not; studies whose data are missing are named at the end, with where to get them.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def titles() -> dict[str, str]:
    """Return the first line of each study's docstring by its name, without importing it."""
    files = sorted(path for path in FOLDER.glob("*.py") if not path.name.startswith("__"))
    found = {path.stem: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in files}
    return {name: (docstring or "").split("\n")[0] for name, docstring in found.items()}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="studies", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name all studies")
    run = commands.add_parser("run", help="run studies, and write their results, pages and pictures")
    run.add_argument("names", nargs="*", metavar="NAME", help="all unless named")
    run.add_argument("--data", type=Path, metavar="FOLDER", help="the data, packed or not")
    run.add_argument("--quick", action="store_true", help="fewer repetitions and smaller sizes: minutes")
    run.add_argument("--output", type=Path, metavar="FOLDER", help="docs/studies, or build/studies with --quick")
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="change settings of a study")
    again = commands.add_parser("render", help="write the pages anew from the recorded results")
    again.add_argument("names", nargs="*", metavar="NAME")
    again.add_argument("--output", type=Path, metavar="FOLDER", help="where the results are: docs/studies")
    return top


def main(arguments: list[str]) -> int:
    """Carry out one command; return its exit code."""
    options = parser().parse_args(arguments)
    if options.command == "list":
        for name, title in titles().items():
            print(f"{name}\n    {title}")
        return 0
    unknown = set(options.names) - titles().keys()
    if unknown:
        print(f"Expected names out of {', '.join(titles())}; got {', '.join(sorted(unknown))}.", file=sys.stderr)
        return 2
    from studies.book.record import Record
    from studies.book.runner import DOCS, run_studies, write_page

    if options.command == "render":
        output = options.output or DOCS
        for path in sorted((output / "results").glob("*.json")):
            if not options.names or path.stem in options.names:
                write_page(Record.read(path), output)
        return 0
    given = dict(word.split("=", 1) for word in options.set if "=" in word)
    if len(given) < len(options.set):
        print("Expected --set NAME=VALUE.", file=sys.stderr)
        return 2
    output = options.output or (FOLDER.parent / "build" / "studies" if options.quick else DOCS)
    names = options.names or list(titles())
    return int(run_studies(names, options.data, output, quick=options.quick, seed=options.seed, given=given) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

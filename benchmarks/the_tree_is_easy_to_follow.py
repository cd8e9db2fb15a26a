"""The tree is easy to follow: how large it is, what stands in it twice, and how many modules a call visits.

Run: ``python benchmarks/the_tree_is_easy_to_follow.py [--json]``, with kernelrank installed. Each line has what was
counted and the limit. ``--source`` measures another checkout, but not the walks: those are of the installed package.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "kernelrank"
LIMITS: dict[str, int] = {
    "files": 185,
    "lines": 68_500,
    "lines of code": 39_500,
    "lines of the longest file": 1_000,
    "import cycles": 0,
    "modules with private names of sklearn": 1,
    "modules with private names of dask": 0,
    "modules with private names of typer": 0,
    "class names that stand twice": 0,
    "constants outside tables of words": 200,
    "late imports outside cli and plot methods": 0,
    "RankRLS().fit": 15,
    "RankRLSCV().fit": 21,
    "leave_pair_out": 17,
    "estimate_auc(RankRLSCV())": 28,
    "Leaderboard().fit().table()": 12,
    "kernelrank fit FILE": 32,
    "kernelrank tune FILE --report": 45,
    "kernelrank auc FILE": 45,
}
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def count_code(text: str, tree: ast.Module) -> int:
    """Count the lines that have code: no blank lines, no comments, no docstrings."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(
            node
        ):
            code.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(code)


def is_table_of_words(value: ast.expr | None) -> bool:
    """Whether a value is a collection with text in it, or no constant at all (a type variable, a logger)."""
    if isinstance(value, ast.Call):
        called = ast.unparse(value.func)
        return called in ("TypeVar", "ParamSpec", "logging.getLogger") or (
            called in ("frozenset", "tuple", "dict") and all(is_table_of_words(a) for a in value.args)
        )
    if isinstance(value, (ast.Tuple, ast.List, ast.Set, ast.Dict)):
        return any(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in ast.walk(value))
    return False


def constants(tree: ast.Module) -> Iterator[str]:
    """Yield the upper-case names at the top of a module that are no tables of words."""
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Name) and target.id.isupper() and not is_table_of_words(node.value):  # type: ignore[union-attr]
                yield target.id


def late_imports(tree: ast.Module) -> Iterator[str]:
    """Yield the imports of kernelrank inside of functions that do not plot."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and "plot" not in function.name:
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kernelrank"):
                    yield f"{function.name}: {node.module}"


def private_names(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the names of another package that begin with one underscore: modules, and what is imported from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == package]
        elif isinstance(node, ast.Attribute) and ast.unparse(node).split(".")[0] == package:
            names = [ast.unparse(node)]
        else:
            continue
        yield from (name for name in names if re.search(r"\._(?!_)", name))


def imports(tree: ast.Module, module: str, known: set[str]) -> set[str]:
    """Return the modules of the package that a module imports when it is imported itself."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kernelrank"):
            names = {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
            found |= {name for name in names if name in known}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
    return found - {module}


def cycles(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules that import each other, directly or not, when they are imported themselves."""
    reached = {module: set(targets) for module, targets in graph.items()}
    for middle in graph:
        for targets in reached.values():
            if middle in targets:
                targets |= reached[middle]
    return sorted(module for module, targets in reached.items() if module in targets)


def measure(source: Path) -> dict[str, list[str] | int]:
    """Return all counts of one source folder; what should not be there at all as a list."""
    paths = sorted(source.rglob("*.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    short = {path: path.relative_to(source).as_posix() for path in paths}
    dotted = {path: "kernelrank." + short[path].removesuffix(".py").replace("/", ".") for path in paths}
    classes = defaultdict(list)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(short[path])
    modules = {name for name in dotted.values() if not name.endswith("__init__")}
    graph = {dotted[path]: imports(trees[path], dotted[path], modules) for path in paths if dotted[path] in modules}
    found: dict[str, list[str] | int] = {
        "files": len(paths),
        "lines": sum(text.count("\n") for text in texts.values()),
        "lines of code": sum(count_code(texts[path], trees[path]) for path in paths),
        "lines of the longest file": max(text.count("\n") for text in texts.values()),
        "import cycles": cycles(graph),
    }
    for package in ("sklearn", "dask", "typer"):
        found[f"modules with private names of {package}"] = [
            short[path] for path in paths if any(private_names(trees[path], package))
        ]
    found["class names that stand twice"] = [
        f"{name} ({', '.join(homes)})" for name, homes in classes.items() if len(homes) > 1
    ]
    found["constants outside tables of words"] = [
        f"{short[path]}: {name}" for path in paths for name in constants(trees[path])
    ]
    found["late imports outside cli and plot methods"] = [
        f"{short[path]}: {name}" for path in paths if short[path][:4] != "cli/" for name in late_imports(trees[path])
    ]
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--list", action="store_true", help="list what was counted")
    parser.add_argument("--source", type=Path, default=SOURCE, help="the folder of the package")
    options = parser.parse_args()
    found = measure(options.source)
    walks = Path(__file__).with_name("module_walks.py")
    found |= json.loads(subprocess.run([sys.executable, walks], capture_output=True, text=True, check=True).stdout)
    counted = {name: len(value) if isinstance(value, list) else value for name, value in found.items()}
    if options.json:
        print(json.dumps(counted, indent=1))
        return
    for name, limit in LIMITS.items():
        print(f"{name}: {counted[name]:,} (at most {limit:,}){' OVER' if counted[name] > limit else ''}")
        if options.list and isinstance(found[name], list):
            print("   ", *found[name], sep="\n    ")  # type: ignore[misc]


if __name__ == "__main__":
    main()

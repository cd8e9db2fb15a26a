"""The tree is easy to follow: how many modules a call visits, how often code asks for types, what stands twice.

Run: ``python benchmarks/the_tree_is_easy_to_follow.py [--json]``, with kernelrank installed. ``--source`` measures
the source of another checkout, but for the walks, which are those of the installed package.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "kernelrank"
WALKS = Path(__file__).with_name("module_walks.py")

ASKED_FOR = (
    "Comparisons|ScoredQueries|RelativeScores|ItemScores|Preferences|FactorisedComparisons|"
    "Features|ColumnFeatures|ExplicitFeatures|FullKernel|ReducedSet|ViewMap|KernelMap|DifferingPairs|ScoredPairs|ListedPairs"
)
"""The classes of graphs, feature maps and pairs: code that asks for one of them knows more than the contract says."""

DATA_ARGUMENTS = {
    *("X", "y", "qid", "sample_weight", "pairs", "magnitude", "weight", "groups", "alphas", "cv", "scoring", "basis"),
    *("kernel", "gamma", "kernel_params", "random_state", "estimator", "held_out", "event", "X_unscored"),
    *("qid_unscored", "X_a", "X_b", "pos_label", "documents", "graphs", "y_true", "y_score"),
}
"""What users may pass in many forms: any of them is legitimately Any in a public signature."""

WING = ("exact_cv", "holdout", "transduction")
WING_FILES = re.compile(
    r"(estimators|model_selection|relations)/.*(held_out|holdout|held_pairs|refit|alpha_search|candidates|query_folds|"
    r"query_accuracy|rank_rls_cv|rls_cv|auc_halves|search)"
)
"""The cross-validation wing: its rooms, and files of other rooms that choose or hold out."""


def lines_of(paths: list[Path]) -> int:
    """Count lines."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def shared_runs(paths: list[Path], length: int = 6) -> int:
    """Count maximal runs of at least `length` equal lines of code in two places."""
    code: dict[Path, list[str]] = {}
    for path in paths:
        lines = [re.sub(r"\s+", " ", line).strip() for line in path.read_text(encoding="utf-8").splitlines()]
        code[path] = [x for x in lines if x and not x.startswith(("#", "import ", "from ")) and re.search(r"\w", x)]
    places = defaultdict(list)
    for path, lines in code.items():
        for start in range(len(lines) - length + 1):
            places[tuple(lines[start : start + length])].append((path, start))
    pairs = set()
    for found in places.values():
        for number, first in enumerate(found):
            pairs.update((first, second) for second in found[number + 1 :])
    return sum(((a, i - 1), (b, j - 1)) not in pairs for (a, i), (b, j) in pairs)


def parameters_of_any(paths: list[Path]) -> tuple[int, int]:
    """Count parameters annotated with Any, and those that are not data of a public signature."""
    every = inner = 0
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            public = not node.name.startswith("_") or node.name == "__init__"
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            arguments += [a for a in (node.args.vararg, node.args.kwarg) if a is not None]
            for argument in arguments:
                if argument.annotation is not None and ast.unparse(argument.annotation) in ("Any", "Any | None"):
                    every += 1
                    inner += not (public and argument.arg in DATA_ARGUMENTS)
    return every, inner


def measure(source: Path) -> dict[str, object]:
    """Return all counts of one source folder."""
    paths = sorted(source.rglob("*.py"))
    rooms = Counter[str]()
    for path in paths:
        rooms[path.relative_to(source).parts[0]] += lines_of([path])
    wing = [
        path
        for path in paths
        if path.relative_to(source).parts[0] in WING or WING_FILES.match(path.relative_to(source).as_posix())
    ]
    asked = re.compile(rf"isinstance\(.*\b({ASKED_FOR})\b")
    local = [path for path in paths if path.parent.name != "dask"]  # Dask repeats the local names
    names = Counter(path.name for path in local if path.name not in ("__init__.py", "base.py", "__main__.py"))
    every, inner = parameters_of_any(paths)
    return {
        "lines": lines_of(paths),
        "files": len(paths),
        "lines_of_rooms": dict(rooms),
        "wing_lines": lines_of(wing),
        "wing_files": len(wing),
        "isinstance_of_graphs_maps_pairs": sum(len(asked.findall(path.read_text(encoding="utf-8"))) for path in paths),
        "shared_runs_of_six_lines": shared_runs(paths),
        "parameters_of_any": every,
        "parameters_of_any_beside_user_data": inner,
        "file_names_in_two_rooms": sorted(name for name, count in names.items() if count > 1),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--source", type=Path, default=SOURCE, help="the folder of the package")
    options = parser.parse_args()
    found = measure(options.source)
    walks = subprocess.run([sys.executable, WALKS], capture_output=True, text=True, check=True)
    found["walks"] = json.loads(walks.stdout)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        if name != "walks":
            print(f"{name}: {value}")
    for name, walk in found["walks"].items():  # type: ignore[attr-defined]
        print(f"{name}: {walk['modules']} modules, {walk['switches']} switches, {walk['between_rooms']} between rooms")


if __name__ == "__main__":
    main()

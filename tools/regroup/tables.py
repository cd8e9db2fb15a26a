"""Tables of the regrouping: names that collide, rooms, patches."""

ROOMS = {
    "base": "What every room uses: arrays, labels and queries, checks of arguments, results, progress, compiled loops.",
    "persistence": "Models as files that cannot run code.",
    "comparisons": "What is compared: graphs over the items, each known by its Laplacian.",
    "kernels": "Kernels, resolved through scikit-learn; graphs with labels and what walks in them connect.",
    "features": "A kernel as a feature map: explicit columns, the full kernel, a reduced set.",
    "solvers": "How the minimum is found: Cholesky, spectral, conjugate gradients, and the automatic choice.",
    "hinge": "Pairwise hinge losses, from sorted sweeps that never visit the pairs, and how they are minimised.",
    "votes": "Votes: one item is better than another, told by a likelihood; leaderboards and Bradley-Terry models.",
    "exact_cv": "Exact cross-validation without refitting: one dual inverse; sets, pairs, a basis, sets inside sets.",
    "estimators": "The learners with scikit-learn's interface: thin classes over comparisons, features and solvers.",
    "selection": "Feature selection by exact cross-validation: the held-out error with each column that may come next.",
    "dyads": "Two sets of objects: a score belongs to a dyad, a pair of a row object and a column object, each with its kernel.",
    "model_selection": "Model selection and evaluation: searches, splitters, hold-out for any estimator, AUC, permutation tests.",
    "metrics": None,
    "data": None,
    "relations": None,
    "report": None,
    "exports": None,
    "serving": None,
    "dask": None,
    "cli": None,
}
"""The first words of a room; None where they stay as they are."""

LATE = {"persistence", "estimators", "model_selection", "votes", "selection", "dyads"}
"""Rooms whose names are imported at their first use."""

NO_EXPORTS = {"base", ""}
"""Rooms that export nothing: their files are imported by name."""

KEPT_PATHS = {
    ("data", "event_times"),
    ("exact_cv", "ItemSets"),
    ("model_selection", "SelectionCurve"),
    ("model_selection", "SelectionStability"),
    ("model_selection", "selection_curve"),
    ("model_selection", "selection_stability"),
}
"""Documented paths of names that are defined in another room now."""

NEW_EXPORTS = {
    "persistence": [("persistence", name) for name in ("load", "save", "register", "trusted_types")],
}
"""What a room that was a module exports."""

RENAMES = {
    ("features/full_kernel", "KEPT_BYTES"): "KEPT_MATRIX_BYTES",
    ("features/reduced_set", "KEPT_BYTES"): "KEPT_FEATURE_BYTES",
    ("solvers/vote_precision", "DENSE_LIMIT"): "INVERSE_LIMIT",
    ("estimators/score_mixture", "PASSES"): "MIXTURE_PASSES",
    ("estimators/score_mixture", "TOLERANCE"): "MIXTURE_TOLERANCE",
    ("estimators/score_mixture", "LONGEST_STEP"): "MIXTURE_STEP",
    ("estimators/score_mixture", "LONGEST_MOVE"): "MIXTURE_MOVE",
    ("estimators/score_mixture", "FADED"): "MIXTURE_FADED",
    ("estimators/score_mixture", "_Component"): "_ScaleComponent",
    ("estimators/score_mixture", "_Problem"): "_ScaleProblem",
    ("estimators/feature_mixture", "PASSES"): "LATTICE_PASSES",
    ("estimators/feature_mixture", "TOLERANCE"): "LATTICE_TOLERANCE",
    ("estimators/feature_mixture", "LONGEST_STEP"): "LATTICE_STEP",
    ("estimators/feature_mixture", "LONGEST_MOVE"): "LATTICE_MOVE",
    ("estimators/feature_mixture", "FADED"): "LATTICE_FADED",
    ("estimators/feature_mixture", "_Component"): "_LatticeComponent",
    ("estimators/feature_mixture", "_Problem"): "_LatticeProblem",
    ("exact_cv/preference_sets", "STEPS"): "USUAL_STEPS",
    ("exact_cv/reduced_systems", "STEPS"): "MOST_STEPS",
    ("exact_cv/preference_sets", "_solve"): "_solve_normal_equations",
    ("exact_cv/reduced_systems", "_solve"): "_solve_with_probe",
    ("exact_cv/preference_items", "_solve"): "_solve_shifted_systems",
    ("model_selection/search/dyadic_search", "Measure"): "MeasureRegularisations",
    ("data/item_writer", "_columns"): "_item_columns",
    ("data/scores", "_columns"): "_score_columns",
    ("data/delimited_writer", "_words"): "_cell_words",
    ("data/preference_writer", "_words"): "_item_words",
    ("data/ranking_writer", "NOT_A_WORD"): "NOT_A_LABEL",
    ("data/preference_writer", "NOT_A_WORD"): "NOT_A_NAME",
    ("data/preflib", "INTEGER"): "COUNT",
    ("relations/drawing", "PATH"): "PATH_COLOUR",
    ("relations/drawing", "PAIR"): "PAIR_COLOUR",
    ("report/query_roc", "POINTS"): "QUERY_POINTS",
    ("report/auc_report", "_best_feature"): "_best_feature_by_auc",
    ("report/concordance_report", "_best_feature"): "_best_feature_by_concordance",
    ("report/auc_report", "_warnings"): "_auc_warnings",
    ("report/selection_report", "_warnings"): "_selection_warnings",
    ("report/dyads_report", "_warnings"): "_dyads_warnings",
    ("exports/scoring_formula", "_term"): "_kernel_term",
    ("exports/json_coefficients", "_term"): "_json_term",
    ("exports/python_function", "KERNELS"): "PYTHON_KERNELS",
    ("exports/sql_expression", "KERNELS"): "SQL_KERNELS",
    ("dask/partitions", "SMALL"): "SMALL_ARGUMENT",
    ("dask/column_groups", "SMALL"): "SMALL_PARTITION",
    ("cli/predict", "app"): "predict_app",
    ("cli/convert", "app"): "convert_app",
    ("cli/export", "app"): "export_app",
    ("cli/serve", "app"): "serve_app",
    ("cli/compare", "app"): "compare_app",
}
"""Names that two modules of a family have: (module, name) to the new name."""

COMMANDS = {f"cli/{name}": f"{name}_app" for name in ("predict", "convert", "export", "serve", "compare")}
"""Modules of commands that share a file now, and the name of their application there."""

TITLES: dict[str, str] = {}

TEST_MOVES: dict[str, tuple[str, str]] = {}
"""Tests that move with a room: the path below tests, the room, the new path."""

TESTED: dict[str, str] = {}
"""Tests that are not named after their module: the path below tests, and the module."""

NEW_FILES = [
    ("tests/test_imports.py", "base", "test_imports_underway.py"),
    ("tests/test_imports.py", "cli", "test_imports.py"),
]
"""Files that are written anew: path, after which room, the name in the folder new."""

HOISTED = {"exports"}
"""Rooms whose late imports of kernelrank go to the top."""

WORDS = {
    "rls": "RLS", "svm": "SVM", "auc": "AUC", "roc": "ROC", "cv": "CV", "onnx": "ONNX", "json": "JSON", "sql": "SQL",
    "xml": "XML", "conllu": "CoNLL-U", "nystrom": "Nyström", "newton": "Newton", "helmert": "Helmert", "kendall": "Kendall",
    "kaplan": "Kaplan", "meier": "Meier", "openapi": "OpenAPI", "preflib": "PrefLib", "kronecker": "Kronecker",
    "bradley": "Bradley", "terry": "Terry", "trec": "TREC", "spacy": "spaCy", "python": "Python", "parquet": "Parquet",
    "laplacian": "Laplacian", "letor": "LETOR",
}
"""Words of headings that are names."""

PATCHES: list[tuple[str, str, str, str]] = [
    # after which room, file, pattern, replacement
    (
        "hinge",
        "docs/api/building_blocks.rst",
        r"   Newton\n   Bundle\n",
        "\n\nHinge losses\n------------\n\n.. currentmodule:: kernelrank.hinge\n\n.. autosummary::\n   :toctree: generated\n"
        "   :nosignatures:\n\n   Newton\n   Bundle\n",
    ),
    (
        "persistence",
        "src/kernelrank/persistence.py",
        r"the fitted attributes: those that end with an underscore;",
        "the fitted attributes, which end with an underscore;",
    ),
    ("base", "benchmarks/module_walks.py", r'module == "compiled"', 'module == "base/compiled"'),
    (
        "cli",
        "tests/test_architecture.py",
        r"def test_a_file_name_occurs_in_one_room\(\):\n(?:    .*\n)+",
        "def test_a_file_is_a_family_of_at_most_a_thousand_lines():\n"
        "    package = Path(kernelrank.__file__).parent\n"
        "    lengths = {path: len(path.read_text(encoding=\"utf-8\").splitlines()) for path in package.rglob(\"*.py\")}\n"
        "    assert {path: lines for path, lines in lengths.items() if lines > 1000} == {}\n",
    ),
    ("cli", "tests/test_architecture.py", r"from collections import Counter\n", ""),
    # Loop variables that would hide what another module of the family imports.
    ("data", "src/kernelrank/data/preference_lines.py", r"for name, field, column in zip", "for name, cell, column in zip"),
    ("data", "src/kernelrank/data/preference_lines.py", r"value = read_decimal\(field\)", "value = read_decimal(cell)"),
    ("data", "src/kernelrank/data/preference_lines.py", r"the \{name\} \{shown\(field\)\}", "the {name} {shown(cell)}"),
    ("model_selection", "src/kernelrank/model_selection/permutation.py", r"for numbers in alike:", "for members in alike:"),
    (
        "model_selection",
        "src/kernelrank/model_selection/permutation.py",
        r"zip\(numbers, random\.permutation\(numbers\), strict=True\)",
        "zip(members, random.permutation(members), strict=True)",
    ),
    (
        "base",
        "src/kernelrank/late_names.py",
        r"        found = getattr\(importlib\.import_module\(f\"\{package\}\.\{homes\[name\]\}\"\), name\)\n",
        '        home = homes[name]\n'
        '        module = home if home.startswith("kernelrank.") else f"{package}.{home}"\n'
        '        found = getattr(importlib.import_module(module), name)\n',
    ),
    (
        "base",
        "src/kernelrank/late_names.py",
        r"The module of the package in which each name is found\.",
        "The module of the package in which each name is found, or the full name of a module of another room.",
    ),
    (
        "cli",
        "src/kernelrank/cli/lazy_group.py",
        r"        command = typer\.main\.get_command\(importlib\.import_module\(module\)\.app\)\n",
        '        module, _, name = module.partition(":")\n'
        '        command = typer.main.get_command(getattr(importlib.import_module(module), name or "app"))\n',
    ),
    (
        "cli",
        "src/kernelrank/cli/lazy_group.py",
        r"name, module with the `app`, and the line",
        "name, module with the `app` (or ``module:name``), and the line",
    ),
    (
        "votes",
        "src/kernelrank/cli/learner.py",
        r"        from kernelrank import estimators\n\n",
        "        from kernelrank import estimators, votes\n\n"
        '        room = votes if self.method == "bradley_terry" else estimators\n',
    ),
    ("votes", "src/kernelrank/cli/learner.py", r"getattr\(estimators, kinds\[self\.method\]\)", "getattr(room, kinds[self.method])"),
    (
        "model_selection",
        "src/kernelrank/cli/learner.py",
        r"        from kernelrank\.model_selection import search\n",
        "        from kernelrank import model_selection\n",
    ),
    (
        "model_selection",
        "src/kernelrank/cli/learner.py",
        r"getattr\(search, kinds\[self\.method\]\)",
        "getattr(model_selection, kinds[self.method])",
    ),
]

FOLDED: dict[str, str] = {}


def subject(room: str, words: str) -> str:
    return f"{'package' if room == '(root)' else room}: {words}"

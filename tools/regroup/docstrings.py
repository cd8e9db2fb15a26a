"""Shorten the docstrings of internals: one line or two, equations, costs, and shapes.

    PYTHONPATH=CHECKOUT/src python docstrings.py CHECKOUT [--dry]

Public objects keep their numpydoc. Public are the names of kernelrank and of its public rooms, the documented names of
docs/api and docs/extend, their public methods (inherited ones too), and the functions whose docstring is the help of a
command. Of an internal object stay: the first paragraph, further paragraphs that carry an equation, a cost or a
reference (all of them, unless --terse), Notes and References that do so, the shapes of its arguments and of what it
returns, and what a description says of NaN, -1, None, order or units.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

WIDTH = 120
SECTION = re.compile(r"^(\s*)(Parameters|Returns|Yields|Attributes|Other Parameters|Raises|Warns|See Also|Notes|References|Examples|Methods)\n\1-{3,}\n", re.MULTILINE)
EQUATION = re.compile(r"``[^`]*[=≤≥<>∝][^`]*``|O\([^)]+\)|\[[A-Z]{2,}[A-Za-z]*\d{2}\]|[ΣΓΦλτκσ∇‖ᵀ⁻]|::$", re.MULTILINE)
CONVENTION = re.compile(
    r"\bNaN\b|infinit|(?<![\w.])-1\b|\bin place\b|overwrit|is changed|are changed|\bsorted\b|ascending|descending|increasing|"
    r"decreasing|\bseconds\b|\bbytes\b|logarithm|\bsquare of\b|\bsquared\b|\bper cent\b|\bmust\b",
)
SHAPE = re.compile(r"shape (\([^()]*(?:\[[^\]]*\][^()]*)*\)(?:,? or \([^()]*\))*)")


def public_objects(root: Path) -> set[tuple[str, str]]:
    """Return (module, qualified name) of everything public."""
    import kernelrank

    names: set[tuple[str, str]] = {("kernelrank", name) for name in kernelrank.__all__}
    for room in ("metrics", "data", "dask", "relations", "report", "errors", "serving", "persistence", "pyterrier", "exports"):
        try:
            module = importlib.import_module(f"kernelrank.{room}")
        except ImportError as error:
            print(f"kernelrank.{room}: {error}", file=sys.stderr)
            continue
        names |= {(module.__name__, name) for name in module.__all__}
    for page in [*(root / "docs/api").glob("*.rst")]:
        module = "kernelrank"
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split("::")[1].strip()
            elif re.fullmatch(r"   [\w.]+", line):
                inner, _, name = line.strip().rpartition(".")
                names.add((f"{module}.{inner}".rstrip("."), name))
    for page in [*(root / "docs").rglob("*.md"), root / "README.md", *(root / "examples").glob("*.py")]:
        for module, found in re.findall(r"^[> .]*from (kernelrank[\w.]*) import ([\w, ]+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            names |= {(module, name.split(" as ")[0].strip()) for name in found.split(",")}
    public: set[tuple[str, str]] = set()
    for module, name in names:
        try:
            thing = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            print(f"not found: {module}.{name}: {error}", file=sys.stderr)
            continue
        if inspect.ismodule(thing):
            continue
        home = getattr(thing, "__module__", None)
        if not isinstance(home, str) or not home.startswith("kernelrank"):
            continue
        public.add((home, getattr(thing, "__qualname__", name)))
        if not inspect.isclass(thing):
            continue
        for base in thing.__mro__:
            if not base.__module__.startswith("kernelrank"):
                continue
            for member, value in vars(base).items():
                if member.startswith("_") and member != "__call__":
                    continue
                public.add((base.__module__, f"{base.__qualname__}.{member}"))
        if issubclass(thing, Exception):
            public.add((home, thing.__qualname__))
    return public


def has_help(node: ast.AST) -> bool:
    """Return whether a function is a command, whose docstring is its help."""
    return any(re.search(r"\.(command|callback)\b", ast.unparse(d)) for d in getattr(node, "decorator_list", []))


def sections(body: str) -> tuple[str, dict[str, str]]:
    """Return what stands above the sections, and the sections."""
    hits = list(SECTION.finditer(body))
    if not hits:
        return body, {}
    found: dict[str, str] = {}
    for number, hit in enumerate(hits):
        end = hits[number + 1].start() if number + 1 < len(hits) else len(body)
        found[hit[2]] = found.get(hit[2], "") + body[hit.end() : end]
    return body[: hits[0].start()], found


def entries(section: str) -> list[tuple[str, str]]:
    """Return (line, description) of the entries of a section."""
    text = textwrap.dedent(section)
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.strip() and not line.startswith(" "):
            found.append((line.strip(), ""))
        elif line.strip() and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}".strip())
    return found


def shapes(parts: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return the shapes that the sections tell, and the conventions."""
    told: list[str] = []
    kept: list[str] = []
    for title in ("Parameters", "Attributes", "Returns", "Yields"):
        for line, description in entries(parts.get(title, "")):
            name, _, kind = line.partition(" : ")
            if not kind and title in ("Returns", "Yields"):
                name, kind = "", line
            shape = SHAPE.search(kind)
            verb = {"Returns": "returns ", "Yields": "yields "}.get(title, "")
            if shape:
                told.append(f"{verb}{name} {shape[1]}".replace("  ", " ").strip())
            if CONVENTION.search(description):
                kept.append(f"{verb.strip().capitalize() or ''}{': ' if verb and not name else ' ' if verb else ''}"
                            f"{name + ': ' if name else ''}{description}")
    return told, kept


def shortened(body: str, indent: str, *, terse: bool) -> str:
    """Return the text of a docstring, without its quotes."""
    head, parts = sections(body)
    paragraphs = [p for p in re.split(r"\n\s*\n", head.strip("\n")) if p.strip()]
    kept = paragraphs[:1]
    for number, paragraph in enumerate(paragraphs[1:], start=1):
        listed = number + 1 < len(paragraphs) and False
        if not terse or EQUATION.search(paragraph) or listed:
            kept.append(paragraph)
    for title in ("Notes",):
        text = parts.get(title, "").strip("\n")
        if text.strip() and EQUATION.search(text):
            kept.append(text.rstrip())
    if parts.get("References", "").strip():
        kept.append(parts["References"].strip("\n").rstrip())
    told, conventions = shapes(parts)
    if told:
        inputs = [t for t in told if not t.startswith(("returns ", "yields "))]
        outputs = [t for t in told if t.startswith(("returns ", "yields "))]
        line = "; ".join(filter(None, [", ".join(inputs), ", ".join(outputs)]))
        kept.append("\n".join(textwrap.wrap(f"Shapes: {line}.", WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)))
        kept[-1] = textwrap.indent(kept[-1], indent)
    for text in conventions:
        rows = textwrap.wrap(text, WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
        block = textwrap.indent("\n".join(rows), indent)
        if kept and conventions.index(text) and kept[-1]:
            kept[-1] += "\n" + block
        else:
            kept.append(block)
    result = "\n\n".join(kept)
    return result.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--terse", action="store_true", help="drop further paragraphs without an equation, a cost or a reference")
    options = parser.parse_args()
    source = options.checkout.resolve() / "src" / "kernelrank"
    import kernelrank

    assert Path(kernelrank.__file__).parent == source, f"kernelrank is imported from {kernelrank.__file__}"
    public = public_objects(options.checkout)
    before = after = 0
    dropped = Counter[str]()
    changed = 0
    written = []
    for path in sorted(source.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        module = ".".join(["kernelrank", *path.relative_to(source).with_suffix("").parts]).removesuffix(".__init__")
        lines = text.splitlines(keepends=True)
        before += len(lines)
        edits: list[tuple[int, int, str]] = []

        def visit(node: ast.AST, prefix: str) -> None:
            nonlocal changed
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    if isinstance(child, (ast.If, ast.Try, ast.With)):
                        visit(child, prefix)
                    continue
                name = f"{prefix}{child.name}"
                visit(child, f"{name}." if isinstance(child, ast.ClassDef) else f"{name}.<locals>.")
                first = child.body[0]
                if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)):
                    continue
                if (module, name) in public or has_help(child):
                    continue
                raw = "".join(lines[first.lineno - 1 : first.end_lineno])
                hit = re.fullmatch(r'(\s*)([rR]?)"""(.*?)"""\s*', raw, flags=re.DOTALL)
                if hit is None or "\n" not in hit[3]:
                    continue
                indent, mark, body = hit[1], hit[2], hit[3]
                new = shortened(body, indent, terse=options.terse)
                made = f'{indent}{mark}"""{new}"""\n'
                if "\n" not in new and len(made) > WIDTH + 1:
                    continue  # a summary that leaves no room for the quotes: the formatter would join them
                if "\n" in new:
                    made = f'{indent}{mark}"""{new}\n{indent}"""\n'
                if made != raw and made.count("\n") < raw.count("\n"):
                    edits.append((first.lineno - 1, first.end_lineno, made))
                    dropped[type(child).__name__] += raw.count("\n") - made.count("\n")
                    changed += 1

        visit(ast.parse(text), "")
        for start, end, made in sorted(edits, reverse=True):
            lines[start:end] = [made]
        new_text = "".join(lines)
        after += len(new_text.splitlines())
        if new_text != text:
            written.append(path)
            if not options.dry:
                path.write_text(new_text, encoding="utf-8")
    if not options.dry and written:
        subprocess.run([Path(sys.executable).with_name("ruff"), "format", "-q", *written], check=True)
        after = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in source.rglob("*.py"))
    print(f"public: {len(public)}; docstrings shortened: {changed}; lines {before} -> {after}; {dict(dropped)}")


if __name__ == "__main__":
    main()

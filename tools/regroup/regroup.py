"""Regroup a checkout of kernelrank by mapping.txt.

    python regroup.py CHECKOUT            # all rooms, two commits a room
    python regroup.py CHECKOUT --flat     # the final tree at once, without commits
    python regroup.py CHECKOUT --check    # only say what is missing in the mapping, and which names collide

Copy this folder out of the checkout first, and delete it from the tree when the rooms stand: it serves once.

Everything is made from the sources of HEAD at the start: a stage is the whole tree under a part of the mapping.
"""

from __future__ import annotations

import argparse
import ast
import functools
import re
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import tables  # noqa: E402

RUFF = "ruff"
TEXT = (".py", ".md", ".rst", ".toml", ".yml", ".yaml", ".j2", ".txt", ".cff", "")
PACKAGE = "src/kernelrank/"
DASHES = 120


# The mapping -----------------------------------------------------------------------------------------------------------


def read_mapping(text: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the sources of every family, and the families of every room, in the order of the file."""
    families: dict[str, list[str]] = {}
    rooms: dict[str, list[str]] = {}
    room = ""
    for line in text.splitlines():
        line = line.split("#")[0].rstrip()
        if not line:
            continue
        if not line.startswith(" "):
            room = line.strip().rstrip("/")
            rooms[room] = []
            continue
        target, sources = (part.strip() for part in line.split("<-"))
        target = target.removesuffix(".py") if room == "(root)" else f"{room}/{target.removesuffix('.py')}"
        families[target] = [source.strip() for source in sources.split(",")]
        rooms[room].append(target)
    return families, rooms


def dotted(module: str) -> str:
    """Return the name of a module from its path in the package."""
    return ".".join(["kernelrank", *module.removesuffix("/__init__").removesuffix("__init__").split("/")]).rstrip(".")


def room_of(module: str) -> str:
    return module.rpartition("/")[0]


# Sources ---------------------------------------------------------------------------------------------------------------


@dataclass
class Module:
    """A module as it was: its text, its tree, what its names are bound to at the top."""

    path: str
    text: str
    tree: ast.Module = field(init=False)
    bound: dict[str, tuple] = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text)
        self.bound = bindings(self.tree.body)


def bindings(body: list[ast.stmt]) -> dict[str, tuple]:
    """Return what every name is bound to: ("def",), or ("from", module, name), or ("import", module)."""
    found: dict[str, tuple] = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = ("def",)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for inner in ast.walk(target):
                    if isinstance(inner, ast.Name):
                        found[inner.id] = ("def",)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.asname or alias.name] = ("from", node.module or "", alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = ("import", alias.name if alias.asname else alias.name.split(".")[0])
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            inner_bodies = [node.body]
            if isinstance(node, (ast.If, ast.Try)):
                inner_bodies.append(node.orelse)
            if isinstance(node, ast.Try):
                inner_bodies += [handler.body for handler in node.handlers] + [node.finalbody]
            guard = isinstance(node, ast.If) and is_type_checking(node) and not node.orelse
            for inner_body in inner_bodies:
                for name, value in bindings(inner_body).items():
                    if guard:
                        found.setdefault(name, value)
                    else:
                        found[name] = ("def",) if not isinstance(node, ast.If) or node.orelse else value
    return found


def is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


class Text:
    """A text with edits by positions of an abstract syntax tree, whose columns count bytes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.edits: list[tuple[int, int, str]] = []

    def offset(self, line: int, column: int) -> int:
        part = self.lines[line - 1].encode()[:column].decode() if line <= len(self.lines) else ""
        return self.starts[line - 1] + len(part)

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def replace(self, node: ast.AST, new: str) -> None:
        self.edits.append((*self.span(node), new))

    def replace_line(self, node: ast.stmt, new: str) -> None:
        """Replace a whole statement with its line ends and, if nothing is left, its blank lines after."""
        start = self.starts[node.lineno - 1]
        end = self.starts[node.end_lineno]
        if not new:
            following = node.end_lineno
            while following < len(self.lines) and not self.lines[following].strip():
                following += 1
            end = self.starts[following] if node.col_offset else end
        self.edits.append((start, end, new))

    def result(self) -> str:
        text = self.text
        previous = len(text) + 1
        for start, end, new in sorted(set(self.edits), reverse=True):
            assert end <= previous, f"edits overlap: {text[start:end]!r}"
            text = text[:start] + new + text[end:]
            previous = start
        return text


# The tree --------------------------------------------------------------------------------------------------------------


class Tree:
    """All sources as they were."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.modules = {
            path.removeprefix(PACKAGE).removesuffix(".py"): Module(path, text)
            for path, text in files.items()
            if path.startswith(PACKAGE) and path.endswith(".py")
        }

    def module_named(self, name: str) -> str | None:
        """Return the path of a module or package by its dotted name."""
        if name == "kernelrank":
            return "__init__"
        if not name.startswith("kernelrank."):
            return None
        path = name.removeprefix("kernelrank.").replace(".", "/")
        for found in (path, f"{path}/__init__"):
            if found in self.modules:
                return found
        return None

    def resolve(self, module: str, name: str) -> tuple[str, str | None]:
        """Return the module that defines a name of a module, and the name; or the module that the name is."""
        home = self.module_named(module)
        assert home is not None, f"there is no module {module}"
        value = self.modules[home].bound.get(name)
        if value is not None:
            if value[0] == "from" and value[1].split(".")[0] == "kernelrank":
                return self.resolve(value[1], value[2])
            return home, name
        inner = self.module_named(f"{module}.{name}")
        if inner is not None:
            return inner, None
        if home.endswith("__init__"):  # names that are imported at their first use
            for node in ast.walk(self.modules[home].tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kernelrank"):
                    for alias in node.names:
                        if (alias.asname or alias.name) == name:
                            return self.resolve(node.module or "", alias.name)
        raise LookupError(f"{module} has no {name}")


@dataclass
class Stage:
    """A part of the mapping."""

    tree: Tree
    families: dict[str, list[str]]  # of this stage
    final: dict[str, str]  # the last home of every module
    reached: set[str]  # rooms that are folded

    def __post_init__(self) -> None:
        self.home = {source: target for target, sources in self.families.items() for source in sources}
        self.exports: dict[str, dict[str, tuple[str, str]]] = {}  # room: name: where it is defined
        for path in self.tree.modules:
            if not path.endswith("/__init__") or path in ("cli/__init__",):
                continue
            old = room_of(path)
            for name in exported(self.tree.modules[path].tree):
                module, inner = self.tree.resolve(dotted(old), name)
                if inner is None:
                    continue
                new = room_of(self.home.get(module, module))
                room = new if new in tables.ROOMS else old
                if module in self.home and new not in tables.NO_EXPORTS:
                    self.exports.setdefault(new, {})[name] = (module, inner)
                if (old, name) in tables.KEPT_PATHS or (module in self.home and new in tables.NO_EXPORTS):
                    self.exports.setdefault(old, {})[name] = (module, inner)
        for room, names in tables.NEW_EXPORTS.items():
            for module, name in names:
                if module in self.home and room_of(self.home[module]) == room:
                    self.exports.setdefault(room, {})[name] = (module, name)

    def renamed(self, module: str, name: str) -> str:
        if self.home.get(module) == self.final.get(module):
            return tables.RENAMES.get((module, name), name)
        return name

    def place(self, module: str, name: str, *, of_package: bool, context: str | None, old_package: str = "") -> str | None:
        """Return the module to import a name from; None where it is in the context itself."""
        home = self.home.get(module, module)
        if context is not None and home == context:
            return None
        room = room_of(home)
        if home.endswith("__init__"):
            return dotted(home)
        if of_package:
            if self.exports.get(room, {}).get(name) == (module, name) and (context is None or room_of(context) != room):
                return dotted(f"{room}/__init__")
            if context is None and name in self.exports.get(old_package, {}):
                return dotted(f"{old_package}/__init__")
        return dotted(home)


def exported(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


# Imports and names in one file -----------------------------------------------------------------------------------------


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def locals_of(scope: ast.AST) -> set[str]:
    """Return the names that a function, a comprehension or a class binds."""
    names: set[str] = set()
    outer: set[str] = set()
    if isinstance(scope, FUNCTIONS):
        arguments = scope.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        names |= {argument.arg for argument in every if argument is not None}
    stack: list[ast.AST] = list(scope.body) if isinstance(getattr(scope, "body", None), list) else []
    if isinstance(scope, COMPREHENSIONS):
        stack = [generator.target for generator in scope.generators]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
            continue
        if isinstance(node, (ast.Lambda, *COMPREHENSIONS)):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.Global):
            outer |= set(node.names)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
        stack.extend(ast.iter_child_nodes(node))
    return names - outer


def uses(tree: ast.Module) -> list[tuple[ast.AST, str, tuple[ast.AST, ...]]]:
    """Return every use of a name: the node, the name, and the scopes around it, outermost first."""
    found: list[tuple[ast.AST, str, tuple[ast.AST, ...]]] = []

    def visit(node: ast.AST, scopes: tuple[ast.AST, ...]) -> None:
        if isinstance(node, ast.Name):
            found.append((node, node.id, scopes))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.append((node, node.name, scopes))
            inside = (*scopes, node)
            outside = [*node.decorator_list]
            if isinstance(node, ast.ClassDef):
                outside += [*node.bases, *node.keywords]
                within = list(node.body)
            else:
                outside += [*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]]
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
                outside += [a.annotation for a in every if a is not None and a.annotation is not None]
                outside += [node.returns] if node.returns is not None else []
                within = list(node.body)
            for child in outside:
                visit(child, scopes)
            for child in within:
                visit(child, inside)
            return
        if isinstance(node, ast.Lambda):
            for child in [*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]]:
                visit(child, scopes)
            visit(node.body, (*scopes, node))
            return
        if isinstance(node, COMPREHENSIONS):
            inside = (*scopes, node)
            for child in ast.iter_child_nodes(node):
                visit(child, inside)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, scopes)

    for statement in tree.body:
        visit(statement, ())
    return found


def binder(name: str, scopes: tuple[ast.AST, ...], cache: dict[ast.AST, set[str]]) -> ast.AST | None:
    """Return the innermost scope that binds a name; None for the module."""
    for depth, scope in enumerate(reversed(scopes)):
        if isinstance(scope, ast.ClassDef) and depth > 0:
            continue
        if scope not in cache:
            cache[scope] = locals_of(scope)
        if name in cache[scope]:
            return scope
    return None


IN_STRING = re.compile(r"from (kernelrank[\w.]*) import ([\w]+(?:, [\w]+)*)")


@functools.cache
def import_lines(text: str) -> frozenset[int]:
    return frozenset(
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for line in range(node.lineno, node.end_lineno + 1)
    )


def move_quoted_imports(stage: Stage, text: str) -> str:
    """Return a file whose import statements in strings, doctests among them, are moved."""
    if "from kernelrank" not in text:
        return text
    real = import_lines(text)

    def moved(match: re.Match[str]) -> str:
        lines: dict[str, list[str]] = defaultdict(list)
        package = stage.tree.module_named(match[1])
        if package is None or match[1] == "kernelrank":
            return match[0]
        for name in match[2].split(", "):
            try:
                home, inner = stage.tree.resolve(match[1], name)
            except LookupError:
                return match[0]
            if inner is None:
                if home.endswith("__init__") or stage.home.get(home, home) == home:
                    return match[0]
                target = stage.home[home]
                stem = target.rpartition("/")[2]
                lines[dotted(f"{room_of(target)}/__init__")].append(stem if stem == name else f"{stem} as {name}")
                continue
            place = stage.place(home, inner, of_package=package.endswith("__init__"), context=None, old_package=room_of(package))
            lines[place].append(stage.renamed(home, inner))
        return "; ".join(f"from {place} import {', '.join(names)}" for place, names in lines.items())

    rows = text.splitlines(keepends=True)
    for number, row in enumerate(rows, start=1):
        if number not in real and "from kernelrank" in row:
            rows[number - 1] = IN_STRING.sub(moved, row)
    return "".join(rows)


ANALYSED: dict[str, list[tuple[str, str, str, str | None]]] = {}
REWRITTEN: dict[tuple, str] = {}


def rewrite(stage: Stage, text: str, *, module: str | None, runtime: set[tuple[str, str]] = frozenset()) -> str:
    """Return what `rewritten` does; what a stage does not change is remembered."""
    text = move_quoted_imports(stage, text)
    if text not in ANALYSED:
        found = []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kernelrank":
                for alias in node.names:
                    if node.module == "kernelrank" and alias.name in tables.ROOMS and alias.name not in stage.tree.modules:
                        continue
                    found.append((node.module or "", alias.name, *stage.tree.resolve(node.module or "", alias.name)))
        ANALYSED[text] = found
    context = stage.home.get(module, module) if module is not None else None
    places = []
    for package, _, home, name in ANALYSED[text]:
        if name is None:
            places.append(stage.home.get(home, home) + str(stage.home.get(home) == stage.final.get(home)))
        else:
            inside = (stage.tree.module_named(package) or "").endswith("__init__")
            place = stage.place(home, name, of_package=inside, context=context, old_package=room_of(stage.tree.module_named(package) or ""))
            places.append(f"{place} {stage.renamed(home, name)} {(home, name) in runtime}")
    key = (text, module, context, tuple(places), module is not None and stage.home.get(module) == stage.final.get(module))
    if key not in REWRITTEN:
        REWRITTEN[key] = rewritten(stage, text, module=module, runtime=runtime)
    return REWRITTEN[key]


def rewritten(stage: Stage, text: str, *, module: str | None, runtime: set[tuple[str, str]] = frozenset()) -> str:
    """Return the text of a file with its imports, module aliases and renamed names moved.

    `module` is the path of the old module, None for a file outside the package. `runtime` has the definitions that the
    family imports at its top anyway.
    """
    tree = ast.parse(text)
    context = stage.home.get(module, module) if module is not None else None
    out = Text(text)
    cache: dict[ast.AST, set[str]] = {}
    every = uses(tree)
    scope_of: dict[ast.AST, ast.AST | None] = {}

    def mark(node: ast.AST, scope: ast.AST | None) -> None:
        for child in ast.iter_child_nodes(node):
            scope_of[child] = scope
            mark(child, child if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)) else scope)

    mark(tree, None)
    taken = {name for _, name, _ in every}
    guarded = {inner for node in tree.body if is_type_checking(node) for inner in node.body}
    renames: dict[tuple[str, ast.AST | None], str] = {}
    aliases: dict[tuple[str, ast.AST | None], tuple[str, str | None]] = {}  # of modules: the old one, its new name here
    if module is not None:
        for (source, name), new in tables.RENAMES.items():
            if source == module and stage.renamed(source, name) != name:
                renames[name, None] = new
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] != "kernelrank":
            continue
        package = stage.tree.module_named(node.module or "")
        assert package is not None, f"{module or 'a file'} imports {node.module}, which is not there"
        lines: dict[str, list[str]] = defaultdict(list)
        changed = False
        for alias in node.names:
            bound = alias.asname or alias.name
            if node.module == "kernelrank" and alias.name in tables.ROOMS and f"{alias.name}" not in stage.tree.modules:
                lines[node.module].append(alias.name + (f" as {alias.asname}" if alias.asname else ""))
                continue
            home, name = stage.tree.resolve(node.module or "", alias.name)
            if name is None:  # a module
                if home.endswith("__init__"):
                    lines[node.module or ""].append(alias.name + (f" as {alias.asname}" if alias.asname else ""))
                    continue
                target = stage.home.get(home, home)
                if target == home and alias.asname is None:
                    lines[node.module or ""].append(alias.name)
                    aliases[bound, scope_of[node]] = (home, bound)
                    continue
                changed = True
                if target == context:
                    aliases[bound, scope_of[node]] = (home, None)
                    continue
                stem = target.rpartition("/")[2]
                parent = dotted(f"{room_of(target)}/__init__") if room_of(target) else "kernelrank"
                if alias.asname or (stem != bound and stem in taken):
                    other = alias.asname or bound
                    lines[parent].append(f"{stem} as {other}" if other != stem else stem)
                    aliases[bound, scope_of[node]] = (home, other)
                else:
                    lines[parent].append(stem)
                    aliases[bound, scope_of[node]] = (home, stem)
                continue
            new = stage.renamed(home, name)
            place = stage.place(
                home, name, of_package=package.endswith("__init__"), context=context, old_package=room_of(package)
            )
            local = scope_of[node] is not None
            if place is None or (local and (home, name) in runtime and not alias.asname):
                assert not alias.asname or alias.asname == new, f"{module}: {ast.unparse(node)}"
                changed = True
                if new != bound:
                    renames[bound, scope_of[node]] = new
                continue
            if place != node.module or new != name:
                changed = True
            if new != name and not alias.asname:
                renames[bound, scope_of[node]] = new
            lines[place].append(new + (f" as {alias.asname}" if alias.asname and alias.asname != new else ""))
        if not changed:
            continue
        indent = " " * node.col_offset
        comment = re.search(r"#.*$", out.lines[node.end_lineno - 1])
        tail = f"  {comment[0]}" if comment else ""
        made = "".join(
            f"{indent}from {place} import {', '.join(dict.fromkeys(names))}{tail}\n" for place, names in sorted(lines.items())
        )
        out.replace_line(node, made or (f"{indent}pass\n" if node in guarded else ""))
    for node, name, scopes in every:
        where = binder(name, scopes, cache)
        key = (name, where)
        if key in renames:
            if isinstance(node, ast.Name):
                out.replace(node, renames[key])
            else:
                head = re.compile(rf"\b{name}\b")
                start = out.offset(node.lineno, node.col_offset)
                hit = head.search(out.text, start)
                assert hit
                out.edits.append((hit.start(), hit.end(), renames[key]))
    # Aliases of modules: `alias.name`, and `monkeypatch.setattr(alias, "name", ...)`.
    if aliases:
        seen: set[ast.AST] = set()
        scopes_of = {node: scopes for node, _, scopes in every}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value in scopes_of:
                key = (node.value.id, binder(node.value.id, scopes_of[node.value], cache))
                if key in aliases:
                    home, other = aliases[key]
                    seen.add(node.value)
                    attribute = stage.renamed(home, node.attr)
                    out.replace(node, attribute if other is None else f"{other}.{attribute}")
            elif isinstance(node, ast.Call) and len(node.args) >= 2 and isinstance(node.args[0], ast.Name):
                first, second = node.args[:2]
                key = (first.id, binder(first.id, scopes_of.get(first, ()), cache))
                if key in aliases and isinstance(second, ast.Constant) and isinstance(second.value, str):
                    home, other = aliases[key]
                    new = stage.renamed(home, second.value)
                    if new != second.value:
                        out.replace(second, f'"{new}"')
        for node, name, scopes in every:
            key = (name, binder(name, scopes, cache))
            if isinstance(node, ast.Name) and key in aliases and node not in seen:
                other = aliases[key][1]
                assert other is not None, f"{module}: the module {name} is used as a value"
                if other != name:
                    out.replace(node, other)
    result = out.result()
    for (name, scope), new in renames.items():
        if scope is None and module is not None:
            result = re.sub(rf"(?<=`){name}(?=`)", new, result)
    return result


def title_of(module: str) -> str:
    """Return the heading of a part."""
    if module in tables.TITLES:
        return tables.TITLES[module]
    words = [tables.WORDS.get(word, word) for word in module.rpartition("/")[2].split("_")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


def point_inside(stage: Stage, text: str, module: str) -> str:
    """Return the text of a module whose references to modules of its own family name parts of the file."""
    home = stage.home[module]

    def pointed(match: re.Match[str]) -> str:
        parts = match[1].split(".")
        for length in range(len(parts), 0, -1):
            path = "/".join(parts[:length])
            if path in stage.home:
                if stage.home[path] != home or path == module:
                    return match[0]
                rest = parts[length:]
                if rest:
                    return f"`{'.'.join([stage.renamed(path, rest[0]), *rest[1:]])}`"
                return "the top of this file" if stage.families[home][0] == path else f"the part “{title_of(path)}”"
        return match[0]

    return re.sub(r"(?<!`)`kernelrank\.([\w.]+)`(?!`)", pointed, text)


def narrow_lines(text: str) -> str:
    """Return a text whose prose was pushed beyond the longest line by a moved name: words go to the next line."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if len(line) <= DASHES or "kernelrank." not in "".join(lines[max(0, number - 3) : number + 1]):
            continue
        indent = re.match(r"\s*(# )?", line)[0]
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if re.match(r"\s*(from|import) ", line) or re.search(r"[\"']kernelrank", line) or not following.startswith(indent) or following[len(indent) : len(indent) + 1] in ("", " ", ">"):
            continue
        head, tail = line, []
        while len(head) > DASHES and " " in head.strip():
            head, _, word = head.rpartition(" ")
            tail.insert(0, word)
        lines[number] = head
        lines[number + 1] = indent + " ".join(tail) + " " + following[len(indent) :]
    return "\n".join(lines)


def hoisted(text: str) -> str:
    """Return a module whose late imports of kernelrank stand at its top."""
    out = Text(text)
    tree = ast.parse(text)
    lines = []
    top = {node for node in tree.body} | {inner for node in tree.body if is_type_checking(node) for inner in node.body}
    last = max(n.end_lineno for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom)))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kernelrank") and node not in top:
            out.replace_line(node, "")
            lines.append(ast.unparse(node) + "\n")
    if lines:
        out.edits.append((out.starts[last], out.starts[last], "".join(lines)))
    return out.result()


DOTTED = re.compile(r"(?<![\w./-])kernelrank((?:\.[A-Za-z_]\w*)+)(:\w+)?")


def move_strings(stage: Stage, text: str, *, code: bool) -> str:
    """Return a text with dotted names of modules moved; in code, import statements are left to `rewrite`."""

    def moved(match: re.Match[str]) -> str:
        line_start = text.rfind("\n", 0, match.start()) + 1
        head = text[line_start : match.start()]
        if code and re.fullmatch(r"\s*(from|import) ", head):
            return match[0]
        parts = match[1][1:].split(".")
        for length in range(len(parts), 0, -1):
            path = "/".join(parts[:length])
            rest = parts[length:]
            if path in stage.home:
                if not rest and not match[2]:
                    package = stage.tree.modules.get(f"{room_of(path)}/__init__".lstrip("/"))
                    if package is not None and parts[-1] in package.bound and room_of(path):
                        return match[0]  # the name of a function, too
                home = stage.home[path]
                if rest:
                    try:
                        owner, name = stage.tree.resolve(dotted(path), rest[0])
                    except LookupError:
                        owner, name = path, rest[0]
                    # A name is patched where it is looked up, not where it is defined.
                    rest = [stage.renamed(owner, rest[0]), *rest[1:]] if name else rest
                command = tables.COMMANDS.get(path) if not rest and home == stage.final.get(path) else None
                return ".".join([dotted(home), *rest]) + (f":{command}" if command else match[2] or "")
            if f"{path}/__init__" in stage.tree.modules or path in tables.ROOMS:
                name = match[2][1:] if match[2] and not rest else rest[0] if rest and not match[2] else ""
                if not name or f"{path}/__init__" not in stage.tree.modules:
                    return match[0]
                try:
                    owner, inner = stage.tree.resolve(dotted(path), name)
                except LookupError:
                    return match[0]
                if inner is None or owner not in stage.home:
                    return match[0]
                room = room_of(stage.home[owner])
                if name in stage.exports.get(path, {}) or path in ("cli",):
                    return match[0]
                place = dotted(f"{room}/__init__") if name in stage.exports.get(room, {}) else dotted(stage.home[owner])
                return f"{place}:{name}" if match[2] else ".".join([place, *rest])
        return match[0]

    return DOTTED.sub(moved, text)


def move_paths(stage: Stage, text: str, tests: dict[str, str]) -> str:
    """Return a text with paths of files moved: ``comparisons/base.py``, and numbered lists of walks."""
    def moved(match: re.Match[str]) -> str:
        for old in (match[2], f"model_selection/{match[2]}"):
            if old in stage.home and ("/" in old or match[0].startswith("`")):
                return f"{match[1]}{stage.home[old]}.py"
        return match[0]

    text = re.sub(r"(?<![\w/])(`?(?:src/)?(?:kernelrank/)?)([a-z_]+(?:/[a-z_]+)*)\.py\b", moved, text)
    if "tests/" not in text:
        return text
    for old, new in tests.items():
        text = re.sub(rf"(?<![\w/])tests/{re.escape(old)}\b", f"tests/{new}", text)
    return text


def move_walks(stage: Stage, text: str) -> str:
    """Return the page with the modules of its walks moved: a family is visited where the first of its modules was."""
    lines: list[str] = []
    seen: set[str] = set()
    for line in text.splitlines(keepends=True):
        match = re.fullmatch(r"(\d+)\. `([\w/]+)`: (.*)\n", line)
        if match is None or (match[2] not in stage.home and match[2] not in stage.tree.modules):
            if line.startswith("#"):
                seen = set()
            lines.append(line)
            continue
        home = stage.home.get(match[2], match[2])
        if home in seen or home == stage.home.get("compiled"):
            continue
        seen.add(home)
        lines.append(f"{len(seen)}. `{home}`: {match[3]}\n")
    return "".join(lines)


# Families --------------------------------------------------------------------------------------------------------------


@dataclass
class Part:
    """One old module on its way into a family: its text is rewritten already."""

    module: str
    docstring: str
    runtime: list[tuple[str, str]] = field(default_factory=list)  # (statement, comment)
    checking: list[str] = field(default_factory=list)
    exported: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)  # statements that import, if a package is there
    units: list[tuple[str, list[ast.stmt]]] = field(default_factory=list)
    defines: set[str] = field(default_factory=set)
    needs: set[str] = field(default_factory=set)


def split_imports(node: ast.Import | ast.ImportFrom) -> list[str]:
    made = []
    for alias in node.names:
        name = alias.name + (f" as {alias.asname}" if alias.asname else "")
        made.append(f"from {node.module} import {name}" if isinstance(node, ast.ImportFrom) else f"import {name}")
    return made


def needed_at_once(nodes: list[ast.stmt], functions: dict[str, ast.stmt]) -> set[str]:
    """Return the names that statements look up when they are executed, with those of functions that they call."""
    names: set[str] = set()
    visited: set[str] = set()

    def look(node: ast.AST, *, called: bool = False) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for child in [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]:
                if child is not None:
                    look(child)
            if called:
                for child in node.body:
                    look(child)
            return
        if called and isinstance(node, ast.ClassDef):
            for child in node.body:
                if isinstance(child, ast.FunctionDef) and child.name in ("__init__", "__post_init__", "__new__"):
                    look(child, called=True)
            return
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                look(node.value)
            return
        if isinstance(node, ast.Name):
            names.add(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            if node.func.id not in visited:
                visited.add(node.func.id)
                look(functions[node.func.id], called=True)
        for child in ast.iter_child_nodes(node):
            look(child)

    for node in nodes:
        look(node)
    return names


def take_apart(module: str, text: str) -> Part:
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    part = Part(module, ast.get_docstring(tree, clean=False) or "")
    last = 0
    for number, node in enumerate(tree.body):
        first = min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", [])]])
        leading = "".join(lines[last : first - 1])
        body = "".join(lines[first - 1 : node.end_lineno])
        last = node.end_lineno
        if number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                continue
            comment = re.search(r"  (#.*)$", lines[node.end_lineno - 1].rstrip("\n"))
            assert "#" not in leading, f"{module}: a comment above an import is lost: {leading}"
            part.runtime += [(line, comment[1] if comment else "") for line in split_imports(node)]
            continue
        if is_type_checking(node) and not node.orelse and all(
            isinstance(n, (ast.Import, ast.ImportFrom, ast.Pass)) for n in node.body
        ):
            for inner in node.body:
                part.checking += [] if isinstance(inner, ast.Pass) else split_imports(inner)
            continue
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            part.exported = list(ast.literal_eval(node.value))
            continue
        if isinstance(node, (ast.Try, ast.With)) and any(
            isinstance(n, (ast.Import, ast.ImportFrom)) for n in node.body
        ):
            part.early.append(leading + body)
            part.defines |= set(bindings([node]))
            continue
        part.defines |= set(bindings([node]))
        string = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if string and part.units and not leading.strip():
            part.units[-1] = (part.units[-1][0] + leading + body, [*part.units[-1][1], node])
        else:
            part.units.append((leading + body, [node]))
    rest = "".join(lines[last:])
    if rest.strip():
        assert part.units, module
        part.units[-1] = (part.units[-1][0] + rest, part.units[-1][1])
    functions = {node.name: node for _, nodes in part.units for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    part.needs = needed_at_once([node for _, nodes in part.units for node in nodes], functions)
    return part


def in_order(parts: list[Part]) -> list[Part]:
    """Return the parts in their order, each after those that it needs when it is executed."""
    owner = {name: part.module for part in parts for name in part.defines}
    by_name = {part.module: part for part in parts}
    done: list[Part] = []
    underway: list[str] = []

    def put(part: Part) -> None:
        if part in done:
            return
        assert part.module not in underway, f"these need one another at once: {underway}, {part.module}"
        underway.append(part.module)
        for name in sorted(part.needs & set(owner)):
            if owner[name] != part.module:
                put(by_name[owner[name]])
        underway.pop()
        done.append(part)

    for part in parts:
        put(part)
    return done


def heading(part: Part) -> str:
    """Return the docstring of a module as a comment above its part."""
    title = title_of(part.module)
    line = f"# {title} "
    lines = [line + "-" * (DASHES - len(line))]
    words = ast.literal_eval("'''" + "'''") if not part.docstring else part.docstring
    text = inspect_clean(words)
    if text:
        lines.append("#")
        lines += [f"# {row}".rstrip() for row in narrowed(text)]
    return "\n".join(lines) + "\n"


def narrowed(text: str) -> list[str]:
    """Return the lines of a text; paragraphs and list items that are too long for a comment are filled again."""
    import textwrap

    rows: list[str] = []
    for block in re.split(r"(\n\s*\n)", text):
        lines = block.split("\n")
        if not block.strip() or max(map(len, lines)) <= DASHES - 2:
            rows += [""] if not block.strip() else lines
            continue
        # Items of a list begin with a mark; what follows is indented below it.
        items: list[list[str]] = []
        for line in lines:
            if not items or re.match(r"\s*([-*]|\d+\.) ", line):
                items.append([line])
            else:
                items[-1].append(line)
        for item in items:
            if max(map(len, item)) <= DASHES - 2:
                rows += item
                continue
            first = re.match(r"\s*(?:(?:[-*]|\d+\.) +)?", item[0])[0]
            inner = " " * len(first)
            rows += textwrap.wrap(
                " ".join(line.strip() for line in item).removeprefix(first.strip()).strip(),
                DASHES - 2, initial_indent=first, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False,
            )
    return rows


def inspect_clean(text: str) -> str:
    import inspect

    return inspect.cleandoc(text).strip()


def merge(stage: Stage, target: str, sources: list[str], texts: dict[str, str]) -> str:
    """Return the text of a family."""
    parts = [take_apart(source, texts[source]) for source in sources]
    main = parts[0]
    # One family imports a name from one place: from the file, if a part does so.
    direct = {ast_bound(line): line for part in parts for line, _ in part.runtime if line.count(".") == 2 and line.startswith("from kernelrank.")}
    direct |= {ast_bound(line): line for part in parts for line in part.checking if line.count(".") == 2 and line.startswith("from kernelrank.")}

    def one_place(line: str) -> str:
        other = direct.get(ast_bound(line), line)
        if line.startswith("from kernelrank.") and other.startswith(line.split(" import ")[0] + "."):
            return other
        return line

    for part in parts:
        part.runtime = [(one_place(line), comment) for line, comment in part.runtime]
        part.checking = [one_place(line) for line in part.checking]
    # A part whose name another part imports or defines differently is a collision.
    meaning: dict[str, dict[str, str]] = defaultdict(dict)
    for part in parts:
        for line, _ in part.runtime:
            meaning[ast_bound(line)][line] = part.module
        for line in part.checking:
            if any(ast_bound(line) in set(bindings(ast.parse(early).body)) for p in parts for early in p.early):
                continue
            meaning[ast_bound(line)][line] = part.module
        for name in part.defines:
            meaning[name][f"defined in {part.module}"] = part.module
    for name, ways in meaning.items():
        if len(ways) > 1:
            COLLISIONS.append(f"{target}: {name}: {', '.join(sorted(ways))}")
    defined = {name for part in parts for name in part.defines}
    runtime: dict[str, str] = {}
    for part in parts:
        for line, comment in part.runtime:
            if ast_bound(line) not in defined or line.startswith("import "):
                runtime[line] = runtime.get(line) or comment
    checking = [
        line
        for line in dict.fromkeys(line for part in parts for line in part.checking)
        if line not in runtime and ast_bound(line) not in defined
    ]
    original = stage.tree.modules[main.module].text
    docstring_node = stage.tree.modules[main.module].tree.body[0]
    head = texts[main.module].splitlines(keepends=True)
    rewritten = ast.parse(texts[main.module]).body[0]
    pieces = ["".join(head[: rewritten.end_lineno]) if main.docstring else f'"""{target}."""\n']
    assert not original or docstring_node is not None
    pieces.append("\nfrom __future__ import annotations\n\n")
    if checking:
        runtime.setdefault("from typing import TYPE_CHECKING", "")
    pieces += [f"{line}{'  ' + comment if comment else ''}\n" for line, comment in runtime.items()]
    if checking:
        pieces.append("\nif TYPE_CHECKING:\n" + "".join(f"    {line}\n" for line in checking))
    early = [statement for part in parts for statement in part.early]
    pieces += ["\n" + statement for statement in early]
    names = sorted({stage.renamed(part.module, name) for part in parts for name in part.exported})
    if names:
        pieces.append("\n__all__ = [" + ", ".join(f'"{name}"' for name in names) + "]\n")
    for number, part in enumerate(in_order(parts)):
        if len(parts) > 1 and not (number == 0 and part is main):
            pieces.append("\n\n" + (heading(part) if part is not main else heading_of_main(part)))
        pieces += ["\n" + text.lstrip("\n") if number_of == 0 else text for number_of, (text, _) in enumerate(part.units)]
    return "".join(pieces)


def heading_of_main(part: Part) -> str:
    title = title_of(part.module)
    line = f"# {title} "
    return line + "-" * (DASHES - len(line)) + "\n"


COLLISIONS: list[str] = []
MERGED: dict[tuple, str] = {}


@functools.cache
def ast_bound(line: str) -> str:
    node = ast.parse(line).body[0]
    alias = node.names[0]
    return alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else alias.name.split(".")[0])


def runtime_imports(stage: Stage, sources: list[str]) -> set[tuple[str, str]]:
    """Return the definitions of kernelrank that a family imports at its top."""
    found = set()
    for source in sources:
        for node in stage.tree.modules[source].tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kernelrank":
                for alias in node.names:
                    if not alias.asname:
                        found.add(stage.tree.resolve(node.module or "", alias.name))
    return {(module, name) for module, name in found if name is not None}


# Rooms -----------------------------------------------------------------------------------------------------------------


def room_file(stage: Stage, room: str, docstring: str) -> str:
    """Return ``__init__.py`` of a room."""
    names = stage.exports.get(room, {})
    lines = [f'"""{docstring}"""\n']
    if not names:
        return "".join(lines)
    homes = {name: stage.home.get(module, module) for name, (module, _) in names.items()}
    imports = [f"from {dotted(homes[name])} import {name}\n" for name in sorted(names)]
    listed = "\n__all__ = [" + ", ".join(f'"{name}"' for name in sorted(names)) + ",]\n"
    if room in tables.LATE:
        late = stage.home.get("late_names", "late_names")
        lines += ["\nfrom typing import TYPE_CHECKING\n\n", f"from {dotted(late)} import late_names\n"]
        lines += ["\nif TYPE_CHECKING:\n", *[f"    {line}" for line in imports], listed]
        pairs = []
        for name in sorted(names):
            home = homes[name]
            inside = room_of(home) == room
            pairs.append(f'"{name}": "{home.rpartition("/")[2] if inside else dotted(home)}"')
        lines.append("\n__getattr__, __dir__ = late_names(__name__, {" + ", ".join(pairs) + ",})\n")
    else:
        lines += ["\n", *imports, listed]
    return "".join(lines)


def root_file(stage: Stage, text: str) -> str:
    """Return ``__init__.py`` of the package with the homes of its names."""
    text = rewrite(stage, text, module="__init__")
    tree = ast.parse(text)
    out = Text(text)
    hit = False
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            hit = True
            rows = []
            for name, old in ast.literal_eval(node.value).items():
                module, inner = stage.tree.resolve(f"kernelrank.{old}", name)
                assert inner is not None
                home = stage.home.get(module, module)
                room = room_of(home)
                place = room if name in stage.exports.get(room, {}) else home
                rows.append(f'    "{name}": "{place.replace("/", ".")}",\n')
            out.replace(node, "_HOMES = {\n" + "".join(rows) + "}")
    assert hit
    return out.result()


# A stage ---------------------------------------------------------------------------------------------------------------


def test_moves(stage: Stage, files: dict[str, str]) -> dict[str, str]:
    """Return the new places of tests: beside the tests of the room that their module has come to."""
    moves: dict[str, str] = {}
    for path in files:
        if not path.startswith("tests/") or not path.endswith(".py"):
            continue
        inner = path.removeprefix("tests/")
        if inner in tables.TEST_MOVES:
            room, new = tables.TEST_MOVES[inner]
            if room in stage.reached:
                moves[inner] = new
            continue
        name = inner.rpartition("/")[2]
        if not name.startswith("test_"):
            continue
        folder = room_of(inner)
        stem = name.removeprefix("test_").removesuffix(".py")
        for candidate in (f"{folder}/{stem}".lstrip("/"), tables.TESTED.get(inner, "")):
            if candidate in stage.home and stage.home[candidate] == stage.final[candidate]:
                room = room_of(stage.home[candidate])
                if room and room != folder and room in stage.reached:
                    moves[inner] = f"{room}/{name}"
                break
    return moves


def build(stage: Stage) -> dict[str, str]:
    """Return all files of a stage."""
    files = stage.tree.files
    tests = test_moves(stage, files)
    made: dict[str, str] = {}
    texts: dict[str, str] = {}
    patched = {path: patch(stage, path, text) for path, text in files.items()}
    for target, sources in stage.families.items():
        runtime = runtime_imports(stage, sources)
        for source in sources:
            old = patched[PACKAGE + source + ".py"]
            if room_of(source) in tables.HOISTED and room_of(target) in stage.reached:
                old = hoisted(old)
            new = rewrite(stage, old, module=source, runtime=runtime)
            texts[source] = narrow_lines(move_strings(stage, point_inside(stage, new, source), code=True))
        if len(sources) == 1:
            made[f"{PACKAGE}{target}.py"] = texts[sources[0]]
        else:
            key = (target, *(texts[source] for source in sources), tuple(stage.home[source] == stage.final[source] for source in sources))
            if key not in MERGED:
                MERGED[key] = merge(stage, target, sources, texts)
            made[f"{PACKAGE}{target}.py"] = MERGED[key]
    rooms = {room_of(target) for target in stage.families} - {""}
    for path, text in patched.items():
        if path.startswith(PACKAGE) and path.endswith(".py"):
            module = path.removeprefix(PACKAGE).removesuffix(".py")
            if module in stage.home:
                continue
            if module == "__init__":
                made[path] = root_file(stage, text)
            elif module.endswith("__init__") and module != "cli/__init__":
                room = room_of(module)
                if room not in rooms:
                    continue
                docstring = tables.ROOMS.get(room) if room in stage.reached else None
                docstring = docstring or ast.get_docstring(ast.parse(text), clean=False) or ""
                if room == "dask":
                    made[path] = move_strings(stage, rewrite(stage, text, module=module), code=True)
                elif set(stage.exports.get(room, {})) == set(exported(ast.parse(text))) and room not in tables.LATE:
                    made[path] = move_strings(stage, rewrite(stage, text, module=module), code=True)
                else:
                    made[path] = room_file(stage, room, docstring)
            else:
                made[path] = move_strings(stage, rewrite(stage, text, module=module), code=True)
            continue
        new = path
        if path.startswith("tests/") and path.removeprefix("tests/") in tests:
            new = "tests/" + tests[path.removeprefix("tests/")]
        if path.endswith(".py"):
            text = move_strings(stage, rewrite(stage, text, module=None), code=True)
            text = narrow_lines(move_paths(stage, text, tests))
            for old_test, new_test in tests.items() if "tests." in text or path.startswith("tests/") else ():
                if path == "tests/conftest.py":
                    text = text.replace(f'"{old_test}"', f'"{new_test}"')
                old_name, new_name = (f"tests.{t.removesuffix('.py').replace('/', '.')}" for t in (old_test, new_test))
                text = re.sub(rf"\b{re.escape(old_name)}\b", new_name, text)
                depth = new_test.count("/") - old_test.count("/")
                if path == f"tests/{old_test}" and depth:
                    text = re.sub(r"(__file__\)(?:\.resolve\(\))?\.parents\[)(\d)(\])", lambda m: f"{m[1]}{int(m[2]) + depth}{m[3]}", text)
                    text = re.sub(r"(__file__\))\.parent\b(?!s)", lambda m: f"{m[1]}.parents[{depth}]", text)
        elif not path.startswith("docs/studies/results") and path != "CHANGELOG.md":
            text = move_markdown(stage, text)
            text = move_paths(stage, text, tests)
            if path.endswith(".rst"):
                text = move_entries(stage, text)
            if path == "docs/architecture.md":
                text = move_walks(stage, text)
        made[new] = text
    for room in rooms:
        path = f"{PACKAGE}{room}/__init__.py"
        if path not in made:
            made[path] = room_file(stage, room, tables.ROOMS[room])
    for path, after, name in tables.NEW_FILES:
        if after in stage.reached:
            made[path] = (HERE / "new" / name).read_text(encoding="utf-8")
    return made


def patch(stage: Stage, path: str, text: str) -> str:
    for after, where, pattern, new in tables.PATCHES:
        if where == path and (after in stage.reached or not after):
            text, count = re.subn(pattern, new, text)
            assert count >= 1, f"the patch of {where} does not hit: {pattern}"
    return text


def move_entries(stage: Stage, text: str) -> str:
    """Return a page of the reference with its entries ``file.Name`` moved; say which names have left the module."""
    package = "kernelrank"
    lines = []
    for line in text.split("\n"):
        if line.startswith(".. currentmodule::"):
            package = line.split("::")[1].strip()
        match = re.fullmatch(r"   (?:([\w.]+)\.)?(\w+)", line)
        if match and package != "kernelrank.errors":
            module = f"{package}.{match[1]}" if match[1] else package
            if stage.tree.module_named(module) is not None:
                home, name = stage.tree.resolve(module, match[2])
                old = stage.tree.module_named(module) or ""
                if name and not old.endswith("__init__"):
                    place = dotted(stage.home.get(home, home))
                    assert place.startswith(package), f"{line.strip()} is in {place}, not in {package}"
                    line = f"   {place.removeprefix(package + '.')}.{stage.renamed(home, name)}"
                elif name and old != "__init__" and name not in stage.exports.get(room_of(old), {}):
                    print(f"!!! the reference names {module}.{name}, which is in {stage.home.get(home, home)} now")
        lines.append(line)
    return "\n".join(lines)


IMPORT_LINE = re.compile(r"^([> .]*)from (kernelrank[\w.]*) import (\(?[\w, ]+\)?)$", flags=re.MULTILINE)


def move_markdown(stage: Stage, text: str) -> str:
    """Return a page with the imports of its examples and the names of modules moved."""

    def moved(match: re.Match[str]) -> str:
        lines: dict[str, list[str]] = defaultdict(list)
        package = stage.tree.module_named(match[2])
        if package is None:
            return match[0]
        for name in match[3].strip("()").split(","):
            name, _, other = name.strip().partition(" as ")
            try:
                home, inner = stage.tree.resolve(match[2], name)
            except LookupError:
                return match[0]
            if inner is None:
                return match[0]
            place = stage.place(home, inner, of_package=package.endswith("__init__"), context=None, old_package=room_of(package))
            lines[place].append(stage.renamed(home, inner) + (f" as {other}" if other else ""))
        return "\n".join(f"{match[1]}from {place} import {', '.join(names)}" for place, names in lines.items())

    return move_strings(stage, IMPORT_LINE.sub(moved, text), code=True)


# Files and commits -----------------------------------------------------------------------------------------------------


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"git {' '.join(arguments[:3])}: {done.stderr}"
    return done.stdout


def read_tree(root: Path) -> dict[str, str]:
    files = {}
    for path in git(root, "ls-files").splitlines():
        file = root / path
        if file.suffix in TEXT and file.is_file():
            try:
                files[path] = file.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
    return files


class Writer:
    """Writes stages to a checkout, formatted; what was formatted once is remembered."""

    def __init__(self, root: Path, original: dict[str, str]) -> None:
        self.root, self.original = root, original
        self.now = dict(original)
        self.formatted: dict[tuple[str, str], str] = {}

    def write(self, made: dict[str, str]) -> None:
        fresh = []
        for path in set(self.now) - set(made):
            (self.root / path).unlink(missing_ok=True)
            parent = (self.root / path).parent
            while parent != self.root and not any(p.name != "__pycache__" for p in parent.iterdir()):
                for junk in parent.glob("__pycache__/*"):
                    junk.unlink()
                for junk in parent.glob("__pycache__"):
                    junk.rmdir()
                parent.rmdir()
                parent = parent.parent
        for path, text in made.items():
            if text == self.original.get(path):
                final = text
            elif (path, text) in self.formatted:
                final = self.formatted[path, text]
            else:
                final = text
                if path.endswith(".py"):
                    fresh.append((path, text))
            if self.now.get(path) != final or (path, text) in fresh:
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                (self.root / path).write_text(final, encoding="utf-8")
        names = [path for path, _ in fresh]
        if names:
            subprocess.run(
                [RUFF, "check", "-q", "--fix", "--unfixable", "F841", "--select", "I,F401,F811,RUF022,W", *names],
                cwd=self.root, check=False, stdout=subprocess.DEVNULL,
            )
            subprocess.run([RUFF, "format", "-q", *names], cwd=self.root, check=True)
        for path, text in fresh:
            self.formatted[path, text] = (self.root / path).read_text(encoding="utf-8")
        self.now = {
            path: self.formatted.get((path, text), text) if path.endswith(".py") else text for path, text in made.items()
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--flat", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    root = options.checkout.resolve()
    families, rooms = read_mapping((HERE / "mapping.txt").read_text(encoding="utf-8"))
    files = read_tree(root)
    tree = Tree(files)
    mapped = [source for sources in families.values() for source in sources]
    assert len(mapped) == len(set(mapped)), "a module is mapped twice"
    real = {m for m in tree.modules if m.rpartition("/")[2] not in ("__init__", "__main__")}
    missing, gone = real - set(mapped), set(mapped) - real
    for module in sorted(missing):
        print(f"!!! NOT IN THE MAPPING: {module} ({len(tree.modules[module].text.splitlines())} lines); it stays where it is")
    for module in sorted(gone):
        print(f"!!! in the mapping, but not in the tree: {module}")
    for sources in families.values():
        sources[:] = [source for source in sources if source not in gone]
    families = {target: sources for target, sources in families.items() if sources}
    for module in sorted(missing):
        families[module] = [module]
    final = {source: target for target, sources in families.items() for source in sources}

    def stage_of(reached: list[str], half: str | None) -> Stage:
        now: dict[str, list[str]] = {}
        alone: list[str] = []
        for target, sources in families.items():
            room = room_of(target) or "(root)"
            if room in reached or target in missing:
                now[target] = list(sources)
            elif room == half:
                kept = [sources[0]]
                if target in real and target != sources[0]:  # another file stands where the main file goes
                    if target not in sources:
                        alone += sources
                        continue
                    kept.append(target)
                now[target] = kept
                alone += [source for source in sources if source not in kept]
            else:
                alone += sources
        for source in alone:
            assert source not in now, f"two files would be {source}"
            now[source] = [source]
        return Stage(tree, now, final, set(reached))

    order = list(rooms)
    if options.flat or options.check:
        made = build(stage_of(order, None))
        for line in sorted(set(COLLISIONS)):
            print("collision:", line)
        if not options.check:
            Writer(root, files).write(made)
        return
    assert not git(root, "status", "--porcelain"), "the checkout has changes that are not committed"
    writer = Writer(root, files)
    start = time.perf_counter()
    reached: list[str] = []

    def commit(subject: str, body: str) -> None:
        git(root, "add", "-A")
        if git(root, "status", "--porcelain"):
            assert len(subject) <= 72, subject
            git(root, "commit", "-q", "--no-verify", "-m", subject, "-m", body)
            print(f"{time.perf_counter() - start:5.0f} s  {subject}", flush=True)

    for room in order:
        moved = [t for t in rooms[room] if t in families and families[t][0] != t]
        if moved:
            writer.write(build(stage_of(reached, room)))
            commit(
                tables.subject(room, "main files take their new names"),
                "Only renamed, with the imports of the rest, so that git follows them:\n\n"
                + "\n".join(f"{families[t][0]} -> {t}" for t in moved),
            )
        reached.append(room)
        writer.write(build(stage_of(reached, None)))
        folded = [t for t in rooms[room] if t in families and len(families[t]) > 1]
        commit(
            tables.subject(room, tables.FOLDED.get(room, "families as files")),
            "A file is a family: a subject that a reader looks up.\n\n"
            + "\n".join(f"{t} <- {', '.join(families[t])}" for t in folded),
        )
    for line in sorted(set(COLLISIONS)):
        print("collision:", line)


if __name__ == "__main__":
    main()

"""scikit-learn's private names stand in one module."""

from __future__ import annotations

import re
from pathlib import Path

import kernelrank

PRIVATE = re.compile(r"from sklearn(\.\w+)*\._\w+|from sklearn[\w.]* import [^\n]*\b_[a-z]|sklearn(\.\w+)*\._[a-z]")


def test_private_names_of_scikit_learn_stand_in_one_module():
    package = Path(kernelrank.__file__).parent
    found = [path for path in package.rglob("*.py") if PRIVATE.search(path.read_text(encoding="utf-8"))]
    assert [path.relative_to(package).as_posix() for path in found] == ["base/sklearn_private.py"]

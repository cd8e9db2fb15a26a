"""The graph that docs/extend/add_a_graph.md shows keeps the laws that it says it keeps."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from kernelrank.testing import ComparisonLaws
from tests.oracles.pairs import Edges

PAGE = Path(__file__).parents[2] / "docs" / "extend" / "add_a_graph.md"


def documented_class():
    block = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block.group(1), str(PAGE), "exec"), names)
    return names["AgainstControl"]


AgainstControl = documented_class()


def draw(seed):
    rng = np.random.default_rng(seed)
    control = int(rng.integers(12))
    others = np.setdiff1d(np.arange(12), [control])[: 6 + seed]
    return 12, control, others, rng.standard_normal((len(others), 1))


class TestAgainstControl(ComparisonLaws):
    blocks_of = "kernelrank.comparisons.scored"

    def graph(self, seed):
        return AgainstControl(*draw(seed))

    def edges(self, seed):
        m, control, others, advantage = draw(seed)
        return Edges(m, others, np.full(len(others), control), advantage[:, 0], np.ones(len(others)))

    def test_without_the_control_nothing_is_compared(self, seed):
        m, control, others, advantage = draw(seed)
        smaller = AgainstControl(m, control, others, advantage).without(np.array([control]))
        assert smaller.n_pairs == 0
        assert not smaller.apply(np.eye(m - 1)).any()

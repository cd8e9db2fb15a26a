"""The pictures of a selection: what is drawn is what was found."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.errors import InvalidInputError
from kernelrank.model_selection import PermutationTest
from kernelrank.report import SelectionDisplay
from kernelrank.selection import SelectionCurve, SelectionStability

pytest.importorskip("matplotlib")


def test_a_curve_shows_both_accuracies_and_the_band():
    nested = np.array([0.6, 0.8, 0.7])
    curve = SelectionCurve(
        (4, 2, 9), nested, nested + 0.1, nested, nested - 0.1, nested + 0.05, 0.95, "", "AUC", "folds"
    )
    ax = SelectionDisplay(curve).plot().ax_
    np.testing.assert_allclose(ax.lines[0].get_ydata(), nested)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), nested + 0.1)
    assert len(ax.collections) == 1
    assert ax.get_ylabel() == "AUC"


def test_stability_shows_the_most_frequent_features():
    found = SelectionStability(("a", "b" * 40, "c"), np.array([1.0, 0.7, 0.2]), 2.0, 100, 50)
    ax = SelectionDisplay(found, n_shown=2, threshold=0.75).plot().ax_
    assert [bar.get_width() for bar in ax.patches] == [1.0, 0.7]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b" * 31 + "…"]
    assert "0.08 false ones" in ax.get_legend().get_texts()[0].get_text()


def test_permutations_show_the_observed_value():
    ax = (
        SelectionDisplay(PermutationTest(0.9, np.linspace(0.3, 0.7, 40), 0.024, "folds accuracy", "all items"))
        .plot()
        .ax_
    )
    assert sum(bar.get_height() for bar in ax.patches) == 40
    assert ax.lines[0].get_xdata()[0] == 0.9


def test_other_results_are_refused():
    with pytest.raises(InvalidInputError, match="got str"):
        SelectionDisplay("curve")

"""The page of the four settings, and their forest plot."""

from __future__ import annotations

import pytest

from kernelrank.errors import InvalidInputError
from kernelrank.metrics import DyadicConcordance, Interval
from kernelrank.report import ForestDisplay, dyads_report
from tests.report.pages import dyads_page

FOUND = DyadicConcordance(0.8, Interval(0.7, 0.9, 0.9, "rows and columns vary"), "overall", 1234)


def test_settings_stand_in_their_order_whatever_the_order_of_the_mapping():
    html = dyads_report({"both": FOUND, "cell": FOUND}).html
    assert html.index("new score") < html.index("both new")
    assert "new column" not in html
    assert "90% interval" in html
    assert "of each row" not in html


def test_a_setting_no_better_than_chance_is_a_warning():
    html = dyads_page().html
    assert html.count("includes 0.5") == 1
    assert "“both new” includes 0.5, from 0.420 to 0.670" in html
    assert "20 rows and 15 columns have 300 known scores" in html


@pytest.mark.parametrize(("given", "said"), [({}, "got none"), ({"cells": FOUND}, "got cells")])
def test_other_settings_are_refused(given, said):
    with pytest.raises(InvalidInputError, match=said):
        dyads_report(given)


def test_a_forest_of_concordances_says_so():
    display = ForestDisplay([("cell", FOUND)]).plot()
    assert display.ax_.get_xlabel() == "concordance"

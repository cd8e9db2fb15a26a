"""Columns: the readers of items take one request, and say so in their signatures."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

from kernelrank.data import read_item_chunks, read_items, read_table
from kernelrank.data.table import ColumnOptions, ColumnRequest

FIELDS = {field.name: field for field in dataclasses.fields(ColumnRequest) if field.name != "numbers_only"}


def test_options_are_the_fields_of_the_request():
    types = {name: kind.__forward_arg__ for name, kind in ColumnOptions.__annotations__.items()}
    assert types == {name: field.type for name, field in FIELDS.items()}


@pytest.mark.parametrize("reader", [read_items, read_item_chunks, read_table])
def test_signatures_list_them_with_their_defaults(reader):
    parameters = inspect.signature(reader).parameters
    assert {name: parameters[name].default for name in FIELDS} == {name: one.default for name, one in FIELDS.items()}
    assert all(one.kind is not one.VAR_KEYWORD for one in parameters.values())
    for name in FIELDS:
        assert name in (inspect.getdoc(reader) or ""), name


@pytest.mark.parametrize("reader", [read_items, read_item_chunks, read_table])
def test_another_keyword_is_an_error(reader, tmp_path):
    (tmp_path / "a.csv").write_text("y,x\n1,2\n")
    with pytest.raises(TypeError, match="targte"):
        reader(tmp_path / "a.csv", targte="y")

"""Decimals: a number is what Python's ``float`` reads, without its liberties."""

from __future__ import annotations

import pytest

from kernelrank.data.text import read_decimal


@pytest.mark.parametrize("token", [b"", b"1_0", "١".encode(), b"0x1p3", b"1e", b"one", b" 1", b"1 ", b"nano", b"1\n"])
def test_no_numbers(token):
    assert read_decimal(token) is None


@pytest.mark.parametrize("token", ["1", "+1.", "-.5", "1e22", "9007199254740993", "4.35E-7", "Inf", "-infinity"])
def test_numbers(token):
    assert read_decimal(token.encode()) == float(token)

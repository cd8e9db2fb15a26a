"""Decimals: every token is read as Python reads it, to the last bit, or left to Python."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernelrank.data.text import powers_of_ten, read_decimal, read_decimals


def read_all(tokens):
    text = b" ".join(token.encode() for token in tokens) + b" "
    lengths = np.array([len(token.encode()) for token in tokens], dtype=np.int32)
    ends = (np.cumsum(lengths + 1) - 1).astype(np.int32)
    return read_decimals(np.frombuffer(text, dtype=np.uint8), ends - lengths, ends, powers_of_ten())


def bits(value):
    return struct.pack("d", value)


def check(tokens):
    values, certain = read_all(tokens)
    for token, value, sure in zip(tokens, values, certain, strict=True):
        if sure:
            assert read_decimal(token.encode()) is not None, token
            assert bits(value) == bits(float(token)), token
    return certain


@pytest.mark.parametrize("form", ["{!r}", "{:.6f}", "{:.15g}", "{:.17g}", "{:.18e}", "{:.3e}", "{:+.9f}"])
def test_what_programs_write_is_read_without_python(form):
    generator = np.random.default_rng(0)
    values = generator.standard_normal(3000) * 10.0 ** generator.uniform(-30, 9, 3000)
    assert check([form.format(value) for value in values.tolist()]).mean() > 0.999


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False).map(repr), min_size=1, max_size=20))
@settings(deadline=None)
def test_any_float(tokens):
    check(tokens)


@given(st.lists(st.from_regex(r"[+-]?[0-9]{0,22}\.?[0-9]{0,22}([eE][+-]?[0-9]{0,5})?", fullmatch=True), max_size=20))
@example(["9007199254740993", "9007199254740992.99999999", "18446744073709551615", "9999999999999999999"])
@example(["1e22", "1e23", "9007199254740991e22", "9007199254740993e-22", "1e-400", "1e400", "4.35", "0.000001"])
@settings(deadline=None)
def test_any_decimal(tokens):
    check(tokens)


def test_halfway_cases_are_left_to_python():
    middle = [2**54 + 2 + 4 * i for i in range(50)]  # exactly between two floats
    assert not check([str(m) for m in middle]).any()
    assert check([str(m + 1) for m in middle]).all()


@given(st.lists(st.text("0123456789.eE+-_infaINF ", max_size=6).filter(lambda t: " " not in t), max_size=20))
@example(["", "-", ".", "+.", "e5", "1e", "1e+", "-.e1", "1_0", "0x10", "--1", "1.2.3", "١"])
@settings(deadline=None)
def test_what_is_no_number_is_never_certain(tokens):
    check(tokens)


@pytest.mark.parametrize("token", [b"", b"1_0", "١".encode(), b"0x1p3", b"1e", b"one", b" 1", b"1 ", b"nano", b"1\n"])
def test_no_numbers(token):
    assert read_decimal(token) is None


def test_powers_of_ten_to_twice_the_precision():
    from fractions import Fraction

    for row, (high, low) in enumerate(powers_of_ten().tolist()):
        power = Fraction(10) ** (row - 60)
        assert abs(Fraction(high) + Fraction(low) - power) <= power * Fraction(1, 2**106)

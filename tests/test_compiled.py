"""Compiled loops: Ctrl-C is Ctrl-C, whatever numba makes of it."""

import pytest

from kernelrank.compiled import compiled


@pytest.mark.parametrize(("cause", "expected"), [(KeyboardInterrupt(), KeyboardInterrupt), (None, SystemError)])
def test_an_interrupted_dispatch(monkeypatch, cause, expected):
    # numba's dispatcher returns a result although Ctrl-C has set an exception; Python then raises this.
    monkeypatch.setattr("numba.njit", lambda **_: lambda function: function)

    @compiled
    def loop():
        raise SystemError("returned a result with an exception set") from cause

    with pytest.raises(expected):
        loop()

"""Compiled loops: Ctrl-C is Ctrl-C, whatever numba makes of it, and compiling is measured."""

import numpy as np
import pytest

from kernelrank.base.compiled import compile_seconds, compiled


@pytest.mark.parametrize(("cause", "expected"), [(KeyboardInterrupt(), KeyboardInterrupt), (None, SystemError)])
def test_an_interrupted_dispatch(monkeypatch, cause, expected):
    # numba's dispatcher returns a result although Ctrl-C has set an exception; Python then raises this.
    monkeypatch.setattr("numba.njit", lambda **_: lambda function: function)

    @compiled
    def loop():
        raise SystemError("returned a result with an exception set") from cause

    with pytest.raises(expected):
        loop()


def test_what_was_compiled_is_measured(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    def loop(values):
        return values[0]

    loop.__module__ = "kernelrank.of_a_test"
    measured = compiled(loop)
    assert "kernelrank.of_a_test.loop" not in compile_seconds()
    assert measured(np.ones(1)) == 1.0
    once = compile_seconds()["kernelrank.of_a_test.loop"]
    assert once > 0.0
    measured(np.ones(1))
    assert compile_seconds()["kernelrank.of_a_test.loop"] == once

"""A bar on a terminal, silence elsewhere, and nothing left of it after an error."""

from __future__ import annotations

import sys
import threading
from contextlib import closing

import pytest

from kernelrank.progress import track


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Return what makes standard error a terminal when a test begins, and what then reads what was shown."""

    def begin():
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "150")
        return lambda: capsys.readouterr().err

    return begin


@pytest.mark.parametrize("total", [7, None])
def test_the_bar_counts_what_the_steps_hold(terminal, total):
    shown = terminal()
    steps = [[1, 2, 3], [4], [5, 6, 7]]
    assert list(track(steps, total, "reading", size=len, noun="rows")) == steps
    text = shown()
    assert "reading" in text
    assert ("7 of 7 rows" if total else "7 rows") in text


def test_steps_count_one_each(terminal):
    shown = terminal()
    assert list(track("abc", 3, "spelling")) == ["a", "b", "c"]
    assert "3 of 3 steps" in shown()


def test_a_single_step_has_no_bar(terminal):
    shown = terminal()
    assert list(track("a", 1, "spelling")) == ["a"]
    assert shown() == ""


def test_silence_without_a_terminal(capsys):
    assert list(track("abc", None, "spelling")) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")


def test_silence_without_rich(terminal, monkeypatch):
    shown = terminal()
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert list(track("abc", 3, "spelling")) == ["a", "b", "c"]
    assert shown() == ""


@pytest.mark.parametrize("inside", [True, False], ids=["in the steps", "in the work"])
def test_an_interrupt_ends_the_drawing(terminal, inside):
    shown = terminal()

    def steps():
        yield 1
        if inside:
            raise KeyboardInterrupt
        yield 2

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt) as caught, closing(track(steps(), None, "working")) as bar:  # noqa: PT012
        for step in bar:
            drawing = set(threading.enumerate()) - before
            assert drawing
            if step == 2:
                raise KeyboardInterrupt
    for thread in drawing:
        thread.join(5)  # with the traceback, and so the loop's frame, still alive
        assert not thread.is_alive(), caught.traceback
    assert shown().endswith("\x1b[2K")

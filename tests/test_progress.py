"""A bar on a terminal, silence elsewhere, and nothing left of it after an error."""

from __future__ import annotations

import multiprocessing
import re
import sys
import threading
from contextlib import closing

import pytest

from kernelrank.progress import _DISPLAY, end_display, track, working


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


def lines_of(shown):
    """The lines that the display ever drew, without what moves the cursor and colours."""
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown))


@pytest.mark.parametrize("columns", [20, 80, 110])
def test_a_bar_is_one_line_that_leaves_room_for_an_echo(terminal, monkeypatch, columns):
    shown = terminal()
    monkeypatch.setenv("COLUMNS", str(columns))
    name = "a description that is much longer than what a narrow terminal has room for beside a bar"
    list(track(range(3), 12_345_678, name, noun="held-out pairs"))
    lines = [line.rstrip() for line in lines_of(shown())]
    assert max(map(len, lines)) <= columns - 3
    if columns > 20:
        assert any("of 12,345,678 held-out pairs" in line and "a description" in line for line in lines)


def test_a_wait_gives_way_to_the_bar_inside_and_comes_back(terminal):
    shown = terminal()
    with working("waiting"):
        assert "waiting" in shown()
        bar = track("abc", 3, "spelling")
        next(bar)
        drawn = shown()
        assert "spelling" in drawn
        assert "waiting" not in drawn
        list(bar)
        shown()
        _DISPLAY._progress.refresh()
        drawn = shown()
        assert "waiting" in drawn
        assert "spelling" not in drawn
    assert _DISPLAY.console is None


def test_bars_inside_bars_share_the_display(terminal):
    shown = terminal()
    before = threading.active_count()
    for _ in track("ab", 2, "outer"):
        for _ in track("abc", 3, "inner"):
            assert threading.active_count() == before + 1
            _DISPLAY._progress.refresh()
            assert {"outer", "inner"} <= {word for line in lines_of(shown()) for word in line.split()[:1]}
    assert _DISPLAY.console is None


def test_an_error_ends_a_display_whose_loop_is_not_closed(terminal):
    shown = terminal()
    bar = track("abc", 3, "spelling")
    next(bar)
    end_display()
    shown()
    assert list(bar) == ["b", "c"]
    assert shown() == ""


def test_processes_that_work_for_another_draw_nothing(terminal, monkeypatch):
    shown = terminal()
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    with working("waiting"):
        list(track("abc", 3, "spelling"))
    assert shown() == ""

"""What is written to a terminal: nothing of the data that it would obey."""

import io
import json
import sys
import unicodedata

import pytest

from kernelrank.base.progress import track
from kernelrank.base.text import OBEYED, escaped_json, printable
from kernelrank.data.text import opened_output
from kernelrank.errors import InvalidInputError

EVIL = "\x1b]0;evil\x07\x9b31m\u202egnp.exe\x00\r\n"

DIRECTIONS = ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")


class FakeTerminal(io.TextIOWrapper):
    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", newline="")

    def isatty(self):
        return True

    def written(self):
        self.flush()
        return self.buffer.getvalue().decode()


def test_every_control_character_is_escaped():
    for point in range(0x110000):
        character = chr(point)
        kind = unicodedata.category(character)
        directed = unicodedata.bidirectional(character) in (
            "LRE",
            "RLE",
            "PDF",
            "LRO",
            "RLO",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )
        if kind in ("Cc", "Cs", "Zl", "Zp") or directed:
            assert OBEYED.fullmatch(character), hex(point)
        elif kind[0] in "LNPS" or character in " \u200d":
            assert not OBEYED.fullmatch(character), hex(point)


def test_printable():
    assert printable(EVIL) == r"\x1b]0;evil\x07\x9b31m\u202egnp.exe\x00\r\n"
    assert printable("a\tb\n", lines=True) == "a\tb\n"
    assert printable("Grüße, 東京 👩‍🔬") == "Grüße, 東京 👩‍🔬"


def test_json_stays_the_same_value():
    text = json.dumps({EVIL: [EVIL]}, indent=2, ensure_ascii=False)
    assert json.loads(escaped_json(text)) == {EVIL: [EVIL]}
    assert not OBEYED.search(escaped_json(text).replace("\n", ""))


def test_data_on_standard_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", FakeTerminal())
    with opened_output("-") as file:
        file.write(f"id\tscore\na{EVIL[:-2]}\t1\n".encode())
    assert sys.stdout.written() == "id\tscore\na" + printable(EVIL[:-2]) + "\t1\n"
    with pytest.raises(InvalidInputError, match="cannot be shown in a terminal"), opened_output("-") as file:
        file.write(b"PAR1\xff\xfe")


def test_a_pipe_gets_every_byte(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    with opened_output("-") as file:
        file.write(EVIL.encode() + b"\xff")
    assert sys.stdout.buffer.getvalue() == EVIL.encode() + b"\xff"


def test_closed_standard_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(InvalidInputError, match="standard output is closed"), opened_output("-"):
        pass


def test_progress(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", FakeTerminal())
    assert list(track(range(3), 3, f"reading [bold]{EVIL}")) == [0, 1, 2]
    written = sys.stderr.written()
    assert r"[bold]\x1b]0;evil" in written
    assert "\x1b]0;evil" not in written
    assert "\u202e" not in written


def test_progress_without_standard_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert list(track(range(3), 3, "counting")) == [0, 1, 2]

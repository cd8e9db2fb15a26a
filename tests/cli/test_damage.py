"""Damaged files: refused with their place and exit code 1, or read; never a traceback, never a model left behind."""

from __future__ import annotations

import pytest

from tests.data.damage import FORMATS, damages, whole

# Tabs and commas are read by the same code, which its own tests see with both.
PREPARED = {
    "csv-UTF-16",
    "csv-a name twice",
    "csv-a name missing",
    "csv-a target missing",
    "parquet-text for a number",
    "parquet-dates",
    "parquet-nothing known",
    "parquet-a target missing",
    "votes-no judge",
}
"""What the command reads all the same, and says so: columns are renamed, prepared or left out, rows left out."""
DAMAGES = {format: damages(format) for format in FORMATS if format != "tsv"}


def arguments(format: str, path, folder) -> list[object]:
    """A command that reads a file of this format."""
    if format in ("pairs", "votes"):
        items = folder / "items.csv"
        items.write_text("id,f\n" + "".join(f"d{number},{number}\n" for number in range(30)))
        return ["fit", items, "--pairs", path, "-o", folder / "model.kr"]
    if format in ("run", "qrels"):
        other = folder / "other.txt"
        other.write_bytes(whole("qrels" if format == "run" else "run"))
        return ["evaluate", path, other] if format == "run" else ["evaluate", other, path]
    return ["fit", path, "-o", folder / "model.kr", "--missing", "error"]


@pytest.mark.parametrize("format", DAMAGES)
def test_damaged_files(format, run, tmp_path):
    refused = 0
    for number, damage in enumerate(DAMAGES[format]):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / f"file{damage.suffix}"
        path.write_bytes(damage.data)
        words = arguments(format, path, folder)
        before = set(folder.iterdir())
        ended = run(*words, code=None)
        left = {file.name for file in folder.iterdir()} - {file.name for file in before}
        if ended.code == 0:
            assert damage.verdict != "refused" or damage.name in PREPARED, damage.name
            assert left == ({"model.kr"} if words[0] == "fit" else set()), damage.name
            continue
        assert ended.code == 1, (damage.name, ended)
        # What can be read may still have nothing to compare; the message names the file then, too.
        assert damage.verdict != "read", (damage.name, ended.err)
        message = [line for line in ended.err.splitlines() if line.startswith("kernelrank: ")]
        assert len(message) == 1, (damage.name, ended.err)
        assert str(folder) in message[0], (damage.name, ended.err)
        assert "unexpected error" not in ended.err, (damage.name, ended.err)
        assert not left, damage.name
        assert ended.out == "", damage.name
        refused += 1
    assert refused >= 20


def test_there_are_two_hundred():
    assert sum(map(len, DAMAGES.values())) >= 200

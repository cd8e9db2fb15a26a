"""Atomic writes: all or nothing."""

from __future__ import annotations

import os
import re
import threading

import pytest

from kernelrank.data.text import opened_output
from kernelrank.persistence.atomic import atomic_write, is_stream


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_write_leaves_no_trace(tmp_path, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write():
        with atomic_write(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_is_there_until_the_end(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("write", [atomic_write, opened_output])
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_to_and_stays(tmp_path, write, linked):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    path = tmp_path / "link" if linked else pipe
    if linked:
        path.symlink_to(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with write(path) as file:
        file.write(b"new")
        assert read == []
    reader.join()
    assert read == [b"new"]
    assert pipe.is_fifo()
    assert is_stream(path)


def test_when_it_cannot_be_renamed(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"), atomic_write(tmp_path / "folder") as file:
        file.write(b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_a_missing_folder_is_the_operating_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "no" / "file"):
        pass


def test_two_writers_leave_each_other_alone(tmp_path):
    with atomic_write(tmp_path / "first") as first:
        first.write(b"first")
        with atomic_write(tmp_path / "second") as second:
            second.write(b"second")
    assert (tmp_path / "first").read_bytes() == b"first"
    assert (tmp_path / "second").read_bytes() == b"second"


def test_many_writers_at_once(tmp_path):
    def write(name):
        for number in range(20):
            with atomic_write(tmp_path / name) as file:
                file.write(f"{name} {number}".encode())

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {place.name: place.read_text() for place in tmp_path.iterdir()} == {name: f"{name} 19" for name in "abcd"}


@pytest.mark.parametrize("write", [atomic_write, opened_output])
def test_a_link_to_itself(tmp_path, write):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises((OSError, ValueError), match=r"[Tt]oo many levels|points to itself"), write(tmp_path / "a"):
        pass
    assert (tmp_path / "a").is_symlink()


def test_an_error_names_the_file_and_not_its_temporary(tmp_path):
    for path in (tmp_path / "missing" / "model.kr", tmp_path):
        with pytest.raises(OSError, match=re.escape(f"'{path}'")) as raised, atomic_write(path):
            pass
        assert ".kernelrank-" not in str(raised.value)

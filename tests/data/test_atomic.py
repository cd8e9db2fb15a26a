"""Atomic writes: all or nothing."""

from __future__ import annotations

import os
import threading

import pytest

from kernelrank.data.atomic import atomic_write, is_stream
from kernelrank.data.sink import opened_sink


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


@pytest.mark.parametrize("write", [atomic_write, opened_sink])
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

"""A PostgreSQL server for tests, where Debian's or another installation is found."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import socket
import subprocess

import pytest


@contextlib.contextmanager
def server():
    """Start a server on a free port of this machine, and yield its address."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'kernelrank[postgresql]'")
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [os.path.dirname(shutil.which("initdb") or "")]
    if not os.path.exists(os.path.join(programs[-1], "initdb")):
        pytest.skip("initdb of PostgreSQL is not installed")
    as_user = []
    if os.geteuid() == 0:  # which initdb refuses
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("initdb does not run as root, and there is no user postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    home = subprocess.run([*as_user, "mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip()
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]

    def run(program, *arguments):
        command = [*as_user, os.path.join(programs[-1], program), "-D", f"{home}/data", *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60, cwd="/")

    try:
        run("initdb", "--auth=trust", "--username=judge", "--no-sync", "--encoding=UTF8")
        run("pg_ctl", "-w", "-l", f"{home}/log", "-o", f"-p {port} -k {home} -c listen_addresses=127.0.0.1", "start")
        try:
            yield f"postgresql://judge@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)

"""A server that is killed at any moment loses no acknowledged vote, and counts none twice.

`benchmarks/a_killed_server_loses_no_vote.py` is the long form.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import os
import random
import secrets
import signal
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="starlette is not installed: pip install 'kernelrank[collect]'")

from kernelrank.cli.app import app
from kernelrank.collecting import VoteStore
from tests.collecting.clients import HTTPJudge

START = multiprocessing.get_context("forkserver")
START.set_forkserver_preload(["kernelrank.cli.app", "kernelrank.collecting.service", "tests.collecting.clients"])


def serve(folder, words, output):
    """Run the command in a folder, and send what it prints."""
    os.chdir(folder)
    os.dup2(output.fileno(), 1)
    app(words)


class Server:
    """The command in a process of its own, which is killed and started again on the same port.

    Processes begin as copies of one that has imported everything.
    """

    def __init__(self, folder, database, port=0):
        self.folder, self.database, self.port = folder, database, port
        items = folder / "items.csv"
        if not items.exists():
            items.write_text("id,text\n" + "".join(f"item {n},Text {n}\n" for n in range(60)))

    def start(self):
        words = ["collect", "items.csv", "--database", self.database, "--json", "--port", str(self.port)]
        ours, theirs = START.Pipe(duplex=False)
        self.process = START.Process(target=serve, args=(self.folder, words, theirs))
        self.process.start()
        theirs.close()
        text = b""
        while not text.endswith(b"}\n"):
            more = os.read(ours.fileno(), 4096)
            assert more, "the server has ended"
            text += more
        ours.close()
        links = json.loads(text)
        self.port = int(links["judges"].split(":")[2].partition("/")[0])
        self.token = links["judges"].rstrip("/").rpartition("/")[2]

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()


class Votes(threading.Thread):
    """A judge who votes, sends again what was not acknowledged, and remembers what was; connections stay open."""

    def __init__(self, server, ended, pause):
        super().__init__(daemon=True)
        self.server, self.ended, self.pause = server, ended, pause
        self.acknowledged, self.seconds, self.failures = {}, [], []
        self.random = random.Random(secrets.randbits(64))

    def run(self):
        judge, key, connection = None, secrets.token_hex(16), None
        while not self.ended.is_set():
            try:
                if judge is None:
                    judge = HTTPJudge(("127.0.0.1", self.server.port), self.server.token, key=key)
                    connection = http.client.HTTPConnection(*judge.address, timeout=30)
                if not judge.tasks:
                    break
                task, answer = judge.tasks[0], self.random.choice(["left", "right", "tie"])
                start = time.perf_counter()
                held = [[one["left"]["number"], one["right"]["number"]] for one in judge.tasks[1:]]
                body = {"key": key, "held": held, **judge.vote_on(task, answer)}
                connection.request("POST", judge.path + "vote", json.dumps(body))
                answered = connection.getresponse()
                said = json.loads(answered.read())
                if answered.status != 200:
                    self.failures.append((answered.status, said))
                    time.sleep(0.2)
                    continue
                self.seconds.append(time.perf_counter() - start)
                self.acknowledged[task["id"]] = answer if said["added"] else None
                judge.tasks = judge.tasks[1:] + said["tasks"]
                time.sleep(self.random.expovariate(1.0 / self.pause))
            except (OSError, http.client.HTTPException):  # the server was killed before or while it answered
                if connection is not None:
                    connection.close()
                time.sleep(0.1)
            except Exception as error:
                self.failures.append(repr(error))
                time.sleep(0.1)
        if connection is not None:
            connection.close()


def collected_through_kills(folder, database, *, kills, judges, seconds, pause, beside=()):
    """Let judges vote while the server is killed; return the judges, the rows of the database, and the memory."""
    running, ended = Server(folder, database), threading.Event()
    running.start()
    threads = [Votes(running, ended, pause) for _ in range(judges)]
    for thread in (*threads, *beside):
        thread.start()
    memory = []
    for period in range(kills + 1):
        end = time.monotonic() + (random.uniform(0.3, 1.7) if kills else 1.0) * seconds / (kills + 1)
        while time.monotonic() < end:
            time.sleep(max(0.0, min(0.5, end - time.monotonic())))
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{running.process.pid}/status").read_text()
                memory.append(int(status.partition("VmRSS:")[2].split()[0]) / 1024)
        running.kill()
        if period < kills:
            memory.clear()
            running.start()
    ended.set()
    for thread in threads:
        thread.join(60)
    with VoteStore(database if "://" in database else folder / database) as store:
        rows = [row for _, row in store.rows()]
    return threads, rows, memory


def check(threads, rows):
    """Check that each acknowledged vote is there once, as it was acknowledged."""
    ids = [row.id for row in rows]
    assert len(ids) == len(set(ids))
    kept = {row.id: row.answer for row in rows}
    for thread in threads:
        assert thread.failures == [], thread.failures[:3]
        for vote, answer in thread.acknowledged.items():
            assert vote in kept
            assert answer in (None, kept[vote])  # None: another sending of this vote had been kept
    return sum(len(thread.acknowledged) for thread in threads)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_killed_server_loses_no_acknowledged_vote(tmp_path, request, kind):
    database = request.getfixturevalue("postgresql") if kind == "postgresql" else "votes.db"
    threads, rows, _ = collected_through_kills(tmp_path, database, kills=1, judges=4, seconds=3, pause=0.05)
    assert check(threads, rows) > 4

"""Claim: a server that is killed at any moment loses no acknowledged vote; a judge waits for less than ten commits.

Run: python benchmarks/a_killed_server_loses_no_vote.py [--kills 20] [--judges 50] [--seconds 120] [--pause 1]
     [--postgresql]

Simulated judges vote over HTTP on 60 items, each after a pause of 1 second on average. Two parts of --seconds each,
which count while the server runs:

- ``kernelrank collect`` is killed (SIGKILL) at --kills random moments and started again; judges send again what was not
  acknowledged. Then every acknowledged vote must be in the database, once, with the answer that was acknowledged
  (left out with --kills 0);
- without kills: how long "vote and next pair" took, seen by the judges, beside bare commits of one row to another
  database of the same kind at the same time, and the memory of the server.

With --postgresql the database is a PostgreSQL server that is started for this; on a network file system, or another
disk, the milliseconds differ. Judges and server share the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import secrets
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from kernelrank.collecting import VoteRow, VoteStore
from tests.collecting.postgresql import server
from tests.collecting.test_nothing_is_lost import check, collected_through_kills


class BareCommits(threading.Thread):
    """Commits of one row, ten a second, to another database of the same kind, while judges vote."""

    def __init__(self, where):
        super().__init__(daemon=True)
        self.where, self.seconds, self.ended = where, [], threading.Event()

    def run(self):  # noqa: D102
        with VoteStore(self.where) as store:
            while not self.ended.is_set():
                start = time.perf_counter()
                store.append(VoteRow(secrets.token_hex(8), "vote", 0, 0, 0, 1, "left"))
                self.seconds.append(time.perf_counter() - start)
                time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--judges", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--pause", type=float, default=1.0)
    parser.add_argument("--postgresql", action="store_true")
    given = parser.parse_args()
    options = {"judges": given.judges, "seconds": given.seconds, "pause": given.pause}
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        database, bare, quiet = "votes.db", str(folder / "bare.db"), "quiet.db"
        if given.postgresql:
            database = stack.enter_context(server())
            with VoteStore(database) as store:
                for other in ("bare", "quiet"):
                    store._run(f"CREATE DATABASE {other}")
            bare, quiet = (database.removesuffix("postgres") + other for other in ("bare", "quiet"))
        if given.kills:
            threads, rows, _ = collected_through_kills(folder, database, kills=given.kills, **options)
            print(
                f"{given.kills} kills, {check(threads, rows)} acknowledged votes, {len(rows)} rows: all are there once"
            )
        beside = BareCommits(bare)
        threads, rows, memory = collected_through_kills(folder, quiet, kills=0, beside=[beside], **options)
        beside.ended.set()
        beside.join()
        print(f"without kills: {check(threads, rows)} acknowledged votes, {len(rows)} rows")
        seconds = {"vote and next pair": np.concatenate([thread.seconds for thread in threads])}
        seconds["bare commit"] = np.array(beside.seconds)
        for what, values in seconds.items():
            print(f"{what}: " + ", ".join(f"p{q} {1e3 * np.percentile(values, q):.1f} ms" for q in (50, 90, 99)))
        ratios = {q: np.divide(*(np.percentile(values, q) for values in seconds.values())) for q in (50, 99)}
        print("vote / bare commit: " + ", ".join(f"p{q} {ratio:.1f}" for q, ratio in ratios.items()))
        parts = np.array_split(memory, 4)
        print("memory of the server in the quarters: " + ", ".join(f"{part.mean():.0f} MB" for part in parts))


if __name__ == "__main__":
    main()

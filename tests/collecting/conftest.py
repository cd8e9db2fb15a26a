"""One PostgreSQL server for all tests of a process, with a database for each test."""

from __future__ import annotations

import itertools

import pytest

from tests.collecting.postgresql import server

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgresql_server():
    with server() as address:
        yield address


@pytest.fixture
def postgresql(postgresql_server):
    """Return the address of an empty database."""
    import psycopg

    name = f"votes{next(NUMBERS)}"
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgresql_server.removesuffix("postgres") + name

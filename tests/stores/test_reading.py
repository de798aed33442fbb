"""Procedures on PostgreSQL: reads are as of one instant, and one statement alone begins no transaction."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import asyncpg
import psycopg
import pytest

from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.postgres import PostgresDriver
from tickwise.stores.sql.statement import Procedure, Statement

from ..support.app import patiently

COUNT = Statement("SELECT count(*) FROM numbers")
ONLY_COUNT = Statement("SELECT count(*) FROM numbers", alone=True)  # no other statement follows it
ADD = Statement("INSERT INTO numbers VALUES (1)", alone=True)


def once() -> Procedure[int]:
    return int((yield ONLY_COUNT())[0][0])


def add() -> Procedure[None]:
    yield ADD()


def twice() -> Procedure[tuple[int, int]]:
    first = (yield COUNT())[0][0]
    return first, (yield COUNT())[0][0]


@pytest.fixture
def begun() -> Iterator[list[str]]:
    """The transactions that are begun."""
    texts: list[str] = []
    execute = asyncpg.Connection.execute

    async def watched(self: Any, text: str, *given: Any, **named: Any) -> Any:
        texts.extend([text] * text.startswith("BEGIN"))
        return await execute(self, text, *given, **named)

    with patch.object(asyncpg.Connection, "execute", watched):
        yield texts


@pytest.fixture
def url(postgres_database: str) -> str:
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE numbers (n bigint)")
    return postgres_database


@patiently
async def test_one_statement_begins_no_transaction(url: str, begun: list[str]) -> None:
    """Its rows are of one instant by themselves, and what it writes is written as a whole."""
    driver = PostgresDriver(url)
    try:
        assert [await driver.run(once, Pool.READ) for _ in range(3)] == [0, 0, 0]
        await driver.run(add, Pool.OTHER)
        assert (await driver.run(once, Pool.OTHER), begun) == (1, [])
    finally:
        await driver.close()


@patiently
async def test_several_are_answered_as_of_one_instant(url: str, begun: list[str]) -> None:
    """Whatever is written between two of them."""
    driver = PostgresDriver(url)
    with psycopg.connect(url, autocommit=True) as other:

        def write(_text: str) -> None:
            other.execute("INSERT INTO numbers VALUES (1)")

        driver.watch = write
        try:
            for time in range(1, 4):
                first, second = await driver.run(twice, Pool.READ)
                assert first == second
                assert len(begun) == time
        finally:
            await driver.close()


def promised_alone() -> Procedure[int]:
    yield ONLY_COUNT()
    return int((yield COUNT())[0][0])


@patiently
async def test_a_statement_that_is_not_alone_after_all(url: str) -> None:
    """A procedure that breaks its promise is refused, and never reads as of two instants."""
    driver = PostgresDriver(url)
    try:
        with pytest.raises(AssertionError, match="more than one statement"):
            await driver.run(promised_alone, Pool.READ)
    finally:
        await driver.close()

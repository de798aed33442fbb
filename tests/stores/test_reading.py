"""Reads on PostgreSQL: as of one instant, and without a transaction where one question is all there is."""

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


def once() -> Procedure[int]:
    return int((yield COUNT())[0][0])


def twice() -> Procedure[tuple[int, int]]:
    first = (yield COUNT())[0][0]
    return first, (yield COUNT())[0][0]


def once_or_twice(times: list[int]) -> Procedure[int]:
    for _ in range(times[0]):
        found = yield COUNT()
    return int(found[0][0])


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
async def test_one_question_begins_nothing(url: str, begun: list[str]) -> None:
    """Its answer is of one instant by itself."""
    driver = PostgresDriver(url)
    try:
        assert [await driver.run(once, Pool.READ) for _ in range(3)] == [0, 0, 0]
        assert begun == []
        assert await driver.run(once, Pool.OTHER) == 0
        assert len(begun) == 1
    finally:
        await driver.close()


@patiently
async def test_several_are_answered_as_of_one_instant(url: str, begun: list[str]) -> None:
    """Whatever is written between two of them, also when it was not known that there would be two."""
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


@patiently
async def test_what_is_expected_is_as_the_last_time(url: str, begun: list[str]) -> None:
    """Who once had more to ask does not keep its transactions for good."""
    driver = PostgresDriver(url)
    times = [1]
    try:
        for times[0], transactions in ((1, 0), (2, 1), (2, 2), (1, 3), (1, 3)):
            await driver.run(lambda: once_or_twice(times), Pool.READ)
            assert len(begun) == transactions
    finally:
        await driver.close()

"""Real servers, started when a test first asks for one and ended with the session."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from .servers import mongodb, postgres
from .servers.process import Server


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Where PostgreSQL answers; TICKWISE_TEST_POSTGRES names a server of your own instead."""
    yield from _given_or_started("TICKWISE_TEST_POSTGRES", postgres.server)


@pytest.fixture(scope="session")
def mongodb_url() -> Iterator[str]:
    """Where MongoDB answers, as a replica set; TICKWISE_TEST_MONGODB names a server of your own instead."""
    yield from _given_or_started("TICKWISE_TEST_MONGODB", mongodb.server)


def _given_or_started(variable: str, start: Callable[[], AbstractContextManager[Server]]) -> Iterator[str]:
    if url := os.environ.get(variable):
        yield url
        return
    with start() as server:
        yield server.url

"""Processes that race on a store, the time that they share, and a MongoDB database for them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..support.races.file_clock import SharedClock
from ..support.races.processes import Crew, Nursery
from ..support.races.race import Race


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture
def crew(nursery: Nursery) -> Iterator[Crew]:
    """The processes of a test. It asks for its place first, so that they end before that goes away."""
    with Crew(nursery) as crew:
        yield crew


@pytest.fixture
def clock(tmp_path: Path) -> Iterator[SharedClock]:
    clock = SharedClock(tmp_path / "clock")
    yield clock
    clock.close()


@pytest.fixture
def on_mongodb(mongodb_database: str, clock: SharedClock) -> Race:
    return Race(mongodb_database, clock)


@pytest.fixture
def on_redis(redis_database: str, clock: SharedClock) -> Race:
    return Race(redis_database, clock)

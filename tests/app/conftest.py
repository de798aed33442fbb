"""An app for each test, on a moved clock: in memory, and on a SQLite file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tickwise import AsyncTickwise, Tickwise

from ..support.app import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'tickwise.db'}"


@pytest.fixture
def app(url: str, clock: Clock) -> AsyncTickwise:
    """Of which nothing is open yet."""
    return AsyncTickwise(url, clock=clock, poll=0.05, shutdown_grace=5)


@pytest.fixture
def tw(url: str, clock: Clock) -> Iterator[Tickwise]:
    with Tickwise(url, clock=clock, poll=0.05, shutdown_grace=5) as tw:
        yield tw

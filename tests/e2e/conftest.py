"""Places for stories, on a SQLite file and on a database of a server that nobody else uses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..support.deployment import Deployment
from ..support.races.file_clock import SharedClock
from ..support.tickwise_processes import Nest


@pytest.fixture(scope="session")
def nest() -> Iterator[Nest]:
    with Nest() as nest:
        yield nest


@pytest.fixture(params=["sqlite", "postgres", "mysql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'tickwise.db'}"
    found: str = request.getfixturevalue(f"{request.param}_database")
    return found


@pytest.fixture
def clock(tmp_path: Path) -> Iterator[SharedClock]:
    """It stands at midnight of the first of January."""
    clock = SharedClock(tmp_path / "clock")
    yield clock
    clock.close()


@pytest.fixture
def place(nest: Nest, url: str, tmp_path: Path, clock: SharedClock) -> Iterator[Deployment]:
    """On a moved clock."""
    with Deployment(nest, tmp_path, url, clock) as place:
        yield place

"""A server for the whole session that is no replica set."""

from collections.abc import Iterator

import pytest

from .servers import standalone


@pytest.fixture(scope="session")
def standalone_url() -> Iterator[str]:
    with standalone() as server:
        yield server.url

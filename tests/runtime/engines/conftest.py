"""A queue of a real broker for each test."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from ...support.celery_processes import Broker


@pytest.fixture
def broker(redis_url: str) -> Iterator[Broker]:
    made = Broker(redis_url, f"queue-{uuid4().hex[:8]}")
    yield made
    made.close()

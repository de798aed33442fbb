"""The pytest plugin: installing Tickwise gives tests the fixture `tickwise_clock`.

pytest imports it at every start, so it imports nothing else until a test asks.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .clock import FakeClock


@pytest.fixture
def tickwise_clock() -> "FakeClock":
    """A clock that stands at midnight UTC of 1 January 2026 until it is moved; for `tw.testing(…)`."""
    from datetime import UTC, datetime  # noqa: PLC0415

    from .clock import FakeClock  # noqa: PLC0415

    return FakeClock(datetime(2026, 1, 1, tzinfo=UTC))

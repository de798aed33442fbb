"""What all stores share: where nodes come from, and the report."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from ..support.tickwise_processes import Nest
from .fleet import AHEAD, BEHIND, RIGHT, clock
from .report import Outcome, publish


@pytest.fixture(scope="session")
def nests() -> Iterator[Mapping[int, Nest]]:
    """By the hours that the clocks of their processes are wrong."""
    clocks = {RIGHT: {}, AHEAD: clock(AHEAD), BEHIND: clock(BEHIND)}
    with ExitStack() as stack:
        yield {hours: stack.enter_context(Nest(variables)) for hours, variables in clocks.items()}


@pytest.fixture(scope="session")
def outcomes() -> Iterator[list[Outcome]]:
    """Those that were as promised; they are shown when all is over."""
    outcomes: list[Outcome] = []
    yield outcomes
    publish(outcomes)

"""What the package logs, when nobody can take it down."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tickwise.runtime.loop import Loop


def test_a_log_on_a_full_disk_ends_no_role(monkeypatch: pytest.MonkeyPatch) -> None:
    """A role whose failure cannot be logged tries again all the same."""
    stop, turns = asyncio.Event(), 0

    async def turn() -> float:
        nonlocal turns
        turns += 1
        if turns == 1:
            raise LookupError
        stop.set()
        return 0.0

    full = Path("/dev/full").open("w")  # noqa: SIM115  (to close it fails, too)
    monkeypatch.setattr(sys, "stderr", full)
    asyncio.run(asyncio.wait_for(Loop("any", turn).run(stop), 60))
    with suppress(OSError):
        full.close()
    assert turns == 2

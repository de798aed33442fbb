"""The liveness ping: sent as long as the node is healthy, and only then."""

import pytest
import structlog

from tickwise import AsyncTickwise
from tickwise.runtime.executors.address import AddressPolicy
from tickwise.runtime.notifications.liveness import LivenessPing

from ..app.place import patiently
from .receiver import NEAR, Receiver


@patiently
async def test_only_while_all_is_well() -> None:
    """Silence means trouble: a node whose passes do not come says nothing, and looks again soon."""
    well = True
    async with Receiver.open() as receiver:
        ping = LivenessPing(receiver.url, lambda: well, 60, NEAR)
        assert await ping.turn() == 60
        well = False
        assert await ping.turn() == 5
        assert [(sent.method, sent.path) for sent in receiver.got] == [("GET", "/hook?key=hush")]


@pytest.mark.parametrize(("policy", "why"), [(NEAR, "500"), (AddressPolicy(), "loopback")])
@patiently
async def test_a_sign_that_did_not_arrive(policy: AddressPolicy, why: str) -> None:
    """It is tried again soon; the log says why, and not the address, which may be a secret."""
    async with Receiver.open() as receiver:
        receiver.status = 500
        with structlog.testing.capture_logs() as entries:
            assert await LivenessPing(receiver.url, lambda: True, 60, policy).turn() == 5
        assert why in str(entries)
        assert "hush" not in str(entries)


@patiently
async def test_a_node_pings_and_notifies() -> None:
    """A node with a ticker does both, as its settings say."""
    async with Receiver.open() as receiver:
        tickwise = AsyncTickwise(
            "memory://", poll=0.05, ping=receiver.url, notify_webhook=receiver.url, addresses="loopback"
        )

        @tickwise.job()
        async def breaks() -> None:
            raise LookupError("no such table")

        async with tickwise:
            await tickwise.start()
            await tickwise.enqueue(breaks)
            await receiver.until(2)
        methods = sorted(sent.method for sent in receiver.got)
        assert methods == ["GET", "POST"]

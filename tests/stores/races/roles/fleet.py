"""Nodes that differ: in their clocks, and in what they hold or still believe to hold."""

import time
from datetime import datetime, timedelta, tzinfo
from typing import Any, Self
from unittest.mock import patch

from tickwise.core.settle import Succeeded
from tickwise.stores.records import Finish, LeaseRequest, LogPart, StepReport
from tickwise.testing.conformance.world import worker_node

from ....support.races.channel import Line
from ....support.races.race import opened
from .crash import settle_everything
from .worker import finish


async def settle_with_clock_off(line: Line, url: str, node: str, seconds: int) -> int:
    """Do all there is to do, on the store's time, while this process's clock is off; what it says at the end."""
    true_time, true_ns = time.time, time.time_ns

    class Off(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(seconds=seconds)

    with (
        patch("time.time", lambda: true_time() + seconds),
        patch("time.time_ns", lambda: true_ns() + seconds * 10**9),
        patch("tickwise.clock.datetime", Off),
    ):
        store = opened(url, None)
        line.say("ready")
        line.hear()
        await settle_everything(store, node)
        await store.close()
        return int(time.time())


async def lose_a_lease(line: Line, url: str, clock: str, node: str) -> dict[str, Any]:
    """Lease a run; after a word, try to finish, report and renew it: what the store says to each."""
    store = opened(url, clock)
    (lease,) = await store.lease(LeaseRequest(node, 1))
    line.say(lease.id)
    line.hear()
    step, text = StepReport("work", "succeeded"), LogPart("work", "out", "too late", 1)
    said = {
        "finish": await store.finish([Finish(lease.id, lease.token, Succeeded(), result="late")]),
        "report": await store.report(lease.id, lease.token, [step], [text]),
        "renew": tuple(await store.beat(worker_node(node), {lease.id: lease.token}, 3_600)),
    }
    await store.close()
    return said


async def take_over(line: Line, url: str, clock: str, node: str) -> int:
    """Take back what has run out, lease it, and finish it on a word."""
    store = opened(url, clock)
    await store.expire()
    leases = await store.lease(LeaseRequest(node, 1))
    line.say([lease.id for lease in leases])
    line.hear()
    done = await finish(store, leases)
    await store.close()
    return done

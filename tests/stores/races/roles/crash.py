"""A process that crashes at a chosen point, and one that takes over its work."""

import os
import signal
from collections.abc import Sequence

from tickwise.core.planner import plan
from tickwise.core.states import ACTIVE
from tickwise.stores.contract import Store
from tickwise.stores.records import MICRO, LeaseRequest, LogPart, StepReport
from tickwise.testing.conformance.world import worker_node

from ....support.races.channel import Line
from ....support.races.failpoints import in_sql
from ....support.races.race import opened, opened_sql
from .worker import finish


async def one_cycle(line: Line, url: str, clock: str, node: str, die_at: int) -> list[str]:
    """All that ticker and worker do; killed at the point of that number, or else the points that were passed."""
    del line
    store = opened_sql(url, clock)
    points = in_sql(store)
    points.arm(die_at, lambda: os.kill(os.getpid(), signal.SIGKILL))
    held = (await store.tick(plan, node, reserve=LeaseRequest(node, 1))).leases
    await store.tick(plan, node, jobs=[lease.job.name for lease in held])
    for lease in held:
        await store.beat(worker_node(node), {lease.id: lease.token})
        await store.report(
            lease.id, lease.token, [StepReport("work", "running")], [LogPart("work", "out", "…", 1)]
        )
    await finish(store, held)
    await store.tick(plan, node)
    await finish(store, await store.lease(LeaseRequest(node, 1)))
    passed = points.passed
    await store.close()
    return passed


async def rescue_on_word(
    line: Line, url: str, clock: str, node: str, queues: Sequence[str] = ("default",)
) -> None:
    """At each word, take back what is lost and do all that is left to do; then say so."""
    store = opened(url, clock)
    while line.hear() == "go":
        await settle_everything(store, node, queues)
        line.say("settled")
    await store.close()


async def settle_everything(store: Store, node: str, queues: Sequence[str] = ("default",)) -> None:
    """Expire, tick, adopt, lease and finish until nothing is due, queued or running."""
    while True:
        await store.expire()
        ticked = await store.tick(plan, node)
        wanted = LeaseRequest(node, 100, tuple(queues))
        await finish(store, [*await store.adopt(wanted), *await store.lease(wanted)])
        next_due, runs = await store.insights.next_due(), (await store.insights.counts()).runs
        if (next_due is None or next_due * MICRO > ticked.now) and not any(map(runs.get, ACTIVE)):
            return

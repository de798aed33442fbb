"""A process that halts between two statements of a move until the test lets it go on."""

from collections.abc import Sequence

from tickwise.core.planner import plan
from tickwise.core.settle import Failed, Succeeded
from tickwise.stores.records import Finish, LeaseRequest
from tickwise.stores.sql import mysql, postgres
from tickwise.stores.sql.store import SqlStore
from tickwise.testing.conformance.world import worker_node

from ....support.races.channel import Line
from ....support.races.failpoints import Failpoints, in_sql
from ....support.races.race import opened, opened_sql


def halting(store: SqlStore, line: Line, before: str) -> Failpoints:
    """Have the store say `halted` before the first statement that holds this text, and wait for a word."""

    def halt() -> None:
        line.say("halted")
        line.hear()

    postgres._BEGIN = "BEGIN"  # who only halts is not taken for stopped
    mysql._WRITES = (mysql._SESSION % 0, *mysql._WRITES[1:])
    points = in_sql(store)
    points.arm(before, halt)
    return points


async def tick_haltingly(line: Line, url: str, clock: str, node: str, before: str) -> int:
    """Tick, halting before a statement; how many jobs were decided."""
    store = opened_sql(url, clock)
    halting(store, line, before)
    ticked = await store.tick(plan, node)
    await store.close()
    return ticked.jobs


async def finish_haltingly(
    line: Line, url: str, clock: str, node: str, before: str, failing: Sequence[str] = ()
) -> tuple[int, int]:
    """Lease and finish a batch, halting before a statement; how many ends were taken, in how many tries."""
    mysql._WRITES = (mysql._SESSION % 0, *mysql._WRITES[1:])  # who only halts is not taken for stopped
    store = opened_sql(url, clock)
    leases = await store.lease(LeaseRequest(node, 10))
    line.say({lease.job.name: (lease.id, lease.token) for lease in leases})
    line.hear()
    points = halting(store, line, before)
    ends = [Finish(x.id, x.token, Failed() if x.job.name in failing else Succeeded()) for x in leases]
    settled = await store.finish(ends)
    await store.close()
    return sum(one is not None for one in settled), sum(text.startswith("BEGIN") for text in points.passed)


async def lease_haltingly(line: Line, url: str, clock: str, node: str, before: str) -> int:
    """Lease one run, halting before a statement; how many that gave."""
    store = opened_sql(url, clock)
    halting(store, line, before)
    leases = await store.lease(LeaseRequest(node, 1))
    await store.close()
    return len(leases)


async def lease_on_word(line: Line, url: str, clock: str, node: str, capacity: int) -> None:
    """At each word lease as many as are given; say how many."""
    store = opened(url, clock)
    await store.now()
    line.say("ready")
    while line.hear() == "go":
        line.say(len(await store.lease(LeaseRequest(node, capacity))))
    await store.close()


async def renew_on_word(line: Line, url: str, clock: str, node: str) -> None:
    """Renew what one is told to hold; say what of it is."""
    store = opened(url, clock)
    while held := line.hear():
        line.say(sorted((await store.beat(worker_node(node), held, 300)).held))
    await store.close()

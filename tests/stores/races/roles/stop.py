"""A process that is stopped inside a transaction, and one that meets its locks."""

import os
import signal

from tickwise.core.planner import plan
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.records import Enqueue, LeaseRequest

from ....support.races.channel import Line
from ....support.races.race import opened, opened_sql
from .worker import finish

_ONLY_AFTER_A_CLAIM = "SELECT 'job', j.id"


async def stop_while_claiming(line: Line, url: str, clock: str, node: str) -> int:
    """Stop once a job is claimed; after being continued, tell what became of the tick, and tick again."""
    store = opened_sql(url, clock)

    def stop(statement: str) -> None:
        if _ONLY_AFTER_A_CLAIM in statement:
            store.driver.watch = None
            line.say("stopping")
            os.kill(os.getpid(), signal.SIGSTOP)

    store.driver.watch = stop
    try:
        await store.tick(plan, node)
    except StoreUnavailableError as error:
        line.say(f"unavailable: {error}")
    runs = (await store.tick(plan, node)).runs
    await store.close()
    return runs


async def claim_one(line: Line, url: str, clock: str, node: str) -> int:
    """Tick until a job could be claimed; how many ticks that took."""
    del line
    store = opened(url, clock)
    ticks = 1
    while not (await store.tick(plan, node)).jobs:
        await store.wait(0.02)
        ticks += 1
    await store.close()
    return ticks


async def hold_and_finish(line: Line, url: str, clock: str, node: str) -> int:
    """Lease, and finish on a word."""
    store = opened(url, clock)
    leases = await store.lease(LeaseRequest(node, 1))
    line.say(len(leases))
    line.hear()
    done = await finish(store, leases)
    await store.close()
    return done


async def serve_others(line: Line, url: str, clock: str, node: str, job: str, queue: str) -> None:
    """On each word enqueue, lease and finish a run of another job."""
    store = opened(url, clock)
    while line.hear() == "go":
        await store.enqueue([Enqueue(job)])
        line.say(await finish(store, await store.lease(LeaseRequest(node, 1, (queue,)))))
    await store.close()

"""On MongoDB and Redis: processes that crash, stop or time out at a chosen write. Their moves have four parts."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any

from pymongo import AsyncMongoClient

from tickwise.core.change import Paused, Resumed
from tickwise.core.definition import Overlap, Policy
from tickwise.core.model import Trigger
from tickwise.core.planner import plan
from tickwise.core.settle import Failed
from tickwise.stores.contract import Store
from tickwise.stores.records import Enqueue, Finish, LeaseRequest, LogPart, StepReport
from tickwise.testing.conformance.world import worker_node

from ....support.races.channel import Line
from ....support.races.failpoints import of_moves
from ....support.races.file_clock import SharedClock
from ....support.races.race import SOURCE, job, opened
from .crash import settle_everything
from .watcher import hand_over_and_end
from .worker import finish

LEFT_ALONE = 61  # seconds after which drafts are forgotten and leases have run out
QUEUES = ("default", "rare", "far")
ONE_BY_ONE = Policy.of(overlap=Overlap.QUEUE)


async def die(line: Line, url: str, clock: str, node: str, part: str, die_at: int) -> list[str]:
    """Play a part, killed before the write of that number; or else the writes that it took."""
    del line
    writes = of_moves(url)
    writes.arm(die_at, lambda: os.kill(os.getpid(), signal.SIGKILL))
    store = opened(url, clock)
    await PARTS[part](store, node)
    passed = list(writes.passed)
    await store.close()
    return passed


async def die_in_a_pass(line: Line, url: str, clock: str, node: str, die_at: int) -> list[str]:
    """Tick, killed before the write of that number; or else the writes that it took."""
    del line
    writes = of_moves(url)
    writes.arm(die_at, lambda: os.kill(os.getpid(), signal.SIGKILL))
    store = opened(url, clock)
    await store.tick(plan, node)
    passed = list(writes.passed)
    await store.close()
    return passed


async def stop_in_a_pass(line: Line, url: str, clock: str, node: str, stop_at: int) -> int:
    """Tick, stopped before the write of that number; continued, how many runs the pass believes to have made."""
    writes = of_moves(url)
    store = opened(url, clock)

    def stop() -> None:
        line.say(writes.passed[-1])
        os.kill(os.getpid(), signal.SIGSTOP)

    writes.arm(stop_at, stop)
    runs = (await store.tick(plan, node)).runs
    await store.close()
    return runs


async def give_up_everywhere(line: Line, url: str, clock: str, node: str, part: str) -> list[str]:
    """Give up a part before each of its writes in turn, and go on with the same store; what the writes were."""
    del line
    time, writes = SharedClock(clock), of_moves(url)
    store = opened(url, clock)
    for at in count(1):
        time.advance(60)
        turn = asyncio.ensure_future(PARTS[part](store, f"{node}-{at}"))
        writes.arm(at, partial(_insist, turn))
        await asyncio.wait((turn,))
        passed = list(writes.passed)
        if connections := writes.given_up():
            await _are_over(url, connections)
        time.advance(LEFT_ALONE)
        await settle_everything(store, node, QUEUES)
        if not turn.cancelled():
            turn.result()
            break
    await store.close()
    return passed


def _insist(turn: "asyncio.Future[None]") -> None:
    """Cancel until it is: while the driver sends, Python before 3.12 may not hear it."""
    if not turn.done():
        turn.cancel()
        asyncio.get_running_loop().call_soon(_insist, turn)


async def _are_over(url: str, connections: list[int | None]) -> None:
    """Wait until the server does nothing on them any more: it may still execute a write that was given up."""
    operations: list[dict[str, Any]] = [
        {"$currentOp": {"allUsers": True}}, {"$match": {"connectionId": {"$in": connections}}},
    ]  # fmt: skip
    async with AsyncMongoClient[Any](url) as client:
        while await (await client.admin.aggregate(operations)).to_list():
            pass


async def _tick_and_work(store: Store, node: str) -> None:
    held = (await store.tick(plan, node, reserve=LeaseRequest(node, 1))).leases
    await store.tick(plan, node, jobs=[lease.job.name for lease in held])
    for lease in held:
        await store.beat(worker_node(node), {lease.id: lease.token})
        log = [LogPart("work", "out", "…", 1)]
        await store.report(lease.id, lease.token, [StepReport("work", "running")], log)
    await finish(store, held)
    await store.tick(plan, node)
    await finish(store, await store.lease(LeaseRequest(node, 1)))


async def _enqueue(store: Store, node: str) -> None:
    """Several at once, one by hand, one that is cancelled, and one that fails and is put back."""
    params = {"by": node}
    several = [Enqueue("asked", params=params, key=f"{node} {n}") for n in range(3)]
    await store.enqueue([*several, Enqueue("asked", Trigger.MANUAL, params)])
    (one,) = await store.enqueue([Enqueue("other", Trigger.MANUAL, params, key=node)])
    await store.cancel(one.id)
    await store.retry(one.id)
    await store.enqueue([Enqueue("rare", params=params)])
    leases = await store.lease(LeaseRequest(node, 2, ("rare",)))
    ended = [Finish(lease.id, lease.token, Failed()) for lease in leases]
    await store.finish(ended)
    for each in ended:
        await store.retry(each.run)


async def _define_and_change(store: Store, node: str) -> None:
    """A job comes and goes with a queued run, another changes for good, a third rests for a moment."""
    await store.define(job(node, "* * * * *", policy=ONE_BY_ONE), SOURCE)
    await store.enqueue([Enqueue(node)])
    await store.remove(node, SOURCE)
    await store.define(job(f"of-{node}", "0 * * * *", policy=ONE_BY_ONE), SOURCE)
    await store.change("rests", Paused(node))
    await store.change("rests", Resumed(run_missed=True))
    await store.expire()
    await store.prune()


PARTS: dict[str, Callable[[Store, str], Awaitable[None]]] = {
    "work": _tick_and_work, "enqueue": _enqueue, "define": _define_and_change,
    "hand over": hand_over_and_end,
}  # fmt: skip

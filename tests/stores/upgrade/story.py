"""A short life of a store that leaves something in every table, and what people see of it afterwards.

The fixtures were made of it: it may be added to for a later schema, and is not changed for those before.
"""

import json
from dataclasses import asdict
from typing import Any

from tickwise.core.change import Paused
from tickwise.core.definition import After, Command, RetryPolicy, Step
from tickwise.core.model import Pause
from tickwise.core.settle import Failed, Outcome, Succeeded, Unmet
from tickwise.stores.contract import Store
from tickwise.stores.records import AccessRole, AuditEntry, LogPart, QueueLimit, StepReport, Token
from tickwise.testing.conformance import snapshot
from tickwise.testing.conformance.world import World, job, once

DUE = ("hourly", "once")  # the schedules with a slot at 02:00
ACCESS = 2  # the schema since which there are tokens, an audit and claims
_OF_RUNS = (
    "job schedule slot trigger state attempt params result error key node queue by lane failures losses".split()
)
_LONG = 100_000


async def live(world: World, version: int) -> None:
    """Two hours."""
    store = world.store
    await world.begin()
    await store.limit(QueueLimit("other", 2, 1.5))
    await _define(world)
    await store.pause(Pause(world.now, "ann", "a quiet minute"))
    world.go("00:01")
    await store.pause(None)
    await store.change("paused", Paused("bob", "not today"))
    await world.pass_time("01:00")
    await _end(world, "hourly", Succeeded(), result={"rows": 3})
    for outcome in (Failed(), Failed()):
        await _end(world, "fails", outcome, error="no such table")
        world.clock.advance(60)
    await world.enqueue("plain", params={"table": "órders"}, key="k-1")
    await _end(world, "plain", Unmet())
    await world.store.cancel(await world.enqueue("plain"))
    await _lose(world)
    await _report(world)
    await store.remove("gone", "app")
    if version >= ACCESS:
        await _let_in(store)
    world.go("01:59")
    await world.enqueue("plain", params={"n": 1})
    await world.lease(1, functions=frozenset({"plain"}), seconds=_LONG)
    await world.enqueue("plain", at=world.now + _LONG)


async def _define(world: World) -> None:
    steps = (Step("load", Command(("load", "x"))), Step("sum", Command(("sum",)), depends=("load",)))
    await world.define(
        job("hourly", "0 * * * *", catchup="all", labels={"team": "a"}, params={"a": [1, None]}),
        job("fails", "30 0 * * *", retry=RetryPolicy(1, 10), overlap="queue"),
        job("late", "0 1 * * *", expires=60, overlap="replace"),
        job("paused", "CRON_TZ=Europe/Berlin 30 2 * * *", jitter=60),
        job("once", once("02:00")),
        job("skips", "*/20 * * * *", catchup="skip"),
        job("follows", "0 4 * * *", after=(After("hourly", 3_600),)),
        job("lost", at_most_once=True), job("plain"), job("steps", steps=steps), job("gone", "@every 90s"),
    )  # fmt: skip


async def _end(world: World, name: str, outcome: Outcome, result: Any = None, error: str = "") -> None:
    (lease,) = await world.lease(1, functions=frozenset({name}))
    await world.end(lease, outcome, result, error)


async def _lose(world: World) -> None:
    """A worker vanishes, and what nobody took in time expires."""
    await world.enqueue("lost")
    await world.lease(1, functions=frozenset({"lost"}))
    world.clock.advance(600)
    await world.store.expire()


async def _report(world: World) -> None:
    await world.enqueue("steps")
    (lease,) = await world.lease(1, functions=frozenset())
    done = [StepReport("load", "succeeded", 1, 2), StepReport("sum", "failed", 2, 3, 1, "nothing to sum")]
    await world.store.report(lease.id, lease.token, done, [LogPart("load", "stdout", "twelve rows\n", 5)])
    await world.end(lease, Failed(), error="sum")


async def _let_in(store: Store) -> None:
    await store.access.issue(Token("t-1", "ci", AccessRole.OPERATOR, ("etl-*",)), "d" * 64)
    await store.access.record([AuditEntry("ann", "schedule.pause", "paused", None, {"reason": "not today"})])
    await store.access.claim("k", "mark", 60)


async def seen(store: Store, version: int) -> Any:
    """What people see, as JSON values."""
    all_ = await snapshot(store)
    found: dict[str, Any] = {
        "jobs": {name: [row.source, list(row.schedules)] for name, row in all_.jobs.items()},
        "schedules": {
            name: [row.schedule.definition.label, row.schedule.cursor, row.next_slot, row.last_run_id,
                   row.schedule.paused and asdict(row.schedule.paused)]
            for name, row in all_.schedules.items()
        },
        "runs": {number: {field: getattr(run, field) for field in _OF_RUNS} for number, run in all_.runs.items()},
        "attempts": all_.attempts, "steps": all_.steps, "logs": all_.logs, "limits": all_.limits,
        "decisions": [
            [row.schedule, row.reason.code, row.first, row.last, row.count] for row in all_.decisions.values()
        ],
        "nodes": [[node.id, node.roles, node.queues] for node in all_.nodes],
        "pauses": all_.pauses,
    }  # fmt: skip
    if version >= ACCESS:
        found["tokens"] = [asdict(token) for token in await store.access.tokens()]
        found["audit"] = [row[1:] for row in (await store.access.audit()).items]
    return json.loads(json.dumps(found, default=asdict, sort_keys=True))

"""Bad input: it is refused with a clear error, or finds nothing, and changes nothing."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ...core.change import Deleted, Paused, Rescheduled, Updated
from ...core.definition import JobDefinition
from ...core.errors import InputError
from ...core.model import Pause, Trigger
from ...core.settle import Succeeded
from ...stores.records import Enqueue, Finish, LogPart, Node, Page, QueueLimit, Role, StepReport
from .snapshot import snapshot
from .stories import Stories
from .world import HOURLY, SOURCE, World, job, schedule, worker_node

WRONG_IDS = ["", "abc", "-1", "0", "1.5", "9" * 40, "12345678", "1\0", "\ud800", " 1", "1' OR '1'='1"]
WRONG_NAMES = ["", "a\0b", "a\ud800", "x" * 101, "-a", "a b", "a/b", "ä", "a\n"]
WRONG_TEXTS = ["a\0b", "a\ud800", "x" * 10_001]


def _circular() -> dict[str, Any]:
    own: dict[str, Any] = {}
    own["own"] = own
    return own


WRONG_PARAMS: list[Any] = [
    {"a": "\0"}, {"a": "\udfff"}, {"\0": 1}, {1: 2}, [1, 2], {"a": "x" * 10**7}, {"a": object()}, {"a": {1}},
    {"a": b"1"}, {"a": math.nan}, {"a": [math.inf]}, {"a": 2**63}, _circular(),
]  # fmt: skip

Act = Callable[[World, str], Awaitable[Any]]
BY_NAME: dict[str, Act] = {
    "define a job": lambda world, bad: world.store.define(JobDefinition(bad), SOURCE),
    "define a schedule": lambda world, bad: world.define(job("new", also=[schedule("s", HOURLY), _named(bad)])),
    "define a queue": lambda world, bad: world.define(job("new", queue=bad)),
    "change": lambda world, bad: world.store.change(bad, Paused()),
    "enqueue": lambda world, bad: world.enqueue(bad),
    "enqueue elsewhere": lambda world, bad: world.enqueue("a", queue=bad),
    "limit": lambda world, bad: world.store.limit(QueueLimit(bad, 1)),
    "beat": lambda world, bad: world.store.beat(Node("n", (Role.WORKER,), queues=("default", bad))),
}
BY_TEXT: dict[str, Act] = {
    "source": lambda world, bad: world.store.define(job("new"), bad),
    "description": lambda world, bad: world.define(job("new", description=bad * 200)),
    "label": lambda world, bad: world.define(job("new", labels={"l": bad * 200})),
    "reason": lambda world, bad: world.store.change("a", Paused("ann", bad)),
    "who": lambda world, bad: world.store.change("a", Paused(bad, "why")),
    "reason of all": lambda world, bad: world.store.pause(Pause(0, "ann", bad)),
    "key": lambda world, bad: world.enqueue("a", key=bad),
    "asked by": lambda world, bad: world.enqueue("a", by=bad),
    "node": lambda world, bad: world.store.beat(Node(bad, (Role.WORKER,))),
    "host": lambda world, bad: world.store.beat(Node("n", (), host=bad)),
    "ticker": lambda world, bad: world.tick(node=bad),
    "worker": lambda world, bad: world.lease(node=bad),
}


def _named(name: str) -> Any:
    return replace(schedule("s", HOURLY), name=name)


async def fill(world: World) -> None:
    """Put something of everything into a store."""
    await world.define(job("a", HOURLY), job("b", HOURLY))
    await world.pass_time("02:00")
    (lease,) = await world.lease(capacity=1)
    await world.store.report(lease.id, lease.token, [StepReport("s", "running")], [LogPart("s", "out", "text", 0)])


class BadInputStories(Stories):
    async def test_ids_that_name_no_run(self, world: World) -> None:
        """Of any shape: an operation on it says that there is none, and nothing else finds one, or says so."""
        await fill(world)
        assert await world.not_refused(world.store.cancel, WRONG_IDS) == []
        assert await world.not_refused(world.store.retry, WRONG_IDS) == []
        await world.store.beat(worker_node("w9"))
        before, seen = await snapshot(world.store), world.insights
        renewed = (await world.store.beat(worker_node("w9")))._replace(seen_before=world.micro)
        nothing = [(None,), False, renewed, None, (), (), Page(())]
        for bad in WRONG_IDS:
            tried = [
                world.store.finish([Finish(bad, "w1/1", Succeeded())]),
                world.store.report(bad, "w1/1", [StepReport("s", "x")], [LogPart("s", "out", "x", 0)]),
                world.store.beat(worker_node("w9"), {bad: "w1/1"}),
                seen.run(bad), seen.attempts(bad), seen.steps(bad), seen.log(bad),
            ]  # fmt: skip
            answers = await asyncio.gather(*tried, return_exceptions=True)
            wrong = [
                a for a, none in zip(answers, nothing, strict=True) if a != none and not isinstance(a, InputError)
            ]
            assert (bad, wrong) == (bad, [])
        assert await snapshot(world.store) == before

    @pytest.mark.parametrize("act", BY_NAME)
    async def test_names_that_cannot_be(self, world: World, act: str) -> None:
        """They are refused wherever they are given, and nothing comes of the rest that was right."""
        await fill(world)
        assert await world.not_refused(partial(BY_NAME[act], world), WRONG_NAMES) == []

    async def test_names_that_are_asked_for(self, world: World) -> None:
        """A read by such a name finds nothing; to remove it changes nothing."""
        await fill(world)
        before, seen = await snapshot(world.store), world.insights
        for bad in WRONG_NAMES:
            await world.store.remove(bad, SOURCE)
            await world.store.leave(bad)
            found = (
                await seen.job(bad),
                await seen.schedule(bad),
                await world.runs(job=bad),
                await world.runs(key=bad),
            )
            assert (bad, *found) == (bad, None, None, [], [])
            assert (bad, await world.decided(bad), await seen.hourly_stats(24, bad)) == (bad, [], ())
        assert await snapshot(world.store) == before

    @pytest.mark.parametrize("act", BY_TEXT)
    async def test_texts_that_cannot_be_kept(self, world: World, act: str) -> None:
        """NUL, half a character, or far too long: refused, and never cut silently."""
        await fill(world)
        assert await world.not_refused(partial(BY_TEXT[act], world), WRONG_TEXTS) == []

    async def test_payloads_that_are_no_json(self, world: World) -> None:
        """They are refused at once, for a run and for a job."""
        await fill(world)
        for act in (
            lambda bad: world.store.enqueue([Enqueue("a"), Enqueue("a", params=bad)]),
            lambda bad: world.define(job("new", HOURLY, params=bad)),
        ):
            assert await world.not_refused(act, WRONG_PARAMS) == []

    async def test_what_does_not_exist(self, world: World) -> None:
        """An unknown job or schedule is refused with the nearest right name."""
        await world.define(job("refresh", HOURLY))
        async with world.refuses(InputError, "refersh", "did you mean refresh"):
            await world.enqueue("refersh")
        async with world.refuses(InputError, "refersh", "did you mean refresh"):
            await world.store.change("refersh", Paused())

    async def test_times_that_no_calendar_has(self, world: World) -> None:
        """Instants far outside are refused in every operation."""
        await fill(world)
        far = (10**13, 10**30, -(10**30))
        assert await world.not_refused(lambda bad: world.enqueue("a", at=bad), far) == []
        assert await world.not_refused(lambda bad: world.store.change("a", Rescheduled(bad)), far) == []

    async def test_definitions_are_not_changed_by_a_persons_word(self, world: World) -> None:
        """`change` is for pauses, moves and backfills; definitions have their own way, and their source (S50)."""
        await fill(world)
        changes = Deleted(SOURCE), Updated((await world.schedule("a")).definition)
        assert await world.not_refused(lambda bad: world.store.change("a", bad), changes) == []

    async def test_only_code_people_and_steps_enqueue(self, world: World) -> None:
        """What a schedule makes is made by a pass, under its keys (S1)."""
        await fill(world)
        triggers = set(Trigger) - {Trigger.ENQUEUE, Trigger.MANUAL, Trigger.STEP}
        assert await world.not_refused(lambda bad: world.enqueue("b", trigger=bad), triggers) == []

    async def test_limits_that_limit_to_nothing(self, world: World) -> None:
        """A limit is a number above 0, or none."""
        limits = [(0, None), (-1, None), (None, 0.0), (None, -1.0), (None, math.nan)]
        assert await world.not_refused(lambda bad: world.store.limit(QueueLimit("default", *bad)), limits) == []

    async def test_pages_that_cannot_be(self, world: World) -> None:
        """Of no rows, of far too many, or after what no page gave."""
        await fill(world)
        assert await world.not_refused(lambda bad: world.insights.runs(limit=bad), (0, -1, 10**9)) == []
        keys = ["abc", "\0", "[1]"]
        assert await world.not_refused(lambda bad: world.insights.runs(after=bad), keys) == []
        assert await world.not_refused(lambda bad: world.insights.decisions(after=bad), keys) == []

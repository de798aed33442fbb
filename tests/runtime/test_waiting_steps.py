"""Runs that wait for their children: what is repeated and what is not, when workers die and stores fail (S74)."""

from typing import Any

import pytest

from tickwise import AsyncTickwise
from tickwise.core.errors import ConflictError
from tickwise.core.settle import Waits
from tickwise.runtime.execution import Execution
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.records import (
    Enqueue,
    Enqueued,
    Finish,
    Lease,
    LeaseRequest,
    Node,
    Role,
    RunFilter,
    RunRow,
    StepReport,
)

from ..support.app import Clock, patiently

LOAD = {"name": "load", "job": "child"}
ASK = {"name": "ok", "approve": {"timeout": "1h"}}


class Place:
    """An app on a moved clock, with a job that has a child, and a worker whose turns are taken by hand."""

    def __init__(self, app: AsyncTickwise, clock: Clock) -> None:
        self.app = app
        self.clock = clock

    @classmethod
    async def open(cls, *steps: dict[str, Any], child: dict[str, Any] | None = None, **job: Any) -> "Place":
        clock = Clock()
        place = cls(AsyncTickwise("memory://", clock=clock, allow_commands=True), clock)
        await place.app.schedules.add("child", schedule="@yearly", **(child or {"command": "true"}))
        await place.app.schedules.add("parent", schedule="@yearly", steps=list(steps) or [LOAD], **job)
        await place.app.enqueue("parent")
        return place

    async def lease(self, node: str = "w1") -> Lease:
        """The one run that can be leased."""
        store = await self.app.store()
        await store.beat(Node(node, (Role.WORKER,), queues=("default",), seconds=10**6))
        (lease,) = await store.lease(LeaseRequest(node, 10))
        return lease

    async def execute(self, lease: Lease, *, finish: bool = True) -> Any:
        """Execute an attempt, and store its end; or die before."""
        store = await self.app.store()
        execution = Execution(store, {}, commands=lambda: ("*",))
        ended = await execution.run(lease)
        await execution.flush([Finish(lease.id, lease.token, ended.outcome)])
        if finish:
            await store.finish([Finish(lease.id, lease.token, ended.outcome, ended.result, ended.error)])
        return ended.outcome

    async def die(self) -> None:
        """The worker vanishes, and what it held goes back to the queue."""
        self.clock.advance(60)
        await (await self.app.store()).expire()

    async def children(self) -> list[RunRow]:
        return list((await (await self.app.store()).insights.runs(RunFilter(job="child"))).items[::-1])

    async def state(self) -> tuple[str, int]:
        run = await self.app.runs.get("1")
        return run.state, run.attempt


@patiently
async def test_a_worker_that_dies_after_it_began_the_child() -> None:
    """S74: the next attempt adopts the child that runs, and does not begin another."""
    place = await Place.open()
    await place.execute(await place.lease(), finish=False)
    await place.die()
    await place.app.drain()
    await place.app.drain()
    assert [child.state for child in await place.children()] == ["succeeded"]
    assert await place.state() == ("succeeded", 2)


@patiently
async def test_a_child_that_failed_while_nobody_looked() -> None:
    """S74: the step of the next attempt is another one, so it begins a new child."""
    place = await Place.open(child={"command": "false"})
    await place.execute(await place.lease(), finish=False)
    await place.execute(await place.lease("w2"))
    await place.die()
    await place.app.drain()
    assert [child.state for child in await place.children()] == ["failed", "failed"]
    assert await place.state() == ("failed", 2)


@pytest.mark.parametrize("done", [False, True])
@patiently
async def test_the_answer_to_the_enqueue_is_lost(*, done: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """S74: the key is kept before, so the step finds the child that it has begun, or begins it later."""
    place = await Place.open()
    store = await place.app.store()
    enqueue = store.enqueue

    async def fail(asked: list[Enqueue], connection: Any = None) -> tuple[Enqueued, ...]:
        if done:
            await enqueue(asked, connection)
        raise StoreUnavailableError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(store, "enqueue", fail)
        assert isinstance(await place.execute(await place.lease()), Waits)
    assert len(await place.children()) == done
    place.clock.advance(60)
    for _ in range(2):
        await place.app.drain()
    assert [child.state for child in await place.children()] == ["succeeded"]
    assert await place.state() == ("succeeded", 1)


@patiently
async def test_an_old_worker_begins_no_child() -> None:
    """S42, S74: a worker that has lost its lease cannot keep the key, so it does not enqueue."""
    place = await Place.open()
    lease = await place.lease()
    await place.die()
    await place.execute(lease, finish=False)
    assert await place.children() == []


@patiently
async def test_a_child_that_is_cancelled_before_it_begins() -> None:
    """S74: no worker hears of it, and yet the parent goes on at once."""
    place = await Place.open()
    await place.execute(await place.lease())
    (child,) = await place.children()
    await place.app.runs.cancel(child.id)
    lease = await place.lease()
    assert lease.job.name == "parent"
    await place.execute(lease)
    run = await place.app.runs.get("1")
    assert (run.state, run.error) == ("failed", f"run {child.id} of child is cancelled")


@patiently
async def test_a_lost_wake_up() -> None:
    """S15, S74: nobody tells the parent of the end, and it looks again by itself; its attempt stays the first."""
    place = await Place.open(at_most_once=True)
    await place.execute(await place.lease())
    run = await place.app.runs.get("1")
    assert (run.state, run.waits_for, run.waits) == ("queued", "run 2 of child", ("It waits for run 2 of child.",))
    child = await place.lease()
    place.clock.advance(1)
    assert isinstance(await place.execute(await place.lease()), Waits)
    await place.execute(child)
    place.clock.advance(60)
    await place.execute(await place.lease())
    assert await place.state() == ("succeeded", 1)


@patiently
async def test_what_has_ended_is_not_repeated() -> None:
    """S74: a failure that is told again and again while the run waits was executed once."""
    side = {"name": "side", "script": "echo once; false", "continue_on": ["failed"]}
    checked = [{"command": "true"}]
    after = {"name": "after", "depends": ["side", "load"], "command": "true"}
    place = await Place.open(LOAD, side, after, preconditions=checked)
    await place.execute(await place.lease())
    child = await place.lease()
    for _ in range(3):
        place.clock.advance(60)
        await place.execute(await place.lease())
    await place.execute(child)
    place.clock.advance(60)
    await place.app.drain()
    store = await place.app.store()
    assert [part.text for part in (await store.insights.log("1")).items if part.stream == "stdout"] == ["once\n"]
    assert [step.state for step in await store.insights.steps("1")] == ["succeeded", "failed", "succeeded"]
    assert await place.state() == ("succeeded", 1)


@patiently
async def test_a_step_that_waits_too_long() -> None:
    """S74: its timeout counts the waiting; the child is cancelled."""
    place = await Place.open({**LOAD, "timeout": "30s"})
    await place.execute(await place.lease())
    child = await place.lease()
    for _ in range(2):
        place.clock.advance(60)
        leased = await (await place.app.store()).lease(LeaseRequest("w1", 10))
        for lease in leased:
            await place.execute(lease)
    run = await place.app.runs.get("1")
    assert (run.state, run.error) == ("failed", "the step timed out after 30s")
    assert (await place.app.runs.get(child.id)).cancelling


@patiently
async def test_a_child_that_is_not_kept() -> None:
    """S51, S74: nobody knows how it ended, so the step fails and says so; no second child begins."""
    place = await Place.open(child={"command": "true", "keep": {"days": 1}})
    await place.execute(await place.lease())
    await place.execute(await place.lease())
    place.clock.advance(3 * 86_400)
    store = await place.app.store()
    while await store.prune():
        pass
    await place.execute(await place.lease())
    assert "run 2 of child is not kept any longer" in (await place.app.runs.get("1")).error
    assert await place.children() == []


@pytest.mark.parametrize("answered", ["before it dies", "after it died"])
@patiently
async def test_a_worker_that_dies_while_it_asks(answered: str) -> None:
    """S75: the next attempt goes on with the same question, so an answer counts whenever it comes."""
    place = await Place.open(ASK)
    await place.execute(await place.lease(), finish=False)
    if answered == "before it dies":
        await place.app.runs.approve("1", by="ann")
    await place.die()
    if answered == "after it died":
        await place.app.runs.approve("1", by="ann")
    await place.execute(await place.lease("w2"))
    assert await place.state() == ("succeeded", 2)


@patiently
async def test_a_worker_that_dies_after_it_has_read_the_answer() -> None:
    """S75: what was rejected stays so in the next attempt; nobody is asked again."""
    place = await Place.open(ASK, retry={"limit": 2})
    await place.execute(await place.lease())
    await place.app.runs.reject("1", by="bob", reason="no")
    store = await place.app.store()
    execution = Execution(store, {}, commands=lambda: ("*",))
    await execution.run(await place.lease())  # its report and its end are lost
    await place.die()
    await place.execute(await place.lease("w2"))
    assert await place.state() == ("failed", 2)
    assert (await place.app.runs.get("1")).error == "rejected by bob: no"


@patiently
async def test_an_old_worker_asks_nobody() -> None:
    """S42, S75: a worker that has lost its lease cannot keep the question, so nobody can answer it."""
    place = await Place.open(ASK)
    lease = await place.lease()
    await place.die()
    await place.execute(lease, finish=False)
    with pytest.raises(ConflictError, match="waits for no approval"):
        await place.app.runs.approve("1", by="ann")


@patiently
async def test_a_person_and_the_timeout_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """S75: the person whose answer counts is not overruled by a worker that finds the time over."""
    place = await Place.open(ASK)
    await place.execute(await place.lease())
    place.clock.advance(3_600)
    store = await place.app.store()
    answer_step = store.answer_step

    async def after_ann(run: str, answer: StepReport) -> bool:
        monkeypatch.undo()
        await place.app.runs.approve("1", by="ann")
        return await answer_step(run, answer)

    lease = await place.lease()
    monkeypatch.setattr(store, "answer_step", after_ann)
    await place.execute(lease)
    assert await place.state() == ("succeeded", 1)
    page = await store.access.audit("1")
    assert [(row.who, row.action) for row in page.items] == [("ann", "run.approve")]


@patiently
async def test_the_answer_to_an_answer_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """S75: the store does not answer while the step looks; it looks again, and nothing is decided meanwhile."""
    place = await Place.open(ASK)
    await place.execute(await place.lease())
    place.clock.advance(60)
    lease = await place.lease()
    store = await place.app.store()
    steps, calls = store.insights.steps, iter([True])

    async def fail(run: str) -> Any:
        if next(calls, None):
            return await steps(run)  # of the worker, before the step looks
        raise StoreUnavailableError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(store.insights, "steps", fail)
        assert isinstance(await place.execute(lease), Waits)
    assert (await place.app.runs.get("1")).waits_for == "the store (gone)"
    await place.app.runs.approve("1", by="ann")
    await place.execute(await place.lease())
    assert await place.state() == ("succeeded", 1)

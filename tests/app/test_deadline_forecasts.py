"""Forecasts of deadlines through the public face: where they are shown, and that a warning is told once (S65)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from tickwise import AsyncTickwise
from tickwise.app import deadline_forecasts
from tickwise.app.deadline_forecasts import DeadlineForecasts, forecasts_of
from tickwise.app.deadline_warnings import DeadlineWarnings
from tickwise.app.operations import Operations
from tickwise.core.attention import Cause
from tickwise.core.definition import After
from tickwise.core.model import Pause
from tickwise.core.settle import Failed
from tickwise.core.time_limit import Deadline, TimeLimit
from tickwise.runtime.notifications.notice import Notice, Occasion
from tickwise.runtime.notifications.notifier import Notifier, Subscription
from tickwise.sources.defaults import NO_DEFAULTS
from tickwise.stores.records import Node, Role, ScheduleFilter
from tickwise.testing.conformance.world import World, job, schedule

from ..support.app import Clock, patiently

HOUR = 3_600
IN_HALF_AN_HOUR = Deadline(finish=TimeLimit(1_800), warn=0.2)


class Mailbox:
    """A channel that keeps what it is given."""

    name = "mailbox"

    def __init__(self) -> None:
        self.got: list[Notice] = []

    async def send(self, notice: Notice, _second: int) -> None:
        self.got.append(notice)


@asynccontextmanager
async def place(url: str, clock: Clock) -> AsyncIterator[tuple[AsyncTickwise, World]]:
    """`extract` each hour, and `settle` after it; of twelve runs of `extract` the last four took 40 minutes."""
    async with AsyncTickwise(url, clock=clock) as app:
        world = World(await app.store(), clock)
        await world.begin()
        node = Node("w1", (Role.TICKER, Role.WORKER), host="here", queues=("default",), capacity=5, seconds=10**9)
        await world.store.beat(node)
        needs: dict[str, Any] = {"after": (After("extract", HOUR),), "wait_for": 3_000}
        await world.define(
            job("extract", "0 * * * *"), job("settle", "0 * * * *", deadline=IN_HALF_AN_HOUR, **needs)
        )
        for hour in range(1, 13):
            await world.pass_time(f"{hour:02}:00")
            lease = await world.start()
            await world.pass_time(f"{hour:02}:{5 if hour <= 8 else 40:02}")
            await world.end(lease)
            await world.pass_time(f"{hour:02}:{6 if hour <= 8 else 41:02}")
            await world.work()
        yield app, world


@patiently
async def test_where_a_forecast_is_shown(url: str, clock: Clock) -> None:
    """S65: attention and `why` name the probability and the cause, and nothing of other schedules."""
    async with place(url, clock) as (app, _):
        operations = Operations(await app.opened(), lambda: NO_DEFAULTS)
        found = await operations.deadline_forecasts()
        assert [(each.schedule, each.warn) for each in found] == [("settle", 0.2)]
        assert found[0].probability is not None
        assert 0.2 < found[0].probability < 0.5
        assert found[0].causes[0].text == "extract runs late"
        status = await operations.status(None, 100)
        risks = [item for item in status.items if item.kind is Cause.AT_RISK]
        late = [item for item in status.items if item.kind is Cause.LATE]
        assert len(risks) + len(late) == 1, "one cause for a schedule"
        why = await app.why("settle")
        assert any("with probability 0." in note and "because extract runs late" in note for note in why.notes)
        assert not any("probability" in note for note in (await app.why("extract")).notes)
        assert await operations.deadline_forecasts() is found, "it is good for a minute"


@patiently
async def test_attention_names_a_deadline_at_risk(url: str, clock: Clock) -> None:
    """S65: of a schedule of which nothing else is said, and only to those who see its job."""
    async with place(url, clock) as (app, world):
        operations = Operations(await app.opened(), lambda: NO_DEFAULTS)
        await world.pass_time("13:00")
        await world.work()
        await world.pass_time("13:01")
        await world.work()
        await world.define(job("idle", "0 1 1 1 *"))
        status = await operations.status(None, 100)
        [item] = [item for item in status.items if item.subject.name == "settle"]
        assert item.kind is Cause.AT_RISK
        assert item.text.startswith("will miss 30m after its slot with probability 0.")
        assert item.counts["percent"] >= 20
        assert (await operations.status(lambda job: job == "idle", 100)).items == ()


@patiently
async def test_a_warning_is_told_once_by_two_nodes(url: str, clock: Clock) -> None:
    """S65: before the deadline, once for each slot, however often and by whichever node it is found."""
    async with place(url, clock) as (_, world):
        box = Mailbox()
        nodes = []
        for mark in ("n1", "n2"):
            notifier = Notifier(world.store, mark, [Subscription(box, frozenset(Occasion))])
            await notifier.turn()
            nodes.append((notifier, DeadlineWarnings(world.store, notifier)))
        box.got.clear()
        for _ in range(3):
            for notifier, warnings in nodes:
                assert await warnings.turn() > 0
                await notifier.turn()
        [told] = [one for one in box.got if "will miss" in one.text]
        assert told.text.endswith("because extract runs late")
        body = told.body()
        assert (body["event"], body["job"], body["slot"]) == ("deadline", "settle", "2026-01-01T13:00:00Z")
        assert body["deadline"] == "2026-01-01T13:30:00Z"
        assert body["causes"][0] == "extract runs late"


@patiently
async def test_nobody_is_warned_who_did_not_ask(url: str, clock: Clock) -> None:
    """S65: without `warn` a forecast is shown, and not told."""
    async with place(url, clock) as (_, world):
        quiet = replace(IN_HALF_AN_HOUR, warn=None)
        await world.define(
            job("settle", "0 * * * *", deadline=quiet, after=(After("extract", HOUR),), wait_for=3_000)
        )
        box = Mailbox()
        notifier = Notifier(world.store, "n1", [Subscription(box, frozenset(Occasion))])
        await DeadlineWarnings(world.store, notifier).turn()
        await notifier.turn()
        assert not [one for one in box.got if "will miss" in one.text]
        assert len(await DeadlineForecasts(world.store).current()) == 1


@patiently
async def test_what_is_not_known_is_said(url: str, clock: Clock) -> None:
    """S65: too few runs, no worker, a pause of everything, and a job that needs one that is not there."""
    async with place(url, clock) as (_, world):
        rows = (await world.insights.schedules(ScheduleFilter(deadline=True))).items
        await world.define(job("new", "30 * * * *", deadline=IN_HALF_AN_HOUR, queue="other"))
        beside = schedule("also.2", "@daily", after=(After("new", 5),))
        await world.define(job("also", "30 * * * *", deadline=IN_HALF_AN_HOUR, also=[beside]))
        await world.pass_time("12:42")
        every = await forecasts_of(
            world.store, (await world.insights.schedules(ScheduleFilter(deadline=True))).items
        )
        assert {each.schedule: each.unknown for each in every if each.schedule != "settle"} == {
            "new": "also has no past runs of the 10 it takes", "also": "also has no past runs of the 10 it takes",
        }  # fmt: skip
        await world.store.pause(Pause(0, "ann"))
        assert await forecasts_of(world.store, rows) == ()


@patiently
async def test_runs_of_every_kind_are_read(url: str, clock: Clock) -> None:
    """S65: one that goes on, one by hand, one that failed, and one that was tried again."""
    async with place(url, clock) as (_, world):
        await world.pass_time("13:00")
        lease = await world.start()
        await world.pass_time("13:20")
        rows = (await world.insights.schedules(ScheduleFilter(deadline=True))).items
        [late] = await forecasts_of(world.store, rows)
        assert late.probability is not None
        assert late.probability > 0.5
        await world.end(lease, Failed())
        await world.trigger("extract")
        await world.work()
        await world.pass_time("13:21")
        [again] = await forecasts_of(world.store, rows)
        assert again.at == late.at


@patiently
async def test_only_the_nearest_deadlines_are_played(url: str, clock: Clock, monkeypatch: Any) -> None:
    """S65: what a forecast costs is bounded, however many schedules have one."""
    monkeypatch.setattr(deadline_forecasts, "_MAX_SCHEDULES", 1)
    async with place(url, clock) as (_, world):
        await world.define(job("later", "45 * * * *", deadline=IN_HALF_AN_HOUR))
        await world.pass_time("12:50")
        found = await DeadlineForecasts(world.store).current()
        assert [each.schedule for each in found] == ["later"]

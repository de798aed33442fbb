"""The notifier: what people are told of, once, by whoever is first, however often the receiver fails."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest
import structlog

from tickwise.core.definition import RetryPolicy
from tickwise.core.settle import Failed, Waits
from tickwise.core.step_waits import StepWait
from tickwise.core.time_limit import Deadline, TimeLimit
from tickwise.runtime import change_feed
from tickwise.runtime.notifications import notifier as notifier_module
from tickwise.runtime.notifications.channels import Channel, UndeliveredError
from tickwise.runtime.notifications.notice import Notice, Occasion
from tickwise.runtime.notifications.notifier import _RETRY_DELAYS, Notifier, Subscription
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.records import StepReport
from tickwise.testing.conformance.world import HOURLY, World, job

from ..support.app import new_world, patiently

BOOM = Failed()


class Mailbox:
    """A channel that keeps what it is given, and refuses as often as it is told."""

    name = "mailbox"

    def __init__(self, refusals: int = 0) -> None:
        self.got: list[Notice] = []
        self.refusals = refusals

    async def send(self, notice: Notice, second: int) -> None:
        assert second > 0
        if self.refusals:
            self.refusals -= 1
            raise UndeliveredError("full")
        self.got.append(notice)

    @property
    def told(self) -> list[str]:
        return [notice.text for notice in self.got]


@pytest.fixture
def logged() -> Iterator[list[dict[str, object]]]:
    with structlog.testing.capture_logs() as entries:
        yield cast(list[dict[str, object]], entries)


def notifier(
    world: World, *channels: Channel, mark: str = "n1", on: frozenset[Occasion] | None = None
) -> Notifier:
    return Notifier(world.store, mark, [Subscription(channel, on or frozenset(Occasion)) for channel in channels])


async def run_once(world: World, name: str, error: str = "") -> str:
    """A run of a job from the queue to its end: a failure, if it has an error."""
    run = await world.enqueue(name)
    lease = await world.start()
    await (world.end(lease, BOOM, error=error) if error else world.end(lease))
    world.clock.advance(1)
    return run


@patiently
async def test_a_failure_is_told_once() -> None:
    """A21: with the first line of its error, and not again at the next turn."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    run = await run_once(world, "etl", "LookupError: no such table\nTraceback …\nsecond line")
    teller = notifier(world, box)
    for _ in range(3):
        await teller.turn()
    assert box.told == ["etl failed: LookupError: no such table"]
    body = box.got[0].body()
    assert (body["event"], body["job"], body["schedule"], body["run"], body["state"], body["attempt"]) == (
        "failure", "etl", None, run, "failed", 1,
    )  # fmt: skip
    assert body["error"] == "LookupError: no such table\nTraceback …\nsecond line"


@patiently
async def test_a_failure_that_is_tried_again_is_none() -> None:
    """Only the last try counts, and a loss of the run does (S44)."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl", retry=RetryPolicy(limit=1, interval=1)), job("once", at_most_once=True))
    teller = notifier(world, box)
    await world.enqueue("etl")
    await world.end(await world.start(), BOOM)
    await teller.turn()
    assert box.told == []
    world.clock.advance(2)
    await world.end(await world.start(), BOOM)
    await world.enqueue("once")
    await world.lease(seconds=30)
    world.clock.advance(31)
    await world.store.expire()
    await teller.turn()
    assert [text.split(":")[0] for text in box.told] == ["etl failed", "once lost"]


@patiently
async def test_the_first_success_after_a_failure_is_a_recovery() -> None:
    """One success is told, not every one; and none that follows a success."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"), job("mail"))
    teller = notifier(world, box)
    for name, error in (("mail", ""), ("etl", "x"), ("mail", ""), ("etl", "y"), ("etl", ""), ("etl", "")):
        await run_once(world, name, error)
        await teller.turn()
    assert box.told == ["etl failed: x", "etl failed: y", "etl is well again"]


@patiently
async def test_a_recovery_is_known_after_a_restart() -> None:
    """Also if the failure was told by another process, days ago."""
    world = await new_world()
    await world.define(job("etl"))
    await run_once(world, "etl", "x")
    world.go("3T00:00")
    box = Mailbox()
    teller = notifier(world, box, mark="n2")
    await teller.turn()
    assert box.told == []
    await run_once(world, "etl")
    await teller.turn()
    assert box.told == ["etl is well again"]


@patiently
async def test_a_run_that_was_put_back_recovers() -> None:
    """The same run may fail, and succeed when a person runs it again; or fail, which is told again (S41)."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    teller = notifier(world, box)
    run = await run_once(world, "etl", "x")
    await teller.turn()
    for error in ("y", ""):
        await world.store.retry(run)
        lease = await world.start()
        await (world.end(lease, BOOM, error=error) if error else world.end(lease))
        world.clock.advance(1)
        await teller.turn()
    assert box.told == ["etl failed: x", "etl failed: y", "etl is well again"]


@patiently
async def test_missed_slots_are_told_once_for_all_in_a_row() -> None:
    """With their number, the reason and what to do; a record that grows is not told again (S7, S10)."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl", "*/10 * * * *", catchup="skip"))
    teller = notifier(world, box)
    for time in ("00:25", "00:35"):
        world.go(time)
        await world.tick()
        await teller.turn()
    (told,) = box.told
    assert told.startswith("etl missed 2 slots from 2026-01-01T00:10:00Z to 2026-01-01T00:20:00Z: nothing looked")
    body = box.got[0].body()
    assert (body["event"], body["job"], body["reason"], body["count"]) == ("missed", "etl", "missed", 2)
    assert "catchup" in body["advice"]


@patiently
async def test_a_deadline_that_was_missed_is_told() -> None:
    """S65: with the slot, the deadline and what to do; whether its run goes on or never came to be."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl", HOURLY, deadline=Deadline(finish=TimeLimit(600))))
    teller = notifier(world, box)
    await teller.turn()
    for time in ("01:00", "01:09", "01:10", "01:20"):
        await world.pass_time(time)
        await teller.turn()
    why = "its work was not done by its deadline, 10m after its slot"
    assert box.told == [f"etl missed its deadline for 2026-01-01T01:00:00Z: {why}"]
    body = box.got[0].body()
    assert (body["event"], body["job"], body["reason"]) == ("deadline", "etl", "late_finish")


@patiently
async def test_people_choose_what_they_are_told_of() -> None:
    """Other occasions are passed over."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    teller = notifier(world, box, on=frozenset({Occasion.RECOVERY}))
    await run_once(world, "etl", "x")
    await run_once(world, "etl")
    await teller.turn()
    assert box.told == ["etl is well again"]


@patiently
async def test_one_of_many_nodes_tells() -> None:
    """All nodes see it, one sends it, by each channel."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    tellers = [notifier(world, box, mark=f"n{number}") for number in range(5)]
    for _ in range(3):
        await run_once(world, "etl", "x")
        await asyncio.gather(*(teller.turn() for teller in tellers))
    assert len(box.told) == 3


@patiently
async def test_a_restart_neither_loses_nor_repeats() -> None:
    """What happened while nobody was there is told; what was told before is not, within an hour."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    await run_once(world, "etl", "before")
    await notifier(world, box, mark="old").turn()
    await run_once(world, "etl", "meanwhile")
    world.clock.advance(3_000)
    again = notifier(world, box, mark="new")
    await again.turn()
    await again.turn()
    assert box.told == ["etl failed: before", "etl failed: meanwhile"]
    world.clock.advance(3_600)
    await notifier(world, box, mark="late").turn()
    assert len(box.told) == 2


@patiently
async def test_who_dies_on_the_way_is_stood_in_for() -> None:
    """A notice that somebody has claimed and not sent is sent by another, when the claim has run out."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    run = await run_once(world, "etl", "x")
    await world.store.access.claim(f"notify failure {run} 1 mailbox", "dead", 600)
    teller = notifier(world, box)
    for _ in range(3):
        await teller.turn()
        world.clock.advance(60)
    assert box.told == []
    world.clock.advance(600)
    await teller.turn()
    assert box.told == ["etl failed: x"]


@patiently
async def test_a_receiver_that_fails_is_asked_again() -> None:
    """After a while that grows, and by the same node; meanwhile the others wait for it."""
    world, box = await new_world(), Mailbox(refusals=2)
    await world.define(job("etl"))
    await run_once(world, "etl", "x")
    teller, other = notifier(world, box), notifier(world, Mailbox(), mark="n2")
    turns = []
    for _ in range(12):
        await teller.turn()
        await other.turn()
        turns.append(len(box.told))
        world.clock.advance(1)
    assert turns == [0] * 10 + [1, 1], "after 2 and then after 8 seconds"


@patiently
async def test_a_receiver_that_always_fails_is_given_up(logged: list[dict[str, object]]) -> None:
    """After so many tries a line in the log says so, and nobody tries again."""
    world, box = await new_world(), Mailbox(refusals=1_000)
    await world.define(job("etl"))
    await run_once(world, "etl", "x")
    teller = notifier(world, box)
    for seconds in (*_RETRY_DELAYS, 1, 1):
        await teller.turn()
        world.clock.advance(seconds)
    assert box.refusals == 1_000 - len(_RETRY_DELAYS) - 1
    (line,) = [line for line in logged if line["event"] == "notice given up"]
    assert (line["error"], line["way"], line["tries"]) == ("full", "mailbox", 6)
    await notifier(world, box, mark="n2").turn()
    assert box.refusals == 1_000 - len(_RETRY_DELAYS) - 1


class Faulty:
    name = "faulty"

    async def send(self, notice: Notice, second: int) -> None:
        raise ValueError(f"hush {notice.key} {second}")


@patiently
async def test_a_channel_that_breaks_holds_up_nobody(logged: list[dict[str, object]]) -> None:
    """Whatever it raises, the other way is used, and the log names only what kind of error it was."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    await run_once(world, "etl", "x")
    teller = notifier(world, Faulty(), box)
    for seconds in (*_RETRY_DELAYS, 1):
        await teller.turn()
        world.clock.advance(seconds)
    assert box.told == ["etl failed: x"]
    assert [line["error"] for line in logged if line["event"] == "notice given up"] == ["ValueError"]


class Part:
    """A part of a store, of which one operation can be cut off."""

    def __init__(self, inner: object) -> None:
        self.inner, self.cut = inner, ""

    def __getattr__(self, name: str) -> Any:
        if name == self.cut:
            raise StoreUnavailableError("the cable is out")
        return getattr(self.inner, name)


class Shaky(Part):
    """A store with such parts."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.insights, self.access = Part(store.insights), Part(store.access)


@patiently
async def test_a_store_that_fails_repeats_nothing() -> None:
    """What was sent and could not be written down is written down later, and not sent again."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    await run_once(world, "etl", "x")
    store = Shaky(world.store)
    teller = Notifier(cast(Store, store), "n1", [Subscription(box, frozenset(Occasion))])
    store.access.cut = "answer"
    with pytest.raises(StoreUnavailableError):
        await teller.turn()
    store.access.cut = ""
    await teller.turn()
    await notifier(world, box, mark="n2").turn()
    assert box.told == ["etl failed: x"]


@patiently
async def test_a_store_that_fails_loses_nothing() -> None:
    """What was seen and could not be looked into is looked into at the next turn."""
    world, box = await new_world(), Mailbox()
    store = Shaky(world.store)
    await world.define(job("etl"))
    teller = Notifier(cast(Store, store), "n1", [Subscription(box, frozenset(Occasion))])
    await teller.turn()
    for error in ("x", "", "y"):
        await run_once(world, "etl", error)
    store.insights.cut = "runs"
    with pytest.raises(StoreUnavailableError):
        await teller.turn()
    store.insights.cut = ""
    await teller.turn()
    assert box.told == ["etl failed: x", "etl is well again", "etl failed: y"]


@patiently
async def test_a_flood_takes_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """While as much is open as may be, nothing new is looked for; in the end all of it is told."""
    monkeypatch.setattr(change_feed, "_FIRST_LIMIT", 5)
    monkeypatch.setattr(change_feed, "_MAX_LIMIT", 5)
    monkeypatch.setattr(notifier_module, "_MAX_OPEN", 5)
    monkeypatch.setattr(notifier_module, "_CONCURRENT_SENDS", 2)
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    teller = notifier(world, box)
    await teller.turn()
    for _ in range(25):
        await run_once(world, "etl", "x")
    while await teller.turn() == 0:
        assert len(teller._open) < 10
    assert len(box.told) == 25


@patiently
async def test_recoveries_while_nobody_was_there() -> None:
    """Failure and recovery of an hour are told in their order; who was well in between is not well again twice."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"), job("mail"))
    for name, error in (("etl", "x"), ("mail", "y"), ("etl", ""), ("etl", "")):
        await run_once(world, name, error)
    teller = notifier(world, box)
    await teller.turn()
    assert box.told == ["etl failed: x", "mail failed: y", "etl is well again"]
    await run_once(world, "etl")
    await run_once(world, "mail")
    await teller.turn()
    assert box.told[3:] == ["mail is well again"]


@patiently
async def test_missed_slots_while_nobody_was_there() -> None:
    """The same for slots that were missed within the hour, and not for older ones."""
    world = await new_world()
    await world.define(job("etl", HOURLY, catchup="skip"))
    world.go("01:30")
    await world.tick()
    for time, told in (("02:00", 1), ("03:00", 0)):
        world.go(time)
        box = Mailbox()
        await notifier(world, box, mark=time, on=frozenset({Occasion.MISSED})).turn()
        assert len(box.told) == told
        await world.store.access.answer("notify missed etl missed 1767229200 mailbox", "sent")


@patiently
async def test_a_node_that_was_cut_off_for_long_begins_anew() -> None:
    """What it has not seen for more than an hour the others have told."""
    world, box = await new_world(), Mailbox()
    await world.define(job("etl"))
    teller = notifier(world, box)
    await teller.turn()
    await run_once(world, "etl", "long ago")
    world.clock.advance(7_200)
    await run_once(world, "etl", "now")
    await teller.turn()
    assert box.told == ["etl failed: now"]


@patiently
async def test_a_channel_that_fails_is_known_at_once(logged: list[dict[str, object]]) -> None:
    """The first try that fails is logged, and the channel is named until a notice arrives over it (A29)."""
    world, box = await new_world(), Mailbox(refusals=2)
    await world.define(job("etl"))
    await run_once(world, "etl", "boom")
    teller = notifier(world, box)
    await teller.turn()
    assert teller.undelivered == ("mailbox: full",)
    for delay in _RETRY_DELAYS[:2]:
        world.clock.advance(delay)
        await teller.turn()
    assert (list(teller.undelivered), len(box.got)) == ([], 1)
    failures = [line for line in logged if str(line["event"]).startswith("notice did not arrive")]
    assert [line["error"] for line in failures] == ["full"]


ASKED = StepReport("ok", "waiting", waits_for=StepWait(1, 1_767_225_600, key="answer:1.1:ok", role="admin").text)


async def wait_for_approval(world: World) -> str:
    """A run whose step waits for an admin."""
    await world.define(job("release"))
    run = await world.enqueue("release")
    lease = await world.start()
    await world.store.report(lease.id, lease.token, [ASKED])
    await world.end(lease, Waits(60), error="step ok: an approval by an admin")
    return run


@patiently
async def test_an_approval_that_is_waited_for_is_told_once() -> None:
    """S75: with the command, or with the address of the run if that is known; not again after the answer."""
    world, box, other = await new_world(), Mailbox(), Mailbox()
    other.name = "other"
    run = await wait_for_approval(world)
    teller = notifier(world, box)
    linked = Notifier(world.store, "n2", [Subscription(other, {Occasion.APPROVAL})], "https://tickwise.example/")
    for _ in range(3):
        await teller.turn()
        await linked.turn()
    text = f"release, run {run}: the step ok waits for an approval by an admin: "
    assert box.told == [f"{text}tickwise runs approve {run} ok"]
    assert other.told == [f"{text}https://tickwise.example/#/runs/{run}?step=ok"]
    body = box.got[0].body()
    assert (body["event"], body["job"], body["run"], body["step"], body["role"], body["url"]) == (
        "approval", "release", run, "ok", "admin", None,
    )  # fmt: skip
    await world.store.answer_step(run, StepReport("answer:1.1:ok", "approve", outputs='{"by":"ann"}'))
    late = Mailbox()
    await notifier(world, late, mark="n3").turn()
    assert late.told == []


@patiently
async def test_an_approval_that_waits_for_long_is_not_told_again() -> None:
    """S75: a node that starts a day later tells nothing of it, nor does a channel for failures only."""
    world, box = await new_world(), Mailbox()
    await wait_for_approval(world)
    await notifier(world, box, on=frozenset({Occasion.FAILURE})).turn()
    world.clock.advance(2 * 86_400)
    await notifier(world, box).turn()
    assert box.told == []

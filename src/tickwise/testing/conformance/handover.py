"""Attempts that an engine executes: intent, gate, adoption, loss (S52-S56)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
from typing import Any

from ...core.definition import EngineUse, JobDefinition
from ...core.handover import (
    Accepted,
    Alive,
    Began,
    HandOver,
    Intended,
    ToldToEnd,
    Unheard,
    digest,
    reference_of,
)
from ...core.requirements import Offers
from ...core.settle import LeaseExpired, Lost
from ...core.states import Event, HandOverState, RunState
from ...stores.records import Enqueue, Expired, Lease, QueueLimit
from .stories import Stories
from .world import World, job, worker_node

WATCHER = Offers.of_watcher(["gpu"], ["*"])


def handed(name: str = "a", **given: Any) -> JobDefinition:
    """A job for the engine gpu."""
    return job(name, engine=EngineUse("gpu"), **given)


def record_of(lease: Lease, patience: int = 600) -> HandOver:
    reference = reference_of(lease.id, lease.attempt)
    return HandOver("gpu", reference, "print", lease.token, ticket="ticket", patience=patience)


async def hand_over(world: World, name: str = "a", **given: Any) -> Lease:
    """A run of the job that a watcher has leased, with the intent to order it."""
    await world.define(handed(name, **given))
    await world.enqueue(name)
    (lease,) = await world.lease(offers=WATCHER, seconds=30)
    assert await world.store.hand_over(lease.id, lease.token, Intended(record_of(lease))) == record_of(lease)
    return lease


class HandOverStories(Stories):
    async def test_a_reference_is_stored_before_anything_is_sent(self, world: World) -> None:
        """The run shows it, the same intent again changes nothing, and another is refused (S52)."""
        lease = await hand_over(world)
        record = record_of(lease)
        assert (await world.run(lease.id)).hand_over == record
        assert await world.store.hand_over(lease.id, lease.token, Intended(record)) == record
        other = Intended(record._replace(fingerprint="other"))
        assert await world.store.hand_over(lease.id, lease.token, other) is None
        assert await world.store.hand_over(lease.id, "old/1", Intended(record)) is None
        assert (await world.run(lease.id)).hand_over == record

    async def test_only_a_watcher_of_the_engine_gets_the_run(self, world: World) -> None:
        """A worker that has no such engine leaves it alone, and a watcher leaves local runs alone (S46)."""
        await world.define(handed(), job("local"))
        run, local = await world.enqueue("a"), await world.enqueue("local")
        assert [lease.id for lease in await world.lease()] == [local]
        assert await world.lease(offers=Offers.of_watcher(["cpu"], ["*"])) == ()
        other = await world.enqueue("local")
        assert [lease.id for lease in await world.lease(offers=WATCHER)] == [run]
        assert [lease.id for lease in await world.lease()] == [other]

    async def test_the_gate_lets_one_in(self, world: World) -> None:
        """Of many that ask at once, one begins; it may ask again, the others may not (S53)."""
        lease = await hand_over(world)
        assert await world.store.hand_over(lease.id, lease.token, Began("wrong", "claim 0")) is None
        claims = [f"claim {number}" for number in range(8)]
        answers = await asyncio.gather(
            *(world.store.hand_over(lease.id, lease.token, Began("ticket", claim)) for claim in claims)
        )
        ((winner, begun),) = [
            (claim, record) for claim, record in zip(claims, answers, strict=True) if record is not None
        ]
        assert (begun.state, begun.claim, begun.begun_at) == (HandOverState.BEGUN, digest(winner), world.micro)
        assert begun.ticket == begun.ticket_digest == digest("ticket")
        assert await world.store.hand_over(lease.id, lease.token, Began("ticket", winner)) == begun
        assert await world.store.hand_over(lease.id, lease.token, Began("ticket", "thief")) is None
        assert (await world.run(lease.id)).hand_over == begun

    async def test_a_run_that_was_cancelled_does_not_begin(self, world: World) -> None:
        """The gate and the cancellation are decided in one place: whichever came first counts (S53, S56)."""
        lease = await hand_over(world)
        await world.store.cancel(lease.id)
        assert await world.store.hand_over(lease.id, lease.token, Began("ticket", "claim")) is None
        ending = await world.store.hand_over(lease.id, lease.token, ToldToEnd())
        assert ending is not None
        assert ending.state is HandOverState.ENDING

    async def test_a_watcher_that_is_gone_loses_nothing(self, world: World) -> None:
        """Another adopts the run with attempt and token, and the first one is not its watcher any more (S54)."""
        lease = await hand_over(world)
        begun = await world.store.hand_over(lease.id, lease.token, Began("ticket", "claim"))
        asked = world.reservation(node="w2", offers=WATCHER, seconds=30)
        world.clock.advance(30)
        assert await world.store.adopt(asked) == ()
        world.clock.advance(0.001)
        assert await world.store.expire() == Expired()
        assert await world.store.adopt(asked._replace(offers=Offers.of_watcher(["cpu"]))) == ()
        assert await world.store.adopt(asked._replace(queues=("other",))) == ()
        (adopted,) = await world.store.adopt(asked)
        assert adopted == lease._replace(hand_over=begun)
        assert await world.store.adopt(asked._replace(node="w3")) == ()
        run = await world.run(lease.id)
        assert (run.state, run.node, run.attempt, run.losses) == (RunState.RUNNING, "w2", 1, 0)
        renewals = [
            await world.store.beat(worker_node(node), {lease.id: lease.token}, 30) for node in ("w1", "w2")
        ]
        assert [renewed.held for renewed in renewals] == [frozenset(), {lease.id}]
        await world.end(adopted)
        assert await world.is_fenced(lease)

    async def test_a_watcher_that_leaves_gives_its_runs_up(self, world: World) -> None:
        """Another adopts them at once, and keeps them; a run of a worker waits for its lease (S54, S42)."""
        lease = await hand_over(world)
        await world.define(job("local"))
        await world.enqueue("local")
        (local,) = await world.lease(seconds=30)
        await world.store.beat(worker_node("w1"), {lease.id: lease.token, local.id: local.token}, 30)
        await world.store.leave("w1")
        world.clock.advance(0.001)
        (adopted,) = await world.store.adopt(world.reservation(node="w2", offers=WATCHER, seconds=30))
        assert (adopted.id, adopted.token, adopted.attempt) == (lease.id, lease.token, lease.attempt)
        await world.store.leave("w1")
        renewed = await world.store.beat(worker_node("w2"), {lease.id: lease.token}, 30)
        assert renewed.held == {lease.id}
        assert await world.store.expire() == Expired()
        assert (await world.run(local.id)).state is RunState.RUNNING

    async def test_a_run_that_nobody_watches_is_lost_after_its_patience(self, world: World) -> None:
        """Until then no second attempt begins beside work that may go on; then a person decides (S54)."""
        lease = await hand_over(world)
        world.clock.advance(630)
        assert await world.store.expire() == Expired()
        world.clock.advance(0.001)
        assert await world.store.expire() == Expired(leases=1)
        run = await world.run(lease.id)
        assert (run.state, run.losses) == (RunState.LOST, 1)
        assert "no node has watched" in run.error
        assert "gpu" in run.error
        assert await world.is_fenced(lease)

    async def test_a_new_attempt_has_no_hand_over(self, world: World) -> None:
        """The record belongs to the attempt: the work of an old one cannot begin any more (S53)."""
        lease = await hand_over(world)
        await world.end(lease, LeaseExpired())
        assert (await world.run(lease.id)).state is RunState.QUEUED
        assert await world.store.hand_over(lease.id, lease.token, Began("ticket", "late")) is None
        (again,) = await world.lease(offers=WATCHER)
        assert (again.attempt, again.hand_over, (await world.run(lease.id)).hand_over) == (2, None, None)
        record = record_of(again)
        assert await world.store.hand_over(again.id, again.token, Intended(record)) == record
        assert [each.event for each in await world.insights.attempts(lease.id)] == [Event.LEASE_EXPIRED]

    async def test_the_work_learns_what_to_do(self, world: World) -> None:
        """The attempt that runs, as its watcher has leased it (S53); a run in another state has none."""
        await world.define(handed(params={"table": "orders"}))
        run = await world.enqueue("a", params={"day": 3})
        assert await world.store.attempt(run) is None
        (lease,) = await world.lease(offers=WATCHER, seconds=30)
        assert await world.store.attempt(run) == lease
        record = await world.store.hand_over(run, lease.token, Intended(record_of(lease)))
        assert await world.store.attempt(run) == lease._replace(hand_over=record)
        await world.define(handed(params={"table": "users"}))
        attempt = await world.store.attempt(run)
        assert attempt is not None
        assert (attempt.job.params, attempt.params) == ({"table": "orders"}, {"day": 3})
        await world.end(lease)
        assert await world.store.attempt(run) is None
        assert await world.store.attempt(str(int(run) + 1)) is None

    async def test_what_nobody_can_say_is_lost(self, world: World) -> None:
        """An engine that forgot its work ends the run as lost, without another attempt (S55)."""
        lease = await hand_over(world)
        settled = await world.end(lease, Lost(), error="gpu has forgotten it")
        run = await world.run(lease.id)
        assert (settled.state, run.state, run.error) == (RunState.LOST, RunState.LOST, "gpu has forgotten it")

    async def test_what_an_engine_says_is_kept(self, world: World) -> None:
        """Accepted with an address, unheard of, accepted again; signs of life only from the work that began."""
        lease = await hand_over(world)
        accepted = await world.store.hand_over(lease.id, lease.token, Accepted("http://gpu/1"))
        assert accepted is not None
        assert (accepted.state, accepted.address) == (HandOverState.ACCEPTED, "http://gpu/1")
        unheard = await world.store.hand_over(lease.id, lease.token, Unheard())
        assert unheard is not None
        assert unheard.state is HandOverState.INTENDED
        await world.store.hand_over(lease.id, lease.token, Began("ticket", "claim"))
        world.clock.advance(5)
        assert await world.store.hand_over(lease.id, lease.token, Alive("another")) is None
        alive = await world.store.hand_over(lease.id, lease.token, Alive("claim"))
        assert alive is not None
        assert alive.alive_at == world.micro
        assert (await world.run(lease.id)).hand_over == alive

    async def test_a_lost_answer_gives_the_hand_over_too(self, world: World) -> None:
        """A renewal that reports a run which its node does not know brings the record along (S54)."""
        lease = await hand_over(world)
        renewed = await world.store.beat(worker_node("w1"), {}, 30)
        assert renewed.unknown == (lease._replace(hand_over=record_of(lease)),)

    async def test_the_oldest_lease_is_adopted_first(self, world: World) -> None:
        """Watchers that ask at once get different runs, each as many as it has room for (S54)."""
        leases = []
        for name in "abcd":
            leases.append(await hand_over(world, name))
            world.clock.advance(1)
        world.clock.advance(30)
        first, *others = [
            world.store.adopt(world.reservation(number, node=f"w{number}", offers=WATCHER)) for number in (2, 1, 3)
        ]
        assert [lease.id for lease in await first] == [lease.id for lease in leases[:2]]
        adopted = [lease.id for got in await asyncio.gather(*others) for lease in got]
        assert sorted(adopted) == sorted(lease.id for lease in leases[2:])

    async def test_limits_do_not_keep_a_run_from_its_next_watcher(self, world: World) -> None:
        """The work has started and counts as started, whoever watches it (S46, S54)."""
        await world.store.limit(QueueLimit("default", concurrency=1))
        lease = await hand_over(world)
        waiting = await world.enqueue("a")
        world.clock.advance(31)
        request = world.reservation(2, node="w2", offers=WATCHER)
        assert [adopted.id for adopted in await world.store.adopt(request)] == [lease.id]
        assert await world.store.lease(request) == ()
        await world.end(lease)
        assert [leased.id for leased in await world.store.lease(request)] == [waiting]

    async def test_the_next_watcher_hears_of_a_cancellation(self, world: World) -> None:
        """Whoever was asked first, it is the run that was asked to end (S56)."""
        lease = await hand_over(world)
        await world.store.cancel(lease.id)
        world.clock.advance(31)
        await world.store.adopt(world.reservation(node="w2", offers=WATCHER))
        heard = [await world.store.beat(worker_node(node), {lease.id: lease.token}) for node in ("w1", "w2")]
        assert [renewed.cancel for renewed in heard] == [frozenset(), {lease.id}]

    async def test_an_attempt_that_was_not_handed_over_is_taken_back_at_once(self, world: World) -> None:
        """Nothing has left the process, so another attempt may begin; the patience of the one before is over."""
        lease = await hand_over(world)
        await world.end(lease, LeaseExpired())
        (again,) = await world.lease(offers=WATCHER, seconds=30)
        world.clock.advance(31)
        assert await world.store.adopt(world.reservation(node="w2", offers=WATCHER)) == ()
        assert await world.store.expire() == Expired(leases=1)
        assert await world.is_fenced(again)
        assert (await world.run(lease.id)).state is RunState.QUEUED

    async def test_runs_that_wait_for_a_watcher_keep_nobody_waiting(self, world: World) -> None:
        """However many they are, what vanished workers held is taken back (S42, S54)."""
        await world.define(handed(), job("local"))
        many = await world.store.enqueue([Enqueue("a") for _ in range(600)])
        leases = await world.lease(600, offers=WATCHER, seconds=30)
        assert len(leases) == len(many)
        for lease in leases:
            await world.store.hand_over(lease.id, lease.token, Intended(record_of(lease)))
        await world.enqueue("local")
        await world.lease(seconds=30)
        world.clock.advance(31)
        assert await world.store.expire() == Expired(leases=1)

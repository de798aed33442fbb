"""The keeper of leases: from a thread and a store of its own, whatever the event loop and the network do."""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

import pytest

from tickwise import AsyncTickwise
from tickwise.core.states import Event, RunState
from tickwise.runtime.heartbeat import Heartbeat, HeartbeatCallbacks
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.records import Node, Renewed, Role
from tickwise.testing.conformance.world import World, job

from ..support.app import Heard, Shaky, new_world, patiently

NODE = Node("n1", (Role.WORKER,), queues=("default",), seconds=30)
LONG = 10_000.0


class Held:
    """What a worker would hold, and what its keeper tells it; heard in the test's own loop."""

    def __init__(self) -> None:
        self.runs: dict[str, str] = {}
        self.heard: list[tuple[Mapping[str, str], Renewed]] = []
        self.lost = 0
        self.set_backs: list[tuple[int, int]] = []
        self.threads: set[str] = set()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()

    def upkeep(self) -> HeartbeatCallbacks:
        return HeartbeatCallbacks(
            lambda: NODE, lambda: True, lambda: dict(self.runs), self._renewed, self._lost, self._set_back
        )

    def _set_back(self, since: int, until: int) -> None:
        self.set_backs.append((since, until))

    def _renewed(self, asked: Mapping[str, str], renewed: Renewed) -> None:
        self.threads.add(threading.current_thread().name)
        self.heard.append((asked, renewed))
        self._loop.call_soon_threadsafe(self._news.set)

    def _lost(self) -> None:
        self.lost += 1
        self._loop.call_soon_threadsafe(self._news.set)

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._news.clear()
            await self._news.wait()


class Elapsed:
    """The seconds that have passed, as a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 1_000.0
        monkeypatch.setattr("tickwise.runtime.heartbeat.monotonic", lambda: self.seconds)


@asynccontextmanager
async def keeping(
    open_store: Callable[[], Store], held: Held, *, every: float = LONG, lease: int = 30
) -> AsyncIterator[Heartbeat]:
    keeper = Heartbeat(open_store, held.upkeep(), every=every, lease=lease)
    keeper.start()
    try:
        yield keeper
    finally:
        await keeper.close()


def same(shaky: Shaky) -> Callable[[], Store]:
    return lambda: cast(Store, shaky)


async def with_a_run() -> tuple[World, Shaky, Held]:
    world, held = await new_world(), Held()
    await world.define(job("a"))
    await world.enqueue("a")
    (lease,) = await world.lease(node=NODE.id)
    held.runs[lease.id] = lease.token
    return world, Shaky(world.store), held


@patiently
async def test_it_says_at_once_that_the_node_lives_and_renews_what_it_holds() -> None:
    """From a thread of its own; when it ends, the node is gone (S42)."""
    world, shaky, held = await with_a_run()
    world.clock.advance(20)
    async with keeping(same(shaky), held):
        await held.until(lambda: bool(held.heard))
        ((asked, renewed),) = held.heard
        assert (asked, renewed.held) == (held.runs, frozenset(held.runs))
        assert (await world.run(next(iter(held.runs)))).lease_until == world.micro + 30_000_000
        (node,) = [node for node in await world.insights.nodes() if node.id == NODE.id]
        assert (node.seen_at, node.passed_at) == (world.micro, world.micro)
        assert held.threads == {"tickwise-heartbeat"}
    assert NODE.id not in {node.id for node in await world.insights.nodes()}


@patiently
async def test_it_looks_again_when_it_is_rung_and_hears_who_is_to_end() -> None:
    """A person's word need not wait for the next renewal."""
    world, shaky, held = await with_a_run()
    (run,) = held.runs
    async with keeping(same(shaky), held) as keeper:
        await held.until(lambda: len(held.heard) == 1)
        await world.store.cancel(run)
        keeper.wake()
        await held.until(lambda: len(held.heard) == 2)
    assert [renewed.cancel for _, renewed in held.heard] == [frozenset(), {run}]


@pytest.mark.parametrize("is_known", [True, False], ids=["it knows an older beat", "it knows no beat"])
@patiently
async def test_a_store_that_forgets_a_beat_was_set_back(is_known: bool) -> None:
    """It confirmed that beat, so it has forgotten all that came after the beat which it does know (S78)."""
    world, shaky, held = await with_a_run()
    async with keeping(same(shaky), held) as keeper:
        await held.until(lambda: len(held.heard) == 1)
        world.clock.advance(10)
        keeper.wake()
        await held.until(lambda: len(held.heard) == 2)
        world.clock.advance(10)
        keeper.wake()
        await held.until(lambda: len(held.heard) == 3)
        assert held.set_backs == []
        first, _, last = (renewed.seen_at for _, renewed in held.heard)
        store = cast(MemoryStore, world.store)
        if is_known:
            store._memory.nodes[NODE.id] = replace(store._memory.nodes[NODE.id], seen_at=first)
        else:
            del store._memory.nodes[NODE.id]
        keeper.wake()
        await held.until(lambda: len(held.heard) == 4)
        assert held.set_backs == [(first if is_known else 0, last)]
        store._memory.nodes.clear()
        world.clock.advance(2 * 86_400)  # a machine that slept so long is forgotten by every store
        keeper.wake()
        await held.until(lambda: len(held.heard) == 5)
        assert len(held.set_backs) == 1


@patiently
async def test_it_renews_as_often_as_it_is_told() -> None:
    """Nobody need ring for that."""
    _, shaky, held = await with_a_run()
    async with keeping(same(shaky), held, every=0.01):
        await held.until(lambda: len(held.heard) >= 3)


@patiently
async def test_who_cannot_renew_for_two_thirds_of_a_lease_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has tried several times by then, and goes on when the store is back (S42)."""
    elapsed = Elapsed(monkeypatch)
    _, shaky, held = await with_a_run()

    async def fail_after_a_while() -> None:
        elapsed.seconds += 5
        raise StoreUnavailableError("the cable is out")

    shaky.faults["beat"] = fail_after_a_while
    async with keeping(same(shaky), held, every=0.05, lease=30):
        await held.until(lambda: held.lost > 0)
        assert shaky.calls["beat"] == 4
        assert held.heard == []
        shaky.mend()
        await held.until(lambda: bool(held.heard))


@patiently
async def test_a_store_that_does_not_answer_cannot_renew_either() -> None:
    """A connection that hangs is no excuse (S42)."""
    _, shaky, held = await with_a_run()
    shaky.hang("beat")
    async with keeping(same(shaky), held, every=0.05, lease=1):
        await held.until(lambda: held.lost > 0)
        shaky.mend()
        await held.until(lambda: bool(held.heard))


@patiently
async def test_a_store_that_cannot_be_opened_is_tried_again() -> None:
    """The thread does not end by it."""
    _, shaky, held = await with_a_run()
    tries = 0

    def opened() -> Store:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise StoreUnavailableError("the cable is out")
        return cast(Store, shaky)

    async with keeping(opened, held, every=0.01):
        await held.until(lambda: bool(held.heard))
    assert tries == 2


@patiently
async def test_a_keeper_that_never_began_need_not_end() -> None:
    """Ringing it does no harm."""
    world, held = await new_world(), Held()
    Heartbeat(lambda: world.store, held.upkeep(), every=LONG, lease=30).wake()


@patiently
async def test_code_that_blocks_the_event_loop_loses_no_lease() -> None:
    """A function that never awaits keeps its run for as long as it likes (S42)."""
    heard, renewals, go_on = Heard(), 0, threading.Event()
    tw = AsyncTickwise("memory://", hooks=heard.hooks, lease=1, renew=0.05)
    shaky = Shaky(tw._stores.make())
    tw._stores._memory = cast(Store, shaky)

    def renewed(answer: Renewed) -> None:
        nonlocal renewals
        renewals += bool(answer.held)
        if renewals >= 3:
            go_on.set()

    shaky.after["beat"] = renewed

    @tw.job()
    async def blocks() -> None:
        go_on.wait()

    async with tw:
        await tw.start()
        await tw.enqueue(blocks)
        await heard.until("succeeded blocks")
        (run,) = await tw.runs.list()
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 1)


@patiently
async def test_a_node_that_cannot_renew_stops_its_runs() -> None:
    """Before somebody else may start them; when the lease has run out they are queued again (S42, S44)."""
    heard, stopped = Heard(), asyncio.Event()
    tw = AsyncTickwise("memory://", hooks=heard.hooks, lease=1, renew=0.05)
    shaky = Shaky(tw._stores.make())
    tw._stores._memory = cast(Store, shaky)

    @tw.job()
    async def goes_on() -> str:
        if stopped.is_set():
            return "again"
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    async with tw:
        await tw.start()
        run = await tw.enqueue(goes_on)
        await heard.until("started goes_on")
        shaky.fail("beat")
        await stopped.wait()
        shaky.mend()
        await heard.until("succeeded goes_on")
        store = await tw.store()
        (attempt,) = await store.insights.attempts(run.id)
    assert attempt.event is Event.HAND_BACK


@patiently
async def test_a_process_that_stood_still_stops_its_runs_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped, or on a machine that slept, for longer than its leases: nothing else is done before (E1, S42)."""
    elapsed = Elapsed(monkeypatch)
    _, shaky, held = await with_a_run()
    async with keeping(same(shaky), held, lease=30) as keeper:
        await held.until(lambda: len(held.heard) == 1)
        elapsed.seconds += 20
        lost_before_beat: list[int] = []
        shaky.after["beat"] = lambda _answer: lost_before_beat.append(held.lost)
        keeper.wake()
        await held.until(lambda: len(held.heard) == 2)
    assert lost_before_beat == [1]


@patiently
async def test_a_slow_beat_does_not_stop_a_run_that_was_leased_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first beat opens the store and may take long; what it did not ask for is not late (E3)."""
    elapsed = Elapsed(monkeypatch)
    _, shaky, held = await with_a_run()
    runs, held.runs = held.runs, {}
    looked, is_slow = asyncio.Event(), False

    async def take_long() -> None:
        nonlocal is_slow
        shaky.mend()
        elapsed.seconds += 25
        is_slow = True
        await looked.wait()

    def look() -> Mapping[str, str]:
        found = dict(held.runs)
        if is_slow:
            held.runs = runs
            looked.set()
        return found

    shaky.faults["beat"] = take_long
    keeper = Heartbeat(same(shaky), held.upkeep()._replace(held=look), every=0.01, lease=30)
    keeper.start()
    try:
        await held.until(lambda: len(held.heard) >= 2)
    finally:
        await keeper.close()
    assert [dict(asked) for asked, _ in held.heard[:2]] == [{}, runs]
    assert held.lost == 0


@patiently
async def test_an_answer_that_came_too_late_renews_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leases that it extended may be over: the runs stop, and nothing begins by it (E1, S42)."""
    elapsed = Elapsed(monkeypatch)
    _, shaky, held = await with_a_run()

    def stand_still(_answer: Renewed) -> None:
        elapsed.seconds += 20
        shaky.after.clear()

    shaky.after["beat"] = stand_still
    async with keeping(same(shaky), held, every=0.05, lease=30):
        await held.until(lambda: bool(held.heard))
    assert held.lost >= 1
    assert shaky.calls["beat"] >= 2


@patiently
async def test_a_node_that_holds_nothing_writes_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """It renews every second, and says that it lives every three (E2)."""
    elapsed = Elapsed(monkeypatch)
    world, held = await new_world(), Held()
    shaky = Shaky(world.store)
    beats_at: list[float] = []
    shaky.after["beat"] = lambda _answer: beats_at.append(elapsed.seconds)
    turns = 0

    def none_held() -> dict[str, str]:
        nonlocal turns
        turns += 1
        elapsed.seconds += 1
        return {}

    callbacks = held.upkeep()._replace(held=none_held)
    keeper = Heartbeat(same(shaky), callbacks, every=0.001, lease=9)
    monkeypatch.setattr(keeper, "_idle_every", 3.0)
    keeper.start()
    while turns < 20:  # noqa: ASYNC110  (nobody tells of it)
        await asyncio.sleep(0.01)
    await keeper.close()
    assert all(later - earlier >= 3 for earlier, later in itertools.pairwise(beats_at))
    assert len(beats_at) >= 3


@patiently
async def test_beats_are_steady_since_the_last_that_failed() -> None:
    """Whoever takes runs back waits for that (E6)."""
    _, shaky, held = await with_a_run()
    async with keeping(same(shaky), held, every=0.01) as keeper:
        await held.until(lambda: bool(held.heard))
        while keeper._steady_since is None:  # noqa: ASYNC110  (nobody tells of it)
            await asyncio.sleep(0)
        shaky.fail("beat")
        while keeper._steady_since is not None:  # noqa: ASYNC110  (nobody tells of it)
            await asyncio.sleep(0)
        assert keeper.steady_for() == 0
        shaky.mend()
        await held.until(lambda: keeper.steady_for() > 0)

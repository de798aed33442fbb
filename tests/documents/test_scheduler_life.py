"""How a document scheduler starts, idles, is asked for its state, and stops."""

import asyncio
import signal
from datetime import timedelta
from typing import Any

import pytest

from tickwise.core.errors import ConflictError, InputError
from tickwise.documents import (
    DocumentScheduler,
    Locked,
    Release,
)

from ..support.documents.handlers import NOON, PAST, Desk, memory, worked_off
from ..support.documents.user_collections import run


@pytest.mark.usefixtures("impatient")
def test_idle_hook_once_per_idle_period() -> None:
    """The idle hook is called once when nothing is due any more, and once again after new work."""
    store, desk = memory(), Desk()

    async def work() -> None:
        async with desk.scheduler(store) as scheduler:
            await desk.until("idle")
            looks = store.locks
            while store.locks < looks + 5:
                await store.wait(0.01)
            assert scheduler.is_idle
            store.add({"sleepUntil": PAST})
            await desk.until("idle", 2)

    run(work())
    assert desk.happened == ["start", "idle", "document", "idle", "stop"]


def test_idle_uses_no_cpu_with_all_delays_zero() -> None:
    """While nothing is due the scheduler does not turn: it asks once and sleeps until there is news."""
    store, desk = memory({"sleepUntil": NOON + timedelta(days=1)}), Desk()

    async def work() -> None:
        async with desk.scheduler(store):
            await desk.until("idle")
            loop = asyncio.get_running_loop()
            for _ in range(1_000):
                turn = loop.create_future()
                loop.call_soon(turn.set_result, None)
                await turn
            assert store.locks == 1
            store.add({"sleepUntil": PAST})
            await desk.until("document")

    run(work())


def test_idle_delay() -> None:
    """With an idle delay an idle scheduler looks again only after it, and still stops at once."""
    store, desk = memory(), Desk()

    async def work() -> None:
        async with desk.scheduler(store, idle_delay=3600):
            await desk.until("idle")
            store.add({"sleepUntil": PAST})

    run(work())
    assert (store.locks, desk.documents) == (1, [])


def test_next_delay() -> None:
    """The next delay comes before each lock, the first included."""
    store, desk = memory({"sleepUntil": PAST}), Desk()

    async def work() -> None:
        async with desk.scheduler(store, next_delay=3600):
            pass

    run(work())
    assert store.locks == 0
    worked_off(store, desk, next_delay=0.001)
    assert len(desk.documents) == 1


def test_states() -> None:
    """It is running between start and stop, processing only while a handler runs, idle when nothing is due."""
    seen = []

    def look() -> None:
        seen.append((scheduler.is_running, scheduler.is_processing, scheduler.is_idle))

    async def handle(_: Any) -> None:
        look()

    async def work() -> None:
        look()
        await scheduler.start()
        await idle.wait()
        await scheduler.stop()
        look()

    async def on_idle() -> None:
        look()
        idle.set()

    idle = asyncio.Event()
    scheduler = DocumentScheduler(
        memory({"sleepUntil": PAST}), handle, on_idle=on_idle, on_start=look, on_stop=look
    )
    run(work())
    nothing, running = (False, False, False), (True, False, False)
    assert seen == [nothing, running, (True, True, False), (True, False, True), nothing, nothing]


def test_stop_during_a_run_writes_its_result() -> None:
    """`stop` waits for the handler, and for `on_stop`; what the run came to is stored."""

    async def slow(_: Any) -> None:
        begun.set()
        await go_on.wait()

    async def work() -> None:
        scheduler = desk.scheduler(store)
        await scheduler.start()
        await begun.wait()
        stopping = asyncio.create_task(scheduler.stop())
        asyncio.get_running_loop().call_soon(go_on.set)
        await stopping
        assert desk.happened == ["start", "document", "stop"]

    begun, go_on = asyncio.Event(), asyncio.Event()
    store, desk = memory({"_id": 1, "sleepUntil": PAST}, {"_id": 2, "sleepUntil": NOON}), Desk(slow)
    run(work())
    assert store.get(1) == {"_id": 1, "sleepUntil": None}
    assert store.get(2) == {"_id": 2, "sleepUntil": NOON}


def test_stop_after_an_error_does_not_hang() -> None:
    """After a handler and the store have failed, `stop` returns, with `on_stop` done."""

    async def fail(_: Any) -> None:
        store.failures = {Locked: [OSError("gone")] * 1000, Release: [OSError("gone")] * 1000}
        raise LookupError("handler")

    store, desk = memory({"_id": 1, "sleepUntil": PAST}), Desk(fail)

    async def work() -> None:
        async with desk.scheduler(store):
            await desk.until("error")

    run(work())
    assert desk.happened[-1] == "stop"


@pytest.mark.usefixtures("impatient")
def test_stop_from_a_handler() -> None:
    """A handler may stop its scheduler: its result is written, and no further document is taken."""

    async def stop(_: Any) -> None:
        await scheduler.stop()

    store = memory({"_id": 1, "sleepUntil": PAST}, {"_id": 2, "sleepUntil": NOON})
    desk = Desk(stop)
    scheduler = desk.scheduler(store)
    run(scheduler.run())
    assert desk.happened == ["start", "document", "stop"]
    assert store.get(1) == {"_id": 1, "sleepUntil": None}


def test_a_handler_cannot_wait_for_its_own_end() -> None:
    """Waiting for the scheduler that waits for the handler is refused instead of hanging."""

    async def join(_: Any) -> None:
        await scheduler.join()

    desk = Desk(join)
    scheduler = desk.scheduler(memory({"sleepUntil": PAST}))

    async def work() -> None:
        async with scheduler:
            await desk.until("idle")

    run(work())
    assert [type(error) for error, _ in desk.errors] == [ConflictError]


def test_start_again_after_stop() -> None:
    """A scheduler that has stopped can be started again, also on another event loop."""
    store, desk = memory({"sleepUntil": PAST}), Desk()
    scheduler = desk.scheduler(store)

    async def work(times: int) -> None:
        await scheduler.start()
        await scheduler.start()
        await desk.until("idle", times)
        await scheduler.stop()
        await scheduler.stop()

    run(work(1))
    store.add({"sleepUntil": PAST})
    desk._news = asyncio.Event()
    run(work(2))
    assert desk.happened == ["start", "document", "idle", "stop"] * 2


def test_start_while_it_is_stopping() -> None:
    """A start that comes before the stop is over waits for it, and then begins anew."""

    async def slow(_: Any) -> None:
        begun.set()
        await go_on.wait()

    async def work() -> None:
        await scheduler.start()
        await begun.wait()
        scheduler.request_stop()
        starting = asyncio.create_task(scheduler.start())
        asyncio.get_running_loop().call_soon(go_on.set)
        await starting
        assert scheduler.is_running
        await scheduler.stop()

    begun, go_on = asyncio.Event(), asyncio.Event()
    desk = Desk(slow)
    scheduler = desk.scheduler(memory({"sleepUntil": PAST}))
    run(work())
    assert [what for what in desk.happened if what in ("start", "stop")] == ["start", "stop"] * 2


def test_stop_before_start() -> None:
    """A scheduler that was never started has nothing to stop."""
    desk = Desk()
    run(desk.scheduler(memory()).stop())
    assert desk.happened == []


def test_run_until_interrupted() -> None:
    """Under `asyncio.run`, Ctrl-C ends it in order: the handler that runs ends, and its result is written."""

    async def interrupt(_: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    store, desk = memory({"_id": 1, "sleepUntil": PAST}), Desk(interrupt)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(desk.scheduler(store).run())
    assert store.get(1) == {"_id": 1, "sleepUntil": None}
    assert desk.happened[-1] == "stop"


def test_a_loop_that_ends_while_a_handler_runs() -> None:
    """Who does not stop the scheduler has its handler cancelled; the document stays locked and comes back."""

    async def for_ever(_: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def work() -> None:
        await desk.scheduler(store).start()
        await begun.wait()

    begun = asyncio.Event()
    store, desk = memory({"_id": 1, "sleepUntil": PAST}), Desk(for_ever)
    run(work())
    assert store.get(1)["lockUntil"] == NOON + timedelta(minutes=10)  # type: ignore[index]
    assert desk.happened == ["start", "document", "stop"]
    assert desk.errors == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"next_delay": -1}, "next_delay is -1: give 0 or more seconds"),
        ({"reprocess_delay": -0.1}, "reprocess_delay is -0.1"),
        ({"idle_delay": -5}, "idle_delay is -5"),
        ({"lock_duration": 0}, "lock_duration is 0: give more than 0 seconds"),
        ({"timezone": "Mars"}, "Mars"),
    ],
)
def test_settings_that_make_no_sense(options: dict[str, Any], said: str) -> None:
    """A negative length or an unknown zone is refused when the scheduler is made."""
    with pytest.raises(InputError, match=said):
        DocumentScheduler(memory(), print, **options)

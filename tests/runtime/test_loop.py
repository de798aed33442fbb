"""The life of every role: turn after turn, whatever happens."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tickwise.runtime import loop as module
from tickwise.runtime.loop import FailureLog, Loop
from tickwise.stores.contract import StoreUnavailableError

from ..support.app import patiently

NEVER = 10_000.0


class Role:
    """Turns that do what the test says; each tells that it was."""

    def __init__(self, *outcomes: float | Exception) -> None:
        self._outcomes: Iterator[float | Exception] = iter(outcomes)
        self.turns = 0
        self.turned = asyncio.Event()

    async def turn(self) -> float:
        self.turns += 1
        self.turned.set()
        outcome = next(self._outcomes, NEVER)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def has_turned(self, times: int) -> None:
        while self.turns < times:
            self.turned.clear()
            await self.turned.wait()


async def ended(task: "asyncio.Task[None]", stop: asyncio.Event) -> None:
    stop.set()
    await task


@patiently
async def test_the_first_turn_comes_at_once_and_the_next_when_it_is_due() -> None:
    """A turn says how long it is to the next, and nobody need ring for it."""
    role, stop = Role(0.0, 0.01, NEVER), asyncio.Event()
    task = asyncio.create_task(Loop("role", role.turn).run(stop))
    await role.has_turned(3)
    await ended(task, stop)


@patiently
async def test_a_ring_cuts_a_wait_short() -> None:
    """News need not wait for the poll."""
    role, stop = Role(), asyncio.Event()
    loop = Loop("role", role.turn)
    task = asyncio.create_task(loop.run(stop))
    await role.has_turned(1)
    loop.wake()
    await role.has_turned(2)
    await ended(task, stop)


@patiently
async def test_a_ring_during_a_turn_is_not_lost() -> None:
    """What came while a turn was under way is looked at in the next, at once."""
    stop, turns = asyncio.Event(), 0
    wake_event, twice = asyncio.Event(), asyncio.Event()

    async def turn() -> float:
        nonlocal turns
        turns += 1
        wake_event.set() if turns == 1 else twice.set()
        return NEVER

    task = asyncio.create_task(Loop("role", turn, wake_event=wake_event).run(stop))
    await twice.wait()
    await ended(task, stop)


@patiently
async def test_a_turn_that_fails_is_told_and_tried_again() -> None:
    """Nothing that a turn raises ends the role; a success forgets the failures."""
    told: list[tuple[str, str]] = []
    role, stop = Role(ValueError("no"), OSError("no again"), NEVER), asyncio.Event()
    loop = Loop("role", role.turn, lambda name, error: told.append((name, str(error))))
    task = asyncio.create_task(loop.run(stop))
    await role.has_turned(2)
    assert loop.turned_at is None
    await role.has_turned(3)
    await ended(task, stop)
    assert told == [("role", "no"), ("role", "no again")]
    assert loop.failures == 0
    assert loop.turned_at is not None


@patiently
async def test_the_pause_after_a_failure_grows_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is away is asked less and less often, but it is asked."""
    pauses: list[float | None] = []

    async def wait(_waits: object, **how: Any) -> None:
        pauses.append(how["timeout"])
        if len(pauses) == 8:
            stop.set()

    role, stop = Role(*[OSError()] * 8), asyncio.Event()
    monkeypatch.setattr(asyncio, "wait", wait)
    await Loop("role", role.turn).run(stop)
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]


@patiently
async def test_a_ring_does_not_cut_the_pause_after_a_failure_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """News that come all the time do not make a failing role fail all the time."""
    monkeypatch.setattr(module, "_FIRST_BACK_OFF", NEVER)
    monkeypatch.setattr(module, "_MAX_BACK_OFF", NEVER)
    role, stop = Role(OSError()), asyncio.Event()
    loop = Loop("role", role.turn)
    task = asyncio.create_task(loop.run(stop))
    await role.has_turned(1)
    for _ in range(20):
        loop.wake()
        await asyncio.sleep(0)
    assert role.turns == 1
    await ended(task, stop)


@patiently
async def test_the_end_cuts_a_wait_short_but_not_a_turn() -> None:
    """A turn that is under way when the role is to end is completed, and no other follows."""
    stop, begun, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()
    completed = 0

    async def turn() -> float:
        nonlocal completed
        begun.set()
        await go_on.wait()
        completed += 1
        return 0.0

    task = asyncio.create_task(Loop("role", turn).run(stop))
    await begun.wait()
    stop.set()
    go_on.set()
    await task
    assert completed == 1


@patiently
async def test_a_role_that_waits_can_be_cancelled() -> None:
    """Cancelling reaches a role that rests as well as one that turns."""
    role = Role()
    task = asyncio.create_task(Loop("role", role.turn).run(asyncio.Event()))
    await role.has_turned(1)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class LogRecorder:
    """Counts lines by what they say."""

    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()

    def warning(self, event: str, **_fields: Any) -> None:
        self.lines[event] += 1

    info = warning


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> LogRecorder:
    recorder = LogRecorder()
    monkeypatch.setattr(module, "_log", recorder)
    monkeypatch.setattr(module, "_FIRST_BACK_OFF", 0.001)
    return recorder


@patiently
async def test_one_outage_of_the_store_is_one_warning_and_one_end(recorder: LogRecorder) -> None:
    """A27: roles that fail for the same cause log it once, and say once that it is over."""
    stop, log = asyncio.Event(), FailureLog()
    roles = [Role(*(StoreUnavailableError(f"try {n} of {role}") for n in range(4))) for role in range(3)]
    loops = [Loop(f"role-{n}", role.turn, failure_log=log) for n, role in enumerate(roles)]
    tasks = [asyncio.create_task(loop.run(stop)) for loop in loops]
    for role in roles:
        await role.has_turned(5)
    for task in tasks:
        await ended(task, stop)
    assert recorder.lines == {"turn failed": 1, "works again": 1}


@patiently
async def test_each_cause_is_logged(recorder: LogRecorder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two causes are two warnings, and one that lasts is logged again after a minute."""
    stop, role = asyncio.Event(), Role(ValueError("one"), *[ValueError("other")] * 3)
    task = asyncio.create_task(Loop("role", role.turn).run(stop))
    await role.has_turned(3)
    monkeypatch.setattr(module, "monotonic", lambda: 10.0**9)
    await role.has_turned(5)
    await ended(task, stop)
    assert recorder.lines == {"turn failed": 3, "works again": 2}

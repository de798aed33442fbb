"""`drain`: all that is due, done here and now, without a node."""

from typing import Any

from tickwise import Tickwise

from ..support.app import Clock, at


def test_nothing_waits(tw: Tickwise, clock: Clock) -> None:
    """What is due is done, what is due later is left; and so on, as far as the clock is moved (S9)."""
    slots: list[Any] = []

    @tw.job("*/20 * * * *")
    async def thrice(run: Any) -> None:
        slots.append(run.slot)

    assert tw.drain() == 0, "its first sight is its beginning (S2)"
    for time in ("00:19", "00:20", "00:25", "00:40"):
        clock.set(at(time))
        tw.drain()
    assert slots == [at("00:20"), at("00:40")]


def test_a_backlog_in_one_go(tw: Tickwise, clock: Clock) -> None:
    """Slots that must run one after the other are all done, oldest first (S12, S14)."""
    slots: list[Any] = []

    @tw.job("0 * * * *", catchup="all")
    async def hourly(run: Any) -> None:
        slots.append((run.slot, run.trigger))

    tw.drain()
    clock.set(at("04:30"))
    assert tw.drain() == 4
    assert slots == [(at(f"0{hour}:00"), "catchup") for hour in range(1, 5)]


def test_what_runs_ask_for(tw: Tickwise) -> None:
    """What a run enqueues is done too, whatever its queue, and attempts that failed are counted."""

    @tw.job()
    async def first() -> None:
        await tw.awaited.enqueue(second)

    @tw.job(queue="mail")
    async def second() -> None:
        raise LookupError("nobody there")

    tw.enqueue(first)
    assert tw.drain() == 2
    assert [(run.job, run.state) for run in tw.runs.list()] == [("second", "failed"), ("first", "succeeded")]


def test_what_waits_for_another(tw: Tickwise, clock: Clock) -> None:
    """A success wakes what was held for it, in the same go (S35)."""
    ran: list[str] = []

    @tw.job("0 * * * *", after=[{"schedule": "early", "within": "1h"}], wait_for="30m")
    async def a_late_one() -> None:
        ran.append("late")

    @tw.job("0 * * * *")
    async def early() -> None:
        ran.append("early")

    tw.drain()
    clock.set(at("01:00"))
    assert (tw.drain(), ran) == (2, ["early", "late"])


def test_local_ticking(tw: Tickwise, clock: Clock) -> None:
    """Schedules that a node would find in its own index are found as well."""
    tw.job("0 * * * *", name="local", ticking="local")(lambda: None)
    tw.drain()
    clock.set(at("01:00"))
    assert tw.drain() == 1


def test_commands(tw: Tickwise, clock: Clock) -> None:
    """Jobs that are commands are run as well, and what they print is kept."""
    tw.schedules.add("hello", schedule="0 * * * *", command="echo hello")
    clock.set(at("01:00"))
    tw.drain()
    (run,) = tw.runs.list()
    assert (run.state, tw.runs.logs(run.id)) == ("succeeded", "hello\n")


def test_nobody_is_left(tw: Tickwise) -> None:
    """Nothing is seen of it afterwards: no node, and no run that is held."""
    tw.job(name="work")(lambda: None)
    tw.enqueue("work")
    tw.drain()
    assert tw._loop_thread.call(tw.store().insights.nodes()) == ()
    assert [run.state for run in tw.runs.list()] == ["succeeded"]

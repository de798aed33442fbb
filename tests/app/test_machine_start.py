"""Jobs with `on_start`: one run for each start of the machine, and none for a start before they were there."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tickwise import AsyncTickwise, InputError, Run
from tickwise.app.definition_fields import fields_of
from tickwise.app.machine_start import MachineStartEvents, StartOfMachine
from tickwise.core.definition import JobDefinition
from tickwise.sources.defaults import NO_DEFAULTS
from tickwise.sources.spec import read_spec

from ..support.app import Clock, patiently

DAY = 86_400


def job(**fields: Any) -> JobDefinition:
    return read_spec({"name": "agent", "command": "true", **fields}, "", NO_DEFAULTS)


@patiently
async def test_one_run_for_each_start(url: str, clock: Clock) -> None:
    """A start before the job was there does not count (S2); a node that is restarted tells no second one (S70)."""
    async with AsyncTickwise(url, clock=clock) as app:
        starts = list[str]()

        @app.job(on_start=True)
        async def agent(run: Run) -> None:
            starts.append(run.events[0]["data"]["started"])

        async def serve(start: StartOfMachine) -> None:
            events = MachineStartEvents(store, start)
            for _ in range(2):
                await events.tell(["agent", "removed"])
            await app.drain()

        await app.jobs.list()
        store = await app.store()
        clock.advance(60)
        await serve(StartOfMachine("boot/1", 61))
        assert starts == []
        clock.advance(540)
        for age in (0, 30 * DAY):
            clock.advance(age)
            await serve(StartOfMachine("boot/2", 9.5 + age))
        assert starts == ["2026-01-01T00:09:50Z"]
        await serve(StartOfMachine("boot/3", 0))
        assert len(starts) == 2


@patiently
async def test_a_node_tells_of_the_start(clock: Clock, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside its times a job has a schedule of its own for that: NAME.event."""
    async with AsyncTickwise(url, clock=clock, poll=0.05) as app:
        has_started = asyncio.Event()

        @app.job("0 * * * *", on_start=True, catchup="skip")
        async def agent(run: Run) -> None:
            assert run.schedule == "agent.event"
            has_started.set()

        await app.jobs.list()
        clock.advance(90)
        monkeypatch.setattr(StartOfMachine, "read", lambda: StartOfMachine("boot/2", 5))
        await app.start()
        await has_started.wait()
        assert [event.source for event in await app.events.list("agent.event")] == ["machine start"]


def test_which_start_it_is(tmp_path: Path) -> None:
    """It is that of the first process, in a container the container's; a restarted node reads the same."""
    start = StartOfMachine.read()
    assert (start.key, start.age > 0) == (StartOfMachine.read().key, True)
    (tmp_path / "1").mkdir()
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "uptime").write_text("500.25 900.00\n")
    (tmp_path / "sys/kernel/random/boot_id").write_text("b00t\n")
    ticks = 100 * os.sysconf("SC_CLK_TCK")
    (tmp_path / "1/stat").write_text(f"1 (a ) b) S {'0 ' * 18}{ticks} 0 0\n")
    assert StartOfMachine.read(tmp_path) == (f"b00t/{ticks}", 400.25)
    unknown = StartOfMachine.read(tmp_path / "nowhere")
    assert (unknown.age, unknown.key != StartOfMachine.read(tmp_path / "nowhere").key) == (0, True)


def test_on_start_in_a_file() -> None:
    """It is written back as it was; it goes beside times, and without on_event."""
    assert fields_of(job(on_start=True))["on_start"] is True
    assert [one.name for one in job(on_start=True, schedule="@daily").schedules] == ["agent", "agent.event"]
    assert job(on_start=False).schedules == ()
    with pytest.raises(InputError, match="on_start: goes without on_event"):
        job(on_start=True, on_event={})


@patiently
async def test_the_api_takes_none(url: str) -> None:
    """No node serves its jobs, so nobody would tell of the start."""
    async with AsyncTickwise(url) as app:
        with pytest.raises(InputError, match="on_start: goes with a job of a folder or an app"):
            await app.schedules.add(name="agent", on_start=True, command="true")
        await app.schedules.add(name="agent", schedule="@daily", command="true")
        with pytest.raises(InputError, match="on_start: goes with a job of a folder or an app"):
            await app.schedules.patch("agent", on_start=True)
        assert [one.name for one in await app.schedules.list()] == ["agent"]

"""The doctor: a scenario for each finding, with the command that mends it; and none where all is well."""

import socket
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from tickwise import AsyncTickwise
from tickwise.app.doctor import Finding, doctor
from tickwise.core.attention import Severity
from tickwise.core.definition import Command, Step
from tickwise.core.events import JobEnds, OnEvent, SettledFiles
from tickwise.core.requirements import ALL, Offers
from tickwise.stores.records import Node, Role
from tickwise.testing.conformance.world import HOURLY, World, job

from ..support.app import Clock, patiently

STEP = Step("only", Command(("true",)))

HERE = socket.gethostname()
FOR_GOOD = 10**9


@dataclass
class Place:
    """An app on a moved clock, and its store."""

    app: AsyncTickwise
    clock: Clock
    world: World
    file: Path
    skew: int = 0  # of this machine, in microseconds

    async def live(self, *roles: Role, **given: object) -> None:
        """A node that lives for good."""
        node = {"host": HERE, "queues": ("default",), "capacity": 5, "seconds": FOR_GOOD, **given}
        await self.world.store.beat(Node("n1", roles or (Role.TICKER, Role.WORKER), **node))  # type: ignore[arg-type]

    async def examine(self) -> list[Finding]:
        return await doctor(self.app, lambda: self.clock() + self.skew)

    def spoil(self, statement: str) -> None:
        """Change the database behind everybody's back."""
        with sqlite3.connect(self.file) as connection:
            assert connection.execute(statement).rowcount > 0
        connection.close()


Scenario: TypeAlias = Callable[[Place], Awaitable[None]]


async def _a_clock_that_is_off(place: Place) -> None:
    place.skew = -3_000_000


async def _a_newer_version(place: Place) -> None:
    await place.live()
    place.spoil("INSERT INTO tickwise_migrations SELECT 999, 'later', 'x', 999, 0")


async def _a_changed_migration(place: Place) -> None:
    await place.app.close()
    place.spoil("UPDATE tickwise_migrations SET checksum = 'x' WHERE version = 1")


async def _everything_paused(place: Place) -> None:
    await place.live()
    await place.app.pause(by="ada")


async def _nobody_ticks(place: Place) -> None:
    await place.live(Role.WORKER)
    await place.world.define(job("a", HOURLY))
    place.world.go("01:05")


async def _a_ticker_that_does_nothing(place: Place) -> None:
    await place.live()
    await place.world.define(job("a", HOURLY))
    place.world.go("01:05")


async def _a_clock_that_was_wrong(place: Place) -> None:
    await place.live()
    await place.world.define(job("a", HOURLY))
    place.world.go("05:00")
    await place.world.tick()
    await place.world.work()
    place.world.go("00:00")


async def _a_queue_without_workers(place: Place) -> None:
    await place.live()
    await place.world.define(job("a", queue="mail"))
    await place.world.enqueue("a")


async def _a_worker_that_vanished(place: Place) -> None:
    await place.world.define(job("a"))
    await place.world.enqueue("a")
    await place.world.lease(seconds=30)
    place.clock.advance(300)


async def _a_lease_that_nobody_takes_back(place: Place) -> None:
    await _a_worker_that_vanished(place)
    await place.live()


async def _a_run_that_hangs(place: Place) -> None:
    await place.live()
    await place.world.define(job("a"))
    await place.world.enqueue("a")
    (usual,) = await place.world.lease()
    place.clock.advance(10)
    await place.world.end(usual)
    await place.world.enqueue("a")
    await place.world.lease(seconds=86_400)
    place.clock.advance(7_200)


async def _a_function_that_nobody_knows(place: Place) -> None:
    await place.live(offers=Offers.of(["b"], [ALL]))
    await place.world.define(job("a"), source="app:shop")
    await place.world.enqueue("a")


async def _commands_that_nobody_may_execute(place: Place) -> None:
    await place.live(offers=Offers.of(["a"]))
    await place.world.define(job("a", steps=(STEP,)), source="api")
    await place.world.enqueue("a")


async def _slots_that_nobody_may_execute(place: Place) -> None:
    await place.live(offers=Offers.of(["a"]))
    await place.world.define(job("a", HOURLY, steps=(STEP,)), source="folder:/")
    await place.world.pass_time("01:00")


async def _code_that_declares_it_no_more(place: Place) -> None:
    await place.live()
    place.app.job()(nothing)
    await place.world.define(job("a", HOURLY), source="app:app")
    await place.world.tick()


async def _code_elsewhere_that_declares_it_no_more(place: Place) -> None:
    await place.live(sources=("app:shop",), orphans=("a",))
    await place.world.define(job("a"), source="app:shop")


async def _an_adopted_schedule(place: Place) -> None:
    await place.live()
    await place.app.schedules.add("a", schedule=HOURLY, command="true", ticking="local")
    await place.app.schedules.adopt("a", "store")


async def _a_channel_that_fails(place: Place) -> None:
    await place.live(undelivered=("webhook: no answer within 10 s",))


async def _a_store_that_was_set_back(place: Place) -> None:
    place.world.go("03:00")
    await place.live(set_back=(place.world.micro - 5_000_000, place.world.micro - 1_000_001))


async def nothing() -> None: ...


async def _a_folder_that_is_gone(place: Place) -> None:
    await place.live()
    await place.world.define(job("a", HOURLY), source="folder:/nowhere/jobs")
    await place.world.tick()


async def _a_file_that_is_wrong(place: Place) -> None:
    await place.live(problems=("jobs/a.yaml:3:1: schedule: nonsense",))


async def _a_definition_that_is_refused(place: Place) -> None:
    await place.live(problems=("a: api has it already",))


async def _a_job_that_cannot_be_read(place: Place) -> None:
    await place.live()
    await place.world.define(job("a"))
    await place.app.close()
    place.spoil("UPDATE tickwise_definitions SET body = '{\"nonsense\"'")


async def _a_schedule_that_cannot_be_read(place: Place) -> None:
    await place.live()
    await place.world.define(job("a", HOURLY))
    await place.world.tick()
    await place.app.close()
    place.spoil("UPDATE tickwise_schedules SET rest = 'nonsense'")


async def _files_that_nobody_looks_for(place: Place) -> None:
    await place.live()
    await place.world.define(job("a", OnEvent(SettledFiles("/data/in", "*.csv", 5))))
    await place.world.tick()


async def _a_cause_that_is_not_there(place: Place) -> None:
    await place.live()
    await place.world.define(job("a", OnEvent(JobEnds(("b",)))))
    await place.world.tick()


async def _a_folder_that_cannot_be_read(place: Place) -> None:
    await place.live(problems=("/data/in: a waits for files, and it cannot be read: Permission denied",))


SCENARIOS: list[tuple[Scenario, str, str, str]] = [
    (_a_newer_version, "schema", "error", "pip install --upgrade tickwise"),
    (_a_changed_migration, "store_unusable", "error", "tickwise store check"),
    (_a_clock_that_is_off, "clock_skew", "warning", "timedatectl set-ntp true"),
    (_everything_paused, "everything_paused", "warning", "tickwise resume"),
    (_nobody_ticks, "nobody_ticks", "error", "tickwise serve"),
    (_a_ticker_that_does_nothing, "overdue", "error", "tickwise why a"),
    (_a_clock_that_was_wrong, "cursor_ahead", "error", "tickwise schedules reset a"),
    (_a_queue_without_workers, "queue_unserved", "error", "tickwise worker --queues mail"),
    (_a_worker_that_vanished, "lease_over", "error", "tickwise worker --queues default"),
    (_a_lease_that_nobody_takes_back, "lease_over", "error", "tickwise runs cancel 1"),
    (_a_run_that_hangs, "long_run", "note", "tickwise runs logs 2"),
    (_a_function_that_nobody_knows, "unknown_function", "error",
     "tickwise worker MODULE:APP --queues default (with the app of app:shop)"),
    (_commands_that_nobody_may_execute, "unknown_commands", "error",
     "tickwise worker --allow-commands --queues default"),
    (_slots_that_nobody_may_execute, "slots_held", "error", "tickwise worker / --queues default"),
    (_code_that_declares_it_no_more, "orphaned", "warning", "tickwise schedules remove --orphaned"),
    (_code_elsewhere_that_declares_it_no_more, "orphaned", "warning", "tickwise schedules remove --orphaned"),
    (_a_folder_that_is_gone, "orphaned", "warning", "tickwise sources remove folder:/nowhere/jobs"),
    (_an_adopted_schedule, "adopted", "note", "tickwise schedules show a"),
    (_a_store_that_was_set_back, "set_back", "warning", "tickwise store restored --until 2026-01-01T02:59:59Z"),
    (_a_channel_that_fails, "undelivered", "error", "tickwise notify test webhook"),
    (_a_file_that_is_wrong, "bad_definition", "error", "tickwise validate jobs/a.yaml"),
    (_a_definition_that_is_refused, "bad_definition", "error", "mend the definition"),
    (_a_folder_that_cannot_be_read, "bad_definition", "error", f"look at /data/in on {HERE}"),
    (_files_that_nobody_looks_for, "files_not_watched", "warning",
     'add to tickwise.toml where a ticker sees it: event_folders = ["/data/in"]'),
    (_a_cause_that_is_not_there, "unknown_cause", "warning", "define b, or correct the on_event of a"),
    (_a_job_that_cannot_be_read, "unreadable", "error", "write a again, as its source (app) has it"),
    (_a_schedule_that_cannot_be_read, "unreadable", "error", "write a again, as its source (app) has it"),
]  # fmt: skip


async def _place(folder: Path) -> Place:
    clock, file = Clock(), folder / "tickwise.db"
    app = AsyncTickwise(f"sqlite:///{file}", clock=clock)
    return Place(app, clock, World(await app.store(), clock), file)


@pytest.mark.parametrize(
    ("scenario", "code", "severity", "repair"),
    SCENARIOS,
    ids=[scenario.__name__[1:] for scenario, *_ in SCENARIOS],
)
@patiently
async def test_what_is_wrong(scenario: Scenario, code: str, severity: str, repair: str, tmp_path: Path) -> None:
    """It is found, nothing else is, and the repair is one to copy."""
    place = await _place(tmp_path)
    async with place.app:
        await scenario(place)
        (found,) = await place.examine()
        assert (found.code, str(found.severity), found.repair) == (code, severity, repair), found.what
        assert found.what


@patiently
async def test_who_paused_everything_is_told(tmp_path: Path) -> None:
    """S29: with the reason, and how many schedules wait for that to end."""
    place = await _place(tmp_path)
    async with place.app:
        await place.live()
        await place.world.define(job("a", HOURLY))
        await place.app.pause(by="ada", reason="a flood")
        (found,) = await place.examine()
        assert found.what == "everything is paused since 2026-01-01T00:00:00Z by ada: a flood"
        place.world.go("01:05")
        (found,) = await place.examine()
        assert found.what.endswith("by ada: a flood; overdue: 1")


@patiently
async def test_all_is_well(tmp_path: Path) -> None:
    """A store that is used as it should be has no findings."""
    place = await _place(tmp_path)
    async with place.app:
        place.app.job(HOURLY)(nothing)
        await place.live()
        for time in ("00:00", "01:00", "02:00"):
            place.world.go(time)
            await place.app.drain()
        await place.app.enqueue(nothing)
        place.clock.advance(1)
        assert await place.examine() == []


@patiently
async def test_a_store_that_does_not_answer() -> None:
    """It is the only finding, and shows no password."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    app = AsyncTickwise(f"postgresql://ada:hush@127.0.0.1:{port}/shop")
    (found,) = await doctor(app)
    await app.close()
    assert (found.code, found.severity) == ("store_unreachable", Severity.ERROR)
    assert f"postgresql://ada:…@127.0.0.1:{port}/shop" in found.what
    assert "hush" not in found.what


@patiently
async def test_only_the_first_of_very_many_are_named(tmp_path: Path) -> None:
    """Of each kind a few, so that an outage does not hide the rest."""
    place = await _place(tmp_path)
    async with place.app:
        names = tuple(f"j{number:02}" for number in range(30))
        await place.live(sources=("app:shop",), orphans=names)
        await place.world.define(*(job(name, HOURLY) for name in names), source="app:shop")
        await place.world.tick()
        assert len(await place.examine()) == 20

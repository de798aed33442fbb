"""Calendars in a store: how they are written, and what becomes of the jobs that use them."""

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from tickwise import AsyncTickwise, ConflictError, InputError, Tickwise
from tickwise.app import calendars
from tickwise.app.calendars import put_calendar, stored_calendar, stored_calendars
from tickwise.app.definition_sync import DefinitionSync
from tickwise.app.doctor import doctor
from tickwise.core.cron.day_set import DaySet, day_number
from tickwise.core.errors import NotFoundError
from tickwise.sources.folder import FolderSource
from tickwise.sources.folder.reconcile import ActiveDefinitions, difference, reconcile
from tickwise.sources.folder.scan import FolderReader, ScanRequest
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.memory.store import MemoryStore

from ..support.app import Clock, Shaky, at, patiently

DAILY = "0 9 * * *"
WEEK = {"weekdays": ["MON-FRI"]}


def declared(tw: Tickwise, **days: Any) -> list[datetime]:
    """The slots that a daily job runs for."""
    ran: list[datetime] = []

    @tw.job(DAILY, **days)
    async def daily(run: Any) -> None:
        ran.append(run.slot)

    tw.drain()
    return ran


def pass_days(tw: Tickwise, clock: Clock, first: int, last: int) -> None:
    for day in range(first, last + 1):
        clock.set(at("09:00").replace(day=day))
        tw.drain()


def days_of(ran: list[datetime]) -> list[int]:
    return [slot.day for slot in ran]


def test_a_job_runs_on_the_days_of_a_calendar(tw: Tickwise, clock: Clock) -> None:
    """S61: a second whose local day does not fit is no slot, and `why` names calendar and day."""
    tw.calendars.put("office", **WEEK, remove=[{"dates": ["2026-01-06"]}])
    ran = declared(tw, days={"in": "office"})
    pass_days(tw, clock, 1, 9)
    assert days_of(ran) == [1, 2, 5, 7, 8, 9]
    why = tw.why("daily", datetime.fromisoformat("2026-01-06T09:00Z"))
    assert (why.reason, why.text) == ("day_left_out", "Tue 2026-01-06 is not in the calendar office")
    assert why.chain[1].text.startswith(
        "Tue 2026-01-06 is not in the calendar office; nearest: Mon 2026-01-05 09:00"
    )
    assert why.advice == "See its days: tickwise calendars show office."
    assert tw.why("daily", datetime.fromisoformat("2026-01-06T10:00Z")).reason == "no_slot"
    (following, *_) = tw.upcoming(hours=24 * 4)
    assert following.slot == datetime.fromisoformat("2026-01-12T09:00Z")


def test_the_other_days_rolled_and_counted(tw: Tickwise) -> None:
    """S61: `not_in`, `roll` and `nth`, as a decorator says them."""
    tw.calendars.put("closed", dates=["2026-01-02", "2026-01-03"])
    tw.schedules.add("rolled", schedule="0 9 2 * *", days={"not_in": "closed"}, roll="forward", command="true")
    tw.schedules.add("nth", schedule=DAILY, days={"not_in": "closed"}, nth=[2, -1], command="true")
    ahead = [(run.schedule, run.slot.day) for run in tw.upcoming(hours=24 * 32)]
    assert ahead == [("nth", 4), ("rolled", 4), ("nth", 31)]
    detail = tw.schedules.get("rolled")
    assert (
        detail.means == "At 09:00, on the 2nd of the month, UTC; moved forward to a day not in the calendar closed"
    )
    tw.schedules.patch("nth", nth=None, roll="back")
    assert tw.schedules.get("nth").times == "0 9 * * * not in closed roll back"


def test_a_changed_calendar_reaches_its_jobs(tw: Tickwise, clock: Clock) -> None:
    """S24, S60: jobs have the new days at once, and none of the past is made up for."""
    tw.calendars.put("office", dates=["2026-01-02", "2026-01-05"])
    ran = declared(tw, days={"in": "office"})
    pass_days(tw, clock, 1, 3)
    clock.set(at("12:00").replace(day=3))
    after = tw.calendars.put("office", dates=["2026-01-03", "2026-01-04"])
    assert after.settled
    assert tw.calendars.users("office") == ["daily"]
    pass_days(tw, clock, 4, 6)
    assert days_of(ran) == [2, 4]


def test_calendars_are_made_of_others(tw: Tickwise, clock: Clock) -> None:
    """S60: a change of one reaches those that are made of it, and their jobs; a circle is refused."""
    tw.calendars.put("closed", dates=["2026-01-05"])
    tw.calendars.put("extra", dates=["2026-01-10"])
    tw.calendars.put("office", **WEEK, remove=["closed"], add=["extra"])
    ran = declared(tw, days={"in": "office"})
    tw.calendars.put("closed", dates=["2026-01-06"])
    assert set(tw.calendars.users("closed")) == {"the calendar office"}
    pass_days(tw, clock, 1, 11)
    assert days_of(ran) == [1, 2, 5, 7, 8, 9, 10]
    for name, fields in (("closed", {"add": ["office"]}), ("own", {"add": ["own"]})):
        with pytest.raises(InputError, match=r"it is made of itself, by way of (office|own)"):
            tw.calendars.put(name, **fields)
    with pytest.raises(
        ConflictError, match="the calendar closed is used by the calendar office: change that first"
    ):
        tw.calendars.remove("closed")


def test_what_is_wrong_is_refused(tw: Tickwise) -> None:
    """S60, S61: and changes nothing."""
    tw.calendars.put("office", dates=["2026-01-05"])
    spec: Mapping[str, Any] = {"schedule": DAILY, "command": "true"}
    for days, problem in (
        ({"days": {"in": "ofice"}}, "there is no calendar 'ofice' \\(did you mean office\\?\\)"),
        ({"days": {"in": "office"}, "schedule": "0 9 6 1 *"}, "none of its times is on a day that fits"),
        (
            {"days": {"in": "office"}, "schedule": {"every": "1h"}, "roll": "back"},
            "roll: roll moves a time of day",
        ),
        ({"days": {"in": "office"}, "schedule": {"at": "2026-02-01T09:00"}}, "a one-off names its day itself"),
        ({"days": {"in": "office", "not_in": "office"}}, "days has exactly one of in, not_in"),
        ({"roll": "back"}, "roll: goes with days"),
        ({"nth": [1]}, "nth: goes with days"),
        ({"days": {"in": "office"}, "nth": [0]}, "count days from 1"),
        ({"days": {"in": "office"}, "nth": [1, 1]}, "each once"),
    ):
        with pytest.raises(InputError, match=problem):
            tw.schedules.add("bad", **{**spec, **days})
    assert tw.schedules.list() == []
    for fields, problem in (
        ({"holidays": {"country": "XX"}}, "Country XX not available"),
        ({"add": ["nobody"]}, "there is no calendar 'nobody'"),
        ({"weekday": ["MON"]}, "unknown field \\(did you mean weekdays\\?\\)"),
    ):
        with pytest.raises(InputError, match=problem):
            tw.calendars.put("office", **fields)
    assert tw.calendars.year("office", 2026).days == (date(2026, 1, 5),)
    with pytest.raises(InputError, match="the days of 2050 are not known: it was expanded for 2025 to 2036"):
        tw.calendars.year("office", 2050)
    with pytest.raises(NotFoundError, match="there is no calendar 'offic' \\(did you mean office\\?\\)"):
        tw.calendars.get("offic")
    tw.calendars.remove("office")
    assert tw.calendars.list() == []


def test_days_are_shown_with_their_names(tw: Tickwise) -> None:
    """S60: holidays are told by name, those that are taken away too; a preview writes nothing."""
    fields = {**WEEK, "remove": [{"holidays": {"country": "DE", "subdivision": "BE"}}]}
    shown = tw.calendars.preview(fields, 2026)
    assert date(2026, 4, 3) not in shown.days
    assert shown.names["2026-04-03"] == "Good Friday"
    assert len(tw.calendars.preview(fields).days) == len(shown.days)
    assert tw.calendars.list() == []


@pytest.fixture
def shaky(clock: Clock) -> Shaky:
    return Shaky(MemoryStore(clock))


async def define_daily(store: Store) -> None:
    from tickwise.sources.spec import read_spec  # noqa: PLC0415

    fields = {"name": "daily", "schedule": DAILY, "days": {"in": "office"}, "command": "true"}
    await DefinitionSync(store).define_all([read_spec(fields, "")], "api")


@patiently
async def test_an_interrupted_change_is_finished_by_another_node(shaky: Shaky) -> None:
    """S60: a calendar whose jobs could not all be written is marked, and any node goes on from there."""
    store = cast(Store, shaky)
    await put_calendar(store, "office", {"dates": ["2026-01-02"]}, "api")
    await define_daily(store)
    shaky.fail("define")
    with pytest.raises(StoreUnavailableError):
        await put_calendar(store, "office", {"dates": ["2026-01-05"]}, "api")
    shaky.mend()
    changed = await stored_calendar(store, "office")
    assert not changed.settled
    row = await store.insights.schedule("daily")
    assert row is not None
    assert calendars.is_stale(row.schedule.definition, {"office": changed})
    await DefinitionSync(store).turn()
    row = await store.insights.schedule("daily")
    assert row is not None
    assert not calendars.is_stale(row.schedule.definition, {"office": changed})
    assert (await stored_calendar(store, "office")).settled


@patiently
async def test_a_calendar_that_changes_while_a_job_is_written(shaky: Shaky) -> None:
    """S60: the job gets the days that came in between."""
    store = cast(Store, shaky)
    await put_calendar(store, "office", {"dates": ["2026-01-02"]}, "api")

    async def change() -> None:
        del shaky.faults["define"]
        await put_calendar(store, "office", {"dates": ["2026-01-05"]}, "api")

    shaky.faults["define"] = change
    await define_daily(store)
    row = await store.insights.schedule("daily")
    assert row is not None
    assert not calendars.is_stale(row.schedule.definition, await stored_calendars(store))


async def with_other_days(store: Store, name: str, *days: str) -> None:
    """As if another version of the packages had expanded it."""
    known = await stored_calendar(store, name)
    numbers = [day_number(date.fromisoformat(day)) for day in days]
    other = replace(known, days=DaySet.of(numbers, known.days.since, known.days.size))
    await store.access.keep_calendar(name, calendars._calendar_text(other), known.revision)


@patiently
async def test_nodes_with_other_packages_keep_what_is_stored(clock: Clock) -> None:
    """S60: the same fields again keep their days; a person may ask for new ones, and so does time."""
    store = MemoryStore(clock)
    fields = {"holidays": {"country": "DE"}}
    await put_calendar(store, "free", fields, "folder:x")
    found = (await stored_calendar(store, "free")).days
    await with_other_days(store, "free", "2026-01-07")
    assert (await put_calendar(store, "free", fields, "folder:x", anew=False)).days != found
    await DefinitionSync(store).turn()
    assert (await stored_calendar(store, "free")).days != found
    assert (await put_calendar(store, "free", fields, "folder:x")).days == found
    clock.set(datetime.fromisoformat("2032-02-01T00:00Z"))
    await DefinitionSync(store).turn()
    assert (await stored_calendar(store, "free")).ends == date(2042, 12, 31)


def folder_of(path: Path, **files: str) -> FolderSource:
    (path / "calendars").mkdir(exist_ok=True)
    for name, text in files.items():
        place = path / f"{name}.yaml" if name == "report" else path / "calendars" / name.replace("_ics", ".ics")
        place = place if place.suffix else place.with_suffix(".yaml")
        place.write_text(text)
    return FolderSource(path, "jobs")


OFFICE = "weekdays: [MON-FRI]\nremove: [closing]\n"
CLOSING = "ics: days.ics\n"
REPORT = 'schedule: "0 9 * * *"\ndays: {in: office}\ncommand: "true"\n'
ICS = (
    "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nBEGIN:VEVENT\nSUMMARY:Move\nDTSTART;VALUE=DATE:{}\nEND:VEVENT\n"
    "END:VCALENDAR\n"
)


class Watched:
    """A folder, scanned when a test says so."""

    def __init__(self, path: Path, store: Store) -> None:
        self.path, self.sync = path, DefinitionSync(store)
        self._reader, self._active = FolderReader(path, "folder:jobs"), ActiveDefinitions()

    async def scan(self) -> tuple[str, ...]:
        """Write what has changed; the problems."""
        content = self._reader.read(ScanRequest(thorough=True), lambda: False)
        before, self._active = self._active, reconcile(self._active, content)
        if change := difference(before, self._active):
            self.sync._queue_change("folder:jobs", change)
            await self.sync._write_queued("folder:jobs")
        return self.sync.problems


@patiently
async def test_a_folder_has_its_calendars_beside_its_jobs(clock: Clock, tmp_path: Path) -> None:
    """S27, S50, S60: they come before the jobs that need them, change with their files, and go after them."""
    store = MemoryStore(clock)
    folder_of(tmp_path, office=OFFICE, closing=CLOSING, days_ics=ICS.format("20260105"), report=REPORT)
    watched = Watched(tmp_path, store)
    assert await watched.scan() == ()
    known = await stored_calendars(store)
    assert [(one.name, one.source, one.settled) for one in known.values()] == [
        ("closing", "folder:jobs", True), ("office", "folder:jobs", True),
    ]  # fmt: skip
    row = await store.insights.schedule("report")
    assert row is not None
    assert row.next_slot == int(datetime.fromisoformat("2026-01-01T09:00Z").timestamp())
    (tmp_path / "calendars" / "days.ics").write_text(ICS.format("20260101"))
    assert await watched.scan() == ()
    row = await store.insights.schedule("report")
    assert row is not None
    assert row.next_slot == int(datetime.fromisoformat("2026-01-02T09:00Z").timestamp())
    with pytest.raises(ConflictError, match="the calendar office was defined by folder:jobs, which alone may"):
        await put_calendar(store, "office", WEEK, "api")
    (tmp_path / "calendars" / "office.yaml").write_text("weekdays: [MOO]")
    (problem,) = await watched.scan()
    assert problem.endswith(
        "calendars/office.yaml:1:12: weekdays.0: 'MOO' is no weekday: write MON, or MON-FRI for several"
    )
    assert len(await stored_calendars(store)) == 2
    (tmp_path / "calendars" / "office.yaml").unlink()
    (problem,) = await watched.scan()
    assert "the calendar office is used by report: change that first" in problem
    (tmp_path / "report.yaml").unlink()
    assert await watched.scan() == ()
    assert [*await stored_calendars(store)] == ["closing"]


@patiently
async def test_a_folder_takes_with_it_what_went_while_nobody_watched(clock: Clock, tmp_path: Path) -> None:
    """S50: a folder that cannot be seen takes nothing, one that can be read in full takes what it lacks."""
    store = MemoryStore(clock)
    folder_of(tmp_path, office="weekdays: [MON]", closing="dates: [2026-01-05]")
    await Watched(tmp_path, store).scan()
    (tmp_path / "calendars" / "closing.yaml").unlink()
    again = Watched(tmp_path, store)
    await again.scan()
    assert [*await stored_calendars(store)] == ["office"]
    gone = tmp_path.with_name("gone")
    os.rename(tmp_path, gone)  # noqa: PTH104  (nothing else runs in this loop)
    await again.scan()
    assert [*await stored_calendars(store)] == ["office"]
    os.rename(gone, tmp_path)  # noqa: PTH104
    assert await again.scan() == ()


@patiently
async def test_a_folder_that_others_may_write_is_not_read(clock: Clock, tmp_path: Path) -> None:
    """S60: what it had goes on, and a calendar that somebody puts there does not come."""
    store = MemoryStore(clock)
    folder_of(tmp_path, office="weekdays: [MON]", report=REPORT)
    watched = Watched(tmp_path, store)
    await watched.scan()
    folder_of(tmp_path, office="weekdays: [TUE]", other="weekdays: [MON]")
    tmp_path.chmod(0o777)  # noqa: ASYNC240  (nothing else runs in this loop)
    assert await watched.scan() != ()
    assert [(name, one.fields) for name, one in (await stored_calendars(store)).items()] == [
        ("office", {"weekdays": ["MON"]})
    ]


@patiently
async def test_a_removed_source_takes_its_calendars_along(clock: Clock, tmp_path: Path) -> None:
    """S50: but for those that jobs of others use."""
    async with AsyncTickwise("memory://", clock=clock) as tw:
        folder_of(
            tmp_path, office="weekdays: [MON]", all="add: [office, own]", own="weekdays: [SUN]", report=REPORT
        )
        await Watched(tmp_path, await tw.store()).scan()
        await tw.schedules.add("mine", schedule=DAILY, days={"in": "own"}, command="true")
        assert await tw.sources.remove("folder:jobs") == ["report"]
        assert [one.name for one in await tw.calendars.list()] == ["own"]


def test_stops_keep_their_times(tw: Tickwise) -> None:
    """S21, S61: what began on a day that fits ends when it should, and nothing is restarted on others."""
    tw.calendars.put("office", dates=["2026-01-02"])
    times = {"start": "0 22 * * *", "stop": "0 6 * * *", "restart": "0 12 * * *"}
    tw.schedules.add("feed", schedule=times, days={"in": "office"}, command="true")
    ahead = [(run.schedule, run.slot.day) for run in tw.upcoming(hours=72)]
    assert ahead == [
        ("feed.stop", 1), ("feed.stop", 2), ("feed.restart", 2), ("feed", 2), ("feed.stop", 3)
    ]  # fmt: skip


@patiently
async def test_a_moved_source_takes_its_calendars_along(clock: Clock, tmp_path: Path) -> None:
    """S50: what has been left behind belongs to who took it over."""
    async with AsyncTickwise("memory://", clock=clock) as tw:
        folder_of(tmp_path, office="weekdays: [MON]", report=REPORT)
        await Watched(tmp_path, await tw.store()).scan()
        await tw.sources.move("folder:jobs", "api")
        assert (await tw.calendars.put("office", weekdays=["TUE"])).source == "api"


@patiently
async def test_the_doctor_looks_at_calendars(clock: Clock) -> None:
    """S60: a year before one ends, and when a job has other days than its calendar."""
    async with AsyncTickwise("memory://", clock=clock) as tw:
        store = await tw.store()
        await tw.calendars.put("office", dates=["2026-01-02"])
        await define_daily(store)
        assert [one.code for one in await doctor(tw, clock) if one.code.startswith("calendar")] == []
        await with_other_days(store, "office", "2026-01-05")
        stale = next(one for one in await doctor(tw, clock) if one.code == "calendar_stale")
        assert (stale.what, stale.repair) == (
            "daily has older days of the calendar office", "tickwise calendars expand office"
        )  # fmt: skip
        clock.set(datetime.fromisoformat("2036-02-01T00:00Z"))
        ends = next(one for one in await doctor(tw, clock) if one.code == "calendar_ends")
        assert (ends.severity, ends.what) == (
            "warning", "the calendar office ends on 2036-12-31: after that its schedules have no slot"
        )  # fmt: skip
        clock.set(datetime.fromisoformat("2037-02-01T00:00Z"))
        ends = next(one for one in await doctor(tw, clock) if one.code == "calendar_ends")
        assert ends.severity == "error"
        await tw.calendars.expand("office")
        assert [one.code for one in await doctor(tw, clock) if one.code.startswith("calendar")] == []

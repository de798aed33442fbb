"""`tw.schedules`, `tw.runs`, `tw.jobs`: what people do with what is defined."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from ..core.change import (
    BackfillAsked,
    BackfillCancelled,
    Change,
    Paused,
    Rescheduled,
    Reset,
    Resumed,
    backfill_slots,
)
from ..core.definition import Overlap
from ..core.errors import InputError
from ..core.instant import to_datetime
from ..core.model import ScheduleFacts, Trigger
from ..core.states import RunState
from ..sources.spec import read_spec
from ..stores.contract import Store
from ..stores.paging import every
from ..stores.records import MICRO, Enqueue, RunFilter
from .values import RunInfo, ScheduleInfo, as_second

When: TypeAlias = datetime | timedelta | str
OpenStore: TypeAlias = Callable[[], Awaitable[Store]]
API_SOURCE = "api"
_DRY_RUN = 10_000
_PAGE = 1_000


class Schedules:
    """Schedules by name."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    async def add(self, name: str, **fields: Any) -> ScheduleInfo:
        """Define a job with its schedule, by the fields of a job file."""
        store = await self._store()
        if await store.insights.job(name) is not None:
            raise InputError(f"{name} is there already: update it instead")
        return await self._write(store, name, fields)

    async def update(self, name: str, **fields: Any) -> ScheduleInfo:
        """Define it anew; refused for what another source has written (S50)."""
        return await self._write(await self._store(), name, fields)

    async def _write(self, store: Store, name: str, fields: Mapping[str, Any]) -> ScheduleInfo:
        await store.define(read_spec({"name": name, **fields}, f"schedule {name}"), API_SOURCE)
        return await self.get(name)

    async def remove(self, name: str) -> None:
        """Delete what the API has defined."""
        await (await self._store()).remove(name, API_SOURCE)

    async def list(self) -> list[ScheduleInfo]:
        insights = (await self._store()).insights
        rows = await every(lambda after: insights.schedules(after=after, limit=_PAGE))
        return [ScheduleInfo.of(row) for row in rows]

    async def get(self, name: str) -> ScheduleInfo:
        row = await (await self._store()).insights.schedule(name)
        if row is None:
            raise InputError(f"there is no schedule {name!r}")
        return ScheduleInfo.of(row)

    async def pause(self, name: str, *, reason: str = "", by: str = "") -> ScheduleInfo:
        return await self._change(name, Paused(by, reason))

    async def resume(self, name: str, *, run_missed: bool | None = None) -> ScheduleInfo:
        return await self._change(name, Resumed(run_missed))

    async def reschedule(self, name: str, to: When) -> ScheduleInfo:
        """Move the next fire, once."""
        return await self._change(name, Rescheduled(as_second(to, await self._now())))

    async def reset(self, name: str) -> ScheduleInfo:
        """Drop the backlog: go on from now."""
        return await self._change(name, Reset())

    async def trigger(
        self, name: str, params: Mapping[str, Any] | None = None, *, beside: bool = False, by: str = ""
    ) -> RunInfo:
        """Run the schedule's job now, by hand (S30)."""
        store = await self._store()
        row = await store.insights.schedule(name)
        if row is None:
            raise InputError(f"there is no schedule {name!r}")
        asked = Enqueue(row.schedule.job, Trigger.MANUAL, params, beside=beside, by=by)
        (made,) = await store.enqueue([asked])
        return await run_info(store, made.id)

    async def backfill(
        self, name: str, start: When, end: When, *, overlap: str = "queue", limit: int = 1_000,
        again: bool = False, dry_run: bool = False,
    ) -> Sequence[datetime]:  # fmt: skip
        """Enqueue the slots of a time that has passed and have no run; a dry run lists them only (S32)."""
        store, now = await self._store(), await self._now()
        asked = BackfillAsked(as_second(start, now), as_second(end, now), Overlap(overlap), limit, again=again)
        row = await store.insights.schedule(name)
        if row is None:
            raise InputError(f"there is no schedule {name!r}")
        known = await self._slots_with_run(store, name, asked.start)
        slots: list[datetime] = []
        for slot in backfill_slots(row.schedule, ScheduleFacts(known), asked.start, asked.end):
            if len(slots) >= min(limit, _DRY_RUN):
                break
            slots.append(to_datetime(slot))
        if not dry_run:
            await store.change(name, asked)
        return slots

    async def cancel_backfill(self, name: str) -> ScheduleInfo:
        return await self._change(name, BackfillCancelled())

    async def _slots_with_run(self, store: Store, name: str, start: int) -> frozenset[int]:
        wanted = RunFilter(schedule=name)
        rows = await every(lambda after: store.insights.runs(wanted, after=after, limit=_PAGE))
        return frozenset(row.slot for row in rows if row.slot is not None and row.slot >= start)

    async def _change(self, name: str, change: Change) -> ScheduleInfo:
        await (await self._store()).change(name, change)
        return await self.get(name)

    async def _now(self) -> int:
        return await (await self._store()).now() // MICRO


class Runs:
    """Runs by id."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    async def list(
        self, *, job: str | None = None, schedule: str | None = None, state: str | None = None, limit: int = 100
    ) -> list[RunInfo]:
        """The newest first."""
        states = frozenset({RunState(state)}) if state else frozenset[RunState]()
        wanted = RunFilter(job=job, schedule=schedule, states=states)
        page = await (await self._store()).insights.runs(wanted, limit=limit)
        return [RunInfo.of(row) for row in page.items]

    async def get(self, run: str) -> RunInfo:
        return await run_info(await self._store(), run)

    async def cancel(self, run: str) -> str:
        """End a queued run, or ask a running one to end; the state it was found in, or has now."""
        return str(await (await self._store()).cancel(run))

    async def retry(self, run: str) -> RunInfo:
        """Put a failed, lost or cancelled run back; steps that succeeded are not repeated."""
        store = await self._store()
        await store.put_back(run)
        return await run_info(store, run)

    async def logs(self, run: str) -> str:
        """What the run printed."""
        insights = (await self._store()).insights
        parts = await every(lambda after: insights.log(run, after=after, limit=_PAGE))
        return "".join(part.text for part in parts)


class Jobs:
    """Jobs by name."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    async def list(self) -> list[str]:
        insights = (await self._store()).insights
        rows = await every(lambda after: insights.jobs(after=after, limit=_PAGE))
        return [row.definition.name for row in rows]


async def run_info(store: Store, run: str) -> RunInfo:
    row = await store.insights.run(run)
    if row is None:
        raise InputError(f"there is no run {run!r}")
    return RunInfo.of(row)

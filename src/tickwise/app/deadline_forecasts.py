"""Reads what `core.simulation.deadline_forecast` plays from, and keeps its forecasts for a minute (ADR 90).

The store names the schedules that have deadlines. For those of them whose next deadline is near, the jobs are read
that they depend on, what of these runs, and how their newest runs went. The plays take a core for some seconds at
most, in a thread of their own, and for a small share of the time however many deadlines there are.
"""

import asyncio
from collections.abc import Callable, Iterable

from ..clock import monotonic
from ..core.deadline_forecast import HORIZON, DeadlineForecast, ForecastFacts, ForecastRun
from ..core.deadlines import next_deadlines
from ..core.definition import JobDefinition, successes_of_job
from ..core.model import Pause, Schedule
from ..core.requirements import LiveWorkers, requirements_of
from ..core.simulation.run_times import RunTime, RunTimes
from ..core.states import ACTIVE, FAILURES, RunState
from ..core.timeparse import iso
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import MICRO, RunFilter, RunRow, ScheduleFilter, ScheduleRow
from .worker_advice import live_workers

_KEPT_SECONDS = 60
_LARGEST_SHARE = 0.05  # of the time that is spent on forecasts
_MAX_SCHEDULES, _MAX_JOBS = 100, 300  # the nearest deadlines; jobs with those that they depend on
_PAGE_SIZE = 1_000
_MAX_RUNS = 60  # of a job, that say how long the next one takes
_ENDED = FAILURES | {RunState.SUCCEEDED, RunState.SKIPPED, RunState.EXPIRED}


class DeadlineForecasts:
    """The forecasts of a store; concurrent callers share one computation."""

    def __init__(self, store: Store, wanted: Callable[[Schedule], bool] = lambda _: True) -> None:
        self._store = store
        self._wanted = wanted
        self._lock = asyncio.Lock()
        self._found: tuple[DeadlineForecast, ...] = ()
        self._good_until = 0.0

    async def current(self) -> tuple[DeadlineForecast, ...]:
        """Of all schedules with a deadline in the next day, in order of time."""
        async with self._lock:
            begun = monotonic()
            if begun >= self._good_until:
                rows = await _with_deadlines(self._store)
                self._found = await forecasts_of(self._store, (row for row in rows if self._wanted(row.schedule)))
                spent = monotonic() - begun
                self._good_until = monotonic() + max(_KEPT_SECONDS, spent / _LARGEST_SHARE)
        return self._found


async def _with_deadlines(store: Store) -> tuple[ScheduleRow, ...]:
    wanted = ScheduleFilter(deadline=True)
    return tuple(await all_pages(lambda after: store.insights.schedules(wanted, after, _PAGE_SIZE)))


async def forecasts_of(store: Store, rows: Iterable[ScheduleRow]) -> tuple[DeadlineForecast, ...]:
    """The forecasts of these schedules: of the nearest deadlines, if there are very many."""
    now = await store.now() // MICRO
    near = [(at, row) for row in rows if (at := _next(row, now)) is not None and at <= now + HORIZON]
    if not near:
        return ()
    near.sort(key=lambda each: each[0])
    facts = await _read_facts(store, [row for _, row in near[:_MAX_SCHEDULES]], now)
    found = await asyncio.to_thread(_forecast, facts)
    wanted = {row.schedule.name for _, row in near}
    return tuple(each for each in found if each.schedule in wanted)


def _forecast(facts: ForecastFacts) -> list[DeadlineForecast]:
    from ..core.simulation.deadline_forecast import forecast_deadlines  # noqa: PLC0415  (few need the planner)

    return forecast_deadlines(facts)


async def forecast_notes(store: Store, row: ScheduleRow) -> tuple[str, ...]:
    """What its next deadlines look like, in sentences."""
    found = await forecasts_of(store, [row]) if row.schedule.definition.policy.deadline else ()
    return tuple(f"Its slot {iso(each.slot)} {each.text}." for each in found)


def _next(row: ScheduleRow, now: int) -> int | None:
    return None if row.unreadable else min((each.at for each in next_deadlines(row.schedule, now)), default=None)


async def _read_facts(store: Store, rows: Iterable[ScheduleRow], now: int) -> ForecastFacts:
    jobs, schedules = await _read_jobs(store, {row.schedule.job for row in rows})
    ended = {name: await _newest_runs(store, name, _ENDED) for name in jobs}
    active = {name: await _newest_runs(store, name, ACTIVE) for name in jobs}
    paused = next((each for each in await store.insights.pauses() if each.until is None), None)
    workers = live_workers(await store.insights.nodes(), now * MICRO)
    return ForecastFacts(
        now=now,
        jobs=jobs,
        schedules={name: _resting(one, paused and Pause(paused.at)) for name, one in schedules.items()},
        run_times={name: RunTimes(tuple(map(_run_time, runs))) for name, runs in ended.items()},
        runs=[_active_run(run) for name in jobs for run in (*active[name], *ended[name])],
        successes={name: _successful_slots(ended[one.job], name) for name, one in schedules.items()}
        | {successes_of_job(name): _successful_slots(ended[name], None) for name in jobs},
        unserved=frozenset(name for name, job in jobs.items() if _unserved(job, workers)),
    )


async def _read_jobs(
    store: Store, names: set[str]
) -> tuple[dict[str, JobDefinition], dict[str, Schedule]]:  # fmt: skip
    """Jobs with their schedules, and those whose successes they wait for, and so on."""
    jobs, schedules, unknown = dict[str, JobDefinition](), dict[str, Schedule](), sorted(names)
    while unknown and len(jobs) < _MAX_JOBS:
        name = unknown.pop()
        row = await store.insights.job(name)
        if row is None or row.unreadable:
            continue
        jobs[name] = row.definition
        own = (await store.insights.schedules(ScheduleFilter(job=name), limit=_PAGE_SIZE)).items
        schedules |= {each.schedule.name: each.schedule for each in own if not each.unreadable}
        afters = [after for each in own for after in each.schedule.definition.policy.after]
        unknown += [after.job for after in afters if after.job and after.job not in jobs]
        needed = {after.schedule for after in afters if after.schedule} - schedules.keys()
        for other in sorted(needed):
            found = await store.insights.schedule(other)
            if found and found.schedule.job not in jobs:
                unknown.append(found.schedule.job)
    return jobs, {name: one for name, one in schedules.items() if one.job in jobs}


async def _newest_runs(store: Store, job: str, states: frozenset[RunState]) -> tuple[RunRow, ...]:
    return (await store.insights.runs(RunFilter(job=job, states=states), limit=_MAX_RUNS)).items


def _resting(schedule: Schedule, pause: Pause | None) -> Schedule:
    """While everything is paused, nobody knows when it goes on."""
    return schedule if pause is None else schedule._replace(manual_pause=pause)


def _run_time(run: RunRow) -> RunTime:
    begun = run.started_at if run.attempt <= 1 else None
    return RunTime(
        begun_after=None if begun is None else max(0, begun - run.created_at) // MICRO,
        ended_after=max(0, _ceil((run.finished_at or run.created_at) - run.created_at)),
        failed=run.state in FAILURES or run.state is RunState.EXPIRED,
    )


def _active_run(run: RunRow) -> ForecastRun:
    begun = None if run.started_at is None else _ceil(run.started_at)
    ended = None if run.finished_at is None else _ceil(run.finished_at)
    return ForecastRun(
        run.job, run.schedule, run.slot, run.trigger, run.lane if run.state in ACTIVE else None, run.state,
        run.created_at // MICRO, begun, ended, run.cancelling,
    )  # fmt: skip


def _successful_slots(runs: Iterable[RunRow], schedule: str | None) -> list[int]:
    """Slots of its successes, and starts of those by hand (S35); without a schedule those of all runs."""
    done = [run for run in runs if run.state is RunState.SUCCEEDED]
    slots = [run.slot for run in done if schedule in (None, run.schedule) and run.slot is not None]
    return sorted([*slots, *(run.started_at // MICRO for run in done if run.schedule is None and run.started_at)])


def _unserved(job: JobDefinition, workers: LiveWorkers) -> bool:
    return workers.missing(job.queue, requirements_of(job)) is not None


def _ceil(microseconds: int) -> int:
    return -(-microseconds // MICRO)

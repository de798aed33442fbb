"""Statistics: hours by schedule, minutes by job, counts of what is live now or ended lately, and what is new.

Everything here is found by when it was touched, so old runs are not read. Runs are summed up by a script, a
bounded number at a time.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from typing import Any

from ...core.model import Trigger
from ...core.reasons import Reason
from ...core.states import FAILURES, FINAL, RunState
from ..job_document import Document
from ..records import MICRO, Changes, DecisionRow
from ..statistics import LATELY, NOT_RUN, Counts, HourlyStats, MinuteStats
from .base import RedisServer
from .decisions import decision_rows, in_order
from .insights_runs import BATCH_SIZE
from .runs import read_runs, run_rows

_HOUR, _MINUTE = 3_600, 60


async def counts(server: RedisServer) -> Counts:
    found: dict[str, Any] = await server.call("counts", lately=LATELY * MICRO, states=sorted(map(str, FINAL)))
    waiting = {queue: int(number) for queue, number in found["waiting"].items()}
    states = {RunState.QUEUED: sum(waiting.values()), RunState.RUNNING: found["running"]}
    states |= {RunState(state): number for state, number in found["finished"].items()}
    unserved = Counter(tuple(wants.split(" ", 1)) for wants in found["held"])
    return Counts(
        jobs=found["jobs"],
        schedules=found["schedules"],
        paused=found["paused"],
        runs={state: number for state, number in states.items() if number},
        waiting=waiting,
        unserved={(queue, requires): number for (queue, requires), number in unserved.items()},
        oldest_due=None if found["oldest"] is None else int(found["oldest"]),
        overdue=found["overdue"],
        nodes=found["nodes"],
    )


async def _runs_touched(server: RedisServer, since: int) -> AsyncIterator[Document]:
    """Runs that were created, started or finished since an instant, and some more."""
    first = 0
    while True:
        ids = await server.command(
            "ZRANGE", server.key("touched"), since, "+inf", "BYSCORE", "LIMIT", first, BATCH_SIZE
        )
        for run in await read_runs(server, ids):
            yield run
        first += len(ids)
        if len(ids) < BATCH_SIZE:
            return


async def _decisions_by(server: RedisServer, index: str, since: int) -> list[DecisionRow]:
    members = await server.command("ZRANGE", server.key(index), since, "+inf", "BYSCORE")
    rows: list[DecisionRow] = []
    for first in range(0, len(members), BATCH_SIZE):
        rows += await decision_rows(server, members[first : first + BATCH_SIZE])
    return rows


async def minute_stats(server: RedisServer, number: int, *, by_job: bool) -> tuple[MinuteStats, ...]:
    since = (await server.now() // MICRO // _MINUTE - number + 1) * _MINUTE
    sums: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)

    def add(kind: str, at: int, job: str, count: int = 1) -> None:
        if (minute := at // MICRO // _MINUTE * _MINUTE) >= since:
            sums[minute, job if by_job else ""][kind] += count

    async for run in _runs_touched(server, since * MICRO):
        add("fired", run["created_at"], run["job"])
        if run["state"] in FAILURES:
            add("failed", run["finished_at"], run["job"])
    rows = [
        row for row in await _decisions_by(server, "decisions_touched", since * MICRO) if row.reason in NOT_RUN
    ]
    jobs = await _jobs_of(server, sorted({row.schedule for row in rows})) if by_job else {}
    for row in rows:
        add("skipped", row.extended_at, jobs.get(row.schedule, ""), row.count)
    return tuple(MinuteStats(*key, *(sums[key][kind] for kind in MinuteStats._fields[2:])) for key in sorted(sums))


async def _jobs_of(server: RedisServer, schedules: list[str]) -> dict[str, str]:
    """By schedule; also of deleted ones."""
    if not schedules:
        return {}
    jobs: dict[str, str] = {}
    for index in ("gone", "owner"):
        found = await server.command("HMGET", server.key(index), *schedules)
        jobs |= {name: job for name, job in zip(schedules, found, strict=True) if job}
    return jobs


async def hourly_stats(server: RedisServer, number: int, schedule: str | None) -> tuple[HourlyStats, ...]:
    since = (await server.now() // MICRO // _HOUR - number + 1) * _HOUR
    runs: dict[tuple[str, int], list[Document]] = defaultdict(list)
    async for run in _runs_touched(server, since * MICRO):
        if run.get("slot", since - 1) >= since and schedule in (None, run["schedule"]):
            runs[run["schedule"], run["slot"] // _HOUR * _HOUR].append(run)
    decided: dict[tuple[str, int], Counter[Reason]] = defaultdict(Counter)
    for row in await _decisions_by(server, "decisions_last", since):
        if schedule in (None, row.schedule):
            decided[row.schedule, row.first // _HOUR * _HOUR][row.reason] += row.count
    return tuple(_hour_row(key, runs[key], decided[key]) for key in sorted({*runs, *decided}))


def _hour_row(key: tuple[str, int], runs: list[Document], decided: Counter[Reason]) -> HourlyStats:
    return HourlyStats(
        schedule=key[0],
        hour=key[1],
        runs=dict(Counter(RunState(run["state"]) for run in runs)),
        claim_ms=_mean_between(runs, "due_at", "created_at"),
        late_ms=_mean_between(runs, "due_at", "started_at"),
        run_ms=_mean_between(runs, "started_at", "finished_at"),
        decided=dict(decided),
        triggers=dict(Counter(Trigger.of(run["trigger"]) for run in runs)),
    )


def _mean_between(runs: list[Document], first: str, last: str) -> float | None:
    """From one instant to another, in milliseconds; none if no run has both."""
    found = [run[last] - run[first] for run in runs if first in run and last in run]
    return sum(found) / len(found) / 1_000 if found else None


async def changes_since(server: RedisServer, since: int, limit: int) -> Changes:
    """What is new, of each kind the oldest first."""
    ids = await server.command("ZRANGE", server.key("touched"), since, "+inf", "BYSCORE", "LIMIT", 0, limit)
    runs = [run for run in await read_runs(server, ids) if _touched_at(run) >= since]
    members = await server.command(
        "ZRANGE", server.key("decisions_touched"), since, "+inf", "BYSCORE", "LIMIT", 0, limit
    )
    names = await server.command(
        "ZRANGE", server.key("schedules_touched"), since, "+inf", "BYSCORE", "LIMIT", 0, limit
    )
    return Changes(
        tuple(await run_rows(server, sorted(runs, key=lambda run: (_touched_at(run), run["_id"])))),
        tuple(in_order(await decision_rows(server, members))),
        tuple(names),
    )


def _touched_at(run: Document) -> int:
    """When a run was last created, started or finished."""
    return int(run.get("finished_at") or run.get("started_at") or run["created_at"])

"""Statistics: hours by schedule, minutes by job, counts of what is live now or ended lately, and what is new.

Everything here is found by when it was touched, so old runs are not read. Runs are summed up by a script, a
bounded number at a time.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from ...core.model import Trigger
from ...core.reasons import Reason
from ...core.states import FINAL, RunState
from ..job_document import Document
from ..records import MICRO, Changes, DecisionRow
from ..statistics import LATELY, NOT_RUN, Counts, HourlyStats, MinuteStats
from .base import RedisServer
from .decisions import decision_rows, in_order
from .insights_runs import BATCH_SIZE
from .runs import read_runs, run_rows

_HOUR, _MINUTE = 3_600, 60
_RUNS_PER_SCRIPT = 1_000  # a script of that size takes a few milliseconds


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


async def _sums_of_runs(server: RedisServer, since: int, **wanted: Any) -> dict[str, list[int]]:
    """Sums of runs that were touched since an instant, by what the script groups them by."""
    found: dict[str, list[int]] = {}
    first = 0
    while True:
        answer = await server.call("sums", since=since, first=first, count=_RUNS_PER_SCRIPT, **wanted)
        for key, texts in answer["sums"]:
            amounts = [int(text) for text in texts]
            before = found.get(key, [0] * len(amounts))
            found[key] = [known + amount for known, amount in zip(before, amounts, strict=True)]
        first += answer["read"]
        if answer["read"] < _RUNS_PER_SCRIPT:
            return found


async def _decisions_by(server: RedisServer, index: str, since: int) -> list[DecisionRow]:
    members = await server.command("ZRANGE", server.key(index), since, "+inf", "BYSCORE")
    rows: list[DecisionRow] = []
    for first in range(0, len(members), BATCH_SIZE):
        rows += await decision_rows(server, members[first : first + BATCH_SIZE])
    return rows


async def minute_stats(server: RedisServer, number: int, *, by_job: bool) -> tuple[MinuteStats, ...]:
    since = (await server.now() // MICRO // _MINUTE - number + 1) * _MINUTE
    sums: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)

    def add(kind: str, minute: int, job: str, count: int) -> None:
        if minute >= since and count:
            sums[minute, job if by_job else ""][kind] += count

    for key, (fired, failed) in (await _sums_of_runs(server, since * MICRO, minutes=True)).items():
        minute, job = key.split(" ")
        add("fired", int(minute), job, fired)
        add("failed", int(minute), job, failed)
    rows = [
        row for row in await _decisions_by(server, "decisions_touched", since * MICRO) if row.reason in NOT_RUN
    ]
    jobs = await _jobs_of(server, sorted({row.schedule for row in rows})) if by_job else {}
    for row in rows:
        add("skipped", row.extended_at // MICRO // _MINUTE * _MINUTE, jobs.get(row.schedule, ""), row.count)
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
    wanted = {"slot": since, **({} if schedule is None else {"schedule": schedule})}
    runs: dict[tuple[str, int], _HourOfRuns] = defaultdict(_HourOfRuns)
    for key, amounts in (await _sums_of_runs(server, since * MICRO, **wanted)).items():
        name, hour, state, trigger = key.split(" ")
        runs[name, int(hour)].add(state, trigger, amounts)
    decided: dict[tuple[str, int], Counter[Reason]] = defaultdict(Counter)
    for row in await _decisions_by(server, "decisions_last", since):
        if schedule in (None, row.schedule):
            decided[row.schedule, row.first // _HOUR * _HOUR][row.reason] += row.count
    return tuple(runs[key].row(key, decided[key]) for key in sorted({*runs, *decided}))


class _HourOfRuns:
    """The runs of an hour of a schedule, summed up."""

    def __init__(self) -> None:
        self._states: Counter[RunState] = Counter()
        self._triggers: Counter[Trigger] = Counter()
        self._sums = [0] * 6  # runs; from due to made; from due to started, of how many; how long, of how many

    def add(self, state: str, trigger: str, amounts: Sequence[int]) -> None:
        self._states[RunState(state)] += amounts[0]
        self._triggers[Trigger.of(trigger)] += amounts[0]
        self._sums = [known + amount for known, amount in zip(self._sums, amounts, strict=True)]

    def row(self, key: tuple[str, int], decided: Counter[Reason]) -> HourlyStats:
        count, claim, late, started, ran, finished = self._sums
        return HourlyStats(
            schedule=key[0],
            hour=key[1],
            runs=dict(self._states),
            claim_ms=_mean_of(claim, count),
            late_ms=_mean_of(late, started),
            run_ms=_mean_of(ran, finished),
            decided=dict(decided),
            triggers=dict(self._triggers),
        )


def _mean_of(microseconds: int, count: int) -> float | None:
    """In milliseconds; none of nothing."""
    return microseconds / count / 1_000 if count else None


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

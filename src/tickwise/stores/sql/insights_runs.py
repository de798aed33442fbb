"""Runs for people: one, and those that were under way; others are found by `insights_run_search`."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ...core.definition import JobDefinition
from ...core.handover import HandOver
from ...core.model import Trigger
from ...core.payload import UnreadableText, shown, shown_params
from ...core.states import RunState
from ..records import RunRow
from .definitions import DefinitionCache
from .handover import RECORD
from .runs import RUNNING
from .statement import Procedure, Statement

RUN_COLUMNS = f"""r.id, r.job_id, r.schedule_id, r.slot, r.trigger_name, r.schedule_definition_id, r.state,
    r.queue, r.priority, r.attempt, r.created_at, r.due_at, r.started_at, r.finished_at, r.node, r.claimed_by,
    r.lane, r.run_key, r.params, r.result, r.error, r.cancelling, r.failures, r.losses, r.lease_until,
    r.expires_at, r.requested_by, r.requires, {RECORD}, r.waits_for, r.traceparent"""
_RUN = Statement(f"SELECT {RUN_COLUMNS} FROM tickwise_runs r WHERE r.id = :run")
_DEFINITION = Statement("""
    SELECT r.definition_id, j.name FROM tickwise_runs r JOIN tickwise_jobs j ON j.id = r.job_id WHERE r.id = :run
""")
_NEWEST_OLD = Statement("SELECT id FROM tickwise_runs WHERE created_at < :instant ORDER BY id DESC LIMIT 1")
_UNDER_WAY = " UNION ALL ".join(
    f"""SELECT * FROM (SELECT id, {at} AS at, {lives} AS lives FROM tickwise_runs
        WHERE {which} AND started_at < :end ORDER BY 2 DESC, 1 DESC LIMIT :most) AS k"""
    for lives, at, which in (
        (1, "started_at", RUNNING),
        (1, "started_at", "queued = TRUE"),  # it waits for another attempt
        (0, "finished_at", "finished_at >= :start"),
    )
)
_TIMELINE = Statement(f"""
    SELECT {RUN_COLUMNS} FROM ({_UNDER_WAY}) AS seen JOIN tickwise_runs r ON r.id = seen.id
    ORDER BY seen.lives DESC, seen.at DESC, seen.id DESC LIMIT :most
""")
_ENDED = Statement(f"""
    SELECT {RUN_COLUMNS} FROM tickwise_runs r
    WHERE r.finished_at >= :since AND r.job_id IN (SELECT id FROM tickwise_jobs WHERE name IN :jobs[text])
    ORDER BY r.finished_at, r.id LIMIT :most
""")


def definition_of(cache: DefinitionCache, id_: int) -> Procedure[JobDefinition | None]:
    rows = yield _DEFINITION(run=id_)
    yield from cache.read(row[0] for row in rows)
    with suppress(UnreadableText):
        return cache.job(*rows[0]) if rows else None
    return None


def run(cache: DefinitionCache, id_: int) -> Procedure[RunRow | None]:
    rows = yield from run_rows(cache, (yield _RUN(run=id_)))
    return rows[0] if rows else None


def newest_old(instant: int) -> Procedure[int]:
    """The id of the newest run created before an instant; the cost grows with the runs after it."""
    found = yield _NEWEST_OLD(instant=instant)
    return int(found[0][0]) if found else 0


def timeline(cache: DefinitionCache, start: int, end: int, limit: int) -> Procedure[tuple[RunRow, ...]]:
    found = yield from run_rows(cache, (yield _TIMELINE(start=start, end=end, most=limit)))
    return tuple(sorted(found, key=lambda row: (row.started_at or 0, int(row.id))))


def ended(cache: DefinitionCache, jobs: Sequence[str], since: int, limit: int) -> Procedure[tuple[RunRow, ...]]:
    return tuple((yield from run_rows(cache, (yield _ENDED(jobs=jobs, since=since, most=limit)))))


def run_rows(cache: DefinitionCache, rows: Sequence[Any]) -> Procedure[list[RunRow]]:
    yield from cache.read(row[5] for row in rows if row[5] is not None)
    yield from cache.read_names({row[1] for row in rows}, {row[2] for row in rows if row[2] is not None})
    return [_run_row(cache, row) for row in rows]


def _run_row(cache: DefinitionCache, row: Sequence[Any]) -> RunRow:
    (
        id_, job, schedule, slot, trigger, times, state, queue, priority, attempt, created_at, due_at, started_at,
        finished_at, node, claimed_by, lane, key, params, result, error, cancelling, failures, losses, lease_until,
        expires_at, by, requires, hand_over, waits_for, traceparent,
    ) = row  # fmt: skip
    schedule = None if schedule is None else cache.schedule_names[schedule]
    return RunRow(
        id=str(id_), job=cache.job_names[job], schedule=schedule, slot=slot, trigger=Trigger.of(trigger),
        label=_label(cache, times, schedule), state=RunState(state), queue=queue, priority=priority,
        attempt=attempt, created_at=created_at, due_at=due_at, started_at=started_at, finished_at=finished_at,
        node=node, claimed_by=claimed_by, lane=None if finished_at else lane, key=key,
        params=shown_params(params), result=shown(result), error=error or "", cancelling=bool(cancelling),
        failures=failures, losses=losses, lease_until=lease_until, expires_at=expires_at, by=by or "",
        requires=requires, hand_over=None if hand_over is None else HandOver.from_text(hand_over),
        waits_for=waits_for or "", traceparent=traceparent or "",
    )  # fmt: skip


def _label(cache: DefinitionCache, times: int | None, schedule: str | None) -> str:
    if times is None or schedule is None:
        return ""
    try:
        return cache.schedule(times, schedule, "").label
    except UnreadableText:
        return ""

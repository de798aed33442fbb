"""Reads for people: jobs, schedules, decisions, and the parts of a run.

A page is asked for by the key of the last row seen, which stays valid while rows come and go.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from ...core.definition import JobDefinition
from ...core.jobstate import JobState
from ...core.payload import UnreadableText
from ...core.reasons import Reason
from ...core.states import Event, RunState
from ...core.upcoming import next_wanted_slot
from ..filter_texts import has_label, like_pattern
from ..pages import decision_page, page_number
from ..records import (
    ALL_SCHEDULES,
    AttemptRow,
    DecisionFilter,
    DecisionKey,
    DecisionRow,
    JobRow,
    LogPart,
    Page,
    ScheduleFilter,
    ScheduleRow,
    StepReport,
)
from ..unreadable import unreadable_row
from .definitions import DefinitionCache
from .jobs import COLUMNS, JOBS, JobColumns, LoadedJob, load
from .statement import Procedure, Statement

_NEXT_DUE = Statement(
    """
    SELECT min(wake_at) FROM tickwise_job_state
    WHERE local = FALSE AND NOT EXISTS (SELECT 1 FROM tickwise_pauses WHERE until IS NULL)
""",
    alone=True,
)
_JOBS = Statement("""
    SELECT id, name, definition_id, version, source, created_at, updated_at, history_from FROM tickwise_jobs
    WHERE deleted_at IS NULL AND name > :after AND (CAST(:name AS {text}) IS NULL OR name = :name)
    ORDER BY name LIMIT :most
""")
_JOBS_NAMED = Statement("""
    SELECT id, name, definition_id, version, source, created_at, updated_at, history_from FROM tickwise_jobs
    WHERE deleted_at IS NULL AND name IN :names[text]
""")
_SCHEDULES_OF = Statement("""
    SELECT job_id, name FROM tickwise_schedules WHERE job_id IN :jobs[bigint] AND deleted IS NULL ORDER BY name
""")
_MATCHES = {  # conditions of a filter of schedules, by its field
    "name": "s.name = :name",
    "job": "j.name = :job",
    "names": "s.name IN :names[text]",
    "local": "s.local",
    "paused": "s.paused = :paused",
    "due_before": "s.wake_at < :due_before",
    "deadline": "s.rest LIKE :deadline",
    "pattern": "(lower(s.name) LIKE :pattern ESCAPE '!' OR lower(j.name) LIKE :pattern ESCAPE '!')",
}
_JOB_ROWS = Statement(f"SELECT {COLUMNS} FROM {JOBS} WHERE j.id IN :ids[bigint]")
_PAUSED = Statement("SELECT count(*) FROM tickwise_pauses WHERE until IS NULL")
_LATEST_PAUSE = Statement("SELECT coalesce(max(id), 0) FROM tickwise_pauses WHERE until IS NOT NULL")
_OF_SCHEDULE = "n.schedule_id = s.id AND n.slot IS NOT NULL"
_LAST_RUNS = Statement(f"""
    SELECT s.id, r.id, r.started_at, r.created_at, r.state FROM tickwise_schedule_state s
    JOIN tickwise_runs r ON r.id = coalesce(
        (SELECT max(n.id) FROM tickwise_runs n WHERE n.job_id = s.job_id AND {_OF_SCHEDULE} AND n.id >= coalesce(
            (SELECT m.id FROM tickwise_runs m WHERE m.job_id = s.job_id ORDER BY m.id DESC LIMIT 1 OFFSET 9), 0)),
        (SELECT n.id FROM tickwise_runs n WHERE n.job_id = s.job_id AND {_OF_SCHEDULE} ORDER BY n.id DESC LIMIT 1),
        (SELECT max(n.id) FROM tickwise_runs n WHERE {_OF_SCHEDULE}))
    WHERE s.id IN :ids[bigint] AND s.last_slot IS NOT NULL
""")  # among the newest runs of the job; else among all; else it had its runs when it was another job's
_ATTEMPTS = Statement(
    """
    SELECT number, event, started_at, finished_at, node, error FROM tickwise_attempts WHERE run_id = :run ORDER
        BY number
""",
    alone=True,
)
_STEPS = Statement(
    """
    SELECT name, state, started_at, finished_at, attempt, error, outputs, waits_for
    FROM tickwise_steps WHERE run_id = :run
        ORDER BY position
""",
    alone=True,
)
_LOG = Statement(
    """
    SELECT id, step, stream, text, at FROM tickwise_logs WHERE run_id = :run AND id > :after ORDER BY id LIMIT
        :most
""",
    alone=True,
)
DECISION_COLUMNS = """s.name, d.reason, d.first_slot, d.last_slot, d.slots, d.detail, d.made_at, d.extended_at"""
_DECISIONS = Statement(
    f"""
    SELECT {DECISION_COLUMNS}, d.schedule_id
    FROM tickwise_decisions d JOIN tickwise_schedules s ON s.id = d.schedule_id
    WHERE (CAST(:schedule AS {{text}}) IS NULL OR s.name = :schedule)
        AND (CAST(:any_reason AS {{boolean}}) OR d.reason IN :reasons[text])
        AND (CAST(:slot AS {{bigint}}) IS NULL OR (d.first_slot <= :slot AND d.last_slot >= :slot))
        AND d.last_slot >= :since AND d.first_slot < :until
        AND (d.first_slot < :first OR (d.first_slot = :first AND (d.schedule_id < :id
            OR (d.schedule_id = :id AND d.reason > :reason))))
    ORDER BY d.first_slot DESC, d.schedule_id DESC, d.reason LIMIT :most
""",
    alone=True,
)
_FIRST, _LAST = -(1 << 62), 1 << 62
_BATCH_SIZE = 1_000  # rows that are read to filter them by a label


def next_due() -> Procedure[int | None]:
    found: int | None = (yield _NEXT_DUE())[0][0]
    return found


def job(cache: DefinitionCache, name: str) -> Procedure[JobRow | None]:
    found = yield from _job_rows(cache, (yield _JOBS(after="", name=name, most=1)))
    return found[0] if found else None


def jobs(cache: DefinitionCache, after: str, limit: int) -> Procedure[Page[JobRow]]:
    rows = yield _JOBS(after=after, name=None, most=limit + 1)
    found = yield from _job_rows(cache, rows[:limit])
    return Page(tuple(found), rows[limit - 1][1] if len(rows) > limit else None)


def jobs_named(cache: DefinitionCache, names: Sequence[str]) -> Procedure[list[JobRow]]:
    return (yield from _job_rows(cache, (yield _JOBS_NAMED(names=list(names)))))


def _job_rows(cache: DefinitionCache, rows: Sequence[Any]) -> Procedure[list[JobRow]]:
    yield from cache.read(row[2] for row in rows)
    names: dict[int, list[str]] = defaultdict(list)
    for job_id, schedule in (yield _SCHEDULES_OF(jobs=[row[0] for row in rows])):
        names[job_id].append(schedule)
    return [_job_row(cache, row, tuple(names[row[0]])) for row in rows]


def _job_row(cache: DefinitionCache, row: Sequence[Any], schedules: tuple[str, ...]) -> JobRow:
    _, name, definition, version, source, created_at, updated_at, history_from = row
    try:
        job, problem = cache.job(definition, name), ""
    except UnreadableText as error:
        job, problem = JobDefinition(name), str(error)
    return JobRow(
        definition=job, version=version, source=source, schedules=schedules, created_at=created_at,
        updated_at=updated_at, history_from=history_from, unreadable=problem,
    )  # fmt: skip


def schedule(cache: DefinitionCache, name: str) -> Procedure[ScheduleRow | None]:
    rows = yield from _schedules(cache, ALL_SCHEDULES, "", 1, name)
    found = yield from _schedule_rows(cache, rows)
    return found[0] if found else None


def schedules(
    cache: DefinitionCache, wanted: ScheduleFilter, after: str, limit: int
) -> Procedure[Page[ScheduleRow]]:
    rows = yield from _schedules(cache, wanted, after, limit + 1)
    found = yield from _schedule_rows(cache, rows[:limit])
    return Page(tuple(found), rows[limit - 1][2] if len(rows) > limit else None)


def _schedule_rows(cache: DefinitionCache, rows: Sequence[Any]) -> Procedure[list[ScheduleRow]]:
    loaded = yield from _load_jobs(cache, {row[1] for row in rows})
    last = {row[0]: row[1:] for row in (yield _LAST_RUNS(ids=[row[0] for row in rows]))}
    paused = (yield _PAUSED())[0][0]
    return [
        _schedule_row(loaded[row[1]], row, last.get(row[0]), everything_paused=bool(paused))
        for row in rows if row[1] in loaded
    ]  # fmt: skip


def _schedules(
    cache: DefinitionCache, wanted: ScheduleFilter, after: str, most: int, name: str | None = None
) -> Procedure[list[Any]]:
    """At most so many rows. Labels and sources are in the definitions: rows are read in batches, filtered here."""
    found: list[Any] = []
    is_whole = wanted.label is None and wanted.source is None
    batch_size = most if is_whole else _BATCH_SIZE
    while True:
        given = {
            "name": name, "job": wanted.job, "names": None if wanted.names is None else sorted(wanted.names),
            "local": wanted.local or None, "paused": wanted.paused, "due_before": wanted.due_before,
            "pattern": like_pattern(wanted.text), "deadline": '%"deadlines":%' if wanted.deadline else None,
        }  # fmt: skip
        values = {field: value for field, value in given.items() if value is not None}
        rows = yield _select_schedules(*values)(**values, after=after, most=batch_size)
        found += rows if is_whole else (yield from _matching(cache, rows, wanted))
        if len(rows) < batch_size or len(found) >= most:
            return found[:most]
        after = rows[-1][2]


@lru_cache
def _select_schedules(*fields: str) -> Statement:
    """With the conditions of these fields only, so that the database finds an index for them."""
    which = "".join(f" AND {_MATCHES[field]}" for field in fields)
    return Statement(f"""
        SELECT s.id, s.job_id, s.name, j.name, s.wake_at, s.created_at, s.updated_at, j.definition_id,
            s.definition_id, j.source
        FROM tickwise_schedule_state s JOIN tickwise_jobs j ON j.id = s.job_id
        WHERE s.deleted IS NULL AND s.name > :after{which} ORDER BY s.name LIMIT :most
    """)


def _matching(cache: DefinitionCache, rows: Sequence[Any], wanted: ScheduleFilter) -> Procedure[list[Any]]:
    """The rows whose job has the label, and whose schedule is of the source."""
    yield from cache.read(definition for row in rows for definition in row[7:9])
    found = []
    for row in rows:
        with suppress(UnreadableText):
            if wanted.source is not None and wanted.source != cache.schedule(row[8], row[2], row[3]).source:
                continue
            if wanted.label is None or has_label(cache.job(row[7], row[3]).labels, wanted.label):
                found.append(row)
    return found


def _load_jobs(cache: DefinitionCache, ids: Iterable[int]) -> Procedure[dict[int, JobState]]:
    """Jobs by id, with their schedules as the next pass will find them."""
    rows = [JobColumns._make(row) for row in (yield _JOB_ROWS(ids=sorted(ids)))]
    loaded: list[LoadedJob] = yield from load(cache, rows, (yield _LATEST_PAUSE())[0][0])
    return {job.row.id: job.state for job in loaded}


def _schedule_row(
    job: JobState, row: Sequence[Any], last: Sequence[Any] | None, *, everything_paused: bool
) -> ScheduleRow:
    _, _, name, _, wake_at, created_at, updated_at, *_, source = row
    if name in job.unreadable:
        return unreadable_row(
            name, job.name, job.unreadable[name].problem, source=source, wake_at=wake_at, created_at=created_at,
            updated_at=updated_at,
        )  # fmt: skip
    state = job.schedules[name].schedule
    run, started_at, enqueued_at, run_state = last or (None, None, None, None)
    return ScheduleRow(
        schedule=state, next_slot=None if everything_paused else next_wanted_slot(state), wake_at=wake_at,
        created_at=created_at,
        updated_at=updated_at, last_run_id=None if run is None else str(run), last_run_at=started_at,
        last_enqueued_at=enqueued_at, last_state=None if run_state is None else RunState(run_state),
    )  # fmt: skip


def attempts(id_: int) -> Procedure[tuple[AttemptRow, ...]]:
    rows = yield _ATTEMPTS(run=id_)
    return tuple(
        AttemptRow(
            number=number,
            event=Event(event),
            started_at=started,
            finished_at=finished,
            node=node,
            error=error or "",
        )
        for number, event, started, finished, node, error in rows
    )


def steps(id_: int) -> Procedure[tuple[StepReport, ...]]:
    return tuple(
        StepReport(
            name=name,
            state=state,
            started_at=started,
            finished_at=finished,
            attempt=attempt,
            error=error or "",
            outputs=outputs or "",
            waits_for=waits_for or "",
        )
        for name, state, started, finished, attempt, error, outputs, waits_for in (yield _STEPS(run=id_))
    )


def log(id_: int, after: int | None, limit: int) -> Procedure[Page[LogPart]]:
    rows = yield _LOG(run=id_, after=after or 0, most=limit + 1)
    parts = tuple(LogPart(step, stream, text, at) for _, step, stream, text, at in rows[:limit])
    return Page(parts, str(rows[limit - 1][0]) if len(rows) > limit else None)


def decisions(wanted: DecisionFilter, after: DecisionKey | None, limit: int) -> Procedure[Page[DecisionRow]]:
    rows = yield _DECISIONS(
        schedule=wanted.schedule, any_reason=not wanted.reasons, reasons=sorted(r.code for r in wanted.reasons),
        slot=wanted.slot,
        since=_FIRST if wanted.since is None else wanted.since,
        until=_LAST if wanted.until is None else wanted.until,
        first=after.first if after else _LAST,
        id=page_number(after.schedule) if after else _LAST,
        reason=after.reason if after else "",
        most=limit + 1,
    )  # fmt: skip
    found = tuple(map(decision_row, rows[:limit]))
    if len(rows) <= limit:
        return Page(found)
    row = rows[limit - 1]
    return Page(found, decision_page(DecisionKey(first=row[2], schedule=str(row[8]), reason=row[1])))


def decision_row(row: Sequence[Any]) -> DecisionRow:
    name, code, first, last, count, detail, made, extended = row[:8]
    return DecisionRow(
        schedule=name, reason=Reason.of(code), first=first, last=last, count=count, detail=detail or "",
        made_at=made, extended_at=extended,
    )  # fmt: skip

"""Fills a SQLite file in seconds with very many schedules and runs, as a busy fleet would leave it.

600 jobs are defined through the store; the others are copies of their rows. Each job has one schedule that fires
once an hour, spread over the hour, and has a run at each of its past slots. The next slots are real: a server that
is started on the file continues from there.
"""
# ruff: noqa: S608  (the statements are our own)

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from tickwise.core.cron import parse
from tickwise.core.definition import Command, JobDefinition, ScheduleDefinition, Step
from tickwise.stores.records import MICRO
from tickwise.stores.url import open_store

KINDS = tuple("backup cleanup etl export health index invoice mail report sync".split())
_TEMPLATES, _HOUR = 600, 3_600
_TEMPLATE_INTERVAL = _HOUR // _TEMPLATES  # seconds from the slots of one template to those of the next
_PRAGMAS = "PRAGMA journal_mode = OFF; PRAGMA cache_size = -500000; PRAGMA temp_store = MEMORY;"
_COPY_ROWS = """
    CREATE TEMP TABLE copied AS
        WITH RECURSIVE numbers(n) AS (
            SELECT {templates} UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {schedules})
        SELECT n, t.* FROM numbers JOIN {table} AS t ON t.id = n % {templates} + 1;
    UPDATE copied SET id = n + 1, name = substr(name, 1, length(name) - 5) || printf('%05d', n);
    ALTER TABLE copied DROP COLUMN n;
    INSERT INTO {table} SELECT * FROM copied;
    DROP TABLE copied;
"""
_SLOT = f"{{hour}} + (id - 1) % {_TEMPLATES} * {_TEMPLATE_INTERVAL}"  # in the current hour, past or not
_NEXT = f"{_SLOT} + CASE WHEN {_SLOT} <= {{now}} THEN {_HOUR} ELSE 0 END"
_RESCHEDULE = f"""
    UPDATE tickwise_schedules SET job_id = id, wake_at = {_NEXT}, runs_made = {{hours}};
    UPDATE tickwise_schedules SET last_slot = wake_at - {_HOUR};
    DELETE FROM tickwise_job_state;
    INSERT INTO tickwise_job_state (job_id, revision, wake_at, idle, local, guarded, waiting, held, pause_seen)
        SELECT id, 1, wake_at, FALSE, FALSE, FALSE, FALSE, FALSE, 0 FROM tickwise_schedules;
"""
_RUNS = f"""
    WITH RECURSIVE hours(back) AS (SELECT 0 UNION ALL SELECT back + 1 FROM hours WHERE back < {{hours}}),
        slots AS (
            SELECT id AS schedule, definition_id AS times, (id * 7919 + back * 104729) % 1000 AS luck,
                {_SLOT} - back * {_HOUR} AS slot
            FROM hours CROSS JOIN tickwise_schedules)
    INSERT INTO tickwise_runs (job_id, schedule_id, slot, trigger_name, state, definition_id,
        schedule_definition_id, queue, priority, requires,
        due_at, created_at, claimed_by, auto_remove, node, attempt, failures, losses, cancelling,
        started_at, finished_at, error)
    SELECT j.id, schedule, slot, 'schedule',
        CASE WHEN luck < 10 THEN 'failed' WHEN luck < 13 THEN 'cancelled' ELSE 'succeeded' END,
        j.definition_id, times, queue, priority, requires, slot * {MICRO}, slot * {MICRO} + 20000, 'bulk', FALSE,
        'bulk', 1, 0, 0, FALSE, slot * {MICRO} + 60000, slot * {MICRO} + 60000 + luck * 30000,
        CASE WHEN luck < 10 THEN 'exit status 1' END
    FROM slots JOIN tickwise_jobs AS j ON j.id = schedule
    WHERE slot > {{now}} - {{hours}} * {_HOUR} AND slot <= {{now}} ORDER BY slot, schedule;
"""


async def fill_store(file: Path, schedules: int, runs: int) -> None:
    """Create the file, with at least 600 schedules and a multiple of their number in runs."""
    store = open_store(f"sqlite:///{file}")
    await store.schema.upgrade()
    await asyncio.gather(*(store.define(_template(number), "bulk") for number in range(_TEMPLATES)))
    now = await store.now() // MICRO
    values = {
        "templates": _TEMPLATES, "schedules": schedules, "hours": runs // schedules, "now": now,
        "hour": now - now % _HOUR,
    }  # fmt: skip
    await store.close()
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(_PRAGMAS)
        for table in ("tickwise_jobs", "tickwise_schedules"):
            connection.executescript(_COPY_ROWS.format(table=table, **values))
        connection.executescript((_RESCHEDULE + _RUNS).format(**values))


def _template(number: int) -> JobDefinition:
    minute, second = divmod(number * _TEMPLATE_INTERVAL, 60)
    kind, text = KINDS[number % len(KINDS)], f"{second} {minute} * * * *"
    name = f"{kind}-{number:05}"
    schedule = ScheduleDefinition(name, name, parse(text), text)
    return JobDefinition(name, (Step(kind, Command(("true",))),), (schedule,), labels={"kind": kind})
